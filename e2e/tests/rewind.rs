//! PostgreSQL whose old primary comes back by `pg_rewind` after a failover: as the standby of the promoted one, with
//! the setting that makes it one that must confirm, without, and alone.
#![allow(clippy::unwrap_used)]

use std::mem::swap;

use mintage_e2e::cluster::{Cluster, eventually};
use mintage_e2e::engine::postgres::{KEPT, Postgres};
use mintage_e2e::proxy::Proxy;
use mintage_e2e::store_suite::Engine;
use mintage_testing::invariant;

/// A primary, which is the cluster's engine, its standby, and two servers that follow a proxy to the primary.
struct Pair {
    cluster: Cluster<Postgres>,
    proxy: Proxy,
    other: Postgres,
}

const BOTH: [usize; 2] = [0, 1];

impl Pair {
    fn new() -> Option<Pair> {
        let primary = Postgres::with_settings(&["cluster_name=p", "wal_log_hints=on", KEPT])?;
        let other = primary.replica("r1");
        primary.confirm_by("r1");
        // What is owned does not hide for long that nothing is reserved.
        let options = ["MINT_SEQUENCES__OUTAGE_BUDGET=0s"];
        let mut cluster = Cluster::with_options(primary, "small", 3, &options);
        let proxy = Proxy::to(cluster.engine.address());
        let url = cluster.engine.url(proxy.address());
        for _ in BOTH {
            let (name, start) = cluster.next_start(&url);
            cluster.add_started(name, start);
        }
        cluster.all_serve(&BOTH, 200);
        Some(Pair {
            cluster,
            proxy,
            other,
        })
    }

    /// The primary dies, the standby is promoted, and the old primary comes back as its standby, which must confirm
    /// where it is named. Then the servers are led there.
    fn fails_over(&mut self, names: &str) {
        swap(&mut self.cluster.engine, &mut self.other);
        self.other.kill();
        self.cluster.engine.promote();
        // It recovers first, by itself.
        self.other.start();
        self.other.stop();
        self.other.rewind(&self.cluster.engine);
        self.cluster.engine.confirm_by(names);
        self.proxy.redirect(self.cluster.engine.address());
    }
}

// claim: P29
#[test]
#[ignore = "minutes: a failover again and again"]
fn an_old_primary_back_by_pg_rewind_takes_over_again() {
    let Some(mut pair) = Pair::new() else { return };
    for names in ["p", "r1", "p"] {
        pair.fails_over(names);
        pair.cluster.all_serve(&BOTH, 200);
    }
    let url = pair.cluster.engine.url(pair.proxy.address());
    let (name, start) = pair.cluster.next_start(&url);
    let fresh = pair.cluster.add_started(name, start);
    pair.cluster.all_serve(&[0, 1, fresh], 200);
    pair.cluster
        .checked("class S, old primary back by pg_rewind, promoted in turn");
}

// claim: P30
#[test]
#[ignore = "minutes: a failover again and again"]
fn an_old_primary_back_by_pg_rewind_without_its_setting_is_refused() {
    let Some(mut pair) = Pair::new() else { return };
    pair.fails_over("");
    pair.cluster.all_serve(&BOTH, 200);
    pair.fails_over("");
    eventually("both stop in words", || {
        BOTH.iter().all(|at| {
            let ready = pair.cluster.nodes[*at].server().http("GET", "/readyz", "").text();
            ready.contains("stopped for good")
        })
    });
    for at in BOTH {
        pair.cluster.nodes[at].kill();
    }
    let url = pair.cluster.engine.url(pair.cluster.engine.address());
    pair.cluster
        .mint(&["store", "restore", "--advance", "100000", "--store", &url]);
    for at in BOTH {
        pair.cluster.nodes[at].restart();
    }
    pair.cluster.all_serve(&BOTH, 200);
    pair.cluster
        .checked("old primary back by pg_rewind, synchronous_standby_names off, promoted in turn");
}

// claim: P30
#[test]
#[ignore = "minutes: a failover again and again"]
fn an_old_primary_back_by_pg_rewind_that_stands_alone_reserves_nothing() {
    let Some(mut pair) = Pair::new() else { return };
    pair.fails_over("p");
    pair.cluster.all_serve(&BOTH, 200);
    // Somebody starts it as a primary: of the timeline of the promoted one, and of its name.
    pair.other.stop();
    pair.other.stand_alone();
    pair.other.start_with("synchronous_standby_names = ''");
    let mark = |postgres: &Postgres| {
        let sql = "SELECT mark FROM mint_register WHERE key = 'seq/orders'";
        postgres.admin("ids", sql)
    };
    let (before, refused) = (mark(&pair.other), pair.cluster.seen.refusals());
    pair.proxy.redirect(pair.other.address());
    eventually("nothing is left to give out", || {
        pair.cluster.seen.refusals() > refused + 100
    });
    invariant!(
        before == mark(&pair.other),
        "{before} became {}",
        mark(&pair.other)
    );
    // It becomes what it should be; `pg_rewind` sees no difference between two of one timeline.
    pair.other.kill();
    pair.other = pair.cluster.engine.replica("p");
    pair.proxy.redirect(pair.cluster.engine.address());
    pair.cluster.all_serve(&BOTH, 200);
    pair.cluster.checked(
        "class S, old primary back by pg_rewind, alone and without replication, beside the promoted one",
    );
}
