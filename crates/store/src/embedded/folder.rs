//! The folder itself: who has it, whose it is, whether it was copied (protocol E2).
//!
//! | file | what |
//! | --- | --- |
//! | `LOCK` | locked by the process that has the folder; names it |
//! | `mint.db`, `mint.db-wal`, `mint.db-shm` | SQLite |
//! | `witness` | the second record |
//! | `folder.json` | cluster id, the inode of `mint.db`, whether the last stop was clean |
//! | `heartbeat` | wall-clock milliseconds, rewritten every 5 s without a sync |
//! | `reached-N` | how far the witness got: see `reached` |
//! | `COPIED` | there once `mint.db` was found in a lower layer of an overlay, until the folder is adopted |
//! | `CREATING` | there while the first start has not finished: nothing was ever acknowledged |

use std::fs::{self, DirBuilder, File, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use mintage::Timestamp;
use serde::{Deserialize, Serialize};

use super::super::StoreError;
use super::inode::Inode;
use super::reached::{self, Reached};
use super::{errors, private};
use crate::advice::Advice;
use crate::file_system;

/// The names in the folder.
pub(super) const DATABASE: &str = "mint.db";
pub(super) const WITNESS: &str = "witness";
pub(super) const IDENTITY: &str = "folder.json";
const LOCK: &str = "LOCK";
const HEARTBEAT: &str = "heartbeat";
const CREATING: &str = "CREATING";
/// What `CREATING` says where a restore makes the folder.
const RESTORING: &[u8] = b"a restore\n";
const COPIED: &str = "COPIED";
/// Everything that a first start may leave behind when it is cut off.
const MADE: [&str; 8] = [
    "mint.db-wal",
    "mint.db-shm",
    "mint.db-journal",
    DATABASE,
    WITNESS,
    "witness.new",
    IDENTITY,
    HEARTBEAT,
];

/// Whatever else we open or make here.
const OTHERS: [&str; 6] = [
    "folder.json.new",
    CREATING,
    COPIED,
    "mint.db.damaged",
    "mint.db-wal.damaged",
    "witness.damaged",
];

/// The schema of `folder.json`.
const SCHEMA: i64 = 1;

/// What the folder was when it was last started or stopped.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct Identity {
    pub(super) schema: i64,
    pub(super) cluster_id: String,
    pub(super) database: Inode,
    /// The file that says how far the witness got; `None` in folders of older programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) reached: Option<Inode>,
    /// What the folder is called elsewhere on this machine: another name after every adoption.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<String>,
    /// The file system's device number at the last start: changes when the volume moves, which is fine.
    pub(super) device: String,
    pub(super) pid: u32,
    pub(super) clean: bool,
    pub(super) heartbeat_ms: i64,
    /// Every `mint store adopt` and `restore`, newest last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) history: Vec<String>,
}

/// What the folder holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Content {
    /// Nothing of ours.
    Fresh,
    /// A first start that was cut off.
    HalfMade,
    /// Everything is there.
    Whole,
}

/// A locked folder.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    lock: File,
    /// The process that locked it.
    holder: u32,
    heartbeat: Option<File>,
}

impl Drop for Folder {
    /// Lets go of the lock, which closing the file does only once no child has it open: one that another thread has just
    /// begun may not have come to its program yet. A fork itself holds no lock that it could let go of.
    fn drop(&mut self) {
        if self.holder == std::process::id() {
            let _ = self.lock.unlock();
        }
    }
}

/// Whether anything of a store is in a folder.
pub fn is_begun(path: &Path) -> bool {
    let mut names = MADE.iter().chain([&CREATING]);
    names.any(|name| is_there(&path.join(name)))
}

impl Folder {
    /// Locks the folder; `Ok(None)` when another process has it. With `create` one that is not there is made;
    /// without, a place that holds nothing of ours is refused and left as it is.
    pub(super) fn lock(path: &Path, create: bool, allowed: &[String]) -> Result<Option<Folder>, StoreError> {
        if create {
            make_folder(path, allowed)?;
        }
        match fs::metadata(path) {
            Ok(found) if found.is_dir() => private::check_folder(path, &found)?,
            Ok(_) => {
                return Err(errors::system(
                    path,
                    "it is a file, not a folder",
                    &io::ErrorKind::NotADirectory.into(),
                ));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(errors::no_store(path)),
            Err(error) => return Err(errors::system(path, "cannot be looked at", &error)),
        }
        check_file_system(path, path, allowed)?;
        if !create && !is_begun(path) {
            return Err(errors::no_store(path));
        }
        private::check_file(path, LOCK)?;
        let open = private::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path.join(LOCK));
        let mut lock = open.map_err(|e| errors::system(path, "cannot open LOCK", &e))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(e)) => return Err(errors::system(path, "cannot lock LOCK", &e)),
        }
        // Only to name the holder: a full disk must not keep a server from starting.
        let _ = lock
            .set_len(0)
            .and_then(|()| writeln!(lock, "{}", std::process::id()));
        let reached = reached::list(path).map_err(|e| errors::system(path, "cannot be listed", &e))?;
        let reached = reached.iter().filter_map(|(_, path)| path.file_name()?.to_str());
        for name in MADE.into_iter().chain(OTHERS).chain(reached) {
            private::check_file(path, name)?;
        }
        Ok(Some(Folder {
            path: path.to_path_buf(),
            lock,
            holder: std::process::id(),
            heartbeat: None,
        }))
    }

    /// The refusal when [`Folder::lock`] found another process.
    pub(super) fn in_use(path: &Path) -> StoreError {
        let holder = fs::read_to_string(path.join(LOCK)).ok();
        let pid = holder
            .as_deref()
            .map(str::trim)
            .filter(|p| !p.is_empty() && p.bytes().all(|b| b.is_ascii_digit()));
        errors::in_use(path, pid)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// The database, by a path without links: SQLite is told to follow none.
    pub(super) fn database(&self) -> Result<PathBuf, StoreError> {
        let real = self.path.canonicalize();
        real.map(|real| real.join(DATABASE))
            .map_err(|e| self.fail("cannot be looked at", &e))
    }

    fn fail(&self, what: &str, error: &io::Error) -> StoreError {
        errors::system(&self.path, what, error)
    }

    /// What is here; a part that is missing is a refusal, never a fresh start.
    pub(super) fn content(&self) -> Result<Content, StoreError> {
        let has = |name: &str| is_there(&self.file(name));
        if has(CREATING) {
            return Ok(Content::HalfMade);
        }
        let parts = [DATABASE, WITNESS, IDENTITY];
        let missing: Vec<_> = parts.into_iter().filter(|name| !has(name)).collect();
        match missing.len() {
            0 => Ok(Content::Whole),
            3 if !has("mint.db-wal") && !has(HEARTBEAT) => Ok(Content::Fresh),
            _ => Err(errors::damaged(
                &self.path,
                format!(
                    "{} is missing while other parts of the store are there",
                    missing.join(" and ")
                ),
            )),
        }
    }

    /// Marks the first start as begun. Not synced: were the mark lost and later names kept, the next start
    /// would refuse a folder in which nothing was acknowledged, and file systems keep that order anyway.
    pub(super) fn begin_creation(&self) -> Result<(), StoreError> {
        private::create_anew(&self.file(CREATING))
            .map(drop)
            .map_err(|e| self.fail("cannot create files", &e))
    }

    /// Marks that the folder is being made for a restore, which no other start may take for its own.
    pub(super) fn begin_restore(&self) -> Result<(), StoreError> {
        self.begin_creation()?;
        let marked = fs::write(self.file(CREATING), RESTORING).and_then(|()| self.sync());
        marked.map_err(|e| self.fail("cannot create files", &e))
    }

    /// Whether what was begun was [`Folder::begin_restore`].
    pub(super) fn is_half_restored(&self) -> bool {
        fs::read(self.file(CREATING)).is_ok_and(|text| text == RESTORING)
    }

    /// Marks the first start as finished; only after this sync of all names may anything be acknowledged.
    pub(super) fn end_creation(&self) -> Result<(), StoreError> {
        let done = fs::remove_file(self.file(CREATING)).and_then(|()| self.sync());
        done.map_err(|e| self.fail("cannot finish its creation", &e))
    }

    /// Removes what a first start left behind, once it is certain that nothing was ever acknowledged.
    pub(super) fn clear_half_made(&self) -> Result<(), StoreError> {
        match private::open(&self.file(WITNESS)) {
            // What a restore had written so far.
            Ok(_) if self.is_half_restored() => {}
            Ok(file) => match super::witness::never_used(&file) {
                Ok(true) => {}
                Ok(false) => {
                    return Err(errors::damaged(
                        &self.path,
                        "it says CREATING, yet its witness holds records",
                    ));
                }
                Err(e) => return Err(self.fail("cannot read the witness", &e)),
            },
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            Err(e) => return Err(self.fail("cannot read the witness", &e)),
        }
        let reached = reached::list(&self.path).map_err(|e| self.fail("cannot be listed", &e))?;
        let reached = reached.into_iter().map(|(_, path)| path);
        for path in MADE.map(|name| self.file(name)).into_iter().chain(reached) {
            match fs::remove_file(path) {
                Err(e) if e.kind() != io::ErrorKind::NotFound => {
                    return Err(self.fail("cannot clear a first start that was cut off", &e));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Makes names in the folder durable.
    pub(super) fn sync(&self) -> io::Result<()> {
        File::open(&self.path)?.sync_all()
    }

    pub(super) fn read_identity(&self) -> Result<Identity, StoreError> {
        let mut text = Vec::new();
        private::open(&self.file(IDENTITY))
            .and_then(|mut file| file.read_to_end(&mut text))
            .map_err(|e| self.fail("cannot read folder.json", &e))?;
        let value: serde_json::Value = serde_json::from_slice(&text)
            .map_err(|e| errors::damaged(&self.path, format!("folder.json is damaged: {e}")))?;
        match value.get("schema").and_then(serde_json::Value::as_i64) {
            Some(schema) if schema > SCHEMA => {
                return Err(errors::newer(&self.path, IDENTITY, schema, SCHEMA));
            }
            _ => {}
        }
        serde_json::from_value(value)
            .map_err(|e| errors::damaged(&self.path, format!("folder.json is damaged: {e}")))
    }

    /// Replaces `folder.json` as a whole. Its content is synced; its name too if `now`. A start does not need
    /// that: what a power cut brings back is the last stop, and what it takes is what a start would mend.
    pub(super) fn write_identity(&self, identity: &Identity, now: bool) -> Result<(), StoreError> {
        let text =
            serde_json::to_string_pretty(identity).expect("plain strings and numbers always serialise");
        let write = || -> io::Result<()> {
            let beside = self.file("folder.json.new");
            let mut file = private::create_anew(&beside)?;
            file.write_all(text.as_bytes())?;
            file.write_all(b"\n")?;
            file.sync_all()?;
            fs::rename(&beside, self.file(IDENTITY))?;
            if now { self.sync() } else { Ok(()) }
        };
        write().map_err(|e| self.fail("cannot write folder.json", &e))
    }

    /// The identity that the folder has now.
    pub(super) fn identity_now(&self, cluster: u128, wall: Timestamp) -> Result<Identity, StoreError> {
        let device = fs::metadata(&self.path)
            .map_err(|e| self.fail("cannot be looked at", &e))?
            .dev();
        Ok(Identity {
            schema: SCHEMA,
            cluster_id: format!("{cluster:032x}"),
            database: self.inode()?,
            reached: None,
            id: None,
            device: device.to_string(),
            pid: std::process::id(),
            clean: false,
            heartbeat_ms: wall.unix_millis(),
            history: Vec::new(),
        })
    }

    /// What `mint.db` is now.
    pub(super) fn inode(&self) -> Result<Inode, StoreError> {
        Inode::of(&self.file(DATABASE)).map_err(|e| self.fail("cannot look at mint.db", &e))
    }

    /// Whether a start found `mint.db` in a lower layer of an overlay; that very start copied it up.
    pub(super) fn was_copied_up(&self) -> bool {
        is_there(&self.file(COPIED))
    }

    /// Notes that, or forgets it.
    pub(super) fn note_copied_up(&self, found: bool) -> Result<(), StoreError> {
        let noted = match found {
            true => private::create_anew(&self.file(COPIED)).map(drop),
            false if !self.was_copied_up() => Ok(()),
            false => fs::remove_file(self.file(COPIED)),
        };
        noted.map_err(|e| self.fail("cannot note that it is a copy", &e))
    }

    /// Makes the file that says how far the witness got.
    pub(super) fn make_reached(&self, lsn: u64) -> Result<(Reached, Inode), StoreError> {
        Reached::create(&self.path, lsn)
            .and_then(|made| {
                let inode = made.inode()?;
                Ok((made, inode))
            })
            .map_err(|e| self.fail("cannot create files", &e))
    }

    /// Writes the time, in place and without a sync: losing it costs a warning, never a mark.
    pub(super) fn beat(&mut self, wall: Timestamp) -> io::Result<()> {
        let file = match &self.heartbeat {
            Some(file) => file,
            None => {
                let path = self.file(HEARTBEAT);
                let file = private::options()
                    .write(true)
                    .create(true)
                    .truncate(false)
                    .open(path)?;
                self.heartbeat.insert(file)
            }
        };
        // One fixed width, so that an overwrite never leaves part of the one before.
        file.write_all_at(format!("{:020}\n", wall.unix_millis().max(0)).as_bytes(), 0)
    }

    /// The time that [`Folder::beat`] wrote last, if it can be read.
    pub(super) fn last_beat(&self) -> Option<Timestamp> {
        let mut text = String::new();
        private::open(&self.file(HEARTBEAT))
            .ok()?
            .take(64)
            .read_to_string(&mut text)
            .ok()?;
        let digits = text.strip_suffix('\n').filter(|t| t.len() == 20)?;
        digits.parse().ok().map(Timestamp::from_unix_millis)
    }

    /// Whether the path still leads to the database that `open` was opened as, and to our lock: without
    /// either another process could start here.
    pub(super) fn still_there(&self, open: &fs::Metadata) -> bool {
        let leads_to = |name: &str, open: &fs::Metadata| {
            let same = |found: fs::Metadata| (found.dev(), found.ino()) == (open.dev(), open.ino());
            fs::metadata(self.file(name)).is_ok_and(same)
        };
        leads_to(DATABASE, open) && self.lock.metadata().is_ok_and(|lock| leads_to(LOCK, &lock))
    }
}

fn is_there(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// Refuses file systems whose locks and syncs may reach no further than one mount; `looked_at` is the folder, or what
/// it is to be made in.
fn check_file_system(path: &Path, looked_at: &Path, allowed: &[String]) -> Result<(), StoreError> {
    let found = file_system::shared(looked_at)
        .map_err(|e| errors::system(path, "cannot look at its file system", &e))?;
    match found {
        Some(name) if !allowed.iter().any(|allowed| allowed == name) => Err(errors::denied(
            path,
            format!("it is on a file system of the kind {name}, whose locks and syncs may not hold"),
            Advice::AllowFileSystem { kind: name },
        )),
        Some(name) => {
            tracing::warn!(folder = %path.display(), kind = name, "the store is on a file system whose locks may not hold");
            Ok(())
        }
        None => Ok(()),
    }
}

/// Makes the folder and makes its name durable.
fn make_folder(path: &Path, allowed: &[String]) -> Result<(), StoreError> {
    if is_there(path) {
        return Ok(());
    }
    // A refusal must leave nothing behind.
    let above = std::path::absolute(path).map_err(|e| errors::system(path, "cannot be created", &e))?;
    let there = above
        .ancestors()
        .find(|above| above.exists())
        .unwrap_or(Path::new("/"));
    check_file_system(path, there, allowed)?;
    let make = || -> io::Result<()> {
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        match DirBuilder::new().mode(private::FOLDER_MODE).create(path) {
            // Another process was quicker.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => {}
            made => made?,
        }
        // Each folder that was made is a name in the one above it, which must not be lost in a power cut either.
        let there = there.canonicalize()?;
        for above in path.canonicalize()?.ancestors().skip(1) {
            File::open(above)?.sync_all()?;
            if above == there {
                break;
            }
        }
        Ok(())
    };
    make().map_err(|e| errors::system(path, "cannot be created", &e))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::tests::quick_dir;
    use super::*;

    fn lock_in(dir: &tempfile::TempDir) -> Option<Folder> {
        Folder::lock(&dir.path().join("data"), true, &[]).unwrap()
    }

    #[test]
    fn a_file_that_a_child_still_has_open_keeps_no_lock() {
        let dir = quick_dir();
        let folder = lock_in(&dir).unwrap();
        // What a child has between its fork and its program.
        let of_a_child = folder.lock.try_clone().unwrap();
        assert!(lock_in(&dir).is_none());
        drop(folder);
        assert!(lock_in(&dir).is_some());
        drop(of_a_child);
    }

    #[test]
    fn a_fork_does_not_let_go_of_the_lock() {
        let dir = quick_dir();
        let folder = lock_in(&dir).unwrap();
        let of_the_fork = Folder {
            path: folder.path.clone(),
            lock: folder.lock.try_clone().unwrap(),
            holder: folder.holder + 1,
            heartbeat: None,
        };
        drop(of_the_fork);
        assert!(lock_in(&dir).is_none());
    }
}
