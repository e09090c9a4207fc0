//! What answers is not what it should be: late, twice, from an older copy of the store beside the present one, from
//! another cluster. Refused or stopped in words, and never a repeat.
#![allow(clippy::unwrap_used)]

use std::time::Duration;

use mintage_e2e::cluster::{Cluster, Of, Row, eventually};
use mintage_e2e::engine::{
    etcd::Etcd, mariadb::Mariadb, postgres::Postgres, redis::Redis, zookeeper::ZooKeeper,
};
use mintage_e2e::proxy::{Fault, Proxy};
use mintage_e2e::sql::template::copy;
use mintage_e2e::store_suite::{Engine, Lab, key, quick, until_ok, value};
use mintage_ledger::{Cas, Claim, Marks, Outcome, StoreErrorKind, Version};
use mintage_testing::{Distinct, invariant};

macro_rules! on_every_store {
    ($($store:ident $engine:ident, $used:expr;)*) => {
        $(mod $store {
            use super::*;

            // claim: P6
            #[test]
            fn an_answer_that_comes_twice_grants_nothing_a_second_time() {
                if let Some(engine) = $used {
                    super::twice(engine);
                }
            }

            // claim: P6
            #[test]
            #[ignore = "minutes: every store, slowly"]
            fn answers_that_come_too_late_repeat_nothing() {
                if let Some(engine) = $used {
                    super::late(engine);
                }
            }

            // claim: P30
            #[test]
            #[ignore = "minutes: two servers of each kind of store"]
            fn an_older_copy_that_answers_beside_the_present_one_stops_the_servers() {
                if let (Some(present), Some(older)) = ($engine::run(), $engine::run()) {
                    super::older(present, older);
                }
            }

            // claim: P30
            #[test]
            #[ignore = "minutes: two servers of each kind of store"]
            fn another_cluster_that_answers_stops_the_servers() {
                if let (Some(ours), Some(other)) = ($engine::run(), $engine::run()) {
                    super::another(ours, other);
                }
            }
        })*
    };
}

on_every_store! {
    postgres Postgres, Postgres::borrow();
    mariadb Mariadb, Mariadb::borrow();
    redis Redis, Redis::run();
    etcd Etcd, Etcd::borrow();
    zookeeper ZooKeeper, ZooKeeper::borrow();
}

/// How often the two claim the same.
const CLAIMS: u64 = 20;

/// Of two that claim the same, the one that comes too late is answered what it was answered before, that it was
/// granted.
fn twice<E: Engine>(engine: E) {
    let lab = Lab::new(engine);
    lab.init();
    let near = || lab.open_with(&lab.proxied(), &quick()).ok();
    let (mut opened, far, key) = (near(), lab.open(&lab.direct()), key("seq/twice"));
    let made = lab.wait(far.compare_and_set(&key, None, value(0, 1), Marks::NeverLower));
    assert_eq!(made.unwrap(), Cas::Done(Version::of(1)));
    let claim = |expected: u64| Claim {
        key: key.clone(),
        expected: Version::of(expected),
        add: 1,
        token: u128::from(expected) + 1000,
    };
    let (mut version, mut issued, mut odd) = (1, Distinct::of("numbers"), 0);
    for _ in 0..CLAIMS {
        let one = loop {
            match &opened {
                Some(one) => break one.clone(),
                None => opened = near(),
            }
        };
        // An answer that grants, of this very connection.
        let first = claim(version);
        let granted = lab.wait(until_ok(|| one.claim(&first)));
        match granted {
            Cas::Done(now) => issued.add(now.number()),
            // An earlier attempt, whose outcome was not known.
            Cas::Lost(found) => assert_eq!(found.unwrap().version.number(), version + 1),
        }
        version += 1;
        assert_eq!(
            lab.wait(far.claim(&claim(version))).unwrap(),
            Cas::Done(Version::of(version + 1))
        );
        issued.add(version + 1);
        lab.proxy.set(Fault::RepeatAnswers);
        match lab.wait(one.claim(&claim(version))) {
            Ok(Cas::Done(now)) => issued.add(now.number()),
            Ok(Cas::Lost(found)) => invariant!(found.is_some(), "the register is there"),
            Err(error) => {
                odd += 1;
                assert!(
                    error.outcome == Outcome::Unknown || error.kind != StoreErrorKind::Unavailable,
                    "{error:?}"
                );
            }
        }
        lab.proxy.set(Fault::Pass);
        version += 1;
        if one.stopped().is_some() {
            opened = None;
        }
    }
    assert!(
        odd > 0,
        "no answer was repeated where it mattered: this shows nothing"
    );
    Row::passed(lab.engine.scheme(), "an answer comes twice", issued.len());
}

/// What a server needs that is to give up on a claim soon, and to make claims often.
const HASTY: [&str; 3] = [
    "MINT_STORE__REQUEST_TIMEOUT=1s",
    "MINT_STORE__CONNECT_TIMEOUT=1s",
    "MINT_SEQUENCES__OUTAGE_BUDGET=0s",
];

/// Each answer comes after whoever asked has given up; what was asked for has happened.
fn late<E: Engine>(engine: E) {
    let mut cluster = Cluster::with_options(engine, "small", 3, &HASTY);
    let proxies = [cluster.add_behind_proxy().1, cluster.add_behind_proxy().1];
    cluster.all_serve(&[0, 1], 200);
    for round in 0..6 {
        let proxy = &proxies[round % 2];
        let before = proxy.requests();
        proxy.set(Fault::DelayAnswers(Duration::from_millis(1500)));
        for more in 1..=5 {
            proxy.wait_for_request(before + more);
        }
        cluster.all_serve(&[(round + 1) % 2], 100);
        proxy.set(Fault::Pass);
        cluster.all_serve(&[0, 1], 100);
    }
    cluster.checked("answers come after the timeout");
}

/// Two servers that are led to where a proxy leads.
fn two<E: Engine>(engine: E) -> (Cluster<E>, Proxy) {
    let mut cluster = Cluster::with_options(engine, "small", 3, &HASTY);
    let proxy = Proxy::to(cluster.engine.address());
    let url = cluster.engine.url(proxy.address());
    for _ in 0..2 {
        let (name, start) = cluster.next_start(&url);
        cluster.add_started(name, start);
    }
    cluster.all_serve(&[0, 1], 200);
    (cluster, proxy)
}

/// The servers are led to what they must not use, and then back.
fn misled<E: Engine>(mut cluster: Cluster<E>, proxy: &Proxy, to: &E, event: &str) {
    proxy.redirect(to.address());
    let stopped = |cluster: &Cluster<E>, at: usize| {
        let ready = cluster.nodes[at].server().http("GET", "/readyz", "").text();
        ready.contains("stopped for good")
    };
    eventually("both stop in words", || (0..2).all(|at| stopped(&cluster, at)));
    proxy.redirect(cluster.engine.address());
    for at in 0..2 {
        // `/readyz` says so at once, and all the rest of the server a moment later.
        let mut client = cluster.nodes[at].server().redis();
        eventually("nothing from stock either", || {
            match client.ask(&["INCR", "orders"]).unwrap().int() {
                Some(number) => cluster.seen.note(Of::Sequence, number.unsigned_abs()),
                None => return true,
            }
            false
        });
        assert!(stopped(&cluster, at), "for good");
    }
    for at in 0..2 {
        cluster.nodes[at].kill();
    }
    // An operator has looked: nothing is lost in the one that they are led to again.
    let url = cluster.url().to_string();
    cluster.mint(&["store", "restore", "--advance", "0", "--store", &url]);
    for at in 0..2 {
        cluster.nodes[at].restart();
    }
    cluster.all_serve(&[0, 1], 200);
    cluster.checked(event);
}

fn older<E: Engine>(present: E, mut older: E) {
    let (mut cluster, proxy) = two(present);
    // A cold copy, as of a machine that was cloned.
    cluster.engine.stop();
    older.stop();
    std::fs::remove_dir_all(older.data_folder()).unwrap();
    copy(&cluster.engine.data_folder(), &older.data_folder());
    cluster.engine.start();
    older.start();
    cluster.all_serve(&[0, 1], 2_000);
    misled(
        cluster,
        &proxy,
        &older,
        "answers from an older copy beside the present one",
    );
}

fn another<E: Engine>(ours: E, other: E) {
    let (cluster, proxy) = two(ours);
    let lab = Lab::new(other);
    lab.init();
    misled(cluster, &proxy, &lab.engine, "answers from another cluster");
}
