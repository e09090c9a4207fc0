//! Clients of a counter that is moved: each takes numbers where they are to be had, here or there, and nobody is told.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use mintage_testing::invariant;

use crate::guard::ends_with_us;

/// One side as a client sees it: a number, or `None` where it is refused.
pub type Client = Box<dyn FnMut() -> Option<i64> + Send>;

/// How long a client waits after each number.
const PAUSE: Duration = Duration::from_millis(1);

/// Clients that take numbers until they are told to stop.
#[derive(Debug)]
pub struct Writers {
    stop: Arc<AtomicBool>,
    taken: Arc<AtomicU64>,
    threads: Vec<JoinHandle<(Vec<i64>, Duration)>>,
}

/// What they had.
#[derive(Debug)]
pub struct Taken {
    /// Every number, in order.
    pub numbers: BTreeSet<i64>,
    /// The longest time that one of them was refused by both sides.
    pub longest: Duration,
}

impl Writers {
    /// Starts them; each has both sides, and goes to the other one when it is refused.
    pub fn start(clients: Vec<[Client; 2]>) -> Writers {
        let (stop, taken) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let threads = clients
            .into_iter()
            .map(|sides| {
                let (stop, taken) = (Arc::clone(&stop), Arc::clone(&taken));
                std::thread::spawn(move || take(sides, &stop, &taken))
            })
            .collect();
        Writers { stop, taken, threads }
    }

    /// Waits until they have had so many numbers more.
    ///
    /// # Panics
    /// When they do not within a minute.
    pub fn more(&self, count: u64) {
        let goal = self.taken.load(Ordering::Relaxed) + count;
        let begun = Instant::now();
        while self.taken.load(Ordering::Relaxed) < goal {
            assert!(begun.elapsed() < Duration::from_secs(60), "nobody is served");
            std::thread::sleep(PAUSE);
        }
    }

    /// Stops them.
    ///
    /// # Panics
    /// When one had a number that another one had.
    pub fn stop(self) -> Taken {
        self.stop.store(true, Ordering::Relaxed);
        let mut all = Taken {
            numbers: BTreeSet::new(),
            longest: Duration::ZERO,
        };
        for thread in self.threads {
            let (numbers, longest) = thread.join().expect("a writer does not panic");
            for number in numbers {
                invariant!(all.numbers.insert(number), "{number} twice");
            }
            all.longest = all.longest.max(longest);
        }
        all
    }
}

fn take(mut sides: [Client; 2], stop: &AtomicBool, taken: &AtomicU64) -> (Vec<i64>, Duration) {
    let (mut numbers, mut longest) = (Vec::new(), Duration::ZERO);
    let (mut at, mut refused) = (0, None::<Instant>);
    while !stop.load(Ordering::Relaxed) {
        match sides[at]() {
            Some(number) => {
                numbers.push(number);
                taken.fetch_add(1, Ordering::Relaxed);
                longest = longest.max(refused.take().map_or(Duration::ZERO, |since| since.elapsed()));
            }
            None => {
                refused.get_or_insert_with(Instant::now);
                at = 1 - at;
            }
        }
        std::thread::sleep(PAUSE);
    }
    (numbers, longest)
}

/// A client program of a database that is asked one statement after the other.
#[derive(Debug)]
pub struct Session {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Session {
    /// Starts it; it reads statements and writes rows.
    ///
    /// # Panics
    /// When it does not start.
    pub fn start(mut command: Command) -> Session {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the client program starts");
        ends_with_us(&child, "KILL");
        let input = child.stdin.take().expect("it is piped");
        let output = BufReader::new(child.stdout.take().expect("it is piped"));
        Session { child, input, output }
    }

    /// What a statement answers; nothing, if it is refused or the program has ended.
    pub fn ask(&mut self, sql: &str) -> Vec<String> {
        let mut lines = Vec::new();
        if writeln!(self.input, "{sql};\nSELECT 'that was all';").is_err() {
            return lines;
        }
        loop {
            let mut line = String::new();
            match self.output.read_line(&mut line) {
                Ok(0) | Err(_) => return lines,
                Ok(_) if line.trim_end() == "that was all" => return lines,
                Ok(_) => lines.push(line.trim_end().to_string()),
            }
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
