//! How much a client may ask for in a second: requests, and ids. Whoever shows a token has the token's own measure; who shows
//! none has that of his address.
//!
//! A measure is one number, the time at which all that was asked for would have been due (GCRA, ITU-T I.371): no lock, nothing to
//! sweep. A request over its measure is refused; ids are known only once a request is read, so that they may exceed theirs by one
//! request, and what follows waits until that is made up for.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use crate::by_address::ByAddress;
use crate::config::Config;
use crate::error::{Answer, Code, RateLimit, ServiceError};
use crate::transport::Peer;

/// What one client has asked for.
#[derive(Debug, Default)]
pub(crate) struct Measure {
    /// In nanoseconds since boot.
    requests: AtomicU64,
    ids: AtomicU64,
}

/// How much may be asked for in a second; `None`: as much as can be answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Rates {
    /// Requests.
    pub requests: Option<u64>,
    /// Ids.
    pub ids: Option<u64>,
}

impl Rates {
    /// These, and where they say nothing those.
    fn or(self, others: Rates) -> Rates {
        Rates {
            requests: self.requests.or(others.requests),
            ids: self.ids.or(others.ids),
        }
    }
}

/// The limits of a server, and what those without a token have asked for.
#[derive(Debug, Default)]
pub(crate) struct Limits {
    /// There are some; read with every request.
    is_on: AtomicBool,
    /// The rates of whoever has none of his own, 0 for none; and the burst, in nanoseconds.
    requests: AtomicU64,
    ids: AtomicU64,
    burst: AtomicU64,
    by_address: ByAddress<Measure, PLACES>,
}

/// 64 KiB, however many addresses there are.
const PLACES: usize = 4096;

impl Limits {
    /// Those of a configuration; `by_token`: some token has rates of its own.
    pub(crate) fn set(&self, config: &Config, by_token: bool) {
        let (requests, ids) = (config.requests_per_second.0, config.ids_per_second.0);
        self.requests.store(requests.unwrap_or(0), Ordering::Relaxed);
        self.ids.store(ids.unwrap_or(0), Ordering::Relaxed);
        self.burst
            .store(config.rate_burst.as_nanos() as u64, Ordering::Relaxed);
        self.is_on
            .store(by_token || requests.is_some() || ids.is_some(), Ordering::Release);
    }

    /// Whether anybody is limited.
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.is_on.load(Ordering::Relaxed)
    }

    /// Lets one more request through, of whoever has this measure and these rates; without, of his address.
    ///
    /// # Errors
    /// [`Code::RateLimited`], with the seconds to wait.
    #[cold]
    pub(crate) fn admit(&self, own: Option<(&Measure, Rates)>, peer: Peer) -> Answer<()> {
        self.admit_at(own, peer, now())
    }

    fn admit_at(&self, own: Option<(&Measure, Rates)>, peer: Peer, now: u64) -> Answer<()> {
        let (measure, rates) = self.of(own, peer);
        let burst = self.burst.load(Ordering::Relaxed);
        if let Some(rate) = rates.ids {
            let wait = measure.ids.load(Ordering::Relaxed).saturating_sub(now + burst);
            refused_unless(wait, "ids", rate, burst)?;
        }
        if let Some(rate) = rates.requests {
            let wait = ask(&measure.requests, rate, burst, now).err().unwrap_or(0);
            refused_unless(wait, "requests", rate, burst)?;
        }
        Ok(())
    }

    /// Notes that ids are given out to whoever has this measure.
    #[cold]
    pub(crate) fn spend(&self, own: Option<(&Measure, Rates)>, peer: Peer, ids: u64) {
        self.spend_at(own, peer, ids, now());
    }

    fn spend_at(&self, own: Option<(&Measure, Rates)>, peer: Peer, ids: u64, now: u64) {
        let (measure, rates) = self.of(own, peer);
        if let Some(rate) = rates.ids {
            let owed = |due: u64| Some(due.max(now).saturating_add(cost(ids, rate)));
            // It always says what to store.
            let _ = measure
                .ids
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, owed);
        }
    }

    fn of<'m>(&'m self, own: Option<(&'m Measure, Rates)>, peer: Peer) -> (&'m Measure, Rates) {
        let set = |rate: &AtomicU64| Some(rate.load(Ordering::Relaxed)).filter(|rate| *rate > 0);
        let everybody = Rates {
            requests: set(&self.requests),
            ids: set(&self.ids),
        };
        match own {
            Some((measure, rates)) => (measure, rates.or(everybody)),
            None => (self.by_address.of(peer), everybody),
        }
    }
}

/// Takes one more, unless it comes too early: how long it would have to wait.
fn ask(due: &AtomicU64, rate: u64, burst: u64, now: u64) -> Result<(), u64> {
    let cost = cost(1, rate);
    // One request is always allowed after a pause.
    let latest = now + burst.max(cost);
    let mut wait = 0;
    let asked = due.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |due| {
        let next = due.max(now).saturating_add(cost);
        wait = next.saturating_sub(latest);
        (wait == 0).then_some(next)
    });
    asked.map(drop).map_err(|_| wait)
}

fn refused_unless(wait: u64, what: &'static str, rate: u64, burst: u64) -> Answer<()> {
    if wait == 0 {
        return Ok(());
    }
    let seconds = wait.div_ceil(NANOS).max(1);
    let error = ServiceError::new(
        Code::RateLimited,
        format!("more than {rate} {what} a second were asked for"),
    );
    Err(error.with_retry_after_s(seconds).with_rate_limit(RateLimit {
        what,
        per_second: rate,
        burst: u64::try_from(u128::from(burst) * u128::from(rate) / u128::from(NANOS))
            .unwrap_or(u64::MAX)
            .max(1),
    }))
}

const NANOS: u64 = 1_000_000_000;

/// How long so many take at a rate, in nanoseconds.
fn cost(n: u64, rate: u64) -> u64 {
    u64::try_from(u128::from(n) * u128::from(NANOS) / u128::from(rate.max(1))).unwrap_or(u64::MAX)
}

fn now() -> u64 {
    let now: Duration = mintage::boottime();
    now.as_nanos() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Off;

    fn limits(requests: Option<u64>, ids: Option<u64>) -> Limits {
        let limits = Limits::default();
        let config = Config {
            requests_per_second: Off(requests),
            ids_per_second: Off(ids),
            rate_burst: Duration::from_secs(1),
            ..Config::default()
        };
        limits.set(&config, false);
        limits
    }

    const NOW: u64 = 1_000 * NANOS;

    fn peer(text: &str) -> Peer {
        text.parse().unwrap()
    }

    #[test]
    fn a_burst_goes_through_and_then_the_rate() {
        let limits = limits(Some(10), None);
        let admitted = |now: u64| {
            (0..100)
                .take_while(|_| limits.admit_at(None, peer("10.0.0.1"), now).is_ok())
                .count()
        };
        assert_eq!(admitted(NOW), 10);
        assert_eq!(admitted(NOW + NANOS / 10), 1);
        assert_eq!(admitted(NOW + NANOS / 2), 4);
        assert_eq!(
            admitted(NOW + 60 * NANOS),
            10,
            "what was not used is not saved up"
        );
        let error = limits
            .admit_at(None, peer("10.0.0.1"), NOW + 60 * NANOS)
            .unwrap_err();
        assert_eq!((error.code, error.retry_after_s), (Code::RateLimited, Some(1)));
    }

    #[test]
    fn ids_over_the_measure_are_made_up_for() {
        let limits = limits(None, Some(1000));
        let at = |seconds: u64| limits.admit_at(None, peer("10.0.0.1"), NOW + seconds * NANOS);
        assert!(at(0).is_ok());
        limits.spend_at(None, peer("10.0.0.1"), 10_000, NOW);
        assert_eq!(at(0).unwrap_err().retry_after_s, Some(9));
        assert!(at(8).is_err() && at(9).is_ok());
    }

    #[test]
    fn a_token_has_its_own_measure_and_its_own_rates() {
        let limits = limits(Some(1), None);
        let (one, other) = (Measure::default(), Measure::default());
        let own = Rates {
            requests: Some(5),
            ids: None,
        };
        let admitted = |measure, rates| {
            (0..100)
                .take_while(|_| {
                    limits
                        .admit_at(Some((measure, rates)), peer("10.0.0.1"), NOW)
                        .is_ok()
                })
                .count()
        };
        assert_eq!(admitted(&one, Rates::default()), 1);
        assert_eq!(admitted(&other, own), 5);
        assert!(
            limits.admit_at(None, peer("10.0.0.1"), NOW).is_ok(),
            "its address has another"
        );
    }
}
