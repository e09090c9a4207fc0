//! What the stores on SQL servers share: one table of registers, written by single conditional statements.
//!
//! ```text
//!   mint_meta      one row: schema version, cluster id, the copy of the data, its class
//!   mint_register  key | version | mark | token | body | written_at
//! ```
//!
//! A write is one statement whose condition names the version and the cluster (R3, R5); it matched one row or it
//! did not happen, and then a read says why. Nothing is retried but what the server has said it rolled back.
//! PostgreSQL and MySQL differ in [`session::Dialect`] alone.

#[cfg_attr(
    not(feature = "mysql"),
    allow(dead_code, reason = "only MySQL's driver makes views")
)]
pub(super) mod galera;
mod identity;
mod init;
mod pool;
pub(super) mod row;
pub(super) mod session;
#[cfg(feature = "postgres")]
pub(super) mod standbys;
pub(super) mod statements;
pub(super) mod url;

use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use mintage::Timestamp;
use tokio::sync::SemaphorePermit;

use super::rules::{Current, Verdict, check_limit, check_value, judge_claim, judge_remove, judge_set};
use super::{
    Cas, Claim, Class, Durability, Key, Marks, Outcome, Store, StoreError, StoreErrorKind, StoreResult,
    StoreSettings, Value, Version, Versioned,
};
use crate::runtime::{BoxFuture, Runtime};
use identity::{
    Copy, Head, Meta, check_head, damaged, emptied, hex, judge_copy, letter, not_made, read_hex, same_copy,
    taken_over,
};
use pool::{CONNECTIONS_MAX, Kept, Pool};
use row::{Arg, Column, Field, Row};
use session::{Dialect, Fault, Probe, Session, Sort};
use statements::{META, REGISTER, Statements};

pub(super) use identity::UNKNOWN_SYSTEM;
pub(super) use init::init;

/// How long a connection may have been idle before it is tried out first: a restarted server then costs a round
/// trip, not a write of unknown outcome.
const TRY_AFTER: Duration = Duration::from_secs(2);

/// How old the last look at class, cluster id and schema may be.
const PROBE_EVERY: Duration = Duration::from_secs(60);

/// Starts that are this close, in seconds, are one.
const SAME_START_S: u64 = 3;

/// How often a statement that the server rolled back for the sake of another is run again.
const ATTEMPTS_MAX: usize = 5;

/// A store on a SQL server. Thread-safe; several processes may use it at a time.
pub(super) struct SqlStore<D: Dialect> {
    eyes: Arc<Eyes<D>>,
    pool: Arc<Pool<D::Session>>,
    cluster_id: u128,
    cluster: String,
    /// The last probe.
    probe: Mutex<Probe>,
    stopped: OnceLock<StoreError>,
}

impl<D: Dialect> fmt::Debug for SqlStore<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SqlStore({})", self.eyes.dialect.label())
    }
}

/// A connection in use. What is not given back with [`Lease::done`] is closed: a call may be under way on it.
struct Lease<'a, D: Dialect> {
    store: &'a SqlStore<D>,
    kept: Kept<D::Session>,
    until: Duration,
    _permit: SemaphorePermit<'a>,
}

/// Waits for `call` until `until` in boot time.
async fn within<T>(runtime: &dyn Runtime, until: Duration, call: impl Future<Output = T>) -> Option<T> {
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
const CONNECTING_ROUND_TRIPS: u32 = 5;

/// Longer than all the round trips of an attempt together.
const ATTEMPT_MAX: Duration = Duration::from_secs(3600);

/// The server is told of a statement before it runs it for the first time.
const STATEMENT_ROUND_TRIPS: u32 = 2;

/// How long a statement may take on a connection that was never looked at.
fn first_run(settings: &StoreSettings) -> Duration {
    settings.request_timeout * STATEMENT_ROUND_TRIPS
}

/// Runs one step of a look at the server.
async fn step<D: Dialect, T>(
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
/// not thrown away: it goes to `pool`, for the next call.
async fn attempt<D: Dialect>(
    eyes: &Arc<Eyes<D>>,
    pool: &Arc<Pool<D::Session>>,
    until: Duration,
    making: BoxFuture<'static, Result<Kept<D::Session>, StoreError>>,
) -> Result<Kept<D::Session>, StoreError> {
    let (runtime, limit) = (&eyes.runtime, eyes.settings.connect_timeout);
    let failed = |fault: Fault| fault.error(eyes.dialect.label(), "cannot connect", Outcome::NotDone);
    let arrived = || match (pool.take(), pool.take_error()) {
        (Some(kept), _) => Ok(kept),
        (None, Some(error)) => Err(error),
        (None, None) => Err(failed(Fault::late(limit))),
    };
    let late = || Err(failed(Fault::late(limit)));
    let Ok(permit) = Arc::clone(&pool.attempts).try_acquire_owned() else {
        // As many as may be are on their way.
        let waited = within(&**runtime, until, pool.arrival()).await;
        return waited.map_or_else(late, |()| arrived());
    };
    let (tell, told) = tokio::sync::oneshot::channel();
    let later = Arc::clone(pool);
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
            () = pool.arrival() => arrived(),
        }
    };
    within(&**runtime, until, told).await.unwrap_or_else(late)
}

/// Opens the store at a server whose schema and cluster id `mint init` made.
pub(super) async fn open<D: Dialect>(
    dialect: D,
    settings: &StoreSettings,
    runtime: Arc<dyn Runtime>,
) -> Result<Arc<dyn Store>, StoreError> {
    let eyes = Eyes::new(dialect, settings, runtime);
    let pool = Arc::new(Pool::new());
    let making = Arc::clone(&eyes).make(settings.expect_cluster, None);
    // Whoever opens a store has none to go on with, and waits for as long as the attempt may take.
    let until = eyes.runtime.boottime() + ATTEMPT_MAX;
    let mut kept = attempt(&eyes, &pool, until, Box::pin(making)).await?;
    eyes.refuse_pooler(&mut kept.session).await?;
    let (meta, probe) = *kept.news.take().expect("it was looked at");
    pool.put(kept);
    Ok(Arc::new(SqlStore {
        eyes,
        pool,
        cluster_id: meta.head.cluster_id,
        cluster: hex(meta.head.cluster_id),
        probe: Mutex::new(probe),
        stopped: OnceLock::new(),
    }))
}

/// Reads `mint_meta`; `Ok(None)` when it has no row.
async fn read_meta<D: Dialect>(
    dialect: &D,
    statements: &Statements,
    session: &mut D::Session,
) -> Result<Option<Meta>, Fault> {
    let rows = session.rows(&statements.meta, &[], &META).await;
    meta_of(&rows.map_err(|error| Fault::new(dialect, &error))?)
}

fn meta_of(rows: &[Row]) -> Result<Option<Meta>, Fault> {
    match rows.first() {
        None => Ok(None),
        Some(row) => match Meta::read(row) {
            Some(meta) => Ok(Some(meta)),
            None => Err(Fault {
                sort: Sort::Damaged,
                text: "the row of mint_meta makes no sense".into(),
            }),
        },
    }
}

/// Looks at a connection before any write through it counts; each round trip has its own time.
struct Eyes<D: Dialect> {
    dialect: D,
    statements: Statements,
    runtime: Arc<dyn Runtime>,
    settings: StoreSettings,
}

impl<D: Dialect> Eyes<D> {
    fn new(dialect: D, settings: &StoreSettings, runtime: Arc<dyn Runtime>) -> Arc<Eyes<D>> {
        Arc::new(Eyes {
            dialect,
            statements: Statements::new(&D::TEXTS),
            runtime,
            settings: settings.clone(),
        })
    }

    async fn step<T>(&self, call: impl Future<Output = Result<T, sqlx::Error>>) -> Result<T, Fault> {
        step(&self.dialect, &*self.runtime, first_run(&self.settings), call).await
    }

    /// A connection that nobody has looked at.
    async fn connect(&self) -> Result<D::Session, StoreError> {
        let limit = self.settings.connect_timeout * CONNECTING_ROUND_TRIPS;
        let made = step(&self.dialect, &*self.runtime, limit, self.dialect.connect()).await;
        made.map_err(|fault| fault.error(self.dialect.label(), "cannot connect", Outcome::NotDone))
    }

    /// Refuses a pooler that hands each transaction another session: what is set in one would hold for nobody.
    async fn refuse_pooler(&self, session: &mut D::Session) -> Result<(), StoreError> {
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
    async fn make(
        self: Arc<Self>,
        expected: Option<u128>,
        known: Option<Class>,
    ) -> Result<Kept<D::Session>, StoreError> {
        let mut session = self.connect().await?;
        let (meta, probe) = self.look(&mut session, expected, known).await?;
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
    /// `known` is what this process saw last.
    async fn look(
        &self,
        session: &mut D::Session,
        expected: Option<u128>,
        known: Option<Class>,
    ) -> Result<(Meta, Probe), StoreError> {
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
        match judge_copy(&meta, known, &probe, settings.allow_lossy || settings.accept_copy) {
            Copy::Same => {}
            Copy::Refused => return Err(taken_over(store, &meta, &probe)),
            Copy::Record => self.record(session, &meta, &probe).await?,
        }
        Ok((meta, probe))
    }

    /// Notes another copy, or another class.
    async fn record(&self, session: &mut D::Session, meta: &Meta, probe: &Probe) -> Result<(), StoreError> {
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
    async fn rehearse(&self, session: &mut D::Session) -> Result<(), StoreError> {
        let (statements, store) = (&self.statements, self.dialect.label());
        let (none, zero) = (Arg::Text(""), Arg::Int(0));
        let writes: [(&Arc<str>, &[Arg<'_>]); 4] = [
            (&statements.insert, &[none, zero, none, none, none]),
            (&statements.update, &[zero, none, none, none, zero, zero, none]),
            (&statements.add, &[zero, none, none, zero, zero, none]),
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

/// Errors that a running process never recovers from (protocol E3).
fn is_final(error: &StoreError) -> bool {
    matches!(
        error.kind,
        StoreErrorKind::Foreign | StoreErrorKind::Corrupt | StoreErrorKind::Stopped
    )
}

impl<D: Dialect> SqlStore<D> {
    fn label(&self) -> &str {
        self.eyes.dialect.label()
    }

    /// Stops for good (protocol E3).
    fn stop(&self, error: StoreError) -> StoreError {
        let error = StoreError {
            kind: StoreErrorKind::Stopped,
            ..error
        };
        tracing::error!(%error, "nothing is minted any more");
        self.stopped.get_or_init(|| error.clone());
        error
    }

    /// Keeps the last probe. A start is computed from an uptime, so it may differ by a little every time.
    fn remember(&self, mut probe: Probe) {
        let mut last = self.probe.lock().unwrap_or_else(PoisonError::into_inner);
        if last.started_s.abs_diff(probe.started_s) <= SAME_START_S {
            probe.started_s = last.started_s;
        }
        *last = probe;
    }

    /// A connection that may be written through: known to be alive, and looked at within the last minute.
    async fn lease(&self, what: &str) -> Result<Lease<'_, D>, StoreError> {
        if let Some(error) = self.stopped.get() {
            return Err(error.clone());
        }
        let limit = self.eyes.settings.connect_timeout;
        let until = self.eyes.runtime.boottime() + limit;
        let busy = || Fault {
            sort: Sort::Busy,
            text: format!("all {CONNECTIONS_MAX} connections were in use for {limit:?}"),
        };
        let permit = within(&*self.eyes.runtime, until, self.pool.enter()).await;
        let permit = match permit {
            Some(Some(permit)) => permit,
            Some(None) => {
                return Err(StoreError::new(
                    StoreErrorKind::Unavailable,
                    Outcome::NotDone,
                    format!("store {}: {what}: the store is closed", self.label()),
                ));
            }
            None => return Err(busy().error(self.label(), what, Outcome::NotDone)),
        };
        let kept = match self.alive(until).await {
            Some(kept) => kept,
            None => {
                let making = Arc::clone(&self.eyes).make(Some(self.cluster_id), Some(self.class()));
                let made = attempt(&self.eyes, &self.pool, until, Box::pin(making)).await;
                made.map_err(|error| if is_final(&error) { self.stop(error) } else { error })?
            }
        };
        let mut lease = Lease {
            store: self,
            kept,
            until,
            _permit: permit,
        };
        lease.probe().await?;
        lease.until = self.eyes.runtime.boottime() + self.eyes.settings.request_timeout;
        Ok(lease)
    }

    /// A kept connection that answers, if there is one.
    async fn alive(&self, until: Duration) -> Option<Kept<D::Session>> {
        let mut kept = self.pool.take()?;
        let now = self.eyes.runtime.boottime();
        if now.saturating_sub(kept.answered_at) < TRY_AFTER {
            return Some(kept);
        }
        match within(&*self.eyes.runtime, until, kept.session.ping()).await {
            Some(Ok(())) => Some(kept),
            _ => {
                self.pool.forget();
                None
            }
        }
    }

    /// Writes once, under a condition; then, if that matched nothing, reads what is there and judges it.
    ///
    /// `write` is `None` when the condition cannot match whatever the register holds.
    async fn conditionally(
        &self,
        what: &str,
        key: &Key,
        write: Option<(&Arc<str>, &[Arg<'_>])>,
        done: Version,
        judge: impl Fn(Option<Current>) -> Result<Verdict, StoreError>,
    ) -> Result<Cas, StoreError> {
        let mut lease = self.lease(what).await?;
        for _ in 0..ATTEMPTS_MAX {
            match write {
                None => {}
                Some((sql, args)) => match lease.write(sql, args).await {
                    Ok(0) => {}
                    Ok(1) => {
                        lease.done();
                        return Ok(Cas::Done(done));
                    }
                    Ok(rows) => {
                        return Err(self.stop(damaged(
                            self.label(),
                            format!(
                                "a write of {key} changed {rows} rows: the table has lost its primary key"
                            ),
                        )));
                    }
                    Err(fault) if fault.sort == Sort::Duplicate => {}
                    Err(fault) if fault.sort == Sort::Again => continue,
                    Err(fault) => return Err(lease.failed(fault, what, Outcome::Unknown)),
                },
            }
            // What the write's condition said no to is certain; the rest of this call changes nothing.
            let found = lease.read(what, key).await?;
            let current = found.as_ref().map(|found| Current {
                mark: found.value.mark,
                version: found.version,
            });
            match judge(current) {
                Ok(Verdict::Lost) => {
                    lease.done();
                    return Ok(Cas::Lost(found));
                }
                // Removed and made again between write and read.
                Ok(Verdict::Go(_)) => {}
                Err(invalid) => {
                    lease.done();
                    return Err(invalid);
                }
            }
        }
        lease.done();
        let fault = Fault {
            sort: Sort::Again,
            text: format!("other writers came first, {ATTEMPTS_MAX} times in a row"),
        };
        Err(fault.error(self.label(), what, Outcome::NotDone))
    }

    async fn set(
        &self,
        key: &Key,
        expected: Option<Version>,
        new: Value,
        marks: Marks,
    ) -> Result<Cas, StoreError> {
        check_value(key, &new)?;
        let (token, mark) = (hex(new.token), as_int(new.mark));
        let highest = match marks {
            Marks::NeverLower => mark,
            Marks::GiveBack => i64::MAX,
        };
        let name = Arg::Text(key.as_str());
        let values = [Arg::Int(mark), Arg::Text(&token), Arg::Text(&new.body)];
        let cluster = Arg::Text(&self.cluster);
        let what = format!("cannot write {key}");
        let judge = |current| judge_set(key, current, expected, &new, marks);
        let Some(version) = expected else {
            let args = [name, values[0], values[1], values[2], cluster];
            let write = Some((&self.eyes.statements.insert, &args[..]));
            return self.conditionally(&what, key, write, Version(1), judge).await;
        };
        let args = [
            values[0],
            values[1],
            values[2],
            name,
            Arg::Int(as_int(version.0)),
            Arg::Int(highest),
            cluster,
        ];
        let write = can_be_stored(version).then_some((&self.eyes.statements.update, &args[..]));
        self.conditionally(&what, key, write, Version(version.0.saturating_add(1)), judge)
            .await
    }

    async fn add(&self, claim: &Claim) -> Result<Cas, StoreError> {
        judge_claim(claim, None)?;
        let token = hex(claim.token);
        let fits = claim.add <= i64::MAX as u64 && can_be_stored(claim.expected);
        let args = [
            Arg::Int(as_int(claim.add)),
            Arg::Text(&token),
            Arg::Text(claim.key.as_str()),
            Arg::Int(as_int(claim.expected.0)),
            Arg::Int(i64::MAX - as_int(claim.add)),
            Arg::Text(&self.cluster),
        ];
        let write = fits.then_some((&self.eyes.statements.add, &args[..]));
        let judge = |current| {
            Ok(match judge_claim(claim, current)? {
                Some((version, _)) => Verdict::Go(version),
                None => Verdict::Lost,
            })
        };
        let what = format!("cannot claim {} of {}", claim.add, claim.key);
        let done = Version(claim.expected.0.saturating_add(1));
        self.conditionally(&what, &claim.key, write, done, judge).await
    }

    async fn take_away(&self, key: &Key, expected: Version) -> Result<Cas, StoreError> {
        let args = [
            Arg::Text(key.as_str()),
            Arg::Int(as_int(expected.0)),
            Arg::Text(&self.cluster),
        ];
        let write = can_be_stored(expected).then_some((&self.eyes.statements.delete, &args[..]));
        let what = format!("cannot remove {key}");
        self.conditionally(&what, key, write, expected, |current| {
            judge_remove(key, current, expected)
        })
        .await
    }

    async fn page(
        &self,
        prefix: &Key,
        after: Option<&Key>,
        limit: u16,
    ) -> Result<Vec<(Key, Versioned)>, StoreError> {
        let limit = check_limit(limit)?;
        let (sql, from) = match after {
            Some(after) if after >= prefix => (&self.eyes.statements.page_after, after),
            _ => (&self.eyes.statements.page_from, prefix),
        };
        let end = end_of(prefix);
        let args = [Arg::Text(from.as_str()), Arg::Text(&end), Arg::Int(limit as i64)];
        let what = format!("cannot list {prefix}");
        let mut lease = self.lease(&what).await?;
        let rows = lease.rows(&what, sql, &args).await?;
        let mut page = Vec::with_capacity(rows.len());
        for row in &rows {
            page.extend(self.register(row)?);
        }
        lease.done();
        // As they come, though SQL does not promise it of the two parts of the statement.
        page.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        Ok(page)
    }

    /// Reads a register's columns; `None` for an absent one.
    fn register(&self, row: &Row) -> Result<Option<(Key, Versioned)>, StoreError> {
        let fields = &row[statements::HEAD.len()..];
        if fields[0] == Field::Null {
            return Ok(None);
        }
        let read = || {
            let [key, version, mark, token, body] = fields else {
                return None;
            };
            let value = Value {
                mark: u64::try_from(mark.int()?).ok()?,
                token: read_hex(token.text()?)?,
                body: body.text()?.to_string(),
            };
            let version = Version(u64::try_from(version.int()?).ok().filter(|v| *v > 0)?);
            Some((Key::new(key.text()?).ok()?, Versioned { value, version }))
        };
        match read() {
            Some(register) => Ok(Some(register)),
            None => Err(self.stop(damaged(
                self.label(),
                format!(
                    "the row of {} makes no sense",
                    fields[0].text().unwrap_or_default()
                ),
            ))),
        }
    }
}

impl<D: Dialect> Lease<'_, D> {
    /// Gives the connection back for the next call.
    fn done(mut self) {
        self.kept.answered_at = self.store.eyes.runtime.boottime();
        self.store.pool.put(self.kept);
    }

    /// The error of a failed statement; what this process must not survive stops it.
    fn failed(&self, fault: Fault, what: &str, outcome: Outcome) -> StoreError {
        if fault.sort == Sort::Unclear {
            self.store.pool.forget();
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

    async fn write(&mut self, sql: &Arc<str>, args: &[Arg<'_>]) -> Result<u64, Fault> {
        let store = self.store;
        match within(
            &*store.eyes.runtime,
            self.until,
            self.kept.session.execute(sql, args),
        )
        .await
        {
            Some(answer) => answer.map_err(|error| Fault::new(&store.eyes.dialect, &error)),
            None => Err(Fault::late(store.eyes.settings.request_timeout)),
        }
    }

    /// Runs a read that carries [`Head`], and checks that.
    async fn rows(&mut self, what: &str, sql: &Arc<str>, args: &[Arg<'_>]) -> Result<Vec<Row>, StoreError> {
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
                "the row of mint_meta makes no sense".into(),
            )),
        };
        checked.map_err(|error| store.stop(error))?;
        Ok(rows)
    }

    async fn read(&mut self, what: &str, key: &Key) -> Result<Option<Versioned>, StoreError> {
        let sql = Arc::clone(&self.store.eyes.statements.get);
        let rows = self.rows(what, &sql, &[Arg::Text(key.as_str())]).await?;
        Ok(self.store.register(&rows[0])?.map(|(_, found)| found))
    }

    /// Whether the last look still counts.
    async fn has_same_view(&mut self) -> Result<bool, StoreError> {
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
    async fn probe(&mut self) -> Result<(), StoreError> {
        let store = self.store;
        let now = store.eyes.runtime.boottime();
        let news = match self.kept.news.take() {
            Some(news) => Ok(*news),
            None => {
                let recent = now.saturating_sub(self.kept.probed_at) < PROBE_EVERY;
                if recent && self.has_same_view().await? {
                    return Ok(());
                }
                let (cluster, known) = (Some(store.cluster_id), Some(store.class()));
                store.eyes.look(&mut self.kept.session, cluster, known).await
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

/// What fits a column; larger values are refused before they get here, or cannot match.
fn as_int(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// Whether a register can be at this version and be written once more.
fn can_be_stored(version: Version) -> bool {
    version.0 < (1 << 56) - 1
}

/// The first text after all that start with `prefix`. Keys are ASCII below `DEL`, so that its last byte has a
/// successor.
fn end_of(prefix: &Key) -> String {
    let mut end = prefix.as_str().as_bytes().to_vec();
    if let Some(last) = end.last_mut() {
        *last += 1;
    }
    String::from_utf8(end).expect("the successor of an ASCII byte below DEL is ASCII")
}

impl<D: Dialect> Store for SqlStore<D> {
    fn scheme(&self) -> &'static str {
        D::SCHEME
    }

    fn class(&self) -> Class {
        self.durability().class
    }

    fn durability(&self) -> Durability {
        let probe = self.probe.lock().unwrap_or_else(PoisonError::into_inner);
        probe.durability.clone()
    }

    fn incarnation(&self) -> Option<String> {
        let probe = self.probe.lock().unwrap_or_else(PoisonError::into_inner);
        // A restart loses nothing but in class L.
        Some(match probe.durability.class {
            Class::Lossy => format!("{} since @{}", probe.copy, probe.started_s),
            Class::Survives | Class::Durable => probe.copy.clone(),
        })
    }

    fn wall(&self) -> StoreResult<'_, Option<Timestamp>> {
        Box::pin(async move {
            let what = "cannot read the clock";
            let mut lease = self.lease(what).await?;
            let (sql, until) = (&self.eyes.statements.wall, lease.until);
            let reading = lease.kept.session.rows(sql, &[], &[Column::Int]);
            let fault = match within(&*self.eyes.runtime, until, reading).await {
                Some(Ok(rows)) => {
                    lease.done();
                    let micros = rows.first().and_then(|row| row.first()?.int());
                    return Ok(micros.map(|us| Timestamp::from_unix_nanos(i128::from(us) * 1000)));
                }
                Some(Err(error)) => Fault::new(&self.eyes.dialect, &error),
                None => Fault::late(self.eyes.settings.request_timeout),
            };
            Err(lease.failed(fault, what, Outcome::NotDone))
        })
    }

    fn cluster_id(&self) -> u128 {
        self.cluster_id
    }

    fn take_cluster_id(&self, id: u128) -> StoreResult<'_, ()> {
        Box::pin(self.rename(id))
    }

    fn get<'a>(&'a self, key: &'a Key) -> StoreResult<'a, Option<Versioned>> {
        Box::pin(async move {
            let what = format!("cannot read {key}");
            let mut lease = self.lease(&what).await?;
            let found = lease.read(&what, key).await?;
            lease.done();
            Ok(found)
        })
    }

    fn compare_and_set<'a>(
        &'a self,
        key: &'a Key,
        expected: Option<Version>,
        new: Value,
        marks: Marks,
    ) -> StoreResult<'a, Cas> {
        Box::pin(self.set(key, expected, new, marks))
    }

    fn scan<'a>(
        &'a self,
        prefix: &'a Key,
        after: Option<&'a Key>,
        limit: u16,
    ) -> StoreResult<'a, Vec<(Key, Versioned)>> {
        Box::pin(self.page(prefix, after, limit))
    }

    fn remove<'a>(&'a self, key: &'a Key, expected: Version) -> StoreResult<'a, Cas> {
        Box::pin(self.take_away(key, expected))
    }

    fn claim<'a>(&'a self, claim: &'a Claim) -> StoreResult<'a, Cas> {
        Box::pin(self.add(claim))
    }

    fn stopped(&self) -> Option<StoreError> {
        self.stopped.get().cloned()
    }

    fn close<'a>(&'a self) -> StoreResult<'a, ()> {
        Box::pin(async move {
            let until = self.eyes.runtime.boottime() + self.eyes.settings.request_timeout;
            for kept in self.pool.close() {
                // Every write was durable when it was answered: a goodbye that fails loses nothing.
                let _ = within(&*self.eyes.runtime, until, kept.session.end()).await;
            }
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_ends_before_the_next_key_that_does_not_start_with_it() {
        for (prefix, end) in [("seq/", "seq0"), ("a", "b"), ("az", "a{"), ("a9", "a:")] {
            assert_eq!(end_of(&Key::new(prefix).unwrap()), end);
        }
    }
}
