//! The tasks of a ledger that run until it closes.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use super::{Ledger, loaded};
use crate::clock::LOOK_EVERY as LOOK_AT_CLOCK_EVERY;
use crate::context::Context;
use crate::sequence::InUse;

/// How often names in use are looked after.
const TEND_EVERY: Duration = Duration::from_secs(1);
/// How often workers are counted.
const LOOK_AHEAD_EVERY: Duration = Duration::from_secs(600);
/// How often a store that does not answer is asked.
const PROBE_EVERY: Duration = Duration::from_millis(500);
/// How many sequences are looked after in one go; others come in between.
const AT_ONCE: usize = 1000;

/// Starts them.
pub(super) fn start(ledger: &Arc<Ledger>) {
    let (context, weak) = (&ledger.context, Arc::downgrade(ledger));
    let shared = || Arc::clone(context);
    let runtime = &context.runtime;
    runtime.spawn(Box::pin(follow_clock(shared(), weak.clone())));
    runtime.spawn(Box::pin(tend(shared(), Arc::clone(&ledger.in_use))));
    runtime.spawn(Box::pin(probe(shared())));
    runtime.spawn(Box::pin(look_ahead(weak.clone())));
    runtime.spawn(Box::pin(loaded::let_idle_go(weak)));
}

/// Lets the clock that ids read follow its sources.
async fn follow_clock(context: Arc<Context>, ledger: Weak<Ledger>) {
    while !context.closing.load(Ordering::Acquire) {
        if context.clock.look() {
            context.store.clock_confirmed();
            look_again(&ledger).await;
        }
        context.store.vouch(context.vouched());
        context.runtime.sleep(LOOK_AT_CLOCK_EVERY).await;
    }
}

/// Looks after every sequence in use, once a second.
async fn tend(context: Arc<Context>, in_use: Arc<InUse>) {
    while !context.closing.load(Ordering::Acquire) {
        context.runtime.sleep(TEND_EVERY).await;
        let sequences = in_use.active.lock().expect("no panic while held").clone();
        let mut idle = false;
        for few in sequences.chunks(AT_ONCE) {
            for sequence in few {
                idle |= !sequence.tend();
            }
            tokio::task::yield_now().await;
        }
        if idle {
            let mut active = in_use.active.lock().expect("no panic while held");
            active.retain(|sequence| sequence.is_active());
        }
    }
}

/// Counts workers and looks for ends that are near, every ten minutes.
async fn look_ahead(ledger: Weak<Ledger>) {
    if let Some(now) = ledger.upgrade()
        && now.context.store.exclusive()
    {
        now.count_parked().await;
    }
    loop {
        let Some(now) = ledger.upgrade() else { return };
        for pool in now.loaded_pools() {
            if now.context.closing.load(Ordering::Acquire) {
                return;
            }
            if pool.is_started() {
                pool.look_ahead().await;
            }
        }
        let sleep = now.context.runtime.sleep(LOOK_AHEAD_EVERY);
        drop(now);
        sleep.await;
    }
}

/// Something about the clock was confirmed: keepers that it stood against try again, and what a wrong clock has parked
/// is counted.
async fn look_again(ledger: &Weak<Ledger>) {
    let Some(now) = ledger.upgrade() else { return };
    let pools = now.loaded_pools();
    pools.iter().for_each(|pool| pool.wake());
    for pool in pools {
        // What cannot be counted now is counted within ten minutes.
        let _ = pool.count_held().await;
    }
}

/// Asks a store that does not answer whether it does again.
async fn probe(context: Arc<Context>) {
    while !context.closing.load(Ordering::Acquire) {
        context.runtime.sleep(PROBE_EVERY).await;
        let health = &context.health;
        // One that is ours alone tells that nothing can be reserved.
        if !context.store.exclusive() {
            health.tell_away();
        }
        if health.anybody_waits() || health.down_for().is_some() || health.no_room().is_some() {
            context.watched.probe().await;
        }
        context.origins.ask_those_away();
    }
}
