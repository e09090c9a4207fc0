//! Where a number of a sequence comes from, as far as its record and the memory of this process tell.

use std::sync::Arc;

use mintage::{Base, SequenceDef};

use super::Sequence;
use super::range::Range;

use super::state::{State, beyond};
use crate::context::Context;
use crate::name::Name;
use crate::remembered::{Kept, ReservedBlock, Verdict, place_in};

/// What the records say of a number and a sequence.
#[derive(Clone, PartialEq, Debug)]
pub struct NumberOrigin {
    /// The sequence.
    pub name: Name,
    /// What they say.
    pub verdict: Verdict,
    /// What that rests on, in words.
    pub why: String,
    /// Whether this process reserved it.
    pub ours: bool,
    /// The block of this process that it lies in.
    pub block: Option<ReservedBlock>,
}

/// What record and memory say of a number; `loaded` is the sequence, if it is in memory.
pub(crate) async fn explain_number(
    context: &Context,
    name: &Name,
    state: &State,
    loaded: Option<Arc<Sequence>>,
    number: i64,
) -> NumberOrigin {
    let (mut verdict, mut why) = state.judge(number).in_words(state, number);
    let origin = |verdict, why: String, block: Option<ReservedBlock>| NumberOrigin {
        name: name.clone(),
        verdict,
        why,
        ours: block.is_some(),
        block,
    };
    // What this process reserved it knows, whatever the record says by now.
    let has_block = context
        .recent
        .of(name)
        .iter()
        .any(|block| block.place(number).is_some());
    if let Some(sequence) = loaded.as_ref().filter(|_| has_block) {
        let (blocks, held) = sequence.remembered().await;
        let block = blocks.iter().rev().find(|block| block.place(number).is_some());
        if let Some(block) = block.map(|block| block.told(&held)) {
            let is_held = held.iter().any(|range| place_in(&range.run, number).is_some());
            let (verdict, why) = match (is_held, block.lost) {
                (true, _) => (
                    Verdict::Reserved,
                    "it is in this server's memory: it was given to nobody yet",
                ),
                (false, 0) => (Verdict::Issued, "it was reserved by this server and given out"),
                (false, _) => (
                    Verdict::Reserved,
                    "it was reserved by this server, and given out unless it is one of those of its block that were lost",
                ),
            };
            return origin(verdict, why.to_string(), Some(block));
        }
    }
    if let (Verdict::Reserved, true) = (verdict, context.store.exclusive()) {
        // Nobody else has this store; what this process holds is in no block that it remembers.
        let held = match &loaded {
            Some(sequence) => sequence.held_at_rest().await,
            None => Vec::new(),
        };
        if held.iter().any(|range| place_in(&range.run, number).is_some()) {
            why = "it is in this server's memory: it was given to nobody yet".to_string();
        }
    }
    if state.origin().is_some() {
        verdict = Verdict::Possible;
        why = "the sequence takes its numbers from a counter elsewhere, of which there is no record here"
            .to_string();
    }
    origin(verdict, why, None)
}

impl Sequence {
    /// The blocks that are remembered, and what of them is in memory.
    pub(crate) async fn remembered(self: &Arc<Self>) -> (Vec<Kept>, Vec<Range>) {
        let held = self.held_at_rest().await;
        (self.context.recent.of(&self.name), held)
    }
}

/// What a record says of a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Judged {
    /// It is outside the bounds, or not a whole number of steps away, and was never otherwise.
    OutOfBounds,
    BetweenSteps,
    /// It lies before the start.
    BeforeTheFirst,
    /// It lies before where the sequence was moved to.
    BeforeTheMove,
    /// It may be of a definition or position from before.
    OfThePast,
    /// Numbers repeat by definition.
    Cycles,
    /// One store of several says nothing of the others.
    OfASet,
    Reserved,
    NotYet,
}

impl State {
    /// What this record says of a number.
    fn judge(&self, number: i64) -> Judged {
        let of_the_past = self.unknown
            || [self.past, self.elsewhere, self.repeatable]
                .iter()
                .flatten()
                .any(|(low, high)| (*low..=*high).contains(&number));
        let unless_past = |judged| match of_the_past {
            true => Judged::OfThePast,
            false => judged,
        };
        if self.def.check(number).is_err() {
            return unless_past(Judged::OutOfBounds);
        }
        if self.def.cycle {
            return Judged::Cycles;
        }
        if !steps_from(&self.def, self.base, number) {
            return unless_past(Judged::BetweenSteps);
        }
        if !self.base.is_called && beyond(&self.def, number, self.base.value)
            || self.base.is_called && !beyond(&self.def, self.base.value, number)
        {
            let never_moved = self.base == self.def.origin() || beyond(&self.def, number, self.def.start);
            return match never_moved {
                true => unless_past(Judged::BeforeTheFirst),
                false => Judged::BeforeTheMove,
            };
        }
        if self.stripe().of > 1 {
            return Judged::OfASet;
        }
        match self.last_before(self.ordinal) {
            Some(last) if self.ordinal > self.base_ordinal && !beyond(&self.def, last, number) => {
                Judged::Reserved
            }
            _ => unless_past(Judged::NotYet),
        }
    }
}

/// Whether a number lies a whole number of steps from the base.
fn steps_from(def: &SequenceDef, base: Base, number: i64) -> bool {
    let apart = i128::from(number) - i128::from(base.value);
    apart % i128::from(def.increment) == 0
}

impl Judged {
    fn in_words(self, state: &State, number: i64) -> (Verdict, String) {
        let def = &state.def;
        let next = || match state.last_before(state.ordinal) {
            Some(last) => format!("the last one that was reserved is {last}"),
            None => "none was reserved".to_string(),
        };
        match self {
            Judged::OutOfBounds => (
                Verdict::Never,
                format!("the sequence has numbers from {} to {} only", def.min, def.max),
            ),
            Judged::BetweenSteps => (
                Verdict::Never,
                format!(
                    "the sequence goes in steps of {} from {} and so passes by {number}",
                    def.increment, state.base.value
                ),
            ),
            Judged::BeforeTheFirst => (
                Verdict::Never,
                format!(
                    "the sequence begins at {}, and {number} lies before that",
                    def.start
                ),
            ),
            Judged::BeforeTheMove => (
                Verdict::Possible,
                format!(
                    "the sequence was set or moved to {}: what was given out before that, by whom ever, is not recorded",
                    state.base.value
                ),
            ),
            Judged::OfThePast => (
                Verdict::Possible,
                "the sequence was changed or moved since: an earlier definition may have given it out"
                    .to_string(),
            ),
            Judged::Cycles => (
                Verdict::Possible,
                "the sequence cycles: each of its numbers comes again and again".to_string(),
            ),
            Judged::OfASet => (
                Verdict::Possible,
                "the sequence is kept in several stores, each of which has a share of its numbers"
                    .to_string(),
            ),
            Judged::Reserved => (
                Verdict::Reserved,
                format!("it is reserved: {}; by whom is not remembered", next()),
            ),
            Judged::NotYet => (
                Verdict::NotYet,
                format!("the sequence has not come so far: {}", next()),
            ),
        }
    }
}
