//! Moving to another store: the old one is sealed, everything is copied, and the new one goes on above.
//!
//! A sealed store takes no reservation any more. Servers that run see the seal within a second and stop; servers
//! that start refuse; and every register is written once more, with its mark as it is, so that whoever was cut off
//! and knows nothing of the seal finds that his version is not the last.
//!
//! The new store is sealed first and until the end: half of a store would give out numbers of names that it has not
//! met yet.

use super::begun::{check_not_set_back, check_seal, moved, moving_in};
use super::restore::first_register;
use super::seal::{check_unused, take_off};
use super::{PREFIXES, seal};
use crate::advice::Advice;
use crate::notes::restored_key;
use crate::runtime::{Runtime, fresh_token};
use crate::store::{Cas, Key, Marks, Outcome, Pages, Store, StoreError, StoreErrorKind, Value};
use crate::striped::stripe_key;

/// How often a register is tried again after somebody else wrote it.
const TRIES: usize = 64;

/// What a move did.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MigrateReport {
    /// How many registers were copied.
    pub registers: u64,
}

/// Seals `from` and copies everything to `to`, an initialised store without registers. Doing it again after a
/// failure goes on.
///
/// # Errors
/// What either store says; [`StoreErrorKind::InUse`] for a target that holds registers of another origin;
/// [`StoreErrorKind::Stopped`] for a store that is sealed by anything but this move; [`StoreErrorKind::Corrupt`] for one
/// that was set back.
pub async fn migrate(
    from: &dyn Store,
    to: &dyn Store,
    runtime: &dyn Runtime,
) -> Result<MigrateReport, StoreError> {
    let origin = format!("{:032x}", from.cluster_id());
    if from.cluster_id() == to.cluster_id() {
        return Err(StoreError::new(
            StoreErrorKind::Invalid,
            Outcome::NotDone,
            "both are one store, or a copy of it",
        ));
    }
    let moved = moved(to);
    check_seal(from, Some(&moved)).await?;
    check_not_set_back(from).await?;
    let is_half = begin(to, &origin, &moving_in(from), runtime).await?;
    seal(from, &moved, runtime).await?;
    let mut registers = 0;
    // Names that a lost store may have given out begin above in the new one, too; and it has the same share of a set's
    // numbers.
    for key in [restored_key(), stripe_key()] {
        if from.get(&key).await?.is_some() {
            let value = settle(from, &key, runtime).await?;
            copy(to, &key, value, runtime).await?;
        }
    }
    for prefix in PREFIXES {
        let mut pages = Pages::of(from, prefix);
        loop {
            let page = pages.next().await?;
            if page.is_empty() {
                break;
            }
            for (key, _) in page {
                let value = settle(from, &key, runtime).await?;
                copy(to, &key, value, runtime).await?;
                registers += 1;
            }
        }
    }
    if is_half {
        take_off(to, runtime).await?;
    }
    Ok(MigrateReport { registers })
}

/// Seals the target and notes in it where its registers come from; another origin, or registers without one, are
/// refused. Whether it is not finished: one that is may be in use.
async fn begin(
    to: &dyn Store,
    origin: &str,
    moving_in: &str,
    runtime: &dyn Runtime,
) -> Result<bool, StoreError> {
    let key = Key::new("cluster/origin").expect("a constant within the key grammar");
    let refuse = |what: String| {
        Err(StoreError::new(
            StoreErrorKind::InUse,
            Outcome::NotDone,
            format!("the target is not empty: {what}"),
        )
        .with_hint(Advice::MoveIntoFresh))
    };
    let body = serde_json::json!({ "origin": origin }).to_string();
    let is_sealed = check_seal(to, Some(moving_in)).await?;
    match to.get(&key).await? {
        Some(found) if found.value.body == body => return Ok(is_sealed),
        Some(found) => return refuse(format!("it has {}", found.value.body)),
        None => {}
    }
    if !is_sealed {
        if let Some(key) = first_register(to).await? {
            return refuse(format!("it holds {key}"));
        }
        check_unused(to, runtime).await?;
        seal(to, moving_in, runtime).await?;
    }
    let value = Value {
        mark: 1,
        token: fresh_token(runtime),
        body,
    };
    match to.compare_and_set(&key, None, value, Marks::NeverLower).await? {
        Cas::Done(_) => Ok(true),
        Cas::Lost(_) => refuse("somebody else moves into it".to_string()),
    }
}

/// Writes a register of the sealed store once more as it is, so that no older version can be written over, and
/// answers what it holds for good.
async fn settle(from: &dyn Store, key: &Key, runtime: &dyn Runtime) -> Result<Value, StoreError> {
    for _ in 0..TRIES {
        let Some(found) = from.get(key).await? else {
            break;
        };
        let value = Value {
            token: fresh_token(runtime),
            ..found.value
        };
        let written = from
            .compare_and_set(key, Some(found.version), value.clone(), Marks::NeverLower)
            .await?;
        if let Cas::Done(_) = written {
            return Ok(value);
        }
    }
    Err(StoreError::new(
        StoreErrorKind::InUse,
        Outcome::NotDone,
        format!("somebody still writes {key} in the sealed store: stop the servers"),
    ))
}

async fn copy(to: &dyn Store, key: &Key, value: Value, runtime: &dyn Runtime) -> Result<(), StoreError> {
    for _ in 0..TRIES {
        let found = to.get(key).await?;
        let value = Value {
            // Of an earlier attempt that somebody has used since.
            mark: found.as_ref().map_or(0, |found| found.value.mark).max(value.mark),
            token: fresh_token(runtime),
            body: value.body.clone(),
        };
        let expected = found.map(|found| found.version);
        if let Cas::Done(_) = to
            .compare_and_set(key, expected, value, Marks::NeverLower)
            .await?
        {
            return Ok(());
        }
    }
    Err(StoreError::new(
        StoreErrorKind::InUse,
        Outcome::NotDone,
        format!("somebody writes {key} in the target: stop the servers"),
    ))
}
