//! Values to give to the packs, with the answers of the library.

use mintage::{GregorianTicks, Timestamp, Uuid};

use crate::random::Random;

/// The instants where calendars and counters turn, in microseconds since 1970; all fit a version 1 uuid.
pub fn turning_points() -> Vec<i64> {
    let first = micros(GregorianTicks::MIN.time());
    let last = micros(GregorianTicks::MAX.time());
    let mut points = vec![first, last];
    let days = [
        (1582, 10, 16),
        (1600, 2, 29),
        (1677, 9, 21), // where 64-bit nanoseconds begin
        (1700, 3, 1),
        (1752, 9, 14),
        (1899, 12, 31),
        (1900, 3, 1),
        (1969, 12, 31),
        (1970, 1, 1),
        (1999, 12, 31),
        (2000, 1, 1),
        (2000, 2, 29),
        (2024, 2, 29),
        (2038, 1, 19),
        (2106, 2, 7),
        (2262, 4, 11), // where they end
        (4764, 2, 29),
        (5236, 3, 31),
    ];
    for (year, month, day) in days {
        let midnight = days_since_1970(year, month, day) * 86_400_000_000;
        points.extend([
            midnight - 1,
            midnight,
            midnight + 1,
            midnight + 11_655_321_837,
            midnight + 76_859_999_999,
        ]);
    }
    points.retain(|us| (first..=last).contains(us));
    points
}

/// So many instants anywhere in the range of version 1.
pub fn anywhere(random: &mut Random, count: usize) -> Vec<i64> {
    let first = micros(GregorianTicks::MIN.time());
    let span = (micros(GregorianTicks::MAX.time()) - first) as u64;
    (0..count)
        .map(|_| first + random.below(span + 1) as i64)
        .collect()
}

/// Whole microseconds since 1970, rounded down.
pub fn micros(time: Timestamp) -> i64 {
    i64::try_from(time.unix_nanos().div_euclid(1000)).expect("a uuid's time fits")
}

/// The instant so many microseconds since 1970.
pub fn instant(micros: i64) -> Timestamp {
    Timestamp::from_unix_nanos(i128::from(micros) * 1000)
}

/// `2022-02-22 19:22:22.000000`, in UTC, as both databases read it.
pub fn datetime(micros: i64) -> String {
    let (days, of_day) = (
        micros.div_euclid(86_400_000_000),
        micros.rem_euclid(86_400_000_000),
    );
    let (year, month, day) = date(days);
    let (seconds, fraction) = (of_day / 1_000_000, of_day % 1_000_000);
    format!(
        "{year:04}-{month:02}-{day:02} {:02}:{:02}:{:02}.{fraction:06}",
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60
    )
}

/// Days from 1970-01-01 to a date of the proleptic Gregorian calendar (Howard Hinnant, "chrono-compatible low-level
/// date algorithms").
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// The date so many days after 1970-01-01.
fn date(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted = (5 * of_year + 2) / 153;
    let (day, month) = (of_year - (153 * shifted + 2) / 5 + 1, (shifted + 2) % 12 + 1);
    (era * 400 + year + i64::from(month <= 2), month, day)
}

/// Any 128 bits.
pub fn any_uuid(random: &mut Random) -> Uuid {
    Uuid::from_bytes(std::array::from_fn(|_| random.below(256) as u8))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_and_days_are_inverse() {
        for day in (-800_000..1_500_000).step_by(97) {
            let (year, month, of_month) = date(day);
            assert_eq!(days_since_1970(year, month, of_month), day);
        }
        assert_eq!(datetime(-1), "1969-12-31 23:59:59.999999");
        assert_eq!(datetime(1_645_557_742_000_000), "2022-02-22 19:22:22.000000");
    }
}
