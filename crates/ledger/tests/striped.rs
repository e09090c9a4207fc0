//! Several stores as one: any one alive is enough, and no number or id comes from two.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::disallowed_types)]

mod machines;

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use machines::{Cluster, Node, On, in_paused_time};
use mintage::{Base, SequenceOptions};
use mintage_ledger::tools::{add_to_set, make_set};
use mintage_ledger::*;
use tokio::time::sleep;

const SECOND: Duration = Duration::from_secs(1);

fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}

/// Stores of a set, each of which can be made to fail.
struct Set {
    stores: Vec<Arc<FaultyStore>>,
    cluster: Cluster,
}

impl Set {
    async fn of(count: u32) -> Set {
        let world = Cluster::new(MemoryStore::shared(0));
        let mut set = Set {
            stores: Vec::new(),
            cluster: world,
        };
        for _ in 0..count {
            set.stores.push(set.fresh());
        }
        let runtime = On(set.cluster.machine());
        let stores: Vec<&dyn Store> = set.stores.iter().map(|store| &**store as &dyn Store).collect();
        make_set(&stores, &runtime).await.unwrap();
        set
    }

    fn fresh(&self) -> Arc<FaultyStore> {
        let runtime = Arc::new(On(self.cluster.machine()));
        let memory = MemoryStore::shared(100 + self.stores.len() as u128);
        FaultyStore::new(memory, runtime, FaultPlan::NONE)
    }

    async fn try_node(&self, node: &str) -> Result<Node, LedgerError> {
        let machine = self.cluster.machine();
        let runtime: Arc<dyn Runtime> = Arc::new(On(machine.clone()));
        // In whatever order: nothing follows from it.
        let members = self.stores.iter().rev().map(|store| {
            let store = store.clone();
            let open: OpenMember = Box::new(move || {
                let store = store.clone();
                Box::pin(async move {
                    // As a connection would be made.
                    store.get(&Key::new("cluster/stripe")?).await?;
                    Ok(store as Arc<dyn Store>)
                })
            });
            ("a store".to_string(), open)
        });
        let striped = Striped::open(members.collect(), runtime.clone()).await;
        let striped = striped.map_err(LedgerError::Store)?;
        let settings = LedgerSettings {
            instance_name: node.to_string(),
            ..LedgerSettings::default()
        };
        let ledger = Ledger::open(striped, settings, runtime).await?;
        Ok(Node { machine, ledger })
    }

    async fn node(&self, node: &str) -> Node {
        self.try_node(node).await.unwrap()
    }
}

#[derive(Default)]
struct Seen {
    numbers: HashSet<(String, i64)>,
    ids: HashSet<u64>,
}

impl Seen {
    async fn take(&mut self, node: &Node, sequence: &str, n: u64) {
        let taken = node.ledger.sequence_or_create(&name(sequence)).await.unwrap();
        let mut left = n;
        while left > 0 {
            let run = taken.take(left).await.unwrap();
            left -= run.count;
            for number in run {
                let fresh = self.numbers.insert((sequence.into(), number));
                assert!(fresh, "{sequence}: {number} twice");
            }
        }
    }

    async fn mint(&mut self, node: &Node) {
        let pool = node.ledger.pool_or_default(&name(DEFAULT_POOL)).await.unwrap();
        let mut ids = [0; 50];
        pool.mint(&mut ids).await.unwrap();
        for id in ids {
            assert!(self.ids.insert(id), "id {id} twice");
        }
    }
}

#[test]
fn any_one_store_is_enough_and_nothing_repeats() {
    in_paused_time(|| async {
        let set = Set::of(2).await;
        let nodes = [set.node("a").await, set.node("b").await, set.node("c").await];
        let mut seen = Seen::default();
        for round in 0..60 {
            // First one store is down, then the other, then none.
            set.stores[0].fail_all((10..25).contains(&round));
            set.stores[1].fail_all((30..45).contains(&round));
            for node in &nodes {
                seen.take(node, "orders", 20).await;
                seen.take(node, "bills", 3).await;
                seen.mint(node).await;
            }
            sleep(SECOND).await;
        }
        // One that starts while a store is down begins with the other.
        set.stores[0].fail_all(true);
        let late = set.node("late").await;
        seen.take(&late, "orders", 100).await;
        seen.take(&late, "new-name", 10).await;
        seen.mint(&late).await;
        set.stores[0].fail_all(false);
        set.stores[1].fail_all(true);
        sleep(5 * SECOND).await;
        seen.take(&late, "orders", 100).await;
        seen.take(&late, "new-name", 10).await;
        seen.mint(&late).await;
        for node in &nodes {
            seen.take(node, "new-name", 50).await;
        }
        set.stores[0].fail_all(true);
        sleep(2 * SECOND).await;
        assert!(set.try_node("none").await.is_err(), "with no store at all");
    });
}

#[test]
fn a_change_needs_every_store_and_is_followed_by_all() {
    in_paused_time(|| async {
        let set = Set::of(3).await;
        let nodes = [set.node("a").await, set.node("b").await];
        let mut seen = Seen::default();
        let spec = SequenceSpec {
            options: SequenceOptions {
                start: Some(1000),
                increment: Some(10),
                ..SequenceOptions::default()
            },
            ..SequenceSpec::default()
        };
        nodes[0].ledger.create(&name("tens"), &spec).await.unwrap();
        for node in &nodes {
            seen.take(node, "tens", 50).await;
            seen.take(node, "orders", 50).await;
        }
        sleep(2 * SECOND).await;
        let to = Base {
            value: 1_000_000,
            is_called: true,
        };
        set.stores[1].fail_all(true);
        let error = nodes[0].ledger.set(&name("orders"), to).await.unwrap_err();
        assert!(matches!(error, LedgerError::Unavailable { .. }), "{error}");
        set.stores[1].fail_all(false);
        sleep(3 * SECOND).await;
        nodes[0].ledger.set(&name("orders"), to).await.unwrap();
        assert!(nodes[0].ledger.followed_by_all(&name("orders")).await.is_empty());
        for node in &nodes {
            let orders = node.ledger.sequence_or_create(&name("orders")).await.unwrap();
            for _ in 0..20 {
                let run = orders.take(1).await.unwrap();
                assert!(run.first > 1_000_000, "{run:?}");
                assert!(seen.numbers.insert(("orders".into(), run.first)));
            }
        }
        // Below where any store stands.
        let back = Base {
            value: 1_000_001,
            is_called: true,
        };
        assert!(nodes[1].ledger.set(&name("orders"), back).await.is_err());
        for (sequence, says) in [("tens", "drop it and make another")] {
            let patch = SequencePatch {
                options: SequenceOptions {
                    increment: Some(7),
                    ..SequenceOptions::default()
                },
                ..SequencePatch::default()
            };
            let error = nodes[0].ledger.alter(&name(sequence), &patch).await.unwrap_err();
            assert!(error.to_string().contains(says), "{error}");
        }
        let orders = nodes[0].ledger.sequence_or_create(&name("orders")).await.unwrap();
        let error = orders.take_contiguous(2).await.unwrap_err();
        assert!(error.to_string().contains("each of the 3 stores has its own share"), "{error}");
    });
}

#[test]
fn a_store_is_added_above_all_that_was_given_out() {
    in_paused_time(|| async {
        let mut set = Set::of(2).await;
        let nodes = [set.node("a").await, set.node("b").await];
        let mut seen = Seen::default();
        for node in &nodes {
            for _ in 0..20 {
                seen.take(node, "orders", 37).await;
                seen.mint(node).await;
            }
        }
        sleep(3 * SECOND).await;
        let new = set.fresh();
        let runtime = On(set.cluster.machine());
        {
            let stores: Vec<&dyn Store> = set.stores.iter().map(|store| &**store as &dyn Store).collect();
            let note = add_to_set(&stores, &*new, &runtime).await.unwrap();
            assert_eq!((note.number, note.of), (2, 3));
        }
        // The servers that ran have stopped.
        sleep(2 * SECOND).await;
        let orders = nodes[0].ledger.sequence_or_create(&name("orders")).await.unwrap();
        assert!(matches!(orders.take(1).await, Err(LedgerError::Stopped(_))));
        // Two of three are not the set.
        assert!(set.try_node("short").await.is_err());
        set.stores.push(new);
        let nodes = [set.node("c").await, set.node("d").await, set.node("e").await];
        for (down, node) in nodes.iter().enumerate() {
            set.stores[down].fail_all(true);
            for _ in 0..20 {
                seen.take(node, "orders", 37).await;
                seen.mint(node).await;
                sleep(SECOND).await;
            }
            set.stores[down].fail_all(false);
            sleep(3 * SECOND).await;
        }
    });
}

#[test]
fn a_set_refuses_what_does_not_belong_to_it() {
    in_paused_time(|| async {
        let set = Set::of(2).await;
        let other = Set::of(2).await;
        let runtime = On(set.cluster.machine());
        let mixed: Vec<&dyn Store> = vec![&*set.stores[0], &*other.stores[1]];
        assert!(make_set(&mixed, &runtime).await.is_err());
        let twice: Vec<&dyn Store> = vec![&*set.stores[0], &*set.stores[0]];
        assert!(make_set(&twice, &runtime).await.is_err());
        let wrong = Set {
            stores: vec![set.stores[0].clone(), other.stores[1].clone()],
            cluster: set.cluster.beside(MemoryStore::shared(0)),
        };
        assert!(wrong.try_node("a").await.is_err());
        let stranger = Set {
            stores: vec![set.stores[0].clone(), set.fresh()],
            cluster: set.cluster.beside(MemoryStore::shared(0)),
        };
        assert!(stranger.try_node("a").await.is_err());
        // Making it again changes nothing.
        let again: Vec<&dyn Store> = set.stores.iter().map(|store| &**store as &dyn Store).collect();
        make_set(&again, &runtime).await.unwrap();
    });
}
