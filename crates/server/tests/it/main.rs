//! The server's tests through its public doors, as one program: one link, and tests of all files side by side.
//!
//! `cargo test -p mintage-server --test it http::` runs those of one file.
#![allow(clippy::unwrap_used)]

mod common;
mod console;
mod currval;
mod explain;
mod faults;
mod http;
mod live;
mod nouns;
mod origin;
mod pools;
mod resp;
mod series;

/// The configuration that the tests begin with.
fn config() -> mintage_server::config::Config {
    mintage_server::config::Config::default()
}

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
            "crates/server/tests/it/main.rs has no `mod {module};`"
        );
    }
}
