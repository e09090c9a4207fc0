//! A socket that tells its watch what it waits for.

use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use hyper::rt::{Read, ReadBufCursor, Write};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use crate::watch::{Waiting, Watch};

/// What hyper reads from and writes to.
#[derive(Debug)]
pub(super) struct Io<'s> {
    stream: &'s mut TcpStream,
    watch: Rc<Watch>,
    /// What was read before hyper came.
    unused: Vec<u8>,
}

impl<'s> Io<'s> {
    pub(super) fn new(stream: &'s mut TcpStream, watch: Rc<Watch>, unused: Vec<u8>) -> Self {
        Io {
            stream,
            watch,
            unused,
        }
    }
}

impl Read for Io<'_> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        mut cursor: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.unused.is_empty() {
            let len = self.unused.len().min(cursor.remaining());
            cursor.put_slice(&self.unused[..len]);
            self.unused.drain(..len);
            return Poll::Ready(Ok(()));
        }
        // A safe buffer of our own: hyper's may be uninitialised memory, which only unsafe code can fill in place.
        let mut buffer = [0; READ_BYTES];
        let room = cursor.remaining().min(READ_BYTES);
        let mut window = ReadBuf::new(&mut buffer[..room]);
        ready!(Pin::new(&mut *self.stream).poll_read(cx, &mut window))?;
        let read = window.filled();
        if !read.is_empty() && matches!(self.watch.waiting(), Waiting::FirstByte | Waiting::Request) {
            self.watch.wait_for(Waiting::Rest);
        }
        cursor.put_slice(read);
        Poll::Ready(Ok(()))
    }
}

impl Write for Io<'_> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut *self.stream).poll_write(cx, bytes);
        if written.is_pending() {
            self.watch.wait_for(Waiting::Writing);
        }
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        // hyper flushes once everything it had was written.
        if self.watch.waiting() == Waiting::Writing {
            self.watch.wait_for(Waiting::Request);
        }
        Pin::new(&mut *self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.stream).poll_shutdown(cx)
    }
}

/// How much is read at a time. Heads of requests are smaller.
const READ_BYTES: usize = 1024;
