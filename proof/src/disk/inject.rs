//! Every call by which a process opens, reserves, checkpoints and stops, killed or failed at every of its turns, by
//! strace. What was acknowledged before stands, and the folder goes on.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::judge::Said;
use super::work::Script;

/// What was tried.
#[derive(Clone, Debug, Default)]
pub struct Injections {
    /// Runs in which the call really was killed or failed.
    pub points: u64,
    /// Kinds of call and fault.
    pub kinds: u64,
    /// The first run after which something was not as it must be.
    pub failure: Option<String>,
}

/// The calls, and what befalls them.
const CALLS: &[&str] = &[
    "openat",
    "write",
    "pwrite64",
    "pread64",
    "read",
    "fdatasync",
    "fsync",
    "ftruncate",
    "rename",
    "unlink",
    "mkdir",
    "lseek",
    "flock",
    "fcntl",
    "close",
];
/// After EINTR a call is made again; the others end it.
const FAULTS: &[&str] = &["signal=KILL", "error=EIO", "error=ENOSPC", "error=EINTR"];

/// Goes through every call and every turn of it up to `turns`, every `stride`-th from `first` on.
///
/// # Errors
/// strace cannot be started.
pub fn run(program: &Path, turns: u64, stride: u64, threads: usize) -> Result<Injections, String> {
    let kinds: Vec<(&str, &str)> = CALLS
        .iter()
        .flat_map(|call| FAULTS.iter().map(move |fault| (*call, *fault)))
        .collect();
    let next = AtomicU64::new(0);
    let stop = AtomicBool::new(false);
    let total = Mutex::new(Injections::default());
    let broken = Mutex::new(None);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some((call, fault)) = kinds.get(next.fetch_add(1, Ordering::Relaxed) as usize) {
                    if stop.load(Ordering::Relaxed) {
                        break;
                    }
                    let done = one_kind(program, call, fault, turns, stride);
                    let mut total = total.lock().expect("no panic while held");
                    match done {
                        Ok(done) => {
                            total.points += done.points;
                            total.kinds += 1;
                            if done.failure.is_some() {
                                stop.store(true, Ordering::Relaxed);
                                total.failure = total.failure.take().or(done.failure);
                            }
                        }
                        Err(why) => {
                            stop.store(true, Ordering::Relaxed);
                            *broken.lock().expect("no panic while held") = Some(why);
                        }
                    }
                }
            });
        }
    });
    match broken.into_inner().expect("no panic while held") {
        Some(why) => Err(why),
        None => Ok(total.into_inner().expect("no panic while held")),
    }
}

fn one_kind(program: &Path, call: &str, fault: &str, turns: u64, stride: u64) -> Result<Injections, String> {
    let mut done = Injections::default();
    let mut turn = 1;
    while turn <= turns {
        let scratch = super::scratch().map_err(|e| e.to_string())?;
        let folder = scratch.path().join("data");
        let trace = scratch.path().join("trace");
        let output = Command::new("strace")
            .args(["-f", "-qq", "-e"])
            .arg(format!("trace={call}"))
            .arg("-e")
            .arg(format!("inject={call}:{fault}:when={turn}"))
            .arg("-o")
            .arg(&trace)
            .arg(program)
            .arg("work")
            .arg(&folder)
            .args([Script::Ledger.word(), "7", "14"])
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .output()
            .map_err(|e| format!("cannot start strace: {e}"))?;
        let seen = std::fs::read_to_string(&trace).unwrap_or_default();
        let happened = seen.contains("(INJECTED)") || seen.contains("+++ killed by SIGKILL +++");
        if !happened {
            // The call has no such turn.
            break;
        }
        done.points += 1;
        let mut said = Said::default();
        said.lines(&String::from_utf8_lossy(&output.stdout));
        let verdict = super::block_on(|runtime| said.go_on(&folder, runtime));
        if let Err(why) = verdict {
            done.failure = Some(format!("{call} {fault}, turn {turn}: {why}"));
            break;
        }
        turn += stride;
    }
    Ok(done)
}
