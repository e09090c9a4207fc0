//! What stands between a ledger and every shared store: it remembers the marks that this process has met, so that
//! a store that forgets one is noticed before a number can repeat.
//!
//! A store of class S or D that answers a lower version or a lower mark of a register than before, or another mark at
//! the same version, ends all minting of this process for good (protocol E3), and it tells the others (`progress`).
//! One of class L, where that was allowed, is expected to forget; what is done then is in `recovery`.

mod memory;
mod progress;
mod recovery;

use std::fmt;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use mintage::Timestamp;
use tokio::sync::Notify;

use crate::advice::Advice;
use crate::delegate_store;
use crate::notes::{self, Restored};
use crate::runtime::{Runtime, fresh_token};
use crate::store::settings::lossy;
use crate::store::{
    Cas, Claim, Class, Key, Marks, Outcome, Store, StoreError, StoreErrorKind, StoreResult, TOMBSTONE_BODY,
    Value, Version, Versioned,
};
use memory::{Memory, Met};
use progress::Watch;
pub use progress::note_progress_restored;
pub(crate) use progress::{set_back, vouched};
pub(crate) use recovery::Epoch;
pub use recovery::LossyRules;
use recovery::Recovery;

/// How often an answer that goes back is asked for again before it is believed.
const CONFIRM_TRIES: u32 = 3;
/// The pause before each.
const CONFIRM_PAUSE: Duration = Duration::from_millis(200);

/// How often a write that met another copy of the store than before is made there.
const COPY_TRIES: u32 = 3;

/// A register is not made on what was known of the seal longer ago than this: two looks were missed.
const UNSEALED_FOR_MS: u64 = 2_000;

/// A shared store that may not forget.
pub(crate) struct Guard {
    inner: Arc<dyn Store>,
    runtime: Arc<dyn Runtime>,
    memory: Mutex<Memory>,
    stopped: Mutex<Option<StoreError>>,
    /// Minting has ended for good.
    told: Notify,
    /// The class that was accepted when the store was opened.
    accepted: Class,
    /// Where names and workers begin that are not there, if a backup was restored.
    restored: Mutex<Restored>,
    /// The copy of the store that answered last, and how often that was another one than before.
    copy: Mutex<(Option<String>, u32)>,
    /// When it was last seen that the store is not sealed, in milliseconds of boot time.
    unsealed_at_ms: AtomicU64,
    recovery: Option<Recovery>,
    /// Where others may use the store too, and it may not forget.
    watch: Option<Watch>,
    /// What this process's ids read when that was told last, in milliseconds since 1970; 0: they get no time.
    vouched_ms: AtomicI64,
}

impl Guard {
    /// Guards `inner`. `lossy`: that it forgets was allowed, and these rules hold. `restored`: what is noted of a
    /// restore. `ours`: the instance register that this process takes over, if it does.
    pub(crate) fn new(
        inner: Arc<dyn Store>,
        runtime: Arc<dyn Runtime>,
        lossy: Option<LossyRules>,
        restored: Restored,
        ours: Option<Key>,
    ) -> Arc<Guard> {
        let shared = !inner.exclusive();
        Arc::new(Guard {
            watch: (shared && lossy.is_none()).then(|| Watch::new(inner.seen(), ours)),
            restored: Mutex::new(restored),
            unsealed_at_ms: AtomicU64::new(millis(runtime.boottime())),
            copy: Mutex::new((inner.incarnation(), 0)),
            accepted: inner.class(),
            memory: Mutex::new(Memory::new(lossy.is_some())),
            recovery: lossy.map(Recovery::new),
            stopped: Mutex::default(),
            told: Notify::new(),
            vouched_ms: AtomicI64::new(0),
            inner,
            runtime,
        })
    }

    /// Notes which copy of the store is whole, as the first call does.
    pub(crate) async fn begin(&self) -> Result<(), StoreError> {
        self.enter().await.map(drop)
    }

    /// Completes when minting has ended for good.
    pub(crate) async fn has_stopped(&self) {
        let told = self.told.notified();
        tokio::pin!(told);
        told.as_mut().enable();
        if self.stopped().is_none() {
            told.await;
        }
    }

    /// Which recovery the store's answers belong to: raised whenever it may have lost what it acknowledged.
    pub(crate) fn epoch(&self) -> u64 {
        self.recovery.as_ref().map_or(0, Recovery::epoch)
    }

    /// Above which names begin that are not there, if a backup was restored.
    pub(crate) fn restored_above(&self) -> u64 {
        self.restored().above
    }

    fn restored(&self) -> Restored {
        *self.restored.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is noted of a restore, for a process that began without the store.
    pub(crate) fn learn_restored(&self, restored: Restored) {
        *self.restored.lock().unwrap_or_else(PoisonError::into_inner) = restored;
    }

    /// Ends all minting of this process for a reason that was found elsewhere.
    pub(crate) fn end(&self, error: StoreError) -> StoreError {
        self.stop(error)
    }

    /// That the store forgets what it acknowledged was allowed.
    pub(crate) fn may_forget(&self) -> bool {
        self.recovery.is_some()
    }

    /// No window begins before this: what the store has lost may reach up to here.
    pub(crate) fn floor(&self) -> Option<Timestamp> {
        let recovered = self.recovery.as_ref().and_then(Recovery::floor);
        recovered.max(self.restored().workers_from)
    }

    /// Sees whether the store is whole at this moment, and learns of recoveries by others; once a second.
    pub(crate) async fn beat(&self) {
        let done = match &self.recovery {
            Some(recovery) => recovery.beat(self).await,
            None => self.look_at_last().await,
        };
        let done = match &self.watch {
            Some(watch) => done.and(watch.beat(self).await),
            None => done,
        };
        let sealed = self.look_at_seal().await;
        if let Err(error) = done.and(sealed) {
            tracing::debug!(%error, "could not see that the store is whole");
        }
    }

    /// Looks at the sequence that was claimed from last, which a store that forgets is likeliest to have forgotten.
    async fn look_at_last(&self) -> Result<(), StoreError> {
        let asked = self.enter().await?;
        let last = self.memory().last();
        match last {
            Some(key) => self.read(asked, &key).await.map(drop),
            None => Ok(()),
        }
    }

    /// A sealed store ends all minting of this process: it goes on in another store.
    async fn look_at_seal(&self) -> Result<(), StoreError> {
        if let Some(why) = notes::sealed(&*self.inner).await? {
            return Err(self.stop(notes::refusal(&why)));
        }
        self.unsealed_at_ms
            .store(millis(self.runtime.boottime()), Ordering::Release);
        Ok(())
    }

    /// Before a register is made: whoever was cut off may not know that the store is sealed, and a register that is
    /// not there has no version that would tell.
    async fn check_seal(&self, key: &Key) -> Result<(), StoreError> {
        let age = millis(self.runtime.boottime()).saturating_sub(self.unsealed_at_ms.load(Ordering::Acquire));
        match reserves(key) && age > UNSEALED_FOR_MS {
            true => self.look_at_seal().await,
            false => Ok(()),
        }
    }

    /// The tombstone that a name begins above which is not there but may have been.
    fn tombstone(&self, key: &Key) -> Option<Value> {
        let recovered = self.recovery.as_ref().map_or(0, Recovery::skipped);
        let skipped = recovered.max(self.restored().above);
        (skipped > 0 && key.as_str().starts_with("seq/")).then(|| Value {
            mark: skipped.min(i64::MAX as u64),
            token: fresh_token(&*self.runtime),
            body: TOMBSTONE_BODY.to_string(),
        })
    }

    fn memory(&self) -> std::sync::MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn met(&self, key: &Key) -> Option<Met> {
        self.memory().met(key)
    }

    /// Ends all minting of this process (protocol E3).
    fn stop(&self, error: StoreError) -> StoreError {
        tracing::error!(%error, "minting has stopped for good");
        let mut stopped = self.stopped.lock().unwrap_or_else(PoisonError::into_inner);
        let first = stopped.get_or_insert(error).clone();
        drop(stopped);
        self.told.notify_waiters();
        first
    }

    /// How often another copy of the store has answered than before, as this process counts them.
    fn copy(&self) -> u32 {
        let now = self.inner.incarnation();
        let mut copy = self.copy.lock().unwrap_or_else(PoisonError::into_inner);
        if copy.0 != now {
            *copy = (now, copy.1.wrapping_add(1));
            self.memory().copy_changed();
        }
        copy.1
    }

    /// The version the store knows, of one that the ledger knows; `None`: it may be of another write by now. One that was
    /// shown before a recovery, or by another copy and not known to be kept when that was lost (protocol R6).
    fn raw(&self, key: &Key, now: Shown, expected: Option<Version>) -> Option<Option<Version>> {
        let Some(version) = expected else {
            return Some(None);
        };
        let raw = version.within_epoch();
        let is_last = version.copy().wrapping_add(1) == now.copy;
        let is_common = || is_last && self.met(key).is_some_and(|met| met.common >= raw);
        let holds = version.epoch() == now.epoch && (version.copy() == now.copy || is_common());
        holds.then_some(Some(raw))
    }

    /// Before every call: what its answer is shown as.
    async fn enter(&self) -> Result<Shown, StoreError> {
        if let Some(error) = self.stopped() {
            let is_ours = self
                .stopped
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .is_some();
            // The store itself found out, perhaps between two calls: that is noted and told like all else.
            return if is_ours {
                Err(error)
            } else {
                self.judged(Err(error))
            };
        }
        if let Some(watch) = &self.watch {
            watch.admit(self).await?;
        }
        if let Some(recovery) = &self.recovery {
            recovery.settle(self).await?;
        }
        Ok(self.now())
    }

    fn now(&self) -> Shown {
        Shown {
            epoch: self.epoch(),
            copy: self.copy(),
        }
    }

    /// Before every write: a store that became lossy since it was accepted takes no new reservation.
    fn check_class(&self) -> Result<(), StoreError> {
        let taken = self.accepted == Class::Lossy || self.recovery.is_some();
        if taken || self.inner.class() != Class::Lossy {
            return Ok(());
        }
        let found = self.inner.durability();
        let mut refused = lossy(self.inner.scheme(), &found);
        refused.kind = StoreErrorKind::Unavailable;
        Err(refused)
    }

    /// After every call: errors that end everything do.
    fn judged<T>(&self, answer: Result<T, StoreError>) -> Result<T, StoreError> {
        if answer.is_err() {
            self.memory().failed();
            if let Some(watch) = &self.watch {
                watch.failed();
            }
        }
        answer.map_err(|error| match error.kind {
            StoreErrorKind::Foreign => self.stop(error),
            StoreErrorKind::Stopped => {
                let is_first = self
                    .stopped
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .is_none();
                if let Some(watch) = self.watch.as_ref().filter(|_| is_first) {
                    watch.stop(&error.message);
                }
                self.stop(error)
            }
            _ => error,
        })
    }

    /// After every call: an answer of another copy than the one that was known, or one that was asked for before
    /// a recovery, says nothing.
    fn leave(&self, Shown { epoch, .. }: Shown, outcome: Outcome) -> Result<(), StoreError> {
        match &self.recovery {
            Some(recovery) => recovery.leave(self, epoch, outcome),
            None => Ok(()),
        }
    }

    /// Takes in what a register shows, and looks again if it went back on what was met `before`.
    async fn take_in(
        &self,
        key: &Key,
        asked: Shown,
        before: Option<Met>,
        mut found: Option<Versioned>,
    ) -> Result<Option<Versioned>, StoreError> {
        for again in 0.. {
            let Some(why) = self.contradiction(key, before.as_ref(), found.as_ref()) else {
                break;
            };
            // A read that was overtaken on its way says the same once, a store that forgot says it for good.
            if again == CONFIRM_TRIES {
                return Err(self.forgotten(key, &why).await);
            }
            self.runtime.sleep(CONFIRM_PAUSE).await;
            found = self.judged(self.inner.get(key).await)?;
            self.leave(asked, Outcome::NotDone)?;
        }
        if let Some(found) = &found {
            self.memory().read(key, found, self.inner.incarnation());
        }
        Ok(found)
    }

    /// Whether a register is known to have been kept at this version (protocol R6).
    pub(crate) fn is_kept(&self, key: &Key, version: Version) -> bool {
        self.met(key)
            .is_some_and(|met| met.version >= version.within_epoch())
    }

    /// A write of ours, the one of this number, was acknowledged: what was shown before it is kept (protocol R6).
    fn acknowledged(&self, write: u64) {
        let copy = self.inner.incarnation();
        if let Some(watch) = &self.watch {
            watch.acknowledged(write, &copy);
        }
        self.memory().acknowledged(write, copy);
    }

    /// How a register contradicts what was met of it, or itself.
    fn contradiction(&self, key: &Key, before: Option<&Met>, found: Option<&Versioned>) -> Option<String> {
        let gone_back = before.and_then(|met| met.gone_back(found, self.watch.is_none()));
        gone_back.or_else(|| {
            let found = found.filter(|_| self.watch.is_some())?;
            lowered(key, &found.value)
        })
    }

    async fn forgotten(&self, key: &Key, why: &str) -> StoreError {
        if let Some(recovery) = &self.recovery {
            recovery.demand();
            return StoreError::new(
                StoreErrorKind::Unavailable,
                Outcome::NotDone,
                format!("the store has lost what it acknowledged ({key}: {why}): recovering"),
            );
        }
        self.set_back(&format!("{key} {why}")).await
    }

    /// Ends all minting, here and everywhere, for good: the store is not what it was. Cleared by a restore alone.
    async fn set_back(&self, why: &str) -> StoreError {
        let place = self.watch.as_ref().and_then(Watch::place);
        let error = self.stop(
            StoreError::new(
                StoreErrorKind::Corrupt,
                Outcome::NotDone,
                format!("the store has lost what it acknowledged: {why}"),
            )
            .with_hint(Advice::RaiseAboveLost { place }),
        );
        if let Some(watch) = &self.watch {
            watch.stop(why);
            if let Err(error) = watch.tell(self).await {
                tracing::debug!(%error, "the other servers could not be told yet");
            }
        }
        error
    }

    /// This machine's journal owns numbers of `key` up to `until`, and the store says that fewer were reserved.
    pub(crate) async fn behind_journal(&self, key: &Key, mark: u64, until: u64) -> StoreError {
        self.set_back(&format!(
            "{key} has mark {mark}, this machine's journal owns numbers up to {until}"
        ))
        .await
    }

    /// A register as the ledger sees it. Tokens of other epochs are not recognised: what was written before a
    /// recovery is never adopted after it.
    fn show(&self, asked: Shown, found: Option<Versioned>) -> Option<Versioned> {
        found.map(|found| Versioned {
            version: asked.version(found.version),
            value: Value {
                token: masked(asked.epoch, found.value.token),
                ..found.value
            },
        })
    }

    async fn set(
        &self,
        key: &Key,
        expected: Option<Version>,
        new: Value,
        marks: Marks,
    ) -> Result<Cas, StoreError> {
        let mut asked = self.enter().await?;
        self.check_class()?;
        let before = self.met(key);
        if let Some(watch) = self.watch.as_ref().filter(|_| reserves(key)) {
            watch.trust(self).await?;
        }
        if expected.is_none() {
            self.check_seal(key).await?;
            if let Some(tombstone) = self.tombstone(key) {
                // It may have been there and was lost: it is made over a tombstone, above all it can have given out.
                let made = self
                    .inner
                    .compare_and_set(key, None, tombstone, Marks::NeverLower)
                    .await;
                self.judged(made)?;
                return Ok(Cas::Lost(self.read(asked, key).await?));
            }
        }
        if let Some(recovery) = &self.recovery {
            // What is there already is not paid for again, where a recovery has raised it and nothing was written since.
            let there = match (&before, expected) {
                (Some(met), _) => met.mark,
                (None, None) => 0,
                (None, Some(expected)) => match self.read(asked, key).await? {
                    Some(found) if found.version == expected => found.value.mark,
                    found => return Ok(Cas::Lost(found)),
                },
            };
            recovery.pay(self, key, there, new.mark)?;
        }
        let new = Value {
            token: masked(asked.epoch, new.token),
            ..new
        };
        let mut tries = 0;
        let (write, answer) = loop {
            // With no wait between this and the call: another copy may answer from any moment on.
            asked.copy = self.copy();
            let Some(expected) = self.raw(key, asked, expected) else {
                return Ok(Cas::Lost(self.read(asked, key).await?));
            };
            let write = self.memory().begin();
            let written = self.inner.compare_and_set(key, expected, new.clone(), marks);
            let answer = self.judged(written.await);
            tries += 1;
            // The store has found out with this call that another copy answers, and has done nothing.
            let is_not_done = matches!(&answer, Err(error) if error.outcome == Outcome::NotDone);
            let is_another = self.recovery.is_none() && self.copy() != asked.copy;
            if !(is_not_done && is_another && tries < COPY_TRIES) {
                break (write, answer);
            }
        };
        self.leave(asked, Outcome::Unknown)?;
        match answer {
            Ok(Cas::Done(version)) => {
                self.acknowledged(write);
                let written = Versioned { value: new, version };
                if let Some(watch) = &self.watch {
                    watch.reserved(key, &written);
                }
                self.memory().note(key, &written);
                Ok(Cas::Done(asked.version(version)))
            }
            Ok(Cas::Lost(found)) => {
                let found = self.take_in(key, asked, before, found).await?;
                Ok(Cas::Lost(self.show(asked, found)))
            }
            Err(error) => {
                if let Some(recovery) = self
                    .recovery
                    .as_ref()
                    .filter(|_| error.kind == StoreErrorKind::Invalid)
                {
                    // Refused as lowering a mark, perhaps since somebody else has raised all of them.
                    recovery.look_again();
                }
                Err(error)
            }
        }
    }

    async fn read(&self, asked: Shown, key: &Key) -> Result<Option<Versioned>, StoreError> {
        let before = self.met(key);
        let found = self.judged(self.inner.get(key).await)?;
        self.leave(asked, Outcome::NotDone)?;
        let found = self.take_in(key, asked, before, found).await?;
        Ok(self.show(asked, found))
    }

    /// A claim, written with the whole mark, which a raised one refuses, and not as an addition to whatever is
    /// there.
    async fn claim_slowly(&self, asked: Shown, claim: &Claim) -> Result<Cas, StoreError> {
        let Some(found) = self.read(asked, &claim.key).await? else {
            return Ok(Cas::Lost(None));
        };
        if found.version != claim.expected {
            return Ok(Cas::Lost(Some(found)));
        }
        let new = Value {
            // Past the largest mark the store says so.
            mark: found.value.mark.saturating_add(claim.add),
            token: claim.token,
            body: found.value.body,
        };
        self.set(&claim.key, Some(claim.expected), new, Marks::NeverLower)
            .await
    }
}

/// Whether writing this register reserves something.
fn reserves(key: &Key) -> bool {
    let prefixes = ["seq/", "window/", "pool/", "move/"];
    prefixes.iter().any(|prefix| key.as_str().starts_with(prefix))
}

/// A sequence's record says how much was reserved when it was written. Marks only rise where several use a store,
/// by tools too, so that one below was lowered by hand (protocol E3).
fn lowered(key: &Key, value: &Value) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Record {
        reserved: Option<u64>,
    }
    let is_sequence = key.as_str().starts_with("seq/");
    let record: Record = serde_json::from_str(&value.body).ok().filter(|_| is_sequence)?;
    let reserved = record.reserved.filter(|reserved| *reserved > value.mark)?;
    Some(format!(
        "has mark {}, and its record says that {reserved} were reserved when it was written",
        value.mark
    ))
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// What an answer belongs to, so that no version of before passes for one of after.
#[derive(Clone, Copy)]
struct Shown {
    /// The recovery of a store of class L.
    epoch: u64,
    /// The copy of the store.
    copy: u32,
}

impl Shown {
    fn version(self, raw: Version) -> Version {
        raw.in_epoch(self.epoch).of_copy(self.copy)
    }
}

/// A token as it is stored in an epoch, and back. Zero means "no token" and stays it.
fn masked(epoch: u64, token: u128) -> u128 {
    match token ^ recovery::mask(epoch) {
        _ if token == 0 => 0,
        0 => token,
        masked => masked,
    }
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guard")
            .field("inner", &self.inner)
            .field("lossy", &self.recovery.is_some())
            .finish()
    }
}

impl Store for Guard {
    delegate_store!(inner, but get compare_and_set scan remove claim stopped vouch);

    fn vouch(&self, now: Option<Timestamp>) {
        let ms = now.map_or(0, Timestamp::unix_millis);
        self.vouched_ms.store(ms, Ordering::Release);
    }

    fn get<'a>(&'a self, key: &'a Key) -> StoreResult<'a, Option<Versioned>> {
        Box::pin(async move {
            let asked = self.enter().await?;
            self.read(asked, key).await
        })
    }

    fn compare_and_set<'a>(
        &'a self,
        key: &'a Key,
        expected: Option<Version>,
        new: Value,
        marks: Marks,
    ) -> StoreResult<'a, Cas> {
        Box::pin(self.set(key, expected, new, marks))
    }

    fn scan<'a>(
        &'a self,
        prefix: &'a Key,
        after: Option<&'a Key>,
        limit: u16,
    ) -> StoreResult<'a, Vec<(Key, Versioned)>> {
        Box::pin(async move {
            let asked = self.enter().await?;
            // What is met while the page is on its way may be newer than the page.
            let before = self.memory().clone_if_small();
            let page = self.judged(self.inner.scan(prefix, after, limit).await)?;
            self.leave(asked, Outcome::NotDone)?;
            let mut shown = Vec::with_capacity(page.len());
            for (key, found) in page {
                let met = before.as_ref().and_then(|before| before.get(&key));
                let found = if self.contradiction(&key, met, Some(&found)).is_some() {
                    self.take_in(&key, asked, met.cloned(), Some(found)).await?
                } else {
                    Some(found)
                };
                if let Some(found) = self.show(asked, found) {
                    shown.push((key, found));
                }
            }
            Ok(shown)
        })
    }

    fn remove<'a>(&'a self, key: &'a Key, expected: Version) -> StoreResult<'a, Cas> {
        Box::pin(async move {
            let asked = self.enter().await?;
            let before = self.met(key);
            let Some(Some(expected)) = self.raw(key, asked, Some(expected)) else {
                return Ok(Cas::Lost(self.read(asked, key).await?));
            };
            let answer = self.judged(self.inner.remove(key, expected).await);
            self.leave(asked, Outcome::Unknown)?;
            match answer? {
                Cas::Done(version) => Ok(Cas::Done(asked.version(version))),
                Cas::Lost(found) => {
                    let found = self.take_in(key, asked, before, found).await?;
                    Ok(Cas::Lost(self.show(asked, found)))
                }
            }
        })
    }

    fn claim<'a>(&'a self, claim: &'a Claim) -> StoreResult<'a, Cas> {
        Box::pin(async move {
            let asked = self.enter().await?;
            if self.recovery.is_some() || self.watch.is_some() {
                return self.claim_slowly(asked, claim).await;
            }
            self.check_class()?;
            let before = self.met(&claim.key);
            let write = self.memory().begin();
            match self.judged(self.inner.claim(claim).await)? {
                Cas::Done(version) => {
                    self.acknowledged(write);
                    let before = self.met(&claim.key);
                    // What is not known to have stood at the version before says nothing about this one.
                    if let Some(met) = before.filter(|met| met.version == claim.expected) {
                        let mark = met.mark.saturating_add(claim.add);
                        self.memory().moved(&claim.key, version, mark, claim.token);
                    }
                    Ok(Cas::Done(version))
                }
                Cas::Lost(found) => Ok(Cas::Lost(self.take_in(&claim.key, asked, before, found).await?)),
            }
        })
    }

    fn stopped(&self) -> Option<StoreError> {
        let stopped = self.stopped.lock().unwrap_or_else(PoisonError::into_inner);
        stopped.clone().or_else(|| self.inner.stopped())
    }
}
