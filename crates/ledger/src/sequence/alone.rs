//! The work of a sequence whose store is ours alone: the stock is closed while the store is asked, so that numbers
//! come in one order and changes are exact.

use super::claim::{Claimed, Use};
use super::closed::ClosedStock;
use super::range::{Range, total};
use super::task::{SequenceTask, Takers, wanted};
use crate::runtime::fresh_token;
use crate::store::{Cas, Marks};

impl SequenceTask<'_> {
    /// Serves all takes with as few claims as can be, each with a block on top that goes into stock.
    pub(super) async fn serve_alone(&mut self, mut takes: Takers) {
        let mut closed = self.close();
        while let Some(take) = takes.pop_front() {
            let Some(take) = self.serve_closed(take, &mut closed) else {
                continue;
            };
            let behind = wanted(&takes);
            match self.want(take.ask, behind, &closed.ranges) {
                Ok(want) => {
                    let held = total(&closed.ranges);
                    let (asked, unused) = (want.saturating_sub(held), held.saturating_add(want));
                    let block = self.sequence.block(asked, unused, self.known.state.max_gap);
                    closed.low_water = block / 2;
                    self.claim_closed(take, &mut takes, &mut closed, want, block)
                        .await;
                }
                Err(error) => drop(take.answer.send(Err(error))),
            }
        }
        self.open(closed);
    }

    /// Fetches the next block behind the one in use.
    pub(super) async fn refill_alone(&mut self) {
        self.sequence.refill_begins();
        if !self.is_stored() {
            return;
        }
        let stock = &self.sequence.stock;
        let held = stock.unused();
        let block = self.sequence.block(0, held, self.known.state.max_gap);
        if block == 0 || held > block {
            return;
        }
        let generation = self.known.state.generation;
        match self.claim(0, block, Use::Stock).await {
            Ok(Claimed { range, .. }) if self.known.state.generation == generation => {
                stock.append(range, block / 2);
            }
            Ok(Claimed { range, .. }) => {
                // Another definition now: what is left of the old one is lost.
                let old = self.close();
                self.lose(old.ranges.into());
                self.open(ClosedStock::of([range].into(), block / 2));
            }
            // Those who find the stock empty learn why; a bound that was reached is theirs to hear too.
            Err(error) => tracing::debug!(sequence = %self.sequence.name, %error, "refill failed"),
        }
        self.sequence.publish(&self.known.state);
    }

    /// The definition was changed, or not, while the stock was closed.
    pub(super) fn end_change_alone(&mut self, ranges: Vec<Range>, is_changed: bool) {
        if !is_changed {
            return self.open(ClosedStock::of(ranges.into(), 0));
        }
        // Numbers of the old definition that were not issued are spent.
        self.lose(ranges);
        let state = &self.known.state;
        self.sequence.restock(state.last_before(state.ordinal));
        self.sequence.publish(state);
    }

    /// Gives the unused topmost numbers back, guarded by the version of our last claim (protocol S4).
    pub(super) async fn give_back(&mut self) {
        let mut ranges = Vec::from(self.close().ranges);
        // A task was dropped half-way; what it claimed is unused too, if it landed.
        match self.refresh().await {
            Ok(landed) => ranges.extend(landed),
            Err(_) => return,
        }
        let issued = self.issued(&ranges);
        if !self.is_stored() || issued == self.known.state.ordinal {
            return;
        }
        let context = &self.sequence.context;
        let mut next = self.known.state.clone();
        next.ordinal = issued.max(next.base_ordinal);
        let value = next.write(fresh_token(&*context.runtime));
        match context
            .store
            .compare_and_set(&self.sequence.key, next.version, value, Marks::GiveBack)
            .await
        {
            Ok(Cas::Done(version)) => {
                context.recent.note_given_back(&self.sequence.name, next.ordinal);
                next.version = Some(version);
                self.known.state = next;
            }
            Ok(Cas::Lost(_)) => {}
            Err(error) => {
                tracing::warn!(sequence = %self.sequence.name, %error, "could not give numbers back")
            }
        }
    }
}
