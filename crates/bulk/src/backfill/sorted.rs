//! Rows in any order: their times are sorted outside memory, ids are given in that order and put into files by the
//! row's place in the input, and a second reading writes the rows.
//!
//! The files of the work folder hold the ids of a fixed number of rows each, as `offset, id` in the order in which they were
//! given; one of them at a time is read into an array.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::facts::Facts;
use super::output::{Output, Paths};
use super::placer::Placer;
use super::scheme::{Exhausted, Member};
use super::stream::{BLOCK_BYTES, Writing, header, keep, mark};
use super::{BackfillRun, How, Saved, Unparsable};
use crate::error::Error;
use crate::progress::{EVERY_ROWS, Phase, Progress, Watch};
use crate::sort::{Record, Sorted, Sorter};

/// A row on its way to its id. The fields in this order make the order of the cells and of the rows in a cell.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct SortRow {
    /// The upper 64 of 80 bits: the exact time, or with a key the cell.
    time_high: u64,
    /// Their lower 16 bits, and the upper 48 of the key's hash.
    time_hash: u64,
    /// The hash's lower 16 bits, and the row.
    hash_row: u64,
    node: u32,
}

/// What makes every time a positive number of 80 bits: 19 million years to both sides.
const TIME_OFFSET: i128 = 1 << 79;

impl SortRow {
    fn new(nanos: i128, member: Member, row: u64) -> SortRow {
        let time = (nanos + TIME_OFFSET) as u128;
        SortRow {
            time_high: (time >> 16) as u64,
            time_hash: (time as u64 & 0xffff) << 48 | member.hash >> 16,
            hash_row: (member.hash & 0xffff) << 48 | row,
            node: member.node,
        }
    }

    fn nanos(&self) -> i128 {
        (u128::from(self.time_high) << 16 | u128::from(self.time_hash >> 48)) as i128 - TIME_OFFSET
    }

    fn member(&self) -> Member {
        Member {
            node: self.node,
            hash: self.time_hash << 16 | self.hash_row >> 48,
        }
    }

    fn row(&self) -> u64 {
        self.hash_row & ROWS_MAX
    }
}

/// The largest number of a row.
const ROWS_MAX: u64 = (1 << 48) - 1;

impl Record for SortRow {
    const BYTES: usize = 28;

    fn put(&self, out: &mut [u8]) {
        out[..8].copy_from_slice(&self.time_high.to_be_bytes());
        out[8..16].copy_from_slice(&self.time_hash.to_be_bytes());
        out[16..24].copy_from_slice(&self.hash_row.to_be_bytes());
        out[24..28].copy_from_slice(&self.node.to_be_bytes());
    }

    fn get(from: &[u8]) -> SortRow {
        let word = |at: usize| u64::from_be_bytes(*from[at..].first_chunk().expect("28 octets"));
        SortRow {
            time_high: word(0),
            time_hash: word(8),
            hash_row: word(16),
            node: u32::from_be_bytes(*from[24..].first_chunk().expect("28 octets")),
        }
    }
}

/// Reads all rows, sorts them and leaves their ids in the work folder. Gives how many rows each file there has.
pub(super) fn assign(run: &mut BackfillRun<'_>, paths: &Paths, watch: Watch<'_>) -> Result<u64, Error> {
    let mut sorted = read(run, watch)?;
    let bucket_rows = (sorted.count() / BUCKETS_MAX + 1).max(BUCKET_ROWS_MIN);
    fs::create_dir_all(&paths.work).map_err(|e| Error::file("write", &paths.work, &e))?;
    let mut buckets = Buckets::new(&paths.work, bucket_rows);
    let total = sorted.count();
    let mut cells = Cells::new(run, &mut sorted)?;
    let mut done = 0;
    let (mut rows_of, mut same_key) = ((0, 0), 0);
    let mut busiest = |rows: u64, cell: i128| {
        if rows > rows_of.0 {
            rows_of = (rows, cell);
        }
    };
    let result = loop {
        let Some(cell) = cells.next()? else { break Ok(()) };
        let counts = cells.counts.drain();
        let placer = Placer::new(&run.scheme, &run.reader.nodes, cell, cells.next_cell, counts);
        let mut placer = match placer {
            Ok(placer) => placer,
            Err(full) => break Err((full, cells.first_row)),
        };
        let (mut size, mut before) = (0, None);
        let mut full = None;
        while let Some(row) = cells.take(cell)? {
            let member = row.member();
            match placer.place(member) {
                Ok(id) => buckets.put(row.row(), id)?,
                Err(exhausted) => {
                    full = Some(exhausted);
                    break;
                }
            }
            same_key += u64::from(before == Some(member));
            before = Some(member);
            size += 1;
            done += 1;
            if done % EVERY_ROWS == 0 {
                watch(Progress {
                    phase: Phase::Sorting,
                    done,
                    total: Some(total),
                    rows: done,
                });
            }
        }
        if let Some(full) = full {
            break Err((full, cells.first_row));
        }
        busiest(size, cell);
    };
    if let Err((full, row)) = result {
        return Err(exhausted(run, &full, row));
    }
    buckets.finish()?;
    run.filled.zones = run.reader.times.seen.clone();
    if run.scheme.options().keyed {
        run.filled.same_key = same_key;
    }
    if rows_of.0 > 0 {
        run.filled.cell(rows_of.1, rows_of.0);
    }
    Ok(bucket_rows)
}

fn read(run: &mut BackfillRun<'_>, watch: Watch<'_>) -> Result<Sorted<SortRow>, Error> {
    let mut sorter = Sorter::new(run.options.memory_bytes, &run.temp());
    let keyed = run.scheme.options().keyed;
    let name = run.rows.name().to_string();
    let (mut seen, mut members) = (0u64, 0u64);
    while let Some(row) = run.rows.next()? {
        seen += 1;
        if seen.is_multiple_of(EVERY_ROWS) {
            watch(Progress {
                phase: Phase::Reading,
                done: run.meter.bytes(),
                total: run.total,
                rows: seen,
            });
        }
        if row.blank {
            continue;
        }
        match run.reader.read(&row, &name, &run.scheme) {
            Ok(Facts { at, cell, member }) => {
                run.filled.saw(at);
                let time = if keyed { cell } else { at.unix_nanos() };
                sorter.push(SortRow::new(time, member, members))?;
                members += 1;
            }
            Err(bad) => keep(bad, run.options.unparsable)?,
        }
    }
    run.unchanged()?;
    sorter.finish()
}

/// The cells of a sorted stream, each with the number of its rows before its first row is taken.
struct Cells<'a> {
    scheme: &'a super::scheme::Scheme,
    sorted: &'a mut Sorted<SortRow>,
    /// The first row of the next cell.
    head: Option<SortRow>,
    next_cell: Option<i128>,
    /// Rows of this cell that were read to count them: first those in memory, then those in the file.
    held: std::collections::VecDeque<SortRow>,
    more: Option<Overflow>,
    counts: HashMap<u32, u64>,
    first_row: u64,
    folder: PathBuf,
}

/// The rows of a cell that memory does not hold.
struct Overflow {
    file: BufReader<File>,
    left: u64,
}

impl<'a> Cells<'a> {
    fn new(run: &'a BackfillRun<'_>, sorted: &'a mut Sorted<SortRow>) -> Result<Cells<'a>, Error> {
        let head = sorted.next()?;
        Ok(Cells {
            scheme: &run.scheme,
            sorted,
            head,
            next_cell: None,
            held: std::collections::VecDeque::new(),
            more: None,
            counts: HashMap::new(),
            first_row: 0,
            folder: run.temp(),
        })
    }

    fn cell_of(&self, row: &SortRow) -> i128 {
        let at = mintage::Timestamp::from_unix_nanos(row.nanos());
        self.scheme.cell_of(at).unwrap_or_else(|_| row.nanos())
    }

    /// Goes on to the next cell; where rows are counted, reads all of it.
    fn next(&mut self) -> Result<Option<i128>, Error> {
        let Some(first) = self.head else {
            return Ok(None);
        };
        let cell = self.cell_of(&first);
        self.first_row = first.row();
        if self.scheme.wide() {
            return Ok(Some(cell));
        }
        self.counts.clear();
        let mut spill: Option<BufWriter<File>> = None;
        let mut spilled = 0;
        let cannot = |e: &io::Error, folder: &Path| Error::file("keep temporary data in", folder, e);
        while let Some(row) = self.head {
            if self.cell_of(&row) != cell {
                break;
            }
            *self.counts.entry(row.node).or_insert(0) += 1;
            if self.held.len() < HELD_MAX {
                self.held.push_back(row);
            } else {
                let out = match &mut spill {
                    Some(out) => out,
                    None => {
                        let file =
                            tempfile::tempfile_in(&self.folder).map_err(|e| cannot(&e, &self.folder))?;
                        spill.insert(BufWriter::with_capacity(256 * 1024, file))
                    }
                };
                let mut bytes = [0; SortRow::BYTES];
                row.put(&mut bytes);
                out.write_all(&bytes).map_err(|e| cannot(&e, &self.folder))?;
                spilled += 1;
            }
            self.head = self.sorted.next()?;
        }
        self.next_cell = self.head.map(|row| self.cell_of(&row));
        if let Some(spill) = spill {
            let mut file = spill
                .into_inner()
                .map_err(|e| cannot(&e.into_error(), &self.folder))?;
            file.seek(SeekFrom::Start(0))
                .map_err(|e| cannot(&e, &self.folder))?;
            self.more = Some(Overflow {
                file: BufReader::with_capacity(256 * 1024, file),
                left: spilled,
            });
        }
        Ok(Some(cell))
    }

    /// The next row of the cell.
    fn take(&mut self, cell: i128) -> Result<Option<SortRow>, Error> {
        if !self.scheme.wide() {
            if let Some(row) = self.held.pop_front() {
                return Ok(Some(row));
            }
            let Some(more) = self.more.as_mut().filter(|more| more.left > 0) else {
                return Ok(None);
            };
            more.left -= 1;
            let mut bytes = [0; SortRow::BYTES];
            more.file
                .read_exact(&mut bytes)
                .map_err(|e| Error::file("read temporary data in", &self.folder, &e))?;
            return Ok(Some(SortRow::get(&bytes)));
        }
        match self.head {
            Some(row) if self.cell_of(&row) == cell => {
                self.head = self.sorted.next()?;
                Ok(Some(row))
            }
            _ => Ok(None),
        }
    }
}

/// The files of the work folder, while they are written.
struct Buckets {
    folder: PathBuf,
    rows: u64,
    files: Vec<Option<BufWriter<File>>>,
}

impl Buckets {
    fn new(folder: &Path, rows: u64) -> Buckets {
        Buckets {
            folder: folder.to_path_buf(),
            rows,
            files: Vec::new(),
        }
    }

    #[inline]
    fn put(&mut self, row: u64, id: u128) -> Result<(), Error> {
        let bucket = (row / self.rows) as usize;
        if self.files.len() <= bucket {
            self.files.resize_with(bucket + 1, || None);
        }
        let cannot = |e: &io::Error, folder: &Path| Error::file("write", folder, e);
        let file = match &mut self.files[bucket] {
            Some(file) => file,
            empty => {
                let path = bucket_path(&self.folder, bucket as u64);
                let file = File::create(&path).map_err(|e| cannot(&e, &path))?;
                empty.insert(BufWriter::with_capacity(64 * 1024, file))
            }
        };
        let mut record = [0; BUCKET_RECORD];
        record[..4].copy_from_slice(&((row % self.rows) as u32).to_be_bytes());
        record[4..].copy_from_slice(&id.to_be_bytes());
        file.write_all(&record).map_err(|e| cannot(&e, &self.folder))
    }

    /// Makes them durable: a checkpoint will rely on them.
    fn finish(self) -> Result<(), Error> {
        let cannot = |e: &io::Error| Error::file("write", &self.folder, e);
        for file in self.files.into_iter().flatten() {
            let file = file.into_inner().map_err(|e| cannot(&e.into_error()))?;
            file.sync_data().map_err(|e| cannot(&e))?;
        }
        File::open(&self.folder)
            .and_then(|folder| folder.sync_all())
            .map_err(|e| cannot(&e))
    }
}

fn bucket_path(folder: &Path, bucket: u64) -> PathBuf {
    folder.join(format!("{bucket:05}"))
}

/// An offset and an id.
const BUCKET_RECORD: usize = 4 + 16;
const BUCKET_ROWS_MIN: u64 = 1 << 22;
/// So many files are open at once, below the usual limit of 1024.
const BUCKETS_MAX: u64 = 256;
/// How many rows of a cell are held in memory while they are counted.
const HELD_MAX: usize = 1 << 20;

/// Reads the rows once more and writes them with their ids.
pub(super) fn write(
    run: &mut BackfillRun<'_>,
    out: &mut Output<Saved>,
    paths: &Paths,
    bucket_rows: u64,
    mut members: u64,
    watch: Watch<'_>,
) -> Result<(), Error> {
    let mut writing = Writing::new(out);
    if run.filled.resumed_after.is_none() {
        let filled = run.filled.clone();
        run.again()?;
        run.filled = filled;
        header(run, &mut writing);
    }
    let name = run.rows.name().to_string();
    let mut ids: Vec<u128> = Vec::new();
    let mut loaded = None;
    let begun = run.filled.rows + run.filled.kept;
    let mut seen = 0u64;
    while let Some(row) = run.rows.next()? {
        seen += 1;
        if seen.is_multiple_of(EVERY_ROWS) {
            watch(Progress {
                phase: Phase::Writing,
                done: run.meter.bytes(),
                total: run.total,
                rows: begun + seen,
            });
        }
        // Which rows have ids was decided in the first reading, and is decided alike now.
        let good = !row.blank
            && (run.options.unparsable == Unparsable::Stop
                || run.reader.read(&row, &name, &run.scheme).is_ok());
        let before = writing.block.len();
        if good {
            let bucket = members / bucket_rows;
            if loaded != Some(bucket) {
                load(&bucket_path(&paths.work, bucket), &mut ids)?;
                loaded = Some(bucket);
            }
            let id = ids
                .get((members % bucket_rows) as usize)
                .copied()
                .unwrap_or_default();
            run.emitter
                .row(row.raw, row.newline, id, &run.scheme, &mut writing.block);
            members += 1;
            run.filled.rows += 1;
        } else {
            run.emitter
                .without(row.raw, row.newline, row.blank, &mut writing.block);
            if !row.blank {
                run.filled.kept += 1;
                run.filled.first_kept.get_or_insert(row.line);
            }
        }
        writing.rows += 1;
        writing.bytes += (writing.block.len() - before) as u64;
        if writing.block.len() >= BLOCK_BYTES {
            writing.flush()?;
        }
        let after = run.rows.place();
        mark(run, &mut writing, after, members, How::Sorted { bucket_rows })?;
    }
    writing.flush()
}

/// Reads the ids of one file into their places.
fn load(path: &Path, ids: &mut Vec<u128>) -> Result<(), Error> {
    let cannot = |e: &io::Error| Error::file("read", path, e);
    let file = File::open(path).map_err(|e| cannot(&e))?;
    let count = file.metadata().map_err(|e| cannot(&e))?.len() as usize / BUCKET_RECORD;
    let mut file = BufReader::with_capacity(256 * 1024, file);
    ids.clear();
    ids.resize(count, 0);
    let mut record = [0; BUCKET_RECORD];
    for _ in 0..count {
        file.read_exact(&mut record).map_err(|e| cannot(&e))?;
        let offset = u32::from_be_bytes(*record.first_chunk().expect("20 octets")) as usize;
        let id = u128::from_be_bytes(*record[4..].first_chunk().expect("20 octets"));
        if let Some(place) = ids.get_mut(offset) {
            *place = id;
        }
    }
    Ok(())
}

/// The error of a full cell, for which the line of its first row is looked up.
fn exhausted(run: &mut BackfillRun<'_>, full: &Exhausted, row: u64) -> Error {
    let (message, hint) = run.scheme.exhausted(full);
    let line = line_of(run, row).ok().flatten();
    match line {
        Some(line) => Error::at(run.rows.name(), line, message),
        None => Error::data(message),
    }
    .with_hint(hint)
}

fn line_of(run: &mut BackfillRun<'_>, wanted: u64) -> Result<Option<u64>, Error> {
    run.again()?;
    let name = run.rows.name().to_string();
    let mut members = 0;
    while let Some(row) = run.rows.next()? {
        if row.blank || run.reader.read(&row, &name, &run.scheme).is_err() {
            continue;
        }
        if members == wanted {
            return Ok(Some(row.line));
        }
        members += 1;
    }
    Ok(None)
}
