//! The anchored clock on a machine whose clocks the test turns.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use mintage::{Clock, Timestamp};
use mintage_ledger::*;
use mintage_testing::{Distinct, invariant};

const START_NS: i128 = 1_800_000_000_000_000_000;

#[derive(Debug, Default)]
struct Turned {
    boot_ms: AtomicU64,
    wall_off_ms: AtomicI64,
    /// Whoever reads the wall clock next stands still for so long before.
    stall_ms: AtomicU64,
    synchronised: std::sync::atomic::AtomicBool,
}

impl Runtime for Turned {
    fn wall(&self) -> Timestamp {
        let stall_ms = self.stall_ms.swap(0, Ordering::Relaxed);
        self.boot_ms.fetch_add(stall_ms, Ordering::Relaxed);
        let ms = self.boot_ms.load(Ordering::Relaxed) as i64 + self.wall_off_ms.load(Ordering::Relaxed);
        Timestamp::from_unix_nanos(START_NS + i128::from(ms) * 1_000_000)
    }
    fn boottime(&self) -> Duration {
        Duration::from_millis(self.boot_ms.load(Ordering::Relaxed))
    }
    fn sleep(&self, _: Duration) -> BoxFuture<'static, ()> {
        Box::pin(std::future::pending())
    }
    fn spawn(&self, _: BoxFuture<'static, ()>) {}
    fn spawn_thread(&self, _: &str, _: Box<dyn FnOnce() + Send>) -> std::io::Result<()> {
        Err(std::io::Error::other("no threads here"))
    }
    fn fill_random(&self, out: &mut [u8]) {
        out.fill(7);
    }
    fn clock_synchronised(&self) -> Option<bool> {
        Some(self.synchronised.load(Ordering::Relaxed))
    }
}

struct Bench {
    machine: Arc<Turned>,
    clock: AnchoredClock,
}

impl Bench {
    fn new(floor: Option<Timestamp>) -> Bench {
        let machine = Arc::new(Turned::default());
        let clock = AnchoredClock::new(machine.clone(), floor, Duration::from_secs(60));
        Bench { machine, clock }
    }

    /// Lets time pass, looking twice a second; the clock never goes back. Answers milliseconds since START.
    fn pass(&self, ms: u64) -> i64 {
        let mut before = self.clock.now();
        for _ in 0..ms / 500 {
            self.machine.boot_ms.fetch_add(500, Ordering::Relaxed);
            invariant!(self.clock.now() >= before, "the clock went back");
            before = self.clock.now();
            self.clock.look();
            invariant!(self.clock.now() >= before, "the clock went back at a look");
        }
        self.ms()
    }

    fn ms(&self) -> i64 {
        ((self.clock.now().unix_nanos() - START_NS) / 1_000_000) as i64
    }

    fn step(&self, ms: i64) {
        self.machine.wall_off_ms.fetch_add(ms, Ordering::Relaxed);
    }
}

#[test]
fn it_follows_a_steady_wall_clock() {
    let bench = Bench::new(None);
    assert_eq!(bench.pass(10_000), 10_000);
    assert_eq!(bench.clock.report().steps, 0);
}

#[test]
fn a_thread_that_is_set_aside_between_two_readings_sees_no_step() {
    let bench = Bench::new(None);
    bench.pass(1_000);
    // After the boot time was read and before the wall clock.
    bench.machine.stall_ms.store(6_000, Ordering::Relaxed);
    bench.pass(1_000);
    let report = bench.clock.report();
    assert_eq!((report.steps, report.unconfirmed, bench.ms()), (0, None, 8_000));
}

#[test]
fn a_small_step_is_slewed_at_one_per_mille() {
    for step in [2_000, -2_000] {
        let bench = Bench::new(None);
        bench.pass(1_000);
        bench.step(step);
        // 100 s at 1 per mille make up for 100 ms.
        let after = bench.pass(100_000) - 101_000;
        assert!((after - step.signum() * 100).abs() <= 2, "{step}: {after}");
        assert_eq!(bench.clock.report().steps, 1);
        let after = bench.pass(2_000_000) - 2_101_000;
        assert!((after - step).abs() <= 2, "{step}: {after}");
        assert_eq!(bench.clock.epoch(), 0);
    }
}

// claim: P63
#[test]
fn a_far_step_is_followed_only_after_it_has_stood() {
    for step in [3_600_000, -3_600_000] {
        let bench = Bench::new(None);
        bench.pass(1_000);
        bench.step(step);
        assert_eq!(bench.pass(30_000), 31_000, "{step}");
        assert_eq!(bench.clock.report().steps, 1);
        assert!(bench.clock.report().unconfirmed.is_some());
        assert_eq!(bench.clock.epoch(), 0);
        // Not `pass`: a confirmed step back may go back, with another epoch.
        for _ in 0..62 {
            bench.machine.boot_ms.fetch_add(500, Ordering::Relaxed);
            bench.clock.look();
        }
        assert_eq!((bench.clock.epoch(), bench.ms()), (1, 62_000 + step));
        assert_eq!(bench.clock.report().unconfirmed, None);
    }
}

#[test]
fn a_far_step_that_is_taken_back_is_forgotten() {
    let bench = Bench::new(None);
    bench.step(3_600_000);
    bench.pass(50_000);
    bench.step(-3_600_000);
    assert_eq!(bench.pass(100_000), 150_000);
    assert_eq!((bench.clock.epoch(), bench.clock.report().steps), (0, 2));
    let steps = bench.clock.steps();
    let told: Vec<i64> = steps.iter().map(|step| step.by_ms).collect();
    assert_eq!(told, [3_600_000, -3_600_000]);
    // By the clock that ids read, which did not follow.
    assert!(
        steps[0].at < steps[1].at && steps[1].at.since(steps[0].at).as_secs() < 60,
        "{steps:?}"
    );
}

#[test]
fn the_last_64_steps_are_remembered() {
    let bench = Bench::new(None);
    for step in 1..=70 {
        bench.step(1_000 + step);
        bench.pass(500);
    }
    let steps = bench.clock.steps();
    assert_eq!((steps.len(), steps[0].by_ms, steps[63].by_ms), (64, 1_007, 1_070));
    assert_eq!(bench.clock.report().steps, 70);
}

#[test]
fn a_synchronised_kernel_confirms_at_once() {
    let bench = Bench::new(None);
    bench.pass(1_000);
    bench.machine.synchronised.store(true, Ordering::Relaxed);
    bench.step(7_200_000);
    assert_eq!(bench.pass(500), 1_500 + 7_200_000);
    assert_eq!(bench.clock.epoch(), 1);
}

#[test]
fn a_wall_clock_before_the_stored_time_is_held_at_it() {
    let floor = Timestamp::from_unix_nanos(START_NS + 3_000_000_000);
    let bench = Bench::new(Some(floor));
    assert_eq!(bench.clock.now(), floor);
    // Slewed back towards the wall clock without ever going back.
    bench.pass(4_000_000);
    assert!((bench.ms() - 4_000_000).abs() <= 2, "{}", bench.ms());
}

/// Makes 50 ids of every format that holds a time, none of them seen before, and asserts that they are of now.
fn assert_formats_are_of_now(bench: &Bench, seen: &mut Distinct<mintage::Id>, what: &str) {
    let nothing = mintage::GenOptions::default();
    let timed = mintage::FORMATS
        .iter()
        .filter(|row| row.time.is_some() && row.can_make());
    // The time of a UUID of version 2 moves in steps of 429 s, and it asks for an owner.
    for row in timed.filter(|row| row.name != "uuid2") {
        let mut ids = vec![mintage::Id::default(); 50];
        let made = bench
            .clock
            .make(|generators, clock| row.make_many_by(generators, clock, &nothing, &mut ids));
        made.expect("no clock disagrees")
            .unwrap_or_else(|error| panic!("{what}: {}: {error}", row.name));
        for id in ids {
            let time = row.read(&id, &nothing).unwrap().time.unwrap().at;
            let off_ms = time.unix_millis() - bench.clock.now().unix_millis();
            assert!(
                (-1_000..=1).contains(&off_ms),
                "{what}: {} is {off_ms} ms off",
                row.name
            );
            seen.add(id);
        }
    }
}

// claim: P63
#[test]
fn every_format_follows_the_confirmed_time_there_and_back() {
    const HOUR_MS: i64 = 3_600_000;
    for synchronised in [false, true] {
        for ahead in [3 * HOUR_MS, 40 * 8_766 * HOUR_MS] {
            let (bench, mut seen) = (Bench::new(None), Distinct::default());
            bench.pass(1_000);
            assert_formats_are_of_now(&bench, &mut seen, "at the start");
            // A second that nobody confirms moves nothing.
            bench.step(ahead);
            assert_eq!(bench.pass(1_000), 2_000);
            assert_formats_are_of_now(&bench, &mut seen, "in a wrong second");
            bench.step(-ahead);
            bench.pass(1_000);
            assert_formats_are_of_now(&bench, &mut seen, "after it");
            // A confirmed step is followed there and back, over the same times, again and again.
            bench.machine.synchronised.store(synchronised, Ordering::Relaxed);
            for round in 0..4 {
                for step in [ahead, -ahead] {
                    bench.step(step);
                    for _ in 0..130 {
                        bench.machine.boot_ms.fetch_add(500, Ordering::Relaxed);
                        bench.clock.look();
                    }
                    assert_formats_are_of_now(&bench, &mut seen, &format!("round {round}, {step} ms"));
                }
            }
            assert_eq!(bench.clock.epoch(), 8);
            let off_ms = bench.clock.now().unix_millis() - bench.machine.wall().unix_millis();
            assert_eq!(off_ms, 0);
        }
    }
}

#[test]
fn a_clock_settles_once_it_was_confirmed() {
    let bench = Bench::new(None);
    bench.pass(30_000);
    assert!(!bench.clock.is_settled());
    assert!(bench.clock.report().unsettled.unwrap() <= Duration::from_secs(31));
    // A far step begins it anew, one that is taken back too.
    bench.step(3_600_000);
    bench.pass(1_000);
    bench.step(-3_600_000);
    bench.pass(58_000);
    assert!(!bench.clock.is_settled());
    bench.pass(3_000);
    assert!(bench.clock.is_settled());
    let told = |bench: &Bench| (0..10).filter(|_| bench.clock.look()).count();
    assert_eq!(told(&bench), 0, "told once");
    // The kernel's word settles it at once.
    let bench = Bench::new(None);
    bench.machine.synchronised.store(true, Ordering::Relaxed);
    assert_eq!((told(&bench), bench.clock.is_settled()), (1, true));
}

#[test]
fn a_stored_time_far_ahead_is_held_until_the_wall_clock_is_confirmed() {
    let forty_years = Timestamp::from_unix_nanos(START_NS + 40 * 31_557_600 * 1_000_000_000);
    let bench = Bench::new(Some(forty_years));
    assert_eq!(bench.clock.now(), forty_years);
    // Told from the first moment, whoever asks before the first look.
    let told = bench.clock.report().unconfirmed;
    assert_eq!(told, Some(Duration::from_secs(60)));
    bench.pass(59_000);
    assert!(bench.clock.report().unconfirmed.is_some());
    for _ in 0..5 {
        bench.machine.boot_ms.fetch_add(500, Ordering::Relaxed);
        bench.clock.look();
    }
    assert_eq!((bench.ms(), bench.clock.is_settled()), (61_500, true));
    // Where the kernel knows, nothing is held.
    let machine = Arc::new(Turned::default());
    machine.synchronised.store(true, Ordering::Relaxed);
    let clock = AnchoredClock::new(machine.clone(), Some(forty_years), Duration::from_secs(60));
    assert_eq!((clock.now(), clock.is_settled()), (machine.wall(), true));
}
