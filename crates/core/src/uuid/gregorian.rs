//! Time as versions 1, 2 and 6 count it: 100 ns ticks since 1582-10-15T00:00:00Z.

use super::UuidError;
use crate::time::Timestamp;

/// A point in time as UUID versions 1 and 6 hold it: ticks of 100 ns since 1582-10-15T00:00:00Z, 60 bits.
///
/// The last tick is at 5236-03-31T21:21:00.6846975Z. (RFC 9562 prints the year 5623: its digits are swapped.)
///
/// ```
/// use mintage::{GregorianTicks, Timestamp};
/// let at = Timestamp::from_unix_millis(1_645_557_742_000);
/// let ticks = GregorianTicks::floor(at)?;
/// assert_eq!(ticks.get(), 138_648_505_420_000_000);
/// assert_eq!(ticks.time(), at);
/// # Ok::<(), mintage::UuidError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct GregorianTicks(u64);

impl GregorianTicks {
    /// 1582-10-15T00:00:00Z.
    pub const MIN: GregorianTicks = GregorianTicks(0);
    /// 5236-03-31T21:21:00.6846975Z.
    pub const MAX: GregorianTicks = GregorianTicks((1 << 60) - 1);

    /// This many ticks.
    ///
    /// # Errors
    /// 2^60 or more.
    pub const fn new(ticks: u64) -> Result<Self, UuidError> {
        if ticks > Self::MAX.0 {
            return Err(UuidError::TooLarge {
                what: "ticks",
                value: ticks,
                max: Self::MAX.0,
            });
        }
        Ok(GregorianTicks(ticks))
    }

    /// The tick that contains `time`, rounded down (also before 1970).
    ///
    /// # Errors
    /// `time` lies before 1582-10-15 or past the last tick.
    pub const fn floor(time: Timestamp) -> Result<Self, UuidError> {
        let ticks = time.unix_nanos().div_euclid(100) + UNIX_OFFSET;
        if ticks < 0 || ticks > Self::MAX.0 as i128 {
            return Err(UuidError::Time {
                time,
                first: Self::MIN.time(),
                last: Self::MAX.time(),
            });
        }
        Ok(GregorianTicks(ticks as u64))
    }

    /// When this tick begins, exactly.
    pub const fn time(self) -> Timestamp {
        Timestamp::from_unix_nanos((self.0 as i128 - UNIX_OFFSET) * 100)
    }

    /// The number of ticks.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The low 60 bits of `bits`.
    pub(crate) const fn from_bits(bits: u64) -> Self {
        GregorianTicks(bits & Self::MAX.0)
    }
}

/// Ticks from 1582-10-15 to 1970-01-01 (RFC 9562 section 5.1 and appendix A).
pub(crate) const UNIX_OFFSET: i128 = 0x01B2_1DD2_1381_4000;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SECOND: i128 = 1_000_000_000;

    #[test]
    fn both_ends_are_exact_and_nothing_beyond_them_wraps() {
        // Unix seconds of 1582-10-15T00:00:00Z and 5236-03-31T21:21:00Z.
        let first = -12_219_292_800 * SECOND;
        let last = 103_072_857_660 * SECOND + 684_697_599;
        let floor = |nanos| GregorianTicks::floor(Timestamp::from_unix_nanos(nanos));
        assert_eq!(floor(first), Ok(GregorianTicks::MIN));
        assert!(floor(first - 1).is_err());
        assert_eq!(floor(last), Ok(GregorianTicks::MAX));
        assert!(floor(last + 1).is_err());
        assert_eq!(GregorianTicks::MAX.time().unix_nanos(), last - 99);
        assert!(floor(i128::from(i64::MAX) * SECOND).is_err());
        assert!(GregorianTicks::new(1 << 60).is_err());
    }

    #[test]
    fn times_before_1970_round_down() {
        let ticks = GregorianTicks::floor(Timestamp::from_unix_nanos(-1)).expect("in range");
        assert_eq!(ticks.time().unix_nanos(), -100);
    }

    proptest! {
        #[test]
        fn every_tick_reads_back_exactly(ticks in 0u64..1 << 60, within in 0i128..100) {
            let ticks = GregorianTicks::new(ticks).expect("in range");
            prop_assert_eq!(GregorianTicks::floor(ticks.time()), Ok(ticks));
            let later = Timestamp::from_unix_nanos(ticks.time().unix_nanos() + within);
            prop_assert_eq!(GregorianTicks::floor(later), Ok(ticks));
        }
    }
}
