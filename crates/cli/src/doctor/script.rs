//! What `--fix` prints: the statements, and nothing else that runs.

use mintage_ledger::doctor::Report;
use mintage_ledger::source::{Finding, Severity};

use crate::errors::Failure;
use crate::lines::shown;
use crate::out::Out;

pub(super) fn print(reports: &[Report], out: &mut Out) -> Result<(), Failure> {
    for report in reports {
        let comment = comment_of(&report.place);
        let of_counters = report.counters.iter().flat_map(|one| {
            let findings = one.findings.iter();
            findings.map(move |finding| (one.counter.key.as_str(), finding))
        });
        let of_place = report.findings.iter();
        let of_place = of_place.map(|finding| (report.place.as_str(), finding));
        let mut is_first = true;
        let mut before = None;
        for (name, finding) in of_counters.chain(of_place) {
            let Some(fix) = &finding.fix else { continue };
            // One statement may mend two findings of a counter.
            if before.replace((name, fix)) == Some((name, fix)) {
                continue;
            }
            if let (Some(comment), true, true) = (comment, is_first, reports.len() > 1) {
                out.line(format!("{comment} {}", shown(&report.place)))?;
            }
            is_first = false;
            for line in lines(comment, name, finding, fix) {
                out.line(line)?;
            }
        }
    }
    Ok(())
}

/// What begins a comment in this place's language; the one of Redis has none.
fn comment_of(place: &str) -> Option<&'static str> {
    let is_sql = ["postgres", "mysql", "mariadb"]
        .iter()
        .any(|scheme| place.starts_with(scheme));
    is_sql.then_some("--")
}

/// The finding as a comment, then its statement. What is only worth knowing is not changed by a script.
fn lines(comment: Option<&str>, name: &str, finding: &Finding, fix: &str) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(comment) = comment {
        lines.push(format!(
            "{comment} {} {}: {}",
            finding.severity.as_str(),
            shown(name),
            shown(&finding.text)
        ));
    }
    // A name with a line's end in it is quoted in the statement, and would end a comment; with others, a reader of the script
    // sees something else than what runs.
    let is_plain = fix.chars().all(mintage::is_plain);
    match (comment, finding.severity, is_plain) {
        (_, _, false) => lines.extend(comment.map(|comment| {
            format!("{comment} its name holds characters that cannot be shown: the statement is in mint doctor --json")
        })),
        (Some(comment), Severity::Info, true) => lines.push(format!("{comment} {}", ended(fix))),
        (None, Severity::Info, true) => {}
        (Some(_), _, true) => lines.push(ended(fix)),
        // redis-cli reads a command a line.
        (None, _, true) => lines.extend(fix.split("; ").map(String::from)),
    }
    lines
}

/// A statement with its end. A comment of its own may follow that.
pub(super) fn ended(fix: &str) -> String {
    match fix.ends_with(';') || fix.contains(";  -- ") {
        true => fix.to_string(),
        false => format!("{fix};"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mintage_ledger::source::FindingCode;

    #[track_caller]
    fn check(comment: Option<&str>, severity: Severity, fix: &str, lines_wanted: &[&str]) {
        let finding = Finding {
            code: FindingCode::Cycle,
            severity,
            text: "cycle: it\nbegins".into(),
            fix: Some(fix.into()),
        };
        assert_eq!(lines(comment, "a\u{1b}b", &finding, fix), lines_wanted);
    }

    #[test]
    fn statements_end_and_names_end_no_comment() {
        let said = "-- error a\\u{1b}b: cycle: it\\nbegins";
        check(Some("--"), Severity::Error, "ALTER x", &[said, "ALTER x;"]);
        check(
            Some("--"),
            Severity::Error,
            "A; B;  -- slow",
            &[said, "A; B;  -- slow"],
        );
        let info = "-- info a\\u{1b}b: cycle: it\\nbegins";
        check(Some("--"), Severity::Info, "ALTER x", &[info, "-- ALTER x;"]);
        let not = "-- its name holds characters that cannot be shown: the statement is in mint doctor --json";
        for hidden in ['\n', '\u{9b}', '\u{202e}', '\u{200b}', '\u{2028}'] {
            check(
                Some("--"),
                Severity::Error,
                &format!("ALTER \"a{hidden}b\""),
                &[said, not],
            );
        }
        check(
            None,
            Severity::Error,
            "CONFIG SET a b; SAVE",
            &["CONFIG SET a b", "SAVE"],
        );
        check(None, Severity::Info, "CONFIG SET a b", &[]);
        check(None, Severity::Error, "DEL a\nFLUSHALL", &[]);
    }
}
