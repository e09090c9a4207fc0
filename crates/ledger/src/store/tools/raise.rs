//! A backup, or a database that an operator restored: every mark is raised above what may have been given out
//! since it was made, before anybody reserves anything.

use std::time::Duration;

use mintage::Timestamp;

use super::super::{Cas, Key, Marks, Outcome, Store, StoreError, StoreErrorKind, Value, Versioned};
use super::{Backup, PREFIXES, Pages, newest_wall, note_progress_restored, pool_of, pools};
use crate::advance::Raise;
use crate::runtime::{Runtime, fresh_token};

/// How far ahead a window may have been reserved besides its length: what validated clocks allow (protocol W6).
const AHEAD_MAX: Duration = Duration::from_secs(60);
/// How often a register is tried again after somebody else wrote it.
const TRIES: usize = 64;

/// Marks run ahead of what was given out by what servers own for an outage, in seconds of its use,
const RESERVED_AHEAD_S: u64 = 660;
/// and by their blocks: a hundred servers' worth of the default `max_gap`.
const BLOCKS_AHEAD: u64 = 100 * 100_000;

/// How many numbers of each sequence a restore skips.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Advance {
    /// So many. Marks move by blocks: it must be more than was given out since, and `max_gap` more for each server.
    By(u64),
    /// What can have been given out at this many numbers per second since the backup was made, and what a hundred
    /// servers with the default `max_gap` and an outage budget of up to ten minutes had reserved besides.
    AtRate(u64),
}

impl Advance {
    fn numbers(self, age: Duration) -> u64 {
        match self {
            Advance::By(numbers) => numbers,
            Advance::AtRate(rate) => rate
                .saturating_mul(age.as_secs().saturating_add(RESERVED_AHEAD_S))
                .saturating_add(BLOCKS_AHEAD),
        }
    }
}

/// What a restore did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RestoreReport {
    /// How many registers were written.
    pub registers: u64,
    /// How many numbers every sequence skips, new names included.
    pub skipped: u64,
    /// How old the backup was.
    pub age: Duration,
}

/// Writes a backup into an empty store of the same cluster, every mark raised.
///
/// `window` is the longest window of pools that do not say. `foreign`: the store may be another cluster;
/// `used`: it may hold registers already, whose marks are kept where they are higher.
///
/// # Errors
/// [`StoreErrorKind::Foreign`] and [`StoreErrorKind::InUse`] without those; [`StoreErrorKind::Invalid`] for a mark
/// that cannot be raised, before anything is written.
pub async fn restore_into(
    store: &dyn Store,
    backup: &Backup,
    advance: Advance,
    window: Duration,
    (foreign, used): (bool, bool),
    runtime: &dyn Runtime,
) -> Result<RestoreReport, StoreError> {
    let refuse =
        |kind, why: String, hint: &str| Err(StoreError::new(kind, Outcome::NotDone, why).with_hint(hint));
    if store.cluster_id() != backup.cluster_id && !foreign {
        return refuse(
            StoreErrorKind::Foreign,
            format!(
                "the backup is of cluster {:032x}, the store is cluster {:032x}",
                backup.cluster_id,
                store.cluster_id()
            ),
            "make the store with mint init --cluster-id and the id of the backup; or say --foreign, and make every \
             server forget the cluster it knew",
        );
    }
    if !used && let Some(key) = first_register(store).await? {
        return refuse(
            StoreErrorKind::InUse,
            format!("the store is not empty, it holds {key}"),
            "restore into an empty one; or say --into-used: marks are then kept where they are higher",
        );
    }
    let now = runtime.wall();
    let age = now.since(backup.made);
    let pools = backup
        .registers
        .iter()
        .filter_map(|(key, value)| pool_of(key, &value.body))
        .collect();
    let raise = raise(pools, advance.numbers(age), window, now);
    let mut raised = Vec::with_capacity(backup.registers.len());
    for (key, value) in &backup.registers {
        raised.push((
            key,
            Value {
                mark: checked(&raise, key, value)?,
                ..value.clone()
            },
        ));
    }
    note_restored(store, raise.numbers, runtime).await?;
    for (key, value) in raised {
        let mut found = None;
        put(store, key, runtime, async |there: Option<Versioned>| {
            found = there;
            let mark = found.as_ref().map_or(0, |found| found.value.mark).max(value.mark);
            Ok(Some(Value {
                mark,
                ..value.clone()
            }))
        })
        .await?;
    }
    note_progress_restored(store, runtime).await?;
    Ok(RestoreReport {
        registers: backup.registers.len() as u64,
        skipped: raise.numbers,
        age,
    })
}

/// Raises every mark of a store whose database was itself restored, moved, or taken over by a replica.
///
/// # Errors
/// As [`restore_into`].
pub async fn raise_in_place(
    store: &dyn Store,
    advance: Advance,
    window: Duration,
    runtime: &dyn Runtime,
) -> Result<RestoreReport, StoreError> {
    let now = runtime.wall();
    let age = match (newest_wall(store).await?, advance) {
        (Some(newest), _) => now.since(newest),
        (None, Advance::By(_)) => Duration::ZERO,
        (None, Advance::AtRate(_)) => {
            return Err(StoreError::new(
                StoreErrorKind::Invalid,
                Outcome::NotDone,
                "nothing in the store says how old it is",
            )
            .with_hint("say --advance N, more than was given out since"));
        }
    };
    let raise = raise(pools(store).await?, advance.numbers(age), window, now);
    note_restored(store, raise.numbers, runtime).await?;
    let mut registers = 0;
    for prefix in PREFIXES {
        let mut pages = Pages::of(store, prefix);
        loop {
            let page = pages.next().await?;
            if page.is_empty() {
                break;
            }
            for (key, _) in page {
                put(store, &key, runtime, async |found: Option<Versioned>| {
                    let Some(found) = found else { return Ok(None) };
                    let mark = checked(&raise, &key, &found.value)?;
                    Ok(Some(Value { mark, ..found.value }))
                })
                .await?;
                registers += 1;
            }
        }
    }
    note_progress_restored(store, runtime).await?;
    Ok(RestoreReport {
        registers,
        skipped: raise.numbers,
        age,
    })
}

fn raise(
    pools: std::collections::HashMap<String, crate::pool::PoolSpec>,
    numbers: u64,
    window: Duration,
    now: Timestamp,
) -> Raise {
    Raise {
        numbers,
        floor: now.saturating_add(Raise::longest(&pools, window) + AHEAD_MAX),
        pools,
    }
}

fn checked(raise: &Raise, key: &Key, value: &Value) -> Result<u64, StoreError> {
    raise.mark(key, value).ok_or_else(|| {
        StoreError::new(
            StoreErrorKind::Invalid,
            Outcome::NotDone,
            format!(
                "mark {} of {key} cannot be raised: its layout is unknown, or {} more pass the largest mark",
                value.mark, raise.numbers
            ),
        )
    })
}

/// Writes what `new` makes of a register, until nobody else writes in between.
async fn put(
    store: &dyn Store,
    key: &Key,
    runtime: &dyn Runtime,
    mut new: impl AsyncFnMut(Option<Versioned>) -> Result<Option<Value>, StoreError>,
) -> Result<(), StoreError> {
    for _ in 0..TRIES {
        let found = store.get(key).await?;
        let version = found.as_ref().map(|found| found.version);
        let Some(value) = new(found).await? else {
            return Ok(());
        };
        let value = Value {
            token: fresh_token(runtime),
            ..value
        };
        match store
            .compare_and_set(key, version, value, Marks::NeverLower)
            .await?
        {
            Cas::Done(_) => return Ok(()),
            Cas::Lost(_) => {}
        }
    }
    Err(StoreError::new(
        StoreErrorKind::InUse,
        Outcome::NotDone,
        format!("somebody writes {key} all the time: stop the servers first"),
    ))
}

async fn first_register(store: &dyn Store) -> Result<Option<Key>, StoreError> {
    for prefix in PREFIXES {
        let page = Pages::of(store, prefix).next().await?;
        if let Some((key, _)) = page.into_iter().next() {
            return Ok(Some(key));
        }
    }
    Ok(None)
}

fn restored_key() -> Key {
    Key::new("cluster/restored").expect("a constant within the key grammar")
}

/// Notes that a name which is not there may have been made after the backup: it begins above `numbers`.
///
/// # Errors
/// The store does not answer.
pub async fn note_restored(store: &dyn Store, numbers: u64, runtime: &dyn Runtime) -> Result<(), StoreError> {
    put(
        store,
        &restored_key(),
        runtime,
        async |found: Option<Versioned>| {
            let before = found.map_or(0, |found| found.value.mark);
            Ok(Some(Value {
                mark: before.saturating_add(numbers).min(i64::MAX as u64),
                token: 0,
                body: r#"{"note":"a backup was restored: names that were not in it begin above this mark"}"#
                    .to_string(),
            }))
        },
    )
    .await
}

/// Above which number a name begins that is not in the store; 0 where no backup was ever restored.
pub(crate) async fn restored_above(store: &dyn Store) -> Result<u64, StoreError> {
    let found = store.get(&restored_key()).await?;
    Ok(found.map_or(0, |found| found.value.mark))
}
