//! The work of a sequence whose store is ours alone, and of gap-free ones on any store: the stock is closed while
//! the store is asked, so that numbers come in one order and changes are exact.

use std::sync::atomic::Ordering;

use super::spec::Gap;
use super::state::{Range, State};
use super::worker::{Answers, Claimed, Takes, Use, Worker, refuse};
use crate::error::LedgerError;
use crate::runtime::fresh_token;
use crate::store::{Cas, Marks};

impl Worker<'_> {
    /// Serves all takes with as few claims as can be. Bounded sequences claim a block on top, which goes into
    /// stock; gap-free ones claim exactly what is answered.
    pub(super) async fn serve_all(&mut self, mut takes: Takes) {
        let exact = self.held.state.gap == Gap::None;
        let mut ranges = self.take_back();
        let mut answers: Answers = Vec::with_capacity(takes.len());
        let mut last = None;
        let mut low_water = 0;
        while let Some((n, contiguous, answer)) = takes.pop_front() {
            // Gap-free: what a run would leave out goes to those who wait beside it; none of them was answered yet.
            let first = ranges.first().map_or(0, |range| range.run.count);
            let fits = |take: &(u64, bool, _)| !take.1 || take.0 <= first;
            if exact
                && contiguous
                && (1..n).contains(&first)
                && let Some(beside) = takes.iter().position(fits).and_then(|at| takes.remove(at))
            {
                takes.push_front((n, contiguous, answer));
                takes.push_front(beside);
                continue;
            }
            // In order: nothing that lies below what is answered is given out later.
            let at = ranges
                .iter()
                .position(|range| !contiguous || range.run.count >= n);
            if let Some(at) = at {
                self.pass_over(ranges.drain(..at).collect());
                let (head, tail) = ranges[0].split(n);
                match tail {
                    Some(tail) => ranges[0] = tail,
                    None => drop(ranges.remove(0)),
                }
                last = Some(head.run.last());
                self.sequence.direct.fetch_add(head.run.count, Ordering::Relaxed);
                answers.push((head.run, answer));
                continue;
            }
            let want = match self.want(n, contiguous, &takes, &ranges) {
                Ok(want) => want,
                Err(error) => {
                    let _ = answer.send(Err(error));
                    continue;
                }
            };
            let held: u64 = ranges.iter().map(|range| range.run.count).sum();
            let block = if exact {
                0
            } else {
                self.sequence.block(
                    want.saturating_sub(held),
                    held.saturating_add(want),
                    self.held.state.max_gap,
                )
            };
            low_water = block / 2;
            let generation = self.held.state.generation;
            match self.claim(want, block, Use::Taker).await {
                Ok(Claimed { range, .. }) => {
                    if self.held.state.generation != generation {
                        // Another definition now: what is left of the old one is lost.
                        self.lose(std::mem::take(&mut ranges));
                    }
                    push_merged(&mut ranges, range);
                    takes.push_front((n, contiguous, answer));
                }
                Err(error) => {
                    let _ = answer.send(Err(error.clone()));
                    refuse(std::mem::take(&mut takes), &error);
                }
            }
        }
        // Visible before the answers are: a GET after an answer sees it.
        self.put_back(ranges, last, low_water);
        for (run, answer) in answers {
            let _ = answer.send(Ok(run));
        }
    }

    /// What must be claimed so that a take of `n` and those behind it can be served.
    fn want(&self, n: u64, contiguous: bool, behind: &Takes, ranges: &[Range]) -> Result<u64, LedgerError> {
        // Gap-free: no further than the next run that may turn out not to fit.
        let exact = self.held.state.gap == Gap::None;
        let behind = behind
            .iter()
            .take_while(|take| !exact || !take.1)
            .map(|take| take.0);
        let behind = behind.fold(0, u64::saturating_add);
        if !contiguous {
            return Ok(n.saturating_add(behind));
        }
        let next = self.held.state.peek(n).map_err(|e| self.sequence_error(e))?;
        let touching = ranges
            .last()
            .filter(|range| range.touches(&next))
            .map_or(0, |range| range.run.count);
        let left = touching.saturating_add(next.run.count);
        if left < n {
            return Err(LedgerError::RunTooLong {
                name: self.sequence.name.clone(),
                asked: n,
                left,
            });
        }
        Ok((n - touching).saturating_add(behind))
    }

    /// Closes the stock and takes everything unused out of it.
    pub(super) fn take_back(&mut self) -> Vec<Range> {
        let mut ranges: Vec<Range> = self.held.adopted.drain(..).collect();
        ranges.extend(self.sequence.stock.close());
        merged(ranges)
    }

    /// Opens the stock again. Gap-free sequences keep nothing where takers could find it.
    pub(super) fn put_back(&mut self, ranges: Vec<Range>, last: Option<i64>, low_water: u64) {
        if self.held.state.gap == Gap::None {
            self.held.adopted = ranges;
            self.sequence.stock.install(Vec::new(), last, 0);
        } else {
            self.sequence.stock.install(ranges, last, low_water);
        }
        self.sequence.publish(&self.held.state);
    }

    /// Gives up what lies before a run that did not fit into it.
    fn pass_over(&self, ranges: Vec<Range>) {
        if self.held.state.gap == Gap::None && !ranges.is_empty() {
            // Of a request that never heard of them: another server took numbers since, so that no run joins them.
            let (first, count) = (
                ranges[0].run.first,
                ranges.iter().map(|range| range.run.count).sum::<u64>(),
            );
            tracing::warn!(sequence = %self.sequence.name, first, count, "a run leaves out numbers that nobody was given");
        }
        self.lose(ranges);
    }

    /// Fetches the next block behind the one in use.
    pub(super) async fn refill(&mut self) {
        self.sequence.refill_begins();
        let stock = &self.sequence.stock;
        if self.held.state.gap == Gap::None || !self.is_stored() {
            return;
        }
        let held = stock.unused();
        let block = self.sequence.block(0, held, self.held.state.max_gap);
        if block == 0 || held > block {
            return;
        }
        let generation = self.held.state.generation;
        match self.claim(0, block, Use::Stock).await {
            Ok(Claimed { range, .. }) if self.held.state.generation == generation => {
                stock.append(range, block / 2);
            }
            Ok(Claimed { range, .. }) => {
                // Another definition now: what is left of the old one is lost.
                let old = self.take_back();
                self.lose(old);
                self.put_back(vec![range], None, block / 2);
            }
            // Those who find the stock empty learn why; a bound that was reached is theirs to hear too.
            Err(error) => tracing::debug!(sequence = %self.sequence.name, %error, "refill failed"),
        }
        self.sequence.publish(&self.held.state);
    }

    /// Gives the unused topmost numbers back, guarded by the version of our last claim (protocol S4).
    pub(super) async fn give_back(&mut self) {
        let mut ranges = self.take_back();
        let context = &self.sequence.context;
        if !context.store.exclusive() {
            return;
        }
        if self.held.stale {
            // A worker was dropped half-way; what it claimed is unused too, if it landed.
            match context
                .store
                .get(&self.sequence.key)
                .await
                .map_err(LedgerError::from_store)
            {
                Ok(found) => match self.reconcile(found) {
                    Ok(landed) => ranges.extend(landed),
                    Err(_) => return,
                },
                Err(_) => return,
            }
        }
        let issued = self.issued(&ranges);
        if !self.is_stored() || issued == self.held.state.ordinal {
            return;
        }
        let mut next = self.held.state.clone();
        next.ordinal = issued.max(next.base_ordinal);
        let value = next.write(fresh_token(&*context.runtime));
        match context
            .store
            .compare_and_set(&self.sequence.key, next.version, value, Marks::GiveBack)
            .await
        {
            Ok(Cas::Done(version)) => {
                self.held.state = State {
                    version: Some(version),
                    ..next
                }
            }
            Ok(Cas::Lost(_)) => {}
            Err(error) => {
                tracing::warn!(sequence = %self.sequence.name, %error, "could not give numbers back")
            }
        }
    }
}

/// Joins neighbours that touch.
fn merged(ranges: Vec<Range>) -> Vec<Range> {
    let mut out = Vec::with_capacity(ranges.len());
    for range in ranges {
        push_merged(&mut out, range);
    }
    out
}

fn push_merged(ranges: &mut Vec<Range>, range: Range) {
    match ranges.last_mut() {
        Some(last) if last.touches(&range) => last.run.count += range.run.count,
        _ => ranges.push(range),
    }
}
