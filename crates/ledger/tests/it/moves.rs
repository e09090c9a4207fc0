//! Our side of moves: every phase, every step twice, servers that do not follow, stores that fail, and what is kept.

use std::sync::Arc;
use std::time::Duration;

use mintage::Base;
use mintage_ledger::moves::{Definition, Move, Ours, OursError, Phase, Stepped};
use mintage_ledger::source::MoveId;
use mintage_ledger::tools::{Accept, Advance, Backup, back_up, check_store, make_set, migrate, restore_into};
use mintage_ledger::*;
use mintage_testing::{Distinct, invariant};
use tokio::time::sleep;

use crate::machines::{Cluster, Node, On, in_paused_time};

const SECOND: Duration = Duration::from_secs(1);
const WINDOW: Duration = Duration::from_secs(600);

fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}

fn id(n: u8) -> MoveId {
    format!("{n:032x}").parse().unwrap()
}

fn move_at(phase: Phase, first: Option<i64>) -> Move {
    Move {
        id: id(1),
        former: Vec::new(),
        phase,
        ceiling: None,
        source: "postgres://db/shop".into(),
        kind: "postgres".into(),
        key: "public.orders_id_seq".into(),
        table: None,
        masters: Vec::new(),
        back_to: None,
        definition: Definition {
            start: 1,
            increment: 1,
            min: 1,
            max: i64::MAX,
            cycle: false,
        },
        before: Default::default(),
        advance: 0,
        take: None,
        mark: first,
        first,
        highest: None,
        issued: None,
        at_ms: 0,
    }
}

async fn step(node: &Node, expected: u64, next: &Move) -> Result<Stepped, OursError> {
    let expected = (expected > 0).then_some(expected);
    node.ledger.step(&name("orders"), expected, next, false).await
}

/// Makes every step up to a phase, each twice.
async fn up_to(node: &Node, phase: Phase, first: i64) -> u64 {
    let phases = [
        Phase::Planned,
        Phase::Fencing,
        Phase::Fenced,
        Phase::Open,
        Phase::Returning,
        Phase::Returned,
    ];
    let mut version = 0;
    for next in phases.into_iter().filter(|next| *next <= phase) {
        let known = (next >= Phase::Fenced).then_some(first);
        let next = move_at(next, known);
        let once = step(node, version, &next).await.unwrap();
        version = once.now.version;
        assert_eq!(
            step(node, version, &next).await.unwrap(),
            once,
            "twice is as once"
        );
    }
    version
}

async fn take(node: &Node) -> Result<i64, LedgerError> {
    let sequence = node.ledger.sequence_or_create(&name("orders")).await?;
    sequence.take(1).await.map(|run| run.first)
}

fn refused(answer: Result<i64, LedgerError>) -> &'static str {
    match answer {
        Err(LedgerError::Moving { place, .. }) if place == "postgres://db/shop" => "moving",
        Err(LedgerError::MovedBack { place, .. }) if place == "postgres://db/shop" => "moved back",
        other => panic!("{other:?}"),
    }
}

#[test]
fn each_phase_does_what_it_says_and_twice_is_as_once() {
    for exclusive in [true, false] {
        in_paused_time(|| async {
            let store: Arc<dyn Store> = match exclusive {
                true => MemoryStore::with_cluster_id(1),
                false => MemoryStore::shared(1),
            };
            let node = Cluster::new(store).node("a").await;
            let planned = step(&node, 0, &move_at(Phase::Planned, None)).await.unwrap();
            assert!(node.ledger.show(&name("orders")).await.is_err());
            let fencing = step(&node, planned.now.version, &move_at(Phase::Fencing, None)).await;
            let fencing = fencing.unwrap();
            assert_eq!((fencing.pending, fencing.reserved), (vec![], None));
            assert_eq!(refused(take(&node).await), "moving");
            let fenced = move_at(Phase::Fenced, Some(5001));
            let fenced = step(&node, fencing.now.version, &fenced).await.unwrap();
            assert_eq!(refused(take(&node).await), "moving");
            assert_eq!(fenced.reserved, None);
            let open = step(&node, fenced.now.version, &move_at(Phase::Open, Some(5001)))
                .await
                .unwrap();
            for number in 5001..5101 {
                assert_eq!(take(&node).await.unwrap(), number);
            }
            let returning = step(&node, open.now.version, &move_at(Phase::Returning, Some(5001))).await;
            let returning = returning.unwrap();
            assert!(returning.reserved.unwrap() >= 5100, "{returning:?}");
            assert_eq!(refused(take(&node).await), "moving");
            let next = move_at(Phase::Returned, Some(5001));
            step(&node, returning.now.version, &next).await.unwrap();
            assert_eq!(refused(take(&node).await), "moved back");
            let info = node.ledger.show(&name("orders")).await.unwrap();
            assert!(matches!(info.passage.unwrap().is, PassageIs::MovedBack { .. }));
            assert_eq!(Ours::list(&*node.ledger).await.unwrap().len(), 1);
        });
    }
}

// claim: P59
#[test]
fn nothing_else_changes_what_is_moved() {
    in_paused_time(|| async {
        for phase in [Phase::Fencing, Phase::Fenced, Phase::Returning, Phase::Returned] {
            let node = Cluster::new(MemoryStore::shared(1)).node("a").await;
            up_to(&node, phase, 100).await;
            let (ledger, orders) = (&node.ledger, name("orders"));
            let to = Base {
                value: 900,
                is_called: true,
            };
            let before = ledger.show(&orders).await.unwrap();
            let all = [
                ledger.set(&orders, to).await.err(),
                ledger.restart(&orders, to, true).await.err(),
                ledger.alter(&orders, &SequencePatch::default()).await.err(),
                ledger.drop_sequence(&orders).await.err(),
                ledger.create(&orders, &SequenceSpec::default()).await.err(),
                take(&node).await.err(),
            ];
            for error in all {
                let error = error.unwrap();
                let is_named = matches!(error, LedgerError::Moving { .. } | LedgerError::MovedBack { .. });
                assert!(is_named, "{phase:?}: {error}");
            }
            let after = ledger.show(&orders).await.unwrap();
            assert_eq!(
                (after.ordinal, after.generation),
                (before.ordinal, before.generation)
            );
        }
    });
}

// claim: P59
#[test]
fn what_stands_beside_is_changed_by_its_move_alone_and_restored_marks_mean_nothing() {
    in_paused_time(|| async {
        let node = Cluster::new(MemoryStore::shared(1)).node("a").await;
        let beside = step(&node, 0, &move_at(Phase::Beside, None)).await.unwrap();
        let to = Base {
            value: 900,
            is_called: true,
        };
        let error = node.ledger.set(&name("orders"), to).await.unwrap_err();
        assert!(matches!(error, LedgerError::Beside { .. }), "{error}");
        let error = node.ledger.drop_sequence(&name("orders")).await.unwrap_err();
        assert!(error.to_string().contains("postgres://db/shop"), "{error}");
        let fencing = step(&node, beside.now.version, &move_at(Phase::Fencing, None))
            .await
            .unwrap();
        let fenced = step(&node, fencing.now.version, &move_at(Phase::Fenced, Some(70)))
            .await
            .unwrap();
        step(&node, fenced.now.version, &move_at(Phase::Open, Some(70)))
            .await
            .unwrap();
        assert_eq!(take(&node).await.unwrap(), 70);
        // A definition that cannot stand beside its original.
        let mut cycling = move_at(Phase::Beside, None);
        cycling.definition.cycle = true;
        let error = node
            .ledger
            .step(&name("rings"), None, &cycling, false)
            .await
            .unwrap_err();
        assert!(error.to_string().contains("begins again"), "{error}");
    });
}

#[test]
fn stock_of_every_server_is_dropped_and_who_does_not_follow_is_named() {
    in_paused_time(|| async {
        let cluster = Cluster::new(MemoryStore::shared(1));
        let (a, b) = (cluster.node("a").await, cluster.node("b").await);
        let mut seen = Distinct::of("numbers");
        let version = up_to(&a, Phase::Open, 5001).await;
        for node in [&a, &b] {
            for _ in 0..50 {
                seen.add(take(node).await.unwrap());
            }
        }
        sleep(2 * SECOND).await;
        b.machine.stop();
        // Who is silent for long enough counts as gone, with the numbers of the time before that it holds.
        let next = move_at(Phase::Returning, Some(5001));
        let stepped = step(&a, version, &next).await.unwrap();
        assert_eq!(stepped.pending, Vec::<String>::new());
        let furthest = stepped.reserved.unwrap();
        invariant!(
            seen.iter().all(|number| *number <= furthest),
            "beyond {furthest}: {seen:?}"
        );
        // It goes on before it hears: no number is beyond what the source was told (protocol M4).
        b.machine.go_on();
        let held = b.ledger.sequence("orders").unwrap();
        while let Some(run) = held.try_take(1) {
            invariant!(run.first <= furthest, "{run:?} is beyond {furthest}");
            seen.add(run.first);
        }
        sleep(2 * SECOND).await;
        let stepped = step(&a, stepped.now.version, &next).await.unwrap();
        assert_eq!((stepped.pending, stepped.reserved), (vec![], Some(furthest)));
        assert_eq!(b.ledger.sequence("orders").unwrap().try_take(1), None);
        assert_eq!(refused(take(&b).await), "moving");
        // Who lives and does not follow is named.
        cluster.stubborn();
        sleep(2 * SECOND).await;
        let stepped = step(&a, stepped.now.version, &next).await.unwrap();
        assert_eq!(stepped.pending, ["stubborn"]);
    });
}

#[test]
fn a_step_that_came_too_late_changes_nothing() {
    in_paused_time(|| async {
        let cluster = Cluster::new(MemoryStore::shared(1));
        let (a, b) = (cluster.node("a").await, cluster.node("b").await);
        let fenced = up_to(&a, Phase::Fenced, 5001).await;
        // Two imports make the same step: one of them is told what is there.
        let open = move_at(Phase::Open, Some(5001));
        step(&b, fenced, &open).await.unwrap();
        let lost = step(&a, fenced, &move_at(Phase::Returning, Some(5001)))
            .await
            .unwrap_err();
        let OursError::Lost(Some(now)) = lost else {
            panic!("{lost:?}");
        };
        assert_eq!((now.version, now.record.phase), (fenced + 1, Phase::Open));
        // A phase that does not follow is refused, and so is a stranger's move.
        let skipped = step(&a, now.version, &move_at(Phase::Fencing, None))
            .await
            .unwrap_err();
        assert!(skipped.to_string().contains("does not follow"), "{skipped}");
        let stranger = Move {
            id: id(2),
            ..move_at(Phase::Fencing, None)
        };
        let other = step(&a, now.version, &stranger).await.unwrap_err();
        assert!(other.to_string().contains("another one begins"), "{other}");
    });
}

#[test]
fn a_name_in_use_is_refused_or_set_forward() {
    in_paused_time(|| async {
        let node = Cluster::new(MemoryStore::shared(1)).node("a").await;
        for _ in 0..10 {
            take(&node).await.unwrap();
        }
        let next = move_at(Phase::Fencing, None);
        let error = step(&node, 0, &next).await.unwrap_err();
        assert!(matches!(error, OursError::InUse(_)), "{error}");
        assert_eq!(
            Ours::read(&*node.ledger, &name("orders")).await.unwrap(),
            None,
            "nothing was written"
        );
        let orders = name("orders");
        let mut misfit = next.clone();
        misfit.definition.increment = 2;
        let error = node.ledger.step(&orders, None, &misfit, true).await.unwrap_err();
        assert!(error.to_string().contains("increment 1"), "{error}");
        let fencing = node.ledger.step(&orders, None, &next, true).await.unwrap();
        let fenced = move_at(Phase::Fenced, Some(5));
        let fenced = node
            .ledger
            .step(&orders, Some(fencing.now.version), &fenced, true)
            .await
            .unwrap();
        let open = move_at(Phase::Open, Some(5));
        node.ledger
            .step(&orders, Some(fenced.now.version), &open, true)
            .await
            .unwrap();
        // Ours was further than the source: forward only.
        let number = take(&node).await.unwrap();
        invariant!(number > 10, "{number}");
    });
}

#[test]
fn a_dropped_names_numbers_and_those_of_an_earlier_move_do_not_come_again() {
    in_paused_time(|| async {
        let node = Cluster::new(MemoryStore::shared(1)).node("a").await;
        let mut seen = Distinct::of("numbers");
        for _ in 0..300 {
            seen.add(take(&node).await.unwrap());
        }
        node.ledger.drop_sequence(&name("orders")).await.unwrap();
        let version = up_to(&node, Phase::Open, 20).await;
        // None of the dropped name.
        seen.add(take(&node).await.unwrap());
        let back = step(&node, version, &move_at(Phase::Returning, Some(20)))
            .await
            .unwrap();
        let back = step(&node, back.now.version, &move_at(Phase::Returned, Some(20)))
            .await
            .unwrap();
        // Another move of the name, which knows of the one before; its grid is kept.
        let mut again = move_at(Phase::Fencing, None);
        (again.id, again.former, again.definition.increment) = (id(2), vec![id(1)], 10);
        let at = step(&node, back.now.version, &again).await.unwrap();
        (again.phase, again.first) = (Phase::Fenced, Some(47));
        let at = step(&node, at.now.version, &again).await.unwrap();
        again.phase = Phase::Open;
        step(&node, at.now.version, &again).await.unwrap();
        let number = take(&node).await.unwrap();
        seen.add(number);
        assert_eq!(number % 10, 7, "{number}");
    });
}

#[test]
fn a_store_that_fails_in_every_way_leaves_a_move_that_the_same_steps_end() {
    let count = std::cell::Cell::new(0);
    for seed in 0..40 {
        in_paused_time(|| async {
            let store = MemoryStore::shared(1);
            let cluster = Cluster::new(store.clone());
            let node = cluster.node("a").await;
            let runtime = Arc::new(On(cluster.machine()));
            let rough = FaultyStore::new(store, runtime.clone(), FaultPlan::rough(seed));
            // Its start is a matter of other tests.
            let settings = LedgerSettings {
                instance_name: "flaky".into(),
                ..LedgerSettings::default()
            };
            let Ok(ledger) = Ledger::open(rough, settings, runtime.clone()).await else {
                return;
            };
            let machine = runtime.0.clone();
            let flaky = Node { machine, ledger };
            count.set(count.get() + 1);
            let phases = [
                Phase::Fencing,
                Phase::Fenced,
                Phase::Open,
                Phase::Returning,
                Phase::Returned,
            ];
            for phase in phases {
                let next = move_at(phase, (phase >= Phase::Fenced).then_some(5001));
                for tries in 0.. {
                    assert!(tries < 200, "{phase:?} never ends");
                    let Ok(now) = Ours::read(&*flaky.ledger, &name("orders")).await else {
                        sleep(SECOND).await;
                        continue;
                    };
                    let at = now.map_or(0, |now| now.version);
                    match step(&flaky, at, &next).await {
                        Ok(done) if done.now.record.phase == phase => break,
                        Ok(other) => panic!("{other:?}"),
                        Err(OursError::InUse(why)) => panic!("{why}"),
                        Err(_) => sleep(SECOND).await,
                    }
                }
                let stamp = node.ledger.show(&name("orders")).await.unwrap().passage.unwrap();
                let now = Ours::read(&*node.ledger, &name("orders")).await.unwrap().unwrap();
                sleep(SECOND).await;
                assert_eq!((stamp.id, now.record.phase), (id(1), phase), "seed {seed}");
            }
            assert_eq!(refused(take(&node).await), "moved back");
        });
    }
    assert!(count.get() >= 5, "{} of 40 started", count.get());
}

#[test]
fn a_crash_between_register_and_deed_is_ended_by_the_same_step() {
    in_paused_time(|| async {
        let store = MemoryStore::shared(1);
        let cluster = Cluster::new(store.clone());
        let a = cluster.node("a").await;
        up_to(&a, Phase::Open, 5001).await;
        take(&a).await.unwrap();
        // The register says `returning`; nobody has done its deed.
        let key = Key::new("move/orders").unwrap();
        let found = store.get(&key).await.unwrap().unwrap();
        let next = move_at(Phase::Returning, Some(5001));
        let value = Value {
            mark: found.value.mark + 1,
            token: 77,
            body: serde_json::to_string(&next).unwrap(),
        };
        store
            .compare_and_set(&key, Some(found.version), value, Marks::NeverLower)
            .await
            .unwrap();
        a.machine.kill();
        sleep(5 * SECOND).await;
        let b = cluster.node("b").await;
        assert!(take(&b).await.is_ok(), "ours serves until it is sealed");
        let now = Ours::read(&*b.ledger, &name("orders")).await.unwrap().unwrap();
        assert_eq!(now.record.phase, Phase::Returning);
        step(&b, now.version, &next).await.unwrap();
        assert_eq!(refused(take(&b).await), "moving");
        // Who starts now finds it sealed.
        let c = cluster.node("c").await;
        assert_eq!(refused(take(&c).await), "moving");
    });
}

#[test]
fn backups_and_other_stores_know_of_moves() {
    in_paused_time(|| async {
        let from = MemoryStore::shared(1);
        let cluster = Cluster::new(from.clone());
        let node = cluster.node("a").await;
        let version = up_to(&node, Phase::Returned, 5001).await;
        node.ledger.close().await.unwrap();
        let runtime = On(cluster.machine());
        let mut lines = Vec::new();
        back_up(&*from, &mut lines, &runtime).await.unwrap();
        let backup = Backup::read(&mut &lines[..]).unwrap();
        let restored = MemoryStore::shared(1);
        restore_into(
            &*restored,
            &backup,
            Advance::By(1000),
            WINDOW,
            Accept::default(),
            &runtime,
        )
        .await
        .unwrap();
        let moved = MemoryStore::shared(2);
        migrate(&*from, &*moved, &runtime).await.unwrap();
        // A backup may hold a sequence that is later than its move: a restore makes the next step the later one.
        let version_of = [version + 1000, version];
        for (store, version) in [restored, moved].into_iter().zip(version_of) {
            assert_eq!(
                check_store(&*store, &runtime).await.unwrap().findings,
                Vec::<String>::new()
            );
            let node = cluster.beside(store).node("b").await;
            assert_eq!(refused(take(&node).await), "moved back");
            let now = Ours::read(&*node.ledger, &name("orders")).await.unwrap().unwrap();
            assert_eq!(now.version, version, "stamps are compared with it");
            let again = Move {
                id: id(2),
                former: vec![id(1)],
                ..move_at(Phase::Fencing, None)
            };
            step(&node, now.version, &again).await.unwrap();
            assert_eq!(refused(take(&node).await), "moving");
        }
    });
}

// claim: P59
#[test]
fn a_set_of_stores_is_sealed_in_all_of_them() {
    in_paused_time(|| async {
        let world = Cluster::new(MemoryStore::shared(0));
        let runtime: Arc<dyn Runtime> = Arc::new(On(world.machine()));
        let stores = [MemoryStore::shared(7), MemoryStore::shared(8)];
        let all: Vec<&dyn Store> = stores.iter().map(|store| &**store as &dyn Store).collect();
        make_set(&all, &*runtime).await.unwrap();
        let members = stores.iter().map(|store| {
            let store: Arc<dyn Store> = store.clone();
            let open: OpenMember = Box::new(move || {
                let store = store.clone();
                Box::pin(async move { Ok(store) })
            });
            ("a store".to_string(), open)
        });
        let set = Striped::open(members.collect(), runtime).await.unwrap();
        let node = world.beside(set).node("a").await;
        let error = step(&node, 0, &move_at(Phase::Beside, None)).await.unwrap_err();
        assert!(error.to_string().contains("several stores"), "{error}");
        let now = Ours::read(&*node.ledger, &name("orders")).await.unwrap();
        assert_eq!(now, None, "refused before anything was written");
        let at = step(&node, 0, &move_at(Phase::Fencing, None)).await.unwrap();
        assert_eq!(refused(take(&node).await), "moving");
        let at = step(&node, at.now.version, &move_at(Phase::Fenced, Some(500)))
            .await
            .unwrap();
        let at = step(&node, at.now.version, &move_at(Phase::Open, Some(500)))
            .await
            .unwrap();
        let mut seen = Distinct::of("numbers");
        for _ in 0..100 {
            let number = take(&node).await.unwrap();
            invariant!(number >= 500, "{number}");
            seen.add(number);
        }
        let back = step(&node, at.now.version, &move_at(Phase::Returning, Some(500)))
            .await
            .unwrap();
        invariant!(
            seen.iter().all(|number| *number <= back.reserved.unwrap()),
            "beyond {:?}: {seen:?}",
            back.reserved
        );
        assert_eq!(refused(take(&node).await), "moving");
        let to = Base {
            value: 9000,
            is_called: true,
        };
        let error = node.ledger.set(&name("orders"), to).await.unwrap_err();
        assert!(matches!(error, LedgerError::Moving { .. }), "{error}");
    });
}
