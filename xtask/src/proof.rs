//! `cargo xtask proof`: builds what the proof needs and measures every goal.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
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
        // With the bugs planted first, and out of the way: the two builds share all else.
        step::run(
            step::cargo(BUILD)
                .current_dir(&tree)
                .env("CARGO_TARGET_DIR", step::target_dir()),
        )?;
        report.env("MINT_PROOF_PLANTED", keep(&sim(), "mintage-proof")?);
        if !is_short {
            // The server's own bugs need a server, over a folder and over Redis; its build is not worth five minutes.
            let folder = step::target_dir().join("planted");
            let server = "build -p mintage-cli --no-default-features --features redis";
            step::run(
                step::cargo(server)
                    .current_dir(&tree)
                    .env("CARGO_TARGET_DIR", &folder),
            )?;
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
    step::run(&mut step::cargo("build -p mintage-cli"))?;
    report.env("MINT_BIN", step::target_dir().join("debug/mint"));
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

const BUILD: &str = "build --profile sim -p mintage-proof";

fn sim() -> PathBuf {
    step::target_dir().join("sim")
}

fn report(args: &[impl AsRef<OsStr>]) -> Command {
    let mut report = Command::new(sim().join("mintage-proof"));
    report.arg("report").args(args);
    report
}

/// Copies a program that was built, so that the next build does not replace it.
fn keep(folder: &Path, name: &str) -> Result<PathBuf, String> {
    let (built, kept) = (folder.join(name), folder.join(format!("{name}-planted")));
    std::fs::copy(&built, &kept).map_err(|e| format!("cannot copy {}: {e}", built.display()))?;
    Ok(kept)
}
