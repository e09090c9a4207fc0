//! A store that loses what it acknowledged: class D stops for good, class L (allowed) repeats nothing.

use std::sync::Arc;
use std::time::Duration;

use mintage::Base;
use mintage_ledger::*;
use mintage_testing::{Distinct, invariant};
use tokio::time::sleep;

use crate::machines::{Cluster, Node, On, in_paused_time};

const SECOND: Duration = Duration::from_secs(1);

fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}

fn lossy(store: &Arc<MemoryStore>) -> Cluster {
    let mut cluster = Cluster::new(store.clone());
    cluster.settings.lossy = Some(LossyRules::default());
    cluster
}

/// The same over a store that takes its time, so that the steps of several servers are interleaved.
fn slow_and_lossy(store: &Arc<MemoryStore>, seed: u64) -> Cluster {
    let mut cluster = lossy(store);
    let plan = FaultPlan {
        seed,
        max_delay: Duration::from_millis(20),
        ..FaultPlan::NONE
    };
    cluster.store = FaultyStore::new(store.clone(), Arc::new(On(cluster.machine())), plan);
    cluster
}

/// Everything that was ever given out.
#[derive(Default)]
struct Seen {
    numbers: Distinct<(String, i64)>,
    ids: Distinct<u64>,
    refused: u64,
}

impl Seen {
    async fn use_all(&mut self, node: &Node, seed: u64) {
        for sequence in ["orders", "bills"] {
            match node.ledger.sequence_or_create(&name(sequence)).await {
                Ok(taken) => match taken.take(1 + seed % 7).await {
                    Ok(run) => {
                        let numbers = run.into_iter().map(|number| (sequence.to_string(), number));
                        self.numbers.extend(numbers);
                    }
                    Err(LedgerError::Unavailable { .. }) => self.refused += 1,
                    Err(error) => panic!("{error}"),
                },
                Err(LedgerError::Unavailable { .. }) => self.refused += 1,
                Err(error) => panic!("{error}"),
            }
        }
        let pool = match node.ledger.pool_or_default(&name(DEFAULT_POOL)).await {
            Ok(pool) => pool,
            Err(LedgerError::Unavailable { .. }) => return self.refused += 1,
            Err(error) => panic!("{error}"),
        };
        let mut ids = [0; 20];
        match pool.mint(&mut ids).await {
            Ok(()) => self.ids.extend(ids),
            Err(LedgerError::Unavailable { .. }) => self.refused += 1,
            Err(error) => panic!("{error}"),
        }
    }
}

fn mark_of(store: &MemoryStore, key: &str) -> u64 {
    let found = store.dump().into_iter().find(|(k, _)| k.as_str() == key);
    found.map_or(0, |(_, found)| found.value.mark)
}

// claim: P30
#[test]
fn a_store_that_may_not_forget_and_does_ends_minting_for_good() {
    in_paused_time(|| async {
        let store = MemoryStore::shared(1);
        let cluster = Cluster::new(store.clone());
        let node = cluster.node("a").await;
        let mut seen = Seen::default();
        for round in 0..5 {
            seen.use_all(&node, round).await;
        }
        let old = store.dump();
        let orders = node.ledger.sequence_or_create(&name("orders")).await.unwrap();
        for _ in 0..200 {
            orders.take(10).await.unwrap();
        }
        let acknowledged = mark_of(&store, "seq/orders");
        store.fall_back_to(old, "other");
        assert!(
            mark_of(&store, "seq/orders") < acknowledged,
            "an acknowledged write was lost"
        );
        sleep(3 * SECOND).await;
        let taken = orders.try_take(1000);
        invariant!(taken.is_none(), "{taken:?} from memory after the store went back");
        let error = orders.take(1).await.unwrap_err();
        let LedgerError::Stopped(error) = error else {
            panic!("{error}")
        };
        assert!(error.message.contains("has lost what it acknowledged"), "{error}");
        assert!(matches!(error.hint, Some(Advice::RaiseAboveLost { .. })));
        let pool = node.ledger.pool_or_default(&name(DEFAULT_POOL)).await.unwrap();
        assert!(matches!(
            pool.mint(&mut [0; 4]).await,
            Err(LedgerError::Stopped(_))
        ));
        assert!(!node.ledger.ready().ready);
        // For good: also when the store has caught up.
        sleep(600 * SECOND).await;
        assert!(matches!(orders.take(1).await, Err(LedgerError::Stopped(_))));
    });
}

// claim: P31
#[test]
fn a_lossy_store_that_fell_back_repeats_nothing_and_holders_go_on() {
    in_paused_time(|| async {
        let store = MemoryStore::shared(1);
        let cluster = lossy(&store);
        let (a, b) = (cluster.node("a").await, cluster.node("b").await);
        let mut seen = Seen::default();
        for round in 0..60 {
            seen.use_all(&a, round).await;
            seen.use_all(&b, round).await;
            sleep(SECOND).await;
        }
        assert_eq!(seen.refused, 0);
        let old = store.dump();
        for round in 0..40 {
            seen.use_all(&a, round).await;
            seen.use_all(&b, round).await;
            sleep(Duration::from_millis(50)).await;
        }
        let acknowledged = mark_of(&store, "seq/orders");
        store.fall_back_to(old, "promoted");
        assert!(
            mark_of(&store, "seq/orders") < acknowledged,
            "an acknowledged write was lost"
        );
        for round in 0..60 {
            seen.use_all(&a, round).await;
            seen.use_all(&b, round).await;
            sleep(SECOND).await;
        }
        // Those who held windows held on; a failover costs at most the call that found it out.
        assert!(seen.refused <= 12, "{} refused", seen.refused);
        let c = cluster.node("c").await;
        for round in 0..60 {
            seen.use_all(&c, round).await;
            seen.use_all(&a, round).await;
            sleep(SECOND).await;
        }
    });
}

/// Over a store that takes its time, so that their steps are interleaved, and on clocks a few milliseconds apart, so that
/// what the one raises is not what the others would.
// claim: P31
#[test]
fn servers_that_recover_at_once_leave_each_other_their_windows() {
    for seed in 1..=20 {
        in_paused_time(|| async {
            let store = MemoryStore::shared(1);
            let cluster = slow_and_lossy(&store, seed);
            let mut nodes = Vec::new();
            for (name, ahead_ms) in [("a", 0), ("b", 7), ("c", 15)] {
                let machine = cluster.machine();
                machine.step(ahead_ms);
                nodes.push(cluster.node_on(name, machine).await);
            }
            let mut seen = Seen::default();
            for round in 0..200 {
                if round == 60 {
                    seen.refused = 0;
                    store.fall_back_to(store.dump(), "restarted");
                }
                for node in &nodes {
                    seen.use_all(node, round).await;
                }
                sleep(Duration::from_millis(300)).await;
            }
            // Nobody waits until windows may begin again, which is half a minute of every round.
            assert!(seen.refused <= 12, "seed {seed}: {} refused", seen.refused);
        });
    }
}

/// Young servers lose their windows, so that nothing but the sequence is written for most of a minute: what a recovery has
/// raised is not counted as theirs.
// claim: P31
#[test]
fn what_a_recovery_raised_is_not_paid_for_by_who_reserves_next() {
    for seed in 1..=5 {
        in_paused_time(|| async {
            let store = MemoryStore::shared(1);
            let cluster = slow_and_lossy(&store, seed);
            let (a, b) = (cluster.node("a").await, cluster.node("b").await);
            let mut seen = Seen::default();
            for round in 0..4 {
                seen.use_all(&a, round).await;
                seen.use_all(&b, round).await;
            }
            for kill in 0..4 {
                store.fall_back_to(store.dump(), &format!("restarted {kill}"));
                let mut refused = 0;
                for _ in 0..20 {
                    for node in [&a, &b] {
                        let orders = node.ledger.sequence_or_create(&name("orders")).await;
                        let taken = match orders {
                            // More than anybody has in stock.
                            Ok(orders) => orders.take(5000).await,
                            Err(error) => Err(error),
                        };
                        match taken {
                            Ok(run) => seen
                                .numbers
                                .extend(run.into_iter().map(|n| ("orders".to_string(), n))),
                            Err(LedgerError::Unavailable { .. }) => refused += 1,
                            Err(error) => panic!("{error}"),
                        }
                    }
                    sleep(Duration::from_millis(100)).await;
                }
                // The calls that find it out.
                assert!(refused <= 8, "seed {seed}, kill {kill}: {refused} refused");
            }
        });
    }
}

#[test]
fn a_definition_that_one_survivor_knows_is_written_again() {
    in_paused_time(|| async {
        let store = MemoryStore::shared(1);
        let cluster = lossy(&store);
        let (a, b) = (cluster.node("a").await, cluster.node("b").await);
        let mut seen = Seen::default();
        seen.use_all(&a, 1).await;
        let old = store.dump();
        let to = Base {
            value: 5_000_000,
            is_called: true,
        };
        b.ledger.set(&name("orders"), to).await.unwrap();
        seen.use_all(&b, 1).await;
        store.fall_back_to(old, "promoted");
        // Whoever finds it out first, and knows nothing of the change.
        let c = cluster.node("c").await;
        let mut waits = 0;
        let first = loop {
            let orders = c.ledger.sequence_or_create(&name("orders")).await;
            match orders {
                Ok(orders) => match orders.take(1).await {
                    Ok(run) => break run.first,
                    Err(error) => assert!(waits < 100, "{error}"),
                },
                Err(error) => assert!(waits < 100, "{error}"),
            }
            waits += 1;
            sleep(SECOND).await;
        };
        seen.numbers.add(("orders".into(), first));
        for round in 0..20 {
            for node in [&a, &b, &c] {
                seen.use_all(node, round).await;
            }
            sleep(SECOND).await;
        }
        let last = a.ledger.show(&name("orders")).await.unwrap().last.unwrap();
        invariant!(last > 5_000_000, "{last}: the change is lost");
    });
}

// claim: P31
#[test]
fn nothing_repeats_whoever_survives() {
    let mut ids = 0;
    for seed in 1..=60u64 {
        ids += in_paused_time(|| async {
            let store = MemoryStore::shared(1);
            let cluster = lossy(&store);
            let mut nodes = vec![cluster.node("n0").await];
            // As mint init does: from here on the store says which copy of it is whole.
            sleep(SECOND).await;
            let mut seen = Seen::default();
            let mut dice = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
            let mut roll = |bound: u64| {
                dice ^= dice << 13;
                dice ^= dice >> 7;
                dice ^= dice << 17;
                dice % bound
            };
            let mut old = store.dump();
            let mut old_age = 0;
            for round in 0..200 {
                old_age += 1;
                match roll(30) {
                    0 | 1 if nodes.len() < 4 => nodes.push(cluster.node(&format!("n{round}")).await),
                    2 if nodes.len() > 1 => {
                        let at = roll(nodes.len() as u64) as usize;
                        nodes.swap_remove(at).machine.kill();
                    }
                    3 | 4 => {
                        old = store.dump();
                        old_age = 0;
                    }
                    // A replica that lags by seconds is promoted; sometimes nobody survives that with it.
                    5 if old_age < 8 => {
                        if roll(3) == 0 {
                            nodes.drain(..).for_each(|node| node.machine.kill());
                        }
                        store.fall_back_to(old.clone(), &format!("copy {round}"));
                        if nodes.is_empty() {
                            nodes.push(cluster.node("after").await);
                        }
                    }
                    _ => {}
                }
                for node in &nodes {
                    seen.use_all(node, round).await;
                }
                sleep(Duration::from_millis(roll(1500))).await;
            }
            assert!(
                seen.numbers.len() > 200,
                "seed {seed}: {} numbers",
                seen.numbers.len()
            );
            seen.ids.len()
        });
    }
    // Not of each: where nobody survives one fall after another, no window begins between them.
    assert!(ids > 60 * 1_000, "{ids} ids");
}
