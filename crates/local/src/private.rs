//! Files that are nobody else's: opened without following a link, made new, readable by their owner alone.
//!
//! Whoever makes the folder first, or may write into it, could otherwise lay links in it and have our files written
//! over somebody else's.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

/// The rights of a file: for the owner alone.
pub const FILE_MODE: u32 = 0o600;
/// The rights of a folder.
pub const FOLDER_MODE: u32 = 0o700;

/// Options that follow no link and let nobody else read what they make.
pub fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options
        .mode(FILE_MODE)
        .custom_flags(OFlags::NOFOLLOW.bits() as i32);
    options
}

/// Opens a file to read it.
///
/// # Errors
/// The system's; [`FilesystemLoop`](io::ErrorKind::FilesystemLoop) for a link.
pub fn open(path: &Path) -> io::Result<File> {
    options().read(true).open(path)
}

/// Makes a new file in the place of whatever has the name.
///
/// # Errors
/// The system's.
pub fn create_anew(path: &Path) -> io::Result<File> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    options().read(true).write(true).create_new(true).open(path)
}
