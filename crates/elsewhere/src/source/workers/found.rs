//! What a system shows of its workers.

use mintage::Timestamp;

use crate::source::{SourceError, SourceErrorKind};
use crate::workers::WorkerRanges;

/// The workers of one system in one place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WorkersFound {
    /// The system: the name of its row in [`WORKER_SYSTEMS`](super::WORKER_SYSTEMS).
    pub system: &'static str,
    /// Where, as the URL that shows these again, without a password.
    pub place: String,
    /// How many bits the numbers have there unless it was set up otherwise.
    pub bits: u32,
    /// Every number that may be in use, whether or not anything more is known of it.
    pub taken: WorkerRanges,
    /// What is known of them, in the order of numbers; several may have one number.
    pub held: Vec<HeldNumber>,
    /// The number that the next newcomer is given, where the system counts them up.
    pub next: Option<u64>,
    /// How many newcomers are to be expected while it lives.
    pub spare: u64,
}

/// A number, and whose it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HeldNumber {
    /// The number, as ids of the system carry it.
    pub number: u64,
    /// What its holder is called there; empty, if it was given back.
    pub name: String,
    /// When it last said that it lives; `None`: it may live now.
    pub last: Option<Timestamp>,
}

impl WorkersFound {
    /// The numbers that a pool beside the system is to avoid, of a layout with `workers` of them: all that may be in use,
    /// and those that the next `spare` newcomers will be given.
    ///
    /// ```
    /// use mintage_local::workers::WorkerRanges;
    /// use mintage_elsewhere::source::workers::WorkersFound;
    /// let found = WorkersFound {
    ///     system: "leaf",
    ///     place: "leaf+zookeeper://zoo:2181/snowflake/shop".into(),
    ///     bits: 10,
    ///     taken: WorkerRanges::of([0, 3]),
    ///     held: Vec::new(),
    ///     next: Some(4),
    ///     spare: 64,
    /// };
    /// assert_eq!(found.avoid(None, 1024).to_string(), "0,3-67");
    /// assert_eq!(found.avoid(Some(0), 1024).to_string(), "0,3");
    /// assert_eq!(found.avoid(None, 32).to_string(), "0,3-31");
    /// ```
    pub fn avoid(&self, spare: Option<u64>, workers: u64) -> WorkerRanges {
        let spare = spare.unwrap_or(self.spare);
        let newcomers = match (self.next, spare.checked_sub(1)) {
            (Some(next), Some(more)) => WorkerRanges::span(next, next.saturating_add(more)),
            _ => WorkerRanges::NONE,
        };
        let all = WorkerRanges::span(0, workers.saturating_sub(1));
        self.taken.with(&newcomers).within(&all)
    }
}

/// Milliseconds since 1970 as a system writes them; 0 and what is beyond a clock's reach say nothing.
#[cfg(any(feature = "zookeeper", feature = "mysql", feature = "redis"))]
pub(super) fn last_sign(unix_ms: i64) -> Option<Timestamp> {
    (unix_ms > 0).then(|| Timestamp::from_unix_millis(unix_ms))
}

/// What a system wrote that is not as it writes.
#[allow(dead_code, reason = "a build may have no engine at all")]
pub(super) fn strange(place: &str, what: &str, why: &str) -> SourceError {
    SourceError::new(
        SourceErrorKind::Refused,
        format!(
            "{place}: {what} cannot be understood: {why}; nothing is avoided until it is mended or removed"
        ),
    )
}

/// How many holders are looked at.
pub(super) const HELD_MAX: usize = 100_000;

/// Refuses what no memory should hold.
#[allow(dead_code, reason = "a build may have no engine at all")]
pub(super) fn check_count(place: &str, count: usize) -> Result<(), SourceError> {
    match count > HELD_MAX {
        true => Err(SourceError::new(
            SourceErrorKind::Refused,
            format!("{place}: more than {HELD_MAX} workers are held there; name those to avoid with --avoid"),
        )),
        false => Ok(()),
    }
}
