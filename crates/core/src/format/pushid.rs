//! Firebase's push id: 48 bits of milliseconds and 72 random ones, in 20 characters.
//!
//! ```text
//!  -JhLeOlG  IEjaIOFHR0xd
//! |--------||------------|
//!  unix_ts_ms  randomness
//!   48 bits     72 bits
//! ```
//!
//! Six bits a character, in an alphabet that stands in the order of ASCII, so texts sort by time: `-`, digits,
//! upper case, `_`, lower case (Firebase's article on push ids of 2015 and its `generatePushID`).
//!
//! Rare events. *Several in a millisecond*: the first 20 random bits count up from a random start; full, they
//! carry into the millisecond. *Clock back*: the last millisecond is held. *Fork*: the child draws other random
//! bits. *End*: 10889.

use core::time::Duration;

#[cfg(feature = "std")]
use super::Source;
use super::places::Places;
use super::ulid::MILLIS;
use super::value::id_type;
use super::{BLANK, Details, Format, FormatError, GenOptions, Id};
use crate::layout::ones;
use crate::text::TextError;
use crate::time::{Clock, Timestamp};
use crate::{Entropy, MintError};

pub(super) const PUSHID: Format = Format {
    name: "pushid",
    title: "Firebase push id",
    summary: "Firebase's: time, then random, in 20 characters",
    unique: "time and 72 bits, counted and random",
    tells: "when",
    likely: |_, _, _| 0.75,
    source: "Firebase, The 2^120 Ways to Ensure Unique Identifiers, 2015, and its generatePushID",
    diagram: "| unix_ts_ms 48 | randomness 72 |",
    bits: 120,
    text_len: (20, 20),
    time: Some(MILLIS),
    bytes_sort: true,
    text_sorts: true,
    entropy: |_| 72.0,
    parse: |text, _| PushId::parse(text).map(Id::from),
    write: |id, out| out.extend_from_slice(&PushId::of(id).text()),
    read: |id, _| {
        let id = PushId::of(id);
        Details::new(Some(MILLIS.time_of(id.unix_millis())))
            .number("unix_ts_ms", id.unix_millis(), 48)
            .hex("randomness", &id.0[6..])
    },
    #[cfg(feature = "std")]
    make_many: Some(|from, _, out| super::value::through(out, |ids| filled(from, ids))),
    #[cfg(feature = "std")]
    write_lines: Some(|_, count, out| super::value::lines(count, out, |ids| filled(Source::PROCESS, ids))),
    make_at: Some(|time, _, entropy| {
        let mut random = [0; 9];
        entropy.fill(&mut random);
        Ok(PushId::from_parts(time, random)?.into())
    }),
    min_at: Some(|time, _| Ok(PushId::from_parts(time, [0; 9])?.into())),
    max_at: Some(|time, _| Ok(PushId::from_parts(time, [0xff; 9])?.into())),
    generator: Some(|_: &GenOptions, clock, entropy| {
        let mut generator = PushIdGenerator::new(clock, entropy);
        Ok(alloc::boxed::Box::new(move || Ok(generator.next_id()?.into())))
    }),
    ..BLANK
};

id_type! {
    /// A Firebase push id: 120 bits, 20 characters.
    ///
    /// ```
    /// use mintage::{PushId, TextError};
    /// let id: PushId = "-JhLeOlGIEjaIOFHR0xd".parse()?; // the article's
    /// assert_eq!(id.unix_millis(), 1_423_088_131_153);
    /// assert_eq!(PushId::parse(b"-JhLeOlGIEjaIOFHR0x.").unwrap_err().position(), Some(19));
    /// # Ok::<(), TextError>(())
    /// ```
    PushId, 15, 20
}

const ALPHABET: &[u8; 64] = b"-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz";

const FOREIGN: u8 = 0xff;

static DIGITS: [u8; 256] = {
    let mut digits = [FOREIGN; 256];
    let mut digit = 0;
    while digit < 64 {
        digits[ALPHABET[digit] as usize] = digit as u8;
        digit += 1;
    }
    digits
};

#[inline]
fn encode(bytes: &[u8; 15], out: &mut [u8; 20]) {
    for (letters, bytes) in out
        .as_chunks_mut::<4>()
        .0
        .iter_mut()
        .zip(bytes.as_chunks::<3>().0)
    {
        let [a, b, c] = *bytes;
        let bits = u32::from_be_bytes([0, a, b, c]);
        *letters = [18, 12, 6, 0].map(|shift| ALPHABET[(bits >> shift & 63) as usize]);
    }
}

fn decode(text: &[u8]) -> Result<[u8; 15], TextError> {
    let text: &[u8; 20] = text.try_into().map_err(|_| TextError::Length {
        found: text.len(),
        expected: 20,
    })?;
    let digits = text.map(|letter| DIGITS[usize::from(letter)]);
    if let Some(position) = digits.iter().position(|digit| *digit == FOREIGN) {
        return Err(TextError::Character { position });
    }
    let mut bytes = [0; 15];
    for (bytes, digits) in bytes
        .as_chunks_mut::<3>()
        .0
        .iter_mut()
        .zip(digits.as_chunks::<4>().0)
    {
        let bits = digits.iter().fold(0, |bits, digit| bits << 6 | u32::from(*digit));
        let [_, a, b, c] = bits.to_be_bytes();
        *bytes = [a, b, c];
    }
    Ok(bytes)
}

impl PushId {
    /// The push id of these bytes: all 120-bit values are one.
    pub const fn from_bytes(bytes: [u8; 15]) -> Self {
        PushId(bytes)
    }

    /// The push id of a time and 72 bits. Touches no generator state.
    ///
    /// # Errors
    /// `time` lies before 1970 or past 10889.
    pub fn from_parts(time: Timestamp, randomness: [u8; 9]) -> Result<Self, FormatError> {
        let mut bytes = [0; 15];
        bytes[..6].copy_from_slice(&MILLIS.tick_of(time)?.to_be_bytes()[2..]);
        bytes[6..].copy_from_slice(&randomness);
        Ok(PushId(bytes))
    }

    /// Milliseconds since 1970.
    pub const fn unix_millis(self) -> u64 {
        let [a, b, c, d, e, f, ..] = self.0;
        u64::from_be_bytes([0, 0, a, b, c, d, e, f])
    }

    /// When it says it was made.
    pub const fn time(self) -> Timestamp {
        Timestamp::from_unix_millis(self.unix_millis() as i64)
    }

    /// Millisecond, 20 bits of counter, 52 random bits.
    fn of_place(millis: u64, counter: u64, random: u64) -> Self {
        let tail = u128::from(counter) << 52 | u128::from(random & ones(52));
        let number = u128::from(millis) << 72 | tail;
        PushId(*number.to_be_bytes().last_chunk().expect("16 bytes hold 15"))
    }
}

/// A new push id. Thread-safe, fork-safe, and strictly increasing over all threads of the process; ids of
/// [`uuid7`](crate::uuid7) and push ids share one order.
///
/// # Panics
/// As [`fill_random`](crate::fill_random).
///
/// ```
/// let (a, b) = (mintage::pushid(), mintage::pushid());
/// assert!(a < b && a.to_string() < b.to_string());
/// ```
#[cfg(feature = "std")]
pub fn pushid() -> PushId {
    at_place(
        crate::uuid::v7::claim_by(Source::PROCESS, 1),
        crate::entropy::random_array(),
    )
}

/// Fills `out` with new push ids, strictly increasing, with one clock reading.
///
/// # Panics
/// As [`fill_random`](crate::fill_random).
#[cfg(feature = "std")]
pub fn pushid_many(out: &mut [PushId]) {
    fill_by(Source::PROCESS, out);
}

#[cfg(feature = "std")]
fn filled(from: Source<'_>, out: &mut [PushId]) -> Result<(), FormatError> {
    fill_by(from, out);
    Ok(())
}

#[cfg(feature = "std")]
fn fill_by(from: Source<'_>, out: &mut [PushId]) {
    super::value::in_order(from, out, at_place);
}

#[cfg(feature = "std")]
#[inline]
fn at_place(place: u64, random: [u8; 8]) -> PushId {
    PushId::of_place(place >> 20, place & ones(20), u64::from_be_bytes(random))
}

/// Makes push ids from a clock and an entropy source of your choice; no state outside itself.
///
/// Strictly increasing: 20 bits count within a millisecond from a random start of 19 and carry into it, at most
/// `max_ahead` ahead of the clock; 52 bits are fresh in every id. A clock that goes back is held. After `fork` the
/// entropy must differ ([`SystemEntropy`](crate::SystemEntropy) does).
///
/// ```
/// use mintage::{FixedClock, PushIdGenerator, SystemEntropy, Timestamp};
/// let clock = FixedClock(Timestamp::from_unix_millis(1_423_088_131_153));
/// let mut generator = PushIdGenerator::new(clock, SystemEntropy);
/// let (a, b) = (generator.next_id()?, generator.next_id()?);
/// assert!(a < b && a.to_string().starts_with("-JhLeOlG"));
/// # Ok::<(), mintage::MintError>(())
/// ```
#[derive(Clone)]
pub struct PushIdGenerator<C, E> {
    places: Places<C, E>,
}

impl<C: Clock, E: Entropy> PushIdGenerator<C, E> {
    /// A generator on `clock` and `entropy` that runs at most 10 s ahead of the clock.
    pub fn new(clock: C, entropy: E) -> Self {
        PushIdGenerator {
            places: Places::new(clock, entropy, MILLIS, 20, 19),
        }
    }

    /// Sets how far ids may run ahead of the clock; whole milliseconds, at least 2.
    #[must_use]
    pub fn max_ahead(mut self, max_ahead: Duration) -> Self {
        self.places.set_max_ahead(max_ahead);
        self
    }

    /// The next push id.
    ///
    /// # Errors
    /// The clock stands before 1970 or past 10889, or the id would lie more than `max_ahead` ahead of it.
    pub fn next_id(&mut self) -> Result<PushId, MintError> {
        let (millis, counter) = self.places.take()?;
        Ok(made(millis, counter, &mut self.places.entropy))
    }

    /// Fills the front of `out`, with one clock reading, and returns how many ids it holds: all, or fewer where
    /// the generator would run too far ahead of the clock.
    ///
    /// # Errors
    /// As [`Self::next_id`], if not even one id can be made.
    pub fn fill(&mut self, out: &mut [PushId]) -> Result<usize, MintError> {
        self.places.fill(out, made)
    }
}

fn made(millis: u64, counter: u64, entropy: &mut impl Entropy) -> PushId {
    let mut random = [0; 8];
    entropy.fill(&mut random);
    PushId::of_place(millis, counter, u64::from_be_bytes(random))
}

impl<C, E> core::fmt::Debug for PushIdGenerator<C, E> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("PushIdGenerator").finish_non_exhaustive()
    }
}
