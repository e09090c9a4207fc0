//! A few connections, kept for the next call.
//!
//! A driver's own pool hides what a store must know: it answers "timed out" where a server refused, retries by
//! itself, and gives a connection out without saying when it was last checked.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::super::StoreError;
use super::identity::MetaRow;
use super::session::Probe;
use tokio::sync::{Notify, Semaphore, SemaphorePermit};

/// How many connections one store has at most. A node's windows, blocks and definitions need few: one call at
/// a time per sequence that runs low.
pub(super) const CONNECTIONS_MAX: usize = 4;

/// How many connections may be in the making at a time: on a slow path each takes longer than anybody waits for it.
pub(super) const ATTEMPTS_MAX: usize = CONNECTIONS_MAX;

/// A connection and what is known of it.
pub(super) struct Kept<S> {
    pub(super) session: S,
    /// When class, cluster id and schema were last looked at, in boot time.
    pub(super) probed_at: Duration,
    /// When it last answered, in boot time.
    pub(super) answered_at: Duration,
    /// What must still be so for the last look to count, where it can change under a session.
    pub(super) view: Option<u64>,
    /// What was found as it was made, until somebody has taken note of it.
    pub(super) news: Option<Box<(MetaRow, Probe)>>,
}

pub(super) struct Connections<S> {
    /// The one that answered last is last, and taken first.
    idle: Mutex<Vec<Kept<S>>>,
    permits: Semaphore,
    /// Held by those that make a connection, whether or not somebody waits for it still.
    pub(super) attempts: std::sync::Arc<Semaphore>,
    arrivals: Notify,
    late_error: Mutex<Option<StoreError>>,
}

impl<S> Connections<S> {
    pub(super) fn new() -> Self {
        Connections {
            idle: Mutex::default(),
            permits: Semaphore::new(CONNECTIONS_MAX),
            attempts: std::sync::Arc::new(Semaphore::new(ATTEMPTS_MAX)),
            arrivals: Notify::new(),
            late_error: Mutex::default(),
        }
    }

    /// Waits until a connection may be used; `None` once the pool is closed.
    pub(super) async fn enter(&self) -> Option<SemaphorePermit<'_>> {
        self.permits.acquire().await.ok()
    }

    pub(super) fn take(&self) -> Option<Kept<S>> {
        self.idle().pop()
    }

    /// Keeps a connection whose last call has ended.
    pub(super) fn put(&self, kept: Kept<S>) {
        if !self.permits.is_closed() {
            self.idle().push(kept);
        }
    }

    /// Takes what came of an attempt after its caller had given up: a connection, or why there can be none.
    pub(super) fn arrive(&self, made: Result<Kept<S>, StoreError>) {
        match made {
            Ok(kept) if self.idle().len() < CONNECTIONS_MAX => self.put(kept),
            Ok(_) => {}
            Err(error) => *self.late_error() = Some(error),
        }
        self.arrivals.notify_one();
    }

    /// Why an attempt failed whose caller had given up; once.
    pub(super) fn take_error(&self) -> Option<StoreError> {
        self.late_error().take()
    }

    fn late_error(&self) -> MutexGuard<'_, Option<StoreError>> {
        self.late_error.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until one has come so.
    pub(super) async fn arrival(&self) {
        self.arrivals.notified().await;
    }

    /// Drops what is idle: one of them failed in a way that the others have most likely shared.
    pub(super) fn forget(&self) {
        self.idle().clear();
    }

    /// No more calls; what is idle goes to the caller.
    pub(super) fn close(&self) -> Vec<Kept<S>> {
        self.permits.close();
        std::mem::take(&mut *self.idle())
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Kept<S>>> {
        // No code between lock and unlock panics half-way through a change.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
