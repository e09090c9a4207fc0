//! Which tests there are, and which of them are to run.

use std::process::Stdio;
use std::sync::Arc;

use super::changed::Reach;
use crate::programs::Program;
use crate::step;

/// One test of a program.
#[derive(Clone, Debug)]
pub(crate) struct Test {
    pub(crate) program: Arc<Program>,
    /// Its path in the program: `kill::no_number_comes_twice`.
    pub(crate) path: String,
    /// It takes minutes, says its `#[ignore]`: a test of the deep run.
    pub(crate) takes_minutes: bool,
}

impl Test {
    /// The package's folder and the path.
    pub(crate) fn name(&self) -> String {
        format!("{} {}", self.program.package, self.path)
    }
}

/// What is asked for.
#[derive(Debug, Default)]
pub(crate) struct Wanted {
    /// Words, one of which a test's name must hold; none: every test.
    pub(crate) words: Vec<String>,
    /// Tests that take minutes, too.
    pub(crate) minutes: bool,
    /// Only the end-to-end tests.
    pub(crate) end_to_end: bool,
    /// Only what a change can break.
    pub(crate) changed: Option<Reach>,
}

impl Wanted {
    fn takes(&self, test: &Test) -> bool {
        let name = test.name();
        let is_named = self.words.is_empty() || self.words.iter().any(|word| name.contains(word.as_str()));
        is_named
            && (!self.end_to_end || test.program.is_end_to_end())
            && self
                .changed
                .as_ref()
                .is_none_or(|reach| reach.takes(&test.program.package, &test.path))
    }
}

/// The tests to run, and those that are left for the deep run.
pub(crate) fn select(programs: Vec<Program>, wanted: &Wanted) -> Result<(Vec<Test>, Vec<Test>), String> {
    let mut chosen = Vec::new();
    for program in programs {
        let program = Arc::new(program);
        let minutes = list(&program, &["--ignored"])?;
        for path in list(&program, &[])? {
            let test = Test {
                program: Arc::clone(&program),
                takes_minutes: minutes.contains(&path),
                path,
            };
            if wanted.takes(&test) {
                chosen.push(test);
            }
        }
    }
    Ok(chosen
        .into_iter()
        .partition(|test| wanted.minutes || !test.takes_minutes))
}

/// The paths of a program's tests.
fn list(program: &Program, which: &[&str]) -> Result<Vec<String>, String> {
    let mut command = program.command();
    command
        .args(["--list", "--format", "terse"])
        .args(which)
        .stderr(Stdio::inherit());
    let text = step::output(&mut command)?;
    let paths = text.lines().filter_map(|line| line.strip_suffix(": test"));
    Ok(paths.map(str::to_string).collect())
}

/// Those that take longest begin first, so that none of them is left alone at the end.
pub(crate) fn in_order(tests: &mut [Test], seconds: impl Fn(&str) -> Option<f64>) {
    let weight = |test: &Test| {
        let known = seconds(&test.name());
        known.unwrap_or(if test.takes_minutes { GUESS_DEEP } else { GUESS })
    };
    tests.sort_by(|one, other| weight(other).total_cmp(&weight(one)));
}

/// Seconds of a test that has not been timed yet.
const GUESS: f64 = 2.0;
const GUESS_DEEP: f64 = 20.0;
