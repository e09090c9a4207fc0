//! Documents about sequences and their numbers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::quoted::{Quoted, RestartAt};

/// Ids that were just given out, in their order.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Ids {
    /// As texts, since JavaScript rounds numbers beyond 2^53.
    pub ids: Vec<String>,
    /// `true`: they come from a sequence that begins again at its end, so that its numbers repeat.
    #[serde(default, skip_serializing_if = "is_false")]
    pub cycle: bool,
}

/// One contiguous run of numbers.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Range {
    /// The first number.
    pub first: Quoted<i64>,
    /// The last one.
    pub last: Quoted<i64>,
    /// From one to the next.
    pub increment: Quoted<i64>,
    /// `true`: the sequence begins again at its end, so that its numbers repeat.
    #[serde(default, skip_serializing_if = "is_false")]
    pub cycle: bool,
}

/// A sequence's definition and its last number.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Sequence {
    /// Its name.
    pub name: String,
    /// The first number.
    pub start: Quoted<i64>,
    /// From one number to the next.
    pub increment: Quoted<i64>,
    /// The smallest number.
    pub min: Quoted<i64>,
    /// The largest number.
    pub max: Quoted<i64>,
    /// Whether it begins again at its end.
    pub cycle: bool,
    /// `bounded`, or `none`: no number is lost.
    pub gap: String,
    /// Numbers that one crash may lose.
    pub max_gap: u64,
    /// `node`: numbers rise on each server.
    pub order: String,
    /// The highest number known to be given out.
    pub last: Option<Quoted<i64>>,
    /// When it ends, where its rate is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forecast: Option<Forecast>,
    /// After a change: servers that live and had not heard of it in a second.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pending: Vec<String>,
    /// Where it is in a move from or to another system, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved: Option<MovedSequence>,
}

/// What a move makes of a sequence.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct MovedSequence {
    /// `moving`: nothing is given out; `beside`: numbers are taken out of the original; `here`: it serves; `moved_back`:
    /// the original gives the numbers.
    #[schemars(extend("enum" = ["moving", "beside", "here", "moved_back"]))]
    pub is: String,
    /// The id of the move.
    pub id: String,
    /// Where the counter is, without a password, or the name of `[sources.NAME]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Beside: the counter's key there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

/// A page of sequences.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Sequences {
    /// In the order of their names.
    pub sequences: Vec<Sequence>,
    /// What `after` takes for the next page; `null` at the end.
    pub next: Option<String>,
}

/// Servers that had not heard of a change in a second.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Pending {
    /// Their names.
    pub pending: Vec<String>,
}

/// When something ends at today's rate.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Forecast {
    /// Ids a second, over the last day.
    pub per_second: Option<f64>,
    /// The limits ahead.
    pub ends: Vec<Ending>,
}

/// A limit that something reaches.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Ending {
    /// Which: `bound`, `2^53`, `2^63`.
    pub limit: String,
    /// When, in RFC 3339; `null` where it has passed.
    pub at: Option<String>,
    /// In how many years.
    pub years: f64,
    /// Whether that is less than five.
    pub near: bool,
}

/// A definition, or a change of one: what is left out takes its default, or stays.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SequenceDefinition {
    /// The first number: `min` if absent, or `max` for a negative increment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<Quoted<i64>>,
    /// From one number to the next; 1 if absent, not 0, may be negative.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub increment: Option<Quoted<i64>>,
    /// The smallest number: 1 if absent, or -2^63 for a negative increment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min: Option<Quoted<i64>>,
    /// The largest number: 2^63-1 if absent, or -1 for a negative increment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<Quoted<i64>>,
    /// Begins again at the other bound: repeats by definition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cycle: Option<bool>,
    /// `bounded` if absent; `none`: every answer leaves after its own sync, and no number is lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["bounded", "none", null]))]
    pub gap: Option<String>,
    /// Numbers that one crash may lose, at least 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_gap: Option<Quoted<i64>>,
    /// SQL's word for `max_gap`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache: Option<Quoted<i64>>,
    /// `node`: numbers rise on each server.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["node", null]))]
    pub order: Option<String>,
    /// In a change: go on although numbers may repeat.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allow_repeat: Option<bool>,
    /// In a change: `true`, go on at the start; a number, go on there. As SQL's `RESTART [WITH n]`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restart: Option<RestartAt>,
}

/// Where a sequence is to go on.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Restart {
    /// The number.
    pub value: Quoted<i64>,
    /// Whether it counts as issued, so that the next one is an increment further; yes if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_called: Option<bool>,
    /// Go back although numbers given out before then repeat.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allow_repeat: Option<bool>,
}

fn is_false(whether: &bool) -> bool {
    !whether
}
