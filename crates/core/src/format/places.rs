//! Where a generator stands: a tick and a counter in one number.

#[cfg(feature = "std")]
pub(crate) use process::{ForkGuard, Line, Own};

use core::time::Duration;

use super::TimeShape;
use crate::time::Clock;
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
            max_ahead: ticks_in(MAX_AHEAD, time.tick),
            next: 0,
        }
    }

    pub(crate) fn set_max_ahead(&mut self, max_ahead: Duration) {
        self.max_ahead = ticks_in(max_ahead, Duration::from_nanos(self.ticks.tick_ns));
    }

    /// The next place: tick and counter.
    pub(crate) fn take(&mut self) -> Result<(u64, u64), MintError> {
        let (place, _) = self.take_many(1)?;
        Ok(self.split(place))
    }

    /// Takes up to `want` places and returns the first and how many: fewer where `max_ahead` or time ends.
    pub(crate) fn take_many(&mut self, want: usize) -> Result<(u128, usize), MintError> {
        let now = self.ticks.now(&self.clock)?;
        let mut place = self.next;
        if place >> self.counter_bits < u128::from(now) {
            let mut seed = [0; 8];
            self.entropy.fill(&mut seed);
            let seed = u64::from_be_bytes(seed) & crate::layout::ones(self.seed_bits);
            place = u128::from(now) << self.counter_bits | u128::from(seed);
        }
        let (tick, _) = self.split(place);
        let last = self.ticks.last;
        if tick > last {
            return Err(MintError::TimeFieldFull);
        }
        let reach = now.saturating_add(self.max_ahead).min(last);
        if tick > reach {
            return Err(MintError::TooFarAhead { ticks: tick - reach });
        }
        let left = ((u128::from(reach) + 1) << self.counter_bits) - place;
        let made = usize::try_from(left).map_or(want, |left| left.min(want));
        self.next = place + made as u128;
        Ok((place, made))
    }

    /// Tick and counter of a place.
    pub(crate) fn split(&self, place: u128) -> (u64, u64) {
        let counter = place as u64 & crate::layout::ones(self.counter_bits);
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

/// How far ids may run ahead of the clock unless the caller says otherwise.
const MAX_AHEAD: Duration = Duration::from_secs(10);

/// Whole ticks in `span`, at least 2.
const fn ticks_in(span: Duration, tick: Duration) -> u64 {
    let ticks = span.as_nanos() / tick.as_nanos();
    if ticks < 2 {
        2
    } else if ticks > u64::MAX as u128 {
        u64::MAX
    } else {
        ticks as u64
    }
}

#[cfg(feature = "std")]
mod process {
    use core::sync::atomic::{AtomicU64, Ordering};

    use super::{MAX_AHEAD, Ticks, ticks_in};
    use crate::format::TimeShape;
    use crate::time::Clock;
    use crate::uuid::v7::OwnLine;
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
            Line {
                word: OwnLine(AtomicU64::new(0)),
                ticks: Ticks::of(shape),
                counter_bits,
                seed_bits,
                max_ahead: ticks_in(MAX_AHEAD, shape.tick),
            }
        }

        /// Takes `count` places now and returns the first.
        #[inline]
        pub(crate) fn claim(&self, clock: &(impl Clock + ?Sized), count: u64) -> Result<u64, MintError> {
            self.claim_at(self.ticks.now(clock)?, count, self.max_ahead)
        }

        pub(crate) fn word(&self) -> &OwnLine {
            &self.word
        }

        pub(super) fn claim_at(&self, now: u64, count: u64, max_ahead: u64) -> Result<u64, MintError> {
            let bits = self.counter_bits;
            let begin = now << bits;
            // One past the last place within reach.
            let end = now.saturating_add(max_ahead).saturating_add(1) << bits;
            let mut seen = self.word.0.load(Ordering::Relaxed);
            loop {
                let first = if seen < begin {
                    let random: [u8; 4] = crate::entropy::random_array();
                    let seed = u32::from_be_bytes(random) & ((1u32 << self.seed_bits) - 1);
                    begin | u64::from(seed)
                } else {
                    seen
                };
                let next = first.checked_add(count).filter(|next| *next <= end);
                let Some(next) = next else {
                    return Err(MintError::TooFarAhead {
                        ticks: (first.saturating_add(count).saturating_sub(end) >> bits).max(1),
                    });
                };
                // Relaxed suffices: this one word is changed by read-modify-write alone.
                match self
                    .word
                    .0
                    .compare_exchange_weak(seen, next, Ordering::Relaxed, Ordering::Relaxed)
                {
                    Ok(_) => return Ok(first),
                    Err(other) => seen = other,
                }
            }
        }
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

        use super::*;

        const MILLIS: TimeShape = TimeShape::new(Duration::from_millis(1), 0, 1 << 40, 3);

        #[test]
        fn threads_share_one_strict_order_whatever_the_clock_does() {
            let line = Line::new(&MILLIS, 8, 7);
            let mut all: Vec<u64> = std::thread::scope(|scope| {
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
                            assert!(mine.is_sorted_by(|a, b| a < b));
                            mine
                        })
                    })
                    .collect();
                threads
                    .into_iter()
                    .flat_map(|thread| thread.join().expect("no panic"))
                    .collect()
            });
            let total = all.len();
            assert!(total > 20_000);
            all.sort_unstable();
            all.dedup();
            assert_eq!(all.len(), total);
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
        fn a_process_keeps_its_own_number() {
            let owns: Vec<Own> = (0..8).map(|_| Own::new()).collect();
            let values: HashSet<u64> = owns.iter().map(Own::get).collect();
            assert_eq!(values.len(), 8);
            assert!(owns.iter().all(|own| values.contains(&own.get())));
        }
    }
}
