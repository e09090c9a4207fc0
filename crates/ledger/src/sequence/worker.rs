//! The one task of a sequence that talks to the store: refill, claims, and changes of the definition, one after
//! the other (protocol S5).
//!
//! Requests queue up while the store is busy; the next round serves all of them with one claim, which is the
//! group commit of gap-free sequences.

use std::collections::VecDeque;
use std::time::Duration;

use mintage::{Base, Run, SequenceError};
use tokio::sync::oneshot;

use super::Sequence;
use super::demand::Demand;
use super::spec::{Gap, SequencePatch, SequenceSpec, SetOutcome};
use super::state::{Range, State};
use crate::error::LedgerError;
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
    DropStock,
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
    attempts: Vec<Attempt>,
    /// The record must be read before the next write.
    stale: bool,
    demand: Demand,
    /// No claim before this boot time, after outcomes stayed unknown.
    not_before: Duration,
    backoff: Duration,
    /// The state was made here and its body is not stored yet.
    unsaved: bool,
    /// Gap-free: claimed numbers (of an attempt that turned out to have landed) that go out before any other.
    adopted: Vec<Range>,
    /// How many numbers were answered straight from claims, without going through stock.
    direct: u64,
}

#[derive(Debug)]
struct Attempt {
    token: u128,
    next: State,
    range: Range,
}

/// Whom a claim is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    /// Somebody who asked for numbers: an unknown name is made.
    Taker,
    /// The stock: a name that was dropped meanwhile stays dropped.
    Stock,
}

/// How often one round tries again after losing a race for the record.
const CLAIM_TRIES: usize = 64;
const BACKOFF_MIN: Duration = Duration::from_millis(100);
const BACKOFF_MAX: Duration = Duration::from_secs(60);

impl Held {
    pub(crate) fn new(state: State) -> Held {
        let state_is_new = state.version.is_none();
        Held {
            state,
            attempts: Vec::new(),
            stale: false,
            demand: Demand::default(),
            not_before: Duration::ZERO,
            backoff: BACKOFF_MIN,
            unsaved: state_is_new,
            adopted: Vec::new(),
            direct: 0,
        }
    }
}

impl Held {
    /// The worker was dropped half-way: what the store holds must be read before the next write, and what was
    /// out of the stock is lost.
    pub(crate) fn interrupted(&mut self) {
        self.stale = true;
    }
}

type Answers = Vec<(Run, oneshot::Sender<Result<Run, LedgerError>>)>;
type Takes = VecDeque<(u64, bool, oneshot::Sender<Result<Run, LedgerError>>)>;

/// One round of work on one sequence.
pub(crate) struct Worker<'a> {
    pub(crate) sequence: &'a Sequence,
    pub(crate) held: &'a mut Held,
}

impl Worker<'_> {
    /// Serves everything that was queued, in order; neighbouring takes together.
    pub(crate) async fn serve(&mut self, jobs: VecDeque<Job>) {
        let mut takes = Takes::new();
        for job in jobs {
            match job {
                Job::Take {
                    n,
                    contiguous,
                    answer,
                } => takes.push_back((n, contiguous, answer)),
                Job::Refill => self.refill().await,
                Job::Change { change, answer } => {
                    self.serve_takes(std::mem::take(&mut takes)).await;
                    // A caller that went away does not undo the change.
                    let _ = answer.send(self.change(change).await);
                }
                Job::DropStock => {
                    let ranges = self.take_back();
                    self.lose(ranges);
                    self.put_back(Vec::new(), None, 0);
                }
                Job::Look { answer } => {
                    self.serve_takes(std::mem::take(&mut takes)).await;
                    let _ = answer.send(self.look().await);
                }
                Job::GiveBack { answer } => {
                    self.serve_takes(std::mem::take(&mut takes)).await;
                    self.give_back().await;
                    let _ = answer.send(());
                }
            }
        }
        self.serve_takes(takes).await;
    }

    async fn serve_takes(&mut self, takes: Takes) {
        if takes.is_empty() {
            return;
        }
        if let Err(error) = self.ensure_exists() {
            return refuse(takes, &error);
        }
        self.serve_all(takes).await;
    }

    /// Whether the store has the sequence, as far as is known.
    fn is_stored(&self) -> bool {
        self.held.state.version.is_some() && !self.held.state.dropped && !self.held.unsaved
    }

    /// A name's first use makes it; over a tombstone it continues above (protocol R2). Written by the claim
    /// that follows.
    fn ensure_exists(&mut self) -> Result<(), LedgerError> {
        if self.is_stored() {
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

    /// Serves all takes with as few claims as can be. Bounded sequences claim a block on top, which goes into
    /// stock; gap-free ones claim exactly what is answered.
    async fn serve_all(&mut self, mut takes: Takes) {
        let exact = self.held.state.gap == Gap::None;
        let mut ranges = self.take_back();
        let mut answers: Answers = Vec::with_capacity(takes.len());
        let mut last = None;
        let mut low_water = 0;
        while let Some((n, contiguous, answer)) = takes.pop_front() {
            let at = ranges
                .iter()
                .position(|range| !contiguous || range.run.count >= n);
            if let Some(at) = at {
                let (head, tail) = ranges[at].split(n);
                match tail {
                    Some(tail) => ranges[at] = tail,
                    None => drop(ranges.remove(at)),
                }
                last = Some(self.later(last, head.run.last()));
                self.held.direct += head.run.count;
                answers.push((head.run, answer));
                continue;
            }
            let want = match self.want(n, contiguous, &takes, &ranges) {
                Ok(want) => want,
                Err(error) => {
                    let _ = answer.send(Err(error));
                    continue;
                }
            };
            let held: u64 = ranges.iter().map(|range| range.run.count).sum();
            let block = if exact {
                0
            } else {
                self.block(want.saturating_sub(held), held.saturating_add(want))
            };
            low_water = block / 2;
            let generation = self.held.state.generation;
            match self.claim(want.saturating_add(block), Use::Taker).await {
                Ok(range) => {
                    if self.held.state.generation != generation {
                        // Another definition now: what is left of the old one is lost.
                        self.lose(std::mem::take(&mut ranges));
                    }
                    push_merged(&mut ranges, range);
                    takes.push_front((n, contiguous, answer));
                }
                Err(error) => {
                    let _ = answer.send(Err(error.clone()));
                    refuse(std::mem::take(&mut takes), &error);
                }
            }
        }
        // Visible before the answers are: a GET after an answer sees it.
        self.put_back(ranges, last, low_water);
        for (run, answer) in answers {
            let _ = answer.send(Ok(run));
        }
    }

    /// What must be claimed so that a take of `n` and those behind it can be served.
    fn want(&self, n: u64, contiguous: bool, behind: &Takes, ranges: &[Range]) -> Result<u64, LedgerError> {
        // Gap-free: no further than the next run that may turn out not to fit.
        let exact = self.held.state.gap == Gap::None;
        let behind = behind
            .iter()
            .take_while(|take| !exact || !take.1)
            .map(|take| take.0);
        let behind = behind.fold(0, u64::saturating_add);
        if !contiguous {
            return Ok(n.saturating_add(behind));
        }
        let next = self.held.state.peek(n).map_err(|e| self.sequence_error(e))?;
        let touching = ranges
            .last()
            .filter(|range| range.touches(&next))
            .map_or(0, |range| range.run.count);
        let left = touching.saturating_add(next.run.count);
        if left < n {
            return Err(LedgerError::RunTooLong {
                name: self.sequence.name.clone(),
                asked: n,
                left,
            });
        }
        Ok((n - touching).saturating_add(behind))
    }

    /// Closes the stock and takes everything unused out of it.
    fn take_back(&mut self) -> Vec<Range> {
        let mut ranges: Vec<Range> = self.held.adopted.drain(..).collect();
        ranges.extend(self.sequence.stock.close());
        merged(ranges)
    }

    /// Opens the stock again. Gap-free sequences keep nothing where takers could find it.
    fn put_back(&mut self, ranges: Vec<Range>, last: Option<i64>, low_water: u64) {
        if self.held.state.gap == Gap::None {
            self.held.adopted = ranges;
            self.sequence.stock.install(Vec::new(), last, 0);
        } else {
            self.sequence.stock.install(ranges, last, low_water);
        }
        self.sequence.publish(&self.held.state);
    }

    /// Reads the record that somebody else has changed; stock of an older definition is lost (protocol S5).
    /// Whether it could be read.
    async fn look(&mut self) -> bool {
        let Ok(found) = self.sequence.context.store.get(&self.sequence.key).await else {
            return false;
        };
        let generation = self.held.state.generation;
        let landed = match self.reconcile(found) {
            Ok(landed) => landed,
            Err(error) => {
                // Said to whoever asks for a number next; there is nothing to wait for.
                tracing::error!(sequence = %self.sequence.name, %error, "cannot follow a change");
                return true;
            }
        };
        let changed = self.held.state.generation != generation;
        if changed {
            let old = self.take_back();
            self.lose(old);
            self.sequence
                .restock(self.held.state.last_before(self.held.state.ordinal));
        }
        if let Some(range) = landed {
            let mut ranges = self.take_back();
            push_merged(&mut ranges, range);
            self.put_back(ranges, None, 0);
        }
        self.sequence.publish(&self.held.state);
        true
    }

    fn lose(&self, ranges: Vec<Range>) {
        self.sequence
            .context
            .counters
            .lost(ranges.iter().map(|range| range.run.count).sum());
    }

    /// Whichever of the two lies further in the direction of the increment.
    fn later(&self, a: Option<i64>, b: i64) -> i64 {
        match a {
            Some(a) if self.held.state.def.is_forward(b, a) && !self.held.state.def.cycle => a,
            _ => b,
        }
    }

    /// The block to claim on top of `asked` numbers that are wanted now: what the name used in the last second,
    /// and never more unused numbers than `max_gap`, of which `unused` are spoken for.
    fn block(&mut self, asked: u64, unused: u64) -> u64 {
        let now = self.sequence.context.runtime.boottime();
        let used = (self.held.direct + self.sequence.stock.taken()).saturating_add(asked);
        let block = self.held.demand.used_last_second(now, used);
        block.min(self.held.state.max_gap.saturating_sub(unused))
    }

    /// Fetches the next block behind the one in use.
    async fn refill(&mut self) {
        self.sequence.refill_begins();
        let stock = &self.sequence.stock;
        if self.held.state.gap == Gap::None || !self.is_stored() {
            return;
        }
        let held = stock.unused();
        let block = self.block(0, held);
        if block == 0 || held > block {
            return;
        }
        let generation = self.held.state.generation;
        match self.claim(block, Use::Stock).await {
            Ok(range) if self.held.state.generation == generation => stock.append(range, block / 2),
            Ok(range) => {
                // Another definition now: what is left of the old one is lost.
                let old = self.take_back();
                self.lose(old);
                self.put_back(vec![range], None, block / 2);
            }
            // Those who find the stock empty learn why; a bound that was reached is theirs to hear too.
            Err(error) => tracing::debug!(sequence = %self.sequence.name, %error, "refill failed"),
        }
        self.sequence.publish(&self.held.state);
    }

    /// Reserves a linear run of at most `want` numbers, durably.
    async fn claim(&mut self, want: u64, use_of: Use) -> Result<Range, LedgerError> {
        let context = &self.sequence.context;
        let begun = context.runtime.boottime();
        if begun < self.held.not_before {
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
        for _ in 0..CLAIM_TRIES {
            if self.held.stale {
                let found = context
                    .store
                    .get(&self.sequence.key)
                    .await
                    .map_err(LedgerError::from_store)?;
                if let Some(range) = self.reconcile(found)? {
                    return Ok(range);
                }
            }
            // What was read may be a tombstone.
            match use_of {
                Use::Taker => self.ensure_exists()?,
                Use::Stock if self.is_stored() => {}
                Use::Stock => {
                    return Err(LedgerError::NotFound {
                        name: self.sequence.name.clone(),
                    });
                }
            }
            let range = self
                .held
                .state
                .peek(want.max(1))
                .map_err(|e| self.sequence_error(e))?;
            let mut next = self.held.state.clone();
            next.ordinal += range.run.count;
            let token = fresh_token(&*context.runtime);
            // Remembered before it is sent: if this worker is dropped while it waits, the next one can still
            // find out what became of it.
            self.held.attempts.push(Attempt {
                token,
                next: next.clone(),
                range,
            });
            self.held.stale = true;
            let answer = self.write(&next, token, range.run.count).await;
            let unknown = matches!(&answer, Err(error) if error.outcome == Outcome::Unknown);
            if !unknown {
                self.held.attempts.pop();
                self.held.stale = false;
            }
            match answer {
                Ok(Cas::Done(version)) => {
                    next.version = Some(version);
                    self.stored(next);
                    self.held.backoff = BACKOFF_MIN;
                    self.forget_attempts();
                    context
                        .counters
                        .reserved(context.runtime.boottime().saturating_sub(begun));
                    return Ok(range);
                }
                Ok(Cas::Lost(found)) => {
                    if let Some(range) = self.reconcile(found)? {
                        return Ok(range);
                    }
                }
                Err(error) => {
                    context.counters.failed();
                    if unknown {
                        // Spent unless its token is found later (protocol R1, S3).
                        self.held.not_before = context.runtime.boottime() + self.held.backoff;
                        self.held.backoff = (self.held.backoff * 2).min(BACKOFF_MAX);
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

    async fn write(&self, next: &State, token: u128, add: u64) -> Result<Cas, StoreError> {
        let store = &self.sequence.context.store;
        let key = &self.sequence.key;
        match next.version {
            // The one-round-trip shortcut: only the mark moves.
            Some(expected) if next.gap == Gap::None && !self.held.unsaved => {
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
    fn reconcile(&mut self, found: Option<Versioned>) -> Result<Option<Range>, LedgerError> {
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
            return Ok(Some(landed.range));
        }
        let state = State::read(name, &found)?;
        if known != Some(found.version) && !self.held.attempts.is_empty() {
            // Somebody wrote since: none of our attempts can land any more.
            self.forget_attempts();
        }
        if known == Some(found.version) && state.ordinal < self.held.state.ordinal {
            return Err(self.went_back(format!(
                "its mark is {}, was {}",
                state.ordinal, self.held.state.ordinal
            )));
        }
        self.stored(state);
        Ok(None)
    }

    /// What the store holds is known to be `state`.
    fn stored(&mut self, state: State) {
        self.sequence.set_exists(!state.dropped);
        self.held.state = state;
        self.held.unsaved = false;
        self.held.stale = false;
        self.held.not_before = Duration::ZERO;
    }

    fn forget_attempts(&mut self) {
        let lost = self
            .held
            .attempts
            .drain(..)
            .map(|attempt| attempt.range.run.count)
            .sum();
        self.sequence.context.counters.lost(lost);
    }

    fn went_back(&self, why: String) -> LedgerError {
        // Protocol E3: never log and go on.
        LedgerError::Stopped(StoreError::new(
            StoreErrorKind::Corrupt,
            Outcome::NotDone,
            format!("the record of sequence {} went back: {why}", self.sequence.name),
        ))
    }

    fn sequence_error(&self, error: SequenceError) -> LedgerError {
        match error {
            SequenceError::Exhausted { bound, at_max } => LedgerError::Exhausted {
                name: self.sequence.name.clone(),
                bound,
                at_max,
            },
            other => LedgerError::Invalid(other.to_string()),
        }
    }

    /// The ordinal below which everything counts as issued, given what was closed: the topmost stock was not.
    fn issued(&self, ranges: &[Range]) -> u64 {
        let mut issued = self.held.state.ordinal;
        for range in ranges.iter().rev() {
            if range.ordinal + range.run.count != issued {
                break;
            }
            issued = range.ordinal;
        }
        issued
    }

    /// Changes the definition or position, exactly: the stock is closed first (protocol S5).
    async fn change(&mut self, change: Change) -> Result<SetOutcome, LedgerError> {
        let existed = self.sequence.exists();
        let previous = self.sequence.stock.last_issued().filter(|_| existed);
        let mut ranges = self.take_back();
        let changed = self.apply(change, &mut ranges).await;
        if matches!(changed, Ok(true)) {
            // Numbers of the old definition that were not issued are spent.
            self.lose(ranges);
            self.sequence
                .restock(self.held.state.last_before(self.held.state.ordinal));
            self.sequence.publish(&self.held.state);
        } else {
            self.put_back(ranges, None, 0);
        }
        changed.map(|_| SetOutcome {
            previous,
            created: !existed,
        })
    }

    /// Writes the changed record; `false`: there was nothing to change.
    async fn apply(&mut self, change: Change, ranges: &mut Vec<Range>) -> Result<bool, LedgerError> {
        let context = &self.sequence.context;
        let name = &self.sequence.name;
        for _ in 0..CLAIM_TRIES {
            if self.held.stale {
                let found = context
                    .store
                    .get(&self.sequence.key)
                    .await
                    .map_err(LedgerError::from_store)?;
                let landed = self.reconcile(found)?;
                ranges.extend(landed);
            }
            let state = &self.held.state;
            let exists = self.is_stored();
            let issued = self.issued(ranges);
            let next = match &change {
                Change::Create(spec) if exists => {
                    let asked = State::fresh(spec, context.settings.max_gap)?;
                    return match state.difference(&asked) {
                        None => Ok(false),
                        Some(difference) => Err(LedgerError::Exists {
                            name: name.clone(),
                            difference,
                        }),
                    };
                }
                Change::Create(spec) => {
                    self.sequence.check_room()?;
                    self.made(spec)?
                }
                Change::Set(to) if !exists => {
                    self.sequence.check_room()?;
                    self.made(&SequenceSpec::default())?
                        .moved(name, state.ordinal, *to, false)?
                }
                _ if !exists => return Err(LedgerError::NotFound { name: name.clone() }),
                Change::Set(to) => state.moved(name, issued, *to, false)?,
                Change::Restart { to, allow_repeat } => state
                    .moved(name, issued, *to, *allow_repeat)
                    .map_err(|error| match error {
                        LedgerError::OnlyForward { name, at } => LedgerError::NeedsAllowRepeat {
                            why: format!("it is at {at}, {} does not lie beyond", to.value),
                            name,
                        },
                        other => other,
                    })?,
                Change::Alter(patch) => state.altered(name, issued, patch)?,
                Change::Drop => state.tombstone(issued),
            };
            let token = fresh_token(&*context.runtime);
            let value = next.write(token);
            match context
                .store
                .compare_and_set(&self.sequence.key, state.version, value, Marks::NeverLower)
                .await
            {
                Ok(Cas::Done(version)) => {
                    self.forget_attempts();
                    self.stored(State {
                        version: Some(version),
                        ..next
                    });
                    return Ok(true);
                }
                Ok(Cas::Lost(found)) => {
                    let generation = self.held.state.generation;
                    let landed = self.reconcile(found)?;
                    if self.held.state.generation != generation {
                        self.lose(std::mem::take(ranges));
                    }
                    ranges.extend(landed);
                }
                Err(error) => {
                    context.counters.failed();
                    if error.outcome == Outcome::Unknown {
                        // It may have landed and made our unused numbers its own: they are spent.
                        self.held.stale = true;
                        self.lose(std::mem::take(ranges));
                    }
                    return Err(LedgerError::from_store(error));
                }
            }
        }
        Err(LedgerError::Unavailable {
            message: format!("too many writers on sequence {name}"),
            retry_after_s: 1,
        })
    }

    /// The state of a name that is made now, over nothing or over its tombstone.
    fn made(&self, spec: &SequenceSpec) -> Result<State, LedgerError> {
        let max_gap = self.sequence.context.settings.max_gap;
        match self.held.state.version {
            Some(_) => self.held.state.recreated(&self.sequence.name, spec, max_gap),
            None => State::fresh(spec, max_gap),
        }
    }

    /// Gives the unused topmost numbers back, guarded by the version of our last claim (protocol S4).
    async fn give_back(&mut self) {
        let mut ranges = self.take_back();
        let context = &self.sequence.context;
        if !context.store.exclusive() {
            return;
        }
        if self.held.stale {
            // A worker was dropped half-way; what it claimed is unused too, if it landed.
            match context
                .store
                .get(&self.sequence.key)
                .await
                .map_err(LedgerError::from_store)
            {
                Ok(found) => match self.reconcile(found) {
                    Ok(landed) => ranges.extend(landed),
                    Err(_) => return,
                },
                Err(_) => return,
            }
        }
        let issued = self.issued(&ranges);
        if !self.is_stored() || issued == self.held.state.ordinal {
            return;
        }
        let mut next = self.held.state.clone();
        next.ordinal = issued.max(next.base_ordinal);
        let value = next.write(fresh_token(&*context.runtime));
        match context
            .store
            .compare_and_set(&self.sequence.key, next.version, value, Marks::GiveBack)
            .await
        {
            Ok(Cas::Done(version)) => {
                self.held.state = State {
                    version: Some(version),
                    ..next
                }
            }
            Ok(Cas::Lost(_)) => {}
            Err(error) => {
                tracing::warn!(sequence = %self.sequence.name, %error, "could not give numbers back")
            }
        }
    }
}

fn refuse(takes: Takes, error: &LedgerError) {
    for (_, _, answer) in takes {
        let _ = answer.send(Err(error.clone()));
    }
}

/// Joins neighbours that touch.
fn merged(ranges: Vec<Range>) -> Vec<Range> {
    let mut out = Vec::with_capacity(ranges.len());
    for range in ranges {
        push_merged(&mut out, range);
    }
    out
}

fn push_merged(ranges: &mut Vec<Range>, range: Range) {
    match ranges.last_mut() {
        Some(last) if last.touches(&range) => last.run.count += range.run.count,
        _ => ranges.push(range),
    }
}
