//! What every store must do, as one suite: [`check_all`] walks the whole contract of [`Store`] on the
//! caller's store, forbidden calls included. Available with the feature `testing`.
//!
//! The caller gives a way to open the store. It is called again after [`Store::close`]: a durable store
//! must then show what it held, and a store in memory may answer the same object.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use mintage_testing::invariant;

use super::{
    BODY_MAX_BYTES, Cas, Claim, Key, Marks, Outcome, SCAN_LIMIT_MAX, Store, StoreError, StoreErrorKind,
    Value, Version, Versioned,
};
use crate::runtime::BoxFuture;
use mintage_local::name::Name;

/// Opens the store under test: the same data every time.
pub type Open<'a> = &'a (dyn Fn() -> BoxFuture<'static, Arc<dyn Store>> + Send + Sync);

/// Runs every check on an empty store.
///
/// # Panics
/// When the store breaks its contract; the message says where.
pub async fn check_all(open: Open<'_>) {
    let store = open().await;
    absent_registers_read_as_none(&*store).await;
    versions_rise_by_exactly_one(&*store).await;
    lost_writes_answer_what_is_there(&*store).await;
    marks_fall_only_when_given_back(&*store).await;
    marked_registers_are_never_removed(&*store).await;
    claims_add_and_follow_each_other(&*store).await;
    claims_and_writes_mix(&*store).await;
    limits_are_kept_on_both_sides(&*store).await;
    scans_page_in_key_order(&*store).await;
    names_of_any_text_keep_apart_and_in_order(&*store).await;
    bodies_come_back_byte_for_byte(&*store).await;
    of_racing_writes_exactly_one_wins(&*store).await;
    racing_claims_never_overlap(&*store).await;
    assert!(
        store.stopped().is_none(),
        "a store that did nothing wrong has stopped"
    );
    everything_survives_reopening(open, store).await;
}

/// A key of the suite.
fn key(text: &str) -> Key {
    Key::new(format!("conformance/{text}")).expect("the suite's keys are valid")
}

fn value(mark: u64, token: u128, body: &str) -> Value {
    Value {
        mark,
        token,
        body: body.to_string(),
    }
}

/// Writes and expects it to be done.
async fn put(store: &dyn Store, key: &Key, expected: Option<u64>, new: Value) -> Versioned {
    let answer = store
        .compare_and_set(key, expected.map(Version::of), new.clone(), Marks::NeverLower)
        .await;
    let version = Version::of(expected.map_or(1, |v| v + 1));
    assert_eq!(answer, Ok(Cas::Done(version)), "write of {key} at {expected:?}");
    Versioned { value: new, version }
}

#[track_caller]
fn check_refused<T: std::fmt::Debug>(what: &str, answer: Result<T, StoreError>) {
    let error = answer.expect_err(what);
    assert_eq!(
        (error.kind, error.outcome),
        (StoreErrorKind::Invalid, Outcome::NotDone),
        "{what}: {error}"
    );
    assert!(
        !error.message.is_empty() && !error.message.ends_with('.'),
        "{what}: {error}"
    );
}

async fn absent_registers_read_as_none(store: &dyn Store) {
    let absent = key("absent");
    assert_eq!(store.get(&absent).await, Ok(None));
    let lost = store
        .compare_and_set(
            &absent,
            Some(Version::of(1)),
            value(1, 1, "{}"),
            Marks::NeverLower,
        )
        .await;
    assert_eq!(
        lost,
        Ok(Cas::Lost(None)),
        "a write that expects version 1 of nothing"
    );
    assert_eq!(store.remove(&absent, Version::of(1)).await, Ok(Cas::Lost(None)));
    let claim = Claim {
        key: absent.clone(),
        expected: Version::of(1),
        add: 1,
        token: 1,
    };
    assert_eq!(
        store.claim(&claim).await,
        Ok(Cas::Lost(None)),
        "a claim on nothing"
    );
    assert_eq!(
        store.get(&absent).await,
        Ok(None),
        "lost writes leave nothing behind"
    );
}

async fn versions_rise_by_exactly_one(store: &dyn Store) {
    let key = key("versions");
    for version in 0..5u64 {
        let new = value(
            version * 10,
            u128::from(version) + 1,
            &format!("{{\"n\":{version}}}"),
        );
        let put = put(store, &key, (version > 0).then_some(version), new).await;
        assert_eq!(store.get(&key).await, Ok(Some(put)));
    }
    // The same content again is a write like any other.
    let same = value(40, 5, "{\"n\":4}");
    let put = put(store, &key, Some(5), same).await;
    assert_eq!(put.version, Version::of(6));
    assert_eq!(store.get(&key).await, Ok(Some(put)));
}

async fn lost_writes_answer_what_is_there(store: &dyn Store) {
    let key = key("lost");
    let held = put(store, &key, None, value(7, 70, "{}")).await;
    let held = put(store, &key, Some(held.version.number()), value(8, 80, "{}")).await;
    for expected in [
        None,
        Some(Version::of(1)),
        Some(Version::of(3)),
        Some(Version::of(0)),
        Some(Version::of(u64::MAX)),
    ] {
        // A lower mark with a wrong version is a lost race, not an invalid request.
        let answer = store
            .compare_and_set(&key, expected, value(1, 9, "{}"), Marks::NeverLower)
            .await;
        assert_eq!(answer, Ok(Cas::Lost(Some(held.clone()))), "expected {expected:?}");
    }
    for expected in [Version::of(1), Version::of(3)] {
        assert_eq!(
            store.remove(&key, expected).await,
            Ok(Cas::Lost(Some(held.clone())))
        );
        let claim = Claim {
            key: key.clone(),
            expected,
            add: 1,
            token: 9,
        };
        assert_eq!(store.claim(&claim).await, Ok(Cas::Lost(Some(held.clone()))));
    }
    assert_eq!(store.get(&key).await, Ok(Some(held)));
}

async fn marks_fall_only_when_given_back(store: &dyn Store) {
    let key = key("marks");
    put(store, &key, None, value(100, 1, "{}")).await;
    let lower = store
        .compare_and_set(&key, Some(Version::of(1)), value(99, 2, "{}"), Marks::NeverLower)
        .await;
    check_refused("a lower mark", lower);
    put(store, &key, Some(1), value(100, 2, "{}")).await;
    let back = store
        .compare_and_set(&key, Some(Version::of(2)), value(60, 3, "{}"), Marks::GiveBack)
        .await;
    assert_eq!(
        back,
        Ok(Cas::Done(Version::of(3))),
        "a give-back raises the version too"
    );
    let held = Versioned {
        value: value(60, 3, "{}"),
        version: Version::of(3),
    };
    assert_eq!(store.get(&key).await, Ok(Some(held)));
    let raised = store
        .compare_and_set(&key, Some(Version::of(3)), value(61, 4, "{}"), Marks::GiveBack)
        .await;
    assert_eq!(
        raised,
        Ok(Cas::Done(Version::of(4))),
        "a give-back may also raise"
    );
}

async fn marked_registers_are_never_removed(store: &dyn Store) {
    let marked = key("remove/marked");
    let held = put(store, &marked, None, value(1, 1, "{}")).await;
    check_refused("removal of a mark", store.remove(&marked, held.version).await);
    assert_eq!(store.get(&marked).await, Ok(Some(held)));
    let plain = key("remove/plain");
    put(store, &plain, None, value(0, 1, "{}")).await;
    put(store, &plain, Some(1), value(0, 2, "{}")).await;
    assert_eq!(
        store.remove(&plain, Version::of(2)).await,
        Ok(Cas::Done(Version::of(2)))
    );
    assert_eq!(store.get(&plain).await, Ok(None));
    assert_eq!(
        store.remove(&plain, Version::of(2)).await,
        Ok(Cas::Lost(None)),
        "removed twice"
    );
    put(store, &plain, None, value(5, 3, "{}")).await;
}

async fn claims_add_and_follow_each_other(store: &dyn Store) {
    let key = key("claims");
    put(store, &key, None, value(10, 1, "{\"def\":1}")).await;
    let mut mark = 10;
    for version in 1..20u64 {
        let claim = Claim {
            key: key.clone(),
            expected: Version::of(version),
            add: version,
            token: u128::MAX - 1,
        };
        assert_eq!(store.claim(&claim).await, Ok(Cas::Done(Version::of(version + 1))));
        mark += version;
        let held = Versioned {
            value: value(mark, u128::MAX - 1, "{\"def\":1}"),
            version: Version::of(version + 1),
        };
        assert_eq!(
            store.get(&key).await,
            Ok(Some(held.clone())),
            "a claim changes mark and token alone"
        );
        assert_eq!(
            store.claim(&claim).await,
            Ok(Cas::Lost(Some(held))),
            "the same claim again"
        );
    }
    let claim = Claim {
        key: key.clone(),
        expected: Version::of(20),
        add: 0,
        token: 2,
    };
    check_refused("a claim of nothing", store.claim(&claim).await);
    for add in [i64::MAX as u64, u64::MAX, i64::MAX as u64 - mark + 1] {
        let claim = Claim {
            key: key.clone(),
            expected: Version::of(20),
            add,
            token: 2,
        };
        check_refused("a claim past 2^63-1", store.claim(&claim).await);
    }
    let claim = Claim {
        key: key.clone(),
        expected: Version::of(20),
        add: i64::MAX as u64 - mark,
        token: 2,
    };
    assert_eq!(
        store.claim(&claim).await,
        Ok(Cas::Done(Version::of(21))),
        "up to 2^63-1 is fine"
    );
}

async fn claims_and_writes_mix(store: &dyn Store) {
    let key = key("mixed");
    put(store, &key, None, value(0, 1, "{}")).await;
    let claim = |version, add| Claim {
        key: key.clone(),
        expected: Version::of(version),
        add,
        token: 5,
    };
    assert_eq!(store.claim(&claim(1, 10)).await, Ok(Cas::Done(Version::of(2))));
    assert_eq!(store.claim(&claim(2, 10)).await, Ok(Cas::Done(Version::of(3))));
    let lower = store
        .compare_and_set(&key, Some(Version::of(3)), value(19, 6, "{}"), Marks::NeverLower)
        .await;
    check_refused("a write below a claim", lower);
    check_refused(
        "removal of a claimed mark",
        store.remove(&key, Version::of(3)).await,
    );
    put(store, &key, Some(3), value(20, 6, "{\"body\":2}")).await;
    assert_eq!(store.claim(&claim(4, 1)).await, Ok(Cas::Done(Version::of(5))));
    let back = store
        .compare_and_set(&key, Some(Version::of(5)), value(20, 7, "{}"), Marks::GiveBack)
        .await;
    assert_eq!(back, Ok(Cas::Done(Version::of(6))));
    assert_eq!(store.claim(&claim(6, 2)).await, Ok(Cas::Done(Version::of(7))));
    let held = Versioned {
        value: value(22, 5, "{}"),
        version: Version::of(7),
    };
    assert_eq!(
        store.scan(&key, None, 10).await,
        Ok(vec![(key.clone(), held)]),
        "a scan sees claims"
    );
}

async fn limits_are_kept_on_both_sides(store: &dyn Store) {
    let key = key("limits");
    let set = |new: Value| store.compare_and_set(&key, None, new, Marks::NeverLower);
    let long = "x".repeat(BODY_MAX_BYTES + 1);
    check_refused("a long body", set(value(0, 1, &long)).await);
    check_refused("a NUL character", set(value(0, 1, "{\u{0}}")).await);
    check_refused("a mark of 2^63", set(value(1 << 63, 1, "{}")).await);
    check_refused("a mark of 2^64-1", set(value(u64::MAX, 1, "{}")).await);
    assert_eq!(store.get(&key).await, Ok(None));
    put(store, &key, None, value(i64::MAX as u64, u128::MAX, &long[1..])).await;
    let held = Versioned {
        value: value(i64::MAX as u64, u128::MAX, &long[1..]),
        version: Version::of(1),
    };
    assert_eq!(store.get(&key).await, Ok(Some(held)));
    let longest = Key::new(format!("conformance/{}", "k".repeat(288))).expect("300 bytes");
    put(store, &longest, None, value(0, 1, "")).await;
    // Of what quoting would make longer.
    let longest = Key::new(format!("conformance/{}", "\"".repeat(288))).expect("300 bytes");
    put(store, &longest, None, value(0, 1, "")).await;
    check_refused("a page of 0", store.scan(&longest, None, 0).await);
    check_refused(
        "a page above the limit",
        store.scan(&longest, None, SCAN_LIMIT_MAX + 1).await,
    );
    assert_eq!(
        store
            .scan(&longest, None, SCAN_LIMIT_MAX)
            .await
            .map(|page| page.len()),
        Ok(1)
    );
}

async fn scans_page_in_key_order(store: &dyn Store) {
    // Bytes order keys: '-' < '.' < '/' < digits < ':' < upper case < '_' < lower case.
    let names = [
        "a", "a-b", "a.b", "a/b", "a/c", "a0", "a:b", "aB", "a_b", "ab", "b", "Z",
    ];
    for name in names {
        put(store, &key(&format!("scan/{name}")), None, value(0, 1, name)).await;
    }
    let mut sorted: Vec<_> = names.iter().map(|name| key(&format!("scan/{name}"))).collect();
    sorted.sort();
    let prefix = key("scan/");
    for limit in [1u16, 2, 5, 12, 100] {
        let (mut seen, mut after) = (Vec::new(), None);
        loop {
            let page = store.scan(&prefix, after.as_ref(), limit).await.expect("a page");
            assert!(page.len() <= usize::from(limit));
            let Some((last, _)) = page.last() else { break };
            after = Some(last.clone());
            for (key, found) in page {
                assert!(
                    key.as_str().ends_with(&found.value.body),
                    "{key} carries {}",
                    found.value.body
                );
                seen.push(key);
            }
        }
        assert_eq!(seen, sorted, "pages of {limit}");
    }
    let keys = |page: Vec<(Key, Versioned)>| page.into_iter().map(|(key, _)| key).collect::<Vec<_>>();
    let below = store.scan(&key("scan/a/"), None, 10).await.map(keys);
    assert_eq!(
        below,
        Ok(vec![key("scan/a/b"), key("scan/a/c")]),
        "a prefix with a slash"
    );
    let exact = store
        .scan(&key("scan/a/"), Some(&key("scan/a/b")), 10)
        .await
        .map(keys);
    assert_eq!(exact, Ok(vec![key("scan/a/c")]), "after an existing key");
    let between = store
        .scan(&key("scan/a/"), Some(&key("scan/a/bb")), 10)
        .await
        .map(keys);
    assert_eq!(
        between,
        Ok(vec![key("scan/a/c")]),
        "after a key that does not exist"
    );
    let before = store.scan(&key("scan/a/"), Some(&key("a")), 10).await.map(keys);
    assert_eq!(
        before,
        Ok(vec![key("scan/a/b"), key("scan/a/c")]),
        "after a key before the prefix"
    );
    assert_eq!(
        store.scan(&key("scan/a/"), Some(&key("scan/b")), 10).await,
        Ok(vec![]),
        "after its end"
    );
    assert_eq!(
        store.scan(&key("scan/a_"), None, 10).await.map(|p| p.len()),
        Ok(1),
        "'_' is not a wildcard"
    );
}

/// Names as people have them, and those on which collations, paths and paddings differ.
async fn names_of_any_text_keep_apart_and_in_order(store: &dyn Store) {
    let longest = [
        "🦀".repeat(63) + "abc",
        " ".repeat(255),
        "/".repeat(255),
        "}".repeat(255),
    ];
    let mut names: Vec<String> = (' '..='~').map(|c| format!("x{c}")).collect();
    for name in [
        "{acct}:seq",
        "shop/orders",
        "svc@prod:id",
        "ids#order",
        "Seq Invoice",
        "inc:заказ",
        ".",
        "..",
        "%41",
        "A",
        "a",
        "a ",
        "a  ",
        "a !",
        " a",
        "seq/a",
        "straße",
        "strasse",
        "é",
        "e\u{301}",
        "ﬀ",
        "É",
        "\u{a0}",
        "€",
        "🦀",
        "x/y z/w",
        "x/y z/v",
        "%",
        "_",
    ] {
        names.push(name.to_string());
    }
    names.extend(longest);
    for name in &names {
        let name = Name::new(name).expect("a name");
        let key = key(&format!("names/{}", name.to_key()));
        assert_eq!(store.get(&key).await, Ok(None), "{name} is another name's");
        put(store, &key, None, value(1, 1, name.as_str())).await;
    }
    names.sort_unstable();
    let (mut seen, mut after) = (Vec::new(), None);
    loop {
        let page = store
            .scan(&key("names/"), after.as_ref(), 7)
            .await
            .expect("a page");
        let Some((last, _)) = page.last() else { break };
        after = Some(last.clone());
        for (key, found) in page {
            let name = Name::from_key(key.after("conformance/names/")).expect("a name's key");
            assert_eq!(name.as_str(), found.value.body);
            seen.push(found.value.body);
        }
    }
    invariant!(seen == names, "lost or twice: {seen:?} of {names:?}");
}

async fn bodies_come_back_byte_for_byte(store: &dyn Store) {
    for (n, body) in [
        "",
        "{}",
        "null",
        "\u{1}\u{7f}'\"\\;--",
        "\u{fffd}\u{10ffff}ü",
        " \r\n\t ",
    ]
    .iter()
    .enumerate()
    {
        let key = key(&format!("bodies/{n}"));
        let put = put(store, &key, None, value(n as u64, 1 << n, body)).await;
        assert_eq!(store.get(&key).await, Ok(Some(put)), "body {body:?}");
    }
}

async fn of_racing_writes_exactly_one_wins(store: &dyn Store) {
    let key = key("races/set");
    for round in 0..20u64 {
        let expected = (round > 0).then_some(Version::of(round));
        let racers = (1..=16u128).map(|token| {
            let new = value(round, token, "{}");
            store.compare_and_set(&key, expected, new, Marks::NeverLower)
        });
        let answers = join_all(racers.collect()).await;
        let winners: Vec<_> = answers
            .iter()
            .enumerate()
            .filter(|(_, a)| matches!(a, Ok(Cas::Done(_))))
            .collect();
        invariant!(winners.len() == 1, "round {round}: {answers:?}");
        let held = store.get(&key).await.expect("a read").expect("it was written");
        invariant!(
            held.value.token == winners[0].0 as u128 + 1,
            "the winner's value is what is held: {held:?} of {winners:?}"
        );
        for answer in answers {
            match answer.expect("no fault was injected") {
                Cas::Done(version) => assert_eq!(version, held.version),
                Cas::Lost(found) => assert_eq!(found.as_ref(), Some(&held), "a loser sees the winner"),
            }
        }
    }
}

async fn racing_claims_never_overlap(store: &dyn Store) {
    let key = key("races/claim");
    put(store, &key, None, value(0, 1, "{}")).await;
    let racers = (0..16u64).map(|racer| -> BoxFuture<'_, Vec<(u64, u64)>> {
        let key = key.clone();
        Box::pin(async move {
            let mut ranges = Vec::new();
            let mut known = store.get(&key).await.expect("a read").expect("it is there");
            while ranges.len() < 10 {
                let claim = Claim {
                    key: key.clone(),
                    expected: known.version,
                    add: racer + 1,
                    token: u128::from(racer) << 64 | known.value.token & 0xffff | 1,
                };
                match store.claim(&claim).await.expect("no fault was injected") {
                    Cas::Done(version) => {
                        assert_eq!(version.number(), claim.expected.number() + 1);
                        let upto = known.value.mark + claim.add;
                        ranges.push((known.value.mark, upto));
                        known.version = version;
                        known.value.mark = upto;
                    }
                    Cas::Lost(found) => known = found.expect("it is never removed"),
                }
            }
            ranges
        })
    });
    let mut ranges = join_all(racers.collect()).await.concat();
    ranges.sort_unstable();
    assert_eq!(ranges[0].0, 0);
    for pair in ranges.windows(2) {
        invariant!(
            pair[0].1 == pair[1].0,
            "ranges meet without gap or overlap: {pair:?}"
        );
    }
    let held = store.get(&key).await.expect("a read").expect("it is there");
    invariant!(
        (held.value.mark, held.version) == (ranges[159].1, Version::of(161)),
        "{held:?} after {:?}",
        ranges[159]
    );
}

async fn everything_survives_reopening(open: Open<'_>, store: Arc<dyn Store>) {
    let everything = async |store: &dyn Store| {
        let page = store.scan(&key(""), None, SCAN_LIMIT_MAX).await.expect("a page");
        assert!(page.len() >= 29, "the suite wrote {} registers", page.len());
        page
    };
    let last = key("races/claim");
    let claim = Claim {
        key: last.clone(),
        expected: Version::of(161),
        add: 5,
        token: 77,
    };
    assert_eq!(
        store.claim(&claim).await,
        Ok(Cas::Done(Version::of(162))),
        "a claim just before the close"
    );
    let (before, cluster) = (everything(&*store).await, store.cluster_id());
    assert_ne!(cluster, 0, "a store has an identity");
    store.close().await.expect("a clean stop");
    drop(store);
    for _ in 0..2 {
        let store = open().await;
        assert_eq!(store.cluster_id(), cluster);
        let after = everything(&*store).await;
        invariant!(after == before, "{after:?} where {before:?} was");
        store.close().await.expect("a clean stop");
    }
    let store = open().await;
    let claim = Claim {
        expected: Version::of(162),
        ..claim
    };
    assert_eq!(
        store.claim(&claim).await,
        Ok(Cas::Done(Version::of(163))),
        "and goes on where it was"
    );
    store.close().await.expect("a clean stop");
}

/// Drives all futures at once on this task.
async fn join_all<T: Send>(futures: Vec<BoxFuture<'_, T>>) -> Vec<T> {
    let mut slots: Vec<(Option<BoxFuture<'_, T>>, Option<T>)> =
        futures.into_iter().map(|future| (Some(future), None)).collect();
    poll_fn(move |cx| {
        let mut waiting = false;
        for (future, answer) in &mut slots {
            let Some(running) = future else { continue };
            match running.as_mut().poll(cx) {
                Poll::Ready(done) => (*future, *answer) = (None, Some(done)),
                Poll::Pending => waiting = true,
            }
        }
        match waiting {
            true => Poll::Pending,
            false => Poll::Ready(slots.iter_mut().filter_map(|(_, answer)| answer.take()).collect()),
        }
    })
    .await
}
