//! What people say about a sequence, and what they are told.

use mintage::{Base, SequenceDef, SequenceOptions};
use serde::{Deserialize, Serialize};

use super::passage::{Pass, Passage};
use crate::forecast::Forecast;
use crate::name::Name;

/// Whether numbers may be lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Gap {
    /// A crash may lose at most `max_gap` numbers; numbers are served from memory.
    #[default]
    Bounded,
    /// No number is lost: every answer leaves after its own sync.
    None,
}

/// A definition as asked for; what is absent takes its default.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SequenceSpec {
    /// start, increment, min, max, cycle.
    pub options: SequenceOptions,
    /// Whether numbers may be lost.
    pub gap: Gap,
    /// Numbers lost per crash at most; absent: the ledger's setting.
    pub max_gap: Option<u64>,
}

impl SequenceSpec {
    /// What a first [`Ledger::set`](crate::Ledger::set) makes of a name: the defaults, with room for a value below 1.
    pub(crate) fn of_first_set(to: Base) -> SequenceSpec {
        let mut spec = SequenceSpec::default();
        if to.value < 1 {
            let next = to.value + i64::from(to.is_called);
            (spec.options.start, spec.options.min) = (Some(next), Some(to.value));
        }
        spec
    }
}

/// A change of a definition; what is absent stays.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SequencePatch {
    /// start, increment, min, max, cycle; a `start` is kept for a later restart and moves nothing.
    pub options: SequenceOptions,
    /// Whether numbers may be lost.
    pub gap: Option<Gap>,
    /// Numbers lost per crash at most.
    pub max_gap: Option<u64>,
    /// Go on although numbers may repeat (a change of direction, bounds that exclude the mark, a restart below it).
    pub allow_repeat: bool,
    /// Move too, within the new definition, as `ALTER SEQUENCE … RESTART` does.
    pub restart: Option<RestartAt>,
}

/// Where a sequence goes on; the number itself is the next one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RestartAt {
    /// At the `start` of its definition.
    Start,
    /// At this number.
    With(i64),
}

/// What a sequence is and its last number.
#[derive(Clone, PartialEq, Debug)]
pub struct SequenceInfo {
    /// Its name.
    pub name: Name,
    /// start, increment, min, max, cycle.
    pub def: SequenceDef,
    /// Whether numbers may be lost.
    pub gap: Gap,
    /// Numbers lost per crash at most.
    pub max_gap: u64,
    /// The highest number known to be issued (the last one, in the direction of the increment); after a
    /// crash, the mark. `None`: none yet.
    pub last: Option<i64>,
    /// What comes first while `last` is `None`: where it was last moved to, or the start.
    pub first: i64,
    /// How many numbers were ever reserved, over all definitions (protocol S1).
    pub ordinal: u64,
    /// The first number that nobody has reserved; `None` where there is none before the bound.
    pub unreserved: Option<i64>,
    /// How many of them this process holds unused.
    pub unused: u64,
    /// How often the definition or position was changed by hand (protocol S5).
    pub generation: u64,
    /// When it ends at today's rate; without a rate where this process has not used it.
    pub forecast: Forecast,
    /// Where it is in a move from or to another system.
    pub passage: Option<Passage>,
}

/// What [`crate::Ledger::set`] did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SetOutcome {
    /// The last number before, if any.
    pub previous: Option<i64>,
    /// Whether the sequence was made by this call.
    pub created: bool,
}

/// A change of the definition or position.
#[derive(Debug)]
pub(crate) enum Change {
    Create(SequenceSpec),
    Alter(SequencePatch),
    Restart {
        to: Base,
        allow_repeat: bool,
    },
    Set(Base),
    Drop,
    /// A deed of a move.
    Pass(Box<Pass>),
}

/// The largest `max_gap`.
pub const MAX_GAP_LIMIT: u64 = 1 << 40;
