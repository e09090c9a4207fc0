//! What a store shows is not yet kept (protocol R6): a primary whose standby is away goes on showing what it wrote, and
//! acknowledges nothing. Then the standby is promoted, or comes back.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mintage_ledger::*;
use mintage_testing::Distinct;
use tokio::time::sleep;

use crate::machines::{Cluster, Node, in_paused_time};

const SECOND: Duration = Duration::from_secs(1);

/// A database of class S: a write is acknowledged once the standby has it too.
#[derive(Debug)]
struct Primary {
    shown: Arc<MemoryStore>,
    /// What the standby has, while it is away.
    standby: Mutex<Option<Vec<(Key, Versioned)>>>,
    promotions: AtomicU64,
    /// Every second write is not even made, while the standby is away.
    every_second: AtomicBool,
    writes: AtomicU64,
}

impl Primary {
    fn new() -> Arc<Primary> {
        Arc::new(Primary {
            shown: MemoryStore::shared(1),
            standby: Mutex::default(),
            promotions: AtomicU64::new(0),
            every_second: AtomicBool::new(false),
            writes: AtomicU64::new(0),
        })
    }

    fn standby_leaves(&self) {
        *self.standby.lock().unwrap() = Some(self.shown.dump());
    }

    fn standby_is_back(&self) {
        *self.standby.lock().unwrap() = None;
    }

    /// The primary is lost.
    fn promote(&self) {
        if let Some(kept) = self.standby.lock().unwrap().take() {
            let copy = self.promotions.fetch_add(1, Ordering::SeqCst);
            self.shown.fall_back_to(kept, &format!("copy {copy}"));
        }
    }

    fn unknown<T>() -> Result<T, StoreError> {
        let why = "the standby has not confirmed the write";
        Err(StoreError::new(
            StoreErrorKind::Unavailable,
            Outcome::Unknown,
            why,
        ))
    }

    async fn write<T>(&self, done: impl Future<Output = Result<T, StoreError>>) -> Result<T, StoreError> {
        let away = self.standby.lock().unwrap().is_some();
        let n = self.writes.fetch_add(1, Ordering::SeqCst);
        if away && self.every_second.load(Ordering::SeqCst) && n.is_multiple_of(2) {
            return Primary::unknown();
        }
        let answer = done.await;
        match away {
            true => Primary::unknown(),
            false => answer,
        }
    }
}

impl Store for Primary {
    delegate_store!(shown, but class compare_and_set remove claim);

    fn class(&self) -> Class {
        Class::Survives
    }

    fn compare_and_set<'a>(
        &'a self,
        key: &'a Key,
        expected: Option<Version>,
        new: Value,
        marks: Marks,
    ) -> StoreResult<'a, Cas> {
        Box::pin(self.write(self.shown.compare_and_set(key, expected, new, marks)))
    }

    fn remove<'a>(&'a self, key: &'a Key, expected: Version) -> StoreResult<'a, Cas> {
        Box::pin(self.write(self.shown.remove(key, expected)))
    }
}

/// Servers around it, and all that was ever given out.
struct World {
    primary: Arc<Primary>,
    cluster: Cluster,
    issued: Distinct<(String, i64)>,
}

fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}

impl World {
    fn new() -> World {
        let primary = Primary::new();
        let mut cluster = Cluster::new(primary.clone());
        cluster.settings.max_gap = 40;
        World {
            primary,
            cluster,
            issued: Distinct::default(),
        }
    }

    /// Takes what it is given of every kind, and answers how much that was; an end for good is none.
    async fn take(&mut self, node: &Node) -> usize {
        let mut had = 0;
        for sequence in ["orders", "bills"] {
            for n in [1, 7, 30] {
                let Ok(taken) = node.ledger.sequence_or_create(&name(sequence)).await else {
                    continue;
                };
                match taken.take(n).await {
                    Ok(numbers) => {
                        had += 1;
                        for number in numbers {
                            self.issued.add((sequence.to_string(), number));
                        }
                    }
                    Err(LedgerError::Stopped(error)) => panic!("a failover ended it for good: {error}"),
                    Err(_) => {}
                }
            }
        }
        if let Ok(pool) = node.ledger.pool_or_default(&name("default")).await {
            let mut ids = [0; 5];
            if pool.mint(&mut ids).await.is_ok() {
                had += 1;
                for id in ids {
                    self.issued.add(("id".to_string(), id as i64));
                }
            }
        }
        had
    }

    async fn begin(&mut self) -> Node {
        let node = self.cluster.node("first").await;
        let spec = SequenceSpec {
            gap: Gap::None,
            ..SequenceSpec::default()
        };
        node.ledger.create(&name("bills"), &spec).await.unwrap();
        assert_eq!(self.take(&node).await, 7);
        sleep(2 * SECOND).await;
        node
    }
}

/// How the primary goes on while its standby is away.
#[derive(Clone, Copy, Debug)]
enum Meanwhile {
    /// All that is written is shown.
    Shown,
    /// Half of it is.
    Half,
}

fn every_way(mut test: impl FnMut(Meanwhile, Duration)) {
    for meanwhile in [Meanwhile::Shown, Meanwhile::Half] {
        // Beyond the back-off after an outcome that stays unknown, and beyond a window.
        for away in [1, 5, 30, 700] {
            test(meanwhile, away * SECOND);
        }
    }
}

async fn outage(world: &mut World, nodes: &[&Node], meanwhile: Meanwhile, away: Duration) {
    let half = matches!(meanwhile, Meanwhile::Half);
    world.primary.every_second.store(half, Ordering::SeqCst);
    world.primary.standby_leaves();
    let mut left = away;
    while left > Duration::ZERO {
        for node in nodes {
            world.take(node).await;
        }
        let step = (away / 20).min(left);
        sleep(step).await;
        left -= step;
    }
}

#[test]
fn what_no_standby_has_confirmed_is_not_given_out_and_the_promoted_one_may_give_it() {
    every_way(|meanwhile, away| {
        in_paused_time(|| async {
            let mut world = World::new();
            let first = world.begin().await;
            outage(&mut world, &[&first], meanwhile, away).await;
            first.machine.kill();
            world.primary.promote();
            let second = world.cluster.node("second").await;
            let mut had = 0;
            for _ in 0..40 {
                had += world.take(&second).await;
                sleep(SECOND).await;
            }
            assert!(had > 200, "{meanwhile:?} {away:?}: {had}");
        });
    });
}

#[test]
fn servers_that_live_go_on_with_the_standby_that_was_promoted() {
    every_way(|meanwhile, away| {
        in_paused_time(|| async {
            let mut world = World::new();
            let first = world.begin().await;
            let second = world.cluster.node("second").await;
            world.take(&second).await;
            sleep(2 * SECOND).await;
            outage(&mut world, &[&first, &second], meanwhile, away).await;
            world.primary.promote();
            let mut had = 0;
            for _ in 0..80 {
                had += world.take(&first).await + world.take(&second).await;
                sleep(SECOND).await;
            }
            assert!(had > 400, "{meanwhile:?} {away:?}: {had}");
        });
    });
}

#[test]
fn what_was_shown_is_adopted_once_the_standby_is_back() {
    every_way(|meanwhile, away| {
        in_paused_time(|| async {
            let mut world = World::new();
            let first = world.begin().await;
            outage(&mut world, &[&first], meanwhile, away).await;
            world.primary.standby_is_back();
            let second = world.cluster.node("second").await;
            for _ in 0..80 {
                world.take(&first).await;
                world.take(&second).await;
                sleep(SECOND).await;
            }
            assert_eq!(world.take(&first).await + world.take(&second).await, 14);
            // No hole that was not lost with an attempt whose outcome stayed unknown: all of them were found out.
            let bills = first.ledger.existing(&name("bills")).await.unwrap();
            let last = bills.take(1).await.unwrap().last();
            let missing = |n: &i64| !world.issued.contains(&("bills".to_string(), *n));
            let missing: Vec<i64> = (1..last).filter(missing).collect();
            assert!(missing.is_empty(), "{missing:?} {last} {meanwhile:?} {away:?}");
        });
    });
}

#[test]
fn a_database_that_is_started_anew_costs_nothing() {
    in_paused_time(|| async {
        let mut world = World::new();
        let first = world.begin().await;
        for copy in 0..5 {
            let kept = world.primary.shown.dump();
            world.primary.shown.fall_back_to(kept, &format!("started {copy}"));
            sleep((1 + copy) * SECOND).await;
            assert_eq!(world.take(&first).await, 7);
        }
        // Register and stock are held on: there is no gap.
        for sequence in ["orders", "bills"] {
            let mut had: Vec<i64> = world
                .issued
                .iter()
                .filter(|(of, _)| of == sequence)
                .map(|(_, number)| *number)
                .collect();
            had.sort_unstable();
            assert!(
                had.len() > 100 && had.iter().copied().eq(1..=had.len() as i64),
                "{sequence}: {had:?}"
            );
        }
    });
}

#[test]
fn a_change_that_is_answered_is_kept() {
    in_paused_time(|| async {
        let mut world = World::new();
        let first = world.begin().await;
        world.primary.standby_leaves();
        let orders = name("orders");
        let raised = || first.ledger.set(&orders, base(5_000));
        assert!(raised().await.is_err());
        sleep(2 * SECOND).await;
        assert!(raised().await.is_err(), "it is shown, and not kept");
        world.primary.standby_is_back();
        raised().await.unwrap();
        world.primary.standby_leaves();
        world.primary.promote();
        let orders = first.ledger.existing(&name("orders")).await.unwrap();
        assert_eq!(orders.take(1).await.unwrap().first, 5_001);
    });
}

fn base(value: i64) -> mintage::Base {
    mintage::Base {
        value,
        is_called: true,
    }
}
