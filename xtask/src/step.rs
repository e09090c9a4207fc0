//! Running one command and saying which it was.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// The workspace's root folder.
pub(crate) fn root() -> PathBuf {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    here.parent().expect("xtask lies in the workspace").to_path_buf()
}

/// The folder cargo builds into.
pub(crate) fn target_dir() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(dir) => root().join(dir),
        None => root().join("target"),
    }
}

/// The cargo that runs us, in the workspace's root, with the words of `line` as arguments.
pub(crate) fn cargo(line: &str) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(line.split_whitespace()).current_dir(root());
    command
}

/// Prints the command, runs it, and fails with its name if it fails.
pub(crate) fn run(command: &mut Command) -> Result<(), String> {
    let shown = shown(command);
    eprintln!("+ {shown}");
    let status = command
        .status()
        .map_err(|e| format!("cannot start `{shown}`: {e}"))?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("`{shown}` failed: {status}"))
    }
}

/// The same command for the time that others leave of the processors, where the system can.
pub(crate) fn gently(command: &Command) -> Command {
    static NICE: OnceLock<bool> = OnceLock::new();
    let program = command.get_program();
    let mut gently = Command::new("nice");
    gently.args(["-n", "19"]).arg(program);
    if !NICE.get_or_init(|| answers("nice", &["true"])) {
        gently = Command::new(program);
    }
    gently.args(command.get_args());
    gently.envs(
        command
            .get_envs()
            .filter_map(|(name, value)| Some((name, value?))),
    );
    if let Some(folder) = command.get_current_dir() {
        gently.current_dir(folder);
    }
    gently
}

/// Runs a command and gives its standard output, which is told of as well if it fails.
pub(crate) fn output(command: &mut Command) -> Result<String, String> {
    let shown = shown(command);
    let out = command
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|e| format!("cannot start `{shown}`: {e}"))?;
    if !out.status.success() {
        let printed = String::from_utf8_lossy(&out.stdout);
        return Err(format!(
            "`{shown}` failed: {}, having printed\n{}",
            out.status,
            printed.trim_end()
        ));
    }
    String::from_utf8(out.stdout).map_err(|_| format!("`{shown}` did not print UTF-8"))
}

/// Whether a program can be found and answers `--version` (or whatever `probe` says).
pub(crate) fn answers(program: impl AsRef<OsStr>, probe: &[&str]) -> bool {
    Command::new(program)
        .args(probe)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

pub(crate) fn shown(command: &Command) -> String {
    let mut text = PathBuf::from(command.get_program())
        .file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default();
    for arg in command.get_args() {
        text.push(' ');
        text.push_str(&arg.to_string_lossy());
    }
    text
}
