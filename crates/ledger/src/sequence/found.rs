//! What the store holds of a sequence, as it was found: taken over, followed, or refused.

use std::time::Duration;

use super::claim::Claimed;
use super::range::Range;
use super::state::State;
use super::task::SequenceTask;
use crate::error::LedgerError;
use crate::store::{Outcome, StoreError, StoreErrorKind, Versioned};

impl SequenceTask<'_> {
    /// Reads the record where it must be read before the next write. A range whose attempt turns out to have landed is
    /// ours: answered if there is one.
    pub(super) async fn refresh(&mut self) -> Result<Option<Range>, LedgerError> {
        if !self.known.stale {
            return Ok(None);
        }
        let found = self.sequence.context.store.get(&self.sequence.key).await;
        self.reconcile(found?)
    }

    /// Takes over what the store really holds. A range whose attempt turns out to have landed is ours: answered
    /// if there is one.
    pub(super) fn reconcile(&mut self, found: Option<Versioned>) -> Result<Option<Range>, LedgerError> {
        let name = &self.sequence.name;
        let known = self.known.state.version;
        let Some(found) = found else {
            self.known.stale = false;
            return match known {
                None => Ok(None),
                Some(_) => Err(self.went_back("it vanished from the store".into())),
            };
        };
        if let Some(known) = known.filter(|known| found.version < *known) {
            let (found, known) = (found.version.0, known.0);
            return Err(self.went_back(format!("it is at version {found}, was at {known}")));
        }
        if let Some(landed) = self.known.take_attempt(|token| token == found.value.token) {
            self.forget_attempts();
            self.stored_by_take(State {
                version: Some(found.version),
                ..landed.next
            });
            self.note_furthest(&landed.range);
            self.sequence.note_reserved(landed.range, landed.sent);
            return Ok(Some(landed.range));
        }
        let state = State::read(name, &found)?;
        let mut landed = None;
        if known != Some(found.version) && !self.known.attempts.is_empty() {
            // Somebody wrote since: none of our attempts can land any more, but one may have (protocol S6).
            let same = state.generation == self.known.state.generation;
            let ours = self.known.take_attempt(|token| same && state.has_landed(token));
            landed = ours.map(|attempt| {
                self.sequence.note_reserved(attempt.range, attempt.sent);
                attempt.range
            });
            self.forget_attempts();
        }
        if known == Some(found.version) && state.ordinal < self.known.state.ordinal {
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
        Ok(landed)
    }

    /// Reads the record that another process has changed; stock of an older definition is dropped with that
    /// (protocol S5). Whether it could be read.
    pub(super) async fn look(&mut self) -> bool {
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
        let lost = self
            .known
            .attempts
            .drain(..)
            .map(|attempt| attempt.range.run.count)
            .sum();
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
