//! Points in time from text, as people write them.

use alloc::format;
use alloc::string::String;
use core::fmt;
use core::str::FromStr;

use crate::calendar::Date;
use crate::time::Timestamp;

/// Why a text is no point in time, and what one looks like.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NotATime {
    reason: String,
}

impl fmt::Display for NotATime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl core::error::Error for NotATime {}

/// RFC 3339 with its zone, a date alone (midnight UTC), or `@` and what has gone by since 1970: seconds, which may have
/// a fraction, or whole `ms`, `us` or `ns`. Years before 0 and past 9999 have a sign, as ISO 8601 writes them.
///
/// ```
/// use mintage::Timestamp;
/// let at = Timestamp::from_unix_millis(1_645_557_742_000);
/// for text in ["2022-02-22T19:22:22Z", "2022-02-22T20:22:22+01:00", "@1645557742", "@1645557742000ms"] {
///     assert_eq!(text.parse(), Ok(at), "{text}");
/// }
/// assert!("2022-02-30".parse::<Timestamp>().is_err()); // there was no such day
/// assert!("2022-02-22T19:22:22".parse::<Timestamp>().is_err()); // in which zone?
/// ```
impl FromStr for Timestamp {
    type Err = NotATime;

    fn from_str(text: &str) -> Result<Self, NotATime> {
        zoned(text).map(|(at, _)| at)
    }
}

/// The same, and how many seconds east of Greenwich it was written: 0 where the text has no zone of its own.
pub(crate) fn zoned(text: &str) -> Result<(Timestamp, i32), NotATime> {
    match text.strip_prefix('@') {
        Some(rest) => unix(rest).map(|at| (at, 0)).ok_or_else(|| {
            String::from(
                "seconds since 1970 are written @1645557742 or @1645557742.5, other units @1645557742000ms, us, ns",
            )
        }),
        None => date_time(text),
    }
    .map_err(|reason| NotATime { reason })
}

/// A length of time in nanoseconds: numbers with the units `w`, `d`, `h`, `m` or `min`, `s`, `ms`, `us`, `ns`, one
/// behind the other. `None` for anything else.
///
/// ```
/// assert_eq!(mintage::nanos_of_span("1m40s"), Some(100_000_000_000));
/// assert_eq!(mintage::nanos_of_span("100"), None); // of what?
/// ```
pub fn nanos_of_span(text: &str) -> Option<i128> {
    sum_of_units(text, |unit| {
        Some(match unit {
            "w" => 7 * DAY,
            "d" => DAY,
            "h" => 3600 * SECOND,
            "m" | "min" => 60 * SECOND,
            "s" => SECOND,
            "ms" => 1_000_000,
            "us" => 1000,
            "ns" => 1,
            _ => return None,
        })
    })
}

/// Numbers with units, added up; `value_of` says what a unit stands for.
pub(crate) fn sum_of_units(text: &str, value_of: impl Fn(&str) -> Option<i128>) -> Option<i128> {
    let mut rest = text;
    let mut total = 0i128;
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let letters = rest[digits..].bytes().take_while(u8::is_ascii_alphabetic).count();
        let unit = value_of(&rest[digits..digits + letters])?;
        // An i64 of weeks is far from the end of i128.
        total = total.checked_add(i128::from(rest[..digits].parse::<i64>().ok()?) * unit)?;
        rest = &rest[digits + letters..];
    }
    (!text.is_empty()).then_some(total)
}

/// When time begins: digits alone are milliseconds since 1970, anything else is a time. What counts from it is stored
/// in milliseconds.
pub(crate) fn epoch(text: &str) -> Result<Timestamp, String> {
    if let Ok(millis) = text.parse() {
        return Ok(Timestamp::from_unix_millis(millis));
    }
    let epoch: Timestamp = text.parse().map_err(|error: NotATime| error.reason)?;
    match epoch.unix_nanos() % 1_000_000 {
        0 => Ok(epoch),
        _ => Err(format!("{text:?} is not a whole number of milliseconds")),
    }
}

/// What follows an `@`.
fn unix(text: &str) -> Option<Timestamp> {
    let (number, unit) = [
        ("ms", 1_000_000),
        ("us", 1000),
        ("ns", 1),
        ("s", SECOND),
        ("", SECOND),
    ]
    .into_iter()
    .find_map(|(suffix, unit)| Some((text.strip_suffix(suffix)?, unit)))?;
    let (whole, fraction) = match number.split_once('.') {
        Some((whole, fraction)) if unit == SECOND => (whole, nanos_of(fraction)?),
        Some(_) => return None,
        None => (number, 0),
    };
    let (negative, digits) = match whole.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, whole),
    };
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    // 24 digits of seconds stay within i128 nanoseconds.
    let whole = digits.parse::<i128>().ok().filter(|n| *n < 10i128.pow(24))?;
    let nanos = whole * unit + fraction;
    Some(Timestamp::from_unix_nanos(if negative { -nanos } else { nanos }))
}

/// RFC 3339, years of up to six digits with a sign (as ISO 8601), or a date alone.
fn date_time(text: &str) -> Result<(Timestamp, i32), String> {
    let wrong = || {
        format!("{text:?} is not a time: write 2022-02-22T19:22:22Z, a date, @1645557742 or @1645557742000ms")
    };
    let mut rest = Reader(text);
    let year = rest.year().ok_or_else(wrong)?;
    let month = rest.after("-").and_then(|()| rest.digits(2)).ok_or_else(wrong)?;
    let day = rest.after("-").and_then(|()| rest.digits(2)).ok_or_else(wrong)?;
    let days = Date::new(year as i64, month as u8, day as u8)
        .map(|date| i128::from(date.day_number()))
        .ok_or_else(|| format!("{text:?} names a day that does not exist"))?;
    if rest.0.is_empty() {
        return Ok((Timestamp::from_unix_nanos(days * DAY), 0));
    }
    rest.one_of("Tt ").ok_or_else(wrong)?;
    let hour = rest.digits(2).ok_or_else(wrong)?;
    let minute = rest.after(":").and_then(|()| rest.digits(2)).ok_or_else(wrong)?;
    let second = rest.after(":").and_then(|()| rest.digits(2)).ok_or_else(wrong)?;
    if second == 60 {
        return Err(format!(
            "{text:?} is a leap second, which no id counts: use 59 or the next minute"
        ));
    }
    if hour > 23 || minute > 59 || second > 60 {
        return Err(format!("{text:?} names a time of day that does not exist"));
    }
    let fraction = match rest.after(".") {
        Some(()) => rest.fraction().ok_or_else(wrong)?,
        None => 0,
    };
    if rest.0.is_empty() {
        return Err(format!(
            "{text:?} has no time zone: add Z for UTC, or an offset such as +01:00"
        ));
    }
    let east = rest.zone().filter(|_| rest.0.is_empty()).ok_or_else(wrong)?;
    let of_day = (hour * 3600 + minute * 60 + second - east) * SECOND + fraction;
    Ok((Timestamp::from_unix_nanos(days * DAY + of_day), east as i32))
}

/// Takes a text apart from the left.
struct Reader<'a>(&'a str);

impl Reader<'_> {
    fn after(&mut self, mark: &str) -> Option<()> {
        self.0 = self.0.strip_prefix(mark)?;
        Some(())
    }

    fn one_of(&mut self, marks: &str) -> Option<char> {
        let mark = self.0.chars().next().filter(|c| marks.contains(*c))?;
        self.0 = &self.0[mark.len_utf8()..];
        Some(mark)
    }

    fn digits(&mut self, count: usize) -> Option<i128> {
        let digits = self
            .0
            .get(..count)
            .filter(|t| t.bytes().all(|b| b.is_ascii_digit()))?;
        self.0 = &self.0[count..];
        digits.parse().ok()
    }

    /// Four digits, or a sign and four to six.
    fn year(&mut self) -> Option<i128> {
        let Some(sign) = self.one_of("+-") else {
            return self.digits(4);
        };
        let count = self.0.bytes().take_while(u8::is_ascii_digit).count();
        let year = self.digits(count).filter(|_| (4..=6).contains(&count))?;
        Some(if sign == '-' { -year } else { year })
    }

    fn fraction(&mut self) -> Option<i128> {
        let count = self.0.bytes().take_while(u8::is_ascii_digit).count();
        let nanos = nanos_of(&self.0[..count])?;
        self.0 = &self.0[count..];
        Some(nanos)
    }

    /// Seconds east of Greenwich.
    fn zone(&mut self) -> Option<i128> {
        let sign = match self.one_of("Zz+-")? {
            'Z' | 'z' => return Some(0),
            '+' => 1,
            _ => -1,
        };
        let hours = self.digits(2)?;
        self.after(":")?;
        let minutes = self.digits(2)?;
        (hours < 24 && minutes < 60).then_some(sign * (hours * 3600 + minutes * 60))
    }
}

/// The digits after a decimal point of seconds; past nanoseconds they are dropped.
fn nanos_of(digits: &str) -> Option<i128> {
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    format!("{digits:0<9}")[..9].parse().ok()
}

const SECOND: i128 = 1_000_000_000;
const DAY: i128 = 86_400 * SECOND;
