//! Windows against the store: acquire (protocol W1, W2, W6), renew (W5), give back (W7). Callers never choose
//! where a window begins or ends.

use std::time::Duration;

use mintage::{Clock, Timestamp};

use super::Pool;
use super::window::{self, Survey, WindowBody};
use crate::error::LedgerError;
use crate::runtime::fresh_token;
use crate::store::{Cas, Marks, Outcome, SCAN_LIMIT_MAX, StoreError, StoreErrorKind, Version, Versioned};

/// Random workers that are tried when a page shows no free one.
const RANDOM_TRIES: usize = 16;
/// Pages of records that are looked at, one after the other, before a newcomer is refused: 128,000 workers.
const PAGES_MAX: usize = 128;
/// A window that was written this lately is held by somebody who lives: renewals come every second.
const RENEWED_WITHIN: Duration = Duration::from_secs(2);
/// How far apart two validated clocks may be (protocol W6), twice.
const CLOCKS_APART: Duration = Duration::from_secs(10);
/// Renewals of unknown outcome that are remembered; one that is forgotten costs the window, nothing more.
const ATTEMPTS_MAX: usize = 64;
/// No clock is right that reads earlier than this: 2026-11-01, when this was written (protocol W6).
const NOT_BEFORE: Timestamp = Timestamp::from_unix_millis(1_793_491_200_000);
/// How far behind the newest stored wall clock a node's own may be.
const BEHIND_MAX: Duration = Duration::from_secs(3600);

/// A window that the store has acknowledged.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Lease {
    pub worker: u64,
    pub version: Version,
    pub from: u64,
    /// The acknowledged end.
    pub until: u64,
    /// Renewals of unknown outcome from this version: their tokens and ends.
    attempts: Vec<(u128, u64)>,
}

/// An acquisition of unknown outcome.
#[derive(Debug)]
pub(crate) struct Unknown {
    /// Whose attempt it was: a process whose register was lost may be a copy, and its attempts are not its own any
    /// more (protocol R1, R4).
    owner: String,
    worker: u64,
    token: u128,
    from: u64,
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
        Lease {
            worker,
            version: found.version,
            from,
            until: found.value.mark,
            attempts: Vec::new(),
        }
    }

    fn extended(&mut self, version: Version, until: u64) {
        self.version = version;
        self.until = until;
        self.attempts.clear();
    }
}

impl Pool {
    /// Now in ticks, validated (protocol W6).
    async fn valid_tick(&self) -> Result<u64, LedgerError> {
        self.tick_of(self.context.valid_now().await?)
    }

    /// Now in ticks, by the clock that ids read.
    pub(super) fn now_tick(&self) -> Result<u64, LedgerError> {
        self.tick_of(self.context.clock.now())
    }

    fn tick_of(&self, now: Timestamp) -> Result<u64, LedgerError> {
        if now < NOT_BEFORE {
            return Err(LedgerError::Unavailable {
                message: format!(
                    "the clock reads {} ms since 1970, before this program was built: set the clock",
                    now.unix_millis()
                ),
                retry_after_s: 60,
            });
        }
        self.ticks.tick_at(now).map_err(|_| LedgerError::TimeFieldFull {
            name: self.name.clone(),
        })
    }

    pub(super) fn end_at(&self, from: u64, age: Duration) -> u64 {
        let age = age.as_nanos() / self.ticks.tick().as_nanos().max(1);
        let length = self.lengths.at_age(u64::try_from(age).unwrap_or(u64::MAX));
        // Exclusive: it may be one past the last tick.
        from.saturating_add(length)
            .min(self.ticks.ticks_max().saturating_add(1))
    }

    fn body(&self, owner: &Owner, from: u64) -> WindowBody {
        WindowBody {
            owner: owner.id.clone(),
            name: owner.name.clone(),
            from,
            layout: self.spec.kind.fingerprint(),
            wall_ms: self.context.clock.now().unix_millis(),
            retired: false,
        }
    }

    /// Takes a window of a free worker: one conditional write, and without a positive answer nothing was
    /// acquired (protocol W1). An attempt of unknown outcome is left in `unknown` for the next call.
    pub(crate) async fn acquire(
        &self,
        owner: &Owner,
        unknown: &mut Option<Unknown>,
    ) -> Result<Lease, LedgerError> {
        if let Some(error) = self.context.store.stopped() {
            return Err(LedgerError::Stopped(error));
        }
        self.check_not_dropped().await?;
        let now = self.context.valid_now().await?;
        // Before it becomes a tick: a time that is held at the start may lie past the layout's end.
        if self.is_doubtful() {
            self.check_clock(self.newest_wall().await?)?;
        }
        let now = self.tick_of(now)?;
        let floor = self.floor_tick();
        if floor > now.saturating_add(self.lengths.max_ahead) {
            return Err(self.floor_ahead(floor - now));
        }
        let now = now.max(floor);
        if let Some(attempt) = unknown.take() {
            match self.record(attempt.worker).await {
                // Ours if the record carries the token of our own attempt (protocol R1); else it is spent. So is one
                // that was asked for by a clock which has gone back since: it would serve nobody before its time.
                Ok(Some(found))
                    if attempt.from <= now.saturating_add(self.lengths.max_ahead)
                        && found.value.token == attempt.token
                        && owner.id == attempt.owner =>
                {
                    return Ok(Lease::new(attempt.worker, attempt.from, &found));
                }
                Ok(_) => {}
                // The one of several stores that has this worker is away: whether it landed or not, it is spent.
                Err(_) if !self.is_reachable(attempt.worker) => {}
                Err(error) => {
                    *unknown = Some(attempt);
                    return Err(error);
                }
            }
        }
        let survey = self.survey(now).await?;
        let newest = survey.newest_wall_ms.map(Timestamp::from_unix_millis);
        if newest > Some(self.context.clock.now().saturating_add(window::AHEAD_MIN)) {
            // Told in `/readyz`.
            self.count_held().await?;
        }
        let whole = survey.whole;
        let mut soonest = survey.soonest.clone();
        if let Some(lease) = self.try_absent(owner, &survey, now, unknown).await? {
            return Ok(lease);
        }
        let workers = self.spec.kind.workers();
        for _ in 0..RANDOM_TRIES.min(usize::try_from(workers).unwrap_or(usize::MAX)) {
            let worker = self.random_below(workers);
            if !self.is_reachable(worker) {
                continue;
            }
            let found = self.record(worker).await?;
            if found.as_ref().is_none_or(|found| found.value.mark <= now)
                && let Some(lease) = self.try_worker(owner, worker, found, now, unknown).await?
            {
                return Ok(lease);
            }
        }
        if let Some(lease) = self.try_passed(owner, survey, now, unknown).await? {
            return Ok(lease);
        }
        // Nobody waits while a free one exists: the pages that were not looked at.
        let mut first = 0;
        for _ in 0..PAGES_MAX {
            if whole || first >= workers {
                break;
            }
            let survey = self.survey_from(first, now).await?;
            first = survey.last.saturating_add(1);
            let sooner = |found: &Versioned| {
                soonest
                    .as_ref()
                    .is_none_or(|(_, s)| found.value.mark < s.value.mark)
            };
            if let Some(found) = survey.soonest.clone().filter(|(_, found)| sooner(found)) {
                soonest = Some(found);
            }
            if let Some(lease) = self.try_absent(owner, &survey, now, unknown).await? {
                return Ok(lease);
            }
            if let Some(lease) = self.try_passed(owner, survey, now, unknown).await? {
                return Ok(lease);
            }
        }
        // None is free: run ahead a little, or say how long it takes.
        self.count_held().await?;
        let Some((worker, found)) = soonest else {
            return Err(self.no_worker(1));
        };
        let ahead = found.value.mark.saturating_sub(now);
        if ahead <= self.lengths.max_ahead
            && !self.is_renewed(&found)
            && let Some(lease) = self.try_worker(owner, worker, Some(found), now, unknown).await?
        {
            return Ok(lease);
        }
        let wait_ns = u128::from(ahead) * self.ticks.tick().as_nanos();
        Err(self.no_worker(
            u64::try_from(wait_ns / 1_000_000_000)
                .unwrap_or(u64::MAX)
                .saturating_add(1),
        ))
    }

    async fn try_absent(
        &self,
        owner: &Owner,
        survey: &Survey,
        now: u64,
        unknown: &mut Option<Unknown>,
    ) -> Result<Option<Lease>, LedgerError> {
        let mut absent = survey.absent.clone();
        self.shuffle(&mut absent);
        for worker in absent {
            if let Some(lease) = self.try_worker(owner, worker, None, now, unknown).await? {
                return Ok(Some(lease));
            }
        }
        Ok(None)
    }

    async fn try_passed(
        &self,
        owner: &Owner,
        survey: Survey,
        now: u64,
        unknown: &mut Option<Unknown>,
    ) -> Result<Option<Lease>, LedgerError> {
        let mut passed = survey.passed;
        self.shuffle(&mut passed);
        for (worker, found) in passed {
            if let Some(lease) = self.try_worker(owner, worker, Some(found), now, unknown).await? {
                return Ok(Some(lease));
            }
        }
        Ok(None)
    }

    /// Whether somebody who lives extends this window every second: taking it would only make them take
    /// another one. A clean stop or a death leaves it alone for longer than that.
    fn is_renewed(&self, found: &Versioned) -> bool {
        let Ok(body) = WindowBody::read(found) else {
            return false;
        };
        if self.context.store.exclusive() {
            return false;
        }
        let since_ms = self
            .context
            .clock
            .now()
            .unix_millis()
            .saturating_sub(body.wall_ms);
        !body.retired && i128::from(since_ms) < RENEWED_WITHIN.as_millis() as i128
    }

    fn floor_ahead(&self, ticks: u64) -> LedgerError {
        let wait_ns = u128::from(ticks) * self.ticks.tick().as_nanos();
        let retry_after_s = u64::try_from(wait_ns / 1_000_000_000)
            .unwrap_or(u64::MAX)
            .saturating_add(1);
        LedgerError::Unavailable {
            message: format!(
                "the store may have lost windows of pool {}: new ones are taken in {retry_after_s} s",
                self.name
            ),
            retry_after_s,
        }
    }

    fn no_worker(&self, retry_after_s: u64) -> LedgerError {
        let parked = match self.parked() {
            Some(parked) => format!(
                " ({parked}; until then mint from another pool whose layout makes other ids, with another epoch or \
                 more workers)"
            ),
            None => String::new(),
        };
        LedgerError::Unavailable {
            message: format!(
                "no free worker in pool {}: all {} are held or parked{parked}, the next is free in {retry_after_s} s",
                self.name,
                self.spec.kind.workers()
            ),
            retry_after_s,
        }
    }

    /// Whether nothing says yet that this machine's clock is right. Where others tell the time, a record that a broken
    /// clock once wrote counts for nothing.
    fn is_doubtful(&self) -> bool {
        !self.context.clock.is_settled() && self.context.has_one_clock()
    }

    /// The newest time that the store was told of by a clock that nobody has found wrong since.
    async fn newest_wall(&self) -> Result<Option<Timestamp>, LedgerError> {
        // A store that keeps the time keeps the one that was confirmed last: records ahead of it are old news.
        if let Some(floor) = self.context.clock.floor() {
            return Ok(Some(floor));
        }
        let (mut newest, mut first) = (None, 0);
        loop {
            let page = self.page(first, SCAN_LIMIT_MAX).await?;
            let bodies = page.iter().filter_map(|(_, found)| WindowBody::read(found).ok());
            // One that an operator gave up is known to be what it is.
            newest = newest.max(bodies.filter(|body| !body.retired).map(|body| body.wall_ms).max());
            match page.last() {
                Some((worker, _)) if page.len() == usize::from(SCAN_LIMIT_MAX) => first = worker + 1,
                _ => return Ok(newest.map(Timestamp::from_unix_millis)),
            }
        }
    }

    /// A clock far behind what is stored takes no worker until it is confirmed: it is wrong, or the one was that
    /// wrote (protocol W6).
    fn check_clock(&self, newest: Option<Timestamp>) -> Result<(), LedgerError> {
        let context = &self.context;
        let behind = newest.map_or(Duration::ZERO, |newest| newest.since(context.runtime.wall()));
        if behind <= BEHIND_MAX {
            return Ok(());
        }
        let retry_after_s = context.clock.report().settles_in().as_secs() + 1;
        Err(LedgerError::Unavailable {
            message: format!(
                "pool {}: the clock of this machine is {} s behind the newest that the store has seen, and one of the \
                 two was wrong: set the clock if it is this one; it counts in {retry_after_s} s, or as soon as the \
                 kernel says that it is synchronised",
                self.name,
                behind.as_secs(),
            ),
            retry_after_s,
        })
    }

    pub(super) async fn record(&self, worker: u64) -> Result<Option<Versioned>, LedgerError> {
        let key = window::key(&self.name, worker);
        self.context
            .store
            .get(&key)
            .await
            .map_err(LedgerError::from_store)
    }

    /// Looks at one page of records, from a random worker where there are more than a page holds.
    async fn survey(&self, now: u64) -> Result<Survey, LedgerError> {
        let workers = self.spec.kind.workers();
        let page = u64::from(SCAN_LIMIT_MAX);
        let first = if workers > page {
            self.random_below(workers - page)
        } else {
            0
        };
        self.survey_from(first, now).await
    }

    async fn survey_from(&self, first: u64, now: u64) -> Result<Survey, LedgerError> {
        let workers = self.spec.kind.workers();
        let records = self.page(first, SCAN_LIMIT_MAX).await?;
        let last = match records.last() {
            Some((worker, _)) if records.len() == usize::from(SCAN_LIMIT_MAX) => *worker,
            _ => workers - 1,
        };
        let whole = first == 0 && last == workers - 1;
        let mut survey = Survey::of(records, first..=last, whole, now);
        // Of several stores the one that has a worker may be down.
        survey.keep(|worker| self.is_reachable(worker));
        Ok(survey)
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
        let found = found.map_err(LedgerError::from_store)?;
        Ok(found
            .into_iter()
            .filter_map(|(key, found)| Some((window::worker_of(&key)?, found)))
            .collect())
    }

    /// `None`: somebody else was quicker.
    async fn try_worker(
        &self,
        owner: &Owner,
        worker: u64,
        found: Option<Versioned>,
        now: u64,
        unknown: &mut Option<Unknown>,
    ) -> Result<Option<Lease>, LedgerError> {
        let stored_until = match &found {
            Some(found) => {
                self.check_fingerprint(worker, found)?;
                found.value.mark
            }
            None => 0,
        };
        // Protocol W2: the successor starts at the stored `until`.
        let from = stored_until.max(now);
        if from > self.ticks.ticks_max() {
            return Err(LedgerError::TimeFieldFull {
                name: self.name.clone(),
            });
        }
        let token = fresh_token(&*self.context.runtime);
        let value = self.body(owner, from).value(self.end_at(from, owner.age), token);
        let expected = found.map(|found| found.version);
        match self
            .write(worker, expected, value.clone(), Marks::NeverLower)
            .await
        {
            Ok(Cas::Done(version)) => Ok(Some(Lease::new(worker, from, &Versioned { value, version }))),
            Ok(Cas::Lost(_)) => Ok(None),
            Err(error) => {
                if error.outcome == Outcome::Unknown {
                    let owner = owner.id.clone();
                    *unknown = Some(Unknown {
                        owner,
                        worker,
                        token,
                        from,
                    });
                }
                Err(LedgerError::from_store(error))
            }
        }
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
            Err(error) => Err(LedgerError::from_store(error)),
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

    /// A counted conditional write of a window's record.
    async fn write(
        &self,
        worker: u64,
        expected: Option<Version>,
        value: crate::store::Value,
        marks: Marks,
    ) -> Result<Cas, StoreError> {
        let context = &self.context;
        let begun = context.runtime.boottime();
        let key = window::key(&self.name, worker);
        let token = value.token;
        let answer = context.store.compare_and_set(&key, expected, value, marks).await;
        let answer = answer.map(|cas| cas.of_attempt(token));
        match &answer {
            Ok(_) => context
                .counters
                .reserved(context.runtime.boottime().saturating_sub(begun)),
            Err(_) => context.counters.failed(),
        }
        answer
    }

    /// Another layout's ids could equal ours (protocol W8).
    fn check_fingerprint(&self, worker: u64, found: &Versioned) -> Result<(), LedgerError> {
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
        let body = WindowBody::read(found).map_err(|e| refuse(format!("its record makes no sense: {e}")))?;
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
        let worker = lease.worker;
        match self
            .write(worker, Some(lease.version), value, Marks::NeverLower)
            .await
        {
            Ok(Cas::Done(version)) => {
                lease.extended(version, until);
                Renewal::Extended
            }
            Ok(Cas::Lost(found)) if self.may_reassert(lease, found.as_ref(), now) => {
                self.reassert(owner, lease, found, until).await
            }
            Ok(Cas::Lost(Some(found))) => {
                let landed = lease
                    .attempts
                    .iter()
                    .find(|(token, _)| *token == found.value.token);
                match landed.copied() {
                    // An earlier renewal of ours had landed after all.
                    Some((_, until)) => {
                        lease.extended(found.version, until);
                        Renewal::Extended
                    }
                    None => {
                        tracing::warn!(pool = %self.name, worker, "window lost to another holder");
                        Renewal::Lost
                    }
                }
            }
            Ok(Cas::Lost(None)) => {
                tracing::error!(pool = %self.name, worker, "the window's record vanished");
                Renewal::Lost
            }
            Err(error) => {
                if error.outcome == Outcome::Unknown {
                    // Used only once it is known to have landed; retried from the same version.
                    lease.attempts.truncate(ATTEMPTS_MAX - 1);
                    lease.attempts.insert(0, (token, until));
                }
                Renewal::Kept(LedgerError::from_store(error))
            }
        }
    }

    /// Whether a record that the store has lost and recovered is still ours to extend: nobody can have taken a
    /// window that lasts, and nobody takes one before the floor (class L; leans on clocks within 5 s).
    fn may_reassert(&self, lease: &Lease, found: Option<&Versioned>, now: u64) -> bool {
        let lasts = lease.until > now.saturating_add(self.ticks_in(CLOCKS_APART));
        let raised_only = found.is_none_or(|found| found.value.mark <= self.floor_tick().max(lease.until));
        lease.version.epoch() != self.context.epoch() && lasts && raised_only
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
            Err(error) => Renewal::Kept(LedgerError::from_store(error)),
        }
    }

    fn ticks_in(&self, length: Duration) -> u64 {
        let ticks = length.as_nanos().div_ceil(self.ticks.tick().as_nanos().max(1));
        u64::try_from(ticks).unwrap_or(u64::MAX)
    }

    /// No window begins before this tick: a store of class L may have lost windows up to here.
    fn floor_tick(&self) -> u64 {
        let floor = self.context.guard.as_ref().and_then(|guard| guard.floor());
        floor.map_or(0, |floor| {
            self.ticks
                .tick_at(floor)
                .map_or(u64::MAX, |tick| tick.saturating_add(1))
        })
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

    fn random_below(&self, bound: u64) -> u64 {
        let mut bytes = [0u8; 16];
        self.context.runtime.fill_random(&mut bytes);
        (u128::from_be_bytes(bytes) % u128::from(bound.max(1))) as u64
    }

    fn shuffle<T>(&self, items: &mut [T]) {
        for at in (1..items.len()).rev() {
            let other = self.random_below(at as u64 + 1) as usize;
            items.swap(at, other);
        }
    }
}
