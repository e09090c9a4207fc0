//! What connections have the server keep from one request to the next: prepared statements, portals, cursors and their
//! rows, requests behind `MULTI`, values sent ahead, settings, numbers that were taken.
//!
//! Each thing counts by the memory that it holds, a statement by its plan and not by its text. One bound is for each
//! connection, one for all of them, whatever their faces: `server.max_kept_per_connection`, `server.max_kept`. Whoever
//! passes one is refused that one thing, and what is kept already stays. The first [`ALWAYS`] bytes of a connection are
//! granted in any case: a client that keeps little is served while others keep much. So is what is at hand, if it is as
//! little: who has filled its bound still uses what it keeps.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::config::Config;
use crate::error::Code;
use crate::metrics::Exposition;
use crate::thread::{ServingThread, Shared};

/// What all connections keep.
#[derive(Debug, Default)]
struct Kept(Arc<AtomicUsize>);

/// What one connection keeps. Copies are of the same connection.
#[derive(Clone, Debug)]
pub struct Keeping(Rc<Account>);

#[derive(Debug)]
struct Account {
    bytes: Cell<usize>,
    /// What they all keep.
    all: Arc<AtomicUsize>,
    /// What of this connection's is in that, in steps: most requests touch no line that threads share.
    counted: Cell<usize>,
    limits: Cell<Limits>,
}

#[derive(Clone, Copy, Debug)]
struct Limits {
    each: usize,
    all: usize,
}

/// Bytes that a connection keeps until this is dropped.
#[derive(Debug)]
pub struct KeptBytes {
    of: Rc<Account>,
    bytes: usize,
}

/// Why something is not kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Full {
    /// This connection keeps as much as one may.
    Connection(usize),
    /// All of them together do.
    All(usize),
}

impl Full {
    /// What it is counted as.
    pub fn code(self) -> Code {
        match self {
            Full::Connection(_) => Code::TooMany,
            Full::All(_) => Code::Unavailable,
        }
    }

    /// What there is too much of, in words that follow `kept for`.
    pub fn message(self) -> String {
        match self {
            Full::Connection(most) => format!("at most {most} bytes are kept for a connection"),
            Full::All(most) => format!("at most {most} bytes are kept for all connections together"),
        }
    }

    /// What to do about it.
    pub fn hint(self) -> &'static str {
        match self {
            Full::Connection(_) => {
                "close what is not used any more, such as prepared statements, or raise server.max_kept_per_connection"
            }
            Full::All(_) => "try again when others keep less, or raise server.max_kept",
        }
    }
}

impl Keeping {
    /// A connection of this thread that keeps nothing yet.
    pub fn new(thread: &ServingThread) -> Keeping {
        let limits = Limits::of(&thread.config());
        Keeping::with(&thread.shared().of_face::<Kept>().0, limits)
    }

    fn with(all: &Arc<AtomicUsize>, limits: Limits) -> Keeping {
        Keeping(Rc::new(Account {
            bytes: Cell::new(0),
            all: Arc::clone(all),
            counted: Cell::new(0),
            limits: Cell::new(limits),
        }))
    }

    /// Follows a configuration that was read again.
    pub fn follow(&self, config: &Config) {
        self.0.limits.set(Limits::of(config));
    }

    /// Keeps so many bytes more.
    ///
    /// # Errors
    /// They are too many.
    pub fn keep(&self, bytes: usize) -> Result<KeptBytes, Full> {
        let mut kept = self.nothing();
        kept.grow(bytes)?;
        Ok(kept)
    }

    /// How many bytes it keeps.
    #[cfg(test)]
    pub(crate) fn bytes(&self) -> usize {
        self.0.bytes.get()
    }

    /// The same for what there is one of at a time, such as the statement that runs: granted where that is little, whatever
    /// else is kept.
    ///
    /// # Errors
    /// They are too many.
    pub fn keep_at_hand(&self, bytes: usize) -> Result<KeptBytes, Full> {
        if bytes > ALWAYS {
            return self.keep(bytes);
        }
        self.0.count(bytes);
        Ok(KeptBytes {
            of: Rc::clone(&self.0),
            bytes,
        })
    }

    /// What grows later.
    pub fn nothing(&self) -> KeptBytes {
        KeptBytes {
            of: Rc::clone(&self.0),
            bytes: 0,
        }
    }
}

/// Of no connection, and without a bound: for readers and tests.
impl Default for Keeping {
    fn default() -> Keeping {
        let limits = Limits {
            each: usize::MAX,
            all: usize::MAX,
        };
        Keeping::with(&Arc::default(), limits)
    }
}

impl Limits {
    fn of(config: &Config) -> Limits {
        Limits {
            each: config.max_kept_per_connection.0,
            all: config.max_kept.0,
        }
    }
}

impl Account {
    /// Adds what is granted in any case.
    fn count(&self, more: usize) {
        self.bytes.set(self.bytes.get() + more);
        let (before, counted) = (self.counted.get(), self.bytes.get().next_multiple_of(STEP));
        if counted > before {
            self.all.fetch_add(counted - before, Ordering::AcqRel);
            self.counted.set(counted);
        }
    }

    fn add(&self, more: usize) -> Result<(), Full> {
        let (bytes, limits) = (self.bytes.get().saturating_add(more), self.limits.get());
        if bytes <= ALWAYS {
            self.count(more);
            return Ok(());
        }
        if bytes > limits.each {
            return Err(Full::Connection(limits.each));
        }
        let new = bytes.next_multiple_of(STEP).saturating_sub(self.counted.get());
        let fits = |all: usize| all.checked_add(new).filter(|all| *all <= limits.all);
        if new > 0
            && self
                .all
                .fetch_update(Ordering::AcqRel, Ordering::Acquire, fits)
                .is_err()
        {
            return Err(Full::All(limits.all));
        }
        self.bytes.set(bytes);
        self.counted.set(self.counted.get() + new);
        Ok(())
    }

    fn remove(&self, bytes: usize) {
        let left = self.bytes.get().saturating_sub(bytes);
        self.bytes.set(left);
        // One step stays for the next request, which is often like the last one.
        let (before, counted) = (
            self.counted.get(),
            left.next_multiple_of(STEP) + if left > 0 { STEP } else { 0 },
        );
        if counted < before {
            self.all.fetch_sub(before - counted, Ordering::AcqRel);
            self.counted.set(counted);
        }
    }
}

impl KeptBytes {
    /// Keeps so many bytes more.
    ///
    /// # Errors
    /// They are too many: nothing is changed.
    pub fn grow(&mut self, more: usize) -> Result<(), Full> {
        self.of.add(more)?;
        self.bytes += more;
        Ok(())
    }

    /// Keeps so many bytes, be they more or fewer.
    ///
    /// # Errors
    /// They are too many: nothing is changed.
    pub fn become_so_many(&mut self, bytes: usize) -> Result<(), Full> {
        self.shrink(self.bytes.saturating_sub(bytes));
        self.grow(bytes - self.bytes)
    }

    /// Keeps so many bytes fewer.
    pub fn shrink(&mut self, fewer: usize) {
        let fewer = fewer.min(self.bytes);
        self.bytes -= fewer;
        self.of.remove(fewer);
    }
}

impl Drop for KeptBytes {
    fn drop(&mut self) {
        self.of.remove(self.bytes);
    }
}

/// Adds `mint_kept_bytes`.
pub(crate) fn describe(shared: &Shared, out: &mut Exposition) {
    out.metric(
        "mint_kept_bytes",
        "gauge",
        "Memory kept for connections: prepared statements, portals, queued commands and the like.",
    );
    let kept = shared.of_face::<Kept>();
    out.sample("mint_kept_bytes", &[], kept.0.load(Ordering::Acquire) as f64);
}

/// What a value holds in memory besides its own place.
///
/// Written so that a new field or variant does not compile until it is counted: no `..` and no `_` where memory may be.
pub trait Heap {
    /// How many bytes it holds beside its own place.
    fn heap(&self) -> usize;
}

/// What an allocation of so many bytes takes: the allocator's own words, and steps of 16 bytes.
pub fn allocated(bytes: usize) -> usize {
    match bytes {
        0 => 0,
        _ => (bytes + 8).next_multiple_of(16).max(32),
    }
}

impl<T: Heap> Heap for [T] {
    fn heap(&self) -> usize {
        self.iter().map(Heap::heap).sum()
    }
}

impl<T: Heap> Heap for Vec<T> {
    fn heap(&self) -> usize {
        allocated(self.capacity() * size_of::<T>()) + self.as_slice().heap()
    }
}

impl<T: Heap> Heap for Box<T> {
    fn heap(&self) -> usize {
        allocated(size_of::<T>()) + T::heap(self)
    }
}

impl<T: Heap> Heap for Box<[T]> {
    fn heap(&self) -> usize {
        allocated(size_of_val::<[T]>(self)) + <[T]>::heap(self)
    }
}

impl<T: Heap> Heap for Option<T> {
    fn heap(&self) -> usize {
        self.as_ref().map_or(0, Heap::heap)
    }
}

impl<T: Heap, E: Heap> Heap for Result<T, E> {
    fn heap(&self) -> usize {
        match self {
            Ok(value) => value.heap(),
            Err(error) => error.heap(),
        }
    }
}

impl<A: Heap, B: Heap> Heap for (A, B) {
    fn heap(&self) -> usize {
        self.0.heap() + self.1.heap()
    }
}

impl Heap for Box<str> {
    fn heap(&self) -> usize {
        allocated(self.len())
    }
}

impl Heap for Box<[u8]> {
    fn heap(&self) -> usize {
        allocated(self.len())
    }
}

impl Heap for String {
    fn heap(&self) -> usize {
        allocated(self.capacity())
    }
}

/// A text that several may share counts with each of them, since it stays as long as any does.
impl Heap for Rc<str> {
    fn heap(&self) -> usize {
        allocated(self.len() + 2 * size_of::<usize>())
    }
}

impl Heap for std::borrow::Cow<'static, str> {
    fn heap(&self) -> usize {
        match self {
            std::borrow::Cow::Borrowed(_) => 0,
            std::borrow::Cow::Owned(text) => text.heap(),
        }
    }
}

/// What holds no memory but its own place.
#[macro_export]
macro_rules! plain {
    ($($type:ty),*) => {
        $(impl $crate::chassis::kept::Heap for $type {
            fn heap(&self) -> usize {
                0
            }
        })*
    };
}

plain!(bool, i64, u32, u64, usize, &'static str, mintage::Series);

/// What every connection may keep, whatever the others do.
pub(crate) const ALWAYS: usize = 8 * 1024;

/// How exactly all know what one keeps.
const STEP: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    fn two(each: usize, all: usize) -> (Arc<AtomicUsize>, [Keeping; 2]) {
        let total = Arc::default();
        let keeping = || Keeping::with(&total, Limits { each, all });
        (Arc::clone(&total), [keeping(), keeping()])
    }

    #[test]
    fn a_connection_keeps_as_much_as_one_may_and_not_more() {
        let (total, [one, _]) = two(20_000, usize::MAX);
        let first = one.keep(15_000).unwrap();
        let mut second = one.keep(5000).unwrap();
        assert_eq!(second.grow(1), Err(Full::Connection(20_000)));
        assert_eq!(one.keep(1).unwrap_err(), Full::Connection(20_000));
        assert!((20_000..20_000 + 2 * STEP).contains(&total.load(Ordering::Acquire)));
        drop(first);
        second.grow(15_000).unwrap();
        second.shrink(20_000);
        assert_eq!(total.load(Ordering::Acquire), 0);
        drop((second, one));
        assert_eq!(total.load(Ordering::Acquire), 0);
    }

    #[test]
    fn all_together_have_a_bound_and_who_keeps_little_is_let_alone() {
        let (total, [greedy, modest]) = two(usize::MAX, 100_000);
        let mut pieces: Vec<KeptBytes> = (0..).map_while(|_| greedy.keep(1000).ok()).collect();
        let full = total.load(Ordering::Acquire);
        assert!((90_000..=100_000).contains(&full), "{full}");
        // What does not fit is not counted either.
        assert_eq!(greedy.keep(50_000).unwrap_err(), Full::All(100_000));
        assert_eq!(total.load(Ordering::Acquire), full);
        let kept = modest.keep(ALWAYS).unwrap();
        assert_eq!(modest.keep(1024).unwrap_err(), Full::All(100_000));
        drop(kept);
        pieces.truncate(10);
        let _kept = modest.keep(50_000).unwrap();
        drop(pieces);
        assert!(total.load(Ordering::Acquire) < 60_000);
    }

    /// A request that is like the one before it touches nothing that threads share.
    #[test]
    fn what_comes_and_goes_by_little_is_not_counted_each_time() {
        let (total, [one, _]) = two(usize::MAX, usize::MAX);
        let _kept = one.keep(1000).unwrap();
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..10 {
            let kept = one.keep(100).unwrap();
            seen.insert(total.load(Ordering::Acquire));
            drop(kept);
            seen.insert(total.load(Ordering::Acquire));
        }
        assert_eq!(seen.len(), 1, "{seen:?}");
    }
}
