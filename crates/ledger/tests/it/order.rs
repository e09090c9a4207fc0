//! Numbers rise on one process, whoever asks for single ones, for many and for runs: a take that begins after another
//! one was answered gets higher numbers. In virtual time, over stores that delay and fail, with several processes on
//! them; every process is checked for itself, and all of them for repeats.
//!
//! `MINT_TEST_ORDER` is how many seeds are tried of every kind (default 3).

use std::sync::{Arc, Mutex};
use std::time::Duration;

use mintage::{Base, Run, SequenceOptions};
use mintage_ledger::*;
use mintage_testing::{Distinct, invariant};

use crate::common::{Node, World, in_world, in_world_of, new_journal};

const MS: Duration = Duration::from_millis(1);

fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}

/// A small generator: the same numbers for the same seed.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }
}

/// What clients of one process saw.
struct Seen {
    what: String,
    increment: i64,
    /// The furthest number that was answered.
    furthest: Mutex<Option<i64>>,
    all: Arc<Mutex<Distinct<i64>>>,
}

impl Seen {
    fn furthest(&self) -> Option<i64> {
        *self.furthest.lock().unwrap()
    }

    /// Notes a run that was asked for when `before` was the furthest number answered.
    fn note(&self, before: Option<i64>, run: Run, asked: &str) {
        let rank = |number: i64| i128::from(number) * i128::from(self.increment.signum());
        if let Some(before) = before {
            invariant!(
                rank(run.first) > rank(before),
                "{}: {asked} answered {} after {before}",
                self.what,
                run.first
            );
        }
        self.all.lock().unwrap().extend(run);
        let mut furthest = self.furthest.lock().unwrap();
        let last = run.last();
        *furthest = Some(furthest.map_or(last, |so_far| match rank(last) > rank(so_far) {
            true => last,
            false => so_far,
        }));
    }
}

/// One connection: takes of every kind, one after the other.
async fn connection(sequence: Arc<Sequence>, seen: Arc<Seen>, seed: u64, takes: u64) {
    let mut random = Random(seed | 1);
    for _ in 0..takes {
        let before = seen.furthest();
        match random.below(10) {
            0..=3 => {
                if let Ok(run) = sequence.take(1).await {
                    seen.note(before, run, "one");
                }
            }
            4 => {
                let n = 1 + random.below(300);
                if let Ok(run) = sequence.take(n).await {
                    seen.note(before, run, "many");
                }
            }
            5..=7 => {
                let most = [4, 50, 3_000][random.below(3) as usize];
                let n = 1 + random.below(most);
                if let Ok(run) = sequence.take_contiguous(n).await {
                    assert_eq!(run.count, n);
                    seen.note(before, run, "a run");
                }
            }
            8 => {
                if let Some(run) = sequence.try_take_contiguous(1 + random.below(40)) {
                    seen.note(before, run, "a run in stock");
                }
            }
            _ => tokio::time::sleep(MS * random.below(700) as u32).await,
        }
        if random.below(4) > 0 {
            tokio::task::yield_now().await;
        }
    }
}

/// Three connections of every process at once.
async fn mixture(nodes: &[(&Node, Arc<Seen>)], seed: u64, takes: u64) {
    let mut connections = tokio::task::JoinSet::new();
    for (at, (node, seen)) in nodes.iter().enumerate() {
        let sequence = loop {
            match node.ledger.sequence_or_create(&name("a")).await {
                Ok(sequence) => break sequence,
                Err(_) => tokio::time::sleep(MS * 200).await,
            }
        };
        for n in 0..3 {
            let seed = seed.wrapping_mul(0x9e37_79b9).wrapping_add(at as u64 * 10 + n);
            connections.spawn(connection(sequence.clone(), seen.clone(), seed, takes));
        }
    }
    while let Some(ended) = connections.join_next().await {
        if let Err(error) = ended {
            std::panic::resume_unwind(error.into_panic());
        }
    }
}

fn spec(increment: i64, gap: Gap, max_gap: Option<u64>) -> SequenceSpec {
    let options = SequenceOptions {
        increment: Some(increment),
        ..SequenceOptions::default()
    };
    SequenceSpec {
        options,
        gap,
        max_gap,
    }
}

fn seeds() -> u64 {
    std::env::var("MINT_TEST_ORDER").map_or(3, |n| n.parse().unwrap())
}

async fn create(world: &mut World, spec: &SequenceSpec) {
    let node = start(world, None).await;
    while node.ledger.create(&name("a"), spec).await.is_err() {
        tokio::time::sleep(MS * 200).await;
    }
    node.ledger.close().await.ok();
}

/// What the attack did: 1, a run of 3000, and then 2.
// claim: P17
#[test]
fn a_single_number_after_a_run_is_higher() {
    for (journal, nodes) in [(false, 1), (true, 1), (false, 2), (true, 2)] {
        in_world(1, FaultPlan::NONE, |mut world| async move {
            let mut ledgers = Vec::new();
            for _ in 0..nodes {
                ledgers.push(world.start(journal.then(new_journal)).await);
            }
            let mut sequences = Vec::new();
            for node in &ledgers {
                sequences.push(node.ledger.sequence_or_create(&name("a")).await.unwrap());
            }
            let mut last = vec![0; nodes];
            for n in [1, 3000, 1, 1, 7, 1, 100, 1, 90_000, 1] {
                for (sequence, last) in sequences.iter().zip(&mut last) {
                    let run = sequence.take_contiguous(n).await.unwrap();
                    invariant!(
                        run.first > *last,
                        "{nodes} nodes: {n} gave {} after {last}",
                        run.first
                    );
                    *last = run.last();
                    let single = sequence.take(1).await.unwrap().first;
                    invariant!(single > *last, "{nodes} nodes: 1 gave {single} after {last}");
                    *last = single;
                }
            }
            if nodes == 1 {
                // Alone on its store, a process loses nothing for it.
                assert_eq!(last[0], 93_113 + 10);
            }
        });
    }
}

// claim: P16
#[test]
fn mixtures_rise_on_every_process_of_a_shared_store() {
    for seed in 1..=seeds() {
        for increment in [1, -3] {
            for (gap, max_gap) in [(Gap::Bounded, None), (Gap::Bounded, Some(20)), (Gap::None, None)] {
                for journal in [false, true] {
                    for rough in [false, true] {
                        let what = format!(
                            "seed {seed}, increment {increment}, {gap:?} {max_gap:?}, journal {journal}, rough {rough}"
                        );
                        let plan = FaultPlan {
                            max_delay: MS * 40,
                            ..if rough {
                                FaultPlan::rough(seed)
                            } else {
                                FaultPlan::NONE
                            }
                        };
                        in_world(seed, plan, |mut world| async move {
                            create(&mut world, &spec(increment, gap, max_gap)).await;
                            let all = Arc::new(Mutex::new(Distinct::of(&what)));
                            let mut nodes = Vec::new();
                            for at in 0..1 + seed % 3 {
                                nodes.push((
                                    start(&mut world, journal.then(new_journal)).await,
                                    Arc::new(Seen {
                                        what: format!("{what}, process {at}"),
                                        increment,
                                        furthest: Mutex::default(),
                                        all: Arc::clone(&all),
                                    }),
                                ));
                            }
                            let nodes: Vec<_> =
                                nodes.iter().map(|(node, seen)| (node, seen.clone())).collect();
                            mixture(&nodes, seed, 150).await;
                            assert!(!all.lock().unwrap().is_empty());
                        });
                    }
                }
            }
        }
    }
}

/// Starts a process as often as the store makes that fail.
async fn start(world: &mut World, journal: Option<Arc<dyn Store>>) -> Node {
    loop {
        let settings = LedgerSettings {
            journal: journal.clone(),
            ..LedgerSettings::default()
        };
        if let Ok(node) = world.start_with(settings).await {
            return node;
        }
        tokio::time::sleep(MS * 200).await;
    }
}

// claim: P16
#[test]
fn mixtures_rise_where_the_store_is_ours_alone() {
    for seed in 1..=seeds() {
        for (increment, gap) in [(1, Gap::Bounded), (-3, Gap::Bounded), (1, Gap::None)] {
            let plan = FaultPlan {
                max_delay: MS * 20,
                ..FaultPlan::rough(seed)
            };
            let store: Arc<dyn Store> = MemoryStore::with_cluster_id(3);
            in_world_of(store, seed, plan, |mut world| async move {
                let node = start(&mut world, None).await;
                let seen = Arc::new(Seen {
                    what: format!("seed {seed}, increment {increment}, {gap:?}, ours alone"),
                    increment,
                    furthest: Mutex::default(),
                    all: Arc::default(),
                });
                while node
                    .ledger
                    .create(&name("a"), &spec(increment, gap, None))
                    .await
                    .is_err()
                {
                    tokio::time::sleep(MS * 200).await;
                }
                mixture(&[(&node, seen)], seed, 300).await;
            });
        }
    }
}

/// One after the other: takes of every kind, moves forward, changes of the definition, crashes and clean stops. The
/// process that comes after another with the same journal goes on above it.
// claim: P16
#[test]
fn mixtures_rise_across_changes_and_restarts() {
    for seed in 1..=seeds() * 2 {
        let plan = FaultPlan {
            max_delay: MS * 10,
            ..FaultPlan::rough(seed)
        };
        in_world(seed, plan, |mut world| async move {
            create(&mut world, &spec(1, Gap::Bounded, None)).await;
            let mut random = Random(seed.wrapping_mul(0x2545_f491) | 1);
            let seen = Arc::new(Seen {
                what: format!("seed {seed}, restarts"),
                increment: 1,
                furthest: Mutex::default(),
                all: Arc::default(),
            });
            let other = start(&mut world, Some(new_journal())).await;
            let elsewhere = Arc::new(Seen {
                what: format!("seed {seed}, the other"),
                increment: 1,
                furthest: Mutex::default(),
                all: Arc::clone(&seen.all),
            });
            let mut journal = Some(new_journal());
            for round in 0..12 {
                let node = start(&mut world, journal.take()).await;
                // For more than ten seconds, now and then, so that large blocks are owned.
                let sequence = node.ledger.sequence_or_create(&name("a")).await;
                for _ in 0..random.below(2) * 1100 {
                    let before = seen.furthest();
                    if let Ok(sequence) = &sequence
                        && let Ok(run) = sequence.take(1).await
                    {
                        seen.note(before, run, "one at a rate");
                    }
                    tokio::time::sleep(MS * 10).await;
                }
                mixture(
                    &[(&node, seen.clone()), (&other, elsewhere.clone())],
                    seed + round,
                    40,
                )
                .await;
                if random.below(3) == 0 {
                    let value = seen.furthest().max(elsewhere.furthest()).unwrap_or(0) + 100_000;
                    let to = Base {
                        value,
                        is_called: true,
                    };
                    let _ = node.ledger.set(&name("a"), to).await;
                    node.ledger.followed_by_all(&name("a")).await;
                }
                if random.below(3) == 0 {
                    let patch = SequencePatch {
                        max_gap: Some(10 + random.below(5000)),
                        ..SequencePatch::default()
                    };
                    let _ = node.ledger.alter(&name("a"), &patch).await;
                }
                mixture(&[(&node, seen.clone())], seed + round, 20).await;
                journal = match random.below(2) {
                    0 => node.crash(),
                    _ => {
                        let _ = node.ledger.close().await;
                        node.crash()
                    }
                };
                // Longer than a register of a process that crashed is looked at.
                tokio::time::sleep(MS * 4000).await;
            }
        });
    }
}
