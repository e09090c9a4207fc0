//! The pages docs/sql*.md: their examples run as they stand, and every function is listed.

use mintage_e2e::run;
use mintage_e2e::sql::mariadb::Mariadb;
use mintage_e2e::sql::pack;
use mintage_e2e::sql::page::{self, MARIADB_PROMPT, POSTGRES_PROMPT};
use mintage_e2e::sql::postgres::Postgres;

const POSTGRES: &str = include_str!("../../docs/sql-postgres.md");
const MARIADB: &str = include_str!("../../docs/sql-mariadb.md");
const FUNCTIONS: &str = include_str!("../../docs/sql-functions.md");

#[test]
fn the_postgresql_examples_run_verbatim() {
    let Some(server) = Postgres::empty() else { return };
    // Installed as the page says: what the command prints, piped into psql.
    let pack = run::mint(server.folder(), ["sql", "postgres"]).ok();
    server.psql("postgres", "CREATE DATABASE ids;").ok();
    server.psql("ids", &pack).ok();
    server
        .psql("ids", "ALTER DATABASE ids SET search_path = public, mintage;")
        .ok();
    let examples = page::examples(POSTGRES, "postgres", POSTGRES_PROMPT);
    assert!(examples.len() > 15);
    for example in examples {
        let mut psql = server.client("psql");
        psql.args([
            "-X",
            "-d",
            "ids",
            "-v",
            "SHOW_CONTEXT=never",
            "-c",
            &example.statement,
        ]);
        let said = run::with_input(psql, b"");
        page::check(
            "docs/sql-postgres.md",
            &example,
            &format!("{}{}", said.out, said.err),
        );
    }
}

#[test]
fn the_mariadb_examples_run_verbatim() {
    let Some(server) = Mariadb::with_pack() else {
        return;
    };
    let examples = page::examples(MARIADB, "mariadb", MARIADB_PROMPT);
    assert!(examples.len() > 4);
    for example in examples {
        let mut client = server.client("mariadb");
        client.args(["-t", "-D", "ids", "-e", &example.statement]);
        let said = run::with_input(client, b"");
        page::check(
            "docs/sql-mariadb.md",
            &example,
            &format!("{}{}", said.out, said.err),
        );
    }
}

#[test]
fn every_function_stands_in_the_page_with_its_volatility() {
    let Some(server) = Postgres::with_pack() else {
        return;
    };
    let rows = server.lines(
        "SELECT '| `' || proname || '(' || replace(pg_get_function_identity_arguments(p.oid), 'timestamp with time zone', 'timestamptz') || ')` | `'
           || replace(pg_get_function_result(p.oid), 'timestamp with time zone', 'timestamptz') || '` | '
           || CASE provolatile WHEN 'i' THEN 'immutable' WHEN 's' THEN 'stable' ELSE 'volatile' END
           || CASE proparallel WHEN 'u' THEN ' †' ELSE '' END || ' | '
         FROM pg_proc p WHERE pronamespace = 'mintage'::regnamespace AND proname NOT LIKE '\\_%' AND proname NOT LIKE '%\\_strict';
         SELECT '(' || replace(proname, '_strict', '') FROM pg_proc p WHERE pronamespace = 'mintage'::regnamespace AND proname LIKE '%\\_strict';",
    );
    for row in &rows {
        if let Some(twin) = row.strip_prefix('(') {
            let listed = format!("| `{twin}(");
            let line = FUNCTIONS.lines().find(|line| line.starts_with(&listed));
            assert!(line.is_some_and(|line| line.ends_with(" * |")), "{twin}");
        } else {
            assert!(FUNCTIONS.contains(row), "docs/sql-functions.md has no row {row}");
        }
    }
    let listed = FUNCTIONS
        .lines()
        .filter(|line| line.starts_with("| `") && line.contains("le | ") | line.contains("le † | "));
    assert_eq!(
        listed.count(),
        rows.iter().filter(|row| row.starts_with('|')).count()
    );
}

#[test]
fn every_mariadb_function_stands_in_the_page() {
    let Some(server) = Mariadb::with_pack() else {
        return;
    };
    let rows = server.lines(
        "SELECT CONCAT('`', r.routine_name, '(', COALESCE(GROUP_CONCAT(p.parameter_name ORDER BY p.ordinal_position SEPARATOR ', '), ''), ')`', IF(r.is_deterministic = 'NO', '~', ''))
         FROM information_schema.routines AS r LEFT JOIN information_schema.parameters AS p ON p.specific_schema = r.routine_schema AND p.specific_name = r.routine_name AND p.ordinal_position > 0
         WHERE r.routine_schema = 'ids' AND r.routine_type = 'FUNCTION' AND r.routine_name NOT LIKE 'mintage\\_\\_%' AND r.routine_name NOT LIKE '%\\_strict' GROUP BY r.routine_name;",
    );
    assert!(rows.len() > 80);
    for row in rows {
        assert!(FUNCTIONS.contains(&row), "docs/sql-functions.md has no {row}");
    }
}

/// The sources of a pack, one behind the other.
fn parts(engine: &str) -> String {
    let folder = std::fs::read_dir(pack::folder(engine).join("src")).expect("is in the tree");
    let mut paths: Vec<_> = folder.map(|part| part.expect("can be read").path()).collect();
    paths.sort();
    let texts = paths
        .iter()
        .map(|path| std::fs::read_to_string(path).expect("is in the tree"));
    texts.collect::<String>().replace("@extschema@", "mintage")
}

fn made(script: &str) -> Vec<&str> {
    script
        .lines()
        .filter(|line| line.starts_with("CREATE "))
        .collect()
}

#[test]
fn mint_prints_the_packs_for_any_schema() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let print = |args: &[&str]| run::mint(folder.path(), args);
    let printed = print(&["sql", "postgres"]).ok();
    let (head, functions) = printed
        .split_once("CREATE SCHEMA IF NOT EXISTS mintage;\n\n")
        .expect("its head");
    assert!(head.contains("\nBEGIN;\n") && functions.ends_with("\nCOMMIT;\n"));
    // All that the parts make and nothing else, in their order.
    assert_eq!(made(functions), made(&parts("postgres")));
    assert_eq!(made(&print(&["sql", "mariadb"]).ok()), made(&parts("mariadb")));
    print(&["sql", "postgres", "--schema", "a-b"]).fails(
        2,
        "'a-b' cannot be the schema's name",
        "letters, digits and _",
    );
    if let Some(server) = Postgres::empty() {
        let pack = print(&["sql", "postgres", "--schema", "Order"]).ok();
        server.psql("postgres", &pack).ok();
        let said = server.psql(
            "postgres",
            "SELECT \"Order\".uuid_v1_timestamp(\"Order\".form_uuid_v1('2022-02-22 19:22:22Z', 1, '9f:6b:de:ce:d8:46')), \"Order\".uuid_v5(\"Order\".ns_dns(), 'www.example.com'),
                    to_regnamespace('mintage') IS NULL;",
        );
        assert_eq!(
            said.ok(),
            "2022-02-22 19:22:22+00\t2ed6657d-e927-568b-95e1-2665a8aea6a2\tt\n"
        );
    }
    if let Some(server) = Mariadb::with_pack() {
        let pack = print(&["sql", "mariadb", "--schema", "other"]).ok();
        server.sql("", &pack).ok();
        assert_eq!(
            server.sql("other", "SELECT mintage_pack_version();").ok(),
            format!("{}\n", pack::VERSION)
        );
    }
}

/// `\\df+` was blank, and nothing took 150 routines away again.
#[test]
fn every_public_function_has_a_comment_and_all_can_be_taken_away() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let print = |args: &[&str]| run::mint(folder.path(), args).ok();
    if let Some(server) = Postgres::with_pack() {
        let without = server.lines(
            "SELECT proname FROM pg_proc p WHERE pronamespace = 'mintage'::regnamespace AND proname NOT LIKE '\\_%'
               AND coalesce(obj_description(oid, 'pg_proc'), '') = '';",
        );
        assert!(without.is_empty(), "{without:?}");
    }
    if let Some(server) = Mariadb::with_pack() {
        let without = server.lines(
            "SELECT routine_name FROM information_schema.routines WHERE routine_schema = 'ids' AND routine_type = 'FUNCTION'
               AND routine_name NOT LIKE 'mintage\\_\\_%' AND routine_comment = '';",
        );
        assert!(without.is_empty(), "{without:?}");
        server.sql("ids", &print(&["sql", "mariadb", "--uninstall"])).ok();
        let left = server.lines(
            "SELECT routine_name FROM information_schema.routines WHERE routine_schema = 'ids'
             UNION ALL SELECT table_name FROM information_schema.tables WHERE table_schema = 'ids';",
        );
        assert!(left.is_empty(), "{left:?}");
        // For MySQL it is the same script, and says so.
        let mysql = print(&["sql", "mysql"]);
        assert!(mysql.starts_with("-- For MySQL 8") && mysql.ends_with(&print(&["sql", "mariadb"])));
    }
}
