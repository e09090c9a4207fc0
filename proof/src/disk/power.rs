//! The switch: a file system that stops at once and forgets everything that was not synced.
//!
//! `unsafe` here: one ioctl with a pointer to one integer. There is no safe twin: no library offers it.
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
