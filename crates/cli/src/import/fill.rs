//! `--fill`: a script that lets tables go on filling their columns by themselves, or one that takes that back.

use mintage_ledger::moves::{Goal, OursError, Phase};
use mintage_ledger::source::{Counter, Fill, FillFrom};
use serde_json::json;

use super::targets::{self, Target, There};
use crate::errors::Failure;
use crate::lines::shown;
use crate::out::Out;

/// What a plan says of it.
pub(super) fn told(fill: &Fill) -> String {
    match fill {
        Fill::ByItself(_) => {
            "the table fills the column by itself: run the SQL of --fill after the move".into()
        }
        Fill::Named { why, before } if before.is_empty() => format!("inserts must name the id: {why}"),
        Fill::Named { why, .. } => {
            format!("inserts must name the id: {why}, unless the SQL of --fill is run before the move")
        }
    }
}

/// Prints the script of every counter that is meant, as the client program of its database reads it; fails where a table
/// cannot fill itself.
pub(super) async fn scripts(targets: &[Target], from: &FillFrom, out: &mut Out) -> Result<(), Failure> {
    let mut is_whole = true;
    for target in targets {
        let name = match &target.name {
            Ok(name) if target.is_possible() => name.as_str(),
            other => {
                is_whole = false;
                let refusals = target.plan.iter().flat_map(|plan| plan.refusals.iter().cloned());
                let why: Vec<_> = other
                    .as_ref()
                    .err()
                    .cloned()
                    .into_iter()
                    .chain(refusals)
                    .collect();
                out.note(format!("{}: {}", shown(&target.planned.key), why.join("; ")));
                continue;
            }
        };
        for (there, counter) in counters(target).await? {
            is_whole &= script(target, there, &counter, name, from, out)?;
        }
    }
    out.flush()?;
    match is_whole {
        true => Ok(()),
        false => Err(Failure::Negative),
    }
}

/// Its counter as its source shows it now; each of several.
async fn counters(target: &Target) -> Result<Vec<(&There, Counter)>, Failure> {
    let mut all = Vec::new();
    for known in target.planned.counters() {
        let Some(there) = target.there.iter().find(|there| there.is(&known.source)) else {
            continue;
        };
        let looked = there.source.look(&known.key).await;
        let counter = looked.map_err(|error| {
            targets::ours_failed(OursError::Refused {
                message: error.to_string(),
                hint: error.fix,
            })
        })?;
        all.extend(counter.map(|counter| (there, counter)));
    }
    Ok(all)
}

/// Whether numbers come from here, so that a table can be filled from here.
fn gives_numbers(target: &Target) -> bool {
    let record = target.under_way.as_ref();
    record.is_some_and(|record| record.phase == Phase::Open)
}

fn too_early(target: &Target) -> String {
    match &target.under_way {
        Some(record) => format!(
            "nothing to run yet: the move is {}; finish it, then ask again for the SQL",
            record.phase.as_str()
        ),
        None => {
            "nothing to run yet: the counter is not here; move it with --apply, then ask again for the SQL"
                .into()
        }
    }
}

/// One script; whether inserts need not name the id after it.
fn script(
    target: &Target,
    there: &There,
    counter: &Counter,
    name: &str,
    from: &FillFrom,
    out: &mut Out,
) -> Result<bool, Failure> {
    let (statements, why) = match target.goal {
        Some(Goal::Back) => (there.source.unfill(counter, name), None),
        _ => match there.source.fill(counter, name, from) {
            Some(fill @ Fill::Named { .. }) => (fill.before().to_vec(), Some(told(&fill))),
            Some(Fill::ByItself(statements)) if gives_numbers(target) => (statements, None),
            Some(Fill::ByItself(_)) => (Vec::new(), Some(too_early(target))),
            None => {
                let nowhere = "no column is known that draws from it";
                out.note(format!("{}: {nowhere}", shown(&counter.key)));
                return Ok(true);
            }
        },
    };
    let is_whole = why.is_none();
    if out.json {
        let place = there.source.place();
        out.json_line(&json!({
            "source": place, "key": counter.key, "name": name, "statements": statements, "note": why,
        }))?;
        return Ok(is_whole);
    }
    let place = there.source.place();
    out.line(format!(
        "-- {} at {} -> {}",
        shown(&counter.key),
        shown(&place),
        shown(name)
    ))?;
    if let Some(why) = why {
        out.line(format!("-- {}", shown(&why)))?;
    }
    for statement in statements {
        out.line(format!("{statement};"))?;
    }
    Ok(is_whole)
}
