//! A process that begins while its store is away: on its journal, with nothing that repeats, and in step with the others
//! once the store is back.

use std::sync::Arc;

use mintage::Base;
use mintage_ledger::*;
use mintage_testing::invariant;

use crate::common::{Node, World, copied, in_world_of, new_journal, secs};

/// A store that keeps what it has acknowledged.
#[derive(Debug)]
struct Durable(Arc<MemoryStore>);

impl Store for Durable {
    delegate_store!(0, but class);

    fn class(&self) -> Class {
        Class::Durable
    }
}

fn in_world<F: Future>(seed: u64, plan: FaultPlan, test: impl FnOnce(World) -> F) -> F::Output {
    in_world_of(Arc::new(Durable(MemoryStore::shared(7))), seed, plan, test)
}

fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}

fn with(journal: &Arc<dyn Store>) -> LedgerSettings {
    LedgerSettings {
        journal: Some(journal.clone()),
        ..LedgerSettings::default()
    }
}

/// A server that owns a minute's numbers of `orders`.
async fn loaded(world: &mut World, journal: &Arc<dyn Store>) -> Node {
    let node = world.start(Some(journal.clone())).await;
    world.drive(&[&node], "orders", 1000, secs(15)).await;
    node
}

/// Why nobody begins on the journal.
async fn refusal(world: &mut World, settings: LedgerSettings) -> String {
    match world.start_away(settings).await {
        Err(LedgerError::Unavailable { message, .. }) => message,
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("it began"),
    }
}

// claim: P34
#[test]
fn a_killed_server_begins_on_its_journal_and_joins_when_the_store_is_back() {
    in_world(41, FaultPlan::NONE, |mut world| async move {
        let journal = new_journal();
        let other = world.start(Some(new_journal())).await;
        let node = loaded(&mut world, &journal).await;
        world.drive(&[&node, &other], "orders", 1000, secs(12)).await;
        world.store.fail_all(true);
        world.drive(&[&node, &other], "orders", 1000, secs(5)).await;
        // Killed twice in one outage.
        let journal = node.crash().unwrap();
        let node = world.start_away(with(&journal)).await.unwrap();
        let drive = world.drive(&[&node, &other], "orders", 1000, secs(10)).await;
        assert_eq!(drive.failed, 0, "{drive:?}");
        let journal = node.crash().unwrap();
        let node = world.start_away(with(&journal)).await.unwrap();
        let drive = world.drive(&[&node, &other], "orders", 1000, secs(10)).await;
        assert_eq!(drive.failed, 0, "{drive:?}");
        let status = node.ledger.store_status();
        assert!(status.down_for > Some(secs(9)), "{status:?}");
        let budget = status.first_to_end.unwrap();
        assert!(budget.left > secs(1) && budget.left < secs(90), "{budget:?}");
        assert!(node.ledger.ready().ready && node.ledger.is_away());
        // What it does not own.
        for refused in [
            node.ledger.sequence_or_create(&name("new")).await.err(),
            node.ledger
                .create(&name("new"), &SequenceSpec::default())
                .await
                .err(),
            node.ledger.pool_or_default(&name("default")).await.err(),
        ] {
            assert!(
                matches!(refused, Some(LedgerError::Unavailable { .. })),
                "{refused:?}"
            );
        }
        world.store.fail_all(false);
        let drive = world.drive(&[&node, &other], "orders", 1000, secs(90)).await;
        assert_eq!(drive.failed, 0, "{drive:?}");
        assert!(!node.ledger.is_away());
        let made = node.ledger.sequence_or_create(&name("new")).await.unwrap();
        assert_eq!(made.take(1).await.unwrap().first, 1);
        // It lives for the others again.
        let to = Base {
            value: 10_000_000,
            is_called: true,
        };
        let changed = other.ledger.restart(&name("orders"), to, false).await.unwrap();
        assert_eq!(changed.pending, Vec::<String>::new());
    });
}

#[test]
fn nothing_is_given_out_without_the_store_where_the_journal_may_not_be_the_last_word() {
    in_world(42, FaultPlan::NONE, |mut world| async move {
        let journal = new_journal();
        // Never used.
        world.store.fail_all(true);
        let why = refusal(&mut world, with(&journal)).await;
        assert!(why.contains("does not say when the store answered last"), "{why}");
        world.store.fail_all(false);
        // Used, and nothing was owned.
        let node = world.start(Some(journal.clone())).await;
        tokio::time::sleep(secs(5)).await;
        drop(node.crash());
        world.store.fail_all(true);
        let why = refusal(&mut world, with(&journal)).await;
        assert!(why.contains("owns no numbers"), "{why}");
        world.store.fail_all(false);
        let node = loaded(&mut world, &journal).await;
        world.store.fail_all(true);
        drop(node.crash());
        let lossy = LedgerSettings {
            lossy: Some(LossyRules::default()),
            ..with(&journal)
        };
        let why = refusal(&mut world, lossy).await;
        assert!(why.contains("class L"), "{why}");
        // A disk that was put into another machine, or back under this one.
        world.boot = 2;
        let why = refusal(&mut world, with(&journal)).await;
        assert!(why.contains("started again"), "{why}");
        world.boot = 1;
        tokio::time::sleep(secs(601)).await;
        let why = refusal(&mut world, with(&journal)).await;
        assert!(why.contains("600 s are the most"), "{why}");
        let patient = LedgerSettings {
            outage_budget: secs(3600),
            ..with(&journal)
        };
        assert!(world.start_away(patient).await.is_ok());
    });
}

#[test]
fn a_server_that_left_properly_is_no_longer_waited_for_and_begins_with_its_store_alone() {
    in_world(43, FaultPlan::NONE, |mut world| async move {
        let journal = new_journal();
        let node = loaded(&mut world, &journal).await;
        node.ledger.close().await.unwrap();
        drop(node.crash());
        world.store.fail_all(true);
        let why = refusal(&mut world, with(&journal)).await;
        assert!(why.contains("does not say when"), "{why}");
    });
    // Stopped while the store was away: nobody was told.
    in_world(44, FaultPlan::NONE, |mut world| async move {
        let journal = new_journal();
        let node = loaded(&mut world, &journal).await;
        world.store.fail_all(true);
        tokio::time::sleep(secs(5)).await;
        let _ = node.ledger.close().await;
        drop(node.crash());
        let node = world.start_away(with(&journal)).await.unwrap();
        let drive = world.drive(&[&node], "orders", 1000, secs(30)).await;
        assert_eq!(drive.failed, 0, "{drive:?}");
    });
}

// claim: P18
#[test]
fn a_definition_that_was_followed_does_not_come_back_with_the_journal() {
    for by_other in [false, true] {
        in_world(45, FaultPlan::NONE, |mut world| async move {
            let journal = new_journal();
            let other = world.start(Some(new_journal())).await;
            let node = loaded(&mut world, &journal).await;
            let changer = if by_other { &other } else { &node };
            let to = Base {
                value: 1_000_000,
                is_called: true,
            };
            let changed = changer.ledger.restart(&name("orders"), to, false).await.unwrap();
            assert!(changed.pending.is_empty(), "{changed:?}");
            world.store.fail_all(true);
            drop(node.crash());
            let why = refusal(&mut world, with(&journal)).await;
            assert!(why.contains("owns no numbers"), "{why}");
        });
    }
    // Changed by others while nobody had the journal: found when the store is back.
    in_world(46, FaultPlan::NONE, |mut world| async move {
        let journal = new_journal();
        let other = world.start(Some(new_journal())).await;
        let node = loaded(&mut world, &journal).await;
        world.drive(&[&node, &other], "orders", 100, secs(2)).await;
        drop(node.crash());
        tokio::time::sleep(secs(5)).await;
        let to = Base {
            value: 1_000_000,
            is_called: true,
        };
        other.ledger.restart(&name("orders"), to, false).await.unwrap();
        world.store.fail_all(true);
        let node = world.start_away(with(&journal)).await.unwrap();
        world.drive(&[&node], "orders", 100, secs(5)).await;
        world.store.fail_all(false);
        tokio::time::sleep(secs(5)).await;
        let orders = node.ledger.sequence_or_create(&name("orders")).await.unwrap();
        let run = orders.take(1).await.unwrap();
        invariant!(run.first > 1_000_000, "{run:?}");
        world.saw("orders", run);
    });
}

#[test]
fn a_register_that_somebody_else_took_over_meanwhile_ends_what_the_journal_owned() {
    in_world(47, FaultPlan::NONE, |mut world| async move {
        let journal = new_journal();
        let node = loaded(&mut world, &journal).await;
        drop(node.crash());
        let copy = copied(&journal).await;
        world.store.fail_all(true);
        let node = world.start_away(with(&journal)).await.unwrap();
        world.store.fail_all(false);
        // Quicker than ours, which tries once a second.
        let thief = world.start(Some(copy)).await;
        world.drive(&[&thief], "orders", 100, secs(3)).await;
        tokio::time::sleep(secs(3)).await;
        let drive = world.drive(&[&node, &thief], "orders", 1000, secs(20)).await;
        assert_eq!(drive.failed, 0, "{drive:?}");
    });
}

#[test]
fn a_store_that_was_set_back_meanwhile_ends_all() {
    let store = MemoryStore::shared(7);
    let inner = store.clone();
    in_world_of(
        Arc::new(Durable(store)),
        48,
        FaultPlan::NONE,
        |mut world| async move {
            let journal = new_journal();
            let node = loaded(&mut world, &journal).await;
            let before = inner.dump();
            world.drive(&[&node], "orders", 10_000, secs(15)).await;
            world.store.fail_all(true);
            drop(node.crash());
            let node = world.start_away(with(&journal)).await.unwrap();
            world.drive(&[&node], "orders", 100, secs(2)).await;
            inner.fall_back_to(before, "older");
            world.store.fail_all(false);
            tokio::time::sleep(secs(10)).await;
            let stopped = node.ledger.stopped().unwrap();
            assert!(
                stopped.message.contains("this machine's journal owns numbers"),
                "{stopped}"
            );
            let orders = node.ledger.sequence("orders").unwrap();
            assert!(orders.try_take(1).is_none() && orders.take(1).await.is_err());
        },
    );
}
