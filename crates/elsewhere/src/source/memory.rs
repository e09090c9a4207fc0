//! A source in memory, for tests: its clients take numbers by [`MemorySource::next`], and its calls can be made to
//! fail.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mintage::Run;

use super::{
    Counter, Engine, Fence, Fenced, Listed, MoveId, Note, Source, SourceError, SourceErrorKind, SourceKind,
    SourceResult, Wanted, Way,
};
use crate::runtime::BoxFuture;
use crate::store::{Class, Durability};

static KIND: SourceKind = SourceKind {
    name: "memory",
    engine: Engine::Memory,
    example: "memory:",
    summary: "counters in this process, for tests",
    is_found: false,
    has_ceiling: true,
    has_beside: true,
    open: |_, _| {
        Err(SourceError::new(
            SourceErrorKind::Invalid,
            "a source in memory is made by a test",
        ))
    },
};

/// What a source keeps of a counter.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[allow(dead_code, reason = "tests of moves make them")]
pub(crate) enum Keeps {
    /// Its next number and its steps, as a sequence of SQL.
    #[default]
    Steps,
    /// The same, until it comes to a ceiling: then it stands there, whatever its steps, as a SEQUENCE of MariaDB.
    /// What a fence must remember is one of its numbers.
    StepsUntilItsEnd,
    /// The last number that was given out; its clients know the steps, as of a key of Redis.
    Last,
    /// The number that is given out next; its clients know the steps.
    Next,
}

/// One counter: an ascending one.
#[derive(Clone, Debug)]
struct Held {
    /// The next number.
    next: i64,
    /// The first number that it may not give out.
    end: i64,
    step: i64,
    keeps: Keeps,
    fence: Option<MoveId>,
}

impl Held {
    /// The first number that it has certainly not given out, as far as a source without steps knows.
    fn mark(&self) -> i64 {
        match self.keeps {
            Keeps::Last => self.next - self.step + 1,
            _ => self.next,
        }
    }

    /// By how much it counts, as far as the source knows.
    fn known_step(&self) -> i64 {
        match self.keeps {
            Keeps::Steps | Keeps::StepsUntilItsEnd => self.step,
            Keeps::Last | Keeps::Next => 1,
        }
    }

    fn count(&mut self) -> i64 {
        let number = self.next;
        self.next += self.step;
        if self.keeps == Keeps::StepsUntilItsEnd {
            self.next = self.next.min(self.end);
        }
        number
    }
}

/// When a call fails.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fails {
    Before,
    After,
}

fn unavailable() -> SourceError {
    SourceError::new(SourceErrorKind::Unavailable, "the source does not answer")
}

/// Counters in memory.
#[derive(Debug, Default)]
pub struct MemorySource {
    counters: Mutex<BTreeMap<String, Held>>,
    fails: Mutex<Option<Fails>>,
    lossy: bool,
    /// What tells it from others of a test.
    called: String,
    is_away: AtomicBool,
}

const END: i64 = i64::MAX;

impl MemorySource {
    /// One without counters.
    pub fn new() -> Arc<MemorySource> {
        Arc::default()
    }

    /// One of class L.
    pub fn lossy() -> Arc<MemorySource> {
        Arc::new(MemorySource {
            lossy: true,
            ..MemorySource::default()
        })
    }

    /// One of several.
    pub fn called(name: &str) -> Arc<MemorySource> {
        Arc::new(MemorySource {
            called: name.to_string(),
            ..MemorySource::default()
        })
    }

    /// Another one that stands as this one does.
    #[cfg(test)]
    pub(crate) fn copy(&self) -> Arc<MemorySource> {
        Arc::new(MemorySource {
            counters: Mutex::new(self.counters().clone()),
            fails: Mutex::new(*self.fails()),
            lossy: self.lossy,
            called: self.called.clone(),
            is_away: AtomicBool::new(self.is_away.load(Ordering::Relaxed)),
        })
    }

    /// Whether it answers nobody from now on.
    pub fn set_away(&self, is_away: bool) {
        self.is_away.store(is_away, Ordering::Relaxed);
    }

    /// Makes a counter whose next number this is.
    pub fn put(&self, key: &str, next: i64) {
        self.put_in_steps(key, next, 1);
    }

    /// The same of one that counts in steps.
    pub fn put_in_steps(&self, key: &str, next: i64, step: i64) {
        self.put_as(key, next, step, Keeps::Steps);
    }

    /// The same of one of which its source keeps this.
    pub(crate) fn put_as(&self, key: &str, next: i64, step: i64, keeps: Keeps) {
        let held = Held {
            next,
            end: END,
            step,
            keeps,
            fence: None,
        };
        self.counters().insert(key.to_string(), held);
    }

    /// What a client of the source gets; `None`: it refuses.
    pub fn next(&self, key: &str) -> Option<i64> {
        let mut counters = self.counters();
        let held = counters.get_mut(key)?;
        let is_served = held.next < held.end && !self.is_away.load(Ordering::Relaxed);
        is_served.then(|| held.count())
    }

    /// The next call that writes fails without having done anything.
    pub fn fail_before(&self) {
        *self.fails() = Some(Fails::Before);
    }

    /// The next call that writes does so, and its answer is lost.
    pub fn fail_after(&self) {
        *self.fails() = Some(Fails::After);
    }

    fn counters(&self) -> MutexGuard<'_, BTreeMap<String, Held>> {
        self.counters.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fails(&self) -> MutexGuard<'_, Option<Fails>> {
        self.fails.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn unless_away<T>(&self, found: T) -> Result<T, SourceError> {
        match self.is_away.load(Ordering::Relaxed) {
            true => Err(unavailable()),
            false => Ok(found),
        }
    }

    /// A call that writes: it happens at once or not at all, and its answer may be lost.
    fn write<T: Send + 'static>(
        &self,
        key: &str,
        work: impl FnOnce(&mut Held) -> Result<T, SourceError>,
    ) -> BoxFuture<'static, Result<T, SourceError>> {
        let fails = match self.is_away.load(Ordering::Relaxed) {
            true => Some(Fails::Before),
            false => self.fails().take(),
        };
        let answer = match (fails, self.counters().get_mut(key)) {
            (Some(Fails::Before), _) => Err(unavailable()),
            (_, None) => Err(SourceError::new(
                SourceErrorKind::Gone,
                format!("no counter {key}"),
            )),
            (None, Some(held)) => work(held),
            (Some(Fails::After), Some(held)) => work(held).and_then(|_| Err(unavailable().unknown())),
        };
        Box::pin(std::future::ready(answer))
    }
}

fn show(key: &str, held: &Held) -> Counter {
    Counter {
        mark: Some(held.mark().into()),
        increment: held.known_step(),
        type_name: "int8".into(),
        fence: fence_of(held),
        before: match held.keeps {
            Keeps::StepsUntilItsEnd => [("one".to_string(), held.next.to_string())].into(),
            _ => BTreeMap::new(),
        },
        ..Counter::new(KIND.name, key)
    }
}

fn fence_of(held: &Held) -> Fence {
    match held.fence {
        None => Fence::None,
        id => Fence::Ours {
            id,
            mark: held.end.into(),
        },
    }
}

fn foreign(held: &Held) -> SourceError {
    SourceError::new(
        SourceErrorKind::Foreign,
        format!("another move has fenced it: {:?}", held.fence),
    )
}

impl Source for MemorySource {
    fn kind(&self) -> &'static SourceKind {
        &KIND
    }

    fn place(&self) -> String {
        format!("memory:{}", self.called)
    }

    fn durability(&self) -> SourceResult<'_, Durability> {
        let class = if self.lossy { Class::Lossy } else { Class::Durable };
        Box::pin(std::future::ready(Ok(Durability::plain(
            class,
            "it lasts as long as its test",
        ))))
    }

    fn list<'a>(&'a self, wanted: &'a Wanted) -> SourceResult<'a, Listed> {
        let counters = self.counters();
        let of = counters.iter().filter(|(key, _)| wanted.is_of(key));
        let counters = of.map(|(key, held)| show(key, held)).collect();
        Box::pin(std::future::ready(Ok(Listed {
            counters,
            failed: Vec::new(),
        })))
    }

    fn look<'a>(&'a self, key: &'a str) -> SourceResult<'a, Option<Counter>> {
        let found = self.counters().get(key).map(|held| show(key, held));
        Box::pin(std::future::ready(self.unless_away(found)))
    }

    fn take<'a>(&'a self, key: &'a str, n: u64) -> SourceResult<'a, Vec<Run>> {
        self.write(key, |held| {
            if held.next >= held.end {
                return Err(SourceError::new(
                    SourceErrorKind::Exhausted,
                    "it has reached its end",
                ));
            }
            let (first, step) = (held.mark(), held.known_step());
            let left = held.end.abs_diff(first) / step.unsigned_abs();
            let count = n.clamp(1, 1 << 32).min(left);
            let taken = i64::try_from(i128::from(step) * i128::from(count)).unwrap_or(END);
            held.next = held.next.checked_add(taken).unwrap_or(END);
            Ok(vec![Run { first, step, count }])
        })
    }

    fn fence<'a>(&'a self, key: &'a str, way: Way, note: &'a Note) -> SourceResult<'a, Fenced> {
        let id = note.id;
        self.write(key, move |held| {
            if held.fence.is_some_and(|of| of != id) {
                return Err(foreign(held));
            }
            let end = match way {
                // Built before: the same answer, and no ceiling over a cut.
                Way::Ceiling(_) if held.fence.is_some() => {
                    return Ok(Fenced {
                        mark: held.end.into(),
                    });
                }
                Way::Ceiling(ceiling) => i64::try_from(ceiling).unwrap_or(END),
                Way::Cut | Way::Beside => held.mark(),
            };
            if end < held.mark() {
                return Err(SourceError::new(
                    SourceErrorKind::Refused,
                    format!("a ceiling of {end} is too low, the least is {}", held.mark()),
                ));
            }
            (held.fence, held.end) = (Some(id), end);
            Ok(Fenced { mark: end.into() })
        })
    }

    fn lift<'a>(&'a self, key: &'a str, note: &'a Note, issued: Option<i64>) -> SourceResult<'a, ()> {
        let (id, one) = (
            note.id,
            note.before.get("one").and_then(|one| one.parse::<i64>().ok()),
        );
        self.write(key, move |held| match held.fence {
            None if issued.is_some_and(|issued| held.mark() <= issued) => Err(foreign(held)),
            None => Ok(()),
            Some(of) if of != id => Err(foreign(held)),
            Some(_) => {
                // A sequence in SQL that is set to a number goes on a step further, a number that is kept as the next
                // one is set to the one behind.
                let further = if held.keeps == Keeps::Next { 1 } else { held.step };
                let behind = issued.map_or(i64::MIN, |issued| issued.saturating_add(further));
                held.next = held.next.max(behind);
                held.next += one.map_or(0, |one| (one - held.next).rem_euclid(held.step));
                (held.fence, held.end) = (None, END);
                Ok(())
            }
        })
    }

    fn check<'a>(&'a self, key: &'a str, _note: &'a Note) -> SourceResult<'a, Fence> {
        let found = self.counters().get(key).map_or(Fence::None, fence_of);
        Box::pin(std::future::ready(self.unless_away(found)))
    }

    fn statements(&self, counter: &Counter, way: Way) -> Vec<String> {
        vec![format!("{} {}", way.as_str(), counter.key)]
    }

    fn rights<'a>(&'a self, _key: &'a str, _way: Way) -> SourceResult<'a, Vec<String>> {
        Box::pin(std::future::ready(self.unless_away(Vec::new())))
    }
}
