//! Lengths of time as Java reads them (`Duration.parse`): ISO 8601 with days, hours, minutes and seconds (`PT5M`, `P1D`,
//! `PT1.5S`, `-PT5M`, `PT2562047788015H12M55.807S`).

use std::time::Duration;

/// Reads a length; `None`: Java's would not. What is below zero is none.
pub(super) fn read(text: &str) -> Option<Duration> {
    let upper = text.to_ascii_uppercase();
    let (negated, rest) = match upper.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, upper.strip_prefix('+').unwrap_or(&upper)),
    };
    let (days, time) = match rest.strip_prefix('P')?.split_once('T') {
        Some((_, "")) => return None,
        Some((days, time)) => (days, time),
        None => (rest.strip_prefix('P')?, ""),
    };
    let mut found = false;
    let (mut nanos, days) = part(days, 'D', DAY_S, &mut found)?;
    let mut time = time;
    for (unit, seconds) in [('H', 3600), ('M', 60), ('S', 1)] {
        let (more, after) = part(time, unit, seconds, &mut found)?;
        nanos += more;
        time = after;
    }
    if !found || !days.is_empty() || !time.is_empty() {
        return None;
    }
    let nanos = if negated { -nanos } else { nanos };
    // Java's seconds have 64 bits with a sign.
    i64::try_from(nanos.div_euclid(NANOS)).ok()?;
    let nanos = u128::try_from(nanos).unwrap_or(0);
    let seconds = u64::try_from(nanos / NANOS.unsigned_abs()).ok()?;
    Some(Duration::new(seconds, (nanos % NANOS.unsigned_abs()) as u32))
}

/// A number with its unit, if the text begins with one, in nanoseconds, and what follows it.
fn part<'t>(text: &'t str, unit: char, unit_s: i64, found: &mut bool) -> Option<(i128, &'t str)> {
    let Some((number, rest)) = text.split_once(unit) else {
        return Some((0, text));
    };
    *found = true;
    let (whole, fraction) = match number.split_once(['.', ',']) {
        Some((whole, fraction)) if unit == 'S' => (whole, fraction),
        Some(_) => return None,
        None => (number, ""),
    };
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let digits = whole.strip_prefix(['-', '+']).unwrap_or(whole);
    if digits.is_empty() || !is_number(digits) || !is_number(fraction) || fraction.len() > NANO_DIGITS {
        return None;
    }
    let seconds = whole.parse::<i64>().ok()?.checked_mul(unit_s)?;
    let nanos: i128 = format!("{fraction:0<NANO_DIGITS$}").parse().ok()?;
    let nanos = if whole.starts_with('-') { -nanos } else { nanos };
    Some((i128::from(seconds) * NANOS + nanos, rest))
}

const DAY_S: i64 = 86_400;
const NANOS: i128 = 1_000_000_000;
/// How many digits a fraction of a second has at most.
const NANO_DIGITS: usize = 9;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_read_as_java_reads_them() {
        for (text, expected_ms) in [
            ("PT5M", Some(300_000)),
            ("pt10s", Some(10_000)),
            ("+PT0.25S", Some(250)),
            ("PT0,25S", Some(250)),
            ("PT1.S", Some(1_000)),
            ("PT1H30M", Some(5_400_000)),
            ("P1D", Some(86_400_000)),
            ("P30D", Some(30 * 86_400_000)),
            ("PT720H", Some(30 * 86_400_000)),
            ("P1DT1H1M1.5S", Some(90_061_500)),
            ("PT24H", Some(86_400_000)),
            ("PT0S", Some(0)),
            ("PT-5M", Some(0)),
            ("-PT5M", Some(0)),
            ("-PT-5M", Some(300_000)),
            ("PT+5M", Some(300_000)),
            ("P-1DT25H", Some(3_600_000)),
            ("PT1M-0.5S", Some(59_500)),
            ("-PT-1.5S", Some(1_500)),
            // How Java writes the milliseconds of a long.
            ("PT2562047788015H12M55.807S", Some(i64::MAX as u64)),
            ("PT-2562047788015H-12M-55.808S", Some(0)),
            ("PT", None),
            ("P", None),
            ("", None),
            ("-", None),
            ("--PT5M", None),
            ("5m", None),
            ("300000", None),
            ("PT5", None),
            ("P5M", None),
            ("PT5M3H", None),
            ("P1DT", None),
            ("PT1.5M", None),
            ("PTM", None),
            ("PT-M", None),
            ("PT.5S", None),
            ("PT1.-5S", None),
            ("PT1.1234567890S", None),
            ("PT99999999999999999999S", None),
            ("PT2562047788015216H", None),
            ("PT9223372036854775807S", Some(u64::MAX)),
            ("PT9223372036854775807M", None),
            ("PT18446744073709551615H", None),
            ("P1Y", None),
            ("PT5M ", None),
        ] {
            let expected = match expected_ms {
                Some(u64::MAX) => Some(Duration::from_secs(i64::MAX as u64)),
                expected => expected.map(Duration::from_millis),
            };
            assert_eq!(read(text), expected, "{text}");
        }
    }
}
