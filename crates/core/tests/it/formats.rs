//! Every format: its vectors, and what all of them promise.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use mintage::*;
use mintage_testing::{Distinct, distinct, invariant, rising};
use proptest::prelude::*;

use crate::common::sources::{Hand, Seeded, asked, repeats};

/// The options in a column: `name=value` or `name`, with spaces between.
fn options(text: &str) -> GenOptions {
    let mut options = GenOptions::default();
    for option in text.split(' ').filter(|option| *option != "-") {
        let (name, value) = option.split_once('=').unwrap_or((option, ""));
        match name {
            "prefix" => options.prefix = Some(value.into()),
            "alphabet" => options.alphabet = Some(Alphabet::new(value).unwrap()),
            "length" => options.length = Some(value.parse().unwrap()),
            "node-bits" => options.node_bits = Some(value.parse().unwrap()),
            "salt" => options.salt = Some(value.replace("%20", " ")),
            "checksum" => options.checksum = true,
            other => panic!("no option {other}"),
        }
    }
    options
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn or_dash(text: String) -> String {
    if text.is_empty() { "-".into() } else { text }
}

fn plain(details: &Details) -> BTreeMap<String, String> {
    let text = |value: &FieldValue| match value {
        FieldValue::Number(n) | FieldValue::Big(n) => n.to_string(),
        FieldValue::Text(text) => text.clone(),
    };
    details
        .fields
        .iter()
        .map(|(name, value)| (name.to_string(), text(value)))
        .collect()
}

/// Formats without a file of vectors of this shape: theirs are in `vectors.rs`.
fn has_own_vectors(row: &Format) -> bool {
    matches!(row.family, Family::Own | Family::Sequence)
}

#[test]
fn published_ids_are_read_and_written_and_malformed_ones_refused() {
    for row in FORMATS.iter().filter(|row| has_own_vectors(row)) {
        let (mut accepted, mut refused) = (0, 0);
        for line in crate::common::read(&format!("{}.tsv", row.name)) {
            let (options, text) = (options(line.column(1)), line.column(2));
            match line.column(0) {
                "accept" => {
                    accepted += 1;
                    let id = row.parse(text.as_bytes(), &options).expect(&line.place);
                    assert_eq!(row.text(&id).unwrap(), text, "{}", line.place);
                    assert_eq!(or_dash(hex(id.bytes())), line.column(3), "{}", line.place);
                    let details = row.read(&id, &options).unwrap();
                    let time = details
                        .time
                        .map_or(String::new(), |time| time.at.unix_nanos().to_string());
                    assert_eq!(or_dash(time), line.column(4), "{}", line.place);
                    let fields: BTreeMap<String, String> = line
                        .column(5)
                        .split(' ')
                        .filter_map(|pair| pair.split_once('='))
                        .map(|(name, value)| (name.into(), value.into()))
                        .collect();
                    assert_eq!(plain(&details), fields, "{}", line.place);
                    assert_eq!(
                        row.parse_lenient(text.as_bytes(), &options),
                        Ok(id),
                        "{}",
                        line.place
                    );
                }
                "lenient" => {
                    let id = row.parse_lenient(text.as_bytes(), &options).expect(&line.place);
                    assert_eq!(row.text(&id).unwrap(), line.column(3), "{}", line.place);
                    // SCRU128 alone reads either case without being asked to forgive.
                    let strict = row.parse(text.as_bytes(), &options);
                    assert_eq!(strict.is_ok(), row.name == "scru128", "{}", line.place);
                }
                "refuse" => {
                    refused += 1;
                    let error = row.parse(text.as_bytes(), &options).expect_err(&line.place);
                    assert_eq!(error.to_string(), line.column(3), "{}", line.place);
                    assert!(
                        error.position().is_none_or(|at| at <= text.len()),
                        "{}",
                        line.place
                    );
                }
                other => panic!("{}: no verdict {other:?}", line.place),
            }
        }
        assert!(accepted > 0 && refused > 0, "{}", row.name);
    }
}

#[test]
fn sqids_and_hashids_of_numbers_are_the_published_ones() {
    let lines = |name: &'static str| {
        crate::common::read(&[name, ".tsv"].concat())
            .into_iter()
            .map(move |line| (name, line))
    };
    let lines = lines("sqids").chain(lines("hashids"));
    for (name, line) in lines.filter(|(_, line)| line.column(0) == "accept") {
        let row = format(name).unwrap();
        let numbers = line.column(5).trim_start_matches("numbers=").split(',');
        let options = GenOptions {
            numbers: numbers.map(|number| number.parse().unwrap()).collect(),
            ..options(line.column(1))
        };
        let id = row.make(&options).unwrap();
        assert_eq!(id.text(), Some(line.column(2)), "{}", line.place);
    }
}

/// sqids/sqids-javascript, blocklist.test.ts.
#[test]
fn sqids_avoid_the_words_of_any_blocklist() {
    let sqids = |words: &[&str]| Sqids::default().blocklist(words.iter().copied());
    assert_eq!(sqids(&[]).encode(&[4_572_721]).unwrap(), "aho1e");
    assert_eq!(sqids(&["ArUO"]).encode(&[4_572_721]).unwrap(), "aho1e");
    assert_eq!(sqids(&["ArUO"]).encode(&[100_000]).unwrap(), "QyG4");
    let words = ["JSwXFaosAN", "OCjV9JK64o", "rBHf", "79SM", "7tE6"];
    assert_eq!(
        sqids(&words).encode(&[1_000_000, 2_000_000]).unwrap(),
        "1aYeB7bRUt"
    );
    let upper = Alphabet::new("ABCDEFGHIJKLMNOPQRSTUVWXYZ").unwrap();
    let upper = Sqids::new(&upper).unwrap().blocklist(["sxnzkl"]);
    assert_eq!(upper.encode(&[1, 2, 3]).unwrap(), "IBSHOZ");
    let abc = Sqids::new(&Alphabet::new("abc").unwrap())
        .unwrap()
        .min_length(3)
        .unwrap();
    assert!(abc.blocklist(["cab", "abc", "bca"]).encode(&[0]).is_err());
}

#[test]
fn every_format_that_can_make_ids_makes_ones_that_it_reads() {
    for row in FORMATS {
        let options = asked(row);
        if !row.can_make() {
            assert!(
                matches!(row.make(&options), Err(FormatError::Verb { .. })),
                "{}",
                row.name
            );
            continue;
        }
        let mut ids = vec![Id::default(); 600];
        row.make_many(&options, &mut ids).unwrap();
        let mut lines = Vec::new();
        row.write_lines(&options, 600, &mut lines).unwrap();
        let lines = String::from_utf8(lines).unwrap();
        assert_eq!(lines.lines().count(), 600, "{}", row.name);
        for line in lines.lines() {
            ids.push(
                row.parse(line.as_bytes(), &options)
                    .unwrap_or_else(|e| panic!("{} {line}: {e}", row.name)),
            );
        }
        for id in &ids {
            let text = row.text(id).unwrap();
            assert_eq!(
                row.parse(text.as_bytes(), &options).as_ref(),
                Ok(id),
                "{}",
                row.name
            );
            assert!(
                (row.text_len.0..=row.text_len.1).contains(&text.len()),
                "{} {text}",
                row.name
            );
        }
        // Ids made of names or numbers are the same every time.
        match repeats(row) {
            true => assert!(ids.iter().all(|id| *id == ids[0]), "{}", row.name),
            false => distinct(row.name, &ids),
        }
        assert_eq!(ids.len(), 1200, "{}", row.name);
        if row.bytes_sort {
            rising(row.name, &ids);
        }
        if row.text_sorts {
            rising(row.name, ids.iter().map(|id| row.text(id).unwrap()));
        }
    }
}

#[test]
fn foreign_options_are_refused_by_name() {
    for row in FORMATS {
        for option in GenOption::ALL
            .iter()
            .filter(|option| !row.options.contains(option))
        {
            let mut options = GenOptions::default();
            match option {
                GenOption::Prefix => options.prefix = Some("a".into()),
                GenOption::Length => options.length = Some(5),
                GenOption::Node => options.node = Some(1),
                GenOption::Checksum => options.checksum = true,
                GenOption::Numbers => options.numbers = vec![1],
                _ => continue,
            }
            let error = row.make(&options).unwrap_err().to_string();
            assert!(
                error.starts_with(&format!("format {} takes no {}", row.name, option.name())),
                "{error}"
            );
        }
    }
}

#[test]
fn ids_of_other_sizes_are_refused_and_not_cut() {
    for row in FORMATS {
        for size in 0..=Id::MAX_BYTES {
            let id = Id::from_bytes(&vec![0; size]).unwrap();
            let sound = size == row.bits.div_ceil(8) as usize;
            // A number is written whatever the layout it is of, and read with that layout alone.
            let written = sound || row.family == Family::Snowflake && (8..=16).contains(&size);
            assert_eq!(row.text(&id).is_ok(), written, "{} of {size} bytes", row.name);
            assert_eq!(row.read(&id, &GenOptions::default()).is_ok(), sound);
        }
    }
    let cosid = GenOptions {
        layout: Some(preset("cosid-string").unwrap().layout().into()),
        ..GenOptions::default()
    };
    let snowflake = format("snowflake").unwrap();
    for size in 0..=Id::MAX_BYTES {
        let id = Id::from_bytes(&vec![0; size]).unwrap();
        assert_eq!(snowflake.read(&id, &cosid).is_ok(), size == 10, "{size} bytes");
    }
}

/// Times at which every format can make ids: 2020 to 2059.
fn time() -> impl Strategy<Value = Timestamp> {
    (1_577_836_800_000_000_000i128..2_808_000_000_000_000_000).prop_map(Timestamp::from_unix_nanos)
}

/// Batches of the owned generators are what single calls give: the same ids from the same clock and entropy.
#[test]
fn batches_of_generators_are_in_order_and_stop_where_single_ids_do() {
    fn check<T: Ord + Copy + std::fmt::Debug>(name: &str, fill: impl FnOnce(&mut [T]) -> usize, zero: T) {
        let mut ids = [zero; 500];
        assert_eq!(fill(&mut ids), 500, "{name}");
        rising(name, ids);
    }
    let clock = FixedClock(Timestamp::from_unix_millis(1_700_000_000_000));
    let nothing = GenOptions::default();
    let zero = |name: &str| {
        let row = format(name).unwrap();
        row.text(&row.min_at(clock.0, &nothing).unwrap()).unwrap()
    };
    check(
        "ulid",
        |out| UlidGenerator::new(clock, Seeded(1)).fill(out).unwrap(),
        zero("ulid").parse().unwrap(),
    );
    check(
        "ksuid",
        |out| KsuidGenerator::new(clock, Seeded(1)).fill(out).unwrap(),
        zero("ksuid").parse().unwrap(),
    );
    check(
        "xid",
        |out| XidGenerator::new(clock, Seeded(1)).fill(out).unwrap(),
        zero("xid").parse().unwrap(),
    );
    check(
        "objectid",
        |out| ObjectIdGenerator::new(clock, Seeded(1)).fill(out).unwrap(),
        zero("objectid").parse().unwrap(),
    );
    check(
        "pushid",
        |out| PushIdGenerator::new(clock, Seeded(1)).fill(out).unwrap(),
        zero("pushid").parse().unwrap(),
    );
    check(
        "tid",
        |out| TidGenerator::new(clock, Seeded(1)).fill(out).unwrap(),
        zero("tid").parse().unwrap(),
    );
    check(
        "scru128",
        |out| Scru128Generator::new(clock, Seeded(1)).fill(out).unwrap(),
        zero("scru128").parse().unwrap(),
    );
    check(
        "tsid",
        |out| {
            TsidGenerator::new(&nothing, clock, Seeded(1))
                .unwrap()
                .fill(out)
                .unwrap()
        },
        zero("tsid").parse().unwrap(),
    );
    // 16.7 million a second and 10 s ahead of the clock: a batch ends there, and the next is refused.
    let mut strict = XidGenerator::new(clock, Seeded(1)).max_ahead(Duration::from_secs(2));
    let mut many = vec![zero("xid").parse().unwrap(); 3 << 24];
    let made = strict.fill(&mut many).unwrap();
    assert!(made < many.len());
    rising("xid", &many[..made]);
    assert_eq!(strict.fill(&mut many), Err(MintError::TooFarAhead { ticks: 1 }));
}

proptest! {
    #[test]
    fn what_is_made_at_a_time_lies_between_its_bounds_and_tells_it(time in time(), seed: u64) {
        for row in FORMATS.iter().filter(|row| row.can_bound()) {
            let options = asked(row);
            let (min, max) = (row.min_at(time, &options).unwrap(), row.max_at(time, &options).unwrap());
            prop_assert!(min < max || row.name == "tid", "{}", row.name);
            let tick = row.time.unwrap().tick.as_nanos() as i128;
            let mut all = vec![min.clone(), max.clone()];
            if row.can_make_at() {
                let made = row.make_at(time, &options, &mut Seeded(seed)).unwrap();
                // v1 has the low bits of its time in front.
                prop_assert!(row.name == "uuid1" || (min <= made && made <= max), "{}", row.name);
                all.push(made);
            }
            for id in all {
                let told = row.read(&id, &options).unwrap().time.unwrap();
                prop_assert!(told.at <= time, "{}", row.name);
                prop_assert!(time.unix_nanos() - told.at.unix_nanos() < tick, "{}", row.name);
                prop_assert_eq!(told.digits, row.time.unwrap().digits);
                let text = row.text(&id).unwrap();
                prop_assert_eq!(row.parse(text.as_bytes(), &options), Ok(id));
            }
        }
    }

    #[test]
    fn ids_sort_as_their_times_do(a in time(), b in time(), seed: u64) {
        for row in FORMATS.iter().filter(|row| row.can_make_at() && row.bytes_sort) {
            let options = asked(row);
            let tick = row.time.unwrap().tick.as_nanos() as i128;
            let (early, late) = (a.min(b), a.max(b));
            if early.unix_nanos() + tick > late.unix_nanos() {
                continue;
            }
            let first = row.make_at(early, &options, &mut Seeded(seed)).unwrap();
            let second = row.make_at(late, &options, &mut Seeded(!seed)).unwrap();
            rising(row.name, [&first, &second]);
            if row.text_sorts {
                rising(row.name, [&first, &second].map(|id| row.text(id).unwrap()));
            }
        }
    }

    // claim: P65
    #[test]
    fn any_clock_gives_increasing_ids_or_errors(
        steps in prop::collection::vec((-20_000i128..30_000, 1usize..40), 1..20), seed: u64,
    ) {
        for row in FORMATS.iter().filter(|row| row.has_generator()) {
            let options = asked(row);
            let hand = Hand(Rc::new(Cell::new(1_700_000_000_000_000_000)));
            let mut generator = row.generator(&options, Box::new(hand.clone()), Box::new(Seeded(seed))).unwrap();
            let mut seen = Distinct::of(row.name);
            let mut last = Id::default();
            for (move_ms, count) in &steps {
                hand.0.set(hand.0.get() + move_ms * 1_000_000);
                for _ in 0..*count {
                    let Ok(id) = generator.next_id() else { break };
                    seen.add(id.clone());
                    // Version 6 follows a clock that goes far back, with the next clock sequence, as the RFC has it.
                    if row.bytes_sort && row.name != "uuid6" {
                        invariant!(id > last, "{}: {id:?} after {last:?}", row.name);
                        let told = row.read(&id, &options).unwrap().time.unwrap().at;
                        let now = Timestamp::from_unix_nanos(hand.0.get());
                        let tick = row.time.unwrap().tick;
                        // Never older than the clock's own tick, never more than 10 s (or two ticks) ahead.
                        prop_assert!(told.saturating_add(tick) > now, "{}", row.name);
                        prop_assert!(told <= now.saturating_add(Duration::from_secs(10).max(tick * 2)), "{}", row.name);
                    }
                    last = id;
                }
            }
        }
    }

    #[test]
    fn no_text_makes_a_parser_panic_and_what_is_read_is_what_would_be_written(
        text in prop_oneof![
            prop::collection::vec(any::<u8>(), 0..70),
            "[0-9a-zA-Z_-]{10,40}".prop_map(String::into_bytes),
            "[0-9]{1,21}".prop_map(String::into_bytes),
            "[a-z_]{0,70}_[0-7][0-9a-hjkmnp-tv-z]{25}".prop_map(String::into_bytes),
        ],
    ) {
        for row in FORMATS {
            for read in [row.parse(&text, &GenOptions::default()), row.parse_lenient(&text, &GenOptions::default())] {
                match read {
                    Ok(id) => {
                        let _ = row.read(&id, &GenOptions::default()).unwrap();
                        let canonical = row.text(&id).unwrap();
                        prop_assert_eq!(row.parse_lenient(canonical.as_bytes(), &GenOptions::default()), Ok(id.clone()));
                        if row.parse(&text, &GenOptions::default()).is_ok() {
                            let same = canonical.as_bytes().eq_ignore_ascii_case(&text);
                            prop_assert!(same, "{}: {canonical}", row.name);
                            // Either case where the specification says so, and nothing else.
                            let either_case = matches!(row.family, Family::Uuid(_)) || row.name == "scru128";
                            prop_assert!(either_case || canonical.as_bytes() == text, "{}: {canonical}", row.name);
                        }
                    }
                    Err(error) => prop_assert!(error.position().is_none_or(|at| at <= text.len()), "{}", row.name),
                }
            }
        }
    }

    #[test]
    fn every_bytes_of_the_right_size_are_written_and_read_back(bytes: [u8; 32]) {
        for row in FORMATS.iter().filter(|row| row.bits > 0) {
            let id = Id::from_bytes(&bytes[..row.bits.div_ceil(8) as usize]).unwrap();
            let text = row.text(&id).unwrap();
            match row.parse(text.as_bytes(), &GenOptions::default()) {
                Ok(read) => prop_assert_eq!(read.bytes(), id.bytes(), "{}", row.name),
                // Not every number is a UUID of a version, a Snowflake of Twitter's, or has 12 digits in base 36.
                Err(_) => prop_assert!(
                    matches!(row.family, Family::Uuid(_) | Family::Snowflake) || text.len() > row.text_len.1,
                    "{} {text}",
                    row.name
                ),
            }
        }
    }

    #[test]
    fn sqids_give_back_their_numbers(numbers in prop::collection::vec(any::<u64>(), 1..20), min in 0usize..256) {
        let sqids = Sqids::default().min_length(min).unwrap();
        let text = sqids.encode(&numbers).unwrap();
        prop_assert!(text.len() >= min);
        prop_assert_eq!(sqids.decode(text.as_bytes()), Ok(numbers.clone()));
        prop_assert_eq!(sqids.decode_strict(text.as_bytes()), Ok(numbers));
    }
}

#[test]
fn both_ends_of_every_time_are_exact_and_nothing_beyond_them_wraps() {
    for row in FORMATS.iter().filter(|row| row.can_bound()) {
        let options = asked(row);
        let TimeShape { first, last, .. } = row.time.unwrap();
        let nanos = |time: Timestamp, by: i128| Timestamp::from_unix_nanos(time.unix_nanos() + by);
        let (min, max) = (
            row.min_at(first, &options).unwrap(),
            row.max_at(last, &options).unwrap(),
        );
        assert_eq!(
            row.read(&min, &options).unwrap().time.unwrap().at,
            first,
            "{}",
            row.name
        );
        assert!(row.name == "uuid1" || min < max, "{}", row.name);
        for outside in [
            nanos(first, -1),
            nanos(last, 1),
            Timestamp::from_unix_nanos(i128::MIN),
            Timestamp::from_unix_nanos(i128::MAX),
        ] {
            let error = row.min_at(outside, &options).unwrap_err();
            assert!(
                matches!(error, FormatError::Time { time, first: from, .. } if (time, from) == (outside, first)),
                "{} {error}",
                row.name
            );
            assert!(row.max_at(outside, &options).is_err());
            if row.can_make_at() {
                assert!(
                    row.make_at(outside, &options, &mut Seeded(1)).is_err(),
                    "{}",
                    row.name
                );
            }
        }
    }
}

// claim: P66
#[test]
fn every_random_format_states_its_entropy_and_the_repeats_that_follow() {
    for (name, bits) in [
        ("uuid4", 122.0),
        ("ulid", 80.0),
        ("ksuid", 128.0),
        ("nanoid", 126.0),
        ("timeflake", 80.0),
        ("sequence", 0.0),
    ] {
        assert_eq!(
            format(name).unwrap().entropy_bits(&GenOptions::default()),
            bits,
            "{name}"
        );
    }
    let pin = GenOptions {
        alphabet: Some(Alphabet::new("0123456789").unwrap()),
        length: Some(4),
        ..GenOptions::default()
    };
    let bits = format("nanoid").unwrap().entropy_bits(&pin);
    assert!((bits - 10_000f64.log2()).abs() < 1e-9);
    // 10,000 PINs: the chance passes one half with the 119th (the birthday problem with 10,000 days).
    assert_eq!(ids_until_repeat(bits, 0.5), 119.0);
    let cuid2 = format("cuid2").unwrap().entropy_bits(&GenOptions::default());
    assert!((cuid2 - (26f64.log2() + 23.0 * 36f64.log2())).abs() < 1e-9);
}

/// Distinct ids, drawn from the default alphabet a million times over, must use all characters alike.
#[test]
fn characters_of_nanoids_are_evenly_spread_over_every_place() {
    let mut generator = format("nanoid")
        .unwrap()
        .generator(
            &GenOptions::default(),
            Box::new(FixedClock(Timestamp::UNIX_EPOCH)),
            Box::new(Seeded(7)),
        )
        .unwrap();
    let ids = 20_000;
    let mut counts = vec![[0u32; 128]; 21];
    for _ in 0..ids {
        let id = generator.next_id().unwrap();
        for (place, letter) in id.text().unwrap().bytes().enumerate() {
            counts[place][usize::from(letter)] += 1;
        }
    }
    for (place, counts) in counts.iter().enumerate() {
        let used: Vec<f64> = counts
            .iter()
            .filter(|count| **count > 0)
            .map(|count| f64::from(*count))
            .collect();
        assert_eq!(used.len(), 64, "place {place}");
        assert!(chi_square(&used) < chi_square_limit(63), "place {place}");
    }
}

/// The sum of squared differences from an even spread, in units of what is expected.
fn chi_square(counts: &[f64]) -> f64 {
    let expected = counts.iter().sum::<f64>() / counts.len() as f64;
    counts
        .iter()
        .map(|count| (count - expected).powi(2) / expected)
        .sum()
}

/// What one even spread in a million exceeds (Wilson and Hilferty's cube root, 4.75 standard deviations).
fn chi_square_limit(freedom: usize) -> f64 {
    let k = freedom as f64;
    let part = 2.0 / (9.0 * k);
    k * (1.0 - part + 4.75 * part.sqrt()).powi(3)
}
