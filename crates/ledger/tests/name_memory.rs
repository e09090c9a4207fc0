//! How much memory a name takes, in a program of its own: another test's memory would count, too.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::disallowed_types)]
#![cfg(target_os = "linux")]

#[path = "it/common/mod.rs"]
#[allow(dead_code)] // this program uses its own part
mod common;

use common::in_world_of;
use mintage_ledger::*;

/// Bytes of this process that are in memory.
fn resident_bytes() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    pages.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
}

#[test]
fn a_name_takes_little() {
    const NAMES: u64 = 20_000;
    let of = |max_loaded: u64| {
        let settings = LedgerSettings {
            max_loaded,
            ..LedgerSettings::default()
        };
        in_world_of(
            MemoryStore::with_cluster_id(3),
            8,
            FaultPlan::NONE,
            |mut world| async move {
                let node = world.start_with(settings).await.unwrap();
                let before = resident_bytes();
                for k in 0..NAMES {
                    let sequence = node
                        .ledger
                        .sequence_or_create(&Name::new(format!("n{k}")).unwrap())
                        .await
                        .unwrap();
                    sequence.take(1).await.unwrap();
                }
                let taken = resident_bytes().saturating_sub(before) / NAMES;
                assert!(node.ledger.loaded_sequences() as u64 <= NAMES.min(max_loaded));
                taken
            },
        )
    };
    let (held, let_go) = (of(1_000_000), of(100));
    // Measured: 2,030 and 540, the second in the memory store itself.
    mintage_testing::invariant!(held < 2_500 && let_go < 800, "{held} held, {let_go} let go");
    eprintln!("{held} bytes for each name that is held, {let_go} for each in the store alone");
}
