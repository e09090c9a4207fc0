//! Tables of libraries that count in a database by themselves, without a server of their own: what their statements
//! mean.
//!
//! | table | library | a row is | a client that adds n reckons its numbers |
//! | --- | --- | --- | --- |
//! | `cosid` | CosId over JDBC | the sequence of the key `name` on the face `cosid` | `last_max_id` - n + 1 to `last_max_id` |
//! | `leaf_alloc` | Leaf, embedded | the sequence of the tag `biz_tag` on the face `leaf` | `max_id` - n to `max_id` - 1 |
//! | `cosid_machine` | CosId over JDBC | a machine of the pool `namespace` on the face `cosid` | |
//!
//! The number is reserved by the UPDATE, and told by the SELECT of the same session (`claims`).

use super::value::Kind;
use mintage_server::chassis::config::{Config, Keys};

/// What `MAX(machine_id)` is called, of all aggregates the one that a library asks for.
pub(crate) const MAX_MACHINE: &str = "max(machine_id)";

/// A table of a library.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Library {
    /// CosId's segments.
    Cosid,
    /// CosId's machines.
    Machines,
    /// Leaf's tags.
    Leaf,
}

impl Library {
    /// The table of this name, in whatever database.
    pub(crate) fn named(table: &str) -> Option<Library> {
        let all = [Library::Cosid, Library::Machines, Library::Leaf];
        all.into_iter()
            .find(|one| one.table().eq_ignore_ascii_case(table))
    }

    /// What it is called.
    pub(crate) fn table(self) -> &'static str {
        match self {
            Library::Cosid => "cosid",
            Library::Machines => "cosid_machine",
            Library::Leaf => "leaf_alloc",
        }
    }

    /// Its columns, in the order of its definition: first the key, then where its numbers stand.
    pub(crate) fn columns(self) -> &'static [(&'static str, Kind)] {
        match self {
            Library::Cosid => &[
                ("name", Kind::Text),
                ("last_max_id", Kind::Unsigned),
                ("last_fetch_time", Kind::Unsigned),
            ],
            Library::Machines => &[
                ("name", Kind::Text),
                ("machine_id", Kind::Integer),
                ("namespace", Kind::Text),
                ("last_timestamp", Kind::Integer),
                ("instance_id", Kind::Text),
                ("distribute_time", Kind::Integer),
                ("revert_time", Kind::Integer),
                (MAX_MACHINE, Kind::Integer),
            ],
            Library::Leaf => &[
                ("biz_tag", Kind::Text),
                ("max_id", Kind::Integer),
                ("step", Kind::Integer),
                ("description", Kind::Text),
                ("update_time", Kind::Text),
            ],
        }
    }

    /// The column of the key.
    pub(crate) fn key(self) -> &'static str {
        self.columns()[0].0
    }

    /// The column that says where the numbers stand.
    pub(crate) fn counts(self) -> &'static str {
        self.columns()[1].0
    }

    /// What the values of a column are.
    pub(crate) fn kind(self, column: &str) -> Option<Kind> {
        let found = self
            .columns()
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(column));
        found.map(|(_, kind)| *kind)
    }

    /// What the sequences of its keys are called: as on the face of the same system, so that clients of all three
    /// share one.
    pub(crate) fn keys(self, config: &Config) -> &Keys {
        match self {
            Library::Cosid | Library::Machines => config.faces.keys_of("cosid"),
            Library::Leaf => config.faces.keys_of("leaf"),
        }
    }

    /// How far what the table says is beyond the last number.
    pub(crate) fn beyond_last(self) -> i64 {
        match self {
            Library::Cosid | Library::Machines => 0,
            Library::Leaf => 1,
        }
    }
}
