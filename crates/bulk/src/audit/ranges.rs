//! Where ids fall by their leading octets: in the regions of HBase, in range partitions, in the pages of an index.

use serde::Serialize;

use super::runs::{RANGES_MAX, RUN_IDS, Runs};
use super::shards::Shards;

/// How ids spread over ranges of their keys.
#[derive(Clone, PartialEq, Serialize, Debug)]
pub struct Ranges {
    /// The kind that was looked at, the most frequent one.
    pub of: String,
    /// How many ids it has.
    pub ids: u64,
    /// Other kinds, in words: a range holds keys of one kind.
    pub left_out: Vec<String>,
    /// Whether ids of this kind begin with their time or count up, so that they are uneven on purpose.
    pub ordered: bool,
    /// All keys of the kind in so many equal ranges, as a table is split before it has rows.
    #[serde(flatten)]
    pub spread: Shards,
    /// What is seen at any one moment.
    pub moving: Moving,
}

/// Over how many ranges ids spread that follow each other.
#[derive(Clone, PartialEq, Serialize, Debug)]
pub struct Moving {
    /// The ids in so many ranges of equally many, as a table is split that has grown: as many as were asked for, but
    /// for every one four runs at least, and 32 at most.
    pub ranges: usize,
    /// How many runs of 64 ids were looked at.
    pub runs: usize,
    /// Over how many of the ranges a run spreads: 1 where it stays in one; none where the files cannot say.
    pub at_once: Option<f64>,
    /// Whether that is one range at a time.
    pub hot: bool,
    /// The same in words.
    pub words: String,
}

/// What ids of a kind begin with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Lead {
    /// The low half of a clock, which starts again every 2^32 ticks of 100 ns: UUIDs of version 1.
    Rounds,
    /// The time.
    Time,
    /// A counter.
    Count,
    /// Whatever else.
    Other,
}

/// Follows the ids of one kind.
#[derive(Debug)]
pub(super) struct RangeWatch {
    counts: Vec<u64>,
    runs: Runs,
    last: Option<(u128, Option<i64>)>,
    /// How often the next key was larger, how often smaller, and how often its time was earlier by more than what
    /// several writers of one file make.
    up: u64,
    down: u64,
    back: u64,
    /// The first and the last time, in microseconds.
    span: Option<(i64, i64)>,
}

impl RangeWatch {
    pub(super) fn new(ranges: u32) -> RangeWatch {
        RangeWatch {
            counts: vec![0; ranges as usize],
            runs: Runs::default(),
            last: None,
            up: 0,
            down: 0,
            back: 0,
            span: None,
        }
    }

    /// Takes the next id: the first 128 bits of its key, and its time.
    #[inline]
    pub(super) fn see(&mut self, key: u128, micros: Option<i64>) {
        // The first 64 bits decide: the part of all keys that lie below, times the ranges.
        let range = ((key >> 64) * self.counts.len() as u128) >> 64;
        self.counts[range as usize] += 1;
        self.runs.see(key);
        if let Some((last, last_micros)) = self.last {
            self.up += u64::from(key > last);
            self.down += u64::from(key < last);
            if let (Some(before), Some(now)) = (last_micros, micros) {
                self.back += u64::from(before.saturating_sub(now) > WRITERS_APART_US);
            }
        }
        self.last = Some((key, micros));
        if let Some(micros) = micros {
            let (first, last) = self.span.unwrap_or((micros, micros));
            self.span = Some((first.min(micros), last.max(micros)));
        }
    }

    pub(super) fn next_file(&mut self) {
        self.last = None;
        self.runs.next_file();
    }

    /// What was found; `None` for too few ids to say anything.
    pub(super) fn result(&self, of: String, left_out: Vec<String>, lead: Lead) -> Option<Ranges> {
        let spread = Shards::of(&self.counts, "range", lead == Lead::Rounds)?;
        let reason = self.reason(lead, spread.even);
        Some(Ranges {
            of,
            ids: self.counts.iter().sum(),
            left_out,
            ordered: matches!(lead, Lead::Time | Lead::Count),
            spread: spread.because(reason),
            moving: self.moving(lead),
        })
    }

    /// Why all ids together spread as they do.
    fn reason(&self, lead: Lead, even: bool) -> Option<String> {
        match lead {
            Lead::Rounds => Some(match self.rounds() {
                rounds if rounds < 1.0 => format!(
                    "version 1 goes through all ranges once in {ROUND_SECS:.1} s, and these are of {:.1} s",
                    rounds * ROUND_SECS
                ),
                _ => format!("version 1 goes through all ranges every {ROUND_SECS:.1} s"),
            }),
            _ if even => None,
            Lead::Time => Some("they begin with their time".into()),
            Lead::Count => Some("they count up in a few of the 2^64 numbers".into()),
            Lead::Other => self
                .texts()
                .then(|| "texts have few of the 256 values of an octet: split where the ids lie".into()),
        }
    }

    /// Where ids go that follow each other.
    fn moving(&self, lead: Lead) -> Moving {
        let runs = self.runs.count();
        // Ranges are made from the runs themselves, at least four to a range.
        let ranges = (runs / 4).min(self.counts.len()).min(RANGES_MAX);
        let said = |at_once: Option<f64>, words: String| Moving {
            ranges,
            runs,
            at_once,
            hot: at_once.is_some_and(|at_once| at_once <= HOT),
            words,
        };
        if ranges < 2 {
            return said(
                None,
                "where ids go that follow each other, these are too few to say".into(),
            );
        }
        if let Some(why) = self.not_as_made(lead) {
            let words = format!("where ids go that follow each other, this order does not say: {why}");
            return said(None, words);
        }
        let at_once = self.runs.ranges_at_once(ranges);
        let words = if at_once <= HOT {
            let why = self.hot_reason(lead, ranges);
            format!("ids that follow each other go to one of {ranges} ranges at a time, a hot spot{why}")
        } else if at_once < ranges as f64 * 0.6 {
            format!("ids that follow each other go to about {at_once:.1} of {ranges} ranges at a time")
        } else {
            format!("ids that follow each other spread over all of {ranges} ranges")
        };
        said(Some(at_once), words)
    }

    fn hot_reason(&self, lead: Lead, ranges: usize) -> String {
        match lead {
            Lead::Rounds if self.rounds() < 1.0 => {
                format!(": within {ROUND_SECS:.1} s version 1 counts up")
            }
            Lead::Rounds => format!(
                ": version 1 stays in each for {:.1} s",
                ROUND_SECS / ranges as f64
            ),
            Lead::Time => ": they begin with their time, so that new ones stand last".into(),
            Lead::Count => ": they count up, so that new ones stand last".into(),
            Lead::Other => String::new(),
        }
    }

    /// Why the files may have the ids in another order than that in which they were made.
    fn not_as_made(&self, lead: Lead) -> Option<&'static str> {
        let compared = self.up + self.down;
        match lead {
            // By chance 20 random ids stand in order once in 10^18.
            Lead::Other if self.span.is_none() => (compared >= 20 && (self.up == 0 || self.down == 0))
                .then_some("they stand sorted, and may have been made in another"),
            _ => (self.back.saturating_mul(10) > compared)
                .then_some("it is not that in which they were made, their times go back and forth"),
        }
    }

    /// How many times version 1's low half went round between the first and the last id.
    fn rounds(&self) -> f64 {
        let (first, last) = self.span.unwrap_or((0, 0));
        last.saturating_sub(first) as f64 / 1e6 / ROUND_SECS
    }

    /// Whether all keys are printable text.
    fn texts(&self) -> bool {
        let printable = |key: &u128| {
            key.to_be_bytes()
                .iter()
                .all(|octet| matches!(octet, 0 | b' '..=b'~'))
        };
        !self.runs.keys().is_empty() && self.runs.keys().iter().all(printable)
    }
}

/// 2^32 ticks of 100 ns.
const ROUND_SECS: f64 = 429.496_729_6;
/// Up to so many ranges at a time are one: a run may lie across a border.
const HOT: f64 = 1.5;
/// Writers of one file may be so far apart.
const WRITERS_APART_US: i64 = 1_000_000;
const _: () = assert!(RUN_IDS == 64, "the words of Moving say 64");
