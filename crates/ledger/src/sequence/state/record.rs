//! A sequence's record as bytes.

use mintage::{Base, SequenceDef};
use serde::{Deserialize, Serialize};

use super::State;
use crate::error::LedgerError;
use crate::name::Name;
use crate::sequence::passage::Passage;
use crate::sequence::spec::{Gap, SequenceSpec};
use crate::store::{Outcome, StoreError, StoreErrorKind, Value, Version, Versioned};
use crate::striped::Placed;

/// The stored body. Numbers are plain JSON integers.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
    start: i64,
    increment: i64,
    min: i64,
    max: i64,
    cycle: bool,
    gap: Gap,
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    elsewhere: Option<(i64, i64)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    repeatable: Option<(i64, i64)>,
    /// Hexadecimal.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    landed: Vec<(String, String)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    passage: Option<Passage>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct BaseBody {
    value: i64,
    is_called: bool,
    ordinal: u64,
}

impl State {
    /// Reads a stored record.
    pub(crate) fn read(name: &Name, found: &Versioned) -> Result<State, LedgerError> {
        let damaged = |why: String| {
            LedgerError::Stopped(
                StoreError::new(
                    StoreErrorKind::Corrupt,
                    Outcome::NotDone,
                    format!("the record of sequence {name} cannot be understood: {why}"),
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
            gap: body.gap,
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
            elsewhere: body.elsewhere,
            repeatable: body.repeatable,
            landed: body.landed.iter().filter_map(from_hex).collect(),
            passage: body.passage.map(Box::new),
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
        let fresh = State::fresh(&SequenceSpec::default(), 0).expect("the defaults are valid");
        let mark = i64::try_from(found.value.mark).unwrap_or(i64::MAX);
        State {
            // With a mark of 0 none was issued, not even 0.
            base: Base {
                value: mark.max(1),
                is_called: mark > 0,
            },
            base_ordinal: found.value.mark,
            ordinal: found.value.mark,
            dropped: true,
            unknown: true,
            past: (mark > 0).then_some((1, mark)),
            version: Some(found.version),
            ..fresh
        }
    }

    /// The record to store.
    pub(crate) fn write(&self, token: u128) -> Value {
        let body = Body {
            start: self.def.start,
            increment: self.def.increment,
            min: self.def.min,
            max: self.def.max,
            cycle: self.def.cycle,
            gap: self.gap,
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
            elsewhere: self.elsewhere,
            repeatable: self.repeatable,
            landed: self.landed.iter().map(to_hex).collect(),
            passage: self.passage.as_deref().cloned(),
        };
        let body = serde_json::to_string(&body).expect("plain fields always serialise");
        Value {
            mark: self.ordinal,
            token,
            body,
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
}

/// So many processes can use a gap-free name of a shared store at a time and learn of every claim what became of it.
const LANDED_MAX: usize = 16;

fn to_hex((instance, token): &(u128, u128)) -> (String, String) {
    (format!("{instance:032x}"), format!("{token:032x}"))
}

fn from_hex((instance, token): &(String, String)) -> Option<(u128, u128)> {
    let number = |text: &str| u128::from_str_radix(text, 16).ok();
    Some((number(instance)?, number(token)?))
}
