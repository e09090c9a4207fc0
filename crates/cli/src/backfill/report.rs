//! What a back-fill says when it is done.

use std::time::Duration;

use mintage::Timestamp;
use mintage_bulk::{BackfillFormat, BackfillOptions, DryRun, Filled};
use serde_json::{Value, json};

use crate::errors::Failure;
use crate::hints;
use crate::out::Out;
use crate::rows::thousands;

/// A back-fill that was done.
pub(super) fn filled(
    filled: &Filled,
    options: &BackfillOptions,
    took: Duration,
    out: &mut Out,
) -> Result<(), Failure> {
    if out.json {
        return match options.output {
            // Rows went there.
            mintage_bulk::Target::Stdout => Ok(()),
            mintage_bulk::Target::File(_) => out.json_line(&document(filled, options)),
        };
    }
    let seconds = took.as_secs_f64().max(0.001);
    let fresh = filled.rows + filled.kept - filled.resumed_after.unwrap_or(0);
    out.note(format!(
        "{} {} in {:.1} s, {} rows/s{}",
        thousands(filled.rows),
        if filled.rows == 1 { "row" } else { "rows" },
        seconds,
        thousands((fresh as f64 / seconds) as u64),
        span_words(filled)
    ));
    for remark in remarks(filled, options) {
        out.note(remark);
    }
    Ok(())
}

/// What a dry run found: the lines, then a sentence.
pub(super) fn dry(found: &DryRun, options: &BackfillOptions, out: &mut Out) -> Result<(), Failure> {
    match out.json {
        true => out.json_line(&dry_document(found, options))?,
        false => dry_lines(found, options, out)?,
    }
    match found.sound() {
        true => Ok(()),
        false => {
            out.flush()?;
            Err(Failure::Negative)
        }
    }
}

/// What a dry run found, as one JSON value.
fn dry_document(found: &DryRun, options: &BackfillOptions) -> Value {
    let mut document = document(&found.filled, options);
    document["troubles"] = found.troubles.into();
    document["listed"] = json!(found.listed);
    document["kinds"] = found
        .kinds
        .iter()
        .map(|kind| {
            json!({
                "what": kind.what,
                "lines": kind.lines,
                "first_line": kind.first_line,
                "hint": kind.hint.as_ref().map(hints::words),
            })
        })
        .collect();
    document["exhausted"] = json!(found.exhausted);
    document["hint"] = json!(found.hint.as_ref().map(hints::words));
    document
}

/// The lines that cannot be used, how many there are of each kind, and what that comes to.
fn dry_lines(found: &DryRun, options: &BackfillOptions, out: &mut Out) -> Result<(), Failure> {
    let name = options.input.name();
    for trouble in found.listed.iter().chain(&found.exhausted) {
        out.line(format!("{name}:{}: {}", trouble.line, printable(&trouble.what)))?;
    }
    let listed = found.listed.len() as u64;
    if found.troubles > listed {
        out.line(format!("and {} lines more", thousands(found.troubles - listed)))?;
    }
    // Where every line is of another kind, the list says it all.
    if found.troubles > found.kinds.len() as u64 {
        for kind in &found.kinds {
            let lines = if kind.lines == 1 { "line" } else { "lines" };
            out.line(format!(
                "{} {lines}: {}; the first is line {}",
                thousands(kind.lines),
                kind.what,
                kind.first_line
            ))?;
        }
    }
    let verdict = match (found.troubles, &found.exhausted) {
        (0, None) => "every row can get an id".to_string(),
        (0, Some(_)) => "a time has more rows than ids".to_string(),
        (troubles, _) => format!(
            "{} of {} rows cannot get an id",
            thousands(troubles),
            thousands(found.filled.rows + troubles)
        ),
    };
    out.line(format!("{verdict}{}", span_words(&found.filled)))?;
    for remark in remarks(&found.filled, options) {
        out.line(remark)?;
    }
    if let Some(hint) = &found.hint {
        out.note(format!("hint: {}", hints::words(hint)));
    }
    Ok(())
}

fn span_words(filled: &Filled) -> String {
    match (filled.first_ns, filled.last_ns) {
        (Some(first), Some(last)) => format!(", {} to {}", time(first), time(last)),
        _ => String::new(),
    }
}

/// What is worth a line: zones, order, rows that share a time or a key.
fn remarks(filled: &Filled, options: &BackfillOptions) -> Vec<String> {
    let mut remarks = Vec::new();
    let zones = &filled.zones;
    if zones.mixed() {
        let with: u64 = zones.offsets.iter().map(|(_, count)| count).sum();
        remarks.push(format!(
            "note: zones are mixed: {} times say theirs, {} were read in the one given (first lines {} and {})",
            thousands(with),
            thousands(zones.without),
            zones.first_with.unwrap_or_default(),
            zones.first_without.unwrap_or_default()
        ));
    } else if zones.offsets.len() > 1 {
        let offsets: Vec<String> = zones
            .offsets
            .iter()
            .map(|(seconds, count)| format!("{} {}", offset(*seconds), thousands(*count)))
            .collect();
        remarks.push(format!(
            "note: times have several offsets: {}",
            offsets.join(", ")
        ));
    }
    if let Some(line) = filled.out_of_order {
        remarks.push(format!(
            "note: rows are not in order from line {line} on; they were sorted by time"
        ));
    }
    if filled.kept > 0 {
        remarks.push(format!(
            "note: {} lines could not be used and have no id; the first is line {}",
            thousands(filled.kept),
            filled.first_kept.unwrap_or_default()
        ));
    }
    if filled.same_key > 0 {
        remarks.push(format!(
            "note: {} rows have the time and key of another row; their order in the file tells them apart",
            thousands(filled.same_key)
        ));
    }
    let wide = matches!(options.format, BackfillFormat::Uuid7 | BackfillFormat::Ulid);
    if let (2.., Some(at), false) = (filled.busiest_rows, filled.busiest_ns, wide) {
        remarks.push(format!(
            "note: up to {} rows share one time ({})",
            thousands(filled.busiest_rows),
            time(at)
        ));
    }
    if let Some(row) = filled.resumed_after {
        remarks.push(format!(
            "note: went on after row {}, where an earlier run had been interrupted",
            thousands(row)
        ));
    }
    remarks
}

fn document(filled: &Filled, options: &BackfillOptions) -> Value {
    json!({
        "input": options.input.name(),
        "format": options.format.name(),
        "rows": filled.rows,
        "kept": filled.kept,
        "first_kept": filled.first_kept,
        "first": filled.first_ns.map(time),
        "last": filled.last_ns.map(time),
        "busiest": filled.busiest_ns.map(|at| json!({"rows": filled.busiest_rows, "time": time(at)})),
        "same_key": filled.same_key,
        "out_of_order": filled.out_of_order,
        "resumed_after": filled.resumed_after,
        "zones": {
            "offsets": filled.zones.offsets.iter().map(|(s, n)| (offset(*s), json!(n))).collect::<serde_json::Map<_, _>>(),
            "without": filled.zones.without,
            "mixed": filled.zones.mixed(),
        },
        "output_bytes": filled.output_bytes,
    })
}

fn time(nanos: i128) -> String {
    Timestamp::from_unix_nanos(nanos).to_string()
}

fn offset(seconds: i32) -> String {
    match seconds {
        0 => "Z".into(),
        _ => {
            let sign = if seconds < 0 { '-' } else { '+' };
            let minutes = seconds.unsigned_abs() / 60;
            format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60)
        }
    }
}

/// What came from the file must not drive the terminal.
fn printable(text: &str) -> String {
    mintage::Plain(text).to_string()
}
