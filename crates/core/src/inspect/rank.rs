//! How likely a reading is.
//!
//! Three things speak for one: a structure that chance seldom gives, a time between the format's beginning and
//! now, and that the format is common. The numbers are ours and stand in the rows; their order is what counts.

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
    let likely = row.likely(id, details, options);
    let Some(time) = details.time else {
        let why = match options.checksum {
            true => "a prefix, characters and a checksum that fits, as one in two thousand million texts has"
                .into(),
            false => {
                format!("the length and the characters of a {title}, which has nothing else to check").into()
            }
        };
        return (likely, why);
    };
    // A text of any length is more often something else, if it has no other marks.
    let odd = match row.text_len.0 == row.text_len.1 || likely > 0.8 {
        true => 0.25,
        false => 0.1,
    };
    let first = row.time.map_or(Timestamp::UNIX_EPOCH, |shape| shape.first);
    let first = options.epoch.unwrap_or(first);
    // Formats that count from 1970 or before are all younger than that.
    let first = first.max(Timestamp::from_unix_millis(IDS_SINCE_MS));
    let (confidence, and) = match plausibility(time.at, first, now) {
        Plausible::Yes => (likely, "and its time is plausible"),
        Plausible::Early => (likely * odd, "but its time lies before there were any"),
        Plausible::Future => (likely * odd, "but its time lies in the future"),
    };
    let why = format!("the length and the characters of a {title}, {and}");
    (confidence, why.into())
}

/// 1985-01-01: before, nobody made ids of these kinds, other than for past events.
const IDS_SINCE_MS: i64 = 473_385_600_000;
