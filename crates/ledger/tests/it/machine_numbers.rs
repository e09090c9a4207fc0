//! Numbers for machines: one instance, one number, whichever server is asked and whatever becomes of its answers.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use mintage::{Layout, Timestamp};
use mintage_ledger::*;
use mintage_testing::invariant;
use tokio::time::sleep;

use crate::common::{Node, World, in_world};

const MINUTE: Duration = Duration::from_secs(60);

/// A pool of 2^bits numbers whose windows are ten minutes long.
async fn pool_of(node: &Node, bits: u32) -> Arc<Pool> {
    let layout = Layout::builder("numbers")
        .epoch(Timestamp::from_unix_millis(1_577_203_200_000))
        .time("time", 41)
        .worker("machine", bits)
        .sequence("sequence", 22 - bits);
    let spec = PoolSpec {
        window: Some(10 * MINUTE),
        ..PoolKind::Snowflake(Arc::new(layout.build().unwrap())).into()
    };
    let name = Name::new("cosid:dev").unwrap();
    loop {
        // Over a store that fails, it may need several tries.
        if let Ok(pool) = node.ledger.create_pool(&name, spec.clone()).await {
            return pool;
        }
    }
}

async fn start(world: &mut World, bits: u32) -> (Node, Arc<Pool>) {
    let node = world.start_with(LedgerSettings::default()).await.unwrap();
    let pool = pool_of(&node, bits).await;
    (node, pool)
}

fn passing(instance: &str) -> MachineInstance<'_> {
    MachineInstance {
        instance,
        stable: false,
    }
}

fn stable(instance: &str) -> MachineInstance<'_> {
    MachineInstance {
        instance,
        stable: true,
    }
}

async fn lease(pool: &Pool, machine: MachineInstance<'_>) -> Result<MachineNumber, MachineError> {
    pool.lease_machine(machine, 1 << 20, 5 * MINUTE).await
}

#[test]
fn servers_agree_on_the_number_of_an_instance_and_forget_nothing() {
    in_world(1, FaultPlan::NONE, async |mut world| {
        let (one, on_one) = start(&mut world, 3).await;
        let (_two, on_two) = start(&mut world, 3).await;
        let first = lease(&on_one, passing("a")).await.unwrap();
        assert_eq!((first.number, first.used_until), (0, None), "never used");
        let again = lease(&on_two, passing("a")).await.unwrap();
        assert_eq!(again.number, 0);
        assert!(again.used_until.is_some(), "it may have minted");
        assert_eq!(lease(&on_two, passing("b")).await.unwrap().number, 1);
        one.crash();
        on_two.guard_machine(passing("a"), 5 * MINUTE).await.unwrap();
        let (_three, on_three) = start(&mut world, 3).await;
        assert_eq!(lease(&on_three, passing("a")).await.unwrap().number, 0);
    });
}

// claim: P12
#[test]
fn a_number_goes_to_another_once_its_lease_has_passed_and_never_used_ones_go_first() {
    in_world(2, FaultPlan::NONE, async |mut world| {
        let (_node, pool) = start(&mut world, 1).await;
        let a = lease(&pool, passing("a")).await.unwrap();
        sleep(6 * MINUTE).await;
        assert_eq!(lease(&pool, passing("b")).await.unwrap().number, 1);
        sleep(Duration::from_secs(1)).await;
        // Both were used; that of `a` has passed.
        let c = lease(&pool, passing("c")).await.unwrap();
        assert_eq!(c.number, a.number);
        assert!(c.used_until.unwrap() > a.until, "nobody before this has minted");
        let full = lease(&pool, passing("d")).await.unwrap_err();
        assert!(matches!(full, MachineError::NoneFree(_)), "{full}");
        assert!(
            full.to_string().ends_with("the next may be free in 300 s"),
            "{full}"
        );
        // `a` is told that it lost; what it asks for is a number like anybody's.
        let lost = pool.guard_machine(passing("a"), MINUTE).await.unwrap_err();
        assert!(matches!(lost, MachineError::Lost { number: 0, .. }), "{lost}");
        assert!(lease(&pool, passing("a")).await.is_err());
        let b = pool.guard_machine(passing("b"), MINUTE).await.unwrap();
        let shorter = pool.guard_machine(passing("b"), Duration::from_secs(10)).await;
        assert_eq!(shorter.unwrap().until, b.until, "a guard never shortens");
        sleep(6 * MINUTE).await;
        // Of several that have passed the one that ended first.
        let left = lease(&pool, passing("e")).await.unwrap();
        assert_eq!(left.number, 1);
    });
}

#[test]
fn an_instance_that_lost_its_number_is_told_so() {
    in_world(3, FaultPlan::NONE, async |mut world| {
        let (_node, pool) = start(&mut world, 3).await;
        lease(&pool, passing("a")).await.unwrap();
        pool.retire(0).await.unwrap();
        let lost = pool.guard_machine(passing("a"), MINUTE).await.unwrap_err();
        assert!(matches!(lost, MachineError::Lost { number: 0, .. }), "{lost}");
        // Nobody has it while its window lies ahead, and then everybody may.
        assert_eq!(lease(&pool, passing("a")).await.unwrap().number, 1);
        let none = pool.guard_machine(passing("z"), MINUTE).await.unwrap_err();
        assert!(matches!(none, MachineError::Unknown(_)), "{none}");
    });
}

#[test]
fn a_stable_instance_keeps_its_number_for_ever() {
    in_world(4, FaultPlan::NONE, async |mut world| {
        let (node, pool) = start(&mut world, 1).await;
        assert_eq!(lease(&pool, stable("a:1")).await.unwrap().number, 0);
        pool.return_machine(stable("a:1")).await.unwrap();
        pool.return_machine(stable("a:1")).await.unwrap();
        sleep(60 * MINUTE).await;
        lease(&pool, passing("b")).await.unwrap();
        assert!(lease(&pool, passing("c")).await.is_err(), "0 is kept, 1 is held");
        // Nor does a program that mints by itself get it, nor this process.
        assert!(pool.lend("program").await.is_err());
        assert!(pool.mint(&mut [0; 1]).await.is_err());
        assert_eq!(lease(&pool, stable("a:1")).await.unwrap().number, 0);
        // It is given up, and then free like others.
        pool.return_machine(passing("a:1")).await.unwrap();
        let unknown = pool.return_machine(passing("a:1")).await.unwrap_err();
        assert!(matches!(unknown, MachineError::Unknown(_)), "{unknown}");
        sleep(6 * MINUTE).await;
        assert_eq!(lease(&pool, passing("c")).await.unwrap().number, 0);
        node.ledger.close().await.unwrap();
    });
}

#[test]
fn a_number_given_back_is_free_once_its_lease_has_passed() {
    in_world(5, FaultPlan::NONE, async |mut world| {
        let (_node, pool) = start(&mut world, 1).await;
        lease(&pool, passing("a")).await.unwrap();
        lease(&pool, passing("b")).await.unwrap();
        pool.return_machine(passing("a")).await.unwrap();
        assert!(lease(&pool, passing("c")).await.is_err(), "it may still mint");
        sleep(6 * MINUTE).await;
        pool.guard_machine(passing("b"), MINUTE).await.unwrap();
        assert_eq!(lease(&pool, passing("c")).await.unwrap().number, 0);
    });
}

#[test]
fn fewer_bits_are_a_smaller_share_of_the_same_numbers() {
    in_world(6, FaultPlan::NONE, async |mut world| {
        let (_node, pool) = start(&mut world, 3).await;
        let below = async |instance, below| {
            let machine = passing(instance);
            pool.lease_machine(machine, below, MINUTE).await.map(|n| n.number)
        };
        assert_eq!(below("a", 2).await, Ok(0));
        assert_eq!(below("b", 8).await, Ok(1));
        assert!(matches!(below("c", 2).await, Err(MachineError::NoneFree(_))));
        assert_eq!(below("c", 1 << 30).await, Ok(2));
        // Its program may be minting with number 2: it is not exchanged under it.
        let held = below("c", 2).await.unwrap_err();
        assert!(held.to_string().contains("has number 2"), "{held}");
        sleep(2 * MINUTE).await;
        assert_eq!(below("c", 2).await, Ok(0));
    });
}

#[test]
fn a_register_that_is_gone_is_found_again_by_the_window() {
    in_world(7, FaultPlan::NONE, async |mut world| {
        let (_node, pool) = start(&mut world, 3).await;
        for instance in ["a", "b", "c"] {
            lease(&pool, passing(instance)).await.unwrap();
        }
        let key = Key::new("machine/cosid:dev/b").unwrap();
        let found = world.store.get(&key).await.unwrap().unwrap();
        let removed = world.store.remove(&key, found.version).await.unwrap();
        assert!(matches!(removed, Cas::Done(_)));
        let guarded = pool.guard_machine(passing("b"), MINUTE).await.unwrap();
        assert_eq!(guarded.number, 1);
        assert_eq!(lease(&pool, passing("b")).await.unwrap().number, 1);
        // A program that mints by itself and calls itself the same is another one.
        pool.lend("d").await.unwrap();
        assert!(pool.guard_machine(passing("d"), MINUTE).await.is_err());
    });
}

/// Programs that never guard ask for leases as long as their clock counts, and their numbers stay theirs.
// claim: P12
#[test]
fn a_lease_that_is_longer_than_the_windows_keeps_its_number() {
    in_world(16, FaultPlan::NONE, async |mut world| {
        let (node, pool) = start(&mut world, 1).await;
        let hour = pool.lease_machine(passing("a"), 2, 60 * MINUTE).await.unwrap();
        let ever = pool.lease_machine(passing("b"), 2, Duration::MAX).await.unwrap();
        assert_eq!((hour.number, ever.number), (0, 1));
        assert!(
            ever.until > hour.until && hour.until > world.now(),
            "{hour:?} {ever:?}"
        );
        sleep(50 * MINUTE).await;
        // Their windows have passed; nobody has their numbers, for a machine or a program.
        assert!(matches!(
            lease(&pool, passing("c")).await,
            Err(MachineError::NoneFree(_))
        ));
        assert!(pool.lend("program").await.is_err());
        // A guard does not shorten it; a program that starts anew says itself how long it wants the number.
        pool.guard_machine(passing("a"), MINUTE).await.unwrap();
        sleep(9 * MINUTE).await;
        assert!(lease(&pool, passing("c")).await.is_err());
        sleep(2 * MINUTE).await;
        assert_eq!(lease(&pool, passing("c")).await.unwrap().number, 0);
        assert_eq!(
            pool.lease_machine(passing("b"), 2, MINUTE).await.unwrap().number,
            1
        );
        // Nor does this process get one that is kept, and it gets one that is not.
        assert!(pool.mint(&mut [0; 1]).await.is_err());
        sleep(2 * MINUTE).await;
        pool.mint(&mut [0; 1]).await.unwrap();
        node.ledger.close().await.unwrap();
    });
}

#[test]
fn a_guard_that_does_not_say_how_long_lasts_as_long_as_the_lease_did() {
    in_world(18, FaultPlan::NONE, async |mut world| {
        let (_node, pool) = start(&mut world, 2).await;
        for (instance, lasting) in [("short", MINUTE), ("long", 60 * MINUTE), ("ever", Duration::MAX)] {
            let machine = passing(instance);
            let leased = pool.lease_machine(machine, 4, lasting).await.unwrap();
            let mut until = leased.until;
            for _ in 0..5 {
                sleep(MINUTE / 2).await;
                let guarded = pool.guard_machine_again(instance).await.unwrap();
                assert_eq!(guarded.number, leased.number);
                let later = guarded.until.unix_millis() - until.unix_millis();
                assert_eq!(later, if instance == "ever" { 0 } else { 30_000 }, "{instance}");
                until = guarded.until;
            }
        }
        lease(&pool, stable("kept")).await.unwrap();
        pool.guard_machine_again("kept").await.unwrap();
        sleep(60 * MINUTE).await;
        assert!(
            lease(&pool, passing("other")).await.unwrap().number == 0,
            "that of `short`"
        );
        assert!(lease(&pool, passing("more")).await.is_ok(), "that of `long`");
        assert!(lease(&pool, passing("none")).await.is_err());
        let unknown = pool.guard_machine_again("nobody").await.unwrap_err();
        assert!(matches!(unknown, MachineError::Unknown(_)), "{unknown}");
    });
}

#[test]
fn a_number_that_was_given_back_is_its_machines_again_at_once() {
    in_world(17, FaultPlan::NONE, async |mut world| {
        let (_node, pool) = start(&mut world, 1).await;
        lease(&pool, passing("a")).await.unwrap();
        pool.lease_machine(passing("b"), 2, Duration::MAX).await.unwrap();
        for lasting in [5 * MINUTE, 30 * MINUTE] {
            pool.return_machine(passing("a")).await.unwrap();
            assert!(matches!(
                lease(&pool, passing("c")).await,
                Err(MachineError::NoneFree(_))
            ));
            let again = pool.lease_machine(passing("a"), 2, lasting).await.unwrap();
            assert_eq!(again.number, 0);
            assert!(again.used_until.is_some(), "it may have minted");
            pool.guard_machine(passing("a"), MINUTE).await.unwrap();
        }
        // What an operator takes away is not its own any more.
        pool.return_machine(passing("a")).await.unwrap();
        sleep(11 * MINUTE).await;
        assert_eq!(lease(&pool, passing("c")).await.unwrap().number, 0);
        pool.retire(0).await.unwrap();
        for instance in ["a", "c"] {
            let refused = lease(&pool, passing(instance)).await;
            assert!(matches!(refused, Err(MachineError::NoneFree(_))), "{refused:?}");
        }
    });
}

#[test]
fn what_cannot_be_leased_is_refused_in_words() {
    in_world(8, FaultPlan::NONE, async |mut world| {
        let (_node, pool) = start(&mut world, 3).await;
        let name = "é".repeat(120);
        for instance in ["", "a\nb", &"x".repeat(290), &format!("{name}{name}")] {
            let refused = lease(&pool, passing(instance)).await.unwrap_err();
            assert!(matches!(refused, MachineError::Name(..)), "{refused}");
        }
        // What other systems call themselves.
        for (number, instance) in ["10.1.2.3:80", "host/with slash", "[::1]:8080", "é"]
            .iter()
            .enumerate()
        {
            assert_eq!(
                lease(&pool, passing(instance)).await.unwrap().number,
                number as u64
            );
        }
    });
}

#[test]
fn registers_of_machines_that_are_gone_do_not_pile_up() {
    in_world(9, FaultPlan::NONE, async |mut world| {
        let (_node, pool) = start(&mut world, 1).await;
        for at in 0..6 {
            lease(&pool, passing(&format!("host:{at}"))).await.unwrap();
            sleep(6 * MINUTE).await;
        }
        let prefix = Key::new("machine/").unwrap();
        let left = world.store.scan(&prefix, None, 100).await.unwrap();
        assert_eq!(left.len(), 4, "two for each number");
    });
}

#[test]
fn one_instance_that_asks_two_servers_at_once_gets_one_number() {
    for seed in 0..20 {
        let plan = FaultPlan {
            max_delay: Duration::from_millis(30),
            ..FaultPlan::NONE
        };
        let plan = FaultPlan { seed, ..plan };
        in_world(seed, plan, async |mut world| {
            let (_one, on_one) = start(&mut world, 3).await;
            let (_two, on_two) = start(&mut world, 3).await;
            let (a, b, c, d) = tokio::join!(
                lease(&on_one, passing("a")),
                lease(&on_two, passing("a")),
                lease(&on_one, passing("b")),
                lease(&on_two, passing("c")),
            );
            let [a, again, b, c] = [a, b, c, d].map(|answer| answer.unwrap().number);
            assert_eq!(a, again, "seed {seed}");
            assert!(a != b && b != c && a != c, "seed {seed}: {a} {b} {c}");
        });
    }
}

/// A start over a store that fails may need several tries.
async fn start_in_the_end(world: &mut World) -> (Node, Arc<Pool>) {
    loop {
        if let Ok(node) = world.start_with(LedgerSettings::default()).await {
            let pool = pool_of(&node, 2).await;
            return (node, pool);
        }
    }
}

/// What clients know: who has which number, and until when.
#[derive(Default)]
struct Known {
    leases: HashMap<u64, (String, Timestamp)>,
    answered: u32,
}

impl Known {
    #[track_caller]
    fn answered(&mut self, instance: &str, answer: MachineNumber, now: Timestamp, seed: u64) {
        self.answered += 1;
        let known = self.leases.insert(answer.number, (instance.into(), answer.until));
        if let Some((other, until)) = known.filter(|(other, _)| other != instance) {
            let number = answer.number;
            invariant!(
                until <= now,
                "seed {seed}: {number} of {other} went to {instance}"
            );
            invariant!(
                answer.used_until.is_some(),
                "seed {seed}: {number} was used by {other}"
            );
        }
    }
}

impl Known {
    /// A lease lasts no longer than its window from now on.
    fn may_have_ended(&mut self, instance: &str, now: Timestamp) {
        let latest = now.saturating_add(10 * MINUTE);
        for (_, until) in self.leases.values_mut().filter(|(holder, _)| holder == instance) {
            *until = (*until).min(latest);
        }
    }
}

// claim: P12
#[test]
fn no_two_instances_have_one_number_while_the_store_fails_in_every_way() {
    let mut answered = 0;
    for seed in 0..8 {
        let plan = FaultPlan {
            answer_lost: 40,
            refused: 20,
            unknown: 60,
            max_delay: Duration::from_millis(20),
            seed,
        };
        answered += in_world(seed, plan, async |mut world| {
            let (_one, one) = start_in_the_end(&mut world).await;
            let (_two, two) = start_in_the_end(&mut world).await;
            let mut known = Known::default();
            let mut dice = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
            for _ in 0..250 {
                dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let draw = |from: u32, below: u64| (dice >> from) % below;
                let instance = format!("host:{}", draw(20, 8));
                let pool = if draw(40, 2) == 0 { &one } else { &two };
                let machine = MachineInstance {
                    instance: &instance,
                    stable: draw(44, 32) == 0,
                };
                // Some are longer than the pool's windows.
                let lasting = Duration::from_secs(10 + draw(48, 20) + 700 * u64::from(draw(52, 16) == 0));
                // What is asked may have landed, answered or not: a lease that is longer than a window has ended.
                let act = draw(56, 8);
                if !(1..4).contains(&act) {
                    known.may_have_ended(&instance, world.now());
                }
                let answer = match act {
                    0 => pool.return_machine(machine).await.map(|()| None),
                    1..4 => pool.guard_machine(machine, lasting).await.map(Some),
                    _ => pool.lease_machine(machine, 8, lasting).await.map(Some),
                };
                if let Ok(Some(answer)) = answer {
                    let now = world.now();
                    known.answered(&instance, answer, now, seed);
                }
                sleep(Duration::from_millis(draw(30, 6_000))).await;
            }
            known.answered
        });
    }
    assert!(answered > 8 * 60, "{answered} answers");
}
