//! What a process has left while its store does not answer, and how that is told.

use std::time::Duration;

use crate::name::Name;

/// Whether the store answers, and how long this process goes on without it.
#[derive(Clone, PartialEq, Debug)]
pub struct StoreStatus {
    /// For how long no call has succeeded, while calls fail.
    pub down_for: Option<Duration>,
    /// What is in use and ends first; `None` while nothing is in use, or a store that is ours alone answers.
    pub first_to_end: Option<Budget>,
    /// Why the outage budget of a sequence is limited by its `max_gap`.
    pub limited: Option<Limited>,
}

/// Why a process owns no large blocks in a shared store (protocol S7).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limited {
    /// It has no journal.
    NoJournal,
    /// Its journal cannot be written.
    JournalFails,
}

/// How long something in use lasts without the store.
#[derive(Clone, PartialEq, Debug)]
pub struct Budget {
    /// What ends.
    pub of: BudgetOf,
    /// When it ends at the present rate; zero: it has.
    pub left: Duration,
}

/// What a budget is of.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BudgetOf {
    /// A sequence's numbers.
    Sequence(Name),
    /// A pool's window.
    Pool(Name),
}

impl std::fmt::Display for BudgetOf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            BudgetOf::Sequence(name) => write!(f, "sequence {name}"),
            BudgetOf::Pool(name) => write!(f, "pool {name}"),
        }
    }
}

impl StoreStatus {
    /// In words, while the store does not answer and everything in use lasts.
    ///
    /// ```
    /// use std::time::Duration;
    /// use mintage_ledger::{Budget, BudgetOf, Name, StoreStatus};
    /// let first = Budget { of: BudgetOf::Sequence(Name::new("orders")?), left: Duration::from_secs(41) };
    /// let status = StoreStatus {
    ///     down_for: Some(Duration::from_secs(19)),
    ///     first_to_end: Some(first),
    ///     limited: None,
    /// };
    /// assert_eq!(
    ///     status.degraded().as_deref(),
    ///     Some("store down since 19 s, budget left 41 s (sequence orders)")
    /// );
    /// # Ok::<(), mintage_ledger::NameError>(())
    /// ```
    pub fn degraded(&self) -> Option<String> {
        let down = self.down_for?.as_secs();
        match &self.first_to_end {
            Some(first) if first.left.is_zero() => None,
            Some(first) => Some(format!(
                "store down since {down} s, budget left {} s ({})",
                first.left.as_secs(),
                first.of
            )),
            None => Some(format!("store down since {down} s, nothing in use")),
        }
    }
}
