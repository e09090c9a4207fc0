//! Documents about formats of ids and layouts of Snowflakes.

use schemars::JsonSchema;
use serde::Serialize;

/// The formats there are.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct Formats {
    /// All of them.
    pub formats: Vec<Format>,
}

/// A format of ids, with what its randomness is worth.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct Format {
    /// Its name.
    pub name: &'static str,
    /// Its other names.
    pub aliases: &'static [&'static str],
    /// Its name in full.
    pub title: &'static str,
    /// What it is, a phrase.
    pub is: &'static str,
    /// How long it is as bytes; 0: it is text alone.
    pub bits: u32,
    /// How long it is as text.
    pub characters: Characters,
    /// The time that it holds; `null`: none.
    pub time: Option<FormatTime>,
    /// Whether its texts sort by time.
    pub text_sorts: bool,
    /// Whether its bytes do.
    pub bytes_sort: bool,
    /// What makes it unique.
    pub unique: &'static str,
    /// What it reveals to a reader.
    pub tells: &'static str,
    /// How many of its bits are random, to two digits after the point.
    pub random_bits: f64,
    /// How many ids it takes for a chance of one repeat; `null` without random bits.
    pub ids_until_repeat: Option<UntilRepeat>,
    /// Its own options: parameters of HTTP and the Redis protocol, and with `-` for `_` options of the command.
    pub options: Vec<String>,
    /// Whether a server makes it.
    pub made: bool,
    /// What can be asked of it.
    pub verbs: Vec<&'static str>,
    /// Its bits as a drawing.
    pub diagram: &'static str,
    /// Where it is specified.
    pub source: &'static str,
    /// The command that makes one.
    pub command: &'static str,
}

/// How many characters a text has.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, JsonSchema)]
pub struct Characters {
    /// At least.
    pub min: usize,
    /// At most.
    pub max: usize,
}

/// The time that ids of a format hold.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct FormatTime {
    /// The length of its tick in words: `1 ms`.
    pub tick: String,
    /// The same in nanoseconds.
    pub tick_ns: String,
    /// The first time, in RFC 3339.
    pub first: String,
    /// The same in nanoseconds since 1970.
    pub first_unix_ns: String,
    /// The last time.
    pub last: String,
    /// The same in nanoseconds since 1970.
    pub last_unix_ns: String,
    /// How many digits after the second are real.
    pub digits: u8,
}

/// How many ids it takes for a chance that two are equal, to three digits.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, JsonSchema)]
pub struct UntilRepeat {
    /// For one in a billion.
    #[serde(rename = "1e-9")]
    pub billionth: f64,
    /// For one in a hundred.
    #[serde(rename = "1%")]
    pub hundredth: f64,
    /// For one in two.
    #[serde(rename = "50%")]
    pub half: f64,
}

/// The known layouts.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct Presets {
    /// All of them.
    pub presets: Vec<Preset>,
}

/// A known layout of Snowflakes.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct Preset {
    /// Its name.
    pub name: &'static str,
    /// Whose it is, a phrase.
    pub note: &'static str,
    /// Where it is specified.
    pub source: &'static str,
    /// How many bits its ids have.
    pub bits: u32,
    /// Its fields, the highest bits first.
    pub fields: Vec<PresetField>,
    /// The length of its tick in nanoseconds.
    pub tick_ns: String,
    /// Where its time begins, in RFC 3339.
    pub epoch: String,
    /// When its time field is full.
    pub ends: String,
    /// How many workers it has.
    pub workers: u64,
    /// Where the sequence of a new tick begins, in words.
    pub sequence_start: String,
    /// What the original does when the clock goes back.
    pub original_clock: String,
    /// The layout as text: what a pool's `layout` takes.
    pub spec: String,
}

/// A field of a layout.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct PresetField {
    /// Its name.
    pub name: String,
    /// How many bits it has.
    pub bits: u32,
    /// How many stand below it.
    pub shift: u32,
    /// What it is for: `time`, `worker`, `sequence`, `rollback` or `constant`.
    pub role: &'static str,
}
