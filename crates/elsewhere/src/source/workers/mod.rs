//! Workers that other systems of Snowflake ids have given out: what a pool must avoid that begins beside them.
//!
//! | file | what |
//! | --- | --- |
//! | `found` | what a system shows of its workers |
//! | `kind` | what a row of the table of systems says |
//! | `registry` | the table of systems, and how one is looked at by its URL |
//! | `leaf`, `twitter`, `cosid`, `uid_generator`, `yitter` | a system each |
//!
//! All of them only read. What cannot be understood fails the whole look, in words: a number that was passed over would
//! be given out twice.

#[cfg(any(feature = "mysql", feature = "redis", feature = "zookeeper"))]
mod cosid;
mod found;
mod kind;
#[cfg(feature = "zookeeper")]
mod leaf;
mod registry;
#[cfg(feature = "zookeeper")]
mod twitter;
#[cfg(feature = "mysql")]
mod uid_generator;
#[cfg(feature = "redis")]
mod yitter;

pub use found::{HeldNumber, WorkersFound};
pub use kind::{WorkerEngine, WorkerSystem};
pub use registry::{WORKER_SYSTEMS, look_at_workers};
pub(super) use registry::{system, without_option};
