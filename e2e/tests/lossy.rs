//! Stores that lose what they acknowledged, under servers that were told to take them (`store.allow_lossy`): the
//! engine's loss is shown, and no id repeats.
#![allow(clippy::unwrap_used)]

use mintage_e2e::cluster::{Cluster, Of, eventually};
use mintage_e2e::engine::{postgres::Postgres, redis::Redis};
use mintage_e2e::need;
use mintage_e2e::proxy::{Fault, Proxy};
use mintage_e2e::store_suite::Engine;
use mintage_testing::invariant;

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
fn promoted<E: Engine + Mark>(
    (cluster, proxy): (Cluster<E>, Proxy),
    mut replica: E,
    cut_off: impl FnOnce(&mut E),
    promote: impl FnOnce(&mut E),
) {
    let mut cluster = cluster;
    cut_off(&mut replica);
    let before = cluster.engine.mark();
    // Every server reserves anew, and its clients have the numbers.
    let mut acknowledged = before;
    while acknowledged < before + 1_000 {
        cluster.all_serve(&[0, 1, 2], 200);
        acknowledged = cluster.engine.mark();
    }
    cluster.engine.kill();
    promote(&mut replica);
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
    let raised = replica.mark();
    invariant!(
        raised > acknowledged,
        "{raised} is not above {acknowledged}, which was lost"
    );
    cluster.checked("asynchronous replica promoted");
}

// claim: P31
#[test]
#[ignore = "minutes: stores that forget"]
fn a_promoted_redis_replica_with_lost_writes_repeats_nothing() {
    let Some(primary) = Redis::with_settings(&["--appendfsync", "everysec"]) else {
        return;
    };
    let three = three(primary);
    let stream = Proxy::to(three.0.engine.address());
    let replica = three.0.engine.replica(stream.address());
    three.0.engine.bounded_by_replicas();
    let cut_off = |replica: &mut Redis| {
        let offset = |server: &Redis| server.info("master_repl_offset");
        eventually("the replica has a copy", || {
            offset(replica) != "master_repl_offset:0"
        });
        stream.set(Fault::HoldAnswers);
    };
    let promote = |replica: &mut Redis| {
        stream.cut_all();
        replica.admin(&["REPLICAOF", "NO", "ONE"]);
    };
    promoted(three, replica, cut_off, promote);
}

// claim: P31
#[test]
#[ignore = "minutes: stores that forget"]
fn a_promoted_postgres_replica_with_lost_writes_repeats_nothing() {
    let Some(primary) = Postgres::with_settings(&["synchronous_commit=off"]) else {
        return;
    };
    let three = three(primary);
    let replica = three.0.engine.replica("lagging");
    let promote = |replica: &mut Postgres| {
        replica.start();
        replica.promote();
    };
    promoted(three, replica, Engine::stop, promote);
}

// claim: P31
#[test]
#[ignore = "minutes: stores that forget"]
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
    lost_and_raised(&mut cluster, acknowledged);
    cluster.checked("killed without syncs");
}

/// The server that was killed starts again without what it had acknowledged, and everybody goes on above that.
fn lost_and_raised(cluster: &mut Cluster<Redis>, acknowledged: u64) {
    // They would raise it before it is read.
    cluster.nodes.iter().for_each(|node| node.signal("STOP"));
    cluster.engine.start();
    let left = cluster.engine.mark();
    cluster.nodes.iter().for_each(|node| node.signal("CONT"));
    assert!(left < acknowledged, "{left} of {acknowledged}: nothing was lost");
    cluster.all_serve(&[0, 1, 2], 200);
    let raised = cluster.engine.mark();
    invariant!(
        raised > acknowledged,
        "{raised} is not above {acknowledged}, which was lost"
    );
}

// claim: P31
#[test]
#[ignore = "minutes: stores that forget"]
fn a_redis_that_syncs_every_second_and_is_killed_repeats_nothing_that_it_lost() {
    if !need::strace() {
        return;
    }
    let Some(primary) = Redis::with_settings(&["--appendfsync", "everysec"]) else {
        return;
    };
    let (mut cluster, _proxy) = three(primary);
    let slow = cluster.engine.slow_syncs();
    // What Redis acknowledges while a sync takes long is for up to two seconds in its memory alone.
    let is_syncing =
        |cluster: &Cluster<Redis>| cluster.engine.info("aof_pending_bio_fsync") == "aof_pending_bio_fsync:1";
    let before = cluster.engine.mark();
    let mut given = Vec::new();
    // Again if that was a sync that was about to end when they became slow.
    while given.is_empty() || !is_syncing(&cluster) {
        eventually("a sync takes long", || is_syncing(&cluster));
        let mut client = cluster.nodes[0].server().redis();
        let last = client.ask(&["INCRBY", "orders", &RUN.to_string()]);
        given.push(last.unwrap().int().unwrap().unsigned_abs());
    }
    cluster.engine.kill_during(slow);
    let acknowledged = *given.last().unwrap();
    assert!(acknowledged > before, "a run of {RUN} is reserved by itself");
    // They were given out, so that nobody may be given them again.
    for last in given {
        (last - RUN + 1..=last).for_each(|number| cluster.seen.note(Of::Sequence, number));
    }
    lost_and_raised(&mut cluster, acknowledged);
    cluster.checked("everysec, kill -9");
}

/// Numbers at once: more than anybody holds.
const RUN: u64 = 200_000;

/// Its default loses what it acknowledged, here to another client; the servers' own sessions do not use it.
// claim: P31
#[test]
#[ignore = "minutes: stores that forget"]
fn a_postgres_that_answers_before_it_syncs_and_is_killed_repeats_nothing() {
    let settings = ["synchronous_commit=off", "wal_writer_delay=10000ms"];
    let Some(primary) = Postgres::with_settings(&settings) else {
        return;
    };
    let (mut cluster, _proxy) = three(primary);
    let theirs = |cluster: &Cluster<Postgres>, sql: &str| cluster.engine.admin("ids", sql);
    theirs(
        &cluster,
        "CREATE TABLE theirs (n bigint); INSERT INTO theirs VALUES (0)",
    );
    let mut lost = 0;
    for round in 1..=5 {
        cluster.all_serve(&[0, 1, 2], 100);
        // A commit of theirs would sync the other client's, too.
        cluster.nodes.iter().for_each(|node| node.signal("STOP"));
        let acknowledged = cluster.engine.mark();
        theirs(&cluster, &format!("UPDATE theirs SET n = {round}"));
        cluster.engine.kill();
        cluster.engine.start();
        let kept = theirs(&cluster, "SELECT n FROM theirs");
        lost += u32::from(kept.trim() != round.to_string());
        let mark = cluster.engine.mark();
        invariant!(
            mark >= acknowledged,
            "a mark went back from {acknowledged} to {mark}"
        );
        cluster.nodes.iter().for_each(|node| node.signal("CONT"));
    }
    assert!(
        lost > 0,
        "the server lost nothing that it had acknowledged: this shows nothing"
    );
    cluster.all_serve(&[0, 1, 2], 200);
    cluster.checked("synchronous_commit=off, kill -9");
}
