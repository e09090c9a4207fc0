//! Several processes on one shared store: who lives, what time it is, and who has seen which change.
//!
//! | file | what |
//! | --- | --- |
//! | `instance` | the register of this process and its once-a-second round (protocol R4) |
//! | `peers` | what the registers of the others show |
//! | `changes` | changes of definitions that all must see (protocol S5) |
//! | `clocks` | their clocks, the store's and the own one, compared (protocol W6) |
//! | `servers` | all of them, for people |
//! | `time` | which of several clocks is right, as arithmetic |
//! | `trust` | whether ids get this process's time, by that and by what was known before |
//!
//! A store that one process has to itself (an exclusive lock) needs none of this: the lock says the same.

mod changes;
mod clocks;
mod instance;
mod peers;
mod servers;
mod time;
mod trust;

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::Notify;

pub(crate) use changes::Missed;
pub(crate) use instance::Entered;
use peers::Peers;
pub use servers::ServerInfo;
pub(crate) use time::Sources;
use trust::Trust;

use crate::store::Key;

/// What this process knows of the others.
#[derive(Debug, Default)]
pub(crate) struct Cluster {
    /// The newest change that this process follows.
    seen: AtomicU64,
    peers: Mutex<Observed>,
    /// The store's wall clock minus our boot time, in nanoseconds.
    store_offset_ns: Mutex<Option<i128>>,
    /// What is known of this process's own clock.
    trust: Mutex<Trust>,
    /// Something happened that the once-a-second round should not wait for.
    poke: Notify,
    /// Changes are being followed at this moment.
    following: AtomicBool,
    /// The register is removed, or was given up.
    left: AtomicBool,
    has_left: Notify,
}

#[derive(Debug, Default)]
struct Observed {
    peers: Peers,
    /// When the last look at them began: what it did not show yet was written later.
    begun: Option<Duration>,
}

impl Cluster {
    /// The newest change that this process follows.
    pub(crate) fn seen(&self) -> u64 {
        self.seen.load(Ordering::Acquire)
    }
}

/// The register of an instance.
pub(crate) fn instance_key(instance: u128) -> Key {
    Key::new(format!("instance/{instance:032x}")).expect("hexadecimal digits are within the key grammar")
}
