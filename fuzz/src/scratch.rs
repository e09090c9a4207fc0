//! Files to make the first inputs of a target with: one folder a thread, in memory where there is a file system for that.

use std::path::{Path, PathBuf};

thread_local! {
    static FOLDER: tempfile::TempDir = make();
}

fn make() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    let mut builder = tempfile::Builder::new();
    builder.prefix("mint-fuzz-");
    let made = match memory.is_dir() {
        true => builder.tempdir_in(memory),
        false => builder.tempdir(),
    };
    made.expect("there is room for a folder")
}

/// The path of this thread's file `name`.
///
/// # Panics
/// There is no room for a temporary folder.
pub(crate) fn path(name: &str) -> PathBuf {
    FOLDER.with(|folder| folder.path().join(name))
}
