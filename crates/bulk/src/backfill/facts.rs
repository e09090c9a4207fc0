//! From a row to what its id is made of: time, cell, node, key.

use mintage::Timestamp;

use super::nodes::Nodes;
use super::scheme::{Member, Scheme};
use crate::error::Error;
use crate::hint::Hint;
use crate::rows::{Row, Rows};
use crate::time::{TimeProblem, TimeReader};

/// Which of the wanted columns is which.
#[derive(Clone, Debug)]
pub(super) struct Columns {
    /// The names, in the order in which rows are asked for them: the time first.
    pub(super) wanted: Vec<String>,
    node: Option<usize>,
    keys: std::ops::Range<usize>,
    /// The new column's name, for rows that each say their own names.
    own: Option<usize>,
}

impl Columns {
    pub(super) fn new(time: &str, node: Option<&str>, keys: &[String], own: Option<&str>) -> Columns {
        let mut wanted = vec![time.to_string()];
        let node = node.map(|node| {
            wanted.push(node.to_string());
            wanted.len() - 1
        });
        let first = wanted.len();
        wanted.extend(keys.iter().cloned());
        let keys = first..wanted.len();
        let own = own.map(|own| {
            wanted.push(own.to_string());
            wanted.len() - 1
        });
        Columns {
            wanted,
            node,
            keys,
            own,
        }
    }
}

/// What a row's id is made of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Facts {
    pub(super) at: Timestamp,
    pub(super) cell: i128,
    pub(super) member: Member,
}

/// Why a row gets no id.
#[derive(Debug)]
pub(super) struct Bad {
    pub(super) error: Error,
    /// What kind of fault it is, a phrase.
    pub(super) kind: &'static str,
    /// Whether `--unparsable keep` lets it pass without an id.
    pub(super) passes: bool,
}

/// Reads rows.
pub(super) struct Interpreter {
    pub(super) columns: Columns,
    pub(super) times: TimeReader,
    pub(super) nodes: Nodes,
}

impl Interpreter {
    #[inline]
    pub(super) fn read(&mut self, row: &Row<'_>, file: &str, scheme: &Scheme) -> Result<Facts, Bad> {
        if row.problem.is_some() {
            return Err(broken(row, file));
        }
        let Some(text) = row.field(0) else {
            return Err(self.absent(row, file, 0));
        };
        let at = match self.times.read(text, row.line) {
            Ok(at) => at,
            Err(problem) => {
                return Err(Bad {
                    error: self.times.refuse(file, row.line, text, problem),
                    kind: problem.kind(),
                    // A missing zone is not the row's fault.
                    passes: problem != TimeProblem::NoZone,
                });
            }
        };
        let cell = scheme.cell_of(at).map_err(|why| Bad {
            error: Error::at(file, row.line, why).with_hint(scheme.hint_out_of_range()),
            kind: "the time does not fit the format",
            passes: true,
        })?;
        let mut member = Member { node: 0, hash: 0 };
        if let Some(column) = self.columns.node {
            let Some(text) = row.field(column) else {
                return Err(self.absent(row, file, column));
            };
            member.node = self.nodes.index(text, scheme).map_err(|why| Bad {
                error: Error::at(file, row.line, why),
                kind: "the node cannot be used",
                passes: true,
            })?;
        }
        if !self.columns.keys.is_empty() {
            let mut missing = None;
            let fields = self.columns.keys.clone().chain(self.columns.node);
            let fields = fields.map(|column| match row.field(column) {
                Some(text) => text,
                None => {
                    missing = Some(column);
                    &[]
                }
            });
            member.hash = scheme.hash(fields);
            if let Some(column) = missing {
                return Err(self.absent(row, file, column));
            }
        }
        if let Some(own) = self.columns.own
            && row.field(own).is_some()
        {
            return Err(Bad {
                error: taken(file, row.line, &self.columns.wanted[own]),
                kind: "the row has the new column already",
                passes: false,
            });
        }
        Ok(Facts { at, cell, member })
    }

    #[cold]
    fn absent(&self, row: &Row<'_>, file: &str, column: usize) -> Bad {
        Bad {
            error: Rows::absent(row, file, &self.columns.wanted[column]),
            kind: "a field is absent or null",
            passes: true,
        }
    }
}

#[cold]
fn broken(row: &Row<'_>, file: &str) -> Bad {
    let why = row.problem.as_ref().map(ToString::to_string).unwrap_or_default();
    Bad {
        error: Error::at(file, row.line, why).with_hint(Hint::LetPass),
        kind: "the row cannot be taken apart",
        passes: true,
    }
}

/// The new column would have the name of an old one.
pub(super) fn taken(file: &str, line: u64, name: &str) -> Error {
    Error::at(file, line, format_args!("there is a column {name:?} already")).with_hint(Hint::ColumnName)
}
