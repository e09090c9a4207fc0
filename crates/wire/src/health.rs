//! Documents about the server, and its refusals.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The process answers.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Live {
    /// `true`.
    pub live: bool,
}

/// Whether anything, or what was asked for, can be given out.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Ready {
    /// The sequence or pool that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Whether it can.
    pub ready: bool,
    /// Why not.
    pub reasons: Vec<String>,
    /// How sequences are, where nothing was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sequences: Option<PartReady>,
    /// How pools are, where nothing was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pools: Option<PartReady>,
    /// Those that cannot, where sequences or pools were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_ready: Option<Vec<NotReady>>,
    /// The sequence of the name, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sequence: Option<OneReady>,
    /// The pool of the name, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<OneReady>,
    /// What else there is to know.
    #[serde(default)]
    pub notes: Vec<String>,
    /// Whether the store answers.
    pub store: StoreStatus,
}

/// How all sequences are, or all pools.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct PartReady {
    /// Whether any of them can give something out.
    pub ready: bool,
    /// Why not.
    pub reasons: Vec<String>,
    /// Those that cannot.
    pub not_ready: Vec<NotReady>,
}

/// One that can give nothing out.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct NotReady {
    /// Its name; empty for who may not read it.
    pub name: String,
    /// Why.
    pub reason: String,
}

/// Whether one can give something out.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct OneReady {
    /// Whether it can.
    pub ready: bool,
}

/// Whether the store answers, and what in use ends first without it.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct StoreStatus {
    /// Whether it answers.
    pub up: bool,
    /// For how many seconds it has not.
    pub down_s: Option<u64>,
    /// For how many seconds everything in use goes on without it.
    pub budget_left_s: Option<u64>,
    /// What ends first.
    pub first_to_end: Option<FirstToEnd>,
}

/// What ends first without a store.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct FirstToEnd {
    /// `sequence` or `pool`.
    pub kind: String,
    /// Its name; empty for who may not read it.
    pub name: String,
}

/// A refusal (RFC 9457).
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Problem<'a> {
    /// `urn:mint:error:` and the code.
    #[serde(rename = "type")]
    pub kind: Cow<'a, str>,
    /// What the code means.
    pub title: Cow<'a, str>,
    /// The status of the answer.
    pub status: u16,
    /// The stable name: programs may match on it.
    pub code: Cow<'a, str>,
    /// What was asked and found, for people; may change.
    pub detail: Cow<'a, str>,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<Cow<'a, str>>,
    /// After how many seconds it is worth asking again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<u64>,
}
