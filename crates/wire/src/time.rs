//! Times and lengths of time as texts.

use std::time::Duration;

use mintage::{IdTime, Timestamp};

/// `1 ms`, `100 ns`, `4 s`: a length of time in its largest whole unit.
pub fn length(span: Duration) -> String {
    let nanos = span.as_nanos();
    let (unit, name) = [(1_000_000_000, "s"), (1_000_000, "ms"), (1000, "us"), (1, "ns")]
        .into_iter()
        .find(|(unit, _)| nanos.is_multiple_of(*unit))
        .unwrap_or((1, "ns"));
    match nanos / unit {
        count if count >= 100_000 => format!("{} s", span.as_secs_f64()),
        count => format!("{count} {name}"),
    }
}

/// A time in UTC with every digit that matters.
pub fn shown(at: Timestamp) -> String {
    let nanos = at.unix_nanos().rem_euclid(1_000_000_000);
    let digits = [(1_000_000_000, 0), (1_000_000, 3), (1000, 6), (100, 7)]
        .into_iter()
        .find(|(unit, _)| nanos % unit == 0)
        .map_or(9, |(_, digits)| digits);
    rfc3339(IdTime { at, digits })
}

/// A time as RFC 3339 in UTC, with as many digits after the second as the id really has.
///
/// Years past 9999, which ids can hold and RFC 3339 cannot, are written with a sign as ISO 8601 does.
///
/// ```
/// use mintage::{IdTime, Timestamp};
/// let at = Timestamp::from_unix_nanos(-1);
/// assert_eq!(mintage_wire::rfc3339(IdTime { at, digits: 7 }), "1969-12-31T23:59:59.9999999Z");
/// ```
pub fn rfc3339(time: IdTime) -> String {
    let mut text = String::with_capacity(32);
    let IdTime { at, digits } = time;
    // 64 bits of nanoseconds reach to 2262; a division of 128 bits costs as much as all the rest.
    let (day, nanos_of_day) = match i64::try_from(at.unix_nanos()) {
        Ok(nanos) => (
            nanos.div_euclid(NANOS_PER_DAY as i64).into(),
            nanos.rem_euclid(NANOS_PER_DAY as i64) as u64,
        ),
        Err(_) => (
            at.unix_nanos().div_euclid(NANOS_PER_DAY),
            at.unix_nanos().rem_euclid(NANOS_PER_DAY) as u64,
        ),
    };
    let (year, month, day) = civil(day);
    match year {
        0..=9999 => put_digits(&mut text, year as u64, 4),
        _ => text.push_str(&format!("{year:+06}")),
    }
    let second = nanos_of_day / 1_000_000_000;
    for (mark, value) in [
        ('-', month as u64),
        ('-', day as u64),
        ('T', second / 3600),
        (':', second / 60 % 60),
        (':', second % 60),
    ] {
        text.push(mark);
        put_digits(&mut text, value, 2);
    }
    let digits = digits.min(9);
    if digits > 0 {
        text.push('.');
        let dropped = 10u64.pow(9 - u32::from(digits));
        put_digits(&mut text, nanos_of_day % 1_000_000_000 / dropped, digits.into());
    }
    text.push('Z');
    text
}

/// Appends `value` in `width` decimal digits, which it fits.
fn put_digits(text: &mut String, value: u64, width: u32) {
    for place in (0..width).rev() {
        let digit = value / 10u64.pow(place) % 10;
        text.push(char::from(b'0' + digit as u8));
    }
}

/// Year, month and day of a day after 1970-01-01, in the proleptic Gregorian calendar (Howard Hinnant,
/// `civil_from_days`).
pub fn civil(day: i128) -> (i128, i128, i128) {
    // Days since 0000-03-01, so that leap days end their year.
    let days = day + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 {
        shifted_month + 3
    } else {
        shifted_month - 9
    };
    (year_of_era + era * 400 + i128::from(month <= 2), month, day)
}

const NANOS_PER_DAY: i128 = 86_400_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_shown_in_utc() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (4_107_542_399, "2100-02-28T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
            (-12_219_292_800, "1582-10-15T00:00:00Z"),
            (253_402_300_799, "9999-12-31T23:59:59Z"),
            (253_402_300_800, "+10000-01-01T00:00:00Z"),
            (281_474_976_710, "+10889-08-02T05:31:50Z"),
        ] {
            let at = Timestamp::from_unix_nanos(seconds * 1_000_000_000);
            assert_eq!(rfc3339(IdTime { at, digits: 0 }), text);
        }
    }
}
