//! Changes of a sequence's definition or position in all stores of a set (protocol S9). Numbers can be taken while any
//! one store is alive; a definition changes only while all are, since each of them must follow it.
//!
//! ```text
//!   freeze      every record, store by store: nothing is reserved of it; where one cannot be, all are thawed
//!   change      every record, with what all of them have given out before it; who is not reached stays frozen
//! ```

use std::sync::Arc;
use std::time::Duration;

use super::spec::{Change, SequencePatch, SequenceSpec};
use super::state::State;
use crate::error::LedgerError;
use crate::guard::Guard;
use crate::kept::{Attempts, Tokens};
use crate::name::Name;
use crate::runtime::{Runtime, fresh_token};
use crate::store::{Cas, Key, Marks, Outcome, Store, StoreError, Version};
use crate::striped::{Placed, Striped};

/// How often one store is tried again after losing a race for the record.
const TRIES: usize = 64;
/// How long a record that somebody else has frozen is waited for: longer than a change takes.
pub(super) const FROZEN_FOR: Duration = Duration::from_secs(2);
/// How often it is looked at meanwhile.
pub(super) const FROZEN_LOOK_EVERY: Duration = Duration::from_millis(50);

/// One change of a name in all stores of a set.
pub(crate) struct ChangeOfAll<'a> {
    pub(crate) striped: &'a Striped,
    pub(crate) key: &'a Key,
    pub(crate) name: &'a Name,
    /// `None`: a change that was broken off is ended, so that all have one definition again.
    pub(crate) change: Option<&'a Change>,
    pub(crate) max_gap: u64,
    pub(crate) runtime: &'a dyn Runtime,
}

/// A record that this change holds fast.
struct Frozen {
    store: Arc<Guard>,
    state: State,
    /// What another change had frozen is not thawed alone: that one may be known to others.
    was_frozen: bool,
}

impl ChangeOfAll<'_> {
    /// Makes the change in every store, or in none if one of them refuses it or does not answer at first. All records
    /// are frozen before one of them is changed, so that no number of another definition is reserved beside: a store
    /// that this did not reach to the end serves the name no more until the same change, or any other, or whoever
    /// asks it for a number, has brought it to the end with all stores there.
    pub(crate) async fn make(&self) -> Result<(), LedgerError> {
        let members = self.striped.members_all()?;
        // First every store is asked whether it could.
        let mut states = Vec::with_capacity(members.len());
        for (number, store) in &members {
            states.push(self.read(*number, &**store).await?);
        }
        if !states.iter().any(|state| state.frozen) && self.plan(&states)?.iter().all(Option::is_none) {
            return Ok(());
        }
        let mut held = Vec::with_capacity(members.len());
        for (number, store) in members {
            match self.freeze(number, store).await {
                Ok(one) => held.push(one),
                Err(error) => {
                    self.give_up(held).await;
                    return Err(error);
                }
            }
        }
        let states: Vec<State> = held.iter().map(|held| held.state.clone()).collect();
        let (nexts, refused) = match self.plan(&states) {
            Ok(nexts) => (nexts, None),
            Err(error) => (self.ended().plan(&states)?, Some(error)),
        };
        let written = self.write_all(held, nexts).await;
        refused.map_or(written, Err)
    }

    fn ended(&self) -> ChangeOfAll<'_> {
        ChangeOfAll {
            change: None,
            ..*self
        }
    }

    async fn read(&self, number: u8, store: &dyn Store) -> Result<State, LedgerError> {
        let found = self.striped.read_of(number, store, self.key).await;
        State::read(self.name, &found?)
    }

    /// What each record becomes; `None`: it is so already.
    fn plan(&self, states: &[State]) -> Result<Vec<Option<State>>, LedgerError> {
        let known = State::newest(states).expect("a set has stores");
        let past = states
            .iter()
            .filter_map(State::all_past)
            .reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
        let next = |state: &State| match self.change {
            Some(change) => next(state, known, self.name, change, self.max_gap, past),
            None => Ok(state.is_behind(known).then(|| known.taught(state))),
        };
        states.iter().map(next).collect()
    }

    /// Writes a record; `None`: somebody else has written it since.
    async fn put(&self, store: &Guard, from: &State, to: &State) -> Result<Option<Version>, StoreError> {
        let token = fresh_token(self.runtime);
        let expected = from.version.filter(|version| version.is_written());
        let expected = expected.map(|version| version.raw());
        let register = Attempts {
            store,
            runtime: self.runtime,
            key: self.key,
        };
        let (value, mut tokens) = (to.write(token), Tokens::new(token));
        let mut written = register
            .write(expected, value, Marks::NeverLower, &mut tokens)
            .await;
        // It may have landed; one that lands later freezes, or ends, what this change has frozen.
        if written.is_err()
            && let Ok(found @ Some(_)) = store.get(self.key).await
        {
            let error = written;
            written = match found.filter(|found| tokens.has(found.value.token)) {
                Some(found) => register.confirm(found, &mut tokens).await,
                None => error,
            };
        }
        match written? {
            Cas::Done(version) => Ok(Some(version)),
            Cas::Lost(_) => Ok(None),
        }
    }

    async fn freeze(&self, number: u8, store: Arc<Guard>) -> Result<Frozen, LedgerError> {
        let begun = self.runtime.boottime();
        let mut tries = 0;
        while tries < TRIES {
            let state = self.read(number, &*store).await?;
            if state.frozen && self.runtime.boottime().saturating_sub(begun) < FROZEN_FOR {
                self.runtime.sleep(FROZEN_LOOK_EVERY).await;
                continue;
            }
            let frozen = state.frozen();
            let put = self.put(&store, &state, &frozen).await;
            if let Some(version) = put? {
                let version = Version::of_stripe(version, state.stripe(), 0);
                return Ok(Frozen {
                    store,
                    state: State {
                        version: Some(version),
                        ..frozen
                    },
                    was_frozen: state.frozen,
                });
            }
            // Numbers were taken meanwhile.
            tries += 1;
        }
        Err(self.lost())
    }

    /// Thaws what was frozen for nothing, as far as it can be reached.
    async fn give_up(&self, held: Vec<Frozen>) {
        for one in held.iter().filter(|one| !one.was_frozen) {
            let thawed = State {
                frozen: false,
                ..one.state.clone()
            };
            if let Err(error) = self.put(&one.store, &one.state, &thawed).await {
                tracing::warn!(sequence = %self.name, %error, "a change was given up and left its mark in a store");
            }
        }
    }

    /// Ends the change in every store that can be reached: those that cannot stay frozen. The first store decides:
    /// everybody freezes it first, so that no other change has begun where its record is still ours.
    async fn write_all(&self, held: Vec<Frozen>, nexts: Vec<Option<State>>) -> Result<(), LedgerError> {
        let mut failed = None;
        for (at, (one, next)) in held.iter().zip(nexts).enumerate() {
            let next = State {
                frozen: false,
                ..next.unwrap_or_else(|| one.state.clone())
            };
            match self.put(&one.store, &one.state, &next).await {
                Ok(Some(_)) => {}
                Ok(None) => return Err(self.lost()),
                Err(error) if at == 0 => {
                    if error.outcome == Outcome::NotDone {
                        self.give_up(held).await;
                    }
                    return Err(error.into());
                }
                Err(error) => failed = failed.or(Some(error.into())),
            }
        }
        failed.map_or(Ok(()), Err)
    }

    fn lost(&self) -> LedgerError {
        LedgerError::unavailable(format!(
            "too many writers on sequence {}; change it again",
            self.name
        ))
    }
}

/// What one store's record becomes; `None`: it is so already. A store that has not met the name, or has not followed the
/// last change of what is `known`, does so first.
fn next(
    state: &State,
    known: &State,
    name: &Name,
    change: &Change,
    max_gap: u64,
    past: Option<(i64, i64)>,
) -> Result<Option<State>, LedgerError> {
    let behind = state.is_behind(known);
    let state = if behind {
        known.taught(state)
    } else {
        state.clone()
    };
    if let Change::Pass(pass) = change {
        let passed = state.passed(name, pass, past, max_gap)?;
        let passed = passed.map(|passed| State {
            generation: known.generation + 1,
            ..passed
        });
        return Ok(passed.or_else(|| behind.then_some(state)));
    }
    state.check_unmoved(name)?;
    let there = Some(&state).filter(|state| !state.dropped);
    let made = |spec: &SequenceSpec| {
        let made = State {
            past,
            ..state.clone()
        }
        .recreated(name, spec, max_gap)?;
        if made.def.cycle {
            return Err(LedgerError::Invalid(format!(
                "sequence {name} cannot cycle over several stores: each would begin again by itself"
            )));
        }
        Ok(made)
    };
    let mut next = match (change, there) {
        (Change::Create(spec), Some(state)) => {
            state.check_same(name, spec, max_gap)?;
            return Ok(behind.then(|| state.clone()));
        }
        (Change::Create(spec), None) => made(spec)?,
        (Change::Set(to), None) => {
            let made = made(&SequenceSpec::of_first_set(*to))?;
            made.moved(name, made.ordinal, *to, false)?
        }
        (Change::Set(to), Some(state)) => state.moved(name, state.ordinal, *to, false)?,
        (Change::Drop, None) => return Ok(behind.then(|| state.clone())),
        (_, None) => return Err(LedgerError::NotFound { name: name.clone() }),
        (Change::Restart { to, allow_repeat }, Some(state)) => {
            state.moved(name, state.ordinal, *to, *allow_repeat)?
        }
        (Change::Alter(patch), Some(state)) => altered(state, name, patch)?,
        (Change::Drop, Some(state)) => state.tombstone(state.ordinal),
        (Change::Pass(_), _) => unreachable!("answered above"),
    };
    next.generation = known.generation + 1;
    Ok(Some(next))
}

/// Shares follow from start and increment, which therefore stay.
fn altered(state: &State, name: &Name, patch: &SequencePatch) -> Result<State, LedgerError> {
    let altered = state.altered(name, state.ordinal, patch)?;
    let share = |state: &State| (state.def.start, state.def.increment, state.def.cycle);
    if share(&altered) != share(state) {
        return Err(LedgerError::Invalid(format!(
            "sequence {name} lies in several stores, whose shares follow from start and increment: drop it and make \
             another"
        )));
    }
    Ok(altered)
}
