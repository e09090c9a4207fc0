//! A server that is killed while its store is away starts on its journal, and joins when the store is back.
//!
//! Covers: crates/server/src/opening.rs, crates/ledger/src/ledger/away.rs
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use mintage_e2e::cluster::eventually;
use mintage_e2e::engine;
use mintage_e2e::run;
use mintage_e2e::server::{Server, Start};
use mintage_e2e::store_suite::Engine;
use mintage_testing::distinct;

/// A server with a state folder of its own.
fn start(folder: &Path, name: &str, url: &str) -> Start {
    let home = folder.join(name);
    std::fs::create_dir_all(&home).unwrap();
    let state = home.join("state");
    let settings = format!("[store]\nurl = {url:?}\nstate_folder = {state:?}\n");
    std::fs::write(home.join("mint.toml"), settings).unwrap();
    Start::in_folder(&home).args(["--config", "mint.toml"])
}

/// Takes single numbers until it is told to end; every one must be there.
fn client(server: &Server, ended: Arc<AtomicBool>) -> thread::JoinHandle<Vec<i64>> {
    let mut redis = server.redis();
    thread::spawn(move || {
        let mut numbers = Vec::new();
        while !ended.load(Ordering::SeqCst) {
            let answer = redis.ask(&["INCR", "orders"]).unwrap();
            numbers.push(answer.int().unwrap_or_else(|| panic!("{answer:?}")));
            thread::sleep(Duration::from_millis(5));
        }
        numbers
    })
}

/// As many numbers as it is asked for.
fn take(server: &Server, count: usize) -> Vec<i64> {
    let mut redis = server.redis();
    let mut next = || redis.ask(&["INCR", "orders"]).unwrap();
    (0..count)
        .map(|_| {
            let answer = next();
            answer.int().unwrap_or_else(|| panic!("{answer:?}"))
        })
        .collect()
}

fn owns_some(server: &Server) {
    eventually("a minute's stock", || {
        let page = String::from_utf8(server.http("GET", "/metrics", "").body).unwrap();
        let left = page
            .lines()
            .find_map(|line| line.strip_prefix("mint_budget_left_seconds "));
        left.is_some_and(|left| left.parse::<f64>().unwrap() > 30.0)
    });
}

fn starts_without_its_store(engine: &mut dyn Engine) {
    let folder = tempfile::tempdir().unwrap();
    let url = engine.url(engine.address());
    run::mint(folder.path(), ["init", "--store", &url]).ok();
    let first = start(folder.path(), "first", &url);
    let (server, second) = (first.ready(), start(folder.path(), "second", &url).ready());
    let ended = Arc::new(AtomicBool::new(false));
    let clients = [&server, &second].map(|server| client(server, Arc::clone(&ended)));
    owns_some(&server);
    owns_some(&second);
    ended.store(true, Ordering::SeqCst);
    let mut numbers: Vec<i64> = clients
        .into_iter()
        .flat_map(|client| client.join().unwrap())
        .collect();

    engine.kill();
    numbers.extend(take(&server, 100));
    server.kill();
    // Twice: what the first one gave out is not given out again.
    for _ in 0..2 {
        let server = first.ready();
        numbers.extend(take(&server, 500));
        numbers.extend(take(&second, 100));
        let ready = server.http("GET", "/readyz", "");
        let document = ready.json();
        assert_eq!(
            (ready.status, &document["store"]["up"]),
            (200, &false.into()),
            "{document}"
        );
        assert!(
            server.log().contains("began without the store, on the journal"),
            "{}",
            server.log()
        );
        // What it does not own.
        let refused = server.redis().ask(&["INCR", "new"]).unwrap();
        assert!(format!("{refused:?}").contains("TRYAGAIN"), "{refused:?}");
        assert_eq!(server.http("POST", "/v1/ids/snowflake", "").status, 503);
        server.kill();
    }
    // A machine that owns nothing is refused as ever.
    let refused = start(folder.path(), "third", &url).refused();
    assert_eq!(refused.code, 3, "{refused:?}");
    assert!(refused.err.contains("cannot open store"), "{refused:?}");

    let server = first.ready();
    numbers.extend(take(&server, 100));
    engine.start();
    eventually("the store is joined", || {
        server.log().contains("this process has joined the others there")
    });
    eventually("a new name is served", || {
        server.redis().ask(&["INCR", "new"]).unwrap().int().is_some()
    });
    for _ in 0..3 {
        numbers.extend(take(&server, 1000));
        numbers.extend(take(&second, 1000));
    }
    distinct(engine.scheme(), numbers);
    for server in [server, second] {
        assert_eq!(server.stop(), 0, "a clean stop");
    }
}

// claim: P34
#[test]
fn a_server_that_was_killed_in_an_outage_starts_without_its_store_and_repeats_nothing() {
    let runs: Vec<_> = engine::ALL
        .iter()
        .filter(|(name, _)| ["postgres", "redis"].contains(name))
        .filter_map(|(_, start)| start())
        .map(|mut engine| thread::spawn(move || starts_without_its_store(&mut *engine)))
        .collect();
    // All are looked at before one fails the test.
    let ended: Vec<_> = runs.into_iter().map(thread::JoinHandle::join).collect();
    assert!(ended.iter().all(Result::is_ok), "see above");
}
