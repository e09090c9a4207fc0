//! The rules of a sequence as arithmetic on its stored record: no I/O, no clock, no handle.
//!
//! The store keeps the *ordinal*: how many numbers were ever reserved (protocol S1). The value of an ordinal
//! follows from the definition and the *base*, the point where the current run of numbers began. A changed
//! definition or position starts a new base; the ordinal itself only grows.
//!
//! | file | what |
//! | --- | --- |
//! | `record` | as bytes |
//! | `gate` | whether a change may give out a number again |
//! | `changed` | what a change of the definition or position makes of it |
//! | `of_set` | which of the records in several stores follows which |

mod changed;
mod gate;
#[cfg(test)]
mod histories;
mod of_set;
mod record;

use mintage::{Base, Run, SequenceDef, SequenceError, Timestamp};

pub(super) use gate::{MayRepeat, edge, first_beyond};

use super::passage::{Origin, Passage, PassageIs};
use super::range::Range;
use super::spec::{Gap, SequenceInfo};
use crate::forecast::{self, Forecast, Limit};
use crate::name::Name;
use crate::store::Version;
use crate::striped::{Placed, Stripe};

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
    /// The smallest and largest number that may have been given out before this base, by earlier ones and by earlier lives
    /// of the name.
    pub past: Option<(i64, i64)>,
    /// The same of the counters elsewhere that were brought here.
    pub elsewhere: Option<(i64, i64)>,
    /// The smallest and largest number given out that somebody has allowed to come again.
    pub repeatable: Option<(i64, i64)>,
    /// Gap-free on a shared store: the last claim of each process that is known to have landed, as (instance,
    /// token), the latest first. A process that never heard finds its own here, whoever wrote since (protocol S6).
    pub landed: Vec<(u128, u128)>,
    /// Where it is in a move from or to another system. Boxed: few names have one.
    pub passage: Option<Box<Passage>>,
    /// `None`: not stored yet, the first claim makes the record.
    pub version: Option<Version>,
}

impl State {
    /// Which store of a set this record is in (protocol S9).
    pub(crate) fn stripe(&self) -> Stripe {
        self.version.map_or(Stripe::WHOLE, Version::stripe)
    }

    /// The counter elsewhere out of which its numbers are taken, if they are.
    pub(crate) fn origin(&self) -> Option<&Origin> {
        match &self.passage.as_ref().filter(|_| !self.dropped)?.is {
            PassageIs::Beside(origin) => Some(origin),
            _ => None,
        }
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
            first: self.base.value,
            ordinal: self.ordinal,
            unreserved: self.peek(1).ok().map(|next| next.run.first),
            unused: self.ordinal - issued.min(self.ordinal),
            generation: self.generation,
            forecast: self.forecast(None, None),
            passage: self.passage.as_deref().cloned(),
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

    /// The smallest and largest number of the current base below ordinal `issued`.
    fn hull(&self, issued: u64) -> Option<(i64, i64)> {
        let last = self.last_before(issued)?;
        let first = if self.base.is_called {
            self.base.value
        } else {
            self.last_before(self.base_ordinal + 1)?
        };
        match self.has_gone_round(issued) {
            true => Some((self.def.min, self.def.max)),
            false => Some((first.min(last), first.max(last))),
        }
    }

    /// Whether numbers were issued of the current base that lie behind its end.
    fn has_gone_round(&self, issued: u64) -> bool {
        let count = issued.saturating_sub(self.base_ordinal);
        let Some(run) = self.run(0, u64::MAX).ok().filter(|_| self.def.cycle && count > 0) else {
            return false;
        };
        let begins_anew = self.base.is_called && !beyond(&self.def, self.base.value, run.first);
        begins_anew || count > run.count
    }

    /// The smallest and largest number that may ever have been issued here.
    pub(crate) fn all_past(&self) -> Option<(i64, i64)> {
        union(self.past, self.hull(self.ordinal))
    }
}

/// Whole numbers below are exact in a double.
const DOUBLE_MAX: i64 = 1 << 53;

/// Whether `to` lies strictly further than `from` in the direction of the increment.
pub(super) fn beyond(def: &SequenceDef, from: i64, to: i64) -> bool {
    to != from && def.is_forward(from, to)
}

/// The smallest range that holds both.
pub(super) fn union(a: Option<(i64, i64)>, b: Option<(i64, i64)>) -> Option<(i64, i64)> {
    match (a, b) {
        (Some((al, ah)), Some((bl, bh))) => Some((al.min(bl), ah.max(bh))),
        (one, other) => one.or(other),
    }
}

pub(super) fn called(value: i64) -> Base {
    Base {
        value,
        is_called: true,
    }
}

pub(super) fn not_called(value: i64) -> Base {
    Base {
        value,
        is_called: false,
    }
}
