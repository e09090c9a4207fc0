//! Every kind of source, and every way in that clients of the original have here: what `mint import` brings and what their
//! first request asks for are one sequence, or the request is refused. None begins at 1 beside it.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use mintage_e2e::engine::mariadb::Mariadb;
use mintage_e2e::engine::port;
use mintage_e2e::engine::postgres::Postgres;
use mintage_e2e::engine::redis::Redis;
use mintage_e2e::run::{self, Said};
use mintage_e2e::server::{Server, Start};
use mintage_e2e::store_suite::Engine as _;
use mintage_e2e::{http, resp};
use mintage_ledger::source::{Engine, SOURCES};
use mintage_testing::invariant;
use tempfile::TempDir;

/// Where every counter stands when it is imported.
const LAST: i64 = 5000;

/// How clients of the original ask.
#[derive(Clone, Copy, Debug)]
enum Way {
    /// A request to the face of this name.
    Web(&'static str, &'static str),
    /// A command of Redis to the face of this name.
    Redis(&'static str, &'static [&'static str]),
    /// Statements in the database `ids`; the number is what the last one shows.
    MySql(&'static str),
    Postgres(&'static str),
}

/// A kind of source with a counter whose last number is [`LAST`].
struct Row {
    engine: Engine,
    kind: &'static str,
    /// Statements, or commands one a line.
    make: &'static str,
    /// More words for `mint import`.
    words: &'static [&'static str],
    /// The first one gives a number.
    ways: &'static [Way],
}

const COSID_WAYS: &[Way] = &[
    Way::Web("cosid", "PATCH /segments/shop/orders?step=1"),
    Way::Web("cosid", "POST /segments/distributor/shop/orders?offset=0&step=10"),
    Way::Web("cosid", "PATCH /segments/shop/orders?step=100"),
    Way::Redis("resp", &["INCRBY", "cosid:{shop.orders}.adder", "100"]),
    Way::Redis("resp", &["INCR", "cosid:{shop.orders}.adder"]),
    Way::MySql(
        "update cosid set last_max_id=(last_max_id + 100),last_fetch_time=unix_timestamp() where name = 'shop.orders'; \
         select last_max_id from cosid where name = 'shop.orders'",
    ),
];

/// How an import is told of a table of somebody's own.
const OWN_TABLE: &[&str] = &[
    "--table",
    "counters",
    "--key-column",
    "name",
    "--column",
    "value",
    "--means",
    "last",
];

const ROWS: &[Row] = &[
    Row {
        engine: Engine::MySql,
        kind: "leaf",
        make: "CREATE TABLE leaf_alloc (biz_tag varchar(128) PRIMARY KEY, max_id bigint NOT NULL, step int NOT NULL, \
               description varchar(256), update_time timestamp); \
               INSERT INTO leaf_alloc VALUES ('orders', 5001, 10, 'x', now())",
        words: &[],
        ways: &[
            Way::Web("leaf", "GET /api/segment/get/orders"),
            Way::MySql(
                "UPDATE leaf_alloc SET max_id = max_id + step WHERE biz_tag = 'orders'; \
                 SELECT max_id FROM leaf_alloc WHERE biz_tag = 'orders'",
            ),
        ],
    },
    Row {
        engine: Engine::MySql,
        kind: "tinyid",
        make: "CREATE TABLE tiny_id_info (id bigint AUTO_INCREMENT PRIMARY KEY, biz_type varchar(63) UNIQUE, begin_id bigint \
               DEFAULT 0, max_id bigint, step int DEFAULT 10, delta int DEFAULT 1, remainder int DEFAULT 0, create_time \
               timestamp DEFAULT now(), update_time timestamp DEFAULT now(), version bigint DEFAULT 0); \
               CREATE TABLE tiny_id_token (id int AUTO_INCREMENT PRIMARY KEY, token varchar(255), biz_type varchar(63)); \
               INSERT INTO tiny_id_info (biz_type, max_id) VALUES ('orders', 5000)",
        words: &[],
        ways: &[
            Way::Web("tinyid", "GET /tinyid/id/nextIdSimple?bizType=orders&token=t"),
            Way::Web(
                "tinyid",
                "GET /tinyid/id/nextIdSimple?bizType=orders&token=t&batchSize=3",
            ),
        ],
    },
    Row {
        engine: Engine::MySql,
        kind: "cosid",
        make: "CREATE TABLE cosid (name varchar(100) PRIMARY KEY, last_max_id bigint unsigned NOT NULL, last_fetch_time \
               bigint unsigned NOT NULL); INSERT INTO cosid VALUES ('shop.orders', 5000, 0)",
        words: &[],
        ways: COSID_WAYS,
    },
    Row {
        engine: Engine::MySql,
        kind: "vitess",
        make: "CREATE TABLE orders (id int PRIMARY KEY, next_id bigint, cache bigint) COMMENT 'vitess_sequence'; \
               INSERT INTO orders VALUES (0, 5001, 10)",
        words: &[],
        ways: &[Way::MySql("SELECT NEXTVAL(orders)")],
    },
    Row {
        engine: Engine::MySql,
        kind: "idgo",
        make: "CREATE TABLE __idgo__ (k varchar(255) PRIMARY KEY); INSERT INTO __idgo__ VALUES ('orders'); \
               CREATE TABLE orders (id bigint unsigned NOT NULL AUTO_INCREMENT PRIMARY KEY); \
               INSERT INTO orders VALUES (5000)",
        words: &[],
        ways: &[
            Way::Redis("idgo", &["GET", "orders"]),
            Way::Redis("idgo", &["SET", "orders", "0"]),
            Way::Redis("idgo", &["INCR", "orders"]),
        ],
    },
    Row {
        engine: Engine::MySql,
        kind: "own",
        make: "CREATE TABLE counters (name varchar(64) PRIMARY KEY, value bigint); INSERT INTO counters VALUES ('orders', 5000)",
        words: OWN_TABLE,
        ways: &[Way::Web("http", "POST /v1/sequences/orders/next")],
    },
    Row {
        engine: Engine::Postgres,
        kind: "postgres",
        make: "CREATE SEQUENCE orders; SELECT setval('orders', 5000)",
        words: &[],
        ways: &[
            Way::Postgres("SELECT nextval('orders')"),
            Way::Postgres("SELECT nextval('public.orders')"),
            Way::Postgres("SELECT nextval('ORDERS')"),
        ],
    },
    Row {
        engine: Engine::Postgres,
        kind: "own",
        make: "CREATE TABLE counters (name text PRIMARY KEY, value bigint); INSERT INTO counters VALUES ('orders', 5000)",
        words: OWN_TABLE,
        ways: &[Way::Web("http", "POST /v1/sequences/orders/next")],
    },
    Row {
        engine: Engine::Redis,
        kind: "redis",
        make: "SET orders 5000",
        words: &[],
        ways: &[
            Way::Redis("resp", &["INCR", "orders"]),
            Way::Redis("resp", &["SET", "orders", "0", "NX"]),
            Way::Redis("resp", &["INCRBY", "orders", "10"]),
        ],
    },
    Row {
        engine: Engine::Redis,
        kind: "redis",
        make: "SET a\\b:{c} 5000",
        words: &[],
        ways: &[Way::Redis("resp", &["INCR", "a\\b:{c}"])],
    },
    Row {
        engine: Engine::Redis,
        kind: "redis",
        make: "SET cosid:{shop.orders}.adder 5000",
        words: &[],
        ways: COSID_WAYS,
    },
    Row {
        engine: Engine::MySql,
        kind: "mariadb",
        make: "CREATE SEQUENCE orders START WITH 5001",
        words: &[],
        ways: &[
            Way::MySql("SELECT NEXTVAL(orders)"),
            Way::MySql("SELECT NEXT VALUE FOR ids.orders"),
        ],
    },
    Row {
        engine: Engine::MySql,
        kind: "auto_increment",
        make: "CREATE TABLE orders (id bigint NOT NULL AUTO_INCREMENT PRIMARY KEY, n int); INSERT INTO orders VALUES (5000, 1)",
        words: &[],
        ways: &[
            Way::MySql("INSERT INTO orders (n) VALUES (1); SELECT LAST_INSERT_ID()"),
            Way::MySql("INSERT INTO ids.orders (n) VALUES (1), (2); SELECT LAST_INSERT_ID()"),
        ],
    },
    Row {
        engine: Engine::MySql,
        kind: "tickets",
        make: "CREATE TABLE Tickets64 (id bigint unsigned NOT NULL AUTO_INCREMENT PRIMARY KEY, stub char(1) NOT NULL UNIQUE); \
               INSERT INTO Tickets64 VALUES (5000, 'a')",
        words: &[],
        ways: &[
            Way::MySql("REPLACE INTO Tickets64 (stub) VALUES ('a'); SELECT LAST_INSERT_ID()"),
            Way::MySql("REPLACE INTO ids.Tickets64 (stub) VALUES ('a'); SELECT LAST_INSERT_ID()"),
        ],
    },
    Row {
        engine: Engine::MySql,
        kind: "uid-generator",
        make: WORKER_NODE,
        words: &[],
        ways: &[Way::MySql(
            "INSERT INTO WORKER_NODE (HOST_NAME, PORT, TYPE, LAUNCH_DATE, MODIFIED, CREATED) \
             VALUES ('h', '1', 2, now(), now(), now()); SELECT LAST_INSERT_ID()",
        )],
    },
];

const WORKER_NODE: &str = "CREATE TABLE WORKER_NODE (ID bigint AUTO_INCREMENT PRIMARY KEY, HOST_NAME varchar(64) NOT NULL, \
     PORT varchar(64) NOT NULL, TYPE int NOT NULL, LAUNCH_DATE date NOT NULL, MODIFIED timestamp DEFAULT now(), \
     CREATED timestamp DEFAULT now()); \
     INSERT INTO WORKER_NODE (ID, HOST_NAME, PORT, TYPE, LAUNCH_DATE) VALUES (5000, 'h', '1', 2, curdate())";

const FACES: [&str; 6] = ["leaf", "tinyid", "cosid", "idgo", "mysql", "postgres"];

/// A server with every face that has clients of an original, each of which makes what is asked for.
struct Lab {
    folder: TempDir,
    server: Server,
    at: Vec<(&'static str, SocketAddr)>,
}

impl Lab {
    fn new() -> Lab {
        let folder = tempfile::tempdir().unwrap();
        let at: Vec<_> = FACES.iter().map(|face| (*face, port::free())).collect();
        let face =
            |(face, at): &(&str, SocketAddr)| format!("[faces.{face}]\nlisten = \"{at}\"\ncreate = true\n");
        let config: String = at.iter().map(face).collect();
        fs::write(folder.path().join("mint.toml"), config).unwrap();
        let server = Start::in_folder(folder.path()).ready();
        Lab { folder, server, at }
    }

    fn import(&self, url: &str, words: &[&str]) -> Said {
        let server = self.server.url();
        let all = ["import", url, "--server", &server];
        run::mint(
            self.folder.path(),
            all.iter().copied().chain(words.iter().copied()),
        )
    }

    fn face(&self, name: &str) -> SocketAddr {
        match name {
            "http" => self.server.http,
            "resp" => self.server.resp,
            _ => self.at.iter().find(|(face, _)| *face == name).unwrap().1,
        }
    }

    /// What a client is answered.
    fn ask(&self, way: Way) -> String {
        match way {
            Way::Web(face, request) => {
                let (method, path) = request.split_once(' ').unwrap();
                http::exchange(self.face(face), method, path, "").unwrap().text()
            }
            Way::Redis(face, words) => {
                let mut client = resp::Resp::connect(self.face(face)).unwrap();
                match client.ask(words).unwrap() {
                    resp::Reply::Error(text) => format!("error: {text}"),
                    reply => reply
                        .int()
                        .map_or_else(|| reply.text().unwrap_or_default(), |n| n.to_string()),
                }
            }
            Way::MySql(sql) => {
                let mut client = Command::new("mariadb");
                client.args([
                    "--no-defaults",
                    "-h",
                    "127.0.0.1",
                    "-u",
                    "any",
                    "-N",
                    "-B",
                    "-D",
                    "ids",
                ]);
                client.args(["-P", &self.face("mysql").port().to_string(), "-e", sql]);
                said(client)
            }
            Way::Postgres(sql) => {
                let mut client = Command::new("psql");
                client.args(["-h", "127.0.0.1", "-U", "any", "-d", "any", "-Atc", sql]);
                client.args(["-p", &self.face("postgres").port().to_string()]);
                said(client)
            }
        }
    }

    /// The names of all sequences.
    fn names(&self) -> Vec<String> {
        let page = self.server.http("GET", "/v1/sequences", "").json();
        let all = page["sequences"].as_array().unwrap();
        all.iter()
            .map(|one| one["name"].as_str().unwrap().to_string())
            .collect()
    }
}

/// What a program printed; `error: …` where it failed.
fn said(command: Command) -> String {
    let said = run::with_input(command, b"");
    match said.code {
        0 => said.out,
        _ => format!("error: {}", said.err),
    }
}

/// The largest number of an answer; `None`: it is a refusal.
fn number(answer: &str) -> Option<i64> {
    let parts = answer.split(|c: char| !c.is_ascii_digit());
    let is_refusal = answer.starts_with("error") || answer.contains("\"code\"");
    (!is_refusal).then(|| parts.filter_map(|part| part.parse().ok()).max())?
}

/// Imports the counter of a row, and asks for numbers by every way of its clients.
fn check(row: &Row, url: &str, is_whole_server: bool) {
    let what = format!("{:?} {} {}", row.engine, row.kind, row.make);
    let lab = Lab::new();
    let said = lab.import(url, &[row.words, &["--apply"]].concat());
    assert_eq!(said.code, 0, "{what}: {said:?}");
    let imported = lab.names();
    assert_eq!(imported.len(), 1, "{what}: {imported:?}: {said:?}");
    for (at, way) in row.ways.iter().enumerate() {
        let answer = lab.ask(*way);
        let next = number(&answer);
        invariant!(
            next.is_none_or(|next| next > LAST || next == 0),
            "{what}: {way:?} begins anew: {answer}"
        );
        // Of a whole server the databases stand in the names, and clients that name none are refused.
        assert!(
            next.is_some() || at > 0 || is_whole_server,
            "{what}: {way:?} gives nothing: {answer}"
        );
        invariant!(
            lab.names() == imported,
            "{what}: {way:?} made {:?} beside {imported:?}",
            lab.names()
        );
    }
}

fn rows(engine: Engine) -> impl Iterator<Item = &'static Row> {
    ROWS.iter().filter(move |row| row.engine == engine)
}

#[test]
fn every_kind_of_source_has_a_row() {
    for kind in SOURCES.iter().filter(|kind| kind.engine != Engine::Memory) {
        let known = rows(kind.engine).any(|row| row.kind == kind.name);
        assert!(
            known,
            "by which requests do clients of {} ask for what was imported?",
            kind.name
        );
    }
}

/// An account that sees every database.
fn account(server: &Mariadb) -> String {
    server.admin(
        "",
        "CREATE OR REPLACE USER ann@'%' IDENTIFIED BY 'secret'; GRANT ALL ON *.* TO ann@'%'; \
         CREATE OR REPLACE DATABASE ids; CREATE OR REPLACE DATABASE other",
    );
    format!("mysql://ann:secret@{}", server.address())
}

// claim: P57
#[test]
fn imports_of_mariadb_are_what_its_clients_ask_for() {
    let Some(server) = Mariadb::borrow() else { return };
    let place = account(&server);
    for row in rows(Engine::MySql) {
        let again = format!("CREATE OR REPLACE DATABASE ids; USE ids; {}", row.make);
        server.admin("", &again);
        check(row, &format!("{}+{place}/ids", row.kind), false);
        if row.kind != "own" {
            server.admin("", &again);
            check(row, &format!("{}+{place}", row.kind), true);
        }
        // Found by looking, it is one kind of counter and no other.
        server.admin("", &again);
        if row.kind != "own" {
            check(row, &format!("{place}/ids"), false);
        }
    }
}

// claim: P57
#[test]
fn imports_of_postgresql_are_what_its_clients_ask_for() {
    let Some(server) = Postgres::borrow() else { return };
    for row in rows(Engine::Postgres) {
        server.admin("ids", &format!("SET ROLE mint; {}", row.make));
        let url = server.url(server.address());
        let kind = match row.kind {
            "postgres" => String::new(),
            kind => format!("{kind}+"),
        };
        check(row, &format!("{kind}{url}"), false);
        server.admin("ids", "DROP SEQUENCE IF EXISTS orders");
    }
}

// claim: P57
#[test]
fn imports_of_redis_are_what_its_clients_ask_for() {
    let Some(server) = Redis::run() else { return };
    for row in rows(Engine::Redis) {
        server.admin(&["FLUSHALL"]);
        server.admin(&row.make.split(' ').collect::<Vec<_>>());
        check(row, &server.url(server.address()), false);
    }
}

/// Fenced, no instance of the original could lease a machine number any more.
#[test]
fn what_cosid_and_yitter_lease_workers_by_is_left_alone() {
    let Some(server) = Redis::run() else { return };
    let url = server.url(server.address());
    server.admin(&["SET", "cosid:{shop.orders}.adder", "5000"]);
    server.admin(&["SET", "cosid:{m9}:adder", "7"]);
    server.admin(&["HSET", "cosid:{m9}:itc_idx", "web", "3|1577203200000"]);
    server.admin(&["SET", "IdGen:WorkerId:Index", "7"]);
    let lab = Lab::new();
    for key in ["cosid:{m9}:adder", "cosid:{m9}:itc_idx", "IdGen:WorkerId:Index"] {
        let said = lab.import(&url, &["--match", key, "--apply"]);
        assert_eq!(said.code, 1, "{key}: {said:?}");
        assert!(
            said.out.contains("mint pool create") && said.out.contains("--avoid-from"),
            "{said:?}"
        );
    }
    let said = lab.import(&url, &["--apply"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(
        said.err.contains("left out: cosid:{m9}:adder")
            && said.err.contains("left out: IdGen:WorkerId:Index"),
        "{said:?}"
    );
    assert_eq!(lab.names(), ["cosid:shop.orders"]);
    assert_eq!(server.admin(&["INCR", "cosid:{m9}:adder"]).trim(), "8");
    assert_eq!(server.admin(&["INCR", "IdGen:WorkerId:Index"]).trim(), "8");
    let doctor = run::mint(lab.folder.path(), ["doctor", &url]);
    assert!(!doctor.out.contains("cosid:{m9}:adder"), "{doctor:?}");
}

/// The keys of a plan, and what could not be looked at.
fn planned(folder: &Path, lab: &Lab, url: &str, words: &[&str]) -> (Vec<String>, Said) {
    let said = lab.import(url, &[&["--json"], words].concat());
    let keys = said.out.lines().map(|line| {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        format!(
            "{} {}",
            line["kind"].as_str().unwrap(),
            line["key"].as_str().unwrap()
        )
    });
    let mut keys: Vec<String> = keys.collect();
    keys.sort();
    assert!(folder.exists());
    (keys, said)
}

#[test]
fn a_url_that_names_a_database_means_that_one_and_each_of_its_counters_once() {
    let Some(server) = Mariadb::borrow() else { return };
    let place = account(&server);
    for kind in ["leaf", "tinyid", "cosid", "mariadb", "tickets", "uid-generator"] {
        let row = rows(Engine::MySql).find(|row| row.kind == kind).unwrap();
        server.admin("ids", &row.make.replace("SEQUENCE orders", "SEQUENCE bills"));
        server.admin("other", &row.make.replace("SEQUENCE orders", "SEQUENCE bills"));
    }
    let idgo = rows(Engine::MySql).find(|row| row.kind == "idgo").unwrap();
    server.admin("ids", idgo.make);
    let lab = Lab::new();
    let (keys, said) = planned(lab.folder.path(), &lab, &format!("{place}/ids"), &[]);
    let expected = [
        "cosid shop.orders",
        "idgo orders",
        "leaf orders",
        "mariadb ids.bills",
        "tickets ids.Tickets64",
        "tinyid orders",
        "uid-generator ids.WORKER_NODE.ID",
    ];
    assert_eq!(keys, expected, "{said:?}");
    let (all, said) = planned(lab.folder.path(), &lab, &place, &[]);
    let of_other = all.iter().filter(|key| key.contains(" other.")).count();
    assert_eq!(
        (all.len(), of_other),
        (expected.len() * 2 - 1, expected.len() - 1),
        "{said:?}"
    );
    // The workers end where their bits do.
    let workers = lab.import(
        &format!("uid-generator+{place}/ids"),
        &["--json", "--worker-bits", "20"],
    );
    let line: serde_json::Value = serde_json::from_str(workers.out.trim()).unwrap();
    assert_eq!(
        (&line["name"], &line["definition"]["max"]),
        (&"WORKER_NODE".into(), &"1048575".into())
    );
}

/// What the original leaves behind for every SET that failed.
#[test]
fn a_broken_row_is_told_and_the_others_are_moved() {
    let Some(server) = Mariadb::borrow() else { return };
    let place = account(&server);
    let idgo = rows(Engine::MySql).find(|row| row.kind == "idgo").unwrap();
    let leaf = rows(Engine::MySql).find(|row| row.kind == "leaf").unwrap();
    server.admin("ids", idgo.make);
    server.admin("ids", leaf.make);
    let long = "x".repeat(70);
    server.admin(
        "ids",
        &format!(
            "INSERT INTO __idgo__ VALUES ('{long}'), ('select'), (' '), ('a`b'), ('../x'), ('nothing'), ('a.b'); \
             INSERT INTO leaf_alloc VALUES (' ', 7, 1, '', now()), ('{long}xx', 7, 1, '', now())"
        ),
    );
    let lab = Lab::new();
    let said = lab.import(&format!("{place}/ids"), &["--match", "orders", "--apply"]);
    assert_eq!(lab.names(), ["idgo:orders", "leaf:orders"], "{said:?}");
    let (keys, said) = planned(lab.folder.path(), &lab, &format!("idgo+{place}/ids"), &[]);
    assert!(keys.contains(&"idgo orders".to_string()), "{said:?}");
    assert!(
        said.err.contains("xxx") && said.err.contains("select") && said.err.contains("nothing"),
        "{said:?}"
    );
}
