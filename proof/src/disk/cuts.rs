//! Real power cuts: a worker on a file system of its own, on a loop device, which is shut down under it without
//! writing anything out. Also a disk that fills up, and one that turns read-only.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::judge::Said;
use super::power;
use super::work::Script;
use crate::dice::Dice;

/// What was tried.
#[derive(Clone, Debug, Default)]
pub struct Cuts {
    /// Power cuts.
    pub cuts: u64,
    /// Cuts that struck a worker which had been served before.
    pub working: u64,
    /// Times the disk was filled while the worker ran.
    pub full: u64,
    /// Times it turned read-only while the worker ran.
    pub read_only: u64,
    /// The first after which something was not as it must be.
    pub failure: Option<String>,
}

/// Whether a file system can be made and mounted here.
pub fn available() -> Result<(), String> {
    apart(|| {
        let scratch = tempfile::tempdir().map_err(|e| e.to_string())?;
        let disk = Disk::make(scratch.path())?;
        disk.mount().map(drop)
    })
}

/// Works in a thread whose mounts nobody else sees. Whoever makes a namespace of mounts for himself takes along what is
/// mounted then; a file system that was shut down would live on there, and be mounted again as it is.
fn apart<T: Send>(work: impl FnOnce() -> Result<T, String> + Send) -> Result<T, String> {
    std::thread::scope(|threads| {
        let working = threads.spawn(|| {
            power::leave_mounts().map_err(|e| format!("no namespace of our own: {e}"))?;
            run(Command::new("mount").args(["--make-rprivate", "/"]))?;
            work()
        });
        working.join().map_err(|_| "it panicked".to_string())?
    })
}

/// A disk in a file.
struct Disk {
    image: PathBuf,
    at: PathBuf,
}

struct Mounted<'a>(&'a Disk);

fn run(command: &mut Command) -> Result<(), String> {
    let output = command.stdin(Stdio::null()).output().map_err(|e| e.to_string())?;
    match output.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&output.stderr).trim().to_string()),
    }
}

impl Disk {
    fn make(folder: &Path) -> Result<Disk, String> {
        let (image, at) = (folder.join("disk"), folder.join("mounted"));
        let file = File::create(&image).map_err(|e| e.to_string())?;
        file.set_len(16 << 20).map_err(|e| e.to_string())?;
        std::fs::create_dir_all(&at).map_err(|e| e.to_string())?;
        run(Command::new("mkfs.ext4")
            .args(["-q", "-F", "-b", "1024"])
            .arg(&image))?;
        Ok(Disk { image, at })
    }

    fn mount(&self) -> Result<Mounted<'_>, String> {
        run(Command::new("mount")
            .args(["-o", "loop,errors=remount-ro"])
            .arg(&self.image)
            .arg(&self.at))?;
        Ok(Mounted(self))
    }
}

impl Mounted<'_> {
    fn remount(&self, how: &str) -> Result<(), String> {
        run(Command::new("mount")
            .args(["-o", &format!("remount,{how}")])
            .arg(&self.0.at))
    }
}

impl Drop for Mounted<'_> {
    fn drop(&mut self) {
        // Still busy for a moment after the worker has died, which is long where others keep the processors.
        for _ in 0..10_000 {
            if run(Command::new("umount").arg(&self.0.at)).is_ok() {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Cuts the power `cuts` times, and fills and protects the disk now and then.
///
/// # Errors
/// The disk could not be made or mounted.
pub fn run_cuts(program: &Path, seed: u64, cuts: u64) -> Result<Cuts, String> {
    apart(|| every_life(program, seed, cuts))
}

fn every_life(program: &Path, seed: u64, cuts: u64) -> Result<Cuts, String> {
    let scratch = tempfile::tempdir().map_err(|e| e.to_string())?;
    let mut done = Cuts::default();
    let mut dice = Dice::new(seed);
    let mut disk = Disk::make(scratch.path())?;
    let mut said = Said::default();
    let mut life = 0;
    while done.cuts < cuts && done.failure.is_none() {
        // A worn file system is replaced, so that every path from the first start on is walked often.
        if life % 8 == 0 {
            disk = Disk::make(scratch.path())?;
            said = Said::default();
        }
        life += 1;
        one_life(program, &disk, &mut said, &mut dice, &mut done)?;
    }
    Ok(done)
}

fn start(program: &Path, folder: &Path, seed: u64) -> Result<Child, String> {
    Command::new(program)
        .arg("work")
        .arg(folder)
        .args([Script::Ledger.word(), &seed.to_string(), "100000"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|e| e.to_string())
}

fn one_life(
    program: &Path,
    disk: &Disk,
    said: &mut Said,
    dice: &mut Dice,
    done: &mut Cuts,
) -> Result<(), String> {
    let mounted = disk.mount()?;
    let data = disk.at.join("data");
    let mut worker = start(program, &data, dice.next())?;
    let mut output = BufReader::new(worker.stdout.take().expect("it is piped"));
    let mut text = String::new();
    // Somewhere in its life: after some of its work, however long that takes here, or while it starts.
    let mut wait = dice.length(Duration::from_micros(500), Duration::from_millis(150));
    if dice.chance(500) {
        for _ in 0..dice.size(500) {
            let _ = output.read_line(&mut text);
        }
        wait /= 20;
    }
    std::thread::sleep(wait);
    let kind = dice.below(10);
    match kind {
        0 => {
            fill(&disk.at);
            std::thread::sleep(Duration::from_millis(10));
            done.full += 1;
        }
        1 => {
            // As after an error of the disk: a plain remount is refused while files are open for writing.
            mounted.remount("abort")?;
            std::thread::sleep(Duration::from_millis(10));
            done.read_only += 1;
        }
        _ => {
            let folder = File::open(&disk.at).map_err(|e| e.to_string())?;
            power::cut(&folder).map_err(|e| format!("the power cannot be cut: {e}"))?;
            done.cuts += 1;
        }
    }
    let _ = worker.kill();
    let _ = output.read_to_string(&mut text);
    let _ = worker.wait();
    said.lines(&text);
    let _ = std::fs::remove_file(disk.at.join("filler"));
    drop(mounted);
    let mounted = disk.mount()?;
    done.working += u64::from(text.contains("got ") && kind > 1);
    if data.exists() {
        match super::block_on(|runtime| said.go_on(&data, runtime)) {
            Ok(after) => *said = after,
            Err(why) => done.failure = Some(format!("cut {}: {why}", done.cuts)),
        }
    } else if said.opened {
        done.failure = Some(format!("cut {}: the folder is gone", done.cuts));
    }
    drop(mounted);
    Ok(())
}

fn fill(at: &Path) {
    let Ok(mut file) = File::create(at.join("filler")) else {
        return;
    };
    let block = [0x55u8; 64 << 10];
    while std::io::Write::write_all(&mut file, &block).is_ok() {}
}
