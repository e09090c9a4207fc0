//! Documents about where ids come from, as far as the records tell.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::pools::Window;
use crate::quoted::Quoted;

/// The blocks of a sequence that this server reserved lately.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Blocks {
    /// The sequence's name.
    pub name: String,
    /// The server that tells.
    pub server: String,
    /// Blocks, the oldest first: those that it remembers.
    pub blocks: Vec<Block>,
}

/// Numbers that were reserved together.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Block {
    /// When, in RFC 3339.
    pub at: String,
    /// How long that took, in microseconds.
    pub took_us: u64,
    /// The first number.
    pub first: Quoted<i64>,
    /// The last number.
    pub last: Quoted<i64>,
    /// How many numbers.
    pub count: u64,
    /// How many of them were given out.
    pub used: u64,
    /// How many were lost.
    pub lost: u64,
    /// How many were given back to the store.
    pub given_back: u64,
}

/// Where an id comes from, as far as the records tell.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Explained {
    /// The id as it was asked about.
    pub input: String,
    /// What it is most likely, in words.
    pub reading: Option<String>,
    /// Where it may come from, the surest first.
    pub origins: Vec<Origin>,
    /// What cannot be told, and why.
    pub notes: Vec<String>,
}

/// Where an id may come from.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Origin {
    /// `sequence` or `pool`.
    #[schemars(extend("enum" = ["sequence", "pool"]))]
    pub of: String,
    /// Its name.
    pub name: String,
    /// `issued`: it was given out; `reserved`: it was reserved, so that it was given out, is in somebody's memory, or is
    /// lost; `possible`: the records are silent; `not_yet`: nobody has reserved it; `never`: it cannot be.
    #[schemars(extend("enum" = ["issued", "reserved", "possible", "not_yet", "never"]))]
    pub verdict: String,
    /// The same in a sentence, with what it rests on.
    pub says: String,
    /// The server that gave it out, if a record names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The block of the sequence that it lies in, if this server remembers it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block: Option<Block>,
    /// The window that it lies in, or the last one of its worker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<Window>,
}

/// The windows of a pool's workers over time.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PoolMap {
    /// The pool's name.
    pub name: String,
    /// The clock that ids read, in milliseconds since 1970.
    pub now_ms: i64,
    /// How many workers its layout has.
    pub workers: u64,
    /// How far ahead a holder may mint, in milliseconds.
    pub window_ms: u64,
    /// Windows in the order of their workers, for each the earlier ones first.
    pub windows: Vec<MapWindow>,
    /// When the wall clock of this server was stepped.
    pub steps: Vec<ClockStep>,
    /// What `from` takes for the next page; `null` at the end.
    pub next_from: Option<u64>,
}

/// A window on the map.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct MapWindow {
    /// The worker.
    pub worker: u64,
    /// The token of who holds it.
    pub owner: String,
    /// What the holder calls itself.
    pub name: String,
    /// From when, in milliseconds since 1970.
    pub from_ms: i64,
    /// Until when.
    pub until_ms: i64,
    /// When that was written.
    pub written_ms: i64,
    /// `held`: it lasts; `passed`; `released`: its holder is done with it, or an operator released it; `parked`: a wrong clock
    /// set it far ahead; `earlier`: somebody took the worker over since.
    #[schemars(extend("enum" = ["held", "passed", "released", "parked", "earlier"]))]
    pub is: String,
    /// Whether this server holds it.
    pub ours: bool,
    /// How often the record was written, where the store tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Quoted<u64>>,
    /// The smallest id that can be made in it; absent of `uuid1`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_id: Option<String>,
    /// The largest one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_id: Option<String>,
}

/// A step of the wall clock.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ClockStep {
    /// When it was seen, in milliseconds since 1970, by the clock that ids read.
    pub at_ms: i64,
    /// By how many seconds; negative: back.
    pub by_s: f64,
}
