//! `mint doctor` on PostgreSQL: every finding is planted and found by an account that can only read, the statement that is
//! printed makes it go away, and nothing is written meanwhile.
#![allow(clippy::unwrap_used)]

use std::fmt::Write as _;
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use mintage_e2e::engine::postgres::Postgres;
use mintage_e2e::run;

use crate::doctor::{Planted, doctor, planted, reader};

const OF_POSTGRES: &[Planted] = &[
    planted(
        "public.orders_id_seq",
        "ends",
        "error",
        true,
        "CREATE TABLE orders (id serial PRIMARY KEY); SELECT setval('orders_id_seq', 2147000000)",
    ),
    planted(
        "public.small_id_seq",
        "ends",
        "warn",
        true,
        "CREATE TABLE small (id smallint GENERATED ALWAYS AS IDENTITY PRIMARY KEY); SELECT setval('small_id_seq', 25000)",
    ),
    planted(
        "public.bound",
        "ends",
        "error",
        true,
        "CREATE SEQUENCE bound MAXVALUE 1000; SELECT setval('bound', 980)",
    ),
    planted(
        "public.under",
        "ends",
        "error",
        true,
        "CREATE SEQUENCE under INCREMENT -1 MINVALUE -1000; SELECT setval('under', -980)",
    ),
    planted(
        "public.invoice_seq",
        "behind",
        "error",
        true,
        "CREATE SEQUENCE invoice_seq; CREATE TABLE i (n bigint PRIMARY KEY DEFAULT nextval('invoice_seq')); \
         INSERT INTO i VALUES (5101); SELECT setval('invoice_seq', 5016)",
    ),
    planted(
        "public.\"It's\"",
        "behind",
        "error",
        true,
        "CREATE SEQUENCE \"It's\"; CREATE TABLE \"A\" (\"i\"\"d\" bigint PRIMARY KEY DEFAULT nextval('\"It''s\"')); \
         CREATE TABLE b (id bigint PRIMARY KEY DEFAULT nextval('\"It''s\"')); INSERT INTO \"A\" VALUES (7); \
         INSERT INTO b VALUES (99)",
    ),
    planted(
        "public.down",
        "behind",
        "error",
        true,
        "CREATE SEQUENCE down INCREMENT -1; CREATE TABLE d (n bigint PRIMARY KEY DEFAULT nextval('down')); \
         INSERT INTO d VALUES (-50)",
    ),
    planted(
        "public.wide",
        "narrow",
        "warn",
        true,
        "CREATE SEQUENCE wide; CREATE TABLE w (n int PRIMARY KEY DEFAULT nextval('wide'))",
    ),
    planted(
        "public.again",
        "cycle",
        "error",
        true,
        "CREATE SEQUENCE again CYCLE; CREATE TABLE c (n bigint PRIMARY KEY DEFAULT nextval('again'))",
    ),
    planted(
        "public.round",
        "cycle",
        "warn",
        true,
        "CREATE SEQUENCE round CYCLE",
    ),
    planted(
        "public.taken",
        "cache",
        "info",
        true,
        "CREATE SEQUENCE taken CACHE 20",
    ),
    planted(
        "public.tens",
        "jump",
        "info",
        false,
        "CREATE SEQUENCE tens INCREMENT 10",
    ),
    planted(
        "public.lent",
        "unowned",
        "info",
        true,
        "CREATE SEQUENCE lent; CREATE TABLE l (n bigint DEFAULT nextval('lent'))",
    ),
    planted("public.lost", "orphan", "info", false, "CREATE SEQUENCE lost"),
    planted(
        "public.hidden",
        "unreadable",
        "warn",
        true,
        "CREATE SEQUENCE hidden; REVOKE ALL ON SEQUENCE hidden FROM reader",
    ),
];

/// A server whose reader can write nothing at all.
fn server(settings: &[&str]) -> Option<Postgres> {
    let server = match settings {
        [] => Postgres::borrow()?,
        settings => Postgres::with_settings(settings)?,
    };
    server.admin(
        "ids",
        "ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT ON TABLES TO reader; \
         ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT ON SEQUENCES TO reader; \
         ALTER ROLE reader SET default_transaction_read_only = on",
    );
    Some(server)
}

/// All that it holds, without the lines that each dump has for itself.
fn dump_of(server: &Postgres) -> String {
    let dump = server.dump();
    let lines = dump.lines().filter(|line| !line.contains("restrict "));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn what_is_planted_in_postgres_is_found_and_mended() {
    let Some(server) = server(&[]) else { return };
    let folder = tempfile::tempdir().unwrap();
    for plant in OF_POSTGRES {
        server.admin("ids", plant.sql);
    }
    let urls = [reader(&server)];
    let before = dump_of(&server);
    let look = doctor(folder.path(), &urls, &[]);
    assert_eq!(dump_of(&server), before, "it has written");
    assert_eq!(
        (look.said.code, &look.summary["partial"]),
        (1, &false.into()),
        "{:?}",
        look.said
    );
    for plant in OF_POSTGRES {
        let finding = look.finding(plant.key, plant.code);
        let finding = finding.unwrap_or_else(|| panic!("{} {}: {}", plant.key, plant.code, look.said.out));
        assert_eq!(finding["severity"], plant.severity, "{finding}");
        assert_eq!(finding["fix"].is_string(), plant.is_mended, "{finding}");
        if let Some(fix) = finding["fix"].as_str() {
            server.admin("ids", fix);
        }
    }
    let look = doctor(folder.path(), &urls, &["--fail-on", "warn"]);
    for plant in OF_POSTGRES.iter().filter(|plant| plant.is_mended) {
        let finding = look.finding(plant.key, plant.code);
        assert!(finding.is_none(), "{finding:?}");
    }
    assert_eq!(look.said.code, 0, "{:?}", look.said);
    // What was behind gives out what nobody has.
    let next = server.admin(
        "ids",
        "INSERT INTO i DEFAULT VALUES RETURNING n; INSERT INTO d DEFAULT VALUES RETURNING n",
    );
    assert!(next.contains("5102") && next.contains("-51"), "{next}");
    let next = server.admin("ids", "INSERT INTO \"A\" DEFAULT VALUES RETURNING \"i\"\"d\"");
    assert!(next.contains("100"), "{next}");
}

#[test]
fn the_script_for_postgres_runs_as_it_is_printed() {
    let Some(server) = server(&[]) else { return };
    let folder = tempfile::tempdir().unwrap();
    for plant in OF_POSTGRES {
        server.admin("ids", plant.sql);
    }
    // A comment that a name ends would begin a statement.
    server.admin("ids", "CREATE SEQUENCE \"x\nDROP TABLE orders; --\" CYCLE");
    let file = folder.path().join("urls");
    fs::write(&file, reader(&server)).unwrap();
    let file = file.to_str().unwrap();
    let script = run::mint(folder.path(), ["doctor", "--fix", "-q", "--url-file", file]);
    assert_eq!(script.code, 1, "{script:?}");
    server.admin("ids", &script.out);
    assert_eq!(
        server.admin("ids", "SELECT to_regclass('orders')").trim(),
        "orders"
    );
    let again = doctor(folder.path(), &[reader(&server)], &["--fail-on", "error"]);
    assert_eq!(again.said.code, 0, "{:?}", again.said);
}

#[test]
fn marks_that_do_not_travel_are_told() {
    let Some(server) = server(&[]) else { return };
    let folder = tempfile::tempdir().unwrap();
    server.admin("ids", "CREATE TABLE t (id bigserial PRIMARY KEY)");
    let urls = [reader(&server)];
    let finding = |look: &crate::doctor::Look| look.finding("public.t_id_seq", "not-replicated").cloned();
    assert_eq!(finding(&doctor(folder.path(), &urls, &[])), None);
    server.admin(
        "ids",
        "CREATE SUBSCRIPTION s CONNECTION 'dbname=nowhere' PUBLICATION p WITH (connect = false)",
    );
    let found = finding(&doctor(folder.path(), &urls, &[]));
    assert_eq!(found.map(|found| found["severity"].clone()), Some("warn".into()));
}

/// A counter whose column cannot be read is not taken for sound.
#[test]
fn columns_that_are_not_read_are_told() {
    let Some(server) = server(&[]) else { return };
    let folder = tempfile::tempdir().unwrap();
    server.admin(
        "ids",
        "CREATE TABLE closed (id bigserial PRIMARY KEY); REVOKE ALL ON closed FROM reader; INSERT INTO closed VALUES (50);
         CREATE TABLE plain (id bigserial); INSERT INTO plain VALUES (50)",
    );
    let urls = [reader(&server)];
    let look = doctor(folder.path(), &urls, &[]);
    let unread = look.finding("public.closed_id_seq", "unreadable").unwrap();
    assert_eq!(unread["severity"], "warn", "{unread}");
    server.admin("ids", unread["fix"].as_str().unwrap());
    let unread = look.finding("public.plain_id_seq", "unreadable").unwrap();
    assert_eq!(unread["severity"], "info", "{unread}");
    let look = doctor(folder.path(), &urls, &["--full"]);
    for key in ["public.closed_id_seq", "public.plain_id_seq"] {
        assert!(
            look.finding(key, "unreadable").is_none() && look.finding(key, "behind").is_some(),
            "{key}"
        );
    }
}

/// A mark and its column are not read at one instant.
#[test]
fn rows_that_are_inserted_meanwhile_are_no_finding() {
    let Some(server) = server(&[]) else { return };
    let folder = tempfile::tempdir().unwrap();
    server.admin("ids", "CREATE TABLE busy (id bigserial PRIMARY KEY)");
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    server.admin(
                        "ids",
                        "INSERT INTO busy SELECT nextval('busy_id_seq') FROM generate_series(1, 500)",
                    );
                }
            });
        }
        for _ in 0..20 {
            let look = doctor(folder.path(), &[reader(&server)], &[]);
            if look.said.code != 0 {
                stop.store(true, Ordering::Relaxed);
                panic!("{:?}", look.said);
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
}

#[test]
#[ignore = "minutes: ten thousand tables"]
fn ten_thousand_sequences_are_looked_at_in_few_statements() {
    let Some(server) = server(&["fsync=off", "log_statement=all", "max_locks_per_transaction=512"]) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let mut tables = String::new();
    for at in 0..10_000 {
        writeln!(tables, "CREATE TABLE t{at} (id bigserial PRIMARY KEY);").unwrap();
    }
    server.admin("ids", &tables);
    let count =
        || server.log().matches("LOG:  execute").count() + server.log().matches("LOG:  statement").count();
    let before = count();
    let started = Instant::now();
    let look = doctor(
        folder.path(),
        &[reader(&server)],
        &["--fail-on", "behind", "--timeout", "60s"],
    );
    let (took, statements) = (started.elapsed(), count() - before);
    assert_eq!(look.counters.len(), 10_000, "{}", look.said.err);
    println!("10,000 tables in {took:?}, {statements} statements");
    assert!(statements < 250, "{statements} statements");
}
