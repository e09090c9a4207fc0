//! Stock clients of MySQL and MariaDB, unmodified: each is first right against a private MariaDB, and then has the same from
//! the face.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use mintage_e2e::run::{self, Said};
use mintage_e2e::sqlwire::clients::{self, Client, as_from_the_original};
use mintage_e2e::sqlwire::face::Faces;
use mintage_e2e::sqlwire::originals;
use mintage_e2e::sqlwire::place::Place;
use mintage_e2e::{binary, need};
use mintage_testing::Distinct;

/// What these clients are given, from MariaDB and from the face.
#[track_caller]
fn same_of_both(clients: Option<Vec<Client>>) {
    let Some(clients) = clients else { return };
    let Some((_server, original)) = originals::mariadb() else {
        return;
    };
    as_from_the_original(&original, "mysql", &["orders", "tickets"], &clients);
}

/// One of MariaDB's programs, at a place.
fn program(name: &str, place: &Place) -> Command {
    let mut command = Command::new(name);
    command
        .args([
            "--no-defaults",
            "-h",
            "127.0.0.1",
            "-P",
            &place.at.port().to_string(),
        ])
        .args(["-u", &place.user, &format!("-p{}", place.password)]);
    command
}

/// Runs statements by the stock client, and gives what it printed, errors where they happened.
fn mariadb(place: &Place, words: &[&str], input: &str) -> String {
    let client = program("mariadb", place);
    let mut both = Command::new("sh");
    both.args(["-c", "exec \"$@\" 2>&1", "sh", "mariadb"])
        .args(client.get_args())
        .args(["-D", "ids"])
        .args(words);
    run::with_input(both, input.as_bytes()).out
}

/// What the stock client prints of a long session, which a MariaDB was asked for.
fn session(place: &Place) {
    let read =
        |name: &str| std::fs::read_to_string(binary::root().join("e2e/clients/sql").join(name)).unwrap();
    let printed = mariadb(place, &["-B", "-f", "-n", "-vv"], &read("mariadb.sql"));
    let expected = read("mariadb.out");
    for (at, (line, wanted)) in printed.lines().zip(expected.lines()).enumerate() {
        assert_eq!(
            without_time(line),
            without_time(wanted),
            "line {} of\n{printed}",
            at + 1
        );
    }
    assert_eq!(printed.lines().count(), expected.lines().count(), "{printed}");
}

/// A line as it is however long the statement took.
fn without_time(line: &str) -> &str {
    match line.rsplit_once(" (") {
        Some((before, time)) if time.ends_with(" sec)") => before,
        _ => line,
    }
}

#[test]
fn the_stock_client_prints_what_it_prints_of_mariadb() {
    if !need::program("mariadb") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let faces = Faces::with_sequences(folder.path(), "mysql", &["orders", "tickets"]);
    session(&faces.place("mysql"));
}

#[test]
#[ignore = "minutes: the originals"]
fn the_stock_client_prints_that_of_mariadb() {
    let Some((_server, place)) = originals::mariadb() else {
        return;
    };
    session(&place);
}

#[test]
#[ignore = "minutes: many clients"]
fn drivers_of_python_have_numbers_as_from_mariadb() {
    same_of_both(clients::python(&[
        "pymysql_client.py",
        "mysqlclient_client.py",
        "mariadb_client.py",
        "mysql_connector_client.py",
        "aio_mysql.py",
    ]));
}

#[test]
#[ignore = "minutes: many clients"]
fn sqlalchemy_and_django_have_numbers_as_from_mariadb() {
    same_of_both(clients::python(&["sqlalchemy_mysql.py", "django_mysql.py"]));
}

#[test]
#[ignore = "minutes: many clients"]
fn drivers_of_node_have_numbers_as_from_mariadb() {
    same_of_both(clients::node(&[
        ("mysql_clients.cjs", "mysql2"),
        ("mysql_clients.cjs", "mysql"),
        ("mysql_clients.cjs", "mariadb"),
    ]));
}

#[test]
#[ignore = "minutes: many clients"]
fn jdbc_and_hikari_have_numbers_as_from_mariadb() {
    same_of_both(clients::java("JdbcMariadb.java"));
}

#[test]
#[ignore = "minutes: many clients"]
fn drivers_of_go_have_numbers_as_from_mariadb() {
    same_of_both(clients::go("mysql.go"));
}

#[test]
#[ignore = "minutes: a client that is compiled"]
fn mysql_async_has_numbers_as_from_mariadb() {
    same_of_both(clients::rust("mysql_async"));
}

#[test]
#[ignore = "minutes: many clients"]
fn php_has_numbers_as_from_mariadb() {
    same_of_both(clients::php("mysql.php"));
}

#[test]
#[ignore = "minutes: many clients"]
fn ruby_and_rails_have_numbers_as_from_mariadb() {
    same_of_both(clients::ruby(&["mysql.rb", "rails_mysql.rb"]));
}

#[test]
#[ignore = "minutes: many clients"]
fn perl_has_numbers_as_from_mariadb() {
    same_of_both(clients::perl("mysql.pl"));
}

#[test]
#[ignore = "minutes: many clients"]
fn odbc_has_numbers_as_from_mariadb() {
    same_of_both(clients::odbc("odbc_mysql.sh"));
}

#[test]
#[ignore = "minutes: many clients"]
fn mariadb_slap_and_admin_work_as_with_mariadb() {
    if !need::program("mariadb") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let faces = Faces::with_sequences(folder.path(), "mysql", &["orders", "tickets"]);
    let place = faces.place("mysql");
    let said = |command: &mut Command| Said::from(command.output().unwrap());
    for statement in [
        "REPLACE INTO tickets (stub) VALUES ('a')",
        "SELECT NEXTVAL(orders)",
    ] {
        let mut slap = program("mariadb-slap", &place);
        slap.args(["--create-schema=ids", "--no-drop", "--concurrency=4"])
            .args(["--number-of-queries=400", "--query", statement]);
        said(&mut slap).ok();
    }
    assert_eq!(
        mariadb(&place, &["-N", "-B"], "SELECT NEXTVAL(orders), NEXTVAL(tickets)"),
        "401\t401\n"
    );
    for word in ["ping", "status", "version"] {
        said(program("mariadb-admin", &place).arg(word)).ok();
    }
}

/// What a MariaDB holds whose numbers are to go on here.
const DUMPED: &str = "
    CREATE SEQUENCE seq_new NOCACHE;
    CREATE SEQUENCE seq_used NOCACHE; SELECT NEXTVAL(seq_used) FROM seq_1_to_41;
    CREATE SEQUENCE seq_moved START 10 NOCACHE; SELECT SETVAL(seq_moved, 5000);
    CREATE SEQUENCE seq_down START -5 INCREMENT -2 NOCACHE; SELECT NEXTVAL(seq_down);
    CREATE TABLE Tickets64 (
        `id` bigint(20) unsigned NOT NULL auto_increment, `stub` char(1) NOT NULL default '',
        PRIMARY KEY (`id`), UNIQUE KEY `stub` (`stub`)) ENGINE=MyISAM;
    INSERT INTO Tickets64 VALUES (72157623227190423, 'a');
    REPLACE INTO Tickets64 (stub) VALUES ('a');
";

#[test]
#[ignore = "minutes: the originals"]
fn a_dump_of_sequences_and_tickets_is_loaded_and_goes_on_where_they_were() {
    let Some((server, original)) = originals::mariadb() else {
        return;
    };
    server.admin("ids", DUMPED);
    let names = ["seq_new", "seq_used", "seq_moved", "seq_down"];
    let mut dump = program("mariadb-dump", &original);
    let dump = Said::from(dump.arg("ids").args(names).arg("Tickets64").output().unwrap()).ok();
    let folder = tempfile::tempdir().unwrap();
    let faces = Faces::run(folder.path(), &["mysql"], &[]);
    let place = faces.place("mysql");
    let said = mariadb(&place, &[], &dump);
    assert_eq!(said, "", "of\n{dump}");
    let next = |place: &Place, statement: &str| mariadb(place, &["-N", "-B"], statement);
    for name in names {
        let statement = format!("SELECT NEXTVAL({name})");
        assert_eq!(next(&place, &statement), next(&original, &statement), "{name}");
    }
    let ticket = "REPLACE INTO Tickets64 (stub) VALUES ('a'); SELECT LAST_INSERT_ID()";
    let ours = next(&place, ticket);
    assert_eq!(
        (ours.as_str(), ours == next(&original, ticket)),
        ("72157623227190425\n", true)
    );
}

/// Libraries that count in tables of their own are given each number once, while their server is killed. Each run is
/// what its client reckons out of one row.
#[test]
#[ignore = "minutes: many kills"]
fn libraries_that_count_in_tables_are_given_each_number_once_over_kills() {
    let Some(clients) = clients::java("LibraryTables.java") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let mut faces = Faces::run(folder.path(), &["mysql"], &[]);
    let mut child = clients[0]
        .command(&faces.place("mysql"))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut all: BTreeMap<String, Distinct<u64>> = BTreeMap::new();
    let (mut runs, mut is_done) = (0, false);
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let line = line.unwrap();
        let [name, first, last] = line.split(' ').collect::<Vec<_>>()[..] else {
            is_done = line == "ok";
            continue;
        };
        let distinct = all.entry(name.into()).or_insert_with(|| Distinct::of("numbers"));
        for number in first.parse::<u64>().unwrap()..=last.parse().unwrap() {
            distinct.add(number);
        }
        runs += 1;
        if runs % 200 == 0 {
            faces.kill_and_start();
        }
    }
    assert!(child.wait().unwrap().success() && is_done);
    let counts: Vec<_> = all.iter().map(|(name, all)| (name.as_str(), all.len())).collect();
    let (segments, tags) = (
        50..150,
        (0..100).map(|round| if round % 3 == 0 { 1000 } else { 500 + round }),
    );
    let expected = [
        ("cosid", 4 * segments.sum::<usize>()),
        ("leaf", 4 * tags.sum::<usize>()),
        ("machine", 4),
    ];
    assert_eq!((counts, runs), (expected.to_vec(), 4 * 201));
}
