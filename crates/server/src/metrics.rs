//! Counters. Each serving thread has its own and is their only writer; a scrape adds them up.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

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

/// Through which face a client came.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(usize)]
pub enum Face {
    /// HTTP.
    Http,
    /// The Redis protocol.
    Resp,
}

impl Face {
    /// Every face, in order.
    pub const ALL: [Face; 2] = [Face::Http, Face::Resp];

    /// The face's label.
    pub fn as_str(self) -> &'static str {
        match self {
            Face::Http => "http",
            Face::Resp => "resp",
        }
    }
}

/// A number with one writer: no read-modify-write on the hot path.
#[derive(Debug, Default)]
struct Tally(AtomicU64);

impl Tally {
    #[inline]
    fn add(&self, n: u64) {
        self.0
            .store(self.0.load(Ordering::Relaxed).wrapping_add(n), Ordering::Relaxed);
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
    requests: [Tally; Face::ALL.len()],
    accepted: [Tally; Face::ALL.len()],
    refused: [Tally; CODES.len()],
}

impl ThreadCounters {
    fn new() -> Self {
        ThreadCounters {
            ids: Default::default(),
            requests: Default::default(),
            accepted: Default::default(),
            refused: std::array::from_fn(|_| Tally::default()),
        }
    }

    /// Counts ids that were given out.
    #[inline]
    pub fn ids(&self, kind: IdKind, count: u64) {
        self.ids[kind as usize].add(count);
    }

    /// Ids of all kinds.
    pub fn all_ids(&self) -> u64 {
        self.ids
            .iter()
            .fold(0, |sum, tally| sum.wrapping_add(tally.get()))
    }

    /// Counts requests, refused ones included.
    #[inline]
    pub fn requests(&self, face: Face, count: u64) {
        self.requests[face as usize].add(count);
    }

    /// Counts a connection that was accepted.
    pub fn accepted(&self, face: Face) {
        self.accepted[face as usize].add(1);
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
    connections: [AtomicU64; Face::ALL.len()],
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
    pub fn connect(self: &Arc<Self>, face: Face) -> OpenConnection {
        self.connections[face as usize].fetch_add(1, Ordering::AcqRel);
        OpenConnection {
            metrics: Arc::clone(self),
            face,
        }
    }

    /// Open connections of one face.
    pub fn connections(&self, face: Face) -> u64 {
        self.connections[face as usize].load(Ordering::Acquire)
    }

    /// Ids given out of one kind.
    pub fn ids(&self, kind: IdKind) -> u64 {
        self.sum(|t| &t.ids[kind as usize])
    }

    /// Requests through one face.
    pub fn requests(&self, face: Face) -> u64 {
        self.sum(|t| &t.requests[face as usize])
    }

    /// Connections ever accepted by one face.
    pub fn accepted(&self, face: Face) -> u64 {
        self.sum(|t| &t.accepted[face as usize])
    }

    /// Refusals with one code.
    pub fn refused(&self, code: Code) -> u64 {
        self.sum(|t| &t.refused[code as usize])
    }

    fn sum(&self, of: impl Fn(&ThreadCounters) -> &Tally) -> u64 {
        let threads = self.threads.lock().expect("no panic while held");
        threads
            .iter()
            .fold(0, |sum, thread| sum.wrapping_add(of(thread).get()))
    }
}

/// A connection that counts as open until this is dropped.
#[derive(Debug)]
pub struct OpenConnection {
    metrics: Arc<Metrics>,
    face: Face,
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.metrics.connections[self.face as usize].fetch_sub(1, Ordering::AcqRel);
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
    fn connections_count_while_they_are_open() {
        let metrics = Arc::new(Metrics::default());
        let first = metrics.connect(Face::Http);
        let _second = metrics.connect(Face::Resp);
        assert_eq!(Face::ALL.map(|face| metrics.connections(face)), [1, 1]);
        drop(first);
        assert_eq!(Face::ALL.map(|face| metrics.connections(face)), [0, 1]);
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
