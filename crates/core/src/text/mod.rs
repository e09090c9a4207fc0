//! Text forms of ids.

mod radix;
mod snowflake;
mod uuid;

use core::fmt;

pub use self::snowflake::SnowflakeText;
pub use self::uuid::UuidText;

/// Why a text is not an id of the form asked for, and where.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum TextError {
    /// The text is empty.
    Empty,
    /// The text has the wrong number of characters.
    Length {
        /// How many it has, in bytes.
        found: usize,
        /// How many the form has.
        expected: usize,
    },
    /// A character that this form never has.
    Character {
        /// Its place, counted from 0 in bytes.
        position: usize,
    },
    /// The number is larger than the id can be.
    TooLarge,
    /// The text names the id in another way than the one this form writes (a leading zero, unused bits set).
    NotCanonical {
        /// Where it differs, counted from 0 in bytes.
        position: usize,
    },
}

impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("the text is empty"),
            Self::Length { found, expected } => write!(f, "{found} characters, this form has {expected}"),
            Self::Character { position } => write!(f, "a character that this form never has at {position}"),
            Self::TooLarge => f.write_str("the number is larger than the id can be"),
            Self::NotCanonical { position } => {
                write!(f, "not the way this form writes the id, from position {position}")
            }
        }
    }
}

impl core::error::Error for TextError {}
