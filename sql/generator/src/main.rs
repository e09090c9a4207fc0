//! Puts the SQL packs together from their parts, the only source of every script that is shipped.
//!
//! The parts write `@extschema@` for the schema, as PostgreSQL's extension scripts do. The Snowflake presets come
//! from the library's own table.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use mintage::{Field, PRESETS, Role, SequenceStart};

/// The version of both packs.
const VERSION: &str = "1.1";

/// The folder of one pack, `postgres` or `mariadb`.
fn folder(engine: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(engine)
}

/// A generated file of the tree: where it is and what it must hold.
#[derive(Debug)]
struct Generated {
    /// Its place.
    path: PathBuf,
    /// Its content.
    text: String,
}

/// Writes every script that is not what its parts make.
fn main() -> ExitCode {
    for file in generated() {
        if fs::read_to_string(&file.path).is_ok_and(|found| found == file.text) {
            continue;
        }
        let shown = file.path.display();
        if let Err(error) = fs::write(&file.path, &file.text) {
            eprintln!("error: cannot write {shown}: {error}");
            return ExitCode::FAILURE;
        }
        eprintln!("written: {shown}");
    }
    ExitCode::SUCCESS
}

/// Every generated file of both packs.
///
/// # Panics
/// When a part cannot be read.
fn generated() -> Vec<Generated> {
    let mut files = Vec::new();
    let mut add = |path: PathBuf, text: String| files.push(Generated { path, text });
    let postgres = folder("postgres");
    let body = body("postgres");
    for part in ["postgres/src/70_presets.sql", "mariadb/src/80_snowflake.sql"] {
        let (engine, name) = part.split_once('/').expect("has one");
        let path = folder(engine).join(name);
        let text = regions(engine, read(&path));
        add(path, text);
    }
    add(
        postgres.join(format!("mintage--{VERSION}.sql")),
        extension_script(&body),
    );
    let mariadb = folder("mariadb");
    let body = self::body("mariadb");
    add(mariadb.join("uninstall.sql"), uninstall(&body));
    add(mariadb.join("mintage.sql"), body);
    files
}

/// The parts of a pack in order of their names.
fn body(engine: &str) -> String {
    let mut parts: Vec<PathBuf> = fs::read_dir(folder(engine).join("src"))
        .expect("the parts are in the tree")
        .map(|entry| entry.expect("the folder can be read").path())
        .collect();
    parts.sort();
    let mut body = String::new();
    for part in parts {
        let text = read(&part);
        let text = regions(engine, text);
        if !body.is_empty() {
            body.push('\n');
        }
        body.push_str(&text);
    }
    let body = body.replace("@version@", VERSION);
    match engine {
        "postgres" => format!("{body}\n{}", postgres_comments()),
        _ => with_comments(&body),
    }
}

/// What docs/sql-functions.md says of every function: signature, words, and whether it has a strict twin.
fn described() -> Vec<(String, String, bool)> {
    let page = read(&folder("postgres").join("../../docs/sql-functions.md"));
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
fn postgres_comments() -> String {
    let mut text = String::from(
        "-- Comments, from docs/sql-functions.md -------------------------------------------------------------------------------\n\n",
    );
    for (signature, words, strict) in described() {
        let _ = writeln!(
            text,
            "COMMENT ON FUNCTION @extschema@.{signature} IS {};",
            quoted(&words)
        );
        if strict {
            let twin = signature.replacen('(', "_strict(", 1);
            let words = quoted(&format!("{words}{NO_NULL}"));
            let _ = writeln!(text, "COMMENT ON FUNCTION @extschema@.{twin} IS {words};");
        }
    }
    text
}

/// What a function of MariaDB does: names of its own stand for what PostgreSQL overloads.
fn mariadb_words(name: &str, described: &[(String, String, bool)]) -> String {
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
    "see docs/sql.md".into()
}

/// Puts a comment into the head of every public function.
fn with_comments(body: &str) -> String {
    const CREATE: &str = "CREATE FUNCTION mintage_";
    const HEAD_END: &str = "SQL SECURITY INVOKER";
    let described = described();
    let mut pieces = body.split(CREATE);
    let mut text = pieces.next().unwrap_or_default().to_string();
    for piece in pieces {
        text.push_str(CREATE);
        let name = piece.split('(').next().unwrap_or_default();
        if name.starts_with('_') {
            text.push_str(piece);
            continue;
        }
        let words = quoted(&mariadb_words(name, &described));
        text.push_str(&piece.replacen(HEAD_END, &format!("{HEAD_END} COMMENT {words}"), 1));
    }
    text
}

/// Takes away all that the script for MariaDB makes.
fn uninstall(body: &str) -> String {
    let mut text = format!(
        "-- Takes Mintage's functions for MariaDB, version {VERSION}, out of the current database.\n\
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

/// The extension's script; `mint sql postgres` makes the one that a single `psql -f` installs of it.
fn extension_script(body: &str) -> String {
    format!(
        "-- Generated from src/; see docs/sql.md.\n\\echo Use \"CREATE EXTENSION mintage VERSION '{VERSION}'\" to load this \
         file. \\quit\n\n{body}"
    )
}

/// Fills in what comes from the library's table of presets.
fn regions(engine: &str, mut part: String) -> String {
    let rows = match engine {
        "postgres" => postgres_presets,
        _ => mariadb_presets,
    };
    for (name, lines) in [("presets", rows()), ("names", names())] {
        if part.contains(&format!("-- begin {name}\n")) {
            part = between(&part, name, &lines);
        }
    }
    part
}

/// Replaces what lies between the line of `-- begin NAME` and the line of `-- end NAME`.
fn between(part: &str, name: &str, new: &str) -> String {
    let begin = format!("-- begin {name}\n");
    let (head, rest) = part.split_once(&begin).expect("the part has the begin line");
    let end = format!("-- end {name}\n");
    let at = rest.find(&end).expect("the part has the end line");
    let line = rest[..at].rfind('\n').map_or(0, |newline| newline + 1);
    format!("{head}{begin}{new}{}", &rest[line..])
}

fn names() -> String {
    let names: Vec<String> = PRESETS
        .iter()
        .map(|preset| format!("'{}'", preset.name))
        .collect();
    format!("    {}\n", names.join(", "))
}

/// One field group of a layout: width and shift of all fields of a role together, which must lie side by side.
fn group(fields: &[Field], is: impl Fn(Role) -> bool) -> (u32, u32) {
    let fields: Vec<&Field> = fields.iter().filter(|field| is(field.role)).collect();
    let bits: u32 = fields.iter().map(|field| field.bits).sum();
    let Some(last) = fields.last() else {
        return (0, 0);
    };
    for pair in fields.windows(2) {
        assert_eq!(
            pair[0].shift,
            pair[1].shift + pair[1].bits,
            "fields of one role lie side by side"
        );
    }
    (bits, last.shift)
}

/// The numbers of every preset, in the words of both packs.
fn preset_numbers() -> Vec<(&'static str, Vec<(&'static str, String)>)> {
    let mut rows = Vec::new();
    for preset in PRESETS {
        let layout = preset.layout();
        let fields = layout.fields();
        let (time_bits, time_shift) = group(fields, |role| role == Role::Time);
        let (worker_bits, worker_shift) = group(fields, |role| role == Role::Worker);
        let (sequence_bits, sequence_shift) = group(fields, |role| role == Role::Sequence);
        let (mut mask, mut value) = (0, 0);
        for field in fields {
            if let Role::Constant(constant) = field.role {
                mask |= field.max() << field.shift;
                value |= constant << field.shift;
            }
        }
        let (first, spread, carry) = match layout.sequence_start() {
            SequenceStart::At(first) => (first, 1, 0),
            SequenceStart::Random { below } => (0, below, 0),
            SequenceStart::Carry => (0, 1, 1),
            _ => (0, 1, 0),
        };
        assert_eq!(
            layout.tick().as_nanos() % 1000,
            0,
            "the packs count ticks of whole microseconds"
        );
        let shown: Vec<&Field> = fields
            .iter()
            .filter(|field| !matches!(field.role, Role::Constant(_)))
            .collect();
        let join = |of: &dyn Fn(&Field) -> String| shown.iter().map(|f| of(f)).collect::<Vec<_>>().join(",");
        let row = vec![
            ("epoch_us", (layout.epoch().unix_nanos() / 1000).to_string()),
            ("tick_us", layout.tick().as_micros().to_string()),
            ("bits", layout.bits().to_string()),
            ("time_bits", time_bits.to_string()),
            ("time_shift", time_shift.to_string()),
            ("worker_bits", worker_bits.to_string()),
            ("worker_shift", worker_shift.to_string()),
            ("sequence_bits", sequence_bits.to_string()),
            ("sequence_shift", sequence_shift.to_string()),
            ("sequence_first", first.to_string()),
            ("sequence_spread", spread.to_string()),
            ("sequence_carry", carry.to_string()),
            ("constant_mask", mask.to_string()),
            ("constant_value", value.to_string()),
            ("field_names", join(&|f| f.name.to_string())),
            ("field_bits", join(&|f| f.bits.to_string())),
            ("field_shifts", join(&|f| f.shift.to_string())),
        ];
        rows.push((preset.name, row));
    }
    rows
}

fn postgres_presets() -> String {
    let mut text = String::new();
    for (name, row) in preset_numbers() {
        let _ = write!(text, "  WHEN '{name}' THEN");
        for (at, (key, value)) in row.iter().enumerate() {
            let value = if key.starts_with("field") {
                format!("'{{{value}}}'")
            } else {
                value.clone()
            };
            text.push_str(if matches!(at, 0 | 3 | 9 | 14) {
                "\n    "
            } else {
                " "
            });
            let _ = write!(text, "{key} := {value};");
        }
        text.push('\n');
    }
    text
}

fn mariadb_presets() -> String {
    let mut text = String::new();
    for (name, row) in preset_numbers() {
        let value = |key: &str| {
            let found = row.iter().find(|(name, _)| *name == key);
            found.expect("every row has every key").1.clone()
        };
        let fields: Vec<String> = value("field_names")
            .split(',')
            .zip(value("field_bits").split(','))
            .zip(value("field_shifts").split(','))
            .map(|((name, bits), shift)| format!("[\"{name}\",{bits},{shift}]"))
            .collect();
        let numbers: Vec<String> = row
            .iter()
            .filter(|(key, _)| !key.starts_with("field"))
            .map(|(key, value)| format!("\"{key}\":{value}"))
            .collect();
        let _ = writeln!(
            text,
            "    WHEN '{name}' THEN '{{{},\"fields\":[{}]}}'",
            numbers.join(","),
            fields.join(",")
        );
    }
    text
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

#[cfg(test)]
mod tests {
    use std::fs;

    #[test]
    fn every_shipped_script_is_what_its_parts_make() {
        for file in super::generated() {
            let found = fs::read_to_string(&file.path).unwrap_or_default();
            assert!(
                found == file.text,
                "{} is not what sql/*/src, docs/sql-functions.md and the presets make: cargo xtask sql",
                file.path.display()
            );
        }
    }

    #[test]
    fn the_makefile_and_the_control_file_name_the_scripts_there_are() {
        let folder = super::folder("postgres");
        let read = |name: &str| fs::read_to_string(folder.join(name)).expect("the file is in the tree");
        let scripts = format!("DATA = mintage--{}.sql\n", super::VERSION);
        assert!(read("Makefile").contains(&scripts));
        assert!(read("mintage.control").contains(&format!("default_version = '{}'\n", super::VERSION)));
    }
}
