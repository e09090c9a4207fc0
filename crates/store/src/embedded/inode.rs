//! What tells a file from its copy.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, OFlags, StatxFlags, statfs, statvfs, statx};
use serde::{Deserialize, Serialize};

use super::handle::handle;

/// A file system keeps all of this when its blocks move as a whole, to another machine too; a copy has another one.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct Inode {
    pub(super) number: String,
    /// The birth time in nanoseconds, where the file system has one.
    pub(super) born_ns: Option<String>,
    /// The file's handle, which has the inode's generation (and on btrfs the subvolume), where the file system has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) handle: Option<String>,
    /// What the file system calls this snapshot or clone of itself, where it makes such.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) volume: Option<String>,
}

impl Inode {
    /// What the file at `path` is now.
    pub(super) fn of(path: &Path) -> io::Result<Inode> {
        let wanted = StatxFlags::INO | StatxFlags::BTIME;
        let found = statx(CWD, path, AtFlags::SYMLINK_NOFOLLOW, wanted)?;
        let born = (found.stx_mask & StatxFlags::BTIME.bits() != 0).then(|| {
            let whole = i128::from(found.stx_btime.tv_sec) * 1_000_000_000;
            (whole + i128::from(found.stx_btime.tv_nsec)).to_string()
        });
        let kind = statfs(path)?.f_type as u64 & 0xffff_ffff;
        let volume = SNAPSHOTTING
            .contains(&kind)
            .then(|| statvfs(path).map(|found| format!("{:x}", found.f_fsid)))
            .transpose()?;
        Ok(Inode {
            number: found.stx_ino.to_string(),
            born_ns: born,
            handle: handle(path).filter(|_| !PASSING.contains(&kind)),
            volume,
        })
    }

    /// How `now` differs from what was noted, in words; `None`: it is the same file. What one of them does not have
    /// says nothing: an older program did not note it, or a container may not ask.
    pub(super) fn differs(&self, now: &Inode) -> Option<String> {
        let other = |a: &Option<String>, b: &Option<String>| matches!((a, b), (Some(a), Some(b)) if a != b);
        if self.number != now.number {
            return Some(format!(
                "has inode {}, folder.json says {}",
                now.number, self.number
            ));
        }
        if self.born_ns != now.born_ns {
            return Some("was born at another time than folder.json says".to_string());
        }
        if other(&self.volume, &now.volume) {
            return Some("lies in a snapshot or clone of the file system that folder.json names".to_string());
        }
        other(&self.handle, &now.handle)
            .then(|| "has another file handle than folder.json says (the same inode, used again)".to_string())
    }
}

/// Opens a file as a start will, without changing it, and answers whether the opening itself made it a new file: on
/// overlayfs a file of a lower layer (a container's image) is copied into the upper one when it is opened to be
/// written, so that every container of that image has a copy of its own.
pub(super) fn copied_up(path: &Path) -> io::Result<bool> {
    let changed = |meta: std::fs::Metadata| (meta.ctime(), meta.ctime_nsec());
    let before = changed(path.symlink_metadata()?);
    let file: File = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(OFlags::NOFOLLOW.bits() as i32)
        .open(path)?;
    Ok(changed(file.metadata()?) != before)
}

/// Those whose snapshots keep every inode: btrfs and ZFS, from their own sources. They name each one apart.
const SNAPSHOTTING: [u64; 2] = [0x9123_683e, 0x2fc1_2fc1];
/// Those whose handles do not outlive a mount, or change when a file is copied up: FUSE and overlayfs.
const PASSING: [u64; 2] = [0x6573_5546, 0x794c_7630];
