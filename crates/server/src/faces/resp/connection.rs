//! One connection: read all there is, execute all that is complete, answer with one write.
//!
//! Answers are written when the requests that were read are used up, and in between only if they pass
//! `max_output`: nothing more is executed for a client that does not read.

use std::cell::RefCell;
use std::rc::Rc;

use super::commands::{self, Call, Dialect, Flow, Queue, Session, Taken};
use super::frame::{FrameError, FrameLimits, Parser, Step};
use super::reply::Reply;
use super::web;
use crate::config::Config;
use crate::connection;
use crate::error::Code;
use crate::kept::Keeping;
use crate::noise::Noise;
use crate::socket::{End, Socket};
use crate::thread::ServingThread;
use crate::turn::{LOOK_BYTES, Turn};
use crate::watch::{Deadlines, Verdict, Waiting};

/// How long a connection may wait for what.
pub(super) fn deadlines(config: &Config) -> Deadlines {
    Deadlines {
        first_byte: config.resp_first_byte_timeout.0,
        request: config.resp_idle_timeout.0,
        rest: Some(config.resp_request_timeout),
        writing: Some(config.write_timeout),
        authentication: config.authentication_timeout.0.filter(|_| config.wants_tokens()),
    }
}

/// Begins to serve a connection, in a task of its own.
pub fn begin(connection: connection::Connection, dialect: &'static Dialect) {
    drop(tokio::task::spawn_local(serve(connection, dialect)));
}

/// Serves one connection until it ends.
async fn serve(connection: connection::Connection, dialect: &'static Dialect) {
    let connection::Connection {
        stream,
        peer,
        presented,
        wants_tls: _,
        face,
        thread,
        watch,
        counted: _counted,
    } = connection;
    let config = thread.config();
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
    let keeping = Keeping::new(&thread);
    let mut connection = Connection {
        session: Session {
            id: thread.connection_id(),
            identity: dialect.before_a_word(thread.service().tokens(), &config, &presented, face),
            lapsed: None,
            presented,
            name: String::new(),
            library: Default::default(),
            peer,
            local: stream.local().ok(),
            face,
            dialect,
            since_boottime: mintage::boottime(),
            wrong_tokens: 0,
            watch: Rc::clone(&watch),
            queue: None,
            taken: Rc::new(RefCell::new(Taken::new(&keeping))),
            said: keeping.nothing(),
            keeping,
        },
        socket: Socket::new(stream, watch, thread.clone(), config.resp_max_request.0),
        reply: Reply::new(
            false,
            thread.counters().clone(),
            dialect.is_foreign().then_some(face),
        ),
        parser: Parser::default(),
        output_max: config.resp_max_output.0,
        turn: Turn::begin(&thread),
        known,
        unknown,
        thread: thread.clone(),
    };
    let end = connection.run().await;
    if let Some(Verdict::Late(code)) = connection.socket.watch().peek() {
        thread.counters().refused(code);
        tracing::debug!(%peer, %code, "connection closed");
    }
    connection.socket.close(end).await;
}

struct Connection {
    socket: Socket,
    session: Session,
    reply: Reply,
    parser: Parser,
    output_max: usize,
    turn: Turn,
    known: FrameLimits,
    unknown: FrameLimits,
    pub thread: Rc<ServingThread>,
}

impl Connection {
    async fn run(&mut self) -> End {
        loop {
            if let Err(end) = self.round().await {
                return end;
            }
        }
    }

    /// Reads, executes, answers.
    async fn round(&mut self) -> Result<(), End> {
        let (buffer, filled) = self.socket.fill(&mut self.turn).await?;
        *self.reply.buffer() = self.thread.borrow_output();
        let executed = self.execute(&buffer[..filled]).await;
        self.thread.return_input(buffer);
        let next = executed?;
        self.give_way().await;
        // What is not sent at once, the socket counts.
        self.reply.let_go();
        self.socket.flush(self.reply.buffer()).await?;
        self.thread.return_output(std::mem::take(self.reply.buffer()));
        match next {
            Next::Read => Ok(()),
            Next::Close => Err(End::Answered),
        }
    }

    /// Executes every complete request of `input` and keeps the rest.
    async fn execute(&mut self, input: &[u8]) -> Result<Next, End> {
        let mut at = 0;
        let mut look_at = LOOK_BYTES;
        while at < input.len() {
            let rest = &input[at..];
            let limits = if self.session.identity.is_some() {
                &self.known
            } else {
                &self.unknown
            };
            match self.parser.parse(rest, limits) {
                Ok(Step::Request { len }) => {
                    self.socket.watch().wait_for(Waiting::Nothing);
                    let (served, flow) = self.execute_one(rest, len);
                    self.thread.counters().requests(self.session.face, served);
                    self.turn.answered(served);
                    at += len * served as usize;
                    match flow {
                        Flow::Done => {}
                        Flow::Close => {
                            self.reply.count_answered(served);
                            return Ok(Next::Close);
                        }
                        Flow::Wait(later) => {
                            let reply = later.await;
                            self.reply.append(reply);
                            if self.session.wrong_tokens >= self.thread.config().max_wrong_tokens {
                                return Ok(Next::Close);
                            }
                            look_at = 0;
                        }
                        Flow::Run(queue) => {
                            if self.run_queued(&queue).await? == Next::Close {
                                return Ok(Next::Close);
                            }
                            look_at = 0;
                        }
                    }
                    self.reply.count_answered(served);
                }
                Ok(Step::Nothing { len }) => at += len,
                Ok(Step::Incomplete) if self.socket.is_full(rest.len()) => {
                    return Ok(self.refuse_frame(FrameError::RequestTooLarge));
                }
                Ok(Step::Incomplete) => {
                    self.socket.keep(rest);
                    break;
                }
                Err(error) => return Ok(self.refuse_frame(error)),
            }
            if self.reply.bytes().len() >= look_at {
                look_at = self.look().await?;
            }
        }
        Ok(Next::Read)
    }

    /// Answers `EXEC`: every queued request in its turn, as if it stood alone: others come
    /// first between two of them where they would between two requests.
    async fn run_queued(&mut self, queue: &Queue) -> Result<Next, End> {
        self.reply.array(queue.len());
        let mut look_at = 0;
        for (row, args) in queue.requests() {
            let mut call = Call {
                args,
                run: 1,
                served: 1,
                thread: &self.thread,
                session: &mut self.session,
                reply: &mut self.reply,
            };
            match commands::run(Some(row), &mut call) {
                Flow::Done => {}
                Flow::Wait(later) => {
                    let reply = later.await;
                    self.reply.append(reply);
                    if self.session.wrong_tokens >= self.thread.config().max_wrong_tokens {
                        return Ok(Next::Close);
                    }
                    look_at = 0;
                }
                // Neither is ever queued.
                Flow::Close | Flow::Run(_) => return Ok(Next::Close),
            }
            if self.reply.bytes().len() >= look_at {
                look_at = self.look().await?;
            }
        }
        Ok(Next::Read)
    }

    /// As [`Socket::look`].
    async fn look(&mut self) -> Result<usize, End> {
        self.reply.let_go();
        let out = self.reply.buffer();
        self.socket.look(out, self.output_max, &mut self.turn).await
    }

    /// Before answers are sent.
    async fn give_way(&mut self) {
        if self.session.identity.is_some() {
            self.socket.watch().authenticated();
        }
        self.turn.end_of_all(self.session.face).await;
    }

    #[inline]
    fn execute_one(&mut self, rest: &[u8], len: usize) -> (u64, Flow) {
        let args = self.parser.args(rest);
        let row = self.session.dialect.find(args.at(0));
        let is_inline = self.parser.is_inline();
        let run = match row {
            // Before all else: a line of HTTP may look like a command that there is.
            _ if is_inline && web::is_http(args, true) => return self.refuse_web_page(),
            // Each request by itself, where they are counted.
            Some(row) if row.repeats && !self.thread.service().has_limits() => {
                run_length(rest, len).min(self.thread.config().turn_ids)
            }
            None if web::is_http(args, is_inline) => return self.refuse_web_page(),
            _ => 1,
        };
        let mut call = Call {
            args,
            run,
            served: 1,
            thread: &self.thread,
            session: &mut self.session,
            reply: &mut self.reply,
        };
        let flow = commands::run(row, &mut call);
        (call.served, flow)
    }

    /// Ends the connection without an answer, as Redis does: what follows may be the body that a page chose.
    #[cold]
    fn refuse_web_page(&mut self) -> (u64, Flow) {
        self.thread.counters().refused(Code::CrossOrigin);
        let peer = self.session.peer;
        self.thread.service().log().note(Noise::WebPage, peer);
        (1, Flow::Close)
    }

    fn refuse_frame(&mut self, error: FrameError) -> Next {
        let text = (self.session.dialect.no_request)(&error);
        self.reply.error(Code::Protocol, &text);
        Next::Close
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
