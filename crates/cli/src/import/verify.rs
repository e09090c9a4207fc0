//! `mint import --verify`: whether both sides are as a move left them.

use mintage_ledger::Name;
use mintage_ledger::moves::{Master, Move, Ours, Phase, VersionedMove, wrong_at};
use mintage_ledger::source::SourceError;

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
    Ok(wrong_at(record, of, &counter, &fence, reserved))
}
