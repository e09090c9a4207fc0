//! What a row of the table of sources says, and what a source is opened over.

use std::sync::Arc;

use super::Source;
use super::error::SourceError;
use crate::store::StoreSettings;

/// What speaks to the server that a source lives in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Engine {
    /// PostgreSQL.
    Postgres,
    /// MySQL and MariaDB.
    MySql,
    /// Redis and Valkey.
    Redis,
    /// None: for tests.
    Memory,
}

/// One kind of source: a row of [`SOURCES`](super::SOURCES).
#[derive(Clone, Copy, Debug)]
pub struct SourceKind {
    /// What stands before the `+` of a URL that means this kind alone, and in records.
    pub name: &'static str,
    /// Where it lives.
    pub engine: Engine,
    /// A URL that can be typed as it stands.
    pub example: &'static str,
    /// What it is, in a few words.
    pub summary: &'static str,
    /// Whether it is among those that a URL without a kind means.
    pub is_found: bool,
    /// Whether it can be given a ceiling.
    pub has_ceiling: bool,
    /// Whether our servers may take ranges beside it.
    pub has_beside: bool,
    /// Opens it over the connections of its engine; asks nobody.
    pub(crate) open: Open,
}

type Open = fn(&Place, &SourceSettings) -> Result<Arc<dyn Source>, SourceError>;

/// What opening a source may be told.
#[derive(Clone, Debug, Default)]
pub struct SourceSettings {
    /// How long statements and connecting may take, and the files of TLS.
    pub store: StoreSettings,
    /// The table of a source whose shape nobody knows.
    pub table: Option<OwnTable>,
    /// How many rows of a table, or keys of Redis, one list looks at most; [`KEYS_MAX`](super::KEYS_MAX) if absent.
    pub keys_max: Option<u64>,
    /// How many bits uid-generator's numbers of workers have, if it was set up otherwise.
    pub worker_bits: Option<u32>,
}

/// A table that holds counters, one a row, of no known shape.
#[derive(Clone, PartialEq, Eq, Hash, Debug, serde::Serialize, serde::Deserialize)]
pub struct OwnTable {
    /// The table, with its schema where that is not the default one.
    pub table: String,
    /// The column that names the counter.
    pub key_column: String,
    /// The column that holds its number.
    pub value_column: String,
    /// Whether that is the next number; otherwise the last one given out.
    pub is_next: bool,
    /// A further condition, as SQL.
    pub condition: Option<String>,
}

/// Where sources live: the connections that all kinds of one engine share.
#[derive(Clone, Debug)]
pub(crate) enum Place {
    #[cfg(feature = "postgres")]
    Postgres(Arc<super::link::Link<crate::store::postgres::Postgres>>),
    #[cfg(feature = "mysql")]
    MySql(Arc<super::link::Link<crate::store::mysql::MySql>>),
    /// The URL after the scheme, and the scheme.
    #[cfg(feature = "redis")]
    Redis(&'static str, String, Arc<dyn crate::runtime::Runtime>),
}
