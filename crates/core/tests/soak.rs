//! Long loops: every generator strictly increases, also when it outruns its clock.
//!
//! `MINT_TEST_LOOP=1000000000 cargo test --release -p mintage --test soak` runs a thousand million of each.
#![allow(clippy::unwrap_used)] // a failed call is a failed test

use std::sync::Arc;

use mintage::*;
use mintage_testing::invariant;

fn rounds() -> u64 {
    std::env::var("MINT_TEST_LOOP")
        .ok()
        .map_or(2_000_000, |text| text.parse().unwrap())
}

// claim: P65
#[test]
fn uuid7_strictly_increases() {
    let mut last = uuid7();
    for _ in 0..rounds() {
        let next = uuid7();
        invariant!(next > last, "{next} after {last}");
        last = next;
    }
}

// claim: P65
#[test]
fn uuid7_batches_strictly_increase() {
    let mut batch = vec![Uuid::nil(); 10_000];
    let mut last = uuid7();
    for _ in 0..rounds() / 10_000 {
        uuid7_many(&mut batch);
        for next in &batch {
            invariant!(*next > last, "{next} after {last}");
            last = *next;
        }
    }
}

// claim: P65
#[test]
fn snowflakes_strictly_increase_and_carry() {
    let layout = Arc::new(preset("twitter").unwrap().layout());
    let generator = Snowflake::unguarded(layout, 1).unwrap();
    let mut last = 0;
    let mut ahead = 0u64;
    for _ in 0..rounds() {
        match generator.mint_now() {
            Ok(next) => {
                invariant!(next > last, "{next} after {last}");
                last = next;
            }
            // 4096 a millisecond is the layout's limit: a loop reaches the lead it may have.
            Err(MintError::TooFarAhead { .. }) => ahead += 1,
            Err(error) => panic!("{error}"),
        }
    }
    assert!(ahead < rounds(), "nothing was minted");
}
