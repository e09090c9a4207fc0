//! Data folders with a pack installed, made once and copied for each test: a copy starts ten times as fast.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::run;

/// The folder that `make` filled when it was last asked for something else than `key`; kept beside the test programs.
///
/// # Panics
/// When the target folder cannot be written, or `make` panics.
pub fn template(name: &str, key: &str, make: impl FnOnce(&Path)) -> PathBuf {
    let exe = std::env::current_exe().expect("a test knows its own file");
    let place = exe
        .parent()
        .expect("a file is in a folder")
        .join(format!("{name}-template"));
    fs::create_dir_all(&place).expect("the target folder is ours");
    let lock = fs::File::create(place.join("lock")).expect("the target folder is ours");
    lock.lock()
        .expect("the target folder is on a file system with locks");
    let (data, made_for) = (place.join("data"), place.join("made-for"));
    if !fs::read_to_string(&made_for).is_ok_and(|last| last == key) {
        fs::remove_file(&made_for).ok();
        fs::remove_dir_all(&data).ok();
        make(&data);
        fs::write(&made_for, key).expect("the target folder is ours");
    }
    data
}

/// Copies a folder with its owners and modes.
///
/// # Panics
/// When it cannot.
pub fn copy(from: &Path, to: &Path) {
    let mut copy = Command::new("cp");
    copy.arg("-a").arg(from).arg(to);
    run::with_input(copy, b"").ok();
}
