//! Rows in the order of their times: read, given an id, written, a cell at a time.

use std::collections::HashMap;

use super::facts::{Bad, Facts};
use super::output::Output;
use super::placer::Placer;
use super::scheme::{Exhausted, Member};
use super::{BackfillRun, How, Saved, Unparsable};
use crate::error::Error;
use crate::progress::{EVERY_ROWS, Phase, Progress, Watch};
use crate::rows::{Position, Row};

/// How streaming ended.
pub(super) enum Streamed {
    Done,
    /// A row is earlier than the one before it, or a cell is too large to hold.
    OutOfOrder {
        line: Option<u64>,
    },
}

/// The rows of the cell that is being read, and lines between them that get no id.
#[derive(Default)]
struct Pending {
    cell: Option<i128>,
    first_line: u64,
    raw: Vec<u8>,
    items: Vec<Item>,
    members: Vec<Waiting>,
}

/// One line, or one row of several.
struct Item {
    end: usize,
    newline: u8,
    kind: Kind,
}

#[derive(PartialEq, Eq)]
enum Kind {
    Row,
    Without,
    Blank,
}

#[derive(Clone, Copy)]
struct Waiting {
    at_ns: i128,
    member: Member,
}

impl Pending {
    fn push(&mut self, row: &Row<'_>, kind: Kind) {
        self.raw.extend_from_slice(row.raw);
        self.raw.extend_from_slice(row.newline);
        self.items.push(Item {
            end: self.raw.len(),
            newline: row.newline.len() as u8,
            kind,
        });
    }

    fn clear(&mut self) {
        self.raw.clear();
        self.items.clear();
        self.members.clear();
    }
}

/// What is written and how much since the last mark.
pub(super) struct Writing<'a> {
    out: &'a mut Output<Saved>,
    pub(super) block: Vec<u8>,
    pub(super) rows: u64,
    pub(super) bytes: u64,
}

/// Streams the rows from where the run is.
pub(super) fn run(
    run: &mut BackfillRun<'_>,
    out: &mut Output<Saved>,
    saved: Option<&Saved>,
    watch: Watch<'_>,
) -> Result<Streamed, Error> {
    let mut writing = Writing::new(out);
    let mut last = None;
    let mut members = 0;
    match saved {
        Some(saved) => {
            members = saved.members;
            if let How::Streaming { cell } = saved.how {
                last = cell;
            }
        }
        None => header(run, &mut writing),
    }
    let name = run.rows.name().to_string();
    let begun = run.filled.rows + run.filled.kept;
    let (mut pending, mut closed) = (Pending::default(), Pending::default());
    let mut seen = 0u64;
    loop {
        let here = run.rows.place();
        let Some(row) = run.rows.next()? else { break };
        seen += 1;
        if seen.is_multiple_of(EVERY_ROWS) {
            watch(Progress {
                phase: Phase::Reading,
                done: run.meter.bytes(),
                total: run.total,
                rows: begun + seen,
            });
        }
        let facts = match row.blank {
            true => None,
            false => match run.reader.read(&row, &name, &run.scheme) {
                Ok(facts) => Some(facts),
                Err(bad) => {
                    keep(bad, run.options.unparsable)?;
                    run.filled.kept += 1;
                    run.filled.first_kept.get_or_insert(row.line);
                    None
                }
            },
        };
        let Some(Facts { at, cell, member }) = facts else {
            pending.push(&row, if row.blank { Kind::Blank } else { Kind::Without });
            if pending.members.is_empty() {
                close(run, &mut pending, None, &mut writing)?;
            } else if pending.raw.len() > PENDING_BYTES_MAX {
                return Ok(Streamed::OutOfOrder { line: None });
            }
            continue;
        };
        if pending.cell != Some(cell) {
            if pending.cell.or(last).is_some_and(|before| cell <= before) {
                return Ok(Streamed::OutOfOrder { line: Some(row.line) });
            }
            std::mem::swap(&mut pending, &mut closed);
            pending.cell = Some(cell);
            pending.first_line = row.line;
        } else if pending.raw.len() > PENDING_BYTES_MAX {
            return Ok(Streamed::OutOfOrder { line: None });
        }
        pending.push(&row, Kind::Row);
        pending.members.push(Waiting {
            at_ns: at.unix_nanos(),
            member,
        });
        if !closed.items.is_empty() {
            members += closed.members.len() as u64;
            last = closed.cell;
            close(run, &mut closed, Some(cell), &mut writing)?;
            let how = How::Streaming { cell: last };
            mark(run, &mut writing, here, members, how)?;
        }
        run.filled.saw(at);
    }
    close(run, &mut pending, None, &mut writing)?;
    writing.flush()?;
    run.filled.zones = run.reader.times.seen.clone();
    Ok(Streamed::Done)
}

/// Writes the header, which names the new column.
pub(super) fn header(run: &BackfillRun<'_>, writing: &mut Writing<'_>) {
    if let Some(header) = run.rows.header() {
        run.emitter.header(&header.raw, &mut writing.block);
    }
}

/// Ends the run, or lets a row pass without an id.
pub(super) fn keep(bad: Bad, unparsable: Unparsable) -> Result<(), Error> {
    match (unparsable, bad.passes) {
        (Unparsable::Keep, true) => Ok(()),
        _ => Err(bad.error),
    }
}

/// Gives the rows of a cell their ids and writes them.
fn close(
    run: &mut BackfillRun<'_>,
    pending: &mut Pending,
    next: Option<i128>,
    writing: &mut Writing<'_>,
) -> Result<(), Error> {
    let before = writing.block.len();
    let items = pending.items.len() as u64;
    let rows = pending.members.len() as u64;
    if rows == 0 {
        write_items(run, pending, std::iter::empty(), &mut writing.block);
    } else {
        let cell = pending.cell.unwrap_or_default();
        let counts = pending.counts(run);
        let placer = Placer::new(&run.scheme, &run.reader.nodes, cell, next, counts.into_iter());
        let mut placer = placer.map_err(|full| exhausted(run, pending.first_line, &full))?;
        let full = |full| exhausted(run, pending.first_line, &full);
        if let Some(order) = pending.order(run) {
            let mut ids = vec![0; pending.members.len()];
            let mut same_key = 0;
            let mut before = None;
            for at in order {
                let member = pending.members[at].member;
                ids[at] = placer.place(member).map_err(full)?;
                same_key += u64::from(before == Some(member));
                before = Some(member);
            }
            write_items(run, pending, ids.into_iter(), &mut writing.block);
            if run.scheme.options().keyed {
                run.filled.same_key += same_key;
            }
        } else {
            // Nearly every cell has one row.
            let first = placer.place(pending.members[0].member).map_err(full)?;
            let mut ids = Vec::new();
            for waiting in &pending.members[1..] {
                ids.push(placer.place(waiting.member).map_err(full)?);
            }
            write_items(
                run,
                pending,
                std::iter::once(first).chain(ids),
                &mut writing.block,
            );
        }
        run.filled.rows += rows;
        run.filled.cell(cell, rows);
    }
    writing.rows += items;
    writing.bytes += (writing.block.len() - before) as u64;
    if writing.block.len() >= BLOCK_BYTES {
        writing.flush()?;
    }
    pending.clear();
    Ok(())
}

impl Pending {
    /// How many rows each node has; only where that matters.
    fn counts(&self, run: &BackfillRun<'_>) -> Vec<(u32, u64)> {
        if run.scheme.wide() {
            return Vec::new();
        }
        if !run.scheme.options().node_column {
            return vec![(0, self.members.len() as u64)];
        }
        let mut counts = HashMap::new();
        for waiting in &self.members {
            *counts.entry(waiting.member.node).or_insert(0) += 1;
        }
        counts.into_iter().collect()
    }

    /// The order in which the rows get their ids, if it is not that of the file.
    fn order(&self, run: &BackfillRun<'_>) -> Option<Vec<usize>> {
        let keyed = run.scheme.options().keyed;
        let rank = |at: &usize| {
            let waiting = &self.members[*at];
            if keyed {
                (i128::from(waiting.member.hash), *at)
            } else {
                (waiting.at_ns, *at)
            }
        };
        let all = 0..self.members.len();
        if self.members.len() < 2 || (!keyed && all.clone().is_sorted_by_key(|at| rank(&at))) {
            return None;
        }
        let mut order: Vec<usize> = all.collect();
        order.sort_unstable_by_key(rank);
        Some(order)
    }
}

fn write_items(
    run: &BackfillRun<'_>,
    pending: &Pending,
    mut ids: impl Iterator<Item = u128>,
    out: &mut Vec<u8>,
) {
    let mut start = 0;
    for item in &pending.items {
        let (raw, newline) =
            pending.raw[start..item.end].split_at(item.end - start - usize::from(item.newline));
        match item.kind {
            Kind::Row => {
                let id = ids.next().expect("every row has an id");
                run.emitter.row(raw, newline, id, &run.scheme, out);
            }
            Kind::Without => run.emitter.without(raw, newline, false, out),
            Kind::Blank => run.emitter.without(raw, newline, true, out),
        }
        start = item.end;
    }
}

fn exhausted(run: &BackfillRun<'_>, line: u64, full: &Exhausted) -> Error {
    let (message, hint) = run.scheme.exhausted(full);
    Error::at(run.rows.name(), line, message).with_hint(hint)
}

/// Ends a frame where the input says so: the same places in every run.
pub(super) fn mark(
    run: &BackfillRun<'_>,
    writing: &mut Writing<'_>,
    position: Position,
    members: u64,
    how: How,
) -> Result<(), Error> {
    if writing.rows < MARK_ROWS && writing.bytes < MARK_BYTES {
        return Ok(());
    }
    writing.flush()?;
    (writing.rows, writing.bytes) = (0, 0);
    writing.out.mark(run.saved(position, members, how))
}

impl<'a> Writing<'a> {
    pub(super) fn new(out: &'a mut Output<Saved>) -> Writing<'a> {
        Writing {
            out,
            block: Vec::with_capacity(2 * BLOCK_BYTES),
            rows: 0,
            bytes: 0,
        }
    }

    pub(super) fn flush(&mut self) -> Result<(), Error> {
        self.out.write(&mut self.block)
    }
}

/// Written out when this much has gathered.
pub(super) const BLOCK_BYTES: usize = 512 * 1024;
/// How much the rows of one cell may take in memory.
const PENDING_BYTES_MAX: usize = 64 << 20;
const MARK_ROWS: u64 = 1 << 18;
const MARK_BYTES: u64 = 32 << 20;
