//! Documents of moves, as records of the ledger and back.

use mintage_ledger::Name;
use mintage_ledger::moves::{Definition, Master, Move, OursError, Phase, Stepped, VersionedMove};
use mintage_ledger::source::{MoveId, OwnTable};
use mintage_wire::{self as wire, Quoted};

use crate::error::{Code, ServiceError};
use crate::requests::invalid;
use crate::service::Answer;

/// A move as a document.
pub fn versioned(name: &Name, now: &VersionedMove) -> wire::VersionedMove {
    wire::VersionedMove {
        name: name.to_string(),
        version: Quoted(now.version),
        record: record(&now.record),
    }
}

/// What a step came to, as a document.
pub fn stepped(name: &Name, stepped: &Stepped) -> wire::SteppedMove {
    wire::SteppedMove {
        now: versioned(name, &stepped.now),
        pending: stepped.pending.clone(),
        reserved: stepped.reserved.map(Quoted),
    }
}

/// The record of a move as a document.
///
/// ```
/// use mintage_ledger::{moves::{Definition, Master, Move, Phase}, source::MoveId};
/// use mintage_server::moves;
/// let definition = Definition { start: 1, increment: 1, min: 1, max: i64::MAX, cycle: false };
/// let id: MoveId = "0123456789abcdef0123456789abcdef".parse().unwrap();
/// let record = Move {
///     id, former: vec![], phase: Phase::Fenced, ceiling: None, source: "redis://db".into(), kind: "redis".into(),
///     key: "orders".into(), table: None, masters: vec![], back_to: None, definition, before: Default::default(), advance: 5, take: None,
///     mark: Some(90), first: Some(95), highest: None, issued: None, at_ms: 7,
/// };
/// let document = moves::record(&record);
/// assert_eq!(document.first.map(|first| first.0), Some(95));
/// assert_eq!(moves::read_record(document).unwrap(), record);
/// let master = |source: &str| Master {
///     source: source.into(), key: "orders".into(), increment: 2, one: 7, before: Default::default(), mark: Some(9),
///     fenced_by: Some(id),
/// };
/// let several = Move { masters: vec![master("redis://a"), master("redis://b")], back_to: Some("redis://b".into()), ..record };
/// assert_eq!(moves::read_record(moves::record(&several)).unwrap(), several);
/// ```
pub fn record(record: &Move) -> wire::Move {
    let Definition {
        start,
        increment,
        min,
        max,
        cycle,
    } = record.definition;
    wire::Move {
        id: record.id.to_string(),
        former: record.former.iter().map(MoveId::to_string).collect(),
        phase: record.phase.as_str().into(),
        ceiling: record.ceiling.map(Quoted),
        source: record.source.clone(),
        kind: record.kind.clone(),
        key: record.key.clone(),
        table: record.table.as_ref().map(|own| wire::MoveTable {
            table: own.table.clone(),
            key_column: own.key_column.clone(),
            value_column: own.value_column.clone(),
            is_next: own.is_next,
            condition: own.condition.clone(),
        }),
        masters: record.masters.iter().map(master).collect(),
        back_to: record.back_to.clone(),
        definition: wire::MoveDefinition {
            start: Quoted(start),
            increment: Quoted(increment),
            min: Quoted(min),
            max: Quoted(max),
            cycle,
        },
        before: record.before.clone(),
        advance: (record.advance > 0).then_some(Quoted(record.advance)),
        take: record.take.map(Quoted),
        mark: record.mark.map(Quoted),
        first: record.first.map(Quoted),
        highest: record.highest.map(Quoted),
        issued: record.issued.map(Quoted),
        at_ms: record.at_ms,
    }
}

fn master(of: &Master) -> wire::MoveMaster {
    wire::MoveMaster {
        source: of.source.clone(),
        key: of.key.clone(),
        increment: Quoted(of.increment),
        one: Quoted(of.one),
        before: of.before.clone(),
        mark: of.mark.map(Quoted),
        fenced_by: of.fenced_by.as_ref().map(MoveId::to_string),
    }
}

fn read_master(document: wire::MoveMaster) -> Answer<Master> {
    let fenced_by = document.fenced_by.map(|id| id.parse().map_err(invalid));
    Ok(Master {
        source: document.source,
        key: document.key,
        increment: document.increment.0,
        one: document.one.0,
        before: document.before,
        mark: document.mark.map(|n| n.0),
        fenced_by: fenced_by.transpose()?,
    })
}

/// The record that a document says.
///
/// # Errors
/// [`Code::InvalidArgument`]: an id that is none, or a phase that does not exist.
pub fn read_record(document: wire::Move) -> Answer<Move> {
    let id = |text: &String| text.parse::<MoveId>().map_err(invalid);
    let definition = document.definition;
    Ok(Move {
        id: id(&document.id)?,
        former: document.former.iter().map(id).collect::<Answer<_>>()?,
        phase: phase(&document.phase)?,
        ceiling: document.ceiling.map(|n| n.0),
        source: document.source,
        kind: document.kind,
        key: document.key,
        table: document.table.map(|own| OwnTable {
            table: own.table,
            key_column: own.key_column,
            value_column: own.value_column,
            is_next: own.is_next,
            condition: own.condition,
        }),
        masters: document
            .masters
            .into_iter()
            .map(read_master)
            .collect::<Answer<_>>()?,
        back_to: document.back_to,
        definition: Definition {
            start: definition.start.0,
            increment: definition.increment.0,
            min: definition.min.0,
            max: definition.max.0,
            cycle: definition.cycle,
        },
        before: document.before,
        advance: document.advance.map_or(0, |n| n.0),
        take: document.take.map(|n| n.0),
        mark: document.mark.map(|n| n.0),
        first: document.first.map(|n| n.0),
        highest: document.highest.map(|n| n.0),
        issued: document.issued.map(|n| n.0),
        at_ms: document.at_ms,
    })
}

fn phase(word: &str) -> Answer<Phase> {
    const ALL: [Phase; 7] = [
        Phase::Planned,
        Phase::Beside,
        Phase::Fencing,
        Phase::Fenced,
        Phase::Open,
        Phase::Returning,
        Phase::Returned,
    ];
    let found = ALL.into_iter().find(|phase| phase.as_str() == word);
    found.ok_or_else(|| {
        let words = ALL.map(Phase::as_str).join(", ");
        invalid(format!("phase {word:?} does not exist; there are {words}"))
    })
}

/// What our side's refusal is called towards clients. One that was lost is no refusal: it is told with what is there.
pub fn refusal(error: OursError) -> ServiceError {
    let message = error.to_string();
    match error {
        OursError::Lost(_) => ServiceError::new(Code::Conflict, message),
        OursError::InUse(_) => ServiceError::new(Code::Exists, message).with_hint(
            "take another name, or `into_used`, which sets this one forward if the definition fits",
        ),
        OursError::Refused { hint: None, .. } => ServiceError::new(Code::InvalidArgument, message),
        OursError::Refused { hint: Some(hint), .. } => ServiceError::new(Code::Unavailable, message)
            .with_hint(hint)
            .with_retry_after_s(1),
    }
}
