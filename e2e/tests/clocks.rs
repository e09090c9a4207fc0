//! A machine whose clock is wrong for a while: no id is refused for it once the right time is confirmed, none carries
//! a wrong time, and what the wrong clock parked is told.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};

use mintage::{Clock, FORMATS, GenOptions, SystemClock};
use mintage_e2e::cluster::{Cluster, eventually};
use mintage_e2e::engine::{etcd::Etcd, postgres::Postgres, redis::Redis, zookeeper::ZooKeeper};
use mintage_e2e::need::{self, Faketime};
use mintage_e2e::run;
use mintage_e2e::server::{Server, Start};
use mintage_e2e::store_suite::Engine;
use mintage_testing::Distinct;

/// A machine with a wall clock that the test turns.
struct Machine {
    faketime: Faketime,
    folder: tempfile::TempDir,
    clock: PathBuf,
}

impl Machine {
    fn new() -> Option<Machine> {
        let faketime = need::faketime()?;
        let folder = tempfile::tempdir().unwrap();
        let clock = folder.path().join("clock");
        Some(Machine {
            faketime,
            folder,
            clock,
        })
    }

    fn turn(&self, to: &str) {
        // In one step: a program that reads half a file would see another time.
        let beside = self.clock.with_extension("new");
        std::fs::write(&beside, format!("{to}\n")).unwrap();
        std::fs::rename(beside, &self.clock).unwrap();
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    /// A server that takes a step for right once it has stood for two seconds.
    fn start(&self) -> Server {
        Start::in_folder(self.path())
            .under(["env", "MINT_CLOCK__CONFIRM=2s"])
            .under(self.faketime.environment(&self.clock))
            .ready()
    }
}

/// How far the ids of this format are ahead of the true time, in seconds; or the refusal.
fn ahead_s(server: &Server, format: &str, seen: &mut Distinct<String>) -> Result<i64, String> {
    let answer = server.http("POST", &format!("/v1/ids/{format}?count=20"), "");
    if answer.status != 200 {
        return Err(answer.text());
    }
    let row = mintage::format(format).unwrap();
    let mut ahead = 0;
    for id in answer.json()["ids"].as_array().unwrap() {
        let text = id.as_str().unwrap();
        seen.add(format!("{format} {text}"));
        ahead = match format {
            "snowflake" => {
                let layout = mintage::preset("twitter").unwrap().layout();
                let parts = layout.unpack(text.parse().unwrap()).unwrap();
                layout.time_of(parts.tick).unix_millis()
            }
            _ => {
                let id = row.parse(text.as_bytes(), &GenOptions::default()).unwrap();
                row.read(&id, &GenOptions::default())
                    .unwrap()
                    .time
                    .unwrap()
                    .at
                    .unix_millis()
            }
        } - SystemClock.now().unix_millis();
    }
    Ok(ahead / 1000)
}

/// Every format that holds a time, and snowflakes.
fn timed() -> Vec<&'static str> {
    let rows = FORMATS
        .iter()
        // The time of version 2 moves in steps of 429 s, and it asks for an owner.
        .filter(|row| row.time.is_some() && row.can_make() && row.name != "uuid2");
    rows.map(|row| row.name).chain(["snowflake"]).collect()
}

#[track_caller]
fn all_are_of_now(server: &Server, seen: &mut Distinct<String>, when: &str) {
    for format in timed() {
        match ahead_s(server, format, seen) {
            Ok(ahead) => assert!(ahead.abs() < 10, "{when}: {format} is {ahead} s ahead"),
            Err(refused) => panic!("{when}: {format} is refused: {refused}"),
        }
    }
}

/// Whether ids that carry the time are given out.
fn ready(server: &Server) -> (bool, String) {
    let answer = server.http("GET", "/readyz?for=pools", "");
    (answer.status == 200, answer.text())
}

fn steps(server: &Server) -> f64 {
    let text = server.http("GET", "/metrics", "").text();
    let line = text
        .lines()
        .find(|line| line.starts_with("mint_clock_steps_total"));
    line.and_then(|line| line.rsplit(' ').next()?.parse().ok())
        .unwrap()
}

// claim: P63
#[test]
fn formats_of_a_running_server_outlast_a_wrong_clock() {
    let Some(machine) = Machine::new() else { return };
    machine.turn("+0");
    let (server, mut seen) = (machine.start(), Distinct::default());
    all_are_of_now(&server, &mut seen, "at the start");
    for wrong in ["+3h", "+14610d"] {
        // A moment of it: seen, and taken back.
        let before = steps(&server);
        machine.turn(wrong);
        eventually("the step is seen", || steps(&server) > before);
        let before = steps(&server);
        machine.turn("+0");
        eventually("and that it was taken back", || steps(&server) > before);
        eventually("the right time counts", || ready(&server).0);
        all_are_of_now(&server, &mut seen, "after a wrong moment");
        // Long enough to be followed, there and back.
        machine.turn(wrong);
        eventually("the wrong time is followed", || {
            ahead_s(&server, "uuid7", &mut seen).is_ok_and(|ahead| ahead > 3_600)
        });
        for format in timed() {
            let _ = ahead_s(&server, format, &mut seen);
        }
        machine.turn("+0");
        eventually("the right time is followed", || {
            ahead_s(&server, "uuid7", &mut seen).is_ok_and(|ahead| ahead.abs() < 10)
        });
        eventually("a window is held again", || {
            ahead_s(&server, "snowflake", &mut seen).is_ok_and(|ahead| ahead.abs() < 10)
                && ahead_s(&server, "uuid1", &mut seen).is_ok_and(|ahead| ahead.abs() < 10)
        });
        all_are_of_now(&server, &mut seen, "after a wrong time that was confirmed");
        eventually("it is ready", || ready(&server).0);
    }
    let (_, told) = ready(&server);
    assert!(told.contains("because a clock was ahead"), "{told}");
    assert_eq!(server.stop(), 0);
}

// claim: P64
#[test]
fn a_start_after_a_wrong_clock_takes_other_workers_and_tells_of_the_parked_ones() {
    for wrong in ["+2h", "+14610d", "+24837d"] {
        let Some(machine) = Machine::new() else { return };
        machine.turn(wrong);
        let (server, mut seen) = (machine.start(), Distinct::default());
        // Past the end of its layout there are no snowflakes; everything else is made.
        let parks = ahead_s(&server, "snowflake", &mut seen).is_ok();
        assert_eq!(parks, wrong != "+24837d");
        ahead_s(&server, "uuid7", &mut seen).unwrap();
        server.kill();
        // The clock is right, and the process ends before and after it has seen so.
        machine.turn("+0");
        machine.start().kill();
        let server = machine.start();
        eventually("it is ready and mints", || {
            let was_ready = ready(&server).0;
            match ahead_s(&server, "snowflake", &mut seen) {
                Ok(ahead) => ahead.abs() < 10 && was_ready,
                Err(refused) => {
                    assert!(refused.contains("one of the two was wrong"), "{wrong}: {refused}");
                    assert!(!was_ready, "{wrong}: ready, and refused");
                    false
                }
            }
        });
        eventually("uuid1 too", || ahead_s(&server, "uuid1", &mut seen).is_ok());
        all_are_of_now(&server, &mut seen, wrong);
        if parks {
            eventually("the parked worker is told of", || {
                ready(&server).1.contains("1 worker is parked until")
            });
            let url = server.url();
            let listed = run::mint(machine.path(), ["pool", "list", "--server", &url]).ok();
            assert!(
                listed.contains("pool default: 1 parked by a wrong clock"),
                "{listed}"
            );
            let shown = server.http("GET", "/v1/pools/default", "").json();
            let windows = shown["windows"].as_array().unwrap();
            let far = windows
                .iter()
                .max_by_key(|window| window["until"].as_str().unwrap().to_owned());
            let worker = far.unwrap()["worker"].to_string();
            assert_eq!(server.stop(), 0);
            let checked = run::mint(machine.path(), ["store", "check", "--store", "file:mint"]);
            assert!(
                checked.out.contains("pool default: 1 worker is parked until"),
                "{checked:?}"
            );
            let server = machine.start();
            // The folder remembers that the right clock was confirmed: this start has nothing to doubt.
            all_are_of_now(&server, &mut seen, "the start after");
            let url = server.url();
            run::mint(
                machine.path(),
                ["pool", "retire", "default", &worker, "--server", &url],
            )
            .ok();
            let told = ready(&server).1;
            assert!(!told.contains("pool default"), "{told}");
            assert_eq!(server.stop(), 0);
        }
    }
}

/// Ids of every format that carries the time: refused in words, or of now. Whether any was refused.
#[track_caller]
fn none_is_of_a_wrong_time(server: &Server, seen: &mut Distinct<String>, when: &str) -> bool {
    let mut was_refused = false;
    for format in timed() {
        match ahead_s(server, format, seen) {
            Ok(ahead) => assert!(ahead.abs() < 10, "{when}: {format} is {ahead} s ahead"),
            Err(refused) => {
                was_refused = true;
                assert!(refused.contains("clock"), "{when}: {format}: {refused}");
            }
        }
    }
    for random in ["uuid4", "nanoid"] {
        let answer = server.http("POST", &format!("/v1/ids/{random}"), "");
        assert_eq!(answer.status, 200, "{when}: {random}: {}", answer.text());
    }
    was_refused
}

/// A cluster, and machines beside it whose clocks the test turns.
struct Clocks<E: Engine> {
    cluster: Cluster<E>,
    machine: Machine,
    seen: Distinct<String>,
}

impl<E: Engine> Clocks<E> {
    fn new(engine: Option<E>) -> Option<Clocks<E>> {
        let machine = Machine::new()?;
        let cluster = Cluster::new(engine?, "small", 3);
        Some(Clocks {
            cluster,
            machine,
            seen: Distinct::default(),
        })
    }

    /// A server on the machine whose clock is turned.
    fn start_at(&mut self, clock: &str) -> usize {
        self.machine.turn(clock);
        let url = self.cluster.url().to_string();
        let (name, start) = self.cluster.next_start(&url);
        let environment = self.machine.faketime.environment(&self.machine.clock);
        self.cluster.add_started(name, start.under(environment))
    }

    fn none_is_wrong(&mut self, at: usize, when: &str) -> bool {
        none_is_of_a_wrong_time(self.cluster.nodes[at].server(), &mut self.seen, when)
    }
}

/// A store with a clock: one server whose clock is another, ahead and then, after it was killed, behind.
fn against_the_stores_clock(engine: Option<impl Engine>) {
    let Some(mut clocks) = Clocks::new(engine) else {
        return;
    };
    let alone = clocks.start_at("+3d");
    for moment in 0..10 {
        assert!(
            clocks.none_is_wrong(alone, &format!("ahead, {moment}")),
            "ids are made"
        );
    }
    let server = clocks.cluster.nodes[alone].server();
    let (is_ready, told) = ready(server);
    assert!(
        !is_ready && told.contains("no two clocks agree within 5 s"),
        "{told}"
    );
    assert!(
        server.log().contains("ids that carry the time are refused"),
        "{}",
        server.log()
    );
    clocks.machine.turn("+0");
    eventually("the clock is set, and ids are made", || {
        !clocks.none_is_wrong(alone, "set right")
    });
    clocks.cluster.nodes[alone].kill();
    let again = clocks.start_at("-2h");
    for moment in 0..10 {
        clocks.none_is_wrong(again, &format!("behind, {moment}"));
    }
}

/// A store without a clock: one of three is wrong, and the last one starts with a clock that went back.
fn against_the_other_servers(engine: Option<impl Engine>) {
    let Some(mut clocks) = Clocks::new(engine) else {
        return;
    };
    let right = [clocks.cluster.add(), clocks.cluster.add()];
    clocks.cluster.all_serve(&right, 20);
    for clock in ["+3d", "-2h"] {
        let wrong = clocks.start_at(clock);
        // From its first answer on.
        for moment in 0..5 {
            clocks.none_is_wrong(wrong, &format!("{clock}, {moment}"));
        }
        eventually("it is outvoted, and makes ids of the right time", || {
            !clocks.none_is_wrong(wrong, clock)
        });
        for at in right {
            assert!(!clocks.none_is_wrong(at, "whose clock is right"), "is refused");
        }
        clocks.cluster.nodes[wrong].kill();
    }
    // One of two: neither is believed, until the wrong one is gone.
    clocks.cluster.nodes[right[1]].kill();
    let wrong = clocks.start_at("+3d");
    for moment in 0..10 {
        clocks.none_is_wrong(wrong, &format!("one of two, {moment}"));
        clocks.none_is_wrong(right[0], &format!("the other of two, {moment}"));
    }
    clocks.cluster.nodes[wrong].kill();
    clocks.cluster.nodes[right[0]].kill();
    let last = clocks.start_at("-2h");
    for format in timed()
        .into_iter()
        .filter(|format| !["snowflake", "uuid1", "uuid6"].contains(format))
    {
        let ahead = ahead_s(clocks.cluster.nodes[last].server(), format, &mut clocks.seen);
        let ahead = ahead.unwrap_or_else(|refused| panic!("{format}: {refused}"));
        assert!((-60..10).contains(&ahead), "{format} goes back: {ahead} s");
    }
}

// claim: P76
#[test]
fn a_clock_that_the_store_does_not_share_is_refused_on_redis() {
    against_the_stores_clock(Redis::run());
}

// claim: P76
#[test]
fn a_clock_that_the_store_does_not_share_is_refused_on_postgres() {
    against_the_stores_clock(Postgres::borrow());
}

// claim: P76
#[test]
#[ignore = "minutes: five servers"]
fn a_clock_that_the_others_do_not_share_is_outvoted_on_etcd() {
    against_the_other_servers(Etcd::borrow());
}

// claim: P76
#[test]
#[ignore = "minutes: five servers"]
fn a_clock_that_the_others_do_not_share_is_outvoted_on_zookeeper() {
    against_the_other_servers(ZooKeeper::borrow());
}
