//! `/v1/inspect/{id}`: what an id is.

use std::rc::Rc;

use hyper::StatusCode;
use mintage::{
    Clock, Format, GenOption, GenOptions, Layout, Reading, SnowflakeText, Timestamp, inspect_as,
    inspect_layout,
};
use serde_json::json;

use super::answer::Response;
use super::request::Query;
use crate::error::{Code, ServiceError};
use crate::readings::Document;
use crate::service::{Answer, Worker};

/// `GET /v1/inspect/{id}?as=FORMAT&preset=NAME&epoch=TIME`, which read as the command's options of these names.
pub(super) fn inspect(worker: &Rc<Worker>, query: &Query<'_>, id: &[u8]) -> Answer<Response> {
    query.only(&["as", "preset", "epoch"])?;
    let text = |name: &str| -> Answer<Option<String>> {
        Ok(query
            .get(name)?
            .map(|value| String::from_utf8_lossy(&value).into_owned()))
    };
    let id = String::from_utf8_lossy(id);
    let now = worker.service().ledger().clock().now();
    let format = text("as")?.map(|name| named(&name)).transpose()?;
    let epoch = text("epoch")?.map(|epoch| epoch_of(&epoch)).transpose()?;
    let layout = text("preset")?.map(|name| preset(&name, epoch)).transpose()?;
    let (name, read) = match (layout, format) {
        (
            Some(layout),
            None
            | Some(Format {
                name: "snowflake", ..
            }),
        ) => ("snowflake", of_layout(&id, &layout, now)),
        (Some(_), Some(other)) => {
            return Err(wrong(format!(
                "preset belongs to snowflake, not to {}",
                other.name
            )));
        }
        (None, Some(format)) => {
            let mut options = GenOptions::default();
            if let Some(epoch) = epoch {
                let millis = epoch.unix_millis().to_string();
                options
                    .set(GenOption::Epoch, &millis)
                    .map_err(|error| wrong(error.to_string()))?;
            }
            format
                .check_options(&options)
                .map_err(|error| wrong(error.to_string()))?;
            let read = inspect_as(&id, format, &options, now);
            (format.name, read.map_err(|error| error.to_string()))
        }
        (None, None) => {
            let mut readings = worker.service().inspect(&id);
            if let Some(epoch) = epoch {
                move_epoch(&mut readings, epoch, now);
            }
            return Ok(shown(&id, &readings));
        }
    };
    Ok(match read {
        Ok(reading) => shown(&id, &[reading]),
        Err(why) => {
            let tried = json!([{"format": name, "why": why}]);
            Response::json(
                StatusCode::OK,
                &json!({"input": id, "readings": [], "tried": tried}),
            )
        }
    })
}

fn shown(id: &str, readings: &[Reading]) -> Response {
    Response::json(StatusCode::OK, &json!(Document::new(id, readings)))
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
            wrong(format!("epoch {:?} is no time", cut(text)))
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
        Some(epoch) => with_epoch(&row.layout(), epoch),
    }
}

/// A layout with another epoch.
fn with_epoch(layout: &Layout, epoch: Timestamp) -> Answer<Layout> {
    let spec = layout.spec();
    let parts = spec.split(';').map(|part| match part.strip_prefix("epoch=") {
        Some(_) => format!("epoch={}", epoch.unix_millis()),
        None => part.to_string(),
    });
    let spec = parts.collect::<Vec<_>>().join(";");
    spec.parse().map_err(|error| wrong(format!("epoch: {error}")))
}

fn of_layout(id: &str, layout: &Layout, now: Timestamp) -> Result<Reading, String> {
    let number = SnowflakeText::Dec
        .read(id.trim().as_bytes())
        .map_err(|error| error.to_string())?;
    let reading = inspect_layout(number, layout, now);
    let mut reading = reading.ok_or_else(|| format!("{number} is no id of layout {}", layout.name()))?;
    // Somebody said what it is.
    reading.confidence = reading.confidence.max(0.5);
    Ok(reading)
}

/// Reads every Snowflake again with another epoch.
fn move_epoch(readings: &mut [Reading], epoch: Timestamp, now: Timestamp) {
    for reading in readings.iter_mut() {
        let preset = reading.preset.as_deref().and_then(mintage::preset);
        let moved = preset.and_then(|preset| with_epoch(&preset.layout(), epoch).ok());
        let number = reading.id.number().and_then(|number| u64::try_from(number).ok());
        if let (Some(layout), Some(number)) = (moved, number)
            && let Some(again) = inspect_layout(number, &layout, now)
        {
            (reading.time, reading.confidence, reading.why) = (again.time, again.confidence, again.why);
        }
    }
    readings.sort_by(|a, b| b.confidence.total_cmp(&a.confidence));
}
