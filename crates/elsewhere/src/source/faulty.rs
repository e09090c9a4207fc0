//! A source in memory that is slow, goes away, loses answers, and whose own clients take numbers in the middle of takes.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mintage::Run;

use super::{
    Counter, Fence, Fenced, Listed, MemorySource, Note, Source, SourceError, SourceErrorKind, SourceKind,
    SourceResult, Wanted, Way,
};
use crate::runtime::Runtime;
use crate::store::Durability;

/// What becomes of one call.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Fate {
    /// How long it takes to arrive.
    pub there: Duration,
    /// How long its answer takes.
    pub back: Duration,
    /// It never arrives.
    pub is_lost: bool,
    /// Its answer never comes; the caller is told so, or, if it [hangs](Fate::hangs), is not.
    pub is_unheard: bool,
    /// What is lost or unheard is not even refused.
    pub hangs: bool,
    /// How many clients of the source take a number in the middle of a take.
    pub clients: u64,
}

type Fates = Box<dyn FnMut() -> Fate + Send>;

/// A [`MemorySource`] whose calls have a [`Fate`] each. Fences, lifts and looks are as those of the source in memory.
pub struct FaultySource {
    inner: Arc<MemorySource>,
    runtime: Arc<dyn Runtime>,
    fates: Mutex<Fates>,
    /// What clients took in the middle of takes.
    others: Arc<Mutex<Vec<i64>>>,
}

impl fmt::Debug for FaultySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FaultySource({:?})", self.inner)
    }
}

impl FaultySource {
    /// One that does everything at once, until it is told otherwise.
    ///
    /// ```
    /// # let rt = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    /// # rt.block_on(async {
    /// use mintage_store::SystemRuntime;
    /// use mintage_elsewhere::source::{Fate, FaultySource, MemorySource, Source};
    /// let memory = MemorySource::new();
    /// memory.put("orders", 1);
    /// let source = FaultySource::new(memory, SystemRuntime::new(tokio::runtime::Handle::current()));
    /// source.set_fate(Fate { clients: 1, ..Fate::default() });
    /// let runs = source.take("orders", 4).await.unwrap();
    /// assert_eq!(runs.iter().map(|run| (run.first, run.count)).collect::<Vec<_>>(), [(1, 2), (4, 2)]);
    /// assert_eq!(source.others(), [3]);
    /// # });
    /// ```
    pub fn new(inner: Arc<MemorySource>, runtime: Arc<dyn Runtime>) -> Arc<FaultySource> {
        FaultySource::with_others(inner, runtime, Arc::default())
    }

    /// The same, one of several ways to the same counters: what clients take in the middle of takes is noted in `others`.
    pub fn with_others(
        inner: Arc<MemorySource>,
        runtime: Arc<dyn Runtime>,
        others: Arc<Mutex<Vec<i64>>>,
    ) -> Arc<FaultySource> {
        Arc::new(FaultySource {
            inner,
            runtime,
            fates: Mutex::new(Box::new(Fate::default)),
            others,
        })
    }

    /// Every call from here on has this fate.
    pub fn set_fate(&self, fate: Fate) {
        self.set_fates(move || fate);
    }

    /// Every call from here on has the fate that this answers.
    pub fn set_fates(&self, fates: impl FnMut() -> Fate + Send + 'static) {
        *self.fates.lock().unwrap_or_else(PoisonError::into_inner) = Box::new(fates);
    }

    /// What clients took in the middle of takes, so far.
    pub fn others(&self) -> Vec<i64> {
        self.lock_others().clone()
    }

    fn lock_others(&self) -> MutexGuard<'_, Vec<i64>> {
        self.others.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn call<T>(
        &self,
        work: impl AsyncFnOnce(Fate) -> Result<T, SourceError>,
    ) -> Result<T, SourceError> {
        let fate = {
            let mut fates = self.fates.lock().unwrap_or_else(PoisonError::into_inner);
            fates()
        };
        let away = || SourceError::new(SourceErrorKind::Unavailable, "the source does not answer");
        self.sleep(fate.there).await;
        if fate.is_lost {
            self.hang(fate).await;
            return Err(away());
        }
        let answer = work(fate).await;
        self.sleep(fate.back).await;
        if fate.is_unheard {
            self.hang(fate).await;
            return Err(away().unknown());
        }
        answer
    }

    async fn sleep(&self, duration: Duration) {
        if !duration.is_zero() {
            self.runtime.sleep(duration).await;
        }
    }

    async fn hang(&self, fate: Fate) {
        if fate.hangs {
            std::future::pending::<()>().await;
        }
    }

    /// One take, of which clients get numbers out of the middle.
    async fn take_among(&self, key: &str, n: u64, clients: u64) -> Result<Vec<Run>, SourceError> {
        let (mut runs, mut left): (Vec<Run>, u64) = (Vec::new(), n.max(1));
        for client in (0..=clients).rev() {
            let piece = left.div_ceil(client + 1);
            left -= piece;
            if piece > 0 {
                runs.extend(self.inner.take(key, piece).await?);
            }
            if client > 0
                && let Some(number) = self.inner.next(key)
            {
                self.lock_others().push(number);
            }
        }
        Ok(runs)
    }
}

impl Source for FaultySource {
    fn kind(&self) -> &'static SourceKind {
        self.inner.kind()
    }

    fn place(&self) -> String {
        self.inner.place()
    }

    fn durability(&self) -> SourceResult<'_, Durability> {
        Box::pin(self.call(async |_| self.inner.durability().await))
    }

    fn list<'a>(&'a self, wanted: &'a Wanted) -> SourceResult<'a, Listed> {
        self.inner.list(wanted)
    }

    fn look<'a>(&'a self, key: &'a str) -> SourceResult<'a, Option<Counter>> {
        self.inner.look(key)
    }

    fn take<'a>(&'a self, key: &'a str, n: u64) -> SourceResult<'a, Vec<Run>> {
        Box::pin(self.call(async move |fate| self.take_among(key, n, fate.clients).await))
    }

    fn fence<'a>(&'a self, key: &'a str, way: Way, note: &'a Note) -> SourceResult<'a, Fenced> {
        self.inner.fence(key, way, note)
    }

    fn lift<'a>(&'a self, key: &'a str, note: &'a Note, issued: Option<i64>) -> SourceResult<'a, ()> {
        self.inner.lift(key, note, issued)
    }

    fn check<'a>(&'a self, key: &'a str, note: &'a Note) -> SourceResult<'a, Fence> {
        self.inner.check(key, note)
    }

    fn statements(&self, counter: &Counter, way: Way) -> Vec<String> {
        self.inner.statements(counter, way)
    }

    fn rights<'a>(&'a self, key: &'a str, way: Way) -> SourceResult<'a, Vec<String>> {
        self.inner.rights(key, way)
    }
}
