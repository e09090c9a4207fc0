//! What opening a store may be told, and what making one came to.

use std::path::PathBuf;
use std::time::Duration;

use super::{Durability, Outcome, StoreError, StoreErrorKind};
use crate::advice::Advice;

/// What opening a store may be told.
#[derive(Clone, Debug)]
pub struct StoreSettings {
    /// How long to wait for another process to let go of the embedded folder; zero refuses at once.
    /// One-shot commands wait, servers do not.
    pub lock_wait: Duration,
    /// File systems that the embedded folder may lie on though their locks and syncs may not hold: some of
    /// [`shared_file_systems`](mintage_local::file_system::shared_file_systems).
    pub allow_file_systems: Vec<String>,
    /// Whether the embedded store may be made where there is none. Only what takes numbers needs that: for the others
    /// it would make an empty store of a mistyped name.
    pub create: bool,
    /// Whether the embedded store may be made where this machine remembers one that is gone: a volume that is not mounted
    /// looks like that.
    pub anew: bool,
    /// Where this machine notes how far an embedded folder got, so that an older image of its volume is seen; nowhere,
    /// if `None`.
    pub state_folder: Option<PathBuf>,
    /// Shared stores: the cluster id that must be found; any, if `None`. For `init_store`: the one to make, a
    /// random one if `None`.
    pub expect_cluster: Option<u128>,
    /// Shared stores: whether one that may forget acknowledged writes ([`super::Class::Lossy`]) is taken.
    pub allow_lossy: bool,
    /// Shared stores: whether another copy of the data than the one that was last written (a promoted replica, a
    /// restored or moved database) is accepted though it may lack acknowledged writes. For tools that then raise
    /// every mark.
    pub accept_copy: bool,
    /// Shared stores: how long one request may take before its outcome counts as unknown.
    pub request_timeout: Duration,
    /// Shared stores: how long a call waits for a connection. Making one may take five times this, and one that comes
    /// after its caller has given up is kept for the next.
    pub connect_timeout: Duration,
}

impl Default for StoreSettings {
    fn default() -> Self {
        StoreSettings {
            lock_wait: Duration::ZERO,
            allow_file_systems: Vec::new(),
            create: true,
            anew: false,
            state_folder: None,
            expect_cluster: None,
            allow_lossy: false,
            accept_copy: false,
            request_timeout: Duration::from_secs(2),
            connect_timeout: Duration::from_secs(2),
        }
    }
}

/// What `init_store` came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Initialised {
    /// The store's cluster id.
    pub cluster_id: u128,
    /// Whether this call made it; otherwise it was there.
    pub created: bool,
}

/// The refusal of a store of class L, with the setting to change.
pub fn lossy(scheme: &str, found: &Durability) -> StoreError {
    let why = if found.why.is_empty() {
        String::new()
    } else {
        format!(" ({})", found.why)
    };
    let fix = found
        .fix
        .clone()
        .unwrap_or_else(|| "use a store that keeps what it acknowledges".to_string());
    StoreError::new(
        StoreErrorKind::Denied,
        Outcome::NotDone,
        format!("the {scheme} store may lose what it has acknowledged, class L{why}"),
    )
    .with_hint(Advice::AllowLossy { fix })
}
