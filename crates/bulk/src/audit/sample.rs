//! A sample of the numbers of a pile that follows from which numbers there are, whatever their order.

use std::collections::BTreeSet;

/// Keeps the [`SAMPLE`] different numbers whose hashes are the smallest.
#[derive(Debug)]
pub(super) struct Sample {
    /// Hash and number.
    kept: BTreeSet<(u64, u64)>,
    /// Larger hashes are not kept.
    limit: u64,
}

impl Default for Sample {
    fn default() -> Sample {
        Sample {
            kept: BTreeSet::new(),
            limit: u64::MAX,
        }
    }
}

impl Sample {
    #[inline]
    pub(super) fn see(&mut self, number: u64) {
        let hash = mixed(number);
        if hash <= self.limit {
            self.keep(hash, number);
        }
    }

    fn keep(&mut self, hash: u64, number: u64) {
        self.kept.insert((hash, number));
        if self.kept.len() > SAMPLE {
            self.kept.pop_last();
        }
        if self.kept.len() == SAMPLE
            && let Some((last, _)) = self.kept.last()
        {
            self.limit = *last;
        }
    }

    pub(super) fn numbers(&self) -> Vec<u64> {
        self.kept.iter().map(|(_, number)| *number).collect()
    }
}

/// The finalizer of SplitMix64: one to one, and numbers that follow each other lie far apart.
#[inline]
fn mixed(number: u64) -> u64 {
    let number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ number >> 31
}

/// How many ids decide what numbers are.
pub(super) const SAMPLE: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_same_in_any_order_and_of_all_numbers_alike() {
        let of = |numbers: &mut dyn Iterator<Item = u64>| {
            let mut sample = Sample::default();
            numbers.for_each(|number| sample.see(number));
            sample.numbers()
        };
        let sample = of(&mut (0..100_000));
        assert_eq!(sample, of(&mut (0..100_000).rev().chain(0..100_000)));
        assert_eq!(sample.len(), SAMPLE);
        let low = sample.iter().filter(|number| **number < 50_000).count();
        assert!((SAMPLE * 45 / 100..SAMPLE * 55 / 100).contains(&low), "{low}");
        assert_eq!(of(&mut [7, 5, 7].into_iter()).len(), 2);
    }
}
