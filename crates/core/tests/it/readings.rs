//! What a reading of an id as one chosen format says, and which bits are which field.

use std::sync::Arc;

use mintage::*;

use crate::common::sources::asked;

fn now() -> Timestamp {
    Timestamp::from_unix_millis(1_800_000_000_000)
}

fn read(text: &str, name: &str, options: &GenOptions) -> Result<Reading, TextError> {
    inspect_as(text, format(name).unwrap(), options, now())
}

/// An id of the format, made or published.
fn an_id_of(row: &Format, options: &GenOptions) -> String {
    if row.can_make() {
        return row.text(&row.make(options).unwrap()).unwrap();
    }
    match row.family {
        Family::Snowflake => "1541815603606036480".into(),
        _ => {
            let lines = crate::common::read(&format!("{}.tsv", row.name));
            let published = lines.iter().find(|line| line.column(0) == "accept");
            published.unwrap().column(2).into()
        }
    }
}

#[test]
fn the_fields_of_an_id_of_any_format_take_all_of_its_bits() {
    for row in FORMATS {
        let options = asked(row);
        let text = an_id_of(row, &options);
        let reading = inspect_as(&text, row, &options, now()).unwrap();
        let fields = reading.bit_fields();
        let sum: u32 = fields.iter().map(|field| field.bits).sum();
        assert_eq!(sum, row.bits, "{} {text}: {fields:?}", row.name);
        assert_eq!(
            reading.id.bytes().len(),
            row.bits.div_ceil(8) as usize,
            "{}",
            row.name
        );
    }
}

#[test]
fn the_fields_of_a_snowflake_are_its_layouts() {
    for preset in PRESETS {
        let layout = preset.layout();
        let id = layout
            .pack(1 << 20, 1, 1)
            .or_else(|_| layout.pack(1 << 20, 0, 1))
            .unwrap();
        let reading = inspect_layout(id, &layout, now()).unwrap();
        let mut fields = reading.bit_fields();
        assert_eq!(
            fields.iter().map(|field| field.bits).sum::<u32>(),
            64,
            "{}",
            preset.name
        );
        let unused = fields.remove(0);
        if layout.bits() == 64 {
            fields.insert(0, unused);
        } else {
            assert_eq!(
                (&*unused.name, unused.bits),
                ("", 64 - layout.bits()),
                "{}",
                preset.name
            );
        }
        let named: Vec<(&str, u32)> = fields.iter().map(|field| (&*field.name, field.bits)).collect();
        let expected: Vec<(&str, u32)> = layout.fields().iter().map(|f| (&*f.name, f.bits)).collect();
        assert_eq!(named, expected, "{}", preset.name);
    }
}

#[test]
fn fields_are_known_of_presets_and_versions_alone() {
    let mine: Layout = "time=41,worker=10,sequence=12;name=mine".parse().unwrap();
    let reading = inspect_layout(1 << 40, &mine, now()).unwrap();
    assert_eq!(reading.bit_fields(), []);
    // No version: the bits of any uuid.
    let nil = read(
        "00000000-0000-0000-0000-000000000000",
        "uuid",
        &GenOptions::default(),
    )
    .unwrap();
    assert_eq!(nil.version, None);
    let widths: Vec<u32> = nil.bit_fields().iter().map(|field| field.bits).collect();
    assert_eq!(
        widths,
        format("uuid")
            .unwrap()
            .bit_fields()
            .iter()
            .map(|f| f.bits)
            .collect::<Vec<_>>()
    );
    let seven = read(
        "017f22e2-79b0-7cc3-98c4-dc0c0c07398f",
        "uuid",
        &GenOptions::default(),
    )
    .unwrap();
    assert_eq!(seven.bit_fields(), format("uuid7").unwrap().bit_fields());
}

#[test]
fn an_id_written_less_exactly_is_the_same_id_and_ranks_lower() {
    for (name, exact, less_exact) in [
        (
            "ulid",
            "01ARZ3NDEKTSV4RRFFQ69G5FAV",
            "oiarz3nd-ektsv4rr-ffq69g5fav",
        ),
        ("tsid", "0123456789ABC", "oI23456789abc"),
        (
            "uuid7",
            "017f22e2-79b0-7cc3-98c4-dc0c0c07398f",
            "{017F22E279B07CC398C4DC0C0C07398F}",
        ),
    ] {
        let strict = read(&format!(" {exact}\n"), name, &GenOptions::default()).unwrap();
        let lenient = read(less_exact, name, &GenOptions::default()).unwrap();
        assert_eq!(
            (&lenient.id, &lenient.fields),
            (&strict.id, &strict.fields),
            "{name}"
        );
        assert_eq!(lenient.time, strict.time, "{name}");
        assert!(strict.time.is_some(), "{name}");
        assert!(lenient.confidence < strict.confidence, "{name}");
        assert!(!strict.why.contains("less exactly"), "{name}: {}", strict.why);
        let why = format!("{}; written less exactly than the format does", strict.why);
        assert_eq!(lenient.why, why, "{name}");
    }
}

#[test]
fn what_is_no_id_of_the_format_is_refused_as_the_strict_reader_refuses_it() {
    for (name, text, error) in [
        (
            "uuid4",
            "017f22e2-79b0-7cc3-98c4-dc0c0c07398f",
            "a uuid of another version, at 14",
        ),
        (
            "ulid",
            "81ARZ3NDEKTSV4RRFFQ69G5FAV",
            "the first character is above 7: more than 128 bits, at 0",
        ),
        ("ulid", "u", "1 characters, 26 are needed"),
        (
            "snowflake",
            "9223372036854775808",
            "a number that is not an id of the layout, at 0",
        ),
        (
            "sequence",
            "-0",
            "not the way this form writes the id, from position 0",
        ),
        (
            "sequence",
            "9223372036854775808",
            "the number is larger than the id can be",
        ),
    ] {
        let refused = read(text, name, &GenOptions::default()).unwrap_err();
        assert_eq!(refused.to_string(), error, "{name} {text}");
    }
}

#[test]
fn a_snowflake_is_twitters_unless_the_layout_is_given() {
    let text = "1541815603606036480";
    let twitters = read(text, "snowflake", &GenOptions::default()).unwrap();
    assert_eq!(twitters.preset.as_deref(), Some("twitter"));
    // x.com's status of 2022-06-28, as the vectors have it.
    assert_eq!(twitters.time.unwrap().at.unix_millis(), 1_656_432_460_105);
    let discord = preset("discord").unwrap().layout();
    let options = GenOptions {
        layout: Some(Arc::new(discord.clone())),
        ..GenOptions::default()
    };
    let discords = read(text, "snowflake", &options).unwrap();
    assert_eq!(discords.preset.as_deref(), Some("discord"));
    let tick = discord.unpack(1_541_815_603_606_036_480).unwrap().tick;
    assert_eq!(discords.time.unwrap().at, discord.time_of(tick));
    assert_ne!(discords.time, twitters.time);
}
