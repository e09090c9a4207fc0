//! Where results go: standard output, in large writes, as text or as JSON.

use std::fs::File;
use std::io::{self, Write};

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

    /// Adds a line of text.
    pub(crate) fn line(&mut self, text: impl AsRef<[u8]>) -> Result<(), Failure> {
        self.buffer.extend_from_slice(text.as_ref());
        self.buffer.push(b'\n');
        self.written()
    }

    /// Adds a line of JSON.
    pub(crate) fn json_line(&mut self, value: &impl Serialize) -> Result<(), Failure> {
        serde_json::to_writer(&mut self.buffer, value).map_err(io::Error::from)?;
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
            let _ = writeln!(io::stderr(), "{}", text.as_ref());
        }
    }

    /// Says something on standard error when asked to say more.
    pub(crate) fn detail(&self, text: impl FnOnce() -> String) {
        if self.verbose {
            self.note(text());
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
