//! Versions 1 and 6 of a pool: its node, and a clock sequence that nobody else holds.

use mintage_local::name::Name;

use super::{Args, Sink};
use crate::backend::Backend;
use crate::errors::Failure;
use crate::local::Absent;

/// The pool of UUIDs that every store has.
const UUID1_POOL: &str = "uuid1";

pub(super) fn run(args: &Args, sink: &mut Sink<'_>) -> Result<(), Failure> {
    let pool = Name::new(args.pool.as_deref().unwrap_or(UUID1_POOL)).map_err(Failure::usage)?;
    let (server, store) = (args.server.as_deref(), args.store.as_deref());
    let backend = Backend::open(server, &args.tls, store, Absent::Make)?;
    let (version, count) = (args.version.number(), args.count.unwrap_or(1));
    let done = backend.uuids(&pool, version, count, |ids| sink.put(ids));
    backend.close_after(done)
}
