//! From one value of a series to the next, as people write it.

use super::error::SeriesError;
use super::forms::{DAY_NANOS, SeriesForm};
use crate::time_text::{nanos_of_span, sum_of_units};

/// From one value to the next; negative: from the first bound down. Never zero.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Step {
    /// In what the form counts: numbers, days, nanoseconds.
    Even(i128),
    Months(i64),
}

impl Step {
    /// The step of a series of this form; none is 1 where that means something.
    pub(super) fn read(text: Option<&str>, form: SeriesForm) -> Result<Self, SeriesError> {
        let Some(text) = text else {
            return match form {
                SeriesForm::Time => Err(SeriesError::NoStep),
                _ => Ok(Step::Even(1)),
            };
        };
        let refuse = |takes| SeriesError::Step {
            step: text.into(),
            takes,
        };
        let (sign, size) = match text.strip_prefix('-') {
            Some(size) => (-1, size),
            None => (1, text),
        };
        let plain: Option<u64> = size
            .bytes()
            .all(|byte| byte.is_ascii_digit())
            .then(|| size.parse().ok())
            .flatten();
        let months = || {
            let months = sum_of_units(size, |unit| match unit {
                "y" => Some(12),
                "mo" => Some(1),
                _ => None,
            });
            // More than there are between any two bounds is as good.
            months.map(|months| months.min(MONTHS_MAX) as i64)
        };
        let step = match form {
            SeriesForm::Number | SeriesForm::Letter => {
                Step::Even(plain.map(i128::from).ok_or_else(|| refuse("it takes a number"))?)
            }
            SeriesForm::Date => match (plain, months(), nanos_of_span(size)) {
                (Some(days), ..) => Step::Even(days.into()),
                (None, Some(months), _) => Step::Months(months),
                (None, None, Some(nanos)) if nanos % DAY_NANOS == 0 => Step::Even(nanos / DAY_NANOS),
                (None, None, Some(_)) => return Err(refuse(OF_TIMES)),
                _ => return Err(refuse(OF_DATES)),
            },
            SeriesForm::Time => match (months(), nanos_of_span(size)) {
                (Some(months), _) => Step::Months(months),
                (None, Some(nanos)) => Step::Even(nanos),
                (None, None) => return Err(refuse(OF_TIME)),
            },
        };
        match step {
            Step::Even(0) | Step::Months(0) => Err(SeriesError::ZeroStep),
            Step::Even(step) => Ok(Step::Even(sign * step)),
            Step::Months(step) => Ok(Step::Months(sign as i64 * step)),
        }
    }
}

/// 10,000 years.
const MONTHS_MAX: i128 = 120_000;

const OF_DATES: &str =
    "it takes a number of days, or units as 2w, 1mo, 1y6mo; months and years stand without others";
const OF_TIMES: &str = "dates are whole days apart; for hours and less ask for times (as time)";
const OF_TIME: &str =
    "it takes units as 1h, 1h30m, 1d, 2w, or 1mo, 1y; months and years stand without others";
