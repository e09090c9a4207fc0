//! Refusals as problem documents (RFC 9457).

use std::borrow::Cow;

use hyper::StatusCode;
use mintage_wire::Problem;

use super::route::Route;
use crate::error::{Code, ServiceError};
use crate::faces::web::answer::{Response, line};
use crate::faces::web::head::Head;

/// A refusal.
pub(super) fn problem(head: &Head<'_>, error: &ServiceError) -> Response {
    let row = error.code.row();
    let document = Problem {
        kind: format!("urn:mint:error:{}", row.name).into(),
        title: row.title.into(),
        status: row.http_status,
        code: row.name.into(),
        detail: cut(&error.message),
        hint: error.hint.as_deref().map(Cow::Borrowed),
        retry_after: error.retry_after_s,
    };
    let status = StatusCode::from_u16(row.http_status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = Response::new(status, "application/problem+json", line(&document));
    response.say_when(error);
    match error.code {
        Code::Unauthenticated | Code::WrongToken => {
            response.add("www-authenticate", "Bearer realm=\"mint\"");
        }
        Code::MethodNotAllowed => {
            if let Some(allowed) = Route::allow_header(head.path) {
                response.add("allow", allowed);
            }
        }
        _ if error.ends_connection() => response.close(),
        _ => {}
    }
    response
}

/// What a refusal tells of what was asked is cut: whoever sent it knows the rest.
fn cut(detail: &str) -> Cow<'_, str> {
    match detail.char_indices().nth(DETAIL_MAX) {
        Some((at, _)) => Cow::Owned(format!("{}…", &detail[..at])),
        None => Cow::Borrowed(detail),
    }
}

/// The longest `detail` of a problem document, in characters.
const DETAIL_MAX: usize = 600;
