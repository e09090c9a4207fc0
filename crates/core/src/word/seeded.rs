//! The kernel that swaps: a counter that begins at a seed in every new tick, and carries into the next when it is full.

use core::ops::{Add, BitAnd, BitOr, Range, Shl, Shr, Sub};

use crate::atomic::{AtomicU64, Ordering};

/// A word that is changed at once or not at all.
pub(crate) trait Word {
    /// What it holds.
    type Number: Number;

    /// Puts what `decide` makes of the word in its place; asks again where another thread came first.
    fn change<T, E>(self, decide: impl FnMut(Self::Number) -> Result<(Self::Number, T), E>) -> Result<T, E>;
}

impl Word for &AtomicU64 {
    type Number = u64;

    #[inline]
    fn change<T, E>(self, mut decide: impl FnMut(u64) -> Result<(u64, T), E>) -> Result<T, E> {
        let mut seen = self.load(Ordering::Relaxed);
        loop {
            let (next, made) = decide(seen)?;
            match self.compare_exchange_weak(seen, next, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return Ok(made),
                Err(other) => seen = other,
            }
        }
    }
}

impl<N: Number> Word for &mut N {
    type Number = N;

    #[inline]
    fn change<T, E>(self, mut decide: impl FnMut(N) -> Result<(N, T), E>) -> Result<T, E> {
        let (next, made) = decide(*self)?;
        *self = next;
        Ok(made)
    }
}

/// A place, `tick << counter_bits | counter`, in as many bits as both need; or an id of a layout.
pub(crate) trait Number:
    Copy
    + Ord
    + From<u64>
    + Into<u128>
    + Add<Output = Self>
    + Sub<Output = Self>
    + BitAnd<Output = Self>
    + BitOr<Output = Self>
    + Shl<u32, Output = Self>
    + Shr<u32, Output = Self>
{
    /// How many bits it has.
    const BITS: u32;

    /// The number, or the largest of 64 bits.
    fn clamped(self) -> u64;

    /// As many of the lowest bits of `number` as it has.
    fn low_bits(number: u128) -> Self;
}

impl Number for u64 {
    const BITS: u32 = u64::BITS;

    #[inline]
    fn clamped(self) -> u64 {
        self
    }

    #[inline]
    fn low_bits(number: u128) -> u64 {
        number as u64
    }
}

impl Number for u128 {
    const BITS: u32 = u128::BITS;

    #[inline]
    fn clamped(self) -> u64 {
        u64::try_from(self).unwrap_or(u64::MAX)
    }

    #[inline]
    fn low_bits(number: u128) -> u128 {
        number
    }
}

/// Takes up to `want` places before the end of `reach`, at least one, where a tick before its start ends and one begins
/// at that start and `seed`. Returns the first and how many, or the place that was out of reach.
#[inline]
pub(crate) fn take_up_to<W: Word>(
    word: W,
    reach: Range<W::Number>,
    want: u64,
    seed: impl FnMut() -> u64,
) -> Result<(W::Number, u64), W::Number> {
    take(word, reach.end, seeded(reach.start, seed), |_, left| {
        Some(want.min(left))
    })
}

/// Takes `count` places as [`take_up_to`] does, or none; returns the first, or the place that so many from it on were
/// too many at.
#[inline]
pub(crate) fn take_all<W: Word>(
    word: W,
    reach: Range<W::Number>,
    count: u64,
    seed: impl FnMut() -> u64,
) -> Result<W::Number, W::Number> {
    let fits = |_, left| (count <= left).then_some(count);
    take(word, reach.end, seeded(reach.start, seed), fits).map(|(first, _)| first)
}

/// Takes up to `want` places of one tick, as [`take_up_to`] does, for a caller that counts in the low `width` bits of
/// the `counter_bits` that the word has: where those are full, and where another caller's are wider, the next tick
/// begins at zero.
#[inline]
pub(crate) fn take_in_tick<W: Word>(
    word: W,
    reach: Range<W::Number>,
    (counter_bits, width): (u32, u32),
    want: u64,
    seed: impl FnMut() -> u64,
) -> Result<(W::Number, u64), W::Number> {
    let one = W::Number::from(1);
    let (ones, full) = ((one << counter_bits) - one, (one << width) - one);
    let mut seeded = seeded(reach.start, seed);
    let first_of = |seen| {
        let place = seeded(seen);
        if place & ones > full {
            ((place >> counter_bits) + one) << counter_bits
        } else {
            place
        }
    };
    take(word, reach.end, first_of, |first, left| {
        Some(want.min(left).min((full + one - (first & ones)).clamped()))
    })
}

/// Takes `count` places with no end to them and returns the first: an add, which no other thread can make repeat,
/// but at the beginning of a tick.
#[inline]
pub(crate) fn add(word: &AtomicU64, begin: u64, count: u64, seed: impl FnOnce() -> u64) -> u64 {
    // Relaxed suffices: everybody changes this one word by read-modify-write, which has one order that agrees
    // with what threads otherwise know of each other.
    if word.load(Ordering::Relaxed) < begin {
        return add_in_new_tick(word, begin, count, seed);
    }
    word.fetch_add(count, Ordering::Relaxed)
}

#[cold]
#[inline(never)]
fn add_in_new_tick(word: &AtomicU64, begin: u64, count: u64, seed: impl FnOnce() -> u64) -> u64 {
    let first = begin | seed();
    let begun = word.change(|seen| {
        if seen < begin {
            Ok((first + count, first))
        } else {
            Err(())
        }
    });
    // Another thread began this tick.
    begun.unwrap_or_else(|()| word.fetch_add(count, Ordering::Relaxed))
}

/// Goes on where the word stands, or at the clock's tick and a seed where that is later.
#[inline]
fn seeded<N: Number>(begin: N, mut seed: impl FnMut() -> u64) -> impl FnMut(N) -> N {
    move |seen| {
        if seen < begin {
            begin | N::from(seed())
        } else {
            seen
        }
    }
}

/// Takes from where `first_of` the word says as many as `count_of` that place and what is left before `end` says.
#[inline]
fn take<W: Word>(
    word: W,
    end: W::Number,
    mut first_of: impl FnMut(W::Number) -> W::Number,
    count_of: impl Fn(W::Number, u64) -> Option<u64>,
) -> Result<(W::Number, u64), W::Number> {
    word.change(|seen| {
        let first = first_of(seen);
        if first >= end {
            return Err(first);
        }
        let count = count_of(first, (end - first).clamped()).ok_or(first)?;
        Ok((first + W::Number::from(count), (first, count)))
    })
}

#[cfg(not(loom))]
#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn an_owned_word_and_a_shared_one_go_the_same_way(
            takes in prop::collection::vec((0u64..40, 1u64..9, 0u64..4, 0u32..3), 1..40),
        ) {
            let (shared, mut owned) = (AtomicU64::new(0), 0u128);
            let mut places = Vec::new();
            for (now, want, ahead, kind) in takes {
                let reach = now << 2..(now + ahead + 1) << 2;
                let wide = u128::from(reach.start)..u128::from(reach.end);
                let seed = || 1;
                let (one, two) = match kind {
                    0 => (take_up_to(&shared, reach, want, seed), take_up_to(&mut owned, wide, want, seed)),
                    1 => (
                        take_all(&shared, reach, want, seed).map(|first| (first, want)),
                        take_all(&mut owned, wide, want, seed).map(|first| (first, want)),
                    ),
                    _ => (
                        take_in_tick(&shared, reach, (2, 1), want, seed),
                        take_in_tick(&mut owned, wide, (2, 1), want, seed),
                    ),
                };
                let two = two.map(|(first, count)| (first as u64, count)).map_err(|place| place as u64);
                prop_assert_eq!(one, two);
                if let Ok((first, count)) = one {
                    prop_assert!(first >= now << 2 && first + count <= (now + ahead + 1) << 2);
                    prop_assert!(kind != 2 || (first & 3) + count <= 2, "two places of a tick's four");
                    places.extend(first..first + count);
                }
            }
            mintage_testing::rising("places", places);
        }
    }
}
