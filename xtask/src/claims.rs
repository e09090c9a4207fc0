//! The promises of docs/guarantees.md as tests. Each is a row of a table there with an id of its own, and each test
//! that shows one as widely as it is written says so in the line above itself: `// claim: P7`. docs/claims.md lists
//! them.
//!
//! Ids: `P` is a promise, which needs a test; `A` an assumption and `N` what is not promised, which may have some. G1,
//! G2, … are goals of the proof, and R, W, S, U, C, E, M rules of the protocol.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::{layering, step};

const PAGE: &str = "docs/guarantees.md";
const LIST: &str = "docs/claims.md";
const PROOF: &str = "docs/proof.md";

/// Where the tests are.
const FOLDERS: [&str; 3] = ["crates", "e2e", "proof"];

/// What stands above a test, before the ids.
const MARKER: &str = "// claim:";

/// A test, and the claims that it shows.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Shown {
    /// Its file in the workspace and its name: `e2e/tests/kill.rs::no_kill_repeats_an_id`.
    test: String,
    /// The deep tests alone run it.
    is_deep: bool,
    ids: Vec<String>,
}

/// Fails on a claim without a test, a marker that names no claim or is above no test, ids that do not count on, and a
/// list that says something else. Returns how many promises there are, and how many tests.
pub(crate) fn check() -> Result<(usize, usize), String> {
    let (page, proof, list) = (read(PAGE)?, read(PROOF)?, read(LIST)?);
    let (shown, mut wrong) = all_shown()?;
    let claims = claims(&page);
    wrong.extend(faults(&claims, &shown));
    wrong.extend(unknown_rows(&proof, &claims));
    if list != listed(&claims, &shown) {
        wrong.push(format!(
            "{LIST} is not what the tests say: MINT_TEST_UPDATE=1 cargo test -p xtask claims writes it"
        ));
    }
    match wrong.is_empty() {
        true => Ok((claims.iter().filter(|id| needs_test(id)).count(), shown.len())),
        false => Err(wrong.join("\n")),
    }
}

fn read(path: &str) -> Result<String, String> {
    fs::read_to_string(step::root().join(path)).map_err(|e| format!("{path}: {e}"))
}

/// The ids of the page's rows, in its order.
fn claims(page: &str) -> Vec<String> {
    let cells = page
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
    cells.filter(|cell| is_id(cell)).map(String::from).collect()
}

fn is_id(text: &str) -> bool {
    let number = text.strip_prefix(['P', 'A', 'N']).unwrap_or_default();
    !number.is_empty() && !number.starts_with('0') && number.bytes().all(|byte| byte.is_ascii_digit())
}

fn needs_test(id: &str) -> bool {
    id.starts_with('P')
}

/// What the tests of the workspace show, and what is wrong with how they say it.
fn all_shown() -> Result<(Vec<Shown>, Vec<String>), String> {
    let (mut all, mut wrong) = (Vec::new(), Vec::new());
    let root = step::root();
    for folder in FOLDERS {
        layering::visit(&root.join(folder), &mut |path, text| {
            let file = path.strip_prefix(&root).unwrap_or(path);
            for found in shown_in(file, text) {
                match found {
                    Ok(shown) => all.push(shown),
                    Err(why) => wrong.push(why),
                }
            }
        })?;
    }
    all.sort();
    Ok((all, wrong))
}

/// The markers of a file, each with the test below it.
fn shown_in(file: &Path, text: &str) -> Vec<Result<Shown, String>> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let marked = lines
        .iter()
        .enumerate()
        .filter_map(|(at, line)| Some((at, line.strip_prefix(MARKER)?)));
    marked
        .map(|(at, ids)| {
            let place = format!("{}:{}", file.display(), at + 1);
            let ids: Vec<String> = ids.split(',').map(|id| id.trim().to_string()).collect();
            if let Some(id) = ids.iter().find(|id| !is_id(id)) {
                return Err(format!("{place}: \"{id}\" is no id of a claim"));
            }
            let Some((name, is_deep)) = test_below(&lines[at + 1..]) else {
                return Err(format!("{place}: a claim is shown by what is no test"));
            };
            Ok(Shown {
                test: format!("{}::{name}", file.display()),
                is_deep,
                ids,
            })
        })
        .collect()
}

/// The name of the test whose attributes these lines begin with, and whether only the deep tests run it.
fn test_below<'a>(lines: &[&'a str]) -> Option<(&'a str, bool)> {
    let (mut is_test, mut is_deep) = (false, false);
    for line in lines {
        if line.starts_with("#[") {
            is_test |= *line == "#[test]" || line.starts_with("#[tokio::test");
            is_deep |= line.starts_with("#[ignore");
        } else if !line.starts_with("//") {
            let function = line.trim_start_matches("async ").strip_prefix("fn ")?;
            return is_test.then_some((function.split('(').next()?, is_deep));
        }
    }
    None
}

/// Ids that do not count from 1, claims that no test shows, and tests that show what the page does not have.
fn faults(claims: &[String], shown: &[Shown]) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut last = BTreeMap::new();
    for id in claims {
        let (series, number) = id.split_at(1);
        let wanted: u32 = last.get(series).copied().unwrap_or(0) + 1;
        if number.parse() != Ok(wanted) {
            wrong.push(format!("{PAGE}: {id} stands where {series}{wanted} comes next"));
        }
        last.insert(series, wanted);
    }
    let known: BTreeSet<&String> = claims.iter().collect();
    let of_tests: BTreeSet<&String> = shown.iter().flat_map(|shown| &shown.ids).collect();
    let bare = known
        .iter()
        .filter(|id| needs_test(id) && !of_tests.contains(*id));
    wrong.extend(bare.map(|id| {
        format!("{PAGE}: no test shows {id}: the line above one is to be `{MARKER} {id}`, or the promise another one")
    }));
    for Shown { test, ids, .. } in shown {
        let unknown = ids.iter().filter(|id| !known.contains(id));
        wrong.extend(unknown.map(|id| format!("{test} shows {id}, which {PAGE} does not have")));
    }
    wrong
}

/// Rows of the proof's page, by claims, that are of none.
fn unknown_rows(proof: &str, of_page: &[String]) -> Vec<String> {
    let unknown = claims(proof).into_iter().filter(|id| !of_page.contains(id));
    unknown
        .map(|id| format!("{PROOF} has a row of {id}, which {PAGE} does not have"))
        .collect()
}

/// The page that lists the tests of each claim.
fn listed(claims: &[String], shown: &[Shown]) -> String {
    let mut page = format!(
        "# Which test shows which promise\n\n\
         The ids are those of [guarantees.md](guarantees.md); each test has them in the line above itself,\n\
         `{MARKER} P1`. `cargo xtask check` fails where promises, tests and this page differ. Tests *in italics* take\n\
         minutes: `cargo xtask test --deep` runs them too. Goals of the proof and planted bugs: [proof.md](proof.md).\n\n\
         | claim | tests |\n| --- | --- |\n"
    );
    for id in claims {
        let tests: Vec<String> = shown
            .iter()
            .filter(|shown| shown.ids.contains(id))
            .map(|shown| match shown.is_deep {
                true => format!("*`{}`*", shown.test),
                false => format!("`{}`", shown.test),
            })
            .collect();
        if !tests.is_empty() {
            page += &format!("| {id} | {} |\n", tests.join(", "));
        }
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(ids: &[&str]) -> Vec<String> {
        ids.iter().map(ToString::to_string).collect()
    }

    /// `MINT_TEST_UPDATE=1` writes the list.
    #[test]
    fn every_promise_has_tests_and_every_marker_a_claim() {
        if std::env::var_os("MINT_TEST_UPDATE").is_some() {
            let (shown, _) = all_shown().unwrap();
            let list = listed(&claims(&read(PAGE).unwrap()), &shown);
            fs::write(step::root().join(LIST), list).unwrap();
        }
        let (promises, tests) = check().unwrap_or_else(|wrong| panic!("{wrong}"));
        assert!(
            promises > 40 && tests > promises,
            "{promises} promises, {tests} tests"
        );
    }

    #[test]
    fn rows_alone_are_claims() {
        let page = "# P1\n\n| P1 | all | everywhere |\n| --- | --- |\n| P12 | x |\n| A1 | y |\n\
                    | G1 | z |\n| P01 | z |\nP3\n| P | z |\n";
        assert_eq!(claims(page), ids(&["P1", "P12", "A1"]));
    }

    #[test]
    fn a_marker_stands_above_a_test() {
        let found = |text: &str| {
            let mut found = shown_in(Path::new("a.rs"), text);
            assert!(found.len() <= 1, "{found:?}");
            found.pop()
        };
        let shown = |name: &str, is_deep, of: &[&str]| {
            Some(Ok(Shown {
                test: format!("a.rs::{name}"),
                is_deep,
                ids: ids(of),
            }))
        };
        assert_eq!(
            found("// claim: P1\n#[test]\nfn one() {}"),
            shown("one", false, &["P1"])
        );
        assert_eq!(
            found(
                "/// Why.\n    // claim: P1, N2\n    #[tokio::test]\n    #[ignore = \"minutes\"]\n    async fn two() {}"
            ),
            shown("two", true, &["P1", "N2"])
        );
        assert_eq!(found("// The claim: P1\n#[test]\nfn one() {}"), None);
        for above_nothing in [
            "// claim: P1\nfn one() {}",
            "// claim: P1\n\n#[test]\nfn one() {}",
            "// claim: P1\n#[inline]\nfn one() {}",
            "// claim: P1\n#[test]\nstruct One;",
            "// claim: P1",
        ] {
            let told = found(above_nothing).unwrap().unwrap_err();
            assert_eq!(
                told, "a.rs:1: a claim is shown by what is no test",
                "{above_nothing}"
            );
        }
        for no_id in ["P", "G1", "P1 P2", "", "P1,", "p1", "P0"] {
            let told = found(&format!("// claim: {no_id}\n#[test]\nfn one() {{}}")).unwrap();
            assert!(
                told.clone().unwrap_err().contains("is no id of a claim"),
                "{no_id}: {told:?}"
            );
        }
    }

    #[test]
    fn bare_claims_unknown_ones_and_ids_that_do_not_count_on_are_told() {
        let shown = |of: &[&str]| {
            vec![Shown {
                test: "a.rs::one".into(),
                is_deep: false,
                ids: ids(of),
            }]
        };
        let told = |of_page: &[&str], of_test: &[&str]| faults(&ids(of_page), &shown(of_test));
        assert_eq!(
            told(&["P1", "P2", "A1", "N1"], &["P1", "P2"]),
            Vec::<String>::new()
        );
        for (of_page, of_test, says) in [
            (&["P1", "P2"][..], &["P1"][..], "no test shows P2"),
            (&["P1"], &["P1", "P2"], "a.rs::one shows P2, which"),
            (&["P1"], &["P1", "N1"], "a.rs::one shows N1, which"),
            (&["P1", "P3"], &["P1", "P3"], "P3 stands where P2 comes next"),
            (&["P1", "P1"], &["P1"], "P1 stands where P2 comes next"),
            (&["P2", "P1"], &["P1", "P2"], "P2 stands where P1 comes next"),
            (&["P1", "A2"], &["P1"], "A2 stands where A1 comes next"),
        ] {
            let told = told(of_page, of_test);
            assert!(
                told.iter().any(|line| line.contains(says)),
                "{of_page:?}: {told:?}"
            );
        }
        let rows = "| claim | checks |\n| P1 | G1 |\n| P9 | G2 |\n";
        let told = unknown_rows(rows, &ids(&["P1"]));
        assert_eq!(
            told,
            ["docs/proof.md has a row of P9, which docs/guarantees.md does not have"]
        );
    }
}
