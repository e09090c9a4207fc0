//! Lengths of time, parts and paces as people read them.

use std::time::Duration;

use mintage::{IdTime, Timestamp};

const MINUTE_S: u64 = 60;
const HOUR_S: u64 = 3600;
const DAY_S: u64 = 24 * HOUR_S;

/// A length of time in one unit: `40 s`, `10 h`, `12 days`, `3.5 years`.
///
/// ```
/// use mintage_elsewhere::doctor::lasting;
/// use std::time::Duration;
/// assert_eq!(lasting(Duration::from_secs(10 * 3600 + 59)), "10 h");
/// ```
pub fn lasting(span: Duration) -> String {
    let seconds = span.as_secs();
    match seconds {
        0..120 => format!("{seconds} s"),
        _ if seconds < 2 * HOUR_S => format!("{} min", seconds / MINUTE_S),
        _ if seconds < 2 * DAY_S => format!("{} h", seconds / HOUR_S),
        _ if seconds < 730 * DAY_S => format!("{} days", seconds / DAY_S),
        _ => format!("{:.1} years", seconds as f64 / (365.25 * DAY_S as f64)),
    }
}

/// A part of a whole, never rounded up to all of it.
pub(super) fn percent(part: f64) -> String {
    format!("{:.1} %", (part * 1000.0).floor() / 10.0)
}

/// Numbers a second: three digits are enough for everybody.
pub fn pace_words(per_s: f64) -> String {
    match per_s {
        0.0 => "0".to_string(),
        per_s if per_s >= 100.0 => format!("{per_s:.0}"),
        per_s if per_s >= 0.1 => format!("{per_s:.1}"),
        per_s => format!("{per_s:.1e}"),
    }
}

/// A day in UTC.
pub fn date(at: Timestamp) -> String {
    let shown = IdTime { at, digits: 0 }.to_string();
    shown.split('T').next().unwrap_or_default().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_have_one_unit() {
        for (seconds, text) in [
            (0, "0 s"),
            (119, "119 s"),
            (120, "2 min"),
            (7199, "119 min"),
            (7200, "2 h"),
            (2 * DAY_S, "2 days"),
            (729 * DAY_S, "729 days"),
            (1461 * DAY_S, "4.0 years"),
        ] {
            assert_eq!(lasting(Duration::from_secs(seconds)), text);
        }
    }

    #[test]
    fn parts_are_not_rounded_up() {
        assert_eq!(percent(0.9999), "99.9 %");
        assert_eq!(percent(1.0), "100.0 %");
        assert_eq!(percent(0.751), "75.1 %");
    }

    #[test]
    fn paces_are_short() {
        for (per_s, text) in [(0.0, "0"), (14.23, "14.2"), (12345.6, "12346"), (0.001, "1.0e-3")] {
            assert_eq!(pace_words(per_s), text);
        }
    }

    #[test]
    fn days_are_days() {
        assert_eq!(date(Timestamp::from_unix_millis(86_400_000 * 365)), "1971-01-01");
    }
}
