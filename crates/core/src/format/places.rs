//! Where a generator stands: a tick and a counter in one number.

#[cfg(feature = "std")]
pub(crate) use process::{ForkGuard, Line, Own};

use core::time::Duration;

use super::TimeShape;
use crate::layout::ones;
use crate::time::Clock;
use crate::word::{Reach, seeded, ticks_in};
use crate::{Entropy, MintError};

/// The places of an owned generator: `tick << counter_bits | counter`, every one given out once, in order.
///
/// A new tick starts its counter at `seed_bits` random bits; a full counter carries into the tick; a clock that
/// goes back is held. Both at most `max_ahead` ahead of the clock.
#[derive(Clone)]
pub(crate) struct Places<C, E> {
    clock: C,
    pub(crate) entropy: E,
    ticks: Ticks,
    counter_bits: u32,
    seed_bits: u32,
    /// In ticks.
    max_ahead: u64,
    next: u128,
}

impl<C: Clock, E: Entropy> Places<C, E> {
    /// Ten seconds ahead of the clock at most, and at least two ticks.
    pub(crate) fn new(clock: C, entropy: E, time: TimeShape, counter_bits: u32, seed_bits: u32) -> Self {
        debug_assert!(seed_bits <= counter_bits && counter_bits <= 64);
        Places {
            clock,
            entropy,
            ticks: Ticks::of(&time),
            counter_bits,
            seed_bits,
            max_ahead: ticks_in(Reach::MAX_AHEAD, time.tick, AHEAD_LEAST),
            next: 0,
        }
    }

    pub(crate) fn set_max_ahead(&mut self, max_ahead: Duration) {
        self.max_ahead = ticks_in(max_ahead, Duration::from_nanos(self.ticks.tick_ns), AHEAD_LEAST);
    }

    /// The next place: tick and counter.
    pub(crate) fn take(&mut self) -> Result<(u64, u64), MintError> {
        let (place, _) = self.take_many(1)?;
        Ok(self.split(place))
    }

    /// Fills the front of `out` with what `make` makes of tick, counter and entropy, with one clock reading, and returns
    /// how many it holds: fewer than all where `max_ahead` or time ends.
    pub(crate) fn fill<T>(
        &mut self,
        out: &mut [T],
        make: impl Fn(u64, u64, &mut E) -> T,
    ) -> Result<usize, MintError> {
        if out.is_empty() {
            return Ok(0);
        }
        let (first, made) = self.take_many(out.len())?;
        for (place, id) in (first..).zip(&mut out[..made]) {
            let (tick, counter) = self.split(place);
            *id = make(tick, counter, &mut self.entropy);
        }
        Ok(made)
    }

    /// Takes up to `want` places and returns the first and how many: fewer where `max_ahead` or time ends.
    fn take_many(&mut self, want: usize) -> Result<(u128, usize), MintError> {
        let reach = Reach {
            now: self.ticks.now(&self.clock)?,
            max_ahead: self.max_ahead,
            last: self.ticks.last,
        };
        let (entropy, seed_bits) = (&mut self.entropy, self.seed_bits);
        let places = reach.places::<u128>(self.counter_bits);
        let taken = seeded::take_up_to(&mut self.next, places, want as u64, || {
            let mut seed = [0; 8];
            entropy.fill(&mut seed);
            u64::from_be_bytes(seed) & ones(seed_bits)
        });
        match taken {
            Ok((first, count)) => Ok((first, count as usize)),
            Err(place) => Err(reach.refusal(self.split(place).0)),
        }
    }

    /// Tick and counter of a place.
    fn split(&self, place: u128) -> (u64, u64) {
        let counter = place as u64 & ones(self.counter_bits);
        ((place >> self.counter_bits) as u64, counter)
    }
}

/// A [`TimeShape`] as 64-bit numbers: a generator must not divide 128 bits for every id.
#[derive(Clone, Copy, Debug)]
struct Ticks {
    first_ns: i128,
    first_ms: i64,
    tick_ns: u64,
    /// Milliseconds of a tick; 0 if it is no whole number of them.
    tick_ms: u64,
    /// The last tick.
    last: u64,
}

impl Ticks {
    const fn of(shape: &TimeShape) -> Self {
        let (first_ns, tick_ns) = (shape.first.unix_nanos(), shape.tick.as_nanos() as u64);
        let whole = tick_ns.is_multiple_of(1_000_000) && first_ns % 1_000_000 == 0;
        let last = shape.ticks() - 1;
        Ticks {
            first_ns,
            first_ms: (first_ns / 1_000_000) as i64,
            tick_ns,
            tick_ms: if whole { tick_ns / 1_000_000 } else { 0 },
            last: if last > u64::MAX as u128 {
                u64::MAX
            } else {
                last as u64
            },
        }
    }

    /// The tick that the clock shows.
    #[inline]
    fn now(&self, clock: &(impl Clock + ?Sized)) -> Result<u64, MintError> {
        let tick = if self.tick_ns == 1000 && self.first_ns == 0 {
            u64::try_from(clock.unix_ticks()).map_err(|_| MintError::BeforeEpoch)? / 10
        } else if self.tick_ms == 0 {
            let since = clock.now().unix_nanos().saturating_sub(self.first_ns);
            let since = u128::try_from(since).map_err(|_| MintError::BeforeEpoch)?;
            match u64::try_from(since) {
                Ok(since) => since / self.tick_ns,
                Err(_) => u64::try_from(since / u128::from(self.tick_ns)).unwrap_or(u64::MAX),
            }
        } else {
            self.of_millis(clock.unix_millis())?
        };
        if tick > self.last {
            return Err(MintError::TimeFieldFull);
        }
        Ok(tick)
    }

    #[inline]
    fn of_millis(&self, millis: i64) -> Result<u64, MintError> {
        let since = millis
            .checked_sub(self.first_ms)
            .and_then(|since| u64::try_from(since).ok());
        let since = since.ok_or(MintError::BeforeEpoch)?;
        // The common ticks are constants: dividing by a variable costs as much as the rest.
        Ok(match self.tick_ms {
            1 => since,
            1000 => since / 1000,
            tick => since / tick,
        })
    }
}

/// The fewest ticks ahead of the clock: one may be nearly over when it begins.
const AHEAD_LEAST: u64 = 2;

#[cfg(feature = "std")]
mod process {
    use core::sync::atomic::{AtomicU64, Ordering};

    use super::{AHEAD_LEAST, Ticks};
    use crate::format::TimeShape;
    use crate::layout::ones;
    use crate::time::Clock;
    use crate::word::{OwnLine, Reach, seeded, ticks_in};
    use crate::{MintError, SystemEntropy};

    /// The places of one set of generators: `tick << counter_bits | counter` in one word, every one given out once,
    /// in order over all threads. Rules as [`super::Places`]; a forked child goes on from its parent's word, so
    /// whatever else is in the id must differ.
    pub(crate) struct Line {
        word: OwnLine,
        ticks: Ticks,
        counter_bits: u32,
        seed_bits: u32,
        /// In ticks.
        max_ahead: u64,
    }

    impl Line {
        pub(crate) const fn new(shape: &TimeShape, counter_bits: u32, seed_bits: u32) -> Self {
            assert!(seed_bits <= counter_bits && counter_bits < 32);
            let mut ticks = Ticks::of(shape);
            // A tick that the word has no room for is the end of time.
            let room = (u64::MAX >> counter_bits) - 1;
            if ticks.last > room {
                ticks.last = room;
            }
            Line {
                word: OwnLine(AtomicU64::new(0)),
                ticks,
                counter_bits,
                seed_bits,
                max_ahead: ticks_in(Reach::MAX_AHEAD, shape.tick, AHEAD_LEAST),
            }
        }

        /// Takes `count` places now and returns the first.
        #[inline]
        pub(crate) fn claim(&self, clock: &(impl Clock + ?Sized), count: u64) -> Result<u64, MintError> {
            self.claim_at(self.now(clock)?, count, self.max_ahead)
        }

        /// The tick that the clock shows.
        #[inline]
        pub(crate) fn now(&self, clock: &(impl Clock + ?Sized)) -> Result<u64, MintError> {
            self.ticks.now(clock)
        }

        /// Takes up to `want` places of one tick, of which the caller has the low `width` bits, and returns the first
        /// and how many. One word for all widths: every caller sees its own of it, strictly increasing.
        pub(crate) fn claim_in_tick(&self, now: u64, want: u64, width: u32) -> Result<(u64, u64), MintError> {
            let (bits, reach) = (self.counter_bits, self.reach(now, self.max_ahead));
            let seed = || random(width - 1);
            seeded::take_in_tick(&self.word.0, reach.places(bits), (bits, width), want, seed)
                .map_err(|place| reach.refusal(place >> bits))
        }

        pub(crate) fn word(&self) -> &OwnLine {
            &self.word
        }

        #[inline]
        pub(super) fn claim_at(&self, now: u64, count: u64, max_ahead: u64) -> Result<u64, MintError> {
            let bits = self.counter_bits;
            let places = self.reach(now, max_ahead).places(bits);
            let end = places.end;
            let seed = || random(self.seed_bits);
            seeded::take_all(&self.word.0, places, count, seed).map_err(|place| MintError::TooFarAhead {
                ticks: (place.saturating_add(count).saturating_sub(end) >> bits).max(1),
            })
        }

        #[inline]
        fn reach(&self, now: u64, max_ahead: u64) -> Reach {
            Reach {
                now,
                max_ahead,
                last: self.ticks.last,
            }
        }
    }

    /// That many random bits, at most 32.
    #[inline]
    fn random(bits: u32) -> u64 {
        u64::from(u32::from_be_bytes(crate::entropy::random_array())) & ones(bits)
    }

    /// Refuses a forked child what would repeat its parent's ids: a worker of the caller's, and the parent's
    /// word to count on from.
    pub(crate) struct ForkGuard {
        /// The fork generation of the first check; zero before it.
        made_in: AtomicU64,
    }

    impl ForkGuard {
        pub(crate) const fn new() -> Self {
            ForkGuard {
                made_in: AtomicU64::new(0),
            }
        }

        /// Refuses if the first check was made in another process.
        pub(crate) fn check(&self) -> Result<(), MintError> {
            let generation = crate::fork::fork_generation();
            match self
                .made_in
                .compare_exchange(0, generation, Ordering::AcqRel, Ordering::Acquire)
            {
                Err(first) if first != generation => Err(MintError::Forked),
                _ => Ok(()),
            }
        }
    }

    /// A random number of this process: drawn at first use, and again in a forked child.
    pub(crate) struct Own {
        value: AtomicU64,
        /// The fork generation that the value belongs to.
        generation: AtomicU64,
    }

    impl Own {
        pub(crate) const fn new() -> Self {
            Own {
                value: AtomicU64::new(0),
                generation: AtomicU64::new(0),
            }
        }

        /// 64 random bits.
        #[inline]
        pub(crate) fn get(&self) -> u64 {
            if self.generation.load(Ordering::Acquire) == crate::fork::fork_generation() {
                return self.value.load(Ordering::Relaxed);
            }
            self.draw()
        }

        /// Threads that come first together may see two values; both are random, and one stays.
        #[cold]
        fn draw(&self) -> u64 {
            let mut random = [0; 8];
            crate::Entropy::fill(&mut SystemEntropy, &mut random);
            let value = u64::from_be_bytes(random);
            self.value.store(value, Ordering::Relaxed);
            self.generation
                .store(crate::fork::fork_generation(), Ordering::Release);
            value
        }
    }

    #[cfg(test)]
    mod tests {
        use core::time::Duration;
        use std::collections::HashSet;

        use mintage_testing::{distinct, rising};

        use super::*;

        const MILLIS: TimeShape = TimeShape::new(Duration::from_millis(1), 0, 1 << 40, 3);

        #[test]
        fn threads_share_one_strict_order_whatever_the_clock_does() {
            let line = Line::new(&MILLIS, 8, 7);
            let all: Vec<u64> = std::thread::scope(|scope| {
                let threads: Vec<_> = (0..8u64)
                    .map(|thread| {
                        let line = &line;
                        scope.spawn(move || {
                            let mut mine = Vec::new();
                            for i in 0..2000u64 {
                                let now = 1000 + i / 10 - (i + thread) % 7;
                                let count = 1 + i % 3;
                                if let Ok(first) = line.claim_at(now, count, 1000) {
                                    mine.extend(first..first + count);
                                }
                            }
                            rising("places of a thread", &mine);
                            mine
                        })
                    })
                    .collect();
                threads
                    .into_iter()
                    .flat_map(|thread| thread.join().expect("no panic"))
                    .collect()
            });
            assert!(all.len() > 20_000);
            distinct("places", all);
        }

        #[test]
        fn a_full_tick_carries_and_stops_at_max_ahead() {
            let line = Line::new(&MILLIS, 4, 0);
            let mut places = Vec::new();
            let refused = loop {
                match line.claim_at(10, 1, 2) {
                    Ok(place) => places.push(place),
                    Err(error) => break error,
                }
            };
            assert_eq!(places, (10 << 4..13 << 4).collect::<Vec<u64>>());
            assert_eq!(refused, MintError::TooFarAhead { ticks: 1 });
            assert_eq!(line.claim_at(11, 1, 2), Ok(13 << 4));
            assert_eq!(line.claim_at(5, 1, 2), Err(MintError::TooFarAhead { ticks: 5 }));
        }

        #[test]
        fn a_tick_that_the_word_has_no_room_for_is_the_end_of_time() {
            let line = Line::new(&TimeShape::new(Duration::from_millis(1), 0, 1 << 50, 3), 31, 30);
            let last = (1 << 33) - 2;
            let at = |tick| crate::FixedClock(crate::Timestamp::from_unix_millis(tick));
            let place = line.claim(&at(last), 1).expect("the last tick");
            assert_eq!(place >> 31, last as u64);
            assert_eq!(line.claim(&at(last + 1), 1), Err(MintError::TimeFieldFull));
            assert!(matches!(
                line.claim(&at(last), 1 << 31),
                Err(MintError::TooFarAhead { .. })
            ));
        }

        #[test]
        fn a_process_keeps_its_own_number() {
            let owns: Vec<Own> = (0..8).map(|_| Own::new()).collect();
            let values: HashSet<u64> = owns.iter().map(Own::get).collect();
            assert_eq!(values.len(), 8);
            assert!(owns.iter().all(|own| values.contains(&own.get())));
        }
    }
}
