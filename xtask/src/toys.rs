//! Toys: what shows that one more of something is one file, or one folder, and a few rows.
//!
//! Each `xtask/toys/NAME.patch` adds one to a copy of the tree and tests it there. It is what `git diff` prints, and in
//! its first lines the promise:
//!
//! ```text
//! # test: mintage-wire a_toy_is_read    a package, and what the name of a test in it holds
//! # rows: 2                            at most so many lines are added outside the new file or folder
//! ```
//!
//! New files of test vectors may come with it.
//!
//! `cargo xtask check` sees that every patch keeps its promise and can still be applied to the tree as it is. The deep
//! tests build all of them in one tree; `cargo xtask toys NAME` one alone.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::parts::{self, Part};
use crate::step;
use crate::tree::{self, read};

/// A patch and its promise.
struct Toy {
    name: String,
    file: PathBuf,
    package: String,
    /// What the name of a test that must pass holds.
    test: String,
    rows: usize,
    diff: Diff,
}

/// What a patch does to the tree.
#[derive(Debug, Default)]
struct Diff {
    /// New files.
    made: Vec<PathBuf>,
    /// Lines added to those that there are.
    added: usize,
    /// Files that it removes or renames, which no toy does.
    gone: usize,
}

/// Checks that every toy keeps its promise and can be applied.
pub(crate) fn check() -> Result<(), String> {
    let mut wrong = Vec::new();
    for toy in toys()? {
        if let Err(why) = toy.keeps_its_promise() {
            wrong.push(format!("xtask/toys/{}.patch: {why}", toy.name));
        }
        if !applied(&toy.file, &step::root(), &["--check"]) {
            wrong.push(format!(
                "xtask/toys/{}.patch cannot be applied any more: apply what is left of it, mend it and take `git diff`",
                toy.name
            ));
        }
    }
    match wrong.is_empty() {
        true => Ok(()),
        false => Err(wrong.join("\n       ")),
    }
}

/// Builds and tests all toys together, or those named.
pub(crate) fn run(names: &[String]) -> Result<(), String> {
    let part = together(names);
    println!("\n{}", parts::table(std::slice::from_ref(&part), part.seconds()));
    match part.is_good() {
        true => Ok(()),
        false => Err("a toy is broken; the table says which".into()),
    }
}

/// All toys in one tree.
pub(crate) fn run_all() -> Part {
    together(&[])
}

/// Tests toys in a copy of the tree that has them all. What that depends on is built in the target folder already; of a
/// package with a program its other tests, which would put the toys' program in the place of ours, are not built.
fn together(names: &[String]) -> Part {
    let copy = step::target_dir().join("toys");
    let (mut wanted, mut command) = (Vec::new(), step::cargo("test --lib --bins"));
    let made = Part::of("toys", || {
        wanted = toys()?;
        wanted.retain(|toy| names.is_empty() || names.contains(&toy.name));
        if wanted.is_empty() {
            return Err("there is no toy of this name in xtask/toys".into());
        }
        tree::copy_with(&copy, &[of_another_version()?])?;
        for toy in &wanted {
            toy.keeps_its_promise()?;
            if !applied(&toy.file, &copy, &[]) {
                return Err(format!("xtask/toys/{}.patch cannot be applied", toy.name));
            }
        }
        Ok(())
    });
    if !made.is_good() {
        return made;
    }
    let packages: BTreeSet<&str> = wanted.iter().map(|toy| toy.package.as_str()).collect();
    for package in packages {
        command.args(["-p", package]);
    }
    command
        .arg("toy")
        .current_dir(&copy)
        .env("CARGO_TARGET_DIR", step::target_dir());
    let name = format!("toys ({}), each a file or folder and a few rows", wanted.len());
    let mut part = Part::tests(&name, vec![step::gently(&command)]);
    let passed = |toy: &&Toy| part.passed.iter().any(|test| test.contains(&toy.test));
    let untested = wanted.iter().filter(|toy| !passed(toy));
    let untested: Vec<String> = untested
        .map(|toy| format!("toy {}: no test {} passed", toy.name, toy.test))
        .collect();
    part.failed.extend(untested);
    part
}

/// The workspace's manifest with another version: cargo tells packages apart by name, version and their place in the
/// workspace, and would take what was built of the toys for ours.
fn of_another_version() -> Result<(PathBuf, String), String> {
    let file = step::root().join("Cargo.toml");
    let text = read(&file)?;
    let version = env!("CARGO_PKG_VERSION");
    let (is, becomes) = (
        format!("version = \"{version}\"\n"),
        format!("version = \"{version}+toys\"\n"),
    );
    match text.contains(&is) {
        true => Ok((file, text.replacen(&is, &becomes, 1))),
        false => Err(format!("{} has no line {is}", file.display())),
    }
}

impl Toy {
    fn read(file: &Path) -> Result<Toy, String> {
        let text = read(file)?;
        let head = |name: &str| {
            let line = text.lines().take_while(|line| line.starts_with('#'));
            let found = line
                .filter_map(|line| line.strip_prefix("# ")?.strip_prefix(name)?.strip_prefix(": "))
                .next();
            found
                .map(str::trim)
                .ok_or_else(|| format!("{}: its first lines have no `# {name}: …`", file.display()))
        };
        let (rows, test) = (head("rows")?, head("test")?);
        let (package, test) = test
            .split_once(' ')
            .ok_or_else(|| format!("{}: `# test: PACKAGE NAME`, not {test}", file.display()))?;
        Ok(Toy {
            name: file
                .file_stem()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned(),
            file: file.to_path_buf(),
            package: package.into(),
            test: test.into(),
            rows: rows
                .parse()
                .map_err(|_| format!("{}: {rows} is no number of rows", file.display()))?,
            diff: Diff::read(&text),
        })
    }

    fn keeps_its_promise(&self) -> Result<(), String> {
        let Diff { made, added, gone } = &self.diff;
        let root = step::root();
        // A folder counts as one thing if it is new. Test vectors go with what they test.
        let made = made.iter().filter(|file| !file.starts_with("vectors"));
        let things: BTreeSet<&Path> = made.map(|file| new_part(&root, file)).collect();
        if things.len() != 1 {
            return Err(format!("it adds {things:?}, not one file or folder"));
        }
        if *gone > 0 {
            return Err("it removes or renames files".into());
        }
        if *added > self.rows {
            return Err(format!(
                "it adds {added} lines elsewhere, more than {}",
                self.rows
            ));
        }
        Ok(())
    }
}

impl Diff {
    fn read(text: &str) -> Diff {
        let mut diff = Diff::default();
        let (mut is_new, mut in_hunk) = (false, false);
        for line in text.lines() {
            if line.starts_with("diff --git ") {
                (is_new, in_hunk) = (false, false);
            } else if line.starts_with("@@ ") {
                in_hunk = true;
            } else if in_hunk {
                diff.added += usize::from(!is_new && line.starts_with('+'));
            } else if line.starts_with("new file mode ") {
                is_new = true;
            } else if line.starts_with("deleted file mode ") || line.starts_with("rename from ") {
                diff.gone += 1;
            } else if let Some(path) = line.strip_prefix("+++ b/").filter(|_| is_new) {
                diff.made.push(path.into());
            }
        }
        diff
    }
}

/// The outermost part of a path that is not in the tree.
fn new_part<'a>(root: &Path, file: &'a Path) -> &'a Path {
    let parts: Vec<&Path> = file
        .ancestors()
        .filter(|part| !part.as_os_str().is_empty())
        .collect();
    let new = parts.into_iter().rev().find(|part| !root.join(part).exists());
    new.unwrap_or(file)
}

/// Applies a patch to a tree, or says whether it could be; what git says is passed on.
fn applied(patch: &Path, tree: &Path, options: &[&str]) -> bool {
    // A copy of the tree is no part of the repository that it lies in.
    let above = tree.parent().unwrap_or(tree);
    let mut command = Command::new("git");
    command
        .arg("apply")
        .args(options)
        .arg(patch)
        .current_dir(tree)
        .env("GIT_CEILING_DIRECTORIES", above);
    command.status().is_ok_and(|status| status.success())
}

fn toys() -> Result<Vec<Toy>, String> {
    let folder = step::root().join("xtask/toys");
    let cannot = |e: std::io::Error| format!("{}: {e}", folder.display());
    let mut toys = Vec::new();
    for entry in fs::read_dir(&folder).map_err(cannot)? {
        let path = entry.map_err(cannot)?.path();
        if path.extension().is_some_and(|ending| ending == "patch") {
            toys.push(Toy::read(&path)?);
        }
    }
    toys.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(toys)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn toy(rows: usize, text: &str) -> Toy {
        Toy {
            name: "toy".into(),
            file: "toy.patch".into(),
            package: "toy".into(),
            test: "toy".into(),
            rows,
            diff: Diff::read(text),
        }
    }

    const ROW: &str = "diff --git a/xtask/src/main.rs b/xtask/src/main.rs\n--- a/xtask/src/main.rs\n\
                       +++ b/xtask/src/main.rs\n@@ -1,2 +1,3 @@\n a\n-b\n+c\n+++ b/d\n";

    fn new(path: &str) -> String {
        format!(
            "diff --git a/{path} b/{path}\nnew file mode 100644\n--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+x\n"
        )
    }

    #[test]
    fn every_toy_keeps_its_promise_and_can_be_applied() {
        check().unwrap();
        assert!(!toys().unwrap().is_empty());
    }

    #[test]
    fn a_toy_is_one_new_file_or_folder_and_few_rows() {
        let one = new("xtask/src/toy.rs");
        let folder = new("xtask/toy/a.rs") + &new("xtask/toy/b/c.rs");
        for (rows, text, keeps) in [
            (2, format!("{one}{ROW}"), true),
            (2, format!("{ROW}{folder}"), true),
            (1, format!("{one}{ROW}"), false),
            (2, ROW.to_string(), false),
            (2, format!("{one}{}", new("xtask/src/other.rs")), false),
            (0, format!("{one}{}", new("vectors/toy.tsv")), true),
            (0, new("vectors/toy.tsv"), false),
            (
                2,
                format!("{one}diff --git a/x b/y\nrename from x\nrename to y\n"),
                false,
            ),
        ] {
            let kept = toy(rows, &text).keeps_its_promise();
            assert_eq!(kept.is_ok(), keeps, "{text}: {kept:?}");
        }
    }
}
