//! When ids were made and by whom: their span, how many an hour, how many by each worker, and steps of a worker's
//! clock that its ids show.

use std::collections::HashMap;

use serde::Serialize;

/// The times of ids.
#[derive(Clone, PartialEq, Eq, Default, Serialize, Debug)]
pub struct Times {
    /// How many ids have a time.
    pub ids: u64,
    /// The earliest, in microseconds since 1970.
    pub first_us: Option<i64>,
    /// The latest.
    pub last_us: Option<i64>,
    /// How many lie after the time of the audit, and the tolerance.
    pub future: u64,
    /// Where the first of them are.
    pub future_at: Vec<String>,
    /// How long a bucket of `buckets` is, in seconds: an hour, or more for long spans.
    pub bucket_secs: i64,
    /// Ids by the number of their bucket since 1970, in order; empty ones left out.
    pub buckets: Vec<(i64, u64)>,
}

/// A worker or node, and its ids.
#[derive(Clone, PartialEq, Eq, Serialize, Debug)]
pub struct WorkerSeen {
    /// Its number.
    pub worker: u64,
    /// How it is written: a number, or a node's address.
    pub name: String,
    /// How many ids it made.
    pub ids: u64,
    /// Its first id's time, in microseconds since 1970.
    pub first_us: i64,
    /// Its last id's.
    pub last_us: i64,
    /// How often the next id of this worker had an earlier time.
    pub steps_back: u64,
    /// How often its clock sequence changed; versions 1 and 6.
    pub clock_seq_changes: u64,
    /// Whether its ids are in several files over the same time.
    pub shared: bool,
}

/// Workers and the steps of their clocks.
#[derive(Clone, PartialEq, Eq, Default, Serialize, Debug)]
pub struct Workers {
    /// How many there are; the most that are told apart is 65536.
    pub count: u64,
    /// Whether there are more than are told apart.
    pub more: bool,
    /// The busiest, most ids first; 1000 at most.
    pub busiest: Vec<WorkerSeen>,
    /// How often a worker's next id had an earlier time than its last, in the order of the file.
    pub steps_back: u64,
    /// The largest of them, largest first.
    pub steps: Vec<Step>,
}

/// A worker's clock went back, as its ids show.
#[derive(Clone, PartialEq, Eq, Serialize, Debug)]
pub struct Step {
    /// By how much, in microseconds.
    pub back_us: i64,
    /// Whose.
    pub worker: String,
    /// Where the earlier id is.
    pub place: String,
    /// Its time, in microseconds since 1970.
    pub to_us: i64,
}

/// Counts ids by time and worker.
#[derive(Debug)]
pub(super) struct RateCount {
    pub(super) times: Times,
    limit_us: i64,
    buckets: HashMap<i64, u64>,
    /// The bucket of the last id: ids come in runs. The bucket's first microsecond, the one after its last, its count.
    run: (i64, i64, u64),
    /// By number; those of nodes are marked, for a worker may have the same.
    workers: HashMap<u64, Line>,
    more: bool,
    steps_back: u64,
    steps: Vec<Step>,
}

#[derive(Clone, Debug)]
struct Line {
    ids: u64,
    first_us: i64,
    last_us: i64,
    /// The time of the last id in the file.
    now_us: i64,
    steps_back: u64,
    clock_seq: u64,
    changes: u64,
    node: bool,
    /// From when to when its ids of this file are; nothing yet where the first is behind the last.
    here: (i64, i64),
    /// The same of the files before.
    before: Vec<(i64, i64)>,
    shared: bool,
}

impl Line {
    /// Keeps where its ids of this file lie, and whether they lie among those of another.
    fn end_file(&mut self) {
        self.now_us = i64::MIN;
        let (first, last) = std::mem::replace(&mut self.here, NOWHERE);
        // A node's address belongs to a machine; a worker's number can be given out twice.
        if first > last || self.node {
            return;
        }
        self.shared |= self.before.iter().any(|(from, to)| first < *to && *from < last);
        if self.before.len() < FILES_KEPT {
            self.before.push((first, last));
        }
    }
}

const NOWHERE: (i64, i64) = (i64::MAX, i64::MIN);
/// In how many files of a worker its ids are looked for.
const FILES_KEPT: usize = 16;

impl RateCount {
    /// Ids after `limit_us` lie in the future.
    pub(super) fn new(limit_us: i64) -> RateCount {
        RateCount {
            times: Times {
                bucket_secs: 3600,
                ..Times::default()
            },
            limit_us,
            buckets: HashMap::new(),
            run: (0, 0, 0),
            workers: HashMap::new(),
            more: false,
            steps_back: 0,
            steps: Vec::new(),
        }
    }

    #[inline]
    pub(super) fn time(&mut self, micros: i64, place: &impl Fn() -> String) {
        self.times.ids += 1;
        if self.times.first_us.is_none_or(|first| micros < first) {
            self.times.first_us = Some(micros);
        }
        if self.times.last_us.is_none_or(|last| micros > last) {
            self.times.last_us = Some(micros);
        }
        if micros > self.limit_us {
            self.times.future += 1;
            if self.times.future_at.len() < LISTED {
                self.times.future_at.push(place());
            }
        }
        if micros < self.run.0 || micros >= self.run.1 {
            self.turn(micros);
        }
        self.run.2 += 1;
    }

    /// Goes on to another bucket.
    #[cold]
    fn turn(&mut self, micros: i64) {
        self.keep_run();
        let length = self.times.bucket_secs.saturating_mul(1_000_000);
        let start = micros.div_euclid(length).saturating_mul(length);
        self.run = (start, start.saturating_add(length), 0);
    }

    fn keep_run(&mut self) {
        let (start, _, count) = self.run;
        if count > 0 {
            let bucket = start.div_euclid(self.times.bucket_secs * 1_000_000);
            *self.buckets.entry(bucket).or_insert(0) += count;
            while self.buckets.len() > BUCKETS_MAX {
                self.times.bucket_secs *= 2;
                for (bucket, count) in std::mem::take(&mut self.buckets) {
                    *self.buckets.entry(bucket.div_euclid(2)).or_insert(0) += count;
                }
            }
        }
        self.run.2 = 0;
    }

    /// Takes the worker of an id; `clock_seq` is that of versions 1 and 6.
    #[inline]
    pub(super) fn worker(
        &mut self,
        worker: u64,
        micros: i64,
        clock_seq: Option<u64>,
        place: &impl Fn() -> String,
    ) {
        let key = worker | u64::from(clock_seq.is_some()) << NODE;
        let Some(line) = self.workers.get_mut(&key) else {
            if self.workers.len() == WORKERS_MAX {
                self.more = true;
                return;
            }
            let line = Line {
                ids: 1,
                first_us: micros,
                last_us: micros,
                now_us: micros,
                steps_back: 0,
                clock_seq: clock_seq.unwrap_or(0),
                changes: 0,
                node: clock_seq.is_some(),
                here: (micros, micros),
                before: Vec::new(),
                shared: false,
            };
            self.workers.insert(key, line);
            return;
        };
        line.ids += 1;
        if micros < line.now_us {
            line.steps_back += 1;
            self.steps_back += 1;
            let back_us = line.now_us.saturating_sub(micros);
            if self.steps.len() < LISTED || self.steps.last().is_some_and(|least| back_us > least.back_us) {
                let at = self.steps.partition_point(|step| step.back_us >= back_us);
                let step = Step {
                    back_us,
                    worker: name_of(worker, line.node),
                    place: place(),
                    to_us: micros,
                };
                self.steps.insert(at, step);
                self.steps.truncate(LISTED);
            }
        }
        line.now_us = micros;
        line.here = (line.here.0.min(micros), line.here.1.max(micros));
        line.first_us = line.first_us.min(micros);
        line.last_us = line.last_us.max(micros);
        if let Some(clock_seq) = clock_seq {
            line.changes += u64::from(clock_seq != line.clock_seq);
            line.clock_seq = clock_seq;
        }
    }

    /// Another file begins: its ids need not follow those of the last.
    pub(super) fn next_file(&mut self) {
        for line in self.workers.values_mut() {
            line.end_file();
        }
    }

    pub(super) fn result(mut self) -> (Times, Workers) {
        self.next_file();
        self.keep_run();
        self.times.buckets = self.buckets.into_iter().collect();
        self.times.buckets.sort_unstable();
        let mut busiest: Vec<WorkerSeen> = self
            .workers
            .iter()
            .map(|(key, line)| WorkerSeen {
                worker: key & !(1 << NODE),
                name: name_of(key & !(1 << NODE), line.node),
                ids: line.ids,
                first_us: line.first_us,
                last_us: line.last_us,
                steps_back: line.steps_back,
                clock_seq_changes: line.changes,
                shared: line.shared,
            })
            .collect();
        busiest
            .sort_by_cached_key(|worker| (std::cmp::Reverse(worker.ids), worker.worker, worker.name.clone()));
        busiest.truncate(1000);
        let workers = Workers {
            count: self.workers.len() as u64,
            more: self.more,
            busiest,
            steps_back: self.steps_back,
            steps: self.steps,
        };
        (self.times, workers)
    }
}

/// A node as the address it is, a worker as a number.
fn name_of(worker: u64, node: bool) -> String {
    if !node {
        return worker.to_string();
    }
    let [_, _, octets @ ..] = worker.to_be_bytes();
    mintage::Node::from_octets(octets).to_string()
}

/// How many of a kind are listed.
pub(super) const LISTED: usize = 20;
const WORKERS_MAX: usize = 1 << 16;
/// The bit that marks a node's number: nodes have 48 bits, and no layout has a worker of 64.
const NODE: u32 = 63;
/// 22 years of hours.
const BUCKETS_MAX: usize = 200_000;

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3_600_000_000;

    #[test]
    fn hours_are_counted_whatever_the_order() {
        let mut rates = RateCount::new(i64::MAX);
        for micros in [5, HOUR, 6, HOUR + 1, -1, 7, 3 * HOUR] {
            rates.time(micros, &String::new);
        }
        let (times, _) = rates.result();
        assert_eq!(times.buckets, [(-1, 1), (0, 3), (1, 2), (3, 1)]);
        assert_eq!((times.first_us, times.last_us), (Some(-1), Some(3 * HOUR)));
    }

    #[test]
    fn long_spans_have_longer_buckets() {
        let mut rates = RateCount::new(i64::MAX);
        let hours = BUCKETS_MAX as i64 * 3;
        (0..hours).for_each(|hour| rates.time(hour * HOUR, &String::new));
        let (times, _) = rates.result();
        assert_eq!(times.bucket_secs, 4 * 3600);
        assert!(times.buckets.iter().all(|(_, count)| *count == 4));
    }

    #[test]
    fn a_step_back_is_the_workers_own_and_the_largest_come_first() {
        let mut rates = RateCount::new(i64::MAX);
        for (line, (worker, micros)) in [(1, 100), (2, 50), (1, 90), (1, 95), (2, 60), (1, 20), (1, 19)]
            .into_iter()
            .enumerate()
        {
            rates.worker(worker, micros, None, &|| format!("a:{}", line + 1));
        }
        let (_, workers) = rates.result();
        assert_eq!(workers.steps_back, 3);
        let steps: Vec<(i64, &str)> = workers
            .steps
            .iter()
            .map(|s| (s.back_us, s.place.as_str()))
            .collect();
        assert_eq!(steps, [(75, "a:6"), (10, "a:3"), (1, "a:7")]);
        assert_eq!((workers.busiest[0].worker, workers.busiest[0].ids), (1, 5));
    }

    #[test]
    fn a_worker_and_a_node_of_one_number_are_two() {
        let mut rates = RateCount::new(i64::MAX);
        for (micros, clock_seq) in [(7, None), (5, Some(1)), (8, None)] {
            rates.worker(3, micros, clock_seq, &String::new);
        }
        let (_, workers) = rates.result();
        let names: Vec<&str> = workers.busiest.iter().map(|worker| &*worker.name).collect();
        assert_eq!(names, ["3", "00:00:00:00:00:03"]);
        assert_eq!((workers.count, workers.steps_back), (2, 0));
    }

    #[test]
    fn ids_from_the_future_are_listed() {
        let mut rates = RateCount::new(1000);
        for micros in [999, 1000, 1001, 5000] {
            rates.time(micros, &|| micros.to_string());
        }
        assert_eq!(rates.times.future_at, ["1001", "5000"]);
    }

    #[test]
    fn nodes_are_written_as_addresses_and_their_clock_sequences_followed() {
        let mut rates = RateCount::new(i64::MAX);
        for clock_seq in [1, 1, 2, 3] {
            rates.worker(0x9f6b_dece_d846, 0, Some(clock_seq), &String::new);
        }
        let (_, workers) = rates.result();
        assert_eq!(workers.busiest[0].name, "9f:6b:de:ce:d8:46");
        assert_eq!(workers.busiest[0].clock_seq_changes, 2);
    }
}
