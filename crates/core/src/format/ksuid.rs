//! KSUID: 32 bits of seconds and 128 random ones, in 27 characters.
//!
//! ```text
//!  0ujtsYc        gRSBKwBTmzBgTKpGQo
//! | timestamp_s 32 |      payload 128      |   (20 bytes, as one number in base 62)
//! ```
//!
//! `timestamp_s` counts seconds since 2014-05-13T16:53:20Z (1400000000) and lasts until 2150. Text and bytes
//! sort by time (segmentio/ksuid, README). `ksuidms` is svix-ksuid's variant: the first byte of the payload
//! counts steps of 4 ms.
//!
//! Rare events. *Several in a tick*: the first 24 bits of the payload count up from a random start, so order
//! is kept; full, they carry into the tick, at most 10 s ahead of the clock. *Clock back*: the last tick is
//! held, as far. *Fork*: the child draws other random bits.

use core::time::Duration;

use super::places::Places;
use super::shapes::{KSUID_SECONDS as SECONDS, KSUID_STEPS as STEPS};
use super::value::id_type;
use super::wide::{self, BASE62};
use super::{BLANK, Details, Format, FormatError, GenOptions, Id};
use crate::text::TextError;
use crate::time::{Clock, Timestamp};
use crate::{Entropy, MintError};

pub(super) const KSUID: Format = Format {
    name: "ksuid",
    title: "KSUID",
    summary: "seconds, then 128 random bits, in 27 characters",
    unique: "time and 128 bits, counted and random",
    tells: "when, to the second",
    likely: |_, _, _| 0.9,
    source: "segmentio/ksuid, README and ksuid.go of 1.0.4",
    diagram: "| timestamp_s 32 | payload 128 |",
    bits: 160,
    text_len: (27, 27),
    time: Some(SECONDS),
    bytes_sort: true,
    text_sorts: true,
    entropy: |_| 128.0,
    parse: |text, _| Ksuid::parse(text).map(Id::from),
    write: |id, out| out.extend_from_slice(&Ksuid::of(id).text()),
    read: |id, _| {
        let id = Ksuid::of(id);
        let tick = id.timestamp();
        Details::new(Some(SECONDS.time_of(tick.into())))
            .number("timestamp_s", tick.into(), 32)
            .hex("payload", &id.0[4..])
    },
    #[cfg(feature = "std")]
    make_many: Some(|from, _, out| super::value::through(out, |ids| process::many(from, ids))),
    #[cfg(feature = "std")]
    write_lines: Some(|_, count, out| super::value::lines(count, out, ksuid_many)),
    make_at: Some(|time, _, entropy| {
        let mut payload = [0; 16];
        entropy.fill(&mut payload);
        Ok(Ksuid::from_parts(time, payload)?.into())
    }),
    min_at: Some(|time, _| Ok(Ksuid::from_parts(time, [0; 16])?.into())),
    max_at: Some(|time, _| Ok(Ksuid::from_parts(time, [0xff; 16])?.into())),
    generator: Some(|_: &GenOptions, clock, entropy| {
        let mut generator = KsuidGenerator::new(clock, entropy);
        Ok(alloc::boxed::Box::new(move || Ok(generator.next_id()?.into())))
    }),
    ..BLANK
};

pub(super) const KSUID_MS: Format = Format {
    name: "ksuidms",
    title: "KSUID of 4 ms",
    summary: "ksuid with steps of 4 ms in the first byte of its payload",
    unique: "time and 120 bits, counted and random",
    tells: "when, to 4 ms",
    // Eight bits of a KSUID read as time: all of those are such, too.
    likely: |_, _, _| 0.2,
    source: "svix/rust-ksuid, KsuidMs of 0.8",
    diagram: "| timestamp_s 32 | steps of 4 ms 8 | payload 120 |",
    time: Some(STEPS),
    entropy: |_| 120.0,
    read: |id, _| {
        let id = Ksuid::of(id);
        Details::new(Some(id.time_ms()))
            .number("timestamp_s", id.timestamp().into(), 32)
            .number("steps_4ms", id.0[4].into(), 8)
            .hex("payload", &id.0[5..])
    },
    #[cfg(feature = "std")]
    make_many: Some(|from, _, out| super::value::through(out, |ids| process::many_ms(from, ids))),
    #[cfg(feature = "std")]
    write_lines: Some(|_, count, out| {
        super::value::lines(count, out, |ids| process::many_ms(super::Source::PROCESS, ids))
    }),
    make_at: Some(|time, _, entropy| {
        let mut payload = [0; 15];
        entropy.fill(&mut payload);
        Ok(Ksuid::from_parts_ms(time, payload)?.into())
    }),
    min_at: Some(|time, _| Ok(Ksuid::from_parts_ms(time, [0; 15])?.into())),
    max_at: Some(|time, _| Ok(Ksuid::from_parts_ms(time, [0xff; 15])?.into())),
    generator: Some(|_: &GenOptions, clock, entropy| {
        let mut places = Places::new(clock, entropy, STEPS, 24, 23);
        Ok(alloc::boxed::Box::new(move || {
            let (step, counter) = places.take()?;
            let mut random = [0; 16];
            places.entropy.fill(&mut random);
            Ok(of_step(step, counter as u32, random).into())
        }))
    }),
    ..KSUID
};

id_type! {
    /// A KSUID: 32 bits of seconds since 2014-05-13T16:53:20Z and 128 random ones, 27 characters of base 62.
    ///
    /// ```
    /// use mintage::{Ksuid, TextError};
    /// let id: Ksuid = "0ujtsYcgvSTl8PAuAdqWYSMnLOv".parse()?; // segmentio's README
    /// assert_eq!((id.timestamp(), id.time().unix_millis()), (107_608_047, 1_507_608_047_000));
    /// assert_eq!(Ksuid::parse(b"aWgEPTl1tmebfsQzFP4bxwgy80W"), Err(TextError::TooLarge)); // 2^160
    /// # Ok::<(), TextError>(())
    /// ```
    Ksuid, 20, 27
}

#[inline]
fn encode(bytes: &[u8; 20], out: &mut [u8; 27]) {
    BASE62.encode(wide::limbs::<5>(bytes), out);
}

fn decode(text: &[u8]) -> Result<[u8; 20], TextError> {
    BASE62.decode::<5, 27>(text).map(wide::bytes)
}

impl Ksuid {
    /// The KSUID of these bytes: all 160-bit values are one.
    pub const fn from_bytes(bytes: [u8; 20]) -> Self {
        Ksuid(bytes)
    }

    /// The KSUID of a time and a payload. Touches no generator state.
    ///
    /// # Errors
    /// `time` lies before 2014-05-13T16:53:20Z or past the last second, in 2150.
    pub fn from_parts(time: Timestamp, payload: [u8; 16]) -> Result<Self, FormatError> {
        Ok(of_second(SECONDS.tick_of(time)? as u32, payload))
    }

    /// The KSUID of 4 ms steps of a time and the payload behind the steps.
    ///
    /// # Errors
    /// As [`Ksuid::from_parts`].
    pub fn from_parts_ms(time: Timestamp, payload: [u8; 15]) -> Result<Self, FormatError> {
        let step = STEPS.tick_of(time)?;
        let mut bytes = [0; 16];
        bytes[0] = (step % 250) as u8;
        bytes[1..].copy_from_slice(&payload);
        Ok(of_second((step / 250) as u32, bytes))
    }

    /// Seconds since 2014-05-13T16:53:20Z.
    pub const fn timestamp(self) -> u32 {
        let [a, b, c, d, ..] = self.0;
        u32::from_be_bytes([a, b, c, d])
    }

    /// When it says it was made.
    pub fn time(self) -> Timestamp {
        SECONDS.time_of(self.timestamp().into()).at
    }

    /// When it says it was made, if its payload begins with steps of 4 ms.
    fn time_ms(self) -> crate::IdTime {
        STEPS.time_of(u64::from(self.timestamp()) * 250 + u64::from(self.0[4]))
    }

    /// The 16 bytes behind the time.
    pub fn payload(self) -> [u8; 16] {
        *self.0.last_chunk().expect("20 bytes hold 16")
    }
}

fn of_second(second: u32, payload: [u8; 16]) -> Ksuid {
    let mut bytes = [0; 20];
    bytes[..4].copy_from_slice(&second.to_be_bytes());
    bytes[4..].copy_from_slice(&payload);
    Ksuid(bytes)
}

/// The counter takes the place of the first 24 bits of `random`.
#[inline]
fn of_place(second: u32, counter: u32, random: [u8; 16]) -> Ksuid {
    let [_, a, b, c] = counter.to_be_bytes();
    let mut payload = random;
    payload[..3].copy_from_slice(&[a, b, c]);
    of_second(second, payload)
}

/// Steps in the first byte of the payload, the counter in the next three.
fn of_step(step: u64, counter: u32, random: [u8; 16]) -> Ksuid {
    let [_, a, b, c] = counter.to_be_bytes();
    let mut payload = random;
    payload[..4].copy_from_slice(&[(step % 250) as u8, a, b, c]);
    of_second((step / 250) as u32, payload)
}

#[cfg(feature = "std")]
pub use process::{ksuid, ksuid_many};

#[cfg(feature = "std")]
mod process {
    use super::{Ksuid, of_place, of_step};
    use crate::SystemClock;
    use crate::entropy::{Batch, random_array};
    use crate::format::{FormatError, PROCESS, Source};

    /// A new KSUID. Thread-safe, fork-safe, and strictly increasing over all threads of the process.
    ///
    /// # Errors
    /// The clock stands before 2014 or past 2150, or went back by more than 10 s.
    ///
    /// # Panics
    /// As [`fill_random`](crate::fill_random).
    ///
    /// ```
    /// let (a, b) = (mintage::ksuid()?, mintage::ksuid()?);
    /// assert!(a < b && a.to_string() < b.to_string());
    /// # Ok::<(), mintage::FormatError>(())
    /// ```
    #[inline]
    pub fn ksuid() -> Result<Ksuid, FormatError> {
        let place = PROCESS.ksuid.claim(&SystemClock, 1)?;
        Ok(at_place(place, random_array()))
    }

    /// Fills `out` with new KSUIDs, strictly increasing, with one clock reading.
    ///
    /// # Errors
    /// As [`ksuid`]; nothing was written.
    ///
    /// # Panics
    /// As [`fill_random`](crate::fill_random).
    ///
    /// ```
    /// let mut ids = [mintage::Ksuid::from_bytes([0; 20]); 1000];
    /// mintage::ksuid_many(&mut ids)?;
    /// assert!(ids.is_sorted_by(|a, b| a < b));
    /// # Ok::<(), mintage::FormatError>(())
    /// ```
    pub fn ksuid_many(out: &mut [Ksuid]) -> Result<(), FormatError> {
        many(Source::PROCESS, out)
    }

    pub(super) fn many(from: Source<'_>, out: &mut [Ksuid]) -> Result<(), FormatError> {
        let place = from.generators.ksuid.claim(from.clock, out.len() as u64)?;
        fill(out, place, at_place);
        Ok(())
    }

    pub(super) fn many_ms(from: Source<'_>, out: &mut [Ksuid]) -> Result<(), FormatError> {
        let place = from.generators.ksuid_ms.claim(from.clock, out.len() as u64)?;
        fill(out, place, |place, random| {
            of_step(place >> 24, place as u32 & 0xff_ffff, random)
        });
        Ok(())
    }

    #[inline]
    fn at_place(place: u64, random: [u8; 16]) -> Ksuid {
        of_place((place >> 24) as u32, place as u32 & 0xff_ffff, random)
    }

    fn fill(out: &mut [Ksuid], first: u64, make: impl Fn(u64, [u8; 16]) -> Ksuid) {
        let mut batch = Batch::new();
        let mut random = [[0; 16]; 64];
        let mut place = first;
        for piece in out.chunks_mut(random.len()) {
            let random = &mut random[..piece.len()];
            batch.fill(random.as_flattened_mut());
            for (id, random) in piece.iter_mut().zip(random) {
                *id = make(place, *random);
                place += 1;
            }
        }
    }
}

/// Makes KSUIDs from a clock and an entropy source of your choice; no state outside itself.
///
/// Strictly increasing: the first 24 bits of the payload count within a second from a random start of 23 bits
/// and carry into the second, at most `max_ahead` ahead of the clock; 104 bits are fresh in every id. A clock
/// that goes back is held. After `fork` the entropy must differ ([`SystemEntropy`](crate::SystemEntropy) does).
///
/// ```
/// use mintage::{FixedClock, KsuidGenerator, SystemEntropy, Timestamp};
/// let clock = FixedClock(Timestamp::from_unix_millis(1_507_608_047_000));
/// let mut generator = KsuidGenerator::new(clock, SystemEntropy);
/// let (a, b) = (generator.next_id()?, generator.next_id()?);
/// assert!(a < b && a.timestamp() == 107_608_047);
/// # Ok::<(), mintage::MintError>(())
/// ```
#[derive(Clone)]
pub struct KsuidGenerator<C, E> {
    places: Places<C, E>,
}

impl<C: Clock, E: Entropy> KsuidGenerator<C, E> {
    /// A generator on `clock` and `entropy` that runs at most 10 s ahead of the clock.
    pub fn new(clock: C, entropy: E) -> Self {
        KsuidGenerator {
            places: Places::new(clock, entropy, SECONDS, 24, 23),
        }
    }

    /// Sets how far ids may run ahead of the clock; whole seconds, at least 2.
    #[must_use]
    pub fn max_ahead(mut self, max_ahead: Duration) -> Self {
        self.places.set_max_ahead(max_ahead);
        self
    }

    /// The next KSUID.
    ///
    /// # Errors
    /// The clock stands before 2014 or past 2150, or the id would lie more than `max_ahead` ahead of it.
    pub fn next_id(&mut self) -> Result<Ksuid, MintError> {
        let (second, counter) = self.places.take()?;
        Ok(made(second, counter, &mut self.places.entropy))
    }

    /// Fills the front of `out`, with one clock reading, and returns how many ids it holds: all, or fewer where
    /// `max_ahead` ends.
    ///
    /// # Errors
    /// As [`Self::next_id`], if not even one id can be made.
    pub fn fill(&mut self, out: &mut [Ksuid]) -> Result<usize, MintError> {
        self.places.fill(out, made)
    }
}

fn made(second: u64, counter: u64, entropy: &mut impl Entropy) -> Ksuid {
    let mut random = [0; 16];
    entropy.fill(&mut random);
    of_place(second as u32, counter as u32, random)
}

impl<C, E> core::fmt::Debug for KsuidGenerator<C, E> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("KsuidGenerator").finish_non_exhaustive()
    }
}
