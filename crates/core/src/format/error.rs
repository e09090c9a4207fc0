//! Why an id could not be made, written or bounded.

use alloc::string::String;
use core::fmt;

use super::GenOption;
use crate::MintError;
use crate::time::Timestamp;
use crate::uuid::UuidError;

/// Why an id of a format could not be made or written. Reading has [`TextError`](crate::TextError).
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum FormatError {
    /// A format has no such verb: nothing makes an opaque id at a time.
    Verb {
        /// The format's name.
        format: &'static str,
        /// What was asked of it, a phrase: `make one at a time`.
        verb: &'static str,
    },
    /// An option that the format does not take.
    NoOption {
        /// The format's name.
        format: &'static str,
        /// The option.
        option: GenOption,
        /// Those that it takes.
        takes: &'static [GenOption],
    },
    /// An option that is missing or that cannot be.
    Option {
        /// The option's name.
        option: &'static str,
        /// What is wrong with it and what it must be.
        reason: String,
    },
    /// A time outside what the format can hold.
    Time {
        /// The time asked for.
        time: Timestamp,
        /// The first time that fits.
        first: Timestamp,
        /// The last time that fits.
        last: Timestamp,
    },
    /// The bytes are not of the length that ids of the format have.
    Size {
        /// The format's name.
        format: &'static str,
        /// How many bytes there are.
        found: usize,
        /// How many ids of the format have.
        expected: usize,
    },
    /// The random part of the last id of this tick was the largest there is: the next tick makes ids again.
    Full,
    /// The generator's clock does not allow it.
    Mint(MintError),
}

impl FormatError {
    /// The error of an option.
    pub(crate) fn option(option: &'static str, reason: impl Into<String>) -> Self {
        FormatError::Option {
            option,
            reason: reason.into(),
        }
    }
}

impl fmt::Display for FormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Verb { format, verb } => write!(f, "format {format} cannot {verb}"),
            Self::NoOption {
                format,
                option,
                takes,
            } => {
                write!(f, "format {format} takes no {}; it takes ", option.name())?;
                if takes.is_empty() {
                    return f.write_str("no options");
                }
                for (place, option) in takes.iter().enumerate() {
                    write!(f, "{}{}", if place > 0 { ", " } else { "" }, option.name())?;
                }
                Ok(())
            }
            Self::Option { option, reason } => write!(f, "{option}: {reason}"),
            Self::Time { time, first, last } => {
                write!(f, "{time} does not fit this format: it holds {first} to {last}")
            }
            Self::Size {
                format,
                found,
                expected,
            } => write!(f, "{found} bytes, ids of format {format} have {expected}"),
            Self::Full => {
                f.write_str("the random part of the last id is the largest there is; wait for the next tick")
            }
            Self::Mint(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for FormatError {}

impl From<MintError> for FormatError {
    fn from(error: MintError) -> Self {
        FormatError::Mint(error)
    }
}

impl From<UuidError> for FormatError {
    fn from(error: UuidError) -> Self {
        match error {
            UuidError::Time { time, first, last } => FormatError::Time { time, first, last },
            UuidError::TooLarge { what, value, max } => FormatError::Option {
                option: what,
                reason: alloc::format!("{value} does not fit, the largest is {max}"),
            },
            other => FormatError::Option {
                option: "uuid",
                reason: alloc::format!("{other}"),
            },
        }
    }
}
