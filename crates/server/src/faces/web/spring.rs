//! What servers made with Spring Boot 1.5 answer, whatever they do: types of content, and the object of an error.
//!
//! A body is the same whatever is accepted; Spring's own client reads it only under a type that it asked for.

use std::borrow::Cow;

use hyper::StatusCode;
use mintage::{Clock, SystemClock};
use serde::Serialize;

use super::answer::Response;
use super::head::Head;
use super::html::escape;
use crate::error::{Code, ServiceError};

/// Text, where the client does not say what it wants.
pub(crate) const TEXT: &str = "text/plain;charset=UTF-8";
/// Documents.
pub(crate) const JSON: &str = "application/json;charset=UTF-8";
/// Pages.
pub(crate) const HTML: &str = "text/html;charset=UTF-8";

/// The content type of a number or a text: the first type that the client names whole, by weight and then by place.
pub(crate) fn media_type(accept: Option<&str>) -> Cow<'static, str> {
    let Some(name) = accept.and_then(preferred) else {
        return TEXT.into();
    };
    match name.to_ascii_lowercase().as_str() {
        "text/plain" => TEXT.into(),
        "application/json" => JSON.into(),
        "text/html" => HTML.into(),
        other => format!("{other};charset=UTF-8").into(),
    }
}

/// Whether pages are wanted rather than documents.
fn wants_html(accept: Option<&str>) -> bool {
    media_type(accept) == HTML
}

fn preferred(accept: &str) -> Option<&str> {
    let mut best: Option<(f32, &str)> = None;
    for range in accept.split(',') {
        let mut parts = range.split(';').map(str::trim);
        let Some(name) = parts.next().filter(|name| is_whole(name)) else {
            continue;
        };
        let weight = parts.find_map(|part| part.strip_prefix("q="));
        let weight = weight.map_or(1.0, |weight| weight.parse().unwrap_or(0.0));
        if weight > 0.0 && best.is_none_or(|(highest, _)| weight > highest) {
            best = Some((weight, name));
        }
    }
    best.map(|(_, name)| name)
}

/// Whether this is one media type, and not many.
fn is_whole(name: &str) -> bool {
    let is_word = |word: &str| {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&byte);
        (1..=WORD_BYTES_MAX).contains(&word.len()) && word.bytes().all(fits)
    };
    name.split_once('/')
        .is_some_and(|(kind, subtype)| is_word(kind) && is_word(subtype))
}

/// RFC 6838 section 4.2 has no longer ones.
const WORD_BYTES_MAX: usize = 127;

/// Members in this order.
#[derive(Serialize)]
struct ErrorObject<'a> {
    timestamp: i64,
    status: u16,
    error: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    exception: Option<&'a str>,
    message: &'a str,
    path: &'a str,
}

/// The answer to a request that failed: an object, or for browsers a page with the same facts.
pub(crate) fn error(head: &Head<'_>, status: StatusCode, exception: Option<&str>, message: &str) -> Response {
    let object = ErrorObject {
        timestamp: SystemClock.unix_millis(),
        status: status.as_u16(),
        error: status.canonical_reason().unwrap_or_default(),
        exception,
        message,
        path: head.path,
    };
    match wants_html(head.accept) {
        true => Response::new(status, HTML, page(&object)),
        false => {
            let text = mintage_wire::json::to_vec(&object).expect("texts and numbers are JSON");
            Response::new(status, JSON, text)
        }
    }
}

/// The answer to what no route of a face refuses in a way of its own.
pub(crate) fn refuse(head: &Head<'_>, refused: &ServiceError) -> Response {
    let status = StatusCode::from_u16(refused.code.row().http_status);
    let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    match refused.code {
        Code::UnknownRoute => error(head, status, None, NO_MESSAGE),
        _ => error(head, status, None, &refused.message),
    }
}

/// What Spring calls a parameter that is not of its type.
pub(crate) const MISMATCH: &str =
    "org.springframework.web.method.annotation.MethodArgumentTypeMismatchException";

/// What is said of a path that leads nowhere.
const NO_MESSAGE: &str = "No message available";

fn page(object: &ErrorObject<'_>) -> String {
    format!(
        "<html><body><h1>{} {}</h1><p>{}</p><p>{}</p><p>{}</p></body></html>",
        object.status,
        object.error,
        escape(object.exception.unwrap_or_default()),
        escape(object.message),
        escape(object.path),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_type_that_is_named_is_echoed() {
        for (accept, expected) in [
            (None, TEXT),
            (Some("*/*"), TEXT),
            (Some(""), TEXT),
            (Some("text/*"), TEXT),
            (Some("application/json, application/*+json"), JSON),
            (
                Some("text/plain, application/json, application/*+json, */*"),
                TEXT,
            ),
            (Some("text/plain;q=0.5, Application/JSON"), JSON),
            (Some("text/html,application/xhtml+xml,*/*;q=0.8"), HTML),
            (Some("text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2"), HTML),
            (Some("image/png"), "image/png;charset=UTF-8"),
            (Some("image/png;q=0, */*"), TEXT),
            (Some("no type at all, ,;;q=, text/x y"), TEXT),
            (Some("text/<script>"), TEXT),
        ] {
            assert_eq!(media_type(accept), expected, "{accept:?}");
        }
    }
}
