//! Numbers that were given out, as runs: ten million of them in a row need as much room as one.

use std::collections::BTreeMap;
use std::fmt::Display;

use crate::violated;

/// What was given out so far, none of it twice.
///
/// ```
/// let mut given = mintage_testing::Runs::of("orders");
/// given.extend([1, 2, 3, 7]);
/// assert_eq!((given.count(), given.runs()), (4, 2));
/// assert!(given.is_beyond(&[8, 9]) && !given.is_beyond(&[5]));
/// ```
///
/// ```should_panic
/// mintage_testing::Runs::of("orders").extend([1, 2, 1]);
/// ```
#[derive(Clone, Debug)]
pub struct Runs {
    what: String,
    /// By the first number of each the last one.
    runs: BTreeMap<i64, i64>,
    count: u64,
}

impl Runs {
    /// Nothing yet; `what` names it where something comes twice.
    pub fn of(what: impl Display) -> Runs {
        Runs {
            what: what.to_string(),
            runs: BTreeMap::new(),
            count: 0,
        }
    }

    /// Takes in all of these.
    ///
    /// # Panics
    /// When one was there already.
    #[track_caller]
    pub fn extend(&mut self, numbers: impl IntoIterator<Item = i64>) {
        for number in numbers {
            self.add(number);
        }
    }

    #[track_caller]
    fn add(&mut self, number: i64) {
        let below = self.runs.range(..=number).next_back();
        let below = below.map(|(first, last)| (*first, *last));
        if below.is_some_and(|(_, last)| last >= number) {
            violated(format_args!("{}: {number} was given out twice", self.what));
        }
        let joined = below.filter(|(_, last)| last.checked_add(1) == Some(number));
        let first = joined.map_or(number, |(first, _)| first);
        let above = number.checked_add(1).and_then(|next| self.runs.remove(&next));
        self.runs.insert(first, above.unwrap_or(number));
        self.count += 1;
    }

    /// How many numbers there are.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// How many runs they are.
    pub fn runs(&self) -> usize {
        self.runs.len()
    }

    /// Whether all of these lie on one side of all that was given out.
    pub fn is_beyond(&self, numbers: &[i64]) -> bool {
        let ends = self.runs.first_key_value().zip(self.runs.last_key_value());
        let Some(((lowest, _), (_, highest))) = ends else {
            return true;
        };
        numbers.iter().all(|number| number > highest) || numbers.iter().all(|number| number < lowest)
    }
}
