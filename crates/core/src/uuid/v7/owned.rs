//! Version 7 from a clock and an entropy source of the caller's.

use core::fmt;
use core::time::Duration;

use ::uuid::Uuid;

use super::{MILLIS_MAX, Precision, fraction_of};
use crate::time::Clock;
use crate::word::{Reach, seeded};
use crate::{Entropy, MintError};

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
        Ok(v7_from(place, u64::from_be_bytes(random)))
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
                *id = v7_from(place, u64::from_be_bytes(*random));
                place += 1;
            }
        }
        Ok(made)
    }

    /// Takes up to `want` places and returns the first and how many; a new tick starts at random in the lower
    /// half of its counter.
    fn places(&mut self, want: usize) -> Result<(u128, usize), MintError> {
        let (millis, fraction, seed_bits) = match self.precision {
            Precision::Millis => (self.clock.unix_millis(), 0, COUNTER_BITS - 1),
            // The fraction takes the counter's upper 12 bits and leaves it 14.
            Precision::Submilli => {
                let time = self.clock.now();
                (time.unix_millis(), fraction_of(time) << 14, 13)
            }
        };
        let reach = Reach {
            now: u64::try_from(millis).map_err(|_| MintError::BeforeEpoch)?,
            max_ahead: self.max_ahead_ms,
            last: MILLIS_MAX,
        };
        let mut places = reach.places(COUNTER_BITS);
        places.start |= u128::from(fraction);
        let entropy = &mut self.entropy;
        let taken = seeded::take_up_to(&mut self.next, places, want as u64, || {
            let mut seed = [0; 4];
            entropy.fill(&mut seed);
            u64::from(u32::from_be_bytes(seed) >> (32 - seed_bits))
        });
        match taken {
            Ok((first, count)) => Ok((first, count as usize)),
            Err(place) => Err(reach.refusal((place >> COUNTER_BITS) as u64)),
        }
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

const COUNTER_BITS: u32 = 26;
const COUNTER_MAX: u64 = (1 << COUNTER_BITS) - 1;

/// 12 bits of counter in rand_a, 14 below the variant, 48 random bits.
#[inline]
fn v7_from(place: u128, random: u64) -> Uuid {
    let counter = place as u64 & COUNTER_MAX;
    let millis = (place >> COUNTER_BITS) as u64;
    let high = millis << 16 | 7 << 12 | counter >> 14;
    let low = 0b10 << 62 | (counter & 0x3fff) << 48 | random >> 16;
    Uuid::from_u64_pair(high, low)
}

#[cfg(test)]
mod tests {
    use core::cell::Cell;
    use std::vec::Vec;

    use mintage_testing::{invariant, rising};
    use proptest::prelude::*;

    use super::*;
    use crate::entropy::Same;
    use crate::uuid::v7::{unix_millis_of, uuid7_from};
    use crate::{FixedClock, SystemEntropy, Timestamp};

    #[test]
    fn the_bits_are_where_rfc_9562_says() {
        let id = v7_from(1_645_557_742_000 << 26 | 0x2ab_cdef, 0);
        assert_eq!(id.to_string(), "017f22e2-79b0-7aaf-8def-000000000000");
    }

    /// A clock that a test moves.
    #[derive(Default)]
    struct Hand(Cell<i64>);

    impl Clock for Hand {
        fn now(&self) -> Timestamp {
            Timestamp::from_unix_millis(self.0.get())
        }
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
            invariant!(id > last, "{id} after {last}");
            assert_eq!(unix_millis_of(&id), 10_000_000);
            last = id;
        }
        clock.0.set(10_000_000 - 3_600_007);
        assert_eq!(generator.next_id(), Err(MintError::TooFarAhead { ticks: 7 }));
        clock.0.set(10_000_001);
        rising("ids", [last, generator.next_id().expect("an id")]);
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
                    invariant!(*id > last, "{id} after {last}");
                    prop_assert_eq!(id.get_version_num(), 7);
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
        generator.next = 5 << COUNTER_BITS | u128::from(COUNTER_MAX);
        let ids: Vec<Uuid> = generator.by_ref().take(2).collect();
        assert_eq!([unix_millis_of(&ids[0]), unix_millis_of(&ids[1])], [5, 6]);
        rising("ids", [first, ids[0], ids[1]]);
        let mut strict = V7Generator::new(clock, Same(0)).max_ahead(Duration::ZERO);
        strict.next = 5 << COUNTER_BITS | u128::from(COUNTER_MAX);
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
        rising("ids", &ids);
        assert_eq!(ids[0].as_u128() >> 64, id.as_u128() >> 64);
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
