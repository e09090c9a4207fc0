//! The store `mysql:`: MariaDB 10.3 and later, MySQL 8 and later.
//!
//! Every statement is its own transaction. A write's success is the number of rows it matched (the driver asks
//! for `CLIENT_FOUND_ROWS`), since MariaDB has no `UPDATE … RETURNING`. The session's `sql_mode` is strict: a
//! server's own might cut values silently.

use std::collections::HashMap;
use std::str::FromStr;

use sqlx::ConnectOptions;
use sqlx::error::DatabaseError;
use sqlx::mysql::{MySqlConnectOptions, MySqlConnection, MySqlDatabaseError};

use super::sql::galera::View;
use super::sql::row::{Arg, Column, Field, Row};
use super::sql::session::{Dialect, Probe, Server, Session, Sort, session};
use super::sql::statements::Texts;
use super::sql::url;
use super::{Class, Durability, Setting, Standing, StoreError, StoreSettings};
use crate::runtime::BoxFuture;

const SCHEME: &str = "mysql";

/// What a URL may say after its `?`.
const PARAMETERS: [&str; 5] = ["ssl-mode", "ssl-ca", "ssl-cert", "ssl-key", "socket"];

session!(
    MySqlConnection,
    execute,
    |done: sqlx::mysql::MySqlQueryResult| Ok((
        done.rows_affected(),
        i64::try_from(done.last_insert_id()).ok()
    ))
);

/// A MariaDB or MySQL server.
pub type MySql = Server<MySqlConnectOptions>;

/// The settings that decide the class; those that a server does not have are absent from its answer.
const SETTINGS: &str = "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('version', 'version_comment', \
    'innodb_flush_log_at_trx_commit', 'log_bin', 'sync_binlog', 'innodb_doublewrite', 'read_only', \
    'super_read_only', 'innodb_read_only', 'server_id', 'server_uuid', 'wsrep_on', \
    'group_replication_group_name', 'rpl_semi_sync_master_enabled', 'rpl_semi_sync_source_enabled')";

/// What the server is at.
const STATUS: &str = "SHOW GLOBAL STATUS WHERE Variable_name IN ('Uptime', 'wsrep_ready', 'wsrep_cluster_status', \
    'wsrep_cluster_conf_id')";

/// The present configuration of a Galera cluster: its UUID and id, and its members' UUIDs.
const VIEW: &str = "SELECT c.cluster_uuid, CAST(c.view_id AS CHAR), m.node_uuid \
    FROM mysql.wsrep_cluster c JOIN mysql.wsrep_cluster_members m ON m.cluster_uuid = c.cluster_uuid";

/// Where this session may read: [`CAUSAL_READS`] knows whether the server has it.
const CAUSAL_READS: &str = "SHOW SESSION VARIABLES LIKE 'wsrep\\_sync\\_wait'";

/// Counts the configurations that a node was in; another value outside of all of them.
const VIEW_ID: &str = "SHOW GLOBAL STATUS LIKE 'wsrep\\_cluster\\_conf\\_id'";

/// With the uptime it says when the server was started.
const NOW: &str = "SELECT 'now', CAST(UNIX_TIMESTAMP() AS CHAR)";

/// Tables of ours that InnoDB does not keep.
const OTHER_ENGINES: &str = "SELECT CONCAT(table_name, ' is ', COALESCE(engine, 'unknown')) \
    FROM information_schema.tables WHERE table_schema = DATABASE() \
    AND table_name IN ('mint_meta', 'mint_register') AND COALESCE(engine, '') <> 'InnoDB'";

impl Dialect for MySql {
    type Session = MySqlConnection;
    const SCHEME: &'static str = SCHEME;
    const TEXTS: Texts = Texts {
        numbered: false,
        // Not INSERT IGNORE: it turns every other error into a warning.
        unless_there: "",
        // Part of every answer to a write.
        numbers: " AND LAST_INSERT_ID(?) > 0",
        returns: "",
        age: "TIMESTAMPDIFF(SECOND, written_at, CURRENT_TIMESTAMP(6))",
        wall: "SELECT CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED)",
        schema: include_str!("sql/mysql.sql"),
    };

    const PROBE_STATEMENTS: u32 = 5;

    fn of_url(rest: &str, settings: &StoreSettings) -> Result<MySql, StoreError> {
        let place = url::check(SCHEME, rest, &PARAMETERS, &["ssl-ca", "ssl-cert", "ssl-key"])?;
        let options = MySqlConnectOptions::from_str(&format!("{SCHEME}:{rest}"))
            .map_err(|error| url::invalid(SCHEME, &error.to_string()))?
            .pipes_as_concat(false)
            .no_engine_substitution(false)
            .disable_statement_logging();
        Ok(Server {
            options,
            label: place.label,
            request_timeout: settings.request_timeout,
        })
    }

    fn label(&self) -> &str {
        &self.label
    }

    fn connect(&self) -> BoxFuture<'static, Result<MySqlConnection, sqlx::Error>> {
        let options = self.options.clone();
        // The server gives up when we do, in whole seconds.
        let patience_s = self.request_timeout.as_secs().max(1);
        // REPEATABLE READ works with every binlog_format; single statements see the newest rows under it.
        let settle = format!(
            "SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', SESSION autocommit = 1, \
             SESSION innodb_lock_wait_timeout = {patience_s}; \
             SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ"
        );
        Box::pin(async move {
            let mut connection = options.connect().await?;
            connection.script(&settle).await?;
            // A read on a node of Galera first waits for what the others have acknowledged.
            let causal = connection.rows(&CAUSAL_READS.into(), &[], &[Column::Text; 2]);
            if !causal.await?.is_empty() {
                connection.script("SET SESSION wsrep_sync_wait = 1").await?;
            }
            Ok(connection)
        })
    }

    fn sort(&self, error: &(dyn DatabaseError + 'static)) -> Sort {
        match error.try_downcast_ref::<MySqlDatabaseError>() {
            Some(error) => sort(error.number()),
            None => Sort::Unclear,
        }
    }

    fn probe<'a>(&'a self, session: &'a mut MySqlConnection) -> BoxFuture<'a, Result<Probe, sqlx::Error>> {
        Box::pin(async move {
            let mut settings = Settings::default();
            for sql in [SETTINGS, STATUS, NOW] {
                for row in session.rows(&sql.into(), &[], &[Column::Text; 2]).await? {
                    if let [Field::Text(name), Field::Text(value)] = &row[..] {
                        settings.0.insert(name.to_ascii_lowercase(), value.clone());
                    }
                }
            }
            let engines = session.rows(&OTHER_ENGINES.into(), &[], &[Column::Text]).await?;
            let engines: Vec<&str> = engines.iter().filter_map(|row| row[0].text()).collect();
            let mut probe = judge(&settings, &engines);
            if settings.is_on("wsrep_on") && probe.unwritable.is_none() {
                let rows = match session.rows(&VIEW.into(), &[], &[Column::Text; 3]).await {
                    // Before Galera 4.
                    Err(sqlx::Error::Database(error)) if self.sort(&*error) == Sort::Missing => Vec::new(),
                    rows => rows?,
                };
                judge_view(&mut probe, &rows);
            }
            Ok(probe)
        })
    }

    fn view<'a>(
        &'a self,
        session: &'a mut MySqlConnection,
    ) -> BoxFuture<'a, Result<Option<u64>, sqlx::Error>> {
        Box::pin(async move {
            let rows = session.rows(&VIEW_ID.into(), &[], &[Column::Text; 2]).await?;
            let id = rows.first().and_then(|row| row.get(1)?.text());
            Ok(id.and_then(|id| id.parse().ok()))
        })
    }
}

/// What an error number means (the servers' error references). Those named here were answered for a statement
/// that was rolled back; any other may have come from a commit.
fn sort(number: u16) -> Sort {
    match number {
        // Duplicate entry; table exists.
        1062 | 1050 => Sort::Duplicate,
        // Deadlock (Galera's failed certification, too); changed since the snapshot.
        1213 | 1020 => Sort::Again,
        // Unknown database, table, column.
        1049 | 1146 | 1051 | 1054 => Sort::Missing,
        // Access denied, to the database, of a command, of a column, for want of a privilege; a trigger beside a binary
        // log; not identified; password expired; account locked.
        1044 | 1045 | 1142 | 1143 | 1227 | 1370 | 1419 | 1698 | 1820 | 1862 | 3118 | 4151 => Sort::Denied,
        // --read-only, a read-only transaction, InnoDB read-only.
        1290 | 1792 | 1836 | 1874 => Sort::ReadOnly,
        // Disk full, table full.
        1021 | 1114 => Sort::Full,
        // Too many connections; blocked host; lock wait timeout; statement timeout.
        1040 | 1129 | 1203 | 1226 | 1205 | 1969 | 3024 => Sort::Busy,
        // Crashed or corrupted table.
        1034 | 1035 | 1194 | 1195 | 1712 => Sort::Damaged,
        // Syntax, unknown variable, out of range, too long, check failed, unsafe for this binlog_format; no further number
        // of an AUTO_INCREMENT column; a trigger that is there or is not; not for this ALGORITHM or LOCK; a sequence
        // that has run out, or whose bounds make no sense.
        1064 | 1193 | 1231 | 1264 | 1366 | 1406 | 3819 | 4025 | 1665 | 1598 | 1467 | 1359 | 1360 | 1845
        | 1846 | 4084 | 4085 => Sort::Refused,
        _ => Sort::Unclear,
    }
}

/// The server's settings, by their names in small letters.
#[derive(Default)]
struct Settings(HashMap<String, String>);

impl Settings {
    /// A setting; empty where the server does not have it.
    fn value(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }

    fn is_on(&self, name: &str) -> bool {
        matches!(self.value(name).to_ascii_uppercase().as_str(), "ON" | "1" | "YES")
    }

    fn is_off(&self, name: &str) -> bool {
        matches!(self.value(name).to_ascii_uppercase().as_str(), "OFF" | "0")
    }
}

/// Names the copy of the data that a node of Galera shows: its history as far as it can be told from another one.
fn judge_view(probe: &mut Probe, rows: &[Row]) {
    let text = |row: &Row, at: usize| row.get(at).and_then(Field::text).unwrap_or_default().to_string();
    let Some(first) = rows.first() else {
        let why = "the Galera node does not tell its members: mysql.wsrep_cluster_members is empty or not there \
                   (MariaDB 10.4 or newer has it)";
        probe.unwritable = Some(why.to_string());
        return;
    };
    let uuids: Vec<String> = rows.iter().map(|row| text(row, 2)).collect();
    let uuids: Vec<&str> = uuids.iter().map(String::as_str).collect();
    let id = text(first, 1).parse().ok();
    match id.and_then(|id| View::new(&text(first, 0), id, &uuids)) {
        Some(view) if id == probe.view => probe.copy = view.text(),
        _ => probe.unwritable = Some("the members of the Galera cluster are changing".to_string()),
    }
}

/// What the settings say of the server.
fn judge(settings: &Settings, other_engines: &[&str]) -> Probe {
    let kept = format!("{}, {}", flushed(settings), replication(settings));
    let durability = Durability::judged(Class::Durable, kept, "", judged(settings, other_engines));
    // Replication demands a server id of each server; MySQL keeps a UUID with the data as well.
    let copy = match settings.value("server_uuid") {
        "" => format!("server_id {}", settings.value("server_id")),
        uuid => uuid.to_string(),
    };
    let view = settings.value("wsrep_cluster_conf_id").parse().ok();
    let seconds = |name| settings.value(name).parse::<i64>().unwrap_or_default();
    Probe {
        durability,
        copy,
        view: view.filter(|_| settings.is_on("wsrep_on")),
        started_s: seconds("now") - seconds("uptime"),
        unwritable: unwritable(settings),
    }
}

/// Why the server takes no writes now, if so.
fn unwritable(settings: &Settings) -> Option<String> {
    let status = settings.value("wsrep_cluster_status");
    match settings.is_on("wsrep_on") {
        true if !settings.is_on("wsrep_ready") => {
            Some("the Galera node is not ready (wsrep_ready is off)".to_string())
        }
        true if !status.eq_ignore_ascii_case("Primary") => Some(format!(
            "the Galera node is cut off from most others (wsrep_cluster_status is {status})"
        )),
        _ => ["read_only", "super_read_only", "innodb_read_only"]
            .into_iter()
            .find(|name| settings.is_on(name))
            .map(|name| format!("{name} is on")),
    }
}

/// The settings that matter, the worst to have wrong first.
fn judged(settings: &Settings, other_engines: &[&str]) -> Vec<Setting> {
    let value = |name| settings.value(name);
    let (flush, sync) = (value("innodb_flush_log_at_trx_commit"), value("sync_binlog"));
    let (has_log, engines) = (settings.is_on("log_bin"), other_engines.join(", "));
    let synced = match has_log {
        true => Setting::good("sync_binlog", sync, "1").or_lossy(
            sync == "1",
            format_args!(
                "sync_binlog={sync} with a binary log: after a crash of the machine, log and tables may disagree"
            ),
            "SET GLOBAL sync_binlog = 1;  -- and in the server's configuration",
        ),
        false => Setting::good("sync_binlog", sync, "any, without a binary log"),
    };
    let follows = Setting::good(
        "replication",
        replication(settings),
        "none, or a promotion that you accept",
    );
    vec![
        Setting::good(
            "mint_meta, mint_register",
            if engines.is_empty() { "InnoDB" } else { &engines },
            "InnoDB",
        )
        .or_lossy(
            engines.is_empty(),
            format_args!("{engines}: only InnoDB keeps what it acknowledges"),
            "ALTER TABLE mint_register ENGINE = InnoDB; ALTER TABLE mint_meta ENGINE = InnoDB",
        ),
        Setting::good("innodb_flush_log_at_trx_commit", flush, "1").or_lossy(
            flush == "1",
            format_args!("innodb_flush_log_at_trx_commit={flush}: a crash loses acknowledged writes"),
            "SET GLOBAL innodb_flush_log_at_trx_commit = 1;  -- and in the server's configuration",
        ),
        Setting::good("innodb_doublewrite", value("innodb_doublewrite"), "ON").or_lossy(
            !settings.is_off("innodb_doublewrite"),
            "innodb_doublewrite=OFF: a crash of the machine can tear pages",
            "set innodb_doublewrite = ON in the server's configuration and restart it",
        ),
        Setting::good("log_bin", value("log_bin"), "ON or OFF"),
        synced,
        match is_alone(settings) {
            true => follows,
            // Whatever follows, a promotion is refused until somebody accepts it.
            false => follows.but(
                Standing::Note,
                "a promotion is refused until an operator accepts it",
                "",
            ),
        },
    ]
}

/// Whether no other server is known of that could take over.
fn is_alone(settings: &Settings) -> bool {
    replication(settings) == ALONE
}

const ALONE: &str = "no synchronous replica";

/// What keeps every write that was acknowledged.
fn flushed(settings: &Settings) -> String {
    let version = settings.value("version");
    format!(
        "{} {}: innodb_flush_log_at_trx_commit=1, innodb_doublewrite=ON{}",
        if version.contains("MariaDB") {
            "MariaDB"
        } else {
            "MySQL"
        },
        version.split('-').next().unwrap_or_default(),
        if settings.is_on("log_bin") {
            ", sync_binlog=1"
        } else {
            ""
        }
    )
}

/// What becomes of them when another server takes over.
fn replication(settings: &Settings) -> &'static str {
    let is_semi_synchronous = ["rpl_semi_sync_master_enabled", "rpl_semi_sync_source_enabled"]
        .into_iter()
        .any(|name| settings.is_on(name));
    if settings.is_on("wsrep_on") {
        "Galera: where most nodes ended at once, another may lack acknowledged writes, and is refused"
    } else if !settings.value("group_replication_group_name").is_empty() {
        "group replication: another member may lack acknowledged writes, and is refused"
    } else if is_semi_synchronous {
        "semi-synchronous replication: another replica than the one that confirmed may lack acknowledged writes, so any \
         promotion is refused"
    } else {
        ALONE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A healthy MariaDB, with some settings changed.
    fn probe(changed: &[(&str, &str)], engines: &[&str]) -> Probe {
        let healthy = [
            ("version", "10.11.19-MariaDB-0+deb12u1"),
            ("innodb_flush_log_at_trx_commit", "1"),
            ("innodb_doublewrite", "ON"),
            ("log_bin", "OFF"),
            ("sync_binlog", "0"),
            ("read_only", "OFF"),
            ("server_id", "3"),
            ("wsrep_on", "OFF"),
            ("now", "1795219200"),
            ("uptime", "200"),
        ];
        let all = healthy.iter().chain(changed);
        let settings = all.map(|(name, value)| (name.to_string(), value.to_string()));
        judge(&Settings(settings.collect()), engines)
    }

    #[track_caller]
    fn check_class(changed: &[(&str, &str)], class: Class, why: &str) {
        let probe = probe(changed, &[]);
        assert_eq!(probe.durability.class, class, "{changed:?}: {probe:?}");
        assert!(probe.durability.why.contains(why), "{changed:?}: {probe:?}");
        assert_eq!(
            probe.durability.fix.is_some(),
            class == Class::Lossy,
            "{changed:?}: {probe:?}"
        );
    }

    #[test]
    fn the_settings_decide_the_class() {
        let semi_sync = [("rpl_semi_sync_master_enabled", "ON")];
        check_class(&[], Class::Durable, "MariaDB 10.11.19: innodb_flush");
        check_class(&[("version", "8.4.1")], Class::Durable, "MySQL 8.4.1");
        check_class(&semi_sync, Class::Durable, "semi-synchronous");
        check_class(
            &[("wsrep_on", "ON"), ("wsrep_ready", "ON")],
            Class::Durable,
            "Galera",
        );
        check_class(&[("group_replication_group_name", "g")], Class::Durable, "group");
        for (name, value, why) in [
            ("innodb_flush_log_at_trx_commit", "0", "commit=0"),
            ("innodb_flush_log_at_trx_commit", "2", "commit=2"),
            ("innodb_doublewrite", "OFF", "doublewrite"),
            ("log_bin", "ON", "sync_binlog=0"),
        ] {
            check_class(&[(name, value)], Class::Lossy, why);
            check_class(&[&semi_sync[..], &[(name, value)]].concat(), Class::Lossy, why);
        }
        check_class(
            &[("log_bin", "ON"), ("sync_binlog", "1")],
            Class::Durable,
            "sync_binlog=1",
        );
        let probe = probe(&[], &["mint_register is MyISAM"]);
        assert_eq!(probe.durability.class, Class::Lossy);
        assert!(probe.durability.why.contains("MyISAM"), "{probe:?}");
    }

    #[test]
    fn a_read_only_server_takes_no_writes() {
        assert_eq!(probe(&[], &[]).unwritable, None);
        for name in ["read_only", "super_read_only", "innodb_read_only"] {
            assert_eq!(
                probe(&[(name, "ON")], &[]).unwritable,
                Some(format!("{name} is on"))
            );
        }
        let galera = |ready, status| {
            let changed = [
                ("wsrep_on", "ON"),
                ("wsrep_ready", ready),
                ("wsrep_cluster_status", status),
            ];
            probe(&changed, &[]).unwritable
        };
        assert!(galera("OFF", "Primary").is_some_and(|why| why.contains("not ready")));
        assert!(galera("ON", "non-Primary").is_some_and(|why| why.contains("cut off")));
        assert_eq!(galera("ON", "Primary"), None);
    }

    #[test]
    fn a_node_of_galera_is_named_by_its_configuration() {
        let row = |member: &str| -> Row {
            ["f8219a38-e671", "3", member]
                .map(|text| Field::Text(text.into()))
                .into()
        };
        let rows = [
            row("f8548008-e671-11f1-b043-329777e7c439"),
            row("f820b241-e671-11f1-a30e-52d8842511c4"),
        ];
        let named = |id: &str, rows: &[Row]| {
            let mut probe = probe(&[("wsrep_on", "ON"), ("wsrep_cluster_conf_id", id)], &[]);
            probe.unwritable = None;
            judge_view(&mut probe, rows);
            probe
        };
        let found = named("3", &rows);
        assert_eq!(found.copy, "galera f8219a38-e671 3 2 f820b241-a30e,f8548008-b043");
        assert_eq!((found.unwritable, found.view), (None, Some(3)));
        // Half-way through a change, and a server that keeps no such table.
        assert!(
            named("4", &rows)
                .unwritable
                .is_some_and(|why| why.contains("are changing"))
        );
        assert!(named("3", &[]).unwritable.is_some_and(|why| why.contains("10.4")));
    }

    #[test]
    fn the_copy_is_the_server_that_holds_the_data() {
        assert_eq!(probe(&[], &[]).copy, "server_id 3");
        assert_eq!(probe(&[("server_uuid", "3e11-ab")], &[]).copy, "3e11-ab");
        assert_eq!(probe(&[], &[]).started_s, 1_795_219_000);
    }

    #[test]
    fn only_what_was_rolled_back_counts_as_not_done() {
        for (number, expected) in [
            (1062, Sort::Duplicate),
            (1213, Sort::Again),
            (1205, Sort::Busy),
            (1045, Sort::Denied),
            (1142, Sort::Denied),
            (1290, Sort::ReadOnly),
            (1114, Sort::Full),
            (1146, Sort::Missing),
            (1049, Sort::Missing),
            (1194, Sort::Damaged),
            // Shutdown, killed, an error during commit, and what nobody has heard of.
            (1053, Sort::Unclear),
            (1317, Sort::Unclear),
            (1927, Sort::Unclear),
            (1180, Sort::Unclear),
            (9999, Sort::Unclear),
        ] {
            assert_eq!(sort(number), expected, "{number}");
        }
    }
}
