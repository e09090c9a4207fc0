//! What one claim takes: the reservation of a block of numbers.

use std::sync::Arc;
use std::time::{Duration, Instant};

use mintage_e2e::store_suite::{Engine, key, value};
use mintage_ledger::{
    Cas, Claim, Marks, Store, StoreSettings, SystemRuntime, Version, init_store, open_store,
};
use tokio::runtime::Runtime;

/// The head of the table.
pub(crate) const HEAD: &str = "\
| store | one at a time: median | 99 % | per second | 16 at a time: per second |
| --- | ---: | ---: | ---: | ---: |";

/// Claims one after the other.
const ALONE: u64 = 2_000;
/// Registers that are claimed from at a time, and claims on each.
const TOGETHER: (u64, u64) = (16, 500);

/// The row of a folder.
pub(crate) fn embedded() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    row(&format!("file:{}", folder.path().join("data").display()));
}

/// The row of a server.
pub(crate) fn shared(engine: &dyn Engine) {
    row(&engine.url(engine.address()));
}

fn row(url: &str) {
    let tokio = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("threads can be had");
    let settings = StoreSettings::default();
    let system = SystemRuntime::new(tokio.handle().clone());
    if !url.starts_with("file:") {
        let made = tokio.block_on(init_store(url, &settings, system.clone()));
        made.expect("init works");
    }
    let store = tokio.block_on(open_store(url, &settings, system));
    let store = store.expect("the store opens");
    measure(&tokio, &store);
    tokio.block_on(store.close()).expect("it closes");
}

fn measure(tokio: &Runtime, store: &Arc<dyn Store>) {
    let mut times = tokio.block_on(claims(store.clone(), 0, ALONE));
    let total: Duration = times.iter().sum();
    times.sort_unstable();
    let micros = |part: usize| times[times.len() * part / 100].as_micros();
    let start = Instant::now();
    tokio.block_on(async {
        let tasks: Vec<_> = (1..=TOGETHER.0)
            .map(|n| tokio::spawn(claims(store.clone(), n, TOGETHER.1)))
            .collect();
        for task in tasks {
            task.await.expect("no claim fails");
        }
    });
    println!(
        "| {} | {} µs | {} µs | {:.0} | {:.0} |",
        store.scheme(),
        micros(50),
        micros(99),
        ALONE as f64 / total.as_secs_f64(),
        (TOGETHER.0 * TOGETHER.1) as f64 / start.elapsed().as_secs_f64()
    );
}

/// Claims on a register of its own, and how long each took.
async fn claims(store: Arc<dyn Store>, number: u64, count: u64) -> Vec<Duration> {
    let key = key(&format!("seq/speed{number}"));
    let made = store
        .compare_and_set(&key, None, value(0, 1), Marks::NeverLower)
        .await;
    assert_eq!(made, Ok(Cas::Done(Version::of(1))));
    let mut times = Vec::with_capacity(count as usize);
    for version in 1..=count {
        let claim = Claim {
            key: key.clone(),
            expected: Version::of(version),
            add: 1000,
            token: 7,
        };
        let start = Instant::now();
        let done = store.claim(&claim).await;
        times.push(start.elapsed());
        assert_eq!(done, Ok(Cas::Done(Version::of(version + 1))));
    }
    times
}
