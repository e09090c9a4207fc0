//! What an id is: ranked readings, with reasons.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use ::uuid::Uuid;

use crate::layout::{Layout, Role};
use crate::presets::PRESETS;
use crate::text::SnowflakeText;
use crate::time::Timestamp;
use crate::uuid::{GregorianTicks, Node, v1, v6, v7};

/// One way to read an id. Plain data.
#[derive(Clone, PartialEq, Debug)]
pub struct Reading {
    /// `uuid` or `snowflake`.
    pub format: &'static str,
    /// A UUID's version, if its variant has versions.
    pub version: Option<u8>,
    /// A UUID's variant: `rfc9562`, `ncs`, `microsoft` or `future`.
    pub variant: Option<&'static str>,
    /// A Snowflake's preset.
    pub preset: Option<Cow<'static, str>>,
    /// How likely this reading is, 0 to 1.
    pub confidence: f64,
    /// Why it ranks there, a phrase.
    pub why: String,
    /// When the id says it was made.
    pub time: Option<IdTime>,
    /// What its bits hold, in the order of the bits.
    pub fields: Vec<(Cow<'static, str>, FieldValue)>,
}

/// A time in an id, and how much of it is real.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IdTime {
    /// The time.
    pub at: Timestamp,
    /// How many digits after the second the id really has: 7 for UUID versions 1 and 6, 3 for milliseconds.
    pub digits: u8,
}

/// The value of a field.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FieldValue {
    /// A number below 2^53, which every JSON reader takes.
    Number(u64),
    /// A number of a field that may reach 2^53: a string in JSON.
    Big(u64),
    /// Text.
    Text(String),
}

/// Reads `text` in every way it can be read, the likeliest first. `now` decides how plausible a time is.
///
/// Knows UUIDs (hyphenated, simple, urn and braced) and decimal Snowflakes of every preset.
///
/// ```
/// use mintage::{FieldValue, Timestamp, inspect};
/// let now = Timestamp::from_unix_millis(1_800_000_000_000);
/// let readings = inspect("017f22e2-79b0-7cc3-98c4-dc0c0c07398f", now);
/// assert_eq!((readings[0].format, readings[0].version), ("uuid", Some(7)));
/// assert_eq!(readings[0].fields[0], ("unix_ts_ms".into(), FieldValue::Number(1_645_557_742_000)));
/// assert_eq!(inspect("1541815603606036480", now)[0].preset.as_deref(), Some("twitter"));
/// assert!(inspect("no id", now).is_empty());
/// ```
pub fn inspect(text: &str, now: Timestamp) -> Vec<Reading> {
    let text = text.trim();
    let mut readings = Vec::new();
    if let Ok(id) = Uuid::try_parse(text) {
        readings.push(inspect_uuid(&id, text.len() != 32, now));
    }
    if let Ok(id) = SnowflakeText::Dec.read(text.as_bytes()) {
        inspect_presets(id, now, &mut readings);
    }
    readings.sort_by(|a, b| b.confidence.total_cmp(&a.confidence));
    readings
}

/// Reads `id` by one layout; `None` if it is not an id of it.
///
/// ```
/// use core::time::Duration;
/// use mintage::{Layout, Timestamp, inspect_layout};
/// let layout = Layout::builder("mine").time("timestamp_ms", 41).worker("worker", 10).sequence("sequence", 12);
/// let layout = layout.build()?;
/// let now = Timestamp::from_unix_millis(1_800_000_000_000);
/// let reading = inspect_layout(7_200_000_000_000_000_000, &layout, now).expect("an id of the layout");
/// assert_eq!(reading.time.expect("a time").at.unix_millis(), 1_716_613_769_531);
/// # Ok::<(), mintage::LayoutError>(())
/// ```
pub fn inspect_layout(id: u64, layout: &Layout, now: Timestamp) -> Option<Reading> {
    let parts = layout.unpack(id).ok()?;
    let at = layout.time_of(parts.tick);
    let (confidence, why) = match plausibility(at, layout.epoch(), now) {
        Plausible::Yes => (0.6, "its time lies between the layout's epoch and now"),
        Plausible::NearEpoch => (
            0.2,
            "its time lies within a month of the layout's epoch, as any small number",
        ),
        Plausible::Future => (0.05, "its time lies in the future"),
    };
    let fields = layout
        .fields()
        .iter()
        .filter(|field| !matches!(field.role, Role::Constant(_)));
    let fields = fields.map(|field| {
        let value = field.of(id);
        let value = if field.bits < 53 {
            FieldValue::Number(value)
        } else {
            FieldValue::Big(value)
        };
        (field.name.clone(), value)
    });
    Some(Reading {
        format: "snowflake",
        version: None,
        variant: None,
        preset: Some(String::from(layout.name()).into()),
        confidence,
        why: why.into(),
        time: Some(IdTime {
            at,
            digits: digits_of(layout.tick()),
        }),
        fields: fields.collect(),
    })
}

/// Reads `id` by every preset.
fn inspect_presets(id: u64, now: Timestamp, readings: &mut Vec<Reading>) {
    for (row, preset) in (0u32..).zip(PRESETS) {
        #[cfg(feature = "std")]
        let layout = &BUILT[row as usize];
        #[cfg(not(feature = "std"))]
        let layout = &preset.layout();
        let Some(mut reading) = inspect_layout(id, layout, now) else {
            continue;
        };
        reading.preset = Some(preset.name.into());
        // Where the time says nothing, the better known layout comes first.
        reading.confidence *= 1.0 - f64::from(row) / 50.0;
        readings.push(reading);
    }
}

/// The layouts of [`PRESETS`], built once: building them costs more than reading an id.
#[cfg(feature = "std")]
static BUILT: std::sync::LazyLock<Vec<Layout>> =
    std::sync::LazyLock::new(|| PRESETS.iter().map(crate::Preset::layout).collect());

/// How many decimal digits of a second a tick tells: 3 for 1 ms, 2 for 10 ms, 0 for 1 s.
fn digits_of(tick: Duration) -> u8 {
    let (mut digits, mut unit) = (0, 1_000_000_000u128);
    while digits < 9 && tick.as_nanos() < unit {
        digits += 1;
        unit /= 10;
    }
    digits
}

enum Plausible {
    Yes,
    NearEpoch,
    Future,
}

fn plausibility(at: Timestamp, epoch: Timestamp, now: Timestamp) -> Plausible {
    if at > now.saturating_add(Duration::from_secs(86_400)) {
        Plausible::Future
    } else if at.since(epoch) < Duration::from_secs(30 * 86_400) {
        Plausible::NearEpoch
    } else {
        Plausible::Yes
    }
}

fn inspect_uuid(id: &Uuid, punctuated: bool, now: Timestamp) -> Reading {
    let variant = match id.as_bytes()[8] >> 5 {
        0..4 => "ncs",
        4..6 => "rfc9562",
        6 => "microsoft",
        _ => "future",
    };
    let mut reading = Reading {
        format: "uuid",
        version: None,
        variant: Some(variant),
        preset: None,
        confidence: 0.5,
        why: format!("a uuid of the {variant} variant, which has no versions"),
        time: None,
        fields: Vec::new(),
    };
    if id.is_nil() || id.is_max() {
        let name = if id.is_nil() { "nil" } else { "max" };
        reading.why = format!(
            "the {name} uuid, RFC 9562 section 5.{}",
            if id.is_nil() { 9 } else { 10 }
        );
        reading.confidence = 0.99;
    } else if variant == "rfc9562" {
        inspect_version(&mut reading, id, now);
    }
    if !punctuated {
        // 32 hexadecimal digits may as well be a hash.
        reading.confidence *= 0.9;
        reading.why.push_str("; 32 hexadecimal digits can also be a hash");
    }
    reading
}

fn inspect_version(reading: &mut Reading, id: &Uuid, now: Timestamp) {
    let version = id.as_bytes()[6] >> 4;
    reading.version = Some(version);
    if !(1..=8).contains(&version) {
        reading.why = format!("the rfc9562 variant with version {version}, which is not assigned");
        return;
    }
    let value = id.as_u128();
    let bits = |shift: u32, count: u32| (value >> shift) as u64 & crate::layout::ones(count);
    let number = |name: &'static str, value| (name.into(), FieldValue::Number(value));
    let big = |name: &'static str, value| (name.into(), FieldValue::Big(value));
    let node = || {
        (
            "node".into(),
            FieldValue::Text(format!("{}", Node::from_bits(bits(0, 48)))),
        )
    };
    reading.fields = match version {
        1 | 6 => {
            let ticks = if version == 1 {
                v1::ticks_of(id)
            } else {
                v6::ticks_of(id)
            };
            reading.time = Some(IdTime {
                at: ticks.time(),
                digits: 7,
            });
            alloc::vec![
                big("ticks", ticks.get()),
                number("clock_seq", bits(48, 14)),
                node()
            ]
        }
        2 => {
            // The low 32 bits of the time give way to the local id: 2^32 ticks are 429 s.
            let ticks = GregorianTicks::from_bits(v1::ticks_of(id).get() >> 32 << 32);
            reading.time = Some(IdTime {
                at: ticks.time(),
                digits: 0,
            });
            alloc::vec![
                number("local_id", bits(96, 32)),
                number("clock_seq", bits(56, 6)),
                number("domain", bits(48, 8)),
                node()
            ]
        }
        7 => {
            reading.time = Some(IdTime {
                at: v7::time_of(id),
                digits: 3,
            });
            alloc::vec![
                number("unix_ts_ms", v7::unix_millis_of(id)),
                number("rand_a", bits(64, 12)),
                big("rand_b", bits(0, 62))
            ]
        }
        8 => alloc::vec![
            number("custom_a", bits(80, 48)),
            number("custom_b", bits(64, 12)),
            big("custom_c", bits(0, 62))
        ],
        _ => Vec::new(),
    };
    reading.confidence = 0.99;
    reading.why = format!("variant rfc9562 and version {version}");
    if let Some(time) = reading.time {
        // 1970 is far too early for any uuid, but versions 1 and 6 reach back to 1582.
        match plausibility(time.at, Timestamp::UNIX_EPOCH, now) {
            Plausible::Yes => reading.why.push_str(", and its time is plausible"),
            Plausible::NearEpoch => {
                reading.confidence = 0.9;
                reading
                    .why
                    .push_str(", but its time lies before any uuid was made");
            }
            Plausible::Future => {
                reading.confidence = 0.9;
                reading.why.push_str(", but its time lies in the future");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
                ("clock_seq", Number(0x33)),
                ("domain", Number(0)),
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
        assert!(inspect("7", now()).iter().all(|reading| reading.confidence < 0.3));
        let largest = inspect("9223372036854775807", now());
        let twitter = largest
            .iter()
            .find(|reading| reading.preset.as_deref() == Some("twitter"));
        assert!(twitter.expect("kept").confidence < 0.1);
        assert!(inspect("18446744073709551616", now()).is_empty());
    }

    #[test]
    fn digits_follow_the_tick() {
        for (tick, digits) in [
            (1_000_000, 3),
            (10_000_000, 2),
            (1_000_000_000, 0),
            (100, 7),
            (1, 9),
            (4_000_000, 3),
        ] {
            assert_eq!(digits_of(Duration::from_nanos(tick)), digits);
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "\\PC{0,60}", hex in "[0-9a-f]{32}", number in proptest::prelude::any::<u64>()) {
            inspect(&text, now());
            inspect(&hex, now());
            inspect(&number.to_string(), now());
        }
    }
}
