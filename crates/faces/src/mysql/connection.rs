//! One connection: greet, then read all there is, answer every packet that is complete, with one write.

use std::cell::Cell;
use std::rc::Rc;

use super::answer::write_error;
use super::capabilities::Capabilities;
use super::greeting::{Greeting, Nonce, Plugin};
use super::kill::Registered;
use super::packet::{self, HEAD_BYTES, Packets, Step};
use super::refusal::Refusal;
use super::session::Session;
use mintage_server::chassis::auth::{Identity, Presented};
use mintage_server::chassis::config::{Config, FaceAuth};
use mintage_server::chassis::connection;
use mintage_server::chassis::error::Code;
use mintage_server::chassis::kept::Keeping;
use mintage_server::chassis::metrics::FaceId;
use mintage_server::chassis::noise::Noise;
use mintage_server::chassis::socket::{End, Socket};
use mintage_server::chassis::thread::ServingThread;
use mintage_server::chassis::transport::Peer;
use mintage_server::chassis::turn::{LOOK_BYTES, Turn};
use mintage_server::chassis::watch::{Deadlines, Verdict, Waiting};
use mintage_server::chassis::{Protocols, faces, resp};

/// How long a connection may wait for what: as on the port of the Redis protocol, whose clients keep connections too. A
/// login has its time whether tokens are configured or not, since nothing is done before one.
pub(super) fn deadlines(config: &Config) -> Deadlines {
    Deadlines {
        authentication: config.authentication_timeout.0,
        ..(resp::SERVES.deadlines)(config)
    }
}

/// The largest request, with its head.
pub(super) fn request_bytes(config: &Config) -> usize {
    HEAD_BYTES + config.faces.get::<crate::mysql::Settings>().max_request.0
}

/// What asks for TLS, with its head. TLS itself follows at once, without an answer of ours: no byte of it may be read here.
const TLS_REQUEST_BYTES: usize = HEAD_BYTES + 32;

/// The largest packet of a login.
const LOGIN_BYTES_MAX: usize = 10_000;

/// Serves one connection until it ends.
pub(super) async fn serve(connection: connection::Connection) {
    let connection::Connection {
        stream,
        peer,
        presented,
        wants_tls,
        face,
        thread,
        watch,
        counted: _counted,
    } = connection;
    let config = thread.config();
    let host = match peer {
        Peer::Tcp(address) => address.ip().to_canonical().to_string(),
        Peer::Unix => "localhost".into(),
    };
    let mut connection = Connection {
        socket: Socket::new(stream, watch, thread.clone(), request_bytes(&config)),
        out: Vec::new(),
        turn: Turn::begin(&thread),
        session: Session::new(thread.connection_id() as u32, host.into(), Keeping::new(&thread)),
        phase: Phase::Login,
        nonce: Nonce::new(),
        wants_tls,
        is_encrypted: false,
        registered: None,
        acting: Rc::default(),
        max_request: config.faces.get::<crate::mysql::Settings>().max_request.0,
        multi_statements: false,
        peer,
        presented,
        face,
        thread,
    };
    if connection.offers_tls() {
        connection.socket.read_at_most(TLS_REQUEST_BYTES);
    }
    let mut ended = connection.greet().await.err();
    loop {
        ended = match ended {
            // Boxes of their own, since a connection is rarely there: one that waits is small.
            Some(end) => break Box::pin(connection.end(end)).await,
            None => connection.run().await,
        };
        if ended.is_none() {
            // What is said from here on is encrypted, and the rest of the connection is as it was.
            let begun = Box::pin(connection.socket.begin_tls(Protocols::Mysql));
            let Ok((socket, presented)) = begun.await else {
                return;
            };
            connection = Connection {
                socket,
                presented: Rc::new(presented),
                is_encrypted: true,
                ..connection
            };
            connection
                .socket
                .read_at_most(HEAD_BYTES + connection.max_request);
        }
    }
}

/// Where a connection is.
#[derive(Debug)]
pub(super) enum Phase {
    /// Its login is awaited.
    Login,
    /// What it shows by another way, or anew, is awaited.
    Showing(Entering),
    /// It has logged in.
    Commands,
}

/// A login whose answer to a question is awaited.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Entering {
    pub(super) user: Box<str>,
    pub(super) database: Box<str>,
    pub(super) plugin: Plugin,
}

/// What follows a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Next {
    /// Others do.
    Packet,
    /// TLS does.
    Tls,
    /// Nothing.
    Close,
}

pub(super) struct Connection {
    pub(super) socket: Socket,
    pub(super) out: Vec<u8>,
    pub(super) turn: Turn,
    pub(super) session: Session,
    pub(super) phase: Phase,
    /// The bytes that passwords are shown with.
    pub(super) nonce: Nonce,
    /// Its address is one of TLS: nobody logs in there without it.
    pub(super) wants_tls: bool,
    /// Whether TLS is spoken.
    pub(super) is_encrypted: bool,
    /// Its place among all, once it has logged in.
    pub(super) registered: Option<Registered>,
    pub(super) acting: Rc<Cell<bool>>,
    pub(super) max_request: usize,
    /// Whether a text may have several statements.
    pub(super) multi_statements: bool,
    pub(super) peer: Peer,
    pub(super) presented: Rc<Presented>,
    pub(super) face: FaceId,
    pub(super) thread: Rc<ServingThread>,
}

/// Why nothing more is read as it was.
enum Pause {
    End(End),
    Tls,
}

impl From<End> for Pause {
    fn from(end: End) -> Pause {
        Pause::End(end)
    }
}

impl Connection {
    /// Serves until the end; `None`: until TLS begins.
    async fn run(&mut self) -> Option<End> {
        loop {
            match self.round().await {
                Ok(()) => {}
                Err(Pause::Tls) => return None,
                Err(Pause::End(end)) => return Some(end),
            }
        }
    }

    async fn end(&mut self, end: End) {
        // Nobody ends it a second time.
        self.registered = None;
        self.say_why(end).await;
        self.socket.close(end).await;
    }

    /// The server speaks first.
    async fn greet(&mut self) -> Result<(), End> {
        let config = self.thread.config();
        let greeting = Greeting {
            version: config
                .faces
                .get::<crate::mysql::Settings>()
                .server_version
                .greeted(),
            id: self.session.id.into(),
            nonce: &self.nonce,
            capabilities: self.capabilities(),
            plugin: self.plugin(),
        };
        let mut out = self.thread.borrow_output();
        greeting.write(&mut out);
        let sent = self.socket.flush(&mut out).await;
        self.thread.return_output(out);
        sent
    }

    /// What this server can do.
    pub(super) fn capabilities(&self) -> Capabilities {
        match self.offers_tls() {
            true => Capabilities::OURS.with(Capabilities::SSL),
            false => Capabilities::OURS,
        }
    }

    /// Reads, answers.
    async fn round(&mut self) -> Result<(), Pause> {
        let (buffer, filled) = self.fill().await?;
        self.out = self.thread.borrow_output();
        let answered = self.answer_all(&buffer[..filled]).await;
        self.thread.return_input(buffer);
        let next = answered?;
        self.turn.end_of_all(self.face).await;
        self.socket.flush(&mut self.out).await?;
        self.thread.return_output(std::mem::take(&mut self.out));
        match next {
            Next::Packet => Ok(()),
            Next::Tls => Err(Pause::Tls),
            Next::Close => Err(End::Answered.into()),
        }
    }

    /// Waits for bytes, or for somebody who ends the connection.
    async fn fill(&mut self) -> Result<(Box<[u8]>, usize), End> {
        match &self.registered {
            None => self.socket.fill(&mut self.turn).await,
            Some(registered) => tokio::select! {
                biased;
                filled = self.socket.fill(&mut self.turn) => filled,
                () = registered.connection_ended() => Err(End::Verdict),
            },
        }
    }

    /// Answers every complete packet of `input` and keeps the rest.
    async fn answer_all(&mut self, input: &[u8]) -> Result<Next, End> {
        let mut at = 0;
        let mut look_at = LOOK_BYTES;
        while at < input.len() {
            let rest = &input[at..];
            let is_login = !matches!(self.phase, Phase::Commands);
            let max = if is_login {
                LOGIN_BYTES_MAX
            } else {
                self.max_request
            };
            match packet::read(rest, max.min(self.max_request)) {
                Step::Incomplete => {
                    self.socket.keep(rest);
                    if rest.len() >= TLS_REQUEST_BYTES {
                        // It is a login, and no request of TLS.
                        self.socket.read_at_most(HEAD_BYTES + self.max_request);
                    }
                    break;
                }
                Step::TooLong { number } => return Ok(self.refuse_long(rest, number)),
                Step::Packet { number, payload, len } => {
                    self.socket.watch().wait_for(Waiting::Nothing);
                    let (next, served) = match is_login {
                        true => (Box::pin(self.enter(number, payload)).await, 1),
                        false => self.command(number, payload, rest, len).await?,
                    };
                    self.thread.counters().requests(self.face, served);
                    self.turn.answered(served);
                    at += len * served as usize;
                    match next {
                        Next::Packet => {}
                        // What came behind in clear is no part of what is said encrypted.
                        Next::Tls if at < input.len() => return Ok(Next::Close),
                        next => return Ok(next),
                    }
                }
            }
            if self.out.len() >= look_at {
                look_at = self.look().await?;
            }
        }
        Ok(Next::Packet)
    }

    /// As [`Socket::look`].
    pub(super) async fn look(&mut self) -> Result<usize, End> {
        let max = self.thread.config().resp_max_output.0;
        self.socket.look(&mut self.out, max, &mut self.turn).await
    }

    /// Refuses something, and counts that.
    #[cold]
    pub(super) fn refuse(&mut self, number: u8, refusal: &Refusal) -> Next {
        self.count_refusal(refusal.code);
        write_error(&mut Packets::new(&mut self.out, number.wrapping_add(1)), refusal);
        match refusal.ends_connection {
            true => Next::Close,
            false => Next::Packet,
        }
    }

    pub(super) fn count_refusal(&self, code: Code) {
        let counters = self.thread.counters();
        counters.refused(code);
        counters.face_answered(self.face, Some(code), 1);
    }

    /// A packet that is longer than any: most likely none at all, where no login was read yet.
    #[cold]
    fn refuse_long(&mut self, bytes: &[u8], number: u8) -> Next {
        if !matches!(self.phase, Phase::Login) {
            return self.refuse(number, &Refusal::too_long());
        }
        self.note_foreign(bytes)
    }

    /// Ends a connection that speaks something else, without an answer, which nobody could read.
    #[cold]
    pub(super) fn note_foreign(&mut self, bytes: &[u8]) -> Next {
        self.count_refusal(Code::Protocol);
        let first = &bytes[..bytes.len().min(FOREIGN_BYTES_SHOWN)];
        let what = format!("to the face mysql: \"{}\"", first.escape_ascii());
        let log = self.thread.service().log();
        log.note_sent(Noise::OtherProtocol, what, self.peer);
        Next::Close
    }

    /// Who a client is before it shows a token.
    pub(super) fn before_a_word(&self) -> Option<Identity> {
        let (tokens, config) = (self.thread.service().tokens(), self.thread.config());
        let is_open = config.faces.get::<crate::mysql::Settings>().access.auth == FaceAuth::Open;
        tokens
            .before_a_word(&self.presented, faces::name(self.face))
            .or(is_open.then_some(Identity::OPEN))
    }

    /// A client that waits for nothing is told that the server stops, as MariaDB tells it; and whoever was late is noted.
    async fn say_why(&mut self, end: End) {
        match self.socket.watch().peek() {
            Some(Verdict::Late(code)) => {
                self.thread.counters().refused(code);
                tracing::debug!(peer = %self.peer, %code, "connection closed");
            }
            Some(Verdict::Stopping) if end == End::Verdict => {
                let mut out = Vec::new();
                write_error(&mut Packets::new(&mut out, 0), &Refusal::shutdown());
                // Whether it arrives changes nothing.
                let _ = self.socket.flush(&mut out).await;
            }
            _ => {}
        }
    }
}

/// So much of another protocol is told in the log: what it is shows at once.
const FOREIGN_BYTES_SHOWN: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    fn size_of_output<F>(_: fn(connection::Connection) -> F) -> usize {
        size_of::<F>()
    }

    #[test]
    fn a_connection_that_waits_is_small() {
        let bytes = size_of_output(serve);
        assert!(bytes <= 4096, "{bytes}");
    }
}
