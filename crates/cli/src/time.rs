//! Points in time as people write them, and as we write them back.

use std::time::Duration;

use mintage::{Clock, Date, SystemClock, Timestamp};

/// What an option that takes a time says about itself.
pub(crate) const FORMS: &str = "Times: 2022-02-22T19:22:22.1234567Z or with +01:00, 2022-02-22 (UTC midnight), now, \
    now-1h, now+2d12h, \
    @SECONDS, and @N with suffix ms, us or ns, counted from 1970. Rounded down to what the id can hold.";

/// Reads a time; `now` is asked of the system clock only where the text speaks of it.
pub(crate) fn parse(text: &str) -> Result<Timestamp, String> {
    parse_at(text, || SystemClock.now())
}

fn parse_at(text: &str, now: impl FnOnce() -> Timestamp) -> Result<Timestamp, String> {
    if let Some(rest) = text.strip_prefix("now") {
        return offset(rest, now()).ok_or_else(|| {
            "an offset from now is written now-1h, now+2d12h; units are w, d, h, m, s, ms, us, ns".into()
        });
    }
    if let Some(rest) = text.strip_prefix('@') {
        return unix(rest).ok_or_else(|| {
            "seconds since 1970 are written @1645557742 or @1645557742.5, other units @1645557742000ms, us, ns"
                .into()
        });
    }
    date_time(text)
}

/// A length of time such as `10ms`, `1h30m`.
pub(crate) fn parse_duration(text: &str) -> Result<Duration, String> {
    let nanos = span(text).and_then(|nanos| u64::try_from(nanos).ok());
    nanos.map(Duration::from_nanos).ok_or_else(|| {
        format!("{text:?} is not a duration: write 10ms, 1s, 1h30m; units are w, d, h, m, s, ms, us, ns")
    })
}

/// `` or `+` or `-` and a span.
fn offset(text: &str, now: Timestamp) -> Option<Timestamp> {
    let sign = match text.as_bytes().first() {
        None => return Some(now),
        Some(b'+') => 1,
        Some(b'-') => -1,
        Some(_) => return None,
    };
    let nanos = now.unix_nanos().checked_add(span(&text[1..])? * sign)?;
    Some(Timestamp::from_unix_nanos(nanos))
}

/// Numbers with units, the longest unit first or in any order: `1h30m`. In nanoseconds.
fn span(text: &str) -> Option<i128> {
    let mut rest = text;
    let mut total = 0i128;
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let letters = rest[digits..].bytes().take_while(u8::is_ascii_alphabetic).count();
        let unit = match &rest[digits..digits + letters] {
            "w" => 7 * DAY,
            "d" => DAY,
            "h" => 3600 * SECOND,
            "m" | "min" => 60 * SECOND,
            "s" => SECOND,
            "ms" => 1_000_000,
            "us" => 1000,
            "ns" => 1,
            _ => return None,
        };
        // An i64 of weeks is far from the end of i128.
        total = total.checked_add(i128::from(rest[..digits].parse::<i64>().ok()?) * unit)?;
        rest = &rest[digits + letters..];
    }
    (!text.is_empty()).then_some(total)
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
fn date_time(text: &str) -> Result<Timestamp, String> {
    let wrong = || {
        format!(
            "{text:?} is not a time: write 2022-02-22T19:22:22Z, a date, now-1h, @1645557742 or @1645557742000ms"
        )
    };
    let mut rest = Reader(text);
    let year = rest.year().ok_or_else(wrong)?;
    let month = rest.after("-").and_then(|()| rest.digits(2)).ok_or_else(wrong)?;
    let day = rest.after("-").and_then(|()| rest.digits(2)).ok_or_else(wrong)?;
    let days = Date::new(year as i64, month as u8, day as u8)
        .map(|date| i128::from(date.day_number()))
        .ok_or_else(|| format!("{text:?} names a day that does not exist"))?;
    if rest.0.is_empty() {
        return Ok(Timestamp::from_unix_nanos(days * DAY));
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
            "{text:?} does not name its time zone: add Z for UTC, or an offset such as +01:00"
        ));
    }
    let east = rest.zone().filter(|_| rest.0.is_empty()).ok_or_else(wrong)?;
    let of_day = (hour * 3600 + minute * 60 + second - east) * SECOND + fraction;
    Ok(Timestamp::from_unix_nanos(days * DAY + of_day))
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

#[cfg(test)]
mod tests {
    use mintage_server::render::shown;

    use super::*;

    #[track_caller]
    fn check(text: &str, nanos: i128) {
        let now = || Timestamp::from_unix_nanos(1_000 * SECOND);
        assert_eq!(
            parse_at(text, now).map(Timestamp::unix_nanos),
            Ok(nanos),
            "{text}"
        );
    }

    #[test]
    fn times_are_read_in_every_documented_form() {
        let t = 1_645_557_742 * SECOND;
        check("2022-02-22T19:22:22Z", t);
        check("2022-02-22T14:22:22-05:00", t);
        check("2022-02-22t19:22:22.000z", t);
        check("2022-02-22 19:22:22.123456789Z", t + 123_456_789);
        check("2022-02-22T19:22:22.12345678999Z", t + 123_456_789);
        check("2022-02-22", t - (19 * 3600 + 22 * 60 + 22) * SECOND);
        check("@1645557742", t);
        check("@1645557742.5", t + SECOND / 2);
        check("@-0.5", -SECOND / 2);
        check("@1645557742000ms", t);
        check("@1645557742000001us", t + 1000);
        check("@1ns", 1);
        check("@-1ms", -1_000_000);
        check("now", 1000 * SECOND);
        check("now-1m40s", 900 * SECOND);
        check("now+1h1ms", 4600 * SECOND + 1_000_000);
        check("1582-10-15T00:00:00Z", -12_219_292_800 * SECOND);
        check("5236-03-31T21:21:00.6846975Z", 103_072_857_660_684_697_500);
        check("+10889-08-02T05:31:50.655Z", 281_474_976_710_655_000_000);
        check("-0001-01-01", -62_198_755_200 * SECOND);
    }

    #[test]
    fn what_is_no_time_is_refused_in_words() {
        for (text, says) in [
            ("", "is not a time"),
            ("yesterday", "is not a time"),
            ("2022-02-22T19:22:22", "time zone"),
            ("2022-02-29", "does not exist"),
            ("1900-02-29", "does not exist"),
            ("2022-13-01", "does not exist"),
            ("2022-02-22T24:00:00Z", "time of day"),
            ("2016-12-31T23:59:60Z", "leap second"),
            ("2022-02-22T19:22:22.Z", "is not a time"),
            ("2022-02-22T19:22:22+1:00", "is not a time"),
            ("2022-02-22T19:22:22Zé", "is not a time"),
            ("2022-02-2é", "is not a time"),
            ("now1h", "an offset"),
            ("now-", "an offset"),
            ("now-1y", "an offset"),
            ("now-é", "an offset"),
            ("@", "seconds since 1970"),
            ("@1.5ms", "seconds since 1970"),
            ("@+1", "seconds since 1970"),
            ("@99999999999999999999999999", "seconds since 1970"),
            ("@é", "seconds since 1970"),
        ] {
            let said = parse(text).unwrap_err();
            assert!(said.contains(says), "{text}: {said}");
        }
    }

    #[test]
    fn what_is_shown_reads_back() {
        for nanos in [
            0,
            -1,
            1_645_557_742_123_000_000,
            -12_219_292_800 * SECOND,
            103_072_857_660_684_697_500,
        ] {
            let at = Timestamp::from_unix_nanos(nanos);
            assert_eq!(parse(&shown(at)), Ok(at), "{}", shown(at));
        }
    }

    #[test]
    fn lengths_have_units() {
        assert_eq!(parse_duration("10ms"), Ok(Duration::from_millis(10)));
        assert_eq!(parse_duration("1h30m"), Ok(Duration::from_secs(5400)));
        assert!(
            parse_duration("10").is_err() && parse_duration("").is_err() && parse_duration("-1s").is_err()
        );
    }
}
