//! Memory that is held for clients, of all connections together: answers that they have not read, and what they queue.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How many bytes are held.
#[derive(Debug, Default)]
pub(crate) struct TotalBytes(AtomicU64);

/// Bytes that are held until this is dropped.
#[derive(Debug)]
pub(crate) struct HeldBytes {
    total: Arc<TotalBytes>,
    bytes: u64,
}

impl TotalBytes {
    pub(crate) fn hold(self: &Arc<Self>, bytes: usize) -> HeldBytes {
        let bytes = bytes as u64;
        self.0.fetch_add(bytes, Ordering::AcqRel);
        HeldBytes {
            total: Arc::clone(self),
            bytes,
        }
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }
}

impl HeldBytes {
    pub(crate) fn add(&mut self, bytes: usize) {
        let bytes = bytes as u64;
        self.total.0.fetch_add(bytes, Ordering::AcqRel);
        self.bytes += bytes;
    }

    /// How many bytes are held together with all others.
    pub(crate) fn of_all(&self) -> u64 {
        self.total.bytes()
    }

    /// Holds nothing any more.
    pub(crate) fn let_go(&mut self) {
        self.total
            .0
            .fetch_sub(std::mem::take(&mut self.bytes), Ordering::AcqRel);
    }
}

impl Drop for HeldBytes {
    fn drop(&mut self) {
        self.let_go();
    }
}
