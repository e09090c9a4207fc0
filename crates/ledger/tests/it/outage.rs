//! A shared store that freezes, dies and comes back, in virtual time: nobody notices while the budget lasts, nothing
//! repeats, and a crash loses no more than `max_gap`.

use std::time::Duration;

use mintage::Base;
use mintage_ledger::*;
use mintage_testing::invariant;
use tokio::time::Instant;

use crate::common::{Drive, World, copied, in_world, new_journal, secs};

fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}

#[track_caller]
fn check_unnoticed(drive: &Drive) {
    assert_eq!((drive.failed, drive.waited), (0, 0), "{drive:?}");
}

#[track_caller]
fn retry_after(error: &LedgerError) -> u64 {
    match error {
        LedgerError::Unavailable { retry_after_s, .. } => *retry_after_s,
        other => panic!("{other}"),
    }
}

// claim: P34
#[test]
fn sixty_seconds_without_the_store_go_unnoticed_at_10_000_a_second() {
    for dead in [false, true] {
        in_world(1, FaultPlan::NONE, |mut world| async move {
            let node = world.start(Some(new_journal())).await;
            let before = world.drive(&[&node], "orders", 10_000, secs(12)).await;
            assert_eq!(before.failed, 0, "{before:?}");
            match dead {
                true => world.store.fail_all(true),
                false => world.store.freeze(true),
            }
            check_unnoticed(&world.drive(&[&node], "orders", 10_000, secs(60)).await);
            let stock = &node.ledger.stocks()[0];
            assert!(stock.seconds < 35.0 && stock.rate > 9_000.0, "{stock:?}");
        });
    }
}

#[test]
fn when_stock_ends_clients_hear_when_to_come_back_and_the_store_is_used_as_soon_as_it_answers() {
    in_world(2, FaultPlan::NONE, |mut world| async move {
        let node = world.start(Some(new_journal())).await;
        world.drive(&[&node], "orders", 1000, secs(12)).await;
        world.store.freeze(true);
        let dry = world.drive(&[&node], "orders", 1000, secs(120)).await;
        let lasted = dry.until_failed.unwrap();
        assert!(lasted > secs(60) && lasted < secs(95), "{lasted:?}");
        assert_eq!(retry_after(&dry.error.unwrap()), 1);
        let status = node.ledger.store_status();
        assert!(
            status.down_for > Some(secs(119)) && !node.ledger.ready().ready,
            "{status:?}"
        );
        // Only the few that ask whether it is back wait for it.
        assert!(
            dry.waited * 10 < dry.failed,
            "{} of {} waited",
            dry.waited,
            dry.failed
        );
        world.store.freeze(false);
        let after = world.drive(&[&node], "orders", 1000, secs(20)).await;
        assert!(after.failed < 1000, "{after:?}");
        check_unnoticed(&world.drive(&[&node], "orders", 1000, secs(5)).await);
        assert!(node.ledger.ready().ready);
        world.store.freeze(true);
        check_unnoticed(&world.drive(&[&node], "orders", 1000, secs(60)).await);
    });
}

// claim: P22
#[test]
fn without_a_journal_max_gap_limits_the_budget() {
    in_world(3, FaultPlan::NONE, |mut world| async move {
        let node = world.start(None).await;
        world.drive(&[&node], "orders", 10_000, secs(15)).await;
        let (mark, last) = (world.mark("orders").await, world.count());
        invariant!(mark - last <= 100_000, "{} unused", mark - last);
        world.store.freeze(true);
        let drive = world.drive(&[&node], "orders", 10_000, secs(20)).await;
        let lasted = drive.until_failed.unwrap();
        assert!(
            lasted > Duration::from_millis(8500) && lasted <= secs(10),
            "{lasted:?}"
        );
    });
    // A slow name has its whole budget.
    in_world(3, FaultPlan::NONE, |mut world| async move {
        let node = world.start(None).await;
        world.drive(&[&node], "orders", 1000, secs(12)).await;
        world.store.freeze(true);
        check_unnoticed(&world.drive(&[&node], "orders", 1000, secs(60)).await);
    });
}

#[test]
fn a_journal_that_fails_costs_the_budget_until_the_next_start_and_repeats_nothing() {
    in_world(11, FaultPlan::NONE, |mut world| async move {
        let disk = world.frail_journal(FaultPlan::NONE);
        let node = world.start(Some(disk.clone())).await;
        world.drive(&[&node], "orders", 10_000, secs(15)).await;
        disk.fail_all(true);
        let drive = world.drive(&[&node], "orders", 10_000, secs(15)).await;
        assert_eq!(drive.failed, 0, "the store is there: {drive:?}");
        world.store.freeze(true);
        let drive = world.drive(&[&node], "orders", 10_000, secs(20)).await;
        assert!(
            drive.until_failed.unwrap() <= secs(10),
            "as without a journal: {drive:?}"
        );
        drop(node.crash());
        world.store.freeze(false);
        disk.fail_all(false);
        let node = world.start(Some(disk)).await;
        world.drive(&[&node], "orders", 10_000, secs(15)).await;
        world.store.freeze(true);
        check_unnoticed(&world.drive(&[&node], "orders", 10_000, secs(60)).await);
    });
}

// claim: P22
#[test]
fn a_crash_loses_at_most_what_was_in_memory_and_the_next_process_goes_on_with_the_rest() {
    in_world(4, FaultPlan::NONE, |mut world| async move {
        let mut journal = Some(new_journal());
        let mut last = 0;
        for round in 0..5 {
            let node = world.start(journal).await;
            if round > 0 {
                let mark = world.mark("orders").await;
                let orders = node.ledger.sequence_or_create(&name("orders")).await.unwrap();
                let run = orders.take(1).await.unwrap();
                let lost = run.first - last - 1;
                invariant!((0..=20_000).contains(&lost), "{lost} lost in a crash");
                assert_eq!(world.mark("orders").await, mark, "the large block is resumed");
                world.saw("orders", run);
            }
            last = world
                .drive(&[&node], "orders", 10_000, secs(13 + round))
                .await
                .last;
            assert!(
                world.mark("orders").await as i64 - last > 500_000,
                "the budget is owned"
            );
            journal = node.crash();
        }
    });
}

// claim: P25
#[test]
fn a_clean_stop_with_a_journal_loses_nothing() {
    in_world(5, FaultPlan::NONE, |mut world| async move {
        let mut journal = Some(new_journal());
        let mut expected = 0;
        for _ in 0..3 {
            let node = world.start(journal).await;
            let drive = world.drive(&[&node], "orders", 1000, secs(15)).await;
            expected += drive.asked as i64;
            invariant!(drive.last == expected, "{} after {expected}", drive.last);
            node.ledger.close().await.unwrap();
            tokio::time::sleep(secs(2)).await;
            journal = node.crash();
        }
    });
}

#[test]
fn what_an_old_copy_of_a_journal_owned_is_discarded() {
    in_world(6, FaultPlan::NONE, |mut world| async move {
        let node = world.start(Some(new_journal())).await;
        world.drive(&[&node], "orders", 1000, secs(15)).await;
        let old = copied(node.journal.as_ref().unwrap()).await;
        world.drive(&[&node], "orders", 1000, secs(3)).await;
        let mark = world.mark("orders").await;
        drop(node.crash());
        let node = world.start(Some(old)).await;
        let drive = world.drive(&[&node], "orders", 1000, secs(3)).await;
        invariant!(drive.last as u64 > mark, "{drive:?} after {mark}");
    });
}

#[test]
fn of_two_processes_with_one_journal_the_second_owns_nothing() {
    in_world(7, FaultPlan::NONE, |mut world| async move {
        let node = world.start(Some(new_journal())).await;
        world.drive(&[&node], "orders", 1000, secs(15)).await;
        let journal = node.crash().unwrap();
        let copy = copied(&journal).await;
        let a = world.start(Some(journal)).await;
        let b = world.start(Some(copy)).await;
        let c = world.start(Some(new_journal())).await;
        world.drive(&[&a, &b, &c], "orders", 1000, secs(15)).await;
        world.store.freeze(true);
        check_unnoticed(&world.drive(&[&c], "orders", 1000, secs(30)).await);
    });
}

// claim: P34
#[test]
fn two_nodes_have_their_budgets_and_never_repeat() {
    in_world(8, FaultPlan::NONE, |mut world| async move {
        let (a, b) = (
            world.start(Some(new_journal())).await,
            world.start(Some(new_journal())).await,
        );
        world.drive(&[&a, &b], "orders", 10_000, secs(13)).await;
        world.store.freeze(true);
        check_unnoticed(&world.drive(&[&a, &b], "orders", 10_000, secs(60)).await);
        world.store.freeze(false);
        world.drive(&[&a, &b], "orders", 10_000, secs(3)).await;
    });
}

#[test]
fn a_frozen_change_or_a_run_that_does_not_fit_holds_nobody_up() {
    in_world(9, FaultPlan::NONE, |mut world| async move {
        let node = world.start(Some(new_journal())).await;
        world.drive(&[&node], "orders", 1000, secs(12)).await;
        let orders = node.ledger.sequence_or_create(&name("orders")).await.unwrap();
        world.store.freeze(true);
        let (ledger, wide) = (node.ledger.clone(), orders.clone());
        let changes = tokio::spawn(async move {
            let to = Base {
                value: 1_000_000,
                is_called: true,
            };
            let set = ledger.set(&name("orders"), to).await;
            (
                set,
                wide.take_contiguous(5_000_000).await,
                ledger.sequence_or_create(&name("new")).await,
            )
        });
        check_unnoticed(&world.drive(&[&node], "orders", 1000, secs(30)).await);
        let (set, run, new) = changes.await.unwrap();
        assert!(retry_after(&set.unwrap_err()) >= 1);
        assert!(retry_after(&run.unwrap_err()) >= 1);
        assert!(retry_after(&new.unwrap_err()) >= 1);
        // A run that fits what is owned needs no store.
        let asked = Instant::now();
        let run = orders.take_contiguous(10_000).await.unwrap();
        world.saw("orders", run);
        assert_eq!((run.count, asked.elapsed()), (10_000, Duration::ZERO));
        assert_eq!(orders.last_issued(), Some(run.last()));
    });
}

#[test]
fn a_new_name_is_refused_at_once_while_the_store_is_known_to_be_down() {
    in_world(10, FaultPlan::NONE, |mut world| async move {
        let node = world.start(None).await;
        world.store.freeze(true);
        tokio::time::sleep(secs(10)).await;
        let mut waited = 0;
        for n in 0..1000 {
            let asked = Instant::now();
            let error = node
                .ledger
                .sequence_or_create(&name(&format!("n{n}")))
                .await
                .unwrap_err();
            assert!(retry_after(&error) >= 1);
            waited += u32::from(asked.elapsed() > Duration::ZERO);
        }
        assert_eq!(waited, 0);
    });
}

#[test]
fn numbers_of_an_older_definition_are_dropped_as_soon_as_another_is_seen() {
    in_world(11, FaultPlan::NONE, |mut world| async move {
        let (a, b) = (
            world.start(Some(new_journal())).await,
            world.start(Some(new_journal())).await,
        );
        world.drive(&[&a, &b], "orders", 1000, secs(15)).await;
        let to = Base {
            value: 50_000_000,
            is_called: true,
        };
        a.ledger.set(&name("orders"), to).await.unwrap();
        let generation = a.ledger.show(&name("orders")).await.unwrap().generation;
        let first = world.drive(&[&a], "orders", 100, Duration::from_millis(10)).await;
        assert_eq!(first.last, 50_000_001);
        b.ledger.saw_generation("orders", generation);
        let second = world.drive(&[&b], "orders", 100, Duration::from_millis(10)).await;
        invariant!(second.last > 50_000_000, "{second:?} of the old definition");
    });
}

#[test]
fn a_store_that_comes_back_is_not_stormed() {
    in_world(12, FaultPlan::NONE, |mut world| async move {
        let node = world.start(None).await;
        let mut sequences = Vec::new();
        for n in 0..500 {
            let sequence = node
                .ledger
                .sequence_or_create(&name(&format!("s{n}")))
                .await
                .unwrap();
            sequence.take(1).await.unwrap();
            sequences.push(sequence);
        }
        world.store.fail_all(true);
        for _ in 0..30 {
            for sequence in &sequences {
                let _ = sequence.take(1).await;
            }
            tokio::time::sleep(secs(1)).await;
        }
        let down = world.store.counts().calls;
        tokio::time::sleep(secs(60)).await;
        assert!(world.store.counts().calls - down < 200, "asked all the time");
        let before = world.store.counts().calls;
        world.store.fail_all(false);
        tokio::time::sleep(secs(3)).await;
        let calls = world.store.counts().calls - before;
        assert!((500..2000).contains(&calls), "{calls} calls");
        for sequence in &sequences {
            assert!(sequence.try_take(1).is_some());
        }
    });
}

struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

/// Nodes with journals, every other one on a disk that fails in every way, come, work, crash and come back over a store
/// that does so, too.
async fn one_life(mut world: World, seed: u64) -> (u64, u64) {
    let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut nodes = Vec::new();
    let mut journals = Vec::new();
    let mut refused = 0;
    for _ in 0..60 {
        if nodes.len() < 3 {
            let journal = journals.pop().unwrap_or_else(|| match dice.below(2) {
                0 => new_journal(),
                _ => world.frail_journal(FaultPlan::rough(dice.below(1 << 32))),
            });
            let settings = LedgerSettings {
                journal: Some(journal.clone()),
                ..LedgerSettings::default()
            };
            match world.start_with(settings).await {
                Ok(node) => nodes.push(node),
                Err(_) => journals.push(journal),
            }
            continue;
        }
        let at = dice.below(3) as usize;
        match dice.below(12) {
            0 => {
                journals.extend(nodes.swap_remove(at).crash());
                continue;
            }
            1 => world.store.freeze(dice.below(2) == 0),
            2 => {
                let value = dice.below(3_000_000) as i64 + 1;
                let to = Base {
                    value,
                    is_called: true,
                };
                let _ = nodes[at].ledger.set(&name("orders"), to).await;
            }
            3 => drop(nodes[at].ledger.drop_sequence(&name("orders")).await),
            _ => {}
        }
        let Ok(orders) = nodes[at].ledger.sequence_or_create(&name("orders")).await else {
            refused += 1;
            continue;
        };
        // At a rate, so that large blocks come about.
        let rate = 1 + dice.below(40);
        for _ in 0..dice.below(1500) {
            let taken = match dice.below(50) {
                0 => orders.take_contiguous(1 + dice.below(3000)).await,
                _ => orders.take(rate).await,
            };
            match taken {
                Ok(run) => world.saw("orders", run),
                Err(LedgerError::Unavailable { .. } | LedgerError::Closing) => {
                    refused += 1;
                    break;
                }
                Err(error) => panic!("{error}"),
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
    // The store is well again: everybody goes on.
    world.store.freeze(false);
    world.store.calm();
    for node in &nodes {
        let mut tries = 0;
        loop {
            match node.ledger.sequence_or_create(&name("orders")).await {
                Ok(orders) => match orders.take(1).await {
                    Ok(run) => break world.saw("orders", run),
                    Err(_) => tries += 1,
                },
                Err(_) => tries += 1,
            }
            assert!(tries < 20, "does not recover");
            tokio::time::sleep(secs(1)).await;
        }
    }
    (world.count(), refused)
}

// claim: P2, P6
#[test]
fn nothing_repeats_whatever_store_and_processes_do() {
    let (mut served, mut refused) = (0, 0);
    for seed in 1..=12 {
        let outcome = std::panic::catch_unwind(|| {
            in_world(seed, FaultPlan::rough(seed), |world| one_life(world, seed))
        });
        let (s, r) = outcome.unwrap_or_else(|_| panic!("seed {seed}"));
        served += s;
        refused += r;
    }
    // The faults really happened, and the runs were not empty.
    assert!(
        served > 50_000 && refused > 50,
        "{served} served, {refused} refused"
    );
}
