//! Dates of the years 1 to 9999 as numbers of days.

use alloc::string::{String, ToString};

use super::error::SeriesError;
use crate::calendar::Date;

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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn dates_read_back_and_are_in_order(day in DAYS_FROM_YEAR_1..DAYS_TO_YEAR_9999) {
            let (date, next) = (date_of(day).expect("in range"), date_of(day + 1).expect("in range"));
            prop_assert_eq!(day_of_date(&date), Ok(day));
            prop_assert!(date < next);
        }

        #[test]
        fn no_text_makes_the_reader_panic(text in "\\PC{0,20}") {
            let _ = day_of_date(&text);
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
