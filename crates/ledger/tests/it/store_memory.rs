//! The store in memory and the wrapper that makes stores fail.

use std::sync::Arc;
use std::time::Duration;

use mintage_ledger::conformance::check_all;
use mintage_ledger::{
    Cas, FaultPlan, FaultyStore, Key, Marks, MemoryStore, Outcome, Runtime, Store, StoreErrorKind,
    StoreSettings, SystemRuntime, Value, open_store,
};

fn runtime() -> Arc<dyn Runtime> {
    SystemRuntime::new(tokio::runtime::Handle::current())
}

#[tokio::test]
async fn memory_keeps_the_contract() {
    let store: Arc<dyn Store> = MemoryStore::new(&*runtime());
    check_all(&move || {
        let store = store.clone();
        Box::pin(async move { store })
    })
    .await;
}

#[tokio::test]
async fn a_wrapper_without_faults_keeps_the_contract() {
    let inner: Arc<dyn Store> = MemoryStore::new(&*runtime());
    let store: Arc<dyn Store> = FaultyStore::new(inner, runtime(), FaultPlan::NONE);
    check_all(&move || {
        let store = store.clone();
        Box::pin(async move { store })
    })
    .await;
}

/// Adds 1 to a mark `rounds` times, resolving unknown outcomes by a read; returns what it saw.
async fn climb(store: &FaultyStore, rounds: u64) -> Vec<String> {
    let key = Key::new("climb").expect("a valid key");
    let mut seen = Vec::new();
    for round in 0..rounds {
        let found = loop {
            if let Ok(found) = store.get(&key).await {
                break found;
            }
        };
        let (version, mark) = found.map_or((None, 0), |f| (Some(f.version), f.value.mark));
        let new = Value {
            mark: mark + 1,
            token: u128::from(round) + 1,
            body: "{}".into(),
        };
        seen.push(format!(
            "{:?}",
            store.compare_and_set(&key, version, new, Marks::NeverLower).await
        ));
    }
    seen
}

#[tokio::test]
async fn faults_follow_from_the_seed_alone() {
    let mut runs = Vec::new();
    for seed in [7, 7, 8] {
        let store = FaultyStore::new(
            MemoryStore::with_cluster_id(1),
            runtime(),
            FaultPlan {
                max_delay: Duration::from_micros(20),
                ..FaultPlan::rough(seed)
            },
        );
        runs.push((climb(&store, 60).await, store.counts()));
    }
    assert_eq!(runs[0], runs[1]);
    assert_ne!(runs[0], runs[2]);
}

#[tokio::test]
async fn counts_tell_what_was_done() {
    let inner = MemoryStore::with_cluster_id(1);
    let store = FaultyStore::new(inner.clone(), runtime(), FaultPlan::rough(42));
    let seen = climb(&store, 1000).await;
    let told = seen.iter().filter(|s| s.contains("Done(")).count() as u64;
    let unknown = seen.iter().filter(|s| s.contains("outcome: Unknown")).count() as u64;
    let counts = store.counts();
    assert_eq!(
        counts.calls,
        counts.answered + counts.answer_lost + counts.refused + counts.unknown
    );
    assert!(
        counts.answer_lost > 0 && counts.refused > 0 && counts.unknown > 0,
        "{counts:?}"
    );
    let held = inner.get(&Key::new("climb").unwrap()).await.unwrap().unwrap();
    assert_eq!(
        held.value.mark,
        told + counts.hidden_writes,
        "every write is counted once"
    );
    assert!(
        unknown > counts.hidden_writes,
        "some unknown outcomes were not done"
    );
}

#[tokio::test]
async fn all_calls_fail_while_the_switch_is_on() {
    let store = FaultyStore::new(MemoryStore::with_cluster_id(1), runtime(), FaultPlan::NONE);
    let key = Key::new("k").unwrap();
    let new = Value {
        mark: 1,
        token: 1,
        body: "{}".into(),
    };
    store.fail_all(true);
    let error = store
        .compare_and_set(&key, None, new.clone(), Marks::NeverLower)
        .await
        .unwrap_err();
    assert_eq!(
        (error.kind, error.outcome),
        (StoreErrorKind::Unavailable, Outcome::NotDone)
    );
    assert!(store.get(&key).await.is_err());
    store.fail_all(false);
    assert_eq!(store.get(&key).await, Ok(None));
    assert!(matches!(
        store.compare_and_set(&key, None, new, Marks::NeverLower).await,
        Ok(Cas::Done(_))
    ));
    assert_eq!(store.counts().refused, 2);
}

#[tokio::test]
async fn urls_that_name_no_store_are_refused_in_words() {
    let settings = StoreSettings::default();
    for (url, says) in [
        ("memory:x", "takes nothing after the colon"),
        (
            "mongodb://user:secret@host",
            r#"no store has the scheme "mongodb""#,
        ),
        ("", "this is not a store's URL"),
    ] {
        let error = open_store(url, &settings, runtime()).await.unwrap_err();
        assert_eq!(error.kind, StoreErrorKind::Invalid);
        assert!(error.message.contains(says), "{url}: {error}");
        mintage_testing::no_secret_in(url, &error.message, "secret");
    }
    assert_eq!(
        open_store("memory:", &settings, runtime())
            .await
            .unwrap()
            .scheme(),
        "memory"
    );
}
