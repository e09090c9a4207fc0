//! A server's process, and signals to it and all the processes it started.

use std::fs;
use std::process::Child;
use std::thread;
use std::time::Duration;

use crate::guard::ends_with_us;
use crate::signal::try_signal;

/// The process of a server that is started and ended again and again; killed when dropped.
#[derive(Debug, Default)]
pub struct Daemon {
    child: Option<Child>,
}

impl Daemon {
    /// Takes over what was just started.
    pub fn started(&mut self, child: Child) {
        self.started_to_end_by("KILL", child);
    }

    /// The same of one that is to be sent another signal where the test is killed.
    pub fn started_to_end_by(&mut self, signal: &str, child: Child) {
        ends_with_us(&child, signal);
        self.child = Some(child);
    }

    /// Its id, while it runs or should.
    pub fn pid(&self) -> Option<u32> {
        self.child.as_ref().map(Child::id)
    }

    /// Whether it was started and has ended by itself.
    ///
    /// # Panics
    /// When the system does not know it.
    pub fn has_ended(&mut self) -> bool {
        let ended = |child: &mut Child| child.try_wait().expect("was started").is_some();
        self.child.as_mut().is_some_and(ended)
    }

    /// Ends it with SIGTERM and waits for its end.
    ///
    /// # Panics
    /// When the system does not know it.
    pub fn stop(&mut self) {
        self.signal("TERM");
        self.wait();
    }

    /// Ends it with SIGKILL and waits for its end.
    ///
    /// # Panics
    /// When the system does not know it.
    pub fn kill(&mut self) {
        self.signal("KILL");
        self.wait();
    }

    /// Waits for its end.
    ///
    /// # Panics
    /// When the system does not know it.
    pub fn wait(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.wait().expect("was started");
        }
    }

    /// Sends it a signal while it runs.
    pub fn signal(&self, signal: &str) {
        if let Some(pid) = self.pid() {
            signal_all(&[pid], signal);
        }
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Waits until a server that was just started is ready: whether it is, and has not ended instead.
///
/// # Panics
/// When the system does not know it.
pub fn until_ready(child: &mut Child, mut is_ready: impl FnMut() -> bool) -> bool {
    while child.try_wait().expect("was started").is_none() {
        if is_ready() {
            return true;
        }
        pause();
    }
    false
}

/// A moment. Whoever asks again and again without one takes the processor from the server that is to become ready.
pub fn pause() {
    thread::sleep(Duration::from_millis(5));
}

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

/// Stops a process and all its descendants, which it returns, with SIGSTOP, and waits until none of their threads
/// runs: the signal alone leaves a busy one the time to answer. From the first one on they start no more children.
pub fn freeze_tree(root: u32) -> Vec<u32> {
    let mut all = vec![root];
    loop {
        signal_all(&all, "STOP");
        while !all.iter().all(|pid| stands_still(*pid)) {
            pause();
        }
        let now = tree(root);
        if now.iter().all(|pid| all.contains(pid)) {
            return all;
        }
        all = now;
    }
}

/// Whether every thread of a process is stopped or gone.
fn stands_still(pid: u32) -> bool {
    let threads = fs::read_dir(format!("/proc/{pid}/task"));
    threads.into_iter().flatten().flatten().all(|thread| {
        let stat = fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
        let state = stat.rsplit_once(") ").map_or("", |(_, after)| after);
        state.is_empty() || state.starts_with(['T', 't', 'Z', 'X'])
    })
}

/// Sends a signal to those of these processes that are there.
pub fn signal_all(pids: &[u32], signal: &str) {
    for pid in pids {
        try_signal(*pid, signal);
    }
}
