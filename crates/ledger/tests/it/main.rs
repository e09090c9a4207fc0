//! The ledger's tests through its public doors, as one program: one link, and tests of all files side by side.
//!
//! `cargo test -p mintage-ledger --test it sequences::` runs those of one file. Only what needs a process to itself is
//! another program: `name_memory` reads how large it is itself.
#![allow(clippy::unwrap_used)]
// The tests bring their own time and threads.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

mod away;
mod backup_age;
mod clean_stop;
mod clock;
mod cluster;
mod common;
mod disputed_clock;
mod journal;
mod lent_windows;
mod lossy;
mod machine_numbers;
mod machines;
mod moves;
mod names;
mod order;
mod origin;
mod outage;
mod pool_workers;
mod pools;
mod records;
mod rehearsal;
mod sequences;
mod set_back;
mod standby;
mod store_embedded;
mod store_memory;
mod store_tools;
mod striped;
mod tools_cut_off;
mod tools_times_states;
mod wrong_clock;

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
            "crates/ledger/tests/it/main.rs has no `mod {module};`"
        );
    }
}
