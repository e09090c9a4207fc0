//! Documents about pools and the windows of their workers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::quoted::Quoted;
use crate::sequences::Forecast;

/// What a pool is, and what this server holds of it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Pool {
    /// Its name.
    pub name: String,
    /// `snowflake` or `uuid1`.
    pub kind: String,
    /// The layout of its ids; `null` for `uuid1`.
    pub layout: Option<String>,
    /// How many workers its layout has.
    pub workers: u64,
    /// How many of them it may choose.
    pub usable: u64,
    /// Which of them it may choose, as ranges such as `0-511`; `null`: all.
    pub within: Option<String>,
    /// Which of those it avoids, as ranges; `null`: none.
    pub avoid: Option<String>,
    /// Where those were read, without a password; `null`: somebody said so.
    pub avoid_from: Option<String>,
    /// How far ahead a holder may mint without asking the store again.
    pub window: String,
    /// The same in milliseconds.
    pub window_ms: u64,
    /// What it does when the clock goes back.
    pub clock_policy: String,
    /// When its time field is full, in RFC 3339.
    pub ends: String,
    /// The worker that this server holds.
    pub worker: Option<u64>,
    /// Until when, in RFC 3339.
    pub until: Option<String>,
    /// How many workers are held by anyone, if that was counted.
    pub workers_held: Option<u64>,
    /// Workers that a wrong clock parked.
    pub parked: Option<Parked>,
    /// When it ends.
    pub forecast: Forecast,
}

/// Workers whose windows lie far ahead.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Parked {
    /// How many.
    pub workers: u64,
    /// When the first of them is free again, in RFC 3339.
    pub first_until: String,
    /// When all are.
    pub last_until: String,
}

/// A pool, and windows of its workers.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PoolWithWindows {
    /// The pool.
    #[serde(flatten)]
    pub pool: Pool,
    /// In the order of their workers.
    pub windows: Vec<Window>,
}

/// A pool, and a page of the windows of its workers.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PoolPage {
    /// The pool.
    #[serde(flatten)]
    pub shown: PoolWithWindows,
    /// What `from` takes for the next page; `null` at the end.
    pub next_from: Option<u64>,
}

/// A page of pools.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Pools {
    /// In the order of their names.
    pub pools: Vec<Pool>,
    /// What `after` takes for the next page; `null` at the end.
    pub next: Option<String>,
}

/// Who holds, or held, a worker until when. Times are RFC 3339.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Window {
    /// The worker.
    pub worker: u64,
    /// The token of who holds it.
    pub owner: String,
    /// What the holder calls itself.
    pub name: String,
    /// From when.
    pub from: String,
    /// Until when.
    pub until: String,
    /// When that was written.
    pub written: String,
    /// Whether it has not passed.
    pub lasts: bool,
    /// Whether this server holds it.
    pub ours: bool,
}

/// A window for a program that mints by itself: it may use the ticks from `from_tick` to before `until_tick`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct LentWindow {
    /// The worker to put into every id.
    pub worker: u64,
    /// Whose it is: renewals show it.
    pub owner: String,
    /// Changes with every renewal, which shows the last one; the same when one is repeated with its attempt.
    pub version: Quoted<u64>,
    /// The first tick.
    pub from_tick: Quoted<u64>,
    /// Behind the last tick.
    pub until_tick: Quoted<u64>,
    /// The time of the first tick, in RFC 3339.
    pub from: String,
    /// The time behind the last.
    pub until: String,
    /// `snowflake` or `uuid1`.
    pub kind: String,
    /// The layout of the ids; `null` for `uuid1`.
    pub layout: Option<String>,
    /// The server's now in ticks, at its answer.
    pub now_tick: Quoted<u64>,
    /// The same in RFC 3339.
    pub now: String,
    /// How long a tick is, in nanoseconds.
    pub tick_ns: Quoted<u64>,
}

/// A pool's definition: a preset's name, or a layout as presets show it under `spec`.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PoolDefinition {
    /// `snowflake` if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["snowflake", "uuid1", null]))]
    pub kind: Option<String>,
    /// The layout.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layout: Option<String>,
    /// Instead of a layout: a known one. `twitter` if both are absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preset: Option<String>,
    /// How far ahead a holder may mint without asking the store again.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1000, max = 86_400_000))]
    pub window_ms: Option<u64>,
    /// What it does when the clock goes back: `hold`, `wait(5ms)`, `error` or `bump`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock_policy: Option<String>,
    /// Which workers of the layout it may choose, as ranges such as `0-511,600`; all if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workers: Option<String>,
    /// Which of those it avoids, because another system's generators have them: ranges such as `3,17,20-31`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub avoid: Option<String>,
    /// Where those were read: a URL without a password, for the record.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub avoid_from: Option<String>,
}

/// What a pool is to avoid from now on, and what no more.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PoolPatch {
    /// Workers that another system has, or will have, as ranges such as `3,17,20-31`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub avoid: Option<String>,
    /// Workers whose generators there are off. One that was avoided is used again only with `off_since` or `looked`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub use_again: Option<String>,
    /// Where what is avoided was read, if the pool does not say so yet: a URL without a password.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub avoid_from: Option<String>,
    /// None of the generators has made an id since this time, in RFC 3339: at least an hour ago.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub off_since: Option<String>,
    /// What the other system showed just now, instead of `off_since`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub looked: Option<Looked>,
}

/// What another system shows of its workers.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Looked {
    /// Where: as the pool's `avoid_from`.
    pub at: String,
    /// Every number that is held there.
    pub held: Vec<HeldThere>,
}

/// A number that is held in another system.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HeldThere {
    /// The number.
    pub worker: u64,
    /// When its holder last said that it lives, in RFC 3339; `null`: it says no time.
    pub last: Option<String>,
}

/// A pool after a change of what it avoids.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PoolChanged {
    /// The pool.
    #[serde(flatten)]
    pub pool: Pool,
    /// Windows of avoided workers that last still: until they have passed, nobody else may use these workers.
    pub held: Vec<Window>,
    /// Other servers that live and do not follow the change yet.
    pub pending: Vec<String>,
}

/// Who asks for a window.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Borrower {
    /// What it calls itself, in at most 128 bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// A window as it was lent: what shows that it is the asker's.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Held {
    /// As it was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// As it was last given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<Quoted<u64>>,
    /// Of a renewal: 16 to 64 letters, digits, `-` and `_`, drawn at random for each and kept over its tries, so that it
    /// can be repeated until it is answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 16, max = 64), regex(pattern = "^[A-Za-z0-9_-]+$"))]
    pub attempt: Option<String>,
}

/// A worker that is given up.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Retired {
    /// `true`.
    pub retired: bool,
}
