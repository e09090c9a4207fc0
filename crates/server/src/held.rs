//! Memory that is held for clients, of all connections together: answers that they have not read, and what they queue.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How many bytes are held.
#[derive(Debug, Default)]
pub(crate) struct Total(AtomicU64);

/// Bytes that are held until this is dropped.
#[derive(Debug)]
pub(crate) struct Held {
    total: Arc<Total>,
    bytes: u64,
}

impl Total {
    pub(crate) fn hold(self: &Arc<Self>, bytes: usize) -> Held {
        let bytes = bytes as u64;
        self.0.fetch_add(bytes, Ordering::AcqRel);
        Held {
            total: Arc::clone(self),
            bytes,
        }
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }
}

impl Held {
    pub(crate) fn add(&mut self, bytes: usize) {
        let bytes = bytes as u64;
        self.total.0.fetch_add(bytes, Ordering::AcqRel);
        self.bytes += bytes;
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.total.0.fetch_sub(self.bytes, Ordering::AcqRel);
    }
}
