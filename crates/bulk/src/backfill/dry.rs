//! What a back-fill would stumble over, without writing anything.

use serde::Serialize;

use super::facts::Bad;
use super::placer::Placer;
use super::{BackfillRun, Filled};
use crate::error::Error;
use crate::hint::Hint;
use crate::progress::{Phase, Watch, tell};

/// A line that a back-fill could not use.
#[derive(Clone, PartialEq, Eq, Serialize, Debug)]
pub struct Trouble {
    /// Its number, from 1.
    pub line: u64,
    /// What is wrong with it.
    pub what: String,
}

/// A kind of fault, and how often it was met.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TroubleKind {
    /// What is wrong, a phrase.
    pub what: &'static str,
    /// How many lines.
    pub lines: u64,
    /// The first of them.
    pub first_line: u64,
    /// What to do about it, where an option helps.
    pub hint: Option<Hint>,
}

/// What a dry run found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DryRun {
    /// What a back-fill would report.
    pub filled: Filled,
    /// How many lines could not be used.
    pub troubles: u64,
    /// The first 1000 of them.
    pub listed: Vec<Trouble>,
    /// All of them by kind, most lines first.
    pub kinds: Vec<TroubleKind>,
    /// The time that has more rows than ids, if one was met; not looked for behind the first row out of order.
    pub exhausted: Option<Trouble>,
    /// What to do about the kind with the most lines for which an option helps.
    pub hint: Option<Hint>,
}

impl DryRun {
    /// Whether a back-fill would succeed, as far as reading shows.
    pub fn sound(&self) -> bool {
        self.troubles == 0 && self.exhausted.is_none()
    }

    /// A row that cannot be used.
    fn trouble(&mut self, bad: Bad, name: &str, line: u64) {
        self.troubles += 1;
        if self.listed.len() < LISTED_MAX {
            let message = &bad.error.message;
            let what = message.strip_prefix(&format!("{name}:{line}: "));
            self.listed.push(Trouble {
                line,
                what: what.unwrap_or(message).to_string(),
            });
        }
        // What a dry run would list is listed here.
        let hint = bad.error.hint.filter(|hint| !hint.asks_for_a_dry_run());
        self.count(bad.kind, line, hint);
    }

    fn count(&mut self, what: &'static str, line: u64, hint: Option<Hint>) {
        match self.kinds.iter_mut().find(|kind| kind.what == what) {
            Some(kind) => {
                kind.lines += 1;
                kind.hint = kind.hint.take().or(hint);
            }
            None => self.kinds.push(TroubleKind {
                what,
                lines: 1,
                first_line: line,
                hint,
            }),
        }
    }
}

/// Rows of one cell, and of each node in it.
#[derive(Default)]
struct Count {
    cell: Option<i128>,
    rows: u64,
    first_line: u64,
    by_node: std::collections::HashMap<u32, u64>,
}

pub(super) fn run(mut run: BackfillRun<'_>, watch: Watch<'_>) -> Result<DryRun, Error> {
    let mut found = DryRun {
        filled: Filled::default(),
        troubles: 0,
        listed: Vec::new(),
        kinds: Vec::new(),
        exhausted: None,
        hint: None,
    };
    let name = run.rows.name().to_string();
    let mut count = Count::default();
    let mut seen = 0u64;
    while let Some(row) = run.rows.next()? {
        seen += 1;
        tell(watch, Phase::Reading, seen, run.total, || run.meter.bytes());
        if row.blank {
            continue;
        }
        let facts = match run.reader.read(&row, &name, &run.scheme) {
            Ok(facts) => facts,
            Err(bad) => {
                found.trouble(bad, &name, row.line);
                continue;
            }
        };
        let line = row.line;
        run.filled.rows += 1;
        run.filled.saw(facts.at);
        if run.filled.out_of_order.is_some() {
            continue;
        }
        if count.cell != Some(facts.cell) {
            if count.cell.is_some_and(|before| facts.cell < before) {
                run.filled.out_of_order = Some(line);
                continue;
            }
            close(&mut run, &mut count, Some(facts.cell), &mut found);
            count.cell = Some(facts.cell);
            count.first_line = line;
        }
        count.rows += 1;
        if run.scheme.options().node_column {
            *count.by_node.entry(facts.member.node).or_insert(0) += 1;
        }
    }
    if run.filled.out_of_order.is_none() {
        close(&mut run, &mut count, None, &mut found);
    }
    run.filled.zones = run.reader.times.seen.clone();
    found.filled = run.filled;
    found.kinds.sort_by_key(|kind| std::cmp::Reverse(kind.lines));
    let of_most = found.kinds.iter().find_map(|kind| kind.hint.clone());
    found.hint = of_most.or(found.hint);
    Ok(found)
}

/// Checks that the rows of a cell have ids.
fn close(run: &mut BackfillRun<'_>, count: &mut Count, next: Option<i128>, found: &mut DryRun) {
    let Some(cell) = count.cell else { return };
    let counts: Vec<(u32, u64)> = match run.scheme.options().node_column {
        true => count.by_node.drain().collect(),
        false => vec![(0, count.rows)],
    };
    run.filled.cell(cell, count.rows);
    if let Err(full) = Placer::new(&run.scheme, &run.reader.nodes, cell, next, counts.into_iter())
        && found.exhausted.is_none()
    {
        let (what, hint) = run.scheme.exhausted(&full);
        found.exhausted = Some(Trouble {
            line: count.first_line,
            what,
        });
        found.hint.get_or_insert(hint);
    }
    count.rows = 0;
}

const LISTED_MAX: usize = 1000;
