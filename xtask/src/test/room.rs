//! Whether there is room for what the tests write. On a full disk databases fail in a hundred ways, of which few say why.

use std::env;
use std::path::Path;
use std::process::Command;

use super::sizes::Depth;
use crate::step;

/// How much the databases of tests that run side by side take, and what is built meanwhile, in MiB: half as much was seen.
const fn needed(depth: Depth) -> u64 {
    match depth {
        Depth::Quick => 2_048,
        Depth::Deep => 10_240,
    }
}

/// Fails where less is free than the tests of this depth take.
pub(crate) fn check(depth: Depth) -> Result<(), String> {
    for folder in [env::temp_dir(), step::target_dir()] {
        judge(&folder, free(&folder), needed(depth))?;
    }
    Ok(())
}

fn judge(folder: &Path, free: Option<u64>, needed: u64) -> Result<(), String> {
    match free {
        Some(free) if free < needed => Err(format!(
            "{} has {free} MiB free and the tests take up to {needed}: make room there, or let TMPDIR and \
             CARGO_TARGET_DIR name folders with more",
            folder.display()
        )),
        _ => Ok(()),
    }
}

/// How many MiB are free where the folder lies, as far as `df` of POSIX tells.
fn free(folder: &Path) -> Option<u64> {
    let out = Command::new("df").arg("-Pk").arg(folder).output().ok()?;
    read(&String::from_utf8_lossy(&out.stdout))
}

fn read(text: &str) -> Option<u64> {
    let kib = text.lines().nth(1)?.split_whitespace().nth(3)?;
    Some(kib.parse::<u64>().ok()? / 1024)
}

#[cfg(test)]
mod tests {
    use super::{free, judge, read};

    #[test]
    fn what_is_free_is_read_and_too_little_is_told() {
        let text = "Filesystem 1024-blocks Used Available Capacity Mounted on\n/dev/vda 264212084 11570468 83718176 13% /\n";
        assert_eq!(read(text), Some(81_756));
        assert_eq!(read("df: /x: No such file\n"), None);
        let here = std::env::temp_dir();
        assert!(free(&here).is_some());
        assert!(judge(&here, Some(5), 5).is_ok() && judge(&here, None, 5).is_ok());
        let why = judge(&here, Some(4), 5).unwrap_err();
        assert!(why.contains("has 4 MiB free and the tests take up to 5"), "{why}");
    }
}
