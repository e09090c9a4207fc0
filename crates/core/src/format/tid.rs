//! The AT Protocol's TID: 53 bits of microseconds and 10 of a clock id, in 13 characters.
//!
//! ```text
//! | 0 | unix_us 53 | clock_id 10 |
//! ```
//!
//! `unix_us` counts microseconds since 1970 and lasts until 2255; `clock_id` is random per process. The text is
//! the 64 bits as one number in base32 with the alphabet `234567abcdefghijklmnopqrstuvwxyz`, whose order is
//! ASCII's; its first character is one of `234567abcdefghij` (atproto.com/specs/tid).
//!
//! Rare events. *Several in a microsecond*: the next microsecond is taken, at most 10 s ahead of the clock.
//! *Clock back*: the last microsecond is held, as far. *Fork*: the child draws another clock id; of 1024, so
//! two processes may share one, and then repeat an id if they make one in the same microsecond.

use core::time::Duration;

use super::base32::{Letters, decode_64, encode_64};
use super::places::Places;
use super::shapes::TID_MICROS as MICROS;
use super::value::id_type;
use super::{BLANK, Details, Format, FormatError, GenOption, GenOptions, Id};
use crate::layout::ones;
use crate::text::TextError;
use crate::time::{Clock, Timestamp};
use crate::{Entropy, MintError};

pub(super) const TID: Format = Format {
    name: "tid",
    title: "AT Protocol TID",
    summary: "the AT Protocol's: microseconds and a clock id, in 13 characters",
    unique: "a microsecond of its own in the process, and one of 1024 clock ids",
    tells: "when, to the microsecond, and by which clock",
    likely: |_, _, _| 0.75,
    source: "atproto.com/specs/tid",
    diagram: "| 0 1 | unix_us 53 | clock_id 10 |",
    bits: 64,
    text_len: (13, 13),
    time: Some(MICROS),
    bytes_sort: true,
    text_sorts: true,
    options: &[GenOption::Node],
    entropy: |options| if options.node.is_some() { 0.0 } else { 10.0 },
    parse: |text, _| Tid::parse(text).map(Id::from),
    write: |id, out| out.extend_from_slice(&Tid::of(id).text()),
    read: |id, _| {
        let number = Tid::of(id).number();
        Details::new(Some(MICROS.time_of(number >> 10)))
            .number("unix_us", number >> 10, 53)
            .number("clock_id", number & 0x3ff, 10)
    },
    #[cfg(feature = "std")]
    make_many: Some(|from, options, out| {
        let node = node_of(options)?;
        super::value::through(out, |ids| process::fill(from, node, ids))
    }),
    #[cfg(feature = "std")]
    write_lines: Some(|options, count, out| {
        let node = node_of(options)?;
        super::value::lines(count, out, |ids| process::fill(super::Source::PROCESS, node, ids))
    }),
    make_at: Some(|time, options, entropy| {
        let mut random = [0; 2];
        entropy.fill(&mut random);
        let clock_id = node_of(options)?.unwrap_or(u16::from_be_bytes(random).into());
        Ok(pack(MICROS.tick_of(time)?, clock_id).into())
    }),
    min_at: Some(|time, options| {
        let clock_id = node_of(options)?.unwrap_or(0);
        Ok(pack(MICROS.tick_of(time)?, clock_id).into())
    }),
    max_at: Some(|time, options| {
        let clock_id = node_of(options)?.unwrap_or(0x3ff);
        Ok(pack(MICROS.tick_of(time)?, clock_id).into())
    }),
    generator: Some(|options, clock, entropy| {
        let mut generator = TidGenerator::new(clock, entropy);
        if let Some(node) = node_of(options)? {
            generator.clock_id = node;
        }
        Ok(alloc::boxed::Box::new(move || Ok(generator.next_id()?.into())))
    }),
    ..BLANK
};

/// The clock id chosen.
fn node_of(options: &GenOptions) -> Result<Option<u64>, FormatError> {
    match options.node {
        Some(node) if node > 0x3ff => Err(FormatError::option(
            "node",
            alloc::format!("{node} is not a clock id, the largest is 1023"),
        )),
        node => Ok(node),
    }
}

id_type! {
    /// A TID of the AT Protocol: 64 bits, 13 characters.
    ///
    /// ```
    /// use mintage::{TextError, Tid};
    /// let id: Tid = "3jzfcijpj2z2a".parse()?; // the specification's
    /// assert_eq!((id.time().unix_millis(), id.clock_id()), (1_688_137_381_887, 6));
    /// assert_eq!(Tid::parse(b"kjzfcijpj2z2a").unwrap_err().position(), Some(0)); // more than 64 bits
    /// # Ok::<(), TextError>(())
    /// ```
    Tid, 8, 13
}

#[inline]
fn encode(bytes: &[u8; 8], out: &mut [u8; 13]) {
    encode_64(u64::from_be_bytes(*bytes), Letters::Sortable, out);
}

fn decode(text: &[u8]) -> Result<[u8; 8], TextError> {
    let rule = (15, "the first character is above j: more than 64 bits");
    decode_64(text, Letters::Sortable, rule).map(u64::to_be_bytes)
}

impl Tid {
    /// The TID of this number.
    pub const fn from_number(number: u64) -> Self {
        Tid(number.to_be_bytes())
    }

    /// Its 64 bits as a number.
    pub const fn number(self) -> u64 {
        u64::from_be_bytes(self.0)
    }

    /// When it says it was made.
    pub fn time(self) -> Timestamp {
        MICROS.time_of(self.number() >> 10).at
    }

    /// Its clock id.
    pub const fn clock_id(self) -> u16 {
        (self.number() & 0x3ff) as u16
    }
}

/// The clock id is cut to its 10 bits.
fn pack(micros: u64, clock_id: u64) -> Tid {
    Tid::from_number(micros << 10 | clock_id & ones(10))
}

/// Makes TIDs from a clock and an entropy source of your choice; no state outside itself.
///
/// Strictly increasing, a microsecond each, at most `max_ahead` (10 s) ahead of the clock; a clock that goes back is held. The
/// clock id is drawn once: after `fork` a child makes its own generator.
///
/// ```
/// use mintage::{FixedClock, SystemEntropy, TidGenerator, Timestamp};
/// let clock = FixedClock(Timestamp::from_unix_millis(1_688_137_381_887));
/// let mut generator = TidGenerator::new(clock, SystemEntropy);
/// let (a, b) = (generator.next_id()?, generator.next_id()?);
/// assert!(a < b && a.to_string().starts_with("3jzfcij"));
/// # Ok::<(), mintage::MintError>(())
/// ```
#[derive(Clone)]
pub struct TidGenerator<C, E> {
    clock_id: u64,
    places: Places<C, E>,
}

impl<C: Clock, E: Entropy> TidGenerator<C, E> {
    /// A generator on `clock` and `entropy` that runs at most 10 s ahead of the clock.
    pub fn new(clock: C, mut entropy: E) -> Self {
        let mut random = [0; 8];
        entropy.fill(&mut random);
        TidGenerator {
            clock_id: u64::from_be_bytes(random),
            places: Places::new(clock, entropy, MICROS, 0, 0),
        }
    }

    /// Sets how far ids may run ahead of the clock; whole microseconds, at least 2.
    ///
    /// ```
    /// use core::time::Duration;
    /// use mintage::{FixedClock, SystemEntropy, TidGenerator, Timestamp};
    /// let clock = FixedClock(Timestamp::from_unix_millis(1_688_137_381_887));
    /// let mut generator = TidGenerator::new(clock, SystemEntropy).max_ahead(Duration::from_micros(5));
    /// let made = std::iter::repeat_with(|| generator.next_id()).take_while(Result::is_ok).count();
    /// assert_eq!(made, 6);
    /// ```
    #[must_use]
    pub fn max_ahead(mut self, max_ahead: Duration) -> Self {
        self.places.set_max_ahead(max_ahead);
        self
    }

    /// The next TID.
    ///
    /// # Errors
    /// The clock stands before 1970 or past 2255, or the id would lie more than `max_ahead` ahead of it.
    pub fn next_id(&mut self) -> Result<Tid, MintError> {
        let (micros, _) = self.places.take()?;
        Ok(pack(micros, self.clock_id))
    }

    /// Fills the front of `out`, with one clock reading, and returns how many ids it holds: all, or fewer where
    /// the generator would run too far ahead of the clock.
    ///
    /// # Errors
    /// As [`Self::next_id`], if not even one id can be made.
    pub fn fill(&mut self, out: &mut [Tid]) -> Result<usize, MintError> {
        let clock_id = self.clock_id;
        self.places.fill(out, |micros, _, _| pack(micros, clock_id))
    }
}

impl<C, E> core::fmt::Debug for TidGenerator<C, E> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("TidGenerator").finish_non_exhaustive()
    }
}

#[cfg(feature = "std")]
pub use process::{tid, tid_many};

#[cfg(feature = "std")]
mod process {
    use super::{Tid, pack};
    use crate::format::places::{ForkGuard, Own};
    use crate::format::{FormatError, Source};

    static CLOCK_ID: Own = Own::new();
    static GUARD: ForkGuard = ForkGuard::new();

    /// A new TID: a microsecond of its own, and a clock id that the process draws. Thread-safe, and strictly
    /// increasing over all threads of the process.
    ///
    /// # Errors
    /// More than a million ids a second have run 10 s ahead of the clock, or it went back by more than that.
    ///
    /// ```
    /// let (a, b) = (mintage::tid()?, mintage::tid()?);
    /// assert!(a < b && a.to_string() < b.to_string());
    /// # Ok::<(), mintage::FormatError>(())
    /// ```
    pub fn tid() -> Result<Tid, FormatError> {
        let mut id = [Tid::from_number(0)];
        fill(Source::PROCESS, None, &mut id)?;
        Ok(id[0])
    }

    /// Fills `out` with new TIDs, strictly increasing, with one clock reading.
    ///
    /// # Errors
    /// As [`tid`]; nothing was written.
    pub fn tid_many(out: &mut [Tid]) -> Result<(), FormatError> {
        fill(Source::PROCESS, None, out)
    }

    pub(super) fn fill(from: Source<'_>, clock_id: Option<u64>, out: &mut [Tid]) -> Result<(), FormatError> {
        let (line, count) = (&from.generators.tid, out.len() as u64);
        let (clock_id, first) = match clock_id {
            Some(clock_id) => {
                GUARD.check()?;
                (
                    clock_id,
                    line.claim(&from.generators.unspent(from.clock)?, count)?,
                )
            }
            None => {
                let clock_id = CLOCK_ID.get().wrapping_add(from.generators.turn());
                (clock_id, line.claim(from.clock, count)?)
            }
        };
        for (micros, id) in (first..).zip(out) {
            *id = pack(micros, clock_id);
        }
        Ok(())
    }
}
