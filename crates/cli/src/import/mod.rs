//! `mint import`: counters of other systems, brought here, set beside their originals, and given back.
//!
//! | file | what |
//! | --- | --- |
//! | `args` | what it is told |
//! | `fill` | scripts that let tables go on filling their columns |
//! | `side` | our side: a server, or a store opened here |
//! | `targets` | which counters are meant, and where each shall come to |
//! | `unfenced` | a source that may only be watched |
//! | `verify` | whether both sides are as a move left them |
//! | `show` | what is printed |

mod args;
mod fill;
mod show;
mod side;
mod targets;
mod unfenced;
mod verify;

use std::io::{BufRead, IsTerminal, Write};
use std::sync::Arc;

use mintage_ledger::moves::{
    At, DriveError, DriveErrorKind, DriveSettings, Driven, Driver, Goal, Move, Ours,
};
use mintage_ledger::source::{SourceErrorKind, open_sources};
use mintage_ledger::{Name, Runtime};
use tokio::task::JoinSet;

pub(crate) use args::Args;
use side::Side;
use targets::{Found, Target, There};
use unfenced::Unfenced;

use crate::color::Color;
use crate::doctor::urls;
use crate::errors::Failure;
use crate::out::Out;

/// Counters that are moved at a time.
const AT_A_TIME: usize = 8;

pub(crate) fn run(args: &Args, color: Color, out: &mut Out) -> Result<(), Failure> {
    let side = Side::open(args)?;
    let ours = side.ours();
    let done = side.block_on(|runtime| work(args, ours, runtime, color, out));
    side.close_after(done)
}

async fn work(
    args: &Args,
    ours: Arc<dyn Ours>,
    runtime: Arc<dyn Runtime>,
    color: Color,
    out: &mut Out,
) -> Result<(), Failure> {
    if args.status {
        return status(args, &*ours, out).await;
    }
    let given = open(args, &runtime, out)?;
    let found = targets::find(args, &given, &*ours, &*runtime).await?;
    for why in &found.failed {
        out.note(format!("not looked at: {why}"));
    }
    for why in &found.left_out {
        out.note(format!("left out: {why}"));
    }
    if let Some(from) = args.fill() {
        return fill::scripts(&found.targets, &from, out).await;
    }
    if args.verify {
        return verify(&found, &*ours, out).await;
    }
    for target in found
        .targets
        .iter()
        .filter(|target| !args.apply || !target.is_possible())
    {
        if let Some(plan) = &target.plan {
            show::plan(&*target.there[0].source, plan, target.under_way.as_ref(), out)?;
        } else {
            show::status(
                &target.name.clone().map_err(Failure::usage)?,
                &target.planned,
                out,
            )?;
        }
    }
    out.flush()?;
    let (possible, refused): (Vec<Target>, Vec<Target>) =
        found.targets.into_iter().partition(Target::is_possible);
    if args.apply {
        sure(args, possible.len())?;
        let failed = apply(args, possible, ours, runtime, out).await?;
        if args.fence.is_some() {
            out.note("no fence stands there: nothing but people keeps the source still");
        }
        return ended(failed, refused.len() + found.failed.len(), color);
    }
    if possible.len() > 1 || !refused.is_empty() {
        out.note(format!(
            "{} counters; {} cannot be moved like this",
            possible.len() + refused.len(),
            refused.len()
        ));
    }
    out.note(match possible.is_empty() {
        true => "nothing was done",
        false => "nothing was done: --apply does it",
    });
    match refused.is_empty() && found.failed.is_empty() {
        true => Ok(()),
        false => Err(Failure::Negative),
    }
}

/// The sources that were given, each with every kind of counters that is there.
fn open(args: &Args, runtime: &Arc<dyn Runtime>, out: &Out) -> Result<Vec<Vec<There>>, Failure> {
    let given: Vec<String> = args.source.iter().chain(&args.and).cloned().collect();
    let files: Vec<_> = args.url_file.iter().collect();
    let mut urls = urls::all(&given, &files, out)?;
    if urls.len() != 1 + args.and.len() {
        return Err(Failure::usage(
            "one source at a time: a file of --url-file holds one URL, and --and names another one",
        ));
    }
    // The one of a file is read last, and is the first.
    let mut called: Vec<Option<String>> = given.into_iter().map(Some).collect();
    if args.source.is_none() {
        urls.rotate_right(1);
        called.insert(0, None);
    }
    let mut all: Vec<Vec<There>> = Vec::new();
    for (url, called) in urls.iter().zip(called) {
        let there = open_one(args, url, called, runtime)?;
        let place = there[0].source.place();
        let is_twice = |known: &Vec<There>| known[0].source.place() == place;
        if all.iter().any(is_twice) {
            return Err(Failure::usage(format_args!("{place} is named twice"))
                .with_hint("each --and names another source"));
        }
        all.push(there);
    }
    Ok(all)
}

fn open_one(
    args: &Args,
    url: &urls::Url,
    called: Option<String>,
    runtime: &Arc<dyn Runtime>,
) -> Result<Vec<There>, Failure> {
    let opened = open_sources(url.text(), &args.settings()?, Arc::clone(runtime));
    let opened = opened
        .map_err(|error| Failure::usage(format_args!("{}: {error}", url.named())).with_hint_if(error.fix))?;
    if opened.is_empty() {
        return Err(Failure::usage(format_args!(
            "{}: workers are kept there, and no counters",
            url.named()
        ))
        .with_hint("a pool begins beside them: mint pool create NAME --preset … --avoid-from URL"));
    }
    let there = opened.into_iter().map(|source| There {
        source: match args.fence {
            None => source,
            Some(_) => Arc::new(Unfenced {
                source,
                watch: args.watch,
                runtime: Arc::clone(runtime),
            }),
        },
        called: called.clone(),
    });
    Ok(there.collect())
}

async fn status(args: &Args, ours: &dyn Ours, out: &mut Out) -> Result<(), Failure> {
    let moves = ours.list().await.map_err(targets::ours_failed)?;
    let wanted = targets::wanted(args);
    let moves: Vec<_> = moves
        .into_iter()
        .filter(|(_, now)| now.record.counters().iter().any(|one| wanted.is_of(&one.key)))
        .collect();
    if moves.is_empty() {
        out.note("no moves");
    }
    for (name, now) in moves {
        show::status(&name, &now.record, out)?;
    }
    Ok(())
}

async fn verify(found: &Found, ours: &dyn Ours, out: &mut Out) -> Result<(), Failure> {
    // What was not looked at is not sound.
    let mut is_sound = found.failed.is_empty();
    for target in &found.targets {
        let (Some(now), Ok(name)) = (&target.now, &target.name) else {
            continue;
        };
        let wrong = verify::verify(&target.there, ours, name, now).await?;
        is_sound &= wrong.is_empty();
        if out.json {
            out.json_line(&serde_json::json!({
                "name": name.to_string(), "phase": now.record.phase.as_str(), "sound": wrong.is_empty(), "wrong": wrong,
            }))?;
        } else if wrong.is_empty() {
            out.line(format!("{name} is sound: {}", now.record.phase.as_str()))?;
        } else {
            for wrong in wrong {
                out.line(format!("{name}: {wrong}"))?;
            }
        }
    }
    out.flush()?;
    match is_sound {
        true => Ok(()),
        false => Err(Failure::Negative),
    }
}

/// Asks a person at a terminal.
fn sure(args: &Args, count: usize) -> Result<(), Failure> {
    if args.yes || count == 0 || !std::io::stdin().is_terminal() {
        return Ok(());
    }
    let what = match count {
        1 => "1 counter".to_string(),
        count => format!("{count} counters"),
    };
    let mut stderr = std::io::stderr().lock();
    write!(stderr, "Move {what}? [y/N] ")?;
    stderr.flush()?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    match answer.trim() {
        "y" | "Y" | "yes" => Ok(()),
        _ => Err(Failure::cannot("nothing was done").with_hint("--yes does not ask")),
    }
}

/// The name of a move, its goal, where it stood before, and what it came to.
type Ended = (Name, Goal, Option<Move>, Result<Driven, DriveError>);

/// Moves them, some at a time; the failures.
async fn apply(
    args: &Args,
    targets: Vec<Target>,
    ours: Arc<dyn Ours>,
    runtime: Arc<dyn Runtime>,
    out: &mut Out,
) -> Result<Vec<DriveError>, Failure> {
    let progress = progress(targets.len(), out);
    let mut waiting = targets.into_iter();
    let mut running: JoinSet<Ended> = JoinSet::new();
    let mut failed = Vec::new();
    loop {
        while running.len() < AT_A_TIME
            && let Some(target) = waiting.next()
        {
            running.spawn(drive(args, target, Arc::clone(&ours), Arc::clone(&runtime)));
        }
        let Some(ended) = running.join_next().await else {
            break;
        };
        let (name, goal, before, done) =
            ended.map_err(|error| Failure::cannot(format_args!("a move broke off: {error}")))?;
        progress.inc(1);
        match done {
            Ok(driven) => {
                progress.suspend(|| show::done(&name, goal, before.as_ref(), &driven, args.into_used, out))?
            }
            Err(error) => failed.push(error),
        }
        out.flush()?;
    }
    progress.finish_and_clear();
    Ok(failed)
}

fn drive(
    args: &Args,
    target: Target,
    ours: Arc<dyn Ours>,
    runtime: Arc<dyn Runtime>,
) -> impl Future<Output = Ended> + Send + use<> {
    let settings = DriveSettings {
        into_used: args.into_used,
        ..DriveSettings::default()
    };
    async move {
        let name = target.name.expect("it is possible");
        let goal = target.goal.expect("it is possible");
        let there: Vec<At<'_>> = target.there.iter().map(There::at).collect();
        let driver = Driver {
            there: &there,
            ours: &*ours,
            runtime: &*runtime,
            settings,
        };
        let done = driver.run(&name, &target.planned, goal).await;
        let before = target.now.map(|now| now.record);
        (name, goal, before, done)
    }
}

fn progress(count: usize, out: &Out) -> indicatif::ProgressBar {
    match count > AT_A_TIME && !out.quiet && std::io::stderr().is_terminal() {
        true => indicatif::ProgressBar::new(count as u64),
        false => indicatif::ProgressBar::hidden(),
    }
}

/// How the command ends: what failed is told, and the last of it decides.
fn ended(mut failed: Vec<DriveError>, refused: usize, color: Color) -> Result<(), Failure> {
    let Some(last) = failed.pop() else {
        return match refused {
            0 => Ok(()),
            _ => Err(Failure::Negative),
        };
    };
    for error in failed {
        let _ = failure(error).report(color);
    }
    Err(failure(last))
}

fn failure(error: DriveError) -> Failure {
    let unreached = matches!(
        error.kind,
        DriveErrorKind::Source(SourceErrorKind::Unavailable) | DriveErrorKind::Ours | DriveErrorKind::Behind
    );
    let failure = Failure::cannot(&error).with_hint_if(error.hint);
    if unreached { failure } else { failure.negative() }
}
