//! Runs tests, each in a process of its own: one that crashes, hangs or is met by a signal harms no other, and one that
//! failed can be run again alone.
//!
//! Tests that wait for servers most of the time run several on a processor; those that compute run one on a processor,
//! for the time that the others leave.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::num::NonZero;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use super::outcome::{Ended, Ran};
use super::plan::Test;
use crate::step;

/// What the tests of one run share: a folder that goes when it is dropped.
#[derive(Debug)]
pub(crate) struct Run {
    folder: PathBuf,
    count: AtomicUsize,
    /// What each test's environment has besides.
    environment: Vec<(String, String)>,
    /// How long a test may take before it counts as hung.
    limit: Duration,
    /// Whether what a test prints is shown when it passes, too.
    talks: bool,
}

impl Run {
    /// A run whose tests have these variables in their environment.
    pub(crate) fn new(environment: Vec<(String, String)>, talks: bool) -> Result<Run, String> {
        // Short, for the sake of sockets' paths, and open to the accounts that databases run as.
        let folder = std::env::temp_dir().join(format!("mint-run-{}", std::process::id()));
        let cannot = |e: std::io::Error| format!("{}: {e}", folder.display());
        // A run of this process id may have been killed once, and left servers in it that are gone by now.
        fs::remove_dir_all(&folder).ok();
        fs::create_dir_all(folder.join("out")).map_err(cannot)?;
        let limit = std::env::var("MINT_TEST_LIMIT").ok();
        let limit = limit.and_then(|text| text.parse().ok()).unwrap_or(LIMIT);
        Ok(Run {
            folder,
            count: AtomicUsize::new(0),
            environment,
            limit: Duration::from_secs(limit),
            talks,
        })
    }

    /// Runs them all, as many at a time as the processors serve, and tells of each when it has ended.
    pub(crate) fn all(&self, tests: Vec<Test>) -> Vec<Ran> {
        let (waiting, computing): (Vec<Test>, Vec<Test>) =
            tests.into_iter().partition(|test| test.program.is_end_to_end());
        let (waiting, computing) = (Queue::of(waiting), Queue::of(computing));
        let ran = Mutex::new(Vec::new());
        let lane = |next: &dyn Fn() -> Option<Test>, gently: bool| {
            while let Some(test) = next() {
                let one = self.one(&test, gently);
                self.tell(&one);
                lock(&ran).push(one);
            }
        };
        thread::scope(|scope| {
            for _ in 0..processors() * WAITING_AT_ONCE {
                // When nothing is left that waits, what computes is all there is to do.
                scope.spawn(|| lane(&|| waiting.next().or_else(|| computing.next()), false));
            }
            for _ in 0..processors() {
                scope.spawn(|| lane(&|| computing.next(), true));
            }
        });
        ran.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs one test, `gently` for the time that others leave of the processors.
    pub(crate) fn one(&self, test: &Test, gently: bool) -> Ran {
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        let printed = self.folder.join("out").join(number.to_string());
        let begun = Instant::now();
        let ended = self
            .start(test, gently, &printed)
            .and_then(|child| self.wait(child));
        let mut output = String::from_utf8_lossy(&fs::read(&printed).unwrap_or_default()).into_owned();
        fs::remove_file(&printed).ok();
        let ended = match ended {
            Ok(Some(status)) if status.success() && output.contains("test result: ok. 1 passed") => {
                Ended::Passed
            }
            Ok(Some(status)) => {
                if let Some(signal) = status.signal() {
                    output += &format!("\nended by signal {signal}");
                }
                Ended::Failed
            }
            Ok(None) => {
                output += &format!("\nstill running after {} s, and killed", self.limit.as_secs());
                Ended::Hung
            }
            Err(why) => {
                output += &format!("\n{why}");
                Ended::Failed
            }
        };
        let seconds = begun.elapsed().as_secs_f64();
        Ran::read(test.name(), &test.path, ended, seconds, &output)
    }

    fn start(&self, test: &Test, gently: bool, printed: &Path) -> Result<Child, String> {
        let cannot = |e: std::io::Error| format!("cannot start {}: {e}", test.name());
        let out = File::create(printed).map_err(cannot)?;
        let mut command = test.program.command();
        command.args(["--exact", &test.path, "--include-ignored", "--nocapture"]);
        if gently {
            command = step::gently(&command);
        }
        if !self.talks {
            // The line of the panic is what the last table has room for.
            command.env("RUST_BACKTRACE", "0");
        }
        command
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .env("MINT_TEST_RUN", &self.folder)
            .env("MINT_TEST_RUN_PID", std::process::id().to_string())
            // On a thread of its own a test has its name, which its panics then show.
            .env("RUST_TEST_THREADS", "2")
            .stdin(Stdio::null())
            .stderr(out.try_clone().map_err(cannot)?)
            .stdout(out)
            .process_group(0)
            .spawn()
            .map_err(cannot)
    }

    /// Waits for the end of a test; none if its limit came first. What it left running goes with it.
    fn wait(&self, mut child: Child) -> Result<Option<ExitStatus>, String> {
        let begun = Instant::now();
        let group = Pid::from_child(&child);
        let status = loop {
            let waited = begun.elapsed();
            if let Some(status) = child.try_wait().map_err(|e| e.to_string())? {
                break Some(status);
            }
            if waited > self.limit {
                break None;
            }
            thread::sleep((waited / 20).clamp(Duration::from_millis(1), Duration::from_millis(20)));
        };
        kill_process_group(group, Signal::KILL).ok();
        if status.is_none() {
            child.wait().ok();
        }
        Ok(status)
    }

    fn tell(&self, ran: &Ran) {
        let word = match ran.ended {
            Ended::Passed => "ok",
            Ended::Failed => "FAILED",
            Ended::Hung => "HUNG",
        };
        let mut text = format!("test {} ... {word} ({:.1} s)\n", ran.name, ran.seconds);
        if self.talks || !ran.passed() {
            for line in &ran.output {
                text += &format!("    {line}\n");
            }
        }
        print!("{text}");
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        // Servers that tests shared end when the folder goes; one may still write into it.
        for _ in 0..REMOVALS {
            if fs::remove_dir_all(&self.folder).is_ok() || !self.folder.exists() {
                return;
            }
            thread::sleep(Duration::from_millis(100));
        }
    }
}

/// Tests that wait to be run.
struct Queue(Mutex<VecDeque<Test>>);

impl Queue {
    fn of(tests: Vec<Test>) -> Queue {
        Queue(Mutex::new(tests.into()))
    }

    fn next(&self) -> Option<Test> {
        lock(&self.0).pop_front()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn processors() -> usize {
    thread::available_parallelism().map_or(2, NonZero::get)
}

/// How long processors were idle since the system's start, all of them together; none where `/proc` does not tell.
pub(crate) fn idle_seconds() -> Option<f64> {
    let text = fs::read_to_string("/proc/stat").ok()?;
    let fields: Vec<f64> = text
        .lines()
        .next()?
        .split_whitespace()
        .skip(1)
        .filter_map(|field| field.parse().ok())
        .collect();
    // In hundredths of a second: user, nice, system, idle, waiting for a disk.
    Some((fields.get(3)? + fields.get(4)?) / 100.0)
}

/// End-to-end tests at once for each processor: most of the time they wait for servers.
const WAITING_AT_ONCE: usize = 3;

/// Seconds after which a test counts as hung, unless `MINT_TEST_LIMIT` says otherwise.
const LIMIT: u64 = 900;

const REMOVALS: u32 = 50;

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn idle_time_only_grows() {
        let (before, after) = (idle_seconds().unwrap(), idle_seconds().unwrap());
        assert!(before > 0.0 && after >= before);
    }

    #[test]
    fn what_a_test_leaves_running_ends_with_it() {
        let run = Run::new(Vec::new(), false).unwrap();
        let file = run.folder.join("pid");
        let mut command = Command::new("sh");
        command
            .arg("-c")
            .arg(format!("sleep 1000 & echo $! > {}", file.display()))
            .process_group(0);
        let status = run.wait(command.spawn().unwrap()).unwrap().unwrap();
        assert!(status.success());
        let pid = fs::read_to_string(file).unwrap();
        let stat = format!("/proc/{}/stat", pid.trim());
        // Killed, it is nobody's any more as soon as it was waited for.
        while fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z ")) {
            thread::yield_now();
        }
    }
}
