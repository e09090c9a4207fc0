//! What psql asks for its commands about sequences: told by what its questions hold, the same from version 14 to 18.

use crate::postgres::backend::Column;
use crate::postgres::plan::question::Asked;
use crate::postgres::types::Type;

/// What a question holds, and the columns of its answer.
type Known = (&'static [&'static str], &'static [(&'static str, Type)]);

/// What questions for relations of several kinds begin with, and what is behind their tables where sequences are among them.
const RELATIONS: [&str; 4] = [
    "SELECT n.nspname as \"Schema\", c.relname as \"Name\", CASE c.relkind",
    "as \"Type\"",
    "c.relkind IN (",
    "'S'",
];

const SCHEMA: (&str, Type) = ("Schema", Type::Name);
const NAME: (&str, Type) = ("Name", Type::Name);
const TYPE: (&str, Type) = ("Type", Type::Text);
const OWNER: (&str, Type) = ("Owner", Type::Name);
const PERSISTENCE: (&str, Type) = ("Persistence", Type::Text);
const SIZE: (&str, Type) = ("Size", Type::Text);
const DESCRIPTION: (&str, Type) = ("Description", Type::Text);

/// What psql's question holds, in order, where each is told from all others; and its columns.
const QUESTIONS: [Known; 8] = [
    (
        &[
            RELATIONS[0],
            RELATIONS[1],
            "as \"Owner\" FROM pg_catalog.pg_class c",
            RELATIONS[2],
            RELATIONS[3],
        ],
        &[SCHEMA, NAME, TYPE, OWNER],
    ),
    (
        &[
            RELATIONS[0],
            RELATIONS[1],
            "as \"Owner\", CASE c.relpersistence",
            "as \"Persistence\", pg_catalog.pg_size_pretty(",
            "as \"Description\" FROM pg_catalog.pg_class c",
            RELATIONS[2],
            RELATIONS[3],
        ],
        &[SCHEMA, NAME, TYPE, OWNER, PERSISTENCE, SIZE, DESCRIPTION],
    ),
    (
        &[
            RELATIONS[0],
            RELATIONS[1],
            "as \"Owner\", CASE c.relpersistence",
            "as \"Persistence\", am.amname as \"Access method\", pg_catalog.pg_size_pretty(",
            "as \"Description\" FROM pg_catalog.pg_class c",
            RELATIONS[2],
            RELATIONS[3],
        ],
        &[
            SCHEMA,
            NAME,
            TYPE,
            OWNER,
            PERSISTENCE,
            ("Access method", Type::Name),
            SIZE,
            DESCRIPTION,
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
        0..=2 => {
            let more = QUESTIONS[at].1.len() - QUESTIONS[0].1.len();
            Asked::Relations(pattern(&one_line, "c.relname OPERATOR(pg_catalog.~) '"), more)
        }
        3 => Asked::Named(pattern(&one_line, "c.relname OPERATOR(pg_catalog.~) '")),
        4 => Asked::Kind,
        5 => Asked::Sequence(pattern(&one_line, "seqrelid = '")?.parse().ok()?),
        6 => Asked::Schemas,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn psqls_questions_are_told_apart() {
        for (text, asked) in [
            (
                "SELECT n.nspname as \"Schema\",\n  c.relname as \"Name\",\n  CASE c.relkind WHEN 'r' THEN 'table' END as \"Type\",\n\
                   pg_catalog.pg_get_userbyid(c.relowner) as \"Owner\"\n\
                 FROM pg_catalog.pg_class c\nWHERE c.relkind IN ('S','')\nORDER BY 1,2",
                Asked::Relations(None, 0),
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
        // `\dp`, whose columns are others.
        let access = "SELECT n.nspname as \"Schema\",\n  c.relname as \"Name\",\n  CASE c.relkind WHEN 'r' THEN 'table' END as \"Type\",\n\
                      pg_catalog.array_to_string(c.relacl, E'\\n') AS \"Access privileges\"\n\
                      FROM pg_catalog.pg_class c\nWHERE c.relkind IN ('r','v','m','S','f','p')\nORDER BY 1, 2";
        assert_eq!(read(access), None);
    }
}
