//! Looks at counters that live elsewhere, and says what is wrong with them: `mint doctor`.
//!
//! | file | what |
//! | --- | --- |
//! | `codes` | the table of findings, and which make a look fail |
//! | `pace` | how fast a counter goes, from two looks |
//! | `ends` | where it ends, and when |
//! | `rules` | what is wrong with one counter |
//! | `moved` | whether the fences of those that are ours stand |
//! | `pattern` | what is wrong with several servers together |
//! | `workers` | numbers of workers as counters |
//! | `examined` | all of it, for what was seen |
//! | `look` | the looking: the only file that asks anybody |
//! | `words` | lengths of time and paces for people |
//!
//! Nothing here writes to a source, and nothing here knows SQL: a statement that mends comes from the source
//! ([`Source::mend`](crate::source::Source::mend)).

mod codes;
mod ends;
mod examined;
mod look;
#[cfg(test)]
mod look_tests;
mod moved;
mod pace;
mod pattern;
mod rules;
#[cfg(test)]
mod rules_tests;
mod words;
mod workers;

pub use codes::{CODES, CodeRow, FailOn};
pub use ends::{End, plain_type};
pub use examined::{Examined, Report, examine};
pub use look::{LookSettings, Seen, Target, look};
pub use pace::{CounterId, Earlier, Pace, Stood, Went};
pub use words::{date, lasting, pace_words};
pub use workers::{WORKERS, Workers};
