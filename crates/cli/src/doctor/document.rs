//! What `--json` prints: a document a counter, and one last that sums up.

use std::time::Duration;

use mintage::Timestamp;
use mintage_ledger::doctor::{Examined, Report, Went};
use mintage_ledger::source::{ColumnUse, Fence, Finding};
use mintage_wire::shown;
use serde::Serialize;

use super::table::{Counts, kind_word};
use crate::errors::Failure;
use crate::out::Out;

const DAY_S: f64 = 86_400.0;

/// One counter. Numbers are texts: they may exceed what JavaScript holds.
#[derive(Serialize)]
struct CounterDocument<'a> {
    source: &'a str,
    place: &'a str,
    at: String,
    name: &'a str,
    kind: &'a str,
    columns: Vec<ColumnDocument<'a>>,
    #[serde(rename = "type")]
    type_name: &'a str,
    mark: Option<String>,
    increment: String,
    min: String,
    max: String,
    cache: Option<String>,
    cycle: bool,
    fence: Option<FenceDocument>,
    rate_per_s: Option<f64>,
    ends: Vec<EndDocument<'a>>,
    findings: Vec<FindingDocument<'a>>,
}

#[derive(Serialize)]
struct ColumnDocument<'a> {
    table: &'a str,
    column: &'a str,
    #[serde(rename = "type")]
    type_name: &'a str,
    max: Option<String>,
    unique: bool,
    how: &'static str,
}

#[derive(Serialize)]
struct FenceDocument {
    #[serde(rename = "move")]
    id: Option<String>,
    mark: Option<String>,
}

#[derive(Serialize)]
struct EndDocument<'a> {
    limit: &'a str,
    column: Option<&'a str>,
    last: String,
    used: f64,
    at: Option<String>,
    days: Option<f64>,
}

#[derive(Serialize)]
struct FindingDocument<'a> {
    code: &'static str,
    severity: &'static str,
    text: &'a str,
    fix: Option<&'a str>,
}

/// The last line.
#[derive(Serialize)]
struct Summary<'a> {
    at: Option<String>,
    counters: usize,
    errors: usize,
    warnings: usize,
    notes: usize,
    partial: bool,
    places: Vec<PlaceDocument<'a>>,
}

#[derive(Serialize)]
struct PlaceDocument<'a> {
    place: &'a str,
    at: String,
    counters: usize,
    findings: Vec<FindingDocument<'a>>,
    failed: &'a [String],
}

pub(super) fn print(reports: &[Report], out: &mut Out) -> Result<(), Failure> {
    for report in reports {
        for one in &report.counters {
            out.json_line(&counter(report, one))?;
        }
    }
    let counts = Counts::of(reports);
    let place = |report| place(report);
    out.json_line(&Summary {
        at: reports.iter().map(|report| report.at).min().map(shown),
        counters: counts.counters,
        errors: counts.errors,
        warnings: counts.warnings,
        notes: counts.notes,
        partial: reports.iter().any(|report| !report.failed.is_empty()),
        places: reports.iter().map(place).collect(),
    })
}

fn place(report: &Report) -> PlaceDocument<'_> {
    PlaceDocument {
        place: &report.place,
        at: shown(report.at),
        counters: report.counters.len(),
        findings: report.findings.iter().map(finding).collect(),
        failed: &report.failed,
    }
}

fn counter<'a>(report: &'a Report, one: &'a Examined) -> CounterDocument<'a> {
    let counter = &one.counter;
    CounterDocument {
        source: counter.kind,
        place: &report.place,
        at: shown(report.at),
        name: &counter.key,
        kind: kind_word(counter.kind),
        columns: counter.columns.iter().map(column).collect(),
        type_name: &counter.type_name,
        mark: counter.mark.map(|mark| mark.to_string()),
        increment: counter.increment.to_string(),
        min: counter.min.to_string(),
        max: counter.max.to_string(),
        cache: counter.cache.map(|cache| cache.to_string()),
        cycle: counter.cycle,
        fence: fence(&counter.fence),
        rate_per_s: match one.went {
            Went::On(pace) => Some(pace.per_s),
            _ => None,
        },
        ends: one.ends.iter().map(|end| end_document(report.at, end)).collect(),
        findings: one.findings.iter().map(finding).collect(),
    }
}

fn column(column: &ColumnUse) -> ColumnDocument<'_> {
    ColumnDocument {
        table: &column.table,
        column: &column.column,
        type_name: &column.type_name,
        max: column.highest.map(|highest| highest.to_string()),
        unique: column.unique,
        how: column.how.as_str(),
    }
}

fn fence(fence: &Fence) -> Option<FenceDocument> {
    let text = |id: &Option<_>| id.as_ref().map(ToString::to_string);
    match fence {
        Fence::None => None,
        Fence::Ours { id, mark } => Some(FenceDocument {
            id: text(id),
            mark: Some(mark.to_string()),
        }),
        Fence::Broken { id, .. } => Some(FenceDocument {
            id: text(id),
            mark: None,
        }),
    }
}

fn end_document(seen: Timestamp, end: &mintage_ledger::doctor::End) -> EndDocument<'_> {
    let rounded = |number: f64, places: f64| (number * places).round() / places;
    let whole_seconds = |left: Duration| Duration::from_secs(left.as_secs());
    EndDocument {
        limit: &end.limit,
        column: end.column.as_deref(),
        last: end.last.to_string(),
        used: rounded(end.used, 1e6),
        at: end.left.map(|left| {
            let seen = Timestamp::from_unix_millis(seen.unix_millis() / 1000 * 1000);
            shown(seen.saturating_add(whole_seconds(left)))
        }),
        days: end.left.map(|left| rounded(left.as_secs_f64() / DAY_S, 10.0)),
    }
}

fn finding(finding: &Finding) -> FindingDocument<'_> {
    FindingDocument {
        code: finding.code.as_str(),
        severity: finding.severity.as_str(),
        text: &finding.text,
        fix: finding.fix.as_deref(),
    }
}
