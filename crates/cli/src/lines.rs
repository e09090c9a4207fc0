//! Ids from the command line or, for `-`, line by line from standard input.

use std::io::{self, BufRead, BufReader, IsTerminal};

use memchr::memchr;

use crate::errors::Failure;
use crate::out::Out;

/// A longer line is not an id; the rest of it is skipped.
const LINE_MAX: usize = 4096;
/// Read at once.
const CHUNK_BYTES: usize = 256 * 1024;

/// Where an id came from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Argument number, from 0.
    Argument(usize),
    /// Line number, from 1.
    Line(u64),
}

impl Origin {
    /// Whether it is one of many, of which each gets one line.
    pub(crate) fn is_line(self) -> bool {
        matches!(self, Origin::Line(_))
    }
}

/// Calls `each` with every id of `ids`, and with every line of standard input for `-`, or for no id at all where
/// something else writes to it. Whatever it writes is sent before the next line is waited for.
///
/// # Errors
/// There is no id, neither on the command line nor in standard input.
pub(crate) fn for_each(
    ids: &[String],
    out: &mut Out,
    mut each: impl FnMut(&str, Origin, &mut Out) -> Result<(), Failure>,
) -> Result<(), Failure> {
    if ids.is_empty() {
        let nothing = io::stdin().is_terminal() || of_input(out, &mut each)? == 0;
        return match nothing {
            true => Err(Failure::usage("no ID was given")
                .with_hint("write it after the command, or pipe ids into it")),
            false => Ok(()),
        };
    }
    for (at, id) in ids.iter().enumerate() {
        if id == "-" {
            of_input(out, &mut each)?;
        } else {
            each(id, Origin::Argument(at), out)?;
        }
    }
    Ok(())
}

/// Returns how many lines there were.
fn of_input(
    out: &mut Out,
    each: &mut impl FnMut(&str, Origin, &mut Out) -> Result<(), Failure>,
) -> Result<u64, Failure> {
    let mut input = BufReader::with_capacity(CHUNK_BYTES, io::stdin().lock());
    let mut long = Vec::new();
    let mut number = 0;
    loop {
        if memchr(b'\n', input.buffer()).is_none() {
            out.flush()?;
        }
        let buffer = input.fill_buf().map_err(cannot_read)?;
        if buffer.is_empty() {
            return Ok(number);
        }
        number += 1;
        // The common case takes a line in place; one that crosses the buffer's end is put together.
        if let Some(end) = memchr(b'\n', buffer) {
            each(&text(&buffer[..end.min(LINE_MAX)]), Origin::Line(number), out)?;
            input.consume(end + 1);
        } else {
            read_long(&mut input, &mut long).map_err(cannot_read)?;
            each(&text(&long), Origin::Line(number), out)?;
        }
    }
}

/// A line without its end, whichever of the two customs it follows.
fn text(line: &[u8]) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(line.strip_suffix(b"\r").unwrap_or(line))
}

pub(crate) fn cannot_read(error: io::Error) -> Failure {
    Failure::cannot(format_args!("cannot read standard input: {error}"))
}

/// Reads a line into `line`, keeping at most [`LINE_MAX`] of it.
fn read_long(input: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<()> {
    line.clear();
    loop {
        let available = input.fill_buf()?;
        if available.is_empty() {
            return Ok(());
        }
        let end = memchr(b'\n', available);
        let part = &available[..end.unwrap_or(available.len())];
        let room = LINE_MAX.saturating_sub(line.len()).min(part.len());
        line.extend_from_slice(&part[..room]);
        let used = part.len() + usize::from(end.is_some());
        input.consume(used);
        if end.is_some() {
            return Ok(());
        }
    }
}

/// What was read, with whatever could drive the terminal written out.
pub(crate) fn shown(id: &str) -> std::borrow::Cow<'_, str> {
    match id.chars().all(mintage::is_plain) {
        true => id.into(),
        false => mintage::Plain(id).to_string().into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_is_cut_and_the_next_one_begins_after_it() {
        let long = "x".repeat(3 * LINE_MAX);
        let mut input = BufReader::with_capacity(100, io::Cursor::new(format!("{long}\nnext\n")));
        let mut line = Vec::new();
        read_long(&mut input, &mut line).unwrap();
        assert_eq!(line.len(), LINE_MAX);
        read_long(&mut input, &mut line).unwrap();
        assert_eq!(line, b"next");
        read_long(&mut input, &mut line).unwrap();
        assert!(line.is_empty());
    }
}
