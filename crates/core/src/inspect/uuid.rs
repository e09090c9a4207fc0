//! UUIDs, in any of their texts.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use ::uuid::Uuid;

use super::rank::{IDS_SINCE_MS, Plausible, plausibility};
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
            // A hash or a trace has such marks by chance, and then hardly a time that can be.
            let absurd = reading
                .time
                .is_some_and(|time| plausibility(time.at, SINCE, now) != Plausible::Yes);
            reading.confidence *= if absurd { 0.4 } else { 0.9 };
            reading.why = format!("{}; 32 hexadecimal digits can also be a hash", reading.why).into();
        }
        Some(_) => {}
        None => less_exactly(&mut reading),
    }
    reading.form = form.map(UuidText::name);
    let odd = reading.variant != Some("rfc9562") || reading.confidence < 0.5;
    readings.push(reading);
    // As SQL Server and .NET keep it: what has not the marks of a UUID has them in that order.
    if odd && !text.contains('-') && marks(&Uuid::from_bytes(Order::Mixed.read(*id.as_bytes())), now) > 1 {
        let mut mixed = reading_of_order(&id, now);
        mixed.confidence = 0.45;
        readings.push(mixed);
    }
    form.is_some()
}

fn reading_of_order(id: &Uuid, now: Timestamp) -> Reading {
    let mut reading = reading(&Uuid::from_bytes(Order::Mixed.read(*id.as_bytes())), now);
    reading.why = format!("{}, its first three groups reversed", reading.why).into();
    reading.notes.push(format!(
        "{} in the order of octets in which SQL Server, .NET and Windows keep it",
        Uuid::from_bytes(Order::Mixed.read(*id.as_bytes()))
    ));
    reading
}

/// In which order a system keeps a UUID's octets: MongoDB's three legacy ones, of which C#'s is SQL Server's, too.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Order {
    /// As it is written.
    Plain,
    /// The first three groups reversed.
    Mixed,
    /// Each half reversed.
    Java,
}

impl Order {
    const ALL: [Order; 3] = [Order::Mixed, Order::Java, Order::Plain];

    /// The octets as they are written, of those that are kept in this order. It is its own way back.
    pub(super) fn read(self, kept: [u8; 16]) -> [u8; 16] {
        let places: [usize; 16] = match self {
            Order::Plain => return kept,
            Order::Mixed => [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15],
            Order::Java => [7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8],
        };
        places.map(|at| kept[at])
    }
}

/// The order in which these octets are likeliest a UUID, and the others in which they are as likely one.
pub(super) fn best_order(kept: [u8; 16]) -> (Order, Vec<Order>) {
    // What a time must lie before; the year 2100 is as good as any present.
    let now = Timestamp::from_unix_millis(4_102_444_800_000);
    let rank = |order: &Order| marks(&Uuid::from_bytes(order.read(kept)), now);
    let best = Order::ALL.iter().map(rank).max().unwrap_or(0);
    let mut found = Order::ALL.into_iter().filter(|order| rank(order) == best);
    (found.next().unwrap_or(Order::Plain), found.collect())
}

/// How much a UUID has of the marks of one: none, a version, a random one's, a version with a time that can be.
fn marks(id: &Uuid, now: Timestamp) -> u8 {
    let reading = reading(id, now);
    match (reading.variant, reading.version, reading.time) {
        (Some("rfc9562"), Some(1 | 2 | 6 | 7), Some(time)) => match plausibility(time.at, SINCE, now) {
            Plausible::Yes => 3,
            _ => 0,
        },
        (Some("rfc9562"), Some(4), _) => 2,
        (Some("rfc9562"), Some(3 | 5 | 8), _) => 1,
        _ => 0,
    }
}

/// Before, nobody made UUIDs.
const SINCE: Timestamp = Timestamp::from_unix_millis(IDS_SINCE_MS);

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
        // Versions 1 and 6 reach back to 1582.
        let plausible = plausibility(time.at, SINCE, now);
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
