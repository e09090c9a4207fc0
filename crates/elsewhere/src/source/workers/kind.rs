//! What a row of the table of systems says, and what one is looked at over.

#[cfg(feature = "mysql")]
use std::sync::Arc;

use super::found::WorkersFound;
use crate::source::{SourceError, SourceErrorKind, SourceResult};
#[cfg(feature = "redis")]
use crate::store::RedisKeys;
#[cfg(feature = "zookeeper")]
use crate::store::ZooKeeperNodes;

/// What speaks to the server that a system keeps its workers in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WorkerEngine {
    /// MySQL and MariaDB.
    MySql,
    /// Redis and Valkey.
    Redis,
    /// ZooKeeper.
    ZooKeeper,
}

/// A system in one kind of server: a row of [`WORKER_SYSTEMS`](super::WORKER_SYSTEMS).
#[derive(Clone, Copy, Debug)]
pub struct WorkerSystem {
    /// What stands before the `+` of its URLs.
    pub name: &'static str,
    /// Where it keeps its workers.
    pub engine: WorkerEngine,
    /// A URL that can be typed as it stands.
    pub example: &'static str,
    /// What is read there.
    pub summary: &'static str,
    /// How many bits its numbers have unless it was set up otherwise.
    pub bits: u32,
    /// How many newcomers are to be expected while it lives.
    pub spare: u64,
    /// Its own option of the URL, if it has one.
    pub option: Option<&'static str>,
    pub(super) read: Read,
}

type Read = for<'a> fn(&'a Place, &'a Asked) -> SourceResult<'a, Vec<WorkersFound>>;

/// What is asked of a system.
pub(super) struct Asked {
    pub(super) system: &'static WorkerSystem,
    /// Of its own option.
    #[allow(dead_code, reason = "a build may have no engine at all")]
    pub(super) option: Option<String>,
}

/// Where systems keep their workers.
pub(super) enum Place {
    #[cfg(feature = "mysql")]
    MySql(Arc<crate::source::link::Link<crate::store::mysql::MySql>>),
    #[cfg(feature = "redis")]
    Redis(RedisKeys),
    #[cfg(feature = "zookeeper")]
    ZooKeeper(ZooKeeperNodes),
}

impl Asked {
    /// The URL that shows the same again: the system, where it is, and its option.
    #[allow(dead_code, reason = "a build may have no engine at all")]
    pub(super) fn url(&self, place: &str, option: Option<&str>) -> String {
        let name = self.system.name;
        match (self.system.option, option) {
            (Some(known), Some(value)) => format!("{name}+{place}?{known}={value}"),
            _ => format!("{name}+{place}"),
        }
    }

    /// A system that is not there.
    #[allow(dead_code, reason = "a build may have no engine at all")]
    pub(super) fn gone(&self, place: &str, what: &str) -> SourceError {
        SourceError::new(
            SourceErrorKind::Gone,
            format!(
                "{place}: no {what}: is this where {} keeps its workers? As an example, {}",
                self.system.name, self.system.example
            ),
        )
    }
}
