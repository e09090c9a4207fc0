//! A shared store that was set back, by a dump, a folder, a snapshot: noticed at the next start by what the machine
//! remembers, by its journal, or by the servers that live; and a mark that was lowered by hand.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use mintage_ledger::*;
use mintage_testing::{Distinct, invariant};
use tempfile::TempDir;
use tokio::time::{Instant, sleep};

use crate::machines::{Cluster, Machine, Node, On, in_paused_time};

const SECOND: Duration = Duration::from_secs(1);
const URL: &str = "redis://store/";

fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}

/// Machines with state folders around one store, and every number that was given out.
struct World {
    cluster: Cluster,
    store: Arc<MemoryStore>,
    issued: Distinct<(String, i64)>,
}

impl World {
    fn new() -> World {
        let store = MemoryStore::shared(1);
        World {
            cluster: Cluster::new(store.clone()),
            store,
            issued: Distinct::default(),
        }
    }

    async fn start_on(&self, state: Option<&Path>, machine: Arc<Machine>) -> Result<Node, LedgerError> {
        self.start_with(state, machine, None).await
    }

    async fn start_with(
        &self,
        state: Option<&Path>,
        machine: Arc<Machine>,
        journal: Option<Arc<dyn Store>>,
    ) -> Result<Node, LedgerError> {
        let runtime = Arc::new(On(machine.clone()));
        let store: Arc<dyn Store> = match state {
            Some(state) => remembering(self.store.clone(), URL, state, runtime.clone()).unwrap(),
            None => self.store.clone(),
        };
        let settings = LedgerSettings {
            journal,
            ..LedgerSettings::default()
        };
        let ledger = Ledger::open(store, settings, runtime).await?;
        Ok(Node { machine, ledger })
    }

    async fn start(&self, state: Option<&Path>) -> Result<Node, LedgerError> {
        self.start_on(state, self.cluster.machine()).await
    }

    /// Takes so many numbers, one at a time, of an ordinary and of a gap-free sequence.
    async fn take(&mut self, node: &Node, count: u64) -> Result<(), LedgerError> {
        let spec = SequenceSpec {
            gap: Gap::None,
            ..SequenceSpec::default()
        };
        if node.ledger.existing(&name("bills")).await.is_err() {
            node.ledger.create(&name("bills"), &spec).await?;
        }
        for sequence in ["orders", "bills"] {
            for _ in 0..count {
                let taken = node.ledger.sequence_or_create(&name(sequence)).await?;
                for number in taken.take(1).await? {
                    self.issued.add((sequence.to_string(), number));
                }
            }
        }
        Ok(())
    }

    /// What `mint store check` says that a server would refuse.
    async fn findings(&self, state: &Path) -> Vec<String> {
        let runtime = Arc::new(On(self.cluster.machine()));
        let store = remembering(self.store.clone(), URL, state, runtime.clone()).unwrap();
        tools::check_store(&*store, &*runtime).await.unwrap().findings
    }

    /// What an operator does as the refusal says.
    async fn restore(&self, state: &Path, numbers: u64) {
        let runtime = Arc::new(On(self.cluster.machine()));
        let store = remembering(self.store.clone(), URL, state, runtime.clone()).unwrap();
        tools::raise_in_place(&*store, Advance::By(numbers), SECOND, &*runtime)
            .await
            .unwrap();
    }
}

use tools::Advance;

fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

/// The refusal of a start, or of a process that has stopped.
#[track_caller]
fn refusal<T>(answer: Result<T, LedgerError>) -> StoreError {
    let error = match answer {
        Ok(_) => panic!("a store that was set back was taken"),
        Err(LedgerError::Stopped(error) | LedgerError::Store(error)) => error,
        Err(other) => panic!("{other}"),
    };
    assert!(error.message.contains("has lost what it acknowledged"), "{error}");
    assert!(
        matches!(error.hint, Some(Advice::RaiseAboveLost { .. })),
        "{:?}",
        error.hint
    );
    error
}

// claim: P44
#[test]
fn a_machine_refuses_a_store_that_is_behind_what_it_remembers() {
    // Put back within the second in which the numbers were given out, and long after.
    for ran_for in [Duration::ZERO, 10 * SECOND] {
        in_paused_time(|| async {
            let (mut world, state) = (World::new(), folder());
            let node = world.start(Some(state.path())).await.unwrap();
            world.take(&node, 50).await.unwrap();
            let old = world.store.dump();
            world.take(&node, 300).await.unwrap();
            sleep(ran_for).await;
            node.machine.kill();
            assert!(world.findings(state.path()).await.is_empty());
            world.store.fall_back_to(old, "same");
            for _ in 0..2 {
                let found = world.findings(state.path()).await;
                assert!(found[0].contains("has lost what it acknowledged"), "{found:?}");
                refusal(world.start(Some(state.path())).await);
            }
            world.restore(state.path(), 1_000).await;
            assert!(world.findings(state.path()).await.is_empty());
            let node = world.start(Some(state.path())).await.unwrap();
            world.take(&node, 400).await.unwrap();
        });
    }
}

#[test]
fn a_store_that_stays_as_it_was_left_is_taken_at_once() {
    in_paused_time(|| async {
        let (mut world, state) = (World::new(), folder());
        for _ in 0..3 {
            let node = world.start(Some(state.path())).await.unwrap();
            let begun = Instant::now();
            world.take(&node, 50).await.unwrap();
            assert_eq!(begun.elapsed(), Duration::ZERO, "nobody else was ever there");
            sleep(5 * SECOND).await;
            node.ledger.close().await.unwrap();
        }
    });
}

// claim: P44
#[test]
fn another_machine_that_only_looked_on_refuses_too() {
    in_paused_time(|| async {
        let (mut world, a, b) = (World::new(), folder(), folder());
        let busy = world.start(Some(a.path())).await.unwrap();
        let idle = world.start(Some(b.path())).await.unwrap();
        world.take(&busy, 50).await.unwrap();
        let old = world.store.dump();
        world.take(&busy, 300).await.unwrap();
        sleep(3 * SECOND).await;
        busy.machine.kill();
        idle.machine.kill();
        world.store.fall_back_to(old, "same");
        let error = refusal(world.start(Some(b.path())).await);
        assert!(
            error.message.contains("set back: its change counter is"),
            "{error}"
        );
        // What the first has found is known to all, those without memory included.
        let error = refusal(world.start(None).await);
        assert!(error.message.contains("another server has found"), "{error}");
        refusal(world.start(Some(a.path())).await);
        // A restore from one machine is one for all, however far the store had come.
        world.restore(b.path(), 1_000).await;
        for state in [Some(a.path()), Some(b.path()), None] {
            let node = world.start(state).await.unwrap();
            world.take(&node, 100).await.unwrap();
            node.machine.kill();
        }
    });
}

// claim: P47
#[test]
fn stopped_for_good_outlives_the_process_until_a_restore() {
    in_paused_time(|| async {
        let (mut world, state) = (World::new(), folder());
        let node = world.start(Some(state.path())).await.unwrap();
        world.take(&node, 50).await.unwrap();
        let old = world.store.dump();
        world.take(&node, 300).await.unwrap();
        let new = world.store.dump();
        world.store.fall_back_to(old, "same");
        sleep(3 * SECOND).await;
        assert!(node.ledger.stopped().is_some());
        refusal(world.take(&node, 1).await);
        node.machine.kill();
        // Even where nothing is missing any more: what happened in between is not known.
        world.store.fall_back_to(new, "same");
        let error = refusal(world.start(Some(state.path())).await);
        assert!(
            error.message.contains("this machine stopped for good before"),
            "{error}"
        );
        world.restore(state.path(), 0).await;
        let node = world.start(Some(state.path())).await.unwrap();
        world.take(&node, 400).await.unwrap();
    });
}

// claim: P44
#[test]
fn a_new_server_refuses_while_one_lives_that_knows() {
    in_paused_time(|| async {
        let mut world = World::new();
        let node = world.start(None).await.unwrap();
        world.take(&node, 50).await.unwrap();
        sleep(3 * SECOND).await;
        let old = world.store.dump();
        world.take(&node, 300).await.unwrap();
        sleep(3 * SECOND).await;
        world.store.fall_back_to(old, "same");
        // In the same moment: nobody knows yet.
        let new = world.start(None).await.unwrap();
        refusal(world.take(&new, 1).await);
        assert!(node.ledger.stopped().is_some());
        // And later.
        refusal(world.start(None).await);
        // Whoever knows says it again to a store that is set back once more.
        let flagless = world.store.dump().into_iter();
        let flagless = flagless
            .filter(|(key, _)| key.as_str() != "cluster/progress")
            .collect::<Vec<_>>();
        world.store.fall_back_to(flagless, "same");
        sleep(3 * SECOND).await;
        refusal(world.start(None).await);
    });
}

#[test]
fn a_new_server_waits_no_longer_than_the_others_need() {
    in_paused_time(|| async {
        let mut world = World::new();
        let node = world.start(None).await.unwrap();
        world.take(&node, 50).await.unwrap();
        sleep(3 * SECOND).await;
        let begun = Instant::now();
        let new = world.start(None).await.unwrap();
        world.take(&new, 50).await.unwrap();
        assert!(begun.elapsed() <= 2 * SECOND, "{:?}", begun.elapsed());
        // Those who died without a word are waited for as long as they may live.
        node.machine.kill();
        new.machine.kill();
        let begun = Instant::now();
        let last = world.start(None).await.unwrap();
        world.take(&last, 50).await.unwrap();
        assert!(begun.elapsed() <= 7 * SECOND, "{:?}", begun.elapsed());
    });
}

// claim: P46
#[test]
fn a_journal_that_owns_more_than_was_reserved_is_enough_to_refuse() {
    in_paused_time(|| async {
        let mut world = World::new();
        let journal: Arc<dyn Store> = MemoryStore::with_cluster_id(9);
        let machine = world.cluster.machine();
        let node = world
            .start_with(None, machine, Some(journal.clone()))
            .await
            .unwrap();
        world.take(&node, 50).await.unwrap();
        let old = world.store.dump();
        for _ in 0..120 {
            world.take(&node, 20).await.unwrap();
            sleep(SECOND / 10).await;
        }
        node.machine.kill();
        let set_back = old
            .into_iter()
            .filter(|(key, _)| key.as_str() != "cluster/progress");
        world.store.fall_back_to(set_back, "same");
        let started = world
            .start_with(None, world.cluster.machine(), Some(journal.clone()))
            .await;
        let error = refusal(started);
        assert!(
            error
                .message
                .contains("this machine's journal owns numbers up to"),
            "{error}"
        );
        let state = folder();
        world.restore(state.path(), 1_000_000).await;
        let node = world
            .start_with(None, world.cluster.machine(), Some(journal))
            .await
            .unwrap();
        world.take(&node, 100).await.unwrap();
    });
}

// claim: P48
#[test]
fn a_restore_by_the_printed_rule_suffices_whatever_a_journal_owns() {
    in_paused_time(|| async {
        let world = World::new();
        let journal: Arc<dyn Store> = MemoryStore::with_cluster_id(9);
        let start = async |world: &World| {
            let machine = world.cluster.machine();
            world.start_with(None, machine, Some(journal.clone())).await
        };
        let node = start(&world).await.unwrap();
        let orders = node.ledger.sequence_or_create(&name("orders")).await.unwrap();
        orders.take(1).await.unwrap();
        let old = world.store.dump();
        let mut last = 0;
        // A great demand, so that the journal owns a stock for minutes without the store.
        for _ in 0..600 {
            last = orders.take(1000).await.unwrap().last();
            sleep(SECOND / 10).await;
        }
        let reserved = orders.info().ordinal;
        node.machine.kill();
        world.store.fall_back_to(old, "same");
        let state = folder();
        // More than was given out, and max_gap more.
        let advance = last as u64 + SequenceSpec::default().max_gap.unwrap_or(100_000);
        assert!(
            reserved > advance,
            "the journal owns {reserved}, no more than the rule skips"
        );
        world.restore(state.path(), advance).await;
        let node = start(&world).await.unwrap();
        let orders = node.ledger.sequence_or_create(&name("orders")).await.unwrap();
        let first = orders.take(1).await.unwrap().last();
        invariant!(first > last, "{first} after {last}");
    });
}

// claim: P48
#[test]
fn what_was_claimed_before_a_restore_is_not_given_out_after_it() {
    in_paused_time(|| async {
        let mut world = World::new();
        let journal: Arc<dyn Store> = MemoryStore::with_cluster_id(9);
        let start = async |world: &World| {
            let machine = world.cluster.machine();
            let node = world.start_with(None, machine, Some(journal.clone())).await;
            node.unwrap()
        };
        let node = start(&world).await;
        world.take(&node, 1).await.unwrap();
        node.machine.kill();
        let old = world.store.dump();
        let other = world.start(None).await.unwrap();
        for _ in 0..120 {
            world.take(&other, 40).await.unwrap();
            sleep(SECOND / 10).await;
        }
        other.machine.kill();
        // Nobody is left who has met more than this, so that nobody can notice before an operator does.
        world.store.fall_back_to(old, "same");
        let node = start(&world).await;
        let orders = node.ledger.sequence_or_create(&name("orders")).await.unwrap();
        for _ in 0..120 {
            orders.take(20).await.unwrap();
            sleep(SECOND / 10).await;
        }
        node.machine.kill();
        sleep(20 * SECOND).await;
        let state = folder();
        world.restore(state.path(), 1_000_000).await;
        let node = start(&world).await;
        world.take(&node, 10).await.unwrap();
    });
}

/// Lowers a mark as `UPDATE … SET mark = mark - N` does: version, token and body stay.
fn lower(store: &MemoryStore, key: &str, by: u64) {
    let mut registers = store.dump();
    for (found, register) in &mut registers {
        if found.as_str() == key {
            register.value.mark -= by;
        }
    }
    store.fall_back_to(registers, "same");
}

// claim: P45
#[test]
fn a_mark_lowered_by_hand_stops_every_server_before_it_issues() {
    for sequence in ["orders", "bills"] {
        in_paused_time(|| async {
            let mut world = World::new();
            let nodes = [
                world.start(None).await.unwrap(),
                world.start(None).await.unwrap(),
                world.start(None).await.unwrap(),
            ];
            sleep(3 * SECOND).await;
            // The last of them has hardly met it, and has nothing in stock.
            world.take(&nodes[2], 1).await.unwrap();
            world.take(&nodes[0], 700).await.unwrap();
            world.take(&nodes[1], 1).await.unwrap();
            let key = format!("seq/{sequence}");
            let found = world.store.get(&Key::new(&*key).unwrap()).await.unwrap().unwrap();
            lower(&world.store, &key, found.value.mark - 10);
            // `take` panics at a repeat.
            for node in [&nodes[2], &nodes[1], &nodes[0]] {
                for _ in 0..1_000 {
                    if world.take(node, 1).await.is_err() {
                        break;
                    }
                }
            }
            sleep(3 * SECOND).await;
            for node in &nodes {
                refusal(world.take(node, 1).await);
            }
            let error = refusal(world.start(None).await);
            assert!(error.message.contains(&key), "{error}");
        });
    }
}

#[test]
fn a_mark_that_fell_with_a_higher_version_is_noticed_too() {
    in_paused_time(|| async {
        let mut world = World::new();
        let node = world.start(None).await.unwrap();
        world.take(&node, 500).await.unwrap();
        let key = Key::new("seq/bills").unwrap();
        let found = world.store.get(&key).await.unwrap().unwrap();
        // By a program that knows nothing of records.
        let value = Value {
            mark: found.value.mark - 400,
            body: found.value.body.replace("\"reserved\":500", "\"reserved\":0"),
            token: 5,
        };
        world
            .store
            .compare_and_set(&key, Some(found.version), value, Marks::GiveBack)
            .await
            .unwrap();
        refusal(world.take(&node, 1).await);
    });
}

#[test]
fn all_servers_together_raise_the_counter_once_a_second() {
    in_paused_time(|| async {
        let world = World::new();
        let mut nodes = Vec::new();
        for _ in 0..5 {
            nodes.push(world.start(None).await.unwrap());
            sleep(SECOND / 7).await;
        }
        let key = Key::new("cluster/progress").unwrap();
        let counter = async || world.store.get(&key).await.unwrap().unwrap().value.mark;
        sleep(5 * SECOND).await;
        let before = counter().await;
        sleep(60 * SECOND).await;
        let raised = counter().await - before;
        assert!((40..=65).contains(&raised), "{raised} times in a minute");
    });
}

#[test]
fn a_restored_store_is_accepted_by_who_remembers_more_than_it_has() {
    in_paused_time(|| async {
        let (mut world, a, b) = (World::new(), folder(), folder());
        let node = world.start(Some(a.path())).await.unwrap();
        world.take(&node, 50).await.unwrap();
        sleep(60 * SECOND).await;
        node.machine.kill();
        // A new database: nothing of the old one is there, its count of restores neither.
        world.restore(a.path(), 0).await;
        let node = world.start(Some(a.path())).await.unwrap();
        world.take(&node, 50).await.unwrap();
        node.machine.kill();
        let registers = world.store.dump().into_iter();
        let registers = registers.filter(|(key, _)| !key.as_str().starts_with("cluster/"));
        world.store.fall_back_to(registers.collect::<Vec<_>>(), "new");
        refusal(world.start(Some(a.path())).await);
        world.restore(b.path(), 1_000).await;
        let node = world.start(Some(a.path())).await.unwrap();
        world.take(&node, 100).await.unwrap();
    });
}
