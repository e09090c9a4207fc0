//! How far the store has come, so that one that was set back is told from one that was not, by processes that were
//! not there (protocol E3).
//!
//! One register, `cluster/progress`, is raised about once a second by whoever looks at it and finds that nobody
//! else has: its mark is the *counter*, its body says how often the store was *restored* properly, and whether a
//! server has found it set back. A machine remembers the highest it has met (`seen`). At a start:
//!
//! ```text
//!   restores higher than remembered     mint store restore was here: what was remembered is over
//!   the same, counter not lower         the store goes on
//!   lower, or found set back            refused, until mint store restore has raised every mark
//! ```
//!
//! A start that knows nothing waits with its first reservation for the others: one that lives raises the counter
//! within a second, or has found the store set back and says so here. Six seconds of silence: nobody lives.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mintage::Timestamp;
use serde::{Deserialize, Serialize};

use super::memory::Met;
use super::{CONFIRM_PAUSE, CONFIRM_TRIES, Guard};
use crate::notes::too_many_writers;
use crate::runtime::{Runtime, fresh_token};
use crate::store::{
    Cas, Key, Known, Marks, PROGRESS_KEY, Progress, Reserved, Seen, Store, StoreError, Value, Version,
    Versioned,
};

/// How long the first reservation of a process waits at most for others that live: one whose connection broke with the
/// store may need two tries of two seconds, and another second to see that it was set back.
const OTHERS_WITHIN: Duration = Duration::from_secs(6);
/// How often it looks meanwhile.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// How often a lost race for the register is tried again.
const TRIES: usize = 64;

#[derive(Serialize, Deserialize, Default)]
struct Body {
    restores: u64,
    /// Why a server found that the store was set back; over with the next restore.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    set_back: Option<String>,
    /// What the ids of those who raise it read, in milliseconds since 1970 (protocol C2).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    vouched_ms: Option<i64>,
}

/// The register, as it was read.
#[derive(Clone, Debug)]
struct Found {
    progress: Progress,
    set_back: Option<String>,
    vouched_ms: Option<i64>,
    version: Version,
}

impl Found {
    fn read(found: &Versioned) -> Found {
        // What makes no sense is of a newer program, which restored more often than any we know of.
        let body: Body = serde_json::from_str(&found.value.body).unwrap_or(Body {
            restores: u64::MAX,
            set_back: Some("its record of progress cannot be understood".to_string()),
            vouched_ms: None,
        });
        Found {
            progress: Progress {
                restores: body.restores,
                counter: found.value.mark,
            },
            set_back: body.set_back,
            vouched_ms: body.vouched_ms,
            version: found.version,
        }
    }
}

fn key() -> Key {
    Key::new(PROGRESS_KEY).expect("a constant within the key grammar")
}

fn value(progress: Progress, set_back: Option<String>, runtime: &dyn Runtime) -> Value {
    let body = Body {
        restores: progress.restores,
        set_back,
        vouched_ms: None,
    };
    value_of(progress, &body, runtime)
}

fn value_of(progress: Progress, body: &Body, runtime: &dyn Runtime) -> Value {
    Value {
        mark: progress.counter.min(i64::MAX as u64),
        token: fresh_token(runtime),
        body: serde_json::to_string(body).expect("plain fields always serialise"),
    }
}

/// What the ids of the servers on a store that several share read last, as the store knows; a restore forgets it.
pub(crate) async fn vouched(store: &dyn Store) -> Result<Option<Timestamp>, StoreError> {
    let found = store.get(&key()).await?.as_ref().map(Found::read);
    Ok(found
        .and_then(|found| found.vouched_ms)
        .map(Timestamp::from_unix_millis))
}

/// Notes that the store was restored properly, every mark of it raised: each machine's memory of it is over, and what
/// stopped for good may start again. The last step of a restore. Does nothing to a store that is ours alone.
///
/// ```
/// # use mintage_ledger::*;
/// # let tokio = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
/// # tokio.block_on(async {
/// let runtime = SystemRuntime::new(tokio::runtime::Handle::current());
/// let store = MemoryStore::shared(7);
/// tools::note_progress_restored(&*store, &*runtime).await?;
/// let noted = store.get(&Key::new("cluster/progress")?).await?;
/// assert_eq!(noted.map(|noted| noted.value.mark), Some(1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// The store does not answer, or others write to it all the time.
pub async fn note_progress_restored(store: &dyn Store, runtime: &dyn Runtime) -> Result<(), StoreError> {
    if store.exclusive() {
        return Ok(());
    }
    let remembered = match store.seen() {
        Some(seen) => seen.known()?.restores(),
        None => 0,
    };
    for _ in 0..TRIES {
        let found = store.get(&key()).await?;
        let found = found.as_ref().map(Found::read);
        let now = found.as_ref().map_or(Progress::default(), |found| found.progress);
        // The time is higher than what any machine can remember of a restore before, whatever was lost since.
        let wall = u64::try_from(runtime.wall().unix_millis()).unwrap_or(0);
        let restored = Progress {
            restores: wall.max(now.restores.max(remembered).saturating_add(1)),
            counter: now.counter.saturating_add(1),
        };
        let version = found.map(|found| found.version);
        let written = store
            .compare_and_set(&key(), version, value(restored, None, runtime), Marks::NeverLower)
            .await?;
        if let Cas::Done(_) = written {
            return Ok(());
        }
    }
    Err(too_many_writers(&key()))
}

/// Why a server of this machine would refuse the store, as set back; changes nothing.
pub(crate) async fn set_back(store: &dyn Store) -> Result<Option<String>, StoreError> {
    let watch = Watch::new(store.seen(), None);
    let known = watch.remember()?;
    let found = store.get(&key()).await?.as_ref().map(Found::read);
    if let Some((why, _)) = watch.contradiction(found.as_ref()) {
        return Ok(Some(why));
    }
    let now = found.map_or(Progress::default(), |found| found.progress);
    let marks = known
        .marks
        .iter()
        .filter(|_| now.restores == known.progress.restores);
    for (key, mark) in marks {
        let found = store.get(key).await?;
        if let Some(why) = Met::from(mark).gone_back(found.as_ref(), false) {
            return Ok(Some(format!("{key} {why}")));
        }
    }
    Ok(None)
}

/// How far the store has come, by a look at it.
#[derive(Debug)]
struct Shown {
    progress: Progress,
    /// How many writes had begun before.
    begun: u64,
    /// Which copy of the store has shown it.
    copy: Option<String>,
}

/// What this process knows of the store's progress.
#[derive(Debug)]
pub(super) struct Watch {
    seen: Option<Arc<Seen>>,
    /// The register of this process's journal: whoever had it before us is gone.
    ours: Option<Key>,
    state: Mutex<State>,
    /// The store was compared with what was known.
    admitted: AtomicBool,
    /// Nobody lives who could know better.
    trusted: AtomicBool,
    /// One at a time.
    busy: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct State {
    /// The highest that was met and is kept.
    known: Progress,
    /// What the last look has shown beyond, until that is known to be kept (protocol R6).
    shown: Option<Shown>,
    /// What this machine noted when it stopped before.
    stopped: Option<(u64, String)>,
    /// What the first look met, and when.
    first: (Progress, Duration),
    /// What the look before met.
    last: Option<Progress>,
    /// What others must learn.
    to_tell: Option<String>,
}

impl Watch {
    pub(super) fn new(seen: Option<Arc<Seen>>, ours: Option<Key>) -> Watch {
        Watch {
            seen,
            ours,
            state: Mutex::default(),
            admitted: AtomicBool::new(false),
            trusted: AtomicBool::new(false),
            busy: tokio::sync::Mutex::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes in what this machine remembers.
    fn remember(&self) -> Result<Known, StoreError> {
        let known = match &self.seen {
            Some(seen) => seen.known()?,
            None => Known::default(),
        };
        let mut state = self.state();
        state.known = state.known.max(known.progress);
        state.stopped.clone_from(&known.stopped);
        Ok(known)
    }

    /// Before the first call: refuses a store that is behind what this machine remembers.
    pub(super) async fn admit(&self, guard: &Guard) -> Result<(), StoreError> {
        if self.admitted.load(Ordering::Acquire) {
            return Ok(());
        }
        let _alone = self.busy.lock().await;
        if self.admitted.load(Ordering::Acquire) {
            return Ok(());
        }
        let mut known = self.remember()?;
        let found = self.look(guard).await?;
        let now = found.as_ref().map_or(Progress::default(), |found| found.progress);
        if now.restores > known.progress.restores {
            known.marks.clear();
            known.progress = now;
        }
        guard.memory().remember(&known.marks);
        // A store that was never served has nothing to lose.
        let alone = found.is_none() || !self.others(guard).await?;
        self.trusted.store(alone, Ordering::Release);
        self.state().first = (now, guard.runtime.boottime());
        if let Some(seen) = &self.seen {
            seen.begin(&known);
        }
        self.admitted.store(true, Ordering::Release);
        Ok(())
    }

    /// Whether anybody else was ever seen in the store, who may live.
    async fn others(&self, guard: &Guard) -> Result<bool, StoreError> {
        let prefix = Key::new("instance/").expect("a constant within the key grammar");
        let page = guard.judged(guard.inner.scan(&prefix, None, 2).await)?;
        Ok(page.iter().any(|(key, _)| Some(key) != self.ours.as_ref()))
    }

    /// Reads the register and compares it with what is known.
    async fn look(&self, guard: &Guard) -> Result<Option<Found>, StoreError> {
        for again in 0.. {
            let found = guard.judged(guard.inner.get(&key()).await)?;
            let found = found.as_ref().map(Found::read);
            let (why, is_sure) = match self.contradiction(found.as_ref()) {
                None => {
                    if let Some(found) = &found {
                        self.saw(Shown {
                            progress: found.progress,
                            begun: guard.memory().begun(),
                            copy: guard.inner.incarnation(),
                        });
                    }
                    return Ok(found);
                }
                Some(why) => why,
            };
            // A read that was overtaken on its way says the same once.
            if is_sure || again == CONFIRM_TRIES {
                return Err(guard.set_back(&why).await);
            }
            guard.runtime.sleep(CONFIRM_PAUSE).await;
        }
        unreachable!("the loop ends by itself")
    }

    /// Why the store must not be used, and whether one answer is enough to say so.
    fn contradiction(&self, found: Option<&Found>) -> Option<(String, bool)> {
        let now = found.map_or(Progress::default(), |found| found.progress);
        let mut state = self.state();
        if let Some(why) = found.and_then(|found| found.set_back.as_ref()) {
            return Some((format!("another server has found that {why}"), true));
        }
        if state
            .stopped
            .as_ref()
            .is_some_and(|(restores, _)| now.restores > *restores)
        {
            state.stopped = None;
        }
        if let Some((_, why)) = &state.stopped {
            return Some((format!("this machine stopped for good before, since {why}"), true));
        }
        if now < state.known {
            let (is, was) = match now.restores == state.known.restores {
                true => (now.counter, state.known.counter),
                false => (now.restores, state.known.restores),
            };
            let what = match now.restores == state.known.restores {
                true => "change counter",
                false => "count of restores",
            };
            return Some((
                format!("it was set back: its {what} is {is}, this machine has met {was}"),
                false,
            ));
        }
        None
    }

    /// What a look at the store has shown. That alone: what one before it has shown may have been lost since.
    fn saw(&self, shown: Shown) {
        let mut state = self.state();
        state.shown = (shown.progress > state.known).then_some(shown);
    }

    /// A write of ours, of this number, was acknowledged by this copy: what that had shown before is kept.
    pub(super) fn acknowledged(&self, write: u64, copy: &Option<String>) {
        let mut state = self.state();
        let kept = state.shown.take_if(|shown| shown.begun < write);
        if let Some(kept) = kept.filter(|kept| kept.copy == *copy) {
            state.known = state.known.max(kept.progress);
        }
    }

    /// A call failed: the store that answers next may lack what was shown and not kept.
    pub(super) fn failed(&self) {
        self.state().shown = None;
    }

    /// Before the first write that reserves: waits until those who live have had their say.
    pub(super) async fn trust(&self, guard: &Guard) -> Result<(), StoreError> {
        if self.trusted.load(Ordering::Acquire) {
            return Ok(());
        }
        let _alone = self.busy.lock().await;
        while !self.trusted.load(Ordering::Acquire) {
            let found = self.look(guard).await?;
            if !self.is_settled(guard, found.as_ref()) {
                guard.runtime.sleep(LOOK_EVERY).await;
            }
        }
        Ok(())
    }

    /// Whether the counter was moved by somebody who knows the store, or nobody has moved it who lives.
    fn is_settled(&self, guard: &Guard, found: Option<&Found>) -> bool {
        let (first, at) = self.state().first;
        let moved = found.is_some_and(|found| found.progress > first);
        let silent = guard.runtime.boottime().saturating_sub(at) >= OTHERS_WITHIN;
        if moved || silent {
            self.trusted.store(true, Ordering::Release);
        }
        self.trusted.load(Ordering::Acquire)
    }

    /// Once a second: compares, raises the counter if nobody else has, and remembers it; or tells the others why
    /// minting has ended.
    pub(super) async fn beat(&self, guard: &Guard) -> Result<(), StoreError> {
        if guard.stopped().is_some() {
            return self.tell(guard).await;
        }
        self.admit(guard).await?;
        let found = self.look(guard).await?;
        if !self.is_settled(guard, found.as_ref()) {
            return Ok(());
        }
        let mut now = found.as_ref().map_or(Progress::default(), |found| found.progress);
        let is_due = self.state().last.is_none_or(|last| last == now);
        if is_due {
            let raised = Progress {
                counter: now.counter.saturating_add(1),
                ..now
            };
            let own_ms = Some(guard.vouched_ms.load(Ordering::Acquire)).filter(|ms| *ms != 0);
            let body = Body {
                restores: raised.restores,
                set_back: None,
                // Whose ids get no time passes on what others vouched for.
                vouched_ms: own_ms.or(found.as_ref().and_then(|found| found.vouched_ms)),
            };
            let version = found.map(|found| found.version);
            let new = value_of(raised, &body, &*guard.runtime);
            let write = guard.memory().begin();
            let written = guard
                .inner
                .compare_and_set(&key(), version, new, Marks::NeverLower)
                .await;
            // Lost: somebody else has raised it, which the next look shows.
            if let Cas::Done(_) = guard.judged(written)? {
                guard.acknowledged(write);
                now = raised;
                self.state().known = raised;
            }
        }
        let known = {
            let mut state = self.state();
            state.last = Some(now);
            state.known
        };
        if let Some(seen) = &self.seen {
            seen.advance(known);
        }
        Ok(())
    }

    /// Remembers a register that was reserved from, before a number of it is seen.
    pub(super) fn reserved(&self, key: &Key, found: &Versioned) {
        let counts = ["seq/", "window/"]
            .iter()
            .any(|prefix| key.as_str().starts_with(prefix));
        if let Some(seen) = self.seen.as_ref().filter(|_| counts && found.value.mark > 0) {
            seen.reserved(
                key,
                Reserved {
                    version: found.version,
                    mark: found.value.mark,
                    token: found.value.token,
                },
            );
        }
    }

    /// Notes on this machine, durably, that minting has ended for good.
    pub(super) fn stop(&self, why: &str) {
        let mut state = self.state();
        state.to_tell = Some(why.to_string());
        let restores = state.known.restores;
        if state.stopped.is_none()
            && let Some(seen) = &self.seen
        {
            seen.stop(restores, why);
        }
    }

    /// The store as people call it.
    pub(super) fn place(&self) -> Option<String> {
        self.seen.as_ref().map(|seen| seen.place())
    }

    /// Says in the store itself that it was set back, where every server looks; one that was restored properly since
    /// is left alone.
    pub(super) async fn tell(&self, guard: &Guard) -> Result<(), StoreError> {
        let (why, known) = {
            let state = self.state();
            match &state.to_tell {
                Some(why) => (why.clone(), state.known),
                None => return Ok(()),
            }
        };
        for _ in 0..TRIES {
            let found = guard.inner.get(&key()).await?;
            let found = found.as_ref().map(Found::read);
            let now = found.as_ref().map_or(Progress::default(), |found| found.progress);
            if now.restores > known.restores || found.as_ref().is_some_and(|found| found.set_back.is_some()) {
                return Ok(());
            }
            let version = found.map(|found| found.version);
            let new = value(now, Some(why.clone()), &*guard.runtime);
            let written = guard
                .inner
                .compare_and_set(&key(), version, new, Marks::NeverLower)
                .await?;
            if let Cas::Done(_) = written {
                return Ok(());
            }
        }
        Ok(())
    }
}
