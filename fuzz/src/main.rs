//! `cargo xtask fuzz [TARGET…] [--runs N] [--seed N] [--list]`

use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use mintage_fuzz::{Target, fuzz, on_every_core, targets};

const RUNS: u64 = 1_000_000;

fn main() -> ExitCode {
    let mut wanted = Vec::new();
    let (mut runs, mut seed) = (RUNS, 1);
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut number = || args.next().and_then(|n| n.replace('_', "").parse().ok());
        match arg.as_str() {
            "--runs" => match number() {
                Some(n) => runs = n,
                None => return usage("--runs needs a number"),
            },
            "--seed" => match number() {
                Some(n) => seed = n,
                None => return usage("--seed needs a number"),
            },
            "--list" => {
                for target in targets() {
                    println!("{}", target.name);
                }
                return ExitCode::SUCCESS;
            }
            other if other.starts_with('-') => return usage(&format!("there is no option {other}")),
            name => wanted.push(name.to_string()),
        }
    }
    let all: Vec<Target> = targets()
        .into_iter()
        .filter(|t| wanted.is_empty() || wanted.contains(&t.name))
        .collect();
    if let Some(name) = wanted.iter().find(|name| !all.iter().any(|t| t.name == **name)) {
        return usage(&format!("there is no target {name}; --list shows all"));
    }
    let is_broken = AtomicBool::new(false);
    on_every_core(&all, |target| {
        if !one(target, runs, seed) {
            is_broken.store(true, Ordering::Relaxed);
        }
    });
    match is_broken.into_inner() {
        false => ExitCode::SUCCESS,
        true => ExitCode::FAILURE,
    }
}

fn one(target: &Target, runs: u64, seed: u64) -> bool {
    let start = Instant::now();
    match fuzz(target, runs, seed) {
        Ok(report) => {
            let seconds = start.elapsed().as_secs_f64();
            println!(
                "{:<18} {:>9} runs  {:>5} kinds of outcome  {seconds:.1} s",
                target.name, report.runs, report.seen
            );
            true
        }
        Err(broken) => {
            println!("{}: {}", target.name, broken.message);
            println!("  input (seed {seed}): b\"{}\"", broken.input.escape_ascii());
            println!(
                "  keep it as a file in fuzz/corpus/{}/, where every run begins",
                target.name
            );
            false
        }
    }
}

fn usage(message: &str) -> ExitCode {
    eprintln!("error: {message}\nhint: fuzz [TARGET...] [--runs N] [--seed N] [--list]");
    ExitCode::from(2)
}
