//! A series whose bounds, step and values are text: what a command or a request asks for.

use alloc::vec::Vec;

use super::dates::date_of;
use super::error::SeriesError;
use super::forms::{Bound, DAY_NANOS, SeriesForm};
use super::letters::letters_of;
use super::moments::{Moment, digits_of};
use super::months::{Months, Span};
use super::numbers::Series;
use super::step::Step;

/// A series of numbers, letters, dates or times, made of what a person wrote.
///
/// Nothing of it is held in memory: a value is reckoned from its place, and a place from its value, whatever the length.
///
/// - A series whose second bound is less is the rising one **reversed**; with a negative step it begins at the first
///   bound and goes down.
/// - Months and years are those of the calendar, counted from the first value: a day that its month lacks becomes the
///   last of the month.
/// - Letters are capitals, unless both bounds are written small.
/// - Times are written at the offset of the first bound, and its clock is what months and years leave as it is. Offsets
///   are fixed: there is no summer time.
///
/// ```
/// use mintage::TextSeries;
/// let all = |series: TextSeries| -> Vec<String> {
///     (0..series.count()).map(|place| series.text(place)).collect()
/// };
/// assert_eq!(all(TextSeries::new("Y", "AB", None, None)?), ["Y", "Z", "AA", "AB"]);
/// assert_eq!(
///     all(TextSeries::new("2024-01-31", "2024-03-31", Some("1mo"), None)?),
///     ["2024-01-31", "2024-02-29", "2024-03-31"]
/// );
/// assert_eq!(
///     all(TextSeries::new("2026-01-01T22:00:00+01:00", "2026-01-02T00:00:00+01:00", Some("1h"), None)?),
///     ["2026-01-01T22:00:00+01:00", "2026-01-01T23:00:00+01:00", "2026-01-02T00:00:00+01:00"]
/// );
/// # Ok::<(), mintage::SeriesError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TextSeries {
    form: SeriesForm,
    values: Values,
    /// Where times are written.
    east_seconds: i32,
    /// Digits after the second of times.
    digits: usize,
    /// Whether letters are written small, as both bounds were.
    small: bool,
}

/// The values as numbers, as [`SeriesForm::read`] counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Values {
    Even(Series),
    Months(Months),
}

impl TextSeries {
    /// The series from one bound to the other. Its form is that of the bounds unless `form` says otherwise: numbers can
    /// be written as letters and letters as numbers, and dates as the times of their midnight in UTC.
    ///
    /// # Errors
    /// What is wrong with which text.
    pub fn new(
        from: &str,
        to: &str,
        step: Option<&str>,
        form: Option<SeriesForm>,
    ) -> Result<Self, SeriesError> {
        let bounds = (Bound::read(from)?, Bound::read(to)?);
        // A date and a time are two times; nothing else goes together.
        let common = match (bounds.0.form, bounds.1.form) {
            (a, b) if a == b => Some(a),
            (SeriesForm::Date, SeriesForm::Time) | (SeriesForm::Time, SeriesForm::Date) => {
                Some(SeriesForm::Time)
            }
            _ => None,
        };
        let form = common.map_or(SeriesForm::Number, |common| form.unwrap_or(common));
        let written = common.and_then(|_| Some((bounds.0.written_as(form)?, bounds.1.written_as(form)?)));
        let Some((first, last)) = written else {
            return Err(SeriesError::Bounds {
                from: from.into(),
                to: to.into(),
            });
        };
        let first = first.check()?;
        // Written where the first one is.
        let last = Bound {
            east_seconds: first.east_seconds,
            ..last
        }
        .check()?;
        let read = Step::read(step, form)?;
        let unit = if form == SeriesForm::Time { DAY_NANOS } else { 1 };
        let values = match read {
            Step::Even(step) => Series::between(first.value, last.value, step).map(Values::Even),
            Step::Months(step) => {
                let east = i128::from(first.east_seconds) * (DAY_NANOS / 86_400);
                let (from, to) = (first.value, last.value);
                Months::between(Span { from, to, unit, east }, step).map(Values::Months)
            }
        };
        let values = values.ok_or_else(|| SeriesError::Away {
            step: step.unwrap_or_default().into(),
            from: from.into(),
            to: to.into(),
        })?;
        let is_small = |bound: &str| bound.bytes().all(|byte| byte.is_ascii_lowercase());
        Ok(TextSeries {
            small: is_small(from) && is_small(to),
            ..TextSeries::of(form, values, first.east_seconds)
        })
    }

    /// The series of a name of MariaDB's.
    ///
    /// # Errors
    /// It is no such name, or its numbers cannot be written so.
    ///
    /// ```
    /// use mintage::{SeriesForm, TextSeries};
    /// let series = TextSeries::named("seq_15_to_1_step_3", None)?;
    /// assert_eq!((series.text(0), series.count()), ("13".into(), 5));
    /// let refused = TextSeries::named("seq_1_to_5", Some(SeriesForm::Date)).unwrap_err();
    /// assert_eq!(refused.to_string(), "1 and 5 are not bounds of one such series");
    /// # Ok::<(), mintage::SeriesError>(())
    /// ```
    pub fn named(name: &str, form: Option<SeriesForm>) -> Result<Self, SeriesError> {
        let series: Series = name.parse()?;
        let form = form.unwrap_or(SeriesForm::Number);
        for value in [series.first(), series.last()] {
            let bound = Bound {
                form: SeriesForm::Number,
                value,
                east_seconds: 0,
            };
            let written = bound.written_as(form).ok_or_else(|| SeriesError::Bounds {
                from: alloc::format!("{}", series.first()),
                to: alloc::format!("{}", series.last()),
            })?;
            written.check()?;
        }
        Ok(TextSeries::of(form, Values::Even(series), 0))
    }

    fn of(form: SeriesForm, values: Values, east_seconds: i32) -> Self {
        let mut series = TextSeries {
            form,
            values,
            east_seconds,
            digits: 0,
            small: false,
        };
        if form == SeriesForm::Time {
            // All values have as many digits as the first two need, so that they sort as texts.
            let first = [0, 1].into_iter().filter(|place| *place < series.count());
            series.digits = first
                .map(|place| digits_of(series.value(place)))
                .max()
                .unwrap_or(0);
        }
        series
    }

    /// What its values are.
    pub const fn form(&self) -> SeriesForm {
        self.form
    }

    /// How many values: at least one.
    pub const fn count(&self) -> u128 {
        match &self.values {
            Values::Even(series) => series.count(),
            Values::Months(months) => months.count(),
        }
    }

    /// The numbers of a series that is of numbers.
    pub const fn numbers(&self) -> Option<Series> {
        match (self.form, self.values) {
            (SeriesForm::Number, Values::Even(series)) => Some(series),
            _ => None,
        }
    }

    /// The value at a place, counted from 0.
    ///
    /// # Panics
    /// There are not as many.
    pub fn text(&self, place: u128) -> alloc::string::String {
        let mut text = Vec::new();
        self.write(place, &mut text);
        alloc::string::String::from_utf8(text).expect("digits, letters and marks")
    }

    /// Appends the value at a place, counted from 0.
    ///
    /// # Panics
    /// There are not as many.
    pub fn write(&self, place: u128, out: &mut Vec<u8>) {
        let value = self.value(place);
        match self.form {
            SeriesForm::Number => out.extend_from_slice(alloc::format!("{value}").as_bytes()),
            SeriesForm::Letter => {
                let number = u64::try_from(value).expect("the bounds were checked");
                let begin = out.len();
                out.extend_from_slice(letters_of(number).as_bytes());
                if self.small {
                    out[begin..].make_ascii_lowercase();
                }
            }
            SeriesForm::Date => {
                let date = i64::try_from(value).ok().and_then(|day| date_of(day).ok());
                out.extend_from_slice(date.expect("the bounds were checked").as_bytes());
            }
            SeriesForm::Time => {
                let moment = Moment {
                    nanos: value,
                    east_seconds: self.east_seconds,
                };
                moment.write(self.digits, out);
            }
        }
    }

    /// The place of a value, counted from 0; `None`: it is not in the series.
    ///
    /// # Errors
    /// The text is not of the form.
    ///
    /// ```
    /// let hours = mintage::TextSeries::new("2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z", Some("1h"), None)?;
    /// assert_eq!(hours.place_of("2026-01-01 03:00:00Z"), Ok(Some(3)));
    /// assert_eq!(hours.place_of("2026-01-01T05:00:00+02:00"), Ok(Some(3)));
    /// assert_eq!(hours.place_of("2026-01-01T03:00:01Z"), Ok(None));
    /// assert!(hours.place_of("three o'clock").is_err());
    /// # Ok::<(), mintage::SeriesError>(())
    /// ```
    pub fn place_of(&self, text: &str) -> Result<Option<u128>, SeriesError> {
        let value = self.form.read(text)?;
        Ok(match &self.values {
            Values::Even(series) => series.place_of(value),
            Values::Months(months) => months.place_of(value),
        })
    }

    fn value(&self, place: u128) -> i128 {
        match &self.values {
            Values::Even(series) => series.at(place),
            Values::Months(months) => months.at(place),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::string::String;
    use std::vec::Vec;

    use proptest::prelude::*;

    use super::*;

    fn all(series: &TextSeries) -> Vec<String> {
        (0..series.count()).map(|place| series.text(place)).collect()
    }

    /// Bounds, then the step where there is one.
    #[track_caller]
    fn check(asked: &str, form: Option<SeriesForm>, expected: &str) {
        let mut words = asked.split(' ');
        let (from, to) = (words.next().expect("a bound"), words.next().expect("a bound"));
        let series = TextSeries::new(from, to, words.next(), form).expect(asked);
        assert_eq!(all(&series).join(" "), expected, "{asked}");
        for (place, text) in all(&series).iter().enumerate() {
            assert_eq!(series.place_of(text), Ok(Some(place as u128)), "{asked}: {text}");
        }
    }

    #[track_caller]
    fn check_refused(asked: &str, form: Option<SeriesForm>, says: &str) {
        let mut words = asked.split(' ');
        let (from, to) = (words.next().expect("a bound"), words.next().expect("a bound"));
        let refused = TextSeries::new(from, to, words.next(), form).expect_err(asked);
        assert!(alloc::format!("{refused}").contains(says), "{asked}: {refused}");
    }

    #[test]
    fn numbers_and_letters_go_up_and_down() {
        check("1 15 3", None, "1 4 7 10 13");
        check("15 1 3", None, "13 10 7 4 1");
        check("15 1 -3", None, "15 12 9 6 3");
        check("-2 2", None, "-2 -1 0 1 2");
        check("Y AB", None, "Y Z AA AB");
        check("y ab", None, "y z aa ab");
        check("y AB", None, "Y Z AA AB");
        check("25 28", Some(SeriesForm::Letter), "Y Z AA AB");
        check("Y AB", Some(SeriesForm::Number), "25 26 27 28");
    }

    #[test]
    fn dates_step_by_days_weeks_months_and_years() {
        check(
            "2024-02-27 2024-03-01",
            None,
            "2024-02-27 2024-02-28 2024-02-29 2024-03-01",
        );
        check(
            "2026-01-01 2026-01-20 1w",
            None,
            "2026-01-01 2026-01-08 2026-01-15",
        );
        check(
            "2026-01-01 2026-01-05 48h",
            None,
            "2026-01-01 2026-01-03 2026-01-05",
        );
        // The last day of the month, without staying at the 28th.
        check(
            "2025-12-31 2026-04-30 1mo",
            None,
            "2025-12-31 2026-01-31 2026-02-28 2026-03-31 2026-04-30",
        );
        check(
            "2025-12-31 2026-04-29 1mo",
            None,
            "2025-12-31 2026-01-31 2026-02-28 2026-03-31",
        );
        check(
            "2024-02-29 2028-03-01 1y",
            None,
            "2024-02-29 2025-02-28 2026-02-28 2027-02-28 2028-02-29",
        );
        check("2024-01-31 2025-07-31 1y6mo", None, "2024-01-31 2025-07-31");
        // Down: the rising one reversed, or from the first bound.
        check(
            "2026-03-31 2026-01-15 1mo",
            None,
            "2026-03-15 2026-02-15 2026-01-15",
        );
        check(
            "2026-03-31 2026-01-15 -1mo",
            None,
            "2026-03-31 2026-02-28 2026-01-31",
        );
        check("2026-03-31 2026-01-15 -1y", None, "2026-03-31");
        check("2026-03-31 2026-01-15 1y", None, "2026-03-31");
        check("2026-03-31 2026-03-31 -1mo", None, "2026-03-31");
        check("0001-01-31 9999-12-31 9999y", None, "0001-01-31");
    }

    #[test]
    fn times_keep_the_clock_and_the_offset_of_the_first() {
        check(
            "2026-01-01T22:00:00+05:45 2026-01-02T00:00:00+05:45 1h",
            None,
            "2026-01-01T22:00:00+05:45 2026-01-01T23:00:00+05:45 2026-01-02T00:00:00+05:45",
        );
        check(
            "2026-01-01T00:00:00-03:30 2026-01-01T05:30:00Z 1h",
            None,
            "2026-01-01T00:00:00-03:30 2026-01-01T01:00:00-03:30 2026-01-01T02:00:00-03:30",
        );
        check(
            "2026-01-01 2026-01-02 12h",
            Some(SeriesForm::Time),
            "2026-01-01T00:00:00Z 2026-01-01T12:00:00Z 2026-01-02T00:00:00Z",
        );
        // 31 January there is still 30 January in UTC.
        check(
            "2026-01-31T01:00:00+02:00 2026-03-31T01:00:00+02:00 1mo",
            None,
            "2026-01-31T01:00:00+02:00 2026-02-28T01:00:00+02:00 2026-03-31T01:00:00+02:00",
        );
        check(
            "2026-03-31T12:00:00Z 2026-01-31T12:00:00Z -1mo",
            None,
            "2026-03-31T12:00:00Z 2026-02-28T12:00:00Z 2026-01-31T12:00:00Z",
        );
        check(
            "2024-02-28T23:59:59.5Z 2024-03-01T00:00:00Z 1d",
            None,
            "2024-02-28T23:59:59.5Z 2024-02-29T23:59:59.5Z",
        );
        check(
            "2026-01-01T00:00:01Z 2026-01-01T00:00:00Z -500ms",
            None,
            "2026-01-01T00:00:01.0Z 2026-01-01T00:00:00.5Z 2026-01-01T00:00:00.0Z",
        );
        check(
            "@0 @90 30s",
            None,
            "1970-01-01T00:00:00Z 1970-01-01T00:00:30Z 1970-01-01T00:01:00Z 1970-01-01T00:01:30Z",
        );
    }

    #[test]
    fn what_is_no_series_is_refused_in_words() {
        for (asked, says) in [
            ("1 5 0", "at least 1"),
            ("1 5 1h", "it takes a number"),
            ("1 5 -1", "lies above it"),
            ("1 18446744073709551616", "a 64-bit number"),
            ("1 2#3", "is not a bound"),
            ("1  3", "is not a bound"),
            ("A 5", "not bounds of one such series"),
            ("2026-01-01 5", "not bounds of one such series"),
            ("A AAAAAAAAAAAAAA", "at most 13"),
            ("2024-02-30 2024-03-01", "the day must exist"),
            ("2024-01-01 2024-03-01 1h", "ask for times"),
            (
                "2024-01-01 2024-03-01 1mo2d",
                "months and years stand without others",
            ),
            ("2024-01-01 2024-03-01 0mo", "at least 1"),
            ("2024-01-01 2024-03-01 -1mo", "lies above it"),
            (
                "2024-01-01T00:00:00Z 2024-03-01T00:00:00Z",
                "needs a step with its unit",
            ),
            (
                "2024-01-01T00:00:00Z 2024-03-01T00:00:00Z 5",
                "it takes units as 1h",
            ),
            (
                "2024-01-01T00:00:00Z 2024-03-01T00:00:00Z 1mo1h",
                "months and years stand without others",
            ),
            ("2024-01-01T00:00:00 2024-03-01T00:00:00Z 1h", "no time zone"),
            (
                "2024-02-30T00:00:00Z 2024-03-01T00:00:00Z 1h",
                "day that does not exist",
            ),
            ("2016-12-31T23:59:60Z 2017-03-01T00:00:00Z 1h", "leap second"),
            ("@99999999999999 @0 1h", "the years 0001 to 9999"),
            (
                "9999-12-31T23:00:00Z +10000-01-01T00:00:00Z 1h",
                "the years 0001 to 9999",
            ),
            // Where the first one is written the other lies in the year 10000.
            (
                "9999-12-31T23:00:00+02:00 9999-12-31T23:00:00Z 1h",
                "the years 0001 to 9999",
            ),
        ] {
            check_refused(asked, None, says);
        }
        check_refused("0 3", Some(SeriesForm::Letter), "0 has no letters: 1 is A");
        check_refused(
            "2024-01-01T00:00:00Z @0",
            Some(SeriesForm::Date),
            "not bounds of one such series",
        );
        check_refused("1 2", Some(SeriesForm::Time), "not bounds of one such series");
    }

    #[test]
    fn nothing_is_counted_that_is_not_asked_for() {
        let long = TextSeries::new("0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", Some("1ns"), None)
            .expect("a series");
        assert!(long.count() > 1 << 65);
        assert_eq!(long.text(long.count() - 1), "9999-12-31T23:59:59.000000000Z");
    }

    proptest! {
        #[test]
        fn months_are_those_of_the_calendar(
            from in -719_162i64..2_932_896, days in -80_000i64..80_000, step in -30i64..30, east in -1439i32..1440
        ) {
            prop_assume!(step != 0 && (days <= 0 || step > 0));
            let minutes = east.rem_euclid(60);
            let at = |day: i64| {
                let day = day.clamp(-719_000, 2_932_000);
                alloc::format!("{}T10:00:00{}{:02}:{minutes:02}", date_of(day).expect("in range"),
                    if east < 0 { '-' } else { '+' }, (east / 60).abs())
            };
            let (first, last) = (at(from), at(from + days));
            let series = TextSeries::new(&first, &last, Some(&alloc::format!("{step}mo")), None);
            let Ok(series) = series else {
                prop_assert!(step < 0, "{first} {last} {step}");
                return Ok(());
            };
            let values: Vec<i128> = (0..series.count()).map(|place| series.value(place)).collect();
            let is_down = step < 0 || last < first;
            prop_assert!(values.windows(2).all(|two| (two[1] < two[0]) == is_down && two[1] != two[0]));
            let (first, last) = (series.form.read(&first).expect("read"), series.form.read(&last).expect("read"));
            prop_assert!(values.iter().all(|value| (first.min(last)..=first.max(last)).contains(value)));
            for (place, value) in values.iter().enumerate() {
                prop_assert_eq!(series.place_of(&series.text(place as u128)), Ok(Some(place as u128)));
                prop_assert_eq!(series.value(place as u128), *value);
            }
        }

        #[test]
        fn no_text_makes_a_reader_panic(
            from in "\\PC{0,12}|[0-9T:Z+.@-]{1,26}", to in "\\PC{0,12}|[0-9T:Z+.@-]{1,26}", step in "-?[0-9]{0,22}[a-z]{0,2}"
        ) {
            for form in [None, Some(SeriesForm::Time), Some(SeriesForm::Letter)] {
                if let Ok(series) = TextSeries::new(&from, &to, Some(&step), form) {
                    let last = series.count() - 1;
                    prop_assert_eq!(series.place_of(&series.text(last)), Ok(Some(last)));
                    let _ = series.place_of(&step);
                }
            }
        }
    }
}
