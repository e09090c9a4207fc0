//! Sequences over the memory store, several ledgers on one store, and over a store that fails.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use mintage::{Base, SequenceOptions};
use mintage_ledger::*;
use mintage_testing::{Distinct, invariant, rising};

fn run<F: Future>(test: impl FnOnce(Arc<SystemRuntime>) -> F) -> F::Output {
    let tokio = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    tokio.block_on(async { test(SystemRuntime::new(tokio::runtime::Handle::current())).await })
}

async fn ledger_on(store: &Arc<dyn Store>, runtime: &Arc<SystemRuntime>) -> Arc<Ledger> {
    Ledger::open(store.clone(), LedgerSettings::default(), runtime.clone())
        .await
        .unwrap()
}

async fn memory(runtime: &Arc<SystemRuntime>) -> Arc<dyn Store> {
    open_store("memory:", &StoreSettings::default(), runtime.clone())
        .await
        .unwrap()
}

fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}

fn spec(start: i64, increment: i64, min: i64, max: i64, cycle: bool) -> SequenceSpec {
    let options = SequenceOptions {
        start: Some(start),
        increment: Some(increment),
        min: Some(min),
        max: Some(max),
        cycle: Some(cycle),
    };
    SequenceSpec {
        options,
        ..Default::default()
    }
}

/// Takes exactly `n` numbers, in as many runs as it takes.
async fn numbers(sequence: &Arc<Sequence>, n: u64) -> Result<Vec<i64>, LedgerError> {
    let mut out = Vec::new();
    while (out.len() as u64) < n {
        out.extend(sequence.take(n - out.len() as u64).await?.iter());
    }
    Ok(out)
}

// claim: P17
#[test]
fn numbers_are_consecutive_on_one_ledger() {
    run(|runtime| async move {
        let ledger = ledger_on(&memory(&runtime).await, &runtime).await;
        let orders = ledger.sequence_or_create(&name("orders")).await.unwrap();
        let got = numbers(&orders, 10_000).await.unwrap();
        invariant!(got.iter().copied().eq(1..=10_000), "{got:?}");
        assert_eq!(orders.last_issued(), Some(10_000));
    });
}

// claim: P17
#[test]
fn a_contiguous_run_continues_where_single_numbers_ended() {
    run(|runtime| async move {
        let ledger = ledger_on(&memory(&runtime).await, &runtime).await;
        let k = ledger.sequence_or_create(&name("k")).await.unwrap();
        let mut at = 0;
        for n in [1, 10, 1, 1, 500, 3, 1_000_000, 1] {
            let run = k.take_contiguous(n).await.unwrap();
            invariant!(run.first == at + 1, "{} after {at}", run.first);
            assert_eq!(run.count, n);
            at = run.last();
        }
    });
}

fn reservations(ledger: &Ledger) -> u64 {
    let buckets = ledger.counters().reserve_buckets.iter();
    buckets.map(|bucket| bucket.load(Ordering::Relaxed)).sum()
}

/// Clients that take segments double them while they are hungry (CosId's SegmentChainId).
#[test]
fn a_run_of_any_length_is_one_reservation() {
    run(|runtime| async move {
        let ledger = ledger_on(&memory(&runtime).await, &runtime).await;
        let k = ledger.sequence_or_create(&name("k")).await.unwrap();
        let (mut n, mut at) = (100, 0);
        while let Some(left) = (i64::MAX as u64).checked_sub(at + n) {
            let before = reservations(&ledger);
            let run = k.take_contiguous(n).await.unwrap();
            invariant!(run.first as u64 == at + 1, "{} after {at}", run.first);
            assert_eq!((run.step, run.count), (1, n));
            invariant!(reservations(&ledger) <= before + 1, "a run of {n}");
            (at, n) = (at + n, n * 2);
            if left < n {
                let refused = k.take_contiguous(n).await.unwrap_err();
                let said = format!(
                    "sequence k has {left} numbers left before its bound, a run of {n} was asked for"
                );
                assert_eq!(refused.to_string(), said);
            }
        }
        // A refusal takes nothing, and what is left is had as one run or one by one.
        assert_eq!(k.take(1).await.unwrap().first as u64, at + 1);
        let rest = i64::MAX as u64 - at - 1;
        assert_eq!(k.take_contiguous(rest).await.unwrap().last(), i64::MAX);
        assert!(matches!(k.take(1).await, Err(LedgerError::Exhausted { .. })));
        for beyond in [i64::MAX as u64 + 1, u64::MAX] {
            assert!(matches!(
                k.take_contiguous(beyond).await,
                Err(LedgerError::Invalid(_))
            ));
        }
    });
}

#[test]
fn long_runs_of_several_servers_never_meet_and_those_that_are_refused_cost_nothing() {
    run(|runtime| async move {
        let store = memory(&runtime).await;
        let ledgers = [
            ledger_on(&store, &runtime).await,
            ledger_on(&store, &runtime).await,
        ];
        const LONG: u64 = 1 << 60;
        let mut tasks = Vec::new();
        for i in 0..8 {
            let k = ledgers[i % 2].sequence_or_create(&name("k")).await.unwrap();
            tasks.push(tokio::spawn(async move {
                let mut runs = Vec::new();
                for _ in 0..4 {
                    runs.extend(k.take_contiguous(LONG).await);
                    runs.extend(k.take_contiguous(7).await);
                }
                runs
            }));
        }
        let mut runs = Vec::new();
        for task in tasks {
            runs.extend(task.await.unwrap());
        }
        runs.sort_unstable_by_key(|run| run.first);
        for pair in runs.windows(2) {
            invariant!(pair[0].last() < pair[1].first, "{pair:?}");
        }
        // Two servers interleave: what one of them passes over is lost, and seven of the eight long runs are there.
        let long = runs.iter().filter(|run| run.count == LONG).count();
        assert!((4..=7).contains(&long), "{long}");
    });
}

// claim: P23
#[test]
fn three_numbers_and_a_crash_lose_at_most_four() {
    run(|runtime| async move {
        let store = memory(&runtime).await;
        let first = ledger_on(&store, &runtime).await;
        let k = first.sequence_or_create(&name("k")).await.unwrap();
        for expected in 1..=3 {
            assert_eq!(k.take(1).await.unwrap().first, expected);
            // Whatever refill that asked for happens.
            for _ in 0..20 {
                tokio::task::yield_now().await;
            }
        }
        // No close: as after a crash.
        let second = ledger_on(&store, &runtime).await;
        let next = second
            .sequence_or_create(&name("k"))
            .await
            .unwrap()
            .take(1)
            .await
            .unwrap()
            .first;
        invariant!((4..=8).contains(&next), "{next}");
    });
}

// claim: P22
#[test]
fn a_crash_loses_at_most_max_gap() {
    run(|runtime| async move {
        let store = memory(&runtime).await;
        let mut last = 0;
        for _ in 0..5 {
            let ledger = ledger_on(&store, &runtime).await;
            let k = ledger.sequence_or_create(&name("k")).await.unwrap();
            let got = numbers(&k, 300_000).await.unwrap();
            invariant!(
                got[0] > last && got[0] - last <= 100_001,
                "{} after {last}",
                got[0]
            );
            last = *got.last().unwrap();
        }
    });
}

// claim: P24
#[test]
fn gap_free_loses_nothing() {
    run(|runtime| async move {
        let store = memory(&runtime).await;
        let spec = SequenceSpec {
            gap: Gap::None,
            ..Default::default()
        };
        let mut expected = 1;
        for _ in 0..5 {
            let ledger = ledger_on(&store, &runtime).await;
            ledger.create(&name("bills"), &spec).await.unwrap();
            let bills = ledger.sequence_or_create(&name("bills")).await.unwrap();
            assert!(bills.try_take(1).is_none());
            for n in [1, 7, 2] {
                let got = numbers(&bills, n).await.unwrap();
                invariant!(
                    got.iter().copied().eq(expected..expected + n as i64),
                    "{got:?} from {expected} on"
                );
                expected += n as i64;
            }
            let first = bills.take_contiguous(5).await.unwrap().first;
            invariant!(first == expected, "{first} where {expected} is next");
            expected += 5;
        }
    });
}

// claim: P1
#[test]
fn ledgers_on_one_store_never_repeat() {
    run(|runtime| async move {
        let store = memory(&runtime).await;
        let mut ledgers = Vec::new();
        for _ in 0..4 {
            ledgers.push(ledger_on(&store, &runtime).await);
        }
        let mut seen = Distinct::of("numbers");
        for round in 0..200u64 {
            for ledger in &ledgers {
                let k = ledger.sequence_or_create(&name("k")).await.unwrap();
                seen.extend(numbers(&k, 1 + round % 7).await.unwrap());
                seen.extend(k.take_contiguous(1 + round % 5).await.unwrap());
            }
        }
    });
}

#[test]
fn limits_are_postgresqls() {
    run(|runtime| async move {
        let ledger = ledger_on(&memory(&runtime).await, &runtime).await;
        let cases: &[(&str, SequenceSpec, &[i64], bool)] = &[
            ("up", spec(1, 7, 1, 20, false), &[1, 8, 15], true),
            ("down", spec(-1, -7, -20, -1, false), &[-1, -8, -15], true),
            (
                "round",
                spec(5, 3, 1, 9, true),
                &[5, 8, 1, 4, 7, 1, 4, 7, 1],
                false,
            ),
            (
                "edge",
                spec(i64::MAX - 1, 1, 1, i64::MAX, false),
                &[i64::MAX - 1, i64::MAX],
                true,
            ),
        ];
        for (label, spec, expected, ends) in cases {
            ledger.create(&name(label), spec).await.unwrap();
            let sequence = ledger.sequence_or_create(&name(label)).await.unwrap();
            let mut got = Vec::new();
            let end = loop {
                if got.len() == expected.len() && !ends {
                    break None;
                }
                match sequence.take(1).await {
                    Ok(run) => got.extend(run.iter()),
                    Err(error) => break Some(error),
                }
            };
            assert_eq!(got, *expected, "{label}");
            assert_eq!(
                matches!(end, Some(LedgerError::Exhausted { .. })),
                *ends,
                "{label}: {end:?}"
            );
        }
        let up = ledger.sequence_or_create(&name("up")).await.unwrap();
        assert_eq!(
            up.take(1).await.unwrap_err().to_string(),
            "sequence up has reached its maximum value (20)"
        );
    });
}

#[test]
fn a_run_that_does_not_fit_before_the_bound_is_refused_and_costs_nothing() {
    run(|runtime| async move {
        let ledger = ledger_on(&memory(&runtime).await, &runtime).await;
        ledger
            .create(&name("k"), &spec(1, 1, 1, 10, false))
            .await
            .unwrap();
        let k = ledger.sequence_or_create(&name("k")).await.unwrap();
        let error = k.take_contiguous(11).await.unwrap_err();
        assert_eq!(
            error.to_string(),
            "sequence k has 10 numbers left before its bound, a run of 11 was asked for"
        );
        assert_eq!(k.take_contiguous(10).await.unwrap().last(), 10);
    });
}

#[test]
fn set_moves_forward_only() {
    run(|runtime| async move {
        let ledger = ledger_on(&memory(&runtime).await, &runtime).await;
        let called = |value| Base {
            value,
            is_called: true,
        };
        let made = ledger.set(&name("k"), called(10)).await.unwrap();
        assert_eq!(
            made,
            SetOutcome {
                previous: None,
                created: true
            }
        );
        let k = ledger.sequence_or_create(&name("k")).await.unwrap();
        assert_eq!(k.last_issued(), Some(10));
        assert_eq!(numbers(&k, 3).await.unwrap(), [11, 12, 13]);
        let error = ledger.set(&name("k"), called(12)).await.unwrap_err();
        assert_eq!(error.to_string(), "k is at 13, SET only moves forward");
        assert_eq!(numbers(&k, 1).await.unwrap(), [14]);
        let moved = ledger.set(&name("k"), called(14)).await.unwrap();
        assert_eq!(
            moved,
            SetOutcome {
                previous: Some(14),
                created: false
            }
        );
        ledger.set(&name("k"), called(100)).await.unwrap();
        assert_eq!(numbers(&k, 2).await.unwrap(), [101, 102]);
        let error = ledger
            .set(
                &name("k"),
                Base {
                    value: 102,
                    is_called: false,
                },
            )
            .await
            .unwrap_err();
        assert!(
            matches!(error, LedgerError::OnlyForward { at: 102, .. }),
            "{error:?}"
        );
        ledger
            .set(
                &name("k"),
                Base {
                    value: 103,
                    is_called: false,
                },
            )
            .await
            .unwrap();
        assert_eq!(numbers(&k, 1).await.unwrap(), [103]);
    });
}

#[test]
fn a_first_set_takes_every_value_and_goes_on_from_there() {
    run(|runtime| async move {
        let ledger = ledger_on(&memory(&runtime).await, &runtime).await;
        let edges = [
            i64::MIN,
            i64::MIN + 1,
            -(1 << 53),
            -2,
            -1,
            0,
            1,
            2,
            1 << 53,
            i64::MAX - 1,
            i64::MAX,
        ];
        for (n, value) in edges.into_iter().enumerate() {
            let name = name(&format!("k{n}"));
            let to = Base {
                value,
                is_called: true,
            };
            assert!(ledger.set(&name, to).await.unwrap().created, "{value}");
            let sequence = ledger.sequence_or_create(&name).await.unwrap();
            assert_eq!(sequence.last_issued(), Some(value));
            let shown = ledger.show(&name).await.unwrap();
            assert_eq!((shown.last, shown.def.min), (Some(value), value.min(1)));
            match value.checked_add(1) {
                Some(next) => assert_eq!(numbers(&sequence, 1).await.unwrap(), [next]),
                None => {
                    let error = numbers(&sequence, 1).await.unwrap_err();
                    assert!(matches!(error, LedgerError::Exhausted { .. }), "{error:?}");
                    continue;
                }
            }
            // Never back, whether it exists or was dropped, and however low its minimum is.
            let back = ledger.set(&name, to).await.unwrap_err();
            assert!(
                matches!(back, LedgerError::OnlyForward { at, .. } if at == value + 1),
                "{back:?}"
            );
            ledger.drop_sequence(&name).await.unwrap();
            for value in [value, value.saturating_sub(7)] {
                let to = Base {
                    value,
                    is_called: true,
                };
                let back = ledger.set(&name, to).await.unwrap_err();
                // At the very end nothing is left beyond what was dropped.
                let refused = matches!(back, LedgerError::OnlyForward { .. } | LedgerError::Invalid(_));
                assert!(refused, "{value}: {back:?}");
            }
        }
    });
}

// claim: P7
#[test]
fn restart_backwards_needs_allow_repeat() {
    run(|runtime| async move {
        let ledger = ledger_on(&memory(&runtime).await, &runtime).await;
        let k = ledger.sequence_or_create(&name("k")).await.unwrap();
        numbers(&k, 50).await.unwrap();
        let to = Base {
            value: 1,
            is_called: false,
        };
        let error = ledger.restart(&name("k"), to, false).await.unwrap_err();
        assert!(matches!(error, LedgerError::NeedsAllowRepeat { .. }), "{error:?}");
        assert_eq!(numbers(&k, 1).await.unwrap(), [51]);
        ledger.restart(&name("k"), to, true).await.unwrap();
        assert_eq!(numbers(&k, 2).await.unwrap(), [1, 2]);
        ledger
            .set(
                &name("k"),
                Base {
                    value: 9,
                    is_called: true,
                },
            )
            .await
            .unwrap();
        assert_eq!(numbers(&k, 1).await.unwrap(), [10]);
    });
}

#[test]
fn a_sequence_that_was_moved_and_not_used_since_tells_where_it_goes_on() {
    run(|runtime| async move {
        let store = memory(&runtime).await;
        let ledger = ledger_on(&store, &runtime).await;
        let at = |info: &SequenceInfo| (info.last, info.first);
        let made = ledger
            .create(&name("k"), &spec(3, 1, 1, 1000, false))
            .await
            .unwrap();
        assert_eq!(at(&made), (None, 3));
        let to = |value, is_called| Base { value, is_called };
        let moved = ledger.restart(&name("k"), to(7, false), false).await.unwrap();
        assert_eq!(at(&moved.info), (None, 7));
        assert_eq!(at(&ledger.show(&name("k")).await.unwrap()), (None, 7));
        assert_eq!(at(&ledger.list(None, 10).await.unwrap()[0]), (None, 7));
        // As another process reads it.
        let other = ledger_on(&store, &runtime).await;
        assert_eq!(at(&other.show(&name("k")).await.unwrap()), (None, 7));
        let k = ledger.sequence_or_create(&name("k")).await.unwrap();
        assert_eq!(numbers(&k, 1).await.unwrap(), [7]);
        assert_eq!(ledger.show(&name("k")).await.unwrap().last, Some(7));
        let called = ledger.restart(&name("k"), to(20, true), false).await.unwrap();
        assert_eq!(called.info.last, Some(20));
    });
}

// claim: P7
#[test]
fn a_dropped_name_continues_above_its_mark() {
    run(|runtime| async move {
        let store = memory(&runtime).await;
        let ledger = ledger_on(&store, &runtime).await;
        let k = ledger.sequence_or_create(&name("k")).await.unwrap();
        numbers(&k, 7).await.unwrap();
        ledger.drop_sequence(&name("k")).await.unwrap();
        assert!(!k.exists());
        assert_eq!(k.last_issued(), None);
        assert!(matches!(
            ledger.show(&name("k")).await,
            Err(LedgerError::NotFound { .. })
        ));
        assert!(matches!(
            ledger.drop_sequence(&name("k")).await,
            Err(LedgerError::NotFound { .. })
        ));
        assert_eq!(ledger.list(None, 10).await.unwrap(), []);
        assert_eq!(ledger.sequence_count(), 0);
        // Through the old handle, through a new ledger, with another grid, in the other direction.
        assert_eq!(numbers(&k, 1).await.unwrap(), [8]);
        ledger.drop_sequence(&name("k")).await.unwrap();
        let other = ledger_on(&store, &runtime).await;
        other
            .create(&name("k"), &spec(5, 10, 1, 1000, false))
            .await
            .unwrap();
        let again = other.sequence_or_create(&name("k")).await.unwrap();
        assert_eq!(numbers(&again, 2).await.unwrap(), [15, 25]);
        other.drop_sequence(&name("k")).await.unwrap();
        other
            .create(&name("k"), &spec(100, -10, -1000, 100, false))
            .await
            .unwrap();
        assert_eq!(numbers(&again, 2).await.unwrap(), [0, -10]);
        other.drop_sequence(&name("k")).await.unwrap();
        let error = other
            .create(&name("k"), &spec(1, 1, 1, 20, false))
            .await
            .unwrap_err();
        assert!(error.to_string().contains("leave no further number"), "{error}");
        let error = other
            .set(
                &name("k"),
                Base {
                    value: 3,
                    is_called: true,
                },
            )
            .await
            .unwrap_err();
        assert!(
            matches!(error, LedgerError::OnlyForward { at: 25, .. }),
            "{error:?}"
        );
    });
}

#[test]
fn alter_keeps_the_position() {
    run(|runtime| async move {
        let ledger = ledger_on(&memory(&runtime).await, &runtime).await;
        let k = ledger.sequence_or_create(&name("k")).await.unwrap();
        numbers(&k, 5).await.unwrap();
        let patch = |options| SequencePatch {
            options,
            ..Default::default()
        };
        let by_ten = SequenceOptions {
            increment: Some(10),
            ..Default::default()
        };
        ledger.alter(&name("k"), &patch(by_ten)).await.unwrap();
        assert_eq!(numbers(&k, 2).await.unwrap(), [15, 25]);
        let small = SequenceOptions {
            max: Some(20),
            ..Default::default()
        };
        let error = ledger.alter(&name("k"), &patch(small)).await.unwrap_err();
        assert!(matches!(error, LedgerError::NeedsAllowRepeat { .. }), "{error:?}");
        let down = SequenceOptions {
            increment: Some(-1),
            ..Default::default()
        };
        let error = ledger.alter(&name("k"), &patch(down)).await.unwrap_err();
        assert!(matches!(error, LedgerError::NeedsAllowRepeat { .. }), "{error:?}");
        let gap_free = SequencePatch {
            gap: Some(Gap::None),
            ..Default::default()
        };
        ledger.alter(&name("k"), &gap_free).await.unwrap();
        assert_eq!(numbers(&k, 2).await.unwrap(), [35, 45]);
        assert!(matches!(
            ledger.alter(&name("nosuch"), &gap_free).await,
            Err(LedgerError::NotFound { .. })
        ));
    });
}

#[test]
fn creating_twice_is_fine_and_differently_is_not() {
    run(|runtime| async move {
        let ledger = ledger_on(&memory(&runtime).await, &runtime).await;
        ledger
            .create(&name("k"), &spec(1, 1, 1, 20, false))
            .await
            .unwrap();
        ledger
            .create(&name("k"), &spec(1, 1, 1, 20, false))
            .await
            .unwrap();
        let error = ledger
            .create(&name("k"), &spec(1, 1, 1, 30, false))
            .await
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "sequence k exists with another definition: max is 20, asked for 30"
        );
    });
}

#[test]
fn there_are_at_most_max_sequences() {
    run(|runtime| async move {
        let store = memory(&runtime).await;
        let settings = LedgerSettings {
            max_sequences: 2,
            ..Default::default()
        };
        let ledger = Ledger::open(store.clone(), settings.clone(), runtime.clone())
            .await
            .unwrap();
        for label in ["a", "b"] {
            numbers(&ledger.sequence_or_create(&name(label)).await.unwrap(), 1)
                .await
                .unwrap();
        }
        let third = ledger.sequence_or_create(&name("c")).await.unwrap();
        assert!(matches!(
            third.take(1).await,
            Err(LedgerError::TooMany { max: 2, .. })
        ));
        ledger.drop_sequence(&name("a")).await.unwrap();
        numbers(&third, 1).await.unwrap();
        // Counted again at the next opening.
        let again = Ledger::open(store, settings, runtime).await.unwrap();
        assert_eq!(again.sequence_count(), 2);
    });
}

#[test]
fn without_auto_create_unknown_names_are_refused() {
    run(|runtime| async move {
        let settings = LedgerSettings {
            auto_create: false,
            ..Default::default()
        };
        let ledger = Ledger::open(memory(&runtime).await, settings, runtime)
            .await
            .unwrap();
        let error = ledger.sequence_or_create(&name("k")).await.unwrap_err();
        assert_eq!(
            error.to_string(),
            "no sequence k, and a first use makes none (sequences.auto_create = false): import its counter (mint import), or \
             make it (mint seq create)"
        );
        let refused = |made: Result<(), LedgerError>| {
            assert!(matches!(made, Err(LedgerError::NoAutoCreate { .. })), "{made:?}");
        };
        let (spec, to) = (
            SequenceSpec::default(),
            Base {
                value: 7,
                is_called: true,
            },
        );
        refused(ledger.set(&name("k"), to).await.map(drop));
        refused(ledger.create_by_use(&name("k"), &spec).await.map(drop));
        for pool in [DEFAULT_POOL, UUID1_POOL] {
            refused(ledger.pool_or_default(&name(pool)).await.map(drop));
        }
        let pool = PoolKind::uuid1([7; 8]);
        refused(
            ledger
                .create_pool_by_use(&name("p"), pool.clone().into())
                .await
                .map(drop),
        );
        assert!(
            ledger.list(None, 10).await.unwrap().is_empty()
                && ledger.pools(None, 10).await.unwrap().is_empty()
        );
        ledger.create_pool(&name("p"), pool.clone().into()).await.unwrap();
        ledger.create_pool_by_use(&name("p"), pool.into()).await.unwrap();
        ledger.create(&name("k"), &SequenceSpec::default()).await.unwrap();
        let k = ledger.sequence_or_create(&name("k")).await.unwrap();
        assert_eq!(numbers(&k, 1).await.unwrap(), [1]);
    });
}

#[test]
fn threads_share_a_sequence_without_repeats() {
    run(|runtime| async move {
        let ledger = ledger_on(&memory(&runtime).await, &runtime).await;
        let k = ledger.sequence_or_create(&name("k")).await.unwrap();
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let k = k.clone();
                std::thread::spawn(move || {
                    let tokio = tokio::runtime::Builder::new_current_thread().build().unwrap();
                    tokio.block_on(async { numbers(&k, 200_000).await.unwrap() })
                })
            })
            .collect();
        // The worker runs on this runtime while the threads take.
        while !threads.iter().all(|thread| thread.is_finished()) {
            tokio::task::yield_now().await;
        }
        let mut all: Vec<i64> = threads
            .into_iter()
            .flat_map(|thread| thread.join().unwrap())
            .collect();
        all.sort_unstable();
        rising("sorted numbers of all threads", &all);
        let last = all[all.len() - 1];
        assert_eq!(all.len(), 800_000);
        invariant!(last <= 800_000 + 100_000, "{last} after 800000 numbers");
    });
}

/// A store that other processes use too: nothing is given back.
#[derive(Debug)]
struct SharedStore {
    inner: Arc<MemoryStore>,
    /// Every second write is delivered twice, and the second answer is the one that arrives.
    twice: bool,
    writes: AtomicU64,
    /// The answer of the next claim is lost.
    loses: AtomicBool,
}

impl SharedStore {
    fn open(twice: bool) -> Arc<dyn Store> {
        SharedStore::over(MemoryStore::with_cluster_id(1), twice)
    }

    fn over(inner: Arc<MemoryStore>, twice: bool) -> Arc<SharedStore> {
        Arc::new(SharedStore {
            inner,
            twice,
            writes: AtomicU64::new(0),
            loses: AtomicBool::new(false),
        })
    }
}

impl Store for SharedStore {
    delegate_store!(inner, but scheme class compare_and_set claim exclusive);

    fn scheme(&self) -> &'static str {
        "shared"
    }

    fn class(&self) -> Class {
        Class::Durable
    }

    fn compare_and_set<'a>(
        &'a self,
        key: &'a Key,
        expected: Option<Version>,
        new: Value,
        marks: Marks,
    ) -> StoreResult<'a, Cas> {
        Box::pin(async move {
            if key.as_str().starts_with("seq/") && self.loses.swap(false, Ordering::Relaxed) {
                self.inner.compare_and_set(key, expected, new, marks).await?;
                return Err(StoreError::new(
                    StoreErrorKind::Unavailable,
                    Outcome::Unknown,
                    "the answer is lost",
                ));
            }
            let first = self
                .inner
                .compare_and_set(key, expected, new.clone(), marks)
                .await;
            let even = self.writes.fetch_add(1, Ordering::Relaxed).is_multiple_of(2);
            match self.twice && even {
                true => self.inner.compare_and_set(key, expected, new, marks).await,
                false => first,
            }
        })
    }
}

/// A name that somebody else had made meanwhile was used by the definition known before: a block for the stock was
/// claimed of a gap-free sequence, and more than `max_gap` of another.
#[test]
fn the_first_use_of_a_name_made_elsewhere_goes_by_its_definition() {
    run(|runtime| async move {
        for (gap, max_gap) in [(Gap::None, None), (Gap::Bounded, Some(3))] {
            let store = SharedStore::open(false);
            let (a, b) = (
                ledger_on(&store, &runtime).await,
                ledger_on(&store, &runtime).await,
            );
            let early = a.sequence_or_create(&name("bills")).await.unwrap();
            let spec = SequenceSpec {
                gap,
                max_gap,
                ..Default::default()
            };
            b.create(&name("bills"), &spec).await.unwrap();
            let run = early.take(20).await.unwrap();
            assert_eq!((run.first, run.count), (1, 20));
            let ordinal = a.show(&name("bills")).await.unwrap().ordinal;
            invariant!(
                ordinal <= 20 + max_gap.unwrap_or(0),
                "{gap:?}: {ordinal} reserved"
            );
        }
    });
}

/// An attempt that was delivered twice was told "lost", to a record with its own token, and left a hole.
// claim: P6, P24
#[test]
fn a_write_that_is_delivered_twice_is_one_write() {
    run(|runtime| async move {
        let store = SharedStore::open(true);
        let ledger = ledger_on(&store, &runtime).await;
        let spec = SequenceSpec {
            gap: Gap::None,
            ..Default::default()
        };
        ledger.create(&name("bills"), &spec).await.unwrap();
        let bills = ledger.existing(&name("bills")).await.unwrap();
        let got = numbers(&bills, 100).await.unwrap();
        invariant!(got.iter().copied().eq(1..=100), "{got:?}");
    });
}

/// A claim that was done unheard was only recognised while nobody else had written since; after that its numbers were
/// a hole in a gap-free sequence.
// claim: P6, P24
#[test]
fn a_claim_done_unheard_is_known_after_somebody_else_claimed() {
    run(|runtime| async move {
        let inner = MemoryStore::with_cluster_id(1);
        let (store_a, store_b) = (
            SharedStore::over(inner.clone(), false),
            SharedStore::over(inner, false),
        );
        let a = ledger_on(&(store_a.clone() as Arc<dyn Store>), &runtime).await;
        let b = ledger_on(&(store_b as Arc<dyn Store>), &runtime).await;
        let spec = SequenceSpec {
            gap: Gap::None,
            ..Default::default()
        };
        a.create(&name("bills"), &spec).await.unwrap();
        let (bills_a, bills_b) = (
            a.existing(&name("bills")).await.unwrap(),
            b.existing(&name("bills")).await.unwrap(),
        );
        assert_eq!(bills_b.take(1).await.unwrap().first, 1);
        assert_eq!(bills_a.take(1).await.unwrap().first, 2);
        store_a.loses.store(true, Ordering::Relaxed);
        let unheard = bills_a.take(1).await;
        assert!(
            matches!(unheard, Err(LedgerError::Unavailable { .. })),
            "{unheard:?}"
        );
        assert_eq!(bills_b.take(1).await.unwrap().first, 4);
        // The store is asked again after a while.
        let found = loop {
            match bills_a.take(1).await {
                Err(LedgerError::Unavailable { .. }) => tokio::task::yield_now().await,
                found => break found.unwrap().first,
            }
        };
        let next = bills_a.take(1).await.unwrap().first;
        invariant!((found, next) == (3, 5), "{found} and {next}: a hole");
    });
}

/// A change took back what its process had in stock, which a copy of the process could still issue.
#[test]
fn a_change_on_a_shared_store_spends_the_stock() {
    run(|runtime| async move {
        let store = SharedStore::open(false);
        let ledger = ledger_on(&store, &runtime).await;
        let orders = ledger.sequence_or_create(&name("orders")).await.unwrap();
        let mut last = 0;
        let mut reserved = 0;
        // Until a refill has left something in stock.
        while reserved <= last {
            last = *numbers(&orders, 100).await.unwrap().last().unwrap();
            tokio::task::yield_now().await;
            reserved = ledger.show(&name("orders")).await.unwrap().ordinal as i64;
        }
        let patch = SequencePatch {
            max_gap: Some(5_000),
            ..Default::default()
        };
        ledger.alter(&name("orders"), &patch).await.unwrap();
        let next = orders.take(1).await.unwrap().first;
        invariant!(next > reserved, "{next}: {reserved} were reserved");
    });
}
