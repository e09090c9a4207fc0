//! Making a connection, and looking at what it leads to before any write through it counts.

use std::sync::Arc;
use std::time::Duration;

use super::connections::{Connections, Kept};
use super::galera;
use super::identity::{
    Copy, Known, MetaRow, check_head, fallen, hex, judge_copy, letter, not_made, same_copy, taken_over,
};
use super::row::{Arg, Row};
use super::session::{Dialect, Fault, Probe, Session, Sort};
use super::statements::{META, REGISTER, Statements};
use super::vouched::{BEATS, Beats, LOOK_AGAIN};
use crate::runtime::{BoxFuture, Runtime};
use crate::{Outcome, StoreError, StoreSettings};

/// Waits for `call` until `until` in boot time.
pub(super) async fn within<T>(
    runtime: &dyn Runtime,
    until: Duration,
    call: impl Future<Output = T>,
) -> Option<T> {
    let late = runtime.sleep(until.saturating_sub(runtime.boottime()));
    tokio::select! {
        biased;
        answer = call => Some(answer),
        () = late => None,
    }
}

/// What is given to one round trip is given to each of these, which making a connection takes at most: TLS, the
/// account, and what is settled before the first statement. Nobody waits so long for a connection but who has none to
/// go on with.
pub(super) const CONNECTING_ROUND_TRIPS: u32 = 5;

/// Longer than all the round trips of an attempt together.
pub(super) const ATTEMPT_MAX: Duration = Duration::from_secs(3600);

/// The server is told of a statement before it runs it for the first time.
pub(super) const STATEMENT_ROUND_TRIPS: u32 = 2;

/// How long a statement may take on a connection that was never looked at.
pub(super) fn first_run(settings: &StoreSettings) -> Duration {
    settings.request_timeout * STATEMENT_ROUND_TRIPS
}

/// Runs one step of a look at the server.
pub(super) async fn step<D: Dialect, T>(
    dialect: &D,
    runtime: &dyn Runtime,
    limit: Duration,
    call: impl Future<Output = Result<T, sqlx::Error>>,
) -> Result<T, Fault> {
    match within(runtime, runtime.boottime() + limit, call).await {
        Some(answer) => answer.map_err(|error| Fault::new(dialect, &error)),
        None => Err(Fault::late(limit)),
    }
}

/// Makes a connection on the runtime's own thread, whose reactor outlives the caller's. One that comes after `until` is
/// not thrown away: it goes to `connections`, for the next call.
pub(super) async fn attempt<D: Dialect>(
    eyes: &Arc<Eyes<D>>,
    connections: &Arc<Connections<D::Session>>,
    until: Duration,
    making: BoxFuture<'static, Result<Kept<D::Session>, StoreError>>,
) -> Result<Kept<D::Session>, StoreError> {
    let (runtime, limit) = (&eyes.runtime, eyes.settings.connect_timeout);
    let failed = |fault: Fault| fault.error(eyes.dialect.label(), "cannot connect", Outcome::NotDone);
    let arrived = || match (connections.take(), connections.take_error()) {
        (Some(kept), _) => Ok(kept),
        (None, Some(error)) => Err(error),
        (None, None) => Err(failed(Fault::late(limit))),
    };
    let late = || Err(failed(Fault::late(limit)));
    let Ok(permit) = Arc::clone(&connections.attempts).try_acquire_owned() else {
        // As many as may be are on their way.
        let waited = within(&**runtime, until, connections.arrival()).await;
        return waited.map_or_else(late, |()| arrived());
    };
    let (tell, told) = tokio::sync::oneshot::channel();
    let later = Arc::clone(connections);
    runtime.spawn(Box::pin(async move {
        let made = making.await;
        drop(permit);
        if let Err(made) = tell.send(made) {
            later.arrive(made);
        }
    }));
    let told = async {
        tokio::select! {
            biased;
            made = told => made.unwrap_or_else(|_| Err(failed(Fault {
                sort: Sort::Unclear,
                text: "the runtime is closing".into(),
            }))),
            () = connections.arrival() => arrived(),
        }
    };
    within(&**runtime, until, told).await.unwrap_or_else(late)
}

/// Reads `mint_meta`; `Ok(None)` when it has no row.
pub(super) async fn read_meta<D: Dialect>(
    dialect: &D,
    statements: &Statements,
    session: &mut D::Session,
) -> Result<Option<MetaRow>, Fault> {
    let rows = session.rows(&statements.meta, &[], &META).await;
    meta_of(&rows.map_err(|error| Fault::new(dialect, &error))?)
}

pub(super) fn meta_of(rows: &[Row]) -> Result<Option<MetaRow>, Fault> {
    match rows.first() {
        None => Ok(None),
        Some(row) => match MetaRow::read(row) {
            Some(meta) => Ok(Some(meta)),
            None => Err(Fault {
                sort: Sort::Damaged,
                text: "the row of mint_meta cannot be understood".into(),
            }),
        },
    }
}

/// Looks at a connection before any write through it counts; each round trip has its own time.
pub(super) struct Eyes<D: Dialect> {
    pub(super) dialect: D,
    pub(super) statements: Statements,
    pub(super) runtime: Arc<dyn Runtime>,
    pub(super) settings: StoreSettings,
}

impl<D: Dialect> Eyes<D> {
    pub(super) fn new(dialect: D, settings: &StoreSettings, runtime: Arc<dyn Runtime>) -> Arc<Eyes<D>> {
        Arc::new(Eyes {
            dialect,
            statements: Statements::new(&D::TEXTS),
            runtime,
            settings: settings.clone(),
        })
    }

    pub(super) async fn step<T>(
        &self,
        call: impl Future<Output = Result<T, sqlx::Error>>,
    ) -> Result<T, Fault> {
        step(&self.dialect, &*self.runtime, first_run(&self.settings), call).await
    }

    /// A connection that nobody has looked at.
    pub(super) async fn connect(&self) -> Result<D::Session, StoreError> {
        let limit = self.settings.connect_timeout * CONNECTING_ROUND_TRIPS;
        let made = step(&self.dialect, &*self.runtime, limit, self.dialect.connect()).await;
        made.map_err(|fault| fault.error(self.dialect.label(), "cannot connect", Outcome::NotDone))
    }

    /// Refuses a pooler that hands each transaction another session: what is set in one would hold for nobody.
    pub(super) async fn refuse_pooler(&self, session: &mut D::Session) -> Result<(), StoreError> {
        let fault = |fault: Fault| fault.error(self.dialect.label(), "cannot be used", Outcome::NotDone);
        let Some(first) = self.step(self.dialect.backend(session)).await.map_err(fault)? else {
            return Ok(());
        };
        let mut other = self.connect().await?;
        self.step(other.script("BEGIN")).await.map_err(fault)?;
        let others = self.step(self.dialect.backend(&mut other)).await.map_err(fault)?;
        // While that transaction lasts, its backend is no other session's.
        let again = match others == Some(first) {
            true => others,
            false => self.step(self.dialect.backend(session)).await.map_err(fault)?,
        };
        other.end().await;
        match again == Some(first) && others != Some(first) {
            true => Ok(()),
            false => Err(fault(Fault {
                sort: Sort::Pooled,
                text: "two sessions share one of the server's".into(),
            })),
        }
    }

    /// A connection that was looked at.
    pub(super) async fn make(
        self: Arc<Self>,
        expected: Option<u128>,
        known: Option<Known>,
    ) -> Result<Kept<D::Session>, StoreError> {
        let mut session = self.connect().await?;
        let (meta, probe) = self.look(&mut session, expected, known, true).await?;
        self.rehearse(&mut session).await?;
        let now = self.runtime.boottime();
        Ok(Kept {
            session,
            probed_at: now,
            answered_at: now,
            view: probe.view,
            news: Some(Box::new((meta, probe))),
        })
    }

    /// Looks at schema, cluster id, class and copy. A copy that lags may lag in what it says of the class, too:
    /// `known` is what this process has seen lately; `is_new`: this connection was made just now.
    pub(super) async fn look(
        &self,
        session: &mut D::Session,
        expected: Option<u128>,
        known: Option<Known>,
        is_new: bool,
    ) -> Result<(MetaRow, Probe), StoreError> {
        let (store, settings) = (self.dialect.label(), &self.settings);
        let rows = self.step(session.rows(&self.statements.meta, &[], &META)).await;
        let meta = match rows.and_then(|rows| meta_of(&rows)) {
            Ok(Some(meta)) => meta,
            Ok(None) => return Err(not_made(store, "the table mint_meta has no row")),
            Err(fault) if fault.sort == Sort::Missing => {
                return Err(not_made(store, &format!("it has no schema: {}", fault.text)));
            }
            Err(fault) => return Err(fault.error(store, "cannot read mint_meta", Outcome::NotDone)),
        };
        check_head(store, &meta.head, expected)?;
        let limit = first_run(settings) * D::PROBE_STATEMENTS;
        let probe = step(&self.dialect, &*self.runtime, limit, self.dialect.probe(session)).await;
        let probe = probe
            .map_err(|fault| fault.error(store, "cannot read the server's settings", Outcome::NotDone))?;
        if let Some(why) = &probe.unwritable {
            let fault = Fault {
                sort: Sort::ReadOnly,
                text: why.clone(),
            };
            return Err(fault.error(store, "takes no writes", Outcome::NotDone));
        }
        let accept = settings.allow_lossy || settings.accept_copy;
        match judge_copy(&meta, known.as_ref(), &probe, accept, is_new) {
            Copy::Same => {}
            Copy::Refused => return Err(taken_over(store, &meta, &probe)),
            Copy::Record => self.record(session, &meta, &probe).await?,
            Copy::Unvouched => match self.beats(session).await?.vouch_for_class() {
                true => self.record(session, &meta, &probe).await?,
                false => return Err(taken_over(store, &meta, &probe)),
            },
            Copy::Fallen => {
                let before = self.beats(session).await?;
                self.runtime.sleep(LOOK_AGAIN).await;
                match self.beats(session).await?.vouch_for_copy(&before) {
                    true => self.record(session, &meta, &probe).await?,
                    false => return Err(fallen(store, &probe)),
                }
            }
        }
        Ok((meta, probe))
    }

    /// When servers wrote to this copy last.
    async fn beats(&self, session: &mut D::Session) -> Result<Beats, StoreError> {
        let rows = self.step(session.rows(&self.statements.beats, &[], &BEATS)).await;
        let failed = |fault: Fault| {
            let what = "cannot read when servers wrote last";
            fault.error(self.dialect.label(), what, Outcome::NotDone)
        };
        Ok(Beats::read(&rows.map_err(failed)?))
    }

    /// Notes another copy, or another class.
    pub(super) async fn record(
        &self,
        session: &mut D::Session,
        meta: &MetaRow,
        probe: &Probe,
    ) -> Result<(), StoreError> {
        let store = self.dialect.label();
        let (class, cluster) = (letter(probe.durability.class), hex(meta.head.cluster_id));
        // The fuller of two names for one copy.
        let copy = match same_copy(&meta.copy, &probe.copy) {
            true => &meta.copy,
            false => &probe.copy,
        };
        if *copy != meta.copy {
            match galera::goes_on(&meta.copy, copy) {
                true => {
                    tracing::warn!(
                        store,
                        was = meta.copy,
                        now = copy,
                        "the members of the Galera cluster have changed"
                    );
                }
                false => tracing::warn!(
                    store,
                    was = meta.copy,
                    now = copy,
                    "another copy of the data answers"
                ),
            }
        }
        let args = [
            Arg::Text(copy),
            Arg::Text(class),
            Arg::Text(&cluster),
            Arg::Text(&meta.copy),
            Arg::Text(&meta.class),
        ];
        match self.step(session.execute(&self.statements.record, &args)).await {
            // No row matched, or a conflict: another node has written the same just now.
            Ok(_)
            | Err(Fault {
                sort: Sort::Again, ..
            }) => Ok(()),
            Err(fault) => Err(fault.error(store, "cannot write mint_meta", Outcome::NotDone)),
        }
    }

    /// Runs every write and the read of a register once, with arguments that match nothing: the server then knows the statements, so that a real
    /// one is a single round trip, and an account without the rights is found out before it is needed.
    pub(super) async fn rehearse(&self, session: &mut D::Session) -> Result<(), StoreError> {
        let (statements, store) = (&self.statements, self.dialect.label());
        let (none, zero) = (Arg::Text(""), Arg::Int(0));
        let writes: [(&Arc<str>, &[Arg<'_>]); 4] = [
            (&statements.insert, &[none, zero, none, none, none, zero]),
            (
                &statements.update,
                &[zero, none, none, none, zero, zero, none, zero],
            ),
            (&statements.add, &[zero, none, none, zero, zero, none, zero]),
            (&statements.delete, &[none, zero, none]),
        ];
        for (sql, args) in writes {
            if let Err(fault) = self.step(session.execute(sql, args)).await {
                return Err(fault.error(store, "cannot write registers", Outcome::NotDone));
            }
        }
        let read = self.step(session.rows(&statements.get, &[none], &REGISTER)).await;
        read.map(drop)
            .map_err(|fault| fault.error(store, "cannot read registers", Outcome::NotDone))
    }
}
