//! How far a folder got, noted a second time outside it: in the state folder of the user or the machine.
//!
//! ```text
//!   STATE/folders/5f0c….    00000000000000000042 9b1e… /var/lib/mint/mint-data
//!                           1793491200000
//! ```
//!
//! The second line is the time that ids had, in milliseconds since 1970: what a store that is put back or begun anew at
//! this place goes on from, where its own memory of it is older or gone.
//!
//! An image of a whole volume brings everything back that is on it, so only what lies elsewhere can tell. Written at a
//! start, with every heartbeat and at a stop, always after the witness has acknowledged: never ahead of it. Where
//! there is no state folder, or it cannot be written, there is no such protection.
//!
//! The notes tell too where a store was: one that is gone from there is not begun anew, since its volume may only not be
//! mounted.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, FileExt};
use std::path::{Path, PathBuf};

use mintage::Timestamp;

use super::private;

/// The note, open.
#[derive(Debug)]
pub(super) struct Elsewhere {
    file: File,
    /// Who wrote it last: one opening of the store.
    opening: u128,
    folder: String,
}

/// What was noted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Noted {
    pub(super) lsn: u64,
    pub(super) opening: u128,
    pub(super) folder: String,
    /// The time that ids had; older programs tell none.
    pub(super) time: Option<Timestamp>,
}

impl Elsewhere {
    /// Opens the note of the folder called `id`, and reads it; `None` if nothing whole is noted.
    pub(super) fn open(
        state: &Path,
        id: &str,
        folder: &Path,
        opening: u128,
    ) -> io::Result<(Elsewhere, Option<Noted>)> {
        let all = state.join("folders");
        DirBuilder::new()
            .recursive(true)
            .mode(private::FOLDER_MODE)
            .create(&all)?;
        let file = private::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(all.join(id))?;
        let note = Elsewhere {
            file,
            opening,
            folder: shown(folder),
        };
        let noted = note.read()?;
        Ok((note, noted))
    }

    /// Whether another opening has written since this one did: a copy of the folder is running.
    pub(super) fn other(&self) -> Option<Noted> {
        self.read()
            .ok()
            .flatten()
            .filter(|noted| noted.opening != self.opening)
    }

    /// Writes how far the folder got, and the time that ids have; synced if `now`.
    pub(super) fn note(&self, lsn: u64, time: Timestamp, now: bool) -> io::Result<()> {
        let time_ms = time.unix_millis();
        let line = format!("{lsn:020} {:032x} {}\n{time_ms}\n", self.opening, self.folder);
        self.file.write_all_at(line.as_bytes(), 0)?;
        self.file.set_len(line.len() as u64)?;
        if now { self.file.sync_data() } else { Ok(()) }
    }

    fn read(&self) -> io::Result<Option<Noted>> {
        let mut file = &self.file;
        io::Seek::rewind(&mut file)?;
        Noted::read(file)
    }
}

impl Noted {
    fn read(file: &File) -> io::Result<Option<Noted>> {
        let mut bytes = Vec::new();
        file.take(LINE_MAX_BYTES).read_to_end(&mut bytes)?;
        let text = String::from_utf8_lossy(&bytes);
        let mut lines = text.lines();
        let mut words = lines.next().unwrap_or_default().splitn(3, ' ');
        let time_ms = lines.next().and_then(|digits| digits.parse().ok());
        let mut noted = || {
            Some(Noted {
                lsn: words.next().filter(|digits| digits.len() == 20)?.parse().ok()?,
                opening: u128::from_str_radix(words.next().filter(|digits| digits.len() == 32)?, 16).ok()?,
                folder: words.next()?.to_string(),
                time: time_ms.map(Timestamp::from_unix_millis),
            })
        };
        Ok(noted())
    }
}

/// The notes of stores that were in this folder, and what they say.
pub(super) fn were_here(state: &Path, folder: &Path) -> Vec<(PathBuf, Noted)> {
    let here = shown(folder);
    let notes = fs::read_dir(state.join("folders"))
        .into_iter()
        .flatten()
        .flatten();
    let read = |path: PathBuf| {
        let noted = private::options().read(true).open(&path).ok()?;
        let noted = Noted::read(&noted).ok()??;
        Some((path, noted))
    };
    notes
        .filter_map(|note| read(note.path()))
        .filter(|(_, noted)| noted.folder == here)
        .collect()
}

/// The newest time that ids had of stores that were in this folder.
pub(super) fn newest_time(state: Option<&Path>, folder: &Path) -> Option<Timestamp> {
    let notes = were_here(state?, folder);
    notes.into_iter().filter_map(|(_, noted)| noted.time).max()
}

/// A folder's place without links, whether it is there or not, on one line.
fn shown(folder: &Path) -> String {
    let place = fs::canonicalize(folder).or_else(|_| {
        let folder = std::path::absolute(folder)?;
        let above = fs::canonicalize(folder.parent().unwrap_or(&folder))?;
        Ok::<_, io::Error>(above.join(folder.file_name().unwrap_or_default()))
    });
    let place = place.unwrap_or_else(|_| folder.to_path_buf());
    place.display().to_string().replace('\n', " ")
}

/// Longer than any path.
const LINE_MAX_BYTES: u64 = 8192;
