//! What mint's server and its clients say to each other, once: typed documents of every request and answer, the
//! error codes with what each face makes of them, and the one table of operations.
//!
//! Whole numbers that may pass 2^53 are texts: JavaScript would silently round them.

mod cluster;
mod code;
mod explained;
mod formats;
mod health;
mod inspected;
pub mod json;
mod live;
mod moves;
mod openapi;
mod operations;
#[cfg(test)]
mod pages;
pub mod percent;
mod pools;
mod quoted;
pub mod readings;
mod sequences;
mod series;
mod sessions;
mod time;
mod words;

pub use cluster::{Access, AccessToken, Acts, Cluster, Rehearsal, Server};
pub use code::{CODES, Code, CodeRow};
pub use explained::{Block, Blocks, ClockStep, Explained, MapWindow, Origin, PoolMap};
pub use formats::{
    Characters, Format, FormatTime, Formats, Preset, PresetField, Presets, UntilRepeat, command_of, is_made,
    parameter, sequence_start, three_digits, verbs,
};
pub use health::{FirstToEnd, Live, NotReady, OneReady, PartReady, Problem, Ready, StoreStatus};
pub use inspected::{Fields, Inspected, Reading, Tried, known_and_guessed, nearly};
pub use live::{Busy, Frame, History, Says, StoreNow, Top, TopSequence};
pub use moves::{
    LostMove, Move, MoveDefinition, MoveMaster, MoveStep, MoveTable, Moves, SteppedMove, VersionedMove,
};
pub use openapi::openapi;
pub use operations::nouns::{At, Noun, Thing};
pub use operations::operation::{
    About, Form, Kind, Operation, Parameter, Place, Right, SchemaOf, Takes, find,
};
pub use operations::{ANY_REFUSES, LIMIT_MAX, OPERATIONS, Op};
pub use pools::{
    Borrower, Held, HeldThere, LentWindow, Looked, Parked, Pool, PoolChanged, PoolDefinition, PoolPage,
    PoolPatch, PoolWithWindows, Pools, Retired, Window,
};
pub use quoted::{Quoted, RestartAt, Whole};
pub use sequences::{
    Ending, Forecast, Ids, MovedSequence, Pending, Range, Restart, Sequence, SequenceDefinition, Sequences,
};
pub use series::SeriesPage;
pub use sessions::{SESSION_COMMANDS, SessionCommand};
pub use time::{length, shown};
pub use words::allow_file_system;
