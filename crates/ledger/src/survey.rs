//! What everything in use has left, seen at one moment: what `/readyz` and `/metrics` tell.
//!
//! Looking at every name costs a time that grows with their number. So whoever serves requests makes a survey now and
//! then, off the threads that serve, and answers from it.

use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::forecast::Forecast;
use crate::ledger::Ledger;
use crate::name::Name;
use crate::outage::{Budget, BudgetOf, Limited, StoreStatus};
use crate::pool::PoolStock;
use crate::sequence::SequenceStock;

/// What everything in use had left at one moment.
///
/// ```
/// # use mintage_ledger::*;
/// # let tokio = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
/// # tokio.block_on(async {
/// # let runtime = SystemRuntime::new(tokio::runtime::Handle::current());
/// # let store = open_store("memory:", &StoreSettings::default(), runtime.clone()).await?;
/// # let ledger = Ledger::open(store, LedgerSettings::default(), runtime).await?;
/// for name in ["orders", "invoices"] {
///     ledger.sequence_or_create(&Name::new(name)?).await?.take(1).await?;
/// }
/// let survey = ledger.survey(1);
/// assert_eq!(survey.stocks.len(), 1);
/// assert!(ledger.ready_as_of(&survey).ready);
/// // That the process ends is said at once, whenever the survey was made.
/// ledger.close().await?;
/// assert!(!ledger.ready_as_of(&survey).ready);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Survey {
    /// What would end first without the store.
    pub(crate) first_to_end: Option<Budget>,
    /// Sequences in use that have run out, as many as are named.
    pub(crate) run_out: Vec<Name>,
    /// Some sequence in use has numbers that can be given out without the store.
    pub(crate) any_stock: bool,
    /// Some pool has a window that lasts.
    pub(crate) any_window: bool,
    /// How many of each kind are named.
    pub(crate) names: usize,
    /// What the busiest sequences had left, the busiest first.
    pub stocks: Vec<SequenceStock>,
    /// When these sequences end at today's rate.
    pub sequence_ends: Vec<(Name, Forecast)>,
    /// How long pools mint without the store.
    pub windows: Vec<PoolStock>,
    /// When pools end at today's rate.
    pub pool_ends: Vec<(Name, Forecast)>,
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
            None => Some(Limited::NoJournal),
            Some(journal) if !journal.works() => Some(Limited::JournalFails),
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

    /// Looks at everything in use, and names the `names` busiest sequences and as many pools. No I/O; the time it takes
    /// grows with what is in use.
    pub fn survey(&self, names: usize) -> Survey {
        let Stocks {
            first,
            run_out,
            any,
            busiest,
        } = self.look_at_stocks(names);
        let windows = self.windows_left();
        let forecast = |name: Name| {
            let sequence = self.sequence(name.as_str())?;
            Some((name, sequence.forecast()))
        };
        let mut shown: Vec<Name> = busiest.iter().map(|stock| stock.name.clone()).collect();
        let ended = self.ended_sequences();
        shown.retain(|name| !ended.contains(name));
        let pools = self.pools_held().into_iter().take(names);
        Survey {
            first_to_end: sooner(first, &windows),
            run_out,
            any_stock: any,
            any_window: windows.iter().any(|pool| !pool.left.is_zero()),
            names,
            sequence_ends: ended
                .into_iter()
                .take(names)
                .chain(shown)
                .filter_map(forecast)
                .collect(),
            pool_ends: pools.map(|pool| (pool.name, pool.forecast)).collect(),
            windows: windows.into_iter().take(names).collect(),
            stocks: busiest,
        }
    }

    /// How often somebody asked for an id and got none: where this has grown, a survey may miss what has run out.
    pub fn refusals(&self) -> u64 {
        self.context.refusals.load(Ordering::Acquire)
    }

    /// What the sequences in use have left, the busiest first. No I/O.
    pub fn stocks(&self) -> Vec<SequenceStock> {
        self.look_at_stocks(usize::MAX).busiest
    }

    /// The same, of the `names` busiest.
    pub fn busiest(&self, names: usize) -> Vec<SequenceStock> {
        self.look_at_stocks(names).busiest
    }

    /// What would end first without the store.
    pub(crate) fn first_to_end(&self) -> Option<Budget> {
        sooner(self.look_at_stocks(0).first, &self.windows_left())
    }

    /// What the sequences in use have left; names those that have run out and the busiest, `names` of each at most.
    fn look_at_stocks(&self, names: usize) -> Stocks {
        let mut seen = Stocks::default();
        let Stocks {
            first,
            run_out,
            any,
            busiest,
        } = &mut seen;
        // From the end, since those that go out of use move the ones behind them to the front: one may be seen
        // twice, none is missed. Whoever comes into use waits for one slice at most.
        let mut end = self.in_use.active.lock().expect("no panic while held").len();
        while end > 0 {
            let start = end.saturating_sub(SLICE);
            let slice = {
                let active = self.in_use.active.lock().expect("no panic while held");
                active[start.min(active.len())..end.min(active.len())].to_vec()
            };
            for sequence in slice {
                let stock = sequence.left_in_stock();
                // Nothing ends while nobody takes any; and what takes longer than can be told, hardly.
                let left = Duration::try_from_secs_f64(stock.seconds).unwrap_or(Duration::MAX);
                let needs_store = !sequence.takes_from_origin();
                if needs_store
                    && stock.seconds.is_finite()
                    && first.as_ref().is_none_or(|first| left < first.left)
                {
                    let of = BudgetOf::Sequence(stock.name.clone());
                    *first = Some(Budget { of, left });
                }
                *any |= stock.unused > 0;
                if stock.ran_out && run_out.len() < names.max(1) {
                    run_out.push(stock.name.clone());
                }
                busiest.push(stock);
            }
            keep_busiest(busiest, names);
            end = start;
        }
        seen
    }

    /// The sequences that have no further number, as far as this process has seen, in order of their names.
    fn ended_sequences(&self) -> Vec<Name> {
        let mut ended = self.in_use.ended.lock().expect("no panic while held");
        let has_ended = |name: &Name| {
            self.sequence(name.as_str())
                .is_some_and(|known| known.has_ended())
        };
        ended.retain(has_ended);
        ended.iter().cloned().collect()
    }
}

/// What the sequences in use have left.
#[derive(Default)]
struct Stocks {
    /// The one that ends first.
    first: Option<Budget>,
    /// Those that have run out.
    run_out: Vec<Name>,
    /// Some have numbers left.
    any: bool,
    /// The busiest.
    busiest: Vec<SequenceStock>,
}

/// What ends first: the sequence, or one of the pools in use.
fn sooner(sequence: Option<Budget>, windows: &[PoolStock]) -> Option<Budget> {
    let in_use = windows.iter().filter(|pool| pool.in_use);
    let pools = in_use.map(|pool| Budget {
        left: pool.left,
        of: BudgetOf::Pool(pool.name.clone()),
    });
    sequence.into_iter().chain(pools).min_by_key(|budget| budget.left)
}

/// Sorts by rate, the highest first, and keeps `names` of them.
fn keep_busiest(stocks: &mut Vec<SequenceStock>, names: usize) {
    stocks.sort_by(|a, b| b.rate.total_cmp(&a.rate).then_with(|| a.name.cmp(&b.name)));
    stocks.dedup_by(|a, b| a.name == b.name);
    stocks.truncate(names);
}

/// How many sequences are copied from the list of those in use at a time.
const SLICE: usize = 1000;
