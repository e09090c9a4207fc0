//! Generated series: the numbers from one bound to another, with MariaDB's names and rules.
//!
//! A descending series is the ascending one *reversed*: `seq_15_to_1_step_3` is 13 10 7 4 1 and begins not at
//! 15 (recorded on MariaDB 10.11, engine SEQUENCE). There is no empty series.

use alloc::collections::BTreeSet;

use super::error::SeriesError;

/// The numbers from one bound to another by a step.
///
/// ```
/// use mintage::Series;
/// let series = Series::new(1, 15, 3)?;
/// assert_eq!(series.iter().collect::<Vec<_>>(), [1, 4, 7, 10, 13]);
/// let down: Series = "seq_15_to_1_step_3".parse()?;
/// assert_eq!(down.iter().collect::<Vec<_>>(), [13, 10, 7, 4, 1]);
/// # Ok::<(), mintage::SeriesError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Series {
    first: i128,
    /// Negative when descending.
    step: i128,
    count: u128,
}

impl Series {
    /// The series from `from` to `to`, descending if `to` is less; both within 64 bits, signed or not.
    ///
    /// A step longer than the way gives one number: `from`.
    ///
    /// # Errors
    /// A step of zero.
    pub fn new(from: i128, to: i128, step: u64) -> Result<Self, SeriesError> {
        if step == 0 {
            return Err(SeriesError::ZeroStep);
        }
        let bound = |n: i128| n.clamp(i128::from(i64::MIN), i128::from(u64::MAX));
        let (from, to) = (bound(from), bound(to));
        Ok(Series::between(from, to, i128::from(step)).expect("a step above 0 leads to every bound"))
    }

    /// The same of any numbers whose distance is far below 2^127. A negative step begins at `from` and goes down;
    /// `None` where it leads away from `to`. It is not zero.
    pub(super) const fn between(from: i128, to: i128, step: i128) -> Option<Self> {
        let steps = (to - from).abs() / step.abs();
        let (first, step) = match (from <= to, step < 0) {
            _ if from == to => (from, step),
            (true, true) => return None,
            (false, false) if steps > 0 => (to + steps * step, -step),
            _ => (from, step),
        };
        Some(Series {
            first,
            step,
            count: steps as u128 + 1,
        })
    }

    /// The first number.
    pub const fn first(&self) -> i128 {
        self.first
    }

    /// The last number.
    pub const fn last(&self) -> i128 {
        self.first + self.step * (self.count as i128 - 1)
    }

    /// How many numbers: at least one.
    pub const fn count(&self) -> u128 {
        self.count
    }

    /// Whether `number` is in the series.
    pub const fn contains(&self, number: i128) -> bool {
        self.place_of(number).is_some()
    }

    /// The number at a place, counted from 0.
    ///
    /// # Panics
    /// There are not as many.
    pub const fn at(&self, place: u128) -> i128 {
        assert!(place < self.count);
        self.first + self.step * place as i128
    }

    /// The place of a number, counted from 0, if it is in the series.
    ///
    /// ```
    /// let series = mintage::Series::new(15, 1, 3)?;
    /// assert_eq!((series.at(1), series.place_of(10), series.place_of(11)), (10, Some(1), None));
    /// # Ok::<(), mintage::SeriesError>(())
    /// ```
    pub const fn place_of(&self, number: i128) -> Option<u128> {
        let (low, high) = if self.step > 0 {
            (self.first, self.last())
        } else {
            (self.last(), self.first)
        };
        if number < low || number > high || (number - self.first) % self.step != 0 {
            return None;
        }
        Some(((number - self.first) / self.step) as u128)
    }

    /// The numbers in order.
    pub fn iter(&self) -> impl Iterator<Item = i128> + use<> {
        let series = *self;
        (0..series.count).map(move |place| series.at(place))
    }

    /// The numbers of the series that are not among `present`, in order: the holes of a column.
    ///
    /// ```
    /// use mintage::Series;
    /// let holes: Vec<_> = Series::new(1, 6, 1)?.missing([5, 1, 2, 99]).collect();
    /// assert_eq!(holes, [3, 4, 6]);
    /// # Ok::<(), mintage::SeriesError>(())
    /// ```
    pub fn missing<I: IntoIterator<Item = i128>>(&self, present: I) -> impl Iterator<Item = i128> + use<I> {
        let series = *self;
        let present: BTreeSet<i128> = present.into_iter().filter(|n| series.contains(*n)).collect();
        series.iter().filter(move |number| !present.contains(number))
    }
}

impl core::str::FromStr for Series {
    type Err = SeriesError;

    /// Reads MariaDB's name of a series; numbers above 2^64 - 1 saturate, as there.
    fn from_str(name: &str) -> Result<Self, SeriesError> {
        let rest = name.strip_prefix("seq_").ok_or(SeriesError::Name)?;
        let (from, rest) = rest.split_once("_to_").ok_or(SeriesError::Name)?;
        let (to, step) = match rest.split_once("_step_") {
            Some((to, step)) => (to, decimal(step)?),
            None => (rest, 1),
        };
        Series::new(decimal(from)?.into(), decimal(to)?.into(), step)
    }
}

/// Digits only, at least one; too large saturates.
fn decimal(text: &str) -> Result<u64, SeriesError> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(SeriesError::Name);
    }
    Ok(text.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(name: &str, expected: &[i128]) {
        let series: Series = name.parse().expect("a series");
        assert_eq!(series.iter().collect::<Vec<_>>(), expected, "{name}");
        assert_eq!(
            (series.first(), series.last()),
            (expected[0], expected[expected.len() - 1])
        );
        assert_eq!(series.count(), expected.len() as u128);
    }

    #[test]
    fn names_give_what_mariadb_gives() {
        check("seq_1_to_15_step_3", &[1, 4, 7, 10, 13]);
        check("seq_15_to_1_step_3", &[13, 10, 7, 4, 1]);
        check("seq_16_to_1_step_4", &[13, 9, 5, 1]);
        check("seq_5_to_5_step_9", &[5]);
        check("seq_1_to_15_step_12345", &[1]);
        check("seq_15_to_1_step_12345", &[15]);
        check("seq_15_to_1_step_14", &[15, 1]);
        check("seq_01_to_05", &[1, 2, 3, 4, 5]);
        check(
            "seq_18446744073709551613_to_99999999999999999999",
            &[18446744073709551613, 18446744073709551614, 18446744073709551615],
        );
    }

    #[test]
    fn other_names_are_refused() {
        for name in [
            "seq_1_to_",
            "seq_1",
            "seq_1_to_5_step_",
            "seq_-1_to_5",
            "seq_+1_to_5",
            "SEQ_1_TO_5",
            "seq__to_5",
            "",
        ] {
            assert_eq!(name.parse::<Series>(), Err(SeriesError::Name), "{name}");
        }
        assert_eq!("seq_1_to_5_step_0".parse::<Series>(), Err(SeriesError::ZeroStep));
    }

    proptest! {
        #[test]
        fn a_descending_series_is_the_ascending_one_reversed(from in -50i128..50, to in -50i128..50, step in 1u64..40) {
            let up: Vec<_> = Series::new(from.min(to), from.max(to), step).expect("a step").iter().collect();
            let down: Vec<_> = Series::new(from.max(to), from.min(to), step).expect("a step").iter().collect();
            if up.len() > 1 {
                prop_assert_eq!(up.iter().rev().copied().collect::<Vec<_>>(), down);
            }
        }

        #[test]
        fn contains_is_membership(from in -50i128..50, to in -50i128..50, step in 1u64..20, number in -60i128..60) {
            let series = Series::new(from, to, step).expect("a step");
            let place = series.iter().position(|n| n == number);
            prop_assert_eq!(series.place_of(number), place.map(|place| place as u128));
            prop_assert_eq!(series.contains(number), place.is_some());
        }

        #[test]
        fn no_text_makes_the_reader_panic(text in "\\PC{0,20}") {
            let _ = text.parse::<Series>();
        }
    }

    #[test]
    fn a_step_down_begins_at_the_first_bound() {
        let down =
            |from, to, step| Series::between(from, to, step).map(|series| series.iter().collect::<Vec<_>>());
        assert_eq!(down(15, 1, -3).as_deref(), Some(&[15, 12, 9, 6, 3][..]));
        assert_eq!(down(15, 1, -20).as_deref(), Some(&[15][..]));
        assert_eq!(down(5, 5, -1).as_deref(), Some(&[5][..]));
        assert_eq!(down(1, 15, -3), None);
    }
}
