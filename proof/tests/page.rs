//! docs/guarantees.md says what this crate does.

use mintage_proof::{goals, page, planted};

/// `MINT_TEST_UPDATE=1` writes it.
#[test]
fn the_table_of_planted_bugs_is_on_the_page() {
    if std::env::var_os("MINT_TEST_UPDATE").is_some() {
        page::put("planted bugs", &planted::table()).unwrap();
    }
    assert_eq!(page::get("planted bugs").unwrap(), planted::table());
}

#[test]
fn the_last_run_on_the_page_has_every_goal() {
    let lines = page::get("last run").unwrap();
    for goal in goals::GOALS {
        let begins = format!("{} {}: ", goal.id, goal.name);
        assert!(lines.lines().any(|line| line.starts_with(&begins)), "{begins}");
    }
}
