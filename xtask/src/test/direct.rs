//! Test programs that are run as they are, for what they print: the matrix of stores and faults, loom, the fuzzer.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use super::environment;
use crate::programs::{self, Built};
use crate::{provision, step};

/// Runs the cluster tests in their long form and prints what every store and fault came to.
pub(crate) fn matrix(args: &[String]) -> Result<(), String> {
    let rounds = args.first().map_or("5", String::as_str);
    provision::debian(provision::TEST_TOOLS);
    let Built { programs, mint } = programs::build(programs::END_TO_END)?;
    let program = programs.iter().find(|program| program.is_end_to_end());
    let mut command = program.ok_or("cargo built no end-to-end tests")?.command();
    command
        .args([
            "--include-ignored",
            "--test-threads=1",
            "answers::",
            "cluster::",
            "disks::",
            "failover::",
            "galera::",
            "lossy::",
            "one_way::",
            "pooled::",
            "rewind::",
            "set_back::",
            "soak::",
            "standby_away::",
            "striped::",
        ])
        .envs(environment(&mint, false, false))
        .env("MINT_TEST_MATRIX", rounds)
        .stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|e| format!("the tests: {e}"))?;
    let mut rows = Vec::new();
    if let Some(errors) = child.stderr.take() {
        for line in BufReader::new(errors).lines().map_while(Result::ok) {
            match line.strip_prefix("matrix: ") {
                Some(row) => rows.push(format!("| {row} |")),
                None => eprintln!("{line}"),
            }
        }
    }
    let status = child.wait().map_err(|e| format!("the tests: {e}"))?;
    rows.sort();
    println!(
        "| store | event | what the servers do | ids checked | repeats | refused requests |\n\
         | --- | --- | --- | --- | --- | --- |"
    );
    for row in &rows {
        println!("{row}");
    }
    for row in not_played(&rows)? {
        eprintln!("not played: {row}");
    }
    match status.success() {
        true => Ok(()),
        false => Err("a row failed".to_string()),
    }
}

/// The rows of docs/faults.md, which is the table of all events, that no test has printed: a program was absent, or a test
/// failed. The last three cells are figures of a run.
fn not_played(rows: &[String]) -> Result<Vec<String>, String> {
    let page = std::fs::read_to_string(step::root().join("docs/faults.md"))
        .map_err(|e| format!("faults.md: {e}"))?;
    let event = |row: &str| row.split(" | ").take(3).collect::<Vec<_>>().join(" | ");
    let played: Vec<String> = rows.iter().map(|row| event(row)).collect();
    let wanted = page
        .lines()
        .filter(|line| line.starts_with("| "))
        .skip(2)
        .map(event);
    Ok(wanted.filter(|row| !played.contains(row)).collect())
}

/// Random inputs, as often as asked; `cargo xtask test --deep` runs each target a million times.
pub(crate) fn fuzz(args: &[String]) -> Result<(), String> {
    let mut command = step::cargo("run --quiet -p mintage-fuzz --");
    step::run(command.args(args))
}

/// Walks every interleaving of threads on the atomics, under loom; in a target folder of its own, since the
/// flag is another build of everything.
pub(crate) fn loom(args: &[String]) -> Result<(), String> {
    let mut command = step::cargo("test --release -p mintage --no-default-features --test loom");
    command
        .args(args)
        .env("RUSTFLAGS", "--cfg loom")
        .env("CARGO_TARGET_DIR", step::root().join("target/loom"));
    step::run(&mut command)
}
