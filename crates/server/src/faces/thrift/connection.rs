//! One connection: read all there is, answer every call that is complete, in their order, with one write.

use std::rc::Rc;

use super::agents::LastAgent;
use super::codec::{self, CALL_BYTES_MAX, Call, Reader, Step};
use super::methods::{self, Asked, Refusal};
use crate::config::Config;
use crate::connection;
use crate::error::Code;
use crate::faces::resp;
use crate::metrics::FaceId;
use crate::noise::Noise;
use crate::socket::{End, Socket};
use crate::thread::ServingThread;
use crate::transport::Peer;
use crate::turn::{LOOK_BYTES, Turn, after_the_others};
use crate::watch::{Deadlines, Verdict, Waiting};

/// How long a connection may wait for what: as on the port of the Redis protocol, whose clients keep connections too.
pub(super) fn deadlines(config: &Config) -> Deadlines {
    Deadlines {
        // There is no message in which a client could say who it is.
        authentication: None,
        ..(resp::SERVES.deadlines)(config)
    }
}

/// Serves one connection until it ends.
pub(super) async fn serve(connection: connection::Connection) {
    let connection::Connection {
        stream,
        peer,
        face,
        thread,
        watch,
        counted: _counted,
    } = connection;
    let mut connection = Connection {
        socket: Socket::new(stream, watch, thread.clone(), CALL_BYTES_MAX),
        reader: Reader::default(),
        out: Vec::new(),
        agent: LastAgent::default(),
        turn: Turn::begin(&thread),
        peer,
        face,
        thread,
    };
    let end = connection.run().await;
    if let Some(Verdict::Late(code)) = connection.socket.watch().peek() {
        connection.thread.counters().refused(code);
        tracing::debug!(%peer, %code, "connection closed");
    }
    connection.socket.close(end).await;
}

struct Connection {
    socket: Socket,
    reader: Reader,
    out: Vec<u8>,
    agent: LastAgent,
    turn: Turn,
    peer: Peer,
    face: FaceId,
    thread: Rc<ServingThread>,
}

impl Connection {
    async fn run(&mut self) -> End {
        loop {
            if let Err(end) = self.round().await {
                return end;
            }
        }
    }

    /// Reads, answers.
    async fn round(&mut self) -> Result<(), End> {
        if !self.may_use() {
            self.thread.counters().refused(Code::Unauthenticated);
            return Err(End::Answered);
        }
        let (buffer, filled) = self.socket.fill(&mut self.turn).await?;
        self.out = self.thread.borrow_output();
        let answered = self.answer_all(&buffer[..filled]).await;
        self.thread.return_input(buffer);
        let next = answered?;
        match self.turn.is_over_after_all(self.face) {
            true => self.turn.give_way().await,
            false => after_the_others().await,
        }
        self.socket.flush(&mut self.out).await?;
        self.thread.return_output(std::mem::take(&mut self.out));
        match next {
            Next::Read => Ok(()),
            Next::Close => Err(End::Answered),
        }
    }

    /// Whether this face may be used without a token, which its protocol has no place for. Looked at again and again,
    /// since the configuration may change.
    fn may_use(&self) -> bool {
        let tokens_required = self.thread.service().tokens().required();
        let config = self.thread.config();
        !config.faces.thrift.access.shuts_all_out(tokens_required)
    }

    /// Answers every complete call of `input` and keeps the rest.
    async fn answer_all(&mut self, input: &[u8]) -> Result<Next, End> {
        let mut at = 0;
        let mut look_at = LOOK_BYTES;
        while at < input.len() {
            let rest = &input[at..];
            let next = match self.reader.read(rest) {
                Step::Incomplete => {
                    // The reader refuses what will never fit.
                    self.socket.keep(rest);
                    break;
                }
                Step::Call { call, len } => {
                    self.socket.watch().wait_for(Waiting::Nothing);
                    at += len;
                    self.answer(&call).await
                }
                Step::Broken { call, fault, len } => {
                    self.refuse(&call, &Refusal::broken(fault, len.is_some()));
                    at += len.unwrap_or_default();
                    if len.is_some() { Next::Read } else { Next::Close }
                }
                Step::Foreign => self.refuse_foreign(rest),
            };
            self.thread.counters().requests(self.face, 1);
            self.turn.answered(1);
            if next == Next::Close {
                return Ok(Next::Close);
            }
            if self.out.len() >= look_at {
                look_at = self.look().await?;
            }
        }
        Ok(Next::Read)
    }

    /// Sends what has been written if this is much, and lets others come first if this turn is over. Answers how much
    /// may be written until the next look.
    async fn look(&mut self) -> Result<usize, End> {
        let over = self.turn.is_over();
        if over || self.out.len() >= self.thread.config().resp_max_output.0 {
            self.socket.flush(&mut self.out).await?;
        }
        if over {
            self.turn.give_way().await;
        }
        Ok(self.out.len() + LOOK_BYTES)
    }

    #[inline]
    async fn answer(&mut self, call: &Call<'_>) -> Next {
        tracing::debug!(peer = %self.peer, method = %call.name.escape_ascii(), "request");
        let asked = match methods::asked(call) {
            Ok(asked) => asked,
            Err(refusal) => return self.refuse(call, &refusal),
        };
        if call.oneway {
            // Nobody would see the id: none is made.
            self.thread.counters().face_answered(self.face, None, 1);
            return Next::Read;
        }
        let done = match methods::at_once(&self.thread, asked) {
            Some(number) => Ok(number),
            None => methods::wait(&self.thread, asked).await,
        };
        match done {
            Ok(number) => {
                if let Asked::Id(agent) = asked {
                    self.agent.count(agent, self.thread.shared());
                }
                self.thread.counters().face_answered(self.face, None, 1);
                codec::reply(&mut self.out, call, number);
                Next::Read
            }
            Err(refusal) => self.refuse(call, &refusal),
        }
    }

    #[cold]
    fn refuse(&mut self, call: &Call<'_>, refusal: &Refusal) -> Next {
        let counters = self.thread.counters();
        counters.refused(refusal.code);
        counters.face_answered(self.face, Some(refusal.code), 1);
        if !call.oneway {
            codec::refuse(&mut self.out, call, refusal.exception, &refusal.text);
        }
        match refusal.ends_connection() {
            true => Next::Close,
            false => Next::Read,
        }
    }

    /// Ends the connection without an answer, which nobody could read.
    #[cold]
    fn refuse_foreign(&mut self, bytes: &[u8]) -> Next {
        let counters = self.thread.counters();
        counters.refused(Code::Protocol);
        counters.face_answered(self.face, Some(Code::Protocol), 1);
        let first = &bytes[..bytes.len().min(FOREIGN_BYTES_SHOWN)];
        let what = format!("to the face thrift: \"{}\"", first.escape_ascii());
        self.thread
            .service()
            .log()
            .note_sent(Noise::OtherProtocol, what, self.peer);
        Next::Close
    }
}

/// What to do after a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Next {
    Read,
    Close,
}

/// So much of another protocol is told in the log: what it is shows at once.
const FOREIGN_BYTES_SHOWN: usize = 16;
