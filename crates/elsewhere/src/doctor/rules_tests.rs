//! Every rule, on both sides of its limits.

use std::time::Duration;

use mintage::Timestamp;

use super::ends::ends;
use super::pace::{Pace, Stood, Went};
use super::rules::{Found, Subject, examine};
use crate::source::{ColumnUse, Counter, Fence, Finding, FindingCode, How, Mend, Severity};

const INT4: i128 = i32::MAX as i128;
const INT8: i128 = i64::MAX as i128;
const DAY_S: f64 = 86_400.0;

fn column(type_name: &str, highest: Option<i128>, how: How) -> ColumnUse {
    let max = if type_name == "int4" { INT4 } else { INT8 };
    ColumnUse {
        table: "public.orders".into(),
        column: "id".into(),
        type_name: type_name.into(),
        min: -max - 1,
        max,
        highest,
        unique: true,
        how,
    }
}

/// A sequence of PostgreSQL that fills a column, and about which nothing is to be said.
fn sound(mark: i128) -> Counter {
    Counter {
        mark: Some(mark),
        type_name: "int8".into(),
        cache: Some(1),
        columns: vec![column("int8", Some(mark - 1), How::Owned)],
        ..Counter::new("postgres", "public.orders_id_seq")
    }
}

fn went(distance_per_s: f64, counter: &Counter) -> Went {
    Went::On(Pace {
        distance_per_s,
        per_s: distance_per_s / counter.increment.unsigned_abs() as f64,
        over: Duration::from_secs(60),
    })
}

fn found_at(counter: &Counter, went: Went) -> Vec<Found> {
    let pace = match went {
        Went::On(pace) => Some(pace),
        _ => None,
    };
    examine(&Subject {
        counter,
        went,
        ends: &ends(counter, pace),
    })
}

fn found(counter: &Counter) -> Vec<Found> {
    found_at(counter, Went::Unknown)
}

/// The only finding.
#[track_caller]
fn only(found: Vec<Found>) -> (FindingCode, Severity, String, Option<Mend>) {
    let [one] = found.as_slice() else {
        panic!("one finding was expected: {found:?}");
    };
    (one.code, one.severity, one.text.clone(), one.mend)
}

#[test]
fn a_sound_counter_has_no_finding() {
    assert_eq!(found(&sound(100)), []);
    assert_eq!(found_at(&sound(100), went(0.0, &sound(100))), []);
}

#[test]
fn behind_is_a_next_number_that_is_there() {
    let mut one = sound(100);
    let mut at = |highest: i128| {
        one.columns[0].highest = Some(highest);
        found(&one)
    };
    assert_eq!(at(99), []);
    let (code, severity, text, mend) = only(at(100));
    assert_eq!((code, severity), (FindingCode::Behind, Severity::Error));
    assert!(text.starts_with("behind: 100 is there already; "), "{text}");
    assert_eq!(mend, Some(Mend::PastColumns));
    assert!(only(at(101)).2.starts_with("behind: 100 is below 101; "));
}

#[test]
fn behind_is_told_by_the_largest_of_several_columns() {
    let mut one = sound(100);
    one.columns.push(column("int8", Some(500), How::Default));
    one.columns.push(column("int8", None, How::Default));
    let (_, _, text, _) = only(found(&one));
    assert!(text.starts_with("behind: 100 is below 500; "), "{text}");
}

#[test]
fn descending_counters_are_behind_above() {
    let mut one = sound(-100);
    one.increment = -1;
    one.min = -INT8;
    one.max = -1;
    one.columns[0].min = -INT8;
    let mut at = |highest: i128| {
        one.columns[0].highest = Some(highest);
        let found = found(&one);
        found.into_iter().find(|found| found.code == FindingCode::Behind)
    };
    assert_eq!(at(-99), None);
    assert!(at(-100).is_some());
    assert!(at(-101).is_some_and(|found| found.text.starts_with("behind: -100 is above -101")));
}

#[test]
fn a_mark_that_went_back_is_behind() {
    let stood = Stood {
        at: Timestamp::UNIX_EPOCH,
        mark: 500,
    };
    let (code, severity, text, mend) = only(found_at(&sound(100), Went::Back(stood)));
    assert_eq!(
        (code, severity, mend),
        (FindingCode::Behind, Severity::Error, None)
    );
    assert!(text.starts_with("behind: 100 now, 500 at 1970-01-01; "), "{text}");
    // Programs set integers of Redis back as they like.
    let key = Counter {
        mark: Some(100),
        ..Counter::new("redis", "visitors")
    };
    assert_eq!(found_at(&key, Went::Back(stood)), []);
}

#[track_caller]
fn check_end(days: f64, severity: Severity) {
    let mut one = sound(1_000_000);
    one.columns[0] = column("int4", None, How::Owned);
    one.max = INT4;
    let left = (INT4 - 1_000_000) as f64;
    let found = found_at(&one, went(left / (days * DAY_S), &one));
    let (code, found, text, mend) = only(found);
    assert_eq!(
        (code, found),
        (FindingCode::Ends, severity),
        "{days} days: {text}"
    );
    assert_eq!(mend.is_some(), severity > Severity::Info);
}

#[test]
fn an_end_hurts_by_how_near_it_is() {
    check_end(0.5, Severity::Error);
    check_end(29.9, Severity::Error);
    check_end(30.1, Severity::Warn);
    check_end(729.0, Severity::Warn);
    check_end(731.0, Severity::Info);
    let mut one = sound(INT4 - 510_000);
    one.columns[0] = column("int4", None, How::Owned);
    one.max = INT4;
    let (_, _, text, mend) = only(found_at(&one, went(14.2, &one)));
    assert_eq!(
        text,
        "ends in 9 h; int4 of public.orders.id ends at 2147483647, at 14.2 numbers a second"
    );
    assert_eq!(mend, Some(Mend::Widen));
}

#[test]
fn an_end_without_a_pace_hurts_by_how_much_is_used() {
    let mut one = sound(1);
    one.columns.clear();
    one.kind = "mariadb";
    one.max = 1000;
    let mut at = |mark: i128| {
        one.mark = Some(mark);
        found(&one)
    };
    assert_eq!(at(751), []);
    let (_, severity, text, mend) = only(at(752));
    assert_eq!((severity, mend), (Severity::Warn, Some(Mend::Unbound)));
    assert_eq!(text, "ends: 75.1 % of max used; max ends at 1000");
    assert_eq!(only(at(951)).1, Severity::Warn);
    assert_eq!(only(at(952)).1, Severity::Error);
    assert_eq!(only(at(1001)).2, "ended: max holds at most 1000");
    // One that stands still is judged in the same way.
    one.mark = Some(952);
    assert_eq!(only(found_at(&one, went(0.0, &one))).1, Severity::Error);
}

#[test]
fn doubles_are_only_told_of() {
    let one = sound(1 << 52);
    let found = found_at(&one, went(1e6, &one));
    let doubles = found.iter().find(|found| found.text.contains("doubles"));
    assert_eq!(doubles.map(|found| found.severity), Some(Severity::Info));
    assert!(
        found.iter().all(|found| found.severity == Severity::Info),
        "{found:?}"
    );
}

#[test]
fn a_column_is_narrow_that_ends_before_its_counter() {
    let mut one = sound(100);
    one.columns[0] = column("int4", Some(99), How::Owned);
    let (code, severity, text, mend) = only(found(&one));
    assert_eq!((code, severity), (FindingCode::Narrow, Severity::Warn));
    assert!(
        text.contains("public.orders.id is int4 and ends at 2147483647"),
        "{text}"
    );
    assert_eq!(mend, Some(Mend::Widen));
    one.max = INT4;
    assert_eq!(found(&one), []);
    one.max = INT4 + 1;
    assert_eq!(only(found(&one)).0, FindingCode::Narrow);
}

#[test]
fn beginning_again_hurts_where_a_number_may_not_come_twice() {
    let mut one = sound(100);
    one.cycle = true;
    let (code, severity, _, mend) = only(found(&one));
    assert_eq!((code, severity), (FindingCode::Cycle, Severity::Error));
    assert_eq!(mend, Some(Mend::NoCycle));
    one.columns[0].unique = false;
    assert_eq!(only(found(&one)).1, Severity::Warn);
}

#[test]
fn a_cache_is_told_of_where_sessions_have_it() {
    let mut one = sound(100);
    one.cache = Some(2);
    let (code, severity, text, mend) = only(found(&one));
    assert_eq!((code, severity), (FindingCode::Cache, Severity::Info));
    assert!(text.starts_with("cache: each session takes 2"), "{text}");
    assert_eq!(mend, Some(Mend::OneAtATime));
    one.kind = "mariadb";
    assert_eq!(found(&one), []);
}

#[test]
fn a_step_is_told_of() {
    let mut one = sound(100);
    one.increment = 10;
    let (code, severity, text, _) = only(found(&one));
    assert_eq!((code, severity), (FindingCode::Jump, Severity::Info));
    assert!(text.ends_with("is 10"), "{text}");
}

#[test]
fn who_owns_a_counter_is_told_where_that_is_known() {
    let mut one = sound(100);
    one.columns[0].how = How::Default;
    let (code, severity, _, mend) = only(found(&one));
    assert_eq!((code, severity), (FindingCode::Unowned, Severity::Info));
    assert_eq!(mend, Some(Mend::Own));
    // Owned by one, and drawn from by another; or by none of two.
    one.columns.push(column("int8", None, How::Default));
    assert_eq!(only(found(&one)).3, None);
    one.columns[0].how = How::Identity;
    assert_eq!(found(&one), []);
    one.columns.clear();
    assert_eq!(only(found(&one)).0, FindingCode::Orphan);
    one.kind = "mariadb";
    assert_eq!(found(&one), []);
}

#[test]
fn a_step_is_small_that_lasts_for_seconds() {
    let stepped = |kind, step, per_s: f64| {
        let counter = Counter {
            mark: Some(100),
            cache: Some(step),
            ..Counter::new(kind, "orders")
        };
        let found = found_at(&counter, went(per_s, &counter));
        found
            .into_iter()
            .find(|found| found.code == FindingCode::SmallStep)
    };
    let vitess = |step, per_s| stepped("vitess", step, per_s);
    assert_eq!(vitess(1000, 100.0), None);
    assert_eq!(vitess(1000, 0.0), None);
    let small = vitess(999, 100.0).expect("it lasts for 9.99 s");
    assert_eq!(
        (small.severity, small.mend),
        (Severity::Warn, Some(Mend::Step(6000)))
    );
    assert!(
        small.text.starts_with("small-step: 999 numbers last 10.0 s; "),
        "{}",
        small.text
    );
    // Leaf doubles its step by itself while a segment lasts for less than 15 minutes, up to a million.
    for (step, per_s) in [(1000, 10_000.0), (1, 50_000.0), (600_000, 60_000.0)] {
        assert_eq!(stepped("leaf", step, per_s), None, "{step} at {per_s}");
    }
    let small = stepped("leaf", 1000, 60_000.0).expect("512,000 last for 8.5 s");
    let said = "small-step: 512000 numbers, to which Leaf doubles its step of 1000 by itself, last 8.5 s; ";
    assert!(small.text.starts_with(said), "{}", small.text);
    assert_eq!(small.mend, Some(Mend::Step(3_600_000)));
    assert!(
        stepped("leaf", 600_000, 60_001.0).is_some(),
        "its double is beyond a million"
    );
}

#[test]
fn what_cannot_be_read_is_told_once() {
    let mut one = sound(100);
    one.mark = None;
    let (code, severity, _, mend) = only(found(&one));
    assert_eq!((code, severity), (FindingCode::Unreadable, Severity::Warn));
    assert_eq!(mend, Some(Mend::Readable));
    // Its reader knows better.
    one.findings.push(Finding {
        code: FindingCode::Misaligned,
        severity: Severity::Error,
        text: "it has no row".into(),
        fix: None,
    });
    assert_eq!(found(&one), []);
}

#[test]
fn what_gives_out_nothing_any_more_is_not_judged() {
    let mut one = sound(100);
    one.columns[0].highest = Some(500);
    one.cycle = true;
    one.fence = Fence::Ours { id: None, mark: 100 };
    assert_eq!(found(&one), []);
}
