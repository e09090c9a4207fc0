//! Why a layout was refused, or why numbers do not fit one.

use alloc::string::String;
use core::fmt;

use super::ones;
use crate::time::Timestamp;

/// Why a layout was refused, or why numbers do not fit one.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum LayoutError {
    /// The layout itself is not sound; the text says which rule it breaks.
    Invalid {
        /// The layout's name.
        layout: String,
        /// What is wrong.
        reason: String,
    },
    /// A datacenter was named, and no field of the layout is called one.
    NoDatacenter {
        /// The layout's name.
        layout: String,
    },
    /// A worker id, sequence number, tick or datacenter is larger than its field.
    TooLarge {
        /// The layout's name.
        layout: String,
        /// Which: `worker id`, `sequence`, `tick`, or `datacenter` and `worker` in one.
        what: &'static str,
        /// The value asked for.
        value: u64,
        /// The width of its field.
        bits: u32,
    },
    /// A time lies before the layout's epoch.
    BeforeEpoch {
        /// The layout's name.
        layout: String,
        /// The time asked for.
        time: Timestamp,
        /// The epoch.
        epoch: Timestamp,
    },
    /// A time lies past the last tick that fits the time field.
    PastEnd {
        /// The layout's name.
        layout: String,
        /// The time asked for.
        time: Timestamp,
        /// The first time that does not fit.
        end: Timestamp,
    },
    /// Time and sequence leave a generator no room to count in: ids of the layout can be read, and none of this time
    /// made.
    ReadOnly {
        /// The layout's name.
        layout: String,
        /// The time asked for.
        time: Timestamp,
        /// The first time that no generator mints ids of.
        end: Timestamp,
        /// The width of the time field.
        time_bits: u32,
        /// The width of sequence and rollback together.
        sequence_bits: u32,
        /// How many bits there are for all of them.
        room_bits: u32,
    },
    /// Bits outside the fields are set, or a constant field holds something else: not an id of this layout.
    NotOfLayout {
        /// The layout's name.
        layout: String,
        /// The number.
        id: u128,
    },
    /// Ids of the layout need more than 64 bits, and what was asked for handles numbers of 64.
    Wide {
        /// The layout's name.
        layout: String,
        /// The width of its ids.
        bits: u32,
    },
    /// A window or a setting of a generator is not usable.
    Generator {
        /// The layout's name.
        layout: String,
        /// What is wrong.
        reason: String,
    },
}

impl fmt::Display for LayoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid { layout, reason } => write!(f, "layout {layout:?} is not usable: {reason}"),
            Self::TooLarge {
                layout,
                what,
                value,
                bits,
            } => {
                let max = ones(*bits);
                write!(
                    f,
                    "{what} {value} does not fit layout {layout:?}: {bits} bits, largest is {max}"
                )
            }
            Self::NoDatacenter { layout } => write!(
                f,
                "layout {layout:?} has no field called datacenter or dc: its worker is one number"
            ),
            Self::BeforeEpoch { layout, time, epoch } => {
                write!(f, "{time} lies before the epoch of layout {layout:?}, {epoch}")
            }
            Self::PastEnd { layout, time, end } => write!(
                f,
                "{time} does not fit layout {layout:?}, whose time field ends at {end}"
            ),
            Self::ReadOnly {
                layout,
                time,
                end,
                time_bits,
                sequence_bits,
                room_bits,
            } => write!(
                f,
                "layout {layout:?} can be read only: its time and sequence take {} bits together, a generator counts \
                 in {room_bits} bits, so that what it makes ends at {end:.0}, before {time:.0}; give a layout of your \
                 own fewer bits of sequence",
                time_bits + sequence_bits
            ),
            Self::NotOfLayout { layout, id } => write!(f, "{id} is not an id of layout {layout:?}"),
            Self::Wide { layout, bits } => write!(
                f,
                "layout {layout:?} takes {bits} bits, and ids have at most 64 here; give it fewer"
            ),
            Self::Generator { layout, reason } => {
                write!(f, "cannot make a generator of layout {layout:?}: {reason}")
            }
        }
    }
}

impl core::error::Error for LayoutError {}
