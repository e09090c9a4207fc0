//! The command starts. Cargo builds it for this test with the features that the workspace's tests have, and
//! `cargo xtask test` takes it from there for all others: those are in `e2e/`.

use std::process::Command;

#[test]
fn mint_says_its_version() {
    let out = Command::new(env!("CARGO_BIN_EXE_mint"))
        .arg("--version")
        .output()
        .expect("cargo has built it");
    let said = String::from_utf8_lossy(&out.stdout);
    assert_eq!(
        said.trim(),
        concat!("mint ", env!("CARGO_PKG_VERSION")),
        "{out:?}"
    );
}
