//! The one door to time, sleep, threads and randomness. Everything else in this crate goes through
//! [`Runtime`], so that a simulator can run the real code (clippy.toml forbids the other doors).
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use std::fmt::Debug;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use mintage::Timestamp;

/// A boxed future; one per store call or task, never per id.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// What the ledger asks of the world.
pub trait Runtime: Debug + Send + Sync + 'static {
    /// Wall-clock time. May step in either direction.
    fn wall(&self) -> Timestamp;

    /// Time since boot, suspend included (CLOCK_BOOTTIME). Never steps back.
    fn boottime(&self) -> Duration;

    /// Which boot of the machine this is: differs between any two. `None` where that cannot be told.
    fn boot(&self) -> Option<u128> {
        None
    }

    /// [`Runtime::boottime`] where some microseconds do not matter and the price of asking does: never ahead of it.
    fn boottime_near(&self) -> Duration {
        self.boottime()
    }

    /// Completes after `duration` of boot time.
    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()>;

    /// Runs `task` in the background until it completes.
    fn spawn(&self, task: BoxFuture<'static, ()>);

    /// Runs a short task in the background, on the caller's own thread where that runs tasks: it saves two
    /// wake-ups of another thread. The task may be dropped before it completes, when that thread's tasks end.
    fn spawn_near(&self, task: BoxFuture<'static, ()>) {
        self.spawn(task);
    }

    /// Runs `work` on a thread of its own, named `name`; for calls that block, such as a sync to disk.
    ///
    /// # Errors
    /// When the system refuses another thread.
    fn spawn_thread(&self, name: &str, work: Box<dyn FnOnce() + Send>) -> std::io::Result<()>;

    /// Fills `out` with random bytes for tokens and nonces.
    fn fill_random(&self, out: &mut [u8]);

    /// Whether the kernel says that the wall clock is synchronised; `None` where it does not tell.
    fn clock_synchronised(&self) -> Option<bool>;
}

/// A fresh attempt token: random, mixed with two clock readings, so that a resumed copy of a process draws
/// another one (protocol R1).
pub fn fresh_token(runtime: &dyn Runtime) -> u128 {
    let mut bytes = [0u8; 16];
    runtime.fill_random(&mut bytes);
    let clocks = (runtime.wall().unix_nanos() as u128).rotate_left(64) ^ runtime.boottime().as_nanos();
    // Zero means "no token" in stored records.
    (u128::from_be_bytes(bytes) ^ clocks).max(1)
}

/// The real world: the system's clocks, tokio's timers, the kernel's randomness.
#[derive(Clone, Debug)]
pub struct SystemRuntime {
    handle: tokio::runtime::Handle,
}

impl SystemRuntime {
    /// Runs tasks on the tokio runtime behind `handle`, which must have its time driver enabled.
    pub fn new(handle: tokio::runtime::Handle) -> Arc<Self> {
        Arc::new(SystemRuntime { handle })
    }
}

impl Runtime for SystemRuntime {
    fn wall(&self) -> Timestamp {
        let now = std::time::SystemTime::now();
        match now.duration_since(std::time::UNIX_EPOCH) {
            Ok(after) => Timestamp::from_unix_nanos(after.as_nanos() as i128),
            Err(before) => Timestamp::from_unix_nanos(-(before.duration().as_nanos() as i128)),
        }
    }

    fn boottime(&self) -> Duration {
        mintage::boottime()
    }

    fn boot(&self) -> Option<u128> {
        let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
        u128::from_str_radix(&id.trim().replace('-', ""), 16).ok()
    }

    fn boottime_near(&self) -> Duration {
        mintage::boottime_near()
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        let handle = self.handle.clone();
        Box::pin(async move {
            // The timer belongs to the ledger's runtime whichever thread awaits it.
            let timer = {
                let _guard = handle.enter();
                tokio::time::sleep(duration)
            };
            timer.await;
        })
    }

    fn spawn(&self, task: BoxFuture<'static, ()>) {
        self.handle.spawn(task);
    }

    fn spawn_near(&self, task: BoxFuture<'static, ()>) {
        match tokio::runtime::Handle::try_current() {
            Ok(here) => here.spawn(task),
            Err(_) => self.handle.spawn(task),
        };
    }

    fn spawn_thread(&self, name: &str, work: Box<dyn FnOnce() + Send>) -> std::io::Result<()> {
        std::thread::Builder::new()
            .name(name.to_string())
            .spawn(work)
            .map(drop)
    }

    fn fill_random(&self, out: &mut [u8]) {
        mintage::fill_random(out);
    }

    fn clock_synchronised(&self) -> Option<bool> {
        mintage::clock_synchronised()
    }
}
