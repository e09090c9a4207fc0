//! The head of a request: who asks, for what form of answer, and whether they may.

use hyper::Version;
use hyper::header::{self, HeaderMap, HeaderName};
use hyper::http::request::Parts;

use super::body::BodyLimit;
use crate::auth::{Identity, Presented, Tokens};
use crate::error::{Code, ServiceError};
use crate::service::Answer;
use crate::transport::Endpoint;

/// What is read of a request's head, whoever framed it. A header that is present but no text is empty here, so
/// that it counts as present and fits nothing.
#[derive(Clone, Debug, Default)]
pub struct Head<'r> {
    /// The method.
    pub method: &'r str,
    /// The path, without the query.
    pub path: &'r str,
    /// What follows the question mark.
    pub query: &'r str,
    /// The host of an absolute target, which stands above `Host`.
    pub authority: Option<&'r str>,
    /// `Host`.
    pub host: Option<&'r str>,
    /// `Origin`.
    pub origin: Option<&'r str>,
    /// Where a browser says that the request comes from (`Sec-Fetch-Site`).
    pub fetch_site: Option<&'r str>,
    /// How the same would use the answer (`Sec-Fetch-Mode`); Node's `fetch` sends this one alone.
    pub fetch_mode: Option<&'r str>,
    /// There is another header that browsers send and hardly anything else (`is_mark`).
    pub is_marked: bool,
    /// The page that a request comes from.
    pub referer: Option<&'r str>,
    /// `User-Agent`.
    pub user_agent: Option<&'r str>,
    /// What people speak at the other end: browsers say so, and hardly anything else.
    pub accept_language: Option<&'r str>,
    /// `Accept`.
    pub accept: Option<&'r str>,
    /// `Authorization`.
    pub authorization: Option<&'r str>,
    /// `Content-Length`.
    pub content_length: Option<&'r str>,
    /// `Content-Type`.
    pub content_type: Option<&'r str>,
    /// `Idempotency-Key`.
    pub idempotency_key: Option<&'r str>,
    /// A browser asks whether a page may send a request (`Access-Control-Request-Method`).
    pub asks_whether: bool,
    /// Whether there is a `Transfer-Encoding`.
    pub chunked: bool,
    /// The client speaks HTTP/1.0.
    pub is_http_10: bool,
    /// All headers, where hyper framed the request.
    pub all: Option<&'r HeaderMap>,
    /// Our address on this connection.
    pub local: Option<&'r Endpoint>,
}

/// A form of answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Media {
    /// `application/json`
    Json,
    /// `text/plain`: one id a line.
    Text,
    /// `application/octet-stream`: ids packed, most significant byte first.
    Octets,
}

impl Media {
    /// Every form, the preferred first.
    const ALL: [Media; 3] = [Media::Json, Media::Text, Media::Octets];

    /// The media type.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Media::Json => "application/json",
            Media::Text => "text/plain; charset=utf-8",
            Media::Octets => "application/octet-stream",
        }
    }

    fn matches(self, range: &str) -> bool {
        let name = self.as_str().split(';').next().unwrap_or_default();
        let kind = name.split('/').next().unwrap_or_default();
        range == "*/*" || range == name || range.strip_suffix("/*") == Some(kind)
    }
}

impl<'r> Head<'r> {
    /// The head of a request that hyper framed.
    pub(crate) fn of(parts: &'r Parts, local: Option<&'r Endpoint>) -> Self {
        let text = |name: HeaderName| {
            parts
                .headers
                .get(name)
                .map(|value| value.to_str().unwrap_or_default())
        };
        // Two hosts are none.
        let hosts = parts.headers.get_all(header::HOST).iter().count();
        Head {
            method: parts.method.as_str(),
            path: parts.uri.path(),
            query: parts.uri.query().unwrap_or_default(),
            authority: parts.uri.authority().map(|authority| authority.as_str()),
            host: if hosts > 1 { Some("") } else { text(header::HOST) },
            origin: text(header::ORIGIN),
            fetch_site: text(HeaderName::from_static("sec-fetch-site")),
            fetch_mode: text(HeaderName::from_static("sec-fetch-mode")),
            is_marked: parts.headers.keys().any(|name| is_mark(name.as_str().as_bytes())),
            referer: text(header::REFERER),
            user_agent: text(header::USER_AGENT),
            accept_language: text(header::ACCEPT_LANGUAGE),
            accept: text(header::ACCEPT),
            authorization: text(header::AUTHORIZATION),
            content_length: text(header::CONTENT_LENGTH),
            content_type: text(header::CONTENT_TYPE),
            idempotency_key: text(HeaderName::from_static("idempotency-key")),
            asks_whether: parts.headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD),
            chunked: parts.headers.contains_key(header::TRANSFER_ENCODING),
            is_http_10: parts.version == Version::HTTP_10,
            all: Some(&parts.headers),
            local,
        }
    }

    /// Whether the connection must not be used again: where a request's length could be read in two ways, what
    /// follows it may be somebody else's.
    pub(crate) fn closes(&self) -> bool {
        self.chunked
    }

    /// The host that is asked for, with its port.
    pub(crate) fn asked_by(&self) -> Option<&'r str> {
        self.authority.or(self.host)
    }

    /// Refuses the promise that the same request sent again does nothing: nobody keeps it yet.
    pub(crate) fn check_idempotency(&self) -> Answer<()> {
        match self.idempotency_key {
            Some(_) if !matches!(self.method, "GET" | "HEAD" | "OPTIONS") => Err(ServiceError::new(
                Code::IdempotencyKey,
                "Idempotency-Key is not honoured: this request sent again would do its work again",
            )
            .with_hint(
                "leave the header out; docs/http-reference.md says which refusals may have spent ids",
            )),
            _ => Ok(()),
        }
    }

    /// Refuses a body that says beforehand that it is too long.
    pub(crate) fn check_size(&self, limit: BodyLimit) -> Answer<()> {
        let declared = self.content_length.and_then(|text| text.parse::<u64>().ok());
        match declared {
            Some(length) if length > limit.bytes as u64 => Err(limit.refuse()),
            _ => Ok(()),
        }
    }

    /// The token that it shows.
    pub fn bearer(&self) -> Option<&'r str> {
        let (scheme, token) = self.authorization?.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
    }

    /// Finds out who asks, on this face: by the token that is shown, else by what the connection shows.
    pub(crate) fn identify(&self, tokens: &Tokens, face: &str, presented: &Presented) -> Answer<Identity> {
        if !tokens.required() || self.authorization.is_none() {
            return tokens.before_a_word(presented, face).ok_or_else(|| {
                ServiceError::new(Code::Unauthenticated, "this needs a token")
                    .with_hint("send it as Authorization: Bearer TOKEN")
            });
        }
        let Some(token) = self.bearer() else {
            return Err(ServiceError::new(
                Code::Unauthenticated,
                "the scheme of Authorization must be Bearer",
            ));
        };
        tokens
            .identify(token.as_bytes(), face)
            .ok_or_else(|| ServiceError::new(Code::WrongToken, "the token is not known"))
    }

    /// The form of the answer that the client likes best (RFC 9110 section 12.5.1).
    pub(crate) fn media(&self) -> Answer<Media> {
        let Some(accept) = self.accept else {
            return Ok(Media::Json);
        };
        if accept == "*/*" {
            return Ok(Media::Json);
        }
        let accept = accept.to_ascii_lowercase();
        let mut best: Option<(f32, Media)> = None;
        for media in Media::ALL {
            let weight = weight_of(media, &accept);
            if weight > 0.0 && best.is_none_or(|(highest, _)| weight > highest) {
                best = Some((weight, media));
            }
        }
        best.map(|(_, media)| media).ok_or_else(|| {
            let offered: Vec<&str> = Media::ALL.iter().map(|media| media.as_str()).collect();
            ServiceError::new(Code::NotAcceptable, "none of the accepted media types is offered")
                .with_hint(format!("offered are {}", offered.join(", ")))
        })
    }
}

/// How much a client likes a form: the weight of the most specific range that matches, 0 if none.
fn weight_of(media: Media, accept: &str) -> f32 {
    let mut found: Option<(usize, f32)> = None;
    for range in accept.split(',') {
        let mut parts = range.split(';').map(str::trim);
        let Some(name) = parts.next().filter(|name| media.matches(name)) else {
            continue;
        };
        let weight = parts
            .find_map(|p| p.strip_prefix("q="))
            .map_or(1.0, |q| q.parse().unwrap_or(0.0));
        // `*/*` is less specific than `text/*`, and that less than `text/plain`.
        let specific = 2usize.saturating_sub(name.matches('*').count());
        if found.is_none_or(|(most, _)| specific > most) {
            found = Some((specific, weight));
        }
    }
    found.map_or(0.0, |(_, weight)| weight)
}

/// Whether a header is one of those that only browsers send, in whatever case, and that nothing else is read from.
pub(crate) fn is_mark(name: &[u8]) -> bool {
    let is = |mark: &str| name.eq_ignore_ascii_case(mark.as_bytes());
    match name.len() {
        3 => is("dnt"),
        14 if is("sec-fetch-mode") || is("sec-fetch-site") => false,
        25 if is("upgrade-insecure-requests") => true,
        length => length > 4 && name[..4].eq_ignore_ascii_case(b"sec-"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn preferred(accept: &str) -> Option<Media> {
        Head {
            accept: Some(accept),
            ..Head::default()
        }
        .media()
        .ok()
    }

    #[test]
    fn the_form_that_the_client_likes_best_is_chosen() {
        for (accept, media) in [
            ("*/*", Some(Media::Json)),
            ("text/plain", Some(Media::Text)),
            ("TEXT/PLAIN", Some(Media::Text)),
            ("text/*", Some(Media::Text)),
            ("application/*", Some(Media::Json)),
            ("application/octet-stream", Some(Media::Octets)),
            ("text/html, application/xhtml+xml, */*;q=0.8", Some(Media::Json)),
            ("application/json;q=0.1, text/plain;q=0.2", Some(Media::Text)),
            ("application/json;q=0, */*", Some(Media::Text)),
            ("image/png", None),
            ("application/json;q=0", None),
        ] {
            assert_eq!(preferred(accept), media, "{accept}");
        }
    }
}
