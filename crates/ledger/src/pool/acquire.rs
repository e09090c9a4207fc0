//! Taking a window of a free worker (protocol W1, W2): workers without a record come first, then random ones, then those
//! whose window has passed.

use std::sync::Arc;
use std::time::Duration;

use mintage::{Clock, Timestamp};

use super::Pool;
use super::lease::{Lease, Owner};
use super::window::{self, Survey, WindowBody};
use crate::error::LedgerError;
use crate::kept::Tokens;
use crate::runtime::fresh_token;
use crate::store::{Cas, Marks, Outcome, SCAN_LIMIT_MAX, Versioned};
use mintage_local::workers::WorkerRanges;

/// How often a worker is chosen anew that is avoided by the time it is taken.
const CHOICES_MAX: u32 = 3;
/// Random workers that are tried when a page shows no free one.
const RANDOM_TRIES: usize = 16;
/// Pages of records that are looked at, one after the other, before a newcomer is refused: 128,000 workers.
pub(super) const PAGES_MAX: usize = 128;
/// A window that was written this lately is held by somebody who lives: renewals come every second.
const RENEWED_WITHIN: Duration = Duration::from_secs(2);

/// An acquisition of unknown outcome.
#[derive(Debug)]
pub(crate) struct Unknown {
    /// Whose attempt it was: a process whose register was lost may be a copy, and its attempts are not its own any
    /// more (protocol R1, R4).
    owner: String,
    worker: u64,
    tokens: Tokens,
    from: u64,
}

/// One search for a free worker.
struct Search<'a> {
    pool: &'a Pool,
    owner: &'a Owner,
    /// The workers that may be chosen.
    allowed: Arc<WorkerRanges>,
    /// In ticks, validated.
    now: u64,
    /// Where an attempt of unknown outcome is left for the next search.
    unknown: &'a mut Option<Unknown>,
    /// Of the windows that last, the one that ends first.
    soonest: Option<(u64, Versioned)>,
}

impl Pool {
    /// Takes a window of a free worker: one conditional write, and without a positive answer nothing was
    /// acquired (protocol W1). An attempt of unknown outcome is left in `unknown` for the next call.
    ///
    /// The pool's definition is read before the choice and again after the write: whoever begins to avoid a worker
    /// writes the definition first and then looks at its window, so that one of the two sees the other, however long
    /// a process was paused in between (protocol W1, S5).
    pub(crate) async fn acquire(
        &self,
        owner: &Owner,
        unknown: &mut Option<Unknown>,
    ) -> Result<Lease, LedgerError> {
        for _ in 0..CHOICES_MAX {
            let lease = self.choose(owner, unknown).await?;
            if self.may_still_use(lease.worker).await? {
                return Ok(lease);
            }
            self.give_up(owner, &lease).await;
        }
        Err(LedgerError::unavailable(format!(
            "the workers of pool {} were changed {CHOICES_MAX} times while one was taken",
            self.name
        )))
    }

    async fn choose(&self, owner: &Owner, unknown: &mut Option<Unknown>) -> Result<Lease, LedgerError> {
        if let Some(error) = self.context.store.stopped() {
            return Err(LedgerError::Stopped(error));
        }
        self.check_not_dropped().await?;
        let mut search = Search {
            pool: self,
            owner,
            allowed: self.allowed(),
            now: self.tick_to_take_at().await?,
            unknown,
            soonest: None,
        };
        if let Some(lease) = search.own_attempt().await? {
            return Ok(lease);
        }
        let survey = self.survey(&search.allowed, search.now).await?;
        let newest = survey.newest_wall_ms.map(Timestamp::from_unix_millis);
        if newest > Some(self.context.clock.now().saturating_add(window::AHEAD_MIN)) {
            // Told in `/readyz`.
            self.count_held().await?;
        }
        search.soonest.clone_from(&survey.soonest);
        if let Some(lease) = search.absent(&survey).await? {
            return Ok(lease);
        }
        if let Some(lease) = search.random().await? {
            return Ok(lease);
        }
        let is_whole = survey.whole;
        if let Some(lease) = search.passed(survey).await? {
            return Ok(lease);
        }
        if !is_whole && let Some(lease) = search.other_pages().await? {
            return Ok(lease);
        }
        search.run_ahead().await
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
                self.allowed().count()
            ),
            retry_after_s,
        }
    }

    /// Looks at one page of records, from a random worker where there are more than a page holds.
    async fn survey(&self, allowed: &WorkerRanges, now: u64) -> Result<Survey, LedgerError> {
        let workers = allowed.count();
        let page = u64::from(SCAN_LIMIT_MAX);
        let first = if workers > page {
            allowed.nth(self.random_below(workers - page))
        } else {
            allowed.first()
        };
        self.survey_from(first.unwrap_or(0), allowed, now).await
    }

    /// Looks at the page of records that begins at worker `first`.
    pub(super) async fn survey_from(
        &self,
        first: u64,
        allowed: &WorkerRanges,
        now: u64,
    ) -> Result<Survey, LedgerError> {
        let records = self.page(first, SCAN_LIMIT_MAX).await?;
        let last = match records.last() {
            Some((worker, _)) if records.len() == usize::from(SCAN_LIMIT_MAX) => *worker,
            _ => self.spec.kind.workers() - 1,
        };
        let whole = allowed.first() >= Some(first) && allowed.last() <= Some(last);
        let mut survey = Survey::of(records, first..=last, allowed, whole, now);
        // Of several stores the one that has a worker may be down.
        survey.keep(|worker| self.is_reachable(worker));
        Ok(survey)
    }

    /// Ends a window that must not be used: nobody minted in it.
    async fn give_up(&self, owner: &Owner, lease: &Lease) {
        let retired = async {
            let (found, body) = self.window_record(lease.worker).await?;
            match body.owner == owner.id {
                true => self.mark_retired(lease.worker, &found, body).await,
                false => Ok(()),
            }
        };
        if let Err(error) = retired.await {
            // It is renewed by nobody and ends by itself.
            tracing::debug!(pool = %self.name, worker = lease.worker, %error, "could not give a window up");
        }
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

impl Search<'_> {
    /// What an attempt of unknown outcome came to.
    async fn own_attempt(&mut self) -> Result<Option<Lease>, LedgerError> {
        let (pool, owner) = (self.pool, self.owner);
        let Some(mut attempt) = self.unknown.take() else {
            return Ok(None);
        };
        match pool.record(attempt.worker).await {
            // Ours if the record carries the token of our own attempt (protocol R1); else it is spent. So is one
            // that was asked for by a clock which has gone back since: it would serve nobody before its time.
            Ok(Some(found))
                if attempt.from <= self.now.saturating_add(pool.lengths.max_ahead)
                    && attempt.tokens.has(found.value.token)
                    && owner.id == attempt.owner =>
            {
                match pool
                    .confirm(attempt.worker, found.clone(), &mut attempt.tokens)
                    .await
                {
                    Ok(Cas::Done(version)) => {
                        let kept = Versioned { version, ..found };
                        Ok(Some(Lease::new(attempt.worker, attempt.from, &kept)))
                    }
                    Ok(Cas::Lost(_)) => Ok(None),
                    Err(error) => {
                        *self.unknown = Some(attempt);
                        Err(error.into())
                    }
                }
            }
            Ok(_) => Ok(None),
            // The one of several stores that has this worker is away: whether it landed or not, it is spent.
            Err(_) if !pool.is_reachable(attempt.worker) => Ok(None),
            Err(error) => {
                *self.unknown = Some(attempt);
                Err(error)
            }
        }
    }

    async fn absent(&mut self, survey: &Survey) -> Result<Option<Lease>, LedgerError> {
        let mut absent = survey.absent.clone();
        self.pool.shuffle(&mut absent);
        for worker in absent {
            if let Some(lease) = self.take(worker, None).await? {
                return Ok(Some(lease));
            }
        }
        Ok(None)
    }

    async fn random(&mut self) -> Result<Option<Lease>, LedgerError> {
        let pool = self.pool;
        let workers = self.allowed.count();
        for _ in 0..RANDOM_TRIES.min(usize::try_from(workers).unwrap_or(usize::MAX)) {
            let Some(worker) = self.allowed.nth(pool.random_below(workers)) else {
                break;
            };
            if !pool.is_reachable(worker) {
                continue;
            }
            let found = pool.record(worker).await?;
            let now = self.now;
            let is_kept = |found: &Versioned| WindowBody::read(found).is_ok_and(|body| body.is_kept(now));
            if found
                .as_ref()
                .is_none_or(|found| found.value.mark <= now && !is_kept(found))
                && let Some(lease) = self.take(worker, found).await?
            {
                return Ok(Some(lease));
            }
        }
        Ok(None)
    }

    async fn passed(&mut self, survey: Survey) -> Result<Option<Lease>, LedgerError> {
        let mut passed = survey.passed;
        self.pool.shuffle(&mut passed);
        for (worker, found) in passed {
            if let Some(lease) = self.take(worker, Some(found)).await? {
                return Ok(Some(lease));
            }
        }
        Ok(None)
    }

    /// The pages that were not looked at: nobody waits while a free one exists.
    async fn other_pages(&mut self) -> Result<Option<Lease>, LedgerError> {
        let mut first = self.allowed.first().unwrap_or(0);
        for _ in 0..PAGES_MAX {
            if Some(first) > self.allowed.last() {
                break;
            }
            let survey = self.pool.survey_from(first, &self.allowed, self.now).await?;
            first = survey.last.saturating_add(1);
            let end =
                |of: &Option<(u64, Versioned)>| of.as_ref().map_or(u64::MAX, |(_, found)| found.value.mark);
            if end(&survey.soonest) < end(&self.soonest) {
                self.soonest.clone_from(&survey.soonest);
            }
            if let Some(lease) = self.absent(&survey).await? {
                return Ok(Some(lease));
            }
            if let Some(lease) = self.passed(survey).await? {
                return Ok(Some(lease));
            }
        }
        Ok(None)
    }

    /// None is free: runs ahead a little, or says how long it takes.
    async fn run_ahead(&mut self) -> Result<Lease, LedgerError> {
        let pool = self.pool;
        pool.count_held().await?;
        let Some((worker, found)) = self.soonest.take() else {
            return Err(pool.no_worker(1));
        };
        let ahead = found.value.mark.saturating_sub(self.now);
        if ahead <= pool.lengths.max_ahead
            && !pool.is_renewed(&found)
            && let Some(lease) = self.take(worker, Some(found)).await?
        {
            return Ok(lease);
        }
        Err(pool.no_worker(pool.seconds_in(ahead)))
    }

    /// Takes a worker; `None`: somebody else was quicker.
    async fn take(&mut self, worker: u64, found: Option<Versioned>) -> Result<Option<Lease>, LedgerError> {
        let (pool, owner, now) = (self.pool, self.owner, self.now);
        let stored_until = match &found {
            Some(found) => {
                pool.check_fingerprint(worker, found)?;
                found.value.mark
            }
            None => 0,
        };
        // Protocol W2: the successor starts at the stored `until`.
        let from = stored_until.max(now);
        if from > pool.ticks.ticks_max() {
            return Err(LedgerError::TimeFieldFull {
                name: pool.name.clone(),
            });
        }
        let token = fresh_token(&*pool.context.runtime);
        let value = pool.body(owner, from).value(pool.end_at(from, owner.age), token);
        if let Some((found, body)) = found
            .as_ref()
            .and_then(|found| Some((found, WindowBody::read(found).ok()?)))
        {
            pool.saw(worker, &body, found.value.mark);
        }
        let expected = found.map(|found| found.version);
        let mut tokens = Tokens::new(token);
        match pool
            .write_as(&mut tokens, worker, expected, value.clone(), Marks::NeverLower)
            .await
        {
            Ok(Cas::Done(version)) => Ok(Some(Lease::new(worker, from, &Versioned { value, version }))),
            Ok(Cas::Lost(_)) => Ok(None),
            Err(error) => {
                if error.outcome == Outcome::Unknown {
                    *self.unknown = Some(Unknown {
                        owner: owner.id.clone(),
                        worker,
                        tokens,
                        from,
                    });
                }
                Err(LedgerError::from(error))
            }
        }
    }
}
