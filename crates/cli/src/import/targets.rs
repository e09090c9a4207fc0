//! Which counters are meant, and where each shall come to.

use std::sync::Arc;

use mintage_ledger::moves::{Goal, Move, Ours, OursError, Phase, Plan, PlanOptions, VersionedMove, Wish};
use mintage_ledger::source::{Fence, MoveId, Source, SourceError, SourceErrorKind, Wanted};
use mintage_ledger::{Name, Runtime};

use super::args::Args;
use crate::errors::Failure;

/// One counter.
pub(super) struct Target {
    pub(super) source: Arc<dyn Source>,
    /// Its name here; why it is none.
    pub(super) name: Result<Name, String>,
    /// What a new move begins with; of one under way, its record.
    pub(super) planned: Move,
    /// `None`: it cannot be moved like this.
    pub(super) goal: Option<Goal>,
    pub(super) plan: Option<Plan>,
    /// The move of that name, if it has begun and was not taken back.
    pub(super) under_way: Option<Move>,
    /// The register as it is.
    pub(super) now: Option<VersionedMove>,
}

impl Target {
    pub(super) fn is_possible(&self) -> bool {
        let is_free =
            self.under_way.is_some() || self.plan.as_ref().is_none_or(|plan| plan.refusals.is_empty());
        is_free && self.goal.is_some() && self.name.is_ok()
    }
}

/// What was found.
pub(super) struct Found {
    pub(super) targets: Vec<Target>,
    /// What could not be looked at, in words.
    pub(super) failed: Vec<String>,
    /// What looks like a counter and is none, in words.
    pub(super) left_out: Vec<String>,
}

pub(super) fn wanted(args: &Args) -> Wanted {
    Wanted {
        matching: args.matching.clone(),
        full: false,
        at_home: true,
    }
}

pub(super) fn ours_failed(error: OursError) -> Failure {
    match error {
        OursError::Refused { message, hint } => Failure::cannot(message).with_hint_if(hint),
        other => Failure::cannot(other),
    }
}

fn source_failed(error: SourceError) -> Failure {
    let failure = match error.kind {
        SourceErrorKind::Invalid => Failure::usage(&error),
        _ => Failure::cannot(&error)
            .with_hint("nothing was changed; is that server there, and is the URL right?"),
    };
    failure.with_hint_if(error.fix)
}

pub(super) async fn find(
    args: &Args,
    sources: &[Arc<dyn Source>],
    ours: &dyn Ours,
    runtime: &dyn Runtime,
) -> Result<Found, Failure> {
    if args.beside && args.source.as_ref().is_none_or(|source| source.contains(':')) {
        return Err(Failure::usage("--beside needs a name of [sources.NAME]: servers read the URL there").with_hint(
            "put it into the configuration of each server as [sources.NAME] with url_file = \"FILE\", and give NAME",
        ));
    }
    match args.cut || args.back || args.verify {
        true => moved(args, sources, records(ours).await?),
        false => listed(args, sources, ours, runtime).await,
    }
}

async fn records(ours: &dyn Ours) -> Result<Vec<(Name, VersionedMove)>, Failure> {
    ours.list().await.map_err(ours_failed)
}

/// What was moved before, by its record: the source may have no such counter any more.
fn moved(
    args: &Args,
    sources: &[Arc<dyn Source>],
    moves: Vec<(Name, VersionedMove)>,
) -> Result<Found, Failure> {
    let wanted = wanted(args);
    let mut targets = Vec::new();
    for (name, now) in moves {
        let record = &now.record;
        let Some(source) = sources.iter().find(|source| is_of(args, &***source, record)) else {
            continue;
        };
        // Who names counters means those only.
        let is_named = args.names.is_empty() || args.names.iter().any(|(_, known)| *known == *name.as_str());
        let goal = match (record.phase, args.back, args.cut) {
            (Phase::Planned | Phase::Returned, ..) if !args.verify && !args.back => continue,
            (_, true, _) => Goal::Back,
            _ => Goal::Open { ceiling: None },
        };
        if wanted.is_of(&record.key) && is_named {
            targets.push(Target {
                source: Arc::clone(source),
                name: Ok(name),
                planned: record.clone(),
                goal: Some(goal),
                plan: None,
                under_way: Some(record.clone()),
                now: Some(now),
            });
        }
    }
    if targets.is_empty() {
        return Err(Failure::cannot("no counter that is meant was moved from there")
            .negative()
            .with_hint("--apply without --cut, --back and --verify moves counters; mint import --status shows every move"));
    }
    Ok(Found {
        targets,
        failed: Vec::new(),
        left_out: Vec::new(),
    })
}

/// Whether a record is of a counter of this source.
fn is_of(args: &Args, source: &dyn Source, record: &Move) -> bool {
    let is_there = record.source == source.place() || args.source.as_ref() == Some(&record.source);
    record.kind == source.kind().name && is_there
}

/// What the source shows.
async fn listed(
    args: &Args,
    sources: &[Arc<dyn Source>],
    ours: &dyn Ours,
    runtime: &dyn Runtime,
) -> Result<Found, Failure> {
    let options = PlanOptions {
        wish: args.wish(),
        names: args.names.clone(),
        prefix: args.prefix.clone(),
        advance: args.advance,
    };
    let wanted = wanted(args);
    let mut found = Found {
        targets: Vec::new(),
        failed: Vec::new(),
        left_out: Vec::new(),
    };
    let mut plans = Vec::new();
    for source in sources {
        let listed = match source.list(&wanted).await {
            Ok(listed) => listed,
            Err(error) => {
                told(error, sources.len(), &mut found)?;
                continue;
            }
        };
        found.failed.extend(listed.failed);
        if listed.counters.is_empty() {
            continue;
        }
        let durability = source.durability().await.map_err(source_failed)?;
        for counter in listed.counters {
            // Who names it is refused in the same words.
            if let (Some(why), true) = (&counter.no_counter, args.matching.is_empty()) {
                found.left_out.push(format!("{}: {why}", counter.key));
                continue;
            }
            match Plan::make(&**source, counter, &durability, &options).await {
                Ok(plan) => plans.push((source, plan)),
                Err(error) => told(error, usize::MAX, &mut found)?,
            }
        }
    }
    // After the sources: a record is written before its fence, so every fence that was seen there has its record here.
    let moves = records(ours).await?;
    for (source, plan) in plans {
        found
            .targets
            .push(target(args, source, plan, &moves, &options, runtime)?);
    }
    refuse_shared_names(&mut found.targets);
    check_names(args, &found)?;
    if found.targets.is_empty() {
        let error = Failure::cannot("no counter that is meant was found there").negative();
        return Err(error.with_hint(match found.failed.first() {
            Some(why) => format!("not all could be looked at: {why}"),
            None => "mint doctor SOURCE shows what is there".to_string(),
        }));
    }
    Ok(found)
}

/// One of several things that cannot be looked at is told, and the others are looked at: unless the server is away, or
/// there is nothing else.
fn told(error: SourceError, of: usize, found: &mut Found) -> Result<(), Failure> {
    let is_for_all = matches!(
        error.kind,
        SourceErrorKind::Unavailable | SourceErrorKind::Invalid
    );
    if is_for_all || of == 1 {
        return Err(source_failed(error));
    }
    found.failed.push(match error.fix {
        Some(fix) => format!("{} ({fix})", error.message),
        None => error.message,
    });
    Ok(())
}

/// What one counter would come to, beside the moves that stand.
fn target(
    args: &Args,
    source: &Arc<dyn Source>,
    mut plan: Plan,
    moves: &[(Name, VersionedMove)],
    options: &PlanOptions,
    runtime: &dyn Runtime,
) -> Result<Target, Failure> {
    let at = match &args.source {
        Some(name) if args.beside => name.clone(),
        _ => source.place(),
    };
    let mut planned = plan.record(MoveId::fresh(runtime), at, options);
    planned.table = args.settings()?.table.filter(|_| plan.counter.kind == "own");
    let name = Name::new(&plan.name).map_err(|error| error.to_string());
    let now = name
        .as_ref()
        .ok()
        .and_then(|name| moves.iter().find(|(known, _)| known == name));
    let now = now.map(|(_, now)| now.clone());
    // A name belongs to the counter that was moved to it, until that was taken back.
    let other = now
        .as_ref()
        .filter(|now| !matches!(now.record.phase, Phase::Planned));
    let other =
        other.filter(|now| !is_of(args, &**source, &now.record) || now.record.key != plan.counter.key);
    if let Some(other) = other {
        plan.refusals.push(format!(
            "{} is the name of {} {} at {}: choose another one with --name '{}=NAME', or name the source as it was \
             named then",
            plan.name, other.record.kind, other.record.key, other.record.source, plan.counter.key
        ));
    }
    let is_free = other.is_none();
    // A counter has one move at a time, whatever it is called here.
    let elsewhere = moves.iter().find(|(known, now)| {
        known.as_str() != plan.name
            && !matches!(now.record.phase, Phase::Planned | Phase::Returned)
            && now.record.key == plan.counter.key
            && is_of(args, &**source, &now.record)
    });
    if let Some((known, now)) = elsewhere {
        plan.refusals.push(format!(
            "it is moved as {known} already, which is {}: --name '{}={known}' means that one",
            now.record.phase.as_str(),
            plan.counter.key
        ));
    }
    let now = now.filter(|_| is_free);
    // Its own fence, or one that an import left behind which stood still while its move was taken back: what has
    // begun goes on, though the source is fenced by now and shows other bounds.
    let is_own = match (&plan.counter.fence, &now) {
        (Fence::Ours { id: Some(id), .. }, Some(now)) => {
            now.record.id == *id || now.record.former.contains(id)
        }
        _ => false,
    };
    if is_own {
        plan.refusals.clear();
    }
    let under_way = now.as_ref().map(|now| now.record.clone());
    let under_way = under_way.filter(|record| !matches!(record.phase, Phase::Planned | Phase::Returned));
    Ok(Target {
        source: Arc::clone(source),
        name,
        goal: goal(args, &plan, under_way.as_ref()),
        planned,
        plan: Some(plan),
        under_way,
        now,
    })
}

/// Whoever names a counter that is not there meant another one.
fn check_names(args: &Args, found: &Found) -> Result<(), Failure> {
    let is_there = |key: &String| {
        let counters = found.targets.iter().filter_map(|target| target.plan.as_ref());
        let mut counters = counters.map(|plan| &plan.counter);
        counters.any(|counter| counter.key == *key || counter.called() == key)
    };
    match args.names.iter().find(|(key, _)| !is_there(key)) {
        Some((key, name)) if found.failed.is_empty() && !found.targets.is_empty() => Err(Failure::usage(
            format_args!("--name {key}={name}: no counter that is meant is called {key}"),
        )
        .with_hint("mint doctor SOURCE shows what counters are called; --match says which are meant")),
        _ => Ok(()),
    }
}

/// Two counters cannot have one name.
fn refuse_shared_names(targets: &mut [Target]) {
    let names: Vec<Option<Name>> = targets.iter().map(|target| target.name.clone().ok()).collect();
    for (at, target) in targets.iter_mut().enumerate() {
        let is_shared = names
            .iter()
            .enumerate()
            .any(|(other, name)| other != at && name.is_some() && *name == names[at]);
        if let (true, Some(plan)) = (is_shared, &mut target.plan) {
            let why = format!(
                "another counter of this import would have the name {}, too: --name tells them apart",
                plan.name
            );
            plan.refusals.push(why);
            // Which of them is under way nobody can tell.
            target.goal = None;
        }
    }
}

/// Where a counter shall come to: what was asked for; without that, where its move is going.
fn goal(args: &Args, plan: &Plan, under_way: Option<&Move>) -> Option<Goal> {
    let Some(record) = under_way else {
        return plan.goal;
    };
    Some(match (args.wish(), record.phase) {
        _ if args.beside => Goal::Beside,
        (_, Phase::Beside) if args.ceiling.is_none() => Goal::Beside,
        (_, Phase::Returning) => Goal::Back,
        (_, Phase::Beside) => return plan.goal,
        // No fence stands, and the source may have passed the ceiling of then: it is chosen again from where it is now.
        (Wish::Ceiling(_), Phase::Fencing) if plan.counter.fence == Fence::None => return plan.goal,
        _ => Goal::Open {
            ceiling: record.ceiling,
        },
    })
}
