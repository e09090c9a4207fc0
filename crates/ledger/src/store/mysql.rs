//! The store `mysql:`: MariaDB 10.3 and later, MySQL 8 and later.
//!
//! Every statement is its own transaction. A write's success is the number of rows it matched (the driver asks
//! for `CLIENT_FOUND_ROWS`), since MariaDB has no `UPDATE … RETURNING`. The session's `sql_mode` is strict: a
//! server's own might cut values silently.

use std::collections::HashMap;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use sqlx::ConnectOptions;
use sqlx::error::DatabaseError;
use sqlx::mysql::{MySqlConnectOptions, MySqlConnection, MySqlDatabaseError};

use super::registry::Initialised;
use super::sql::session::{Arg, Column, Dialect, Field, Probe, Row, Session, Sort, session};
use super::sql::statements::Texts;
use super::sql::{self, url};
use super::{Class, Durability, Store, StoreError, StoreSettings};
use crate::runtime::{BoxFuture, Runtime};

const SCHEME: &str = "mysql";

/// What a URL may say after its `?`.
const PARAMETERS: [&str; 5] = ["ssl-mode", "ssl-ca", "ssl-cert", "ssl-key", "socket"];

session!(MySqlConnection);

pub(super) async fn open(
    rest: String,
    settings: StoreSettings,
    runtime: Arc<dyn Runtime>,
) -> Result<Arc<dyn Store>, StoreError> {
    sql::open(MySql::new(&rest, &settings)?, &settings, runtime).await
}

pub(super) async fn init(
    rest: String,
    settings: StoreSettings,
    runtime: Arc<dyn Runtime>,
) -> Result<Initialised, StoreError> {
    sql::init(MySql::new(&rest, &settings)?, &settings, runtime).await
}

struct MySql {
    options: MySqlConnectOptions,
    label: String,
    request_timeout: Duration,
}

impl std::fmt::Debug for MySql {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The options hold the password.
        f.write_str(&self.label)
    }
}

impl MySql {
    fn new(rest: &str, settings: &StoreSettings) -> Result<MySql, StoreError> {
        let place = url::check(SCHEME, rest, &PARAMETERS, &["ssl-ca", "ssl-cert", "ssl-key"])?;
        let options = MySqlConnectOptions::from_str(&format!("{SCHEME}:{rest}"))
            .map_err(|error| url::invalid(SCHEME, &error.to_string()))?
            .pipes_as_concat(false)
            .no_engine_substitution(false)
            .disable_statement_logging();
        Ok(MySql {
            options,
            label: place.label,
            request_timeout: settings.request_timeout,
        })
    }
}

/// The settings that decide the class; those that a server does not have are absent from its answer.
const SETTINGS: &str = "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('version', 'version_comment', \
    'innodb_flush_log_at_trx_commit', 'log_bin', 'sync_binlog', 'innodb_doublewrite', 'read_only', \
    'super_read_only', 'innodb_read_only', 'server_id', 'server_uuid', 'wsrep_on', \
    'group_replication_group_name', 'rpl_semi_sync_master_enabled', 'rpl_semi_sync_source_enabled', \
    'rpl_semi_sync_master_wait_point', 'rpl_semi_sync_source_wait_point', 'rpl_semi_sync_master_timeout', \
    'rpl_semi_sync_source_timeout')";

/// What the server is at.
const STATUS: &str = "SHOW GLOBAL STATUS WHERE Variable_name IN ('Uptime', 'wsrep_ready', 'wsrep_cluster_size', \
    'Rpl_semi_sync_master_status', 'Rpl_semi_sync_source_status')";

/// With the uptime it says when the server was started.
const NOW: &str = "SELECT 'now', CAST(UNIX_TIMESTAMP() AS CHAR)";

/// Tables of ours that InnoDB does not keep.
const OTHER_ENGINES: &str = "SELECT CONCAT(table_name, ' is ', COALESCE(engine, 'unknown')) \
    FROM information_schema.tables WHERE table_schema = DATABASE() \
    AND table_name IN ('mint_meta', 'mint_register') AND COALESCE(engine, '') <> 'InnoDB'";

/// A semi-synchronous source goes on alone after its timeout; one this long never does in practice.
const SEMI_SYNC_TIMEOUT_MIN_MS: u64 = 3_600_000;

impl Dialect for MySql {
    type Session = MySqlConnection;
    const SCHEME: &'static str = SCHEME;
    const TEXTS: Texts = Texts {
        numbered: false,
        // Not INSERT IGNORE: it turns every other error into a warning.
        unless_there: "",
        wall: "SELECT CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED)",
        schema: include_str!("sql/mysql.sql"),
    };

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
            let mut settings = HashMap::new();
            for sql in [SETTINGS, STATUS, NOW] {
                for row in session.rows(&sql.into(), &[], &[Column::Text; 2]).await? {
                    if let [Field::Text(name), Field::Text(value)] = &row[..] {
                        settings.insert(name.to_ascii_lowercase(), value.clone());
                    }
                }
            }
            let engines = session.rows(&OTHER_ENGINES.into(), &[], &[Column::Text]).await?;
            let engines: Vec<&str> = engines.iter().filter_map(|row| row[0].text()).collect();
            Ok(judge(&settings, &engines))
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
        // Access denied, to the database, of a command, of a column, for want of a privilege; not identified;
        // password expired; account locked.
        1044 | 1045 | 1142 | 1143 | 1227 | 1370 | 1698 | 1820 | 1862 | 3118 | 4151 => Sort::Denied,
        // --read-only, a read-only transaction, InnoDB read-only.
        1290 | 1792 | 1836 | 1874 => Sort::ReadOnly,
        // Disk full, table full.
        1021 | 1114 => Sort::Full,
        // Too many connections; blocked host; lock wait timeout; statement timeout.
        1040 | 1129 | 1203 | 1226 | 1205 | 1969 | 3024 => Sort::Busy,
        // Crashed or corrupted table.
        1034 | 1035 | 1194 | 1195 | 1712 => Sort::Damaged,
        // Syntax, unknown variable, out of range, too long, check failed, unsafe for this binlog_format.
        1064 | 1193 | 1231 | 1264 | 1366 | 1406 | 3819 | 4025 | 1665 | 1598 => Sort::Refused,
        _ => Sort::Unclear,
    }
}

/// The class that the settings give, worst first.
fn judge(settings: &HashMap<String, String>, other_engines: &[&str]) -> Probe {
    let value = |name: &str| settings.get(name).map_or("", String::as_str);
    let on = |name: &str| matches!(value(name).to_ascii_uppercase().as_str(), "ON" | "1" | "YES");
    let either = |what: &str| {
        let names = [
            format!("rpl_semi_sync_master_{what}"),
            format!("rpl_semi_sync_source_{what}"),
        ];
        names
            .into_iter()
            .find(|name| settings.contains_key(name))
            .unwrap_or_default()
    };
    let unwritable = ["read_only", "super_read_only", "innodb_read_only"]
        .into_iter()
        .find(|name| on(name))
        .map(|name| format!("{name} is on"));
    let galera = on("wsrep_on");
    let unwritable = match galera && !on("wsrep_ready") {
        true => Some("the Galera node is not ready (wsrep_ready is off)".to_string()),
        false => unwritable,
    };
    let lossy = |why: String, fix: &str| (Class::Lossy, why, Some(fix.to_string()));
    let flush = value("innodb_flush_log_at_trx_commit");
    let (class, why, fix) = if !other_engines.is_empty() {
        lossy(
            format!(
                "{}: only InnoDB keeps what it acknowledges",
                other_engines.join(", ")
            ),
            "ALTER TABLE mint_register ENGINE = InnoDB; ALTER TABLE mint_meta ENGINE = InnoDB",
        )
    } else if flush != "1" {
        lossy(
            format!("innodb_flush_log_at_trx_commit={flush}: a crash loses acknowledged writes"),
            "SET GLOBAL innodb_flush_log_at_trx_commit = 1, and in the server's configuration",
        )
    } else if !value("innodb_doublewrite").is_empty()
        && matches!(
            value("innodb_doublewrite").to_ascii_uppercase().as_str(),
            "OFF" | "0"
        )
    {
        lossy(
            "innodb_doublewrite=OFF: a crash of the machine can tear pages".to_string(),
            "set innodb_doublewrite = ON in the server's configuration and restart it",
        )
    } else if on("log_bin") && value("sync_binlog") != "1" {
        lossy(
            format!(
                "sync_binlog={} with a binary log: after a crash of the machine, log and tables may disagree",
                value("sync_binlog")
            ),
            "SET GLOBAL sync_binlog = 1, and in the server's configuration",
        )
    } else {
        let flushed = format!(
            "{} {}: innodb_flush_log_at_trx_commit=1, innodb_doublewrite=ON{}",
            if value("version").contains("MariaDB") {
                "MariaDB"
            } else {
                "MySQL"
            },
            value("version").split('-').next().unwrap_or_default(),
            if on("log_bin") { ", sync_binlog=1" } else { "" }
        );
        let timeout_ms: u64 = value(&either("timeout")).parse().unwrap_or(0);
        let semi_sync = on(&either("enabled")) && on(&either("status"));
        let lossless = value(&either("wait_point")).eq_ignore_ascii_case("AFTER_SYNC");
        let cluster: u32 = value("wsrep_cluster_size").parse().unwrap_or(0);
        if galera && cluster >= 2 {
            (
                Class::Survives,
                format!("{flushed}, Galera of {cluster} nodes"),
                None,
            )
        } else if !value("group_replication_group_name").is_empty() {
            (Class::Survives, format!("{flushed}, group replication"), None)
        } else if semi_sync && lossless && timeout_ms >= SEMI_SYNC_TIMEOUT_MIN_MS {
            (
                Class::Survives,
                format!("{flushed}, semi-synchronous replication (AFTER_SYNC)"),
                None,
            )
        } else if semi_sync {
            let why = format!(
                "{flushed}; its semi-synchronous replication falls back to asynchronous after {timeout_ms} ms \
                 ({}), so that promoting a replica may lose acknowledged writes and is refused",
                value(&either("wait_point"))
            );
            (Class::Durable, why, None)
        } else {
            (Class::Durable, format!("{flushed}, no synchronous replica"), None)
        }
    };
    // Replication demands a server id of each server; MySQL keeps a UUID with the data as well.
    let copy = match value("server_uuid") {
        "" => format!("server_id {}", value("server_id")),
        uuid => uuid.to_string(),
    };
    Probe {
        durability: Durability { class, why, fix },
        copy: if galera { "galera".to_string() } else { copy },
        started_s: value("now").parse::<i64>().unwrap_or_default()
            - value("uptime").parse::<i64>().unwrap_or_default(),
        unwritable,
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
        judge(&settings.collect(), engines)
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
        let semi_sync = [
            ("rpl_semi_sync_master_enabled", "ON"),
            ("rpl_semi_sync_master_status", "ON"),
            ("rpl_semi_sync_master_wait_point", "AFTER_SYNC"),
        ];
        let with = |timeout| [&semi_sync[..], &[("rpl_semi_sync_master_timeout", timeout)]].concat();
        check_class(&[], Class::Durable, "MariaDB 10.11.19: innodb_flush");
        check_class(&[("version", "8.4.1")], Class::Durable, "MySQL 8.4.1");
        check_class(
            &with("10000"),
            Class::Durable,
            "falls back to asynchronous after 10000 ms",
        );
        check_class(&with("3600000"), Class::Survives, "semi-synchronous");
        check_class(
            &[
                ("wsrep_on", "ON"),
                ("wsrep_cluster_size", "3"),
                ("wsrep_ready", "ON"),
            ],
            Class::Survives,
            "Galera of 3 nodes",
        );
        check_class(&[("group_replication_group_name", "g")], Class::Survives, "group");
        for (name, value, why) in [
            ("innodb_flush_log_at_trx_commit", "0", "commit=0"),
            ("innodb_flush_log_at_trx_commit", "2", "commit=2"),
            ("innodb_doublewrite", "OFF", "doublewrite"),
            ("log_bin", "ON", "sync_binlog=0"),
        ] {
            check_class(&[(name, value)], Class::Lossy, why);
            check_class(
                &[&with("3600000")[..], &[(name, value)]].concat(),
                Class::Lossy,
                why,
            );
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
        assert!(
            probe(&[("wsrep_on", "ON"), ("wsrep_ready", "OFF")], &[])
                .unwritable
                .is_some()
        );
    }

    #[test]
    fn the_copy_is_the_server_that_holds_the_data() {
        assert_eq!(probe(&[], &[]).copy, "server_id 3");
        assert_eq!(probe(&[("server_uuid", "3e11-ab")], &[]).copy, "3e11-ab");
        assert_eq!(probe(&[("wsrep_on", "ON")], &[]).copy, "galera");
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
