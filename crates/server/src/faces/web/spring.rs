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
use super::servlet;
use crate::error::{Code, ServiceError};

/// Text, where the client does not say what it wants.
pub const TEXT: &str = "text/plain;charset=UTF-8";
/// Documents.
pub const JSON: &str = "application/json;charset=UTF-8";
/// Pages.
pub const HTML: &str = "text/html;charset=UTF-8";

/// The content type of a number or a text: that of the path's ending, else what the client accepts.
pub fn media_type(head: &Head<'_>) -> Cow<'static, str> {
    match servlet::extension(head.path).and_then(servlet::type_of) {
        Some(media) => format!("{media};charset=UTF-8").into(),
        None => accepted(head.accept),
    }
}

/// The first type that the client names whole, by weight and then by place, and its character set.
pub fn accepted(accept: Option<&str>) -> Cow<'static, str> {
    let Some((name, charset)) = accept.and_then(preferred) else {
        return TEXT.into();
    };
    match (name.to_ascii_lowercase().as_str(), charset) {
        ("text/plain", UTF_8) => TEXT.into(),
        ("application/json", UTF_8) => JSON.into(),
        ("text/html", UTF_8) => HTML.into(),
        (other, charset) => format!("{other};charset={charset}").into(),
    }
}

const UTF_8: &str = "UTF-8";
/// Character sets that a client may ask for: digits are the same bytes in each.
const CHARSETS: [&str; 6] = [UTF_8, "ISO-8859-1", "US-ASCII", "GBK", "GB2312", "GB18030"];

/// Whether pages are wanted rather than documents.
fn wants_html(accept: Option<&str>) -> bool {
    accepted(accept) == HTML
}

fn preferred(accept: &str) -> Option<(&str, &'static str)> {
    let mut best: Option<(f32, (&str, &str))> = None;
    for range in accept.split(',') {
        let mut parts = range.split(';').map(str::trim);
        let Some(name) = parts.next().filter(|name| is_whole(name)) else {
            continue;
        };
        let (mut weight, mut charset) = (1.0, UTF_8);
        for part in parts {
            if let Some(text) = part.strip_prefix("q=") {
                weight = text.parse().unwrap_or(0.0);
            } else if let Some(text) = part.strip_prefix("charset=") {
                let known = CHARSETS.iter().find(|known| known.eq_ignore_ascii_case(text));
                charset = known.unwrap_or(&UTF_8);
            }
        }
        if weight > 0.0 && best.is_none_or(|(highest, _)| weight > highest) {
            best = Some((weight, (name, charset)));
        }
    }
    best.map(|(_, named)| named)
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
pub fn error(head: &Head<'_>, status: StatusCode, exception: Option<&str>, message: &str) -> Response {
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
pub fn refuse(head: &Head<'_>, refused: &ServiceError) -> Response {
    let status = StatusCode::from_u16(refused.code.row().http_status);
    let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    match refused.code {
        Code::UnknownRoute => error(head, status, None, NO_MESSAGE),
        _ => error(head, status, None, &refused.message),
    }
}

/// What Spring calls a parameter that is not of its type.
pub const MISMATCH: &str = "org.springframework.web.method.annotation.MethodArgumentTypeMismatchException";

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
            (
                Some("text/plain;charset=iso-8859-1"),
                "text/plain;charset=ISO-8859-1",
            ),
            (Some("text/html; charset=utf-8; q=0.9"), HTML),
            (Some("text/plain;charset=UTF-16"), TEXT),
            (Some("text/plain;charset=\"\r\n\""), TEXT),
        ] {
            let head = Head {
                path: "/a.b/c",
                accept,
                ..Head::default()
            };
            assert_eq!(media_type(&head), expected, "{accept:?}");
            let head = Head {
                path: "/a/b.json",
                ..head
            };
            assert_eq!(media_type(&head), JSON, "{accept:?}");
        }
    }
}
