//! ULID: 48 bits of milliseconds and 80 random ones, in 26 characters.
//!
//! ```text
//!  01AN4Z07BY      79KA1307SR9X4MV3
//! |----------|    |----------------|
//!  unix_ts_ms         randomness
//!   48 bits            80 bits
//! ```
//!
//! `unix_ts_ms` counts milliseconds since 1970-01-01T00:00:00Z. The text is Crockford's base32 of the 128 bits
//! as one number, so bytes and text sort by time (ulid/spec, README). Its first character is at most 7.
//!
//! Rare events. *Several in a millisecond*: the randomness goes up, so order is kept. *Randomness full*: an
//! error, never a wrap ([`UlidGenerator`]); [`ulid`] counts in a field that carries into the millisecond
//! instead. *Clock back*: the last millisecond is held. *Fork*: the child draws other random bits. *End*: the
//! time field lasts until 10889-08-02T05:31:50.655Z.

use core::time::Duration;

use ::uuid::Uuid;

#[cfg(feature = "std")]
use super::Source;
#[cfg(feature = "std")]
use super::base32::encode_lines_128;
use super::base32::{Letters, decode_128, encode_128};
pub(super) use super::shapes::ULID_MILLIS as MILLIS;
use super::value::id_type;
#[cfg(feature = "std")]
use super::value::{in_order, places, through};
use super::{BLANK, Details, Format, FormatError, GenOptions, Id};
use crate::layout::ones;
use crate::text::TextError;
use crate::time::{Clock, Timestamp};
use crate::word::Reach;
use crate::{Entropy, MintError};

pub(super) const ULID: Format = Format {
    name: "ulid",
    title: "ULID",
    summary: "time, then random, in 26 characters without look-alikes",
    unique: "time and 80 bits, random or counted",
    tells: "when",
    likely: |_, _, _| 0.95,
    source: "ulid/spec, README of 2019-05-23",
    diagram: "| unix_ts_ms 48 | randomness 80 |",
    bits: 128,
    text_len: (26, 26),
    time: Some(MILLIS),
    bytes_sort: true,
    text_sorts: true,
    entropy: |_| 80.0,
    parse: |text, _| Ulid::parse(text).map(Id::from),
    parse_lenient: Some(|text, _| Ulid::parse_lenient(text).map(Id::from)),
    write: |id, out| out.extend_from_slice(&Ulid::of(id).text()),
    read: |id, _| {
        let id = Ulid::of(id);
        Details::new(Some(MILLIS.time_of(id.unix_millis())))
            .number("unix_ts_ms", id.unix_millis(), 48)
            .hex("randomness", &id.0[6..])
    },
    time_of: Some(|id| MILLIS.time_of(Ulid::of(id).unix_millis())),
    #[cfg(feature = "std")]
    make_many: Some(|from, _, out| through(out, |ids| filled(from, ids))),
    #[cfg(feature = "std")]
    write_lines: Some(|_, count, out| {
        write_lines(count, out);
        Ok(())
    }),
    make_at: Some(|time, _, entropy| {
        let mut random = [0; 10];
        entropy.fill(&mut random);
        Ok(Ulid::from_parts(time, random)?.into())
    }),
    min_at: Some(|time, _| Ok(Ulid::from_parts(time, [0; 10])?.into())),
    max_at: Some(|time, _| Ok(Ulid::from_parts(time, [0xff; 10])?.into())),
    generator: Some(|_: &GenOptions, clock, entropy| {
        let mut generator = UlidGenerator::new(clock, entropy);
        Ok(alloc::boxed::Box::new(move || Ok(generator.next_id()?.into())))
    }),
    ..BLANK
};

id_type! {
    /// A ULID: 48 bits of milliseconds and 80 random ones, 26 characters of Crockford's base32.
    ///
    /// ```
    /// use mintage::{TextError, Ulid};
    /// let id: Ulid = "01ARZ3NDEKTSV4RRFFQ69G5FAV".parse()?; // the specification's
    /// assert_eq!((id.unix_millis(), id.to_string().as_str()), (1_469_922_850_259, "01ARZ3NDEKTSV4RRFFQ69G5FAV"));
    /// assert_eq!(Ulid::parse(b"8ZZZZZZZZZZZZZZZZZZZZZZZZZ").unwrap_err().position(), Some(0));
    /// # Ok::<(), TextError>(())
    /// ```
    Ulid, 16, 26
}

#[inline]
fn encode(bytes: &[u8; 16], out: &mut [u8; 26]) {
    encode_128(u128::from_be_bytes(*bytes), Letters::Crockford, out);
}

/// Upper case alone, no other letters, no hyphens: what the specification's own alphabet says.
#[inline]
fn decode(text: &[u8]) -> Result<[u8; 16], TextError> {
    decode_128(text, Letters::Crockford).map(u128::to_be_bytes)
}

impl Ulid {
    /// The ULID of these bytes: all 128-bit values are one.
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Ulid(bytes)
    }

    /// The ULID of a time and 80 bits. Touches no generator state.
    ///
    /// # Errors
    /// `time` lies before 1970 or past 10889-08-02T05:31:50.655999999Z.
    ///
    /// ```
    /// use mintage::{Timestamp, Ulid};
    /// let id = Ulid::from_parts(Timestamp::from_unix_millis(1_469_922_850_259), [0xff; 10])?;
    /// assert_eq!(id.to_string(), "01ARZ3NDEKZZZZZZZZZZZZZZZZ");
    /// # Ok::<(), mintage::FormatError>(())
    /// ```
    pub fn from_parts(time: Timestamp, randomness: [u8; 10]) -> Result<Self, FormatError> {
        let mut bytes = [0; 16];
        bytes[..6].copy_from_slice(&MILLIS.tick_of(time)?.to_be_bytes()[2..]);
        bytes[6..].copy_from_slice(&randomness);
        Ok(Ulid(bytes))
    }

    /// Milliseconds since 1970.
    pub const fn unix_millis(self) -> u64 {
        (u128::from_be_bytes(self.0) >> 80) as u64
    }

    /// When it says it was made.
    pub const fn time(self) -> Timestamp {
        Timestamp::from_unix_millis(self.unix_millis() as i64)
    }

    /// The UUID of the same 128 bits, whatever version they happen to spell.
    ///
    /// ```
    /// use mintage::{Ulid, Uuid};
    /// let id: Ulid = "01ARZ3NDEKTSV4RRFFQ69G5FAV".parse().expect("a ulid");
    /// assert_eq!(id.to_uuid().to_string(), "01563e3a-b5d3-d676-4c61-efb99302bd5b");
    /// assert_eq!(Ulid::from_uuid(id.to_uuid()), id);
    /// ```
    pub const fn to_uuid(self) -> Uuid {
        Uuid::from_bytes(self.0)
    }

    /// The UUID of version 7 of the same time: six of the random bits become version and variant, so it does not
    /// go back, and two ULIDs may become one.
    ///
    /// ```
    /// let id: mintage::Ulid = "01ARZ3NDEKTSV4RRFFQ69G5FAV".parse().expect("a ulid");
    /// assert_eq!(id.to_uuid7().to_string(), "01563e3a-b5d3-7676-8c61-efb99302bd5b");
    /// ```
    pub fn to_uuid7(self) -> Uuid {
        crate::uuid7_of_ulid(&self.to_uuid())
    }

    /// The ULID of the same 128 bits.
    pub const fn from_uuid(id: Uuid) -> Self {
        Ulid(id.into_bytes())
    }

    /// Reads what Crockford's base32 lets a reader forgive: either case, `i` and `l` for 1, `o` for 0, and
    /// hyphens anywhere.
    ///
    /// # Errors
    /// Why it is none, and where in `text`.
    ///
    /// ```
    /// use mintage::Ulid;
    /// let strict = Ulid::parse(b"01ARZ3NDEKTSV4RRFFQ69G5FAV");
    /// assert_eq!(Ulid::parse_lenient(b"oiarz3nd-ektsv4rr-ffq69g5fav"), strict);
    /// assert!(Ulid::parse(b"oiarz3nd-ektsv4rr-ffq69g5fav").is_err());
    /// ```
    pub fn parse_lenient(text: &[u8]) -> Result<Self, TextError> {
        let (mut strict, mut places) = ([0; 26], [0; 26]);
        let mut length = 0;
        for (position, letter) in text.iter().enumerate() {
            let letter = match letter.to_ascii_uppercase() {
                b'-' => continue,
                b'I' | b'L' => b'1',
                b'O' => b'0',
                other => other,
            };
            if let (Some(strict), Some(place)) = (strict.get_mut(length), places.get_mut(length)) {
                (*strict, *place) = (letter, position);
            }
            length += 1;
        }
        if length != 26 {
            return Err(TextError::Length {
                found: length,
                expected: 26,
            });
        }
        Ulid::parse(&strict).map_err(|error| match error {
            TextError::Character { position } => TextError::Character {
                position: places[position],
            },
            TextError::Rule { position, rule } => TextError::Rule {
                position: places[position],
                rule,
            },
            other => other,
        })
    }
}

/// A new ULID. Thread-safe, fork-safe, and strictly increasing over all threads of the process.
///
/// Its randomness is a counter of 20 bits, started at random in every millisecond, and 60 fresh random bits. The
/// counter is the one that [`uuid7`](crate::uuid7) uses: ids of both kinds have one order. A full counter
/// carries into the millisecond; see [`uuid7_lead`](crate::uuid7_lead).
///
/// # Panics
/// As [`fill_random`](crate::fill_random).
///
/// ```
/// let (a, b) = (mintage::ulid(), mintage::ulid());
/// assert!(a < b && a.to_string() < b.to_string());
/// ```
#[cfg(feature = "std")]
#[inline]
pub fn ulid() -> Ulid {
    let place = crate::uuid::v7::claim_by(Source::PROCESS, 1);
    Ulid::at_place(place, u64::from_be_bytes(crate::entropy::random_array()))
}

/// Fills `out` with new ULIDs, strictly increasing, with one clock reading.
///
/// # Panics
/// As [`fill_random`](crate::fill_random).
///
/// ```
/// let mut ids = [mintage::Ulid::from_bytes([0; 16]); 1000];
/// mintage::ulid_many(&mut ids);
/// assert!(ids.is_sorted_by(|a, b| a < b));
/// ```
#[cfg(feature = "std")]
pub fn ulid_many(out: &mut [Ulid]) {
    fill_by(Source::PROCESS, out);
}

/// Appends `count` new ULIDs as lines, with nothing between the random bits and the text.
#[cfg(feature = "std")]
fn write_lines(count: usize, out: &mut alloc::vec::Vec<u8>) {
    let start = out.len();
    out.resize(start + count * (Ulid::CHARS + 1), b'\n');
    let (lines, _) = out[start..].as_chunks_mut();
    places(Source::PROCESS, count, |at, places| {
        let values = places
            .map(|(place, random)| u128::from_be_bytes(Ulid::at_place(place, u64::from_be_bytes(random)).0));
        encode_lines_128(values, Letters::Crockford, &mut lines[at..]);
    });
}

#[cfg(feature = "std")]
fn filled(from: Source<'_>, out: &mut [Ulid]) -> Result<(), FormatError> {
    fill_by(from, out);
    Ok(())
}

#[cfg(feature = "std")]
fn fill_by(from: Source<'_>, out: &mut [Ulid]) {
    in_order(from, out, |place, random| {
        Ulid::at_place(place, u64::from_be_bytes(random))
    });
}

impl Ulid {
    /// `place` is `unix_ms << 20 | counter`.
    #[cfg(feature = "std")]
    #[inline]
    pub(super) fn at_place(place: u64, random: u64) -> Self {
        // A mask, not a shift: the random bytes need not be turned around.
        let low = (place & 0xf) << 60 | random & ones(60);
        Ulid((u128::from(place >> 4) << 64 | u128::from(low)).to_be_bytes())
    }
}

/// How a [`UlidGenerator`] goes on within a millisecond.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum UlidStep {
    /// By a random number of 1 to 2^32: the next id cannot be guessed from the last.
    #[default]
    Random,
    /// By 1, as the specification words it.
    One,
}

/// Makes ULIDs from a clock and an entropy source of your choice, as the specification has it; no state outside
/// itself.
///
/// A new millisecond draws 80 random bits; within one they go up by a step. When they would pass the largest
/// value, making ids fails until the next millisecond: they never wrap. A clock that goes back is held, at most
/// `max_ahead` ahead of it. After `fork` the entropy must differ ([`SystemEntropy`](crate::SystemEntropy) does).
///
/// ```
/// use mintage::{FixedClock, SystemEntropy, Timestamp, UlidGenerator};
/// let clock = FixedClock(Timestamp::from_unix_millis(1_469_922_850_259));
/// let mut generator = UlidGenerator::new(clock, SystemEntropy);
/// let (a, b) = (generator.next_id()?, generator.next_id()?);
/// assert!(a < b && a.time() == b.time());
/// assert!(a.to_string().starts_with("01ARZ3NDEK"));
/// # Ok::<(), mintage::FormatError>(())
/// ```
#[derive(Clone)]
pub struct UlidGenerator<C, E> {
    clock: C,
    entropy: E,
    step: UlidStep,
    max_ahead_ms: u64,
    /// The last id, as a number.
    last: Option<u128>,
}

impl<C: Clock, E: Entropy> UlidGenerator<C, E> {
    /// A generator on `clock` and `entropy`, going on in random steps, at most 10 s ahead of the clock.
    pub const fn new(clock: C, entropy: E) -> Self {
        UlidGenerator {
            clock,
            entropy,
            step: UlidStep::Random,
            max_ahead_ms: 10_000,
            last: None,
        }
    }

    /// Sets how it goes on within a millisecond.
    #[must_use]
    pub const fn step(mut self, step: UlidStep) -> Self {
        self.step = step;
        self
    }

    /// Sets how far ids may stay ahead of a clock that went back; whole milliseconds.
    #[must_use]
    pub fn max_ahead(mut self, max_ahead: Duration) -> Self {
        self.max_ahead_ms = u64::try_from(max_ahead.as_millis()).unwrap_or(u64::MAX);
        self
    }

    /// The next ULID.
    ///
    /// # Errors
    /// The random part is full ([`FormatError::Full`]): the next millisecond makes ids again. Or the clock stands
    /// before 1970, past 10889, or went back by more than `max_ahead`.
    pub fn next_id(&mut self) -> Result<Ulid, FormatError> {
        let now = u64::try_from(self.clock.unix_millis()).map_err(|_| MintError::BeforeEpoch)?;
        self.next_at(now)
    }

    /// Fills the front of `out`, with one clock reading, and returns how many ids it holds: all, or fewer where
    /// the randomness is full.
    ///
    /// # Errors
    /// As [`Self::next_id`], if not even one id can be made.
    pub fn fill(&mut self, out: &mut [Ulid]) -> Result<usize, FormatError> {
        let now = u64::try_from(self.clock.unix_millis()).map_err(|_| MintError::BeforeEpoch)?;
        for (made, out) in out.iter_mut().enumerate() {
            match self.next_at(now) {
                Ok(id) => *out = id,
                Err(error) if made == 0 => return Err(error),
                Err(_) => return Ok(made),
            }
        }
        Ok(out.len())
    }

    fn next_at(&mut self, now: u64) -> Result<Ulid, FormatError> {
        let reach = Reach {
            now,
            max_ahead: self.max_ahead_ms,
            last: ones(48),
        };
        reach.check(now)?;
        // No kernel: it goes on by steps of its own, which do not carry.
        let next = match self.last {
            Some(last) if (last >> 80) as u64 >= now => {
                reach.check((last >> 80) as u64)?;
                let next = last.checked_add(self.draw_step()).ok_or(FormatError::Full)?;
                if next >> 80 != last >> 80 {
                    return Err(FormatError::Full);
                }
                next
            }
            _ => {
                let mut random = [0; 16];
                self.entropy.fill(&mut random[6..]);
                u128::from(now) << 80 | u128::from_be_bytes(random)
            }
        };
        self.last = Some(next);
        Ok(Ulid(next.to_be_bytes()))
    }

    fn draw_step(&mut self) -> u128 {
        match self.step {
            UlidStep::One => 1,
            UlidStep::Random => {
                let mut random = [0; 4];
                self.entropy.fill(&mut random);
                u128::from(u32::from_be_bytes(random)) + 1
            }
        }
    }
}

impl<C, E> core::fmt::Debug for UlidGenerator<C, E> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("UlidGenerator")
            .field("step", &self.step)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use mintage_testing::invariant;

    use super::*;
    use crate::FixedClock;
    use crate::entropy::Same;

    #[test]
    fn full_randomness_is_an_error_and_never_a_wrap() {
        for (ms, step) in [
            (5, UlidStep::One),
            (5, UlidStep::Random),
            ((1 << 48) - 1, UlidStep::One),
        ] {
            let clock = FixedClock(Timestamp::from_unix_millis(ms));
            let mut generator = UlidGenerator::new(clock, Same(0xff)).step(step);
            let first = generator.next_id().expect("an id");
            assert_eq!(first.0[6..], [0xff; 10]);
            assert_eq!(generator.next_id(), Err(FormatError::Full));
            assert_eq!(generator.next_id(), Err(FormatError::Full), "and stays one");
        }
    }

    #[test]
    fn a_step_of_one_adds_one_to_the_last_bit() {
        let clock = FixedClock(Timestamp::from_unix_millis(1_469_922_850_259));
        let mut generator = UlidGenerator::new(clock, Same(0)).step(UlidStep::One);
        let mut ids = [Ulid([0; 16]); 3];
        assert_eq!(generator.fill(&mut ids), Ok(3));
        assert_eq!(ids[2].to_string(), "01ARZ3NDEK0000000000000002");
    }

    #[test]
    fn ids_of_the_process_and_version_7_have_one_order() {
        for _ in 0..100 {
            let (a, b, c) = (ulid(), crate::uuid7(), ulid());
            let millis = [a.unix_millis(), (b.as_u128() >> 80) as u64, c.unix_millis()];
            invariant!(a < c && millis.is_sorted(), "{a}, {b}, {c}: {millis:?}");
        }
    }
}
