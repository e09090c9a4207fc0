//! Nodes in virtual time: the real ledger on tokio's paused clock, over one store that can freeze and fail, with
//! crashes and journals that survive them.
#![allow(unreachable_pub)]

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use mintage::{Run, Timestamp};
use mintage_ledger::*;
use mintage_testing::Distinct;
use tokio::time::Instant;

/// A node's view of the world: everybody's clock, its own power switch.
#[derive(Debug)]
pub struct Machine {
    on: Arc<AtomicBool>,
    began: Instant,
    boot: u128,
    random: Mutex<u64>,
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

impl Runtime for Machine {
    fn wall(&self) -> Timestamp {
        Timestamp::from_unix_millis(1_800_000_000_000).saturating_add(self.began.elapsed())
    }
    fn boottime(&self) -> Duration {
        Duration::from_secs(100) + self.began.elapsed()
    }
    fn boot(&self) -> Option<u128> {
        Some(self.boot)
    }
    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(duration))
    }
    fn spawn(&self, task: BoxFuture<'static, ()>) {
        tokio::spawn(OnMachine {
            on: self.on.clone(),
            task,
        });
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

/// One store and everything that was ever seen of it.
pub struct World {
    began: Instant,
    pub store: Arc<FaultyStore>,
    /// Which boot of the machine this is.
    pub boot: u128,
    next_seed: u64,
    seen: HashMap<String, Distinct<i64>>,
}

/// A running process.
pub struct Node {
    on: Arc<AtomicBool>,
    pub ledger: Arc<Ledger>,
    pub journal: Option<Arc<dyn Store>>,
}

/// What came of asking at a rate.
#[derive(Debug, Default)]
pub struct Drive {
    pub asked: u64,
    /// Takes that were refused, and the first refusal.
    pub failed: u64,
    pub error: Option<LedgerError>,
    /// Takes that waited for anything at all.
    pub waited: u64,
    /// From the begin to the first refusal.
    pub until_failed: Option<Duration>,
    pub last: i64,
}

/// Runs `test` in virtual time.
pub fn in_world<F: Future>(seed: u64, plan: FaultPlan, test: impl FnOnce(World) -> F) -> F::Output {
    in_world_of(MemoryStore::shared(7), seed, plan, test)
}

/// As [`in_world`], over this store.
pub fn in_world_of<F: Future>(
    store: Arc<dyn Store>,
    seed: u64,
    plan: FaultPlan,
    test: impl FnOnce(World) -> F,
) -> F::Output {
    let tokio = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    tokio.block_on(async {
        let began = Instant::now();
        let machine = machine(began, 1, seed);
        let store = FaultyStore::new(store, machine, plan);
        test(World {
            began,
            store,
            boot: 1,
            next_seed: seed,
            seen: HashMap::new(),
        })
        .await
    })
}

fn machine(began: Instant, boot: u128, seed: u64) -> Arc<Machine> {
    Arc::new(Machine {
        on: Arc::new(AtomicBool::new(true)),
        began,
        boot,
        random: Mutex::new(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1),
    })
}

/// A journal that survives the processes that use it.
pub fn new_journal() -> Arc<dyn Store> {
    MemoryStore::with_cluster_id(1)
}

/// A second journal with the same content, as a copied disk has.
pub async fn copied(journal: &Arc<dyn Store>) -> Arc<dyn Store> {
    let copy = new_journal();
    for prefix in ["node", "block/"] {
        let page = journal
            .scan(&Key::new(prefix).unwrap(), None, 1000)
            .await
            .unwrap();
        for (key, found) in page {
            let written = copy
                .compare_and_set(&key, None, found.value, Marks::NeverLower)
                .await;
            assert!(matches!(written, Ok(Cas::Done(_))));
        }
    }
    copy
}

impl World {
    pub async fn start(&mut self, journal: Option<Arc<dyn Store>>) -> Node {
        self.start_with(LedgerSettings {
            journal,
            ..LedgerSettings::default()
        })
        .await
        .unwrap()
    }

    pub async fn start_with(&mut self, settings: LedgerSettings) -> Result<Node, LedgerError> {
        self.next_seed += 1;
        let machine = machine(self.began, self.boot, self.next_seed);
        let journal = settings.journal.clone();
        Ok(Node {
            on: machine.on.clone(),
            ledger: Ledger::open(self.store.clone(), settings, machine).await?,
            journal,
        })
    }

    /// A start while the store cannot be opened.
    pub async fn start_away(&mut self, settings: LedgerSettings) -> Result<Node, LedgerError> {
        self.next_seed += 1;
        let machine = machine(self.began, self.boot, self.next_seed);
        let (journal, store) = (settings.journal.clone(), self.store.clone());
        let open: OpenMember = Box::new(move || {
            let store = store.clone();
            Box::pin(async move {
                store.get(&Key::new("meta/open").unwrap()).await?;
                Ok(store as Arc<dyn Store>)
            })
        });
        let store = LateStore {
            scheme: "memory",
            cluster_id: 7,
            seen: None,
            open,
            why: StoreError::new(StoreErrorKind::Unavailable, Outcome::NotDone, "no answer"),
        };
        Ok(Node {
            on: machine.on.clone(),
            ledger: Ledger::open_without_store(store, settings, machine).await?,
            journal,
        })
    }

    /// A journal on a disk that fails by `plan`.
    pub fn frail_journal(&self, plan: FaultPlan) -> Arc<FaultyStore> {
        FaultyStore::new(new_journal(), machine(self.began, self.boot, plan.seed), plan)
    }

    /// What every machine's wall clock reads.
    pub fn now(&self) -> Timestamp {
        machine(self.began, self.boot, 0).wall()
    }

    /// Notes numbers that a client has.
    #[track_caller]
    pub fn saw(&mut self, name: &str, run: Run) {
        if !self.seen.contains_key(name) {
            self.seen.insert(name.to_string(), Distinct::of(name));
        }
        self.seen.get_mut(name).unwrap().extend(run);
    }

    /// How many numbers clients have.
    pub fn count(&self) -> u64 {
        self.seen.values().map(|seen| seen.len() as u64).sum()
    }

    /// Asks for single numbers at `rate` a second, for so long.
    pub async fn drive(&mut self, nodes: &[&Node], name: &str, rate: u64, length: Duration) -> Drive {
        let mut drive = Drive::default();
        let begun = Instant::now();
        let parsed = Name::new(name).unwrap();
        let mut sequences = Vec::new();
        for node in nodes {
            sequences.push(node.ledger.sequence_or_create(&parsed).await.unwrap());
        }
        let mut step = 0u32;
        while begun.elapsed() < length {
            for _ in 0..rate / 100 {
                for sequence in &sequences {
                    let asked_at = Instant::now();
                    drive.asked += 1;
                    match sequence.take(1).await {
                        Ok(run) => {
                            drive.last = run.first;
                            self.saw(name, run);
                        }
                        Err(error) => {
                            drive.failed += 1;
                            drive.until_failed.get_or_insert(begun.elapsed());
                            drive.error.get_or_insert(error);
                        }
                    }
                    drive.waited += u64::from(asked_at.elapsed() > Duration::ZERO);
                }
            }
            step += 1;
            tokio::time::sleep_until(begun + STEP * step).await;
        }
        drive
    }

    /// What the store has reserved of a name.
    pub async fn mark(&self, name: &str) -> u64 {
        let key = Key::new(format!("seq/{name}")).unwrap();
        self.store.get(&key).await.unwrap().unwrap().value.mark
    }
}

impl Node {
    /// Power off, at once.
    pub fn crash(self) -> Option<Arc<dyn Store>> {
        self.on.store(false, Ordering::Relaxed);
        self.journal
    }
}

const STEP: Duration = Duration::from_millis(10);

pub const fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}
