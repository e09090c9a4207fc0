//! One source: whether it answers, and what is counted of it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::source::{SourceError, SourceErrorKind};
use crate::store::Class;

/// Upper bounds of the buckets of [`OriginStatus::take_buckets`], in microseconds.
pub const TAKE_BUCKETS_US: [u64; 10] = [
    500, 1_000, 2_500, 5_000, 10_000, 25_000, 100_000, 500_000, 2_500_000, 10_000_000,
];

/// How long a source is left in peace after a failed call, at first and at most: the pause doubles.
const PAUSE_MIN: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(5);

/// What is known of a source out of which sequences take numbers.
#[derive(Clone, PartialEq, Debug)]
pub struct OriginStatus {
    /// The name that the operator gave it.
    pub source: String,
    /// Where it is, without a password.
    pub place: String,
    /// For how long it has not answered; `None`: it answers.
    pub down_for: Option<Duration>,
    /// What it said last, while it does not answer.
    pub why: Option<String>,
    /// What it may forget, as of the last probe.
    pub class: Option<Class>,
    /// Takes by duration: one counter per bound of [`TAKE_BUCKETS_US`], the last for all above. Failed ones too.
    pub take_buckets: [u64; TAKE_BUCKETS_US.len() + 1],
    /// Time spent in takes, in microseconds.
    pub take_us: u64,
    /// Takes that failed or whose outcome stayed unknown.
    pub failed: u64,
    /// Numbers that were taken.
    pub numbers: u64,
    /// Numbers asked for whose outcome stayed unknown: nobody is given them.
    pub spent: u64,
}

/// A source by its name: what all kinds of counters there share.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) name: String,
    place: String,
    down: Mutex<Option<Down>>,
    class: Mutex<Option<Class>>,
    take_buckets: [AtomicU64; TAKE_BUCKETS_US.len() + 1],
    take_us: AtomicU64,
    failed: AtomicU64,
    numbers: AtomicU64,
    spent: AtomicU64,
}

/// A source that does not answer.
#[derive(Debug)]
struct Down {
    since: Duration,
    not_before: Duration,
    pause: Duration,
    why: String,
    told: bool,
    /// Somebody asks it now.
    asked: bool,
}

impl Place {
    pub(super) fn new(name: &str, place: String) -> Place {
        Place {
            name: name.to_string(),
            place,
            down: Mutex::default(),
            class: Mutex::default(),
            take_buckets: std::array::from_fn(|_| AtomicU64::new(0)),
            take_us: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            numbers: AtomicU64::new(0),
            spent: AtomicU64::new(0),
        }
    }

    /// Refuses a call while the source is left in peace.
    pub(super) fn admit(&self, now: Duration) -> Result<(), SourceError> {
        let down = self.lock();
        match down.as_ref().filter(|down| now < down.not_before) {
            None => Ok(()),
            Some(down) => Err(SourceError::new(
                SourceErrorKind::Unavailable,
                format!("source {} does not answer: {}", self.name, down.why),
            )),
        }
    }

    /// When it is worth asking again: from now on.
    pub(super) fn retry_in(&self, now: Duration) -> Duration {
        let down = self.lock();
        down.as_ref()
            .map_or(Duration::ZERO, |down| down.not_before.saturating_sub(now))
    }

    /// A call failed, though nothing stands against it but that there was no answer.
    pub(super) fn failed(&self, now: Duration, error: &SourceError) {
        let mut down = self.lock();
        let down = down.get_or_insert_with(|| Down {
            since: now,
            not_before: now,
            pause: PAUSE_MIN,
            why: String::new(),
            told: false,
            asked: false,
        });
        down.not_before = now + down.pause;
        down.pause = (down.pause * 2).min(PAUSE_MAX);
        down.why = error.to_string();
        down.asked = false;
    }

    /// It answered.
    pub(super) fn answered(&self, now: Duration) {
        let down = self.lock().take();
        if let Some(down) = down.filter(|down| down.told) {
            let for_ms = now.saturating_sub(down.since).as_millis() as u64;
            tracing::info!(source = %self.name, for_ms, "the source answers again");
        }
    }

    /// Whether it does not answer, and whoever asks this is to ask it now.
    pub(super) fn is_due(&self, now: Duration) -> bool {
        let mut down = self.lock();
        let Some(down) = down.as_mut().filter(|down| !down.asked && now >= down.not_before) else {
            return false;
        };
        down.asked = true;
        true
    }

    /// Tells the log, once, that it does not answer though it was asked for nothing but that.
    pub(super) fn tell_away(&self, now: Duration) {
        let mut down = self.lock();
        if let Some(down) = down.as_mut().filter(|down| !down.told) {
            down.told = true;
            let for_ms = now.saturating_sub(down.since).as_millis() as u64;
            tracing::warn!(source = %self.name, for_ms, error = %down.why, "the source does not answer");
        }
    }

    pub(super) fn has_class(&self, class: Class) {
        *self.class.lock().unwrap_or_else(PoisonError::into_inner) = Some(class);
    }

    /// Counts a take.
    pub(super) fn took(&self, took: Duration, numbers: Option<u64>) {
        let us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let bucket = TAKE_BUCKETS_US.iter().position(|bound| us <= *bound);
        self.take_buckets[bucket.unwrap_or(TAKE_BUCKETS_US.len())].fetch_add(1, Ordering::Relaxed);
        self.take_us.fetch_add(us, Ordering::Relaxed);
        match numbers {
            Some(numbers) => self.numbers.fetch_add(numbers, Ordering::Relaxed),
            None => self.failed.fetch_add(1, Ordering::Relaxed),
        };
    }

    /// Counts numbers of a take whose outcome stays unknown.
    pub(super) fn spent(&self, numbers: u64) {
        self.spent.fetch_add(numbers, Ordering::Relaxed);
    }

    pub(super) fn status(&self, now: Duration) -> OriginStatus {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let down = self.lock();
        OriginStatus {
            source: self.name.clone(),
            place: self.place.clone(),
            down_for: down.as_ref().map(|down| now.saturating_sub(down.since)),
            why: down.as_ref().map(|down| down.why.clone()),
            class: *self.class.lock().unwrap_or_else(PoisonError::into_inner),
            take_buckets: std::array::from_fn(|at| count(&self.take_buckets[at])),
            take_us: count(&self.take_us),
            failed: count(&self.failed),
            numbers: count(&self.numbers),
            spent: count(&self.spent),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Down>> {
        self.down.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
