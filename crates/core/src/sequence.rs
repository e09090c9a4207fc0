//! Sequence arithmetic: which numbers follow which. No state, no I/O.
//!
//! The rules are PostgreSQL's: defaults by direction, a step past the bound fails without moving, `cycle` goes
//! on at the *minimum* (ascending) or *maximum* (descending), never at the start, and the state is
//! `(last_value, is_called)`.

use core::fmt;

/// What a new sequence is asked to be; everything left out takes PostgreSQL's default.
///
/// ```
/// use mintage::{SequenceDef, SequenceOptions};
/// let evens = SequenceDef::new(SequenceOptions { start: Some(2), increment: Some(2), ..Default::default() })?;
/// assert_eq!((evens.min, evens.max, evens.cycle), (1, i64::MAX, false));
/// # Ok::<(), mintage::SequenceError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SequenceOptions {
    /// The first number; default `min` when ascending, `max` when descending.
    pub start: Option<i64>,
    /// The step, not zero; negative descends. Default 1.
    pub increment: Option<i64>,
    /// The smallest number; default 1 when ascending, `i64::MIN` when descending.
    pub min: Option<i64>,
    /// The largest number; default `i64::MAX` when ascending, -1 when descending.
    pub max: Option<i64>,
    /// Whether to go on at the other end when the numbers are used up; default no.
    pub cycle: Option<bool>,
}

/// A checked sequence definition.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SequenceDef {
    /// The first number, within `min..=max`.
    pub start: i64,
    /// The step; never zero.
    pub increment: i64,
    /// The smallest number; less than `max`.
    pub min: i64,
    /// The largest number.
    pub max: i64,
    /// Whether the numbers repeat once used up.
    pub cycle: bool,
}

/// A place in a sequence: PostgreSQL's `(last_value, is_called)`.
///
/// The next number is `value` itself, or the one after it if `is_called`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Base {
    /// The last number issued, or the first to issue.
    pub value: i64,
    /// Whether `value` has been issued.
    pub is_called: bool,
}

/// A linear run of numbers: `first`, `first + step`, …, `count` of them, every one an `i64`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Run {
    /// The first number.
    pub first: i64,
    /// Never zero; negative for a descending sequence.
    pub step: i64,
    /// How many numbers.
    pub count: u64,
}

/// Why a definition was refused, or why there is no next number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum SequenceError {
    /// The increment is zero.
    ZeroIncrement,
    /// `min` is not less than `max`.
    MinNotBelowMax {
        /// The minimum asked for (or its default).
        min: i64,
        /// The maximum asked for (or its default).
        max: i64,
    },
    /// A value lies below the minimum.
    BelowMin {
        /// What the value is: `start`, or `value` for a place in the sequence.
        what: &'static str,
        /// The value.
        value: i64,
        /// The minimum.
        min: i64,
    },
    /// A value lies above the maximum.
    AboveMax {
        /// What the value is: `start`, or `value` for a place in the sequence.
        what: &'static str,
        /// The value.
        value: i64,
        /// The maximum.
        max: i64,
    },
    /// The numbers are used up and the sequence does not cycle.
    Exhausted {
        /// Whether the bound reached is the maximum (ascending) or the minimum.
        at_max: bool,
        /// That bound.
        bound: i64,
    },
}

impl SequenceDef {
    /// Checks `options` and fills in the defaults.
    ///
    /// # Errors
    /// A zero increment; a minimum that is not less than the maximum; a start outside them.
    ///
    /// ```
    /// use mintage::{SequenceDef, SequenceOptions};
    /// let down = SequenceDef::new(SequenceOptions { increment: Some(-1), ..Default::default() })?;
    /// assert_eq!((down.start, down.min, down.max), (-1, i64::MIN, -1));
    /// # Ok::<(), mintage::SequenceError>(())
    /// ```
    pub const fn new(options: SequenceOptions) -> Result<Self, SequenceError> {
        const fn or(value: Option<i64>, default: i64) -> i64 {
            match value {
                Some(value) => value,
                None => default,
            }
        }
        let increment = or(options.increment, 1);
        if increment == 0 {
            return Err(SequenceError::ZeroIncrement);
        }
        let up = increment > 0;
        let min = or(options.min, if up { 1 } else { i64::MIN });
        let max = or(options.max, if up { i64::MAX } else { -1 });
        if min >= max {
            return Err(SequenceError::MinNotBelowMax { min, max });
        }
        let start = or(options.start, if up { min } else { max });
        let cycle = matches!(options.cycle, Some(true));
        let def = SequenceDef {
            start,
            increment,
            min,
            max,
            cycle,
        };
        match def.within("start", start) {
            Ok(()) => Ok(def),
            Err(e) => Err(e),
        }
    }

    /// The place before the first number.
    pub const fn origin(&self) -> Base {
        Base {
            value: self.start,
            is_called: false,
        }
    }

    /// Whether `value` may be the place of this sequence.
    ///
    /// # Errors
    /// `value` lies below the minimum or above the maximum.
    pub const fn check(&self, value: i64) -> Result<(), SequenceError> {
        self.within("value", value)
    }

    /// The longest linear run of at most `want` numbers that begins `skip` numbers after `base`.
    ///
    /// A run never crosses the wrap of a cycling sequence: ask again for the rest. `want` 0 gives a run of no
    /// numbers that says where the next one would be.
    ///
    /// # Errors
    /// [`SequenceError::Exhausted`] if no number is left, and a `base` outside the bounds.
    ///
    /// ```
    /// use mintage::{Base, SequenceDef, SequenceError, SequenceOptions};
    /// let def = SequenceDef::new(SequenceOptions { increment: Some(7), max: Some(20), ..Default::default() })?;
    /// let run = def.run(Base { value: 1, is_called: false }, 0, 10)?;
    /// assert_eq!(run.iter().collect::<Vec<_>>(), [1, 8, 15]);
    /// let end = def.run(Base { value: 15, is_called: true }, 0, 1);
    /// assert_eq!(end, Err(SequenceError::Exhausted { at_max: true, bound: 20 }));
    /// # Ok::<(), SequenceError>(())
    /// ```
    pub const fn run(&self, base: Base, skip: u64, want: u64) -> Result<Run, SequenceError> {
        if let Err(e) = self.check(base.value) {
            return Err(e);
        }
        // Steps from `base.value`; all of this fits easily in 128 bits.
        let step = self.increment as i128;
        let offset = skip as i128 + base.is_called as i128;
        let (end, restart) = if step > 0 {
            (self.max as i128, self.min as i128)
        } else {
            (self.min as i128, self.max as i128)
        };
        // How many steps `base.value` may still take: the quotient of two numbers of the same sign.
        let last = (end - base.value as i128) / step;
        let (first, available) = if offset <= last {
            (base.value as i128 + step * offset, last - offset + 1)
        } else if self.cycle {
            let per_cycle = (end - restart) / step + 1;
            let place = (offset - last - 1) % per_cycle;
            (restart + step * place, per_cycle - place)
        } else {
            return Err(SequenceError::Exhausted {
                at_max: step > 0,
                bound: if step > 0 { self.max } else { self.min },
            });
        };
        let count = if available < want as i128 {
            available as u64
        } else {
            want
        };
        Ok(Run {
            first: first as i64,
            step: self.increment,
            count,
        })
    }

    /// Whether going from `from` to `to` is no step back: `to` lies at or past `from` in the direction of the
    /// increment.
    ///
    /// ```
    /// use mintage::{SequenceDef, SequenceOptions};
    /// let down = SequenceDef::new(SequenceOptions { increment: Some(-5), ..Default::default() })?;
    /// assert!(down.is_forward(-1, -9));
    /// assert!(!down.is_forward(-9, -1));
    /// # Ok::<(), mintage::SequenceError>(())
    /// ```
    pub const fn is_forward(&self, from: i64, to: i64) -> bool {
        if self.increment > 0 {
            to >= from
        } else {
            to <= from
        }
    }

    const fn within(&self, what: &'static str, value: i64) -> Result<(), SequenceError> {
        if value < self.min {
            return Err(SequenceError::BelowMin {
                what,
                value,
                min: self.min,
            });
        }
        if value > self.max {
            return Err(SequenceError::AboveMax {
                what,
                value,
                max: self.max,
            });
        }
        Ok(())
    }
}

impl Run {
    /// The number at `index`, counted from 0; `index` must be less than `count`.
    ///
    /// # Panics
    /// In debug builds if `index` is out of range; release builds give a number outside the run.
    #[inline]
    pub const fn value(&self, index: u64) -> i64 {
        debug_assert!(index < self.count || index == 0);
        // Exact although it wraps on the way: the result is known to fit, and wrapping is exact modulo 2^64.
        self.first.wrapping_add(self.step.wrapping_mul(index as i64))
    }

    /// The last number; `first` if the run has none.
    #[inline]
    pub const fn last(&self) -> i64 {
        self.value(self.count.saturating_sub(1))
    }

    /// The numbers in order.
    ///
    /// ```
    /// let run = mintage::Run { first: 10, step: -3, count: 3 };
    /// assert_eq!(run.iter().collect::<Vec<_>>(), [10, 7, 4]);
    /// ```
    pub const fn iter(&self) -> RunIter {
        RunIter { run: *self }
    }

    /// Splits off the first `n` numbers (at most `count`): those, and the rest.
    ///
    /// ```
    /// let run = mintage::Run { first: 1, step: 2, count: 5 };
    /// let (head, rest) = run.split(2);
    /// assert_eq!((head.last(), rest.first, rest.count), (3, 5, 3));
    /// ```
    pub const fn split(&self, n: u64) -> (Run, Run) {
        let n = if n < self.count { n } else { self.count };
        let first = self.first.wrapping_add(self.step.wrapping_mul(n as i64));
        (
            Run { count: n, ..*self },
            Run {
                first,
                step: self.step,
                count: self.count - n,
            },
        )
    }
}

impl IntoIterator for Run {
    type Item = i64;
    type IntoIter = RunIter;
    fn into_iter(self) -> RunIter {
        self.iter()
    }
}

/// The numbers of a [`Run`] in order.
#[derive(Clone, Debug)]
pub struct RunIter {
    run: Run,
}

impl Iterator for RunIter {
    type Item = i64;

    fn next(&mut self) -> Option<i64> {
        if self.run.count == 0 {
            return None;
        }
        let (head, rest) = self.run.split(1);
        self.run = rest;
        Some(head.first)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let exact = usize::try_from(self.run.count);
        (exact.unwrap_or(usize::MAX), exact.ok())
    }
}

impl fmt::Display for SequenceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ZeroIncrement => f.write_str("increment must not be zero"),
            Self::MinNotBelowMax { min, max } => write!(f, "min {min} must be less than max {max}"),
            Self::BelowMin { what, value, min } => write!(f, "{what} {value} is less than min {min}"),
            Self::AboveMax { what, value, max } => write!(f, "{what} {value} is greater than max {max}"),
            Self::Exhausted { at_max: true, bound } => {
                write!(
                    f,
                    "reached the maximum {bound}; raise max, or let the sequence cycle"
                )
            }
            Self::Exhausted { at_max: false, bound } => {
                write!(
                    f,
                    "reached the minimum {bound}; lower min, or let the sequence cycle"
                )
            }
        }
    }
}

impl core::error::Error for SequenceError {}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use proptest::prelude::*;

    use super::*;

    /// The naive model: one number at a time, as PostgreSQL's documentation tells it.
    fn next(def: &SequenceDef, base: Base) -> Option<Base> {
        let value = if base.is_called {
            match base
                .value
                .checked_add(def.increment)
                .filter(|v| (def.min..=def.max).contains(v))
            {
                Some(value) => value,
                None if !def.cycle => return None,
                None if def.increment > 0 => def.min,
                None => def.max,
            }
        } else {
            base.value
        };
        Some(Base {
            value,
            is_called: true,
        })
    }

    fn list(def: &SequenceDef, mut base: Base, n: usize) -> Vec<i64> {
        let mut list = Vec::new();
        while list.len() < n {
            let Some(after) = next(def, base) else { break };
            list.push(after.value);
            base = after;
        }
        list
    }

    fn edge() -> impl Strategy<Value = i64> {
        prop_oneof![
            -20i64..20,
            any::<i64>(),
            (0i64..5).prop_map(|n| i64::MAX - n),
            (0i64..5).prop_map(|n| i64::MIN + n),
        ]
    }

    fn definition() -> impl Strategy<Value = (SequenceDef, Base)> {
        (edge(), edge(), edge(), edge(), any::<bool>(), any::<bool>())
            .prop_map(|(increment, a, b, value, cycle, is_called)| {
                let (min, max) = if a < b { (a, b) } else { (b, a) };
                let value = value.clamp(min, max);
                let options = SequenceOptions {
                    start: Some(value),
                    increment: Some(increment),
                    min: Some(min),
                    max: Some(max),
                    cycle: Some(cycle),
                };
                (SequenceDef::new(options), Base { value, is_called })
            })
            .prop_filter_map("a refused definition", |(def, base)| Some((def.ok()?, base)))
    }

    proptest! {
        #[test]
        fn runs_are_the_naive_list_in_pieces((def, base) in definition(), skip in 0u64..30, want in 0u64..30) {
            let list = list(&def, base, (skip + want) as usize);
            let expected = list.get(skip as usize..).unwrap_or_default();
            match def.run(base, skip, want) {
                Ok(run) => {
                    prop_assert!(run.count <= want);
                    let got: Vec<i64> = run.iter().collect();
                    prop_assert_eq!(&got[..], &expected[..got.len()]);
                    // It stops early only at the end or at a wrap.
                    if let Some(after) = expected.get(got.len()) {
                        prop_assert_ne!(i128::from(*after), i128::from(run.last()) + i128::from(run.step));
                    }
                    prop_assert!(run.count > 0 || want == 0);
                    if let Some(last) = expected.get(got.len().wrapping_sub(1)) {
                        prop_assert_eq!(run.last(), *last);
                    }
                }
                Err(SequenceError::Exhausted { at_max, bound }) => {
                    prop_assert!(expected.is_empty());
                    prop_assert!(!def.cycle);
                    prop_assert_eq!(at_max, def.increment > 0);
                    prop_assert_eq!(bound, if at_max { def.max } else { def.min });
                }
                Err(other) => prop_assert!(false, "{other}"),
            }
        }

        #[test]
        fn any_skip_and_want_gives_numbers_within_the_bounds(
            (def, base) in definition(), skip in any::<u64>(), want in 1u64..,
        ) {
            if let Ok(run) = def.run(base, skip, want) {
                for value in [run.first, run.last(), run.value(run.count / 2)] {
                    prop_assert!((def.min..=def.max).contains(&value));
                }
            }
        }

        #[test]
        fn a_split_run_is_the_same_numbers(first in -1000i64..1000, step in 1i64..9, count in 0u64..40, n in 0u64..50) {
            let run = Run { first, step, count };
            let (head, rest) = run.split(n);
            let joined: Vec<i64> = head.iter().chain(rest).collect();
            prop_assert_eq!(joined, run.iter().collect::<Vec<_>>());
        }
    }

    #[track_caller]
    fn check_new(options: SequenceOptions, expected: Result<(i64, i64, i64), SequenceError>) {
        assert_eq!(
            SequenceDef::new(options).map(|d| (d.start, d.min, d.max)),
            expected
        );
    }

    #[test]
    fn defaults_and_refusals_are_postgresqls() {
        let none = SequenceOptions::default();
        check_new(none, Ok((1, 1, i64::MAX)));
        check_new(
            SequenceOptions {
                increment: Some(-1),
                ..none
            },
            Ok((-1, i64::MIN, -1)),
        );
        check_new(
            SequenceOptions {
                increment: Some(0),
                ..none
            },
            Err(SequenceError::ZeroIncrement),
        );
        check_new(SequenceOptions { min: Some(5), ..none }, Ok((5, 5, i64::MAX)));
        check_new(
            SequenceOptions {
                min: Some(20),
                increment: Some(-1),
                ..none
            },
            Err(SequenceError::MinNotBelowMax { min: 20, max: -1 }),
        );
        check_new(
            SequenceOptions {
                min: Some(7),
                max: Some(7),
                ..none
            },
            Err(SequenceError::MinNotBelowMax { min: 7, max: 7 }),
        );
        check_new(
            SequenceOptions {
                start: Some(-10),
                ..none
            },
            Err(SequenceError::BelowMin {
                what: "start",
                value: -10,
                min: 1,
            }),
        );
        check_new(
            SequenceOptions {
                start: Some(10),
                increment: Some(-1),
                ..none
            },
            Err(SequenceError::AboveMax {
                what: "start",
                value: 10,
                max: -1,
            }),
        );
        check_new(
            SequenceOptions {
                min: Some(i64::MIN),
                max: Some(i64::MAX),
                ..none
            },
            Ok((i64::MIN, i64::MIN, i64::MAX)),
        );
    }

    #[test]
    fn a_cycle_goes_on_at_min_or_max_and_not_at_start() {
        let up = SequenceDef {
            start: 5,
            increment: 4,
            min: 2,
            max: 10,
            cycle: true,
        };
        assert_eq!(list(&up, up.origin(), 6), [5, 9, 2, 6, 10, 2]);
        assert_eq!(
            up.run(up.origin(), 2, 9),
            Ok(Run {
                first: 2,
                step: 4,
                count: 3
            })
        );
        let down = SequenceDef {
            start: 5,
            increment: -4,
            min: 2,
            max: 10,
            cycle: true,
        };
        assert_eq!(
            down.run(down.origin(), 1, 9),
            Ok(Run {
                first: 10,
                step: -4,
                count: 3
            })
        );
    }

    #[test]
    fn the_whole_range_of_i64_is_one_run() {
        let def = SequenceDef {
            start: i64::MIN,
            increment: 1,
            min: i64::MIN,
            max: i64::MAX,
            cycle: false,
        };
        let run = def.run(def.origin(), 0, u64::MAX).expect("numbers are left");
        assert_eq!(
            (run.first, run.count, run.last()),
            (i64::MIN, u64::MAX, i64::MAX - 1)
        );
        let end = def.run(def.origin(), u64::MAX, 5).expect("one number is left");
        assert_eq!((end.first, end.count), (i64::MAX, 1));
        let past = def.run(
            Base {
                value: i64::MIN,
                is_called: true,
            },
            u64::MAX,
            1,
        );
        assert_eq!(
            past,
            Err(SequenceError::Exhausted {
                at_max: true,
                bound: i64::MAX
            })
        );
    }

    #[test]
    fn increments_of_the_whole_range_work() {
        let def = SequenceDef {
            start: -1,
            increment: i64::MIN,
            min: i64::MIN,
            max: -1,
            cycle: false,
        };
        assert_eq!(
            def.run(def.origin(), 0, 5),
            Ok(Run {
                first: -1,
                step: i64::MIN,
                count: 1
            })
        );
        let def = SequenceDef {
            start: 0,
            increment: i64::MIN,
            min: i64::MIN,
            max: 0,
            cycle: false,
        };
        assert_eq!(
            def.run(def.origin(), 1, 5),
            Ok(Run {
                first: i64::MIN,
                step: i64::MIN,
                count: 1
            })
        );
    }

    #[test]
    fn errors_name_the_values_and_the_way_out() {
        let text = |e: SequenceError| std::string::ToString::to_string(&e);
        assert_eq!(
            text(SequenceError::Exhausted {
                at_max: true,
                bound: 36
            }),
            "reached the maximum 36; raise max, or let the sequence cycle"
        );
        assert_eq!(
            text(SequenceError::BelowMin {
                what: "start",
                value: -10,
                min: 1
            }),
            "start -10 is less than min 1"
        );
    }
}
