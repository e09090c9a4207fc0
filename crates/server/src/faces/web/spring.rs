//! What servers made with Spring Boot 1.5 answer, whatever they do: types of content, and the object of an error.

use std::borrow::Cow;

use hyper::StatusCode;
use mintage::{Clock, SystemClock};
use serde::Serialize;

use super::answer::Response;
use super::head::Head;
use crate::error::{Code, ServiceError};

/// Text, where the client does not say what it wants.
pub(crate) const TEXT: &str = "text/plain;charset=UTF-8";

/// JSON.
pub(crate) const JSON: &str = "application/json;charset=UTF-8";

/// The type of a bare number or text: the first that the client accepts by its weights, whatever that is, else text.
///
/// Spring's own client asks for `application/json` and reads nothing else.
pub(crate) fn type_of_text(head: &Head<'_>) -> Cow<'static, str> {
    match accepted(head).find(|kind| !kind.ends_with('*') && !kind.contains("*+")) {
        Some(kind) => format!("{kind};charset=UTF-8").into(),
        None => TEXT.into(),
    }
}

/// The types that a client accepts, the best first. What is no type is passed over: Java sends `*; q=.2`.
fn accepted<'r>(head: &Head<'r>) -> impl Iterator<Item = &'r str> + use<'r> {
    let ranges = head.accept.unwrap_or_default().split(',');
    let mut kinds: Vec<(f32, &str)> = ranges
        .filter_map(|range| {
            let mut parts = range.split(';').map(str::trim);
            let kind = parts.next().filter(|kind| is_type(kind))?;
            let weight = parts.find_map(|part| part.strip_prefix("q="));
            let weight = weight.map_or(1.0, |weight| weight.parse().unwrap_or(0.0));
            (weight > 0.0).then_some((weight, kind))
        })
        .collect();
    // Those of one weight stay in their order.
    kinds.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    kinds.into_iter().map(|(_, kind)| kind)
}

fn is_type(text: &str) -> bool {
    let is_word = |word: &str| {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$&-^_.+*".contains(&byte);
        !word.is_empty() && word.bytes().all(fits)
    };
    text.len() <= TYPE_BYTES_MAX
        && text
            .split_once('/')
            .is_some_and(|(kind, sub)| is_word(kind) && is_word(sub))
}

/// The longest type that is echoed.
const TYPE_BYTES_MAX: usize = 100;

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
        timestamp: SystemClock.now().unix_millis(),
        status: status.as_u16(),
        error: status.canonical_reason().unwrap_or_default(),
        exception,
        message,
        path: head.path,
    };
    if accepted(head).next() == Some("text/html") {
        let page = format!(
            "<!DOCTYPE html><html><head><title>Error</title></head><body><h1>{} {}</h1><p>{}</p></body></html>",
            object.status,
            object.error,
            escaped(message)
        );
        return Response::new(status, "text/html;charset=UTF-8", page);
    }
    let text = serde_json::to_vec(&object).expect("texts and numbers are JSON");
    Response::new(status, JSON, text)
}

/// The answer to what no route of the face refuses in a way of its own.
pub(crate) fn refuse(head: &Head<'_>, refused: &ServiceError) -> Response {
    let status = StatusCode::from_u16(refused.code.row().http_status);
    let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    match refused.code {
        Code::UnknownRoute => error(head, status, None, "No message available"),
        _ => error(head, status, None, &refused.message),
    }
}

/// A text as part of a page.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_type_that_is_accepted_is_echoed() {
        for (accept, kind) in [
            (None, TEXT),
            (Some("*/*"), TEXT),
            (Some(""), TEXT),
            (Some("application/json, application/*+json"), JSON),
            (
                Some("text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2"),
                "text/html;charset=UTF-8",
            ),
            (Some("text/html;q=0.5, image/png"), "image/png;charset=UTF-8"),
            (Some("application/*"), TEXT),
            (Some("a/b\\r\\nx: y"), TEXT),
            (Some("text/html;q=0"), TEXT),
        ] {
            let head = Head {
                accept,
                ..Head::default()
            };
            assert_eq!(type_of_text(&head), kind, "{accept:?}");
        }
    }

    #[test]
    fn nothing_is_markup_on_a_page() {
        let head = Head {
            accept: Some("text/html"),
            ..Head::default()
        };
        let response = error(&head, StatusCode::BAD_REQUEST, None, "<b>&\"'");
        assert!(format!("{response:?}").contains("status: 400"));
        assert_eq!(escaped("<b>&\"'"), "&lt;b&gt;&amp;&quot;&#39;");
    }
}
