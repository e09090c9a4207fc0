//! How large a block should be: what the name used in the last second (protocol S3).

use std::collections::VecDeque;
use std::time::Duration;

/// Samples of how much a name had used at which time.
#[derive(Debug, Default)]
pub(crate) struct Demand {
    /// (boot time, numbers used so far), oldest first; the first may be older than a second.
    samples: VecDeque<(Duration, u64)>,
}

const SECOND: Duration = Duration::from_secs(1);
const SAMPLES_MAX: usize = 32;

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
        let recent = u128::from(used.saturating_sub(before));
        let age = now.saturating_sub(then).max(SECOND);
        u64::try_from(recent * SECOND.as_nanos() / age.as_nanos())
            .unwrap_or(u64::MAX)
            .max(1)
    }
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
}
