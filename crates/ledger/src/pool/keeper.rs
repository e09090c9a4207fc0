//! The one task per pool that holds this process's own window and the generator over it.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use mintage::{Clock, Snowflake, Window};

use super::acquire::Unknown;
use super::lease::{Lease, Owner, Renewal};
use super::{Pool, Seat};
use crate::error::LedgerError;
use crate::repeats::Repeats;

const RENEW_EVERY: Duration = Duration::from_secs(1);
const BACKOFF_MIN: Duration = Duration::from_millis(100);
const BACKOFF_MAX: Duration = Duration::from_secs(60);

/// What the keeper holds.
#[derive(Debug)]
struct Holding {
    lease: Lease,
    clock_epoch: u64,
    seat: Arc<Seat>,
}

/// What the task knows from one round to the next.
#[derive(Debug)]
struct Keeper {
    holding: Option<Holding>,
    unknown: Option<Unknown>,
    backoff: Duration,
    renewing: Repeats,
    taking: Repeats,
    /// Whether the clock was settled in the last round.
    settled: bool,
}

impl Pool {
    pub(super) async fn keep(self: Arc<Self>) {
        let mut keeper = Keeper {
            holding: None,
            unknown: None,
            backoff: BACKOFF_MIN,
            renewing: Repeats::default(),
            taking: Repeats::default(),
            settled: self.context.clock.is_settled(),
        };
        while !self.stop.load(Ordering::Acquire) {
            let pause = self.keep_once(&mut keeper).await;
            if !pause.is_zero() {
                tokio::select! {
                    // In a fixed order, so that a simulated run repeats.
                    biased;
                    () = self.context.runtime.sleep(pause) => {}
                    () = self.wanted.notified() => {}
                }
            }
        }
        if let Some(held) = keeper.holding {
            self.seat.store(None);
            // Closed by one swap, then the last id is read (protocol W7).
            let unused_from = held.seat.generator.close();
            self.give_back(&self.owner(), held.lease, unused_from).await;
        }
        self.status.lock().expect("no panic while held").ended = true;
        self.tell(Some(match self.is_dropped() {
            true => LedgerError::NoPool {
                name: self.name.clone(),
            },
            false => LedgerError::Closing,
        }));
        self.ended.notify_waiters();
    }

    /// Extends the window that is held, or takes one; answers when to do so again.
    async fn keep_once(&self, keeper: &mut Keeper) -> Duration {
        // What was refused for the clock's sake is asked for as if anew.
        if keeper.settled != self.context.clock.is_settled() {
            (keeper.settled, keeper.backoff) = (true, BACKOFF_MIN);
        }
        let dropped = self.seat.load().is_none();
        let stepped = |held: &Holding| held.clock_epoch != self.context.clock.epoch();
        if keeper
            .holding
            .as_ref()
            .is_some_and(|held| dropped || stepped(held))
        {
            self.let_go(keeper.holding.take());
        }
        match keeper.holding.as_mut() {
            Some(held) => {
                let renewal = self.renew(&self.owner(), &mut held.lease).await;
                self.renewed(keeper, renewal)
            }
            None => match self.take_seat(&mut keeper.unknown).await {
                Ok(held) => self.taken(keeper, held),
                Err(error) => self.not_taken(keeper, error),
            },
        }
    }

    /// After a renewal (protocol W5).
    fn renewed(&self, keeper: &mut Keeper, renewal: Renewal) -> Duration {
        let now = self.context.runtime.boottime();
        match (renewal, &keeper.holding) {
            (Renewal::Extended, Some(held)) => {
                held.seat.generator.extend(held.lease.until);
                if let Some((lasted, failed)) = keeper.renewing.succeeded(now) {
                    let for_ms = lasted.as_millis() as u64;
                    tracing::info!(pool = %self.name, for_ms, failed, "the window is renewed again");
                }
                // Whoever waits for the window to be extended may go on, if it was.
                self.tell(self.passed(held.lease.until));
                RENEW_EVERY
            }
            // The one of several stores that has this worker is down: another has others.
            (Renewal::Kept(error), Some(held))
                if self.is_reachable(held.seat.worker)
                    || !self.now_tick().is_ok_and(|now| now >= held.lease.until) =>
            {
                if let Some(count) = keeper.renewing.failed(now) {
                    tracing::warn!(pool = %self.name, count, %error, "could not renew the window");
                }
                let left = self.ticks.time_of(held.lease.until);
                let left = left.since(self.context.clock.now());
                let pause = match self.is_reachable(held.seat.worker) {
                    true => RENEW_EVERY,
                    // Another worker is taken as soon as this window has passed.
                    false => RENEW_EVERY.min(left).max(self.ticks.tick()),
                };
                // Those who mint hear of it once the window has passed.
                self.tell_until(error, now + pause);
                pause
            }
            _ => {
                self.let_go(keeper.holding.take());
                Duration::ZERO
            }
        }
    }

    fn taken(&self, keeper: &mut Keeper, held: Holding) -> Duration {
        let acquired = &self.context.counters.windows_acquired;
        acquired.fetch_add(1, Ordering::Relaxed);
        self.seat.store(Some(Arc::clone(&held.seat)));
        keeper.holding = Some(held);
        keeper.backoff = BACKOFF_MIN;
        self.tell(None);
        let now = self.context.runtime.boottime();
        // A window that was lost is got anew: nothing fails to be renewed any more.
        keeper.renewing.succeeded(now);
        if let Some((lasted, failed)) = keeper.taking.succeeded(now) {
            let for_ms = lasted.as_millis() as u64;
            tracing::info!(pool = %self.name, for_ms, failed, "a window is held again");
        }
        RENEW_EVERY
    }

    fn not_taken(&self, keeper: &mut Keeper, error: LedgerError) -> Duration {
        if matches!(error, LedgerError::NoPool { .. }) {
            self.stop.store(true, Ordering::Release);
            return Duration::ZERO;
        }
        let now = self.context.runtime.boottime();
        if let Some(count) = keeper.taking.failed(now) {
            tracing::warn!(pool = %self.name, count, %error, "no window");
        }
        // A worker that is known to be free sooner is not waited past.
        let pause = match &error {
            LedgerError::Unavailable { retry_after_s, .. } => {
                keeper.backoff.min(Duration::from_secs(*retry_after_s))
            }
            _ => keeper.backoff,
        };
        keeper.backoff = (keeper.backoff * 2).min(BACKOFF_MAX);
        self.tell_until(error, now + pause);
        pause
    }

    /// The refusal once the window has passed that could not be renewed.
    fn passed(&self, until: u64) -> Option<LedgerError> {
        let down = self.context.health.down_for()?;
        let ended = self.now_tick().is_ok_and(|now| now >= until);
        ended.then(|| LedgerError::Unavailable {
            message: format!(
                "the window of pool {} has ended, and the store has not answered for {} s",
                self.name,
                down.as_secs()
            ),
            retry_after_s: 1,
        })
    }

    fn owner(&self) -> Owner {
        Owner {
            id: format!("{:032x}", self.context.instance()),
            name: self.context.settings.instance_name.clone(),
            age: self
                .context
                .runtime
                .boottime()
                .saturating_sub(self.context.started),
        }
    }

    async fn take_seat(&self, unknown: &mut Option<Unknown>) -> Result<Holding, LedgerError> {
        let clock_epoch = self.context.clock.epoch();
        let owner = self.owner();
        let lease = self.acquire(&owner, unknown).await?;
        if owner.id != self.owner().id {
            // This process's register was lost meanwhile, and what it held with it (protocol R4): parked.
            return Err(LedgerError::Unavailable {
                message: format!("pool {}: this process's register was lost", self.name),
                retry_after_s: 1,
            });
        }
        let window = Window {
            worker: self.spec.kind.generator_worker(lease.worker),
            from_tick: lease.from,
            until_tick: lease.until,
        };
        let generator = Snowflake::new(Arc::clone(&self.ticks), window, self.lengths.max_ahead)
            .and_then(|generator| generator.clock_policy(self.policy))
            .map_err(|error| LedgerError::Invalid(error.to_string()))?;
        let seat = Arc::new(Seat {
            worker: lease.worker,
            generator,
        });
        Ok(Holding {
            lease,
            clock_epoch,
            seat,
        })
    }

    fn tell_until(&self, failure: LedgerError, not_before: Duration) {
        self.status.lock().expect("no panic while held").not_before = not_before;
        self.tell(Some(failure));
    }

    fn tell(&self, failure: Option<LedgerError>) {
        self.status.lock().expect("no panic while held").failure = failure;
        self.tried.notify_waiters();
    }

    /// Mints no more from what was held; its record stays as it is.
    fn let_go(&self, holding: Option<Holding>) {
        self.seat.store(None);
        if let Some(held) = holding {
            held.seat.generator.close();
        }
    }
}
