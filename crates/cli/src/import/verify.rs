//! `mint import --verify`: whether both sides are as a move left them.

use mintage_ledger::Name;
use mintage_ledger::moves::{Move, Ours, Phase, VersionedMove};
use mintage_ledger::source::{Counter, Fence, Note, Source, SourceError};

use crate::errors::Failure;

/// What is wrong with a move that was done; nothing: it is sound.
///
/// # Errors
/// One side could not be looked at.
pub(super) async fn verify(
    source: &dyn Source,
    ours: &dyn Ours,
    name: &Name,
    now: &VersionedMove,
) -> Result<Vec<String>, Failure> {
    let record = &now.record;
    let cannot = |error: SourceError| Failure::cannot(&error).with_hint_if(error.fix);
    let note = Note {
        id: record.id,
        before: record.before.clone(),
        mark: record.mark.map(i128::from),
    };
    let Some(counter) = source.look(&record.key).await.map_err(cannot)? else {
        return Ok(vec![format!("{} is not there any more", record.key)]);
    };
    let fence = source.check(&record.key, &note).await.map_err(cannot)?;
    let up = counter.increment > 0;
    match record.phase {
        Phase::Open => {
            // The same step again changes nothing, and says how far ours has come.
            let stepped = ours.step(name, Some(now.version), record, false).await;
            let reserved = stepped.map_err(Failure::cannot)?.reserved;
            let mut wrong = fenced(record, &fence);
            wrong.extend(numbers(record, &counter, reserved, up));
            Ok(wrong)
        }
        Phase::Returned => Ok(returned(record, &counter, &fence, up)),
        Phase::Beside => Ok(match fence {
            Fence::None => Vec::new(),
            _ => vec![format!("a fence stands at {}, which should serve", record.key)],
        }),
        phase => Ok(vec![format!(
            "the move is {}: run the same command again, which ends it",
            phase.as_str()
        )]),
    }
}

fn fenced(record: &Move, fence: &Fence) -> Vec<String> {
    let key = &record.key;
    match fence {
        Fence::Ours { id, .. } if id.is_some_and(|id| id != record.id) => {
            vec![format!("the fence of {key} is that of another move")]
        }
        Fence::Ours { mark, .. } if record.mark.is_some_and(|known| *mark != known.into()) => vec![format!(
            "the fence of {key} lies at {mark}, and was built at {}",
            record.mark.unwrap_or_default()
        )],
        Fence::Ours { .. } => Vec::new(),
        Fence::Broken { why, .. } => vec![format!("the fence of {key} does not hold: {why}")],
        Fence::None => vec![format!(
            "no fence stands at {key}: the source may give out our numbers"
        )],
    }
}

fn numbers(record: &Move, counter: &Counter, reserved: Option<i64>, up: bool) -> Vec<String> {
    let is_beyond = |a: i128, b: i128| if up { a > b } else { a < b };
    let mut wrong = Vec::new();
    let (mark, first) = (record.mark.map(i128::from), record.first.map(i128::from));
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

fn returned(record: &Move, counter: &Counter, fence: &Fence, up: bool) -> Vec<String> {
    let key = &record.key;
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
