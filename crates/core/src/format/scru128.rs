//! SCRU128: 48 bits of milliseconds, two counters of 24, 32 random bits, in 25 characters.
//!
//! ```text
//! | timestamp 48 | counter_hi 24 | counter_lo 24 | entropy 32 |
//! ```
//!
//! `timestamp` counts milliseconds since 1970. `counter_hi` is random and stays for a second, `counter_lo` starts
//! at random in every millisecond and goes up by one, `entropy` is fresh in every id. The text is the 128 bits as
//! one number in base 36 with zeros in front; readers take letters of either case, ours writes lower case, as the
//! reference implementations since version 3 (scru128/spec 2.0.1 and scru128/rust).
//!
//! Rare events. *`counter_lo` full*: `counter_hi` goes up by one; both full: the timestamp goes up, at most 10 s
//! ahead of the clock. The one-liner [`scru128`] keeps `counter_lo` below 2^22 and carries into the timestamp at
//! once. *Clock back*: the last timestamp is held, as far. *Fork*: the child draws other random bits. *End*:
//! 10889.

use core::time::Duration;

use super::ulid::MILLIS;
use super::value::id_type;
use super::wide::{self, BASE36};
use super::{BLANK, Details, Format, FormatError, GenOptions, Id};
use crate::layout::ones;
use crate::text::TextError;
use crate::time::{Clock, Timestamp};
use crate::word::Reach;
use crate::{Entropy, MintError};

pub(super) const SCRU128: Format = Format {
    name: "scru128",
    title: "SCRU128",
    summary: "time, two counters, random, in 25 characters",
    unique: "time and 80 bits, counted and random",
    tells: "when",
    likely: |_, _, _| 0.85,
    source: "scru128/spec 2.0.1, scru128/rust 3",
    diagram: "| timestamp 48 | counter_hi 24 | counter_lo 24 | entropy 32 |",
    bits: 128,
    text_len: (25, 25),
    time: Some(MILLIS),
    bytes_sort: true,
    text_sorts: true,
    entropy: |_| 80.0,
    parse: |text, _| Scru128::parse(text).map(Id::from),
    write: |id, out| out.extend_from_slice(&Scru128::of(id).text()),
    read: |id, _| {
        let [timestamp, hi, lo, entropy] = Scru128::of(id).fields();
        Details::new(Some(MILLIS.time_of(timestamp)))
            .number("timestamp", timestamp, 48)
            .number("counter_hi", hi, 24)
            .number("counter_lo", lo, 24)
            .number("entropy", entropy, 32)
    },
    #[cfg(feature = "std")]
    make_many: Some(|from, _, out| {
        super::value::through(out, |ids| process::fill(from.clock, from.generators, ids))
    }),
    #[cfg(feature = "std")]
    write_lines: Some(|_, count, out| super::value::lines(count, out, scru128_many)),
    make_at: Some(|time, _, entropy| {
        let mut random = [0; 16];
        entropy.fill(&mut random);
        at(time, u128::from_be_bytes(random))
    }),
    min_at: Some(|time, _| at(time, 0)),
    max_at: Some(|time, _| at(time, u128::MAX)),
    generator: Some(|_: &GenOptions, clock, entropy| {
        let mut generator = Scru128Generator::new(clock, entropy);
        Ok(alloc::boxed::Box::new(move || Ok(generator.next_id()?.into())))
    }),
    ..BLANK
};

id_type! {
    /// A SCRU128 id: 128 bits, 25 characters of base 36.
    ///
    /// ```
    /// use mintage::{Scru128, TextError};
    /// let id: Scru128 = "0372IJOJUXUHJSFKERYI2MRTM".parse()?; // the specification's
    /// assert_eq!(u128::from_be_bytes(id.to_bytes()), 1_993_501_768_880_490_086_615_869_617_690_763_354);
    /// assert_eq!(id.to_string(), "0372ijojuxuhjsfkeryi2mrtm");
    /// assert_eq!(Scru128::parse(b"f5lxx1zz5pnorynqglhzmsp34"), Err(TextError::TooLarge)); // 2^128
    /// # Ok::<(), TextError>(())
    /// ```
    Scru128, 16, 25
}

#[inline]
fn encode(bytes: &[u8; 16], out: &mut [u8; 25]) {
    BASE36.encode(wide::limbs::<4>(bytes), out);
}

fn decode(text: &[u8]) -> Result<[u8; 16], TextError> {
    BASE36.decode::<4, 25>(text).map(wide::bytes)
}

impl Scru128 {
    /// The id of these bytes: all 128-bit values are one.
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Scru128(bytes)
    }

    /// Timestamp, high counter, low counter, entropy.
    pub const fn fields(self) -> [u64; 4] {
        let number = u128::from_be_bytes(self.0);
        [
            (number >> 80) as u64,
            (number >> 56) as u64 & 0xff_ffff,
            (number >> 32) as u64 & 0xff_ffff,
            number as u64 & 0xffff_ffff,
        ]
    }

    /// When it says it was made.
    pub const fn time(self) -> Timestamp {
        Timestamp::from_unix_millis(self.fields()[0] as i64)
    }

    /// The fields are cut to their widths.
    fn pack([timestamp, hi, lo, entropy]: [u64; 4]) -> Self {
        let high = u128::from(timestamp) << 24 | u128::from(hi & ones(24));
        let low = (lo & ones(24)) << 32 | entropy & ones(32);
        Scru128((high << 56 | u128::from(low)).to_be_bytes())
    }
}

/// The low 80 bits of `rest` at a time.
fn at(time: Timestamp, rest: u128) -> Result<Id, FormatError> {
    let timestamp = MILLIS.tick_of(time)?;
    let number = u128::from(timestamp) << 80 | rest & ((1 << 80) - 1);
    Ok(Scru128(number.to_be_bytes()).into())
}

/// Makes SCRU128 ids from a clock and an entropy source of your choice, as the specification has it; no state
/// outside itself.
///
/// Strictly increasing. Full counters carry into the timestamp and a clock that goes back is held, both at most
/// `max_ahead` ahead of the clock. After `fork` the entropy must differ ([`SystemEntropy`](crate::SystemEntropy)
/// does).
///
/// ```
/// use mintage::{FixedClock, Scru128Generator, SystemEntropy, Timestamp};
/// let clock = FixedClock(Timestamp::from_unix_millis(1_700_000_000_000));
/// let mut generator = Scru128Generator::new(clock, SystemEntropy);
/// let (a, b) = (generator.next_id()?, generator.next_id()?);
/// assert!(a < b);
/// assert_eq!(a.fields()[2] + 1, b.fields()[2]);
/// # Ok::<(), mintage::MintError>(())
/// ```
#[derive(Clone)]
pub struct Scru128Generator<C, E> {
    clock: C,
    entropy: E,
    max_ahead_ms: u64,
    /// Of the last id; `None` before the first.
    timestamp: Option<u64>,
    counter_hi: u64,
    counter_lo: u64,
    /// When `counter_hi` was last drawn.
    drawn_at: u64,
}

impl<C: Clock, E: Entropy> Scru128Generator<C, E> {
    /// A generator on `clock` and `entropy` that runs at most 10 s ahead of the clock.
    pub const fn new(clock: C, entropy: E) -> Self {
        Scru128Generator {
            clock,
            entropy,
            max_ahead_ms: 10_000,
            timestamp: None,
            counter_hi: 0,
            counter_lo: 0,
            drawn_at: 0,
        }
    }

    /// Sets how far ids may run ahead of the clock; whole milliseconds.
    #[must_use]
    pub fn max_ahead(mut self, max_ahead: Duration) -> Self {
        self.max_ahead_ms = u64::try_from(max_ahead.as_millis()).unwrap_or(u64::MAX);
        self
    }

    /// The next id.
    ///
    /// # Errors
    /// The clock stands before 1970 or past 10889, or the id would lie more than `max_ahead` ahead of it.
    pub fn next_id(&mut self) -> Result<Scru128, MintError> {
        let now = u64::try_from(self.clock.unix_millis()).map_err(|_| MintError::BeforeEpoch)?;
        self.next_at(now)
    }

    /// Fills the front of `out`, with one clock reading, and returns how many ids it holds: all, or fewer where
    /// `max_ahead` ends.
    ///
    /// # Errors
    /// As [`Self::next_id`], if not even one id can be made.
    pub fn fill(&mut self, out: &mut [Scru128]) -> Result<usize, MintError> {
        let now = u64::try_from(self.clock.unix_millis()).map_err(|_| MintError::BeforeEpoch)?;
        for (made, id) in out.iter_mut().enumerate() {
            match self.next_at(now) {
                Ok(next) => *id = next,
                Err(error) if made == 0 => return Err(error),
                Err(_) => return Ok(made),
            }
        }
        Ok(out.len())
    }

    /// No kernel: two counters, of which the higher is drawn anew by the second.
    fn next_at(&mut self, now: u64) -> Result<Scru128, MintError> {
        let (mut timestamp, mut lo) = match self.timestamp {
            Some(last) if last >= now => (last, self.counter_lo + 1),
            _ => (now, self.draw() & ones(24)),
        };
        let mut hi = self.counter_hi;
        if lo > ones(24) {
            (hi, lo) = (hi + 1, 0);
            if hi > ones(24) {
                (timestamp, hi, lo) = (timestamp + 1, 0, self.draw() & ones(24));
            }
        }
        let reach = Reach {
            now,
            max_ahead: self.max_ahead_ms,
            last: ones(48),
        };
        reach.check(timestamp)?;
        if self.timestamp.is_none() || timestamp - self.drawn_at >= 1000 {
            hi = self.draw() & ones(24);
            self.drawn_at = timestamp;
        }
        (self.timestamp, self.counter_hi, self.counter_lo) = (Some(timestamp), hi, lo);
        let entropy = self.draw();
        Ok(Scru128::pack([timestamp, hi, lo, entropy]))
    }

    fn draw(&mut self) -> u64 {
        let mut random = [0; 4];
        self.entropy.fill(&mut random);
        u32::from_be_bytes(random).into()
    }
}

impl<C, E> core::fmt::Debug for Scru128Generator<C, E> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Scru128Generator").finish_non_exhaustive()
    }
}

#[cfg(feature = "std")]
pub use process::{scru128, scru128_many};

#[cfg(feature = "std")]
mod process {
    use super::Scru128;
    use crate::SystemClock;
    use crate::format::places::Own;
    use crate::format::shapes::SCRU128_LINE_BITS as LINE_BITS;
    use crate::format::{FormatError, Generators, PROCESS};
    use crate::layout::ones;
    use crate::time::Clock;

    static OWN: Own = Own::new();

    /// A new SCRU128 id. Thread-safe, fork-safe, and strictly increasing over all threads of the process.
    ///
    /// # Errors
    /// The clock went back by more than 10 s.
    ///
    /// # Panics
    /// As [`fill_random`](crate::fill_random).
    ///
    /// ```
    /// let (a, b) = (mintage::scru128()?, mintage::scru128()?);
    /// assert!(a < b && a.to_string() < b.to_string());
    /// # Ok::<(), mintage::FormatError>(())
    /// ```
    pub fn scru128() -> Result<Scru128, FormatError> {
        let mut id = [Scru128([0; 16])];
        scru128_many(&mut id)?;
        Ok(id[0])
    }

    /// Fills `out` with new SCRU128 ids, strictly increasing, with one clock reading.
    ///
    /// # Errors
    /// As [`scru128`]; nothing was written.
    ///
    /// # Panics
    /// As [`fill_random`](crate::fill_random).
    pub fn scru128_many(out: &mut [Scru128]) -> Result<(), FormatError> {
        fill(&SystemClock, &PROCESS, out)
    }

    pub(super) fn fill(
        clock: &(impl Clock + ?Sized),
        generators: &Generators,
        out: &mut [Scru128],
    ) -> Result<(), FormatError> {
        let first = generators.scru128.claim(clock, out.len() as u64)?;
        let own = OWN.get().wrapping_add(generators.turn());
        for (place, id) in (first..).zip(out) {
            let millis = place >> LINE_BITS;
            let random: [u8; 4] = crate::entropy::random_array();
            let entropy = u32::from_be_bytes(random).into();
            *id = Scru128::pack([
                millis,
                of_second(own, millis / 1000),
                place & ones(LINE_BITS),
                entropy,
            ]);
        }
        Ok(())
    }

    /// The random high counter of a second: the same in all threads, without a word to share it in.
    fn of_second(own: u64, second: u64) -> u64 {
        // Finalizer of SplitMix64 (Steele, Lea, Flood 2014): neighbouring seconds give unrelated values.
        let mut bits = own ^ second.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (bits ^ bits >> 31) >> 40
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FixedClock;
    use crate::entropy::Same;

    #[test]
    fn full_counters_carry_as_the_specification_recommends() {
        let clock = FixedClock(Timestamp::from_unix_millis(5));
        let mut generator = Scru128Generator::new(clock, Same(0xff)).max_ahead(Duration::from_millis(1));
        let fields = |id: Result<Scru128, MintError>| id.map(Scru128::fields);
        let full = ones(24);
        assert_eq!(fields(generator.next_id()), Ok([5, full, full, ones(32)]));
        generator.counter_hi = 7;
        assert_eq!(fields(generator.next_id()), Ok([5, 8, 0, ones(32)]));
        (generator.counter_hi, generator.counter_lo) = (full, full);
        assert_eq!(fields(generator.next_id()), Ok([6, 0, full, ones(32)]));
        (generator.counter_hi, generator.counter_lo) = (full, full);
        assert_eq!(generator.next_id(), Err(MintError::TooFarAhead { ticks: 1 }));
    }

    #[test]
    fn a_batch_ends_where_full_counters_would_run_too_far_ahead() {
        let clock = FixedClock(Timestamp::from_unix_millis(5));
        let mut full = Scru128Generator::new(clock, Same(0xff)).max_ahead(Duration::ZERO);
        let mut ids = [Scru128::from_bytes([0; 16]); 3];
        assert_eq!(full.fill(&mut ids), Ok(1));
        assert_eq!(ids[0].fields(), [5, 0xff_ffff, 0xff_ffff, 0xffff_ffff]);
        assert_eq!(full.fill(&mut ids), Err(MintError::TooFarAhead { ticks: 1 }));
        assert_eq!(full.next_id(), Err(MintError::TooFarAhead { ticks: 1 }));
    }
}
