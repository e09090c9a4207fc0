//! What a test needs from the machine: present, or skipped in words, or, when `MINT_TEST_REQUIRE` names it, a
//! failure.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Whether redis-server and redis-cli are there.
pub fn redis() -> bool {
    needed(
        "redis",
        starts("redis-server", "--version") && starts("redis-cli", "--version"),
    )
}

/// Whether curl is there.
pub fn curl() -> bool {
    needed("curl", starts("curl", "--version"))
}

/// Whether strace is there and may trace.
pub fn strace() -> bool {
    let traces = Command::new("strace")
        .args(["-o", "/dev/null", "true"])
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    needed("strace", traces)
}

/// Whether we are root, and so may mount, and may run a program as somebody else.
pub fn root() -> bool {
    let id = Command::new("id").arg("-u").output();
    let root = id.is_ok_and(|out| out.stdout == b"0\n") && starts("setpriv", "--version");
    needed("root", root)
}

/// A Python that has redis-py with hiredis; `cargo xtask test` makes one and names it in `MINT_TEST_PYTHON`.
pub fn redis_py() -> Option<PathBuf> {
    let named = std::env::var_os("MINT_TEST_PYTHON").map(PathBuf::from);
    let python = named.unwrap_or_else(|| Path::new("python3").to_path_buf());
    let imports = Command::new(&python)
        .args(["-c", "import redis, hiredis"])
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    needed("redis-py", imports).then_some(python)
}

/// Prints a line that the test runner does not swallow.
pub fn say(text: &str) {
    // The print macros are captured; a lost line of this kind is no reason to fail.
    let _ = writeln!(std::io::stderr(), "{text}");
}

fn starts(program: &str, probe: &str) -> bool {
    Command::new(program)
        .arg(probe)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Whether it is `there`; else says so, or fails where `MINT_TEST_REQUIRE` names it.
///
/// # Panics
/// When it is absent and required.
pub fn needed(name: &str, there: bool) -> bool {
    if !there {
        let required = std::env::var("MINT_TEST_REQUIRE").unwrap_or_default();
        assert!(
            !required.split(',').any(|r| r.trim() == name),
            "{name} is absent and MINT_TEST_REQUIRE={required} demands it"
        );
        say(&format!("skipped: {name}"));
    }
    there
}
