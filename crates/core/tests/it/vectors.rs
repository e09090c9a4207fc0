//! Every file in `vectors/`, read and checked.

use std::collections::BTreeMap;
use std::fs;

use mintage::*;

use crate::common::{folder, read};

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
        "corpus-damaged.tsv",
        "corpus-ids.tsv",
        "corpus-others.tsv",
        "readings.tsv",
        "snowflake-refused.tsv",
        "snowflake-text.tsv",
        "snowflake-wide.tsv",
        "snowflake.tsv",
        "uuid-alternate.tsv",
        "uuid-fields.tsv",
        "uuid-lenient.tsv",
        "uuid-names.tsv",
        "uuid-order.tsv",
        "uuid-refused.tsv",
        "uuid-sorted.tsv",
        "uuid-text.tsv",
    ];
    // The others are named after formats, and `formats.rs` reads them.
    found.retain(|name| !here.contains(&name.as_str()));
    for name in found {
        assert!(format(name.trim_end_matches(".tsv")).is_some(), "{name}");
    }
}

#[test]
fn ids_that_are_only_read_are_read_as_published() {
    let mut seen = Vec::new();
    for line in read("readings.tsv") {
        let readings = inspect(line.column(1), now());
        let place = readings
            .iter()
            .position(|reading| reading.format == line.column(2));
        let place = place.unwrap_or_else(|| panic!("{}: {readings:#?}", line.place));
        if line.column(0) == "first" {
            assert_eq!(place, 0, "{}: {}: {readings:#?}", line.place, line.column(1));
        }
        let reading = &readings[place];
        let nanos = reading
            .time
            .map_or("-".into(), |time| time.at.unix_nanos().to_string());
        assert_eq!(nanos, line.column(3), "{}", line.place);
        let shown = plain(reading);
        for (name, value) in fields(line.column(4)) {
            assert_eq!(shown.get(name).map(String::as_str), Some(value), "{}", line.place);
        }
        seen.push(reading.format);
    }
    for kind in FOREIGN {
        // A token whose checksum fits would set off every scanner: its own file has it in pieces.
        assert!(
            seen.contains(&kind.name) || matches!(kind.name, "github" | "secret"),
            "{} has no vector",
            kind.name
        );
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
fn alternate_texts_are_the_drafts_where_it_is_right() {
    let mut wrong = 0;
    for line in read("uuid-alternate.tsv") {
        let id = Uuid::try_parse(line.column(0)).unwrap();
        let form = UuidText::from_name(line.column(1)).unwrap();
        let mut out = Vec::new();
        form.write(&id, &mut out);
        assert_eq!(String::from_utf8(out).unwrap(), line.column(2), "{}", line.place);
        assert_eq!(form.read(line.column(2).as_bytes()), Ok(id), "{}", line.place);
        let Some(printed) = line.columns.get(3) else {
            continue;
        };
        // What the draft prints is read leniently, unless it is another id's text or none.
        let read = form.read_lenient(printed.as_bytes());
        if line.column(4) == "wrong in the draft" {
            assert_ne!(read, Ok(id), "{}", line.place);
            wrong += 1;
        } else {
            assert!(form.read(printed.as_bytes()).is_err(), "{}", line.place);
            assert_eq!(read, Ok(id), "{}", line.place);
        }
    }
    assert_eq!(wrong, 7);
}

#[test]
fn lenient_and_strict_readers_differ_where_they_say() {
    for line in read("uuid-lenient.tsv") {
        let form = UuidText::from_name(line.column(0)).unwrap();
        let text = line.column(1).replace("\\t", "\t");
        let lenient = match form.read_lenient(text.as_bytes()) {
            Ok(id) => id.to_string(),
            Err(error) => error.to_string(),
        };
        assert_eq!(lenient, line.column(2), "{}", line.place);
        assert!(form.read(text.as_bytes()).is_err(), "{}", line.place);
    }
}

#[test]
fn other_systems_keep_and_sort_uuids_as_they_do() {
    let bytes = |text: &str| Uuid::try_parse(text).unwrap().into_bytes();
    for line in read("uuid-order.tsv") {
        let id = Uuid::try_parse(line.column(0)).unwrap();
        let order = UuidOrder::from_name(line.column(1)).unwrap();
        let stored = match line.column(2) {
            "-" => None,
            hex => Some(bytes(hex)),
        };
        assert_eq!(order.stored(&id), stored, "{}", line.place);
        if let Some(stored) = stored {
            assert_eq!(order.from_stored(stored), id, "{}", line.place);
        }
        assert_eq!(order.key(&id), bytes(line.column(3)), "{}", line.place);
    }
    let lines = read("uuid-sorted.tsv");
    for pair in lines
        .windows(2)
        .filter(|pair| pair[0].column(0) == pair[1].column(0))
    {
        let order = UuidOrder::from_name(pair[0].column(0)).unwrap();
        let [a, b] = [0, 1].map(|i| Uuid::try_parse(pair[i].column(1)).unwrap());
        assert!(order.compare(&a, &b).is_lt(), "{}", pair[1].place);
        assert!(order.compare(&b, &a).is_gt(), "{}", pair[1].place);
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
fn wide_snowflakes_are_read_and_written() {
    for line in read("snowflake-wide.tsv") {
        let (name, decimal) = (line.column(0), line.column(1));
        let options = GenOptions {
            layout: Some(preset(name).unwrap().layout().into()),
            ..GenOptions::default()
        };
        let layout = options.layout.as_ref().unwrap();
        let id: u128 = decimal.parse().unwrap();
        let reading = inspect_layout_wide(id, layout, now()).expect(&line.place);
        let at = reading.time.unwrap().at;
        assert_eq!(at.unix_millis().to_string(), line.column(2), "{}", line.place);
        let expected: BTreeMap<&str, String> = fields(line.column(3))
            .into_iter()
            .map(|(k, v)| (k, v.to_owned()))
            .collect();
        assert_eq!(plain(&reading), expected, "{}", line.place);
        let Parts {
            tick,
            worker,
            sequence,
        } = layout.unpack_wide(id).unwrap();
        assert_eq!(layout.pack_wide(tick, worker, sequence), Ok(id));
        // As a format.
        let snowflake = format("snowflake").unwrap();
        let parsed = snowflake.parse(decimal.as_bytes(), &options).unwrap();
        assert_eq!(
            (&parsed, snowflake.text(&parsed).unwrap().as_str()),
            (&reading.id, decimal)
        );
        assert!(snowflake.min_at(at, &options).unwrap() <= parsed);
        assert!(parsed <= snowflake.max_at(at, &options).unwrap());
        for (column, form) in [(4, FieldsText::Base62), (5, FieldsText::Base36)] {
            let mut out = Vec::new();
            form.write(id, layout, &mut out);
            assert_eq!(
                str::from_utf8(&out).unwrap(),
                line.column(column),
                "{}",
                line.place
            );
            assert_eq!(form.read(&out, layout), Ok(id));
        }
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
