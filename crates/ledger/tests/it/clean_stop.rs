//! A clean stop of the embedded store gives everything unused back (protocol W7, S4); a crash does not.

use std::future::Future;
use std::path::Path;
use std::sync::Arc;

use mintage::{Clock, SystemClock};
use mintage_ledger::*;
use mintage_testing::distinct;

fn run<F: Future>(test: impl FnOnce(Arc<SystemRuntime>) -> F) -> F::Output {
    let tokio = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    tokio.block_on(async { test(SystemRuntime::new(tokio::runtime::Handle::current())).await })
}

async fn open(path: &Path, runtime: &Arc<SystemRuntime>) -> Arc<Ledger> {
    let url = format!("file:{}", path.display());
    let store = open_store(&url, &StoreSettings::default(), runtime.clone())
        .await
        .unwrap();
    Ledger::open(store, LedgerSettings::default(), runtime.clone())
        .await
        .unwrap()
}

// claim: P25
#[test]
fn numbers_go_on_without_a_gap_after_a_clean_stop() {
    run(|runtime| async move {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data");
        let name = Name::new("orders").unwrap();
        let mut expected = 1;
        for round in 1..=5u64 {
            let ledger = open(&path, &runtime).await;
            let orders = ledger.sequence_or_create(&name).await.unwrap();
            for _ in 0..round * 100 {
                assert_eq!(orders.take(1).await.unwrap().first, expected);
                expected += 1;
            }
            // Something to give back: a block may end with any number.
            while ledger.show(&name).await.unwrap().unused == 0 {
                assert_eq!(orders.take(1).await.unwrap().first, expected);
                expected += 1;
            }
            ledger.close().await.unwrap();
            assert!(matches!(orders.take(1).await, Err(LedgerError::Closing)));
        }
    });
}

#[test]
fn a_window_ends_just_past_its_last_id_after_a_clean_stop() {
    run(|runtime| async move {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data");
        let name = Name::new(DEFAULT_POOL).unwrap();
        let ledger = open(&path, &runtime).await;
        let pool = ledger.pool_or_default(&name).await.unwrap();
        let mut ids = [0; 10];
        pool.mint(&mut ids).await.unwrap();
        let held = pool.windows(0, 1000).await.unwrap();
        assert_eq!((held.len(), held[0].lasts, held[0].ours), (1, true, true));
        let last = pool.layout().unpack(ids[9]).unwrap();
        ledger.close().await.unwrap();

        let ledger = open(&path, &runtime).await;
        let pool = ledger.pool_or_default(&name).await.unwrap();
        let given = pool.windows(0, 1000).await.unwrap();
        assert_eq!(given.len(), 1);
        assert!(given[0].until < held[0].until && given[0].until <= SystemClock.now());
        assert_eq!(given[0].until, pool.layout().time_of(last.tick + 1));
        // The successor takes another worker, which is absent, or begins at the stored end.
        let mut more = [0; 10];
        pool.mint(&mut more).await.unwrap();
        distinct("ids of both", ids.iter().chain(&more));
        ledger.close().await.unwrap();
    });
}
