//! What psql asks for its commands about sequences: told by what its questions hold, the same from version 14 to 18.

use super::tables::{oid_of, parted};
use crate::faces::postgres::backend::Column;
use crate::faces::postgres::errors::Result;
use crate::faces::postgres::execute::Client;
use crate::faces::postgres::plan::{IntegerKind, OWN_SCHEMA};
use crate::faces::postgres::types::{Type, Value};
use crate::glob;

/// A question of psql's.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::faces::postgres) enum Asked {
    /// `\ds`, `\d`: the relations whose names fit.
    Relations(Option<Box<str>>),
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

/// What a question holds, and the columns of its answer.
type Known = (&'static [&'static str], &'static [(&'static str, Type)]);

/// What psql's question holds, in order, where each is told from all others; and its columns.
const QUESTIONS: [Known; 6] = [
    (
        &[
            "SELECT n.nspname as \"Schema\"",
            "c.relname as \"Name\"",
            "FROM pg_catalog.pg_class c",
            "c.relkind IN (",
            "'S'",
        ],
        &[
            ("Schema", Type::Name),
            ("Name", Type::Name),
            ("Type", Type::Text),
            ("Owner", Type::Name),
        ],
    ),
    (
        &[
            "SELECT c.oid,",
            "n.nspname,",
            "c.relname",
            "FROM pg_catalog.pg_class c",
            "ORDER BY 2, 3",
        ],
        &[
            ("oid", Type::Oid),
            ("nspname", Type::Name),
            ("relname", Type::Name),
        ],
    ),
    (
        &[
            "SELECT c.relchecks, c.relkind,",
            "FROM pg_catalog.pg_class c",
            "WHERE c.oid = '",
        ],
        &[
            ("relchecks", Type::Int2),
            ("relkind", Type::Char),
            ("relhasindex", Type::Bool),
            ("relhasrules", Type::Bool),
            ("relhastriggers", Type::Bool),
            ("relrowsecurity", Type::Bool),
            ("relforcerowsecurity", Type::Bool),
            ("relhasoids", Type::Bool),
            ("relispartition", Type::Bool),
            ("?column?", Type::Text),
            ("reltablespace", Type::Oid),
            ("reloftype", Type::Text),
            ("relpersistence", Type::Char),
            ("relreplident", Type::Char),
            ("amname", Type::Name),
        ],
    ),
    (
        &[
            "SELECT pg_catalog.format_type(seqtypid, NULL) AS \"Type\"",
            "FROM pg_catalog.pg_sequence",
            "WHERE seqrelid = '",
        ],
        &[
            ("Type", Type::Text),
            ("Start", Type::Int8),
            ("Minimum", Type::Int8),
            ("Maximum", Type::Int8),
            ("Increment", Type::Int8),
            ("Cycles?", Type::Text),
            ("Cache", Type::Int8),
        ],
    ),
    (
        &["SELECT n.nspname AS \"Name\"", "FROM pg_catalog.pg_namespace n"],
        &[("Name", Type::Name), ("Owner", Type::Name)],
    ),
    (
        &["as \"Name\"", "as \"Owner\"", "FROM pg_catalog.pg_database d"],
        &[("Name", Type::Name), ("Owner", Type::Name)],
    ),
];

/// What a text of psql's asks for, and its columns; `None`: it is another.
pub(super) fn read(text: &str) -> Option<(Asked, Vec<Column>)> {
    let one_line = text.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
    let holds = |(parts, _): &Known| {
        let mut rest = one_line.as_str();
        parts.iter().all(|part| match rest.find(part) {
            Some(at) => {
                rest = &rest[at + part.len()..];
                true
            }
            None => false,
        })
    };
    let at = QUESTIONS.iter().position(holds)?;
    let asked = match at {
        0 => Asked::Relations(pattern(&one_line, "c.relname OPERATOR(pg_catalog.~) '")),
        1 => Asked::Named(pattern(&one_line, "c.relname OPERATOR(pg_catalog.~) '")),
        2 => Asked::Kind,
        3 => Asked::Sequence(pattern(&one_line, "seqrelid = '")?.parse().ok()?),
        4 => Asked::Schemas,
        _ => Asked::Databases,
    };
    let columns = QUESTIONS[at]
        .1
        .iter()
        .map(|(name, kind)| Column::new(*name, *kind));
    Some((asked, columns.collect()))
}

/// What is between these words and the next quote.
fn pattern(text: &str, before: &str) -> Option<Box<str>> {
    let (_, rest) = text.split_once(before)?;
    Some(rest.split('\'').next().unwrap_or_default().into())
}

/// Whether a name fits what psql makes of a pattern: `^(orders.*)$`.
fn fits(pattern: Option<&str>, name: &str) -> bool {
    let Some(pattern) = pattern else { return true };
    let inner = pattern
        .strip_prefix("^(")
        .and_then(|rest| rest.strip_suffix(")$"));
    let as_glob = inner
        .unwrap_or(pattern)
        .replace("[.]", "\u{1}")
        .replace(".*", "*")
        .replace('.', "?");
    glob::matches(as_glob.replace('\u{1}', ".").as_bytes(), name.as_bytes())
}

impl Client {
    pub(super) async fn answer_psql(&mut self, asked: &Asked) -> Result<Vec<Vec<Value>>> {
        let owner = Value::Text(self.session.facts.user.clone());
        Ok(match asked {
            Asked::Relations(pattern) => {
                let keys = self.config.faces.postgres.keys.clone();
                let all = self.sequences(None).await?;
                let pairs = all.iter().map(|info| parted(&info.name, &keys));
                let fitting = pairs.filter(|(_, name)| fits(pattern.as_deref(), name));
                let row = |(schema, name): (&str, &str)| {
                    vec![
                        Value::text(schema),
                        Value::text(name),
                        Value::text("sequence"),
                        owner.clone(),
                    ]
                };
                fitting.map(row).collect()
            }
            Asked::Named(pattern) => {
                let keys = self.config.faces.postgres.keys.clone();
                let all = self.sequences(None).await?;
                let fitting = all
                    .iter()
                    .filter(|info| fits(pattern.as_deref(), parted(&info.name, &keys).1));
                let row = |info: &mintage_ledger::SequenceInfo| {
                    let (schema, name) = parted(&info.name, &keys);
                    vec![
                        Value::Int(oid_of(info.name.as_str())),
                        Value::text(schema),
                        Value::text(name),
                    ]
                };
                fitting.map(row).collect()
            }
            Asked::Kind => {
                let mut row = vec![Value::Int(0), Value::text("S")];
                row.extend(vec![Value::Bool(false); 7]);
                row.extend([
                    Value::text(""),
                    Value::Int(0),
                    Value::text(""),
                    Value::text("p"),
                    Value::text("n"),
                    Value::Null,
                ]);
                vec![row]
            }
            Asked::Sequence(oid) => {
                let all = self.sequences(None).await?;
                let found = all.iter().find(|info| oid_of(info.name.as_str()) == *oid);
                let row = |info: &mintage_ledger::SequenceInfo| {
                    let def = &info.def;
                    vec![
                        Value::text(IntegerKind::of_bounds(def.min, def.max).title()),
                        Value::Int(def.start),
                        Value::Int(def.min),
                        Value::Int(def.max),
                        Value::Int(def.increment),
                        Value::text(if def.cycle { "yes" } else { "no" }),
                        Value::Int(1),
                    ]
                };
                found.map(row).into_iter().collect()
            }
            Asked::Schemas => vec![vec![Value::text(OWN_SCHEMA), owner]],
            Asked::Databases => vec![vec![Value::Text(self.session.database.clone()), owner]],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn psqls_questions_are_told_apart() {
        for (text, asked) in [
            (
                "SELECT n.nspname as \"Schema\",\n  c.relname as \"Name\",\n  CASE c.relkind WHEN 'r' THEN 'table' END as \"Type\"\n\
                 FROM pg_catalog.pg_class c\nWHERE c.relkind IN ('S','')\nORDER BY 1,2",
                Asked::Relations(None),
            ),
            (
                "SELECT c.oid,\n  n.nspname,\n  c.relname\nFROM pg_catalog.pg_class c\n\
                 WHERE c.relname OPERATOR(pg_catalog.~) '^(orders)$' COLLATE pg_catalog.default\nORDER BY 2, 3",
                Asked::Named(Some("^(orders)$".into())),
            ),
            (
                "SELECT pg_catalog.format_type(seqtypid, NULL) AS \"Type\"\nFROM pg_catalog.pg_sequence\nWHERE seqrelid = '16400'",
                Asked::Sequence(16400),
            ),
        ] {
            assert_eq!(read(text).map(|(asked, _)| asked), Some(asked), "{text}");
        }
        assert_eq!(read("SELECT 1 FROM pg_catalog.pg_class"), None);
        assert!(fits(Some("^(ord.*)$"), "orders") && fits(None, "x"));
        assert!(!fits(Some("^(ord)$"), "orders"));
    }
}
