//! Answers.

use std::borrow::Cow;

use http_body_util::Full;
use hyper::StatusCode;
use hyper::body::Bytes;
use hyper::header::{self, HeaderName, HeaderValue};
use mintage_wire::percent;
use serde::Serialize;

use super::head::Media;
use crate::auth::Identity;
use crate::error::{Code, ServiceError};
use crate::held::Room;
use crate::turn::SMALL_BYTES;

/// An answer, not yet bound to a way of sending it.
#[derive(Debug)]
pub struct Response {
    /// The status of the answer.
    pub status: StatusCode,
    /// Empty: there is no body.
    media_type: Cow<'static, str>,
    /// Besides those that every answer has. Names in lower case; values are text of ours.
    headers: Vec<(&'static str, Cow<'static, str>)>,
    body: Bytes,
    /// Whether the memory of its body is counted.
    is_counted: bool,
    /// Which body comes piece by piece in place of this one.
    streamed: Option<Streamed>,
    /// Who may keep it, and how long.
    cache: &'static str,
    /// What it refuses, where a face has put a refusal in words of its own.
    refused: Option<Code>,
}

/// A body that is made while it is sent.
#[derive(Clone, Debug)]
pub(crate) enum Streamed {
    /// The store, page by page.
    Backup,
    /// How the server fares, second by second, for as long as its reader is known.
    Live(Identity),
}

/// What this server says changes with every request, so nobody may keep it; but for a few answers.
const KEPT_BY_NOBODY: &str = "no-store";
/// A day, by the client that asked for it and was allowed to.
const KEPT_BY_THE_CLIENT: &str = "private, max-age=86400";

/// A document as a line of JSON.
pub(crate) fn line(document: &impl Serialize) -> Vec<u8> {
    let mut text = mintage_wire::json::to_vec(document).expect("texts and numbers are JSON");
    text.push(b'\n');
    text
}

impl Response {
    /// An answer of a media type.
    pub fn new(status: StatusCode, media_type: impl Into<Cow<'static, str>>, body: impl Into<Bytes>) -> Self {
        Response {
            status,
            media_type: media_type.into(),
            headers: Vec::new(),
            body: body.into(),
            is_counted: false,
            streamed: None,
            cache: KEPT_BY_NOBODY,
            refused: None,
        }
    }

    /// An answer whose body is not made yet.
    pub(crate) fn streamed(status: StatusCode, media_type: &'static str, body: Streamed) -> Self {
        Response {
            streamed: Some(body),
            ..Response::new(status, media_type, "")
        }
    }

    /// The body that comes piece by piece, if it does.
    pub(crate) fn take_streamed(&mut self) -> Option<Streamed> {
        self.streamed.take()
    }

    /// An answer without a body.
    pub fn empty(status: StatusCode) -> Self {
        Response::new(status, "", "")
    }

    /// Ids that were just given out.
    pub(crate) fn ids(media: Media, body: impl Into<Bytes>) -> Self {
        Response::new(StatusCode::OK, media.as_str(), body)
    }

    /// What is the same whenever it is asked for, in the form that the client accepts.
    pub(crate) fn lasting(media: Media, body: impl Into<Bytes>) -> Self {
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
    pub(crate) fn json(status: StatusCode, document: &impl Serialize) -> Self {
        Response::new(status, Media::Json.as_str(), line(document))
    }

    /// Something that was made, and where under `/v1` it is.
    pub(crate) fn created(segments: &[&str], document: &impl Serialize) -> Self {
        let mut response = Response::json(StatusCode::CREATED, document);
        let encoded: Vec<String> = segments.iter().map(|segment| percent::encode(segment)).collect();
        response.add("location", format!("/v1/{}", encoded.join("/")));
        response
    }

    /// The same answer, counted as a refusal.
    pub fn refusing(self, code: Code) -> Self {
        Response {
            refused: Some(code),
            ..self
        }
    }

    /// The same answer, whose body is counted as long as anybody has a part of it.
    pub(crate) fn counted(self, room: Room) -> Self {
        Response {
            body: room.around(self.body),
            is_counted: true,
            ..self
        }
    }

    /// Whether its body has more than these bytes, and nobody has counted them yet.
    pub(crate) fn is_to_be_counted(&self, above: u64) -> bool {
        !self.is_counted && self.body.len() as u64 > above
    }

    /// Whether its body is made while it is sent.
    pub(crate) fn is_streamed(&self) -> bool {
        self.streamed.is_some()
    }

    /// Its body, if that is sent by itself rather than copied behind the head.
    pub(crate) fn take_large(&mut self) -> Option<Bytes> {
        (self.body.len() as u64 > SMALL_BYTES).then(|| std::mem::take(&mut self.body))
    }

    /// What stands in it.
    pub(crate) fn body(&self) -> &[u8] {
        &self.body
    }

    /// What it refuses, where it says so.
    pub(crate) fn refused(&self) -> Option<Code> {
        self.refused
    }

    /// The names of its headers, besides those that every answer has.
    pub(crate) fn header_names(&self) -> impl Iterator<Item = &'static str> {
        self.headers.iter().map(|(name, _)| *name)
    }

    /// Adds a header.
    pub fn add(&mut self, name: &'static str, value: impl Into<Cow<'static, str>>) {
        self.headers.push((name, value.into()));
    }

    /// Says when what was refused is worth asking again, and which rate was exceeded.
    pub(crate) fn say_when(&mut self, error: &ServiceError) {
        let Some(seconds) = error.retry_after_s else {
            return;
        };
        self.add("retry-after", seconds.to_string());
        let Some(limit) = error.rate_limit else { return };
        let (what, burst, rate) = (limit.what, limit.burst, limit.per_second);
        // draft-ietf-httpapi-ratelimit-headers: how many within which time, and what is left of them.
        let window = burst.div_ceil(rate).max(1);
        self.add("ratelimit-policy", format!("\"{what}\";q={burst};w={window}"));
        self.add("ratelimit", format!("\"{what}\";r=0;t={seconds}"));
    }

    /// The value of a header besides those that every answer has.
    #[cfg(test)]
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(given, _)| *given == name);
        found.map(|(_, value)| &**value)
    }

    /// Says that the connection ends with this answer.
    pub(crate) fn close(&mut self) {
        if !self.closes() {
            self.add("connection", "close");
        }
    }

    /// Whether the connection ends with this answer.
    pub(crate) fn closes(&self) -> bool {
        self.headers.iter().any(|(name, _)| *name == "connection")
    }

    /// For hyper to send.
    pub(crate) fn for_hyper(self) -> hyper::Response<Full<Bytes>> {
        let always = self.always();
        let mut response = hyper::Response::new(Full::new(self.body));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        if !self.media_type.is_empty() {
            // Where it was taken from the request it is one of those that fit.
            if let Ok(value) = HeaderValue::from_str(&self.media_type) {
                headers.insert(header::CONTENT_TYPE, value);
            }
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
    pub(crate) fn write(&self, date: &str, out: &mut Vec<u8>) {
        self.write_head(date, out);
        out.extend_from_slice(&self.body);
    }

    /// Its head.
    pub(crate) fn write_head(&self, date: &str, out: &mut Vec<u8>) {
        let mut put = |text: &str| out.extend_from_slice(text.as_bytes());
        put("HTTP/1.1 ");
        put(self.status.as_str());
        put(" ");
        put(self.status.canonical_reason().unwrap_or_default());
        if !self.media_type.is_empty() {
            put("\r\ncontent-type: ");
            put(&self.media_type);
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
    }
}
