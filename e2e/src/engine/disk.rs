//! A disk that hangs, fails or tears under a database, at the calls that write and sync files of one name.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::process::Command;

use tempfile::TempDir;

use super::process::pause;
use super::surroundings::Surroundings;
use crate::need;
use crate::run;

/// What becomes of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Trouble {
    /// They do what they should.
    None,
    /// They stand still, and neither happen nor fail.
    Hangs,
    /// They fail with EIO, and nothing is written.
    Fails,
    /// Half of what is to be written is, and then they stand still.
    Tears,
}

/// The disk of one database.
#[derive(Debug)]
pub struct Disk {
    folder: TempDir,
    control: File,
    files: &'static str,
}

impl Disk {
    /// One for files whose path holds this; `None`, said in words, where there is no C compiler.
    ///
    /// # Panics
    /// When the library cannot be made.
    pub fn of(files: &'static str) -> Option<Disk> {
        if !need::program("cc") {
            return None;
        }
        // The database may be another account's.
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let open = |path, mode| fs::set_permissions(path, Permissions::from_mode(mode)).expect("it is ours");
        open(folder.path().to_path_buf(), 0o755);
        let source = folder.path().join("disk.c");
        fs::write(&source, include_str!("disk.c")).expect("the folder is ours");
        let mut compiler = Command::new("cc");
        compiler
            .args(["-shared", "-fPIC", "-O1", "-o"])
            .arg(folder.path().join("disk.so"))
            .arg(&source)
            .arg("-ldl");
        run::with_input(compiler, b"").ok();
        let at = folder.path().join("control");
        fs::write(&at, b"p\0\0\0\0\0\0\0").expect("the folder is ours");
        open(at.clone(), 0o666);
        let control = File::options().read(true).write(true).open(&at);
        Some(Disk {
            folder,
            control: control.expect("the folder is ours"),
            files,
        })
    }

    /// What puts a database on it.
    pub fn surroundings(&self) -> Surroundings {
        let path = |name: &str| self.folder.path().join(name).display().to_string();
        Surroundings::with(vec![
            format!("LD_PRELOAD={}", path("disk.so")),
            format!("MINT_DISK={}", path("control")),
            format!("MINT_DISK_FILES={}", self.files),
        ])
    }

    /// From now on.
    ///
    /// # Panics
    /// When the file that says so cannot be written.
    pub fn set(&self, trouble: Trouble) {
        let word = match trouble {
            Trouble::None => b"p",
            Trouble::Hangs => b"h",
            Trouble::Fails => b"f",
            Trouble::Tears => b"t",
        };
        self.control.write_all_at(word, 0).expect("the file is ours");
    }

    /// How many calls have met trouble so far.
    ///
    /// # Panics
    /// When the file cannot be read.
    // A library of this machine counts.
    #[allow(clippy::host_endian_bytes)]
    pub fn met(&self) -> u32 {
        let mut count = [0; 4];
        self.control
            .read_exact_at(&mut count, 4)
            .expect("the file is ours");
        u32::from_ne_bytes(count)
    }

    /// Waits until one more has.
    pub fn wait(&self, before: u32) {
        while self.met() <= before {
            pause();
        }
    }
}
