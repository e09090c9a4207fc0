//! Takes out of one kind of counters in a source, which must keep what it acknowledges.

use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use mintage::Run;

use super::place::Place;
use crate::runtime::Runtime;
use crate::source::{Source, SourceError, SourceErrorKind};
use crate::store::{Class, Outcome};

/// For how long a probe of what the source may forget holds, unless it went away meanwhile.
const PROBE_EVERY: Duration = Duration::from_secs(60);

/// One kind of counters in a source, as sequences take from it.
#[derive(Debug)]
pub(crate) struct Takes {
    source: Arc<dyn Source>,
    place: Arc<Place>,
    runtime: Arc<dyn Runtime>,
    patience: Duration,
    /// When it was last seen to keep what it acknowledges.
    kept_at: Mutex<Option<Duration>>,
}

/// A take under way. Dropped without an answer, what was asked for is spent: nobody may be given it (protocol R1, S3).
#[derive(Debug)]
struct Asked<'a> {
    takes: &'a Takes,
    n: u64,
    is_answered: bool,
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        if !self.is_answered {
            self.takes.place.spent(self.n);
        }
    }
}

impl Takes {
    pub(super) fn new(
        source: Arc<dyn Source>,
        place: Arc<Place>,
        runtime: Arc<dyn Runtime>,
        patience: Duration,
    ) -> Takes {
        Takes {
            source,
            place,
            runtime,
            patience,
            kept_at: Mutex::default(),
        }
    }

    pub(super) fn place_name(&self) -> &str {
        &self.place.name
    }

    /// Where it is, without a password.
    pub(crate) fn shown(&self) -> String {
        self.source.place()
    }

    /// After how long it is worth asking again.
    pub(crate) fn retry_in(&self) -> Duration {
        self.place.retry_in(self.runtime.boottime())
    }

    /// Takes about `n` numbers. What is answered is reserved; where the outcome is not known, what was asked for is spent.
    ///
    /// # Errors
    /// The source does not answer or is left in peace ([`SourceErrorKind::Unavailable`]), may forget what it acknowledges,
    /// or refuses.
    pub(crate) async fn take(&self, key: &str, n: u64) -> Result<Vec<Run>, SourceError> {
        self.place.admit(self.runtime.boottime())?;
        self.check_class().await?;
        let begun = self.runtime.boottime();
        let mut asked = Asked {
            takes: self,
            n,
            is_answered: false,
        };
        let answer = self.within(self.source.take(key, n)).await;
        let answer = answer.and_then(|runs| checked(key, runs));
        asked.is_answered = !matches!(&answer, Err(error) if error.outcome == Outcome::Unknown);
        let now = self.runtime.boottime();
        let numbers = answer
            .as_ref()
            .ok()
            .map(|runs| runs.iter().map(|run| run.count).sum());
        self.place.took(now.saturating_sub(begun), numbers);
        self.note(&answer);
        answer
    }

    /// Whether the source does not answer, and this is to ask it now.
    pub(super) fn is_due(&self, now: Duration) -> bool {
        self.place.is_due(now)
    }

    /// Asks a source that does not answer whether it does again.
    pub(super) async fn ask_whether_back(&self) {
        if self.probe().await.is_err() {
            self.place.tell_away(self.runtime.boottime());
        }
    }

    /// Refuses a source that can lose what it has acknowledged: after a crash it would give the same numbers again.
    async fn check_class(&self) -> Result<(), SourceError> {
        let kept_at = *self.kept_at.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.runtime.boottime();
        if kept_at.is_some_and(|at| now.saturating_sub(at) < PROBE_EVERY) {
            return Ok(());
        }
        self.probe().await
    }

    /// Asks what the source may forget.
    async fn probe(&self) -> Result<(), SourceError> {
        let answer = self.within(self.source.durability()).await;
        self.note(&answer);
        let found = answer?;
        self.place.has_class(found.class);
        if found.class == Class::Lossy {
            self.set_kept(None);
            let why = match found.why.is_empty() {
                true => String::new(),
                false => format!(" ({})", found.why),
            };
            let error = SourceError::new(
                SourceErrorKind::Refused,
                format!(
                    "source {} may lose what it has acknowledged, class L{why}, and would give the same numbers again",
                    self.place.name
                ),
            );
            return Err(match found.fix {
                Some(fix) => error.with_fix(fix),
                None => error,
            });
        }
        self.set_kept(Some(self.runtime.boottime()));
        Ok(())
    }

    fn set_kept(&self, at: Option<Duration>) {
        *self.kept_at.lock().unwrap_or_else(PoisonError::into_inner) = at;
    }

    /// Whether it answers, as this answer shows. One that went away may come back as another, so that it is probed anew.
    fn note<T>(&self, answer: &Result<T, SourceError>) {
        let now = self.runtime.boottime();
        match answer {
            Err(error) if error.kind == SourceErrorKind::Unavailable => {
                self.set_kept(None);
                self.place.failed(now, error);
            }
            _ => self.place.answered(now),
        }
    }

    /// What a call answers in time; one that is given up may have done what was asked.
    async fn within<T>(&self, call: impl Future<Output = Result<T, SourceError>>) -> Result<T, SourceError> {
        tokio::select! {
            // In a fixed order, so that a simulated run repeats.
            biased;
            answer = call => answer,
            () = self.runtime.sleep(self.patience) => Err(SourceError::new(
                SourceErrorKind::Unavailable,
                format!("{} has not answered for {} s", self.shown(), self.patience.as_secs()),
            ).unknown()),
        }
    }
}

/// Refuses what is no answer: a source that gives nothing, or numbers that there are not.
fn checked(key: &str, runs: Vec<Run>) -> Result<Vec<Run>, SourceError> {
    let is_one = |run: &Run| {
        let apart = i128::from(run.count.saturating_sub(1)) * i128::from(run.step);
        run.count > 0 && run.step != 0 && i64::try_from(i128::from(run.first) + apart).is_ok()
    };
    match !runs.is_empty() && runs.iter().all(is_one) {
        true => Ok(runs),
        false => Err(SourceError::new(
            SourceErrorKind::Refused,
            format!("a take of {key} was answered with what are no numbers: {runs:?}"),
        )),
    }
}
