//! The work of a sequence on a shared store: takers go on from stock while the store is asked, however long that
//! takes, and more is kept than the last second used, so that an outage of the store goes unnoticed.
//!
//! Once a name's rate was steady for ten seconds, what is owned covers rate x `outage_budget`. With a journal, all of
//! it but the last second's worth lies in large blocks (protocol S7); without one it lies in stock, and `max_gap`
//! limits it.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use mintage::Run;

use super::spec::Gap;
use super::state::Range;
use super::worker::{CLAIM_TRIES, Claimed, Takes, Use, Worker};
use super::{Job, Sequence};
use crate::error::LedgerError;
use crate::health::Waiting;

/// What is worth reserving ahead now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Plan {
    /// How much is to be owned for the outage budget; 0 while no rate is steady.
    pub(super) target: u64,
    /// How much more to reserve; 0: nothing.
    pub(super) want: u64,
    /// Whether it goes to the large blocks.
    pub(super) second_level: bool,
}

/// What is known when planning.
#[derive(Clone, Copy, Debug)]
pub(super) struct Holdings {
    /// Numbers in stock.
    pub(super) stock: u64,
    /// Numbers in large blocks.
    pub(super) owned: u64,
    /// What the last second used.
    pub(super) block: u64,
    /// rate x budget, once steady; else 0.
    pub(super) target: u64,
    pub(super) max_gap: u64,
    /// Whether large blocks can be had.
    pub(super) second_level: bool,
}

impl Plan {
    /// A top-up begins when an eighth more than the target is left and reaches half as much again, so that one
    /// reservation lasts for a third of the budget.
    pub(super) fn of(h: Holdings) -> Plan {
        let low = h.target.saturating_add(h.target / 8);
        let high = h.target.saturating_add(h.target / 2);
        let nothing = Plan {
            target: h.target,
            want: 0,
            second_level: false,
        };
        if h.second_level && h.target > 0 {
            let held = h.stock.saturating_add(h.owned);
            return match held < low {
                true => Plan {
                    want: high.saturating_sub(held),
                    second_level: true,
                    ..nothing
                },
                false => nothing,
            };
        }
        let budget = match h.stock < low.min(h.max_gap - h.max_gap / 8) {
            true => high.min(h.max_gap).saturating_sub(h.stock),
            false => 0,
        };
        // The ordinary two blocks: the current one and the next.
        let next = if h.stock <= h.block && h.owned == 0 {
            h.block
        } else {
            0
        };
        Plan {
            want: budget.max(next).min(h.max_gap.saturating_sub(h.stock)),
            ..nothing
        }
    }
}

impl Worker<'_> {
    /// Serves takes that found nothing in stock when they looked.
    pub(super) async fn serve_open(&mut self, mut takes: Takes) {
        let mut failed: Option<LedgerError> = None;
        while let Some((n, contiguous, answer)) = takes.pop_front() {
            if answer.is_closed() {
                continue;
            }
            let taken = match (self.sequence.take_owned(n, contiguous).await, &failed) {
                (Some(run), _) => Ok(run),
                (None, Some(error)) => Err(error.clone()),
                (None, None) => self.claim_for(n, contiguous, &takes).await,
            };
            // It was altered meanwhile: the rest of what was claimed for those behind is theirs, in order.
            if self.held.state.gap == Gap::None && failed.is_none() && !takes.is_empty() {
                let _ = answer.send(taken);
                return self.serve_all(takes).await;
            }
            // What stands against this one alone does not stand against those behind it.
            failed = failed.or(match &taken {
                Err(error @ (LedgerError::Unavailable { .. } | LedgerError::Stopped(_))) => {
                    Some(error.clone())
                }
                _ => None,
            });
            let _ = answer.send(taken);
        }
        self.sequence.publish(&self.held.state);
    }

    /// Claims what one take and those behind it want, and a block on top.
    async fn claim_for(&mut self, n: u64, contiguous: bool, behind: &Takes) -> Result<Run, LedgerError> {
        for tries in 0..CLAIM_TRIES {
            let touching = match contiguous {
                true => self.touching(n, tries == 0)?,
                false => 0,
            };
            let unused = self.sequence.stock.unused();
            // Those behind find what is in stock first, and what was claimed for them would be left over.
            let behind = match unused {
                0 => behind.iter().map(|take| take.0).fold(0, u64::saturating_add),
                _ => 0,
            };
            let want = (n - touching).saturating_add(behind);
            let block = self.sequence.block(want, unused, self.held.state.max_gap);
            let claimed = self.claim(want, block, Use::Taker).await?;
            // Those behind take theirs from stock at once.
            let ask = Some((n, contiguous));
            // Nothing: another node was quicker, and what was claimed is not one run with what is in stock.
            if let Some(run) = self.keep(claimed, ask, behind, block / 2).await {
                return Ok(run);
            }
        }
        Err(LedgerError::Unavailable {
            message: format!("too many writers on sequence {}", self.sequence.name),
            retry_after_s: 1,
        })
    }

    /// How many of a run of `n` need not be claimed, since what is held ends with them. Others may take those meanwhile:
    /// counted upon once only, and where the end is near.
    fn touching(&self, n: u64, first_try: bool) -> Result<u64, LedgerError> {
        let next = self.held.state.peek(n).map_err(|e| self.sequence_error(e))?;
        let owned = self.sequence.owned.lock().ranges.back().copied();
        let held = match owned {
            Some(last) if last.touches(&next) => last.run.count,
            Some(_) => 0,
            None => self.sequence.stock.touching(&next),
        };
        let left = held.saturating_add(next.run.count);
        if left < n {
            return Err(LedgerError::RunTooLong {
                name: self.sequence.name.clone(),
                asked: n,
                left,
            });
        }
        let needed = match first_try {
            true => held,
            false => n - next.run.count,
        };
        Ok(needed.min(n - 1))
    }

    /// Puts what was reserved behind what is held, in stock as far as `max_gap` allows and else as a large block, and
    /// serves `ask` (how many, and whether as one run) from the front of it all. `spoken_for` more will be taken at once.
    pub(super) async fn keep(
        &mut self,
        claimed: Claimed,
        ask: Option<(u64, bool)>,
        spoken_for: u64,
        low_water: u64,
    ) -> Option<Run> {
        let Claimed { range, landed } = claimed;
        let sequence = self.sequence;
        let (n, contiguous) = ask.unwrap_or((0, false));
        if self.held.state.gap == Gap::None {
            // It was altered meanwhile.
            let fits = n > 0 && (!contiguous || range.run.count >= n);
            let (head, tail) = range.split(if fits { n } else { 0 });
            self.held.adopted.extend(tail);
            return fits.then_some(head.run);
        }
        let entry = sequence.owned.entry.lock().await;
        let room = self
            .held
            .state
            .max_gap
            .saturating_sub(sequence.stock.unused())
            .saturating_add(spoken_for)
            .saturating_add(n);
        let too_many = range.run.count > room && sequence.has_second_level();
        if too_many || sequence.owned_count() > 0 || landed && sequence.context.journal.is_some() {
            drop(entry);
            self.own(range).await;
            return match ask {
                Some(_) => sequence.take_owned(n, contiguous).await,
                None => None,
            };
        }
        let (range, surplus) = range.split(room);
        self.lose(surplus.into_iter().collect());
        let owned = sequence.owned.lock();
        if owned.epoch != self.held.epoch() {
            self.lose(vec![range]);
            return None;
        }
        if ask.is_none() {
            sequence.stock.append(range, low_water);
            return None;
        }
        let served = sequence.stock.serve(n, contiguous, Some(range), Some(low_water));
        sequence.context.counters.lost(served.passed);
        served.run
    }

    /// Keeps what was reserved as a large block, in the journal first.
    async fn own(&mut self, range: Range) {
        let sequence = self.sequence;
        let Some(journal) = &sequence.context.journal else {
            return self.lose(vec![range]);
        };
        let mut entry = sequence.owned.entry.lock().await;
        let mut ranges = sequence.owned.lock().ordinals();
        ranges.push((range.ordinal, range.end()));
        let generation = self.held.state.generation;
        let written = journal
            .write(&sequence.name, &mut entry, generation, ranges, self.pending())
            .await;
        let mut owned = sequence.owned.lock();
        if written.is_ok() && owned.epoch == self.held.epoch() {
            owned.push(range);
            return;
        }
        if written.is_err() {
            // What comes next lies above all this, and the journal can say no more of it.
            sequence.context.counters.lost(owned.count());
            owned.ranges.clear();
        }
        drop(owned);
        self.lose(vec![range]);
    }

    /// Reserves ahead: the next block, or what the outage budget lacks.
    pub(super) async fn refill_open(&mut self) {
        let sequence = self.sequence;
        let context = &sequence.context;
        // Closed only with the ledger.
        let _one_of_few = context.refills.acquire().await;
        sequence.refill_begins();
        if self.held.state.gap == Gap::None || !self.is_stored() {
            return;
        }
        let plan = sequence.plan(self.held.state.left(), self.held.state.max_gap);
        if plan.want == 0 {
            return;
        }
        let use_of = if plan.second_level { Use::Owned } else { Use::Stock };
        match self.claim(0, plan.want, use_of).await {
            Ok(claimed) if plan.second_level => self.own(claimed.range).await,
            Ok(claimed) => {
                let low_water = plan.want.min(sequence.last_block()) / 2;
                self.keep(claimed, None, 0, low_water).await;
            }
            Err(LedgerError::Unavailable { message, .. }) => {
                tracing::debug!(sequence = %sequence.name, message, "refill failed");
                sequence.refill_when_up();
            }
            // A bound that was reached is for those to hear who find the stock empty.
            Err(error) => tracing::debug!(sequence = %sequence.name, %error, "refill failed"),
        }
        sequence.publish(&self.held.state);
    }
}

impl Sequence {
    /// What is worth reserving ahead, given how many numbers are left before the bound.
    pub(super) fn plan(&self, left: u64, max_gap: u64) -> Plan {
        let stock = self.stock.unused();
        let block = self.block(0, stock, max_gap);
        let holdings = Holdings {
            stock,
            owned: self.owned_count(),
            block,
            target: self.target(left),
            max_gap,
            second_level: self.has_second_level(),
        };
        Plan::of(holdings)
    }

    /// rate x outage budget once the rate was steady; else 0. Near a bound it is a small part of what is left, since
    /// other nodes want some too.
    pub(super) fn target(&self, left: u64) -> u64 {
        let now = self.context.runtime.boottime();
        let steady = self.owned.lock().demand.steady(now, self.used()).unwrap_or(0);
        let budget = self.context.settings.outage_budget.as_millis();
        let target = u128::from(steady) * budget / 1000;
        u64::try_from(target)
            .unwrap_or(u64::MAX)
            .min(left / SHARE_OF_THE_REST)
    }

    /// Tries again as soon as the store answers; nobody asks for a refill until then.
    fn refill_when_up(&self) {
        self.refill.store(true, Ordering::Release);
        let me: Weak<dyn Waiting> = self.me.clone();
        self.context.health.tell_when_up(me);
    }
}

impl Waiting for Sequence {
    fn try_again(self: Arc<Self>) {
        // Refused only while closing.
        let _ = self.enqueue(Job::Refill);
    }
}

/// The budget takes at most one in so many of the numbers left before the bound.
const SHARE_OF_THE_REST: u64 = 16;

#[cfg(test)]
mod tests {
    use super::*;

    const STEADY: Holdings = Holdings {
        stock: 0,
        owned: 0,
        block: 1000,
        target: 60_000,
        max_gap: 100_000,
        second_level: true,
    };

    #[track_caller]
    fn check(holdings: Holdings, want: u64, second_level: bool) {
        let plan = Plan::of(holdings);
        assert_eq!(
            (plan.want, plan.second_level),
            (want, second_level),
            "{holdings:?}"
        );
    }

    #[test]
    fn before_a_rate_is_steady_there_are_two_blocks() {
        let unsteady = Holdings { target: 0, ..STEADY };
        check(unsteady, 1000, false);
        check(
            Holdings {
                stock: 1000,
                ..unsteady
            },
            1000,
            false,
        );
        check(
            Holdings {
                stock: 1001,
                ..unsteady
            },
            0,
            false,
        );
        // What is owned from before is handed out first.
        check(Holdings { owned: 1, ..unsteady }, 0, false);
        check(
            Holdings {
                max_gap: 300,
                block: 300,
                stock: 100,
                ..unsteady
            },
            200,
            false,
        );
        check(
            Holdings {
                max_gap: 0,
                block: 0,
                ..unsteady
            },
            0,
            false,
        );
    }

    #[test]
    fn a_steady_rate_owns_its_budget_in_large_blocks() {
        check(STEADY, 90_000, true);
        check(
            Holdings {
                stock: 500,
                owned: 66_999,
                ..STEADY
            },
            22_501,
            true,
        );
        check(
            Holdings {
                stock: 500,
                owned: 67_000,
                ..STEADY
            },
            0,
            false,
        );
    }

    #[test]
    fn without_a_journal_max_gap_limits_the_budget() {
        let alone = Holdings {
            second_level: false,
            ..STEADY
        };
        check(alone, 90_000, false);
        check(
            Holdings {
                target: 600_000,
                ..alone
            },
            100_000,
            false,
        );
        check(
            Holdings {
                target: 600_000,
                stock: 87_500,
                ..alone
            },
            0,
            false,
        );
        check(
            Holdings {
                target: 600_000,
                stock: 87_499,
                ..alone
            },
            12_501,
            false,
        );
    }
}
