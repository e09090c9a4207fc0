//! Stock clients of MySQL and MariaDB, unmodified: each is first right against a private MariaDB, and then has the same from
//! the face.
#![allow(clippy::unwrap_used)]

use std::process::Command;

use mintage_e2e::run;
use mintage_e2e::sqlwire::clients::{self, Client, as_from_the_original};
use mintage_e2e::sqlwire::face::Faces;
use mintage_e2e::sqlwire::originals;
use mintage_e2e::sqlwire::place::Place;
use mintage_e2e::{binary, need};

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
    let printed = mariadb(place, &["-t", "-f", "-n", "-vv"], &read("mariadb.sql"));
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
    line.split_once(" (0.").map_or(line, |(before, _)| before)
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
