//! What the ledger counts for metrics: plain atomics, read by the face that prints them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Upper bounds of the buckets of [`Counters::reserve_buckets`], in microseconds.
pub const RESERVE_BUCKETS_US: [u64; 10] = [
    100, 250, 500, 1_000, 2_500, 5_000, 10_000, 100_000, 1_000_000, 5_000_000,
];

/// Counters of one ledger.
#[derive(Debug, Default)]
pub struct Counters {
    /// Reservations by duration: one counter per bound of [`RESERVE_BUCKETS_US`], the last for all above.
    pub reserve_buckets: [AtomicU64; RESERVE_BUCKETS_US.len() + 1],
    /// Time spent in reservations, in microseconds.
    pub reserve_us: AtomicU64,
    /// Reservations that failed or whose outcome stayed unknown.
    pub reserve_failed: AtomicU64,
    /// Numbers reserved and then known to be lost (unknown outcomes, changed definitions).
    pub gap_ids: AtomicU64,
    /// Windows taken anew (start, loss, clock step).
    pub windows_acquired: AtomicU64,
}

impl Counters {
    /// Counts one reservation.
    pub(crate) fn reserved(&self, took: Duration) {
        let us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let bucket = RESERVE_BUCKETS_US
            .iter()
            .position(|bound| us <= *bound)
            .unwrap_or(RESERVE_BUCKETS_US.len());
        self.reserve_buckets[bucket].fetch_add(1, Ordering::Relaxed);
        self.reserve_us.fetch_add(us, Ordering::Relaxed);
    }

    /// Counts one failed reservation.
    pub(crate) fn failed(&self) {
        self.reserve_failed.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts numbers that are known to be lost.
    pub(crate) fn lost(&self, count: u64) {
        self.gap_ids.fetch_add(count, Ordering::Relaxed);
    }
}
