//! `mint import --verify`: whether both sides are as a move left them.

use mintage_ledger::Name;
use mintage_ledger::moves::{Master, Move, Ours, Phase, VersionedMove};
use mintage_ledger::source::{Counter, Fence, SourceError};

use super::targets::There;
use crate::errors::Failure;

/// What is wrong with a move that was done, at any of its counters; nothing: it is sound.
///
/// # Errors
/// One side could not be looked at.
pub(super) async fn verify(
    there: &[There],
    ours: &dyn Ours,
    name: &Name,
    now: &VersionedMove,
) -> Result<Vec<String>, Failure> {
    let record = &now.record;
    if !matches!(record.phase, Phase::Open | Phase::Beside | Phase::Returned) {
        return Ok(vec![format!(
            "the move is {}: run the same command again, which ends it",
            record.phase.as_str()
        )]);
    }
    let reserved = match record.phase {
        // The same step again changes nothing, and says how far ours has come.
        Phase::Open => {
            let stepped = ours.step(name, Some(now.version), record, false).await;
            stepped.map_err(Failure::cannot)?.reserved
        }
        _ => None,
    };
    let mut wrong = Vec::new();
    for counter in record.counters() {
        let at = there.iter().find(|there| there.is(&counter.source));
        let at = at.ok_or_else(|| Failure::cannot(format_args!("{} is not named", counter.source)))?;
        let found = of_one(at, record, &counter, reserved).await?;
        wrong.extend(found.into_iter().map(|wrong| match record.masters.is_empty() {
            true => wrong,
            false => format!("{}: {wrong}", counter.source),
        }));
    }
    Ok(wrong)
}

async fn of_one(
    at: &There,
    record: &Move,
    of: &Master,
    reserved: Option<i64>,
) -> Result<Vec<String>, Failure> {
    let cannot = |error: SourceError| Failure::cannot(&error).with_hint_if(error.fix);
    let note = of.note(record.id);
    let Some(counter) = at.source.look(&of.key).await.map_err(cannot)? else {
        return Ok(vec![format!("{} is not there any more", of.key)]);
    };
    let fence = at.source.check(&of.key, &note).await.map_err(cannot)?;
    let up = counter.increment > 0;
    Ok(match record.phase {
        Phase::Open => {
            let mut wrong = fenced(record, of, &fence);
            wrong.extend(numbers(record, of, &counter, reserved, up));
            wrong
        }
        // Another one of several went on alone.
        Phase::Returned if record.keeps_fenced(of) => fenced(record, of, &fence),
        Phase::Returned => returned(record, of, &counter, &fence, up),
        _ => match fence {
            Fence::None => Vec::new(),
            _ => vec![format!("a fence stands at {}, which should serve", of.key)],
        },
    })
}

fn fenced(record: &Move, of: &Master, fence: &Fence) -> Vec<String> {
    let key = &of.key;
    match fence {
        Fence::Ours { id, .. } if id.is_some_and(|id| id != of.fenced_by.unwrap_or(record.id)) => {
            vec![format!("the fence of {key} is that of another move")]
        }
        Fence::Ours { mark, .. } if of.mark.is_some_and(|known| *mark != known.into()) => vec![format!(
            "the fence of {key} lies at {mark}, and was built at {}",
            of.mark.unwrap_or_default()
        )],
        Fence::Ours { .. } => Vec::new(),
        Fence::Broken { why, .. } => vec![format!("the fence of {key} does not hold: {why}")],
        Fence::None => vec![format!(
            "no fence stands at {key}: the source may give out our numbers"
        )],
    }
}

fn numbers(record: &Move, of: &Master, counter: &Counter, reserved: Option<i64>, up: bool) -> Vec<String> {
    let is_beyond = |a: i128, b: i128| if up { a > b } else { a < b };
    let mut wrong = Vec::new();
    let (mark, first) = (of.mark.map(i128::from), record.first.map(i128::from));
    if let (Some(mark), Some(first)) = (mark, first)
        && is_beyond(mark, first)
    {
        wrong.push(format!("ours began at {first}, before the source's mark {mark}"));
    }
    let known = [record.highest, reserved].into_iter().flatten().map(i128::from);
    let known = if up { known.max() } else { known.min() };
    if let Some(highest) = counter.highest() {
        let is_ours = known.is_some_and(|known| !is_beyond(highest, known));
        let is_theirs = mark.is_some_and(|mark| is_beyond(mark, highest));
        if !is_ours && !is_theirs {
            wrong.push(format!(
                "{highest} is in a column, and neither side has given it out: somebody else writes there"
            ));
        }
    }
    wrong
}

fn returned(record: &Move, of: &Master, counter: &Counter, fence: &Fence, up: bool) -> Vec<String> {
    let key = &of.key;
    let mut wrong = Vec::new();
    if matches!(fence, Fence::Ours { id, .. } if id.is_none_or(|id| id == record.id)) {
        wrong.push(format!(
            "the fence of {key} stands though the counter was given back"
        ));
    }
    if let (Some(mark), Some(issued)) = (counter.mark, record.issued.map(i128::from))
        && (if up { mark <= issued } else { mark >= issued })
    {
        wrong.push(format!(
            "{key} goes on at {mark}, and {issued} was given out here"
        ));
    }
    wrong
}
