//! Several stores as one: any one alive is enough, and no number or id comes from two.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use mintage::{Base, SequenceOptions};
use mintage_ledger::tools::{add_to_set, make_set};
use mintage_ledger::*;
use mintage_testing::{Distinct, invariant};
use tokio::time::sleep;

use crate::machines::{Cluster, Node, On, in_paused_time};

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
        Set::within(Cluster::new(MemoryStore::shared(0)), count).await
    }

    async fn within(world: Cluster, count: u32) -> Set {
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
    numbers: Distinct<(String, i64)>,
    ids: Distinct<u64>,
}

impl Seen {
    async fn take(&mut self, node: &Node, sequence: &str, n: u64) {
        let taken = node.ledger.sequence_or_create(&name(sequence)).await.unwrap();
        let mut left = n;
        while left > 0 {
            let run = taken.take(left).await.unwrap();
            left -= run.count;
            self.numbers
                .extend(run.into_iter().map(|number| (sequence.to_string(), number)));
        }
    }

    async fn mint(&mut self, node: &Node) {
        let pool = node.ledger.pool_or_default(&name(DEFAULT_POOL)).await.unwrap();
        let mut ids = [0; 50];
        pool.mint(&mut ids).await.unwrap();
        self.ids.extend(ids);
    }
}

#[test]
fn a_first_set_below_one_holds_in_every_store() {
    in_paused_time(|| async {
        let set = Set::of(2).await;
        let node = set.node("a").await;
        let mut seen = Seen::default();
        for (sequence, value) in [("zero", 0), ("low", -1000), ("lowest", i64::MIN)] {
            let to = Base {
                value,
                is_called: true,
            };
            node.ledger.set(&name(sequence), to).await.unwrap();
            seen.take(&node, sequence, 300).await;
            set.stores[0].fail_all(true);
            seen.take(&node, sequence, 300).await;
            set.stores[0].fail_all(false);
            sleep(3 * SECOND).await;
            let back = node.ledger.set(&name(sequence), to).await.unwrap_err();
            assert!(matches!(back, LedgerError::OnlyForward { .. }), "{back:?}");
        }
        for (sequence, number) in seen.numbers.iter() {
            let is_above = match sequence.as_str() {
                "zero" => *number > 0,
                "low" => *number > -1000,
                _ => *number > i64::MIN && *number < 0,
            };
            invariant!(is_above, "{sequence}: {number}");
        }
    });
}

// claim: P1, P11, P53
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

/// The record of a name in one store.
async fn record(store: &FaultyStore, sequence: &str) -> Option<String> {
    let key = Key::new(format!("seq/{sequence}")).unwrap();
    store.get(&key).await.unwrap().map(|found| found.value.body)
}

/// The set was silent as a whole for a while, and one store, whichever, never comes back.
#[test]
fn a_set_that_was_silent_goes_on_with_whichever_store_answers_again() {
    for back in 0..3 {
        in_paused_time(|| async move {
            let set = Set::of(3).await;
            let (node, mut seen) = (set.node("a").await, Seen::default());
            seen.take(&node, "orders", 10).await;
            sleep(3 * SECOND).await;
            for store in &set.stores {
                store.fail_all(true);
            }
            sleep(20 * SECOND).await;
            set.stores[back].fail_all(false);
            sleep(3 * SECOND).await;
            for round in 0..200 {
                // Neither are calls refused for what the stores that are away have: nobody else is asked for it.
                seen.take(&node, "orders", 50).await;
                seen.take(&node, &format!("new-{round}"), 1).await;
                sleep(SECOND / 8).await;
            }
        });
    }
}

/// A store that was stopped in its tracks answers nothing and refuses nothing: whoever waits for it waits long. Once that
/// is known nobody does, but for the one task that finds out when it answers again.
#[test]
fn nobody_waits_for_a_store_that_hangs() {
    for hung in 0..3 {
        in_paused_time(|| async move {
            let set = Set::of(3).await;
            let (node, mut seen) = (set.node("a").await, Seen::default());
            for round in 0..30 {
                seen.take(&node, &format!("old-{round}"), 10).await;
            }
            seen.mint(&node).await;
            sleep(3 * SECOND).await;
            let frozen = &set.stores[hung];
            frozen.freeze(true);
            // The first that meet it may be refused; some seconds later it is known, whoever asked.
            for round in 0..10 {
                let met = name(&format!("met-{round}"));
                if let Ok(sequence) = node.ledger.sequence_or_create(&met).await {
                    let _ = sequence.take(1).await;
                }
                sleep(SECOND).await;
            }
            let (asked, begun) = (frozen.counts().calls, tokio::time::Instant::now());
            for round in 0..100 {
                seen.take(&node, &format!("new-{round}"), 1).await;
                // More than is in stock.
                seen.take(&node, &format!("old-{}", round % 30), 1000).await;
                seen.mint(&node).await;
                let made = node.ledger.pool_or_default(&name(&format!("pool-{round}"))).await;
                assert!(made.is_err(), "only what is created is a pool");
                node.ledger.list(None, 1000).await.unwrap();
                assert!(node.ledger.ready().ready, "{:?}", node.ledger.ready());
                sleep(SECOND).await;
            }
            let asked = frozen.counts().calls - asked;
            assert!(
                asked <= 20,
                "store {hung}, which hangs, was asked {asked} times in 100 s"
            );
            assert_eq!(begun.elapsed().as_secs(), 100, "nothing but the pauses took time");
            frozen.freeze(false);
            sleep(60 * SECOND).await;
            // It takes part again, and now alone.
            for (at, store) in set.stores.iter().enumerate() {
                store.freeze(at != hung);
            }
            for _ in 0..10 {
                let _ = node.ledger.list(None, 1000).await;
                let _ = node.ledger.show(&name("old-0")).await;
                sleep(SECOND).await;
            }
            for round in 0..30 {
                seen.take(&node, &format!("old-{round}"), 5000).await;
                seen.take(&node, &format!("late-{round}"), 10).await;
            }
        });
    }
}

/// What the attack did: a name is used first, and the store that it was made in dies.
#[test]
fn a_name_made_by_its_first_use_outlives_the_store_it_was_made_in() {
    for away_at_first_use in [None, Some(0), Some(1), Some(2)] {
        in_paused_time(|| async move {
            let set = Set::of(3).await;
            let nodes = [set.node("a").await, set.node("b").await];
            let mut seen = Seen::default();
            if let Some(away) = away_at_first_use {
                set.stores[away].fail_all(true);
            }
            for node in &nodes {
                seen.take(node, "orders", 3).await;
            }
            if away_at_first_use.is_none() {
                for store in &set.stores {
                    assert!(
                        record(store, "orders").await.is_some(),
                        "all learn of a first use"
                    );
                }
            }
            sleep(3 * SECOND).await;
            for down in [0, 1, 2, 0, 2, 1] {
                for (at, store) in set.stores.iter().enumerate() {
                    store.fail_all(at == down);
                }
                for _ in 0..20 {
                    for node in &nodes {
                        // More than is in stock.
                        seen.take(node, "orders", 500).await;
                        assert!(node.ledger.ready().ready, "{:?}", node.ledger.ready());
                    }
                    sleep(SECOND / 4).await;
                }
            }
            for (at, store) in set.stores.iter().enumerate() {
                store.fail_all(at != 1);
            }
            sleep(2 * SECOND).await;
            for node in &nodes {
                // More than can be in stock, so that it comes from the one store that answers.
                for _ in 0..21 {
                    seen.take(node, "orders", 5000).await;
                }
            }
            // One that starts now knows of the name, too.
            let late = set.node("late").await;
            let shown = late.ledger.show(&name("orders")).await;
            assert!(
                shown.is_ok(),
                "{away_at_first_use:?} away at first use: {shown:?}"
            );
            seen.take(&late, "orders", 5000).await;
        });
    }
}

#[test]
fn a_store_that_comes_back_behind_brings_nothing_back() {
    in_paused_time(|| async {
        let set = Set::of(2).await;
        let node = set.node("a").await;
        let mut seen = Seen::default();
        // Used first while store 1 is away, which then hears of it by the changes alone.
        set.stores[1].fail_all(true);
        for sequence in ["dropped", "moved", "other"] {
            seen.take(&node, sequence, 100).await;
        }
        set.stores[1].fail_all(false);
        sleep(3 * SECOND).await;
        node.ledger.drop_sequence(&name("dropped")).await.unwrap();
        let to = Base {
            value: 1_000_000,
            is_called: true,
        };
        node.ledger.set(&name("moved"), to).await.unwrap();
        // Another grid, in which numbers of the old one come again where the past is not known.
        node.ledger.drop_sequence(&name("other")).await.unwrap();
        let spec = SequenceSpec {
            options: SequenceOptions {
                increment: Some(2),
                ..SequenceOptions::default()
            },
            ..SequenceSpec::default()
        };
        node.ledger.create(&name("other"), &spec).await.unwrap();
        for store in &set.stores {
            for sequence in ["dropped", "moved", "other"] {
                assert!(record(store, sequence).await.is_some(), "{sequence}");
            }
        }
        set.stores[0].fail_all(true);
        sleep(2 * SECOND).await;
        let late = set.node("late").await;
        for node in [&node, &late] {
            let gone = node.ledger.show(&name("dropped")).await;
            assert!(matches!(gone, Err(LedgerError::NotFound { .. })), "{gone:?}");
            let moved = node.ledger.sequence_or_create(&name("moved")).await.unwrap();
            let number = moved.take(1).await.unwrap().first;
            invariant!(number > 1_000_000, "{number} of the old definition");
            seen.take(node, "other", 300).await;
        }
        set.stores[0].fail_all(false);
        set.stores[1].fail_all(true);
        sleep(2 * SECOND).await;
        for node in [&node, &late] {
            seen.take(node, "other", 300).await;
            seen.take(node, "dropped", 300).await;
        }
    });
}

/// A change that failed half-way: one store follows it, the other was gone by then. Whoever knows of it teaches the other.
#[test]
fn a_change_that_failed_half_way_is_not_undone_by_the_store_that_missed_it() {
    in_paused_time(|| async {
        let set = Set::of(2).await;
        let node = set.node("a").await;
        let mut seen = Seen::default();
        seen.take(&node, "orders", 100).await;
        // As if store 1 had died between the two writes: its record is put back.
        let key = Key::new("seq/orders").unwrap();
        let before = set.stores[1].get(&key).await.unwrap().unwrap();
        node.ledger.drop_sequence(&name("orders")).await.unwrap();
        let after = set.stores[1].get(&key).await.unwrap().unwrap();
        let value = Value {
            mark: after.value.mark,
            token: 1,
            ..before.value
        };
        let put_back = set.stores[1].compare_and_set(&key, Some(after.version), value, Marks::NeverLower);
        assert!(matches!(put_back.await, Ok(Cas::Done(_))));
        for _ in 0..4 {
            let late = set.node("late").await;
            let gone = late.ledger.show(&name("orders")).await;
            assert!(matches!(gone, Err(LedgerError::NotFound { .. })), "{gone:?}");
            seen.take(&late, "elsewhere", 1).await;
        }
        // The same change again completes it.
        let again = node.ledger.drop_sequence(&name("orders")).await;
        assert!(
            matches!(again, Ok(_) | Err(LedgerError::NotFound { .. })),
            "{again:?}"
        );
        seen.take(&node, "orders", 100).await;
    });
}

/// The same under a server that runs: it knows of the move, and goes on with the store that missed it.
#[test]
fn a_server_that_runs_teaches_the_store_that_missed_a_change() {
    in_paused_time(|| async {
        let set = Set::of(2).await;
        let node = set.node("a").await;
        let mut seen = Seen::default();
        seen.take(&node, "orders", 100).await;
        let key = Key::new("seq/orders").unwrap();
        let before = set.stores[1].get(&key).await.unwrap().unwrap();
        let to = Base {
            value: 1_000_000,
            is_called: true,
        };
        node.ledger.set(&name("orders"), to).await.unwrap();
        let after = set.stores[1].get(&key).await.unwrap().unwrap();
        let value = Value {
            mark: after.value.mark,
            token: 1,
            ..before.value
        };
        // Away, it takes part in nothing; numbers come from store 0.
        set.stores[1].fail_all(true);
        seen.take(&node, "orders", 100).await;
        set.stores[1].fail_all(false);
        let put_back = set.stores[1].compare_and_set(&key, Some(after.version), value, Marks::NeverLower);
        assert!(matches!(put_back.await, Ok(Cas::Done(_))));
        sleep(3 * SECOND).await;
        set.stores[0].fail_all(true);
        let orders = node.ledger.sequence_or_create(&name("orders")).await.unwrap();
        for _ in 0..500 {
            let run = orders.take(5).await.unwrap();
            invariant!(run.first > 1_000_000, "{run:?}");
            seen.numbers
                .extend(run.into_iter().map(|number| ("orders".to_string(), number)));
        }
    });
}

/// A store of a set that answers so many more writes of sequences' records, and then nothing until it is told to.
#[derive(Debug)]
struct Breaking {
    inner: Arc<FaultyStore>,
    writes_left: AtomicI64,
    /// The last write lands, and nobody hears of it.
    lands: bool,
}

impl Breaking {
    async fn broken<T>(&self) -> Result<T, StoreError> {
        let gone = "gone in the middle".to_string();
        let outcome = if self.lands {
            Outcome::Unknown
        } else {
            Outcome::NotDone
        };
        Err(StoreError::new(StoreErrorKind::Unavailable, outcome, gone))
    }
}

impl Store for Breaking {
    delegate_store!(inner, but compare_and_set claim exclusive);

    fn compare_and_set<'a>(
        &'a self,
        key: &'a Key,
        expected: Option<Version>,
        new: Value,
        marks: Marks,
    ) -> StoreResult<'a, Cas> {
        Box::pin(async move {
            let counts = key.as_str().starts_with("seq/");
            if !counts || self.writes_left.fetch_sub(1, Ordering::SeqCst) != 0 {
                return self.inner.compare_and_set(key, expected, new, marks).await;
            }
            if self.lands {
                self.inner.compare_and_set(key, expected, new, marks).await?;
            }
            self.inner.fail_all(true);
            self.broken().await
        })
    }
}

impl Set {
    /// A process to whom one store of the set is gone in the middle of its changes.
    async fn unlucky(&self, number: usize, writes_left: i64, lands: bool) -> Node {
        let machine = self.cluster.machine();
        let runtime: Arc<dyn Runtime> = Arc::new(On(machine.clone()));
        let members = self.stores.iter().enumerate().map(|(at, store)| {
            let store: Arc<dyn Store> = match at == number {
                true => Arc::new(Breaking {
                    inner: store.clone(),
                    writes_left: AtomicI64::new(writes_left),
                    lands,
                }),
                false => store.clone(),
            };
            let open: OpenMember = Box::new(move || Box::pin(std::future::ready(Ok(store.clone()))));
            ("a store".to_string(), open)
        });
        let striped = Striped::open(members.collect(), runtime.clone()).await.unwrap();
        let ledger = Ledger::open(striped, LedgerSettings::default(), runtime).await;
        Node {
            machine,
            ledger: ledger.unwrap(),
        }
    }
}

/// A store dies at any write of a change, heard or not, and names are used at what is left, then at the other alone: no
/// number of one definition comes again from another.
// claim: P54
#[test]
fn a_change_that_a_store_breaks_off_mixes_no_two_definitions() {
    let by_sevens = SequenceSpec {
        options: SequenceOptions {
            start: Some(16),
            increment: Some(7),
            ..SequenceOptions::default()
        },
        ..SequenceSpec::default()
    };
    let (mut refused, mut served) = (0, 0);
    for (number, writes, lands, used_before, dies) in (0..2)
        .flat_map(|number| (0..4).map(move |writes| (number, writes)))
        .flat_map(|(number, writes)| [false, true].map(|lands| (number, writes, lands)))
        .flat_map(|(number, writes, lands)| [false, true].map(|used| (number, writes, lands, used)))
        .flat_map(|(number, writes, lands, used)| {
            [false, true].map(|dies| (number, writes, lands, used, dies))
        })
    {
        let (now_refused, now_served) = in_paused_time(|| async move {
            let what = format!(
                "store {number} goes at write {writes}, landed: {lands}, used before: {used_before}, dies: {dies}"
            );
            let set = Set::of(2).await;
            let nodes = [set.node("a").await, set.node("b").await];
            let mut seen = Distinct::of(&what);
            let (mut refused, mut served) = (0, 0);
            let mut take = async |nodes: &[Node], must: bool| {
                for node in nodes {
                    for _ in 0..40 {
                        let Ok(orders) = node.ledger.sequence_or_create(&name("orders")).await else {
                            assert!(!must, "{what}: not found");
                            continue;
                        };
                        let run = match orders.take(15).await {
                            Ok(run) => run,
                            Err(error) if must => panic!("{what}: {error}"),
                            Err(_) => {
                                refused += 1;
                                break;
                            }
                        };
                        served += 1;
                        seen.extend(run);
                    }
                }
            };
            if used_before {
                take(&nodes, true).await;
            }
            let unlucky = set.unlucky(number, writes, lands).await;
            sleep(2 * SECOND).await;
            if used_before {
                let _ = unlucky.ledger.drop_sequence(&name("orders")).await;
            }
            let _ = unlucky.ledger.create(&name("orders"), &by_sevens).await;
            if dies {
                unlucky.machine.kill();
            }
            sleep(2 * SECOND).await;
            for away in [number, 1 - number, number] {
                for (at, store) in set.stores.iter().enumerate() {
                    store.fail_all(at == away);
                }
                sleep(2 * SECOND).await;
                take(&nodes, false).await;
                let fresh = [set.node("late").await];
                take(&fresh, false).await;
            }
            // With both there every name is served again.
            for store in &set.stores {
                store.fail_all(false);
            }
            sleep(3 * SECOND).await;
            take(&nodes, true).await;
            for away in [number, 1 - number] {
                for (at, store) in set.stores.iter().enumerate() {
                    store.fail_all(at == away);
                }
                sleep(2 * SECOND).await;
                take(&nodes, false).await;
            }
            (refused, served)
        });
        refused += now_refused;
        served += now_served;
    }
    assert!(served > 10 * refused, "{served} served, {refused} refused");
}

// claim: P19
#[test]
fn numbers_rise_when_another_store_is_taken_from() {
    in_paused_time(|| async {
        for increment in [1, -7] {
            let set = Set::of(3).await;
            let nodes = [set.node("a").await, set.node("b").await];
            let spec = SequenceSpec {
                options: SequenceOptions {
                    increment: Some(increment),
                    ..SequenceOptions::default()
                },
                ..SequenceSpec::default()
            };
            nodes[0].ledger.create(&name("orders"), &spec).await.unwrap();
            let mut all = Distinct::of("numbers");
            let mut last = [None::<i64>; 2];
            for down in [0, 1, 2, 1, 0, 2] {
                for (at, store) in set.stores.iter().enumerate() {
                    store.fail_all(at == down);
                }
                for (node, last) in nodes.iter().zip(&mut last) {
                    let orders = node.ledger.sequence_or_create(&name("orders")).await.unwrap();
                    for n in 1..200 {
                        let run = orders.take(1 + n % 40).await.unwrap();
                        let rises = last.is_none_or(|last| (run.first - last) * increment > 0);
                        invariant!(rises, "{run:?} after {last:?}");
                        *last = Some(run.last());
                        all.extend(run);
                    }
                }
                sleep(2 * SECOND).await;
            }
        }
    });
}

/// Runs whose step is told: each is one store's share, and none overlaps another or the numbers between.
// claim: P1, P53
#[test]
fn a_run_of_one_store_has_the_steps_of_its_share() {
    in_paused_time(|| async {
        for increment in [1, 5] {
            let set = Set::of(3).await;
            let nodes = [set.node("a").await, set.node("b").await];
            let spec = SequenceSpec {
                options: SequenceOptions {
                    increment: Some(increment),
                    ..SequenceOptions::default()
                },
                ..SequenceSpec::default()
            };
            nodes[0].ledger.create(&name("orders"), &spec).await.unwrap();
            let mut all = Distinct::of("numbers");
            let mut residues = Distinct::of("residues");
            for down in [0, 1, 2, 1, 0, 2] {
                for (at, store) in set.stores.iter().enumerate() {
                    store.fail_all(at == down);
                }
                for node in &nodes {
                    let orders = node.ledger.sequence_or_create(&name("orders")).await.unwrap();
                    assert_eq!(orders.run_step(), 3 * increment);
                    for n in [1, 2, 40, 10_000, 3] {
                        let run = orders.take_linear(n).await.unwrap();
                        invariant!(run.count == n, "{run:?} of {n}");
                        invariant!(n == 1 || run.step == 3 * increment, "{run:?} of {n}");
                        if residues.iter().all(|known| *known != run.first % (3 * increment)) {
                            residues.add(run.first % (3 * increment));
                        }
                        all.extend(run);
                        all.extend(orders.take(7).await.unwrap());
                    }
                    // Whoever reckons with the definition's step gets none.
                    assert!(orders.take_contiguous(2).await.is_err());
                    assert!(orders.try_take_contiguous(2).is_none());
                }
                sleep(2 * SECOND).await;
            }
            invariant!(
                residues.iter().count() > 1,
                "one store's share alone: {residues:?}"
            );
        }
    });
}

// claim: P20, P54
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
                invariant!(run.first > 1_000_000, "{run:?} of the old definition");
                seen.numbers.add(("orders".into(), run.first));
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
        // Out of what is in stock as little as out of the store.
        orders.take(1).await.unwrap();
        assert_eq!(orders.try_take_contiguous(2), None);
        let error = orders.take_contiguous(2).await.unwrap_err();
        assert!(
            error
                .to_string()
                .contains("each of the 3 stores has its own share"),
            "{error}"
        );
    });
}

/// It would count the numbers of all stores as its own.
// claim: P55
#[test]
fn a_store_of_a_set_does_not_serve_without_the_others() {
    in_paused_time(|| async {
        let set = Set::of(2).await;
        let node = set.node("a").await;
        let orders = node.ledger.sequence_or_create(&name("orders")).await.unwrap();
        orders.take(1).await.unwrap();
        let runtime = SystemRuntime::new(tokio::runtime::Handle::current());
        for store in &set.stores {
            let alone = Ledger::open(store.clone(), LedgerSettings::default(), runtime.clone()).await;
            let error = alone.unwrap_err().to_string();
            assert!(
                error.contains("of a set of 2, and was opened without the others"),
                "{error}"
            );
        }
    });
}

// claim: P56
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

// claim: P55
#[test]
fn a_set_refuses_what_does_not_belong_to_it() {
    in_paused_time(|| async {
        let set = Set::of(2).await;
        let other = Set::within(set.cluster.beside(MemoryStore::shared(0)), 2).await;
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

#[test]
fn a_pool_is_dropped_in_every_store_of_a_set() {
    in_paused_time(|| async {
        let set = Set::of(3).await;
        let (one, other) = (set.node("a").await, set.node("b").await);
        let (mut seen, default) = (Seen::default(), name(DEFAULT_POOL));
        seen.mint(&one).await;
        sleep(61 * SECOND).await;
        // One that is away would bring it back.
        set.stores[1].fail_all(true);
        sleep(3 * SECOND).await;
        let error = one.ledger.drop_pool(&default).await.unwrap_err();
        assert!(matches!(error, LedgerError::Unavailable { .. }), "{error}");
        set.stores[1].fail_all(false);
        sleep(3 * SECOND).await;
        one.ledger.drop_pool(&default).await.unwrap();
        for away in 0..3 {
            set.stores[away].fail_all(true);
            sleep(3 * SECOND).await;
            for node in [&one, &other] {
                let gone = node.ledger.existing_pool(&default).await;
                assert!(
                    matches!(gone, Err(LedgerError::NoPool { .. })),
                    "without {away}: {gone:?}"
                );
                assert_eq!(node.ledger.pools(None, 10).await.unwrap(), []);
            }
            set.stores[away].fail_all(false);
            sleep(3 * SECOND).await;
        }
        let twitter = mintage::preset("twitter").unwrap().layout();
        other
            .ledger
            .create_pool(&default, PoolKind::Snowflake(Arc::new(twitter)).into())
            .await
            .unwrap();
        for away in 0..3 {
            set.stores[away].fail_all(true);
            sleep(3 * SECOND).await;
            seen.mint(&one).await;
            seen.mint(&other).await;
            set.stores[away].fail_all(false);
            sleep(3 * SECOND).await;
        }
    });
}

#[test]
fn numbers_out_of_a_counter_elsewhere_are_refused_in_a_set() {
    in_paused_time(|| async {
        let set = Set::of(2).await;
        let editor = set.node("a").await;
        let orders = name("orders");
        editor
            .ledger
            .create(&orders, &SequenceSpec::default())
            .await
            .unwrap();
        editor.ledger.close().await.unwrap();
        let key = Key::new("seq/orders").unwrap();
        for store in &set.stores {
            let found = store.get(&key).await.unwrap().unwrap();
            let mut body: serde_json::Value = serde_json::from_str(&found.value.body).unwrap();
            body["generation"] = 9.into();
            body["passage"] = serde_json::json!({
                "id": "0123456789abcdef0123456789abcdef", "step": 1,
                "is": {"beside": {"source": "shop", "kind": "memory", "key": "orders_seq"}},
            });
            let value = Value {
                body: body.to_string(),
                token: 1,
                ..found.value
            };
            let written = store
                .compare_and_set(&key, Some(found.version), value, Marks::NeverLower)
                .await;
            assert!(matches!(written, Ok(Cas::Done(_))), "{written:?}");
        }
        let node = set.node("b").await;
        let sequence = node.ledger.sequence_or_create(&orders).await.unwrap();
        let refused = sequence.take(1).await.unwrap_err().to_string();
        assert!(
            refused.contains("a set of stores does not go with that"),
            "{refused}"
        );
        Seen::default().take(&node, "other", 3).await;
    });
}
