//! The one task of a sequence that talks to the store: refill, claims, and changes of the definition, one after
//! the other (protocol S5).
//!
//! Requests queue up while the store is busy; the next round serves all of them with one claim, which is the
//! group commit of gap-free sequences.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use mintage::{Base, Run, SequenceError};
use tokio::sync::oneshot;

use super::Sequence;
use super::spec::{Gap, SequencePatch, SequenceSpec, SetOutcome};
use super::state::{Range, State, beyond};
use super::stripes::{ChangeOfAll, FROZEN_FOR, FROZEN_LOOK_EVERY};
use crate::error::LedgerError;
use crate::journal::Pending;
use crate::runtime::fresh_token;
use crate::store::{Cas, Claim, Marks, Outcome, StoreError, StoreErrorKind, Versioned};

/// What is asked of the worker.
#[derive(Debug)]
pub(crate) enum Job {
    Take {
        n: u64,
        contiguous: bool,
        answer: oneshot::Sender<Result<Run, LedgerError>>,
    },
    Refill,
    Change {
        change: Change,
        answer: oneshot::Sender<Result<SetOutcome, LedgerError>>,
    },
    GiveBack {
        answer: oneshot::Sender<()>,
    },
    Look {
        answer: oneshot::Sender<bool>,
    },
}

/// A change of the definition or position.
#[derive(Debug)]
pub(crate) enum Change {
    Create(SequenceSpec),
    Alter(SequencePatch),
    Restart { to: Base, allow_repeat: bool },
    Set(Base),
    Drop,
}

/// What the worker knows; it alone touches this.
#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) state: State,
    /// Claims whose outcome is not known (protocol R1, S6).
    pub(super) attempts: Vec<Attempt>,
    /// The record must be read before the next write.
    pub(super) stale: bool,
    /// No claim before this boot time, after outcomes stayed unknown; unless the store has come back since.
    not_before: Duration,
    backoff: Duration,
    recoveries: u64,
    /// The state was made here and its body is not stored yet.
    unsaved: bool,
    /// Gap-free: claimed numbers (of an attempt that turned out to have landed) that go out before any other.
    pub(super) adopted: Vec<Range>,
    /// What was in stock and under way in an older epoch is dropped.
    epoch: u64,
    /// The furthest number that this process has reserved of this definition.
    furthest: Option<i64>,
}

#[derive(Debug)]
pub(super) struct Attempt {
    pub(super) token: u128,
    next: State,
    pub(super) range: Range,
}

/// What a claim came to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Claimed {
    pub(super) range: Range,
    /// Of an earlier attempt, that turned out to have landed. The journal may have been told of that one: a process that
    /// finds it there goes on with it, unless the journal hears that it was handed out (protocol S7).
    pub(super) landed: bool,
}

/// Whom a claim is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    /// Somebody who asked for numbers: an unknown name is made.
    Taker,
    /// The stock: a name that was dropped meanwhile stays dropped.
    Stock,
    /// A large block, which the journal must know of first (protocol S7).
    Owned,
}

/// How often one round tries again after losing a race for the record.
pub(super) const CLAIM_TRIES: usize = 64;
/// Claims of unknown outcome that are remembered; one that is forgotten is a gap, nothing more.
const ATTEMPTS_MAX: usize = 64;
const BACKOFF_MIN: Duration = Duration::from_millis(100);
const BACKOFF_MAX: Duration = Duration::from_secs(60);

impl Held {
    pub(crate) fn new(state: State) -> Held {
        let state_is_new = state.version.is_none();
        Held {
            state,
            attempts: Vec::new(),
            stale: false,
            not_before: Duration::ZERO,
            backoff: BACKOFF_MIN,
            recoveries: 0,
            unsaved: state_is_new,
            adopted: Vec::new(),
            epoch: 0,
            furthest: None,
        }
    }
}

impl Held {
    /// Whatever is reserved now is for this epoch of the sequence.
    pub(super) fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Whether it knows nothing that the store does not.
    pub(super) fn is_at_rest(&self) -> bool {
        self.attempts.is_empty() && self.adopted.is_empty()
    }

    /// The worker was dropped half-way: what the store holds must be read before the next write, and what was
    /// out of the stock is lost.
    pub(crate) fn interrupted(&mut self) {
        self.stale = true;
    }
}

pub(super) type Answers = Vec<(Run, oneshot::Sender<Result<Run, LedgerError>>)>;
pub(super) type Takes = VecDeque<(u64, bool, oneshot::Sender<Result<Run, LedgerError>>)>;

/// One round of work on one sequence.
pub(crate) struct Worker<'a> {
    pub(crate) sequence: &'a Arc<Sequence>,
    pub(crate) held: &'a mut Held,
}

impl Worker<'_> {
    /// Serves everything that was queued, in order; neighbouring takes together.
    pub(crate) async fn serve(&mut self, jobs: VecDeque<Job>) {
        let mut takes = Takes::new();
        if jobs.iter().any(|job| !matches!(job, Job::GiveBack { .. })) {
            self.sequence.keep_active();
        }
        for job in jobs {
            self.forget_if_dropped();
            match job {
                Job::Take {
                    n,
                    contiguous,
                    answer,
                } => takes.push_back((n, contiguous, answer)),
                Job::Refill if self.sequence.stays_open() => self.refill_open().await,
                Job::Refill => self.refill().await,
                Job::Change { change, answer } => {
                    self.serve_takes(std::mem::take(&mut takes)).await;
                    // A caller that went away does not undo the change.
                    let changed = match self.sequence.stays_open() {
                        true => self.change_open(change).await,
                        false => self.change(change).await,
                    };
                    let _ = answer.send(changed);
                }
                Job::Look { answer } => {
                    self.serve_takes(std::mem::take(&mut takes)).await;
                    let _ = answer.send(self.look().await);
                }
                Job::GiveBack { answer } => {
                    self.serve_takes(std::mem::take(&mut takes)).await;
                    match self.sequence.stays_open() {
                        true => self.sequence.put_away().await,
                        false => self.give_back().await,
                    }
                    self.sequence.restock(self.sequence.stock.last_issued());
                    let _ = answer.send(());
                }
            }
        }
        self.serve_takes(takes).await;
        if self.held.attempts.is_empty() {
            // Room for a few takes half of what a name needs in memory.
            self.held.attempts = Vec::new();
        }
    }

    async fn serve_takes(&mut self, takes: Takes) {
        if takes.is_empty() {
            return;
        }
        if let Err(error) = self.ensure_exists() {
            return refuse(takes, &error);
        }
        if self.sequence.stays_open() && self.held.state.gap == Gap::Bounded {
            self.serve_open(takes).await;
        } else {
            self.serve_all(takes).await;
        }
    }

    /// What this process held when everything was dropped is not ours any more, nor is what is under way: a copy of
    /// this process would find its own tokens too (protocol R1, R4).
    pub(super) fn forget_if_dropped(&mut self) {
        let epoch = self.sequence.owned.lock().epoch;
        if epoch != self.held.epoch {
            self.held.epoch = epoch;
            self.forget_attempts();
            let adopted = std::mem::take(&mut self.held.adopted);
            self.lose(adopted);
            self.held.stale = true;
        }
    }

    /// Whether the store has the sequence, as far as is known.
    pub(super) fn is_stored(&self) -> bool {
        self.held.state.version.is_some() && !self.held.state.dropped && !self.held.unsaved
    }

    /// A name's first use makes it; over a tombstone it continues above (protocol R2). Written by the claim
    /// that follows.
    fn ensure_exists(&mut self) -> Result<(), LedgerError> {
        if self.is_stored() || self.held.state.frozen {
            return Ok(());
        }
        let settings = &self.sequence.context.settings;
        let name = &self.sequence.name;
        if !settings.auto_create {
            return Err(LedgerError::NoAutoCreate { name: name.clone() });
        }
        self.sequence.check_room()?;
        if self.held.state.dropped {
            self.held.state = self.made(&SequenceSpec::default())?;
        }
        self.held.unsaved = true;
        Ok(())
    }

    /// Reserves a linear run of at most `asked` numbers and a block on top, durably.
    pub(super) async fn claim(
        &mut self,
        asked: u64,
        block: u64,
        use_of: Use,
    ) -> Result<Claimed, LedgerError> {
        let context = &self.sequence.context;
        let begun = context.runtime.boottime();
        if begun < self.held.not_before && self.held.recoveries == context.health.recoveries() {
            let wait = (self.held.not_before - begun).as_secs() + 1;
            let message = format!(
                "the outcome of a reservation for {} is unknown",
                self.sequence.name
            );
            return Err(LedgerError::Unavailable {
                message,
                retry_after_s: wait,
            });
        }
        let mut thawed = false;
        for _ in 0..CLAIM_TRIES {
            self.forget_if_dropped();
            if self.held.stale {
                let found = context
                    .store
                    .get(&self.sequence.key)
                    .await
                    .map_err(LedgerError::from_store)?;
                if let Some(range) = self.reconcile(found)? {
                    return Ok(Claimed { range, landed: true });
                }
            }
            if self.held.state.frozen {
                let waited = context.runtime.boottime().saturating_sub(begun);
                self.wait_for_thaw(use_of, waited, &mut thawed).await?;
                continue;
            }
            // What was read may be a tombstone.
            match use_of {
                Use::Taker => self.ensure_exists()?,
                Use::Stock | Use::Owned if self.is_stored() => {}
                Use::Stock | Use::Owned => {
                    return Err(LedgerError::NotFound {
                        name: self.sequence.name.clone(),
                    });
                }
            }
            // What the record says of the stock may be learned only here: none if the sequence is gap-free.
            let most = match (self.held.state.gap, use_of) {
                (Gap::None, _) => 0,
                (Gap::Bounded, Use::Owned) => block,
                (Gap::Bounded, _) => self.held.state.max_gap.saturating_sub(asked),
            };
            let want = asked.saturating_add(block.min(most));
            if want == 0 {
                return Err(LedgerError::Unavailable {
                    message: format!("sequence {} keeps no stock", self.sequence.name),
                    retry_after_s: 1,
                });
            }
            let peeked = self.held.state.peek_beyond(self.held.furthest, want);
            let range = peeked.map_err(|e| self.sequence_error(e))?;
            let passed = range.ordinal - self.held.state.ordinal;
            let mut next = self.held.state.clone();
            next.ordinal = range.end();
            let token = fresh_token(&*context.runtime);
            if next.gap == Gap::None && self.sequence.stays_open() {
                next.note_landed(context.instance(), token);
            }
            // Remembered before it is sent: if this worker is dropped while it waits, the next one can still
            // find out what became of it.
            if self.held.attempts.len() == ATTEMPTS_MAX {
                let oldest = self.held.attempts.remove(0);
                context.counters.lost(oldest.range.run.count);
            }
            self.held.attempts.push(Attempt {
                token,
                next: next.clone(),
                range,
            });
            if use_of == Use::Owned
                && let Err(error) = self.note_pending().await
            {
                self.held.attempts.pop();
                return Err(LedgerError::from_store(error));
            }
            self.held.stale = true;
            let answer = self.write(&next, token, passed + range.run.count).await;
            let answer = answer.map(|cas| cas.of_attempt(token));
            let unknown = matches!(&answer, Err(error) if error.outcome == Outcome::Unknown);
            if !unknown {
                self.held.attempts.pop();
                self.held.stale = false;
            }
            if self.sequence.owned.lock().epoch != self.held.epoch {
                // Dropped while we waited: it is not ours to hand out, whatever became of it.
                self.forget_if_dropped();
                if matches!(answer, Ok(Cas::Done(_))) {
                    context.counters.lost(range.run.count);
                }
                continue;
            }
            match answer {
                Ok(Cas::Done(version)) => {
                    context.counters.lost(passed);
                    self.note_furthest(&range);
                    let made = next.version.is_none_or(|before| !before.is_written());
                    next.version = Some(version);
                    self.stored(next);
                    if made {
                        self.tell_all().await;
                    }
                    self.held.backoff = BACKOFF_MIN;
                    self.forget_attempts();
                    context
                        .counters
                        .reserved(context.runtime.boottime().saturating_sub(begun));
                    return Ok(Claimed { range, landed: false });
                }
                Ok(Cas::Lost(found)) => {
                    if let Some(range) = self.reconcile(found)? {
                        return Ok(Claimed { range, landed: true });
                    }
                }
                Err(error) => {
                    context.counters.failed();
                    if unknown {
                        // Spent unless its token is found later (protocol R1, S3).
                        self.held.not_before = context.runtime.boottime() + self.held.backoff;
                        self.held.backoff = (self.held.backoff * 2).min(BACKOFF_MAX);
                        self.held.recoveries = context.health.recoveries();
                    }
                    return Err(LedgerError::from_store(error));
                }
            }
        }
        Err(LedgerError::Unavailable {
            message: format!("too many writers on sequence {}", self.sequence.name),
            retry_after_s: 1,
        })
    }

    /// Waits while a change is made in all stores of a set; one that was broken off is brought to its end, for which all
    /// of them must be there.
    async fn wait_for_thaw(
        &mut self,
        use_of: Use,
        waited: Duration,
        thawed: &mut bool,
    ) -> Result<(), LedgerError> {
        let context = &self.sequence.context;
        self.held.stale = true;
        let refused = |why: &str| LedgerError::Unavailable {
            message: format!(
                "a change of sequence {} was not made in all stores of the set{why}",
                self.sequence.name
            ),
            retry_after_s: 1,
        };
        if use_of != Use::Taker || *thawed {
            return Err(refused(""));
        }
        if waited < FROZEN_FOR {
            context.runtime.sleep(FROZEN_LOOK_EVERY).await;
            return Ok(());
        }
        *thawed = true;
        let Some(striped) = context.store.striped() else {
            return Err(refused(", and this is one of them alone"));
        };
        let ended = ChangeOfAll {
            striped,
            key: &self.sequence.key,
            name: &self.sequence.name,
            change: None,
            max_gap: context.settings.max_gap,
            runtime: &*context.runtime,
        };
        let ended = ended.make().await;
        ended.map_err(|error| {
            refused(&format!(
                "; it is brought to its end once all of them answer: {error}"
            ))
        })
    }

    /// Tells the other stores of a set of a name that one of them has met now.
    async fn tell_all(&self) {
        let context = &self.sequence.context;
        let Some(striped) = context.store.striped() else {
            return;
        };
        let known = &self.held.state;
        let taught = |found: &Versioned| {
            let behind = State::read(&self.sequence.name, found).ok()?;
            Some(known.taught(&behind).write(fresh_token(&*context.runtime)))
        };
        tokio::select! {
            // In a fixed order, so that a simulated run repeats.
            biased;
            () = striped.make_known(&self.sequence.key, taught) => {}
            () = context.runtime.sleep(context.settings.request_timeout) => {}
        }
    }

    /// Tells the journal which claims are on their way, so that the next process with it finds what landed.
    async fn note_pending(&self) -> Result<(), StoreError> {
        let Some(journal) = &self.sequence.context.journal else {
            return Ok(());
        };
        let mut entry = self.sequence.owned.entry.lock().await;
        let ranges = self.sequence.owned.lock().ordinals();
        let generation = self.held.state.generation;
        journal
            .write(
                &self.sequence.name,
                &mut entry,
                generation,
                ranges,
                self.pending(),
            )
            .await
    }

    /// The claims whose outcome is not known, for the journal.
    pub(super) fn pending(&self) -> Vec<Pending> {
        let attempts = self.held.attempts.iter();
        attempts
            .map(|attempt| Pending::new(attempt.token, attempt.range.ordinal, attempt.range.end()))
            .collect()
    }

    async fn write(&self, next: &State, token: u128, add: u64) -> Result<Cas, StoreError> {
        let store = &self.sequence.context.store;
        let key = &self.sequence.key;
        match next.version {
            // The one-round-trip shortcut: only the mark moves.
            Some(expected) if next.gap == Gap::None && !self.held.unsaved && !self.sequence.stays_open() => {
                let claim = Claim {
                    key: key.clone(),
                    expected,
                    add,
                    token,
                };
                store.claim(&claim).await
            }
            expected => {
                store
                    .compare_and_set(key, expected, next.write(token), Marks::NeverLower)
                    .await
            }
        }
    }

    /// Takes over what the store really holds. A range whose attempt turns out to have landed is ours: answered
    /// if there is one.
    pub(super) fn reconcile(&mut self, found: Option<Versioned>) -> Result<Option<Range>, LedgerError> {
        let name = &self.sequence.name;
        let known = self.held.state.version;
        let Some(found) = found else {
            self.held.stale = false;
            return match known {
                None => Ok(None),
                Some(_) => Err(self.went_back("it vanished from the store".into())),
            };
        };
        if known.is_some_and(|known| found.version < known) {
            let why = format!(
                "it is at version {}, was at {}",
                found.version.0,
                known.map_or(0, |v| v.0)
            );
            return Err(self.went_back(why));
        }
        if let Some(at) = self
            .held
            .attempts
            .iter()
            .position(|a| a.token == found.value.token)
        {
            let landed = self.held.attempts.swap_remove(at);
            self.forget_attempts();
            self.stored(State {
                version: Some(found.version),
                ..landed.next
            });
            self.note_furthest(&landed.range);
            return Ok(Some(landed.range));
        }
        let state = State::read(name, &found)?;
        let mut landed = None;
        if known != Some(found.version) && !self.held.attempts.is_empty() {
            // Somebody wrote since: none of our attempts can land any more, but one may have (protocol S6).
            let ours = self.held.attempts.iter().position(|a| state.has_landed(a.token));
            let ours = ours.filter(|_| state.generation == self.held.state.generation);
            landed = ours.map(|at| self.held.attempts.swap_remove(at).range);
            self.forget_attempts();
        }
        if known == Some(found.version) && state.ordinal < self.held.state.ordinal {
            return Err(self.went_back(format!(
                "its mark is {}, was {}",
                state.ordinal, self.held.state.ordinal
            )));
        }
        // Another store of a set may not have met the name, or not have followed its last change: it learns with the next
        // claim, before any number of its share is given out.
        let state = match self.sequence.context.store.striped() {
            Some(_) if !self.held.unsaved && !state.frozen && state.is_behind(&self.held.state) => {
                self.held.state.taught(&state)
            }
            _ => state,
        };
        self.stored(state);
        Ok(landed)
    }

    /// Reads the record that another process has changed; stock of an older definition is dropped with that
    /// (protocol S5). Whether it could be read.
    async fn look(&mut self) -> bool {
        let Ok(found) = self.sequence.context.store.get(&self.sequence.key).await else {
            return false;
        };
        match self.reconcile(found) {
            Ok(Some(range)) => {
                let landed = Claimed { range, landed: true };
                self.keep(landed, None, 0, 0).await;
            }
            Ok(None) => {}
            // Said to whoever asks for a number next; there is nothing to wait for.
            Err(error) => tracing::error!(sequence = %self.sequence.name, %error, "cannot follow a change"),
        }
        self.sequence.publish(&self.held.state);
        true
    }

    /// This process has reserved these numbers: those that follow from another store of a set lie beyond.
    fn note_furthest(&mut self, range: &Range) {
        let (def, last) = (&self.held.state.def, range.run.last());
        if self
            .held
            .furthest
            .is_none_or(|furthest| beyond(def, furthest, last))
        {
            self.held.furthest = Some(last);
        }
    }

    /// What the store holds is known to be `state`.
    pub(super) fn stored(&mut self, state: State) {
        self.sequence.set_stored(&state);
        self.sequence.context.is_served(&self.sequence.name);
        if self.sequence.stays_open() && self.held.state.generation != state.generation {
            // Numbers of the definition before are not given out any more (protocol S5).
            let last = state.last_before(state.ordinal);
            self.held.epoch = self.sequence.drop_all(last);
            let adopted = std::mem::take(&mut self.held.adopted);
            self.lose(adopted);
        }
        if self.held.state.generation != state.generation {
            self.held.furthest = None;
        }
        self.held.state = state;
        self.held.unsaved = false;
        self.held.stale = false;
        self.held.not_before = Duration::ZERO;
    }

    pub(super) fn forget_attempts(&mut self) {
        let lost = self
            .held
            .attempts
            .drain(..)
            .map(|attempt| attempt.range.run.count)
            .sum();
        self.sequence.context.counters.lost(lost);
    }

    pub(super) fn went_back(&self, why: String) -> LedgerError {
        // Protocol E3: never log and go on.
        let mut refused = self.sequence.context.refused.lock().expect("no panic while held");
        refused.insert(self.sequence.name.clone());
        LedgerError::Stopped(StoreError::new(
            StoreErrorKind::Corrupt,
            Outcome::NotDone,
            format!("the record of sequence {} went back: {why}", self.sequence.name),
        ))
    }

    pub(super) fn sequence_error(&self, error: SequenceError) -> LedgerError {
        match error {
            SequenceError::Exhausted { bound, at_max } => LedgerError::Exhausted {
                name: self.sequence.name.clone(),
                bound,
                at_max,
            },
            other => LedgerError::Invalid(other.to_string()),
        }
    }

    /// The state of a name that is made now, over nothing or over its tombstone.
    pub(super) fn made(&self, spec: &SequenceSpec) -> Result<State, LedgerError> {
        let max_gap = self.sequence.context.settings.max_gap;
        match self.held.state.version {
            Some(_) => self.held.state.recreated(&self.sequence.name, spec, max_gap),
            None => State::fresh(spec, max_gap),
        }
    }

    /// Counts what nobody will see.
    pub(super) fn lose(&self, ranges: Vec<Range>) {
        self.sequence
            .context
            .counters
            .lost(ranges.iter().map(|range| range.run.count).sum());
    }
}

pub(super) fn refuse(takes: Takes, error: &LedgerError) {
    for (_, _, answer) in takes {
        let _ = answer.send(Err(error.clone()));
    }
}
