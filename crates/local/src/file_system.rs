//! Which file systems keep a lock and a sync to themselves, and which only seem to.
//!
//! A folder that two machines or two mounts reach at once is used by two processes at once where locks do not reach
//! from one to the other: then both give out the same ids, and neither notices. So these are refused unless the user
//! names them.

use std::fs::File;
use std::io;
use std::path::Path;

use rustix::fs::{StatFs, fstatfs, statfs};
use sha2::{Digest, Sha256};

/// The names that a setting may allow.
///
/// ```
/// assert!(mintage_local::file_system::shared_file_systems().any(|name| name == "fuse"));
/// assert!(mintage_local::file_system::shared_file_systems().any(|name| name == "nfs"));
/// assert!(!mintage_local::file_system::shared_file_systems().any(|name| name == "ext4"));
/// ```
pub fn shared_file_systems() -> impl Iterator<Item = &'static str> {
    let first = |at: usize| at == 0 || SHARED[at - 1].1 != SHARED[at].1;
    (0..SHARED.len())
        .filter(move |at| first(*at))
        .map(|at| SHARED[at].1)
}

/// The name of the file system that a path lies on, if it is one of those.
///
/// # Errors
/// The system's.
pub fn shared(path: &Path) -> io::Result<Option<&'static str>> {
    Ok(name(&statfs(path)?))
}

/// As [`shared`], of an open file.
pub(crate) fn shared_of(file: &File) -> io::Result<Option<&'static str>> {
    Ok(name(&fstatfs(file)?))
}

/// What tells this machine from others that reach the same files: from its id, or else its name.
pub(crate) fn machine() -> String {
    // Absent in many containers.
    let id = std::fs::read("/etc/machine-id").unwrap_or_default();
    let known = match id.trim_ascii() {
        [] => mintage::host_name().unwrap_or_default().into_bytes(),
        id => id.to_vec(),
    };
    // The id itself is confidential (machine-id(5)).
    let digest = Sha256::digest([b"mintage state file ", known.as_slice()].concat());
    digest[..8].iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Why one is refused, and what does without it.
pub const WHY_REFUSED: &str = "two machines, or two mounts of one machine, could use it at once and give out the same \
                               ids: use a local disk, or a shared store";

fn name(found: &StatFs) -> Option<&'static str> {
    name_of(found.f_type as u64)
}

fn name_of(kind: u64) -> Option<&'static str> {
    // Magic numbers are 32 bits; some platforms sign-extend them.
    let kind = kind & 0xffff_ffff;
    SHARED
        .iter()
        .find(|(magic, _)| *magic == kind)
        .map(|(_, name)| *name)
}

/// From linux/magic.h and the file systems' own sources; what has one name stands together. FUSE is sshfs, rclone,
/// s3fs, gluster, virtiofs and the shared folders of Docker Desktop, and says nothing of which; now and then it is a
/// local disk (ntfs-3g).
const SHARED: &[(u64, &str)] = &[
    (0x6573_5546, "fuse"),
    (0x6969, "nfs"),
    (0x517b, "smb"),
    (0xff53_4d42, "smb"),
    (0xfe53_4d42, "smb"),
    (0x0102_1997, "9p"),
    (0x00c3_6400, "ceph"),
    (0x5346_414f, "afs"),
    (0x6b41_4653, "afs"),
    (0x7375_7245, "coda"),
    (0x0bd0_0bd0, "lustre"),
    (0x4750_4653, "gpfs"),
    (0x564c, "ncp"),
    (0x1983_0326, "beegfs"),
    (0x786f_4256, "vboxsf"),
    (0xbacb_acbc, "vmhgfs"),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// As `stat -f` prints them of mounted ones; what is no network's is taken.
    // claim: P36
    #[test]
    fn every_file_system_that_others_can_reach_is_known_by_its_magic_number() {
        for (printed, name) in [
            (0x6969, "nfs"),
            (0x6573_5546, "fuse"),
            (0xff53_4d42, "smb"),
            (0xffff_ffff_ff53_4d42, "smb"),
            (0xfe53_4d42, "smb"),
            (0x517b, "smb"),
            (0x0102_1997, "9p"),
            (0x00c3_6400, "ceph"),
            (0x5346_414f, "afs"),
            (0x0bd0_0bd0, "lustre"),
            (0x4750_4653, "gpfs"),
            (0x1983_0326, "beegfs"),
            (0x786f_4256, "vboxsf"),
            (0xbacb_acbc, "vmhgfs"),
        ] {
            assert_eq!(name_of(printed), Some(name), "{printed:x}");
        }
        // ext4, XFS, btrfs, ZFS, tmpfs, overlay.
        for local in [
            0xef53,
            0x5846_5342,
            0x9123_683e,
            0x2fc1_2fc1,
            0x0102_1994,
            0x794c_7630,
        ] {
            assert_eq!(name_of(local), None, "{local:x}");
        }
    }
}
