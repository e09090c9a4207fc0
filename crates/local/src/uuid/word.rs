//! One number in a mapped file that all processes of a host advance: the order of their ids (protocol U2).
//!
//! ```text
//! offset 0 ┌──────────────┬────────────────┬──────────────────────────┐
//!          │ "MINTWRD1" 8 │ boot id hash 8 │ next free tick, atomic 8 │
//!          └──────────────┴────────────────┴──────────────────────────┘
//! ```
//!
//! The kernel keeps one copy of a mapped page, so every process sees every advance at once, also after a kill. A
//! power cut may lose advances: a word of another boot is not believed, and the state file's synced `until` counts.
//!
//! Unsafe code: the mapping. [`advance`] is the same on any atomic, and the test
//! runs both.
#![allow(unsafe_code)]

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use crate::private;

const MAGIC: &[u8; 8] = b"MINTWRD1";
const WORD_AT: usize = 16;
const FILE_BYTES: usize = 24;

/// A mapped word. Shared by forked children too.
#[derive(Debug)]
pub(super) struct SharedWord {
    map: NonNull<AtomicU64>,
    base: NonNull<std::ffi::c_void>,
    inode: u64,
}

// SAFETY: the mapping is only reached through an atomic and stays until drop.
unsafe impl Send for SharedWord {}
// SAFETY: as above.
unsafe impl Sync for SharedWord {}

impl SharedWord {
    /// Makes a new file at `path`, in the place of any other; its word begins at `first`. The caller holds the
    /// state file's lock.
    pub(super) fn create(path: &Path, first: u64) -> io::Result<SharedWord> {
        let beside = path.with_extension("new");
        let _ = fs::remove_file(&beside);
        let mut file = private::options()
            .read(true)
            .write(true)
            .create_new(true)
            .open(&beside)?;
        file.write_all(MAGIC)?;
        file.write_all(&boot()?)?;
        file.write_all(&[0; FILE_BYTES - WORD_AT])?;
        let word = SharedWord::map(&file)?;
        word.atomic().store(first, Ordering::SeqCst);
        fs::rename(&beside, path)?;
        Ok(word)
    }

    /// Maps the file at `path` if it is the one with this inode, whole, and of this boot.
    pub(super) fn open(path: &Path, inode: u64) -> io::Result<Option<SharedWord>> {
        let mut file = match private::options().read(true).write(true).open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let meta = file.metadata()?;
        if meta.ino() != inode || meta.len() != FILE_BYTES as u64 {
            return Ok(None);
        }
        let mut head = [0; WORD_AT];
        file.read_exact(&mut head)?;
        if head[..8] != MAGIC[..] || head[8..] != boot()? {
            return Ok(None);
        }
        SharedWord::map(&file).map(Some)
    }

    fn map(file: &File) -> io::Result<SharedWord> {
        let inode = file.metadata()?.ino();
        // SAFETY: a fresh mapping at an address of the kernel's choice; nothing else knows it. The file has
        // FILE_BYTES bytes (checked by the callers), so the word lies within it and is aligned to 8.
        let base = unsafe {
            mmap(
                std::ptr::null_mut(),
                FILE_BYTES,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED,
                file,
                0,
            )
        }?;
        let base = NonNull::new(base).ok_or_else(|| io::Error::other("mapped at address 0"))?;
        // SAFETY: WORD_AT is within the mapping.
        let map = unsafe { base.byte_add(WORD_AT) }.cast();
        Ok(SharedWord { map, base, inode })
    }

    fn atomic(&self) -> &AtomicU64 {
        // SAFETY: mapped until drop, aligned, and every process reaches it through atomics alone.
        unsafe { self.map.as_ref() }
    }

    /// The next free tick.
    pub(super) fn next(&self) -> u64 {
        self.atomic().load(Ordering::SeqCst)
    }

    /// Takes `n` ticks, none before `now`, all below `limit`; `None`: they do not fit.
    pub(super) fn take(&self, now: u64, n: u64, limit: u64) -> Option<u64> {
        advance(self.atomic(), now, n, limit)
    }

    pub(super) fn inode(&self) -> u64 {
        self.inode
    }
}

impl Drop for SharedWord {
    fn drop(&mut self) {
        // SAFETY: mapped by `map` with this length, and nobody holds a reference any more.
        let _ = unsafe { munmap(self.base.as_ptr(), FILE_BYTES) };
    }
}

/// Moves `word` past `n` ticks from `now` or from where it stands; `None`: they do not fit below `limit`.
fn advance(word: &AtomicU64, now: u64, n: u64, limit: u64) -> Option<u64> {
    let fits = |next: u64| next.max(now).checked_add(n).filter(|end| *end <= limit);
    word.fetch_update(Ordering::SeqCst, Ordering::SeqCst, fits)
        .ok()
        .map(|next| next.max(now))
}

/// This boot of this host, in 8 bytes.
fn boot() -> io::Result<[u8; 8]> {
    use sha2::{Digest, Sha256};
    let id = fs::read("/proc/sys/kernel/random/boot_id")?;
    let mut first = [0; 8];
    first.copy_from_slice(&Sha256::digest(&id)[..8]);
    Ok(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mapped_word_and_a_plain_atomic_agree() {
        let folder = tempfile::tempdir().unwrap();
        let mapped = SharedWord::create(&folder.path().join("word"), 5).unwrap();
        let plain = AtomicU64::new(5);
        for (now, n, limit) in [
            (3, 1, 100),
            (10, 2, 100),
            (0, 88, 100),
            (0, 1, 100),
            (99, 2, 100),
            (99, 1, 100),
        ] {
            assert_eq!(
                mapped.take(now, n, limit),
                advance(&plain, now, n, limit),
                "{now} {n} {limit}"
            );
            assert_eq!(mapped.next(), plain.load(Ordering::SeqCst));
        }
    }

    #[test]
    fn two_mappings_of_one_file_are_one_word() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("word");
        let a = SharedWord::create(&path, 0).unwrap();
        let b = SharedWord::open(&path, a.inode()).unwrap().unwrap();
        assert_eq!(
            (a.take(0, 3, 10), b.take(0, 3, 10), a.take(0, 3, 10)),
            (Some(0), Some(3), Some(6))
        );
        assert_eq!((a.take(0, 2, 10), b.take(0, 1, 10)), (None, Some(9)));
    }

    #[test]
    fn another_file_or_another_boot_is_not_believed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("word");
        let first = SharedWord::create(&path, 0).unwrap();
        let second = SharedWord::create(&path, 0).unwrap();
        assert!(SharedWord::open(&path, first.inode()).unwrap().is_none());
        let mut bytes = fs::read(&path).unwrap();
        bytes[9] ^= 1;
        fs::write(&path, bytes).unwrap();
        assert!(SharedWord::open(&path, second.inode()).unwrap().is_none());
        fs::remove_file(&path).unwrap();
        assert!(SharedWord::open(&path, second.inode()).unwrap().is_none());
    }
}
