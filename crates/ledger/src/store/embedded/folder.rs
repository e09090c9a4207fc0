//! The folder itself: who has it, whose it is, whether it was copied (protocol E2).
//!
//! | file | what |
//! | --- | --- |
//! | `LOCK` | locked by the process that has the folder; names it |
//! | `mint.db`, `mint.db-wal`, `mint.db-shm` | SQLite |
//! | `witness` | the second record |
//! | `folder.json` | cluster id, the inode of `mint.db`, whether the last stop was clean |
//! | `heartbeat` | wall-clock milliseconds, rewritten every 5 s without a sync |
//! | `CREATING` | there while the first start has not finished: nothing was ever acknowledged |

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use mintage::Timestamp;
use rustix::fs::{AtFlags, CWD, StatxFlags, statfs, statx};
use serde::{Deserialize, Serialize};

use super::super::StoreError;
use super::errors;

/// The names in the folder.
pub(super) const DATABASE: &str = "mint.db";
pub(super) const WITNESS: &str = "witness";
pub(super) const IDENTITY: &str = "folder.json";
const LOCK: &str = "LOCK";
const HEARTBEAT: &str = "heartbeat";
const CREATING: &str = "CREATING";
/// What `CREATING` says where a restore makes the folder.
const RESTORING: &[u8] = b"a restore\n";
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

/// The schema of `folder.json`.
const SCHEMA: i64 = 1;

/// What the folder was when it was last started or stopped.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct Identity {
    pub(super) schema: i64,
    pub(super) cluster_id: String,
    pub(super) database: Inode,
    /// The file system's device number at the last start: changes when the volume moves, which is fine.
    pub(super) device: String,
    pub(super) pid: u32,
    pub(super) clean: bool,
    pub(super) heartbeat_ms: i64,
    /// Every `mint store adopt` and `restore`, newest last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) history: Vec<String>,
}

/// What tells a file from its copy: a file system keeps both when its blocks move as a whole.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct Inode {
    pub(super) number: String,
    /// The birth time in nanoseconds, where the file system has one.
    pub(super) born_ns: Option<String>,
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
    /// Held open: closing it lets go of the lock.
    lock: File,
    heartbeat: Option<File>,
}

impl Folder {
    /// Makes the folder if it is not there, and locks it; `Ok(None)` when another process has it.
    pub(super) fn lock(path: &Path, create: bool) -> Result<Option<Folder>, StoreError> {
        if create {
            make_folder(path)?;
        }
        match fs::metadata(path) {
            Ok(found) if found.is_dir() => {}
            Ok(_) => {
                return Err(errors::system(
                    path,
                    "it is a file, not a folder",
                    &io::ErrorKind::NotADirectory.into(),
                ));
            }
            Err(error) => return Err(errors::system(path, "cannot be looked at", &error)),
        }
        let open = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path.join(LOCK));
        let mut lock = open.map_err(|e| errors::system(path, "cannot open LOCK", &e))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(_) if mintage::planted!("lock-not-taken") => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(e)) => return Err(errors::system(path, "cannot lock LOCK", &e)),
        }
        // Only to name the holder: a full disk must not keep a server from starting.
        let _ = lock
            .set_len(0)
            .and_then(|()| writeln!(lock, "{}", std::process::id()));
        Ok(Some(Folder {
            path: path.to_path_buf(),
            lock,
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

    fn fail(&self, what: &str, error: &io::Error) -> StoreError {
        errors::system(&self.path, what, error)
    }

    /// What is here; a part that is missing is a refusal, never a fresh start.
    pub(super) fn content(&self) -> Result<Content, StoreError> {
        let has = |name: &str| self.file(name).symlink_metadata().is_ok();
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
        File::create(self.file(CREATING))
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
        match File::open(self.file(WITNESS)) {
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
        for name in MADE {
            match fs::remove_file(self.file(name)) {
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
        let text = fs::read(self.file(IDENTITY)).map_err(|e| self.fail("cannot read folder.json", &e))?;
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
            let mut file = File::create(&beside)?;
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
            device: device.to_string(),
            pid: std::process::id(),
            clean: false,
            heartbeat_ms: wall.unix_millis(),
            history: Vec::new(),
        })
    }

    /// The inode that `mint.db` has now.
    pub(super) fn inode(&self) -> Result<Inode, StoreError> {
        let wanted = StatxFlags::INO | StatxFlags::BTIME;
        let found = statx(CWD, self.file(DATABASE), AtFlags::empty(), wanted)
            .map_err(|e| self.fail("cannot look at mint.db", &e.into()))?;
        let born = (found.stx_mask & StatxFlags::BTIME.bits() != 0).then(|| {
            let whole = i128::from(found.stx_btime.tv_sec) * 1_000_000_000;
            (whole + i128::from(found.stx_btime.tv_nsec)).to_string()
        });
        Ok(Inode {
            number: found.stx_ino.to_string(),
            born_ns: born,
        })
    }

    /// Writes the time, in place and without a sync: losing it costs a warning, never a mark.
    pub(super) fn beat(&mut self, wall: Timestamp) -> io::Result<()> {
        let file = match &self.heartbeat {
            Some(file) => file,
            None => {
                let path = self.file(HEARTBEAT);
                let file = OpenOptions::new()
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
        File::open(self.file(HEARTBEAT))
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

    /// Refuses file systems whose locks and syncs reach no further than this host.
    pub(super) fn check_file_system(&self, allow_network: bool) -> Result<(), StoreError> {
        let found = statfs(&self.path).map_err(|e| self.fail("cannot look at its file system", &e.into()))?;
        // Magic numbers are 32 bits; some platforms sign-extend them.
        let kind = found.f_type as u64 & 0xffff_ffff;
        match NETWORK_FILE_SYSTEMS.iter().find(|(magic, _)| *magic == kind) {
            Some((_, name)) if !allow_network => Err(errors::foreign(
                &self.path,
                format!("it lies on {name}, a network file system, whose locks and syncs may not hold"),
                "use a local disk, or a shared store, or set allow_network_fs if you know that they hold",
            )),
            Some((_, name)) => {
                tracing::warn!(folder = %self.path.display(), "the store lies on {name}: its locks may not hold");
                Ok(())
            }
            None => Ok(()),
        }
    }
}

/// Makes the folder and makes its name durable.
fn make_folder(path: &Path) -> Result<(), StoreError> {
    if path.symlink_metadata().is_ok() {
        return Ok(());
    }
    let make = || -> io::Result<()> {
        fs::create_dir_all(path)?;
        let parent = path.canonicalize()?;
        File::open(parent.parent().unwrap_or(Path::new("/")))?.sync_all()
    };
    make().map_err(|e| errors::system(path, "cannot be created", &e))
}

/// From linux/magic.h and the file systems' own sources. FUSE is left out: it is as often a local disk.
const NETWORK_FILE_SYSTEMS: &[(u64, &str)] = &[
    (0x6969, "NFS"),
    (0x517b, "SMB"),
    (0xff53_4d42, "CIFS"),
    (0xfe53_4d42, "SMB2"),
    (0x0102_1997, "9p"),
    (0x00c3_6400, "Ceph"),
    (0x5346_414f, "AFS"),
    (0x6b41_4653, "AFS"),
    (0x7375_7245, "Coda"),
    (0x0bd0_0bd0, "Lustre"),
    (0x4750_4653, "GPFS"),
    (0x564c, "NCP"),
];
