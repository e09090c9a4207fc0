//! Killed again and again under load, the server never repeats an id and never loses more than it promises.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use mintage_e2e::need::say;
use mintage_e2e::random::Random;
use mintage_e2e::resp::{Reply, Resp, encode};
use mintage_e2e::server::{Server, Start};
use mintage_testing::{distinct, invariant};

/// Numbers that one crash may lose, unless a sequence says otherwise.
const MAX_GAP: i64 = 100_000;
/// Fewer kills than this prove too little.
const KILLS_MIN: u64 = 200;

/// What one client asks for, over and over.
struct Load {
    name: &'static str,
    command: &'static [&'static str],
    /// Commands sent before the first reply is read.
    pipeline: usize,
    clients: usize,
}

const BOUNDED: usize = 0;
const GAP_FREE: usize = 1;
const LOADS: [Load; 4] = [
    Load {
        name: "INCR",
        command: &["INCR", "orders"],
        pipeline: 8,
        clients: 2,
    },
    Load {
        name: "gap-free INCR",
        command: &["INCR", "invoices"],
        pipeline: 4,
        clients: 2,
    },
    Load {
        name: "snowflake",
        command: &["MINT.SNOWFLAKE", "default", "COUNT", "16"],
        pipeline: 2,
        clients: 2,
    },
    Load {
        name: "uuid v7",
        command: &["MINT.ID", "uuid7", "COUNT", "16"],
        pipeline: 2,
        clients: 1,
    },
];

/// The server that clients should talk to now.
struct Target {
    now: Mutex<Now>,
    /// Replies have come, another server has, or the end.
    changed: Condvar,
}

#[derive(Clone, Copy)]
struct Now {
    generation: u64,
    address: SocketAddr,
    /// Replies received from this generation.
    replies: u64,
    /// Everybody stops: the work is done, or a client failed.
    done: bool,
    failed: bool,
}

impl Target {
    fn change(&self, change: impl FnOnce(&mut Now)) -> Now {
        let mut now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut now);
        self.changed.notify_all();
        *now
    }

    fn wait_until(&self, holds: impl Fn(&Now) -> bool) -> Now {
        let now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        *self
            .changed
            .wait_while(now, |now| !holds(now))
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ids that one client received, by the generation of the server that gave them.
type Received = Vec<(u64, String)>;

// claim: P2, P22, P24
#[test]
fn no_kill_repeats_an_id_or_loses_more_than_promised() {
    let kills: u64 = std::env::var("MINT_TEST_KILLS")
        .ok()
        .and_then(|k| k.parse().ok())
        .unwrap_or(KILLS_MIN);
    let folder = tempfile::tempdir().unwrap();
    let start = Start::in_folder(folder.path());
    let server = start.ready();
    let made = server.http("PUT", "/v1/sequences/invoices", r#"{"gap":"none"}"#);
    assert!(made.status < 300, "{made:?}");

    let begin = Now {
        generation: 0,
        address: server.resp,
        replies: 0,
        done: false,
        failed: false,
    };
    let target = Target {
        now: Mutex::new(begin),
        changed: Condvar::new(),
    };
    let (server, received): (Server, Vec<(usize, Received)>) = thread::scope(|scope| {
        let clients: Vec<_> = LOADS
            .iter()
            .enumerate()
            .flat_map(|(at, load)| std::iter::repeat_n((at, load), load.clients))
            .map(|(at, load)| (at, scope.spawn(|| client(load, &target))))
            .collect();
        // Whatever fails below, the clients must end, or the scope would wait for them.
        let finish = Finish(&target);
        let server = kill_again_and_again(&start, server, &target, kills);
        drop(finish);
        let received = clients
            .into_iter()
            .map(|(at, c)| (at, c.join().unwrap()))
            .collect();
        (server, received)
    });
    for (at, load) in LOADS.iter().enumerate() {
        let ids: Vec<&(u64, String)> = received
            .iter()
            .filter(|(a, _)| *a == at)
            .flat_map(|(_, r)| r)
            .collect();
        check_unique(load.name, &ids);
        if at == BOUNDED || at == GAP_FREE {
            check_losses(load, &ids, if at == BOUNDED { MAX_GAP } else { 0 });
        }
    }
    assert_eq!(server.stop(), 0);
    assert!(
        kills >= KILLS_MIN,
        "{kills} kills are too few, at least {KILLS_MIN}"
    );
}

/// Kills the server after a random number of replies and starts the next one, `kills` times; gives the last.
fn kill_again_and_again(start: &Start, mut server: Server, target: &Target, kills: u64) -> Server {
    let mut random = Random::announced("kill loop");
    let (mut starts, mut interrupted) = (Vec::new(), 0);
    for generation in 1..=kills {
        // Not a time but a number of replies: the moment differs, the load is always there.
        let enough = 100 + random.below(1500);
        let seen = target.wait_until(|now| now.replies >= enough || now.failed);
        assert!(!seen.failed, "a client failed");
        server.kill();
        // Now and then the next one is killed while it starts.
        while random.below(10) == 0 {
            let starting = start.spawn();
            for _ in 0..random.below(1000) {
                thread::yield_now();
            }
            starting.kill();
            interrupted += 1;
        }
        server = start.ready();
        target.change(|now| {
            *now = Now {
                generation,
                address: server.resp,
                replies: 0,
                ..*now
            }
        });
        starts.push(first_reply(&server));
    }
    starts.sort();
    say(&format!(
        "kill loop: {kills} kills under load, {interrupted} while starting; exec to first good reply: \
         median {:?}, worst {:?}",
        starts[starts.len() / 2],
        starts[starts.len() - 1]
    ));
    server
}

/// Ends everybody's work when it goes, however it goes.
struct Finish<'a>(&'a Target);

impl Drop for Finish<'_> {
    fn drop(&mut self) {
        let failed = thread::panicking();
        self.0
            .change(|now| (now.done, now.failed) = (true, now.failed || failed));
    }
}

/// Asks until told to stop, following the server to its next address when it dies.
fn client(load: &Load, target: &Target) -> Received {
    let finish = Finish(target);
    let mut received = Vec::new();
    let request = encode(load.command).repeat(load.pipeline);
    let mut now = target.wait_until(|_| true);
    while !now.done {
        if let Ok(mut connection) = Resp::connect(now.address) {
            loop {
                let mut replies = 0;
                let answered = exchange(&mut connection, &request, load.pipeline, |reply| {
                    take_ids(load.name, reply, now.generation, &mut received);
                    replies += 1;
                });
                // Counted for the server that gave them, not for one that has come meanwhile.
                let generation = now.generation;
                let seen = target
                    .change(|now| now.replies += if now.generation == generation { replies } else { 0 });
                if answered.is_err() || seen.done {
                    break;
                }
            }
        }
        // It died; the next one is on its way.
        let generation = now.generation;
        now = target.wait_until(|now| now.generation > generation || now.done);
    }
    // Only a panic is the end for the others too.
    std::mem::forget(finish);
    received
}

fn exchange(to: &mut Resp, request: &[u8], replies: usize, mut each: impl FnMut(&Reply)) -> io::Result<()> {
    to.send(request)?;
    for _ in 0..replies {
        each(&to.reply()?);
    }
    Ok(())
}

fn take_ids(name: &str, reply: &Reply, generation: u64, into: &mut Received) {
    match reply {
        Reply::Array(ids) => ids.iter().for_each(|id| take_ids(name, id, generation, into)),
        Reply::Error(text) => panic!("{name}: {text}"),
        id => into.push((generation, id.text().expect("an id is a number or a text"))),
    }
}

/// From starting the program to the first number it gives.
fn first_reply(server: &Server) -> Duration {
    let began = std::time::Instant::now();
    let reply = server.redis().ask(&["INCR", "probe"]).unwrap();
    assert!(reply.int().is_some(), "{reply:?}");
    server.ready_after + began.elapsed()
}

fn check_unique(name: &str, ids: &[&(u64, String)]) {
    distinct(name, ids.iter().map(|(_, id)| id));
    say(&format!("kill loop: {name}: {} ids, no repeat", ids.len()));
}

/// Between one server and the next at most `max_gap` numbers are lost, besides those whose replies were on
/// their way; and numbers never go back.
fn check_losses(load: &Load, ids: &[&(u64, String)], max_gap: i64) {
    let mut ends: BTreeMap<u64, (i64, i64)> = BTreeMap::new();
    for (generation, id) in ids {
        let n: i64 = id.parse().unwrap();
        let (low, high) = ends.entry(*generation).or_insert((n, n));
        (*low, *high) = ((*low).min(n), (*high).max(n));
    }
    let in_flight = (load.pipeline * load.clients) as i64;
    let mut lost: Vec<i64> = Vec::new();
    for ((before, (_, last)), (after, (first, _))) in ends.iter().zip(ends.iter().skip(1)) {
        let crashes = (after - before) as i64;
        let gap = first - last - 1;
        invariant!(
            gap >= 0,
            "{}: {first} in generation {after} after {last} in {before}",
            load.name
        );
        invariant!(
            gap <= crashes * (max_gap + in_flight),
            "{}: lost {gap} in {crashes} crashes",
            load.name
        );
        lost.push(gap);
    }
    lost.sort_unstable();
    say(&format!(
        "kill loop: {}: numbers lost from one server that answered to the next: median {}, worst {} (allowed {max_gap} \
         a kill, and {in_flight} replies on their way)",
        load.name,
        lost[lost.len() / 2],
        lost[lost.len() - 1]
    ));
}

// claim: P23
#[test]
fn a_name_used_three_times_loses_a_few_numbers_by_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let start = Start::in_folder(folder.path());
    let server = start.ready();
    let mut client = server.redis();
    for n in 1..=3 {
        assert_eq!(client.ask(&["INCR", "orders"]).unwrap(), Reply::Int(n));
    }
    server.kill();
    let next = start
        .ready()
        .redis()
        .ask(&["INCR", "orders"])
        .unwrap()
        .int()
        .unwrap();
    invariant!((4..=8).contains(&next), "{next}");
}

// claim: P25
#[test]
fn a_clean_stop_gives_unused_numbers_and_windows_back() {
    let folder = tempfile::tempdir().unwrap();
    let start = Start::in_folder(folder.path());
    let mut expected = 0;
    for _ in 0..3 {
        let server = start.ready();
        let mut client = server.redis();
        for _ in 0..500 {
            expected += 1;
            let reply = client.ask(&["INCR", "orders"]).unwrap();
            invariant!(
                reply == Reply::Int(expected),
                "{reply:?} where {expected} is next"
            );
        }
        client.ask(&["MINT.SNOWFLAKE", "default"]).unwrap();
        assert_eq!(server.stop(), 0);
    }
}

#[test]
fn a_stop_answers_what_was_read_and_then_refuses_connections() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Start::in_folder(folder.path()).ready();
    let mut client = server.redis();
    client.send(&encode(&["INCR", "orders"]).repeat(1000)).unwrap();
    assert_eq!(client.reply().unwrap(), Reply::Int(1));
    server.terminate();
    // Every reply that comes is the next number; then the connection ends.
    let mut last = 1;
    while let Ok(reply) = client.reply() {
        last += 1;
        invariant!(reply == Reply::Int(last), "{reply:?} where {last} is next");
    }
    assert_eq!(server.wait(), 0);
    assert!(Resp::connect(server.resp).is_err());
    let again = Start::in_folder(folder.path()).ready();
    let next = again.redis().ask(&["INCR", "orders"]).unwrap().int();
    invariant!(next > Some(last), "{next:?} after {last}");
}
