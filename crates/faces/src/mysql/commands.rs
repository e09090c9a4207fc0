//! Commands: one packet each.

use std::pin::pin;
use std::rc::Rc;

use super::answer::{self, write_columns, write_eof, write_ok, write_prepared};
use super::at_once;
use super::cache;
use super::capabilities::{Capabilities, status};
use super::connection::{Connection, Next};
use super::execute::{Done, Execution};
use super::packet::Packets;
use super::plan::{Parsed, Statement};
use super::refusal::Refusal;
use super::value::{Kind, Value, put_binary_row, put_row};
use mintage_server::chassis::kept::Heap;
use mintage_server::chassis::socket::End;
use mintage_server::chassis::turn::LOOK_BYTES;

/// What a command is, by its first byte.
mod code {
    pub(super) const QUIT: u8 = 1;
    pub(super) const INIT_DB: u8 = 2;
    pub(super) const QUERY: u8 = 3;
    pub(super) const FIELD_LIST: u8 = 4;
    pub(super) const STATISTICS: u8 = 9;
    pub(super) const PROCESS_KILL: u8 = 12;
    pub(super) const PING: u8 = 14;
    pub(super) const CHANGE_USER: u8 = 17;
    pub(super) const STMT_PREPARE: u8 = 22;
    pub(super) const STMT_EXECUTE: u8 = 23;
    pub(super) const STMT_SEND_LONG_DATA: u8 = 24;
    pub(super) const STMT_CLOSE: u8 = 25;
    pub(super) const STMT_RESET: u8 = 26;
    pub(super) const SET_OPTION: u8 = 27;
    pub(super) const RESET_CONNECTION: u8 = 31;
}

/// How the rows of an answer are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Form {
    Text,
    Binary,
}

impl Connection {
    /// One command; what follows, and how many packets were answered. `rest` begins with the packet, of `len` bytes.
    pub(super) async fn command(
        &mut self,
        number: u8,
        payload: &[u8],
        rest: &[u8],
        len: usize,
    ) -> Result<(Next, u64), End> {
        if number != 0 {
            return Ok((self.refuse(number, &Refusal::out_of_order()), 1));
        }
        if !self.is_still_known() {
            return Ok((Next::Close, 1));
        }
        let Some((command, body)) = payload.split_first() else {
            return Ok((self.refuse(0, &Refusal::malformed()), 1));
        };
        match *command {
            code::QUERY => return self.query(body, rest, len).await,
            code::STMT_EXECUTE => return self.execute_prepared(body, rest, len).await,
            code::PROCESS_KILL => return Ok((Box::pin(self.process_kill(body)).await, 1)),
            _ => {}
        }
        Ok((self.other(*command, body), 1))
    }

    /// Whether the token that this connection has shown is good still; refused already if not.
    #[inline]
    fn is_still_known(&mut self) -> bool {
        let tokens = self.thread.service().tokens();
        if tokens.holds(&self.session.identity) {
            return true;
        }
        match self.before_a_word() {
            Some(identity) => {
                self.session.identity = identity;
                true
            }
            None => {
                let refusal = Refusal::access_denied(&self.session.user, &self.session.host, true);
                self.refuse(0, &refusal);
                false
            }
        }
    }

    /// What runs no statement.
    fn other(&mut self, command: u8, body: &[u8]) -> Next {
        tracing::debug!(peer = %self.peer, command, "request");
        match command {
            code::QUIT => return Next::Close,
            code::CHANGE_USER => return self.change_user(0, body),
            code::STMT_PREPARE => return self.prepare(body),
            code::INIT_DB => {
                if let Err(refusal) = self.session.use_database(&String::from_utf8_lossy(body)) {
                    return self.refuse(0, &refusal);
                }
                self.ok();
            }
            code::PING => self.ok(),
            code::FIELD_LIST => self.eof(),
            code::STATISTICS => self.statistics(),
            code::RESET_CONNECTION => {
                self.session.reset();
                self.multi_statements = self.session.capabilities.has(Capabilities::MULTI_STATEMENTS);
                self.ok();
            }
            code::SET_OPTION => match body {
                [0, 0] | [1, 0] => {
                    self.multi_statements = body[0] == 0;
                    self.eof();
                }
                _ => return self.refuse(0, &Refusal::unknown_command()),
            },
            code::STMT_CLOSE | code::STMT_RESET | code::STMT_SEND_LONG_DATA => {
                return self.of_statement(command, body);
            }
            _ => return self.refuse(0, &Refusal::unknown_command()),
        }
        self.thread.counters().face_answered(self.face, None, 1);
        Next::Packet
    }

    fn of_statement(&mut self, command: u8, body: &[u8]) -> Next {
        let Some((id, body)) = body.split_first_chunk::<4>() else {
            // Nothing is answered to two of these, whatever they hold.
            return match command {
                code::STMT_RESET => self.refuse(0, &Refusal::malformed()),
                _ => Next::Packet,
            };
        };
        let id = u32::from_le_bytes(*id);
        match (command, body.split_first_chunk::<2>()) {
            (code::STMT_CLOSE, _) => self.session.prepared.close(id),
            (code::STMT_SEND_LONG_DATA, Some((place, part))) => {
                let place = u16::from_le_bytes(*place);
                self.session
                    .prepared
                    .send_ahead(id, place, part, self.max_request);
            }
            (code::STMT_SEND_LONG_DATA, None) => {}
            _ if self.session.prepared.reset(id) => {
                self.ok();
                self.thread.counters().face_answered(self.face, None, 1);
            }
            _ => return self.refuse(0, &Refusal::no_statement(id, "mysqld_stmt_reset")),
        }
        Next::Packet
    }

    fn ok(&mut self) {
        let done = answer::Done {
            status: self.session.status(),
            ..answer::Done::default()
        };
        write_ok(&mut Packets::new(&mut self.out, 1), done);
    }

    fn eof(&mut self) {
        write_eof(&mut Packets::new(&mut self.out, 1), self.session.status());
    }

    /// A text of its own form.
    fn statistics(&mut self) {
        let service = self.thread.service();
        let text = format!(
            "Uptime: {}  Threads: {}  Questions: 0  Slow queries: 0  Opens: 0  Open tables: {}  Queries per second avg: 0.000",
            service.uptime().as_secs(),
            self.thread.watches().count(),
            service.count(),
        );
        Packets::new(&mut self.out, 1).write(|out| out.extend_from_slice(text.as_bytes()));
    }

    async fn process_kill(&mut self, body: &[u8]) -> Next {
        tracing::debug!(peer = %self.peer, command = code::PROCESS_KILL, "request");
        let Some(id) = body.first_chunk::<4>() else {
            return self.refuse(0, &Refusal::malformed());
        };
        let id = u32::from_le_bytes(*id);
        let ended = self.execution(&[], &Rc::default()).end(id.into(), true).await;
        match ended {
            Ok(_) => {
                self.ok();
                self.thread.counters().face_answered(self.face, None, 1);
                Next::Packet
            }
            Err(refusal) => self.refuse(0, &refusal),
        }
    }

    fn execution<'a>(
        &'a mut self,
        parameters: &'a [Value],
        acting: &'a Rc<std::cell::Cell<bool>>,
    ) -> Execution<'a> {
        Execution {
            session: &mut self.session,
            thread: &self.thread,
            peer: self.peer,
            face: self.face,
            parameters,
            acting,
        }
    }

    /// A text of one statement or several.
    #[inline]
    async fn query(&mut self, body: &[u8], rest: &[u8], len: usize) -> Result<(Next, u64), End> {
        let Ok(text) = std::str::from_utf8(body) else {
            return Ok((self.refuse(0, &Refusal::not_utf8()), 1));
        };
        let parsed = cache::parsed(text, self.thread.config().max_sql_cache.0);
        let served = self.at_once(&parsed, rest, len, Form::Text);
        if served > 0 {
            return Ok((Next::Packet, served));
        }
        tracing::debug!(peer = %self.peer, command = "query", "request");
        if parsed.parameters > 0 {
            return Ok((self.refuse(0, &Refusal::syntax("?", 1)), 1));
        }
        if parsed.statements.len() > 1 && !self.multi_statements {
            let second = "a second statement, which this connection may not send";
            return Ok((self.refuse(0, &Refusal::syntax(second, 1)), 1));
        }
        // A box of its own, so that connections that wait for nothing are small.
        Ok((Box::pin(self.run_all(&parsed, &[], Form::Text)).await?, 1))
    }

    /// Answers what needs no wait; how many packets.
    #[inline]
    fn at_once(&mut self, parsed: &Parsed, rest: &[u8], len: usize, form: Form) -> u64 {
        if at_once::of(parsed).is_none() {
            return 0;
        }
        let most = at_once::run_length(rest, len);
        let client = (&mut self.session, &self.thread, self.peer);
        let served = at_once::answer(parsed, client, most, form == Form::Binary, &mut self.out);
        if served > 0 {
            self.thread.counters().face_answered(self.face, None, served);
        }
        served
    }

    /// Runs the statements of a text up to the first that is refused.
    async fn run_all(&mut self, parsed: &Parsed, parameters: &[Value], form: Form) -> Result<Next, End> {
        // It may wait, and with it what it is made of; a statement that was prepared counts already.
        let plan = if form == Form::Text { parsed.bytes } else { 0 };
        let bytes = plan + size_of_val(parameters) + parameters.heap();
        self.session.keeping.follow(&self.thread.config());
        let kept = self.session.keeping.keep_at_hand(bytes);
        let _kept = match kept.map_err(Refusal::from) {
            Ok(kept) => kept,
            Err(refusal) => return Ok(self.refuse(0, &refusal)),
        };
        let count = parsed.statements.len();
        // All answers to one text are numbered through.
        let mut number = 0;
        let mut look_at = self.out.len() + LOOK_BYTES;
        for (at, statement) in parsed.statements.iter().enumerate() {
            let done = match statement {
                Ok(statement) => self.run_one(statement, parameters).await,
                Err(refusal) => Err(refusal.clone().in_database(&self.session.database)),
            };
            let more = if at + 1 < count { status::MORE_RESULTS } else { 0 };
            match done {
                Ok(done) => number = self.write(done, number, more, form).await?,
                Err(refusal) => return Ok(self.refuse(number, &refusal)),
            }
            if self.out.len() >= look_at {
                look_at = self.look().await?;
            }
        }
        self.thread.counters().face_answered(self.face, None, 1);
        Ok(Next::Packet)
    }

    /// Runs a statement, unless somebody ends it. What is told of, once begun, is done.
    async fn run_one(&mut self, statement: &Statement, parameters: &[Value]) -> Result<Done, Refusal> {
        let acting = Rc::clone(&self.acting);
        let registered = self.registered.take();
        let done = {
            let mut execution = self.execution(parameters, &acting);
            let mut running = pin!(execution.run(statement));
            match &registered {
                None => running.await,
                Some(registered) => {
                    registered.begin_statement();
                    tokio::select! {
                        biased;
                        done = &mut running => done,
                        whole = registered.ended() => match (acting.get(), whole) {
                            (true, _) => running.await,
                            (false, true) => Err(Refusal::killed()),
                            (false, false) => Err(Refusal::interrupted()),
                        },
                    }
                }
            }
        };
        self.registered = registered;
        done
    }

    /// Writes what came of a statement; the number of the last packet.
    async fn write(&mut self, done: Done, number: u8, more: u16, form: Form) -> Result<u8, End> {
        let status = self.session.status() | more;
        let mut next = number.wrapping_add(1);
        let rows = match done {
            Done::Ok { affected, insert_id } => {
                let done = answer::Done {
                    affected,
                    insert_id,
                    status,
                };
                write_ok(&mut Packets::new(&mut self.out, next), done);
                return Ok(next);
            }
            Done::Rows(rows) => rows,
        };
        let mut packets = Packets::new(&mut self.out, next);
        write_columns(&mut packets, &rows.columns, status);
        next = packets.next();
        let kinds: Vec<Kind> = rows.columns.iter().map(|column| column.kind).collect();
        let mut look_at = self.out.len() + LOOK_BYTES;
        for row in rows.values.chunks(kinds.len().max(1)) {
            let mut packets = Packets::new(&mut self.out, next);
            packets.write(|out| match form {
                Form::Text => put_row(out, row),
                Form::Binary => put_binary_row(out, row, &kinds),
            });
            next = packets.next();
            if self.out.len() >= look_at {
                look_at = self.look().await?;
            }
        }
        write_eof(&mut Packets::new(&mut self.out, next), status);
        Ok(next)
    }

    /// Keeps a statement to be executed.
    fn prepare(&mut self, body: &[u8]) -> Next {
        let prepared = match std::str::from_utf8(body) {
            Ok(text) => self.keep(text),
            Err(_) => Err(Refusal::not_utf8()),
        };
        match prepared {
            Ok(()) => {
                self.thread.counters().face_answered(self.face, None, 1);
                Next::Packet
            }
            Err(refusal) => {
                self.session.prepared.failed();
                self.refuse(0, &refusal)
            }
        }
    }

    fn keep(&mut self, text: &str) -> Result<(), Refusal> {
        let parsed = cache::parsed(text, self.thread.config().max_sql_cache.0);
        let statement = match &parsed.statements[..] {
            [Ok(statement)] => statement,
            [Err(refusal), ..] => return Err(refusal.clone().in_database(&self.session.database)),
            _ => {
                return Err(Refusal::syntax(
                    "a second statement, which is not prepared with the first",
                    1,
                ));
            }
        };
        let columns = match statement {
            Statement::Select(selects) => {
                let acting = Rc::default();
                let execution = self.execution(&[], &acting);
                selects
                    .first()
                    .map(|select| execution.columns(select))
                    .unwrap_or_default()
            }
            Statement::Ticket(ticket) => {
                let acting = Rc::default();
                self.execution(&[], &acting).returned_columns(&ticket.returning)
            }
            _ => Vec::new(),
        };
        self.session.keeping.follow(&self.thread.config());
        let id = self.session.prepared.add(Rc::clone(&parsed))?;
        let mut packets = Packets::new(&mut self.out, 1);
        write_prepared(
            &mut packets,
            id,
            parsed.parameters,
            &columns,
            self.session.status(),
        );
        Ok(())
    }

    /// Executes a statement that was prepared.
    async fn execute_prepared(&mut self, body: &[u8], rest: &[u8], len: usize) -> Result<(Next, u64), End> {
        let Some((id, values)) = body.split_first_chunk::<4>() else {
            return Ok((self.refuse(0, &Refusal::malformed()), 1));
        };
        let id = u32::from_le_bytes(*id);
        let read = self.session.prepared.execute(id, values, self.max_request);
        let (parsed, values) = match read {
            Ok(read) => read,
            Err(refusal) => return Ok((self.refuse(0, &refusal), 1)),
        };
        // Requests that are equal have equal values, which these two drop.
        let served = self.at_once(&parsed, rest, len, Form::Binary);
        if served > 0 {
            return Ok((Next::Packet, served));
        }
        tracing::debug!(peer = %self.peer, command = "execute", "request");
        Ok((Box::pin(self.run_all(&parsed, &values, Form::Binary)).await?, 1))
    }
}
