//! Documents about how the server fares: now, and over the last day. They have the numbers of `/metrics`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::health::StoreStatus;
use crate::sequences::Sequence;

/// One second of the server: an event of `/v1/live`.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Frame {
    /// When it ended, in milliseconds since 1970.
    pub at_ms: i64,
    /// How long it was, in seconds: more than 1 where the process was kept from running.
    pub span_s: f64,
    /// The server's name.
    pub server: String,
    /// Its version.
    pub version: String,
    /// Where it speaks the Redis protocol, as the setting of a listener has it; `null`: nowhere.
    pub resp: Option<String>,
    /// When it started, in milliseconds since 1970: a change means that it started again.
    pub started_ms: i64,
    /// The values of this second; what is absent was 0, or is not known. See [`History::series`].
    pub series: BTreeMap<String, f64>,
    /// The store.
    pub store: StoreNow,
    /// What goes well, what comes to an end, and what is wrong: a sentence each.
    pub says: Says,
    /// The busiest sequences, 20 at most.
    pub busiest: Vec<Busy>,
    /// For how many seconds more the store is treated as if it were away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rehearsal_left_s: Option<u64>,
}

/// The store as it is now.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct StoreNow {
    /// Whether it answers, and how long everything goes on without it.
    #[serde(flatten)]
    pub status: StoreStatus,
    /// Its kind: `embedded`, `postgres`, …
    pub scheme: String,
    /// What it may forget: `S` nothing in a failover, `D` nothing in a crash, `L` something.
    pub class: String,
    /// Why it is of this class.
    pub why: String,
    /// Why this process reserves nothing any more, until somebody acts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<String>,
}

/// Three sentences.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Says {
    /// What goes well.
    pub well: String,
    /// What comes to an end first.
    pub ends: String,
    /// What is wrong.
    pub wrong: String,
}

/// A sequence in use.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Busy {
    /// Its name.
    pub name: String,
    /// Numbers a second.
    pub per_second: f64,
    /// For how many seconds it continues without its store; `null`: longer than can be told.
    pub left_s: Option<f64>,
}

/// What the server was like over a span of time, kept in its memory.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct History {
    /// The server's name.
    pub server: String,
    /// When it started, in milliseconds since 1970.
    pub started_ms: i64,
    /// The seconds from one point to the next: 1 in the last 10 minutes, 10 in the last 2 hours, 60 in the last 24.
    pub step_s: u32,
    /// When the last point ended, in milliseconds since 1970.
    pub until_ms: i64,
    /// Values by name, the oldest first; all as long. `null`: not known.
    ///
    /// `ids/KIND`, `requests/FACE` and `refused/CODE`: a second. `p50_us/FACE`, `p99_us/FACE`, `reserve_p50_us`,
    /// `reserve_p99_us`: microseconds. `connections/FACE`; `budget_left_s`, `clock_offset_s`: seconds;
    /// `clock_steps`, `lost`: since the start; `store_up`: 0 or 1.
    pub series: BTreeMap<String, Vec<Option<f32>>>,
}

/// A page of sequences, sorted by what is asked for.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Top {
    /// How many there are in all that fit.
    pub total: u64,
    /// When they were looked at, in milliseconds since 1970: some seconds ago at most.
    pub at_ms: i64,
    /// The page.
    pub sequences: Vec<TopSequence>,
}

/// A sequence, with what this server knows of its use.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct TopSequence {
    /// The sequence.
    #[serde(flatten)]
    pub sequence: Sequence,
    /// Numbers a second that this server gives out of it now; `null`: it is not in use here.
    pub per_second: Option<f64>,
    /// The same in the last minutes, the oldest first, 10 seconds apart; empty: not known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recent: Vec<f32>,
    /// Numbers in memory here.
    pub stock: Option<u64>,
    /// For how many seconds they last, if that can be told.
    pub stock_s: Option<f64>,
    /// Numbers known here to be lost by crashes.
    pub lost: Option<u64>,
}
