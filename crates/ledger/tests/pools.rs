//! Pools over the memory store: several ledgers, successors, exhaustion.
#![allow(clippy::unwrap_used)]

use std::collections::HashSet;
use std::future::Future;
use std::sync::Arc;

use mintage_ledger::*;

fn run<F: Future>(test: impl FnOnce(Arc<SystemRuntime>) -> F) -> F::Output {
    let tokio = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    tokio.block_on(async { test(SystemRuntime::new(tokio::runtime::Handle::current())).await })
}

async fn pool_on(store: &Arc<dyn Store>, runtime: &Arc<SystemRuntime>) -> (Arc<Ledger>, Arc<Pool>) {
    let ledger = Ledger::open(store.clone(), LedgerSettings::default(), runtime.clone())
        .await
        .unwrap();
    let pool = ledger
        .pool_or_default(&Name::new(DEFAULT_POOL).unwrap())
        .await
        .unwrap();
    (ledger, pool)
}

#[test]
fn ledgers_on_one_store_hold_different_workers() {
    run(|runtime| async move {
        let store = open_store("memory:", &StoreSettings::default(), runtime.clone())
            .await
            .unwrap();
        let mut seen = HashSet::new();
        let mut workers = HashSet::new();
        let mut ledgers = Vec::new();
        for _ in 0..20 {
            let (ledger, pool) = pool_on(&store, &runtime).await;
            let mut ids = [0u64; 1000];
            pool.mint(&mut ids).await.unwrap();
            assert!(ids.is_sorted());
            for id in ids {
                assert!(seen.insert(id), "{id} twice");
            }
            assert!(workers.insert(pool.info().worker.unwrap()));
            ledgers.push(ledger);
        }
    });
}

#[test]
fn more_ids_than_a_second_has_wait_for_the_clock() {
    run(|runtime| async move {
        let store = open_store("memory:", &StoreSettings::default(), runtime.clone())
            .await
            .unwrap();
        let (_ledger, pool) = pool_on(&store, &runtime).await;
        let mut ids = vec![0u64; 4096 * 1600];
        pool.mint(&mut ids).await.unwrap();
        assert!(ids.is_sorted());
        ids.dedup();
        assert_eq!(ids.len(), 4096 * 1600);
    });
}

#[test]
fn an_unknown_pool_is_refused() {
    run(|runtime| async move {
        let store = open_store("memory:", &StoreSettings::default(), runtime.clone())
            .await
            .unwrap();
        let ledger = Ledger::open(store, LedgerSettings::default(), runtime)
            .await
            .unwrap();
        let error = ledger
            .pool_or_default(&Name::new("eu").unwrap())
            .await
            .unwrap_err();
        assert_eq!(error.to_string(), "no pool eu");
    });
}

#[test]
fn closing_ends_the_keeper() {
    run(|runtime| async move {
        let store = open_store("memory:", &StoreSettings::default(), runtime.clone())
            .await
            .unwrap();
        let (ledger, pool) = pool_on(&store, &runtime).await;
        pool.mint(&mut [0; 4]).await.unwrap();
        ledger.close().await.unwrap();
        assert_eq!(pool.mint(&mut [0; 4]).await, Err(LedgerError::Closing));
    });
}
