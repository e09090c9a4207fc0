//! Backup, restore, check and move of whole stores, with ledgers before and after: nothing repeats.

use std::sync::Arc;
use std::time::Duration;

use mintage::Layout;
use mintage_ledger::tools::{
    Accept, Advance, Backup, back_up, check_store, migrate, raise_in_place, restore_into, seal, sealed,
    unseal,
};
use mintage_ledger::*;
use mintage_testing::{Distinct, invariant};
use tokio::time::sleep;

use crate::machines::{Cluster, Node, On, in_paused_time};
use crate::tools_cut_off::Cut;

const SECOND: Duration = Duration::from_secs(1);
const WINDOW: Duration = Duration::from_secs(600);

fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}

fn own_pool() -> PoolSpec {
    let layout = Layout::builder("own")
        .time("t", 42)
        .worker("w", 3)
        .sequence("s", 8)
        .build()
        .unwrap();
    PoolSpec {
        kind: PoolKind::Snowflake(Arc::new(layout)),
        window: None,
        clock_policy: None,
        workers: WorkerChoice::default(),
    }
}

/// Its ids equal none of [`own_pool`].
fn odd_pool() -> PoolSpec {
    let layout = Layout::builder("odd")
        .field("one", 2, mintage::Role::Constant(1))
        .time("t", 42)
        .worker("w", 3)
        .sequence("s", 8)
        .build()
        .unwrap();
    PoolKind::Snowflake(Arc::new(layout)).into()
}

#[derive(Default)]
struct Seen {
    numbers: Distinct<(String, i64)>,
    ids: Distinct<u64>,
}

impl Seen {
    async fn take(&mut self, node: &Node, sequence: &str, n: u64) {
        let taken = node.ledger.sequence_or_create(&name(sequence)).await.unwrap();
        let run = taken.take_contiguous(n).await.unwrap();
        self.numbers
            .extend(run.into_iter().map(|number| (sequence.to_string(), number)));
    }

    async fn mint(&mut self, node: &Node) {
        self.mint_of(node, "own", &own_pool()).await;
    }

    async fn mint_of(&mut self, node: &Node, pool: &str, spec: &PoolSpec) {
        let pool = node.ledger.create_pool(&name(pool), spec.clone()).await.unwrap();
        let mut ids = [0; 50];
        pool.mint(&mut ids).await.unwrap();
        self.ids.extend(ids);
    }
}

async fn backed_up(cluster: &Cluster) -> Backup {
    let mut file = Vec::new();
    let runtime = On(cluster.machine());
    let done = back_up(&*cluster.store, &mut file, &runtime).await.unwrap();
    let backup = Backup::read(&file[..]).unwrap();
    assert_eq!(
        (backup.registers.len() as u64, backup.made),
        (done.registers, done.made)
    );
    backup
}

// claim: P48
#[test]
fn a_restored_backup_begins_above_all_that_was_given_out_since() {
    in_paused_time(|| async {
        let old = Cluster::new(MemoryStore::shared(1));
        let node = old.node("a").await;
        let mut seen = Seen::default();
        seen.take(&node, "orders", 100).await;
        seen.mint(&node).await;
        let backup = backed_up(&old).await;
        // Given out after the backup, by a name that was not there too.
        sleep(10 * SECOND).await;
        seen.take(&node, "orders", 500).await;
        seen.take(&node, "made-later", 300).await;
        seen.mint(&node).await;
        node.machine.kill();

        let new = old.beside(MemoryStore::shared(1));
        let runtime = On(new.machine());
        let report = restore_into(
            &*new.store,
            &backup,
            Advance::AtRate(100),
            WINDOW,
            Accept::default(),
            &runtime,
        )
        .await
        .unwrap();
        assert!(report.skipped >= 1000, "{report:?}");
        let node = new.node("b").await;
        seen.take(&node, "orders", 100).await;
        seen.take(&node, "made-later", 100).await;
        // A worker without a record may have had one: it begins later than any id that it can have made.
        assert!(
            node.ledger
                .create_pool(&name("own"), own_pool())
                .await
                .unwrap()
                .mint(&mut [0])
                .await
                .is_err()
        );
        sleep(71 * SECOND).await;
        seen.mint(&node).await;
        assert_eq!(
            check_store(&*new.store, &runtime).await.unwrap().findings,
            Vec::<String>::new()
        );
    });
}

/// The backup knows the first borrower of a worker; after it another one took the worker over. Versions count anew in the
/// restored store, so that the first one's is right again.
// claim: P12
#[test]
fn a_window_that_is_restored_is_renewed_by_nobody_who_held_it_before() {
    in_paused_time(|| async {
        for in_place in [false, true] {
            let store = MemoryStore::shared(1);
            let old = Cluster::new(store.clone());
            let node = old.node("a").await;
            let pool = node.ledger.create_pool(&name("own"), own_pool()).await.unwrap();
            let lent = pool.lend("program").await.unwrap();
            let (backup, then) = (backed_up(&old).await, store.dump());
            node.machine.kill();

            let new = match in_place {
                false => old.beside(MemoryStore::shared(1)),
                true => old.beside(store.clone()),
            };
            let runtime = On(new.machine());
            let restored = match in_place {
                false => {
                    let accept = Accept::default();
                    restore_into(&*new.store, &backup, Advance::By(1), WINDOW, accept, &runtime).await
                }
                true => {
                    store.fall_back_to(then, "restored");
                    raise_in_place(&*new.store, Advance::By(1), WINDOW, &runtime).await
                }
            };
            restored.unwrap();
            let node = new.node("b").await;
            let pool = node.ledger.existing_pool(&name("own")).await.unwrap();
            for version in lent.version..lent.version + 4 {
                let renewed = pool.renew_lent(lent.worker, &lent.owner, version, None).await;
                let error = renewed.unwrap_err();
                assert!(
                    matches!(error, LedgerError::WindowLost { .. }),
                    "in place: {in_place}, from version {version}: {error}"
                );
            }
        }
    });
}

#[test]
fn a_restore_refuses_another_cluster_and_a_store_in_use() {
    in_paused_time(|| async {
        let old = Cluster::new(MemoryStore::shared(1));
        let node = old.node("a").await;
        Seen::default().take(&node, "orders", 10).await;
        let backup = backed_up(&old).await;
        let runtime = On(old.machine());
        let into = async |store: &Arc<MemoryStore>, accept| {
            restore_into(&**store, &backup, Advance::By(5), WINDOW, accept, &runtime).await
        };
        let foreign = MemoryStore::shared(2);
        let error = into(&foreign, Accept::default()).await.unwrap_err();
        assert_eq!(error.kind, StoreErrorKind::Foreign);
        assert!(error.hint == Some(Advice::RestoreForeign));
        assert!(foreign.dump().is_empty(), "nothing was written");
        into(
            &foreign,
            Accept {
                foreign: true,
                used: false,
            },
        )
        .await
        .unwrap();

        let used = MemoryStore::shared(1);
        let mine = old.beside(used.clone());
        let node = mine.node("b").await;
        Seen::default().take(&node, "orders", 1_000_000).await;
        node.machine.kill();
        let error = into(&used, Accept::default()).await.unwrap_err();
        assert_eq!(error.kind, StoreErrorKind::InUse);
        into(
            &used,
            Accept {
                foreign: false,
                used: true,
            },
        )
        .await
        .unwrap();
        let key = Key::new("seq/orders").unwrap();
        let mark = used.get(&key).await.unwrap().unwrap().value.mark;
        invariant!(mark >= 1_000_000, "a higher mark is kept: {mark}");
    });
}

#[test]
fn a_store_that_was_itself_restored_is_raised_in_place() {
    in_paused_time(|| async {
        let store = MemoryStore::shared(1);
        let cluster = Cluster::new(store.clone());
        let node = cluster.node("a").await;
        let mut seen = Seen::default();
        seen.take(&node, "orders", 100).await;
        seen.mint(&node).await;
        sleep(5 * SECOND).await;
        let dump = store.dump();
        seen.take(&node, "orders", 400).await;
        seen.mint(&node).await;
        node.machine.kill();
        sleep(60 * SECOND).await;
        store.fall_back_to(dump, "restored");
        let runtime = On(cluster.machine());
        let report = raise_in_place(&*store, Advance::AtRate(50), WINDOW, &runtime)
            .await
            .unwrap();
        assert!((60..80).contains(&report.age.as_secs()), "{report:?}");
        let node = cluster.node("b").await;
        seen.take(&node, "orders", 100).await;
        sleep(71 * SECOND).await;
        seen.mint(&node).await;
    });
}

/// A store that was restored once counted as one that others use too: every clean stop lost what was in stock.
#[test]
fn a_store_of_ones_own_stays_ones_own_after_a_restore() {
    in_paused_time(|| async {
        let cluster = Cluster::new(MemoryStore::with_cluster_id(1));
        let node = cluster.node("a").await;
        Seen::default().take(&node, "orders", 10).await;
        node.ledger.close().await.unwrap();
        let runtime = On(cluster.machine());
        raise_in_place(&*cluster.store, Advance::By(100), WINDOW, &runtime)
            .await
            .unwrap();
        let mut last = None;
        for start in ["b", "c", "d"] {
            let node = cluster.node(start).await;
            let orders = node.ledger.sequence_or_create(&name("orders")).await.unwrap();
            for _ in 0..200 {
                let number = orders.take(1).await.unwrap().first;
                invariant!(
                    last.is_none_or(|last| number == last + 1),
                    "{number} after {last:?}"
                );
                last = Some(number);
            }
            node.ledger.close().await.unwrap();
        }
    });
}

// claim: P52
#[test]
fn a_move_seals_the_old_store_and_goes_on_above_in_the_new_one() {
    in_paused_time(|| async {
        let old = Cluster::new(MemoryStore::shared(1));
        let node = old.node("a").await;
        let mut seen = Seen::default();
        for _ in 0..20 {
            seen.take(&node, "orders", 7).await;
            seen.mint(&node).await;
        }
        sleep(3 * SECOND).await;
        let new = old.beside(MemoryStore::shared(2));
        let runtime = On(new.machine());
        let report = migrate(&*old.store, &*new.store, &runtime).await.unwrap();
        assert!(report.registers >= 3, "{report:?}");
        // The running server has stopped for good, stock included; another does not start.
        sleep(2 * SECOND).await;
        let orders = node.ledger.sequence_or_create(&name("orders")).await.unwrap();
        let error = orders.take(1).await.unwrap_err();
        assert!(
            error.to_string().contains("the store is sealed: moved to"),
            "{error}"
        );
        let runtime_of_late = Arc::new(On(old.machine()));
        let late = Ledger::open(old.store.clone(), LedgerSettings::default(), runtime_of_late).await;
        assert!(matches!(late, Err(LedgerError::Stopped(_))));
        let node = new.node("b").await;
        for _ in 0..20 {
            seen.take(&node, "orders", 7).await;
            seen.mint(&node).await;
        }
        // Doing it again goes on, and what the new store gave out stands.
        migrate(&*old.store, &*new.store, &runtime).await.unwrap();
        seen.take(&node, "orders", 100_000).await;
        // It is not moved to a third store, too.
        let third = MemoryStore::shared(3);
        let error = migrate(&*old.store, &*third, &runtime).await.unwrap_err();
        assert!(error.message.contains("moved to the memory store"), "{error}");
        assert!(third.dump().is_empty());
    });
}

// claim: P52
#[test]
fn who_was_cut_off_while_the_store_was_sealed_makes_nothing_when_he_comes_back() {
    in_paused_time(|| async {
        let old = Cluster::new(MemoryStore::shared(1));
        let node = old.node("a").await;
        let mut seen = Seen::default();
        seen.take(&node, "orders", 5).await;
        sleep(3 * SECOND).await;
        node.machine.stop();
        let new = old.beside(MemoryStore::shared(2));
        let runtime = On(new.machine());
        migrate(&*old.store, &*new.store, &runtime).await.unwrap();
        let fresh = new.node("b").await;
        seen.take(&fresh, "unknown-before", 100).await;
        node.machine.go_on();
        // Before it has looked at anything.
        let made = node.ledger.sequence_or_create(&name("unknown-before")).await;
        if let Ok(made) = made {
            assert!(made.take(1).await.is_err(), "made in a sealed store");
        }
    });
}

#[test]
fn a_seal_can_be_taken_off() {
    in_paused_time(|| async {
        let cluster = Cluster::new(MemoryStore::shared(1));
        let runtime = On(cluster.machine());
        let store = &*cluster.store;
        seal(store, "for a test", &runtime).await.unwrap();
        assert_eq!(sealed(store).await.unwrap().as_deref(), Some("for a test"));
        let report = check_store(store, &runtime).await.unwrap();
        assert_eq!(report.findings, ["the store is sealed: for a test"]);
        assert!(unseal(store, &runtime).await.unwrap());
        assert!(!unseal(store, &runtime).await.unwrap());
        let node = cluster.node("a").await;
        Seen::default().take(&node, "orders", 1).await;
    });
}

#[test]
fn a_check_names_what_makes_no_sense() {
    in_paused_time(|| async {
        let cluster = Cluster::new(MemoryStore::shared(1));
        let node = cluster.node("a").await;
        Seen::default().take(&node, "orders", 1).await;
        Seen::default().mint(&node).await;
        let put = async |key: &str, mark, body: &str| {
            let key = Key::new(key).unwrap();
            let value = Value {
                mark,
                token: 1,
                body: body.into(),
            };
            cluster
                .store
                .compare_and_set(&key, None, value, Marks::NeverLower)
                .await
                .unwrap();
        };
        put("seq/edited", 5, "{}").await;
        put("window/nowhere/0000000001", 5, "{}").await;
        put("pool/odd", 0, "[]").await;
        let fingerprint = own_pool().kind;
        let PoolKind::Snowflake(layout) = fingerprint else {
            panic!()
        };
        let far = format!(
            r#"{{"owner":"x","from":1,"layout":{:?},"wall_ms":1}}"#,
            layout.fingerprint()
        );
        put("window/own/0000000007", layout.ticks_max(), &far).await;
        let runtime = On(cluster.machine());
        let report = check_store(&*cluster.store, &runtime).await.unwrap();
        let all = report.findings.join("\\n");
        for says in [
            "pool/odd: ",
            "seq/edited: ",
            "window/nowhere/0000000001: its pool is not there",
            "a clock was wrong",
        ] {
            assert!(all.contains(says), "{says:?} is not in {all}");
        }
        assert_eq!(report.findings.len(), 4, "{all}");
    });
}

#[test]
fn a_backup_that_is_not_whole_is_refused() {
    in_paused_time(|| async {
        let cluster = Cluster::new(MemoryStore::shared(1));
        let node = cluster.node("a").await;
        Seen::default().take(&node, "orders", 10).await;
        let mut file = Vec::new();
        let runtime = On(cluster.machine());
        back_up(&*cluster.store, &mut file, &runtime).await.unwrap();
        assert!(Backup::read(&file[..]).is_ok());
        for cut in [0, 1, file.len() / 2, file.len() - 1] {
            assert!(Backup::read(&file[..cut]).is_err(), "cut at {cut}");
        }
        for at in 0..file.len() {
            let mut flipped = file.clone();
            flipped[at] ^= 1;
            assert!(Backup::read(&flipped[..]).is_err(), "byte {at} of {}", file.len());
        }
    });
}

fn cut_after(inner: &Arc<MemoryStore>, writes: i64) -> Cut {
    Cut::after(inner.clone(), &Arc::new(writes.into()))
}

/// Everything there can be: pools of each kind, sequences of each kind, a tombstone.
async fn furnished(node: &Node, seen: &mut Seen) {
    seen.take(node, "orders", 10).await;
    seen.mint(node).await;
    node.ledger
        .pool_or_default(&name(DEFAULT_POOL))
        .await
        .unwrap()
        .mint(&mut [0; 5])
        .await
        .unwrap();
    let uuid1 = node
        .ledger
        .create_pool(&name(UUID1_POOL), PoolSpec::from(PoolKind::uuid1([7; 8])))
        .await;
    uuid1
        .unwrap()
        .mint_uuid1(&mut [mintage::Uuid::nil(); 5])
        .await
        .unwrap();
    for (text, options, gap) in odd_sequences() {
        let spec = SequenceSpec {
            options,
            gap,
            max_gap: None,
        };
        node.ledger.create(&name(text), &spec).await.unwrap();
        seen.take(node, text, 10).await;
    }
    seen.take(node, "dropped", 10).await;
    node.ledger.drop_sequence(&name("dropped")).await.unwrap();
}

fn odd_sequences() -> [(&'static str, mintage::SequenceOptions, Gap); 4] {
    let plain = mintage::SequenceOptions::default();
    let down = mintage::SequenceOptions {
        increment: Some(-3),
        ..plain
    };
    let far = mintage::SequenceOptions {
        start: Some(1_000_000),
        increment: Some(7),
        ..plain
    };
    let short = mintage::SequenceOptions {
        max: Some(200),
        ..plain
    };
    [
        ("bills", plain, Gap::None),
        ("down", down, Gap::Bounded),
        ("far", far, Gap::Bounded),
        ("short", short, Gap::Bounded),
    ]
}

/// Whether a server starts on the store.
async fn starts(cluster: &Cluster, store: &Arc<MemoryStore>) -> Result<(), LedgerError> {
    let runtime = Arc::new(On(cluster.machine()));
    let ledger = Ledger::open(store.clone(), LedgerSettings::default(), runtime).await?;
    ledger.close().await
}

// claim: P49
#[test]
fn a_restore_that_is_cut_off_anywhere_refuses_until_the_same_command_finishes_it() {
    in_paused_time(|| async {
        let old = Cluster::new(MemoryStore::shared(1));
        let node = old.node("a").await;
        furnished(&node, &mut Seen::default()).await;
        let backup = backed_up(&old).await;
        node.machine.kill();
        let runtime = On(old.machine());
        let into = async |store: &dyn Store, n| {
            restore_into(
                store,
                &backup,
                Advance::By(n),
                WINDOW,
                Accept::default(),
                &runtime,
            )
            .await
        };
        let whole = MemoryStore::shared(1);
        into(&*whole, 1000).await.unwrap();
        let marks = |store: &MemoryStore| -> Vec<(Key, u64)> {
            let all = store.dump().into_iter();
            all.filter(|(key, _)| !key.as_str().starts_with("cluster/seal"))
                .map(|(key, found)| (key, found.value.mark))
                .collect()
        };
        // Both ways: a backup into an empty store, and the store's own files put back.
        for in_place in [false, true] {
            for writes in 0.. {
                let store = MemoryStore::shared(1);
                if in_place {
                    store.fall_back_to(old_dump(&old).await, "put back");
                }
                let cut = cut_after(&store, writes);
                let done = match in_place {
                    true => raise_in_place(&cut, Advance::By(1000), WINDOW, &runtime).await,
                    false => into(&cut, 1000).await,
                };
                if done.is_ok() {
                    assert!(writes > 8, "{writes}");
                    break;
                }
                if writes > 0 {
                    let refused = starts(&old, &store).await.unwrap_err().to_string();
                    assert!(
                        refused.contains("a restore was begun and is not finished"),
                        "{refused}"
                    );
                    // Nor can the seal be taken off.
                    unseal(&*store, &runtime).await.unwrap_err();
                }
                let report = match in_place {
                    true => raise_in_place(&*store, Advance::By(1000), WINDOW, &runtime).await,
                    false => into(&*store, 1000).await,
                };
                assert_eq!(report.unwrap().resumed, writes > 0);
                if !in_place {
                    // Times and the count of restores are of their own run.
                    let timeless = |all: Vec<(Key, u64)>| -> Vec<(Key, u64)> {
                        let of_its_run = |key: &str| key.starts_with("window/") || key == "cluster/progress";
                        all.into_iter()
                            .filter(|(key, _)| !of_its_run(key.as_str()))
                            .collect()
                    };
                    let (found, wanted) = (timeless(marks(&store)), timeless(marks(&whole)));
                    invariant!(found == wanted, "after {writes}: {found:?}, not {wanted:?}");
                }
                let orders = store
                    .get(&Key::new("seq/orders").unwrap())
                    .await
                    .unwrap()
                    .unwrap();
                let before = backup
                    .registers
                    .iter()
                    .find(|(key, _)| key.as_str() == "seq/orders")
                    .unwrap();
                assert_eq!(orders.value.mark, before.1.mark + 1000, "raised once");
                starts(&old, &store).await.unwrap();
            }
        }
    });
}

async fn old_dump(old: &Cluster) -> Vec<(Key, Versioned)> {
    let mut all = Vec::new();
    for prefix in ["pool/", "seq/", "window/"] {
        all.extend(
            old.store
                .scan(&Key::new(prefix).unwrap(), None, 1000)
                .await
                .unwrap(),
        );
    }
    all
}

#[test]
fn another_restore_does_not_finish_one_that_was_cut_off_and_a_higher_advance_is_kept() {
    in_paused_time(|| async {
        let old = Cluster::new(MemoryStore::shared(1));
        let node = old.node("a").await;
        Seen::default().take(&node, "orders", 10).await;
        let first = backed_up(&old).await;
        Seen::default().take(&node, "bills", 10).await;
        let second = backed_up(&old).await;
        let runtime = On(old.machine());
        let store = MemoryStore::shared(1);
        let cut = cut_after(&store, 2);
        let accept = Accept::default();
        restore_into(&cut, &first, Advance::By(1000), WINDOW, accept, &runtime)
            .await
            .unwrap_err();
        let error = restore_into(&*store, &second, Advance::By(1000), WINDOW, accept, &runtime)
            .await
            .unwrap_err();
        assert!(error.message.contains(&first.sha256), "{error}");
        let report = restore_into(&*store, &first, Advance::By(5), WINDOW, accept, &runtime)
            .await
            .unwrap();
        assert_eq!((report.skipped, report.resumed), (1000, true));
        let more = MemoryStore::shared(1);
        restore_into(
            &cut_after(&more, 2),
            &first,
            Advance::By(5),
            WINDOW,
            accept,
            &runtime,
        )
        .await
        .unwrap_err();
        let report = restore_into(&*more, &first, Advance::By(1000), WINDOW, accept, &runtime)
            .await
            .unwrap();
        assert_eq!(report.skipped, 1000);
        let mark = more
            .get(&Key::new("cluster/restored").unwrap())
            .await
            .unwrap()
            .unwrap()
            .value
            .mark;
        assert!(mark >= 1000, "{mark}");
    });
}

// claim: P48
#[test]
fn everything_there_can_be_is_restored_without_a_repeat_also_names_made_later() {
    in_paused_time(|| async {
        for in_place in [false, true] {
            let old = Cluster::new(MemoryStore::shared(1));
            let node = old.node("a").await;
            let mut seen = Seen::default();
            furnished(&node, &mut seen).await;
            seen.mint_of(&node, "gone", &odd_pool()).await;
            sleep(61 * SECOND).await;
            node.ledger.drop_pool(&name("gone")).await.unwrap();
            let backup = backed_up(&old).await;
            let dump = old_dump(&old).await;
            for (text, options, gap) in odd_sequences() {
                seen.take(&node, text, 20).await;
                // Made after the backup, with a definition of its own.
                let later = format!("later-{text}");
                let spec = SequenceSpec {
                    options,
                    gap,
                    max_gap: None,
                };
                node.ledger.create(&name(&later), &spec).await.unwrap();
                seen.take(&node, &later, 20).await;
            }
            seen.take(&node, "dropped", 20).await;
            node.machine.kill();
            let store = MemoryStore::shared(1);
            let new = old.beside(store.clone());
            let runtime = On(new.machine());
            let advance = Advance::By(100);
            if in_place {
                store.fall_back_to(dump, "put back");
                raise_in_place(&*store, advance, WINDOW, &runtime).await.unwrap();
            } else {
                restore_into(&*store, &backup, advance, WINDOW, Accept::default(), &runtime)
                    .await
                    .unwrap();
            }
            let node = new.node("b").await;
            for (text, options, gap) in odd_sequences() {
                let later = format!("later-{text}");
                let spec = SequenceSpec {
                    options,
                    gap,
                    max_gap: None,
                };
                node.ledger.create(&name(&later), &spec).await.unwrap();
                for known in [text, &later] {
                    seen.take(&node, known, 20).await;
                }
            }
            seen.take(&node, "dropped", 20).await;
            sleep(71 * SECOND).await;
            seen.mint(&node).await;
            assert!(
                node.ledger.pool_or_default(&name("gone")).await.is_err(),
                "a tombstone is restored as one"
            );
            assert!(node.ledger.create_pool(&name("gone"), own_pool()).await.is_err());
            seen.mint_of(&node, "gone", &odd_pool()).await;
            let findings = check_store(&*new.store, &runtime).await.unwrap().findings;
            assert_eq!(findings, Vec::<String>::new());
        }
    });
}

// claim: P48
#[test]
fn what_an_earlier_restore_skipped_stays_skipped_through_another_restore_and_a_move() {
    in_paused_time(|| async {
        let old = Cluster::new(MemoryStore::shared(1));
        let node = old.node("a").await;
        Seen::default().take(&node, "orders", 10).await;
        let backup = backed_up(&old).await;
        node.machine.kill();
        let runtime = On(old.machine());
        let accept = Accept::default();
        let first = old.beside(MemoryStore::shared(1));
        restore_into(
            &*first.store,
            &backup,
            Advance::By(1000),
            WINDOW,
            accept,
            &runtime,
        )
        .await
        .unwrap();
        let again = backed_up(&first).await;
        let node = first.node("b").await;
        let mut seen = Seen::default();
        seen.take(&node, "made-later", 10).await;
        node.machine.kill();
        let second = old.beside(MemoryStore::shared(1));
        restore_into(&*second.store, &again, Advance::By(100), WINDOW, accept, &runtime)
            .await
            .unwrap();
        let third = old.beside(MemoryStore::shared(3));
        migrate(&*second.store, &*third.store, &runtime).await.unwrap();
        let node = third.node("c").await;
        seen.take(&node, "made-later", 2000).await;
        assert!(!seen.numbers.contains(&("made-later".into(), 1)));
    });
}

#[test]
fn a_restore_waits_for_no_server_that_uses_the_store() {
    in_paused_time(|| async {
        let cluster = Cluster::new(MemoryStore::shared(1));
        let node = cluster.node("a").await;
        Seen::default().take(&node, "orders", 10).await;
        let runtime = On(cluster.machine());
        let before = old_dump(&cluster).await;
        let error = raise_in_place(&*cluster.store, Advance::By(5), WINDOW, &runtime)
            .await
            .unwrap_err();
        assert_eq!(
            (error.kind, error.outcome),
            (StoreErrorKind::InUse, Outcome::NotDone)
        );
        assert!(error.message.contains("1 servers use the store"), "{error}");
        assert_eq!(old_dump(&cluster).await, before, "nothing was written");
        node.machine.kill();
        raise_in_place(&*cluster.store, Advance::By(5), WINDOW, &runtime)
            .await
            .unwrap();
    });
}
