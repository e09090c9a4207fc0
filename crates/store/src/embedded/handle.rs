//! What a file system calls a file for ever: `name_to_handle_at(2)`.
//!
//! A handle holds the inode's number and its generation, which is random for every file that is made; on btrfs also
//! the subvolume, which a snapshot does not share. Nothing that copies files can make another file have it, and it
//! stays when the volume moves to another machine.
//!
//! The one call is not among the safe ones of `rustix`, so it stands here alone.
#![allow(unsafe_code)]

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// `struct file_handle` of linux/fs.h, with room for the largest handle.
#[repr(C)]
struct FileHandle {
    bytes: u32,
    kind: i32,
    handle: [u8; BYTES_MAX],
}

/// `MAX_HANDLE_SZ` of linux/fs.h.
const BYTES_MAX: usize = 128;

/// The handle of the file at `path` in hexadecimal; `None` where the file system has none, or the system does not
/// say (some containers forbid the call).
pub(super) fn handle(path: &Path) -> Option<String> {
    let path = CString::new(path.as_os_str().as_bytes()).ok()?;
    let mut found = FileHandle {
        bytes: BYTES_MAX as u32,
        kind: 0,
        handle: [0; BYTES_MAX],
    };
    let mut mount: libc::c_int = 0;
    // SAFETY: the path ends with a zero byte; the kernel writes at most `bytes` into `handle` and one int into `mount`,
    // both of which outlive the call.
    let done = unsafe {
        libc::syscall(
            libc::SYS_name_to_handle_at,
            libc::AT_FDCWD,
            path.as_ptr(),
            &raw mut found,
            &raw mut mount,
            0,
        )
    };
    let handle = found.handle.get(..found.bytes as usize).filter(|_| done == 0)?;
    let digits: String = handle.iter().map(|byte| format!("{byte:02x}")).collect();
    Some(format!("{:x}:{digits}", found.kind))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_file_that_takes_the_place_of_another_has_another_handle() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "a").unwrap();
        let Some(first) = handle(&path) else {
            eprintln!("skipped: file handles");
            return;
        };
        fs::write(&path, "b").unwrap();
        fs::rename(&path, folder.path().join("moved")).unwrap();
        assert_eq!(handle(&folder.path().join("moved")).as_ref(), Some(&first));
        fs::remove_file(folder.path().join("moved")).unwrap();
        // As often as not it gets the same inode.
        for _ in 0..20 {
            fs::write(&path, "a").unwrap();
            assert_ne!(handle(&path).as_ref(), Some(&first));
            fs::remove_file(&path).unwrap();
        }
        assert_eq!(handle(&path), None);
    }
}
