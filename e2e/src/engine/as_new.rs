//! How a database server that another test has used is made as new, and how it is seen that it is.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::run::with_input;

/// For psql: removes every database but the templates and the one that it is connected to, and every account but the
/// administrator's. It says what is left that a test made: settings of the whole server, and what is in that database.
pub(crate) const POSTGRES: &str = "
SELECT format('DROP DATABASE %I WITH (FORCE)', datname) FROM pg_database
    WHERE NOT datistemplate AND datname <> current_database() \\gexec
SELECT format('DROP ROLE %I', rolname) FROM pg_roles WHERE rolname !~ '^(pg_|postgres$)' \\gexec
SELECT name FROM pg_file_settings WHERE sourcefile LIKE '%.auto.conf'
UNION ALL SELECT slot_name FROM pg_replication_slots
UNION ALL SELECT setdatabase::text FROM pg_db_role_setting
UNION ALL SELECT relname FROM pg_class WHERE oid >= 16384;
";

/// For the stock client of MariaDB: ends every other session, and removes every database but these, and every account that
/// may come from anywhere.
pub(crate) fn mariadb(but: &[&str]) -> String {
    let own = ["mysql", "information_schema", "performance_schema", "sys"];
    let but = [&own, but].concat().join("', '");
    format!(
        "DELIMITER //
BEGIN NOT ATOMIC
    -- One may have ended by itself.
    DECLARE CONTINUE HANDLER FOR 1094 BEGIN END;
    FOR one IN (SELECT id FROM information_schema.processlist WHERE id <> CONNECTION_ID() AND user <> 'system user') DO
        EXECUTE IMMEDIATE CONCAT('KILL ', one.id);
    END FOR;
    FOR one IN (SELECT schema_name AS name FROM information_schema.schemata WHERE schema_name NOT IN ('{but}')) DO
        EXECUTE IMMEDIATE CONCAT('DROP DATABASE `', REPLACE(one.name, '`', '``'), '`');
    END FOR;
    FOR one IN (SELECT user, host FROM mysql.global_priv WHERE host = '%') DO
        EXECUTE IMMEDIATE CONCAT('DROP USER ', QUOTE(one.user), '@', QUOTE(one.host));
    END FOR;
END//
DELIMITER ;
"
    )
}

/// Everything else that a test may have changed in a MariaDB, and the routines of database `ids`, in short.
const MARIADB_STATE: &str = "
SELECT MD5(GROUP_CONCAT(variable_name, variable_value ORDER BY variable_name)) FROM information_schema.global_variables;
SELECT MD5(GROUP_CONCAT(user, host ORDER BY user, host)) FROM mysql.global_priv;
SELECT MD5(GROUP_CONCAT(db, user, host ORDER BY db, user, host)) FROM mysql.db;
SELECT MD5(GROUP_CONCAT(schema_name ORDER BY schema_name)) FROM information_schema.schemata;
SELECT MD5(GROUP_CONCAT(table_name ORDER BY table_name)) FROM information_schema.tables WHERE table_schema = 'ids';
SELECT MD5(GROUP_CONCAT(name, body_utf8 ORDER BY name)) FROM mysql.proc WHERE db = 'ids';
";

/// Keeps the state of a MariaDB that has just been started, beside its socket.
pub(crate) fn note_state(socket: &Path) {
    fs::write(noted(socket), mariadb_state(socket)).expect("the server's folder is ours");
}

/// Whether its state is the one that was kept.
pub(crate) fn has_state_of_first(socket: &Path) -> bool {
    fs::read_to_string(noted(socket)).is_ok_and(|first| first == mariadb_state(socket))
}

fn noted(socket: &Path) -> PathBuf {
    socket.with_file_name("first-state")
}

fn mariadb_state(socket: &Path) -> String {
    let mut client = Command::new("mariadb");
    client
        .args(["--no-defaults", "-u", "root", "-N", "-B", "-S"])
        .arg(socket);
    with_input(client, MARIADB_STATE.as_bytes()).ok()
}
