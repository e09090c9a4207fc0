//! Days and dates of the proleptic Gregorian calendar, and points in time as RFC 3339 writes them.

use core::fmt;

use crate::time::Timestamp;

/// A day of the proleptic Gregorian calendar: the rules of today, also for the days before they were made.
///
/// ```
/// use mintage::Date;
/// let day = Date::new(2022, 2, 22).unwrap();
/// assert_eq!(day.day_number(), 19_045); // days since 1970-01-01
/// assert_eq!(Date::from_day_number(19_045), day);
/// assert_eq!(day.to_string(), "2022-02-22");
/// assert_eq!(Date::new(2023, 2, 29), None); // there was no such day
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Date {
    year: i64,
    month: u8,
    day: u8,
}

impl Date {
    /// The day of that year, month (1 to 12) and day of the month, if it exists.
    ///
    /// Years are those of ISO 8601: year 0 is the one before year 1. They reach 10^15 either way.
    pub const fn new(year: i64, month: u8, day: u8) -> Option<Date> {
        let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        let length = match month {
            2 => 28 + is_leap as u8,
            4 | 6 | 9 | 11 => 30,
            1..=12 => 31,
            _ => return None,
        };
        if day < 1 || day > length || year.unsigned_abs() > YEAR_MAX {
            return None;
        }
        Some(Date { year, month, day })
    }

    /// The day that lies so many days after (or before) 1970-01-01; the first or last of all beyond those.
    pub fn from_day_number(day_number: i64) -> Date {
        // Years that begin in March put the leap day last (Howard Hinnant, "chrono-compatible low-level date
        // algorithms", civil_from_days).
        let days = day_number.clamp(-DAY_NUMBER_MAX, DAY_NUMBER_MAX) + MARCH_OF_YEAR_0;
        let era = days.div_euclid(ERA_DAYS);
        let of_era = days.rem_euclid(ERA_DAYS);
        let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year + year / 4 - year / 100);
        let months = (5 * of_year + 2) / 153;
        let month = if months < 10 { months + 3 } else { months - 9 };
        Date {
            year: era * 400 + year + i64::from(month <= 2),
            month: month as u8,
            day: (of_year - (153 * months + 2) / 5 + 1) as u8,
        }
    }

    /// How many days after 1970-01-01 it lies; negative before.
    pub const fn day_number(self) -> i64 {
        // The reverse of the above (days_from_civil).
        let (year, months) = match self.month {
            1 | 2 => (self.year - 1, self.month as i64 + 9),
            month => (self.year, month as i64 - 3),
        };
        let of_era = year.rem_euclid(400);
        let of_year = (153 * months + 2) / 5 + self.day as i64 - 1;
        year.div_euclid(400) * ERA_DAYS + of_era * 365 + of_era / 4 - of_era / 100 + of_year - MARCH_OF_YEAR_0
    }

    /// The year, as ISO 8601 counts them.
    pub const fn year(self) -> i64 {
        self.year
    }

    /// The month, 1 to 12.
    pub const fn month(self) -> u8 {
        self.month
    }

    /// The day of the month, 1 to 31.
    pub const fn day(self) -> u8 {
        self.day
    }
}

/// `YYYY-MM-DD`; years past 9999 and before 0 with a sign and at least five digits, as ISO 8601 has it.
impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = Text::new();
        text.date(*self);
        f.write_str(text.as_str())
    }
}

/// RFC 3339 in UTC, with as many digits after the second as the time has; `{:.3}` asks for three.
///
/// Years past 9999, which ids can hold and RFC 3339 cannot, are written with a sign as ISO 8601 does.
///
/// ```
/// use mintage::Timestamp;
/// let at = Timestamp::from_unix_millis(1_645_557_742_120);
/// assert_eq!(at.to_string(), "2022-02-22T19:22:22.12Z");
/// assert_eq!(format!("{at:.3}"), "2022-02-22T19:22:22.120Z");
/// assert_eq!(format!("{at:.0}"), "2022-02-22T19:22:22Z");
/// ```
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = f.precision().unwrap_or_else(|| {
            let mut nanos = self.unix_nanos().rem_euclid(SECOND_NANOS as i128) as u32;
            let mut digits = 9;
            while digits > 0 && nanos.is_multiple_of(10) {
                nanos /= 10;
                digits -= 1;
            }
            digits
        });
        let mut text = Text::new();
        text.time(*self, digits.min(9));
        f.write_str(text.as_str())
    }
}

/// Room for the longest time: a year of a sign and sixteen digits, and 26 characters more.
struct Text {
    bytes: [u8; 48],
    length: usize,
}

impl Text {
    const fn new() -> Text {
        Text {
            bytes: [0; 48],
            length: 0,
        }
    }

    fn date(&mut self, date: Date) {
        match date.year {
            0..=9999 => self.number(date.year as u64, 4),
            year => {
                self.push(if year < 0 { b'-' } else { b'+' });
                let year = year.unsigned_abs();
                self.number(year, 1 + year.checked_ilog10().unwrap_or(0).max(4));
            }
        }
        for value in [date.month, date.day] {
            self.push(b'-');
            self.number(value.into(), 2);
        }
    }

    fn time(&mut self, at: Timestamp, digits: usize) {
        // 64 bits of nanoseconds reach to 2262; a division of 128 bits costs as much as all the rest.
        let (day, nanos) = match i64::try_from(at.unix_nanos()) {
            Ok(nanos) => (nanos.div_euclid(DAY_NANOS), nanos.rem_euclid(DAY_NANOS) as u64),
            Err(_) => {
                let (day, nanos) = (
                    at.unix_nanos().div_euclid(DAY_NANOS.into()),
                    at.unix_nanos().rem_euclid(DAY_NANOS.into()),
                );
                let end = if day < 0 { i64::MIN } else { i64::MAX };
                (i64::try_from(day).unwrap_or(end), nanos as u64)
            }
        };
        self.date(Date::from_day_number(day));
        let second = nanos / SECOND_NANOS;
        for (mark, value) in [
            (b'T', second / 3600),
            (b':', second / 60 % 60),
            (b':', second % 60),
        ] {
            self.push(mark);
            self.number(value, 2);
        }
        if digits > 0 {
            self.push(b'.');
            let dropped = 10u64.pow(9 - digits as u32);
            self.number(nanos % SECOND_NANOS / dropped, digits as u32);
        }
        self.push(b'Z');
    }

    /// Appends `value` in `width` decimal digits, which it fits.
    fn number(&mut self, value: u64, width: u32) {
        let end = self.length + width as usize;
        let mut rest = value;
        for digit in self.bytes[self.length..end].iter_mut().rev() {
            *digit = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        self.length = end;
    }

    fn push(&mut self, letter: u8) {
        self.bytes[self.length] = letter;
        self.length += 1;
    }

    fn as_str(&self) -> &str {
        core::str::from_utf8(&self.bytes[..self.length]).expect("ASCII")
    }
}

const YEAR_MAX: u64 = 1_000_000_000_000_000;
/// A little less than the days of those years, so that no year passes them.
const DAY_NUMBER_MAX: i64 = 365_000_000_000_000_000;
/// The Gregorian calendar repeats after 400 years.
const ERA_DAYS: i64 = 146_097;
/// From 0000-03-01 to 1970-01-01.
const MARCH_OF_YEAR_0: i64 = 719_468;
const SECOND_NANOS: u64 = 1_000_000_000;
const DAY_NANOS: i64 = 86_400_000_000_000;

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn days_and_dates_are_inverse() {
        for day in (-800_000..4_000_000).step_by(7).chain([i64::MIN, i64::MAX]) {
            let date = Date::from_day_number(day);
            assert_eq!(date.day_number(), day.clamp(-DAY_NUMBER_MAX, DAY_NUMBER_MAX));
            assert_eq!(Date::new(date.year(), date.month(), date.day()), Some(date));
        }
    }

    #[test]
    fn days_that_do_not_exist_are_none() {
        for (year, month, day) in [
            (2023, 2, 29),
            (1900, 2, 29),
            (2024, 4, 31),
            (2024, 13, 1),
            (2024, 0, 1),
            (2024, 1, 0),
            (i64::MAX, 1, 1),
            (i64::MIN, 1, 1),
        ] {
            assert_eq!(Date::new(year, month, day), None);
        }
        assert!(Date::new(2000, 2, 29).is_some());
    }

    #[test]
    fn times_are_shown_in_utc() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (4_107_542_399, "2100-02-28T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
            (-12_219_292_800, "1582-10-15T00:00:00Z"),
            (-62_167_219_201, "-00001-12-31T23:59:59Z"),
            (253_402_300_799, "9999-12-31T23:59:59Z"),
            (253_402_300_800, "+10000-01-01T00:00:00Z"),
            (281_474_976_710, "+10889-08-02T05:31:50Z"),
        ] {
            let at = Timestamp::from_unix_nanos(seconds * 1_000_000_000);
            assert_eq!(at.to_string(), text);
        }
    }

    #[test]
    fn the_farthest_times_have_room() {
        for nanos in [i128::MIN, i128::MAX] {
            let text = format!("{:.9}", Timestamp::from_unix_nanos(nanos));
            assert!(text.ends_with('Z') && text.len() <= 48, "{text}");
        }
    }
}
