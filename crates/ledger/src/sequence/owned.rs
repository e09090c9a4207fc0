//! What a sequence owns beyond its stock: large blocks of a shared store, of which small pieces go into stock once
//! the journal has them (protocol S7). It also decides who may add to the stock.
//!
//! On a shared store the stock stays open while the task waits for the store. Three may add to it or drop it:
//! the task (what it claimed), a feeding (a piece of a large block), and whoever drops everything (the instance
//! register was lost, another node changed the definition). They exclude each other by one short lock, which is
//! never held across a call; what was under way when everything was dropped is told by the epoch.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use mintage::Run;

use super::Sequence;
use super::demand::Demand;
use super::range::{Ask, Range, push, total};
use super::spec::Gap;
use crate::forecast::Pace;
use crate::journal::{Entry, Journal};

/// Large blocks, and the lock on who adds to the stock.
#[derive(Debug, Default)]
pub(super) struct Owned {
    inner: Mutex<Inner>,
    /// The name's record in the journal. Held while the journal writes; taken before `inner`.
    pub(super) entry: tokio::sync::Mutex<Entry>,
}

#[derive(Debug, Default)]
pub(super) struct Inner {
    /// What is owned and not handed out to the stock; ascending.
    pub(super) ranges: VecDeque<Range>,
    /// Raised whenever everything is dropped.
    pub(super) epoch: u64,
    pub(super) demand: Demand,
    /// How many ordinals were reserved when, by all nodes.
    pub(super) pace: Pace,
    /// When to look next whether the sequence ends soon, in boot time.
    pub(super) look_ahead_at: Duration,
}

impl Owned {
    pub(super) fn new(entry: Entry, ranges: Vec<Range>) -> Owned {
        Owned {
            inner: Mutex::new(Inner {
                ranges: ranges.into(),
                ..Inner::default()
            }),
            entry: tokio::sync::Mutex::new(entry),
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().expect("no panic while held")
    }
}

impl Inner {
    /// How many numbers are owned beyond the stock.
    pub(super) fn count(&self) -> u64 {
        total(&self.ranges)
    }

    /// Adds a block behind the others.
    pub(super) fn push(&mut self, range: Range) {
        push(&mut self.ranges, range);
    }

    /// The ordinals owned, for the journal.
    pub(super) fn ordinals(&self) -> Vec<(u64, u64)> {
        self.ranges
            .iter()
            .map(|range| (range.ordinal, range.end()))
            .collect()
    }
}

/// A piece on its way into the journal; put back if the feeding is cut off, since nobody has seen it.
struct Piece<'a> {
    owned: &'a Owned,
    range: Option<Range>,
    epoch: u64,
}

impl Drop for Piece<'_> {
    fn drop(&mut self) {
        if let Some(range) = self.range.take() {
            let mut inner = self.owned.lock();
            if inner.epoch == self.epoch {
                match inner.ranges.front_mut().filter(|next| range.touches(next)) {
                    Some(next) => {
                        *next = Range {
                            ordinal: range.ordinal,
                            run: Run {
                                count: range.run.count + next.run.count,
                                ..range.run
                            },
                        }
                    }
                    None => inner.ranges.push_front(range),
                }
            }
        }
    }
}

impl Sequence {
    /// Whether others may write to the store. Takers then go on while the task waits for it; where it is ours alone, the
    /// stock is closed for exactness.
    pub(super) fn is_shared(&self) -> bool {
        !self.context.store.exclusive()
    }

    /// How many numbers were ever used.
    pub(super) fn used(&self) -> u64 {
        let direct = self.direct.load(Ordering::Relaxed);
        direct.saturating_add(self.stock.taken())
    }

    /// How many numbers of the large blocks are not handed out yet.
    pub(super) fn owned_count(&self) -> u64 {
        self.owned.lock().count()
    }

    /// The block for `asked` numbers that are wanted now: what the name used in the last second, and never more
    /// unused numbers in memory than `max_gap`, of which `unused` are spoken for.
    pub(super) fn block(&self, asked: u64, unused: u64, max_gap: u64) -> u64 {
        let now = self.context.runtime.boottime();
        let used = self.used();
        let mut owned = self.owned.lock();
        owned.demand.note_second(now, used);
        let block = owned.demand.used_last_second(now, used.saturating_add(asked));
        drop(owned);
        block.min(max_gap.saturating_sub(unused))
    }

    /// Takes from memory, or from what this process owns.
    pub(super) async fn take_owned(self: &Arc<Self>, ask: Ask) -> Option<Run> {
        match self.from_stock(ask) {
            Some(run) => Some(run),
            None => self.feed(Some(ask)).await,
        }
    }

    pub(super) fn from_stock(self: &Arc<Self>, ask: Ask) -> Option<Run> {
        match ask.contiguous {
            true => self.try_take_linear(ask.n),
            false => self.try_take(ask.n),
        }
    }

    /// Hands a piece of the large blocks out: what is asked for to the caller, a second's worth to the stock. On disk
    /// first. `None`: nothing is owned that answers it, or nothing was asked for.
    pub(super) async fn feed(self: &Arc<Self>, ask: Option<Ask>) -> Option<Run> {
        let journal = self.context.journal.as_ref()?;
        // Whoever adds to the stock holds this, so that pieces come into it in their order.
        let mut entry = self.owned.entry.lock().await;
        // Somebody else may have fed the stock while we waited.
        if let Some(run) = ask.and_then(|ask| self.from_stock(ask)) {
            return Some(run);
        }
        let n = ask.map_or(0, |ask| ask.n);
        let max_gap = self.published.load().max_gap;
        let unused = self.stock.unused();
        let block = self.block(n, unused, max_gap);
        if ask.is_none() && (block == 0 || unused > block) {
            return None;
        }
        let mut piece = self.cut(ask, n.saturating_add(block))?;
        let until = piece.range.as_ref().map_or(0, Range::end);
        let written = journal.hand_out(&self.name, &mut entry, until).await;
        let mut inner = self.owned.lock();
        let range = piece.range.take()?;
        if written.is_err() {
            // Nothing may be handed out that the journal does not have, now or later.
            self.lost(&[range]);
            self.lost(inner.ranges.make_contiguous());
            inner.ranges.clear();
            return None;
        }
        if inner.epoch != piece.epoch {
            self.lost(&[range]);
            return None;
        }
        let Some(ask) = ask else {
            self.stock.append(range, block / 2);
            return None;
        };
        let served = self.stock.serve(ask, Some(range), Some(block / 2));
        self.passed_over(&served);
        served.run
    }

    /// Takes up to `count` numbers out of the first large block; for a run, out of the first that has it, with what the
    /// stock ends with where that touches: what lies before is passed over.
    fn cut(&self, ask: Option<Ask>, count: u64) -> Option<Piece<'_>> {
        let mut inner = self.owned.lock();
        if let Some(Ask { n, .. }) = ask.filter(|ask| ask.contiguous) {
            let in_stock = self.stock.touching(inner.ranges.front()?);
            let fits = |(at, range): (usize, &Range)| {
                let before = if at == 0 { in_stock } else { 0 };
                range.run.count.saturating_add(before) >= n
            };
            let at = inner.ranges.iter().enumerate().position(fits)?;
            let passed: Vec<Range> = inner.ranges.drain(..at).collect();
            self.lost(&passed);
        }
        let (head, tail) = inner.ranges.front()?.split(count);
        match tail {
            Some(tail) => inner.ranges[0] = tail,
            None => drop(inner.ranges.pop_front()),
        }
        Some(Piece {
            owned: &self.owned,
            range: Some(head),
            epoch: inner.epoch,
        })
    }

    /// Drops all that is in stock, owned or under way, at once, and answers the new epoch; `last` is the last
    /// number issued, where another definition says so.
    pub(super) fn drop_all(&self, last: Option<i64>) -> u64 {
        let mut inner = self.owned.lock();
        inner.epoch += 1;
        let mut lost: Vec<Range> = inner.ranges.drain(..).collect();
        let last = last.or(self.stock.last_issued());
        lost.extend(self.stock.close());
        self.stock.restart(last);
        self.lost(&lost);
        inner.epoch
    }

    /// Lets the journal forget what the sequence was before its present definition (protocol S11); whether that is on disk.
    pub(crate) async fn forget_definition(&self, journal: &Journal) -> bool {
        let mut entry = self.owned.entry.lock().await;
        let generation = self.published.load().generation;
        let forgotten = journal.forget_definition(&self.name, &mut entry, Some(generation));
        forgotten.await.is_ok()
    }

    /// Closes the stock for good and notes in the journal that what was in it was not used, so that the next
    /// process with this journal goes on there.
    pub(super) async fn put_away(&self) {
        let mut entry = self.owned.entry.lock().await;
        let mut rest = {
            let mut inner = self.owned.lock();
            inner.epoch += 1;
            inner.ranges.clear();
            self.stock.close()
        };
        // Only what lies on top of what was handed out can be taken back.
        rest.sort_unstable_by_key(|range| range.ordinal);
        let mut lost = rest.clone();
        if let Some(journal) = &self.context.journal {
            let mut from = entry.mark();
            for (at, range) in rest.iter().enumerate().rev() {
                if range.end() == from {
                    from = range.ordinal;
                    lost.remove(at);
                }
            }
            if from < entry.mark() {
                journal.take_back(&self.name, &mut entry, from).await;
            }
        }
        self.lost(&lost);
    }

    /// Whether there is a second level: a journal that works, and a sequence that may lose numbers.
    pub(super) fn has_second_level(&self) -> bool {
        let journal = self.context.journal.as_ref();
        journal.is_some_and(|journal| journal.works()) && self.published.load().gap == Gap::Bounded
    }
}
