//! A window that is held: renewed (protocol W5), given back (W7), taken from who has it no more; and the records of all
//! of them. Callers never choose where a window begins or ends.

use std::time::Duration;

use mintage::Clock;

use super::Pool;
use super::window::{self, WindowBody};
use crate::error::LedgerError;
use crate::guard::Epoch;
use crate::kept::Tokens;
use crate::runtime::fresh_token;
use crate::store::{Cas, Marks, Outcome, StoreError, StoreErrorKind, Value, Version, Versioned};

/// How far apart two validated clocks may be (protocol W6), twice.
const CLOCKS_APART: Duration = Duration::from_secs(10);
/// Renewals of unknown outcome that are remembered; one that is forgotten costs the window, nothing more.
const ATTEMPTS_MAX: usize = 64;

/// A window that the store has acknowledged.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Lease {
    pub worker: u64,
    pub version: Version,
    pub from: u64,
    /// The acknowledged end.
    pub until: u64,
    /// Renewals of unknown outcome from this version: their tokens and ends.
    attempts: Vec<(Tokens, u64)>,
}

/// What a renewal came to.
#[derive(Debug)]
pub(crate) enum Renewal {
    /// The window reaches further, or as far as it did.
    Extended,
    /// Not for the moment: mint on up to the last acknowledged end.
    Kept(LedgerError),
    /// Somebody else has it.
    Lost,
}

/// Who holds a window.
#[derive(Clone, Debug)]
pub(crate) struct Owner {
    /// The instance, hexadecimal.
    pub id: String,
    /// What it calls itself; for people.
    pub name: String,
    /// How long it has lived.
    pub age: Duration,
}

impl Lease {
    pub(super) fn new(worker: u64, from: u64, found: &Versioned) -> Lease {
        Lease::written(worker, found.version, from, found.value.mark)
    }

    pub(super) fn written(worker: u64, version: Version, from: u64, until: u64) -> Lease {
        Lease {
            worker,
            version,
            from,
            until,
            attempts: Vec::new(),
        }
    }

    fn extended(&mut self, version: Version, until: u64) {
        self.version = version;
        self.until = until;
        self.attempts.clear();
    }
}

/// Whether a record says that this is the window of this holder.
fn names_holder(found: &Versioned, owner: &Owner, lease: &Lease) -> bool {
    WindowBody::read(found)
        .is_ok_and(|body| body.owner == owner.id && body.from == lease.from && !body.retired)
}

impl Pool {
    pub(super) fn end_at(&self, from: u64, age: Duration) -> u64 {
        let age = age.as_nanos() / self.ticks.tick().as_nanos().max(1);
        let length = self.lengths.at_age(u64::try_from(age).unwrap_or(u64::MAX));
        // Exclusive: it may be one past the last tick.
        from.saturating_add(length)
            .min(self.ticks.ticks_max().saturating_add(1))
    }

    pub(super) fn body(&self, owner: &Owner, from: u64) -> WindowBody {
        WindowBody {
            owner: owner.id.clone(),
            name: owner.name.clone(),
            from,
            layout: self.spec.kind.fingerprint(),
            wall_ms: self.context.clock.now().unix_millis(),
            retired: false,
            machine: None,
            renewed: None,
        }
    }

    pub(super) async fn record(&self, worker: u64) -> Result<Option<Versioned>, LedgerError> {
        let key = window::key(&self.name, worker);
        self.context.store.get(&key).await.map_err(LedgerError::from)
    }

    pub(super) fn is_reachable(&self, worker: u64) -> bool {
        let key = window::key(&self.name, worker);
        self.context.store.reachable(&key)
    }

    /// The records of the workers from `first` on, at most `limit`.
    pub(super) async fn page(&self, first: u64, limit: u16) -> Result<Vec<(u64, Versioned)>, LedgerError> {
        let pool = &self.name;
        let after = first.checked_sub(1).map(|worker| window::key(pool, worker));
        let prefix = window::prefix(pool);
        let found = self.context.store.scan(&prefix, after.as_ref(), limit).await;
        let found = found?;
        Ok(found
            .into_iter()
            .filter_map(|(key, found)| Some((window::worker_of(&key)?, found)))
            .collect())
    }

    /// Gives a worker up for as long as its window lies ahead: whoever holds it cannot renew it, and nobody is told
    /// of it any more. Its end stays as it is: nobody takes the worker before.
    ///
    /// # Errors
    /// There is no record of this worker, or somebody wrote it in the same moment.
    pub async fn retire(&self, worker: u64) -> Result<(), LedgerError> {
        let (found, body) = self.window_record(worker).await?;
        self.mark_retired(worker, &found, body).await?;
        self.count_held().await.map(drop)
    }

    /// Writes a window's record anew with the same end, so that its holder cannot renew it.
    pub(super) async fn mark_retired(
        &self,
        worker: u64,
        found: &Versioned,
        body: WindowBody,
    ) -> Result<(), LedgerError> {
        let value = WindowBody {
            retired: true,
            ..body
        }
        .value(found.value.mark, fresh_token(&*self.context.runtime));
        match self
            .write(worker, Some(found.version), value, Marks::NeverLower)
            .await
        {
            Ok(Cas::Done(_)) => Ok(()),
            Ok(Cas::Lost(_)) => Err(LedgerError::WindowLost {
                name: self.name.clone(),
                worker,
            }),
            Err(error) => Err(LedgerError::from(error)),
        }
    }

    pub(super) async fn window_record(&self, worker: u64) -> Result<(Versioned, WindowBody), LedgerError> {
        let Some(found) = self.record(worker).await? else {
            return Err(LedgerError::NoWindow {
                name: self.name.clone(),
                worker,
            });
        };
        let body = WindowBody::read(&found)
            .map_err(|e| LedgerError::Invalid(format!("window {worker} of pool {}: {e}", self.name)))?;
        Ok((found, body))
    }

    /// What was found of a window that we asked for is ours once it was written again (protocol R6).
    pub(super) async fn confirm(
        &self,
        worker: u64,
        found: Versioned,
        tokens: &mut Tokens,
    ) -> Result<Cas, StoreError> {
        let key = window::key(&self.name, worker);
        self.context.attempts(&key).confirm(found, tokens).await
    }

    /// A counted conditional write of a window's record.
    pub(super) async fn write(
        &self,
        worker: u64,
        expected: Option<Version>,
        value: Value,
        marks: Marks,
    ) -> Result<Cas, StoreError> {
        let mut tokens = Tokens::new(value.token);
        self.write_as(&mut tokens, worker, expected, value, marks).await
    }

    /// The same, whose tokens the caller keeps to find it later.
    pub(super) async fn write_as(
        &self,
        tokens: &mut Tokens,
        worker: u64,
        expected: Option<Version>,
        value: Value,
        marks: Marks,
    ) -> Result<Cas, StoreError> {
        let context = &self.context;
        let begun = context.runtime.boottime();
        let key = window::key(&self.name, worker);
        let answer = context.attempts(&key).write(expected, value, marks, tokens).await;
        match &answer {
            Ok(_) => context
                .counters
                .reserved(context.runtime.boottime().saturating_sub(begun)),
            Err(_) => context.counters.failed(),
        }
        answer
    }

    /// Another layout's ids could equal ours (protocol W8).
    pub(super) fn check_fingerprint(&self, worker: u64, found: &Versioned) -> Result<(), LedgerError> {
        let refuse = |why: String| {
            let message = format!("window {worker} of pool {}: {why}", self.name);
            LedgerError::Stopped(StoreError::new(
                StoreErrorKind::Corrupt,
                Outcome::NotDone,
                message,
            ))
        };
        if found.value.is_tombstone() {
            // A repair saved the mark alone, which is what a successor needs.
            return Ok(());
        }
        let body =
            WindowBody::read(found).map_err(|e| refuse(format!("its record cannot be understood: {e}")))?;
        let ours = self.spec.kind.fingerprint();
        if body.layout != ours {
            return Err(refuse(format!(
                "it was held with layout {}, this pool has {ours}",
                body.layout
            )));
        }
        Ok(())
    }

    /// Extends the window from the known version (protocol W5).
    pub(crate) async fn renew(&self, owner: &Owner, lease: &mut Lease) -> Renewal {
        let now = match self.valid_tick().await {
            Ok(now) => now,
            Err(error) => {
                // The clock is of no use: mint on up to the acknowledged end.
                return Renewal::Kept(error);
            }
        };
        let until = self.end_at(now, owner.age).max(lease.until);
        let token = fresh_token(&*self.context.runtime);
        let value = self.body(owner, lease.from).value(until, token);
        let (worker, mut tokens) = (lease.worker, Tokens::new(token));
        match self
            .write_as(&mut tokens, worker, Some(lease.version), value, Marks::NeverLower)
            .await
        {
            Ok(Cas::Done(version)) => {
                lease.extended(version, until);
                Renewal::Extended
            }
            Ok(Cas::Lost(found)) if self.may_reassert(owner, lease, found.as_ref(), now) => {
                self.reassert(owner, lease, found, until).await
            }
            Ok(Cas::Lost(Some(found))) => self.if_landed(lease, found).await,
            Ok(Cas::Lost(None)) => {
                tracing::error!(pool = %self.name, worker, "the window's record vanished");
                Renewal::Lost
            }
            Err(error) => {
                if error.outcome == Outcome::Unknown {
                    // Used only once it is known to have landed; retried from the same version.
                    lease.attempts.truncate(ATTEMPTS_MAX - 1);
                    lease.attempts.insert(0, (tokens, until));
                }
                Renewal::Kept(LedgerError::from(error))
            }
        }
    }

    /// What a window's record says that another write came before ours.
    async fn if_landed(&self, lease: &mut Lease, found: Versioned) -> Renewal {
        let worker = lease.worker;
        let mut attempts = lease.attempts.iter_mut();
        let landed = attempts.find(|(tokens, _)| tokens.has(found.value.token));
        let kept = match landed {
            // An earlier renewal of ours had landed after all.
            Some((tokens, until)) => {
                let until = *until;
                let confirmed = self.confirm(worker, found, tokens).await;
                confirmed.map(|cas| (cas, until))
            }
            None => Ok((Cas::Lost(None), 0)),
        };
        match kept {
            Ok((Cas::Done(version), until)) => {
                lease.extended(version, until);
                Renewal::Extended
            }
            Ok((Cas::Lost(_), _)) => {
                tracing::warn!(pool = %self.name, worker, "window lost to another holder");
                Renewal::Lost
            }
            Err(error) => Renewal::Kept(LedgerError::from(error)),
        }
    }

    /// Whether a record that the store has lost and recovered is still ours to extend: nobody can have taken a
    /// window that lasts, and nobody takes one before the floor (class L; leans on clocks within 5 s).
    fn may_reassert(&self, owner: &Owner, lease: &Lease, found: Option<&Versioned>, now: u64) -> bool {
        let apart = self.ticks_in(CLOCKS_APART);
        let lasts = lease.until > now.saturating_add(apart);
        let floor = self.floor_tick();
        // Of several servers that recover at once one is noted, and another may have raised the mark, above its floor.
        let raised_only = |found: &Versioned| {
            found.value.mark <= floor.max(lease.until)
                || found.value.mark <= floor.saturating_add(apart) && names_holder(found, owner, lease)
        };
        lease.version.epoch() != self.context.epoch() && lasts && found.is_none_or(raised_only)
    }

    async fn reassert(
        &self,
        owner: &Owner,
        lease: &mut Lease,
        found: Option<Versioned>,
        until: u64,
    ) -> Renewal {
        let until = found.as_ref().map_or(until, |found| until.max(found.value.mark));
        let value = self
            .body(owner, lease.from)
            .value(until, fresh_token(&*self.context.runtime));
        let expected = found.map(|found| found.version);
        match self.write(lease.worker, expected, value, Marks::NeverLower).await {
            Ok(Cas::Done(version)) => {
                lease.extended(version, until);
                Renewal::Extended
            }
            Ok(Cas::Lost(_)) => Renewal::Lost,
            // The next renewal finds the record as it is.
            Err(error) => Renewal::Kept(LedgerError::from(error)),
        }
    }

    /// Lowers `until` to `unused_from`; only where nobody else can hold (protocol W7). The caller never uses the
    /// window again, whatever comes of it.
    pub(crate) async fn give_back(&self, owner: &Owner, lease: Lease, unused_from: u64) {
        let unused_from = unused_from.max(lease.from);
        let alone = self.context.store.exclusive();
        if !alone || !lease.attempts.is_empty() || unused_from >= lease.until {
            return;
        }
        let value = self
            .body(owner, lease.from)
            .value(unused_from, fresh_token(&*self.context.runtime));
        if let Err(error) = self
            .write(lease.worker, Some(lease.version), value, Marks::GiveBack)
            .await
        {
            tracing::warn!(pool = %self.name, %error, "could not give the window back");
        }
    }

    /// Takes a passed window from its holder, so that it cannot renew: its record is written anew with the same
    /// end. A window that lasts is refused: nobody but its holder ever shortens it.
    ///
    /// # Errors
    /// The window lasts, or there is no record of this worker.
    pub async fn release(&self, worker: u64) -> Result<(), LedgerError> {
        let (found, body) = self.window_record(worker).await?;
        let now = self.now_tick()?;
        if found.value.mark > now {
            let left = u128::from(found.value.mark - now) * self.ticks.tick().as_nanos() / 1_000_000_000 + 1;
            return Err(LedgerError::Invalid(format!(
                "worker {worker} of pool {} is held by {} for {left} s more: it is free after that by itself",
                self.name, body.owner
            )));
        }
        self.mark_retired(worker, &found, body).await
    }
}
