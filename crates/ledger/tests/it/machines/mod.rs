//! Several machines in one test: each with clocks of its own, each can be stopped, continued and killed. Time is
//! tokio's paused one, so that minutes pass at once and in order.
#![allow(unreachable_pub)]

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use mintage::Timestamp;
use mintage_ledger::*;
use tokio::time::Instant;

/// The true time at the start of every test, in milliseconds since 1970.
pub const EPOCH_MS: i64 = 1_800_000_000_000;

/// A machine: its wall clock may be wrong, its processes may stop.
#[derive(Debug)]
pub struct Machine {
    start: Instant,
    /// Its wall clock minus the true time.
    pub wall_off_ms: AtomicI64,
    stopped: AtomicBool,
    killed: AtomicBool,
    wakers: Mutex<Vec<Waker>>,
    random: AtomicU64,
}

impl Machine {
    /// A machine whose wall clock is right.
    pub fn new(start: Instant, seed: u64) -> Arc<Machine> {
        Arc::new(Machine {
            start,
            wall_off_ms: AtomicI64::new(0),
            stopped: AtomicBool::new(false),
            killed: AtomicBool::new(false),
            wakers: Mutex::default(),
            random: AtomicU64::new(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1),
        })
    }

    /// As SIGSTOP: its tasks are not polled; its clocks go on.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
    }

    /// As SIGCONT.
    pub fn go_on(&self) {
        self.stopped.store(false, Ordering::SeqCst);
        for waker in self.wakers.lock().unwrap().drain(..) {
            waker.wake();
        }
    }

    /// As SIGKILL.
    pub fn kill(&self) {
        self.killed.store(true, Ordering::SeqCst);
    }

    /// Steps its wall clock.
    pub fn step(&self, by_ms: i64) {
        self.wall_off_ms.fetch_add(by_ms, Ordering::SeqCst);
    }
}

/// The true time.
pub fn true_now(start: Instant) -> Timestamp {
    let ms = EPOCH_MS + i64::try_from(start.elapsed().as_millis()).unwrap();
    Timestamp::from_unix_millis(ms)
}

struct OnMachine {
    machine: Arc<Machine>,
    task: BoxFuture<'static, ()>,
}

impl Future for OnMachine {
    type Output = ();
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.machine.killed.load(Ordering::SeqCst) {
            return Poll::Ready(());
        }
        if self.machine.stopped.load(Ordering::SeqCst) {
            self.machine.wakers.lock().unwrap().push(cx.waker().clone());
            return Poll::Pending;
        }
        self.task.as_mut().poll(cx)
    }
}

/// The runtime of one machine.
#[derive(Debug)]
pub struct On(pub Arc<Machine>);

impl Runtime for On {
    fn wall(&self) -> Timestamp {
        let off = self.0.wall_off_ms.load(Ordering::SeqCst);
        Timestamp::from_unix_nanos(true_now(self.0.start).unix_nanos() + i128::from(off) * 1_000_000)
    }
    fn boottime(&self) -> Duration {
        Duration::from_secs(1_000) + self.0.start.elapsed()
    }
    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(duration))
    }
    fn spawn(&self, task: BoxFuture<'static, ()>) {
        let machine = self.0.clone();
        tokio::spawn(OnMachine { machine, task });
    }
    fn spawn_thread(&self, _: &str, _: Box<dyn FnOnce() + Send>) -> std::io::Result<()> {
        Err(std::io::Error::other("no threads here"))
    }
    fn fill_random(&self, out: &mut [u8]) {
        for byte in out {
            let next = |x: u64| {
                Some(
                    x.wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(1_442_695_040_888_963_407),
                )
            };
            let x = self
                .0
                .random
                .fetch_update(Ordering::SeqCst, Ordering::SeqCst, next)
                .unwrap();
            *byte = (x >> 56) as u8;
        }
    }
    fn clock_synchronised(&self) -> Option<bool> {
        None
    }
}

/// A process on a machine.
pub struct Node {
    pub machine: Arc<Machine>,
    pub ledger: Arc<Ledger>,
}

/// Several machines around one store.
pub struct Cluster {
    pub start: Instant,
    pub store: Arc<dyn Store>,
    pub settings: LedgerSettings,
    machines: AtomicU64,
}

impl Cluster {
    pub fn new(store: Arc<dyn Store>) -> Cluster {
        Cluster {
            start: Instant::now(),
            store,
            settings: LedgerSettings::default(),
            machines: AtomicU64::new(0),
        }
    }

    /// Machines of the same world around another store.
    pub fn beside(&self, store: Arc<dyn Store>) -> Cluster {
        Cluster {
            start: self.start,
            store,
            settings: self.settings.clone(),
            machines: AtomicU64::new(1000 + self.machines.load(Ordering::SeqCst)),
        }
    }

    /// A machine that is not running anything yet.
    pub fn machine(&self) -> Arc<Machine> {
        let seed = self.machines.fetch_add(1, Ordering::SeqCst) + 1;
        Machine::new(self.start, seed)
    }

    /// Starts a process on a machine of its own.
    pub async fn node(&self, name: &str) -> Node {
        self.node_on(name, self.machine()).await
    }

    pub async fn node_on(&self, name: &str, machine: Arc<Machine>) -> Node {
        let settings = LedgerSettings {
            instance_name: name.to_string(),
            ..self.settings.clone()
        };
        let runtime = Arc::new(On(machine.clone()));
        let ledger = Ledger::open(self.store.clone(), settings, runtime).await.unwrap();
        Node { machine, ledger }
    }

    /// Somebody who renews its register and follows nothing, until the test ends.
    pub fn stubborn(&self) {
        let store = self.store.clone();
        tokio::spawn(async move {
            let key = Key::new("instance/00000000000000000000000000000001").unwrap();
            let mut version = None;
            loop {
                let value = Value {
                    mark: 0,
                    token: 1,
                    body: r#"{"name":"stubborn","wall_ms":1800000000000,"seen":0}"#.into(),
                };
                let done = store
                    .compare_and_set(&key, version, value, Marks::NeverLower)
                    .await;
                let Ok(Cas::Done(now)) = done else {
                    panic!("{done:?}")
                };
                version = Some(now);
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        });
    }
}

/// Runs a test in paused time.
pub fn in_paused_time<F: Future>(test: impl FnOnce() -> F) -> F::Output {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap()
        .block_on(async { test().await })
}

/// A store with a clock of its own, as a database has one.
#[derive(Debug)]
pub struct Clocked {
    pub inner: Arc<dyn Store>,
    pub start: Instant,
    pub off_ms: AtomicI64,
}

impl Store for Clocked {
    delegate_store!(inner, but wall claim);

    fn wall(&self) -> StoreResult<'_, Option<Timestamp>> {
        let off = i128::from(self.off_ms.load(Ordering::SeqCst)) * 1_000_000;
        let now = Timestamp::from_unix_nanos(true_now(self.start).unix_nanos() + off);
        Box::pin(std::future::ready(Ok(Some(now))))
    }
}
