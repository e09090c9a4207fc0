//! Puts the SQL packs together, for `mint sql` to print.

#[path = "../../sql/generator/src/join.rs"]
mod join;

use std::path::Path;
use std::{env, fs};

fn main() {
    let sql = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sql");
    for source in ["postgres", "mariadb", "../docs/sql-functions.md"] {
        println!("cargo::rerun-if-changed={}", sql.join(source).display());
    }
    let packs = join::packs(&sql);
    let out = env::var_os("OUT_DIR").expect("cargo sets it for build scripts");
    for (name, text) in [
        ("postgres.sql", packs.postgres),
        ("mariadb.sql", packs.mariadb),
        ("mariadb_uninstall.sql", packs.mariadb_uninstall),
    ] {
        fs::write(Path::new(&out).join(name), text).expect("cargo made the folder for it");
    }
    println!("cargo::rustc-env=SQL_PACK_VERSION={}", packs.version);
}
