//! What a move does with a sequence's record (protocol M1 to M4), and what it keeps everybody else from doing.

use mintage::{Base, SequenceDef, SequenceOptions};

use super::passage::{Pass, Passage, PassageIs};
use super::spec::{Gap, SequenceSpec};
use super::state::{MayRepeat, State, called, edge, first_beyond, not_called, union};
use crate::error::LedgerError;
use crate::moves::Definition;
use crate::name::Name;
use crate::striped::Placed;

impl Pass {
    pub(crate) fn spec(&self) -> SequenceSpec {
        let Definition {
            start,
            increment,
            min,
            max,
            cycle,
        } = self.definition;
        SequenceSpec {
            options: SequenceOptions {
                start: Some(start),
                increment: Some(increment),
                min: Some(min),
                max: Some(max),
                cycle: Some(cycle),
            },
            ..SequenceSpec::default()
        }
    }

    /// Whether what the record says of a move was left by this one, or by one that was taken back before it.
    fn follows(&self, before: &Passage) -> bool {
        before.id == self.passage.id || self.former.contains(&before.id)
    }
}

impl State {
    /// Nothing but its own move changes a sequence that is moved, and nothing is given out of one that is sealed.
    pub(crate) fn check_unmoved(&self, name: &Name) -> Result<(), LedgerError> {
        match self.passage.as_ref().map(|passage| &passage.is) {
            Some(PassageIs::Beside(origin)) => Err(LedgerError::Beside {
                name: name.clone(),
                place: origin.source.clone(),
            }),
            _ => self.check_open(name),
        }
    }

    /// Refuses whoever wants numbers of a sequence that is sealed.
    pub(crate) fn check_open(&self, name: &Name) -> Result<(), LedgerError> {
        match self.passage.as_ref().map(|passage| &passage.is) {
            Some(PassageIs::Moving { source }) => Err(LedgerError::Moving {
                name: name.clone(),
                place: source.clone(),
            }),
            Some(PassageIs::MovedBack { source }) => Err(LedgerError::MovedBack {
                name: name.clone(),
                place: source.clone(),
            }),
            Some(PassageIs::Beside(_) | PassageIs::Here) | None => Ok(()),
        }
    }

    /// Whether a move may have the name: it is not there, is its own already, or was never used otherwise.
    pub(crate) fn check_free_for(&self, name: &Name, pass: &Pass, max_gap: u64) -> Result<(), LedgerError> {
        let is_there = self.version.is_some_and(crate::store::Version::is_written) && !self.dropped;
        if !is_there || self.passage.as_ref().is_some_and(|before| pass.follows(before)) {
            return Ok(());
        }
        let used = |why: String| LedgerError::NameUsed {
            name: name.clone(),
            why,
        };
        let (ours, asked) = (&self.def, &pass.definition);
        if let (Some(last), false) = (self.all_past(), pass.into_used) {
            return Err(used(format!("it has given out {}..{}", last.0, last.1)));
        }
        if !pass.into_used {
            let same = self.check_same(name, &pass.spec(), max_gap);
            return same.map_err(|error| used(error.to_string()));
        }
        let fits = ours.increment == asked.increment
            && ours.cycle == asked.cycle
            && ours.min <= asked.min
            && asked.max <= ours.max;
        match fits {
            true => Ok(()),
            false => Err(used(format!(
                "its increment {}, bounds {}..{} and cycle {} do not hold the source's {}, {}..{} and {}",
                ours.increment,
                ours.min,
                ours.max,
                ours.cycle,
                asked.increment,
                asked.min,
                asked.max,
                asked.cycle
            ))),
        }
    }

    /// What a deed of a move makes of the record; `None`: it is done already. `past`: the smallest and largest number that
    /// any store of a set has given out.
    pub(crate) fn passed(
        &self,
        name: &Name,
        pass: &Pass,
        past: Option<(i64, i64)>,
        max_gap: u64,
    ) -> Result<Option<State>, LedgerError> {
        if let Some(before) = &self.passage {
            // Protocol M3.
            if before.step > pass.passage.step {
                return Err(LedgerError::StepLost { name: name.clone() });
            }
            if **before == pass.passage {
                return Ok(None);
            }
        }
        self.check_free_for(name, pass, max_gap)?;
        let mut next = self.base_of_pass(name, pass, max_gap)?;
        if let Some(first) = pass.first {
            next = next.brought_here(name, first, past)?;
        }
        if matches!(pass.passage.is, PassageIs::Beside(_)) {
            next.check_beside(name, next.stripe().of > 1)?;
        }
        next.passage = Some(Box::new(pass.passage.clone()));
        next.frozen = false;
        // What any server holds of the time before is dropped (protocol S5).
        next.generation = self.generation + 1;
        Ok(Some(next))
    }

    /// The record that a deed begins with: this one, or a new one over a tombstone or over what was moved back.
    fn base_of_pass(&self, name: &Name, pass: &Pass, max_gap: u64) -> Result<State, LedgerError> {
        let made_anew = |tombstone: &State| tombstone.recreated(name, &pass.spec(), max_gap);
        let before = self.passage.as_deref();
        if self.version.is_none() {
            return State::fresh(&pass.spec(), max_gap);
        }
        if self.dropped || !self.version.is_some_and(crate::store::Version::is_written) {
            return made_anew(self);
        }
        let is_back = matches!(
            before,
            Some(Passage {
                is: PassageIs::MovedBack { .. },
                ..
            })
        );
        if is_back && before.is_some_and(|before| before.id != pass.passage.id) {
            // Another import of the name: the source may be made otherwise by now.
            return made_anew(&self.tombstone(self.ordinal));
        }
        let serves = |passage: &Passage| matches!(passage.is, PassageIs::Here | PassageIs::MovedBack { .. });
        Ok(match before.is_none_or(serves) && !serves(&pass.passage) {
            true => self.parked(matches!(pass.passage.is, PassageIs::Beside(_))),
            false => self.clone(),
        })
    }

    /// The record while it gives out nothing of its own, beside its counter elsewhere or sealed. What was given out until
    /// now is past. From here on its mark grows only by what a restore puts on it.
    fn parked(&self, is_beside: bool) -> State {
        let base = match (self.last_before(self.ordinal), is_beside) {
            // Beside a source nothing of the record is given out.
            (Some(_), true) => not_called(self.def.start),
            (Some(last), false) => called(last),
            (None, _) => self.base,
        };
        State {
            past: self.all_past(),
            base,
            base_ordinal: self.ordinal,
            ..self.clone()
        }
    }

    /// Beside a source its numbers are taken in whole ranges, whose unused rest is lost.
    pub(crate) fn check_beside(&self, name: &Name, in_set: bool) -> Result<(), LedgerError> {
        let refused = |why: &str| {
            Err(LedgerError::Invalid(format!(
                "sequence {name} cannot stand beside its original: {why}"
            )))
        };
        match () {
            () if self.gap == Gap::None => refused("it is gap-free"),
            () if self.def.cycle => refused("it begins again at its end"),
            () if in_set => refused("it lies in several stores"),
            () => Ok(()),
        }
    }

    /// The record from which it serves here. Its next number is `first`, or the next one in step with that which was never
    /// given out, neither here nor by the counter elsewhere: that has given out what lies before `first`.
    ///
    /// A mark that a restore has raised while nothing was given out here counts from there on: the store that was lost may
    /// have come this far before, and have given out as many.
    fn brought_here(
        &self,
        name: &Name,
        first: i64,
        past_of_set: Option<(i64, i64)>,
    ) -> Result<State, LedgerError> {
        let served = self
            .passage
            .as_ref()
            .is_some_and(|passage| passage.is == PassageIs::Here);
        let raised = if served {
            0
        } else {
            self.ordinal - self.base_ordinal
        };
        let mut stood = State {
            past: union(self.past, past_of_set),
            elsewhere: union(self.elsewhere, before(&self.def, first)),
            base_ordinal: if served { self.base_ordinal } else { self.ordinal },
            ..self.clone()
        };
        let mut base = stood.place_from(name, first)?;
        if raised > 0 {
            stood.past = union(stood.past, Some(numbers(&self.def, base.value, raised)));
            base = stood.place_from(name, first)?;
        }
        stood
            .going_on(self.ordinal, self.def, base, false)
            .map_err(|MayRepeat { at }| LedgerError::OnlyForward {
                name: name.clone(),
                at,
            })
    }

    /// The first place from `first` on that lies beyond all that was given out, and beyond where it was set by hand.
    fn place_from(&self, name: &Name, first: i64) -> Result<Base, LedgerError> {
        let ahead = (!self.base.is_called).then(|| before(&self.def, self.base.value));
        let base = match union(self.given_out(self.ordinal), ahead.flatten()) {
            Some(least) => first_beyond(&self.def, first, edge(&self.def, least)),
            None => Some(not_called(first)),
        };
        let base = base.filter(|base| (self.def.min..=self.def.max).contains(&base.value));
        base.ok_or_else(|| {
            LedgerError::Invalid(format!(
                "sequence {name} would go on at {first} or beyond it, outside its bounds {}..{}",
                self.def.min, self.def.max
            ))
        })
    }

    /// The furthest number that was ever reserved here (protocol M4).
    pub(crate) fn furthest(&self) -> Option<i64> {
        let past = self.all_past()?;
        Some(if self.def.increment > 0 { past.1 } else { past.0 })
    }
}

/// The numbers of a definition that come before `first`.
fn before(def: &SequenceDef, first: i64) -> Option<(i64, i64)> {
    let numbers = match def.increment > 0 {
        true => (def.min, first.checked_sub(1)?),
        false => (first.checked_add(1)?, def.max),
    };
    (numbers.0 <= numbers.1).then_some(numbers)
}

/// The smallest and largest of so many numbers of a definition from `first` on.
fn numbers(def: &SequenceDef, first: i64, count: u64) -> (i64, i64) {
    let last = i128::from(first) + (i128::from(count) - 1) * i128::from(def.increment);
    let last = last.clamp(def.min.into(), def.max.into());
    let last = i64::try_from(last).expect("clamped to 64 bits");
    (first.min(last), first.max(last))
}
