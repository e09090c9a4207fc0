//! Signals to a server and all the processes it started.

use std::fs;
use std::process::Command;

/// A process and all its descendants, itself first.
pub fn tree(root: u32) -> Vec<u32> {
    let mut parents = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse::<u32>().ok())
        else {
            continue;
        };
        // After the name in parentheses, which may hold anything: state, then the parent.
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let after = stat.rsplit_once(") ").map_or("", |(_, after)| after);
        if let Some(parent) = after
            .split(' ')
            .nth(1)
            .and_then(|parent| parent.parse::<u32>().ok())
        {
            parents.push((pid, parent));
        }
    }
    let mut tree = vec![root];
    let mut at = 0;
    while at < tree.len() {
        let parent = tree[at];
        tree.extend(
            parents
                .iter()
                .filter(|(_, of)| *of == parent)
                .map(|(pid, _)| *pid),
        );
        at += 1;
    }
    tree
}

/// Sends a signal (`KILL`, `STOP`, `CONT`, …) to a process and all its descendants. One that has ended meanwhile
/// is no error.
pub fn signal_tree(root: u32, signal: &str) {
    signal_all(&tree(root), signal);
}

/// Sends a signal to these processes.
pub fn signal_all(pids: &[u32], signal: &str) {
    let mut kill = Command::new("kill");
    kill.arg("-s").arg(signal).args(pids.iter().map(u32::to_string));
    kill.stderr(std::process::Stdio::null());
    kill.status().ok();
}
