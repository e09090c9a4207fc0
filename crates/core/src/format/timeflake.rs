//! Timeflake: the bits of a ULID in 22 characters of base 62.
//!
//! ```text
//! | unix_ts_ms 48 | randomness 80 |
//! ```
//!
//! `unix_ts_ms` counts milliseconds since 1970. The text is the 128 bits as one number, digits `0-9A-Za-z`, with
//! zeros in front (anthonynsimon/timeflake, README). Rare events: those of [`ulid`](crate::ulid).

#[cfg(feature = "std")]
use super::Source;
use super::ulid::{self, MILLIS, Ulid, UlidGenerator};
use super::value::id_type;
use super::wide::{self, BASE62};
use super::{BLANK, Details, Format, FormatError, GenOptions, Id};
use crate::text::TextError;
use crate::time::Timestamp;

pub(super) const TIMEFLAKE: Format = Format {
    name: "timeflake",
    title: "Timeflake",
    summary: "time, then random, in 22 characters",
    unique: "time and 80 bits, counted and random",
    tells: "when",
    source: "anthonynsimon/timeflake, README of 0.4",
    diagram: "| unix_ts_ms 48 | randomness 80 |",
    bits: 128,
    text_len: (22, 22),
    time: Some(MILLIS),
    bytes_sort: true,
    text_sorts: true,
    entropy: |_| 80.0,
    parse: |text, _| Timeflake::parse(text).map(Id::from),
    write: |id, out| out.extend_from_slice(&Timeflake::of(id).text()),
    read: |id, _| {
        let millis = Timeflake::of(id).unix_millis();
        Details::new(Some(MILLIS.time_of(millis)))
            .number("unix_ts_ms", millis, 48)
            .hex("randomness", &id.bytes()[6..])
    },
    #[cfg(feature = "std")]
    make_many: Some(|from, _, out| super::value::through(out, |ids| filled(from, ids))),
    #[cfg(feature = "std")]
    write_lines: Some(|_, count, out| super::value::lines(count, out, |ids| filled(Source::PROCESS, ids))),
    // The same bits.
    make_at: ulid::ULID.make_at,
    min_at: ulid::ULID.min_at,
    max_at: ulid::ULID.max_at,
    generator: Some(|_: &GenOptions, clock, entropy| {
        let mut generator = UlidGenerator::new(clock, entropy);
        Ok(alloc::boxed::Box::new(move || Ok(generator.next_id()?.into())))
    }),
    ..BLANK
};

id_type! {
    /// A Timeflake: 48 bits of milliseconds and 80 random ones, 22 characters of base 62.
    ///
    /// ```
    /// use mintage::{TextError, Timeflake};
    /// let id: Timeflake = "02i1KoFfY3auBS745gImbZ".parse()?; // the original's tests
    /// assert_eq!(id.unix_millis(), 1_579_091_935_216);
    /// assert_eq!(Timeflake::parse(b"7n42DGM5Tflk9n8mt7Fhc8"), Err(TextError::TooLarge)); // 2^128
    /// # Ok::<(), TextError>(())
    /// ```
    Timeflake, 16, 22
}

#[inline]
fn encode(bytes: &[u8; 16], out: &mut [u8; 22]) {
    BASE62.encode(wide::limbs::<4>(bytes), out);
}

fn decode(text: &[u8]) -> Result<[u8; 16], TextError> {
    BASE62.decode::<4, 22>(text).map(wide::bytes)
}

impl Timeflake {
    /// The Timeflake of these bytes: all 128-bit values are one.
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Timeflake(bytes)
    }

    /// The Timeflake of a time and 80 bits. Touches no generator state.
    ///
    /// # Errors
    /// `time` lies before 1970 or past 10889.
    pub fn from_parts(time: Timestamp, randomness: [u8; 10]) -> Result<Self, FormatError> {
        Ulid::from_parts(time, randomness).map(Timeflake::from)
    }

    /// Milliseconds since 1970.
    pub const fn unix_millis(self) -> u64 {
        (u128::from_be_bytes(self.0) >> 80) as u64
    }

    /// When it says it was made.
    pub const fn time(self) -> Timestamp {
        Timestamp::from_unix_millis(self.unix_millis() as i64)
    }
}

impl From<Ulid> for Timeflake {
    /// The same bits.
    fn from(id: Ulid) -> Self {
        Timeflake(id.to_bytes())
    }
}

/// A new Timeflake: the bits of [`ulid`](crate::ulid), with its order and its guarantees.
///
/// # Panics
/// As [`fill_random`](crate::fill_random).
///
/// ```
/// let (a, b) = (mintage::timeflake(), mintage::timeflake());
/// assert!(a < b && a.to_string() < b.to_string());
/// ```
#[cfg(feature = "std")]
pub fn timeflake() -> Timeflake {
    ulid::ulid().into()
}

/// Fills `out` with new Timeflakes, strictly increasing, with one clock reading.
///
/// # Panics
/// As [`fill_random`](crate::fill_random).
#[cfg(feature = "std")]
pub fn timeflake_many(out: &mut [Timeflake]) {
    fill_by(Source::PROCESS, out);
}

#[cfg(feature = "std")]
fn filled(from: Source<'_>, out: &mut [Timeflake]) -> Result<(), FormatError> {
    fill_by(from, out);
    Ok(())
}

#[cfg(feature = "std")]
fn fill_by(from: Source<'_>, out: &mut [Timeflake]) {
    super::value::in_order(from, out, |place, random| {
        Ulid::at_place(place, u64::from_be_bytes(random)).into()
    });
}
