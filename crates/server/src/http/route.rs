//! Paths and methods.

use std::borrow::Cow;

use super::request::Takes;
use crate::error::{Code, ServiceError};

/// Where a path leads.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Route<'p> {
    /// `/v1/sequences`
    Sequences,
    /// `/v1/sequences/{name}`
    Sequence { name: Cow<'p, [u8]> },
    /// `/v1/sequences/{name}/next`
    Next { name: Cow<'p, [u8]> },
    /// `/v1/sequences/{name}/restart`
    Restart { name: Cow<'p, [u8]> },
    /// `/v1/ids/{format}`
    Ids { format: Cow<'p, [u8]> },
    /// `/v1/snowflakes/{pool}`
    Snowflakes { pool: Cow<'p, [u8]> },
    /// `/v1/pools`
    Pools,
    /// `/v1/pools/{name}`
    Pool { name: Cow<'p, [u8]> },
    /// `/v1/pools/{name}/windows`
    Windows { name: Cow<'p, [u8]> },
    /// `/v1/pools/{name}/windows/{worker}`
    Window {
        name: Cow<'p, [u8]>,
        worker: Cow<'p, [u8]>,
    },
    /// `/v1/presets`
    Presets,
    /// `/v1/formats`
    Formats,
    /// `/v1/inspect/{id}`
    Inspect { id: Cow<'p, [u8]> },
    /// `/v1/backup`
    Backup,
    /// `/livez`
    Livez,
    /// `/readyz`
    Readyz,
    /// `/metrics`
    Metrics,
}

impl<'p> Route<'p> {
    /// Reads a path; names may be percent-encoded.
    #[inline]
    pub(super) fn of(path: &'p str) -> Option<Route<'p>> {
        let mut segments = path.strip_prefix('/')?.split('/');
        let first = segments.next()?;
        let rest = [segments.next(), segments.next(), segments.next()];
        let fifth = segments.next();
        if segments.next().is_some() {
            return None;
        }
        if let Some(worker) = fifth {
            return match (first, rest) {
                ("v1", [Some("pools"), Some(name), Some("windows")]) => Some(Route::Window {
                    name: decode(name)?,
                    worker: decode(worker)?,
                }),
                _ => None,
            };
        }
        Some(match (first, rest) {
            ("v1", [Some("sequences"), None, None]) => Route::Sequences,
            ("v1", [Some("sequences"), Some(name), None]) => Route::Sequence { name: decode(name)? },
            ("v1", [Some("sequences"), Some(name), Some("next")]) => Route::Next { name: decode(name)? },
            ("v1", [Some("sequences"), Some(name), Some("restart")]) => {
                Route::Restart { name: decode(name)? }
            }
            ("v1", [Some("ids"), Some(format), None]) => Route::Ids {
                format: decode(format)?,
            },
            ("v1", [Some("snowflakes"), Some(pool), None]) => Route::Snowflakes { pool: decode(pool)? },
            ("v1", [Some("pools"), None, None]) => Route::Pools,
            ("v1", [Some("pools"), Some(name), None]) => Route::Pool { name: decode(name)? },
            ("v1", [Some("pools"), Some(name), Some("windows")]) => Route::Windows { name: decode(name)? },
            ("v1", [Some("presets"), None, None]) => Route::Presets,
            ("v1", [Some("formats"), None, None]) => Route::Formats,
            ("v1", [Some("inspect"), Some(id), None]) => Route::Inspect { id: decode(id)? },
            ("v1", [Some("backup"), None, None]) => Route::Backup,
            ("livez", [None, None, None]) => Route::Livez,
            ("readyz", [None, None, None]) => Route::Readyz,
            ("metrics", [None, None, None]) => Route::Metrics,
            _ => return None,
        })
    }

    /// Whether ids are given out here: by POST alone, since a cached GET would hand one id to two callers.
    fn allocates(&self) -> bool {
        matches!(
            self,
            Route::Next { .. } | Route::Ids { .. } | Route::Snowflakes { .. } | Route::Windows { .. }
        )
    }

    /// The methods that fit, as `Allow` lists them.
    fn methods(&self) -> &'static str {
        match self {
            _ if self.allocates() => "POST",
            Route::Restart { .. } => "POST",
            Route::Sequence { .. } => "GET, HEAD, PUT, PATCH, DELETE",
            Route::Pool { .. } => "GET, HEAD, PUT, DELETE",
            Route::Window { .. } => "PUT, PATCH, DELETE",
            _ => "GET, HEAD",
        }
    }

    /// What becomes of a body.
    pub(super) fn takes(&self, method: &str) -> Takes {
        match (self, method) {
            (Route::Next { .. } | Route::Ids { .. } | Route::Snowflakes { .. }, _) => Takes::Parameters,
            (Route::Sequence { .. }, "PUT" | "PATCH") | (Route::Pool { .. }, "PUT") => Takes::Document,
            (Route::Restart { .. } | Route::Windows { .. } | Route::Window { .. }, _) => Takes::Document,
            _ => Takes::Nothing,
        }
    }

    /// Whether a method fits.
    pub(super) fn allows(&self, method: &str) -> bool {
        self.methods().split(", ").any(|allowed| allowed == method)
    }

    /// Whether this needs the right to administer.
    pub(super) fn needs_admin(&self, method: &str) -> bool {
        match self {
            Route::Restart { .. } | Route::Backup => true,
            Route::Sequence { .. } | Route::Pool { .. } => !matches!(method, "GET" | "HEAD"),
            Route::Window { .. } => method != "PATCH",
            _ => false,
        }
    }

    /// What a request changes for good, and the name of it: what the log tells. Renewals of a lent window are none.
    pub(super) fn change(&self, method: &str) -> Option<(&'static str, Cow<'_, str>)> {
        let (what, name) = match (self, method) {
            (Route::Sequence { name }, "PUT") => ("create", name),
            (Route::Sequence { name }, "PATCH") => ("alter", name),
            (Route::Sequence { name } | Route::Pool { name }, "DELETE") => ("drop", name),
            (Route::Restart { name }, _) => ("restart", name),
            (Route::Pool { name }, "PUT") => ("create pool", name),
            (Route::Windows { name }, _) => ("lend", name),
            (Route::Window { name, .. }, "PUT") => ("retire", name),
            (Route::Window { name, .. }, "DELETE") => ("release", name),
            _ => return None,
        };
        Some((what, String::from_utf8_lossy(name)))
    }

    /// The refusal of another method.
    pub(super) fn refuse_method(&self, method: &str) -> ServiceError {
        let allowed = self.methods();
        let error = ServiceError::new(
            Code::MethodNotAllowed,
            format!("{method} does not fit this route"),
        );
        if self.allocates() {
            error.with_hint(
                "ids are given out by POST: a GET may be cached, which hands one id to two callers",
            )
        } else {
            error.with_hint(format!("it takes {allowed}"))
        }
    }

    /// The `Allow` header of a path, if it leads anywhere.
    pub(super) fn allow_header(path: &str) -> Option<&'static str> {
        Route::of(path).map(|route| route.methods())
    }
}

/// The refusal of a path that leads nowhere, with the routes that come near.
pub(super) fn unknown(path: &str) -> ServiceError {
    let shown: String = path.chars().take(80).collect();
    let first = |p: &str| p.split('/').take(3).collect::<Vec<_>>().join("/");
    let near: Vec<&str> = TEMPLATES
        .iter()
        .copied()
        .filter(|t| first(t) == first(path))
        .collect();
    let listed = if near.is_empty() {
        TEMPLATES.join(", ")
    } else {
        near.join(", ")
    };
    ServiceError::new(Code::UnknownRoute, format!("no route {shown:?}"))
        .with_hint(format!("there are {listed}"))
}

/// Every route, as people write it.
const TEMPLATES: [&str; 17] = [
    "/v1/sequences",
    "/v1/sequences/{name}",
    "/v1/sequences/{name}/next",
    "/v1/sequences/{name}/restart",
    "/v1/ids/{format}",
    "/v1/snowflakes/{pool}",
    "/v1/pools",
    "/v1/pools/{name}",
    "/v1/pools/{name}/windows",
    "/v1/pools/{name}/windows/{worker}",
    "/v1/presets",
    "/v1/formats",
    "/v1/inspect/{id}",
    "/v1/backup",
    "/livez",
    "/readyz",
    "/metrics",
];

/// Percent-encodes a segment of a path, but for what every reader leaves alone (RFC 3986 section 2.3).
pub(super) fn encode(segment: &str) -> String {
    segment
        .bytes()
        .map(|byte| match byte {
            b'-' | b'.' | b'_' | b'~' | b':' => char::from(byte).to_string(),
            byte if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
            byte => format!("%{byte:02X}"),
        })
        .collect()
}

/// Resolves percent-encoding; `None` if it is damaged.
pub(super) fn decode(text: &str) -> Option<Cow<'_, [u8]>> {
    if !text.contains('%') {
        return Some(Cow::Borrowed(text.as_bytes()));
    }
    let mut decoded = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        rest = match (first, after) {
            (b'%', [high, low, after @ ..]) => {
                let digit = |b: &u8| (*b as char).to_digit(16);
                decoded.push((digit(high)? << 4 | digit(low)?) as u8);
                after
            }
            (b'%', _) => return None,
            _ => {
                decoded.push(*first);
                after
            }
        };
    }
    Some(Cow::Owned(decoded))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> Cow<'_, [u8]> {
        Cow::Borrowed(text.as_bytes())
    }

    #[test]
    fn paths_lead_where_they_say() {
        for (path, route) in [
            ("/v1/sequences", Some(Route::Sequences)),
            ("/v1/sequences/a", Some(Route::Sequence { name: name("a") })),
            (
                "/v1/sequences/a%3Ab/next",
                Some(Route::Next { name: name("a:b") }),
            ),
            (
                "/v1/sequences/a/restart",
                Some(Route::Restart { name: name("a") }),
            ),
            ("/v1/ids/uuid", Some(Route::Ids { format: name("uuid") })),
            (
                "/v1/snowflakes/default",
                Some(Route::Snowflakes {
                    pool: name("default"),
                }),
            ),
            ("/v1/pools/eu/windows", Some(Route::Windows { name: name("eu") })),
            (
                "/v1/pools/eu/windows/7",
                Some(Route::Window {
                    name: name("eu"),
                    worker: name("7"),
                }),
            ),
            ("/v1/pools/eu/nope/7", None),
            ("/v1/inspect/1", Some(Route::Inspect { id: name("1") })),
            ("/v1/backup", Some(Route::Backup)),
            ("/v1/backup/", None),
            ("/livez", Some(Route::Livez)),
            ("/v1/sequences/a/next/", None),
            ("/v1/sequences/a/nope", None),
            ("/v1/sequences/a/b/c", None),
            ("/v1/sequences/%4/next", None),
            ("/v1/sequences/%zz/next", None),
            ("/v1", None),
            ("/", None),
            ("*", None),
            ("", None),
        ] {
            assert_eq!(Route::of(path), route, "{path}");
        }
    }

    #[test]
    fn what_is_encoded_is_decoded_again() {
        for name in [
            "orders",
            "a:b",
            "shop/orders",
            "Seq Invoice",
            "inc:заказ",
            "ids#order",
            "%41",
            "?",
        ] {
            let encoded = encode(name);
            assert_eq!(decode(&encoded).as_deref(), Some(name.as_bytes()), "{encoded}");
            assert!(!encoded.contains(['/', '?', '#', ' ']), "{encoded}");
        }
    }

    #[test]
    fn every_template_is_a_route() {
        for template in TEMPLATES {
            assert!(
                Route::of(&template.replace(['{', '}'], "")).is_some(),
                "{template}"
            );
        }
    }

    #[test]
    fn unknown_paths_name_their_neighbours() {
        assert!(
            unknown("/v1/sequences/a/nxt")
                .hint
                .unwrap()
                .starts_with("there are /v1/sequences, ")
        );
        assert!(unknown("/nope").hint.unwrap().contains("/metrics"));
    }
}
