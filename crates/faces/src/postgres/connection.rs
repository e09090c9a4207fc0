//! One connection: read all there is, execute all that is complete, answer with one write.

use std::rc::Rc;

use super::backend;
use super::cancel;
use super::errors::{Severity, SqlError};
use super::execute::{Client, Pace};
use super::frontend::{self, Fields, Step};
use super::login::{self, Guest, Way};
use super::startup::{self, Packet, Start};
use super::talk::{Next, Talk};
use mintage_server::chassis::auth::Scram;
use mintage_server::chassis::config::Config;
use mintage_server::chassis::connection;
use mintage_server::chassis::error::Code;
use mintage_server::chassis::noise::Noise;
use mintage_server::chassis::socket::{End, Socket};
use mintage_server::chassis::transport::Stream;
use mintage_server::chassis::turn::{LOOK_BYTES, Turn};
use mintage_server::chassis::watch::{Deadlines, Verdict, Waiting};
use mintage_server::chassis::{Protocols, faces, resp};

/// How long a connection may wait for what: as on the port of the Redis protocol, whose clients keep connections too.
pub(super) fn deadlines(config: &Config) -> Deadlines {
    (resp::SERVES.deadlines)(config)
}

/// How much is read into a buffer at most: the longest message, and its head.
pub(super) fn input_bytes(config: &Config) -> usize {
    let message = config.faces.get::<crate::postgres::Settings>().max_request.0;
    message.max(startup::PACKET_BYTES_MAX) + 16
}

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
    let mut connection = Connection {
        guest: Guest {
            peer,
            face,
            presented,
            is_tls: matches!(stream, Stream::Tls(_)),
            is_unix: matches!(stream, Stream::Unix(_)),
            wants_tls,
            thread: thread.clone(),
        },
        pace: Pace {
            socket: Socket::new(stream, watch, thread.clone(), input_bytes(&config)),
            turn: Turn::begin(&thread),
            output_max: config.resp_max_output.0,
        },
        out: Vec::new(),
        phase: Phase::Start {
            asked_tls: false,
            asked_gss: false,
        },
        skipping: false,
    };
    if connection.guest.offers_tls() {
        match connection.pace.socket.begins_with_tls().await {
            Ok(false) => {}
            Ok(true) => match Box::pin(connection.with_tls(true)).await {
                Ok(encrypted) => connection = encrypted,
                Err(_) => return,
            },
            Err(_) => return,
        }
    }
    let end = loop {
        match connection.round().await {
            Ok(Next::Tls) => match Box::pin(connection.with_tls(false)).await {
                Ok(encrypted) => connection = encrypted,
                Err(_) => return,
            },
            Ok(Next::Close) => break End::Answered,
            Ok(_) => {}
            Err(end) => break end,
        }
    };
    connection.say_goodbye(end).await;
}

/// How far a connection is.
enum Phase {
    Start {
        asked_tls: bool,
        asked_gss: bool,
    },
    Password(Box<Start>),
    /// Its first message is to come.
    Sasl(Box<Start>),
    /// Its last.
    Scram(Box<(Start, Scram)>),
    Ready(Box<Client>),
}

impl Phase {
    /// Nothing more is taken.
    const CLOSED: Phase = Phase::Start {
        asked_tls: true,
        asked_gss: true,
    };
}

struct Connection {
    pace: Pace,
    guest: Guest,
    out: Vec<u8>,
    phase: Phase,
    /// A message was refused: everything up to Sync is passed over.
    skipping: bool,
}

impl Connection {
    /// Begins TLS: without having been asked for (`direct`), only for those that say which protocol they mean.
    async fn with_tls(self, direct: bool) -> Result<Connection, End> {
        let Connection {
            pace,
            mut guest,
            out,
            phase,
            skipping,
        } = self;
        let (mut socket, presented) = pace.socket.begin_tls(Protocols::Postgres).await?;
        let (stream, ..) = socket.lend();
        if direct && !matches!(stream, Stream::Tls(tls) if tls.tls().alpn_protocol() == Some(b"postgresql")) {
            return Err(End::Client);
        }
        (guest.is_tls, guest.presented) = (true, Rc::new(presented));
        Ok(Connection {
            pace: Pace { socket, ..pace },
            guest,
            out,
            phase,
            skipping,
        })
    }

    /// Reads, executes, answers.
    async fn round(&mut self) -> Result<Next, End> {
        let (buffer, filled) = self.pace.socket.fill(&mut self.pace.turn).await?;
        self.out = self.guest.thread.borrow_output();
        if let Phase::Ready(client) = &mut self.phase {
            client.config = self.guest.thread.config();
            client.session.keeping.follow(&client.config);
        }
        let executed = self.execute(&buffer[..filled]).await;
        self.guest.thread.return_input(buffer);
        let next = executed?;
        if matches!(self.phase, Phase::Ready(_)) {
            self.pace.socket.watch().authenticated();
        }
        self.pace.turn.end_of_all(self.guest.face).await;
        self.pace.socket.flush(&mut self.out).await?;
        self.guest.thread.return_output(std::mem::take(&mut self.out));
        Ok(next)
    }

    /// Executes every complete message of `input` and keeps the rest.
    async fn execute(&mut self, input: &[u8]) -> Result<Next, End> {
        let mut at = 0;
        let mut look_at = LOOK_BYTES;
        while at < input.len() {
            let rest = &input[at..];
            let next = match &self.phase {
                Phase::Start { .. } => self.start(rest).await,
                Phase::Password(_) | Phase::Sasl(_) | Phase::Scram(_) => Box::pin(self.password(rest)).await,
                Phase::Ready(_) => self.talk(rest).await?,
            };
            match next {
                Next::Used(len) => at += len,
                Next::Close | Next::Tls => return Ok(next),
                Next::Incomplete => {
                    self.pace.socket.keep(rest);
                    break;
                }
            }
            if self.out.len() >= look_at {
                self.pace.look(&mut self.out).await?;
                look_at = self.out.len() + LOOK_BYTES;
            }
        }
        Ok(Next::Incomplete)
    }

    /// A packet before the first message.
    async fn start(&mut self, rest: &[u8]) -> Next {
        let Phase::Start { asked_tls, asked_gss } = &mut self.phase else {
            return Next::Close;
        };
        match startup::read(rest) {
            Packet::Incomplete => Next::Incomplete,
            Packet::Foreign => self.refuse_foreign(rest),
            Packet::Cancel { process, secret } => {
                cancel::cancel(self.guest.thread.shared(), process, secret);
                Next::Close
            }
            Packet::Tls { len } if !std::mem::replace(asked_tls, true) => self.encryption(rest, len, "SSL"),
            Packet::Gss { len } if !std::mem::replace(asked_gss, true) => {
                self.encryption(rest, len, "GSSAPI encryption")
            }
            Packet::Tls { .. } | Packet::Gss { .. } => {
                let message = "unsupported frontend protocol 1234.5679: server supports 3.0 to 3.0";
                self.refuse(SqlError::fatal("0A000", message))
            }
            Packet::Start { version, body, len } => match startup::start(version, body) {
                Ok(start) => self.begin(start, len).await,
                Err(error) => self.refuse(error),
            },
        }
    }

    /// A request for encryption: TLS where there are certificates.
    fn encryption(&mut self, rest: &[u8], len: usize, what: &str) -> Next {
        if rest.len() > len {
            let message = format!("received unencrypted data after {what} request");
            let hint = "This could be either a client-software bug or evidence of an attempted man-in-the-middle attack.";
            return self.refuse(SqlError::fatal("08P01", message).with_detail(hint));
        }
        if what == "SSL" && self.guest.offers_tls() {
            self.out.push(b'S');
            return Next::Tls;
        }
        self.out.push(b'N');
        Next::Used(len)
    }

    async fn begin(&mut self, start: Start, len: usize) -> Next {
        if start.negotiates {
            let unknown: Vec<&str> = start.unknown.iter().map(String::as_str).collect();
            backend::negotiate(&mut self.out, &unknown);
        }
        match login::way(&self.guest, &start) {
            Ok(Way::Known(who)) => match login::welcome(&self.guest, &start, who, &mut self.out).await {
                Ok(client) => self.phase = Phase::Ready(Box::new(client)),
                Err(error) => return self.refuse(error),
            },
            Ok(Way::Password) => {
                self.out.extend_from_slice(backend::ASK_PASSWORD);
                self.phase = Phase::Password(Box::new(start));
            }
            Ok(Way::Scram(mechanisms)) => {
                backend::authentication(&mut self.out, 10, mechanisms);
                self.phase = Phase::Sasl(Box::new(start));
            }
            Err(error) => return self.refuse(error),
        }
        Next::Used(len)
    }

    /// The token as a password, or a message of SCRAM.
    async fn password(&mut self, rest: &[u8]) -> Next {
        let (kind, body, len) = match frontend::read(rest, startup::PACKET_BYTES_MAX) {
            Step::Incomplete => return Next::Incomplete,
            Step::WrongLength | Step::TooLong(_) => {
                return self.refuse(SqlError::fatal("08P01", "invalid message length"));
            }
            Step::Message { kind, body, len } => (kind, body, len),
        };
        if kind != b'p' {
            let message = format!("expected password response, got message type {kind}");
            return self.refuse(SqlError::fatal("08P01", message));
        }
        let done = match std::mem::replace(&mut self.phase, Phase::CLOSED) {
            Phase::Password(start) => self.by_password(*start, body).await,
            Phase::Sasl(start) => self.begin_scram(*start, body),
            Phase::Scram(both) => self.finish_scram(*both, body).await,
            Phase::Start { .. } | Phase::Ready(_) => return Next::Close,
        };
        match done {
            Ok(()) => Next::Used(len),
            Err(error) => {
                if error.code == Code::WrongToken {
                    let delay = self.guest.thread.service().delay_of_wrong_token(self.guest.peer);
                    tokio::time::sleep(delay).await;
                }
                self.refuse(error)
            }
        }
    }

    async fn by_password(&mut self, start: Start, body: &[u8]) -> Result<(), SqlError> {
        let token = Fields(body).text().unwrap_or_default().as_bytes();
        let tokens = self.guest.thread.service().tokens();
        let who = tokens.identify(token, faces::name(self.guest.face));
        let who = who.ok_or_else(|| login::wrong_token(&start.user))?;
        let client = login::welcome(&self.guest, &start, who, &mut self.out).await?;
        self.phase = Phase::Ready(Box::new(client));
        Ok(())
    }

    fn begin_scram(&mut self, start: Start, body: &[u8]) -> Result<(), SqlError> {
        let (scram, first) = login::begin_scram(&self.guest, &start.user, body)?;
        backend::authentication(&mut self.out, 11, &first);
        self.phase = Phase::Scram(Box::new((start, scram)));
        Ok(())
    }

    async fn finish_scram(&mut self, (start, scram): (Start, Scram), body: &[u8]) -> Result<(), SqlError> {
        let finished = scram.finish(self.guest.thread.service().tokens(), body);
        let (who, last) = finished.map_err(|error| login::no_scram(error, &start.user))?;
        backend::authentication(&mut self.out, 12, &last);
        let client = login::welcome(&self.guest, &start, who, &mut self.out).await?;
        self.phase = Phase::Ready(Box::new(client));
        Ok(())
    }

    /// A message of a client that is known.
    async fn talk(&mut self, rest: &[u8]) -> Result<Next, End> {
        let Phase::Ready(client) = &mut self.phase else {
            return Ok(Next::Close);
        };
        let max = client
            .config
            .faces
            .get::<crate::postgres::Settings>()
            .max_request
            .0;
        let (kind, body, len) = match frontend::read(rest, max) {
            Step::Incomplete => return Ok(Next::Incomplete),
            Step::WrongLength => return Ok(self.refuse(SqlError::fatal("08P01", "invalid message length"))),
            Step::TooLong(bytes) => {
                let message =
                    format!("a message of {bytes} bytes is longer than faces.postgres.max_request, {max}");
                return Ok(self.refuse(SqlError::fatal("54000", message)));
            }
            Step::Message { kind, body, len } => (kind, body, len),
        };
        self.pace.socket.watch().wait_for(Waiting::Nothing);
        if !client.thread.service().tokens().holds(&client.who) {
            let message = "the token of this connection is not valid any more";
            return Ok(self.refuse(SqlError::fatal("28000", message)));
        }
        let mut talk = Talk {
            client,
            pace: &mut self.pace,
            out: &mut self.out,
            skipping: &mut self.skipping,
        };
        if let Some(used) = talk.at_once(kind, body, len, rest) {
            return Ok(Next::Used(used));
        }
        // Boxed: what a statement needs while it runs would make every idle connection as large.
        Box::pin(talk.message(kind, body, len)).await
    }

    /// Tells why the connection ends.
    fn refuse(&mut self, error: SqlError) -> Next {
        let error = SqlError {
            severity: Severity::Fatal,
            ..error
        };
        let counters = self.guest.thread.counters();
        counters.refused(error.code);
        counters.face_answered(self.guest.face, Some(error.code), 1);
        backend::error(&mut self.out, &error, "");
        Next::Close
    }

    /// Ends the connection without an answer, which nobody could read.
    #[cold]
    fn refuse_foreign(&mut self, bytes: &[u8]) -> Next {
        let counters = self.guest.thread.counters();
        counters.refused(Code::Protocol);
        counters.face_answered(self.guest.face, Some(Code::Protocol), 1);
        let first = &bytes[..bytes.len().min(FOREIGN_BYTES_SHOWN)];
        let what = format!("to the face postgres: \"{}\"", first.escape_ascii());
        let log = self.guest.thread.service().log();
        log.note_sent(Noise::OtherProtocol, what, self.guest.peer);
        Next::Close
    }

    /// The last words of a connection that the server ends.
    async fn say_goodbye(&mut self, end: End) {
        let verdict = self.pace.socket.watch().peek();
        if let Some(Verdict::Late(code)) = verdict {
            self.guest.thread.counters().refused(code);
            tracing::debug!(peer = %self.guest.peer, %code, "connection closed");
        }
        let is_known = matches!(self.phase, Phase::Ready(_));
        let words = match verdict {
            Some(Verdict::Late(Code::IdleTimeout)) if is_known => {
                Some(("57P05", "terminating connection due to idle-session timeout"))
            }
            Some(Verdict::Stopping) => Some(("57P01", "terminating connection due to administrator command")),
            _ => None,
        };
        if let Some((state, words)) = words.filter(|_| end == End::Verdict) {
            self.out.clear();
            backend::error(&mut self.out, &SqlError::fatal(state, words), "");
            // Whatever comes of it, the connection ends.
            let _ = self.pace.socket.flush(&mut self.out).await;
        }
        self.pace.socket.close(end).await;
    }
}

/// So much of another protocol is told in the log: what it is shows at once.
const FOREIGN_BYTES_SHOWN: usize = 16;
