//! `/v1/inspect/{id}`: what an id is.

use std::rc::Rc;

use hyper::StatusCode;
use mintage::{Clock, Format, GenOption, GenOptions, Layout, Timestamp};

use super::answer::Response;
use super::request::Query;
use crate::error::{Code, ServiceError};
use crate::readings::{ReadAs, with_epoch};
use crate::service::Answer;
use crate::thread::ServingThread;

/// `GET /v1/inspect/{id}?as=FORMAT&preset=NAME&epoch=TIME`, which read as the command's options of these names.
pub(super) fn inspect(thread: &Rc<ServingThread>, query: &Query<'_>, id: &[u8]) -> Answer<Response> {
    let text = |name: &str| -> Answer<Option<String>> {
        Ok(query
            .get(name)?
            .map(|value| String::from_utf8_lossy(&value).into_owned()))
    };
    let id = String::from_utf8_lossy(id);
    let now = thread.service().ledger().clock().now();
    let format = text("as")?.map(|name| named(&name)).transpose()?;
    let epoch = text("epoch")?.map(|epoch| epoch_of(&epoch)).transpose()?;
    let layout = text("preset")?.map(|name| preset(&name, epoch)).transpose()?;
    let mut options = GenOptions::default();
    match (&layout, format) {
        (Some(_), Some(other)) if other.name != "snowflake" => {
            return Err(wrong(format!(
                "preset belongs to snowflake, not to {}",
                other.name
            )));
        }
        (None, Some(format)) => {
            if let Some(epoch) = epoch {
                let millis = epoch.unix_millis().to_string();
                options
                    .set(GenOption::Epoch, &millis)
                    .map_err(|error| wrong(error.to_string()))?;
            }
            format
                .check_options(&options)
                .map_err(|error| wrong(error.to_string()))?;
        }
        _ => {}
    }
    let read_as = ReadAs {
        format,
        options,
        layout,
        epoch,
    };
    let found = read_as.inspect(&id, now);
    Ok(Response::json(StatusCode::OK, &found.document(&id)))
}

fn wrong(message: String) -> ServiceError {
    ServiceError::new(Code::InvalidArgument, message)
}

fn cut(text: &str) -> String {
    text.chars().take(40).collect()
}

fn named(name: &str) -> Answer<&'static Format> {
    let names = || {
        mintage::FORMATS
            .iter()
            .map(|row| row.name)
            .collect::<Vec<_>>()
            .join(", ")
    };
    mintage::format(&name.to_ascii_lowercase()).ok_or_else(|| {
        ServiceError::new(Code::UnknownFormat, format!("there is no format {:?}", cut(name)))
            .with_hint(format!("known are {}", names()))
    })
}

/// A time as layouts have it: a date, a time of RFC 3339, or milliseconds since 1970.
fn epoch_of(text: &str) -> Answer<Timestamp> {
    let fits = !text.contains(';');
    let layout = format!("time=41,worker=10,sequence=12;tick=1ms;epoch={text}").parse::<Layout>();
    layout
        .ok()
        .filter(|_| fits)
        .map(|layout| layout.epoch())
        .ok_or_else(|| {
            wrong(format!("epoch {:?} is not a time", cut(text)))
                .with_hint("a date such as 2015-01-01, a time in RFC 3339, or milliseconds since 1970")
        })
}

fn preset(name: &str, epoch: Option<Timestamp>) -> Answer<Layout> {
    let row = mintage::preset(&name.to_ascii_lowercase()).ok_or_else(|| {
        let names: Vec<&str> = mintage::PRESETS.iter().map(|row| row.name).collect();
        wrong(format!("no preset {:?}", cut(name))).with_hint(format!("there are {}", names.join(", ")))
    })?;
    match epoch {
        None => Ok(row.layout()),
        Some(epoch) => with_epoch(&row.layout(), epoch).map_err(|error| wrong(format!("epoch: {error}"))),
    }
}
