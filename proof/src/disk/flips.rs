//! Damage: every byte of a used folder changed, one at a time, and files of different ages put together. Either the
//! damage is found, or it does no harm; no mark is ever lower than what was acknowledged.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::judge::Said;
use super::work::Script;
use crate::dice::Dice;

/// What was tried.
#[derive(Clone, Debug, Default)]
pub struct Flips {
    /// Bytes that were changed, one at a time.
    pub bytes: u64,
    /// How many of the changes were refused at opening.
    pub detected: u64,
    /// Folders put together from files of two ages.
    pub mixed: u64,
    /// The first that was not as it must be.
    pub failure: Option<String>,
}

/// Changes every byte of a folder, in `every`-th steps where a file is large and empty.
///
/// # Errors
/// A folder could not be written.
pub fn run(program: &Path, seed: u64, threads: usize) -> Result<Flips, String> {
    let io = |e: std::io::Error| e.to_string();
    let scratch = super::scratch().map_err(io)?;
    let (early, late) = (scratch.path().join("early"), scratch.path().join("late"));
    let life = scratch.path().join("life");
    let mut said_early = Said::default();
    said_early.lines(&life_of(program, &life, seed, 25, true)?);
    copy(&life, &early).map_err(io)?;
    let mut said = said_early.clone();
    // Left as a crash leaves it: with a log that was not written back.
    said.lines(&life_of(program, &life, seed + 1, 25, true)?);
    copy(&life, &late).map_err(io)?;
    let mut flips = flip_all(&late, |_| true, &said, scratch.path(), threads)?;
    if flips.failure.is_none() {
        mix(&early, &late, &said, scratch.path(), &mut flips)?;
    }
    if flips.failure.is_none() {
        // And as a clean stop leaves it: the rows lie in the database itself, whose pages have no checksums.
        let closed = scratch.path().join("closed");
        let mut said = Said::default();
        said.lines(&life_of(program, &closed, seed + 2, 25, false)?);
        let more = flip_all(&closed, |name| name == "mint.db", &said, scratch.path(), threads)?;
        flips.bytes += more.bytes;
        flips.detected += more.detected;
        flips.failure = more.failure;
    }
    Ok(flips)
}

/// Runs a worker in a process of its own; with `abort` it is killed at the end of its work, so that the folder is as a
/// crash leaves it.
fn life_of(program: &Path, folder: &Path, seed: u64, steps: u64, abort: bool) -> Result<String, String> {
    let output = std::process::Command::new(program)
        .arg("work")
        .arg(folder)
        .args([Script::Registers.word(), &seed.to_string(), &steps.to_string()])
        .args(abort.then_some("--abort"))
        .output()
        .map_err(|e| e.to_string())?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

pub(crate) fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        if !entry.file_name().to_string_lossy().ends_with("-shm") {
            std::fs::copy(entry.path(), to.join(entry.file_name()))?;
        }
    }
    Ok(())
}

fn files(folder: &Path) -> Result<Vec<(PathBuf, Vec<u8>)>, String> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(|e| e.to_string())? {
        let path = entry.map_err(|e| e.to_string())?.path();
        let bytes = std::fs::read(&path).map_err(|e| e.to_string())?;
        all.push((path, bytes));
    }
    all.sort();
    Ok(all)
}

/// The places to change: every byte that is written or lies beside one, and a few of the empty rest.
fn places(bytes: &[u8], dice: &mut Dice) -> Vec<usize> {
    let near = |at: usize| {
        let around = at.saturating_sub(8)..(at + 8).min(bytes.len());
        bytes[around].iter().any(|b| *b != 0)
    };
    (0..bytes.len())
        .filter(|at| near(*at) || dice.below(512) == 0)
        .collect()
}

fn flip_all(
    folder: &Path,
    wanted: impl Fn(&str) -> bool,
    said: &Said,
    scratch: &Path,
    threads: usize,
) -> Result<Flips, String> {
    let files = files(folder)?;
    let mut dice = Dice::new(1);
    let mut all: Vec<(usize, usize)> = Vec::new();
    let name = |path: &Path| {
        path.file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned()
    };
    for (at, (path, bytes)) in files.iter().enumerate() {
        if !wanted(&name(path)) {
            continue;
        }
        all.extend(places(bytes, &mut dice).into_iter().map(|place| (at, place)));
    }
    let next = AtomicUsize::new(0);
    let flips = Mutex::new(Flips::default());
    let broken = Mutex::new(None);
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let image = scratch.join(format!("flip-{thread}"));
            let (files, all, next, flips, broken) = (&files, &all, &next, &flips, &broken);
            scope.spawn(move || {
                let mut mine = Flips::default();
                while let Some((file, place)) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let flipped = flip_one(files, *file, *place, said, &image, &mut mine);
                    if let Err(why) = flipped {
                        *broken.lock().expect("no panic while held") = Some(why);
                        break;
                    }
                    if mine.failure.is_some() {
                        break;
                    }
                }
                let mut flips = flips.lock().expect("no panic while held");
                flips.bytes += mine.bytes;
                flips.detected += mine.detected;
                flips.failure = flips.failure.take().or(mine.failure);
            });
        }
    });
    match broken.into_inner().expect("no panic while held") {
        Some(why) => Err(why),
        None => Ok(flips.into_inner().expect("no panic while held")),
    }
}

fn flip_one(
    files: &[(PathBuf, Vec<u8>)],
    file: usize,
    place: usize,
    said: &Said,
    image: &Path,
    flips: &mut Flips,
) -> Result<(), String> {
    let io = |e: std::io::Error| e.to_string();
    let _ = std::fs::remove_dir_all(image);
    std::fs::create_dir_all(image).map_err(io)?;
    for (at, (path, bytes)) in files.iter().enumerate() {
        let name = path.file_name().expect("a file of a folder has a name");
        let mut bytes = bytes.clone();
        if at == file {
            // One bit, or all of them.
            bytes[place] ^= if place.is_multiple_of(3) {
                0xff
            } else {
                1 << (place % 8)
            };
        }
        std::fs::write(image.join(name), bytes).map_err(io)?;
    }
    flips.bytes += 1;
    match super::block_on(|runtime| said.check(image, runtime)) {
        Ok(true) => {}
        Ok(false) => flips.detected += 1,
        Err(why) => {
            let name = files[file]
                .0
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            flips.failure = Some(format!("byte {place} of {name} changed: {why}"));
        }
    }
    Ok(())
}

/// Every way to take each file from one of two ages; the youngest of all is the folder itself. Where the witness and
/// the database's log are both old, all that can be read is a restored backup, which nobody can tell from the truth:
/// the log's pages stand above whatever the database holds.
fn mix(early: &Path, late: &Path, said: &Said, scratch: &Path, flips: &mut Flips) -> Result<(), String> {
    let names: Vec<String> = files(late)?
        .iter()
        .map(|(path, _)| path.file_name().unwrap_or_default().to_string_lossy().into_owned())
        // Without marks, and with what every start writes anew.
        .filter(|name| !matches!(name.as_str(), "LOCK" | "heartbeat"))
        .collect();
    let image = scratch.join("mixed");
    for choice in 1..(1u32 << names.len()) - 1 {
        let _ = std::fs::remove_dir_all(&image);
        std::fs::create_dir_all(&image).map_err(|e| e.to_string())?;
        let mut has_new_marks = false;
        for (at, name) in names.iter().enumerate() {
            let new = choice >> at & 1 == 1;
            has_new_marks |= new && (name == "mint.db-wal" || name == "witness");
            let from = if new { late } else { early };
            let _ = std::fs::copy(from.join(name), image.join(name));
        }
        if !has_new_marks {
            continue;
        }
        flips.mixed += 1;
        if let Err(why) = super::block_on(|runtime| said.check(&image, runtime)) {
            let new: Vec<&str> = names
                .iter()
                .enumerate()
                .filter(|(at, _)| choice >> at & 1 == 1)
                .map(|(_, n)| n.as_str())
                .collect();
            flips.failure = Some(format!("new are only {}: {why}", new.join(", ")));
            return Ok(());
        }
    }
    Ok(())
}
