//! Whether `id % n` spreads ids evenly, by Pearson's chi-square test.

use serde::Serialize;

/// How evenly ids fall on shards.
#[derive(Clone, PartialEq, Serialize, Debug)]
pub struct Shards {
    /// How many shards there are: an id goes to shard `id % shards`.
    pub shards: u32,
    /// Ids of each shard.
    pub counts: Vec<u64>,
    /// Pearson's statistic.
    pub chi_square: f64,
    /// How likely chance alone gives a larger one.
    pub p: f64,
    /// The largest part by which a shard has more or less than its share.
    pub deviation: f64,
    /// The same in words.
    pub words: String,
    /// Whether the words are good news.
    pub even: bool,
}

/// Counts ids by shard.
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
        let shards = self.counts.len();
        let total: u64 = self.counts.iter().sum();
        // The test asks for five per class.
        if shards < 2 || total < 5 * shards as u64 {
            return None;
        }
        let share = total as f64 / shards as f64;
        let chi_square = self
            .counts
            .iter()
            .map(|count| (*count as f64 - share).powi(2) / share)
            .sum();
        let deviation = self
            .counts
            .iter()
            .map(|count| (*count as f64 / share - 1.0).abs())
            .fold(0.0, f64::max);
        let p = upper_tail(chi_square, (shards - 1) as f64);
        let fullest = (0..shards).max_by_key(|i| self.counts[*i]).unwrap_or(0);
        let emptiest = (0..shards).min_by_key(|i| self.counts[*i]).unwrap_or(0);
        let percent = |part: f64| match part * 100.0 {
            percent if percent < 0.1 => "less than 0.1 %".to_string(),
            percent if percent < 10.0 => format!("{percent:.1} %"),
            percent => format!("{percent:.0} %"),
        };
        let even = p >= 0.001 || deviation < 0.01;
        let words = if p > 0.999 {
            format!(
                "more even than chance: within {} of their share",
                percent(deviation)
            )
        } else if p >= 0.001 {
            format!(
                "as even as chance makes them: within {} of their share",
                percent(deviation)
            )
        } else if even {
            format!(
                "nearly even: within {} of their share, though not by chance",
                percent(deviation)
            )
        } else {
            format!(
                "uneven: shard {fullest} has {:.1} times its share, shard {emptiest} {:.1} times",
                self.counts[fullest] as f64 / share,
                self.counts[emptiest] as f64 / share
            )
        };
        Some(Shards {
            shards: shards as u32,
            counts: self.counts.clone(),
            chi_square,
            p,
            deviation,
            words,
            even,
        })
    }
}

/// How likely a chi-square variable of this many degrees of freedom is larger than `x`: the regularised upper incomplete
/// gamma function Q(k/2, x/2), by its series below the middle and its continued fraction above (Abramowitz and Stegun
/// 6.5.29 and 6.5.31).
fn upper_tail(x: f64, freedom: f64) -> f64 {
    let (a, x) = (freedom / 2.0, x / 2.0);
    if x <= 0.0 {
        return 1.0;
    }
    let front = (a * x.ln() - x - ln_gamma(a)).exp();
    if x < a + 1.0 {
        let (mut term, mut sum, mut n) = (1.0 / a, 1.0 / a, a);
        while term > sum * 1e-15 {
            n += 1.0;
            term *= x / n;
            sum += term;
        }
        return (1.0 - front * sum).clamp(0.0, 1.0);
    }
    // Lentz's method.
    let tiny = 1e-300;
    let mut b = x + 1.0 - a;
    let (mut c, mut d) = (1.0 / tiny, 1.0 / b);
    let mut h = d;
    for i in 1..10_000 {
        let i = f64::from(i);
        let an = -i * (i - a);
        b += 2.0;
        d = 1.0 / not_zero(an * d + b, tiny);
        c = not_zero(b + an / c, tiny);
        let delta = d * c;
        h *= delta;
        if (delta - 1.0).abs() < 1e-15 {
            break;
        }
    }
    (front * h).clamp(0.0, 1.0)
}

fn not_zero(value: f64, tiny: f64) -> f64 {
    if value.abs() < tiny { tiny } else { value }
}

/// The logarithm of the gamma function, by Stirling's series after the argument was raised above 10.
fn ln_gamma(mut x: f64) -> f64 {
    let mut below = 0.0;
    while x < 10.0 {
        below += x.ln();
        x += 1.0;
    }
    let inverse = 1.0 / (x * x);
    let series = (1.0 / 12.0 - inverse * (1.0 / 360.0 - inverse * (1.0 / 1260.0 - inverse / 1680.0))) / x;
    (x - 0.5) * x.ln() - x + 0.5 * (2.0 * std::f64::consts::PI).ln() + series - below
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_agrees_with_published_tables() {
        // NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.4: critical values of chi-square.
        for (freedom, x, p) in [
            (1.0, 3.841, 0.05),
            (15.0, 24.996, 0.05),
            (15.0, 37.697, 0.001),
            (10.0, 4.865, 0.90),
            (100.0, 149.449, 0.001),
            (63.0, 82.529, 0.05),
        ] {
            let found = upper_tail(x, freedom);
            assert!((found - p).abs() < 2e-4, "{freedom} {x}: {found}");
        }
        assert_eq!(upper_tail(0.0, 3.0), 1.0);
    }

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
            !ticks.even && ticks.words.contains("shard 0 has 16.0 times"),
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
