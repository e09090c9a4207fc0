//! What the store holds of a sequence, as it was found: taken over, followed, or refused.

use std::time::Duration;

use super::claim::{CLAIM_TRIES, Claimed};
use super::memory::Attempt;
use super::range::Range;
use super::spec::SequenceSpec;
use super::state::State;
use super::task::SequenceTask;
use crate::error::LedgerError;
use crate::store::{Cas, Outcome, StoreError, StoreErrorKind, Version, Versioned};
use crate::striped::AsStriped;

impl SequenceTask<'_> {
    /// Reads the record where it must be read before the next write. A range whose attempt turns out to have landed is
    /// ours: answered if there is one.
    pub(super) async fn refresh(&mut self) -> Result<Option<Range>, LedgerError> {
        if !self.known.stale {
            return Ok(None);
        }
        let found = self.sequence.context.store.get(&self.sequence.key).await;
        self.reconcile(found?).await
    }

    /// Takes over what the store really holds. A range whose attempt turns out to have landed is ours: answered
    /// if there is one.
    pub(super) async fn reconcile(
        &mut self,
        mut found: Option<Versioned>,
    ) -> Result<Option<Range>, LedgerError> {
        for _ in 0..CLAIM_TRIES {
            let known = self.known.state.version;
            let Some(seen) = found else {
                self.known.stale = false;
                return match known {
                    None => Ok(None),
                    Some(_) if self.may_judge() => Err(self.went_back("it vanished from the store".into())),
                    Some(_) => self.was_never_kept().map(|()| None),
                };
            };
            if let Some(known) = known.filter(|known| self.may_judge() && seen.version < *known) {
                let (found, known) = (seen.version.number(), known.number());
                return Err(self.went_back(format!("it is at version {found}, was at {known}")));
            }
            let Some(at) = self.landed(&seen)? else {
                self.follow(&seen)?;
                return Ok(None);
            };
            match self.confirm(at, &seen).await? {
                Cas::Done(version) => return self.adopt(at, version, &seen),
                Cas::Lost(now) => found = now,
            }
        }
        Err(self.too_many_writers())
    }

    /// Whether a record behind the one that is known has gone back. A read of a shared store may have shown what was not
    /// kept (protocol R6): there the guard judges, which knows what was acknowledged.
    fn may_judge(&self) -> bool {
        !self.sequence.is_shared()
    }

    /// A record that was shown is not there: nothing of it was acknowledged, and the name is one that does not exist.
    fn was_never_kept(&mut self) -> Result<(), LedgerError> {
        let max_gap = self.sequence.context.settings.max_gap;
        let absent = State::fresh(&SequenceSpec::default(), max_gap)?;
        self.forget_attempts();
        self.known.epoch = self.sequence.drop_all(None);
        let adopted = std::mem::take(&mut self.known.adopted);
        self.lose(adopted);
        self.stored(absent);
        self.known.unsaved = true;
        Ok(())
    }

    /// Which of our attempts has landed, by what the store shows.
    fn landed(&self, found: &Versioned) -> Result<Option<usize>, LedgerError> {
        let attempts = &self.known.attempts;
        let wrote_it = attempts
            .iter()
            .position(|attempt| attempt.tokens.has(found.value.token));
        if wrote_it.is_some() || attempts.is_empty() || self.known.state.version == Some(found.version) {
            return Ok(wrote_it);
        }
        // Somebody wrote since: none of our attempts can land any more, but one may have (protocol S6).
        let state = State::read(&self.sequence.name, found)?;
        let same = state.generation == self.known.state.generation;
        let landed =
            |attempt: &Attempt| same && attempt.tokens.own().is_some_and(|token| state.has_landed(token));
        Ok(attempts.iter().position(landed))
    }

    /// What was found of an attempt is ours once it was written again (protocol R6).
    async fn confirm(&mut self, at: usize, found: &Versioned) -> Result<Cas, LedgerError> {
        self.known.stale = true;
        let attempts = self.sequence.context.attempts(&self.sequence.key);
        let tokens = &mut self.known.attempts[at].tokens;
        let confirmed = attempts.confirm(found.clone(), tokens).await;
        confirmed.map_err(|error| {
            self.sequence.context.counters.failed();
            self.back_off();
            error.into()
        })
    }

    /// Takes over an attempt that has landed and is kept.
    fn adopt(
        &mut self,
        at: usize,
        version: Version,
        found: &Versioned,
    ) -> Result<Option<Range>, LedgerError> {
        let Attempt { range, sent, .. } = self.known.attempts.swap_remove(at);
        self.sequence.note_reserved(range, sent);
        if self.sequence.owned.lock().epoch != self.known.epoch {
            // Dropped while we waited: it is not ours to hand out (protocol R4, S5).
            self.forget_if_dropped();
            self.lose(vec![range]);
            return Ok(None);
        }
        self.forget_attempts();
        let mut state = State::read(&self.sequence.name, found)?;
        state.version = Some(version);
        self.note_furthest(&range);
        self.stored_by_take(state);
        Ok(Some(range))
    }

    /// Follows what somebody else, or nobody, has written.
    fn follow(&mut self, found: &Versioned) -> Result<(), LedgerError> {
        let known = self.known.state.version;
        let state = State::read(&self.sequence.name, found)?;
        if known != Some(found.version) {
            self.forget_attempts();
        }
        if self.may_judge() && known == Some(found.version) && state.ordinal < self.known.state.ordinal {
            return Err(self.went_back(format!(
                "its mark is {}, was {}",
                state.ordinal, self.known.state.ordinal
            )));
        }
        // Another store of a set may not have met the name, or not have followed its last change: it learns with the next
        // claim, before any number of its share is given out.
        let state = match self.sequence.context.store.striped() {
            Some(_) if !self.known.unsaved && !state.frozen && state.is_behind(&self.known.state) => {
                self.known.state.taught(&state)
            }
            _ => state,
        };
        self.stored(state);
        Ok(())
    }

    /// Reads the record that another process has changed; stock of an older definition is dropped with that
    /// (protocol S5). Whether it could be read.
    pub(super) async fn look(&mut self) -> bool {
        let Ok(found) = self.sequence.context.store.get(&self.sequence.key).await else {
            return false;
        };
        match self.reconcile(found).await {
            Ok(Some(range)) => {
                let landed = Claimed { range, landed: true };
                self.keep(landed, None, 0, 0).await;
            }
            Ok(None) => {}
            // Said to whoever asks for a number next; there is nothing to wait for.
            Err(error) => tracing::error!(sequence = %self.sequence.name, %error, "cannot follow a change"),
        }
        self.sequence.publish(&self.known.state);
        true
    }

    /// What a claim of ours has written; a name that was not there is made with that.
    pub(super) fn stored_by_take(&mut self, state: State) {
        let is_new = !self.sequence.exists();
        self.stored(state);
        if is_new && self.sequence.exists() {
            self.sequence.note_made();
        }
    }

    /// What the store holds is known to be `state`.
    pub(super) fn stored(&mut self, state: State) {
        self.sequence.set_stored(&state);
        self.sequence.context.is_served(&self.sequence.name);
        if self.sequence.is_shared() && self.known.state.generation != state.generation {
            // Numbers of the definition before are not given out any more (protocol S5).
            let last = state.last_before(state.ordinal);
            self.known.epoch = self.sequence.drop_all(last);
            let adopted = std::mem::take(&mut self.known.adopted);
            self.lose(adopted);
        }
        if self.known.state.generation != state.generation {
            self.known.furthest = None;
        }
        self.known.state = state;
        self.known.unsaved = false;
        self.known.stale = false;
        self.known.not_before = Duration::ZERO;
    }

    pub(super) fn forget_attempts(&mut self) {
        let lost = self.known.attempts.drain(..).fold(0, |lost: u64, attempt| {
            lost.saturating_add(attempt.range.run.count)
        });
        self.sequence.count_lost(lost);
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
}
