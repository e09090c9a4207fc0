//! Stock clients of PostgreSQL, unmodified: each is first right against a private PostgreSQL, and then has the same from the
//! face.
#![allow(clippy::unwrap_used)]

use std::process::Command;

use mintage_e2e::engine::pgbouncer::Pgbouncer;
use mintage_e2e::engine::postgres::Postgres;
use mintage_e2e::run::Said;
use mintage_e2e::sqlwire::clients::{self, Client, as_from_the_original};
use mintage_e2e::sqlwire::face::Faces;
use mintage_e2e::sqlwire::originals;
use mintage_e2e::sqlwire::place::Place;
use mintage_e2e::{binary, need, run};

/// What these clients are given, from PostgreSQL and from the face.
#[track_caller]
fn same_of_both(clients: Option<Vec<Client>>) {
    let Some(clients) = clients else { return };
    let Some((_server, original)) = originals::postgres() else {
        return;
    };
    as_from_the_original(&original, "postgres", &["orders"], &clients);
}

/// A face with sequence `orders`, in a folder.
fn face(folder: &tempfile::TempDir) -> Faces {
    Faces::with_sequences(folder.path(), "postgres", &["orders"])
}

/// One of PostgreSQL's programs, at a place.
fn program(name: &str, place: &Place) -> Command {
    let mut command = Command::new(name);
    command
        .args(["-h", "127.0.0.1", "-U", &place.user])
        .args(["-p", &place.at.port().to_string()])
        .env("PGPASSWORD", &place.password)
        .env("PGDATABASE", "ids");
    command
}

/// Runs statements by psql, and gives what it printed, errors where they happened.
fn psql(place: &Place, words: &[&str], input: &str) -> String {
    let mut psql = program("psql", place);
    psql.arg("-X").args(words);
    let mut both = Command::new("sh");
    both.args(["-c", "exec \"$@\" 2>&1", "sh"])
        .arg(psql.get_program());
    both.args(psql.get_args());
    for (name, value) in psql.get_envs() {
        both.env(name, value.unwrap_or_default());
    }
    run::with_input(both, input.as_bytes()).out
}

/// The numbers that one statement gives.
#[track_caller]
fn numbers(place: &Place, statement: &str) -> Vec<i64> {
    let said = psql(place, &["-A", "-t", "-q"], statement);
    let number = |line: &str| line.parse().unwrap_or_else(|_| panic!("{said}"));
    said.lines().map(number).collect()
}

/// What psql prints of a long session, which a PostgreSQL was asked for.
fn psql_session(place: &Place) {
    let read =
        |name: &str| std::fs::read_to_string(binary::root().join("e2e/clients/sql").join(name)).unwrap();
    let printed = psql(place, &[], &read("psql.sql"));
    let expected = read("psql.out");
    for (at, (line, wanted)) in printed.lines().zip(expected.lines()).enumerate() {
        assert_eq!(line, wanted, "line {} of\n{printed}", at + 1);
    }
    assert_eq!(printed.lines().count(), expected.lines().count(), "{printed}");
}

#[test]
fn stock_psql_prints_what_it_prints_of_postgresql() {
    if !need::program("psql") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let faces = Faces::with_sequences(folder.path(), "postgres", &["orders", "later"]);
    psql_session(&faces.place("postgres"));
}

#[test]
#[ignore = "minutes: the originals"]
fn psql_prints_that_of_postgresql() {
    if !need::program("psql") {
        return;
    }
    let Some((server, place)) = originals::postgres() else {
        return;
    };
    server.admin("ids", "SET ROLE app; CREATE SEQUENCE later");
    psql_session(&place);
}

#[test]
#[ignore = "minutes: many clients"]
fn drivers_of_python_have_numbers_as_from_postgresql() {
    same_of_both(clients::python(&[
        "psycopg2_client.py",
        "psycopg_client.py",
        "asyncpg_client.py",
        "pg8000_client.py",
    ]));
}

#[test]
#[ignore = "minutes: many clients"]
fn sqlalchemy_and_django_have_numbers_as_from_postgresql() {
    same_of_both(clients::python(&[
        "sqlalchemy_postgres.py",
        "django_postgres.py psycopg",
        "django_postgres.py psycopg2",
    ]));
}

#[test]
#[ignore = "minutes: many clients"]
fn drivers_of_node_have_numbers_as_from_postgresql() {
    same_of_both(clients::node(&[
        ("pg_client.cjs", "pg"),
        ("postgres_client.cjs", "postgres"),
    ]));
}

#[test]
#[ignore = "minutes: many clients"]
fn jdbc_and_hikari_have_numbers_as_from_postgresql() {
    same_of_both(clients::java("JdbcPostgres.java"));
}

#[test]
#[ignore = "minutes: many clients"]
fn drivers_of_go_have_numbers_as_from_postgresql() {
    same_of_both(clients::go("postgres.go"));
}

#[test]
#[ignore = "minutes: a client that is compiled"]
fn diesel_has_numbers_as_from_postgresql() {
    same_of_both(clients::rust("diesel"));
}

#[test]
#[ignore = "minutes: many clients"]
fn php_has_numbers_as_from_postgresql() {
    same_of_both(clients::php("postgres.php"));
}

#[test]
#[ignore = "minutes: many clients"]
fn ruby_and_rails_have_numbers_as_from_postgresql() {
    same_of_both(clients::ruby(&["postgres.rb", "rails_postgres.rb"]));
}

#[test]
#[ignore = "minutes: many clients"]
fn ruby_casts_numbers_by_the_catalogues_of_postgresql() {
    same_of_both(clients::ruby(&["postgres_types.rb"]));
}

#[test]
#[ignore = "minutes: many clients"]
fn perl_has_numbers_as_from_postgresql() {
    same_of_both(clients::perl("postgres.pl"));
}

#[test]
#[ignore = "minutes: many clients"]
fn odbc_has_numbers_as_from_postgresql() {
    same_of_both(clients::odbc("odbc_postgres.sh"));
}

/// So many transactions of pgbench, none of which failed; whether each has taken one number is seen from the next.
#[track_caller]
fn pgbench(place: &Place, mode: &str, script: &str, transactions: u32) {
    let mut command = program("pgbench", place);
    command
        .args(["-n", "-c", "4", "-j", "2", "-M", mode, "-f", script])
        .args(["-t", &(transactions / 4).to_string(), "ids"]);
    let said = Said::from(command.output().unwrap());
    let of_all = format!("{transactions}/{transactions}");
    assert!(said.out.contains(&of_all), "{mode}: {said:?}");
    assert!(said.out.contains("failed transactions: 0 "), "{mode}: {said:?}");
}

/// Each protocol that it knows, and sixteen statements in a pipeline.
#[track_caller]
fn all_modes_of_pgbench(place: &Place) {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let file = folder.path().join(name);
        std::fs::write(&file, text).unwrap();
        file.display().to_string()
    };
    let next = "SELECT nextval('orders');\n";
    let plain = write("plain", next);
    let block = write("block", &format!("BEGIN;\n{next}END;\n"));
    let piped = write(
        "piped",
        &format!("\\startpipeline\n{}\\endpipeline\n", next.repeat(16)),
    );
    let mut taken = 0;
    for mode in ["simple", "extended", "prepared"] {
        pgbench(place, mode, &plain, 400);
        pgbench(place, mode, &block, 40);
        taken += 440;
        if mode != "simple" {
            pgbench(place, mode, &piped, 40);
            taken += 40 * 16;
        }
    }
    assert_eq!(numbers(place, "SELECT nextval('orders')"), [taken + 1]);
}

#[test]
#[ignore = "minutes: many clients"]
fn each_mode_of_pgbench_takes_as_many_numbers_as_of_postgresql() {
    if !need::program("pgbench") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    all_modes_of_pgbench(&face(&folder).place("postgres"));
    if let Some((_server, original)) = originals::postgres() {
        all_modes_of_pgbench(&original);
    }
}

#[test]
#[ignore = "minutes: many clients"]
fn pgbouncer_pools_connections_in_each_of_its_modes() {
    if !need::program("pgbench") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let next = folder.path().join("next");
    std::fs::write(&next, "SELECT nextval('orders');\n").unwrap();
    let next = next.display().to_string();
    let faces = face(&folder);
    let mut last = 0;
    for mode in ["session", "transaction", "statement"] {
        let Some(pooler) = Pgbouncer::before(faces.place("postgres").at, mode) else {
            return;
        };
        let place = Place::of_app(pooler.address());
        // The pooler knows no prepared statements in the last two.
        let ways: &[&str] = match mode {
            "session" => &["simple", "extended", "prepared"],
            _ => &["simple", "extended"],
        };
        for way in ways {
            pgbench(&place, way, &next, 400);
            last += 400;
        }
        // One connection after another, each with a name: what the pooler sets again, and how it resets.
        for _ in 0..3 {
            assert_eq!(numbers(&place, "SELECT nextval('orders')"), [last + 1]);
            last += 1;
        }
        let refused = psql(&place, &["-c", "SELECT nextval('nosuch')"], "");
        assert!(
            refused.contains("relation \"nosuch\" does not exist"),
            "{refused}"
        );
        if mode != "statement" {
            let block = "BEGIN; SELECT nextval('orders'); ROLLBACK; SELECT nextval('orders')";
            assert_eq!(numbers(&place, block), [last + 1, last + 2]);
            last += 2;
        }
    }
}

#[test]
#[ignore = "minutes: many clients"]
fn drivers_of_python_work_through_pgbouncer() {
    let scripts = ["psycopg2_client.py", "asyncpg_client.py", "pg8000_client.py"];
    let Some(clients) = clients::python(&scripts) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let faces = face(&folder);
    let Some(pooler) = Pgbouncer::before(faces.place("postgres").at, "session") else {
        return;
    };
    let mut numbers = mintage_e2e::sqlwire::numbers::Numbers::default();
    for client in clients {
        numbers
            .add(&client.run(&Place::of_app(pooler.address())).ok())
            .unwrap();
    }
}

/// What a PostgreSQL must be told so that its tables have ids from elsewhere.
fn foreign(place: &Place, catalog: &str) -> String {
    let (port, user, password) = (place.at.port(), &place.user, &place.password);
    format!(
        "CREATE EXTENSION postgres_fdw; CREATE EXTENSION dblink;
         CREATE SERVER mint FOREIGN DATA WRAPPER postgres_fdw
             OPTIONS (host '127.0.0.1', port '{port}', dbname '{catalog}');
         CREATE USER MAPPING FOR CURRENT_USER SERVER mint OPTIONS (user '{user}', password '{password}');
         CREATE FOREIGN TABLE next_orders (id bigint) SERVER mint OPTIONS (schema_name 'next', table_name 'orders');
         CREATE FUNCTION next_order() RETURNS bigint LANGUAGE sql VOLATILE AS 'SELECT id FROM next_orders';
         CREATE TABLE sales (id bigint PRIMARY KEY DEFAULT next_order(), what text);
         CREATE FUNCTION next_by_dblink() RETURNS bigint LANGUAGE sql VOLATILE AS $$
             SELECT id FROM dblink('host=127.0.0.1 port={port} user={user} password={password} dbname={catalog}',
                                   'SELECT nextval(''orders'')') AS answer(id bigint) $$;
         CREATE TABLE returns (id bigint PRIMARY KEY DEFAULT next_by_dblink(), what text);"
    )
}

/// Rows whose ids come from the sequence of another server: each once, in order.
#[track_caller]
fn foreign_defaults(server: &Postgres, place: &Place) {
    server.admin("postgres", &foreign(place, "ids"));
    let rows = |statement: &str| server.admin("postgres", statement).trim().replace('\n', " ");
    assert_eq!(
        rows("INSERT INTO sales (what) VALUES ('a'), ('b'), ('c') RETURNING id"),
        "1 2 3"
    );
    assert_eq!(
        rows("INSERT INTO returns (what) VALUES ('a'), ('b') RETURNING id"),
        "4 5"
    );
    // A number that was taken before a rollback does not come again.
    rows("BEGIN; INSERT INTO sales (what) VALUES ('d'); ROLLBACK");
    assert_eq!(rows("INSERT INTO sales (what) VALUES ('e') RETURNING id"), "7");
    assert_eq!(
        rows("INSERT INTO sales (what) SELECT 'f' FROM generate_series(1, 3) RETURNING id"),
        "8 9 10"
    );
    assert_eq!(rows("SELECT id FROM next_orders LIMIT 1"), "11");
    assert_eq!(rows("SELECT id FROM next_orders"), "12");
}

#[test]
#[ignore = "minutes: many clients"]
fn tables_of_a_postgresql_have_ids_by_postgres_fdw_and_dblink() {
    let Some((server, original)) = originals::postgres() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    foreign_defaults(&server, &face(&folder).place("postgres"));
    // The same of PostgreSQL itself.
    server.admin("postgres", "DROP EXTENSION postgres_fdw CASCADE; DROP EXTENSION dblink CASCADE; DROP TABLE sales, returns; DROP FUNCTION next_order, next_by_dblink");
    server.admin(
        "ids",
        "CREATE SCHEMA next; CREATE VIEW next.orders AS SELECT nextval('public.orders') AS id",
    );
    foreign_defaults(&server, &original);
}

/// Sequences in every state that a dump tells, and what gives the next number of each.
const DUMPED: &str = "
    CREATE SEQUENCE seq_new;
    CREATE SEQUENCE seq_used; SELECT nextval('seq_used') FROM generate_series(1, 41);
    CREATE SEQUENCE seq_moved START 10; SELECT setval('seq_moved', 5000);
    CREATE SEQUENCE seq_before START 10; SELECT setval('seq_before', 70, false);
    CREATE SEQUENCE seq_down INCREMENT -2 MAXVALUE 100 MINVALUE -100 START 100; SELECT nextval('seq_down');
    CREATE SEQUENCE seq_small AS smallint; SELECT setval('seq_small', 32766);
    CREATE SEQUENCE seq_round MINVALUE 5 MAXVALUE 7 CYCLE; SELECT setval('seq_round', 6);
    CREATE SEQUENCE seq_top; SELECT setval('seq_top', 9223372036854775806);
    CREATE SEQUENCE seq_cached CACHE 20; SELECT nextval('seq_cached');
    CREATE SEQUENCE \"seq Quoted\"; SELECT setval('\"seq Quoted\"', 8);
";

#[test]
#[ignore = "minutes: the originals"]
fn a_dump_of_sequences_is_loaded_and_goes_on_where_they_were() {
    if !need::program("psql") {
        return;
    }
    let Some((server, original)) = originals::postgres() else {
        return;
    };
    server.admin("ids", DUMPED);
    let mut dump = program("pg_dump", &original);
    let said = Said::from(
        dump.args(["--no-owner", "--no-privileges", "-t", "seq*", "ids"])
            .output()
            .unwrap(),
    );
    let dump = said.ok();
    let folder = tempfile::tempdir().unwrap();
    let faces = Faces::run(folder.path(), &["postgres"], &[]);
    let place = faces.place("postgres");
    let said = psql(&place, &["-v", "ON_ERROR_STOP=1", "-q"], &dump);
    assert!(!said.contains("ERROR"), "{said}\nof\n{dump}");
    for name in server
        .admin(
            "ids",
            "SELECT quote_ident(sequencename) FROM pg_sequences WHERE sequencename LIKE 'seq%'",
        )
        .lines()
    {
        let next = format!("SELECT nextval('{name}')");
        let theirs = psql(&original, &["-A", "-t"], &next);
        let ours = psql(&place, &["-A", "-t"], &next);
        match name {
            // It has no CACHE of its own: nothing was given to a session that is gone.
            "seq_cached" => assert_eq!((theirs.trim(), ours.trim()), ("21", "21")),
            _ => assert_eq!(ours, theirs, "{name}"),
        }
    }
}
