//! `cargo xtask test` and `cargo xtask e2e`.

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::thread;

use crate::{proof, provision, step};

/// Installs what the tests need where it can, and runs them all.
pub(crate) fn all() -> Result<(), String> {
    provision::debian(provision::TEST_TOOLS);
    // The end-to-end tests last: they take longest and mean least while a unit test fails.
    step::run(&mut step::cargo("test --workspace --exclude mintage-e2e"))?;
    // They leave the processors idle for a third of the time, which the proof takes.
    let proof = thread::spawn(proof::short);
    let end_to_end = end_to_end(&[]);
    let proof = proof.join().expect("no panic");
    // Last, and both: what was printed meanwhile is far above.
    match (end_to_end, proof) {
        (Ok(()), Ok(lines)) => println!("{}", lines.trim_end()),
        (Err(one), Err(other)) => return Err(format!("{one}; {other}")),
        (Err(why), Ok(_)) | (Ok(()), Err(why)) => return Err(why),
    }
    eprintln!("test: passed");
    Ok(())
}

/// Runs the end-to-end tests, or those whose name contains the filter.
pub(crate) fn e2e(args: &[String]) -> Result<(), String> {
    provision::debian(provision::TEST_TOOLS);
    end_to_end(args)
}

/// Runs the cluster tests in their long form and prints what every store and fault came to.
pub(crate) fn matrix(args: &[String]) -> Result<(), String> {
    let rounds = args.first().map_or("5", String::as_str);
    provision::debian(provision::TEST_TOOLS);
    let mut command = step::cargo(
        "test -p mintage-e2e --no-fail-fast --test cluster --test lossy --test striped -- --test-threads=1",
    );
    command.env("MINT_TEST_MATRIX", rounds).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|e| format!("cargo: {e}"))?;
    let mut rows = Vec::new();
    if let Some(errors) = child.stderr.take() {
        for line in BufReader::new(errors).lines().map_while(Result::ok) {
            match line.strip_prefix("matrix: ") {
                Some(row) => rows.push(format!("| {row} |")),
                None => eprintln!("{line}"),
            }
        }
    }
    let status = child.wait().map_err(|e| format!("cargo: {e}"))?;
    rows.sort();
    println!("| store | fault | ids checked | repeats | refused requests |\n| --- | --- | --- | --- | --- |");
    for row in &rows {
        println!("{row}");
    }
    match status.success() {
        true => Ok(()),
        false => Err("a row failed".to_string()),
    }
}

/// Random inputs, as often as asked; `cargo xtask test` runs each target a million times.
pub(crate) fn fuzz(args: &[String]) -> Result<(), String> {
    let mut command = step::cargo("run --quiet -p mintage-fuzz --");
    step::run(command.args(args))
}

/// Walks every interleaving of threads on the atomics, under loom; in a target folder of its own, since the
/// flag is another build of everything.
pub(crate) fn loom(args: &[String]) -> Result<(), String> {
    let mut command =
        step::cargo("test --release -p mintage --no-default-features --test loom --test loom_block");
    command
        .args(args)
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
    if let Some(modules) = provision::node() {
        command.env("MINT_TEST_NODE", modules);
    }
    step::run(&mut command)
}
