//! A socket that tells its watch what it waits for, and gives hyper one request of a connection.

use std::cell::{Cell, RefCell};
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use hyper::rt::{Read, ReadBufCursor, Write};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::strict::Framing;
use crate::held::HeldBytes;
use crate::thread::ServingThread;
use crate::transport::Stream;
use crate::watch::{Waiting, Watch};

/// One request, as hyper is given it.
#[derive(Debug)]
pub(crate) struct One {
    /// What was read and not given out: the request, then what follows it.
    unused: RefCell<Vec<u8>>,
    /// How much of it hyper may still have; `None`: all that comes.
    left: Cell<Option<u64>>,
    /// hyper has its answer.
    pub(crate) answered: Cell<bool>,
    /// The client has its answer.
    sent: Cell<bool>,
    /// hyper asks for the next one.
    asks: Cell<bool>,
}

impl One {
    pub(crate) fn new(unused: Vec<u8>, framing: Framing) -> One {
        One {
            unused: RefCell::new(unused),
            left: Cell::new(match framing {
                Framing::Bytes(bytes) => Some(bytes),
                Framing::Chunks => None,
            }),
            answered: Cell::new(false),
            sent: Cell::new(false),
            asks: Cell::new(false),
        }
    }

    /// Whether the request is over and the connection goes on.
    pub(crate) fn is_done(&self) -> bool {
        self.sent.get() && self.asks.get()
    }

    /// What follows the request.
    pub(crate) fn rest(&self) -> Vec<u8> {
        self.unused.take()
    }
}

/// What hyper reads from and writes to.
#[derive(Debug)]
pub(crate) struct Io<'s> {
    stream: &'s mut Stream,
    watch: Rc<Watch>,
    thread: Rc<ServingThread>,
    one: Rc<One>,
    /// While the client does not read.
    held: Option<HeldBytes>,
}

impl<'s> Io<'s> {
    pub(crate) fn new(
        stream: &'s mut Stream,
        watch: Rc<Watch>,
        thread: Rc<ServingThread>,
        one: Rc<One>,
    ) -> Self {
        Io {
            stream,
            watch,
            thread,
            one,
            held: None,
        }
    }
}

impl Read for Io<'_> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        mut cursor: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let left = self.one.left.get().unwrap_or(u64::MAX);
        if left == 0 {
            self.one.asks.set(true);
            return Poll::Pending;
        }
        // A safe buffer of our own: hyper's may be uninitialised memory, which only unsafe code can fill in place.
        let mut buffer = [0; READ_BYTES];
        let room = cursor.remaining().min(READ_BYTES);
        let room = room.min(usize::try_from(left).unwrap_or(usize::MAX));
        let read = {
            let one = Rc::clone(&self.one);
            let mut unused = one.unused.borrow_mut();
            if unused.is_empty() {
                let mut window = ReadBuf::new(&mut buffer[..room]);
                ready!(Pin::new(&mut *self.stream).poll_read(cx, &mut window))?;
                window.filled().len()
            } else {
                let len = unused.len().min(room);
                buffer[..len].copy_from_slice(&unused[..len]);
                unused.drain(..len);
                len
            }
        };
        if read > 0 && matches!(self.watch.waiting(), Waiting::FirstByte | Waiting::Request) {
            self.watch.wait_for(Waiting::Rest);
        }
        let left = self.one.left.get().map(|left| left - read as u64);
        self.one.left.set(left);
        cursor.put_slice(&buffer[..read]);
        Poll::Ready(Ok(()))
    }
}

impl Write for Io<'_> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut *self.stream).poll_write(cx, bytes);
        if written.is_ready() {
            self.held = None;
        } else {
            self.watch.wait_for(Waiting::Writing);
            if self.held.is_none() {
                self.held = Some(self.thread.hold_unread(bytes.len(), &self.watch));
            }
        }
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        // hyper flushes once everything it had was written.
        if self.watch.waiting() == Waiting::Writing {
            self.watch.wait_for(Waiting::Request);
        }
        self.one.sent.set(self.one.answered.get());
        Pin::new(&mut *self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.stream).poll_shutdown(cx)
    }
}

/// How much is read at a time. Heads of requests are smaller.
const READ_BYTES: usize = 1024;
