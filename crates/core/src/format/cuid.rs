//! CUID of the first version: time, counter, fingerprint and randomness, 25 characters. Read, not made.
//!
//! ```text
//!  c  jld2cjxh  0000  qzrm  n831i7rn
//! |c||timestamp||counter||fingerprint||random|   (base 36)
//! ```
//!
//! `timestamp` counts milliseconds since 1970 in 8 digits, which lasts until 2059; counter and fingerprint have 4
//! digits, the random part 8 (paralleldrive/cuid, README). Its authors retired it because it tells the time and the host:
//! new ids are [`cuid2`](crate::cuid2).

use alloc::string::String;
use core::time::Duration;

use super::{BLANK, Details, Format, FormatError, Id, TimeShape, Verb};
use crate::text::TextError;
use crate::time::Timestamp;

pub(super) const CUID: Format = Format {
    name: "cuid",
    aliases: &["cuid1"],
    title: "CUID, first version",
    summary: "time, counter, host and random; retired by its authors, read only",
    unique: "time, counter, fingerprint and 41 random bits",
    tells: "when, on which host, and how many it had made",
    likely: |_, _, _| 0.85,
    lacks: &[Verb::Make, Verb::MakeAt, Verb::Generator],
    source: "paralleldrive/cuid, README of 3",
    diagram: "| c | timestamp_ms 8 digits | counter 4 | fingerprint 4 | random 8 |",
    text_len: (25, 25),
    time: Some(MILLIS),
    text_sorts: true,
    entropy: |_| 41.359_400_011_538_5,
    parse,
    read: |id, _| {
        let text = id.text().unwrap_or("");
        let number = |at: core::ops::Range<usize>| {
            let digits = text.get(at).unwrap_or("0");
            u64::from_str_radix(digits, 36).expect("8 base-36 digits were checked")
        };
        Details::new(Some(MILLIS.time_of(number(1..9))))
            .number("timestamp_ms", number(1..9), 42)
            .number("counter", number(9..13), 21)
            .text("fingerprint", text.get(13..17).unwrap_or(""))
            .text("random", text.get(17..).unwrap_or(""))
    },
    min_at: Some(|time, _| bound(time, '0')),
    max_at: Some(|time, _| bound(time, 'z')),
    ..BLANK
};

/// Eight digits of base 36.
const MILLIS: TimeShape = TimeShape::new(Duration::from_millis(1), 0, 36u128.pow(8), 3);

fn parse(text: &[u8], _: &super::GenOptions) -> Result<Id, TextError> {
    if text.len() != 25 {
        return Err(TextError::Length {
            found: text.len(),
            expected: 25,
        });
    }
    if text[0] != b'c' {
        return Err(TextError::Rule {
            position: 0,
            rule: "a CUID begins with c",
        });
    }
    Id::of_base36(text)
}

fn bound(time: Timestamp, fill: char) -> Result<Id, FormatError> {
    let mut millis = MILLIS.tick_of(time)?;
    let mut text = [b'0'; 9];
    for digit in text[1..].iter_mut().rev() {
        *digit = b"0123456789abcdefghijklmnopqrstuvwxyz"[(millis % 36) as usize];
        millis /= 36;
    }
    text[0] = b'c';
    let mut bound = String::from_utf8(text.to_vec()).expect("ASCII");
    bound.extend(core::iter::repeat_n(fill, 16));
    Ok(Id::from_text(&bound))
}
