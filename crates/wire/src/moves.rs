//! Documents about moves: counters that come here from other systems, stand beside them, or go back.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::quoted::Quoted;

/// The record of one move, as it is read and written.
///
/// ```
/// let record: mintage_wire::Move = serde_json::from_value(serde_json::json!({
///     "id": "0123456789abcdef0123456789abcdef", "phase": "planned", "source": "postgres://db/shop",
///     "kind": "postgres", "key": "public.orders_id_seq", "at_ms": 1_700_000_000_000_u64,
///     "definition": {"start": "1", "increment": "1", "min": "1", "max": "2147483647", "cycle": false},
/// })).expect("a move");
/// assert_eq!(record.definition.max.0, 2_147_483_647);
/// assert!(record.mark.is_none() && record.former.is_empty());
/// ```
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Move {
    /// Its id, which fences carry: 32 hexadecimal digits.
    pub id: String,
    /// The ids of earlier moves of this name, which were taken back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub former: Vec<String>,
    /// How far it has come.
    #[schemars(extend("enum" = ["planned", "beside", "fencing", "fenced", "open", "returning", "returned"]))]
    pub phase: String,
    /// The first number that the source never reaches, where it got a ceiling.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ceiling: Option<Quoted<i64>>,
    /// Where the source is, without a password; beside it, the name of `[sources.NAME]`.
    pub source: String,
    /// The name of the source's kind.
    pub kind: String,
    /// The counter's key there.
    pub key: String,
    /// The table, of a source whose shape nobody knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub table: Option<MoveTable>,
    /// The counters that gave out the numbers together, where there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub masters: Vec<MoveMaster>,
    /// The one of them that goes on, on the way back; all of them, if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub back_to: Option<String>,
    /// What ours is made like.
    pub definition: MoveDefinition,
    /// What lifting the fence puts back.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub before: BTreeMap<String, String>,
    /// Numbers skipped above the mark.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advance: Option<Quoted<u64>>,
    /// Beside: how many numbers a take asks for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub take: Option<Quoted<u64>>,
    /// The first number that the source never gives out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark: Option<Quoted<i64>>,
    /// The first number of ours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<Quoted<i64>>,
    /// The largest number of its columns at the cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub highest: Option<Quoted<i64>>,
    /// The furthest number that was ever reserved here, once ours is sealed for the way back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issued: Option<Quoted<i64>>,
    /// When the phase was written, in milliseconds since 1970.
    pub at_ms: u64,
}

/// One of several counters that gave out the numbers of one name together.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MoveMaster {
    /// Where it is, without a password; beside it, the name of `[sources.NAME]`.
    pub source: String,
    /// Its key there.
    pub key: String,
    /// How far its numbers are apart.
    pub increment: Quoted<i64>,
    /// One of its numbers: the others are whole increments away.
    pub one: Quoted<i64>,
    /// What lifting its fence puts back.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub before: BTreeMap<String, String>,
    /// The first number that it never gives out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark: Option<Quoted<i64>>,
    /// The earlier move whose fence stays there: 32 hexadecimal digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fenced_by: Option<String>,
}

/// A table that holds counters, one a row.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MoveTable {
    /// The table.
    pub table: String,
    /// The column that names the counter.
    pub key_column: String,
    /// The column that holds its number.
    pub value_column: String,
    /// Whether that is the next number; otherwise the last one given out.
    pub is_next: bool,
    /// A further condition, as SQL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
}

/// What the sequence is made like.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MoveDefinition {
    /// Where it began.
    pub start: Quoted<i64>,
    /// From number to number.
    pub increment: Quoted<i64>,
    /// The smallest number.
    pub min: Quoted<i64>,
    /// The largest number.
    pub max: Quoted<i64>,
    /// Whether it begins again behind its end.
    pub cycle: bool,
}

/// A move of a name, and how often its record was written.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct VersionedMove {
    /// The name here.
    pub name: String,
    /// What the next step must expect.
    pub version: Quoted<u64>,
    /// The record.
    #[serde(rename = "move")]
    pub record: Move,
}

/// Every move, in the order of names.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Moves {
    /// The moves.
    pub moves: Vec<VersionedMove>,
}

/// One step of a move: the record is written if it is still at `expected`, then done.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MoveStep {
    /// The version that the record must be at; absent: there must be none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<Quoted<u64>>,
    /// Takes a name that is used here already, if the definition fits.
    #[serde(default)]
    pub into_used: bool,
    /// What is to be written.
    #[serde(rename = "move")]
    pub record: Move,
}

/// What a step came to.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct SteppedMove {
    /// The move as it stands now.
    pub now: VersionedMove,
    /// Servers that live and do not follow yet: the source may not be changed before there are none.
    pub pending: Vec<String>,
    /// The furthest number that was ever reserved here.
    pub reserved: Option<Quoted<i64>>,
}

/// Another step came first (409): nothing was done.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct LostMove {
    /// The move as it stands; absent: there is none.
    pub now: Option<VersionedMove>,
}
