//! The `Date` of answers (RFC 9110 section 5.6.7), written once a second.

use std::cell::RefCell;
use std::time::Duration;

use mintage::{Clock, Date};

use crate::service::Door;

thread_local! {
    /// When its second ends, in boot time, and the date.
    static LAST: RefCell<(Duration, String)> = const { RefCell::new((Duration::ZERO, String::new())) };
}

/// Hands over the date of `now`, in boot time, such as `Sun, 06 Nov 1994 08:49:37 GMT`: one reading of a clock serves all
/// answers of a turn.
pub(crate) fn with<R>(thread: &Door, now: Duration, use_it: impl FnOnce(&str) -> R) -> R {
    LAST.with_borrow_mut(|(ends, text)| {
        if now >= *ends {
            let nanos = thread.service().ledger().clock().now().unix_nanos();
            let left = NANOS - nanos.rem_euclid(NANOS);
            *ends = mintage::boottime() + Duration::from_nanos(left as u64);
            *text = format(nanos.div_euclid(NANOS));
        }
        use_it(text)
    })
}

const NANOS: i128 = 1_000_000_000;

fn format(second: i128) -> String {
    let day_number = second.div_euclid(86_400) as i64;
    let date = Date::from_day_number(day_number);
    // 1970-01-01 was a Thursday.
    let weekday = WEEKDAYS[(day_number + 4).rem_euclid(7) as usize];
    let month = MONTHS[usize::from(date.month()) - 1];
    let (year, day) = (date.year(), date.day());
    let (hour, minute, second) = (
        second.rem_euclid(86_400) / 3600,
        second.rem_euclid(3600) / 60,
        second.rem_euclid(60),
    );
    format!("{weekday}, {day:02} {month} {year:04} {hour:02}:{minute:02}:{second:02} GMT")
}

const WEEKDAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_written_as_the_standard_shows() {
        assert_eq!(format(784_111_777), "Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(format(0), "Thu, 01 Jan 1970 00:00:00 GMT");
        assert_eq!(format(951_868_799), "Tue, 29 Feb 2000 23:59:59 GMT");
    }
}
