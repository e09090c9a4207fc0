//! `mint sql`: the function packs for databases.

use serde_json::json;

use crate::errors::Failure;
use crate::out::Out;

#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// For which database: PostgreSQL 13 and later, MariaDB 10.6 and later, or MySQL 8
    engine: Engine,
    /// Schema (PostgreSQL: mintage) or database (MariaDB: the current one) to put the functions in; made if absent
    #[arg(long, value_name = "NAME")]
    schema: Option<String>,
    /// The script that takes the functions away again
    #[arg(long)]
    uninstall: bool,
}

const EXAMPLES: &str = "\
Examples:
  mint sql postgres | psql
  mint sql mariadb --schema ids | mariadb
  mint sql mariadb --uninstall | mariadb ids";

#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum Engine {
    Postgres,
    Mariadb,
    Mysql,
}

/// The functions for PostgreSQL, which leave the schema open; the build script puts all of these together.
const POSTGRES: &str = include_str!(concat!(env!("OUT_DIR"), "/postgres.sql"));
/// The version of both packs.
const VERSION: &str = env!("SQL_PACK_VERSION");
const MARIADB: &str = include_str!(concat!(env!("OUT_DIR"), "/mariadb.sql"));
const MARIADB_UNINSTALL: &str = include_str!(concat!(env!("OUT_DIR"), "/mariadb_uninstall.sql"));
/// In front of the same script for MySQL.
const MYSQL_NOTE: &str = "-- For MySQL 8 this is the script for MariaDB, word for word: written in what both have, tried on MariaDB alone.\n";

/// The name a schema has where none is asked for.
const SCHEMA: &str = "mintage";

pub(crate) fn run(args: &Args, out: &mut Out) -> Result<(), Failure> {
    let script = match args.engine {
        Engine::Postgres if args.uninstall => {
            let schema = args.schema.as_deref().unwrap_or(SCHEMA);
            check(schema, 63)?;
            format!("DROP SCHEMA IF EXISTS \"{schema}\" CASCADE;")
        }
        Engine::Postgres => postgres(args.schema.as_deref().unwrap_or(SCHEMA))?,
        Engine::Mariadb => mariadb(args.schema.as_deref(), args.uninstall)?,
        Engine::Mysql => MYSQL_NOTE.to_string() + &mariadb(args.schema.as_deref(), args.uninstall)?,
    };
    if out.json {
        return out.json_line(&json!({"sql": script}));
    }
    out.line(script.trim_end())
}

/// A script that one `psql -f` installs: all or nothing, and again to upgrade.
fn postgres(schema: &str) -> Result<String, Failure> {
    check(schema, 63)?;
    let name = match schema {
        SCHEMA => SCHEMA.to_string(),
        other => format!("\"{other}\""),
    };
    let functions = POSTGRES.replace("@extschema@", &name);
    Ok(format!(
        "-- Mintage's functions for PostgreSQL 13 and later, version {VERSION}, in schema {schema}.\n\
         -- Install or upgrade: psql -f mintage.sql. Remove: DROP SCHEMA {name} CASCADE. Manual: docs/sql.md.\n\
         BEGIN;\n\
         SET LOCAL client_min_messages = warning;\n\
         SET LOCAL search_path = pg_catalog;\n\
         CREATE SCHEMA IF NOT EXISTS {name};\n\n\
         {functions}\nCOMMIT;\n"
    ))
}

fn mariadb(database: Option<&str>, uninstall: bool) -> Result<String, Failure> {
    let script = if uninstall { MARIADB_UNINSTALL } else { MARIADB };
    let Some(database) = database else {
        return Ok(script.into());
    };
    check(database, 64)?;
    if uninstall {
        return Ok(format!("USE `{database}`;\n{script}"));
    }
    Ok(format!(
        "CREATE DATABASE IF NOT EXISTS `{database}`;\nUSE `{database}`;\n{MARIADB}"
    ))
}

/// Takes names that need no thought about quoting inside function bodies.
fn check(name: &str, longest: usize) -> Result<(), Failure> {
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let plain = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    if begins && plain && name.len() <= longest && !name.starts_with("pg_") {
        return Ok(());
    }
    Err(
        Failure::usage(format!("'{}' cannot be the schema's name", name.escape_default())).with_hint(
            format!("letters, digits and _, beginning with a letter or _, at most {longest}, not pg_…"),
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_schema_is_the_same_pack_elsewhere() {
        let plain = postgres(SCHEMA).unwrap();
        let other = postgres("ids").unwrap();
        assert_eq!(
            other
                .replace("\"ids\"", "mintage")
                .replace("in schema ids", "in schema mintage"),
            plain
        );
        assert!(!other.contains("@extschema@") && !other.contains("mintage._"));
        assert!(mariadb(Some("ids"), false).unwrap().ends_with(MARIADB));
    }

    #[test]
    fn names_that_would_need_quoting_are_refused() {
        for name in [
            "",
            "1a",
            "a-b",
            "a b",
            "a\"b",
            "a'b",
            "a;b",
            "ä",
            "pg_ids",
            &"a".repeat(64),
            "$a",
        ] {
            assert!(postgres(name).is_err(), "{name}");
        }
        for name in ["a", "_", "Ids2", &"a".repeat(63)] {
            assert!(postgres(name).is_ok(), "{name}");
        }
        assert!(mariadb(Some("a`b"), false).is_err());
    }
}
