//! The register of a move, `move/NAME`: what is being done with one name, and how far it has come.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::masters::Master;
use crate::source::{MoveId, OwnTable};

/// What stands before the name in the register's key.
pub const MOVE_PREFIX: &str = "move/";
/// How many earlier ids of a name are remembered: imports older than that are long gone.
pub const FORMER_MAX: usize = 16;

/// How far a move has come. Each is written before its deeds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Nothing is done yet. Ours does not exist, or is sealed.
    Planned,
    /// Our servers take ranges out of the source, which goes on.
    Beside,
    /// Ours is sealed; the source is being fenced, or is.
    Fencing,
    /// The source is fenced, and its mark is known; ours is set forward to it, still sealed.
    Fenced,
    /// Ours serves; the source is fenced, or below its ceiling.
    Open,
    /// Ours is sealed everywhere; then the fence is lifted, with the source above all that we gave out.
    Returning,
    /// The source serves; ours is sealed for good.
    Returned,
}

impl Phase {
    /// The word that stands for it in records and reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Phase::Planned => "planned",
            Phase::Beside => "beside",
            Phase::Fencing => "fencing",
            Phase::Fenced => "fenced",
            Phase::Open => "open",
            Phase::Returning => "returning",
            Phase::Returned => "returned",
        }
    }
}

/// What our sequence is made like.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Definition {
    /// Where it began.
    pub start: i64,
    /// From number to number.
    pub increment: i64,
    /// The smallest number.
    pub min: i64,
    /// The largest number.
    pub max: i64,
    /// Whether it begins again behind its end.
    pub cycle: bool,
}

/// One move of one name.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Move {
    /// Its id, which fences carry.
    pub id: MoveId,
    /// The ids of earlier moves of this name, which were taken back: an import of one that stood still may build its
    /// fence yet, and this move takes that over.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub former: Vec<MoveId>,
    /// How far it has come.
    pub phase: Phase,
    /// Whether the source got a ceiling: this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ceiling: Option<i64>,
    /// Where the source is: its place without a password, or for a move beside the name in `[sources.NAME]`. Of several
    /// masters what they are called together, so that a program that knows one alone finds another counter here.
    pub source: String,
    /// The name of the source's kind.
    pub kind: String,
    /// The counter's key there.
    pub key: String,
    /// The table, of a source whose shape nobody knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub table: Option<OwnTable>,
    /// The counters that gave out the numbers together, where there are several: what stands beside this of one
    /// source is said of each here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub masters: Vec<Master>,
    /// The one of them that goes on, from `returning` on; all of them, if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub back_to: Option<String>,
    /// What ours is made like.
    pub definition: Definition,
    /// What lifting the fence puts back ([`crate::source::Note::before`]).
    pub before: BTreeMap<String, String>,
    /// Numbers skipped above the mark.
    #[serde(default)]
    pub advance: u64,
    /// Beside: how many numbers a take asks for; what the name used in 10 s, if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub take: Option<u64>,
    /// From `fenced` on: the first number that the source never gives out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark: Option<i64>,
    /// From `fenced` on: the first number of ours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<i64>,
    /// The largest number of its columns at the cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub highest: Option<i64>,
    /// From `returning` on: the furthest number that anybody may have given out; once ours is sealed, with all that was
    /// ever reserved here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issued: Option<i64>,
    /// When the phase was written, in milliseconds since 1970.
    pub at_ms: u64,
}
