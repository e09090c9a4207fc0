//! Questions to catalogues, as they were read.

use super::Expr;
use crate::postgres::types::{Type, Value};
use crate::sql::names::SqlName;
use mintage_server::chassis::glob;

/// A question to a catalogue.
#[derive(Debug)]
pub(in crate::postgres) enum Query {
    Tables(Question),
    Psql(Asked),
    /// What is asked for, for the log.
    Unknown(Box<str>),
}

/// A SELECT of tables that are answered truly.
#[derive(Debug)]
pub(in crate::postgres) struct Question {
    pub(in crate::postgres) table: Table,
    /// The sequence that a function in FROM is about.
    pub(in crate::postgres) about: Option<Expr>,
    /// What is joined to the table, whose columns are behind its own.
    pub(in crate::postgres) beside: Option<Beside>,
    pub(in crate::postgres) picks: Vec<Pick>,
    pub(in crate::postgres) conditions: Vec<Condition>,
    /// Columns of the result, and whether they descend.
    pub(in crate::postgres) order: Vec<(usize, bool)>,
    pub(in crate::postgres) limit: Option<Expr>,
}

/// A column of the result.
#[derive(Debug)]
pub(in crate::postgres) enum Pick {
    Column(usize),
    Value(Expr),
    Count,
}

/// What a table can be joined to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::postgres) enum Beside {
    /// `pg_namespace`, to `pg_class`.
    Namespace,
    /// `pg_range`, to `pg_type`: there is none.
    Range,
    /// `pg_proc`, to `pg_type`: the function that reads its texts.
    Input,
}

/// A column is one of these values, or fits a pattern; or not.
#[derive(Debug)]
pub(in crate::postgres) struct Condition {
    pub(in crate::postgres) column: usize,
    pub(in crate::postgres) is: bool,
    pub(in crate::postgres) like: bool,
    pub(in crate::postgres) values: Vec<Expr>,
}

impl Condition {
    pub(in crate::postgres) fn holds(&self, value: &Value, values: &[Value]) -> bool {
        let texts: Vec<String> = values.iter().filter_map(Value::shown).collect();
        value
            .shown()
            .is_some_and(|value| holds(self.is, self.like, &value, &texts))
    }
}

/// Whether a text is one of these, or is like one of them; or not.
pub(in crate::postgres) fn holds(is: bool, like: bool, text: &str, others: &[String]) -> bool {
    let fits = |other: &String| match like {
        true => glob::matches(&pattern_of(other), text.as_bytes()),
        false => other == text,
    };
    others.iter().any(fits) == is
}

/// A pattern of LIKE as one of globs.
fn pattern_of(like: &str) -> Vec<u8> {
    let mut pattern = Vec::with_capacity(like.len());
    let mut bytes = like.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'%' => pattern.push(b'*'),
            b'_' => pattern.push(b'?'),
            b'\\' => {
                pattern.push(b'\\');
                pattern.push(bytes.next().unwrap_or(b'\\'));
            }
            b'*' | b'?' | b'[' | b']' | b'^' => pattern.extend([b'\\', byte]),
            other => pattern.push(other),
        }
    }
    pattern
}

/// A question of psql's.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::postgres) enum Asked {
    /// `\ds`, `\d`: the relations whose names fit, and how many columns there are beside the usual four.
    Relations(Option<Box<str>>, usize),
    /// `\d NAME`, first: which relations there are of this name.
    Named(Option<Box<str>>),
    /// Second: what kind the one of this oid is.
    Kind,
    /// Third: what the sequence of this oid is.
    Sequence(i64),
    /// `\dn`.
    Schemas,
    /// `\l`.
    Databases,
}

/// A table of a catalogue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::postgres) enum Table {
    Sequences,
    InformationSequences,
    Class,
    Sequence,
    Namespace,
    Types,
    Database,
    Settings,
    Parameters,
}

type Columns = &'static [(&'static str, Type)];

impl Table {
    /// The table of this name, with its schema if one was given.
    pub(in crate::postgres) fn of_name(name: &SqlName) -> Option<Table> {
        Some(match (name.schema.as_deref(), name.name.as_str()) {
            (Some("information_schema"), "sequences") => Table::InformationSequences,
            (None | Some("pg_catalog"), name) => match name {
                "pg_sequences" => Table::Sequences,
                "pg_sequence" => Table::Sequence,
                "pg_class" => Table::Class,
                "pg_namespace" => Table::Namespace,
                "pg_type" => Table::Types,
                "pg_database" => Table::Database,
                "pg_settings" => Table::Settings,
                "pg_sequence_parameters" => Table::Parameters,
                _ => return None,
            },
            _ => return None,
        })
    }

    pub(in crate::postgres) fn columns(self) -> Columns {
        match self {
            Table::Sequences => &[
                ("schemaname", Type::Name),
                ("sequencename", Type::Name),
                ("sequenceowner", Type::Name),
                ("data_type", Type::Text),
                ("start_value", Type::Int8),
                ("min_value", Type::Int8),
                ("max_value", Type::Int8),
                ("increment_by", Type::Int8),
                ("cycle", Type::Bool),
                ("cache_size", Type::Int8),
                ("last_value", Type::Int8),
            ],
            Table::InformationSequences => &[
                ("sequence_catalog", Type::Name),
                ("sequence_schema", Type::Name),
                ("sequence_name", Type::Name),
                ("data_type", Type::Varchar),
                ("numeric_precision", Type::Int4),
                ("numeric_precision_radix", Type::Int4),
                ("numeric_scale", Type::Int4),
                ("start_value", Type::Varchar),
                ("minimum_value", Type::Varchar),
                ("maximum_value", Type::Varchar),
                ("increment", Type::Varchar),
                ("cycle_option", Type::Varchar),
            ],
            Table::Class => &[
                ("oid", Type::Oid),
                ("relname", Type::Name),
                ("relnamespace", Type::Oid),
                ("relowner", Type::Oid),
                ("relkind", Type::Char),
                ("relpersistence", Type::Char),
                ("relispartition", Type::Bool),
            ],
            Table::Sequence => &[
                ("seqrelid", Type::Oid),
                ("seqtypid", Type::Oid),
                ("seqstart", Type::Int8),
                ("seqincrement", Type::Int8),
                ("seqmax", Type::Int8),
                ("seqmin", Type::Int8),
                ("seqcache", Type::Int8),
                ("seqcycle", Type::Bool),
            ],
            Table::Namespace => &[
                ("oid", Type::Oid),
                ("nspname", Type::Name),
                ("nspowner", Type::Oid),
            ],
            Table::Types => &[
                ("oid", Type::Oid),
                ("typname", Type::Name),
                ("typnamespace", Type::Oid),
                ("typlen", Type::Int2),
                ("typbyval", Type::Bool),
                ("typtype", Type::Char),
                ("typcategory", Type::Char),
                ("typdelim", Type::Char),
                ("typrelid", Type::Oid),
                ("typelem", Type::Oid),
                ("typarray", Type::Oid),
                ("typinput", Type::Text),
                ("typbasetype", Type::Oid),
                ("typnotnull", Type::Bool),
            ],
            Table::Database => &[
                ("oid", Type::Oid),
                ("datname", Type::Name),
                ("encoding", Type::Int4),
            ],
            Table::Settings => &[("name", Type::Text), ("setting", Type::Text)],
            Table::Parameters => &[
                ("start_value", Type::Int8),
                ("minimum_value", Type::Int8),
                ("maximum_value", Type::Int8),
                ("increment", Type::Int8),
                ("cycle_option", Type::Bool),
                ("cache_size", Type::Int8),
                ("data_type", Type::Oid),
            ],
        }
    }

    /// The columns that name a sequence, and its schema.
    pub(in crate::postgres) fn naming(self) -> Option<(&'static str, &'static str)> {
        match self {
            Table::Sequences => Some(("sequencename", "schemaname")),
            Table::InformationSequences => Some(("sequence_name", "sequence_schema")),
            Table::Class => Some(("relname", "nspname")),
            _ => None,
        }
    }
}
