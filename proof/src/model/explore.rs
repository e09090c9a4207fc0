//! Breadth first through every state that can be reached.

use std::collections::HashSet;
use std::fmt::Debug;
use std::hash::{BuildHasher, Hash};

/// Something whose states can be walked.
pub(super) trait Model {
    type State: Clone + Eq + Hash + Debug;
    type Action: Clone + Debug;

    fn start(&self) -> Self::State;

    /// What can happen in this state.
    fn actions(&self, state: &Self::State, into: &mut Vec<Self::Action>);

    /// What it comes to; `Err` names what must not be. `None`: it makes no difference.
    fn apply(&self, state: &Self::State, action: &Self::Action) -> Result<Option<Self::State>, String>;
}

/// What was found.
#[derive(Clone, Debug)]
pub struct Explored {
    /// Different states.
    pub states: usize,
    /// The longest shortest way to any of them.
    pub depth: usize,
    /// Whether every state was visited.
    pub complete: bool,
    /// The shortest way to a state that must not be, and what is wrong with it.
    pub violation: Option<(Vec<String>, String)>,
}

/// Walks until everything was seen, something is wrong, or there are more than `most` states.
pub(super) fn explore<M: Model>(model: &M, most: usize) -> Explored {
    let mut states = vec![(model.start(), 0u32, None::<M::Action>)];
    // Fingerprints: two states with one fingerprint in 2^64 would hide one of them.
    let hasher = std::hash::BuildHasherDefault::<std::hash::DefaultHasher>::default();
    let mut seen: HashSet<u64> = HashSet::from([hasher.hash_one(model.start())]);
    let mut actions = Vec::new();
    let (mut at, mut level_end, mut depth) = (0, 1, 0);
    while at < states.len() {
        if at == level_end {
            depth += 1;
            level_end = states.len();
        }
        let state = states[at].0.clone();
        actions.clear();
        model.actions(&state, &mut actions);
        for action in &actions {
            match model.apply(&state, action) {
                Ok(None) => {}
                Ok(Some(next)) => {
                    if seen.insert(hasher.hash_one(&next)) {
                        states.push((next, at as u32, Some(action.clone())));
                    }
                }
                Err(why) => {
                    let mut path = vec![format!("{action:?}")];
                    let mut back = at;
                    while let Some(action) = &states[back].2 {
                        path.push(format!("{action:?}"));
                        back = states[back].1 as usize;
                    }
                    path.reverse();
                    return Explored {
                        states: states.len(),
                        depth,
                        complete: false,
                        violation: Some((path, why)),
                    };
                }
            }
        }
        at += 1;
        if states.len() > most {
            break;
        }
    }
    Explored {
        states: states.len(),
        depth,
        complete: at == states.len(),
        violation: None,
    }
}
