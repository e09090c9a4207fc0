//! The one task per pool that holds this process's own window and the generator over it.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use mintage::{Snowflake, Window};

use super::lease::{Lease, Owner, Renewal, Unknown};
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

impl Pool {
    pub(super) async fn keep(self: Arc<Self>) {
        let mut holding: Option<Holding> = None;
        let mut unknown: Option<Unknown> = None;
        let mut backoff = BACKOFF_MIN;
        let (mut renewing, mut taking) = (Repeats::default(), Repeats::default());
        let mut settled = self.context.clock.is_settled();
        while !self.stop.load(Ordering::Acquire) {
            // What was refused for the clock's sake is asked for as if anew.
            if settled != self.context.clock.is_settled() {
                (settled, backoff) = (true, BACKOFF_MIN);
            }
            let dropped = self.seat.load().is_none();
            let stepped = |held: &Holding| held.clock_epoch != self.context.clock.epoch();
            if holding.as_ref().is_some_and(|held| dropped || stepped(held)) {
                self.let_go(holding.take());
            }
            let pause = match holding.as_mut() {
                Some(held) => match self.renew(&self.owner(), &mut held.lease).await {
                    Renewal::Extended => {
                        held.seat.generator.extend(held.lease.until);
                        if let Some((lasted, failed)) = renewing.succeeded(self.context.runtime.boottime()) {
                            let for_ms = lasted.as_millis() as u64;
                            tracing::info!(pool = %self.name, for_ms, failed, "the window is renewed again");
                        }
                        // Whoever waits for the window to be extended may go on, if it was.
                        self.tell(self.passed(held.lease.until));
                        RENEW_EVERY
                    }
                    // The one of several stores that has this worker is down: another has others.
                    Renewal::Kept(_)
                        if !self.is_reachable(held.seat.worker)
                            && self.now_tick().is_ok_and(|now| now >= held.lease.until) =>
                    {
                        self.let_go(holding.take());
                        Duration::ZERO
                    }
                    Renewal::Kept(error) => {
                        let now = self.context.runtime.boottime();
                        if let Some(count) = renewing.failed(now) {
                            tracing::warn!(pool = %self.name, count, %error, "could not renew the window");
                        }
                        // Those who mint hear of it once the window has passed.
                        self.tell_until(error, now + RENEW_EVERY);
                        RENEW_EVERY
                    }
                    Renewal::Lost => {
                        self.let_go(holding.take());
                        Duration::ZERO
                    }
                },
                None => match self.take_seat(&mut unknown).await {
                    Ok(held) => {
                        self.context
                            .counters
                            .windows_acquired
                            .fetch_add(1, Ordering::Relaxed);
                        self.seat.store(Some(Arc::clone(&held.seat)));
                        holding = Some(held);
                        backoff = BACKOFF_MIN;
                        self.tell(None);
                        let now = self.context.runtime.boottime();
                        // A window that was lost is got anew: nothing fails to be renewed any more.
                        renewing.succeeded(now);
                        if let Some((lasted, failed)) = taking.succeeded(now) {
                            let for_ms = lasted.as_millis() as u64;
                            tracing::info!(pool = %self.name, for_ms, failed, "a window is held again");
                        }
                        RENEW_EVERY
                    }
                    Err(LedgerError::NoPool { .. }) => {
                        self.stop.store(true, Ordering::Release);
                        Duration::ZERO
                    }
                    Err(error) => {
                        if let Some(count) = taking.failed(self.context.runtime.boottime()) {
                            tracing::warn!(pool = %self.name, count, %error, "no window");
                        }
                        // A worker that is known to be free sooner is not waited past.
                        let pause = match &error {
                            LedgerError::Unavailable { retry_after_s, .. } => {
                                backoff.min(Duration::from_secs(*retry_after_s))
                            }
                            _ => backoff,
                        };
                        backoff = (backoff * 2).min(BACKOFF_MAX);
                        self.tell_until(error, self.context.runtime.boottime() + pause);
                        pause
                    }
                },
            };
            if !pause.is_zero() {
                tokio::select! {
                    // In a fixed order, so that a simulated run repeats.
                    biased;
                    () = self.context.runtime.sleep(pause) => {}
                    () = self.wanted.notified() => {}
                }
            }
        }
        if let Some(held) = holding {
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
