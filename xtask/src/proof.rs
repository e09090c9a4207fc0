//! `cargo xtask proof`: builds what the proof needs and measures every goal.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{provision, step};

/// Measures the goals; `args` are those of `mintage-proof report`.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    provision::debian(provision::TEST_TOOLS);
    let sim = step::target_dir().join("sim");
    // With the bugs planted first, and out of the way: the two builds share all else.
    step::run(&mut step::cargo(
        "build --profile sim -p mintage-proof --features planted",
    ))?;
    let planted = keep(&sim, "mintage-proof")?;
    step::run(&mut step::cargo("build --profile sim -p mintage-proof"))?;
    step::run(&mut step::cargo("build -p mintage-cli"))?;
    let mut report = Command::new(sim.join("mintage-proof"));
    report
        .arg("report")
        .args(args)
        .env("MINT_PROOF_PLANTED", planted)
        .env("MINT_BIN", step::target_dir().join("debug/mint"));
    if !args.iter().any(|arg| arg == "--short") {
        // The server's own bug needs a server; its build is not worth five minutes.
        let folder = step::target_dir().join("planted");
        let server = "build -p mintage-cli --no-default-features --features planted";
        step::run(step::cargo(server).env("CARGO_TARGET_DIR", &folder))?;
        report.env("MINT_PROOF_PLANTED_MINT", folder.join("debug/mint"));
    }
    step::run(&mut report)
}

/// Copies a program that was built, so that the next build does not replace it.
fn keep(folder: &Path, name: &str) -> Result<PathBuf, String> {
    let (built, kept) = (folder.join(name), folder.join(format!("{name}-planted")));
    std::fs::copy(&built, &kept).map_err(|e| format!("cannot copy {}: {e}", built.display()))?;
    Ok(kept)
}
