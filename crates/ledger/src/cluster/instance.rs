//! The register of this process: everything it holds hangs off it (protocol R4).
//!
//! A process with a journal has the register of its *node*: the next process that opens the same journal puts
//! itself in the place of the dead one by one compare-and-set, and owns its blocks from then on (protocol S7).

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use mintage::Clock;

use super::peers::InstanceBody;
use super::{changes, instance_key};
use crate::clock::Gate;
use crate::context::Context;
use crate::error::LedgerError;
use crate::guard::Epoch;
use crate::kept::Tokens;
use crate::ledger::Ledger;
use crate::runtime::fresh_token;
use crate::store::{Cas, Key, Marks, Value, Version};

/// How often the register is renewed and the others are looked at.
const RENEW_EVERY: Duration = Duration::from_secs(1);
/// How often changes by others are looked for. Whoever makes a change waits for everybody's next look, which must
/// leave the answer well below a second on a busy machine, too.
const POLL_EVERY: Duration = Duration::from_millis(125);
/// How long a stop waits for the register to be removed.
const LEAVE_WITHIN: Duration = Duration::from_secs(2);

/// A register that is ours, as last acknowledged.
pub(crate) type Entered = (Key, Version);

/// The register, as this process knows it.
#[derive(Default)]
struct Register {
    held: Option<(Key, Version)>,
    /// Of writes of unknown outcome (protocol R1).
    attempts: Tokens,
    /// When it was last written.
    renewed: Option<Duration>,
    /// The newest change it shows.
    shows: Option<u64>,
}

impl Context {
    /// This process's own register.
    pub(crate) fn instance_key(&self) -> Key {
        instance_key(self.instance())
    }
}

impl Ledger {
    /// What this process does first: it follows everything that was changed before, since it holds nothing yet,
    /// and takes the register of its journal over, where it has one.
    ///
    /// # Errors
    /// The store does not answer: whether the blocks of the journal are ours is not known, so the start must wait.
    pub(crate) async fn join_cluster(&self) -> Result<Option<Entered>, LedgerError> {
        let context = &self.context;
        let found = match context.joining().get(&changes::key()).await {
            Ok(found) => found,
            // One store of a set: nothing is changed while it is away, and all is looked at when it is back.
            Err(_) if !context.store.reachable(&changes::key()) => None,
            Err(error) => return Err(error.into()),
        };
        // What one holds that began without the store may be of before the changes: none is followed yet.
        if !context.is_away() {
            let (last, _) = changes::since(found.as_ref(), 0);
            context.cluster.seen.store(last, Ordering::Release);
        }
        enter(context).await
    }

    /// Renews the register every second and follows the others' changes until the ledger closes. When minting ends for
    /// good, all that is held is dropped in the same moment: it may be somebody else's by now (protocol E3).
    pub(crate) async fn keep_instance(self: Arc<Self>, entered: Option<Entered>) {
        let rounds = Arc::clone(&self).rounds(entered);
        tokio::pin!(rounds);
        tokio::select! {
            // In a fixed order, so that a simulated run repeats.
            biased;
            () = &mut rounds => return,
            () = stops(&self.context) => self.drop_everything(),
        }
        rounds.await;
    }

    async fn rounds(self: Arc<Self>, entered: Option<Entered>) {
        let context = &self.context;
        let mut register = Register {
            held: entered,
            ..Register::default()
        };
        let mut sampled = None::<Duration>;
        let mut recoveries = 0;
        let mut stopped = false;
        while !context.closing.load(Ordering::Acquire) {
            if !stopped && context.store.stopped().is_some() {
                // One store of a set has no guard here that would say so at once.
                stopped = true;
                self.drop_everything();
            }
            let now = context.runtime.boottime();
            let due =
                |last: Option<Duration>| last.is_none_or(|last| now.saturating_sub(last) >= RENEW_EVERY);
            if (due(register.renewed) || register.shows != Some(context.cluster.seen()))
                && !register.renew(context).await
            {
                tracing::error!("this process's register was lost: dropping all it holds");
                let node = context.renew_instance();
                self.drop_everything();
                if let Some(journal) = &context.journal {
                    // Whoever has the register has a copy of our journal, and owns what it says.
                    journal.begin_anew(node).await;
                }
                continue;
            }
            // After the renewal, which somebody may wait for who made the change that was followed just now.
            if let Err(error) = self.follow_changes().await {
                tracing::debug!(%error, "could not look for changes");
            }
            // A store that is back may not be what it was: others wait for our word.
            let is_back = recoveries != context.health.recoveries();
            // Ids that carry the time wait for this at the start.
            let is_awaited = context.clock.gate() == Gate::Unjudged;
            if due(sampled) || is_back {
                recoveries = context.health.recoveries();
                sampled = Some(now);
                match &context.guard {
                    Some(guard) => guard.beat().await,
                    None => context.store.tend().await,
                }
                self.look_around().await;
            } else if is_awaited && let Err(error) = context.sample_time().await {
                tracing::debug!(%error, "could not look at the other instances");
            }
            tokio::select! {
                // In a fixed order, so that a simulated run repeats.
                biased;
                () = context.runtime.sleep(POLL_EVERY) => {}
                () = context.cluster.poke.notified() => {}
            }
        }
        register.leave(context).await;
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
            // In a fixed order, so that a simulated run repeats.
            biased;
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
            let looked = ours.look_again(&missed).await & ours.look_at_pools(&missed).await;
            let followed = looked && ours.forget_definitions(&missed).await;
            if followed {
                cluster.seen.store(last, Ordering::Release);
            }
            cluster.following.store(false, Ordering::Release);
            // What a store that refuses at once did not show is looked for at the next poll.
            if followed {
                cluster.poke.notify_one();
            }
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
        // One token for as long as the outcome is unknown, however often that is tried: which of the tries has landed
        // means nothing.
        let token = self
            .attempts
            .own()
            .unwrap_or_else(|| fresh_token(&*context.runtime));
        if !self.attempts.has(token) {
            self.attempts.add(token);
        }
        let body = body(context, shows, false).await;
        let value = Value { mark: 0, token, body };
        let sent = context.runtime.boottime();
        let mut written = context
            .store
            .compare_and_set(&key, version, value, Marks::NeverLower)
            .await;
        let mut is_ours = false;
        if let Ok(Cas::Lost(Some(found))) = &written
            && self.attempts.has(found.value.token)
        {
            // An earlier write of ours, of unknown outcome, had landed (protocol R6). It shows what was seen then: the next
            // one follows at once.
            is_ours = true;
            let attempts = context.attempts(&key);
            written = attempts.confirm(found.clone(), &mut self.attempts).await;
        }
        match written {
            Ok(Cas::Done(version)) if is_ours => {
                self.held = Some((key, version));
                self.attempts = Tokens::default();
                true
            }
            Ok(Cas::Done(version)) => {
                self.held = Some((key, version));
                self.attempts = Tokens::default();
                self.renewed = Some(context.runtime.boottime());
                self.shows = Some(shows);
                if let Some(journal) = &context.journal {
                    journal
                        .heard(sent, context.store.class(), context.vouched_ns())
                        .await;
                }
                true
            }
            // The store lost it, not we: the key is ours alone, and what hangs off it is held on (class L).
            Ok(Cas::Lost(found)) if version.is_some_and(|version| version.epoch() != context.epoch()) => {
                self.attempts = Tokens::default();
                self.held = found.map(|found| (key, found.version));
                true
            }
            Ok(Cas::Lost(_)) => {
                *self = Register::default();
                false
            }
            Err(error) => {
                tracing::debug!(%error, "could not renew the instance register");
                self.held = version.map(|version| (key, version));
                // Tried again with the next poll, not at once.
                true
            }
        }
    }

    /// Says that this process has gone. Best effort: a register that stays is only clutter.
    async fn leave(self, context: &Context) {
        let Some((key, version)) = self.held else { return };
        let Some(journal) = &context.journal else {
            let _ = context.store.remove(&key, version).await;
            return;
        };
        // The blocks are found by any version of it.
        let value = Value {
            mark: 0,
            token: fresh_token(&*context.runtime),
            body: body(context, context.cluster.seen(), true).await,
        };
        let written = context
            .store
            .compare_and_set(&key, Some(version), value, Marks::NeverLower)
            .await;
        if let Ok(Cas::Done(_)) = written {
            // From now on nobody waits for this node to follow a change.
            journal.forget_word().await;
        }
    }
}

async fn body(context: &Context, seen: u64, stopped: bool) -> String {
    let journal = match &context.journal {
        // By now it may be closed.
        Some(journal) if stopped => Some(journal.copies()),
        Some(journal) => Some(journal.count_copy().await),
        None => None,
    };
    let body = InstanceBody {
        name: context.settings.instance_name.clone(),
        wall_ms: context.runtime.wall().unix_millis(),
        clock_ms: Some(context.clock.now().unix_millis()),
        seen,
        journal,
        version: Some(env!("CARGO_PKG_VERSION").to_string()),
        stopped,
    };
    serde_json::to_string(&body).expect("plain fields always serialise")
}

/// Puts this process in the place of the one that had its journal before: one compare-and-set. Where that cannot
/// be had, or the journal is older than what was last copied from it, this is a new node that owns nothing.
async fn enter(context: &Context) -> Result<Option<Entered>, LedgerError> {
    let Some(journal) = &context.journal else {
        return Ok(None);
    };
    let key = context.instance_key();
    let store = context.joining();
    let found = store.get(&key).await?;
    let why = match found {
        None => "its register is not there",
        Some(found) => match serde_json::from_str::<InstanceBody>(&found.value.body) {
            Ok(body) if body.journal.unwrap_or(0) <= journal.copies() => {
                let value = Value {
                    mark: 0,
                    token: fresh_token(&*context.runtime),
                    body: self::body(context, context.cluster.seen(), false).await,
                };
                let sent = context.runtime.boottime();
                let written = store
                    .compare_and_set(&key, Some(found.version), value, Marks::NeverLower)
                    .await;
                match written {
                    Ok(Cas::Done(version)) => {
                        journal.heard(sent, store.class(), context.vouched_ns()).await;
                        return Ok(Some((key, version)));
                    }
                    Ok(Cas::Lost(_)) => "another process has its register",
                    // It may have landed: the next process with this journal finds out, or it is a gap.
                    Err(error) => return Err(error.into()),
                }
            }
            Ok(_) => "the journal is an old copy",
            Err(_) => "its register cannot be understood",
        },
    };
    tracing::info!(why, "this node owns nothing from before");
    let node = context.renew_instance();
    journal.begin_anew(node).await;
    Ok(None)
}
