//! Running `mint` and other programs to their end.

use std::ffi::OsStr;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use mintage_testing::{invariant, no_panic_in};

use crate::binary;

/// What a finished command said.
#[derive(Debug)]
pub struct Said {
    /// Its exit code; -1 when a signal ended it.
    pub code: i32,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

impl Said {
    /// What a client said that is not ours: it may panic.
    pub(crate) fn of_client(out: Output) -> Said {
        Said {
            code: out.status.code().unwrap_or(-1),
            out: String::from_utf8_lossy(&out.stdout).into_owned(),
            err: String::from_utf8_lossy(&out.stderr).into_owned(),
        }
    }

    /// Its output, when it succeeded.
    ///
    /// # Panics
    /// When it did not.
    #[track_caller]
    pub fn ok(self) -> String {
        assert_eq!(self.code, 0, "{self:?}");
        self.out
    }

    /// Checks that the command failed as documented: this exit code, nothing on standard output, one `error:`
    /// line that holds `error`, then at most one `hint:` line. A `hint` that is not empty must stand there.
    ///
    /// # Panics
    /// When it did not.
    #[track_caller]
    pub fn fails(&self, code: i32, error: &str, hint: &str) {
        assert_eq!(self.code, code, "{self:?}");
        assert_eq!(self.out, "", "{self:?}");
        let lines: Vec<&str> = self.err.lines().filter(|l| !is_log(l)).collect();
        assert!(lines.len() <= 2 && !lines.is_empty(), "{self:?}");
        assert!(
            lines[0].starts_with("error: ") && lines[0].contains(error),
            "{self:?}"
        );
        match lines.get(1) {
            Some(line) => assert!(line.starts_with("hint: ") && line.contains(hint), "{self:?}"),
            None => assert!(hint.is_empty(), "{self:?}"),
        }
    }
}

/// Log lines begin with a time.
fn is_log(line: &str) -> bool {
    line.starts_with("20") || line.starts_with('{')
}

impl From<Output> for Said {
    #[track_caller]
    fn from(out: Output) -> Said {
        let said = Said::of_client(out);
        no_panic_in("a command", &said.err);
        invariant!(said.code != PANICKED, "a command panicked: {said:?}");
        said
    }
}

/// The exit code of a program of Rust whose main thread panicked.
const PANICKED: i32 = 101;

/// `mint` with these arguments, not started yet. It sees no settings of the user who runs the tests.
pub fn command<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>) -> Command {
    let mut command = Command::new(binary::mint());
    command.args(args).stdin(Stdio::null());
    isolate(&mut command);
    command
}

/// Removes every variable that `mint` reads from what a command will see; but a planted bug stays planted. Nor does
/// it reach a store that somebody has: what opens the default one needs [`at_home`], and fails without.
pub fn isolate(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("MINT_") && name != "MINT_PLANTED" {
            command.env_remove(name);
        }
    }
    command.env("NO_COLOR", "1").env("XDG_DATA_HOME", "/dev/null");
}

/// Lets a command live in a folder of the test's: what it remembers is below it, and the default store is
/// [`STORE`] there, whoever runs the tests.
pub fn at_home<'c>(command: &'c mut Command, folder: &Path) -> &'c mut Command {
    command
        .current_dir(folder)
        .env("HOME", folder)
        .env("XDG_DATA_HOME", folder)
        .env_remove("XDG_STATE_HOME")
        .env_remove("STATE_DIRECTORY")
}

/// The folder of the default store, in that of a command that is [`at_home`].
pub const STORE: &str = "mint";

/// Runs `mint` with these arguments in a folder.
///
/// # Panics
/// When it cannot be started.
pub fn mint<S: AsRef<OsStr>>(folder: &Path, args: impl IntoIterator<Item = S>) -> Said {
    in_folder(folder, args)
        .output()
        .expect("mint can be started")
        .into()
}

/// The same, waiting for a shared store as long as any answer takes on a busy machine.
///
/// # Panics
/// When it cannot be started.
pub fn patient_mint<S: AsRef<OsStr>>(folder: &Path, args: impl IntoIterator<Item = S>) -> Said {
    let mut command = in_folder(folder, args);
    command.envs([PATIENCE]);
    command.output().expect("mint can be started").into()
}

/// How long an answer of a shared store may take on a busy machine, as a variable and its value.
pub const PATIENCE: (&str, &str) = ("MINT_STORE__REQUEST_TIMEOUT", "20s");

fn in_folder<S: AsRef<OsStr>>(folder: &Path, args: impl IntoIterator<Item = S>) -> Command {
    let mut command = command(args);
    at_home(&mut command, folder);
    command
}

/// Runs a command, in words with blanks between, for the holder of a token.
///
/// # Panics
/// When it cannot be started.
pub fn mint_as(folder: &Path, token: &str, words: &str) -> Said {
    let mut command = command(words.split_whitespace());
    command.current_dir(folder).env("MINT_TOKEN", token);
    command.output().expect("mint can be started").into()
}

/// A new token in `tokens.toml`: `words` are its name and what it may.
///
/// # Panics
/// When there is none.
#[track_caller]
pub fn new_token(folder: &Path, words: &str) -> String {
    let words = format!("token new {words} --file tokens.toml");
    mint(folder, words.split(' ')).ok().trim().to_string()
}

/// Asks with curl, in words with blanks between.
///
/// # Panics
/// When it cannot be started.
pub fn curl(folder: &Path, words: &str) -> Said {
    curl_as(folder, "", words)
}

/// The same for the holder of a token; an empty one is not shown.
///
/// # Panics
/// When it cannot be started.
pub fn curl_as(folder: &Path, token: &str, words: &str) -> Said {
    let mut command = Command::new("curl");
    command.args(["-q", "-sS", "--max-time", "30"]);
    if !token.is_empty() {
        command.args(["-H", &format!("Authorization: Bearer {token}")]);
    }
    let command = command.args(words.split_whitespace()).current_dir(folder);
    command.output().expect("curl can be started").into()
}

/// Runs a command with this standard input.
///
/// # Panics
/// When it cannot be started.
pub fn with_input(mut command: Command, input: &[u8]) -> Said {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program can be started");
    let mut stdin = child.stdin.take().expect("was piped");
    let input = input.to_vec();
    let writer = std::thread::spawn(move || stdin.write_all(&input));
    let out = child.wait_with_output().expect("was started");
    // It may have ended without reading everything.
    let _ = writer.join();
    out.into()
}
