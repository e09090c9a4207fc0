//! Looks at sources that answer what a test says.

use std::sync::Arc;
use std::sync::Mutex;

use mintage::Run;

use super::look::{LookSettings, Seen, Target, look};
use super::{Earlier, Went, examine};
use crate::SystemRuntime;
use crate::source::{ColumnUse, How};
use crate::source::{
    Counter, Engine, Fence, Fenced, FindingCode, Listed, MemorySource, Mend, Note, Source, SourceError,
    SourceErrorKind, SourceKind, SourceResult, Wanted, Way,
};
use crate::store::{Class, Durability};

/// Answers of one source.
#[derive(Debug)]
struct Scripted {
    listed: Result<Listed, SourceErrorKind>,
    /// What a second look at any counter says.
    again: Option<Counter>,
    class: Result<Class, SourceErrorKind>,
    /// Every call, in order.
    calls: Mutex<Vec<&'static str>>,
}

impl Scripted {
    fn new(listed: Result<Listed, SourceErrorKind>) -> Scripted {
        Scripted {
            listed,
            again: None,
            class: Ok(Class::Durable),
            calls: Mutex::default(),
        }
    }

    fn with(counters: Vec<Counter>) -> Scripted {
        Scripted::new(Ok(Listed {
            counters,
            failed: Vec::new(),
        }))
    }

    fn called(&self, what: &'static str) {
        self.calls.lock().unwrap().push(what);
    }
}

fn error(kind: SourceErrorKind) -> SourceError {
    SourceError::new(kind, "postgres://db/shop: it did not work")
}

impl Source for Scripted {
    fn kind(&self) -> &'static SourceKind {
        static KIND: SourceKind = SourceKind {
            name: "postgres",
            engine: Engine::Memory,
            example: "memory:",
            summary: "answers for tests",
            is_found: false,
            has_ceiling: false,
            has_beside: false,
            open: |_, _| Err(error(SourceErrorKind::Invalid)),
        };
        &KIND
    }

    fn place(&self) -> String {
        "postgres://db/shop".into()
    }

    fn durability(&self) -> SourceResult<'_, Durability> {
        self.called("durability");
        let class = self.class;
        Box::pin(async move {
            let why = "fsync is off; nothing is flushed";
            Ok(Durability {
                fix: Some("ALTER SYSTEM SET fsync = on (and a reload)".into()),
                ..Durability::plain(class.map_err(error)?, why)
            })
        })
    }

    fn list<'a>(&'a self, _: &'a Wanted) -> SourceResult<'a, Listed> {
        self.called("list");
        Box::pin(async { self.listed.clone().map_err(error) })
    }

    fn look<'a>(&'a self, _: &'a str) -> SourceResult<'a, Option<Counter>> {
        self.called("look");
        Box::pin(async { Ok(self.again.clone()) })
    }

    fn take<'a>(&'a self, _: &'a str, _: u64) -> SourceResult<'a, Vec<Run>> {
        unreachable!("a doctor takes nothing")
    }

    fn fence<'a>(&'a self, _: &'a str, _: Way, _: &'a Note) -> SourceResult<'a, Fenced> {
        unreachable!("a doctor builds no fence")
    }

    fn lift<'a>(&'a self, _: &'a str, _: &'a Note, _: Option<i64>) -> SourceResult<'a, ()> {
        unreachable!("a doctor lifts no fence")
    }

    fn check<'a>(&'a self, _: &'a str, _: &'a Note) -> SourceResult<'a, Fence> {
        unreachable!("a doctor has no note of a move")
    }

    fn statements(&self, _: &Counter, _: Way) -> Vec<String> {
        Vec::new()
    }

    fn mend(&self, counter: &Counter, mend: Mend) -> Option<String> {
        Some(format!("mend {} {mend:?}", counter.key))
    }

    fn rights<'a>(&'a self, _: &'a str, _: Way) -> SourceResult<'a, Vec<String>> {
        Box::pin(async { Ok(Vec::new()) })
    }
}

fn seen_of(sources: Vec<Arc<dyn Source>>) -> Seen {
    let tokio = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let runtime: Arc<dyn crate::Runtime> = SystemRuntime::new(tokio.handle().clone());
    let target = Target::of(sources);
    tokio.block_on(look(&target, &LookSettings::default(), &runtime))
}

fn sequence(mark: i128, highest: i128) -> Counter {
    let column = ColumnUse {
        table: "public.t".into(),
        column: "id".into(),
        type_name: "int8".into(),
        min: i64::MIN.into(),
        max: i64::MAX.into(),
        highest: Some(highest),
        unique: true,
        how: How::Owned,
    };
    Counter {
        mark: Some(mark),
        columns: vec![column],
        type_name: "int8".into(),
        ..Counter::new("postgres", "public.s")
    }
}

fn codes(seen: Seen) -> Vec<FindingCode> {
    let reports = examine(vec![seen], &[], None);
    reports[0].findings().map(|finding| finding.code).collect()
}

#[test]
fn rows_that_come_in_between_are_no_finding() {
    let seen = |again: i128| {
        let source = Scripted {
            again: Some(sequence(again, again + 50)),
            ..Scripted::with(vec![sequence(100, 120)])
        };
        seen_of(vec![Arc::new(source)])
    };
    // The mark went past what was the largest number: it was only read earlier.
    assert_eq!(codes(seen(121)), []);
    assert_eq!(codes(seen(120)), [FindingCode::Behind]);
    assert_eq!(codes(seen(100)), [FindingCode::Behind]);
}

#[test]
fn a_sound_counter_is_looked_at_once() {
    let source = Arc::new(Scripted::with(vec![sequence(100, 99)]));
    let seen = seen_of(vec![source.clone()]);
    assert_eq!(*source.calls.lock().unwrap(), ["list", "durability"]);
    assert_eq!((seen.counters.len(), seen.failed.len()), (1, 0));
    assert_eq!(codes(seen), []);
}

#[test]
fn a_source_says_which_statement_mends() {
    let source = Scripted {
        again: Some(sequence(100, 120)),
        ..Scripted::with(vec![sequence(100, 120)])
    };
    let seen = seen_of(vec![Arc::new(source)]);
    let reports = examine(vec![seen], &[], None);
    let finding = reports[0].counters[0].worst().unwrap();
    assert_eq!(finding.fix.as_deref(), Some("mend public.s PastColumns"));
}

#[test]
fn what_fails_is_told_and_the_rest_is_seen() {
    let refused = Arc::new(Scripted::new(Err(SourceErrorKind::Refused)));
    let late = Arc::new(Scripted::new(Err(SourceErrorKind::Unavailable)));
    let sound = Arc::new(Scripted::with(vec![sequence(100, 99)]));
    let seen = seen_of(vec![refused, late, sound]);
    assert_eq!(seen.counters.len(), 1);
    // Both say the same, which is told once.
    assert_eq!(seen.failed, ["postgres://db/shop: it did not work"]);
}

#[test]
fn a_server_that_is_away_is_not_asked_for_ever() {
    let away = || Arc::new(Scripted::new(Err(SourceErrorKind::Unavailable)));
    let third = away();
    let seen = seen_of(vec![away(), away(), third.clone()]);
    assert_eq!(seen.failed.len(), 1);
    assert_eq!(third.calls.lock().unwrap().len(), 0);
}

#[test]
fn a_server_that_may_forget_is_a_finding_of_the_place() {
    let seen = |class| {
        let source = Scripted {
            class,
            ..Scripted::with(vec![sequence(100, 99)])
        };
        seen_of(vec![Arc::new(source)])
    };
    assert_eq!(codes(seen(Ok(Class::Survives))), []);
    let lossy = seen(Ok(Class::Lossy));
    assert_eq!(
        lossy.findings[0].text.split("; ").next(),
        Some("lossy: fsync is off, nothing is flushed")
    );
    // What can be typed.
    assert_eq!(
        lossy.findings[0].fix.as_deref(),
        Some("ALTER SYSTEM SET fsync = on")
    );
    assert_eq!(codes(lossy), [FindingCode::Lossy]);
    assert_eq!(
        codes(seen(Err(SourceErrorKind::Denied))),
        [FindingCode::Unreadable]
    );
    assert_eq!(seen(Err(SourceErrorKind::Unavailable)).failed.len(), 1);
}

#[test]
fn two_looks_give_a_pace() {
    let source = MemorySource::new();
    source.put("orders", 1000);
    let first = seen_of(vec![source.clone()]);
    let mut earlier = Earlier::default();
    first.note(&mut earlier);
    for _ in 0..50 {
        source.next("orders");
    }
    let mut second = seen_of(vec![source]);
    second.at = first.at.saturating_add(std::time::Duration::from_secs(10));
    let reports = examine(vec![second], &[earlier], None);
    let Went::On(pace) = reports[0].counters[0].went else {
        panic!("{reports:?}");
    };
    assert_eq!(pace.per_s, 5.0);
}

#[cfg(all(feature = "mysql", feature = "redis", feature = "zookeeper"))]
#[test]
fn a_url_means_counters_or_workers_or_both() {
    let tokio = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let runtime: Arc<dyn crate::Runtime> = SystemRuntime::new(tokio.handle().clone());
    // `(sources, whether workers are looked for, whether they must be there)`
    let means = |url: &str| {
        let _guard = tokio.enter();
        Target::open(url, &LookSettings::default(), &runtime)
            .map(|target| (target.kinds(), target.workers_are_named()))
            .map_err(|error| error.message)
    };
    let all_of_mysql = means("mysql://u:secret@h/db").unwrap();
    assert!(all_of_mysql.0.contains(&"leaf") && all_of_mysql.1 == Some(false));
    assert_eq!(means("leaf+mysql://u@h/db"), Ok((vec!["leaf"], None)));
    assert_eq!(means("cosid+mysql://u@h/db"), Ok((vec!["cosid"], Some(true))));
    assert_eq!(
        means("uid-generator+mysql://u@h/db"),
        Ok((vec!["uid-generator"], Some(true)))
    );
    // Without a database every one is meant.
    assert!(means("mysql://u:secret@h").is_ok_and(|(kinds, _)| kinds == all_of_mysql.0));
    assert_eq!(means("redis+unix:///run/r.sock").unwrap().1, Some(false));
    assert_eq!(means("yitter+redis://h"), Ok((vec![], Some(true))));
    assert_eq!(
        means("leaf+zookeeper://h:2181/snowflake/shop"),
        Ok((vec![], Some(true)))
    );
    for (url, says) in [
        (
            "zookeeper://h:2181/x",
            "says whose workers these are: leaf+zookeeper://",
        ),
        ("nonsense+zookeeper://h:2181/x", "says whose workers these are"),
        (
            "nonsense+mysql://u:secret@h/db",
            "no source \"nonsense\" lives at mysql",
        ),
        ("etcd://u:secret@h", "no source has the scheme \"etcd\""),
    ] {
        let said = means(url).unwrap_err();
        assert!(said.contains(says), "{said}");
        mintage_testing::no_secret_in(url, &said, "secret");
    }
}
