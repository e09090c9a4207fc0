//! Why no id was minted.

use core::fmt;

/// Why no id was minted. Nothing was issued; what to do is in the text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum MintError {
    /// The reserved window is used up; it must be renewed first.
    WindowEnd {
        /// The first tick outside the window.
        until_tick: u64,
    },
    /// The next id would lie further ahead of the clock than allowed.
    TooFarAhead {
        /// How many ticks to wait.
        ticks: u64,
    },
    /// The layout's time field has run out; ids of this layout are over.
    TimeFieldFull,
    /// The generator has been closed.
    Closed,
    /// The clock stands before the layout's epoch.
    BeforeEpoch,
    /// The clock went back, and the generator's [`ClockPolicy`](crate::ClockPolicy) does not mint then.
    ClockBack {
        /// By how many ticks.
        ticks: u64,
        /// Whether that is little enough that the policy says to wait and try again.
        wait: bool,
    },
    /// This process is a forked child of the one that made the generator.
    Forked,
}

impl fmt::Display for MintError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WindowEnd { until_tick } => {
                write!(
                    f,
                    "the reserved window ends at tick {until_tick}; it must be renewed first"
                )
            }
            Self::TooFarAhead { ticks } => {
                write!(f, "minting runs too far ahead of the clock; wait {ticks} ticks")
            }
            Self::TimeFieldFull => f.write_str("the layout's time field is full; move to another layout"),
            Self::Closed => f.write_str("the generator is closed"),
            Self::BeforeEpoch => f.write_str("the clock stands before the layout's epoch; set the clock"),
            Self::ClockBack { ticks, wait: true } => {
                write!(
                    f,
                    "the clock went back by {ticks} ticks; wait that long and try again"
                )
            }
            Self::ClockBack { ticks, wait: false } => {
                write!(
                    f,
                    "the clock went back by {ticks} ticks, more than the clock policy allows; set the clock"
                )
            }
            Self::Forked => {
                f.write_str("this process is a fork of the one that made the generator; make a new one here")
            }
        }
    }
}

impl core::error::Error for MintError {}
