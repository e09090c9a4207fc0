//! Backup, restore, check and move of whole stores, with ledgers before and after: nothing repeats.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::disallowed_types)]

mod machines;

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use machines::{Cluster, Node, On, in_paused_time};
use mintage::Layout;
use mintage_ledger::tools::{
    Advance, Backup, back_up, check_store, migrate, raise_in_place, restore_into, seal, sealed, unseal,
};
use mintage_ledger::*;
use tokio::time::sleep;

const SECOND: Duration = Duration::from_secs(1);
const WINDOW: Duration = Duration::from_secs(600);

fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}

fn own_pool() -> PoolSpec {
    let layout = Layout::builder("own")
        .time("t", 42)
        .worker("w", 3)
        .sequence("s", 8)
        .build()
        .unwrap();
    PoolSpec {
        kind: PoolKind::Snowflake(Arc::new(layout)),
        window: None,
        clock_policy: None,
    }
}

#[derive(Default)]
struct Seen {
    numbers: HashSet<(String, i64)>,
    ids: HashSet<u64>,
}

impl Seen {
    async fn take(&mut self, node: &Node, sequence: &str, n: u64) {
        let taken = node.ledger.sequence_or_create(&name(sequence)).await.unwrap();
        for number in taken.take_contiguous(n).await.unwrap() {
            assert!(
                self.numbers.insert((sequence.into(), number)),
                "{sequence}: {number} twice"
            );
        }
    }

    async fn mint(&mut self, node: &Node) {
        let pool = node.ledger.create_pool(&name("own"), own_pool()).await.unwrap();
        let mut ids = [0; 50];
        pool.mint(&mut ids).await.unwrap();
        for id in ids {
            assert!(self.ids.insert(id), "id {id} twice");
        }
    }
}

async fn backed_up(cluster: &Cluster) -> Backup {
    let mut file = Vec::new();
    let runtime = On(cluster.machine());
    let many = back_up(&*cluster.store, &mut file, &runtime).await.unwrap();
    let backup = Backup::read(&file[..]).unwrap();
    assert_eq!(backup.registers.len() as u64, many);
    backup
}

#[test]
fn a_restored_backup_begins_above_all_that_was_given_out_since() {
    in_paused_time(|| async {
        let old = Cluster::new(MemoryStore::shared(1));
        let node = old.node("a").await;
        let mut seen = Seen::default();
        seen.take(&node, "orders", 100).await;
        seen.mint(&node).await;
        let backup = backed_up(&old).await;
        // Given out after the backup, by a name that was not there too.
        sleep(10 * SECOND).await;
        seen.take(&node, "orders", 500).await;
        seen.take(&node, "made-later", 300).await;
        seen.mint(&node).await;
        node.machine.kill();

        let new = old.beside(MemoryStore::shared(1));
        let runtime = On(new.machine());
        let report = restore_into(
            &*new.store,
            &backup,
            Advance::AtRate(100),
            WINDOW,
            (false, false),
            &runtime,
        )
        .await
        .unwrap();
        assert!(report.skipped >= 1000, "{report:?}");
        let node = new.node("b").await;
        seen.take(&node, "orders", 100).await;
        seen.take(&node, "made-later", 100).await;
        seen.mint(&node).await;
        assert_eq!(
            check_store(&*new.store, &runtime).await.unwrap().findings,
            Vec::<String>::new()
        );
    });
}

#[test]
fn a_restore_refuses_another_cluster_and_a_store_in_use() {
    in_paused_time(|| async {
        let old = Cluster::new(MemoryStore::shared(1));
        let node = old.node("a").await;
        Seen::default().take(&node, "orders", 10).await;
        let backup = backed_up(&old).await;
        let runtime = On(old.machine());
        let into = async |store: &Arc<MemoryStore>, flags| {
            restore_into(&**store, &backup, Advance::By(5), WINDOW, flags, &runtime).await
        };
        let foreign = MemoryStore::shared(2);
        let error = into(&foreign, (false, false)).await.unwrap_err();
        assert_eq!(error.kind, StoreErrorKind::Foreign);
        assert!(error.hint.unwrap().contains("--foreign"));
        assert!(foreign.dump().is_empty(), "nothing was written");
        into(&foreign, (true, false)).await.unwrap();

        let used = MemoryStore::shared(1);
        let mine = old.beside(used.clone());
        let node = mine.node("b").await;
        Seen::default().take(&node, "orders", 1_000_000).await;
        node.machine.kill();
        let error = into(&used, (false, false)).await.unwrap_err();
        assert_eq!(error.kind, StoreErrorKind::InUse);
        into(&used, (false, true)).await.unwrap();
        let key = Key::new("seq/orders").unwrap();
        let mark = used.get(&key).await.unwrap().unwrap().value.mark;
        assert!(mark >= 1_000_000, "a higher mark is kept: {mark}");
    });
}

#[test]
fn a_store_that_was_itself_restored_is_raised_in_place() {
    in_paused_time(|| async {
        let store = MemoryStore::shared(1);
        let cluster = Cluster::new(store.clone());
        let node = cluster.node("a").await;
        let mut seen = Seen::default();
        seen.take(&node, "orders", 100).await;
        seen.mint(&node).await;
        sleep(5 * SECOND).await;
        let dump = store.dump();
        seen.take(&node, "orders", 400).await;
        seen.mint(&node).await;
        node.machine.kill();
        sleep(60 * SECOND).await;
        store.fall_back_to(dump, "restored");
        let runtime = On(cluster.machine());
        let report = raise_in_place(&*store, Advance::AtRate(50), WINDOW, &runtime)
            .await
            .unwrap();
        assert!((60..80).contains(&report.age.as_secs()), "{report:?}");
        let node = cluster.node("b").await;
        seen.take(&node, "orders", 100).await;
        seen.mint(&node).await;
    });
}

#[test]
fn a_move_seals_the_old_store_and_goes_on_above_in_the_new_one() {
    in_paused_time(|| async {
        let old = Cluster::new(MemoryStore::shared(1));
        let node = old.node("a").await;
        let mut seen = Seen::default();
        for _ in 0..20 {
            seen.take(&node, "orders", 7).await;
            seen.mint(&node).await;
        }
        sleep(3 * SECOND).await;
        let new = old.beside(MemoryStore::shared(2));
        let runtime = On(new.machine());
        let report = migrate(&*old.store, &*new.store, &runtime).await.unwrap();
        assert!(report.registers >= 3, "{report:?}");
        // The running server has stopped for good, stock included; another does not start.
        sleep(2 * SECOND).await;
        let orders = node.ledger.sequence_or_create(&name("orders")).await.unwrap();
        let error = orders.take(1).await.unwrap_err();
        assert!(
            error.to_string().contains("the store is sealed: moved to"),
            "{error}"
        );
        let runtime_of_late = Arc::new(On(old.machine()));
        let late = Ledger::open(old.store.clone(), LedgerSettings::default(), runtime_of_late).await;
        assert!(matches!(late, Err(LedgerError::Stopped(_))));
        let node = new.node("b").await;
        for _ in 0..20 {
            seen.take(&node, "orders", 7).await;
            seen.mint(&node).await;
        }
        // Doing it again goes on, and what the new store gave out stands.
        migrate(&*old.store, &*new.store, &runtime).await.unwrap();
        seen.take(&node, "orders", 100_000).await;
        // A third store is not taken for the target.
        let third = old.beside(MemoryStore::shared(3));
        let used = third.node("c").await;
        Seen::default().take(&used, "orders", 1).await;
        let error = migrate(&*old.store, &*third.store, &runtime).await.unwrap_err();
        assert_eq!(error.kind, StoreErrorKind::InUse);
    });
}

#[test]
fn who_was_cut_off_while_the_store_was_sealed_makes_nothing_when_he_comes_back() {
    in_paused_time(|| async {
        let old = Cluster::new(MemoryStore::shared(1));
        let node = old.node("a").await;
        let mut seen = Seen::default();
        seen.take(&node, "orders", 5).await;
        sleep(3 * SECOND).await;
        node.machine.stop();
        let new = old.beside(MemoryStore::shared(2));
        let runtime = On(new.machine());
        migrate(&*old.store, &*new.store, &runtime).await.unwrap();
        let fresh = new.node("b").await;
        seen.take(&fresh, "unknown-before", 100).await;
        node.machine.go_on();
        // Before it has looked at anything.
        let made = node.ledger.sequence_or_create(&name("unknown-before")).await;
        if let Ok(made) = made {
            assert!(made.take(1).await.is_err(), "made in a sealed store");
        }
    });
}

#[test]
fn a_seal_can_be_taken_off() {
    in_paused_time(|| async {
        let cluster = Cluster::new(MemoryStore::shared(1));
        let runtime = On(cluster.machine());
        let store = &*cluster.store;
        seal(store, "for a test", &runtime).await.unwrap();
        assert_eq!(sealed(store).await.unwrap().as_deref(), Some("for a test"));
        let report = check_store(store, &runtime).await.unwrap();
        assert_eq!(report.findings, ["the store is sealed: for a test"]);
        assert!(unseal(store, &runtime).await.unwrap());
        assert!(!unseal(store, &runtime).await.unwrap());
        let node = cluster.node("a").await;
        Seen::default().take(&node, "orders", 1).await;
    });
}

#[test]
fn a_check_names_what_makes_no_sense() {
    in_paused_time(|| async {
        let cluster = Cluster::new(MemoryStore::shared(1));
        let node = cluster.node("a").await;
        Seen::default().take(&node, "orders", 1).await;
        Seen::default().mint(&node).await;
        let put = async |key: &str, mark, body: &str| {
            let key = Key::new(key).unwrap();
            let value = Value {
                mark,
                token: 1,
                body: body.into(),
            };
            cluster
                .store
                .compare_and_set(&key, None, value, Marks::NeverLower)
                .await
                .unwrap();
        };
        put("seq/edited", 5, "{}").await;
        put("window/nowhere/0000000001", 5, "{}").await;
        put("pool/odd", 0, "[]").await;
        let fingerprint = own_pool().kind;
        let PoolKind::Snowflake(layout) = fingerprint else {
            panic!()
        };
        let far = format!(
            r#"{{"owner":"x","from":1,"layout":{:?},"wall_ms":1}}"#,
            layout.fingerprint()
        );
        put("window/own/0000000007", layout.ticks_max(), &far).await;
        let runtime = On(cluster.machine());
        let report = check_store(&*cluster.store, &runtime).await.unwrap();
        let all = report.findings.join("\\n");
        for says in [
            "pool/odd: ",
            "seq/edited: ",
            "window/nowhere/0000000001: its pool is not there",
            "a clock was wrong",
        ] {
            assert!(all.contains(says), "{says:?} is not in {all}");
        }
        assert_eq!(report.findings.len(), 4, "{all}");
    });
}

#[test]
fn a_backup_that_is_not_whole_is_refused() {
    in_paused_time(|| async {
        let cluster = Cluster::new(MemoryStore::shared(1));
        let node = cluster.node("a").await;
        Seen::default().take(&node, "orders", 10).await;
        let mut file = Vec::new();
        let runtime = On(cluster.machine());
        back_up(&*cluster.store, &mut file, &runtime).await.unwrap();
        assert!(Backup::read(&file[..]).is_ok());
        for cut in [0, 1, file.len() / 2, file.len() - 1] {
            assert!(Backup::read(&file[..cut]).is_err(), "cut at {cut}");
        }
        for at in 0..file.len() {
            let mut flipped = file.clone();
            flipped[at] ^= 1;
            assert!(Backup::read(&flipped[..]).is_err(), "byte {at} of {}", file.len());
        }
    });
}
