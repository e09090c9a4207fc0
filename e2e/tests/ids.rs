//! Ids in bulk out of four servers on one store, all of them looked at: none is received twice, and every stream is in
//! order.
//!
//! `MINT_TEST_IDS` is how many in all (default 3,000,000): half snowflakes, half numbers, and one UUID in fifty.
#![allow(clippy::unwrap_used)]

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::ops::RangeInclusive;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use mintage_e2e::engine::redis::Redis;
use mintage_e2e::need::say;
use mintage_e2e::run;
use mintage_e2e::server::{Server, Start};
use mintage_e2e::store_suite::Engine;
use mintage_testing::{invariant, rising};

const NODES: usize = 4;
/// Ids of one request: the most that a server gives unless configured.
const COUNT: usize = 10_000;
const WORKER_BITS: u32 = 6;
const SEQUENCE_BITS: u32 = 16;

/// What one client received: runs of consecutive values, and every UUID.
#[derive(Default)]
struct Received {
    numbers: Vec<RangeInclusive<u64>>,
    /// Worker, time and counter, in this order.
    places: Vec<RangeInclusive<u64>>,
    uuids: Vec<u128>,
}

// claim: P1, P11
#[test]
fn no_id_of_several_servers_is_received_twice() {
    let wanted: usize = std::env::var("MINT_TEST_IDS").map_or(3_000_000, |n| n.parse().unwrap());
    let Some(engine) = Redis::run() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let url = engine.url(engine.address());
    run::patient_mint(folder.path(), ["init", "--store", &url]).ok();
    let layout = format!("time=41,worker={WORKER_BITS},sequence={SEQUENCE_BITS}");
    run::mint(
        folder.path(),
        ["pool", "create", "bulk", "--layout", &layout, "--store", &url],
    )
    .ok();
    let servers: Vec<Server> = (0..NODES)
        .map(|node| {
            let own = folder.path().join(node.to_string());
            std::fs::create_dir(&own).unwrap();
            Start::in_folder(&own).args(["--store", &url]).ready()
        })
        .collect();
    let rounds = wanted.div_ceil(2 * NODES * COUNT);
    let barrier = Barrier::new(NODES);
    let received: Vec<Received> = thread::scope(|scope| {
        let clients: Vec<_> = servers
            .iter()
            .map(|server| {
                let barrier = &barrier;
                scope.spawn(move || {
                    barrier.wait();
                    take(server.http, rounds).unwrap()
                })
            })
            .collect();
        clients.into_iter().map(|client| client.join().unwrap()).collect()
    });
    let numbers = checked("number", received.iter().map(|r| &r.numbers));
    let places = checked("snowflake", received.iter().map(|r| &r.places));
    let mut uuids: Vec<u128> = received.iter().flat_map(|r| &r.uuids).copied().collect();
    uuids.sort_unstable();
    rising("sorted UUIDs", &uuids);
    say(&format!(
        "ids checked: {} = {numbers} numbers, {places} snowflakes, {} UUIDs of {NODES} servers",
        numbers + places + uuids.len() as u64,
        uuids.len()
    ));
    for server in servers {
        assert_eq!(server.stop(), 0, "a clean stop");
    }
}

fn take(server: SocketAddr, rounds: usize) -> io::Result<Received> {
    let mut connection = Bulk::connect(server)?;
    let mut received = Received::default();
    let (mut body, mut last_uuid) = (Vec::new(), 0);
    for round in 0..rounds {
        connection.ask("/v1/sequences/orders/next", &mut body)?;
        gather(&mut received.numbers, words(&body));
        connection.ask("/v1/snowflakes/bulk", &mut body)?;
        gather(&mut received.places, words(&body).map(place));
        if round % 25 == 0 {
            connection.ask("/v1/ids/uuid7", &mut body)?;
            for bytes in body.chunks_exact(16) {
                let uuid = u128::from_be_bytes(bytes.try_into().expect("sixteen of them"));
                invariant!(uuid > last_uuid, "{uuid:x} after {last_uuid:x} of one server");
                last_uuid = uuid;
                received.uuids.push(uuid);
            }
        }
    }
    Ok(received)
}

fn words(body: &[u8]) -> impl Iterator<Item = u64> {
    body.chunks_exact(8)
        .map(|bytes| u64::from_be_bytes(bytes.try_into().expect("eight of them")))
}

/// A snowflake with its worker in front, so that what one worker mints is consecutive.
fn place(id: u64) -> u64 {
    let counter = id & ((1 << SEQUENCE_BITS) - 1);
    let worker = id >> SEQUENCE_BITS & ((1 << WORKER_BITS) - 1);
    let time = id >> (SEQUENCE_BITS + WORKER_BITS);
    worker << 57 | time << SEQUENCE_BITS | counter
}

/// Appends to runs of consecutive values; within a connection they increase.
fn gather(runs: &mut Vec<RangeInclusive<u64>>, values: impl Iterator<Item = u64>) {
    for value in values {
        match runs.last_mut() {
            Some(run) if *run.end() + 1 == value => *run = *run.start()..=value,
            before => {
                let after = before.is_none_or(|run| *run.end() < value);
                invariant!(after, "{value} after {:?} on one connection", runs.last());
                runs.push(value..=value);
            }
        }
    }
}

/// How many there are; panics where two are equal.
fn checked<'a>(what: &str, streams: impl Iterator<Item = &'a Vec<RangeInclusive<u64>>>) -> u64 {
    let mut runs: Vec<&RangeInclusive<u64>> = streams.flatten().collect();
    runs.sort_unstable_by_key(|run| *run.start());
    for pair in runs.windows(2) {
        invariant!(
            pair[0].end() < pair[1].start(),
            "{what}s of {:?} and {:?} were received twice",
            pair[0],
            pair[1]
        );
    }
    runs.iter().map(|run| run.end() - run.start() + 1).sum()
}

/// A connection that is kept and answers in bytes.
struct Bulk(BufReader<TcpStream>);

impl Bulk {
    fn connect(to: SocketAddr) -> io::Result<Bulk> {
        let stream = TcpStream::connect(to)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(60)))?;
        Ok(Bulk(BufReader::with_capacity(1 << 18, stream)))
    }

    fn ask(&mut self, path: &str, body: &mut Vec<u8>) -> io::Result<()> {
        self.ask_since(path, body, Instant::now())
    }

    fn ask_since(&mut self, path: &str, body: &mut Vec<u8>, since: Instant) -> io::Result<()> {
        let request = format!(
            "POST {path}?count={COUNT} HTTP/1.1\r\nhost: localhost\r\naccept: application/octet-stream\r\n\
             content-length: 0\r\n\r\n"
        );
        self.0.get_mut().write_all(request.as_bytes())?;
        let (mut status, mut length) = (String::new(), 0);
        self.0.read_line(&mut status)?;
        loop {
            let mut line = String::new();
            self.0.read_line(&mut line)?;
            if let Some(given) = line.strip_prefix("content-length: ") {
                length = given.trim_end().parse().map_err(io::Error::other)?;
            }
            if line.trim_end().is_empty() {
                break;
            }
        }
        body.resize(length, 0);
        self.0.read_exact(body)?;
        if status.starts_with("HTTP/1.1 503 ") && since.elapsed() < Duration::from_secs(60) {
            // A store that is slow for a moment is no finding here.
            std::thread::sleep(Duration::from_millis(50));
            return self.ask_since(path, body, since);
        }
        assert!(
            status.starts_with("HTTP/1.1 200 ") && matches!(length / COUNT, 8 | 16),
            "{path}: {status}{}",
            String::from_utf8_lossy(body)
        );
        Ok(())
    }
}
