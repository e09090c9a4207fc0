//! No circle of files: whoever reads one file of a circle has to read them all.
//!
//! An edge is a path that begins with `crate` or `super` and leads into another file; tests do not count. A folder's
//! `mod.rs` and the files below it may name each other: they are one thing in several files.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::step;

/// The crates that are looked at.
const CRATES: &[&str] = &[
    "crates/bulk",
    "crates/cli",
    "crates/core",
    "crates/drivers",
    "crates/elsewhere",
    "crates/faces",
    "crates/ledger",
    "crates/local",
    "crates/server",
    "crates/store",
    "crates/wire",
    "e2e",
    "fuzz",
    "proof",
    "xtask",
];

/// A module's path inside its crate, without `crate`.
type Module = Vec<String>;
type Graph = BTreeMap<Module, BTreeSet<Module>>;

/// Checks every crate of the list.
pub(crate) fn check() -> Result<(), String> {
    let mut wrong = Vec::new();
    for name in CRATES {
        let folder = step::root().join(name).join("src");
        let mut texts = BTreeMap::new();
        read(&folder, &mut Vec::new(), &mut texts)?;
        let graph = graph(&texts);
        for circle in circles(&graph) {
            let files: Vec<String> = circle.iter().map(|module| module.join("/")).collect();
            wrong.push(format!(
                "{name}: these files name each other in a circle: {}",
                files.join(", ")
            ));
        }
    }
    match wrong.is_empty() {
        true => Ok(()),
        false => Err(wrong.join("\n       ")),
    }
}

/// The code of every module below a folder, without its tests and comments.
fn read(folder: &Path, at: &mut Module, texts: &mut BTreeMap<Module, String>) -> Result<(), String> {
    let cannot = |e: std::io::Error| format!("{}: {e}", folder.display());
    for entry in fs::read_dir(folder).map_err(cannot)? {
        let path = entry.map_err(cannot)?.path();
        let Some(name) = path.file_stem().and_then(|name| name.to_str()) else {
            continue;
        };
        let is_folder_itself = matches!(name, "mod" | "lib" | "main");
        if !is_folder_itself {
            at.push(name.to_string());
        }
        if path.is_dir() {
            read(&path, at, texts)?;
        } else if path.extension().is_some_and(|ending| ending == "rs") && name != "tests" {
            texts.insert(at.clone(), code(&fs::read_to_string(&path).map_err(cannot)?));
        }
        if !is_folder_itself {
            at.pop();
        }
    }
    Ok(())
}

fn code(text: &str) -> String {
    let tests = text.find("#[cfg(test)]\nmod ").unwrap_or(text.len());
    let lines = text[..tests].lines();
    lines
        .map(|line| line.split("//").next().unwrap_or_default())
        .collect::<Vec<_>>()
        .join("\n")
}

fn graph(texts: &BTreeMap<Module, String>) -> Graph {
    let edges = |(module, text): (&Module, &String)| {
        let named = paths(module, text).into_iter().filter_map(|path| {
            // The longest beginning of a path that is a file.
            (0..=path.len())
                .rev()
                .map(|length| path[..length].to_vec())
                .find(|beginning| texts.contains_key(beginning))
        });
        let is_apart = |other: &Module| !other.starts_with(module) && !module.starts_with(other);
        (module.clone(), named.filter(is_apart).collect())
    };
    texts.iter().map(edges).collect()
}

/// Every path in a module's code that begins with `crate` or `super`.
fn paths(module: &Module, text: &str) -> Vec<Module> {
    let mut found = Vec::new();
    for (start, word) in text.match_indices("crate::").chain(text.match_indices("super::")) {
        let before = text[..start].chars().next_back();
        if before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':' || c == '$') {
            continue;
        }
        let (mut at, mut rest) = (Vec::new(), &text[start + word.len()..]);
        if word == "super::" {
            let mut up = 1;
            while let Some(more) = rest.strip_prefix("super::") {
                (up, rest) = (up + 1, more);
            }
            at.extend_from_slice(&module[..module.len().saturating_sub(up)]);
        }
        tree(at, rest, &mut found);
    }
    found
}

/// What a tree of names after a `use` leads to: `a::b`, `a::{b, c::d}`.
fn tree(mut at: Module, text: &str, found: &mut Vec<Module>) {
    let mut rest = text;
    loop {
        let end = rest
            .find(|c: char| !c.is_alphanumeric() && c != '_')
            .unwrap_or(rest.len());
        if end > 0 {
            at.push(rest[..end].to_string());
        }
        rest = &rest[end..];
        match rest.strip_prefix("::") {
            Some(more) => rest = more,
            None => break,
        }
    }
    let Some(inner) = rest.strip_prefix('{') else {
        return found.push(at);
    };
    let (mut depth, mut item) = (0, 0);
    for (place, letter) in inner.char_indices() {
        match letter {
            '{' => depth += 1,
            ',' | '}' if depth == 0 => {
                tree(at.clone(), inner[item..place].trim_start(), found);
                item = place + 1;
                if letter == '}' {
                    return;
                }
            }
            '}' => depth -= 1,
            _ => {}
        }
    }
}

/// The sets of modules of which each leads to every other.
fn circles(graph: &Graph) -> Vec<BTreeSet<Module>> {
    let reached: BTreeMap<&Module, BTreeSet<&Module>> = graph
        .keys()
        .map(|module| (module, reached(graph, module)))
        .collect();
    let mut found = BTreeSet::new();
    for (module, others) in &reached {
        let circle: BTreeSet<Module> = others
            .iter()
            .filter(|other| reached.get(**other).is_some_and(|back| back.contains(module)))
            .map(|other| (*other).clone())
            .collect();
        if !circle.is_empty() {
            found.insert(circle);
        }
    }
    found.into_iter().collect()
}

fn reached<'g>(graph: &'g Graph, from: &Module) -> BTreeSet<&'g Module> {
    let mut seen = BTreeSet::new();
    let mut next: Vec<&Module> = graph.get(from).into_iter().flatten().collect();
    while let Some(module) = next.pop() {
        if seen.insert(module) {
            next.extend(graph.get(module).into_iter().flatten());
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;

    fn circles_of(files: &[(&str, &str)]) -> Vec<String> {
        let module = |path: &str| {
            path.split('/')
                .filter(|p| !p.is_empty())
                .map(str::to_string)
                .collect()
        };
        let texts = files
            .iter()
            .map(|(path, text)| (module(path), code(text)))
            .collect();
        let shown =
            |circle: BTreeSet<Module>| circle.iter().map(|m| m.join("/")).collect::<Vec<_>>().join(" ");
        circles(&graph(&texts)).into_iter().map(shown).collect()
    }

    #[test]
    fn no_file_stands_in_a_circle() {
        check().unwrap();
    }

    #[test]
    fn a_circle_is_found_through_every_way_to_write_a_path() {
        assert_eq!(
            circles_of(&[
                ("a", "use crate::{x::Y, b::{self, C}};"),
                ("b", "fn f() { super::c::g() }"),
                ("c", "use crate::a;\nuse crate::d::E;"),
                ("d", "// use crate::a;\n#[cfg(test)]\nmod tests { use crate::a; }"),
            ]),
            ["a b c"]
        );
    }

    #[test]
    fn a_folder_and_its_files_are_one_thing() {
        assert!(circles_of(&[("", ""), ("f", "use crate::f::g::H;"), ("f/g", "use super::I;")]).is_empty());
    }
}
