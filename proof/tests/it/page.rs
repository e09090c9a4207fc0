//! docs/proof.md and docs/planted.md say what this crate does.

use mintage_proof::page::{self, Part};
use mintage_proof::{goals, planted};

/// `MINT_TEST_UPDATE=1` writes it.
#[test]
fn the_table_of_planted_bugs_is_on_the_page() {
    if std::env::var_os("MINT_TEST_UPDATE").is_some() {
        page::put(Part::PlantedBugs, &planted::table()).unwrap();
    }
    assert_eq!(page::get(Part::PlantedBugs).unwrap(), planted::table());
}

#[test]
fn the_last_run_on_the_page_has_every_goal() {
    let lines = page::get(Part::LastRun).unwrap();
    for goal in goals::GOALS {
        let begins = format!("{} {}: ", goal.id, goal.name);
        assert!(lines.lines().any(|line| line.starts_with(&begins)), "{begins}");
    }
}

/// The tests and the planted bugs that the page names exist, under these names.
#[test]
fn every_check_that_the_page_names_exists() {
    let page = std::fs::read_to_string(page::path("proof.md")).unwrap();
    let root = page::path("..");
    let (_, rest) = page.split_once("## Each sentence's check").unwrap();
    let (rows, _) = rest.split_once("\n## ").unwrap();
    let mut named = 0;
    for row in rows.lines().filter(|line| line.starts_with("| ")).skip(2) {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").collect();
        let [sentence, checks] = cells[..] else {
            panic!("{row}")
        };
        assert!(!sentence.trim().is_empty() && !checks.trim().is_empty(), "{row}");
        for check in checks.split('`').skip(1).step_by(2) {
            named += 1;
            match check.split_once("::") {
                Some((file, name)) => {
                    let text = std::fs::read_to_string(root.join(file)).unwrap_or_default();
                    assert!(text.contains(&format!("fn {name}(")), "{file} has no {name}");
                }
                None if check.contains('/') => assert!(root.join(check).exists(), "{check}"),
                None => {
                    let bug = planted::BUGS.iter().any(|bug| bug.name == check);
                    let fault = mintage_proof::sim::Fault::ALL
                        .iter()
                        .any(|(_, word, _)| *word == check);
                    assert!(bug || fault, "neither a planted bug nor a kind of fault: {check}");
                }
            }
        }
    }
    assert!(named >= 30, "{named} checks are named");
}
