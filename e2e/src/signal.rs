//! Signals to processes, sent without a program: a machine with little on it has no `kill`.

use rustix::process::{Pid, Signal, kill_process};

/// The signals that tests send, by the names that `kill` has for them.
const SIGNALS: [(&str, Signal); 10] = [
    ("ABRT", Signal::ABORT),
    ("CONT", Signal::CONT),
    ("HUP", Signal::HUP),
    ("INT", Signal::INT),
    ("KILL", Signal::KILL),
    ("QUIT", Signal::QUIT),
    ("STOP", Signal::STOP),
    ("TERM", Signal::TERM),
    ("USR1", Signal::USR1),
    ("USR2", Signal::USR2),
];

/// Whether a signal, such as `STOP`, was sent to a process; not to one that has ended and was waited for.
///
/// # Panics
/// For a name that is not in the table.
#[track_caller]
pub fn try_signal(pid: u32, name: &str) -> bool {
    let found = SIGNALS.iter().find(|(known, _)| *known == name);
    let (_, signal) = found.unwrap_or_else(|| panic!("no signal that tests send: {name}"));
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    pid.is_some_and(|pid| kill_process(pid, *signal).is_ok())
}

/// Sends a signal, such as `STOP`, to a process.
///
/// # Panics
/// When the process is not there, or for a name that is not in the table.
#[track_caller]
pub fn signal(pid: u32, name: &str) {
    assert!(try_signal(pid, name), "SIG{name} cannot be sent to {pid}");
}
