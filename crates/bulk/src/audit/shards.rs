//! Whether ids spread evenly over shards, by Pearson's chi-square test.

use serde::Serialize;

use super::chi_square::upper_tail;

/// How evenly ids fall on shards: on remainders of the id, on ranges of its leading octets, on remainders of a hash.
#[derive(Clone, PartialEq, Serialize, Debug)]
pub struct Shards {
    /// How many shards there are.
    pub shards: u32,
    /// Ids of each shard.
    pub counts: Vec<u64>,
    /// Pearson's statistic.
    pub chi_square: f64,
    /// How likely chance alone gives a larger one.
    pub p: f64,
    /// The largest part by which a shard has more or less than its share.
    pub deviation: f64,
    /// The same in words, and why where that is known.
    pub words: String,
    /// Whether the words are good news.
    pub even: bool,
}

impl Shards {
    /// Judges these counts; `None` for too few ids to say anything. `noun` is what a shard is called.
    ///
    /// `rounds` is for ids that pass through all shards one after the other: they are no draws, and an unfinished round
    /// differs from chance however evenly they go, so that a quarter more or less than the share is even for them.
    pub(super) fn of(counts: &[u64], noun: &str, rounds: bool) -> Option<Shards> {
        let shards = counts.len();
        let total: u64 = counts.iter().sum();
        // The test asks for five per class.
        if shards < 2 || total < 5 * shards as u64 {
            return None;
        }
        let share = total as f64 / shards as f64;
        let chi_square = counts
            .iter()
            .map(|count| (*count as f64 - share).powi(2) / share)
            .sum();
        let deviation = counts
            .iter()
            .map(|count| (*count as f64 / share - 1.0).abs())
            .fold(0.0, f64::max);
        let p = upper_tail(chi_square, (shards - 1) as f64);
        let within = percent(deviation);
        let (even, words) = if p > 0.999 {
            (
                true,
                format!("more even than chance: within {within} of their share"),
            )
        } else if p >= 0.001 {
            (
                true,
                format!("as even as chance makes them: within {within} of their share"),
            )
        } else if deviation < 0.01 {
            (
                true,
                format!("nearly even: within {within} of their share, though not by chance"),
            )
        } else if rounds && deviation <= 0.25 {
            (true, format!("roughly even: within {within} of their share"))
        } else {
            (false, uneven(counts, total, share, noun))
        };
        Some(Shards {
            shards: shards as u32,
            counts: counts.to_vec(),
            chi_square,
            p,
            deviation,
            words,
            even,
        })
    }

    /// Says also why, where that is known.
    pub(super) fn because(mut self, reason: Option<String>) -> Shards {
        if let Some(reason) = reason {
            self.words = format!("{}; {reason}", self.words);
        }
        self
    }

    /// Says also that ids repeat, where that may be why.
    pub(super) fn with_repeats(self) -> Shards {
        let reason = (!self.even).then(|| "ids that stand more than once go to one shard each time".into());
        self.because(reason)
    }
}

fn percent(part: f64) -> String {
    match part * 100.0 {
        percent if percent < 0.1 => "less than 0.1 %".to_string(),
        percent if percent < 10.0 => format!("{percent:.1} %"),
        percent => format!("{percent:.0} %"),
    }
}

fn uneven(counts: &[u64], total: u64, share: f64, noun: &str) -> String {
    let shards = counts.len();
    let fullest = (0..shards).max_by_key(|i| counts[*i]).unwrap_or(0);
    let emptiest = (0..shards).min_by_key(|i| counts[*i]).unwrap_or(0);
    if counts[fullest] == total {
        return format!(
            "uneven: {noun} {fullest} has all of them, the other {} none",
            shards - 1
        );
    }
    format!(
        "uneven: {noun} {fullest} has {:.1} times its share, {noun} {emptiest} {:.1} times",
        counts[fullest] as f64 / share,
        counts[emptiest] as f64 / share
    )
}

/// Counts ids by the remainder of their value.
#[derive(Clone, Debug)]
pub(super) struct ShardCount {
    counts: Vec<u64>,
    /// 2^64 modulo the number of shards.
    fold: u64,
}

impl ShardCount {
    pub(super) fn new(shards: u32) -> ShardCount {
        ShardCount {
            counts: vec![0; shards as usize],
            fold: (u64::MAX % u64::from(shards) + 1) % u64::from(shards),
        }
    }

    #[inline]
    pub(super) fn see(&mut self, value: u128) {
        let shards = self.counts.len() as u64;
        let (high, low) = ((value >> 64) as u64, value as u64);
        let shard = match high {
            0 => low % shards,
            // Every factor is below 2^32.
            _ => (high % shards * self.fold + low % shards) % shards,
        };
        self.counts[shard as usize] += 1;
    }

    /// The test's result; `None` for too few ids to say anything.
    pub(super) fn result(&self) -> Option<Shards> {
        Shards::of(&self.counts, "shard", false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(shards: u32, values: impl Iterator<Item = u128>) -> Shards {
        let mut count = ShardCount::new(shards);
        values.for_each(|value| count.see(value));
        count.result().unwrap()
    }

    #[test]
    fn sequences_are_more_even_than_chance_and_tick_starts_are_not_even() {
        assert!(result(16, 0..100_000).words.starts_with("more even"));
        let ticks = result(16, (0..10_000).map(|i| i << 12));
        assert!(
            !ticks.even && ticks.words.contains("shard 0 has all of them"),
            "{ticks:?}"
        );
    }

    #[test]
    fn random_ids_are_as_even_as_chance_makes_them() {
        for shards in [2, 7, 16, 1000] {
            let mut state = 12_345u128;
            let random = std::iter::repeat_with(|| {
                state = state
                    .wrapping_mul(0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645)
                    .wrapping_add(1);
                state >> 64
            });
            let found = result(shards, random.take(100_000));
            assert!(found.even && found.p > 1e-4, "{found:?}");
        }
    }

    #[test]
    fn large_values_fall_where_the_remainder_says() {
        let mut count = ShardCount::new(7);
        for value in [u128::MAX, 1 << 64, (1 << 64) + 5, 3] {
            let before = count.counts.clone();
            count.see(value);
            let shard = (value % 7) as usize;
            assert_eq!(count.counts[shard], before[shard] + 1, "{value}");
        }
    }

    #[test]
    fn few_ids_say_nothing() {
        assert_eq!(ShardCount::new(16).result(), None);
    }
}
