//! Messages of a client that is known: the simple and the extended protocol.

use std::rc::Rc;

use super::backend;
use super::cache;
use super::cancel;
use super::errors::{Result as SqlResult, Severity, SqlError, shown};
use super::execute::{Client, Halt, Outcome, Pace};
use super::frontend::{About, Bind, Parse, read_execute, read_query};
use super::grammar::PARAMETERS_MAX;
use super::plan::{Plan, Statement};
use super::portal::{Portal, Rows};
use super::session::Prepared;
use super::types::{Formats, read_parameter};
use mintage_server::chassis::socket::End;

/// What to do next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Next {
    /// So many bytes were used.
    Used(usize),
    Incomplete,
    Close,
    /// TLS begins.
    Tls,
}

/// A client that is spoken with.
pub(super) struct Talk<'c> {
    pub(super) client: &'c mut Client,
    pub(super) pace: &'c mut Pace,
    pub(super) out: &'c mut Vec<u8>,
    /// See `Connection`.
    pub(super) skipping: &'c mut bool,
}

impl Talk<'_> {
    /// Numbers that are in stock, for one message and those behind it that are the same or belong to it; how many bytes were
    /// used. `None`: it is another, or must wait.
    pub(super) fn at_once(&mut self, kind: u8, body: &[u8], len: usize, rest: &[u8]) -> Option<usize> {
        match kind {
            _ if *self.skipping => None,
            b'Q' => self.queries_at_once(body, len, rest),
            b'B' => self.runs_at_once(body, len, rest),
            _ => None,
        }
    }

    /// One message.
    pub(super) async fn message(&mut self, kind: u8, body: &[u8], len: usize) -> Result<Next, End> {
        // What belongs to no COPY is passed over, as PostgreSQL does.
        if matches!(kind, b'd' | b'c' | b'f') || *self.skipping && !matches!(kind, b'S' | b'X') {
            return Ok(Next::Used(len));
        }
        let done: Result<(), Halt> = match kind {
            b'Q' => return self.query(body).await.map(|goes_on| self.next(goes_on, len)),
            b'B' => self.bind(body).map_err(Halt::from),
            b'P' => self.parse(body).await.map_err(Halt::from),
            b'D' => self.describe(body).map_err(Halt::from),
            b'E' => self.execute(body).await,
            b'C' => self.close(body).map_err(Halt::from),
            // What there is is sent when all that has arrived is done.
            b'H' => Ok(()),
            b'S' => {
                *self.skipping = false;
                self.client.session.sync();
                backend::ready(self.out, self.client.session.status());
                return Ok(Next::Used(len));
            }
            b'X' => return Ok(Next::Close),
            b'F' => {
                self.refuse(
                    &SqlError::new("0A000", "the function call protocol is not supported"),
                    "",
                );
                backend::ready(self.out, self.client.session.status());
                return Ok(Next::Used(len));
            }
            other => {
                let message = format!("invalid frontend message type {other}");
                Err(SqlError::fatal("08P01", message).into())
            }
        };
        match done {
            Ok(()) => Ok(Next::Used(len)),
            Err(Halt::End(end)) => Err(end),
            Err(Halt::Refused(error)) => {
                // Where the statement's text is at hand, positions are told; of a portal it is not.
                let source = if kind == b'P' { query_of(body) } else { "" };
                let ends = error.severity == Severity::Fatal;
                self.refuse(&error, source);
                *self.skipping = true;
                Ok(if ends { Next::Close } else { Next::Used(len) })
            }
        }
    }

    fn next(&self, goes_on: bool, len: usize) -> Next {
        match goes_on {
            true => Next::Used(len),
            false => Next::Close,
        }
    }

    /// Tells of a refusal, by which a transaction has failed.
    fn refuse(&mut self, error: &SqlError, source: &str) {
        let counters = self.client.thread.counters();
        counters.refused(error.code);
        counters.face_answered(self.client.face, Some(error.code), 1);
        let mut told = error.clone();
        if source.is_empty() {
            told.at = None;
        }
        backend::error(self.out, &told, source);
        self.client.session.fail();
    }

    /// `Q`: every statement of a text, up to the first that is refused.
    async fn query(&mut self, body: &[u8]) -> Result<bool, End> {
        let text = match read_query(body) {
            Ok(text) => text,
            Err(error) => {
                self.client.thread.counters().requests(self.client.face, 1);
                self.refuse(&error, "");
                backend::ready(self.out, self.client.session.status());
                return Ok(true);
            }
        };
        // It ends the unnamed ones, as in PostgreSQL.
        self.client.session.portals.take("");
        self.client.session.statements.take("");
        let parsed = cache::parse(text, &self.client.config);
        let outcome = match &*parsed {
            Ok(statements) if statements.is_empty() => {
                self.count(1);
                self.out.extend_from_slice(backend::EMPTY_QUERY);
                Ok(())
            }
            Ok(statements) => self.all(statements).await,
            Err(error) => {
                self.client.thread.counters().requests(self.client.face, 1);
                Err(error.clone().into())
            }
        };
        let mut goes_on = true;
        match outcome {
            Ok(()) => {}
            Err(Halt::End(end)) => return Err(end),
            Err(Halt::Refused(error)) => {
                goes_on = error.severity != Severity::Fatal;
                self.refuse(&error, text);
            }
        }
        self.client.session.sync();
        backend::ready(self.out, self.client.session.status());
        Ok(goes_on)
    }

    async fn all(&mut self, statements: &[Rc<Statement>]) -> Result<(), Halt> {
        for statement in statements {
            self.begin_statement(statement)?;
            if let Some((number, at)) = statement.first_parameter {
                return Err(SqlError::new("42P02", format!("there is no parameter ${number}"))
                    .at(at)
                    .into());
            }
            self.client.check(statement).await?;
            let session = &self.client.session;
            let plan = session.plan(statement).map_err(SqlError::from)?;
            let portal = session.portal("", (Rc::clone(statement), plan), Rc::default(), Formats::Text);
            let mut portal = portal.map_err(SqlError::from)?;
            let columns = self
                .client
                .columns_of(&statement.plan, statement.columns.as_deref());
            if let Some(columns) = columns {
                backend::row_description(self.out, &columns, &Formats::Text);
            }
            let outcome = self.run(&mut portal, 0).await?;
            self.complete(&outcome);
            self.pace.look(self.out).await?;
        }
        Ok(())
    }

    /// What is asked before a statement runs.
    fn begin_statement(&mut self, statement: &Statement) -> SqlResult<()> {
        let client = &mut *self.client;
        client.thread.counters().requests(client.face, 1);
        self.pace.turn.answered(1);
        client.key.cancel.begin();
        client.deadline = cancel::deadline(client.session.variables.ms("statement_timeout"));
        check_not_failed(client, &statement.plan)?;
        if client.thread.service().has_limits() {
            client.thread.service().admit(&client.who, client.peer)?;
        }
        Ok(())
    }

    async fn run(&mut self, portal: &mut Portal, max: u64) -> Result<Outcome, Halt> {
        let before = self.client.session.variables.clone();
        let outcome = self.client.run(portal, max, self.out, self.pace).await?;
        let session = &mut self.client.session;
        let transacts = matches!(portal.statement.plan, Plan::Transaction(_));
        if (transacts || !session.variables.are_those(&before))
            && let Err(error) = session.count_settings()
        {
            session.variables = before;
            return Err(error.into());
        }
        for (name, value) in session.variables.changes(&before, &session.facts) {
            backend::parameter_status(self.out, name, &value);
        }
        Ok(outcome)
    }

    fn complete(&mut self, outcome: &Outcome) {
        match outcome {
            Outcome::Done(tag) => backend::complete(self.out, tag),
            Outcome::Rows(verb, rows) => backend::complete_rows(self.out, verb, *rows),
            Outcome::Suspended => self.out.extend_from_slice(backend::PORTAL_SUSPENDED),
        }
        self.count_well(1);
    }

    /// Requests that were answered well.
    pub(super) fn count(&mut self, count: u64) {
        self.client.thread.counters().requests(self.client.face, count);
        self.pace.turn.answered(count);
        self.count_well(count);
    }

    fn count_well(&self, count: u64) {
        self.client
            .thread
            .counters()
            .face_answered(self.client.face, None, count);
    }

    /// `P`: one statement.
    async fn parse(&mut self, body: &[u8]) -> SqlResult<()> {
        let parse = Parse::read(body)?;
        let parsed = cache::parse(parse.query, &self.client.config);
        let statement = match &*parsed {
            Ok(statements) => match statements.as_slice() {
                [] => None,
                [one] => Some(Rc::clone(one)),
                _ => {
                    let message = "cannot insert multiple commands into a prepared statement";
                    return Err(SqlError::new("42601", message));
                }
            },
            Err(error) => return Err(error.clone()),
        };
        if let Some(statement) = &statement {
            check_not_failed(self.client, &statement.plan)?;
            self.client.key.cancel.begin();
            self.client.deadline = None;
            self.client.check(statement).await?;
        }
        let parameters = parameter_types(statement.as_deref(), &parse)?;
        self.client.session.prepare(parse.name, statement, parameters)?;
        self.out.extend_from_slice(backend::PARSE_COMPLETE);
        Ok(())
    }

    /// `B`: a portal out of a statement and parameters.
    fn bind(&mut self, body: &[u8]) -> SqlResult<()> {
        let bind = Bind::read(body)?;
        let prepared = self.prepared(bind.statement)?;
        let (statement, types) = (prepared.statement.clone(), Rc::clone(&prepared.parameters));
        let plan = Rc::clone(&prepared.plan);
        let given = bind.parameter_count;
        if given != types.len() {
            let message = format!(
                "bind message supplies {given} parameters, but prepared statement \"{}\" requires {}",
                shown(bind.statement),
                types.len()
            );
            return Err(SqlError::new("08P01", message));
        }
        if let Some(statement) = &statement {
            check_not_failed(self.client, &statement.plan)?;
        }
        let formats = Formats::of_codes(bind.formats, given, "parameter")?;
        let mut values = Vec::with_capacity(given);
        for (at, (bytes, oid)) in bind.parameters().zip(types.iter()).enumerate() {
            values.push(read_parameter(bytes, *oid, formats.is_binary(at))?);
        }
        let columns = match &statement {
            Some(statement) => self
                .client
                .columns_of(&statement.plan, statement.columns.as_deref()),
            None => None,
        };
        let results = match &columns {
            Some(columns) => Formats::of_codes(bind.results, columns.len(), "result")?,
            None => Formats::Text,
        };
        let session = &mut self.client.session;
        if bind.portal.is_empty() {
            session.portals.take("");
        }
        let statement = (statement.unwrap_or_else(empty), plan);
        let portal = session.portal(bind.portal, statement, values.into(), results)?;
        session.open(bind.portal, portal)?;
        self.out.extend_from_slice(backend::BIND_COMPLETE);
        Ok(())
    }

    pub(super) fn prepared(&self, name: &str) -> SqlResult<&Prepared> {
        self.client.session.statements.get(name).ok_or_else(|| {
            SqlError::new(
                "26000",
                match name {
                    "" => "unnamed prepared statement does not exist".into(),
                    name => format!("prepared statement \"{}\" does not exist", shown(name)),
                },
            )
        })
    }

    /// `D`: the parameters and columns of a statement, or the columns of a portal.
    fn describe(&mut self, body: &[u8]) -> SqlResult<()> {
        let (columns, formats) = match About::read(body, "DESCRIBE")? {
            About::Statement(name) => {
                let prepared = self.prepared(name)?;
                let (statement, types) = (prepared.statement.clone(), Rc::clone(&prepared.parameters));
                backend::parameter_description(self.out, &types);
                let columns = statement.as_ref().and_then(|statement| {
                    self.client
                        .columns_of(&statement.plan, statement.columns.as_deref())
                });
                (columns, Formats::Text)
            }
            About::Portal(name) => {
                let portal = self
                    .client
                    .session
                    .portals
                    .get(name)
                    .ok_or_else(|| no_portal(name))?;
                let (statement, formats) = (Rc::clone(&portal.statement), portal.formats.clone());
                (
                    self.client
                        .columns_of(&statement.plan, statement.columns.as_deref()),
                    formats,
                )
            }
        };
        match columns {
            Some(columns) => backend::row_description(self.out, &columns, &formats),
            None => self.out.extend_from_slice(backend::NO_DATA),
        }
        Ok(())
    }

    /// `E`: some rows of a portal, or all.
    async fn execute(&mut self, body: &[u8]) -> Result<(), Halt> {
        let (name, max) = read_execute(body)?;
        let mut portal = self
            .client
            .session
            .portals
            .take(name)
            .ok_or_else(|| no_portal(name))?;
        let statement = Rc::clone(&portal.statement);
        if matches!(&statement.plan, Plan::Nothing("")) {
            self.client.session.portals.put(name, portal);
            self.count(1);
            self.out.extend_from_slice(backend::EMPTY_QUERY);
            return Ok(());
        }
        self.begin_statement(&statement)?;
        let has_rows = matches!(&statement.plan, Plan::Select(_) | Plan::Show(_) | Plan::ShowAll);
        if !has_rows && matches!(portal.rows, Rows::Done) {
            let message = format!("portal \"{}\" cannot be run", shown(name));
            return Err(SqlError::new("55000", message).into());
        }
        let outcome = self.run(&mut portal, max).await?;
        if !has_rows {
            portal.rows = Rows::Done;
        }
        self.client.session.portals.put(name, portal);
        self.complete(&outcome);
        Ok(())
    }

    /// `C`: whatever the name, it is closed then.
    fn close(&mut self, body: &[u8]) -> SqlResult<()> {
        match About::read(body, "CLOSE")? {
            About::Statement(name) => drop(self.client.session.statements.take(name)),
            About::Portal(name) => drop(self.client.session.portals.take(name)),
        }
        self.out.extend_from_slice(backend::CLOSE_COMPLETE);
        Ok(())
    }
}

/// In a transaction that has failed nothing is run but its end.
fn check_not_failed(client: &Client, plan: &Plan) -> SqlResult<()> {
    match client.session.has_failed() && !plan.ends_failure() {
        true => {
            let message = "current transaction is aborted, commands ignored until end of transaction block";
            Err(SqlError::new("25P02", message))
        }
        false => Ok(()),
    }
}

/// The types of the parameters: what the client has named, and for the others what was found.
fn parameter_types(statement: Option<&Statement>, parse: &Parse<'_>) -> SqlResult<Rc<[u32]>> {
    let found = statement
        .map(|statement| Rc::clone(&statement.parameters))
        .unwrap_or_default();
    let named = parse.types();
    if named.len() == 0 && !found.contains(&0) {
        return Ok(found);
    }
    if named.len() > PARAMETERS_MAX {
        let message = format!("a statement has at most {PARAMETERS_MAX} parameters");
        return Err(SqlError::new("54000", message));
    }
    let mut types = found.to_vec();
    types.resize(types.len().max(named.len()), 0);
    for (known, named) in types.iter_mut().zip(named) {
        if named != 0 {
            *known = named;
        }
    }
    match types.iter().position(|oid| *oid == 0) {
        Some(at) => {
            let message = format!("could not determine data type of parameter ${}", at + 1);
            Err(SqlError::new("42P18", message))
        }
        None => Ok(types.into()),
    }
}

/// What an empty statement is.
fn empty() -> Rc<Statement> {
    Rc::new(Statement {
        plan: Plan::Nothing(""),
        columns: None,
        parameters: Rc::default(),
        first_parameter: None,
        names: Vec::new(),
        next: None,
        bytes: 0,
    })
}

fn query_of(body: &[u8]) -> &str {
    Parse::read(body).map_or("", |parse| parse.query)
}

fn no_portal(name: &str) -> SqlError {
    SqlError::new("34000", format!("portal \"{}\" does not exist", shown(name)))
}
