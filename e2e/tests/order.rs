//! Numbers come in order: servers that are killed one after another under clients of all of them, where a gap-free number
//! that was asked for after another one had been answered is greater, whichever servers gave the two; and mixtures of
//! single numbers, many and runs on one connection, which rise on every store.
//!
//! `MINT_TEST_FAILOVERS` is how many servers are killed on each store (default 4).
#![allow(clippy::unwrap_used)]

use std::collections::{HashMap, HashSet};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use mintage_e2e::cluster::eventually;
use mintage_e2e::engine::etcd::Etcd;
use mintage_e2e::engine::mariadb::Mariadb;
use mintage_e2e::engine::postgres::Postgres;
use mintage_e2e::engine::redis::Redis;
use mintage_e2e::engine::zookeeper::ZooKeeper;
use mintage_e2e::need::say;
use mintage_e2e::random::Random;
use mintage_e2e::resp::{Reply, Resp};
use mintage_e2e::run;
use mintage_e2e::server::{Server, Start, two_servers};
use mintage_e2e::store_suite::{Engine, make_set};
use mintage_testing::invariant;

const NODES: usize = 3;
/// How long a client waits between two numbers.
const PACE: Duration = Duration::from_millis(1);

/// A number, when it was asked for, and when it was there.
struct Got {
    asked: Instant,
    there: Instant,
    number: i64,
}

/// A server as its client sees it.
#[derive(Default)]
struct Face {
    address: Mutex<Option<SocketAddr>>,
    served: AtomicU64,
}

// claim: P18
#[test]
#[ignore = "minutes: many kills"]
fn gap_free_numbers_are_in_order_across_killed_servers_on_redis() {
    check(Redis::run());
}

// claim: P18
#[test]
#[ignore = "minutes: a failover again and again"]
fn gap_free_numbers_are_in_order_across_killed_servers_on_postgres() {
    check(Postgres::borrow());
}

// claim: P18
#[test]
#[ignore = "minutes: a failover again and again"]
fn gap_free_numbers_are_in_order_across_killed_servers_on_mariadb() {
    check(Mariadb::borrow());
}

// claim: P18
#[test]
#[ignore = "minutes: a failover again and again"]
fn gap_free_numbers_are_in_order_across_killed_servers_on_etcd() {
    check(Etcd::borrow());
}

// claim: P18
#[test]
#[ignore = "minutes: a failover again and again"]
fn gap_free_numbers_are_in_order_across_killed_servers_on_zookeeper() {
    check(ZooKeeper::borrow());
}

// claim: P16
#[test]
fn mixtures_rise_on_one_connection_on_redis() {
    mixtures_on(Redis::run());
}

// claim: P16
#[test]
#[ignore = "minutes: every store, slowly"]
fn mixtures_rise_on_one_connection_on_postgres() {
    mixtures_on(Postgres::borrow());
}

// claim: P16
#[test]
#[ignore = "minutes: every store, slowly"]
fn mixtures_rise_on_one_connection_on_mariadb() {
    mixtures_on(Mariadb::borrow());
}

// claim: P16
#[test]
#[ignore = "minutes: every store, slowly"]
fn mixtures_rise_on_one_connection_on_etcd() {
    mixtures_on(Etcd::borrow());
}

// claim: P16
#[test]
#[ignore = "minutes: every store, slowly"]
fn mixtures_rise_on_one_connection_on_zookeeper() {
    mixtures_on(ZooKeeper::borrow());
}

// claim: P16
#[test]
fn mixtures_rise_on_one_connection_on_the_embedded_store() {
    let folder = tempfile::tempdir().unwrap();
    let server = Start::in_folder(folder.path()).ready();
    mixtures("the embedded store", &[server], true);
}

// claim: P16
#[test]
fn mixtures_rise_on_one_connection_on_a_set() {
    let (Some(first), Some(second)) = (Redis::run(), Redis::run()) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let set = make_set(folder.path(), &[&first, &second]);
    let servers = two_servers(folder.path(), &set);
    mixtures("a set", &servers, false);
}

#[track_caller]
fn mixtures_on(engine: Option<impl Engine>) {
    let Some(engine) = engine else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let url = engine.url(engine.address());
    run::patient_mint(folder.path(), ["init", "--store", &url]).ok();
    // As the attack found it: 1, a run of 3000, and then 2.
    let servers = two_servers(folder.path(), &url);
    let mut resp = servers[0].redis();
    let mut last = 0;
    for words in [
        &["INCR", "first"][..],
        &["INCRBY", "first", "3000"],
        &["INCR", "first"],
    ] {
        let number = resp.ask(words).unwrap().int().unwrap();
        invariant!(number > last, "{words:?} answered {number} after {last}");
        last = number;
    }
    mixtures(engine.scheme(), &servers, true);
}

/// Clients of every server mix all ways to take, one after the other; each sees numbers that rise (fall, where the
/// increment is negative), and none is seen twice.
#[track_caller]
fn mixtures(store: &str, servers: &[Server], runs: bool) {
    let mut random = Random::announced(&format!("mixtures on {store}"));
    let definitions = [
        ("rising", "{}"),
        ("falling", r#"{"increment":"-3"}"#),
        ("small", r#"{"max_gap":20}"#),
        ("free", r#"{"gap":"none"}"#),
    ];
    for (name, definition) in definitions {
        let made = servers[0].http("PUT", &format!("/v1/sequences/{name}"), definition);
        assert!(made.status < 300, "{made:?}");
    }
    let all: Mutex<HashSet<(&str, i64)>> = Mutex::default();
    thread::scope(|scope| {
        for (at, server) in servers.iter().enumerate() {
            for client in 0..2 {
                let all = &all;
                // Each goes its own way from the one seed.
                random.below(2);
                let random = random.clone();
                let who = format!("{store}, server {at}, client {client}");
                scope.spawn(move || one_client(&who, server, random, runs, &definitions.map(|d| d.0), all));
            }
        }
    });
    say(&format!(
        "order: {store} | mixtures | {} numbers",
        lock(&all).len()
    ));
}

fn one_client(
    who: &str,
    server: &Server,
    mut random: Random,
    runs: bool,
    names: &[&'static str],
    all: &Mutex<HashSet<(&'static str, i64)>>,
) {
    let mut resp = server.redis();
    let mut last: HashMap<&str, i64> = HashMap::new();
    for _ in 0..300 {
        let name = names[random.below(names.len() as u64) as usize];
        let sign = if name == "falling" { -1 } else { 1 };
        let step = if name == "falling" { 3 } else { 1 };
        let n = 1 + random.below([5, 60, 3000][random.clone().below(3) as usize]);
        let way = random.below(if runs { 5 } else { 3 });
        // What one client is answered, as runs of consecutive numbers.
        let got: Vec<(i64, i64)> = match way {
            0 => vec![resp.ask(&["INCR", name]).unwrap().int().unwrap()]
                .into_iter()
                .map(|k| (k, k))
                .collect(),
            1 => {
                let Reply::Array(numbers) = resp.ask(&["MINT.NEXT", name, "COUNT", &n.to_string()]).unwrap()
                else {
                    panic!("{who}: no array");
                };
                numbers
                    .iter()
                    .map(|k| (k.int().unwrap(), k.int().unwrap()))
                    .collect()
            }
            2 => {
                let answer = server.http("POST", &format!("/v1/sequences/{name}/next?count={n}"), "");
                assert_eq!(answer.status, 200, "{who}: {answer:?}");
                let ids = answer.json()["ids"].as_array().unwrap().clone();
                ids.iter()
                    .map(|id| id.as_str().unwrap().parse::<i64>().unwrap())
                    .map(|k| (k, k))
                    .collect()
            }
            3 => {
                // Of steps of 3 it has no run: the client would reckon other numbers.
                let n = if step == 1 { n } else { 1 };
                let end = resp.ask(&["INCRBY", name, &n.to_string()]).unwrap();
                let end = end.int().unwrap_or_else(|| panic!("{who}: {name} {n}: {end:?}"));
                vec![(end - sign * step * (n as i64 - 1), end)]
            }
            _ => {
                let answer = server.http(
                    "POST",
                    &format!("/v1/sequences/{name}/next?count={n}&as=range"),
                    "",
                );
                assert_eq!(answer.status, 200, "{who}: {answer:?}");
                let range = answer.json();
                let number = |field: &str| range[field].as_str().unwrap().parse::<i64>().unwrap();
                vec![(number("first"), number("last"))]
            }
        };
        for (first, end) in got {
            if let Some(before) = last.insert(name, end) {
                // Gap-free numbers of a set may fall when its server changes the store, as a slow one makes it do.
                let may_fall = || name == "free" && !runs && server.log().contains("from another store");
                invariant!(
                    (first - before) * sign > 0 || may_fall(),
                    "{who}: {name} answered {first} after {before} (way {way}, {n})"
                );
            }
            let mut all = lock(all);
            for number in (0..=(end - first) / (sign * step)).map(|k| first + k * sign * step) {
                invariant!(all.insert((name, number)), "{who}: {name}: {number} twice");
            }
        }
    }
}

#[track_caller]
fn check(engine: Option<impl Engine>) {
    let Some(engine) = engine else {
        return;
    };
    let failovers: usize = std::env::var("MINT_TEST_FAILOVERS").map_or(4, |n| n.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let url = engine.url(engine.address());
    run::patient_mint(folder.path(), ["init", "--store", &url]).ok();
    let starts: Vec<Start> = (0..NODES)
        .map(|node| {
            let own = folder.path().join(node.to_string());
            std::fs::create_dir(&own).unwrap();
            // Five stores at once on a busy machine: a slow one is no finding here.
            let patience = [
                "MINT_STORE__CONNECT_TIMEOUT=30s",
                "MINT_STORE__REQUEST_TIMEOUT=30s",
            ];
            Start::in_folder(&own)
                .args(["--store", &url])
                .under(["env"].into_iter().chain(patience))
        })
        .collect();
    let mut servers: Vec<Server> = starts.iter().map(Start::ready).collect();
    let made = servers[0].http("PUT", "/v1/sequences/invoices", r#"{"gap":"none"}"#);
    assert!(made.status < 300, "{made:?}");
    let faces: Vec<Face> = servers.iter().map(face).collect();
    let done = AtomicBool::new(false);
    let mut got: Vec<Got> = thread::scope(|scope| {
        let end = End(&done);
        let clients: Vec<_> = faces
            .iter()
            .map(|face| scope.spawn(|| take_until(face, &done)))
            .collect();
        all_serve(&faces);
        for failover in 0..failovers {
            let at = failover % NODES;
            *lock(&faces[at].address) = None;
            let dead = servers.remove(at);
            dead.kill();
            let others: Vec<&Face> = (0..NODES)
                .filter(|node| *node != at)
                .map(|node| &faces[node])
                .collect();
            all_serve(others);
            let server = starts[at].ready();
            *lock(&faces[at].address) = Some(server.resp);
            servers.insert(at, server);
            all_serve([&faces[at]]);
        }
        drop(end);
        clients
            .into_iter()
            .flat_map(|client| client.join().unwrap())
            .collect()
    });
    in_order(&mut got);
    say(&format!(
        "order: {} | {failovers} servers killed | {} numbers",
        engine.scheme(),
        got.len()
    ));
}

/// Everything that was asked for after a number was there is greater than it.
#[track_caller]
fn in_order(got: &mut [Got]) {
    let mut by_end: Vec<(Instant, i64)> = got.iter().map(|g| (g.there, g.number)).collect();
    by_end.sort_unstable();
    got.sort_unstable_by_key(|g| g.asked);
    let (mut ended, mut greatest) = (by_end.iter().peekable(), i64::MIN);
    for next in got.iter() {
        while let Some((_, number)) = ended.next_if(|(there, _)| *there < next.asked) {
            greatest = greatest.max(*number);
        }
        invariant!(
            next.number > greatest,
            "{} was asked for when {greatest} was there already",
            next.number
        );
    }
}

fn face(server: &Server) -> Face {
    Face {
        address: Mutex::new(Some(server.resp)),
        served: AtomicU64::new(0),
    }
}

/// Each of these gives out fifty more.
#[track_caller]
fn all_serve<'a>(faces: impl IntoIterator<Item = &'a Face>) {
    let goals: Vec<(&Face, u64)> = faces
        .into_iter()
        .map(|face| (face, face.served.load(Ordering::SeqCst) + 50))
        .collect();
    for (face, goal) in goals {
        eventually("everybody who lives serves", || {
            face.served.load(Ordering::SeqCst) >= goal
        });
    }
}

/// Asks for one number after another, of whatever server has the address.
fn take_until(face: &Face, done: &AtomicBool) -> Vec<Got> {
    let mut got = Vec::new();
    let mut connection: Option<(SocketAddr, Resp)> = None;
    while !done.load(Ordering::SeqCst) {
        let address = *lock(&face.address);
        if connection.as_ref().map(|(known, _)| *known) != address {
            connection = address.and_then(|address| Some((address, Resp::connect(address).ok()?)));
        }
        thread::sleep(PACE);
        let Some((_, resp)) = &mut connection else {
            continue;
        };
        let asked = Instant::now();
        match resp.ask(&["INCR", "invoices"]) {
            Ok(Reply::Int(number)) => {
                let there = Instant::now();
                got.push(Got { asked, there, number });
                face.served.fetch_add(1, Ordering::SeqCst);
            }
            // All servers write one record: somebody may lose too often.
            Ok(Reply::Error(_)) => {}
            Ok(other) => panic!("{other:?}"),
            // It was killed: what was not received was not given out to anybody.
            Err(_) => connection = None,
        }
    }
    got
}

/// Ends the clients when it goes, however it goes.
struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
