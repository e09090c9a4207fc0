//! What the task of a sequence knows from one round to the next.

use std::time::Duration;

use super::range::Range;
use super::state::State;
use crate::error::LedgerError;
use crate::kept::Tokens;

/// What the task knows; it alone touches this.
#[derive(Debug)]
pub(crate) struct TaskMemory {
    pub(crate) state: State,
    /// Claims whose outcome is not known (protocol R1, S6).
    pub(super) attempts: Vec<Attempt>,
    /// The record must be read before the next write.
    pub(super) stale: bool,
    /// No claim before this boot time, after outcomes stayed unknown; unless the store has come back since.
    pub(super) not_before: Duration,
    pub(super) backoff: Duration,
    pub(super) recoveries: u64,
    /// The state was made here and its body is not stored yet.
    pub(super) unsaved: bool,
    /// Gap-free: claimed numbers (of an attempt that turned out to have landed) that go out before any other.
    pub(super) adopted: Vec<Range>,
    /// What was in stock and under way in an older epoch is dropped.
    pub(super) epoch: u64,
    /// The furthest number that this process has reserved of this definition.
    pub(super) furthest: Option<i64>,
    /// What is known of its origin, once numbers were taken out of one.
    pub(super) origin: Option<Box<OriginMemory>>,
}

impl TaskMemory {
    pub(crate) fn new(state: State) -> TaskMemory {
        let state_is_new = state.version.is_none();
        TaskMemory {
            state,
            attempts: Vec::new(),
            stale: false,
            not_before: Duration::ZERO,
            backoff: BACKOFF_MIN,
            recoveries: 0,
            unsaved: state_is_new,
            adopted: Vec::new(),
            epoch: 0,
            furthest: None,
            origin: None,
        }
    }

    /// Whether it knows nothing that the store does not.
    pub(super) fn is_at_rest(&self) -> bool {
        self.attempts.is_empty() && self.adopted.is_empty()
    }

    /// The task was dropped half-way: what the store holds must be read before the next write, and what was
    /// out of the stock is lost.
    pub(crate) fn interrupted(&mut self) {
        self.stale = true;
    }
}

/// What the task knows of its origin.
#[derive(Debug, Default)]
pub(super) struct OriginMemory {
    /// The ordinal of the next number that comes.
    pub(super) next_ordinal: u64,
    /// The origin is left in peace until this boot time, and this is said meanwhile.
    pub(super) refused: Option<(Duration, LedgerError)>,
    /// How long it was left in peace last.
    pub(super) pause: Duration,
}

/// A claim whose outcome is not known.
#[derive(Debug)]
pub(crate) struct Attempt {
    pub(super) tokens: Tokens,
    /// When it was sent, in boot time.
    pub(super) sent: Duration,
    pub(super) range: Range,
}

/// Claims of unknown outcome that are remembered; one that is forgotten is a gap, nothing more.
pub(super) const ATTEMPTS_MAX: usize = 64;
pub(super) const BACKOFF_MIN: Duration = Duration::from_millis(100);
pub(super) const BACKOFF_MAX: Duration = Duration::from_secs(60);
