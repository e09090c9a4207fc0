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

fn said_by(program: &str, argument: &str) -> String {
    Command::new(program)
        .arg(argument)
        .output()
        .ok()
        .and_then(|output| String::from_utf8(output.stdout).ok())
        .map_or_else(|| format!("{program} unknown"), |text| text.trim().to_owned())
}
