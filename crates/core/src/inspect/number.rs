//! Numbers: Snowflakes of every preset, sequences, UUIDs as integers.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;

use super::rank::{Plausible, plausibility};
use super::{Reading, uuid};
use crate::format::{Details, id_of_layout};
use crate::layout::Layout;
use crate::presets::{PRESETS, WIDE_PRESETS};
use crate::text::{SnowflakeText, UuidText};
use crate::time::Timestamp;

/// Reads `id` by one layout; `None` if it is not an id of it.
///
/// ```
/// use mintage::{Layout, Timestamp, inspect_layout};
/// let layout = Layout::builder("mine").time("timestamp_ms", 41).worker("worker", 10).sequence("sequence", 12);
/// let layout = layout.build()?;
/// let now = Timestamp::from_unix_millis(1_800_000_000_000);
/// let reading = inspect_layout(7_200_000_000_000_000_000, &layout, now).expect("an id of the layout");
/// assert_eq!(reading.time.expect("a time").at.unix_millis(), 1_716_613_769_531);
/// # Ok::<(), mintage::LayoutError>(())
/// ```
pub fn inspect_layout(id: u64, layout: &Layout, now: Timestamp) -> Option<Reading> {
    inspect_layout_wide(id.into(), layout, now)
}

/// Reads `id`, of up to 128 bits, by one layout; `None` if it is not an id of it.
///
/// ```
/// use mintage::{Timestamp, inspect_layout_wide, preset};
/// let cosid = preset("cosid-string").expect("a preset").layout();
/// let now = Timestamp::from_unix_millis(1_800_000_000_000);
/// let reading = inspect_layout_wide(1_700_000_000_000 << 36 | 7 << 16 | 5, &cosid, now).expect("an id of it");
/// assert_eq!(reading.time.expect("a time").at.unix_millis(), 1_700_000_000_000);
/// assert_eq!(reading.id.bytes().len(), 10);
/// ```
pub fn inspect_layout_wide(id: u128, layout: &Layout, now: Timestamp) -> Option<Reading> {
    let name = String::from(layout.name()).into();
    reading(id, layout, name, now)
}

fn reading(id: u128, layout: &Layout, name: Cow<'static, str>, now: Timestamp) -> Option<Reading> {
    let details = Details::of_layout(id, layout)?;
    let since = SINCE
        .iter()
        .find(|(known, _)| *known == name)
        .map_or(layout.epoch(), |(_, since)| {
            Timestamp::from_unix_millis(*since).max(layout.epoch())
        });
    let rank = match plausibility(details.time?.at, since, now) {
        Plausible::Yes => (0.6, "its time lies between the layout's epoch and now"),
        Plausible::Early if since > layout.epoch() => (0.04, "its time lies before there were any"),
        Plausible::Early => (
            0.09,
            "its time lies within a month of the layout's epoch, as any small number",
        ),
        Plausible::Future => (0.05, "its time lies in the future"),
    };
    let mut reading = Reading::new(
        "snowflake",
        id_of_layout(id, layout),
        details,
        (rank.0, rank.1.into()),
    );
    reading.preset = Some(name);
    Some(reading)
}

/// Since when there are ids of presets whose epoch is older than they: every number is a time since 1970.
const SINCE: &[(&str, i64)] = &[
    // Mastodon opened in March 2016, and had Snowflakes with version 2 of 2017.
    ("mastodon", 1_456_790_400_000),
    // TiDB's first release.
    ("tso", 1_441_065_600_000),
    ("frostflake", 1_577_836_800_000),
    // scru64's first release.
    ("scru64", 1_672_531_200_000),
    ("flake-idgen", 1_388_534_400_000),
    ("linkedin", 1_325_376_000_000),
    ("cosid-string", 1_577_836_800_000),
    ("flake", 1_325_376_000_000),
];

/// A decimal number: a Snowflake of every preset that it fits, a number of a sequence, a UUID as an integer.
pub(super) fn inspect_decimal(text: &str, now: Timestamp, readings: &mut Vec<Reading>) {
    let digits = text.strip_prefix('-').unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return;
    }
    if let Ok(id) = SnowflakeText::Dec.read(text.as_bytes()) {
        inspect_presets(id, now, readings);
    }
    if let Some(row) = crate::format::format("sequence")
        && let Ok(id) = row.parse(text.as_bytes(), &crate::GenOptions::default())
    {
        let rank = match digits.len() {
            ..10 => (0.5, "a small number, as sequences give"),
            10..15 => (
                0.2,
                "any number may come from a sequence, but few sequences come this far",
            ),
            _ => (
                0.04,
                "any number may come from a sequence, but hardly one this large",
            ),
        };
        readings.push(Reading::new(
            "sequence",
            id,
            Details::default(),
            (rank.0, rank.1.into()),
        ));
    }
    inspect_wide(text, now, readings);
    // A UUID with as many leading zeros has a time no version means.
    if digits.len() > 20
        && let Ok(id) = UuidText::Int.read(text.as_bytes())
    {
        readings.push(uuid::reading_in(&id, UuidText::Int, now));
    }
}

/// Reads `id` by every preset.
fn inspect_presets(id: u64, now: Timestamp, readings: &mut Vec<Reading>) {
    for (row, preset) in (0u32..).zip(PRESETS) {
        #[cfg(feature = "std")]
        let layout = &BUILT[row as usize];
        #[cfg(not(feature = "std"))]
        let layout = &preset.layout();
        let Some(mut reading) = reading(id.into(), layout, preset.name.into(), now) else {
            continue;
        };
        // Where the time says nothing, the better known layout comes first.
        reading.confidence *= 1.0 - f64::from(row) / 50.0;
        readings.push(reading);
    }
}

/// A decimal number of more than 64 bits: by every wide preset that makes its time plausible, since of so long a number
/// the others say nothing.
pub(super) fn inspect_wide(text: &str, now: Timestamp, readings: &mut Vec<Reading>) {
    let Ok(id) = SnowflakeText::Dec.read_wide(text.as_bytes()) else {
        return;
    };
    if u64::try_from(id).is_ok() {
        return;
    }
    let found = WIDE_PRESETS.iter();
    let found = found.filter_map(|preset| reading(id, &preset.layout(), preset.name.into(), now));
    readings.extend(found.filter(|reading| reading.confidence > 0.5));
}

/// A Snowflake in another text than decimal: only what has a plausible time, and only by its likeliest preset,
/// since every short text is a number in some alphabet.
pub(super) fn inspect_forms(text: &str, now: Timestamp, readings: &mut Vec<Reading>) {
    if !(9..=64).contains(&text.len()) || text.bytes().all(|byte| byte.is_ascii_digit()) && text.len() < 60 {
        return;
    }
    if super::rank::is_wordy(text) {
        return;
    }
    for (name, form) in SnowflakeText::ALL {
        // A text of full width is one of the plain form, too, which came before.
        if form
            .padded()
            .is_some_and(|(plain, _)| plain.read(text.as_bytes()).is_ok())
        {
            continue;
        }
        // Nobody writes one number in both cases.
        let folds = matches!(form.plain(), SnowflakeText::Hex | SnowflakeText::Base36);
        let mixed = text.bytes().any(|byte| byte.is_ascii_uppercase())
            && text.bytes().any(|byte| byte.is_ascii_lowercase());
        if folds && mixed {
            continue;
        }
        let Ok(id) = form.read(text.as_bytes()) else {
            continue;
        };
        // Half of all texts of fewer characters are a time between some epoch and now.
        let proves = match form.plain() {
            SnowflakeText::Hex => 15,
            SnowflakeText::Base36 => 12,
            _ => 11,
        };
        if id < 1 << 52 || text.len() < proves {
            continue;
        }
        let mut found = Vec::new();
        inspect_presets(id, now, &mut found);
        let likeliest = found
            .into_iter()
            .max_by(|a, b| a.confidence.total_cmp(&b.confidence));
        if let Some(mut reading) = likeliest.filter(|reading| reading.confidence > 0.3) {
            reading.form = Some(name);
            // Spans of traces, addresses in memory and half of all hashes are 16 hexadecimal digits.
            reading.confidence *= if matches!(form.plain(), SnowflakeText::Hex) {
                0.15
            } else {
                0.5
            };
            reading.why = alloc::format!("a number in {name}, and {}", reading.why).into();
            readings.push(reading);
        }
    }
}

/// The layouts of [`PRESETS`], built once: building them costs more than reading an id.
#[cfg(feature = "std")]
static BUILT: std::sync::LazyLock<Vec<Layout>> =
    std::sync::LazyLock::new(|| PRESETS.iter().map(crate::Preset::layout).collect());
