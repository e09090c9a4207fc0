//! When a sequence or pool ends, if it goes on as it does today.

use std::collections::VecDeque;
use std::time::Duration;

use mintage::{Layout, Timestamp};

/// How much of something was used when: one sample an hour, a day back.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    samples: VecDeque<(Duration, u64)>,
}

const HOUR: Duration = Duration::from_secs(3600);
/// How far back a pace is measured; and what must have been seen of something that changes with deployments.
pub(crate) const DAY: Duration = Duration::from_secs(24 * 3600);
/// What was seen for less time than this says nothing about the pace of a sequence.
pub(crate) const A_MINUTE: Duration = Duration::from_secs(60);

impl Pace {
    /// Notes that `used` were used by the boot time `now`.
    pub(crate) fn note(&mut self, now: Duration, used: u64) {
        if self
            .samples
            .back()
            .is_some_and(|(then, _)| now.saturating_sub(*then) < HOUR)
        {
            return;
        }
        while self.samples.len() > 1 && now.saturating_sub(self.samples[1].0) >= DAY {
            self.samples.pop_front();
        }
        self.samples.push_back((now, used));
    }

    /// How many a second, over a day or as long as was seen; `None`: that is shorter than `at_least`.
    pub(crate) fn per_second(&self, now: Duration, used: u64, at_least: Duration) -> Option<f64> {
        let (then, before) = self.samples.front()?;
        let seen = now.saturating_sub(*then);
        (seen >= at_least).then(|| used.saturating_sub(*before) as f64 / seen.as_secs_f64())
    }
}

/// What a sequence or pool reaches one day.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Limit {
    /// The last number of the sequence: refused from there on.
    Bound,
    /// 2^53: JavaScript and whoever else keeps numbers as doubles rounds them from there on.
    Double,
    /// 2^63: the ids do not fit a signed 64-bit column from there on; for a sequence it is its bound.
    Signed,
    /// The layout's time field is full: refused from there on.
    Time,
    /// Every worker is held: no further process gets one.
    Workers,
}

impl Limit {
    /// What it is called.
    pub fn as_str(self) -> &'static str {
        match self {
            Limit::Bound => "bound",
            Limit::Double => "2^53",
            Limit::Signed => "2^63",
            Limit::Time => "time field",
            Limit::Workers => "workers",
        }
    }
}

/// When one limit is reached.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Ending {
    /// Which.
    pub limit: Limit,
    /// How long until then; zero: it has been reached.
    pub left: Duration,
}

impl Ending {
    /// Whether it is so near that somebody should do something: less than five years, and not long past.
    ///
    /// A sequence that has passed 2^53 long ago is meant so, no warning.
    pub fn is_near(&self) -> bool {
        self.left < WARN && !(self.limit == Limit::Double && self.left.is_zero())
    }
}

/// Five years.
const WARN: Duration = Duration::from_secs(5 * 365 * 24 * 3600);
/// What lies further ahead is no forecast.
const FAR: f64 = 1000.0 * 365.25 * 24.0 * 3600.0;

/// When something ends.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Forecast {
    /// How many numbers a second are reserved, over the last day or as long as this process has seen; `None`: not
    /// long enough to say, or it does not matter.
    pub rate: Option<f64>,
    /// What will be reached within a thousand years, the soonest first.
    pub endings: Vec<Ending>,
    /// When this was said; `None` where no rate is known, and so nothing is ahead.
    pub as_of: Option<Timestamp>,
}

impl Forecast {
    pub(crate) fn new(rate: Option<f64>, mut endings: Vec<Ending>, as_of: Option<Timestamp>) -> Forecast {
        endings.sort_by_key(|ending| ending.left);
        Forecast { rate, endings, as_of }
    }

    /// What is nearer than five years.
    pub fn warnings(&self) -> impl Iterator<Item = &Ending> {
        self.endings.iter().filter(|ending| ending.is_near())
    }
}

/// When `left` more are used at `rate` a second; `None`: not within a thousand years.
pub(crate) fn after(limit: Limit, left: u64, rate: Option<f64>) -> Option<Ending> {
    if left == 0 {
        return Some(Ending {
            limit,
            left: Duration::ZERO,
        });
    }
    let seconds = left as f64 / rate.filter(|rate| *rate > 0.0)?;
    (seconds < FAR).then(|| Ending {
        limit,
        left: Duration::from_secs_f64(seconds),
    })
}

/// When the ids of a layout reach what they cannot pass, or should not.
pub(crate) fn of_layout(layout: &Layout, now: Timestamp) -> Vec<Ending> {
    let at = |limit, time: Timestamp| Ending {
        limit,
        left: time.since(now),
    };
    let mut endings = vec![at(Limit::Time, layout.end())];
    for (limit, bound) in [(Limit::Double, 1 << 53), (Limit::Signed, 1 << 63)] {
        // What passes 2^53 early in its life is meant to: nobody takes its ids for doubles.
        let meant = |tick: &u64| limit == Limit::Double && *tick < layout.ticks_max() / 2;
        if let Some(tick) = first_tick_at(layout, bound).filter(|tick| !meant(tick)) {
            endings.push(at(limit, layout.time_of(tick)));
        }
    }
    endings.retain(|ending| ending.left.as_secs_f64() < FAR);
    endings
}

/// The first tick of which some id is `bound` or more.
fn first_tick_at(layout: &Layout, bound: u64) -> Option<u64> {
    let largest = |tick| {
        let sequence = (1u64 << layout.sequence_bits()) - 1;
        layout
            .pack(tick, layout.workers() - 1, sequence)
            .unwrap_or(u64::MAX)
    };
    if largest(layout.ticks_max()) < bound {
        return None;
    }
    // With everything else at its largest, ids grow with the tick wherever its field lies.
    let (mut low, mut high) = (0, layout.ticks_max());
    while low < high {
        let middle = low + (high - low) / 2;
        if largest(middle) >= bound {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    Some(low)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hours(n: u64) -> Duration {
        HOUR * u32::try_from(n).unwrap()
    }

    #[test]
    fn a_pace_is_measured_over_a_day_at_most() {
        let mut pace = Pace::default();
        assert_eq!(pace.per_second(hours(1), 5, A_MINUTE), None);
        for hour in 0..100u64 {
            // 10 a second for three days, then 1.
            let used = 36_000 * hour.min(72) + 3600 * hour.saturating_sub(72);
            pace.note(hours(hour), used);
            assert!(pace.samples.len() <= 26);
        }
        let rate = pace.per_second(hours(99), 36_000 * 72 + 3600 * 27, DAY).unwrap();
        assert!((1.0..1.5).contains(&rate), "{rate}");
    }

    #[test]
    fn layouts_reach_their_limits_when_arithmetic_says() {
        let twitter = mintage::preset("twitter").unwrap().layout();
        let now = Timestamp::from_unix_millis(1_800_000_000_000);
        let endings = of_layout(&twitter, now);
        let left = |limit| {
            endings
                .iter()
                .find(|e| e.limit == limit)
                .map(|e| e.left.as_secs())
        };
        // 41 bits of milliseconds since 2010-11-04T01:42:54.657Z end in 2080; ids are 63 bits.
        assert_eq!(
            left(Limit::Time),
            Some((1_288_834_974_657 + (1 << 41) - 1_800_000_000_000) / 1000)
        );
        // They pass 2^53 by design, days after their epoch.
        assert_eq!((left(Limit::Double), left(Limit::Signed)), (None, None));
        assert_eq!(first_tick_at(&twitter, 1 << 53), Some(1 << 31));
        assert!(!endings.iter().any(Ending::is_near), "{endings:?}");
        let short = mintage::PRESETS.iter().map(|preset| preset.layout());
        for layout in short.filter(|layout| layout.bits() <= 53) {
            assert_eq!(first_tick_at(&layout, 1 << 53), None, "{}", layout.name());
        }
    }

    #[test]
    fn what_is_far_or_idle_is_no_forecast() {
        assert_eq!(after(Limit::Bound, 10, None), None);
        assert_eq!(after(Limit::Bound, 10, Some(0.0)), None);
        assert_eq!(after(Limit::Bound, u64::MAX, Some(1000.0)), None);
        let soon = after(Limit::Bound, 1000, Some(10.0)).unwrap();
        assert_eq!((soon.left, soon.is_near()), (Duration::from_secs(100), true));
        assert!(after(Limit::Bound, 0, None).unwrap().is_near());
    }
}
