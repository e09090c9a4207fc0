//! What a service manager is told (sd_notify(3)): when the server is ready, that it stops or reads its configuration again, and
//! that it is alive. Nothing is told where nobody asks for it (`NOTIFY_SOCKET`).

use std::convert::Infallible;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use sd_notify::NotifyState;

use crate::host::Serving;

/// It serves from here on.
pub(crate) fn ready(serving: &Serving) {
    let all = serving.addresses.iter();
    let all: Vec<String> = all
        .map(|(face, address)| format!("{face} on {address}"))
        .collect();
    let status = format!("serving {}", all.join(", "));
    tell(&[NotifyState::Ready, NotifyState::Status(&status)]);
}

/// It stops.
pub(crate) fn stopping() {
    tell(&[NotifyState::Stopping, NotifyState::Status("stopping")]);
}

/// It reads its configuration again, which `work` does.
pub(crate) fn reloading(work: impl FnOnce()) {
    match NotifyState::monotonic_usec_now() {
        Ok(now) => tell(&[NotifyState::Reloading, now]),
        Err(_) => tell(&[NotifyState::Reloading]),
    }
    work();
    tell(&[NotifyState::Ready]);
}

/// The loss of a message is no reason to serve less.
fn tell(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        tracing::debug!(%error, "the service manager cannot be told");
    }
}

/// When each serving thread was last seen at work.
#[derive(Debug, Default)]
pub(crate) struct Beats(Mutex<Vec<Arc<AtomicU64>>>);

impl Beats {
    /// Notes for ever that this thread is at work, where somebody asks for that.
    pub(crate) async fn beat(&self) -> Infallible {
        let Some(limit) = sd_notify::watchdog_enabled() else {
            return std::future::pending().await;
        };
        let last = self.begin();
        loop {
            last.store(millis(), Ordering::Relaxed);
            tokio::time::sleep(limit / 8).await;
        }
    }

    fn begin(&self) -> Arc<AtomicU64> {
        let last = Arc::new(AtomicU64::new(millis()));
        self.0
            .lock()
            .expect("no panic while held")
            .push(Arc::clone(&last));
        last
    }

    /// Whether all were seen within so long.
    fn within(&self, limit: Duration) -> bool {
        let now = millis();
        let all = self.0.lock().expect("no panic while held");
        all.iter()
            .all(|last| now.saturating_sub(last.load(Ordering::Relaxed)) <= limit.as_millis() as u64)
    }

    /// Tells the service manager that all threads live, for ever, where it asks for that (`WatchdogSec=`).
    pub(crate) async fn tell(&self) -> Infallible {
        let Some(limit) = sd_notify::watchdog_enabled() else {
            return std::future::pending().await;
        };
        loop {
            if self.within(limit / 2) {
                tell(&[NotifyState::Watchdog]);
            }
            tokio::time::sleep(limit / 4).await;
        }
    }
}

/// Since boot.
fn millis() -> u64 {
    mintage::boottime().as_millis() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_hangs_is_seen() {
        let beats = Beats::default();
        let (first, second) = (beats.begin(), beats.begin());
        assert!(beats.within(Duration::from_secs(60)));
        second.store(0, Ordering::Relaxed);
        assert!(!beats.within(Duration::from_millis(1)));
        for one in [first, second] {
            one.store(millis(), Ordering::Relaxed);
        }
        assert!(beats.within(Duration::from_secs(60)));
    }
}
