//! One connection: read all there is, execute all that is complete, answer with one write.
//!
//! Requests are executed straight from the thread's read buffer. Only what is left of an unfinished request is
//! copied, so an idle connection holds no buffer at all. Answers are written when the requests that were read
//! are used up, and in between only if they pass `max_output`: nothing more is executed for a client that does
//! not read.

use std::future::poll_fn;
use std::net::SocketAddr;
use std::pin::Pin;
use std::rc::Rc;
use std::task::Poll;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use super::commands::{self, Call, Flow, Session};
use super::frame::{FrameError, FrameLimits, Parser, Step};
use super::reply::Reply;
use crate::config::Config;
use crate::error::Code;
use crate::metrics::Face;
use crate::service::Worker;
use crate::turn::after_the_others;
use crate::watch::{Deadlines, Verdict, Waiting, Watched};

/// Why a connection ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum End {
    /// The client is done, or gone.
    Client,
    /// We are.
    Server,
}

/// How long a connection may wait for what.
pub(crate) fn deadlines(config: &Config) -> Deadlines {
    Deadlines {
        first_byte: config.resp_first_byte_timeout.0,
        request: config.resp_idle_timeout.0,
        rest: Some(config.resp_request_timeout),
        writing: Some(config.write_timeout),
    }
}

/// Serves one connection until it ends.
pub(crate) async fn serve(stream: TcpStream, peer: SocketAddr, worker: Rc<Worker>, watch: Watched) {
    let local = stream.local_addr().unwrap_or(peer);
    let config = worker.config();
    let limits = |arguments: u64, argument_bytes: usize, unauthenticated| FrameLimits {
        arguments: arguments as usize,
        argument_bytes,
        line_bytes: config.resp_max_line.0,
        unauthenticated,
    };
    let known = limits(config.resp_max_arguments, config.resp_max_argument.0, false);
    let unknown = limits(
        config.resp_unauthenticated_arguments,
        config.resp_unauthenticated_argument.0,
        true,
    );
    let mut connection = Connection {
        stream,
        session: Session {
            id: worker.connection_id(),
            identity: worker.service().tokens().anonymous(),
            name: String::new(),
            library: Default::default(),
            peer,
            local,
            since_boottime: mintage::boottime(),
        },
        reply: Reply::new(false, worker.counters().clone()),
        parser: Parser::default(),
        unfinished: Vec::new(),
        input_max: config.resp_max_request.0,
        output_max: config.resp_max_output.0,
        known,
        unknown,
        worker: worker.clone(),
        watch,
    };
    let end = connection.run().await;
    if let Some(Verdict::Late(code)) = connection.watch.peek() {
        worker.counters().refused(code);
        tracing::debug!(%peer, %code, "connection closed");
    }
    if end == End::Server {
        connection.close().await;
    }
}

struct Connection {
    stream: TcpStream,
    session: Session,
    reply: Reply,
    parser: Parser,
    /// The beginning of a request whose rest has not arrived.
    unfinished: Vec<u8>,
    input_max: usize,
    output_max: usize,
    known: FrameLimits,
    unknown: FrameLimits,
    worker: Rc<Worker>,
    watch: Watched,
}

impl Connection {
    async fn run(&mut self) -> End {
        loop {
            let (buffer, filled) = match self.fill().await {
                Ok(input) => input,
                Err(end) => return end,
            };
            *self.reply.buffer() = self.worker.borrow_output();
            let executed = self.execute(&buffer[..filled]).await;
            self.worker.return_input(buffer);
            let flow = match executed {
                Ok(flow) => flow,
                Err(end) => return end,
            };
            // All connections that are ready read first, then all write: a client with many connections is
            // woken once, not once for each.
            after_the_others().await;
            if let Err(end) = self.flush().await {
                return end;
            }
            self.worker.return_output(std::mem::take(self.reply.buffer()));
            if flow == Next::Close {
                return End::Server;
            }
        }
    }

    /// Waits for bytes: the unfinished request and what arrived behind it, in one buffer.
    async fn fill(&mut self) -> Result<(Box<[u8]>, usize), End> {
        let rest = self.unfinished.len();
        match (rest, self.watch.waiting()) {
            (0, Waiting::FirstByte) => {}
            (0, _) => self.watch.wait_for(Waiting::Request),
            _ => self.watch.wait_for(Waiting::Rest),
        }
        poll_fn(|cx| {
            if self.watch.verdict(cx).is_some() {
                return Poll::Ready(Err(End::Server));
            }
            let mut buffer = self.worker.borrow_input(self.input_max);
            let mut window = ReadBuf::new(&mut buffer[rest..]);
            let read = match Pin::new(&mut self.stream).poll_read(cx, &mut window) {
                Poll::Ready(Ok(())) => window.filled().len(),
                Poll::Ready(Err(_)) => 0,
                Poll::Pending => {
                    self.worker.return_input(buffer);
                    return Poll::Pending;
                }
            };
            if read == 0 {
                self.worker.return_input(buffer);
                return Poll::Ready(Err(End::Client));
            }
            buffer[..rest].copy_from_slice(&self.unfinished);
            self.unfinished.clear();
            Poll::Ready(Ok((buffer, rest + read)))
        })
        .await
    }

    /// Executes every complete request of `input` and keeps the rest.
    async fn execute(&mut self, input: &[u8]) -> Result<Next, End> {
        let mut at = 0;
        while at < input.len() {
            let rest = &input[at..];
            let limits = if self.session.identity.is_some() {
                &self.known
            } else {
                &self.unknown
            };
            match self.parser.parse(rest, limits) {
                Ok(Step::Request { len }) => {
                    self.watch.wait_for(Waiting::Nothing);
                    let (served, flow) = self.execute_one(rest, len);
                    self.worker.counters().requests(Face::Resp, served);
                    at += len * served as usize;
                    match flow {
                        Flow::Done => {}
                        Flow::Close => return Ok(Next::Close),
                        Flow::Wait(later) => {
                            let reply = later.await;
                            self.reply.append(&reply);
                        }
                    }
                }
                Ok(Step::Nothing { len }) => at += len,
                Ok(Step::Incomplete) if rest.len() >= self.input_max => {
                    return Ok(self.refuse_frame(FrameError::RequestTooLarge));
                }
                Ok(Step::Incomplete) => {
                    self.unfinished.extend_from_slice(rest);
                    break;
                }
                Err(error) => return Ok(self.refuse_frame(error)),
            }
            if self.reply.bytes().len() >= self.output_max {
                self.flush().await?;
            }
        }
        Ok(Next::Read)
    }

    #[inline]
    fn execute_one(&mut self, rest: &[u8], len: usize) -> (u64, Flow) {
        let args = self.parser.args(rest);
        let row = commands::find(args.at(0));
        let run = match row {
            Some(row) if row.repeats => run_length(rest, len),
            _ => 1,
        };
        let mut call = Call {
            args,
            run,
            served: 1,
            worker: &self.worker,
            session: &mut self.session,
            reply: &mut self.reply,
        };
        let flow = commands::run(row, &mut call);
        (call.served, flow)
    }

    fn refuse_frame(&mut self, error: FrameError) -> Next {
        self.reply.error(Code::Protocol, &format!("ERR {error}"));
        Next::Close
    }

    /// Sends the answers, waiting for the client where it does not keep up.
    async fn flush(&mut self) -> Result<(), End> {
        if self.reply.bytes().is_empty() {
            return Ok(());
        }
        let mut sent = 0;
        let outcome = poll_fn(|cx| {
            while sent < self.reply.bytes().len() {
                match Pin::new(&mut self.stream).poll_write(cx, &self.reply.bytes()[sent..]) {
                    Poll::Ready(Ok(0) | Err(_)) => return Poll::Ready(Err(End::Client)),
                    Poll::Ready(Ok(written)) => sent += written,
                    Poll::Pending => {
                        self.watch.wait_for(Waiting::Writing);
                        // A stop lets answers out; lateness and a stop at once do not.
                        return match self.watch.verdict(cx) {
                            Some(Verdict::Late(_) | Verdict::Now) => Poll::Ready(Err(End::Client)),
                            Some(Verdict::Stopping) | None => Poll::Pending,
                        };
                    }
                }
            }
            Poll::Ready(Ok(()))
        })
        .await;
        self.watch.wait_for(Waiting::Nothing);
        self.reply.buffer().clear();
        outcome
    }

    /// Says goodbye so that the client sees the last answer even if it is still sending.
    async fn close(&mut self) {
        let _ = poll_fn(|cx| Pin::new(&mut self.stream).poll_shutdown(cx)).await;
        // Closing with unread bytes would reset the connection and may take the answer with it.
        let mut left = LINGER_BYTES_MAX;
        let mut buffer = [0; 1024];
        while left > 0 {
            match self.stream.try_read(&mut buffer) {
                Ok(read) if read > 0 => left = left.saturating_sub(read),
                _ => break,
            }
        }
    }
}

/// What to do after the requests that were read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Next {
    Read,
    Close,
}

/// How often the first `len` bytes follow each other at the start of `bytes`.
#[inline]
fn run_length(bytes: &[u8], len: usize) -> u64 {
    let (first, rest) = bytes.split_at(len);
    1 + rest.chunks_exact(len).take_while(|next| *next == first).count() as u64
}

/// How much of what a client still sends is read before its connection is closed.
const LINGER_BYTES_MAX: usize = 64 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_identical_requests_are_counted() {
        for (bytes, len, run) in [
            ("ab", 2, 1),
            ("ababab", 2, 3),
            ("ababa", 2, 2),
            ("abac", 2, 1),
            ("aXa", 1, 1),
        ] {
            assert_eq!(run_length(bytes.as_bytes(), len), run, "{bytes}");
        }
    }
}
