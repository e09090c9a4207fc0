//! What statements do.
//!
//! | file | what |
//! | --- | --- |
//! | `value` | expressions |
//! | `numbers` | numbers and ids: tickets, `NEXTVAL`, `SETVAL`, `LAST_INSERT_ID(id + n)` |
//! | `library`, `machines` | the tables of libraries |
//! | `query`, `columns`, `like` | `SELECT` |
//! | `definition` | sequences are made, changed and dropped |
//! | `setting` | `SET`, `SHOW`, transactions, `KILL` |

mod columns;
mod definition;
mod library;
mod like;
mod machines;
mod numbers;
mod query;
mod setting;
mod value;

use std::borrow::Cow;
use std::cell::Cell;
use std::rc::Rc;

use mintage_ledger::Name;

use super::answer::Column;
use super::plan::{Statement, Transaction};
use super::refusal::{Refusal, Verb};
use super::session::Session;
use super::value::Value;
use super::variables::Known;
use crate::sql::names::SqlName;
use mintage_server::chassis::audit::{self, Act, audited_answer};
use mintage_server::chassis::auth::{Right, What};
use mintage_server::chassis::config::Keys;
use mintage_server::chassis::error::{Answer, Code, ServiceError};
use mintage_server::chassis::faces;
use mintage_server::chassis::metrics::FaceId;
use mintage_server::chassis::noise::Asker;
use mintage_server::chassis::thread::ServingThread;
use mintage_server::chassis::transport::Peer;

/// What came of a statement.
type Outcome<T> = Result<T, Refusal>;

/// What a statement is answered with.
#[derive(Debug)]
pub(super) enum Done {
    /// OK.
    Ok { affected: u64, insert_id: u64 },
    /// Rows.
    Rows(Rows),
}

impl Done {
    /// OK, and nothing was changed.
    const NOTHING: Done = Done::Ok {
        affected: 0,
        insert_id: 0,
    };
}

/// Columns, and the values of all rows, one after the other.
#[derive(Debug, Default)]
pub(super) struct Rows {
    pub(super) columns: Vec<Column>,
    pub(super) values: Vec<Value>,
}

/// A statement as it runs.
pub(super) struct Execution<'a> {
    pub(super) session: &'a mut Session,
    pub(super) thread: &'a Rc<ServingThread>,
    pub(super) peer: Peer,
    pub(super) face: FaceId,
    pub(super) parameters: &'a [Value],
    /// Whether something is being done that is told of: it is not cut short.
    pub(super) acting: &'a Cell<bool>,
}

/// What a name's sequence is called here.
pub(super) fn key<'n>(name: &'n SqlName, database: &str, keys: &Keys) -> Cow<'n, str> {
    let is_plain = name.schema.as_deref().is_none_or(|schema| schema == database);
    match is_plain && keys.names.0.is_empty() && keys.prefix.0.is_empty() {
        true => Cow::Borrowed(&name.name),
        false => Cow::Owned(name.key(database, keys)),
    }
}

impl Execution<'_> {
    /// Runs a statement.
    pub(super) async fn run(&mut self, statement: &Statement) -> Outcome<Done> {
        self.admit()?;
        let done = match statement {
            Statement::Select(selects) => self.select(selects).await,
            Statement::Do(expressions) => {
                for expression in expressions {
                    self.value(expression, &[]).await?;
                }
                Ok(Done::NOTHING)
            }
            Statement::Ticket(ticket) => self.ticket(ticket).await,
            Statement::Advance(advance) => self.advance(advance).await,
            Statement::Library(change) => self.library_change(change).await,
            Statement::Create(create) => self.create(create).await,
            Statement::AlterTable(name, next) => self.alter_table(name, next.as_ref()).await,
            Statement::AlterSequence(alter) => self.alter_sequence(alter).await,
            Statement::Drop(drop) => self.drop(drop).await,
            Statement::ShowCreate(name) => self.show_create(name).await,
            Statement::Show(show) => self.show(show).await,
            Statement::Set(assignments) => self.set(assignments).await,
            Statement::Use(database) => self.session.use_database(database).map(|()| Done::NOTHING),
            Statement::Transaction(transaction) => {
                self.transaction(*transaction);
                Ok(Done::NOTHING)
            }
            Statement::Kill { id, whole_connection } => self.kill(id, *whole_connection).await,
            Statement::Nothing => Ok(Done::NOTHING),
        }?;
        match &done {
            Done::Ok { affected, .. } => {
                self.session.row_count = i64::try_from(*affected).unwrap_or(i64::MAX);
            }
            Done::Rows(rows) => {
                self.session.row_count = -1;
                self.session.found_rows = (rows.values.len() / rows.columns.len().max(1)) as u64;
            }
        }
        Ok(done)
    }

    /// One more statement of who is limited in what it may ask for.
    fn admit(&self) -> Outcome<()> {
        let admitted = self.thread.service().admit(&self.session.identity, self.peer);
        admitted.map_err(|error| Refusal::of(&error, Verb::Id, ""))
    }

    fn transaction(&mut self, transaction: Transaction) {
        match transaction {
            Transaction::Begin { read_only } => {
                self.session.end_transaction();
                self.session.in_transaction = true;
                self.session.is_read_only = read_only;
            }
            Transaction::Commit | Transaction::Rollback => self.session.end_transaction(),
            Transaction::Savepoint => {}
        }
    }

    fn known(&self) -> Known {
        Known {
            autocommit: self.session.autocommit,
            last_insert_id: self.session.last_insert_id,
            connection: self.session.id,
        }
    }

    /// What a name's sequence is called here.
    fn key(&self, name: &SqlName) -> String {
        let config = self.thread.config();
        key(
            name,
            &self.session.database,
            &config.faces.get::<crate::mysql::Settings>().keys,
        )
        .into_owned()
    }

    /// A key as the name that it must be.
    fn as_name(&self, key: &str, name: &SqlName) -> Outcome<Name> {
        let read = self.thread.service().name(key.as_bytes());
        read.map_err(|error| Refusal::of(&error, Verb::Table, &self.shown(name)))
    }

    /// A name as messages show it: with its database.
    fn shown(&self, name: &SqlName) -> String {
        match (&name.schema, &*self.session.database) {
            (None, "") => name.name.clone(),
            (None, database) => format!("{database}.{}", name.name),
            (Some(_), _) => name.to_string(),
        }
    }

    /// What the service refuses of a name.
    #[cold]
    fn refusal(&self, error: &ServiceError, verb: Verb, name: &SqlName, command: &str) -> Refusal {
        match (error.code, verb) {
            (Code::Forbidden, _) => {
                let who = self.session.identity.name();
                Refusal::denied(command, who, &self.session.host, &self.shown(name))
            }
            (Code::NotFound, Verb::Sequence) => Refusal::of(error, verb, &name.name),
            _ => Refusal::of(error, verb, &self.shown(name)),
        }
    }

    /// Whether a sequence may be seen.
    fn check_read(&self, key: &str, name: &SqlName) -> Outcome<()> {
        let checked = self
            .session
            .identity
            .check(Right::Read, What::Named(key.as_bytes()));
        checked.map_err(|denied| self.refusal(&denied.into(), Verb::Table, name, "SELECT"))
    }

    /// Who asks.
    fn asker(&self) -> Asker<'static> {
        Asker {
            token: self.session.identity.name().to_string().into(),
            peer: self.peer,
        }
    }

    /// What it does, for the audit trail.
    fn act(&self, what: &'static str) -> Act {
        Act {
            what,
            names: Vec::new(),
            token: self.session.identity.name().to_string(),
            peer: self.peer.to_string(),
            face: faces::name(self.face),
            with: None,
        }
    }

    /// Does what needs the right to administrate, and has the audit trail and the log tell who did so; whether anything was
    /// changed.
    async fn administrate(
        &self,
        what: &'static str,
        (key, name): (&str, &SqlName),
        (verb, command): (Verb, &str),
        doing: impl Future<Output = Answer<bool>>,
    ) -> Outcome<bool> {
        let service = self.thread.service();
        let act = Act {
            names: vec![key.to_string()],
            ..self.act(what)
        };
        let checked = self
            .session
            .identity
            .check(Right::Admin, What::Named(key.as_bytes()));
        if let Err(denied) = checked {
            audit::refused(service, act).await;
            return Err(self.refusal(&denied.into(), verb, name, command));
        }
        let (token, peer) = (act.token.clone(), act.peer.clone());
        self.acting.set(true);
        let done = audited_answer(service, act, doing).await;
        self.acting.set(false);
        match done {
            Ok(changed) => {
                if changed {
                    tracing::info!(what, name = key, token, peer, "changed");
                }
                Ok(changed)
            }
            Err(error) => Err(self.refusal(&error, verb, name, command)),
        }
    }
}
