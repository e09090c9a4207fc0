//! Pools over the memory store: several ledgers, successors, exhaustion.

use std::future::Future;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mintage::{ClockPolicy, Timestamp};
use mintage_ledger::*;
use mintage_testing::{Distinct, invariant, rising};

fn run<F: Future>(test: impl FnOnce(Arc<SystemRuntime>) -> F) -> F::Output {
    let tokio = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    tokio.block_on(async { test(SystemRuntime::new(tokio::runtime::Handle::current())).await })
}

async fn memory(runtime: Arc<dyn Runtime>) -> Arc<dyn Store> {
    open_store("memory:", &StoreSettings::default(), runtime)
        .await
        .unwrap()
}

/// A ledger on a store of its own.
async fn fresh(runtime: Arc<SystemRuntime>) -> Arc<Ledger> {
    Ledger::open(memory(runtime.clone()).await, LedgerSettings::default(), runtime)
        .await
        .unwrap()
}

async fn pool_on<R: Runtime>(store: &Arc<dyn Store>, runtime: &Arc<R>) -> (Arc<Ledger>, Arc<Pool>) {
    let ledger = Ledger::open(store.clone(), LedgerSettings::default(), runtime.clone())
        .await
        .unwrap();
    let pool = ledger
        .pool_or_default(&Name::new(DEFAULT_POOL).unwrap())
        .await
        .unwrap();
    (ledger, pool)
}

// claim: P11, P21
#[test]
fn ledgers_on_one_store_hold_different_workers() {
    run(|runtime| async move {
        let store = memory(runtime.clone()).await;
        let mut seen = Distinct::of("ids");
        let mut workers = Distinct::of("workers");
        let mut ledgers = Vec::new();
        for _ in 0..20 {
            let (ledger, pool) = pool_on(&store, &runtime).await;
            let mut ids = [0u64; 1000];
            pool.mint(&mut ids).await.unwrap();
            rising("ids", ids);
            seen.extend(ids);
            workers.add(pool.info().worker.unwrap());
            ledgers.push(ledger);
        }
    });
}

// claim: P21
#[test]
fn more_ids_than_a_second_has_wait_for_the_clock() {
    run(|runtime| async move {
        let store = memory(runtime.clone()).await;
        let (_ledger, pool) = pool_on(&store, &runtime).await;
        let mut ids = vec![0u64; 4096 * 1600];
        pool.mint(&mut ids).await.unwrap();
        rising("ids", ids);
    });
}

#[test]
fn an_unknown_pool_is_refused() {
    run(|runtime| async move {
        let ledger = fresh(runtime).await;
        let error = ledger
            .pool_or_default(&Name::new("eu").unwrap())
            .await
            .unwrap_err();
        assert_eq!(error.to_string(), "no pool eu");
    });
}

#[test]
fn a_worker_is_held_before_the_first_id_and_the_ids_carry_it() {
    run(|runtime| async move {
        let store = memory(runtime.clone()).await;
        let (ledger, pool) = pool_on(&store, &runtime).await;
        assert_eq!(pool.info().worker, None);
        let worker = pool.hold_worker().await.unwrap();
        let mut ids = [0; 4];
        pool.mint(&mut ids).await.unwrap();
        for id in ids {
            assert_eq!(pool.layout().unpack(id).unwrap().worker, worker);
        }
        ledger.close().await.unwrap();
        assert_eq!(pool.hold_worker().await, Err(LedgerError::Closing));
    });
}

#[test]
fn closing_ends_the_keeper() {
    run(|runtime| async move {
        let store = memory(runtime.clone()).await;
        let (ledger, pool) = pool_on(&store, &runtime).await;
        pool.mint(&mut [0; 4]).await.unwrap();
        ledger.close().await.unwrap();
        assert_eq!(pool.mint(&mut [0; 4]).await, Err(LedgerError::Closing));
    });
}

// claim: P11
#[test]
fn a_pool_of_uuid1_mints_over_several_ledgers() {
    run(|runtime| async move {
        let store = memory(runtime.clone()).await;
        let mut seen = Distinct::of("ids");
        let mut ledgers = Vec::new();
        for at in 0..5u8 {
            let ledger = Ledger::open(store.clone(), LedgerSettings::default(), runtime.clone())
                .await
                .unwrap();
            let kind = PoolKind::uuid1([at; 8]);
            let pool = ledger
                .create_pool(&Name::new("v1").unwrap(), kind.into())
                .await
                .unwrap();
            let mut uuids = [mintage::Uuid::nil(); 500];
            pool.mint_uuid1(&mut uuids).await.unwrap();
            let node = uuids[0].as_fields().3[2..].to_vec();
            assert_eq!(node[0] & 1, 1, "the multicast bit");
            for uuid in uuids {
                assert_eq!(
                    (uuid.get_version_num(), uuid.as_fields().3[2..].to_vec()),
                    (1, node.clone())
                );
                seen.add(uuid);
            }
            assert!(
                pool.mint(&mut [0]).await.is_err(),
                "snowflakes of a pool of UUIDs"
            );
            ledgers.push(ledger);
        }
    });
}

#[test]
fn a_pools_definition_is_kept() {
    run(|runtime| async move {
        let ledger = fresh(runtime).await;
        let layout = |bits| {
            let builder = mintage::Layout::builder("own")
                .time("t", 40)
                .worker("w", bits)
                .sequence("s", 10);
            PoolKind::Snowflake(Arc::new(builder.build().unwrap()))
        };
        let name = Name::new("own").unwrap();
        let two_seconds = Duration::from_secs(2);
        let own = |kind| PoolSpec {
            workers: WorkerChoice::default(),
            kind,
            window: Some(two_seconds),
            clock_policy: None,
        };
        ledger.create_pool(&name, own(layout(4))).await.unwrap();
        ledger.create_pool(&name, own(layout(4))).await.unwrap();
        let error = ledger.create_pool(&name, own(layout(5))).await.unwrap_err();
        assert_eq!(
            error.to_string(),
            "pool own exists with another definition: its layout is \
             time:t=40,worker:w=4,sequence:s=10;tick=1ms;epoch=0;start=zero;name=own, asked for was \
             time:t=40,worker:w=5,sequence:s=10;tick=1ms;epoch=0;start=zero;name=own"
        );
        let infos = ledger.pools(None, 10).await.unwrap();
        assert_eq!(
            (infos.len(), infos[0].workers, infos[0].window),
            (1, 16, two_seconds)
        );
    });
}

#[test]
fn a_layout_of_more_than_64_bits_makes_no_pool() {
    run(|runtime| async move {
        let ledger = fresh(runtime).await;
        let layout = mintage::preset("cosid-string").unwrap().layout();
        let kind = PoolKind::Snowflake(Arc::new(layout));
        let name = Name::new("wide").unwrap();
        let error = ledger.create_pool(&name, kind.into()).await.unwrap_err();
        let LedgerError::Invalid(why) = error else {
            panic!("{error}");
        };
        assert_eq!(
            why,
            "layout \"cosid-string\" takes 80 bits, and ids have at most 64 here; give it fewer, or mint its ids \
             without a pool, as mint snowflake --layout does"
        );
        assert!(ledger.pools(None, 10).await.unwrap().is_empty());
    });
}

#[test]
fn a_layout_that_can_only_be_read_makes_no_pool() {
    run(|runtime| async move {
        let ledger = fresh(runtime).await;
        let layout = mintage::preset("linkedin").unwrap().layout();
        let kind = PoolKind::Snowflake(Arc::new(layout));
        let name = Name::new("li").unwrap();
        let error = ledger.create_pool(&name, kind.into()).await.unwrap_err();
        assert!(
            matches!(&error, LedgerError::Invalid(why) if why.contains("can be read only") && why.contains("62 bits")),
            "{error}"
        );
        assert!(ledger.pools(None, 10).await.unwrap().is_empty());
    });
}

#[test]
fn workers_run_out_in_words_and_never_at_the_incumbents_cost() {
    run(|runtime| async move {
        let runtime = Moved::new(runtime);
        runtime.stand();
        let ledger = Ledger::open(memory(runtime.clone()).await, LedgerSettings::default(), runtime);
        let ledger = ledger.await.unwrap();
        let layout = mintage::Layout::builder("few")
            .time("t", 41)
            .worker("w", 2)
            .sequence("s", 10);
        let kind = PoolKind::Snowflake(Arc::new(layout.build().unwrap()));
        let window = Some(Duration::from_secs(600));
        let pool = ledger
            .create_pool(
                &Name::new("few").unwrap(),
                PoolSpec {
                    window,
                    ..PoolSpec::from(kind)
                },
            )
            .await
            .unwrap();
        let mut lent = Vec::new();
        for _ in 0..4 {
            lent.push(pool.lend("me").await.unwrap());
        }
        // Windows of the young are short: the next may begin a little ahead of its time, then no more.
        let fifth = pool.lend("me").await;
        if let Ok(fifth) = fifth {
            let before = lent.iter().find(|window| window.worker == fifth.worker).unwrap();
            assert_eq!(fifth.from_tick, before.until_tick);
        }
        let mut refused = None;
        for _ in 0..16 {
            refused = pool.lend("me").await.err().or(refused);
        }
        let text = refused.unwrap().to_string();
        assert!(
            text.starts_with("no free worker in pool few: all 4 are held or parked, the next is free in"),
            "{text}"
        );
    });
}

// claim: P12
#[test]
fn a_lent_window_is_renewed_by_its_version_only() {
    run(|runtime| async move {
        let runtime = Moved::new(runtime);
        runtime.stand();
        let store = memory(runtime.clone()).await;
        let (_ledger, pool) = pool_on(&store, &runtime).await;
        let lent = pool.lend("billing").await.unwrap();
        let renewed = pool
            .renew_lent(lent.worker, &lent.owner, lent.version, None)
            .await
            .unwrap();
        assert_eq!((renewed.worker, renewed.from_tick), (lent.worker, lent.from_tick));
        assert!(renewed.until_tick >= lent.until_tick && renewed.version == lent.version + 1);
        let stale = pool
            .renew_lent(lent.worker, &lent.owner, lent.version, None)
            .await;
        assert!(matches!(stale, Err(LedgerError::WindowLost { .. })));
        let stranger = pool
            .renew_lent(lent.worker, "somebody", renewed.version, None)
            .await;
        assert!(matches!(stranger, Err(LedgerError::WindowLost { .. })));
        let living = pool.release(lent.worker).await.unwrap_err().to_string();
        assert!(living.contains("it is free after that by itself"), "{living}");
        pool.end_lent(lent.worker, &renewed.owner, renewed.version)
            .await
            .unwrap();
        let ended = pool
            .renew_lent(lent.worker, &renewed.owner, renewed.version + 1, None)
            .await;
        assert!(matches!(ended, Err(LedgerError::WindowLost { .. })));
        let windows = pool.windows(0, 10).await.unwrap();
        assert_eq!(
            (windows.len(), windows[0].lasts, windows[0].name.as_str()),
            (1, false, "billing")
        );
    });
}

/// A runtime whose wall clock the test moves and whose time it lets stand, so that a machine which is busy for seconds
/// changes nothing; everything else is the system's.
#[derive(Debug)]
struct Moved {
    inner: Arc<SystemRuntime>,
    offset_ms: AtomicI64,
    stood: Mutex<Stood>,
}

#[derive(Debug, Default)]
struct Stood {
    /// Since when it stands, in the system's boot time.
    since: Option<Duration>,
    /// How long it has stood before.
    before: Duration,
}

impl Moved {
    fn new(inner: Arc<SystemRuntime>) -> Arc<Moved> {
        Arc::new(Moved {
            inner,
            offset_ms: AtomicI64::new(0),
            stood: Mutex::default(),
        })
    }

    fn stand(&self) {
        self.stood.lock().unwrap().since = Some(self.inner.boottime());
    }

    fn go_on(&self) {
        let lost = self.lost();
        *self.stood.lock().unwrap() = Stood {
            since: None,
            before: lost,
        };
    }

    /// How long it has stood, all in all.
    fn lost(&self) -> Duration {
        let stood = self.stood.lock().unwrap();
        let now = stood
            .since
            .map_or(Duration::ZERO, |since| self.inner.boottime() - since);
        stood.before + now
    }
}

impl Runtime for Moved {
    fn wall(&self) -> Timestamp {
        let ns =
            i128::from(self.offset_ms.load(Ordering::SeqCst)) * 1_000_000 - self.lost().as_nanos() as i128;
        Timestamp::from_unix_nanos(self.inner.wall().unix_nanos() + ns)
    }
    fn boottime(&self) -> Duration {
        self.inner.boottime() - self.lost()
    }
    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        self.inner.sleep(duration)
    }
    fn spawn(&self, task: BoxFuture<'static, ()>) {
        self.inner.spawn(task);
    }
    fn spawn_thread(&self, name: &str, work: Box<dyn FnOnce() + Send>) -> std::io::Result<()> {
        self.inner.spawn_thread(name, work)
    }
    fn fill_random(&self, out: &mut [u8]) {
        self.inner.fill_random(out);
    }
    fn clock_synchronised(&self) -> Option<bool> {
        Some(false)
    }
}

#[test]
fn a_pool_meets_a_clock_that_went_back_as_its_policy_says() {
    run(|system| async move {
        let runtime = Moved::new(system);
        let store = memory(runtime.clone()).await;
        let settings = LedgerSettings {
            clock_policy: ClockPolicy::Error,
            ..LedgerSettings::default()
        };
        let ledger = Ledger::open(store, settings, runtime.clone()).await.unwrap();
        let pool = async |name: &str, preset: &str, policy: Option<ClockPolicy>| {
            let kind = PoolKind::Snowflake(Arc::new(mintage::preset(preset).unwrap().layout()));
            let spec = PoolSpec {
                clock_policy: policy,
                ..PoolSpec::from(kind)
            };
            ledger.create_pool(&Name::new(name).unwrap(), spec).await
        };
        let hold = pool("hold", "twitter", Some(ClockPolicy::Hold)).await.unwrap();
        let error = pool("error", "twitter", None).await.unwrap();
        let wait = ClockPolicy::Wait {
            max: Duration::from_secs(60),
        };
        let wait = pool("wait", "twitter", Some(wait)).await.unwrap();
        let bump = pool("bump", "rollback2", Some(ClockPolicy::Bump)).await.unwrap();
        let refused = pool("no", "twitter", Some(ClockPolicy::Bump)).await.unwrap_err();
        assert!(refused.to_string().contains("rollback field"), "{refused}");
        assert_eq!(
            error.info().clock_policy,
            ClockPolicy::Error,
            "as the ledger is set"
        );

        runtime.stand();
        let mut ids = [0; 10];
        for pool in [&error, &wait, &bump, &hold] {
            pool.mint(&mut ids).await.unwrap();
        }
        let before = ids;
        runtime.offset_ms.store(-100, Ordering::SeqCst);
        let refused = error.mint(&mut ids).await.unwrap_err();
        assert!(matches!(refused, LedgerError::ClockBack { .. }), "{refused}");
        hold.mint(&mut ids).await.unwrap();
        // Held: the step is within max_ahead.
        invariant!(ids > before, "{ids:?} after {before:?}");
        // The clock catches up within what the policy waits, and with where the window begins.
        runtime.go_on();
        wait.mint(&mut ids).await.unwrap();
        bump.mint(&mut ids).await.unwrap();
        // An hour is beyond waiting; and back again everything goes on.
        runtime.offset_ms.store(-3_600_000, Ordering::SeqCst);
        let refused = wait.mint(&mut ids).await.unwrap_err();
        assert!(matches!(refused, LedgerError::ClockBack { .. }), "{refused}");
        runtime.offset_ms.store(0, Ordering::SeqCst);
        for pool in [&hold, &error, &wait, &bump] {
            pool.mint(&mut ids).await.unwrap();
        }
    });
}

fn layout(workers: u32) -> PoolSpec {
    let layout = mintage::Layout::builder("own")
        .time("t", 41)
        .worker("w", workers)
        .sequence("s", 10);
    PoolKind::Snowflake(Arc::new(layout.build().unwrap())).into()
}

fn named(name: &str) -> Name {
    Name::new(name).unwrap()
}

// claim: P15
#[test]
fn a_pool_is_not_dropped_while_a_window_of_it_lasts() {
    run(|runtime| async move {
        let runtime = Moved::new(runtime);
        runtime.stand();
        let store = memory(runtime.clone()).await;
        let open = async || {
            Ledger::open(store.clone(), LedgerSettings::default(), runtime.clone())
                .await
                .unwrap()
        };
        let name = named("eu");
        let first = open().await;
        let pool = first.create_pool(&name, layout(2)).await.unwrap();
        let mut before = [0; 100];
        pool.mint(&mut before).await.unwrap();
        // It was in use a moment ago.
        let error = first.drop_pool(&name).await.unwrap_err();
        assert!(matches!(error, LedgerError::PoolInUse { .. }), "{error}");
        pool.mint(&mut [0; 1]).await.unwrap();
        // The window of a process that stopped without a word lasts; the store is shared, as far as this one knows.
        let second = open().await;
        let error = second.drop_pool(&name).await.unwrap_err();
        assert!(error.to_string().contains("is held by"), "{error}");
        first.close().await.unwrap();
        assert!(
            second
                .pools(None, 10)
                .await
                .unwrap()
                .iter()
                .any(|info| info.name == name)
        );
    });
}

/// A misspelt pool stayed for ever.
// claim: P15
#[test]
fn a_dropped_pool_is_gone_and_made_again_it_repeats_nothing() {
    run(|runtime| async move {
        let runtime = Moved::new(runtime);
        let folder = tempfile::tempdir().unwrap();
        let url = format!("file:{}", folder.path().join("data").display());
        let open = async || {
            let store = open_store(&url, &StoreSettings::default(), runtime.clone())
                .await
                .unwrap();
            Ledger::open(store, LedgerSettings::default(), runtime.clone())
                .await
                .unwrap()
        };
        let (name, uuids) = (named("eu"), named("v1"));
        let ledger = open().await;
        let pool = ledger.create_pool(&name, layout(1)).await.unwrap();
        let mut ids = [0; 100];
        pool.mint(&mut ids).await.unwrap();
        let v1 = ledger
            .create_pool(&uuids, PoolKind::uuid1([7; 8]).into())
            .await
            .unwrap();
        let node = v1.kind().clone();
        // A window that was lent and given up is nobody's; one that was not is.
        runtime.stand();
        let lent = v1.lend("billing").await.unwrap();
        let error = ledger.drop_pool(&uuids).await.unwrap_err();
        assert!(error.to_string().contains("is held by billing until"), "{error}");
        runtime.go_on();
        v1.end_lent(lent.worker, &lent.owner, lent.version).await.unwrap();
        ledger.drop_pool(&uuids).await.unwrap();
        ledger.close().await.unwrap();

        let ledger = open().await;
        ledger.drop_pool(&name).await.unwrap();
        assert_eq!(
            ledger.drop_pool(&name).await,
            Err(LedgerError::NoPool { name: name.clone() })
        );
        let found = ledger.pool_or_default(&name).await;
        assert!(matches!(found, Err(LedgerError::NoPool { .. })), "{found:?}");
        assert_eq!(ledger.pools(None, 10).await.unwrap(), []);
        let error = ledger.create_pool(&name, layout(2)).await.unwrap_err();
        assert!(matches!(error, LedgerError::PoolDropped { .. }), "{error}");
        let windowed = PoolSpec {
            window: Some(Duration::from_secs(30)),
            ..layout(1)
        };
        let pool = ledger.create_pool(&name, windowed).await.unwrap();
        assert_eq!(pool.info().window, Duration::from_secs(30));
        let mut again = [0; 1000];
        pool.mint(&mut again).await.unwrap();
        invariant!(again[0] > ids[99], "{} after {}", again[0], ids[99]);
        // Its node is the one whose clock sequences are known.
        let v1 = ledger
            .create_pool(&uuids, PoolKind::uuid1([9; 8]).into())
            .await
            .unwrap();
        assert_eq!(v1.kind(), &node);
        // The pools that are made by their first use are not, once they were dropped by hand.
        let default = named(DEFAULT_POOL);
        ledger.pool_or_default(&default).await.unwrap();
        ledger.drop_pool(&default).await.unwrap();
        assert!(ledger.pool_or_default(&default).await.is_err());
        let twitter = PoolKind::Snowflake(Arc::new(mintage::preset("twitter").unwrap().layout()));
        ledger
            .create_pool(&default, twitter.into())
            .await
            .unwrap()
            .mint(&mut [0; 5])
            .await
            .unwrap();
        ledger.close().await.unwrap();
    });
}

/// Others have the pool loaded: they find out when they want a window.
#[test]
fn nobody_takes_a_window_of_a_pool_that_another_process_dropped() {
    run(|runtime| async move {
        let store = memory(runtime.clone()).await;
        let open = async || {
            Ledger::open(store.clone(), LedgerSettings::default(), runtime.clone())
                .await
                .unwrap()
        };
        let (one, other, name) = (open().await, open().await, named("eu"));
        one.create_pool(&name, layout(2)).await.unwrap();
        let loaded = other.pool_or_default(&name).await.unwrap();
        one.drop_pool(&name).await.unwrap();
        assert_eq!(
            loaded.mint(&mut [0; 1]).await,
            Err(LedgerError::NoPool { name: name.clone() })
        );
        // Asked again it says so again, and does not wait for a keeper that has ended.
        assert_eq!(
            loaded.mint(&mut [0; 1]).await,
            Err(LedgerError::NoPool { name: name.clone() })
        );
        assert!(loaded.lend("x").await.is_err() && other.existing_pool(&name).await.is_err());
        assert!(other.pool_or_default(&name).await.is_err());
        one.create_pool(&name, layout(2))
            .await
            .unwrap()
            .mint(&mut [0; 5])
            .await
            .unwrap();
        other
            .pool_or_default(&name)
            .await
            .unwrap()
            .mint(&mut [0; 5])
            .await
            .unwrap();
    });
}
