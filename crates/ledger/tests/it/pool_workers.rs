//! Pools beside the living workers of another system: none of those is ever chosen, however and by whomever a worker is
//! asked for.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::Mutex;
use std::time::Duration;

use mintage::{Layout, Timestamp};
use mintage_ledger::*;
use mintage_testing::{Distinct, invariant};
use tokio::sync::Notify;
use tokio::time::sleep;

use crate::machines::{Cluster, in_paused_time, true_now};

const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3600);

fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}

fn workers(text: &str) -> WorkerRanges {
    text.parse().unwrap()
}

/// A pool of 2^bits workers that may choose those `within` and none to `avoid`; windows of two seconds.
fn spec(bits: u32, within: &str, avoid: &str) -> PoolSpec {
    let layout = Layout::builder("own")
        .time("t", 40)
        .worker("w", bits)
        .sequence("s", 63 - 40 - bits)
        .epoch(Timestamp::from_unix_millis(1_700_000_000_000));
    PoolSpec {
        window: Some(2 * SECOND),
        workers: WorkerChoice {
            within: Some(workers(within)).filter(|within| !within.is_empty()),
            avoid: workers(avoid),
            avoid_from: None,
        },
        ..PoolKind::Snowflake(Arc::new(layout.build().unwrap())).into()
    }
}

fn add(text: &str) -> AvoidChange {
    AvoidChange {
        add: workers(text),
        ..AvoidChange::default()
    }
}

fn remove(text: &str, proof: Option<OffProof>) -> AvoidChange {
    AvoidChange {
        remove: workers(text),
        proof,
        ..AvoidChange::default()
    }
}

/// Every worker that is lent until there is none left, and what is said then.
async fn lend_all(pool: &Arc<Pool>) -> (BTreeSet<u64>, String) {
    let mut lent = BTreeSet::new();
    loop {
        match pool.lend("test").await {
            Ok(window) => invariant!(lent.insert(window.worker), "{} twice", window.worker),
            Err(error) => return (lent, error.to_string()),
        }
    }
}

// claim: P14
#[test]
fn of_1024_workers_every_one_is_lent_but_those_to_avoid() {
    in_paused_time(|| async {
        let cluster = Cluster::new(MemoryStore::shared(1));
        let node = cluster.node("a").await;
        let spec = PoolSpec {
            window: Some(600 * SECOND),
            ..spec(10, "0-1000", "3,17,20-31")
        };
        let pool = node.ledger.create_pool(&name("eu"), spec).await.unwrap();
        let (lent, error) = lend_all(&pool).await;
        let wanted = workers("0-2,4-16,18-19,32-1000");
        assert_eq!(WorkerRanges::of(lent), wanted);
        assert!(error.contains("all 987 are held or parked"), "{error}");
        let info = pool.info();
        assert_eq!((info.workers, info.usable), (1024, 987));
    });
}

#[test]
fn few_workers_among_millions_are_found() {
    in_paused_time(|| async {
        let cluster = Cluster::new(MemoryStore::shared(1));
        let node = cluster.node("a").await;
        let only = "7,1000000,4194301-4194303";
        for (pool, spec) in [
            ("within", spec(22, only, "")),
            ("avoid", spec(22, "", "0-6,8-999999,1000001-4194300")),
        ] {
            let pool = node.ledger.create_pool(&name(pool), spec).await.unwrap();
            let (lent, _) = lend_all(&pool).await;
            assert_eq!(WorkerRanges::of(lent), workers(only));
            // Once they have passed, they are taken again: no other is.
            sleep(10 * SECOND).await;
            assert_eq!(WorkerRanges::of(lend_all(&pool).await.0), workers(only));
        }
    });
}

/// Of one layout and epoch each pool chooses for itself, and two that may choose the same worker make equal ids now and then.
// claim: P13
#[test]
fn pools_that_may_choose_no_worker_in_common_make_no_id_in_common() {
    in_paused_time(|| async {
        let cluster = Cluster::new(MemoryStore::shared(1));
        let mut seen = Distinct::of("ids of both pools");
        let mut pools = Vec::new();
        // As many servers as either pool has workers, so that each of them is used, all in the same ticks.
        for at in 0..4 {
            let node = cluster.node(&format!("n{at}")).await;
            for (text, within) in [("low", "0-3"), ("high", "4-7")] {
                let pool = node.ledger.create_pool(&name(text), spec(3, within, "")).await;
                pools.push((pool.unwrap(), node.machine.clone()));
            }
        }
        for _ in 0..20 {
            for (pool, _) in &pools {
                let mut ids = [0; 50];
                pool.mint(&mut ids).await.unwrap();
                seen.extend(ids);
            }
            sleep(SECOND / 10).await;
        }
        assert_eq!(seen.len(), 4 * 2 * 20 * 50);
    });
}

// claim: P14
#[test]
fn keepers_machines_and_clock_sequences_avoid_them_too() {
    in_paused_time(|| async {
        let cluster = Cluster::new(MemoryStore::shared(1));
        let node = cluster.node("a").await;
        let minted = node
            .ledger
            .create_pool(&name("minted"), spec(1, "", "0"))
            .await
            .unwrap();
        assert_eq!(minted.hold_worker().await, Ok(1));

        let numbers = node
            .ledger
            .create_pool(&name("numbers"), spec(3, "0-6", "0,2-3"))
            .await
            .unwrap();
        let mut given = Vec::new();
        for instance in ["a", "b", "c", "d"] {
            let machine = MachineInstance {
                instance,
                stable: true,
            };
            given.push(numbers.lease_machine(machine, 6, SECOND).await.unwrap().number);
            if given.len() == 3 {
                break;
            }
        }
        assert_eq!(given, [1, 4, 5]);
        let late = MachineInstance {
            instance: "late",
            stable: false,
        };
        let error = numbers.lease_machine(late, 6, SECOND).await.unwrap_err();
        assert!(error.to_string().contains("all 3 machine numbers"), "{error}");

        let uuids = PoolSpec {
            workers: WorkerChoice {
                avoid: workers("0-16381,16383"),
                ..WorkerChoice::default()
            },
            ..PoolKind::uuid1([7; 8]).into()
        };
        let uuids = node.ledger.create_pool(&name("v1"), uuids).await.unwrap();
        assert_eq!(uuids.hold_worker().await, Ok(16_382));
        let mut made = [mintage::Uuid::nil(); 3];
        uuids.mint_uuid1(&mut made).await.unwrap();
        // The clock sequence and the variant are octets 8 and 9.
        assert!(
            made.iter().all(|uuid| uuid.as_bytes()[8..10] == [0xbf, 0xfe]),
            "{made:?}"
        );
    });
}

#[test]
fn the_same_definition_changes_nothing_and_another_is_refused() {
    in_paused_time(|| async {
        let cluster = Cluster::new(MemoryStore::shared(1));
        let node = cluster.node("a").await;
        let create = async |spec: PoolSpec| node.ledger.create_pool(&name("eu"), spec).await;
        create(spec(3, "0-7", "3")).await.unwrap();
        let again = create(spec(3, "", "3")).await.unwrap();
        assert_eq!(again.info().choice.within, None, "all of them is no choice");
        create(spec(3, "", "")).await.unwrap();
        for (asked, why) in [
            (spec(3, "0-5", ""), "its workers are all, asked for were 0-5"),
            (
                spec(3, "", "3-4"),
                "it avoids workers 3, asked for were 3-4; mint pool avoid",
            ),
            (spec(4, "", ""), "its layout is"),
        ] {
            let error = create(asked).await.unwrap_err();
            assert!(matches!(error, LedgerError::PoolExists { .. }), "{error}");
            let start = format!("pool eu exists with another definition: {why}");
            assert!(error.to_string().starts_with(&start), "{error}");
        }
        for (asked, why) in [
            (
                spec(3, "0-8", ""),
                "workers of pool us: worker 8 does not fit its layout, largest is 7",
            ),
            (
                spec(3, "", "4-8"),
                "workers to avoid of pool us: worker 8 does not fit",
            ),
            (
                spec(3, "1-2", "0-4"),
                "pool us would have no worker: of workers 1-2 it is to avoid 0-4",
            ),
        ] {
            let error = node.ledger.create_pool(&name("us"), asked).await.unwrap_err();
            assert!(error.to_string().starts_with(why), "{error}");
        }
        assert_eq!(
            node.ledger.pools(None, 10).await.unwrap().len(),
            1,
            "nothing was made"
        );
    });
}

// claim: P14
#[test]
fn a_dropped_pool_made_again_still_avoids_what_it_did() {
    in_paused_time(|| async {
        let cluster = Cluster::new(MemoryStore::shared(1));
        let node = cluster.node("a").await;
        let create = async |avoid: &str| node.ledger.create_pool(&name("eu"), spec(1, "", avoid)).await;
        create("1").await.unwrap();
        node.ledger.drop_pool(&name("eu")).await.unwrap();
        let error = create("0").await.unwrap_err().to_string();
        assert!(
            error.starts_with("pool eu avoided workers 1, too, when it was dropped"),
            "{error}"
        );
        let pool = create("").await.unwrap();
        assert_eq!(pool.info().choice.avoid, workers("1"));
        assert_eq!(pool.hold_worker().await, Ok(0));
    });
}

// claim: P14
#[test]
fn every_server_follows_what_one_is_told_to_avoid() {
    in_paused_time(|| async {
        let cluster = Cluster::new(MemoryStore::shared(1));
        let (a, b) = (cluster.node("a").await, cluster.node("b").await);
        let pool_a = a.ledger.create_pool(&name("eu"), spec(2, "", "")).await.unwrap();
        let pool_b = b.ledger.existing_pool(&name("eu")).await.unwrap();
        let held = pool_b.hold_worker().await.unwrap();
        let told = a
            .ledger
            .avoid_workers(&name("eu"), &add(&held.to_string()))
            .await
            .unwrap();
        assert_eq!(told.pending, Vec::<String>::new());
        let [window] = told.held.as_slice() else {
            panic!("{:?}", told.held);
        };
        assert_eq!((window.worker, window.name.as_str()), (held, "b"));
        let until = window.until;
        // Without asking for anything, the other knows it by now, and soon mints as another worker.
        assert_eq!(pool_b.info().choice.avoid, WorkerRanges::of([held]));
        sleep(2 * SECOND).await;
        let other = pool_b.hold_worker().await.unwrap();
        assert_ne!(other, held);
        // Nobody renewed it: it ends when it was said to.
        let windows = pool_a.windows(held, 1).await.unwrap();
        assert_eq!(windows[0].until, until);
        sleep(20 * SECOND).await;
        assert!(!lend_all(&pool_a).await.0.contains(&held));
        // The same again changes nothing, and holds nothing.
        let again = a
            .ledger
            .avoid_workers(&name("eu"), &add(&held.to_string()))
            .await
            .unwrap();
        assert_eq!((again.held.len(), again.info.usable), (0, 3));
    });
}

#[test]
fn what_a_program_was_lent_is_not_renewed_once_it_is_avoided() {
    in_paused_time(|| async {
        let cluster = Cluster::new(MemoryStore::shared(1));
        let node = cluster.node("a").await;
        let pool = node
            .ledger
            .create_pool(&name("eu"), spec(2, "", ""))
            .await
            .unwrap();
        let lent = pool.lend("importer").await.unwrap();
        let told = node
            .ledger
            .avoid_workers(&name("eu"), &add(&lent.worker.to_string()))
            .await
            .unwrap();
        assert_eq!(told.held[0].name, "importer");
        assert!(told.held[0].until >= lent.until);
        let error = pool
            .renew_lent(lent.worker, &lent.owner, lent.version, None)
            .await
            .unwrap_err();
        assert!(matches!(error, LedgerError::WindowLost { .. }), "{error}");
    });
}

/// A program that was paused renews a window that has passed meanwhile, and goes on if nobody took it.
#[test]
fn a_window_that_has_passed_is_not_begun_anew_once_it_is_avoided() {
    in_paused_time(|| async {
        let cluster = Cluster::new(MemoryStore::shared(1));
        let node = cluster.node("a").await;
        let pool = node
            .ledger
            .create_pool(&name("eu"), spec(2, "", ""))
            .await
            .unwrap();
        let lent = pool.lend("importer").await.unwrap();
        sleep(10 * SECOND).await;
        let told = node
            .ledger
            .avoid_workers(&name("eu"), &add(&lent.worker.to_string()))
            .await
            .unwrap();
        assert_eq!(told.held, []);
        let error = pool
            .renew_lent(lent.worker, &lent.owner, lent.version, None)
            .await
            .unwrap_err();
        assert!(matches!(error, LedgerError::WindowLost { .. }), "{error}");
    });
}

#[test]
fn the_number_of_a_machine_cannot_be_avoided_while_it_has_it() {
    in_paused_time(|| async {
        let cluster = Cluster::new(MemoryStore::shared(1));
        let node = cluster.node("a").await;
        let pool = node
            .ledger
            .create_pool(&name("eu"), spec(3, "", ""))
            .await
            .unwrap();
        let passing = MachineInstance {
            instance: "10.1.2.3:80",
            stable: false,
        };
        let stable = MachineInstance {
            instance: "db-0",
            stable: true,
        };
        let numbers = [passing, stable];
        for machine in numbers {
            pool.lease_machine(machine, 8, SECOND).await.unwrap();
        }
        for (worker, why) in [
            ("0", "worker 0 of pool eu is leased to machine 10.1.2.3:80 until "),
            ("1", "worker 1 of pool eu is leased to machine db-0 for good"),
        ] {
            let error = node
                .ledger
                .avoid_workers(&name("eu"), &add(worker))
                .await
                .unwrap_err();
            assert!(error.to_string().starts_with(why), "{error}");
        }
        assert_eq!(pool.info().choice, WorkerChoice::default(), "nothing was changed");
        sleep(5 * SECOND).await;
        node.ledger.avoid_workers(&name("eu"), &add("0")).await.unwrap();
        let lost = pool.guard_machine(passing, SECOND).await;
        let back = pool.lease_machine(passing, 8, SECOND).await.unwrap();
        assert!(matches!(lost, Err(MachineError::Lost { .. })), "{lost:?}");
        assert_eq!(back.number, 2);
    });
}

#[test]
fn a_number_is_used_again_an_hour_after_its_generators_last_sign() {
    in_paused_time(|| async {
        let cluster = Cluster::new(MemoryStore::shared(1));
        let node = cluster.node("a").await;
        let from = "leaf+zookeeper://zoo:2181/snowflake/shop";
        let spec = PoolSpec {
            workers: WorkerChoice {
                avoid: workers("0-6"),
                avoid_from: Some(from.into()),
                ..WorkerChoice::default()
            },
            ..spec(3, "", "")
        };
        let pool = node.ledger.create_pool(&name("eu"), spec).await.unwrap();
        let change = async |change: &AvoidChange| node.ledger.avoid_workers(&name("eu"), change).await;
        let ago = |by: Duration| true_now(cluster.start).saturating_sub(by);
        let looked = |at: &str, held: Vec<(u64, Option<mintage::Timestamp>)>| {
            Some(OffProof::Looked { at: at.into(), held })
        };
        let long_ago = ago(HOUR + SECOND);
        let long = Some(long_ago);
        for (proof, why) in [
            (
                None,
                "is avoided because of leaf+zookeeper://zoo:2181/snowflake/shop, which was not looked at",
            ),
            (
                Some(OffProof::Since(ago(HOUR - SECOND))),
                "is said to be off since 20",
            ),
            (
                looked("leaf+zookeeper://other/x", vec![(3, long)]),
                "is avoided because of leaf+zookeeper://zoo",
            ),
            (
                looked(from, vec![(3, Some(ago(HOUR - SECOND)))]),
                "was alive at 20",
            ),
            (looked(from, vec![(3, None)]), "is held at leaf+zookeeper"),
            (
                looked(from, vec![(2, long)]),
                "is no longer shown at leaf+zookeeper",
            ),
            (
                looked(from, vec![(3, long), (3, Some(ago(SECOND)))]),
                "was alive at 20",
            ),
            (
                looked(from, vec![(3, long), (3, None)]),
                "is held at leaf+zookeeper",
            ),
        ] {
            let error = change(&remove("3", proof)).await.unwrap_err();
            assert!(
                matches!(error, LedgerError::WorkerInUse { worker: 3, .. }),
                "{error}"
            );
            assert!(
                error
                    .to_string()
                    .starts_with(&format!("worker 3 of pool eu {why}")),
                "{error}"
            );
        }
        assert_eq!(pool.info().choice.avoid, workers("0-6"), "nothing was changed");
        change(&remove("3", looked(from, vec![(3, long)]))).await.unwrap();
        change(&remove("5", Some(OffProof::Since(long_ago))))
            .await
            .unwrap();
        // Twice is as good as once, and asks for no proof: nothing is avoided any more that was.
        change(&remove("3", None)).await.unwrap();
        assert_eq!(WorkerRanges::of(lend_all(&pool).await.0), workers("3,5,7"));

        for (asked, why) in [
            (
                AvoidChange {
                    add: workers("1"),
                    ..remove("1-2", None)
                },
                "pool eu: workers 1 are both",
            ),
            (
                remove("8", None),
                "pool eu: worker 8 is none of its layout, largest is 7",
            ),
            (add("9"), "workers to avoid of pool eu: worker 9 does not fit"),
            (
                add("3,5,7"),
                "pool eu would have no worker: of workers 0-7 it is to avoid 0-7",
            ),
            (
                AvoidChange {
                    from: Some("yitter+redis://r".into()),
                    ..add("3")
                },
                "pool eu: what it avoids was read from leaf",
            ),
        ] {
            let error = change(&asked).await.unwrap_err();
            assert!(error.to_string().starts_with(why), "{error}");
        }
        let none = node
            .ledger
            .avoid_workers(&name("us"), &add("1"))
            .await
            .unwrap_err();
        assert_eq!(none.to_string(), "no pool us");
    });
}

/// A store in which the first write of a window waits: its process was paused after it had chosen.
#[derive(Debug)]
struct Paused {
    inner: Arc<dyn Store>,
    /// The key of the write that waits or waited.
    waiting: Mutex<Option<Key>>,
    waits: Notify,
    goes_on: Notify,
}

impl Store for Paused {
    delegate_store!(inner, but compare_and_set claim);

    fn compare_and_set<'a>(
        &'a self,
        key: &'a Key,
        expected: Option<Version>,
        new: Value,
        marks: Marks,
    ) -> StoreResult<'a, Cas> {
        Box::pin(async move {
            let is_first = key.as_str().starts_with("window/") && {
                let mut waiting = self.waiting.lock().unwrap();
                let is_first = waiting.is_none();
                waiting.get_or_insert_with(|| key.clone());
                is_first
            };
            if is_first {
                self.waits.notify_one();
                self.goes_on.notified().await;
            }
            self.inner.compare_and_set(key, expected, new, marks).await
        })
    }
}

#[test]
fn a_process_that_was_paused_while_it_took_a_worker_does_not_use_one_avoided_since() {
    in_paused_time(|| async {
        let store = Arc::new(Paused {
            inner: MemoryStore::shared(1),
            waiting: Mutex::default(),
            waits: Notify::new(),
            goes_on: Notify::new(),
        });
        let cluster = Cluster::new(store.clone());
        let node = cluster.node("a").await;
        let pool = node
            .ledger
            .create_pool(&name("eu"), spec(1, "", ""))
            .await
            .unwrap();
        let minting = tokio::spawn({
            let pool = Arc::clone(&pool);
            async move { pool.hold_worker().await }
        });
        store.waits.notified().await;
        let chosen: u64 = {
            let waiting = store.waiting.lock().unwrap();
            waiting
                .as_ref()
                .unwrap()
                .as_str()
                .rsplit('/')
                .next()
                .unwrap()
                .parse()
                .unwrap()
        };
        let told = node
            .ledger
            .avoid_workers(&name("eu"), &add(&chosen.to_string()))
            .await
            .unwrap();
        assert_eq!(told.held, [], "nobody has it yet");
        store.goes_on.notify_one();
        assert_eq!(minting.await.unwrap(), Ok(1 - chosen));
        let given_up = pool.windows(chosen, 1).await.unwrap();
        assert!(!given_up[0].lasts, "{given_up:?}");
    });
}
