//! What hyper reads frames of HTTP/2 from and writes them to: in turns with what other connections do.

use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::open::Open;
use crate::held::HeldBytes;
use crate::thread::ServingThread;
use crate::transport::Stream;
use crate::watch::Waiting;

/// How much is read at a time where that is little: about a hundred small frames.
const LITTLE_BYTES: usize = 1024;

/// Requests are read a few at a time once those that wait take one part in so many of what they may.
const CROWDED_PART: u64 = 4;

/// What hyper reads from and writes to.
pub(super) struct Wire<'s> {
    stream: &'s mut Stream,
    /// What was read before it was known what it is.
    unused: Vec<u8>,
    open: Rc<Open>,
    thread: Rc<ServingThread>,
    /// While the client does not read.
    held: Option<HeldBytes>,
    /// The client was waited for.
    has_waited: bool,
}

impl<'s> Wire<'s> {
    /// That of a connection of which `unused` was read before it was known what it is.
    pub(super) fn new(
        stream: &'s mut Stream,
        unused: Vec<u8>,
        open: &Rc<Open>,
        thread: &Rc<ServingThread>,
    ) -> Wire<'s> {
        Wire {
            stream,
            unused,
            open: Rc::clone(open),
            thread: Rc::clone(thread),
            held: None,
            has_waited: false,
        }
    }

    /// Lets others come first once what was read has had its turn.
    fn poll_turn(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if std::mem::take(&mut self.has_waited) {
            self.open.reading.borrow_mut().begin_again();
        }
        if self.reads_little() && self.open.reading.borrow().is_over() {
            self.open.rest(&self.thread);
        }
        self.open.poll_rest(cx)
    }

    /// Whether no more is read at a time than is worth a look at the turn: frames that are no request, and those that are
    /// while many wait for answers.
    fn reads_little(&self) -> bool {
        let requests = self.thread.shared().requests.bytes();
        self.open.frames.are_idle() || requests > self.thread.config().max_unread.0 as u64 / CROWDED_PART
    }

    /// Notes what was read.
    fn read(&self, bytes: &[u8]) -> io::Result<()> {
        self.open.frames.came(bytes, self.open.reading.borrow().began());
        match self.open.frames.are_too_many() {
            true => Err(io::Error::other("too many frames that are no request")),
            false => Ok(()),
        }
    }

    fn note(&mut self, written: Poll<io::Result<usize>>, bytes: usize) -> Poll<io::Result<usize>> {
        if written.is_ready() {
            self.held = None;
            self.open.watch.wait_for(self.open.waiting());
        } else {
            self.open.watch.wait_for(Waiting::Writing);
            if self.held.is_none() {
                self.held = Some(self.thread.hold_unread(bytes, &self.open.watch));
            }
        }
        written
    }
}

impl AsyncRead for Wire<'_> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        window: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        ready!(self.poll_turn(cx));
        let most = match self.reads_little() {
            true => LITTLE_BYTES.min(window.remaining()),
            false => window.remaining(),
        };
        if !self.unused.is_empty() {
            let len = self.unused.len().min(most);
            window.put_slice(&self.unused[..len]);
            let read = self.read(&self.unused[..len]);
            self.unused.drain(..len);
            return Poll::Ready(read);
        }
        let before = window.filled().len();
        let polled = match most < window.remaining() {
            true => {
                let mut part = ReadBuf::new(window.initialize_unfilled_to(most));
                let polled = Pin::new(&mut *self.stream).poll_read(cx, &mut part);
                let len = part.filled().len();
                window.advance(len);
                polled
            }
            false => Pin::new(&mut *self.stream).poll_read(cx, window),
        };
        self.has_waited = polled.is_pending();
        ready!(polled)?;
        Poll::Ready(self.read(&window.filled()[before..]))
    }
}

impl AsyncWrite for Wire<'_> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut *self.stream).poll_write(cx, bytes);
        if let Poll::Ready(Ok(len)) = written {
            self.open.frames.left(&bytes[..len]);
        }
        self.note(written, bytes.len())
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut *self.stream).poll_write_vectored(cx, parts);
        if let Poll::Ready(Ok(mut len)) = written {
            for part in parts {
                let taken = len.min(part.len());
                self.open.frames.left(&part[..taken]);
                len -= taken;
            }
        }
        self.note(written, parts.iter().map(|part| part.len()).sum())
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.stream).poll_shutdown(cx)
    }
}
