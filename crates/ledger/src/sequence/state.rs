//! The rules of a sequence as arithmetic on its stored record: no I/O, no clock, no handle.
//!
//! The store keeps the *ordinal*: how many numbers were ever reserved (protocol S1). The value of an ordinal
//! follows from the definition and the *base*, the point where the current run of numbers began. A changed
//! definition or position starts a new base; the ordinal itself only grows.

use mintage::{Base, Run, SequenceDef, SequenceError, Timestamp};
use serde::{Deserialize, Serialize};

use super::spec::{Gap, MAX_GAP_LIMIT, RestartAt, SequenceInfo, SequencePatch, SequenceSpec};
use crate::error::LedgerError;
use crate::forecast::{self, Forecast, Limit};
use crate::name::Name;
use crate::store::{Outcome, StoreError, StoreErrorKind, Value, Version, Versioned};
use crate::striped::Stripe;

/// A sequence's record, as last read or written.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct State {
    pub def: SequenceDef,
    pub gap: Gap,
    pub max_gap: u64,
    /// Where the current run of numbers began, and at which ordinal.
    pub base: Base,
    pub base_ordinal: u64,
    /// How many numbers were ever reserved.
    pub ordinal: u64,
    pub generation: u64,
    pub incarnation: u64,
    pub dropped: bool,
    /// A tombstone whose mark is all that is known: numbers of any definition may have been issued up to it.
    pub unknown: bool,
    /// One store's record of a set, held fast while a change is made in all of them: nothing is reserved of it.
    pub frozen: bool,
    /// The smallest and largest number that bases before this one may have issued.
    pub past: Option<(i64, i64)>,
    /// Gap-free on a shared store: the last claim of each process that is known to have landed, as (instance,
    /// token), the latest first. A process that never heard finds its own here, whoever wrote since (protocol S6).
    pub landed: Vec<(u128, u128)>,
    /// `None`: not stored yet, the first claim makes the record.
    pub version: Option<Version>,
}

/// Numbers with consecutive ordinals on one linear run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Range {
    pub ordinal: u64,
    pub run: Run,
}

impl Range {
    /// The ordinal after the last.
    pub(crate) fn end(&self) -> u64 {
        self.ordinal + self.run.count
    }

    /// Splits off the first `n` (at most all).
    pub(crate) fn split(self, n: u64) -> (Range, Option<Range>) {
        let (head, tail) = self.run.split(n);
        let rest = Range {
            ordinal: self.ordinal + head.count,
            run: tail,
        };
        (Range { run: head, ..self }, (tail.count > 0).then_some(rest))
    }

    /// Whether `next` goes on where this one ends, in ordinals and in values.
    pub(crate) fn touches(&self, next: &Range) -> bool {
        self.ordinal + self.run.count == next.ordinal
            && self.run.step == next.run.step
            && self.run.last().checked_add(self.run.step) == Some(next.run.first)
    }
}

/// The stored body. Numbers are plain JSON integers.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
    start: i64,
    increment: i64,
    min: i64,
    max: i64,
    cycle: bool,
    gap: GapWord,
    max_gap: u64,
    base: BaseBody,
    generation: u64,
    incarnation: u64,
    /// The mark at this write, once more: one that is lower was lowered by hand (protocol E3).
    #[serde(default)]
    reserved: u64,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    dropped: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    unknown: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    frozen: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    past: Option<(i64, i64)>,
    /// Hexadecimal.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    landed: Vec<(String, String)>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct BaseBody {
    value: i64,
    is_called: bool,
    ordinal: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum GapWord {
    Bounded,
    None,
}

impl State {
    /// A definition that is not stored yet.
    pub(crate) fn fresh(spec: &SequenceSpec, default_max_gap: u64) -> Result<State, LedgerError> {
        let def = SequenceDef::new(spec.options).map_err(invalid)?;
        Ok(State {
            def,
            gap: spec.gap,
            max_gap: checked_max_gap(spec.max_gap.unwrap_or(default_max_gap))?,
            base: Base {
                value: def.start,
                is_called: false,
            },
            base_ordinal: 0,
            ordinal: 0,
            generation: 1,
            incarnation: 1,
            dropped: false,
            unknown: false,
            frozen: false,
            past: None,
            landed: Vec::new(),
            version: None,
        })
    }

    /// Reads a stored record.
    pub(crate) fn read(name: &Name, found: &Versioned) -> Result<State, LedgerError> {
        let damaged = |why: String| {
            LedgerError::Stopped(
                StoreError::new(
                    StoreErrorKind::Corrupt,
                    Outcome::NotDone,
                    format!("the record of sequence {name} makes no sense: {why}"),
                )
                .with_hint("was it edited by hand, or written by a newer version?"),
            )
        };
        if found.value.is_tombstone() {
            return Ok(State::of_unknown_definition(found));
        }
        let body: Body = serde_json::from_str(&found.value.body).map_err(|e| damaged(e.to_string()))?;
        let options = mintage::SequenceOptions {
            start: Some(body.start),
            increment: Some(body.increment),
            min: Some(body.min),
            max: Some(body.max),
            cycle: Some(body.cycle),
        };
        let def = SequenceDef::new(options).map_err(|e| damaged(e.to_string()))?;
        if body.base.ordinal > found.value.mark {
            return Err(damaged(format!(
                "its base is at ordinal {}, its mark at {}",
                body.base.ordinal, found.value.mark
            )));
        }
        Ok(State {
            def,
            gap: match body.gap {
                GapWord::Bounded => Gap::Bounded,
                GapWord::None => Gap::None,
            },
            max_gap: body.max_gap,
            base: Base {
                value: body.base.value,
                is_called: body.base.is_called,
            },
            base_ordinal: body.base.ordinal,
            ordinal: found.value.mark,
            generation: body.generation,
            incarnation: body.incarnation,
            dropped: body.dropped,
            unknown: body.unknown,
            frozen: body.frozen,
            past: body.past,
            landed: body.landed.iter().filter_map(from_hex).collect(),
            version: Some(found.version),
        })
    }

    /// Whether a stored record is a tombstone; for counting, without reading it whole.
    pub(crate) fn is_tombstone(found: &Versioned) -> bool {
        #[derive(Deserialize)]
        struct Dropped {
            #[serde(default)]
            dropped: bool,
        }
        let is_dropped = || serde_json::from_str::<Dropped>(&found.value.body).is_ok_and(|body| body.dropped);
        found.value.is_tombstone() || is_dropped()
    }

    /// Whether the store has a tombstone of it.
    pub(crate) fn is_written_tombstone(&self) -> bool {
        self.dropped && self.version.is_some_and(Version::is_written)
    }

    /// A record of which a repair saved the mark alone: a tombstone. With the definition gone, the numbers are
    /// taken to be those of the default one, `1..=mark`.
    fn of_unknown_definition(found: &Versioned) -> State {
        let def = SequenceDef::new(mintage::SequenceOptions::default()).expect("the defaults are valid");
        let mark = i64::try_from(found.value.mark).unwrap_or(i64::MAX);
        State {
            def,
            gap: Gap::Bounded,
            max_gap: 0,
            // With a mark of 0 none was issued, not even 0.
            base: Base {
                value: mark.max(1),
                is_called: mark > 0,
            },
            base_ordinal: found.value.mark,
            ordinal: found.value.mark,
            generation: 1,
            incarnation: 1,
            dropped: true,
            unknown: true,
            frozen: false,
            past: (mark > 0).then_some((1, mark)),
            landed: Vec::new(),
            version: Some(found.version),
        }
    }

    /// Notes that the claim with this token is the last one of `instance`.
    pub(crate) fn note_landed(&mut self, instance: u128, token: u128) {
        self.landed.retain(|(known, _)| *known != instance);
        self.landed.insert(0, (instance, token));
        self.landed.truncate(LANDED_MAX);
    }

    /// Whether this claim was the last one of its process that landed.
    pub(crate) fn has_landed(&self, token: u128) -> bool {
        self.landed.iter().any(|(_, known)| *known == token)
    }

    /// The record to store.
    pub(crate) fn write(&self, token: u128) -> Value {
        let body = Body {
            start: self.def.start,
            increment: self.def.increment,
            min: self.def.min,
            max: self.def.max,
            cycle: self.def.cycle,
            gap: match self.gap {
                Gap::Bounded => GapWord::Bounded,
                Gap::None => GapWord::None,
            },
            max_gap: self.max_gap,
            base: BaseBody {
                value: self.base.value,
                is_called: self.base.is_called,
                ordinal: self.base_ordinal,
            },
            generation: self.generation,
            incarnation: self.incarnation,
            reserved: self.ordinal,
            dropped: self.dropped,
            unknown: self.unknown,
            frozen: self.frozen,
            past: self.past,
            landed: self.landed.iter().map(to_hex).collect(),
        };
        let body = serde_json::to_string(&body).expect("plain fields always serialise");
        Value {
            mark: self.ordinal,
            token,
            body,
        }
    }

    /// Which store of a set this record is in (protocol S9).
    pub(crate) fn stripe(&self) -> Stripe {
        self.version.map_or(Stripe::WHOLE, Version::stripe)
    }

    fn run(&self, skip: u64, want: u64) -> Result<Run, SequenceError> {
        self.stripe().run(&self.def, self.base, skip, want)
    }

    /// The next at most `want` numbers (one linear run), without reserving them.
    pub(crate) fn peek(&self, want: u64) -> Result<Range, SequenceError> {
        // The mark must stay within what every store can hold.
        let want = want.min(i64::MAX as u64 - self.ordinal);
        let run = self.run(self.ordinal - self.base_ordinal, want)?;
        Ok(Range {
            ordinal: self.ordinal,
            run,
        })
    }

    /// As [`State::peek`]; where the record is one store's of a set, only numbers beyond `furthest`, so that numbers
    /// rise for whoever takes from one store after another. Of a gap-free sequence none is left out for that.
    pub(crate) fn peek_beyond(&self, furthest: Option<i64>, want: u64) -> Result<Range, SequenceError> {
        let next = self.peek(want)?;
        let several = self.stripe().of > 1 && self.gap == Gap::Bounded;
        let Some(furthest) = furthest.filter(|furthest| {
            let goes_back = !beyond(&self.def, *furthest, next.run.first);
            several && goes_back
        }) else {
            return Ok(next);
        };
        let apart = i128::from(furthest).abs_diff(i128::from(next.run.first));
        let step = u128::from(self.def.increment.unsigned_abs()) * u128::from(self.stripe().of);
        let skip = u64::try_from(apart / step + 1).unwrap_or(u64::MAX);
        let ordinal = self.ordinal.saturating_add(skip).min(i64::MAX as u64);
        State {
            ordinal,
            ..self.clone()
        }
        .peek(want)
    }

    /// The numbers of the ordinals `from..until`, if they lie on one linear run and below the mark.
    pub(crate) fn range(&self, from: u64, until: u64) -> Option<Range> {
        let count = until.checked_sub(from).filter(|count| *count > 0)?;
        let skip = from.checked_sub(self.base_ordinal)?;
        let run = self.run(skip, count).ok()?;
        let fits = run.count == count && until <= self.ordinal;
        fits.then_some(Range { ordinal: from, run })
    }

    /// How many numbers are left on the linear run that the next one begins.
    pub(crate) fn left(&self) -> u64 {
        self.peek(u64::MAX).map_or(0, |range| range.run.count)
    }

    /// The value of the last ordinal before `ordinal`: what counts as issued when everything below it is.
    pub(crate) fn last_before(&self, ordinal: u64) -> Option<i64> {
        match ordinal.checked_sub(self.base_ordinal + 1) {
            Some(skip) => self.run(skip, 1).ok().map(|run| run.first),
            None => self.base.is_called.then_some(self.base.value),
        }
    }

    /// What people are told; `issued` is the ordinal below which everything counts as issued.
    pub(crate) fn info(&self, name: &Name, issued: u64) -> SequenceInfo {
        SequenceInfo {
            name: name.clone(),
            def: self.def,
            gap: self.gap,
            max_gap: self.max_gap,
            last: self.last_before(issued),
            ordinal: self.ordinal,
            unused: self.ordinal - issued.min(self.ordinal),
            generation: self.generation,
            forecast: self.forecast(None, None),
        }
    }

    /// When it ends, if `rate` numbers a second are reserved. Numbers that repeat by definition never do.
    pub(crate) fn forecast(&self, rate: Option<f64>, as_of: Option<Timestamp>) -> Forecast {
        if self.def.cycle {
            return Forecast::new(rate, Vec::new(), as_of);
        }
        let limit = match self.def.max {
            i64::MAX if self.def.increment > 0 => Limit::Signed,
            _ => Limit::Bound,
        };
        let mut endings = vec![forecast::after(limit, self.left(), rate)];
        if self.def.increment > 0 && self.def.max >= DOUBLE_MAX {
            let next = self.peek(1).map_or(i64::MAX, |range| range.run.first);
            // As many as 2^63 and more lie between.
            let steps = DOUBLE_MAX.abs_diff(next.min(DOUBLE_MAX)) / self.def.increment.unsigned_abs();
            endings.push(forecast::after(Limit::Double, steps, rate));
        }
        Forecast::new(rate, endings.into_iter().flatten().collect(), as_of)
    }

    /// Starts a new base; numbers reserved but not issued from the old one are spent.
    fn rebase(&mut self, issued: u64, base: Base) {
        self.past = union(self.past, self.hull(issued));
        self.base = base;
        self.base_ordinal = self.ordinal;
        self.generation += 1;
    }

    /// The smallest and largest number of the current base below ordinal `issued`.
    fn hull(&self, issued: u64) -> Option<(i64, i64)> {
        let last = self.last_before(issued)?;
        let first = if self.base.is_called {
            self.base.value
        } else {
            self.last_before(self.base_ordinal + 1)?
        };
        let full = self.def.cycle.then_some((self.def.min, self.def.max));
        let wrapped = full.filter(|_| !self.def.is_forward(first, last) && first != last);
        Some(wrapped.unwrap_or((first.min(last), first.max(last))))
    }

    /// What the shares of all stores of a set become when they are cut anew: everything up to the furthest of them
    /// is spent. `None` of none.
    pub(crate) fn levelled<'a>(states: impl Iterator<Item = &'a State>) -> Option<State> {
        let states: Vec<&State> = states.collect();
        let generation = states.iter().map(|state| state.generation).max()? + 1;
        let past = states
            .iter()
            .fold(None, |past, state| union(past, state.all_past()));
        // The furthest that exists, else any tombstone.
        let mut furthest: Option<&State> = None;
        for state in &states {
            let further = furthest.is_none_or(|so_far| match (so_far.dropped, state.dropped) {
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
            });
            if further {
                furthest = Some(state);
            }
        }
        let furthest = furthest?;
        let mut level = furthest.clone();
        if let Some(value) = furthest.last_before(furthest.ordinal) {
            level.base = Base {
                value,
                is_called: true,
            };
        }
        level.generation = generation;
        level.past = past;
        level.frozen = false;
        level.version = None;
        Some(level)
    }

    /// What the record of another store of a set becomes that has not met the name, or has not followed its last change:
    /// this definition, going on beyond all that was given out there.
    pub(crate) fn taught(&self, behind: &State) -> State {
        let mut base = self.base;
        if let Some((low, high)) = behind.all_past() {
            let edge = if self.def.increment > 0 { high } else { low };
            if !beyond(&self.def, edge, base.value) {
                base = Base {
                    value: edge,
                    is_called: true,
                };
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

    /// The smallest and largest number that may ever have been issued.
    pub(crate) fn all_past(&self) -> Option<(i64, i64)> {
        union(self.past, self.hull(self.ordinal))
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
        if to.value < self.def.min || to.value > self.def.max {
            return Err(LedgerError::Invalid(format!(
                "value {} is out of bounds for sequence {name} ({}..{})",
                to.value, self.def.min, self.def.max
            )));
        }
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
        let last = self.last_before(issued);
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
        if let Some(restart) = patch.restart {
            let to = match restart {
                RestartAt::Start => def.start,
                RestartAt::With(value) => value,
            };
            self.check_restart(name, issued, &def, to, patch.allow_repeat)?;
            next.rebase(
                issued,
                Base {
                    value: to,
                    is_called: false,
                },
            );
            next.def = def;
            next.forget_past_if(patch.allow_repeat);
            return Ok(next);
        }
        let base = match last {
            Some(at) => Base {
                value: at,
                is_called: true,
            },
            None => Base {
                value: o.start.unwrap_or(self.base.value),
                is_called: false,
            },
        };
        let inside = |v: i64| def.min <= v && v <= def.max;
        if !inside(base.value) {
            if !patch.allow_repeat {
                let why = format!(
                    "it is at {}, outside the new bounds {}..{}",
                    base.value, def.min, def.max
                );
                return Err(LedgerError::NeedsAllowRepeat {
                    name: name.clone(),
                    why,
                });
            }
            next.rebase(
                issued,
                Base {
                    value: def.start,
                    is_called: false,
                },
            );
        } else {
            let turns = (def.increment > 0) != (self.def.increment > 0);
            if turns && last.is_some() && !patch.allow_repeat {
                let why = format!("increment {} turns its direction", def.increment);
                return Err(LedgerError::NeedsAllowRepeat {
                    name: name.clone(),
                    why,
                });
            }
            next.rebase(issued, base);
        }
        next.def = def;
        next.forget_past_if(patch.allow_repeat);
        Ok(next)
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
        if to < def.min || to > def.max {
            return Err(LedgerError::Invalid(format!(
                "value {to} is out of bounds for sequence {name} ({}..{})",
                def.min, def.max
            )));
        }
        let Some(at) = self.mark(issued).filter(|_| !allow_repeat) else {
            return Ok(());
        };
        let turns = (def.increment > 0) != (self.def.increment > 0);
        if turns || !beyond(def, at, to) {
            return Err(LedgerError::NeedsAllowRepeat {
                name: name.clone(),
                why: format!("it is at {at}, {to} does not lie beyond"),
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
                match i64::try_from(value)
                    .ok()
                    .filter(|v| def.min <= *v && *v <= def.max)
                {
                    Some(value) => {
                        base = Base {
                            value,
                            is_called: false,
                        }
                    }
                    None => {
                        return Err(LedgerError::Invalid(format!(
                            "sequence {name} was dropped after issuing {low}..{high}, and the new bounds {}..{} \
                             leave nothing beyond",
                            def.min, def.max
                        )));
                    }
                }
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
                 leave nothing beyond",
                next.def.min, next.def.max
            ))
        })?;
        Ok(run.first)
    }

    /// The first field in which another definition differs, with both values.
    pub(crate) fn difference(&self, other: &State) -> Option<String> {
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

/// Whole numbers below are exact in a double.
const DOUBLE_MAX: i64 = 1 << 53;

/// So many processes can use a gap-free name of a shared store at a time and learn of every claim what became of it.
const LANDED_MAX: usize = 16;

fn to_hex((instance, token): &(u128, u128)) -> (String, String) {
    (format!("{instance:032x}"), format!("{token:032x}"))
}

fn from_hex((instance, token): &(String, String)) -> Option<(u128, u128)> {
    let number = |text: &str| u128::from_str_radix(text, 16).ok();
    Some((number(instance)?, number(token)?))
}

/// Whether `to` lies strictly further than `from` in the direction of the increment.
pub(super) fn beyond(def: &SequenceDef, from: i64, to: i64) -> bool {
    to != from && def.is_forward(from, to)
}

/// The smallest range that holds both.
fn union(a: Option<(i64, i64)>, b: Option<(i64, i64)>) -> Option<(i64, i64)> {
    match (a, b) {
        (Some((al, ah)), Some((bl, bh))) => Some((al.min(bl), ah.max(bh))),
        (one, other) => one.or(other),
    }
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
