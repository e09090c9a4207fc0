//! What is wrong with one counter, from how it stands and how it went.

use std::time::Duration;

use super::ends::End;
use super::pace::Went;
use super::words::{lasting, pace_words, percent};
use crate::source::{Counter, Fence, FindingCode, How, Mend, Severity};

/// A counter with what was worked out about it.
pub(super) struct Subject<'a> {
    pub(super) counter: &'a Counter,
    pub(super) went: Went,
    pub(super) ends: &'a [End],
}

/// A finding before its source has said which statement mends it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Found {
    pub(super) code: FindingCode,
    pub(super) severity: Severity,
    pub(super) text: String,
    pub(super) mend: Option<Mend>,
}

impl Found {
    pub(super) fn new(code: FindingCode, severity: Severity, text: String) -> Found {
        Found {
            code,
            severity,
            text,
            mend: None,
        }
    }

    fn mended_by(self, mend: Mend) -> Found {
        Found {
            mend: Some(mend),
            ..self
        }
    }
}

/// The end of a counter that is nearer than this hurts now.
const ERROR_BELOW: Duration = Duration::from_secs(30 * 24 * 3600);

/// The end of a counter that is nearer than this will hurt: two years.
const WARN_BELOW: Duration = Duration::from_secs(730 * 24 * 3600);

/// Where no pace is known: the part of the way behind a counter above which it hurts, and will.
const ERROR_ABOVE: f64 = 0.95;
const WARN_ABOVE: f64 = 0.75;

/// What a server takes at a time is to last so long.
const STEP_LASTS_S: f64 = 10.0;

/// The step that is advised lasts so long.
const STEP_ADVISED_S: f64 = 60.0;

/// The kind whose readers see every column that draws from a counter, and who owns it.
const POSTGRES: &str = "postgres";

/// The kinds whose cache is what a server takes for all of its clients.
const STEPPED: &[&str] = &["leaf", "cosid", "vitess"];

type Rule = fn(&Subject<'_>, &mut Vec<Found>);

/// Each looks for one finding. Those of one that is moved are made elsewhere: the rules speak of what gives out numbers.
const RULES: &[Rule] = &[
    unreadable, behind, ends, narrow, cycle, cache, jump, unowned, orphan, small_step,
];

/// Everything that is wrong with a counter that gives out numbers.
pub(super) fn examine(subject: &Subject<'_>) -> Vec<Found> {
    let mut found = Vec::new();
    if matches!(subject.counter.fence, Fence::Ours { .. }) {
        return found;
    }
    for rule in RULES {
        rule(subject, &mut found);
    }
    found
}

fn unreadable(subject: &Subject<'_>, found: &mut Vec<Found>) {
    let counter = subject.counter;
    // What else is wrong with it may be why.
    if counter.mark.is_none() && counter.findings.is_empty() && counter.fence == Fence::None {
        let text = "unreadable: the account may not read where it stands".to_string();
        let new = Found::new(FindingCode::Unreadable, Severity::Warn, text);
        found.push(new.mended_by(Mend::Readable));
    }
}

fn behind(subject: &Subject<'_>, found: &mut Vec<Found>) {
    let counter = subject.counter;
    let Some(mark) = counter.mark else { return };
    let ascends = counter.increment >= 0;
    if let Some(highest) = counter.highest() {
        let is_behind = if ascends { mark <= highest } else { mark >= highest };
        if is_behind {
            let how = match (mark == highest, ascends) {
                (true, _) => "is there already".to_string(),
                (false, true) => format!("is below {highest}"),
                (false, false) => format!("is above {highest}"),
            };
            let text = format!(
                "behind: {mark} {how}; numbers of {} are given out again",
                columns(counter)
            );
            let new = Found::new(FindingCode::Behind, Severity::Error, text);
            found.push(new.mended_by(Mend::PastColumns));
            return;
        }
    }
    // Keys of Redis are integers that programs also set back.
    if let (Went::Back(before), false, false) = (subject.went, counter.cycle, counter.kind == "redis") {
        let text = format!(
            "behind: {mark} now, {} at {}; numbers in between are given out again",
            before.mark,
            super::words::date(before.at)
        );
        found.push(Found::new(FindingCode::Behind, Severity::Error, text));
    }
}

fn columns(counter: &Counter) -> String {
    let names: Vec<_> = counter
        .columns
        .iter()
        .map(|column| format!("{}.{}", column.table, column.column))
        .collect();
    names.join(", ")
}

fn ends(subject: &Subject<'_>, found: &mut Vec<Found>) {
    let hard = subject.ends.iter().find(|end| !end.is_of_doubles());
    if let Some(found_end) = hard.and_then(|end| end_found(subject, end)) {
        found.push(found_end);
    }
    let double = subject.ends.iter().find(|end| end.is_of_doubles());
    if let Some((end, left)) = double.and_then(|end| Some((end, end.left?))) {
        let text = format!(
            "ends in {} for programs that keep numbers as doubles; they round above {}",
            lasting(left),
            end.limit
        );
        found.push(Found::new(FindingCode::Ends, Severity::Info, text));
    }
}

fn end_found(subject: &Subject<'_>, end: &End) -> Option<Found> {
    let what = match &end.column {
        Some(column) => format!("{} of {column}", end.limit),
        None => end.limit.clone(),
    };
    let (severity, text) = match (end.left, subject.went) {
        _ if end.is_reached() => (
            Severity::Error,
            format!("ended: {what} holds at most {}", end.last),
        ),
        (Some(left), Went::On(pace)) => (
            severity_of(left),
            format!(
                "ends in {}; {what} ends at {}, at {} numbers a second",
                lasting(left),
                end.last,
                pace_words(pace.per_s)
            ),
        ),
        _ => (
            severity_of_part(end.used)?,
            format!(
                "ends: {} of {} used; {what} ends at {}",
                percent(end.used),
                end.limit,
                end.last
            ),
        ),
    };
    let new = Found::new(FindingCode::Ends, severity, text);
    let is_own_bound = end.column.is_none() && (end.limit == "max" || end.limit == "min");
    Some(match (severity, is_own_bound) {
        (Severity::Info, _) => new,
        (_, true) => new.mended_by(Mend::Unbound),
        (_, false) => new.mended_by(Mend::Widen),
    })
}

/// How bad an end is that is so far.
pub(super) fn severity_of(left: Duration) -> Severity {
    match left {
        left if left < ERROR_BELOW => Severity::Error,
        left if left < WARN_BELOW => Severity::Warn,
        _ => Severity::Info,
    }
}

/// How bad it is that so much is used, where no pace is known.
pub(super) fn severity_of_part(used: f64) -> Option<Severity> {
    match used {
        used if used > ERROR_ABOVE => Some(Severity::Error),
        used if used > WARN_ABOVE => Some(Severity::Warn),
        _ => None,
    }
}

fn narrow(subject: &Subject<'_>, found: &mut Vec<Found>) {
    let counter = subject.counter;
    let ascends = counter.increment >= 0;
    let narrower = counter.columns.iter().find(|column| match ascends {
        true => column.max < counter.max,
        false => column.min > counter.min,
    });
    if let Some(column) = narrower {
        let (column_end, end) = match ascends {
            true => (column.max, counter.max),
            false => (column.min, counter.min),
        };
        let text = format!(
            "narrow: {}.{} is {} and ends at {column_end}; the counter goes on to {end}",
            column.table, column.column, column.type_name
        );
        let new = Found::new(FindingCode::Narrow, Severity::Warn, text);
        found.push(new.mended_by(Mend::Widen));
    }
}

fn cycle(subject: &Subject<'_>, found: &mut Vec<Found>) {
    let counter = subject.counter;
    if !counter.cycle {
        return;
    }
    let (severity, text) = match counter.columns.iter().find(|column| column.unique) {
        Some(column) => (
            Severity::Error,
            format!(
                "cycle: it begins again behind its end; {}.{} takes no number twice",
                column.table, column.column
            ),
        ),
        None => (
            Severity::Warn,
            "cycle: it begins again behind its end; numbers come twice".to_string(),
        ),
    };
    let new = Found::new(FindingCode::Cycle, severity, text);
    found.push(new.mended_by(Mend::NoCycle));
}

fn cache(subject: &Subject<'_>, found: &mut Vec<Found>) {
    let counter = subject.counter;
    let Some(cache) = counter.cache.filter(|cache| *cache > 1) else {
        return;
    };
    if counter.kind == POSTGRES {
        let text = format!(
            "cache: each session takes {cache} numbers at a time; through a pooler they come out of order, with gaps"
        );
        let new = Found::new(FindingCode::Cache, Severity::Info, text);
        found.push(new.mended_by(Mend::OneAtATime));
    }
}

fn jump(subject: &Subject<'_>, found: &mut Vec<Found>) {
    let increment = subject.counter.increment;
    if increment != 1 {
        let text = format!("jump: the step from number to number is {increment}");
        found.push(Found::new(FindingCode::Jump, Severity::Info, text));
    }
}

fn unowned(subject: &Subject<'_>, found: &mut Vec<Found>) {
    let counter = subject.counter;
    let is_owned = counter.columns.iter().any(|column| column.how != How::Default);
    if let (POSTGRES, false, Some(column)) = (counter.kind, is_owned, counter.columns.first()) {
        let text = format!(
            "unowned: the default of {}.{} draws from it; it is neither dropped nor dumped with the table",
            column.table, column.column
        );
        let new = Found::new(FindingCode::Unowned, Severity::Info, text);
        found.push(match counter.columns.len() {
            1 => new.mended_by(Mend::Own),
            // It can be owned by one column only.
            _ => new,
        });
    }
}

fn orphan(subject: &Subject<'_>, found: &mut Vec<Found>) {
    let counter = subject.counter;
    if counter.kind == POSTGRES && counter.columns.is_empty() {
        let text = "orphan: no default draws from it; forgotten, or drawn from by a program".to_string();
        found.push(Found::new(FindingCode::Orphan, Severity::Info, text));
    }
}

/// The step that Leaf comes to by itself: it doubles the one of its table while a segment lasts for less than a quarter of an
/// hour, and never beyond a million.
fn leaf_step(own: u64, distance_per_s: f64) -> u64 {
    const LASTS_S: f64 = 900.0;
    const MOST: u64 = 1_000_000;
    let mut step = own.max(1);
    while step <= MOST / 2 && (step as f64) < LASTS_S * distance_per_s {
        step *= 2;
    }
    step
}

fn small_step(subject: &Subject<'_>, found: &mut Vec<Found>) {
    let counter = subject.counter;
    let (Went::On(pace), Some(own)) = (subject.went, counter.cache) else {
        return;
    };
    let step = match counter.kind {
        "leaf" => leaf_step(own, pace.distance_per_s),
        _ => own,
    };
    let lasts_s = step as f64 / pace.distance_per_s;
    if STEPPED.contains(&counter.kind) && pace.distance_per_s > 0.0 && lasts_s < STEP_LASTS_S {
        let doubled = match step == own {
            true => String::new(),
            false => format!(", to which Leaf doubles its step of {own} by itself,"),
        };
        let text = format!(
            "small-step: {step} numbers{doubled} last {lasts_s:.1} s; with the database away for longer, requests fail"
        );
        let new = Found::new(FindingCode::SmallStep, Severity::Warn, text);
        let advised = (pace.distance_per_s * STEP_ADVISED_S).ceil();
        found.push(new.mended_by(Mend::Step(advised as u64)));
    }
}
