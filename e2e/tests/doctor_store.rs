//! `mint doctor --store`: what is wrong with the server of a store of ours is found before `mint init`, nothing is
//! written there, and the statement that is printed mends it.
#![allow(clippy::unwrap_used)]

use std::fs;

use mintage_e2e::engine::etcd::Etcd;
use mintage_e2e::engine::mariadb::Mariadb;
use mintage_e2e::engine::postgres::Postgres;
use mintage_e2e::engine::process::pause;
use mintage_e2e::engine::redis::Redis;
use mintage_e2e::engine::zookeeper::ZooKeeper;
use mintage_e2e::run;
use mintage_e2e::server::Start;
use mintage_e2e::store_suite::{Engine, OWNER_PASSWORD};
use mintage_testing::no_secret_in;
use serde_json::Value;
use tempfile::tempdir;

/// The exit code and the document.
fn looked(url: &str, more: &[&str]) -> (i32, Value) {
    let folder = tempdir().unwrap();
    let args = [&["doctor", "--store", url, "--json", "--timeout", "30s"], more].concat();
    let said = run::mint(folder.path(), args);
    no_secret_in("mint doctor --store", &said.out, OWNER_PASSWORD);
    let document = serde_json::from_str(&said.out);
    (said.code, document.unwrap_or_else(|_| panic!("{said:?}")))
}

/// The settings that are so bad.
fn of_severity(document: &Value, severity: &str) -> Vec<Value> {
    let settings = document["settings"].as_array().unwrap().iter();
    settings
        .filter(|one| one["severity"] == severity)
        .cloned()
        .collect()
}

/// Every error of a server comes with the statement that mends it.
fn mended<E: Engine>(engine: &E, wrong: usize, set: impl Fn(&E, &str)) {
    let url = engine.url(engine.address());
    let (code, document) = looked(&url, &[]);
    assert_eq!((code, &document["class"]), (1, &"L".into()), "{document}");
    let errors = of_severity(&document, "error");
    assert_eq!(errors.len(), wrong, "{document}");
    for error in &errors {
        assert!(
            document["why"]
                .as_str()
                .unwrap()
                .contains(error["text"].as_str().unwrap()),
            "{document}"
        );
        set(engine, error["fix"].as_str().unwrap());
    }
    let mut last = looked(&url, &[]);
    // Some are done only a moment later.
    for _ in 0..2000 {
        if last.0 == 0 {
            break;
        }
        pause();
        last = looked(&url, &[]);
    }
    assert_eq!((last.0, &last.1["class"]), (0, &"D".into()), "{}", last.1);
}

#[test]
fn what_redis_may_forget_is_found_and_mended_by_what_is_printed() {
    let settings = [
        ["--appendonly", "no"],
        ["--appendfsync", "everysec"],
        ["--no-appendfsync-on-rewrite", "yes"],
        ["--maxmemory", "100mb"],
        ["--maxmemory-policy", "allkeys-lru"],
    ];
    let Some(redis) = Redis::with_settings(settings.as_flattened()) else {
        return;
    };
    mended(&redis, 4, |redis, fix| {
        let words: Vec<&str> = fix.split(' ').collect();
        redis.admin(&words);
    });
    assert_eq!(redis.admin(&["DBSIZE"]).trim(), "0", "a look writes nothing");
    let replica = redis.replica(redis.address());
    let (code, document) = looked(&redis.url(redis.address()), &[]);
    assert_eq!(code, 1, "{document}");
    let bounds = of_severity(&document, "warn");
    assert_eq!(bounds[0]["name"], "min-replicas-to-write", "{document}");
    // A replica is no store, and is told so.
    let folder = tempdir().unwrap();
    let url = replica.url(replica.address());
    let said = run::mint(folder.path(), ["doctor", "--store", &url]);
    assert!(said.code == 3 && said.err.contains("it is a replica"), "{said:?}");
}

#[test]
fn what_mariadb_may_forget_is_found_and_mended_by_what_is_printed() {
    let settings = [
        "--innodb-flush-log-at-trx-commit=2",
        "--log-bin=b",
        "--server-id=1",
        "--sync-binlog=0",
    ];
    let Some(mariadb) = Mariadb::with_settings(&settings) else {
        return;
    };
    mended(&mariadb, 2, |mariadb, fix| drop(mariadb.admin("ids", fix)));
    assert_eq!(
        mariadb.admin("ids", "SHOW TABLES").trim(),
        "",
        "a look writes nothing"
    );
}

#[test]
fn what_postgresql_may_forget_is_found_and_mended_by_what_is_printed() {
    let Some(postgres) = Postgres::run() else { return };
    let set = |postgres: &Postgres, fix: &str| {
        // Statement by statement: ALTER SYSTEM is none for a transaction.
        for statement in fix.split("  --").next().unwrap().split(';') {
            postgres.admin("ids", statement);
        }
    };
    set(
        &postgres,
        "ALTER SYSTEM SET full_page_writes = off; ALTER SYSTEM SET fsync = off; SELECT pg_reload_conf()",
    );
    while postgres.admin("ids", "SHOW fsync").trim() != "off" {
        pause();
    }
    mended(&postgres, 2, set);
    let tables = "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'";
    assert_eq!(postgres.admin("ids", tables).trim(), "0", "a look writes nothing");
    // A standby that confirms nothing is a failover that is refused.
    let url = postgres.url(postgres.address());
    let mut standby = postgres.replica("r1");
    let (code, document) = looked(&url, &["--fail-on", "warn"]);
    let warned = of_severity(&document, "warn");
    assert_eq!((code, warned.len()), (1, 1), "{document}");
    set(&postgres, warned[0]["fix"].as_str().unwrap());
    while looked(&url, &["--fail-on", "warn"]).1["class"] != "S" {
        pause();
    }
    assert_eq!(looked(&url, &["--fail-on", "warn"]).0, 0);
    // One that is named and away holds up every write.
    standby.stop();
    while of_severity(&looked(&url, &[]).1, "warn").is_empty() {
        pause();
    }
    let (_, document) = looked(&url, &[]);
    let away = &of_severity(&document, "warn")[0];
    assert_eq!(away["name"], "standbys attached", "{document}");
    assert!(
        away["text"]
            .as_str()
            .unwrap()
            .contains("every write waits for r1"),
        "{document}"
    );
}

#[test]
fn clusters_tell_how_many_vote_and_what_cannot_be_seen() {
    let engines: [Option<Box<dyn Engine>>; 2] = [
        Etcd::run().map(|one| Box::new(one) as Box<dyn Engine>),
        ZooKeeper::run().map(|one| Box::new(one) as Box<dyn Engine>),
    ];
    for engine in engines.into_iter().flatten() {
        let (code, document) = looked(&engine.url(engine.address()), &[]);
        assert_eq!((code, &document["class"]), (0, &"D".into()), "{document}");
        let notes = of_severity(&document, "info");
        assert!(
            notes[0]["name"].as_str().unwrap().starts_with("voting "),
            "{document}"
        );
        assert!(
            notes.last().unwrap()["text"]
                .as_str()
                .unwrap()
                .contains("cannot be seen"),
            "{document}"
        );
    }
}

#[test]
fn a_server_on_class_l_says_why_when_it_is_asked_whether_it_is_ready() {
    let Some(redis) = Redis::with_settings(&["--appendfsync", "everysec"]) else {
        return;
    };
    let folder = tempdir().unwrap();
    let url = redis.url(redis.address());
    let settings = format!("[store]\nurl = {url:?}\nallow_lossy = true\n");
    fs::write(folder.path().join("mint.toml"), settings).unwrap();
    // The store of a configuration is looked at by its name alone.
    let said = run::mint(folder.path(), ["doctor", "--config", "mint.toml"]);
    assert_eq!(said.code, 1, "{said:?}");
    assert!(
        said.out
            .contains("fix appendfsync  CONFIG SET appendfsync always"),
        "{said:?}"
    );
    no_secret_in("mint doctor --config", &said.out, OWNER_PASSWORD);
    run::mint(folder.path(), ["init", "--config", "mint.toml"]).ok();
    let server = Start::in_folder(folder.path())
        .args(["--config", "mint.toml"])
        .ready();
    let notes = server.http("GET", "/readyz", "").json()["notes"].clone();
    let told = notes
        .as_array()
        .unwrap()
        .iter()
        .any(|note| note == "store of class L: appendfsync is everysec");
    assert!(told, "{notes}");
}
