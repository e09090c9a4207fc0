//! Why a series was refused.

use alloc::string::String;
use core::fmt;

/// Why a series was refused, or a text that should be one of its values.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum SeriesError {
    /// The step is zero.
    ZeroStep,
    /// The name is not `seq_FROM_to_TO` or `seq_FROM_to_TO_step_N` with decimal numbers up to 2^64 - 1.
    Name,
    /// Letters are A to Z, at most 13 of them.
    Letters,
    /// A date is YYYY-MM-DD in the years 1 to 9999, and the day exists.
    Date,
    /// The text is no time, or one outside the years 1 to 9999; says why.
    Time(String),
    /// The text is no bound of any series.
    Bound(String),
    /// The bounds are not of one form, or not of the form that was asked for.
    Bounds {
        /// The first.
        from: String,
        /// The other.
        to: String,
    },
    /// The text is no step of a series of this form; the words say what is.
    Step {
        /// The text.
        step: String,
        /// What a step would be.
        takes: &'static str,
    },
    /// A series of times was asked for without a step.
    NoStep,
    /// A negative step leads away from the other bound.
    Away {
        /// The step.
        step: String,
        /// The first bound.
        from: String,
        /// The other.
        to: String,
    },
    /// A number that has no letters: 1 is A.
    NoLetters(i128),
}

impl SeriesError {
    /// What to do about it, where the refusal itself does not say.
    pub const fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Bounds { .. } => Some("both are numbers, both letters, or both dates or times"),
            Self::Away { .. } => Some(
                "a negative step begins at the first bound and goes down; a positive one gives the rising series, \
                 reversed where the other bound is less",
            ),
            Self::NoStep => Some("for example 1h, 15m, 1d, 1mo"),
            _ => None,
        }
    }
}

impl fmt::Display for SeriesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ZeroStep => f.write_str("a series needs a step of at least 1"),
            Self::Name => {
                f.write_str("a series is named seq_FROM_to_TO or seq_FROM_to_TO_step_N, all decimal numbers")
            }
            Self::Letters => f.write_str("letters are A to Z, at most 13 of them"),
            Self::Date => f.write_str("a date is YYYY-MM-DD, years 0001 to 9999, and the day must exist"),
            Self::Time(reason) => f.write_str(reason),
            Self::Bound(text) => write!(
                f,
                "{text:?} is not a bound: write a 64-bit number, letters, a date YYYY-MM-DD or a time \
                 YYYY-MM-DDTHH:MM:SSZ"
            ),
            Self::Bounds { from, to } => write!(f, "{from} and {to} are not bounds of one such series"),
            Self::Step { step, takes } => write!(f, "{step:?} is not a step of this series: {takes}"),
            Self::NoStep => f.write_str("a series of times needs a step with its unit"),
            Self::Away { step, from, to } => {
                write!(
                    f,
                    "the step {step} leads down from {from}, and {to} lies above it"
                )
            }
            Self::NoLetters(number) => write!(f, "{number} has no letters: 1 is A"),
        }
    }
}

impl core::error::Error for SeriesError {}
