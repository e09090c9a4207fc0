//! What a sequence is as a table of one row, and what columns there are.

use mintage::SequenceDef;
use mintage_ledger::SequenceInfo;

use crate::mysql::answer::Column;
use crate::mysql::plan::From;
use crate::mysql::value::{Kind, Value};

/// The columns of a sequence as a table of one row.
pub(super) const SEQUENCE_COLUMNS: [&str; 8] = [
    "next_not_cached_value",
    "minimum_value",
    "maximum_value",
    "start_value",
    "increment",
    "cache_size",
    "cycle_option",
    "cycle_count",
];

/// The columns of `information_schema.TABLES` that say something of a sequence.
const TABLE_COLUMNS: [&str; 5] = [
    "table_catalog",
    "table_schema",
    "table_name",
    "table_type",
    "engine",
];

/// What `*` is.
pub(super) fn all_columns(from: &From) -> Vec<Column> {
    let texts = |names: &[&str]| {
        let columns = names.iter();
        columns
            .map(|name| Column::new(name.to_ascii_uppercase(), Kind::Text))
            .collect()
    };
    match from {
        From::Nothing => Vec::new(),
        From::Series(_) => vec![Column::new("seq", Kind::Unsigned)],
        From::Table(_) => {
            let columns = SEQUENCE_COLUMNS.iter();
            columns.map(|name| Column::new(name, column_kind(name))).collect()
        }
        From::Library(library) => {
            let columns = library.columns().iter();
            columns.map(|(name, kind)| Column::new(name, *kind)).collect()
        }
        From::Catalogue(_) => texts(&TABLE_COLUMNS),
    }
}

/// What a column of a ticket's table or of a sequence has.
pub(super) fn column_kind(column: &str) -> Kind {
    let is_number = column.eq_ignore_ascii_case("id")
        || SEQUENCE_COLUMNS
            .iter()
            .any(|known| column.eq_ignore_ascii_case(known));
    match is_number {
        true => Kind::Integer,
        false => Kind::Text,
    }
}

/// A sequence as the row of its table.
pub(super) fn sequence_row(info: &SequenceInfo) -> Vec<(&'static str, Value)> {
    let def = &info.def;
    let (min, max) = bounds(def);
    let values = [
        Value::Integer(next_number(info)),
        Value::Integer(min),
        Value::Integer(max),
        Value::Integer(def.start),
        Value::Integer(def.increment),
        Value::Integer(0),
        Value::Integer(def.cycle.into()),
        Value::Integer(0),
    ];
    SEQUENCE_COLUMNS.into_iter().zip(values).collect()
}

/// The bounds as MariaDB has them, whose sequences end one before the ends of the type.
pub(super) fn bounds(def: &SequenceDef) -> (i64, i64) {
    (def.min.max(i64::MIN + 1), def.max.min(i64::MAX - 1))
}

/// The number that comes next as far as this server knows.
fn next_number(info: &SequenceInfo) -> i64 {
    match info.last {
        Some(last) => last.saturating_add(info.def.increment),
        // Nobody has taken any since it was made or moved: the next one is the first of what is held or free.
        None => {
            let held = i128::from(info.unused) * i128::from(info.def.increment);
            let next = info.unreserved.map(|free| i128::from(free) - held);
            next.and_then(|next| i64::try_from(next).ok())
                .unwrap_or(info.def.start)
        }
    }
}
