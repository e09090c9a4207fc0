//! Files of any size: ids for rows that have a time but none, and whether a pile of ids is sound.
//!
//! [`backfill`] streams CSV, TSV, JSON Lines or plain logs and gives every row an id that carries its time.
//! [`audit`] reads ids of any format from any number of files and says what repeats, what is out of order, what is
//! missing, and what the ids tell of clocks and workers. Memory is bounded; what does not fit is sorted in temporary
//! files.

mod audit;
mod backfill;
mod cells;
mod error;
mod hint;
#[doc(hidden)]
pub mod in_memory;
mod input;
mod lines;
mod progress;
mod rows;
mod sort;
mod time;

pub use audit::{
    AuditOptions, Damaged, Fault, FileSeen, FormatSeen, LayoutRead, Made, Moving, NumberGap, Numbers, Order,
    Ranges, ReadAs, Repeat, Repeats, Report, Sequences, Series, Shards, Step, Times, UnreadRows, Unreadable,
    Verdict, Without, WorkerSeen, Workers, audit, document, html, span_words,
};
pub use backfill::{
    BackfillFormat, BackfillOptions, DryRun, Filled, IdPlace, SchemeOptions, Target, Trouble, TroubleKind,
    Unparsable, backfill, dry_run,
};
pub use cells::{Cell, Cells};
pub use error::{Error, Kind};
pub use hint::Hint;
pub use input::{Compression, Limits, Meter, Source};
pub use progress::{Phase, Progress, Watch};
pub use rows::{Dialect, PATTERNS, RowFormat};
pub use time::{Fold, TimeFormat, TimeRules, UnixUnit, Zone, ZonesSeen};
