//! The kernel that adds: places in a row, between the place of the clock and an end, without a retry.

use core::ops::Range;

use crate::atomic::{AtomicU64, Ordering};

/// A word that is raised and added to.
pub(crate) trait Word {
    /// The next free place, as far as is known.
    fn look(&self) -> u64;
    /// Skips the places before `place`.
    fn raise_to(&mut self, place: u64);
    /// Moves on by `count` and returns the place before.
    fn add(&mut self, count: u64) -> u64;
}

impl Word for &AtomicU64 {
    #[inline]
    fn look(&self) -> u64 {
        self.load(Ordering::Relaxed)
    }

    #[inline]
    fn raise_to(&mut self, place: u64) {
        self.fetch_max(place, Ordering::Relaxed);
    }

    #[inline]
    fn add(&mut self, count: u64) -> u64 {
        self.fetch_add(count, Ordering::AcqRel)
    }
}

impl Word for &mut u64 {
    #[inline]
    fn look(&self) -> u64 {
        **self
    }

    #[inline]
    fn raise_to(&mut self, place: u64) {
        **self = place.max(**self);
    }

    #[inline]
    fn add(&mut self, count: u64) -> u64 {
        let first = **self;
        **self += count;
        first
    }
}

/// Takes up to `want` places of `window`, at least one; returns the first and how many, or the place that was out of
/// reach. `want` is not zero.
#[inline]
pub(crate) fn take_up_to(word: impl Word, window: Range<u64>, want: u64) -> Result<(u64, u64), u64> {
    take::<false>(word, window, want)
}

/// Takes `count` places of `window` and returns the first, or the place that so many from it on were too many at.
#[inline]
pub(crate) fn take_all(word: impl Word, window: Range<u64>, count: u64) -> Result<u64, u64> {
    take::<true>(word, window, count).map(|(first, _)| first)
}

/// Rule W4: look first and refuse without adding, then add, then check what the add gave. What lies past the end
/// after an add in a race is lost, and issued to nobody.
#[inline]
fn take<const ALL: bool>(mut word: impl Word, window: Range<u64>, want: u64) -> Result<(u64, u64), u64> {
    let (begin, end) = (window.start, window.end);
    let seen = word.look();
    if seen >= end || begin >= end {
        return Err(seen.max(begin));
    }
    let place = seen.max(begin);
    if ALL && want > end - place {
        return Err(place);
    }
    if seen < begin {
        word.raise_to(begin);
    }
    // Adding less than `end` keeps the word far below 2^64 under any number of threads.
    let want = want.min(end - place);
    let first = word.add(want);
    if first >= end || ALL && want > end - first {
        return Err(first);
    }
    Ok((first, want.min(end - first)))
}
