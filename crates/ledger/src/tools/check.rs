//! Whether every register of a store makes sense; changes nothing.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use mintage::Timestamp;

use super::PREFIXES;
use crate::guard::set_back;
use crate::moves::Move;
use crate::name::Name;
use crate::notes::{Seal, seal_key};
use crate::pool::Parked;
use crate::pool::kind::PoolSpec;
use crate::pool::window::WindowBody;
use crate::runtime::Runtime;
use crate::sequence::State;
use crate::store::{
    Key, Pages, Store, StoreError, StoreSettings, Versioned, embedded, open_pinned, store_folder,
};

/// What a check found.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct StoreReport {
    /// How many registers were read.
    pub registers: u64,
    /// What a server would refuse, in words; empty when the store is sound.
    pub findings: Vec<String>,
    /// What is worth knowing.
    pub notes: Vec<String>,
}

/// No window reaches this far ahead of a clock that was right: the longest there can be, and a day.
const FAR_AHEAD: Duration = Duration::from_secs(2 * 24 * 3600);
/// Findings of one kind that are told one by one.
const TOLD_MAX: usize = 100;

/// Checks the store at `url`, whichever it is. `state`: where this machine remembers which cluster it met.
///
/// In a folder, the findings are what its two records disagree on, and a seal, for which a start refuses it; what its
/// other registers mean is told as notes.
///
/// # Errors
/// The store cannot be opened, or does not answer.
pub async fn check(
    url: &str,
    settings: &StoreSettings,
    state: Option<&Path>,
    runtime: Arc<dyn Runtime>,
) -> Result<StoreReport, StoreError> {
    let Some(folder) = store_folder(url) else {
        let store = open_pinned(url, settings, state, Arc::clone(&runtime)).await?;
        return check_store(&*store, &*runtime).await;
    };
    let mut registers = Registers::at(runtime.wall());
    let look = &mut |key: &Key, found: &Versioned| registers.look(key, found);
    let records = embedded::check_each(folder, settings, &*runtime, look).await?;
    let mut notes = records.notes;
    notes.extend(registers.parked());
    notes.extend(registers.problems);
    let mut findings = records.findings;
    findings.extend(registers.seal);
    Ok(StoreReport {
        registers: records.registers as u64,
        findings,
        notes,
    })
}

/// Reads every register and says which make no sense.
///
/// # Errors
/// The store does not answer.
pub async fn check_store(store: &dyn Store, runtime: &dyn Runtime) -> Result<StoreReport, StoreError> {
    let mut registers = Registers::at(runtime.wall());
    for prefix in PREFIXES.into_iter().chain(["cluster/seal"]) {
        let mut pages = Pages::of(store, prefix);
        loop {
            let page = pages.next().await?;
            if page.is_empty() {
                break;
            }
            for (key, found) in page {
                registers.look(&key, &found);
            }
        }
    }
    let mut report = StoreReport {
        registers: registers.read,
        findings: registers.problems,
        notes: Vec::new(),
    };
    report.findings.extend(registers.ahead);
    if let Some(why) = set_back(store).await? {
        let found = format!("the store has lost what it acknowledged: {why}");
        report.findings.push(found);
    }
    report.findings.extend(registers.seal);
    let durability = store.durability();
    if !durability.why.is_empty() {
        report
            .notes
            .push(format!("class {:?}: {}", durability.class, durability.why));
    }
    Ok(report)
}

/// What is seen of a store's registers, which come in the order of their keys: pools before windows.
#[derive(Debug)]
struct Registers {
    now: Timestamp,
    read: u64,
    /// What makes no sense; at most so many.
    problems: Vec<String>,
    /// Windows that reach further ahead than a clock that was right allows; at most so many.
    ahead: Vec<String>,
    /// The seal, in words: no server passes it.
    seal: Option<String>,
    /// Pools by their names as keys have them, and how many of their workers a wrong clock parked.
    pools: HashMap<String, (PoolSpec, Option<Parked>)>,
}

impl Registers {
    fn at(now: Timestamp) -> Registers {
        Registers {
            now,
            read: 0,
            problems: Vec::new(),
            ahead: Vec::new(),
            seal: None,
            pools: HashMap::new(),
        }
    }

    fn look(&mut self, key: &Key, found: &Versioned) {
        if *key == seal_key() {
            let seal = Seal::read(found);
            self.seal = seal.map(|seal| format!("the store is sealed: {}", seal.sealed));
            return;
        }
        let problem = match key.as_str().split_once('/') {
            Some(("move", written)) => move_problem(written, found),
            Some(("pool", written)) => self.pool_problem(written, found),
            Some(("seq", written)) => sequence_problem(written, found),
            Some(("window", rest)) => self.window_problem(key, rest, found),
            _ => return,
        };
        self.read += 1;
        if let Some(problem) = problem.filter(|_| self.problems.len() < TOLD_MAX) {
            self.problems.push(format!("{key}: {problem}"));
        }
    }

    fn pool_problem(&mut self, written: &str, found: &Versioned) -> Option<String> {
        let name = Name::from_key(written).map_err(|e| e.to_string());
        let spec = name.and_then(|name| PoolSpec::read(&name, &found.value.body).map_err(|e| e.to_string()));
        match spec {
            Ok(spec) => {
                self.pools.insert(written.to_string(), (spec, None));
                None
            }
            Err(problem) => Some(problem),
        }
    }

    fn window_problem(&mut self, key: &Key, rest: &str, found: &Versioned) -> Option<String> {
        let pool = rest.rsplit_once('/').map(|(pool, _)| pool);
        let Some((spec, parked)) = pool.and_then(|pool| self.pools.get_mut(pool)) else {
            return Some("its pool is not there".to_string());
        };
        if found.value.is_tombstone() {
            return None;
        }
        let body = match WindowBody::read(found) {
            Ok(body) => body,
            Err(error) => return Some(error),
        };
        let ours = spec.kind.fingerprint();
        if body.layout != ours {
            return Some(format!(
                "it was held with layout {}, its pool has {ours}",
                body.layout
            ));
        }
        if body.from > found.value.mark {
            return Some(format!(
                "it begins at tick {} and ends at {}",
                body.from, found.value.mark
            ));
        }
        let until = spec.kind.ticks().time_of(found.value.mark);
        let is_parked = until > self.now && body.is_from_ahead(self.now);
        if is_parked {
            *parked = Some(Parked::and_until(*parked, until));
        }
        let is_far = !body.retired && until > self.now.saturating_add(FAR_AHEAD);
        if (is_far || is_parked) && self.ahead.len() < TOLD_MAX {
            self.ahead.push(format!(
                "{key}: it reaches {} s ahead: a clock was wrong, and its worker is parked until then; others are \
                 taken, and retiring it marks it as known",
                until.since(self.now).as_secs()
            ));
        }
        None
    }

    /// Workers that a wrong clock parked, in words, a line for each pool.
    fn parked(&self) -> Vec<String> {
        let told = |(written, (_, parked)): (&String, &(PoolSpec, Option<Parked>))| {
            let name = Name::from_key(written).ok()?;
            Some(format!("pool {name}: {}", (*parked)?))
        };
        let mut lines: Vec<String> = self.pools.iter().filter_map(told).collect();
        lines.sort();
        lines
    }
}

fn sequence_problem(written: &str, found: &Versioned) -> Option<String> {
    let name = Name::from_key(written).map_err(|e| e.to_string());
    name.and_then(|name| State::read(&name, found).map(drop).map_err(|e| e.to_string()))
        .err()
}

fn move_problem(written: &str, found: &Versioned) -> Option<String> {
    let name = Name::from_key(written).map_err(|e| e.to_string());
    let read = name.and_then(|_| serde_json::from_str::<Move>(&found.value.body).map_err(|e| e.to_string()));
    read.err()
}
