//! `cargo xtask test` and `cargo xtask e2e`.

use crate::{provision, step};

/// Installs what the tests need where it can, and runs them all.
pub(crate) fn all() -> Result<(), String> {
    provision::debian(provision::TEST_TOOLS);
    // The end-to-end tests last: they take longest and mean least while a unit test fails.
    step::run(&mut step::cargo("test --workspace --exclude mintage-e2e"))?;
    end_to_end(&[])?;
    eprintln!("test: passed");
    Ok(())
}

/// Runs the end-to-end tests, or those whose name contains the filter.
pub(crate) fn e2e(args: &[String]) -> Result<(), String> {
    provision::debian(provision::TEST_TOOLS);
    end_to_end(args)
}

/// Random inputs, as often as asked; `cargo xtask test` runs each target a million times.
pub(crate) fn fuzz(args: &[String]) -> Result<(), String> {
    let mut command = step::cargo("run --quiet -p mintage-fuzz --");
    step::run(command.args(args))
}

/// Walks every interleaving of threads on the atomics, under loom; in a target folder of its own, since the
/// flag is another build of everything.
pub(crate) fn loom() -> Result<(), String> {
    let mut command = step::cargo("test --release -p mintage --no-default-features --test loom --test loom_block");
    command
        .env("RUSTFLAGS", "--cfg loom")
        .env("CARGO_TARGET_DIR", step::root().join("target/loom"))
        .env("CARGO_PROFILE_RELEASE_LTO", "off");
    step::run(&mut command)
}

fn end_to_end(args: &[String]) -> Result<(), String> {
    let mut command = step::cargo("test -p mintage-e2e");
    if !args.is_empty() {
        command.arg("--tests").arg("--").args(args);
    }
    if let Some(python) = provision::python() {
        command.env("MINT_TEST_PYTHON", python);
    }
    step::run(&mut command)
}
