//! Paths and methods: what the table of operations says of a request.

use std::borrow::Cow;

use mintage_wire::{About, OPERATIONS, Op, Operation, Right, Takes, find, percent};

use crate::auth::What;
use crate::error::{Code, ServiceError};

/// Where a path leads.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Route<'p> {
    ops: &'static [Op],
    /// The arguments that stand in the path; empty where there are none.
    pub(super) arguments: [Cow<'p, [u8]>; 2],
}

impl<'p> Route<'p> {
    /// Reads a path; names may be percent-encoded.
    #[inline]
    pub(super) fn of(path: &'p str) -> Option<Route<'p>> {
        let place = find(path)?;
        let [first, second] = place.arguments;
        Some(Route {
            ops: place.ops,
            arguments: [percent::decode(first)?, percent::decode(second)?],
        })
    }

    /// Every operation here, one for each method.
    fn operations(&self) -> impl Iterator<Item = &'static Operation> + use<> {
        self.ops.iter().map(|op| op.row())
    }

    /// What a method asks for here, if it fits.
    #[inline]
    pub(super) fn operation(&self, method: &str) -> Option<&'static Operation> {
        self.operations().find(|row| row.is_asked_by(method))
    }

    /// What a token must be good for; whoever asks for nothing that is here needs what anything here needs.
    #[inline]
    pub(super) fn right(&self, method: &str) -> Option<Right> {
        match self.operation(method) {
            Some(row) => row.right,
            None => self.operations().map(|row| row.right).max().flatten(),
        }
    }

    /// Whether a method sends a file here.
    pub(super) fn takes_file(&self, method: &str) -> bool {
        self.operation(method)
            .is_some_and(|row| matches!(row.takes, Takes::File))
    }

    /// What that is needed for.
    #[inline]
    pub(super) fn what(&self, method: &str) -> What<'_> {
        match self.operation(method).map(|row| row.about) {
            Some(About::Named) => What::Named(&self.arguments[0]),
            Some(About::Everything) => What::Everything,
            Some(About::Nothing) | None => What::Nothing,
        }
    }

    /// What a request changes for good, and the name of it: what the log tells.
    pub(super) fn change(&self, method: &str) -> Option<(&'static str, Cow<'_, str>)> {
        let what = self.operation(method)?.change?;
        Some((what, String::from_utf8_lossy(&self.arguments[0])))
    }

    /// The refusal of another method.
    pub(super) fn refuse_method(&self, method: &str) -> ServiceError {
        let error = ServiceError::new(
            Code::MethodNotAllowed,
            format!("{method} does not fit this route"),
        );
        match self.operations().any(|row| row.allocates) {
            true => error.with_hint(
                "ids are given out by POST: a GET may be cached, which hands one id to two callers",
            ),
            false => error.with_hint(format!("it takes {}", self.allow())),
        }
    }

    fn allow(&self) -> String {
        let methods = self.operations().map(|row| match row.method {
            "GET" => "GET, HEAD",
            other => other,
        });
        methods.collect::<Vec<_>>().join(", ")
    }

    /// The `Allow` header of a path, if it leads anywhere.
    pub(super) fn allow_header(path: &str) -> Option<String> {
        Route::of(path).map(|route| route.allow())
    }
}

/// The refusal of a path that leads nowhere, with the routes that come near.
pub(super) fn unknown(path: &str) -> ServiceError {
    let shown: String = path.chars().take(80).collect();
    let first = |p: &str| p.split('/').take(3).collect::<Vec<_>>().join("/");
    let mut all: Vec<&str> = OPERATIONS.iter().map(|row| row.path).collect();
    all.dedup();
    let near: Vec<&str> = all.iter().copied().filter(|t| first(t) == first(path)).collect();
    let listed = if near.is_empty() { all } else { near };
    ServiceError::new(Code::UnknownRoute, format!("no route {shown:?}"))
        .with_hint(format!("there are {}", listed.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_paths_are_decoded() {
        let route = Route::of("/v1/pools/a%3Ab/windows/7").unwrap();
        assert_eq!(route.arguments, [Cow::Borrowed(&b"a:b"[..]), Cow::Borrowed(b"7")]);
        assert_eq!(route.allow(), "PUT, PATCH, DELETE");
        for damaged in ["/v1/sequences/%4/next", "/v1/sequences/%zz/next"] {
            assert_eq!(Route::of(damaged), None);
        }
    }

    #[test]
    fn rights_come_from_the_table() {
        for (path, method, right) in [
            ("/v1/sequences/a", "GET", Some(Right::Read)),
            ("/v1/sequences/a", "HEAD", Some(Right::Read)),
            ("/v1/sequences/a", "PUT", Some(Right::Admin)),
            ("/v1/sequences/a", "POST", Some(Right::Admin)),
            ("/v1/pools/a/windows/1", "PATCH", Some(Right::Allocate)),
            ("/v1/pools/a/windows/1", "DELETE", Some(Right::Admin)),
            ("/v1/backup", "GET", Some(Right::Admin)),
            ("/readyz", "GET", None),
            ("/livez", "POST", None),
        ] {
            assert_eq!(Route::of(path).unwrap().right(method), right, "{method} {path}");
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
