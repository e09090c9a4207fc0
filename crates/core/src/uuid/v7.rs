//! UUID version 7: Unix milliseconds, a counter, random bits.
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! |                          unix_ts_ms                           |
//! |          unix_ts_ms           |  ver  |     counter, high     |
//! |var|  counter, low  |                 random                   |
//! |                           random                              |
//! ```
//!
//! `unix_ts_ms` counts milliseconds since 1970-01-01T00:00:00Z, leap seconds not counted (RFC 9562 section
//! 5.7). The counter of 20 bits follows it directly (section 6.2, method 1): its top bit starts at 0, the rest
//! at random in every millisecond. 54 random bits are fresh in every id.
//!
//! Rare events. *Counter full*: it carries into the millisecond, so ids run ahead of the clock by as many
//! milliseconds as 2^20 ids a millisecond need. *Clock back*: the last millisecond is held until the clock has
//! caught up. *Fork*: the child draws other random bits, so no id repeats. *End*: the time field lasts until
//! 10889-08-02T05:31:50.655Z.

use core::fmt;
#[cfg(feature = "std")]
use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;

use ::uuid::Uuid;

use super::UuidError;
#[cfg(feature = "std")]
use crate::format::{PROCESS, Source};
use crate::time::{Clock, Timestamp};
use crate::{Entropy, MintError};

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
#[cfg(feature = "std")]
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
#[cfg(feature = "std")]
pub fn uuid7_many(out: &mut [Uuid]) {
    fill_at(&PROCESS.millis, crate::tsc::unix_millis() as i64, out);
}

/// Fills `out` with the next places of `line` at this millisecond; one before 1970 counts as 1970.
#[cfg(feature = "std")]
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
#[cfg(feature = "std")]
const BATCH_PAYS_FROM: usize = 64;

/// How far the next [`uuid7`] runs ahead of the system clock; zero as a rule.
///
/// It grows after the clock was set back, and while more than 2^20 ids a millisecond are made.
///
/// ```
/// mintage::uuid7();
/// assert!(mintage::uuid7_lead().as_secs() < 3600);
/// ```
#[cfg(feature = "std")]
pub fn uuid7_lead() -> Duration {
    let last = PROCESS.millis.0.load(Ordering::Relaxed) >> COUNTER_BITS;
    Duration::from_millis(last.saturating_sub(crate::tsc::unix_millis()))
}

/// The last millisecond that the process's generator follows, in the year 2527. A clock beyond it is held
/// there, with room for 2^40 ids: a wrong clock must not make the word wrap.
#[cfg(feature = "std")]
const LAST_MILLIS: u64 = (1 << (64 - COUNTER_BITS)) - (1 << 20);
#[cfg(feature = "std")]
const _: () = assert!((LAST_MILLIS << COUNTER_BITS).checked_add((1 << 40) - 1).is_some());

/// A word that threads count on in, in cache lines of its own: what lies beside a word that every thread changes would be slow to read.
#[cfg(feature = "std")]
#[repr(align(128))]
pub(crate) struct OwnLine(pub(crate) AtomicU64);

#[cfg(feature = "std")]
pub(crate) const COUNTER_BITS: u32 = 20;

/// Takes `count` places of now and returns the first: `unix_ms << 20 | counter`.
///
/// The formats that are made of a millisecond and much randomness share this one order with version 7.
#[cfg(feature = "std")]
#[inline]
pub(crate) fn claim_by(from: Source<'_>, count: u64) -> u64 {
    let unix_millis = from.clock.unix_millis().max(0) as u64;
    claim(&from.generators.millis, unix_millis, count)
}

/// Takes `count` places of the line and returns the first.
#[cfg(feature = "std")]
#[inline]
fn claim(line: &OwnLine, unix_millis: u64, count: u64) -> u64 {
    let now = unix_millis.min(LAST_MILLIS) << COUNTER_BITS;
    // Relaxed suffices: everybody changes this one word by read-modify-write, which has one order that agrees
    // with what threads otherwise know of each other.
    if line.0.load(Ordering::Relaxed) < now {
        return claim_in_new_millisecond(line, now, count);
    }
    line.0.fetch_add(count, Ordering::Relaxed)
}

#[cfg(feature = "std")]
#[cold]
#[inline(never)]
fn claim_in_new_millisecond(line: &OwnLine, now: u64, count: u64) -> u64 {
    let seed = u32::from_be_bytes(crate::entropy::random_array()) >> (32 - COUNTER_BITS + 1);
    let first = now | u64::from(seed);
    let mut seen = line.0.load(Ordering::Relaxed);
    while seen < now {
        match line
            .0
            .compare_exchange(seen, first + count, Ordering::Relaxed, Ordering::Relaxed)
        {
            Ok(_) => return first,
            Err(other) => seen = other,
        }
    }
    // Another thread began this millisecond.
    line.0.fetch_add(count, Ordering::Relaxed)
}

/// The id at a place of the process's order.
#[cfg(feature = "std")]
#[inline]
fn v7_from(place: u64, random: u64) -> Uuid {
    Uuid::from_u64_pair(
        high_of(place),
        0b10 << 62 | (place & 0xff) << 54 | random & RANDOM,
    )
}

/// Millisecond, version and the upper 12 bits of the counter.
#[cfg(feature = "std")]
#[inline]
fn high_of(place: u64) -> u64 {
    (place >> COUNTER_BITS) << 16 | 7 << 12 | place >> 8 & 0xfff
}

/// The 54 random bits. A mask, not a shift: the bytes then need not be turned around and back.
#[cfg(feature = "std")]
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
#[cfg(feature = "std")]
pub fn uuid7_at(time: Timestamp) -> Result<Uuid, UuidError> {
    uuid7_from(time, Precision::Millis, crate::entropy::random_array())
}

/// The UUID of version 7 of this time and these random bits; 74 of the 80 are used, or 62 with
/// [`Precision::Submilli`]. Touches no generator state.
///
/// # Errors
/// `time` lies before 1970 or past 10889-08-02T05:31:50.655999999Z.
///
/// ```
/// use mintage::{Precision, Timestamp, uuid7_from};
/// let random = [0x0c, 0xc3, 0x18, 0xc4, 0xdc, 0x0c, 0x0c, 0x07, 0x39, 0x8f];
/// let id = uuid7_from(Timestamp::from_unix_millis(1_645_557_742_000), Precision::Millis, random)?;
/// assert_eq!(id.to_string(), "017f22e2-79b0-7cc3-98c4-dc0c0c07398f"); // RFC 9562 appendix A.6
/// # Ok::<(), mintage::UuidError>(())
/// ```
pub fn uuid7_from(time: Timestamp, precision: Precision, random: [u8; 10]) -> Result<Uuid, UuidError> {
    let millis = match u64::try_from(time.unix_millis()) {
        Ok(millis) if millis <= MILLIS_MAX => millis,
        _ => {
            let last = Timestamp::from_unix_nanos((i128::from(MILLIS_MAX) + 1) * 1_000_000 - 1);
            return Err(UuidError::Time {
                time,
                first: Timestamp::UNIX_EPOCH,
                last,
            });
        }
    };
    let [a, b, rest @ ..] = random;
    let rand_a = match precision {
        Precision::Millis => u64::from(u16::from_be_bytes([a, b]) & 0xfff),
        Precision::Submilli => fraction_of(time),
    };
    let high = millis << 16 | rand_a;
    Ok(super::stamp(
        u128::from(high) << 64 | u128::from(u64::from_be_bytes(rest)),
        7,
    ))
}

/// How much of the time a version 7 UUID holds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Precision {
    /// Whole milliseconds.
    #[default]
    Millis,
    /// Milliseconds and, in rand_a, 12 bits of fraction: steps of 244 ns (RFC 9562 section 6.2, method 3).
    Submilli,
}

/// The 4096ths of the millisecond that have passed at `time`.
fn fraction_of(time: Timestamp) -> u64 {
    (time.unix_nanos().rem_euclid(1_000_000) as u64 * 4096) / 1_000_000
}

/// Makes version 7 UUIDs from a clock and an entropy source of your choice; no state outside itself.
///
/// Strictly increasing per generator, with a counter of 26 bits (25 of them seeded at random in every
/// millisecond) and 48 fresh random bits. A full counter carries into the millisecond, at most `max_ahead`
/// ahead of the clock; a clock that goes back is held. After `fork` parent and child share clock and counter,
/// so the entropy must differ ([`SystemEntropy`](crate::SystemEntropy) does).
///
/// ```
/// use mintage::{FixedClock, SystemEntropy, Timestamp, V7Generator};
/// let clock = FixedClock(Timestamp::from_unix_millis(1_645_557_742_000));
/// let mut generator = V7Generator::new(clock, SystemEntropy);
/// let (a, b) = (generator.next_id()?, generator.next_id()?);
/// assert!(a < b);
/// assert!(a.to_string().starts_with("017f22e2-79b0-7"));
/// # Ok::<(), mintage::MintError>(())
/// ```
#[derive(Clone)]
pub struct V7Generator<C, E> {
    clock: C,
    entropy: E,
    max_ahead_ms: u64,
    precision: Precision,
    /// `unix_ms << 26 | counter` of the next id, if its millisecond is still the last one.
    next: u128,
}

impl<C: Clock, E: Entropy> V7Generator<C, E> {
    /// A generator on `clock` and `entropy` that runs at most 10 s ahead of the clock.
    pub const fn new(clock: C, entropy: E) -> Self {
        V7Generator {
            clock,
            entropy,
            max_ahead_ms: 10_000,
            precision: Precision::Millis,
            next: 0,
        }
    }

    /// Sets how far ids may run ahead of the clock when it goes back or the counter is full; whole
    /// milliseconds.
    #[must_use]
    pub const fn max_ahead(mut self, max_ahead: Duration) -> Self {
        let ms = max_ahead.as_millis();
        self.max_ahead_ms = if ms > u64::MAX as u128 {
            u64::MAX
        } else {
            ms as u64
        };
        self
    }

    /// Sets how much of the time the ids hold. With [`Precision::Submilli`] 12 of the counter's 26 bits hold
    /// the fraction of the millisecond; order and uniqueness are the same.
    #[must_use]
    pub const fn precision(mut self, precision: Precision) -> Self {
        self.precision = precision;
        self
    }

    /// The next UUID.
    ///
    /// # Errors
    /// The clock stands before 1970 ([`MintError::BeforeEpoch`]) or past the year 10889
    /// ([`MintError::TimeFieldFull`]), or the next id would lie more than `max_ahead` ahead of it
    /// ([`MintError::TooFarAhead`], in milliseconds).
    #[inline]
    pub fn next_id(&mut self) -> Result<Uuid, MintError> {
        let (place, _) = self.places(1)?;
        let mut random = [0; 8];
        self.entropy.fill(&mut random);
        Ok(own_v7_from(place, u64::from_be_bytes(random)))
    }

    /// Fills the front of `out`, with one clock reading, and returns how many ids it holds: all, or fewer where
    /// `max_ahead` ends.
    ///
    /// # Errors
    /// As [`Self::next_id`], if not even one id can be made.
    pub fn fill(&mut self, out: &mut [Uuid]) -> Result<usize, MintError> {
        if out.is_empty() {
            return Ok(0);
        }
        let (mut place, made) = self.places(out.len())?;
        let mut random = [0; 64 * 8];
        for piece in out[..made].chunks_mut(64) {
            let random = &mut random[..piece.len() * 8];
            self.entropy.fill(random);
            for (id, random) in piece.iter_mut().zip(random.as_chunks().0) {
                *id = own_v7_from(place, u64::from_be_bytes(*random));
                place += 1;
            }
        }
        Ok(made)
    }

    /// Takes up to `want` places and returns the first and how many; a new tick starts at random in the lower
    /// half of its counter.
    fn places(&mut self, want: usize) -> Result<(u128, usize), MintError> {
        let (millis, fraction, seed_bits) = match self.precision {
            Precision::Millis => (self.clock.unix_millis(), 0, OWN_COUNTER_BITS - 1),
            // The fraction takes the counter's upper 12 bits and leaves it 14.
            Precision::Submilli => {
                let time = self.clock.now();
                (time.unix_millis(), fraction_of(time) << 14, 13)
            }
        };
        let now = u64::try_from(millis).map_err(|_| MintError::BeforeEpoch)?;
        let mut place = self.next;
        let first = u128::from(now) << OWN_COUNTER_BITS | u128::from(fraction);
        if place < first {
            let mut seed = [0; 4];
            self.entropy.fill(&mut seed);
            place = first | u128::from(u32::from_be_bytes(seed) >> (32 - seed_bits));
        }
        let millis = (place >> OWN_COUNTER_BITS) as u64;
        if millis > MILLIS_MAX {
            return Err(MintError::TimeFieldFull);
        }
        let reach = now.saturating_add(self.max_ahead_ms).min(MILLIS_MAX);
        if millis > reach {
            return Err(MintError::TooFarAhead {
                ticks: millis - reach,
            });
        }
        let left = ((u128::from(reach) + 1) << OWN_COUNTER_BITS) - place;
        let made = usize::try_from(left).map_or(want, |left| left.min(want));
        self.next = place + made as u128;
        Ok((place, made))
    }
}

impl<C: Clock, E: Entropy> Iterator for V7Generator<C, E> {
    type Item = Uuid;

    /// The next UUID; `None` where [`V7Generator::next_id`] gives an error.
    fn next(&mut self) -> Option<Uuid> {
        self.next_id().ok()
    }
}

impl<C, E> fmt::Debug for V7Generator<C, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("V7Generator")
            .field("max_ahead_ms", &self.max_ahead_ms)
            .finish_non_exhaustive()
    }
}

const OWN_COUNTER_BITS: u32 = 26;
const OWN_COUNTER_MAX: u64 = (1 << OWN_COUNTER_BITS) - 1;

/// The last millisecond of the 48-bit field: 10889-08-02T05:31:50.655Z.
pub(crate) const MILLIS_MAX: u64 = (1 << 48) - 1;

/// 12 bits of counter in rand_a, 14 below the variant, 48 random bits.
#[inline]
fn own_v7_from(place: u128, random: u64) -> Uuid {
    let counter = place as u64 & OWN_COUNTER_MAX;
    let millis = (place >> OWN_COUNTER_BITS) as u64;
    let high = millis << 16 | 7 << 12 | counter >> 14;
    let low = 0b10 << 62 | (counter & 0x3fff) << 48 | random >> 16;
    Uuid::from_u64_pair(high, low)
}

/// The millisecond in a version 7 UUID.
pub(crate) fn unix_millis_of(id: &Uuid) -> u64 {
    (id.as_u128() >> 80) as u64
}

#[cfg(test)]
mod tests {
    use core::cell::Cell;
    use std::collections::HashSet;
    use std::vec::Vec;

    use proptest::prelude::*;

    use super::*;
    use crate::entropy::Same;
    use crate::{FixedClock, SystemEntropy};

    /// A clock that a test moves.
    #[derive(Default)]
    struct Hand(Cell<i64>);

    impl Clock for Hand {
        fn now(&self) -> Timestamp {
            Timestamp::from_unix_millis(self.0.get())
        }
    }

    #[test]
    fn the_bits_are_where_rfc_9562_says() {
        let id = v7_from(1_645_557_742_000 << 20 | 0xabcde, u64::MAX);
        assert_eq!(id.to_string(), "017f22e2-79b0-7abc-b7bf-ffffffffffff");
        let id = own_v7_from(1_645_557_742_000 << 26 | 0x2ab_cdef, 0);
        assert_eq!(id.to_string(), "017f22e2-79b0-7aaf-8def-000000000000");
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
        let mut all: Vec<Uuid> = std::thread::scope(|scope| {
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
                        assert!(mine.is_sorted_by(|a, b| a < b));
                        mine
                    })
                })
                .collect();
            threads
                .into_iter()
                .flat_map(|t| t.join().expect("no panic"))
                .collect()
        });
        let total = all.len();
        // Time and counter alone are unique, without the random bits.
        let places: HashSet<u128> = all.iter().map(|id| id.as_u128() >> 54).collect();
        assert_eq!(places.len(), total);
        all.sort_unstable();
        assert!(all.iter().all(|id| id.get_version_num() == 7));
    }

    #[test]
    fn the_process_holds_a_clock_that_goes_back() {
        let now = crate::tsc::unix_millis();
        let mut last = claim(&PROCESS.millis, now, 1);
        for back in [0, 1, 1000, 3_600_000, now] {
            for count in [1, 500] {
                let place = claim(&PROCESS.millis, now - back, count);
                assert!(place > last, "{back} ms back");
                last = place + count - 1;
            }
        }
    }

    #[test]
    fn a_carried_batch_stays_in_order() {
        let mut ids = std::vec![Uuid::nil(); (1 << COUNTER_BITS) + 5];
        uuid7_many(&mut ids);
        assert!(ids.is_sorted_by(|a, b| a < b));
        assert!(uuid7() > ids[ids.len() - 1]);
    }

    #[test]
    fn a_clock_that_goes_back_is_held_within_max_ahead() {
        let clock = Hand::default();
        clock.0.set(10_000_000);
        let mut generator = V7Generator::new(&clock, SystemEntropy).max_ahead(Duration::from_secs(3600));
        let mut last = generator.next_id().expect("an id");
        for back in [1, 1000, 3_600_000] {
            clock.0.set(10_000_000 - back);
            let id = generator.next_id().expect("within max_ahead");
            assert!(id > last);
            assert_eq!(unix_millis_of(&id), 10_000_000);
            last = id;
        }
        clock.0.set(10_000_000 - 3_600_007);
        assert_eq!(generator.next_id(), Err(MintError::TooFarAhead { ticks: 7 }));
        clock.0.set(10_000_001);
        assert!(generator.next_id().expect("an id") > last);
    }

    /// A clock that tells any time at all, a new one every time.
    struct Any(Cell<usize>, Vec<i128>);

    impl Clock for Any {
        fn now(&self) -> Timestamp {
            let i = self.0.replace(self.0.get() + 1);
            Timestamp::from_unix_nanos(self.1[i % self.1.len()])
        }
    }

    proptest! {
        #[test]
        fn any_clock_gives_increasing_ids_or_errors(
            times in prop::collection::vec(prop_oneof![any::<i128>(), 0i128..20_000_000_000], 1..40),
            ahead in 0u64..30, submilli: bool, batch in 1usize..20,
        ) {
            let precision = if submilli { Precision::Submilli } else { Precision::Millis };
            let steps = times.len();
            let clock = Any(Cell::new(0), times);
            let mut generator = V7Generator::new(&clock, SystemEntropy).precision(precision);
            generator = generator.max_ahead(Duration::from_millis(ahead));
            let mut last = Uuid::nil();
            let mut out = [Uuid::nil(); 20];
            for step in 0..steps {
                let now = clock.1[clock.0.get() % clock.1.len()].div_euclid(1_000_000);
                let made = if step % 2 == 0 {
                    generator.next_id().map(|id| { out[0] = id; 1 })
                } else {
                    generator.fill(&mut out[..batch])
                };
                for id in &out[..made.unwrap_or(0)] {
                    prop_assert!(*id > last && id.get_version_num() == 7);
                    prop_assert!(i128::from(unix_millis_of(id)) <= now + i128::from(ahead));
                    prop_assert!(i128::from(unix_millis_of(id)) >= now);
                    last = *id;
                }
            }
        }
    }

    #[test]
    fn counter_overflow_moves_time_forward() {
        let clock = FixedClock(Timestamp::from_unix_millis(5));
        let mut generator = V7Generator::new(clock, Same(0xff));
        let first = generator.next_id().expect("an id");
        assert_eq!(
            first.as_u128() >> 48 & 0x3fff,
            0x3fff,
            "seeded with the top bit clear"
        );
        generator.next = 5 << OWN_COUNTER_BITS | u128::from(OWN_COUNTER_MAX);
        let ids: Vec<Uuid> = generator.by_ref().take(2).collect();
        assert_eq!([unix_millis_of(&ids[0]), unix_millis_of(&ids[1])], [5, 6]);
        assert!(first < ids[0] && ids[0] < ids[1]);
        let mut strict = V7Generator::new(clock, Same(0)).max_ahead(Duration::ZERO);
        strict.next = 5 << OWN_COUNTER_BITS | u128::from(OWN_COUNTER_MAX);
        let mut out = [Uuid::nil(); 3];
        assert_eq!(strict.fill(&mut out), Ok(1));
        assert_eq!(strict.fill(&mut out), Err(MintError::TooFarAhead { ticks: 1 }));
    }

    #[test]
    fn submilliseconds_are_the_rfcs_fraction_and_keep_the_order() {
        // RFC 9562 section 6.2: 0.4567 ms in 12 bits is 0x74e.
        let time = Timestamp::from_unix_nanos(7_456_700);
        let id = uuid7_from(time, Precision::Submilli, [0; 10]).expect("in range");
        assert_eq!(id.as_u128() >> 64, 7 << 16 | 7 << 12 | 0x74e);
        let clock = FixedClock(time);
        let generator = V7Generator::new(clock, SystemEntropy).precision(Precision::Submilli);
        let ids: Vec<Uuid> = generator.take(100_000).collect();
        assert!(ids.is_sorted_by(|a, b| a < b));
        assert_eq!(ids[0].as_u128() >> 64, id.as_u128() >> 64);
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

    #[test]
    fn both_ends_of_time_are_errors_and_not_wraps() {
        let at = |ms| V7Generator::new(FixedClock(Timestamp::from_unix_millis(ms)), Same(0)).next_id();
        assert_eq!(at(-1), Err(MintError::BeforeEpoch));
        assert_eq!(at(0).expect("an id").as_u128() >> 80, 0);
        assert_eq!(unix_millis_of(&at(MILLIS_MAX as i64).expect("an id")), MILLIS_MAX);
        assert_eq!(at(MILLIS_MAX as i64 + 1), Err(MintError::TimeFieldFull));
        assert_eq!(at(i64::MAX), Err(MintError::TimeFieldFull));
    }
}
