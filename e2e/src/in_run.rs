//! What the tests of one run share, though each is a process of its own: the folder that `MINT_TEST_RUN` names.
//!
//! `cargo xtask test` makes it and removes it at the end. Without it, as under plain `cargo test`, every test has all for
//! itself.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The folder of the run, if there is one.
pub fn folder() -> Option<&'static Path> {
    static FOLDER: OnceLock<Option<PathBuf>> = OnceLock::new();
    let named = || std::env::var_os("MINT_TEST_RUN").map(PathBuf::from);
    FOLDER.get_or_init(named).as_deref()
}

/// The answer to a question that takes a program to find out: asked once in a run, and kept under its name.
///
/// # Panics
/// When the run's folder cannot be written.
pub fn answer(name: &str, ask: impl FnOnce() -> String) -> String {
    let Some(folder) = folder() else {
        return ask();
    };
    let file = |what: &str| folder.join(format!("{what} {}", name.replace('/', "|")));
    let kept = file("answer to");
    if let Ok(known) = fs::read_to_string(&kept) {
        return known;
    }
    let _only_one_asks = lock(&file("lock of"));
    if let Ok(known) = fs::read_to_string(&kept) {
        return known;
    }
    let answer = ask();
    // Nobody reads it half written.
    let fresh = file("answer half written to");
    fs::write(&fresh, &answer).expect("the run's folder is ours");
    fs::rename(fresh, kept).expect("the run's folder is ours");
    answer
}

/// The same of a question that yes or no answers.
pub fn is_so(name: &str, ask: impl FnOnce() -> bool) -> bool {
    answer(name, || ask().to_string()) == "true"
}

/// Takes the lock of a file, and waits for it. It is free again when the file is closed, or this process is gone.
///
/// # Panics
/// When the file cannot be made.
pub fn lock(file: &Path) -> File {
    let lock = open(file);
    lock.lock()
        .expect("temporary folders are on file systems with locks");
    lock
}

/// The same without waiting: `None` while another one has it.
///
/// # Panics
/// When the file cannot be made.
pub fn try_lock(file: &Path) -> Option<File> {
    let lock = open(file);
    match lock.try_lock() {
        Ok(()) => Some(lock),
        Err(TryLockError::WouldBlock) => None,
        Err(TryLockError::Error(why)) => panic!("{}: {why}", file.display()),
    }
}

fn open(file: &Path) -> File {
    let opened = File::options().create(true).append(true).open(file);
    opened.unwrap_or_else(|why| panic!("{}: {why}", file.display()))
}
