//! What a reservation costs on each shared store: `cargo run --release -p mintage-e2e --example store_speed`.
//!
//! Private servers on this machine with full durability; one claim is one reservation of a block of numbers.

use std::sync::Arc;
use std::time::{Duration, Instant};

use mintage_e2e::engine::mariadb::Mariadb;
use mintage_e2e::engine::postgres::Postgres;
use mintage_e2e::store_suite::{Engine, Lab, key, value};
use mintage_ledger::{Cas, Claim, Marks, Store, StoreSettings, Version};

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
    if let Some(engine) = Postgres::run() {
        row(Lab::new(engine));
    }
    if let Some(engine) = Mariadb::run() {
        row(Lab::new(engine));
    }
}

fn row<E: Engine>(lab: Lab<E>) {
    lab.init();
    let store = lab
        .open_with(&lab.direct(), &StoreSettings::default())
        .expect("the store opens");
    let mut times = lab.wait(claims(store.clone(), 0, ALONE));
    let total: Duration = times.iter().sum();
    times.sort_unstable();
    let micros = |part: usize| times[times.len() * part / 100].as_micros();
    let start = Instant::now();
    lab.wait(async {
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
