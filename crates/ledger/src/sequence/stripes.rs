//! Changes of a sequence's definition or position in all stores of a set (protocol S9). Numbers can be taken while any
//! one store is alive; a definition changes only while all are, since each of them must follow it.

use mintage::Base;

use super::spec::SequenceSpec;
use super::state::State;
use super::worker::Change;
use crate::error::LedgerError;
use crate::name::Name;
use crate::runtime::{Runtime, fresh_token};
use crate::store::{Cas, Key, Marks, Store, Striped};

/// How often one store is tried again after losing a race for the record.
const TRIES: usize = 64;

/// Makes a change in every store, or in none if one of them refuses it or does not answer. A failure half-way leaves
/// some changed: their numbers stay apart, and the same change again completes it.
pub(crate) async fn change_all(
    striped: &Striped,
    key: &Key,
    name: &Name,
    change: &Change,
    max_gap: u64,
    runtime: &dyn Runtime,
) -> Result<(), LedgerError> {
    let members = striped.members_all().map_err(LedgerError::from_store)?;
    let read = async |number: u8, store: &dyn Store| -> Result<State, LedgerError> {
        let found = striped.read_of(number, store, key).await;
        State::read(name, &found.map_err(LedgerError::from_store)?)
    };
    // First every store is asked whether it could.
    let mut states = Vec::with_capacity(members.len());
    for (number, store) in &members {
        states.push(read(*number, &**store).await?);
    }
    let known = State::newest(&states).cloned().expect("a set has stores");
    let past = states
        .iter()
        .filter_map(State::all_past)
        .reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
    let generation = known.generation + 1;
    let next = |state: &State| next(state, &known, name, change, max_gap, generation, past);
    let mut nexts = Vec::with_capacity(members.len());
    for state in &states {
        nexts.push(next(state)?);
    }
    if nexts.iter().all(Option::is_none) {
        return Ok(());
    }
    for ((number, store), (state, planned)) in members.iter().zip(states.into_iter().zip(nexts)) {
        let (mut state, mut planned) = (state, planned);
        let mut done = planned.is_none();
        for _ in 0..TRIES {
            let Some(state_to_write) = &planned else { break };
            let value = state_to_write.write(fresh_token(runtime));
            let expected = state.version.filter(|version| version.is_written());
            let written = store
                .compare_and_set(
                    key,
                    expected.map(|version| version.raw()),
                    value,
                    Marks::NeverLower,
                )
                .await
                .map_err(LedgerError::from_store)?;
            match written {
                Cas::Done(_) => {
                    done = true;
                    break;
                }
                // Numbers were taken meanwhile.
                Cas::Lost(_) => {
                    state = read(*number, &**store).await?;
                    planned = next(&state)?;
                    done = planned.is_none();
                }
            }
        }
        if !done {
            return Err(LedgerError::Unavailable {
                message: format!("too many writers on sequence {name}; change it again"),
                retry_after_s: 1,
            });
        }
    }
    Ok(())
}

/// What one store's record becomes; `None`: it is so already. A store that has not met the name, or has not followed the
/// last change of what is `known`, does so first.
fn next(
    state: &State,
    known: &State,
    name: &Name,
    change: &Change,
    max_gap: u64,
    generation: u64,
    past: Option<(i64, i64)>,
) -> Result<Option<State>, LedgerError> {
    let behind = state.is_behind(known);
    let state = match behind {
        true => known.taught(state),
        false => state.clone(),
    };
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
            let asked = State::fresh(spec, max_gap)?;
            return match state.difference(&asked) {
                None => Ok(behind.then(|| state.clone())),
                Some(difference) => Err(LedgerError::Exists {
                    name: name.clone(),
                    difference,
                }),
            };
        }
        (Change::Create(spec), None) => made(spec)?,
        (Change::Set(to), None) => {
            let made = made(&SequenceSpec::default())?;
            let issued = made.ordinal;
            made.moved(name, issued, *to, false)?
        }
        (Change::Set(to), Some(state)) => forward(state, name, *to)?,
        (Change::Drop, None) => return Ok(behind.then(|| state.clone())),
        (_, None) => return Err(LedgerError::NotFound { name: name.clone() }),
        (Change::Restart { to, allow_repeat }, Some(state)) => {
            state.moved(name, state.ordinal, *to, *allow_repeat)?
        }
        (Change::Alter(patch), Some(state)) => {
            let altered = state.altered(name, state.ordinal, patch)?;
            if (altered.def.start, altered.def.increment, altered.def.cycle)
                != (state.def.start, state.def.increment, state.def.cycle)
            {
                return Err(LedgerError::Invalid(format!(
                    "sequence {name} lies in several stores, whose shares follow from start and increment: drop it and \
                     make another"
                )));
            }
            altered
        }
        (Change::Drop, Some(state)) => state.tombstone(state.ordinal),
    };
    next.generation = generation;
    Ok(Some(next))
}

/// A move of one store's share: one that stands beyond already stays where it is.
fn forward(state: &State, name: &Name, to: Base) -> Result<State, LedgerError> {
    state.moved(name, state.ordinal, to, false)
}
