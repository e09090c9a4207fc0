//! What cargo builds for the tests: every test program of the workspace and `mint`, in one go.
//!
//! One call for all packages gives every dependency one set of features, so that each is compiled once. The programs
//! are then run from here, side by side.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::step;

/// A program of tests.
#[derive(Debug)]
pub(crate) struct Program {
    /// The package's folder in the workspace: `crates/core`.
    pub(crate) package: String,
    /// `it`, of `tests/it`; of a library's own tests the library's name.
    pub(crate) name: String,
    file: PathBuf,
}

impl Program {
    /// Whether these are the end-to-end tests.
    pub(crate) fn is_end_to_end(&self) -> bool {
        (self.package.as_str(), self.name.as_str()) == ("e2e", "end_to_end")
    }

    /// The command that runs it, in the package's folder as `cargo test` does.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.file);
        command.current_dir(step::root().join(&self.package));
        command
    }
}

/// What was built.
#[derive(Debug, Default)]
pub(crate) struct Built {
    pub(crate) programs: Vec<Program>,
    /// The command, with the tests' set of features.
    pub(crate) mint: PathBuf,
}

/// Every test program, and `mint`, which cargo builds for the tests of its package.
pub(crate) const ALL: &str = "--lib --bins --tests";

/// The same without the proof, whose tests walk millions of states: the deep run builds them with what it measures,
/// optimised.
pub(crate) const WITHOUT_PROOF: &str = "--lib --bins --tests --exclude mintage-proof";

/// The end-to-end tests and `mint`.
pub(crate) const END_TO_END: &str = "--test end_to_end --test mint_starts";

/// Builds what is asked for of the whole workspace.
pub(crate) fn build(what: &str) -> Result<Built, String> {
    let mut command = step::cargo("test --workspace --no-run --message-format=json-render-diagnostics");
    command.args(what.split(' '));
    eprintln!("+ {}", step::shown(&command));
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|e| format!("cannot start cargo: {e}"))?;
    let messages = child.stdout.take().expect("was piped");
    let mut built = Built::default();
    for line in BufReader::new(messages).lines().map_while(Result::ok) {
        built.add(&line);
    }
    let status = child.wait().map_err(|e| format!("cargo: {e}"))?;
    if !status.success() {
        return Err("the tests do not build".to_string());
    }
    // Cargo tells of each when it is built.
    built
        .programs
        .sort_by(|one, other| (&one.package, &one.name).cmp(&(&other.package, &other.name)));
    Ok(built)
}

impl Built {
    /// Takes up what one of cargo's messages tells of.
    fn add(&mut self, line: &str) {
        let Ok(message) = serde_json::from_str::<serde_json::Value>(line) else {
            return;
        };
        let text = |value: &serde_json::Value| value.as_str().map(str::to_string);
        let (Some(file), Some(name)) = (text(&message["executable"]), text(&message["target"]["name"]))
        else {
            return;
        };
        let file = PathBuf::from(file);
        if message["profile"]["test"] == true {
            let manifest = text(&message["manifest_path"]).unwrap_or_default();
            let package = Path::new(&manifest).parent().unwrap_or(Path::new(""));
            let package = package.strip_prefix(step::root()).unwrap_or(package);
            self.programs.push(Program {
                package: package.display().to_string(),
                name,
                file,
            });
        } else if name == "mint" {
            self.mint = file;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Built;
    use crate::step;

    #[test]
    fn test_programs_and_mint_are_found_among_the_messages() {
        let manifest = step::root().join("crates/core/Cargo.toml");
        let message = |name: &str, is_test: bool, executable: &str| {
            format!(
                r#"{{"reason":"compiler-artifact","manifest_path":"{}","target":{{"name":"{name}"}},
                "profile":{{"test":{is_test}}},"executable":{executable}}}"#,
                manifest.display()
            )
        };
        let mut built = Built::default();
        built.add(&message("formats", true, r#""/t/formats-1""#));
        built.add(&message("mint", false, r#""/t/mint""#));
        built.add(&message("serde", false, "null"));
        built.add("not a message");
        let [formats] = &built.programs[..] else {
            panic!("{built:?}");
        };
        assert_eq!(
            (formats.package.as_str(), formats.name.as_str()),
            ("crates/core", "formats")
        );
        assert_eq!(built.mint.to_str(), Some("/t/mint"));
    }
}
