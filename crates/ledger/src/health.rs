//! Whether the store answers, and since when it does not.
//!
//! Every call of the ledger goes through [`WatchedStore`]. A shared store that has not answered for a second is asked by
//! one task alone ([`WatchedStore::probe`]) until it answers again; all other calls are refused at once, so that nobody
//! waits for a store that is known to be down. Reservations that failed in the background are waiting meanwhile, and
//! all of them are woken by the first answer.
//!
//! An outage can be rehearsed ([`Health::rehearse`]): for a while no call is sent, and each fails as that of a store
//! fails which cannot be reached. Everything above this seam sees what it sees in an outage.

use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::task::{Context as Poller, Poll};
use std::time::Duration;

use mintage::Timestamp;

use crate::delegate_store;
use crate::runtime::{BoxFuture, Runtime, fresh_token};
use crate::store::{
    Cas, Claim, Key, Marks, Outcome, Store, StoreError, StoreErrorKind, StoreResult, Value, Version,
    Versioned,
};
use crate::striped::{AsStriped, Striped};

/// How long a store must have been silent before calls are refused without asking it.
const OPEN_AFTER: Duration = Duration::from_secs(1);

/// Somebody who tries again as soon as the store answers.
pub(crate) trait Waiting: Send + Sync {
    /// The store may answer again.
    fn try_again(self: Arc<Self>);
}

/// What is known of the store.
#[derive(Debug)]
pub(crate) struct Health {
    runtime: Arc<dyn Runtime>,
    /// When the first of the calls began that have all failed since.
    down_since: Mutex<Option<Duration>>,
    /// The last call failed.
    failing: AtomicBool,
    /// How often it came back.
    recoveries: AtomicU64,
    /// What the log was told of: that the store is away, and how many calls failed since.
    away: Mutex<Option<Away>>,
    /// Since when nothing can be reserved in a store that is ours alone though it answers, and why: its disk is full.
    no_room: Mutex<Option<(Duration, String)>>,
    waiting: Mutex<Waiters>,
    anybody_waits: AtomicBool,
    /// Until when the store is treated as if it were away, in nanoseconds of boot time; 0: it is not.
    rehearsed_until: AtomicU64,
    /// The last time that it was away.
    last_outage: Mutex<Option<Outage>>,
}

/// A time in which the store did not answer, and which is over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Outage {
    /// When the first of the calls began that failed, in the boot time of this machine.
    pub began: Duration,
    /// How long no call succeeded.
    pub lasted: Duration,
}

/// A store that does not answer, as the log knows it.
#[derive(Debug)]
struct Away {
    failed: u64,
    why: String,
    told: bool,
}

#[derive(Default)]
struct Waiters(Vec<Weak<dyn Waiting>>);

impl std::fmt::Debug for Waiters {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} waiting", self.0.len())
    }
}

impl Health {
    pub(crate) fn new(runtime: Arc<dyn Runtime>) -> Arc<Health> {
        Arc::new(Health {
            runtime,
            down_since: Mutex::default(),
            failing: AtomicBool::new(false),
            recoveries: AtomicU64::new(0),
            away: Mutex::default(),
            no_room: Mutex::default(),
            waiting: Mutex::default(),
            anybody_waits: AtomicBool::new(false),
            rehearsed_until: AtomicU64::new(0),
            last_outage: Mutex::default(),
        })
    }

    /// Treats the store as if it were away for `length`. When that ends, in nanoseconds of boot time.
    pub(crate) fn begin_rehearsal(&self, length: Duration) -> u64 {
        let until = self.runtime.boottime().saturating_add(length);
        let until = u64::try_from(until.as_nanos()).unwrap_or(u64::MAX);
        self.rehearsed_until.store(until, Ordering::Release);
        until
    }

    /// Ends the rehearsal, or only the one that ends then; whether there was one.
    pub(crate) fn end_rehearsal(&self, until: Option<u64>) -> bool {
        let until = until.unwrap_or_else(|| self.rehearsed_until.load(Ordering::Acquire));
        let ended = self
            .rehearsed_until
            .compare_exchange(until, 0, Ordering::AcqRel, Ordering::Acquire);
        until > 0 && ended.is_ok()
    }

    /// For how much longer the store is treated as if it were away.
    pub(crate) fn rehearsal_left(&self) -> Option<Duration> {
        let until = self.rehearsed_until.load(Ordering::Acquire);
        if until == 0 {
            return None;
        }
        let left = Duration::from_nanos(until).checked_sub(self.runtime.boottime())?;
        (!left.is_zero()).then_some(left)
    }

    /// The last time that the store did not answer for a second, once it has answered again.
    pub(crate) fn last_outage(&self) -> Option<Outage> {
        *self.last_outage.lock().expect("no panic while held")
    }

    /// Refuses a call that is not sent, while an outage is rehearsed.
    pub(crate) fn admit_rehearsed(&self) -> Result<(), StoreError> {
        match self.rehearsal_left() {
            None => Ok(()),
            Some(_) => Err(unavailable(
                Outcome::NotDone,
                "an outage is rehearsed: the store is treated as if it were away".to_string(),
            )),
        }
    }

    /// For how long no call has succeeded, while calls fail.
    pub(crate) fn down_for(&self) -> Option<Duration> {
        if !self.failing.load(Ordering::Acquire) {
            return None;
        }
        let since = (*self.down_since.lock().expect("no panic while held"))?;
        Some(self.runtime.boottime().saturating_sub(since))
    }

    /// How often the store has come back.
    pub(crate) fn recoveries(&self) -> u64 {
        self.recoveries.load(Ordering::Acquire)
    }

    /// Why nothing can be reserved, until a reservation has succeeded again.
    pub(crate) fn no_room(&self) -> Option<String> {
        let no_room = self.no_room.lock().expect("no panic while held");
        let (since, why) = no_room.as_ref()?;
        let seconds = self.runtime.boottime().saturating_sub(*since).as_secs();
        Some(format!("nothing can be reserved for {seconds} s: {why}"))
    }

    fn note_write<T>(&self, begun: Duration, answer: &Result<T, StoreError>) {
        let mut no_room = self.no_room.lock().expect("no panic while held");
        match answer {
            Ok(_) => {
                if let Some((since, _)) = no_room.take() {
                    let for_ms = self.runtime.boottime().saturating_sub(since).as_millis() as u64;
                    tracing::info!(for_ms, "reservations succeed again");
                }
            }
            Err(error) if error.kind == StoreErrorKind::Unavailable => {
                no_room.get_or_insert_with(|| {
                    tracing::error!(%error, "nothing can be reserved: what is in stock is given out to its end");
                    (begun, error.message.clone())
                });
            }
            Err(_) => {}
        }
    }

    /// Tells `who` once a call has succeeded.
    pub(crate) fn tell_when_up(&self, who: Weak<dyn Waiting>) {
        let mut waiting = self.waiting.lock().expect("no panic while held");
        waiting.0.push(who);
        self.anybody_waits.store(true, Ordering::Release);
    }

    /// Whether anybody waits for an answer that no other call would bring.
    pub(crate) fn anybody_waits(&self) -> bool {
        self.anybody_waits.load(Ordering::Acquire)
    }

    /// Refuses a call without asking, while the store is known to be silent.
    fn admit(&self) -> Result<(), StoreError> {
        match self.down_for().filter(|down| *down >= OPEN_AFTER) {
            None => Ok(()),
            Some(down) => Err(unavailable(
                Outcome::NotDone,
                format!("the store has not answered for {} s", down.as_secs()),
            )),
        }
    }

    fn failed(&self, begun: Duration, why: &StoreError) {
        self.away
            .lock()
            .expect("no panic while held")
            .get_or_insert_with(|| Away {
                failed: 0,
                why: why.to_string(),
                told: false,
            })
            .failed += 1;
        let mut down_since = self.down_since.lock().expect("no panic while held");
        down_since.get_or_insert(begun);
        self.failing.store(true, Ordering::Release);
    }

    /// The store could not be opened, for this reason.
    pub(crate) fn is_away(&self, why: &StoreError) {
        self.failed(self.runtime.boottime(), why);
    }

    fn answered(&self) {
        if self.failing.load(Ordering::Acquire) {
            let mut down_since = self.down_since.lock().expect("no panic while held");
            let since = down_since.take();
            self.failing.store(false, Ordering::Release);
            self.recoveries.fetch_add(1, Ordering::AcqRel);
            self.tell_back(since);
        }
        if self.anybody_waits.load(Ordering::Acquire) {
            self.wake();
        }
    }

    /// Tells the log that the store has not answered for a second; once, however often it is asked meanwhile.
    pub(crate) fn tell_away(&self) {
        let Some(down) = self.down_for().filter(|down| *down >= OPEN_AFTER) else {
            return;
        };
        let mut away = self.away.lock().expect("no panic while held");
        if let Some(away) = away.as_mut().filter(|away| !away.told) {
            away.told = true;
            tracing::warn!(for_ms = down.as_millis() as u64, error = %away.why, "the store does not answer");
        }
    }

    #[cold]
    fn tell_back(&self, since: Option<Duration>) {
        let away = self.away.lock().expect("no panic while held").take();
        if let Some(began) = since {
            let lasted = self.runtime.boottime().saturating_sub(began);
            if lasted >= OPEN_AFTER {
                *self.last_outage.lock().expect("no panic while held") = Some(Outage { began, lasted });
            }
        }
        if let Some((since, away)) = since.zip(away).filter(|(_, away)| away.told) {
            let for_ms = self.runtime.boottime().saturating_sub(since).as_millis() as u64;
            tracing::info!(for_ms, failed = away.failed, "the store answers again");
        }
    }

    #[cold]
    fn wake(&self) {
        let waiting = {
            let mut waiting = self.waiting.lock().expect("no panic while held");
            self.anybody_waits.store(false, Ordering::Release);
            std::mem::take(&mut waiting.0)
        };
        for who in waiting.iter().filter_map(Weak::upgrade) {
            who.try_again();
        }
    }

    fn note<T>(&self, begun: Duration, answer: &Result<T, StoreError>) {
        match answer {
            Err(error) if error.kind == StoreErrorKind::Unavailable => self.failed(begun, error),
            _ => self.answered(),
        }
    }
}

/// Seconds, with the one that has begun.
pub(crate) fn whole_seconds(left: Duration) -> u64 {
    left.as_secs() + u64::from(left.subsec_nanos() > 0)
}

fn unavailable(outcome: Outcome, message: String) -> StoreError {
    StoreError::new(StoreErrorKind::Unavailable, outcome, message)
}

/// A store whose calls are watched; calls of a shared one have an end.
#[derive(Debug)]
pub(crate) struct WatchedStore {
    inner: Arc<dyn Store>,
    health: Arc<Health>,
    /// A shared store's call that takes longer is given up. The embedded store's is not: a slow disk still does
    /// what it was told.
    timeout: Option<Duration>,
}

impl WatchedStore {
    pub(crate) fn new(inner: Arc<dyn Store>, health: Arc<Health>, timeout: Duration) -> WatchedStore {
        let timeout = (!inner.exclusive()).then_some(timeout);
        WatchedStore {
            inner,
            health,
            timeout,
        }
    }

    /// Asks the store whether it answers.
    pub(crate) async fn probe(&self) {
        let key = Key::new("meta/probe").expect("within the key grammar");
        // Whoever waits for numbers tries by himself; where nobody does, this finds out that there is room again.
        if self.health.no_room().is_some() && !self.health.anybody_waits() {
            return self.probe_for_room(&key).await;
        }
        // Whatever it says was noted. Of a set any store will do.
        let _ = match self.inner.striped() {
            Some(set) => {
                self.timed("get", Outcome::NotDone, || Box::pin(set.probe(&key)))
                    .await
            }
            None => {
                let get = self.timed("get", Outcome::NotDone, || self.inner.get(&key));
                get.await.map(|_| ())
            }
        };
    }

    /// Writes a register that nobody reads, and removes it.
    async fn probe_for_room(&self, key: &Key) {
        let value = Value {
            mark: 0,
            token: fresh_token(&*self.health.runtime),
            body: "{}".to_string(),
        };
        let written = self.compare_and_set(key, None, value, Marks::NeverLower).await;
        let version = match written {
            Ok(Cas::Done(version)) => Some(version),
            Ok(Cas::Lost(found)) => found.map(|found| found.version),
            Err(_) => None,
        };
        if let Some(version) = version {
            // What stays is removed by the next probe.
            let _ = self.inner.remove(key, version).await;
        }
    }

    async fn call<'a, T>(
        &self,
        what: &'static str,
        unclear: Outcome,
        call: impl FnOnce() -> BoxFuture<'a, Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        if self.timeout.is_some() {
            self.health.admit()?;
        }
        self.timed(what, unclear, call).await
    }

    /// What `call` answers; a store that is ours alone is watched for room.
    async fn write<T>(&self, call: impl Future<Output = Result<T, StoreError>>) -> Result<T, StoreError> {
        if self.timeout.is_some() {
            return call.await;
        }
        let begun = self.health.runtime.boottime();
        let answer = call.await;
        self.health.note_write(begun, &answer);
        answer
    }

    async fn timed<'a, T>(
        &self,
        what: &'static str,
        unclear: Outcome,
        call: impl FnOnce() -> BoxFuture<'a, Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let begun = self.health.runtime.boottime();
        if let Err(error) = self.health.admit_rehearsed() {
            // Of a set, too, all are away.
            self.health.failed(begun, &error);
            return Err(error);
        }
        let answered = match self.timeout {
            None => Some(call().await),
            Some(timeout) => within(call(), self.health.runtime.sleep(timeout)).await,
        };
        // One store of a set that is away says nothing of the others, whether it refused or was waited for in vain.
        let of_one = match &answered {
            None => true,
            Some(answer) => matches!(answer, Err(error) if error.kind == StoreErrorKind::Unavailable),
        };
        let says_nothing = of_one && self.inner.striped().is_some_and(Striped::any_alive);
        let timeout_ms = self.timeout.unwrap_or_default().as_millis();
        let answer = answered.unwrap_or_else(|| {
            let why = format!("the store did not answer a {what} within {timeout_ms} ms");
            Err(unavailable(unclear, why))
        });
        if !says_nothing {
            self.health.note(begun, &answer);
        }
        answer
    }
}

/// What `call` answers before `end` comes.
async fn within<T>(call: impl Future<Output = T>, end: impl Future<Output = ()>) -> Option<T> {
    let (mut call, mut end) = (pin!(call), pin!(end));
    std::future::poll_fn(|cx: &mut Poller<'_>| {
        if let Poll::Ready(answer) = call.as_mut().poll(cx) {
            return Poll::Ready(Some(answer));
        }
        end.as_mut().poll(cx).map(|()| None)
    })
    .await
}

impl Store for WatchedStore {
    delegate_store!(inner, but wall get compare_and_set scan remove claim reachable tend);

    fn reachable(&self, key: &Key) -> bool {
        let all_away = self.inner.striped().is_some() && self.health.rehearsal_left().is_some();
        !all_away && self.inner.reachable(key)
    }

    fn tend(&self) -> BoxFuture<'_, ()> {
        match self.health.rehearsal_left() {
            Some(_) => Box::pin(std::future::ready(())),
            None => self.inner.tend(),
        }
    }

    fn wall(&self) -> StoreResult<'_, Option<Timestamp>> {
        Box::pin(self.call("question for its clock", Outcome::NotDone, || self.inner.wall()))
    }

    fn get<'a>(&'a self, key: &'a Key) -> StoreResult<'a, Option<Versioned>> {
        Box::pin(self.call("get", Outcome::NotDone, || self.inner.get(key)))
    }

    fn compare_and_set<'a>(
        &'a self,
        key: &'a Key,
        expected: Option<Version>,
        new: Value,
        marks: Marks,
    ) -> StoreResult<'a, Cas> {
        let call = move || self.inner.compare_and_set(key, expected, new, marks);
        Box::pin(self.write(self.call("compare-and-set", Outcome::Unknown, call)))
    }

    fn scan<'a>(
        &'a self,
        prefix: &'a Key,
        after: Option<&'a Key>,
        limit: u16,
    ) -> StoreResult<'a, Vec<(Key, Versioned)>> {
        Box::pin(self.call("scan", Outcome::NotDone, move || {
            self.inner.scan(prefix, after, limit)
        }))
    }

    fn remove<'a>(&'a self, key: &'a Key, expected: Version) -> StoreResult<'a, Cas> {
        Box::pin(self.call("remove", Outcome::Unknown, move || {
            self.inner.remove(key, expected)
        }))
    }

    fn claim<'a>(&'a self, claim: &'a Claim) -> StoreResult<'a, Cas> {
        Box::pin(self.write(self.call("claim", Outcome::Unknown, || self.inner.claim(claim))))
    }
}
