//! A wrapper that makes any store fail on purpose, the same way for the same seed.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::watch;

use super::rules::wrote;
use super::{
    Cas, Claim, Key, Marks, Outcome, Store, StoreError, StoreErrorKind, StoreResult, Value, Version,
    Versioned,
};
use crate::delegate_store;
use crate::runtime::{BoxFuture, Runtime};

/// How often a call fails, and how. Chances are per 1,000 calls; together at most 1,000.
#[derive(Clone, Debug)]
pub struct FaultPlan {
    /// Decides everything: the n-th call behaves the same in every run.
    pub seed: u64,
    /// Done, but the answer is lost: the caller sees an unknown outcome.
    pub answer_lost: u32,
    /// Not done, and the caller knows.
    pub refused: u32,
    /// Not done, but the caller sees an unknown outcome.
    pub unknown: u32,
    /// The longest wait before the call and again before its answer; zero for none.
    pub max_delay: Duration,
}

impl FaultPlan {
    /// Every call succeeds at once until [`FaultyStore::fail_all`].
    pub const NONE: FaultPlan = FaultPlan {
        seed: 0,
        answer_lost: 0,
        refused: 0,
        unknown: 0,
        max_delay: Duration::ZERO,
    };

    /// One call in five fails, in every way, without delay.
    pub const fn rough(seed: u64) -> FaultPlan {
        FaultPlan {
            seed,
            answer_lost: 80,
            refused: 60,
            unknown: 60,
            max_delay: Duration::ZERO,
        }
    }
}

/// What a [`FaultyStore`] did so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FaultCounts {
    /// Calls that came in.
    pub calls: u64,
    /// Calls done and answered truthfully, refusals of the inner store included.
    pub answered: u64,
    /// Calls done whose answer was lost.
    pub answer_lost: u64,
    /// Writes among them that really changed a register.
    pub hidden_writes: u64,
    /// Calls refused, not done.
    pub refused: u64,
    /// Calls not done that were answered with an unknown outcome.
    pub unknown: u64,
}

#[derive(Default, Debug)]
struct Counters {
    calls: AtomicU64,
    answered: AtomicU64,
    answer_lost: AtomicU64,
    hidden_writes: AtomicU64,
    refused: AtomicU64,
    unknown: AtomicU64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fate {
    Answered,
    AnswerLost,
    Refused,
    Unknown,
}

/// Any store, failing on purpose in the four ways a network can: done and answered; done, answer lost; not
/// done, error; not done, answer unknown. Reads that "may have happened" are reported as not done, since
/// they change nothing.
pub struct FaultyStore {
    inner: Arc<dyn Store>,
    runtime: Arc<dyn Runtime>,
    plan: FaultPlan,
    all_fail: AtomicBool,
    writes_fail: AtomicBool,
    calm: AtomicBool,
    frozen: watch::Sender<bool>,
    counters: Counters,
}

impl FaultyStore {
    /// Wraps `inner`; delays go through `runtime`.
    pub fn new(inner: Arc<dyn Store>, runtime: Arc<dyn Runtime>, plan: FaultPlan) -> Arc<Self> {
        Arc::new(FaultyStore {
            inner,
            runtime,
            plan,
            all_fail: AtomicBool::new(false),
            writes_fail: AtomicBool::new(false),
            calm: AtomicBool::new(false),
            frozen: watch::Sender::new(false),
            counters: Counters::default(),
        })
    }

    /// From now on every call fails and nothing is done (`true`), or the plan holds again (`false`).
    pub fn fail_all(&self, on: bool) {
        self.all_fail.store(on, Ordering::SeqCst);
    }

    /// From now on every write fails and is not done (`true`), as on a full disk, or the plan holds again (`false`).
    pub fn fail_writes(&self, on: bool) {
        self.writes_fail.store(on, Ordering::SeqCst);
    }

    /// From now on no call fails by the plan.
    pub fn calm(&self) {
        self.calm.store(true, Ordering::SeqCst);
    }

    /// From now on no call is answered (`true`), or all go on (`false`): a server that was stopped in its tracks.
    /// Calls that come meanwhile are done when it goes on, unless their caller has given up.
    pub fn freeze(&self, on: bool) {
        self.frozen.send_replace(on);
    }

    /// What it did so far.
    pub fn counts(&self) -> FaultCounts {
        let read = |counter: &AtomicU64| counter.load(Ordering::SeqCst);
        FaultCounts {
            calls: read(&self.counters.calls),
            answered: read(&self.counters.answered),
            answer_lost: read(&self.counters.answer_lost),
            hidden_writes: read(&self.counters.hidden_writes),
            refused: read(&self.counters.refused),
            unknown: read(&self.counters.unknown),
        }
    }

    /// Draws the fate of the next call and the delays around it.
    fn draw(&self) -> (Fate, Duration, Duration) {
        let n = self.counters.calls.fetch_add(1, Ordering::SeqCst);
        let draw = |salt: u64| mix(self.plan.seed ^ mix(n.wrapping_mul(4).wrapping_add(salt)));
        let dice = (draw(0) % 1000) as u32;
        let (lost, refused) = (self.plan.answer_lost, self.plan.answer_lost + self.plan.refused);
        let fate = if self.all_fail.load(Ordering::SeqCst) {
            Fate::Refused
        } else if self.calm.load(Ordering::SeqCst) {
            Fate::Answered
        } else if dice < lost {
            Fate::AnswerLost
        } else if dice < refused {
            Fate::Refused
        } else if dice < refused + self.plan.unknown {
            Fate::Unknown
        } else {
            Fate::Answered
        };
        let longest = u64::try_from(self.plan.max_delay.as_nanos()).unwrap_or(u64::MAX);
        let delay = |salt| Duration::from_nanos(if longest == 0 { 0 } else { draw(salt) % longest });
        (fate, delay(1), delay(2))
    }

    async fn pause(&self, length: Duration) {
        if !length.is_zero() {
            self.runtime.sleep(length).await;
        }
    }

    async fn run<'a, T: Send>(
        &'a self,
        what: &'static str,
        write: bool,
        call: BoxFuture<'a, Result<T, StoreError>>,
        changed: fn(&Result<T, StoreError>) -> bool,
    ) -> Result<T, StoreError> {
        let (mut fate, before, after) = self.draw();
        if write && self.writes_fail.load(Ordering::SeqCst) {
            fate = Fate::Refused;
        }
        self.pause(before).await;
        // The sender lives as long as this store: no error.
        let _ = self.frozen.subscribe().wait_for(|frozen| !*frozen).await;
        let unclear = if write { Outcome::Unknown } else { Outcome::NotDone };
        let count = |counter: &AtomicU64| counter.fetch_add(1, Ordering::SeqCst);
        let answer = match fate {
            Fate::Answered => {
                count(&self.counters.answered);
                call.await
            }
            Fate::AnswerLost => {
                count(&self.counters.answer_lost);
                if changed(&call.await) {
                    count(&self.counters.hidden_writes);
                }
                Err(fault(what, unclear))
            }
            Fate::Refused => {
                count(&self.counters.refused);
                Err(fault(what, Outcome::NotDone))
            }
            Fate::Unknown => {
                count(&self.counters.unknown);
                Err(fault(what, unclear))
            }
        };
        self.pause(after).await;
        answer
    }
}

/// The SplitMix64 finaliser (Steele, Lea, Flood 2014): a fixed permutation, so that runs repeat.
const fn mix(mut z: u64) -> u64 {
    z = z.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn fault(what: &str, outcome: Outcome) -> StoreError {
    StoreError::new(
        StoreErrorKind::Unavailable,
        outcome,
        format!("{what} failed: injected fault"),
    )
}

impl fmt::Debug for FaultyStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FaultyStore")
            .field("inner", &self.inner)
            .field("plan", &self.plan)
            .finish()
    }
}

impl Store for FaultyStore {
    delegate_store!(inner, but get compare_and_set scan remove claim);

    fn get<'a>(&'a self, key: &'a Key) -> StoreResult<'a, Option<Versioned>> {
        Box::pin(self.run("get", false, self.inner.get(key), |_| false))
    }

    fn compare_and_set<'a>(
        &'a self,
        key: &'a Key,
        expected: Option<Version>,
        new: Value,
        marks: Marks,
    ) -> StoreResult<'a, Cas> {
        let call = self.inner.compare_and_set(key, expected, new, marks);
        Box::pin(self.run("compare-and-set", true, call, wrote))
    }

    fn scan<'a>(
        &'a self,
        prefix: &'a Key,
        after: Option<&'a Key>,
        limit: u16,
    ) -> StoreResult<'a, Vec<(Key, Versioned)>> {
        Box::pin(self.run("scan", false, self.inner.scan(prefix, after, limit), |_| false))
    }

    fn remove<'a>(&'a self, key: &'a Key, expected: Version) -> StoreResult<'a, Cas> {
        Box::pin(self.run("remove", true, self.inner.remove(key, expected), wrote))
    }

    fn claim<'a>(&'a self, claim: &'a Claim) -> StoreResult<'a, Cas> {
        Box::pin(self.run("claim", true, self.inner.claim(claim), wrote))
    }
}
