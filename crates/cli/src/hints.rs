//! What the libraries advise, in the words of this command's options.

use std::borrow::Cow;

use mintage_bulk::{Hint, UnixUnit};

/// The line behind `hint:`.
pub(crate) fn words(hint: &Hint) -> Cow<'_, str> {
    let words = match hint {
        Hint::Advice(advice) => advice,
        Hint::TempFolder => "--temp names a folder with more room",
        Hint::TempFolderOrSorted => {
            "--temp names a folder with more room; --sorted reads it once, if its rows are in order"
        }
        Hint::LetPass => "--unparsable keep lets such lines pass without an id; --dry-run lists them",
        Hint::LayoutOrLetPass => {
            "mint presets says what other layouts hold; --unparsable keep lets such lines pass without an id"
        }
        Hint::Uuid6OrLetPass => {
            "uuid6 holds the years 1582 to 5236; --unparsable keep lets such lines pass without an id"
        }
        Hint::SpreadSecondOrWorkers => {
            "--spread 1s lets rows of one second use all its ticks, --worker 0-7 more workers"
        }
        Hint::SpreadMillisecondOrUuid7 => {
            "--spread 1ms lets rows of one millisecond use all its ticks; uuid7 has room for all"
        }
        Hint::ColumnName => "--column-name gives the new one another name",
        Hint::OutputFile => "-o FILE sorts them first",
        Hint::Replace => "--force replaces it once the new one is complete",
        Hint::Restart => "--restart forgets it; the command of that run continues where it ended",
        Hint::NotSorted => "without --sorted the rows are sorted first",
        Hint::Formats => "mint formats lists them",
        Hint::Zone => "--tz UTC, --tz Europe/Berlin or --tz +02:00 names it",
        Hint::Fold => "--fold earlier or --fold later says which of the two",
        Hint::TimeFormat => "--time-format says how times are written",
        Hint::Unix(unit) => return Cow::Owned(format!("it may be --time-format {} since 1970", unix(*unit))),
        Hint::DryRun => "--dry-run lists every time that cannot be read",
    };
    Cow::Borrowed(words)
}

/// The option's value for a unit, and the unit.
fn unix(unit: UnixUnit) -> &'static str {
    match unit {
        UnixUnit::Seconds => "unix, seconds",
        UnixUnit::Millis => "unix-ms, milliseconds",
        UnixUnit::Micros => "unix-us, microseconds",
        UnixUnit::Nanos => "unix-ns, nanoseconds",
    }
}
