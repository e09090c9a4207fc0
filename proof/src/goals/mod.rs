//! The goals of docs/proof.md: what is measured, against what.
//!
//! Every line is printed by the code that ran the check, in this invocation.
//!
//! What keeps the processors busy and what mostly waits, for servers, disks and outages, runs side by side: whatever a
//! goal finds must hold on a machine that has other work. Only what compares times has the machine for itself.

mod disk;
mod programs;
mod simulated;

use std::path::PathBuf;
use std::process::Command;
use std::sync::{Mutex, OnceLock};
use std::time::Instant;

use crate::planted::BUGS;
use crate::sim;

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
#[derive(Debug)]
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
    /// The simulator's runs: one set of seeds, from which several goals take their figures.
    pub simulated: OnceLock<sim::Runs>,
}

/// What came of a goal.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// Measured, and as it must be.
    Met(String),
    /// Measured, and not as it must be.
    Missed(String),
    /// It could not be run here.
    NotRun(String),
}

/// What a goal does with the machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Pace {
    /// Keeps every processor busy.
    Busy,
    /// Waits most of its time, or keeps one processor busy: is measured beside the busy ones.
    Waits,
    /// Compares times: is measured last, with nothing beside it.
    Alone,
}

/// A goal.
pub struct Goal {
    /// `G1` …
    pub id: &'static str,
    /// A few words.
    pub name: &'static str,
    /// What must be reached, by mode.
    target: fn(Mode) -> String,
    pace: Pace,
    /// What cargo builds for it, done before anything is measured.
    build: Option<fn() -> Command>,
    run: fn(&Setting) -> Outcome,
}

const NONE_REPEATED: &str = "0 violations";

/// Every goal, in the order of their numbers.
pub const GOALS: &[Goal] = &[
    Goal {
        id: "G1",
        name: "simulation",
        target: |mode| {
            let (seeds, events, ids) = simulated::least(mode);
            format!(
                "{seeds} seeds, {events:e} faults, {events:e} reservations, {ids:e} ids, every kind of fault, \
                 {NONE_REPEATED}"
            )
        },
        pace: Pace::Busy,
        build: None,
        run: simulated::simulation,
    },
    Goal {
        id: "G2",
        name: "kill -9 under load",
        target: |mode| {
            format!(
                "{} kills, no id twice, gaps within max_gap",
                programs::kill_count(mode)
            )
        },
        pace: Pace::Waits,
        build: Some(programs::tests),
        run: programs::kills,
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
        pace: Pace::Busy,
        build: None,
        run: disk::calls,
    },
    Goal {
        id: "G4",
        name: "power cuts",
        target: |mode| {
            format!(
                "{} cuts of a real file system, nothing acknowledged lost",
                disk::cut_count(mode)
            )
        },
        pace: Pace::Waits,
        build: None,
        run: disk::power_cuts,
    },
    Goal {
        id: "G5",
        name: "crash images",
        target: |mode| format!("{} images, all open, {NONE_REPEATED}", disk::image_count(mode)),
        pace: Pace::Busy,
        build: None,
        run: disk::crash_images,
    },
    Goal {
        id: "G6",
        name: "damage",
        target: |_| "every byte, and files of two ages mixed: found or harmless, never a lower mark".into(),
        pace: Pace::Busy,
        build: None,
        run: disk::damage,
    },
    Goal {
        id: "G7",
        name: "clocks",
        target: |_| {
            "1e4 steps, jumps, freezes and drifts in the runs of G1; every pool keeps its order".into()
        },
        pace: Pace::Busy,
        build: None,
        run: simulated::clocks,
    },
    Goal {
        id: "G8",
        name: "outages of real stores",
        target: |mode| {
            format!(
                "{} s without each store, two servers on each at 10,000 ids/s, no failed request",
                programs::outage_seconds(mode)
            )
        },
        pace: Pace::Waits,
        build: Some(programs::tests),
        run: programs::outages,
    },
    Goal {
        id: "G9",
        name: "fuzzing",
        target: |mode| format!("{} executions per target, no crash", programs::executions(mode)),
        pace: Pace::Busy,
        build: Some(programs::fuzzers),
        run: programs::fuzzing,
    },
    Goal {
        id: "G10",
        name: "interleavings",
        target: |_| {
            "loom: every interleaving of threads on the generator's word and on a block's counters".into()
        },
        pace: Pace::Busy,
        build: Some(programs::models),
        run: programs::interleavings,
    },
    Goal {
        id: "G11",
        name: "ids of the real binary",
        target: |mode| format!("{:e} ids of four servers, none twice", programs::ids(mode)),
        pace: Pace::Waits,
        build: Some(programs::tests),
        run: programs::many_ids,
    },
    Goal {
        id: "G12",
        name: "stores that forget",
        target: |mode| {
            let times = programs::losses(mode);
            format!("{times} times on Redis and on PostgreSQL, acknowledged writes lost, no id twice")
        },
        pace: Pace::Waits,
        build: Some(programs::tests),
        run: programs::forgetful,
    },
    Goal {
        id: "G13",
        name: "order across failover",
        target: |mode| {
            format!(
                "{} servers killed on each store; no gap-free number below one answered before it was asked for",
                programs::failovers(mode)
            )
        },
        pace: Pace::Waits,
        build: Some(programs::tests),
        run: programs::order,
    },
    Goal {
        id: "G14",
        name: "copies and forks",
        target: |mode| {
            let forks = simulated::fork_count(mode);
            format!("{forks:e} forks and the copied processes of G1, nothing repeated past two renewals")
        },
        pace: Pace::Waits,
        build: None,
        run: simulated::copies,
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
        pace: Pace::Busy,
        build: None,
        run: simulated::planted_bugs,
    },
    Goal {
        id: "G16",
        name: "small clusters, exhaustively",
        target: |_| "1e6 states of windows, blocks, give-back and unknown outcomes, 0 violations".into(),
        pace: Pace::Busy,
        build: None,
        run: simulated::exhaustively,
    },
    Goal {
        id: "G17",
        name: "hostile load",
        target: |mode| {
            format!(
                "{} slow connections, garbage, absurd requests: good clients' median within 2x; with one greedy client, \
                 their 99th of 100 within 2x; memory bounded",
                programs::slow_connections(mode)
            )
        },
        pace: Pace::Alone,
        build: Some(programs::tests),
        run: programs::hostile,
    },
    Goal {
        id: "G18",
        name: "caches",
        target: |_| "no answer with ids may be kept".into(),
        pace: Pace::Busy,
        build: None,
        run: programs::caches,
    },
    Goal {
        id: "G19",
        name: "soak",
        target: |mode| {
            let (length, gap) = programs::soak_seconds(mode);
            format!("{length} s with a fault every {gap} s: no id twice, memory and descriptors level")
        },
        pace: Pace::Waits,
        build: Some(programs::tests),
        run: programs::soak,
    },
    Goal {
        id: "G20",
        name: "coverage",
        target: |_| "core 90 %, ledger and server 80 % of lines".into(),
        pace: Pace::Busy,
        build: Some(programs::measured_tests),
        run: programs::coverage,
    },
    Goal {
        id: "G21",
        name: "journeys",
        target: |_| {
            format!(
                "{} walks of operators' and developers' journeys, each over every store that it applies to: no id twice, \
                 order kept, each step as documented",
                programs::JOURNEYS
            )
        },
        pace: Pace::Waits,
        build: Some(programs::tests),
        run: programs::journeys,
    },
];

/// How the line of a run of every goal begins.
pub const WHOLE: &str = "all: ";

/// Runs the goals that `only` names (all, if it names none) and prints a line for each; whether all is well, and the
/// lines in the goals' order.
pub fn report(setting: &Setting, only: &[String], allow_missing: &[String]) -> (bool, Vec<String>) {
    let is_wanted = |goal: &Goal| only.is_empty() || only.iter().any(|id| id == goal.id);
    let wanted: Vec<(usize, &Goal)> = GOALS
        .iter()
        .enumerate()
        .filter(|(_, goal)| is_wanted(goal))
        .collect();
    let began = Instant::now();
    let mut builds = Vec::new();
    for mut build in wanted.iter().filter_map(|(_, goal)| Some((goal.build?)())) {
        let words: Vec<_> = build.get_args().map(|word| word.to_string_lossy()).collect();
        let line = words.join(" ");
        if !builds.contains(&line) {
            eprintln!("+ cargo {line}");
            // A build that fails fails its goal, which says so.
            let _ = build.output();
            builds.push(line);
        }
    }
    let built = began.elapsed().as_secs();
    let began = Instant::now();
    let done = Mutex::new(Vec::new());
    let measure_all = |pace: Pace| {
        for (place, goal) in wanted.iter().filter(|(_, goal)| goal.pace == pace) {
            let (well, line) = measure(goal, setting, allow_missing);
            println!("{line}");
            done.lock()
                .expect("no goal panics with the lines")
                .push((*place, well, line));
        }
    };
    std::thread::scope(|threads| {
        threads.spawn(|| measure_all(Pace::Waits));
        measure_all(Pace::Busy);
    });
    measure_all(Pace::Alone);
    let mut done = done.into_inner().expect("no goal panics with the lines");
    done.sort_unstable();
    let well = done.iter().all(|(_, well, _)| *well);
    let mut lines: Vec<String> = done.into_iter().map(|(_, _, line)| line).collect();
    if wanted.len() == GOALS.len() {
        let took = began.elapsed().as_secs();
        lines.push(format!(
            "{WHOLE}{took} s side by side, after {built} s of building the tests"
        ));
        println!("{}", lines[GOALS.len()]);
    }
    (well, lines)
}

/// Whether it is well, and its line.
fn measure(goal: &Goal, setting: &Setting, allow_missing: &[String]) -> (bool, String) {
    let began = Instant::now();
    let outcome = (goal.run)(setting);
    let (id, name, target) = (goal.id, goal.name, (goal.target)(setting.mode));
    let took = began.elapsed().as_secs();
    match outcome {
        Outcome::Met(measured) => (true, format!("{id} {name}: {measured} / {target} [{took} s]")),
        Outcome::Missed(measured) => (
            false,
            format!("{id} {name}: MISSED: {measured} / {target} [{took} s]"),
        ),
        Outcome::NotRun(why) => {
            let allowed = allow_missing.iter().any(|id| id == goal.id);
            let note = if allowed { ", allowed" } else { "" };
            (allowed, format!("{id} {name}: NOT RUN ({why}{note}) / {target}"))
        }
    }
}

fn outcome(failure: Option<String>, enough: bool, measured: String) -> Outcome {
    match failure {
        Some(why) => Outcome::Missed(format!("{measured}; {why}")),
        None if enough => Outcome::Met(measured),
        None => Outcome::Missed(measured),
    }
}
