//! `cargo xtask test` and `cargo xtask e2e`: which tests there are (`plan`, `changed`), how they are run (`runner`,
//! `sizes`), what each came to (`outcome`) and what is told of it (`report`).

mod changed;
mod direct;
mod outcome;
mod plan;
mod report;
mod room;
mod runner;
mod sizes;

use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Instant;

use crate::parts::Part;
use crate::programs::{self, Built};
use crate::{check, proof, provision, sql_clients, step, toys};

pub(crate) use direct::{fuzz, loom, matrix};
use plan::{Test, Wanted};
use runner::Run;
use sizes::Depth;

/// What was asked for on the command line.
#[derive(Debug, Default)]
struct Asked {
    deep: bool,
    wanted: Wanted,
}

/// Installs what the tests need where it can, and runs them: all, those that a change can break, or those named.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let mut asked = Asked::default();
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        match arg.as_str() {
            "--deep" => asked.deep = true,
            "--changed" => {
                let since = rest.next().map_or("HEAD", String::as_str);
                asked.wanted.changed = Some(changed::since(since)?);
            }
            option if option.starts_with('-') => {
                return Err(format!(
                    "no such option of test: {option}\nhint: cargo xtask --help lists them"
                ));
            }
            word => asked.wanted.words.push(word.to_string()),
        }
    }
    // Whoever names a test wants it, however long it takes.
    asked.wanted.minutes = asked.deep || !asked.wanted.words.is_empty();
    tests(&asked)
}

/// The end-to-end tests alone, or those of them that are named.
pub(crate) fn e2e(words: &[String]) -> Result<(), String> {
    tests(&Asked {
        deep: false,
        wanted: Wanted {
            minutes: !words.is_empty(),
            words: words.to_vec(),
            end_to_end: true,
            changed: None,
        },
    })
}

fn tests(asked: &Asked) -> Result<(), String> {
    let begun = Instant::now();
    let depth = asked.depth();
    let mut parts = vec![Part::of("programs that the tests use", || {
        asked.provision();
        Ok(())
    })];
    let mut built = Built::default();
    parts.push(Part::of("build", || {
        built = programs::build(asked.programs())?;
        Ok(())
    }));
    parts.push(Part::of("room on the disk", || room::check(depth)));
    let mut figures = report::Figures::default();
    if parts.iter().all(Part::is_good) {
        parts.extend(run_all(asked, built, &mut figures)?);
    }
    // Last of all: what was printed meanwhile is far above.
    println!(
        "\n{}",
        report::table(&parts, &figures, begun.elapsed().as_secs_f64())
    );
    if depth == Depth::Quick {
        println!("{}", sizes::smaller());
    }
    println!("{}", crate::parts::closing(&parts));
    match parts.iter().all(Part::is_good) {
        true => Ok(()),
        false => Err("tests failed; the table says which".to_string()),
    }
}

impl Asked {
    fn depth(&self) -> Depth {
        match self.deep {
            true => Depth::Deep,
            false => Depth::Quick,
        }
    }

    /// Everything that is to be run, not a choice of it.
    fn is_whole(&self) -> bool {
        self.wanted.words.is_empty() && self.wanted.changed.is_none() && !self.wanted.end_to_end
    }

    /// Clients of many languages are driven by the deep run, and by whoever names their tests.
    fn drives_sql_clients(&self) -> bool {
        self.deep || sql_clients::wanted_by(&self.wanted.words)
    }

    fn provision(&self) {
        provision::debian(provision::TEST_TOOLS);
        if self.wanted.minutes {
            provision::debian(provision::DEEP_TOOLS);
        }
        if self.drives_sql_clients() {
            provision::debian(sql_clients::TOOLS);
        }
    }

    fn programs(&self) -> &'static str {
        match (self.wanted.end_to_end, self.is_whole()) {
            (true, _) => programs::END_TO_END,
            (false, true) => programs::WITHOUT_PROOF,
            (false, false) => programs::ALL,
        }
    }
}

/// The tests, and beside them what else computes; then, alone, what failed.
fn run_all(asked: &Asked, built: Built, figures: &mut report::Figures) -> Result<Vec<Part>, String> {
    let depth = asked.depth();
    let mut environment = environment(&built.mint, asked.wanted.minutes, asked.drives_sql_clients());
    environment.extend(sizes::environment(depth));
    let run = Run::new(environment, !asked.wanted.words.is_empty())?;
    let (mut chosen, left) = plan::select(built.programs, &asked.wanted)?;
    if chosen.is_empty() && !asked.is_whole() {
        return Err(format!("no test is meant: {:?}", asked.wanted));
    }
    let known = report::Seconds::load();
    plan::in_order(&mut chosen, |name| known.of(name));
    let whole = asked.is_whole();
    let beside = thread::spawn(move || match whole {
        true => beside(depth),
        false => Vec::new(),
    });
    let (begun, idle) = (Instant::now(), runner::idle_seconds());
    let mut ran = run.all(chosen.clone());
    let mut parts = beside.join().expect("no panic");
    figures.idle = idle.zip(runner::idle_seconds()).map(|(before, after)| {
        let all = begun.elapsed().as_secs_f64() * runner::processors() as f64;
        (after - before, all)
    });
    let again = run_again(&run, &chosen, &ran);
    figures.add(&ran);
    known.save(&ran);
    parts.extend(report::parts(&mut ran, again, &left));
    Ok(parts)
}

/// Runs what failed once more, alone: the machine may have been at fault. Never where an invariant was violated.
fn run_again(run: &Run, tests: &[Test], ran: &[outcome::Ran]) -> Vec<outcome::Ran> {
    let failed: Vec<_> = ran
        .iter()
        .filter(|ran| !ran.passed() && ran.violated.is_none())
        .collect();
    if failed.len() > AGAIN_AT_MOST {
        println!(
            "{} tests failed: that is no chance, and none is run again",
            failed.len()
        );
        return Vec::new();
    }
    let tests = failed
        .iter()
        .filter_map(|ran| tests.iter().find(|test| test.name() == ran.name));
    tests
        .map(|test| {
            println!("again, alone: {}", test.name());
            run.one(test, false)
        })
        .collect()
}

/// Failed tests that are run again.
const AGAIN_AT_MOST: usize = 20;

/// What computes while the tests wait: commands of cargo, one after the other.
fn beside(depth: Depth) -> Vec<Part> {
    let mut parts = vec![examples()];
    if depth == Depth::Deep {
        parts.push(Part::tests("the proof's own tests", vec![proof::tests()]));
        parts.push(Part::of("proof, short", || {
            println!("{}", proof::short()?.trim_end());
            Ok(())
        }));
        parts.push(Part::tests(
            "the command without server and store",
            vec![bare_command()],
        ));
        parts.push(toys::run_all());
        parts.push(Part::of("lints of each feature and target", check::each_form));
    }
    parts
}

/// The examples in the documentation, of what was built.
fn examples() -> Part {
    let command = step::cargo("test --workspace --doc --exclude mintage-proof");
    Part::tests("examples in the documentation", vec![step::gently(&command)])
}

/// What the command says where it has neither server nor store; another build of it.
fn bare_command() -> Command {
    step::gently(&step::cargo(
        "test -p mintage-cli --no-default-features --bin mint without_server",
    ))
}

/// What the tests read of their environment: this `mint`, unless `MINT_BIN` names another, and the clients they drive.
fn environment(mint: &Path, with_java: bool, with_sql_clients: bool) -> Vec<(String, String)> {
    let mut found = Vec::new();
    if std::env::var_os("MINT_BIN").is_none() {
        found.push(("MINT_BIN", Some(mint.to_path_buf())));
    }
    found.push(("MINT_TEST_PYTHON", provision::python()));
    found.push(("MINT_TEST_NODE", provision::node()));
    if with_java {
        found.push(("MINT_TEST_JAVA", provision::java()));
    }
    if with_sql_clients {
        found.push(("MINT_TEST_SQL_PYTHON", sql_clients::python()));
    }
    let there = found
        .into_iter()
        .filter_map(|(name, path)| Some((name.to_string(), path?.display().to_string())));
    there.collect()
}
