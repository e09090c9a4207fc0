//! The time at which windows are taken and extended (protocol W6), in ticks of the pool's layout.

use std::time::Duration;

use mintage::{Clock, Timestamp};

use super::Pool;
use super::window::WindowBody;
use crate::error::LedgerError;
use crate::store::SCAN_LIMIT_MAX;

/// No clock is right that reads earlier than this: 2026-11-01, when this was written (protocol W6).
const NOT_BEFORE: Timestamp = Timestamp::from_unix_millis(1_793_491_200_000);
/// How far behind the newest stored wall clock a node's own may be.
const BEHIND_MAX: Duration = Duration::from_secs(3600);

impl Pool {
    /// Now in ticks, validated (protocol W6).
    pub(super) async fn valid_tick(&self) -> Result<u64, LedgerError> {
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

    /// Now in ticks, for whoever takes a worker: validated, not before what a store may have lost, and not by a clock
    /// that is far behind what is stored.
    pub(super) async fn tick_to_take_at(&self) -> Result<u64, LedgerError> {
        self.tick_past_floor(self.lengths.max_ahead).await
    }

    /// The same, at most so many ticks ahead of now.
    pub(super) async fn tick_past_floor(&self, ahead_max: u64) -> Result<u64, LedgerError> {
        let now = self.context.valid_now().await?;
        // Before it becomes a tick: a time that is held at the start may lie past the layout's end.
        if self.is_doubtful() {
            self.check_clock(self.newest_wall().await?)?;
        }
        let now = self.tick_of(now)?;
        let floor = self.floor_tick();
        if floor > now.saturating_add(ahead_max) {
            return Err(self.floor_ahead(floor - now));
        }
        Ok(now.max(floor))
    }

    pub(super) fn ticks_in(&self, length: Duration) -> u64 {
        let ticks = length.as_nanos().div_ceil(self.ticks.tick().as_nanos().max(1));
        u64::try_from(ticks).unwrap_or(u64::MAX)
    }

    /// No window begins before this tick: a store of class L may have lost windows up to here.
    pub(super) fn floor_tick(&self) -> u64 {
        let floor = self.context.guard.as_ref().and_then(|guard| guard.floor());
        floor.map_or(0, |floor| {
            self.ticks
                .tick_at(floor)
                .map_or(u64::MAX, |tick| tick.saturating_add(1))
        })
    }

    /// So many seconds at least are so many ticks.
    pub(super) fn seconds_in(&self, ticks: u64) -> u64 {
        let ns = u128::from(ticks) * self.ticks.tick().as_nanos();
        u64::try_from(ns / 1_000_000_000)
            .unwrap_or(u64::MAX)
            .saturating_add(1)
    }

    fn floor_ahead(&self, ticks: u64) -> LedgerError {
        let retry_after_s = self.seconds_in(ticks);
        LedgerError::Unavailable {
            message: format!(
                "the store may have lost windows of pool {}: new ones are taken in {retry_after_s} s",
                self.name
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
}
