//! Which counters are meant, and where each shall come to.

use std::sync::Arc;

use mintage_ledger::moves::{
    At, Goal, Master, Move, Ours, OursError, Part, Phase, Plan, PlanOptions, VersionedMove, Wish,
};
use mintage_ledger::source::{Counter, Fence, MoveId, Source, SourceError, SourceErrorKind, Wanted};
use mintage_ledger::{Durability, Name, Runtime};

use super::args::Args;
use crate::errors::Failure;

/// One kind of counters at a source that was given.
#[derive(Clone)]
pub(super) struct There {
    pub(super) source: Arc<dyn Source>,
    /// The word that it was given by.
    pub(super) called: Option<String>,
}

impl There {
    pub(super) fn at(&self) -> At<'_> {
        At {
            source: &*self.source,
            called: self.called.as_deref(),
        }
    }

    /// Whether a record means this place.
    pub(super) fn is(&self, source: &str) -> bool {
        self.source.place() == source || self.called.as_deref() == Some(source)
    }

    fn has(&self, kind: &str, counter: &Master) -> bool {
        self.source.kind().name == kind && self.is(&counter.source)
    }
}

/// One counter, or several that give out the numbers of one name together.
pub(super) struct Target {
    pub(super) there: Vec<There>,
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
    given: &[Vec<There>],
    ours: &dyn Ours,
    runtime: &dyn Runtime,
) -> Result<Found, Failure> {
    if args.beside && args.source.as_ref().is_none_or(|source| source.contains(':')) {
        return Err(Failure::usage("--beside needs a name of [sources.NAME]: servers read the URL there").with_hint(
            "put it into the configuration of each server as [sources.NAME] with url_file = \"FILE\", and give NAME",
        ));
    }
    match args.cut || args.back || args.verify {
        true => moved(args, given, records(ours).await?),
        false => listed(args, given, ours, runtime).await,
    }
}

async fn records(ours: &dyn Ours) -> Result<Vec<(Name, VersionedMove)>, Failure> {
    ours.list().await.map_err(ours_failed)
}

/// What was moved before, by its record: the source may have no such counter any more.
fn moved(args: &Args, given: &[Vec<There>], moves: Vec<(Name, VersionedMove)>) -> Result<Found, Failure> {
    let wanted = wanted(args);
    let (mut targets, mut not_all) = (Vec::new(), Vec::new());
    for (name, now) in moves {
        let record = &now.record;
        // Who names counters means those only.
        let is_named = args.names.is_empty() || args.names.iter().any(|(_, known)| *known == *name.as_str());
        let goal = match (record.phase, args.back, args.cut) {
            (Phase::Planned | Phase::Returned, ..) if !args.verify && !args.back => continue,
            (_, true, _) => Goal::Back,
            _ => Goal::Open { ceiling: None },
        };
        let counters = record.counters();
        if !is_named || !counters.iter().any(|counter| wanted.is_of(&counter.key)) {
            continue;
        }
        let there = of_record(given, record);
        if there.len() < counters.len() {
            if !there.is_empty() {
                not_all.push(format!("{name} was moved out of {}", record.source));
            }
            continue;
        }
        let mut planned = record.clone();
        planned.back_to = args.to.as_ref().map(|to| place_of(given, to));
        // That of this command, not the one of then.
        planned.advance = args.advance.unwrap_or(0);
        targets.push(Target {
            there,
            name: Ok(name),
            planned,
            goal: Some(goal),
            plan: None,
            under_way: Some(record.clone()),
            now: Some(now),
        });
    }
    if targets.is_empty() {
        return Err(match not_all.first() {
            Some(why) => Failure::cannot(why)
                .negative()
                .with_hint("name all of them, the others with --and; --back --to SOURCE gives it back to one alone"),
            None => Failure::cannot("no counter that is meant was moved from there")
                .negative()
                .with_hint(
                    "--apply without --cut, --back and --verify moves counters; mint import --status shows every move",
                ),
        });
    }
    Ok(Found {
        targets,
        failed: not_all,
        left_out: Vec::new(),
    })
}

/// Where the counters of a record are, as far as these sources were given.
fn of_record(given: &[Vec<There>], record: &Move) -> Vec<There> {
    let counters = record.counters();
    let all = given.iter().flatten();
    all.filter(|there| counters.iter().any(|counter| there.has(&record.kind, counter)))
        .cloned()
        .collect()
}

/// The place of a source that was given by this word; the word itself, if none was.
fn place_of(given: &[Vec<There>], word: &str) -> String {
    let mut all = given.iter().flatten();
    all.find(|there| there.is(word))
        .map_or_else(|| word.to_string(), |there| there.source.place())
}

/// Whether a record is of these counters. One that was taken back may come again with more masters.
fn is_of(there: &[There], planned: &Move, record: &Move) -> bool {
    let (known, asked) = (record.counters(), planned.counters());
    let may_grow = record.phase == Phase::Returned && known.len() <= asked.len();
    let is_asked = |one: &Master| asked.iter().any(|other| is_same(there, planned, one, other));
    record.kind == planned.kind && (known.len() == asked.len() || may_grow) && known.iter().all(is_asked)
}

/// Whether a counter of a record is one that is planned, however their source is named.
fn is_same(there: &[There], planned: &Move, known: &Master, asked: &Master) -> bool {
    let is_there = |at: &There| at.is(&known.source) && at.has(&planned.kind, asked);
    known.key == asked.key && there.iter().any(is_there)
}

/// A counter that a source shows.
struct Shown {
    /// Which of the sources that were given it is from.
    of: usize,
    there: There,
    counter: Counter,
    durability: Durability,
}

/// What the sources show.
async fn listed(
    args: &Args,
    given: &[Vec<There>],
    ours: &dyn Ours,
    runtime: &dyn Runtime,
) -> Result<Found, Failure> {
    let options = PlanOptions {
        wish: args.wish(),
        names: args.names.clone(),
        prefix: args.prefix.clone(),
        advance: args.advance,
    };
    let mut found = Found {
        targets: Vec::new(),
        failed: Vec::new(),
        left_out: Vec::new(),
    };
    let mut all = Vec::new();
    for (of, kinds) in given.iter().enumerate() {
        for there in kinds {
            shown_by(args, of, there, kinds.len(), &mut found, &mut all).await?;
        }
    }
    let mut plans = Vec::new();
    for shown in by_name(all, given.len(), &options) {
        let there: Vec<There> = shown.iter().map(|one| one.there.clone()).collect();
        match plan(args, given, shown, &options).await {
            Ok(plan) => plans.push((there, plan)),
            Err(error) => told(error, usize::MAX, &mut found)?,
        }
    }
    // After the sources: a record is written before its fence, so every fence that was seen there has its record here.
    let moves = records(ours).await?;
    for (there, plan) in plans {
        found
            .targets
            .push(target(args, there, plan, &moves, &options, runtime)?);
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

/// The counters of one kind at one source.
async fn shown_by(
    args: &Args,
    of: usize,
    there: &There,
    kinds: usize,
    found: &mut Found,
    all: &mut Vec<Shown>,
) -> Result<(), Failure> {
    let listed = match there.source.list(&wanted(args)).await {
        Ok(listed) => listed,
        Err(error) => return told(error, kinds, found),
    };
    found.failed.extend(listed.failed);
    if listed.counters.is_empty() {
        return Ok(());
    }
    let durability = there.source.durability().await.map_err(source_failed)?;
    for counter in listed.counters {
        // Who names it is refused in the same words.
        if let (Some(why), true) = (&counter.no_counter, args.matching.is_empty()) {
            found.left_out.push(format!("{}: {why}", counter.key));
            continue;
        }
        all.push(Shown {
            of,
            there: there.clone(),
            counter,
            durability: durability.clone(),
        });
    }
    Ok(())
}

/// Of several sources, the counters that have one name here are one sequence; of one source each is one.
fn by_name(all: Vec<Shown>, sources: usize, options: &PlanOptions) -> Vec<Vec<Shown>> {
    let mut groups: Vec<(String, Vec<Shown>)> = Vec::new();
    for shown in all {
        let name = Plan::name_here(&shown.counter, options);
        let is_it = |(known, of): &&mut (String, Vec<Shown>)| {
            sources > 1 && *known == name && of.iter().all(|other| other.of != shown.of)
        };
        match groups.iter_mut().find(is_it) {
            Some((_, of)) => of.push(shown),
            None => groups.push((name, vec![shown])),
        }
    }
    groups.into_iter().map(|(_, shown)| shown).collect()
}

/// The plan of one name.
async fn plan(
    args: &Args,
    given: &[Vec<There>],
    mut shown: Vec<Shown>,
    options: &PlanOptions,
) -> Result<Plan, SourceError> {
    if given.len() == shown.len() && shown.len() > 1 {
        let parts: Vec<Part<'_>> = shown
            .iter()
            .map(|one| Part {
                source: &*one.there.source,
                called: called(args, &one.there, one.of),
                counter: one.counter.clone(),
                durability: one.durability.clone(),
            })
            .collect();
        return Plan::of_masters(&parts, options, args.told()).await;
    }
    let one = shown.swap_remove(0);
    let mut plan = Plan::make(&*one.there.source, one.counter, &one.durability, options).await?;
    if given.len() > 1 {
        plan.refusals.push(format!(
            "{} has a counter {}, and not every other source has one that is called so here: --name KEY={} says which is \
             meant there; or move it by itself, without --and",
            one.there.source.place(),
            plan.name,
            plan.name
        ));
    }
    Ok(plan)
}

/// What a record calls a source: beside it servers find the first by its name in their configuration.
fn called(args: &Args, there: &There, at: usize) -> String {
    match &there.called {
        Some(name) if args.beside && at == 0 => name.clone(),
        _ => there.source.place(),
    }
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
    there: Vec<There>,
    mut plan: Plan,
    moves: &[(Name, VersionedMove)],
    options: &PlanOptions,
    runtime: &dyn Runtime,
) -> Result<Target, Failure> {
    let mut planned = plan.record(MoveId::fresh(runtime), called(args, &there[0], 0), options);
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
        .filter(|now| !matches!(now.record.phase, Phase::Planned))
        .filter(|now| !is_of(&there, &planned, &now.record));
    if let Some(other) = other {
        plan.refusals.push(format!(
            "{} is the name of {} {} at {}: choose another one with --name '{}=NAME', or name the source as it was \
             named then, all of several with --and",
            plan.name, other.record.kind, other.record.key, other.record.source, plan.counter.key
        ));
    }
    let is_free = other.is_none();
    // A counter has one move at a time, whatever it is called here.
    let elsewhere = moves.iter().find(|(known, now)| {
        known.as_str() != plan.name
            && !matches!(now.record.phase, Phase::Planned | Phase::Returned)
            && now.record.kind == planned.kind
            && has_one_of(&there, &planned, &now.record)
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
    // What another one of several left fenced when that went on alone stays so, and has no room for a name.
    let known = now.iter().flat_map(|now| now.record.kept());
    let kept: Vec<String> = known.map(|known| known.source).collect();
    plan.without_fences_of(|source| is_own || kept.iter().any(|kept| source.is_empty() || kept == source));
    let under_way = now.as_ref().map(|now| now.record.clone());
    let under_way = under_way.filter(|record| !matches!(record.phase, Phase::Planned | Phase::Returned));
    Ok(Target {
        there,
        name,
        goal: goal(args, &plan, under_way.as_ref()),
        planned,
        plan: Some(plan),
        under_way,
        now,
    })
}

/// Whether a record is of any of these counters.
fn has_one_of(there: &[There], planned: &Move, record: &Move) -> bool {
    let asked = planned.counters();
    let known = record.counters();
    let mut known = known.iter();
    known.any(|one| asked.iter().any(|other| is_same(there, planned, one, other)))
}

/// Whoever names a counter that is not there meant another one.
fn check_names(args: &Args, found: &Found) -> Result<(), Failure> {
    let is_there = |key: &String| {
        let plans = found.targets.iter().filter_map(|target| target.plan.as_ref());
        let mut counters = plans.flat_map(|plan| {
            let parts = plan.parts.iter().map(|(_, part)| part);
            parts.chain([&plan.counter])
        });
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

/// Whether no fence stands at one counter of a plan at least.
fn is_any_unfenced(plan: &Plan) -> bool {
    match plan.parts.is_empty() {
        true => plan.counter.fence == Fence::None,
        false => plan.parts.iter().any(|(_, part)| part.fence == Fence::None),
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
        (Wish::Ceiling(_), Phase::Fencing) if is_any_unfenced(plan) => return plan.goal,
        _ => Goal::Open {
            ceiling: record.ceiling,
        },
    })
}
