//! Version 7 of the process, and of all formats that share its one order: `unix_ms << 20 | counter` in a word.

use core::sync::atomic::Ordering;
use core::time::Duration;

use ::uuid::Uuid;

use super::{Precision, uuid7_from};
use crate::format::{PROCESS, Source};
use crate::time::Timestamp;
use crate::uuid::UuidError;
use crate::word::{OwnLine, seeded};

/// A new time-ordered UUID (version 7) at the true millisecond. Thread-safe, fork-safe, and strictly
/// increasing over all threads of the process.
///
/// Reads the system clock and the process's random source. The one order of the process also covers
/// [`uuid7_many`]; it does not survive a restart (the clock orders ids across restarts).
///
/// # Panics
/// As [`fill_random`](crate::fill_random).
///
/// ```
/// let (a, b) = (mintage::uuid7(), mintage::uuid7());
/// assert!(a < b);
/// assert_eq!(a.get_version_num(), 7);
/// ```
#[inline]
pub fn uuid7() -> Uuid {
    let place = claim(&PROCESS.millis, crate::tsc::unix_millis(), 1);
    v7_from(place, u64::from_be_bytes(crate::entropy::random_array()))
}

/// Fills `out` with new time-ordered UUIDs, strictly increasing, with one clock reading and one reservation.
///
/// More than about 500,000 ids at once run ahead of the clock by a millisecond per million; see
/// [`uuid7_lead`].
///
/// # Panics
/// As [`fill_random`](crate::fill_random).
///
/// ```
/// let mut ids = [mintage::Uuid::nil(); 1000];
/// mintage::uuid7_many(&mut ids);
/// assert!(ids.is_sorted_by(|a, b| a < b));
/// ```
pub fn uuid7_many(out: &mut [Uuid]) {
    fill_at(&PROCESS.millis, crate::tsc::unix_millis() as i64, out);
}

/// Fills `out` with the next places of `line` at this millisecond; one before 1970 counts as 1970.
pub(crate) fn fill_at(line: &OwnLine, unix_millis: i64, out: &mut [Uuid]) {
    if out.is_empty() {
        return;
    }
    let mut place = claim(line, unix_millis.max(0) as u64, out.len() as u64);
    if out.len() < BATCH_PAYS_FROM {
        for id in out {
            *id = v7_from(place, u64::from_be_bytes(crate::entropy::random_array()));
            place += 1;
        }
        return;
    }
    let mut batch = crate::entropy::Batch::new();
    let mut random = [0; 256 * 8];
    let mut rest = out;
    // Up to 256 ids that differ in the lowest 8 counter bits, and so in one half, only.
    while !rest.is_empty() {
        let same_high = 256 - (place & 0xff) as usize;
        let (piece, later) = rest.split_at_mut(same_high.min(rest.len()));
        // Whole steps of the keystream, no more than needed.
        batch.fill(&mut random[..(piece.len() * 8).next_multiple_of(256)]);
        let high = high_of(place).to_be_bytes();
        let (mut next, step) = (0b10 << 62 | (place & 0xff) << 54, 1 << 54);
        for (id, random) in crate::keystream::bytes_of(piece)
            .iter_mut()
            .zip(random.as_chunks().0)
        {
            let low = (next | u64::from_be_bytes(*random) & RANDOM).to_be_bytes();
            id[..8].copy_from_slice(&high);
            id[8..].copy_from_slice(&low);
            next += step;
        }
        place += piece.len() as u64;
        rest = later;
    }
}

/// From this many ids on, a key of its own costs less than going through the thread's buffer.
const BATCH_PAYS_FROM: usize = 64;

/// How far the next [`uuid7`] runs ahead of the system clock; zero as a rule.
///
/// It grows after the clock was set back, and while more than 2^20 ids a millisecond are made.
///
/// ```
/// mintage::uuid7();
/// assert!(mintage::uuid7_lead().as_secs() < 3600);
/// ```
pub fn uuid7_lead() -> Duration {
    let last = PROCESS.millis.0.load(Ordering::Relaxed) >> COUNTER_BITS;
    Duration::from_millis(last.saturating_sub(crate::tsc::unix_millis()))
}

/// The last millisecond that the process's generator follows, in the year 2527. A clock beyond it is held
/// there, with room for 2^40 ids: a wrong clock must not make the word wrap.
const LAST_MILLIS: u64 = (1 << (64 - COUNTER_BITS)) - (1 << 20);
const _: () = assert!((LAST_MILLIS << COUNTER_BITS).checked_add((1 << 40) - 1).is_some());

const COUNTER_BITS: u32 = 20;

/// Takes `count` places of now and returns the first: `unix_ms << 20 | counter`.
///
/// The formats that are made of a millisecond and much randomness share this one order with version 7.
#[inline]
pub(crate) fn claim_by(from: Source<'_>, count: u64) -> u64 {
    let unix_millis = from.clock.unix_millis().max(0) as u64;
    claim(&from.generators.millis, unix_millis, count)
}

/// Takes `count` places of the line and returns the first.
#[inline]
fn claim(line: &OwnLine, unix_millis: u64, count: u64) -> u64 {
    seeded::add(
        &line.0,
        unix_millis.min(LAST_MILLIS) << COUNTER_BITS,
        count,
        || u64::from(u32::from_be_bytes(crate::entropy::random_array()) >> (32 - COUNTER_BITS + 1)),
    )
}

/// The id at a place of the process's order.
#[inline]
fn v7_from(place: u64, random: u64) -> Uuid {
    Uuid::from_u64_pair(
        high_of(place),
        0b10 << 62 | (place & 0xff) << 54 | random & RANDOM,
    )
}

/// Millisecond, version and the upper 12 bits of the counter.
#[inline]
fn high_of(place: u64) -> u64 {
    (place >> COUNTER_BITS) << 16 | 7 << 12 | place >> 8 & 0xfff
}

/// The 54 random bits. A mask, not a shift: the bytes then need not be turned around and back.
const RANDOM: u64 = u64::MAX >> 10;

/// A UUID of version 7 at a time of your choice, all else random. Touches no generator state.
///
/// Ids of one millisecond are unique by 74 random bits and in no order among themselves.
///
/// # Errors
/// `time` lies before 1970 or past 10889-08-02T05:31:50.655999999Z.
///
/// # Panics
/// As [`fill_random`](crate::fill_random).
///
/// ```
/// use mintage::{Timestamp, uuid7_at};
/// let id = uuid7_at(Timestamp::from_unix_millis(1_645_557_742_000))?;
/// assert!(id.to_string().starts_with("017f22e2-79b0-7"));
/// assert!(uuid7_at(Timestamp::from_unix_millis(-1)).is_err());
/// # Ok::<(), mintage::UuidError>(())
/// ```
pub fn uuid7_at(time: Timestamp) -> Result<Uuid, UuidError> {
    uuid7_from(time, Precision::Millis, crate::entropy::random_array())
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use mintage_testing::{distinct, invariant, rising};

    use super::*;
    use crate::uuid::v7::{MILLIS_MAX, unix_millis_of};

    #[test]
    fn the_bits_are_where_rfc_9562_says() {
        let id = v7_from(1_645_557_742_000 << 20 | 0xabcde, u64::MAX);
        assert_eq!(id.to_string(), "017f22e2-79b0-7abc-b7bf-ffffffffffff");
    }

    #[test]
    fn ids_of_the_process_carry_the_true_millisecond() {
        for _ in 0..1000 {
            let before = crate::tsc::unix_millis();
            let made = unix_millis_of(&uuid7());
            assert!(made >= before);
            // Not later than the clock, unless batches of this test run pushed ahead of it.
            assert!(made <= crate::tsc::unix_millis() + 1 + uuid7_lead().as_millis() as u64);
        }
    }

    #[test]
    fn threads_share_one_strict_order() {
        let all: Vec<Uuid> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..64)
                .map(|i| {
                    scope.spawn(move || {
                        let mut mine = Vec::new();
                        let mut batch = [Uuid::nil(); 100];
                        for _ in 0..100 {
                            mine.push(uuid7());
                            uuid7_many(&mut batch[..i]);
                            mine.extend_from_slice(&batch[..i]);
                        }
                        rising("ids of a thread", &mine);
                        mine
                    })
                })
                .collect();
            threads
                .into_iter()
                .flat_map(|t| t.join().expect("no panic"))
                .collect()
        });
        // Time and counter alone are unique, without the random bits.
        distinct("places", all.iter().map(|id| id.as_u128() >> 54));
        assert!(all.iter().all(|id| id.get_version_num() == 7));
    }

    #[test]
    fn the_process_holds_a_clock_that_goes_back() {
        let now = crate::tsc::unix_millis();
        let mut last = claim(&PROCESS.millis, now, 1);
        for back in [0, 1, 1000, 3_600_000, now] {
            for count in [1, 500] {
                let place = claim(&PROCESS.millis, now - back, count);
                invariant!(place > last, "{back} ms back: {place} after {last}");
                last = place + count - 1;
            }
        }
    }

    #[test]
    fn a_carried_batch_stays_in_order() {
        let mut ids = std::vec![Uuid::nil(); (1 << COUNTER_BITS) + 5];
        uuid7_many(&mut ids);
        ids.push(uuid7());
        rising("ids", &ids);
    }

    #[test]
    fn explicit_times_outside_the_field_are_refused() {
        let at = |ms| uuid7_at(Timestamp::from_unix_millis(ms));
        assert!(at(-1).is_err());
        assert_eq!(
            unix_millis_of(&at(MILLIS_MAX as i64).expect("the last millisecond")),
            MILLIS_MAX
        );
        assert!(at(MILLIS_MAX as i64 + 1).is_err());
    }
}
