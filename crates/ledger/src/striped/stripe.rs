//! Numbers of one store out of K (protocol S9): every store of a set issues its own share of the same sequence, so
//! that any one alive is enough.
//!
//! The share is cut by where a number lies on the grid of the definition, `(value - start) / increment`, and not by
//! how many were issued: two stores that stand at different positions, or that have not both seen a `SET`, still
//! never issue the same number.
//!
//! ```text
//!   start 1, increment 1        store 0 of 2    1  3  5  7 …
//!                               store 1 of 2    2  4  6  8 …
//! ```

use mintage::{Base, Run, SequenceDef, SequenceError};

/// The most stores a set may have.
pub(crate) const STRIPES_MAX: u8 = 16;

/// Which store of how many.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Stripe {
    /// From 0.
    pub number: u8,
    /// At least 1.
    pub of: u8,
}

impl Stripe {
    /// The only store there is.
    pub(crate) const WHOLE: Stripe = Stripe { number: 0, of: 1 };

    /// The store's numbers after the first `skip` since `base`, at most `want`, as one linear run.
    pub(crate) fn run(
        self,
        def: &SequenceDef,
        base: Base,
        skip: u64,
        want: u64,
    ) -> Result<Run, SequenceError> {
        let of = u64::from(self.of);
        if of == 1 {
            return def.run(base, skip, want);
        }
        // Past the end of any sequence if it does not fit.
        let from = skip.saturating_mul(of).saturating_add(self.first(def, base));
        let span = want.saturating_sub(1).saturating_mul(of).saturating_add(1);
        let whole = def.run(base, from, span)?;
        let count = whole.count.saturating_sub(1) / of + 1;
        match whole.step.checked_mul(i64::from(self.of)) {
            Some(step) => Ok(Run {
                first: whole.first,
                step,
                count,
            }),
            // The next one lies beyond 64 bits.
            None => Ok(Run { count: 1, ..whole }),
        }
    }

    /// How many numbers after `base` come before the store's first.
    fn first(self, def: &SequenceDef, base: Base) -> u64 {
        let step = i128::from(def.increment);
        let next = i128::from(base.value) + if base.is_called { step } else { 0 };
        let place = ((next - i128::from(def.start)) * step.signum()).div_euclid(step.abs());
        let ahead = (i128::from(self.number) - place).rem_euclid(i128::from(self.of));
        u64::try_from(ahead).expect("less than the number of stores")
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use mintage::SequenceOptions;
    use mintage_testing::invariant;

    use super::*;

    fn def(start: i64, increment: i64) -> SequenceDef {
        SequenceDef::new(SequenceOptions {
            start: Some(start),
            increment: Some(increment),
            min: Some(i64::MIN + 1),
            max: Some(i64::MAX),
            ..SequenceOptions::default()
        })
        .unwrap()
    }

    fn numbers(stripe: Stripe, def: &SequenceDef, base: Base, n: u64) -> Vec<i64> {
        let mut numbers = Vec::new();
        while (numbers.len() as u64) < n {
            let run = stripe.run(def, base, numbers.len() as u64, n - numbers.len() as u64);
            numbers.extend(run.unwrap());
        }
        numbers
    }

    #[test]
    fn the_stores_share_every_number_and_no_two_have_one() {
        for (start, increment) in [(1, 1), (0, 10), (-5, 3), (100, -1), (7, -4)] {
            let def = def(start, increment);
            for of in 1..=5u8 {
                for (value, is_called) in [(start, false), (start + increment * 7, true), (start + 3, true)] {
                    let base = Base { value, is_called };
                    let each = 60 / u64::from(of);
                    let whole = numbers(Stripe::WHOLE, &def, base, each * u64::from(of));
                    let mut all = BTreeSet::new();
                    for number in 0..of {
                        for value in numbers(Stripe { number, of }, &def, base, each) {
                            invariant!(all.insert(value), "{value} twice");
                        }
                    }
                    let whole: BTreeSet<i64> = whole.into_iter().collect();
                    invariant!(
                        all == whole,
                        "{start} {increment} {of} {base:?}: {all:?} of {whole:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn stores_at_different_positions_never_issue_the_same() {
        let def = def(1, 10);
        let mut all = BTreeSet::new();
        for (number, value) in [(0, 501), (1, 1), (2, 5_000_017)] {
            let base = Base {
                value,
                is_called: true,
            };
            for value in numbers(Stripe { number, of: 3 }, &def, base, 100_000) {
                invariant!(all.insert(value), "{value} twice");
            }
        }
    }

    #[test]
    fn a_share_ends_where_the_sequence_does() {
        let def = SequenceDef::new(SequenceOptions {
            max: Some(10),
            ..SequenceOptions::default()
        })
        .unwrap();
        let base = Base {
            value: 1,
            is_called: false,
        };
        let stripe = |number| Stripe { number, of: 3 };
        let run = |number, skip| stripe(number).run(&def, base, skip, 100);
        assert_eq!(
            run(0, 0).map(|run| (run.first, run.step, run.count)),
            Ok((1, 3, 4))
        );
        assert_eq!(
            run(1, 0).map(|run| (run.first, run.step, run.count)),
            Ok((2, 3, 3))
        );
        assert!(run(1, 3).is_err());
        assert!(run(0, u64::MAX).is_err());
    }
}
