//! Where numbers come from, as far as records and memory tell.

use std::sync::Arc;

use mintage::{Base, SequenceOptions};
use mintage_ledger::*;
use mintage_testing::invariant;

use crate::common::{Node, in_world, in_world_of, new_journal, secs};

fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}

/// Used, lost, given back and left of each block.
async fn blocks(node: &Node, of: &str) -> Vec<(u64, u64, u64, u64)> {
    let blocks = node.ledger.reserved_blocks(&name(of)).await.unwrap();
    let told = blocks.iter().map(|block| {
        let left = block.numbers.count - block.used - block.lost - block.given_back;
        (block.used, block.lost, block.given_back, left)
    });
    told.collect()
}

async fn create(node: &Node, of: &str, options: SequenceOptions, gap: Gap) -> Arc<Sequence> {
    let spec = SequenceSpec {
        options,
        gap,
        max_gap: None,
    };
    node.ledger.create(&name(of), &spec).await.unwrap();
    node.ledger.existing(&name(of)).await.unwrap()
}

async fn verdict(node: &Node, of: &str, number: i64) -> Verdict {
    node.ledger
        .explain_number(&name(of), number)
        .await
        .unwrap()
        .verdict
}

#[test]
fn blocks_say_what_was_used_of_them_on_every_store() {
    for store in [MemoryStore::shared(7), MemoryStore::with_cluster_id(7)] {
        in_world_of(store, 1, FaultPlan::NONE, |mut world| async move {
            let node = world.start(None).await;
            world.drive(&[&node], "orders", 1000, secs(5)).await;
            let told = blocks(&node, "orders").await;
            assert!(told.len() > 2 && told.len() <= BLOCKS_MAX, "{told:?}");
            let sum = |of: fn(&(u64, u64, u64, u64)) -> u64| told.iter().map(of).sum::<u64>();
            assert_eq!(sum(|block| block.0), world.count(), "{told:?}");
            let unused = node.ledger.show(&name("orders")).await.unwrap().unused;
            assert_eq!(
                (sum(|block| block.1), sum(|block| block.3)),
                (0, unused),
                "{told:?}"
            );
            let reserved = node.ledger.reserved_blocks(&name("orders")).await.unwrap();
            assert!(reserved.is_sorted_by_key(|block| (block.at, block.numbers.first)));
            assert_eq!(
                reserved.last().unwrap().numbers.last() as u64,
                world.mark("orders").await
            );
        });
    }
}

#[test]
fn large_blocks_are_unused_until_pieces_of_them_are_handed_out() {
    in_world(2, FaultPlan::NONE, |mut world| async move {
        let node = world.start(Some(new_journal())).await;
        world.drive(&[&node], "orders", 10_000, secs(15)).await;
        let told = blocks(&node, "orders").await;
        let all = node.ledger.show(&name("orders")).await.unwrap().unused;
        let left: u64 = told.iter().map(|block| block.3).sum();
        assert!(all > 300_000, "{all}");
        assert_eq!(left, all, "{told:?}");
    });
}

#[test]
fn what_a_change_drops_is_lost() {
    in_world(3, FaultPlan::NONE, |mut world| async move {
        let node = world.start(None).await;
        world.drive(&[&node], "orders", 1000, secs(3)).await;
        let before = node.ledger.show(&name("orders")).await.unwrap();
        let to = Base {
            value: 1_000_000,
            is_called: false,
        };
        node.ledger.restart(&name("orders"), to, false).await.unwrap();
        let told = blocks(&node, "orders").await;
        assert_eq!(
            told.iter().map(|block| block.1).sum::<u64>(),
            before.unused,
            "{told:?}"
        );
        assert!(told.iter().all(|block| block.3 == 0), "{told:?}");
    });
}

#[test]
fn every_claim_of_a_gap_free_sequence_is_a_block() {
    in_world_of(
        MemoryStore::with_cluster_id(7),
        4,
        FaultPlan::NONE,
        |mut world| async move {
            let node = world.start(None).await;
            let orders = create(&node, "orders", SequenceOptions::default(), Gap::None).await;
            orders.take(3).await.unwrap();
            orders.take(2).await.unwrap();
            assert_eq!(blocks(&node, "orders").await, [(3, 0, 0, 0), (2, 0, 0, 0)]);
            let reserved = node.ledger.reserved_blocks(&name("orders")).await.unwrap();
            assert_eq!((reserved[1].numbers.first, reserved[1].numbers.last()), (4, 5));
        },
    );
}

#[test]
fn a_number_is_judged_by_record_and_memory() {
    in_world(5, FaultPlan::NONE, |mut world| async move {
        let node = world.start(None).await;
        let options = SequenceOptions {
            start: Some(10),
            increment: Some(10),
            max: Some(1000),
            ..SequenceOptions::default()
        };
        let tens = create(&node, "tens", options, Gap::None).await;
        tens.take(3).await.unwrap();
        let down = SequenceOptions {
            increment: Some(-1),
            ..SequenceOptions::default()
        };
        create(&node, "down", down, Gap::None)
            .await
            .take(5)
            .await
            .unwrap();
        let wheel = SequenceOptions {
            max: Some(3),
            cycle: Some(true),
            ..SequenceOptions::default()
        };
        create(&node, "wheel", wheel, Gap::None).await;
        let moved = Base {
            value: 100,
            is_called: true,
        };
        node.ledger.set(&name("moved"), moved).await.unwrap();
        node.ledger
            .existing(&name("moved"))
            .await
            .unwrap()
            .take(1)
            .await
            .unwrap();
        for (of, number, expected) in [
            ("tens", 10, Verdict::Issued),
            ("tens", 30, Verdict::Issued),
            ("tens", 40, Verdict::NotYet),
            ("tens", 1000, Verdict::NotYet),
            ("tens", 35, Verdict::Never),
            ("tens", 0, Verdict::Never),
            ("tens", 1010, Verdict::Never),
            ("tens", i64::MIN, Verdict::Never),
            ("down", -1, Verdict::Issued),
            ("down", -5, Verdict::Issued),
            ("down", -6, Verdict::NotYet),
            ("down", 1, Verdict::Never),
            ("wheel", 2, Verdict::Possible),
            ("wheel", 4, Verdict::Never),
            ("moved", 101, Verdict::Issued),
            ("moved", 100, Verdict::Possible),
            ("moved", 57, Verdict::Possible),
            ("moved", 0, Verdict::Never),
            ("moved", 100_000, Verdict::NotYet),
        ] {
            assert_eq!(verdict(&node, of, number).await, expected, "{of} {number}");
        }
        let back = Base {
            value: 10,
            is_called: false,
        };
        node.ledger.restart(&name("tens"), back, true).await.unwrap();
        assert_eq!(verdict(&node, "tens", 50).await, Verdict::NotYet);
        let patch = SequencePatch {
            options: SequenceOptions {
                increment: Some(7),
                ..SequenceOptions::default()
            },
            ..SequencePatch::default()
        };
        node.ledger.alter(&name("down"), &patch).await.unwrap_err();
        // Another process does not remember what this one has reserved.
        let other = world.start(None).await;
        assert_eq!(verdict(&other, "moved", 101).await, Verdict::Reserved);
        // Given out before the restart, whatever comes next now.
        assert_eq!(verdict(&other, "tens", 30).await, Verdict::Possible);
        assert_eq!(verdict(&other, "tens", 50).await, Verdict::NotYet);
        assert_eq!(verdict(&other, "down", -3).await, Verdict::Reserved);
        let (all, more) = other
            .ledger
            .explain_number_of_all(101, 2, |_| true)
            .await
            .unwrap();
        assert_eq!((all.len(), more), (2, true));
        let (some, more) = other
            .ledger
            .explain_number_of_all(101, 1000, |name| name.as_str() == "moved")
            .await
            .unwrap();
        assert_eq!((some[0].name.as_str(), some.len(), more), ("moved", 1, false));
    });
}

#[test]
fn what_is_in_memory_was_given_to_nobody() {
    in_world(6, FaultPlan::NONE, |mut world| async move {
        let node = world.start(None).await;
        let drive = world.drive(&[&node], "orders", 1000, secs(3)).await;
        assert_eq!(verdict(&node, "orders", drive.last).await, Verdict::Issued);
        assert_eq!(verdict(&node, "orders", drive.last + 1).await, Verdict::Reserved);
        let origin = node
            .ledger
            .explain_number(&name("orders"), drive.last + 1)
            .await
            .unwrap();
        assert!(origin.ours && origin.why.contains("memory"), "{origin:?}");
        // The store is away: what is known is told still, where the record can be read.
        world.store.fail_all(true);
        assert!(node.ledger.reserved_blocks(&name("orders")).await.is_ok());
        assert!(node.ledger.explain_number(&name("orders"), 1).await.is_err());
    });
}

#[test]
fn a_pool_remembers_who_held_its_workers_before() {
    in_world(7, FaultPlan::NONE, |mut world| async move {
        let one = world.start(None).await;
        let layout = mintage::Layout::builder("tiny")
            .epoch(mintage::Timestamp::from_unix_millis(1_700_000_000_000))
            .time("time", 41)
            .worker("worker", 1)
            .sequence("sequence", 12)
            .build()
            .unwrap();
        let layout = Arc::new(layout);
        let kind = PoolKind::Snowflake(Arc::clone(&layout));
        let pool = one.ledger.create_pool(&name("p"), kind.into()).await.unwrap();
        let mut early = [0];
        pool.mint(&mut early).await.unwrap();
        let parts = layout.unpack(early[0]).unwrap();
        let held = pool.map(0, 10).await.unwrap();
        assert_eq!((held.len(), held[0].is), (1, WindowIs::Held), "{held:?}");
        assert_eq!(
            pool.explain_id(early[0].into()).await.unwrap().verdict,
            Verdict::Reserved
        );
        // A borrower is done with its window before it ends.
        let lent = pool.lend("program").await.unwrap();
        pool.end_lent(lent.worker, &lent.owner, lent.version)
            .await
            .unwrap();
        let is = |map: &[MappedWindow], worker| {
            map.iter()
                .find(|one| one.window.worker == worker)
                .map(|one| one.is)
        };
        let map = pool.map(0, 10).await.unwrap();
        assert_eq!(is(&map, lent.worker), Some(WindowIs::Released), "{map:?}");
        // Another watches, the first dies, and its worker is taken over.
        let watcher = world.start(None).await;
        let watched = watcher.ledger.existing_pool(&name("p")).await.unwrap();
        watched.windows(0, 10).await.unwrap();
        one.crash();
        tokio::time::sleep(secs(60)).await;
        let passed = watched.map(0, 10).await.unwrap();
        assert_eq!(is(&passed, parts.worker), Some(WindowIs::Passed), "{passed:?}");
        assert_eq!(is(&passed, lent.worker), Some(WindowIs::Released), "{passed:?}");
        // Until then an operator could not release it.
        watched.release(parts.worker).await.unwrap();
        let freed = watched.map(0, 10).await.unwrap();
        assert_eq!(is(&freed, parts.worker), Some(WindowIs::Released), "{freed:?}");
        let mut others = Vec::new();
        for _ in 0..2 {
            let other = world.start(None).await;
            let pool = other.ledger.existing_pool(&name("p")).await.unwrap();
            pool.mint(&mut [0]).await.unwrap();
            others.push(other);
        }
        let map = watched.map(0, 10).await.unwrap();
        let of_worker: Vec<_> = map
            .iter()
            .filter(|one| one.window.worker == parts.worker)
            .collect();
        assert_eq!(
            (of_worker.len(), of_worker[0].is, of_worker[1].is),
            (2, WindowIs::Earlier, WindowIs::Held)
        );
        invariant!(
            of_worker[0].window.until <= of_worker[1].window.from,
            "{of_worker:?}"
        );
        let origin = watched.explain_id(early[0].into()).await.unwrap();
        assert_eq!(
            (origin.verdict, origin.by_holder),
            (Verdict::Reserved, true),
            "{origin:?}"
        );
        assert_eq!(origin.window.unwrap().owner, of_worker[0].window.owner);
        // Whoever has not seen it does not know.
        let newcomer = world.start(None).await;
        let pool = newcomer.ledger.existing_pool(&name("p")).await.unwrap();
        let origin = pool.explain_id(early[0].into()).await.unwrap();
        assert_eq!(
            (origin.verdict, origin.by_holder),
            (Verdict::Possible, false),
            "{origin:?}"
        );
    });
}

#[test]
fn every_server_of_a_store_is_shown_with_what_it_holds() {
    in_world(8, FaultPlan::NONE, |mut world| async move {
        let (one, two) = (world.start(None).await, world.start(None).await);
        let pool = two.ledger.existing_pool(&name(DEFAULT_POOL)).await.unwrap();
        pool.mint(&mut [0]).await.unwrap();
        tokio::time::sleep(secs(5)).await;
        let servers = one.ledger.servers(|_| true).await.unwrap();
        let told: Vec<_> = servers
            .iter()
            .map(|server| {
                (
                    server.ours,
                    server.lives,
                    server.workers.as_ref().map(Vec::len),
                    server.version.is_some(),
                )
            })
            .collect();
        assert_eq!(
            told,
            [(true, true, Some(0), true), (false, true, Some(1), true)],
            "{servers:?}"
        );
        let (offset, error) = servers[1].offset_ns.unwrap();
        assert!(offset.unsigned_abs() <= error.as_nanos(), "{servers:?}");
        assert_eq!(
            one.ledger.servers(|_| false).await.unwrap()[1].workers,
            Some(vec![])
        );
        two.crash();
        tokio::time::sleep(secs(10)).await;
        let servers = one.ledger.servers(|_| true).await.unwrap();
        assert!(!servers[1].lives && servers[1].silent >= secs(8), "{servers:?}");
        // While the store is away, what was seen is told.
        one.ledger.rehearse_outage(secs(60));
        tokio::time::sleep(secs(5)).await;
        let servers = one.ledger.servers(|_| true).await.unwrap();
        assert_eq!((servers.len(), &servers[1].workers), (2, &None), "{servers:?}");
    });
    in_world_of(
        MemoryStore::with_cluster_id(7),
        9,
        FaultPlan::NONE,
        |mut world| async move {
            let node = world.start(None).await;
            let servers = node.ledger.servers(|_| true).await.unwrap();
            assert!(servers.len() == 1 && servers[0].ours, "{servers:?}");
        },
    );
}
