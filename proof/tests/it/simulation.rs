//! The simulator on seeds that once failed, and on a few more; `cargo xtask proof` runs tens of thousands.

use mintage_proof::sim;
use mintage_testing::violated;

/// Seeds that showed a bug, and what it was. They may show something else by now: what they mean changes with
/// every change of the simulator, so those that can be shown without it have a test of their own in the ledger.
const ONCE_FAILED: &[(u64, &str)] = &[
    (13, "the first use of a gap-free name claimed a block on top"),
    (
        74,
        "an answer that was delivered twice was taken for a lost race, and left a hole",
    ),
    (
        106,
        "a window was kept although the process's register was lost while it was acquired",
    ),
    (
        141,
        "a restored sequence that had issued nothing when it was backed up began at 1 again",
    ),
    (
        1067,
        "a store of one's own counted as shared once it was restored: what it had in stock was lost at every stop",
    ),
    (
        1799,
        "numbers that landed unheard in one store of a set were followed by lower ones of another",
    ),
    (
        2853,
        "a copy of a process adopted the original's claim of unknown outcome",
    ),
    (
        3401,
        "the first use of a name with a small max_gap claimed by the default one",
    ),
    (
        1_000_533,
        "4169 numbers were left in stock, of a sequence that may lose 2012",
    ),
    (
        2_001_299,
        "a claim made while a copy had the same name left a hole of the process that kept the name",
    ),
    (
        2_001_862,
        "a claim that was under way when its process was copied left a hole",
    ),
    (3_000_198, "a hole of a copied process, as above"),
    (
        3_004_415,
        "contiguous runs did not find what was reserved for them, and it stayed in stock above max_gap",
    ),
    (
        3_004_943,
        "a copy's timers fired in the same nanosecond as the original's, and both drew one token",
    ),
];

#[track_caller]
fn check_seed(seed: u64) -> sim::Tally {
    sim::run(seed, false).unwrap_or_else(|why| {
        violated(format_args!(
            "seed {seed}: {why}\nreplay: cargo run -q -p mintage-proof -- replay {seed}"
        ))
    })
}

#[test]
fn seeds_that_once_failed_pass() {
    for (seed, _) in ONCE_FAILED {
        check_seed(*seed);
    }
}

#[test]
fn a_run_repeats_bit_for_bit() {
    for seed in 1..40 {
        assert_eq!(check_seed(seed).hash, check_seed(seed).hash, "seed {seed}");
    }
}

#[test]
#[ignore = "minutes: thousands of simulated runs"]
fn every_kind_of_fault_really_happens() {
    let runs = sim::run_many(1_000_000, 2_000, None, 2);
    if let Some(failure) = runs.failure {
        violated(format_args!("seed {}: {}", failure.seed, failure.why));
    }
    assert_eq!(runs.sum.faults.absent(), Vec::<&str>::new());
}
