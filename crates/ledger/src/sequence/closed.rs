//! Takers that are served while the stock is closed, so that numbers come in one order and changes are exact.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;

use mintage::Run;
use tokio::sync::oneshot;

use super::claim::Use;
use super::range::{Ask, Range, lined_up, push, take_from, total};
use super::spec::Gap;
use super::task::{SequenceTask, Taker, Takers, refuse};
use crate::error::LedgerError;

/// What is unused while the stock is closed, and who gets what of it.
pub(super) struct ClosedStock {
    /// Unused; ascending.
    pub(super) ranges: VecDeque<Range>,
    /// Told only once the stock is open again.
    answers: Vec<(Run, oneshot::Sender<Result<Run, LedgerError>>)>,
    /// When the open stock asks for more.
    pub(super) low_water: u64,
}

impl ClosedStock {
    /// These are unused, and nobody gets any of them.
    pub(super) fn of(ranges: VecDeque<Range>, low_water: u64) -> ClosedStock {
        ClosedStock {
            ranges,
            answers: Vec::new(),
            low_water,
        }
    }
}

impl SequenceTask<'_> {
    /// Closes the stock and takes everything unused out of it.
    pub(super) fn close(&mut self) -> ClosedStock {
        let adopted = self.known.adopted.drain(..);
        ClosedStock::of(lined_up(adopted.chain(self.sequence.stock.close())), 0)
    }

    /// Opens the stock again, and answers. Gap-free sequences keep nothing where takers could find it (protocol S6).
    pub(super) fn open(&mut self, closed: ClosedStock) {
        let last = closed.answers.last().map(|(run, _)| run.last());
        let stock = &self.sequence.stock;
        if self.known.state.gap == Gap::None {
            self.known.adopted = closed.ranges.into();
            stock.install(VecDeque::new(), last, 0);
        } else {
            stock.install(closed.ranges, last, closed.low_water);
        }
        // Visible before the answers are: a GET after an answer sees it.
        self.sequence.publish(&self.known.state);
        for (run, answer) in closed.answers {
            let _ = answer.send(Ok(run));
        }
    }

    /// Serves a take from what is unused, in order: nothing that lies below what is answered is given out later
    /// (protocol S2). Otherwise it comes back.
    pub(super) fn serve_closed(&self, take: Taker, closed: &mut ClosedStock) -> Option<Taker> {
        let Some((passed, run)) = take_from(&mut closed.ranges, take.ask) else {
            return Some(take);
        };
        self.pass_over(passed);
        self.sequence.direct.fetch_add(run.count, Ordering::Relaxed);
        closed.answers.push((run, take.answer));
        None
    }

    /// Claims `want` numbers and a block on top for a take, which then is the next again; where that cannot be, it and
    /// those behind it are refused.
    pub(super) async fn claim_closed(
        &mut self,
        take: Taker,
        takes: &mut Takers,
        closed: &mut ClosedStock,
        want: u64,
        block: u64,
    ) {
        takes.push_front(take);
        let generation = self.known.state.generation;
        match self.claim(want, block, Use::Taker).await {
            Ok(claimed) => {
                if self.known.state.generation != generation {
                    // Another definition now: what is left of the old one is lost.
                    self.lose(std::mem::take(&mut closed.ranges).into());
                }
                push(&mut closed.ranges, claimed.range);
            }
            Err(error) => refuse(std::mem::take(takes), &error),
        }
    }

    /// What must be claimed so that a take and those behind it can be served.
    pub(super) fn want(&self, ask: Ask, behind: u64, ranges: &VecDeque<Range>) -> Result<u64, LedgerError> {
        let Ask { n, contiguous } = ask;
        if !contiguous {
            return Ok(n.saturating_add(behind));
        }
        let next = self.known.state.peek(n).map_err(|e| self.sequence_error(e))?;
        let touching = ranges
            .back()
            .filter(|range| range.touches(&next))
            .map_or(0, |range| range.run.count);
        self.check_run(n, touching, &next)?;
        Ok((n - touching).saturating_add(behind))
    }

    /// Whether a run of `n` can be had from `held` numbers that the next ones continue.
    pub(super) fn check_run(&self, n: u64, held: u64, next: &Range) -> Result<(), LedgerError> {
        let left = held.saturating_add(next.run.count);
        if left < n {
            return Err(LedgerError::RunTooLong {
                name: self.sequence.name.clone(),
                asked: n,
                left,
            });
        }
        Ok(())
    }

    /// Gives up what lies before a run that did not fit into it.
    fn pass_over(&self, ranges: Vec<Range>) {
        if self.known.state.gap == Gap::None && !ranges.is_empty() {
            // Of a request that never heard of them: another server took numbers since, so that no run joins them.
            let (first, count) = (ranges[0].run.first, total(&ranges));
            tracing::warn!(sequence = %self.sequence.name, first, count, "a run leaves out numbers that nobody was given");
        }
        self.lose(ranges);
    }
}
