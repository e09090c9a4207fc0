//! Row counters on a real MariaDB and PostgreSQL: what every source must do, for each shape with the statements of its
//! original, and what each fence is known for.
#![allow(clippy::unwrap_used)]

use std::future::ready;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use mintage_e2e::engine::mariadb::Mariadb;
use mintage_e2e::engine::postgres::Postgres;
use mintage_e2e::store_suite::{Engine, Lab, READER_PASSWORD, READER_PASSWORD_ENCODED, patient, quick};
use mintage_e2e::writers::Session;
use mintage_ledger::source::conformance::{Subject, check_all};
use mintage_ledger::source::{
    Counter, Fence, FindingCode, MoveId, Note, OwnTable, Source, SourceError, SourceErrorKind,
    SourceSettings, Wanted, Way, open_sources,
};
use mintage_ledger::{BoxFuture, Class, Outcome};
use mintage_testing::{Distinct, invariant, no_secret_in};

/// The tables as the originals' own files make them.
const TABLES: &str = "
CREATE TABLE leaf_alloc (
  biz_tag varchar(128) NOT NULL DEFAULT '', max_id bigint(20) NOT NULL DEFAULT '1', step int(11) NOT NULL,
  description varchar(256) DEFAULT NULL,
  update_time timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
  PRIMARY KEY (biz_tag)) ENGINE=InnoDB;
CREATE TABLE tiny_id_info (
  id bigint(20) unsigned NOT NULL AUTO_INCREMENT, biz_type varchar(63) NOT NULL DEFAULT '',
  begin_id bigint(20) NOT NULL DEFAULT '0', max_id bigint(20) NOT NULL DEFAULT '0', step int(11) DEFAULT '0',
  delta int(11) NOT NULL DEFAULT '1', remainder int(11) NOT NULL DEFAULT '0',
  create_time timestamp NOT NULL DEFAULT '2010-01-01 00:00:00',
  update_time timestamp NOT NULL DEFAULT '2010-01-01 00:00:00', version bigint(20) NOT NULL DEFAULT '0',
  PRIMARY KEY (id), UNIQUE KEY uniq_biz_type (biz_type)) ENGINE=InnoDB DEFAULT CHARSET=utf8;
CREATE TABLE tiny_id_token (
  id int(11) unsigned NOT NULL AUTO_INCREMENT, token varchar(255) NOT NULL DEFAULT '',
  biz_type varchar(63) NOT NULL DEFAULT '', remark varchar(255) NOT NULL DEFAULT '', PRIMARY KEY (id)) ENGINE=InnoDB;
CREATE TABLE cosid (
  name varchar(100) NOT NULL, last_max_id bigint unsigned NOT NULL DEFAULT 0,
  last_fetch_time bigint unsigned NOT NULL DEFAULT 0, PRIMARY KEY (name));
CREATE TABLE __idgo__ (k VARCHAR(255) NOT NULL, PRIMARY KEY (k)) ENGINE=InnoDB DEFAULT CHARSET=utf8;
CREATE TABLE counters (what varchar(40) PRIMARY KEY, n bigint NOT NULL, other int NOT NULL DEFAULT 1);
";

/// Statements of one shape's original.
struct Original {
    kind: &'static str,
    /// Makes the counter `{k}`.
    make: &'static str,
    /// Takes one number of `{k}` and prints it; fails or prints nothing when the original refuses.
    next: &'static str,
}

/// Every fetch brings one number: a fenced original refuses the next.
const ORIGINALS: [Original; 7] = [
    Original {
        kind: "leaf",
        make: "INSERT INTO leaf_alloc (biz_tag, max_id, step, description) VALUES ('{k}', 1, 1, 'made by hand')",
        next: "BEGIN; UPDATE leaf_alloc SET max_id = max_id + step WHERE biz_tag = '{k}'; \
               SELECT max_id - step FROM leaf_alloc WHERE biz_tag = '{k}'; COMMIT",
    },
    // The server's Java adds; the update is optimistic.
    Original {
        kind: "tinyid",
        make: "INSERT INTO tiny_id_info (biz_type, begin_id, max_id, step, delta, remainder) VALUES ('{k}', 1, 1, 1, 1, 0)",
        next: "SELECT @id := id, @m := max_id, @v := version, @s := step INTO @a, @b, @c, @d FROM tiny_id_info \
               WHERE biz_type = '{k}'; \
               UPDATE tiny_id_info SET max_id = @b + @d, update_time = now(), version = version + 1 \
               WHERE id = @a AND max_id = @b AND version = @c AND biz_type = '{k}'; \
               SELECT max_id FROM tiny_id_info WHERE biz_type = '{k}'",
    },
    // One of two databases: only odd numbers.
    Original {
        kind: "tinyid",
        make: "INSERT INTO tiny_id_info (biz_type, begin_id, max_id, step, delta, remainder) VALUES ('{k}', 1, 1, 2, 2, 1)",
        next: "UPDATE tiny_id_info SET max_id = max_id + step, update_time = now(), version = version + 1 \
               WHERE biz_type = '{k}'; \
               SELECT max_id - (max_id - remainder) % delta FROM tiny_id_info WHERE biz_type = '{k}'",
    },
    Original {
        kind: "cosid",
        make: "INSERT INTO cosid (name, last_max_id, last_fetch_time) VALUES ('{k}', 0, unix_timestamp())",
        next: "BEGIN; UPDATE cosid SET last_max_id = (last_max_id + 1), last_fetch_time = unix_timestamp() \
               WHERE name = '{k}'; SELECT last_max_id FROM cosid WHERE name = '{k}'; COMMIT",
    },
    // A tablet refuses a cache below 1.
    Original {
        kind: "vitess",
        make: "CREATE TABLE `{k}` (id int, next_id bigint, cache bigint, PRIMARY KEY (id)) COMMENT 'vitess_sequence'; \
               INSERT INTO `{k}` (id, next_id, cache) VALUES (0, 1, 1)",
        next: "BEGIN; SELECT next_id INTO @n FROM `{k}` WHERE id = 0 AND cache > 0 FOR UPDATE; \
               UPDATE `{k}` SET next_id = @n + cache WHERE id = 0 AND cache > 0; \
               SELECT @n FROM `{k}` WHERE id = 0 AND cache > 0; COMMIT",
    },
    Original {
        kind: "idgo",
        make: "CREATE TABLE `{k}` (id bigint(20) unsigned NOT NULL AUTO_INCREMENT PRIMARY KEY) ENGINE=InnoDB; \
               INSERT INTO `{k}` (id) VALUES (100); INSERT INTO __idgo__ (k) VALUES ('{k}')",
        next: "BEGIN; SELECT id + 1 FROM `{k}` FOR UPDATE; UPDATE `{k}` SET id = id + 1; COMMIT",
    },
    Original {
        kind: "own",
        make: "INSERT INTO counters (what, n) VALUES ('{k}', 41)",
        next: "BEGIN; UPDATE counters SET n = n + 1 WHERE what = '{k}'; SELECT n FROM counters WHERE what = '{k}'; COMMIT",
    },
];

struct OfRows<'a> {
    lab: &'a Lab<Mariadb>,
    original: &'a Original,
    source: Arc<dyn Source>,
    made: AtomicU32,
}

fn own() -> SourceSettings {
    SourceSettings {
        store: patient(),
        table: Some(OwnTable {
            table: "counters".into(),
            key_column: "what".into(),
            value_column: "n".into(),
            is_next: false,
            condition: Some("other = 1".into()),
        }),
        ..SourceSettings::default()
    }
}

fn open<E: Engine>(lab: &Lab<E>, kind: &str) -> Arc<dyn Source> {
    open_with(lab, kind, &own())
}

fn open_with<E: Engine>(lab: &Lab<E>, kind: &str, settings: &SourceSettings) -> Arc<dyn Source> {
    let mut found = open_sources(&format!("{kind}+{}", lab.direct()), settings, lab.runtime()).unwrap();
    assert_eq!(found.len(), 1);
    found.remove(0)
}

fn lab() -> Option<Lab<Mariadb>> {
    Mariadb::borrow().map(lab_of)
}

/// One whose server may be killed.
fn own_lab() -> Option<Lab<Mariadb>> {
    Mariadb::run().map(lab_of)
}

fn lab_of(server: Mariadb) -> Lab<Mariadb> {
    let lab = Lab::new(server);
    lab.engine.admin("ids", TABLES);
    lab
}

impl OfRows<'_> {
    fn next(&self, key: &str) -> Option<i64> {
        let said = self
            .lab
            .engine
            .sql("ids", &self.original.next.replace("{k}", key));
        if said.code != 0 {
            assert!(
                ["1690", "1146"].iter().any(|number| said.err.contains(number)),
                "{said:?}"
            );
            return None;
        }
        said.out.trim().parse().ok()
    }
}

impl Subject for OfRows<'_> {
    fn source(&self) -> Arc<dyn Source> {
        self.source.clone()
    }

    fn make(&self) -> BoxFuture<'_, String> {
        let key = format!("k{}", self.made.fetch_add(1, Ordering::Relaxed));
        self.lab
            .engine
            .admin("ids", &self.original.make.replace("{k}", &key));
        Box::pin(ready(key))
    }

    fn next<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Option<i64>> {
        Box::pin(ready(OfRows::next(self, key)))
    }
}

/// Each shape, with the statements of its original: marks, cuts, lifts and ranges beside.
#[test]
#[ignore = "minutes: counters of every kind"]
fn every_shape_does_what_every_source_must() {
    let Some(lab) = lab() else {
        return;
    };
    for (at, original) in ORIGINALS.iter().enumerate() {
        let subject = OfRows {
            lab: &lab,
            original,
            source: open(&lab, original.kind),
            made: AtomicU32::new(1000 * u32::try_from(at).unwrap()),
        };
        lab.wait(check_all(&subject, &*lab.runtime()));
    }
}

fn note<E: Engine>(lab: &Lab<E>, source: &dyn Source, key: &str) -> Note {
    let found = lab.wait(source.look(key)).unwrap();
    Note {
        id: MoveId::fresh(&*lab.runtime()),
        before: found.map(|counter| counter.before).unwrap_or_default(),
        mark: None,
    }
}

fn look<E: Engine>(lab: &Lab<E>, source: &dyn Source, key: &str) -> Counter {
    lab.wait(source.look(key)).unwrap().unwrap()
}

fn numbers(runs: &[mintage::Run]) -> Vec<i64> {
    runs.iter().flat_map(mintage::Run::iter).collect()
}

struct OnPostgres<'a> {
    lab: &'a Lab<Postgres>,
    source: Arc<dyn Source>,
    made: AtomicU32,
}

impl Subject for OnPostgres<'_> {
    fn source(&self) -> Arc<dyn Source> {
        self.source.clone()
    }

    fn make(&self) -> BoxFuture<'_, String> {
        let key = format!("it's \\ {}", self.made.fetch_add(1, Ordering::Relaxed));
        let quoted = key.replace('\'', "''");
        let sql = format!("INSERT INTO counters (what, n) VALUES ('{quoted}', 41)");
        self.lab.engine.admin("ids", &sql);
        Box::pin(ready(key))
    }

    fn next<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Option<i64>> {
        let quoted = key.replace('\'', "''");
        let sql = format!("UPDATE counters SET n = n + 1 WHERE what = '{quoted}' RETURNING n");
        let said = self.lab.engine.admin("ids", &sql);
        Box::pin(ready(
            said.lines().next().and_then(|line| line.trim().parse().ok()),
        ))
    }
}

const ON_POSTGRES: &str = "CREATE TABLE counters (what varchar(40) PRIMARY KEY, n bigint NOT NULL, \
    other int NOT NULL DEFAULT 1)";

#[test]
fn own_tables_on_postgresql_do_what_every_source_must() {
    let Some(engine) = Postgres::borrow() else {
        return;
    };
    let lab = Lab::new(engine);
    lab.engine.admin("ids", &format!("SET ROLE mint; {ON_POSTGRES}"));
    let subject = OnPostgres {
        lab: &lab,
        source: open(&lab, "own"),
        made: AtomicU32::new(0),
    };
    lab.wait(check_all(&subject, &*lab.runtime()));
}

/// A role of PostgreSQL without rights is told the GRANT, and an unlogged table is class L.
#[test]
fn own_tables_on_postgresql_name_rights_and_losses() {
    let Some(engine) = Postgres::borrow() else {
        return;
    };
    let lab = Lab::new(engine);
    lab.engine.admin(
        "ids",
        &format!("SET ROLE mint; {ON_POSTGRES}; INSERT INTO counters VALUES ('orders', 7)"),
    );
    let url = lab
        .engine
        .url_with("reader", READER_PASSWORD_ENCODED, lab.engine.address());
    rights_suffice(&lab, &format!("own+{url}"), "orders", |sql| {
        lab.engine.admin("ids", sql);
    });
    let source = open(&lab, "own");
    assert_eq!(lab.wait(source.durability()).unwrap().class, Class::Durable);
    lab.engine.admin("ids", "ALTER TABLE counters SET UNLOGGED");
    let found = lab.wait(source.durability()).unwrap();
    assert!(
        found.class == Class::Lossy && found.why.contains("counters is unlogged"),
        "{found:?}"
    );
}

/// With no right nothing is done, the statements are named, and once they are run everything works.
fn rights_suffice<E: Engine>(lab: &Lab<E>, url: &str, key: &str, admin: impl Fn(&str)) {
    let open = || open_sources(url, &own(), lab.runtime()).unwrap().remove(0);
    let source = open();
    let note = Note {
        id: MoveId::fresh(&*lab.runtime()),
        before: Default::default(),
        mark: None,
    };
    let errors: [SourceError; 2] = [
        lab.wait(source.take(key, 1)).unwrap_err(),
        lab.wait(source.fence(key, Way::Cut, &note)).unwrap_err(),
    ];
    for error in &errors {
        assert_eq!(
            (error.kind, error.outcome),
            (SourceErrorKind::Denied, Outcome::NotDone),
            "{error:?}"
        );
        no_secret_in("an error", &format!("{error:?}"), READER_PASSWORD);
        assert_eq!(error.fix, errors[0].fix);
    }
    let fix = errors[0].fix.clone().unwrap();
    assert!(fix.starts_with("GRANT "), "{fix}");
    admin(&fix);
    let source = open();
    for way in [Way::Cut, Way::Beside] {
        assert_eq!(lab.wait(source.rights(key, way)), Ok(Vec::new()), "{way:?}");
    }
    let taken = numbers(&lab.wait(source.take(key, 2)).unwrap());
    let fenced = lab.wait(source.fence(key, Way::Cut, &note)).unwrap();
    assert_eq!(fenced.mark, i128::from(taken[1]) + 1);
    lab.wait(source.lift(key, &note, Some(taken[1] + 9))).unwrap();
    assert_eq!(numbers(&lab.wait(source.take(key, 1)).unwrap()), [taken[1] + 10]);
}

/// An account that may see nothing, and one that may only read, of each kind of fence.
#[test]
fn wrong_rights_are_named_and_what_they_name_suffices() {
    let Some(lab) = lab() else {
        return;
    };
    lab.engine.admin(
        "ids",
        "INSERT INTO leaf_alloc VALUES ('orders', 1, 10, 'x', now());
         INSERT INTO tiny_id_info (biz_type, max_id) VALUES ('orders', 1);
         INSERT INTO cosid VALUES ('shop.orders', 1, 0);
         CREATE TABLE orders_seq (id int, next_id bigint, cache bigint, PRIMARY KEY (id)) COMMENT 'vitess_sequence';
         INSERT INTO orders_seq VALUES (0, 1, 10);
         CREATE TABLE abc (id bigint unsigned NOT NULL AUTO_INCREMENT PRIMARY KEY); INSERT INTO abc VALUES (100);
         INSERT INTO __idgo__ VALUES ('abc');
         CREATE USER nobody@'%' IDENTIFIED BY 'n0body'; GRANT SELECT ON ids.counters TO nobody@'%'",
    );
    let at = lab.engine.address();
    let reader = lab.engine.url_with("reader", READER_PASSWORD_ENCODED, at);
    let admin = |sql: &str| {
        lab.engine.admin("ids", sql);
    };
    let keys = [
        ("leaf", "orders"),
        ("tinyid", "orders"),
        ("cosid", "shop.orders"),
        ("vitess", "orders_seq"),
        ("idgo", "abc"),
    ];
    for (kind, key) in keys {
        let source = open_sources(&format!("{kind}+{reader}"), &own(), lab.runtime())
            .unwrap()
            .remove(0);
        assert!(look(&lab, &*source, key).mark.is_some(), "{kind}");
        assert!(
            !lab.wait(source.rights(key, Way::Cut)).unwrap().is_empty(),
            "{kind}"
        );
        rights_suffice(&lab, &format!("{kind}+{reader}"), key, admin);
    }
    // Who may not even read: the same words, and not that there is no counter.
    let nobody = format!("mysql://nobody:n0body@{at}/ids");
    for (kind, key) in [
        ("leaf", "ids.leaf_alloc:orders"),
        ("vitess", "ids.orders_seq"),
        ("idgo", "ids.__idgo__:abc"),
    ] {
        rights_suffice(&lab, &format!("{kind}+{nobody}"), key, admin);
    }
}

/// Leaf's and CosId's own UPDATE fails at the end of the type, whatever sql_mode says, and nobody can make the row anew.
#[test]
fn ended_rows_fail_whatever_sql_mode() {
    let Some(lab) = lab() else {
        return;
    };
    lab.engine.admin(
        "ids",
        "INSERT INTO leaf_alloc VALUES ('orders', 2001, 1000, NULL, now()); INSERT INTO cosid VALUES ('a.b', 500, 7)",
    );
    for (kind, key, mark) in [("leaf", "orders", 2001), ("cosid", "a.b", 501)] {
        let source = open(&lab, kind);
        let note = note(&lab, &*source, key);
        assert_eq!(lab.wait(source.fence(key, Way::Cut, &note)).unwrap().mark, mark);
        assert_eq!(look(&lab, &*source, key).mark, Some(mark), "{kind}");
    }
    for mode in [
        "",
        "STRICT_ALL_TABLES",
        "NO_UNSIGNED_SUBTRACTION",
        "ORACLE",
        "ANSI",
    ] {
        for update in [
            "UPDATE leaf_alloc SET max_id = max_id + step WHERE biz_tag = 'orders'",
            "UPDATE leaf_alloc SET max_id = max_id + 1 WHERE biz_tag = 'orders'",
            "UPDATE IGNORE leaf_alloc SET max_id = max_id + 1 WHERE biz_tag = 'orders'",
            "UPDATE cosid SET last_max_id = (last_max_id + 100), last_fetch_time = unix_timestamp() WHERE name = 'a.b'",
        ] {
            let said = lab
                .engine
                .sql("ids", &format!("SET sql_mode = '{mode}'; {update}"));
            assert!(
                said.code != 0 && said.err.contains("1690"),
                "{mode}: {update}: {said:?}"
            );
        }
    }
    for insert in [
        "INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES ('orders', 1, 1000)",
        "INSERT INTO cosid (name, last_max_id, last_fetch_time) VALUES ('a.b', 0, unix_timestamp())",
    ] {
        assert!(lab.engine.sql("ids", insert).err.contains("1062"), "{insert}");
    }
}

/// What a lift puts back, byte by byte: the description, the key, the cache, the table.
#[test]
fn a_lift_puts_back_what_was_there() {
    let Some(lab) = lab() else {
        return;
    };
    lab.engine.admin(
        "ids",
        "INSERT INTO leaf_alloc VALUES ('told', 11, 10, 'it''s \\\\ ours', now()), ('mute', 11, 10, NULL, now());
         INSERT INTO tiny_id_info (biz_type, max_id, step, version) VALUES ('orders', 10, 1000, 5);
         INSERT INTO cosid VALUES ('a.b', 10, 7);
         CREATE TABLE orders_seq (id int, next_id bigint, cache bigint, PRIMARY KEY (id)) COMMENT 'vitess_sequence';
         INSERT INTO orders_seq VALUES (0, 11, 1000);
         CREATE TABLE abc (id bigint unsigned NOT NULL AUTO_INCREMENT PRIMARY KEY); INSERT INTO abc VALUES (10);
         INSERT INTO __idgo__ VALUES ('abc')",
    );
    for (kind, key, shows, fenced, lifted) in [
        (
            "leaf",
            "told",
            "SELECT max_id, description FROM leaf_alloc WHERE biz_tag = 'told'",
            "9223372036854775807\tmint ID: the number was 11",
            "51\tit's \\\\ ours",
        ),
        (
            "leaf",
            "mute",
            "SELECT max_id, description FROM leaf_alloc WHERE biz_tag = 'mute'",
            "9223372036854775807\tmint ID: the number was 11",
            "51\tNULL",
        ),
        (
            "tinyid",
            "orders",
            "SELECT biz_type, max_id, version FROM tiny_id_info",
            "mint-moved:orders\t10\t5",
            "orders\t50\t6",
        ),
        (
            "cosid",
            "a.b",
            "SELECT last_max_id, last_fetch_time > 1000000000 FROM cosid",
            "18446744073709551615\t0",
            "50\t1",
        ),
        (
            "vitess",
            "orders_seq",
            "SELECT * FROM orders_seq",
            "0\t11\t-1000",
            "0\t51\t1000",
        ),
        (
            "idgo",
            "abc",
            "SELECT (SELECT GROUP_CONCAT(table_name) FROM information_schema.tables WHERE table_name LIKE 'abc%'), k \
             FROM __idgo__",
            "abc_moved_to_mint\tabc",
            "abc\tabc",
        ),
    ] {
        let source = open(&lab, kind);
        let counter = look(&lab, &*source, key);
        assert_eq!(counter.mark, Some(11), "{kind}");
        let note = note(&lab, &*source, key);
        // The statement of the plan is the one that is run.
        let planned = source.statements(&counter, Way::Cut);
        assert_eq!(planned.len(), 1, "{kind}");
        assert!(!source.statements(&counter, Way::Beside)[0].is_empty());
        assert_eq!(
            lab.wait(source.fence(key, Way::Cut, &note)).unwrap().mark,
            11,
            "{kind}"
        );
        let id = note.id.to_string();
        assert_eq!(
            lab.engine.admin("ids", shows).trim().replace(&id, "ID"),
            fenced,
            "{kind}"
        );
        lab.wait(source.lift(key, &note, None)).unwrap();
        lab.engine.admin("ids", &planned[0].replace("MOVE-ID", &id));
        assert_eq!(
            lab.engine
                .admin("ids", shows)
                .trim()
                .replace(&id, "ID")
                .replace("\t6", "\t5"),
            fenced,
            "{kind}"
        );
        lab.wait(source.lift(key, &note, Some(50))).unwrap();
        let now = lab.engine.admin("ids", shows);
        assert_eq!(now.trim().replace("\t7", "\t6"), lifted, "{kind}");
        assert_eq!(look(&lab, &*source, key).mark, Some(51), "{kind}");
        assert_eq!(look(&lab, &*source, key).comment, counter.comment, "{kind}");
        // A number that its column cannot hold stays ours, and the fence stays.
        lab.wait(source.lift(key, &note, Some(50))).unwrap();
        let again = lab.wait(source.lift(key, &note, Some(51))).unwrap_err();
        assert_eq!(again.kind, SourceErrorKind::Foreign, "{kind}: {again:?}");
        assert!(again.fix.unwrap().starts_with("UPDATE"), "{kind}");
    }
}

/// Rows that make no sense are found, refused, and mended by the statement that is printed.
#[test]
fn rows_that_make_no_sense_are_refused_with_what_mends_them() {
    let Some(lab) = lab() else {
        return;
    };
    lab.engine.admin(
        "ids",
        "INSERT INTO tiny_id_info (biz_type, max_id, delta, remainder, step) VALUES ('zero', 1, 0, 0, 10),
           ('minus', 1, -3, 0, 10), ('beyond', 1, 2, 2, 10), ('below', 1, 2, -1, 10);
         CREATE TABLE empty_cache (id int, next_id bigint, cache bigint, PRIMARY KEY (id)) COMMENT 'vitess_sequence';
         INSERT INTO empty_cache VALUES (0, 1, 0);
         CREATE TABLE no_row (id int, next_id bigint, cache bigint, PRIMARY KEY (id)) COMMENT 'vitess_sequence';
         CREATE TABLE two_rows (id int, next_id bigint, cache bigint) COMMENT 'vitess_sequence';
         INSERT INTO two_rows VALUES (0, 1, 10), (0, 1, 10)",
    );
    for (kind, key) in [
        ("tinyid", "zero"),
        ("tinyid", "minus"),
        ("tinyid", "beyond"),
        ("tinyid", "below"),
        ("vitess", "empty_cache"),
    ] {
        let source = open(&lab, kind);
        let found = look(&lab, &*source, key).findings;
        assert_eq!(found.len(), 1, "{key}: {found:?}");
        assert_eq!(found[0].code, FindingCode::Misaligned, "{key}");
        let note = note(&lab, &*source, key);
        for error in [
            lab.wait(source.take(key, 1)).unwrap_err(),
            lab.wait(source.fence(key, Way::Cut, &note)).unwrap_err(),
        ] {
            assert_eq!(
                (error.kind, error.outcome),
                (SourceErrorKind::Refused, Outcome::NotDone),
                "{error:?}"
            );
            assert_eq!(error.fix, found[0].fix, "{key}");
        }
        lab.engine.admin("ids", found[0].fix.as_deref().unwrap());
        assert_eq!(look(&lab, &*source, key).findings, [], "{key}");
        lab.wait(source.take(key, 1)).unwrap();
    }
    let source = open(&lab, "vitess");
    for (key, kind) in [
        ("no_row", SourceErrorKind::Gone),
        ("two_rows", SourceErrorKind::Refused),
    ] {
        assert_eq!(lab.wait(source.take(key, 1)).unwrap_err().kind, kind, "{key}");
        let listed = lab.wait(source.list(&Wanted::default())).unwrap();
        let counter = listed.counters.iter().find(|counter| counter.key == key).unwrap();
        assert_eq!(counter.findings[0].code, FindingCode::Misaligned, "{counter:?}");
    }
    assert_eq!(
        lab.engine
            .admin("ids", "SELECT SUM(next_id) FROM two_rows")
            .trim(),
        "2"
    );
}

/// tinyid's own: step overflow, what is read of its row, and tokens never in the clear.
#[test]
fn tinyids_details_tell_what_is_needed_and_no_token() {
    let Some(lab) = lab() else {
        return;
    };
    lab.engine.admin(
        "ids",
        "INSERT INTO tiny_id_info (biz_type, max_id, delta, remainder, step) VALUES ('odd', 1000, 3, 0, 107374183);
         INSERT INTO tiny_id_token (token, biz_type) VALUES ('0f673adf80504e2eaa552f5d791b644c', 'odd'), ('x', 'odd')",
    );
    let source = open(&lab, "tinyid");
    let listed = lab.wait(source.list(&Wanted::default())).unwrap().counters;
    let counter = look(&lab, &*source, "odd");
    assert_eq!(listed, std::slice::from_ref(&counter));
    assert_eq!(
        (counter.mark, counter.increment, counter.cache),
        (Some(1002), 3, Some(107_374_183))
    );
    assert_eq!(counter.details["remainder"], "0");
    let digests = &counter.details["token_sha256"];
    assert!(
        digests.ends_with(",2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"),
        "{digests}"
    );
    assert!(!format!("{counter:?}").contains("0f673adf80504e2e"));
    assert_eq!(counter.findings[0].code, FindingCode::SmallStep);
    let taken = lab.wait(source.take("odd", 3)).unwrap();
    assert_eq!(numbers(&taken), [1002, 1005, 1008]);
    assert_eq!(
        lab.engine
            .admin("ids", "SELECT max_id, version FROM tiny_id_info")
            .trim(),
        "1009\t1"
    );
}

/// A row or table of the name made anew beside the fenced one, and a note whose number was set back, are broken fences.
#[test]
fn broken_fences_are_seen_and_nothing_is_done_to_them() {
    let Some(lab) = lab() else {
        return;
    };
    lab.engine.admin(
        "ids",
        "INSERT INTO leaf_alloc VALUES ('orders', 11, 10, 'x', now());
         INSERT INTO tiny_id_info (biz_type, max_id, step) VALUES ('orders', 10, 1000);
         INSERT INTO counters VALUES ('orders', 10, 1);
         CREATE TABLE abc (id bigint unsigned NOT NULL AUTO_INCREMENT PRIMARY KEY); INSERT INTO abc VALUES (10);
         INSERT INTO __idgo__ VALUES ('abc')",
    );
    for (kind, key, breaks) in [
        (
            "leaf",
            "orders",
            "UPDATE leaf_alloc SET max_id = 5 WHERE biz_tag = 'orders'",
        ),
        (
            "tinyid",
            "orders",
            "INSERT INTO tiny_id_info (biz_type, max_id) VALUES ('orders', 1)",
        ),
        ("own", "orders", "INSERT INTO counters VALUES ('orders', 1, 1)"),
        (
            "idgo",
            "abc",
            "CREATE TABLE abc (id bigint unsigned NOT NULL AUTO_INCREMENT PRIMARY KEY); INSERT INTO abc VALUES (1)",
        ),
    ] {
        let source = open(&lab, kind);
        let note = note(&lab, &*source, key);
        lab.wait(source.fence(key, Way::Cut, &note)).unwrap();
        lab.engine.admin("ids", breaks);
        let fence = lab.wait(source.check(key, &note)).unwrap();
        assert!(matches!(fence, Fence::Broken { .. }), "{kind}: {fence:?}");
        assert_eq!(look(&lab, &*source, key).fence, fence, "{kind}");
        let listed = lab.wait(source.list(&Wanted::default())).unwrap().counters;
        assert!(
            listed
                .iter()
                .any(|found| found.key == key && found.fence == fence),
            "{listed:?}"
        );
        for error in [
            lab.wait(source.take(key, 1)).unwrap_err(),
            lab.wait(source.fence(key, Way::Cut, &note)).unwrap_err(),
            lab.wait(source.lift(key, &note, Some(99))).unwrap_err(),
        ] {
            assert_eq!(
                (error.kind, error.outcome),
                (SourceErrorKind::Foreign, Outcome::NotDone),
                "{kind}: {error:?}"
            );
        }
    }
}

/// A key too long for its column with the prefix is moved by its digest, found by its name, and given back.
#[test]
fn long_keys_are_moved_and_given_back() {
    let Some(lab) = lab() else {
        return;
    };
    let (long, other) = ("x".repeat(63), format!("{}y", "x".repeat(62)));
    let table = "t".repeat(60);
    lab.engine.admin(
        "ids",
        &format!(
            "INSERT INTO tiny_id_info (biz_type, max_id) VALUES ('{long}', 10), ('{other}', 20);
             CREATE TABLE {table} (id bigint unsigned NOT NULL AUTO_INCREMENT PRIMARY KEY);
             INSERT INTO {table} VALUES (30); INSERT INTO __idgo__ VALUES ('{table}')"
        ),
    );
    for (kind, key, mark) in [
        ("tinyid", &long, 11),
        ("tinyid", &other, 21),
        ("idgo", &table, 31),
    ] {
        let source = open(&lab, kind);
        let note = note(&lab, &*source, key);
        assert_eq!(lab.wait(source.fence(key, Way::Cut, &note)).unwrap().mark, mark);
        assert!(matches!(
            lab.wait(source.check(key, &note)),
            Ok(Fence::Ours { mark: found, .. }) if found == mark
        ));
    }
    // The list knows them by their digest alone.
    let source = open(&lab, "tinyid");
    let listed = lab.wait(source.list(&Wanted::default())).unwrap().counters;
    assert!(
        listed.len() == 2 && listed.iter().all(|counter| counter.key.len() == 16),
        "{listed:?}"
    );
    for (kind, key, mark) in [
        ("tinyid", &long, 11),
        ("tinyid", &other, 21),
        ("idgo", &table, 31),
    ] {
        let source = open(&lab, kind);
        let note = Note {
            id: MoveId::fresh(&*lab.runtime()),
            before: Default::default(),
            mark: None,
        };
        lab.wait(source.lift(key, &note, None)).unwrap();
        assert_eq!(look(&lab, &*source, key).mark, Some(mark));
    }
    let error = lab.wait(source.look("mint-moved:orders")).unwrap_err();
    assert_eq!(error.kind, SourceErrorKind::Invalid, "{error:?}");
}

/// Ends: the last numbers are taken, then it is exhausted; numbers beyond ours are never given.
#[test]
fn ends_are_reached_and_never_passed() {
    let Some(lab) = lab() else {
        return;
    };
    lab.engine.admin(
        "ids",
        "INSERT INTO leaf_alloc VALUES ('orders', 9223372036854775805, 10, NULL, now());
         INSERT INTO cosid VALUES ('a.b', 9223372036854775805, 0), ('a.beyond', 9223372036854775812, 0)",
    );
    let last = i64::MAX;
    for (kind, key, left) in [
        ("leaf", "orders", vec![last - 2, last - 1]),
        ("cosid", "a.b", vec![last - 1, last]),
    ] {
        let source = open(&lab, kind);
        assert_eq!(numbers(&lab.wait(source.take(key, 10)).unwrap()), left, "{kind}");
        let error = lab.wait(source.take(key, 1)).unwrap_err();
        assert_eq!(error.kind, SourceErrorKind::Exhausted, "{kind}: {error:?}");
    }
    let source = open(&lab, "cosid");
    let error = lab.wait(source.take("a.beyond", 1)).unwrap_err();
    assert_eq!(error.kind, SourceErrorKind::Exhausted, "{error:?}");
    assert_eq!(look(&lab, &*source, "a.beyond").mark, Some(i128::from(last) + 6));
    // A column that is no bigint does not fail at its end where the server is not strict.
    lab.engine.admin(
        "ids",
        "UPDATE leaf_alloc SET max_id = 1; ALTER TABLE leaf_alloc MODIFY max_id int NOT NULL",
    );
    let source = open(&lab, "leaf");
    let note = note(&lab, &*source, "orders");
    let error = lab.wait(source.fence("orders", Way::Cut, &note)).unwrap_err();
    assert_eq!(error.kind, SourceErrorKind::Refused, "{error:?}");
    lab.engine.admin("ids", &error.fix.unwrap());
    lab.wait(source.fence("orders", Way::Cut, &note)).unwrap();
    let error = lab
        .wait(source.fence("orders", Way::Ceiling(9), &note))
        .unwrap_err();
    assert_eq!(error.kind, SourceErrorKind::Refused);
}

/// Counters are found in every schema that the account sees, by their columns, and named so that they are found again.
#[test]
fn counters_are_found_in_every_schema() {
    let Some(lab) = lab() else {
        return;
    };
    lab.engine.admin(
        "ids",
        "INSERT INTO leaf_alloc VALUES ('orders', 1, 10, NULL, now()), ('a.b:c', 1, 10, NULL, now());
         CREATE DATABASE shop; GRANT ALL ON shop.* TO mint@'%';
         CREATE DATABASE hidden;
         CREATE TABLE shop.leaf_alloc LIKE leaf_alloc; CREATE TABLE hidden.leaf_alloc LIKE leaf_alloc;
         CREATE TABLE shop.leaf_old LIKE leaf_alloc; CREATE TABLE shop.other (biz_tag int, max_id int);
         INSERT INTO shop.leaf_alloc SELECT * FROM leaf_alloc; INSERT INTO hidden.leaf_alloc SELECT * FROM leaf_alloc;
         INSERT INTO shop.leaf_old VALUES ('orders', 500, 10, NULL, now())",
    );
    let source = open(&lab, "leaf");
    let listed = lab.wait(source.list(&Wanted::default())).unwrap();
    assert_eq!(listed.failed, Vec::<String>::new());
    let keys: Vec<&str> = listed.counters.iter().map(|counter| &*counter.key).collect();
    assert_eq!(
        keys,
        [
            "ids.leaf_alloc:a.b:c",
            "orders",
            "shop.leaf_alloc:a.b:c",
            "shop.leaf_alloc:orders",
            "shop.leaf_old:orders"
        ]
    );
    for counter in &listed.counters {
        assert_eq!(&look(&lab, &*source, &counter.key), counter);
    }
    assert_eq!(
        numbers(&lab.wait(source.take("shop.leaf_old:orders", 2)).unwrap()),
        [500, 501]
    );
    assert_eq!(numbers(&lab.wait(source.take("orders", 1)).unwrap()), [1]);
    // Another spelling is another counter.
    assert_eq!(lab.wait(source.look("ORDERS")), Ok(None));
    assert_eq!(
        lab.wait(source.take("ORDERS", 1)).unwrap_err().kind,
        SourceErrorKind::Gone
    );
    let wanted = Wanted {
        matching: vec!["shop.*".into()],
        full: false,
        ..Wanted::default()
    };
    assert_eq!(lab.wait(source.list(&wanted)).unwrap().counters.len(), 3);
    // Every kind that is found by looking, from one URL without a kind.
    let all = open_sources(&lab.direct(), &own(), lab.runtime()).unwrap();
    assert!(all.iter().any(|source| source.kind().name == "leaf"));
    assert!(!all.iter().any(|source| source.kind().name == "own"));
    let few = SourceSettings {
        keys_max: Some(1),
        ..own()
    };
    let few = open_sources(&format!("leaf+{}", lab.direct()), &few, lab.runtime())
        .unwrap()
        .remove(0);
    let listed = lab.wait(few.list(&Wanted::default())).unwrap();
    assert_eq!((listed.counters.len(), listed.failed.len()), (3, 2), "{listed:?}");
    assert!(listed.failed[0].contains("more than 1 rows"));
}

/// A row or table that goes away half-way is gone: nothing is taken, nothing is made.
#[test]
fn what_goes_away_is_gone() {
    let Some(lab) = lab() else {
        return;
    };
    lab.engine.admin(
        "ids",
        "INSERT INTO leaf_alloc VALUES ('orders', 1, 10, NULL, now());
         CREATE TABLE abc (id bigint unsigned NOT NULL AUTO_INCREMENT PRIMARY KEY); INSERT INTO abc VALUES (10);
         INSERT INTO __idgo__ VALUES ('abc'); CREATE TABLE customers (id int); INSERT INTO customers VALUES (7)",
    );
    for (kind, key, goes) in [
        ("leaf", "orders", "DELETE FROM leaf_alloc"),
        ("idgo", "abc", "DROP TABLE abc"),
        ("leaf", "orders", "DROP TABLE leaf_alloc"),
        ("idgo", "customers", "SELECT 1"),
        ("leaf", "ids.here:orders", "SELECT 1"),
    ] {
        let source = open(&lab, kind);
        if goes.starts_with("DELETE") || key == "abc" {
            lab.wait(source.take(key, 1)).unwrap();
        }
        let note = note(&lab, &*source, key);
        lab.engine.admin("ids", goes);
        for error in [
            lab.wait(source.take(key, 1)).unwrap_err(),
            lab.wait(source.fence(key, Way::Cut, &note)).unwrap_err(),
            lab.wait(source.lift(key, &note, Some(5))).unwrap_err(),
        ] {
            assert_eq!(
                (error.kind, error.outcome),
                (SourceErrorKind::Gone, Outcome::NotDone),
                "{kind} {key}: {error:?}"
            );
        }
        assert_eq!(lab.wait(source.look(key)), Ok(None), "{kind} {key}");
    }
    let listed = lab.wait(open(&lab, "idgo").list(&Wanted::default())).unwrap();
    assert!(
        listed.failed[0].contains("lists abc: ") && listed.failed[0].ends_with("it has no table"),
        "{listed:?}"
    );
}

/// A table that a crash may spoil is class L, whatever the server is.
#[test]
fn tables_that_may_forget_are_class_l() {
    let Some(lab) = lab() else {
        return;
    };
    let source = open(&lab, "leaf");
    assert_eq!(lab.wait(source.durability()).unwrap().class, Class::Durable);
    lab.engine.admin("ids", "ALTER TABLE leaf_alloc ENGINE = MyISAM");
    let found = lab.wait(source.durability()).unwrap();
    assert!(
        found.class == Class::Lossy && found.why.contains("leaf_alloc is MyISAM"),
        "{found:?}"
    );
    assert!(found.fix.unwrap().contains("ENGINE = InnoDB"));
    assert_eq!(
        lab.wait(open(&lab, "cosid").durability()).unwrap().class,
        Class::Durable
    );
}

/// One key per shape: some have a table each.
fn key(original: &Original) -> String {
    format!("of_{}", original.kind)
}

/// The originals' own statements in four sessions, our takes in between, and a cut: no number twice, none beyond the mark.
#[test]
fn beside_the_originals_and_a_cut_under_load_repeat_nothing() {
    let Some(lab) = lab() else {
        return;
    };
    for original in [&ORIGINALS[0], &ORIGINALS[3], &ORIGINALS[4], &ORIGINALS[5]] {
        lab.engine
            .admin("ids", &original.make.replace("{k}", &key(original)));
        let source = open(&lab, original.kind);
        // Each stops at its first error, as the original would.
        let script = format!("{};\n", original.next.replace("{k}", &key(original))).repeat(3000);
        let mut seen = Distinct::of(original.kind);
        let mut mark = 0;
        std::thread::scope(|scope| {
            let clients: Vec<_> = (0..4)
                .map(|_| scope.spawn(|| lab.engine.sql("ids", &script).out))
                .collect();
            for n in [1, 10, 100, 5, 7, 50] {
                for _ in 0..5 {
                    seen.extend(numbers(&lab.wait(source.take(&key(original), n)).unwrap()));
                }
            }
            let note = note(&lab, &*source, &key(original));
            // Busy writers may hold it off: the caller tries again.
            let fenced = (0..10).find_map(|_| lab.wait(source.fence(&key(original), Way::Cut, &note)).ok());
            mark = fenced.unwrap().mark;
            for client in clients {
                for line in client.join().unwrap().lines() {
                    let number: i64 = line.trim().parse().unwrap();
                    seen.add(number);
                }
            }
        });
        let last = *seen.iter().max().unwrap();
        invariant!(
            mark == i128::from(last) + 1,
            "{}: {mark} is next after {last}",
            original.kind
        );
    }
}

/// MariaDB killed over and over after takes: nothing twice, and a fence that was acknowledged stands.
#[test]
fn a_killed_server_gives_nothing_twice() {
    let Some(mut lab) = own_lab() else {
        return;
    };
    for original in &ORIGINALS {
        if original.make.contains("1, 2, 2, 1") {
            continue;
        }
        lab.engine
            .admin("ids", &original.make.replace("{k}", &key(original)));
    }
    let sources: Vec<(&Original, Arc<dyn Source>)> = ORIGINALS
        .iter()
        .filter(|original| !original.make.contains("1, 2, 2, 1"))
        .map(|original| (original, open(&lab, original.kind)))
        .collect();
    let mut seen = Distinct::default();
    for _ in 0..3 {
        for (original, source) in &sources {
            let next = lab
                .engine
                .admin("ids", &original.next.replace("{k}", &key(original)));
            let mut all = numbers(&lab.wait(source.take(&key(original), 7)).unwrap());
            all.push(next.lines().last().unwrap().trim().parse().unwrap());
            seen.extend(all.into_iter().map(|number| (original.kind, number)));
        }
        lab.engine.kill();
        lab.engine.start();
    }
    for (original, source) in &sources {
        let note = note(&lab, &**source, &key(original));
        let fenced = lab.wait(source.fence(&key(original), Way::Cut, &note)).unwrap();
        lab.engine.kill();
        lab.engine.start();
        let fence = lab.wait(source.check(&key(original), &note)).unwrap();
        assert!(
            matches!(fence, Fence::Ours { mark, .. } if mark == fenced.mark),
            "{}: {fence:?}",
            original.kind
        );
        let of_it = seen.iter().filter(|(kind, _)| *kind == original.kind);
        let last = of_it.map(|(_, number)| i128::from(*number)).max().unwrap();
        invariant!(last < fenced.mark, "{}: {last} of {fenced:?}", original.kind);
    }
}

/// A commit whose answer is lost: the take may have happened, and says so; before the commit it certainly did not.
#[test]
fn a_lost_answer_says_whether_it_may_have_happened() {
    let Some(mut lab) = own_lab() else {
        return;
    };
    lab.engine.admin(
        "ids",
        "INSERT INTO leaf_alloc VALUES ('orders', 1, 10, NULL, now())",
    );
    let source = open(&lab, "leaf");
    let hasty = SourceSettings {
        store: quick(),
        ..own()
    };
    let hasty = open_with(&lab, "leaf", &hasty);
    lab.wait(source.take("orders", 1)).unwrap();
    // Somebody holds the row: we give up, and nothing is done.
    let mut holder = Session::start(lab.engine.batch("ids"));
    holder.ask("BEGIN");
    let held = holder.ask("SELECT max_id FROM leaf_alloc FOR UPDATE");
    assert_eq!(held.len(), 1);
    let ended = lab.wait(hasty.take("orders", 1)).unwrap_err();
    holder.ask("COMMIT");
    assert_eq!(
        (ended.kind, ended.outcome),
        (SourceErrorKind::Unavailable, Outcome::NotDone),
        "{ended:?}"
    );
    assert_eq!(numbers(&lab.wait(source.take("orders", 1)).unwrap()), [2]);
    lab.engine.kill();
    let error = lab.wait(source.take("orders", 1)).unwrap_err();
    assert_eq!(
        (error.kind, error.outcome),
        (SourceErrorKind::Unavailable, Outcome::NotDone),
        "{error:?}"
    );
    lab.engine.start();
    assert_eq!(numbers(&lab.wait(source.take("orders", 1)).unwrap()), [3]);
}

/// An own table is asked for, and its columns are looked at before anything is written.
#[test]
fn own_tables_are_judged_before_anything_is_written() {
    let Some(lab) = lab() else {
        return;
    };
    lab.engine.admin(
        "ids",
        "INSERT INTO counters VALUES ('orders', 7, 1), ('others', 7, 2);
         CREATE TABLE numbered (k int PRIMARY KEY, n decimal(20), m bigint); INSERT INTO numbered VALUES (1, 1, 1)",
    );
    let url = format!("own+{}", lab.direct());
    let error = open_sources(&url, &SourceSettings::default(), lab.runtime()).unwrap_err();
    assert!(error.message.contains("--key-column"), "{error:?}");
    let with = |table: &str, key: &str, value: &str, is_next| {
        let own = SourceSettings {
            table: Some(OwnTable {
                table: table.into(),
                key_column: key.into(),
                value_column: value.into(),
                is_next,
                condition: None,
            }),
            ..own()
        };
        open_sources(&url, &own, lab.runtime()).unwrap().remove(0)
    };
    for (source, why) in [
        (with("counters", "what", "value", true), "has no column value"),
        (with("counters", "who", "n", true), "has no column who"),
        (with("numbered", "k", "m", true), "only texts can be renamed"),
        (
            with("ids.numbered", "k", "n", true),
            "only whole numbers can be counted with",
        ),
    ] {
        let error = lab.wait(source.take("1", 1)).unwrap_err();
        assert_eq!(error.kind, SourceErrorKind::Refused, "{error:?}");
        assert!(error.message.contains(why), "{error:?}");
    }
    let next = with("ids.counters", "what", "n", true);
    assert_eq!(numbers(&lab.wait(next.take("orders", 2)).unwrap()), [7, 8]);
    // The condition leaves the other row out.
    let own = open(&lab, "own");
    assert_eq!(lab.wait(own.look("others")), Ok(None));
    let listed = lab.wait(own.list(&Wanted::default())).unwrap().counters;
    assert_eq!(listed.len(), 1, "{listed:?}");
}
