//! The tests of the faces that others made, through their public doors, as one program.
//!
//! `cargo test -p mintage-faces --test it face_postgres::` runs those of one file.
#![allow(clippy::unwrap_used)]

mod by_use;
mod certificates;
#[path = "../../../server/tests/it/common/mod.rs"]
mod common;
mod disputed_clock;
mod every_face;
mod face_cosid;
mod face_gosnowflake;
mod face_idgo;
mod face_leaf;
mod face_mysql;
mod face_mysql_libraries;
mod face_postgres;
mod face_postgrest;
mod face_prest;
mod face_sonyflake;
mod face_tinyid;
mod histories;
mod kept;
mod mysql_client;
mod originals;
mod rights;
mod settings;
mod stops;

/// The configuration that the tests begin with.
fn config() -> mintage_server::config::Config {
    mintage_faces::config()
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
            "crates/faces/tests/it/main.rs has no `mod {module};`"
        );
    }
}
