//! Several ledgers on one store that refuses, loses answers and leaves outcomes unknown, with crashes: nothing
//! repeats, and everything goes on once the store is well again. A failing seed is printed.
#![allow(clippy::unwrap_used)]
#![allow(clippy::disallowed_methods)]

use std::collections::HashSet;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use mintage::{Base, Timestamp};
use mintage_ledger::*;
use mintage_ledger::{FaultPlan, FaultyStore};

/// A machine with its own clock, which passes a sleeper's time at once, and which can be switched off.
#[derive(Debug)]
struct Machine {
    on: Arc<AtomicBool>,
    boot_ns: AtomicU64,
    wall_offset_ns: i128,
    random: Mutex<u64>,
}

impl Machine {
    fn new(seed: u64, wall_offset: i64) -> Arc<Machine> {
        Arc::new(Machine {
            on: Arc::new(AtomicBool::new(true)),
            boot_ns: AtomicU64::new(1_000_000_000),
            wall_offset_ns: 1_800_000_000_000_000_000 + i128::from(wall_offset),
            random: Mutex::new(seed | 1),
        })
    }

    fn crash(&self) {
        self.on.store(false, Ordering::Relaxed);
    }
}

/// Stops being polled when its machine is off.
struct OnMachine {
    on: Arc<AtomicBool>,
    task: BoxFuture<'static, ()>,
}

impl Future for OnMachine {
    type Output = ();
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        match self.on.load(Ordering::Relaxed) {
            true => self.task.as_mut().poll(cx),
            false => Poll::Ready(()),
        }
    }
}

/// Is dropped after so many polls, as a task whose thread ends.
struct CutShort {
    polls: u32,
    task: BoxFuture<'static, ()>,
}

impl Future for CutShort {
    type Output = ();
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        match self.polls.checked_sub(1) {
            Some(left) => self.polls = left,
            None => return Poll::Ready(()),
        }
        self.task.as_mut().poll(cx)
    }
}

impl Runtime for Machine {
    fn wall(&self) -> Timestamp {
        Timestamp::from_unix_nanos(self.wall_offset_ns + i128::from(self.boot_ns.load(Ordering::Relaxed)))
    }
    fn boottime(&self) -> Duration {
        Duration::from_nanos(self.boot_ns.fetch_add(1_000, Ordering::Relaxed))
    }
    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        self.boot_ns
            .fetch_add(duration.as_nanos() as u64, Ordering::Relaxed);
        Box::pin(tokio::task::yield_now())
    }
    fn spawn(&self, task: BoxFuture<'static, ()>) {
        tokio::spawn(OnMachine {
            on: self.on.clone(),
            task,
        });
    }
    fn spawn_near(&self, task: BoxFuture<'static, ()>) {
        let mut byte = [0];
        self.fill_random(&mut byte);
        match byte[0] {
            polls @ 0..20 => self.spawn(Box::pin(CutShort {
                polls: u32::from(polls % 4),
                task,
            })),
            _ => self.spawn(task),
        }
    }
    fn spawn_thread(&self, _: &str, work: Box<dyn FnOnce() + Send>) -> std::io::Result<()> {
        std::thread::Builder::new().spawn(work).map(drop)
    }
    fn fill_random(&self, out: &mut [u8]) {
        let mut state = self.random.lock().unwrap();
        for byte in out {
            *state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            *byte = (*state >> 56) as u8;
        }
    }
    fn clock_synchronised(&self) -> Option<bool> {
        None
    }
}

struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

struct Node {
    machine: Arc<Machine>,
    ledger: Arc<Ledger>,
}

#[derive(Default)]
struct Seen {
    numbers: HashSet<(&'static str, i64)>,
    ids: HashSet<u64>,
    served: u64,
    refused: u64,
    hidden: u64,
}

impl Seen {
    fn run(&mut self, name: &'static str, run: mintage::Run) {
        for number in run {
            assert!(self.numbers.insert((name, number)), "{name}: {number} twice");
        }
        self.served += 1;
    }
}

async fn start(store: &Arc<FaultyStore>, dice: &mut Dice) -> Option<Node> {
    let machine = Machine::new(dice.below(u64::MAX), dice.below(4_000_000_000) as i64);
    let runtime: Arc<dyn Runtime> = machine.clone();
    let ledger = Ledger::open(store.clone(), LedgerSettings::default(), runtime)
        .await
        .ok()?;
    // Fails if the store does; then it is made by use.
    let spec = SequenceSpec {
        gap: Gap::None,
        ..Default::default()
    };
    ledger.create(&Name::new("bills").unwrap(), &spec).await.ok()?;
    Some(Node { machine, ledger })
}

async fn step(node: &Node, dice: &mut Dice, seen: &mut Seen) {
    let name = ["orders", "bills", "wide"][dice.below(3) as usize];
    let parsed = Name::new(name).unwrap();
    let result = match dice.below(12) {
        0..6 => match node.ledger.sequence_or_create(&parsed).await {
            Ok(sequence) => {
                let n = 1 + dice.below(if name == "wide" { 5000 } else { 5 });
                let taken = match dice.below(3) {
                    0 => sequence.take_contiguous(n).await,
                    _ => sequence.take(n).await,
                };
                taken.map(|run| seen.run(name, run))
            }
            Err(error) => Err(error),
        },
        6..10 => match node
            .ledger
            .pool_or_default(&Name::new(DEFAULT_POOL).unwrap())
            .await
        {
            Ok(pool) => {
                let mut ids = vec![0; 1 + dice.below(50) as usize];
                pool.mint(&mut ids).await.map(|()| {
                    seen.served += 1;
                    for id in ids {
                        assert!(seen.ids.insert(id), "id {id} twice");
                    }
                })
            }
            Err(error) => Err(error),
        },
        10 => {
            let value = dice.below(30_000) as i64 + 1;
            let result = node
                .ledger
                .set(
                    &parsed,
                    Base {
                        value,
                        is_called: true,
                    },
                )
                .await;
            match result {
                Ok(_) | Err(LedgerError::OnlyForward { .. }) => Ok(()),
                Err(error) => Err(error),
            }
        }
        _ => match node.ledger.drop_sequence(&parsed).await {
            Ok(_) | Err(LedgerError::NotFound { .. }) => Ok(()),
            Err(error) => Err(error),
        },
    };
    match result {
        Ok(()) => {}
        Err(LedgerError::Unavailable { .. } | LedgerError::Closing) => seen.refused += 1,
        Err(error) => panic!("{name}: {error}"),
    }
    // Time passes, so that back-offs end.
    node.machine
        .boot_ns
        .fetch_add(dice.below(400_000_000), Ordering::Relaxed);
    for _ in 0..dice.below(4) {
        tokio::task::yield_now().await;
    }
}

async fn one_run(seed: u64, seen: &mut Seen) {
    let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let quiet = Machine::new(seed, 0);
    // Alone with its store, and as one of several on a shared one.
    let inner: Arc<dyn Store> = match seed % 4 {
        0..3 => MemoryStore::with_cluster_id(1),
        _ => MemoryStore::shared(1),
    };
    let store = FaultyStore::new(
        inner.clone(),
        quiet,
        FaultPlan {
            max_delay: Duration::from_millis(seed % 3),
            ..FaultPlan::rough(seed)
        },
    );
    let mut nodes: Vec<Node> = Vec::new();
    for _ in 0..80 {
        if nodes.len() < 3 && dice.below(4) == 0 || nodes.is_empty() {
            nodes.extend(start(&store, &mut dice).await);
            continue;
        }
        let at = dice.below(nodes.len() as u64) as usize;
        if dice.below(12) == 0 {
            nodes.swap_remove(at).machine.crash();
            continue;
        }
        step(&nodes[at], &mut dice, seen).await;
    }
    seen.hidden += store.counts().hidden_writes;
    // The store is well again: every node goes on.
    let well: Arc<dyn Store> = inner;
    let machine = Machine::new(seed, 0);
    let ledger = Ledger::open(well, LedgerSettings::default(), machine.clone())
        .await
        .unwrap();
    nodes.push(Node { machine, ledger });
    for node in &nodes {
        let k = node
            .ledger
            .sequence_or_create(&Name::new("orders").unwrap())
            .await;
        let Ok(k) = k else { continue };
        let mut tries = 0;
        loop {
            match k.take(1).await {
                Ok(run) => break seen.run("orders", run),
                Err(error) => {
                    tries += 1;
                    assert!(tries < 200, "does not recover: {error}");
                    node.machine.boot_ns.fetch_add(1_000_000_000, Ordering::Relaxed);
                }
            }
        }
        node.machine.crash();
    }
}

#[test]
fn nothing_repeats_whatever_the_store_does() {
    let mut served = 0;
    let mut hidden = 0;
    for seed in 1..=400 {
        let tokio = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let mut seen = Seen::default();
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            tokio.block_on(one_run(seed, &mut seen));
        }));
        assert!(outcome.is_ok(), "seed {seed}");
        served += seen.served;
        hidden += seen.hidden;
    }
    // The faults really happened, and the runs were not empty.
    assert!(
        served > 5_000 && hidden > 500,
        "{served} served, {hidden} writes with lost answers"
    );
}
