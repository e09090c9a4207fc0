//! Cancelling from another connection, and time-outs of statements.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use tokio::sync::Notify;

use super::errors::{Result, SqlError};
use mintage_server::chassis::thread::Shared;

/// What a connection can be told while it waits.
#[derive(Debug, Default)]
pub(super) struct Cancel {
    asked: AtomicBool,
    told: Notify,
}

/// The connections that can be cancelled, by process and secret: whichever thread has accepted them.
#[derive(Debug, Default)]
struct Keys(Mutex<HashMap<(i32, i32), Weak<Cancel>>>);

/// A connection's key, until it ends.
#[derive(Debug)]
pub(super) struct Key {
    pub(super) process: i32,
    pub(super) secret: i32,
    pub(super) cancel: Arc<Cancel>,
    keys: Arc<Keys>,
}

impl Key {
    /// A new one for the connection of this number.
    pub(super) fn new(shared: &Shared, connection: u64) -> Key {
        let mut random = [0; 4];
        mintage::fill_random(&mut random);
        // Processes are positive, and none has the number 0.
        let process = (connection % (i32::MAX as u64)) as i32 + 1;
        let (secret, cancel) = (i32::from_be_bytes(random), Arc::<Cancel>::default());
        let keys = shared.of_face::<Keys>();
        let mut known = keys.0.lock().expect("no panic while held");
        known.insert((process, secret), Arc::downgrade(&cancel));
        drop(known);
        Key {
            process,
            secret,
            cancel,
            keys,
        }
    }
}

impl Drop for Key {
    fn drop(&mut self) {
        let mut known = self.keys.0.lock().expect("no panic while held");
        known.remove(&(self.process, self.secret));
    }
}

/// Stops what the connection of this key waits for. An unknown key does nothing, and nobody learns so.
pub(super) fn cancel(shared: &Shared, process: i32, secret: i32) {
    let keys = shared.of_face::<Keys>();
    let found = keys
        .0
        .lock()
        .expect("no panic while held")
        .get(&(process, secret))
        .cloned();
    if let Some(cancel) = found.and_then(|found| found.upgrade()) {
        cancel.asked.store(true, Ordering::Release);
        cancel.told.notify_one();
    }
}

impl Cancel {
    /// A statement begins: what was asked before was about another.
    #[inline]
    pub(super) fn begin(&self) {
        if self.asked.load(Ordering::Relaxed) {
            self.asked.store(false, Ordering::Release);
        }
    }

    /// Whether the statement is to end, between its parts.
    pub(super) fn check(&self, deadline: Option<tokio::time::Instant>) -> Result<()> {
        if self.asked.swap(false, Ordering::AcqRel) {
            return Err(SqlError::new("57014", "canceling statement due to user request"));
        }
        match deadline {
            Some(deadline) if tokio::time::Instant::now() >= deadline => Err(timed_out()),
            _ => Ok(()),
        }
    }

    /// Waits for something that may be given up: numbers that come later are a gap.
    pub(super) async fn unless<T>(
        &self,
        deadline: Option<tokio::time::Instant>,
        work: impl Future<Output = T>,
    ) -> Result<T> {
        let late = async {
            match deadline {
                Some(deadline) => tokio::time::sleep_until(deadline).await,
                None => std::future::pending().await,
            }
        };
        let asked = async {
            // One that was told of earlier is none of this statement's.
            while !self.asked.swap(false, Ordering::AcqRel) {
                self.told.notified().await;
            }
        };
        tokio::select! {
            biased;
            done = work => Ok(done),
            () = asked => Err(SqlError::new("57014", "canceling statement due to user request")),
            () = late => Err(timed_out()),
        }
    }
}

fn timed_out() -> SqlError {
    SqlError::new("57014", "canceling statement due to statement timeout")
}

/// When a statement that begins now must have ended; 0: it may take as long as it takes.
pub(super) fn deadline(ms: u64) -> Option<tokio::time::Instant> {
    (ms > 0).then(|| tokio::time::Instant::now() + Duration::from_millis(ms))
}
