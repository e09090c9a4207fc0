//! The goals of docs/guarantees.md: what is measured, against what.
//!
//! Every line is printed by the code that ran the check, in this invocation.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::disk::{cuts, flips, images, inject};
use crate::planted::{self, BUGS, Finder};
use crate::{answers, folders, model, sim};

/// How much time there is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Five minutes on two cores, within `cargo xtask test`.
    Short,
    /// Twenty minutes.
    Full,
    /// A night.
    Long,
}

impl Mode {
    /// One of three figures.
    pub fn of<T>(self, short: T, full: T, long: T) -> T {
        match self {
            Mode::Short => short,
            Mode::Full => full,
            Mode::Long => long,
        }
    }
}

/// What a run of the goals has at hand.
#[derive(Clone, Debug)]
pub struct Setting {
    /// How much time there is.
    pub mode: Mode,
    /// This program, to be run in processes of its own.
    pub program: PathBuf,
    /// This program built with the feature `planted`.
    pub planted: Option<PathBuf>,
    /// `mint` built with the feature `planted`.
    pub planted_mint: Option<PathBuf>,
    /// `mint`.
    pub mint: Option<PathBuf>,
    /// How many cores to use.
    pub threads: usize,
}

/// What came of a goal.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// Measured, and as it must be.
    Met(String),
    /// Measured, and not as it must be.
    Missed(String),
    /// There is no such thing to measure yet.
    NotBuilt(&'static str),
    /// It could not be run here.
    NotRun(String),
}

/// A goal.
pub struct Goal {
    /// `G1` …
    pub id: &'static str,
    /// A few words.
    pub name: &'static str,
    /// What must be reached, by mode.
    target: fn(Mode) -> String,
    run: fn(&Setting) -> Outcome,
}

const NONE_REPEATED: &str = "0 violations";

/// Every goal, in the order of their numbers.
pub const GOALS: &[Goal] = &[
    Goal {
        id: "G1",
        name: "simulation",
        target: |mode| {
            let least = mode.of(
                "6000 seeds, 3e5 faults, 3e5 reservations, 3e7 ids",
                "20000 seeds, 1e6 faults, 1e6 reservations, 1e8 ids",
                "1000000 seeds, 5e7 faults, 5e7 reservations, 5e9 ids",
            );
            format!("{least}, every kind of fault, {NONE_REPEATED}")
        },
        run: simulation,
    },
    Goal {
        id: "G2",
        name: "kill -9 under load",
        target: |mode| {
            format!(
                "{} kills, no id twice, gaps within max_gap",
                mode.of(200, 1_000, 10_000)
            )
        },
        run: kills,
    },
    Goal {
        id: "G3",
        name: "every call killed or failed",
        target: |mode| {
            format!(
                "every {} turn of every call, {NONE_REPEATED}",
                mode.of("19th", "3rd", "single")
            )
        },
        run: calls,
    },
    Goal {
        id: "G4",
        name: "power cuts",
        target: |mode| {
            format!(
                "{} cuts of a real file system, nothing acknowledged lost",
                mode.of(40, 1_000, 20_000)
            )
        },
        run: power_cuts,
    },
    Goal {
        id: "G5",
        name: "crash images",
        target: |mode| {
            format!(
                "{} images, all open, {NONE_REPEATED}",
                mode.of(5_000, 100_000, 2_000_000)
            )
        },
        run: crash_images,
    },
    Goal {
        id: "G6",
        name: "damage",
        target: |_| "every byte, and files of two ages mixed: found or harmless, never a lower mark".into(),
        run: damage,
    },
    Goal {
        id: "G7",
        name: "clocks",
        target: |_| "1e4 steps, jumps, freezes and drifts in simulation; every pool keeps its order".into(),
        run: clocks,
    },
    Goal {
        id: "G8",
        name: "outages of real stores",
        target: |_| "60 s without each engine at 10,000 ids/s, no failed request".into(),
        run: |_| Outcome::NotBuilt("the outage tests of the stores are part of cargo xtask e2e"),
    },
    Goal {
        id: "G9",
        name: "fuzzing",
        target: |mode| {
            format!(
                "{} executions per target, fewer of those that open files, no crash",
                mode.of(50_000, 1_000_000, 100_000_000)
            )
        },
        run: fuzzing,
    },
    Goal {
        id: "G10",
        name: "interleavings",
        target: |_| {
            "loom: every interleaving of threads on the generator's word and on a block's counters".into()
        },
        run: interleavings,
    },
    Goal {
        id: "G11",
        name: "ids of the real binary",
        target: |_| "1e9 ids, none twice".into(),
        run: |_| Outcome::NotBuilt("counted by the kill loop only"),
    },
    Goal {
        id: "G12",
        name: "stores that forget",
        target: |_| "20 failovers with lost writes per engine, no id twice".into(),
        run: |_| Outcome::NotBuilt("lossy stores are refused unless allowed"),
    },
    Goal {
        id: "G13",
        name: "order across failover",
        target: |_| "no later answer below an earlier one".into(),
        run: |_| Outcome::NotBuilt("order across nodes is not promised"),
    },
    Goal {
        id: "G14",
        name: "copies and forks",
        target: |mode| {
            let forks = mode.of("5e3", "1e5", "1e6");
            format!("{forks} forks and the simulator's copied processes, nothing repeated past two renewals")
        },
        run: copies,
    },
    Goal {
        id: "G15",
        name: "planted bugs",
        target: |_| {
            format!(
                "{0} of {0} found, 15 by whole-system checks, control runs green",
                BUGS.len()
            )
        },
        run: planted_bugs,
    },
    Goal {
        id: "G16",
        name: "small clusters, exhaustively",
        target: |_| "1e6 states of windows, blocks, give-back and unknown outcomes, 0 violations".into(),
        run: exhaustively,
    },
    Goal {
        id: "G17",
        name: "hostile load",
        target: |_| "10,000 slow connections, good clients within 2x".into(),
        run: |_| Outcome::NotBuilt("limits are tested one by one in crates/server/tests"),
    },
    Goal {
        id: "G18",
        name: "caches",
        target: |_| "no answer with ids may be kept".into(),
        run: caches,
    },
    Goal {
        id: "G19",
        name: "soak",
        target: |_| "8 h at 80 % load with a fault every 10 s".into(),
        run: |_| Outcome::NotBuilt("for nights"),
    },
    Goal {
        id: "G20",
        name: "coverage",
        target: |_| "core 90 %, ledger and server 80 % of lines".into(),
        run: |_| Outcome::NotBuilt("no coverage tool is part of this build"),
    },
];

/// Runs the goals that `only` names (all, if it names none) and prints a line for each; whether all is well, and the
/// lines.
pub fn report(setting: &Setting, only: &[String], allow_missing: &[String]) -> (bool, Vec<String>) {
    let mut well = true;
    let mut lines = Vec::new();
    for goal in GOALS {
        if !only.is_empty() && !only.iter().any(|id| id == goal.id) {
            continue;
        }
        let began = Instant::now();
        let outcome = (goal.run)(setting);
        let (id, name, target) = (goal.id, goal.name, (goal.target)(setting.mode));
        let took = began.elapsed().as_secs();
        let line = match outcome {
            Outcome::Met(measured) => format!("{id} {name}: {measured} / {target} [{took} s]"),
            Outcome::Missed(measured) => {
                well = false;
                format!("{id} {name}: MISSED: {measured} / {target} [{took} s]")
            }
            Outcome::NotBuilt(why) => format!("{id} {name}: not built ({why}) / {target}"),
            Outcome::NotRun(why) => {
                let allowed = allow_missing.iter().any(|id| id == goal.id);
                well &= allowed;
                let note = if allowed { ", allowed" } else { "" };
                format!("{id} {name}: NOT RUN ({why}{note}) / {target}")
            }
        };
        println!("{line}");
        lines.push(line);
    }
    (well, lines)
}

fn outcome(failure: Option<String>, enough: bool, measured: String) -> Outcome {
    match failure {
        Some(why) => Outcome::Missed(format!("{measured}; {why}")),
        None if enough => Outcome::Met(measured),
        None => Outcome::Missed(measured),
    }
}

fn simulation(setting: &Setting) -> Outcome {
    let seeds = setting.mode.of(6_000, 20_000, 1_000_000);
    let (events, ids) = setting.mode.of(
        (300_000, 30_000_000),
        (1_000_000, 100_000_000),
        (50_000_000, 5_000_000_000),
    );
    let began = Instant::now();
    let runs = sim::run_many(1, seeds, None, setting.threads);
    let sum = &runs.sum;
    let absent = sum.faults.absent();
    let speed = sum.virtual_ns / began.elapsed().as_nanos().max(1) as u64;
    let measured = format!(
        "{} seeds, {} faults of {} kinds, {} reservations, {} ids, {} repeated bit for bit, {speed} x real time, \
         hash {:016x}",
        runs.seeds,
        sum.faults.total(),
        sim::Fault::ALL.len() - absent.len(),
        sum.reservations,
        sum.ids,
        runs.repeated,
        sum.hash
    );
    let failure = runs.failure.map(|f| {
        format!(
            "seed {}: {}; replay: cargo run -q -p mintage-proof -- replay {}",
            f.seed, f.why, f.seed
        )
    });
    let failure = failure.or((!absent.is_empty()).then(|| format!("never happened: {}", absent.join(", "))));
    let enough =
        runs.seeds >= seeds && sum.faults.total() >= events && sum.reservations >= events && sum.ids >= ids;
    outcome(failure, enough, measured)
}

fn kills(setting: &Setting) -> Outcome {
    let Some(mint) = &setting.mint else {
        return Outcome::NotRun("no mint to kill".into());
    };
    let kills: u64 = setting.mode.of(200, 1_000, 10_000);
    let mut command = cargo();
    command
        .args([
            "test",
            "-q",
            "-p",
            "mintage-e2e",
            "--test",
            "kill",
            "--",
            "--nocapture",
        ])
        .env("MINT_TEST_KILLS", kills.to_string())
        .env("MINT_BIN", mint);
    let (well, text) = match outcome_of(&mut command) {
        Ok(done) => done,
        Err(outcome) => return outcome,
    };
    let lines: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("kill loop: "))
        .collect();
    let done = lines
        .iter()
        .find_map(|line| line.split_once(" kills under load")?.0.parse::<u64>().ok());
    let measured = lines.join("; ");
    match done {
        Some(done) if well => outcome(None, done >= kills, measured),
        _ => Outcome::Missed(format!("{measured}; {}", last_lines(&text))),
    }
}

fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.stdin(Stdio::null());
    command
}

/// Runs a command and gives whether it succeeded and all that it printed.
fn outcome_of(command: &mut Command) -> Result<(bool, String), Outcome> {
    match command.output() {
        Ok(output) => {
            let text =
                [&output.stdout[..], &output.stderr[..]].map(|t| String::from_utf8_lossy(t).into_owned());
            Ok((output.status.success(), text.concat()))
        }
        Err(error) => Err(Outcome::NotRun(format!("cargo cannot be started: {error}"))),
    }
}

fn last_lines(text: &str) -> String {
    let mut lines: Vec<&str> = text.lines().rev().take(5).collect();
    lines.reverse();
    lines.join(" | ")
}

fn fuzzing(setting: &Setting) -> Outcome {
    let runs: u64 = setting.mode.of(50_000, 1_000_000, 100_000_000);
    let mut command = cargo();
    command.args([
        "run",
        "--quiet",
        "-p",
        "mintage-fuzz",
        "--",
        "--runs",
        &runs.to_string(),
    ]);
    let (well, text) = match outcome_of(&mut command) {
        Ok(done) => done,
        Err(outcome) => return outcome,
    };
    let done: Vec<u64> = text
        .lines()
        .filter_map(|line| {
            line.split_once(" runs ")?
                .0
                .split_whitespace()
                .last()?
                .parse()
                .ok()
        })
        .collect();
    let measured = format!(
        "{} executions on {} targets",
        done.iter().sum::<u64>(),
        done.len()
    );
    outcome(
        (!well).then(|| last_lines(&text)),
        done.iter().filter(|n| **n >= runs).count() >= 20 && done.iter().all(|n| *n >= runs / 200),
        measured,
    )
}

fn interleavings(_: &Setting) -> Outcome {
    let (well, text) = match outcome_of(cargo().args(["xtask", "loom"])) {
        Ok(done) => done,
        Err(outcome) => return outcome,
    };
    let passed: u64 = text
        .lines()
        .filter_map(|line| {
            line.strip_prefix("test result: ok. ")?
                .split_once(" passed")?
                .0
                .parse::<u64>()
                .ok()
        })
        .sum();
    outcome(
        (!well).then(|| last_lines(&text)),
        passed > 0,
        format!("{passed} models, every interleaving"),
    )
}

fn calls(setting: &Setting) -> Outcome {
    if !images::available() {
        return Outcome::NotRun("no strace".into());
    }
    let stride = setting.mode.of(19, 3, 1);
    match inject::run(&setting.program, 500, stride, setting.threads) {
        Ok(done) => {
            let measured = format!(
                "{} runs with a killed or failed call, {} kinds",
                done.points, done.kinds
            );
            outcome(done.failure, done.points > 0, measured)
        }
        Err(why) => Outcome::NotRun(why),
    }
}

fn power_cuts(setting: &Setting) -> Outcome {
    if let Err(why) = cuts::available() {
        return Outcome::NotRun(format!("no file system of our own: {why}"));
    }
    let (cuts, budget) = setting.mode.of((40, 60), (1_000, 240), (20_000, 7_200));
    match cuts::run_cuts(&setting.program, 1, cuts, Duration::from_secs(budget)) {
        Ok(done) => {
            let measured = format!(
                "{} cuts, {} of them under work, {} times full, {} times read-only",
                done.cuts, done.working, done.full, done.read_only
            );
            outcome(
                done.failure,
                done.cuts >= cuts && done.full > 0 && done.read_only > 0,
                measured,
            )
        }
        Err(why) => Outcome::NotRun(why),
    }
}

fn crash_images(setting: &Setting) -> Outcome {
    if !images::available() {
        return Outcome::NotRun("no strace".into());
    }
    let wanted = setting.mode.of(5_000, 100_000, 2_000_000);
    let plan = images::Plan {
        program: &setting.program,
        seed: 1,
        images: wanted,
        threads: setting.threads,
    };
    match images::run(&plan) {
        Ok(done) => {
            let measured = format!(
                "{} images at {} points, {} of them of a recovery that was cut off too",
                done.opened, done.points, done.twice
            );
            outcome(done.failure, done.opened >= wanted && done.twice > 0, measured)
        }
        Err(why) => Outcome::NotRun(why),
    }
}

fn damage(setting: &Setting) -> Outcome {
    match flips::run(&setting.program, 1, setting.threads) {
        Ok(done) => {
            let measured = format!(
                "{} bytes changed, {} found at opening, {} mixtures",
                done.bytes, done.detected, done.mixed
            );
            outcome(done.failure, done.detected > 0 && done.mixed > 0, measured)
        }
        Err(why) => Outcome::NotRun(why),
    }
}

fn clocks(setting: &Setting) -> Outcome {
    use sim::Fault;
    let seeds = setting.mode.of(2_000, 10_000, 200_000);
    let runs = sim::run_many(2_000_000, seeds, None, setting.threads);
    let kinds = [
        Fault::Stepped,
        Fault::SteppedFar,
        Fault::Jumped,
        Fault::Frozen,
        Fault::Drifting,
        Fault::Stood,
    ];
    let counts = kinds.map(|kind| runs.sum.faults.of(kind));
    let measured = format!(
        "{} seeds: {} steps up to 5 s, {} up to an hour, {} jumps up to ten years, {} freezes, {} drifts, {} machines \
         that stood still",
        runs.seeds, counts[0], counts[1], counts[2], counts[3], counts[4], counts[5]
    );
    let failure = runs.failure.map(|f| format!("seed {}: {}", f.seed, f.why));
    let enough = counts.iter().sum::<u64>() >= 10_000 && counts.iter().all(|count| *count > 0);
    outcome(failure, enough, measured)
}

fn copies(setting: &Setting) -> Outcome {
    let forks = setting.mode.of(5_000, 100_000, 1_000_000);
    // In a process of its own: this one has threads.
    let output = Command::new(&setting.program)
        .args(["forks", "--forks", &forks.to_string()])
        .output();
    let forked = match output {
        Ok(output) if output.status.success() => String::from_utf8_lossy(&output.stdout).trim().to_string(),
        Ok(output) => return Outcome::Missed(String::from_utf8_lossy(&output.stdout).trim().to_string()),
        Err(error) => return Outcome::NotRun(error.to_string()),
    };
    let runs = sim::run_many(
        3_000_000,
        setting.mode.of(500, 5_000, 200_000),
        None,
        setting.threads,
    );
    let copies = runs.sum.faults.of(sim::Fault::Cloned);
    let measured = format!(
        "{forked}; {copies} copied processes, the last id repeated {} ms after the copy",
        runs.sum.longest_exposure_ns / 1_000_000
    );
    let failure = runs.failure.map(|f| format!("seed {}: {}", f.seed, f.why));
    outcome(failure, copies > 0, measured)
}

fn planted_bugs(setting: &Setting) -> Outcome {
    let Some(program) = &setting.planted else {
        return Outcome::NotRun("no build with the feature `planted`".into());
    };
    let (mut found, mut whole, mut missed) = (0, 0, Vec::new());
    let mut finders: Vec<Finder> = Vec::new();
    let hunted = BUGS
        .iter()
        .filter(|bug| bug.finder != Finder::Server || setting.planted_mint.is_some())
        .filter(|bug| !matches!(bug.finder, Finder::Images | Finder::Calls) || images::available());
    let hunted: Vec<planted::Bug> = hunted.copied().collect();
    for bug in &hunted {
        if !finders.contains(&bug.finder) {
            finders.push(bug.finder);
        }
        match planted::hunt(program, setting.planted_mint.as_deref(), *bug) {
            Ok(hunt) if hunt.reached && hunt.found.is_some() => {
                found += 1;
                whole += usize::from(bug.finder.is_whole_system());
            }
            Ok(hunt) if !hunt.reached => missed.push(format!("{} was never reached", bug.name)),
            Ok(_) => missed.push(format!("{} was not found", bug.name)),
            Err(why) => return Outcome::NotRun(why),
        }
    }
    for finder in &finders {
        match planted::control(program, setting.planted_mint.as_deref(), *finder) {
            Ok(None) => {}
            Ok(Some(said)) => missed.push(format!("{} fails without a bug: {said}", finder.name())),
            Err(why) => return Outcome::NotRun(why),
        }
    }
    let rest = match BUGS.len() - hunted.len() {
        0 => String::new(),
        rest => format!(", {rest} that need a server or strace not hunted"),
    };
    let measured = format!(
        "{found} of {} found, {whole} by whole-system checks{rest}",
        hunted.len()
    );
    let failure = (!missed.is_empty()).then(|| missed.join("; "));
    outcome(
        failure,
        found == hunted.len() && found >= 30 && whole >= 15,
        measured,
    )
}

fn exhaustively(setting: &Setting) -> Outcome {
    let runs = model::run(30_000_000, setting.threads);
    let states: usize = runs
        .iter()
        .filter(|run| run.without.is_none())
        .map(|run| run.explored.states)
        .sum();
    let steps = |run: &model::Run| run.explored.violation.as_ref().map_or(0, |(path, _)| path.len());
    let broken: Vec<usize> = runs
        .iter()
        .filter(|run| run.without.is_some())
        .map(steps)
        .collect();
    let (least, most) = (
        broken.iter().min().unwrap_or(&0),
        broken.iter().max().unwrap_or(&0),
    );
    let measured = format!(
        "{states} states, all visited, none wrong; {} rules left out one by one, each with a counter-example of \
         {least} to {most} steps",
        broken.len()
    );
    let wrong = runs.iter().find(|run| !run.is_as_it_must());
    let failure = wrong.map(|run| format!("{} without {:?}: {:?}", run.name, run.without, run.explored));
    outcome(failure, states >= 1_000_000, measured)
}

fn caches(setting: &Setting) -> Outcome {
    let Some(mint) = &setting.mint else {
        return Outcome::NotRun("no mint to ask".into());
    };
    match (answers::run(mint), folders::run()) {
        (Ok(answers), Ok(_)) => Outcome::Met(format!("{answers} kinds of answer, all no-store")),
        (Err(why), _) | (_, Err(why)) => Outcome::Missed(why),
    }
}
