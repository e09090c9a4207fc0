//! What people and programs see of plans and moves.

use mintage_ledger::Name;
use mintage_ledger::moves::{Driven, Goal, Move, Phase, Plan};
use mintage_ledger::source::{Counter, Fill, FillFrom, Source};
use mintage_server::moves as documents;
use serde_json::{Value, json};

use super::fill;
use crate::errors::Failure;
use crate::lines::shown;
use crate::out::Out;

/// One plan: what would be done, and what stands in its way.
pub(super) fn plan(
    source: &dyn Source,
    plan: &Plan,
    under_way: Option<&Move>,
    out: &mut Out,
) -> Result<(), Failure> {
    let place = &source.place();
    // What stands beside its original fills its tables there.
    let filled = match plan.goal {
        Some(Goal::Open { .. }) => source.fill(&plan.counter, &plan.name, &FillFrom::default()),
        _ => None,
    };
    if out.json {
        return out.json_line(&document(place, plan, filled.as_ref(), under_way));
    }
    let counter = &plan.counter;
    out.line(format!("{} -> {}", shown(&counter.key), shown(&plan.name)))?;
    let mut row = |what: &str, text: String| out.line(format!("  {what:<10} {}", shown(&text)));
    for (place, counter) in parts(place, plan) {
        row("there", stands(place, counter, plan.parts.is_empty()))?;
    }
    let definition = &plan.definition;
    let cycle = if definition.cycle { ", cycle" } else { "" };
    row(
        "here",
        format!(
            "first {}, increment {}, {} to {}{cycle}",
            plan.first.map_or("-".to_string(), |first| first.to_string()),
            definition.increment,
            definition.min,
            definition.max
        ),
    )?;
    if let Some(record) = under_way {
        row(
            "under way",
            format!("move {} is {}", record.id, record.phase.as_str()),
        )?;
    }
    if !plan.statements.is_empty() {
        row("runs", plan.statements.join("; "))?;
    }
    if let Some(filled) = &filled {
        row("then", fill::told(filled))?;
    }
    for (what, texts) in [
        ("grant", &plan.grants),
        ("note", &plan.warnings),
        ("configure", &plan.face_lines),
        ("refused", &plan.refusals),
    ] {
        for text in texts {
            row(what, text.clone())?;
        }
    }
    Ok(())
}

/// The counter with its place; each of several.
fn parts<'a>(place: &'a str, plan: &'a Plan) -> Vec<(&'a str, &'a Counter)> {
    match plan.parts.is_empty() {
        true => vec![(place, &plan.counter)],
        false => plan
            .parts
            .iter()
            .map(|(place, part)| (place.as_str(), part))
            .collect(),
    }
}

/// How a counter stands at its source; one of several also in what steps it counts.
fn stands(place: &str, counter: &Counter, is_alone: bool) -> String {
    let next = counter.mark.map_or("-".to_string(), |mark| mark.to_string());
    let highest = counter.highest();
    let highest = highest.map_or(String::new(), |highest| format!(", largest in columns {highest}"));
    let steps = match is_alone {
        true => String::new(),
        false => format!(", increment {}", counter.increment),
    };
    format!("{} at {place}, next {next}{steps}{highest}", counter.kind)
}

fn document(place: &str, plan: &Plan, filled: Option<&Fill>, under_way: Option<&Move>) -> Value {
    let text = |number: Option<i128>| number.map(|number| number.to_string());
    let definition = &plan.definition;
    let masters = plan.parts.iter().map(|(place, part)| {
        json!({"source": place, "key": part.key, "mark": text(part.mark), "increment": part.increment.to_string()})
    });
    json!({
        "source": place,
        "masters": masters.collect::<Vec<_>>(),
        "kind": plan.counter.kind,
        "key": plan.counter.key,
        "name": plan.name,
        "mark": text(plan.counter.mark),
        "highest": text(plan.counter.highest()),
        "first": plan.first.map(|first| first.to_string()),
        "definition": {
            "start": definition.start.to_string(), "increment": definition.increment.to_string(),
            "min": definition.min.to_string(), "max": definition.max.to_string(), "cycle": definition.cycle,
        },
        "phase": under_way.map(|record| record.phase.as_str()),
        "statements": plan.statements,
        "fill": filled.map(fill::told),
        "grants": plan.grants,
        "warnings": plan.warnings,
        "configure": plan.face_lines,
        "refused": plan.refusals,
    })
}

/// A move that came where it should. `before` is where it stood when the command began.
pub(super) fn done(
    name: &Name,
    goal: Goal,
    before: Option<&Move>,
    driven: &Driven,
    is_into_used: bool,
    out: &mut Out,
) -> Result<(), Failure> {
    let record = &driven.now.record;
    // A move that was refused already when the command began was so for longer than this run knows.
    let was_refused = before
        .is_some_and(|before| matches!(before.phase, Phase::Fencing | Phase::Fenced | Phase::Returning));
    if out.json {
        let mut line = moved(name, record);
        let pause = driven.refused_for.filter(|_| !was_refused);
        line["refused_ms"] = json!(pause.map(|pause| pause.as_millis() as u64));
        return out.json_line(&line);
    }
    let ceiling = before
        .filter(|before| before.phase == Phase::Open)
        .and_then(|before| before.ceiling);
    let next = match (goal, record.first, record.issued) {
        (Goal::Open { ceiling: None }, ..) if ceiling.is_some() => {
            let (mark, ceiling) = (record.mark.unwrap_or_default(), ceiling.unwrap_or_default());
            // Of a source that counts in steps the mark may lie behind the ceiling.
            let is_up = record.definition.increment > 0;
            match if is_up { mark >= ceiling } else { mark <= ceiling } {
                true => ": the source had come to its ceiling".to_string(),
                false => format!(
                    ": the source stopped before {mark}; what was left below its ceiling {ceiling}, nobody gives out"
                ),
            }
        }
        (Goal::Open { .. }, ..) if is_into_used => {
            ": numbers above those of both sides come from here".to_string()
        }
        (Goal::Open { .. }, Some(first), _) => format!(": numbers from {first} on come from here"),
        (Goal::Back, _, Some(issued)) => format!(": {} above {issued}", goes_on(record)),
        (Goal::Back, ..) => format!(": {}", goes_on(record)),
        (Goal::Beside, ..) if !record.masters.is_empty() => {
            ": numbers come from here and from each of its sources".to_string()
        }
        (Goal::Beside, ..) => ": numbers come from here and from the source".to_string(),
        _ => String::new(),
    };
    // Below a ceiling the source has served all the time.
    let pause = match driven.refused_for.filter(|_| record.ceiling.is_none()) {
        Some(_) if was_refused => "; refused since an earlier run".to_string(),
        Some(pause) => format!("; refused for {} ms", pause.as_millis()),
        None => String::new(),
    };
    let was_there =
        before.is_some_and(|before| (before.phase, before.ceiling) == (record.phase, record.ceiling));
    let is = if was_there { "was already" } else { "is" };
    out.line(format!("{} {is} {goal}{next}{pause}", shown(name.as_str())))
}

/// Who gives the numbers after the way back.
fn goes_on(record: &Move) -> String {
    match (&record.back_to, record.masters.is_empty()) {
        (_, true) => "the source goes on".to_string(),
        (None, false) => "each source goes on in its own steps".to_string(),
        (Some(to), false) => format!("{to} goes on alone"),
    }
}

/// A move, as `--status` shows it.
pub(super) fn status(name: &Name, record: &Move, out: &mut Out) -> Result<(), Failure> {
    if out.json {
        return out.json_line(&moved(name, record));
    }
    let number = |what: &str, number: Option<i64>| number.map_or(String::new(), |n| format!(", {what} {n}"));
    // Beside it is a name of the configuration, else its place.
    let place = |source: &String| match source.contains(':') {
        true => source.clone(),
        false => format!("[sources.{source}]"),
    };
    let source: Vec<String> = record.counters().iter().map(|one| place(&one.source)).collect();
    let source = source.join(" and ");
    let back_to = record
        .back_to
        .as_ref()
        .map_or(String::new(), |to| format!(", back to {to} alone"));
    out.line(format!(
        "{:<10} {} <- {} {} at {}{}{}{}{back_to}",
        record.phase.as_str(),
        shown(name.as_str()),
        record.kind,
        shown(&record.key),
        shown(&source),
        number("ceiling", record.ceiling),
        number("first", record.first),
        number("issued", record.issued)
    ))
}

fn moved(name: &Name, record: &Move) -> Value {
    json!({"name": name.to_string(), "move": documents::record(record)})
}
