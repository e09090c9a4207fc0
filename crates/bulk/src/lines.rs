//! Lines of any source in one buffer, with their numbers and their place in the decoded stream.

use crate::error::Error;
use crate::input::{Blocks, Meter, Source};

/// A window over the decoded bytes that grows until it holds a whole record.
pub(crate) struct Lines {
    blocks: Blocks,
    buffer: Vec<u8>,
    /// What is consumed of the buffer.
    start: usize,
    ended: bool,
    /// Where `start` is in the decoded stream.
    offset: u64,
    /// How many lines lie before `start`.
    line: u64,
}

impl Lines {
    pub(crate) fn new(blocks: Blocks) -> Result<Lines, Error> {
        let mut lines = Lines::at(blocks, 0, 0);
        lines.fill(4)?;
        if lines.data().starts_with(b"\xef\xbb\xbf") {
            lines.start += 3;
            lines.offset += 3;
        }
        if matches!(lines.data(), [0xff, 0xfe, ..] | [0xfe, 0xff, ..]) {
            return Err(Error::at(lines.name(), 1, "this is UTF-16, not UTF-8")
                .with_hint("convert it first: iconv -f utf-16 -t utf-8"));
        }
        Ok(lines)
    }

    /// Goes on at a place that [`Lines::offset`] and [`Lines::line`] gave.
    pub(crate) fn open_at(source: &Source, offset: u64, line: u64, meter: &Meter) -> Result<Lines, Error> {
        Ok(Lines::at(Blocks::open(source, offset, meter)?, offset, line))
    }

    fn at(blocks: Blocks, offset: u64, line: u64) -> Lines {
        Lines {
            blocks,
            buffer: Vec::new(),
            start: 0,
            ended: false,
            offset,
            line,
        }
    }

    pub(crate) fn name(&self) -> &str {
        self.blocks.name()
    }

    /// Where the unread part begins in the decoded stream.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// How many lines have been consumed.
    pub(crate) fn line(&self) -> u64 {
        self.line
    }

    /// What is in memory and not consumed.
    #[inline]
    pub(crate) fn data(&self) -> &[u8] {
        &self.buffer[self.start..]
    }

    /// Holds at least `bytes` bytes, unless the source has fewer.
    pub(crate) fn fill(&mut self, bytes: usize) -> Result<(), Error> {
        while self.data().len() < bytes && !self.ended {
            self.more()?;
        }
        Ok(())
    }

    /// Where the line that contains byte `from` of [`Lines::data`] ends, its newline included; `None` if there is no
    /// such byte.
    #[inline]
    pub(crate) fn line_end(&mut self, from: usize) -> Result<Option<usize>, Error> {
        let mut searched = from;
        loop {
            let data = self.data();
            if let Some(found) = data.get(searched..).and_then(|rest| memchr::memchr(b'\n', rest)) {
                return Ok(Some(searched + found + 1));
            }
            if self.ended {
                return Ok((data.len() > from).then_some(data.len()));
            }
            searched = searched.max(data.len());
            if searched > RECORD_BYTES_MAX {
                return Err(Error::at(
                    self.name(),
                    self.line + 1,
                    format_args!(
                        "this row is longer than {} MiB; a quote may not be closed",
                        RECORD_BYTES_MAX >> 20
                    ),
                ));
            }
            self.more()?;
        }
    }

    /// Passes over the first bytes, which hold this many lines.
    #[inline]
    pub(crate) fn consume(&mut self, bytes: usize, lines: u64) {
        self.start += bytes;
        self.offset += bytes as u64;
        self.line += lines;
    }

    fn more(&mut self) -> Result<(), Error> {
        match self.blocks.next()? {
            None => self.ended = true,
            Some(block) if self.start == self.buffer.len() => {
                let old = std::mem::replace(&mut self.buffer, block);
                self.start = 0;
                self.blocks.recycle(old);
            }
            Some(block) => {
                self.buffer.drain(..self.start);
                self.start = 0;
                self.buffer.extend_from_slice(&block);
                self.blocks.recycle(block);
            }
        }
        Ok(())
    }
}

/// The longest row.
pub(crate) const RECORD_BYTES_MAX: usize = 64 << 20;

/// A line without its newline, and how long that is: `\n`, `\r\n` or nothing at the end of a file.
#[inline]
pub(crate) fn without_newline(line: &[u8]) -> (&[u8], usize) {
    match line {
        [rest @ .., b'\r', b'\n'] => (rest, 2),
        [rest @ .., b'\n'] => (rest, 1),
        rest => (rest, 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(path: std::path::PathBuf) -> Result<Lines, Error> {
        Lines::new(Blocks::open(&Source::File(path), 0, &Meter::default())?)
    }

    #[test]
    fn lines_longer_than_a_block_come_whole_with_their_places() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lines");
        let long = "x".repeat(3 << 20);
        std::fs::write(&path, format!("\u{feff}a\r\n{long}\n\nlast")).unwrap();
        let mut lines = open(path).unwrap();
        let mut seen = Vec::new();
        while let Some(end) = lines.line_end(0).unwrap() {
            let (text, _) = without_newline(&lines.data()[..end]);
            seen.push((text.len(), lines.offset(), lines.line()));
            lines.consume(end, 1);
        }
        let after = 6 + long.len() as u64 + 1;
        assert_eq!(
            seen,
            [(1, 3, 0), (long.len(), 6, 1), (0, after, 2), (4, after + 1, 3)]
        );
    }

    #[test]
    fn utf_16_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("utf16");
        std::fs::write(&path, b"\xff\xfea\0\n\0").unwrap();
        let said = open(path).err().unwrap();
        assert!(said.to_string().contains(":1: this is UTF-16"), "{said}");
    }
}
