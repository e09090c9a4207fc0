//! Where a sequence's numbers come from while it is moved here, beside its original, or back.

use serde::{Deserialize, Serialize};

use crate::moves::Definition;
use crate::source::{MoveId, OwnTable};

/// The part of a record that a move writes.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Passage {
    /// The move.
    pub id: MoveId,
    /// The version of the move's register whose deed wrote this last. A deed of an older version changes nothing (protocol
    /// M3): an import that stood still meanwhile would else open what a later one has sealed and given back.
    pub step: u64,
    /// What the sequence does.
    pub is: PassageIs,
}

/// What a sequence does while it is moved.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PassageIs {
    /// Nothing is given out: its counter elsewhere is being moved here, or back.
    Moving {
        /// Where the counter is, for messages.
        source: String,
    },
    /// Its numbers are taken out of the original.
    Beside(Origin),
    /// It came here, and serves.
    Here,
    /// The original gives the numbers again; nothing is given out here.
    MovedBack {
        /// Where the counter is, for messages.
        source: String,
    },
}

/// A counter elsewhere out of which numbers are taken.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Origin {
    /// The name of `[sources.NAME]` in the servers' configuration.
    pub source: String,
    /// The name of its kind.
    pub kind: String,
    /// The counter's key there.
    pub key: String,
    /// The table, of a source whose shape nobody knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub table: Option<OwnTable>,
    /// How many numbers a take asks for; what the name used in 10 s, if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub take: Option<u64>,
}

/// One deed of a move: what the sequence does from now on.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Pass {
    /// The move, its step, and what the sequence does.
    pub(crate) passage: Passage,
    /// Earlier moves of the name, which were taken back: what they left is taken over.
    pub(crate) former: Vec<MoveId>,
    /// What the sequence is made like, if it is not there.
    pub(crate) definition: Definition,
    /// The sequence is set forward so far that its next number is this one, if it is not beyond it.
    pub(crate) first: Option<i64>,
    /// Takes a name that is used already, if the definition fits.
    pub(crate) into_used: bool,
}
