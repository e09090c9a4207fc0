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
        Some((_, authority)) if Some(authority) == head.asked_by() => Comes::Here,
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

/// The same where browsers say nothing of the kind: to addresses in clear other than loopback they send neither
/// `Sec-Fetch-Site` nor an `Origin` with a GET. What is left is what a page cannot change about them: where they come from,
/// unless the page hides that, and that they are browsers. For what gives out ids to a GET, and nothing else: people may
/// look.
pub(crate) fn check_browser(head: &Head<'_>, config: &Config) -> Answer<()> {
    if head.fetch_site.is_some() || head.origin.is_some() {
        return check_page(head, config);
    }
    let (message, hint) = match head.referer {
        Some(referer) => match comes_from(referer, head, config) {
            Comes::Elsewhere => (
                "the request comes from a page of another site",
                "if pages of it may ask, list it in server.http.origins",
            ),
            Comes::Here | Comes::Listed => return Ok(()),
        },
        None if is_browser(head) => (
            "a browser asks and does not say for which page: ids are given to programs here",
            "over TLS and on loopback browsers say so; curl asks for one id",
        ),
        None => return Ok(()),
    };
    Err(ServiceError::new(Code::CrossOrigin, message).with_hint(hint))
}

/// Where the page of a `Referer` is.
fn comes_from(referer: &str, head: &Head<'_>, config: &Config) -> Comes {
    let Some((scheme, rest)) = referer.split_once("://") else {
        return Comes::Elsewhere;
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let page = Head {
        origin: Some(&format!("{scheme}://{authority}")),
        host: head.asked_by(),
        ..Head::default()
    };
    comes(&page, config)
}

/// Whether a page of a listed origin asks.
pub(crate) fn is_of_listed_page(head: &Head<'_>, config: &Config) -> bool {
    let from = match (head.origin, head.referer) {
        (None, Some(referer)) => comes_from(referer, head, config),
        _ => comes(head, config),
    };
    from == Comes::Listed
}

/// Whether it has the marks of one: some kind of image is asked for, or it has a browser's name and what browsers send
/// besides. Java's own client asks for `text/html, image/gif, …`, and PowerShell's is called Mozilla.
fn is_browser(head: &Head<'_>) -> bool {
    let accept = head.accept.unwrap_or_default().trim_start().to_ascii_lowercase();
    let begins = |media: &str| accept.starts_with(media);
    let is_named = head.user_agent.is_some_and(|name| name.starts_with("Mozilla/"));
    let is_image = begins("image/");
    is_image && accept.contains(',')
        || is_named
            && (is_image || head.accept_language.is_some() || begins("text/html") || begins("text/css"))
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

    // claim: P72
    #[test]
    fn browsers_that_do_not_say_for_whom_they_ask_get_no_id() {
        let config = Config {
            http_origins: vec!["https://app.example".parse().unwrap()],
            ..Config::default()
        };
        let chromium =
            "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0";
        let java = "text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2";
        // Referer, Accept, User-Agent, Accept-Language; whether it is answered.
        type Asks<'a> = [Option<&'a str>; 4];
        let cases: &[(Asks<'_>, bool)] = &[
            ([None, None, None, None], true),
            ([None, Some("*/*"), Some("curl/8.5.0"), None], true),
            ([None, Some(java), Some("Java/1.8.0_392"), None], true),
            (
                [
                    None,
                    Some("application/json"),
                    Some("python-requests/2.32"),
                    Some("en"),
                ],
                true,
            ),
            (
                [
                    None,
                    None,
                    Some("Mozilla/5.0 (Windows NT) WindowsPowerShell/5.1"),
                    None,
                ],
                true,
            ),
            ([None, Some("image/avif,image/webp,*/*;q=0.8"), None, None], false),
            ([None, Some("image/png"), None, None], true),
            ([None, Some("IMAGE/png"), Some(chromium), None], false),
            ([None, Some("text/html,*/*;q=0.8"), Some(chromium), None], false),
            ([None, Some("text/css,*/*;q=0.1"), Some(chromium), None], false),
            ([None, Some("*/*"), Some(chromium), Some("en-GB,en;q=0.9")], false),
            (
                [
                    Some("http://evil.example/page"),
                    Some("*/*"),
                    Some(chromium),
                    Some("en"),
                ],
                false,
            ),
            ([Some("http://evil.example"), None, None, None], false),
            (
                [Some("http://10.0.0.5:7610.evil.example/"), None, None, None],
                false,
            ),
            ([Some("http://10.0.0.5:7611/"), None, None, None], false),
            (
                [
                    Some("http://evil.example/?http://10.0.0.5:7610/"),
                    None,
                    None,
                    None,
                ],
                false,
            ),
            ([Some("http://evil@10.0.0.5:7610/"), None, None, None], false),
            ([Some("10.0.0.5:7610"), None, None, None], false),
            ([Some(""), None, None, None], false),
            (
                [
                    Some("http://10.0.0.5:7610/cache"),
                    Some("*/*"),
                    Some(chromium),
                    Some("en"),
                ],
                true,
            ),
            (
                [
                    Some("https://app.example/orders?x"),
                    Some("*/*"),
                    Some(chromium),
                    Some("en"),
                ],
                true,
            ),
        ];
        for (asks @ [referer, accept, user_agent, accept_language], fine) in cases {
            let head = Head {
                host: Some("10.0.0.5:7610"),
                referer: *referer,
                accept: *accept,
                user_agent: *user_agent,
                accept_language: *accept_language,
                ..Head::default()
            };
            assert_eq!(check_browser(&head, &config).is_ok(), *fine, "{asks:?}");
            // Where browsers say it, that counts.
            for (site, fine) in [("same-origin", true), ("none", true), ("cross-site", false)] {
                let head = Head {
                    fetch_site: Some(site),
                    referer: None,
                    ..head.clone()
                };
                assert_eq!(check_browser(&head, &config).is_ok(), fine, "{asks:?} {site}");
            }
        }
    }

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
