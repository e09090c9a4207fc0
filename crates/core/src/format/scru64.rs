//! SCRU64: 12 digits of base 36 for steps of 256 ms, a node and a counter.
//!
//! ```text
//! | timestamp_256ms 40 | node_ctr 24 |
//! ```
//!
//! `timestamp_256ms` counts steps of 256 ms since 1970, up to what 12 digits of base 36 hold; `node_ctr` is a node and
//! a counter side by side, how wide each is an id does not say (scru64/spec 1.0). Ids are made by a generator whose
//! node was assigned: `mint snowflake --preset scru64`, whose node has 8 bits.

use core::time::Duration;

use super::{BLANK, Details, Format, Id, TimeShape, Verb};
use crate::text::{TextError, radix};

pub(super) const SCRU64: Format = Format {
    name: "scru64",
    title: "SCRU64",
    summary: "64 bits by time, with a node, in 12 characters",
    unique: "the node, if nobody else has it, and a counter",
    tells: "when to 256 ms, by which node, and how many in that step",
    // 12 letters and digits of any kind have a time in its range of two thousand years.
    likely: |_, _, _| 0.4,
    lacks: &[Verb::Make, Verb::Generator],
    source: "scru64/spec 1.0 and scru64/rust",
    diagram: "| timestamp_256ms 40 | node_ctr 24 |",
    bits: 64,
    text_len: (12, 12),
    time: Some(SHAPE),
    bytes_sort: true,
    text_sorts: true,
    parse: |text, _| parse(text, false),
    parse_lenient: Some(|text, _| parse(text, true)),
    // Numbers above 12 digits are none; they are written longer, and read by nobody.
    write: |id, out| match number(id) {
        small @ ..=NUMBER_MAX => radix::write_fixed(small.into(), radix::BASE36, 12, out),
        large => radix::write(large, radix::BASE36, out),
    },
    read: |id, _| {
        let number = number(id);
        Details::new(Some(SHAPE.time_of(number >> 24)))
            .number("timestamp_256ms", number >> 24, 40)
            .number("node_ctr", number & 0xff_ffff, 24)
    },
    make_at: Some(|time, _, entropy| {
        let mut random = [0; 4];
        entropy.fill(&mut random);
        Ok((SHAPE.tick_of(time)? << 24 | u64::from(u32::from_be_bytes(random) >> 8)).into())
    }),
    min_at: Some(|time, _| Ok((SHAPE.tick_of(time)? << 24).into())),
    max_at: Some(|time, _| Ok((SHAPE.tick_of(time)? << 24 | 0xff_ffff).into())),
    ..BLANK
};

/// As many steps as 36^12 numbers have.
const SHAPE: TimeShape = TimeShape::new(Duration::from_millis(256), 0, 282_429_536_481, 3);

/// 36^12 - 1.
const NUMBER_MAX: u64 = 4_738_381_338_321_616_895;

fn number(id: &Id) -> u64 {
    u64::from_be_bytes(id.array().expect("Format checked the size"))
}

fn parse(text: &[u8], fold: bool) -> Result<Id, TextError> {
    if text.len() != 12 {
        return Err(TextError::Length {
            found: text.len(),
            expected: 12,
        });
    }
    let number = radix::read(text, radix::BASE36, fold)?;
    Ok(u64::try_from(number).map_err(|_| TextError::TooLarge)?.into())
}
