//! The ZooKeeper store on real servers: the suite of all stores on one, then what takes several, and nodes whose
//! versions end, and certificates.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::time::Duration;

use mintage_e2e::certificates::Certificates;
use mintage_e2e::engine::zookeeper::ZooKeeper;
use mintage_e2e::majority::any_one_member_may_go;
use mintage_e2e::proxy::Fault;
use mintage_e2e::store_suite::{Engine, Lab, OWNER_PASSWORD_ENCODED, key, value};
use mintage_ledger::zookeeper_client::{delete, get_acl, get_children, get_data};
use mintage_ledger::{
    BoxFuture, Cas, Marks, Outcome, Store, StoreErrorKind, StoreSettings, Version, conformance, init_store,
    open_store,
};
use mintage_testing::no_secret_in;

mintage_e2e::store_suite!(ZooKeeper::run(), ZooKeeper::borrow());

// claim: P29
#[test]
#[ignore = "minutes: an ensemble of three"]
fn an_ensemble_of_three_goes_on_without_any_one_of_them() {
    let Some(mut servers) = ZooKeeper::ensemble(3) else {
        return;
    };
    let hosts: Vec<String> = servers
        .iter()
        .map(|server| server.address().to_string())
        .collect();
    let url = format!("zookeeper://{}/ids", hosts.join(","));
    any_one_member_may_go(&mut servers, &url, Duration::from_secs(10), "3 voting servers");
}

/// ZooKeeper's versions end at 2^31 - 1, ours do not: a register moves to a fresh node before that.
#[test]
fn registers_move_to_fresh_nodes_before_versions_end() {
    let Some(server) = ZooKeeper::borrow() else { return };
    let lab = Lab::new(server);
    lab.init();
    let url_of = |writes: u32| format!("{}?writes_per_node={writes}", lab.direct());
    // Many write to one register at once there, who would never find it where it moves after every few writes.
    let opener = (url_of(10), lab.runtime());
    let open = move || -> BoxFuture<'static, Arc<dyn Store>> {
        let (url, runtime) = opener.clone();
        Box::pin(async move { open_store(&url, &patient(), runtime).await.unwrap() })
    };
    lab.wait(conformance::check_all(&open));

    // Two processes, one of which knows an older node.
    let url = url_of(3);
    let (one, other) = (lab.open(&url), lab.open(&url));
    let held = key("seq/moves");
    let mut version = 0;
    let node = || {
        lab.engine.admin(async |client| {
            let mut nodes = client.ask(get_children("/mint_register/seq!moves")).await?.0;
            assert_eq!(nodes.len(), 1, "a register has one node");
            Ok(nodes.remove(0))
        })
    };
    let mut nodes = Vec::new();
    for round in 0..5 {
        for store in [&one, &one, &one, &one, &other] {
            let expected = (version > 0).then_some(Version::of(version));
            let written =
                lab.wait(store.compare_and_set(&held, expected, value(version, 1), Marks::NeverLower));
            assert_eq!(written, Ok(Cas::Done(Version::of(version + 1))), "round {round}");
            version += 1;
        }
        nodes.push(node());
        // What `other` knew of the node that `one` left behind fits nothing any more.
        let stale =
            lab.wait(other.compare_and_set(&held, Some(Version::of(1)), value(1000, 9), Marks::NeverLower));
        assert!(matches!(stale, Ok(Cas::Lost(Some(found))) if found.version.number() == version));
    }
    nodes.dedup();
    assert_eq!(nodes.len(), 5, "it moved in every round");
    assert_eq!(lab.held(&held).unwrap().version.number(), 25);
}

/// However little of it an operator's mistake took.
// claim: P33
#[test]
fn whatever_is_removed_stops_a_running_node() {
    for mistake in ["meta", "sentinel"] {
        let Some(server) = ZooKeeper::borrow() else { return };
        let lab = Lab::new(server);
        let cluster = lab.init();
        let store = lab.open(&lab.direct());
        let key = key("seq/held");
        let write = |expected: Option<Version>| {
            lab.wait(store.compare_and_set(&key, expected, value(1, 1), Marks::NeverLower))
        };
        write(None).unwrap();
        lab.engine.admin(async |client| match mistake {
            "meta" => client.ask(delete("/mint_meta", None)).await,
            _ => {
                let sentinel = format!("/mint_register/#{cluster:032x}");
                client.ask(delete(&sentinel, None)).await
            }
        });
        let error = write(Some(Version::of(1))).unwrap_err();
        assert_eq!(
            (error.kind, error.outcome),
            (StoreErrorKind::Stopped, Outcome::NotDone),
            "{mistake}: {error:?}"
        );
        let error = lab.refused(&lab.direct(), &patient());
        assert_eq!(error.kind, StoreErrorKind::Foreign, "{mistake}: {error:?}");
    }
}

/// As when a server answers the account before the session: it has one for us the next time.
#[test]
fn a_session_that_is_lost_as_it_begins_is_asked_for_again() {
    let Some(server) = ZooKeeper::borrow() else { return };
    let lab = Lab::new(server);
    lab.init();
    let lose = |sessions: u64| {
        let last = lab.proxy.accepted();
        (1..=sessions).for_each(|n| lab.proxy.set_only(last + n, Fault::CutAnswer));
    };
    lose(4);
    lab.open(&lab.proxied());
    assert_eq!(lab.proxy.accepted(), 5);
    lose(5);
    let error = lab.refused(&lab.proxied(), &patient());
    assert_eq!(
        (error.kind, error.outcome),
        (StoreErrorKind::Unavailable, Outcome::NotDone),
        "{error:?}"
    );
    assert_eq!(lab.proxy.accepted(), 10);
}

/// Two paths are two stores, and `mint init` makes the path.
#[test]
fn a_chroot_is_made_and_kept_apart() {
    let Some(server) = ZooKeeper::borrow() else { return };
    let lab = Lab::new(server);
    let (one, other) = (
        format!("{}/ids/eu", lab.direct()),
        format!("{}/ids/us", lab.direct()),
    );
    let mut ids = Vec::new();
    for url in [&lab.direct(), &one, &other] {
        ids.push(
            lab.wait(init_store(url, &patient(), lab.runtime()))
                .unwrap()
                .cluster_id,
        );
        let store = lab.open(url);
        let written =
            lab.wait(store.compare_and_set(&key("seq/apart"), None, value(1, 1), Marks::NeverLower));
        assert_eq!(written, Ok(Cas::Done(Version::of(1))), "{url}");
    }
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 3);
}

/// Nodes belong to the account that `mint init` ran with, and can be read with the stock client.
#[test]
fn registers_belong_to_their_account_and_can_be_read() {
    let Some(server) = ZooKeeper::borrow() else { return };
    let lab = Lab::new(server);
    lab.init();
    let store = lab.open(&lab.direct());
    lab.wait(store.compare_and_set(&key("seq/orders"), None, value(7, 1), Marks::NeverLower))
        .unwrap();
    let (data, acl) = lab.engine.admin(async |client| {
        let base = "/mint_register/seq!orders";
        let inner = client.ask(get_children(base)).await?.0.remove(0);
        let path = format!("{base}/{inner}");
        Ok((
            client.ask(get_data(&path)).await?.0,
            client.ask(get_acl(&path)).await?,
        ))
    });
    assert_eq!(
        String::from_utf8(data).unwrap(),
        "{\"version\":1,\"mark\":7,\"token\":\"00000000000000000000000000000001\",\"body\":{}}"
    );
    assert_eq!(acl.len(), 1);
    assert!(acl[0].id.starts_with("mint:"), "{acl:?}");
    let nobody = format!("zookeeper://{}", lab.engine.address());
    let error = lab.refused(&nobody, &patient());
    assert_eq!(
        (error.kind, error.outcome),
        (StoreErrorKind::Denied, Outcome::NotDone),
        "{error:?}"
    );
}

/// A Java that has just started is slow at its first handshakes, and why TLS fails is asked in the same time.
fn patient() -> StoreSettings {
    StoreSettings {
        request_timeout: Duration::from_secs(20),
        connect_timeout: Duration::from_secs(60),
        ..StoreSettings::default()
    }
}

/// A private authority, trusted by name; this server wants to know us, too.
#[test]
fn tls_trusts_only_whom_it_is_told_to() {
    let (Some(certificates), Some(others)) = (Certificates::make(), Certificates::make()) else {
        return;
    };
    let Some(server) = ZooKeeper::with_tls(&certificates, "need") else {
        return;
    };
    let lab = Lab::new(server);
    let (plain, secure) = (lab.engine.address().port(), lab.engine.secure_address().port());
    let url = |host: &str, port: u16, query: &str| {
        format!("zookeeper://mint:{OWNER_PASSWORD_ENCODED}@{host}:{port}/ids?{query}")
    };
    let trusted = |by: &Certificates| format!("tls_ca={}", by.authority().display());
    let known = |as_whom: &Certificates| {
        let (cert, key) = (as_whom.server(), as_whom.key());
        format!("&tls_cert={}&tls_key={}", cert.display(), key.display())
    };
    let own = trusted(&certificates) + &known(&certificates);
    let right = url("127.0.0.1", secure, &own);
    lab.wait(init_store(&right, &patient(), lab.runtime())).unwrap();
    let store = lab.open_with(&right, &patient()).unwrap();
    let held = key("seq/tls");
    let written = lab.wait(store.compare_and_set(&held, None, value(1, 1), Marks::NeverLower));
    assert_eq!(written, Ok(Cas::Done(Version::of(1))));
    for (url, why) in [
        (
            url(
                "127.0.0.1",
                secure,
                &(String::from("tls=on") + &known(&certificates)),
            ),
            "invalid peer certificate: UnknownIssuer",
        ),
        (
            url("127.0.0.1", secure, &(trusted(&others) + &known(&certificates))),
            "invalid peer certificate",
        ),
        (
            url("localhost", secure, &own),
            "certificate not valid for name \"localhost\"",
        ),
        (
            url("127.0.0.1", secure, &trusted(&certificates)),
            "received fatal alert",
        ),
        (
            url("127.0.0.1", secure, &(trusted(&certificates) + &known(&others))),
            "received fatal alert",
        ),
        (url("127.0.0.1", plain, &own), "no TLS on this port"),
        (url("127.0.0.1", secure, ""), ""),
    ] {
        let error = lab.refused(&url, &patient());
        assert_eq!(
            (error.kind, error.outcome),
            (StoreErrorKind::Unavailable, Outcome::NotDone),
            "{url}: {error:?}"
        );
        assert!(error.message.contains(why), "{url}: {error:?}");
        no_secret_in("an error", &error.message, OWNER_PASSWORD_ENCODED);
    }
}

#[test]
fn tls_asks_for_no_certificate_of_ours_where_the_server_does_not() {
    let Some(certificates) = Certificates::make() else {
        return;
    };
    let Some(server) = ZooKeeper::with_tls(&certificates, "none") else {
        return;
    };
    let lab = Lab::new(server);
    let ca = certificates.authority();
    let url = format!(
        "zookeeper://{}?tls_ca={}",
        lab.engine.secure_address(),
        ca.display()
    );
    lab.wait(init_store(&url, &patient(), lab.runtime())).unwrap();
    let store = lab.open_with(&url, &patient()).unwrap();
    let held = key("seq/tls");
    let written = lab.wait(store.compare_and_set(&held, None, value(1, 1), Marks::NeverLower));
    assert_eq!(written, Ok(Cas::Done(Version::of(1))));
}
