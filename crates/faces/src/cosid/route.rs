//! Paths, and the methods that fit them.

use mintage_wire::percent;

use super::generators::SHARE;
use mintage_server::chassis::error::{Code, ServiceError};

/// Where a path leads.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Route {
    /// `/machines/{namespace}`
    Machines { namespace: String },
    /// `/segments/distributor/{namespace}/{name}`
    Distributor { key: String },
    /// `/segments/{namespace}/{name}`
    Segment { key: String },
    /// `/ids`, `/ids/{name}`, `/ids/as-string`, `/ids/as-string/{name}`
    Id { name: Option<String>, as_text: bool },
    /// `/actuator/…`
    Actuator(Actuator),
}

/// A path below `/actuator`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Actuator {
    /// `/health`
    Health,
    /// `/health/liveness`
    Liveness,
    /// `/health/readiness`
    Readiness,
    /// `/cosid`
    States,
    /// `/cosid/{name}`
    State(String),
    /// `/cosidGenerator`, `/cosidGenerator/{name}`, `/cosidStringGenerator`, `/cosidStringGenerator/{name}`
    Id { name: String, as_text: bool },
}

impl Actuator {
    /// Reads what stands behind `/actuator/`.
    pub(super) fn of(parts: &[&str]) -> Option<Actuator> {
        let id = |name: &str, as_text| Actuator::Id {
            name: name.into(),
            as_text,
        };
        Some(match parts {
            ["health"] => Actuator::Health,
            ["health", "liveness"] => Actuator::Liveness,
            ["health", "readiness"] => Actuator::Readiness,
            ["cosid"] => Actuator::States,
            ["cosid", name] => Actuator::State((*name).into()),
            ["cosidGenerator"] => id(SHARE, false),
            ["cosidGenerator", name] => id(name, false),
            ["cosidStringGenerator"] => id(SHARE, true),
            ["cosidStringGenerator", name] => id(name, true),
            _ => return None,
        })
    }

    /// Whether a probe asks: it has no token, and takes nothing.
    pub(super) fn is_health(&self) -> bool {
        matches!(self, Actuator::Health | Actuator::Liveness | Actuator::Readiness)
    }
}

impl Route {
    /// Reads a path as it stands in the request.
    pub(super) fn of(path: &str) -> Option<Route> {
        let mut parts = path.strip_prefix('/')?.split('/');
        let first = parts.next()?;
        let rest: Vec<String> = parts.map(decoded).collect::<Option<_>>()?;
        let rest: Vec<&str> = rest.iter().map(String::as_str).collect();
        let name = |name: &str| Some(name.to_string());
        Some(match (first, rest.as_slice()) {
            ("machines", [namespace]) => Route::Machines {
                namespace: (*namespace).into(),
            },
            ("segments", ["distributor", namespace, name]) => Route::Distributor {
                key: format!("{namespace}.{name}"),
            },
            ("segments", [namespace, name]) => Route::Segment {
                key: format!("{namespace}.{name}"),
            },
            ("ids", []) => Route::Id {
                name: None,
                as_text: false,
            },
            ("ids", ["as-string"]) => Route::Id {
                name: None,
                as_text: true,
            },
            ("ids", [one]) => Route::Id {
                name: name(one),
                as_text: false,
            },
            ("ids", ["as-string", one]) => Route::Id {
                name: name(one),
                as_text: true,
            },
            ("actuator", parts) => Route::Actuator(Actuator::of(parts)?),
            _ => return None,
        })
    }

    /// Whether a path is that of a probe.
    pub(super) fn is_health(path: &str) -> bool {
        path.starts_with("/actuator/")
            && matches!(Route::of(path), Some(Route::Actuator(route)) if route.is_health())
    }

    /// What fits, for `Allow`.
    pub(super) fn methods(&self) -> &'static str {
        match self {
            Route::Machines { .. } => "POST, PATCH, DELETE, OPTIONS",
            Route::Distributor { .. } => "POST, OPTIONS",
            Route::Segment { .. } => "PATCH, OPTIONS",
            Route::Id { .. } | Route::Actuator(_) => "GET, HEAD, OPTIONS",
        }
    }
}

/// A part of a path, which is text and not empty.
fn decoded(part: &str) -> Option<String> {
    let bytes = percent::decode(part)?;
    let text = String::from_utf8(bytes.into_owned()).ok()?;
    Some(text).filter(|text| !text.is_empty())
}

/// The refusal of a path that leads nowhere.
pub(super) fn unknown() -> ServiceError {
    ServiceError::new(Code::UnknownRoute, "no such path")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_where_the_original_has_them() {
        let id = |name: Option<&str>, as_text| Route::Id {
            name: name.map(str::to_string),
            as_text,
        };
        for (path, expected) in [
            ("/ids", Some(id(None, false))),
            ("/ids/order", Some(id(Some("order"), false))),
            ("/ids/as-string", Some(id(None, true))),
            ("/ids/as-string/a%2Fb", Some(id(Some("a/b"), true))),
            (
                "/machines/dev",
                Some(Route::Machines {
                    namespace: "dev".into(),
                }),
            ),
            (
                "/segments/dev/order",
                Some(Route::Segment {
                    key: "dev.order".into(),
                }),
            ),
            (
                "/segments/distributor/dev/order",
                Some(Route::Distributor {
                    key: "dev.order".into(),
                }),
            ),
            ("/actuator/health", Some(Route::Actuator(Actuator::Health))),
            (
                "/actuator/cosid/a",
                Some(Route::Actuator(Actuator::State("a".into()))),
            ),
            ("/actuator", None),
            ("/actuator/env", None),
            ("/actuator/health/db", None),
            ("/ids/", None),
            ("/ids/a/b", None),
            ("/ids/%ff", None),
            ("/ids/%4", None),
            ("/machines", None),
            ("/machines/", None),
            ("/machines/a/b", None),
            ("/segments/a", None),
            ("/segments/distributor/a/b/c", None),
            ("/", None),
            ("", None),
        ] {
            assert_eq!(Route::of(path), expected, "{path}");
        }
    }
}
