//! `mint doctor` on real servers: every finding that can be planted there is found by an account that may only read, the
//! statement that is printed makes it go away, and nothing is written meanwhile.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;
use std::time::Instant;

use mintage_e2e::binary;
use mintage_e2e::cluster::eventually;
use mintage_e2e::engine::mariadb::Mariadb;
use mintage_e2e::engine::redis::Redis;
use mintage_e2e::run::{self, Said};
use mintage_e2e::store_suite::{Engine, Lab, OWNER_PASSWORD, READER_PASSWORD, patient};
use mintage_ledger::moves::{Definition, Move, Ours, Phase};
use mintage_ledger::source::{MoveId, Note, SourceSettings, Way, open_sources};
use mintage_ledger::{Ledger, LedgerSettings, Name, StoreErrorKind, StoreSettings};
use mintage_testing::no_secret_in;
use serde_json::Value;

/// A counter with something wrong.
pub(crate) struct Planted {
    pub(crate) sql: &'static str,
    pub(crate) key: &'static str,
    pub(crate) code: &'static str,
    pub(crate) severity: &'static str,
    /// Whether a statement mends it.
    pub(crate) is_mended: bool,
}

pub(crate) const fn planted(
    key: &'static str,
    code: &'static str,
    severity: &'static str,
    is_mended: bool,
    sql: &'static str,
) -> Planted {
    Planted {
        sql,
        key,
        code,
        severity,
        is_mended,
    }
}

const LEAF: &str = "CREATE TABLE leaf_alloc (biz_tag varchar(128) NOT NULL DEFAULT '', max_id bigint NOT NULL DEFAULT 1, \
    step int NOT NULL, description varchar(256), update_time timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP, \
    PRIMARY KEY (biz_tag));";

const TINYID: &str = "CREATE TABLE tiny_id_info (id bigint unsigned NOT NULL AUTO_INCREMENT, biz_type varchar(63) NOT NULL \
    DEFAULT '', begin_id bigint NOT NULL DEFAULT 0, max_id bigint NOT NULL DEFAULT 0, step int DEFAULT 0, delta int NOT NULL \
    DEFAULT 1, remainder int NOT NULL DEFAULT 0, create_time timestamp NOT NULL DEFAULT '2010-01-01 00:00:00', update_time \
    timestamp NOT NULL DEFAULT '2010-01-01 00:00:00', version bigint NOT NULL DEFAULT 0, PRIMARY KEY (id), UNIQUE KEY u \
    (biz_type));";

const WORKER_NODE: &str = "CREATE TABLE WORKER_NODE (ID bigint NOT NULL AUTO_INCREMENT, HOST_NAME varchar(64) NOT NULL, \
    PORT varchar(64) NOT NULL, TYPE int NOT NULL, LAUNCH_DATE date NOT NULL, MODIFIED timestamp NOT NULL, CREATED timestamp \
    NOT NULL, PRIMARY KEY (ID));";

const OF_MARIADB: &[Planted] = &[
    planted(
        "ids.near.id",
        "ends",
        "error",
        true,
        "CREATE TABLE near (id int NOT NULL AUTO_INCREMENT PRIMARY KEY) AUTO_INCREMENT = 2147000000",
    ),
    planted(
        "ids.`half`.id",
        "ends",
        "warn",
        true,
        "CREATE TABLE ```half``` (id tinyint unsigned NOT NULL AUTO_INCREMENT PRIMARY KEY) AUTO_INCREMENT = 200",
    ),
    planted(
        "ids.m.id",
        "lossy",
        "error",
        true,
        "CREATE TABLE m (id bigint AUTO_INCREMENT PRIMARY KEY) ENGINE = MyISAM",
    ),
    planted(
        "ids.bound",
        "ends",
        "error",
        true,
        "CREATE SEQUENCE bound MAXVALUE 1000; SELECT SETVAL(bound, 980)",
    ),
    planted(
        "ids.under",
        "ends",
        "error",
        true,
        "CREATE SEQUENCE under INCREMENT -1 MINVALUE -1000; SELECT SETVAL(under, -980)",
    ),
    planted("ids.again", "cycle", "warn", true, "CREATE SEQUENCE again CYCLE"),
    planted(
        "ids.tens",
        "jump",
        "info",
        false,
        "CREATE SEQUENCE tens INCREMENT 10",
    ),
    planted(
        "wraps",
        "small-step",
        "warn",
        true,
        "INSERT INTO tiny_id_info (biz_type, step) VALUES ('wraps', 200000000)",
    ),
    planted(
        "it's",
        "misaligned",
        "error",
        true,
        "INSERT INTO tiny_id_info (biz_type, step, delta) VALUES ('it''s', 100, 0)",
    ),
];

/// What a look came to.
pub(crate) struct Look {
    pub(crate) said: Said,
    pub(crate) counters: Vec<Value>,
    pub(crate) summary: Value,
}

/// Runs `mint doctor --json` with the URLs in a file, as somebody would who has passwords in them.
pub(crate) fn doctor(folder: &Path, urls: &[String], options: &[&str]) -> Look {
    let file = folder.join("urls");
    fs::write(&file, urls.join("\n")).unwrap();
    let file = file.to_str().unwrap();
    let mut words = vec!["doctor", "--json", "-q", "--url-file", file];
    words.extend(options);
    let said = run::mint(folder, &words);
    for secret in [READER_PASSWORD, OWNER_PASSWORD, "re%40der"] {
        no_secret_in("the output", &said.out, secret);
        no_secret_in("the errors", &said.err, secret);
    }
    let mut counters: Vec<Value> = said
        .out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let summary = counters.pop().unwrap_or_default();
    Look {
        said,
        counters,
        summary,
    }
}

impl Look {
    /// A finding of a counter.
    pub(crate) fn finding(&self, key: &str, code: &str) -> Option<&Value> {
        let counter = self.counters.iter().find(|counter| counter["name"] == key)?;
        let findings = counter["findings"].as_array().unwrap();
        findings.iter().find(|finding| finding["code"] == code)
    }

    #[track_caller]
    fn counter(&self, key: &str) -> &Value {
        let found = self.counters.iter().find(|counter| counter["name"] == key);
        found.unwrap_or_else(|| panic!("no counter {key}: {}", self.said.out))
    }
}

pub(crate) fn reader(engine: &impl Engine) -> String {
    engine.url_of_reader(engine.address()).unwrap()
}

/// How often the server has written, whatever it was.
fn writes_of(server: &Mariadb) -> u64 {
    let rows = server.admin(
        "",
        "SELECT SUM(VARIABLE_VALUE) FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME IN ('COM_INSERT', \
         'COM_UPDATE', 'COM_DELETE', 'COM_REPLACE', 'COM_CREATE_TABLE', 'COM_ALTER_TABLE', 'COM_ALTER_SEQUENCE', \
         'COM_DROP_TABLE', 'COM_CREATE_TRIGGER', 'COM_LOCK_TABLES')",
    );
    rows.trim().parse::<f64>().unwrap() as u64
}

/// All that it holds; the dump's last line is its time.
fn dump_of(server: &Mariadb) -> String {
    let dump = server.dump();
    let lines = dump.lines().filter(|line| !line.starts_with("-- Dump completed"));
    lines.collect::<Vec<_>>().join("\n")
}

fn statements_of(server: &Mariadb) -> u64 {
    let rows = server.admin(
        "",
        "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = 'QUESTIONS'",
    );
    rows.trim().parse().unwrap()
}

#[test]
fn what_is_planted_in_mariadb_is_found_and_mended() {
    let Some(server) = Mariadb::borrow() else { return };
    let folder = tempfile::tempdir().unwrap();
    server.admin("ids", &format!("{LEAF}{TINYID}"));
    for plant in OF_MARIADB {
        server.admin("ids", plant.sql);
    }
    let urls = [reader(&server)];
    let (before, writes) = (dump_of(&server), writes_of(&server));
    let look = doctor(folder.path(), &urls, &[]);
    assert_eq!(writes_of(&server), writes, "it has written");
    assert_eq!(dump_of(&server), before, "it has written");
    assert_eq!(look.said.code, 1, "{:?}", look.said);
    assert_eq!(look.summary["partial"], false, "{}", look.summary);
    for plant in OF_MARIADB {
        let finding = look.finding(plant.key, plant.code);
        let finding = finding.unwrap_or_else(|| panic!("{} {}: {}", plant.key, plant.code, look.said.out));
        assert_eq!(finding["severity"], plant.severity, "{finding}");
        assert_eq!(finding["fix"].is_string(), plant.is_mended, "{finding}");
        if let Some(fix) = finding["fix"].as_str() {
            server.admin("ids", fix);
        }
    }
    let look = doctor(folder.path(), &urls, &[]);
    for plant in OF_MARIADB.iter().filter(|plant| plant.is_mended) {
        let finding = look.finding(plant.key, plant.code);
        assert!(finding.is_none(), "{finding:?}");
    }
    assert_eq!(look.said.code, 0, "{:?}", look.said);
    // Everything that is bad is mended, and so the script is empty.
    let file = folder.path().join("urls");
    let script = run::mint(
        folder.path(),
        ["doctor", "--fix", "--url-file", file.to_str().unwrap()],
    )
    .ok();
    assert!(script.lines().all(|line| line.starts_with("-- ")), "{script}");
}

#[test]
fn the_script_runs_as_it_is_printed() {
    let Some(server) = Mariadb::borrow() else { return };
    let folder = tempfile::tempdir().unwrap();
    server.admin("ids", TINYID);
    for plant in OF_MARIADB {
        if !plant.sql.contains("leaf_alloc") {
            server.admin("ids", plant.sql);
        }
    }
    // No statement is made of a name that may break one, and none of its line ends a comment.
    server.admin(
        "ids",
        "CREATE TABLE `a\nDROP TABLE near; --` (id tinyint NOT NULL AUTO_INCREMENT PRIMARY KEY) AUTO_INCREMENT = 126",
    );
    let file = folder.path().join("urls");
    fs::write(&file, reader(&server)).unwrap();
    let file = file.to_str().unwrap();
    let said = run::mint(folder.path(), ["doctor", "--fix", "-q", "--url-file", file]);
    assert_eq!(said.code, 1, "{said:?}");
    server.admin("ids", &said.out);
    let again = run::mint(
        folder.path(),
        ["doctor", "-q", "--url-file", file, "--match", "ids.[a-z]*"],
    );
    assert_eq!(again.code, 0, "{again:?}");
    let tables = server.admin("ids", "SHOW TABLES LIKE 'near'");
    assert_eq!(tables.trim(), "near");
    let hostile = run::mint(
        folder.path(),
        ["doctor", "-q", "--url-file", file, "--match", "ids.a?DROP*"],
    );
    assert_eq!(hostile.code, 1, "{hostile:?}");
    assert!(hostile.out.contains("ids.a\\nDROP TABLE near"), "{hostile:?}");
}

#[test]
fn two_looks_tell_how_fast_counters_go_and_an_earlier_one_too() {
    let Some(server) = Mariadb::borrow() else { return };
    let folder = tempfile::tempdir().unwrap();
    server.admin(
        "ids",
        &format!(
            "{LEAF} INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES ('orders', 1000, 10);
             CREATE TABLE orders_seq (id bigint PRIMARY KEY, next_id bigint, cache bigint) COMMENT 'vitess_sequence';
             INSERT INTO orders_seq VALUES (0, 1000, 10);
             CREATE TABLE fast (id int NOT NULL AUTO_INCREMENT PRIMARY KEY);
             INSERT INTO fast VALUES (1000000)"
        ),
    );
    let urls = [reader(&server)];
    let first = doctor(folder.path(), &urls, &[]);
    let since = folder.path().join("first.json");
    fs::write(&since, &first.said.out).unwrap();
    assert!(first.counter("orders")["rate_per_s"].is_null());

    let watched = std::thread::scope(|scope| {
        let watch = scope.spawn(|| doctor(folder.path(), &urls, &["--watch", "2s"]));
        while !watch.is_finished() {
            server.admin(
                "ids",
                "UPDATE leaf_alloc SET max_id = max_id + step; UPDATE orders_seq SET next_id = next_id + cache; INSERT INTO fast SELECT MAX(id) + 100000 FROM fast",
            );
        }
        watch.join().unwrap()
    });
    let rate = watched.counter("ids.fast.id")["rate_per_s"].as_f64().unwrap();
    assert!(rate > 10.0, "{rate}");
    let ends = watched.finding("ids.fast.id", "ends").unwrap();
    assert!(ends["text"].as_str().unwrap().starts_with("ends in "), "{ends}");
    assert!(!watched.counter("ids.fast.id")["ends"][0]["at"].is_null());

    // Leaf makes its own step larger while it is that fast; a tablet of Vitess does not.
    assert!(watched.finding("orders", "small-step").is_none());
    let small = watched.finding("orders_seq", "small-step").unwrap();
    server.admin("ids", small["fix"].as_str().unwrap());
    let step = server.admin("ids", "SELECT cache FROM orders_seq");
    assert!(step.trim().parse::<u64>().unwrap() > 100, "{step}");

    let later = doctor(folder.path(), &urls, &["--since", since.to_str().unwrap()]);
    let over_all = later.counter("ids.fast.id")["rate_per_s"].as_f64().unwrap();
    assert!(over_all > 0.0 && later.finding("orders_seq", "small-step").is_none());
    // What was seen elsewhere is no earlier look at this.
    let elsewhere = folder.path().join("elsewhere.json");
    fs::write(&elsewhere, first.said.out.replace("mysql://", "mysql://other")).unwrap();
    let urls_file = folder.path().join("urls");
    let words = [
        "doctor",
        "--since",
        elsewhere.to_str().unwrap(),
        "--url-file",
        urls_file.to_str().unwrap(),
    ];
    let said = run::mint(folder.path(), words);
    assert!(said.err.contains("tells of none of these counters"), "{said:?}");
    // A mark that went back is what this is for.
    server.admin("ids", "UPDATE leaf_alloc SET max_id = 5");
    let back = doctor(folder.path(), &urls, &["--since", since.to_str().unwrap()]);
    let behind = back.finding("orders", "behind").unwrap();
    assert!(
        behind["text"].as_str().unwrap().contains("5 now, 1000 at "),
        "{behind}"
    );
}

#[test]
fn servers_that_give_out_the_same_numbers_are_found_together() {
    let (Some(one), Some(other)) = (
        Mariadb::with_settings(&["--server-id=1"]),
        Mariadb::with_settings(&["--server-id=2"]),
    ) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    for server in [&one, &other] {
        server.admin(
            "ids",
            "CREATE TABLE t (id bigint NOT NULL AUTO_INCREMENT PRIMARY KEY)",
        );
    }
    let urls = [reader(&one), reader(&other)];
    assert_eq!(doctor(folder.path(), &urls[..1], &[]).said.code, 0);
    let look = doctor(folder.path(), &urls, &[]);
    assert_eq!(look.said.code, 1, "{:?}", look.said);
    let fixes: Vec<&str> = look
        .counters
        .iter()
        .map(|counter| {
            let finding = &counter["findings"][0];
            assert_eq!(finding["code"], "pattern", "{counter}");
            finding["fix"].as_str().unwrap()
        })
        .collect();
    assert_eq!(fixes.len(), 2);
    for (server, fix) in [&one, &other].into_iter().zip(fixes) {
        server.admin("ids", fix);
    }
    let look = doctor(folder.path(), &urls, &["--fail-on", "pattern"]);
    assert_eq!(look.said.code, 0, "{:?}", look.said);
    // The same server twice is no pattern.
    let twice = [urls[0].clone(), urls[0].clone()];
    assert_eq!(doctor(folder.path(), &twice, &[]).said.code, 0);
}

#[test]
fn numbers_of_workers_run_out() {
    let Some(server) = Mariadb::borrow() else { return };
    let folder = tempfile::tempdir().unwrap();
    server.admin(
        "ids",
        &format!(
            "{WORKER_NODE} INSERT INTO WORKER_NODE VALUES (4194000, 'a', '1', 1, '2020-01-01', NOW(), NOW())"
        ),
    );
    let urls = [reader(&server)];
    let look = doctor(folder.path(), &urls, &["--fail-on", "workers"]);
    assert_eq!(look.said.code, 1, "{:?}", look.said);
    let workers = |look: &Look| {
        let is_of = |counter: &&Value| counter["kind"] == "workers";
        look.counters.iter().find(is_of).unwrap()["findings"].clone()
    };
    let findings = workers(&look);
    assert_eq!(
        (&findings[0]["code"], &findings[0]["severity"]),
        (&"workers".into(), &"error".into())
    );
    assert!(
        findings[1]["text"].as_str().unwrap().contains("2024-11-20"),
        "{findings}"
    );
    // Who has set it up otherwise has room.
    let look = doctor(
        folder.path(),
        &urls,
        &["--worker-bits", "30", "--fail-on", "workers"],
    );
    assert_eq!((look.said.code, workers(&look)), (0, Value::Array(Vec::new())));
}

#[test]
fn machines_of_cosid_in_redis_run_out() {
    let Some(server) = Redis::run() else { return };
    let folder = tempfile::tempdir().unwrap();
    for id in 0..16 {
        let (instance, held) = (format!("host:{id}"), format!("{id}|1700000000000"));
        server.admin(&["HSET", "cosid:{shop}:itc_idx", &instance, &held]);
    }
    server.admin(&["SET", "cosid:{shop}:adder", "15"]);
    let urls = [reader(&server)];
    let worst = |options: &[&str]| {
        let look = doctor(
            folder.path(),
            &urls,
            &[&["--fail-on", "workers"], options].concat(),
        );
        let is_of = |counter: &&Value| counter["source"] == "cosid-workers";
        let workers = look
            .counters
            .iter()
            .find(is_of)
            .unwrap_or_else(|| panic!("{:?}", look.said));
        (look.said.code, workers["findings"][0]["severity"].clone())
    };
    assert_eq!(worst(&[]), (0, Value::Null));
    assert_eq!(worst(&["--machine-bits", "4"]), (1, "error".into()));
}

#[test]
fn what_cannot_be_looked_at_is_told_and_the_rest_is_printed() {
    let Some(server) = Mariadb::borrow() else { return };
    let folder = tempfile::tempdir().unwrap();
    server.admin(
        "ids",
        "CREATE SEQUENCE fine; CREATE TABLE t (id int AUTO_INCREMENT PRIMARY KEY)",
    );
    let away = "mysql://mint:secret@127.0.0.1:1/ids".to_string();
    let look = doctor(folder.path(), &[away, reader(&server)], &["--timeout", "20s"]);
    assert_eq!(look.said.code, 3, "{:?}", look.said);
    assert_eq!(look.summary["partial"], true);
    look.counter("ids.fine");
    no_secret_in("the errors", &look.said.err, "secret");
    let wrong = server.url_of_stranger(server.address()).unwrap();
    let look = doctor(folder.path(), &[wrong], &[]);
    assert_eq!((look.said.code, look.counters.len()), (3, 0), "{:?}", look.said);

    // A table that somebody holds for minutes.
    std::thread::scope(|scope| {
        let held = scope.spawn(|| server.sql("ids", "LOCK TABLES t WRITE; SELECT SLEEP(600)"));
        let ask = |sql: &str| server.admin("", sql).trim().to_string();
        let holder = "SELECT id FROM information_schema.processlist WHERE info = 'SELECT SLEEP(600)'";
        while ask(holder).is_empty() {
            assert!(!held.is_finished(), "it holds the table for long");
        }
        let look = doctor(folder.path(), &[reader(&server)], &["--timeout", "3s"]);
        assert!(!held.is_finished(), "it waits no longer than it was told");
        ask(&format!("KILL {}", ask(holder)));
        assert_ne!(held.join().unwrap().code, 0);
        assert_eq!(look.said.code, 3, "{:?}", look.said);
        look.counter("ids.fine");
    });
}

#[test]
#[ignore = "minutes: ten thousand tables"]
fn ten_thousand_tables_are_looked_at_in_few_statements() {
    let Some(server) =
        Mariadb::with_settings(&["--innodb-flush-log-at-trx-commit=0", "--innodb-doublewrite=0"])
    else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let tables: String = (0..10_000)
        .map(|at| format!("CREATE TABLE t{at} (id bigint NOT NULL AUTO_INCREMENT PRIMARY KEY);\n"))
        .collect();
    server.admin("ids", &tables);
    let before = statements_of(&server);
    let started = Instant::now();
    let look = doctor(
        folder.path(),
        &[reader(&server)],
        &["--fail-on", "behind", "--timeout", "60s"],
    );
    let (took, statements) = (started.elapsed(), statements_of(&server) - before);
    assert_eq!(
        (look.said.code, look.counters.len()),
        (0, 10_000),
        "{}",
        look.said.err
    );
    println!("10,000 tables in {took:?}, {statements} statements");
    assert!(statements < 200, "{statements} statements");
}

/// The commands that write nothing, as far as a look has use for them.
const READS_OF_REDIS: &[&str] = &[
    "hello",
    "auth",
    "ping",
    "select",
    "client|setinfo",
    "client|setname",
    "client|no-evict",
    "info",
    "config|get",
    "config|resetstat",
    "scan",
    "type",
    "strlen",
    "get",
    "getrange",
    "pttl",
    "hmget",
    "hgetall",
    "hscan",
    "hlen",
    "hget",
    "exists",
    "role",
    "cluster|info",
];

#[test]
fn keys_of_redis_are_looked_at_and_not_touched() {
    let Some(server) = Redis::with_settings(&["--appendfsync", "everysec"]) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    server.admin(&[
        "MSET",
        "visits",
        "500",
        "high",
        "9223372036854775000",
        "text",
        "x",
        "still",
        "7",
    ]);
    server.admin(&["SET", "gone:soon", "1", "EX", "1000"]);
    server.admin(&["SET", "\u{1b}[2Jodd\n<b>", "3"]);
    let moved = [
        "HSET",
        "orders",
        "moved_to",
        "mint",
        "move",
        "0123456789abcdef0123456789abcdef",
        "last",
        "77",
    ];
    server.admin(&moved);
    let urls = [reader(&server)];
    server.admin(&["CONFIG", "RESETSTAT"]);
    let look = doctor(folder.path(), &urls, &[]);
    for line in server.admin(&["INFO", "commandstats"]).lines() {
        let Some(command) = line
            .strip_prefix("cmdstat_")
            .and_then(|line| line.split(':').next())
        else {
            continue;
        };
        assert!(READS_OF_REDIS.contains(&command), "{command}");
    }
    assert_eq!(look.said.code, 1, "{:?}", look.said);
    let names: Vec<&str> = look
        .counters
        .iter()
        .map(|counter| counter["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        ["\\x1b[2Jodd\\x0a<b>", "high", "orders", "still", "visits"]
    );
    assert_eq!(look.finding("high", "ends").unwrap()["severity"], "error");
    assert_eq!(look.finding("orders", "fenced").unwrap()["severity"], "info");
    let lossy = &look.summary["places"][0]["findings"][0];
    assert_eq!(
        (&lossy["code"], &lossy["severity"]),
        (&"lossy".into(), &"error".into())
    );

    // What people see drives no terminal, and only what grew is called a counter.
    let file = folder.path().join("urls");
    let file = file.to_str().unwrap();
    let table = std::thread::scope(|scope| {
        let watch = scope.spawn(|| {
            let words = ["doctor", "-q", "--url-file", file, "--watch", "1s"];
            run::mint(folder.path(), words)
        });
        while !watch.is_finished() {
            server.admin(&["INCR", "visits"]);
        }
        watch.join().unwrap()
    });
    assert!(!table.out.contains('\u{1b}'), "{}", table.out);
    let line = |name: &str| table.out.lines().find(|line| line.starts_with(name)).unwrap();
    assert!(line("still").ends_with("integer, did not move"), "{}", table.out);
    assert!(line("visits").ends_with(" ok"), "{}", table.out);
    assert!(line("orders").ends_with("ok, moved to mint"), "{}", table.out);
    assert!(line("the server").contains("ERROR lossy"), "{}", table.out);

    for command in lossy["fix"].as_str().unwrap().split("; ") {
        server.admin(&command.split(' ').collect::<Vec<_>>());
    }
    let look = doctor(
        Path::new(file).parent().unwrap(),
        &urls,
        &["--match", "v*", "--fail-on", "info"],
    );
    assert_eq!((look.said.code, look.counters.len()), (0, 1), "{:?}", look.said);
}

#[test]
fn wrong_usage_is_refused_in_words() {
    let folder = tempfile::tempdir().unwrap();
    let url = "postgres://u:secret@127.0.0.1:1/x";
    for (words, error) in [
        (vec![], "required"),
        (vec!["shop"], "no URL, and no [sources.NAME]"),
        (
            vec!["mongodb://u:secret@h/x"],
            "no source has the scheme \"mongodb\"",
        ),
        (
            vec!["nonsense+mysql://u:secret@h/x"],
            "no source \"nonsense\" lives at mysql",
        ),
        (vec!["zookeeper://127.0.0.1:1/x"], "says whose workers these are"),
        (vec![url, "--fix", "--json"], "--fix prints a script"),
        (
            vec![url, "--fail-on", "behnd"],
            "is neither error, warn, info, never nor a code",
        ),
        (vec![url, "--timeout", "0s"], "leaves no time"),
        (vec![url, "--since", "/nowhere"], "--since /nowhere"),
        (vec!["--url-file", "/nowhere"], "--url-file /nowhere"),
        (vec![url, "--keys-max", "0"], "--keys-max"),
        (vec![url, "--store", "file:./nowhere"], "nowhere"),
    ] {
        let said = run::mint(
            folder.path(),
            ["doctor", "-q"].into_iter().chain(words.iter().copied()),
        );
        assert!(
            said.code == 2 || words.contains(&"--store"),
            "{words:?}: {said:?}"
        );
        assert!(said.err.contains(error), "{words:?}: {said:?}");
        no_secret_in("the errors", &said.err, "secret");
        assert_eq!(said.out, "", "{said:?}");
    }
}

/// A name of the configuration stands for its URL, so that no password is on the command line.
#[test]
fn sources_of_the_configuration_have_names() {
    let Some(server) = Redis::run() else { return };
    let folder = tempfile::tempdir().unwrap();
    server.admin(&["SET", "visits", "5"]);
    let config = format!("[sources.cache]\nurl = {:?}\n", reader(&server));
    fs::write(folder.path().join("mint.toml"), config).unwrap();
    let said = run::mint(folder.path(), ["doctor", "cache"]);
    assert!(said.code == 0 && said.out.contains("visits"), "{said:?}");
    let said = run::mint(folder.path(), ["doctor", "cash"]);
    assert!(
        said.code == 2 && said.err.contains("the configuration names cache"),
        "{said:?}"
    );
}

/// Cuts a key of Redis as an import does, with the records of its move in a store.
fn cut(lab: &Lab<Redis>, store: &str, name: &str, key: &str) {
    let settings = SourceSettings {
        store: patient(),
        ..SourceSettings::default()
    };
    let sources = open_sources(&lab.direct(), &settings, lab.runtime()).unwrap();
    let source = &sources[0];
    let before = lab.wait(source.look(key)).unwrap().unwrap().before;
    let name = Name::new(name).unwrap();
    let mut record = Move {
        id: MoveId::fresh(&*lab.runtime()),
        former: Vec::new(),
        phase: Phase::Fencing,
        ceiling: None,
        source: source.place(),
        kind: "redis".into(),
        key: key.into(),
        table: None,
        definition: Definition {
            start: 1,
            increment: 1,
            min: 1,
            max: i64::MAX,
            cycle: false,
        },
        before,
        masters: Vec::new(),
        back_to: None,
        advance: 0,
        take: None,
        mark: None,
        first: None,
        highest: None,
        issued: None,
        at_ms: 0,
    };
    let settings = StoreSettings {
        create: true,
        ..StoreSettings::default()
    };
    // Where one was open before, its last task may still be ending.
    let mut opened = None;
    eventually("the folder is free", || match lab.open_with(store, &settings) {
        Err(error) if error.kind == StoreErrorKind::InUse => false,
        other => {
            opened = Some(other.unwrap());
            true
        }
    });
    let store = opened.unwrap();
    let ledger = lab
        .wait(Ledger::open(store, LedgerSettings::default(), lab.runtime()))
        .unwrap();
    let ours: &dyn Ours = &*ledger;
    let note = Note {
        id: record.id,
        before: record.before.clone(),
        mark: None,
    };
    let stepped = lab.wait(ours.step(&name, None, &record, false)).unwrap();
    let mark = lab.wait(source.fence(key, Way::Cut, &note)).unwrap().mark;
    (record.mark, record.first) = (i64::try_from(mark).ok(), i64::try_from(mark).ok());
    let mut version = stepped.now.version;
    for phase in [Phase::Fenced, Phase::Open] {
        record.phase = phase;
        let stepped = lab.wait(ours.step(&name, Some(version), &record, false)).unwrap();
        version = stepped.now.version;
    }
    lab.wait(ledger.close()).unwrap();
}

#[test]
fn fences_are_held_against_the_moves_of_a_store() {
    let Some(server) = Redis::run() else { return };
    let lab = Lab::new(server);
    let folder = tempfile::tempdir().unwrap();
    let store = format!("file:{}", folder.path().join("ids").display());
    lab.engine
        .admin(&["MSET", "orders", "500", "items", "7", "gone", "9"]);
    for key in ["orders", "items", "gone"] {
        cut(&lab, &store, &format!("{key}.id"), key);
    }
    let urls = [lab.engine.url_of_reader(lab.engine.address()).unwrap()];
    let with_store = |options: &[&str]| {
        let options = [&["--store", &store], options].concat();
        doctor(folder.path(), &urls, &options)
    };
    let sound = with_store(&[]);
    assert_eq!(sound.said.code, 0, "{:?}", sound.said);
    let fenced = sound.finding("orders", "fenced").unwrap();
    assert_eq!(fenced["text"], "fenced: moved to orders.id (open)");
    assert_eq!(sound.counter("orders")["fence"]["mark"], "501");

    // An old client has SET one key anew, and somebody has deleted another.
    lab.engine.admin(&["DEL", "items", "gone"]);
    lab.engine.admin(&["SET", "items", "1"]);
    let broken = with_store(&[]);
    assert_eq!(broken.said.code, 1, "{:?}", broken.said);
    let text = |key: &str| broken.finding(key, "fence-broken").unwrap()["text"].clone();
    assert_eq!(
        text("items"),
        "fence-broken: it was moved to items.id, and no fence stands; both give out numbers"
    );
    assert_eq!(
        text("gone"),
        "fence-broken: it was moved to gone.id, and is gone; made anew it begins at 1"
    );
    // Without the store there is nothing to be missed; with one that knows nothing, a stranger's fence.
    assert_eq!(doctor(folder.path(), &urls, &[]).said.code, 0);
    let other = format!("file:{}", folder.path().join("other").display());
    run::mint(folder.path(), ["seq", "create", "x", "--store", &other]).ok();
    let stranger = doctor(folder.path(), &urls, &["--store", &other]);
    let text = stranger.finding("orders", "fenced").unwrap()["text"]
        .as_str()
        .unwrap()
        .to_string();
    assert!(text.ends_with("which this store does not know"), "{text}");
}

/// The recipe of the page, three nights long; in the second the database is away.
#[test]
fn the_recipe_for_cron_tells_of_a_bad_night_and_compares_good_ones() {
    let Some(mut server) = Mariadb::run() else { return };
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    server.admin(
        "ids",
        "CREATE TABLE t (id int NOT NULL AUTO_INCREMENT PRIMARY KEY) AUTO_INCREMENT = 1000",
    );
    fs::write(here.join("urls"), reader(&server)).unwrap();
    let page = fs::read_to_string(binary::root().join("docs/doctor.md")).unwrap();
    let recipe = page.split("```sh\n").nth(1).unwrap().split("```").next().unwrap();
    let recipe = recipe.replace("/var/lib/doctor", here.to_str().unwrap());
    fs::write(
        here.join("mail"),
        "#!/bin/sh\necho \"$2\" >> mails\ncat >> mails\n",
    )
    .unwrap();
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(here.join("mail"), executable).unwrap();
    let programs = binary::mint().parent().unwrap();
    let path = format!("{}:{}:/usr/bin:/bin", here.display(), programs.display());
    let night = || {
        let mut command = std::process::Command::new("sh");
        run::isolate(&mut command);
        command.args(["-c", &recipe]).env("PATH", &path).env("HOME", here);
        command.status().unwrap().code().unwrap()
    };
    let last = || fs::read_to_string(here.join("last.json")).unwrap();
    let mails = || fs::read_to_string(here.join("mails")).unwrap_or_default();

    assert_eq!((night(), mails().as_str()), (0, ""));
    let first = last();
    assert!(first.contains("\"rate_per_s\":null"), "{first}");
    server.stop();
    assert_eq!(night(), 3);
    assert!(
        mails().contains("counters: exit code 3") && mails().contains("\"partial\":true"),
        "{}",
        mails()
    );
    assert_eq!(last(), first);
    server.start();
    server.admin("ids", "INSERT INTO t VALUES (2147000000)");
    assert_eq!(night(), 1);
    assert!(
        mails().contains("counters: exit code 1") && mails().contains("\"code\":\"ends\""),
        "{}",
        mails()
    );
    assert!(!last().contains("\"rate_per_s\":null"), "{}", last());
}
