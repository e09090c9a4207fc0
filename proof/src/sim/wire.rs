//! The store as a simulated process sees it: requests that go out, answers that come back, sometimes.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use mintage::Timestamp;
use mintage_ledger::{
    BoxFuture, Cas, Claim, Class, Key, Marks, Outcome, Runtime, Store, StoreError, StoreErrorKind,
    StoreResult, Value, Version, Versioned,
};

use super::machine::lock;

/// What is asked of the store.
#[derive(Clone, Debug)]
pub(crate) enum Ask {
    Get(Key),
    Set {
        key: Key,
        expected: Option<Version>,
        value: Value,
        marks: Marks,
    },
    Scan {
        prefix: Key,
        after: Option<Key>,
        limit: u16,
    },
    Remove {
        key: Key,
        expected: Version,
    },
    Claim(Claim),
    Wall,
}

impl Ask {
    pub(crate) fn is_write(&self) -> bool {
        matches!(self, Ask::Set { .. } | Ask::Remove { .. } | Ask::Claim(_))
    }

    pub(crate) fn name(&self) -> &'static str {
        match self {
            Ask::Get(_) => "get",
            Ask::Set { .. } => "set",
            Ask::Scan { .. } => "scan",
            Ask::Remove { .. } => "remove",
            Ask::Claim(_) => "claim",
            Ask::Wall => "wall",
        }
    }
}

/// What the store answers.
#[derive(Clone, Debug)]
pub(crate) enum Told {
    Read(Option<Versioned>),
    Wrote(Cas),
    Page(Vec<(Key, Versioned)>),
    Wall(Option<Timestamp>),
    Failed(StoreError),
}

#[derive(Default)]
struct Slot {
    told: Option<Told>,
    waker: Option<Waker>,
}

#[derive(Default)]
struct Traffic {
    next: u64,
    out: Vec<(u64, Ask)>,
    waiting: BTreeMap<u64, Slot>,
}

const MEMBER_SHIFT: u32 = 48;

/// The store that a request goes to: 0, where there is no set of them.
pub(crate) fn member_of(id: u64) -> usize {
    (id >> MEMBER_SHIFT) as usize
}

/// One process's connection to the simulated store; the real ledger's [`Store`].
pub(crate) struct Line {
    runtime: Arc<dyn Runtime>,
    settings: LineSettings,
    traffic: Mutex<Traffic>,
    /// How often another copy of the store has answered.
    failovers: AtomicU64,
}

#[derive(Clone, Debug)]
pub(crate) struct LineSettings {
    pub timeout: Duration,
    /// One process at a time, by a lock.
    pub exclusive: bool,
    pub class: Class,
    /// Whether the store tells its own time.
    pub has_wall: bool,
    pub cluster_id: u128,
}

impl Line {
    /// A line to the store with this number, of which its requests' numbers tell: [`member_of`].
    pub(crate) fn new(runtime: Arc<dyn Runtime>, settings: LineSettings, member: usize) -> Arc<Line> {
        let traffic = Traffic {
            next: (member as u64) << MEMBER_SHIFT,
            ..Traffic::default()
        };
        Arc::new(Line {
            runtime,
            settings,
            traffic: Mutex::new(traffic),
            failovers: AtomicU64::new(0),
        })
    }

    /// Another copy of the store answers from now on; the connection was made anew, which no call has noticed.
    pub(crate) fn failed_over(&self) {
        self.failovers.fetch_add(1, Ordering::Relaxed);
    }

    /// The requests made since the last look.
    pub(crate) fn drain(&self) -> Vec<(u64, Ask)> {
        std::mem::take(&mut lock(&self.traffic).out)
    }

    /// An answer arrives; `false`: nobody waits for it any more.
    pub(crate) fn answer(&self, id: u64, told: Told) -> bool {
        let mut traffic = lock(&self.traffic);
        let Some(slot) = traffic.waiting.get_mut(&id).filter(|slot| slot.told.is_none()) else {
            return false;
        };
        slot.told = Some(told);
        let waker = slot.waker.take();
        drop(traffic);
        if let Some(waker) = waker {
            waker.wake();
        }
        true
    }

    pub(crate) fn waits(&self, id: u64) -> bool {
        lock(&self.traffic)
            .waiting
            .get(&id)
            .is_some_and(|slot| slot.told.is_none())
    }

    fn ask(&self, ask: Ask) -> Call<'_> {
        let write = ask.is_write();
        let name = ask.name();
        let mut traffic = lock(&self.traffic);
        let id = traffic.next;
        traffic.next += 1;
        traffic.out.push((id, ask));
        traffic.waiting.insert(id, Slot::default());
        Call {
            line: self,
            id,
            write,
            name,
            timer: self.runtime.sleep(self.settings.timeout),
        }
    }

    async fn write(&self, ask: Ask) -> Result<Cas, StoreError> {
        match self.ask(ask).await {
            Told::Wrote(cas) => Ok(cas),
            Told::Failed(error) => Err(error),
            other => unreachable!("a write was answered with {other:?}"),
        }
    }
}

/// A request under way.
struct Call<'a> {
    line: &'a Line,
    id: u64,
    write: bool,
    name: &'static str,
    timer: BoxFuture<'static, ()>,
}

impl Future for Call<'_> {
    type Output = Told;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Told> {
        {
            let mut traffic = lock(&self.line.traffic);
            let slot = traffic
                .waiting
                .get_mut(&self.id)
                .expect("there until the call is dropped");
            if let Some(told) = slot.told.take() {
                return Poll::Ready(told);
            }
            slot.waker = Some(cx.waker().clone());
        }
        match self.timer.as_mut().poll(cx) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(()) => Poll::Ready(Told::Failed(failed(self.name, self.write, "timed out"))),
        }
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        lock(&self.line.traffic).waiting.remove(&self.id);
    }
}

/// A failure whose outcome is unknown if a write may have been done.
pub(crate) fn failed(name: &str, maybe_done: bool, why: &str) -> StoreError {
    let outcome = if maybe_done {
        Outcome::Unknown
    } else {
        Outcome::NotDone
    };
    StoreError::new(StoreErrorKind::Unavailable, outcome, format!("{name}: {why}"))
}

impl fmt::Debug for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Line")
    }
}

impl Store for Line {
    fn scheme(&self) -> &'static str {
        "simulated"
    }

    fn class(&self) -> Class {
        self.settings.class
    }

    fn wall(&self) -> StoreResult<'_, Option<Timestamp>> {
        Box::pin(async {
            if !self.settings.has_wall {
                return Ok(None);
            }
            match self.ask(Ask::Wall).await {
                Told::Wall(wall) => Ok(wall),
                Told::Failed(error) => Err(error),
                other => unreachable!("a clock was answered with {other:?}"),
            }
        })
    }

    fn cluster_id(&self) -> u128 {
        self.settings.cluster_id
    }

    fn incarnation(&self) -> Option<String> {
        Some(self.failovers.load(Ordering::Relaxed).to_string())
    }

    fn get<'a>(&'a self, key: &'a Key) -> StoreResult<'a, Option<Versioned>> {
        Box::pin(async move {
            match self.ask(Ask::Get(key.clone())).await {
                Told::Read(found) => Ok(found),
                Told::Failed(error) => Err(error),
                other => unreachable!("a read was answered with {other:?}"),
            }
        })
    }

    fn compare_and_set<'a>(
        &'a self,
        key: &'a Key,
        expected: Option<Version>,
        value: Value,
        marks: Marks,
    ) -> StoreResult<'a, Cas> {
        let key = key.clone();
        Box::pin(self.write(Ask::Set {
            key,
            expected,
            value,
            marks,
        }))
    }

    fn scan<'a>(
        &'a self,
        prefix: &'a Key,
        after: Option<&'a Key>,
        limit: u16,
    ) -> StoreResult<'a, Vec<(Key, Versioned)>> {
        let (prefix, after) = (prefix.clone(), after.cloned());
        Box::pin(async move {
            match self.ask(Ask::Scan { prefix, after, limit }).await {
                Told::Page(page) => Ok(page),
                Told::Failed(error) => Err(error),
                other => unreachable!("a scan was answered with {other:?}"),
            }
        })
    }

    fn remove<'a>(&'a self, key: &'a Key, expected: Version) -> StoreResult<'a, Cas> {
        let key = key.clone();
        Box::pin(self.write(Ask::Remove { key, expected }))
    }

    fn claim<'a>(&'a self, claim: &'a Claim) -> StoreResult<'a, Cas> {
        Box::pin(self.write(Ask::Claim(claim.clone())))
    }

    fn exclusive(&self) -> bool {
        self.settings.exclusive
    }
}
