//! What a move does with a sequence's record (protocol M1 to M4), and what it keeps everybody else from doing.

use mintage::{Base, SequenceOptions};

use super::passage::{Pass, Passage, PassageIs};
use super::spec::{Gap, SequenceSpec};
use super::state::{State, beyond};
use crate::error::LedgerError;
use crate::moves::Definition;
use crate::name::Name;

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
            next.forward_to(name, first, past)?;
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
        let mut next = self.clone();
        let was_beside = matches!(
            before,
            Some(Passage {
                is: PassageIs::Beside(_),
                ..
            })
        );
        let is_beside = matches!(pass.passage.is, PassageIs::Beside(_));
        match (was_beside, is_beside) {
            // What was given out until now was ours.
            (false, true) => {
                next.past = self.all_past();
                (next.base, next.base_ordinal) = (not_called(next.base, next.def.start), next.ordinal);
            }
            // Marks mean nothing beside a source, also those that a restore has raised.
            (true, _) => next.base_ordinal = next.ordinal,
            (false, false) => {}
        }
        Ok(next)
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

    /// Sets it forward so that its next number is `first`, or the next one in step with that which was never given out.
    fn forward_to(&mut self, name: &Name, first: i64, past: Option<(i64, i64)>) -> Result<(), LedgerError> {
        let up = self.def.increment > 0;
        let edge = self.all_past().into_iter().chain(past);
        let edge = edge.map(|(low, high)| if up { high } else { low });
        // The nearest that is still to come, by what was given out and by where it stands.
        let mut least = first;
        for edge in edge {
            if !beyond(&self.def, edge, least) {
                least = edge.saturating_add(self.def.increment.signum());
            }
        }
        let stands = match self.stripe().of {
            1 => self.peek(1).ok().map(|next| next.run.first),
            _ => Some(self.base)
                .filter(|base| !base.is_called)
                .map(|base| base.value),
        };
        if let Some(stands) = stands.filter(|stands| beyond(&self.def, least, *stands)) {
            least = stands;
        }
        let step = i128::from(self.def.increment).abs();
        let apart = (i128::from(least) - i128::from(first)).abs();
        let steps = (apart + step - 1) / step;
        let value = i128::from(first) + steps * i128::from(self.def.increment);
        let fits = i64::try_from(value)
            .ok()
            .filter(|value| (self.def.min..=self.def.max).contains(value));
        let Some(value) = fits else {
            return Err(LedgerError::Invalid(format!(
                "sequence {name} would go on at {value}, outside its bounds {}..{}",
                self.def.min, self.def.max
            )));
        };
        self.past = self.all_past();
        self.base = Base {
            value,
            is_called: false,
        };
        self.base_ordinal = self.ordinal;
        Ok(())
    }

    /// The furthest number that was ever reserved here (protocol M4).
    pub(crate) fn furthest(&self) -> Option<i64> {
        let past = self.all_past()?;
        Some(if self.def.increment > 0 { past.1 } else { past.0 })
    }
}

/// Beside a source nothing of the record is given out.
fn not_called(base: Base, start: i64) -> Base {
    match base.is_called {
        true => Base {
            value: start,
            is_called: false,
        },
        false => base,
    }
}
