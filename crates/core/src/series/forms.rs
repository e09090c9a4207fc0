//! What the values of a series are, and how a text shows which.

use super::dates::day_of_date;
use super::error::SeriesError;
use super::letters::number_of_letters;
use super::moments::{Moment, is_in_years};

/// What the values of a series are.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum SeriesForm {
    /// `27`.
    Number,
    /// `AA`, as spreadsheets name columns.
    Letter,
    /// `1970-01-28`.
    Date,
    /// `1970-01-28T00:00:00Z`.
    Time,
}

impl SeriesForm {
    /// Every form.
    pub const ALL: &[SeriesForm] = &[Self::Number, Self::Letter, Self::Date, Self::Time];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Number => "number",
            Self::Letter => "letter",
            Self::Date => "date",
            Self::Time => "time",
        }
    }

    /// The form called `name`.
    ///
    /// ```
    /// use mintage::SeriesForm;
    /// assert_eq!(SeriesForm::from_name("time"), Some(SeriesForm::Time));
    /// assert_eq!(SeriesForm::from_name("colour"), None);
    /// ```
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|form| form.name() == name)
    }

    /// A value of this form in words.
    pub const fn one(self) -> &'static str {
        match self {
            Self::Number => "a number",
            Self::Letter => "letters",
            Self::Date => "a date YYYY-MM-DD",
            Self::Time => "a time with its zone, as 2022-02-22T19:22:22Z",
        }
    }

    /// The form that a bound has.
    fn of(text: &str) -> Option<Self> {
        let digits = text.trim_start_matches('-');
        match text {
            _ if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) => Some(Self::Number),
            _ if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphabetic()) => {
                Some(Self::Letter)
            }
            _ if text.contains(':') || text.starts_with('@') => Some(Self::Time),
            _ if text.contains('-') => Some(Self::Date),
            _ => None,
        }
    }

    /// A value as a number: days of dates and nanoseconds of times are counted from 1970.
    pub(super) fn read(self, text: &str) -> Result<i128, SeriesError> {
        match self {
            Self::Number => {
                let number = text.parse().ok();
                let number = number.filter(|n| (i128::from(i64::MIN)..=i128::from(u64::MAX)).contains(n));
                number.ok_or_else(|| SeriesError::Bound(text.into()))
            }
            Self::Letter => number_of_letters(text).map(i128::from),
            Self::Date => day_of_date(text).map(i128::from),
            Self::Time => Moment::read(text).map(|moment| moment.nanos),
        }
    }
}

/// A bound as it was written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bound {
    pub(super) form: SeriesForm,
    /// As [`SeriesForm::read`] counts.
    pub(super) value: i128,
    /// Where it was written; 0 where that means nothing.
    pub(super) east_seconds: i32,
}

impl Bound {
    pub(super) fn read(text: &str) -> Result<Self, SeriesError> {
        let form = SeriesForm::of(text).ok_or_else(|| SeriesError::Bound(text.into()))?;
        let east_seconds = match form {
            SeriesForm::Time => Moment::read(text)?.east_seconds,
            _ => 0,
        };
        Ok(Bound {
            form,
            value: form.read(text)?,
            east_seconds,
        })
    }

    /// The same as a value of another form, if it has one: a date begins at midnight UTC.
    pub(super) fn written_as(self, form: SeriesForm) -> Option<Self> {
        use SeriesForm::{Date, Letter, Number, Time};
        let value = match (self.form, form) {
            (a, b) if a == b => self.value,
            // Numbers can be written as letters; a date is a date.
            (Number, Letter) | (Letter, Number) => self.value,
            (Date, Time) => self.value * DAY_NANOS,
            _ => return None,
        };
        Some(Bound { form, value, ..self })
    }

    /// Refuses a bound that its form cannot write.
    pub(super) fn check(self) -> Result<Self, SeriesError> {
        match self.form {
            SeriesForm::Letter if self.value < 1 => Err(SeriesError::NoLetters(self.value)),
            SeriesForm::Time if !is_in_years(self.value, self.east_seconds) => Err(SeriesError::Time(
                "times of a series lie in the years 0001 to 9999".into(),
            )),
            _ => Ok(self),
        }
    }
}

pub(super) const DAY_NANOS: i128 = 86_400_000_000_000;
