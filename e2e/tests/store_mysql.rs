//! The MySQL store on a real MariaDB: the suite of all stores, then what only MariaDB has.
#![allow(clippy::unwrap_used)]

use mintage_e2e::certificates::Certificates;
use mintage_e2e::engine::mariadb::Mariadb;
use mintage_e2e::store_suite::{Engine, Lab, cases, holds_no_secret, key, patient, until_ok, value};
use mintage_ledger::{Class, Marks, Outcome, StoreErrorKind, StoreSettings, Version, init_store};

mintage_e2e::store_suite!(Mariadb::run(), Mariadb::borrow());

/// Class L, refused with the setting to change, whatever of the three it is.
// claim: P31
#[test]
fn a_server_that_may_forget_is_refused_with_the_setting_to_change() {
    for (settings, fix) in [
        (
            &["--innodb-flush-log-at-trx-commit=2"][..],
            "innodb_flush_log_at_trx_commit = 1",
        ),
        (&["--innodb-doublewrite=OFF"][..], "innodb_doublewrite = ON"),
        (&["--log-bin=b", "--sync-binlog=0"][..], "sync_binlog = 1"),
    ] {
        let Some(server) = Mariadb::with_settings(settings) else {
            return;
        };
        let lab = Lab::new(server);
        lab.init();
        let error = lab.refused(&lab.direct(), &patient());
        assert_eq!(error.kind, StoreErrorKind::Denied, "{error:?}");
        assert!(format!("{:?}", error.hint).contains(fix), "{error:?}");
        let allowed = StoreSettings {
            allow_lossy: true,
            ..patient()
        };
        let store = lab.open_with(&lab.direct(), &allowed).unwrap();
        assert_eq!(store.class(), Class::Lossy);
    }
}

// claim: P32
#[test]
fn a_server_that_begins_to_forget_takes_no_more_writes() {
    let Some(server) = Mariadb::run() else { return };
    let setting = "innodb_flush_log_at_trx_commit";
    let sync = |how: u8| {
        move |mariadb: &Mariadb| {
            mariadb.admin("ids", &format!("SET GLOBAL {setting} = {how}"));
        }
    };
    let [forget, mend] = [sync(2), sync(1)];
    cases::a_server_that_begins_to_forget_takes_no_more_writes(Lab::new(server), setting, [&forget, &mend]);
}

/// Every format of the binary log takes our statements.
#[test]
fn every_format_of_the_binary_log_takes_our_writes() {
    for format in ["STATEMENT", "MIXED", "ROW"] {
        let format = format!("--binlog-format={format}");
        let Some(server) = Mariadb::with_settings(&["--log-bin=b", "--sync-binlog=1", &format]) else {
            return;
        };
        let lab = Lab::new(server);
        lab.init();
        let store = lab.open(&lab.direct());
        assert!(store.durability().why.contains("sync_binlog=1"));
        let key = key("seq/logged");
        for version in 0..3u64 {
            let expected = (version > 0).then_some(Version::of(version));
            lab.wait(store.compare_and_set(&key, expected, value(version, 1), Marks::NeverLower))
                .unwrap();
        }
    }
}

/// A session of ours is strict whatever the server's own mode is: nothing is cut silently.
#[test]
fn a_lax_server_cuts_nothing() {
    let Some(server) = Mariadb::with_settings(&[
        "--sql-mode=",
        "--autocommit=0",
        "--transaction-isolation=SERIALIZABLE",
    ]) else {
        return;
    };
    let lab = Lab::new(server);
    lab.init();
    let store = lab.open(&lab.direct());
    let key = key("seq/lax");
    lab.wait(store.compare_and_set(&key, None, value(1, 1), Marks::NeverLower))
        .unwrap();
    lab.engine
        .admin("ids", "ALTER TABLE mint_register MODIFY body varchar(10)");
    let mut long = value(2, 2);
    long.body = "{\"a\":\"much too long\"}".into();
    let error = lab
        .wait(store.compare_and_set(&key, Some(Version::of(1)), long, Marks::NeverLower))
        .unwrap_err();
    assert_eq!(error.outcome, Outcome::NotDone, "{error:?}");
    assert_eq!(lab.held(&key).unwrap().version, Version::of(1));
}

/// However little or much of the store an operator's mistake took: no fresh start.
// claim: P33
#[test]
fn whatever_is_dropped_or_emptied_stops_a_running_node() {
    for mistake in [
        "TRUNCATE mint_register",
        "DELETE FROM mint_register WHERE `key` = '!cluster'",
        "DELETE FROM mint_meta",
        "DROP TABLE mint_register",
        "DROP TABLE mint_meta",
    ] {
        let Some(server) = Mariadb::borrow() else { return };
        let lab = Lab::new(server);
        lab.init();
        let store = lab.open(&lab.direct());
        let (held, afresh) = (key("seq/held"), key("seq/afresh"));
        let write = |key| lab.wait(store.compare_and_set(key, None, value(1, 1), Marks::NeverLower));
        write(&held).unwrap();
        lab.engine.admin("ids", mistake);
        let error = write(&afresh).unwrap_err();
        assert_eq!(
            (error.kind, error.outcome),
            (StoreErrorKind::Stopped, Outcome::NotDone),
            "{mistake}: {error:?}"
        );
        assert!(store.stopped().is_some(), "{mistake}");
        let error = lab.refused(&lab.direct(), &patient());
        assert_eq!(error.kind, StoreErrorKind::Foreign, "{mistake}: {error:?}");
    }
}

/// Another server behind the same address, as after the promotion of an asynchronous replica.
// claim: P30
#[test]
fn another_server_behind_the_address_is_refused() {
    let Some(first) = Mariadb::with_settings(&["--server-id=1"]) else {
        return;
    };
    let Some(second) = Mariadb::with_settings(&["--server-id=2"]) else {
        return;
    };
    let mut lab = Lab::new(first);
    lab.init();
    let store = lab.open(&lab.proxied());
    let key = key("seq/promoted");
    lab.wait(store.compare_and_set(&key, None, value(1, 1), Marks::NeverLower))
        .unwrap();
    // What an asynchronous replica had received, and then a write that it had not.
    let dump = "SELECT CONCAT('INSERT INTO mint_register VALUES (', QUOTE(`key`), ',', version, ',', mark, ',', \
                QUOTE(token), ',', QUOTE(body), ',', QUOTE(written_at), ');') FROM mint_register; \
                SELECT CONCAT('INSERT INTO mint_meta VALUES (1,', schema_version, ',', QUOTE(cluster_id), ',', \
                QUOTE(incarnation), ',', QUOTE(class), ',', QUOTE(made_at), ');') FROM mint_meta";
    let rows = lab.engine.admin("ids", dump);
    let tables = lab.engine.admin(
        "ids",
        "SHOW CREATE TABLE mint_register; SHOW CREATE TABLE mint_meta",
    );
    lab.wait(store.compare_and_set(&key, Some(Version::of(1)), value(50, 2), Marks::NeverLower))
        .unwrap();
    for line in tables.lines() {
        let create = line.split_once('\t').unwrap().1.replace("\\n", " ");
        second.admin("ids", &create);
    }
    second.admin("ids", &rows);
    lab.engine.kill();
    lab.proxy.redirect(second.address());
    let refused = loop {
        let claim =
            lab.wait(store.compare_and_set(&key, Some(Version::of(1)), value(20, 3), Marks::NeverLower));
        let error = claim.expect_err("it lacks an acknowledged write");
        if error.kind != StoreErrorKind::Unavailable {
            break error;
        }
    };
    assert_eq!(refused.kind, StoreErrorKind::Stopped, "{refused:?}");
    assert!(refused.message.contains("server_id 2"), "{refused:?}");
    let error = lab.refused(&lab.proxied(), &patient());
    assert_eq!(error.kind, StoreErrorKind::Foreign, "{error:?}");
    let accept = StoreSettings {
        accept_copy: true,
        ..patient()
    };
    lab.open_with(&lab.proxied(), &accept).unwrap();
    lab.open(&lab.proxied());
}

/// A private authority, trusted by name; anything less is refused in words.
#[test]
fn tls_is_checked_as_the_url_says() {
    let Some(certificates) = Certificates::make() else {
        return;
    };
    let Some(server) = Mariadb::with_certificates(&certificates) else {
        return;
    };
    let lab = Lab::new(server);
    lab.engine.admin("", "ALTER USER mint@'%' REQUIRE SSL");
    let authority = certificates.authority().display().to_string();
    let trusted = format!("{}?ssl-mode=VERIFY_IDENTITY&ssl-ca={authority}", lab.direct());
    lab.wait(init_store(&trusted, &patient(), lab.runtime())).unwrap();
    for query in [
        format!("ssl-mode=VERIFY_IDENTITY&ssl-ca={authority}"),
        format!("ssl-mode=VERIFY_CA&ssl-ca={authority}"),
        "ssl-mode=REQUIRED".into(),
    ] {
        lab.open(&format!("{}?{query}", lab.direct()));
    }
    let by_name = lab.direct().replace("127.0.0.1", "localhost");
    for (url, query, why) in [
        (
            &by_name,
            format!("ssl-mode=VERIFY_IDENTITY&ssl-ca={authority}"),
            "certificate",
        ),
        (
            &lab.direct(),
            "ssl-mode=VERIFY_IDENTITY".to_string(),
            "certificate",
        ),
        (&lab.direct(), "ssl-mode=DISABLED".into(), "Access denied"),
        (
            &lab.direct(),
            "ssl-mode=VERIFY_CA&ssl-ca=/no/such.pem".into(),
            "cannot read /no/such.pem",
        ),
        (&lab.direct(), "tls=yes".into(), "unknown parameter"),
    ] {
        let error = lab.refused(&format!("{url}?{query}"), &patient());
        assert!(error.message.contains(why), "{query}: {error:?}");
        holds_no_secret(&error);
    }
}

/// `read_only`, which a failover sets on the old primary.
#[test]
fn a_read_only_server_takes_no_writes_for_the_time_being() {
    let Some(server) = Mariadb::borrow() else { return };
    let lab = Lab::new(server);
    lab.init();
    let store = lab.open(&lab.direct());
    let held = key("seq/held");
    let write = || store.compare_and_set(&held, None, value(1, 1), Marks::NeverLower);
    lab.engine.admin("", "SET GLOBAL read_only = 1");
    let error = lab.wait(write()).unwrap_err();
    assert_eq!(
        (error.kind, error.outcome),
        (StoreErrorKind::Unavailable, Outcome::NotDone),
        "{error:?}"
    );
    let error = lab.refused(&lab.direct(), &patient());
    assert!(error.message.contains("read_only is on"), "{error:?}");
    lab.engine.admin("", "SET GLOBAL read_only = 0");
    lab.wait(until_ok(write));
}
