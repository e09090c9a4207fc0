//! What of the SQL packs is generated: the parts that come from the library's table of presets, which the tree has, and
//! the script of PostgreSQL's extension, which it has not.

#[cfg_attr(
    not(test),
    expect(
        dead_code,
        reason = "what is not written here, the command's build script takes"
    )
)]
mod join;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use join::{packs, read};
use mintage::{Field, PRESETS, Role, SequenceStart};

/// The parts in which regions are generated, each below the folder of its engine.
const GENERATED: &[(&str, &str)] = &[
    ("postgres", "src/70_presets.sql"),
    ("mariadb", "src/80_snowflake.sql"),
];

/// The folder of both packs.
fn sql() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Writes every file that is not what it should be.
fn main() -> ExitCode {
    for (path, text) in generated_parts().into_iter().chain([extension_script()]) {
        if fs::read_to_string(&path).is_ok_and(|found| found == text) {
            continue;
        }
        let shown = path.display();
        let folder = path.parent().expect("a file is in a folder");
        if let Err(error) = fs::create_dir_all(folder).and_then(|()| fs::write(&path, &text)) {
            eprintln!("error: cannot write {shown}: {error}");
            return ExitCode::FAILURE;
        }
        eprintln!("written: {shown}");
    }
    ExitCode::SUCCESS
}

/// The parts that hold generated regions, as they must be.
fn generated_parts() -> Vec<(PathBuf, String)> {
    let mut parts = Vec::new();
    for (engine, part) in GENERATED {
        let path = sql().join(engine).join(part);
        let text = regions(engine, read(&path));
        parts.push((path, text));
    }
    parts
}

/// What `CREATE EXTENSION` runs, and where it is put.
fn extension_script() -> (PathBuf, String) {
    let packs = packs(&sql());
    let version = packs.version;
    let path = sql().join(format!("postgres/built/mintage--{version}.sql"));
    let text = format!(
        "-- Generated from src/; see docs/sql.md.\n\\echo Use \"CREATE EXTENSION mintage VERSION '{version}'\" to load this \
         file. \\quit\n\n{}",
        packs.postgres
    );
    (path, text)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_generated_part_is_what_the_presets_make() {
        for (path, text) in generated_parts() {
            assert!(
                read(&path) == text,
                "{} is not what the library's presets make: cargo xtask sql",
                path.display()
            );
        }
    }

    #[test]
    fn nothing_is_left_to_fill_in_but_the_schema() {
        let packs = packs(&sql());
        for pack in [&packs.postgres, &packs.mariadb, &packs.mariadb_uninstall] {
            assert!(!pack.contains("@version@") && pack.contains(&packs.version));
        }
        assert!(packs.postgres.contains("@extschema@") && !packs.mariadb.contains("@extschema@"));
    }

    #[test]
    fn what_is_made_is_taken_away() {
        let packs = packs(&sql());
        let made = packs.mariadb.matches("\nCREATE ").count();
        assert_eq!(packs.mariadb_uninstall.matches("\nDROP ").count(), made);
    }
}
