//! Where the figures come from: no number without its machine and date.

use std::fs;
use std::process::Command;

/// One line: processor, cores, kernel, compiler, date.
pub(crate) fn line() -> String {
    let cpu = fs::read_to_string("/proc/cpuinfo")
        .ok()
        .and_then(|text| {
            text.lines().find_map(|l| {
                l.strip_prefix("model name")?
                    .split_once(": ")
                    .map(|p| p.1.to_owned())
            })
        })
        .unwrap_or_else(|| "unknown processor".into());
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    format!(
        "{cpu}, {cores} cores, Linux {}, {}, {}",
        kernel.trim(),
        said_by("rustc", "--version"),
        said_by("date", "--iso-8601")
    )
}

/// Says on standard error how a ratio compares with the least that we want it to be; the tables are for users.
pub(crate) fn beside_goal(what: &str, ratio: f64, least: f64) {
    let verdict = if ratio >= least { "reached" } else { "missed" };
    eprintln!("goal {verdict}: {what}: {ratio:.2}x, at least {least}x wanted");
}

/// The same of a ratio that should be at most so large.
pub(crate) fn beside_limit(what: &str, ratio: f64, most: f64) {
    let verdict = if ratio <= most { "reached" } else { "missed" };
    eprintln!("goal {verdict}: {what}: {ratio:.2}x, at most {most}x wanted");
}

fn said_by(program: &str, argument: &str) -> String {
    Command::new(program)
        .arg(argument)
        .output()
        .ok()
        .and_then(|output| String::from_utf8(output.stdout).ok())
        .map_or_else(|| format!("{program} unknown"), |text| text.trim().to_owned())
}
