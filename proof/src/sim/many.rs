//! Many runs on all cores.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::fault::FaultCounts;
use super::world::Tally;

/// What many runs came to.
#[derive(Debug, Default)]
pub struct Runs {
    /// How many runs ended well.
    pub seeds: u64,
    /// The sum of all.
    pub sum: Tally,
    /// Seeds that were run twice, with the same hash.
    pub repeated: u64,
    /// The first failure, if any.
    pub failure: Option<Failure>,
}

/// A seed that failed.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The seed.
    pub seed: u64,
    /// What was violated.
    pub why: String,
}

/// Runs seeds from `first` on, `count` of them or until `budget` has passed, and one in 64 of them twice. Stops at
/// the first failure.
pub fn run_many(first: u64, count: u64, budget: Option<Duration>, threads: usize) -> Runs {
    let began = Instant::now();
    let next = AtomicU64::new(first);
    let stop = AtomicBool::new(false);
    let runs = Mutex::new(Runs::default());
    std::thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(|| {
                let mut mine = Runs::default();
                while !stop.load(Ordering::Relaxed) {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed - first >= count || budget.is_some_and(|budget| began.elapsed() >= budget) {
                        break;
                    }
                    if let Err(why) = mine.take(seed) {
                        stop.store(true, Ordering::Relaxed);
                        mine.failure = Some(Failure { seed, why });
                    }
                }
                runs.lock().expect("no panic while held").merge(mine);
            });
        }
    });
    runs.into_inner().expect("no panic while held")
}

impl Runs {
    fn take(&mut self, seed: u64) -> Result<(), String> {
        let tally = super::run(seed, false)?;
        if seed.is_multiple_of(64) {
            let again = super::run(seed, false)?;
            if again.hash != tally.hash {
                return Err(format!(
                    "ran twice and differed: {:016x}, {:016x}",
                    tally.hash, again.hash
                ));
            }
            self.repeated += 1;
        }
        self.seeds += 1;
        self.sum.add(&tally);
        Ok(())
    }

    fn merge(&mut self, other: Runs) {
        self.seeds += other.seeds;
        self.repeated += other.repeated;
        self.sum.add(&other.sum);
        // The smallest, so that two cores report what one would.
        let seed = |failure: &Option<Failure>| failure.as_ref().map_or(u64::MAX, |f| f.seed);
        if seed(&other.failure) < seed(&self.failure) {
            self.failure = other.failure;
        }
    }
}

impl Tally {
    /// Adds another run's counts; hashes are combined without regard to order.
    fn add(&mut self, other: &Tally) {
        self.hash = self.hash.wrapping_add(other.hash);
        self.faults.add(&other.faults);
        self.ids += other.ids;
        self.reservations += other.reservations;
        self.steps += other.steps;
        self.virtual_ns += other.virtual_ns;
        self.clone_repeats += other.clone_repeats;
        self.longest_exposure_ns = self.longest_exposure_ns.max(other.longest_exposure_ns);
    }
}

impl FaultCounts {
    /// The kinds that never happened.
    pub fn absent(&self) -> Vec<&'static str> {
        let absent = super::Fault::ALL
            .iter()
            .filter(|(fault, ..)| self.of(*fault) == 0);
        absent.map(|(_, word, _)| *word).collect()
    }
}
