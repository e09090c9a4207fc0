//! The counters that MariaDB keeps itself, on a real server: what every source must do, every statement that a move
//! runs, and what a crash leaves.
#![allow(clippy::unwrap_used)]

use std::future::{poll_fn, ready};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::Poll;
use std::time::Duration;

use mintage_e2e::cluster::eventually;
use mintage_e2e::engine::mariadb::Mariadb;
use mintage_e2e::store_suite::{Engine, Lab, READER_PASSWORD, READER_PASSWORD_ENCODED, patient, quick};
use mintage_e2e::writers::Session;
use mintage_ledger::source::conformance::{Subject, check_all};
use mintage_ledger::source::{
    Counter, Fence, Fenced, FindingCode, How, MoveId, Note, Source, SourceErrorKind, SourceSettings, Wanted,
    Way, open_sources,
};
use mintage_ledger::{BoxFuture, Class, Outcome, StoreSettings};
use mintage_testing::{Distinct, invariant, no_secret_in};

/// How one kind's counters are made and used by its clients; `{k}` is the counter's own name.
struct Original {
    kind: &'static str,
    key: &'static str,
    make: &'static str,
    next: &'static str,
}

const SEQUENCE: Original = Original {
    kind: "mariadb",
    key: "ids.{k}",
    make: "CREATE SEQUENCE `{k}`",
    next: "SELECT NEXTVAL(`{k}`)",
};

const DESCENDING: Original = Original {
    kind: "mariadb",
    key: "ids.{k}",
    make: "CREATE SEQUENCE `{k}` INCREMENT BY -1 CACHE 7",
    next: "SELECT NEXTVAL(`{k}`)",
};

const GENERATED: Original = Original {
    kind: "auto_increment",
    key: "ids.{k}.id",
    make: "CREATE TABLE `{k}` (id bigint NOT NULL AUTO_INCREMENT PRIMARY KEY, n int) ENGINE=InnoDB",
    next: "INSERT INTO `{k}` (n) VALUES (1); SELECT LAST_INSERT_ID()",
};

const TICKETS: Original = Original {
    kind: "tickets",
    key: "ids.{k}",
    make: "CREATE TABLE `{k}` (id bigint(20) unsigned NOT NULL auto_increment, stub char(1) NOT NULL default '', \
           PRIMARY KEY (id), UNIQUE KEY stub (stub)) ENGINE=InnoDB",
    next: "REPLACE INTO `{k}` (stub) VALUES ('a'); SELECT LAST_INSERT_ID()",
};

const TICKETS_OF_FLICKR: Original = Original {
    make: "CREATE TABLE `{k}` (id bigint(20) unsigned NOT NULL auto_increment, stub char(1) NOT NULL default '', \
           PRIMARY KEY (id), UNIQUE KEY stub (stub)) ENGINE=MyISAM",
    ..TICKETS
};

/// Counters of one kind on one server.
struct Made<'a> {
    lab: &'a Lab<Mariadb>,
    original: &'a Original,
    source: Arc<dyn Source>,
    made: AtomicU32,
}

impl Made<'_> {
    fn new<'a>(lab: &'a Lab<Mariadb>, original: &'a Original) -> Made<'a> {
        Made {
            lab,
            original,
            source: open(lab, original.kind),
            made: AtomicU32::new(0),
        }
    }

    /// Makes the counter of this name and answers its key.
    fn create(&self, name: &str) -> String {
        let quoted = name.replace('`', "``");
        self.lab
            .engine
            .admin("ids", &self.original.make.replace("{k}", &quoted));
        self.original.key.replace("{k}", name)
    }

    fn taken(&self, name: &str) -> Result<i64, String> {
        let quoted = name.replace('`', "``");
        let said = self
            .lab
            .engine
            .sql("ids", &self.original.next.replace("{k}", &quoted));
        match said.code {
            0 => Ok(said.out.trim().parse().unwrap()),
            _ => Err(said.err),
        }
    }

    fn take(&self, key: &str, n: u64) -> Vec<i64> {
        numbers(&self.lab.wait(self.source.take(key, n)).unwrap())
    }

    fn cut(&self, key: &str, note: &Note) -> i128 {
        let fenced = self.lab.wait(self.source.fence(key, Way::Cut, note));
        fenced.unwrap().mark
    }

    fn lift(&self, key: &str, note: &Note, issued: Option<i64>) {
        self.lab.wait(self.source.lift(key, note, issued)).unwrap();
    }

    fn look(&self, key: &str) -> Counter {
        look(self.lab, &*self.source, key)
    }

    fn note(&self, key: &str) -> Note {
        note(self.lab, &*self.source, key)
    }
}

impl Subject for Made<'_> {
    fn source(&self) -> Arc<dyn Source> {
        self.source.clone()
    }

    fn make(&self) -> BoxFuture<'_, String> {
        let number = self.made.fetch_add(1, Ordering::Relaxed);
        let at = std::ptr::from_ref(self.original).addr() % 100_000;
        Box::pin(ready(self.create(&format!("k`{at}_{number}"))))
    }

    fn next<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Option<i64>> {
        let name = key.strip_prefix("ids.").unwrap();
        let name = name.strip_suffix(".id").unwrap_or(name);
        let taken = self.taken(name).map_err(|why| {
            let refusals = ["4084", "1644", "1146"];
            assert!(refusals.iter().any(|number| why.contains(number)), "{why}");
        });
        Box::pin(ready(taken.ok()))
    }
}

fn open(lab: &Lab<Mariadb>, kind: &str) -> Arc<dyn Source> {
    open_at(lab, kind, &lab.direct())
}

fn open_at(lab: &Lab<Mariadb>, kind: &str, url: &str) -> Arc<dyn Source> {
    open_with(lab, kind, url, patient())
}

/// One whose patience a test can wait for.
fn open_quick(lab: &Lab<Mariadb>, kind: &str) -> Arc<dyn Source> {
    // A wait for locks takes half of that for an answer, a second at least.
    let settings = StoreSettings {
        request_timeout: Duration::from_secs(4),
        ..quick()
    };
    open_with(lab, kind, &lab.direct(), settings)
}

fn open_with(lab: &Lab<Mariadb>, kind: &str, url: &str, store: StoreSettings) -> Arc<dyn Source> {
    let settings = SourceSettings {
        store,
        ..SourceSettings::default()
    };
    let mut found = open_sources(&format!("{kind}+{url}"), &settings, lab.runtime()).unwrap();
    assert_eq!(found.len(), 1);
    found.remove(0)
}

/// What a counter was, but for the number of its class that a look remembers.
fn bounds(counter: &Counter) -> Vec<(&String, &String)> {
    counter.before.iter().filter(|(what, _)| *what != "one").collect()
}

fn look(lab: &Lab<Mariadb>, source: &dyn Source, key: &str) -> Counter {
    lab.wait(source.look(key)).unwrap().unwrap()
}

fn note(lab: &Lab<Mariadb>, source: &dyn Source, key: &str) -> Note {
    Note {
        id: MoveId::fresh(&*lab.runtime()),
        before: look(lab, source, key).before,
        mark: None,
    }
}

fn numbers(runs: &[mintage::Run]) -> Vec<i64> {
    runs.iter().flat_map(mintage::Run::iter).collect()
}

/// What a client of the original prints: a number a line.
fn printed(out: &str) -> Vec<i64> {
    out.lines().map(|line| line.trim().parse().unwrap()).collect()
}

fn lab_with(settings: &[&str]) -> Option<Lab<Mariadb>> {
    Some(Lab::new(Mariadb::with_settings(settings)?))
}

fn lab() -> Option<Lab<Mariadb>> {
    Some(Lab::new(Mariadb::borrow()?))
}

fn conforms(original: &Original) {
    let Some(lab) = lab() else {
        return;
    };
    lab.wait(check_all(&Made::new(&lab, original), &*lab.runtime()));
}

#[test]
fn sequences_do_what_every_source_must() {
    conforms(&SEQUENCE);
}

#[test]
#[ignore = "minutes: counters of every kind"]
fn descending_sequences_do_what_every_source_must() {
    conforms(&DESCENDING);
}

#[test]
fn generated_columns_do_what_every_source_must() {
    conforms(&GENERATED);
}

#[test]
fn ticket_tables_do_what_every_source_must() {
    conforms(&TICKETS);
}

#[test]
#[ignore = "minutes: counters of every kind"]
fn ticket_tables_of_flickr_do_what_every_source_must() {
    conforms(&TICKETS_OF_FLICKR);
}

/// The kinds whose takes survive a crash, and the tables of the older engine.
const ALL: [&Original; 5] = [&SEQUENCE, &DESCENDING, &GENERATED, &TICKETS, &TICKETS_OF_FLICKR];

/// The clients' own statements in four sessions, our takes in between, and a cut: no number twice, none beyond the mark;
/// and after the way back none that was issued.
#[test]
#[ignore = "minutes: clients and a cut"]
fn beside_clients_and_a_cut_under_load_repeat_nothing() {
    let Some(lab) = lab() else {
        return;
    };
    for (at, original) in ALL.into_iter().enumerate() {
        let made = Made::new(&lab, original);
        let name = format!("busy{at}");
        let key = made.create(&name);
        let note = made.note(&key);
        let increment = made.look(&key).increment;
        let sign = i128::from(increment.signum());
        // Each stops at its first error, as a client would.
        let script = format!("{};\n", original.next.replace("{k}", &name)).repeat(2000);
        let mut seen = Distinct::of(&name);
        let mut see = |number: i64| seen.add(number);
        let first = made.take(&key, 1)[0];
        let (mut last, mut ours) = (first, 1);
        see(first);
        let mark = std::thread::scope(|scope| {
            let clients = [(); 4].map(|()| scope.spawn(|| lab.engine.sql("ids", &script).out));
            let mut take = |n| {
                for number in made.take(&key, n) {
                    (last, ours) = (number, ours + 1);
                    see(number);
                }
                // Somebody else was served.
                last - first != increment * (ours - 1)
            };
            for n in [1, 10, 100, 5, 7, 50, 1000, 3] {
                take(n);
            }
            // On a busy machine it takes a while until they are there.
            eventually("clients are served", || take(1));
            // Busy writers may hold it off: the caller tries again.
            let fence = || lab.wait(made.source.fence(&key, Way::Cut, &note)).ok();
            let mark = (0..10).find_map(|_| fence()).unwrap().mark;
            let outs = clients.map(|client| client.join().unwrap());
            outs.iter().flat_map(|out| printed(out)).for_each(&mut see);
            mark
        });
        let beyond = |number: i64, mark: i128| (i128::from(number) - mark) * sign >= 0;
        assert!(
            i64::try_from(seen.len()).unwrap() > ours,
            "{name}: clients were served too"
        );
        let far = seen.iter().find(|number| beyond(**number, mark));
        invariant!(far.is_none(), "{name}: {far:?} is beyond {mark}");
        let issued = mark + 99 * sign;
        made.lift(&key, &note, Some(i64::try_from(issued).unwrap()));
        let again = printed(&lab.engine.sql("ids", &script).out);
        assert_eq!(again.len(), 2000, "{name}");
        let near = again.iter().find(|number| !beyond(**number, issued + sign));
        invariant!(near.is_none(), "{name}: {near:?} after {issued}");
    }
}

/// Drops a call after it has waited so many times: at once, or when the answer it waited for is there. `None`: dropped.
async fn stopped<T>(call: impl Future<Output = T>, waits: u32, at_once: bool) -> Option<T> {
    let mut call = pin!(call);
    let mut left = waits;
    poll_fn(move |context| {
        if left == 0 {
            return Poll::Ready(None);
        }
        match call.as_mut().poll(context) {
            Poll::Ready(answer) => Poll::Ready(Some(answer)),
            Poll::Pending => {
                left -= 1;
                if at_once && left == 0 {
                    return Poll::Ready(None);
                }
                Poll::Pending
            }
        }
    })
    .await
}

/// Whoever calls is stopped at every place where it waits for the server: the same call again ends what was begun, and no
/// number comes twice.
fn stopped_everywhere(original: &Original) {
    let Some(lab) = lab() else {
        return;
    };
    // Who may flush the log needs not wait for the server's own flush.
    lab.engine.admin("", "GRANT RELOAD ON *.* TO mint@'%'");
    let made = Made::new(&lab, original);
    let source = &made.source;
    for waits in 1.. {
        assert!(waits < 200, "every call ends");
        let mut done = 0;
        for at_once in [true, false] {
            let name = format!("s{waits}{at_once}");
            let key = made.create(&name);
            let sign = i128::from(made.look(&key).increment.signum());
            let mut seen = Distinct::of(&name);
            let mut see = |number: i64| seen.add(number);
            see(made.taken(&name).unwrap());
            let first = lab.wait(stopped(source.take(&key, 5), waits, at_once));
            done += u32::from(first.is_some());
            for number in numbers(&first.unwrap_or(Ok(Vec::new())).unwrap()) {
                see(number);
            }
            see(made.taken(&name).unwrap());
            made.take(&key, 5).into_iter().for_each(&mut see);
            see(made.taken(&name).unwrap());
            let note = made.note(&key);
            let first = lab.wait(stopped(source.fence(&key, Way::Cut, &note), waits, at_once));
            done += u32::from(first.is_some());
            // Between the two calls somebody may still be served.
            made.taken(&name).into_iter().for_each(&mut see);
            let mark = made.cut(&key, &note);
            assert!(
                first.is_none_or(|first| first == Ok(Fenced { mark })),
                "{name}: {mark}"
            );
            assert!(made.taken(&name).is_err(), "{name}");
            for number in seen.iter() {
                invariant!(
                    (i128::from(*number) - mark) * sign < 0,
                    "{name}: {number}, {mark}"
                );
            }
            let issued = mark + 20 * sign;
            let to = Some(i64::try_from(issued).unwrap());
            let first = lab.wait(stopped(source.lift(&key, &note, to), waits, at_once));
            done += u32::from(first.is_some());
            if let Ok(next) = made.taken(&name) {
                invariant!((i128::from(next) - issued) * sign > 0, "{name}: {next}, {issued}");
            }
            made.lift(&key, &note, to);
            let next = made.taken(&name).unwrap();
            invariant!((i128::from(next) - issued) * sign > 0, "{name}: {next}, {issued}");
            assert_eq!(made.look(&key).fence, Fence::None, "{name}");
        }
        // On a busy machine answers are often there before they are waited for: then there are more rounds.
        if done == 6 && waits > 5 {
            return;
        }
    }
}

#[test]
fn calls_for_sequences_are_stopped_everywhere() {
    stopped_everywhere(&SEQUENCE);
}

#[test]
#[ignore = "minutes: counters of every kind"]
fn calls_for_generated_columns_are_stopped_everywhere() {
    stopped_everywhere(&GENERATED);
}

#[test]
#[ignore = "minutes: every statement is stopped before and after it"]
fn calls_for_ticket_tables_are_stopped_everywhere() {
    stopped_everywhere(&TICKETS);
}

/// A sequence's bound, its place and its comment, as they were; the note is short enough for the longest comment.
#[test]
fn a_lift_puts_back_what_was_there() {
    let Some(lab) = lab() else {
        return;
    };
    lab.engine.admin(
        "ids",
        "CREATE SEQUENCE s START 40 MINVALUE 10 MAXVALUE 90 CACHE 3 CYCLE COMMENT 'it''s\\\\ ours; was min 1';
         CREATE SEQUENCE down START -5 INCREMENT -3 MINVALUE -900 MAXVALUE 7 CACHE 5; SELECT NEXTVAL(down);
         CREATE SEQUENCE used_up MAXVALUE 3 NOCACHE; SELECT NEXTVAL(used_up), NEXTVAL(used_up), NEXTVAL(used_up);
         CREATE TABLE t (id int unsigned NOT NULL AUTO_INCREMENT PRIMARY KEY, n int, was int) COMMENT 'of us';
         CREATE TRIGGER doubled BEFORE INSERT ON t FOR EACH ROW SET NEW.was = 2 * NEW.n;
         CREATE TRIGGER noted AFTER INSERT ON t FOR EACH ROW SET @noted = NEW.id;
         INSERT INTO t (n) VALUES (5), (6); DELETE FROM t WHERE id = 2;
         CREATE TABLE k (id int NOT NULL AUTO_INCREMENT PRIMARY KEY, stub varchar(9) NOT NULL UNIQUE) COMMENT 'tickets';
         REPLACE INTO k (stub) VALUES ('b''c')",
    );
    let shown = |what: &str, named: &str| {
        let table = lab.engine.admin("ids", &format!("SHOW CREATE TABLE {named}"));
        let comment =
            format!("SELECT table_comment FROM information_schema.tables WHERE table_name = '{named}'");
        let triggers = "SELECT trigger_name, action_statement FROM information_schema.triggers ORDER BY 1";
        format!(
            "{what} {table} {} {}",
            lab.engine.admin("ids", &comment),
            lab.engine.admin("ids", triggers)
        )
    };
    for (original, key, mark) in [
        (&SEQUENCE, "ids.s", 40),
        (&SEQUENCE, "ids.down", -20),
        (&SEQUENCE, "ids.used_up", 4),
        (&GENERATED, "ids.t.id", 3),
        (&TICKETS, "ids.k", 2),
    ] {
        let made = Made::new(&lab, original);
        let name = key.split('.').nth(1).unwrap();
        let (before, was) = (shown("before", name), made.look(key));
        assert_eq!(was.mark, Some(mark), "{key}");
        let note = made.note(key);
        // Unused ones must skip: MAXVALUE lies above MINVALUE.
        let fenced = made.cut(key, &note);
        assert!(matches!(made.look(key).fence, Fence::Ours { .. }), "{key}");
        let comment = made.look(key).comment.unwrap_or_default();
        assert!(!comment.contains("mint"), "{key}: {comment}");
        made.lift(key, &note, None);
        assert_eq!(shown("before", name), before, "{key}");
        let now = made.look(key);
        assert_eq!(
            (now.mark, now.cycle, &now.comment, bounds(&now)),
            (Some(fenced), was.cycle, &was.comment, bounds(&was)),
            "{key}"
        );
    }
    // Those of the table's owner have run all the time.
    let rows = lab.engine.admin(
        "ids",
        "INSERT INTO t (n) VALUES (7); SELECT id, was, @noted FROM t WHERE n = 7",
    );
    assert_eq!(rows.trim(), "3\t14\t3");
    let next = lab.engine.sql("ids", "SELECT NEXTVAL(used_up)");
    assert!(next.err.contains("4084"), "{next:?}");
    // The longest comment a table may have.
    lab.engine.admin(
        "ids",
        &format!("CREATE SEQUENCE long_one COMMENT '{}'", "ö".repeat(2048)),
    );
    let made = Made::new(&lab, &SEQUENCE);
    let (note, before) = (made.note("ids.long_one"), shown("", "long_one"));
    made.cut("ids.long_one", &note);
    made.lift("ids.long_one", &note, None);
    assert_eq!(shown("", "long_one"), before);
}

/// A trigger fails every insert that asks for a number, in every manner, and no other; ours pass.
#[test]
fn a_cut_column_takes_our_numbers_and_generates_none() {
    let Some(lab) = lab() else {
        return;
    };
    lab.engine.admin(
        "ids",
        "CREATE TABLE t (id bigint NOT NULL AUTO_INCREMENT PRIMARY KEY, n int UNIQUE);
         CREATE TRIGGER mine BEFORE INSERT ON t FOR EACH ROW SET NEW.n = COALESCE(NEW.n, 77);
         CREATE TABLE other (n int); INSERT INTO other VALUES (8), (9); INSERT INTO t (n) VALUES (1), (2)",
    );
    let made = Made::new(&lab, &GENERATED);
    let key = "ids.t.id";
    let note = made.note(key);
    assert_eq!(made.cut(key, &note), 3);
    for sql in [
        "INSERT INTO t (n) VALUES (3)",
        "INSERT INTO t VALUES (NULL, 3)",
        "INSERT INTO t VALUES (0, 3)",
        "INSERT INTO t VALUES (DEFAULT, 3)",
        "INSERT INTO t VALUES (7, 3), (NULL, 4)",
        "INSERT INTO t SET n = 3",
        "INSERT INTO t (n) SELECT n FROM other",
        "INSERT IGNORE INTO t (n) VALUES (3)",
        "INSERT INTO t (n) VALUES (1) ON DUPLICATE KEY UPDATE n = 50",
        "REPLACE INTO t (n) VALUES (1)",
        "REPLACE INTO t (n) SELECT n FROM other",
        "SET sql_mode = ''; INSERT INTO t (n) VALUES (3)",
        "SET sql_mode = 'NO_AUTO_VALUE_ON_ZERO'; INSERT INTO t VALUES (NULL, 3)",
    ] {
        let said = lab.engine.sql("ids", sql);
        let words = format!("ids of ids.t come from mint: {} from 3", note.id);
        assert!(
            said.err.contains("1644 (45000)") && said.err.contains(&words),
            "{sql}: {said:?}"
        );
    }
    assert_eq!(
        lab.engine.admin("ids", "SELECT COUNT(*), MAX(id) FROM t").trim(),
        "2\t2"
    );
    for sql in [
        "INSERT INTO t VALUES (3, 3)",
        "INSERT INTO t (id) VALUES (4)",
        "REPLACE INTO t VALUES (3, 5)",
        "INSERT INTO t SELECT n, n FROM other",
        "UPDATE t SET n = 6 WHERE id = 3",
        "INSERT INTO t VALUES (8, 8) ON DUPLICATE KEY UPDATE n = 18",
    ] {
        lab.engine.admin("ids", sql);
    }
    // The fence keeps its own mark, whatever numbers of ours have come since.
    let counter = made.look(key);
    assert_eq!(counter.highest(), Some(9));
    assert!(
        matches!(counter.fence, Fence::Ours { mark: 3, .. }),
        "{counter:?}"
    );
    assert_eq!(made.cut(key, &note), 3);
    made.lift(key, &note, Some(20));
    lab.engine.admin("ids", "INSERT INTO t (n) VALUES (99)");
    assert_eq!(
        lab.engine.admin("ids", "SELECT id, n FROM t WHERE id > 9").trim(),
        "21\t99"
    );
}

/// A fence waits for open transactions, whose numbers lie below its mark, but not for ever; killed, it is made by the next
/// call.
fn waits_for_the_open(original: &Original) {
    let Some(lab) = lab() else {
        return;
    };
    let made = Made::new(&lab, original);
    let hasty = open_quick(&lab, original.kind);
    let key = made.create("w");
    let (note, before) = (made.note(&key), made.look(&key));
    let next = original.next.replace("{k}", "w");
    // A failure here must not wait for it for long.
    let open = format!("BEGIN; {next}; SELECT SLEEP(60); COMMIT");
    let sessions = |what: &str| {
        let sql = format!("SELECT CONCAT('KILL ', id, ';') FROM information_schema.processlist WHERE {what}");
        lab.engine.admin("", &sql)
    };
    let wait_for = |what: &str| {
        let found = (0..3000).map(|_| sessions(what)).find(|found| !found.is_empty());
        found.unwrap_or_else(|| panic!("nobody is where {what}"))
    };
    let (sleeping, waiting) = (
        "info = 'SELECT SLEEP(60)'",
        "state = 'Waiting for table metadata lock'",
    );
    std::thread::scope(|scope| {
        let holder = scope.spawn(|| lab.engine.sql("ids", &open));
        wait_for(sleeping);
        let error = lab.wait(hasty.fence(&key, Way::Cut, &note)).unwrap_err();
        assert_eq!(
            (error.kind, error.outcome),
            (SourceErrorKind::Unavailable, Outcome::NotDone),
            "{key}: {error}"
        );
        let counter = made.look(&key);
        assert_eq!((counter.fence, counter.max), (Fence::None, before.max), "{key}");
        let fence = scope.spawn(|| lab.wait(made.source.fence(&key, Way::Cut, &note)));
        lab.engine.admin("", &wait_for(waiting));
        lab.engine.admin("", &wait_for(sleeping));
        assert_ne!(holder.join().unwrap().code, 0);
        if let Err(error) = fence.join().unwrap() {
            assert_eq!(error.kind, SourceErrorKind::Unavailable, "{key}: {error}");
        }
        made.cut(&key, &note);
        made.lift(&key, &note, None);
        // One that ends in time is waited for.
        let mut holder = Session::start(lab.engine.batch("ids"));
        holder.ask("BEGIN");
        let taken: i128 = holder.ask(&next).first().unwrap().parse().unwrap();
        let fence = scope.spawn(|| made.cut(&key, &note));
        wait_for(waiting);
        holder.ask("COMMIT");
        let mark = fence.join().unwrap();
        invariant!(taken < mark, "{key}: {taken}, {mark}");
    });
    assert!(made.taken("w").is_err(), "{key}");
}

#[test]
fn a_fence_of_a_sequence_waits_for_the_open() {
    waits_for_the_open(&SEQUENCE);
}

#[test]
#[ignore = "minutes: counters of every kind"]
fn a_fence_of_a_column_waits_for_the_open() {
    waits_for_the_open(&GENERATED);
}

#[test]
#[ignore = "minutes: counters of every kind"]
fn a_fence_of_tickets_waits_for_the_open() {
    waits_for_the_open(&TICKETS);
}

/// A ceiling lies behind what the server keeps in its cache; below it the sequence goes on, and then it fails at once.
#[test]
fn a_ceiling_says_the_least_one() {
    let Some(lab) = lab() else {
        return;
    };
    let made = Made::new(&lab, &SEQUENCE);
    lab.engine
        .admin("ids", "CREATE SEQUENCE s MAXVALUE 3000; SELECT NEXTVAL(s)");
    let note = made.note("ids.s");
    let ceiling = |at: i128| lab.wait(made.source.fence("ids.s", Way::Ceiling(at), &note));
    for (at, words) in [
        (2, "must be 1001 or further"),
        (1000, "must be 1001 or further"),
        (5000, "within 1 to 3000"),
    ] {
        let error = ceiling(at).unwrap_err();
        assert_eq!(
            (error.kind, error.outcome),
            (SourceErrorKind::Refused, Outcome::NotDone)
        );
        assert!(error.message.contains(words), "{error}");
    }
    assert_eq!(made.look("ids.s").fence, Fence::None);
    // Nothing is lost by a refusal; the cache of 1,000 by a ceiling.
    assert_eq!(made.taken("s"), Ok(2));
    assert_eq!(ceiling(1003), Ok(Fenced { mark: 1003 }));
    assert_eq!((made.taken("s"), made.taken("s")), (Ok(1001), Ok(1002)));
    assert!(made.taken("s").unwrap_err().contains("4084"));
    assert_eq!(made.cut("ids.s", &note), 1003);
    // Ahead, under load: nobody is refused below it, and nobody gets more.
    lab.engine.admin("ids", "CREATE SEQUENCE busy CACHE 10");
    let note = made.note("ids.busy");
    let script = "SELECT NEXTVAL(busy);\n".repeat(1000);
    let until_refused = || {
        let mut seen = Vec::new();
        loop {
            let said = lab.engine.sql("ids", &script);
            seen.extend(printed(&said.out));
            if said.code != 0 {
                break seen;
            }
        }
    };
    std::thread::scope(|scope| {
        let clients = [(); 2].map(|()| scope.spawn(until_refused));
        while made.look("ids.busy").mark < Some(100) {}
        let fenced = lab.wait(made.source.fence("ids.busy", Way::Ceiling(60_000), &note));
        let fenced = fenced.unwrap();
        let mut seen = Distinct::of("busy");
        seen.extend(clients.into_iter().flat_map(|client| client.join().unwrap()));
        assert!(seen.len() > 50_000, "{}", seen.len());
        let last = i128::from(*seen.iter().max().unwrap());
        invariant!(last < fenced.mark, "{last} of {fenced:?}");
        assert!(made.taken("busy").unwrap_err().contains("4084"));
    });
    // The other kinds have none, and beside is no fence.
    for (original, way) in [
        (&GENERATED, Way::Ceiling(9)),
        (&TICKETS, Way::Ceiling(9)),
        (&TICKETS, Way::Beside),
    ] {
        let made = Made::new(&lab, original);
        let key = made.create("other");
        let note = made.note(&key);
        let error = lab.wait(made.source.fence(&key, way, &note)).unwrap_err();
        assert_eq!(error.kind, SourceErrorKind::Refused, "{error}");
        lab.engine.admin("ids", "DROP TABLE other");
    }
}

/// All numbers of a take are used, and the next one is a client's: a statement that drew a number twice would skip.
#[test]
fn a_take_skips_nothing() {
    let Some(lab) = lab() else {
        return;
    };
    let made = Made::new(&lab, &SEQUENCE);
    lab.engine.admin("ids", "CREATE SEQUENCE s CACHE 5");
    assert_eq!(made.taken("s"), Ok(1));
    assert_eq!(made.take("ids.s", 5000), (2..=5001).collect::<Vec<i64>>());
    assert_eq!(made.taken("s"), Ok(5002));
}

/// An account that may only read: what it lacks is said, and what was said suffices.
#[test]
fn wrong_rights_are_named_and_what_they_name_suffices() {
    let Some(lab) = lab_with(&["--log-bin=log", "--server-id=7"]) else {
        return;
    };
    let address = lab.engine.address();
    let url = lab.engine.url_with("reader", READER_PASSWORD_ENCODED, address);
    for original in [&SEQUENCE, &GENERATED, &TICKETS] {
        let mut made = Made::new(&lab, original);
        made.source = open_at(&lab, original.kind, &url);
        let key = made.create("it`s");
        let taken = made.taken("it`s").unwrap();
        let note = made.note(&key);
        let refused = |error: mintage_ledger::source::SourceError| {
            assert_eq!(
                (error.kind, error.outcome),
                (SourceErrorKind::Denied, Outcome::NotDone),
                "{error}"
            );
            no_secret_in("an error", &format!("{error:?}"), READER_PASSWORD);
            error.fix.unwrap_or_else(|| panic!("{key}: {}", error.message))
        };
        let lacking = lab.wait(made.source.rights(&key, Way::Beside)).unwrap();
        let fix = refused(lab.wait(made.source.take(&key, 3)).unwrap_err());
        assert_eq!(vec![fix.clone()], lacking, "{key}");
        lab.engine.admin("", &fix);
        let mut ours = made.take(&key, 3);
        assert_eq!(ours.len(), 3, "{key}");
        ours.push(taken);
        // What is granted for one way is not asked for again.
        let lacking = lab.wait(made.source.rights(&key, Way::Cut)).unwrap();
        match lab.wait(made.source.fence(&key, Way::Cut, &note)) {
            // With a binary log a trigger also needs a setting of the server.
            Err(error) if lacking.is_empty() => {
                let fix = refused(error);
                assert!(fix.contains("log_bin_trust_function_creators"), "{fix}");
                lab.engine.admin("", &fix);
            }
            Err(error) => {
                let fix = refused(error);
                assert_eq!(vec![fix.clone()], lacking, "{key}");
                lab.engine.admin("", &fix);
            }
            Ok(fenced) => panic!("{key}: {fenced:?} without a right"),
        }
        assert_eq!(lab.wait(made.source.rights(&key, Way::Cut)), Ok(Vec::new()));
        let mark = made.cut(&key, &note);
        invariant!(
            ours.iter().all(|number| i128::from(*number) < mark),
            "{key}: {ours:?} of {mark}"
        );
        let found = lab.wait(made.source.check(&key, &note)).unwrap();
        assert!(matches!(found, Fence::Ours { .. }), "{key}: {found:?}");
        made.lift(&key, &note, Some(10_000));
        let next = made.taken("it`s").unwrap();
        invariant!(next > 10_000, "{key}: {next}");
        lab.engine.admin(
            "",
            "REVOKE ALL, GRANT OPTION FROM reader@'%'; GRANT SELECT ON ids.* TO reader@'%'",
        );
        lab.engine.admin("ids", "DROP TABLE `it``s`");
    }
    // Who sees nothing finds nothing.
    lab.engine.admin("", "REVOKE ALL, GRANT OPTION FROM reader@'%'; CREATE DATABASE other; GRANT SELECT ON other.* TO reader@'%'");
    let url = url.replace("/ids", "/other");
    for original in [&SEQUENCE, &GENERATED, &TICKETS] {
        let made = Made::new(&lab, original);
        let key = made.create("hidden");
        let source = open_at(&lab, original.kind, &url);
        assert_eq!(lab.wait(source.look(&key)), Ok(None));
        let error = lab.wait(source.take(&key, 1)).unwrap_err();
        assert!(
            error.kind == SourceErrorKind::Gone && error.message.contains("may not see it"),
            "{error}"
        );
        lab.engine.admin("ids", "DROP TABLE hidden");
    }
}

/// What people do to a fence is seen, and a way back never leaves a number that was issued to come.
#[test]
fn broken_and_foreign_fences_are_seen() {
    let Some(lab) = lab() else {
        return;
    };
    let made = Made::new(&lab, &SEQUENCE);
    lab.engine.admin("ids", "CREATE SEQUENCE s; SELECT SETVAL(s, 41)");
    let (ours, theirs) = (made.note("ids.s"), made.note("ids.s"));
    assert_eq!(made.cut("ids.s", &ours), 42);
    let error = lab
        .wait(made.source.fence("ids.s", Way::Cut, &theirs))
        .unwrap_err();
    assert_eq!(error.kind, SourceErrorKind::Foreign);
    assert!(error.message.contains(&ours.id.to_string()), "{error}");
    for (sql, words) in [
        ("ALTER SEQUENCE s RESTART WITH 1", "gives out 1 next"),
        ("ALTER SEQUENCE s MAXVALUE 100 RESTART WITH 42", "ends at 100"),
        ("ALTER SEQUENCE s MAXVALUE 41 CYCLE", "CYCLE"),
    ] {
        lab.engine.admin("ids", sql);
        let fence = lab.wait(made.source.check("ids.s", &ours)).unwrap();
        let Fence::Broken { id, why } = &fence else {
            panic!("{sql}: {fence:?}");
        };
        assert!(*id == Some(ours.id) && why.contains(words), "{fence:?}");
        assert_eq!(made.look("ids.s").fence, fence);
        let error = lab.wait(made.source.take("ids.s", 1)).unwrap_err();
        assert_eq!(error.kind, SourceErrorKind::Refused, "{error}");
    }
    // The bounds put back by hand, the place not.
    lab.engine.admin(
        "ids",
        "ALTER SEQUENCE s MAXVALUE 9223372036854775806 NOCYCLE RESTART WITH 42",
    );
    made.lift("ids.s", &ours, Some(60));
    assert_eq!(made.taken("s"), Ok(61));
    // Every kind: without a fence, and below what was issued here.
    for original in [&SEQUENCE, &GENERATED, &TICKETS] {
        let made = Made::new(&lab, original);
        let key = made.create("bare");
        made.taken("bare").unwrap();
        let note = made.note(&key);
        made.lift(&key, &note, Some(1));
        let error = lab.wait(made.source.lift(&key, &note, Some(5000))).unwrap_err();
        assert_eq!(
            (error.kind, error.outcome),
            (SourceErrorKind::Foreign, Outcome::NotDone),
            "{error}"
        );
        lab.engine.admin("ids", &error.fix.unwrap());
        made.lift(&key, &note, Some(5000));
        assert_eq!(made.taken("bare"), Ok(5001), "{key}");
        lab.engine.admin("ids", "DROP TABLE bare");
    }
    // A trigger that somebody dropped is no fence; a table made anew beside the moved one breaks it.
    for (original, breaks) in [(&GENERATED, "DROP TRIGGER mint_fence_t"), (&TICKETS, "")] {
        let made = Made::new(&lab, original);
        let key = made.create("t");
        let note = made.note(&key);
        made.cut(&key, &note);
        let sql = if breaks.is_empty() {
            original.make.replace("{k}", "t")
        } else {
            breaks.to_string()
        };
        lab.engine.admin("ids", &sql);
        let fence = lab.wait(made.source.check(&key, &note)).unwrap();
        assert_eq!(
            fence == Fence::None,
            original.kind == "auto_increment",
            "{fence:?}"
        );
        assert_eq!(made.look(&key).fence, fence);
        let listed = lab.wait(made.source.list(&Wanted::default())).unwrap();
        assert!(
            listed
                .counters
                .iter()
                .any(|found| found.key == key && found.fence == fence),
            "{listed:?}"
        );
        if original.kind == "tickets" {
            let fenced = lab.wait(made.source.fence(&key, Way::Cut, &note)).map(|_| ());
            let lifted = lab.wait(made.source.lift(&key, &note, Some(9)));
            for error in [fenced.unwrap_err(), lifted.unwrap_err()] {
                assert_eq!(
                    (error.kind, error.outcome),
                    (SourceErrorKind::Foreign, Outcome::NotDone),
                    "{error}"
                );
            }
        }
        lab.engine.admin("ids", "DROP TABLE t");
    }
}

/// The last numbers of each type, the way back into one that is too narrow, and what cannot be taken safely.
#[test]
fn ends_are_reached_and_never_passed() {
    let Some(lab) = lab() else {
        return;
    };
    let last = i64::MAX;
    lab.engine.admin(
        "ids",
        "CREATE TABLE tiny (id tinyint unsigned NOT NULL AUTO_INCREMENT PRIMARY KEY, n int) AUTO_INCREMENT=251;
         CREATE TABLE wide (id bigint unsigned NOT NULL AUTO_INCREMENT PRIMARY KEY, n int) AUTO_INCREMENT=9223372036854775805;
         CREATE TABLE beyond (id bigint unsigned NOT NULL AUTO_INCREMENT PRIMARY KEY, n int) AUTO_INCREMENT=9223372036854775809;
         CREATE SEQUENCE s MAXVALUE 100; SELECT SETVAL(s, 90); CREATE SEQUENCE round_one CYCLE;
         CREATE SEQUENCE aria ENGINE=Aria; CREATE TABLE my (id int AUTO_INCREMENT PRIMARY KEY) ENGINE=MyISAM",
    );
    let columns = Made::new(&lab, &GENERATED);
    let sequences = Made::new(&lab, &SEQUENCE);
    for (made, key, left) in [
        (&columns, "ids.tiny.id", vec![251, 252, 253, 254]),
        (&columns, "ids.wide.id", vec![last - 2, last - 1]),
        (&columns, "ids.beyond.id", vec![]),
        (&sequences, "ids.s", (91..=100).collect()),
    ] {
        if !left.is_empty() {
            assert_eq!(made.take(key, 1000), left, "{key}");
        }
        let error = lab.wait(made.source.take(key, 1)).unwrap_err();
        assert_eq!(
            (error.kind, error.outcome),
            (SourceErrorKind::Exhausted, Outcome::NotDone),
            "{error}"
        );
    }
    assert_eq!(columns.taken("tiny"), Ok(255));
    assert!(columns.taken("tiny").is_err() && sequences.taken("s").is_err());
    assert_eq!(columns.look("ids.beyond.id").mark, Some(i128::from(last) + 2));
    for (made, key, words) in [
        (&sequences, "ids.round_one", "NOCYCLE"),
        (&sequences, "ids.aria", "ENGINE = InnoDB"),
        (&columns, "ids.my.id", "ENGINE = InnoDB"),
    ] {
        let error = lab.wait(made.source.take(key, 1)).unwrap_err();
        assert_eq!(error.kind, SourceErrorKind::Refused);
        assert!(error.message.contains(words), "{error}");
    }
    let counter = columns.look("ids.my.id");
    assert!(
        counter
            .findings
            .iter()
            .any(|found| found.code == FindingCode::Lossy),
        "{counter:?}"
    );
    // Too far for the type: it stays fenced.
    lab.engine.admin(
        "ids",
        "CREATE TABLE small (id smallint AUTO_INCREMENT PRIMARY KEY, n int)",
    );
    for (made, key, issued) in [(&columns, "ids.small.id", 32_767), (&sequences, "ids.s", 100)] {
        let note = made.note(key);
        made.cut(key, &note);
        let error = lab.wait(made.source.lift(key, &note, Some(40_000))).unwrap_err();
        assert_eq!(
            (error.kind, error.outcome),
            (SourceErrorKind::Refused, Outcome::NotDone),
            "{error}"
        );
        assert!(error.message.contains(&issued.to_string()), "{error}");
        let found = lab.wait(made.source.check(key, &note)).unwrap();
        assert!(matches!(found, Fence::Ours { .. }), "{found:?}");
    }
}

/// Names that need quotes, of schemas, tables and columns, as the plan prints their statements, too.
#[test]
#[ignore = "minutes: counters of every kind"]
fn names_that_need_quotes_are_quoted_everywhere() {
    let Some(lab) = lab() else {
        return;
    };
    let long = "ü".repeat(64);
    for (at, (schema, name)) in [
        ("my `shop`", "it's \"x\" \\ `y`"),
        ("größe", "select"),
        ("a-b", &*long),
        ("d.o.t", "t.a.b"),
    ]
    .into_iter()
    .enumerate()
    {
        let quoted = |name: &str| format!("`{}`", name.replace('`', "``"));
        let (base, table) = (quoted(schema), quoted(name));
        lab.engine.admin(
            "",
            &format!("CREATE DATABASE {base}; GRANT ALL ON {base}.* TO mint@'%'"),
        );
        for (original, key) in [
            (&SEQUENCE, format!("{schema}.{name}")),
            (&GENERATED, format!("{schema}.{name}.i`d")),
            (&TICKETS, format!("{schema}.{name}")),
        ] {
            let admin = |sql: &str| lab.engine.sql(schema, sql);
            let words = |sql: &str| {
                let sql = sql.replace("`{k}`", &table);
                match original.kind {
                    "auto_increment" => sql.replace("(id ", "(`i``d` "),
                    _ => sql,
                }
            };
            admin(&words(original.make)).ok();
            let made = Made::new(&lab, original);
            let next = || admin(&words(original.next));
            let first = printed(&next().ok())[0];
            let listed = lab.wait(made.source.list(&Wanted::default())).unwrap();
            assert_eq!(listed.failed, Vec::<String>::new());
            assert!(listed.counters.iter().any(|found| found.key == key), "{listed:?}");
            let counter = made.look(&key);
            assert!(listed.counters.contains(&counter), "{counter:?}");
            assert_eq!(made.take(&key, 3).len(), 3);
            let note = made.note(&key);
            let mark = made.cut(&key, &note);
            assert_eq!(made.cut(&key, &note), mark, "{key}");
            invariant!(mark > i128::from(first), "{key}: {first} of {mark}");
            assert_ne!(next().code, 0, "{key}");
            let rights = lab.wait(made.source.rights(&key, Way::Cut));
            assert_eq!(rights, Ok(Vec::new()), "{key}");
            made.lift(&key, &note, Some(7000));
            assert_eq!(printed(&next().ok()), [7001], "{key}");
            // A key with more full stops than two may be split elsewhere: only a reader of the server knows.
            if schema != "d.o.t" {
                for sql in made.source.statements(&made.look(&key), Way::Cut) {
                    let one = sql.replace(" WRITE", " READ");
                    if one.starts_with("CREATE TRIGGER") {
                        lab.engine.admin("ids", &format!("DELIMITER //\n{sql}//"));
                    } else if !one.contains("LOCK TABLES") {
                        lab.engine.admin("ids", &one);
                    }
                }
                assert_ne!(next().code, 0, "{at} {key}");
            }
            let kind = if original.kind == "mariadb" {
                "SEQUENCE"
            } else {
                "TABLE"
            };
            admin(&format!("DROP {kind} {table}"));
        }
        lab.engine.admin("", &format!("DROP DATABASE {base}"));
    }
}

/// Two servers that share out the numbers: each keeps its own, whatever is taken.
#[test]
fn servers_with_a_step_keep_their_own_numbers() {
    let settings = ["--auto-increment-increment=3", "--auto-increment-offset=2"];
    let Some(lab) = lab_with(&settings) else {
        return;
    };
    for original in [&GENERATED, &TICKETS, &TICKETS_OF_FLICKR] {
        let made = Made::new(&lab, original);
        let key = made.create("t");
        assert_eq!((made.taken("t"), made.taken("t")), (Ok(2), Ok(5)));
        let counter = made.look(&key);
        let details = ["increment", "offset"].map(|name| counter.details[name].clone());
        assert_eq!((details, counter.increment), (["3".into(), "2".into()], 3));
        assert!(counter.details["server"].contains(&lab.engine.address().port().to_string()));
        assert_eq!(made.take(&key, 4), [8, 11, 14, 17], "{key}");
        assert_eq!(made.taken("t"), Ok(20), "{key}");
        let note = made.note(&key);
        assert_eq!(made.cut(&key, &note), 23, "{key}");
        made.lift(&key, &note, Some(100));
        assert_eq!(made.taken("t"), Ok(101), "{key}");
        lab.engine.admin("ids", "DROP TABLE t");
    }
}

/// Whoever lists, sees what counts: types with their sign, the largest numbers, what a sequence fills.
#[test]
fn columns_are_found_with_their_types_and_largest_numbers() {
    let Some(lab) = lab() else {
        return;
    };
    lab.engine.admin(
        "ids",
        "CREATE TABLE a (id mediumint(8) unsigned NOT NULL AUTO_INCREMENT, n int PRIMARY KEY, KEY (id));
         INSERT INTO a (id, n) VALUES (70, 1), (50, 2); CREATE VIEW of_a AS SELECT * FROM a;
         CREATE TABLE b (id bigint NOT NULL AUTO_INCREMENT UNIQUE) AUTO_INCREMENT=900; CREATE TABLE c (id int PRIMARY KEY);
         CREATE SEQUENCE s INCREMENT 5 COMMENT 'of two'; CREATE SEQUENCE unused;
         CREATE TABLE d (n smallint DEFAULT NEXTVAL(s) PRIMARY KEY); INSERT INTO d VALUES (DEFAULT), (DEFAULT);
         CREATE TABLE Tickets64 (id bigint(20) unsigned NOT NULL auto_increment, stub char(1) NOT NULL default '',
           PRIMARY KEY (id), UNIQUE KEY stub (stub)) ENGINE=MyISAM; REPLACE INTO Tickets64 (stub) VALUES ('a')",
    );
    let listed = |kind: &str| lab.wait(open(&lab, kind).list(&Wanted::default())).unwrap();
    let found = listed("auto_increment");
    let column = |at: usize| {
        let counter = &found.counters[at];
        let column = &counter.columns[0];
        assert_eq!(column.how, How::AutoIncrement);
        (
            &*counter.key,
            counter.mark,
            &*column.type_name,
            column.max,
            column.highest,
            column.unique,
        )
    };
    assert_eq!(found.counters.len(), 2, "{found:?}");
    assert_eq!(
        column(0),
        (
            "ids.a.id",
            Some(71),
            "mediumint(8) unsigned",
            (1 << 24) - 1,
            Some(70),
            false
        )
    );
    let bigint = i128::from(i64::MAX);
    assert_eq!(
        column(1),
        ("ids.b.id", Some(900), "bigint(20)", bigint, None, true)
    );
    let found = listed("mariadb").counters;
    let keys: Vec<&str> = found.iter().map(|counter| &*counter.key).collect();
    assert_eq!(keys, ["ids.s", "ids.unused"]);
    let column = &found[0].columns[0];
    assert_eq!(
        (&*column.table, column.max, column.highest, column.how),
        ("ids.d", 32_767, Some(6), How::Default)
    );
    assert_eq!(
        (found[0].increment, found[0].comment.as_deref()),
        (5, Some("of two"))
    );
    assert!(found[1].columns.is_empty());
    let found = listed("tickets").counters;
    assert_eq!(
        (&*found[0].key, found[0].mark, found.len()),
        ("ids.Tickets64", Some(2), 1)
    );
    let wanted = Wanted {
        matching: vec!["*.b.*".into()],
        full: false,
        ..Wanted::default()
    };
    assert_eq!(
        lab.wait(open(&lab, "auto_increment").list(&wanted))
            .unwrap()
            .counters
            .len(),
        1
    );
    for key in ["ids.c.id", "ids.a.n", "ids.of_a.id", "nix", "", "ids.a", "ids.s"] {
        assert_eq!(
            lab.wait(open(&lab, "auto_increment").look(key)),
            Ok(None),
            "{key}"
        );
    }
}

#[test]
fn a_server_that_may_forget_says_so() {
    let Some(lab) = lab_with(&["--innodb-flush-log-at-trx-commit=2"]) else {
        return;
    };
    for kind in ["mariadb", "auto_increment", "tickets"] {
        let found = lab.wait(open(&lab, kind).durability()).unwrap();
        assert!(
            found.class == Class::Lossy && found.why.contains("innodb_flush_log_at_trx_commit"),
            "{found:?}"
        );
    }
}

/// The server is killed between a take and its use: what was taken never comes again, from nobody.
fn killed_after_takes(times: u32) {
    let Some(mut lab) = lab_with(&[]) else {
        return;
    };
    let kinds = [&SEQUENCE, &DESCENDING, &GENERATED, &TICKETS];
    let keys: Vec<String> = (0..4)
        .map(|at| Made::new(&lab, kinds[at]).create(&format!("k{at}")))
        .collect();
    let mut seen = Distinct::default();
    for round in 0..times {
        for (at, key) in keys.iter().enumerate() {
            let made = Made::new(&lab, kinds[at]);
            // A client's NEXTVAL alone may be forgotten by the server, and is then given again; ours are not.
            let next = made.taken(&format!("k{at}")).unwrap();
            invariant!(
                !seen.contains(&(at, next)),
                "round {round}: {key} gives {next} again"
            );
            let numbers = made.take(key, 1 + u64::from(round % 7));
            seen.extend(numbers.into_iter().map(|number| (at, number)));
            // Each in its turn is the last before the end.
            if at == round as usize % 4 {
                lab.engine.kill();
                lab.engine.start();
            }
        }
    }
    assert!(seen.len() >= times as usize * 4);
}

#[test]
fn a_killed_server_gives_nothing_twice() {
    killed_after_takes(4);
}

#[test]
#[ignore = "minutes: a server is killed and recovers 52 times"]
fn a_server_that_is_killed_52_times_gives_nothing_twice() {
    killed_after_takes(52);
}

/// A fence and a way back that were acknowledged are there after the server was killed at once.
#[test]
fn fences_and_lifts_outlast_a_killed_server() {
    let Some(mut lab) = lab_with(&[]) else {
        return;
    };
    for original in [&SEQUENCE, &GENERATED, &TICKETS] {
        let made = Made::new(&lab, original);
        let key = made.create("k");
        let last = *made.take(&key, 3).last().unwrap();
        let note = made.note(&key);
        let mark = made.cut(&key, &note);
        invariant!(i128::from(last) < mark, "{key}: {last} of {mark}");
        lab.engine.kill();
        lab.engine.start();
        let made = Made::new(&lab, original);
        assert!(made.taken("k").is_err(), "{key}");
        let fence = lab.wait(made.source.check(&key, &note)).unwrap();
        assert!(
            matches!(fence, Fence::Ours { mark: found, .. } if found == mark),
            "{fence:?}"
        );
        assert_eq!(made.cut(&key, &note), mark);
        made.lift(&key, &note, Some(5000));
        lab.engine.kill();
        lab.engine.start();
        let made = Made::new(&lab, original);
        assert_eq!(made.look(&key).fence, Fence::None, "{key}");
        // InnoDB itself skips one after a REPLACE and a restart.
        assert!(
            made.taken("k")
                .is_ok_and(|number| (5001..=5002).contains(&number)),
            "{key}"
        );
        lab.engine.admin("ids", "DROP TABLE k");
    }
}

/// Two hundred tables or sequences are read by one statement.
fn listed_in_few_statements(tables: u32) {
    let settings = ["--sync-frm=0", "--innodb-flush-log-at-trx-commit=0"];
    let Some(lab) = lab_with(&settings) else {
        return;
    };
    let all: String = (1..=tables)
        .map(|n| {
            format!(
                "CREATE TABLE t{n} (id int AUTO_INCREMENT PRIMARY KEY) ENGINE=MyISAM; INSERT INTO t{n} VALUES (); \
                 CREATE SEQUENCE s{n} ENGINE=MyISAM;\n"
            )
        })
        .collect();
    lab.engine.admin("ids", &all);
    let questions = || {
        let said = lab.engine.admin("", "SHOW GLOBAL STATUS LIKE 'Questions'");
        said.split('\t').nth(1).unwrap().trim().parse::<u32>().unwrap()
    };
    for (kind, mark) in [("auto_increment", 2), ("mariadb", 1)] {
        let before = questions();
        // A server that has just made so many tables takes seconds for the first look.
        let source = open_with(&lab, kind, &lab.direct(), patient());
        let listed = lab.wait(source.list(&Wanted::default())).unwrap();
        let statements = questions() - before;
        assert_eq!(
            (listed.counters.len(), listed.failed),
            (tables as usize, Vec::new())
        );
        assert!(listed.counters.iter().all(|counter| counter.mark == Some(mark)));
        let chunks = tables.div_ceil(200);
        assert!(
            (chunks..chunks + 30).contains(&statements),
            "{kind}: {statements} statements"
        );
    }
}

#[test]
#[ignore = "minutes: a thousand counters"]
fn a_thousand_are_listed_in_few_statements() {
    listed_in_few_statements(1000);
}

#[test]
#[ignore = "minutes: 10,000 tables and 10,000 sequences are made"]
fn ten_thousand_are_listed_in_few_statements() {
    listed_in_few_statements(10_000);
}

/// Calls for one sequence are done one after the other, so that none of a caller that is gone comes behind a later one's;
/// a session that is kept holds nobody up.
#[test]
#[ignore = "minutes: counters of every kind"]
fn calls_for_one_sequence_queue_up() {
    let Some(lab) = lab() else {
        return;
    };
    let made = Made::new(&lab, &SEQUENCE);
    let hasty = open_quick(&lab, "mariadb");
    let key = made.create("s");
    let note = made.note(&key);
    let lock = "CONCAT('mint_fence_', LEFT(SHA2('ids.s', 256), 16))";
    let ask = |sql: &str| lab.engine.admin("", sql).trim().to_string();
    let held_by = &lab;
    std::thread::scope(|scope| {
        let hold = format!("SELECT GET_LOCK({lock}, 0), SLEEP(60)");
        let holder = scope.spawn(move || held_by.engine.sql("", &hold));
        let free = format!("SELECT IS_FREE_LOCK({lock})");
        while ask(&free) == "1" {
            assert!(!holder.is_finished(), "it holds the lock for long");
        }
        let error = lab.wait(hasty.fence(&key, Way::Cut, &note)).unwrap_err();
        lab.engine.admin(
            "",
            &format!("KILL {}", ask(&format!("SELECT IS_USED_LOCK({lock})"))),
        );
        assert_ne!(holder.join().unwrap().code, 0);
        assert_eq!(
            (error.kind, error.outcome),
            (SourceErrorKind::Unavailable, Outcome::NotDone),
            "{error}"
        );
        assert!(error.message.contains("another session"), "{error}");
        let mark = made.cut(&key, &note);
        assert_eq!(ask(&free), "1");
        made.lift(&key, &note, Some(i64::try_from(mark).unwrap()));
        assert_eq!(ask(&free), "1");
    });
}
