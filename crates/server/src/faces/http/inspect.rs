//! `/v1/inspect/{id}`: what an id is.

use std::rc::Rc;
use std::sync::Arc;

use hyper::StatusCode;
use mintage::{Clock, Format, FormatError, GenOption, GenOptions, Layout};
use mintage_wire::parameter;
use mintage_wire::readings::{NotReadAs, ReadAs};

use super::request::Query;
use crate::error::{Code, ServiceError};
use crate::faces::web::answer::Response;
use crate::service::Answer;
use crate::thread::ServingThread;

/// `GET /v1/inspect/{id}?as=FORMAT&preset=NAME`, and the options of formats, which read as the command's of these names.
pub(super) fn inspect(thread: &Rc<ServingThread>, query: &Query<'_>, id: &[u8]) -> Answer<Response> {
    let names: Vec<String> = GenOption::ALL.iter().map(|option| parameter(*option)).collect();
    let mut known = vec!["as", "preset"];
    known.extend(names.iter().map(String::as_str));
    query.only(&known)?;
    let text = |name: &str| -> Answer<Option<String>> {
        Ok(query
            .get(name)?
            .map(|value| String::from_utf8_lossy(&value).into_owned()))
    };
    let id = String::from_utf8_lossy(id);
    let now = thread.service().ledger().clock().now();
    let format = text("as")?.map(|name| named(&name)).transpose()?;
    let mut options = GenOptions::default();
    for (option, name) in GenOption::ALL.iter().zip(&names) {
        if let Some(value) = text(name)? {
            let refused = |error: FormatError| wrong(error.to_string());
            options.set(*option, &value).map_err(refused)?;
        }
    }
    if let Some(name) = text("preset")? {
        options.layout = Some(Arc::new(preset(&name)?));
    }
    let read_as = ReadAs::new(format, options).map_err(|error| match error {
        NotReadAs::Refused(_, error) => wrong(error.to_string()),
        NotReadAs::NoFormat => {
            wrong("these options need a format to belong to".into()).with_hint("as=FORMAT names it")
        }
    })?;
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

fn preset(name: &str) -> Answer<Layout> {
    let row = mintage::preset(&name.to_ascii_lowercase()).ok_or_else(|| {
        let known = mintage::PRESETS.iter().chain(mintage::WIDE_PRESETS);
        let names: Vec<&str> = known.map(|row| row.name).collect();
        wrong(format!("no preset {:?}", cut(name))).with_hint(format!("there are {}", names.join(", ")))
    })?;
    Ok(row.layout())
}
