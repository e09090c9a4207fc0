//! What many sequences cost one process: `cargo bench -p mintage-ledger --bench many_sequences`.
//!
//! The same 100,000 numbers a second are taken from 10, 1,000 and 100,000 sequences over a shared store (in memory, so
//! that the store itself costs little): memory per sequence, processor time per second, store calls per number.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mintage_ledger::{Ledger, LedgerSettings, MemoryStore, Name, Sequence, SystemRuntime};

/// Numbers a second, over all sequences.
const RATE: usize = 100_000;
/// Enough for every rate to be steady and every budget to be there.
const WARM_UP: Duration = Duration::from_secs(15);
const MEASURED: Duration = Duration::from_secs(10);
const STEP: Duration = Duration::from_millis(10);

/// Memory in use, in bytes.
fn memory() -> f64 {
    let pages = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let resident = pages.split(' ').nth(1).and_then(|n| n.parse::<f64>().ok());
    resident.unwrap_or(f64::NAN) * 4096.0
}

/// Processor time used so far, in seconds.
fn processor() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name in parentheses may hold blanks; user and system time are the 12th and 13th field behind it.
    let behind = stat.rsplit(')').next().unwrap_or_default().to_string();
    let fields = behind.split_whitespace().skip(11).take(2);
    fields.filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0
}

/// Reservations so far.
fn reservations(ledger: &Ledger) -> u64 {
    let buckets = ledger.counters().reserve_buckets.iter();
    buckets
        .map(|bucket| bucket.load(std::sync::atomic::Ordering::Relaxed))
        .sum()
}

/// Takes `RATE` numbers a second, one sequence after the other.
async fn drive(sequences: &[Arc<Sequence>], at: &mut usize, length: Duration) -> u64 {
    let (begun, mut taken, mut step) = (Instant::now(), 0, 0);
    while begun.elapsed() < length {
        for _ in 0..RATE / 100 {
            let sequence = &sequences[*at % sequences.len()];
            *at += 1;
            if sequence.try_take(1).is_none() {
                sequence.take(1).await.expect("the store answers");
            }
            taken += 1;
        }
        step += 1;
        tokio::time::sleep((STEP * step).saturating_sub(begun.elapsed())).await;
    }
    taken
}

async fn measure(count: usize) {
    let before = memory();
    let runtime = SystemRuntime::new(tokio::runtime::Handle::current());
    let settings = LedgerSettings::default();
    let ledger = Ledger::open(MemoryStore::shared(1), settings, runtime)
        .await
        .expect("opens");
    let mut sequences = Vec::with_capacity(count);
    for n in 0..count {
        let name = Name::new(format!("s{n}")).expect("within the grammar");
        sequences.push(ledger.sequence_or_create(&name).await.expect("the store answers"));
    }
    let mut at = 0;
    drive(&sequences, &mut at, WARM_UP).await;
    let (cpu, reserved, begun) = (processor(), reservations(&ledger), Instant::now());
    let taken = drive(&sequences, &mut at, MEASURED).await;
    let seconds = begun.elapsed().as_secs_f64();
    println!(
        "| {count} | {:.0} | {:.1} % | {:.4} | {:.0} |",
        taken as f64 / seconds,
        (processor() - cpu) / seconds * 100.0,
        (reservations(&ledger) - reserved) as f64 / taken as f64,
        (memory() - before) / count as f64,
    );
    ledger.close().await.expect("closes");
}

fn main() {
    println!("One process that takes {RATE} numbers a second, over a store in memory:\n");
    println!("| sequences | numbers/s | processor | reservations per number | bytes per sequence |");
    println!("| --- | --- | --- | --- | --- |");
    for count in [10, 1000, 100_000] {
        let tokio = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .expect("a runtime can be made");
        tokio.block_on(measure(count));
    }
}
