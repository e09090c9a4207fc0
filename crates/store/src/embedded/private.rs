//! Whose the folder and its files are: another user's, or open to others, they are no store of ours.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use mintage_local::private::FILE_MODE;
pub(super) use mintage_local::private::{FOLDER_MODE, create_anew, open, options};
use rustix::process::geteuid;

use super::super::StoreError;
use super::errors;
use crate::advice::Advice;

/// What others may do.
const OTHERS: u32 = 0o077;

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
