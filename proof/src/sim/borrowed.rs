//! What a program keeps of a window that it has borrowed.

use std::collections::BTreeMap;

use mintage_ledger::LentWindow;

/// A window that a program on the machine has borrowed.
#[derive(Clone)]
pub(super) struct Borrowed {
    pub(super) pool: usize,
    /// As it was last answered.
    pub(super) window: LentWindow,
    /// The renewal that is not answered yet: it is tried again under the same name.
    pub(super) attempt: Option<u64>,
}

/// What renewals were answered, by the worker, its holder and the version that they were made from: the attempt, the
/// version that was told, and the end. A copy of a process that was lending goes on to lend to the same holder.
pub(super) type Renewals = BTreeMap<(u64, String, u64), (u64, u64, u64)>;
