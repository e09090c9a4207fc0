//! Options that no id can be made with, and texts that are none: refused by name and place.

use mintage::*;

use crate::common::sources::{Seeded, asked};

/// Options as requests have them: `name=value`, spaces between.
fn with(mut options: GenOptions, text: &str) -> GenOptions {
    for (name, value) in text.split(' ').filter_map(|pair| pair.split_once('=')) {
        options.set(GenOption::from_name(name).unwrap(), value).unwrap();
    }
    options
}

#[test]
fn options_that_no_id_can_have_are_refused_with_what_can_be() {
    let time = Timestamp::from_unix_millis(1_700_000_000_000);
    for (name, text, expected) in [
        (
            "tid",
            "node=1024",
            "node: 1024 is not a clock id, the largest is 1023",
        ),
        (
            "flake",
            "node=281474976710656",
            "node: 281474976710656 does not fit, a flake's worker has 48 bits",
        ),
        ("tsid", "node_bits=21", "node-bits: 21, a TSID has 0 to 20"),
        (
            "tsid",
            "node-bits=8 node=256",
            "node: 256 does not fit 8 bits, the largest is 255",
        ),
        ("cuid2", "length=1", "length: 1, a CUID2 has 2 to 32 characters"),
        ("cuid2", "length=33", "length: 33, a CUID2 has 2 to 32 characters"),
        (
            "typeid",
            "prefix=User",
            "prefix: a prefix has only a to z and _, at 0",
        ),
        (
            "sqids",
            "alphabet=ab",
            "alphabet: sqids need three or more characters of ASCII",
        ),
        (
            "sqids",
            "alphabet=abcé",
            "alphabet: sqids need three or more characters of ASCII",
        ),
        (
            "sqids",
            "length=256",
            "length: 256, a sqid can be asked to have up to 255",
        ),
        (
            "snowflake",
            "worker=1024",
            "worker: worker id 1024 does not fit layout \"twitter\": 10 bits, largest is 1023",
        ),
        (
            "snowflake",
            "layout=sonyflake worker=65536",
            "worker: worker id 65536 does not fit layout \"sonyflake\": 16 bits, largest is 65535",
        ),
        (
            "snowflake",
            "layout=time=20,sequence=8",
            "2023-11-14T22:13:20Z does not fit this format: it holds 1970-01-01T00:00:00Z to \
             1970-01-01T00:17:28.575999999Z",
        ),
        (
            "uuid1",
            "clock_seq=16384",
            "clock_seq: 16384 does not fit, the largest is 16383",
        ),
        (
            "uuid6",
            "node=281474976710656",
            "node: 281474976710656 does not fit, it has 48 bits",
        ),
        (
            "uuid2",
            "clock_seq=64",
            "clock_seq: 64 does not fit, the largest is 63",
        ),
        (
            "uuid2",
            "clock_seq=256",
            "clock_seq: 256 does not fit, the largest is 63",
        ),
    ] {
        let row = format(name).unwrap();
        let options = with(asked(row), text);
        let at = row.make_at(time, &options, &mut Seeded(1));
        let made = if row.can_make_at() { at } else { row.make(&options) };
        assert_eq!(made.unwrap_err().to_string(), expected, "{name} {text}");
        // Made now it is refused alike, but for the times.
        if row.can_make() {
            assert_eq!(
                row.make(&options).unwrap_err().to_string(),
                expected,
                "{name} {text}"
            );
        }
    }
}

#[test]
fn options_that_an_id_cannot_be_without_are_asked_for() {
    for (name, text, expected) in [
        ("uuid2", "", "domain: uuid2 needs one"),
        ("uuid2", "domain=org", "local-id: uuid2 needs one"),
        (
            "uuid5",
            "",
            "namespace: a uuid made from a name needs a namespace and a name",
        ),
        (
            "uuid3",
            "namespace=dns",
            "name: a uuid made from a name needs a namespace and a name",
        ),
        ("sqids", "", "numbers: a sqid stands for one or more"),
    ] {
        let options = with(GenOptions::default(), text);
        let refused = format(name).unwrap().make(&options).unwrap_err();
        assert_eq!(refused.to_string(), expected, "{name} {text}");
    }
}

#[test]
fn options_are_named_with_hyphens_or_underscores_and_nothing_else() {
    for option in GenOption::ALL {
        assert_eq!(GenOption::from_name(option.name()), Some(*option));
        assert_eq!(
            GenOption::from_name(&option.name().replace('-', "_")),
            Some(*option)
        );
        assert_eq!(GenOption::from_name(&option.name().to_uppercase()), None);
    }
    for name in ["", "nod", "nodes", "node bits"] {
        assert_eq!(GenOption::from_name(name), None, "{name}");
    }
}

#[test]
fn a_sqid_stands_for_at_most_a_thousand_numbers() {
    let sqids = Sqids::default();
    assert_eq!(sqids.encode(&[]).unwrap(), "");
    let thousand = sqids.encode(&[7; 1000]).unwrap();
    assert_eq!(sqids.decode(thousand.as_bytes()), Ok(vec![7; 1000]));
    assert_eq!(
        sqids.encode(&[7; 1001]).unwrap_err().to_string(),
        "numbers: 1001, a sqid stands for at most 1000"
    );
    // One more than that, by whatever separator and digits come next: all that may follow is tried.
    let more: Vec<TextError> = (b'0'..=b'z')
        .filter(u8::is_ascii_alphanumeric)
        .flat_map(|separator| [[separator, b'a'], [separator, b'b'], [separator, b'c']])
        .filter_map(|tail| sqids.decode(&[thousand.as_bytes(), &tail].concat()).err())
        .collect();
    let refused = TextError::Rule {
        position: thousand.len() + 1,
        rule: "more than 1000 numbers",
    };
    assert!(more.contains(&refused), "{more:?}");
}

#[test]
fn texts_of_the_rarer_forms_of_a_uuid_are_refused_where_they_go_wrong() {
    let ones = |count| "1".repeat(count);
    let fill = |count| "_".repeat(count);
    for (name, text, expected) in [
        (
            "z85",
            "00000#####0000000000".into(),
            "five digits that are more than four bytes, at 5",
        ),
        (
            "z85",
            "0000000000\"000000000".into(),
            "a character that this form never has at 10",
        ),
        (
            "simple",
            "017f22e279b07cc398c4dc0c0c07398g".into(),
            "a character that this form never has at 31",
        ),
        (
            "ncname32",
            "qaf7sfytzwdgdrrg4bqgaoompj".into(),
            "a character that this form never has at 0",
        ),
        (
            "ncname32",
            "haf7sFytzwdgdrrg4bqgaoompj".into(),
            "a character that this form never has at 5",
        ),
        (
            "ncname32",
            "haf7sfytzwdgdrrg4bqgaoompz".into(),
            "a character that this form never has at 25",
        ),
        (
            "ncname58",
            format!("A{}_1{}A", ones(15), fill(4)),
            "a character that this form never has at 17",
        ),
        (
            "ncname58",
            format!("A{}A", "z".repeat(21)),
            "the number is larger than the id can be",
        ),
        (
            "ncname58",
            format!("A{}{}A", ones(14), fill(7)),
            "not the way this form writes the id, from position 1",
        ),
        (
            "base62id",
            "z".repeat(22),
            "the number does not have the bits 10 above the id, at 0",
        ),
        (
            "base62id",
            "0".repeat(22),
            "the number does not have the bits 10 above the id, at 0",
        ),
    ] {
        let form = UuidText::from_name(name).unwrap();
        assert_eq!(
            form.read(text.as_bytes()).unwrap_err().to_string(),
            expected,
            "{name} {text}"
        );
    }
    let nil = format!("A{}{}A", ones(15), fill(6));
    assert_eq!(UuidText::NcName58.read(nil.as_bytes()), Ok(Uuid::nil()));
}

#[test]
fn text_far_too_long_is_refused_by_its_length_however_lenient_the_reader() {
    let expected = |found, expected| Err(TextError::Length { found, expected });
    for length in [65, 251, 100_000] {
        let digits = "0".repeat(length);
        assert_eq!(
            UuidText::Base32.read_lenient(digits.as_bytes()),
            expected(length, 26)
        );
        assert_eq!(parse_uuid_lenient(&digits), expected(length, 36));
    }
}
