//! The table of shapes: how each system keeps its counters in rows.
//!
//! | shape | table | key | number | number is | fence |
//! | --- | --- | --- | --- | --- | --- |
//! | leaf | `leaf_alloc` | `biz_tag` | `max_id` | next | `max_id` at its end, a note in `description` |
//! | tinyid | `tiny_id_info` | `biz_type` | `max_id` | last | the key renamed |
//! | cosid | `cosid` | `name` | `last_max_id` | last | `last_max_id` at its end, the mark in `last_fetch_time` |
//! | vitess | comment `vitess_sequence` | the table | `next_id` | next | `cache` negated |
//! | idgo | one per key, listed in `__idgo__` | the table | `id` | last | the table renamed |
//! | own | as told | as told | as told | as told | the key renamed |
//!
//! Leaf adds in SQL to a signed column, CosId in SQL to an unsigned one: both fail with 1690 at the end of the type, whatever
//! `sql_mode` says, and the row stays, so that nobody can make it anew. CosId would: every client that starts inserts the
//! row with its first offset where there is none, and a renamed row would begin again at 1. Its clients write
//! `last_fetch_time` and never read it, which leaves room for the mark. tinyid adds in Java, where the end of the type
//! wraps below zero, and never inserts: its key is renamed. Of an own table we know neither, so its key is renamed too.

use std::borrow::Cow;

use crate::source::OwnTable;

/// How one system keeps a counter.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    /// The name of its row of [`SOURCES`](crate::source::SOURCES).
    pub(super) kind: &'static str,
    /// The face whose clients ask for its counters.
    pub(super) face: Option<&'static str>,
    /// The table's usual name; the one that lists the others, where each key has its own.
    pub(super) table: Cow<'static, str>,
    /// The schema, where it is not the one that the URL names.
    pub(super) schema: Option<String>,
    /// The columns that it is recognised by, the comment too where the name says nothing.
    pub(super) columns: &'static [&'static str],
    /// What the table's comment begins with.
    pub(super) comment: Option<&'static str>,
    pub(super) keyed: Keyed,
    pub(super) number: Cow<'static, str>,
    pub(super) means: Means,
    /// Further columns that are read.
    pub(super) extra: &'static [&'static str],
    /// What else a take or a lift writes, so that the original's own clients see that the row has changed.
    pub(super) touch: &'static [(&'static str, &'static str)],
    /// How many numbers the original takes at a time.
    pub(super) step: Option<&'static str>,
    pub(super) form: Form,
    /// A further condition, as SQL.
    pub(super) condition: Option<String>,
}

/// What names a counter.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(
    not(feature = "mysql"),
    allow(dead_code, reason = "the known shapes are of MySQL")
)]
pub(super) enum Keyed {
    /// A column.
    Column(Cow<'static, str>),
    /// The table, whose row has id 0.
    Zero,
    /// The table, which has one row; this column of [`Shape::table`] lists the keys.
    Listed(&'static str),
}

/// What the number is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Means {
    /// The next one.
    Next,
    /// The last one that was given out.
    Last,
}

/// What makes a counter unable to give out more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(
    not(feature = "mysql"),
    allow(dead_code, reason = "the known shapes are of MySQL")
)]
pub(super) enum Form {
    /// The number at the end of its type, what it was and the move in this column.
    EndWithNote(&'static str),
    /// The number at the end of its type, what it was in this column of numbers.
    EndWithMark(&'static str),
    /// Another key.
    RenamedKey,
    /// This column negated.
    Negated(&'static str),
    /// Another name of the table.
    RenamedTable,
}

const LEAF: Shape = Shape {
    kind: "leaf",
    face: Some("leaf"),
    table: Cow::Borrowed("leaf_alloc"),
    schema: None,
    columns: &["biz_tag", "max_id", "step", "description", "update_time"],
    comment: None,
    keyed: Keyed::Column(Cow::Borrowed("biz_tag")),
    number: Cow::Borrowed("max_id"),
    means: Means::Next,
    extra: &["step", "description"],
    touch: &[],
    step: Some("step"),
    form: Form::EndWithNote("description"),
    condition: None,
};

/// The shapes that are known.
#[cfg(feature = "mysql")]
pub(super) static SHAPES: [Shape; 5] = [
    LEAF,
    Shape {
        kind: "tinyid",
        face: Some("tinyid"),
        table: Cow::Borrowed("tiny_id_info"),
        columns: &[
            "biz_type",
            "begin_id",
            "max_id",
            "step",
            "delta",
            "remainder",
            "version",
            "update_time",
        ],
        keyed: Keyed::Column(Cow::Borrowed("biz_type")),
        means: Means::Last,
        extra: &["step", "delta", "remainder", "begin_id"],
        touch: &[("version", "version + 1"), ("update_time", "now()")],
        form: Form::RenamedKey,
        ..LEAF
    },
    Shape {
        kind: "cosid",
        face: Some("cosid"),
        table: Cow::Borrowed("cosid"),
        columns: &["name", "last_max_id", "last_fetch_time"],
        keyed: Keyed::Column(Cow::Borrowed("name")),
        number: Cow::Borrowed("last_max_id"),
        means: Means::Last,
        extra: &["last_fetch_time"],
        touch: &[("last_fetch_time", "unix_timestamp()")],
        step: None,
        form: Form::EndWithMark("last_fetch_time"),
        ..LEAF
    },
    Shape {
        kind: "vitess",
        face: Some("mysql"),
        table: Cow::Borrowed(""),
        columns: &["id", "next_id", "cache"],
        comment: Some("vitess_sequence"),
        keyed: Keyed::Zero,
        number: Cow::Borrowed("next_id"),
        extra: &["cache"],
        step: Some("cache"),
        form: Form::Negated("cache"),
        ..LEAF
    },
    Shape {
        kind: "idgo",
        face: Some("idgo"),
        table: Cow::Borrowed("__idgo__"),
        columns: &["k"],
        keyed: Keyed::Listed("k"),
        number: Cow::Borrowed("id"),
        means: Means::Last,
        extra: &[],
        step: None,
        form: Form::RenamedTable,
        ..LEAF
    },
];

impl Shape {
    /// The shape of a table that only its owner knows.
    pub(super) fn own(own: &OwnTable) -> Shape {
        let (schema, table) = match own.table.split_once('.') {
            Some((schema, table)) => (Some(schema.to_string()), table),
            None => (None, own.table.as_str()),
        };
        Shape {
            kind: "own",
            face: None,
            table: Cow::Owned(table.to_string()),
            schema,
            columns: &[],
            keyed: Keyed::Column(Cow::Owned(own.key_column.clone())),
            number: Cow::Owned(own.value_column.clone()),
            means: match own.is_next {
                true => Means::Next,
                false => Means::Last,
            },
            extra: &[],
            step: None,
            form: Form::RenamedKey,
            condition: own.condition.clone(),
            ..LEAF
        }
    }

    /// Whether its table is told and not looked for.
    pub(super) fn is_own(&self) -> bool {
        self.columns.is_empty()
    }
}

#[cfg(test)]
#[cfg(feature = "mysql")]
mod tests {
    use super::*;

    #[test]
    fn an_own_table_may_name_its_schema() {
        let own = OwnTable {
            table: "shop.counters".into(),
            key_column: "what".into(),
            value_column: "n".into(),
            is_next: true,
            condition: Some("kind = 1".into()),
        };
        let shape = Shape::own(&own);
        assert_eq!(
            (shape.schema.as_deref(), &*shape.table, shape.means),
            (Some("shop"), "counters", Means::Next)
        );
        assert!(shape.is_own() && !SHAPES.iter().any(Shape::is_own));
    }
}
