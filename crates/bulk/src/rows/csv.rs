//! Fields parted by a character.
//!
//! A row without a quote is split at the delimiters; one with a quote goes through `csv_core`, which knows that a
//! quoted field may hold delimiters and newlines.

use csv_core::{ReadRecordResult, Reader, ReaderBuilder, Terminator};

use super::{Dialect, FieldPlace, Found, Problem};
use crate::error::Error;
use crate::lines::{Lines, RECORD_BYTES_MAX};

/// Reads rows of one dialect.
pub(super) struct Fields {
    dialect: Dialect,
    /// Made for the first row that needs it: its tables take longer to make than a short file to read.
    reader: Option<Reader>,
    /// By column: which of the wanted ones it is.
    slots: Vec<Option<Vec<usize>>>,
    /// The last row that went through `csv_core`: its unquoted text, and where each field of it ends.
    text: Vec<u8>,
    ends: Vec<usize>,
    fields: usize,
    /// How many lines that row takes, if it ends with the file and not with its last quote.
    open: Option<u64>,
}

impl Fields {
    pub(super) fn new(dialect: Dialect) -> Fields {
        Fields {
            dialect,
            reader: None,
            slots: Vec::new(),
            text: vec![0; 1024],
            ends: vec![0; 32],
            fields: 0,
            open: None,
        }
    }

    pub(super) fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// Sets how many columns a row must have, and which are wanted.
    pub(super) fn expect(&mut self, slots: Vec<Option<Vec<usize>>>) {
        self.slots = slots;
    }

    /// Whether a line is a row that needs no unquoting.
    #[inline]
    pub(super) fn simple(&self, line: &[u8]) -> bool {
        !self.dialect.quotes || memchr::memchr(b'"', line).is_none()
    }

    /// Splits a line without quotes.
    #[inline]
    pub(super) fn split(&self, line: &[u8], found: &mut Found) -> Result<(), Problem> {
        let mut column = 0;
        let mut start = 0;
        let mut take = |column: usize, start: usize, end: usize| {
            if let Some(Some(wanted)) = self.slots.get(column) {
                for wanted in wanted {
                    found.places[*wanted] = FieldPlace::Raw(start, end);
                }
            }
        };
        for end in memchr::memchr_iter(self.dialect.delimiter, line) {
            take(column, start, end);
            column += 1;
            start = end + 1;
        }
        take(column, start, line.len());
        self.checked(column + 1)
    }

    /// Reads the row at the front through `csv_core`; `end` is the end of its first line. Gives its length and how
    /// many lines it takes.
    pub(super) fn quoted(&mut self, lines: &mut Lines, mut end: usize) -> Result<(usize, u64), Error> {
        let reader = self.reader.get_or_insert_with(|| new_reader(self.dialect));
        reader.reset();
        self.open = None;
        let (mut read, mut written, mut fields, mut count) = (0, 0, 0, 1);
        loop {
            let (result, taken, gave, ended) = reader.read_record(
                &lines.data()[read..end],
                &mut self.text[written..],
                &mut self.ends[fields..],
            );
            read += taken;
            written += gave;
            fields += ended;
            match result {
                ReadRecordResult::OutputFull => self.text.resize(self.text.len() * 2, 0),
                ReadRecordResult::OutputEndsFull => self.ends.resize(self.ends.len() * 2, 0),
                ReadRecordResult::Record | ReadRecordResult::End => break,
                ReadRecordResult::InputEmpty if written > RECORD_BYTES_MAX => {
                    return Err(Error::at(
                        lines.name(),
                        lines.line() + 1,
                        format_args!(
                            "this row is longer than {} MiB; a quote may not be closed",
                            RECORD_BYTES_MAX >> 20
                        ),
                    ));
                }
                // With an empty rest, `csv_core` is told that the input has ended.
                ReadRecordResult::InputEmpty => {
                    if let Some(next) = lines.line_end(end)? {
                        end = next;
                        count += 1;
                    } else if self.open.is_none() && in_quotes(&lines.data()[..end], count) {
                        self.open = Some(count);
                    }
                }
            }
        }
        self.fields = fields;
        if let Some(last) = fields.checked_sub(1)
            && self.ends[last] > 0
            && lines.data()[..end].ends_with(b"\r\n")
            && self.text[self.ends[last] - 1] == b'\r'
        {
            self.ends[last] -= 1;
        }
        Ok((end, count))
    }

    /// The wanted fields of the row that [`Fields::quoted`] read.
    pub(super) fn take_quoted(&self, found: &mut Found) -> Result<(), Problem> {
        for (column, wanted) in self.slots.iter().enumerate() {
            let (Some(wanted), true) = (wanted, column < self.fields) else {
                continue;
            };
            let from = found.scratch.len();
            found.scratch.extend_from_slice(self.text(column));
            for wanted in wanted {
                found.places[*wanted] = FieldPlace::Scratch(from, found.scratch.len());
            }
        }
        match self.open {
            Some(lines) => Err(Problem::OpenQuote { lines }),
            None => self.checked(self.fields),
        }
    }

    /// The fields of a line without quotes, as names.
    pub(super) fn plain_names(&self, line: &[u8]) -> Vec<String> {
        line.split(|b| *b == self.dialect.delimiter).map(name).collect()
    }

    /// The fields of the row that [`Fields::quoted`] read, as names.
    pub(super) fn names(&self) -> Vec<String> {
        (0..self.fields).map(|column| name(self.text(column))).collect()
    }

    fn text(&self, column: usize) -> &[u8] {
        let start = column.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[start..self.ends[column].max(start)]
    }

    #[inline]
    fn checked(&self, found: usize) -> Result<(), Problem> {
        match found == self.slots.len() {
            true => Ok(()),
            false => Err(Problem::Ragged {
                found,
                expected: self.slots.len(),
            }),
        }
    }
}

fn new_reader(dialect: Dialect) -> Reader {
    ReaderBuilder::new()
        .delimiter(dialect.delimiter)
        .quoting(dialect.quotes)
        // A carriage return before it is taken off by us, so that a lone one is data here as in the fast way.
        .terminator(Terminator::Any(b'\n'))
        .build()
}

fn name(field: &[u8]) -> String {
    String::from_utf8_lossy(field).trim().to_string()
}

/// Whether a row of this many lines, ended by the end of the file, is in a quoted field there. A newline that ended
/// no row was in one; behind the last newline, quotes are counted.
fn in_quotes(row: &[u8], lines: u64) -> bool {
    row.ends_with(b"\n") || lines > 1 && memchr::memchr_iter(b'"', row).count() % 2 == 1
}
