//! Whether every register of a store makes sense; changes nothing.

use std::time::Duration;

use super::PREFIXES;
use crate::advance::pools;
use crate::guard::set_back;
use crate::name::Name;
use crate::notes::sealed;
use crate::pool::kind::PoolSpec;
use crate::pool::window::WindowBody;
use crate::runtime::Runtime;
use crate::sequence::State;
use crate::store::{Key, Pages, Store, StoreError, Versioned};

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

/// Reads every register and says which make no sense.
///
/// # Errors
/// The store does not answer.
pub async fn check_store(store: &dyn Store, runtime: &dyn Runtime) -> Result<StoreReport, StoreError> {
    let mut report = StoreReport::default();
    let pools = pools(store).await?;
    let now = runtime.wall();
    for prefix in PREFIXES {
        let mut pages = Pages::of(store, prefix);
        loop {
            let page = pages.next().await?;
            if page.is_empty() {
                break;
            }
            for (key, found) in page {
                report.registers += 1;
                let problem = match prefix {
                    "pool/" => pool_problem(&key, &found),
                    "seq/" => sequence_problem(&key, &found),
                    _ => window_problem(&key, &found, &pools, now),
                };
                if let Some(problem) = problem.filter(|_| report.findings.len() < TOLD_MAX) {
                    report.findings.push(format!("{key}: {problem}"));
                }
            }
        }
    }
    if let Some(why) = set_back(store).await? {
        let found = format!("the store has lost what it acknowledged: {why}");
        report.findings.push(found);
    }
    if let Some(seal) = sealed(store).await? {
        report.findings.push(format!("the store is sealed: {seal}"));
    }
    let durability = store.durability();
    if !durability.why.is_empty() {
        report
            .notes
            .push(format!("class {:?}: {}", durability.class, durability.why));
    }
    Ok(report)
}

fn pool_problem(key: &Key, found: &Versioned) -> Option<String> {
    let name = Name::from_key(key.after("pool/")).map_err(|e| e.to_string());
    name.and_then(|name| {
        PoolSpec::read(&name, &found.value.body)
            .map(drop)
            .map_err(|e| e.to_string())
    })
    .err()
}

fn sequence_problem(key: &Key, found: &Versioned) -> Option<String> {
    let name = Name::from_key(key.after("seq/")).map_err(|e| e.to_string());
    name.and_then(|name| State::read(&name, found).map(drop).map_err(|e| e.to_string()))
        .err()
}

fn window_problem(
    key: &Key,
    found: &Versioned,
    pools: &std::collections::HashMap<String, PoolSpec>,
    now: mintage::Timestamp,
) -> Option<String> {
    let rest = key.after("window/");
    let pool = rest.rsplit_once('/').map(|(pool, _)| pool);
    let Some(spec) = pool.and_then(|pool| pools.get(pool)) else {
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
    let far = !body.retired && until > now.saturating_add(FAR_AHEAD);
    (far || until > now && body.is_from_ahead(now)).then(|| {
        format!(
            "it reaches {} s ahead: a clock was wrong, and its worker is parked until then; others are taken, and mint \
             pool retire marks it as known",
            until.since(now).as_secs()
        )
    })
}
