//! What the documentation shows is what happens: every `console` block of every page, run in order.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::PathBuf;

use mintage_e2e::console::{self, Difference};
use mintage_e2e::{binary, need};

#[test]
fn every_console_block_gives_what_it_shows() {
    if !need::redis() || !need::curl() {
        return;
    }
    let root = binary::root();
    let mut pages = vec![root.join("README.md")];
    let docs = fs::read_dir(root.join("docs"))
        .unwrap()
        .map(|entry| entry.unwrap().path());
    // These are run by their own tests, with engines around; traps digit for digit.
    let apart = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("traps") || name.starts_with("coming-from")
    };
    pages.extend(docs.filter(|path| path.extension().is_some_and(|e| e == "md") && !apart(path)));
    pages.sort();
    let update = std::env::var_os("MINT_TEST_UPDATE").is_some();
    let mut wrong = Vec::new();
    for path in pages {
        let name = path.strip_prefix(root).unwrap().display().to_string();
        let page = fs::read_to_string(&path).unwrap();
        let differences = console::run_page(&page);
        if update && !differences.is_empty() {
            fs::write(&path, console::corrected(&page, &differences)).unwrap();
            need::say(&format!("{name}: {} outputs rewritten", differences.len()));
            continue;
        }
        wrong.extend(differences.into_iter().map(|Difference { step, given }| {
            let (shown, given) = (step.output.join("\n"), given.join("\n"));
            format!(
                "{name}:{}: $ {}\n--- shown\n{shown}\n--- given\n{given}",
                step.line, step.command
            )
        }));
    }
    assert!(
        wrong.is_empty(),
        "{}\nMINT_TEST_UPDATE=1 rewrites the pages",
        wrong.join("\n\n")
    );
}

/// An example that shows what `grep -o` finds would pass with an error too, where the error repeats what was asked for.
#[test]
fn no_filter_of_an_example_finds_what_the_command_itself_says() {
    let root = binary::root();
    let docs = fs::read_dir(root.join("docs"))
        .unwrap()
        .map(|entry| entry.unwrap().path());
    for path in docs.chain([root.join("README.md")]) {
        let Ok(page) = fs::read_to_string(&path) else {
            continue;
        };
        for line in page.lines().filter_map(|line| line.strip_prefix("$ ")) {
            let swallows = ["|| true", "grep -c", "head -c"]
                .iter()
                .find(|word| line.contains(**word));
            assert_eq!(swallows, None, "{}: {line}", path.display());
            let Some((before, filter)) = line.split_once("grep -o") else {
                continue;
            };
            let words = filter
                .trim_start_matches(['E', ' '])
                .trim_start_matches(['\'', '"']);
            let literal: String = words
                .chars()
                .take_while(|c| !"\\.*[]()'|^$ ".contains(*c))
                .collect();
            assert!(
                literal.len() > 2 && !before.contains(&literal),
                "{}: an error that repeats the command passes `grep -o {literal}`: {line}",
                path.display()
            );
        }
    }
}
