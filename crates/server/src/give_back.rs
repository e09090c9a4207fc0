//! Memory that was used once is given back to the system.
//!
//! What is freed stays with the process: the allocator (glibc's) returns only what lies at the end of an arena, and after a
//! burst that is little. This is one of the files that may contain `unsafe`: the allocator's functions are the C library's. It
//! asks for that once a burst is over: measured, 1.1 of 2.7 GB had stayed after a thousand clients had left.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use crate::faces;
use crate::thread::Shared;

/// Looks for ever, once a second, whether a burst is over.
pub(crate) async fn follow(shared: &Arc<Shared>) -> Infallible {
    let mut burst = Burst::default();
    loop {
        tokio::time::sleep(LOOK).await;
        if burst.is_over(in_use(shared)) {
            // It takes locks, and some milliseconds for each hundred megabytes.
            let _ = tokio::task::spawn_blocking(trim).await;
        }
    }
}

/// About how many bytes answers and connections take.
fn in_use(shared: &Shared) -> u64 {
    let metrics = shared.service.metrics();
    let connections: u64 = faces::numbered().map(|(face, _)| metrics.connections(face)).sum();
    let held = [&shared.unread, &shared.unread_of_unknown, &shared.requests];
    held.map(|total| total.bytes()).iter().sum::<u64>() + connections * CONNECTION_BYTES
}

/// The most that was in use since memory was last given back.
#[derive(Debug, Default)]
struct Burst {
    most: u64,
}

impl Burst {
    /// Whether less than half is in use of what was, and that was much.
    fn is_over(&mut self, in_use: u64) -> bool {
        self.most = self.most.max(in_use);
        let is_over = self.most >= MUCH && in_use < self.most / 2;
        if is_over {
            self.most = in_use;
        }
        is_over
    }
}

const LOOK: Duration = Duration::from_secs(1);
const CONNECTION_BYTES: u64 = 32 * 1024;
const MUCH: u64 = 4 * 1024 * 1024;

#[cfg(target_env = "gnu")]
#[allow(unsafe_code)]
fn trim() {
    // SAFETY: it takes no pointer, and may be called at any time by any thread (malloc_trim(3)).
    unsafe { libc::malloc_trim(0) };
}

#[cfg(not(target_env = "gnu"))]
fn trim() {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_over_once_and_what_is_little_is_none() {
        let mut burst = Burst::default();
        let mib = |mib: u64| mib << 20;
        let over = [3, 1, 64, 40, 31, 30, 1, 0, 9, 4, 4].map(|used| burst.is_over(mib(used)));
        let t = true;
        let f = false;
        assert_eq!(over, [f, f, f, f, t, f, t, f, f, t, f]);
    }
}
