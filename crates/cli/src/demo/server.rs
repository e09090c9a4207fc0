//! The server of a demo: a child on a folder of its own, which is killed and started again on the same ports.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};
use serde_json::Value;

use crate::errors::Failure;

/// The store's folder, in the demo's own.
pub(super) const DATA_FOLDER: &str = "mint-data";

/// Where it serves.
#[derive(Clone, Copy, Debug)]
pub(super) struct Addresses {
    pub(super) http: SocketAddr,
    pub(super) resp: SocketAddr,
}

/// A server that was started; it ends with this value, and with this process.
pub(super) struct Server {
    child: Child,
    log: PathBuf,
    first_line: Receiver<String>,
    started: Instant,
}

impl Server {
    /// Starts it without waiting; without addresses, on free ports.
    ///
    /// This thread has to live as long as the server should: when it ends, Linux kills the server.
    pub(super) fn start(folder: &Path, at: Option<Addresses>) -> Result<Server, Failure> {
        let failed = |error| Failure::cannot(format_args!("cannot start the demo's server: {error}"));
        let log = folder.join("server.log");
        let stderr = File::options()
            .create(true)
            .append(true)
            .open(&log)
            .map_err(failed)?;
        let (http, resp) = match at {
            Some(at) => (at.http.to_string(), at.resp.to_string()),
            None => (FREE.to_string(), FREE.to_string()),
        };
        let mut command = Command::new(std::env::current_exe().map_err(failed)?);
        command
            .args(["demo", "--server-of", &std::process::id().to_string(), "--"])
            .args(["--json", "serve", "--http", &http, "--resp", &resp])
            .args(["--store", &format!("file:./{DATA_FOLDER}")])
            .current_dir(folder)
            // Ctrl-C in a terminal is for the demo, which ends the server then.
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(stderr);
        alone(&mut command, folder);
        let mut child = command.spawn().map_err(failed)?;
        let stdout = child.stdout.take().expect("was piped");
        let (send, first_line) = channel();
        thread::spawn(move || {
            let mut line = String::new();
            let read = BufReader::new(stdout).read_line(&mut line);
            // Nobody waits for it any more where the server was stopped before.
            let _ = send.send(read.map(|_| line).unwrap_or_default());
        });
        Ok(Server {
            child,
            log,
            first_line,
            started: Instant::now(),
        })
    }

    /// Where it serves, once it does.
    pub(super) fn ready(&self) -> Result<Option<Addresses>, Failure> {
        let line = match self.first_line.try_recv() {
            Ok(line) => line,
            Err(TryRecvError::Disconnected) => String::new(),
            Err(TryRecvError::Empty) if self.started.elapsed() < START_TIMEOUT => return Ok(None),
            Err(TryRecvError::Empty) => {
                return Err(self.failure(format_args!(
                    "the demo's server does not serve after {} s",
                    START_TIMEOUT.as_secs()
                )));
            }
        };
        let document: Option<Value> = serde_json::from_str(&line).ok();
        let address = |face: &str| document.as_ref()?[face].as_str()?.parse().ok();
        match (address("http"), address("resp")) {
            (Some(http), Some(resp)) => Ok(Some(Addresses { http, resp })),
            _ => Err(self.failure("the demo's server ended at its start")),
        }
    }

    /// An error if it ended by itself.
    pub(super) fn check(&mut self) -> Result<(), Failure> {
        match self.child.try_wait() {
            Ok(None) => Ok(()),
            Ok(Some(status)) => {
                Err(self.failure(format_args!("the demo's server ended by itself: {status}")))
            }
            Err(error) => Err(self.failure(format_args!("the demo's server is lost: {error}"))),
        }
    }

    /// `kill -9`; it is gone then, and has left its ports and its folder.
    pub(super) fn kill(&mut self) {
        self.end();
    }

    /// Stops it in good order, or kills it where that takes long.
    pub(super) fn stop(mut self) {
        let pid = Pid::from_child(&self.child);
        let asked = rustix::process::kill_process(pid, Signal::TERM);
        let since = Instant::now();
        while asked.is_ok() && since.elapsed() < STOP_TIMEOUT && matches!(self.child.try_wait(), Ok(None)) {
            thread::sleep(Duration::from_millis(5));
        }
        self.end();
    }

    fn end(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    fn failure(&self, what: impl std::fmt::Display) -> Failure {
        let log = fs::read_to_string(&self.log).unwrap_or_default();
        let last = log.lines().rfind(|line| !line.trim().is_empty());
        Failure::cannot(what).with_hint_if(last.map(|line| format!("it said: {line}")))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}

/// A port of this machine that is free.
const FREE: &str = "127.0.0.1:0";

/// Takes milliseconds, but on a disk that is busy.
const START_TIMEOUT: Duration = Duration::from_secs(60);

const STOP_TIMEOUT: Duration = Duration::from_secs(5);

/// Nothing that is set for other servers of this machine is for this one, nor does it leave anything with them.
fn alone(command: &mut Command, folder: &Path) {
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("MINT_") {
            command.env_remove(name);
        }
    }
    for name in [
        "XDG_STATE_HOME",
        "STATE_DIRECTORY",
        "NOTIFY_SOCKET",
        "LISTEN_FDS",
        "LISTEN_PID",
        "LISTEN_FDNAMES",
        "WATCHDOG_USEC",
    ] {
        command.env_remove(name);
    }
    command.env("HOME", folder);
}

/// Becomes the server of a demo that runs as process `parent`, and that it does not outlive.
pub(super) fn become_server(parent: u32, args: &[OsString]) -> Failure {
    let cannot =
        |error: std::io::Error| Failure::cannot(format_args!("cannot become the demo's server: {error}"));
    // It stays over `exec`.
    if let Err(error) = rustix::process::set_parent_process_death_signal(Some(Signal::KILL)) {
        return cannot(error.into());
    }
    // Had the demo ended before that, nobody would tell.
    let is_parent = |pid: Pid| pid.as_raw_nonzero().get() as u32 == parent;
    if !rustix::process::getppid().is_some_and(is_parent) {
        return Failure::cannot(format_args!("the demo, process {parent}, has ended"));
    }
    match std::env::current_exe() {
        Ok(program) => cannot(Command::new(program).args(args).exec()),
        Err(error) => cannot(error),
    }
}
