//! Text forms of ids.

pub(crate) mod ascii;
mod bits;
mod decimal;
pub(crate) mod hex;
mod ncname;
mod plain;
pub(crate) mod radix;
mod snowflake;
mod uuid;

use core::fmt;

pub use self::plain::{Plain, is_plain};
pub use self::snowflake::SnowflakeText;
pub use self::uuid::{UuidText, parse_uuid, parse_uuid_lenient, uuid_text};

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
    /// The text is shorter or longer than every text of the form.
    Lengths {
        /// How many characters it has, in bytes.
        found: usize,
        /// How many the shortest has.
        min: usize,
        /// How many the longest has.
        max: usize,
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
    /// A rule of the format that the text breaks.
    Rule {
        /// Where, counted from 0 in bytes.
        position: usize,
        /// The rule, a phrase.
        rule: &'static str,
    },
}

impl TextError {
    /// Where the text goes wrong, counted from 0 in bytes; `None` where the text as a whole does.
    ///
    /// ```
    /// use mintage::UuidText;
    /// let error = UuidText::Simple.read(b"017f22e279b07cc398c4dc0c0c07398g").unwrap_err();
    /// assert_eq!(error.position(), Some(31));
    /// ```
    pub const fn position(&self) -> Option<usize> {
        match self {
            Self::Character { position } | Self::NotCanonical { position } | Self::Rule { position, .. } => {
                Some(*position)
            }
            Self::Empty | Self::Length { .. } | Self::Lengths { .. } | Self::TooLarge => None,
        }
    }

    /// The same, in a text that has `by` more characters in front.
    pub(crate) fn moved(mut self, by: usize) -> Self {
        match &mut self {
            Self::Character { position } | Self::NotCanonical { position } | Self::Rule { position, .. } => {
                *position += by;
            }
            Self::Empty | Self::Length { .. } | Self::Lengths { .. } | Self::TooLarge => {}
        }
        self
    }
}

impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("the text is empty"),
            Self::Length { found, expected } => write!(f, "{found} characters, {expected} are needed"),
            Self::Lengths { found, min, max } => {
                write!(f, "{found} characters, {min} to {max} are needed")
            }
            Self::Character { position } => write!(f, "a character that this form never has at {position}"),
            Self::TooLarge => f.write_str("the number is larger than the id can be"),
            Self::NotCanonical { position } => {
                write!(f, "not the way this form writes the id, from position {position}")
            }
            Self::Rule { position, rule } => write!(f, "{rule}, at {position}"),
        }
    }
}

impl core::error::Error for TextError {}
