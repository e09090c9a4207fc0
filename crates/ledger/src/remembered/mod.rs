//! What this process remembers for whoever asks where an id comes from, beyond what it needs to make ids; bounded.
//!
//! | file | what |
//! | --- | --- |
//! | `blocks` | the blocks of sequences that were reserved lately |
//! | `windows` | who held workers before |

mod blocks;
mod windows;

pub use blocks::{BLOCK_NAMES_MAX, BLOCKS_MAX, ReservedBlock};
pub(crate) use blocks::{Kept, Recent, place_in};
pub use windows::EARLIER_MAX;
pub(crate) use windows::{Earlier, Held};

/// What the records say of an id.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Verdict {
    /// It was given out.
    Issued,
    /// It was reserved: it was given out, is in somebody's memory, or is lost.
    Reserved,
    /// They are silent.
    Possible,
    /// Nobody has reserved it.
    NotYet,
    /// It cannot be.
    Never,
}
