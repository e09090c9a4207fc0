//! How likely a reading is.
//!
//! Three things speak for one: a structure that chance seldom gives, a time between the format's beginning and
//! now, and that the format is common. The numbers are ours; their order is what counts.

use alloc::borrow::Cow;
use alloc::format;
use core::time::Duration;

use crate::format::{Details, Format, GenOptions, Id};
use crate::time::Timestamp;

/// What a time in an id says about the reading.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Plausible {
    /// Between the beginning and now.
    Yes,
    /// So near the beginning that any small number gives it.
    Early,
    /// After now.
    Future,
}

/// Where `at` lies between the first time of its format and now.
pub(super) fn plausibility(at: Timestamp, first: Timestamp, now: Timestamp) -> Plausible {
    if at > now.saturating_add(Duration::from_secs(DAY)) {
        Plausible::Future
    } else if at < first.saturating_add(Duration::from_secs(30 * DAY)) {
        Plausible::Early
    } else {
        Plausible::Yes
    }
}

const DAY: u64 = 86_400;

/// Rank and reason of an id of a row.
pub(super) fn of_format(
    row: &Format,
    id: &Id,
    details: &Details,
    options: &GenOptions,
    now: Timestamp,
) -> (f64, Cow<'static, str>) {
    let title = row.title;
    let Some(time) = details.time else {
        return shape_alone(row, id, options);
    };
    // A text of any length is more often something else.
    let odd = if row.text_len.0 == row.text_len.1 || row.name == "typeid" {
        0.25
    } else {
        0.1
    };
    let first = row.time.map_or(Timestamp::UNIX_EPOCH, |shape| shape.first);
    let first = options.epoch.unwrap_or(first);
    // Formats that count from 1970 or before are all younger than that.
    let first = first.max(Timestamp::from_unix_millis(IDS_SINCE_MS));
    match plausibility(time.at, first, now) {
        Plausible::Yes => {
            let why = format!("the length and the characters of a {title}, and its time is plausible");
            (with_time(row, id), why.into())
        }
        Plausible::Early => {
            let why = format!(
                "the length and the characters of a {title}, but its time lies before there were any"
            );
            (with_time(row, id) * odd, why.into())
        }
        Plausible::Future => {
            let why = format!("the length and the characters of a {title}, but its time lies in the future");
            (with_time(row, id) * odd, why.into())
        }
    }
}

/// 1985-01-01: before, nobody made ids of these kinds, other than for past events.
const IDS_SINCE_MS: i64 = 473_385_600_000;

/// With a plausible time. Formats that are not named here have one like most.
fn with_time(row: &Format, id: &Id) -> f64 {
    match row.name {
        "typeid" if id.text().is_some_and(|prefix| !prefix.is_empty()) => 0.97,
        // A bare one is a ULID in lower case.
        "typeid" => 0.85,
        "ulid" => 0.95,
        "ksuid" | "xid" => 0.9,
        "objectid" | "scru128" | "cuid" => 0.85,
        "tid" | "pushid" => 0.75,
        // A hyphen at its place.
        "nano64" => 0.9,
        // 12 letters and digits of any kind have a time in its range of two thousand years.
        "scru64" => 0.4,
        // Eight bits of a KSUID read as time: all of those are such, too.
        "ksuidms" => 0.2,
        _ => 0.6,
    }
}

/// Nothing but the shape, or a checksum.
fn shape_alone(row: &Format, id: &Id, options: &GenOptions) -> (f64, Cow<'static, str>) {
    let title = row.title;
    if row.name == "token" && options.checksum {
        let why = "a prefix, characters and a checksum that fits, as one in two thousand million texts has";
        return (0.97, why.into());
    }
    let confidence = match row.name {
        "cuid2" if id.text().is_some_and(|text| text.len() == 24) => 0.5,
        // A prefix is much of a structure; without one, what is no version 7 is rather a ULID in lower case.
        "typeid" if id.text().is_some_and(|prefix| !prefix.is_empty()) => 0.9,
        "nanoid" => 0.35,
        // Without the salt, only a text made with none is one; few others are, but it says little.
        "hashids" if id.text().is_some_and(|text| text.len() >= 6) => 0.15,
        "token" | "sqids" | "hashids" | "cuid2" => 0.05,
        _ => 0.3,
    };
    let why = format!("the length and the characters of a {title}, which has nothing else to check");
    (confidence, why.into())
}
