//! Files that are nobody else's: opened without following a link, made new, readable by their owner alone.
//!
//! Whoever makes the folder first, or may write into it, could otherwise lay links in it and have our files written
//! over somebody else's.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use rustix::fs::OFlags;
use rustix::process::geteuid;

use super::super::StoreError;
use super::errors;
use crate::advice::Advice;

/// For the owner alone.
const FILE_MODE: u32 = 0o600;
pub(super) const FOLDER_MODE: u32 = 0o700;
/// What others may do.
const OTHERS: u32 = 0o077;

/// Options that follow no link and let nobody else read what they make.
pub(crate) fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options
        .mode(FILE_MODE)
        .custom_flags(OFlags::NOFOLLOW.bits() as i32);
    options
}

/// Opens a file to read it.
pub(super) fn open(path: &Path) -> io::Result<File> {
    options().read(true).open(path)
}

/// Makes a new file in the place of whatever has the name.
pub(super) fn create_anew(path: &Path) -> io::Result<File> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    options().read(true).write(true).create_new(true).open(path)
}

/// Refuses a folder of another user, who could change whatever is in it; says so where others may read it.
pub(super) fn check_folder(path: &Path, found: &fs::Metadata) -> Result<(), StoreError> {
    check_owner(path, "it", found)?;
    if found.mode() & OTHERS != 0 {
        tracing::warn!(
            folder = %path.display(),
            mode = format!("{:03o}", found.mode() & 0o777),
            "the store's folder is open to other users: chmod 700"
        );
    }
    Ok(())
}

/// Refuses a name in the folder that is no plain file, or another user's; takes the rights of others away.
pub(super) fn check_file(folder: &Path, name: &str) -> Result<(), StoreError> {
    let path = folder.join(name);
    let found = match path.symlink_metadata() {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(errors::system(folder, &format!("cannot look at {name}"), &error)),
    };
    if !found.is_file() {
        let what = if found.is_symlink() {
            "a link"
        } else {
            "no plain file"
        };
        return Err(errors::denied(
            folder,
            format!("{name} in it is {what}"),
            format!("somebody put {name} there: look at it, and remove it"),
        ));
    }
    check_owner(folder, name, &found)?;
    if found.mode() & OTHERS != 0 {
        // One that cannot be changed is no worse than it was.
        let _ = open(&path).and_then(|file| file.set_permissions(Permissions::from_mode(FILE_MODE)));
    }
    Ok(())
}

/// Ours, or root's, who may do everything anyway.
fn check_owner(folder: &Path, name: &str, found: &fs::Metadata) -> Result<(), StoreError> {
    let ours = geteuid().as_raw();
    if found.uid() == ours || found.uid() == 0 {
        return Ok(());
    }
    Err(errors::denied(
        folder,
        format!("{name} belongs to user {}, and this is user {ours}", found.uid()),
        Advice::RunAsOwner { user: found.uid() },
    ))
}
