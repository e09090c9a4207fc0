//! What is told of a run at its end: the table, what took longest, what was flaky, with both outputs.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use super::outcome::Ran;
use super::plan::Test;
use crate::parts::{self, Part};
use crate::step;

/// Figures of a run beside its counts.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    /// Seconds in which processors were idle while tests ran, and how many there were, of all processors.
    pub(crate) idle: Option<(f64, f64)>,
    boots: BTreeMap<String, usize>,
    slowest: Vec<(f64, String)>,
    tests: usize,
}

impl Figures {
    /// Takes up what these tests took.
    pub(crate) fn add(&mut self, ran: &[Ran]) {
        self.tests += ran.len();
        for one in ran {
            for (kind, count) in &one.boots {
                *self.boots.entry(kind.clone()).or_default() += count;
            }
            self.slowest.push((one.seconds, one.name.clone()));
        }
        self.slowest.sort_by(|one, other| other.0.total_cmp(&one.0));
        self.slowest.truncate(SLOWEST);
    }
}

/// How many of the slowest tests are named.
const SLOWEST: usize = 20;

/// A part for each package, of tests and of those that were run again.
pub(crate) fn parts(ran: &mut Vec<Ran>, again: Vec<Ran>, left: &[Test]) -> Vec<Part> {
    let mut parts: BTreeMap<String, Part> = BTreeMap::new();
    let mut again: BTreeMap<String, Ran> = again.into_iter().map(|ran| (ran.name.clone(), ran)).collect();
    for one in ran.drain(..) {
        let (package, path) = one.name.split_once(' ').unwrap_or(("", &one.name));
        let part = of(&mut parts, package);
        part.seconds += one.seconds;
        part.skipped.extend(one.skipped.iter().cloned());
        if one.passed() {
            part.passed.push(one.name.clone());
            continue;
        }
        let mut said = vec![format!("---- {} ({:.1} s)", one.name, one.seconds)];
        said.extend(one.violated.clone());
        said.extend(one.output.iter().cloned());
        let second = again.remove(&one.name);
        if let Some(second) = &second {
            let word = if second.passed() { "passed" } else { "failed" };
            said.push(format!("---- again, alone: {word} ({:.1} s)", second.seconds));
            said.extend(second.output.iter().cloned());
        }
        part.said.push(said);
        match second.is_some_and(|second| second.passed()) {
            true => {
                part.flaky.push(path.to_string());
                part.passed.push(one.name.clone());
            }
            false => part.failed.push(path.to_string()),
        }
    }
    for test in left {
        of(&mut parts, &test.program.package).left.push(test.path.clone());
    }
    parts.into_values().collect()
}

fn of<'a>(parts: &'a mut BTreeMap<String, Part>, package: &str) -> &'a mut Part {
    parts
        .entry(package.to_string())
        .or_insert_with(|| Part::new(package))
}

/// Everything that is told at the end; `seconds` is how long the run took, less than the parts' sum, since tests run
/// side by side.
pub(crate) fn table(all: &[Part], figures: &Figures, seconds: f64) -> String {
    let mut text = parts::table(all, seconds);
    if figures.tests == 0 {
        return text;
    }
    let slowest: Vec<String> = figures
        .slowest
        .iter()
        .map(|(seconds, name)| format!("{seconds:.0} s {name}"))
        .collect();
    let _ = writeln!(text, "\nslowest: {}", slowest.join(", "));
    let boots: Vec<String> = figures
        .boots
        .iter()
        .map(|(kind, count)| format!("{kind} {count}"))
        .collect();
    let sum: usize = figures.boots.values().sum();
    let _ = writeln!(text, "boots: {sum} ({})", boots.join(", "));
    if let Some((idle, all)) = figures.idle {
        let _ = writeln!(
            text,
            "processors idle while tests ran: {idle:.0} s of {all:.0} ({:.0} %)",
            100.0 * idle / all.max(1.0)
        );
    }
    text
}

/// How long each test took when it was run last, kept in the target folder: what takes long begins first.
#[derive(Debug, Default)]
pub(crate) struct Seconds(BTreeMap<String, f64>);

impl Seconds {
    pub(crate) fn load() -> Seconds {
        let text = fs::read_to_string(file()).unwrap_or_default();
        let rows = text.lines().filter_map(|line| line.split_once('\t'));
        Seconds(
            rows.filter_map(|(seconds, name)| Some((name.to_string(), seconds.parse().ok()?)))
                .collect(),
        )
    }

    pub(crate) fn of(&self, name: &str) -> Option<f64> {
        self.0.get(name).copied()
    }

    /// Keeps what these took. A run that cannot write it is none the worse.
    pub(crate) fn save(mut self, ran: &[Ran]) {
        self.0
            .extend(ran.iter().map(|one| (one.name.clone(), one.seconds)));
        let mut text = String::new();
        for (name, seconds) in &self.0 {
            let _ = writeln!(text, "{seconds:.2}\t{name}");
        }
        fs::write(file(), text).ok();
    }
}

fn file() -> PathBuf {
    step::target_dir().join("test-seconds.tsv")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test::outcome::Ended;

    fn ran(path: &str, ended: Ended, output: &str) -> Ran {
        Ran::read(format!("e2e {path}"), path, ended, 1.0, output)
    }

    #[test]
    fn a_test_that_passes_alone_is_flaky_and_its_failure_is_shown() {
        let mut first = vec![
            ran("a", Ended::Passed, "boot: redis"),
            ran("b", Ended::Failed, "too slow\n"),
            ran("c", Ended::Failed, "broken\n"),
            ran("d", Ended::Failed, "invariant violated: 7 twice\n"),
        ];
        let mut figures = Figures::default();
        figures.add(&first);
        let again = vec![
            ran("b", Ended::Passed, ""),
            ran("c", Ended::Hung, "still broken\n"),
        ];
        let parts = parts(&mut first, again, &[]);
        assert_eq!(crate::parts::closing(&parts), "2 passed, 2 failed");
        assert!(!parts[0].is_good());
        let text = table(&parts, &figures, 9.0);
        for wanted in [
            "| e2e | 2 | 2 | 1 | 0 | 4 |",
            "flaky: failed, and passed alone: b\n",
            "FAILED: c, d\n",
            "---- e2e b (1.0 s)\ntoo slow\n---- again, alone: passed",
            "---- again, alone: failed (1.0 s)\nstill broken\n",
            "---- e2e d (1.0 s)\ninvariant violated: 7 twice\n",
            "boots: 1 (redis 1)\n",
        ] {
            assert!(text.contains(wanted), "{wanted} is not in\n{text}");
        }
    }
}
