//! Which checks can be made of a pile: what cannot be judged is never called sound.

use super::report::{Fault, Report, UnreadRows, Verdict, findings};

/// Judges a pile by what should make its audit fail.
pub(super) fn judge(report: &Report, fail_on: &[Fault], unparsable: UnreadRows) -> Verdict {
    let mut verdict = Verdict::default();
    for (_, fault) in Fault::ALL.iter().filter(|(_, fault)| fail_on.contains(fault)) {
        match not_made(report, *fault) {
            Some(why) => verdict.not_judged.push((*fault, why.into())),
            None => verdict.looked_at.push(*fault),
        }
    }
    let passes = |fault| fault == Fault::Unreadable && unparsable.lets_pass(report);
    for (fault, found) in findings(report) {
        match fail_on.contains(&fault) && !passes(fault) {
            true => verdict.faults.push((fault, found)),
            false if report.on_purpose(fault) => {}
            false => verdict.remarks.push((fault, found)),
        }
    }
    if report.ids == 0 && !passes(Fault::Unreadable) {
        let nothing = "no id was found: nothing was looked at";
        verdict.faults.push((Fault::Unreadable, nothing.into()));
    }
    verdict.sound = verdict.faults.is_empty();
    verdict
}

/// Why a check says nothing of these ids; `None` if it was made.
fn not_made(report: &Report, fault: Fault) -> Option<&'static str> {
    let some = |there: bool, why: &'static str| (!there).then_some(why);
    match fault {
        Fault::Repeats | Fault::None | Fault::Unreadable | Fault::Damaged | Fault::Mixed => None,
        Fault::Order | Fault::Gaps if report.random => Some("the numbers are random"),
        Fault::Future => some(report.times.ids > 0, "these ids have no time"),
        Fault::Order => some(report.order.compared > 0, "these ids do not sort"),
        Fault::Steps => some(report.workers.count > 0, "these ids do not tell who made them"),
        Fault::Shared => some(
            report.workers.count > 0 && report.files.len() > 1,
            "it takes two files of ids that tell who made them",
        ),
        Fault::Gaps => some(
            report.numbers.is_some() || !report.series.is_empty(),
            "they are no numbers that count: --as sequence, or --pattern with the number as its group",
        ),
        Fault::Shards => some(report.shards.is_some(), FEW),
        Fault::Ranges | Fault::Hot => some(report.ranges.is_some(), FEW),
        Fault::Hash => some(report.hash.is_some(), FEW),
    }
}

const FEW: &str = "there are too few ids: five a shard are needed";
