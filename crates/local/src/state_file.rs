//! A tiny durable register in one file, shared by any number of processes: what a one-shot command reserves
//! from when there is no server and no store.
//!
//! ```text
//! offset     0 ┌──────────────┬────────────────┬───────────────┬───────────┬──────────────────┐
//! slot 0       │ "MINTREG1" 8 │ write number 8 │ payload len 4 │ crc32c  4 │ payload, 0 after │
//! offset  1024 ├──────────────┼────────────────┼───────────────┼───────────┼──────────────────┤
//! slot 1       │ the same                                                                     │
//! offset  2048 └──────────────────────────────────────────────────────────────────────────────┘
//! ```
//!
//! Integers are big-endian; the checksum covers the write number, the length and the payload. Write `k` goes to
//! slot `k mod 2`, so a write that is cut short leaves the one before it whole.
//!
//! **Guarantees:** [`StateFile::update`] is serialised over all processes by an exclusive lock on the file, and
//! returns only after its new payload is synced: whatever was reserved in it may be used then, and not before.
//! The file is opened anew for every update, so a forked child shares no lock and no offset with its parent.
//!
//! The file must lie where a lock reaches everybody who can reach the file: network file systems and FUSE are refused
//! unless they are allowed by name.
//!
//! Beside the file lies `FILE.last`: the number of the last write and when the file was changed by it, as the file
//! system has that (ctime), which no copy and no tool can set. A file that was put back from a copy, with or without
//! that note, does not fit it, and the caller is told ([`Found::put_back`]). So is one that was made by an older program,
//! that came from elsewhere, or whose owner or mode was changed: once, since what is told costs little. Not noticed is a
//! whole file system that is put back, where even that time is the one of then.
//!
//! **Rare events:** one damaged slot leaves the other, and the caller is told ([`Found::twin_damaged`]), since
//! the damaged one may have been the newer; two damaged slots, or a file of a newer program, are refused in
//! words and never taken for a fresh start. A file that is deleted is forgotten: that is the user's act.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;

use crate::file_system;
use crate::private;

/// The longest payload.
pub const PAYLOAD_MAX_BYTES: usize = SLOT_BYTES - HEADER_BYTES;

/// A register in a file.
#[derive(Clone, Debug)]
pub struct StateFile {
    path: PathBuf,
    allowed: Vec<String>,
}

/// What an update found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Found {
    /// The newest payload that is whole.
    pub payload: String,
    /// The other slot is damaged, so a newer payload may have been lost: start above whatever it could have
    /// reserved.
    pub twin_damaged: bool,
    /// The file is not as the last update left it: a copy may have been put back, and newer payloads lost with what was
    /// in its place.
    pub put_back: bool,
}

impl Found {
    /// Whether a newer payload may have been lost: start above whatever it could have reserved.
    pub fn may_be_older(&self) -> bool {
        self.twin_damaged || self.put_back
    }
}

/// Why a state file could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum StateFileError {
    /// The system refused; says at which step.
    #[error("cannot {step} state file {}: {source}", path.display())]
    Io {
        /// What was being done.
        step: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Neither slot is whole.
    #[error("state file {} is damaged: neither of its two records is whole", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
    },
    /// The file was written by another program, or a newer version of this one.
    #[error("{} is not a state file of this version", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// Others could use the file at the same time, unseen.
    #[error("state file {} is on a file system of the kind {kind}, whose locks may not hold", path.display())]
    Shared {
        /// The file.
        path: PathBuf,
        /// What it lies on: one of [`shared_file_systems`](crate::file_system::shared_file_systems).
        kind: &'static str,
    },
    /// The payload does not fit.
    #[error("a payload of {bytes} bytes does not fit a state file, largest is {PAYLOAD_MAX_BYTES}")]
    TooLong {
        /// Its length.
        bytes: usize,
    },
}

impl StateFileError {
    /// Whether the file is a link, which is not followed.
    pub fn is_link(&self) -> bool {
        matches!(self, StateFileError::Io { source, .. } if source.raw_os_error() == Some(Errno::LOOP.raw_os_error()))
    }
}

impl StateFile {
    /// Names the file; it and its folder are made at the first update.
    pub fn new(path: impl Into<PathBuf>) -> StateFile {
        StateFile {
            path: path.into(),
            allowed: Vec::new(),
        }
    }

    /// Takes the file on these file systems too (some of [`shared_file_systems`](crate::file_system::shared_file_systems)): nothing
    /// else may reach it there.
    #[must_use]
    pub fn allow_file_systems(mut self, names: Vec<String>) -> StateFile {
        self.allowed = names;
        self
    }

    /// The file `name` in a folder that every machine of a user may reach, such as a home. On a file system whose locks
    /// may not reach from one to the other (which must be among `allowed`) each machine has a file of its own: its id is
    /// part of the name. A file without one, of an older program, belongs to the machine that comes first.
    ///
    /// # Errors
    /// The file system is not allowed, or the older file cannot be renamed.
    ///
    /// ```
    /// use mintage_local::state_file::StateFile;
    /// let folder = tempfile::tempdir().unwrap();
    /// let file = StateFile::of_this_machine(folder.path(), "ids", Vec::new())?;
    /// assert_eq!(file.path(), folder.path().join("ids"));
    /// # Ok::<(), mintage_local::state_file::StateFileError>(())
    /// ```
    pub fn of_this_machine(
        folder: &Path,
        name: &str,
        allowed: Vec<String>,
    ) -> Result<StateFile, StateFileError> {
        let older = StateFile::new(folder.join(name)).allow_file_systems(allowed);
        let there = folder.ancestors().find(|there| there.exists());
        let shared = file_system::shared(there.unwrap_or(folder)).map_err(|e| older.io("look at", e))?;
        if shared.is_none() {
            return Ok(older);
        }
        older.check_shared(shared)?;
        let own = StateFile {
            path: folder.join(format!("{name}@{}", file_system::machine())),
            ..older.clone()
        };
        own.take_over(&older.path)?;
        Ok(own)
    }

    /// Renames an older file to this one's name, unless there is one: whoever comes first has it.
    fn take_over(&self, older: &Path) -> Result<(), StateFileError> {
        let renamed = match renameat_with(CWD, older, CWD, &self.path, RenameFlags::NOREPLACE) {
            // Not every file system can refuse to replace.
            Err(Errno::INVAL) if self.path.symlink_metadata().is_err() => fs::rename(older, &self.path),
            Err(Errno::INVAL) => Ok(()),
            other => other.map_err(io::Error::from),
        };
        match renamed {
            Ok(()) => {
                // Its note says nothing of what lies here now; left behind, it is of no use to anybody.
                let _ = fs::remove_file(StateFile::new(older).note_path());
                self.sync_folder()
            }
            Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::AlreadyExists) => Ok(()),
            Err(e) => Err(self.io("take an older file over as", e)),
        }
    }

    /// Where the file is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Lets `change` see the payload, durably writes what it answers (`None`: leave as it is), and gives its
    /// other answer.
    ///
    /// Nobody else's `change` runs meanwhile, in any process, so keep it short. An error of `change` writes
    /// nothing.
    ///
    /// # Errors
    /// [`StateFileError`] when the file cannot be made, locked, read, written or synced, or is damaged. After
    /// an error in writing or syncing it is unknown whether the new payload stands: treat what it reserved as
    /// spent.
    ///
    /// ```
    /// use mintage_local::state_file::{StateFile, StateFileError};
    /// # let folder = tempfile::tempdir().unwrap();
    /// let file = StateFile::new(folder.path().join("counter"));
    /// let next = || file.update::<_, StateFileError>(|found| {
    ///     let last: u64 = found.map_or(0, |f| f.payload.parse().unwrap());
    ///     Ok((Some((last + 1).to_string()), last + 1))
    /// });
    /// assert_eq!(next().unwrap(), 1);
    /// assert_eq!(next().unwrap(), 2);
    /// ```
    pub fn update<T, E: From<StateFileError>>(
        &self,
        change: impl FnOnce(Option<Found>) -> Result<(Option<String>, T), E>,
    ) -> Result<T, E> {
        let mut file = self.open_locked()?;
        let mut bytes = Vec::with_capacity(FILE_BYTES);
        (&mut file)
            .take(FILE_BYTES as u64 + 1)
            .read_to_end(&mut bytes)
            .map_err(|e| self.io("read", e))?;
        let mut newest = self.newest(&bytes)?;
        if let Some((number, found)) = &mut newest {
            found.put_back = self.noted()? != Some(self.note_of(&file, *number)?);
        }
        let write_number = newest.as_ref().map_or(1, |(number, _)| number + 1);
        let (payload, answer) = change(newest.map(|(_, found)| found))?;
        if let Some(payload) = payload {
            let slot = encode(write_number, payload.as_bytes())?;
            let at = write_number % 2 * SLOT_BYTES as u64;
            file.seek(SeekFrom::Start(at)).map_err(|e| self.io("write", e))?;
            file.write_all(&slot).map_err(|e| self.io("write", e))?;
            file.sync_data().map_err(|e| self.io("sync", e))?;
            // Lost in a power cut, it makes the next update go further than it must.
            self.note(&self.note_of(&file, write_number)?)?;
        }
        // Closing the file gives the lock back.
        Ok(answer)
    }

    /// Renames a damaged file out of the way (to the same name with `.damaged` behind it), so that the next update
    /// begins anew. For registers whose loss is no danger. A file that is whole by now stays.
    ///
    /// # Errors
    /// The file cannot be locked, read or renamed.
    pub fn set_aside(&self) -> Result<(), StateFileError> {
        let mut file = self.open_locked()?;
        let mut bytes = Vec::with_capacity(FILE_BYTES);
        file.read_to_end(&mut bytes).map_err(|e| self.io("read", e))?;
        if matches!(self.newest(&bytes), Err(StateFileError::Damaged { .. })) {
            let mut aside = self.path.clone().into_os_string();
            aside.push(".damaged");
            fs::rename(&self.path, aside).map_err(|e| self.io("rename", e))?;
        }
        Ok(())
    }

    /// What is noted of the file as it is now, after that write. Where a file system may set the time of a change later,
    /// as those do that others share, the number alone.
    fn note_of(&self, file: &File, number: u64) -> Result<String, StateFileError> {
        let shared = file_system::shared_of(file).map_err(|e| self.io("look at", e))?;
        let meta = file.metadata().map_err(|e| self.io("look at", e))?;
        Ok(match shared {
            Some(_) => format!("{number}\n"),
            None => format!("{number} {}.{:09}\n", meta.ctime(), meta.ctime_nsec()),
        })
    }

    fn note_path(&self) -> PathBuf {
        let mut path = self.path.clone().into_os_string();
        path.push(".last");
        path.into()
    }

    /// The note, whatever it says; `None` where there is none.
    fn noted(&self) -> Result<Option<String>, StateFileError> {
        let failed = |source| StateFileError::Io {
            step: "read the note of",
            path: self.note_path(),
            source,
        };
        let file = match private::options().read(true).open(self.note_path()) {
            Ok(file) => file,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(failed(e)),
        };
        let mut bytes = Vec::new();
        file.take(NOTE_BYTES_MAX)
            .read_to_end(&mut bytes)
            .map_err(failed)?;
        Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
    }

    fn note(&self, note: &str) -> Result<(), StateFileError> {
        let mut options = private::options();
        let opened = options
            .write(true)
            .create(true)
            .truncate(true)
            .open(self.note_path());
        let written = opened.and_then(|mut file| file.write_all(note.as_bytes()));
        written.map_err(|source| StateFileError::Io {
            step: "write the note of",
            path: self.note_path(),
            source,
        })
    }

    /// Opens and locks the file that the path leads to, making it where there is none.
    fn open_locked(&self) -> Result<File, StateFileError> {
        loop {
            let file = match private::options().read(true).write(true).open(&self.path) {
                Ok(file) => file,
                Err(e) if e.kind() == io::ErrorKind::NotFound => self.create()?,
                Err(e) => return Err(self.io("open", e)),
            };
            let shared = file_system::shared_of(&file).map_err(|e| self.io("look at", e))?;
            self.check_shared(shared)?;
            file.lock().map_err(|e| self.io("lock", e))?;
            // Somebody may have removed or replaced the file while we waited for the lock.
            if self.still_ours(&file)? {
                return Ok(file);
            }
        }
    }

    fn create(&self) -> Result<File, StateFileError> {
        let folder = self.folder();
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)
            .map_err(|e| self.io("make the folder of", e))?;
        let shared = file_system::shared(folder).map_err(|e| self.io("look at", e))?;
        self.check_shared(shared)?;
        // No truncation: another process may have made and used the file just now.
        let file = private::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&self.path)
            .map_err(|e| self.io("make", e))?;
        // A file whose name is not durable is forgotten by a power cut, and with it everything reserved.
        self.sync_folder()?;
        Ok(file)
    }

    fn folder(&self) -> &Path {
        match self.path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        }
    }

    fn sync_folder(&self) -> Result<(), StateFileError> {
        File::open(self.folder())
            .and_then(|folder| folder.sync_all())
            .map_err(|e| self.io("sync the folder of", e))
    }

    fn check_shared(&self, found: Option<&'static str>) -> Result<(), StateFileError> {
        match found.filter(|kind| !self.allowed.iter().any(|allowed| allowed == kind)) {
            None => Ok(()),
            Some(kind) => Err(StateFileError::Shared {
                path: self.path.clone(),
                kind,
            }),
        }
    }

    fn still_ours(&self, file: &File) -> Result<bool, StateFileError> {
        let open = file.metadata().map_err(|e| self.io("read", e))?;
        match self.path.symlink_metadata() {
            Ok(named) => Ok((named.dev(), named.ino()) == (open.dev(), open.ino())),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(e) => Err(self.io("read", e)),
        }
    }

    /// The newest whole slot of these bytes of the file, and its write number; `None` for a file that was never
    /// written.
    ///
    /// Public for the fuzzers alone: they judge a million contents, which files would make slow.
    #[doc(hidden)]
    pub fn newest(&self, bytes: &[u8]) -> Result<Option<(u64, Found)>, StateFileError> {
        if bytes.is_empty() {
            return Ok(None);
        }
        if bytes.len() > FILE_BYTES {
            return Err(StateFileError::Foreign {
                path: self.path.clone(),
            });
        }
        let slots = [0, 1].map(|i| decode(bytes.get(i * SLOT_BYTES..).unwrap_or_default()));
        let twin_damaged = slots.contains(&Slot::Damaged);
        let whole = slots.into_iter().filter_map(|slot| match slot {
            Slot::Whole { number, payload } => Some((number, payload)),
            Slot::Empty | Slot::Damaged => None,
        });
        match whole.max_by_key(|(number, _)| *number) {
            Some((number, payload)) => Ok(Some((
                number,
                Found {
                    payload,
                    twin_damaged,
                    put_back: false,
                },
            ))),
            None => Err(StateFileError::Damaged {
                path: self.path.clone(),
            }),
        }
    }

    fn io(&self, step: &'static str, source: io::Error) -> StateFileError {
        StateFileError::Io {
            step,
            path: self.path.clone(),
            source,
        }
    }
}

/// The folder for state files of this user: `$XDG_STATE_HOME/mintage`, else `~/.local/state/mintage`.
///
/// `None` when neither variable names an absolute path.
pub fn user_state_folder(xdg_state_home: Option<&Path>, home: Option<&Path>) -> Option<PathBuf> {
    // The XDG specification: relative paths are invalid and ignored.
    let absolute = |p: &&Path| p.is_absolute();
    match (xdg_state_home.filter(absolute), home.filter(absolute)) {
        (Some(state), _) => Some(state.join("mintage")),
        (None, Some(home)) => Some(home.join(".local/state/mintage")),
        (None, None) => None,
    }
}

/// The folder of the store that nobody named, the same wherever a command is started: `$XDG_DATA_HOME/mint`, else
/// `/var/lib/mint` for root and `~/.local/share/mint` for everybody else.
///
/// `None` when no variable names an absolute path.
pub fn default_data_folder(
    is_root: bool,
    xdg_data_home: Option<&Path>,
    home: Option<&Path>,
) -> Option<PathBuf> {
    let absolute = |p: &&Path| p.is_absolute();
    match (xdg_data_home.filter(absolute), home.filter(absolute)) {
        (Some(data), _) => Some(data.join("mint")),
        (None, _) if is_root => Some(PathBuf::from("/var/lib/mint")),
        (None, home) => home.map(|home| home.join(".local/share/mint")),
    }
}

#[derive(PartialEq, Eq, Debug)]
enum Slot {
    Empty,
    Damaged,
    Whole { number: u64, payload: String },
}

fn encode(number: u64, payload: &[u8]) -> Result<[u8; SLOT_BYTES], StateFileError> {
    if payload.len() > PAYLOAD_MAX_BYTES {
        return Err(StateFileError::TooLong { bytes: payload.len() });
    }
    let mut slot = [0; SLOT_BYTES];
    slot[..8].copy_from_slice(MAGIC);
    slot[8..16].copy_from_slice(&number.to_be_bytes());
    slot[16..20].copy_from_slice(&(payload.len() as u32).to_be_bytes());
    slot[HEADER_BYTES..HEADER_BYTES + payload.len()].copy_from_slice(payload);
    let sum = checksum(&slot);
    slot[20..24].copy_from_slice(&sum.to_be_bytes());
    Ok(slot)
}

fn decode(bytes: &[u8]) -> Slot {
    let bytes = &bytes[..bytes.len().min(SLOT_BYTES)];
    if bytes.iter().all(|b| *b == 0) {
        return Slot::Empty;
    }
    let Ok(slot) = <&[u8; SLOT_BYTES]>::try_from(bytes) else {
        return Slot::Damaged;
    };
    let word = |at: usize| u32::from_be_bytes([slot[at], slot[at + 1], slot[at + 2], slot[at + 3]]);
    let number = u64::from(word(8)) << 32 | u64::from(word(12));
    let len = word(16) as usize;
    if &slot[..8] != MAGIC || word(20) != checksum(slot) || len > PAYLOAD_MAX_BYTES {
        return Slot::Damaged;
    }
    match std::str::from_utf8(&slot[HEADER_BYTES..HEADER_BYTES + len]) {
        Ok(payload) => Slot::Whole {
            number,
            payload: payload.to_string(),
        },
        Err(_) => Slot::Damaged,
    }
}

/// CRC-32C of the whole slot but the magic and the checksum itself.
fn checksum(slot: &[u8; SLOT_BYTES]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&slot[8..20]), &slot[HEADER_BYTES..])
}

const MAGIC: &[u8; 8] = b"MINTREG1";
/// More than a note has.
const NOTE_BYTES_MAX: u64 = 128;
const HEADER_BYTES: usize = 24;
const SLOT_BYTES: usize = 1024;
const FILE_BYTES: usize = 2 * SLOT_BYTES;

#[cfg(test)]
mod tests {
    use mintage_testing::invariant;

    use super::*;

    fn bump(file: &StateFile) -> Result<(u64, bool), StateFileError> {
        file.update(|found| {
            let twin_damaged = found.as_ref().is_some_and(|f| f.twin_damaged);
            let last: u64 = found.map_or(0, |f| f.payload.parse().expect("a number was written"));
            Ok((Some((last + 1).to_string()), (last + 1, twin_damaged)))
        })
    }

    fn fresh() -> (tempfile::TempDir, StateFile) {
        let folder = tempfile::tempdir().unwrap();
        let file = StateFile::new(folder.path().join("a/b/state"));
        (folder, file)
    }

    #[test]
    fn threads_that_share_a_file_never_read_the_same_payload() {
        let (_folder, file) = fresh();
        let mut seen: Vec<u64> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8)
                .map(|_| scope.spawn(|| (0..50).map(|_| bump(&file).unwrap().0).collect::<Vec<_>>()))
                .collect();
            threads.into_iter().flat_map(|t| t.join().unwrap()).collect()
        });
        seen.sort_unstable();
        invariant!(seen.iter().copied().eq(1..=400), "lost or twice: {seen:?}");
    }

    #[test]
    fn an_update_that_fails_or_writes_nothing_leaves_the_payload() {
        let (_folder, file) = fresh();
        bump(&file).unwrap();
        let refused = file.update::<(), StateFileError>(|_| Err(StateFileError::TooLong { bytes: 7 }));
        assert!(matches!(refused, Err(StateFileError::TooLong { bytes: 7 })));
        let too_long = "x".repeat(PAYLOAD_MAX_BYTES + 1);
        assert!(
            file.update::<_, StateFileError>(|_| Ok((Some(too_long), ())))
                .is_err()
        );
        file.update::<_, StateFileError>(|_| Ok((None, ()))).unwrap();
        assert_eq!(bump(&file).unwrap().0, 2);
        let longest = "9".repeat(PAYLOAD_MAX_BYTES);
        file.update::<_, StateFileError>(|_| Ok((Some(longest.clone()), ())))
            .unwrap();
        let read = file
            .update::<_, StateFileError>(|found| Ok((None, found.unwrap().payload)))
            .unwrap();
        assert_eq!(read, longest);
    }

    /// Every single flipped bit of either slot is noticed: the other slot stands and the caller is told, or,
    /// with both slots hit, the file is refused.
    #[test]
    fn no_flipped_bit_passes_for_a_payload() {
        let (_folder, file) = fresh();
        for _ in 0..4 {
            bump(&file).unwrap();
        }
        let good = fs::read(file.path()).unwrap();
        for byte in 0..HEADER_BYTES + 8 {
            for slot in [0, SLOT_BYTES] {
                let mut bad = good.clone();
                bad[slot + byte] ^= 1 << (byte % 8);
                fs::write(file.path(), &bad).unwrap();
                let (next, twin_damaged) = bump(&file).unwrap();
                assert!(twin_damaged, "byte {byte} of the slot at {slot}");
                assert_eq!(next, if slot == 0 { 4 } else { 5 });
            }
            let mut bad = good.clone();
            bad[byte] ^= 0x10;
            bad[SLOT_BYTES + byte] ^= 0x10;
            fs::write(file.path(), &bad).unwrap();
            assert!(matches!(bump(&file), Err(StateFileError::Damaged { .. })));
        }
    }

    /// A state file put back from a copy was taken in silence, and its ids came again.
    #[test]
    fn a_file_that_was_put_back_is_noticed_however_it_was_done() {
        let put_back = |file: &StateFile| {
            let seen = file.update::<_, StateFileError>(|found| {
                let found = found.expect("it was written");
                Ok((Some(found.payload.clone()), found.put_back))
            });
            seen.unwrap()
        };
        let cp = |from: &Path, to: &Path| {
            let copied = std::process::Command::new("cp")
                .arg("-a")
                .args([from, to])
                .status();
            assert!(copied.unwrap().success());
        };
        let (folder, file) = fresh();
        let (note, kept) = (file.note_path(), folder.path().join("kept"));
        fs::create_dir(&kept).unwrap();
        bump(&file).unwrap();
        assert!(!put_back(&file), "as it was left");
        cp(file.path(), &kept.join("state"));
        cp(&note, &kept.join("note"));
        bump(&file).unwrap();
        assert!(!put_back(&file));

        let over_it: &dyn Fn() = &|| cp(&kept.join("state"), file.path());
        let in_its_place: &dyn Fn() = &|| {
            cp(&kept.join("state"), &kept.join("new"));
            fs::rename(kept.join("new"), file.path()).unwrap();
        };
        let both: &dyn Fn() = &|| {
            cp(&kept.join("state"), file.path());
            cp(&kept.join("note"), &note);
        };
        let without_a_note: &dyn Fn() = &|| {
            fs::remove_file(&note).unwrap();
            cp(&kept.join("state"), file.path());
        };
        let all_anew: &dyn Fn() = &|| {
            fs::remove_dir_all(file.folder()).unwrap();
            fs::create_dir(file.folder()).unwrap();
            cp(&kept.join("state"), file.path());
            cp(&kept.join("note"), &note);
        };
        for (how, put) in [
            ("over it", over_it),
            ("in its place", in_its_place),
            ("with its note", both),
            ("without a note", without_a_note),
            ("in a new folder", all_anew),
        ] {
            put();
            assert!(put_back(&file), "{how}");
            assert!(!put_back(&file), "{how}: told once");
        }
        // A note that was cut short says nothing.
        fs::write(&note, "1").unwrap();
        assert!(put_back(&file));
    }

    #[test]
    fn a_cut_foreign_or_overlong_file_is_refused_and_an_empty_one_is_fresh() {
        let (_folder, file) = fresh();
        for _ in 0..3 {
            bump(&file).unwrap();
        }
        let good = fs::read(file.path()).unwrap();
        for (bytes, what) in [
            (good[..SLOT_BYTES - 1].to_vec(), "damaged"),
            (b"hello".to_vec(), "damaged"),
            (vec![0; FILE_BYTES], "damaged"),
            ([good.as_slice(), b"x"].concat(), "not a state file"),
        ] {
            fs::write(file.path(), &bytes).unwrap();
            let said = bump(&file).unwrap_err().to_string();
            assert!(said.contains(what), "{said}");
        }
        fs::write(file.path(), &good[..SLOT_BYTES + 40]).unwrap();
        assert_eq!(bump(&file).unwrap(), (3, true));
        fs::write(file.path(), b"").unwrap();
        assert_eq!(bump(&file).unwrap(), (1, false));
    }

    #[test]
    fn the_data_folder_is_one_place_wherever_a_command_is_started() {
        let rows = [
            (false, Some("/data"), Some("/own"), Some("/data/mint")),
            (true, Some("/data"), Some("/root"), Some("/data/mint")),
            (true, None, Some("/root"), Some("/var/lib/mint")),
            (true, Some("relative"), None, Some("/var/lib/mint")),
            (
                false,
                Some("relative"),
                Some("/own"),
                Some("/own/.local/share/mint"),
            ),
            (false, None, Some(""), None),
            (false, None, None, None),
        ];
        for (is_root, xdg, home, folder) in rows {
            let p = |text| Path::new(text);
            let found = default_data_folder(is_root, xdg.map(p), home.map(p));
            assert_eq!(found.as_deref(), folder.map(p), "{is_root} {xdg:?} {home:?}");
        }
    }

    #[test]
    fn the_state_folder_follows_xdg() {
        let p = Path::new;
        for (xdg, home, want) in [
            (Some("/s"), Some("/h"), Some("/s/mintage")),
            (None, Some("/h"), Some("/h/.local/state/mintage")),
            (Some("relative"), Some("/h"), Some("/h/.local/state/mintage")),
            (None, None, None),
        ] {
            assert_eq!(
                user_state_folder(xdg.map(p), home.map(p)),
                want.map(PathBuf::from)
            );
        }
    }
}
