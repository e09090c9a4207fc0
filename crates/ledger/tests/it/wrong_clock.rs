//! A clock that was ahead once, and is right again: what it parked is left alone and told, everything else goes on.

use std::sync::Arc;
use std::time::Duration;

use mintage::Timestamp;
use mintage_ledger::*;
use mintage_testing::Distinct;

use crate::machines::*;

const HOUR_MS: i64 = 3_600_000;
const YEAR_MS: i64 = 31_557_600_000;
/// How long a step must have stood, and a start's clock gone on, to count ([`LedgerSettings::clock_confirm`]), and a
/// look or two more.
const CONFIRMED: Duration = Duration::from_secs(63);

/// Two hours, forty years, and past the end of the layout (2080) from 2027 on.
const AHEAD_MS: [i64; 3] = [2 * HOUR_MS, 40 * YEAR_MS, 60 * YEAR_MS];

async fn around_memory() -> Cluster {
    let machine = Machine::new(tokio::time::Instant::now(), 99);
    let runtime = Arc::new(On(machine));
    let store = open_store("memory:", &StoreSettings::default(), runtime).await;
    Cluster::new(store.unwrap())
}

async fn pool(node: &Node, name: &str, layout: &str) -> Arc<Pool> {
    let layout: mintage::Layout = layout.parse().unwrap();
    let spec = PoolSpec::from(PoolKind::Snowflake(Arc::new(layout)));
    node.ledger
        .create_pool(&Name::new(name).unwrap(), spec)
        .await
        .unwrap()
}

async fn twitter(node: &Node) -> Arc<Pool> {
    let name = Name::new(DEFAULT_POOL).unwrap();
    node.ledger.pool_or_default(&name).await.unwrap()
}

/// Ten ids, none seen before, and the time in them.
async fn mint(pool: &Arc<Pool>, seen: &mut Distinct<u64>) -> Result<Timestamp, LedgerError> {
    let mut ids = [0; 10];
    pool.mint(&mut ids).await?;
    seen.extend(ids);
    let layout = pool.layout();
    Ok(layout.time_of(layout.unpack(ids[0]).unwrap().tick))
}

fn assert_near(time: Timestamp, cluster: &Cluster) {
    let off_ms = time.unix_millis() - true_now(cluster.start).unix_millis();
    assert!(off_ms.abs() < 5_000, "{off_ms} ms off");
}

// claim: P64
#[test]
fn a_running_process_takes_another_worker_once_the_step_is_confirmed() {
    for ahead_ms in AHEAD_MS {
        in_paused_time(|| async {
            let cluster = around_memory().await;
            let machine = cluster.machine();
            machine.step(ahead_ms);
            let node = cluster.node_on("one", machine.clone()).await;
            let (pool, mut seen) = (twitter(&node).await, Distinct::default());
            let before = mint(&pool, &mut seen).await;
            tokio::time::sleep(Duration::from_secs(12)).await;
            machine.step(-ahead_ms);
            tokio::time::sleep(Duration::from_secs(3)).await;
            let ready = node.ledger.ready();
            assert!(!ready.pools.ready, "the step waits to be confirmed");
            assert!(ready.pools.reasons[0].contains("not followed until"), "{ready:?}");
            assert!(
                ready.ready && ready.sequences.ready,
                "numbers carry no time: {ready:?}"
            );
            tokio::time::sleep(CONFIRMED).await;
            let time = mint(&pool, &mut seen)
                .await
                .unwrap_or_else(|e| panic!("{ahead_ms}: {e}"));
            assert_near(time, &cluster);
            let ready = node.ledger.ready();
            assert!(ready.ready, "{:?}", ready.reasons);
            assert_eq!(
                pool.parked().map(|parked| parked.workers),
                before.is_ok().then_some(1)
            );
            assert_eq!(
                ready.notes.len(),
                usize::from(before.is_ok()),
                "{:?}",
                ready.notes
            );
            assert!(
                ready
                    .notes
                    .iter()
                    .all(|note| note.contains("1 worker is parked until"))
            );
        });
    }
}

#[test]
fn a_start_with_the_right_clock_refuses_until_it_counts_and_then_goes_on() {
    for ahead_ms in AHEAD_MS {
        in_paused_time(|| async {
            let cluster = around_memory().await;
            let machine = cluster.machine();
            machine.step(ahead_ms);
            let wrong = cluster.node_on("wrong", machine.clone()).await;
            let (pool, mut seen) = (twitter(&wrong).await, Distinct::default());
            let parks = mint(&pool, &mut seen).await.is_ok();
            tokio::time::sleep(Duration::from_secs(12)).await;
            machine.kill();
            for restart in 0..3 {
                let machine = cluster.machine();
                let node = cluster.node_on("right", machine.clone()).await;
                let pool = twitter(&node).await;
                if parks {
                    let refused = mint(&pool, &mut seen).await.unwrap_err().to_string();
                    assert!(refused.contains("one of the two was wrong"), "{refused}");
                    let ready = node.ledger.ready();
                    assert!(
                        !ready.pools.ready
                            && ready
                                .pools
                                .reasons
                                .iter()
                                .any(|why| why.contains("one of the two was wrong")),
                        "{ready:?}"
                    );
                    tokio::time::sleep(CONFIRMED).await;
                }
                let time = mint(&pool, &mut seen)
                    .await
                    .unwrap_or_else(|e| panic!("{ahead_ms}: {e}"));
                assert_near(time, &cluster);
                assert!(node.ledger.ready().ready, "restart {restart}");
                machine.kill();
                // Until its register counts for nobody: a second source would decide at once.
                tokio::time::sleep(Duration::from_secs(60)).await;
            }
        });
    }
}

/// A store that was told of a time by a clock which was ahead.
#[derive(Debug)]
struct Remembers(Arc<dyn Store>, Timestamp);

impl Store for Remembers {
    delegate_store!(0, but newest_wall);
    fn newest_wall(&self) -> Option<Timestamp> {
        Some(self.1)
    }
}

#[test]
fn a_start_at_a_remembered_time_is_told_of_from_the_first_moment() {
    for ahead_ms in AHEAD_MS {
        in_paused_time(|| async {
            let cluster = around_memory().await;
            let ahead = true_now(cluster.start).saturating_add(Duration::from_millis(ahead_ms as u64));
            let node = cluster
                .beside(Arc::new(Remembers(Arc::clone(&cluster.store), ahead)))
                .node("right")
                .await;
            // Nobody was refused yet, and no task has looked at the clock.
            let ready = node.ledger.ready();
            assert!(ready.ready && !ready.pools.ready, "{ready:?}");
            assert!(ready.pools.reasons[0].contains("not followed until"), "{ready:?}");
            tokio::time::sleep(CONFIRMED).await;
            let ready = node.ledger.ready();
            assert!(ready.pools.ready, "{ready:?}");
        });
    }
}

#[test]
fn a_worker_that_was_given_up_is_not_told_of_and_starts_do_not_wait_for_it() {
    in_paused_time(|| async {
        let cluster = around_memory().await;
        let machine = cluster.machine();
        machine.step(40 * YEAR_MS);
        let wrong = cluster.node_on("wrong", machine.clone()).await;
        let mut seen = Distinct::default();
        mint(&twitter(&wrong).await, &mut seen).await.unwrap();
        let worker = twitter(&wrong).await.info().worker.unwrap();
        machine.kill();
        let node = cluster.node("right").await;
        let pool = twitter(&node).await;
        assert!(mint(&pool, &mut seen).await.is_err());
        let found = tools::check_store(&*cluster.store, &On(cluster.machine()))
            .await
            .unwrap();
        assert!(
            found.findings[0].contains("a clock was wrong"),
            "{:?}",
            found.findings
        );
        pool.retire(worker).await.unwrap();
        let found = tools::check_store(&*cluster.store, &On(cluster.machine()))
            .await
            .unwrap();
        assert_eq!(found.findings, Vec::<String>::new());
        assert_eq!(
            pool.retire(77).await.unwrap_err().to_string(),
            "pool default has no window of worker 77"
        );
        // Another start has nothing to doubt.
        let later = cluster.node("later").await;
        let time = mint(&twitter(&later).await, &mut seen).await.unwrap();
        assert_near(time, &cluster);
        assert_eq!(later.ledger.ready().notes, Vec::<String>::new());
        let windows = pool.windows(worker, 1).await.unwrap();
        assert!(
            windows[0].until.unix_millis() > EPOCH_MS + 40 * YEAR_MS,
            "its end stays"
        );
    });
}

#[test]
fn when_a_wrong_clock_parked_all_workers_the_refusal_says_so_and_until_when() {
    in_paused_time(|| async {
        let cluster = around_memory().await;
        let machine = cluster.machine();
        machine.step(2 * HOUR_MS);
        let node = cluster.node_on("one", machine.clone()).await;
        let pool = pool(&node, "few", "time=41,worker=2,sequence=20;epoch=2026-01-01").await;
        let mut seen = Distinct::default();
        mint(&pool, &mut seen).await.unwrap();
        for _ in 0..3 {
            pool.lend("batch").await.unwrap();
        }
        machine.step(-2 * HOUR_MS);
        tokio::time::sleep(CONFIRMED).await;
        let refused = mint(&pool, &mut seen).await.unwrap_err().to_string();
        assert!(
            refused.contains("4 workers are parked at the latest until 2027-"),
            "{refused}"
        );
        assert!(refused.contains("another pool"), "{refused}");
        // They are free when that time has come, above what was minted in them.
        tokio::time::sleep(Duration::from_secs(2 * 3600 + 60)).await;
        for _ in 0..20 {
            assert_near(mint(&pool, &mut seen).await.unwrap(), &cluster);
            tokio::time::sleep(Duration::from_secs(7)).await;
        }
        assert_eq!(pool.count_held().await.map(|_| pool.parked()), Ok(None));
    });
}

// claim: P5
#[test]
fn nothing_repeats_when_the_wrong_time_comes_round() {
    in_paused_time(|| async {
        let cluster = around_memory().await;
        let machine = cluster.machine();
        let node = cluster.node_on("one", machine.clone()).await;
        let pool = pool(
            &node,
            "few",
            "time=32,worker=1,sequence=8;tick=1s;epoch=2026-01-01",
        )
        .await;
        let mut seen = Distinct::default();
        // Ahead and back, again and again: every stretch of time is walked twice and more.
        for round in 0..40 {
            machine.step(if round % 2 == 0 { 300_000 } else { -300_000 });
            for _ in 0..10 {
                let _ = mint(&pool, &mut seen).await;
                tokio::time::sleep(Duration::from_secs(20)).await;
            }
        }
        assert!(seen.len() > 1_000, "{}", seen.len());
    });
}
