//! File systems of a test's own: on a file, over a folder, or through FUSE.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::need;

/// Something mounted, until the value goes.
#[derive(Debug)]
pub struct Mounted {
    at: PathBuf,
    fuse: bool,
}

/// Whether file systems of these kinds can be made and mounted here; `needs` are programs.
pub fn possible(needs: &[&str]) -> bool {
    let folder = tempfile::tempdir().expect("a folder of one's own");
    let mounts = quiet("mount", &["-t", "tmpfs", "tmpfs", text(folder.path())]);
    if mounts {
        quiet("umount", &[text(folder.path())]);
    }
    let there = |program: &&str| quiet("sh", &["-c", &format!("command -v {program}")]);
    let missing: Vec<_> = needs.iter().filter(|program| !there(program)).collect();
    let device = match needs.contains(&"bindfs") {
        true => "/dev/fuse",
        false => "/dev/loop-control",
    };
    need::needed("mount", mounts)
        && need::needed(device, Path::new(device).exists())
        && missing.into_iter().all(|program| need::needed(program, false))
}

impl Mounted {
    /// Mounts `what` at `at`, which is made.
    ///
    /// # Panics
    /// When it cannot be mounted.
    #[track_caller]
    pub fn new(options: &[&str], what: &Path, at: &Path) -> Mounted {
        fs::create_dir_all(at).expect("the folder can be made");
        let mut args = options.to_vec();
        args.extend([text(what), text(at)]);
        said("mount", &args);
        Mounted {
            at: at.to_path_buf(),
            fuse: false,
        }
    }

    /// The folder `what` once more, at `at`, through FUSE.
    ///
    /// # Panics
    /// When it cannot be mounted.
    #[track_caller]
    pub fn through_fuse(what: &Path, at: &Path) -> Mounted {
        fs::create_dir_all(at).expect("the folder can be made");
        said("bindfs", &[text(what), text(at)]);
        Mounted {
            at: at.to_path_buf(),
            fuse: true,
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.at
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        if !quiet("umount", &[text(&self.at)]) {
            quiet("umount", &["-l", text(&self.at)]);
        }
        if self.fuse {
            // Its process ends with the mount.
            quiet("fusermount", &["-u", text(&self.at)]);
        }
    }
}

/// An image of so many MiB with a file system that `mkfs` and its arguments make.
///
/// # Panics
/// When it cannot be made.
#[track_caller]
pub fn image(at: &Path, mib: u64, mkfs: &[&str]) {
    let file = fs::File::create(at).expect("the folder is writable");
    file.set_len(mib << 20).expect("a sparse file");
    let mut args = mkfs[1..].to_vec();
    args.push(text(at));
    said(mkfs[0], &args);
}

/// Runs a program that must succeed.
///
/// # Panics
/// When it does not.
#[track_caller]
pub fn said(program: &str, args: &[impl AsRef<OsStr>]) {
    let out = Command::new(program)
        .args(args)
        .stdin(Stdio::null())
        .output()
        .unwrap_or_else(|error| panic!("{program}: {error}"));
    assert!(
        out.status.success(),
        "{program}: {}",
        String::from_utf8_lossy(&out.stderr)
    );
}

fn quiet(program: &str, args: &[&str]) -> bool {
    Command::new(program)
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a test's folders have plain names")
}
