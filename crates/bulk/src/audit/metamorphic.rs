//! A pile is the same pile however its lines are ordered, spelled, shared out over files and packed: what an audit says
//! of it must not change, and repeats must be those that a dictionary of canonical texts has.

use std::collections::HashMap;
use std::io::Write;

use mintage::{Id, PRESETS, Timestamp, TypePrefix, Uuid, format};
use proptest::prelude::*;

use super::*;

/// An id: what it is, and all its spellings, the canonical one first.
type Spelled = (&'static str, Vec<String>);

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let bits = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ bits >> 31
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    fn chance(&mut self, one_in: usize) -> bool {
        self.below(one_in) == 0
    }

    fn text(&mut self, letters: &[u8], chars: usize) -> String {
        (0..chars)
            .map(|_| char::from(letters[self.below(letters.len())]))
            .collect()
    }

    fn bytes<const N: usize>(&mut self) -> [u8; N] {
        std::array::from_fn(|_| self.next() as u8)
    }

    fn shuffle<T>(&mut self, items: &mut [T]) {
        (1..items.len()).for_each(|at| items.swap(at, self.below(at + 1)));
    }
}

/// Ids that are made up, so that each kind has those it hardly ever has.
fn id(kind: &'static str, random: &mut Random) -> Spelled {
    const BASE36: &[u8] = b"0123456789abcdefghijklmnopqrstuvwxyz";
    let of_bytes = |bytes: &[u8]| {
        let row = format(kind).expect("a format");
        row.text(&Id::from_bytes(bytes).expect("few bytes"))
            .expect("its bytes")
    };
    let now_ms = 1_600_000_000_000 + random.next() % 100_000_000_000;
    let spellings = match kind {
        "uuid" => {
            let mut bytes = random.bytes();
            bytes[6] = bytes[6] & 15 | [0x10, 0x40, 0x60, 0x70][random.below(4)];
            bytes[8] = bytes[8] & 0x3f | 0x80;
            let id = Uuid::from_bytes(bytes);
            let text = id.to_string();
            vec![
                text.to_uppercase(),
                id.simple().to_string(),
                format!("{{{}}}", text.to_uppercase()),
                format!("({text})"),
                id.urn().to_string(),
                id.urn().to_string().to_uppercase(),
                format!("\u{feff}{text} "),
                text,
            ]
        }
        "ulid" => {
            let text = of_bytes(&random.bytes::<16>());
            let hyphens = format!("{}-{}", &text[..10], &text[10..]);
            vec![
                text.to_lowercase(),
                text.replace('1', "l").replace('0', "o"),
                hyphens.to_lowercase(),
                hyphens,
                text,
            ]
        }
        "objectid" => either_case(of_bytes(&random.bytes::<12>())),
        "nano64" => either_case(of_bytes(&(now_ms << 20).to_be_bytes())),
        // Of this century: later ones have the letters of others.
        "tsid" => either_case(of_bytes(&(random.next() >> 4).to_be_bytes())),
        "scru128" => either_case(of_bytes(&(u128::from(random.next()) << 60).to_be_bytes())),
        "ksuid" => vec![of_bytes(&random.bytes::<20>())],
        "xid" => vec![of_bytes(&random.bytes::<12>())],
        "pushid" => vec![of_bytes(&random.bytes::<15>())],
        "timeflake" => vec![of_bytes(&random.bytes::<16>())],
        "flake" => vec![of_bytes(
            &(u128::from(now_ms) << 64 | u128::from(random.next())).to_be_bytes(),
        )],
        "typeid" => {
            let prefix = TypePrefix::new(["user", "a_b"][random.below(2)]).expect("a prefix");
            vec![prefix.with(Uuid::from_bytes(random.bytes())).to_string()]
        }
        "nanoid" => vec![random.text(
            b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_-",
            21,
        )],
        "cuid" => vec![format!("c{}", random.text(BASE36, 24))],
        "cuid2" => vec![format!("x{}", random.text(BASE36, 23))],
        "text" => vec![format!("no id: {}", random.next())],
        _ => {
            let number = match random.below(5) {
                0 => i128::from(random.next()),
                1 => i128::from(u64::MAX - random.next() % 100),
                2 => -i128::from(random.next() >> 1),
                3 => i128::from(now_ms - 1_288_834_974_657) << 22 | i128::from(random.next() & 0xfff),
                _ => i128::from(random.next() % 1000),
            };
            let zeros = match number < 0 {
                true => number.to_string(),
                false => format!("{number:020}"),
            };
            vec![zeros, number.to_string()]
        }
    };
    (kind, spellings)
}

fn either_case(text: String) -> Vec<String> {
    vec![text.to_uppercase(), text.to_lowercase()]
}

const KINDS: &[&str] = &[
    "uuid",
    "ulid",
    "objectid",
    "nano64",
    "tsid",
    "scru128",
    "ksuid",
    "xid",
    "pushid",
    "timeflake",
    "flake",
    "typeid",
    "nanoid",
    "cuid",
    "cuid2",
    "text",
    "number",
];

/// What an audit says that has to do with which ids there are, and with nothing else.
fn said(files: &[Vec<String>], random: &mut Random, read_as: &ReadAs) -> (Report, String) {
    let folder = tempfile::tempdir().unwrap();
    let inputs = files.iter().enumerate().map(|(at, lines)| {
        let json = random.chance(3);
        let newline = if random.chance(2) { "\n" } else { "\r\n" };
        let rows = lines.iter().map(|line| match json {
            true => format!("{}{newline}", serde_json::json!({ "id": line })),
            false => format!("{line}{newline}"),
        });
        let plain = rows.collect::<String>().into_bytes();
        let (ending, bytes) = match random.below(3) {
            0 => ("", plain),
            1 => ("zst", zstd::encode_all(&plain[..], 1).unwrap()),
            _ => {
                let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
                packer.write_all(&plain).unwrap();
                ("GZ", packer.finish().unwrap())
            }
        };
        let path = folder.path().join(format!("{at}.{ending}"));
        std::fs::write(&path, bytes).unwrap();
        let rows = if json {
            RowFormat::JsonLines
        } else {
            RowFormat::Lines
        };
        (Source::File(path), rows)
    });
    let inputs = inputs.collect();
    let report = audit(
        &AuditOptions {
            read_as: read_as.clone(),
            memory_bytes: if random.chance(2) { 0 } else { 1 << 20 },
            temp: folder.path().to_path_buf(),
            ..AuditOptions::new(inputs, Timestamp::from_unix_millis(1_750_000_000_000))
        },
        &mut |_| {},
    )
    .unwrap();
    let about = compared(&report);
    (report, about)
}

/// What must not change with order, spelling and files.
fn compared(report: &Report) -> String {
    let kinds: Vec<_> = report
        .formats
        .iter()
        .map(|seen| (seen.ids, seen.words()))
        .collect();
    let listed = report.repeats.listed.iter();
    let repeats: Vec<_> = listed.map(|found| (found.format, found.times)).collect();
    let ordered = |(fault, _): &&(Fault, String)| {
        !matches!(fault, Fault::Order | Fault::Steps | Fault::Shared | Fault::Hot)
    };
    let faults = report.verdict.faults.iter().chain(&report.verdict.remarks);
    let faults: Vec<Fault> = faults.filter(ordered).map(|(fault, _)| *fault).collect();
    let times = &report.times;
    format!(
        "{:#?}",
        (
            (
                report.ids,
                kinds,
                &report.layout,
                report.unreadable.lines,
                &report.sequences
            ),
            (report.without.lines, &report.without.spellings),
            (report.repeats.ids, report.repeats.lines, repeats),
            (
                times.ids,
                times.first_us,
                times.last_us,
                times.future,
                &times.buckets
            ),
            (
                &report.shards,
                &report.hash,
                report.ranges.as_ref().map(|ranges| (&ranges.of, &ranges.spread))
            ),
            (&report.numbers, report.busiest_ms, report.workers.count),
            (report.verdict.sound, faults),
        )
    )
}

/// The same pile in another order, in other spellings, over some files.
fn otherwise(pile: &[Spelled], random: &mut Random) -> Vec<Vec<String>> {
    let mut lines: Vec<String> = pile
        .iter()
        .map(|(_, spellings)| spellings[random.below(spellings.len())].clone())
        .collect();
    random.shuffle(&mut lines);
    let mut files = vec![Vec::new(); 1 + random.below(4)];
    for line in lines {
        let file = random.below(files.len());
        files[file].push(line);
    }
    files
}

/// Audits the pile in several guises.
#[track_caller]
fn check_pile(pile: &[Spelled], random: &mut Random, read_as: &ReadAs) -> Report {
    let canonical = |(_, spellings): &Spelled| spellings.last().unwrap().clone();
    let as_it_is = vec![pile.iter().map(canonical).collect()];
    let (report, said_first) = said(&as_it_is, random, read_as);
    for _ in 0..3 {
        let (_, said_then) = said(&otherwise(pile, random), random, read_as);
        assert_eq!(said_first, said_then);
    }
    report
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn an_audit_says_the_same_of_a_pile_in_every_guise(seed: u64) {
        let random = &mut Random(seed);
        let mut kinds = KINDS.to_vec();
        random.shuffle(&mut kinds);
        kinds.truncate(1 + random.below(KINDS.len()));
        let count = 1 + random.below(1500);
        let mut pile: Vec<Spelled> = (0..count)
            .map(|_| id(kinds[random.below(kinds.len())], random))
            .collect();
        for _ in 0..random.below(20) {
            pile.push(pile[random.below(count)].clone());
        }
        let mut times: HashMap<&str, u64> = HashMap::new();
        for (_, spellings) in &pile {
            *times.entry(spellings.last().unwrap()).or_default() += 1;
        }
        let report = check_pile(&pile, random, &ReadAs::default());
        let repeats = times.values().filter(|times| **times > 1).count() as u64;
        prop_assert_eq!(
            (report.repeats.ids, report.repeats.lines, report.ids),
            (repeats, (pile.len() - times.len()) as u64, pile.len() as u64)
        );
        for kind in KINDS.iter().filter(|kind| !matches!(**kind, "number" | "uuid")) {
            let made = pile.iter().filter(|(made, _)| made == kind).count() as u64;
            let found = report.formats.iter().find(|seen| seen.format == *kind);
            prop_assert_eq!(found.map_or(0, |seen| seen.ids), made, "{}", kind);
        }
    }
}

/// Each was called sound: the last unusual id told what the next one is, and small letters made another kind of it.
#[test]
fn one_id_twice_is_a_repeat_whatever_stands_between() {
    for lines in [
        [
            "5qz20vZ3zjMSdya3wpTYf",
            "mwRb_oRI3yrbfrkD20-VA",
            "5qz20vZ3zjMSdya3wpTYf",
        ],
        [
            "01ARZ3NDEKTSV4RRFFQ69G5FAV",
            "01ARZ3NDEKTSV4RRFFQ69G5FAW",
            "01arz3ndektsv4rrffq69g5fav",
        ],
    ] {
        let pile = one_spelling(lines.map(String::from).into_iter());
        let report = check_pile(&pile, &mut Random(5), &ReadAs::default());
        assert_eq!(
            (report.repeats.ids, report.formats.len(), report.verdict.sound),
            (1, 1, false)
        );
    }
}

fn one_spelling(lines: impl Iterator<Item = String>) -> Vec<Spelled> {
    lines.map(|line| ("", vec![line])).collect()
}

/// Snowflakes first and small numbers behind them were all Snowflakes; the other way round, none was.
#[test]
fn what_numbers_are_depends_on_all_of_them() {
    let layout = PRESETS[0].layout();
    let snowflake = |at: u64| ((1_700_000_000_000 + at * 977 - 1_288_834_974_657) << 22).to_string();
    let future = |at: u64| ((1_800_000_000_000 + at * 977 - 1_288_834_974_657) << 22).to_string();
    let small = |at: u64| at.to_string();
    let random = &mut Random(1);
    for (most, few, is, layout_read) in [
        (5000, 5000, "sequence", None),
        (100_000, 4200, "snowflake", Some(layout.name().to_string())),
        (4200, 100_000, "sequence", None),
    ] {
        let forwards = (0..most).map(snowflake).chain((0..few).map(small));
        let backwards = (0..few).map(small).chain((0..most).map(snowflake));
        for lines in [one_spelling(forwards), one_spelling(backwards)] {
            let report = check_pile(&lines, random, &ReadAs::default());
            assert_eq!(report.formats[0].format, is, "{most} {few}");
            assert_eq!(report.layout.map(|layout| layout.name), layout_read);
        }
    }
    let mixed = one_spelling((0..5000).map(snowflake).chain((0..1500).map(future)));
    check_pile(&mixed, random, &ReadAs::default());
    let said = ReadAs {
        format: Some("snowflake".into()),
        layout: None,
    };
    check_pile(&mixed, random, &said);
}

/// A hundred of them were "99 pushid … in the future", and a thousand asked for as a sequence were unreadable.
#[test]
fn numbers_up_to_two_to_the_64_are_numbers() {
    let pile = one_spelling((0..1000u64).map(|at| (18_446_744_073_709_500_000 + at).to_string()));
    for format in [None, Some("sequence".to_string())] {
        let report = check_pile(&pile, &mut Random(2), &ReadAs { format, layout: None });
        assert!(report.verdict.sound, "{:?}", report.verdict);
        assert_eq!((report.formats.len(), report.formats[0].format), (1, "sequence"));
        assert_eq!(document(&report)["numbers"]["min"], "18446744073709500000");
        let numbers = report.numbers.expect("they are numbers");
        assert_eq!((numbers.min, numbers.lost), (18_446_744_073_709_500_000, 0));
    }
    let ends = ["-9223372036854775808", "0", "-0", "18446744073709551615"];
    let report = check_pile(
        &one_spelling(ends.iter().map(ToString::to_string)),
        &mut Random(3),
        &ReadAs::default(),
    );
    assert_eq!((report.repeats.ids, report.formats[0].ids), (1, 4));
    let beyond = ["-9223372036854775809", "18446744073709551616"];
    let report = check_pile(
        &one_spelling(beyond.iter().map(ToString::to_string)),
        &mut Random(4),
        &ReadAs::default(),
    );
    assert_eq!((report.formats[0].format, report.times.ids), ("text", 0));
}
