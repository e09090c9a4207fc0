//! Sorting more records than memory holds: sorted runs in temporary files, then one merge.
//!
//! While one buffer fills, a thread sorts the other and writes it. What fits one buffer never touches the disk. The
//! files have no name, so that nothing is left behind however the process ends.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use crate::error::Error;
use crate::hint::Hint;

/// A record of a fixed size, smaller ones first.
pub(crate) trait Record: Ord + Copy + Send + 'static {
    /// Its size on the disk.
    const BYTES: usize;
    fn put(&self, out: &mut [u8]);
    fn get(from: &[u8]) -> Self;
}

/// Takes records in any order.
pub(crate) struct Sorter<R: Record> {
    folder: PathBuf,
    filling: Vec<R>,
    capacity: usize,
    thread: Option<SortThread<R>>,
    runs: Vec<File>,
    count: u64,
    spilled: u64,
}

/// The thread that sorts and writes, one buffer at a time.
struct SortThread<R> {
    full: SyncSender<Vec<R>>,
    done: Receiver<io::Result<(Vec<R>, File)>>,
    busy: bool,
}

impl<R: Record> Sorter<R> {
    /// Uses about this much memory, and files in this folder.
    pub(crate) fn new(memory_bytes: usize, folder: &Path) -> Sorter<R> {
        let capacity = (memory_bytes / 2 / size_of::<R>()).max(1024);
        Sorter {
            folder: folder.to_path_buf(),
            // The system gives the pages when they are written to.
            filling: Vec::with_capacity(capacity),
            capacity,
            thread: None,
            runs: Vec::new(),
            count: 0,
            spilled: 0,
        }
    }

    #[inline]
    pub(crate) fn push(&mut self, record: R) -> Result<(), Error> {
        if self.filling.len() == self.capacity {
            self.spill()?;
        }
        self.filling.push(record);
        self.count += 1;
        Ok(())
    }

    /// Hands the full buffer to the thread and takes the one it emptied.
    #[cold]
    fn spill(&mut self) -> Result<(), Error> {
        let folder = self.folder.clone();
        let thread = self.thread.get_or_insert_with(|| SortThread::start(folder));
        let next = match thread.busy {
            true => thread.take(&mut self.runs, &self.folder)?,
            false => Vec::with_capacity(self.capacity),
        };
        let full = std::mem::replace(&mut self.filling, next);
        self.spilled += (full.len() * R::BYTES) as u64;
        thread.full.send(full).map_err(|_| gone())?;
        thread.busy = true;
        Ok(())
    }

    /// All records, in order.
    pub(crate) fn finish(mut self) -> Result<Sorted<R>, Error> {
        if let Some(mut thread) = self.thread.take()
            && thread.busy
        {
            // The thread sorts the buffer before while this one sorts the last.
            self.filling.sort_unstable();
            thread.take(&mut self.runs, &self.folder)?;
        } else {
            self.filling.sort_unstable();
        }
        while self.runs.len() > RUNS_MAX {
            let rest = self.runs.split_off(RUNS_MAX);
            let some = std::mem::replace(&mut self.runs, rest);
            let merged = Sorted::<R>::new(some, Vec::new(), 0, 0, &self.folder)?.write(&self.folder)?;
            self.runs.push(merged);
        }
        Sorted::new(self.runs, self.filling, self.count, self.spilled, &self.folder)
    }
}

impl<R: Record> SortThread<R> {
    fn start(folder: PathBuf) -> SortThread<R> {
        let (full, full_out) = sync_channel::<Vec<R>>(1);
        let (done_in, done) = sync_channel(1);
        thread::spawn(move || {
            while let Ok(mut run) = full_out.recv() {
                run.sort_unstable();
                let written = write_run(&run, &folder).map(|file| {
                    run.clear();
                    (run, file)
                });
                if done_in.send(written).is_err() {
                    return;
                }
            }
        });
        SortThread {
            full,
            done,
            busy: false,
        }
    }

    fn take(&mut self, runs: &mut Vec<File>, folder: &Path) -> Result<Vec<R>, Error> {
        self.busy = false;
        let (emptied, file) = self
            .done
            .recv()
            .map_err(|_| gone())?
            .map_err(|e| cannot(folder, &e))?;
        runs.push(file);
        Ok(emptied)
    }
}

fn write_run<R: Record>(run: &[R], folder: &Path) -> io::Result<File> {
    let mut out = BufWriter::with_capacity(WRITE_BYTES, tempfile::tempfile_in(folder)?);
    let mut bytes = vec![0; R::BYTES];
    for record in run {
        record.put(&mut bytes);
        out.write_all(&bytes)?;
    }
    out.into_inner().map_err(io::IntoInnerError::into_error)
}

fn cannot(folder: &Path, error: &io::Error) -> Error {
    Error {
        hint: Some(Hint::TempFolder),
        ..Error::file("keep temporary data in", folder, error)
    }
}

fn gone() -> Error {
    Error::io("cannot sort", &io::Error::other("the sorting thread ended"))
}

/// Records in order.
pub(crate) struct Sorted<R: Record> {
    folder: PathBuf,
    runs: Vec<SortedRun<R>>,
    /// The first record of each run; `None` at its end. The last one is the run in memory.
    heads: Vec<Option<R>>,
    /// A tournament over the heads: `tree[0]` is the winner, the others are the losers of their matches.
    tree: Vec<usize>,
    count: u64,
    spilled: u64,
}

enum SortedRun<R> {
    File(BufReader<File>, Vec<u8>),
    Memory(std::vec::IntoIter<R>),
}

impl<R: Record> SortedRun<R> {
    #[inline]
    fn next(&mut self) -> io::Result<Option<R>> {
        match self {
            SortedRun::Memory(records) => Ok(records.next()),
            SortedRun::File(file, bytes) => match file.read_exact(bytes) {
                Ok(()) => Ok(Some(R::get(bytes))),
                Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
                Err(e) => Err(e),
            },
        }
    }
}

impl<R: Record> Sorted<R> {
    fn new(
        files: Vec<File>,
        memory: Vec<R>,
        count: u64,
        spilled: u64,
        folder: &Path,
    ) -> Result<Sorted<R>, Error> {
        let mut runs = Vec::with_capacity(files.len() + 1);
        for mut file in files {
            file.seek(SeekFrom::Start(0)).map_err(|e| cannot(folder, &e))?;
            runs.push(SortedRun::File(
                BufReader::with_capacity(READ_BYTES / R::BYTES * R::BYTES, file),
                vec![0; R::BYTES],
            ));
        }
        runs.push(SortedRun::Memory(memory.into_iter()));
        let mut heads = Vec::with_capacity(runs.len());
        for run in &mut runs {
            heads.push(run.next().map_err(|e| cannot(folder, &e))?);
        }
        let mut sorted = Sorted {
            folder: folder.to_path_buf(),
            tree: vec![usize::MAX; runs.len()],
            runs,
            heads,
            count,
            spilled,
        };
        for run in 0..sorted.runs.len() {
            sorted.play(run);
        }
        Ok(sorted)
    }

    /// How many records there are in all.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// How many bytes went through temporary files.
    pub(crate) fn spilled(&self) -> u64 {
        self.spilled
    }

    #[inline]
    pub(crate) fn next(&mut self) -> Result<Option<R>, Error> {
        let winner = self.tree[0];
        let Some(record) = self.heads[winner] else {
            return Ok(None);
        };
        self.heads[winner] = self.runs[winner].next().map_err(|e| cannot(&self.folder, &e))?;
        if self.runs.len() > 1 {
            self.play(winner);
        }
        Ok(Some(record))
    }

    /// Lets a run play its way up; in the first round, empty places take the first comer.
    #[inline]
    fn play(&mut self, run: usize) {
        let places = self.tree.len();
        let mut winner = run;
        let mut place = (run + places) / 2;
        while place > 0 {
            let other = self.tree[place];
            if other == usize::MAX {
                self.tree[place] = winner;
                return;
            }
            if self.before(other, winner) {
                self.tree[place] = winner;
                winner = other;
            }
            place /= 2;
        }
        self.tree[0] = winner;
    }

    #[inline]
    fn before(&self, a: usize, b: usize) -> bool {
        match (&self.heads[a], &self.heads[b]) {
            (Some(a), Some(b)) => a < b,
            (a, _) => a.is_some(),
        }
    }

    /// Writes all of it as one run.
    fn write(mut self, folder: &Path) -> Result<File, Error> {
        let file = tempfile::tempfile_in(folder).map_err(|e| cannot(folder, &e))?;
        let mut out = BufWriter::with_capacity(WRITE_BYTES, file);
        let mut bytes = vec![0; R::BYTES];
        while let Some(record) = self.next()? {
            record.put(&mut bytes);
            out.write_all(&bytes).map_err(|e| cannot(folder, &e))?;
        }
        out.into_inner().map_err(|e| cannot(folder, &e.into_error()))
    }
}

/// How many files are merged at once: more would not fit the buffers, nor the limit on open files.
const RUNS_MAX: usize = 256;
const READ_BYTES: usize = 256 * 1024;
const WRITE_BYTES: usize = 256 * 1024;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    impl Record for u64 {
        const BYTES: usize = 8;

        fn put(&self, out: &mut [u8]) {
            out.copy_from_slice(&self.to_be_bytes());
        }

        fn get(from: &[u8]) -> u64 {
            u64::from_be_bytes(*from.first_chunk().expect("eight bytes"))
        }
    }

    fn sorted(input: impl Iterator<Item = u64>, memory: usize) -> (Vec<u64>, u64) {
        let folder = tempfile::tempdir().unwrap();
        let mut sorter = Sorter::new(memory, folder.path());
        for record in input {
            sorter.push(record).unwrap();
        }
        let mut sorted = sorter.finish().unwrap();
        let mut out = Vec::new();
        while let Some(record) = sorted.next().unwrap() {
            out.push(record);
        }
        assert_eq!(out.len() as u64, sorted.count());
        assert_eq!(
            std::fs::read_dir(folder.path()).unwrap().count(),
            0,
            "nothing is left behind"
        );
        (out, sorted.spilled())
    }

    #[test]
    fn more_runs_than_can_be_merged_at_once_still_come_out_in_order() {
        let count = 1024 * (RUNS_MAX as u64 * 2 + 3) + 17;
        let (out, spilled) = sorted((0..count).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)), 0);
        assert!(out.is_sorted());
        assert_eq!(out.len() as u64, count);
        assert!(spilled > 0);
    }

    #[test]
    fn what_fits_memory_stays_there() {
        let (out, spilled) = sorted((0..1000).rev(), 1 << 20);
        assert_eq!((out, spilled), ((0..1000).collect(), 0));
    }

    proptest! {
        #[test]
        fn sorting_is_sorting(mut input in prop::collection::vec(0u64..50, 0..6000)) {
            let (out, _) = sorted(input.iter().copied(), 0);
            input.sort();
            prop_assert_eq!(out, input);
        }
    }

    #[test]
    fn a_folder_that_is_not_there_is_named() {
        let mut sorter = Sorter::new(0, Path::new("/nowhere/at/all"));
        let failed = (0..5000u64).find_map(|i| sorter.push(i).err());
        let error = failed.or_else(|| sorter.finish().err()).unwrap();
        assert!(error.message.contains("/nowhere/at/all"), "{error}");
        assert_eq!(error.hint, Some(Hint::TempFolder));
    }
}
