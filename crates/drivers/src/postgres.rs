//! The store `postgres:`: PostgreSQL 12 and later.
//!
//! Every statement is its own transaction under READ COMMITTED. The session sets `synchronous_commit` to `on`
//! where the server's default is weaker, so that an acknowledged write is flushed; what a session cannot set
//! (`fsync`, `full_page_writes`, unlogged tables) makes the store class L.

use std::str::FromStr;

use sqlx::ConnectOptions;
use sqlx::error::DatabaseError;
use sqlx::postgres::{PgConnectOptions, PgConnection, PgDatabaseError, PgSeverity};

use super::sql::row::{Arg, Column, Field, Row};
use super::sql::session::{Dialect, Probe, Server, Session, Sort, session};
use super::sql::standbys::Wanted;
use super::sql::statements::Texts;
use super::sql::{UNKNOWN_SYSTEM, url};
use super::{Class, Durability, Setting, Standing, StoreError, StoreSettings};
use crate::runtime::BoxFuture;

const SCHEME: &str = "postgres";

/// What a URL may say after its `?`: libpq's names.
const PARAMETERS: [&str; 7] = [
    "sslmode",
    "sslrootcert",
    "sslcert",
    "sslkey",
    "application_name",
    "options",
    "host",
];

session!(PgConnection, fetch_all, |rows: Vec<sqlx::postgres::PgRow>| {
    let number = rows.first().map(|row| sqlx::Row::try_get::<i64, _>(row, 0));
    Ok((rows.len() as u64, number.transpose()?))
});

/// A PostgreSQL server.
pub type Postgres = Server<PgConnectOptions>;

/// What decides the class, in one row.
const SETTINGS: &str = "SELECT pg_is_in_recovery()::text, current_setting('transaction_read_only'), \
    current_setting('fsync'), current_setting('full_page_writes'), current_setting('synchronous_commit'), \
    (SELECT reset_val FROM pg_settings WHERE name = 'synchronous_commit'), \
    current_setting('synchronous_standby_names'), \
    (SELECT coalesce(string_agg(coalesce(application_name, '?'), chr(10)), '') FROM pg_stat_replication), \
    extract(epoch FROM pg_postmaster_start_time())::bigint::text, \
    (SELECT count(*) FROM pg_class WHERE relpersistence <> 'p' \
     AND oid IN (to_regclass('mint_meta'), to_regclass('mint_register')))::text, \
    CASE WHEN pg_is_in_recovery() THEN '' ELSE left(pg_walfile_name(pg_current_wal_lsn()), 8) END, \
    current_setting('server_version')";

impl Dialect for Postgres {
    type Session = PgConnection;
    const SCHEME: &'static str = SCHEME;
    const TEXTS: Texts = Texts {
        numbered: true,
        unless_there: " ON CONFLICT DO NOTHING",
        numbers: "",
        returns: " RETURNING CAST(? AS bigint)",
        age: "extract(epoch FROM clock_timestamp() - written_at)::bigint",
        wall: "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint",
        schema: include_str!("sql/postgres.sql"),
    };

    const PROBE_STATEMENTS: u32 = 2;

    fn of_url(rest: &str, settings: &StoreSettings) -> Result<Postgres, StoreError> {
        let place = url::check(SCHEME, rest, &PARAMETERS, &["sslrootcert", "sslcert", "sslkey"])?;
        let options = PgConnectOptions::from_str(&format!("{SCHEME}:{rest}"))
            .map_err(|error| url::invalid(SCHEME, &error.to_string()))?
            .disable_statement_logging();
        let options = match options.get_application_name() {
            None => options.application_name("mintage"),
            Some(_) => options,
        };
        Ok(Server {
            options,
            label: place.label,
            request_timeout: settings.request_timeout,
        })
    }

    fn label(&self) -> &str {
        &self.label
    }

    fn connect(&self) -> BoxFuture<'static, Result<PgConnection, sqlx::Error>> {
        let options = self.options.clone();
        // The server gives up when we do, so that nothing lands long after its outcome became unknown.
        let patience_ms = self.request_timeout.as_millis().max(1);
        let settle = format!(
            "SET default_transaction_isolation = 'read committed'; SET client_min_messages = warning; \
             SET statement_timeout = {patience_ms}; \
             SELECT set_config('synchronous_commit', CASE current_setting('synchronous_commit') \
             WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, false)"
        );
        Box::pin(async move {
            let mut connection = options.connect().await?;
            connection.script(&settle).await?;
            Ok(connection)
        })
    }

    fn sort(&self, error: &(dyn DatabaseError + 'static)) -> Sort {
        let fatal = error
            .try_downcast_ref::<PgDatabaseError>()
            .is_none_or(|error| matches!(error.severity(), PgSeverity::Fatal | PgSeverity::Panic));
        sort(&error.code().unwrap_or_default(), fatal)
    }

    fn backend<'a>(
        &'a self,
        session: &'a mut PgConnection,
    ) -> BoxFuture<'a, Result<Option<i64>, sqlx::Error>> {
        Box::pin(async move {
            let asked = "SELECT pg_backend_pid()::bigint".into();
            let rows = session.rows(&asked, &[], &[Column::Int]).await?;
            Ok(rows.first().and_then(|row| row.first()?.int()))
        })
    }

    fn probe<'a>(&'a self, session: &'a mut PgConnection) -> BoxFuture<'a, Result<Probe, sqlx::Error>> {
        Box::pin(async move {
            let rows = session.rows(&SETTINGS.into(), &[], &[Column::Text; 12]).await?;
            let system = "SELECT system_identifier::text FROM pg_control_system()";
            let system = match session.rows(&system.into(), &[], &[Column::Text]).await {
                Ok(rows) => rows.into_iter().flatten().next(),
                // Some hosts forbid it; the timeline alone then tells a promoted replica. Any other failure
                // says nothing of the copy.
                Err(sqlx::Error::Database(error)) if self.sort(&*error) == Sort::Denied => None,
                Err(error) => return Err(error),
            };
            let system = system
                .as_ref()
                .and_then(Field::text)
                .unwrap_or(UNKNOWN_SYSTEM)
                .to_string();
            let row = rows.into_iter().next().ok_or(sqlx::Error::RowNotFound)?;
            let row: Vec<&str> = row.iter().map(|field| field.text().unwrap_or_default()).collect();
            Ok(judge(&row, &system))
        })
    }
}

/// What an SQLSTATE means (PostgreSQL's appendix A). An error that ended the session may have come after the
/// commit; any other was answered for a transaction that was rolled back.
fn sort(code: &str, fatal: bool) -> Sort {
    match code {
        // A role may be refused at connecting (fatal) or at a statement.
        "28000" | "28P01" | "42501" => Sort::Denied,
        "3D000" | "3F000" | "42P01" => Sort::Missing,
        // Starting up, or no connection left; only at connecting.
        "57P03" | "53300" => Sort::Busy,
        _ if fatal || code.starts_with("08") || code == "40003" => Sort::Unclear,
        "26000" | "42P05" => Sort::Pooled,
        "23505" | "42P07" | "42710" => Sort::Duplicate,
        "40001" | "40P01" => Sort::Again,
        "25006" => Sort::ReadOnly,
        "53100" => Sort::Full,
        "57014" | "55P03" => Sort::Busy,
        "XX001" | "XX002" => Sort::Damaged,
        _ => Sort::Refused,
    }
}

/// What a promotion can lose, where the server itself keeps what it acknowledged: nothing only where every standby
/// that may be promoted must have confirmed each write.
fn judge_standbys(setting: &str, attached: &str) -> (Class, String, [Setting; 2]) {
    let attached: Vec<&str> = attached.lines().collect();
    let wanted = Wanted::read(setting);
    let names = Setting::good(
        "synchronous_standby_names",
        format!("'{setting}'"),
        match attached.is_empty() && setting.trim().is_empty() {
            true => "'' where no standby follows",
            false => "each that may be promoted, as FIRST 2 (a, b)",
        },
    );
    let listed = match attached.is_empty() {
        true => "none".to_string(),
        false => attached.join(", "),
    };
    let followers = Setting::good("standbys attached", listed, "those that are named");
    let followers = match wanted.as_ref().and_then(|wanted| wanted.waits_for(&attached)) {
        Some(who) => followers.but(
            Standing::Weak,
            format!("every write waits for {who}"),
            "start that standby; without it, ALTER SYSTEM SET synchronous_standby_names = ''; SELECT pg_reload_conf()",
        ),
        None => followers,
    };
    let refused = "promoting one that lags loses acknowledged writes, so any promotion is refused";
    let named = format!("synchronous_standby_names='{setting}'");
    let weak = match (setting.trim().is_empty(), &wanted) {
        (true, _) => match attached.len() {
            0 => {
                return (
                    Class::Durable,
                    "no synchronous standby".to_string(),
                    [names, followers],
                );
            }
            n => format!("{n} standbys, none synchronous: {refused}"),
        },
        (false, None) => format!("{named}, which is not understood: {refused}"),
        (false, Some(wanted)) => match wanted.gap(&attached) {
            Some(gap) => format!("{named}: {gap}; {refused}"),
            None => {
                let who = wanted.who();
                let why = format!("{named}: promote {who}, and no other standby");
                return (Class::Survives, why, [names, followers]);
            }
        },
    };
    let fix = confirmed_by_all(&attached);
    (
        Class::Durable,
        weak.clone(),
        [names.but(Standing::Weak, weak, fix), followers],
    )
}

/// The statement with which all that follow must confirm each write.
fn confirmed_by_all(attached: &[&str]) -> String {
    let plain = |name: &&str| {
        let known = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
        !name.is_empty() && name.bytes().all(known)
    };
    let names: Vec<String> = attached
        .iter()
        .filter(|name| plain(name))
        .map(|name| format!("\"{name}\""))
        .collect();
    match names.is_empty() || names.len() < attached.len() {
        true => "name each standby that may be promoted in synchronous_standby_names, as FIRST 2 (a, b)"
            .to_string(),
        false => format!(
            "ALTER SYSTEM SET synchronous_standby_names = 'FIRST {} ({})'; SELECT pg_reload_conf()",
            names.len(),
            names.join(", ")
        ),
    }
}

/// The class that the settings give.
fn judge(row: &[&str], system: &str) -> Probe {
    let at = |n: usize| row.get(n).copied().unwrap_or_default();
    let [recovery, read_only, fsync, pages, commit, default_commit] =
        [at(0), at(1), at(2), at(3), at(4), at(5)];
    let (quorum, standbys, unlogged) = (at(6), at(7), at(9));
    let unwritable = if matches!(recovery, "true" | "t") {
        Some("the server is a standby in recovery".to_string())
    } else if read_only == "on" {
        Some("transactions are read-only (default_transaction_read_only)".to_string())
    } else {
        None
    };
    let ours = match default_commit {
        default if default == commit => String::new(),
        default => format!(" (set by this session, the server's default is {default})"),
    };
    let tables = match unlogged {
        "0" => "not unlogged",
        _ => "unlogged",
    };
    let mut settings = vec![
        Setting::good("fsync", fsync, "on").or_lossy(
            fsync == "on",
            format_args!("fsync={fsync}: a crash of the machine loses acknowledged writes"),
            "ALTER SYSTEM SET fsync = on; SELECT pg_reload_conf();  -- and run sync on its machine",
        ),
        Setting::good("full_page_writes", pages, "on").or_lossy(
            pages == "on",
            format_args!("full_page_writes={pages}: a crash of the machine can tear pages"),
            "ALTER SYSTEM SET full_page_writes = on; SELECT pg_reload_conf()",
        ),
        Setting::good(
            "synchronous_commit",
            format_args!("{commit}{ours}"),
            "on or remote_apply",
        )
        .or_lossy(
            matches!(commit, "on" | "remote_apply"),
            format_args!("synchronous_commit={commit}: a crash loses acknowledged writes"),
            "allow this account to set synchronous_commit, or set it to on for the database",
        ),
        Setting::good("mint_meta, mint_register", tables, "not unlogged").or_lossy(
            unlogged == "0",
            "the tables are unlogged: a crash of the server empties them",
            "ALTER TABLE mint_register SET LOGGED; ALTER TABLE mint_meta SET LOGGED",
        ),
    ];
    let (class, replication, followers) = judge_standbys(quorum, standbys);
    settings.extend(followers);
    let kept = format!(
        "PostgreSQL {}: fsync=on, full_page_writes=on, synchronous_commit={commit}{ours}, {replication}",
        at(11)
    );
    Probe {
        durability: Durability::judged(class, kept, "", settings),
        copy: format!("{system}/{}", at(10)),
        started_s: at(8).parse().unwrap_or_default(),
        unwritable,
        view: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A healthy server, with some fields changed.
    #[track_caller]
    fn check_class(changed: &[(usize, &'static str)], class: Class, why: &str) {
        let mut row = [
            "f",
            "off",
            "on",
            "on",
            "on",
            "on",
            "",
            "",
            "1795219200",
            "0",
            "00000001",
            "15.20",
        ];
        for (at, text) in changed {
            row[*at] = text;
        }
        let probe = judge(&row, "7");
        assert_eq!(probe.durability.class, class, "{changed:?}: {probe:?}");
        assert!(probe.durability.why.contains(why), "{changed:?}: {probe:?}");
        assert_eq!(
            probe.durability.fix.is_some(),
            class == Class::Lossy,
            "{changed:?}: {probe:?}"
        );
        assert_eq!(probe.copy, "7/00000001");
    }

    #[test]
    fn the_settings_decide_the_class() {
        check_class(&[], Class::Durable, "no synchronous standby");
        check_class(&[(5, "off")], Class::Durable, "the server's default is off");
        check_class(&[(7, "a\nb")], Class::Durable, "2 standbys, none synchronous");
        check_class(
            &[(6, "ANY 2 (a, b)"), (7, "a\nb")],
            Class::Survives,
            "synchronous_standby_names='ANY 2 (a, b)': promote a or b, and no other",
        );
        check_class(&[(6, "ANY 1 (a, b)"), (7, "a\nb")], Class::Durable, "only 1 of 2");
        check_class(&[(6, "a"), (7, "a\nb")], Class::Durable, "\"b\" confirms nothing");
        check_class(&[(6, "ANY")], Class::Survives, "promote any");
        check_class(&[(6, "ANY (")], Class::Durable, "not understood");
        check_class(
            &[(6, "a"), (4, "remote_apply"), (5, "remote_apply")],
            Class::Survives,
            "remote_apply",
        );
        check_class(&[(2, "off")], Class::Lossy, "fsync=off");
        check_class(&[(6, "a"), (2, "off")], Class::Lossy, "fsync=off");
        check_class(&[(3, "off")], Class::Lossy, "full_page_writes=off");
        check_class(&[(4, "local")], Class::Lossy, "synchronous_commit=local");
        check_class(&[(9, "1")], Class::Lossy, "unlogged");
    }

    #[test]
    fn what_a_promotion_would_lose_is_said_with_the_statement_that_mends_it() {
        for (setting, attached, standings, fix) in [
            ("", "", [Standing::Good; 2], ""),
            ("a", "a", [Standing::Good; 2], ""),
            (
                "",
                "a\nb",
                [Standing::Weak, Standing::Good],
                "'FIRST 2 (\"a\", \"b\")'",
            ),
            (
                "ANY 1 (a, b)",
                "a\nb",
                [Standing::Weak, Standing::Good],
                "'FIRST 2 (",
            ),
            (
                "",
                "a'; DROP",
                [Standing::Weak, Standing::Good],
                "name each standby",
            ),
            ("a", "", [Standing::Good, Standing::Weak], "start that standby"),
            (
                "FIRST 2 (a, b)",
                "A",
                [Standing::Good, Standing::Weak],
                "start that standby",
            ),
        ] {
            let (_, _, found) = judge_standbys(setting, attached);
            let stood = found.clone().map(|one| one.standing);
            assert_eq!(stood, standings, "{setting} {attached}");
            let fixes: Vec<String> = found.into_iter().filter_map(|one| one.fix).collect();
            assert!(fixes.join(" ").contains(fix), "{setting} {attached}: {fixes:?}");
        }
    }

    #[test]
    fn a_standby_and_a_read_only_database_take_no_writes() {
        let row = |recovery, read_only| {
            judge(
                &[
                    recovery, read_only, "on", "on", "on", "on", "", "", "", "0", "", "",
                ],
                "7",
            )
        };
        assert_eq!(row("f", "off").unwritable, None);
        assert!(
            row("true", "on")
                .unwritable
                .is_some_and(|why| why.contains("standby"))
        );
        assert!(
            row("false", "on")
                .unwritable
                .is_some_and(|why| why.contains("read-only"))
        );
    }

    #[test]
    fn only_what_was_rolled_back_counts_as_not_done() {
        for (code, fatal, expected) in [
            ("40P01", false, Sort::Again),
            ("40001", false, Sort::Again),
            ("42501", false, Sort::Denied),
            ("28P01", true, Sort::Denied),
            ("25006", false, Sort::ReadOnly),
            ("53100", false, Sort::Full),
            ("53100", true, Sort::Unclear),
            ("57014", false, Sort::Busy),
            ("26000", false, Sort::Pooled),
            ("42P05", false, Sort::Pooled),
            ("57P01", true, Sort::Unclear),
            ("57P02", true, Sort::Unclear),
            ("57P03", true, Sort::Busy),
            ("08006", false, Sort::Unclear),
            ("40003", false, Sort::Unclear),
            ("42P01", false, Sort::Missing),
            ("3D000", true, Sort::Missing),
            ("XX001", false, Sort::Damaged),
            ("XX000", true, Sort::Unclear),
            ("22001", false, Sort::Refused),
        ] {
            assert_eq!(sort(code, fatal), expected, "{code} {fatal}");
        }
    }
}
