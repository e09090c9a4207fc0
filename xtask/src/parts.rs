//! A test run in parts: what each ran, what it left, how long it took, and all of it in a table at the end.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use crate::step;

/// What a part came to.
#[derive(Debug, Default)]
pub(crate) struct Part {
    pub(crate) name: String,
    /// Tests that passed, by name.
    pub(crate) passed: Vec<String>,
    /// Tests that failed, by name; or the command that did where no test is named.
    pub(crate) failed: Vec<String>,
    /// Tests that failed, and passed when they were run again alone on a quiet machine.
    pub(crate) flaky: Vec<String>,
    /// Tests that are for the deep run.
    pub(crate) left: Vec<String>,
    /// What those that failed printed, each from its name on.
    pub(crate) said: Vec<Vec<String>>,
    /// Whether that is what is being read.
    says: bool,
    /// What was absent.
    pub(crate) skipped: BTreeSet<String>,
    pub(crate) seconds: f64,
}

impl Part {
    /// A part that has come to nothing yet.
    pub(crate) fn new(name: &str) -> Part {
        Part {
            name: name.to_string(),
            ..Part::default()
        }
    }

    /// A part that is no run of tests.
    pub(crate) fn of(name: &str, run: impl FnOnce() -> Result<(), String>) -> Part {
        let begun = Instant::now();
        let failed = run().err().into_iter().collect();
        Part {
            failed,
            seconds: begun.elapsed().as_secs_f64(),
            ..Part::new(name)
        }
    }

    /// Runs these commands, one after the other, and reads what they print as tests do. One that fails stops none.
    pub(crate) fn tests(name: &str, commands: Vec<Command>) -> Part {
        let begun = Instant::now();
        let part = Arc::new(Mutex::new(Part::new(name)));
        for command in commands {
            run(command, &part);
        }
        let mut part = std::mem::take(&mut *part.lock().unwrap_or_else(PoisonError::into_inner));
        part.seconds = begun.elapsed().as_secs_f64();
        part
    }

    /// Whether nothing failed.
    pub(crate) fn is_good(&self) -> bool {
        self.failed.is_empty()
    }

    /// How long it took.
    pub(crate) fn seconds(&self) -> f64 {
        self.seconds
    }

    /// Keeps the last lines of what each failed test printed until it panicked, which its program shows when all have
    /// run.
    fn hear(&mut self, line: &str) {
        let begins = line.starts_with("---- ") && line.ends_with(" stdout ----");
        if begins {
            self.said.push(Vec::new());
        }
        self.says = begins || self.says && !["stack backtrace:", "failures:"].contains(&line);
        if let (true, Some(said)) = (self.says, self.said.last_mut()) {
            if said.len() > SAID {
                // The name stays.
                said.remove(1);
            }
            said.push(line.to_string());
        }
    }

    /// Takes up what a line of a test program says.
    fn read(&mut self, line: &str) {
        if let Some(absent) = line.strip_prefix("skipped: ") {
            self.skipped.insert(absent.to_string());
        }
        self.hear(line);
        let Some((name, outcome)) = line
            .strip_prefix("test ")
            .and_then(|line| line.rsplit_once(" ... "))
        else {
            return;
        };
        match outcome {
            "ok" => self.passed.push(name.to_string()),
            "FAILED" => self.failed.push(name.to_string()),
            // An example that is not to be run was compiled, which is all there is to it.
            "ignored" => {}
            ignored if ignored.starts_with("ignored, ") => self.left.push(name.to_string()),
            _ => {}
        }
    }
}

/// Lines of each failed test that are shown again at the end.
const SAID: usize = 30;

/// Runs one command; what it prints is passed on.
fn run(mut command: Command, part: &Arc<Mutex<Part>>) {
    let shown = step::shown(&command);
    eprintln!("+ {shown}");
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let failed_before = lock(part).failed.len();
    let status = command.spawn().and_then(|mut child| {
        let out = child
            .stdout
            .take()
            .map(|out| reader(out, part, |line| println!("{line}")));
        let err = child
            .stderr
            .take()
            .map(|err| reader(err, part, |line| eprintln!("{line}")));
        let status = child.wait();
        for thread in [out, err].into_iter().flatten() {
            thread.join().expect("no panic");
        }
        status
    });
    let mut part = lock(part);
    match status {
        Ok(status) if status.success() => {}
        // Its tests are named.
        Ok(_) if part.failed.len() > failed_before => {}
        Ok(status) => part.failed.push(format!("`{shown}`: {status}")),
        Err(error) => part.failed.push(format!("`{shown}` cannot be started: {error}")),
    }
}

fn reader(
    from: impl Read + Send + 'static,
    part: &Arc<Mutex<Part>>,
    pass_on: fn(&str),
) -> thread::JoinHandle<()> {
    let part = Arc::clone(part);
    thread::spawn(move || {
        for line in BufReader::new(from).split(b'\n').map_while(Result::ok) {
            let line = String::from_utf8_lossy(&line);
            lock(&part).read(&line);
            pass_on(&line);
        }
    })
}

fn lock(part: &Mutex<Part>) -> std::sync::MutexGuard<'_, Part> {
    part.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What all parts came to, for the end of the run; `seconds` is how long it took, less than the sum where parts ran
/// side by side.
pub(crate) fn table(parts: &[Part], seconds: f64) -> String {
    let mut text = String::from(
        "| part | passed | failed | flaky | left | seconds |\n| --- | --: | --: | --: | --: | --: |\n",
    );
    let mut row = |name: &str, counts: [usize; 4], seconds: f64| {
        let [passed, failed, flaky, left] = counts;
        let _ = writeln!(
            text,
            "| {name} | {passed} | {failed} | {flaky} | {left} | {seconds:.0} |"
        );
    };
    let mut sums = [0; 4];
    for part in parts {
        let counts = [
            part.passed.len(),
            part.failed.len(),
            part.flaky.len(),
            part.left.len(),
        ];
        for (sum, count) in sums.iter_mut().zip(counts) {
            *sum += count;
        }
        row(&part.name, counts, part.seconds);
    }
    row("all", sums, seconds);
    let mut list = |title: &str, of: &dyn Fn(&Part) -> Vec<String>| {
        let names: BTreeSet<String> = parts.iter().flat_map(of).collect();
        if !names.is_empty() {
            let names: Vec<String> = names.into_iter().collect();
            let _ = writeln!(text, "{title}: {}", names.join(", "));
        }
    };
    list("skipped, being absent", &|part| {
        part.skipped.iter().cloned().collect()
    });
    list("left for --deep", &|part| by_file(&part.left));
    list("flaky: failed, and passed alone", &|part| part.flaky.clone());
    list("FAILED", &|part| part.failed.clone());
    for line in parts.iter().flat_map(|part| &part.said).flatten() {
        let _ = writeln!(text, "{line}");
    }
    text
}

/// The line that says what all of it came to, for programs that read the end of a run.
pub(crate) fn closing(parts: &[Part]) -> String {
    let sum = |of: fn(&Part) -> usize| parts.iter().map(of).sum::<usize>();
    format!(
        "{} passed, {} failed",
        sum(|part| part.passed.len()),
        sum(|part| part.failed.len())
    )
}

/// How many tests there are of each file: `kill (3)`.
fn by_file(tests: &[String]) -> Vec<String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for test in tests {
        *counts.entry(test.split("::").next().unwrap_or(test)).or_default() += 1;
    }
    counts
        .into_iter()
        .map(|(file, count)| format!("{file} ({count})"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{Part, table};
    use std::process::Command;

    fn echo(text: &str, code: u8) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("printf '%s' '{text}'; exit {code}")]);
        command
    }

    #[test]
    fn the_table_counts_what_ran_and_names_what_failed_and_what_was_left() {
        let mut part = Part::new("one");
        // Read, not printed: whoever runs this test reads what it prints.
        for line in [
            "test a::b ... ok",
            "test c ... FAILED",
            "test d ... ignored, minutes",
            "test x.rs - y (line 3) ... ignored",
            "skipped: redis",
            "test result: FAILED. 1 passed",
            "test e ... ok",
        ] {
            part.read(line);
        }
        assert!(!part.is_good());
        let text = table(&[part], 3.4);
        assert!(
            text.contains("| one | 2 | 1 | 0 | 1 | 0 |\n| all | 2 | 1 | 0 | 1 | 3 |\n"),
            "{text}"
        );
        assert!(
            text.contains("skipped, being absent: redis\nleft for --deep: d (1)\nFAILED: c\n"),
            "{text}"
        );
    }

    #[test]
    fn what_failed_tests_printed_is_shown_again_after_the_table() {
        let lines = |name: &str| -> String { (0..99).map(|n| format!("{name}{n}\n")).collect() };
        let said = format!(
            "test c ... FAILED\n\nfailures:\n\n---- c stdout ----\n{}---- d stdout ----\nshort\n\nstack backtrace:\n   0: x\n\nfailures:\n    c\n    d\n",
            lines("c")
        );
        let text = table(&[Part::tests("one", vec![echo(&said, 101)])], 0.0);
        let (_, shown) = text.split_once("FAILED: c\n").expect("it is named");
        let want = format!(
            "---- c stdout ----\n{}---- d stdout ----\nshort\n\n",
            &lines("c")[lines("c").find("c69").expect("it is there")..]
        );
        assert_eq!(shown, want);
    }

    #[test]
    fn a_program_that_fails_without_naming_a_test_is_named_itself() {
        let part = Part::tests("one", vec![echo("test a ... ok", 7)]);
        assert!(!part.is_good());
        assert!(table(&[part], 0.0).contains("FAILED: `sh -c"));
        assert!(Part::tests("two", vec![echo("test a ... ok", 0)]).is_good());
    }
}
