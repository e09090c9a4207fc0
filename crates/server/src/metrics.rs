//! Counters. Each serving thread has its own and is their only writer; a scrape adds them up.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::error::{CODES, Code};

/// What ids are counted by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(usize)]
pub enum IdKind {
    /// Numbers of sequences.
    Sequence,
    /// Ids of pools.
    Snowflake,
    /// UUID version 1.
    Uuid1,
    /// UUID version 6.
    Uuid6,
    /// UUID version 4.
    Uuid4,
    /// UUID version 7.
    Uuid7,
    /// Every other format.
    Other,
}

impl IdKind {
    /// Every kind, in order.
    pub const ALL: [IdKind; 7] = [
        IdKind::Sequence,
        IdKind::Snowflake,
        IdKind::Uuid1,
        IdKind::Uuid6,
        IdKind::Uuid4,
        IdKind::Uuid7,
        IdKind::Other,
    ];

    /// The kind's label.
    pub fn as_str(self) -> &'static str {
        match self {
            IdKind::Sequence => "sequence",
            IdKind::Snowflake => "snowflake",
            IdKind::Uuid1 => "uuid1",
            IdKind::Uuid6 => "uuid6",
            IdKind::Uuid4 => "uuid4",
            IdKind::Uuid7 => "uuid7",
            IdKind::Other => "other",
        }
    }
}

/// A face, as its counters know it: its place in the table of faces.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FaceId(u8);

impl FaceId {
    /// The face at this place of the table.
    ///
    /// # Panics
    /// There are [`FACES_MAX`] places.
    pub const fn new(at: usize) -> FaceId {
        assert!(at < FACES_MAX, "a place of the table");
        FaceId(at as u8)
    }

    /// Its place in the table.
    #[inline]
    pub(crate) fn at(self) -> usize {
        usize::from(self.0)
    }
}

/// How many faces there is room for in the counters.
pub const FACES_MAX: usize = 32;

/// A number with one writer: no read-modify-write on the hot path.
#[derive(Debug, Default)]
struct Tally(AtomicU64);

impl Tally {
    #[inline]
    fn add(&self, n: u64) {
        self.0
            .store(self.0.load(Ordering::Relaxed).wrapping_add(n), Ordering::Relaxed);
    }

    /// The same for a number with several writers.
    fn add_of_many(&self, n: u64) {
        self.0.fetch_add(n, Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The counters of one thread. Only that thread may add to them; a thread that breaks this loses counts,
/// nothing else. Aligned so that two threads' counters share no cache line.
#[derive(Debug)]
#[repr(align(128))]
pub struct ThreadCounters {
    ids: [Tally; IdKind::ALL.len()],
    faces: [FaceCounters; FACES_MAX],
    refused: [Tally; CODES.len()],
}

/// What a thread counts of one face.
#[derive(Debug, Default)]
struct FaceCounters {
    requests: Tally,
    accepted: Tally,
    durations: Durations,
    /// Requests by how they were answered: well, then by the code of the refusal. Of faces of other systems.
    answers: Answers,
}

#[derive(Debug)]
struct Answers([Tally; 1 + CODES.len()]);

impl Default for Answers {
    fn default() -> Self {
        Answers(std::array::from_fn(|_| Tally::default()))
    }
}

/// The upper bounds of the buckets of request durations, in microseconds.
pub const REQUEST_BUCKETS_US: [u64; 14] = [
    50, 100, 250, 500, 1000, 2500, 5000, 10_000, 25_000, 50_000, 100_000, 250_000, 1_000_000, 5_000_000,
];

/// How long requests took, in buckets; the last has no bound.
#[derive(Debug, Default)]
struct Durations {
    buckets: [Tally; REQUEST_BUCKETS_US.len() + 1],
    sum_us: Tally,
}

impl ThreadCounters {
    fn new() -> Self {
        ThreadCounters {
            ids: Default::default(),
            faces: Default::default(),
            refused: std::array::from_fn(|_| Tally::default()),
        }
    }

    /// Counts ids that were given out.
    #[inline]
    pub fn ids(&self, kind: IdKind, count: u64) {
        self.ids[kind as usize].add(count);
    }

    /// The same for counters that several threads write, all of them by this.
    pub fn ids_of_many(&self, kind: IdKind, count: u64) {
        self.ids[kind as usize].add_of_many(count);
    }

    /// Ids of all kinds.
    pub fn all_ids(&self) -> u64 {
        self.ids
            .iter()
            .fold(0, |sum, tally| sum.wrapping_add(tally.get()))
    }

    /// Counts requests, refused ones included.
    #[inline]
    pub fn requests(&self, face: FaceId, count: u64) {
        self.faces[face.at()].requests.add(count);
    }

    /// Counts requests that were answered together, so long after they had arrived.
    #[inline]
    pub fn answered(&self, face: FaceId, count: u64, after: Duration) {
        let us = u64::try_from(after.as_micros()).unwrap_or(u64::MAX);
        let bucket = REQUEST_BUCKETS_US.iter().position(|bound| us <= *bound);
        let durations = &self.faces[face.at()].durations;
        durations.buckets[bucket.unwrap_or(REQUEST_BUCKETS_US.len())].add(count);
        durations.sum_us.add(us.saturating_mul(count));
    }

    /// Counts how requests of another system's clients were answered: well, or with which refusal.
    #[inline]
    pub fn face_answered(&self, face: FaceId, refused: Option<Code>, requests: u64) {
        self.faces[face.at()].answers.0[refused.map_or(0, |code| 1 + code as usize)].add(requests);
    }

    /// Counts a connection that was accepted.
    pub fn accepted(&self, face: FaceId) {
        self.faces[face.at()].accepted.add(1);
    }

    /// Counts a refusal.
    pub fn refused(&self, code: Code) {
        self.refused[code as usize].add(1);
    }
}

/// The counters of all threads.
#[derive(Debug, Default)]
pub struct Metrics {
    threads: Mutex<Vec<Arc<ThreadCounters>>>,
    /// Open connections by face; changed only when one comes or goes.
    connections: [AtomicU64; FACES_MAX],
}

impl Metrics {
    /// Counters for one more thread.
    pub fn thread(&self) -> Arc<ThreadCounters> {
        let counters = Arc::new(ThreadCounters::new());
        self.threads
            .lock()
            .expect("no panic while held")
            .push(counters.clone());
        counters
    }

    /// Counts a connection as open until what this answers is dropped.
    pub fn connect(self: &Arc<Self>, face: FaceId) -> OpenConnection {
        self.connections[face.at()].fetch_add(1, Ordering::AcqRel);
        OpenConnection {
            metrics: Arc::clone(self),
            face,
        }
    }

    /// Open connections of one face.
    pub fn connections(&self, face: FaceId) -> u64 {
        self.connections[face.at()].load(Ordering::Acquire)
    }

    /// Ids given out of one kind.
    pub fn ids(&self, kind: IdKind) -> u64 {
        self.sum(|t| &t.ids[kind as usize])
    }

    /// Requests through one face.
    pub fn requests(&self, face: FaceId) -> u64 {
        self.sum(|t| &t.faces[face.at()].requests)
    }

    /// Connections ever accepted by one face.
    pub fn accepted(&self, face: FaceId) -> u64 {
        self.sum(|t| &t.faces[face.at()].accepted)
    }

    /// Requests of another system's clients that were answered well, or with one refusal.
    pub fn face_answers(&self, face: FaceId, refused: Option<Code>) -> u64 {
        self.sum(|t| &t.faces[face.at()].answers.0[refused.map_or(0, |code| 1 + code as usize)])
    }

    /// Refusals with one code.
    pub fn refused(&self, code: Code) -> u64 {
        self.sum(|t| &t.refused[code as usize])
    }

    /// How many requests of one face were answered within each of [`REQUEST_BUCKETS_US`] and later, and how long all of
    /// them took together, in microseconds.
    pub fn durations(&self, face: FaceId) -> ([u64; REQUEST_BUCKETS_US.len() + 1], u64) {
        let bucket = |at: usize| self.sum(|t| &t.faces[face.at()].durations.buckets[at]);
        (
            std::array::from_fn(bucket),
            self.sum(|t| &t.faces[face.at()].durations.sum_us),
        )
    }

    fn sum(&self, of: impl Fn(&ThreadCounters) -> &Tally) -> u64 {
        let threads = self.threads.lock().expect("no panic while held");
        threads
            .iter()
            .fold(0, |sum, thread| sum.wrapping_add(of(thread).get()))
    }
}

/// Counts by names that clients choose: so many are told apart, those that come later count together as `other`.
#[derive(Debug, Default)]
pub struct NamedCounts<const MAX: usize> {
    counts: Mutex<BTreeMap<String, Arc<AtomicU64>>>,
    others: Arc<AtomicU64>,
}

/// Who shares one count.
const OTHERS: &str = "other";

impl<const MAX: usize> NamedCounts<MAX> {
    /// The count of a name, to be added to without a lock.
    pub fn of(&self, name: &str) -> Arc<AtomicU64> {
        let mut counts = self.counts.lock().expect("no panic while held");
        if let Some(count) = counts.get(name) {
            return Arc::clone(count);
        }
        if name == OTHERS || counts.len() >= MAX {
            return Arc::clone(&self.others);
        }
        Arc::clone(counts.entry(name.to_string()).or_default())
    }

    /// Every name with its count, the others last.
    pub fn shown(&self) -> Vec<(String, u64)> {
        let counts = self.counts.lock().expect("no panic while held");
        let each = counts.iter().map(|(name, count)| (name.as_str(), count));
        let all = each.chain([(OTHERS, &self.others)]);
        all.map(|(name, count)| (name.to_string(), count.load(Ordering::Relaxed)))
            .collect()
    }
}

/// A connection that counts as open until this is dropped.
#[derive(Debug)]
pub struct OpenConnection {
    metrics: Arc<Metrics>,
    face: FaceId,
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.metrics.connections[self.face.at()].fetch_sub(1, Ordering::AcqRel);
    }
}

/// Writes the text format that Prometheus reads.
#[derive(Debug, Default)]
pub struct Exposition(String);

impl Exposition {
    /// Begins a metric: its name, type (`counter`, `gauge`, `histogram`) and words.
    pub fn metric(&mut self, name: &str, kind: &str, help: &str) {
        self.0
            .push_str(&format!("# HELP {name} {help}\n# TYPE {name} {kind}\n"));
    }

    /// One sample. Label values are escaped.
    pub fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: f64) {
        self.0.push_str(name);
        for (i, (label, text)) in labels.iter().enumerate() {
            let escaped = text
                .replace('\\', "\\\\")
                .replace('"', "\\\"")
                .replace('\n', "\\n");
            self.0.push_str(&format!(
                "{}{label}=\"{escaped}\"",
                if i == 0 { "{" } else { "," }
            ));
        }
        if !labels.is_empty() {
            self.0.push('}');
        }
        self.0.push_str(&format!(" {value}\n"));
    }

    /// A whole metric of counts: one for each value of a label.
    pub fn counts<'v>(
        &mut self,
        name: &str,
        kind: &str,
        help: &str,
        label: &str,
        counts: impl Iterator<Item = (&'v str, u64)>,
    ) {
        self.metric(name, kind, help);
        for (value, count) in counts {
            self.sample(name, &[(label, value)], count as f64);
        }
    }

    /// The samples of a histogram: how many there were in each bucket, those above the last bound behind them, and the
    /// sum. Bounds and sum are in microseconds.
    pub fn histogram(
        &mut self,
        name: &str,
        labels: &[(&str, &str)],
        bounds_us: &[u64],
        buckets: &[u64],
        sum_us: u64,
    ) {
        let bucket_name = format!("{name}_bucket");
        let mut below = 0;
        let bounds = bounds_us.iter().map(|us| format!("{}", *us as f64 / 1e6));
        for (count, bound) in buckets.iter().zip(bounds.chain(["+Inf".to_string()])) {
            below += count;
            self.sample(&bucket_name, &[labels, &[("le", &bound)]].concat(), below as f64);
        }
        self.sample(&format!("{name}_sum"), labels, sum_us as f64 / 1e6);
        self.sample(&format!("{name}_count"), labels, below as f64);
    }

    /// The text.
    pub fn finish(self) -> String {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scrape_adds_up_all_threads() {
        let metrics = Metrics::default();
        let (a, b) = (metrics.thread(), metrics.thread());
        a.ids(IdKind::Sequence, 3);
        b.ids(IdKind::Sequence, 4);
        b.refused(Code::Internal);
        assert_eq!(
            (metrics.ids(IdKind::Sequence), metrics.ids(IdKind::Uuid4)),
            (7, 0)
        );
        assert_eq!(metrics.refused(Code::Internal), 1);
    }

    #[test]
    fn durations_fall_into_the_first_bucket_that_holds_them() {
        let metrics = Metrics::default();
        let (a, b) = (metrics.thread(), metrics.thread());
        let face = FaceId::new(1);
        a.answered(face, 1000, Duration::from_micros(50));
        b.answered(face, 1, Duration::from_micros(51));
        b.answered(face, 1, Duration::from_secs(60));
        let (buckets, sum_us) = metrics.durations(face);
        assert_eq!(
            (buckets[0], buckets[1], buckets[14], sum_us),
            (1000, 1, 1, 60_050_051)
        );
        let mut text = Exposition::default();
        text.histogram("m", &[("face", "resp")], &[1000, 2000], &[3, 0, 2], 1_500_000);
        assert_eq!(
            text.finish(),
            "m_bucket{face=\"resp\",le=\"0.001\"} 3\nm_bucket{face=\"resp\",le=\"0.002\"} 3\n\
             m_bucket{face=\"resp\",le=\"+Inf\"} 5\nm_sum{face=\"resp\"} 1.5\nm_count{face=\"resp\"} 5\n"
        );
    }

    #[test]
    fn connections_count_while_they_are_open() {
        let metrics = Arc::new(Metrics::default());
        let faces = [FaceId::new(0), FaceId::new(FACES_MAX - 1)];
        let first = metrics.connect(faces[0]);
        let _second = metrics.connect(faces[1]);
        assert_eq!(faces.map(|face| metrics.connections(face)), [1, 1]);
        drop(first);
        assert_eq!(faces.map(|face| metrics.connections(face)), [0, 1]);
    }

    #[test]
    fn a_hundred_names_are_told_apart_and_the_others_count_together() {
        let names = NamedCounts::<100>::default();
        assert_eq!(names.shown(), [("other".to_string(), 0)]);
        let count = |name: &str| names.of(name).fetch_add(1, Ordering::Relaxed);
        for n in 0..150 {
            count(&format!("agent-{n:03}"));
        }
        for again in ["agent-099", "agent-100", "other"] {
            count(again);
        }
        let shown = names.shown();
        assert_eq!(shown.len(), 101);
        assert_eq!(shown[0], ("agent-000".to_string(), 1));
        assert_eq!(shown[99], ("agent-099".to_string(), 2));
        assert_eq!(shown[100], ("other".to_string(), 52));
    }

    #[test]
    fn labels_cannot_break_out_of_the_text() {
        let mut text = Exposition::default();
        text.metric("m", "gauge", "Words.");
        text.sample("m", &[("a", "x\"\\\n"), ("b", "y")], 1.5);
        text.sample("m", &[], 2.0);
        assert_eq!(
            text.finish(),
            "# HELP m Words.\n# TYPE m gauge\nm{a=\"x\\\"\\\\\\n\",b=\"y\"} 1.5\nm 2\n"
        );
    }
}
