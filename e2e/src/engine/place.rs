//! Where private servers keep their data.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use crate::{guard, in_run};

/// What there must be of memory, free, before servers keep their data in it, in KiB: more than a run needs.
const PLENTY: u64 = 6 << 20;

/// A folder that other accounts may pass through, and that goes with the test. It is in memory where there is plenty of
/// that: a new server is hundreds of files, and each of its syncs would wait for the disk. The tests kill processes and no
/// machine, so that nothing is lost there that would be kept on a disk.
///
/// # Panics
/// When it cannot be made.
pub fn folder() -> TempDir {
    let folder = lasting_folder();
    // Memory is not to be lost with a test that is killed.
    guard::goes_with_us(folder.path());
    folder
}

/// The same on the disk in any case: what lies in memory, MariaDB maps and does not write.
///
/// # Panics
/// When it cannot be made.
pub fn folder_on_disk() -> TempDir {
    let folder = TempDir::with_prefix("mint-test-").expect("a temporary folder can be made");
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).expect("the folder is ours");
    folder
}

/// The same for a server that may outlive the test.
///
/// # Panics
/// When it cannot be made.
pub(crate) fn lasting_folder() -> TempDir {
    let memory = Path::new("/dev/shm");
    let folder = match in_run::is_so("plenty of memory", || is_plenty(memory)) {
        true => TempDir::with_prefix_in("mint-test-", memory),
        false => TempDir::with_prefix("mint-test-"),
    };
    let folder = folder.expect("a temporary folder can be made");
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).expect("the folder is ours");
    folder
}

fn is_plenty(memory: &Path) -> bool {
    let known = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let available = known.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let df = Command::new("df")
        .args(["-k", "--output=avail"])
        .arg(memory)
        .output();
    let room = df.map(|out| String::from_utf8_lossy(&out.stdout).into_owned());
    let [available, room] = [available.unwrap_or_default(), &room.unwrap_or_default()].map(last_number);
    available.min(room) >= PLENTY
}

/// The last number of a text; 0 if there is none.
fn last_number(text: &str) -> u64 {
    let mut numbers = text.split_whitespace().filter_map(|word| word.parse().ok());
    numbers.next_back().unwrap_or(0)
}
