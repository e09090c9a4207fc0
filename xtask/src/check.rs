//! `cargo xtask check`: everything that can be said about the code without running it.

use std::path::Path;
use std::process::Command;

use crate::{circles, claims, layering, mutants, pages, production, rules, shape, step, toys};

pub(crate) fn run() -> Result<(), String> {
    step::run(&mut step::cargo("fmt --all --check"))?;
    step::run(&mut step::cargo("fmt --check --manifest-path bench/Cargo.toml"))?;
    eprintln!("+ dependencies point down only; unsafe stays in its fenced files");
    layering::dependencies()?;
    layering::faces_stand_apart()?;
    layering::unsafe_fences()?;
    eprintln!("+ the command without server and store is built without them");
    layering::bare_command()?;
    eprintln!("+ every rule that the code cites stands in docs/protocol.md");
    rules::check()?;
    eprintln!("+ no page of docs/ is too long, and every link leads somewhere");
    pages::check()?;
    eprintln!("+ every file for production makes neither a store nor a sequence by itself");
    production::check()?;
    let (promises, tests) = claims::check()?;
    eprintln!("+ every promise is shown by tests: {promises} claims, {tests} tests");
    eprintln!("+ no circle of files");
    circles::check()?;
    eprintln!("+ no function, line or list of public items has grown (xtask/shape.tsv)");
    shape::check()?;
    eprintln!("+ every planted bug can be planted");
    mutants::check()?;
    eprintln!("+ every toy can be added");
    toys::check()?;
    step::run(&mut step::cargo(
        "clippy --workspace --all-targets -- -D warnings",
    ))?;
    step::run(&mut step::cargo(
        "clippy --manifest-path bench/Cargo.toml -- -D warnings",
    ))?;
    miri()?;
    step::run(step::cargo("doc --workspace --no-deps --quiet").env("RUSTDOCFLAGS", "-D warnings"))?;
    if step::answers("cargo-deny", &["--version"]) {
        step::run(&mut step::cargo("deny --all-features check"))?;
    } else {
        eprintln!("skipped: cargo-deny (cargo install cargo-deny)");
    }
    eprintln!("check: passed");
    Ok(())
}

/// Lints what is built of the crates with other features and for other targets: minutes, so it is for the deep tests.
pub(crate) fn each_form() -> Result<(), String> {
    library_in_every_form()?;
    each_feature_alone()
}

/// Features of the other crates, each of which must do alone.
const ALONE: [(&str, &[&str]); 7] = [
    ("mintage-cli", &["", "tls", "server"]),
    ("mintage-store", &["", "testing"]),
    (
        "mintage-drivers",
        &["", "testing", "postgres", "mysql", "redis", "etcd", "zookeeper"],
    ),
    (
        "mintage-elsewhere",
        &["", "testing", "postgres", "mysql", "redis", "zookeeper"],
    ),
    (
        "mintage-ledger",
        &["", "testing", "postgres", "mysql", "redis", "etcd", "zookeeper"],
    ),
    ("mintage-server", &["", "testing"]),
    ("mintage-faces", &["", "testing"]),
];

fn each_feature_alone() -> Result<(), String> {
    for (package, features) in ALONE {
        for feature in features {
            let mut command = step::cargo("clippy --quiet --no-default-features");
            command.args(["-p", package, "--features", feature, "--", "-D", "warnings"]);
            step::run(&mut command)?;
        }
    }
    Ok(())
}

/// Runs the tests of core's files with `unsafe` under Miri, where the toolchain has it: stable ones do not.
fn miri() -> Result<(), String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    if !step::answers(cargo, &["miri", "--version"]) {
        eprintln!("skipped: miri (a nightly toolchain has it: rustup component add miri)");
        return Ok(());
    }
    let mut command = step::cargo("miri test -p mintage --lib --");
    command
        .args(layering::unsafe_modules("crates/core/src/"))
        // Clocks and the system's randomness are what some of them read.
        .env("MIRIFLAGS", "-Zmiri-disable-isolation");
    step::run(&mut command)
}

/// The library's features, each of which must do alone.
const FEATURES: [&str; 5] = ["", "std", "names", "cuid2", "serde"];

/// Where the library is built besides: 32 bits, other systems, and none at all. It needs atomics of 64 bits.
const TARGETS: [(&str, &str); 5] = [
    ("x86_64-unknown-none", "names,cuid2,serde"),
    ("i686-unknown-linux-gnu", "std,names,cuid2,serde"),
    ("aarch64-unknown-linux-gnu", "std,names,cuid2,serde"),
    ("aarch64-apple-darwin", "std,names,cuid2,serde"),
    ("x86_64-pc-windows-msvc", "std,names,cuid2,serde"),
];

fn library_in_every_form() -> Result<(), String> {
    let library = |features: &str| {
        let mut command = step::cargo("clippy --quiet -p mintage --no-default-features");
        command.args(["--features", features]);
        command
    };
    for features in FEATURES {
        step::run(library(features).args(["--", "-D", "warnings"]))?;
    }
    for (target, features) in TARGETS {
        if is_installed(target) {
            step::run(library(features).args(["--target", target, "--", "-D", "warnings"]))?;
        } else {
            eprintln!("skipped: {target} (rustup target add {target})");
        }
    }
    Ok(())
}

/// Whether the toolchain has the standard library, or what there is of it, for this target.
fn is_installed(target: &str) -> bool {
    let mut folder = Command::new("rustc");
    folder.args(["--print", "target-libdir", "--target", target]);
    let output = folder.current_dir(step::root()).output();
    output.is_ok_and(|output| Path::new(String::from_utf8_lossy(&output.stdout).trim()).is_dir())
}
