//! Where a statement is MariaDB's, so is the answer: columns, types, rows, insert ids, errno, SQLSTATE and text, as text and
//! prepared, compared with a private MariaDB in the same test.
#![allow(clippy::unwrap_used)]

use mintage_e2e::sqlwire::face::Faces;
use mintage_e2e::sqlwire::mysql_wire::MysqlWire;
use mintage_e2e::sqlwire::originals;
use mintage_e2e::sqlwire::place::Place;
use mintage_e2e::sqlwire::statements::{Differ, sections};

/// The statements that are answered differently, and why.
const DIFFER: &[Differ] = &[];

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
    Differ::check(DIFFER, answers);
}
