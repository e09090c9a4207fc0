//! Unix times: numbers that count from 1970.

use super::{Foreign, Found};
use crate::format::Details;
use crate::inspect::IdTime;
use crate::time::Timestamp;

pub(super) const UNIX_TIME: Foreign = Foreign {
    name: "unixtime",
    is: "seconds since 1970, or thousandths, millionths or thousand-millionths of one",
    source: "POSIX.1, Seconds Since the Epoch",
    read,
};

fn read(text: &str, now: Timestamp) -> Option<Found> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let with_fraction = !fraction.is_empty();
    if !digits(whole) || !digits(fraction) || fraction.len() > 9 || text.ends_with('.') {
        return None;
    }
    let number: i128 = whole.parse().ok()?;
    // From 2001 to 2286 all of a unit have the same number of digits.
    let (unit, nanos_each, real_digits) = match (whole.len(), with_fraction) {
        (10, _) => ("s", 1_000_000_000, fraction.len() as u8),
        (13, false) => ("ms", 1_000_000, 3),
        (16, false) => ("µs", 1000, 6),
        (19, false) => ("ns", 1, 9),
        _ => return None,
    };
    let mut nanos = number * nanos_each;
    if with_fraction {
        let part: i128 = fraction.parse().ok()?;
        nanos += part * 10i128.pow(9 - fraction.len() as u32);
    }
    let at = Timestamp::from_unix_nanos(nanos);
    let past = at <= now.saturating_add(core::time::Duration::from_secs(86_400));
    let round = |by: i128| number % by == 0;
    let confidence = match (unit, past) {
        (_, true) if with_fraction => 0.9,
        ("s", true) => 0.6,
        ("ms", true) => 0.7,
        // Snowflakes are as long; clocks that tell less end in zeros.
        ("µs", true) => 0.58,
        // Before 2012 hardly anything counted so finely; Snowflakes of today are as large.
        (_, true) if number < 1_325_376_000_000_000_000 => 0.3,
        (_, true) if round(1_000_000) => 0.65,
        // As a spreadsheet leaves a longer number: a clock gives three zeros or six.
        (_, true) if round(10_000) => 0.5,
        (_, true) if round(1000) => 0.62,
        (_, true) => 0.3,
        (_, false) => 0.05,
    };
    let details = Details::new(Some(IdTime {
        at,
        digits: real_digits,
    }));
    let why = match past {
        true => "as many digits as a time since 1970 has, and it has been",
        false => "as many digits as a time since 1970 has, but it lies in the future",
    };
    Some(Found::new(confidence, why, details.text("unit", unit)))
}
