//! What a process has left while its store does not answer, and the tasks that look after it.

use std::sync::Weak;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::context::Context;
use crate::ledger::Ledger;
use crate::name::Name;
use crate::pool::PoolStock;
use crate::survey::Survey;

/// Whether the store answers, and how long this process goes on without it.
#[derive(Clone, PartialEq, Debug)]
pub struct StoreStatus {
    /// For how long no call has succeeded, while calls fail.
    pub down_for: Option<Duration>,
    /// What is in use and ends first; `None` while nothing is in use, or a store that is ours alone answers.
    pub first_to_end: Option<Budget>,
    /// Why the outage budget of a sequence may be shorter than it was configured.
    pub limited: Option<&'static str>,
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

impl Ledger {
    /// Whether the store answers, and how long this process goes on without it. No I/O.
    pub fn store_status(&self) -> StoreStatus {
        self.status_with(self.first_to_end())
    }

    /// The same, with what was left as it was found by a survey; at a cost that does not grow with what is in use.
    pub fn status_as_of(&self, survey: &Survey) -> StoreStatus {
        self.status_with(survey.first_to_end.clone())
    }

    fn status_with(&self, first_to_end: Option<Budget>) -> StoreStatus {
        let shared = !self.context.store.exclusive();
        let limited = match &self.context.journal {
            _ if !shared => None,
            None => Some("no state folder: the outage budget of a sequence is limited by its max_gap"),
            Some(journal) if !journal.works() => Some(
                "the journal cannot be written: the outage budget of a sequence is limited by its max_gap",
            ),
            Some(_) => None,
        };
        let down_for = self.context.health.down_for();
        StoreStatus {
            // A store that is ours alone goes down with us, or its disk is full.
            first_to_end: first_to_end.filter(|_| shared || down_for.is_some()),
            down_for,
            limited,
        }
    }

    /// How long the pools that were asked for ids mint without the store. No I/O.
    pub fn windows_left(&self) -> Vec<PoolStock> {
        self.loaded_pools()
            .iter()
            .filter_map(|pool| pool.left_in_window())
            .collect()
    }
}

/// How often names in use are looked after.
const TEND_EVERY: Duration = Duration::from_secs(1);
/// How often workers are counted.
const LOOK_AHEAD_EVERY: Duration = Duration::from_secs(600);
/// How often a store that does not answer is asked.
const PROBE_EVERY: Duration = Duration::from_millis(500);
/// How many sequences are looked after in one go; others come in between.
const AT_ONCE: usize = 1000;

/// Looks after every sequence in use, once a second, until the ledger closes; and asks a store that does not
/// answer, where nobody else does.
pub(crate) async fn tend(context: &Context) {
    while !context.closing.load(Ordering::Acquire) {
        context.runtime.sleep(TEND_EVERY).await;
        let sequences = context.active.lock().expect("no panic while held").clone();
        let mut idle = false;
        for few in sequences.chunks(AT_ONCE) {
            for sequence in few {
                idle |= !sequence.tend();
            }
            tokio::task::yield_now().await;
        }
        if idle {
            let mut active = context.active.lock().expect("no panic while held");
            active.retain(|sequence| sequence.is_active());
        }
    }
}

/// Counts workers and looks for ends that are near, every ten minutes, until the ledger closes.
pub(crate) async fn look_ahead(ledger: Weak<Ledger>) {
    if let Some(now) = ledger.upgrade()
        && now.context.store.exclusive()
    {
        now.count_parked().await;
    }
    loop {
        let Some(now) = ledger.upgrade() else { return };
        for pool in now.loaded_pools() {
            if now.context.closing.load(Ordering::Acquire) {
                return;
            }
            if pool.is_started() {
                pool.look_ahead().await;
            }
        }
        let sleep = now.context.runtime.sleep(LOOK_AHEAD_EVERY);
        drop(now);
        sleep.await;
    }
}

/// Something about the clock was confirmed: keepers that it stood against try again, and what a wrong clock has parked
/// is counted.
pub(crate) async fn look_again(ledger: &Weak<Ledger>) {
    let Some(now) = ledger.upgrade() else { return };
    let pools = now.loaded_pools();
    pools.iter().for_each(|pool| pool.wake());
    for pool in pools {
        // What cannot be counted now is counted within ten minutes.
        let _ = pool.count_held().await;
    }
}

/// Asks a store that does not answer whether it does again, until the ledger closes.
pub(crate) async fn probe(context: &Context) {
    while !context.closing.load(Ordering::Acquire) {
        context.runtime.sleep(PROBE_EVERY).await;
        let health = &context.health;
        // One that is ours alone tells that nothing can be reserved.
        if !context.store.exclusive() {
            health.tell_away();
        }
        if health.anybody_waits() || health.down_for().is_some() || health.no_room().is_some() {
            context.watched.probe().await;
        }
    }
}
