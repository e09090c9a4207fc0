//! The register of this process: everything it holds hangs off it (protocol R4).

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use mintage::Clock;

use super::peers::InstanceBody;
use super::{Context, changes};
use crate::ledger::Ledger;
use crate::runtime::fresh_token;
use crate::store::{Cas, Key, Marks, Value, Version};

/// How often the register is renewed and the others are looked at.
const RENEW_EVERY: Duration = Duration::from_secs(1);
/// How often changes by others are looked for.
const POLL_EVERY: Duration = Duration::from_millis(250);
/// Renewals of unknown outcome that are remembered; one that is forgotten costs what is held, nothing more.
const ATTEMPTS_MAX: usize = 64;
/// How long a stop waits for the register to be removed.
const LEAVE_WITHIN: Duration = Duration::from_secs(2);

/// The register, as this process knows it.
#[derive(Default)]
struct Register {
    held: Option<(Key, Version)>,
    /// Tokens of writes of unknown outcome (protocol R1).
    attempts: Vec<u128>,
    /// When it was last written.
    renewed: Option<Duration>,
    /// The newest change it shows.
    shows: Option<u64>,
}

impl Ledger {
    /// What this process follows when it opens: everything that was changed before, since it holds nothing yet.
    pub(crate) async fn join_cluster(&self) -> Result<(), crate::store::StoreError> {
        let found = self.context.store.get(&changes::key()).await?;
        let (last, _) = changes::since(found.as_ref(), 0);
        self.context.cluster.seen.store(last, Ordering::Release);
        Ok(())
    }

    /// Renews the register every second and follows the others' changes until the ledger closes.
    pub(crate) async fn keep_instance(self: Arc<Self>) {
        let context = &self.context;
        let mut register = Register::default();
        let mut sampled = None::<Duration>;
        let mut stopped = false;
        while !context.closing.load(Ordering::Acquire) {
            if !stopped && context.store.stopped().is_some() {
                // Protocol E3: what is held may be somebody else's by now.
                stopped = true;
                self.drop_everything();
            }
            if let Err(error) = self.follow_changes().await {
                tracing::debug!(%error, "could not look for changes");
            }
            let now = context.runtime.boottime();
            let due =
                |last: Option<Duration>| last.is_none_or(|last| now.saturating_sub(last) >= RENEW_EVERY);
            if (due(register.renewed) || register.shows != Some(context.cluster.seen()))
                && !register.renew(context).await
            {
                tracing::error!("this process's register was lost: dropping all it holds");
                context.renew_instance();
                self.drop_everything();
                continue;
            }
            if due(sampled) {
                sampled = Some(now);
                if let Some(guard) = &context.guard {
                    guard.beat().await;
                }
                self.look_around().await;
            }
            tokio::select! {
                () = context.runtime.sleep(POLL_EVERY) => {}
                () = context.cluster.poke.notified() => {}
                () = stops(context), if !stopped => {}
            }
        }
        if let Some((key, version)) = register.held {
            // Best effort: a register that stays is only clutter.
            let _ = context.store.remove(&key, version).await;
        }
        context.cluster.left.store(true, Ordering::Release);
        context.cluster.has_left.notify_waiters();
    }

    /// Waits until the register is removed, so that nobody waits for this process; not for long.
    pub(crate) async fn leave_cluster(&self) {
        let cluster = &self.context.cluster;
        let left = cluster.has_left.notified();
        tokio::pin!(left);
        left.as_mut().enable();
        if self.context.store.exclusive() || cluster.left.load(Ordering::Acquire) {
            return;
        }
        cluster.poke.notify_one();
        tokio::select! {
            () = left => {}
            () = self.context.runtime.sleep(LEAVE_WITHIN) => {}
        }
    }

    /// Starts to follow changes that others counted, if there are new ones and none are being followed.
    async fn follow_changes(self: &Arc<Self>) -> Result<(), crate::store::StoreError> {
        let cluster = &self.context.cluster;
        let found = self.context.store.get(&changes::key()).await?;
        let (last, missed) = changes::since(found.as_ref(), cluster.seen());
        if last == cluster.seen() || cluster.following.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        // Beside the renewals: looking up a sequence may take as long as a store's slow answer.
        let ours = Arc::clone(self);
        self.context.runtime.spawn(Box::pin(async move {
            let cluster = &ours.context.cluster;
            if ours.look_again(&missed).await {
                cluster.seen.store(last, Ordering::Release);
            }
            cluster.following.store(false, Ordering::Release);
            cluster.poke.notify_one();
        }));
        Ok(())
    }

    /// Looks at the others and the clocks, and removes registers of those who are long gone.
    async fn look_around(&self) {
        let context = &self.context;
        if let Err(error) = context.sample_time().await {
            tracing::debug!(%error, "could not look at the other instances");
            return;
        }
        let clutter = {
            let observed = context.cluster.peers.lock().expect("no panic while held");
            observed.peers.clutter(context.runtime.boottime())
        };
        for (key, version) in clutter {
            // Lost if its owner woke up, or if another node was quicker.
            if let Ok(Cas::Done(_)) = context.store.remove(&key, version).await {
                tracing::info!(%key, "removed the register of an instance that is gone");
            }
        }
    }
}

async fn stops(context: &Context) {
    match &context.guard {
        Some(guard) => guard.has_stopped().await,
        None => std::future::pending().await,
    }
}

impl Register {
    /// Writes the register anew; `false`: it was lost.
    async fn renew(&mut self, context: &Context) -> bool {
        let (key, version) = match self.held.take() {
            Some((key, version)) => (key, Some(version)),
            None => (context.instance_key(), None),
        };
        let shows = context.cluster.seen();
        let token = fresh_token(&*context.runtime);
        let body = InstanceBody {
            name: context.settings.instance_name.clone(),
            wall_ms: context.clock.now().unix_millis(),
            seen: shows,
        };
        let body = serde_json::to_string(&body).expect("plain fields always serialise");
        let value = Value { mark: 0, token, body };
        match context
            .store
            .compare_and_set(&key, version, value, Marks::NeverLower)
            .await
        {
            Ok(Cas::Done(version)) => {
                self.held = Some((key, version));
                self.attempts.clear();
                self.renewed = Some(context.runtime.boottime());
                self.shows = Some(shows);
                true
            }
            // An earlier write of ours, of unknown outcome, had landed.
            Ok(Cas::Lost(Some(found))) if self.attempts.contains(&found.value.token) => {
                self.held = Some((key, found.version));
                self.attempts.clear();
                true
            }
            // The store lost it, not we: the key is ours alone, and what hangs off it is held on (class L).
            Ok(Cas::Lost(found)) if version.is_some_and(|version| version.epoch() != context.epoch()) => {
                self.attempts.clear();
                self.held = found.map(|found| (key, found.version));
                true
            }
            Ok(Cas::Lost(_)) => {
                *self = Register::default();
                false
            }
            Err(error) => {
                tracing::debug!(%error, "could not renew the instance register");
                self.attempts.truncate(ATTEMPTS_MAX - 1);
                self.attempts.insert(0, token);
                self.held = version.map(|version| (key, version));
                // Tried again with the next poll, not at once.
                true
            }
        }
    }
}
