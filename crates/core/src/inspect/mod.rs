//! What an id is: ranked readings, with reasons.
//!
//! Every format of [`FORMATS`](crate::FORMATS), every layout of [`PRESETS`](crate::PRESETS) and every text form of a
//! UUID is tried. What can be read is kept and ranked; [`refusals`] says of all the rest why it cannot be.

mod bits;
mod calendar;
mod damage;
mod foreign;
mod near;
mod number;
mod rank;
mod refuse;
mod uuid;
mod wrapped;

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;

pub use bits::BitField;
pub use damage::{Damage, damage};
pub use foreign::{FOREIGN, Foreign};
pub use near::{fault, means_none, near_miss, no_id};
pub use number::{inspect_layout, inspect_layout_wide};
pub use refuse::{Refusal, refusals};
pub use wrapped::{Unwrapped, unwrapped};

use crate::format::{Details, FORMATS, Family, FieldValue, Format, GenOption, GenOptions, Id, IdTime};
use crate::text::TextError;
use crate::time::Timestamp;

/// One way to read an id. Plain data.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Reading {
    /// The name of the format; `uuid` whatever the version.
    pub format: &'static str,
    /// The text form, where it is not the format's own: `base58`.
    pub form: Option<&'static str>,
    /// A UUID's version, if its variant has versions.
    pub version: Option<u8>,
    /// A UUID's variant: `rfc9562`, `ncs`, `microsoft` or `future`.
    pub variant: Option<&'static str>,
    /// A Snowflake's preset.
    pub preset: Option<Cow<'static, str>>,
    /// How likely this reading is, 0 to 1.
    pub confidence: f64,
    /// Why it ranks there, a phrase.
    pub why: Cow<'static, str>,
    /// When the id says it was made.
    pub time: Option<IdTime>,
    /// What its bits hold, in the order of the bits.
    pub fields: Vec<(Cow<'static, str>, FieldValue)>,
    /// What else there is to know, a sentence each.
    pub notes: Vec<String>,
    /// The id itself: its bytes, or its text where it has none.
    pub id: Id,
}

impl Reading {
    /// A reading of a format whose id says `details`.
    fn new(
        format: &'static str,
        id: Id,
        details: Details,
        (confidence, why): (f64, Cow<'static, str>),
    ) -> Self {
        Reading {
            format,
            form: None,
            version: None,
            variant: None,
            preset: None,
            confidence,
            why,
            time: details.time,
            fields: details.fields,
            notes: Vec::new(),
            id,
        }
    }
}

/// Reads `text` in every way it can be read, the likeliest first. `now` decides how plausible a time is.
///
/// White space around the text is passed over. Nothing is made of nothing: without a reading, [`refusals`]
/// tells what was tried, and [`no_id`] what the text is instead. Below [`CONFIDENCE_LEAST`] the text is as well
/// anything else.
///
/// ```
/// use mintage::{FieldValue, Timestamp, inspect};
/// let now = Timestamp::from_unix_millis(1_800_000_000_000);
/// let readings = inspect("017f22e2-79b0-7cc3-98c4-dc0c0c07398f", now);
/// assert_eq!((readings[0].format, readings[0].version), ("uuid", Some(7)));
/// assert_eq!(readings[0].fields[0], ("unix_ts_ms".into(), FieldValue::Number(1_645_557_742_000)));
/// assert_eq!(inspect("1541815603606036480", now)[0].preset.as_deref(), Some("twitter"));
/// assert_eq!(inspect("01ARZ3NDEKTSV4RRFFQ69G5FAV", now)[0].format, "ulid");
/// assert!(inspect("no id", now).is_empty());
/// ```
pub fn inspect(text: &str, now: Timestamp) -> Vec<Reading> {
    let text = text.trim();
    if text.is_empty() || text.len() > TEXT_MAX || no_id(text).is_some() {
        return Vec::new();
    }
    let mut readings = inspect_bare(text, now);
    if readings
        .first()
        .is_some_and(|reading| reading.confidence >= CONFIDENCE_LEAST)
    {
        return readings;
    }
    let inside = |inner: &str, note: &str| {
        let mut readings = inspect_bare(inner, now);
        for reading in &mut readings {
            reading.notes.retain(|said| !said.starts_with("perhaps damaged"));
            reading.notes.push(note.into());
        }
        readings
    };
    if let Some(found) = damage(text)
        && let Some(mended) = found.mended.filter(|mended| mended.len() >= DAMAGED_LEAST)
    {
        readings = inside(&mended, &alloc::format!("damaged: {}", found.words));
        if !found.whole {
            // What is lost is not there to be read, and of a time that is left only in part nothing is sure.
            let zeros = mended.len() - mended.trim_end_matches('0').len();
            for reading in &mut readings {
                reading.fields.clear();
                reading.time = reading
                    .time
                    .filter(|_| zeros < 9)
                    .map(|time| IdTime { digits: 0, ..time });
            }
        }
        // What a spreadsheet makes of a number is no time that is round.
        readings.retain(|reading| !mended.bytes().all(|byte| byte.is_ascii_digit()) || is_number(reading));
    } else if let Some(found) = unwrapped(text) {
        readings = match no_id(&found.text) {
            Some(_) => Vec::new(),
            None => inside(&found.text, &found.how),
        };
    }
    readings
}

fn is_number(reading: &Reading) -> bool {
    reading.form.is_none() && matches!(reading.format, "snowflake" | "sequence")
}

/// Of shorter texts nobody can tell that they were ids.
const DAMAGED_LEAST: usize = 10;

/// Reads the text of an id without anything around it.
fn inspect_bare(text: &str, now: Timestamp) -> Vec<Reading> {
    let mut readings = Vec::new();
    let sure = uuid::inspect_hex(text, now, &mut readings);
    if sure && readings.iter().all(|reading| reading.confidence < 0.5) {
        // 32 digits that have not the marks of a UUID are rather a hash.
        foreign::inspect(text, now, &mut readings);
        // Or a wide Snowflake of 32 decimal digits.
        number::inspect_wide(text, now, &mut readings);
    }
    if !sure {
        foreign::inspect(text, now, &mut readings);
        number::inspect_decimal(text, now, &mut readings);
        uuid::inspect_forms(text, now, &mut readings);
        inspect_formats(text, now, &mut readings);
        number::inspect_forms(text, now, &mut readings);
    }
    if rank::is_wordy(text) && !text.bytes().all(|byte| byte.is_ascii_digit()) {
        let random = |reading: &&mut Reading| reading.form.is_some() || RANDOM.contains(&reading.format);
        readings
            .iter_mut()
            .filter(random)
            .for_each(|reading| reading.confidence *= 0.1);
    }
    readings.sort_by(|a, b| b.confidence.total_cmp(&a.confidence));
    if let Some(first) = readings
        .first_mut()
        .filter(|reading| reading.format == "snowflake" && reading.form.is_none())
    {
        first.notes.extend(damage::of_digits(text));
    }
    readings
}

/// Formats of random characters, which words are not.
const RANDOM: &[&str] = &[
    "nanoid",
    "cuid2",
    "pushid",
    "flake",
    "scru64",
    "scru128",
    "ksuid",
    "ksuidms",
    "tid",
    "tsid",
    "xid",
    "cuid",
    "token",
    "sqids",
    "hashids",
    "timeflake",
    "youtube",
    "instagram",
    "threads",
    "nuid",
    "spotify",
    "elasticsearch",
    "prefixed",
];

/// Reads `text` as an id of `format` and nothing else, with the options that the text alone does not tell (a
/// layout, an epoch, an alphabet): strictly, or else as people write it.
///
/// # Errors
/// Why it is no id of the format, and where: what the strict reader says.
///
/// ```
/// use mintage::{GenOptions, Timestamp, format, inspect_as};
/// let (ulid, now) = (format("ulid").expect("a format"), Timestamp::from_unix_millis(1_800_000_000_000));
/// let reading = inspect_as("01arz3ndektsv4rrffq69g5fav", ulid, &GenOptions::default(), now)?;
/// assert!(reading.why.contains("less exactly"), "{}", reading.why);
/// let error = inspect_as("81ARZ3NDEKTSV4RRFFQ69G5FAV", ulid, &GenOptions::default(), now).unwrap_err();
/// assert_eq!(error.position(), Some(0));
/// # Ok::<(), mintage::TextError>(())
/// ```
pub fn inspect_as(
    text: &str,
    format: &'static Format,
    options: &GenOptions,
    now: Timestamp,
) -> Result<Reading, TextError> {
    let text = text.trim();
    let (id, exact) = match format.parse(text.as_bytes(), options) {
        Ok(id) => (id, true),
        Err(error) => match format.parse_lenient(text.as_bytes(), options) {
            Ok(id) => (id, false),
            Err(_) => return Err(error),
        },
    };
    let mut reading = match id.uuid() {
        Some(id) if is_uuid(format) => uuid::reading(&id, now),
        _ => of_format(format, id, options, now),
    };
    // Somebody knows what it is.
    reading.confidence = reading.confidence.max(0.5);
    if !exact {
        less_exactly(&mut reading);
    }
    if format.family == Family::Snowflake {
        let name = options.layout.as_ref().map_or("twitter", |layout| layout.name());
        reading.preset = Some(String::from(name).into());
    }
    Ok(reading)
}

/// Formats but UUIDs and plain numbers, which are looked at closer.
fn others() -> impl Iterator<Item = &'static Format> {
    FORMATS.iter().filter(|row| row.family == Family::Own)
}

fn is_uuid(row: &Format) -> bool {
    matches!(row.family, Family::Uuid(_))
}

fn inspect_formats(text: &str, now: Timestamp, readings: &mut Vec<Reading>) {
    let plain = GenOptions::default();
    let checked = GenOptions {
        checksum: true,
        ..GenOptions::default()
    };
    let bytes = text.as_bytes();
    let has = |kind: fn(&u8) -> bool| bytes.iter().filter(|byte| kind(byte)).count();
    let (upper, lower) = (has(u8::is_ascii_uppercase), has(u8::is_ascii_lowercase));
    // By chance, no text of other alphabets is all hexadecimal, and none of base 62 all in one case.
    if bytes.len() >= 8 && bytes.iter().all(|byte| *byte == bytes[0]) {
        return;
    }
    let hex = bytes.len() >= 20 && upper + lower > 0 && bytes.iter().all(u8::is_ascii_hexdigit);
    let one_case = upper + lower >= 8 && (upper == 0 || lower == 0);
    let both_cases = upper >= 3 && lower >= 3;
    let cut = near::is_nearly_uuid(text);
    for row in others() {
        if hex && row.name != "objectid" || one_case && BOTH_CASES.contains(&row.name) {
            continue;
        }
        // A checksum that fits says more than that the text could do without.
        let has_checksum = row.options.contains(&GenOption::Checksum);
        let options = match has_checksum && row.parse(bytes, &checked).is_ok() {
            true => &checked,
            false => &plain,
        };
        // A slip adds no more than hyphens.
        if bytes.len() < row.text_len.0 || bytes.len() > 2 * row.text_len.1 {
            continue;
        }
        let (id, exact) = match row.parse(bytes, options) {
            Ok(id) => (id, true),
            // Nobody writes one id in both cases, or puts the hyphens of a UUID into another.
            Err(_) if !row.has_lenient() || both_cases || cut => continue,
            Err(_) => match row.parse_lenient(bytes, options) {
                Ok(id) => (id, false),
                Err(_) => continue,
            },
        };
        let mut reading = of_format(row, id, options, now);
        if !exact {
            less_exactly(&mut reading);
        }
        // A CUID that lacks a character has the length and the alphabet of a CUID2.
        if row.name == "cuid2" && near::is_nearly_cuid(text) {
            reading.confidence *= 0.1;
        }
        readings.push(reading);
    }
}

/// Formats of base 62 and more that are long enough to have both cases.
const BOTH_CASES: &[&str] = &["ksuid", "ksuidms", "nanoid", "timeflake"];

fn of_format(row: &'static Format, id: Id, options: &GenOptions, now: Timestamp) -> Reading {
    let details = row.read(&id, options).unwrap_or_default();
    let rank = rank::of_format(row, &id, &details, options, now);
    Reading::new(row.name, id, details, rank)
}

/// Marks a reading whose text is not the one that the format writes.
fn less_exactly(reading: &mut Reading) {
    reading.confidence *= 0.85;
    let why = alloc::format!("{}; written less exactly than the format does", reading.why);
    reading.why = why.into();
}

/// A reading that is less sure than this says nothing: the text is as well anything else. Any short word is a CUID2.
pub const CONFIDENCE_LEAST: f64 = 0.1;

/// Longer text is no id.
const TEXT_MAX: usize = 512;

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;
    use crate::GregorianTicks;

    fn now() -> Timestamp {
        Timestamp::from_unix_millis(1_800_000_000_000)
    }

    #[track_caller]
    fn check_uuid(text: &str, version: Option<u8>, fields: &[(&str, FieldValue)], time: Option<(i128, u8)>) {
        let readings = inspect(text, now());
        assert_eq!(readings.len(), 1, "{readings:?}");
        let reading = &readings[0];
        assert_eq!(reading.version, version);
        let expected: Vec<_> = fields
            .iter()
            .map(|(name, value)| ((*name).into(), value.clone()))
            .collect();
        assert_eq!(reading.fields, expected);
        assert_eq!(reading.time.map(|time| (time.at.unix_nanos(), time.digits)), time);
    }

    use FieldValue::{Big, Number};

    #[test]
    fn the_rfcs_examples_are_read() {
        let at = 1_645_557_742_000_000_000;
        let node = ("node", FieldValue::Text("9f:6b:de:ce:d8:46".into()));
        let v1 = [
            ("ticks", Big(138_648_505_420_000_000)),
            ("clock_seq", Number(0x33c8)),
            node,
        ];
        check_uuid(
            "c232ab00-9414-11ec-b3c8-9f6bdeced846",
            Some(1),
            &v1,
            Some((at, 7)),
        );
        check_uuid(
            "{1EC9414C-232A-6B00-B3C8-9F6BDECED846}",
            Some(6),
            &v1,
            Some((at, 7)),
        );
        check_uuid(
            "urn:uuid:017f22e2-79b0-7cc3-98c4-dc0c0c07398f",
            Some(7),
            &[
                ("unix_ts_ms", Number(1_645_557_742_000)),
                ("rand_a", Number(0xcc3)),
                ("rand_b", Big(0x18c4_dc0c_0c07_398f)),
            ],
            Some((at, 3)),
        );
        check_uuid("919108f752d143209bacf847db4148a8", Some(4), &[], None);
        check_uuid(
            "2489e9ad-2ee2-8e00-8ec9-32d5f69181c0",
            Some(8),
            &[
                ("custom_a", Number(0x2489_e9ad_2ee2)),
                ("custom_b", Number(0xe00)),
                ("custom_c", Big(0xec9_32d5_f691_81c0)),
            ],
            None,
        );
    }

    #[test]
    fn version_2_shows_domain_and_local_id() {
        let node = ("node", FieldValue::Text("9f:6b:de:ce:d8:46".into()));
        check_uuid(
            "000003e8-9414-21ec-b300-9f6bdeced846",
            Some(2),
            &[
                ("local_id", Number(1000)),
                ("domain", Number(0)),
                ("ticks", Big(0x1ec_9414_0000_0000)),
                ("clock_seq", Number(0x33)),
                node,
            ],
            Some((
                GregorianTicks::from_bits(0x1ec_9414_0000_0000)
                    .time()
                    .unix_nanos(),
                0,
            )),
        );
    }

    #[test]
    fn odd_variants_and_versions_are_named() {
        for (text, variant, version, why) in [
            ("00000000-0000-0000-0000-000000000000", "ncs", None, "nil"),
            ("ffffffff-ffff-ffff-ffff-ffffffffffff", "future", None, "max"),
            (
                "017f22e2-79b0-fcc3-98c4-dc0c0c07398f",
                "rfc9562",
                Some(15),
                "not assigned",
            ),
            (
                "017f22e2-79b0-7cc3-d8c4-dc0c0c07398f",
                "microsoft",
                None,
                "no versions",
            ),
            ("017f22e2-79b0-7cc3-18c4-dc0c0c07398f", "ncs", None, "no versions"),
            (
                "f17f22e2-79b0-7cc3-98c4-dc0c0c07398f",
                "rfc9562",
                Some(7),
                "future",
            ),
        ] {
            let reading = &inspect(text, now())[0];
            assert_eq!((reading.variant, reading.version), (Some(variant), version));
            assert!(reading.why.contains(why), "{}", reading.why);
        }
    }

    #[test]
    fn a_known_tweet_has_its_time_and_fields() {
        // The worked example of the Snowflake article on Wikipedia.
        let reading = &inspect("1541815603606036480", now())[0];
        assert_eq!(reading.preset.as_deref(), Some("twitter"));
        assert_eq!(
            reading.time.map(|t| (t.at.unix_millis(), t.digits)),
            Some((1_656_432_460_105, 3))
        );
        let expected = [
            ("timestamp_ms", 367_597_485_448),
            ("datacenter", 11),
            ("worker", 26),
            ("sequence", 0),
        ];
        for ((name, value), (expected_name, expected)) in reading.fields.iter().zip(expected) {
            assert_eq!((&**name, value), (expected_name, &Number(expected)));
        }
    }

    #[test]
    fn implausible_times_rank_low_but_are_kept() {
        let small = inspect("7", now());
        assert_eq!(small[0].format, "sequence");
        assert!(small[1..].iter().all(|reading| reading.confidence < 0.3));
        let largest = inspect("9223372036854775807", now());
        let twitter = largest
            .iter()
            .find(|reading| reading.preset.as_deref() == Some("twitter"));
        assert!(twitter.expect("kept").confidence < 0.1);
        let too_large = inspect("18446744073709551616", now());
        assert!(
            too_large.iter().all(|reading| reading.confidence < 0.3),
            "{too_large:?}"
        );
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "\\PC{0,60}", hex in "[0-9a-f]{32}", number in proptest::prelude::any::<u64>()) {
            inspect(&text, now());
            inspect(&hex, now());
            inspect(&number.to_string(), now());
        }
    }

    /// The first reading's format, form and version.
    fn first(text: &str) -> (&'static str, Option<&'static str>, Option<u8>) {
        let readings = inspect(text, now());
        let first = readings.first().expect("a reading");
        (first.format, first.form, first.version)
    }

    #[test]
    fn the_likeliest_reading_comes_first() {
        for (text, expected) in [
            ("01ARZ3NDEKTSV4RRFFQ69G5FAV", ("ulid", None, None)),
            ("01arz3ndektsv4rrffq69g5fav", ("ulid", None, None)),
            ("01fwhe4ydgfk1shh6w1g60eecf", ("typeid", None, None)),
            ("user_2x4y6z8a0b1c2d3e4f5g6h7j8k", ("typeid", None, None)),
            ("0ujtsYcgvSTl8PAuAdqWYSMnLOv", ("ksuid", None, None)),
            ("9m4e2mr0ui3e8a215n4g", ("xid", None, None)),
            ("507f1f77bcf86cd799439011", ("objectid", None, None)),
            ("42", ("sequence", None, None)),
            ("-7", ("sequence", None, None)),
            (
                "017f22e279b07cc398c4dc0c0c07398f",
                ("uuid", Some("simple"), Some(7)),
            ),
            (
                "{017F22E2-79B0-7CC3-98C4-DC0C0C07398F}",
                ("uuid", Some("braced"), Some(7)),
            ),
            ("017f22e2-79b07cc3-98c4dc0c-0c07398f", ("uuid", None, Some(7))),
            // The same id in other alphabets: its version and time give it away.
            ("01FWHE4YDGFK1SHH6W1G60EECF", ("uuid", Some("base32"), Some(7))),
            (
                "05ZJ5RKSP1YC7664VG60R1SSHW",
                ("uuid", Some("base32human"), Some(7)),
            ),
            ("1BihbxwwQ4NZZpKRH9JDCz", ("uuid", Some("base58"), Some(7))),
            ("02p5oQZoHTv0zeY5yG21K3", ("uuid", Some("base62"), Some(7))),
            ("AX8i4nmwfMOYxNwMDAc5jw", ("uuid", Some("base64url"), Some(7))),
            ("AX8i4nmwfMOYxNwMDAc5jw==", ("uuid", Some("base64"), Some(7))),
            ("036twi214qwj7mgsvq83nm8wf", ("uuid", Some("base36"), Some(7))),
            ("haf7sfytzwdgdrrg4bqgaoompj", ("uuid", Some("ncname32"), Some(7))),
            (
                "1989357241971137676463954034883508623",
                ("uuid", Some("int"), Some(7)),
            ),
            ("1a3rjxsfbm3gm", ("snowflake", Some("base36"), None)),
        ] {
            assert_eq!(first(text), expected, "{text}: {:#?}", inspect(text, now()));
        }
    }

    #[test]
    fn what_every_format_makes_is_read_as_that_format() {
        // A text that is one of another format's, too, and likelier so.
        const DOUBTFUL: &[&str] = &["ksuidms", "nanoid", "token", "sqid", "sqids", "spaceflake"];
        let now = crate::Clock::now(&crate::SystemClock);
        for row in others().filter(|row| row.can_make()) {
            let mut ids = vec![Id::default(); 200];
            if row.make_many(&GenOptions::default(), &mut ids).is_err() {
                continue;
            }
            for id in ids {
                let text = row.text(&id).expect("its own id");
                let readings = inspect(&text, now);
                let place = readings.iter().position(|reading| reading.format == row.name);
                let reading =
                    &readings[place.unwrap_or_else(|| panic!("{}: {text}: {readings:?}", row.name))];
                assert_eq!(reading.id, id, "{text}");
                // One random ULID in 64, and with it those of its millisecond, has version and variant of a UUID; of
                // the texts of 22 characters, in more than one alphabet.
                let before = &readings[..place.expect("it is among them")];
                let is_first = before.iter().all(|other| other.format == "uuid");
                assert!(
                    is_first || DOUBTFUL.contains(&row.name),
                    "{}: {text}: {readings:?}",
                    row.name
                );
                assert!(
                    readings
                        .windows(2)
                        .all(|pair| pair[0].confidence >= pair[1].confidence)
                );
                assert!(readings.iter().all(|reading| !reading.why.is_empty()));
            }
        }
    }

    #[test]
    fn a_version_1_says_where_it_stands_in_its_cycles() {
        // 138648505420000000 ticks: 0xc232ab00 = 3258100480 in the span of 2^32, 0x9414c232ab00 in that of 2^48.
        let reading = &inspect("c232ab00-9414-11ec-b3c8-9f6bdeced846", now())[0];
        let notes = reading.notes.join("\n");
        for says in [
            "325.8100480 s are through (75.9 %)",
            "188.45 days are through (57.8 %)",
            "is random",
        ] {
            assert!(notes.contains(says), "{notes}");
        }
        assert!(
            inspect("017f22e2-79b0-7cc3-98c4-dc0c0c07398f", now())[0]
                .notes
                .is_empty()
        );
    }

    #[test]
    fn what_is_no_id_is_refused_by_name() {
        for text in ["no id", "", "%%%", "017f22e2-79b0-7cc3-98c4-dc0c0c07398g"] {
            assert!(
                inspect(text, now()).is_empty(),
                "{text}: {:?}",
                inspect(text, now())
            );
            let refused = refusals(text);
            for row in others() {
                assert!(
                    refused.iter().any(|refusal| refusal.format == row.name),
                    "{text}: {}",
                    row.name
                );
            }
            assert!(refused.iter().all(|refusal| !refusal.why.is_empty()));
        }
    }
}
