//! What a ledger can be told.

use std::sync::Arc;
use std::time::Duration;

use mintage::ClockPolicy;

use crate::guard::LossyRules;
use crate::origins::Origins;
use crate::store::Store;

/// Settings of a ledger; [`LedgerSettings::default`] is what `mint serve` runs with.
#[derive(Clone, Debug)]
pub struct LedgerSettings {
    /// Whether an unknown name is made by its first use.
    pub auto_create: bool,
    /// How many sequences there may be.
    pub max_sequences: u64,
    /// How many names may have been dropped and not been made again: each is remembered for ever, so that its numbers
    /// never come again. No further one is dropped beyond that.
    pub max_dropped: u64,
    /// How many names are held in memory: beyond that, those that were not used for the longest are let go, and read
    /// again at their next use.
    pub max_loaded: u64,
    /// A name that was not used for so long is let go in any case.
    pub idle_after: Duration,
    /// The default for a sequence's `max_gap`: numbers lost per crash at most.
    pub max_gap: u64,
    /// How far ahead a window is reserved; `None`: by the layout (protocol W3).
    pub window: Option<Duration>,
    /// How far ids may run ahead of the clock.
    pub max_ahead: Duration,
    /// What pools without a policy of their own do when the wall clock goes back. One that a pool's layout cannot
    /// follow (`bump` without a rollback field) counts as [`ClockPolicy::Hold`].
    pub clock_policy: ClockPolicy,
    /// How long a clock step must stand before it is followed (protocol C1).
    pub clock_confirm: Duration,
    /// That a shared store may forget what it acknowledged was allowed, and these rules hold (class L).
    pub lossy: Option<LossyRules>,
    /// How long a name goes on without its shared store, once its rate was steady for 10 s. Without a journal,
    /// `max_gap` limits it. Windows of pools have their own length.
    pub outage_budget: Duration,
    /// How long a call to a shared store may take before it is given up and its outcome counts as unknown.
    pub request_timeout: Duration,
    /// This process's own journal ([`crate::open_journal`]): with it a crash loses at most `max_gap` however large the
    /// budget is. Used with shared stores alone.
    pub journal: Option<Arc<dyn Store>>,
    /// The sources out of which sequences may take their numbers, by the names in their records.
    pub origins: Option<Arc<dyn Origins>>,
    /// Text that names this process in stored records; for people only.
    pub instance_name: String,
}

impl Default for LedgerSettings {
    fn default() -> Self {
        LedgerSettings {
            auto_create: true,
            max_sequences: 1_000_000,
            max_dropped: 1_000_000,
            max_loaded: 100_000,
            idle_after: Duration::from_secs(300),
            max_gap: 100_000,
            window: None,
            max_ahead: Duration::from_secs(5),
            clock_policy: ClockPolicy::Hold,
            clock_confirm: Duration::from_secs(60),
            lossy: None,
            outage_budget: Duration::from_secs(60),
            request_timeout: Duration::from_secs(4),
            journal: None,
            origins: None,
            instance_name: String::new(),
        }
    }
}
