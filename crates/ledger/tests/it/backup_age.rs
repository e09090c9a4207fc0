//! How old a backup is: as old as the last sign of life of what is in it, and never made of a store that is not current.

use std::sync::Arc;
use std::time::Duration;

use mintage::Run;
use mintage_ledger::tools::{
    Accept, Advance, BackedUp, Backup, BackupError, BackupLines, back_up, migrate, restore_into,
};
use mintage_ledger::*;
use mintage_testing::invariant;
use tokio::time::sleep;

use crate::machines::{Cluster, On, in_paused_time};

const DAY: Duration = Duration::from_secs(24 * 3600);

async fn backed_up(cluster: &Cluster) -> (Backup, BackedUp) {
    let mut file = Vec::new();
    let done = back_up(&*cluster.store, &mut file, &On(cluster.machine()))
        .await
        .unwrap();
    (Backup::read(&file[..]).unwrap(), done)
}

/// What was given out, by its ends: one at a time, millions of numbers would be most of the test's time.
#[derive(Default)]
struct Taken(Vec<Run>);

impl Taken {
    async fn take(&mut self, ledger: &Ledger, n: u64) {
        let orders = Name::new("orders").unwrap();
        let orders = ledger.sequence_or_create(&orders).await.unwrap();
        let run = orders.take_contiguous(n).await.unwrap();
        for before in &self.0 {
            let is_apart = run.first > before.last() || run.last() < before.first;
            invariant!(is_apart, "{run:?} and {before:?} have numbers in common");
        }
        self.0.push(run);
    }
}

/// A store that was moved away was still backed up, dated now: the restore of that skipped what is given out in a minute,
/// not what the new store had given out since.
// claim: P50
#[test]
fn a_store_that_was_moved_away_has_no_backup() {
    in_paused_time(|| async {
        let old = Cluster::new(MemoryStore::shared(1));
        let node = old.node("a").await;
        Taken::default().take(&node.ledger, 10).await;
        node.ledger.close().await.unwrap();
        let runtime = On(old.machine());
        let mut lines = BackupLines::new(&*old.store, &runtime);
        assert!(lines.next(&*old.store).await.unwrap().is_some());
        migrate(&*old.store, &*MemoryStore::shared(0x2b), &runtime)
            .await
            .unwrap();
        let error = back_up(&*old.store, &mut Vec::new(), &runtime).await.unwrap_err();
        let BackupError::Store(error) = error else {
            panic!("{error}")
        };
        let to = format!(
            "the store is sealed: moved to the memory store of cluster {:032x}",
            0x2b
        );
        assert_eq!((error.kind, &error.message), (StoreErrorKind::Stopped, &to));
        assert!(error.hint.is_some());
        // Nor is one finished that was begun before.
        let rest = async {
            while lines.next(&*old.store).await?.is_some() {}
            Ok::<(), StoreError>(())
        };
        assert_eq!(rest.await.unwrap_err().message, to);
    });
}

// claim: P50
#[test]
fn a_backup_is_as_old_as_the_last_heartbeat_in_it_and_skips_what_was_given_out_since() {
    in_paused_time(|| async {
        let store = MemoryStore::shared(1);
        let cluster = Cluster::new(store.clone());
        let mut seen = Taken::default();
        let node = cluster.node("a").await;
        seen.take(&node.ledger, 10).await;
        sleep(Duration::from_secs(3)).await;
        let (live, done) = backed_up(&cluster).await;
        assert!(done.by_heartbeat);
        let age = On(cluster.machine()).wall().since(live.made);
        assert!(age < Duration::from_secs(2), "{age:?} under a server that runs");
        // A copy of the store, as its own backup would make it, is backed up a day later; the store went on.
        let copy = cluster.beside(MemoryStore::shared(1));
        for (key, found) in store.dump() {
            copy.store
                .compare_and_set(&key, None, found.value, Marks::NeverLower)
                .await
                .unwrap();
        }
        seen.take(&node.ledger, 20_000_000).await;
        node.machine.kill();
        sleep(DAY).await;
        let (backup, done) = backed_up(&copy).await;
        assert!(done.by_heartbeat && done.made == backup.made, "{done:?}");
        let new = cluster.beside(MemoryStore::shared(1));
        let runtime = On(new.machine());
        let accept = Accept::default();
        let rate = Advance::AtRate(1000);
        let report = restore_into(
            &*new.store,
            &backup,
            rate,
            Duration::from_secs(600),
            accept,
            &runtime,
        )
        .await
        .unwrap();
        invariant!(report.age >= DAY, "{report:?}");
        seen.take(&new.node("b").await.ledger, 10).await;
    });
}

#[test]
fn without_a_heartbeat_a_backup_is_dated_now_and_says_so() {
    in_paused_time(|| async {
        let cluster = Cluster::new(MemoryStore::shared(1));
        let node = cluster.node("a").await;
        Taken::default().take(&node.ledger, 10).await;
        node.ledger.close().await.unwrap();
        let (backup, done) = backed_up(&cluster).await;
        assert!(!done.by_heartbeat);
        assert_eq!(backup.made, On(cluster.machine()).wall());
    });
}

/// A clock that was ahead must not make a backup younger than it is.
#[test]
fn a_heartbeat_of_tomorrow_dates_a_backup_now() {
    in_paused_time(|| async {
        let cluster = Cluster::new(MemoryStore::shared(1));
        let value = Value {
            mark: 0,
            token: 1,
            body: r#"{"name":"ahead","wall_ms":4000000000000,"seen":0}"#.into(),
        };
        let key = Key::new("instance/00000000000000000000000000000001").unwrap();
        let store: &Arc<dyn Store> = &cluster.store;
        store
            .compare_and_set(&key, None, value, Marks::NeverLower)
            .await
            .unwrap();
        let (backup, _) = backed_up(&cluster).await;
        assert_eq!(backup.made, On(cluster.machine()).wall());
    });
}
