//! Where a statement is MariaDB's, so is the answer: columns, types, rows, insert ids, errno, SQLSTATE and text, as text and
//! prepared, compared with a private MariaDB in the same test.
#![allow(clippy::unwrap_used)]

use mintage_e2e::sqlwire::face::Faces;
use mintage_e2e::sqlwire::mysql_wire::MysqlWire;
use mintage_e2e::sqlwire::originals;
use mintage_e2e::sqlwire::place::Place;
use mintage_e2e::sqlwire::statements::{Differ, sections};

/// The statements that are answered differently, and why.
const DIFFER: &[Differ] = &[
    Differ {
        why: "a table of tickets is a sequence: it has no rows that could be replaced, and its id is what a sequence gives",
        statements: &[
            "REPLACE INTO Tickets64 (stub) VALUES ('a')",
            "ALTER TABLE Tickets64 AUTO_INCREMENT = 5000",
            "CREATE TABLE Tickets64 (id int)",
            "SELECT id FROM Tickets64 WHERE stub = 'a'",
            "SELECT id, stub FROM Tickets64 WHERE stub = 'a'",
            "SELECT id FROM Tickets64",
        ],
    },
    Differ {
        why: "a definition is refused where MariaDB cannot read it, or takes what makes it run out",
        statements: &[
            "CREATE SEQUENCE e4 NOSUCH",
            "CREATE SEQUENCE e5 MAXVALUE 9223372036854775808",
            "ALTER SEQUENCE d8 MAXVALUE 5",
        ],
    },
    Differ {
        why: "connections share one stock: cache_size is 0, as with NOCACHE; the state of a sequence is signed",
        statements: &[
            "SELECT minimum_value, maximum_value, start_value, increment, cycle_option FROM d3",
            "SELECT 'hibernate_seq' AS sequence_name, minimum_value, maximum_value, start_value, increment, cache_size \
             FROM hibernate_seq",
            "SHOW CREATE SEQUENCE hibernate_seq",
        ],
    },
    Differ {
        why: "databases are accepted as given",
        statements: &["USE nosuch_database_that_is_nowhere"],
    },
    Differ {
        why: "variables have one type each, and MySQL 8's names too",
        statements: &[
            "SELECT @a",
            "SELECT @@transaction_isolation",
            "SELECT @@auto_increment_increment",
            "SELECT @@auto_increment_offset",
            "SELECT @@lower_case_table_names",
            "SELECT @@version_comment LIMIT 1",
        ],
    },
    Differ {
        why: "no warnings are kept: the list is always empty",
        statements: &["SHOW WARNINGS"],
    },
];

/// What is answered differently without a reason: nothing.
const TO_BE_MENDED: &[&str] = &[];

const STATEMENTS: &str = include_str!("../statements/mysql.sql");

/// A connection that is made again where the server ended it.
struct Session {
    place: Place,
    wire: MysqlWire,
}

impl Session {
    fn start(place: &Place) -> Session {
        let wire = MysqlWire::connect(place).unwrap();
        let place = place.clone();
        Session { place, wire }
    }

    /// All that the server answers: to the statement as text, and prepared where that changes little.
    fn answers(&mut self, text: &str) -> Vec<String> {
        let mut said = self.wire.query(text);
        let words = ["SELECT", "REPLACE"];
        let may_be_prepared = words
            .iter()
            .any(|word| text.to_ascii_uppercase().starts_with(word));
        if may_be_prepared && !text.contains(';') {
            said = said.and_then(|said| Ok([said, self.wire.prepared(text)?].concat()));
        }
        said.unwrap_or_else(|gone| {
            self.wire = MysqlWire::connect(&self.place).unwrap();
            vec![format!("the connection ended: {}", gone.kind())]
        })
    }
}

#[test]
#[ignore = "minutes: the originals"]
fn statements_are_answered_as_by_mariadb() {
    let Some((server, original)) = originals::mariadb() else {
        return;
    };
    server.admin("ids", "CREATE USER plain@'%'; GRANT ALL ON *.* TO plain@'%'");
    let folder = tempfile::tempdir().unwrap();
    let faces = Faces::run(folder.path(), &["mysql"], &[]);
    let account = |at| Place {
        at,
        user: "plain".into(),
        password: String::new(),
    };
    let (theirs, ours) = (account(original.at), account(faces.place("mysql").at));
    let answers = sections(STATEMENTS).flat_map(|section| {
        let (mut real, mut face) = (Session::start(&theirs), Session::start(&ours));
        section.into_iter().map(move |line| {
            let text = line.shown();
            let (theirs, ours) = (real.answers(&text), face.answers(&text));
            (text, theirs, ours)
        })
    });
    Differ::check(DIFFER, TO_BE_MENDED, answers);
}
