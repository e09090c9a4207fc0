//! Stores that lose what they acknowledged, under servers that were told to take them (`store.allow_lossy`): the
//! engine's loss is shown, and no id repeats.
#![allow(clippy::unwrap_used)]

use mintage_e2e::cluster::Cluster;
use mintage_e2e::engine::{postgres::Postgres, redis::Redis};
use mintage_e2e::proxy::Proxy;
use mintage_e2e::store_suite::Engine;

const ALLOWED: [&str; 1] = ["MINT_STORE__ALLOW_LOSSY=true"];

/// Three servers behind one proxy, so that a promoted replica takes the primary's address over.
fn three<E: Engine>(engine: E) -> (Cluster<E>, Proxy) {
    let mut cluster = Cluster::with_options(engine, "small", 3, &ALLOWED);
    let proxy = Proxy::to(cluster.engine.address());
    let url = cluster.engine.url(proxy.address());
    for _ in 0..3 {
        let (name, start) = cluster.next_start(&url);
        cluster.add_started(name, start);
    }
    cluster.all_serve(&[0, 1, 2], 40);
    (cluster, proxy)
}

/// The mark of the sequence that clients use, as the server's own tools read it.
trait Mark {
    fn mark(&self) -> u64;
}

impl Mark for Redis {
    fn mark(&self) -> u64 {
        let text = self.admin(&["HGET", "mint_register:seq/orders", "mark"]);
        text.trim().parse().unwrap_or(0)
    }
}

impl Mark for Postgres {
    fn mark(&self) -> u64 {
        let sql = "SELECT mark FROM mint_register WHERE key = 'seq/orders'";
        self.admin("ids", sql).trim().parse().unwrap_or(0)
    }
}

/// The replica stands still while the primary acknowledges more, and then takes over.
fn promoted<E: Engine + Mark>(engine: E, mut replica: E, promote: impl Fn(&E), fault: &str) {
    let (mut cluster, proxy) = three(engine);
    replica.freeze();
    let before = cluster.engine.mark();
    // Every server reserves anew, and its clients have the numbers.
    let mut acknowledged = before;
    while acknowledged < before + 1_000 {
        cluster.all_serve(&[0, 1, 2], 200);
        acknowledged = cluster.engine.mark();
    }
    cluster.engine.kill();
    replica.thaw();
    promote(&replica);
    let left = replica.mark();
    assert!(
        left < acknowledged,
        "the replica has all: {left} of {acknowledged}; nothing was lost"
    );
    proxy.redirect(replica.address());
    cluster.all_serve(&[0, 1, 2], 200);
    // One that knows nothing from before.
    let url = replica.url(proxy.address());
    let (name, start) = cluster.next_start(&url);
    let fresh = cluster.add_started(name, start);
    cluster.all_serve(&[0, 1, 2, fresh], 200);
    assert!(
        replica.mark() > acknowledged,
        "every mark was raised above what was lost"
    );
    cluster.checked(fault);
}

#[test]
fn a_promoted_redis_replica_with_lost_writes_repeats_nothing() {
    let Some(primary) = Redis::with_settings(&["--appendfsync", "everysec"]) else {
        return;
    };
    let replica = primary.replica();
    let promote = |replica: &Redis| {
        replica.admin(&["REPLICAOF", "NO", "ONE"]);
    };
    promoted(primary, replica, promote, "asynchronous replica promoted");
}

#[test]
fn a_promoted_postgres_replica_with_lost_writes_repeats_nothing() {
    let Some(primary) = Postgres::with_settings(&["synchronous_commit=off"]) else {
        return;
    };
    let replica = primary.replica("lagging");
    promoted(
        primary,
        replica,
        Postgres::promote,
        "asynchronous replica promoted",
    );
}

#[test]
fn a_redis_without_syncs_that_is_killed_and_loses_its_tail_repeats_nothing() {
    // The file of the last save, as after a power cut: what came later was never synced.
    let Some(primary) = Redis::with_settings(&["--appendonly", "no", "--save", ""]) else {
        return;
    };
    let (mut cluster, _proxy) = three(primary);
    cluster.engine.admin(&["SAVE"]);
    let saved = cluster.engine.mark();
    let mut acknowledged = saved;
    while acknowledged < saved + 1_000 {
        cluster.all_serve(&[0, 1, 2], 200);
        acknowledged = cluster.engine.mark();
    }
    cluster.engine.kill();
    cluster.engine.start();
    let left = cluster.engine.mark();
    assert!(left < acknowledged, "{left} of {acknowledged}: nothing was lost");
    cluster.all_serve(&[0, 1, 2], 200);
    assert!(
        cluster.engine.mark() > acknowledged,
        "every mark was raised above what was lost"
    );
    cluster.checked("killed without syncs");
}
