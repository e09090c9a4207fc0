//! Which tests a change can break: those of the crates that it touches and of all above them, the quick end-to-end
//! tests among them; of a change inside one face, the tests that name that face.

use std::collections::BTreeSet;
use std::process::Command;

use crate::{layering, step};

/// What a change can break.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Reach {
    /// Folders of packages all of whose tests are meant.
    packages: BTreeSet<String>,
    /// Words, one of which a test's path must hold: faces, and files of tests.
    words: BTreeSet<String>,
    /// Everything is meant.
    all: bool,
}

impl Reach {
    /// Whether the test of this path in the package of this folder is meant.
    pub(crate) fn takes(&self, package: &str, path: &str) -> bool {
        self.all
            || self.packages.contains(package)
            || self.words.iter().any(|word| path.contains(word.as_str()))
    }

    /// What these files of the workspace reach; `covers` says which files of tests name one.
    fn of<'a>(files: impl IntoIterator<Item = &'a str>, covers: &[(String, String)]) -> Reach {
        let mut reach = Reach::default();
        for file in files {
            reach.add(file, covers);
        }
        reach
    }

    fn add(&mut self, file: &str, covers: &[(String, String)]) {
        let parts: Vec<&str> = file.split('/').collect();
        let named: Vec<&String> = covers
            .iter()
            .filter(|(module, place)| !module.is_empty() && file.starts_with(place.as_str()))
            .map(|(module, _)| module)
            .collect();
        match parts[..] {
            ["crates", "server", "src", "faces", face, _, ..] | ["crates", "faces", "src", face, _, ..] => {
                self.words.insert(face.to_string());
                self.words.extend(named.into_iter().cloned());
            }
            ["crates", package, "tests", .., module]
            | ["e2e" | "proof" | "fuzz", package @ "tests", .., module] => {
                match module
                    .strip_suffix(".rs")
                    .filter(|module| *module != "main" && *module != "mod")
                {
                    Some(module) => _ = self.words.insert(format!("{module}::")),
                    None if package == "tests" => _ = self.packages.insert(parts[0].to_string()),
                    None => _ = self.packages.insert(format!("crates/{package}")),
                }
            }
            ["crates", package, ..] => self.add_with_those_above(&format!("crates/{package}")),
            [folder @ ("e2e" | "proof" | "fuzz" | "xtask"), ..] => {
                _ = self.packages.insert(folder.to_string())
            }
            ["docs", ..] | ["README.md"] => {
                self.words
                    .extend(["docs::", "sql_docs::", "page"].map(str::to_string));
            }
            ["sql", ..] => _ = self.words.insert("sql_".to_string()),
            ["vectors", ..] => self.add_with_those_above("crates/core"),
            ["Cargo.toml" | "Cargo.lock"] | [".cargo", ..] => self.all = true,
            _ => {}
        }
    }

    fn add_with_those_above(&mut self, package: &str) {
        self.packages.insert(package.to_string());
        self.packages.extend(layering::above(package));
    }
}

/// What has changed since a revision, in the working tree too.
pub(crate) fn since(revision: &str) -> Result<Reach, String> {
    let mut files = String::new();
    for args in [
        &["diff", "--name-only", revision][..],
        &["ls-files", "--others", "--exclude-standard"],
    ] {
        let mut git = Command::new("git");
        files += &step::output(git.args(args).current_dir(step::root()))?;
    }
    let reach = Reach::of(files.lines(), &covers()?);
    match reach == Reach::default() {
        true => Err(format!(
            "nothing that a test reaches has changed since {revision}"
        )),
        false => Ok(reach),
    }
}

/// Which files of end-to-end tests say, in a line `//! Covers: PLACE, PLACE`, that they test a place of the tree that
/// their name does not tell: the module and the place.
fn covers() -> Result<Vec<(String, String)>, String> {
    let folder = step::root().join("e2e/tests");
    let mut found = Vec::new();
    let mut wrong = Vec::new();
    layering::visit(&folder, &mut |path, text| {
        let module = path.file_stem().unwrap_or_default().to_string_lossy();
        let lines = text.lines().take_while(|line| line.starts_with("//!"));
        for places in lines.filter_map(|line| line.strip_prefix("//! Covers: ")) {
            for place in places.trim_end_matches('.').split(", ") {
                if !step::root().join(place).exists() {
                    wrong.push(format!(
                        "e2e/tests/{module}.rs covers {place}, which does not exist"
                    ));
                }
                found.push((format!("{module}::"), place.to_string()));
            }
        }
    })?;
    match wrong.is_empty() {
        true => Ok(found),
        false => Err(wrong.join("\n       ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reach(file: &str) -> Reach {
        let covers = [("sql_faces::".to_string(), "crates/faces/src/mysql".to_string())];
        Reach::of([file], &covers)
    }

    fn words(reach: &Reach) -> Vec<&str> {
        reach.words.iter().map(String::as_str).collect()
    }

    #[test]
    fn a_face_reaches_the_tests_that_name_it() {
        let mysql = reach("crates/faces/src/mysql/known.rs");
        assert_eq!(words(&mysql), ["mysql", "sql_faces::"]);
        assert!(mysql.packages.is_empty() && !mysql.all);
    }

    #[test]
    fn a_crate_reaches_all_above_it_and_a_test_itself() {
        let local = reach("crates/local/src/name.rs");
        for package in ["crates/local", "crates/ledger", "crates/cli", "e2e"] {
            assert!(local.packages.contains(package), "{package} of {local:?}");
        }
        assert!(!local.packages.contains("crates/core"));
        assert_eq!(words(&reach("crates/ledger/tests/it/order.rs")), ["order::"]);
        assert_eq!(words(&reach("e2e/tests/kill.rs")), ["kill::"]);
        assert!(
            reach("crates/server/tests/it/main.rs")
                .packages
                .contains("crates/server")
        );
        assert!(reach("Cargo.lock").all);
        assert_eq!(reach("LICENSE-MIT"), Reach::default());
    }

    #[test]
    fn what_tests_say_they_cover_exists() {
        covers().unwrap();
    }
}
