//! Answers and problem documents (RFC 9457).

use std::borrow::Cow;

use http_body_util::Full;
use hyper::StatusCode;
use hyper::body::Bytes;
use hyper::header::{self, HeaderName, HeaderValue};
use mintage_wire::{Problem, percent};
use serde::Serialize;

use super::head::{Head, Media};
use super::route::Route;
use crate::error::{Code, ServiceError};

/// An answer, not yet bound to a way of sending it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Response {
    pub(super) status: StatusCode,
    /// Empty: there is no body.
    media_type: &'static str,
    /// Besides those that every answer has. Names in lower case; values are text of ours.
    headers: Vec<(&'static str, Cow<'static, str>)>,
    body: Vec<u8>,
    /// The body comes page by page.
    streamed: bool,
    /// Who may keep it, and how long.
    cache: &'static str,
}

/// What this server says changes with every request, so nobody may keep it; but for a few answers.
const KEPT_BY_NOBODY: &str = "no-store";
/// A day, by the client that asked for it and was allowed to.
const KEPT_BY_THE_CLIENT: &str = "private, max-age=86400";

/// A document as a line of JSON.
pub(super) fn line(document: &impl Serialize) -> Vec<u8> {
    let mut text = serde_json::to_vec(document).expect("texts and numbers are JSON");
    text.push(b'\n');
    text
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

impl Response {
    /// An answer of a media type.
    pub(super) fn new(status: StatusCode, media_type: &'static str, body: impl Into<Vec<u8>>) -> Self {
        Response {
            status,
            media_type,
            headers: Vec::new(),
            body: body.into(),
            streamed: false,
            cache: KEPT_BY_NOBODY,
        }
    }

    /// An answer whose body is not made yet.
    pub(super) fn streamed(status: StatusCode, media_type: &'static str) -> Self {
        Response {
            streamed: true,
            ..Response::new(status, media_type, "")
        }
    }

    /// Whether the body comes page by page.
    pub(super) fn is_streamed(&self) -> bool {
        self.streamed
    }

    /// An answer without a body.
    pub(super) fn empty(status: StatusCode) -> Self {
        Response::new(status, "", "")
    }

    /// Ids that were just given out.
    pub(super) fn ids(media: Media, body: Vec<u8>) -> Self {
        Response::new(StatusCode::OK, media.as_str(), body)
    }

    /// What is the same whenever it is asked for, in the form that the client accepts.
    pub(super) fn lasting(media: Media, body: Vec<u8>) -> Self {
        let mut response = Response::ids(media, body);
        response.cache = KEPT_BY_THE_CLIENT;
        response.add("vary", "accept");
        response
    }

    /// What every answer has.
    fn always(&self) -> [(&'static str, &'static str); 2] {
        [
            ("cache-control", self.cache),
            ("x-content-type-options", "nosniff"),
        ]
    }

    /// A JSON document.
    pub(super) fn json(status: StatusCode, document: &impl Serialize) -> Self {
        Response::new(status, Media::Json.as_str(), line(document))
    }

    /// Something that was made, and where under `/v1` it is.
    pub(super) fn created(segments: &[&str], document: &impl Serialize) -> Self {
        let mut response = Response::json(StatusCode::CREATED, document);
        let encoded: Vec<String> = segments.iter().map(|segment| percent::encode(segment)).collect();
        response.add("location", format!("/v1/{}", encoded.join("/")));
        response
    }

    /// A refusal.
    pub(super) fn problem(head: &Head<'_>, error: &ServiceError) -> Self {
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
        if let Some(seconds) = error.retry_after_s {
            response.add("retry-after", seconds.to_string());
        }
        match error.code {
            Code::Unauthenticated | Code::WrongToken => {
                response.add("www-authenticate", "Bearer realm=\"mint\"");
            }
            Code::MethodNotAllowed => {
                if let Some(allowed) = Route::allow_header(head.path) {
                    response.add("allow", allowed);
                }
            }
            // What follows on the connection may be the rest of what was refused.
            Code::Protocol | Code::BodyTooLarge | Code::HeaderTooLarge | Code::RequestTimeout => {
                response.close()
            }
            _ => {}
        }
        response
    }

    /// Adds a header.
    pub(super) fn add(&mut self, name: &'static str, value: impl Into<Cow<'static, str>>) {
        self.headers.push((name, value.into()));
    }

    /// The value of a header besides those that every answer has.
    #[cfg(test)]
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(given, _)| *given == name);
        found.map(|(_, value)| &**value)
    }

    /// Says that the connection ends with this answer.
    pub(super) fn close(&mut self) {
        if !self.closes() {
            self.add("connection", "close");
        }
    }

    /// Whether the connection ends with this answer.
    pub(super) fn closes(&self) -> bool {
        self.headers.iter().any(|(name, _)| *name == "connection")
    }

    /// For hyper to send.
    pub(super) fn for_hyper(self) -> hyper::Response<Full<Bytes>> {
        let always = self.always();
        let mut response = hyper::Response::new(Full::new(Bytes::from(self.body)));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        if !self.media_type.is_empty() {
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(self.media_type));
        }
        for (name, value) in always {
            headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        for (name, value) in self.headers {
            if let Ok(value) = HeaderValue::from_str(&value) {
                headers.append(HeaderName::from_static(name), value);
            }
        }
        response
    }

    /// As bytes. `date` is the value of `Date`.
    pub(super) fn write(&self, date: &str, out: &mut Vec<u8>) {
        let mut put = |text: &str| out.extend_from_slice(text.as_bytes());
        put("HTTP/1.1 ");
        put(self.status.as_str());
        put(" ");
        put(self.status.canonical_reason().unwrap_or_default());
        if !self.media_type.is_empty() {
            put("\r\ncontent-type: ");
            put(self.media_type);
        }
        let own = self.headers.iter().map(|(name, value)| (*name, &**value));
        for (name, value) in self.always().into_iter().chain(own) {
            put("\r\n");
            put(name);
            put(": ");
            put(value);
        }
        if self.status != StatusCode::NO_CONTENT {
            put("\r\ncontent-length: ");
            put(itoa::Buffer::new().format(self.body.len()));
        }
        put("\r\ndate: ");
        put(date);
        put("\r\n\r\n");
        out.extend_from_slice(&self.body);
    }
}
