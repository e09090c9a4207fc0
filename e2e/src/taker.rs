//! Stock clients that take numbers while servers come and go.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};

use mintage_testing::invariant;

use crate::cluster::eventually;
use crate::guard::ends_with_us;
use crate::need;
use crate::run::Said;

/// A client program that prints each number that it takes as a line until its standard input ends, and what it took.
#[derive(Debug)]
pub struct Taker {
    name: String,
    child: Child,
    count: Arc<AtomicUsize>,
    reader: JoinHandle<Vec<i64>>,
}

impl Taker {
    /// Starts it; `name` is what is told of it.
    ///
    /// # Panics
    /// When it cannot be started.
    pub fn start(name: &str, mut command: Command) -> Taker {
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().expect("the client can be started");
        ends_with_us(&child, "KILL");
        let count = Arc::new(AtomicUsize::new(0));
        let (out, counts) = (child.stdout.take().expect("was piped"), Arc::clone(&count));
        let reader = thread::spawn(move || {
            let lines = BufReader::new(out).lines();
            let numbers = lines.map(|line| {
                let line = line.expect("a pipe can be read");
                line.parse().unwrap_or_else(|_| panic!("{line:?} is no number"))
            });
            numbers
                .inspect(|_| _ = counts.fetch_add(1, Ordering::Relaxed))
                .collect()
        });
        Taker {
            name: name.to_string(),
            child,
            count,
            reader,
        }
    }

    fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    /// Whether it has taken so many.
    #[track_caller]
    fn has(&mut self, numbers: usize) -> bool {
        if let Some(status) = self.child.try_wait().expect("it was started") {
            let mut said = String::new();
            let err = self.child.stderr.as_mut().expect("was piped");
            err.read_to_string(&mut said).expect("a pipe can be read");
            panic!("{} ended, {status}: {said}", self.name);
        }
        self.count() >= numbers
    }

    /// Ends it: every number that it took.
    #[track_caller]
    fn end(mut self) -> Vec<i64> {
        drop(self.child.stdin.take());
        let said = Said::from(self.child.wait_with_output().expect("it was started"));
        assert_eq!(said.code, 0, "{}: {}", self.name, said.err);
        self.reader.join().expect("it printed numbers alone")
    }
}

/// Waits until each of them has taken so many more from now on: they found a server.
///
/// # Panics
/// When one has not within a minute, or ended.
#[track_caller]
pub fn each_takes(more: usize, takers: &mut [Taker]) {
    for taker in takers {
        let enough = taker.count() + more;
        let what = format!("{} takes numbers", taker.name);
        eventually(&what, || taker.has(enough));
    }
}

/// Ends them: all that they took together, no number twice.
///
/// # Panics
/// When a number came twice, or a client failed.
#[track_caller]
pub fn check_no_repeat(what: &str, takers: Vec<Taker>) {
    let names: Vec<String> = takers.iter().map(|taker| taker.name.clone()).collect();
    let (mut seen, mut each) = (HashMap::new(), Vec::new());
    for (taker, name) in takers.into_iter().zip(&names) {
        let (client, numbers) = (each.len(), taker.end());
        each.push(format!("{name} {}", numbers.len()));
        for (at, number) in numbers.into_iter().enumerate() {
            let here = (client, name, at);
            let before = seen.insert(number, here);
            invariant!(
                before.is_none(),
                "{what}: {number} came twice: to client, at: {here:?}, and {before:?}"
            );
        }
    }
    need::say(&format!("{what}: {}; 0 repeats", each.join(", ")));
}
