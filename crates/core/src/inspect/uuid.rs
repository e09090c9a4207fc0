//! UUIDs, in any of their texts.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use ::uuid::Uuid;

use super::rank::{Plausible, plausibility};
use super::{Reading, less_exactly};
use crate::format::{Details, GenOptions, Id};
use crate::text::{UuidText, parse_uuid, parse_uuid_lenient};
use crate::time::Timestamp;
use crate::uuid::{Node, v1};

/// Hexadecimal text in any punctuation; answers whether nothing else need be tried.
pub(super) fn inspect_hex(text: &str, now: Timestamp, readings: &mut Vec<Reading>) -> bool {
    if let Ok(id) = parse_uuid(text) {
        readings.push(reading(&id, now));
        return true;
    }
    let Ok(id) = parse_uuid_lenient(text) else {
        return false;
    };
    let mut reading = reading(&id, now);
    let form = [UuidText::Simple, UuidText::Urn, UuidText::Braced]
        .into_iter()
        .find(|form| form.read(text.as_bytes()).is_ok());
    match form {
        Some(UuidText::Simple) => {
            reading.confidence *= 0.9;
            reading.why = format!("{}; 32 hexadecimal digits can also be a hash", reading.why).into();
        }
        Some(_) => {}
        None => less_exactly(&mut reading),
    }
    reading.form = form.map(UuidText::name);
    readings.push(reading);
    form.is_some()
}

/// Texts in other alphabets. Many short texts are one of these: what speaks for them is a version that fits.
pub(super) fn inspect_forms(text: &str, now: Timestamp, readings: &mut Vec<Reading>) {
    let base2 = text.len() == 128 && text.bytes().all(|byte| matches!(byte, b'0' | b'1'));
    let number = text.bytes().all(|byte| byte.is_ascii_digit()) && text.len() > 26;
    if !base2 && (!(20..=40).contains(&text.len()) || number) {
        return;
    }
    for (_, form) in UuidText::ALL {
        if matches!(
            form,
            UuidText::Hyphenated
                | UuidText::Simple
                | UuidText::Urn
                | UuidText::Braced
                | UuidText::Upper
                | UuidText::Int
                | UuidText::Raw
        ) {
            continue;
        }
        if let Ok(id) = form.read(text.as_bytes()) {
            readings.push(reading_in(&id, *form, now));
        } else if let Ok(id) = form.read_lenient(text.as_bytes())
            && form.width().is_some_and(|width| text.len() >= width)
        {
            let mut reading = reading_in(&id, *form, now);
            less_exactly(&mut reading);
            readings.push(reading);
        }
    }
}

/// A UUID read from a text that could be much else.
pub(super) fn reading_in(id: &Uuid, form: UuidText, now: Timestamp) -> Reading {
    let mut reading = reading(id, now);
    let name = form.name();
    let version = reading.version.filter(|version| (1..=8).contains(version));
    let plausible = reading
        .time
        .is_some_and(|time| plausibility(time.at, Timestamp::UNIX_EPOCH, now) == Plausible::Yes);
    let (confidence, why): (f64, Cow<'static, str>) = match version {
        Some(version) if plausible => (
            0.96,
            format!(
                "in {name} it is a uuid of version {version} with a plausible time, as chance seldom has it"
            )
            .into(),
        ),
        Some(version) if reading.time.is_some() => (
            0.1,
            format!("in {name} it is a uuid of version {version}, but its time is not plausible").into(),
        ),
        // Any text of 20 characters is z85, and hardly a UUID is written in it.
        Some(version) => (
            match (form, version) {
                (UuidText::Z85, _) => 0.08,
                (_, 4) => 0.45,
                _ => 0.25,
            },
            format!("in {name} it is a uuid of version {version}, as one in 64 texts is by chance").into(),
        ),
        None => (
            0.03,
            format!("in {name} it is 128 bits, but of no version of uuid").into(),
        ),
    };
    // Of two that fit equally well, the better known alphabet.
    let place = UuidText::ALL
        .iter()
        .position(|(_, row)| *row == form)
        .unwrap_or(0);
    reading.confidence = confidence * (1.0 - place as f64 / 1000.0);
    reading.why = why;
    reading.form = Some(name);
    reading
}

/// A UUID by its variant and version.
pub(super) fn reading(id: &Uuid, now: Timestamp) -> Reading {
    let variant = match id.as_bytes()[8] >> 5 {
        0..4 => "ncs",
        4..6 => "rfc9562",
        6 => "microsoft",
        _ => "future",
    };
    let mut reading = Reading::new("uuid", Id::from(*id), Details::default(), (0.5, "".into()));
    reading.variant = Some(variant);
    if id.is_nil() || id.is_max() {
        let (name, section) = if id.is_nil() { ("nil", 9) } else { ("max", 10) };
        reading.why = format!("the {name} uuid, RFC 9562 section 5.{section}").into();
        reading.confidence = 0.99;
    } else if variant == "rfc9562" {
        of_version(&mut reading, id, now);
    } else {
        reading.why = format!("a uuid of the {variant} variant, which has no versions").into();
    }
    reading
}

fn of_version(reading: &mut Reading, id: &Uuid, now: Timestamp) {
    let version = id.as_bytes()[6] >> 4;
    reading.version = Some(version);
    if !(1..=8).contains(&version) {
        reading.why = format!("the rfc9562 variant with version {version}, which is not assigned").into();
        return;
    }
    let row = crate::format::format("uuid").expect("a row of the table");
    let details = row.read(&reading.id, &GenOptions::default()).unwrap_or_default();
    (reading.time, reading.fields) = (details.time, details.fields);
    reading.confidence = 0.99;
    let reasons = WHY[usize::from(version) - 1];
    reading.why = reasons[0].into();
    if let Some(time) = reading.time {
        // 1970 is far too early for any uuid, but versions 1 and 6 reach back to 1582.
        let plausible = plausibility(time.at, Timestamp::UNIX_EPOCH, now);
        reading.why = reasons[1 + plausible as usize].into();
        if plausible != Plausible::Yes {
            reading.confidence = 0.9;
        }
    }
    if version == 2 {
        let local_id = id.as_u128() >> 96;
        let note = match id.as_bytes()[9] {
            0 => format!("domain 0 is person: {local_id} is a user id of POSIX"),
            1 => format!("domain 1 is group: {local_id} is a group id of POSIX"),
            2 => format!("domain 2 is org: {local_id} is a number of the site's own"),
            domain => format!("domain {domain} is the site's own"),
        };
        reading.notes.push(note);
    }
    if matches!(version, 1 | 2 | 6) {
        reading.notes.extend(node_note(id));
    }
    if version == 1 {
        reading.notes.extend(cycles(id));
    }
}

macro_rules! why {
    ($($version:literal)*) => {
        [$([
            concat!("variant rfc9562 and version ", $version),
            concat!("variant rfc9562 and version ", $version, ", and its time is plausible"),
            concat!("variant rfc9562 and version ", $version, ", but its time lies before any uuid was made"),
            concat!("variant rfc9562 and version ", $version, ", but its time lies in the future"),
        ]),*]
    };
}

/// Reasons by version: of ids without time, then by [`Plausible`].
const WHY: [[&str; 4]; 8] = why!(1 2 3 4 5 6 7 8);

/// What kind of node it is.
fn node_note(id: &Uuid) -> Option<String> {
    let node = Node::from_bits(id.as_u128() as u64 & 0xffff_ffff_ffff);
    let first = id.as_bytes()[10];
    Some(if first & 1 == 1 {
        format!(
            "node {node} is random or a fingerprint: its multicast bit is set, as no hardware address has it"
        )
    } else if first & 2 == 2 {
        format!("node {node} is a locally administered address, as virtual machines and containers have")
    } else {
        format!("node {node} is a hardware address, which tells the machine")
    })
}

/// Where a version 1 stands in the two cycles in which its text begins again.
fn cycles(id: &Uuid) -> [String; 2] {
    let ticks = v1::ticks_of(id).get();
    let low = ticks & 0xffff_ffff;
    let middle = ticks & 0xffff_ffff_ffff;
    let seconds = |ticks: u64| format!("{}.{:07}", ticks / SECOND, ticks % SECOND);
    [
        format!(
            "its first 8 digits count through every 429.4967296 s and begin again: {} s are through ({:.1} %); \
             ids sort by time within such a span, not across",
            seconds(low),
            low as f64 * 100.0 / (1u64 << 32) as f64
        ),
        format!(
            "its first 12 digits tell apart 325.78 days: {:.2} days are through ({:.1} %)",
            middle as f64 / (86_400.0 * SECOND as f64),
            middle as f64 * 100.0 / (1u64 << 48) as f64
        ),
    ]
}

/// Ticks of 100 ns.
const SECOND: u64 = 10_000_000;
