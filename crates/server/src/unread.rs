//! Answers that clients have not read yet, of all connections together.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How many bytes of answers wait for clients to read them.
#[derive(Debug, Default)]
pub(crate) struct Unread(AtomicU64);

/// Bytes that wait until this is dropped.
#[derive(Debug)]
pub(crate) struct Held {
    unread: Arc<Unread>,
    bytes: u64,
}

impl Unread {
    pub(crate) fn hold(self: &Arc<Self>, bytes: usize) -> Held {
        let bytes = bytes as u64;
        self.0.fetch_add(bytes, Ordering::AcqRel);
        Held {
            unread: Arc::clone(self),
            bytes,
        }
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.unread.0.fetch_sub(self.bytes, Ordering::AcqRel);
    }
}
