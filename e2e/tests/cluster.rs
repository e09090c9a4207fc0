//! Three servers on every store, and what can happen to them: no id is received twice, workers are used again, and
//! who can serve does. `cargo xtask e2e --matrix` runs the long form and prints the table.

use std::time::{Duration, Instant};

use mintage_e2e::cluster::{Cluster, Of, eventually, rounds};
use mintage_e2e::engine::{
    etcd::Etcd, mariadb::Mariadb, postgres::Postgres, redis::Redis, zookeeper::ZooKeeper,
};
use mintage_e2e::need;
use mintage_e2e::proxy::Fault;
use mintage_e2e::store_suite::Engine;
use mintage_testing::invariant;

/// What lets servers wait for a store that a busy machine holds up for seconds.
const PATIENT: [&str; 2] = [
    "MINT_STORE__REQUEST_TIMEOUT=10s",
    "MINT_STORE__CONNECT_TIMEOUT=10s",
];

macro_rules! on_every_store {
    ($($store:ident: $run:expr;)*) => {
        $(mod $store {
            use super::*;

            // claim: P2, P11, P62
            #[test]
            #[ignore = "minutes: three servers on every store"]
            fn rolling_kills_repeat_nothing_and_use_workers_again() {
                if let Some(engine) = $run {
                    super::rolling_kills(engine);
                }
            }

            // claim: P4, P11
            #[test]
            #[ignore = "minutes: three servers on every store"]
            fn a_stopped_holder_is_taken_over_and_wakes_without_a_repeat() {
                if let Some(engine) = $run {
                    super::stopped_holder(engine);
                }
            }

            // claim: P5
            #[test]
            #[ignore = "minutes: three servers on every store"]
            fn clocks_stepped_by_hours_cost_nothing() {
                if let (true, Some(engine)) = (need::faketime().is_some(), $run) {
                    super::stepped_clocks(engine);
                }
            }

            // claim: P5
            #[test]
            #[ignore = "minutes: three servers on every store"]
            fn a_clock_a_month_ahead_poisons_nothing() {
                if let (true, Some(engine)) = (need::faketime().is_some(), $run) {
                    super::clock_far_ahead(engine);
                }
            }

            // claim: P61
            #[test]
            #[ignore = "minutes: three servers on every store"]
            fn an_exhausted_pool_refuses_the_newcomer_and_nobody_else() {
                if let Some(engine) = $run {
                    super::exhausted_pool(engine);
                }
            }

            // claim: P6
            #[test]
            #[ignore = "minutes: three servers on every store"]
            fn partitions_repeat_nothing_and_heal() {
                if let Some(engine) = $run {
                    super::partitions(engine);
                }
            }

            // claim: P6
            #[test]
            #[ignore = "minutes: three servers on every store"]
            fn cut_cables_repeat_nothing_and_heal() {
                if let (true, Some(engine)) = (need::partitions(), $run) {
                    super::cut_cables(engine);
                }
            }

            // claim: P8
            #[test]
            #[ignore = "minutes: three servers on every store"]
            fn set_restart_and_alter_on_one_server_are_followed_by_all() {
                if let Some(engine) = $run {
                    super::changes_are_followed(engine);
                }
            }
        })*
    };
}

on_every_store! {
    postgres: Postgres::borrow();
    redis: Redis::run();
    etcd: Etcd::borrow();
    mariadb: Mariadb::borrow();
    zookeeper: ZooKeeper::borrow();
}

fn rolling_kills(engine: impl Engine) {
    // Eight workers: after nine starts one of them is used again.
    let mut cluster = Cluster::new(engine, "small", 3);
    for _ in 0..3 {
        cluster.add();
    }
    cluster.all_serve(&[0, 1, 2], 40);
    for _ in 0..3 * rounds() {
        for at in 0..3 {
            cluster.nodes[at].kill();
            let others: Vec<usize> = (0..3).filter(|other| *other != at).collect();
            cluster.all_serve(&others, 20);
            cluster.nodes[at].restart();
            cluster.all_serve(&[at], 20);
        }
    }
    cluster.checked("rolling kill -9");
}

fn stopped_holder(engine: impl Engine) {
    // Four workers for five servers: the fifth gets that of the one that stands still.
    let mut cluster = Cluster::new(engine, "tiny", 2);
    for _ in 0..3 {
        cluster.add();
    }
    cluster.all_serve(&[0, 1, 2], 40);
    for _ in 0..rounds() {
        let worker = cluster.nodes[0].worker("tiny").expect("it holds one");
        cluster.nodes[0].signal("STOP");
        let (fourth, fifth) = (cluster.add(), cluster.add());
        eventually("somebody takes the worker over", || {
            // One whose window ended meanwhile, because the machine stood still, may be who takes it.
            cluster.nodes[1..]
                .iter()
                .any(|node| node.worker("tiny") == Some(worker))
        });
        cluster.all_serve(&[1, 2, fourth, fifth], 40);
        cluster.nodes[0].signal("CONT");
        // Its sequences at once; its pool when somebody leaves.
        cluster.all_serve(&[0], 40);
        cluster.nodes[fourth].kill();
        cluster.nodes[fifth].kill();
        eventually("it holds a worker again", || {
            cluster.nodes[0].worker("tiny").is_some()
        });
    }
    cluster.checked("SIGSTOP beyond the window");
}

fn stepped_clocks(engine: impl Engine) {
    let faketime = need::faketime().expect("was asked before");
    // A store that is slow for a moment costs no request either.
    let mut cluster = Cluster::with_windows(engine, "small", 3, "30s", &PATIENT);
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let mut clocks = Vec::new();
    for n in 0..3 {
        let url = cluster.url().to_string();
        let (name, start) = cluster.next_start(&url);
        let clock = folder.path().join(format!("clock-{n}"));
        std::fs::write(&clock, "+0\n").expect("the folder is ours");
        let words = faketime.environment(&clock);
        cluster.add_started(name, start.under(words));
        clocks.push(clock);
    }
    cluster.all_serve(&[0, 1, 2], 40);
    for _ in 0..rounds() {
        for (at, step) in [
            (0, "+5h"),
            (1, "-7h"),
            (0, "+0"),
            (2, "+9h"),
            (1, "+0"),
            (2, "+0"),
        ] {
            let node = &cluster.nodes[at];
            let before = node.metric("mint_clock_steps_total");
            std::fs::write(&clocks[at], format!("{step}\n")).expect("the folder is ours");
            eventually("the process sees the step", || {
                node.metric("mint_clock_steps_total") > before
            });
            cluster.all_serve(&[0, 1, 2], 60);
        }
    }
    let refused = cluster.seen.refusals();
    let why = cluster.seen.last_refusal();
    let url = cluster.url().to_string();
    let said = cluster.mint(&["store", "check", "--store", &url]);
    assert!(said.contains("sound"), "{said}");
    cluster.checked("clocks stepped by hours");
    assert_eq!(refused, 0, "a step costs no request: {why}");
}

fn partitions(engine: impl Engine) {
    let mut cluster = Cluster::new(engine, "small", 3);
    let mut proxies = Vec::new();
    for _ in 0..3 {
        let (_, proxy) = cluster.add_behind_proxy();
        proxies.push(proxy);
    }
    cluster.all_serve(&[0, 1, 2], 40);
    for _ in 0..rounds() {
        for (at, fault) in [Fault::Freeze, Fault::Refuse, Fault::HoldAnswers]
            .into_iter()
            .enumerate()
        {
            proxies[at].set(fault);
            // Longer than its window of 2 s.
            eventually("the window of the one that is cut off ends", || {
                !cluster.nodes[at].has_window()
            });
            let others: Vec<usize> = (0..3).filter(|other| *other != at).collect();
            cluster.all_serve(&others, 40);
            proxies[at].set(Fault::Pass);
            eventually("it holds a worker again", || cluster.nodes[at].has_window());
            cluster.all_serve(&[at], 40);
        }
    }
    cluster.checked("partitions (proxy)");
}

fn cut_cables(engine: impl Engine) {
    let mut cluster = Cluster::new(engine, "small", 3);
    let mut machines = Vec::new();
    for _ in 0..3 {
        let (_, proxy, namespace) = cluster.add_in_namespace();
        machines.push((proxy, namespace));
    }
    cluster.all_serve(&[0, 1, 2], 40);
    for _ in 0..rounds() {
        for (at, (proxy, namespace)) in machines.iter().enumerate() {
            namespace.cut(proxy.address().port());
            eventually("the window of the one that is cut off ends", || {
                !cluster.nodes[at].has_window()
            });
            let others: Vec<usize> = (0..3).filter(|other| *other != at).collect();
            cluster.all_serve(&others, 40);
            namespace.mend();
            eventually("it holds a worker again", || cluster.nodes[at].has_window());
            cluster.all_serve(&[at], 40);
        }
    }
    cluster.checked("partitions (namespaces, nftables)");
}

fn changes_are_followed(engine: impl Engine) {
    let mut cluster = Cluster::with_options(engine, "small", 3, &PATIENT);
    for _ in 0..3 {
        cluster.add();
    }
    cluster.all_serve(&[0, 1, 2], 40);
    let mut slowest = [Duration::ZERO; 3];
    for round in 1..=5 * rounds() as i64 {
        let server = cluster.nodes[0].server();
        // One that was silent for three seconds counts as gone, and nobody waits for it.
        eventually("all three live", || {
            let cluster = server.http("GET", "/v1/cluster", "").json();
            let servers = cluster["servers"].as_array().into_iter().flatten();
            servers.filter(|server| server["lives"] == true).count() == 3
        });
        // Far apart: the increments of the clients below are thousands.
        let [set, restarted] = [3 * round, 3 * round + 1].map(|n| n * 1_000_000_000_000);
        slowest[0] = slowest[0].max(timed(|| {
            let said = server.redis().ask(&["SET", "orders", &set.to_string()]);
            let said = said.expect("an answer").text();
            assert_eq!(said.as_deref(), Some("OK"), "nobody is pending");
        }));
        for (node, number) in numbers(&cluster) {
            invariant!(number > set, "{node} gives out {number} after SET {set}");
        }
        slowest[1] = slowest[1].max(timed(|| {
            let body = format!("{{\"value\": {restarted}}}");
            changed(&server.http("POST", "/v1/sequences/orders/restart", &body));
        }));
        for (node, number) in numbers(&cluster) {
            invariant!(
                number > restarted,
                "{node} gives out {number} after a restart at {restarted}"
            );
        }
        let increment = 1000 + round;
        slowest[2] = slowest[2].max(timed(|| {
            let body = format!("{{\"increment\": {increment}}}");
            changed(&server.http("PATCH", "/v1/sequences/orders", &body));
        }));
        let after = numbers(&cluster);
        for (node, number) in &after {
            assert_eq!(
                (number - after[0].1) % increment,
                0,
                "{node} gives out {number} after an increment of {increment}: {after:?}"
            );
        }
        cluster.all_serve(&[0, 1, 2], 20);
    }
    let [set, restart, alter] = slowest.map(|took| took.as_millis());
    need::say(&format!(
        "followed by all: SET within {set} ms, restart {restart} ms, alter {alter} ms"
    ));
    cluster.checked("SET, restart, alter");
}

fn timed(work: impl FnOnce()) -> Duration {
    let begun = Instant::now();
    work();
    begun.elapsed()
}

/// A change that everybody who lives follows.
#[track_caller]
fn changed(answer: &mintage_e2e::http::Answer) {
    assert_eq!(answer.status, 200, "{answer:?}");
    assert!(answer.json().get("pending").is_none(), "{answer:?}");
}

/// Some numbers of every node.
#[track_caller]
fn numbers(cluster: &Cluster<impl Engine>) -> Vec<(String, i64)> {
    let mut numbers = Vec::new();
    for node in &cluster.nodes {
        let mut client = node.server().redis();
        for _ in 0..5 {
            let number = client.ask(&["INCR", "orders"]).expect("an answer");
            let number = number
                .int()
                .unwrap_or_else(|| panic!("{}: {number:?}", node.name));
            cluster.seen.note(Of::Sequence, number.unsigned_abs());
            numbers.push((node.name.clone(), number));
        }
    }
    numbers
}

fn clock_far_ahead(engine: impl Engine) {
    let faketime = need::faketime().expect("was asked before");
    let mut cluster = Cluster::new(engine, "small", 3);
    cluster.add();
    cluster.add();
    cluster.all_serve(&[0, 1], 40);
    eventually("both hold a worker", || {
        [0, 1]
            .iter()
            .all(|at| cluster.nodes[*at].worker("small").is_some())
    });
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let clock = folder.path().join("clock");
    std::fs::write(&clock, "+30d\n").expect("the folder is ours");
    let url = cluster.url().to_string();
    let (name, start) = cluster.next_start(&url);
    let wrong = cluster.add_started(name, start.under(faketime.environment(&clock)));
    cluster.all_serve(&[0, 1, wrong], 60);
    let snowflake = |at: usize| {
        let mut client = cluster.nodes[at].server().redis();
        let answer = client.ask(&["MINT.SNOWFLAKE", "small"]).expect("an answer");
        if let Some(id) = answer.int() {
            cluster.seen.note(Of::Pool, id.unsigned_abs());
        }
        answer
    };
    for _ in 0..5 * rounds() {
        let answer = snowflake(wrong);
        match answer.int() {
            // It is outvoted, and its ids carry the time of the others.
            Some(id) => {
                let offset = cluster.nodes[wrong].metric("mint_clock_offset_seconds");
                assert!(
                    offset > Some(29.0 * DAY_S),
                    "it does not see its clock: {offset:?}"
                );
                let right = snowflake(0).int().expect("its clock is right");
                let apart_ms = (ms_of(id) - ms_of(right)).abs();
                assert!(apart_ms < 60_000, "{id} is {apart_ms} ms from {right}");
            }
            // Nobody can tell who is right: it takes no window, and says why.
            None => {
                let said = answer.text().unwrap_or_default();
                assert!(said.contains("no two clocks agree within 5 s"), "{said}");
                assert!(
                    said.contains(" s behind"),
                    "it sees no clock behind its own: {said}"
                );
                assert_eq!(cluster.nodes[wrong].worker("small"), None);
            }
        }
        cluster.all_serve(&[0, 1], 40);
    }
    for at in [0, 1] {
        assert!(snowflake(at).int().is_some(), "whose clock is right goes on");
    }
    // Nothing that it wrote is in anybody's way, now or after its end.
    let said = cluster.mint(&["store", "check", "--store", &url]);
    assert!(said.contains("sound"), "{said}");
    cluster.nodes[wrong].kill();
    let late = cluster.add();
    eventually("a newcomer holds a worker", || {
        cluster.nodes[late].worker("small").is_some()
    });
    cluster.all_serve(&[0, 1, late], 40);
    cluster.checked("a clock 30 days ahead");
}

const DAY_S: f64 = 24.0 * 3600.0;

/// The milliseconds in an id of [`layout(3)`](mintage_e2e::cluster::layout).
fn ms_of(id: i64) -> i64 {
    id >> (3 + 9)
}

fn exhausted_pool(engine: impl Engine) {
    // Two workers, and both are held, by windows that outlast a stall of the test's machine.
    let mut cluster = Cluster::with_windows(engine, "pair", 1, "10s", &PATIENT);
    let url = cluster.url().to_string();
    cluster.add();
    cluster.add();
    cluster.all_serve(&[0, 1], 40);
    let holders = |cluster: &Cluster<_>| [0, 1].map(|at: usize| cluster.nodes[at].worker("pair"));
    eventually("both hold a worker", || {
        holders(&cluster).iter().all(Option::is_some)
    });
    let held = holders(&cluster);
    // Nobody but this test asks the newcomer, so that every refusal that a client sees is an incumbent's.
    let refused_before = cluster.seen.refusals();
    let (_, start) = cluster.next_start(&url);
    let newcomer = start.ready();
    let mut client = newcomer.redis();
    for _ in 0..5 * rounds() {
        let said = client.ask(&["MINT.SNOWFLAKE", "pair"]).expect("an answer");
        let said = said.text().unwrap_or_default();
        assert!(
            said.starts_with("TRYAGAIN mint: no free worker in pool pair: all 2 are held or parked")
                && said.contains("retry in "),
            "{said}"
        );
        let answer = newcomer.http("POST", "/v1/snowflakes/pair", "");
        assert_eq!(
            (answer.status, &answer.json()["code"]),
            (503, &"unavailable".into())
        );
        let wait = answer
            .header("retry-after")
            .and_then(|wait| wait.parse::<u64>().ok());
        assert!(wait >= Some(1), "{answer:?}");
        cluster.all_serve(&[0, 1], 40);
    }
    assert_eq!(holders(&cluster), held, "who held a worker holds it");
    assert_eq!(
        cluster.seen.refusals(),
        refused_before,
        "{}",
        cluster.seen.last_refusal()
    );
    // Its sequences never depended on a worker.
    let number = client.ask(&["INCR", "orders"]).expect("an answer");
    let number = number.int().unwrap_or_else(|| panic!("{number:?}"));
    cluster.seen.note(Of::Sequence, number.unsigned_abs());
    cluster.nodes[0].kill();
    eventually("the newcomer gets the worker that is free", || {
        let id = client.ask(&["MINT.SNOWFLAKE", "pair"]).expect("an answer").int();
        id.inspect(|id| cluster.seen.note(Of::Pool, id.unsigned_abs()))
            .is_some()
    });
    let pool = newcomer.http("GET", "/v1/pools/pair", "").json();
    assert_eq!(pool["worker"].as_u64(), held[0], "{pool}");
    cluster.all_serve(&[1], 40);
    cluster.checked("all workers held");
}
