//! Connections to a SQL server whose counters are looked at or moved: the stores' own drivers, with their URLs, TLS and
//! settled sessions.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};

use super::error::{SourceError, SourceErrorKind};
use crate::runtime::Runtime;
use crate::store::sql::row::{Arg, Column, Row};
use crate::store::sql::session::{Dialect, Fault, Probe, Session, Sort};
use crate::store::{Outcome, StoreSettings};

/// Connections to one server at a time at most.
const SESSIONS_MAX: usize = 8;

/// The way to one SQL server. Nothing is connected before the first call.
pub(crate) struct Link<D: Dialect> {
    pub(crate) dialect: D,
    pub(crate) settings: StoreSettings,
    pub(crate) runtime: Arc<dyn Runtime>,
    idle: Mutex<Vec<D::Session>>,
    places: Semaphore,
}

impl<D: Dialect> fmt::Debug for Link<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Link({})", self.dialect.label())
    }
}

impl<D: Dialect> Link<D> {
    /// `rest` follows the scheme and its colon.
    pub(crate) fn new(
        rest: &str,
        settings: &StoreSettings,
        runtime: Arc<dyn Runtime>,
    ) -> Result<Arc<Link<D>>, SourceError> {
        Ok(Arc::new(Link {
            dialect: D::of_url(rest, settings)?,
            settings: settings.clone(),
            runtime,
            idle: Mutex::default(),
            places: Semaphore::new(SESSIONS_MAX),
        }))
    }

    /// Host, port and database with the scheme, without credentials.
    pub(crate) fn place(&self) -> String {
        self.dialect.label().to_string()
    }

    /// A session for one piece of work, `what` in messages. It is kept for the next only by [`Held::done`]: one that was
    /// left half-way is closed, and the server rolls back.
    pub(crate) async fn hold(&self, what: &str) -> Result<Held<'_, D>, SourceError> {
        let permit = self.places.acquire().await.expect("never closed");
        let kept = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut held = Held {
            link: self,
            session: None,
            what: what.to_string(),
            _permit: permit,
        };
        if let Some(mut session) = kept {
            // One that the server closed meanwhile must not make a statement's outcome unknown.
            let limit = self.settings.request_timeout;
            if let Ok(Ok(())) = within(&*self.runtime, limit, session.ping()).await {
                held.session = Some(session);
                return Ok(held);
            }
        }
        let limit = self.settings.connect_timeout;
        let connected = within(&*self.runtime, limit, self.dialect.connect()).await;
        let fault = match connected {
            Ok(Ok(session)) => {
                held.session = Some(session);
                return Ok(held);
            }
            Ok(Err(error)) => Fault::new(&self.dialect, &error),
            Err(late) => late,
        };
        Err(held.error(fault, Outcome::NotDone))
    }

    /// The same with a transaction, which [`Held::end`] ends.
    pub(crate) async fn begin(&self, what: &str) -> Result<Held<'_, D>, SourceError> {
        let mut held = self.hold(what).await?;
        held.script("BEGIN").await.map_err(certainly_not_done)?;
        Ok(held)
    }
}

/// A session while it is used.
pub(crate) struct Held<'a, D: Dialect> {
    link: &'a Link<D>,
    session: Option<D::Session>,
    what: String,
    _permit: SemaphorePermit<'a>,
}

impl<D: Dialect> Held<'_, D> {
    /// Runs a query; its failure changed nothing.
    pub(crate) async fn rows(
        &mut self,
        sql: &str,
        args: &[Arg<'_>],
        shape: &[Column],
    ) -> Result<Vec<Row>, SourceError> {
        self.answer(sql, args, shape, Outcome::NotDone).await
    }

    /// Runs a query that also writes, or a last statement before a commit: unanswered, it may have done so.
    pub(crate) async fn writing_rows(
        &mut self,
        sql: &str,
        args: &[Arg<'_>],
        shape: &[Column],
    ) -> Result<Vec<Row>, SourceError> {
        self.answer(sql, args, shape, Outcome::Unknown).await
    }

    async fn answer(
        &mut self,
        sql: &str,
        args: &[Arg<'_>],
        shape: &[Column],
        unclear: Outcome,
    ) -> Result<Vec<Row>, SourceError> {
        let (session, runtime, limit) = self.parts();
        let sql = sql.into();
        let answer = within(runtime, limit, session.rows(&sql, args, shape)).await;
        self.judge(answer, unclear)
    }

    /// Runs a statement and answers how many rows it matched; unanswered, it may have been done.
    pub(crate) async fn execute(&mut self, sql: &str, args: &[Arg<'_>]) -> Result<u64, SourceError> {
        let (session, runtime, limit) = self.parts();
        let sql = sql.into();
        let answer = within(runtime, limit, session.execute(&sql, args)).await;
        self.judge(answer, Outcome::Unknown)
    }

    /// Runs statements without parameters; unanswered, they may have been done. `BEGIN` and what stands in a transaction
    /// may be run by this: nothing is done before its `COMMIT` is.
    pub(crate) async fn script(&mut self, sql: &str) -> Result<(), SourceError> {
        let (session, runtime, limit) = self.parts();
        let answer = within(runtime, limit, session.script(sql)).await;
        self.judge(answer, Outcome::Unknown)
    }

    /// What the server says of itself, its durability among it.
    pub(crate) async fn probe(&mut self) -> Result<Probe, SourceError> {
        let link = self.link;
        let session = self.session.as_mut().expect("it is taken only by the end");
        let limit = link.settings.request_timeout * D::PROBE_STATEMENTS;
        let answer = within(&*link.runtime, limit, link.dialect.probe(session)).await;
        self.judge(answer, Outcome::NotDone)
    }

    /// Ends the transaction that [`Link::begin`] began: commits what was done, or takes back what was not.
    pub(crate) async fn end<T>(mut self, done: Result<T, SourceError>) -> Result<T, SourceError> {
        match done {
            Ok(value) => {
                self.script("COMMIT").await?;
                self.done();
                Ok(value)
            }
            Err(error) => {
                // Where that fails, the session is closed, and the server does it.
                if self.script("ROLLBACK").await.is_ok() {
                    self.done();
                }
                Err(certainly_not_done(error))
            }
        }
    }

    /// The work is done: the session is kept for the next.
    pub(crate) fn done(mut self) {
        if let Some(session) = self.session.take() {
            let mut idle = self.link.idle.lock().unwrap_or_else(PoisonError::into_inner);
            idle.push(session);
        }
    }

    fn parts(&mut self) -> (&mut D::Session, &dyn Runtime, Duration) {
        let session = self.session.as_mut().expect("it is taken only by the end");
        (session, &*self.link.runtime, self.link.settings.request_timeout)
    }

    fn judge<T>(
        &self,
        answer: Result<Result<T, sqlx::Error>, Fault>,
        unclear: Outcome,
    ) -> Result<T, SourceError> {
        let fault = match answer {
            Ok(Ok(value)) => return Ok(value),
            Ok(Err(error)) => Fault::new(&self.link.dialect, &error),
            Err(late) => late,
        };
        Err(self.error(fault, unclear))
    }

    fn error(&self, fault: Fault, unclear: Outcome) -> SourceError {
        let kind = match fault.sort {
            Sort::Denied => SourceErrorKind::Denied,
            Sort::Missing => SourceErrorKind::Gone,
            Sort::Refused | Sort::Duplicate | Sort::Damaged => SourceErrorKind::Refused,
            Sort::Again | Sort::Busy | Sort::ReadOnly | Sort::Full | Sort::Pooled | Sort::Unclear => {
                SourceErrorKind::Unavailable
            }
        };
        let message = format!("{}: {}: {}", self.link.place(), self.what, fault.text);
        let error = SourceError::new(kind, message);
        match (fault.sort, unclear) {
            (Sort::Unclear, Outcome::Unknown) => error.unknown(),
            _ => error,
        }
    }
}

/// Nothing is done before a transaction commits, whatever did not answer.
fn certainly_not_done(error: SourceError) -> SourceError {
    SourceError {
        outcome: Outcome::NotDone,
        ..error
    }
}

/// Waits for an answer as long as the settings allow.
async fn within<T>(
    runtime: &dyn Runtime,
    limit: Duration,
    call: impl Future<Output = T>,
) -> Result<T, Fault> {
    tokio::select! {
        biased;
        answer = call => Ok(answer),
        () = runtime.sleep(limit) => Err(Fault::late(limit)),
    }
}
