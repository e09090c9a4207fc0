//! How far a block is used: the atomics that threads take by. Loom walks every interleaving of this file
//! (`crates/core/tests/loom/block.rs`, `cargo xtask loom`), so it uses nothing of the rest.

#[cfg(loom)]
use loom::sync::atomic::{AtomicU64, Ordering};
#[cfg(not(loom))]
use std::sync::atomic::{AtomicU64, Ordering};

/// The counters of one block; offsets from 0 (protocol S2).
///
/// `used` only grows, except that closing swaps in [`CLOSED`]; takes that lost a race leave it above `limit`,
/// which reads as "all used". It cannot reach `CLOSED` or wrap: `limit` is at most 2^61, and a take adds only after a
/// check, so at most one add per thread overshoots, each at most 2^40.
#[derive(Debug)]
pub(super) struct Counter {
    used: AtomicU64,
    limit: AtomicU64,
    /// Refill when at most this many are left.
    low_water: AtomicU64,
    /// How many were used when the block was closed; `u64::MAX`: not known yet.
    used_at_close: AtomicU64,
}

/// What a take came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Take {
    /// `count` offsets from `at` on are the caller's; `low`: few are left.
    Got { at: u64, count: u64, low: bool },
    /// Others were quicker: look again.
    Again,
    /// All are used.
    Exhausted,
    /// Closed for good.
    Closed,
}

const CLOSED: u64 = 1 << 62;

impl Counter {
    pub(super) fn new(count: u64, low_water: u64) -> Counter {
        Counter {
            used: AtomicU64::new(0),
            limit: AtomicU64::new(count),
            low_water: AtomicU64::new(low_water),
            used_at_close: AtomicU64::new(u64::MAX),
        }
    }

    /// Takes 1 to `n` offsets: reads, refuses without adding when none is left, adds, and checks what the add gave
    /// (protocol W4's order).
    pub(super) fn take(&self, n: u64) -> Take {
        let limit = self.limit.load(Ordering::Acquire);
        let before = self.used.load(Ordering::Acquire);
        if before >= CLOSED {
            return Take::Closed;
        }
        if before >= limit {
            return Take::Exhausted;
        }
        let n = n.min(limit - before);
        let at = self.used.fetch_add(n, Ordering::AcqRel);
        if at >= limit {
            return Take::Again;
        }
        let count = n.min(limit - at);
        Take::Got {
            at,
            count,
            low: self.is_low(limit - at - count),
        }
    }

    /// Takes exactly `n` offsets if that many are left; nothing moves otherwise. A take that loses a race after its
    /// check gives up what it had added: a gap.
    pub(super) fn take_exactly(&self, n: u64) -> Take {
        let limit = self.limit.load(Ordering::Acquire);
        let before = self.used.load(Ordering::Acquire);
        if limit.saturating_sub(before) < n {
            return Take::Exhausted;
        }
        let at = self.used.fetch_add(n, Ordering::AcqRel);
        if limit.saturating_sub(at) < n {
            return Take::Exhausted;
        }
        Take::Got {
            at,
            count: n,
            low: self.is_low(limit - at - n),
        }
    }

    fn is_low(&self, left: u64) -> bool {
        left <= self.low_water.load(Ordering::Relaxed)
    }

    /// Closes it by one swap: how many were used, and how many there were. `None`: it was closed before.
    pub(super) fn close(&self) -> Option<(u64, u64)> {
        let limit = self.limit.load(Ordering::Acquire);
        let used = self.used.swap(CLOSED, Ordering::AcqRel);
        if used >= CLOSED {
            return None;
        }
        let used = used.min(limit);
        self.used_at_close.store(used, Ordering::Release);
        Some((used, limit))
    }

    /// Adds `count` offsets at the end; `false`: the counter overshot its limit, and the overshoot would read as
    /// taken. Only by whoever closes it too.
    pub(super) fn extend(&self, count: u64) -> bool {
        let limit = self.limit.load(Ordering::Acquire);
        if self.used.load(Ordering::Acquire) >= limit {
            return false;
        }
        // Takers that race with this see the old limit (and come again) or the new one; an add that passed the old
        // limit in between is counted as taken, a gap of at most its own size.
        self.limit.store(limit + count, Ordering::Release);
        true
    }

    pub(super) fn set_low_water(&self, low_water: u64) {
        self.low_water.store(low_water, Ordering::Relaxed);
    }

    pub(super) fn low_water(&self) -> u64 {
        self.low_water.load(Ordering::Relaxed)
    }

    pub(super) fn limit(&self) -> u64 {
        self.limit.load(Ordering::Acquire)
    }

    pub(super) fn is_closed(&self) -> bool {
        self.used.load(Ordering::Acquire) >= CLOSED
    }

    /// How many are left.
    pub(super) fn left(&self) -> u64 {
        let used = self.used.load(Ordering::Acquire);
        self.limit().saturating_sub(used)
    }

    /// How many were used, also once it is closed.
    pub(super) fn used(&self) -> u64 {
        let used = self.used.load(Ordering::Acquire);
        if used < CLOSED {
            return used.min(self.limit());
        }
        loop {
            // The closer stores it right after its swap.
            match self.used_at_close.load(Ordering::Acquire) {
                u64::MAX => pause(),
                used => return used,
            }
        }
    }
}

#[cfg(not(loom))]
fn pause() {
    std::hint::spin_loop();
}

#[cfg(loom)]
fn pause() {
    loom::thread::yield_now();
}
