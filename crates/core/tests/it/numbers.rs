//! Numbers in a row: the holes of a series, the direction of a sequence.

use std::collections::BTreeSet;

use mintage::*;
use proptest::prelude::*;

proptest! {
    #[test]
    fn what_is_there_and_what_is_missing_are_the_series(
        from in -50i128..50, to in -50i128..50, step in 1u64..9, present in prop::collection::vec(-60i128..60, 0..40),
    ) {
        let series = Series::new(from, to, step).unwrap();
        let missing: Vec<i128> = series.missing(present.iter().copied()).collect();
        let there: BTreeSet<i128> = present.into_iter().collect();
        let expected: Vec<i128> = series.iter().filter(|number| !there.contains(number)).collect();
        prop_assert_eq!(missing, expected, "in the order of the series");
    }

    #[test]
    fn the_numbers_of_a_sequence_are_steps_forward(increment in prop_oneof![-9i64..0, 1i64..10], count in 2u64..20) {
        let def = SequenceDef::new(SequenceOptions { increment: Some(increment), ..Default::default() }).unwrap();
        let numbers: Vec<i64> = def.run(def.origin(), 0, count).unwrap().iter().collect();
        for pair in numbers.windows(2) {
            prop_assert!(def.is_forward(pair[0], pair[1]));
            prop_assert!(!def.is_forward(pair[1], pair[0]));
            prop_assert!(def.is_forward(pair[0], pair[0]), "to stay is no step back");
        }
    }
}
