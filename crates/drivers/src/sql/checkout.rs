//! A connection in use.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::SemaphorePermit;

use super::SqlStore;
use super::connections::Kept;
use super::eyes::within;
use super::identity::{Head, check_head, damaged, emptied};
use super::row::{Arg, Row};
use super::session::{Dialect, Fault, Session, Sort};
use super::statements::REGISTER;
use crate::answered::{ANSWERS_ANOTHER, number_of_call};
use crate::{Class, Key, Outcome, StoreError, StoreErrorKind, Versioned};

/// How old the last look at class, cluster id and schema may be.
const PROBE_EVERY: Duration = Duration::from_secs(60);

/// What tells that the answer to a write is its own.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Answers {
    /// The number that it was given as its last parameter.
    ItsNumber,
    /// Nothing: MySQL answers a DELETE with how many rows there were. It grants nobody anything.
    HowMany,
}

/// A connection in use. What is not given back with [`Checkout::done`] is closed: a call may be under way on it.
pub(super) struct Checkout<'a, D: Dialect> {
    pub(super) store: &'a SqlStore<D>,
    pub(super) kept: Kept<D::Session>,
    pub(super) until: Duration,
    pub(super) _permit: SemaphorePermit<'a>,
}

/// Errors that a running process never recovers from (protocol E3).
pub(super) fn is_final(error: &StoreError) -> bool {
    matches!(
        error.kind,
        StoreErrorKind::Foreign | StoreErrorKind::Corrupt | StoreErrorKind::Stopped
    )
}

impl<D: Dialect> Checkout<'_, D> {
    /// Gives the connection back for the next call.
    pub(super) fn done(mut self) {
        self.kept.answered_at = self.store.eyes.runtime.boottime();
        self.store.connections.put(self.kept);
    }

    /// The error of a failed statement; what this process must not survive stops it.
    pub(super) fn failed(&self, fault: Fault, what: &str, outcome: Outcome) -> StoreError {
        if fault.sort == Sort::Unclear {
            self.store.connections.forget();
        }
        match fault.sort {
            Sort::Missing => {
                let what = format!("its tables are gone: {}", fault.text);
                self.store.stop(emptied(self.store.label(), &what))
            }
            Sort::Damaged => self.store.stop(damaged(self.store.label(), fault.text)),
            _ => fault.error(self.store.label(), what, outcome),
        }
    }

    /// Runs a write; an answer with another number than the write was given is another write's.
    pub(super) async fn write(
        &mut self,
        sql: &Arc<str>,
        args: &[Arg<'_>],
        answers: Answers,
    ) -> Result<u64, Fault> {
        let (store, session) = (self.store, &mut self.kept.session);
        let number = number_of_call() as i64;
        let asked = async {
            match answers {
                Answers::HowMany => session.execute(sql, args).await.map(|rows| (rows, number)),
                Answers::ItsNumber => {
                    let args = [args, &[Arg::Int(number)]].concat();
                    let (rows, answered) = session.write(sql, &args).await?;
                    Ok((rows, answered.unwrap_or_default()))
                }
            }
        };
        match within(&*store.eyes.runtime, self.until, asked).await {
            Some(Ok((rows, answered))) if rows != 0 && answered != number => Err(Fault {
                sort: Sort::Unclear,
                text: ANSWERS_ANOTHER.to_string(),
            }),
            Some(Ok((rows, _))) => Ok(rows),
            Some(Err(error)) => Err(Fault::new(&store.eyes.dialect, &error)),
            None => Err(Fault::late(store.eyes.settings.request_timeout)),
        }
    }

    /// Runs a read that carries [`Head`], and checks that.
    pub(super) async fn rows(
        &mut self,
        what: &str,
        sql: &Arc<str>,
        args: &[Arg<'_>],
    ) -> Result<Vec<Row>, StoreError> {
        let store = self.store;
        let rows = match within(
            &*store.eyes.runtime,
            self.until,
            self.kept.session.rows(sql, args, &REGISTER),
        )
        .await
        {
            Some(Ok(rows)) => rows,
            Some(Err(error)) => {
                return Err(self.failed(Fault::new(&store.eyes.dialect, &error), what, Outcome::NotDone));
            }
            None => {
                return Err(self.failed(
                    Fault::late(store.eyes.settings.request_timeout),
                    what,
                    Outcome::NotDone,
                ));
            }
        };
        let Some(first) = rows.first() else {
            return Err(store.stop(emptied(store.label(), "the table mint_meta has lost its row")));
        };
        let checked = match Head::read(first) {
            Some(head) => check_head(store.label(), &head, Some(store.cluster_id)),
            None => Err(damaged(
                store.label(),
                "the row of mint_meta cannot be understood".into(),
            )),
        };
        checked.map_err(|error| store.stop(error))?;
        Ok(rows)
    }

    pub(super) async fn read(&mut self, what: &str, key: &Key) -> Result<Option<Versioned>, StoreError> {
        let sql = Arc::clone(&self.store.eyes.statements.get);
        let rows = self.rows(what, &sql, &[Arg::Text(key.as_str())]).await?;
        match self.store.register(&rows[0])? {
            Some((other, _)) if other != *key => {
                let fault = Fault {
                    sort: Sort::Unclear,
                    text: ANSWERS_ANOTHER.to_string(),
                };
                Err(self.failed(fault, what, Outcome::NotDone))
            }
            found => Ok(found.map(|(_, found)| found)),
        }
    }

    /// Whether the last look still counts.
    pub(super) async fn has_same_view(&mut self) -> Result<bool, StoreError> {
        if self.kept.view.is_none() {
            return Ok(true);
        }
        let store = self.store;
        let asking = store.eyes.dialect.view(&mut self.kept.session);
        let fault = match within(&*store.eyes.runtime, self.until, asking).await {
            Some(Ok(view)) => return Ok(view == self.kept.view),
            Some(Err(error)) => Fault::new(&store.eyes.dialect, &error),
            None => Fault::late(store.eyes.settings.connect_timeout),
        };
        Err(self.failed(fault, "cannot look at the server", Outcome::NotDone))
    }

    /// Looks at class, cluster id, schema and copy, unless that was done within the last minute.
    pub(super) async fn probe(&mut self) -> Result<(), StoreError> {
        let store = self.store;
        let now = store.eyes.runtime.boottime();
        let news = match self.kept.news.take() {
            Some(news) => Ok(*news),
            None => {
                let recent = now.saturating_sub(self.kept.probed_at) < PROBE_EVERY;
                if recent && self.has_same_view().await? {
                    return Ok(());
                }
                let (cluster, known) = (Some(store.cluster_id), Some(store.known()));
                let session = &mut self.kept.session;
                store.eyes.look(session, cluster, known, false).await
            }
        };
        let probe = match news {
            Ok((_, probe)) => probe,
            Err(error) if is_final(&error) => return Err(store.stop(error)),
            Err(error) => return Err(error),
        };
        let lossy = probe.durability.class == Class::Lossy && !store.eyes.settings.allow_lossy;
        let refusal = lossy.then(|| {
            let found = &probe.durability;
            let fault = Fault {
                sort: Sort::Refused,
                text: format!("may lose what it acknowledges, class L: {}", found.why),
            };
            let hint = found.fix.clone().unwrap_or_default();
            fault
                .error(store.label(), "takes no writes of ours", Outcome::NotDone)
                .with_hint(hint)
        });
        self.kept.view = probe.view;
        store.remember(probe);
        self.kept.probed_at = now;
        match refusal {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }
}
