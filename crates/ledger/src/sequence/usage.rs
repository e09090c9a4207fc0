//! How fast a name is used, what it has left, and for how long that lasts.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mintage::Clock;

use super::Sequence;
use super::range::HeldBlock;
use super::spec::Gap;
use crate::forecast::{A_MINUTE, DAY, Forecast};
use crate::name::Name;

/// For how long a name counts as in use after it was last asked.
const IN_USE: Duration = Duration::from_secs(60);

/// How many sequences without a further number are told of though nobody uses them.
const ENDED_MAX: usize = 1000;

/// How often it is looked at whether a sequence ends soon.
const LOOK_AHEAD_EVERY: Duration = Duration::from_secs(60);

/// What a sequence has left without its store.
#[derive(Clone, PartialEq, Debug)]
pub struct SequenceStock {
    /// Its name.
    pub name: Name,
    /// How many numbers this process owns and has not given out.
    pub unused: u64,
    /// How many it gives out per second, averaged over the last ten.
    pub rate: f64,
    /// How long they last at that rate, in seconds; infinite while nobody takes any.
    pub seconds: f64,
    /// Somebody was refused since numbers were last had.
    pub ran_out: bool,
}

/// The sequences of a ledger that are looked after.
#[derive(Debug, Default)]
pub(crate) struct InUse {
    /// Those that were used lately: the outage budget is kept for these.
    pub(crate) active: Mutex<Vec<Arc<Sequence>>>,
    /// Those that have no further number: they are told of although nobody uses them any more.
    pub(crate) ended: Mutex<BTreeSet<Name>>,
}

impl Sequence {
    /// Puts the sequence among those that are looked after every second.
    pub(super) fn keep_active(&self) {
        if !self.active.load(Ordering::Relaxed)
            && !self.active.swap(true, Ordering::AcqRel)
            && let Some(me) = self.me.upgrade()
        {
            self.refresh_use();
            self.in_use.active.lock().expect("no panic while held").push(me);
        }
    }

    /// Notes that somebody asked and got nothing.
    pub(super) fn was_refused(&self) {
        let now = u64::try_from(self.context.runtime.boottime().as_millis()).unwrap_or(u64::MAX);
        self.refused_ms.store(now.max(1), Ordering::Release);
        self.context.refusals.fetch_add(1, Ordering::AcqRel);
    }

    /// Counts numbers that nobody will see.
    pub(super) fn count_lost(&self, count: u64) {
        self.context.counters.lost(count);
        self.lost.fetch_add(count, Ordering::Relaxed);
    }

    /// How many of its numbers this process knows to be lost, since it began to hold the name in memory.
    pub fn known_lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    fn refresh_use(&self) {
        let now = self.context.runtime.boottime();
        let used = self.used();
        self.owned.lock().demand.note_use(now, used);
    }

    /// Looks after the sequence, once a second: samples its use and reserves ahead. `false`: it is idle and needs
    /// that no more.
    pub(crate) fn tend(self: &Arc<Self>) -> bool {
        let now = self.context.runtime.boottime();
        let used = self.used();
        let idle_for = {
            let mut owned = self.owned.lock();
            owned.demand.note_second(now, used);
            owned.demand.note_use(now, used)
        };
        if self.has_ended() {
            let mut ended = self.in_use.ended.lock().expect("no panic while held");
            if ended.len() < ENDED_MAX && !ended.contains(&self.name) {
                ended.insert(self.name.clone());
            }
        }
        if idle_for > IN_USE && !self.refused_lately(now) {
            self.active.store(false, Ordering::Release);
            return false;
        }
        if self.exists() && !self.refill.load(Ordering::Relaxed) && self.lacks() {
            self.ask_for_refill();
        }
        self.warn_of_end(now);
        true
    }

    /// Whether more is worth reserving ahead than is held.
    fn lacks(&self) -> bool {
        let state = self.published.load();
        match state.origin() {
            Some(origin) => self.stock.unused() <= self.origin_block(origin, 0, state.max_gap) / 2,
            None if !self.is_shared() || state.gap == Gap::None => false,
            None => self.plan(state.left(), state.max_gap).want > 0,
        }
    }

    /// Whether it has no further number. Where that of an origin end, its record does not tell.
    pub(crate) fn has_ended(&self) -> bool {
        let state = self.published.load();
        self.exists() && state.origin().is_none() && !state.def.cycle && state.left() == 0
    }

    /// Whether it is among those that are looked after: it was asked of the store or its blocks within the last minute,
    /// or is being used since.
    pub fn is_active(&self) -> bool {
        self.active.load(Ordering::Acquire)
    }

    /// It is not looked after any more.
    pub(crate) fn retire(&self) {
        self.active.store(false, Ordering::Release);
    }

    /// For how long nobody has taken a number, as far as was looked.
    pub(crate) fn idle_for(&self, now: Duration) -> Duration {
        let used = self.used();
        self.owned.lock().demand.note_use(now, used)
    }

    fn refused_lately(&self, now: Duration) -> bool {
        match self.refused_ms.load(Ordering::Acquire) {
            0 => false,
            ms => now.saturating_sub(Duration::from_millis(ms)) < IN_USE,
        }
    }

    /// What the sequence has left without its store.
    pub fn left_in_stock(&self) -> SequenceStock {
        let now = self.context.runtime.boottime();
        let used = self.used();
        let rate = self.owned.lock().demand.rate(now, used);
        let unused = self.stock.unused().saturating_add(self.owned_count());
        // A name that was dropped lacks nothing, unless somebody asks for it; one that has ended has no use of a store.
        let is_used = rate > 0.0 && self.exists() && !self.has_ended();
        let ran_out = unused == 0 && (is_used || self.refused_lately(now)) && !self.has_ended();
        SequenceStock {
            name: self.name.clone(),
            unused,
            rate,
            seconds: match (ran_out, is_used) {
                (true, _) => 0.0,
                (false, true) => unused as f64 / rate,
                (false, false) => f64::INFINITY,
            },
            ran_out,
        }
    }

    /// The blocks that this process holds, in the order in which their numbers leave. A gap-free sequence holds none.
    pub fn held_blocks(&self) -> Vec<HeldBlock> {
        let mut blocks = self.stock.blocks();
        blocks.extend(self.owned.lock().ranges.iter().map(HeldBlock::from));
        blocks
    }

    /// When the sequence ends at today's rate, as far as this process has seen.
    pub fn forecast(&self) -> Forecast {
        let now = self.context.runtime.boottime();
        let state = self.published.load();
        let mut owned = self.owned.lock();
        // Reservations come in blocks: what was not handed out of them is no use yet.
        let used = state.ordinal.saturating_sub(owned.count() + self.stock.unused());
        owned.pace.note(now, used);
        let rate = owned.pace.per_second(now, used, A_MINUTE);
        state.forecast(rate, Some(self.context.clock.now()))
    }

    /// Says once a day that the sequence ends soon.
    fn warn_of_end(&self, now: Duration) {
        if now < self.owned.lock().look_ahead_at {
            return;
        }
        let forecast = self.forecast();
        let pause = match forecast.warnings().next() {
            None => LOOK_AHEAD_EVERY,
            Some(first) => {
                let days = first.left.as_secs() / 86_400;
                let limit = first.limit.as_str();
                tracing::warn!(sequence = %self.name, limit, days, "it ends soon at today's rate");
                DAY
            }
        };
        self.owned.lock().look_ahead_at = now + pause;
    }

    /// What the last second used, as the last look found.
    pub(super) fn last_block(&self) -> u64 {
        let now = self.context.runtime.boottime();
        let used = self.used();
        self.owned.lock().demand.used_last_second(now, used)
    }
}
