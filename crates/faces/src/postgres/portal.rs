//! A statement with its parameters, and how far its rows have been sent.

use std::cell::Cell;
use std::rc::Rc;

use super::plan::{Statement, Target};
use super::types::{Formats, Value};
use mintage_server::chassis::kept::{Full, Heap, KeptBytes};

/// A statement that was bound, or a cursor.
#[derive(Debug)]
pub(super) struct Portal {
    pub(super) statement: Rc<Statement>,
    pub(super) parameters: Rc<[Value]>,
    pub(super) formats: Formats,
    pub(super) rows: Rows,
    /// It was made by DECLARE.
    pub(super) is_cursor: bool,
    /// It stays when its transaction ends well.
    pub(super) hold: bool,
    /// That transaction has.
    pub(super) committed: Cell<bool>,
    _plan: Rc<KeptBytes>,
    kept: KeptBytes,
}

/// Where the rows of a portal come from, and how far they are.
#[derive(Debug)]
pub(super) enum Rows {
    /// Nothing has been asked for yet.
    NotBegun,
    Of(Source),
    Done,
}

/// What gives rows one after the other.
#[derive(Debug)]
pub(super) enum Source {
    /// One row without columns, on which a list is computed.
    One,
    Series {
        next: i64,
        step: i64,
        left: u64,
    },
    /// New numbers of a sequence.
    Next {
        target: Target,
        left: u64,
    },
    Kept(std::vec::IntoIter<Vec<Value>>),
}

impl Portal {
    pub(super) fn new(
        (statement, plan): (Rc<Statement>, Rc<KeptBytes>),
        parameters: Rc<[Value]>,
        formats: Formats,
        kept: KeptBytes,
    ) -> Portal {
        Portal {
            statement,
            parameters,
            formats,
            rows: Rows::NotBegun,
            is_cursor: false,
            hold: false,
            committed: Cell::new(false),
            _plan: plan,
            kept,
        }
    }

    /// Counts rows that may stay with it.
    ///
    /// # Errors
    /// They are too many.
    pub(super) fn keep_rows(&mut self, rows: &Source) -> Result<(), Full> {
        let Source::Kept(rows) = rows else {
            return Ok(());
        };
        let each = |row: &Vec<Value>| size_of::<Vec<Value>>() + row.heap();
        self.kept.grow(rows.as_slice().iter().map(each).sum())
    }

    /// Whether it stays when a transaction ends; `undone`: by a rollback.
    pub(super) fn outlives_transaction(&self, undone: bool) -> bool {
        let stays = self.is_cursor && self.hold && (!undone || self.committed.get());
        self.committed.set(stays);
        stays
    }
}

impl Source {
    /// How many rows are left at most.
    pub(super) fn left(&self) -> u64 {
        match self {
            Source::One => 1,
            Source::Series { left, .. } | Source::Next { left, .. } => *left,
            Source::Kept(rows) => rows.len() as u64,
        }
    }
}
