//! The Redis store on a real server: the suite of all stores, then what only Redis has: settings that forget,
//! replicas, sockets, certificates.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use mintage_e2e::certificates::Certificates;
use mintage_e2e::cluster::eventually;
use mintage_e2e::engine::process::pause;
use mintage_e2e::engine::redis::Redis;
use mintage_e2e::proxy::{Fault, Proxy};
use mintage_e2e::store_suite::{
    Engine, Lab, OWNER_PASSWORD_ENCODED, cases, holds_no_secret, key, patient, until_ok, value,
};
use mintage_ledger::{
    Advice, Cas, Claim, Class, Key, Marks, Outcome, Store, StoreErrorKind, StoreSettings, Version, init_store,
};

mintage_e2e::store_suite!(Redis::run(), Redis::run());

fn lossy() -> StoreSettings {
    StoreSettings {
        allow_lossy: true,
        ..patient()
    }
}

/// One claim of 1 on a register that has one writer; the version it was acknowledged at.
fn claim(lab: &Lab<Redis>, store: &Arc<dyn Store>, key: &Key, expected: u64) -> u64 {
    let claim = Claim {
        key: key.clone(),
        expected: Version::of(expected),
        add: 1,
        token: 5,
    };
    match lab.wait(store.claim(&claim)).unwrap() {
        Cas::Done(version) => version.number(),
        Cas::Lost(found) => panic!("one writer, and still {found:?}"),
    }
}

/// A register with one write, on a store that may be of class L.
fn begin(lab: &Lab<Redis>, url: &str, key: &Key) -> Arc<dyn Store> {
    lab.init();
    let store = lab.open_with(url, &lossy()).unwrap();
    lab.wait(store.compare_and_set(key, None, value(1, 1), Marks::NeverLower))
        .unwrap();
    store
}

/// What is wrong is named, and the commands of the hint, word by word, mend it.
// claim: P31
#[test]
fn whatever_may_forget_is_refused_until_its_hint_is_followed() {
    for settings in [
        &["--appendfsync", "everysec"][..],
        &["--appendonly", "no"],
        &["--appendonly", "no", "--appendfsync", "no", "--save", "3600 1"],
        &["--no-appendfsync-on-rewrite", "yes"],
        &["--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"],
    ] {
        let Some(server) = Redis::with_settings(settings) else {
            return;
        };
        let lab = Lab::new(server);
        lab.init();
        let error = lab.refused(&lab.direct(), &patient());
        assert_eq!(error.kind, StoreErrorKind::Denied, "{settings:?}: {error:?}");
        assert!(error.message.contains("class L"), "{settings:?}: {error:?}");
        holds_no_secret(&error);
        let Some(Advice::AllowLossy { fix: hint }) = error.hint.clone() else {
            panic!("{error:?}")
        };
        let commands: Vec<Vec<&str>> = hint
            .split("CONFIG SET ")
            .skip(1)
            .map(|rest| rest.split([' ', ';']).take(2).collect())
            .collect();
        assert!(!commands.is_empty(), "{hint}");
        for command in commands {
            lab.engine.admin(&["CONFIG", "SET", command[0], command[1]]);
        }
        // A log that was just switched on is first written as a whole.
        while lab.engine.info("aof_rewrite_in_progress").ends_with('1')
            || lab.engine.info("aof_rewrite_scheduled").ends_with('1')
        {
            pause();
        }
        let store = lab.open(&lab.direct());
        let found = store.durability();
        assert_eq!(found.class, Class::Durable, "{settings:?}: {found:?}");
        assert!(found.why.contains("appendfsync always"), "{found:?}");
    }
}

/// An account that may not look is told which right it lacks.
#[test]
fn a_server_that_does_not_let_us_look_counts_as_one_that_forgets() {
    let Some(server) = Redis::run() else { return };
    let lab = Lab::new(server);
    lab.init();
    for (without, right) in [("-config", "+config|get"), ("-info", "+info")] {
        lab.engine.admin(&[
            "ACL", "SETUSER", "blind", "reset", "on", ">blind", "~*", "+@all", without,
        ]);
        let url = format!("redis://blind:blind@{}/0", lab.engine.address());
        let error = lab.refused(&url, &patient());
        assert_eq!(error.kind, StoreErrorKind::Denied, "{error:?}");
        assert!(format!("{:?}", error.hint).contains(right), "{error:?}");
        assert_eq!(lab.open_with(&url, &lossy()).unwrap().class(), Class::Lossy);
        lab.engine.admin(&["ACL", "SETUSER", "blind", right]);
        lab.open(&url);
    }
}

// claim: P32
#[test]
fn a_server_that_begins_to_forget_takes_no_more_writes() {
    let Some(server) = Redis::run() else { return };
    let sync = |how: &'static str| {
        move |redis: &Redis| {
            redis.admin(&["CONFIG", "SET", "appendfsync", how]);
        }
    };
    let [forget, mend] = [sync("everysec"), sync("always")];
    let why = "appendfsync is everysec";
    cases::a_server_that_begins_to_forget_takes_no_more_writes(Lab::new(server), why, [&forget, &mend]);
}

/// Redis with `everysec` answers before it writes when the disk is slow; a crash then loses what it answered.
#[test]
fn everysec_and_a_kill_lose_acknowledged_writes() {
    let Some(server) = Redis::with_settings(&["--appendfsync", "everysec"]) else {
        return;
    };
    if !mintage_e2e::need::strace() {
        return;
    }
    let mut lab = Lab::new(server);
    let key = key("seq/everysec");
    let store = begin(&lab, &lab.direct(), &key);
    assert_eq!(store.class(), Class::Lossy);
    let copy = store.incarnation().unwrap();
    let mut acknowledged = 1;
    eventually("a kill loses something", || {
        let slow = lab.engine.slow_syncs();
        // A sync begins within a second, and what follows it waits in memory for up to two: killed
        // as soon as something does, for it may be written at any time after that.
        let waits = |line: &str| {
            line.strip_prefix("aof_buffer_length:")
                .is_some_and(|bytes| bytes != "0")
        };
        while !waits(&lab.engine.info("aof_buffer_length")) {
            acknowledged = claim(&lab, &store, &key, acknowledged);
        }
        lab.engine.kill_during(slow);
        lab.engine.start();
        let found = lab.wait(until_ok(|| store.get(&key))).unwrap();
        let has_lost = found.version.number() < acknowledged;
        acknowledged = found.version.number();
        has_lost
    });
    assert_ne!(store.incarnation().unwrap(), copy, "whoever looks can tell");
}

/// Snapshots alone: everything since the last one.
#[test]
fn snapshots_and_a_kill_lose_acknowledged_writes() {
    let Some(server) = Redis::with_settings(&["--appendonly", "no"]) else {
        return;
    };
    let mut lab = Lab::new(server);
    let key = key("seq/snapshot");
    let store = begin(&lab, &lab.direct(), &key);
    let copy = store.incarnation().unwrap();
    lab.engine.admin(&["SAVE"]);
    let acknowledged = claim(&lab, &store, &key, 1);
    lab.engine.kill();
    lab.engine.start();
    let found = lab.wait(until_ok(|| store.get(&key))).unwrap();
    assert!(
        found.version.number() < acknowledged,
        "the server lost nothing: this shows nothing"
    );
    assert_ne!(store.incarnation().unwrap(), copy);
}

/// Replication is asynchronous, whatever the master syncs.
#[test]
fn a_promoted_replica_lacks_acknowledged_writes() {
    let Some(server) = Redis::run() else { return };
    let mut lab = Lab::new(server);
    let key = key("seq/promoted");
    let stream = Proxy::to(lab.engine.address());
    let store = begin(&lab, &lab.proxied(), &key);
    assert_eq!(store.class(), Class::Durable);
    let copy = store.incarnation().unwrap();
    let replica = lab.engine.replica(stream.address());

    // With a replica that somebody may promote the class is another one.
    let error = lab.refused(&lab.direct(), &patient());
    assert!(error.message.contains("replica(s) follow it"), "{error:?}");
    assert!(
        format!("{:?}", error.hint).contains("REPLICAOF NO ONE"),
        "{error:?}"
    );
    // Allowed, it must not live on beside the one that is promoted.
    let error = lab.refused(&lab.direct(), &lossy());
    assert_eq!(error.kind, StoreErrorKind::Denied, "{error:?}");
    assert!(
        format!("{error:?}").contains("min-replicas-to-write 1"),
        "{error:?}"
    );
    lab.engine.bounded_by_replicas();
    lab.open_with(&lab.direct(), &lossy()).unwrap();
    // Nor does a replica take writes.
    let error = lab.refused(&replica.url(replica.address()), &lossy());
    assert_eq!(error.kind, StoreErrorKind::Unavailable, "{error:?}");
    assert!(error.message.contains("it is a replica"), "{error:?}");

    let mut acknowledged = claim(&lab, &store, &key, 1);
    let offset = |server: &Redis| server.info("master_repl_offset");
    while offset(&replica) < offset(&lab.engine) {
        pause();
    }
    stream.set(Fault::HoldAnswers);
    for _ in 0..20 {
        acknowledged = claim(&lab, &store, &key, acknowledged);
    }
    lab.engine.kill();
    stream.cut_all();
    replica.admin(&["REPLICAOF", "NO", "ONE"]);
    lab.proxy.redirect(replica.address());
    let found = lab.wait(until_ok(|| store.get(&key))).unwrap();
    assert!(
        found.version.number() < acknowledged,
        "{acknowledged} acknowledged, {found:?}: the replica lost nothing, this shows nothing"
    );
    assert_ne!(store.incarnation().unwrap(), copy, "whoever looks can tell");
}

/// A disk that was replaced, or a container without its volume.
#[test]
fn a_server_without_its_data_stops_a_running_node() {
    let Some(server) = Redis::run() else { return };
    let mut lab = Lab::new(server);
    let key = key("seq/wiped");
    let store = begin(&lab, &lab.direct(), &key);
    lab.engine.stop();
    lab.engine.wipe();
    lab.engine.start();
    let error = loop {
        match lab.wait(store.get(&key)) {
            Ok(found) => panic!("{found:?} from a server that was wiped"),
            Err(error) if error.kind == StoreErrorKind::Unavailable => {}
            Err(error) => break error,
        }
    };
    assert_eq!(error.kind, StoreErrorKind::Stopped, "{error:?}");
    assert!(error.message.contains("is empty now"), "{error:?}");
}

/// However little of it an operator's mistake took.
// claim: P33
#[test]
fn whatever_is_removed_stops_a_running_node() {
    for mistake in [
        &["FLUSHALL"][..],
        &["FLUSHDB"],
        &["DEL", "mint_meta"],
        &["DEL", "mint_register"],
        &["HDEL", "mint_meta", "cluster_id"],
        &["RENAME", "mint_meta", "moved"],
    ] {
        let Some(server) = Redis::run() else { return };
        let lab = Lab::new(server);
        let key = key("seq/held");
        let store = begin(&lab, &lab.direct(), &key);
        lab.engine.admin(mistake);
        let error = lab
            .wait(store.compare_and_set(&key, Some(Version::of(1)), value(2, 2), Marks::NeverLower))
            .unwrap_err();
        assert_eq!(error.outcome, Outcome::NotDone, "{mistake:?}: {error:?}");
        assert!(
            matches!(error.kind, StoreErrorKind::Stopped | StoreErrorKind::Corrupt),
            "{mistake:?}: {error:?}"
        );
        let error = lab.refused(&lab.direct(), &patient());
        assert!(
            matches!(error.kind, StoreErrorKind::Foreign | StoreErrorKind::Corrupt),
            "{mistake:?}: {error:?}"
        );
        // Nor is a fresh start to be had over what is left.
        if !mistake[0].starts_with("FLUSH") {
            let init = lab.wait(init_store(&lab.direct(), &patient(), lab.runtime()));
            assert!(
                init.is_err() || mistake[1] == "mint_register",
                "{mistake:?}: {init:?}"
            );
        }
    }
}

/// A record that somebody edited is neither read nor written over.
#[test]
fn a_damaged_register_is_left_as_it_is() {
    let Some(server) = Redis::run() else { return };
    let lab = Lab::new(server);
    let key = key("seq/edited");
    let store = begin(&lab, &lab.direct(), &key);
    for damage in [
        &["HSET", "mint_register:seq/edited", "mark", "-1"][..],
        &["HSET", "mint_register:seq/edited", "mark", "9223372036854775808"],
        &["HSET", "mint_register:seq/edited", "mark", "1", "token", "x"],
        &["HDEL", "mint_register:seq/edited", "mark"],
    ] {
        lab.engine.admin(damage);
        let error = lab.wait(store.get(&key)).unwrap_err();
        assert_eq!(error.kind, StoreErrorKind::Corrupt, "{damage:?}: {error:?}");
    }
    let claim = Claim {
        key: key.clone(),
        expected: Version::of(1),
        add: 1,
        token: 5,
    };
    for write in [
        lab.wait(store.claim(&claim)),
        lab.wait(store.compare_and_set(&key, Some(Version::of(1)), value(2, 2), Marks::GiveBack)),
        lab.wait(store.remove(&key, Version::of(1))),
    ] {
        let error = write.unwrap_err();
        assert_eq!(
            (error.kind, error.outcome),
            (StoreErrorKind::Corrupt, Outcome::NotDone),
            "{error:?}"
        );
    }
}

/// Anybody with redis-cli can see what is reserved.
#[test]
fn registers_can_be_read_with_redis_cli() {
    let Some(server) = Redis::run() else { return };
    let lab = Lab::new(server);
    let key = key("seq/orders");
    begin(&lab, &lab.direct(), &key);
    let lines =
        |words: &[&str]| -> Vec<String> { lab.engine.admin(words).lines().map(String::from).collect() };
    assert_eq!(
        lines(&["ZRANGE", "mint_register", "0", "-1"]),
        ["!cluster", "seq/orders"]
    );
    assert_eq!(
        lines(&["HMGET", "mint_register:seq/orders", "version", "mark", "body"]),
        ["1", "1", "{}"]
    );
    assert_eq!(lines(&["HGET", "mint_meta", "schema_version"]), ["1"]);
}

/// Two prefixes, or two databases, are two stores.
#[test]
fn prefixes_and_databases_are_kept_apart() {
    let Some(server) = Redis::run() else { return };
    let lab = Lab::new(server);
    let base = lab.direct();
    let (other, third) = (format!("{base}?prefix=eu:"), base.replace("/0", "/1"));
    let mut ids = Vec::new();
    for url in [&base, &other, &third] {
        ids.push(
            lab.wait(init_store(url, &patient(), lab.runtime()))
                .unwrap()
                .cluster_id,
        );
    }
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 3);
    let held = key("seq/apart");
    for url in [&base, &other, &third] {
        let store = lab.open(url);
        let written = lab.wait(store.compare_and_set(&held, None, value(1, 1), Marks::NeverLower));
        assert_eq!(written, Ok(Cas::Done(Version::of(1))), "{url}");
    }
}

#[test]
fn a_socket_of_this_machine_will_do() {
    let Some(server) = Redis::with_settings(&["--unixsocket", "redis.sock"]) else {
        return;
    };
    let lab = Lab::new(server);
    lab.init();
    let socket = lab.engine.folder().join("redis.sock").display().to_string();
    let store = lab.open(&format!(
        "redis+unix://mint:{OWNER_PASSWORD_ENCODED}@{socket}?db=0"
    ));
    let held = key("seq/socket");
    let written = lab.wait(store.compare_and_set(&held, None, value(1, 1), Marks::NeverLower));
    assert_eq!(written, Ok(Cas::Done(Version::of(1))));
}

/// A private authority, trusted by name; the certificate is for the address alone.
#[test]
fn tls_trusts_only_whom_it_is_told_to() {
    let Some(certificates) = Certificates::make() else {
        return;
    };
    let file = |path: std::path::PathBuf| path.display().to_string();
    let port = mintage_e2e::engine::port::free().port().to_string();
    let (cert, private, ca) = (
        file(certificates.server()),
        file(certificates.key()),
        file(certificates.authority()),
    );
    let Some(server) = Redis::with_settings(&[
        "--tls-port",
        &port,
        "--tls-cert-file",
        &cert,
        "--tls-key-file",
        &private,
        "--tls-ca-cert-file",
        &ca,
    ]) else {
        return;
    };
    let lab = Lab::new(server);
    lab.init();
    let url =
        |host: &str, query: &str| format!("rediss://mint:{OWNER_PASSWORD_ENCODED}@{host}:{port}/0?{query}");
    let own = format!("tls_ca={ca}&tls_cert={cert}&tls_key={private}");
    let store = lab.open(&url("127.0.0.1", &own));
    let held = key("seq/tls");
    let written = lab.wait(store.compare_and_set(&held, None, value(1, 1), Marks::NeverLower));
    assert_eq!(written, Ok(Cas::Done(Version::of(1))));
    for (url, why) in [
        // The authority is unknown, the name is another one, we are nobody.
        (url("127.0.0.1", ""), "certificate"),
        (url("localhost", &own), "certificate"),
        (url("127.0.0.1", &format!("tls_ca={ca}")), ""),
    ] {
        let error = lab.refused(&url, &patient());
        assert_eq!(error.kind, StoreErrorKind::Unavailable, "{error:?}");
        assert!(error.message.contains(why), "{error:?}");
        holds_no_secret(&error);
    }
}
