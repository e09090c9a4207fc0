//! Host names: whether a request by this one may be what a web page made a browser send.
//!
//! Anybody can point a name of his own at 127.0.0.1, or at an address of an internal network (DNS rebinding). A
//! page of that name is then of one origin with this server, so that nothing of what [`cors`](super::cors) looks at
//! is foreign. What is left is the name. It is asked of browsers alone: a program that was told a name was told it
//! by somebody who knows this server.
//!
//! **What tells a browser.** A name pointed elsewhere is no trustworthy origin, so browsers send no
//! `Sec-Fetch-Site` with it, and no `Origin` with a GET of the page's own origin. The page can also hide its
//! `Referer`, and in Firefox and Safari choose its `User-Agent` and `Accept`. It cannot keep a browser from sending
//! `Accept-Language` (the Fetch standard lets a page change it, not leave it out), so that its presence is enough;
//! any other sign is enough too. Node's `fetch` sends `Accept-Language: *` as well, and beside it a
//! `Sec-Fetch-Mode` without a `Sec-Fetch-Site`: browsers send both or neither, and no page can set a header that
//! begins with `Sec-`.
//!
//! | where | whose name is asked for |
//! | --- | --- |
//! | a unix socket | nobody's: no browser reaches it |
//! | a token is needed | nobody's: such a page has none, and proxies pass on the name they were asked by |
//! | loopback | a browser's |
//! | elsewhere | a browser's that a GET would give an id; people look at this server there by any name |

use std::net::IpAddr;

use super::head::Head;
use super::{Client, cors};
use crate::auth::Tokens;
use crate::config::Config;
use crate::error::{Code, ServiceError};
use crate::noise::Noise;
use crate::service::{Answer, Door};
use crate::transport::Endpoint;

/// What stands against a page, besides the name that it asks by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Guarded {
    /// Only whoever shows a token gets anything.
    ByToken,
    /// Nothing, where it is asked for by what a browser cannot be made to send for an image.
    No,
    /// Nothing, and a GET gives an id.
    NoAndGives,
}

impl Guarded {
    /// Where tokens are asked for if there are any, and a GET gives no id.
    pub(crate) fn of(tokens: &Tokens) -> Guarded {
        match tokens.required() {
            true => Guarded::ByToken,
            false => Guarded::No,
        }
    }
}

/// Refuses a browser that asks by a name which is not this server's, and has the log say what to do, once a minute.
pub(crate) fn check(thread: &Door, client: &Client, head: &Head<'_>, guarded: Guarded) -> Answer<()> {
    judge(head, &thread.config(), guarded).inspect_err(|error| {
        if error.code == Code::WrongHost {
            let log = thread.service().log();
            log.note_sent(Noise::WrongHost, error.message.to_string(), client.peer);
        }
    })
}

/// The same, without a word in the log.
pub(crate) fn judge(head: &Head<'_>, config: &Config, guarded: Guarded) -> Answer<()> {
    let Some(local) = head.local.filter(|local| local.tcp().is_some()) else {
        return Ok(());
    };
    // Two hosts are none, and read as an empty one.
    let Some(host) = head.asked_by().filter(|host| !host.is_empty()) else {
        return match local.is_local() && !head.is_http_10 {
            true => Err(ServiceError::new(Code::Protocol, "the request has no Host")),
            false => Ok(()),
        };
    };
    let is_asked = match guarded {
        Guarded::ByToken => false,
        Guarded::No => local.is_local(),
        // Over TLS no browser goes on by a name that the certificate has not.
        Guarded::NoAndGives => local.is_local() || !local.is_tls() && !cors::is_of_listed_page(head, config),
    };
    if !is_asked || is_known(host, config) || !is_of_browser(head) {
        return Ok(());
    }
    Err(foreign(host, local))
}

fn foreign(host: &str, local: &Endpoint) -> ServiceError {
    let shown: String = host.chars().take(80).collect();
    ServiceError::new(
        Code::WrongHost,
        format!(
            "host {shown:?} does not belong to this server on {local}, and a browser may be asking: \
             if it does, list the name in server.http.hosts"
        ),
    )
    .with_hint("programs that are no browsers, and addresses, need no entry")
}

/// Whether nobody else can have pointed this name here: it is listed, or no name at all.
fn is_known(host: &str, config: &Config) -> bool {
    let name = name_of(host);
    let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
    name.eq_ignore_ascii_case("localhost")
        || bare.unwrap_or(name).parse::<IpAddr>().is_ok()
        || config
            .http_hosts
            .iter()
            .any(|known| known.eq_ignore_ascii_case(name))
}

/// Whether anything about a request tells of a browser (see above).
fn is_of_browser(head: &Head<'_>) -> bool {
    let is_of_node = head.fetch_mode.is_some() && head.fetch_site.is_none();
    head.is_marked
        || head.fetch_site.is_some()
        || head.origin.is_some()
        || head.referer.is_some()
        || head.user_agent.is_some_and(|name| name.contains("Mozilla/"))
        || head.accept_language.is_some() && !is_of_node
}

/// A host without its port.
fn name_of(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) && !name.ends_with(':') => name,
        _ => host,
    }
}

#[cfg(test)]
mod tests {
    use super::super::head::is_mark;
    use super::*;

    #[test]
    fn hosts_lose_their_port_and_nothing_else() {
        for (host, name) in [
            ("localhost:7600", "localhost"),
            ("127.0.0.1", "127.0.0.1"),
            ("[::1]:7600", "[::1]"),
            ("[::1]", "[::1]"),
            ("evil.example:80", "evil.example"),
        ] {
            assert_eq!(name_of(host), name);
        }
    }

    const CHROMIUM: &str =
        "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0";

    /// What clients send besides the host, and whether it tells of a browser.
    fn clients() -> Vec<(&'static str, Head<'static>, bool)> {
        let of = |change: fn(&mut Head<'static>)| {
            let mut head = Head::default();
            change(&mut head);
            head
        };
        vec![
            ("nothing", Head::default(), false),
            (
                "curl",
                of(|head| (head.user_agent, head.accept) = (Some("curl/8.5.0"), Some("*/*"))),
                false,
            ),
            (
                "Java's own client",
                of(|head| {
                    head.user_agent = Some("Java/17.0.9");
                    head.accept = Some("text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2");
                }),
                false,
            ),
            (
                "Node's fetch",
                of(|head| {
                    head.user_agent = Some("node");
                    (head.accept_language, head.fetch_mode) = (Some("*"), Some("cors"));
                }),
                false,
            ),
            (
                "a page that passes itself off as Node: it cannot set Sec-Fetch-Mode",
                of(|head| (head.user_agent, head.accept_language) = (Some("node"), Some("*"))),
                true,
            ),
            (
                "a page that has emptied what it can",
                of(|head| head.accept_language = Some("")),
                true,
            ),
            (
                "a browser that says both",
                of(|head| {
                    (head.fetch_mode, head.fetch_site) = (Some("cors"), Some("same-origin"));
                    head.accept_language = Some("en");
                }),
                true,
            ),
            (
                "same-origin",
                of(|head| head.fetch_site = Some("same-origin")),
                true,
            ),
            (
                "a page's own origin",
                of(|head| head.origin = Some("http://evil.example:7600")),
                true,
            ),
            (
                "a page's address",
                of(|head| head.referer = Some("http://evil.example:7600/")),
                true,
            ),
            (
                "a browser's name",
                of(|head| head.user_agent = Some(CHROMIUM)),
                true,
            ),
            (
                "a browser's name, further on",
                of(|head| head.user_agent = Some("x Mozilla/5.0")),
                true,
            ),
            (
                "what people speak",
                of(|head| head.accept_language = Some("en-GB,en;q=0.9")),
                true,
            ),
            ("a mark", of(|head| head.is_marked = true), true),
        ]
    }

    // claim: P72
    #[test]
    fn a_foreign_name_is_refused_to_browsers_and_taken_from_programs() {
        let config = Config {
            http_hosts: vec!["ids.internal".into()],
            ..Config::default()
        };
        let hosts = [
            ("localhost:7600", true),
            ("LocalHost", true),
            ("127.0.0.1:1", true),
            ("[::1]:7600", true),
            ("10.1.2.3", true),
            ("ids.internal:7600", true),
            ("IDS.internal", true),
            ("leaf.svc:8080", false),
            ("evil.example", false),
            ("localhost.evil.example", false),
            ("127.0.0.1.evil.example", false),
            ("ids.internal.evil.example", false),
            ("ids.internal.", false),
        ];
        // What a browser is refused there by a foreign name: anything, and ids that a GET gives.
        let places = [
            ("127.0.0.1:7600", true, true),
            ("[::1]:7600", true, true),
            ("tls:127.0.0.1:7600", true, true),
            ("10.0.0.1:7600", false, true),
            ("[fd00::1]:7600", false, true),
            ("tls:10.0.0.1:7600", false, false),
            ("unix:/run/mint.sock", false, false),
        ];
        for (place, anything, ids) in places {
            let local: Endpoint = place.parse().unwrap();
            for (host, known) in hosts {
                for (client, head, browser) in clients() {
                    for (guarded, asked) in [
                        (Guarded::ByToken, false),
                        (Guarded::No, anything),
                        (Guarded::NoAndGives, ids),
                    ] {
                        let of = |host, authority| Head {
                            host,
                            authority,
                            local: Some(&local),
                            ..head.clone()
                        };
                        let refused = asked && browser && !known;
                        // HTTP/2 has it in :authority, and HTTP/1.1 in an absolute target, which stands above Host.
                        for head in [
                            of(Some(host), None),
                            of(None, Some(host)),
                            of(Some("localhost"), Some(host)),
                        ] {
                            let judged = judge(&head, &config, guarded).map_err(|error| error.code);
                            let expected = if refused { Err(Code::WrongHost) } else { Ok(()) };
                            assert_eq!(judged, expected, "{place} {host} {client} {guarded:?}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn a_request_without_a_host_is_one_of_an_old_version() {
        let judged = |local: &str, host, is_http_10| {
            let local: Endpoint = local.parse().unwrap();
            let head = Head {
                host,
                is_http_10,
                local: Some(&local),
                ..Head::default()
            };
            judge(&head, &Config::default(), Guarded::No).map_err(|error| error.code)
        };
        for host in [None, Some("")] {
            assert_eq!(judged("127.0.0.1:7600", host, false), Err(Code::Protocol));
            assert_eq!(judged("127.0.0.1:7600", host, true), Ok(()));
            assert_eq!(judged("unix:/run/mint.sock", host, false), Ok(()));
        }
    }

    #[test]
    fn a_page_of_a_listed_site_asks_by_any_name_where_others_do() {
        let config = Config {
            http_origins: vec!["https://app.example".parse().unwrap()],
            ..Config::default()
        };
        let local: Endpoint = "10.0.0.1:3000".parse().unwrap();
        for (origin, referer, fine) in [
            (Some("https://app.example"), None, true),
            (None, Some("https://app.example/orders"), true),
            (Some("http://ids.example:3000"), None, false),
            (None, Some("http://ids.example:3000/"), false),
            (
                Some("http://ids.example:3000"),
                Some("https://app.example/"),
                false,
            ),
        ] {
            let head = Head {
                host: Some("ids.example:3000"),
                local: Some(&local),
                origin,
                referer,
                ..Head::default()
            };
            let judged = judge(&head, &config, Guarded::NoAndGives);
            assert_eq!(judged.is_ok(), fine, "{origin:?} {referer:?}");
        }
    }

    #[test]
    fn marks_are_what_pages_cannot_set() {
        for (name, mark) in [
            ("sec-fetch-dest", true),
            ("Sec-CH-UA", true),
            ("sec-websocket-key", true),
            ("DNT", true),
            ("Upgrade-Insecure-Requests", true),
            ("sec-fetch-mode", false),
            ("Sec-Fetch-Site", false),
            ("sec-", false),
            ("second", false),
            ("accept-encoding", false),
        ] {
            assert_eq!(is_mark(name.as_bytes()), mark, "{name}");
        }
    }
}
