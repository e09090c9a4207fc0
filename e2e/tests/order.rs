//! Servers that are killed one after another under clients of all of them: a gap-free number that was asked for after
//! another one had been answered is greater, whichever servers gave the two.
//!
//! `MINT_TEST_FAILOVERS` is how many servers are killed on each store (default 4).
#![allow(clippy::unwrap_used)]

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
use mintage_e2e::resp::{Reply, Resp};
use mintage_e2e::run;
use mintage_e2e::server::{Server, Start};
use mintage_e2e::store_suite::Engine;

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

#[test]
fn gap_free_numbers_are_in_order_across_killed_servers_on_redis() {
    check(Redis::run());
}

#[test]
fn gap_free_numbers_are_in_order_across_killed_servers_on_postgres() {
    check(Postgres::run());
}

#[test]
fn gap_free_numbers_are_in_order_across_killed_servers_on_mariadb() {
    check(Mariadb::run());
}

#[test]
fn gap_free_numbers_are_in_order_across_killed_servers_on_etcd() {
    check(Etcd::run());
}

#[test]
fn gap_free_numbers_are_in_order_across_killed_servers_on_zookeeper() {
    check(ZooKeeper::run());
}

#[track_caller]
fn check(engine: Option<impl Engine>) {
    let Some(engine) = engine else {
        return;
    };
    let failovers: usize = std::env::var("MINT_TEST_FAILOVERS").map_or(4, |n| n.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let url = engine.url(engine.address());
    run::mint(folder.path(), ["init", "--store", &url]).ok();
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
        assert!(
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
