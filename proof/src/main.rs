//! `mintage-proof`: runs the checks of this crate from the command line.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::OnceLock;
use std::time::Duration;

use mintage_proof::disk::{cuts, flips, images, inject, work};
use mintage_proof::goals::{self, Mode, Setting};
use mintage_proof::planted::{self, BUGS};
use mintage_proof::{answers, folders, forks, journeys, model, page, sim};

const HELP: &str = "\
mintage-proof COMMAND

  report [--short|--long] [--only G1,G5] [--allow-missing G4] [--save]
                   measures the goals and prints a line for each; --save puts them into
                   docs/proof.md
  sim [--seeds N] [--from N] [--seconds N] [--threads N] [--all] [--with KIND,...]
                   runs the simulator on seeds FROM, FROM+1, ... and prints what happened; stops at the
                   first failure, unless --all; --with: every run has these kinds of fault
  replay SEED [--with KIND,...]
                   runs one seed and prints everything that happened in it
  images [--images N] [--seed N]
                   opens what a disk may hold after a power cut
  flips            changes every byte of a used folder
  inject [--turns N] [--stride N]
                   kills and fails every call of a process
  cuts [--cuts N] [--seed N]
                   cuts the power of a real file system (root)
  folders | forks [--forks N] | answers
                   second openings and copies; forked children; the server's answers (MINT_BIN)
  journeys [WORDS] ordinary commands, one after the other, of the journeys with WORDS in their name (MINT_BIN)
  end-to-end TEST  one end-to-end test, on real servers (MINT_BIN)
  model            every state of small clusters
  planted [NAME]   plants every bug, or one, in MINT_PROOF_PLANTED and looks for it
  table            the bugs and what finds them
  work FOLDER SCRIPT SEED STEPS [--abort]
                   what the others run
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let rest = args.get(1..).unwrap_or_default();
    match args.first().map(String::as_str) {
        Some("report") => report(rest),
        Some("sim") => simulate(rest),
        Some("replay") => replay(rest),
        Some("images") => {
            let plan = images::Plan {
                program: &this(),
                seed: option(rest, "--seed").unwrap_or(1),
                images: option(rest, "--images").unwrap_or(5_000),
                threads: threads(rest),
            };
            told(images::run(&plan), |done| done.failure.clone())
        }
        Some("flips") => told(flips::run(&this(), 1, threads(rest)), |done| done.failure.clone()),
        Some("inject") => {
            let (turns, stride) = (
                option(rest, "--turns").unwrap_or(500),
                option(rest, "--stride").unwrap_or(1),
            );
            told(inject::run(&this(), turns, stride, threads(rest)), |done| {
                done.failure.clone()
            })
        }
        Some("cuts") => {
            let (cuts, seed) = (
                option(rest, "--cuts").unwrap_or(1_000),
                option(rest, "--seed").unwrap_or(1),
            );
            told(cuts::run_cuts(&this(), seed, cuts), |done| done.failure.clone())
        }
        Some("folders") => told(folders::run(), |_| None),
        Some("forks") => forked(rest),
        Some("answers") => match std::env::var_os("MINT_BIN") {
            Some(mint) => told(answers::run(Path::new(&mint)), |_| None),
            None => {
                println!("failed: MINT_BIN names no mint");
                ExitCode::FAILURE
            }
        },
        Some("journeys") => match std::env::var_os("MINT_BIN") {
            Some(mint) => {
                let named = rest.first().map_or("", String::as_str);
                told(journeys::run(Path::new(&mint), named), |_| None)
            }
            None => {
                println!("failed: MINT_BIN names no mint");
                ExitCode::FAILURE
            }
        },
        Some("end-to-end") => match (std::env::var_os("MINT_BIN"), rest.first()) {
            (Some(mint), Some(test)) => told(journeys::test(Path::new(&mint), test), |_| None),
            _ => {
                println!("failed: MINT_BIN names no mint, or no test is named");
                ExitCode::FAILURE
            }
        },
        Some("model") => explore(rest),
        Some("planted") => plant(rest),
        Some("table") => {
            print!("{}", planted::table());
            ExitCode::SUCCESS
        }
        Some("work") => work_here(rest),
        _ => {
            print!("{HELP}");
            ExitCode::from(2)
        }
    }
}

/// This program, to be run again.
fn this() -> PathBuf {
    std::env::current_exe().expect("a running program has a path")
}

fn option(args: &[String], name: &str) -> Option<u64> {
    word(args, name)?.parse().ok()
}

fn word<'a>(args: &'a [String], name: &str) -> Option<&'a str> {
    let at = args.iter().position(|arg| arg == name)?;
    args.get(at + 1).map(String::as_str)
}

fn threads(args: &[String]) -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    option(args, "--threads").map_or(cores, |n| n as usize)
}

fn told<T: std::fmt::Debug>(done: Result<T, String>, failure: impl Fn(&T) -> Option<String>) -> ExitCode {
    match done {
        Ok(done) => {
            let failed = failure(&done);
            println!("{done:?}");
            match failed {
                None => ExitCode::SUCCESS,
                Some(why) => {
                    println!("failed: {why}");
                    ExitCode::FAILURE
                }
            }
        }
        Err(why) => {
            println!("failed: {why}");
            ExitCode::FAILURE
        }
    }
}

fn report(args: &[String]) -> ExitCode {
    let mode = match args {
        args if args.iter().any(|arg| arg == "--short") => Mode::Short,
        args if args.iter().any(|arg| arg == "--long") => Mode::Long,
        _ => Mode::Full,
    };
    let list = |name: &str| -> Vec<String> {
        let listed = word(args, name).unwrap_or_default();
        listed
            .split(',')
            .filter(|id| !id.is_empty())
            .map(ToString::to_string)
            .collect()
    };
    let path = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let setting = Setting {
        mode,
        program: this(),
        planted: path("MINT_PROOF_PLANTED"),
        planted_mint: path("MINT_PROOF_PLANTED_MINT"),
        mint: path("MINT_BIN"),
        threads: threads(args),
        simulated: OnceLock::new(),
    };
    quiet_panics();
    let (well, lines) = goals::report(&setting, &list("--only"), &list("--allow-missing"));
    if args.iter().any(|arg| arg == "--save")
        && let Err(why) = page::put_lines(&lines)
    {
        println!("failed: {why}");
        return ExitCode::FAILURE;
    }
    if well {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// A panic is a finding like any other; the report says where it came from.
fn quiet_panics() {
    std::panic::set_hook(Box::new(|_| {}));
}

fn simulate(args: &[String]) -> ExitCode {
    quiet_panics();
    if !focused(args) {
        print!("{HELP}");
        return ExitCode::from(2);
    }
    let first = option(args, "--from").unwrap_or(1);
    let budget = option(args, "--seconds").map(Duration::from_secs);
    if args.iter().any(|arg| arg == "--all") {
        return every_failure(first, option(args, "--seeds").unwrap_or(1_000));
    }
    let count = option(args, "--seeds").unwrap_or(if budget.is_some() { u64::MAX } else { 1_000 });
    let began = std::time::Instant::now();
    let runs = sim::run_many(first, count, budget, threads(args));
    let sum = &runs.sum;
    println!(
        "seeds {} (repeated bit for bit {}), faults {}, reservations {}, ids {}, steps {}, virtual {} s, {} ms, hash \
         {:016x}",
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

/// Takes `--with KIND,...` in; `false`: there is no such kind.
fn focused(args: &[String]) -> bool {
    let at = args.iter().position(|arg| arg == "--with");
    at.is_none_or(|at| args.get(at + 1).is_some_and(|words| sim::focus(words)))
}

fn replay(args: &[String]) -> ExitCode {
    if !focused(args) {
        print!("{HELP}");
        return ExitCode::from(2);
    }
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

fn forked(args: &[String]) -> ExitCode {
    match forks::run(option(args, "--forks").unwrap_or(1_000)) {
        Ok(done) if done.failure.is_none() => {
            println!("{} forks, {} ids, none twice", done.forks, done.ids);
            ExitCode::SUCCESS
        }
        Ok(done) => {
            println!("failed: {}", done.failure.unwrap_or_default());
            ExitCode::FAILURE
        }
        Err(why) => {
            println!("failed: {why}");
            ExitCode::FAILURE
        }
    }
}

fn explore(args: &[String]) -> ExitCode {
    let mut well = true;
    for run in model::run(30_000_000, threads(args), true) {
        well &= run.is_as_it_must();
        let explored = &run.explored;
        let without = run
            .without
            .map_or("all rules".to_string(), |rule| format!("without {rule:?}"));
        println!(
            "{}, {without}: {} states, {} deep",
            run.name, explored.states, explored.depth
        );
        if let Some((path, why)) = &explored.violation {
            println!("    {why}, {} steps: {}", path.len(), path.join(", "));
        }
    }
    if well {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn plant(args: &[String]) -> ExitCode {
    let Some(program) = std::env::var_os("MINT_PROOF_PLANTED").map(PathBuf::from) else {
        println!("failed: MINT_PROOF_PLANTED names no build of the tree in which the bugs are planted");
        return ExitCode::FAILURE;
    };
    let mint = std::env::var_os("MINT_PROOF_PLANTED_MINT").map(PathBuf::from);
    let mut found = 0;
    let named = args.first();
    let bugs: Vec<_> = BUGS
        .iter()
        .filter(|bug| named.is_none_or(|name| name == bug.name))
        .collect();
    for bug in &bugs {
        match planted::hunt(&program, mint.as_deref(), **bug) {
            Ok(hunt) => {
                let what = match (&hunt.found, hunt.reached) {
                    (Some(what), true) => {
                        found += 1;
                        what.as_str()
                    }
                    (_, false) => "NEVER REACHED",
                    (None, true) => "NOT FOUND",
                };
                println!("{}: {}: {what}", bug.name, bug.finder.name());
            }
            Err(why) => println!("{}: {why}", bug.name),
        }
    }
    println!("{found} of {} found", bugs.len());
    if found == bugs.len() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn work_here(args: &[String]) -> ExitCode {
    let script = args.get(1).and_then(|word| work::Script::of(word));
    let number = |at: usize| args.get(at).and_then(|n| n.parse::<u64>().ok());
    let (Some(folder), Some(script), Some(seed), Some(steps)) = (args.first(), script, number(2), number(3))
    else {
        print!("{HELP}");
        return ExitCode::from(2);
    };
    let abort = args.iter().any(|arg| arg == "--abort");
    match work::work(Path::new(folder), script, seed, steps, abort) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}
