//! An outage that is rehearsed, in virtual time: it is one, but for the store, and it ends by itself.

use std::sync::Arc;
use std::time::Duration;

use mintage_ledger::*;
use mintage_testing::{distinct, invariant};

use crate::common::{Drive, World, in_world, in_world_of, new_journal, secs};

fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}

fn stores() -> [Arc<dyn Store>; 2] {
    [MemoryStore::shared(7), MemoryStore::with_cluster_id(7)]
}

async fn gap_free(ledger: &Ledger) -> Arc<Sequence> {
    let spec = SequenceSpec {
        gap: Gap::None,
        ..SequenceSpec::default()
    };
    ledger.create(&name("invoices"), &spec).await.unwrap();
    ledger.sequence_or_create(&name("invoices")).await.unwrap()
}

#[track_caller]
fn check_unnoticed(drive: &Drive) {
    assert_eq!((drive.failed, drive.waited), (0, 0), "{drive:?}");
}

#[test]
fn stock_goes_on_and_what_needs_the_store_is_refused_until_it_ends_by_itself() {
    for store in stores() {
        in_world_of(store, 1, FaultPlan::NONE, |mut world| async move {
            let node = world.start(None).await;
            let invoices = gap_free(&node.ledger).await;
            let first = invoices.take(1).await.unwrap();
            world.saw("invoices", first);
            let before = world.drive(&[&node], "orders", 1000, secs(15)).await;
            assert_eq!(before.failed, 0, "{before:?}");
            let mark = world.mark("orders").await;

            node.ledger.rehearse_outage(secs(5));
            let refused = invoices.take(1).await.unwrap_err();
            assert!(matches!(refused, LedgerError::Unavailable { .. }), "{refused}");
            let drive = world.drive(&[&node], "orders", 100, secs(4)).await;
            assert_eq!(drive.failed, 0, "{drive:?}");
            let (ready, status) = (node.ledger.ready(), node.ledger.store_status());
            assert!(ready.notes[0].contains("an outage is rehearsed"), "{ready:?}");
            assert!(status.down_for > Some(secs(2)), "{status:?}");
            assert_eq!(world.mark("orders").await, mark, "nothing was sent");
            assert!(node.ledger.rehearsal_left().is_some_and(|left| left <= secs(1)));

            let after = world.drive(&[&node], "orders", 100, secs(5)).await;
            assert_eq!((after.failed, node.ledger.rehearsal_left()), (0, None));
            let second = invoices.take(1).await.unwrap();
            world.saw("invoices", second);
            assert_eq!(second.first, 2, "what was refused took no number");
            let ready = node.ledger.ready();
            assert!(ready.ready && ready.notes.is_empty(), "{ready:?}");
            let (outage, _) = node.ledger.last_outage().unwrap();
            assert!(outage.lasted >= secs(4), "{outage:?}");
        });
    }
}

#[test]
fn its_budget_is_that_of_an_outage_and_it_can_be_ended() {
    in_world(2, FaultPlan::NONE, |mut world| async move {
        let node = world.start(Some(new_journal())).await;
        world.drive(&[&node], "orders", 1000, secs(12)).await;
        node.ledger.rehearse_outage(secs(300));
        check_unnoticed(&world.drive(&[&node], "orders", 1000, secs(60)).await);
        let dry = world.drive(&[&node], "orders", 1000, secs(60)).await;
        assert!(dry.failed > 0 && !node.ledger.ready().ready, "{dry:?}");
        node.ledger.rehearse_outage(Duration::ZERO);
        assert_eq!(node.ledger.rehearsal_left(), None);
        let after = world.drive(&[&node], "orders", 1000, secs(20)).await;
        assert!(after.failed < 1000, "{after:?}");
        check_unnoticed(&world.drive(&[&node], "orders", 1000, secs(5)).await);
        // The end of the one that was ended is not that of the next.
        node.ledger.rehearse_outage(secs(400));
        tokio::time::sleep(secs(200)).await;
        assert!(node.ledger.rehearsal_left().is_some());
    });
}

#[test]
fn a_crash_in_the_middle_is_as_in_an_outage() {
    for rehearsed in [true, false] {
        in_world(3, FaultPlan::NONE, |mut world: World| async move {
            let node = world.start(Some(new_journal())).await;
            world.drive(&[&node], "orders", 10_000, secs(15)).await;
            match rehearsed {
                true => node.ledger.rehearse_outage(secs(60)),
                false => world.store.freeze(true),
            }
            world.drive(&[&node], "orders", 10_000, secs(20)).await;
            let (given, journal) = (world.count(), node.crash());
            world.store.freeze(false);
            let next = world.start(journal).await;
            assert_eq!(next.ledger.rehearsal_left(), None);
            let drive = world.drive(&[&next], "orders", 100, secs(1)).await;
            assert_eq!(drive.failed, 0, "{drive:?}");
            let lost = drive.last as u64 - world.count();
            invariant!(lost <= 100_000, "{lost} lost after {given}");
        });
    }
}

#[test]
fn ids_are_minted_to_the_end_of_the_window_and_again_after_it() {
    in_world(4, FaultPlan::NONE, |mut world| async move {
        let (one, two) = (world.start(None).await, world.start(None).await);
        let mut pools = Vec::new();
        for node in [&one, &two] {
            let pool = node.ledger.pool_or_default(&name(DEFAULT_POOL)).await.unwrap();
            pool.mint(&mut [0]).await.unwrap();
            pools.push(pool);
        }
        let worker = |of: usize| pools[of].info().worker;
        let ours = worker(0);
        distinct("workers", [ours, worker(1)]);
        // A window reaches as far ahead as its process has lived.
        tokio::time::sleep(secs(100)).await;
        one.ledger.rehearse_outage(secs(300));
        tokio::time::sleep(secs(60)).await;
        pools[0].mint(&mut [0]).await.unwrap();
        // Past the end of its window nothing is minted, as in an outage.
        tokio::time::sleep(secs(220)).await;
        assert!(pools[0].mint(&mut [0]).await.is_err());
        tokio::time::sleep(secs(40)).await;
        pools[0].mint(&mut [0]).await.unwrap();
        distinct("workers", [worker(0), worker(1)]);
    });
}
