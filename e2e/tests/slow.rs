//! A store that is only slow does no harm: every answer of every kind of store as late as docs/outage.md promises, and
//! all connections made anew meanwhile.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use mintage_e2e::cluster::eventually;
use mintage_e2e::engine;
use mintage_e2e::proxy::{Fault, Proxy};
use mintage_e2e::run;
use mintage_e2e::server::{Server, Start};
use mintage_e2e::store_suite::Engine;
use mintage_testing::rising;

/// How late docs/outage.md says that an answer may be with the default timeouts.
fn late(kind: &str) -> Duration {
    match kind {
        "redis" | "etcd" => Duration::from_millis(900),
        _ => Duration::from_millis(600),
    }
}

/// All times are so many times as long here, the timeouts and how late answers are, so that what a busy machine adds is
/// little beside them.
const SLOWER: u32 = 2;

/// What a client that never stops asking has seen.
#[derive(Debug, Default)]
struct Seen {
    numbers: Vec<i64>,
    refusals: Vec<String>,
}

/// Asks for numbers of one name until it is told to end.
fn client(server: &Server, ended: Arc<AtomicBool>) -> thread::JoinHandle<Seen> {
    let mut redis = server.redis();
    thread::spawn(move || {
        let mut seen = Seen::default();
        while !ended.load(Ordering::SeqCst) {
            let answer = redis.ask(&["INCR", "busy"]).unwrap();
            match answer.int() {
                Some(number) => seen.numbers.push(number),
                None => seen.refusals.push(format!("{answer:?}")),
            }
            thread::sleep(Duration::from_millis(5));
        }
        seen
    })
}

/// Whether a name that no server has heard of is served: that needs the store, there and then.
fn serves_a_new_name(server: &Server, name: &str) -> bool {
    server.redis().ask(&["INCR", name]).unwrap().int().is_some()
}

fn stays_useful_over_a_slow_path(engine: &mut dyn Engine) {
    let kind = engine.scheme();
    let folder = tempfile::tempdir().unwrap();
    run::patient_mint(folder.path(), ["init", "--store", &engine.url(engine.address())]).ok();
    let proxy = Proxy::to(engine.address());
    let url = engine.url(proxy.address());
    let start = |name: &str| {
        let home = folder.path().join(name);
        std::fs::create_dir_all(&home).unwrap();
        let timeout_s = 2 * SLOWER;
        let settings = format!(
            "[store]\nurl = {url:?}\nrequest_timeout = \"{timeout_s}s\"\nconnect_timeout = \"{timeout_s}s\"\n"
        );
        std::fs::write(home.join("mint.toml"), settings).unwrap();
        Start::in_folder(&home).args(["--config", "mint.toml"]).ready()
    };
    let server = start("first");
    let ended = Arc::new(AtomicBool::new(false));
    let client = client(&server, ended.clone());
    // Its rate is steady, so that it owns what it needs for a minute.
    eventually("a minute's stock", || {
        let page = String::from_utf8(server.http("GET", "/metrics", "").body).unwrap();
        let left = page
            .lines()
            .find_map(|line| line.strip_prefix("mint_budget_left_seconds "));
        left.is_some_and(|left| left.parse::<f64>().unwrap() > 30.0)
    });

    proxy.set(Fault::DelayAnswers(SLOWER * late(kind)));
    eventually(kind, || serves_a_new_name(&server, "late"));
    // As after a restart of the store: everything about the connection is asked anew, slowly.
    proxy.cut_all();
    eventually(kind, || serves_a_new_name(&server, "afresh"));
    eventually(kind, || {
        server.http("GET", "/readyz", "").json()["store"]["up"] == true
    });
    // And a server that starts now.
    let second = start("second");
    eventually(kind, || serves_a_new_name(&second, "started"));
    proxy.set(Fault::Pass);

    ended.store(true, Ordering::SeqCst);
    let seen = client.join().unwrap();
    assert_eq!(seen.refusals, Vec::<String>::new(), "{kind}");
    rising(kind, seen.numbers);
    for server in [server, second] {
        assert_eq!(server.stop(), 0, "{kind}: a clean stop");
    }
}

#[test]
#[ignore = "minutes: every store, slowly"]
fn a_store_that_is_only_slow_does_no_harm() {
    let wanted = std::env::var("MINT_TEST_SLOW_ON").ok();
    let runs: Vec<_> = engine::ALL
        .iter()
        .filter(|(name, _)| {
            wanted
                .as_ref()
                .is_none_or(|wanted| wanted.split(',').any(|one| one == *name))
        })
        .filter_map(|(_, start)| start())
        .map(|mut engine| thread::spawn(move || stays_useful_over_a_slow_path(&mut *engine)))
        .collect();
    // All are looked at before one fails the test.
    let ended: Vec<_> = runs.into_iter().map(thread::JoinHandle::join).collect();
    assert!(ended.iter().all(Result::is_ok), "see above");
}
