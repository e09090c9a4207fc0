//! Every file in `vectors/`, read and checked.

#![allow(clippy::unwrap_used)] // a failed call is a failed test

use std::collections::BTreeMap;
use std::fs;

mod common;

use common::{folder, read};
use mintage::*;

fn fields(text: &str) -> BTreeMap<&str, &str> {
    text.split(' ').filter_map(|pair| pair.split_once('=')).collect()
}

fn plain(reading: &Reading) -> BTreeMap<&str, String> {
    let text = |value: &FieldValue| match value {
        FieldValue::Number(n) | FieldValue::Big(n) => n.to_string(),
        FieldValue::Text(text) => text.clone(),
    };
    reading
        .fields
        .iter()
        .map(|(name, value)| (&**name, text(value)))
        .collect()
}

fn now() -> Timestamp {
    Timestamp::from_unix_millis(1_800_000_000_000)
}

#[test]
fn every_file_has_a_test() {
    let mut found: Vec<String> = fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".tsv"))
        .collect();
    found.sort();
    let here = [
        "snowflake-refused.tsv",
        "snowflake-text.tsv",
        "snowflake.tsv",
        "uuid-fields.tsv",
        "uuid-names.tsv",
        "uuid-refused.tsv",
        "uuid-text.tsv",
    ];
    // The others are named after formats, and `formats.rs` reads them.
    found.retain(|name| !here.contains(&name.as_str()));
    for name in found {
        assert!(format(name.trim_end_matches(".tsv")).is_some(), "{name}");
    }
}

#[test]
fn uuids_are_read_into_their_fields_and_made_from_them() {
    for line in read("uuid-fields.tsv") {
        let reading = &inspect(line.column(0), now())[0];
        let version = reading.version.map_or("-".into(), |v| v.to_string());
        assert_eq!(version, line.column(1), "{}", line.place);
        assert_eq!(reading.variant, Some(line.column(2)), "{}", line.place);
        let fields = fields(line.column(3));
        let expected: BTreeMap<&str, String> = fields.iter().map(|(k, v)| (*k, v.to_string())).collect();
        assert_eq!(plain(reading), expected, "{}", line.place);
        if let Some(made) = make(&version, &fields) {
            assert_eq!(made.to_string(), line.column(0), "{}", line.place);
        }
    }
}

/// The UUID of these fields by the version's own constructor.
fn make(version: &str, fields: &BTreeMap<&str, &str>) -> Option<Uuid> {
    let number = |name: &str| fields[name].parse::<u64>().unwrap();
    Some(match version {
        "1" | "6" => {
            let ticks = GregorianTicks::new(number("ticks")).unwrap();
            let make = if version == "1" { uuid1_from } else { uuid6_from };
            make(ticks, number("clock_seq") as u16, fields["node"].parse().unwrap()).unwrap()
        }
        "7" => {
            let mut random = [0; 10];
            random[..2].copy_from_slice(&(number("rand_a") as u16).to_be_bytes());
            random[2..].copy_from_slice(&number("rand_b").to_be_bytes());
            let time = Timestamp::from_unix_millis(number("unix_ts_ms") as i64);
            uuid7_from(time, Precision::Millis, random).unwrap()
        }
        "8" => uuid8_from(number("custom_a"), number("custom_b") as u16, number("custom_c")).unwrap(),
        _ => return None,
    })
}

#[test]
fn names_give_the_published_uuids() {
    for line in read("uuid-names.tsv") {
        let namespace = namespace(line.column(1)).unwrap();
        let make = match line.column(0) {
            "3" => uuid3,
            "5" => uuid5,
            _ => uuid8_sha256,
        };
        let made = make(&namespace, line.column(2).as_bytes());
        assert_eq!(made.to_string(), line.column(3), "{}", line.place);
    }
}

#[test]
fn uuid_texts_are_written_and_read() {
    for line in read("uuid-text.tsv") {
        let id = Uuid::try_parse(line.column(0)).unwrap();
        let form = UuidText::from_name(line.column(1)).unwrap();
        let mut out = Vec::new();
        form.write(&id, &mut out);
        assert_eq!(String::from_utf8(out).unwrap(), line.column(2), "{}", line.place);
        assert_eq!(form.read(line.column(2).as_bytes()), Ok(id), "{}", line.place);
    }
}

#[test]
fn malformed_uuid_texts_are_refused_where_they_go_wrong() {
    for line in read("uuid-refused.tsv") {
        let form = UuidText::from_name(line.column(0)).unwrap();
        let error = form.read(line.column(1).as_bytes()).expect_err(&line.place);
        assert_eq!(error.to_string(), line.column(2), "{}", line.place);
    }
}

#[test]
fn snowflakes_are_read_by_their_preset() {
    for line in read("snowflake.tsv") {
        let layout = preset(line.column(0)).unwrap().layout();
        let id = line.column(1).parse().unwrap();
        let reading = inspect_layout(id, &layout, now()).expect(&line.place);
        assert_eq!(
            reading.time.unwrap().at.unix_millis().to_string(),
            line.column(2),
            "{}",
            line.place
        );
        let expected: BTreeMap<&str, String> = fields(line.column(3))
            .into_iter()
            .map(|(k, v)| (k, v.to_owned()))
            .collect();
        assert_eq!(plain(&reading), expected, "{}", line.place);
        let Parts {
            tick,
            worker,
            sequence,
        } = layout.unpack(id).unwrap();
        assert_eq!(layout.pack(tick, worker, sequence), Ok(id), "{}", line.place);
    }
}

#[test]
fn snowflake_texts_are_written_and_read() {
    for line in read("snowflake-text.tsv") {
        let id = line.column(0).parse().unwrap();
        let form = SnowflakeText::from_name(line.column(1)).unwrap();
        let mut out = Vec::new();
        form.write(id, &mut out);
        assert_eq!(String::from_utf8(out).unwrap(), line.column(2), "{}", line.place);
        assert_eq!(form.read(line.column(2).as_bytes()), Ok(id), "{}", line.place);
    }
}

#[test]
fn malformed_snowflake_texts_are_refused_where_they_go_wrong() {
    for line in read("snowflake-refused.tsv") {
        let form = SnowflakeText::from_name(line.column(0)).unwrap();
        let error = form.read(line.column(1).as_bytes()).expect_err(&line.place);
        assert_eq!(error.to_string(), line.column(2), "{}", line.place);
    }
}
