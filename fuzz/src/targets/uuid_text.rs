//! Every text form of a UUID; two implementations against one another where there are two.

use mintage::{SnowflakeText, Ulid, Uuid, UuidOrder, UuidText, parse_uuid, parse_uuid_lenient, uuid_text};

use crate::{Target, saw, seeds};

pub(super) fn targets() -> Vec<Target> {
    let mut all: Vec<Target> = UuidText::ALL
        .iter()
        .map(|&(name, form)| {
            let mut seeds: Vec<Vec<u8>> = ids()
                .iter()
                .map(|id| {
                    let mut out = Vec::new();
                    form.write(id, &mut out);
                    out
                })
                .collect();
            seeds.extend(seeds::column("uuid-lenient.tsv", 1));
            Target::new(format!("text-{name}"), seeds, move |input| check(form, input)).words(&[
                "urn:uuid:",
                "{",
                "}",
                "-",
                "==",
                "0x",
                "0000",
                "i",
                "O",
            ])
        })
        .collect();
    all.push(Target::new(
        "parse-uuid",
        seeds::column("uuid-fields.tsv", 0),
        parse,
    ));
    all.push(Target::new(
        "uuid-order",
        [[0u8; 16], [0xff; 16], [0x80; 16], [0x5f; 16]],
        order,
    ));
    all
}

fn ids() -> Vec<Uuid> {
    let texts = seeds::column("uuid-fields.tsv", 0);
    let mut ids: Vec<Uuid> = texts.iter().filter_map(|text| parse_uuid(text).ok()).collect();
    ids.extend([
        Uuid::nil(),
        Uuid::max(),
        Uuid::from_u128(1),
        Uuid::from_u128(1 << 127),
    ]);
    ids
}

fn check(form: UuidText, input: &[u8]) {
    let strict = form.read(input);
    let lenient = form.read_lenient(input);
    if let Ok(id) = strict {
        let mut text = Vec::new();
        form.write(&id, &mut text);
        let folds = matches!(
            form,
            UuidText::Hyphenated | UuidText::Simple | UuidText::Urn | UuidText::Braced | UuidText::Upper
        );
        assert!(
            text == input || folds && text.eq_ignore_ascii_case(input),
            "{}",
            text.escape_ascii()
        );
        if form != UuidText::Raw {
            assert_eq!(
                lenient,
                Ok(id),
                "the lenient reader reads what the strict one does"
            );
        }
    }
    match lenient {
        Ok(id) => {
            let mut text = Vec::new();
            form.write(&id, &mut text);
            assert_eq!(form.read(&text), Ok(id));
            saw((strict.is_ok(), id.get_version_num()));
        }
        Err(error) => {
            assert!(error.position().is_none_or(|at| at <= input.len()), "{error}");
            saw((std::mem::discriminant(&error), error.position()));
        }
    }
    if form == UuidText::Base32 {
        // The ULID's own reader is another implementation of the same text.
        let ulid = Ulid::parse(input)
            .ok()
            .map(|ulid| Uuid::from_bytes(ulid.to_bytes()));
        assert_eq!(strict.ok(), ulid);
    }
    if form == UuidText::Int
        && let Ok(number) = SnowflakeText::Dec.read(input)
    {
        assert_eq!(strict, Ok(Uuid::from_u128(number.into())));
    }
}

/// Against the uuid crate, and character by character.
fn parse(input: &[u8]) {
    let read = parse_uuid(input);
    let theirs = std::str::from_utf8(input).ok().filter(|text| text.len() == 36);
    assert_eq!(read.ok(), theirs.and_then(|text| Uuid::try_parse(text).ok()));
    match read {
        Ok(id) => {
            assert!(uuid_text(&id).eq_ignore_ascii_case(input));
            let mut theirs = [0; 36];
            id.hyphenated().encode_lower(&mut theirs);
            assert_eq!(uuid_text(&id), theirs);
            let mut lines = Vec::new();
            UuidText::Hyphenated.write_lines(&[id, id], &mut lines);
            assert_eq!(lines, [&theirs[..], b"\n", &theirs, b"\n"].concat());
            saw(true);
        }
        Err(error) => {
            if let Some(at) = error.position() {
                // Everything before the place is right, the character there is not.
                let fits = |at: usize, byte: u8| match at {
                    8 | 13 | 18 | 23 => byte == b'-',
                    _ => byte.is_ascii_hexdigit(),
                };
                assert!(input[..at].iter().enumerate().all(|(at, byte)| fits(at, *byte)));
                assert!(!fits(at, input[at]));
            } else {
                assert_ne!(input.len(), 36);
            }
            saw((std::mem::discriminant(&error), error.position()));
        }
    }
    if let Ok(id) = read {
        assert_eq!(parse_uuid_lenient(input), Ok(id));
    }
}

fn order(input: &[u8]) {
    let Some((a, rest)) = input.split_first_chunk::<16>() else {
        return;
    };
    let b = rest.first_chunk::<16>().unwrap_or(a);
    let (a, b) = (Uuid::from_bytes(*a), Uuid::from_bytes(*b));
    for (_, order) in UuidOrder::ALL {
        let kept = order.stored(&a);
        if let Some(bytes) = kept {
            assert_eq!(order.from_stored(bytes), a);
        }
        assert_eq!(order.compare(&a, &b).reverse(), order.compare(&b, &a));
        assert_eq!(order.compare(&a, &b).is_eq(), order.key(&a) == order.key(&b));
        saw((kept.is_some(), order.compare(&a, &b)));
    }
}
