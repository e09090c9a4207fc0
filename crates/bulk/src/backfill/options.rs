//! What a back-fill is told, and what it tells.

use std::path::PathBuf;
use std::time::Duration;

use mintage::{Node, Timestamp, UuidText};
use serde::{Deserialize, Serialize};

use super::emit::IdPlace;
use super::scheme::BackfillFormat;
use crate::input::Source;
use crate::rows::RowFormat;
use crate::time::{TimeFormat, TimeRules, ZonesSeen};

/// Where the rows go.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Target {
    /// A file, compressed as its name says.
    File(PathBuf),
    /// Standard output: no checkpoint, and what is written is written.
    Stdout,
}

/// What to do with rows that cannot be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unparsable {
    /// End with an error that names the first.
    Stop,
    /// Write them without an id, and count them.
    Keep,
}

/// What a back-fill is to do.
#[derive(Clone, Debug)]
pub struct BackfillOptions {
    /// Where the rows come from.
    pub input: Source,
    /// Where they go.
    pub output: Target,
    /// What a row looks like.
    pub rows: RowFormat,
    /// The column of the time.
    pub time: String,
    /// How times are read.
    pub times: TimeRules,
    /// The columns that make up the key, if ids are to follow from it.
    pub keys: Vec<String>,
    /// The column of the node.
    pub node_column: Option<String>,
    /// What kind of id.
    pub format: BackfillFormat,
    /// How a UUID is written.
    pub text: UuidText,
    /// See [`SchemeOptions::node`](super::SchemeOptions::node).
    pub node: Option<Node>,
    /// See [`SchemeOptions::clock_seq`](super::SchemeOptions::clock_seq).
    pub clock_seq: u16,
    /// See [`SchemeOptions::spread_ns`](super::SchemeOptions::spread_ns).
    pub spread_ns: Option<u64>,
    /// What tells these ids from those of another file with the same times; without one it is the first 64 KiB of the
    /// input, or nothing where there is a key.
    pub seed: Option<String>,
    /// The name of the new column.
    pub column_name: String,
    /// Where it goes.
    pub place: IdPlace,
    /// What to do with rows that cannot be read.
    pub unparsable: Unparsable,
    /// Whether rows are promised to be in order: then standard input is not kept for a second reading.
    pub in_order: bool,
    /// Whether to replace an output that exists.
    pub force: bool,
    /// Whether to forget what an interrupted run has done.
    pub restart: bool,
    /// How much memory sorting may use, in bytes.
    pub memory_bytes: usize,
    /// Where temporary files go; without one, beside the output.
    pub temp: Option<PathBuf>,
    /// How often a checkpoint is saved, at most.
    pub checkpoint_every: Duration,
}

impl BackfillOptions {
    /// Version 7 or whatever `format` is, in a first column `id`, for rows whose times say their zone; stops at the
    /// first row that cannot be used.
    pub fn new(
        input: Source,
        output: Target,
        rows: RowFormat,
        time: &str,
        format: BackfillFormat,
    ) -> BackfillOptions {
        BackfillOptions {
            input,
            output,
            rows,
            time: time.into(),
            times: TimeRules {
                format: TimeFormat::Auto,
                zone: None,
                fold: None,
            },
            keys: Vec::new(),
            node_column: None,
            format,
            text: UuidText::Hyphenated,
            node: None,
            clock_seq: 0,
            spread_ns: None,
            seed: None,
            column_name: "id".into(),
            place: IdPlace::First,
            unparsable: Unparsable::Stop,
            in_order: false,
            force: false,
            restart: false,
            memory_bytes: 512 << 20,
            temp: None,
            checkpoint_every: Duration::from_secs(2),
        }
    }
}

/// What a back-fill did.
#[derive(Clone, PartialEq, Eq, Default, Serialize, Deserialize, Debug)]
pub struct Filled {
    /// Rows with an id.
    pub rows: u64,
    /// Lines without: those that could not be read, and were kept.
    pub kept: u64,
    /// The line of the first of them.
    pub first_kept: Option<u64>,
    /// The earliest time, in nanoseconds since 1970.
    #[serde(with = "wide")]
    pub first_ns: Option<i128>,
    /// The latest.
    #[serde(with = "wide")]
    pub last_ns: Option<i128>,
    /// The most rows that shared one time, as the format holds it.
    pub busiest_rows: u64,
    /// That time.
    #[serde(with = "wide")]
    pub busiest_ns: Option<i128>,
    /// How many rows had key and time of another; they are told apart by their order in the file.
    pub same_key: u64,
    /// What was seen of zones.
    pub zones: ZonesSeen,
    /// The first line that was earlier than the one before it, if the rows had to be sorted.
    pub out_of_order: Option<u64>,
    /// The row after which an earlier run had been interrupted.
    pub resumed_after: Option<u64>,
    /// The length of the output.
    pub output_bytes: u64,
}

impl Filled {
    #[inline]
    pub(super) fn saw(&mut self, at: Timestamp) {
        let nanos = at.unix_nanos();
        self.first_ns = Some(self.first_ns.map_or(nanos, |first| first.min(nanos)));
        self.last_ns = Some(self.last_ns.map_or(nanos, |last| last.max(nanos)));
    }

    #[inline]
    pub(super) fn cell(&mut self, cell: i128, rows: u64) {
        if rows > self.busiest_rows {
            (self.busiest_rows, self.busiest_ns) = (rows, Some(cell));
        }
    }
}

/// Numbers of more than 64 bits as text, which every JSON reader keeps whole.
pub(super) mod wide {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(in super::super) fn serialize<S: Serializer>(
        number: &Option<i128>,
        out: S,
    ) -> Result<S::Ok, S::Error> {
        number.map(|number| number.to_string()).serialize(out)
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<i128>, D::Error> {
        let text: Option<String> = Option::deserialize(from)?;
        text.map(|text| text.parse().map_err(serde::de::Error::custom))
            .transpose()
    }
}
