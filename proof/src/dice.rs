//! The one source of chance in a run: everything that happens follows from the seed.

use std::time::Duration;

/// A stream of random numbers that is the same for the same seed, on every machine (SplitMix64: Steele, Lea,
/// Flood 2014).
#[derive(Clone, Debug)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Dice {
        // Neighbouring seeds must not give neighbouring streams.
        let mut dice = Dice(seed ^ 0x6d69_6e74_6167_6521);
        Dice(dice.next() ^ seed.rotate_left(32))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`; 0 for a bound of 0.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }

    pub(crate) fn index(&mut self, len: usize) -> usize {
        self.below(len as u64) as usize
    }

    /// True `per_mille` times in a thousand.
    pub(crate) fn chance(&mut self, per_mille: u32) -> bool {
        self.below(1000) < u64::from(per_mille)
    }

    /// A length from `low` to `high`, every order of magnitude alike.
    pub(crate) fn length(&mut self, low: Duration, high: Duration) -> Duration {
        let (low, high) = (low.as_nanos().max(1) as u64, high.as_nanos() as u64);
        let octaves = u64::BITS - (high / low).leading_zeros();
        let base = low << self.below(u64::from(octaves.max(1)));
        Duration::from_nanos((base + self.below(base)).min(high))
    }

    /// A size from 1 to `high`, every order of magnitude alike.
    pub(crate) fn size(&mut self, high: u64) -> u64 {
        self.length(Duration::from_nanos(1), Duration::from_nanos(high))
            .as_nanos() as u64
    }

    pub(crate) fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.index(items.len())]
    }
}
