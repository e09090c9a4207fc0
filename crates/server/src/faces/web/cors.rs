//! Browsers: which pages of other sites may ask, and how they are told (the Fetch standard's CORS protocol).
//!
//! A page may come from an origin that `server.http.origins` lists; where tokens are configured it needs one like
//! everybody else. Nothing is ever allowed with cookies: there are none.

use std::borrow::Cow;

use hyper::StatusCode;
use hyper::header::ACCESS_CONTROL_REQUEST_HEADERS;

use super::answer::Response;
use super::head::Head;
use crate::config::Config;
use crate::error::{Code, ServiceError};
use crate::service::Answer;

/// Where a request comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Comes {
    /// From no page, or from one of this server's own.
    Here,
    /// From a page of a listed origin.
    Listed,
    /// From another page.
    Elsewhere,
}

fn comes(head: &Head<'_>, config: &Config) -> Comes {
    let Some(origin) = head.origin else {
        return Comes::Here;
    };
    let listed = |listed: &str| listed.eq_ignore_ascii_case(origin);
    if config
        .http_origins
        .iter()
        .map(|origin| origin.as_str())
        .any(listed)
    {
        return Comes::Listed;
    }
    match origin.split_once("://") {
        Some((_, authority)) if Some(authority) == head.host => Comes::Here,
        _ => Comes::Elsewhere,
    }
}

/// The same for the faces that give out ids to a GET: browsers send that for an image of any page, without an `Origin`,
/// and say so (`Sec-Fetch-Site`).
pub(crate) fn check_page(head: &Head<'_>, config: &Config) -> Answer<()> {
    check_origin(head, config)?;
    match head.fetch_site {
        Some("cross-site" | "same-site") if comes(head, config) != Comes::Listed => Err(ServiceError::new(
            Code::CrossOrigin,
            "the request comes from a page of another site",
        )
        .with_hint("if pages of it may ask, list it in server.http.origins")),
        _ => Ok(()),
    }
}

/// Refuses requests that a page of another site made a browser send: they could burn numbers without seeing an answer.
pub(crate) fn check_origin(head: &Head<'_>, config: &Config) -> Answer<()> {
    match (comes(head, config), head.origin) {
        (Comes::Elsewhere, Some(origin)) => {
            let shown: String = origin.chars().take(80).collect();
            let message = format!("the request comes from a page of {shown:?}");
            Err(ServiceError::new(Code::CrossOrigin, message)
                .with_hint("if pages of it may ask, list it in server.http.origins"))
        }
        _ => Ok(()),
    }
}

/// The answer to a browser that asks whether a page may ask (a preflight), which carries no token; `None`: it is none.
/// `methods` are those that fit the path, if it leads anywhere.
pub(crate) fn preflight(
    head: &Head<'_>,
    config: &Config,
    methods: impl FnOnce() -> Option<String>,
) -> Option<Response> {
    if head.method != "OPTIONS" || !head.asks_whether || comes(head, config) == Comes::Elsewhere {
        return None;
    }
    let mut response = Response::empty(StatusCode::NO_CONTENT);
    response.add("access-control-allow-methods", methods()?);
    response.add("access-control-allow-headers", headers_sent(head));
    response.add("access-control-max-age", "600");
    Some(response)
}

/// The headers that a page may send: all that it asks for, since its origin is trusted, and clients of other systems send
/// headers of their own (`apikey`, `x-client-info`).
fn headers_sent(head: &Head<'_>) -> String {
    let mut sent: Vec<&str> = HEADERS_SENT.to_vec();
    let asked = head
        .all
        .and_then(|all| all.get(ACCESS_CONTROL_REQUEST_HEADERS)?.to_str().ok());
    for name in asked.unwrap_or_default().split(',').map(str::trim) {
        let is_name = !name.is_empty()
            && name
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b));
        if is_name && !sent.iter().any(|known| known.eq_ignore_ascii_case(name)) {
            sent.push(name);
        }
    }
    sent.join(", ")
}

const HEADERS_SENT: [&str; 3] = ["authorization", "content-type", "accept"];

/// Says on an answer which page may read it.
pub(crate) fn mark(head: &Head<'_>, config: &Config, response: &mut Response) {
    if config.http_origins.is_empty() {
        return;
    }
    response.add("vary", "origin");
    if let (Comes::Listed, Some(origin)) = (comes(head, config), head.origin) {
        response.add("access-control-allow-origin", Cow::Owned(origin.to_string()));
        let own = response.header_names();
        let mut read: Vec<&str> = HEADERS_READ.to_vec();
        read.extend(own.filter(|name| {
            !HEADERS_READ.contains(name)
                && !NOT_EXPOSED.contains(name)
                && !name.starts_with("access-control-")
        }));
        let read = read.join(", ");
        response.add("access-control-expose-headers", read);
    }
}

/// The headers of answers that a page may read, besides others that an answer has.
const HEADERS_READ: [&str; 5] = [
    "allow",
    "location",
    "mint-cycle",
    "retry-after",
    "www-authenticate",
];
/// Those that are between the browser and the server.
const NOT_EXPOSED: [&str; 2] = ["vary", "connection"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_other_sites_are_refused() {
        let config = Config {
            http_origins: vec!["https://app.example".parse().unwrap()],
            ..Config::default()
        };
        for (origin, fine, marked) in [
            ("http://127.0.0.1:7600", true, false),
            ("https://app.example", true, true),
            ("https://APP.example", true, true),
            ("http://app.example", false, false),
            ("https://app.example:8443", false, false),
            ("https://app.example.evil.example", false, false),
            ("http://evil.example", false, false),
            ("null", false, false),
            ("127.0.0.1:7600", false, false),
        ] {
            let head = Head {
                host: Some("127.0.0.1:7600"),
                origin: Some(origin),
                ..Head::default()
            };
            assert_eq!(check_origin(&head, &config).is_ok(), fine, "{origin}");
            let mut response = Response::empty(StatusCode::OK);
            mark(&head, &config, &mut response);
            let told = response.header("access-control-allow-origin");
            assert_eq!(told, marked.then_some(origin), "{origin}");
        }
    }
}
