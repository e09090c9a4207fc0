//! `cargo xtask test` and `cargo xtask e2e`.

use std::io::{BufRead, BufReader};
use std::num::NonZero;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Instant;

use crate::parts::{self, Part};
use crate::programs::{self, Built, Program};
use crate::sizes::{self, Depth};
use crate::{proof, provision, room, sql_clients, step, toys};

/// Installs what the tests need where it can, and runs them: what takes minutes only with `--deep`.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    match args {
        [] => tests(Depth::Quick),
        [deep] if deep == "--deep" => tests(Depth::Deep),
        _ => Err(format!("no such option of test: {}", args.join(" "))),
    }
}

/// Every test but those that take minutes, and in smaller sizes; or all in full size, those on the `mint` that users
/// build, and the short proof.
fn tests(depth: Depth) -> Result<(), String> {
    let begun = Instant::now();
    let mut parts = vec![Part::of("programs that the tests use", || {
        provision::debian(provision::TEST_TOOLS);
        if depth == Depth::Deep {
            provision::debian(provision::DEEP_TOOLS);
            provision::debian(sql_clients::TOOLS);
        }
        Ok(())
    })];
    let mut built = Built::default();
    parts.push(Part::of("build", || {
        built = programs::build(programs::ALL)?;
        if depth == Depth::Deep {
            // The other one has the features of the tests' dependencies besides.
            step::run(&mut step::cargo("build -p mintage-cli"))?;
            built.mint = step::target_dir().join("debug/mint");
        }
        Ok(())
    }));
    parts.push(Part::of("room on the disk", || room::check(depth)));
    if parts.iter().all(Part::is_good) {
        parts.extend(run_all(built, depth));
    }
    let note = match depth {
        Depth::Quick => sizes::smaller(),
        Depth::Deep => String::new(),
    };
    // Last of all: what was printed meanwhile is far above.
    println!("\n{}{note}", parts::table(&parts, begun.elapsed().as_secs_f64()));
    match parts.iter().all(Part::is_good) {
        true => {
            eprintln!("test: passed");
            Ok(())
        }
        false => Err("tests failed; the table says which".to_string()),
    }
}

/// The end-to-end tests, which leave the processors idle much of the time, and beside them those that compute.
fn run_all(built: Built, depth: Depth) -> Vec<Part> {
    let (ours, others): (Vec<Program>, Vec<Program>) =
        built.programs.into_iter().partition(Program::is_end_to_end);
    let beside = thread::spawn(move || {
        let mut parts = packages(&others, depth);
        parts.push(examples());
        if depth == Depth::Deep {
            parts.push(Part::of("proof, short", || {
                println!("{}", proof::short()?.trim_end());
                Ok(())
            }));
            parts.push(Part::tests(
                "the command without server and store",
                vec![bare_command()],
            ));
            parts.extend(toys::run_all());
        }
        parts
    });
    let commands = ours.iter().map(|program| {
        let mut command = end_to_end(program, &built.mint);
        if depth == Depth::Deep {
            command.arg("--include-ignored");
            with_sql_clients(&mut command);
        }
        sizes::set(&mut command, depth);
        command
    });
    let end_to_end = Part::tests(
        "end to end: stores, faces, clients, command, pages",
        commands.collect(),
    );
    let mut parts = beside.join().expect("no panic");
    parts.push(end_to_end);
    parts
}

/// A part for each package.
fn packages(programs: &[Program], depth: Depth) -> Vec<Part> {
    let mut parts = Vec::new();
    for programs in programs.chunk_by(|one, next| one.package == next.package) {
        let commands = programs.iter().map(|program| {
            let mut command = step::gently(&program.command());
            sizes::set(&mut command, depth);
            command
        });
        let name = match programs[0].package.as_str() {
            "crates/core" => "crates/core: units, vectors, properties",
            "fuzz" => "fuzz: every reader",
            other => other,
        };
        parts.push(Part::tests(name, commands.collect()));
    }
    parts
}

/// The examples in the documentation.
fn examples() -> Part {
    let command = step::gently(&step::cargo("test --workspace --doc"));
    Part::tests("examples in the documentation", vec![command])
}

/// What the command says where it has neither server nor store; another build of it.
fn bare_command() -> Command {
    step::gently(&step::cargo(
        "test -p mintage-cli --no-default-features --bin mint without_server",
    ))
}

/// Runs the end-to-end tests in the sizes of the quick run; those whose path holds a word of `filters` in full size.
pub(crate) fn e2e(filters: &[String]) -> Result<(), String> {
    provision::debian(provision::TEST_TOOLS);
    if sql_clients::wanted_by(filters) {
        provision::debian(sql_clients::TOOLS);
    }
    let built = programs::build(programs::END_TO_END)?;
    for program in built.programs.iter().filter(|program| program.is_end_to_end()) {
        let mut command = end_to_end(program, &built.mint);
        match filters {
            [] => sizes::set(&mut command, Depth::Quick),
            filters => _ = command.arg("--include-ignored").args(filters),
        }
        if sql_clients::wanted_by(filters) {
            with_sql_clients(&mut command);
        }
        step::run(&mut command)?;
    }
    Ok(())
}

/// Runs the cluster tests in their long form and prints what every store and fault came to.
pub(crate) fn matrix(args: &[String]) -> Result<(), String> {
    let rounds = args.first().map_or("5", String::as_str);
    provision::debian(provision::TEST_TOOLS);
    let built = programs::build(programs::END_TO_END)?;
    let program = built.programs.iter().find(|program| program.is_end_to_end());
    let mut command = end_to_end(program.ok_or("cargo built no end-to-end tests")?, &built.mint);
    command
        .args([
            "--include-ignored",
            "--test-threads=1",
            "cluster::",
            "lossy::",
            "striped::",
        ])
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
    println!("| store | fault | ids checked | repeats | refused requests |\n| --- | --- | --- | --- | --- |");
    for row in &rows {
        println!("{row}");
    }
    match status.success() {
        true => Ok(()),
        false => Err("a row failed".to_string()),
    }
}

/// The end-to-end tests on this `mint`, unless `MINT_BIN` names another, with the clients they drive.
fn end_to_end(program: &Program, mint: &Path) -> Command {
    let mut command = program.command();
    if std::env::var_os("MINT_BIN").is_none() {
        command.env("MINT_BIN", mint);
    }
    // Most of the time they wait for servers, not for a processor.
    if std::env::var_os("RUST_TEST_THREADS").is_none() {
        let processors = thread::available_parallelism().map_or(2, NonZero::get);
        command.env("RUST_TEST_THREADS", (processors * AT_ONCE).to_string());
    }
    if let Some(python) = provision::python() {
        command.env("MINT_TEST_PYTHON", python);
    }
    if let Some(modules) = provision::node() {
        command.env("MINT_TEST_NODE", modules);
    }
    command
}

/// Gives the end-to-end tests the drivers of PostgreSQL and MySQL in Python.
fn with_sql_clients(command: &mut Command) {
    if let Some(python) = sql_clients::python() {
        command.env("MINT_TEST_SQL_PYTHON", python);
    }
}

/// End-to-end tests at once for each processor.
const AT_ONCE: usize = 3;

/// Random inputs, as often as asked; `cargo xtask test` runs each target a million times.
pub(crate) fn fuzz(args: &[String]) -> Result<(), String> {
    let mut command = step::cargo("run --quiet -p mintage-fuzz --");
    step::run(command.args(args))
}

/// Walks every interleaving of threads on the atomics, under loom; in a target folder of its own, since the
/// flag is another build of everything.
pub(crate) fn loom(args: &[String]) -> Result<(), String> {
    let mut command = step::cargo(
        "test --release -p mintage --no-default-features --test loom --test loom_block --test loom_word",
    );
    command
        .args(args)
        .env("RUSTFLAGS", "--cfg loom")
        .env("CARGO_TARGET_DIR", step::root().join("target/loom"))
        .env("CARGO_PROFILE_RELEASE_LTO", "off");
    step::run(&mut command)
}
