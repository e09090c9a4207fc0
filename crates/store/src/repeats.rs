//! Something that fails over and over is one line of log, then one a minute with a count, and one when it is over.

use std::time::Duration;

/// How often the same failure is told again while it lasts.
const EVERY: Duration = Duration::from_secs(60);

/// One kind of failure.
#[derive(Debug, Default)]
pub struct Repeats {
    /// Since when, and when it is told again, in boot time.
    since: Option<(Duration, Duration)>,
    count: u64,
}

impl Repeats {
    /// It has failed (again): how often so far, where that is to be told.
    pub fn failed(&mut self, now: Duration) -> Option<u64> {
        self.count += 1;
        let (_, tell_at) = self.since.get_or_insert((now, now));
        let is_due = now >= *tell_at;
        if is_due {
            *tell_at = now + EVERY;
        }
        is_due.then_some(self.count)
    }

    /// It has succeeded: for how long it had failed, and how often.
    pub fn succeeded(&mut self, now: Duration) -> Option<(Duration, u64)> {
        let (since, _) = self.since.take()?;
        Some((now.saturating_sub(since), std::mem::take(&mut self.count)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_told_at_once_then_once_a_minute_then_when_it_is_over() {
        let mut repeats = Repeats::default();
        let second = Duration::from_secs;
        let told: Vec<u64> = (10..140).filter_map(|now| repeats.failed(second(now))).collect();
        assert_eq!(told, [1, 61, 121]);
        assert_eq!(repeats.succeeded(second(141)), Some((second(131), 130)));
        assert_eq!(repeats.succeeded(second(142)), None);
        assert_eq!(repeats.failed(second(143)), Some(1));
    }
}
