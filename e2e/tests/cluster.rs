//! Three servers on every store, and what can happen to them: no id is received twice, workers are used again, and
//! who can serve does. `cargo xtask e2e --matrix` runs the long form and prints the table.

use mintage_e2e::cluster::{Cluster, eventually, rounds};
use mintage_e2e::engine::{etcd::Etcd, mariadb::Mariadb, postgres::Postgres, redis::Redis};
use mintage_e2e::need;
use mintage_e2e::proxy::Fault;
use mintage_e2e::store_suite::Engine;

macro_rules! on_every_store {
    ($($store:ident: $run:expr;)*) => {
        $(mod $store {
            use super::*;

            #[test]
            fn rolling_kills_repeat_nothing_and_use_workers_again() {
                if let Some(engine) = $run {
                    super::rolling_kills(engine);
                }
            }

            #[test]
            fn a_stopped_holder_is_taken_over_and_wakes_without_a_repeat() {
                if let Some(engine) = $run {
                    super::stopped_holder(engine);
                }
            }

            #[test]
            fn clocks_stepped_by_hours_cost_nothing() {
                if let (true, Some(engine)) = (need::faketime().is_some(), $run) {
                    super::stepped_clocks(engine);
                }
            }

            #[test]
            fn partitions_repeat_nothing_and_heal() {
                if let Some(engine) = $run {
                    super::partitions(engine);
                }
            }

            #[test]
            fn cut_cables_repeat_nothing_and_heal() {
                if let (true, Some(engine)) = (need::partitions(), $run) {
                    super::cut_cables(engine);
                }
            }

            #[test]
            fn a_set_on_one_server_is_followed_by_all() {
                if let Some(engine) = $run {
                    super::set_is_followed(engine);
                }
            }
        })*
    };
}

on_every_store! {
    postgres: Postgres::run();
    redis: Redis::run();
    etcd: Etcd::run();
    mariadb: Mariadb::run();
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
            [fourth, fifth]
                .iter()
                .any(|at| cluster.nodes[*at].worker("tiny") == Some(worker))
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
    let mut cluster = Cluster::new(engine, "small", 3);
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
        let (_, namespace, proxy) = cluster.add_in_namespace();
        machines.push((namespace, proxy));
    }
    cluster.all_serve(&[0, 1, 2], 40);
    for _ in 0..rounds() {
        for (at, (namespace, proxy)) in machines.iter().enumerate() {
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

fn set_is_followed(engine: impl Engine) {
    let mut cluster = Cluster::new(engine, "small", 3);
    for _ in 0..3 {
        cluster.add();
    }
    cluster.all_serve(&[0, 1, 2], 40);
    let mut slowest = std::time::Duration::ZERO;
    for round in 1..=5 * rounds() as i64 {
        let to = round * 10_000_000;
        let begun = std::time::Instant::now();
        let said = cluster.nodes[0]
            .server()
            .redis()
            .ask(&["SET", "orders", &to.to_string()]);
        slowest = slowest.max(begun.elapsed());
        assert_eq!(
            said.expect("an answer").text().as_deref(),
            Some("OK"),
            "nobody is pending"
        );
        for node in &cluster.nodes {
            let next = node.server().redis().ask(&["INCR", "orders"]).expect("an answer");
            assert!(
                next.int() > Some(to),
                "{} gives out {next:?} after {to}",
                node.name
            );
        }
        cluster.all_serve(&[0, 1, 2], 20);
    }
    need::say(&format!(
        "SET was followed by all within {} ms",
        slowest.as_millis()
    ));
    cluster.checked("SET");
}
