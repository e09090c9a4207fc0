//! What this machine has seen of a shared store, from one process to the next: a store that shows less at a start
//! was set back, however it was done.
//!
//! ```text
//!   STATE/clusters/5f0c….json     which cluster it is, and why a process of this machine stopped for good
//!   STATE/clusters/5f0c….seen-0   what one process after the other saw; -1, -2 … where several run at once
//!
//!     counter 1799999999000 4711                 the store's change counter (`guard/progress`), once a second
//!     mark 17 4000 8c1f…32 digits seq/orders     what was reserved since: version, mark and token of the register
//! ```
//!
//! A line of a reservation is written before anybody sees a number of it, and is in the kernel's hands then: a
//! process that is killed has left it behind. Counters are synced to disk too, by a thread of their own. What was
//! reserved before the counter moved twice needs no line: any copy of the store from before has a lower counter.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::pin::Pins;
use super::{Key, Version};
use crate::runtime::Runtime;

/// How many processes of one machine remember what they reserve of one store; one more remembers nothing.
const SLOTS: u32 = 64;
/// A file that has grown past this is written anew with what still counts.
const FILE_MAX_BYTES: usize = 1 << 20;

/// How far a store has come: what every server raises about once a second, and how often it was restored properly.
/// A copy of the store from before is lower; one that `mint store restore` has raised is higher.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub struct Progress {
    /// Raised by every proper restore, at least to its time in milliseconds since 1970.
    pub restores: u64,
    /// Raised once a second.
    pub counter: u64,
}

/// A register as it was reserved from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reserved {
    /// The version.
    pub version: Version,
    /// The mark.
    pub mark: u64,
    /// The token of the attempt that wrote it.
    pub token: u128,
}

/// What was seen before.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Known {
    /// How far it has come.
    pub progress: Progress,
    /// What was reserved last, since the last proper restore.
    pub marks: HashMap<Key, Reserved>,
    /// Why a process of this machine stopped for good, unless the store was restored properly since.
    pub stopped: Option<(u64, String)>,
}

impl Known {
    /// How far restores were, by anything that is known.
    pub fn restores(&self) -> u64 {
        let stopped = self.stopped.as_ref().map_or(0, |(restores, _)| *restores);
        self.progress.restores.max(stopped)
    }
}

/// What this machine has seen of one shared store.
#[derive(Debug)]
pub struct Seen {
    pins: Pins,
    url: String,
    runtime: Arc<dyn Runtime>,
    slot: Mutex<Slot>,
}

#[derive(Debug, Default)]
struct Slot {
    /// This process's own file, and who syncs it; `None` before the first line.
    file: Option<(File, PathBuf, Sender<File>)>,
    /// It could not be written: nothing more is, and this was said.
    failed: bool,
    bytes: usize,
    noted: Progress,
    /// Reserved since the counter moved last, and since it moved before.
    marks: [HashMap<Key, Reserved>; 2],
}

impl Seen {
    /// What is remembered of the store at `url`, in the folder of `pins`.
    pub fn new(pins: Pins, url: &str, runtime: Arc<dyn Runtime>) -> Arc<Seen> {
        Arc::new(Seen {
            pins,
            url: url.to_string(),
            runtime,
            slot: Mutex::default(),
        })
    }

    /// The store as it is named to people.
    pub fn place(&self) -> String {
        super::shown::shown_url(&self.url)
    }

    /// Reads what all processes of this machine have seen.
    ///
    /// # Errors
    /// A file is there and cannot be read.
    pub fn known(&self) -> Result<Known, super::StoreError> {
        let mut known = Known {
            stopped: self.pins.stopped(&self.url)?,
            ..Known::default()
        };
        for number in 0..SLOTS {
            let path = self.path(number);
            match fs::read(&path) {
                Ok(bytes) => read(&bytes, &mut known),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(super::pin::refused(&path, &error.to_string())),
            }
        }
        known.stopped = known
            .stopped
            .filter(|(restores, _)| *restores >= known.progress.restores);
        Ok(known)
    }

    /// Notes that minting has ended for good while the store had been restored `restores` times. On disk when this
    /// returns, where it can be.
    pub fn stop(&self, restores: u64, why: &str) {
        if let Err(error) = self.pins.stop(&self.url, restores, why) {
            tracing::error!(%error, "cannot note on this machine why minting stopped for good");
        }
    }

    /// Notes a reservation, before anybody sees a number of it.
    pub fn reserved(&self, key: &Key, mark: Reserved) {
        let mut slot = self.slot();
        let line = mark_line(key, &mark);
        slot.marks[0].insert(key.clone(), mark);
        self.append(&mut slot, &line);
    }

    /// Notes how far the store has come; synced soon after.
    pub fn advance(&self, progress: Progress) {
        let mut slot = self.slot();
        if progress <= slot.noted {
            return;
        }
        let restored = progress.restores > slot.noted.restores;
        slot.noted = progress;
        let recent = std::mem::take(&mut slot.marks[0]);
        slot.marks[1] = if restored { HashMap::new() } else { recent };
        let line = counter_line(progress);
        if slot.bytes > FILE_MAX_BYTES {
            self.write_anew(&mut slot);
        } else {
            self.append(&mut slot, &line);
        }
        if let Some((file, _, syncer)) = &slot.file
            && let Ok(handle) = file.try_clone()
        {
            // Gone only with its thread, which costs the sync.
            let _ = syncer.send(handle);
        }
    }

    /// Takes over what was known when this process began, so that its own file says no less.
    pub fn begin(&self, known: &Known) {
        let mut slot = self.slot();
        slot.noted = known.progress;
        slot.marks = [known.marks.clone(), HashMap::new()];
        if slot.noted > Progress::default() {
            self.write_anew(&mut slot);
        }
    }

    /// Closes the file as the end of the process does, which a simulated one has not.
    #[cfg(any(test, feature = "testing"))]
    pub fn let_go(&self) {
        let mut slot = self.slot();
        slot.file = None;
        slot.failed = true;
    }

    fn slot(&self) -> MutexGuard<'_, Slot> {
        self.slot.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn path(&self, number: u32) -> PathBuf {
        self.pins.file(&self.url).with_extension(format!("seen-{number}"))
    }

    fn append(&self, slot: &mut Slot, line: &str) {
        if slot.failed {
            return;
        }
        let written = match &mut slot.file {
            Some((file, _, _)) => file.write_all(line.as_bytes()).map(|()| line.len()),
            None => return self.write_anew(slot),
        };
        self.judge(slot, written);
    }

    /// Writes the whole file: this process's own, taken at the first time.
    fn write_anew(&self, slot: &mut Slot) {
        if slot.failed {
            return;
        }
        let mut text = counter_line(slot.noted);
        for marks in &slot.marks {
            text.extend(marks.iter().map(|(key, mark)| mark_line(key, mark)));
        }
        let written = match &slot.file {
            Some((_, path, _)) => replace(path, &text).map(Some),
            None => self.take_slot(&text),
        };
        let written = written.map(|new| {
            let (path, syncer) = match (slot.file.take(), &new) {
                (Some((_, path, syncer)), _) => (path, syncer),
                (None, Some((_, path))) => (path.clone(), self.start_syncer()),
                (None, None) => return 0,
            };
            slot.file = new.map(|(file, _)| (file, path, syncer));
            slot.bytes = 0;
            text.len()
        });
        self.judge(slot, written);
    }

    fn judge(&self, slot: &mut Slot, written: io::Result<usize>) {
        match written {
            Ok(bytes) => slot.bytes += bytes,
            Err(error) => {
                slot.failed = true;
                tracing::warn!(
                    %error, store = self.place(),
                    "this machine cannot remember what it saw of the store: a store that is set back may not be noticed"
                );
            }
        }
    }

    /// The first file that no other process has.
    fn take_slot(&self, text: &str) -> io::Result<Option<(File, PathBuf)>> {
        fs::create_dir_all(self.pins.folder())?;
        for number in 0..SLOTS {
            let path = self.path(number);
            let held = open(&path)?;
            match held.try_lock() {
                // Another process may have put its own in the place of what was opened.
                Ok(()) if held.metadata()?.ino() != fs::metadata(&path)?.ino() => {}
                Ok(()) => return replace(&path, text).map(Some),
                Err(fs::TryLockError::WouldBlock) => {}
                Err(fs::TryLockError::Error(error)) => return Err(error),
            }
        }
        Err(io::Error::other(format!(
            "{SLOTS} processes of this machine use it already"
        )))
    }

    fn start_syncer(&self) -> Sender<File> {
        let (sender, files) = channel::<File>();
        let work = move || {
            while let Ok(file) = files.recv() {
                // What came meanwhile is the same file.
                let newest = files.try_iter().last().unwrap_or(file);
                let _ = newest.sync_data();
            }
        };
        if let Err(error) = self.runtime.spawn_thread("mint-seen", Box::new(work)) {
            tracing::warn!(%error, "what was seen of the store is not synced to disk");
        }
        sender
    }
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).create(true).open(path)
}

/// Puts a new file in the place of ours, held before anybody can find it.
fn replace(path: &Path, text: &str) -> io::Result<(File, PathBuf)> {
    let draft = path.with_extension(format!("{}.new", std::process::id()));
    let _ = fs::remove_file(&draft);
    let mut file = open(&draft)?;
    file.try_lock().map_err(io::Error::other)?;
    file.write_all(text.as_bytes())?;
    fs::rename(&draft, path)?;
    Ok((file, path.to_path_buf()))
}

fn counter_line(progress: Progress) -> String {
    format!("counter {} {}\n", progress.restores, progress.counter)
}

fn mark_line(key: &Key, mark: &Reserved) -> String {
    format!(
        "mark {} {} {:032x} {key}\n",
        mark.version.number(),
        mark.mark,
        mark.token
    )
}

/// Takes in what one file says. A line that was cut off says nothing: nobody saw what it was written for.
fn read(bytes: &[u8], known: &mut Known) {
    let text = String::from_utf8_lossy(bytes);
    let mut restores = None;
    for line in text
        .split_inclusive('\n')
        .filter_map(|line| line.strip_suffix('\n'))
    {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["counter", found, counter] => {
                let (Ok(found), Ok(counter)) = (found.parse(), counter.parse()) else {
                    continue;
                };
                if found > known.progress.restores {
                    // What was reserved before the store was restored says nothing of what it is now.
                    known.marks.clear();
                }
                known.progress = known.progress.max(Progress {
                    restores: found,
                    counter,
                });
                restores = Some(found);
            }
            ["mark", version, mark, token, key] if restores == Some(known.progress.restores) => {
                let (Ok(version), Ok(mark), Ok(token), Ok(key)) = (
                    version.parse(),
                    mark.parse(),
                    u128::from_str_radix(token, 16),
                    Key::new(key),
                ) else {
                    continue;
                };
                let new = Reserved {
                    version: Version::of(version),
                    mark,
                    token,
                };
                let newest = known.marks.entry(key).or_insert(new);
                if newest.version < new.version {
                    *newest = new;
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::disallowed_methods)]

    use super::*;
    use crate::runtime::SystemRuntime;

    const URL: &str = "redis://h/";

    fn with_seen(test: impl FnOnce(&Path, &dyn Fn() -> Arc<Seen>)) {
        let tokio = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let runtime = SystemRuntime::new(tokio.handle().clone());
        test(folder.path(), &|| {
            Seen::new(Pins::in_folder(folder.path()), URL, runtime.clone())
        });
    }

    fn at(restores: u64, counter: u64) -> Progress {
        Progress { restores, counter }
    }

    fn mark(version: u64, mark: u64) -> Reserved {
        Reserved {
            version: Version::of(version),
            mark,
            token: 7,
        }
    }

    #[test]
    fn the_next_process_knows_what_the_last_one_saw() {
        with_seen(|_, process| {
            let key = Key::new("seq/a").unwrap();
            let seen = process();
            assert_eq!(seen.known().unwrap(), Known::default());
            seen.advance(at(0, 5));
            seen.reserved(&key, mark(3, 100));
            seen.reserved(&key, mark(4, 200));
            drop(seen);
            let seen = process();
            let known = seen.known().unwrap();
            assert_eq!(known.progress, at(0, 5));
            assert_eq!(known.marks[&key], mark(4, 200));
            seen.begin(&known);
            drop(seen);
            assert_eq!(process().known().unwrap(), known, "taking it over loses nothing");
        });
    }

    #[test]
    fn processes_at_once_have_a_file_each_and_the_highest_counts() {
        with_seen(|_, process| {
            let (a, b) = (process(), process());
            a.advance(at(0, 5));
            b.advance(at(0, 9));
            a.advance(at(0, 7));
            let key = Key::new("seq/a").unwrap();
            b.reserved(&key, mark(3, 100));
            a.reserved(&key, mark(2, 50));
            let known = process().known().unwrap();
            assert_eq!((known.progress, known.marks[&key]), (at(0, 9), mark(3, 100)));
        });
    }

    #[test]
    fn a_file_that_grew_is_written_anew_with_what_the_counter_does_not_cover() {
        with_seen(|folder, process| {
            let seen = process();
            seen.advance(at(0, 1));
            let key = |n: u64| Key::new(format!("seq/{n}")).unwrap();
            seen.reserved(&key(0), mark(1, 1));
            seen.advance(at(0, 2));
            seen.advance(at(0, 3));
            for n in 1..20_000 {
                seen.reserved(&key(n), mark(1, n));
            }
            seen.advance(at(0, 4));
            let known = process().known().unwrap();
            assert_eq!(known.progress, at(0, 4));
            assert!(
                !known.marks.contains_key(&key(0)),
                "any copy from before has a lower counter"
            );
            assert_eq!(known.marks.len(), 19_999);
            seen.advance(at(0, 5));
            seen.advance(at(0, 6));
            let bytes: u64 = fs::read_dir(folder.join("clusters"))
                .unwrap()
                .map(|entry| entry.unwrap().metadata().unwrap().len())
                .sum();
            assert!(bytes < FILE_MAX_BYTES as u64, "{bytes}");
        });
    }

    #[test]
    fn a_proper_restore_ends_what_was_known_of_marks_and_of_the_stop() {
        with_seen(|folder, process| {
            Pins::in_folder(folder).remember(URL, 7).unwrap();
            let seen = process();
            seen.advance(at(3, 5));
            let key = Key::new("seq/a").unwrap();
            seen.reserved(&key, mark(3, 100));
            seen.stop(3, "it was set back");
            assert_eq!(
                process().known().unwrap().stopped,
                Some((3, "it was set back".to_string()))
            );
            seen.advance(at(4, 1));
            let known = process().known().unwrap();
            assert_eq!(known.progress, at(4, 1));
            assert!(known.marks.is_empty() && known.stopped.is_none(), "{known:?}");
        });
    }

    #[test]
    fn a_line_that_was_cut_off_says_nothing() {
        let mut known = Known::default();
        read(
            b"counter 0 7\nmark 1 5 07 seq/a\nnonsense\nmark 2 9 07 seq/",
            &mut known,
        );
        assert_eq!(known.progress, at(0, 7));
        let marks: Vec<u64> = known.marks.values().map(|mark| mark.mark).collect();
        assert_eq!(marks, [5]);
    }
}
