//! Which names are held in memory: those in use. Others are let go, with what they have in stock given back or spent as
//! the protocol allows (S4), and read again at their next use.
//!
//! A name is let go only while nobody but the ledger holds its object, so that there are never two of one name.

use std::sync::{Arc, Weak};
use std::time::Duration;

use super::Ledger;
use crate::sequence::Sequence;

/// How many names are looked at, or asked for what they have in stock, in one go; others come in between.
const AT_ONCE: usize = 1000;
/// How often idle names are looked for, at most and at least.
const LOOK_EVERY: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));

impl Ledger {
    /// How many names are held in memory.
    pub fn loaded_sequences(&self) -> usize {
        self.sequences.read().expect("no panic while held").len()
    }

    fn surplus(&self) -> usize {
        let max = usize::try_from(self.context.settings.max_loaded).unwrap_or(usize::MAX);
        self.loaded_sequences().saturating_sub(max)
    }

    /// Lets names go while more are held than may be, those first that were not used for the longest; an eighth more
    /// than must be, so that not every next name has to look for another. Who loads names waits for it.
    pub(super) async fn make_room(&self) {
        if self.surplus() == 0 {
            return;
        }
        let _alone = self.letting_go.lock().await;
        let surplus = self.surplus();
        if surplus == 0 {
            return;
        }
        let mut idle = self.unheld(Duration::ZERO).await;
        idle.truncate(surplus + self.loaded_sequences() / 8);
        self.let_go(idle.into_iter().map(|(_, sequence)| sequence).collect())
            .await;
    }

    /// Lets names go that were not used for `idle_after`.
    async fn let_idle_go(&self) {
        let _alone = self.letting_go.lock().await;
        let idle = self.unheld(self.context.settings.idle_after).await;
        self.let_go(idle.into_iter().map(|(_, sequence)| sequence).collect())
            .await;
    }

    /// The names that nobody holds and that were not used for `at_least`, and for how long they were not; the longest
    /// first, then in the order of the names, so that a simulated run repeats.
    async fn unheld(&self, at_least: Duration) -> Vec<(Duration, Arc<Sequence>)> {
        let mut unheld = Vec::new();
        let mut loaded: Vec<_> = {
            let sequences = self.sequences.read().expect("no panic while held");
            sequences.values().cloned().collect()
        };
        let now = self.context.runtime.boottime();
        let ended = self.in_use.ended.lock().expect("no panic while held").clone();
        while !loaded.is_empty() {
            let few = loaded.split_off(loaded.len().saturating_sub(AT_ONCE));
            for sequence in few {
                let idle_for = sequence.idle_for(now);
                // Those that have ended stay, so that it is told of them.
                let may_go = !ended.contains(sequence.name()) && sequence.rests();
                if idle_for >= at_least && may_go && is_unheld(&sequence) {
                    unheld.push((idle_for, sequence));
                }
            }
            tokio::task::yield_now().await;
        }
        unheld.sort_by(|(a, one), (b, other)| b.cmp(a).then_with(|| one.name().cmp(other.name())));
        unheld
    }

    async fn let_go(&self, mut sequences: Vec<Arc<Sequence>>) {
        while !sequences.is_empty() {
            let few = sequences.split_off(sequences.len().saturating_sub(AT_ONCE));
            // All are asked at once, so that the store can group them; then each is waited for.
            let waits: Vec<_> = few.iter().map(Sequence::ask_to_give_back).collect();
            for wait in waits {
                let _ = wait.await;
            }
            // Those that did it let go of them, too.
            tokio::task::yield_now().await;
            let mut active = self.in_use.active.lock().expect("no panic while held");
            let mut loaded = self.sequences.write().expect("no panic while held");
            for sequence in few {
                // Somebody may have come for it meanwhile: then it stays, with nothing in stock.
                if is_unheld(&sequence) && sequence.rests() {
                    sequence.retire();
                    loaded.remove(sequence.name());
                }
            }
            active.retain(|sequence| sequence.is_active());
        }
    }
}

/// Whether nobody holds it but the ledger's own two lists and the caller.
fn is_unheld(sequence: &Arc<Sequence>) -> bool {
    Arc::strong_count(sequence) == 2 + usize::from(sequence.is_active())
}

/// Lets idle names go until the ledger closes.
pub(super) async fn let_idle_go(ledger: Weak<Ledger>) {
    loop {
        let Some(now) = ledger.upgrade() else { return };
        let every = now.context.settings.idle_after / 4;
        let sleep = now.context.runtime.sleep(every.clamp(LOOK_EVERY.0, LOOK_EVERY.1));
        drop(now);
        sleep.await;
        let Some(now) = ledger.upgrade() else { return };
        if now.context.closing.load(std::sync::atomic::Ordering::Acquire) {
            return;
        }
        now.let_idle_go().await;
    }
}
