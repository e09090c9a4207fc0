//! Answers and problem documents (RFC 9457).

use http_body_util::Full;
use hyper::StatusCode;
use hyper::body::Bytes;
use hyper::header::{self, HeaderValue};
use serde_json::json;

use super::request::{Head, Media};
use super::route::Route;
use crate::error::{Code, ServiceError};

/// An answer with its body in memory.
pub(super) type Response = hyper::Response<Full<Bytes>>;

/// An answer of a media type.
pub(super) fn of(status: StatusCode, media_type: &'static str, body: impl Into<Bytes>) -> Response {
    let mut response = Response::new(Full::new(body.into()));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    // What this server says changes with every request: nobody may keep it.
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    );
    response
}

/// Ids that were just given out.
pub(super) fn ids(media: Media, body: Vec<u8>) -> Response {
    of(StatusCode::OK, media.as_str(), body)
}

/// A JSON document.
pub(super) fn json(status: StatusCode, value: &serde_json::Value) -> Response {
    let mut text = value.to_string();
    text.push('\n');
    of(status, Media::Json.as_str(), text)
}

/// A refusal.
pub(super) fn problem(head: &Head<'_>, error: &ServiceError) -> Response {
    let row = error.code.row();
    let mut document = json!({
        "type": format!("urn:mint:error:{}", row.name),
        "title": row.title,
        "status": row.http_status,
        "code": row.name,
        "detail": error.message,
    });
    if let Some(hint) = &error.hint {
        document["hint"] = json!(hint);
    }
    if let Some(seconds) = error.retry_after_s {
        document["retry_after"] = json!(seconds);
    }
    let status = StatusCode::from_u16(row.http_status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = of(status, "application/problem+json", format!("{document}\n"));
    let headers = response.headers_mut();
    if let Some(seconds) = error.retry_after_s {
        headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    match error.code {
        Code::Unauthenticated | Code::WrongToken => {
            headers.insert(
                header::WWW_AUTHENTICATE,
                HeaderValue::from_static("Bearer realm=\"mint\""),
            );
        }
        Code::MethodNotAllowed => {
            if let Some(allowed) = Route::allow_header(head.path()) {
                headers.insert(header::ALLOW, HeaderValue::from_static(allowed));
            }
        }
        // What follows on the connection may be the rest of what was refused.
        Code::Protocol | Code::BodyTooLarge | Code::RequestTimeout => {
            headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        _ => {}
    }
    response
}
