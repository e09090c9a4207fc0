//! A file whose name says how far the store got, so that older files put back beside it are seen.
//!
//! `reached-00000000000000000042` has 42 for the number of the last record that the witness acknowledged. It is one
//! file for the life of the folder, renamed after every append and before the answer. Tools that put a backup back
//! *in place* (`cp -a`, `tar --overwrite`, `rsync --inplace`) keep the inodes of the files that they write over, and
//! can bring every content and every time back that there was: but not this name. Either the newer name is still
//! there beside the older one, or it was removed and the older one is a new file, which `folder.json` does not know.
//!
//! The name is never synced: it follows a sync of the witness, so after a power cut it is older than what was
//! acknowledged, never newer.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::super::StoreError;
use super::errors;
use super::inode::Inode;
use super::private;

/// What the file's name begins with.
const PREFIX: &str = "reached-";

/// The file.
#[derive(Debug)]
pub(super) struct Reached {
    folder: PathBuf,
    lsn: u64,
    /// A failed renaming was told.
    told: bool,
}

/// Every such file in a folder.
pub(super) fn list(folder: &Path) -> io::Result<Vec<(u64, PathBuf)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
        if let Some(lsn) = number.and_then(|digits| digits.parse().ok()) {
            found.push((lsn, entry.path()));
        }
    }
    Ok(found)
}

impl Reached {
    /// Makes a new one; the others stay until [`Reached::alone`].
    pub(super) fn create(folder: &Path, lsn: u64) -> io::Result<Reached> {
        let made = Reached {
            folder: folder.to_path_buf(),
            lsn,
            told: false,
        };
        // Durable before `folder.json` names it.
        private::create_anew(&made.path())?.sync_all()?;
        Ok(made)
    }

    /// Finds the one that `folder.json` noted. The witness has `lsn` records.
    pub(super) fn find(folder: &Path, noted: &Inode, lsn: u64) -> Result<Reached, StoreError> {
        let mut all = list_of(folder, lsn)?.into_iter();
        let ours = all.find(|(_, path)| Inode::of(path).is_ok_and(|now| noted.differs(&now).is_none()));
        let found = ours.map(|(lsn, _)| Reached {
            folder: folder.to_path_buf(),
            lsn,
            told: false,
        });
        found.ok_or_else(|| {
            errors::set_back(
                folder,
                "its file reached-… was replaced or removed: files of a backup were put back in place",
            )
        })
    }

    /// What it is as a file.
    pub(super) fn inode(&self) -> io::Result<Inode> {
        Inode::of(&self.path())
    }

    /// Removes all others.
    pub(super) fn alone(&self) -> io::Result<()> {
        for (_, other) in list(&self.folder)? {
            if other != self.path() {
                fs::remove_file(other)?;
            }
        }
        Ok(())
    }

    /// Takes the name of `lsn`. Failing costs the protection, never a number.
    pub(super) fn note(&mut self, lsn: u64) {
        if lsn == self.lsn {
            return;
        }
        match fs::rename(self.path(), path(&self.folder, lsn)) {
            Ok(()) => self.lsn = lsn,
            Err(error) if !self.told => {
                self.told = true;
                tracing::warn!(%error, folder = %self.folder.display(), "cannot note how far the store got");
            }
            Err(_) => {}
        }
    }

    fn path(&self) -> PathBuf {
        path(&self.folder, self.lsn)
    }
}

/// What the file is called at `lsn`.
pub(super) fn path(folder: &Path, lsn: u64) -> PathBuf {
    folder.join(format!("{PREFIX}{lsn:020}"))
}

/// As [`list`], refusing those that got further than the witness, which has `lsn` records.
pub(super) fn list_of(folder: &Path, lsn: u64) -> Result<Vec<(u64, PathBuf)>, StoreError> {
    let all = list(folder).map_err(|e| errors::system(folder, "cannot look at how far it got", &e))?;
    match all.iter().map(|(number, _)| *number).max() {
        Some(reached) if reached > lsn => Err(errors::set_back(
            folder,
            format!("it got to record {reached} and has {lsn}: files of a backup were put back in place"),
        )),
        _ => Ok(all),
    }
}
