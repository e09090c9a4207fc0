//! Versions 1 and 6 from a clock of the caller's, and their state (RFC 9562 section 6.3): the last tick, the clock
//! sequence, the node.

use core::fmt;
use core::time::Duration;

use ::uuid::Uuid;

use super::TICK;
use crate::time::Clock;
use crate::uuid::{CLOCK_SEQ_MAX, GregorianTicks, Node, UuidError, v1, v6};
use crate::word::{Reach, seeded, ticks_in};
use crate::{Entropy, MintError};

/// What stable storage keeps of a version 1 generator (RFC 9562 section 6.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct V1State {
    /// A tick at or after every one used so far; storage may write it ahead.
    pub last: GregorianTicks,
    /// The clock sequence in use, at most [`CLOCK_SEQ_MAX`].
    pub clock_seq: u16,
    /// The node in use.
    pub node: Node,
}

/// Makes UUIDs of versions 1 and 6 from a clock of your choice, one tick each; no state outside itself.
///
/// Strictly increasing in time. It runs at most `max_ahead` (10 s) ahead of the clock: that is also what
/// remains of more than 10 million ids a second. A clock that goes back is held within `max_ahead`; further
/// back, the clock sequence goes up by one and the clock is followed, as the RFC has it.
///
/// ```
/// use mintage::{FixedClock, Node, SystemEntropy, Timestamp, V1Generator};
/// let clock = FixedClock(Timestamp::from_unix_millis(1_645_557_742_000));
/// let node = Node::random(&mut SystemEntropy);
/// let mut generator = V1Generator::new(clock, 0x33c8, node)?;
/// let (a, b) = (generator.next_v1()?, generator.next_v6()?);
/// assert!(a.to_string().starts_with("c232ab00-9414-11ec-b3c8-"));
/// assert!(b.to_string().starts_with("1ec9414c-232a-6b01-b3c8-")); // the next tick
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct V1Generator<C> {
    clock: C,
    /// The next free tick.
    next: u64,
    clock_seq: u16,
    node: Node,
    max_ahead: u64,
    /// How often the clock sequence may still change before values of it could come round again.
    changes_left: u16,
}

impl<C: Clock> V1Generator<C> {
    /// A generator that knows no past: `clock_seq` should be random.
    ///
    /// # Errors
    /// `clock_seq` is above [`CLOCK_SEQ_MAX`].
    pub fn new(clock: C, clock_seq: u16, node: Node) -> Result<Self, UuidError> {
        if clock_seq > CLOCK_SEQ_MAX {
            return Err(v1::clock_seq_too_large(clock_seq.into(), CLOCK_SEQ_MAX.into()));
        }
        let max_ahead = ticks_in(Reach::MAX_AHEAD, TICK, 0);
        Ok(V1Generator {
            clock,
            next: 0,
            clock_seq,
            node,
            max_ahead,
            changes_left: CLOCK_SEQ_MAX,
        })
    }

    /// A generator that goes on from what storage kept, by the rules of RFC 9562 section 6.3.
    ///
    /// Nothing kept, or another node: a random clock sequence. A kept tick later than the clock: the next
    /// clock sequence. Otherwise the kept clock sequence.
    ///
    /// # Errors
    /// The kept clock sequence is above [`CLOCK_SEQ_MAX`]: the state is damaged.
    pub fn resume(
        clock: C,
        kept: Option<V1State>,
        node: Node,
        entropy: &mut (impl Entropy + ?Sized),
    ) -> Result<Self, UuidError> {
        let clock_seq = match kept {
            Some(kept) if kept.node == node => {
                let went_back = GregorianTicks::floor(clock.now()).is_ok_and(|now| kept.last >= now);
                if went_back {
                    kept.clock_seq.wrapping_add(1) & CLOCK_SEQ_MAX
                } else {
                    kept.clock_seq
                }
            }
            _ => random_clock_seq(entropy),
        };
        Self::new(clock, clock_seq, node)
    }

    /// Sets how far ids may run ahead of the clock.
    #[must_use]
    pub fn max_ahead(mut self, max_ahead: Duration) -> Self {
        self.max_ahead = ticks_in(max_ahead, TICK, 0).min(u64::MAX >> 1);
        self
    }

    /// The next UUID of version 1.
    ///
    /// # Errors
    /// The clock stands outside 1582 to 5236, or ids would run too far ahead of it
    /// ([`MintError::TooFarAhead`], in ticks of 100 ns).
    pub fn next_v1(&mut self) -> Result<Uuid, MintError> {
        let tick = self.take()?;
        Ok(v1::pack(tick, v1::low_half(self.clock_seq, self.node)))
    }

    /// The next UUID of version 6 with this generator's clock sequence and node (the habit of version 1).
    ///
    /// # Errors
    /// As [`Self::next_v1`].
    pub fn next_v6(&mut self) -> Result<Uuid, MintError> {
        let tick = self.take()?;
        Ok(v6::pack(tick, v1::low_half(self.clock_seq, self.node)))
    }

    /// What to keep: the last tick used, or `None` before the first id.
    pub fn state(&self) -> Option<V1State> {
        let last = GregorianTicks::new(self.next.checked_sub(1)?).ok()?;
        Some(V1State {
            last,
            clock_seq: self.clock_seq,
            node: self.node,
        })
    }

    fn take(&mut self) -> Result<GregorianTicks, MintError> {
        let now = match GregorianTicks::floor(self.clock.now()) {
            Ok(now) => now.get(),
            Err(UuidError::Time { time, first, .. }) if time < first => return Err(MintError::BeforeEpoch),
            Err(_) => return Err(MintError::TimeFieldFull),
        };
        let reach = Reach {
            now,
            max_ahead: self.max_ahead,
            last: GregorianTicks::MAX.get(),
        };
        // A tick has one place: there is nothing to seed.
        let tick = match seeded::take_up_to(&mut self.next, reach.places(0), 1, || 0) {
            Ok((tick, _)) => tick,
            Err(tick) => {
                // Only a clock that went back lets another clock sequence help: running ahead by making ids is
                // the caller's own speed.
                let clock_went_back = tick > now.saturating_add(self.max_ahead) + 1;
                if !clock_went_back || self.changes_left == 0 {
                    return Err(reach.refusal(tick));
                }
                self.changes_left -= 1;
                self.clock_seq = (self.clock_seq + 1) & CLOCK_SEQ_MAX;
                self.next = now + 1;
                now
            }
        };
        Ok(GregorianTicks::from_bits(tick))
    }
}

impl<C> fmt::Debug for V1Generator<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("V1Generator")
            .field("clock_seq", &self.clock_seq)
            .field("node", &self.node)
            .finish_non_exhaustive()
    }
}

fn random_clock_seq(entropy: &mut (impl Entropy + ?Sized)) -> u16 {
    let mut octets = [0; 2];
    entropy.fill(&mut octets);
    u16::from_be_bytes(octets) & CLOCK_SEQ_MAX
}

#[cfg(test)]
mod tests {
    use core::cell::Cell;
    use std::collections::HashSet;

    use mintage_testing::Distinct;
    use proptest::prelude::*;

    use super::*;
    use crate::{SystemEntropy, Timestamp};

    /// A clock that a test moves, in ticks.
    struct Hand(Cell<u64>);

    impl Clock for &Hand {
        fn now(&self) -> Timestamp {
            GregorianTicks::new(self.0.get())
                .expect("a test stays in range")
                .time()
        }
    }

    const NODE: Node = Node::from_octets([1, 2, 3, 4, 5, 6]);
    const HOUR: u64 = 3600 * 10_000_000;

    fn at(tick: u64) -> Hand {
        Hand(Cell::new(tick))
    }

    #[test]
    fn every_id_takes_a_tick_of_its_own() {
        let clock = at(HOUR);
        let mut generator = V1Generator::new(&clock, 7, NODE).expect("7 fits");
        let ticks: std::vec::Vec<u64> = (0..5)
            .map(|_| v1::ticks_of(&generator.next_v1().expect("an id")).get() - HOUR)
            .collect();
        assert_eq!(ticks, [0, 1, 2, 3, 4]);
        assert_eq!(generator.state().map(|s| s.last.get()), Some(HOUR + 4));
    }

    #[test]
    fn a_small_step_back_is_held_and_a_large_one_changes_the_clock_sequence() {
        let clock = at(2 * HOUR);
        let mut generator = V1Generator::new(&clock, CLOCK_SEQ_MAX, NODE).expect("it fits");
        let seq = |id: Uuid| (id.as_u128() >> 48) as u16 & CLOCK_SEQ_MAX;
        let mut seen = Distinct::of("ids");
        seen.add(generator.next_v1().expect("an id"));
        for (back, expected) in [(10_000, CLOCK_SEQ_MAX), (10_000_000, CLOCK_SEQ_MAX), (HOUR, 0)] {
            clock.0.set(2 * HOUR - back);
            let id = generator.next_v1().expect("an id");
            assert_eq!(seq(id), expected);
            seen.add(id);
        }
    }

    #[test]
    fn the_clock_sequence_never_comes_round() {
        let clock = at(0);
        let mut generator = V1Generator::new(&clock, 5, NODE).expect("5 fits");
        let mut seen = Distinct::of("ids");
        for _ in 0..=CLOCK_SEQ_MAX {
            clock.0.set(HOUR);
            seen.add(generator.next_v1().expect("an id"));
            clock.0.set(0);
            seen.extend(generator.next_v1());
        }
        clock.0.set(0);
        assert!(matches!(generator.next_v1(), Err(MintError::TooFarAhead { .. })));
    }

    /// A clock that tells any time at all.
    struct Any(Cell<i128>);

    impl Clock for &Any {
        fn now(&self) -> Timestamp {
            Timestamp::from_unix_nanos(self.0.get())
        }
    }

    proptest! {
        #[test]
        fn any_clock_gives_new_ids_or_errors(
            times in prop::collection::vec(prop_oneof![any::<i128>(), 0i128..60_000_000_000], 1..60),
            ahead in 0u64..20, clock_seq in 0..=CLOCK_SEQ_MAX,
        ) {
            let clock = Any(Cell::new(0));
            let mut generator = V1Generator::new(&clock, clock_seq, NODE).expect("in range");
            generator = generator.max_ahead(Duration::from_secs(ahead));
            let mut seen = Distinct::of("ids");
            for time in times {
                clock.0.set(time);
                let Ok(id) = generator.next_v1() else { continue };
                seen.add(id);
                let made_at = v1::ticks_of(&id).time();
                prop_assert!(made_at.since(Timestamp::from_unix_nanos(time)) <= Duration::from_secs(ahead));
                let kept = generator.state().expect("an id was made");
                prop_assert_eq!(kept.last, v1::ticks_of(&id));
            }
        }
    }

    #[test]
    fn the_ceiling_of_ten_million_a_second_is_reported() {
        let clock = at(HOUR);
        let mut generator = V1Generator::new(&clock, 0, NODE)
            .expect("0 fits")
            .max_ahead(Duration::from_micros(1));
        for _ in 0..11 {
            generator.next_v6().expect("within max_ahead");
        }
        assert_eq!(generator.next_v6(), Err(MintError::TooFarAhead { ticks: 1 }));
        clock.0.set(HOUR + 1);
        assert!(generator.next_v6().is_ok());
    }

    #[test]
    fn a_resumed_generator_follows_the_rfc() {
        let clock = at(HOUR);
        let kept = |last| {
            let last = GregorianTicks::new(last).expect("in range");
            Some(V1State {
                last,
                clock_seq: CLOCK_SEQ_MAX,
                node: NODE,
            })
        };
        let resume = |kept, node| {
            let generator = V1Generator::resume(&clock, kept, node, &mut SystemEntropy).expect("sound");
            generator.clock_seq
        };
        assert_eq!(resume(kept(HOUR - 1), NODE), CLOCK_SEQ_MAX, "time went on");
        assert_eq!(resume(kept(HOUR), NODE), 0, "time may have gone back");
        assert_eq!(resume(kept(HOUR + 5), NODE), 0, "time went back");
        let other = Node::from_octets([9; 6]);
        let random: HashSet<u16> = (0..20).map(|_| resume(kept(0), other)).collect();
        assert!(random.len() > 10, "another node starts at random");
        let random: HashSet<u16> = (0..20).map(|_| resume(None, NODE)).collect();
        assert!(random.len() > 10, "no state starts at random");
    }

    #[test]
    fn the_end_of_time_is_an_error_and_not_a_wrap() {
        let clock = at(GregorianTicks::MAX.get());
        let mut generator = V1Generator::new(&clock, 0, NODE).expect("0 fits");
        assert_eq!(
            v1::ticks_of(&generator.next_v1().expect("the last id")),
            GregorianTicks::MAX
        );
        assert_eq!(generator.next_v1(), Err(MintError::TimeFieldFull));
    }
}
