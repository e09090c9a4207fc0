//! Short runs of ids that follow each other, taken from all over the files.
//!
//! Counting all ids of a pile hides a hot spot: ids that begin with their time fill every range alike in the end, one
//! after the other. Runs show what a store sees at any one moment.

/// Keeps every so manieth run of [`RUN_IDS`] keys, the further apart the more there are: 256 KiB at most.
#[derive(Debug)]
pub(super) struct Runs {
    /// Whole runs, one behind the other.
    keys: Vec<u128>,
    /// How many keys of the present run came by, and whether it is kept.
    in_run: usize,
    kept: bool,
    run: u64,
    stride: u64,
}

impl Default for Runs {
    fn default() -> Runs {
        Runs {
            keys: Vec::new(),
            in_run: 0,
            kept: true,
            run: 0,
            stride: 1,
        }
    }
}

impl Runs {
    #[inline]
    pub(super) fn see(&mut self, key: u128) {
        if self.kept {
            self.keys.push(key);
        }
        self.in_run += 1;
        if self.in_run == RUN_IDS {
            self.end_of_run();
        }
    }

    fn end_of_run(&mut self) {
        self.in_run = 0;
        self.run += 1;
        if self.keys.len() == RUNS_MAX * RUN_IDS {
            let runs = self.keys.chunks_exact(RUN_IDS).step_by(2);
            self.keys = runs.flatten().copied().collect();
            self.stride *= 2;
        }
        self.kept = self.run.is_multiple_of(self.stride);
    }

    /// What the last file began does not go on in the next.
    pub(super) fn next_file(&mut self) {
        let whole = self.keys.len() / RUN_IDS * RUN_IDS;
        self.keys.truncate(whole);
        self.in_run = 0;
    }

    /// How many whole runs there are.
    pub(super) fn count(&self) -> usize {
        self.keys.len() / RUN_IDS
    }

    /// The keys of the runs that are kept.
    pub(super) fn keys(&self) -> &[u128] {
        &self.keys
    }

    /// Over how many of so many ranges the ids of a run spread: 1 where each run stays in one, `ranges` where every id
    /// goes anywhere.
    ///
    /// The ranges hold equally many ids each, as those of a store that splits what has grown large. The figure is the
    /// inverse of how often two ids of a run share a range (Simpson's index, without bias, over all pairs of all runs),
    /// which does not depend on how long a run is; at most as many as a run touches, which is right for writers that
    /// take turns.
    pub(super) fn ranges_at_once(&self, ranges: usize) -> f64 {
        let runs = self.keys.chunks_exact(RUN_IDS);
        let count = runs.len();
        let mut sorted: Vec<u128> = runs.clone().flatten().copied().collect();
        sorted.sort_unstable();
        let borders: Vec<u128> = (1..ranges).map(|at| sorted[at * sorted.len() / ranges]).collect();
        let (mut together, mut touched) = (0, 0);
        for run in runs {
            let mut places: Vec<usize> = run
                .iter()
                .map(|key| borders.partition_point(|border| border <= key))
                .collect();
            places.sort_unstable();
            for same in places.chunk_by(|a, b| a == b) {
                touched += 1;
                together += pairs_of(same.len());
            }
        }
        let simpson = (count * pairs_of(RUN_IDS)) as f64 / together.max(1) as f64;
        let touched = f64::from(touched) / count.max(1) as f64;
        simpson.min(touched).max(1.0)
    }
}

fn pairs_of(ids: usize) -> usize {
    ids * ids.saturating_sub(1) / 2
}

/// So many ids are a run: few enough to be made within a moment, and more than there are ranges.
pub(super) const RUN_IDS: usize = 64;
/// So many runs are kept at most.
const RUNS_MAX: usize = 256;
/// Over so many ranges at most is said: twice as many may have no four runs each.
pub(super) const RANGES_MAX: usize = RUNS_MAX / 8;
const _: () = assert!(RANGES_MAX < RUN_IDS);

#[cfg(test)]
mod tests {
    use super::*;

    fn of(keys: impl Iterator<Item = u128>) -> Runs {
        let mut runs = Runs::default();
        keys.for_each(|key| runs.see(key));
        runs
    }

    fn random(seed: u128) -> impl Iterator<Item = u128> {
        let mut state = seed;
        std::iter::repeat_with(move || {
            state = state
                .wrapping_mul(0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645)
                .wrapping_add(1);
            state ^ state >> 64
        })
    }

    #[test]
    fn runs_are_whole_bounded_and_from_all_over() {
        let runs = of(0..1_000_000);
        assert!((RUNS_MAX / 2..=RUNS_MAX).contains(&runs.count()));
        for run in runs.keys.chunks_exact(RUN_IDS) {
            assert!(
                run.windows(2).all(|pair| pair[1] == pair[0] + 1),
                "ids of a run follow each other"
            );
        }
        assert!(runs.keys.last().unwrap() > &980_000);
    }

    #[test]
    fn a_run_ends_with_its_file() {
        let mut runs = Runs::default();
        for file in 0..10u128 {
            (0..80).for_each(|at| runs.see(file << 64 | at));
            runs.next_file();
        }
        assert_eq!(runs.count(), 10);
        assert!(
            runs.keys
                .chunks_exact(RUN_IDS)
                .all(|run| run[0] >> 64 == run[RUN_IDS - 1] >> 64)
        );
    }

    #[test]
    fn what_counts_up_stays_in_one_range_and_what_is_random_goes_to_all() {
        for ranges in [2, 16, RANGES_MAX] {
            assert!(of(0..100_000).ranges_at_once(ranges) < 1.2, "{ranges}");
            for seed in 1..20 {
                let found = of(random(seed).take(100_000)).ranges_at_once(ranges);
                assert!(found > ranges as f64 * 0.8, "{ranges} {seed}: {found}");
            }
        }
    }

    #[test]
    fn so_many_writers_far_apart_are_so_many_ranges() {
        for writers in [2u128, 4, 8] {
            let found = of((0..100_000).map(|at| ((at % writers) << 100) | at)).ranges_at_once(16);
            assert!((found - writers as f64).abs() < 0.5, "{writers}: {found}");
        }
    }

    #[test]
    fn one_id_again_and_again_is_one_range() {
        assert_eq!(of(std::iter::repeat_n(7, 10_000)).ranges_at_once(16), 1.0);
    }
}
