//! What the embedded store costs here: `cargo bench -p mintage-store --bench embedded_store [-- FOLDER]`.
//!
//! Writes and claims per second with 1 and 50 callers, and how long an opening takes. Every answer is durable.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

#[path = "../tests/raise/mod.rs"]
mod raise;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use mintage_store::{Cas, EmbeddedStore, Key, Store, StoreSettings, SystemRuntime, Version};
use raise::raise;

const SPAN: Duration = Duration::from_secs(2);

async fn open(folder: &Path) -> Arc<EmbeddedStore> {
    let runtime = SystemRuntime::new(tokio::runtime::Handle::current());
    EmbeddedStore::open(folder, &StoreSettings::default(), runtime)
        .await
        .unwrap_or_else(|e| panic!("{e}"))
}

async fn write(store: &dyn Store, key: &Key, version: u64, by_claim: bool) {
    let body = "{\"start\":1,\"increment\":1}";
    let answer = raise(store, key, version, by_claim, body).await;
    assert_eq!(answer, Ok(Cas::Done(Version::of(version + 1))));
}

/// Each caller has its own key and waits for its answer.
async fn measure(store: &Arc<EmbeddedStore>, name: &str, callers: u64, by_claim: bool) {
    let before = store.stats();
    let mut tasks = tokio::task::JoinSet::new();
    let began = Instant::now();
    for caller in 0..callers {
        let (store, key) = (
            store.clone(),
            Key::new(format!("{name}/{callers}/{caller}")).expect("a key"),
        );
        tasks.spawn(async move {
            let mut waits = Vec::new();
            while began.elapsed() < SPAN {
                let asked = Instant::now();
                write(&*store, &key, waits.len() as u64, by_claim).await;
                waits.push(asked.elapsed());
            }
            waits
        });
    }
    let mut waits: Vec<_> = tasks.join_all().await.concat();
    let seconds = began.elapsed().as_secs_f64();
    waits.sort_unstable();
    let after = store.stats();
    let at = |share: f64| waits[((waits.len() - 1) as f64 * share) as usize].as_micros();
    println!(
        "{name:6} {callers:3} callers: {:8.0}/s   p50 {} us, p99 {} us   {} commits, {} claim syncs, {} compactions",
        waits.len() as f64 / seconds,
        at(0.5),
        at(0.99),
        after.commits - before.commits,
        after.claim_syncs - before.claim_syncs,
        after.compactions - before.compactions
    );
}

async fn opening(what: &str, folder: &Path) {
    let began = Instant::now();
    let store = open(folder).await;
    let opened = began.elapsed();
    let began = Instant::now();
    store.close().await.expect("a clean stop");
    println!(
        "{what}: opened in {:.1} ms, closed in {:.1} ms",
        ms(opened),
        ms(began.elapsed())
    );
}

fn ms(span: Duration) -> f64 {
    span.as_secs_f64() * 1e3
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    // Cargo adds `--bench`.
    let given = std::env::args().skip(1).find(|arg| arg != "--bench");
    let usual = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/store-speed");
    let folder = PathBuf::from(given.unwrap_or_else(|| usual.to_string()));
    let _ = std::fs::remove_dir_all(&folder);
    opening("first start", &folder).await;
    opening("clean start", &folder).await;
    let store = open(&folder).await;
    for (name, by_claim) in [("write", false), ("claim", true)] {
        for callers in [1, 50] {
            measure(&store, name, callers, by_claim).await;
        }
    }
    // Leaving without a close is a crash to the next start.
    drop(store);
    tokio::time::sleep(Duration::from_millis(100)).await;
    opening("start after a crash", &folder).await;
    let store = open(&folder).await;
    let mut many = tokio::task::JoinSet::new();
    for n in 0..10_000 {
        let store = store.clone();
        many.spawn(async move {
            let key = Key::new(format!("many/{n:06}")).expect("a key");
            write(&*store, &key, 0, false).await;
        });
    }
    many.join_all().await;
    store.close().await.expect("a clean stop");
    opening("clean start, 10,000 registers", &folder).await;
}
