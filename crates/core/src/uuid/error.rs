//! Why a UUID could not be made from what was given.

use core::fmt;

use crate::time::Timestamp;

/// Why a UUID could not be made from what was given.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum UuidError {
    /// A time outside what the version can hold.
    Time {
        /// The time asked for.
        time: Timestamp,
        /// The first time that fits.
        first: Timestamp,
        /// The last time that fits.
        last: Timestamp,
    },
    /// A number too large for its field.
    TooLarge {
        /// Which: `ticks`, `clock_seq`, …
        what: &'static str,
        /// The value asked for.
        value: u64,
        /// The largest that fits.
        max: u64,
    },
    /// A node id that is not six octets in hexadecimal.
    Node,
    /// A UUID of another version than the operation needs.
    Version {
        /// The version found.
        found: u8,
        /// The version needed.
        expected: u8,
    },
}

impl fmt::Display for UuidError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Time { time, first, last } => write!(
                f,
                "{time} does not fit this uuid version: it holds {first} to {last}"
            ),
            Self::TooLarge { what, value, max } => write!(f, "{what} {value} does not fit, largest is {max}"),
            Self::Node => f.write_str("a node id is six octets in hexadecimal, as 9f:6b:de:ce:d8:46"),
            Self::Version { found, expected } => {
                write!(f, "a uuid of version {found}, this needs version {expected}")
            }
        }
    }
}

impl core::error::Error for UuidError {}
