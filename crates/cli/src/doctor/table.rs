//! What people see: a row a counter, then what mends them.

use mintage_ledger::doctor::{Examined, Report, Went, date, pace_words, plain_type};
use mintage_ledger::source::{Fence, Finding, How, Severity};

use super::script::ended;
use crate::errors::Failure;
use crate::lines::shown;
use crate::out::Out;

/// How many columns a table has.
const COLUMNS: usize = 8;

const HEAD: [&str; COLUMNS] = [
    "counter",
    "column",
    "mark",
    "max(column)",
    "type",
    "rate/s",
    "ends",
    "verdict",
];

/// What is wider than this moves what follows in its row only.
const WIDTH_MAX: usize = 40;

/// The findings of a look, counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Counts {
    pub(super) counters: usize,
    pub(super) errors: usize,
    pub(super) warnings: usize,
    pub(super) notes: usize,
}

impl Counts {
    pub(super) fn of(reports: &[Report]) -> Counts {
        let mut counts = Counts::default();
        for report in reports {
            counts.counters += report.counters.len();
            for finding in report.findings() {
                match finding.severity {
                    Severity::Error => counts.errors += 1,
                    Severity::Warn => counts.warnings += 1,
                    Severity::Info => counts.notes += 1,
                }
            }
        }
        counts
    }
}

/// What a kind of counter is, in a word.
pub(super) fn kind_word(kind: &str) -> &'static str {
    match kind {
        "postgres" | "mariadb" => "sequence",
        "auto_increment" => "auto_increment",
        "tickets" => "table",
        "redis" => "key",
        kind if kind.ends_with("-workers") => "workers",
        _ => "row",
    }
}

pub(super) fn print(reports: &[Report], is_watched: bool, out: &mut Out) -> Result<(), Failure> {
    for (at, report) in reports.iter().enumerate() {
        if reports.len() > 1 {
            if at > 0 {
                out.line("")?;
            }
            out.line(shown(&report.place).as_ref())?;
        }
        rows(report, is_watched, out)?;
    }
    let counts = Counts::of(reports);
    out.line(sum(counts, out.verbose))?;
    for report in reports {
        fixes(report, out)?;
    }
    Ok(())
}

type Row = [String; COLUMNS];

fn rows(report: &Report, is_watched: bool, out: &mut Out) -> Result<(), Failure> {
    if report.counters.is_empty() && report.findings.is_empty() {
        // What could not be looked at is told at the end.
        if report.failed.is_empty() {
            out.line("no counters")?;
        }
        return Ok(());
    }
    // Made twice rather than kept: a million keys of Redis are a million rows.
    let mut widths = [0; COLUMNS];
    each_row(report, is_watched, out.verbose, |row| {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count().min(WIDTH_MAX));
        }
        Ok(())
    })?;
    each_row(report, is_watched, out.verbose, |row| {
        let mut line = String::new();
        for (width, cell) in widths.iter().zip(row) {
            line += &format!("{cell:width$}  ");
        }
        out.line(line.trim_end())
    })
}

fn each_row(
    report: &Report,
    is_watched: bool,
    has_notes: bool,
    mut show: impl FnMut(&Row) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let counters = &report.counters;
    let has_kinds = counters
        .windows(2)
        .any(|two| two[0].counter.kind != two[1].counter.kind);
    show(&HEAD.map(String::from))?;
    for one in counters {
        show(&row(one, report, has_kinds, is_watched))?;
        for further in further(&one.findings, 1, has_notes) {
            show(&further)?;
        }
    }
    if let Some(first) = report.findings.first() {
        let mut of_place = Row::default();
        of_place[0] = "the server".into();
        of_place[COLUMNS - 1] = verdict(first);
        show(&of_place)?;
        for further in further(&report.findings, 1, true) {
            show(&further)?;
        }
    }
    Ok(())
}

/// The findings behind the first, a row each; those worth knowing only where more is asked for.
fn further(findings: &[Finding], shown_before: usize, has_notes: bool) -> impl Iterator<Item = Row> {
    let first_is_note = findings
        .first()
        .is_some_and(|finding| finding.severity == Severity::Info);
    let skipped = if first_is_note { 0 } else { shown_before };
    let wanted = move |finding: &&Finding| has_notes || finding.severity > Severity::Info;
    findings.iter().skip(skipped).filter(wanted).map(|finding| {
        let mut row = Row::default();
        row[COLUMNS - 1] = verdict(finding);
        row
    })
}

fn row(one: &Examined, report: &Report, has_kinds: bool, is_watched: bool) -> Row {
    let counter = &one.counter;
    let kind = if has_kinds {
        format!(" ({})", counter.kind)
    } else {
        String::new()
    };
    let nearest = one.ends.first();
    let hard = one.ends.iter().find(|end| end.left.is_some()).or(nearest);
    let column_type = counter.columns.first().map(|column| column.type_name.as_str());
    let type_name = hard
        .filter(|end| end.column.is_some())
        .map(|end| end.limit.as_str())
        .or(column_type)
        .unwrap_or(&counter.type_name);
    let ends = match hard.and_then(|end| Some((end, end.left?))) {
        Some((end, _)) if end.is_reached() => format!("ended ({})", end.limit),
        Some((end, left)) => format!("{} ({})", date(report.at.saturating_add(left)), end.limit),
        None => "-".to_string(),
    };
    [
        format!("{}{kind}", shown(&counter.key)),
        column_cell(one),
        counter.mark.map_or("?".to_string(), |mark| mark.to_string()),
        counter
            .highest()
            .map_or("-".to_string(), |highest| highest.to_string()),
        shown(&plain_type(type_name)).into_owned(),
        match one.went {
            Went::On(pace) => pace_words(pace.per_s),
            _ => "-".to_string(),
        },
        ends,
        first_verdict(one, is_watched),
    ]
}

/// Where its numbers go. A schema that the counter is in, too, is left out.
fn column_cell(one: &Examined) -> String {
    let counter = &one.counter;
    let Some(column) = counter.columns.first() else {
        let is_known = counter.kind == "postgres";
        return if is_known { "none" } else { "-" }.to_string();
    };
    let schema = counter.key.split('.').next().unwrap_or_default();
    let table = match column.table.split_once('.') {
        Some((of, table)) if of == schema => table,
        _ => &column.table,
    };
    let how = if column.how == How::Default {
        "(default) "
    } else {
        ""
    };
    let more = match counter.columns.len() {
        1 => String::new(),
        many => format!(" +{}", many - 1),
    };
    format!("{how}{}.{}{more}", shown(table), shown(&column.column))
}

fn first_verdict(one: &Examined, is_watched: bool) -> String {
    let stands = matches!(one.went, Went::On(pace) if pace.distance_per_s == 0.0);
    match one.worst() {
        Some(finding) if finding.severity > Severity::Info => verdict(finding),
        _ if matches!(one.counter.fence, Fence::Ours { .. }) => "ok, moved to mint".to_string(),
        // Most integers in Redis count nothing.
        _ if is_watched && stands && one.counter.kind == "redis" => "integer, did not move".to_string(),
        _ => "ok".to_string(),
    }
}

/// A finding in one line: the part before the first semicolon says what is wrong, what follows why.
fn verdict(finding: &Finding) -> String {
    let text = finding.text.split("; ").next().unwrap_or_default();
    let code = finding.code.as_str();
    let severity = match finding.severity {
        Severity::Error => "ERROR",
        Severity::Warn => "WARN",
        Severity::Info => "info",
    };
    let is_named = text.starts_with(code) || text.starts_with("ended");
    match is_named {
        true => format!("{severity} {}", shown(text)),
        false => format!("{severity} {code}: {}", shown(text)),
    }
}

fn sum(counts: Counts, has_notes: bool) -> String {
    let many = |number: usize, thing: &str| match number {
        1 => format!("1 {thing}"),
        number => format!("{number} {thing}s"),
    };
    let mut parts = vec![many(counts.counters, "counter")];
    let findings = [
        (counts.errors, "error"),
        (counts.warnings, "warning"),
        (counts.notes, "note"),
    ];
    parts.extend(
        findings
            .into_iter()
            .filter(|(number, _)| *number > 0)
            .map(|(number, thing)| many(number, thing)),
    );
    let hint = if counts.notes > 0 && !has_notes {
        " (-v shows them)"
    } else {
        ""
    };
    parts.join(", ") + hint
}

/// The statements for what is wrong; for what is worth knowing only where more is asked for.
fn fixes(report: &Report, out: &mut Out) -> Result<(), Failure> {
    let has_notes = out.verbose;
    let mut lines: Vec<(String, String)> = Vec::new();
    let mut add = |name: String, findings: &[Finding]| {
        for finding in findings {
            if let (Some(fix), true) = (&finding.fix, has_notes || finding.severity > Severity::Info) {
                let line = (
                    name.clone(),
                    shown(&ended_if_sql(&report.place, fix)).into_owned(),
                );
                if lines.last() != Some(&line) {
                    lines.push(line);
                }
            }
        }
    };
    for one in &report.counters {
        add(shown(&one.counter.key).into_owned(), &one.findings);
    }
    add("the server".to_string(), &report.findings);
    let width = lines
        .iter()
        .map(|(name, _)| name.chars().count().min(WIDTH_MAX))
        .max();
    let width = width.unwrap_or_default();
    for (name, fix) in lines {
        out.line(format!("  fix {name:width$}  {fix}"))?;
    }
    Ok(())
}

fn ended_if_sql(place: &str, fix: &str) -> String {
    match place.starts_with("redis") || place.starts_with("valkey") {
        true => fix.to_string(),
        false => ended(fix),
    }
}
