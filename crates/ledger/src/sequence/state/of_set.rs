//! The records of one name in the stores of a set (protocol S9): who follows whom.

use super::{State, beyond, called, union};
use crate::store::Version;
use crate::striped::Placed;

impl State {
    /// What the shares of all stores of a set become when they are cut anew: everything up to the furthest of them
    /// is spent. `None` of none.
    pub(crate) fn levelled<'a>(states: impl Iterator<Item = &'a State>) -> Option<State> {
        let states: Vec<&State> = states.collect();
        let generation = states.iter().map(|state| state.generation).max()? + 1;
        let past = states
            .iter()
            .fold(None, |past, state| union(past, state.all_past()));
        // A set that a move has not reached the end of: the later step seals it.
        let passages = states.iter().filter_map(|state| state.passage.as_ref());
        let latest = passages.max_by_key(|passage| passage.step).cloned();
        let is_further = |so_far: &State, state: &State| match (so_far.dropped, state.dropped) {
            (true, false) => true,
            (false, true) => false,
            _ => match (
                so_far.last_before(so_far.ordinal),
                state.last_before(state.ordinal),
            ) {
                (_, None) => false,
                (None, Some(_)) => true,
                (Some(a), Some(b)) => state.def.is_forward(a, b),
            },
        };
        // The furthest that exists, else any tombstone.
        let furthest = states
            .into_iter()
            .reduce(|so_far, state| match is_further(so_far, state) {
                true => state,
                false => so_far,
            })?;
        Some(State {
            base: furthest
                .last_before(furthest.ordinal)
                .map_or(furthest.base, called),
            generation,
            past,
            frozen: false,
            version: None,
            passage: latest,
            ..furthest.clone()
        })
    }

    /// What the record of another store of a set becomes that has not met the name, or has not followed its last change:
    /// this definition, going on beyond all that was given out there.
    pub(crate) fn taught(&self, behind: &State) -> State {
        let mut base = self.base;
        if let Some((low, high)) = behind.all_past() {
            let edge = if self.def.increment > 0 { high } else { low };
            if !beyond(&self.def, edge, base.value) {
                base = called(edge);
            }
        }
        State {
            base,
            base_ordinal: behind.ordinal,
            ordinal: behind.ordinal,
            past: union(self.past, behind.all_past()),
            frozen: false,
            landed: Vec::new(),
            version: behind.version,
            ..self.clone()
        }
    }

    /// Whether this is of a store that has not met the name, or not followed the change that made `known`.
    pub(crate) fn is_behind(&self, known: &State) -> bool {
        let written = |state: &State| state.version.is_some_and(Version::is_written);
        self.generation < known.generation || !written(self) && written(known)
    }

    /// As it is while a change is made in all stores of a set. One that has not met the name is behind all that have.
    pub(crate) fn frozen(&self) -> State {
        let met = self.version.is_some_and(Version::is_written);
        State {
            frozen: true,
            generation: if met { self.generation } else { 0 },
            ..self.clone()
        }
    }

    /// Of the records of a set's stores, the one that all the others follow.
    pub(crate) fn newest<'a>(states: impl IntoIterator<Item = &'a State>) -> Option<&'a State> {
        states
            .into_iter()
            .reduce(|newest, state| match newest.is_behind(state) {
                true => state,
                false => newest,
            })
    }

    /// The same base in a store whose record stands at this ordinal.
    pub(crate) fn at_ordinal(&self, ordinal: u64) -> State {
        State {
            ordinal,
            base_ordinal: ordinal,
            ..self.clone()
        }
    }
}
