//! Values to give to the packs, with the answers of the library.

use mintage::{Date, GregorianTicks, PRESETS, Timestamp, Uuid};

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
        let midnight = Date::new(year, month, day).expect("a day").day_number() * 86_400_000_000;
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

/// A Snowflake and what it is made of.
#[derive(Debug)]
pub struct Flake {
    /// The preset.
    pub preset: &'static str,
    /// Its time, in microseconds since 1970.
    pub micros: i64,
    /// Who made it.
    pub worker: u64,
    /// Which of its time it is.
    pub sequence: u64,
    /// The id of these.
    pub id: u64,
}

/// So many Snowflakes of every preset, one of its first tick and one of the last that a signed number of 64 bits holds
/// among them.
///
/// # Panics
/// When a layout does not take its own fields.
pub fn snowflakes(random: &mut Random, each: usize) -> Vec<Flake> {
    let mut flakes = Vec::new();
    for preset in PRESETS {
        let layout = preset.layout();
        let below_2_63 = u64::MAX >> 1 >> (layout.bits() - layout.time_bits()).min(63);
        let last = layout.ticks_max().min(below_2_63);
        for at in 0..each {
            let tick = match at {
                0 => 0,
                1 => last,
                _ => random.below(last + 1),
            };
            let worker = random.below(layout.workers());
            let sequence = random.below(1 << layout.sequence_bits());
            flakes.push(Flake {
                preset: preset.name,
                micros: micros(layout.time_of(tick)),
                worker,
                sequence,
                id: layout.pack(tick, worker, sequence).expect("fits"),
            });
        }
    }
    flakes
}

/// Rows as `VALUES` takes them.
pub fn values(rows: &[Vec<String>]) -> String {
    let rows: Vec<String> = rows.iter().map(|row| format!("({})", row.join(","))).collect();
    rows.join(",\n")
}

/// Checks that a query had no rows, which are the differences between what the pack and the library say.
///
/// # Panics
/// When it had.
#[track_caller]
pub fn expect_none(differences: &[String]) {
    let many = differences.len();
    assert!(
        differences.is_empty(),
        "{many} differences, first: {:#?}",
        differences[0]
    );
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
    let text = format!("{:.6}", instant(micros));
    text.trim_start_matches('+')
        .trim_end_matches('Z')
        .replace('T', " ")
}

/// Any 128 bits.
pub fn any_uuid(random: &mut Random) -> Uuid {
    Uuid::from_bytes(std::array::from_fn(|_| random.below(256) as u8))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_written_as_databases_read_them() {
        assert_eq!(datetime(-1), "1969-12-31 23:59:59.999999");
        assert_eq!(datetime(1_645_557_742_000_000), "2022-02-22 19:22:22.000000");
        assert_eq!(datetime(281_474_976_710_655_000), "10889-08-02 05:31:50.655000");
    }
}
