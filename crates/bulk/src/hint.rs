//! What to do about an error: a value; the program that shows it words it with its own options.

use std::fmt;

use crate::time::unit::UnixUnit;

/// What would help.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Hint {
    /// What holds however the work was asked for: nothing in it names an option.
    Advice(String),
    /// A temporary folder with more room.
    TempFolder,
    /// A temporary folder with more room; or, if the rows are in order, to say so: then they are read once.
    TempFolderOrSorted,
    /// Lines that cannot be used may pass without an id; a dry run lists them.
    LetPass,
    /// Another layout holds other times; or such lines may pass without an id.
    LayoutOrLetPass,
    /// UUID version 6 holds the years 1582 to 5236; or such lines may pass without an id.
    Uuid6OrLetPass,
    /// A spread of one second lets rows of one second use all its ticks; so would more workers.
    SpreadSecondOrWorkers,
    /// A spread of one millisecond lets rows of one millisecond use all its ticks; UUID version 7 has room for all.
    SpreadMillisecondOrUuid7,
    /// Another name for the new column.
    ColumnName,
    /// An output file: the rows are then sorted first.
    OutputFile,
    /// To replace the output file, once the new one is complete.
    Replace,
    /// To forget the interrupted run; or the same wish as then, which goes on where it ended.
    Restart,
    /// Not to promise that the rows are in order: they are then sorted first.
    NotSorted,
    /// The list of formats.
    Formats,
    /// The zone of times that do not say theirs.
    Zone,
    /// Which of the two, where clocks were set back over a time.
    Fold,
    /// How times are written.
    TimeFormat,
    /// How times are written: perhaps as a number of this unit since 1970.
    Unix(UnixUnit),
    /// A dry run, which lists every time that cannot be read.
    DryRun,
}

impl Hint {
    /// Whether a dry run is what would help.
    pub(crate) fn asks_for_a_dry_run(&self) -> bool {
        matches!(self, Hint::LetPass | Hint::DryRun)
    }
}

impl From<String> for Hint {
    fn from(advice: String) -> Hint {
        Hint::Advice(advice)
    }
}

impl From<&str> for Hint {
    fn from(advice: &str) -> Hint {
        Hint::Advice(advice.into())
    }
}

impl From<fmt::Arguments<'_>> for Hint {
    fn from(advice: fmt::Arguments<'_>) -> Hint {
        Hint::Advice(advice.to_string())
    }
}
