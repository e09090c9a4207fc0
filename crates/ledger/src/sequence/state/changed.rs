//! What a change of the definition or position makes of a record.

use mintage::{Base, SequenceDef, SequenceError};

use super::gate::{MayRepeat, edge, first_beyond};
use super::{State, called, not_called, union};
use crate::error::LedgerError;
use crate::name::Name;
use crate::sequence::spec::{MAX_GAP_LIMIT, RestartAt, SequencePatch, SequenceSpec};

impl State {
    /// A definition that is not stored yet.
    pub(crate) fn fresh(spec: &SequenceSpec, default_max_gap: u64) -> Result<State, LedgerError> {
        let def = SequenceDef::new(spec.options).map_err(invalid)?;
        Ok(State {
            def,
            gap: spec.gap,
            max_gap: checked_max_gap(spec.max_gap.unwrap_or(default_max_gap))?,
            base: not_called(def.start),
            base_ordinal: 0,
            ordinal: 0,
            generation: 1,
            incarnation: 1,
            dropped: false,
            unknown: false,
            frozen: false,
            past: None,
            elsewhere: None,
            repeatable: None,
            landed: Vec::new(),
            passage: None,
            version: None,
        })
    }

    /// Moves so that the next number follows `to` (or is `to`, not called). Forward only, measured from what
    /// was issued, unless `allow_repeat`.
    pub(crate) fn moved(
        &self,
        name: &Name,
        issued: u64,
        to: Base,
        allow_repeat: bool,
    ) -> Result<State, LedgerError> {
        check_bounds(name, &self.def, to.value)?;
        self.going_on(issued, self.def, to, allow_repeat)
            .map_err(|MayRepeat { at }| LedgerError::OnlyForward {
                name: name.clone(),
                at,
            })
    }

    /// Changes the definition; the position stays.
    pub(crate) fn altered(
        &self,
        name: &Name,
        issued: u64,
        patch: &SequencePatch,
    ) -> Result<State, LedgerError> {
        let o = &patch.options;
        let options = mintage::SequenceOptions {
            start: Some(o.start.unwrap_or(self.def.start)),
            increment: Some(o.increment.unwrap_or(self.def.increment)),
            min: Some(o.min.unwrap_or(self.def.min)),
            max: Some(o.max.unwrap_or(self.def.max)),
            cycle: Some(o.cycle.unwrap_or(self.def.cycle)),
        };
        let def = SequenceDef::new(options).map_err(invalid)?;
        let base = match patch.restart {
            None => self.base_within(name, issued, &def, patch)?,
            Some(RestartAt::Start) => not_called(def.start),
            Some(RestartAt::With(value)) => not_called(value),
        };
        check_bounds(name, &def, base.value)?;
        let next = self.going_on(issued, def, base, patch.allow_repeat);
        let next = next.map_err(|MayRepeat { at }| LedgerError::NeedsAllowRepeat {
            name: name.clone(),
            why: match patch.restart {
                None if self.turns(&def) => format!("increment {} reverses its direction", def.increment),
                _ => format!("it is at {at}, {} is not beyond it", base.value),
            },
        })?;
        Ok(State {
            gap: patch.gap.unwrap_or(self.gap),
            max_gap: checked_max_gap(patch.max_gap.unwrap_or(self.max_gap))?,
            ..next
        })
    }

    /// Where it goes on under a new definition: where it is, or at the start where that lies outside the new bounds. One
    /// that stands at its start goes to the new one, unless that may have been given out before.
    fn base_within(
        &self,
        name: &Name,
        issued: u64,
        def: &SequenceDef,
        patch: &SequencePatch,
    ) -> Result<Base, LedgerError> {
        let stands = self.last_before(issued).map_or(self.base, called);
        let start = patch
            .options
            .start
            .map(not_called)
            .filter(|_| stands == self.def.origin());
        let at_start = start.filter(|start| self.going_on(issued, *def, *start, false).is_ok());
        let base = at_start.unwrap_or(stands);
        if (def.min..=def.max).contains(&base.value) {
            return Ok(base);
        }
        match patch.allow_repeat {
            true => Ok(not_called(def.start)),
            false => Err(LedgerError::NeedsAllowRepeat {
                name: name.clone(),
                why: format!(
                    "it is at {}, outside the new bounds {}..{}",
                    base.value, def.min, def.max
                ),
            }),
        }
    }

    /// The tombstone (protocol R2): mark and version stay, the next incarnation continues above.
    pub(crate) fn tombstone(&self, issued: u64) -> State {
        State {
            past: union(self.past, self.hull(issued)),
            base_ordinal: self.ordinal,
            generation: self.generation + 1,
            dropped: true,
            ..self.clone()
        }
    }

    /// The same name made again over its tombstone: continues beyond everything ever issued.
    pub(crate) fn recreated(
        &self,
        name: &Name,
        spec: &SequenceSpec,
        default_max_gap: u64,
    ) -> Result<State, LedgerError> {
        let fresh = State::fresh(spec, default_max_gap)?;
        let def = fresh.def;
        let (mut base, mut past) = (fresh.base, self.past);
        if self.unknown {
            // Under the definition that it is given now it may have issued as many numbers as the mark counts.
            base.value = self.past_spent(name, &fresh, self.ordinal)?;
            past = union(past, fresh.hull(self.ordinal));
        }
        if let Some(past) = self.lives_before(&def) {
            base = first_beyond(&def, base.value, edge(&def, past)).ok_or_else(|| {
                LedgerError::Invalid(format!(
                    "sequence {name} was dropped after issuing {}..{}, and the new bounds {}..{} leave no further number",
                    past.0, past.1, def.min, def.max
                ))
            })?;
        }
        // A restore has raised the mark: so many numbers of a life that is lost may have followed.
        let raised = self.ordinal - self.base_ordinal;
        if raised > 0 {
            let next = State {
                base,
                ..fresh.clone()
            };
            base = not_called(self.past_spent(name, &next, raised)?);
            past = union(past, next.hull(raised));
        }
        Ok(State {
            base,
            base_ordinal: self.ordinal,
            ordinal: self.ordinal,
            generation: self.generation + 1,
            incarnation: self.incarnation + 1,
            past,
            elsewhere: self.elsewhere,
            repeatable: self.repeatable,
            // A deed of an older step must still find that it is late (protocol M3).
            passage: self.passage.clone(),
            version: self.version,
            ..fresh
        })
    }

    /// What a new life must lie beyond; numbers that repeat by definition follow what nobody knows of where it ends.
    fn lives_before(&self, def: &SequenceDef) -> Option<(i64, i64)> {
        union(self.past, self.elsewhere).filter(|_| !(self.unknown && def.cycle))
    }

    /// The number after the first `count` of a definition, which may have been issued by a life that nobody knows of.
    fn past_spent(&self, name: &Name, next: &State, count: u64) -> Result<i64, LedgerError> {
        let run = next.run(count, 1).map_err(|_| {
            LedgerError::Invalid(format!(
                "sequence {name} may have issued {count} numbers before a restore or a repair, and the bounds {}..{} \
                 leave no further number",
                next.def.min, next.def.max
            ))
        })?;
        Ok(run.first)
    }

    /// Refuses a definition that is not this one.
    pub(crate) fn check_same(
        &self,
        name: &Name,
        spec: &SequenceSpec,
        default_max_gap: u64,
    ) -> Result<(), LedgerError> {
        match self.difference(&State::fresh(spec, default_max_gap)?) {
            None => Ok(()),
            Some(difference) => Err(LedgerError::Exists {
                name: name.clone(),
                difference,
            }),
        }
    }

    /// The first field in which another definition differs, with both values.
    fn difference(&self, other: &State) -> Option<String> {
        let (a, b) = (&self.def, &other.def);
        let fields = [
            ("start", a.start.to_string(), b.start.to_string()),
            ("increment", a.increment.to_string(), b.increment.to_string()),
            ("min", a.min.to_string(), b.min.to_string()),
            ("max", a.max.to_string(), b.max.to_string()),
            ("cycle", a.cycle.to_string(), b.cycle.to_string()),
            ("gap", format!("{:?}", self.gap), format!("{:?}", other.gap)),
            ("max_gap", self.max_gap.to_string(), other.max_gap.to_string()),
        ];
        let (field, is, asked) = fields.into_iter().find(|(_, is, asked)| is != asked)?;
        Some(format!(
            "{field} is {}, asked for {}",
            is.to_lowercase(),
            asked.to_lowercase()
        ))
    }
}

fn check_bounds(name: &Name, def: &SequenceDef, value: i64) -> Result<(), LedgerError> {
    if value < def.min || value > def.max {
        return Err(LedgerError::Invalid(format!(
            "value {value} is out of bounds for sequence {name} ({}..{})",
            def.min, def.max
        )));
    }
    Ok(())
}

fn invalid(error: SequenceError) -> LedgerError {
    LedgerError::Invalid(error.to_string())
}

fn checked_max_gap(max_gap: u64) -> Result<u64, LedgerError> {
    if max_gap > MAX_GAP_LIMIT {
        return Err(LedgerError::Invalid(format!(
            "max_gap {max_gap} is too large, largest is {MAX_GAP_LIMIT}"
        )));
    }
    Ok(max_gap)
}
