//! Random histories of one sequence by every face and the command, on every kind of store: taken from by several clients at
//! once and changed meanwhile, beside a client that sends nonsense. No number comes twice in any life of the name, every
//! answer is numbers or a refusal, the server has no defect and stays small.
//!
//! Covers: crates/server/src/faces, crates/ledger/src/sequence, crates/ledger/src/striped
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use mintage_e2e::engine::postgres::Postgres;
use mintage_e2e::engine::redis::Redis;
use mintage_e2e::need::say;
use mintage_e2e::run;
use mintage_e2e::server::{Server, Start};
use mintage_e2e::store_suite::{Engine, make_set};
use mintage_testing::ways::{Dice, NAME, SETTINGS, WAYS, Way, change, flags, numbers};
use mintage_testing::wire::Wire;
use mintage_testing::{Runs, invariant, nonsense};

/// Clients of each server that take and change at once.
const CLIENTS: u64 = 2;
/// Requests that a client has under way at most.
const BATCH: u64 = 48;
/// What the process may take, whatever is asked.
const MEMORY_MAX: u64 = 256 << 20;

/// How many operations a history has: `MINT_TEST_OPERATIONS=1000000 cargo xtask test histories` is the deep run's.
fn operations() -> u64 {
    std::env::var("MINT_TEST_OPERATIONS").map_or(1_000_000, |n| n.parse().unwrap())
}

fn start(folder: &Path, store: &[&str]) -> Server {
    fs::write(folder.join("mint.toml"), SETTINGS).unwrap();
    let start = Start::in_folder(folder).patient().args(flags());
    start.args(store.iter().copied()).ready()
}

/// Where a server has a face; gRPC is where HTTP is.
pub(crate) fn address(server: &Server, face: &str) -> SocketAddr {
    match face {
        "http" | "grpc" => server.http,
        "resp" => server.resp,
        _ => server.ready["faces"][face][0].as_str().unwrap().parse().unwrap(),
    }
}

fn faces(server: &Server) -> BTreeMap<&'static str, SocketAddr> {
    WAYS.iter().map(|way| (way.0, address(server, way.0))).collect()
}

/// What came of the operations of one face.
#[derive(Clone, Copy, Default)]
struct Count {
    asked: u64,
    numbers: u64,
    refused: u64,
}

/// What all clients share.
struct Shared {
    given: Mutex<Runs>,
    counts: Mutex<BTreeMap<&'static str, Count>>,
    /// Operations that are still to be done.
    left: AtomicU64,
    changes: AtomicU64,
}

/// A client of one server.
struct Client<'a> {
    folder: &'a Path,
    server: &'a Server,
    faces: BTreeMap<&'static str, SocketAddr>,
    wires: BTreeMap<&'static str, Wire>,
    dice: Dice,
    all: &'a Shared,
}

impl Client<'_> {
    fn run(&mut self) {
        loop {
            let batch = 1 + self.dice.below(BATCH);
            let left = |left: u64| left.checked_sub(batch);
            if self
                .all
                .left
                .fetch_update(Ordering::SeqCst, Ordering::SeqCst, left)
                .is_err()
            {
                return;
            }
            match self.dice.below(60) {
                0 => self.command(),
                1..=6 => self.change(),
                _ => {}
            }
            let face = self.dice.pick(WAYS).0;
            let of_face: Vec<&Way> = WAYS.iter().filter(|way| way.0 == face).collect();
            let ways: Vec<&Way> = (0..batch).map(|_| *self.dice.pick(&of_face)).collect();
            let requests: Vec<&str> = ways.iter().map(|way| way.1).collect();
            let answers = self.ask(face, &requests);
            for (way, answer) in ways.iter().zip(&answers) {
                self.account(face, numbers(way, answer), answer);
            }
        }
    }

    fn ask(&mut self, face: &'static str, requests: &[&str]) -> Vec<String> {
        let at = self.faces[face];
        let connect = || Wire::connect(face, at).unwrap();
        let answers = self.wires.entry(face).or_insert_with(connect).ask(requests);
        answers.unwrap_or_else(|error| panic!("{face}: {error} after {requests:?}"))
    }

    /// Every answer is numbers, which nobody was told before, or a refusal.
    fn account(&self, face: &'static str, told: Option<Vec<i64>>, answer: &str) {
        let mut counts = self.all.counts.lock().unwrap();
        let count = counts.entry(face).or_default();
        count.asked += 1;
        match told {
            Some(told) => {
                count.numbers += told.len() as u64;
                self.all.given.lock().unwrap().extend(told);
            }
            None => {
                count.refused += 1;
                assert!(is_refusal(face, answer), "{face} answered {answer:?}");
            }
        }
    }

    fn change(&mut self) {
        let (face, request) = change(&mut self.dice);
        let answer = self.ask(face, &[&request]).remove(0);
        if !answer.starts_with('-') {
            self.all.changes.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// The command takes some, or changes the sequence.
    fn command(&mut self) {
        let url = self.server.url();
        let words = match self.dice.below(3) {
            0 => format!("seq next {NAME} --count 4 --server {url}"),
            1 => format!("seq alter {NAME} --increment 1 --server {url}"),
            _ => format!("seq set {NAME} {} --server {url}", self.dice.below(2_000)),
        };
        let said = run::mint(self.folder, words.split(' '));
        let takes = words.starts_with("seq next");
        match said.code {
            0 if takes => {
                let told = said.out.lines().map(|line| line.parse().unwrap());
                self.account("mint", Some(told.collect()), "");
            }
            0 => {
                self.all.changes.fetch_add(1, Ordering::SeqCst);
            }
            2 | 3 if said.err.starts_with("error: ") => self.account("mint", None, "-"),
            _ => panic!("{words}: {said:?}"),
        }
    }
}

/// Whether an answer without numbers says so in the words of its face.
fn is_refusal(face: &str, answer: &str) -> bool {
    match face {
        // Whatever goes wrong, tinyid's server answers 200; idgo has nothing under a key that is not there.
        "tinyid" => answer.is_empty() || answer.starts_with('-') || answer.contains("\"data\":null"),
        "idgo" => answer.starts_with('-') || answer == "$-1",
        _ => answer.starts_with('-'),
    }
}

/// One history on these servers of one store.
fn history(what: &str, folder: &Path, servers: &[Server], operations: u64) {
    let made = servers[0].http("PUT", &format!("/v1/sequences/{NAME}"), "{}");
    assert_eq!(made.status, 201, "{}", made.text());
    let all = Shared {
        given: Mutex::new(Runs::of(what)),
        counts: Mutex::default(),
        left: AtomicU64::new(operations),
        changes: AtomicU64::new(0),
    };
    let places: Vec<SocketAddr> = servers
        .iter()
        .flat_map(|server| faces(server).into_values())
        .collect();
    let sent = nonsense::beside(&places, 1, || {
        std::thread::scope(|scope| {
            for (at, server) in servers.iter().enumerate() {
                for client in 0..CLIENTS {
                    let mut client = Client {
                        folder,
                        server,
                        faces: faces(server),
                        wires: BTreeMap::new(),
                        dice: Dice(1 + at as u64 * CLIENTS + client),
                        all: &all,
                    };
                    scope.spawn(move || client.run());
                }
            }
        });
    });
    let changes = all.changes.into_inner();
    let table = table(what, &all.counts.into_inner().unwrap());
    let given = all.given.into_inner().unwrap();
    say(&format!(
        "{table}{what}: {} numbers in {} runs, none twice; {changes} changes, {sent} times nonsense, {} MiB at most",
        given.count(),
        given.runs(),
        servers.iter().map(memory).max().unwrap() >> 20,
    ));
    assert!(
        given.count() > operations,
        "{what}: {} numbers show little",
        given.count()
    );
    assert!(
        changes > operations / 10_000,
        "{what}: {changes} changes show little"
    );
    for server in servers {
        invariant!(
            memory(server) < MEMORY_MAX,
            "{what}: {} bytes of memory",
            memory(server)
        );
        let metrics = server.http("GET", "/metrics", "").text();
        let defects = metrics.lines().find(|line| line.contains("\"internal\""));
        invariant!(
            defects.is_none_or(|line| line.ends_with(" 0")),
            "{what}: {defects:?}"
        );
    }
}

fn table(what: &str, counts: &BTreeMap<&'static str, Count>) -> String {
    let mut table = format!("| {what} | asked | numbers | refused |\n| --- | --- | --- | --- |\n");
    for (
        face,
        Count {
            asked,
            numbers,
            refused,
        },
    ) in counts
    {
        writeln!(table, "| {face} | {asked} | {numbers} | {refused} |").unwrap();
    }
    table
}

/// The most memory that a server has had so far, in bytes.
fn memory(server: &Server) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap();
    let mut lines = status.lines();
    let line = lines.find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
}

/// Two servers on a store, each in a folder of its own.
fn two(folder: &Path, store: &str) -> [Server; 2] {
    ["0", "1"].map(|node| {
        let own = folder.join(node);
        fs::create_dir(&own).unwrap();
        start(&own, &["--store", store])
    })
}

// claim: P1, P7, P20
#[test]
fn no_history_of_a_server_on_its_folder_gives_out_a_number_twice() {
    let folder = tempfile::tempdir().unwrap();
    let servers = [start(folder.path(), &[])];
    history("the folder", folder.path(), &servers, operations());
}

// claim: P1, P7, P20
#[test]
fn no_history_of_two_servers_on_redis_gives_out_a_number_twice() {
    let Some(store) = Redis::run() else { return };
    let folder = tempfile::tempdir().unwrap();
    let url = store.url(store.address());
    run::patient_mint(folder.path(), ["init", "--store", &url]).ok();
    history(
        "Redis",
        folder.path(),
        &two(folder.path(), &url),
        operations() / 20,
    );
}

// claim: P1, P7, P20
#[test]
fn no_history_of_two_servers_on_postgresql_gives_out_a_number_twice() {
    let Some(store) = Postgres::borrow() else { return };
    let folder = tempfile::tempdir().unwrap();
    let url = store.url(store.address());
    run::patient_mint(folder.path(), ["init", "--store", &url]).ok();
    history(
        "PostgreSQL",
        folder.path(),
        &two(folder.path(), &url),
        operations() / 20,
    );
}

// claim: P1, P7, P20
#[test]
fn no_history_of_two_servers_on_a_set_of_stores_gives_out_a_number_twice() {
    let (Some(first), Some(second)) = (Redis::run(), Redis::run()) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let set = make_set(folder.path(), &[&first, &second]);
    history(
        "a set",
        folder.path(),
        &two(folder.path(), &set),
        operations() / 20,
    );
}
