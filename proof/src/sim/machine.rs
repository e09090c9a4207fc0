//! One simulated machine: its clocks, its timers, its tasks, its randomness, as a [`Runtime`] for the real ledger.
//!
//! A machine is a pure function of what it is fed (time, polls, answers, changes of its clock), so that a copy of
//! it can be made at any moment by feeding a fresh one the same inputs: a resumed snapshot of a virtual machine.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use mintage::Timestamp;
use mintage_ledger::{BoxFuture, Runtime};

use crate::dice::Dice;

/// How a machine's clocks follow the world's.
#[derive(Clone, Debug)]
pub(crate) struct NodeClock {
    /// How often the machine was started.
    pub boot: u64,
    /// World time and boot time at the last change of rate.
    pub anchor_ns: u64,
    pub boot_ns: u64,
    /// How much faster than the world this machine's oscillator runs, in millionths.
    pub drift_ppm: i64,
    /// Wall clock minus boot time.
    pub wall_offset_ns: i128,
    /// A wall clock that stands still.
    pub frozen_ns: Option<i128>,
    /// What the kernel says about synchronisation.
    pub synchronised: Option<bool>,
}

impl NodeClock {
    fn boot_at(&self, world_ns: u64) -> u64 {
        let elapsed = world_ns.saturating_sub(self.anchor_ns);
        let drift = i128::from(elapsed) * i128::from(self.drift_ppm) / 1_000_000;
        self.boot_ns + (i128::from(elapsed) + drift).max(0) as u64
    }

    /// The world time at which boot time will read `boot_ns`.
    fn world_at(&self, boot_ns: u64) -> u64 {
        let left = i128::from(boot_ns.saturating_sub(self.boot_ns));
        let world = left * 1_000_000 / i128::from(1_000_000 + self.drift_ppm);
        // Rounded up, so that the timer is due when it fires.
        self.anchor_ns.saturating_add(world as u64 + 1)
    }

    pub(crate) fn change(&mut self, change: &ClockChange, world_ns: u64, true_wall_ns: i128) {
        self.boot_ns = self.boot_at(world_ns);
        self.anchor_ns = world_ns;
        match change {
            ClockChange::Step(by) => {
                self.wall_offset_ns += by;
                if let Some(frozen) = &mut self.frozen_ns {
                    *frozen += by;
                }
            }
            ClockChange::Correct(error) => {
                self.frozen_ns = None;
                self.wall_offset_ns = true_wall_ns + error - i128::from(self.boot_ns);
            }
            ClockChange::Drift(ppm) => self.drift_ppm = *ppm,
            ClockChange::Freeze => {
                self.frozen_ns = Some(self.wall_offset_ns + i128::from(self.boot_ns));
            }
            ClockChange::Thaw => {
                if let Some(frozen) = self.frozen_ns.take() {
                    self.wall_offset_ns = frozen - i128::from(self.boot_ns);
                }
            }
            ClockChange::Synchronised(said) => self.synchronised = *said,
            ClockChange::Stood(length) => {
                self.boot_ns = self.boot_ns.saturating_sub(length.as_nanos() as u64);
            }
        }
    }
}

/// What happens to a machine's clocks.
#[derive(Clone, Debug)]
pub(crate) enum ClockChange {
    /// The wall clock is stepped by so much.
    Step(i128),
    /// The wall clock is set to true time, plus this.
    Correct(i128),
    Drift(i64),
    Freeze,
    Thaw,
    Synchronised(Option<bool>),
    /// The whole machine stood still (a hypervisor's pause): neither clock went on.
    Stood(Duration),
}

struct Ready {
    list: Mutex<Vec<u32>>,
}

struct TaskWaker {
    ready: Arc<Ready>,
    id: u32,
    queued: AtomicBool,
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        if !self.queued.swap(true, Ordering::Relaxed) {
            lock(&self.ready.list).push(self.id);
        }
    }
}

struct Task {
    future: BoxFuture<'static, ()>,
    waker: Arc<TaskWaker>,
    near: bool,
}

#[derive(Default)]
struct Timers {
    next: u64,
    /// By boot time.
    due: BTreeMap<(u64, u64), Waker>,
}

/// A machine that runs one process.
pub(crate) struct Machine {
    world_ns: AtomicU64,
    clock: Mutex<NodeClock>,
    random: Mutex<Dice>,
    timers: Mutex<Timers>,
    spawned: Mutex<Vec<(BoxFuture<'static, ()>, bool)>>,
    tasks: Mutex<Vec<Option<Task>>>,
    ready: Arc<Ready>,
}

impl std::fmt::Debug for Machine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Machine")
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A task that panicked ends its run; what it left behind is only dropped.
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

impl Machine {
    pub(crate) fn new(seed: u64, world_ns: u64, clock: NodeClock) -> Arc<Machine> {
        Arc::new(Machine {
            world_ns: AtomicU64::new(world_ns),
            clock: Mutex::new(clock),
            random: Mutex::new(Dice::new(seed)),
            timers: Mutex::default(),
            spawned: Mutex::default(),
            tasks: Mutex::default(),
            ready: Arc::new(Ready {
                list: Mutex::default(),
            }),
        })
    }

    /// World time goes on.
    pub(crate) fn advance(&self, world_ns: u64) {
        self.world_ns.store(world_ns, Ordering::Relaxed);
    }

    pub(crate) fn change_clock(&self, change: &ClockChange, true_wall_ns: i128) {
        let world_ns = self.world_ns.load(Ordering::Relaxed);
        lock(&self.clock).change(change, world_ns, true_wall_ns);
    }

    /// The clocks, for the next process on this machine.
    pub(crate) fn clock(&self) -> NodeClock {
        lock(&self.clock).clone()
    }

    /// Other random numbers from now on: the kernel noticed that it was resumed.
    pub(crate) fn reseed(&self, seed: u64) {
        *lock(&self.random) = Dice::new(seed);
    }

    /// Clock reading without the trait's types.
    pub(crate) fn wall_ns(&self) -> i128 {
        let clock = lock(&self.clock);
        clock.frozen_ns.unwrap_or_else(|| {
            clock.wall_offset_ns + i128::from(clock.boot_at(self.world_ns.load(Ordering::Relaxed)))
        })
    }

    /// The world time of the next timer.
    pub(crate) fn next_timer(&self) -> Option<u64> {
        let boot_ns = lock(&self.timers).due.keys().next()?.0;
        Some(lock(&self.clock).world_at(boot_ns))
    }

    /// Wakes what is due.
    pub(crate) fn fire(&self) {
        let boot_ns = self.boottime().as_nanos() as u64;
        let mut timers = lock(&self.timers);
        while let Some(first) = timers.due.first_entry().filter(|e| e.key().0 <= boot_ns) {
            first.remove().wake();
        }
    }

    /// How many tasks could go on.
    pub(crate) fn ready(&self) -> usize {
        lock(&self.ready.list).len()
    }

    /// Runs the task at `at` of those that could go on, up to its next wait.
    pub(crate) fn poll(&self, at: usize) {
        let id = lock(&self.ready.list).swap_remove(at);
        let taken = lock(&self.tasks)[id as usize].take();
        let Some(mut task) = taken else { return };
        task.waker.queued.store(false, Ordering::Relaxed);
        let waker = Waker::from(Arc::clone(&task.waker));
        let pending = task
            .future
            .as_mut()
            .poll(&mut Context::from_waker(&waker))
            .is_pending();
        if pending {
            lock(&self.tasks)[id as usize] = Some(task);
        } else {
            drop(task);
        }
        self.take_in();
    }

    /// Makes spawned futures tasks.
    pub(crate) fn take_in(&self) {
        for (future, near) in std::mem::take(&mut *lock(&self.spawned)) {
            let mut tasks = lock(&self.tasks);
            let waker = Arc::new(TaskWaker {
                ready: Arc::clone(&self.ready),
                id: tasks.len() as u32,
                queued: AtomicBool::new(false),
            });
            tasks.push(Some(Task {
                future,
                waker: Arc::clone(&waker),
                near,
            }));
            drop(tasks);
            waker.wake();
        }
    }

    /// The tasks that live on the thread that asked for them.
    pub(crate) fn near_tasks(&self) -> Vec<u32> {
        let tasks = lock(&self.tasks);
        let near =
            |(id, task): (usize, &Option<Task>)| task.as_ref().filter(|task| task.near).map(|_| id as u32);
        tasks.iter().enumerate().filter_map(near).collect()
    }

    /// Drops a task where it waits, as when its thread ends.
    pub(crate) fn cut(&self, id: u32) {
        let task = lock(&self.tasks)[id as usize].take();
        drop(task);
        self.take_in();
    }

    /// The machine is switched off: every task ends where it waits.
    pub(crate) fn crash(&self) {
        let tasks = std::mem::take(&mut *lock(&self.tasks));
        drop(tasks);
        // What the ends of others spawned and woke never runs.
        loop {
            let late = std::mem::take(&mut *lock(&self.spawned));
            if late.is_empty() {
                break;
            }
        }
        lock(&self.ready.list).clear();
        lock(&self.timers).due.clear();
    }
}

impl Runtime for ArcMachine {
    fn wall(&self) -> Timestamp {
        Timestamp::from_unix_nanos(self.0.wall_ns())
    }

    fn boottime(&self) -> Duration {
        self.0.boottime()
    }

    fn boot(&self) -> Option<u128> {
        Some(lock(&self.0.clock).boot.into())
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        let until = self.0.boottime().saturating_add(duration).as_nanos() as u64;
        Box::pin(Sleep {
            machine: Arc::clone(&self.0),
            until,
            timer: None,
        })
    }

    fn spawn(&self, task: BoxFuture<'static, ()>) {
        lock(&self.0.spawned).push((task, false));
    }

    fn spawn_near(&self, task: BoxFuture<'static, ()>) {
        lock(&self.0.spawned).push((task, true));
    }

    fn spawn_thread(&self, name: &str, _: Box<dyn FnOnce() + Send>) -> std::io::Result<()> {
        Err(std::io::Error::other(format!(
            "a simulated machine starts no thread: {name}"
        )))
    }

    fn fill_random(&self, out: &mut [u8]) {
        let mut random = lock(&self.0.random);
        for chunk in out.chunks_mut(8) {
            chunk.copy_from_slice(&random.next().to_be_bytes()[..chunk.len()]);
        }
    }

    fn clock_synchronised(&self) -> Option<bool> {
        lock(&self.0.clock).synchronised
    }
}

/// A machine as the ledger's runtime.
#[derive(Clone, Debug)]
pub(crate) struct ArcMachine(pub Arc<Machine>);

impl Machine {
    fn boottime(&self) -> Duration {
        Duration::from_nanos(lock(&self.clock).boot_at(self.world_ns.load(Ordering::Relaxed)))
    }
}

/// Completes once boot time reads `until`.
struct Sleep {
    machine: Arc<Machine>,
    until: u64,
    timer: Option<(u64, u64)>,
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let machine = Arc::clone(&self.machine);
        let now = machine.boottime().as_nanos() as u64;
        let mut timers = lock(&machine.timers);
        if let Some(old) = self.timer.take() {
            timers.due.remove(&old);
        }
        if now >= self.until {
            return Poll::Ready(());
        }
        let timer = (self.until, timers.next);
        timers.next += 1;
        timers.due.insert(timer, cx.waker().clone());
        self.timer = Some(timer);
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if let Some(timer) = self.timer {
            lock(&self.machine.timers).due.remove(&timer);
        }
    }
}
