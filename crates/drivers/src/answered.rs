//! Which call an answer belongs to. The protocols of Redis, PostgreSQL and MySQL number nothing: where something in
//! between repeats an answer, the next call takes it for its own, and a claim that came too late counts as granted. So
//! each write carries a number of its own, and its answer must bear it.

use std::hash::{BuildHasher, RandomState};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// What is said of an answer with another call's number.
pub(crate) const ANSWERS_ANOTHER: &str =
    "an answer to another request: something between here and the store repeats answers, or mixes them up";

/// A number that no other call of this process has, and hardly one of another process; it fits every server's integers.
pub(crate) fn number_of_call() -> u64 {
    static FIRST: OnceLock<u64> = OnceLock::new();
    static CALLS: AtomicU64 = AtomicU64::new(0);
    let first = FIRST.get_or_init(|| RandomState::new().hash_one("the first call"));
    // Never 0, which is what MySQL answers where nobody asked.
    (first.wrapping_add(CALLS.fetch_add(1, Ordering::Relaxed)) & (i64::MAX as u64)).max(1)
}
