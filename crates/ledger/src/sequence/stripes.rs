//! Changes of a sequence's definition or position in all stores of a set (protocol S9). Numbers can be taken while any
//! one store is alive; a definition changes only while all are, since each of them must follow it.

use mintage::Base;

use super::spec::SequenceSpec;
use super::state::State;
use super::worker::Change;
use crate::error::LedgerError;
use crate::name::Name;
use crate::runtime::{Runtime, fresh_token};
use crate::store::{Cas, Key, Marks, Striped};

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
    // First every store is asked whether it could.
    let mut states = Vec::with_capacity(members.len());
    for (number, store) in &members {
        let found = striped.read_of(*number, &**store, key).await;
        let found = found.map_err(LedgerError::from_store)?;
        states.push(found.map(|found| State::read(name, &found)).transpose()?);
    }
    let generation = states.iter().flatten().map(|state| state.generation).max().unwrap_or(0) + 1;
    let past = states
        .iter()
        .flatten()
        .filter_map(State::all_past)
        .reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
    let mut nexts = Vec::with_capacity(members.len());
    for state in &states {
        nexts.push(next(state.as_ref(), name, change, max_gap, generation, past)?);
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
            let expected = state.as_ref().and_then(|state| state.version);
            let written = store
                .compare_and_set(key, expected.map(|version| version.raw()), value, Marks::NeverLower)
                .await
                .map_err(LedgerError::from_store)?;
            match written {
                Cas::Done(_) => {
                    done = true;
                    break;
                }
                // Numbers were taken meanwhile.
                Cas::Lost(_) => {
                    let found = striped.read_of(*number, &**store, key).await;
                    let found = found.map_err(LedgerError::from_store)?;
                    state = found.map(|found| State::read(name, &found)).transpose()?;
                    planned = next(state.as_ref(), name, change, max_gap, generation, past)?;
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

/// What one store's record becomes; `None`: it is so already.
fn next(
    state: Option<&State>,
    name: &Name,
    change: &Change,
    max_gap: u64,
    generation: u64,
    past: Option<(i64, i64)>,
) -> Result<Option<State>, LedgerError> {
    let there = state.filter(|state| !state.dropped);
    let made = |spec: &SequenceSpec| {
        let made = match state {
            Some(state) => State { past, ..state.clone() }.recreated(name, spec, max_gap)?,
            None => State::fresh(spec, max_gap)?,
        };
        if made.def.cycle {
            return Err(LedgerError::Invalid(format!(
                "sequence {name} cannot cycle over several stores: each would begin again by itself"
            )));
        }
        Ok(made)
    };
    let missing = || LedgerError::NotFound { name: name.clone() };
    let mut next = match (change, there) {
        (Change::Create(spec), Some(state)) => {
            let asked = State::fresh(spec, max_gap)?;
            return match state.difference(&asked) {
                None => Ok(None),
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
        (Change::Drop, None) => return Ok(None),
        // A name that only other stores have met has the default definition: any other was made in all of them.
        (Change::Restart { to, allow_repeat }, None) if state.is_none() => {
            let made = made(&SequenceSpec::default())?;
            made.moved(name, made.ordinal, *to, *allow_repeat)?
        }
        (Change::Alter(patch), None) if state.is_none() => {
            let made = made(&SequenceSpec::default())?;
            made.altered(name, made.ordinal, patch)?
        }
        (_, None) => return Err(missing()),
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
