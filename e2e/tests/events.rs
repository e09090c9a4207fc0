//! The table of store times event: docs/faults.md says the same, and each row has its test.
#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use mintage_e2e::binary;
use mintage_e2e::events::{Event, ONCE_REPEATED, row, table};

const HEAD: &str = "| store | event | what the servers do | ids checked | repeats | refused requests |\n\
                    | --- | --- | --- | --- | --- | --- |\n";

/// `MINT_TEST_UPDATE=1` writes the table anew, with the figures that are there, or those in the file that
/// `MINT_TEST_MATRIX_ROWS` names: what `cargo xtask e2e --matrix` printed.
#[test]
fn the_page_of_faults_says_what_the_tests_show() {
    let at = binary::root().join("docs/faults.md");
    let page = fs::read_to_string(&at).unwrap();
    let (before, rest) = page.split_once(HEAD).expect("the table is there");
    let end = rest.find("\n\n").map_or(rest.len(), |end| end + 1);
    let (old, after) = rest.split_at(end);
    let newer = std::env::var("MINT_TEST_MATRIX_ROWS").map(|file| fs::read_to_string(file).unwrap());
    let newer = newer.unwrap_or_default();
    let figures = [figures(old), figures(&newer)];
    let line = |event: &Event| {
        let known = figures
            .iter()
            .rev()
            .find_map(|known| known.get(&(event.store, event.event)));
        let figures = known.copied().unwrap_or("- | - | -");
        format!(
            "| {} | {} | {} | {figures} |\n",
            event.store, event.event, event.outcome
        )
    };
    let new: String = table().iter().map(line).collect();
    if std::env::var_os("MINT_TEST_UPDATE").is_some() {
        fs::write(&at, [before, HEAD, &new, after].concat()).unwrap();
    } else {
        assert_eq!(old, new, "docs/faults.md: MINT_TEST_UPDATE=1 writes it anew");
        let unseen: Vec<&str> = new.lines().filter(|line| !has_no_repeat(line)).collect();
        assert!(
            unseen.is_empty(),
            "rows without the figures of a run: {unseen:#?}"
        );
    }
}

/// The last three cells of each row, by store and event.
fn figures(rows: &str) -> BTreeMap<(&str, &str), &str> {
    let row = |line| {
        let cells: &str = str::trim_end_matches(str::trim_start_matches(line, "| "), " |");
        let (store, rest) = cells.split_once(" | ")?;
        let (event, rest) = rest.split_once(" | ")?;
        let (_, figures) = rest.split_once(" | ")?;
        Some(((store, event), figures))
    };
    rows.lines().filter_map(row).collect()
}

fn has_no_repeat(line: &str) -> bool {
    let cells: Vec<&str> = line.split('|').map(str::trim).collect();
    matches!(cells[4].parse::<u64>(), Ok(1..)) && cells[5] == "0" && cells[6].parse::<u64>().is_ok()
}

#[test]
fn every_row_of_the_table_has_its_test_and_no_row_is_there_twice() {
    let mut seen = BTreeSet::new();
    for Event {
        store, event, test, ..
    } in table()
    {
        assert!(seen.insert((store, event)), "{store}: {event} twice");
        let (file, name) = test.split_once("::").unwrap();
        let path = binary::root().join(format!("e2e/tests/{file}.rs"));
        let text = fs::read_to_string(&path).unwrap();
        assert!(
            text.contains(&format!("fn {name}")),
            "{store}: {event}: no test {test}"
        );
    }
    for (store, event) in ONCE_REPEATED {
        row(store, event);
    }
}
