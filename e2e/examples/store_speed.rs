//! What a reservation costs on each store: `cargo xtask bench stores`.
//!
//! Private servers on this machine with full durability; one claim is one reservation of a block of numbers.

use std::sync::Arc;
use std::time::{Duration, Instant};

use mintage_e2e::engine::{
    etcd::Etcd, mariadb::Mariadb, postgres::Postgres, redis::Redis, zookeeper::ZooKeeper,
};
use mintage_e2e::store_suite::{Engine, Lab, key, value};
use mintage_ledger::{Cas, Claim, Marks, Store, StoreSettings, SystemRuntime, Version, open_store};
use tokio::runtime::Runtime;

/// Claims one after the other.
const ALONE: u64 = 2_000;
/// Registers that are claimed from at a time, and claims on each.
const TOGETHER: (u64, u64) = (16, 500);

fn main() {
    println!(
        "| store | one at a time: median | 99 % | per second | {} at a time: per second |",
        TOGETHER.0
    );
    println!("| --- | --- | --- | --- | --- |");
    embedded();
    if let Some(engine) = Postgres::run() {
        shared(&Lab::new(engine));
    }
    if let Some(engine) = Mariadb::run() {
        shared(&Lab::new(engine));
    }
    if let Some(engine) = Redis::run() {
        shared(&Lab::new(engine));
    }
    if let Some(engine) = Etcd::run() {
        shared(&Lab::new(engine));
    }
    if let Some(engine) = ZooKeeper::run() {
        shared(&Lab::new(engine));
    }
}

fn embedded() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let url = format!("file:{}", folder.path().join("data").display());
    let runtime = Runtime::new().expect("a runtime can be started");
    let system = SystemRuntime::new(runtime.handle().clone());
    let store = runtime
        .block_on(open_store(&url, &StoreSettings::default(), system))
        .expect("the store opens");
    row(&store, |future| runtime.block_on(future));
    runtime.block_on(store.close()).expect("it closes");
}

fn shared<E: Engine>(lab: &Lab<E>) {
    lab.init();
    let store = lab
        .open_with(&lab.direct(), &StoreSettings::default())
        .expect("the store opens");
    row(&store, |future| lab.wait(future));
}

type Timed = std::pin::Pin<Box<dyn Future<Output = Vec<Duration>> + Send>>;

fn row(store: &Arc<dyn Store>, wait: impl Fn(Timed) -> Vec<Duration>) {
    let mut times = wait(Box::pin(claims(store.clone(), 0, ALONE)));
    let total: Duration = times.iter().sum();
    times.sort_unstable();
    let micros = |part: usize| times[times.len() * part / 100].as_micros();
    let start = Instant::now();
    let together = store.clone();
    wait(Box::pin(async move {
        let tasks: Vec<_> = (1..=TOGETHER.0)
            .map(|n| tokio::spawn(claims(together.clone(), n, TOGETHER.1)))
            .collect();
        for task in tasks {
            task.await.expect("no claim fails");
        }
        Vec::new()
    }));
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
    assert_eq!(made, Ok(Cas::Done(Version(1))));
    let mut times = Vec::with_capacity(count as usize);
    for version in 1..=count {
        let claim = Claim {
            key: key.clone(),
            expected: Version(version),
            add: 1000,
            token: 7,
        };
        let start = Instant::now();
        let done = store.claim(&claim).await;
        times.push(start.elapsed());
        assert_eq!(done, Ok(Cas::Done(Version(version + 1))));
    }
    times
}
