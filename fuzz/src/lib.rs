//! Random inputs for everything that reads text or bytes from outside.
//!
//! A target is a name, a function of bytes that panics when a promise is broken, and inputs to begin with: a
//! file in `targets/` and a line in [`targets`]. The engine changes inputs at random, always the same way for
//! the same seed, and keeps those at which something new was [`saw`]n. It needs no instrumentation, so it runs
//! on stable Rust and in CI (`cargo xtask fuzz [TARGET…] [--runs N]`).
//!
//! An input that broke something once belongs into `fuzz/corpus/TARGET/`, where every run begins.

mod engine;
mod mutate;
mod random;
mod scratch;
pub mod seeds;
mod targets;

use std::cell::Cell;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Mutex;

pub use engine::{Broken, Report, fuzz, run_one};
pub use targets::targets;

/// Runs `one` with every target, on all of the machine's cores.
pub fn on_every_core(targets: &[Target], one: impl Fn(&Target) + Sync) {
    let queue = Mutex::new(targets.iter());
    let next = || queue.lock().expect("no thread panics").next();
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, |n| n.get()) {
            scope.spawn(|| {
                while let Some(target) = next() {
                    one(target);
                }
            });
        }
    });
}

/// A promise about one input; panics when it is broken.
pub type Check = Box<dyn Fn(&[u8]) + Send + Sync>;

/// Something to fuzz.
pub struct Target {
    /// Its name on the command line and its folder in `corpus/`.
    pub name: String,
    /// Panics when a promise is broken.
    pub run: Check,
    /// Inputs to begin with: valid ones, and ones that come near.
    pub seeds: Vec<Vec<u8>>,
    /// Pieces that make sense in an input.
    pub words: &'static [&'static str],
    /// Longer inputs are cut.
    pub longest: usize,
}

impl Target {
    /// A target with the texts of `seeds` to begin with.
    pub fn new(
        name: impl Into<String>,
        seeds: impl IntoIterator<Item = impl Into<Vec<u8>>>,
        run: impl Fn(&[u8]) + Send + Sync + 'static,
    ) -> Target {
        Target {
            name: name.into(),
            run: Box::new(run),
            seeds: seeds.into_iter().map(Into::into).collect(),
            words: &[],
            longest: 128,
        }
    }

    /// The same with pieces that make sense in an input.
    pub fn words(mut self, words: &'static [&'static str]) -> Target {
        self.words = words;
        self
    }

    /// The same with inputs of at most `longest` bytes.
    pub fn longest(mut self, longest: usize) -> Target {
        self.longest = longest;
        self
    }
}

thread_local! {
    static SEEN: Cell<u64> = const { Cell::new(0) };
}

/// Tells the engine what came of an input: an error's kind and place, the shape of a result. Inputs at which
/// something is seen for the first time are kept and changed further.
pub fn saw(what: impl Hash) {
    let mut hasher = DefaultHasher::new();
    (SEEN.get(), what).hash(&mut hasher);
    SEEN.set(hasher.finish());
}

/// What was seen since the last call.
pub(crate) fn take_seen() -> u64 {
    SEEN.replace(0)
}
