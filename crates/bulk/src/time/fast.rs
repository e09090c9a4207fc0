//! The one form that nearly every column has, read without a detour: `2024-05-01T12:00:00.123456Z` and its like.
//!
//! What it does not know goes to jiff, which is also its twin in the tests.

use jiff::civil::Date;
use jiff::tz::Offset;

/// A time on a wall, and how far east that wall is, if the text says so.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Read {
    /// Seconds from 1970-01-01T00:00:00 on the same wall.
    pub(super) seconds: i64,
    pub(super) nanos: u32,
    /// Seconds east of Greenwich.
    pub(super) east: Option<i32>,
}

/// The last date and its days since 1970: rows that follow each other share it.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct DayMemo {
    date: [u8; 10],
    days: i64,
}

/// Reads `YYYY-MM-DD`, `T` or a space, `HH:MM:SS`, a fraction after a point or comma, and a zone or none.
#[inline]
pub(super) fn read(text: &[u8], memo: &mut DayMemo) -> Option<Read> {
    let (date, rest) = text.split_first_chunk::<10>()?;
    let (time, mut rest) = rest.split_first_chunk::<9>()?;
    let days = if *date == memo.date {
        memo.days
    } else {
        let days = days_of(date)?;
        *memo = DayMemo { date: *date, days };
        days
    };
    if !matches!(time[0], b'T' | b't' | b' ') || time[3] != b':' || time[6] != b':' {
        return None;
    }
    let (hour, minute, second) = (
        two(time[1], time[2])?,
        two(time[4], time[5])?,
        two(time[7], time[8])?,
    );
    // jiff has a word on leap seconds.
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let mut nanos = 0;
    if let [b'.' | b',', fraction @ ..] = rest {
        let digits = fraction.iter().take_while(|b| b.is_ascii_digit()).count();
        if digits == 0 {
            return None;
        }
        for digit in &fraction[..digits.min(9)] {
            nanos = nanos * 10 + u32::from(digit - b'0');
        }
        nanos *= POWERS[9 - digits.min(9)];
        rest = &fraction[digits..];
    }
    let east = match rest {
        [] => None,
        [b'Z' | b'z'] => Some(0),
        [b' ', zone @ ..] | zone => Some(offset(zone)?),
    };
    let seconds = days * 86_400 + i64::from(hour * 3600 + minute * 60 + second);
    Some(Read { seconds, nanos, east })
}

/// `Z`, `+HH:MM`, `+HHMM` or `+HH`, in seconds east.
pub(super) fn offset(text: &[u8]) -> Option<i32> {
    let (sign, rest) = match text {
        [b'Z' | b'z'] => return Some(0),
        [b'+', rest @ ..] => (1, rest),
        [b'-', rest @ ..] => (-1, rest),
        _ => return None,
    };
    let (hours, minutes) = match *rest {
        [a, b, b':', c, d] | [a, b, c, d] => (two(a, b)?, two(c, d)?),
        [a, b] => (two(a, b)?, 0),
        _ => return None,
    };
    (hours < 24 && minutes < 60).then_some(sign * (hours * 3600 + minutes * 60) as i32)
}

/// The offset at the end of a longer text, before a zone's name in brackets.
pub(super) fn trailing_offset(text: &[u8]) -> Option<i32> {
    let end = text.iter().position(|b| *b == b'[').unwrap_or(text.len());
    let sign = text[..end]
        .iter()
        .rposition(|b| matches!(b, b'+' | b'-' | b'Z' | b'z'))?;
    offset(&text[sign..end])
}

#[inline]
fn two(tens: u8, ones: u8) -> Option<u32> {
    let (tens, ones) = (tens.wrapping_sub(b'0'), ones.wrapping_sub(b'0'));
    (tens < 10 && ones < 10).then(|| u32::from(tens) * 10 + u32::from(ones))
}

fn days_of(date: &[u8; 10]) -> Option<i64> {
    let [y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2] = *date else {
        return None;
    };
    let year = two(y1, y2)? * 100 + two(y3, y4)?;
    let date = Date::new(year as i16, two(m1, m2)? as i8, two(d1, d2)? as i8).ok()?;
    let midnight = Offset::UTC.to_timestamp(date.at(0, 0, 0, 0)).ok()?;
    Some(midnight.as_second() / 86_400)
}

const POWERS: [u32; 10] = [
    1,
    10,
    100,
    1_000,
    10_000,
    100_000,
    1_000_000,
    10_000_000,
    100_000_000,
    1_000_000_000,
];

#[cfg(test)]
mod tests {
    use jiff::fmt::temporal::DateTimeParser;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_fast_way_agrees_with_jiff(
            year in 0..10_000i32, month in 0..14u8, day in 0..33u8,
            hour in 0..25u8, minute in 0..61u8, second in 0..60u8,
            fraction in "([.,][0-9]{1,9})?", zone in "(Z|[+-][01][0-9]:[0-5][0-9])",
        ) {
            let text = format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{fraction}{zone}");
            let ours = read(text.as_bytes(), &mut DayMemo::default()).map(|read| {
                i128::from(read.seconds - i64::from(read.east.unwrap())) * 1_000_000_000 + i128::from(read.nanos)
            });
            let theirs = DateTimeParser::new().parse_timestamp(&text);
            // jiff ends a little before the year 10000.
            if year < 9999 && year > 0 {
                prop_assert_eq!(ours, theirs.ok().map(|at| at.as_nanosecond()), "{}", text);
            }
        }

        #[test]
        fn no_text_makes_it_panic(text in prop::collection::vec(any::<u8>(), 0..40), tail in "[-0-9+:.,Zz ]{0,12}") {
            read(&text, &mut DayMemo::default());
            offset(&text);
            trailing_offset(&text);
            read(format!("2024-05-01T12:00:00{tail}").as_bytes(), &mut DayMemo::default());
        }
    }
}
