//! Lengths of time as Java writes them: ISO 8601 with days, hours, minutes and seconds (`PT5M`, `P1D`, `PT1.5S`).

use std::time::Duration;

/// Reads a length; `None`: it is none, or less than nothing.
pub(super) fn read(text: &str) -> Option<Duration> {
    let upper = text.to_ascii_uppercase();
    let rest = upper.strip_prefix('+').unwrap_or(&upper).strip_prefix('P')?;
    let (days, time) = match rest.split_once('T') {
        Some((_, "")) => return None,
        Some((days, time)) => (days, time),
        None => (rest, ""),
    };
    let mut found = false;
    let (mut length, days) = part(days, 'D', DAY_S, &mut found)?;
    let mut time = time;
    for (unit, seconds) in [('H', 3600), ('M', 60), ('S', 1)] {
        let (more, after) = part(time, unit, seconds, &mut found)?;
        length = length.checked_add(more)?;
        time = after;
    }
    (found && days.is_empty() && time.is_empty()).then_some(length)
}

/// A number with its unit, if the text begins with one, and what follows it.
fn part<'t>(text: &'t str, unit: char, unit_s: u64, found: &mut bool) -> Option<(Duration, &'t str)> {
    let Some((number, rest)) = text.split_once(unit) else {
        return Some((Duration::ZERO, text));
    };
    *found = true;
    let (whole, fraction) = match number.split_once(['.', ',']) {
        Some((whole, fraction)) if unit == 'S' => (whole, fraction),
        Some(_) => return None,
        None => (number, ""),
    };
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !is_number(whole) || !is_number(fraction) || fraction.len() > NANO_DIGITS {
        return None;
    }
    let seconds = whole.parse::<u64>().ok()?.checked_mul(unit_s)?;
    let nanos = format!("{fraction:0<NANO_DIGITS$}").parse().ok()?;
    Some((Duration::new(seconds, nanos), rest))
}

/// Writes whole seconds.
pub(super) fn write(length: Duration) -> String {
    let seconds = length.as_secs();
    let units = [
        ('H', seconds / 3600),
        ('M', seconds / 60 % 60),
        ('S', seconds % 60),
    ];
    let parts: String = units
        .iter()
        .filter(|(_, count)| *count > 0)
        .map(|(unit, count)| format!("{count}{unit}"))
        .collect();
    match parts.as_str() {
        "" => "PT0S".into(),
        parts => format!("PT{parts}"),
    }
}

const DAY_S: u64 = 86_400;
/// How many digits a fraction of a second has at most.
const NANO_DIGITS: usize = 9;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_read_as_java_writes_them() {
        for (text, expected_ms) in [
            ("PT5M", Some(300_000)),
            ("pt10s", Some(10_000)),
            ("+PT0.25S", Some(250)),
            ("PT1H30M", Some(5_400_000)),
            ("P1D", Some(86_400_000)),
            ("P1DT1H1M1.5S", Some(90_061_500)),
            ("PT24H", Some(86_400_000)),
            ("PT0S", Some(0)),
            ("PT", None),
            ("P", None),
            ("", None),
            ("5m", None),
            ("300000", None),
            ("PT5", None),
            ("P5M", None),
            ("PT5M3H", None),
            ("P1DT", None),
            ("PT-5M", None),
            ("-PT5M", None),
            ("PT1.5M", None),
            ("PTM", None),
            ("PT1.1234567890S", None),
            ("PT99999999999999999999S", None),
            ("PT18446744073709551615H", None),
            ("P1Y", None),
            ("PT5M ", None),
        ] {
            let expected = expected_ms.map(Duration::from_millis);
            assert_eq!(read(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_written_reads_back() {
        for (seconds, text) in [(0, "PT0S"), (10, "PT10S"), (600, "PT10M"), (90_061, "PT25H1M1S")] {
            let length = Duration::from_secs(seconds);
            assert_eq!(write(length), text);
            assert_eq!(read(text), Some(length));
        }
    }
}
