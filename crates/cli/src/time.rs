//! Points in time as people write them, and as we write them back.

use std::time::Duration;

use mintage::{Clock, SystemClock, Timestamp, nanos_of_span};

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
    text.parse().map_err(|error: mintage::NotATime| error.to_string())
}

/// A length of time such as `10ms`, `1h30m`.
pub(crate) fn parse_duration(text: &str) -> Result<Duration, String> {
    let nanos = nanos_of_span(text).and_then(|nanos| u64::try_from(nanos).ok());
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
    let nanos = now.unix_nanos().checked_add(nanos_of_span(&text[1..])? * sign)?;
    Some(Timestamp::from_unix_nanos(nanos))
}

#[cfg(test)]
mod tests {
    use mintage_wire::shown;

    use super::*;

    const SECOND: i128 = 1_000_000_000;

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
            ("2022-02-22T19:22:22", "no time zone"),
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
