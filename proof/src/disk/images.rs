//! What a disk may hold when the power goes: at any point between two calls, what was synced and any part of what was
//! not, in any order, down to single sectors; and again while the store recovers from that.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::judge::Said;
use super::strace::{self, Step};
use super::work::Script;
use crate::dice::Dice;

/// What was tried.
#[derive(Clone, Debug, Default)]
pub struct Images {
    /// Images that were opened.
    pub opened: u64,
    /// Points between two calls at which the power went.
    pub points: u64,
    /// Images of a recovery that was cut off as well.
    pub twice: u64,
    /// The first that was not as it must be.
    pub failure: Option<String>,
}

/// A write that the disk may or may not have.
#[derive(Clone, Debug)]
enum Pending {
    Write { offset: u64, bytes: Vec<u8> },
    Truncate(u64),
}

/// A file: what is synced, and what was done since.
#[derive(Clone, Debug, Default)]
struct File {
    synced: Vec<u8>,
    pending: Vec<Pending>,
}

impl File {
    fn apply(content: &mut Vec<u8>, change: &Pending) {
        match change {
            Pending::Write { offset, bytes } => {
                let end = *offset as usize + bytes.len();
                if content.len() < end {
                    content.resize(end, 0);
                }
                content[*offset as usize..end].copy_from_slice(bytes);
            }
            Pending::Truncate(length) => content.resize(*length as usize, 0),
        }
    }

    fn sync(&mut self) {
        for change in std::mem::take(&mut self.pending) {
            File::apply(&mut self.synced, &change);
        }
    }

    /// The content that the disk may have, by this way of losing what was not synced.
    fn survives(&self, loss: Loss, dice: &mut Dice) -> Vec<u8> {
        let mut content = self.synced.clone();
        let last = match loss {
            Loss::Nothing => self.pending.len(),
            Loss::Everything => 0,
            Loss::Tail | Loss::Torn | Loss::Some => dice.index(self.pending.len() + 1),
        };
        for (at, change) in self.pending.iter().enumerate() {
            let kept = match loss {
                Loss::Some => dice.chance(500),
                Loss::Torn => at <= last,
                _ => at < last,
            };
            if !kept {
                continue;
            }
            match change {
                Pending::Write { offset, bytes } if loss == Loss::Torn && at == last => {
                    tear(&mut content, *offset, bytes, dice);
                }
                change => File::apply(&mut content, change),
            }
        }
        content
    }
}

/// A write of which only some sectors arrived.
fn tear(content: &mut Vec<u8>, offset: u64, bytes: &[u8], dice: &mut Dice) {
    let mut at = 0;
    while at < bytes.len() {
        let sector_end = (((offset as usize + at) / SECTOR + 1) * SECTOR - offset as usize).min(bytes.len());
        if dice.chance(500) {
            let part = Pending::Write {
                offset: offset + at as u64,
                bytes: bytes[at..sector_end].to_vec(),
            };
            File::apply(content, &part);
        }
        at = sector_end;
    }
}

/// Disks write a sector whole or not at all.
const SECTOR: usize = 512;

/// How what was not synced is lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Loss {
    Nothing,
    Everything,
    /// Everything after some point.
    Tail,
    /// Everything after some point, and of the write at that point some sectors.
    Torn,
    /// Any writes.
    Some,
}

const LOSSES: [Loss; 5] = [
    Loss::Nothing,
    Loss::Everything,
    Loss::Tail,
    Loss::Torn,
    Loss::Some,
];

/// A change of the folder that a crash may undo.
#[derive(Clone, Debug)]
enum Entry {
    Create(String, usize),
    Rename(String, String),
    Unlink(String),
}

/// The folder as a disk holds it.
#[derive(Clone, Debug, Default)]
struct Disk {
    files: Vec<File>,
    names: BTreeMap<String, usize>,
    pending: Vec<Entry>,
}

impl Disk {
    fn of(folder: &Path, known: &[String]) -> std::io::Result<Disk> {
        let mut disk = Disk::default();
        for (at, name) in known.iter().enumerate() {
            disk.names.insert(name.clone(), at);
            disk.files.push(File {
                synced: std::fs::read(folder.join(name))?,
                pending: Vec::new(),
            });
        }
        Ok(disk)
    }

    fn change(names: &mut BTreeMap<String, usize>, entry: &Entry) {
        match entry {
            Entry::Create(name, file) => drop(names.insert(name.clone(), *file)),
            Entry::Rename(from, to) => {
                if let Some(file) = names.remove(from) {
                    names.insert(to.clone(), file);
                }
            }
            Entry::Unlink(name) => drop(names.remove(name)),
        }
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Create { name, file } => {
                self.files
                    .resize_with(self.files.len().max(file + 1), File::default);
                self.pending.push(Entry::Create(name.clone(), *file));
            }
            Step::Write { file, offset, bytes } => self.files[*file].pending.push(Pending::Write {
                offset: *offset,
                bytes: bytes.clone(),
            }),
            Step::Truncate { file, length } => self.files[*file].pending.push(Pending::Truncate(*length)),
            Step::Sync { file } => self.files[*file].sync(),
            Step::Rename { from, to } => self.pending.push(Entry::Rename(from.clone(), to.clone())),
            Step::Unlink { name } => self.pending.push(Entry::Unlink(name.clone())),
            Step::SyncFolder => {
                for entry in std::mem::take(&mut self.pending) {
                    Disk::change(&mut self.names, &entry);
                }
            }
            Step::Said(_) => {}
        }
    }

    /// Writes one state that the disk may be in.
    fn image(&self, to: &Path, loss: Loss, dice: &mut Dice) -> std::io::Result<()> {
        let mut names = self.names.clone();
        // File systems journal their folders in order.
        let kept = match loss {
            Loss::Nothing => self.pending.len(),
            Loss::Everything => 0,
            _ => dice.index(self.pending.len() + 1),
        };
        for entry in &self.pending[..kept] {
            Disk::change(&mut names, entry);
        }
        std::fs::create_dir_all(to)?;
        for (name, file) in &names {
            // Memory shared by the processes that have the database open: it begins anew.
            if !name.ends_with("-shm") {
                std::fs::write(to.join(name), self.files[*file].survives(loss, dice))?;
            }
        }
        Ok(())
    }

    /// Whether anything could be lost at this point.
    fn is_settled(&self) -> bool {
        self.pending.is_empty() && self.files.iter().all(|file| file.pending.is_empty())
    }
}

/// What a run needs.
#[derive(Clone, Debug)]
pub struct Plan<'a> {
    /// The program that works and recovers.
    pub program: &'a Path,
    /// Where chance begins.
    pub seed: u64,
    /// How many images to open.
    pub images: u64,
    /// On how many cores.
    pub threads: usize,
}

/// Whether images can be had here.
pub fn available() -> bool {
    strace::available()
}

/// Opens images until there were enough.
///
/// # Errors
/// The worker could not be traced, or a folder not written.
pub fn run(plan: &Plan<'_>) -> Result<Images, String> {
    let total = Mutex::new(Images::default());
    let opened = AtomicU64::new(0);
    let (stop, next) = (AtomicBool::new(false), AtomicU64::new(plan.seed));
    let failed: Mutex<Option<String>> = Mutex::new(None);
    std::thread::scope(|scope| {
        for _ in 0..plan.threads {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) && opened.load(Ordering::Relaxed) < plan.images {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    let left = plan.images - opened.load(Ordering::Relaxed).min(plan.images);
                    let done = one_life(plan.program, seed, left.min(600));
                    match done {
                        Ok(images) => {
                            opened.fetch_add(images.opened, Ordering::Relaxed);
                            let mut total = total.lock().expect("no panic while held");
                            total.opened += images.opened;
                            total.points += images.points;
                            total.twice += images.twice;
                            if images.failure.is_some() {
                                stop.store(true, Ordering::Relaxed);
                                total.failure = total.failure.take().or(images.failure);
                            }
                        }
                        Err(why) => {
                            stop.store(true, Ordering::Relaxed);
                            *failed.lock().expect("no panic while held") = Some(why);
                        }
                    }
                }
            });
        }
    });
    match failed.into_inner().expect("no panic while held") {
        Some(why) => Err(why),
        None => Ok(total.into_inner().expect("no panic while held")),
    }
}

/// One worker's life, cut off at many points.
fn one_life(program: &Path, seed: u64, images: u64) -> Result<Images, String> {
    let io = |e: std::io::Error| e.to_string();
    let scratch = super::scratch().map_err(io)?;
    let folder = scratch.path().join("life");
    let script = if seed.is_multiple_of(2) {
        Script::Registers
    } else {
        Script::Ledger
    };
    let command = command(program, &folder, script, seed, 30 + seed % 40);
    let steps = strace::record(&command, &folder, &[])?;
    let mut done = Images::default();
    let mut dice = Dice::new(seed);
    let points = (images / 6).max(8);
    let mut cut = Cut {
        program,
        script,
        scratch: scratch.path(),
        dice: &mut dice,
        done: &mut done,
        recoveries: 2,
    };
    cut.everywhere(Disk::default(), &Said::default(), &steps, points)?;
    Ok(done)
}

fn command(program: &Path, folder: &Path, script: Script, seed: u64, steps: u64) -> Vec<String> {
    [
        &program.to_string_lossy(),
        "work",
        &folder.to_string_lossy(),
        script.word(),
        &seed.to_string(),
        &steps.to_string(),
    ]
    .map(ToString::to_string)
    .to_vec()
}

struct Cut<'a> {
    program: &'a Path,
    script: Script,
    scratch: &'a Path,
    dice: &'a mut Dice,
    done: &'a mut Images,
    /// How many recoveries are still to be traced and cut off themselves.
    recoveries: u32,
}

impl Cut<'_> {
    /// Goes through a life and cuts the power at about `points` of its calls.
    fn everywhere(
        &mut self,
        mut disk: Disk,
        before: &Said,
        steps: &[Step],
        points: u64,
    ) -> Result<(), String> {
        let mut said = before.clone();
        let every = (steps.len() as u64 / points).max(1);
        for step in steps {
            match step {
                Step::Said(line) => line.lines().for_each(|line| said.line(line)),
                step => disk.step(step),
            }
            // Where nothing can be lost, one image says all; elsewhere every way of losing something.
            let losses = if disk.is_settled() {
                &LOSSES[..1]
            } else {
                &LOSSES[..]
            };
            if self.dice.below(every) == 0 {
                self.done.points += 1;
                for loss in losses {
                    self.image(&disk, &said, *loss)?;
                    if self.done.failure.is_some() {
                        return Ok(());
                    }
                }
            }
        }
        Ok(())
    }

    fn image(&mut self, disk: &Disk, said: &Said, loss: Loss) -> Result<(), String> {
        let image = self.scratch.join("image");
        let io = |e: std::io::Error| e.to_string();
        let mut again = self.dice.clone();
        disk.image(&image, loss, self.dice).map_err(io)?;
        self.done.opened += 1;
        let verdict = super::block_on(|runtime| said.check(&image, runtime));
        let failure = match verdict {
            Ok(true) => None,
            Ok(false) => {
                // Written again: opening it has changed it.
                std::fs::remove_dir_all(&image).map_err(io)?;
                disk.image(&image, loss, &mut again.clone()).map_err(io)?;
                let why = super::block_on(|runtime| Said::refusal(&image, runtime));
                Some(format!("refused: {}", why.unwrap_or_default()))
            }
            Err(why) => Some(why),
        };
        std::fs::remove_dir_all(&image).map_err(io)?;
        if let Some(why) = failure {
            let script = self.script.word();
            self.done.failure = Some(format!("{script}, {loss:?} of what was not synced: {why}"));
            return Ok(());
        }
        if self.recoveries > 0 && said.opened && self.dice.chance(20) {
            self.recoveries -= 1;
            disk.image(&image, loss, &mut again).map_err(io)?;
            self.recovery(&image, said)?;
            std::fs::remove_dir_all(&image).map_err(io)?;
        }
        Ok(())
    }

    /// Recovers from an image under strace, and cuts that off as well.
    fn recovery(&mut self, image: &Path, said: &Said) -> Result<(), String> {
        let mut known: Vec<String> = Vec::new();
        for entry in std::fs::read_dir(image).map_err(|e| e.to_string())? {
            known.push(
                entry
                    .map_err(|e| e.to_string())?
                    .file_name()
                    .to_string_lossy()
                    .into_owned(),
            );
        }
        known.sort();
        let disk = Disk::of(image, &known).map_err(|e| e.to_string())?;
        let steps = strace::record(&command(self.program, image, Script::Reopen, 0, 0), image, &known)?;
        let before = self.done.opened;
        let recoveries = std::mem::take(&mut self.recoveries);
        self.everywhere(disk, said, &steps, 12)?;
        self.recoveries = recoveries;
        self.done.twice += self.done.opened - before;
        Ok(())
    }
}
