//! What an audit found, and whether that is sound.

use serde::Serialize;

use super::damage::Damaged;
use super::order::Order;
use super::ranges::Ranges;
use super::rates::{Times, Workers};
use super::series::Series;
use super::shards::Shards;
use super::sorted::{Numbers, Repeats};

/// What an audit found.
#[derive(Clone, PartialEq, Serialize, Debug)]
pub struct Report {
    /// Who made this report of what, and when.
    pub made: Made,
    /// Where the ids came from, and how many each has.
    pub files: Vec<FileSeen>,
    /// How many rows were read.
    pub rows: u64,
    /// How many ids there are in all.
    pub ids: u64,
    /// What they are, most first.
    pub formats: Vec<FormatSeen>,
    /// How Snowflakes were read, if there are any.
    pub layout: Option<LayoutRead>,
    /// Lines without an id: empty cells, and those that mean that there is none, such as NULL. They are no ids.
    pub without: Without,
    /// Lines that are no id of the format that was asked for, or of no format at all, and rows that cannot be taken
    /// apart.
    pub unreadable: Unreadable,
    /// What tools have done to them.
    pub damaged: Vec<Damaged>,
    /// Numbers with a prefix, by it: what is missing.
    pub series: Vec<Series>,
    /// Ids that stand more than once.
    pub repeats: Repeats,
    /// Whether they stand in order.
    pub order: Order,
    /// When they were made.
    pub times: Times,
    /// The most ids of one millisecond, and that millisecond since 1970.
    pub busiest_ms: Option<(u64, i64)>,
    /// Who made them.
    pub workers: Workers,
    /// A Snowflake's sequences: how many are 0, and the largest.
    pub sequences: Option<Sequences>,
    /// How `id % n` spreads them; none for fewer than five ids a shard, as with the next two.
    pub shards: Option<Shards>,
    /// How ranges of their leading octets do.
    pub ranges: Option<Ranges>,
    /// How the remainder of a hash does: SipHash-2-4 under a key of zeros, of the id as 16 octets, or of those of its
    /// own hash where it is longer or text.
    pub hash: Option<Shards>,
    /// Whether plain numbers are random: spread over all 64 bits, so that neither gaps nor order say anything.
    pub random: bool,
    /// Of plain numbers: what is missing.
    pub numbers: Option<Numbers>,
    /// Time along the file: row and microseconds since 1970, some two thousand points.
    pub along: Vec<(u64, i64)>,
    /// The time of the audit, in microseconds since 1970.
    pub now_us: i64,
    /// Bytes that went through temporary files.
    pub spilled_bytes: u64,
    /// Whether it is sound.
    pub verdict: Verdict,
}

/// Who made a report of what, and when.
#[derive(Clone, PartialEq, Eq, Default, Serialize, Debug)]
pub struct Made {
    /// When, in microseconds since 1970; unlike the report's `now_us` never what was given as the present.
    pub at_us: i64,
    /// The version of the program.
    pub version: String,
    /// The command, as a shell takes it; empty where there was none.
    pub command: String,
}

/// Lines without an id.
#[derive(Clone, PartialEq, Eq, Default, Serialize, Debug)]
pub struct Without {
    /// How many.
    pub lines: u64,
    /// What is there instead and how often, most first; at most 20 spellings.
    pub spellings: Vec<(String, u64)>,
    /// The first 20.
    pub listed: Vec<(String, String)>,
}

impl Without {
    /// What is there, in words: `40 empty, 3 NULL`.
    pub fn words(&self) -> String {
        let words: Vec<String> = self
            .spellings
            .iter()
            .map(|(text, lines)| format!("{lines} {text}"))
            .collect();
        words.join(", ")
    }
}

/// A file and its ids.
#[derive(Clone, PartialEq, Eq, Serialize, Debug)]
pub struct FileSeen {
    /// Its name.
    pub name: String,
    /// How many ids it has.
    pub ids: u64,
    /// The SHA-256 of it as it is on disk, as `sha256sum` prints it.
    pub sha256: Option<String>,
}

/// A kind of id that was found.
#[derive(Clone, PartialEq, Eq, Serialize, Debug)]
pub struct FormatSeen {
    /// Its name; `text` for what no format claims.
    pub format: &'static str,
    /// A UUID's version.
    pub version: Option<u8>,
    /// How many there are.
    pub ids: u64,
    /// The first of them.
    pub first: String,
}

impl FormatSeen {
    /// In words.
    pub fn words(&self) -> String {
        words_of(self.format, self.version)
    }
}

/// A kind of id in words.
pub(super) fn words_of(format: &str, version: Option<u8>) -> String {
    match version {
        Some(version) => format!("{format} version {version}"),
        None => format.to_string(),
    }
}

/// How Snowflakes were read.
#[derive(Clone, PartialEq, Eq, Serialize, Debug)]
pub struct LayoutRead {
    /// The layout's name.
    pub name: String,
    /// Whether nobody said so.
    pub guessed: bool,
    /// What they may be as well.
    pub others: Vec<&'static str>,
}

/// Lines that hold no id of the right format.
#[derive(Clone, PartialEq, Eq, Default, Serialize, Debug)]
pub struct Unreadable {
    /// How many.
    pub lines: u64,
    /// The first 20, and what is wrong.
    pub listed: Vec<(String, String)>,
}

/// The sequence field of Snowflakes.
#[derive(Clone, PartialEq, Eq, Default, Serialize, Debug)]
pub struct Sequences {
    /// How many ids have sequence 0.
    pub zero: u64,
    /// The largest.
    pub max: u64,
    /// The largest that fits.
    pub limit: u64,
}

/// What can make an audit fail.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Debug)]
#[serde(rename_all = "lowercase")]
pub enum Fault {
    /// Ids stand more than once.
    Repeats,
    /// Lines have no id: they are empty, or say NULL.
    None,
    /// Lines hold none of the format that was asked for, or of any.
    Unreadable,
    /// A tool has changed ids: a spreadsheet, a floating-point number.
    Damaged,
    /// Ids lie in the future.
    Future,
    /// There is more than one kind.
    Mixed,
    /// They are not in order.
    Order,
    /// A worker's clock went back.
    Steps,
    /// A worker's ids are in several files over the same hours.
    Shared,
    /// A sequence lost numbers.
    Gaps,
    /// `id % n` spreads them unevenly.
    Shards,
    /// Ranges of their leading octets do.
    Ranges,
    /// Ids that follow each other go to one range.
    Hot,
    /// The remainder of a hash spreads them unevenly.
    Hash,
}

impl Fault {
    /// Every fault by its name.
    pub const ALL: &[(&str, Fault)] = &[
        ("repeats", Fault::Repeats),
        ("none", Fault::None),
        ("unreadable", Fault::Unreadable),
        ("damaged", Fault::Damaged),
        ("future", Fault::Future),
        ("mixed", Fault::Mixed),
        ("order", Fault::Order),
        ("steps", Fault::Steps),
        ("shared", Fault::Shared),
        ("gaps", Fault::Gaps),
        ("shards", Fault::Shards),
        ("ranges", Fault::Ranges),
        ("hot", Fault::Hot),
        ("hash", Fault::Hash),
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        let row = Fault::ALL.iter().find(|(_, fault)| *fault == self);
        row.map_or("", |(name, _)| name)
    }

    /// What an audit fails for unless something else is asked for.
    pub const DEFAULT: &[Fault] = &[
        Fault::Repeats,
        Fault::None,
        Fault::Unreadable,
        Fault::Damaged,
        Fault::Future,
    ];
}

/// Whether a pile of ids is sound.
#[derive(Clone, PartialEq, Eq, Default, Serialize, Debug)]
pub struct Verdict {
    /// Nothing that it was to fail for was found.
    pub sound: bool,
    /// What it fails for, in words.
    pub faults: Vec<(Fault, String)>,
    /// What else is worth a look.
    pub remarks: Vec<(Fault, String)>,
    /// What was looked at, by the names of the checks.
    pub looked_at: Vec<Fault>,
    /// Which checks of those that it was to fail for cannot be made of these ids, and why.
    pub not_judged: Vec<(Fault, String)>,
}

/// What becomes of rows that hold no id that can be read.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub enum UnreadRows {
    /// One makes the audit fail.
    #[default]
    Fail,
    /// They are counted and shown, and pass.
    Keep,
    /// They pass up to so many in a hundred rows.
    Percent(f64),
}

impl UnreadRows {
    pub(super) fn lets_pass(self, report: &Report) -> bool {
        let unread = report.unreadable.lines;
        match self {
            UnreadRows::Fail => false,
            UnreadRows::Keep => true,
            // Texts of no format are among the ids, too.
            UnreadRows::Percent(percent) => unread as f64 * 100.0 <= percent * (report.rows.max(1)) as f64,
        }
    }
}

/// Everything that is not as it could be, in words.
pub(super) fn findings(report: &Report) -> Vec<(Fault, String)> {
    let found = [
        (Fault::Repeats, repeats(&report.repeats)),
        (Fault::None, without(&report.without)),
        (
            Fault::Unreadable,
            counted(
                report.unreadable.lines,
                "1 line holds no id that can be read",
                "lines hold no id that can be read",
            ),
        ),
        (Fault::Damaged, damaged(&report.damaged)),
        (Fault::Shared, shared(report)),
        (
            Fault::Future,
            counted(
                report.times.future,
                "1 id lies in the future",
                "ids lie in the future",
            ),
        ),
        (Fault::Mixed, mixed(&report.formats)),
        (
            Fault::Order,
            counted(
                if report.random { 0 } else { report.order.to_move },
                "1 row is out of order",
                "rows are out of order",
            ),
        ),
        (Fault::Steps, steps(report)),
        (
            Fault::Gaps,
            report
                .numbers
                .as_ref()
                .and_then(gaps)
                .or_else(|| gaps_of_series(&report.series)),
        ),
        (
            Fault::Hot,
            report
                .ranges
                .as_ref()
                .filter(|ranges| ranges.moving.hot)
                .map(|ranges| ranges.moving.words.clone()),
        ),
    ];
    let there = |(fault, words): (Fault, Option<String>)| Some((fault, words?));
    let uneven = report.spreads().into_iter().filter(|(_, _, spread)| !spread.even);
    let uneven = uneven.map(|(fault, what, spread)| (fault, format!("{what} is {}", spread.words)));
    found.into_iter().filter_map(there).chain(uneven).collect()
}

/// None of them is no finding; `one` is said of one, `many` of more.
fn counted(number: u64, one: &str, many: &str) -> Option<String> {
    match number {
        0 => None,
        1 => Some(one.into()),
        number => Some(format!("{number} {many}")),
    }
}

fn damaged(damaged: &[Damaged]) -> Option<String> {
    let words = damaged.iter().map(|found| match &found.first {
        Some(first) => format!("{} damaged (the first at {first}): {}", found.ids, found.words),
        None => found.words.clone(),
    });
    let words: Vec<String> = words.collect();
    (!words.is_empty()).then(|| format!("ids were changed by a tool: {}", words.join("; ")))
}

fn shared(report: &Report) -> Option<String> {
    let shared: Vec<&str> = report
        .workers
        .busiest
        .iter()
        .filter(|seen| seen.shared)
        .map(|seen| seen.name.as_str())
        .collect();
    let first = shared.first()?;
    let more = match shared.len() - 1 {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Some(format!(
        "worker {first}{more} is in several files over the same hours: if two machines share it, repeats are a \
        matter of time"
    ))
}

fn gaps_of_series(series: &[Series]) -> Option<String> {
    let (lost, gaps) = series.iter().fold((0u64, 0), |(lost, gaps), one| {
        (lost.saturating_add(one.lost), gaps + one.gaps)
    });
    let lost = counted(lost, "1 number is missing", "numbers are missing")?;
    Some(format!(
        "{lost}, in {gaps} gaps of {} series",
        series.iter().filter(|one| one.lost > 0).count()
    ))
}

fn repeats(repeats: &Repeats) -> Option<String> {
    let occur = counted(repeats.ids, "1 id occurs", "ids occur")?;
    Some(match repeats.across_files {
        0 => format!("{occur} more than once"),
        across => format!("{occur} more than once, {across} of them in more than one file"),
    })
}

fn without(without: &Without) -> Option<String> {
    let lines = counted(without.lines, "1 line has no id", "lines have no id")?;
    Some(format!("{lines}: {}", without.words()))
}

fn mixed(formats: &[FormatSeen]) -> Option<String> {
    let kinds = formats
        .iter()
        .map(|seen| format!("{} {}", seen.ids, seen.words()));
    let kinds: Vec<String> = kinds.collect();
    (kinds.len() > 1).then(|| format!("formats are mixed: {}", kinds.join(", ")))
}

fn steps(report: &Report) -> Option<String> {
    match report.workers.steps_back {
        0 => None,
        _ if !report.in_order_enough() => None,
        1 => Some("a worker's time went back once".into()),
        steps => Some(format!("workers' times went back {steps} times")),
    }
}

fn gaps(numbers: &Numbers) -> Option<String> {
    let gaps = if numbers.gaps == 1 { "gap" } else { "gaps" };
    match numbers.lost {
        0 => None,
        1 => Some("1 number is missing".into()),
        lost => Some(format!("{lost} numbers are missing, in {} {gaps}", numbers.gaps)),
    }
}

impl Report {
    /// Whether this is what ids of their kind are for, and no news unless somebody asks.
    pub fn on_purpose(&self, fault: Fault) -> bool {
        let ordered = self.ranges.as_ref().is_some_and(|ranges| ranges.ordered);
        ordered && matches!(fault, Fault::Ranges | Fault::Hot)
    }

    /// How ids spread in each way in which stores share out rows: by remainder, by range, by hash. With what is
    /// uneven if it is, and the way in words, for a sentence that goes on with what was found.
    pub fn spreads(&self) -> Vec<(Fault, String, &Shards)> {
        let shards = self.shards.as_ref().map(|spread| {
            let what = format!("id % {}", spread.shards);
            (Fault::Shards, what, spread)
        });
        let ranges = self.ranges.as_ref().map(|ranges| {
            let what = format!(
                "{} in {} equal ranges of all keys",
                ranges.of, ranges.spread.shards
            );
            (Fault::Ranges, what, &ranges.spread)
        });
        let hash = self.hash.as_ref().map(|spread| {
            let what = format!("a hash (SipHash-2-4) % {}", spread.shards);
            (Fault::Hash, what, spread)
        });
        [shards, ranges, hash].into_iter().flatten().collect()
    }

    /// Whether nearly every worker's ids follow each other in time, so that one that does not says something about a
    /// clock and not about the order of the file.
    pub fn in_order_enough(&self) -> bool {
        self.workers.steps_back.saturating_mul(10) <= self.times.ids
    }
}
