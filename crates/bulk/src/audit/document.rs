//! The report as a document, for programs.

use mintage::Timestamp;
use serde_json::{Value, json};

use super::{Fault, FormatSeen, Report};

/// The report as one JSON value. Integers that may pass 2^53 are strings.
///
/// ```
/// use mintage::Timestamp;
/// use mintage_bulk::{AuditOptions, RowFormat, Source, audit, document};
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("numbers");
/// std::fs::write(&path, "1\n2\n2\n")?;
/// let inputs = vec![(Source::File(path), RowFormat::Lines)];
/// let options = AuditOptions::new(inputs, Timestamp::from_unix_millis(1_800_000_000_000));
/// let document = document(&audit(&options, &mut |_| {})?);
/// assert_eq!((&document["verdict"]["sound"], &document["numbers"]["max"]), (&false.into(), &"2".into()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn document(report: &Report) -> Value {
    let mut document = json!(report);
    document["made"]["at"] = time(report.made.at_us).into();
    document["times"]["first"] = json!(report.times.first_us.map(time));
    document["times"]["last"] = json!(report.times.last_us.map(time));
    if let Some(numbers) = &report.numbers {
        document["numbers"]["min"] = numbers.min.to_string().into();
        document["numbers"]["max"] = numbers.max.to_string().into();
        document["numbers"]["step"] = numbers.step.to_string().into();
        document["numbers"]["lost"] = numbers.lost.to_string().into();
        for (at, gap) in numbers.largest.iter().enumerate() {
            document["numbers"]["largest"][at] = json!({
                "after": gap.after.to_string(),
                "before": gap.before.to_string(),
                "lost": gap.lost.to_string(),
            });
        }
    }
    // Only a plot's.
    if let Some(fields) = document.as_object_mut() {
        fields.remove("along");
    }
    let pairs = |found: &[(Fault, String)]| -> Value {
        found
            .iter()
            .map(|(fault, words)| json!({"what": fault, "words": words}))
            .collect()
    };
    document["verdict"]["faults"] = pairs(&report.verdict.faults);
    document["verdict"]["remarks"] = pairs(&report.verdict.remarks);
    document["verdict"]["not_judged"] = pairs(&report.verdict.not_judged);
    document["formats"] = report.formats.iter().map(format_document).collect();
    document
}

fn format_document(seen: &FormatSeen) -> Value {
    json!({"format": seen.format, "version": seen.version, "ids": seen.ids, "first": seen.first})
}

fn time(micros: i64) -> String {
    Timestamp::from_unix_nanos(i128::from(micros) * 1000).to_string()
}
