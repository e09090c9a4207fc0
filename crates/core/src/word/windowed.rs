//! The kernel that adds: places in a row, between the place of the clock and an end, without a retry.
//!
//! Shared words alone: nobody races for an owned one, which [`seeded`](super::seeded) moves as well.

use core::ops::Range;

use crate::atomic::{AtomicU64, Ordering};

/// Takes up to `want` places of `window`, at least one; returns the first and how many, or the place that was out of
/// reach. `want` is not zero.
///
/// Rule W4: look first and refuse without adding, then add, then check what the add gave. What lies past the end
/// after an add in a race is lost, and issued to nobody.
#[inline]
pub(crate) fn take_up_to(word: &AtomicU64, window: Range<u64>, want: u64) -> Result<(u64, u64), u64> {
    let (begin, end) = (window.start, window.end);
    let seen = word.load(Ordering::Relaxed);
    if seen >= end || begin >= end {
        return Err(seen.max(begin));
    }
    if seen < begin {
        word.fetch_max(begin, Ordering::Relaxed);
    }
    // Adding less than `end` keeps the word far below 2^64 under any number of threads.
    let want = want.min(end - seen.max(begin));
    let first = word.fetch_add(want, Ordering::AcqRel);
    if first >= end {
        return Err(first);
    }
    Ok((first, want.min(end - first)))
}

/// Takes `count` places and returns the first, or the place that so many from it on were too many at.
///
/// `end` bounds how far the word may have run ahead, and no id is wrong past it: nothing is checked after the add, so
/// threads that come together may pass it by what they take, as may one take right after the clock moved on.
#[inline]
pub(crate) fn take_all(word: &AtomicU64, begin: u64, end: u64, count: u64) -> Result<u64, u64> {
    let seen = word.load(Ordering::Relaxed);
    if seen < begin {
        word.fetch_max(begin, Ordering::Relaxed);
    } else if seen + count > end {
        return Err(seen);
    }
    Ok(word.fetch_add(count, Ordering::Relaxed))
}
