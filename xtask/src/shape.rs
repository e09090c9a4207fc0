//! The shape of the product's sources: how long functions and lines are, what is public without a user in another crate,
//! and names that too many types have. `xtask/shape.tsv` has what is there today; its figures may only fall.
//!
//! Each row is a kind, what it is about, and a figure:
//!
//! | kind | about | figure |
//! | --- | --- | --- |
//! | `function` | file and name of a function of more than 70 lines | its lines |
//! | `columns` | a crate | its lines of more than 120 columns |
//! | `public` | a crate | its public items whose names occur in no other crate, and in none of its tests from outside |
//! | `name` | a name that more than three types have | how many |

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::{layering, step};

const LIST: &str = "xtask/shape.tsv";

/// The longest function that needs no row: a screen.
const LINES_MAX: usize = 70;
/// The longest line that counts for nothing. Formatting ends code at 110; texts and comments do not break by themselves.
const COLUMNS_MAX: usize = 120;
/// How many types may share a name.
const TYPES_MAX: usize = 3;

/// What is looked for users of a crate's public items in, beside the other crates.
const USERS: [&str; 6] = ["e2e", "proof", "fuzz", "bench", "xtask", "sql/generator"];

type Figures = BTreeMap<(String, String), usize>;

/// Fails on a figure that has risen or has no row, and on one that has fallen until its row says so.
pub(crate) fn check() -> Result<(), String> {
    let (now, listed) = (measured()?, listed()?);
    let mut wrong = Vec::new();
    for ((kind, about), &figure) in &now {
        let most = listed.get(&(kind.clone(), about.clone())).copied();
        if most.is_none_or(|most| figure > most) {
            let most = most.map_or_else(|| allowed(kind), |most| most.to_string());
            wrong.push(format!("{kind} {about}: {figure}, at most {most}"));
        }
    }
    for (row, &most) in &listed {
        if now.get(row).copied().unwrap_or_default() < most {
            wrong.push(format!(
                "{} {}: less than {most} by now: MINT_TEST_UPDATE=1 cargo test -p xtask shape lowers its figure",
                row.0, row.1
            ));
        }
    }
    match wrong.is_empty() {
        true => Ok(()),
        false => Err(format!("{LIST}: {}", wrong.join("\n       "))),
    }
}

/// What a thing without a row may be.
fn allowed(kind: &str) -> String {
    match kind {
        "function" => format!("{LINES_MAX} lines"),
        "columns" => format!("{COLUMNS_MAX} columns a line"),
        "public" => "as many as are used elsewhere".into(),
        _ => format!("{TYPES_MAX} types"),
    }
}

fn listed() -> Result<Figures, String> {
    let text = fs::read_to_string(step::root().join(LIST)).map_err(|e| format!("{LIST}: {e}"))?;
    let row = |line: &str| {
        let mut cells = line.split('\t');
        let (kind, about, figure) = (cells.next()?, cells.next()?, cells.next()?);
        Some(((kind.to_string(), about.to_string()), figure.parse().ok()?))
    };
    let read = |line| row(line).ok_or_else(|| format!("{LIST}: no row: {line}"));
    text.lines().map(read).collect()
}

/// What is above what needs no row, in the tree as it is.
fn measured() -> Result<Figures, String> {
    let root = step::root();
    let crates = fs::read_dir(root.join("crates")).map_err(|e| format!("crates: {e}"))?;
    let mut names: Vec<String> = crates
        .flatten()
        .map(|entry| format!("crates/{}", entry.file_name().display()))
        .collect();
    names.sort();
    let mut used: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for folder in names.iter().map(String::as_str).chain(USERS) {
        let words = used.entry(folder).or_default();
        layering::visit(&root.join(folder), &mut |_, text| words.extend(words_of(text)))?;
    }
    let mut figures = Figures::new();
    let mut types: BTreeMap<String, usize> = BTreeMap::new();
    for name in &names {
        let tests = words_below(&root.join(name).join("tests"))?;
        let is_used = |item: &str| {
            let elsewhere = used.iter().filter(|(folder, _)| *folder != name);
            tests.contains(item)
                || elsewhere
                    .map(|(_, words)| words)
                    .any(|words| words.contains(item))
        };
        let (mut wide, mut unused) = (0, 0);
        layering::visit(&root.join(name).join("src"), &mut |path, text| {
            if is_test(path) {
                return;
            }
            let text = without_tests(text);
            let path = path.strip_prefix(&root).unwrap_or(path).display();
            for (function, lines) in long_functions(text) {
                figures.insert(("function".into(), format!("{path} {function}")), lines);
            }
            wide += text
                .lines()
                .filter(|line| line.chars().count() > COLUMNS_MAX)
                .count();
            unused += public_items(text).filter(|item| !is_used(item)).count();
            types_of(text).for_each(|name| *types.entry(name.to_string()).or_default() += 1);
        })?;
        for (kind, figure) in [("columns", wide), ("public", unused)] {
            if figure > 0 {
                figures.insert((kind.into(), name.clone()), figure);
            }
        }
    }
    types.retain(|_, count| *count > TYPES_MAX);
    figures.extend(
        types
            .into_iter()
            .map(|(name, count)| (("name".into(), name), count)),
    );
    Ok(figures)
}

fn is_test(path: &Path) -> bool {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    stem == "tests" || stem.ends_with("_tests")
}

/// What stands before a file's own tests.
fn without_tests(text: &str) -> &str {
    text.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or(text)
}

fn words_of(text: &str) -> impl Iterator<Item = String> {
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
    words.filter(|word| !word.is_empty()).map(str::to_string)
}

fn words_below(folder: &Path) -> Result<BTreeSet<String>, String> {
    let mut words = BTreeSet::new();
    if folder.is_dir() {
        layering::visit(folder, &mut |_, text| words.extend(words_of(text)))?;
    }
    Ok(words)
}

/// The functions of more than [`LINES_MAX`] lines, from their first line to the brace that stands below its beginning.
fn long_functions(text: &str) -> Vec<(String, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut long = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let Some(name) = item_named(line, &["fn"]) else {
            continue;
        };
        let indent = line.len() - line.trim_start().len();
        let is_end = |line: &&str| line.len() == indent + 1 && line.trim_start() == "}";
        let is_declared_alone = line.ends_with(';');
        let length = lines[at..].iter().position(is_end).map_or(0, |end| end + 1);
        if length > LINES_MAX && !is_declared_alone {
            long.push((name.to_string(), length));
        }
    }
    long
}

/// The items that other crates may name.
fn public_items(text: &str) -> impl Iterator<Item = &str> {
    const KINDS: [&str; 8] = ["fn", "struct", "enum", "trait", "type", "const", "static", "mod"];
    let public = text.lines().filter(|line| line.trim_start().starts_with("pub "));
    public.filter_map(|line| item_named(line, &KINDS))
}

fn types_of(text: &str) -> impl Iterator<Item = &str> {
    text.lines()
        .filter_map(|line| item_named(line, &["struct", "enum", "trait", "type"]))
}

/// The name of the item that a line begins, if it is one of these kinds.
fn item_named<'a>(line: &'a str, kinds: &[&str]) -> Option<&'a str> {
    let mut rest = line.trim_start();
    loop {
        let (word, behind) = rest.split_once([' ', '('])?;
        if kinds.contains(&word) && rest[word.len()..].starts_with(' ') {
            let end = behind.find(|c: char| !c.is_alphanumeric() && c != '_');
            let name = &behind[..end.unwrap_or(behind.len())];
            // `const fn`: the kind is the last word of several.
            if !kinds.contains(&name) && !["fn", "unsafe", "async"].contains(&name) {
                return (!name.is_empty()).then_some(name);
            }
        }
        rest = match word {
            "pub" if rest[word.len()..].starts_with('(') => behind.split_once(')')?.1.trim_start(),
            "pub" | "const" | "async" | "unsafe" => behind,
            _ => return None,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `MINT_TEST_UPDATE=1` lowers the figures that have fallen.
    #[test]
    fn no_figure_rises() {
        if std::env::var_os("MINT_TEST_UPDATE").is_some() {
            let (now, mut rows) = (measured().unwrap(), listed().unwrap());
            rows.retain(|row, most| {
                *most = (*most).min(now.get(row).copied().unwrap_or_default());
                *most > 0
            });
            let rows = rows
                .iter()
                .map(|((kind, about), most)| format!("{kind}\t{about}\t{most}\n"));
            fs::write(step::root().join(LIST), rows.collect::<String>()).unwrap();
        }
        check().unwrap_or_else(|wrong| panic!("{wrong}"));
    }

    #[test]
    fn items_are_found_by_the_words_before_their_names() {
        for (line, name) in [
            ("pub fn one() {}", Some("one")),
            ("    pub(crate) const async fn two<T>(", Some("two")),
            ("async fn three() -> u8 {", Some("three")),
            ("// fn four() {}", None),
            ("let fn_five = 5;", None),
            ("pub(in crate::a) fn six()", Some("six")),
        ] {
            assert_eq!(item_named(line, &["fn"]), name, "{line}");
        }
        let text = "pub const A: u8 = 1;\npub const fn b() {}\npub(crate) struct C;\nstruct D;\npub mod e;\n";
        assert_eq!(public_items(text).collect::<Vec<_>>(), ["A", "b", "e"]);
        assert_eq!(types_of(text).collect::<Vec<_>>(), ["C", "D"]);
    }

    #[test]
    fn a_function_ends_at_its_own_brace() {
        let body = "        {\n        }\n".repeat(40);
        let text = format!("impl A {{\n    fn long() {{\n{body}    }}\n    fn short() {{\n    }}\n}}\n");
        assert_eq!(long_functions(&text), [("long".to_string(), 82)]);
    }
}
