//! The goals of docs/guarantees.md: what is measured, against what.
//!
//! Every line is printed by the code that ran the check, in this invocation.

mod disk;
mod programs;
mod simulated;

use std::path::PathBuf;
use std::sync::OnceLock;
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
                "20000 seeds, 1e6 faults, 1e6 reservations, 1e8 ids",
                "40000 seeds, 2e6 faults, 2e6 reservations, 2e8 ids",
                "1000000 seeds, 5e7 faults, 5e7 reservations, 5e9 ids",
            );
            format!("{least}, every kind of fault, {NONE_REPEATED}")
        },
        run: simulated::simulation,
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
        run: disk::calls,
    },
    Goal {
        id: "G4",
        name: "power cuts",
        target: |mode| {
            format!(
                "{} cuts of a real file system, nothing acknowledged lost",
                mode.of(20, 1_000, 20_000)
            )
        },
        run: disk::power_cuts,
    },
    Goal {
        id: "G5",
        name: "crash images",
        target: |mode| {
            format!(
                "{} images, all open, {NONE_REPEATED}",
                mode.of(2_000, 100_000, 2_000_000)
            )
        },
        run: disk::crash_images,
    },
    Goal {
        id: "G6",
        name: "damage",
        target: |_| "every byte, and files of two ages mixed: found or harmless, never a lower mark".into(),
        run: disk::damage,
    },
    Goal {
        id: "G7",
        name: "clocks",
        target: |_| {
            "1e4 steps, jumps, freezes and drifts in the runs of G1; every pool keeps its order".into()
        },
        run: simulated::clocks,
    },
    Goal {
        id: "G8",
        name: "outages of real stores",
        target: |mode| {
            format!(
                "{} s without each store, two servers on each at 10,000 ids/s, no failed request",
                mode.of(20, 60, 600)
            )
        },
        run: programs::outages,
    },
    Goal {
        id: "G9",
        name: "fuzzing",
        target: |mode| {
            format!(
                "{} executions per target, no crash",
                mode.of(50_000, 1_000_000, 100_000_000)
            )
        },
        run: programs::fuzzing,
    },
    Goal {
        id: "G10",
        name: "interleavings",
        target: |_| {
            "loom: every interleaving of threads on the generator's word and on a block's counters".into()
        },
        run: programs::interleavings,
    },
    Goal {
        id: "G11",
        name: "ids of the real binary",
        target: |mode| format!("{:e} ids of four servers, none twice", programs::ids(mode)),
        run: programs::many_ids,
    },
    Goal {
        id: "G12",
        name: "stores that forget",
        target: |mode| {
            let times = programs::failovers(mode);
            format!("{times} failovers with lost writes per kind of store, no id twice")
        },
        run: programs::forgetful,
    },
    Goal {
        id: "G13",
        name: "order across failover",
        target: |mode| {
            format!(
                "{} servers killed on each store; no gap-free number below one answered before it was asked for",
                mode.of(4, 30, 3_000)
            )
        },
        run: programs::order,
    },
    Goal {
        id: "G14",
        name: "copies and forks",
        target: |mode| {
            let forks = mode.of("5e3", "1e5", "1e6");
            format!("{forks} forks and the copied processes of G1, nothing repeated past two renewals")
        },
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
        run: simulated::planted_bugs,
    },
    Goal {
        id: "G16",
        name: "small clusters, exhaustively",
        target: |_| "1e6 states of windows, blocks, give-back and unknown outcomes, 0 violations".into(),
        run: simulated::exhaustively,
    },
    Goal {
        id: "G17",
        name: "hostile load",
        target: |mode| {
            format!(
                "{} slow connections, garbage, absurd requests: good clients' median within 2x, memory bounded",
                programs::slow_connections(mode)
            )
        },
        run: programs::hostile,
    },
    Goal {
        id: "G18",
        name: "caches",
        target: |_| "no answer with ids may be kept".into(),
        run: programs::caches,
    },
    Goal {
        id: "G19",
        name: "soak",
        target: |mode| {
            let (length, gap) = programs::soak_seconds(mode);
            format!("{length} s with a fault every {gap} s: no id twice, memory and descriptors level")
        },
        run: programs::soak,
    },
    Goal {
        id: "G20",
        name: "coverage",
        target: |_| "core 90 %, ledger and server 80 % of lines".into(),
        run: programs::coverage,
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
