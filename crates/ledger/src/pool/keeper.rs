//! The one task per pool that holds its window: acquire (W1), renew every second (W5), give back (W7).

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use mintage::{Clock, Snowflake, Timestamp, Window};

use super::Pool;
use super::window::{self, Survey, WindowBody};
use crate::error::LedgerError;
use crate::runtime::fresh_token;
use crate::store::{Cas, Marks, Outcome, SCAN_LIMIT_MAX, StoreError, StoreErrorKind, Version, Versioned};

const RENEW_EVERY: Duration = Duration::from_secs(1);
const BACKOFF_MIN: Duration = Duration::from_millis(100);
const BACKOFF_MAX: Duration = Duration::from_secs(60);
/// Random workers that are tried when a page shows no free one.
const RANDOM_TRIES: usize = 16;
/// Renewals of unknown outcome that are remembered; one that is forgotten costs the window, nothing more.
const ATTEMPTS_MAX: usize = 64;
/// No clock is right that reads earlier than this: 2026-11-01, when this was written (protocol W6).
const NOT_BEFORE: Timestamp = Timestamp::from_unix_millis(1_793_491_200_000);
/// How far behind the newest stored wall clock a node's own may be.
const BEHIND_MAX: Duration = Duration::from_secs(3600);

/// What the keeper holds.
#[derive(Debug)]
struct Holding {
    worker: u64,
    version: Version,
    /// The acknowledged end.
    until: u64,
    from: u64,
    clock_epoch: u64,
    generator: Arc<Snowflake>,
    /// Renewals of unknown outcome from this version: their tokens and ends.
    attempts: Vec<(u128, u64)>,
}

/// An acquisition of unknown outcome.
#[derive(Debug)]
struct Unknown {
    worker: u64,
    token: u128,
    from: u64,
}

impl Pool {
    pub(super) async fn keep(self: Arc<Self>) {
        let mut holding: Option<Holding> = None;
        let mut unknown: Option<Unknown> = None;
        let mut backoff = BACKOFF_MIN;
        while !self.stop.load(Ordering::Acquire) {
            let dropped = self.generator.load().is_none();
            let stepped = |held: &Holding| held.clock_epoch != self.context.clock.epoch();
            if holding.as_ref().is_some_and(|held| dropped || stepped(held)) {
                self.let_go(holding.take());
            }
            let pause = match holding.as_mut() {
                Some(held) => match self.renew(held).await {
                    true => RENEW_EVERY,
                    false => {
                        self.let_go(holding.take());
                        Duration::ZERO
                    }
                },
                None => match self.acquire(&mut unknown).await {
                    Ok(held) => {
                        self.context
                            .counters
                            .windows_acquired
                            .fetch_add(1, Ordering::Relaxed);
                        self.generator.store(Some(Arc::clone(&held.generator)));
                        holding = Some(held);
                        backoff = BACKOFF_MIN;
                        self.tell(None);
                        RENEW_EVERY
                    }
                    Err(error) => {
                        tracing::warn!(pool = %self.name, %error, "no window");
                        self.tell(Some(error));
                        let pause = backoff;
                        backoff = (backoff * 2).min(BACKOFF_MAX);
                        pause
                    }
                },
            };
            if let Some(held) = &holding {
                self.until.store(held.until, Ordering::Relaxed);
                // Whoever waits for a window that was extended meanwhile may go on.
                self.tell(None);
            }
            if !pause.is_zero() {
                tokio::select! {
                    () = self.context.runtime.sleep(pause) => {}
                    () = self.wanted.notified() => {}
                }
            }
        }
        if let Some(held) = holding {
            self.give_back(held).await;
        }
        self.status.lock().expect("no panic while held").ended = true;
        self.tell(Some(LedgerError::Closing));
        self.ended.notify_waiters();
    }

    fn tell(&self, failure: Option<LedgerError>) {
        self.status.lock().expect("no panic while held").failure = failure;
        self.tried.notify_waiters();
    }

    /// Mints no more from what was held; its record stays as it is.
    fn let_go(&self, holding: Option<Holding>) {
        self.generator.store(None);
        if let Some(held) = holding {
            held.generator.close();
        }
    }

    fn age_ticks(&self) -> u64 {
        let age = self
            .context
            .runtime
            .boottime()
            .saturating_sub(self.context.started);
        u64::try_from(age.as_nanos() / self.layout.tick().as_nanos().max(1)).unwrap_or(u64::MAX)
    }

    /// Now in ticks, validated (protocol W6), and the end a window would have.
    fn now_tick(&self) -> Result<u64, LedgerError> {
        let now = self.context.clock.now();
        if now < NOT_BEFORE {
            return Err(LedgerError::Unavailable {
                message: format!(
                    "the clock reads {} ms since 1970, before this program was built: set the clock",
                    now.unix_millis()
                ),
                retry_after_s: 60,
            });
        }
        self.layout.tick_at(now).map_err(|_| LedgerError::TimeFieldFull {
            name: self.name.clone(),
        })
    }

    fn body(&self, from: u64) -> WindowBody {
        WindowBody {
            owner: format!("{:032x}", self.context.instance()),
            name: self.context.settings.instance_name.clone(),
            from,
            layout: self.layout.fingerprint(),
            wall_ms: self.context.runtime.wall().unix_millis(),
            retired: false,
        }
    }

    /// One conditional write; without a positive answer nothing was acquired (protocol W1).
    async fn acquire(&self, unknown: &mut Option<Unknown>) -> Result<Holding, LedgerError> {
        if let Some(error) = self.context.store.stopped() {
            return Err(LedgerError::Stopped(error));
        }
        let now = self.now_tick()?;
        if let Some(attempt) = unknown.take() {
            let key = window::key(self.name.as_str(), attempt.worker);
            let found = match self.context.store.get(&key).await {
                Ok(found) => found,
                Err(error) => {
                    *unknown = Some(attempt);
                    return Err(LedgerError::from_store(error));
                }
            };
            // Ours if the record carries the token of our own attempt (protocol R1); else it is spent.
            if let Some(found) = found.filter(|found| found.value.token == attempt.token) {
                return self.hold(attempt.worker, attempt.from, &found);
            }
        }
        let survey = self.survey(now).await?;
        if let Some(newest) = survey.newest_wall_ms {
            let behind = newest.saturating_sub(self.context.clock.now().unix_millis());
            if behind > BEHIND_MAX.as_millis() as i64 {
                return Err(LedgerError::Unavailable {
                    message: format!(
                        "the clock is {} s behind the newest stored one: set the clock",
                        behind / 1000
                    ),
                    retry_after_s: 60,
                });
            }
        }
        let mut absent = survey.absent;
        self.shuffle(&mut absent);
        for worker in absent {
            if let Some(held) = self.try_worker(worker, None, now, unknown).await? {
                return Ok(held);
            }
        }
        for _ in 0..RANDOM_TRIES.min(usize::try_from(self.layout.workers()).unwrap_or(usize::MAX)) {
            let worker = self.random_below(self.layout.workers());
            let key = window::key(self.name.as_str(), worker);
            let found = self
                .context
                .store
                .get(&key)
                .await
                .map_err(LedgerError::from_store)?;
            if found.as_ref().is_none_or(|found| found.value.mark <= now)
                && let Some(held) = self.try_worker(worker, found, now, unknown).await?
            {
                return Ok(held);
            }
        }
        let mut passed = survey.passed;
        self.shuffle(&mut passed);
        for (worker, found) in passed {
            if let Some(held) = self.try_worker(worker, Some(found), now, unknown).await? {
                return Ok(held);
            }
        }
        // None is free: run ahead a little, or say how long it takes.
        let Some((worker, found)) = survey.soonest else {
            return Err(self.no_worker(1));
        };
        let ahead = found.value.mark.saturating_sub(now);
        if ahead <= self.lengths.max_ahead
            && let Some(held) = self.try_worker(worker, Some(found), now, unknown).await?
        {
            return Ok(held);
        }
        let wait_ns = u128::from(ahead) * self.layout.tick().as_nanos();
        Err(self.no_worker(
            u64::try_from(wait_ns / 1_000_000_000)
                .unwrap_or(u64::MAX)
                .saturating_add(1),
        ))
    }

    fn no_worker(&self, retry_after_s: u64) -> LedgerError {
        LedgerError::Unavailable {
            message: format!(
                "no free worker in pool {}: all {} are held or parked, the next is free in {retry_after_s} s",
                self.name,
                self.layout.workers()
            ),
            retry_after_s,
        }
    }

    /// Looks at one page of records, from a random worker where there are more than a page holds.
    async fn survey(&self, now: u64) -> Result<Survey, LedgerError> {
        let pool = self.name.as_str();
        let workers = self.layout.workers();
        let page = u64::from(SCAN_LIMIT_MAX);
        let first = if workers > page {
            self.random_below(workers - page)
        } else {
            0
        };
        let after = first.checked_sub(1).map(|worker| window::key(pool, worker));
        let prefix = window::prefix(pool);
        let found = self
            .context
            .store
            .scan(&prefix, after.as_ref(), SCAN_LIMIT_MAX)
            .await;
        let found = found.map_err(LedgerError::from_store)?;
        let full = found.len() == usize::from(SCAN_LIMIT_MAX);
        let records: Vec<(u64, Versioned)> = found
            .into_iter()
            .filter_map(|(key, found)| Some((window::worker_of(&key)?, found)))
            .collect();
        let last = match records.last() {
            Some((worker, _)) if full => *worker,
            _ => workers - 1,
        };
        Ok(Survey::of(records, first, last, now))
    }

    /// `None`: somebody else was quicker.
    async fn try_worker(
        &self,
        worker: u64,
        found: Option<Versioned>,
        now: u64,
        unknown: &mut Option<Unknown>,
    ) -> Result<Option<Holding>, LedgerError> {
        let stored_until = match &found {
            Some(found) => {
                self.check_layout(worker, found)?;
                found.value.mark
            }
            None => 0,
        };
        // Protocol W2: the successor starts at the stored `until`.
        let from = stored_until.max(now);
        if from > self.layout.ticks_max() {
            return Err(LedgerError::TimeFieldFull {
                name: self.name.clone(),
            });
        }
        let until = self.clip(from.saturating_add(self.lengths.at_age(self.age_ticks())));
        let token = fresh_token(&*self.context.runtime);
        let key = window::key(self.name.as_str(), worker);
        let value = self.body(from).value(until, token);
        let expected = found.map(|found| found.version);
        let begun = self.context.runtime.boottime();
        match self
            .context
            .store
            .compare_and_set(&key, expected, value.clone(), Marks::NeverLower)
            .await
        {
            Ok(Cas::Done(version)) => {
                self.context
                    .counters
                    .reserved(self.context.runtime.boottime().saturating_sub(begun));
                self.hold(worker, from, &Versioned { value, version }).map(Some)
            }
            Ok(Cas::Lost(_)) => Ok(None),
            Err(error) => {
                self.context.counters.failed();
                if error.outcome == Outcome::Unknown {
                    *unknown = Some(Unknown { worker, token, from });
                }
                Err(LedgerError::from_store(error))
            }
        }
    }

    /// `until` is exclusive: it may be one past the last tick.
    fn clip(&self, until: u64) -> u64 {
        until.min(self.layout.ticks_max().saturating_add(1))
    }

    /// Another layout's ids could equal ours (protocol W8).
    fn check_layout(&self, worker: u64, found: &Versioned) -> Result<(), LedgerError> {
        let refuse = |why: String| {
            let message = format!("window {worker} of pool {}: {why}", self.name);
            LedgerError::Stopped(StoreError::new(
                StoreErrorKind::Corrupt,
                Outcome::NotDone,
                message,
            ))
        };
        let body = WindowBody::read(found).map_err(|e| refuse(format!("its record makes no sense: {e}")))?;
        let ours = self.layout.fingerprint();
        if body.layout != ours {
            return Err(refuse(format!(
                "it was held with layout {}, this pool has {ours}",
                body.layout
            )));
        }
        Ok(())
    }

    fn hold(&self, worker: u64, from: u64, found: &Versioned) -> Result<Holding, LedgerError> {
        let until = found.value.mark;
        let window = Window {
            worker,
            from_tick: from,
            until_tick: until,
        };
        let generator = Snowflake::new(Arc::clone(&self.layout), window, self.lengths.max_ahead)
            .map_err(|error| LedgerError::Invalid(error.to_string()))?;
        Ok(Holding {
            worker,
            version: found.version,
            until,
            from,
            clock_epoch: self.context.clock.epoch(),
            generator: Arc::new(generator),
            attempts: Vec::new(),
        })
    }

    /// Extends the window from the known version; `false`: it is lost (protocol W5).
    async fn renew(&self, held: &mut Holding) -> bool {
        let Ok(now) = self.now_tick() else {
            // The clock is of no use: mint on up to the acknowledged end.
            return true;
        };
        let until = self
            .clip(now.saturating_add(self.lengths.at_age(self.age_ticks())))
            .max(held.until);
        let token = fresh_token(&*self.context.runtime);
        let key = window::key(self.name.as_str(), held.worker);
        let value = self.body(held.from).value(until, token);
        let begun = self.context.runtime.boottime();
        match self
            .context
            .store
            .compare_and_set(&key, Some(held.version), value, Marks::NeverLower)
            .await
        {
            Ok(Cas::Done(version)) => {
                self.context
                    .counters
                    .reserved(self.context.runtime.boottime().saturating_sub(begun));
                held.attempts.clear();
                self.extended(held, version, until);
                true
            }
            Ok(Cas::Lost(Some(found))) => {
                let landed = held
                    .attempts
                    .drain(..)
                    .find(|(token, _)| *token == found.value.token);
                match landed {
                    // An earlier renewal of ours had landed after all.
                    Some((_, until)) => {
                        self.extended(held, found.version, until);
                        true
                    }
                    None => {
                        tracing::warn!(pool = %self.name, worker = held.worker, "window lost to another holder");
                        false
                    }
                }
            }
            Ok(Cas::Lost(None)) => {
                tracing::error!(pool = %self.name, worker = held.worker, "the window's record vanished");
                false
            }
            Err(error) => {
                self.context.counters.failed();
                tracing::warn!(pool = %self.name, %error, "could not renew the window");
                if error.outcome == Outcome::Unknown {
                    // Used only once it is known to have landed; retried from the same version.
                    held.attempts.truncate(ATTEMPTS_MAX - 1);
                    held.attempts.insert(0, (token, until));
                }
                true
            }
        }
    }

    fn extended(&self, held: &mut Holding, version: Version, until: u64) {
        held.version = version;
        held.until = until;
        held.generator.extend(until);
    }

    /// Lowers `until` to just past the last id; only where nobody else can hold (protocol W7).
    async fn give_back(&self, held: Holding) {
        self.generator.store(None);
        // Closed by one swap, then the last id is read; whatever happens now, the window is not used again.
        let unused_from = held.generator.close().max(held.from);
        if !self.context.store.exclusive() || !held.attempts.is_empty() || unused_from >= held.until {
            return;
        }
        let key = window::key(self.name.as_str(), held.worker);
        let value = self
            .body(held.from)
            .value(unused_from, fresh_token(&*self.context.runtime));
        let result = self
            .context
            .store
            .compare_and_set(&key, Some(held.version), value, Marks::GiveBack)
            .await;
        if let Err(error) = result {
            tracing::warn!(pool = %self.name, %error, "could not give the window back");
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
