//! The library's tests through its public doors, as one program: one link, and tests of all files side by side.
//!
//! `cargo test -p mintage --test it formats::` runs those of one file. Only what needs a process to itself is another
//! program: `fork`, and `soak`, which is also run alone and for long.
#![allow(clippy::unwrap_used)] // a failed call is a failed test

mod common;
mod corpus;
mod formats;
mod generators;
mod host;
mod messages;
mod numbers;
mod readings;
mod refusals;
mod snowflakes;
mod vectors;
mod version1;

/// A file that no `mod` names would not be compiled, and nobody would miss it.
#[test]
fn every_file_of_this_folder_is_a_module() {
    let here = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it");
    let own = include_str!("main.rs");
    for entry in std::fs::read_dir(here).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let module = name.strip_suffix(".rs").unwrap_or(&name);
        let is_named = own.lines().any(|line| line == format!("mod {module};"));
        assert!(
            is_named || module == "main",
            "crates/core/tests/it/main.rs has no `mod {module};`"
        );
    }
}
