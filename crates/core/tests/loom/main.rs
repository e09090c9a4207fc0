//! Every interleaving of threads on what ids and numbers are taken from, as one program: `cargo xtask loom`.
//!
//! The files under test are the product's own, built once more. `word` names what is at the root of its crate, so this
//! root has that too.
#![cfg(loom)]
#![allow(clippy::unwrap_used)]

use mintage::MintError;

#[path = "../../src/atomic.rs"]
mod atomic;
mod block;
mod kernels;
mod snowflake;
#[path = "../../src/word/mod.rs"]
#[allow(unused_imports)]
mod word;

/// A file that no `mod` names would not be compiled, and nobody would miss it.
#[test]
fn every_file_of_this_folder_is_a_module() {
    let here = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/loom");
    let own = include_str!("main.rs");
    for entry in std::fs::read_dir(here).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let module = name.strip_suffix(".rs").unwrap_or(&name);
        let is_named = own.lines().any(|line| line == format!("mod {module};"));
        assert!(
            is_named || module == "main",
            "crates/core/tests/loom/main.rs has no `mod {module};`"
        );
    }
}
