//! Pools: worker ids for time-ordered ids, held as windows of id-time (docs/protocol.md).
//!
//! | file | what |
//! | --- | --- |
//! | `kind` | what a pool makes, and its stored record |
//! | `ranges`, `choice` | sets of workers, and which of them a pool may choose |
//! | `window` | the rules of windows: lengths, choice, the stored record |
//! | `time` | the validated time at which windows are taken and extended |
//! | `acquire` | the search for a free worker |
//! | `lease` | a window that is held: renew, give back; the records of all |
//! | `lend` | windows for programs that mint by themselves |
//! | `machine` | windows that number the machines of a cluster, found by the machine's own name |
//! | `keeper` | the one task per pool that holds this process's own window |
//! | `avoid` | workers that the pool begins or ends to avoid |
//! | `explained` | where an id comes from; the windows over time |
//! | `drop` | pools that are not wanted any more |

mod acquire;
mod avoid;
mod choice;
mod drop;
mod explained;
mod keeper;
pub(crate) mod kind;
mod lease;
mod lend;
mod machine;
mod time;
pub(crate) mod window;

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use arc_swap::{ArcSwap, ArcSwapOption};
use mintage::{Clock, ClockPolicy, Layout, MintError, Snowflake, Timestamp, Uuid};
use mintage_local::workers::WorkerRanges;
use tokio::sync::Notify;

use crate::clock::ClockRefusal;
use crate::context::Context;
use crate::error::LedgerError;
use crate::forecast::{self, Forecast, Limit, Pace};
use crate::name::Name;
use crate::store::SCAN_LIMIT_MAX;
pub use avoid::{AvoidChange, Avoided, OffProof};
pub use choice::WorkerChoice;
pub use explained::{MappedWindow, PoolIdOrigin, WindowIs};
pub use kind::{PoolKind, PoolSpec};
pub use lend::{LentWindow, RenewalAttempt};
pub use machine::{MachineError, MachineInstance, MachineNumber};
use window::Lengths;
pub(crate) use window::WindowBody;

/// A pool of workers over one layout; this process holds one window of it and mints from one shared generator
/// (protocol W9). Thread-safe.
#[derive(Debug)]
pub struct Pool {
    name: Name,
    spec: PoolSpec,
    /// Which workers may be chosen, as its record last said.
    choice: ArcSwap<Choice>,
    /// The time and counter within one worker.
    ticks: Arc<Layout>,
    context: Arc<Context>,
    lengths: Lengths,
    policy: ClockPolicy,
    seat: ArcSwapOption<Seat>,
    /// Why there is no generator, and how often the keeper has tried.
    status: Mutex<Status>,
    /// The keeper tried once more.
    tried: Notify,
    /// The keeper is wanted now.
    wanted: Notify,
    started: AtomicBool,
    stop: AtomicBool,
    /// The pool was dropped; whoever holds this object still finds out by asking.
    dropped: AtomicBool,
    /// When somebody last asked and got nothing, in milliseconds of boot time; 0: never.
    refused_ms: AtomicU64,
    held: Mutex<HeldCount>,
    /// The keeper has ended.
    ended: Notify,
    /// Held while a machine is given a number: many that start at once would run after the same one.
    numbering: tokio::sync::Mutex<()>,
}

/// Which workers may be chosen: as defined, and one by one.
#[derive(Debug)]
struct Choice {
    defined: WorkerChoice,
    allowed: Arc<WorkerRanges>,
}

impl Choice {
    fn new(defined: WorkerChoice, kind: &PoolKind) -> Arc<Choice> {
        let allowed = Arc::new(defined.allowed(kind.workers()));
        Arc::new(Choice { defined, allowed })
    }
}

/// The window this process mints in.
#[derive(Debug)]
struct Seat {
    worker: u64,
    generator: Snowflake,
}

/// Workers that wait for a time that a wrong clock once read; others are taken meanwhile.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parked {
    /// How many.
    pub workers: u64,
    /// When the first of them is free again.
    pub first: Timestamp,
    /// When the last of them is.
    pub last: Timestamp,
}

impl Parked {
    /// One more, until then.
    pub(crate) fn and_until(counted: Option<Parked>, until: Timestamp) -> Parked {
        let counted = counted.unwrap_or(Parked {
            workers: 0,
            first: until,
            last: until,
        });
        Parked {
            workers: counted.workers + 1,
            first: counted.first.min(until),
            last: counted.last.max(until),
        }
    }
}

impl fmt::Display for Parked {
    /// In words: `3 workers are parked until 2066-11-12T10:00:00Z, because a clock was ahead`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (are, until) = match self.workers {
            1 => ("worker is", ""),
            _ => ("workers are", "at the latest "),
        };
        write!(
            f,
            "{} {are} parked {until}until {}, because a clock was ahead",
            self.workers,
            utc(self.last)
        )
    }
}

/// To the second, as RFC 3339 has it; past its years, seconds since 1970.
fn utc(at: Timestamp) -> String {
    let seconds = at.unix_millis().div_euclid(1000);
    let (day, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    match mintage::date_of(day) {
        Ok(date) => format!(
            "{date}T{:02}:{:02}:{:02}Z",
            second / 3600,
            second / 60 % 60,
            second % 60
        ),
        Err(_) => format!("second {seconds} since 1970"),
    }
}

/// How many workers somebody holds, as last counted.
#[derive(Debug, Default)]
struct HeldCount {
    last: Option<u64>,
    parked: Option<Parked>,
    pace: Pace,
    /// When to warn next that the pool ends, in boot time.
    warn_at: Duration,
}

#[derive(Debug, Default)]
struct Status {
    failure: Option<LedgerError>,
    /// No other attempt before this boot time: those who ask meanwhile hear of the last one.
    not_before: Duration,
    ended: bool,
}

/// What a pool is and what this process holds of it.
#[derive(Clone, PartialEq, Debug)]
pub struct PoolInfo {
    /// Its name.
    pub name: Name,
    /// What it makes.
    pub kind: PoolKind,
    /// How many workers its layout has.
    pub workers: u64,
    /// How many of them may be chosen.
    pub usable: u64,
    /// Which of them may be.
    pub choice: WorkerChoice,
    /// How far ahead a window reaches at most.
    pub window: Duration,
    /// What its generator does when the wall clock goes back.
    pub clock_policy: ClockPolicy,
    /// The worker this process holds, if any.
    pub worker: Option<u64>,
    /// Until when this process may mint without asking the store again.
    pub until: Option<Timestamp>,
    /// When the time field ends.
    pub ends: Timestamp,
    /// How many workers somebody held when they were last counted ([`Pool::count_held`]).
    pub held: Option<u64>,
    /// Those of them that a wrong clock parked.
    pub parked: Option<Parked>,
    /// When time field, workers and the ranges of common number types end.
    pub forecast: Forecast,
}

/// How long a pool mints without its store.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PoolStock {
    /// Its name.
    pub name: Name,
    /// The true budget: how long the window that is held lasts still.
    pub left: Duration,
    /// Somebody takes ids of it.
    pub in_use: bool,
}

/// A window's record: who holds, or held, which worker until when.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WindowInfo {
    /// The worker.
    pub worker: u64,
    /// The instance that holds it, hexadecimal.
    pub owner: String,
    /// What the owner calls itself.
    pub name: String,
    /// The first moment of this holder.
    pub from: Timestamp,
    /// The first moment that nobody has reserved.
    pub until: Timestamp,
    /// The holder's wall clock when it last wrote.
    pub written: Timestamp,
    /// Whether the window lasts still.
    pub lasts: bool,
    /// Whether it is this process's own.
    pub ours: bool,
}

impl Pool {
    pub(crate) fn new(context: Arc<Context>, name: Name, spec: PoolSpec) -> Pool {
        let ticks = spec.kind.ticks();
        let short = context.settings.lossy.map(|rules| rules.window);
        let window = spec.window.or(context.settings.window).or(short);
        let lengths = Lengths::new(&ticks, spec.kind.workers(), window, context.settings.max_ahead);
        // A policy set for all pools must not stop those whose layout cannot follow it.
        let set = Some(context.settings.clock_policy).filter(|policy| ticks.check_policy(*policy).is_ok());
        Pool {
            name,
            policy: spec.clock_policy.or(set).unwrap_or_default(),
            choice: ArcSwap::new(Choice::new(spec.workers.clone(), &spec.kind)),
            spec,
            ticks,
            context,
            lengths,
            seat: ArcSwapOption::empty(),
            status: Mutex::new(Status::default()),
            tried: Notify::new(),
            wanted: Notify::new(),
            started: AtomicBool::new(false),
            stop: AtomicBool::new(false),
            dropped: AtomicBool::new(false),
            refused_ms: AtomicU64::new(0),
            held: Mutex::default(),
            ended: Notify::new(),
            numbering: tokio::sync::Mutex::default(),
        }
    }

    /// The pool's name.
    pub fn name(&self) -> &Name {
        &self.name
    }

    /// What the pool makes.
    pub fn kind(&self) -> &PoolKind {
        &self.spec.kind
    }

    /// What its generator does when the wall clock goes back.
    pub fn clock_policy(&self) -> ClockPolicy {
        self.policy
    }

    /// The time for the next id. Only [`ClockPolicy::Hold`] needs no second look: the anchored clock never goes
    /// back, so the other policies see what the wall clock does, and never a time ahead of the anchored one.
    /// `None`: ids get no time, since the clocks disagree (protocol C2).
    fn now(&self) -> Option<Timestamp> {
        let anchored = self.context.clock.time().ok()?;
        Some(match self.policy {
            ClockPolicy::Hold => anchored,
            _ => anchored.min(self.context.runtime.wall()),
        })
    }

    /// The workers that may be chosen, as the record last said.
    pub(crate) fn allowed(&self) -> Arc<WorkerRanges> {
        Arc::clone(&self.choice.load().allowed)
    }

    /// Which workers may be chosen, as the record last said.
    pub(crate) fn choice(&self) -> WorkerChoice {
        self.choice.load().defined.clone()
    }

    /// Chooses by this from now on.
    pub(crate) fn follow(&self, choice: WorkerChoice) {
        if self.choice.load().defined != choice {
            self.choice.store(Choice::new(choice, &self.spec.kind));
        }
    }

    /// The window its definition asks for, if it does.
    pub(crate) fn asked_window(&self) -> Option<Duration> {
        self.spec.window
    }

    /// The layout of its ids; of a pool of UUIDs, how its timestamps are cut into ticks.
    pub fn layout(&self) -> &Layout {
        &self.ticks
    }

    /// Fills `out` from memory with strictly increasing numbers: ids of the pool's layout, or timestamps of UUID
    /// version 1. Answers how many (at least 1), or why not. No lock, no allocation, no I/O.
    ///
    /// # Errors
    /// [`MintError::Closed`] when no window is held, or ids get no time; otherwise what the generator says.
    pub fn try_mint(&self, out: &mut [u64]) -> Result<usize, MintError> {
        match (&*self.seat.load(), self.now()) {
            (Some(seat), Some(now)) => seat.generator.mint_many(now, out),
            _ => Err(MintError::Closed),
        }
    }

    /// As [`Pool::try_mint`], as UUIDs of version 1; only for pools of that kind.
    ///
    /// # Errors
    /// As [`Pool::try_mint`].
    pub fn try_mint_uuid1(&self, out: &mut [Uuid]) -> Result<usize, MintError> {
        let (Some(seat), PoolKind::Uuid1 { node }) = (&*self.seat.load(), &self.spec.kind) else {
            return Err(MintError::Closed);
        };
        let now = self.now().ok_or(MintError::Closed)?;
        let mut timestamps = [0; UUIDS_PER_TAKE];
        let room = out.len().min(UUIDS_PER_TAKE);
        let minted = seat.generator.mint_many(now, &mut timestamps[..room])?;
        for (uuid, timestamp) in out.iter_mut().zip(&timestamps[..minted]) {
            *uuid = kind::uuid1(*timestamp, seat.worker, *node);
        }
        Ok(minted)
    }

    /// Fills all of `out`, waiting for a window, or for the clock where ids would run too far ahead of it.
    ///
    /// # Errors
    /// No window can be had, or the layout's time field is full.
    pub async fn mint(self: &Arc<Self>, out: &mut [u64]) -> Result<(), LedgerError> {
        if !matches!(self.spec.kind, PoolKind::Snowflake(_)) {
            return Err(LedgerError::Invalid(format!(
                "pool {} makes UUIDs of version 1, not snowflakes",
                self.name
            )));
        }
        self.fill(out, Pool::try_mint).await
    }

    /// Fills all of `out` with UUIDs of version 1, as [`Pool::mint`].
    ///
    /// # Errors
    /// As [`Pool::mint`]; and the pool is of another kind.
    pub async fn mint_uuid1(self: &Arc<Self>, out: &mut [Uuid]) -> Result<(), LedgerError> {
        if !matches!(self.spec.kind, PoolKind::Uuid1 { .. }) {
            return Err(LedgerError::Invalid(format!(
                "pool {} makes snowflakes, not UUIDs of version 1",
                self.name
            )));
        }
        self.fill(out, Pool::try_mint_uuid1).await
    }

    async fn fill<T>(
        self: &Arc<Self>,
        out: &mut [T],
        take: impl Fn(&Pool, &mut [T]) -> Result<usize, MintError>,
    ) -> Result<(), LedgerError> {
        let mut done = 0;
        let mut waits = 0u32;
        let mut empty_handed = false;
        while done < out.len() {
            match take(self, &mut out[done..]) {
                Ok(minted) => {
                    done += minted;
                    empty_handed = false;
                }
                Err(MintError::TooFarAhead { .. }) if waits < WAITS_MAX => {
                    waits += 1;
                    self.context.runtime.sleep(self.ticks.tick().max(WAIT_MIN)).await;
                }
                Err(MintError::TooFarAhead { .. }) => {
                    return Err(LedgerError::Unavailable {
                        message: format!(
                            "pool {} is asked for more ids than its layout has per second",
                            self.name
                        ),
                        retry_after_s: 1,
                    });
                }
                // Also a thread that read the clock before another one and minted after it.
                Err(MintError::ClockBack { ticks, wait }) if (wait || ticks <= 1) && waits < WAITS_MAX => {
                    waits += 1;
                    self.context.runtime.sleep(self.ticks.tick().max(WAIT_MIN)).await;
                }
                Err(MintError::ClockBack { ticks, .. }) => {
                    let back = u32::try_from(ticks).unwrap_or(u32::MAX);
                    return Err(LedgerError::ClockBack {
                        name: self.name.clone(),
                        by: self.ticks.tick().saturating_mul(back),
                        policy: self.policy,
                    });
                }
                Err(MintError::TimeFieldFull) => {
                    return Err(LedgerError::TimeFieldFull {
                        name: self.name.clone(),
                    });
                }
                Err(_) => {
                    self.time_is_given().await?;
                    self.window().await?;
                    // A window whose last tick is used up lasts until that tick ends: asking again at once would
                    // spin.
                    if empty_handed {
                        waits += 1;
                        self.context.runtime.sleep(self.ticks.tick().max(WAIT_MIN)).await;
                    }
                    empty_handed = true;
                }
            }
        }
        Ok(())
    }

    /// Waits at the start until the clocks were compared, and refuses while they disagree (protocol C2).
    async fn time_is_given(&self) -> Result<(), LedgerError> {
        self.context.clock.judged().await;
        match self.context.clock.refusal() {
            Some(refusal) => Err(LedgerError::Unavailable {
                message: format!("pool {}: {refusal}", self.name),
                retry_after_s: ClockRefusal::RETRY_AFTER_S,
            }),
            None => Ok(()),
        }
    }

    /// The worker whose window this process holds; takes one first where it holds none. A moment later it may be another.
    ///
    /// # Errors
    /// No window can be had.
    pub async fn hold_worker(self: &Arc<Self>) -> Result<u64, LedgerError> {
        loop {
            if let Some(seat) = &*self.seat.load() {
                return Ok(seat.worker);
            }
            self.window().await?;
        }
    }

    /// Waits until the keeper has a window or has failed to get one.
    async fn window(self: &Arc<Self>) -> Result<(), LedgerError> {
        if let Some(error) = self.context.store.stopped() {
            return Err(LedgerError::Stopped(error));
        }
        if self.context.closing.load(Ordering::Acquire) {
            return Err(LedgerError::Closing);
        }
        {
            let status = self.status.lock().expect("no panic while held");
            if let Some(error) = &status.failure
                && self.context.runtime.boottime() < status.not_before
            {
                return Err(error.clone());
            }
        }
        let tried = self.tried.notified();
        tokio::pin!(tried);
        tried.as_mut().enable();
        self.start();
        self.wanted.notify_one();
        // A keeper that has ended tells nobody any more.
        if !self.status.lock().expect("no panic while held").ended {
            tried.await;
        }
        match &self.status.lock().expect("no panic while held").failure {
            Some(error) => {
                let now = u64::try_from(self.context.runtime.boottime().as_millis()).unwrap_or(u64::MAX);
                self.refused_ms.store(now.max(1), Ordering::Release);
                self.context.refusals.fetch_add(1, Ordering::AcqRel);
                Err(error.clone())
            }
            None => Ok(()),
        }
    }

    /// Starts the keeper, once.
    fn start(self: &Arc<Self>) {
        if !self.started.swap(true, Ordering::AcqRel) {
            let pool = Arc::clone(self);
            self.context.runtime.spawn(Box::pin(pool.keep()));
        }
    }

    /// Drops what is held and takes another window (this instance was lost: protocol R4).
    pub(crate) fn drop_window(&self) {
        if let Some(seat) = self.seat.swap(None) {
            seat.generator.close();
        }
        self.wanted.notify_one();
    }

    /// Ends the keeper, which gives the window back where the store allows it.
    pub(crate) async fn stop(&self) {
        self.stop.store(true, Ordering::Release);
        if !self.started.load(Ordering::Acquire) {
            return;
        }
        loop {
            let ended = self.ended.notified();
            tokio::pin!(ended);
            ended.as_mut().enable();
            if self.status.lock().expect("no panic while held").ended {
                return;
            }
            self.wanted.notify_one();
            ended.await;
        }
    }

    /// What the pool is and what this process holds of it.
    pub fn info(&self) -> PoolInfo {
        let seat = self.seat.load();
        let ticks = u32::try_from(self.lengths.max).unwrap_or(u32::MAX);
        // Let go of before the forecast takes the same lock.
        let (held, parked) = {
            let held = self.held.lock().expect("no panic while held");
            (held.last, held.parked)
        };
        PoolInfo {
            name: self.name.clone(),
            kind: self.spec.kind.clone(),
            workers: self.spec.kind.workers(),
            usable: self.allowed().count(),
            choice: self.choice(),
            window: self.ticks.tick().saturating_mul(ticks),
            clock_policy: self.policy,
            worker: seat.as_ref().map(|seat| seat.worker),
            until: seat
                .as_ref()
                .map(|seat| self.ticks.time_of(seat.generator.until_tick())),
            ends: self.ticks.end(),
            held,
            parked,
            forecast: self.forecast(),
        }
    }

    /// Counts the workers whose window lasts, and those that a wrong clock parked; reads every record.
    ///
    /// # Errors
    /// The store refuses.
    pub async fn count_held(&self) -> Result<u64, LedgerError> {
        let (now, time) = (self.now_tick()?, self.context.clock.now());
        let (mut count, mut first) = (0, 0);
        let mut parked: Option<Parked> = None;
        loop {
            let page = self.page(first, SCAN_LIMIT_MAX).await?;
            for (worker, found) in page.iter().filter(|(_, found)| found.value.mark > now) {
                count += 1;
                let Ok(body) = WindowBody::read(found) else {
                    continue;
                };
                self.saw(*worker, &body, found.value.mark);
                if body.is_from_ahead(time) {
                    let until = self.ticks.time_of(found.value.mark);
                    parked = Some(Parked::and_until(parked, until));
                }
            }
            match page.last() {
                Some((worker, _)) if page.len() == usize::from(SCAN_LIMIT_MAX) => first = worker + 1,
                _ => break,
            }
        }
        let mut held = self.held.lock().expect("no panic while held");
        held.pace.note(self.context.runtime.boottime(), count);
        held.last = Some(count);
        held.parked = parked;
        Ok(count)
    }

    /// The workers that a wrong clock parked, as last counted.
    pub fn parked(&self) -> Option<Parked> {
        self.held.lock().expect("no panic while held").parked
    }

    /// Why ids were refused when somebody last asked, if that was for the clock's sake; in words.
    pub(crate) fn refused_for_clock(&self) -> Option<String> {
        if self.context.clock.is_settled() || !self.refused_lately() {
            return None;
        }
        self.failure()
    }

    /// What the last attempt to get a window came to, if it failed.
    pub(crate) fn failure(&self) -> Option<String> {
        let status = self.status.lock().expect("no panic while held");
        status.failure.as_ref().map(ToString::to_string)
    }

    /// Whether somebody asked for an id within the last minute and got none.
    pub(crate) fn was_refused(&self) -> bool {
        self.refused_lately()
    }

    /// Something about the clock was confirmed: what it stood against is tried again now.
    pub(crate) fn wake(&self) {
        self.status.lock().expect("no panic while held").not_before = Duration::ZERO;
        self.wanted.notify_one();
    }

    /// When the pool reaches its limits, as far as this process has seen.
    pub fn forecast(&self) -> Forecast {
        let now = self.context.clock.now();
        let mut endings = forecast::of_layout(&self.ticks, now);
        if !matches!(self.spec.kind, PoolKind::Snowflake(_)) {
            // Its ids are 128 bits wide.
            endings.retain(|ending| ending.limit == Limit::Time);
        }
        let held = self.held.lock().expect("no panic while held");
        if let Some(count) = held.last {
            // A day at least: within one, deployments come and go.
            let now = self.context.runtime.boottime();
            let growth = held.pace.per_second(now, count, forecast::DAY);
            let left = self.allowed().count().saturating_sub(count);
            endings.extend(forecast::after(Limit::Workers, left, growth));
        }
        Forecast::new(None, endings, Some(now))
    }

    /// Counts workers, and says once a day that the pool ends soon.
    pub(crate) async fn look_ahead(&self) {
        if let Err(error) = self.count_held().await {
            tracing::debug!(pool = %self.name, %error, "could not count the workers");
        }
        let now = self.context.runtime.boottime();
        let ahead = self.forecast();
        let mut held = self.held.lock().expect("no panic while held");
        if now >= held.warn_at
            && let Some(first) = ahead.warnings().next()
        {
            held.warn_at = now + forecast::DAY;
            let days = first.left.as_secs() / 86_400;
            tracing::warn!(pool = %self.name, limit = first.limit.as_str(), days, "it ends soon");
        }
    }

    /// Whether this process mints from it.
    pub(crate) fn is_started(&self) -> bool {
        self.started.load(Ordering::Acquire)
    }

    /// How long this process mints without its store; `None` while nobody has asked for ids.
    pub fn left_in_window(&self) -> Option<PoolStock> {
        if !self.started.load(Ordering::Acquire) {
            return None;
        }
        let now = self.context.clock.now();
        let refused = self.refused_lately();
        let (left, in_use) = match &*self.seat.load() {
            Some(seat) => {
                let last = self.ticks.time_of(seat.generator.reached_tick());
                let until = self.ticks.time_of(seat.generator.until_tick());
                (until.since(now), now.since(last) < IN_USE)
            }
            None => (Duration::ZERO, false),
        };
        Some(PoolStock {
            name: self.name.clone(),
            left,
            in_use: in_use || refused,
        })
    }

    fn refused_lately(&self) -> bool {
        match self.refused_ms.load(Ordering::Acquire) {
            0 => false,
            ms => {
                self.context
                    .runtime
                    .boottime()
                    .saturating_sub(Duration::from_millis(ms))
                    < IN_USE
            }
        }
    }

    /// The windows of the workers from `first` on, at most `limit`.
    ///
    /// # Errors
    /// The store refuses.
    pub async fn windows(&self, first: u64, limit: u16) -> Result<Vec<WindowInfo>, LedgerError> {
        let mut infos = Vec::new();
        for (worker, found) in self.page(first, limit).await? {
            let body = WindowBody::read(&found)
                .map_err(|e| LedgerError::Invalid(format!("window {worker} of pool {}: {e}", self.name)))?;
            let until = found.value.mark;
            self.saw(worker, &body, until);
            infos.push(self.window_info(worker, body, until));
        }
        Ok(infos)
    }
}

/// For how long a pool counts as in use after its last id.
const IN_USE: Duration = Duration::from_secs(60);
/// How many UUIDs one take makes at most.
const UUIDS_PER_TAKE: usize = 64;
/// How often a mint waits for the clock before it gives up.
const WAITS_MAX: u32 = 5_000;
/// The shortest such wait.
const WAIT_MIN: std::time::Duration = std::time::Duration::from_millis(1);
