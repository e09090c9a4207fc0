//! Documents about the servers of one store, about who may do what, and about what was done.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The servers that share a store, and the store.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Cluster {
    /// The servers, the one that tells first.
    pub servers: Vec<Server>,
    /// The store's kind: `embedded`, `postgres`, …
    pub scheme: String,
    /// What it may forget: `S`, `D` or `L`.
    pub class: String,
    /// What that rests on, line by line.
    pub evidence: Vec<String>,
    /// The last time that the store was replaced, set back or away, as far as this server has seen.
    pub last_failover: Option<String>,
    /// For how many seconds more this server treats the store as if it were away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rehearsal_left_s: Option<u64>,
}

/// A server on the store.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Server {
    /// What it calls itself.
    pub name: String,
    /// The token that its records carry, hexadecimal.
    pub instance: String,
    /// Its version, if its register tells.
    pub version: Option<String>,
    /// Whether it is the one that tells.
    pub ours: bool,
    /// Whether its register has changed within three seconds.
    pub lives: bool,
    /// For how many seconds its register has not changed.
    pub heard_s: f64,
    /// Its wall clock minus ours, in seconds, if known.
    pub offset_s: Option<f64>,
    /// How far that may be wrong, in seconds.
    pub offset_error_s: Option<f64>,
    /// The workers that it holds, as `POOL:WORKER`; those of a thousand windows. `null`: not known, while the store is away.
    pub workers: Option<Vec<String>>,
}

/// For how long to treat the store as if it were away.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rehearsal {
    /// Seconds, from 1 to 600; 0 ends one that runs.
    pub seconds: u64,
}

/// Who may do what.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Access {
    /// Whether a token is needed.
    pub needed: bool,
    /// The tokens, in the order of their names; never their values.
    pub tokens: Vec<AccessToken>,
    /// Where acts are written to; `null`: nowhere.
    pub trail: Option<String>,
}

/// A token.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct AccessToken {
    /// Its name.
    pub name: String,
    /// What it may do: `read`, `allocate`, `admin`, for some names alone as in `allocate:orders.*`.
    pub may: Vec<String>,
    /// Through what faces; empty: through all.
    pub faces: Vec<String>,
    /// Until when, in RFC 3339.
    pub expires: Option<String>,
    /// When it was last used, in RFC 3339.
    pub last_used: Option<String>,
    /// How often it was refused.
    pub refused: u64,
}

/// The last acts of the audit trail.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Acts {
    /// As they were written, the newest first.
    pub acts: Vec<serde_json::Map<String, serde_json::Value>>,
}
