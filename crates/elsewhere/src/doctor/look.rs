//! The looking itself: every counter of every source of a place, once.

use std::fmt;
use std::sync::Arc;

use mintage::Timestamp;

use super::pace::{Earlier, Stood};
use super::workers::{UID_GENERATOR, WORKERS};
use crate::runtime::Runtime;
use crate::source::workers::{WORKER_SYSTEMS, WorkerEngine, look_at_workers};
use crate::source::{
    Counter, Finding, FindingCode, Severity, Source, SourceError, SourceErrorKind, SourceSettings, Wanted,
    open_sources,
};
use crate::store::{Class, shown_url};

/// How many counters that seem to be behind are looked at once more.
const TWICE_MAX: usize = 100;

/// How many failures of one place are kept; a server that refuses everything says no more in a million lines.
const FAILED_MAX: usize = 1000;

/// How many sources of one place in a row may not answer until it is taken to be away.
const SILENT_MAX: usize = 2;

/// What a look may be told.
#[derive(Clone, Debug, Default)]
pub struct LookSettings {
    /// Which counters.
    pub wanted: Wanted,
    /// How long statements and connecting may take, and how much is looked at.
    pub source: SourceSettings,
    /// How many bits uid-generator's numbers of workers have, if it was set up otherwise.
    pub worker_bits: Option<u32>,
    /// How many bits the others' numbers of workers have, if they were set up otherwise.
    pub machine_bits: Option<u32>,
}

/// What a URL means: counters, numbers of workers, or both.
#[derive(Clone, Debug)]
pub struct Target {
    place: String,
    sources: Vec<Arc<dyn Source>>,
    /// The URL, with its password, if workers may be there.
    workers: Option<Workplace>,
}

/// A URL where workers may be.
#[derive(Clone)]
struct Workplace {
    url: String,
    /// Whether a system was named, which is missed then if it is not there.
    is_named: bool,
}

/// Never the URL: a password may stand in it.
impl fmt::Debug for Workplace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Workplace({})", self.is_named)
    }
}

impl Target {
    /// Reads a URL; asks nobody.
    ///
    /// # Errors
    /// A URL that neither sources nor workers have.
    pub fn open(
        url: &str,
        settings: &LookSettings,
        runtime: &Arc<dyn Runtime>,
    ) -> Result<Target, SourceError> {
        let workers = workplace(url)?;
        let sources = open_sources(url, &settings.source, runtime.clone())?;
        Ok(Target {
            place: match sources.first() {
                Some(source) => source.place(),
                None => shown_url(url.split_once('+').map_or(url, |(_, url)| url)),
            },
            sources,
            workers,
        })
    }
}

#[cfg(test)]
impl Target {
    /// Sources of one place that a test has made.
    pub(super) fn of(sources: Vec<Arc<dyn Source>>) -> Target {
        Target {
            place: sources.first().map(|source| source.place()).unwrap_or_default(),
            sources,
            workers: None,
        }
    }

    /// The kinds of its sources.
    pub(super) fn kinds(&self) -> Vec<&'static str> {
        self.sources.iter().map(|source| source.kind().name).collect()
    }

    /// Whether workers must be there; `None`: they are not looked for.
    pub(super) fn workers_are_named(&self) -> Option<bool> {
        self.workers.as_ref().map(|workplace| workplace.is_named)
    }
}

/// Whether workers may be at a URL. Whoever names a source means that alone; nodes of ZooKeeper are nothing else.
fn workplace(url: &str) -> Result<Option<Workplace>, SourceError> {
    let scheme = url.split(':').next().unwrap_or_default();
    // `redis+unix` is a scheme.
    let named = scheme.split_once('+').filter(|(name, _)| *name != "redis");
    let engine = match named.map_or(scheme, |(_, scheme)| scheme) {
        "mysql" | "mariadb" => WorkerEngine::MySql,
        "zookeeper" => WorkerEngine::ZooKeeper,
        scheme if scheme.starts_with("redis") || scheme.starts_with("valkey") => WorkerEngine::Redis,
        _ => return Ok(None),
    };
    let there = || WORKER_SYSTEMS.iter().filter(move |row| row.engine == engine);
    let is_known = named.is_some_and(|(name, _)| there().any(|row| row.name == name));
    if engine == WorkerEngine::ZooKeeper && !is_known {
        let known: Vec<_> = there().map(|row| row.example).collect();
        let message = format!(
            "a URL of ZooKeeper says whose workers these are: {}",
            known.join(", ")
        );
        return Err(SourceError::new(SourceErrorKind::Invalid, message));
    }
    Ok((named.is_none() || is_known).then(|| Workplace {
        url: url.to_string(),
        is_named: named.is_some(),
    }))
}

/// What was seen in one place.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// Where it is, without a password.
    pub place: String,
    /// When the look began.
    pub at: Timestamp,
    /// The sources that were asked.
    pub sources: Vec<Arc<dyn Source>>,
    /// Their counters.
    pub counters: Vec<Counter>,
    /// What is wrong with the server.
    pub findings: Vec<Finding>,
    /// What could not be looked at, in words.
    pub failed: Vec<String>,
}

impl Seen {
    /// Notes where each counter stood.
    pub fn note(&self, earlier: &mut Earlier) {
        for counter in &self.counters {
            if let Some(mark) = counter.mark {
                let id = (self.place.clone(), counter.kind.to_string(), counter.key.clone());
                earlier.add(id, Stood { at: self.at, mark });
            }
        }
    }
}

/// Looks at one place. What fails is said in [`Seen::failed`]; the rest is seen.
pub async fn look(target: &Target, settings: &LookSettings, runtime: &Arc<dyn Runtime>) -> Seen {
    let sources = &target.sources;
    let mut seen = Seen {
        place: target.place.clone(),
        at: Timestamp::from_unix_millis(runtime.wall().unix_millis()),
        sources: sources.clone(),
        ..Seen::default()
    };
    let mut silent = 0;
    for source in sources {
        match list(&**source, &settings.wanted, &mut seen).await {
            true => silent = 0,
            false => silent += 1,
        }
        // All of them ask one server: one slow query is no reason not to ask the others, a server that is away is.
        if silent == SILENT_MAX {
            return seen;
        }
    }
    if let Some(workplace) = &target.workers {
        workers(workplace, settings, runtime, &mut seen).await;
    }
    if let (false, Some(source)) = (seen.counters.is_empty(), sources.first()) {
        durability(&**source, &mut seen).await;
    }
    seen.failed.truncate(FAILED_MAX);
    seen
}

/// Adds the numbers of workers, as counters.
async fn workers(
    workplace: &Workplace,
    settings: &LookSettings,
    runtime: &Arc<dyn Runtime>,
    seen: &mut Seen,
) {
    let found = match look_at_workers(&workplace.url, &settings.source.store, runtime).await {
        Ok(found) => found,
        // MySQL says the same of a table that is not there and of one that the account may not see.
        Err(error) if error.kind == SourceErrorKind::Denied && !workplace.is_named => return,
        Err(error) => return seen.failed.push(error.message),
    };
    for found in found {
        let Some(row) = WORKERS.iter().find(|row| row.system == found.system) else {
            continue;
        };
        // None was ever started: nothing ends.
        let taken = found.taken.count();
        if !settings.wanted.is_of(&found.place) || (taken == 0 && !workplace.is_named) {
            continue;
        }
        let bits = match row.system == UID_GENERATOR {
            true => settings.worker_bits,
            false => settings.machine_bits,
        };
        let next = found
            .next
            .or(found.taken.last().map(|last| last + 1))
            .unwrap_or(0);
        seen.counters.push(row.counter(&found.place, next, taken, bits));
    }
}

/// Adds the counters of one source; false: it did not answer.
async fn list(source: &dyn Source, wanted: &Wanted, seen: &mut Seen) -> bool {
    match source.list(wanted).await {
        Ok(mut listed) => {
            // What workers are leased by is shown as workers.
            listed.counters.retain(|counter| counter.no_counter.is_none());
            confirm(source, &mut listed.counters).await;
            // What only a move needs is much, of a million keys.
            listed
                .counters
                .iter_mut()
                .for_each(|counter| counter.before.clear());
            seen.counters.append(&mut listed.counters);
            seen.failed.append(&mut listed.failed);
            true
        }
        Err(error) => {
            let fix = error.fix.map(|fix| format!(" ({fix})")).unwrap_or_default();
            let failed = format!("{}{fix}", error.message);
            // A server that is away is so for all of its sources.
            if !seen.failed.contains(&failed) {
                seen.failed.push(failed);
            }
            error.kind != SourceErrorKind::Unavailable
        }
    }
}

/// A counter's mark and its column are read one after the other, and rows are inserted in between: one that seems to be
/// behind is looked at again, and is only if its mark of now is not beyond the column's number of before.
async fn confirm(source: &dyn Source, counters: &mut [Counter]) {
    let suspects = counters.iter_mut().filter(|counter| is_behind(counter));
    for counter in suspects.take(TWICE_MAX) {
        if let Ok(Some(again)) = source.look(&counter.key).await {
            counter.mark = again.mark;
        }
    }
}

fn is_behind(counter: &Counter) -> bool {
    match (counter.mark, counter.highest()) {
        (Some(mark), Some(highest)) if counter.increment >= 0 => mark <= highest,
        (Some(mark), Some(highest)) => mark >= highest,
        _ => false,
    }
}

/// Adds what the server may forget.
async fn durability(source: &dyn Source, seen: &mut Seen) {
    match source.durability().await {
        Ok(found) if found.class == Class::Lossy => seen.findings.push(Finding {
            code: FindingCode::Lossy,
            severity: Severity::Error,
            text: format!(
                "lossy: {}; acknowledged numbers can come again after a crash",
                found.why.replace("; ", ", ")
            ),
            // What is to be typed, without what is to be thought of.
            fix: found
                .fix
                .map(|fix| fix.split(" (").next().unwrap_or_default().to_string()),
        }),
        Ok(_) => {}
        // Who may look at counters may still not be told the server's settings.
        Err(error) if error.kind == SourceErrorKind::Denied => seen.findings.push(Finding {
            code: FindingCode::Unreadable,
            severity: Severity::Warn,
            text: format!(
                "unreadable: {}; whether the server may lose numbers is not known",
                error.message
            ),
            fix: error.fix,
        }),
        Err(error) => seen.failed.push(error.message),
    }
}
