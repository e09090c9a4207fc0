//! An array of JSON, as most exports are: each of its elements is a row, over however many lines it goes.

use crate::error::Error;
use crate::lines::{Lines, RECORD_BYTES_MAX};

/// Where the next element is in [`Lines::data`]: its first byte, the one after its last, and how many lines begin
/// before and in it.
pub(super) struct Element {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) lines_before: u64,
    pub(super) lines_in: u64,
}

/// Whether what begins so is an array.
pub(super) fn begins(data: &[u8]) -> bool {
    data.trim_ascii_start().first() == Some(&b'[')
}

/// The next element; `None` at the end. What is cut off ends where the file does, and its reader says so.
pub(super) fn next(lines: &mut Lines) -> Result<Option<Element>, Error> {
    let (mut at, mut lines_before) = (0, 0);
    let opens = loop {
        match byte(lines, at)? {
            None => return Ok(None),
            Some(b'\n') => lines_before += 1,
            Some(b'[' | b']' | b',' | b' ' | b'\t' | b'\r') => {}
            Some(opens) => break opens,
        }
        at += 1;
        check_length(lines, at)?;
    };
    let start = at;
    let (mut depth, mut in_text, mut escaped, mut lines_in) = (0usize, false, false, 0);
    while let Some(found) = byte(lines, at)? {
        match found {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            _ if in_text => {}
            b'{' | b'[' => depth += 1,
            b',' | b']' if depth == 0 => break,
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'\n' => lines_in += 1,
            _ => {}
        }
        at += 1;
        if depth == 0 && !in_text && matches!(opens, b'{' | b'"') {
            break;
        }
        check_length(lines, at - start)?;
    }
    Ok(Some(Element {
        start,
        end: at,
        lines_before,
        lines_in,
    }))
}

/// Bounds what is held of an element, and of what stands before it.
fn check_length(lines: &Lines, bytes: usize) -> Result<(), Error> {
    if bytes <= RECORD_BYTES_MAX {
        return Ok(());
    }
    let words = format_args!("this element is longer than {} MiB", RECORD_BYTES_MAX >> 20);
    Err(Error::at(lines.name(), lines.line() + 1, words))
}

fn byte(lines: &mut Lines, at: usize) -> Result<Option<u8>, Error> {
    if lines.data().len() <= at {
        lines.fill(at + 1)?;
    }
    Ok(lines.data().get(at).copied())
}
