//! A token that is known, and what became of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use jiff::Timestamp;

use super::Token;
use crate::rates::Measure;

/// A token that is known, or was.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) token: Token,
    /// It is not known any more, or has ended.
    pub(super) revoked: AtomicBool,
    /// It was used since this was looked at last: the only thing that a request writes, and most find it set.
    pub(super) is_used: AtomicBool,
    /// The second of Unix time of its last use; 0 for none.
    pub(super) used_at: AtomicU64,
    pub(super) refused: AtomicU64,
    /// What its holders have asked for lately.
    pub(super) measure: Measure,
}

impl Known {
    pub(super) fn new(token: Token) -> Arc<Known> {
        Arc::new(Known {
            token,
            revoked: AtomicBool::new(false),
            is_used: AtomicBool::new(false),
            used_at: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            measure: Measure::default(),
        })
    }

    #[inline]
    pub(super) fn note_use(&self) {
        if !self.is_used.load(Ordering::Relaxed) {
            self.is_used.store(true, Ordering::Relaxed);
        }
    }

    pub(super) fn note_refusal(&self) {
        self.refused.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn has_ended(&self, now: Timestamp) -> bool {
        self.token.until.is_some_and(|until| until <= now)
    }
}
