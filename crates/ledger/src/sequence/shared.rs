//! The work of a sequence on a shared store: takers go on from stock while the store is asked, however long that
//! takes, and more is kept than the last second used, so that an outage of the store goes unnoticed.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use mintage::Run;

use super::Sequence;
use super::claim::{CLAIM_TRIES, Claimed, Use};
use super::range::{Ask, Range};
use super::spec::Gap;
use super::task::{Job, SequenceTask, Takers, wanted};
use crate::error::LedgerError;
use crate::health::Waiting;

impl SequenceTask<'_> {
    /// Serves takes that found nothing in stock when they looked.
    pub(super) async fn serve_shared(&mut self, mut takes: Takers) {
        let mut failed: Option<LedgerError> = None;
        while let Some(take) = takes.pop_front() {
            if take.answer.is_closed() {
                continue;
            }
            let taken = match (self.sequence.take_owned(take.ask).await, &failed) {
                (Some(run), _) => Ok(run),
                (None, Some(error)) => Err(error.clone()),
                (None, None) => self.claim_for(take.ask, &takes).await,
            };
            // It was altered meanwhile: the rest of what was claimed for those behind is theirs, in order.
            if self.known.state.gap == Gap::None && failed.is_none() && !takes.is_empty() {
                let _ = take.answer.send(taken);
                return self.serve_gap_free(takes).await;
            }
            // What stands against this one alone does not stand against those behind it.
            failed = failed.or(match &taken {
                Err(
                    error @ (LedgerError::Unavailable { .. }
                    | LedgerError::Stopped(_)
                    | LedgerError::Moving { .. }
                    | LedgerError::MovedBack { .. }),
                ) => Some(error.clone()),
                _ => None,
            });
            let _ = take.answer.send(taken);
        }
        self.sequence.publish(&self.known.state);
    }

    /// Claims what one take and those behind it want, and a block on top.
    async fn claim_for(&mut self, ask: Ask, behind: &Takers) -> Result<Run, LedgerError> {
        for tries in 0..CLAIM_TRIES {
            let touching = match ask.contiguous {
                true => self.touching(ask.n, tries == 0)?,
                false => 0,
            };
            let unused = self.sequence.stock.unused();
            // Those behind find what is in stock first, and what was claimed for them would be left over.
            let behind = match unused {
                0 => wanted(behind),
                _ => 0,
            };
            let want = (ask.n - touching).saturating_add(behind);
            let block = self.sequence.block(want, unused, self.known.state.max_gap);
            let claimed = self.claim(want, block, Use::Taker).await?;
            // Those behind take theirs from stock at once. Nothing: another node was quicker, and what was claimed is not
            // one run with what is in stock.
            if let Some(run) = self.keep(claimed, Some(ask), behind, block / 2).await {
                return Ok(run);
            }
        }
        Err(self.too_many_writers())
    }

    /// How many of a run of `n` need not be claimed, since what is held ends with them. Others may take those meanwhile:
    /// counted upon once only, and where the end is near.
    fn touching(&self, n: u64, first_try: bool) -> Result<u64, LedgerError> {
        let next = self.known.state.peek(n).map_err(|e| self.sequence_error(e))?;
        let owned = self.sequence.owned.lock().ranges.back().copied();
        let held = match owned {
            Some(last) if last.touches(&next) => last.run.count,
            Some(_) => 0,
            None => self.sequence.stock.touching(&next),
        };
        self.check_run(n, held, &next)?;
        let needed = match first_try {
            true => held,
            false => n - next.run.count,
        };
        Ok(needed.min(n - 1))
    }

    /// Puts what was reserved behind what is held, in stock as far as `max_gap` allows and else as a large block, and
    /// serves `ask` from the front of it all. `spoken_for` more will be taken at once.
    pub(super) async fn keep(
        &mut self,
        claimed: Claimed,
        ask: Option<Ask>,
        spoken_for: u64,
        low_water: u64,
    ) -> Option<Run> {
        let Claimed { range, landed } = claimed;
        let sequence = self.sequence;
        let n = ask.map_or(0, |ask| ask.n);
        if self.known.state.gap == Gap::None {
            // It was altered meanwhile.
            let fits = ask.is_some_and(|ask| ask.fits(&range));
            let (head, tail) = range.split(if fits { n } else { 0 });
            self.known.adopted.extend(tail);
            return fits.then_some(head.run);
        }
        let entry = sequence.owned.entry.lock().await;
        let room = self
            .known
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
                Some(ask) => sequence.take_owned(ask).await,
                None => None,
            };
        }
        let (range, surplus) = range.split(room);
        self.lose(surplus.into_iter().collect());
        let owned = sequence.owned.lock();
        if owned.epoch != self.known.epoch {
            self.lose(vec![range]);
            return None;
        }
        let Some(ask) = ask else {
            sequence.stock.append(range, low_water);
            return None;
        };
        let served = sequence.stock.serve(ask, Some(range), Some(low_water));
        sequence.passed_over(&served);
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
        let (state, pending) = (&self.known.state, self.pending());
        let written = journal
            .write(&sequence.name, &mut entry, state, ranges, pending)
            .await;
        let mut owned = sequence.owned.lock();
        if written.is_ok() && owned.epoch == self.known.epoch {
            owned.push(range);
            return;
        }
        if written.is_err() {
            // What comes next lies above all this, and the journal can say no more of it.
            sequence.lost(owned.ranges.make_contiguous());
            owned.ranges.clear();
        }
        drop(owned);
        self.lose(vec![range]);
    }

    /// The definition was changed, or not: what had landed unheard is of the old one, or goes on.
    pub(super) async fn end_change_shared(&mut self, ranges: Vec<Range>, is_changed: bool) {
        if is_changed {
            self.lose(ranges);
        } else {
            for range in ranges {
                self.keep(Claimed { range, landed: true }, None, 0, 0).await;
            }
        }
        self.sequence.publish(&self.known.state);
    }

    /// Reserves ahead: the next block, or what the outage budget lacks.
    pub(super) async fn refill_shared(&mut self) {
        let sequence = self.sequence;
        let context = &sequence.context;
        // Closed only with the ledger.
        let _one_of_few = context.refills.acquire().await;
        sequence.refill_begins();
        if !self.is_stored() {
            return;
        }
        let plan = sequence.plan(self.known.state.left(), self.known.state.max_gap);
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
        sequence.publish(&self.known.state);
    }
}

impl Sequence {
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
