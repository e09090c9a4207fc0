//! Where a statement is PostgreSQL's, so is the answer: columns, types, rows, tags, SQLSTATE and text, by both forms of
//! queries, compared with a private PostgreSQL in the same test.
#![allow(clippy::unwrap_used)]

use std::io;

use mintage_e2e::sqlwire::face::Faces;
use mintage_e2e::sqlwire::originals;
use mintage_e2e::sqlwire::place::Place;
use mintage_e2e::sqlwire::postgres_wire::{Form, PostgresWire};
use mintage_e2e::sqlwire::statements::{Differ, Line, sections};

/// The statements that are answered differently, and why.
const DIFFER: &[Differ] = &[
    Differ {
        why: "tables, serial, identity, OWNED BY a column, dependencies",
        statements: &[
            "SELECT 1 WHERE false",
            "SELECT",
            "CREATE SEQUENCE e19 OWNED BY nosuch.id",
            "LOCK TABLE o1",
            "VACUUM",
        ],
    },
    Differ {
        why: "roles and GRANT: rights come from tokens; COMMENT",
        statements: &[
            "GRANT SELECT ON SEQUENCE o1 TO PUBLIC",
            "COMMENT ON SEQUENCE o1 IS 'x'",
        ],
    },
    Differ {
        why: "everything else that PostgreSQL knows is 0A000: PREPARE as a statement, LISTEN",
        statements: &[
            "PREPARE x AS SELECT nextval('o1')",
            "EXECUTE x",
            "DEALLOCATE x",
            "EXECUTE nosuch",
            "LISTEN a",
        ],
    },
    Differ {
        why: "a name that is a parameter is text, and looked up when it is used; generate_series is of int4",
        statements: &[
            "$ SELECT nextval($1) | nosuch",
            "$ SELECT nextval('known') FROM generate_series($1, $2) | 1 | 2",
        ],
    },
    Differ {
        why: "catalogues have our types: a regtype is text, and no column has a modifier",
        statements: &[
            "SELECT schemaname, sequencename, data_type, start_value, min_value, max_value, increment_by, cycle, \
             cache_size, last_value FROM pg_sequences WHERE sequencename = 'k1'",
            "SELECT start_value, minimum_value, maximum_value, increment, cycle_option FROM \
             information_schema.sequences WHERE sequence_name = 'k1'",
        ],
    },
];

/// What is answered differently without a reason.
const TO_BE_MENDED: &[&str] = &[];

const STATEMENTS: &str = include_str!("../statements/postgres.sql");

/// A connection that is made again where the server ended it.
struct Session {
    place: Place,
    wire: PostgresWire,
}

impl Session {
    fn start(place: &Place) -> Session {
        let wire = PostgresWire::connect(place).unwrap();
        let place = place.clone();
        Session { place, wire }
    }

    /// All that the server answers to a line.
    fn answers(&mut self, line: &Line) -> Vec<String> {
        let said = self.ask(line).unwrap_or_else(|gone| {
            self.wire = PostgresWire::connect(&self.place).unwrap();
            vec![format!("the connection ended: {}", gone.kind())]
        });
        // A name is a regclass there and text here: a client that binds a text works with both.
        let one_type = |line: &String| line.replace("parameters 2205", "parameters 25");
        said.iter().map(one_type).collect()
    }

    /// As a simple query, and what only reads numbers by the extended protocol too.
    fn ask(&mut self, line: &Line) -> io::Result<Vec<String>> {
        let mut said = Vec::new();
        let (text, parameters) = match line {
            Line::Bound(text, parameters) => (text, parameters.as_slice()),
            Line::Message(text) => {
                said.extend(self.wire.query(text)?);
                if !text.to_ascii_uppercase().starts_with("SELECT") || text.contains(';') {
                    return Ok(said);
                }
                (text, [].as_slice())
            }
        };
        let parameters: Vec<&str> = parameters.iter().map(String::as_str).collect();
        for form in [Form::Text, Form::Binary] {
            said.extend(self.wire.extended(text, &parameters, form)?);
        }
        Ok(said)
    }
}

#[test]
#[ignore = "minutes: the originals"]
fn statements_are_answered_as_by_postgresql() {
    let Some((_server, original)) = originals::postgres() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let faces = Faces::run(folder.path(), &["postgres"], &[]);
    // The account that needs no password there.
    let account = |at| Place {
        at,
        user: "postgres".into(),
        password: String::new(),
    };
    let (theirs, ours) = (account(original.at), account(faces.place("postgres").at));
    let answers = sections(STATEMENTS).flat_map(|section| {
        let (mut real, mut face) = (Session::start(&theirs), Session::start(&ours));
        section.into_iter().map(move |line| {
            let (theirs, ours) = (real.answers(&line), face.answers(&line));
            (line.shown(), theirs, ours)
        })
    });
    Differ::check(DIFFER, TO_BE_MENDED, answers);
}
