//! What a change of the definition or position makes of a record.

use mintage::{Base, SequenceDef, SequenceError};

use super::{State, beyond, called, not_called, union};
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
            landed: Vec::new(),
            passage: None,
            version: None,
        })
    }

    /// Starts a new base; numbers reserved but not issued from the old one are spent.
    fn rebase(&mut self, issued: u64, base: Base) {
        self.past = union(self.past, self.hull(issued));
        self.base = base;
        self.base_ordinal = self.ordinal;
        self.generation += 1;
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
        if let Some(at) = self.mark(issued).filter(|_| !allow_repeat) {
            // A called value counts as issued already, so it may equal the last one; an uncalled one is
            // still to come and must lie beyond.
            let stays = to.is_called && to.value == at;
            if !stays && !beyond(&self.def, at, to.value) {
                return Err(LedgerError::OnlyForward {
                    name: name.clone(),
                    at,
                });
            }
        }
        let mut next = self.clone();
        next.rebase(issued, to);
        next.forget_past_if(allow_repeat);
        Ok(next)
    }

    /// What a forward move is measured from: the last number issued, or what the name's earlier lives issued.
    fn mark(&self, issued: u64) -> Option<i64> {
        let edge = |(low, high)| if self.def.increment > 0 { high } else { low };
        self.last_before(issued).or(self.past.map(edge))
    }

    /// An explicit `allow_repeat` gives up the promise about numbers issued before.
    fn forget_past_if(&mut self, allow_repeat: bool) {
        if allow_repeat {
            self.past = None;
        }
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
        let mut next = self.clone();
        next.gap = patch.gap.unwrap_or(self.gap);
        next.max_gap = checked_max_gap(patch.max_gap.unwrap_or(self.max_gap))?;
        let base = match patch.restart {
            None => self.base_within(name, issued, &def, patch)?,
            Some(restart) => {
                let value = match restart {
                    RestartAt::Start => def.start,
                    RestartAt::With(value) => value,
                };
                self.check_restart(name, issued, &def, value, patch.allow_repeat)?;
                not_called(value)
            }
        };
        next.rebase(issued, base);
        next.def = def;
        next.forget_past_if(patch.allow_repeat);
        Ok(next)
    }

    /// Where it goes on under a new definition: where it is, or at the start where that lies outside the new bounds.
    fn base_within(
        &self,
        name: &Name,
        issued: u64,
        def: &SequenceDef,
        patch: &SequencePatch,
    ) -> Result<Base, LedgerError> {
        let last = self.last_before(issued);
        let base = match last {
            Some(value) => called(value),
            None => not_called(patch.options.start.unwrap_or(self.base.value)),
        };
        let is_outside = base.value < def.min || base.value > def.max;
        let turns = last.is_some() && self.turns(def);
        if !patch.allow_repeat && (is_outside || turns) {
            let why = match is_outside {
                true => format!(
                    "it is at {}, outside the new bounds {}..{}",
                    base.value, def.min, def.max
                ),
                false => format!("increment {} reverses its direction", def.increment),
            };
            return Err(LedgerError::NeedsAllowRepeat {
                name: name.clone(),
                why,
            });
        }
        Ok(if is_outside { not_called(def.start) } else { base })
    }

    fn turns(&self, def: &SequenceDef) -> bool {
        (def.increment > 0) != (self.def.increment > 0)
    }

    /// Refuses a restart within a new definition that lies outside its bounds, or may repeat without leave.
    fn check_restart(
        &self,
        name: &Name,
        issued: u64,
        def: &SequenceDef,
        to: i64,
        allow_repeat: bool,
    ) -> Result<(), LedgerError> {
        check_bounds(name, def, to)?;
        let Some(at) = self.mark(issued).filter(|_| !allow_repeat) else {
            return Ok(());
        };
        if self.turns(def) || !beyond(def, at, to) {
            return Err(LedgerError::NeedsAllowRepeat {
                name: name.clone(),
                why: format!("it is at {at}, {to} is not beyond it"),
            });
        }
        Ok(())
    }

    /// The tombstone (protocol R2): mark and version stay, the next incarnation continues above.
    pub(crate) fn tombstone(&self, issued: u64) -> State {
        let mut next = self.clone();
        next.rebase(issued, self.base);
        next.dropped = true;
        next
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
        let mut base = fresh.base;
        if self.unknown {
            // Under the definition that it is given now it may have issued as many numbers as the mark counts.
            base.value = self.past_spent(name, &fresh, self.ordinal)?;
        }
        if let Some((low, high)) = self.past_of(&def) {
            let edge = if def.increment > 0 { high } else { low };
            if !beyond(&def, edge, base.value) {
                // The first number of the new grid beyond the edge.
                let steps = (i128::from(edge) - i128::from(base.value)) / i128::from(def.increment) + 1;
                let value = i128::from(base.value) + steps * i128::from(def.increment);
                let value = i64::try_from(value)
                    .ok()
                    .filter(|v| def.min <= *v && *v <= def.max);
                base.value = value.ok_or_else(|| {
                    LedgerError::Invalid(format!(
                        "sequence {name} was dropped after issuing {low}..{high}, and the new bounds {}..{} leave \
                         no further number",
                        def.min, def.max
                    ))
                })?;
            }
        }
        // A restore has raised the mark: so many numbers of a life that is lost may have followed.
        let raised = self.ordinal - self.base_ordinal;
        if raised > 0 {
            let next = State {
                base,
                ..fresh.clone()
            };
            base.value = self.past_spent(name, &next, raised)?;
        }
        Ok(State {
            base,
            base_ordinal: self.ordinal,
            ordinal: self.ordinal,
            generation: self.generation + 1,
            incarnation: self.incarnation + 1,
            past: self.past,
            // A deed of an older step must still find that it is late (protocol M3).
            passage: self.passage.clone(),
            version: self.version,
            ..fresh
        })
    }

    /// What a new life must lie beyond; numbers that repeat by definition follow what nobody knows of where it ends.
    fn past_of(&self, def: &SequenceDef) -> Option<(i64, i64)> {
        self.past.filter(|_| !(self.unknown && def.cycle))
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
