//! `cargo xtask check`: everything that can be said about the code without running it.

use crate::{circles, layering, mutants, rules, step};

pub(crate) fn run() -> Result<(), String> {
    step::run(&mut step::cargo("fmt --all --check"))?;
    step::run(&mut step::cargo("fmt --check --manifest-path bench/Cargo.toml"))?;
    eprintln!("+ dependencies point down only; unsafe stays in its fenced files");
    layering::dependencies()?;
    layering::unsafe_fences()?;
    eprintln!("+ every rule that the code cites stands in docs/protocol.md");
    rules::check()?;
    eprintln!("+ no circle of files");
    circles::check()?;
    eprintln!("+ every planted bug can be planted");
    mutants::check()?;
    step::run(&mut step::cargo(
        "clippy --workspace --all-targets -- -D warnings",
    ))?;
    step::run(&mut step::cargo(
        "clippy --manifest-path bench/Cargo.toml -- -D warnings",
    ))?;
    step::run(&mut step::cargo(
        "clippy --quiet -p mintage --no-default-features -- -D warnings",
    ))?;
    step::run(step::cargo("doc --workspace --no-deps --quiet").env("RUSTDOCFLAGS", "-D warnings"))?;
    if step::answers("cargo-deny", &["--version"]) {
        step::run(&mut step::cargo("deny --all-features check"))?;
    } else {
        eprintln!("skipped: cargo-deny (cargo install cargo-deny)");
    }
    eprintln!("check: passed");
    Ok(())
}
