//! What a ledger can be told.

use std::time::Duration;

use crate::store::LossyRules;

use mintage::ClockPolicy;

/// Settings of a ledger; [`LedgerSettings::default`] is what `mint serve` runs with.
#[derive(Clone, Debug)]
pub struct LedgerSettings {
    /// Whether an unknown name is made by its first use.
    pub auto_create: bool,
    /// How many sequences there may be.
    pub max_sequences: u64,
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
    /// Text that names this process in stored records; for people only.
    pub instance_name: String,
}

impl Default for LedgerSettings {
    fn default() -> Self {
        LedgerSettings {
            auto_create: true,
            max_sequences: 1_000_000,
            max_gap: 100_000,
            window: None,
            max_ahead: Duration::from_secs(5),
            clock_policy: ClockPolicy::Hold,
            clock_confirm: Duration::from_secs(60),
            lossy: None,
            instance_name: String::new(),
        }
    }
}
