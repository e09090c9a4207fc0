//! Times and lengths of time as texts.

use std::time::Duration;

use mintage::{IdTime, Timestamp};

/// `1 ms`, `100 ns`, `4 s`: a length of time in its largest whole unit.
pub fn length(span: Duration) -> String {
    let nanos = span.as_nanos();
    let (unit, name) = [(1_000_000_000, "s"), (1_000_000, "ms"), (1000, "us"), (1, "ns")]
        .into_iter()
        .find(|(unit, _)| nanos.is_multiple_of(*unit))
        .unwrap_or((1, "ns"));
    match nanos / unit {
        count if count >= 100_000 => format!("{} s", span.as_secs_f64()),
        count => format!("{count} {name}"),
    }
}

/// A time in UTC with every digit that matters.
pub fn shown(at: Timestamp) -> String {
    let nanos = at.unix_nanos().rem_euclid(1_000_000_000);
    let digits = [(1_000_000_000, 0), (1_000_000, 3), (1000, 6), (100, 7)]
        .into_iter()
        .find(|(unit, _)| nanos % unit == 0)
        .map_or(9, |(_, digits)| digits);
    IdTime { at, digits }.to_string()
}
