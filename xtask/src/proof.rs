//! `cargo xtask proof`: builds what the proof needs and measures every goal.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::Command;

use crate::{mutants, provision, step};

/// Measures the goals; `args` are those of `mintage-proof report`.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    provision::debian(provision::TEST_TOOLS);
    let only = args.iter().skip_while(|arg| *arg != "--only").nth(1);
    let is_asked = |goal: &str| only.is_none_or(|goals| goals.split(',').any(|id| id == goal));
    let is_short = args.iter().any(|arg| arg == "--short");
    let mut report = report(args);
    if is_asked("G15") {
        let tree = mutants::plant()?;
        // In a folder of its own: cargo tells packages apart by their place in the workspace, and would take what was
        // built of this tree for the other's.
        let folder = step::target_dir().join("planted");
        let in_tree = |line: &str| {
            let mut command = step::cargo(line);
            command.current_dir(&tree).env("CARGO_TARGET_DIR", &folder);
            command
        };
        step::run(&mut in_tree(BUILD))?;
        report.env("MINT_PROOF_PLANTED", folder.join("sim/mintage-proof"));
        if !is_short {
            // The server's own bugs need a server, over a folder and over Redis; its build is not worth five minutes.
            step::run(&mut in_tree(
                "build -p mintage-cli --no-default-features --features redis,postgres",
            ))?;
            report.env("MINT_PROOF_PLANTED_MINT", folder.join("debug/mint"));
        }
    }
    if is_asked("G20")
        && !is_short
        && let Some(path) = provision::coverage()
    {
        report.env("PATH", path);
    }
    step::run(&mut step::cargo(BUILD))?;
    if std::env::var_os("MINT_BIN").is_none() {
        // What users run: times are compared.
        step::run(&mut step::cargo("build --release -p mintage-cli"))?;
        report.env("MINT_BIN", step::target_dir().join("release/mint"));
    }
    step::run(&mut report)
}

/// What `cargo xtask test` runs of it: the goals whose one check is the proof itself, as far as they take neither the
/// bugs nor a server, which are builds of their own. What cannot be run here is passed over unless
/// `MINT_TEST_REQUIRE` asks for it. Runs beside other tests: it takes the time that they leave, and what it prints is
/// for the caller to show.
pub(crate) fn short() -> Result<String, String> {
    step::output(&mut step::gently(step::cargo(BUILD).arg("--quiet")))?;
    let required = std::env::var("MINT_TEST_REQUIRE").unwrap_or_default();
    let is_required = |name: &str| required.split(',').any(|word| word.trim() == name);
    let passed_over: Vec<&str> = [("G4", "root"), ("G5", "strace")]
        .into_iter()
        .filter(|(_, needs)| !is_required(needs))
        .map(|(goal, _)| goal)
        .collect();
    let passed_over = passed_over.join(",");
    let only = "G1,G4,G5,G6,G7,G14,G16";
    step::output(&mut step::gently(&report(&[
        "--short",
        "--only",
        only,
        "--allow-missing",
        &passed_over,
    ])))
}

/// The proof's own tests and examples, in the profile in which the proof is measured. That every kind of fault happens
/// is left: the short proof says so of more seeds.
pub(crate) fn tests() -> Command {
    step::gently(&step::cargo("test --profile sim -p mintage-proof"))
}

const BUILD: &str = "build --profile sim -p mintage-proof";

fn sim() -> PathBuf {
    step::target_dir().join("sim")
}

fn report(args: &[impl AsRef<OsStr>]) -> Command {
    let mut report = Command::new(sim().join("mintage-proof"));
    report.arg("report").args(args);
    report
}
