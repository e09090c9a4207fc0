//! Every failover twice: with the primary killed, and with it alive, cut off with one server of ours, beside the
//! promoted one. `cargo xtask e2e --matrix` prints a row for each.
#![allow(clippy::unwrap_used)]

use mintage_e2e::cluster::{Cluster, at_length};
use mintage_e2e::engine::{postgres::Postgres, redis::Redis, sentinel::Sentinels};
use mintage_e2e::proxy::{Fault, Proxy};
use mintage_e2e::store_suite::Engine;

/// What becomes of the primary.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Primary {
    Killed,
    /// It lives on, and with it the first server.
    CutOff,
}

/// Two servers that were here before, each on a way of its own to the primary: the first stays with it.
struct Sides<E: Engine> {
    cluster: Cluster<E>,
    near: Proxy,
    far: Proxy,
    /// The worker of the first.
    worker: Option<u64>,
}

/// The one that stays with the primary, and the one that goes with the promoted.
const OLD: usize = 0;
const NEW: usize = 1;

impl<E: Engine> Sides<E> {
    /// With one worker for each of the two: who comes later needs that of the first.
    fn new(engine: E, window: &str, options: &[&str]) -> Sides<E> {
        let mut cluster = Cluster::with_windows(engine, "small", 1, window, options);
        let (near, far) = (
            Proxy::to(cluster.engine.address()),
            Proxy::to(cluster.engine.address()),
        );
        for proxy in [&near, &far] {
            let url = cluster.engine.url(proxy.address());
            let (name, start) = cluster.next_start(&url);
            cluster.add_started(name, start);
        }
        at_length("both have a worker", || {
            cluster.nodes.iter().all(|node| node.worker("small").is_some())
        });
        cluster.all_serve(&[OLD, NEW], 40);
        let worker = cluster.nodes[OLD].worker("small");
        Sides {
            cluster,
            near,
            far,
            worker,
        }
    }

    /// The servers of the new side reach the store no more, and if the primary dies, nobody does.
    fn lose(&mut self, primary: Primary) {
        self.far.set(Fault::Refuse);
        if primary == Primary::Killed {
            self.near.set(Fault::Refuse);
            self.cluster.engine.kill();
        }
    }

    /// The promoted one takes over for all who can reach it, and one more server starts there, which needs the worker
    /// of the old side. Its ids must begin where those of the old side end.
    fn goes_on(mut self, promoted: &E, primary: Primary, fault: &str) {
        let followers = match primary {
            Primary::Killed => vec![&self.near, &self.far],
            Primary::CutOff => vec![&self.far],
        };
        for proxy in followers {
            proxy.redirect(promoted.address());
            proxy.set(Fault::Pass);
        }
        self.cluster.all_serve(&[NEW], 200);
        if primary == Primary::Killed {
            self.cluster.all_serve(&[OLD], 200);
            // It goes, and its worker is free one window later.
            self.cluster.nodes[OLD].kill();
        }
        let url = promoted.url(self.far.address());
        let (name, start) = self.cluster.next_start(&url);
        let fresh = self.cluster.add_started(name, start);
        at_length("the old side's worker is lent again", || {
            self.cluster.nodes[fresh].has_window()
        });
        if primary == Primary::CutOff {
            // Or else nothing is shown: the old side used that worker for as long as it could.
            assert_eq!(
                self.cluster.nodes[fresh].worker("small"),
                self.worker,
                "the worker that was lent"
            );
        }
        self.cluster.all_serve(&[NEW, fresh], 200);
        if primary == Primary::CutOff {
            // The partition heals.
            self.near.redirect(promoted.address());
            self.cluster.all_serve(&[OLD], 200);
        }
        self.cluster.checked(fault);
    }
}

/// A primary with two replicas, so that the promoted one has a replica, too, and Sentinels, all of which reach it on
/// one way.
fn sentinel(primary: Primary) {
    let settings = [
        ["--appendfsync", "everysec"],
        ["--min-replicas-to-write", "1"],
        ["--min-replicas-max-lag", "10"],
    ];
    let Some(redis) = Redis::with_settings(settings.as_flattened()) else {
        return;
    };
    let stream = Proxy::to(redis.address());
    let replicas = [redis.replica(stream.address()), redis.replica(stream.address())];
    let sentinels = Sentinels::watch(stream.address(), replicas.len());
    // As long as they may be with this class, and lived for: the old side has the most to give out.
    let mut sides = Sides::new(redis, "30s", &["MINT_STORE__ALLOW_LOSSY=true"]);
    at_length("windows are at their full length", || {
        let left = |node: usize| sides.cluster.nodes[node].metric("mint_window_until_seconds");
        [OLD, NEW]
            .iter()
            .all(|node| left(*node).is_some_and(|left| left > 28.0))
    });
    stream.set(Fault::Freeze);
    sides.lose(primary);
    let promoted = || {
        let is_told = |replica: &&Redis| sentinels.primary() == Some(replica.address());
        replicas.iter().find(is_told)
    };
    at_length("a replica is promoted", || promoted().is_some());
    let promoted = promoted().unwrap();
    at_length("the other replica follows it", || {
        promoted.info("connected_slaves") == "connected_slaves:1"
    });
    sides.goes_on(
        promoted,
        primary,
        &format!("Sentinel promotes, primary {primary:?}"),
    );
}

// claim: P31
#[test]
#[ignore = "minutes: Sentinels, and windows that run out"]
fn a_sentinel_that_promotes_after_the_primary_died_repeats_nothing() {
    sentinel(Primary::Killed);
}

// claim: P31
#[test]
#[ignore = "minutes: Sentinels, and windows that run out"]
fn a_sentinel_that_promotes_beside_a_primary_that_lives_on_repeats_nothing() {
    sentinel(Primary::CutOff);
}

/// Whether the standby had all when it was promoted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Standby {
    Attached,
    /// Away, while claims wait for it, and what they wait for is seen on the primary after a while.
    AwayBefore,
}

/// The standby of a PostgreSQL of class S takes over.
fn standby(standby: Standby, primary: Primary) {
    let Some(postgres) = Postgres::run() else { return };
    let mut r1 = postgres.replica("r1");
    for sql in [
        "ALTER SYSTEM SET synchronous_standby_names = 'r1'",
        "SELECT pg_reload_conf()",
    ] {
        postgres.admin("postgres", sql);
    }
    at_length("the standby confirms", || {
        let state = "SELECT bool_and(sync_state = 'sync') FROM pg_stat_replication";
        postgres.admin("postgres", state).trim() == "t"
    });
    let mut sides = Sides::new(postgres, "5s", &[]);
    if standby == Standby::AwayBefore {
        r1.stop();
        let waits = "SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
        for _ in 0..5 {
            at_length("something waits for the standby", || {
                sides.cluster.engine.admin("postgres", waits).trim() == "t"
            });
            // What it wrote is seen, and no standby has it.
            let cancel =
                "SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
            sides.cluster.engine.admin("postgres", cancel);
        }
    }
    sides.lose(primary);
    if standby == Standby::AwayBefore {
        // It finds nobody to follow.
        sides.cluster.engine.freeze();
        r1.start();
    }
    r1.promote();
    if primary == Primary::CutOff && standby == Standby::AwayBefore {
        sides.cluster.engine.thaw();
    }
    let fault = format!("class S, standby {standby:?}, primary {primary:?}");
    sides.goes_on(&r1, primary, &fault);
}

// claim: P29
#[test]
fn a_standby_promoted_after_the_primary_died_repeats_nothing() {
    standby(Standby::Attached, Primary::Killed);
}

// claim: P29
#[test]
#[ignore = "minutes: clusters of two"]
fn a_standby_promoted_beside_a_primary_that_lives_on_repeats_nothing() {
    standby(Standby::Attached, Primary::CutOff);
}

// claim: P29
#[test]
#[ignore = "minutes: clusters of two"]
fn a_standby_that_was_away_and_is_promoted_after_the_primary_died_repeats_nothing() {
    standby(Standby::AwayBefore, Primary::Killed);
}

// claim: P29
#[test]
#[ignore = "minutes: clusters of two"]
fn a_standby_that_was_away_and_is_promoted_beside_a_primary_that_lives_on_repeats_nothing() {
    standby(Standby::AwayBefore, Primary::CutOff);
}
