//! Every failover twice: with the primary killed, and with it alive, cut off with one server of ours, beside the
//! promoted one. `cargo xtask e2e --matrix` prints a row for each.
#![allow(clippy::unwrap_used)]

use mintage_e2e::cluster::{Cluster, at_length};
use mintage_e2e::engine::place;
use mintage_e2e::engine::surroundings::Surroundings;
use mintage_e2e::engine::{postgres::Postgres, redis::Redis, sentinel::Sentinels};
use mintage_e2e::namespace::Lan;
use mintage_e2e::need;
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
        let near = Proxy::to(engine.address());
        Sides::with_near(engine, near, window, options)
    }

    /// The same with another way of the first server.
    fn with_near(engine: E, near: Proxy, window: &str, options: &[&str]) -> Sides<E> {
        let far = Proxy::to(engine.address());
        let mut cluster = Cluster::with_windows(engine, "small", 1, window, options);
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

/// What a primary of class L needs that may be followed by another.
const BOUNDED: [[&str; 2]; 3] = [
    ["--appendfsync", "everysec"],
    ["--min-replicas-to-write", "1"],
    ["--min-replicas-max-lag", "10"],
];

/// A primary with two replicas, so that the promoted one has a replica, too, and Sentinels, all of which reach it on
/// one way.
fn sentinel(primary: Primary, event: &str) {
    let Some(redis) = Redis::with_settings(BOUNDED.as_flattened()) else {
        return;
    };
    let stream = Proxy::to(redis.address());
    let replicas = [redis.replica(stream.address()), redis.replica(stream.address())];
    let sentinels = Sentinels::watch(stream.address(), replicas.len());
    let near = Proxy::to(redis.address());
    let cut = || stream.set(Fault::Freeze);
    promoted_by(&sentinels, &replicas, (redis, near), primary, cut, event);
}

/// The Sentinels promote one of these after the primary was cut off from them and from its replicas.
fn promoted_by(
    sentinels: &Sentinels,
    replicas: &[Redis],
    (redis, near): (Redis, Proxy),
    primary: Primary,
    cut: impl FnOnce(),
    event: &str,
) {
    // As long as they may be with this class, and lived for: the old side has the most to give out.
    let mut sides = Sides::with_near(redis, near, "30s", &["MINT_STORE__ALLOW_LOSSY=true"]);
    at_length("windows are at their full length", || {
        let left = |node: usize| sides.cluster.nodes[node].metric("mint_window_until_seconds");
        [OLD, NEW]
            .iter()
            .all(|node| left(*node).is_some_and(|left| left > 28.0))
    });
    cut();
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
    sides.goes_on(promoted, primary, event);
}

// claim: P31
#[test]
#[ignore = "minutes: Sentinels, and windows that run out"]
fn a_sentinel_that_promotes_after_the_primary_died_repeats_nothing() {
    sentinel(Primary::Killed, "Sentinel promotes, primary killed");
}

// claim: P31
#[test]
#[ignore = "minutes: Sentinels, and windows that run out"]
fn a_sentinel_that_promotes_beside_a_primary_that_lives_on_repeats_nothing() {
    sentinel(
        Primary::CutOff,
        "Sentinel promotes beside a primary that lives on",
    );
}

/// One way: what the primary sends arrives, and it hears neither Sentinels nor replicas; the first server it hears.
// claim: P31
#[test]
#[ignore = "minutes: Sentinels, and windows that run out"]
fn a_sentinel_that_promotes_beside_a_primary_that_hears_nobody_repeats_nothing() {
    if !need::root() || !need::partitions() {
        return;
    }
    let lan = Lan::of(3);
    let Some(redis) = Redis::within(BOUNDED.as_flattened(), lan.machine(0)) else {
        return;
    };
    let replicas = [1, 2].map(|at| redis.replica_within(redis.address(), lan.machine(at)));
    let sentinels = Sentinels::watch(redis.address(), replicas.len());
    let near = Proxy::to(redis.address()).seen_as(lan.beside());
    let cut = || lan.deafen(0, &[lan.here(), lan.address(1), lan.address(2)]);
    let event = "Sentinel promotes beside a primary that hears nobody, and is heard";
    promoted_by(&sentinels, &replicas, (redis, near), Primary::CutOff, cut, event);
}

/// Whether the standby had all when it was promoted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Standby {
    Attached,
    /// Away, while claims wait for it, and what they wait for is seen on the primary after a while.
    AwayBefore,
}

/// The standby of a PostgreSQL of class S takes over.
fn standby(standby: Standby, primary: Primary, event: &str) {
    standby_within(Surroundings::default(), standby, primary, event);
}

const WAITS: &str = "SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event = 'SyncRep'";

fn something_waits(primary: &Postgres) {
    at_length("something waits for the standby", || {
        primary.admin("postgres", WAITS).trim() == "t"
    });
}

/// The same of a standby in other surroundings.
fn standby_within(surroundings: Surroundings, standby: Standby, primary: Primary, event: &str) {
    let Some(postgres) = Postgres::run() else { return };
    let mut r1 = postgres.replica_within("r1", surroundings);
    postgres.confirm_by("r1");
    let mut sides = Sides::new(postgres, "5s", &[]);
    if standby == Standby::AwayBefore {
        r1.stop();
        for _ in 0..5 {
            something_waits(&sides.cluster.engine);
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
    sides.goes_on(&r1, primary, event);
}

// claim: P29
#[test]
fn a_standby_promoted_after_the_primary_died_repeats_nothing() {
    let event = "class S, primary killed, standby promoted";
    standby(Standby::Attached, Primary::Killed, event);
}

// claim: P29
#[test]
#[ignore = "minutes: clusters of two"]
fn a_standby_promoted_beside_a_primary_that_lives_on_repeats_nothing() {
    let event = "class S, standby promoted beside a primary that lives on";
    standby(Standby::Attached, Primary::CutOff, event);
}

// claim: P29
#[test]
#[ignore = "minutes: clusters of two"]
fn a_standby_that_was_away_and_is_promoted_after_the_primary_died_repeats_nothing() {
    let event = "class S, standby away before, primary killed, standby promoted";
    standby(Standby::AwayBefore, Primary::Killed, event);
}

// claim: P29
#[test]
#[ignore = "minutes: clusters of two"]
fn a_standby_that_was_away_and_is_promoted_beside_a_primary_that_lives_on_repeats_nothing() {
    let event = "class S, standby away before, promoted beside a primary that lives on";
    standby(Standby::AwayBefore, Primary::CutOff, event);
}

/// The standby's clock, and so the store's from then on, is wrong; the servers' are right.
fn promoted_with_a_clock(offset: &str, event: &str) {
    let Some(faketime) = need::faketime() else { return };
    // The server reads it, which is another account's.
    let folder = place::folder();
    let clock = folder.path().join("clock");
    std::fs::write(&clock, format!("{offset}\n")).unwrap();
    let surroundings = Surroundings::with(faketime.environment(&clock));
    standby_within(surroundings, Standby::Attached, Primary::Killed, event);
}

// claim: P5, P29
#[test]
#[ignore = "minutes: clusters of two"]
fn a_promoted_standby_whose_clock_is_a_day_ahead_repeats_nothing() {
    promoted_with_a_clock("+1d", "class S, promoted standby's clock a day ahead");
}

// claim: P5, P29
#[test]
#[ignore = "minutes: clusters of two"]
fn a_promoted_standby_whose_clock_is_a_day_behind_repeats_nothing() {
    promoted_with_a_clock("-1d", "class S, promoted standby's clock a day behind");
}

/// First the primary hears nothing of its standby, which has what nobody knows that it has; then the standby hears
/// nothing of the primary, and is promoted.
// claim: P29
#[test]
#[ignore = "minutes: clusters of two"]
fn one_way_cuts_between_primary_and_standby_repeat_nothing() {
    if !need::root() || !need::partitions() {
        return;
    }
    let lan = Lan::of(2);
    let Some(postgres) = Postgres::within(&[], lan.machine(0)) else {
        return;
    };
    let r1 = postgres.replica_within("r1", lan.machine(1));
    postgres.confirm_by("r1");
    let mut sides = Sides::new(postgres, "5s", &[]);
    lan.deafen(0, &[lan.address(1)]);
    something_waits(&sides.cluster.engine);
    lan.mend(0);
    sides.cluster.all_serve(&[OLD, NEW], 200);
    lan.deafen(1, &[lan.address(0)]);
    something_waits(&sides.cluster.engine);
    sides.lose(Primary::CutOff);
    r1.promote();
    let event = "class S, one-way cuts between primary and standby, then promoted beside the primary";
    sides.goes_on(&r1, Primary::CutOff, event);
}
