//! Points in time with the offset at which they were written.

use alloc::string::ToString;
use alloc::vec::Vec;

use super::dates::date_of;
use super::error::SeriesError;
use crate::time::Timestamp;
use crate::time_text::zoned;

/// A point in time, and where it was written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    /// Since 1970.
    pub(super) nanos: i128,
    pub(super) east_seconds: i32,
}

impl Moment {
    pub(super) fn read(text: &str) -> Result<Self, SeriesError> {
        let (at, east_seconds) = zoned(text).map_err(|error| SeriesError::Time(error.to_string()))?;
        Ok(Moment {
            nanos: at.unix_nanos(),
            east_seconds,
        })
    }

    /// RFC 3339 at its offset, with `digits` after the second.
    pub(super) fn write(self, digits: usize, out: &mut Vec<u8>) {
        let local = Timestamp::from_unix_nanos(self.nanos + i128::from(self.east_seconds) * SECOND_NANOS);
        let text = alloc::format!("{local:.digits$}");
        let Some(minutes) = (self.east_seconds != 0).then_some(self.east_seconds / 60) else {
            return out.extend_from_slice(text.as_bytes());
        };
        out.extend_from_slice(text.trim_end_matches('Z').as_bytes());
        let sign = if minutes < 0 { '-' } else { '+' };
        let (hours, minutes) = (minutes.abs() / 60, minutes.abs() % 60);
        out.extend_from_slice(alloc::format!("{sign}{hours:02}:{minutes:02}").as_bytes());
    }
}

/// Whether a point in time lies in the years 1 to 9999 where it is written.
pub(super) fn is_in_years(nanos: i128, east_seconds: i32) -> bool {
    let day = (nanos + i128::from(east_seconds) * SECOND_NANOS).div_euclid(86_400 * SECOND_NANOS);
    i64::try_from(day).is_ok_and(|day| date_of(day).is_ok())
}

/// How many digits after the second a number of nanoseconds needs.
pub(super) fn digits_of(nanos: i128) -> usize {
    let mut rest = nanos.rem_euclid(SECOND_NANOS);
    let mut digits = if rest == 0 { 0 } else { 9 };
    while digits > 0 && rest % 10 == 0 {
        rest /= 10;
        digits -= 1;
    }
    digits
}

const SECOND_NANOS: i128 = 1_000_000_000;
