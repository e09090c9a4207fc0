//! What xid and ObjectId share: 4 bytes of seconds, 5 of the process, 3 of a counter that carries.

use core::time::Duration;

use super::FormatError;
use super::places::Places;
pub(super) use super::shapes::COUNTED_SECONDS as SECONDS;
use super::shapes::COUNTER_BITS;
use crate::layout::ones;
use crate::time::{Clock, Timestamp};
use crate::{Entropy, MintError};

/// The id of a second, the low 40 bits of `process` and the low 24 of `counter`.
#[inline]
pub(super) fn pack(second: u64, process: u64, counter: u64) -> [u8; 12] {
    let high = second << 32 | process >> 8 & 0xffff_ffff;
    let low = (process & 0xff) << 24 | counter & 0xff_ffff;
    let mut bytes = [0; 12];
    bytes[..8].copy_from_slice(&high.to_be_bytes());
    bytes[8..].copy_from_slice(&(low as u32).to_be_bytes());
    bytes
}

pub(super) fn seconds_of(bytes: &[u8; 12]) -> u32 {
    u32::from_be_bytes(*bytes.first_chunk().expect("12 bytes hold four"))
}

/// The last three bytes.
pub(super) fn counter_of(bytes: &[u8; 12]) -> u32 {
    let [.., a, b, c] = *bytes;
    u32::from_be_bytes([0, a, b, c])
}

/// The id of a time and what else it holds.
pub(super) fn at(time: Timestamp, process: u64, counter: u64) -> Result<[u8; 12], FormatError> {
    Ok(pack(SECONDS.tick_of(time)?, process, counter))
}

/// The id of a time, all else random.
pub(super) fn random_at(time: Timestamp, entropy: &mut dyn Entropy) -> Result<[u8; 12], FormatError> {
    let mut random = [0; 16];
    entropy.fill(&mut random);
    let (process, counter) = random.split_at(8);
    let word = |bytes: &[u8]| u64::from_be_bytes(bytes.try_into().expect("half of 16 bytes"));
    at(time, word(process), word(counter))
}

/// An owned generator.
#[derive(Clone)]
pub(super) struct Counted<C, E> {
    places: Places<C, E>,
    process: u64,
}

impl<C: Clock, E: Entropy> Counted<C, E> {
    pub(super) fn new(clock: C, mut entropy: E) -> Self {
        let mut process = [0; 8];
        entropy.fill(&mut process);
        Counted {
            places: Places::new(clock, entropy, SECONDS, COUNTER_BITS, COUNTER_BITS - 1),
            process: u64::from_be_bytes(process) & ones(40),
        }
    }

    pub(super) fn set_process(&mut self, process: u64) {
        self.process = process;
    }

    pub(super) fn set_max_ahead(&mut self, max_ahead: Duration) {
        self.places.set_max_ahead(max_ahead);
    }

    pub(super) fn next_id(&mut self) -> Result<[u8; 12], MintError> {
        let (second, counter) = self.places.take()?;
        Ok(pack(second, self.process, counter))
    }

    pub(super) fn fill<T>(
        &mut self,
        out: &mut [T],
        make: impl Fn([u8; 12]) -> T,
    ) -> Result<usize, MintError> {
        let process = self.process;
        self.places
            .fill(out, |second, counter, _| make(pack(second, process, counter)))
    }
}

#[cfg(feature = "std")]
mod process {
    use super::{COUNTER_BITS, pack};
    use crate::format::FormatError;
    use crate::format::places::{Line, Own};
    use crate::time::Clock;

    /// Fills `out` with the next ids of `line`; `own` is drawn anew in a forked child, which goes on counting from
    /// where its parent stood.
    #[inline]
    pub(in crate::format) fn fill_line<T>(
        (line, clock): (&Line, &(impl Clock + ?Sized)),
        (own, turn): (&Own, u64),
        out: &mut [T],
        make: impl Fn([u8; 12]) -> T,
    ) -> Result<(), FormatError> {
        let first = line.claim(clock, out.len() as u64)?;
        let own = own.get().wrapping_add(turn);
        for (place, id) in (first..).zip(out) {
            *id = make(pack(place >> COUNTER_BITS, own, place));
        }
        Ok(())
    }
}

#[cfg(feature = "std")]
pub(super) use process::fill_line;

/// Declares type, generator and one-liners of such a format.
macro_rules! counted_format {
    (
        $(#[$type_doc:meta])* $name:ident, $chars:literal;
        $(#[$generator_doc:meta])* $generator:ident;
        $(#[$one_doc:meta])* $one:ident, $line:ident;
        $(#[$many_doc:meta])* $many:ident
    ) => {
        super::value::id_type! { $(#[$type_doc])* $name, 12, $chars }

        impl $name {
            /// The id of these bytes: all 96-bit values are one.
            pub const fn from_bytes(bytes: [u8; 12]) -> Self {
                $name(bytes)
            }

            /// Seconds since 1970, unsigned: until 2106.
            pub fn timestamp(self) -> u32 {
                super::counted::seconds_of(&self.0)
            }

            /// When it says it was made.
            pub fn time(self) -> $crate::Timestamp {
                super::counted::SECONDS.time_of(self.timestamp().into()).at
            }

            /// The counter in the last three bytes.
            pub fn counter(self) -> u32 {
                super::counted::counter_of(&self.0)
            }
        }

        $(#[$generator_doc])*
        #[derive(Clone)]
        pub struct $generator<C, E> {
            counted: super::counted::Counted<C, E>,
        }

        impl<C: $crate::Clock, E: $crate::Entropy> $generator<C, E> {
            /// A generator on `clock` and `entropy` that runs at most 10 s ahead of the clock.
            pub fn new(clock: C, entropy: E) -> Self {
                $generator {
                    counted: super::counted::Counted::new(clock, entropy),
                }
            }

            /// Sets the five bytes of the process instead of random ones. Two processes that share them repeat
            /// each other's ids.
            #[must_use]
            pub fn process(mut self, process: [u8; 5]) -> Self {
                let number = process.iter().fold(0, |number, byte| number << 8 | u64::from(*byte));
                self.counted.set_process(number);
                self
            }

            /// Sets how far ids may run ahead of the clock; whole seconds, at least 2.
            #[must_use]
            pub fn max_ahead(mut self, max_ahead: core::time::Duration) -> Self {
                self.counted.set_max_ahead(max_ahead);
                self
            }

            /// The next id.
            ///
            /// # Errors
            /// The clock stands before 1970 or past 2106, or the id would lie more than `max_ahead` ahead of it.
            pub fn next_id(&mut self) -> Result<$name, $crate::MintError> {
                self.counted.next_id().map($name)
            }

            /// Fills the front of `out`, with one clock reading, and returns how many ids it holds: all, or fewer
            /// where `max_ahead` ends.
            ///
            /// # Errors
            /// As [`Self::next_id`], if not even one id can be made.
            pub fn fill(&mut self, out: &mut [$name]) -> Result<usize, $crate::MintError> {
                self.counted.fill(out, $name)
            }
        }

        impl<C, E> core::fmt::Debug for $generator<C, E> {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.debug_struct(stringify!($generator)).finish_non_exhaustive()
            }
        }

        #[cfg(feature = "std")]
        static OWN: super::places::Own = super::places::Own::new();

        #[cfg(feature = "std")]
        #[inline]
        fn fill_by(
            clock: &(impl $crate::Clock + ?Sized),
            generators: &super::Generators,
            out: &mut [$name],
        ) -> Result<(), $crate::FormatError> {
            super::counted::fill_line((&generators.$line, clock), (&OWN, generators.turn()), out, $name)
        }

        $(#[$one_doc])*
        #[cfg(feature = "std")]
        #[inline]
        pub fn $one() -> Result<$name, $crate::FormatError> {
            let mut id = [$name([0; 12])];
            $many(&mut id)?;
            Ok(id[0])
        }

        $(#[$many_doc])*
        #[cfg(feature = "std")]
        pub fn $many(out: &mut [$name]) -> Result<(), $crate::FormatError> {
            fill_by(&$crate::SystemClock, &super::PROCESS, out)
        }
    };
}

pub(super) use counted_format;
