//! Points in time and the one trait through which core reads a clock.

use alloc::boxed::Box;
use core::time::Duration;

/// A point in time: nanoseconds since 1970-01-01T00:00:00Z, leap seconds not counted (POSIX time).
///
/// Signed and wide: it covers every time a UUID of any version can carry (1582 to 10889) and far more.
///
/// ```
/// use mintage::Timestamp;
/// let t = Timestamp::from_unix_millis(1_645_557_742_000);
/// assert_eq!(t.unix_nanos(), 1_645_557_742_000_000_000);
/// assert_eq!(Timestamp::from_unix_nanos(-1).unix_millis(), -1); // floor, not towards zero
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Timestamp(i128);

impl Timestamp {
    /// 1970-01-01T00:00:00Z.
    pub const UNIX_EPOCH: Timestamp = Timestamp(0);

    /// The point `nanos` nanoseconds after (or before) 1970-01-01T00:00:00Z.
    pub const fn from_unix_nanos(nanos: i128) -> Self {
        Timestamp(nanos)
    }

    /// The point `millis` milliseconds after (or before) 1970-01-01T00:00:00Z.
    pub const fn from_unix_millis(millis: i64) -> Self {
        Timestamp(millis as i128 * 1_000_000)
    }

    /// Nanoseconds since 1970-01-01T00:00:00Z.
    pub const fn unix_nanos(self) -> i128 {
        self.0
    }

    /// Whole milliseconds since 1970-01-01T00:00:00Z, rounded down; saturates at the ends of `i64`.
    pub const fn unix_millis(self) -> i64 {
        // 292 years around 1970 fit 64 bits, where a division costs a fraction.
        let near = self.0 as i64;
        if near as i128 == self.0 {
            return near.div_euclid(1_000_000);
        }
        let ms = self.0.div_euclid(1_000_000);
        if ms > i64::MAX as i128 {
            i64::MAX
        } else if ms < i64::MIN as i128 {
            i64::MIN
        } else {
            ms as i64
        }
    }

    /// This point moved forward by `by`, saturating.
    pub const fn saturating_add(self, by: Duration) -> Self {
        Timestamp(self.0.saturating_add(by.as_nanos() as i128))
    }

    /// This point moved back by `by`, saturating.
    pub const fn saturating_sub(self, by: Duration) -> Self {
        Timestamp(self.0.saturating_sub(by.as_nanos() as i128))
    }

    /// How long after `earlier` this point lies; zero if it lies before it.
    pub fn since(self, earlier: Timestamp) -> Duration {
        let nanos = self.0.saturating_sub(earlier.0).max(0);
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

/// Where time comes from. It may stand still and it may go backwards: generators cope with both.
pub trait Clock {
    /// The time now.
    fn now(&self) -> Timestamp;

    /// The time now in whole milliseconds since 1970, rounded down; what most ids need.
    ///
    /// A clock that can tell this faster than [`Clock::now`] overrides it.
    fn unix_millis(&self) -> i64 {
        self.now().unix_millis()
    }

    /// The time now in ticks of 100 ns since 1970, saturating; for ids finer than a millisecond.
    ///
    /// A clock that can tell this faster than [`Clock::now`] overrides it, and may then be some microseconds late.
    fn unix_ticks(&self) -> i64 {
        let ticks = self.now().unix_nanos().div_euclid(100);
        i64::try_from(ticks).unwrap_or(if ticks < 0 { i64::MIN } else { i64::MAX })
    }
}

impl<C: Clock + ?Sized> Clock for &C {
    fn now(&self) -> Timestamp {
        (**self).now()
    }

    fn unix_millis(&self) -> i64 {
        (**self).unix_millis()
    }

    fn unix_ticks(&self) -> i64 {
        (**self).unix_ticks()
    }
}

impl<C: Clock + ?Sized> Clock for Box<C> {
    fn now(&self) -> Timestamp {
        (**self).now()
    }

    fn unix_millis(&self) -> i64 {
        (**self).unix_millis()
    }

    fn unix_ticks(&self) -> i64 {
        (**self).unix_ticks()
    }
}

/// A clock that always tells the same time; for tests and for ids of a given time.
///
/// ```
/// use mintage::{Clock, FixedClock, Timestamp};
/// assert_eq!(FixedClock(Timestamp::UNIX_EPOCH).now(), Timestamp::UNIX_EPOCH);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct FixedClock(pub Timestamp);

impl Clock for FixedClock {
    fn now(&self) -> Timestamp {
        self.0
    }
}
