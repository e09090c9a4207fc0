//! `audit`: is a pile of ids sound?
//!
//! One reading takes every id apart and counts what needs no order: kinds, times, workers, shards, whether ids stand in
//! order. Each id goes with its place into a [`Sorter`]; once all are in order, equal ones stand
//! beside each other and so do the ends of a gap.

mod along;
mod chi_square;
mod damage;
mod document;
mod evenness;
mod html;
mod judged;
mod kinds;
#[cfg(test)]
mod limits;
#[cfg(test)]
mod metamorphic;
mod moves;
mod order;
mod ranges;
mod rates;
mod reading;
mod report;
mod runs;
mod sample;
mod series;
mod shards;
mod sorted;

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;

use mintage::{Layout, Timestamp, means_none};

pub use damage::Damaged;
pub use document::document;
pub use html::{html, span_words};
pub use order::Order;
pub use ranges::{Moving, Ranges};
pub use rates::{Step, Times, WorkerSeen, Workers};
pub use reading::{IdRead, ReadAs, read_id};
pub use report::{
    Fault, FileSeen, FormatSeen, LayoutRead, Made, Report, Sequences, UnreadRows, Unreadable, Verdict,
    Without,
};
pub use series::Series;
pub use shards::Shards;
pub use sorted::{NumberGap, Numbers, Repeat, Repeats};

use crate::error::{Error, shown};
use crate::hint::Hint;
use crate::input::{Limits, Meter, Source, kept};
use crate::progress::{Phase, Watch, tell};
use crate::rows::{Row, RowFormat, Rows};
use crate::sort::Sorter;
use along::Along;
use damage::DamageCount;
use evenness::Evenness;
use kinds::{Kind, VERSIONS, formats_of, kind_counts};
use order::OrderWatch;
use rates::{LISTED, RateCount};
use reading::{Class, Numbers as NumbersAre, Reader, Seen, number, sorts};
use sample::{SAMPLE, Sample};
use series::SeriesCount;
use sorted::{FILES_MAX, IdRecord, examine};

/// What an audit is to do.
#[derive(Clone, Debug)]
pub struct AuditOptions {
    /// Where the ids come from, and what a row looks like there.
    pub inputs: Vec<(Source, RowFormat)>,
    /// The column of the ids; `id` without one.
    pub column: Option<String>,
    /// How ids are read.
    pub read_as: ReadAs,
    /// Over how many shards, by remainder, by range and by hash, ids should spread.
    pub shards: u32,
    /// What counts as the present; ids may lie a little after it.
    pub now: Timestamp,
    /// How much.
    pub tolerance: std::time::Duration,
    /// What makes the audit fail.
    pub fail_on: Vec<Fault>,
    /// Whether somebody named those: then one that cannot be told of these ids is an error.
    pub fail_on_named: bool,
    /// What becomes of rows that hold no id that can be read.
    pub unparsable: UnreadRows,
    /// How much of each input is read, and for how long.
    pub limits: Limits,
    /// How much memory sorting may use, in bytes.
    pub memory_bytes: usize,
    /// Where temporary files go.
    pub temp: PathBuf,
    /// What the report says of who made it.
    pub made: Made,
}

impl AuditOptions {
    /// Ids of any format from these inputs, judged by the defaults of the command, at the time `now`.
    pub fn new(inputs: Vec<(Source, RowFormat)>, now: Timestamp) -> AuditOptions {
        AuditOptions {
            inputs,
            column: None,
            read_as: ReadAs::default(),
            shards: 16,
            now,
            tolerance: std::time::Duration::from_secs(60),
            fail_on: Fault::DEFAULT.to_vec(),
            fail_on_named: false,
            unparsable: UnreadRows::Fail,
            limits: Limits::default(),
            memory_bytes: 768 << 20,
            temp: std::env::temp_dir(),
            made: Made {
                at_us: micros_of(now),
                version: env!("CARGO_PKG_VERSION").into(),
                command: String::new(),
            },
        }
    }
}

/// Examines ids: any number, of any format, from any number of files.
///
/// # Errors
/// An input cannot be read or has no such column, a row has another number of fields than the header, or there is no
/// room for temporary files.
///
/// ```
/// use mintage::Timestamp;
/// use mintage_bulk::{AuditOptions, RowFormat, Source, audit};
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("numbers");
/// std::fs::write(&path, "1\n2\n4\n2\n")?;
/// let inputs = vec![(Source::File(path), RowFormat::Lines)];
/// let now = Timestamp::from_unix_millis(1_800_000_000_000);
/// let report = audit(&AuditOptions::new(inputs, now), &mut |_| {})?;
/// assert!(!report.verdict.sound);
/// assert_eq!((report.repeats.ids, report.numbers.map(|numbers| numbers.lost)), (1, Some(1)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn audit(options: &AuditOptions, watch: Watch<'_>) -> Result<Report, Error> {
    if options.inputs.len() > FILES_MAX {
        return Err(Error::usage(format_args!(
            "{} files are more than {FILES_MAX}: join some of them",
            options.inputs.len()
        )));
    }
    if options.shards < 2 {
        return Err(Error::usage("shards must be 2 or more"));
    }
    let mut numbers = Reader::new(&options.read_as)?.numbers;
    let mut options = options.clone();
    let mut spools = Vec::new();
    if let NumbersAre::Undecided = numbers {
        // All may have to be read again, as what all numbers are.
        for (source, _) in options.inputs.iter_mut().filter(|(source, _)| source.flows()) {
            let spool = kept(source, &options.temp, Hint::TempFolder)?;
            *source = Source::Kept(spool.path().to_path_buf(), source.name());
            spools.push(spool);
        }
    }
    let total = total_bytes(&options);
    loop {
        let mut audit = Audit::new(&options, numbers)?;
        let meter = Meter::within(&options.limits);
        for file in 0..options.inputs.len() {
            audit.read(file, &meter, total, watch)?;
        }
        match audit.misjudged() {
            Some(judged) => numbers = judged,
            None => return audit.finish(watch),
        }
    }
}

fn total_bytes(options: &AuditOptions) -> Option<u64> {
    let bytes = options
        .inputs
        .iter()
        .map(|(source, _)| Some(source.path()?.metadata().ok()?.len()));
    bytes.sum::<Option<u64>>().filter(|bytes| *bytes > 0)
}

/// What one reading counts.
struct Audit<'a> {
    options: &'a AuditOptions,
    reader: Reader,
    sorter: Sorter<IdRecord>,
    names: Vec<String>,
    files: Vec<FileSeen>,
    /// By class and version: how many, and where the first is.
    kinds: Vec<[Kind; VERSIONS]>,
    without: Without,
    spellings: BTreeMap<String, u64>,
    unreadable: Unreadable,
    damage: DamageCount,
    series: SeriesCount,
    /// Texts of no format that end in a number behind a prefix: how many, and the first.
    numbered: Unreadable,
    /// Others of no format.
    texts: Unreadable,
    /// By kind: what the files that were read are like.
    orders: Vec<Order>,
    watches: Vec<Option<OrderWatch>>,
    rates: RateCount,
    evenness: Evenness,
    sequences: Sequences,
    along: Along,
    rows: u64,
    /// The first ids, until it is decided what numbers are: file, line, text.
    first: Option<VecDeque<(usize, u64, Vec<u8>)>>,
    /// Numbers from all over the pile, which tell whether the first misled; none where somebody says what they are.
    sample: Option<Sample>,
}

impl<'a> Audit<'a> {
    fn new(options: &'a AuditOptions, numbers: NumbersAre) -> Result<Audit<'a>, Error> {
        let now_us = micros_of(options.now);
        let tolerance = i64::try_from(options.tolerance.as_micros()).unwrap_or(i64::MAX);
        let names: Vec<String> = options.inputs.iter().map(|(source, _)| source.name()).collect();
        let undecided = matches!(numbers, NumbersAre::Undecided);
        let mut reader = Reader::new(&options.read_as)?;
        reader.numbers = numbers;
        Ok(Audit {
            reader,
            sorter: Sorter::new(options.memory_bytes, &options.temp),
            files: names
                .iter()
                .map(|name| FileSeen {
                    name: name.clone(),
                    ids: 0,
                    sha256: None,
                })
                .collect(),
            names,
            kinds: vec![std::array::from_fn(|_| Kind::default()); Class::MAX],
            without: Without::default(),
            spellings: BTreeMap::new(),
            unreadable: Unreadable::default(),
            damage: DamageCount::default(),
            series: SeriesCount::within(options.memory_bytes),
            numbered: Unreadable::default(),
            texts: Unreadable::default(),
            orders: vec![Order::default(); Class::MAX * VERSIONS],
            watches: Vec::new(),
            rates: RateCount::new(now_us.saturating_add(tolerance)),
            evenness: Evenness::new(options.shards),
            sequences: Sequences::default(),
            along: Along::default(),
            rows: 0,
            first: undecided.then(VecDeque::new),
            sample: undecided.then(Sample::default),
            options,
        })
    }

    fn read(
        &mut self,
        file: usize,
        meter: &Meter,
        total: Option<u64>,
        watch: Watch<'_>,
    ) -> Result<(), Error> {
        let (source, format) = &self.options.inputs[file];
        let column = self.options.column.clone().unwrap_or_else(|| "id".into());
        let hashing = meter.with_digest();
        let mut rows = Rows::open_ids(source, format, std::slice::from_ref(&column), &hashing)?;
        self.watches.resize_with(Class::MAX * VERSIONS, || None);
        self.rates.next_file();
        self.evenness.next_file();
        while let Some(row) = rows.next()? {
            self.rows += 1;
            tell(watch, Phase::Reading, self.rows, total, || meter.bytes());
            if !row.blank {
                self.row(file, &row, &column)?;
            }
        }
        // What another file holds does not say what this one's numbers are in order with.
        self.decide()?;
        for (order, watch) in self.orders.iter_mut().zip(self.watches.drain(..)) {
            if let Some(watch) = watch {
                order.add(watch.result());
            }
        }
        self.files[file].sha256 = hashing.sha256();
        Ok(())
    }

    #[inline]
    fn row(&mut self, file: usize, row: &Row<'_>, column: &str) -> Result<(), Error> {
        if let Some(problem) = &row.problem {
            self.refuse(file, row.line, problem.to_string());
            return Ok(());
        }
        let text = row.field(0).unwrap_or_default().trim_ascii();
        // The mark at the head of a file, which joining or sorting files puts anywhere.
        let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        if text.len() < 10 && std::str::from_utf8(text).is_ok_and(means_none) {
            let instead = match row.field(0) {
                Some([]) => "empty".to_string(),
                Some(_) if text.is_empty() => "blank".to_string(),
                Some(_) => shown(text),
                None => format!("without a field {column:?}"),
            };
            self.without_id(file, row.line, instead);
            return Ok(());
        }
        if let Some(first) = &mut self.first {
            first.push_back((file, row.line, text.to_vec()));
            if first.len() == SAMPLE {
                self.decide()?;
            }
            return Ok(());
        }
        self.id(file, row.line, text)
    }

    /// Decides from the first ids what numbers are, and takes them.
    fn decide(&mut self) -> Result<(), Error> {
        let Some(first) = self.first.take() else {
            return Ok(());
        };
        let numbers: Vec<u64> = first.iter().filter_map(|(_, _, text)| number(text)).collect();
        self.reader.numbers = self.reader.judge(&numbers, self.options.now);
        for (file, line, text) in first {
            self.id(file, line, &text)?;
        }
        Ok(())
    }

    /// What numbers are, if the first ids told otherwise than all do: then all was read as what it is not.
    fn misjudged(&mut self) -> Option<NumbersAre> {
        let numbers = self.sample.take()?.numbers();
        let judged = self.reader.judge(&numbers, self.options.now);
        if judged.layout_name() != self.reader.numbers.layout_name() {
            return Some(judged);
        }
        self.reader.numbers = judged;
        None
    }

    #[inline]
    fn id(&mut self, file: usize, line: u64, text: &[u8]) -> Result<(), Error> {
        let seen = self.reader.read(text);
        if let Some(sample) = &mut self.sample
            && let Some(number) = seen.map_or_else(|| number(text), |seen| seen.number())
        {
            sample.see(number);
        }
        let Some(seen) = seen else {
            let format = self.options.read_as.format.clone().unwrap_or_else(|| "id".into());
            self.not_a(&format, file, line, text);
            return Ok(());
        };
        let Seen { class, version, .. } = seen;
        let kind = &mut self.kinds[usize::from(class.0)][usize::from(version & 15)];
        kind.ids += 1;
        kind.first.get_or_insert((file, line));
        self.files[file].ids += 1;
        let name = &self.names[file];
        let place = || format!("{name}:{line}");
        if let Some(micros) = seen.micros {
            self.rates.time(micros, &place);
            self.along.see(micros);
            if let Some(worker) = seen.worker {
                let clock_seq = (class == Class::UUID).then_some(seen.detail);
                self.rates.worker(worker, micros, clock_seq, &place);
            }
        }
        if class == Class::SNOWFLAKE {
            self.sequences.zero += u64::from(seen.detail == 0);
            self.sequences.max = self.sequences.max.max(seen.detail);
        }
        if sorts(class, version) {
            // Kinds sort by different parts of their bits.
            let kind = usize::from(class.0) * VERSIONS + usize::from(version & 15);
            let ends_kept = self.options.memory_bytes / MEMORY_PER_END;
            let watch = self.watches[kind].get_or_insert_with(|| OrderWatch::new(ends_kept));
            watch.see(seen.rank, seen.micros, place);
        }
        if class == Class::TEXT {
            self.text(file, line, text);
        } else if let Some(number) = seen.number() {
            self.damage.number(number);
        }
        // A sequence's numbers are kept in a form that sorts.
        let value = match class {
            Class::SEQUENCE => reading::sequence_of(seen.identity).unsigned_abs(),
            _ => seen.identity,
        };
        self.evenness.see(&seen, value);
        self.sorter.push(IdRecord::new(class, seen.identity, file, line))
    }

    #[cold]
    fn without_id(&mut self, file: usize, line: u64, instead: String) {
        self.without.lines += 1;
        if self.without.listed.len() < LISTED {
            let place = format!("{}:{line}", self.names[file]);
            self.without.listed.push((place, instead.clone()));
        }
        // Few words mean none, so that there are few spellings of them.
        *self.spellings.entry(instead).or_insert(0) += 1;
    }

    /// The order of the kinds that are more than a few; the others are named.
    fn order(&mut self, ids: u64) -> Order {
        let mut order = Order::default();
        for kind in kind_counts(&self.kinds) {
            let at = usize::from(kind.class.0) * VERSIONS + usize::from(kind.version);
            let of_kind = std::mem::take(&mut self.orders[at]);
            if of_kind.compared == 0 {
                continue;
            }
            if kind.ids * 100 < ids {
                order.left_out.push(format!("{} {}", kind.ids, kind.words()));
            } else {
                order.add(of_kind);
            }
        }
        order
    }

    /// Reads the files again for the texts of repeats of which only a hash was kept.
    fn texts_of(&self, repeats: &mut Repeats) -> Result<(), Error> {
        for (file, (source, format)) in self.options.inputs.iter().enumerate() {
            let mut wanted: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
            for (at, repeat) in repeats.listed.iter().enumerate() {
                if repeat.id.is_none() && repeat.at.0 == file {
                    wanted.entry(repeat.at.1).or_default().push(at);
                }
            }
            if wanted.is_empty() || source.flows() {
                continue;
            }
            let column = self.options.column.clone().unwrap_or_else(|| "id".into());
            let mut rows = Rows::open_ids(
                source,
                format,
                std::slice::from_ref(&column),
                &Meter::within(&self.options.limits),
            )?;
            while !wanted.is_empty()
                && let Some(row) = rows.next()?
            {
                for at in wanted.remove(&row.line).unwrap_or_default() {
                    let text = row.field(0).unwrap_or_default().trim_ascii();
                    repeats.listed[at].id = Some(String::from_utf8_lossy(text).into_owned());
                }
            }
        }
        Ok(())
    }

    /// A line that holds none of the format that was asked for.
    #[cold]
    fn not_a(&mut self, format: &str, file: usize, line: u64, text: &[u8]) {
        let name = &self.names[file];
        let words = String::from_utf8_lossy(text);
        self.damage.text(&words, || format!("{name}:{line}"));
        let is_listed = self.unreadable.listed.len() < LISTED;
        let near = is_listed.then(|| mintage::near_miss(&words)).flatten();
        let why = near.map_or(String::new(), |near| format!(": nearly {near}"));
        self.refuse(
            file,
            line,
            format!("{} is not a valid {format}{why}", shown(text)),
        );
    }

    /// A text that no format claims: damaged, a number with a prefix, or unreadable.
    #[cold]
    fn text(&mut self, file: usize, line: u64, text: &[u8]) {
        let name = &self.names[file];
        let place = || format!("{name}:{line}");
        let words = String::from_utf8_lossy(text);
        if self.damage.text(&words, place) {
            return;
        }
        // Whether such numbers make series is known at the end.
        let texts = match self.series.text(text) {
            true => &mut self.numbered,
            false => &mut self.texts,
        };
        texts.lines += 1;
        if texts.listed.len() < LISTED {
            let fault = mintage::fault(&words);
            texts.listed.push((place(), format!("{}: {fault}", shown(text))));
        }
    }

    #[cold]
    fn refuse(&mut self, file: usize, line: u64, why: String) {
        self.unreadable.lines += 1;
        if self.unreadable.listed.len() < LISTED {
            let place = format!("{}:{line}", self.names[file]);
            self.unreadable.listed.push((place, why));
        }
    }

    fn finish(mut self, watch: Watch<'_>) -> Result<Report, Error> {
        let layout = match &self.reader.numbers {
            NumbersAre::Snowflake { layout, guessed } => Some((layout.clone(), guessed.clone())),
            _ => None,
        };
        let of_snowflakes = layout.as_ref().map(|(layout, _)| layout.clone());
        let millis_of = |class, identity| millis_of(class, identity, of_snowflakes.as_deref());
        let sorted = std::mem::replace(&mut self.sorter, Sorter::new(0, &self.options.temp)).finish()?;
        let spilled_bytes = sorted.spilled();
        let mut found = examine(sorted, &self.names, &millis_of, &self.options.limits, watch)?;
        self.texts_of(&mut found.repeats)?;
        // A few numbers among other ids are no sequence.
        let counts = kind_counts(&self.kinds);
        let of_class = |class| {
            let of_class = counts.iter().filter(move |kind| kind.class == class);
            of_class.map(|kind| kind.ids).sum::<u64>()
        };
        let ids: u64 = self.files.iter().map(|file| file.ids).sum();
        let numbers = found.numbers.filter(|_| of_class(Class::SEQUENCE) * 2 > ids);
        let layout = layout.filter(|_| of_class(Class::SNOWFLAKE) > 0);
        let order = self.order(ids);
        self.list_spellings();
        let layout_of = layout.as_ref().map(|(layout, _)| &**layout);
        let even = self.evenness.result(&counts, layout_of, found.repeats.lines > 0);
        let (times, workers) = self.rates.result();
        let own_zeros = layout_of.map_or(12, |layout| layout.sequence_bits());
        let damaged = self.damage.result(own_zeros);
        let (are_numbered, series) = self.series.result();
        count_texts(&mut self.unreadable, self.texts);
        if !are_numbered {
            count_texts(&mut self.unreadable, self.numbered);
        }
        let report = Report {
            rows: self.rows,
            damaged,
            series,
            random: false,
            made: self.options.made.clone(),
            ids,
            formats: formats_of(&self.kinds, &self.names),
            sequences: layout.as_ref().map(|(layout, _)| Sequences {
                limit: (1 << layout.sequence_bits()) - 1,
                ..self.sequences
            }),
            layout: layout.map(|(layout, guessed)| LayoutRead {
                name: layout.name().to_string(),
                guessed: guessed.is_some(),
                others: guessed.unwrap_or_default(),
            }),
            files: self.files,
            without: self.without,
            unreadable: self.unreadable,
            repeats: found.repeats,
            order,
            times,
            busiest_ms: found.busiest_ms,
            workers,
            shards: even.shards,
            ranges: even.ranges,
            hash: even.hash,
            numbers,
            along: self.along.points(),
            now_us: micros_of(self.options.now),
            spilled_bytes,
            verdict: Verdict::default(),
        };
        judged(report, self.options)
    }

    /// The spellings of "none", most first.
    fn list_spellings(&mut self) {
        self.without.spellings = std::mem::take(&mut self.spellings).into_iter().collect();
        self.without
            .spellings
            .sort_by_key(|(_, lines)| std::cmp::Reverse(*lines));
        self.without.spellings.truncate(LISTED);
    }
}

/// Adds texts of no known format to what cannot be read.
fn count_texts(unreadable: &mut Unreadable, mut texts: Unreadable) {
    unreadable.lines += texts.lines;
    unreadable.listed.append(&mut texts.listed);
    unreadable.listed.truncate(LISTED);
}

/// The report with its verdict.
///
/// # Errors
/// A check that was asked for by name and cannot be made of these ids.
fn judged(mut report: Report, options: &AuditOptions) -> Result<Report, Error> {
    report.random = report
        .numbers
        .as_ref()
        .is_some_and(|numbers| numbers.are_random(report.ids));
    if report.random {
        report.numbers = None;
    }
    report.verdict = judged::judge(&report, &options.fail_on, options.unparsable);
    match report.verdict.not_judged.first() {
        Some((fault, why)) if options.fail_on_named => Err(Error::usage(format_args!(
            "{} cannot be told of these ids: {why}",
            fault.name()
        ))),
        _ => Ok(report),
    }
}

/// The millisecond since 1970 of an id whose value begins with it.
fn millis_of(class: Class, identity: u128, layout: Option<&Layout>) -> Option<i64> {
    match class {
        Class::UUID => {
            let version = (identity >> 76) as u8 & 15;
            (version == 7).then_some((identity >> 80) as i64)
        }
        Class::SNOWFLAKE => {
            let layout = layout.filter(|layout| layout.tick() == MILLISECOND)?;
            let parts = layout.unpack(identity as u64).ok()?;
            Some(layout.time_of(parts.tick).unix_millis())
        }
        class if class.name() == "ulid" => Some((identity >> 80) as i64),
        _ => None,
    }
}

fn micros_of(at: Timestamp) -> i64 {
    i64::try_from(at.unix_nanos().div_euclid(1000)).unwrap_or(i64::MAX)
}

const MILLISECOND: std::time::Duration = std::time::Duration::from_millis(1);
/// A thirty-second of the memory for sorting holds ends of runs, 16 bytes each.
const MEMORY_PER_END: usize = 512;

#[cfg(test)]
mod tests {
    use super::*;

    fn audited(name: &str, text: &str, format: RowFormat, column: Option<&str>) -> Result<Report, Error> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        let now = Timestamp::from_unix_millis(1_800_000_000_000);
        let mut options = AuditOptions::new(vec![(Source::File(path), format)], now);
        options.column = column.map(String::from);
        audit(&options, &mut |_| {})
    }

    #[test]
    fn an_array_of_json_is_read_element_by_element() {
        let text =
            "[\n  {\"a\": {\"id\": 1}},\n  {\"a\": {\"id\": \"],{\\\"\"}}, {\n \"a\": {\"id\": 3}}\n]\n";
        let report = audited("a.json", text, RowFormat::JsonLines, Some("a.id")).unwrap();
        assert_eq!((report.rows, report.ids, report.unreadable.lines), (3, 3, 1));
        assert!(
            report.unreadable.listed[0].0.ends_with("a.json:3"),
            "{:?}",
            report.unreadable
        );
        let report = audited("a.json", "[1, 2,\n2]", RowFormat::JsonLines, None).unwrap();
        assert_eq!((report.ids, report.repeats.ids), (3, 1));
        let report = audited("a.json", "[{\"id\": 1}, {\"id\"", RowFormat::JsonLines, None).unwrap();
        assert_eq!((report.ids, report.unreadable.lines), (1, 1));
    }

    #[test]
    fn what_was_not_looked_at_is_not_sound() {
        for (text, says) in [
            ("foo\nbar\nhello\n", "hold no id that can be read"),
            ("1\n2\nhello\n", "1 line holds no id that can be read"),
            ("", "nothing was looked at"),
            ("1849964155499446273\n'1849964155499446274\n", "apostrophe"),
        ] {
            let report = audited("ids", text, RowFormat::Lines, None).unwrap();
            let faults = format!("{:?}", report.verdict.faults);
            assert!(!report.verdict.sound && faults.contains(says), "{text}: {faults}");
        }
    }

    #[test]
    fn a_check_that_is_named_and_cannot_be_made_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ids");
        std::fs::write(&path, "b40c1a8e-0d1b-4a0e-9a3c-7b1f0e6f2a11\n").unwrap();
        let now = Timestamp::from_unix_millis(1_800_000_000_000);
        for (_, fault) in Fault::ALL {
            let mut options = AuditOptions::new(vec![(Source::File(path.clone()), RowFormat::Lines)], now);
            (options.fail_on, options.fail_on_named) = (vec![*fault], true);
            let made = matches!(
                fault,
                Fault::Repeats | Fault::None | Fault::Unreadable | Fault::Damaged | Fault::Mixed
            );
            assert_eq!(audit(&options, &mut |_| {}).is_ok(), made, "{fault:?}");
        }
    }

    #[test]
    fn every_line_that_cannot_be_read_is_counted() {
        let lines = |count: usize, line: &dyn Fn(usize) -> String| (0..count).map(line).collect::<String>();
        // Each with another prefix: no series.
        let tokens = lines(500, &|at| {
            format!("w{}x{}\n", "ab".repeat(at % 9), at * 7919 % 1000)
        });
        let numbers = lines(1000, &|at| format!("VF/2016/{at}\n"));
        let words = lines(60, &|_| "hello world\n".to_string());
        let unreadable = |text: &str| {
            let report = audited("ids", text, RowFormat::Lines, None).unwrap();
            (report.unreadable.lines, report.series.len())
        };
        assert_eq!(unreadable(&(numbers.clone() + &words)), (60, 1));
        assert_eq!(unreadable(&numbers), (0, 1));
        let (of_tokens, series) = unreadable(&tokens);
        assert!(of_tokens == 500 || series > 0, "{of_tokens} {series}");
    }

    #[test]
    fn random_numbers_are_called_random() {
        let numbers: String = (1..200u64)
            .map(|at| format!("{}\n", at.wrapping_mul(0x9e37_79b9_7f4a_7c15) as i64))
            .collect();
        let report = audited("ids", &numbers, RowFormat::Lines, None).unwrap();
        assert!(
            report.random && report.numbers.is_none() && report.layout.is_none(),
            "{report:?}"
        );
    }

    #[test]
    fn what_shells_print_is_the_id_inside() {
        let text = "ObjectId(\"590b99745c4c8f7cc2415267\")\n590b99745c4c8f7cc2415267\n{\"$oid\":\"590b99745c4c8f7cc2415268\"}\n";
        let report = audited("ids", text, RowFormat::Lines, None).unwrap();
        assert_eq!(
            (
                report.repeats.ids,
                report.formats[0].format,
                report.formats[0].ids
            ),
            (1, "objectid", 3)
        );
    }
}
