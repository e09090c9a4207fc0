//! One connection: read all there is, answer every call that is complete, in their order, with one write.

use std::ops::ControlFlow;
use std::rc::Rc;

use super::agents::LastAgent;
use super::codec::{self, CALL_BYTES_MAX, Call, Reader, Step};
use super::methods::{self, Asked, Refusal};
use mintage_server::chassis::auth::{Identity, Presented, Right, What};
use mintage_server::chassis::config::Config;
use mintage_server::chassis::connection;
use mintage_server::chassis::error::Code;
use mintage_server::chassis::metrics::FaceId;
use mintage_server::chassis::noise::Noise;
use mintage_server::chassis::socket::{End, Socket};
use mintage_server::chassis::thread::ServingThread;
use mintage_server::chassis::transport::Peer;
use mintage_server::chassis::turn::{LOOK_BYTES, Turn};
use mintage_server::chassis::watch::{Deadlines, Verdict, Waiting};
use mintage_server::chassis::{faces, resp};

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
        presented,
        wants_tls: _,
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
        presented,
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
    presented: Rc<Presented>,
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
        self.check_use()?;
        let (buffer, filled) = self.socket.fill(&mut self.turn).await?;
        // What was said while we waited counts too.
        self.check_use()?;
        self.out = self.thread.borrow_output();
        let answered = self.answer_all(&buffer[..filled]).await;
        self.thread.return_input(buffer);
        let next = answered?;
        self.turn.end_of_all(self.face).await;
        self.socket.flush(&mut self.out).await?;
        self.thread.return_output(std::mem::take(&mut self.out));
        match next {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(End::Answered),
        }
    }

    /// Whether this face may be used without a token, which its protocol has no place for: it is open, or the connection
    /// itself shows who it is.
    fn check_use(&self) -> Result<(), End> {
        let (config, tokens) = (self.thread.config(), self.thread.service().tokens());
        if !config
            .faces
            .get::<crate::thrift::Settings>()
            .access
            .shuts_all_out(tokens.required())
        {
            return Ok(());
        }
        let who = tokens.before_a_word(&self.presented, faces::name(self.face));
        let pool = What::Named(methods::POOL.as_bytes());
        let code = match who.map(|who| who.check(Right::Allocate, pool)) {
            Some(Ok(())) => return Ok(()),
            Some(Err(denied)) => {
                tracing::debug!(peer = %self.peer, why = denied.message, "connection closed");
                Code::Forbidden
            }
            None => Code::Unauthenticated,
        };
        self.thread.counters().refused(code);
        Err(End::Answered)
    }

    /// Answers every complete call of `input` and keeps the rest; breaks where the connection ends.
    async fn answer_all(&mut self, input: &[u8]) -> Result<ControlFlow<()>, End> {
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
                    at += len.unwrap_or_default();
                    self.refuse(&call, &Refusal::broken(fault, len.is_some()))
                }
                Step::Foreign => self.refuse_foreign(rest),
            };
            self.thread.counters().requests(self.face, 1);
            self.turn.answered(1);
            if next.is_break() {
                return Ok(next);
            }
            if self.out.len() >= look_at {
                let output_max = self.thread.config().resp_max_output.0;
                look_at = self
                    .socket
                    .look(&mut self.out, output_max, &mut self.turn)
                    .await?;
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    #[inline]
    async fn answer(&mut self, call: &Call<'_>) -> ControlFlow<()> {
        tracing::debug!(peer = %self.peer, method = %call.name.escape_ascii(), "request");
        let asked = match methods::asked(call) {
            Ok(asked) => asked,
            Err(refusal) => return self.refuse(call, &refusal),
        };
        if call.oneway {
            // Nobody would see the id: none is made.
            self.thread.counters().face_answered(self.face, None, 1);
            return ControlFlow::Continue(());
        }
        let service = self.thread.service();
        if service.has_limits() {
            let who = service
                .tokens()
                .before_a_word(&self.presented, faces::name(self.face));
            let who = who.unwrap_or(Identity::OPEN);
            if let Err(error) = service.admit(&who, self.peer) {
                return self.refuse(call, &error.into());
            }
            service.spend(&who, self.peer, 1);
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
                ControlFlow::Continue(())
            }
            Err(refusal) => self.refuse(call, &refusal),
        }
    }

    #[cold]
    fn refuse(&mut self, call: &Call<'_>, refusal: &Refusal) -> ControlFlow<()> {
        let counters = self.thread.counters();
        counters.refused(refusal.code);
        counters.face_answered(self.face, Some(refusal.code), 1);
        if !call.oneway {
            codec::refuse(&mut self.out, call, refusal.exception, &refusal.text);
        }
        match refusal.ends_connection {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }

    /// Ends the connection without an answer, which nobody could read.
    #[cold]
    fn refuse_foreign(&mut self, bytes: &[u8]) -> ControlFlow<()> {
        let counters = self.thread.counters();
        counters.refused(Code::Protocol);
        counters.face_answered(self.face, Some(Code::Protocol), 1);
        let first = &bytes[..bytes.len().min(FOREIGN_BYTES_SHOWN)];
        let what = format!("to the face thrift: \"{}\"", first.escape_ascii());
        self.thread
            .service()
            .log()
            .note_sent(Noise::OtherProtocol, what, self.peer);
        ControlFlow::Break(())
    }
}

/// So much of another protocol is told in the log: what it is shows at once.
const FOREIGN_BYTES_SHOWN: usize = 16;
