//! How fast a name is used: what the last second took decides how large a block is (protocol S3), what the last
//! ten took how much is kept for an outage.

use std::collections::VecDeque;
use std::time::Duration;

/// Samples of how much a name had used at which time.
#[derive(Debug, Default)]
pub(crate) struct Demand {
    /// (boot time, numbers used so far), oldest first; the first may be older than a second.
    samples: VecDeque<(Duration, u64)>,
    /// The same, a second apart; the first may be older than ten.
    seconds: VecDeque<(Duration, u64)>,
    /// How much was used when it last changed, and when that was seen.
    last_use: (Duration, u64),
}

const SECOND: Duration = Duration::from_secs(1);
const SAMPLES_MAX: usize = 32;
/// For how long a rate must have been seen to count as steady.
const STEADY: Duration = Duration::from_secs(10);

impl Demand {
    /// Notes that `used` numbers were used by `now`; answers how many of them in the last second, at least 1.
    ///
    /// Where the samples do not reach back a second, everything they show counts, so that a burst doubles its
    /// block at every refill.
    pub(crate) fn used_last_second(&mut self, now: Duration, used: u64) -> u64 {
        while self.samples.len() > 1 && now.saturating_sub(self.samples[1].0) >= SECOND {
            self.samples.pop_front();
        }
        if self.samples.is_empty() {
            self.samples.push_back((now, 0));
        }
        let (then, before) = self.samples[0];
        if self.samples.len() == SAMPLES_MAX {
            self.samples.pop_front();
        }
        self.samples.push_back((now, used));
        per_second(used.saturating_sub(before), now.saturating_sub(then).max(SECOND)).max(1)
    }

    /// Notes that `used` numbers were used by `now`, for the rate over ten seconds.
    pub(crate) fn note_second(&mut self, now: Duration, used: u64) {
        if self
            .seconds
            .back()
            .is_some_and(|(then, _)| now.saturating_sub(*then) < SECOND)
        {
            return;
        }
        while self.seconds.len() > 1 && now.saturating_sub(self.seconds[1].0) >= STEADY {
            self.seconds.pop_front();
        }
        self.seconds.push_back((now, used));
    }

    /// Notes that `used` numbers were used by `now`; answers for how long that has not changed.
    pub(crate) fn note_use(&mut self, now: Duration, used: u64) -> Duration {
        if self.last_use.1 != used || self.last_use.0.is_zero() {
            self.last_use = (now, used);
        }
        now.saturating_sub(self.last_use.0)
    }

    /// Numbers per second, averaged over the last ten seconds; `None` before the name was seen for so long.
    pub(crate) fn steady(&self, now: Duration, used: u64) -> Option<u64> {
        let (then, before) = *self.seconds.front()?;
        let age = now.saturating_sub(then);
        (age >= STEADY).then(|| per_second(used.saturating_sub(before), age))
    }

    /// How many of `used` numbers were used in the last ten seconds; all, of a name that was not seen for so long.
    pub(crate) fn used_lately(&self, now: Duration, used: u64) -> u64 {
        let (then, before) = self.seconds.front().copied().unwrap_or((now, used));
        let (used, over) = (used.saturating_sub(before), now.saturating_sub(then).max(STEADY));
        let lately = u128::from(used) * STEADY.as_nanos() / over.as_nanos();
        u64::try_from(lately).unwrap_or(u64::MAX)
    }

    /// Numbers per second over what the samples show, at most ten seconds; for people.
    pub(crate) fn rate(&self, now: Duration, used: u64) -> f64 {
        match self.seconds.front() {
            Some((then, before)) => {
                let age = now.saturating_sub(*then).max(SECOND);
                used.saturating_sub(*before) as f64 / age.as_secs_f64()
            }
            None => 0.0,
        }
    }
}

fn per_second(count: u64, over: Duration) -> u64 {
    u64::try_from(u128::from(count) * SECOND.as_nanos() / over.as_nanos().max(1)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    #[test]
    fn a_quiet_name_gets_blocks_of_one() {
        let mut demand = Demand::default();
        for minute in 1..100 {
            assert_eq!(demand.used_last_second(ms(minute * 60_000), minute), 1);
        }
    }

    #[test]
    fn a_burst_counts_whole() {
        let mut demand = Demand::default();
        assert_eq!(demand.used_last_second(ms(0), 1), 1);
        assert_eq!(demand.used_last_second(ms(1), 3), 3);
        assert_eq!(demand.used_last_second(ms(2), 1000), 1000);
    }

    #[test]
    fn a_steady_rate_is_found() {
        let mut demand = Demand::default();
        let mut last = 0;
        for step in 0..40 {
            last = demand.used_last_second(ms(step * 500), step * 500);
        }
        assert!((900..=1100).contains(&last), "{last}");
    }

    #[test]
    fn a_rate_is_steady_after_ten_seconds_whoever_samples() {
        for every_ms in [10, 250, 1000, 3000] {
            let mut demand = Demand::default();
            for step in 0..200 {
                let (now, used) = (ms(step * every_ms), step * every_ms * 5);
                demand.note_second(now, used);
                let steady = demand.steady(now, used);
                assert_eq!(
                    steady,
                    (now >= ms(10_000)).then_some(5000),
                    "every {every_ms} ms, at {now:?}"
                );
            }
            assert!(demand.seconds.len() <= 12);
        }
    }

    #[test]
    fn what_ten_seconds_used_is_known_at_once_and_never_more_than_that() {
        let mut demand = Demand::default();
        assert_eq!(demand.used_lately(ms(0), 7), 0, "nobody has looked before");
        demand.note_second(ms(0), 0);
        assert_eq!(demand.used_lately(ms(1), 900), 900, "a burst counts whole");
        for second in 1..60 {
            demand.note_second(ms(second * 1000), second * 50);
        }
        assert_eq!(demand.used_lately(ms(59_000), 59 * 50), 500);
        assert_eq!(
            demand.used_lately(ms(90_000), 59 * 50),
            121,
            "it was not looked since"
        );
    }
}
