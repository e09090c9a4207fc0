//! What is held, was reserved and is lost, as it is told to whoever asks.

use std::sync::Arc;
use std::time::Duration;

use mintage::Clock;
use tokio::sync::oneshot;

use super::Sequence;
use super::range::{Range, total};
use super::stock::Served;
use super::task::Job;

/// How long whoever asks what is held waits for a claim that is on its way.
const HELD_WITHIN: Duration = Duration::from_secs(1);

impl Sequence {
    /// What of it is in this process's memory and was given to nobody.
    pub(super) fn held(&self) -> Vec<Range> {
        let mut held = self.stock.ranges();
        held.extend(self.owned.lock().ranges.iter());
        held
    }

    /// The same, once no claim is on its way.
    pub(crate) async fn held_at_rest(self: &Arc<Self>) -> Vec<Range> {
        let (answer, answered) = oneshot::channel();
        self.push(Job::Held { answer });
        tokio::select! {
            // In a fixed order, so that a simulated run repeats.
            biased;
            held = answered => held.unwrap_or_else(|_| self.held()),
            // A store that hangs must not hide what is known.
            () = self.context.runtime.sleep(HELD_WITHIN) => self.held(),
        }
    }

    /// Remembers a block.
    pub(super) fn note_reserved(&self, range: Range, sent: Duration) {
        let context = &self.context;
        let took = context.runtime.boottime().saturating_sub(sent);
        context.recent.note(&self.name, context.clock.now(), took, range);
    }

    /// Counts what nobody will see.
    pub(super) fn lost(&self, ranges: &[Range]) {
        if !ranges.is_empty() {
            self.count_lost(total(ranges));
            self.context.recent.note_lost(&self.name, ranges);
        }
    }

    /// Counts what was left out for a run.
    pub(super) fn passed_over(&self, served: &Served) {
        if let (Some(run), passed @ 1..) = (served.run, served.passed) {
            self.context.recent.note_passed(&self.name, run.first, passed);
        }
        self.count_lost(served.passed);
    }
}
