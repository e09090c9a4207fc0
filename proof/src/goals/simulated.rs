//! What is measured in virtual time, in a model, or by planting bugs.

use std::process::Command;
use std::time::Instant;

use super::{Mode, Outcome, Setting, outcome};
use crate::disk::images;
use crate::planted::{self, BUGS, Finder};
use crate::{model, sim};

/// How many seeds, faults and reservations (as many of each), and ids there must be.
pub(super) fn least(mode: Mode) -> (u64, u64, u64) {
    match mode {
        Mode::Short | Mode::Full => (25_000, 1_000_000, 100_000_000),
        Mode::Long => (1_000_000, 50_000_000, 5_000_000_000),
    }
}

/// The simulator's runs of this invocation.
fn runs(setting: &Setting) -> &sim::Runs {
    let (seeds, ..) = least(setting.mode);
    setting
        .simulated
        .get_or_init(|| sim::run_many(1, seeds, None, setting.threads))
}

fn failure(runs: &sim::Runs) -> Option<String> {
    runs.failure.as_ref().map(|f| {
        format!(
            "seed {}: {}; replay: cargo run -q -p mintage-proof -- replay {}",
            f.seed, f.why, f.seed
        )
    })
}

pub(super) fn simulation(setting: &Setting) -> Outcome {
    let (seeds, events, ids) = least(setting.mode);
    let began = Instant::now();
    let runs = runs(setting);
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
    let failure =
        failure(runs).or((!absent.is_empty()).then(|| format!("never happened: {}", absent.join(", "))));
    let enough =
        runs.seeds >= seeds && sum.faults.total() >= events && sum.reservations >= events && sum.ids >= ids;
    outcome(failure, enough, measured)
}

pub(super) fn clocks(setting: &Setting) -> Outcome {
    use sim::Fault;
    let runs = runs(setting);
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
    let enough = counts.iter().sum::<u64>() >= 10_000 && counts.iter().all(|count| *count > 0);
    outcome(failure(runs), enough, measured)
}

pub(super) fn fork_count(mode: Mode) -> u64 {
    mode.of(5_000, 100_000, 1_000_000)
}

pub(super) fn copies(setting: &Setting) -> Outcome {
    let forks = fork_count(setting.mode);
    // In a process of its own: this one has threads.
    let output = Command::new(&setting.program)
        .args(["forks", "--forks", &forks.to_string()])
        .output();
    let forked = match output {
        Ok(output) if output.status.success() => String::from_utf8_lossy(&output.stdout).trim().to_string(),
        Ok(output) => return Outcome::Missed(String::from_utf8_lossy(&output.stdout).trim().to_string()),
        Err(error) => return Outcome::NotRun(error.to_string()),
    };
    let runs = runs(setting);
    let copies = runs.sum.faults.of(sim::Fault::Cloned);
    let measured = format!(
        "{forked}; {copies} copied processes, the last id repeated {} ms after the copy",
        runs.sum.longest_exposure_ns / 1_000_000
    );
    outcome(failure(runs), copies > 0, measured)
}

pub(super) fn planted_bugs(setting: &Setting) -> Outcome {
    let Some(program) = &setting.planted else {
        return Outcome::NotRun("no build with the feature `planted`".into());
    };
    let (mut found, mut whole, mut missed) = (0, 0, Vec::new());
    let mut finders: Vec<Finder> = Vec::new();
    let hunted = BUGS
        .iter()
        .filter(|bug| !bug.finder.needs_server() || setting.planted_mint.is_some())
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
    let long = setting.mode == Mode::Long;
    for finder in &finders {
        match planted::control(program, setting.planted_mint.as_deref(), *finder, long) {
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

pub(super) fn exhaustively(setting: &Setting) -> Outcome {
    // That each rule is needed is a test of this crate, which has just run where time is short.
    let each_rule = setting.mode != Mode::Short;
    let runs = model::run(30_000_000, setting.threads, each_rule);
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
    let mut measured = format!("{states} states, all visited, none wrong");
    if let (Some(least), Some(most)) = (broken.iter().min(), broken.iter().max()) {
        measured += &format!(
            "; {} rules left out one by one, each with a counter-example of {least} to {most} steps",
            broken.len()
        );
    }
    let wrong = runs.iter().find(|run| !run.is_as_it_must());
    let failure = wrong.map(|run| format!("{} without {:?}: {:?}", run.name, run.without, run.explored));
    outcome(failure, states >= 1_000_000, measured)
}
