//! MongoDB's ObjectId: seconds, process and counter in 24 hexadecimal digits.
//!
//! ```text
//! | timestamp_s 32 | random 40 | counter 24 |   (12 bytes)
//! ```
//!
//! `timestamp_s` counts *unsigned* seconds since 1970 and lasts until 2106. `random` is 40 random bits of the
//! process, the counter starts at random (MongoDB's ObjectID specification of 2023).
//!
//! Rare events. *Counter full*: it carries into the second, at most 10 s ahead of the clock. *Clock back*: the
//! last second is held, as far. *Fork*: the child draws another random value.

use super::counted::{SECONDS, at, counted_format, random_at};
use super::{BLANK, Details, Format, GenOptions, Id};
use crate::text::TextError;

pub(super) const OBJECTID: Format = Format {
    name: "objectid",
    title: "ObjectId",
    summary: "MongoDB's: seconds, process and counter, in 24 hexadecimal digits",
    unique: "40 random bits of the process, and a counter that carries",
    tells: "when, to the second, and roughly how many were made in it",
    likely: |_, _, _| 0.85,
    source: "mongodb/specifications, source/bson-objectid",
    diagram: "| timestamp_s 32 | random 40 | counter 24 |",
    bits: 96,
    text_len: (24, 24),
    time: Some(SECONDS),
    bytes_sort: true,
    text_sorts: true,
    entropy: |_| 63.0,
    parse: |text, _| ObjectId::parse(text).map(Id::from),
    parse_lenient: Some(|text, _| ObjectId::parse(&text.to_ascii_lowercase()).map(Id::from)),
    write: |id, out| out.extend_from_slice(&ObjectId::of(id).text()),
    read: |id, _| {
        let id = ObjectId::of(id);
        Details::new(Some(SECONDS.time_of(id.timestamp().into())))
            .number("timestamp_s", id.timestamp().into(), 32)
            .hex("random", &id.0[4..9])
            .number("counter", id.counter().into(), 24)
    },
    #[cfg(feature = "std")]
    make_many: Some(|from, _, out| {
        super::value::through(out, |ids| fill_by(from.clock, from.generators, ids))
    }),
    #[cfg(feature = "std")]
    write_lines: Some(|_, count, out| super::value::lines(count, out, objectid_many)),
    make_at: Some(|time, _, entropy| Ok(ObjectId(random_at(time, entropy)?).into())),
    min_at: Some(|time, _| Ok(ObjectId(at(time, 0, 0)?).into())),
    max_at: Some(|time, _| Ok(ObjectId(at(time, u64::MAX, u64::MAX)?).into())),
    generator: Some(|_: &GenOptions, clock, entropy| {
        let mut generator = ObjectIdGenerator::new(clock, entropy);
        Ok(alloc::boxed::Box::new(move || Ok(generator.next_id()?.into())))
    }),
    ..BLANK
};

counted_format! {
    /// A MongoDB ObjectId: 12 bytes, 24 hexadecimal digits in lower case.
    ///
    /// ```
    /// use mintage::{ObjectId, TextError};
    /// let id: ObjectId = "507f1f77bcf86cd799439011".parse()?; // MongoDB's manual
    /// assert_eq!((id.timestamp(), id.counter()), (1_350_508_407, 4_427_793));
    /// assert_eq!(ObjectId::parse(b"507f1f77bcf86cd79943901G").unwrap_err().position(), Some(23));
    /// # Ok::<(), TextError>(())
    /// ```
    ObjectId, 24;
    /// Makes ObjectIds from a clock and an entropy source of your choice; no state outside itself.
    ///
    /// Strictly increasing; a full counter carries into the second and a clock that goes back is held, both at
    /// most `max_ahead` ahead of the clock. The 40 bits of the process are drawn once: after `fork` a child makes
    /// its own generator.
    ///
    /// ```
    /// use mintage::{FixedClock, ObjectIdGenerator, SystemEntropy, Timestamp};
    /// let clock = FixedClock(Timestamp::from_unix_millis(1_350_508_407_000));
    /// let mut generator = ObjectIdGenerator::new(clock, SystemEntropy);
    /// let (a, b) = (generator.next_id()?, generator.next_id()?);
    /// assert!(a < b && a.to_string().starts_with("507f1f77"));
    /// # Ok::<(), mintage::MintError>(())
    /// ```
    ObjectIdGenerator;
    /// A new ObjectId. Thread-safe, fork-safe, and strictly increasing over all threads of the process.
    ///
    /// # Errors
    /// The clock stands past 2106 or went back by more than 10 s, or more than 16.7 million ids a second ran 10 s
    /// ahead of it.
    ///
    /// ```
    /// let (a, b) = (mintage::objectid()?, mintage::objectid()?);
    /// assert!(a < b && a.to_string() < b.to_string());
    /// # Ok::<(), mintage::FormatError>(())
    /// ```
    objectid, objectid;
    /// Fills `out` with new ObjectIds, strictly increasing, with one clock reading.
    ///
    /// # Errors
    /// As [`objectid`]; nothing was written.
    objectid_many
}

#[inline]
fn encode(bytes: &[u8; 12], out: &mut [u8; 24]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for (pair, byte) in out.as_chunks_mut::<2>().0.iter_mut().zip(bytes) {
        *pair = [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]];
    }
}

fn decode(text: &[u8]) -> Result<[u8; 12], TextError> {
    let text: &[u8; 24] = text.try_into().map_err(|_| TextError::Length {
        found: text.len(),
        expected: 24,
    })?;
    let mut bytes = [0; 12];
    for (position, letter) in text.iter().enumerate() {
        let digit = match letter {
            b'0'..=b'9' => letter - b'0',
            b'a'..=b'f' => letter - b'a' + 10,
            _ => return Err(TextError::Character { position }),
        };
        bytes[position / 2] = bytes[position / 2] << 4 | digit;
    }
    Ok(bytes)
}
