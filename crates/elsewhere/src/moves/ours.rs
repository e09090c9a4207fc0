//! What a move asks of our side.

use std::fmt;

use super::record::Move;
use crate::name::Name;
use crate::runtime::BoxFuture;

/// A move and the version of its register.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VersionedMove {
    /// What the register holds.
    pub record: Move,
    /// How often it was written.
    pub version: u64,
}

/// What a step came to on our side.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stepped {
    /// The move as it stands now.
    pub now: VersionedMove,
    /// Servers that live and do not follow yet: the source may not be changed before there are none.
    pub pending: Vec<String>,
    /// The furthest number that was ever reserved here; `None`: none yet.
    pub reserved: Option<i64>,
}

/// Why our side refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum OursError {
    /// Somebody else wrote the move meanwhile: what it is now.
    Lost(Option<Box<VersionedMove>>),
    /// The name is used here already, with a definition or mark of its own: in words.
    InUse(String),
    /// Anything else, with what to do.
    Refused {
        /// What was asked and found.
        message: String,
        /// What to do.
        hint: Option<String>,
    },
}

impl fmt::Display for OursError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OursError::Lost(_) => f.write_str("another import is moving the same name"),
            OursError::InUse(why) => f.write_str(why),
            OursError::Refused { message, .. } => f.write_str(message),
        }
    }
}

impl std::error::Error for OursError {}

/// The answer of our side.
pub type OursResult<'a, T> = BoxFuture<'a, Result<T, OursError>>;

/// Our side of moves: a ledger of this process, or a running server.
///
/// [`Ours::step`] writes the move's record first, by compare-and-set, and then does what its phase means for our sequence:
///
/// | phase | our sequence |
/// | --- | --- |
/// | `planned` | as it is |
/// | `beside` | made, with the source as its origin |
/// | `fencing` | made if it was not there; sealed everywhere: requests are refused with `moving` |
/// | `fenced` | sealed, set forward so that its next number is `first` |
/// | `open` | serves |
/// | `returning` | sealed everywhere |
/// | `returned` | sealed for good: requests are refused with `moved_back` |
///
/// Every deed stamps our sequence's record with the version of the move's register (`Passage::step`),
/// also where nothing else changes, and does nothing if it finds a later stamp: the step is then [`OursError::Lost`].
///
/// A step to the phase that the record has already does the same deeds again and writes the record only where it differs.
pub trait Ours: Send + Sync {
    /// The move of a name, if there is one.
    fn read<'a>(&'a self, name: &'a Name) -> OursResult<'a, Option<VersionedMove>>;

    /// Every move, in the order of names.
    fn list(&self) -> OursResult<'_, Vec<(Name, VersionedMove)>>;

    /// Writes the next phase if the register is still at `expected` (`None`: absent), and does its deeds. `into_used` takes
    /// a name that exists already, if the definition fits.
    fn step<'a>(
        &'a self,
        name: &'a Name,
        expected: Option<u64>,
        next: &'a Move,
        into_used: bool,
    ) -> OursResult<'a, Stepped>;
}
