//! Where results go: standard output, in large writes, as text or as JSON.

use std::fs::File;
use std::io::{self, Write};

use mintage::Plain;
use serde::Serialize;

use crate::errors::Failure;

/// Standard output, and how to fill it.
pub(crate) struct Out {
    /// One JSON value per result instead of text.
    pub(crate) json: bool,
    /// Leave out what is not a result.
    pub(crate) quiet: bool,
    /// Say more on standard error.
    pub(crate) verbose: bool,
    buffer: Vec<u8>,
    stdout: File,
}

/// Written out when this much has gathered: few system calls, and still in the second-level cache.
const CHUNK_BYTES: usize = 64 * 1024;

impl Out {
    /// Takes standard output, past the line buffer that the standard library keeps before it.
    pub(crate) fn new(json: bool, quiet: bool, verbose: bool) -> io::Result<Out> {
        let stdout = stdout_file()?;
        widen_pipe(&stdout);
        Ok(Out {
            json,
            quiet,
            verbose,
            buffer: Vec::with_capacity(2 * CHUNK_BYTES),
            stdout,
        })
    }

    /// Adds a line of text, or several. Names and the like come from elsewhere: what is not plain in them is written out.
    pub(crate) fn line(&mut self, text: impl AsRef<[u8]>) -> Result<(), Failure> {
        push_plain(&mut self.buffer, text.as_ref());
        self.buffer.push(b'\n');
        self.written()
    }

    /// Adds a line of text with colours, whose parts from elsewhere are plain.
    pub(crate) fn painted_line(&mut self, text: &str) -> Result<(), Failure> {
        self.buffer.extend_from_slice(text.as_bytes());
        self.buffer.push(b'\n');
        self.written()
    }

    /// Adds a line of JSON.
    pub(crate) fn json_line(&mut self, value: &impl Serialize) -> Result<(), Failure> {
        mintage_wire::json::to_writer(&mut self.buffer, value).map_err(io::Error::from)?;
        self.buffer.push(b'\n');
        self.written()
    }

    /// Where a batch may write directly; call [`Out::written`] after each batch.
    pub(crate) fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
    }

    /// Sends what has gathered once it is worth a system call.
    pub(crate) fn written(&mut self) -> Result<(), Failure> {
        if self.buffer.len() >= CHUNK_BYTES {
            self.flush()?;
        }
        Ok(())
    }

    /// Sends what has gathered.
    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        let sent = self.stdout.write_all(&self.buffer);
        self.buffer.clear();
        Ok(sent?)
    }

    /// Says something on standard error that is not a result.
    pub(crate) fn note(&self, text: impl AsRef<str>) {
        if !self.quiet {
            // A note that cannot be shown is no reason to fail.
            let mut line = Vec::new();
            push_plain(&mut line, text.as_ref().as_bytes());
            line.push(b'\n');
            let _ = io::stderr().write_all(&line);
        }
    }

    /// Says something on standard error when asked to say more.
    pub(crate) fn detail(&self, text: impl FnOnce() -> String) {
        if self.verbose {
            self.note(text());
        }
    }
}

/// Adds a text, whose own line ends and tabs are ours.
fn push_plain(to: &mut Vec<u8>, text: &[u8]) {
    if text
        .iter()
        .all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\t'))
    {
        return to.extend_from_slice(text);
    }
    for chunk in text.utf8_chunks() {
        for part in chunk.valid().split_inclusive(['\n', '\t']) {
            let (part, end) = part.split_at(part.trim_end_matches(['\n', '\t']).len());
            write!(to, "{}{end}", Plain(part)).expect("memory takes everything");
        }
        for byte in chunk.invalid() {
            write!(to, "\\x{byte:02x}").expect("memory takes everything");
        }
    }
}

/// A pipe takes 64 KiB unless told otherwise: with more, writer and reader wake one another less often. What the
/// system refuses stays as it is, and what is no pipe does not mind.
#[cfg(target_os = "linux")]
fn widen_pipe(stdout: &File) {
    let _ = rustix::pipe::fcntl_setpipe_size(stdout, PIPE_BYTES);
}

#[cfg(not(target_os = "linux"))]
fn widen_pipe(_: &File) {}

/// The most that Linux allows everybody.
#[cfg(target_os = "linux")]
const PIPE_BYTES: usize = 1024 * 1024;

#[cfg(unix)]
fn stdout_file() -> io::Result<File> {
    use std::os::fd::AsFd;
    Ok(File::from(io::stdout().as_fd().try_clone_to_owned()?))
}

#[cfg(windows)]
fn stdout_file() -> io::Result<File> {
    use std::os::windows::io::AsHandle;
    Ok(File::from(io::stdout().as_handle().try_clone_to_owned()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_a_line_holds_nothing_but_plain_text_and_its_own_ends_are_printed() {
        let mut printed = Vec::new();
        push_plain(&mut printed, b"a\tb\n\nc\x1b[2J\xc2\x9b\x9b \xe2\x80\xaed\n");
        assert_eq!(printed, b"a\tb\n\nc\\u{1b}[2J\\u{9b}\\x9b \\u{202e}d\n");
        for c in ('\0'..=char::MAX).filter(|c| !matches!(c, '\n' | '\t')) {
            printed.clear();
            push_plain(&mut printed, format!("{c}\n{c}").as_bytes());
            assert_eq!(printed, format!("{0}\n{0}", Plain(&c.to_string())).as_bytes());
        }
    }
}
