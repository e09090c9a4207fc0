//! Windows that are lent to programs, whose renewals lose their answers and which are copied.

use std::sync::Arc;
use std::time::Duration;

use mintage_ledger::*;
use mintage_testing::invariant;

use crate::common::{in_world, in_world_of};

fn pool_name() -> Name {
    Name::new("programs").unwrap()
}

/// Sixteen workers.
fn small() -> PoolSpec {
    let layout = mintage::Layout::builder("small")
        .time("time", 41)
        .worker("worker", 4)
        .sequence("sequence", 10);
    PoolKind::Snowflake(Arc::new(layout.build().unwrap())).into()
}

fn attempt(number: u64) -> RenewalAttempt {
    RenewalAttempt::new(&format!("attempt-{number:016x}")).unwrap()
}

fn is_lost(answer: &Result<LentWindow, LedgerError>) -> bool {
    matches!(answer, Err(LedgerError::WindowLost { .. }))
}

/// What is the same at every answer to one renewal.
fn granted(window: &LentWindow) -> (u64, &str, u64, u64, u64) {
    let LentWindow {
        worker,
        version,
        from_tick,
        until_tick,
        ..
    } = *window;
    (worker, &window.owner, version, from_tick, until_tick)
}

async fn record(store: &dyn Store, worker: u64) -> Versioned {
    let key = Key::new(format!("window/programs/{worker:010}")).unwrap();
    store.get(&key).await.unwrap().unwrap()
}

/// A pool whose store fails as `plan` says; opened over it, however often that takes.
async fn pool_over(store: Arc<dyn Store>, plan: FaultPlan) -> (Arc<Ledger>, Arc<Pool>) {
    let runtime = SystemRuntime::new(tokio::runtime::Handle::current());
    let store = FaultyStore::new(store, runtime.clone(), plan);
    for _ in 0..1000 {
        let opened = Ledger::open(store.clone(), LedgerSettings::default(), runtime.clone()).await;
        let Ok(ledger) = opened else { continue };
        for _ in 0..100 {
            if let Ok(pool) = ledger.existing_pool(&pool_name()).await {
                return (ledger, pool);
            }
        }
    }
    panic!("the store failed a thousand times");
}

/// A renewal landed, its answer was lost, and the borrower's retry was refused: it lost its worker.
// claim: P12
#[test]
fn a_renewal_is_repeated_until_it_is_answered() {
    let mut confirmed = 0;
    for seed in 0..4 {
        let store = MemoryStore::shared(7);
        confirmed += in_world_of(store.clone(), seed, FaultPlan::NONE, |mut world| async move {
            let node = world.start(None).await;
            let pool = node.ledger.create_pool(&pool_name(), small()).await.unwrap();
            let lent = pool.lend("program").await.unwrap();
            let plan = FaultPlan {
                answer_lost: 300,
                ..FaultPlan::rough(seed)
            };
            let (_ledger, pool) = pool_over(store.clone(), plan).await;
            let mut window = lent.clone();
            for number in 0..50 {
                let attempt = attempt(number);
                let renewed = loop {
                    let answer = pool
                        .renew_lent(window.worker, &window.owner, window.version, Some(&attempt))
                        .await;
                    match answer {
                        Ok(renewed) => break renewed,
                        Err(LedgerError::Unavailable { .. }) => {}
                        Err(error) => panic!("seed {seed}, renewal {number}: {error}"),
                    }
                };
                assert_eq!(
                    (renewed.worker, &renewed.owner, renewed.version, renewed.from_tick),
                    (window.worker, &window.owner, window.version + 1, window.from_tick)
                );
                assert!(renewed.until_tick >= window.until_tick);
                window = renewed;
            }
            let written = record(&*store, lent.worker).await.version.number() - lent.version;
            written - 50
        });
    }
    assert!(confirmed > 20, "only {confirmed} renewals were found as landed");
}

#[test]
fn every_answer_to_one_renewal_says_the_same() {
    in_world(1, FaultPlan::NONE, |mut world| async move {
        let (one, other) = (world.start(None).await, world.start(None).await);
        let pool = one.ledger.create_pool(&pool_name(), small()).await.unwrap();
        let beside = other.ledger.existing_pool(&pool_name()).await.unwrap();
        let lent = pool.lend("program").await.unwrap();
        assert_eq!(lent.tick, Duration::from_millis(1));
        assert!(
            (lent.from_tick..=lent.until_tick).contains(&lent.now_tick),
            "{lent:?}"
        );
        let renew = |pool: Arc<Pool>, version, number| {
            let owner = lent.owner.clone();
            async move {
                pool.renew_lent(lent.worker, &owner, version, Some(&attempt(number)))
                    .await
            }
        };
        // The same request at two servers at once, and once more when the first answers are long under way.
        let (first, second) = tokio::join!(
            renew(pool.clone(), lent.version, 1),
            renew(beside.clone(), lent.version, 1)
        );
        let (first, second) = (first.unwrap(), second.unwrap());
        tokio::time::sleep(Duration::from_secs(1)).await;
        let third = renew(beside.clone(), lent.version, 1).await.unwrap();
        assert_eq!(granted(&first), granted(&second));
        assert_eq!(granted(&first), granted(&third));
        assert!(third.now_tick > first.now_tick);
        // Whichever of the answers arrived, the next renewal goes on from it.
        let next = renew(pool.clone(), first.version, 2).await.unwrap();
        assert!(next.until_tick > first.until_tick, "{next:?}");
        // A try of the first that arrives only now finds its time over, and harms nothing.
        let late = renew(beside.clone(), lent.version, 1).await;
        invariant!(is_lost(&late), "{late:?}");
        let next = renew(beside, next.version, 3).await.unwrap();
        // Who names no attempt goes on, too.
        let plain = pool
            .renew_lent(lent.worker, &lent.owner, next.version, None)
            .await
            .unwrap();
        assert!(plain.version > next.version);
        let body = record(&*world.store, lent.worker).await.value.body;
        // An older server understands that record.
        assert!(!body.contains("renewed"), "{body}");
    });
}

#[test]
fn of_two_copies_of_a_borrower_one_renews() {
    for seed in 0..5 {
        in_world(seed, FaultPlan::NONE, |mut world| async move {
            let (one, other) = (world.start(None).await, world.start(None).await);
            let pool = one.ledger.create_pool(&pool_name(), small()).await.unwrap();
            let beside = other.ledger.existing_pool(&pool_name()).await.unwrap();
            let mut window = pool.lend("program").await.unwrap();
            for round in 0..10 {
                let (worker, owner, version) = (window.worker, window.owner.clone(), window.version);
                let (a, b) = (attempt(2 * round), attempt(2 * round + 1));
                let (first, second) = tokio::join!(
                    pool.renew_lent(worker, &owner, version, Some(&a)),
                    beside.renew_lent(worker, &owner, version, Some(&b)),
                );
                invariant!(first.is_ok() != second.is_ok(), "{first:?} and {second:?}");
                let winner = if first.is_ok() { &a } else { &b };
                for attempt in [None, Some(&a), Some(&b)] {
                    let again = pool.renew_lent(worker, &owner, version, attempt).await;
                    invariant!(
                        is_lost(&again) == (attempt != Some(winner)),
                        "{attempt:?}: {again:?}"
                    );
                }
                let stranger = pool.renew_lent(worker, "somebody", version, Some(winner)).await;
                invariant!(is_lost(&stranger), "{stranger:?}");
                window = first.or(second).unwrap();
            }
        });
    }
}

/// What a read shows need not be kept (protocol R6).
#[test]
fn a_renewal_that_has_landed_is_written_again_before_it_is_answered() {
    in_world(1, FaultPlan::NONE, |mut world| async move {
        let node = world.start(None).await;
        let pool = node.ledger.create_pool(&pool_name(), small()).await.unwrap();
        let lent = pool.lend("program").await.unwrap();
        let attempt = attempt(1);
        let renew = || pool.renew_lent(lent.worker, &lent.owner, lent.version, Some(&attempt));
        let first = renew().await.unwrap();
        let before = record(&*world.store, lent.worker).await;
        world.store.fail_writes(true);
        let refused = renew().await;
        assert!(
            matches!(refused, Err(LedgerError::Unavailable { .. })),
            "{refused:?}"
        );
        world.store.fail_writes(false);
        assert_eq!(granted(&renew().await.unwrap()), granted(&first));
        let after = record(&*world.store, lent.worker).await;
        assert_eq!(after.version.number(), before.version.number() + 1);
        assert_eq!(after.value.mark, before.value.mark);
        assert_ne!(after.value.token, before.value.token);
    });
}

/// A restore puts older records back, of workers that others may have had since.
#[test]
fn a_record_that_was_put_back_renews_nothing() {
    in_world(1, FaultPlan::NONE, |mut world| async move {
        let node = world.start(None).await;
        let pool = node.ledger.create_pool(&pool_name(), small()).await.unwrap();
        let lent = pool.lend("program").await.unwrap();
        let attempts = [attempt(1), attempt(2)];
        let renewed = pool
            .renew_lent(lent.worker, &lent.owner, lent.version, Some(&attempts[0]))
            .await
            .unwrap();
        let key = Key::new(format!("window/programs/{:010}", lent.worker)).unwrap();
        let found = record(&*world.store, lent.worker).await;
        let put_back = Value {
            mark: found.value.mark + 1_000_000,
            token: 7,
            ..found.value
        };
        let written = world
            .store
            .compare_and_set(&key, Some(found.version), put_back, Marks::NeverLower)
            .await;
        assert!(matches!(written, Ok(Cas::Done(_))));
        for version in [lent.version, renewed.version] {
            for attempt in [None, Some(&attempts[0]), Some(&attempts[1])] {
                let answer = pool.renew_lent(lent.worker, &lent.owner, version, attempt).await;
                invariant!(is_lost(&answer), "from {version} as {attempt:?}: {answer:?}");
            }
        }
    });
}

#[test]
fn an_end_is_repeated_and_ends_renewals() {
    in_world(1, FaultPlan::NONE, |mut world| async move {
        let node = world.start(None).await;
        let pool = node.ledger.create_pool(&pool_name(), small()).await.unwrap();
        let lent = pool.lend("program").await.unwrap();
        let attempt = attempt(1);
        let renewed = pool
            .renew_lent(lent.worker, &lent.owner, lent.version, Some(&attempt))
            .await
            .unwrap();
        let stale = pool.end_lent(lent.worker, &lent.owner, lent.version).await;
        assert!(matches!(stale, Err(LedgerError::WindowLost { .. })));
        for _ in 0..2 {
            pool.end_lent(lent.worker, &renewed.owner, renewed.version)
                .await
                .unwrap();
        }
        let stranger = pool.end_lent(lent.worker, "somebody", renewed.version).await;
        assert!(matches!(stranger, Err(LedgerError::WindowLost { .. })));
        for version in [lent.version, renewed.version] {
            let late = pool
                .renew_lent(lent.worker, &lent.owner, version, Some(&attempt))
                .await;
            invariant!(is_lost(&late), "{late:?}");
        }
        let ends = record(&*world.store, lent.worker).await.value.mark;
        assert_eq!(ends, renewed.until_tick);
    });
}
