//! Finds the `mint` binary: `MINT_BIN`, or what cargo builds.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The binary under test, built once per test process where `MINT_BIN` does not name one.
///
/// # Panics
/// When it cannot be built.
pub fn mint() -> &'static Path {
    static FOUND: OnceLock<PathBuf> = OnceLock::new();
    FOUND.get_or_init(|| match std::env::var_os("MINT_BIN") {
        Some(path) => std::path::absolute(path).expect("MINT_BIN names a file"),
        None => build(),
    })
}

/// The workspace's root folder.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the package lies in the workspace")
}

/// Copies a program that will be started.
///
/// In a process of its own: were the copy open for writing in this one, a program that another test starts at that
/// moment would hold it open too, and the copy could not be started ("text file busy").
///
/// # Panics
/// When it cannot be copied.
#[track_caller]
pub fn copy(program: &Path, to: &Path) {
    let copied = Command::new("cp").arg(program).arg(to).status();
    assert!(
        copied.is_ok_and(|status| status.success()),
        "cannot copy {}",
        program.display()
    );
}

fn build() -> PathBuf {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let out = Command::new(cargo)
        .args(["build", "--quiet", "-p", "mintage-cli", "--bin", "mint"])
        .arg("--message-format=json-render-diagnostics")
        .current_dir(root())
        .output()
        .expect("cargo runs the tests, so it can be started");
    assert!(
        out.status.success(),
        "cargo build: {}",
        String::from_utf8_lossy(&out.stderr)
    );
    let built = String::from_utf8_lossy(&out.stdout).lines().find_map(|line| {
        let message: serde_json::Value = serde_json::from_str(line).ok()?;
        let is_mint = message["target"]["name"] == "mint";
        message["executable"]
            .as_str()
            .filter(|_| is_mint)
            .map(PathBuf::from)
    });
    built.expect("cargo names the binary it built")
}
