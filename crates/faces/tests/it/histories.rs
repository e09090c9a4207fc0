//! Random histories of one sequence, changed and taken from over all faces by turns, beside a client that sends pieces of
//! requests and what is none: without leave to repeat, no number comes twice, in whatever life of the name.

use mintage_testing::ways::{Dice, WAYS, change, numbers};
use mintage_testing::{Runs, invariant, nonsense};

use crate::every_face::All;

/// Histories, each on a server of its own.
const HISTORIES: u64 = 10;

/// One server alone goes on in one direction, so that what comes next lies beyond all that was given out in any life of the
/// name, in the direction that it has now.
fn history(all: &mut All, seed: u64, steps: u64) {
    let mut dice = Dice(seed);
    let mut given = Runs::of(format!("seed {seed}"));
    let mut done = 0;
    for _ in 0..steps {
        if dice.below(3) == 0 {
            let (face, request) = change(&mut dice);
            done += usize::from(all.change(face, &request));
            continue;
        }
        let way = dice.pick(WAYS);
        let answer = all.ask(way.0, way.1);
        // A run is refused where its increment is not the client's, which is 1.
        let Some(numbers) = numbers(way, &answer) else {
            continue;
        };
        invariant!(given.is_beyond(&numbers), "seed {seed}: {way:?}: {answer}");
        given.extend(numbers);
    }
    assert!(
        done > 20,
        "seed {seed}: {done} changes were made, which shows little"
    );
    assert!(given.count() > 200, "seed {seed}: {} numbers", given.count());
}

// claim: P1, P7, P20
#[test]
fn no_history_of_changes_over_all_faces_gives_out_a_number_twice() {
    let steps = std::env::var("MINT_TEST_HISTORY").map_or(2_000, |n| n.parse().unwrap());
    for seed in 1..=HISTORIES {
        let mut all = All::start();
        let faces = all.addresses();
        nonsense::beside(&faces, seed, || history(&mut all, seed, steps));
    }
}
