//! Journeys of ordinary commands on the built `mint`: the end-to-end test of that name, run with whatever bug is planted.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::planted;

/// The stores whose servers start at once.
const OVER: [&str; 3] = [
    "journeys::journeys_over_a_folder",
    "journeys::journeys_over_redis",
    "journeys::journeys_over_a_set",
];

/// Stores whose journeys are walked side by side: they wait most of their time, for windows to pass and engines to start.
pub(crate) const AT_ONCE: u64 = 7;

/// Walks every journey with `named` in its name over a folder, Redis and a set of stores with this `mint`; how many
/// were walked.
///
/// # Errors
/// What the first that ended badly came to; or none was walked.
pub fn run(mint: &Path, named: &str) -> Result<u64, String> {
    let output = end_to_end(mint)
        .args(OVER)
        .env("MINT_TEST_JOURNEYS", named)
        .env("RUST_TEST_THREADS", AT_ONCE.to_string())
        .output()
        .map_err(|e| format!("cargo cannot be started: {e}"))?;
    planted::pass_on(&output.stderr);
    let text = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    let lines: Vec<&str> = text.iter().flat_map(|text| text.lines()).collect();
    if !output.status.success() {
        let why = lines
            .iter()
            .find(|line| line.contains(": step ") || line.contains("panicked at "));
        return Err(why.map_or("the test failed", |line| line).to_string());
    }
    match lines.iter().filter_map(|line| walked(line)).sum() {
        0 => Err("no journey was walked: redis-server or curl is absent".into()),
        sum => Ok(sum),
    }
}

/// Runs one end-to-end test on this `mint`; how many ran.
///
/// # Errors
/// What it came to; or there is no such test.
pub fn test(mint: &Path, name: &str) -> Result<u64, String> {
    let output = end_to_end(mint)
        .args(["--exact", name])
        .output()
        .map_err(|e| format!("cargo cannot be started: {e}"))?;
    planted::pass_on(&output.stderr);
    let text = String::from_utf8_lossy(&output.stdout);
    let failure = text.lines().skip_while(|line| !line.contains("panicked at "));
    match (
        output.status.success(),
        text.contains("test result: ok. 1 passed"),
    ) {
        (true, true) => Ok(1),
        (true, false) => Err(format!("there is no test {name}")),
        (false, _) => Err(failure.take(2).collect::<Vec<_>>().join(" ")),
    }
}

/// The end-to-end tests on this `mint`, those that take minutes too; names of tests are still to be added.
pub(crate) fn end_to_end(mint: &Path) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command
        .args("test --quiet -p mintage-e2e --test end_to_end -- --include-ignored".split(' '))
        .env("MINT_BIN", mint)
        .stdin(Stdio::null());
    command
}

/// How many journeys a line of the test speaks of.
pub(crate) fn walked(line: &str) -> Option<u64> {
    let (_, rest) = line.strip_prefix("journeys: ")?.split_once(" | ")?;
    rest.split_once(" walked")?.0.parse().ok()
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_the_test_prints_is_counted() {
        assert_eq!(super::walked("journeys: redis | 17 walked | 785 ids"), Some(17));
        assert_eq!(super::walked("test result: ok"), None);
    }
}
