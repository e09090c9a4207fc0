//! Keys of Redis as counters, on a real server: what every source must do, numbers above 2^53, keys of any bytes, rights,
//! and what clients do to a fence.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::future::ready;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use mintage_e2e::engine::port::free;
use mintage_e2e::engine::redis::Redis;
use mintage_e2e::need;
use mintage_e2e::redis::cli;
use mintage_e2e::resp::Resp;
use mintage_e2e::store_suite::{Engine, Lab, OWNER_PASSWORD, READER_PASSWORD, patient, quick};
use mintage_ledger::source::conformance::{Subject, check_all};
use mintage_ledger::source::{
    Fence, MoveId, Note, Source, SourceError, SourceErrorKind, SourceSettings, Wanted, Way, open_sources,
};
use mintage_ledger::{BoxFuture, Class, Outcome, StoreSettings};
use mintage_testing::{Distinct, invariant, no_secret_in};

fn open_at(lab: &Lab<Redis>, url: &str) -> Arc<dyn Source> {
    open_with(lab, url, None, patient())
}

fn open_with(lab: &Lab<Redis>, url: &str, keys_max: Option<u64>, store: StoreSettings) -> Arc<dyn Source> {
    let settings = SourceSettings {
        store,
        keys_max,
        ..SourceSettings::default()
    };
    let mut found = open_sources(url, &settings, lab.runtime()).unwrap();
    assert_eq!(found.len(), 1);
    found.remove(0)
}

fn lab() -> Option<(Lab<Redis>, Arc<dyn Source>)> {
    let lab = Lab::new(Redis::run()?);
    let source = open_at(&lab, &lab.direct());
    Some((lab, source))
}

fn note(lab: &Lab<Redis>, source: &dyn Source, key: &str) -> Note {
    let found = lab.wait(source.look(key)).unwrap();
    Note {
        id: MoveId::fresh(&*lab.runtime()),
        before: found.map(|counter| counter.before).unwrap_or_default(),
        mark: None,
    }
}

struct Keys<'a> {
    lab: &'a Lab<Redis>,
    source: Arc<dyn Source>,
    made: AtomicU32,
}

impl Subject for Keys<'_> {
    fn source(&self) -> Arc<dyn Source> {
        self.source.clone()
    }

    fn make(&self) -> BoxFuture<'_, String> {
        let key = format!("orders:{}", self.made.fetch_add(1, Ordering::Relaxed));
        self.lab.engine.admin(&["SET", &key, "0"]);
        Box::pin(ready(key))
    }

    fn next<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Option<i64>> {
        let said = cli(self.lab.engine.address(), &["INCR", key], b"").out;
        assert!(
            said.trim().parse::<i64>().is_ok() || said.contains("WRONGTYPE"),
            "{said}"
        );
        Box::pin(ready(said.trim().parse().ok()))
    }
}

#[test]
fn keys_do_what_every_source_must() {
    let Some((lab, source)) = lab() else {
        return;
    };
    let subject = Keys {
        lab: &lab,
        source,
        made: AtomicU32::new(0),
    };
    lab.wait(check_all(&subject, &*lab.runtime()));
}

/// Lua's numbers are doubles: 2^53 + 1 must survive a take, a cut and a lift digit by digit.
#[test]
fn numbers_above_two_to_the_53_are_exact() {
    let Some((lab, source)) = lab() else {
        return;
    };
    for start in [
        9_007_199_254_740_992,
        9_223_372_036_854_775_000,
        -9_007_199_254_740_995,
        i64::MIN,
    ] {
        lab.engine.admin(&["SET", "big", &start.to_string()]);
        let taken = lab.wait(source.take("big", 3)).unwrap();
        assert_eq!(
            taken.iter().flat_map(|run| run.iter()).collect::<Vec<_>>(),
            [start + 1, start + 2, start + 3]
        );
        let note = note(&lab, &*source, "big");
        let fenced = lab.wait(source.fence("big", Way::Cut, &note)).unwrap();
        assert_eq!(fenced.mark, i128::from(start) + 4);
        let issued = start + 5;
        lab.wait(source.lift("big", &note, Some(issued))).unwrap();
        assert_eq!(
            lab.engine.admin(&["INCR", "big"]).trim(),
            (issued + 1).to_string()
        );
    }
}

/// INCR fails at the end of 64 bits and so do we, with what is left taken before.
#[test]
fn the_last_numbers_are_taken_and_then_it_is_exhausted() {
    let Some((lab, source)) = lab() else {
        return;
    };
    lab.engine.admin(&["SET", "last", &(i64::MAX - 2).to_string()]);
    let taken = lab.wait(source.take("last", 100)).unwrap();
    assert_eq!((taken[0].first, taken[0].count), (i64::MAX - 1, 2));
    let error = lab.wait(source.take("last", 1)).unwrap_err();
    assert_eq!(
        (error.kind, error.outcome),
        (SourceErrorKind::Exhausted, Outcome::NotDone)
    );
    let note = note(&lab, &*source, "last");
    let fenced = lab.wait(source.fence("last", Way::Cut, &note)).unwrap();
    assert_eq!(fenced.mark, i128::from(i64::MAX) + 1);
    lab.wait(source.lift("last", &note, None)).unwrap();
    assert_eq!(lab.engine.admin(&["GET", "last"]).trim(), i64::MAX.to_string());
}

/// What stands in the key's place says who moved it; INCR, INCRBY and GET fail loudly, SET NX does nothing.
#[test]
fn a_fence_is_a_hash_that_incr_refuses() {
    let Some((lab, source)) = lab() else {
        return;
    };
    lab.engine.admin(&["SET", "orders", "5017"]);
    let note = note(&lab, &*source, "orders");
    lab.wait(source.fence("orders", Way::Cut, &note)).unwrap();
    let field = |name: &str| lab.engine.admin(&["HGET", "orders", name]).trim().to_string();
    assert_eq!(field("moved_to"), "mint");
    assert_eq!(field("move"), note.id.to_string());
    assert_eq!(field("last"), "5017");
    assert!(field("at").parse::<i64>().unwrap() > 1_700_000_000_000);
    let address = lab.engine.address();
    for words in [
        &["INCR", "orders"][..],
        &["INCRBY", "orders", "5"],
        &["GET", "orders"],
    ] {
        assert!(cli(address, words, b"").out.contains("WRONGTYPE"));
    }
    cli(address, &["SET", "orders", "1", "NX"], b"");
    let ours = Fence::Ours {
        id: Some(note.id),
        mark: 5018,
    };
    assert_eq!(lab.wait(source.check("orders", &note)), Ok(ours));
    // Somebody else's move finds it and leaves it alone.
    let other = Note {
        id: MoveId::fresh(&*lab.runtime()),
        before: note.before.clone(),
        mark: None,
    };
    for refused in [
        lab.wait(source.fence("orders", Way::Cut, &other)).unwrap_err(),
        lab.wait(source.lift("orders", &other, None)).unwrap_err(),
    ] {
        assert_eq!(refused.kind, SourceErrorKind::Foreign, "{refused:?}");
        assert!(refused.message.contains(&note.id.to_string()), "{refused:?}");
    }
    assert_eq!(field("last"), "5017");
}

/// An old client's plain SET, a DEL and another type over the fence are seen.
#[test]
fn what_clients_do_to_a_fence_is_seen() {
    let Some((lab, source)) = lab() else {
        return;
    };
    for (words, why) in [
        (&["SET", "orders", "1"][..], "holds 1, and held 100 before"),
        (&["DEL", "orders"], "not there"),
        (&["HDEL", "orders", "move"], "is a hash"),
    ] {
        lab.engine.admin(&["DEL", "orders"]);
        lab.engine.admin(&["SET", "orders", "100"]);
        let note = note(&lab, &*source, "orders");
        lab.wait(source.fence("orders", Way::Cut, &note)).unwrap();
        lab.engine.admin(words);
        match lab.wait(source.check("orders", &note)).unwrap() {
            Fence::Broken { why: said, .. } => assert!(said.contains(why), "{said}"),
            other => panic!("{words:?}: {other:?}"),
        }
        let lifted = lab.wait(source.lift("orders", &note, Some(150)));
        assert!(lifted.is_err(), "{words:?}: it would give out numbers again");
    }
}

/// What is no counter is neither taken from nor fenced, and stays as it is.
#[test]
fn what_is_no_counter_is_left_alone() {
    let Some((lab, source)) = lab() else {
        return;
    };
    let set = |words: &[&str]| lab.engine.admin(words);
    set(&["SET", "text", "hello"]);
    set(&["SET", "leading", "007"]);
    set(&["SET", "wide", "9223372036854775808"]);
    set(&["SET", "long", &"1".repeat(1000)]);
    set(&["SET", "session", "5", "EX", "1000"]);
    set(&["HSET", "hash", "last", "5"]);
    set(&["LPUSH", "list", "5"]);
    for key in ["text", "leading", "wide", "long", "session", "hash", "list"] {
        assert_eq!(lab.wait(source.look(key)), Ok(None), "{key}");
        let note = note(&lab, &*source, key);
        let errors = [
            lab.wait(source.take(key, 1)).unwrap_err(),
            lab.wait(source.fence(key, Way::Cut, &note)).unwrap_err(),
        ];
        for error in errors {
            assert_eq!(error.kind, SourceErrorKind::Refused, "{error:?}");
            assert!(error.message.contains("is no counter but a"), "{error:?}");
        }
    }
    assert_eq!(set(&["GET", "session"]).trim(), "5");
    let note = note(&lab, &*source, "absent");
    for error in [
        lab.wait(source.take("absent", 1)).unwrap_err(),
        lab.wait(source.fence("absent", Way::Cut, &note)).unwrap_err(),
    ] {
        assert_eq!(error.kind, SourceErrorKind::Gone, "{error:?}");
    }
    assert_eq!(set(&["EXISTS", "absent"]).trim(), "0", "a take makes no key");
    let ceiling = lab
        .wait(source.fence("text", Way::Ceiling(9), &note))
        .unwrap_err();
    assert_eq!(ceiling.kind, SourceErrorKind::Refused);
    assert_eq!(lab.wait(source.list(&Wanted::default())).unwrap().counters, []);
}

/// Keys are any bytes; their text leads back to them.
#[test]
fn keys_of_any_bytes_are_listed_moved_and_given_back() {
    let Some((lab, source)) = lab() else {
        return;
    };
    let mut client = Resp::connect(lab.engine.address()).unwrap();
    client.ask(&["SET", "größe", "1"]).unwrap();
    client.ask(&["SET", "a\\b", "2"]).unwrap();
    client.ask(&["SET", "with blank\n", "3"]).unwrap();
    cli(
        lab.engine.address(),
        &["EVAL", "redis.call('SET', '\\255\\0k', '4')", "0"],
        b"",
    );
    let listed = lab.wait(source.list(&Wanted::default())).unwrap();
    assert_eq!(listed.failed, Vec::<String>::new());
    let keys: BTreeSet<&str> = listed.counters.iter().map(|counter| &*counter.key).collect();
    assert_eq!(keys, ["a\\\\b", "größe", "with blank\\x0a", "\\xff\\x00k"].into());
    for counter in &listed.counters {
        let note = note(&lab, &*source, &counter.key);
        let mark = counter.mark.unwrap();
        assert_eq!(
            lab.wait(source.fence(&counter.key, Way::Cut, &note))
                .unwrap()
                .mark,
            mark
        );
        lab.wait(source.lift(&counter.key, &note, Some(10))).unwrap();
        assert_eq!(
            lab.wait(source.look(&counter.key)).unwrap().unwrap().mark,
            Some(11)
        );
    }
    assert_eq!(
        client.ask(&["INCR", "a\\b"]).unwrap().text().as_deref(),
        Some("11")
    );
    let error = lab.wait(source.look("a\\b")).unwrap_err();
    assert_eq!(error.kind, SourceErrorKind::Invalid, "{error:?}");
}

/// A list ends at its limit and says so; with one glob the server leaves the others out.
#[test]
fn lists_have_a_limit() {
    let Some((lab, _)) = lab() else {
        return;
    };
    cli(
        lab.engine.address(),
        &[
            "EVAL",
            "for i = 1, 5000 do redis.call('SET', 'k:' .. i, i) end redis.call('SET', 'orders', 1)",
            "0",
        ],
        b"",
    );
    let all = open_at(&lab, &lab.direct());
    let listed = lab.wait(all.list(&Wanted::default())).unwrap();
    assert_eq!((listed.counters.len(), listed.failed.len()), (5001, 0));
    let few = open_with(&lab, &lab.direct(), Some(1000), patient());
    let listed = lab.wait(few.list(&Wanted::default())).unwrap();
    assert!(
        (1000..1600).contains(&listed.counters.len()),
        "{}",
        listed.counters.len()
    );
    assert!(
        listed.failed[0].contains("more than 1000 keys") && listed.failed[0].contains("--match"),
        "{:?}",
        listed.failed
    );
    let wanted = Wanted {
        matching: vec!["ord?rs".into()],
        full: false,
        ..Wanted::default()
    };
    let listed = lab.wait(few.list(&wanted)).unwrap();
    assert_eq!((listed.counters.len(), listed.failed.len()), (1, 0));
}

/// Who may only read is told what to type, and what is typed then suffices.
#[test]
fn wrong_rights_are_named_and_what_they_name_suffices() {
    let Some((lab, _)) = lab() else {
        return;
    };
    lab.engine.admin(&["SET", "orders", "7"]);
    let url = lab.engine.url_of_reader(lab.engine.address()).unwrap();
    let source = open_at(&lab, &url);
    let note = note(&lab, &*source, "orders");
    let missing = lab.wait(source.rights("orders", Way::Cut)).unwrap();
    let errors: [SourceError; 2] = [
        lab.wait(source.take("orders", 1)).unwrap_err(),
        lab.wait(source.fence("orders", Way::Cut, &note)).unwrap_err(),
    ];
    for error in &errors {
        assert_eq!(
            (error.kind, error.outcome),
            (SourceErrorKind::Denied, Outcome::NotDone),
            "{error:?}"
        );
        assert_eq!(error.fix.as_slice(), missing, "{error:?}");
        no_secret_in("an error", &format!("{error:?}"), READER_PASSWORD);
    }
    assert_eq!(
        lab.engine.admin(&["GET", "orders"]).trim(),
        "7",
        "nothing was done"
    );
    let words: Vec<&str> = missing[0].split(' ').collect();
    lab.engine.admin(&[
        "ACL",
        "SETUSER",
        "reader",
        "reset",
        "on",
        &format!(">{READER_PASSWORD}"),
    ]);
    lab.engine.admin(&words);
    let source = open_at(&lab, &url);
    assert_eq!(lab.wait(source.rights("orders", Way::Cut)), Ok(Vec::new()));
    assert_eq!(lab.wait(source.rights("orders", Way::Beside)), Ok(Vec::new()));
    assert_eq!(lab.wait(source.durability()).unwrap().class, Class::Durable);
    assert_eq!(lab.wait(source.take("orders", 1)).unwrap()[0].first, 8);
    lab.wait(source.fence("orders", Way::Cut, &note)).unwrap();
    lab.wait(source.lift("orders", &note, Some(20))).unwrap();
    assert_eq!(lab.engine.admin(&["GET", "orders"]).trim(), "20");
}

/// Each right of the fence is asked for before the key goes: with any of them missing the counter stands as it was.
#[test]
fn no_missing_right_leaves_the_key_absent() {
    let Some((lab, _)) = lab() else {
        return;
    };
    lab.engine.admin(&["SET", "orders", "7"]);
    let source = open_at(&lab, &lab.direct());
    let note = note(&lab, &*source, "orders");
    for lacking in ["-hset", "-del", "-eval", "-get", "-type", "-strlen", "-pttl"] {
        lab.engine.admin(&["ACL", "SETUSER", "mint", "+@all", lacking]);
        let error = lab.wait(source.fence("orders", Way::Cut, &note)).unwrap_err();
        assert_eq!(error.kind, SourceErrorKind::Denied, "{lacking}: {error:?}");
        assert_eq!(lab.engine.admin(&["GET", "orders"]).trim(), "7", "{lacking}");
    }
    lab.engine.admin(&["ACL", "SETUSER", "mint", "+@all"]);
    // No memory for the hash: the number stays, too.
    lab.engine.admin(&["CONFIG", "SET", "maxmemory", "1"]);
    lab.wait(source.fence("orders", Way::Cut, &note)).unwrap_err();
    lab.engine.admin(&["CONFIG", "SET", "maxmemory", "0"]);
    assert_eq!(lab.engine.admin(&["GET", "orders"]).trim(), "7");
}

/// A wrong password, a replica, a cluster's node and a prefix are refused in words.
#[test]
fn servers_of_no_use_are_refused_in_words() {
    let Some((lab, _)) = lab() else {
        return;
    };
    let stranger = open_at(&lab, &lab.engine.url_of_stranger(lab.engine.address()).unwrap());
    let error = lab.wait(stranger.look("orders")).unwrap_err();
    assert_eq!(error.kind, SourceErrorKind::Denied, "{error:?}");
    let replica = Lab::new(lab.engine.replica(lab.engine.address()));
    let source = open_at(&replica, &replica.direct());
    let error = replica.wait(source.look("orders")).unwrap_err();
    assert!(
        error.message.contains("is a replica, writes go to its master"),
        "{error:?}"
    );
    // Its own choice would be the port ten thousand above, which may be another test's.
    let bus = free().port().to_string();
    let Some(node) = Redis::with_settings(&["--cluster-enabled", "yes", "--cluster-port", &bus]) else {
        return;
    };
    let node = Lab::new(node);
    let source = open_at(&node, &node.direct());
    let error = node.wait(source.take("orders", 1)).unwrap_err();
    assert!(
        error.message.contains("Redis Cluster, which is not supported"),
        "{error:?}"
    );
    let settings = SourceSettings::default();
    let error = open_sources("redis://db/0?prefix=eu:", &settings, lab.runtime()).unwrap_err();
    assert!(error.message.contains("leave out prefix="), "{error:?}");
    no_secret_in("an error", &format!("{error:?}"), OWNER_PASSWORD);
}

/// The class is the store's own judgement: everysec and RDB are class L.
#[test]
fn a_server_that_may_forget_says_so() {
    let Some((lab, source)) = lab() else {
        return;
    };
    assert_eq!(lab.wait(source.durability()).unwrap().class, Class::Durable);
    lab.engine.admin(&["CONFIG", "SET", "appendfsync", "everysec"]);
    let found = lab.wait(source.durability()).unwrap();
    assert_eq!(found.class, Class::Lossy);
    assert!(found.why.contains("appendfsync is everysec"), "{found:?}");
}

/// Clients INCR while ranges are taken and the server is killed over and over: nobody gets a number twice.
#[test]
fn a_killed_server_gives_nothing_twice() {
    let Some((mut lab, source)) = lab() else {
        return;
    };
    lab.engine.admin(&["SET", "orders", "0"]);
    let mut seen = Distinct::of("orders");
    for _ in 0..5 {
        for _ in 0..5 {
            let number = lab
                .engine
                .admin(&["INCR", "orders"])
                .trim()
                .parse::<i64>()
                .unwrap();
            seen.add(number);
            let taken = lab.wait(source.take("orders", 7)).unwrap();
            seen.extend(taken.iter().flat_map(|run| run.iter()));
        }
        lab.engine.kill();
        lab.engine.start();
    }
    let note = note(&lab, &*source, "orders");
    let fenced = lab.wait(source.fence("orders", Way::Cut, &note)).unwrap();
    let last = i128::from(*seen.iter().max().unwrap());
    invariant!(last < fenced.mark, "{last} of {fenced:?}");
    lab.engine.kill();
    lab.engine.start();
    let again = lab.wait(source.fence("orders", Way::Cut, &note)).unwrap();
    invariant!(fenced == again, "{again:?} after a kill, {fenced:?} before");
}

/// Eight clients INCR while the key is cut: every number they got lies below the mark, and each got an error then.
#[test]
fn a_cut_under_load_lets_no_number_through() {
    let Some((lab, source)) = lab() else {
        return;
    };
    lab.engine.admin(&["SET", "orders", "0"]);
    let address = lab.engine.address();
    let clients: Vec<_> = (0..8)
        .map(|_| {
            std::thread::spawn(move || {
                let mut client = Resp::connect(address).unwrap();
                let mut numbers = Vec::new();
                while let Some(number) = client.ask(&["INCR", "orders"]).unwrap().int() {
                    numbers.push(number);
                }
                numbers
            })
        })
        .collect();
    let mut seen = Distinct::of("orders");
    while seen.len() < 2000 {
        let taken = lab.wait(source.take("orders", 20)).unwrap();
        seen.extend(taken.iter().flat_map(|run| run.iter()));
    }
    let taken = seen.len();
    let note = note(&lab, &*source, "orders");
    let fenced = lab.wait(source.fence("orders", Way::Cut, &note)).unwrap();
    let mut given = 0;
    for client in clients {
        for number in client.join().unwrap() {
            seen.add(number);
            given += 1;
        }
    }
    assert!(given > 0, "the clients took part");
    assert_eq!(seen.len(), taken + given);
    let last = *seen.iter().max().unwrap();
    invariant!(
        fenced.mark == i128::from(last) + 1,
        "{fenced:?} is next after {last}"
    );
    invariant!(
        usize::try_from(last).unwrap() == seen.len(),
        "{} numbers up to {last}: something is lost",
        seen.len()
    );
}

/// A server that dies in the middle of its sync: whether the take happened nobody knows, and the error says so.
#[test]
fn a_take_without_an_answer_has_an_unknown_outcome() {
    if !need::strace() {
        return;
    }
    let Some((mut lab, source)) = lab() else {
        return;
    };
    lab.engine.admin(&["SET", "orders", "0"]);
    assert_eq!(lab.wait(source.take("orders", 1)).unwrap()[0].first, 1);
    let hasty = open_with(&lab, &lab.direct(), None, quick());
    let slow = lab.engine.slow_syncs();
    let error = lab.wait(hasty.take("orders", 10)).unwrap_err();
    assert_eq!(
        (error.kind, error.outcome),
        (SourceErrorKind::Unavailable, Outcome::Unknown),
        "{error:?}"
    );
    lab.engine.kill_during(slow);
    let error = lab.wait(source.take("orders", 10)).unwrap_err();
    assert_eq!(
        (error.kind, error.outcome),
        (SourceErrorKind::Unavailable, Outcome::NotDone),
        "nobody was there: {error:?}"
    );
    lab.engine.start();
    assert!(lab.wait(source.take("orders", 1)).unwrap()[0].first >= 2);
}
