//! Statements, done.
//!
//! | file | what |
//! | --- | --- |
//! | `numbers` | nextval, currval, lastval, setval, and what is taken in runs |
//! | `evaluate` | expressions |
//! | `rows` | the rows of portals |
//! | `define` | CREATE, ALTER, DROP SEQUENCE |
//! | `definition` | definitions as PostgreSQL checks them, with its words |
//! | `control` | transactions, cursors, settings, DISCARD |

mod control;
mod define;
mod definition;
mod evaluate;
mod numbers;
mod rows;

use std::rc::Rc;

pub(super) use rows::Outcome;

use super::backend;
use super::cancel::Key;
use super::errors::{Result, SqlError};
use super::plan::{Plan, Statement, Target};
use super::portal::Portal;
use super::session::Session;
use mintage_server::chassis::audit::{self, Act};
use mintage_server::chassis::auth::{Identity, Right, What};
use mintage_server::chassis::config::Config;
use mintage_server::chassis::faces;
use mintage_server::chassis::metrics::FaceId;
use mintage_server::chassis::noise::Asker;
use mintage_server::chassis::socket::{End, Socket};
use mintage_server::chassis::thread::ServingThread;
use mintage_server::chassis::transport::Peer;
use mintage_server::chassis::turn::Turn;

/// Why a statement did not come to its end.
#[derive(Debug)]
pub(super) enum Halt {
    Refused(Box<SqlError>),
    /// The connection has ended.
    End(End),
}

impl From<SqlError> for Halt {
    fn from(error: SqlError) -> Halt {
        Halt::Refused(Box::new(error))
    }
}

impl From<End> for Halt {
    fn from(end: End) -> Halt {
        Halt::End(end)
    }
}

/// One client: who it is, and what its connection remembers.
pub(super) struct Client {
    pub(super) thread: Rc<ServingThread>,
    pub(super) peer: Peer,
    pub(super) face: FaceId,
    pub(super) who: Identity,
    pub(super) config: Rc<Config>,
    pub(super) session: Session,
    pub(super) key: Key,
    /// When the statement at hand must have ended.
    pub(super) deadline: Option<tokio::time::Instant>,
}

/// What answers are sent through, and how long this connection may go on before others come first.
pub(super) struct Pace {
    pub(super) socket: Socket,
    pub(super) turn: Turn,
    pub(super) output_max: usize,
}

impl Pace {
    /// Sends what has gathered where it is much, and lets others come first.
    pub(super) async fn look(&mut self, out: &mut Vec<u8>) -> std::result::Result<(), End> {
        self.socket
            .look(out, self.output_max, &mut self.turn)
            .await
            .map(drop)
    }
}

impl Client {
    /// Runs a portal's statement: at most `max` of its rows, 0 for all. Answers how it ended, without its tag's message.
    pub(super) async fn run(
        &mut self,
        portal: &mut Portal,
        max: u64,
        out: &mut Vec<u8>,
        pace: &mut Pace,
    ) -> std::result::Result<Outcome, Halt> {
        let statement = Rc::clone(&portal.statement);
        let tag = |tag: &str| Ok(Outcome::Done(tag.to_string()));
        match &statement.plan {
            Plan::Select(_) | Plan::Show(_) | Plan::ShowAll => self.send_rows(portal, max, out, pace).await,
            Plan::Fetch(fetch) => self.fetch(fetch, portal, out, pace).await,
            Plan::Transaction(transaction) => Ok(Outcome::Done(self.transaction(transaction, out)?.into())),
            Plan::Declare(declare) => {
                self.declare(declare, portal)?;
                tag("DECLARE CURSOR")
            }
            Plan::Close(name) => Ok(Outcome::Done(self.close_cursor(name.as_deref())?.into())),
            Plan::Set(set) => {
                self.set(set, out).await?;
                tag("SET")
            }
            Plan::SetTransaction { session, modes } => {
                self.set_transaction(*session, *modes, out)?;
                tag("SET")
            }
            Plan::Reset(name) => {
                self.reset(name.as_deref())?;
                tag("RESET")
            }
            Plan::Discard(what) => Ok(Outcome::Done(self.discard(*what)?.into())),
            Plan::Deallocate(name) => Ok(Outcome::Done(self.deallocate(name.as_deref())?.into())),
            Plan::Nothing(words) => tag(words),
            Plan::Create(create) => {
                self.create(create, out).await?;
                tag("CREATE SEQUENCE")
            }
            Plan::Alter(alter) => {
                self.alter(alter, out).await?;
                tag("ALTER SEQUENCE")
            }
            Plan::Drop(drop) => {
                self.drop_all(drop, out).await?;
                tag("DROP SEQUENCE")
            }
            Plan::ChangeRows(target, at) => Err(self.refuse_change(target, *at).await?.into()),
        }
    }

    async fn refuse_change(&mut self, target: &Target, at: usize) -> Result<SqlError> {
        let exists = self.exists(target).await?;
        Ok(match exists {
            true => SqlError::new("42809", format!("cannot change sequence \"{}\"", target.relation)),
            false => SqlError::no_relation(&target.shown)
                .at(at)
                .with_hint("Mintage holds sequences, not tables"),
        })
    }

    /// Whether the sequences and settings that a statement names are there: PostgreSQL asks before it runs.
    pub(super) async fn check(&mut self, statement: &Statement) -> Result<()> {
        if let Plan::Show(name) = &statement.plan {
            self.setting(name)?;
        }
        if self.config.faces.get::<crate::postgres::Settings>().keys.create {
            return Ok(());
        }
        for (target, at) in &statement.names {
            if !self.exists(target).await? {
                return Err(SqlError::no_relation(&target.shown).at(*at));
            }
        }
        Ok(())
    }

    pub(super) async fn exists(&mut self, target: &Target) -> Result<bool> {
        let name = target.key.as_bytes();
        // Mostly this thread knows.
        if self.thread.knows(name) {
            return Ok(true);
        }
        let found = self.thread.exists(name);
        Ok(self.key.cancel.unless(self.deadline, found).await??)
    }

    /// Who asks, for the log.
    pub(super) fn asker(&self) -> Asker<'static> {
        Asker {
            token: self.who.name().to_string().into(),
            peer: self.peer,
        }
    }

    /// Whether it may.
    pub(super) fn needs(&self, right: Right, target: &Target) -> Result<()> {
        match self.who.check(right, What::Named(target.key.as_bytes())) {
            Ok(()) => Ok(()),
            Err(denied) => {
                let message = format!("permission denied for sequence {}", target.relation);
                Err(SqlError::new("42501", message).with_detail(denied.message))
            }
        }
    }

    /// The same for a change of the sequence itself; a refusal is told in the audit trail.
    pub(super) async fn needs_admin(&self, what: &'static str, target: &Target, message: &str) -> Result<()> {
        let Err(denied) = self.who.check(Right::Admin, What::Named(target.key.as_bytes())) else {
            return Ok(());
        };
        audit::refused(self.thread.service(), self.act(what, target)).await;
        let message = format!("{message} {}", target.relation);
        Err(SqlError::new("42501", message).with_detail(denied.message))
    }

    /// What was found wrong with a change before it was begun; the audit trail tells of that, too.
    pub(super) async fn told<T>(&self, what: &'static str, target: &Target, found: Result<T>) -> Result<T> {
        if let Err(error) = &found {
            audit::refused_for(self.thread.service(), self.act(what, target), error.code).await;
        }
        found
    }

    /// Refuses what changes something, where nothing may be changed.
    pub(super) fn needs_write(&self, what: &str) -> Result<()> {
        match self.session.is_read_only() {
            true => {
                let message = format!("cannot execute {what} in a read-only transaction");
                Err(SqlError::new("25006", message))
            }
            false => Ok(()),
        }
    }

    /// What it does, for the audit trail.
    pub(super) fn act(&self, what: &'static str, target: &Target) -> Act {
        Act {
            what,
            names: vec![target.key.to_string()],
            token: self.who.name().to_string(),
            peer: self.peer.to_string(),
            face: faces::name(self.face),
            with: self.allows_repeat().then(|| audit::ALLOW_REPEAT.to_string()),
        }
    }

    /// Whether sequences may be turned back: an administrator has said so on this connection.
    pub(super) fn allows_repeat(&self) -> bool {
        self.session.variables.is_on(super::variables::ALLOW_REPEAT)
    }

    /// Tells the log of a change; of one that may repeat numbers, loudly.
    pub(super) fn tell(&self, what: &str, target: &Target) {
        let (name, token, peer) = (&*target.key, self.who.name(), self.peer);
        match self.allows_repeat() {
            true => {
                tracing::warn!(what, name, token, %peer, "changed with mint.allow_repeat: numbers may repeat")
            }
            false => tracing::info!(what, name, token, %peer, "changed"),
        }
    }

    /// What is said beside the answer, as far as the client wants to hear it.
    pub(super) fn say(&self, out: &mut Vec<u8>, notice: &SqlError) {
        let least = self
            .session
            .variables
            .get("client_min_messages", &self.session.facts);
        let wanted = match least.as_deref() {
            Some("error") => false,
            Some("warning") => notice.severity == super::errors::Severity::Warning,
            _ => true,
        };
        if wanted {
            backend::error(out, notice, "");
        }
    }
}
