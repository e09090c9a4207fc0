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

mod checkout;
mod connections;
mod eyes;
#[cfg_attr(
    not(feature = "mysql"),
    allow(dead_code, reason = "only MySQL's driver makes views")
)]
pub(super) mod galera;
mod identity;
mod init;
pub mod row;
pub mod session;
#[cfg(feature = "postgres")]
pub(super) mod standbys;
pub(super) mod statements;
pub(super) mod url;
mod vouched;
pub mod warned;

pub use self::statements::Texts;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use mintage::Timestamp;

use super::rules::{Current, Verdict, check_limit, check_value, judge_claim, judge_remove, judge_set};
use super::{
    Cas, Claim, Class, Durability, Key, Marks, Outcome, Store, StoreError, StoreErrorKind, StoreResult,
    StoreSettings, Value, Version, Versioned,
};
use crate::runtime::Runtime;
use checkout::{Answers, Checkout, is_final};
use connections::{CONNECTIONS_MAX, Connections, Kept};
use eyes::{ATTEMPT_MAX, Eyes, attempt, within};
use identity::{Known, damaged, hex, read_hex};
use row::{Arg, Column, Field, Row};
use session::{Dialect, Fault, Probe, Session, Sort};
use vouched::LATELY;

#[cfg(feature = "postgres")]
pub(super) use identity::UNKNOWN_SYSTEM;
pub(super) use init::{init, probe};

/// How long a connection may have been idle before it is tried out first: a restarted server then costs a round
/// trip, not a write of unknown outcome.
const TRY_AFTER: Duration = Duration::from_secs(2);

/// Starts that are this close, in seconds, are one.
const SAME_START_S: u64 = 3;

/// How often a statement that the server rolled back for the sake of another is run again.
const ATTEMPTS_MAX: usize = 5;

/// A store on a SQL server. Thread-safe; several processes may use it at a time.
pub(super) struct SqlStore<D: Dialect> {
    eyes: Arc<Eyes<D>>,
    connections: Arc<Connections<D::Session>>,
    cluster_id: u128,
    cluster: String,
    /// The last probe, and when that was, in boot time.
    probe: Mutex<Probe>,
    probed_at: Mutex<Duration>,
    stopped: OnceLock<StoreError>,
}

impl<D: Dialect> fmt::Debug for SqlStore<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SqlStore({})", self.eyes.dialect.label())
    }
}

/// Opens the store at a server whose schema and cluster id `mint init` made.
pub(super) async fn open<D: Dialect>(
    dialect: D,
    settings: &StoreSettings,
    runtime: Arc<dyn Runtime>,
) -> Result<Arc<dyn Store>, StoreError> {
    let eyes = Eyes::new(dialect, settings, runtime);
    let connections = Arc::new(Connections::new());
    let making = Arc::clone(&eyes).make(settings.expect_cluster, None);
    // Whoever opens a store has none to go on with, and waits for as long as the attempt may take.
    let until = eyes.runtime.boottime() + ATTEMPT_MAX;
    let mut kept = attempt(&eyes, &connections, until, Box::pin(making)).await?;
    eyes.refuse_pooler(&mut kept.session).await?;
    let (meta, probe) = *kept.news.take().expect("it was looked at");
    connections.put(kept);
    let now = eyes.runtime.boottime();
    Ok(Arc::new(SqlStore {
        eyes,
        connections,
        cluster_id: meta.head.cluster_id,
        cluster: hex(meta.head.cluster_id),
        probe: Mutex::new(probe),
        probed_at: Mutex::new(now),
        stopped: OnceLock::new(),
    }))
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
        *self.probed_at.lock().unwrap_or_else(PoisonError::into_inner) = self.eyes.runtime.boottime();
    }

    /// What this process has seen. That the store may lose something is never forgotten.
    fn known(&self) -> Known {
        let probed_at = *self.probed_at.lock().unwrap_or_else(PoisonError::into_inner);
        let ago = self.eyes.runtime.boottime().saturating_sub(probed_at);
        let probe = self.probe.lock().unwrap_or_else(PoisonError::into_inner);
        let class = probe.durability.class;
        Known {
            class: (class != Class::Survives || ago <= LATELY).then_some(class),
            copy: probe.copy.clone(),
        }
    }

    /// A connection that may be written through: known to be alive, and looked at within the last minute.
    async fn checkout(&self, what: &str) -> Result<Checkout<'_, D>, StoreError> {
        if let Some(error) = self.stopped.get() {
            return Err(error.clone());
        }
        let limit = self.eyes.settings.connect_timeout;
        let until = self.eyes.runtime.boottime() + limit;
        let busy = || Fault {
            sort: Sort::Busy,
            text: format!("all {CONNECTIONS_MAX} connections were in use for {limit:?}"),
        };
        let permit = within(&*self.eyes.runtime, until, self.connections.enter()).await;
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
                let making = Arc::clone(&self.eyes).make(Some(self.cluster_id), Some(self.known()));
                let made = attempt(&self.eyes, &self.connections, until, Box::pin(making)).await;
                made.map_err(|error| if is_final(&error) { self.stop(error) } else { error })?
            }
        };
        let mut checkout = Checkout {
            store: self,
            kept,
            until,
            _permit: permit,
        };
        checkout.probe().await?;
        checkout.until = self.eyes.runtime.boottime() + self.eyes.settings.request_timeout;
        Ok(checkout)
    }

    /// A kept connection that answers, if there is one.
    async fn alive(&self, until: Duration) -> Option<Kept<D::Session>> {
        let mut kept = self.connections.take()?;
        let now = self.eyes.runtime.boottime();
        if now.saturating_sub(kept.answered_at) < TRY_AFTER {
            return Some(kept);
        }
        match within(&*self.eyes.runtime, until, kept.session.ping()).await {
            Some(Ok(())) => Some(kept),
            _ => {
                self.connections.forget();
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
        write: Option<(&Arc<str>, &[Arg<'_>], Answers)>,
        done: Version,
        judge: impl Fn(Option<Current>) -> Result<Verdict, StoreError>,
    ) -> Result<Cas, StoreError> {
        let asked_of = self.incarnation();
        let mut checkout = self.checkout(what).await?;
        if self.incarnation() != asked_of {
            // The caller's version may be of a write that this copy does not have, under the number of another (protocol
            // R6): he looks first.
            checkout.done();
            return Err(StoreError::new(
                StoreErrorKind::Unavailable,
                Outcome::NotDone,
                format!(
                    "store {}: {what}: another copy of the data answers since",
                    self.label()
                ),
            ));
        }
        for _ in 0..ATTEMPTS_MAX {
            match write {
                None => {}
                Some((sql, args, answers)) => match checkout.write(sql, args, answers).await {
                    Ok(0) => {}
                    Ok(1) => {
                        checkout.done();
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
                    Err(fault) => return Err(checkout.failed(fault, what, Outcome::Unknown)),
                },
            }
            let found = checkout.read(what, key).await;
            let found = found.map_err(|error| after_write(write.is_some(), error))?;
            let current = found.as_ref().map(|found| Current {
                mark: found.value.mark,
                version: found.version,
            });
            match judge(current) {
                Ok(Verdict::Lost) => {
                    checkout.done();
                    return Ok(Cas::Lost(found));
                }
                // Removed and made again between write and read.
                Ok(Verdict::Go(_)) => {}
                Err(invalid) => {
                    checkout.done();
                    return Err(invalid);
                }
            }
        }
        checkout.done();
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
            let write = Some((&self.eyes.statements.insert, &args[..], Answers::ItsNumber));
            return self.conditionally(&what, key, write, Version::of(1), judge).await;
        };
        let args = [
            values[0],
            values[1],
            values[2],
            name,
            Arg::Int(as_int(version.number())),
            Arg::Int(highest),
            cluster,
        ];
        let update = (&self.eyes.statements.update, &args[..], Answers::ItsNumber);
        let write = can_be_stored(version).then_some(update);
        self.conditionally(
            &what,
            key,
            write,
            Version::of(version.number().saturating_add(1)),
            judge,
        )
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
            Arg::Int(as_int(claim.expected.number())),
            Arg::Int(i64::MAX - as_int(claim.add)),
            Arg::Text(&self.cluster),
        ];
        let write = fits.then_some((&self.eyes.statements.add, &args[..], Answers::ItsNumber));
        let judge = |current| {
            Ok(match judge_claim(claim, current)? {
                Some((version, _)) => Verdict::Go(version),
                None => Verdict::Lost,
            })
        };
        let what = format!("cannot claim {} of {}", claim.add, claim.key);
        let done = Version::of(claim.expected.number().saturating_add(1));
        self.conditionally(&what, &claim.key, write, done, judge).await
    }

    async fn take_away(&self, key: &Key, expected: Version) -> Result<Cas, StoreError> {
        let args = [
            Arg::Text(key.as_str()),
            Arg::Int(as_int(expected.number())),
            Arg::Text(&self.cluster),
        ];
        let delete = (&self.eyes.statements.delete, &args[..], Answers::HowMany);
        let write = can_be_stored(expected).then_some(delete);
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
        let mut checkout = self.checkout(&what).await?;
        let rows = checkout.rows(&what, sql, &args).await?;
        let mut page = Vec::with_capacity(rows.len());
        for row in &rows {
            page.extend(self.register(row)?);
        }
        checkout.done();
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
            let version = Version::of(u64::try_from(version.int()?).ok().filter(|v| *v > 0)?);
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

/// What fits a column; larger values are refused before they get here, or cannot match.
fn as_int(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// Whether a register can be at this version and be written once more.
fn can_be_stored(version: Version) -> bool {
    version.number() < (1 << 56) - 1
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
        // A restart loses what was shown and not kept, and in class L what was acknowledged.
        Some(format!("{} since @{}", probe.copy, probe.started_s))
    }

    fn wall(&self) -> StoreResult<'_, Option<Timestamp>> {
        Box::pin(async move {
            let what = "cannot read the clock";
            let mut checkout = self.checkout(what).await?;
            let (sql, until) = (&self.eyes.statements.wall, checkout.until);
            let reading = checkout.kept.session.rows(sql, &[], &[Column::Int]);
            let fault = match within(&*self.eyes.runtime, until, reading).await {
                Some(Ok(rows)) => {
                    checkout.done();
                    let micros = rows.first().and_then(|row| row.first()?.int());
                    return Ok(micros.map(|us| Timestamp::from_unix_nanos(i128::from(us) * 1000)));
                }
                Some(Err(error)) => Fault::new(&self.eyes.dialect, &error),
                None => Fault::late(self.eyes.settings.request_timeout),
            };
            Err(checkout.failed(fault, what, Outcome::NotDone))
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
            let mut checkout = self.checkout(&what).await?;
            let found = checkout.read(&what, key).await?;
            checkout.done();
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
            for kept in self.connections.close() {
                // Every write was durable when it was answered: a goodbye that fails loses nothing.
                let _ = within(&*self.eyes.runtime, until, kept.session.end()).await;
            }
            Ok(())
        })
    }
}

/// The failure of a read that gave no answer: that a write before it changed no row is believed once a read has told so
/// too, since an answer of no rows carries no number that ties it to its call.
fn after_write(is_sent: bool, error: StoreError) -> StoreError {
    match is_sent && error.kind == StoreErrorKind::Unavailable {
        true => StoreError {
            outcome: Outcome::Unknown,
            ..error
        },
        false => error,
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
