//! What is measured on the built `mint`, or by another program of this workspace: each check runs it now and reads the
//! counts that it prints.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};

use super::{Mode, Outcome, Setting, outcome};
use crate::journeys::end_to_end;
use crate::{answers, folders};

pub(super) fn kill_count(mode: Mode) -> u64 {
    mode.of(200, 1_000, 10_000)
}

pub(super) fn kills(setting: &Setting) -> Outcome {
    let kills = kill_count(setting.mode);
    let ran = match test(setting, "kill", &[("MINT_TEST_KILLS", kills)]) {
        Ok(ran) => ran,
        Err(outcome) => return outcome,
    };
    let lines = ran.after("kill loop: ");
    let done = lines
        .iter()
        .find_map(|line| line.split_once(" kills under load")?.0.parse::<u64>().ok());
    let figures: Vec<&str> = lines
        .iter()
        .copied()
        .filter(|line| !line.starts_with("MINT_TEST_SEED"))
        .collect();
    outcome(ran.failure(), done >= Some(kills), figures.join("; "))
}

pub(super) fn outage_seconds(mode: Mode) -> u64 {
    mode.of(20, 60, 600)
}

pub(super) fn outages(setting: &Setting) -> Outcome {
    let seconds = outage_seconds(setting.mode);
    let ran = match test(setting, "outage", &[("MINT_TEST_OUTAGE", seconds)]) {
        Ok(ran) => ran,
        Err(outcome) => return outcome,
    };
    // Store, face, p99 before and in the outage, requests, failed ones.
    let (mut stores, mut requests, mut failed) = (BTreeMap::new(), 0, 0);
    for row in ran.rows("| ") {
        let figures: Vec<u64> = row.iter().skip(2).filter_map(|cell| cell.parse().ok()).collect();
        if let [before, outage, served, refused] = figures[..] {
            let worst = stores.entry(row[0]).or_insert((0, 0));
            *worst = (before.max(worst.0), outage.max(worst.1));
            requests += served + refused;
            failed += refused;
        }
    }
    let times: Vec<String> = stores
        .iter()
        .map(|(store, (before, outage))| format!("{store} {before} and {outage} us"))
        .collect();
    let measured = format!(
        "{seconds} s without {} stores, {requests} requests, {failed} of them failed; 99 of 100 were answered within, \
         before and in the outage: {}",
        stores.len(),
        times.join(", ")
    );
    outcome(ran.failure(), !stores.is_empty() && failed == 0, measured)
}

/// How often each kind of store must lose what it acknowledged. A run of the test loses thrice on Redis, twice on
/// PostgreSQL.
pub(super) fn losses(mode: Mode) -> u64 {
    mode.of(2, 20, 2_000)
}

pub(super) fn forgetful(setting: &Setting) -> Outcome {
    let wanted = losses(setting.mode);
    let mut by_loss: BTreeMap<(String, String), u64> = BTreeMap::new();
    let all_lost = |by_loss: &BTreeMap<(String, String), u64>| {
        ["redis", "postgres"].iter().all(|store| {
            let of_it = by_loss.iter().filter(|((lost, _), _)| lost == store);
            of_it.map(|(_, times)| times).sum::<u64>() >= wanted
        })
    };
    let (mut ids, mut repeats) = (0, 0);
    for _ in 0..wanted {
        if all_lost(&by_loss) {
            break;
        }
        let ran = match test(setting, "lossy", &[]) {
            Ok(ran) => ran,
            Err(outcome) => return outcome,
        };
        if let Some(why) = ran.failure() {
            return Outcome::Missed(why);
        }
        for row in ran.rows("matrix: ") {
            if let [store, what, checked, repeated, ..] = row[..] {
                *by_loss.entry((store.into(), what.into())).or_default() += 1;
                ids += checked.parse::<u64>().unwrap_or(0);
                repeats += repeated.parse::<u64>().unwrap_or(1);
            }
        }
    }
    let counts: Vec<String> = by_loss
        .iter()
        .map(|((store, what), times)| format!("{times} x {store}, {what}"))
        .collect();
    let measured = format!(
        "{}: each lost what it had acknowledged; {ids} ids, {repeats} twice",
        counts.join("; ")
    );
    outcome(None, all_lost(&by_loss) && ids > 0 && repeats == 0, measured)
}

pub(super) fn failovers(mode: Mode) -> u64 {
    mode.of(4, 30, 3_000)
}

pub(super) fn order(setting: &Setting) -> Outcome {
    let killed = failovers(setting.mode);
    let ran = match test(setting, "order", &[("MINT_TEST_FAILOVERS", killed)]) {
        Ok(ran) => ran,
        Err(outcome) => return outcome,
    };
    // Rows of mixtures on one connection stand among them: nobody is killed there.
    let is_failover = |row: &Vec<&str>| row.get(1).is_some_and(|cell| cell.ends_with("servers killed"));
    let rows: Vec<_> = ran.rows("order: ").into_iter().filter(is_failover).collect();
    let stores = rows.len();
    let of = |row: &[&str], at: usize| -> u64 {
        let words = row.get(at).map_or("", |cell| cell);
        words.split(' ').next().and_then(|n| n.parse().ok()).unwrap_or(0)
    };
    let done: u64 = rows.iter().map(|row| of(row, 1)).sum();
    let numbers: u64 = rows.iter().map(|row| of(row, 2)).sum();
    let measured = format!("{done} servers killed on {stores} stores, {numbers} numbers, none out of order");
    outcome(
        ran.failure(),
        stores > 0 && done >= killed * stores as u64 && numbers > 0,
        measured,
    )
}

pub(super) fn ids(mode: Mode) -> u64 {
    mode.of(3_000_000, 100_000_000, 10_000_000_000)
}

pub(super) fn many_ids(setting: &Setting) -> Outcome {
    let wanted = ids(setting.mode);
    let ran = match test(setting, "ids", &[("MINT_TEST_IDS", wanted)]) {
        Ok(ran) => ran,
        Err(outcome) => return outcome,
    };
    let line = ran.line("ids checked: ");
    let (sum, parts) = line.split_once(" = ").unwrap_or_default();
    let checked: u64 = sum.parse().unwrap_or(0);
    let measured = format!("{checked} ids ({parts}), none twice, every stream in order");
    outcome(ran.failure(), checked >= wanted, measured)
}

pub(super) fn slow_connections(mode: Mode) -> u64 {
    mode.of(500, 10_000, 10_000)
}

pub(super) fn hostile(setting: &Setting) -> Outcome {
    let slow = slow_connections(setting.mode);
    let ran = match test(setting, "hostile", &[("MINT_TEST_SLOW", slow)]) {
        Ok(ran) => ran,
        Err(outcome) => return outcome,
    };
    let line = ran.line("hostile: ");
    // "median BEFORE DURING AFTER us, …; without a greedy client and with one: WHAT: median … us, 99th of 100
    // WITHOUT WITH us; WHAT: …"
    let (slow, greedy) = line.split_once("and with one: ").unwrap_or_default();
    let times = |part: &str, name: &str| -> Vec<u64> {
        let times = part.split_once(name).map_or("", |(_, rest)| rest);
        times.split(' ').map_while(|word| word.parse().ok()).collect()
    };
    let slow_within =
        matches!(times(slow, "median ")[..], [before, during, _] if during <= 2 * before.max(1));
    let within =
        |one: &str| matches!(times(one, "99th of 100 ")[..], [without, with] if with <= 2 * without.max(1));
    let enough = slow_within && greedy.split("; ").all(within);
    outcome(ran.failure(), enough, line.to_string())
}

pub(super) fn soak_seconds(mode: Mode) -> (u64, u64) {
    mode.of((10, 2), (60, 5), (28_800, 10))
}

pub(super) fn soak(setting: &Setting) -> Outcome {
    let (length, gap) = soak_seconds(setting.mode);
    let variables = [("MINT_TEST_SOAK", length), ("MINT_TEST_SOAK_FAULT", gap)];
    let ran = match test(setting, "soak", &variables) {
        Ok(ran) => ran,
        Err(outcome) => return outcome,
    };
    let lines = ran.after("soak: ");
    let line = lines.iter().find(|line| !line.starts_with("MINT_TEST_SEED"));
    outcome(
        ran.failure(),
        line.is_some(),
        line.copied().unwrap_or_default().to_string(),
    )
}

/// How many walks there must be: every journey over every store that it applies to.
pub(super) const JOURNEYS: u64 = 93;

pub(super) fn journeys(setting: &Setting) -> Outcome {
    let ran = match test(
        setting,
        "journeys",
        &[("RUST_TEST_THREADS", crate::journeys::AT_ONCE)],
    ) {
        Ok(ran) => ran,
        Err(outcome) => return outcome,
    };
    let rows = ran.after("journeys: ");
    let walked: u64 = ran.text.lines().filter_map(crate::journeys::walked).sum();
    let measured = format!(
        "{walked} walks over {} kinds of store, no id twice, every number in order",
        rows.len()
    );
    outcome(ran.failure(), walked >= JOURNEYS, measured)
}

pub(super) fn executions(mode: Mode) -> u64 {
    mode.of(50_000, 1_000_000, 100_000_000)
}

pub(super) fn fuzzing(setting: &Setting) -> Outcome {
    let runs = executions(setting.mode);
    let mut command = cargo(&["run", "--quiet", "-p", "mintage-fuzz", "--", "--runs"]);
    let ran = match Ran::of(command.arg(runs.to_string())) {
        Ok(ran) => ran,
        Err(outcome) => return outcome,
    };
    let done: Vec<u64> = ran
        .text
        .lines()
        .filter_map(|line| {
            let before = line.split_once(" runs ")?.0;
            before.split_whitespace().last()?.parse().ok()
        })
        .collect();
    let fewest = done.iter().min().copied().unwrap_or(0);
    let measured = format!(
        "{} executions on {} targets, {fewest} and more on each",
        done.iter().sum::<u64>(),
        done.len()
    );
    outcome(ran.failure(), done.len() >= 20 && fewest >= runs, measured)
}

pub(super) fn interleavings(_: &Setting) -> Outcome {
    let ran = match Ran::of(&mut cargo(&["xtask", "loom"])) {
        Ok(ran) => ran,
        Err(outcome) => return outcome,
    };
    let passed: u64 = ran
        .after("test result: ok. ")
        .iter()
        .filter_map(|line| line.split_once(" passed")?.0.parse::<u64>().ok())
        .sum();
    outcome(
        ran.failure(),
        passed > 0,
        format!("{passed} models, every interleaving"),
    )
}

pub(super) fn caches(setting: &Setting) -> Outcome {
    let Some(mint) = &setting.mint else {
        return Outcome::NotRun("no mint to ask".into());
    };
    match (answers::run(mint), folders::run()) {
        (Ok(answers), Ok(_)) => Outcome::Met(format!("{answers} kinds of answer, all no-store")),
        (Err(why), _) | (_, Err(why)) => Outcome::Missed(why),
    }
}

/// The least part of the lines that tests must run, by folder, per cent.
const COVERED: [(&str, u64); 8] = [
    ("crates/core", 90),
    ("crates/local", 80),
    ("crates/drivers", 80),
    ("crates/elsewhere", 80),
    ("crates/ledger", 80),
    ("crates/store", 80),
    ("crates/server", 80),
    ("crates/faces", 80),
];

pub(super) fn coverage(setting: &Setting) -> Outcome {
    if setting.mode == Mode::Short {
        return Outcome::NotRun("a build of its own and every test in it take longer than this".into());
    }
    match Ran::of(&mut cargo(&["tarpaulin", "--version"])) {
        Ok(ran) if ran.well => {}
        _ => return Outcome::NotRun("no cargo-tarpaulin: `cargo install cargo-tarpaulin`".into()),
    }
    let ran = match Ran::of(&mut cargo(&COVERAGE)) {
        Ok(ran) => ran,
        Err(outcome) => return outcome,
    };
    // "|| crates/core/src/time.rs: 10/20 +0.00%"
    let mut lines: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for line in ran.after("|| ") {
        let Some((file, counts)) = line.split_once(": ") else {
            continue;
        };
        let counts = counts.split_once(' ').map_or(counts, |(counts, _)| counts);
        let Some((run, all)) = counts.split_once('/') else {
            continue;
        };
        if let (Some((folder, least)), Ok(run), Ok(all)) = (
            COVERED
                .iter()
                .find(|(folder, _)| file.starts_with(&format!("{folder}/src/"))),
            run.parse::<u64>(),
            all.parse::<u64>(),
        ) {
            let sum = lines.entry(folder).or_default();
            *sum = (sum.0 + run, sum.1 + all);
            if run * 100 < all * least {
                eprintln!("{file}: {run} of {all} lines");
            }
        }
    }
    let per_cent = |folder: &str| {
        let (run, all) = lines.get(folder).copied().unwrap_or((0, 1));
        run * 100 / all.max(1)
    };
    let measured = COVERED
        .iter()
        .map(|(folder, _)| format!("{folder} {} %", per_cent(folder)))
        .collect::<Vec<_>>()
        .join(", ");
    let enough = COVERED.iter().all(|(folder, least)| per_cent(folder) >= *least);
    outcome(ran.failure(), enough, measured)
}

/// The tests that are counted, and how.
#[rustfmt::skip]
const COVERAGE: [&str; 24] = [
    "tarpaulin", "--engine", "llvm", "--skip-clean", "--out", "Stdout", "--target-dir", "target/tarpaulin",
    "--timeout", "600", "-p", "mintage", "-p", "mintage-local", "-p", "mintage-store", "-p", "mintage-elsewhere", "-p", "mintage-ledger", "-p", "mintage-server",
    "-p", "mintage-faces",
];

/// Builds what [`coverage`] runs.
pub(super) fn measured_tests() -> Command {
    let mut command = cargo(&COVERAGE);
    command.arg("--no-run");
    command
}

/// Builds the end-to-end tests.
pub(super) fn tests() -> Command {
    cargo(&["test", "--quiet", "-p", "mintage-e2e", "--tests", "--no-run"])
}

/// Builds what [`fuzzing`] runs.
pub(super) fn fuzzers() -> Command {
    cargo(&["build", "--quiet", "-p", "mintage-fuzz"])
}

/// Builds what [`interleavings`] runs.
pub(super) fn models() -> Command {
    cargo(&["xtask", "loom", "--no-run"])
}

fn cargo(args: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(args).stdin(Stdio::null());
    command
}

/// A program that ran to its end.
struct Ran {
    well: bool,
    /// All that it printed.
    text: String,
}

impl Ran {
    fn of(command: &mut Command) -> Result<Ran, Outcome> {
        match command.output() {
            Ok(output) => {
                let texts = [output.stdout, output.stderr].map(|t| String::from_utf8_lossy(&t).into_owned());
                Ok(Ran {
                    well: output.status.success(),
                    text: texts.concat(),
                })
            }
            Err(error) => Err(Outcome::NotRun(format!("cargo cannot be started: {error}"))),
        }
    }

    /// What it said as it failed: a test its assertion, behind which its servers' logs follow; others their last words.
    fn failure(&self) -> Option<String> {
        let lines: Vec<&str> = self.text.lines().collect();
        let assertion = lines.iter().position(|line| line.contains(" panicked at "));
        let from = assertion.unwrap_or(lines.len().saturating_sub(8));
        (!self.well).then(|| {
            lines[from..]
                .iter()
                .take(8)
                .copied()
                .collect::<Vec<_>>()
                .join(" | ")
        })
    }

    /// The rests of the lines that begin so.
    fn after(&self, begin: &str) -> Vec<&str> {
        self.text
            .lines()
            .filter_map(|line| line.strip_prefix(begin))
            .collect()
    }

    /// The rest of the first line that begins so; empty where there is none.
    fn line(&self, begin: &str) -> &str {
        self.after(begin).first().copied().unwrap_or_default()
    }

    /// The cells of the lines that begin so.
    fn rows(&self, begin: &str) -> Vec<Vec<&str>> {
        self.after(begin)
            .iter()
            .map(|line| {
                let cells = line.split('|').map(str::trim);
                cells.filter(|cell| !cell.is_empty()).collect()
            })
            .collect()
    }
}

/// Runs one file of the end-to-end tests on the `mint` that was built, with these sizes. What it could not run for want of
/// a program is no measurement.
fn test(setting: &Setting, name: &str, sizes: &[(&str, u64)]) -> Result<Ran, Outcome> {
    let Some(mint) = &setting.mint else {
        return Err(Outcome::NotRun("no mint to run".into()));
    };
    let mut command = end_to_end(mint);
    command
        .arg(format!("{name}::"))
        .envs(sizes.iter().map(|(name, size)| (name, size.to_string())));
    let ran = Ran::of(&mut command)?;
    let mut absent = ran.after("skipped: ");
    absent.sort_unstable();
    absent.dedup();
    match absent[..] {
        [] => Ok(ran),
        _ => Err(Outcome::NotRun(format!("absent here: {}", absent.join(", ")))),
    }
}
