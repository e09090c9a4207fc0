//! The etcd store on real servers: the suite of all stores on one, then what takes several, and certificates.
#![allow(clippy::unwrap_used)]

use std::net::SocketAddr;
use std::time::Duration;

use mintage_e2e::certificates::Certificates;
use mintage_e2e::engine::etcd::Etcd;
use mintage_e2e::majority::any_one_member_may_go;
use mintage_e2e::store_suite::{Engine, Lab, key, patient, until_ok, value};
use mintage_ledger::{Cas, Class, Marks, Outcome, StoreErrorKind, Version, init_store, open_store};

mintage_e2e::store_suite!(Etcd::run(), Etcd::borrow());

/// One URL for several members.
fn url(members: &[Etcd]) -> String {
    let hosts: Vec<String> = members
        .iter()
        .map(|member| member.address().to_string())
        .collect();
    format!("etcd://{}", hosts.join(","))
}

/// A runtime for servers without a [`Lab`].
fn tokio() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap()
}

fn runtime(tokio: &tokio::runtime::Runtime) -> std::sync::Arc<dyn mintage_ledger::Runtime> {
    mintage_ledger::SystemRuntime::new(tokio.handle().clone())
}

// claim: P29
#[test]
fn a_cluster_of_three_goes_on_without_any_one_of_them() {
    if let Some(mut members) = Etcd::cluster(3) {
        let url = url(&members);
        any_one_member_may_go(&mut members, &url, Duration::from_secs(6), "3 voting members");
    }
}

/// One member syncs, and is the only copy.
#[test]
fn one_member_is_durable_and_does_not_survive() {
    let Some(server) = Etcd::borrow() else { return };
    let lab = Lab::new(server);
    lab.init();
    let store = lab.open(&lab.direct());
    let found = store.durability();
    assert_eq!(found.class, Class::Durable, "{found:?}");
    assert!(found.why.contains("1 voting member"), "{found:?}");
}

/// A snapshot restored behind the same address: the revision tells.
#[test]
fn a_cluster_that_was_set_back_stops_a_running_node() {
    let Some(mut members) = Etcd::cluster(1) else {
        return;
    };
    let (url, tokio) = (url(&members), tokio());
    tokio
        .block_on(init_store(&url, &patient(), runtime(&tokio)))
        .unwrap();
    let store = tokio
        .block_on(open_store(&url, &patient(), runtime(&tokio)))
        .unwrap();
    let key = key("seq/restored");
    let write = |expected: u64| {
        let expected_version = (expected > 0).then_some(Version::of(expected));
        tokio.block_on(store.compare_and_set(&key, expected_version, value(expected, 1), Marks::NeverLower))
    };
    write(0).unwrap();
    let backup = members[0].save_snapshot();
    for version in 1..10 {
        write(version).unwrap();
    }
    members[0].stop();
    members[0].restore_snapshot(&backup);
    members[0].start();
    let error = loop {
        match tokio.block_on(store.get(&key)) {
            Err(error) if error.kind == StoreErrorKind::Unavailable && store.stopped().is_none() => {}
            Err(error) => break error,
            Ok(found) => panic!("{found:?} from a store that was set back"),
        }
    };
    assert_eq!(error.outcome, Outcome::NotDone, "{error:?}");
    let stopped = store.stopped().unwrap();
    assert_eq!(stopped.kind, StoreErrorKind::Stopped);
    assert!(
        stopped.message.contains("set back to an older copy"),
        "{stopped:?}"
    );
}

/// However little of it an operator's mistake took.
// claim: P33
#[test]
fn whatever_is_removed_stops_a_running_node() {
    for mistake in [
        &["del", "--prefix", "mint_"][..],
        &["del", "mint_meta"],
        &["del", "--prefix", "mint_register"],
        &["del", "mint_register/!cluster"],
    ] {
        let Some(server) = Etcd::borrow() else { return };
        let lab = Lab::new(server);
        lab.init();
        let store = lab.open(&lab.direct());
        let key = key("seq/held");
        let write = |expected: Option<Version>| {
            lab.wait(store.compare_and_set(&key, expected, value(1, 1), Marks::NeverLower))
        };
        write(None).unwrap();
        lab.engine.admin(mistake);
        let error = write(Some(Version::of(1))).unwrap_err();
        assert_eq!(
            (error.kind, error.outcome),
            (StoreErrorKind::Stopped, Outcome::NotDone),
            "{mistake:?}: {error:?}"
        );
        let error = lab.refused(&lab.direct(), &patient());
        assert_eq!(error.kind, StoreErrorKind::Foreign, "{mistake:?}: {error:?}");
    }
}

/// Anybody with etcdctl can see what is reserved.
#[test]
fn registers_can_be_read_with_etcdctl() {
    let Some(server) = Etcd::borrow() else { return };
    let lab = Lab::new(server);
    let cluster = lab.init();
    let store = lab.open(&lab.direct());
    lab.wait(store.compare_and_set(&key("seq/orders"), None, value(7, 1), Marks::NeverLower))
        .unwrap();
    let all = lab.engine.admin(&["get", "--prefix", "mint_"]);
    let lines: Vec<&str> = all.lines().filter(|line| !line.is_empty()).collect();
    assert_eq!(
        lines,
        [
            "mint_meta",
            &format!("{{\"schema_version\":1,\"cluster_id\":\"{cluster:032x}\"}}"),
            "mint_register/!cluster",
            &format!("{cluster:032x}"),
            "mint_register/seq/orders",
            "{\"version\":1,\"mark\":7,\"token\":\"00000000000000000000000000000001\",\"body\":{}}",
        ]
    );
}

/// A private authority, trusted by name; the server wants to know us, too.
#[test]
fn tls_trusts_only_whom_it_is_told_to() {
    let Some(certificates) = Certificates::make() else {
        return;
    };
    let file = |path: std::path::PathBuf| path.display().to_string();
    let (cert, private, ca) = (
        file(certificates.server()),
        file(certificates.key()),
        file(certificates.authority()),
    );
    let Some(server) = Etcd::with_tls(&cert, &private, &ca) else {
        return;
    };
    let at: SocketAddr = server.address();
    let tokio = tokio();
    let own = format!("tls_ca={ca}&tls_cert={cert}&tls_key={private}");
    let url = format!("etcd://{at}?{own}");
    let settings = patient();
    let init = || init_store(&url, &settings, runtime(&tokio));
    tokio.block_on(until_ok(init));
    let store = tokio
        .block_on(open_store(&url, &patient(), runtime(&tokio)))
        .unwrap();
    let held = key("seq/tls");
    let written = tokio.block_on(store.compare_and_set(&held, None, value(1, 1), Marks::NeverLower));
    assert_eq!(written, Ok(Cas::Done(Version::of(1))));
    for (url, why) in [
        (format!("etcd://{at}?tls=on"), "certificate"),
        (format!("etcd://localhost:{}?{own}", at.port()), "certificate"),
        (format!("etcd://{at}?tls_ca={ca}"), ""),
        (format!("etcd://{at}"), ""),
    ] {
        let refused = tokio.block_on(open_store(&url, &patient(), runtime(&tokio)));
        let error = refused.map(drop).unwrap_err();
        assert_eq!(error.kind, StoreErrorKind::Unavailable, "{url}: {error:?}");
        assert!(error.message.contains(why), "{url}: {error:?}");
    }
}
