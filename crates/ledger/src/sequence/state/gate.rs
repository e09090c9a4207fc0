//! The one gate through which the position of a sequence changes: what comes next lies beyond everything that may have
//! been given out in any life of the name, or somebody has allowed that it repeats.
//!
//! Create, alter, set, restart, drop, import, cut and back differ in where they go on; none of them judges by itself
//! whether that repeats something.
//!
//! A sequence that cycles repeats by definition, from its own end on. One that has gone round stands among its own
//! numbers: it is measured from where it stands while it cycles on in its direction, and from all its numbers as soon as
//! it does anything else.

use mintage::{Base, SequenceDef};

use super::{State, beyond, called, union};

/// What stands in the way of a change: going on there may give out a number again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct MayRepeat {
    /// The furthest number that may have been given out, in the direction of the new definition.
    pub(crate) at: i64,
}

impl State {
    /// The smallest and largest number that may have been given out in any life of the name and by what was brought here; of
    /// this life those below ordinal `issued`.
    pub(in crate::sequence) fn given_out(&self, issued: u64) -> Option<(i64, i64)> {
        union(union(self.past, self.elsewhere), self.hull(issued))
    }

    /// The sequence under another definition or at another position. What is reserved and not issued is spent.
    ///
    /// With `allow_repeat` it goes on where it is told to, and the numbers that lie ahead of it then are forgotten: they
    /// may come again. Those behind it still count.
    pub(in crate::sequence) fn going_on(
        &self,
        issued: u64,
        def: SequenceDef,
        base: Base,
        allow_repeat: bool,
    ) -> Result<State, MayRepeat> {
        let mut next = State {
            def,
            base,
            base_ordinal: self.ordinal,
            generation: self.generation + 1,
            past: union(self.past, self.hull(issued)),
            ..self.clone()
        };
        let Some(at) = self.furthest_for(issued, &def) else {
            return Ok(next);
        };
        if !follows(&def, at, base) {
            if !allow_repeat {
                return Err(MayRepeat { at });
            }
            next.repeatable = union(self.repeatable, self.given_out(issued));
            for numbers in [&mut next.past, &mut next.elsewhere] {
                *numbers = numbers.and_then(|numbers| behind(&def, numbers, base));
            }
        }
        Ok(next)
    }

    /// The furthest number in the direction of `def` that what comes next must lie beyond.
    fn furthest_for(&self, issued: u64, def: &SequenceDef) -> Option<i64> {
        let furthest = edge(def, self.given_out(issued)?);
        if !self.def.cycle || !def.cycle || self.turns(def) {
            return Some(furthest);
        }
        let stands = match self.last_before(issued) {
            Some(last) => last,
            None => self.base.value.saturating_sub(self.def.increment.signum()),
        };
        Some(if beyond(def, stands, furthest) {
            stands
        } else {
            furthest
        })
    }

    /// Whether a definition counts in the other direction.
    pub(super) fn turns(&self, def: &SequenceDef) -> bool {
        (def.increment > 0) != (self.def.increment > 0)
    }
}

/// The end of a range that a definition comes to last.
pub(in crate::sequence) fn edge(def: &SequenceDef, (low, high): (i64, i64)) -> i64 {
    if def.increment > 0 { high } else { low }
}

/// Whether every number after `base` lies beyond `at`; the base itself too, unless it counts as given out.
fn follows(def: &SequenceDef, at: i64, base: Base) -> bool {
    base.is_called && base.value == at || beyond(def, at, base.value)
}

/// The part of a range that a sequence does not come to from `base` on.
fn behind(def: &SequenceDef, (low, high): (i64, i64), base: Base) -> Option<(i64, i64)> {
    let last = match base.is_called {
        true => Some(base.value),
        false => base.value.checked_sub(def.increment.signum()),
    }?;
    let kept = match def.increment > 0 {
        true => (low, high.min(last)),
        false => (low.max(last), high),
    };
    (kept.0 <= kept.1).then_some(kept)
}

/// The first place on the grid of `def` from `from` on whose numbers lie beyond `at`; `None`: there is none within its
/// bounds. One that cycles goes on from its end.
pub(in crate::sequence) fn first_beyond(def: &SequenceDef, from: i64, at: i64) -> Option<Base> {
    let steps = match beyond(def, at, from) {
        true => 0,
        false => (i128::from(at) - i128::from(from)) / i128::from(def.increment) + 1,
    };
    let value = i128::from(from) + steps * i128::from(def.increment);
    let fits = i64::try_from(value)
        .ok()
        .filter(|value| (def.min..=def.max).contains(value));
    let end = if def.increment > 0 { def.max } else { def.min };
    match fits {
        Some(value) => Some(Base {
            value,
            is_called: false,
        }),
        None => Some(called(end)).filter(|end| def.cycle && follows(def, at, *end)),
    }
}
