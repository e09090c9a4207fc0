//! `mintage-proof`: runs the checks of this crate from the command line.

use std::process::ExitCode;
use std::time::Duration;

use mintage_proof::sim;

const HELP: &str = "\
mintage-proof COMMAND

  sim [--seeds N] [--from N] [--seconds N] [--threads N] [--all]
                   runs the simulator on seeds FROM, FROM+1, ... and prints what happened; stops at the
                   first failure, unless --all
  replay SEED      runs one seed and prints everything that happened in it
";

fn main() -> ExitCode {
    // A panic is a finding like any other; the report says which seed.
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.first().map(String::as_str) {
        Some("sim") => simulate(&args[1..]),
        Some("replay") => replay(&args[1..]),
        _ => {
            print!("{HELP}");
            ExitCode::from(2)
        }
    }
}

fn option(args: &[String], name: &str) -> Option<u64> {
    let at = args.iter().position(|arg| arg == name)?;
    args.get(at + 1)?.parse().ok()
}

fn simulate(args: &[String]) -> ExitCode {
    std::panic::set_hook(Box::new(|_| {}));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = option(args, "--threads").map_or(threads, |n| n as usize);
    let first = option(args, "--from").unwrap_or(1);
    let budget = option(args, "--seconds").map(Duration::from_secs);
    if args.iter().any(|arg| arg == "--all") {
        return every_failure(first, option(args, "--seeds").unwrap_or(1_000));
    }
    let count = option(args, "--seeds").unwrap_or(if budget.is_some() { u64::MAX } else { 1_000 });
    let began = std::time::Instant::now();
    let runs = sim::run_many(first, count, budget, threads);
    let sum = &runs.sum;
    println!(
        "seeds {} (repeated bit for bit {}), faults {}, reservations {}, ids {}, steps {}, virtual {} s, {} ms, hash {:016x}",
        runs.seeds,
        runs.repeated,
        sum.faults.total(),
        sum.reservations,
        sum.ids,
        sum.steps,
        sum.virtual_ns / 1_000_000_000,
        began.elapsed().as_millis(),
        sum.hash
    );
    println!(
        "copies of processes repeated {} ids, the last {} ms after the copy",
        sum.clone_repeats,
        sum.longest_exposure_ns / 1_000_000
    );
    for (fault, word, what) in sim::Fault::ALL {
        println!("{:>10} {word:18} {what}", sum.faults.of(*fault));
    }
    match runs.failure {
        None => ExitCode::SUCCESS,
        Some(failure) => {
            println!("seed {} failed: {}", failure.seed, failure.why);
            println!("replay: cargo run -q -p mintage-proof -- replay {}", failure.seed);
            ExitCode::FAILURE
        }
    }
}

/// Goes on after a failure, and lists them all.
fn every_failure(first: u64, count: u64) -> ExitCode {
    let mut failures = 0;
    for seed in first..first.saturating_add(count) {
        if let Err(why) = sim::run(seed, false) {
            failures += 1;
            println!("seed {seed} failed: {why}");
        }
    }
    println!("{failures} of {count} seeds failed");
    if failures == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn replay(args: &[String]) -> ExitCode {
    let Some(seed) = args.first().and_then(|seed| seed.parse().ok()) else {
        print!("{HELP}");
        return ExitCode::from(2);
    };
    match sim::run(seed, true) {
        Ok(tally) => {
            println!("seed {seed}: hash {:016x}", tally.hash);
            ExitCode::SUCCESS
        }
        Err(why) => {
            println!("seed {seed} failed: {why}");
            ExitCode::FAILURE
        }
    }
}
