//! A connection's socket, with its deadlines and buffers: what faces read from and write to.
//!
//! Requests are executed straight from the thread's read buffer. Only what is left of an unfinished request is
//! copied, so an idle connection holds no buffer at all.

use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf};

use crate::auth::Presented;
use crate::error::Code;
use crate::faces::Protocols;
use crate::noise::Noise;
use crate::thread::{OUTPUT_KEPT_BYTES, ServingThread};
use crate::tls;
use crate::transport::Stream;
use crate::turn::{LOOK_BYTES, Turn};
use crate::watch::{Verdict, Waiting, WatchedConnection};

/// Why a connection ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// The client is done, or gone.
    Client,
    /// The last answer was sent.
    Answered,
    /// A deadline, or the server's own end, while the client was waited for.
    Verdict,
}

/// A connected socket.
#[derive(Debug)]
pub struct Socket {
    stream: Stream,
    watch: WatchedConnection,
    thread: Rc<ServingThread>,
    /// The beginning of a request whose rest has not arrived.
    unfinished: Vec<u8>,
    /// `unfinished` may hold whole requests: nobody has looked at it.
    unseen: bool,
    input_max: usize,
}

impl Socket {
    /// A socket whose requests take at most `input_max` bytes.
    pub fn new(
        stream: Stream,
        watch: WatchedConnection,
        thread: Rc<ServingThread>,
        input_max: usize,
    ) -> Self {
        Socket {
            stream,
            watch,
            thread,
            unfinished: Vec::new(),
            unseen: false,
            input_max,
        }
    }

    /// The deadlines.
    pub fn watch(&self) -> &WatchedConnection {
        &self.watch
    }

    /// Whether a request of this length, still unfinished, will never fit.
    pub fn is_full(&self, len: usize) -> bool {
        len >= self.input_max
    }

    /// Reads no more than this at a time from here on: what comes behind it may be for another reader.
    pub fn read_at_most(&mut self, bytes: usize) {
        self.input_max = bytes;
    }

    /// Keeps the beginning of a request until its rest arrives.
    pub fn keep(&mut self, unfinished: &[u8]) {
        self.unfinished.extend_from_slice(unfinished);
    }

    /// Takes back what another reader got and did not use.
    pub(crate) fn put_back(&mut self, unused: Vec<u8>) {
        self.unseen = !unused.is_empty();
        self.unfinished = unused;
    }

    /// The stream, for another reader, its deadlines, and what was read from it and not used.
    pub fn lend(&mut self) -> (&mut Stream, &WatchedConnection, Vec<u8>) {
        let unused = std::mem::take(&mut self.unfinished);
        (&mut self.stream, &self.watch, unused)
    }

    /// Whether the first byte to come, or what has come already, begins TLS; it stays where it is.
    ///
    /// # Errors
    /// The client is gone, or late.
    pub async fn begins_with_tls(&mut self) -> Result<bool, End> {
        let Stream::Tcp(socket) = &self.stream else {
            return Ok(false);
        };
        let mut first = [0];
        let mut window = ReadBuf::new(&mut first);
        poll_fn(|cx| match self.watch.verdict(cx) {
            Some(_) => Poll::Ready(Err(End::Verdict)),
            None => socket.poll_peek(cx, &mut window).map_err(|_| End::Client),
        })
        .await?;
        Ok(first[0] == tls::HANDSHAKE)
    }

    /// Begins TLS, where a face and its client have agreed in clear that it begins now: nothing may have been read behind that.
    /// What the client's certificate shows comes with it.
    ///
    /// # Errors
    /// The handshake failed, which the log was told of; there are no certificates.
    pub async fn begin_tls(self, protocols: Protocols) -> Result<(Socket, Presented), End> {
        debug_assert!(
            self.unfinished.is_empty(),
            "the face looks for what came too early"
        );
        let Socket {
            stream,
            watch,
            thread,
            input_max,
            ..
        } = self;
        let peer = stream.peer().map_err(|_| End::Client)?;
        let certificates = thread.shared().tls.handshake(protocols).ok_or(End::Client)?;
        let limit = thread.config().tls_handshake_timeout;
        match tls::shake(stream, certificates, limit, b"").await {
            tls::Shaken::Done(stream) => {
                let presented = stream.presented();
                Ok((Socket::new(stream, watch, thread, input_max), presented))
            }
            tls::Shaken::Failed(why) => {
                thread.counters().refused(Code::Handshake);
                thread.service().log().note_sent(Noise::Tls, why, peer);
                Err(End::Client)
            }
        }
    }

    /// Waits for bytes: the unfinished request and what arrived behind it, in one buffer that goes back to the
    /// thread afterwards.
    ///
    /// A client that is waited for begins another turn. One that has used up its turn and has sent more lets others come
    /// first. Can be dropped at any time: what was read is there for the next call.
    pub async fn fill(&mut self, turn: &mut Turn) -> Result<(Box<[u8]>, usize), End> {
        if !self.unseen {
            let (buffer, filled) = self.read_more(turn).await?;
            if !turn.is_spent() {
                return Ok((buffer, filled));
            }
            self.put_back(buffer[..filled].to_vec());
            self.thread.return_input(buffer);
        }
        if turn.is_spent() {
            turn.give_way().await;
        }
        self.unseen = false;
        let (mut buffer, rest) = (self.thread.borrow_input(), self.unfinished.len());
        buffer[..rest].copy_from_slice(&self.unfinished);
        self.unfinished.clear();
        Ok((buffer, rest))
    }

    async fn read_more(&mut self, turn: &mut Turn) -> Result<(Box<[u8]>, usize), End> {
        let rest = self.unfinished.len();
        match (rest, self.watch.waiting()) {
            (0, Waiting::FirstByte) => {}
            (0, _) => self.watch.wait_for(Waiting::Request),
            // Bytes that come in without completing the request do not move its deadline.
            _ => self.watch.wait_for(Waiting::Rest),
        }
        let is_first = rest == 0 && self.watch.waiting() == Waiting::FirstByte;
        let mut waited = false;
        let filled = poll_fn(|cx| {
            if self.watch.verdict(cx).is_some() {
                return Poll::Ready(Err(End::Verdict));
            }
            let mut buffer = self.thread.borrow_input();
            let mut window = ReadBuf::new(&mut buffer[rest..self.input_max]);
            let read = match Pin::new(&mut self.stream).poll_read(cx, &mut window) {
                Poll::Ready(Ok(())) => window.filled().len(),
                Poll::Ready(Err(_)) => 0,
                Poll::Pending => {
                    self.thread.return_input(buffer);
                    waited = true;
                    return Poll::Pending;
                }
            };
            if read == 0 {
                self.thread.return_input(buffer);
                return Poll::Ready(Err(End::Client));
            }
            buffer[..rest].copy_from_slice(&self.unfinished);
            self.unfinished.clear();
            Poll::Ready(Ok((buffer, rest + read)))
        })
        .await;
        if waited {
            turn.begin_again();
        }
        match filled {
            Ok((buffer, _)) if is_first && buffer[0] == tls::HANDSHAKE => {
                self.thread.return_input(buffer);
                Err(self.refuse_tls().await)
            }
            filled => filled,
        }
    }

    /// A client that speaks TLS where none is spoken: nothing that any face speaks begins so.
    #[cold]
    async fn refuse_tls(&mut self) -> End {
        self.thread.counters().refused(Code::Protocol);
        if let Ok(peer) = self.stream.peer() {
            let what = "TLS was spoken where none is: tls:ADDRESS in the setting of the listener makes it so";
            self.thread
                .service()
                .log()
                .note_sent(Noise::Tls, what.to_string(), peer);
        }
        let mut alert = tls::NOT_SPOKEN_HERE.to_vec();
        self.flush(&mut alert).await.err().unwrap_or(End::Answered)
    }

    /// Sends everything in `out` and empties it, waiting for the client where it does not keep up.
    pub async fn flush(&mut self, out: &mut Vec<u8>) -> Result<(), End> {
        if out.is_empty() {
            return Ok(());
        }
        let mut sent = 0;
        let mut held = None;
        let outcome = poll_fn(|cx| {
            while sent < out.len() {
                match Pin::new(&mut self.stream).poll_write(cx, &out[sent..]) {
                    Poll::Ready(Ok(0) | Err(_)) => return Poll::Ready(Err(End::Client)),
                    Poll::Ready(Ok(written)) => sent += written,
                    Poll::Pending => {
                        // The deadline is for all of it: a client that reads a byte now and then is slow too.
                        self.watch.wait_for(Waiting::Writing);
                        if held.is_none() {
                            // Nothing but what is unread takes memory meanwhile.
                            out.drain(..std::mem::take(&mut sent));
                            out.shrink_to_fit();
                            held = Some(self.thread.hold_unread(out.len(), &self.watch));
                        }
                        return self.waits_on(cx);
                    }
                }
            }
            Poll::Ready(Ok(()))
        })
        .await;
        self.watch.wait_for(Waiting::Nothing);
        out.clear();
        if out.capacity() > OUTPUT_KEPT_BYTES {
            // A large answer is over.
            out.shrink_to_fit();
        }
        outcome
    }

    /// Sends bytes that are counted already, or take no memory, waiting for the client if it does not keep up.
    pub(crate) async fn send(&mut self, bytes: &[u8]) -> Result<(), End> {
        let mut sent = 0;
        let outcome = poll_fn(|cx| {
            while sent < bytes.len() {
                match Pin::new(&mut self.stream).poll_write(cx, &bytes[sent..]) {
                    Poll::Ready(Ok(0) | Err(_)) => return Poll::Ready(Err(End::Client)),
                    Poll::Ready(Ok(written)) => sent += written,
                    Poll::Pending => {
                        self.watch.wait_for(Waiting::Writing);
                        return self.waits_on(cx);
                    }
                }
            }
            Poll::Ready(Ok(()))
        })
        .await;
        self.watch.wait_for(Waiting::Nothing);
        outcome
    }

    /// A client that is waited for: a stop lets answers out; lateness and a stop at once do not.
    fn waits_on(&self, cx: &Context<'_>) -> Poll<Result<(), End>> {
        match self.watch.verdict(cx) {
            Some(Verdict::Late(_) | Verdict::Now) => Poll::Ready(Err(End::Client)),
            Some(Verdict::Stopping) | None => Poll::Pending,
        }
    }

    /// Sends what has been written if it is `output_max`, and lets others come first if this turn is over: nothing more
    /// is done for a client that does not read. Answers how much may be written until the next look.
    pub async fn look(
        &mut self,
        out: &mut Vec<u8>,
        output_max: usize,
        turn: &mut Turn,
    ) -> Result<usize, End> {
        let over = out.len() >= self.thread.config().turn_bytes.0 || turn.is_over();
        if over || out.len() >= output_max {
            self.flush(out).await?;
        }
        if over {
            // Whoever waits for another turn has no buffer meanwhile.
            self.thread.return_output(std::mem::take(out));
            turn.give_way().await;
            *out = self.thread.borrow_output();
        }
        Ok(out.len() + LOOK_BYTES)
    }

    /// Says goodbye, so that the client gets the last answer even if it is still sending: the end of a chunked
    /// body, requests behind the one that ends the connection.
    ///
    /// A socket that is closed with unread bytes, or that gets bytes after it was closed, resets the connection, and
    /// the part of the answer that has not left this machine is lost. So what the client sends is read until it has
    /// closed its side too, for at most `LINGER` and `LINGER_BYTES_MAX`. Of a client
    /// that was waited for, only what is there already is read.
    pub async fn close(&mut self, end: End) {
        let patience = match end {
            End::Client => return,
            End::Answered => LINGER,
            End::Verdict => Duration::ZERO,
        };
        let _ = poll_fn(|cx| Pin::new(&mut self.stream).poll_shutdown(cx)).await;
        // An error is the end of patience; the connection ends either way.
        let _ = tokio::time::timeout(patience, self.read_what_still_comes()).await;
    }

    async fn read_what_still_comes(&mut self) {
        let mut left = LINGER_BYTES_MAX;
        let mut buffer = [0; 1024];
        while left > 0 {
            match self.stream.read(&mut buffer).await {
                Ok(0) | Err(_) => return,
                Ok(read) => left = left.saturating_sub(read),
            }
        }
    }
}

/// How long a client that got its last answer may take to close its side.
const LINGER: Duration = Duration::from_secs(1);
/// How much of what a client still sends is read before its connection is closed.
const LINGER_BYTES_MAX: usize = 64 * 1024;
