//! `cargo xtask proof`: builds what the proof needs and measures every goal.

use std::path::PathBuf;
use std::process::Command;

use crate::{provision, step};

/// Measures the goals; `args` are those of `mintage-proof report`.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    provision::debian(provision::TEST_TOOLS);
    step::run(&mut step::cargo("build -p mintage-proof"))?;
    step::run(&mut step::cargo("build -p mintage-cli"))?;
    let planted = step::target_dir().join("planted");
    let features = "build -p mintage-proof --features planted";
    step::run(step::cargo(features).env("CARGO_TARGET_DIR", &planted))?;
    if !args.iter().any(|arg| arg == "--short") {
        // The server's own bug needs a server; its build is not worth five minutes.
        let server = "build -p mintage-cli --no-default-features --features planted";
        step::run(step::cargo(server).env("CARGO_TARGET_DIR", &planted))?;
    }
    let mut report = Command::new(built(&step::target_dir(), "mintage-proof"));
    report
        .arg("report")
        .args(args)
        .env("MINT_BIN", built(&step::target_dir(), "mint"))
        .env("MINT_PROOF_PLANTED", built(&planted, "mintage-proof"));
    let mint = built(&planted, "mint");
    if mint.is_file() {
        report.env("MINT_PROOF_PLANTED_MINT", mint);
    }
    step::run(&mut report)
}

fn built(target: &std::path::Path, name: &str) -> PathBuf {
    target.join("debug").join(name)
}
