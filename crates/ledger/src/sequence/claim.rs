//! Claims: the conditional writes that reserve numbers.

use std::time::Duration;

use mintage::SequenceError;

use super::memory::{ATTEMPTS_MAX, Attempt, BACKOFF_MAX, BACKOFF_MIN};
use super::range::Range;
use super::spec::Gap;
use super::state::{State, beyond};
use super::stripes::{ChangeOfAll, FROZEN_FOR, FROZEN_LOOK_EVERY};
use super::task::SequenceTask;
use crate::error::LedgerError;
use crate::journal::Pending;
use crate::kept::Tokens;
use crate::runtime::fresh_token;
use crate::store::{Cas, Claim, Marks, Outcome, StoreError, Versioned};
use crate::striped::{AsStriped, Placed};

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

impl SequenceTask<'_> {
    /// Reserves a linear run of at most `asked` numbers and a block on top, durably.
    pub(super) async fn claim(
        &mut self,
        asked: u64,
        block: u64,
        use_of: Use,
    ) -> Result<Claimed, LedgerError> {
        let context = &self.sequence.context;
        let begun = context.runtime.boottime();
        self.check_backoff(begun)?;
        let mut thawed = false;
        for _ in 0..CLAIM_TRIES {
            self.forget_if_dropped();
            if let Some(range) = self.refresh().await? {
                return Ok(Claimed { range, landed: true });
            }
            if self.known.state.frozen {
                let waited = context.runtime.boottime().saturating_sub(begun);
                self.wait_for_thaw(use_of, waited, &mut thawed).await?;
                continue;
            }
            self.check_exists(use_of)?;
            self.check_own()?;
            let want = self.want_with_block(asked, block, use_of)?;
            if let Some(claimed) = self.attempt(want, use_of).await? {
                if !claimed.landed {
                    let took = context.runtime.boottime().saturating_sub(begun);
                    context.counters.reserved(took);
                }
                return Ok(claimed);
            }
        }
        Err(self.too_many_writers())
    }

    /// After outcomes stayed unknown nothing is claimed for a while, unless the store has come back since.
    fn check_backoff(&self, now: Duration) -> Result<(), LedgerError> {
        let has_come_back = self.known.recoveries != self.sequence.context.health.recoveries();
        if now >= self.known.not_before || has_come_back {
            return Ok(());
        }
        Err(LedgerError::Unavailable {
            message: format!(
                "the outcome of a reservation for {} is unknown",
                self.sequence.name
            ),
            retry_after_s: (self.known.not_before - now).as_secs() + 1,
        })
    }

    pub(super) fn back_off(&mut self) {
        let context = &self.sequence.context;
        self.known.not_before = context.runtime.boottime() + self.known.backoff;
        self.known.backoff = (self.known.backoff * 2).min(BACKOFF_MAX);
        self.known.recoveries = context.health.recoveries();
    }

    /// What was read may be a tombstone: a taker makes the name anew, the stock does not.
    fn check_exists(&mut self, use_of: Use) -> Result<(), LedgerError> {
        self.check_open()?;
        match use_of {
            Use::Taker => self.ensure_exists(),
            Use::Stock | Use::Owned if self.is_stored() => Ok(()),
            Use::Stock | Use::Owned => Err(LedgerError::NotFound {
                name: self.sequence.name.clone(),
            }),
        }
    }

    /// Refuses a claim of a sequence that is sealed. The record is read again before the next one: it may serve by then.
    fn check_open(&mut self) -> Result<(), LedgerError> {
        let refused = self.known.state.check_open(&self.sequence.name);
        self.known.stale |= refused.is_err();
        refused
    }

    /// What was read may say that numbers come out of an origin from now on: none is claimed here.
    fn check_own(&self) -> Result<(), LedgerError> {
        match self.known.state.origin() {
            None => Ok(()),
            Some(_) => Err(LedgerError::unavailable(format!(
                "sequence {} began to take its numbers from elsewhere at this moment",
                self.sequence.name
            ))),
        }
    }

    /// How many numbers to reserve. What the record says of the stock may be learned only with the claim: none if the
    /// sequence is gap-free (protocol S6), and never more than `max_gap` (protocol S3).
    fn want_with_block(&self, asked: u64, block: u64, use_of: Use) -> Result<u64, LedgerError> {
        let most = match (self.known.state.gap, use_of) {
            (Gap::None, _) => 0,
            (Gap::Bounded, Use::Owned) => block,
            (Gap::Bounded, _) => self.known.state.max_gap.saturating_sub(asked),
        };
        let want = asked.saturating_add(block.min(most));
        if want == 0 {
            return Err(LedgerError::unavailable(format!(
                "sequence {} keeps no stock",
                self.sequence.name
            )));
        }
        Ok(want)
    }

    /// Tries once to reserve `want` numbers; `None`: somebody else was quicker, or everything was dropped meanwhile.
    async fn attempt(&mut self, want: u64, use_of: Use) -> Result<Option<Claimed>, LedgerError> {
        let context = &self.sequence.context;
        let peeked = self.known.state.peek_beyond(self.known.furthest, want);
        let range = peeked.map_err(|e| self.sequence_error(e))?;
        let passed = range.ordinal - self.known.state.ordinal;
        let mut next = self.known.state.clone();
        next.ordinal = range.end();
        let token = fresh_token(&*context.runtime);
        if next.gap == Gap::None && self.sequence.is_shared() {
            next.note_landed(context.instance(), token);
        }
        let sent = context.runtime.boottime();
        self.remember(Attempt {
            tokens: Tokens::new(token),
            sent,
            range,
        });
        if use_of == Use::Owned
            && let Err(error) = self.note_pending().await
        {
            self.known.attempts.pop();
            return Err(error.into());
        }
        self.known.stale = true;
        let answer = self.write(&next, token, passed + range.run.count).await;
        let unknown = matches!(&answer, Err(error) if error.outcome == Outcome::Unknown);
        // Delivered twice, it is told of its own success as of a race that it lost.
        let shown = matches!(&answer, Ok(Cas::Lost(Some(found))) if found.value.token == token);
        if !unknown && !shown {
            self.known.attempts.pop();
            self.known.stale = false;
        }
        if self.sequence.owned.lock().epoch != self.known.epoch {
            // Dropped while we waited: it is not ours to hand out, whatever became of it (protocol R4, S5).
            self.forget_if_dropped();
            if matches!(answer, Ok(Cas::Done(_))) {
                self.sequence.note_reserved(range, sent);
                self.lose(vec![range]);
            }
            return Ok(None);
        }
        match answer {
            Ok(Cas::Done(version)) => {
                self.sequence.count_lost(passed);
                self.sequence.note_reserved(range, sent);
                next.version = Some(version);
                self.has_claimed(&range, next).await;
                Ok(Some(Claimed { range, landed: false }))
            }
            Ok(Cas::Lost(found)) => {
                let landed = self.reconcile(found).await?;
                Ok(landed.map(|range| Claimed { range, landed: true }))
            }
            Err(error) => {
                context.counters.failed();
                if unknown {
                    // Spent unless its token is found later (protocol R1, S3).
                    self.back_off();
                }
                Err(error.into())
            }
        }
    }

    /// An attempt is remembered before it is sent: if this task is dropped while it waits, the next one can still find
    /// out what became of it (protocol R1).
    fn remember(&mut self, attempt: Attempt) {
        if self.known.attempts.len() == ATTEMPTS_MAX {
            let oldest = self.known.attempts.remove(0);
            self.sequence.count_lost(oldest.range.run.count);
        }
        self.known.attempts.push(attempt);
    }

    /// A claim was acknowledged, with this record.
    async fn has_claimed(&mut self, range: &Range, record: State) {
        let before = self.known.state.version;
        self.note_furthest(range);
        self.stored_by_take(record);
        if before.is_none_or(|before| !before.is_written()) {
            self.tell_all().await;
        }
        self.known.backoff = BACKOFF_MIN;
        self.forget_attempts();
    }

    async fn write(&self, next: &State, token: u128, add: u64) -> Result<Cas, StoreError> {
        let store = &self.sequence.context.store;
        let key = &self.sequence.key;
        match next.version {
            // The one-round-trip shortcut: only the mark moves.
            Some(expected) if next.gap == Gap::None && !self.known.unsaved && !self.sequence.is_shared() => {
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

    /// Waits while a change is made in all stores of a set; one that was broken off is brought to its end, for which all
    /// of them must be there.
    async fn wait_for_thaw(
        &mut self,
        use_of: Use,
        waited: Duration,
        thawed: &mut bool,
    ) -> Result<(), LedgerError> {
        let context = &self.sequence.context;
        self.known.stale = true;
        let refused = |why: &str| {
            LedgerError::unavailable(format!(
                "a change of sequence {} was not made in all stores of the set{why}",
                self.sequence.name
            ))
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
            return Err(refused(", and this is only one of them"));
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
        ended.map_err(|error| refused(&format!("; it is completed once all of them answer: {error}")))
    }

    /// Tells the other stores of a set of a name that one of them has met now.
    async fn tell_all(&self) {
        let context = &self.sequence.context;
        let Some(striped) = context.store.striped() else {
            return;
        };
        let known = &self.known.state;
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
        let (state, pending) = (&self.known.state, self.pending());
        journal
            .write(&self.sequence.name, &mut entry, state, ranges, pending)
            .await
    }

    /// The claims whose outcome is not known, for the journal.
    pub(super) fn pending(&self) -> Vec<Pending> {
        let attempts = self.known.attempts.iter();
        let pending = attempts.filter_map(|Attempt { tokens, range, .. }| {
            Some(Pending::new(tokens.own()?, range.ordinal, range.end()))
        });
        pending.collect()
    }

    /// This process has reserved these numbers: those that follow from another store of a set lie beyond.
    pub(super) fn note_furthest(&mut self, range: &Range) {
        let (def, last) = (&self.known.state.def, range.run.last());
        if self
            .known
            .furthest
            .is_none_or(|furthest| beyond(def, furthest, last))
        {
            self.known.furthest = Some(last);
        }
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

    pub(super) fn too_many_writers(&self) -> LedgerError {
        LedgerError::unavailable(format!("too many writers on sequence {}", self.sequence.name))
    }
}
