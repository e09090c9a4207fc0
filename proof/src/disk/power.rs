//! The switch: a file system that stops at once and forgets everything that was not synced.
//!
//! `unsafe` here: one ioctl with a pointer to one integer, and one call without pointers. There is no safe twin: no
//! library offers the first, and what it does to other threads makes the second unsafe in all of them.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// `EXT4_IOC_SHUTDOWN`, the same number on XFS and f2fs (fs/ext4/ext4.h: `_IOR('X', 125, __u32)`).
const SHUTDOWN: libc::c_ulong = 0x8004_587d;
/// Without writing the journal out first: as when the power goes.
const NO_LOG_FLUSH: u32 = 2;

/// Cuts the power of the file system that `folder` lies on. Root only.
pub(super) fn cut(folder: &File) -> io::Result<()> {
    let how = NO_LOG_FLUSH;
    // SAFETY: the call reads one u32 from the pointer, which is valid for the length of the call.
    let done = unsafe { libc::ioctl(folder.as_raw_fd(), SHUTDOWN as _, &raw const how) };
    if done == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// From now on this thread, and what it starts, has its own list of what is mounted where. Root only.
pub(super) fn leave_mounts() -> io::Result<()> {
    // SAFETY: no pointer is passed; the flag parts this thread's mounts and current folder from the process's, and
    // nothing else, so that no other thread loses what it has open.
    match unsafe { libc::unshare(libc::CLONE_NEWNS) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
