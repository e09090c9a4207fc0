//! Nano64: 44 bits of milliseconds, 20 random ones, in hexadecimal with a hyphen between.
//!
//! ```text
//! | unix_ts_ms 44 | random 20 |
//! ```
//!
//! `unix_ts_ms` counts milliseconds since 1970, until 2527. The text is 11 and 5 hexadecimal digits in upper case
//! (only-cliches/nano64, README). Two ids of a millisecond repeat with one chance in 1,048,576: read, written and
//! made for a time here, not made in bulk.

use core::time::Duration;

use super::{BLANK, Details, Format, Id, TimeShape, Verb};
use crate::text::{TextError, radix};

pub(super) const NANO64: Format = Format {
    name: "nano64",
    title: "Nano64",
    summary: "64 bits: milliseconds and 20 random ones",
    unique: "20 random bits within a millisecond: too few",
    tells: "when",
    // A hyphen at its place.
    likely: |_, _, _| 0.9,
    lacks: &[Verb::Make, Verb::Generator],
    source: "only-cliches/nano64, README",
    diagram: "| unix_ts_ms 44 | random 20 |",
    bits: 64,
    text_len: (17, 17),
    time: Some(SHAPE),
    bytes_sort: true,
    text_sorts: true,
    entropy: |_| 20.0,
    parse: |text, _| parse(text, false),
    parse_lenient: Some(|text, _| parse(text, true)),
    write: |id, out| {
        let number = u128::from(number(id));
        radix::write_fixed(number >> 20, HEX, 11, out);
        out.push(b'-');
        radix::write_fixed(number & 0xf_ffff, HEX, 5, out);
    },
    read: |id, _| {
        let number = number(id);
        Details::new(Some(SHAPE.time_of(number >> 20)))
            .number("unix_ts_ms", number >> 20, 44)
            .number("random", number & 0xf_ffff, 20)
    },
    make_at: Some(|time, _, entropy| {
        let mut random = [0; 4];
        entropy.fill(&mut random);
        Ok((SHAPE.tick_of(time)? << 20 | u64::from(u32::from_be_bytes(random) >> 12)).into())
    }),
    min_at: Some(|time, _| Ok((SHAPE.tick_of(time)? << 20).into())),
    max_at: Some(|time, _| Ok((SHAPE.tick_of(time)? << 20 | 0xf_ffff).into())),
    ..BLANK
};

const SHAPE: TimeShape = TimeShape::new(Duration::from_millis(1), 0, 1 << 44, 3);
const HEX: &[u8] = b"0123456789ABCDEF";

fn number(id: &Id) -> u64 {
    u64::from_be_bytes(id.array().expect("Format checked the size"))
}

fn parse(text: &[u8], fold: bool) -> Result<Id, TextError> {
    if text.len() != 17 {
        return Err(TextError::Length {
            found: text.len(),
            expected: 17,
        });
    }
    if text[11] != b'-' {
        return Err(TextError::Rule {
            position: 11,
            rule: "a hyphen separates time and randomness",
        });
    }
    let high = radix::read(&text[..11], HEX, fold)? as u64;
    let low = radix::read(&text[12..], HEX, fold).map_err(|error| error.moved(12))? as u64;
    Ok((high << 20 | low).into())
}
