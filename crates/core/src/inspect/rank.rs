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
    let since = SINCE.iter().find(|(known, _)| *known == row.name);
    let odd = if since.is_some() { 0.1 } else { odd };
    let first = since.map_or(first, |(_, since)| Timestamp::from_unix_millis(*since).max(first));
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

/// Since when there are ids of formats that are not made for past events, where that is later than their epoch.
const SINCE: &[(&str, i64)] = &[
    ("scru128", 1_640_995_200_000),
    ("scru64", 1_672_531_200_000),
    ("pushid", 1_325_376_000_000),
    ("cuid", 1_325_376_000_000),
    ("xid", 1_420_070_400_000),
];

/// Whether a text is rather words than random characters: few runs of letters or digits for its length. Of capitals,
/// small letters and digits by chance, hardly two follow each other that are of one kind.
pub(super) fn is_wordy(text: &str) -> bool {
    let kind = |byte: u8| match byte {
        b'a'..=b'z' => 1,
        b'A'..=b'Z' => 2,
        b'0'..=b'9' => 3,
        _ => 0,
    };
    let (mut runs, mut last, mut digits) = (0, 0, false);
    for byte in text.bytes() {
        let now = kind(byte);
        // A capital begins the word that the small letters after it go on with.
        if now != 0 && now != last && !(last == 2 && now == 1) {
            runs += 1;
        }
        digits |= now == 3;
        last = now;
    }
    let most = if digits { text.len() / 7 } else { text.len() / 5 };
    runs <= most.max(2)
}

/// 1985-01-01: before, nobody made ids of these kinds, other than for past events.
pub(super) const IDS_SINCE_MS: i64 = 473_385_600_000;
