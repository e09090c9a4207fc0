//! Generated series: the numbers from one bound to another, with MariaDB's names and rules.
//!
//! A descending series is the ascending one *reversed*: `seq_15_to_1_step_3` is 13 10 7 4 1 and begins not at
//! 15 (recorded on MariaDB 10.11, engine SEQUENCE). There is no empty series.

use alloc::collections::BTreeSet;
use alloc::string::{String, ToString};
use core::fmt;

use crate::calendar::Date;

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

/// Why a series was refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum SeriesError {
    /// The step is zero.
    ZeroStep,
    /// The name is not `seq_FROM_to_TO` or `seq_FROM_to_TO_step_N` with decimal numbers up to 2^64 - 1.
    Name,
    /// Letters are A to Z, at most 13 of them.
    Letters,
    /// A date is YYYY-MM-DD in the years 1 to 9999, and the day exists.
    Date,
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
        let (from, to, step) = (bound(from), bound(to), i128::from(step));
        let way = (to - from).abs();
        let steps = way / step;
        let (first, step) = if from <= to || steps == 0 {
            (from, step)
        } else {
            (to + steps * step, -step)
        };
        Ok(Series {
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
        let (low, high) = if self.step > 0 {
            (self.first, self.last())
        } else {
            (self.last(), self.first)
        };
        low <= number && number <= high && (number - low) % self.step == 0
    }

    /// The numbers in order.
    pub fn iter(&self) -> impl Iterator<Item = i128> + use<> {
        let Series { first, step, count } = *self;
        (0..count).map(move |i| first + step * i as i128)
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

/// The letters of a number, as spreadsheets count columns: 1 is A, 26 is Z, 27 is AA; nothing for 0.
///
/// ```
/// assert_eq!(mintage::letters_of(28), "AB");
/// assert_eq!(mintage::number_of_letters("AB"), Ok(28));
/// ```
pub fn letters_of(mut number: u64) -> String {
    let mut reversed = alloc::vec::Vec::new();
    while number > 0 {
        number -= 1;
        reversed.push(b'A' + (number % 26) as u8);
        number /= 26;
    }
    reversed.iter().rev().map(|byte| char::from(*byte)).collect()
}

/// The number of letters of either case: the reverse of [`letters_of`].
///
/// # Errors
/// No letters, other characters, or more than 13 of them.
pub fn number_of_letters(letters: &str) -> Result<u64, SeriesError> {
    if letters.is_empty() || letters.len() > 13 {
        return Err(SeriesError::Letters);
    }
    letters
        .bytes()
        .try_fold(0, |number: u64, byte| match byte.to_ascii_uppercase() {
            // 13 letters stay below 27^13 < 2^62.
            letter @ b'A'..=b'Z' => Ok(number * 26 + u64::from(letter - b'A') + 1),
            _ => Err(SeriesError::Letters),
        })
}

/// The date of a day number: days since 1970-01-01 in the Gregorian calendar, years 1 to 9999.
///
/// # Errors
/// The day lies outside those years.
///
/// ```
/// assert_eq!(mintage::date_of(19_045).as_deref(), Ok("2022-02-22"));
/// assert_eq!(mintage::day_of_date("2022-02-22"), Ok(19_045));
/// ```
pub fn date_of(day: i64) -> Result<String, SeriesError> {
    if !(DAYS_FROM_YEAR_1..=DAYS_TO_YEAR_9999).contains(&day) {
        return Err(SeriesError::Date);
    }
    Ok(Date::from_day_number(day).to_string())
}

/// The day number of a date YYYY-MM-DD: the reverse of [`date_of`].
///
/// # Errors
/// Another form, a day that does not exist, or a year outside 1 to 9999.
pub fn day_of_date(date: &str) -> Result<i64, SeriesError> {
    // RFC 3339's full-date, and nothing that only reads like one: "+1" is a number to a parser.
    let is_shaped = date.bytes().enumerate().all(|(at, byte)| match at {
        4 | 7 => byte == b'-',
        _ => byte.is_ascii_digit(),
    });
    let day = (is_shaped && date.len() == 10)
        .then(|| {
            Date::new(
                date[..4].parse().ok()?,
                date[5..7].parse().ok()?,
                date[8..].parse().ok()?,
            )
        })
        .flatten()
        .map(Date::day_number);
    day.filter(|day| (DAYS_FROM_YEAR_1..=DAYS_TO_YEAR_9999).contains(day))
        .ok_or(SeriesError::Date)
}

/// 0001-01-01 and 9999-12-31.
const DAYS_FROM_YEAR_1: i64 = -719_162;
const DAYS_TO_YEAR_9999: i64 = 2_932_896;

impl fmt::Display for SeriesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ZeroStep => "a series needs a step of at least 1",
            Self::Name => "a series is named seq_FROM_to_TO or seq_FROM_to_TO_step_N, all decimal numbers",
            Self::Letters => "letters are A to Z, at most 13 of them",
            Self::Date => "a date is YYYY-MM-DD, years 0001 to 9999, and the day must exist",
        })
    }
}

impl core::error::Error for SeriesError {}

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
            prop_assert_eq!(series.contains(number), series.iter().any(|n| n == number));
        }

        #[test]
        fn letters_read_back(number in any::<u32>()) {
            prop_assert_eq!(number_of_letters(&letters_of(u64::from(number) + 1)), Ok(u64::from(number) + 1));
        }

        #[test]
        fn dates_read_back_and_are_in_order(day in DAYS_FROM_YEAR_1..DAYS_TO_YEAR_9999) {
            let (date, next) = (date_of(day).expect("in range"), date_of(day + 1).expect("in range"));
            prop_assert_eq!(day_of_date(&date), Ok(day));
            prop_assert!(date < next);
        }

        #[test]
        fn no_text_makes_a_reader_panic(text in "\\PC{0,20}") {
            let _ = text.parse::<Series>();
            let _ = day_of_date(&text);
            let _ = number_of_letters(&text);
        }
    }

    #[test]
    fn days_that_do_not_exist_are_refused() {
        for date in [
            "2023-02-29",
            "1900-02-29",
            "2022-13-01",
            "2022-00-01",
            "2022-04-31",
            "0000-01-01",
            "2022-2-02",
            "2022/02/02",
            "2022-02-02Z",
        ] {
            assert_eq!(day_of_date(date), Err(SeriesError::Date), "{date}");
        }
        for (date, day) in [
            ("0001-01-01", DAYS_FROM_YEAR_1),
            ("9999-12-31", DAYS_TO_YEAR_9999),
            ("1970-01-01", 0),
            ("2000-02-29", 11_016),
        ] {
            assert_eq!(day_of_date(date), Ok(day));
        }
        assert!(date_of(DAYS_TO_YEAR_9999 + 1).is_err());
        assert!(date_of(i64::MIN).is_err());
    }
}
