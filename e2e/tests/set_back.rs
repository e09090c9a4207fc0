//! Shared stores that are set back with their own tools, under `mint serve` as operators run it: every server that
//! remembers refuses, one that knows tells the others, and after the command that the refusal names no number
//! repeats.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::time::{Duration, Instant};

use mintage_e2e::cluster::Row;
use mintage_e2e::engine::etcd::Etcd;
use mintage_e2e::engine::mariadb::Mariadb;
use mintage_e2e::engine::postgres::Postgres;
use mintage_e2e::engine::redis::Redis;
use mintage_e2e::engine::zookeeper::ZooKeeper;
use mintage_e2e::run;
use mintage_e2e::server::{Server, Start};
use mintage_e2e::sql::template::copy;
use mintage_e2e::store_suite::Engine;
use mintage_testing::Distinct;
use tempfile::TempDir;

const LOST: &str = "has lost what it acknowledged";
const COMMAND: &str = "mint store restore --advance N --store ";

/// Numbers given out before the store is saved, and after.
const BEFORE: u64 = 30;
const AFTER: u64 = 300;

/// An ordinary sequence, a gap-free one, and one that is taken in runs.
const ASKED: [(&[&str], u64); 3] = [
    (&["INCR", "orders"], 1),
    (&["INCR", "bills"], 1),
    (&["INCRBY", "lots", "100"], 100),
];

/// One store, machines around it, and every number that a client was given.
struct Lab<E> {
    engine: E,
    url: String,
    machines: Vec<TempDir>,
    given: Distinct<(usize, i64)>,
}

impl<E: Engine> Lab<E> {
    fn new(engine: E) -> Lab<E> {
        let url = engine.url(engine.address());
        Lab::at(engine, url)
    }

    fn at(engine: E, url: String) -> Lab<E> {
        let mut lab = Lab {
            engine,
            url,
            machines: Vec::new(),
            given: Distinct::default(),
        };
        let first = lab.machine();
        lab.mint(first, &["init"]);
        lab.mint(first, &["seq", "create", "bills", "--gap", "none"]);
        lab
    }

    /// One more machine, which knows nothing.
    fn machine(&mut self) -> usize {
        self.machines.push(tempfile::tempdir().unwrap());
        self.machines.len() - 1
    }

    fn folder(&self, machine: usize) -> &Path {
        self.machines[machine].path()
    }

    #[track_caller]
    fn mint(&self, machine: usize, words: &[&str]) -> String {
        run::patient_mint(self.folder(machine), [words, &["--store", &self.url]].concat()).ok()
    }

    fn start(&self, machine: usize) -> Start {
        Start::in_folder(self.folder(machine)).args(["--store", &self.url])
    }

    /// Takes so many of each, waiting for a store that is away; none may have been given out before.
    #[track_caller]
    fn take(&mut self, server: &Server, count: u64) {
        let mut redis = server.redis();
        for _ in 0..count {
            for at in 0..ASKED.len() {
                let until = Instant::now() + Duration::from_secs(60);
                while !self.try_take(&mut redis, at) {
                    assert!(Instant::now() < until, "it does not serve again");
                }
            }
        }
    }

    /// Takes one of `ASKED`; whether it was answered.
    #[track_caller]
    fn try_take(&mut self, redis: &mut mintage_e2e::resp::Resp, at: usize) -> bool {
        let (words, run) = ASKED[at];
        let Some(last) = redis.ask(words).ok().and_then(|reply| reply.int()) else {
            return false;
        };
        for number in last - run as i64 + 1..=last {
            self.given.add((at, number));
        }
        true
    }

    #[track_caller]
    fn refuses(&self, machine: usize) {
        let said = self.start(machine).refused();
        assert!(
            said.code > 0 && said.code < 124,
            "it must refuse to start: {said:?}"
        );
        let lines = said.err.lines();
        let refusal: Vec<&str> = lines
            .filter(|l| l.contains(LOST) || l.contains(COMMAND))
            .collect();
        assert!(
            said.err.contains(LOST) && said.err.contains(COMMAND),
            "{refusal:?} {said:?}"
        );
    }

    /// As the refusal says; then everybody serves again, and nothing repeats.
    #[track_caller]
    fn restored(&mut self, machines: &[usize]) {
        self.mint(machines[0], &["store", "restore", "--advance", "200000"]);
        for machine in machines {
            let server = self.start(*machine).ready();
            self.take(&server, AFTER);
            assert_eq!(server.stop(), 0);
        }
    }

    /// A cold copy of all its data.
    fn save_folder(&mut self) -> TempDir {
        let saved = tempfile::tempdir().unwrap();
        self.engine.stop();
        copy(&self.engine.data_folder(), &saved.path().join("data"));
        self.engine.start();
        saved
    }

    fn put_folder_back(&mut self, saved: &TempDir) {
        self.engine.stop();
        let data = self.engine.data_folder();
        std::fs::remove_dir_all(&data).unwrap();
        copy(&saved.path().join("data"), &data);
        self.engine.start();
    }
}

/// How the servers end before the store is set back.
#[derive(Clone, Copy, Debug)]
enum End {
    Stop,
    Kill,
}

/// Saves a store, lets its numbers be used, ends the server, puts the store back, and starts the server again.
fn journey<E: Engine, S>(
    engine: Option<E>,
    end: End,
    save: impl FnOnce(&mut Lab<E>) -> S,
    put_back: impl FnOnce(&mut Lab<E>, S),
) {
    if let Some(engine) = engine {
        journey_in(Lab::new(engine), end, save, put_back);
    }
}

fn journey_in<E: Engine, S>(
    mut lab: Lab<E>,
    end: End,
    save: impl FnOnce(&mut Lab<E>) -> S,
    put_back: impl FnOnce(&mut Lab<E>, S),
) {
    let server = lab.start(0).ready();
    lab.take(&server, BEFORE);
    let saved = save(&mut lab);
    lab.take(&server, AFTER);
    match end {
        End::Stop => assert_eq!(server.stop(), 0),
        End::Kill => server.kill(),
    }
    put_back(&mut lab, saved);
    lab.refuses(0);
    // Another machine learns it from the store.
    let other = lab.machine();
    lab.refuses(other);
    lab.refuses(0);
    lab.restored(&[0, other]);
    let event = match end {
        End::Stop => "set back after a stop",
        End::Kill => "set back after a kill",
    };
    Row::passed(lab.engine.scheme(), event, lab.given.len());
}

/// The same with the folder of the data.
fn folder_journey<E: Engine>(engine: Option<E>, end: End) {
    journey(engine, end, Lab::save_folder, |lab, saved| {
        lab.put_folder_back(&saved)
    });
}

/// The store is set back while a server lives: that one stops, and a new one on another machine gives out nothing.
fn living<E: Engine>(engine: Option<E>) {
    let Some(engine) = engine else { return };
    let mut lab = Lab::new(engine);
    let server = lab.start(0).ready();
    lab.take(&server, BEFORE);
    let saved = lab.save_folder();
    lab.take(&server, AFTER);
    lab.put_folder_back(&saved);
    let new = lab.machine();
    // At once: perhaps nobody knows yet. Nothing that it gives out may repeat, and soon it refuses.
    if let Ok(newcomer) = lab.start(new).spawn().ready() {
        let until = Instant::now() + Duration::from_secs(60);
        let mut redis = newcomer.redis();
        while !newcomer
            .http("GET", "/readyz", "")
            .text()
            .contains("stopped for good")
        {
            for at in 0..ASKED.len() {
                lab.try_take(&mut redis, at);
            }
            assert!(Instant::now() < until, "{}", newcomer.log());
        }
    }
    assert!(
        server
            .http("GET", "/readyz", "")
            .text()
            .contains("stopped for good")
    );
    let refused = server.redis().ask(&["INCR", "orders"]).unwrap();
    assert!(refused.int().is_none(), "nothing from stock either: {refused:?}");
    // The process that knew, started again by its supervisor.
    server.kill();
    lab.refuses(0);
    lab.refuses(new);
    lab.restored(&[0, new]);
    let event = "set back under a server that lives";
    Row::passed(lab.engine.scheme(), event, lab.given.len());
}

macro_rules! engines {
    ($($name:ident $engine:ident;)*) => {
        $(
            mod $name {
                use super::*;

                // claim: P44
                #[test]
                #[ignore = "minutes: five kinds of server"]
                fn a_folder_put_back_after_a_kill_is_refused_until_it_is_restored() {
                    folder_journey($engine::run(), End::Kill);
                }

                // claim: P44
                #[test]
                #[ignore = "minutes: five kinds of server"]
                fn a_folder_put_back_after_a_stop_is_refused_until_it_is_restored() {
                    folder_journey($engine::run(), End::Stop);
                }

                // claim: P44
                #[test]
                #[ignore = "minutes: five kinds of server"]
                fn a_new_server_gives_out_nothing_while_one_lives_that_knows() {
                    living($engine::run());
                }
            }
        )*
    };
}

engines! {
    postgres Postgres;
    mariadb Mariadb;
    redis Redis;
    etcd Etcd;
    zookeeper ZooKeeper;
}

// claim: P44
#[test]
#[ignore = "minutes: every store, slowly"]
fn a_dump_put_back_into_postgresql_is_refused_until_it_is_restored() {
    for end in [End::Stop, End::Kill] {
        journey(
            Postgres::borrow(),
            end,
            |lab| lab.engine.dump(),
            |lab, dump| {
                lab.engine.admin("ids", &dump);
            },
        );
    }
}

// claim: P44
#[test]
#[ignore = "minutes: every store, slowly"]
fn a_dump_put_back_into_mariadb_is_refused_until_it_is_restored() {
    for end in [End::Stop, End::Kill] {
        journey(
            Mariadb::borrow(),
            end,
            |lab| lab.engine.dump(),
            |lab, dump| {
                lab.engine.admin("ids", &dump);
            },
        );
    }
}

// claim: P44
#[test]
#[ignore = "minutes: every store, slowly"]
fn a_snapshot_put_back_into_etcd_is_refused_until_it_is_restored() {
    // Its tools put it back without accounts.
    let Some(mut members) = Etcd::cluster(1) else {
        return;
    };
    let engine = members.remove(0);
    let url = format!("etcd://{}", engine.address());
    let lab = Lab::at(engine, url);
    journey_in(
        lab,
        End::Kill,
        |lab| lab.engine.save_snapshot(),
        |lab, snapshot| {
            lab.engine.stop();
            lab.engine.restore_snapshot(&snapshot);
            lab.engine.start();
        },
    );
}

// claim: P44
#[test]
#[ignore = "minutes: every store, slowly"]
fn a_postgresql_that_lost_its_log_is_refused_until_it_is_restored() {
    // What was written after the last checkpoint stands in the log alone.
    let save = |lab: &mut Lab<Postgres>| {
        lab.engine.admin("postgres", "CHECKPOINT");
    };
    journey(Postgres::run(), End::Kill, save, |lab, ()| {
        lab.engine.kill();
        lab.engine.reset_wal();
        lab.engine.start();
    });
}

/// Three servers under load, a mark that is lowered by hand at the same version: all stop, and nothing repeats.
fn lowered<E: Engine>(engine: Option<E>, lower: impl Fn(&E)) {
    let Some(engine) = engine else { return };
    let mut lab = Lab::new(engine);
    let machines = [0, lab.machine(), lab.machine()];
    let servers = machines.map(|machine| lab.start(machine).ready());
    for server in &servers {
        lab.take(server, AFTER);
    }
    let mut connections: Vec<_> = servers.iter().map(Server::redis).collect();
    lower(&lab.engine);
    let until = Instant::now() + Duration::from_secs(60);
    let stopped = |server: &Server| {
        server
            .http("GET", "/readyz", "")
            .text()
            .contains("stopped for good")
    };
    while !servers.iter().all(stopped) {
        for redis in &mut connections {
            for at in 0..ASKED.len() {
                lab.try_take(redis, at);
            }
        }
        assert!(Instant::now() < until, "{}", servers[0].log());
    }
    drop(servers);
    lab.refuses(0);
    let other = lab.machine();
    lab.refuses(other);
    lab.restored(&[0, other]);
    Row::passed(lab.engine.scheme(), "a mark lowered by hand", lab.given.len());
}

const LOWER: &str = "UPDATE mint_register SET mark = mark - 200 WHERE key = 'seq/bills'";

// claim: P45
#[test]
fn a_mark_lowered_by_hand_in_postgresql_stops_every_server_before_it_issues() {
    lowered(Postgres::borrow(), |engine| {
        engine.admin("ids", LOWER);
    });
}

// claim: P45
#[test]
#[ignore = "minutes: every store, slowly"]
fn a_mark_lowered_by_hand_in_mariadb_stops_every_server_before_it_issues() {
    lowered(Mariadb::borrow(), |engine| {
        engine.admin("ids", &LOWER.replace("key =", "`key` ="));
    });
}
