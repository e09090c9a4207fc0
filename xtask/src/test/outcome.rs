//! What one test came to, read from what it printed.

use std::collections::{BTreeMap, BTreeSet};

/// How a test ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    Passed,
    Failed,
    /// It was still running at its limit and was killed.
    Hung,
}

/// One test that has run.
#[derive(Clone, Debug)]
pub(crate) struct Ran {
    /// The package's folder and the test's path: `e2e kill::no_number_comes_twice`.
    pub(crate) name: String,
    pub(crate) ended: Ended,
    pub(crate) seconds: f64,
    /// Its last lines.
    pub(crate) output: Vec<String>,
    /// The invariant that it saw violated, in its words: such a failure is never forgiven.
    pub(crate) violated: Option<String>,
    /// What it did not find on this machine.
    pub(crate) skipped: BTreeSet<String>,
    /// How many private servers of each kind it started.
    pub(crate) boots: BTreeMap<String, usize>,
}

impl Ran {
    /// Reads the output of a test, `path` being the name that its thread has.
    pub(crate) fn read(name: String, path: &str, ended: Ended, seconds: f64, output: &str) -> Ran {
        let mut ran = Ran {
            name,
            ended,
            seconds,
            output: Vec::new(),
            violated: None,
            skipped: BTreeSet::new(),
            boots: BTreeMap::new(),
        };
        for line in output.lines() {
            if let Some(absent) = line.strip_prefix("skipped: ") {
                ran.skipped.insert(absent.to_string());
            } else if let Some(kind) = line.strip_prefix("boot: ") {
                *ran.boots.entry(kind.to_string()).or_default() += 1;
            } else if ended != Ended::Passed && ran.violated.is_none() {
                ran.violated = violation(line, path);
            }
        }
        let lines: Vec<&str> = output.lines().filter(|line| !is_of_the_harness(line)).collect();
        let from = lines.len().saturating_sub(LINES);
        ran.output = lines[from..].iter().map(|line| line.to_string()).collect();
        ran
    }

    pub(crate) fn passed(&self) -> bool {
        self.ended == Ended::Passed
    }
}

/// Last lines of a test that are kept.
const LINES: usize = 40;

/// What the harness prints around the one test of its process.
fn is_of_the_harness(line: &str) -> bool {
    let begins = [
        "running 1 test",
        "test result: ",
        "note: run with `RUST_BACKTRACE",
        "error: test failed",
        "boot: ",
    ];
    line.is_empty() || begins.iter().any(|start| line.starts_with(start))
}

/// The invariant that a line tells to be violated: a test says so in words (`mintage_testing::invariant!`), a sanitizer
/// and loom in theirs, and a panic in the sources of the product on any thread but the test's own is one too.
fn violation(line: &str, path: &str) -> Option<String> {
    let marked = [
        "invariant violated: ",
        "ERROR: AddressSanitizer",
        "WARNING: ThreadSanitizer",
    ];
    if let Some(at) = marked.iter().find_map(|mark| line.find(mark)) {
        return Some(line[at..].to_string());
    }
    let (thread, place) = line.split_once("panicked at ")?;
    let is_ours = place.split_once("crates/").is_some_and(|(before, after)| {
        before.split('/').all(|part| part != "registry") && after.contains("/src/")
    });
    let is_the_tests = thread.contains(&format!("'{path}'"));
    (is_ours && !is_the_tests).then(|| format!("a panic of the product: {}", line.trim()))
}

#[cfg(test)]
mod tests {
    use super::{Ended, Ran};

    fn failed(output: &str) -> Ran {
        Ran::read("e2e a::b".into(), "a::b", Ended::Failed, 1.0, output)
    }

    #[test]
    fn a_violated_invariant_is_told_from_a_failure_that_may_be_the_machines() {
        let at = "thread 'a::b' (12) panicked at e2e/tests/a.rs:7:5:";
        assert_eq!(failed(at).violated, None);
        let repeat = failed(&format!("{at}\ninvariant violated: 7 was issued twice"));
        assert_eq!(repeat.violated.unwrap(), "invariant violated: 7 was issued twice");
        let own = "thread 'a::b' (12) panicked at crates/core/src/clock.rs:7:5:";
        assert_eq!(failed(own).violated, None, "a unit test's own assertion");
        for line in [
            "thread 'main' (3) panicked at crates/server/src/run.rs:7:5:",
            "  thread 'tokio-rt-worker' (3) panicked at /x/mintage/crates/ledger/src/pool/mod.rs:7:5:",
            "==3==ERROR: AddressSanitizer: heap-use-after-free",
        ] {
            assert!(failed(line).violated.is_some(), "{line}");
        }
        let other = "thread 'x' panicked at .cargo/registry/src/y/crates/z/src/lib.rs:1:1:";
        assert_eq!(failed(other).violated, None);
        assert_eq!(
            Ran::read("e2e a".into(), "a", Ended::Passed, 1.0, "invariant violated: x").violated,
            None,
            "of a test that passed it is what it wanted to see"
        );
    }

    #[test]
    fn boots_and_what_is_absent_are_counted_and_the_last_lines_kept() {
        let lines: String = (0..99).map(|n| format!("line {n}\n")).collect();
        let ran = failed(&format!(
            "\nrunning 1 test\nskipped: etcd\nboot: redis\nboot: redis\n{lines}test result: FAILED\n"
        ));
        assert!(ran.skipped.contains("etcd"));
        assert_eq!(ran.boots["redis"], 2);
        assert_eq!((ran.output.len(), ran.output[39].as_str()), (40, "line 98"));
    }
}
