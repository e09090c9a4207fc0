//! `cargo xtask fresh-root`: README's second command where there is nothing but Debian 12, Rust and a C compiler.
//!
//! A root folder is made anew by debootstrap and entered by chroot, so it takes root and Debian. The toolchain is this
//! machine's, seen there read-only; everything else is what a new machine has. With `--bare` there is no `apt-get` either:
//! every test of a program that is absent must be skipped in words, and all others pass.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::provision::{self, Tool};
use crate::step;

const TOOLS: &[Tool] = &[("debootstrap", &["--version"], "debootstrap")];

/// What a newcomer has installed besides Rust: the C compiler, and git to clone with.
const PACKAGES: &str = "ca-certificates,gcc,libc6-dev,git";

pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let bare = match args {
        [] => false,
        [option] if option == "--bare" => true,
        _ => return Err(format!("no such option of fresh-root: {}", args.join(" "))),
    };
    provision::debian(TOOLS);
    let root = step::target_dir().join("fresh-root");
    let mounted = fs::read_to_string("/proc/mounts").unwrap_or_default();
    if mounted.contains(&root.display().to_string()) {
        return Err(format!(
            "something is still mounted below {}: umount it first",
            root.display()
        ));
    }
    fs::remove_dir_all(&root).ok();
    fs::create_dir_all(&root).map_err(|e| format!("{}: {e}", root.display()))?;
    let mut debootstrap = Command::new("debootstrap");
    debootstrap
        .args(["--variant=minbase", "--include", PACKAGES, "bookworm"])
        .arg(&root);
    step::run(&mut debootstrap)?;
    step::run(
        Command::new("git")
            .args(["clone", "--quiet"])
            .args([step::root(), root.join("mintage")]),
    )?;
    if bare {
        for program in ["usr/bin/apt-get", "usr/bin/apt"] {
            fs::remove_file(root.join(program)).ok();
        }
    }
    // How names are resolved and whom to trust is the machine's, not the root's.
    for file in ["/etc/resolv.conf", "/etc/ssl/certs/ca-certificates.crt"] {
        fs::copy(file, root.join(&file[1..])).ok();
    }
    let _mounts = Mounts::new(&root)?;
    let mut chroot = Command::new("chroot");
    chroot
        .arg(&root)
        .args([
            "/usr/bin/env",
            "-i",
            "HOME=/root",
            "PATH=/opt/rust/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        ])
        .args(["sh", "-c", "cd /mintage && cargo xtask test"]);
    step::run(&mut chroot)
}

/// What the root sees of this machine, until it is dropped.
struct Mounts(Vec<PathBuf>);

impl Mounts {
    fn new(root: &Path) -> Result<Mounts, String> {
        let toolchain = step::output(Command::new("rustc").args(["--print", "sysroot"]))?;
        let mut mounts = Mounts(Vec::new());
        // What is unmounted there must stay mounted here: the copies follow us, and we do not follow them.
        for (from, to, how) in [
            (toolchain.trim(), "opt/rust", ["--bind", "--read-only"]),
            ("/proc", "proc", ["--rbind", "--make-rslave"]),
            ("/dev", "dev", ["--rbind", "--make-rslave"]),
        ] {
            let to = root.join(to);
            fs::create_dir_all(&to).map_err(|e| format!("{}: {e}", to.display()))?;
            step::run(Command::new("mount").args(how).arg(from).arg(&to))?;
            mounts.0.push(to);
        }
        Ok(mounts)
    }
}

impl Drop for Mounts {
    fn drop(&mut self) {
        for place in self.0.iter().rev() {
            step::run(Command::new("umount").args(["-R", "-l"]).arg(place)).ok();
        }
    }
}
