//! Times of ids as RFC 3339 text.

use mintage::{IdTime, Timestamp};

/// The time in UTC with every digit that the id really has: `2022-02-22T19:22:22.000Z`.
///
/// Years beyond 9999, which UUIDs of version 7 reach, have a sign and five digits, as ISO 8601 extends years.
pub(crate) fn rfc3339(time: &IdTime) -> String {
    let nanos = time.at.unix_nanos();
    let (seconds, below) = (nanos.div_euclid(1_000_000_000), nanos.rem_euclid(1_000_000_000));
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let (year, month, day) = civil(days);
    let sign = if year > 9999 { "+" } else { "" };
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    let digits = usize::from(time.digits.min(9));
    let fraction = match digits {
        0 => String::new(),
        _ => format!(".{}", &format!("{below:09}")[..digits]),
    };
    format!("{sign}{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{fraction}Z")
}

/// Year, month and day of a number of days after 1970-01-01 in the proleptic Gregorian calendar.
///
/// Counts in eras of 400 years that begin on 1 March, so that the leap day comes last (Howard Hinnant,
/// "chrono-Compatible Low-Level Date Algorithms", `civil_from_days`).
fn civil(days: i128) -> (i128, i128, i128) {
    let days = days + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year_of_era + era * 400 + i128::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_the_digits_that_the_id_has() {
        for (nanos, digits, want) in [
            (1_645_557_742_000_000_000, 3, "2022-02-22T19:22:22.000Z"),
            (1_645_557_742_123_456_700, 7, "2022-02-22T19:22:22.1234567Z"),
            (0, 0, "1970-01-01T00:00:00Z"),
            (-1, 9, "1969-12-31T23:59:59.999999999Z"),
            (951_782_400_000_000_000, 3, "2000-02-29T00:00:00.000Z"),
            (-12_219_292_800_000_000_000, 7, "1582-10-15T00:00:00.0000000Z"),
            (281_474_976_710_655_000_000, 3, "+10889-08-02T05:31:50.655Z"),
        ] {
            let at = Timestamp::from_unix_nanos(nanos);
            assert_eq!(rfc3339(&IdTime { at, digits }), want);
        }
    }
}
