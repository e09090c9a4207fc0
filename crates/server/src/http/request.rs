//! What a request says besides its path: query, accepted media types, body, who asks.

use std::borrow::Cow;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;

use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use hyper::header::{self, HeaderName};
use hyper::http::request::Parts;
use hyper::{Method, Version};

use super::route;
use crate::auth::{Right, Tokens};
use crate::config::Config;
use crate::error::{Code, ServiceError};
use crate::service::{Answer, Worker};

/// The head of a request.
#[derive(Debug)]
pub(super) struct Head<'r> {
    parts: &'r Parts,
    local: Option<SocketAddr>,
}

/// A form of answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Media {
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
    pub(super) fn as_str(self) -> &'static str {
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
    pub(super) fn new(parts: &'r Parts, local: Option<SocketAddr>) -> Self {
        Head { parts, local }
    }

    pub(super) fn method(&self) -> &'r Method {
        &self.parts.method
    }

    pub(super) fn path(&self) -> &'r str {
        self.parts.uri.path()
    }

    pub(super) fn query(&self) -> &'r str {
        self.parts.uri.query().unwrap_or_default()
    }

    fn text(&self, name: HeaderName) -> Option<&'r str> {
        self.parts.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// Whether the connection must not be used again: where a request's length could be read in two ways, what
    /// follows it may be somebody else's.
    pub(super) fn closes(&self) -> bool {
        self.parts.headers.contains_key(header::TRANSFER_ENCODING)
    }

    /// Refuses host names that do not belong to a server on loopback: a web site whose name was pointed at
    /// 127.0.0.1 (DNS rebinding) is not a client.
    pub(super) fn check_host(&self, config: &Config) -> Answer<()> {
        let Some(local) = self.local.filter(|local| local.ip().is_loopback()) else {
            return Ok(());
        };
        let host = match self.parts.uri.authority() {
            Some(authority) => authority.as_str(),
            None => match self.text(header::HOST) {
                Some(host) => host,
                None if self.parts.version == Version::HTTP_10 => return Ok(()),
                None => return Err(ServiceError::new(Code::Protocol, "the request has no Host")),
            },
        };
        let name = host_name(host);
        let known = name.eq_ignore_ascii_case("localhost")
            || name
                .trim_start_matches('[')
                .trim_end_matches(']')
                .parse::<IpAddr>()
                .is_ok()
            || config
                .http_hosts
                .iter()
                .any(|known| known.eq_ignore_ascii_case(name));
        if known {
            return Ok(());
        }
        let shown: String = host.chars().take(80).collect();
        Err(ServiceError::new(
            Code::WrongHost,
            format!("host {shown:?} does not belong to this server on {local}"),
        )
        .with_hint("add the name to server.http.hosts"))
    }

    /// Refuses requests that a page of another site made a browser send: they could burn numbers without
    /// seeing an answer.
    pub(super) fn check_origin(&self) -> Answer<()> {
        let Some(origin) = self.text(header::ORIGIN) else {
            return Ok(());
        };
        let authority = origin.split_once("://").map(|(_, authority)| authority);
        if authority.is_some() && authority == self.text(header::HOST) {
            return Ok(());
        }
        let shown: String = origin.chars().take(80).collect();
        Err(ServiceError::new(
            Code::CrossOrigin,
            format!("the request comes from a page of {shown:?}"),
        ))
    }

    /// Refuses a body that says beforehand that it is too long.
    pub(super) fn check_size(&self, config: &Config) -> Answer<()> {
        let declared = self
            .text(header::CONTENT_LENGTH)
            .and_then(|text| text.parse::<u64>().ok());
        match declared {
            Some(length) if length > config.http_max_body.0 as u64 => Err(too_large(config)),
            _ => Ok(()),
        }
    }

    /// Finds out who asks, and whether they may.
    pub(super) fn authorise(&self, tokens: &Tokens, right: Right) -> Answer<()> {
        if !tokens.required() {
            return Ok(());
        }
        let Some(given) = self.text(header::AUTHORIZATION) else {
            return Err(ServiceError::new(Code::Unauthenticated, "this needs a token")
                .with_hint("send it as Authorization: Bearer TOKEN"));
        };
        let token = given
            .split_once(' ')
            .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
        let Some((_, token)) = token else {
            return Err(ServiceError::new(
                Code::Unauthenticated,
                "the scheme of Authorization must be Bearer",
            ));
        };
        let Some(identity) = tokens.identify(token.trim().as_bytes()) else {
            tracing::warn!("a wrong token was shown");
            return Err(ServiceError::new(Code::WrongToken, "the token is not known"));
        };
        if !identity.may(right) {
            let message = format!("token {:?} may not {}", identity.name(), right.as_str());
            return Err(ServiceError::new(Code::Forbidden, message));
        }
        Ok(())
    }

    /// The form of the answer that the client likes best (RFC 9110 section 12.5.1).
    pub(super) fn media(&self) -> Answer<Media> {
        let Some(accept) = self.parts.headers.get(header::ACCEPT) else {
            return Ok(Media::Json);
        };
        if accept == "*/*" {
            return Ok(Media::Json);
        }
        let accept = accept.to_str().unwrap_or_default().to_ascii_lowercase();
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

/// A host without its port.
fn host_name(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) && !name.ends_with(':') => name,
        _ => host,
    }
}

/// The query of a request.
#[derive(Debug)]
pub(super) struct Query<'q> {
    text: &'q str,
}

impl<'q> Query<'q> {
    pub(super) fn of(text: &'q str) -> Self {
        Query { text }
    }

    /// Refuses parameters that the route does not know: a misspelt one would be obeyed by being ignored.
    pub(super) fn only(&self, known: &[&str]) -> Answer<()> {
        match self.pairs().find(|(name, _)| !known.contains(name)) {
            None => Ok(()),
            Some((name, _)) => {
                let shown: String = name.chars().take(40).collect();
                let error =
                    ServiceError::new(Code::InvalidArgument, format!("there is no parameter {shown:?}"));
                Err(match known.is_empty() {
                    true => error.with_hint("the route takes none"),
                    false => error.with_hint(format!("the route takes {}", known.join(", "))),
                })
            }
        }
    }

    /// A parameter's value.
    ///
    /// # Errors
    /// It stands twice, or its encoding is damaged.
    pub(super) fn get(&self, wanted: &str) -> Answer<Option<Cow<'q, [u8]>>> {
        let mut found = self.pairs().filter(|(name, _)| *name == wanted);
        let Some((_, value)) = found.next() else {
            return Ok(None);
        };
        if found.next().is_some() {
            return Err(ServiceError::new(
                Code::InvalidArgument,
                format!("parameter {wanted} stands twice"),
            ));
        }
        route::decode(value).map(Some).ok_or_else(|| {
            ServiceError::new(
                Code::InvalidArgument,
                format!("the encoding of parameter {wanted} is damaged"),
            )
        })
    }

    /// A parameter that is a whole number.
    ///
    /// # Errors
    /// As [`Query::get`]; `Some(None)` is a value that is no number below 2^64.
    pub(super) fn number(&self, wanted: &str) -> Answer<Option<Option<u64>>> {
        let parse = |value: Cow<'_, [u8]>| {
            std::str::from_utf8(&value)
                .ok()
                .and_then(|text| text.parse().ok())
        };
        Ok(self.get(wanted)?.map(parse))
    }

    /// `count`, 1 where it is absent.
    ///
    /// # Errors
    /// [`Code::InvalidCount`].
    pub(super) fn count(&self, worker: &Worker) -> Answer<u64> {
        match self.number("count")? {
            None => Ok(1),
            Some(count) => worker.count(count),
        }
    }

    fn pairs(&self) -> impl Iterator<Item = (&'q str, &'q str)> + use<'q> {
        self.text
            .split('&')
            .filter(|pair| !pair.is_empty())
            .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
    }
}

/// Reads a body, within its limits of length and time.
pub(super) async fn read_body(worker: &Rc<Worker>, body: Incoming) -> Answer<Vec<u8>> {
    let config = worker.config();
    let collected = Limited::new(body, config.http_max_body.0).collect();
    match tokio::time::timeout(config.http_request_timeout, collected).await {
        Ok(Ok(collected)) => Ok(collected.to_bytes().to_vec()),
        Ok(Err(error)) if error.is::<http_body_util::LengthLimitError>() => Err(too_large(config)),
        Ok(Err(_)) => Err(ServiceError::new(Code::Protocol, "the body did not arrive whole")),
        Err(_) => Err(ServiceError::new(
            Code::RequestTimeout,
            "the body did not arrive in time",
        )),
    }
}

fn too_large(config: &Config) -> ServiceError {
    let max = config.http_max_body.0;
    ServiceError::new(
        Code::BodyTooLarge,
        format!("a body has at most {max} bytes (server.http.max_body)"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn preferred(accept: &str) -> Option<Media> {
        let request = hyper::Request::builder()
            .header("accept", accept)
            .body(())
            .unwrap();
        let (parts, ()) = request.into_parts();
        Head::new(&parts, None).media().ok()
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

    #[test]
    fn hosts_lose_their_port_and_nothing_else() {
        for (host, name) in [
            ("localhost:7600", "localhost"),
            ("127.0.0.1", "127.0.0.1"),
            ("[::1]:7600", "[::1]"),
            ("[::1]", "[::1]"),
            ("evil.example:80", "evil.example"),
        ] {
            assert_eq!(host_name(host), name);
        }
    }

    fn is_own(host: Option<&str>, version: Version, local: &str) -> bool {
        let mut request = hyper::Request::builder().version(version);
        if let Some(host) = host {
            request = request.header("host", host);
        }
        let (parts, ()) = request.body(()).unwrap().into_parts();
        let config = Config {
            http_hosts: vec!["ids.internal".into()],
            ..Config::default()
        };
        Head::new(&parts, Some(local.parse().unwrap()))
            .check_host(&config)
            .is_ok()
    }

    #[test]
    fn names_pointed_at_loopback_are_refused_there() {
        for (host, own) in [
            ("localhost:7600", true),
            ("LocalHost", true),
            ("127.0.0.1:1", true),
            ("[::1]:7600", true),
            ("10.1.2.3", true),
            ("ids.internal:7600", true),
            ("evil.example", false),
            ("localhost.evil.example", false),
            ("127.0.0.1.evil.example", false),
            ("", false),
        ] {
            assert_eq!(
                is_own(Some(host), Version::HTTP_11, "127.0.0.1:7600"),
                own,
                "{host}"
            );
            assert!(is_own(Some(host), Version::HTTP_11, "10.0.0.1:7600"), "{host}");
        }
        assert!(!is_own(None, Version::HTTP_11, "127.0.0.1:7600"));
        assert!(is_own(None, Version::HTTP_10, "127.0.0.1:7600"));
    }

    #[test]
    fn pages_of_other_sites_are_refused() {
        for (origin, fine) in [
            ("http://127.0.0.1:7600", true),
            ("http://evil.example", false),
            ("null", false),
            ("127.0.0.1:7600", false),
        ] {
            let request = hyper::Request::builder()
                .header("host", "127.0.0.1:7600")
                .header("origin", origin);
            let (parts, ()) = request.body(()).unwrap().into_parts();
            assert_eq!(Head::new(&parts, None).check_origin().is_ok(), fine, "{origin}");
        }
    }

    #[test]
    fn queries_are_read_strictly() {
        let query = Query::of("count=5&as=range&after=a%3Ab&x=1&x=2&bad=%4");
        assert_eq!(query.number("count"), Ok(Some(Some(5))));
        assert_eq!(query.number("as"), Ok(Some(None)));
        assert_eq!(query.get("after"), Ok(Some(Cow::Borrowed(&b"a:b"[..]))));
        assert_eq!(query.get("none"), Ok(None));
        assert!(query.get("x").is_err());
        assert!(query.get("bad").is_err());
        assert_eq!(
            query.only(&["count"]).unwrap_err().message,
            "there is no parameter \"as\""
        );
        assert_eq!(Query::of("").only(&[]), Ok(()));
    }
}
