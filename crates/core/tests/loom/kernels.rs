//! Every interleaving of threads on the two kernels that all generators count by: `cargo xtask loom`. The files under test
//! are the library's own.

use std::ops::Range;
use std::sync::Arc;

use loom::thread;
use mintage_testing::{distinct, invariant, rising};

use crate::atomic::AtomicU64;
use crate::word::{Reach, seeded, windowed};

/// Two places a tick, so that ticks run over within a few steps.
const COUNTER_BITS: u32 = 1;

/// One take at a tick of the clock: the first place, and how many.
type Take = fn(&AtomicU64, Range<u64>) -> Option<(u64, u64)>;

/// The places within two ticks of `tick`, and before tick 14.
fn places(tick: u64) -> Range<u64> {
    let reach = Reach {
        now: tick,
        max_ahead: 2,
        last: 13,
    };
    reach.places(COUNTER_BITS)
}

/// The places that `take` gives at each of the ticks.
fn run(word: &AtomicU64, take: Take, ticks: &[u64]) -> Vec<u64> {
    let mut all = Vec::new();
    for tick in ticks {
        if let Some((first, count)) = take(word, places(*tick)) {
            assert!(count > 0, "nothing taken and no refusal");
            all.extend(first..first + count);
        }
    }
    all
}

/// Each list of ticks on a thread of its own, with a take of its own, over every interleaving.
fn check([one, two]: [(Take, &'static [u64]); 2], bounded: bool) {
    loom::model(move || {
        let word = Arc::new(AtomicU64::new(0));
        let other = {
            let word = Arc::clone(&word);
            thread::spawn(move || run(&word, two.0, two.1))
        };
        let mine = run(&word, one.0, one.1);
        let theirs = other.join().unwrap();
        for (places, ticks) in [(&mine, one.1), (&theirs, two.1)] {
            rising("places of a thread", places);
            let end = ticks.iter().map(|tick| self::places(*tick).end).max().unwrap();
            for place in places {
                assert!(
                    *place >= self::places(ticks[0]).start,
                    "{place} is before the clock"
                );
                invariant!(!bounded || *place < end, "{place} is out of reach");
            }
        }
        distinct("places", mine.into_iter().chain(theirs));
    });
}

const UP_TO_TWO: Take = |word, window| windowed::take_up_to(word, window, 2).ok();
const ALL_OF_TWO: Take =
    |word, window| Some((windowed::take_all(word, window.start, window.end, 2).ok()?, 2));
const ONE: Take = |word, window| windowed::take_up_to(word, window, 1).ok();

#[test]
fn adding_never_gives_a_place_twice_nor_one_past_the_end() {
    check([(UP_TO_TWO, &[10, 11, 11]), (ONE, &[10, 12, 11])], true);
}

#[test]
fn adding_all_at_once_never_gives_a_place_twice() {
    // Past the end by what both threads take, at most.
    check([(ALL_OF_TWO, &[10, 11, 11]), (ALL_OF_TWO, &[10, 12])], false);
}

const SEEDED_UP_TO_TWO: Take = |word, reach| seeded::take_up_to(word, reach, 2, || 1).ok();
const SEEDED_ALL_OF_TWO: Take = |word, reach| {
    let first = seeded::take_all(word, reach, 2, || 1).ok()?;
    Some((first, 2))
};
const NARROW: Take = |word, reach| seeded::take_in_tick(word, reach, (COUNTER_BITS, 0), 2, || 0).ok();

#[test]
fn swapping_never_gives_a_place_twice_nor_one_past_the_end() {
    check(
        [(SEEDED_UP_TO_TWO, &[10, 11, 11]), (SEEDED_UP_TO_TWO, &[10, 12])],
        true,
    );
    check(
        [(SEEDED_UP_TO_TWO, &[12, 13]), (SEEDED_ALL_OF_TWO, &[13, 13])],
        true,
    );
    check([(SEEDED_ALL_OF_TWO, &[10, 11]), (NARROW, &[10, 11])], true);
}

const ADD_TWO: Take = |word, reach| Some((seeded::add(word, reach.start, 2, || 1), 2));
const ADD_ONE: Take = |word, reach| Some((seeded::add(word, reach.start, 1, || 0), 1));

#[test]
fn adding_without_an_end_never_gives_a_place_twice() {
    check([(ADD_TWO, &[10, 11, 11]), (ADD_ONE, &[10, 12])], false);
}
