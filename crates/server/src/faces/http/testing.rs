//! The readers of this face without a connection, for fuzzing. Available with the feature `testing`.

use std::net::Ipv4Addr;

use mintage_wire::Op;

use super::request::Query;
use super::route::Route;
use super::{pools, sequences};
use crate::config::Config;
use crate::faces::web::cors::check_origin;
use crate::faces::web::host::{self, Guarded};
use crate::faces::web::plain::{Framed, frame};
use crate::transport::Endpoint;

/// What the start of a buffer is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Start {
    /// A request of so many bytes, and how it was understood.
    Request {
        /// Its length.
        bytes: usize,
        /// Method, path, query and the headers that are read.
        understood: String,
    },
    /// The beginning of a request.
    Incomplete,
    /// Nothing that is framed in place.
    Other,
}

/// Frames the request at the start of `buffer` and reads all that its head says, as a server on loopback does.
pub fn start(buffer: &[u8], headers_max: usize) -> Start {
    match frame(buffer, headers_max) {
        Framed::Incomplete => Start::Incomplete,
        Framed::Other => Start::Other,
        Framed::Request(mut head, bytes) => {
            let local = Endpoint::Tcp((Ipv4Addr::LOCALHOST, 7600).into());
            head.local = Some(&local);
            let config = Config::default();
            let query = Query::of(head.query);
            let judged = (
                head.media().is_ok(),
                host::judge(&head, &config, Guarded::No).is_ok(),
                check_origin(&head, &config).is_ok(),
                query.only(&["count", "as", "after", "limit"]).is_ok(),
                query.number("count").is_ok(),
                query.get("as").is_ok(),
                query.limit().is_ok(),
            );
            let route = Route::of(head.path).map(|route| {
                (
                    route.operation(head.method).map(|row| row.op),
                    route.right(head.method),
                )
            });
            let understood = format!("{head:?} {judged:?} {route:?}");
            Start::Request { bytes, understood }
        }
    }
}

/// Which operation a method and a path ask for.
pub fn operation(method: &str, path: &str) -> Option<Op> {
    Route::of(path)?.operation(method).map(|row| row.op)
}

/// Which documents that a body may be it can be read as: a sequence, a restart, a pool, a change of one, a
/// borrower, a window.
pub fn documents(body: &[u8]) -> [bool; 6] {
    let [sequence, restart] = sequences::documents(body);
    let [pool, patch, borrower, window] = pools::documents(body);
    [sequence, restart, pool, patch, borrower, window]
}
