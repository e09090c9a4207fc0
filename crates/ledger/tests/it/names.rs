//! How many names are held in memory and how much each takes, what becomes of those that are let go, and how many dropped
//! ones are remembered.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use mintage::Base;
use mintage_ledger::*;
use mintage_testing::{Distinct, invariant};

use crate::common::{in_world, in_world_of, new_journal, secs};

fn name(text: impl std::fmt::Display) -> Name {
    Name::new(text.to_string()).unwrap()
}

fn small(max_loaded: u64, journal: Option<Arc<dyn Store>>) -> LedgerSettings {
    LedgerSettings {
        max_loaded,
        journal,
        ..LedgerSettings::default()
    }
}

// claim: P10
#[test]
fn names_that_are_not_used_are_let_go_and_nothing_repeats() {
    for (ours_alone, journal) in [(true, false), (false, false), (false, true)] {
        let store: Arc<dyn Store> = match ours_alone {
            true => MemoryStore::with_cluster_id(3),
            false => MemoryStore::shared(3),
        };
        in_world_of(store, 5, FaultPlan::NONE, |mut world| async move {
            let node = world
                .start_with(small(100, journal.then(new_journal)))
                .await
                .unwrap();
            let mut last: HashMap<u32, i64> = HashMap::new();
            let mut random = 99u64;
            for _ in 0..6_000 {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let k = (random >> 40) as u32 % 500;
                let sequence = node
                    .ledger
                    .sequence_or_create(&name(format!("n{k}")))
                    .await
                    .unwrap();
                let run = match k % 3 {
                    0 => sequence.take_contiguous(1 + u64::from(k % 40)).await.unwrap(),
                    _ => sequence.take(1).await.unwrap(),
                };
                let before = last.insert(k, run.last()).unwrap_or(0);
                invariant!(run.first > before, "n{k}: {} after {before}", run.first);
                if ours_alone {
                    assert_eq!(run.first, before + 1, "n{k}: what is ours alone is given back");
                }
                drop(sequence);
                // One more while it is being loaded.
                assert!(
                    node.ledger.loaded_sequences() <= 101,
                    "{}",
                    node.ledger.loaded_sequences()
                );
            }
            assert!(node.ledger.loaded_sequences() > 50);
            // And with time alone.
            tokio::time::sleep(secs(600)).await;
            assert_eq!(node.ledger.loaded_sequences(), 0);
            assert_eq!(node.ledger.sequence_count(), 500);
            for (k, before) in &last {
                let sequence = node
                    .ledger
                    .sequence_or_create(&name(format!("n{k}")))
                    .await
                    .unwrap();
                let next = sequence.take(1).await.unwrap().first;
                invariant!(next > *before, "n{k}: {next} after {before}");
            }
        });
    }
}

#[test]
fn a_name_that_somebody_holds_or_uses_is_not_let_go() {
    in_world(6, FaultPlan::NONE, |mut world| async move {
        let node = world.start_with(small(10, None)).await.unwrap();
        let held = node.ledger.sequence_or_create(&name("held")).await.unwrap();
        let first = held.take(1).await.unwrap().first;
        for k in 0..200 {
            let other = node
                .ledger
                .sequence_or_create(&name(format!("n{k}")))
                .await
                .unwrap();
            other.take(1).await.unwrap();
        }
        assert!(node.ledger.loaded_sequences() <= 11);
        let again = node.ledger.sequence_or_create(&name("held")).await.unwrap();
        assert!(Arc::ptr_eq(&held, &again));
        drop(again);
        tokio::time::sleep(secs(1000)).await;
        assert_eq!(node.ledger.loaded_sequences(), 1);
        let next = held.take(1).await.unwrap().first;
        invariant!(next > first, "{next} after {first}");
        drop(held);
        tokio::time::sleep(secs(1000)).await;
        assert_eq!(node.ledger.loaded_sequences(), 0);
    });
}

/// A gap-free name whose claim may have landed is kept until that is known: what landed goes out next, and no number is
/// missing.
// claim: P24
#[test]
fn a_gap_free_name_has_no_hole_for_being_let_go() {
    for seed in 1..6 {
        in_world(seed, FaultPlan::rough(seed), |mut world| async move {
            let node = loop {
                match world.start_with(small(2, None)).await {
                    Ok(node) => break node,
                    Err(_) => tokio::time::sleep(secs(1)).await,
                }
            };
            let spec = SequenceSpec {
                gap: Gap::None,
                ..SequenceSpec::default()
            };
            let mut seen: HashMap<u32, Distinct<i64>> = HashMap::new();
            for k in 0..6 {
                while node.ledger.create(&name(format!("n{k}")), &spec).await.is_err() {
                    tokio::time::sleep(secs(1)).await;
                }
            }
            for round in 0..300u32 {
                let k = round.wrapping_mul(7919) / 3 % 6;
                let Ok(sequence) = node.ledger.sequence_or_create(&name(format!("n{k}"))).await else {
                    continue;
                };
                if let Ok(run) = sequence.take(1).await {
                    seen.entry(k).or_default().add(run.first);
                }
                tokio::time::sleep(Duration::from_millis(150)).await;
            }
            tokio::time::sleep(secs(2000)).await;
            for (k, seen) in seen {
                let last = *seen.iter().max().unwrap();
                invariant!(last == seen.len() as i64, "seed {seed}, n{k}: a hole in {seen:?}");
            }
        });
    }
}

// claim: P10
#[test]
fn dropped_names_are_remembered_up_to_a_limit_and_then_none_is_dropped() {
    in_world_of(
        MemoryStore::with_cluster_id(3),
        7,
        FaultPlan::NONE,
        |mut world| async move {
            let settings = || LedgerSettings {
                max_sequences: 20,
                max_dropped: 50,
                max_loaded: 100,
                ..LedgerSettings::default()
            };
            let node = world.start_with(settings()).await.unwrap();
            let ledger = &node.ledger;
            let mut refused = 0;
            for k in 0..100 {
                let used = match ledger.sequence_or_create(&name(format!("n{k}"))).await {
                    Ok(sequence) => sequence.take(1).await.map(drop),
                    Err(error) => Err(error),
                };
                match used {
                    Ok(()) => {}
                    Err(LedgerError::TooMany { max: 20, .. }) => refused += 1,
                    Err(other) => panic!("{other}"),
                }
                match ledger.drop_sequence(&name(format!("n{k}"))).await {
                    Ok(_) => {}
                    Err(LedgerError::TooManyDropped { max: 50, .. }) => {}
                    Err(LedgerError::NotFound { .. }) => {}
                    Err(other) => panic!("{other}"),
                }
            }
            assert_eq!((ledger.sequence_count(), refused), (20, 30));
            // One that is used again makes room for another.
            ledger.close().await.unwrap();
            let node = world
                .start_with(LedgerSettings {
                    max_sequences: 21,
                    ..settings()
                })
                .await
                .unwrap();
            let again = node.ledger.sequence_or_create(&name("n3")).await.unwrap();
            assert_eq!(again.take(1).await.unwrap().first, 2, "never the same again");
            node.ledger.drop_sequence(&name("n60")).await.unwrap();
            let full = node.ledger.drop_sequence(&name("n61")).await;
            assert!(
                matches!(full, Err(LedgerError::TooManyDropped { .. })),
                "{full:?}"
            );
        },
    );
}

/// A name that people do not see as it is can be that of another one; whatever has one since an earlier version goes on.
#[test]
fn nothing_new_has_a_hidden_name_and_what_has_one_can_be_used_and_dropped() {
    let store: Arc<dyn Store> = MemoryStore::shared(3);
    let kept = Arc::clone(&store);
    in_world_of(store, 5, FaultPlan::NONE, |mut world| async move {
        let node = world.start_with(small(100, None)).await.unwrap();
        let ledger = &node.ledger;
        let at = |value| Base {
            value,
            is_called: true,
        };
        let hidden = |c: char| name(format!("or{c}ders"));
        for c in [
            '\u{200b}',
            '\u{202e}',
            '\u{2028}',
            '\u{2066}',
            '\u{feff}',
            '\u{e0041}',
        ] {
            let name = hidden(c);
            let refused = [
                ledger.sequence_or_create(&name).await.map(drop),
                ledger.create(&name, &SequenceSpec::default()).await.map(drop),
                ledger.set(&name, at(5)).await.map(drop),
                ledger
                    .create_pool(&name, PoolKind::uuid1([1; 8]).into())
                    .await
                    .map(drop),
                ledger
                    .pool_or_default(&self::name("default"))
                    .await
                    .unwrap()
                    .lend(name.as_str())
                    .await
                    .map(drop),
            ];
            for refused in refused {
                let why = refused.unwrap_err().to_string();
                assert!(why.contains(&format!("U+{:04X}", u32::from(c))), "{why}");
            }
            assert!(
                matches!(ledger.show(&name).await, Err(LedgerError::NotFound { .. })),
                "{name:?}"
            );
            assert!(ledger.existing_pool(&name).await.is_err());
        }
        // As an earlier version left them.
        ledger
            .create(&name("orders"), &SequenceSpec::default())
            .await
            .unwrap();
        ledger
            .create_pool(&name("pool"), PoolKind::uuid1([1; 8]).into())
            .await
            .unwrap();
        let old = hidden('\u{2067}');
        for (from, to) in [("seq/orders", "seq/"), ("pool/pool", "pool/")] {
            let key = |text: String| Key::new(text).unwrap();
            let found = kept.get(&key(from.into())).await.unwrap().unwrap();
            let to = key(format!("{to}{}", old.to_key()));
            let written = kept
                .compare_and_set(&to, None, found.value, Marks::NeverLower)
                .await;
            assert!(matches!(written, Ok(Cas::Done(_))));
        }
        let first = ledger
            .sequence_or_create(&old)
            .await
            .unwrap()
            .take(1)
            .await
            .unwrap();
        assert_eq!(first.first, 1);
        ledger
            .create_pool(&old, PoolKind::uuid1([1; 8]).into())
            .await
            .unwrap();
        ledger.set(&old, at(7)).await.unwrap();
        ledger.drop_sequence(&old).await.unwrap();
        ledger.drop_pool(&old).await.unwrap();
        ledger.create(&old, &SequenceSpec::default()).await.unwrap_err();
    });
}
