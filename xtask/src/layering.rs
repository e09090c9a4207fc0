//! Two rules about the shape of the workspace: dependencies point down only, and `unsafe` stays in the files
//! named here.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::step;

/// What each shipped crate may depend on inside the workspace, lowest first.
const MAY_USE: &[(&str, &[&str])] = &[
    ("mintage", &[TESTING]),
    ("mintage-bulk", &["mintage", TESTING]),
    ("mintage-local", &["mintage", TESTING]),
    ("mintage-store", &["mintage", "mintage-local", TESTING]),
    (
        "mintage-drivers",
        &["mintage", "mintage-local", "mintage-store", TESTING],
    ),
    (
        "mintage-elsewhere",
        &[
            "mintage",
            "mintage-drivers",
            "mintage-local",
            "mintage-store",
            TESTING,
        ],
    ),
    (
        "mintage-ledger",
        &[
            "mintage",
            "mintage-drivers",
            "mintage-elsewhere",
            "mintage-local",
            "mintage-store",
            TESTING,
        ],
    ),
    ("mintage-wire", &["mintage"]),
    (
        "mintage-server",
        &[
            "mintage",
            "mintage-bulk",
            "mintage-ledger",
            "mintage-local",
            "mintage-wire",
            TESTING,
        ],
    ),
    // The faces of other systems stand on the server, which names none of them: the command puts them together.
    (
        "mintage-faces",
        &[
            "mintage",
            "mintage-ledger",
            "mintage-server",
            "mintage-wire",
            TESTING,
        ],
    ),
    (
        "mintage-cli",
        &[
            "mintage",
            "mintage-bulk",
            "mintage-faces",
            "mintage-ledger",
            "mintage-local",
            "mintage-server",
            "mintage-wire",
        ],
    ),
    // Not shipped. The end-to-end tests drive the binary; they see core only to run the README's examples, and the
    // ledger only to run the suite of stores on real servers.
    ("mintage-e2e", &["mintage", "mintage-ledger", TESTING]),
    ("mintage-proof", &["mintage", "mintage-ledger", TESTING]),
    (
        "mintage-fuzz",
        &[
            "mintage",
            "mintage-bulk",
            "mintage-faces",
            "mintage-ledger",
            "mintage-local",
            "mintage-server",
            "mintage-wire",
        ],
    ),
    ("mintage-sql-packs", &["mintage"]),
    (TESTING, &[]),
    ("xtask", &[]),
];

/// The assertions that tests share: what is shipped has it for its tests alone.
const TESTING: &str = "mintage-testing";

/// The folders of the packages that use the one in this folder, directly or not.
pub(crate) fn above(folder: &str) -> Vec<String> {
    let name_of = |folder: &str| match folder.strip_prefix("crates/") {
        Some("core") => "mintage".to_string(),
        Some(rest) => format!("mintage-{rest}"),
        None => folder.to_string(),
    };
    let folder_of = |name: &str| match name.strip_prefix("mintage-") {
        Some(rest @ ("e2e" | "proof" | "fuzz")) => rest.to_string(),
        Some("sql") => "sql/generator".to_string(),
        Some(rest) => format!("crates/{rest}"),
        None if name == "mintage" => "crates/core".to_string(),
        None => name.to_string(),
    };
    let name = name_of(folder);
    let users = MAY_USE.iter().filter(|(_, uses)| uses.contains(&name.as_str()));
    let mut above: Vec<String> = users.map(|(user, _)| folder_of(user)).collect();
    // The end-to-end tests run the command.
    if folder.starts_with("crates/") && !above.iter().any(|folder| folder == "e2e") {
        above.push("e2e".to_string());
    }
    above
}

/// What core may need when no feature is asked for.
const CORE_REQUIRES: &[&str] = &["uuid"];

/// The only files that may contain `unsafe`, each for the reason that stands in its first lines.
const UNSAFE_FILES: &[&str] = &[
    "crates/core/src/fork.rs",
    "crates/core/src/host.rs",
    "crates/core/src/keystream.rs",
    "crates/core/src/system.rs",
    "crates/core/src/whole.rs",
    "crates/core/src/format/base32/x86.rs",
    "crates/core/src/text/ascii.rs",
    "crates/core/src/text/hex/x86.rs",
    "crates/core/src/tsc.rs",
    "crates/core/tests/fork.rs",
    "crates/local/src/uuid/word.rs",
    "crates/store/src/embedded/handle.rs",
    "crates/server/src/give_back.rs",
    "proof/src/disk/power.rs",
    "proof/src/forks.rs",
];

/// Checks the direction of every dependency inside the workspace.
pub(crate) fn dependencies() -> Result<(), String> {
    let text = step::output(step::cargo("metadata --format-version=1 --no-deps").env_remove("RUSTFLAGS"))?;
    let metadata: Value = serde_json::from_str(&text).map_err(|e| format!("cargo metadata: {e}"))?;
    let packages = metadata["packages"]
        .as_array()
        .ok_or("cargo metadata lists no packages")?;
    let members: BTreeSet<&str> = packages.iter().filter_map(|p| p["name"].as_str()).collect();
    let mut wrong = Vec::new();
    for package in packages {
        let name = package["name"].as_str().unwrap_or_default();
        let Some((_, allowed)) = MAY_USE.iter().find(|(n, _)| *n == name) else {
            wrong.push(format!("{name} has no row in xtask/src/layering.rs"));
            continue;
        };
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            let on = dependency["name"].as_str().unwrap_or_default();
            if members.contains(on) && on != name && !allowed.contains(&on) {
                wrong.push(format!("{name} depends on {on}; dependencies point down only"));
            }
            let is_shipped = !["mintage-e2e", "mintage-proof"].contains(&name);
            if on == TESTING && is_shipped && dependency["kind"].is_null() && dependency["optional"] == false
            {
                wrong.push(format!("{name} requires {on}, which is for its tests alone"));
            }
            // Loom is for its own build of the tests alone (cargo xtask loom).
            let required = dependency["kind"].is_null()
                && dependency["optional"] == false
                && dependency["target"] != "cfg(loom)";
            if name == "mintage" && required && !CORE_REQUIRES.contains(&on) {
                wrong.push(format!(
                    "core requires {on}; without features it requires only {CORE_REQUIRES:?}"
                ));
            }
        }
    }
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(wrong.join("\n       "))
    }
}

/// What the faces of other systems share: a folder that all of them may name.
const SHARED_BY_FACES: &[&str] = &["sql"];

/// Checks that no face of another system names the folder of another one. What two of them need is in `sql`, in a file
/// beside the folders, or in the server's chassis.
pub(crate) fn faces_stand_apart() -> Result<(), String> {
    let root = step::root().join("crates/faces/src");
    let entries = fs::read_dir(&root).map_err(|e| format!("{}: {e}", root.display()))?;
    let folders = entries
        .filter_map(Result::ok)
        .filter(|entry| entry.path().is_dir());
    let all: Vec<String> = folders
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    let mut wrong = Vec::new();
    for face in &all {
        visit(&root.join(face), &mut |path, text| {
            for other in others_named(text, face, &all) {
                let file = path.strip_prefix(&root).unwrap_or(path).display();
                wrong.push(format!("crates/faces/src/{file} names the face {other}"));
            }
        })?;
    }
    match (all.is_empty(), wrong.is_empty()) {
        (true, _) => Err(format!("{}: there are no faces", root.display())),
        (false, true) => Ok(()),
        (false, false) => Err(wrong.join("\n       ")),
    }
}

/// The folders of other faces that a text names.
fn others_named<'a>(text: &str, face: &str, all: &'a [String]) -> Vec<&'a str> {
    let others = all.iter().map(String::as_str).filter(|other| *other != face);
    let others = others.filter(|other| !SHARED_BY_FACES.contains(other));
    others
        .filter(|other| text.contains(&format!("crate::{other}::")))
        .collect()
}

/// What the command has nothing of where it is built without features.
const NOT_IN_BARE_COMMAND: &[&str] = &[
    "libsqlite3-sys",
    "mintage-faces",
    "mintage-ledger",
    "mintage-server",
    "mintage-store",
    "rusqlite",
    "sqlx-core",
    "tokio",
];

/// Checks that the command without server and store is built without what they need.
pub(crate) fn bare_command() -> Result<(), String> {
    let mut tree = step::cargo("tree -p mintage-cli --no-default-features -e normal --prefix none --locked");
    let text = step::output(&mut tree)?;
    let names: BTreeSet<&str> = text.lines().filter_map(|line| line.split(' ').next()).collect();
    let found: Vec<&&str> = NOT_IN_BARE_COMMAND
        .iter()
        .filter(|name| names.contains(**name))
        .collect();
    match (names.contains("mintage-local"), found.is_empty()) {
        (true, true) => Ok(()),
        (false, _) => Err(format!("cargo tree lists no mintage-local:\n{text}")),
        (_, false) => Err(format!(
            "the command without features is built with {found:?}; `cargo tree -p mintage-cli --no-default-features \
             -i NAME` says through what"
        )),
    }
}

/// The modules below a folder that may contain `unsafe`, by the names of their files.
pub(crate) fn unsafe_modules(folder: &str) -> impl Iterator<Item = String> {
    let files = UNSAFE_FILES
        .iter()
        .filter_map(move |file| file.strip_prefix(folder));
    files.map(|file| file.trim_end_matches(".rs").replace('/', "::") + "::")
}

/// Checks that `unsafe` is written only in the files named above, and that each of them still exists.
pub(crate) fn unsafe_fences() -> Result<(), String> {
    let root = step::root();
    let mut wrong = Vec::new();
    for folder in ["crates", "e2e", "proof", "xtask"] {
        visit(&root.join(folder), &mut |path, text| {
            let name = path
                .strip_prefix(&root)
                .unwrap_or(path)
                .to_string_lossy()
                .replace('\\', "/");
            if !UNSAFE_FILES.contains(&name.as_str()) && text.lines().any(has_unsafe) {
                wrong.push(format!(
                    "{name} contains unsafe code and is not on the list in xtask/src/layering.rs"
                ));
            }
        })?;
    }
    for name in UNSAFE_FILES {
        if !root.join(name).is_file() {
            wrong.push(format!(
                "{name} is on the list in xtask/src/layering.rs and does not exist"
            ));
        }
    }
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(wrong.join("\n       "))
    }
}

/// Whether a line opens an unsafe block, function, trait or implementation.
fn has_unsafe(line: &str) -> bool {
    let code = line.split("//").next().unwrap_or_default();
    ["{", "fn", "impl", "extern", "trait"]
        .iter()
        .any(|next| code.contains(&format!("unsafe {next}")))
        || code.contains("allow(unsafe_code")
}

/// Every source below a folder, but this one, which quotes what it looks for.
pub(crate) fn visit(folder: &Path, each: &mut impl FnMut(&Path, &str)) -> Result<(), String> {
    let entries = fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    for entry in entries {
        let path = entry.map_err(|e| e.to_string())?.path();
        if path.is_dir() {
            visit(&path, each)?;
        } else if path.extension().is_some_and(|e| e == "rs") && !path.ends_with("xtask/src/layering.rs") {
            let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
            each(&path, &text);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn dependencies_point_down_only() {
        super::dependencies().unwrap();
    }

    #[test]
    fn the_command_without_features_has_neither_server_nor_store() {
        super::bare_command().unwrap();
    }

    #[test]
    fn faces_name_no_other_face() {
        super::faces_stand_apart().unwrap();
        let all = ["leaf", "mysql", "sql"].map(String::from);
        let text = "use crate::sql::names::SqlName;\nuse crate::leaf::Settings;\nuse crate::mysql::plan;";
        assert_eq!(super::others_named(text, "mysql", &all), ["leaf"]);
    }

    #[test]
    fn unsafe_stays_in_its_fenced_files() {
        super::unsafe_fences().unwrap();
    }

    #[test]
    fn a_line_with_unsafe_code_is_told_from_a_line_that_speaks_of_it() {
        for (line, is) in [
            ("    unsafe { *p }", true),
            ("unsafe impl Send for X {}", true),
            ("#![allow(unsafe_code)]", true),
            ("// unsafe { *p }", false),
            ("let unsafe_count = 1;", false),
        ] {
            assert_eq!(super::has_unsafe(line), is, "{line}");
        }
    }
}
