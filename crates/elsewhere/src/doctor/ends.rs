//! Where a counter ends, and when.

use std::time::Duration;

use super::pace::Pace;
use crate::source::Counter;

/// JavaScript and whoever else keeps numbers as doubles rounds them from there on.
const DOUBLE: i128 = 1 << 53;

/// What the range of a double is called.
const DOUBLE_NAME: &str = "2^53";

/// What lies further ahead is no forecast: a thousand years.
const FAR_S: f64 = 1000.0 * 365.25 * 24.0 * 3600.0;

/// A number that a counter cannot pass, or should not.
#[derive(Clone, PartialEq, Debug)]
pub struct End {
    /// What ends: a type in the source's words, `max`, `min`, or `2^53`.
    pub limit: String,
    /// The column, if it is that which ends.
    pub column: Option<String>,
    /// The last number.
    pub last: i128,
    /// How much of the way there is behind the counter, from 0 to 1.
    pub used: f64,
    /// How long it lasts at the seen pace; `None`: no pace is known, it stands still, or it lasts a thousand years.
    pub left: Option<Duration>,
}

impl End {
    /// Whether it only rounds, and nothing is refused there.
    pub fn is_of_doubles(&self) -> bool {
        self.limit == DOUBLE_NAME
    }

    /// Whether nothing is left.
    pub fn is_reached(&self) -> bool {
        self.used >= 1.0
    }
}

/// Every end that lies ahead of a counter, the nearest first. None of one that is moved: its fence is its bound.
pub(super) fn ends(counter: &Counter, pace: Option<Pace>) -> Vec<End> {
    let Some(mark) = counter.mark else {
        return Vec::new();
    };
    let ascends = counter.increment >= 0;
    let mut limits: Vec<(String, Option<String>, i128)> = Vec::new();
    for column in &counter.columns {
        let last = if ascends { column.max } else { column.min };
        let name = format!("{}.{}", column.table, column.column);
        limits.push((plain_type(&column.type_name), Some(name), last));
    }
    // One that begins again does not end at its own bound.
    if !counter.cycle {
        let last = if ascends { counter.max } else { counter.min };
        limits.push((bound_name(counter, last), None, last));
    }
    let way = |last: i128| match ascends {
        true => last.saturating_sub(mark),
        false => mark.saturating_sub(last),
    };
    // Whoever has passed 2^53 long ago means to, and so does whoever ends before.
    let double = if ascends { DOUBLE } else { -DOUBLE };
    if way(double) >= 0 && limits.iter().all(|(.., last)| way(*last) > way(double)) {
        limits.push((DOUBLE_NAME.to_string(), None, double));
    }
    // Of several that end at one number the first is named: the column before the counter's own bound.
    limits.sort_by_key(|(.., last)| way(*last));
    limits.dedup_by_key(|(.., last)| *last);
    let end = |(limit, column, last): (String, Option<String>, i128)| End {
        used: used(counter, mark, last),
        left: left(way(last), pace),
        limit,
        column,
        last,
    };
    let mut ends: Vec<End> = limits.into_iter().map(end).collect();
    ends.shrink_to_fit();
    ends
}

/// What the counter's own bound is called: its type's name where the bound is the type's.
fn bound_name(counter: &Counter, last: i128) -> String {
    let is_whole = [8, 16, 24, 32, 64].iter().any(|bits: &u32| {
        let half = 1i128 << (bits - 1);
        last == half - 1 || last == -half || last == half * 2 - 1
    });
    let is_named = counter.type_name.contains("int");
    match (is_whole, is_named, counter.increment >= 0) {
        (true, true, _) => plain_type(&counter.type_name),
        // A text that holds a number, as in Redis.
        (true, false, _) if !counter.type_name.is_empty() => "64 bits".to_string(),
        (.., true) => "max".to_string(),
        (.., false) => "min".to_string(),
    }
}

/// A type without its display width, which limits nothing.
///
/// ```
/// use mintage_elsewhere::doctor::plain_type;
/// assert_eq!(plain_type("int(11) unsigned"), "int unsigned");
/// ```
pub fn plain_type(type_name: &str) -> String {
    match (type_name.find('('), type_name.find(')')) {
        (Some(from), Some(to)) if from < to => format!("{}{}", &type_name[..from], &type_name[to + 1..]),
        _ => type_name.to_string(),
    }
}

/// How much of the way from the counter's first number to its last one lies behind it.
fn used(counter: &Counter, mark: i128, last: i128) -> f64 {
    let (whole, behind) = match counter.increment >= 0 {
        true => {
            let first = counter.min.min(mark);
            (
                last.saturating_sub(first).saturating_add(1),
                mark.saturating_sub(first),
            )
        }
        false => {
            let first = counter.max.max(mark);
            (
                first.saturating_sub(last).saturating_add(1),
                first.saturating_sub(mark),
            )
        }
    };
    match whole > 0 {
        true => (behind as f64 / whole as f64).min(1.0),
        false => 1.0,
    }
}

fn left(way: i128, pace: Option<Pace>) -> Option<Duration> {
    if way < 0 {
        return Some(Duration::ZERO);
    }
    let pace = pace?.distance_per_s;
    let seconds = way as f64 / pace;
    (pace > 0.0 && seconds < FAR_S).then(|| Duration::from_secs_f64(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::{ColumnUse, How};

    fn column(type_name: &str, max: i128) -> ColumnUse {
        ColumnUse {
            table: "public.t".into(),
            column: "id".into(),
            type_name: type_name.into(),
            min: -max - 1,
            max,
            highest: None,
            unique: true,
            how: How::Owned,
        }
    }

    fn pace(distance_per_s: f64) -> Option<Pace> {
        Some(Pace {
            distance_per_s,
            per_s: distance_per_s,
            over: Duration::from_secs(60),
        })
    }

    fn counter(mark: i128) -> Counter {
        Counter {
            mark: Some(mark),
            type_name: "int8".into(),
            ..Counter::new("postgres", "s")
        }
    }

    fn names(counter: &Counter) -> Vec<(String, i128)> {
        let ends = ends(counter, None);
        ends.into_iter().map(|end| (end.limit, end.last)).collect()
    }

    const INT4: i128 = i32::MAX as i128;
    const INT8: i128 = i64::MAX as i128;

    #[test]
    fn the_nearest_comes_first_and_one_number_is_named_once() {
        let mut one = counter(5);
        assert_eq!(names(&one), [("2^53".into(), DOUBLE), ("int8".into(), INT8)]);
        one.columns = vec![column("int8", INT8), column("int4", INT4)];
        assert_eq!(names(&one), [("int4".into(), INT4), ("int8".into(), INT8)]);
        one.max = 1000;
        assert_eq!(names(&one)[0], ("max".into(), 1000));
        // A column's type before the counter's own.
        one.max = INT4;
        assert_eq!(ends(&one, None)[0].column.as_deref(), Some("public.t.id"));
    }

    #[test]
    fn one_that_begins_again_ends_with_its_column_only() {
        let mut one = counter(5);
        one.cycle = true;
        one.max = 1000;
        assert_eq!(names(&one), [("2^53".into(), DOUBLE)]);
        one.columns = vec![column("int4", INT4)];
        assert_eq!(names(&one), [("int4".into(), INT4)]);
    }

    #[test]
    fn doubles_end_only_for_who_still_fits_them() {
        assert_eq!(names(&counter(DOUBLE + 1)), [("int8".into(), INT8)]);
        assert_eq!(names(&counter(DOUBLE))[0].0, "2^53");
    }

    #[test]
    fn descending_counters_end_below() {
        let mut one = counter(-5);
        one.increment = -1;
        one.min = -1000;
        one.max = -1;
        let found = ends(&one, pace(5.0));
        assert_eq!((found[0].limit.as_str(), found[0].last), ("min", -1000));
        assert_eq!(found[0].left, Some(Duration::from_secs(199)));
        assert_eq!(found[0].used, 0.004);
    }

    #[test]
    fn what_is_left_is_time_at_a_pace_and_nothing_without() {
        let mut one = counter(901);
        one.max = 1000;
        let nearest = |pace| ends(&one, pace).remove(0);
        assert_eq!(nearest(pace(1.0)).left, Some(Duration::from_secs(99)));
        assert_eq!(nearest(pace(0.0)).left, None);
        assert_eq!(nearest(None).left, None);
        assert_eq!(nearest(None).used, 0.9);
        // A thousand years are no forecast.
        assert_eq!(nearest(pace(1e-12)).left, None);
        one.mark = Some(1001);
        let end = ends(&one, None).remove(0);
        assert!(end.is_reached() && end.left == Some(Duration::ZERO));
    }

    #[test]
    fn numbers_beyond_64_bits_are_counted() {
        let mut one = counter(i128::from(u64::MAX) - 9);
        one.max = u64::MAX.into();
        one.type_name = "bigint unsigned".into();
        let end = ends(&one, pace(1.0)).remove(0);
        assert_eq!(end.limit, "bigint unsigned");
        assert_eq!(end.left, Some(Duration::from_secs(9)));
        one.max = i128::MAX;
        one.min = i128::MIN;
        assert!(!ends(&one, pace(1.0)).is_empty());
    }

    #[test]
    fn bounds_are_called_as_people_call_them() {
        let mut one = counter(1);
        for (type_name, max, called) in [
            ("int8", INT8, "int8"),
            ("int4", INT4, "int4"),
            ("int8", 1000, "max"),
            ("int(11) unsigned", u32::MAX.into(), "int unsigned"),
            ("string", INT8, "64 bits"),
            ("22 bits", (1 << 22) - 1, "max"),
        ] {
            one.type_name = type_name.into();
            one.max = max;
            assert_eq!(bound_name(&one, max), called);
        }
    }

    #[test]
    fn one_that_cannot_be_read_ends_nowhere_known() {
        assert_eq!(ends(&Counter::new("postgres", "s"), None), []);
    }
}
