//! Several processes on one shared store: they see each other's changes, share its workers, and agree on the time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use mintage::{Base, Layout};
use mintage_ledger::*;
use mintage_testing::{Distinct, invariant};
use tokio::time::{Instant, sleep};

use crate::machines::{Clocked, Cluster, Node, in_paused_time, true_now};

const SECOND: Duration = Duration::from_secs(1);

fn shared() -> Arc<dyn Store> {
    MemoryStore::shared(1)
}

fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}

async fn take(node: &Node, sequence: &str) -> i64 {
    let sequence = node.ledger.sequence_or_create(&name(sequence)).await.unwrap();
    sequence.take(1).await.unwrap().first
}

/// A pool with few workers and short windows.
fn small_pool(worker_bits: u32, window: Duration) -> PoolSpec {
    let layout = Layout::builder("small")
        .time("t", 42)
        .worker("w", worker_bits)
        .sequence("s", 8)
        .build()
        .unwrap();
    PoolSpec {
        window: Some(window),
        ..PoolKind::Snowflake(Arc::new(layout)).into()
    }
}

async fn mint(pool: &Arc<Pool>, n: usize) -> Result<Vec<u64>, LedgerError> {
    let mut ids = vec![0; n];
    pool.mint(&mut ids).await.map(|()| ids)
}

// claim: P8
#[test]
fn a_change_on_one_node_is_followed_by_all_within_a_second() {
    in_paused_time(|| async {
        let cluster = Cluster::new(shared());
        let (a, b, c) = (
            cluster.node("a").await,
            cluster.node("b").await,
            cluster.node("c").await,
        );
        for _ in 0..100 {
            for node in [&a, &b, &c] {
                take(node, "orders").await;
            }
        }
        sleep(3 * SECOND).await;
        let to = Base {
            value: 1_000_000,
            is_called: true,
        };
        let begun = Instant::now();
        a.ledger.set(&name("orders"), to).await.unwrap();
        assert_eq!(
            a.ledger.followed_by_all(&name("orders")).await,
            Vec::<String>::new()
        );
        assert!(begun.elapsed() < SECOND, "{:?}", begun.elapsed());
        for node in [&a, &b, &c] {
            // From memory too: no number of the old definition is left anywhere.
            let number = take(node, "orders").await;
            invariant!(number > 1_000_000, "{number} of the old definition");
            assert!(node.ledger.show(&name("orders")).await.unwrap().last.unwrap() > 1_000_000);
        }
    });
}

// claim: P8
#[test]
fn who_is_killed_is_not_waited_for_and_who_lives_and_does_not_follow_is_named() {
    in_paused_time(|| async {
        let cluster = Cluster::new(shared());
        let (a, b) = (cluster.node("a").await, cluster.node("b").await);
        take(&a, "orders").await;
        sleep(2 * SECOND).await;
        b.machine.kill();
        let begun = Instant::now();
        let changed = a
            .ledger
            .restart(
                &name("orders"),
                Base {
                    value: 500,
                    is_called: false,
                },
                false,
            )
            .await
            .unwrap();
        assert_eq!(changed.pending, Vec::<String>::new());
        assert!(
            begun.elapsed() < Duration::from_millis(3_500),
            "{:?}",
            begun.elapsed()
        );
        cluster.stubborn();
        sleep(2 * SECOND).await;
        let changed = a
            .ledger
            .alter(&name("orders"), &SequencePatch::default())
            .await
            .unwrap();
        assert_eq!(changed.pending, ["stubborn"]);
    });
}

#[test]
fn losing_the_register_drops_all_that_was_held() {
    in_paused_time(|| async {
        let cluster = Cluster::new(shared());
        let a = cluster.node("a").await;
        let pool = a.ledger.pool_or_default(&name(DEFAULT_POOL)).await.unwrap();
        for _ in 0..1000 {
            take(&a, "orders").await;
        }
        let held = a.ledger.show(&name("orders")).await.unwrap().unused;
        assert!(held > 0);
        mint(&pool, 10).await.unwrap();
        let worker = pool.info().worker.unwrap();
        sleep(SECOND).await;
        let prefix = Key::new("instance/").unwrap();
        let registers = cluster.store.scan(&prefix, None, 10).await.unwrap();
        assert_eq!(registers.len(), 1);
        let (key, found) = &registers[0];
        assert_eq!(
            cluster.store.remove(key, found.version).await.unwrap(),
            Cas::Done(found.version)
        );
        let before = take(&a, "orders").await;
        sleep(2 * SECOND).await;
        let after = take(&a, "orders").await;
        invariant!(
            after > before + i64::try_from(held).unwrap() / 2,
            "{before} {after}: stock went on"
        );
        mint(&pool, 10).await.unwrap();
        assert_ne!(pool.info().worker.unwrap(), worker, "another window");
        let registers = cluster.store.scan(&prefix, None, 10).await.unwrap();
        assert_eq!(registers.len(), 1);
        assert_ne!(registers[0].0, *key, "another identity");
    });
}

#[test]
fn a_clean_stop_removes_the_register() {
    in_paused_time(|| async {
        let cluster = Cluster::new(shared());
        let (a, b) = (cluster.node("a").await, cluster.node("b").await);
        sleep(2 * SECOND).await;
        a.ledger.close().await.unwrap();
        let prefix = Key::new("instance/").unwrap();
        assert_eq!(cluster.store.scan(&prefix, None, 10).await.unwrap().len(), 1);
        drop(b);
    });
}

#[test]
fn a_node_far_ahead_uses_the_time_of_the_others_and_poisons_nothing() {
    in_paused_time(|| async {
        let cluster = Cluster::new(shared());
        let (_a, _b) = (cluster.node("a").await, cluster.node("b").await);
        sleep(3 * SECOND).await;
        let machine = cluster.machine();
        machine.step(3_600_000);
        let ahead = cluster.node_on("ahead", machine).await;
        sleep(3 * SECOND).await;
        let pool = ahead.ledger.pool_or_default(&name(DEFAULT_POOL)).await.unwrap();
        // The store has no clock; the two others agree, and outvote it.
        let ids = mint(&pool, 10).await.unwrap();
        assert_right(&pool, ids[0], &cluster);
        assert!(ahead.ledger.ready().ready, "{:?}", ahead.ledger.ready());
        let furthest = true_now(cluster.start).saturating_add(Duration::from_secs(600 + 60));
        for end in windows_end(&cluster, "default").await {
            assert!(pool.layout().time_of(end) <= furthest);
        }
    });
}

#[test]
fn two_nodes_that_disagree_mint_nothing_with_a_time_until_one_is_set() {
    in_paused_time(|| async {
        let cluster = Cluster::new(shared());
        let right = cluster.node("right").await;
        sleep(3 * SECOND).await;
        let machine = cluster.machine();
        machine.step(3_600_000);
        let ahead = cluster.node_on("ahead", machine).await;
        sleep(3 * SECOND).await;
        for node in [&right, &ahead] {
            let pool = node.ledger.pool_or_default(&name(DEFAULT_POOL)).await.unwrap();
            let error = mint(&pool, 10).await.unwrap_err().to_string();
            assert!(error.contains("no two clocks agree within 5 s"), "{error}");
            let ready = node.ledger.ready();
            assert!(
                !ready.pools.ready && ready.pools.reasons[0].contains("no two clocks agree"),
                "{ready:?}"
            );
            assert!(
                ready.ready && ready.sequences.ready,
                "numbers carry no time: {ready:?}"
            );
        }
        assert!(windows_end(&cluster, "default").await.is_empty());
        ahead.machine.step(-3_600_000);
        sleep(3 * SECOND).await;
        for node in [&right, &ahead] {
            let pool = node.ledger.pool_or_default(&name(DEFAULT_POOL)).await.unwrap();
            let ids = mint(&pool, 10).await.unwrap();
            assert_right(&pool, ids[0], &cluster);
        }
    });
}

/// That an id is of now, within a second.
fn assert_right(pool: &Arc<Pool>, id: u64, cluster: &Cluster) {
    let time = pool.layout().time_of(id >> 22).unix_millis();
    let off_ms = time - true_now(cluster.start).unix_millis();
    assert!(off_ms.abs() < 1_000, "{off_ms} ms off");
}

async fn windows_end(cluster: &Cluster, pool: &str) -> Vec<u64> {
    let prefix = Key::new(format!("window/{pool}/")).unwrap();
    let found = cluster.store.scan(&prefix, None, 1000).await.unwrap();
    found.into_iter().map(|(_, found)| found.value.mark).collect()
}

#[test]
fn with_a_clock_in_the_store_the_wrong_clock_is_outvoted() {
    in_paused_time(|| async {
        let clocked = Arc::new(Clocked {
            inner: shared(),
            start: Instant::now(),
            off_ms: AtomicI64::new(0),
        });
        let cluster = Cluster::new(clocked.clone());
        // Alone with a store that disagrees: refused, whoever is wrong.
        let machine = cluster.machine();
        machine.step(3_600_000);
        let ahead = cluster.node_on("ahead", machine).await;
        let pool = ahead.ledger.pool_or_default(&name(DEFAULT_POOL)).await.unwrap();
        let error = mint(&pool, 10).await.unwrap_err().to_string();
        assert!(
            error.contains("the store's clock is 3600 s behind this machine's"),
            "{error}"
        );
        // With others, the store and they outvote it: its ids carry the right time.
        let (_a, _b) = (cluster.node("a").await, cluster.node("b").await);
        sleep(10 * SECOND).await;
        let ids = mint(&pool, 10).await.unwrap();
        let off = pool
            .layout()
            .time_of(ids[0] >> 22)
            .since(true_now(cluster.start))
            .as_secs_f64();
        assert!(off.abs() < 1.0, "{off} s off");
        let furthest = true_now(cluster.start).saturating_add(Duration::from_secs(600 + 60));
        for end in windows_end(&cluster, "default").await {
            assert!(pool.layout().time_of(end) <= furthest);
        }
        // The store's own clock breaks: own and others still agree.
        let b = cluster.node("b2").await;
        clocked.off_ms.store(-7_200_000, Ordering::SeqCst);
        ahead.machine.step(-3_600_000);
        sleep(5 * SECOND).await;
        let pool = b.ledger.pool_or_default(&name(DEFAULT_POOL)).await.unwrap();
        mint(&pool, 10).await.unwrap();
    });
}

// claim: P5
#[test]
fn steps_of_hours_while_running_cost_nothing() {
    in_paused_time(|| async {
        let cluster = Cluster::new(shared());
        let nodes = [
            cluster.node("a").await,
            cluster.node("b").await,
            cluster.node("c").await,
        ];
        let mut seen = Distinct::of("ids");
        let mut pools = Vec::new();
        for node in &nodes {
            pools.push(node.ledger.pool_or_default(&name(DEFAULT_POOL)).await.unwrap());
        }
        for round in 0..120i64 {
            if round % 20 == 10 {
                let hours = if round % 40 == 10 { 5 } else { -7 };
                nodes[(round as usize / 20) % 3].machine.step(hours * 3_600_000);
            }
            for pool in &pools {
                seen.extend(mint(pool, 50).await.unwrap());
            }
            sleep(SECOND).await;
        }
        for node in &nodes {
            assert!(node.ledger.clock().report().steps > 0, "the step was seen");
        }
    });
}

/// Servers on a store without a clock whose machines came up with wrong clocks, each by so much, which are set right
/// later: all go on with the right time, and no dispute remains.
#[test]
fn clocks_that_began_wrong_and_were_set_right_are_right_for_all() {
    const HOUR_MS: i64 = 3_600_000;
    for wrong_ms in [
        &[5 * HOUR_MS, 5 * HOUR_MS][..],
        &[-5 * HOUR_MS, -5 * HOUR_MS],
        &[5 * HOUR_MS, 2 * HOUR_MS],
        &[35_000, -5_300],
        &[0, 35_000],
        &[5 * HOUR_MS, 2 * HOUR_MS, -HOUR_MS],
    ] {
        in_paused_time(|| async move {
            let cluster = Cluster::new(shared());
            let mut nodes = Vec::new();
            for (at, wrong_ms) in wrong_ms.iter().enumerate() {
                let machine = cluster.machine();
                machine.step(*wrong_ms);
                nodes.push(cluster.node_on(&format!("n{at}"), machine).await);
            }
            let mut seen = Distinct::of(format_args!("{wrong_ms:?}"));
            let mut mint_all = async |must: bool| {
                for node in &nodes {
                    let pool = node.ledger.pool_or_default(&name(DEFAULT_POOL)).await.unwrap();
                    let ids = match mint(&pool, 50).await {
                        Ok(ids) => ids,
                        Err(error) if must => panic!("{wrong_ms:?}: {error}"),
                        Err(_) => continue,
                    };
                    seen.extend(ids.iter().copied());
                    if must {
                        let time = pool.layout().time_of(ids[0] >> 22);
                        let off_s = time.since(true_now(cluster.start)).as_secs_f64();
                        assert!(off_s.abs() < 1.0, "{wrong_ms:?}: {off_s} s off");
                        assert!(node.ledger.ready().ready, "{:?}", node.ledger.ready());
                    }
                }
            };
            for _ in 0..20 {
                mint_all(false).await;
                sleep(SECOND).await;
            }
            for (node, wrong_ms) in nodes.iter().zip(wrong_ms) {
                node.machine.step(-wrong_ms);
            }
            // Two sources agree as soon as each has heard of the other.
            sleep(10 * SECOND).await;
            for _ in 0..100 {
                mint_all(true).await;
                sleep(7 * SECOND).await;
            }
        });
    }
}

// claim: P61, P62
#[test]
fn exhaustion_refuses_the_newcomer_in_words_and_never_the_incumbent() {
    in_paused_time(|| async {
        let cluster = Cluster::new(shared());
        let mut nodes = Vec::new();
        let mut workers = Distinct::of("workers");
        let mut seen = Distinct::of("ids");
        for n in 0..4 {
            let node = cluster.node(&format!("n{n}")).await;
            let pool = node
                .ledger
                .create_pool(&name("small"), small_pool(2, 2 * SECOND))
                .await
                .unwrap();
            seen.extend(mint(&pool, 10).await.unwrap());
            workers.add(pool.info().worker.unwrap());
            nodes.push((node, pool));
        }
        let late = cluster.node("late").await;
        let late_pool = late
            .ledger
            .create_pool(&name("small"), small_pool(2, 2 * SECOND))
            .await
            .unwrap();
        for _ in 0..10 {
            let error = mint(&late_pool, 1).await.unwrap_err();
            let LedgerError::Unavailable {
                message,
                retry_after_s,
            } = error
            else {
                panic!("{error}")
            };
            assert!(message.contains("all 4 are held or parked"), "{message}");
            assert!((1..=3).contains(&retry_after_s), "{retry_after_s}");
            for (_, pool) in &nodes {
                seen.extend(mint(pool, 10).await.unwrap());
            }
            sleep(SECOND).await;
        }
        // One dies: its worker is free when its window has passed, and no later.
        let (dead, dead_pool) = nodes.pop().unwrap();
        let died = Instant::now();
        dead.machine.kill();
        loop {
            match mint(&late_pool, 10).await {
                Ok(ids) => {
                    seen.extend(ids);
                    break;
                }
                Err(_) => sleep(Duration::from_millis(50)).await,
            }
        }
        assert_eq!(
            late_pool.info().worker,
            dead_pool.info().worker,
            "the worker is used again"
        );
        assert!(died.elapsed() < 4 * SECOND, "{:?}", died.elapsed());
    });
}

// claim: P4, P12
#[test]
fn a_stopped_holder_wakes_beside_its_successor_and_repeats_nothing() {
    in_paused_time(|| async {
        let cluster = Cluster::new(shared());
        let spec = || small_pool(1, 2 * SECOND);
        let (a, b) = (cluster.node("a").await, cluster.node("b").await);
        let pool_a = a.ledger.create_pool(&name("two"), spec()).await.unwrap();
        let pool_b = b.ledger.create_pool(&name("two"), spec()).await.unwrap();
        let mut seen = Distinct::of("ids");
        seen.extend(mint(&pool_a, 10).await.unwrap());
        seen.extend(mint(&pool_b, 10).await.unwrap());
        sleep(5 * SECOND).await;
        let worker = pool_a.info().worker;
        a.machine.stop();
        sleep(4 * SECOND).await;
        let c = cluster.node("c").await;
        let pool_c = c.ledger.create_pool(&name("two"), spec()).await.unwrap();
        seen.extend(mint(&pool_c, 10).await.unwrap());
        assert_eq!(pool_c.info().worker, worker, "taken over");
        a.machine.go_on();
        // At once, before it knows anything: its own window has passed.
        for _ in 0..200 {
            let mut ids = [0; 10];
            for pool in [&pool_a, &pool_b, &pool_c] {
                if let Ok(minted) = pool.try_mint(&mut ids) {
                    seen.extend(ids[..minted].iter().copied());
                }
            }
            sleep(Duration::from_millis(20)).await;
        }
    });
}

// claim: P62
#[test]
fn nobody_waits_for_a_parked_worker_while_a_free_one_exists() {
    in_paused_time(|| async {
        let cluster = Cluster::new(shared());
        // 4,096 workers, all parked but one that has passed: more than any page or any handful of draws shows.
        let spec = small_pool(12, 60 * SECOND);
        let a = cluster.node("a").await;
        let pool = a.ledger.create_pool(&name("wide"), spec).await.unwrap();
        let now = pool.layout().tick_at(true_now(cluster.start)).unwrap();
        let free = 2_777u64;
        for worker in 0..4_096u64 {
            let body = format!(
                r#"{{"owner":"x","from":1,"layout":{:?},"wall_ms":1800000000000}}"#,
                pool.layout().fingerprint()
            );
            let key = Key::new(format!("window/wide/{worker:010}")).unwrap();
            let mark = if worker == free { now - 1 } else { now + 1_000_000 };
            let value = Value { mark, token: 1, body };
            cluster
                .store
                .compare_and_set(&key, None, value, Marks::NeverLower)
                .await
                .unwrap();
        }
        mint(&pool, 1).await.unwrap();
        assert_eq!(pool.info().worker, Some(free));
    });
}

/// A store whose next write of a sequence's record lands, and nobody hears of it; all its answers take a while.
#[derive(Debug)]
struct Unheard {
    inner: Arc<dyn Store>,
    next: AtomicBool,
}

impl Store for Unheard {
    delegate_store!(inner, but get compare_and_set claim exclusive);

    fn get<'a>(&'a self, key: &'a Key) -> StoreResult<'a, Option<Versioned>> {
        Box::pin(async move {
            sleep(Duration::from_millis(10)).await;
            self.inner.get(key).await
        })
    }

    fn compare_and_set<'a>(
        &'a self,
        key: &'a Key,
        expected: Option<Version>,
        new: Value,
        marks: Marks,
    ) -> StoreResult<'a, Cas> {
        Box::pin(async move {
            sleep(Duration::from_millis(10)).await;
            let done = self.inner.compare_and_set(key, expected, new, marks).await;
            if key.as_str().starts_with("seq/") && self.next.swap(false, Ordering::SeqCst) {
                let why = "the connection broke".to_string();
                return Err(StoreError::new(
                    StoreErrorKind::Unavailable,
                    Outcome::Unknown,
                    why,
                ));
            }
            done
        })
    }
}

/// Gap-free: a claim that landed unheard, then numbers of another server, then a longer run beside single takes. The
/// numbers that no run can be made of go to those who wait, and no hole is left.
// claim: P24
#[test]
fn what_landed_unheard_goes_to_those_who_wait_beside_a_longer_run() {
    in_paused_time(|| async {
        let memory = shared();
        let unheard = Arc::new(Unheard {
            inner: memory.clone(),
            next: AtomicBool::new(false),
        });
        let cluster = Cluster::new(memory);
        let (a, b) = (
            cluster.beside(unheard.clone()).node("a").await,
            cluster.node("b").await,
        );
        let spec = SequenceSpec {
            gap: Gap::None,
            ..SequenceSpec::default()
        };
        a.ledger.create(&name("bills"), &spec).await.unwrap();
        let bills = a.ledger.sequence_or_create(&name("bills")).await.unwrap();
        assert_eq!(bills.take(1).await.unwrap().first, 1);
        unheard.next.store(true, Ordering::SeqCst);
        assert!(bills.take(3).await.is_err(), "2, 3 and 4 landed");
        assert_eq!(take(&b, "bills").await, 5);
        sleep(SECOND).await;
        // The first is under way while the others come to wait together, the run before the single ones.
        let (first, run, one, other) = tokio::join!(
            bills.take(1),
            bills.take_contiguous(10),
            bills.take(1),
            bills.take(1)
        );
        let single = [first, one, other].map(|run| run.unwrap().first);
        assert_eq!(single, [2, 3, 4]);
        assert!(run.unwrap().into_iter().eq(6..16));
        assert_eq!(take(&b, "bills").await, 16);
    });
}

/// A sequence that had ended left the metrics once it was idle, so that its alert went away while nothing was solved.
#[test]
fn a_sequence_that_has_ended_is_told_of_though_nobody_uses_it_until_it_goes_on() {
    in_paused_time(|| async {
        let cluster = Cluster::new(shared());
        let node = cluster.node("a").await;
        let up_to = |max| mintage::SequenceOptions {
            max: Some(max),
            ..Default::default()
        };
        let spec = SequenceSpec {
            options: up_to(2),
            ..SequenceSpec::default()
        };
        for few in ["few", "other"] {
            node.ledger.create(&name(few), &spec).await.unwrap();
            let sequence = node.ledger.existing(&name(few)).await.unwrap();
            while sequence.take(1).await.is_ok() {}
        }
        take(&node, "orders").await;
        let ended = || {
            let ends = node.ledger.survey(10).sequence_ends;
            let ended = ends
                .into_iter()
                .filter(|(_, forecast)| forecast.endings.iter().any(|end| end.left.is_zero()));
            ended.map(|(name, _)| name.to_string()).collect::<Vec<_>>()
        };
        for minutes in [0, 2, 20, 200] {
            sleep(minutes * 60 * SECOND + 2 * SECOND).await;
            assert_eq!(ended(), ["few", "other"], "after {minutes} minutes");
            // It is no fault of the store, and takes nothing away.
            let ready = node.ledger.ready();
            assert!(ready.ready && ready.sequences.reasons.is_empty(), "{ready:?}");
        }
        let patch = SequencePatch {
            options: up_to(1000),
            ..SequencePatch::default()
        };
        node.ledger.alter(&name("few"), &patch).await.unwrap();
        node.ledger.drop_sequence(&name("other")).await.unwrap();
        assert_eq!(ended(), Vec::<String>::new());
    });
}
