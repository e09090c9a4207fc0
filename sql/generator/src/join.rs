//! The one rule that puts the SQL packs together from `sql/*/src` and `docs/sql-functions.md`; the command's build script, which
//! includes this file, and the generator both follow it.
//!
//! The parts write `@extschema@` for the schema, as PostgreSQL's extension scripts do, and `@version@` for the version
//! that `mintage.control` names.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// Both packs, and what takes MariaDB's away again.
#[derive(Debug)]
pub(crate) struct Packs {
    /// The version of both.
    pub(crate) version: String,
    /// The functions for PostgreSQL, the schema left open.
    pub(crate) postgres: String,
    /// The script for MariaDB and MySQL.
    pub(crate) mariadb: String,
    /// Drops all that `mariadb` makes.
    pub(crate) mariadb_uninstall: String,
}

/// Every function of the manual: signature, words, and whether it has a strict twin.
type Described = Vec<(String, String, bool)>;

/// Reads the parts that lie in the folder `sql` of a tree.
///
/// # Panics
/// When a part cannot be read, or the control file names no version.
pub(crate) fn packs(sql: &Path) -> Packs {
    let version = version(&read(&sql.join("postgres/mintage.control")));
    let described = described(&read(&sql.join("../docs/sql-functions.md")));
    let body = |engine: &str| body(&sql.join(engine).join("src")).replace("@version@", &version);
    let mariadb = body("mariadb");
    Packs {
        postgres: format!("{}\n{}", body("postgres"), postgres_comments(&described)),
        mariadb_uninstall: uninstall(&mariadb, &version),
        mariadb: with_comments(&mariadb, &described),
        version,
    }
}

fn version(control: &str) -> String {
    let mut lines = control.lines();
    let version = lines.find_map(|line| line.strip_prefix("default_version = '")?.strip_suffix('\''));
    version.expect("the control file names the version").into()
}

/// The parts of a pack in order of their names.
fn body(parts: &Path) -> String {
    let mut paths: Vec<PathBuf> = fs::read_dir(parts)
        .expect("the parts are in the tree")
        .map(|entry| entry.expect("the folder can be read").path())
        .collect();
    paths.sort();
    let parts: Vec<String> = paths.iter().map(|path| read(path)).collect();
    parts.join("\n")
}

fn described(page: &str) -> Described {
    let mut functions = Vec::new();
    for line in page.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = line.split(" | ").collect();
        let &[signature, _, volatility, words] = cells.as_slice() else {
            continue;
        };
        if !["immutable", "stable", "volatile"]
            .iter()
            .any(|known| volatility.starts_with(known))
        {
            continue;
        }
        let words = words.trim_end_matches('|').trim();
        let plain = words.trim_end_matches('*').trim().replace('`', "");
        let signature = signature.trim_start_matches("| `").trim_end_matches('`');
        functions.push((signature.to_string(), plain, words.ends_with('*')));
    }
    assert!(functions.len() > 90, "docs/sql-functions.md lists every function");
    functions
}

fn quoted(words: &str) -> String {
    format!("'{}'", words.replace('\'', "''"))
}

const NO_NULL: &str = "; an error where the plain one answers NULL";

/// A comment on every public function, in the words of the manual.
fn postgres_comments(described: &Described) -> String {
    let mut text = String::from(
        "-- Comments, from docs/sql-functions.md -------------------------------------------------------------------------------\n\n",
    );
    for (signature, words, strict) in described {
        let _ = writeln!(
            text,
            "COMMENT ON FUNCTION @extschema@.{signature} IS {};",
            quoted(words)
        );
        if *strict {
            let twin = signature.replacen('(', "_strict(", 1);
            let words = quoted(&format!("{words}{NO_NULL}"));
            let _ = writeln!(text, "COMMENT ON FUNCTION @extschema@.{twin} IS {words};");
        }
    }
    text
}

/// What a function of MariaDB does: names of its own stand for what PostgreSQL overloads.
fn mariadb_words(name: &str, described: &Described) -> String {
    let of = |name: &str| {
        let found = described
            .iter()
            .find(|(signature, ..)| signature.split('(').next() == Some(name));
        found.map(|(_, words, _)| words.clone())
    };
    if let Some(words) = of(name) {
        return words;
    }
    let suffixes = [
        ("_strict", NO_NULL),
        ("_at", ", of a time"),
        ("_nth", ", row n of one microsecond"),
        ("_before", ", the upper end of a half-open range"),
        ("_bytes", ", of bytes"),
        ("_fields", ", of every field"),
    ];
    for (suffix, more) in suffixes {
        if let Some(base) = name.strip_suffix(suffix) {
            return format!("{}{more}", mariadb_words(base, described));
        }
    }
    "see docs/sql-functions.md".into()
}

/// Puts a comment into the head of every public function.
fn with_comments(body: &str, described: &Described) -> String {
    const CREATE: &str = "CREATE FUNCTION mintage_";
    const HEAD_END: &str = "SQL SECURITY INVOKER";
    let mut pieces = body.split(CREATE);
    let mut text = pieces.next().unwrap_or_default().to_string();
    for piece in pieces {
        text.push_str(CREATE);
        let name = piece.split('(').next().unwrap_or_default();
        if name.starts_with('_') {
            text.push_str(piece);
            continue;
        }
        let words = quoted(&mariadb_words(name, described));
        text.push_str(&piece.replacen(HEAD_END, &format!("{HEAD_END} COMMENT {words}"), 1));
    }
    text
}

/// Takes away all that the script for MariaDB makes.
fn uninstall(body: &str, version: &str) -> String {
    let mut text = format!(
        "-- Takes Mintage's functions for MariaDB, version {version}, out of the current database.\n\
         -- The last words of Snowflakes go with them: one made after a new installation can repeat one of that\n\
         -- millisecond. Run: mariadb DATABASE < uninstall.sql\n\n"
    );
    for line in body.lines() {
        for (create, kind) in [
            ("CREATE FUNCTION ", "FUNCTION"),
            ("CREATE PROCEDURE ", "PROCEDURE"),
            ("CREATE TABLE IF NOT EXISTS ", "TABLE"),
        ] {
            if let Some(rest) = line.strip_prefix(create) {
                let name = rest.split(['(', ' ']).next().unwrap_or_default();
                let _ = writeln!(text, "DROP {kind} IF EXISTS {name};");
            }
        }
    }
    text
}

/// A file of the tree.
pub(crate) fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}
