//! The MySQL store on three nodes of Galera: what ends, what is cut off, and what is bootstrapped though it lags.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use mintage_e2e::cluster::Row;
use mintage_e2e::engine::galera::{Galera, NODES};
use mintage_e2e::proxy::Proxy;
use mintage_e2e::store_suite::{patient, quick, until_ok};
use mintage_ledger::{
    Advice, Class, Ledger, LedgerError, LedgerSettings, Name, Runtime, Store, StoreError, StoreErrorKind,
    SystemRuntime, init_store, open_store,
};
use mintage_testing::Distinct;

/// A cluster, a proxy that leads to one node at a time, and the numbers given out so far.
struct Lab {
    cluster: Galera,
    proxy: Proxy,
    tokio: tokio::runtime::Runtime,
    seen: Distinct<i64>,
}

impl Lab {
    fn start() -> Option<Lab> {
        let cluster = Galera::run()?;
        let tokio = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        let lab = Lab {
            proxy: Proxy::to(cluster.address(0)),
            cluster,
            tokio,
            seen: Distinct::default(),
        };
        let (url, settings) = (lab.through(), patient());
        let made = init_store(&url, &settings, lab.runtime());
        lab.tokio.block_on(made).unwrap();
        Some(lab)
    }

    fn runtime(&self) -> Arc<dyn Runtime> {
        SystemRuntime::new(self.tokio.handle().clone())
    }

    fn through(&self) -> String {
        self.cluster.url(self.proxy.address())
    }

    fn on(&self, node: usize) -> String {
        self.cluster.url(self.cluster.address(node))
    }

    fn open(&self, url: &str) -> Result<Arc<dyn Store>, StoreError> {
        self.tokio.block_on(open_store(url, &patient(), self.runtime()))
    }

    /// Why it is refused on a node, once the members have agreed on who they are.
    fn refused(&self, node: usize) -> StoreError {
        let start = Instant::now();
        loop {
            let error = self.open(&self.on(node)).unwrap_err();
            if error.kind != StoreErrorKind::Unavailable || start.elapsed() > Duration::from_secs(90) {
                return error;
            }
        }
    }

    /// A server's ledger, each of whose numbers is a write of its own.
    fn ledger(&self, url: &str) -> Arc<Ledger> {
        let settings = LedgerSettings {
            max_gap: 1,
            ..LedgerSettings::default()
        };
        let allowed = quick();
        self.tokio.block_on(async {
            let store = until_ok(|| open_store(url, &allowed, self.runtime())).await;
            let start = Instant::now();
            loop {
                match Ledger::open(store.clone(), settings.clone(), self.runtime()).await {
                    Err(LedgerError::Unavailable { .. }) if start.elapsed() < Duration::from_secs(90) => {}
                    opened => break opened.unwrap(),
                }
            }
        })
    }

    /// Takes a number that nobody was given before, or tells why there is none for good.
    fn take(&mut self, ledger: &Ledger) -> Result<i64, LedgerError> {
        let number = taken(&self.tokio, ledger)?;
        self.seen.add(number);
        Ok(number)
    }

    fn take_many(&mut self, ledger: &Ledger, count: usize) {
        for _ in 0..count {
            self.take(ledger).unwrap();
        }
    }
}

/// A number, however long the cluster needs for it; or why there is none for good.
fn taken(tokio: &tokio::runtime::Runtime, ledger: &Ledger) -> Result<i64, LedgerError> {
    let name = Name::new("orders").unwrap();
    let start = Instant::now();
    tokio.block_on(async {
        loop {
            let taking = async {
                let orders = ledger.sequence_or_create(&name).await?;
                Ok(orders.take(1).await?.first)
            };
            match taking.await {
                Err(LedgerError::Unavailable { .. }) if start.elapsed() < Duration::from_secs(90) => {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                answer => break answer,
            }
        }
    })
}

/// Any node may end and come back while most others stay: the servers go on, on whichever node.
#[test]
#[ignore = "minutes: clusters of MariaDB that come and go"]
fn nodes_that_come_and_go_one_by_one_stop_nobody() {
    let Some(mut lab) = Lab::start() else { return };
    let store = lab.open(&lab.through()).unwrap();
    let found = store.durability();
    assert_eq!(found.class, Class::Durable, "{found:?}");
    assert!(found.why.contains("Galera"), "{found:?}");
    let ledger = lab.ledger(&lab.through());
    let elsewhere = lab.ledger(&lab.on(1));
    lab.take_many(&ledger, 20);
    lab.take_many(&elsewhere, 20);
    for node in (0..NODES).rev() {
        lab.cluster.kill(node);
        if node == 0 {
            lab.proxy.redirect(lab.cluster.address(2));
        }
        lab.take_many(&ledger, 20);
        lab.cluster.start(node);
        lab.take_many(&ledger, 20);
        lab.take_many(&elsewhere, 20);
    }
    // One that starts now, and one whose node was not looked at before.
    for node in 0..NODES {
        let started = lab.ledger(&lab.on(node));
        lab.take_many(&started, 20);
    }
    Row::passed(
        "galera",
        "class D, nodes end and come back one by one",
        lab.seen.len(),
    );
}

/// All nodes have ended and the one most behind is bootstrapped: the cluster's UUID is the same, 300 acknowledged
/// numbers are gone, and nobody gives them out again, also when the others have joined it.
// claim: P30
#[test]
#[ignore = "minutes: clusters of MariaDB that come and go"]
fn a_bootstrap_of_the_node_most_behind_repeats_nothing() {
    let Some(mut lab) = Lab::start() else { return };
    let ledger = lab.ledger(&lab.through());
    lab.take_many(&ledger, 20);
    let uuid = lab.cluster.status(0, "wsrep_cluster_state_uuid");
    lab.cluster.kill(2);
    lab.take_many(&ledger, 300);
    lab.cluster.kill(1);
    lab.cluster.kill(0);
    lab.cluster.bootstrap(2);
    assert_eq!(lab.cluster.status(2, "wsrep_cluster_state_uuid"), uuid);
    let mark = "SELECT mark FROM ids.mint_register WHERE `key` = 'seq/orders'";
    let left: usize = lab.cluster.admin(2, mark).trim().parse().unwrap();
    assert!(left < lab.seen.len(), "it lost nothing: this shows nothing");
    let error = lab.refused(2);
    assert_eq!(error.kind, StoreErrorKind::Foreign, "{error:?}");
    assert!(error.hint == Some(Advice::AcceptCopy), "{error:?}");
    lab.cluster.start_afresh(0);
    lab.cluster.start_afresh(1);
    for node in 0..NODES {
        let error = lab.refused(node);
        assert_eq!(error.kind, StoreErrorKind::Foreign, "{node}: {error:?}");
    }
    // The server that ran all the time meets the cluster as it is now.
    let stopped = loop {
        match lab.take(&ledger) {
            Ok(_) => {}
            Err(error) => break error,
        }
    };
    assert!(matches!(stopped, LedgerError::Stopped(_)), "{stopped:?}");
    Row::passed(
        "galera",
        "class D, the node most behind is bootstrapped",
        lab.seen.len(),
    );
}

/// A node is cut off, and then made a cluster of its own although the others go on: same UUID, same configuration id.
#[test]
#[ignore = "minutes: clusters of MariaDB that come and go"]
fn a_node_cut_off_is_not_believed_even_when_bootstrapped() {
    let Some(mut lab) = Lab::start() else { return };
    let ours = lab.ledger(&lab.on(0));
    let theirs = lab.ledger(&lab.on(2));
    lab.take_many(&ours, 20);
    lab.take_many(&theirs, 20);
    lab.cluster.isolate(2, true);
    lab.cluster.wait_for(2, "wsrep_cluster_status", "non-Primary");
    lab.cluster.wait_for(0, "wsrep_cluster_size", "2");
    let error = lab.open(&lab.on(2)).unwrap_err();
    assert_eq!(error.kind, StoreErrorKind::Unavailable, "{error:?}");
    lab.take_many(&ours, 300);
    lab.cluster
        .admin(2, "SET GLOBAL wsrep_provider_options = 'pc.bootstrap=1'");
    lab.cluster.wait_for(2, "wsrep_ready", "ON");
    for name in ["wsrep_cluster_state_uuid", "wsrep_cluster_conf_id"] {
        assert_eq!(lab.cluster.status(2, name), lab.cluster.status(0, name), "{name}");
    }
    let error = lab.refused(2);
    assert_eq!(error.kind, StoreErrorKind::Foreign, "{error:?}");
    let stopped = loop {
        match lab.take(&theirs) {
            Ok(_) => {}
            Err(error) => break error,
        }
    };
    assert!(matches!(stopped, LedgerError::Stopped(_)), "{stopped:?}");
    lab.take_many(&ours, 20);
    Row::passed(
        "galera",
        "class D, a node cut off is bootstrapped beside the others",
        lab.seen.len(),
    );
}

/// A node loses the others, lives on with its server, and finds them again.
#[test]
#[ignore = "minutes: clusters of MariaDB that come and go"]
fn a_node_that_is_cut_off_alive_and_comes_back_stops_nobody() {
    let Some(mut lab) = Lab::start() else { return };
    let ours = lab.ledger(&lab.on(0));
    let theirs = lab.ledger(&lab.on(2));
    for _ in 0..2 {
        lab.take_many(&ours, 20);
        lab.take_many(&theirs, 20);
        lab.cluster.isolate(2, true);
        lab.cluster.wait_for(2, "wsrep_cluster_status", "non-Primary");
        let error = lab.open(&lab.on(2)).unwrap_err();
        assert_eq!(error.kind, StoreErrorKind::Unavailable, "{error:?}");
        lab.take_many(&ours, 100);
        lab.cluster.isolate(2, false);
        lab.cluster.wait_for(2, "wsrep_ready", "ON");
        lab.take_many(&theirs, 20);
    }
    lab.take_many(&ours, 20);
    let event = "class D, a node is cut off alive, and comes back";
    Row::passed("galera", event, lab.seen.len());
}

/// A node comes back with nothing, and one of the others stands still while it gives it all it has.
#[test]
#[ignore = "minutes: clusters of MariaDB that come and go"]
fn a_node_that_is_filled_by_another_stops_nobody() {
    let Some(mut lab) = Lab::start() else { return };
    // Whichever is the donor has a server beside it.
    let ledgers = [0, 1].map(|node| lab.ledger(&lab.on(node)));
    for ledger in &ledgers {
        lab.take_many(ledger, 20);
    }
    lab.cluster.kill(2);
    // The others have agreed that it is gone.
    for ledger in &ledgers {
        lab.take_many(ledger, 20);
    }
    let joined = AtomicBool::new(false);
    let meanwhile: Vec<Vec<i64>> = thread::scope(|scope| {
        let (tokio, joined) = (&lab.tokio, &joined);
        let takers = ledgers.each_ref().map(|ledger| {
            scope.spawn(move || {
                let mut numbers = Vec::new();
                while !joined.load(Ordering::SeqCst) {
                    numbers.push(taken(tokio, ledger).unwrap());
                    thread::sleep(Duration::from_millis(20));
                }
                numbers
            })
        });
        lab.cluster.start_afresh(2);
        joined.store(true, Ordering::SeqCst);
        takers.map(|taker| taker.join().unwrap()).into()
    });
    for numbers in meanwhile {
        assert!(!numbers.is_empty());
        lab.seen.extend(numbers);
    }
    let started = lab.ledger(&lab.on(2));
    for ledger in [&ledgers[0], &ledgers[1], &started] {
        lab.take_many(ledger, 20);
    }
    let event = "class D, an empty node joins, another is its donor";
    Row::passed("galera", event, lab.seen.len());
}
