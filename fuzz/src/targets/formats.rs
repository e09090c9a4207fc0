//! The readers of every format, strict and lenient.

use mintage::{Alphabet, FORMATS, Format, GenOptions, Id};

use crate::{Target, saw, seeds};

pub(super) fn targets() -> Vec<Target> {
    FORMATS
        .iter()
        .map(|row| {
            let target = Target::new(row.name, seeds_of(row), move |input| {
                check(row, &options(row), input)
            });
            target.words(&[
                "-",
                "_",
                "0",
                "urn:uuid:",
                "{",
                "}",
                "i",
                "l",
                "o",
                "7",
                "=",
                "user_",
            ])
        })
        .collect()
}

/// Texts of vectors where there are some, and the bounds and one more id of what the format makes.
fn seeds_of(row: &'static Format) -> Vec<Vec<u8>> {
    let mut seeds = match row.name {
        name if name.starts_with("uuid") => seeds::column("uuid-fields.tsv", 0),
        "snowflake" => seeds::column("snowflake.tsv", 1),
        name => seeds::column(&format!("{name}.tsv"), 2),
    };
    let mut id = [Id::default()];
    if row.make_many(&GenOptions::default(), &mut id).is_ok()
        && let Ok(text) = row.text(&id[0])
    {
        // Only its shape: a run must not depend on the clock.
        seeds.push(
            text.bytes()
                .map(|byte| if byte.is_ascii_digit() { b'1' } else { byte })
                .collect(),
        );
    }
    seeds
}

/// What the text alone does not tell.
fn options(row: &Format) -> GenOptions {
    match row.name {
        "token" => GenOptions {
            checksum: true,
            ..GenOptions::default()
        },
        "nanoid" => GenOptions {
            alphabet: Alphabet::new("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_-").ok(),
            ..GenOptions::default()
        },
        _ => GenOptions::default(),
    }
}

fn check(row: &'static Format, options: &GenOptions, input: &[u8]) {
    let strict = row.parse(input, options);
    let lenient = row.parse_lenient(input, options);
    if let Ok(id) = &strict {
        // One text for an id, and one id for a text.
        let text = row.text(id).expect("it was read");
        let same = match row.name {
            // RFC 9562: digits of either case are read, lower case is written.
            name if name.starts_with("uuid") => text.as_bytes().eq_ignore_ascii_case(input),
            "objectid" | "scru128" => text.as_bytes().eq_ignore_ascii_case(input),
            _ => text.as_bytes() == input,
        };
        assert!(same, "{} is written as {text}", input.escape_ascii());
        assert_eq!(
            lenient.as_ref(),
            Ok(id),
            "the lenient reader reads what the strict one does"
        );
    }
    match &lenient {
        Ok(id) => {
            let text = row.text(id).expect("it was read");
            assert_eq!(
                row.parse(text.as_bytes(), options).as_ref(),
                Ok(id),
                "{text} reads back"
            );
            let details = row.read(id, options).expect("it was read");
            saw((strict.is_ok(), details.fields.len(), details.time.is_some()));
            saw(details.time.map(|time| time.at.unix_nanos().signum()));
        }
        Err(error) => {
            if let Some(position) = error.position() {
                assert!(position <= input.len(), "{error}");
            }
            saw((std::mem::discriminant(error), error.position()));
        }
    }
    if let Err(error) = &strict {
        saw((std::mem::discriminant(error), error.position()));
        assert!(!error.to_string().is_empty());
    }
}
