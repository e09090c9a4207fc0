//! Rows and ids out of memory, by the code that reads them from files.
//!
//! Hidden from the documentation: it is there for `fuzz/`, which reads a million inputs and has no time to give each a
//! file and a thread.

pub use crate::audit::{IdRead, read_id};
use crate::error::Error;
use crate::input::Blocks;
use crate::rows::{RowFormat, Rows};

/// All that the rows of an input come to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RowsRead {
    /// The bytes of the row that names the columns.
    pub header: Vec<u8>,
    /// The others.
    pub rows: Vec<RowRead>,
}

/// What a row comes to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RowRead {
    /// The number of its first line, from 1.
    pub line: u64,
    /// Its bytes, newline included.
    pub raw: Vec<u8>,
    /// An empty line.
    pub blank: bool,
    /// The columns asked for.
    pub fields: Vec<Option<Vec<u8>>>,
    /// Why they are not to be had.
    pub problem: Option<String>,
    /// Where reading would go on after it: bytes and lines before that place.
    pub next: (u64, u64),
}

/// Reads the rows of these bytes.
///
/// # Errors
/// There is no such column, or no header.
pub fn read_rows(bytes: Vec<u8>, format: &RowFormat, columns: &[String]) -> Result<RowsRead, Error> {
    let mut rows = Rows::new(Blocks::in_memory(bytes, "memory"), format, columns)?;
    let mut read = Vec::new();
    while let Some(row) = rows.next()? {
        let fields = (0..columns.len()).map(|column| row.field(column).map(<[u8]>::to_vec));
        let mut row = RowRead {
            line: row.line,
            raw: [row.raw, row.newline].concat(),
            blank: row.blank,
            fields: fields.collect(),
            problem: row.problem.as_ref().map(ToString::to_string),
            next: (0, 0),
        };
        let next = rows.place();
        row.next = (next.offset, next.line);
        read.push(row);
    }
    Ok(RowsRead {
        header: rows.header().map_or_else(Vec::new, |header| header.raw.clone()),
        rows: read,
    })
}
