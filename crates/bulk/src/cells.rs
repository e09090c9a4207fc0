//! One column of a source, cell by cell: for those who look at ids and not at piles of them.

use std::borrow::Cow;

use crate::error::Error;
use crate::input::{Meter, Source};
use crate::rows::{RowFormat, Rows};

/// The cells of one column, read as [`audit`](crate::audit()) and [`backfill`](crate::backfill()) read rows.
///
/// ```
/// use mintage_bulk::{Cells, Dialect, RowFormat, Source};
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("orders.csv");
/// std::fs::write(&path, "n,id\n1,a\n2\n")?;
/// let mut cells = Cells::open(&Source::File(path), &RowFormat::Fields(Dialect::CSV), "id")?;
/// assert_eq!(cells.next()?.map(|cell| cell.text.map(String::from)), Some(Ok("a".to_string())));
/// let second = cells.next()?.expect("a row");
/// assert_eq!((second.line, second.text.is_err()), (3, true));
/// assert!(cells.next()?.is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Cells {
    rows: Rows,
    column: String,
}

/// A cell, or why a row has none.
pub struct Cell<'a> {
    /// The line of its row, from 1.
    pub line: u64,
    /// Its text, unescaped; bytes that are not UTF-8 are replaced.
    pub text: Result<Cow<'a, str>, String>,
}

impl Cells {
    /// Opens a source, compressed or not.
    ///
    /// # Errors
    /// It cannot be read, or has no such column.
    pub fn open(source: &Source, format: &RowFormat, column: &str) -> Result<Cells, Error> {
        let wanted = [column.to_string()];
        Ok(Cells {
            rows: Rows::open_ids(source, format, &wanted, &Meter::default())?,
            column: column.to_string(),
        })
    }

    /// The cell of the next row; empty rows are skipped.
    ///
    /// # Errors
    /// The source cannot be read on.
    // It lends what it answers, as no iterator can.
    #[expect(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<Option<Cell<'_>>, Error> {
        loop {
            // Asked for again below: the borrow of a skipped row must end.
            let Some(row) = self.rows.next()? else {
                return Ok(None);
            };
            if row.blank {
                continue;
            }
            let text = match (&row.problem, row.field(0)) {
                (Some(problem), _) => Err(problem.to_string()),
                (None, Some(text)) => Ok(Cow::Owned(String::from_utf8_lossy(text).into_owned())),
                (None, None) => Err(format!("no field {:?}", self.column)),
            };
            return Ok(Some(Cell { line: row.line, text }));
        }
    }
}
