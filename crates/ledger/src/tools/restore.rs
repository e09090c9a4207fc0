//! A backup, or a database or folder that an operator put back: every mark is raised above what may have been given
//! out since it was made, before anybody reserves anything.
//!
//! The one way, for every store: a seal is written first, which no server passes; then the marks; the seal comes off
//! last ([`finished`]). What is cut off in between is finished by the same command. What it wrote already carries its
//! token, so that nothing is raised twice.

use std::time::Duration;

use mintage::Timestamp;

use super::seal::{check_unused, seal_for_restore, take_off};
use super::{Backup, PREFIXES};
use crate::advance::{Raise, newest_wall, pool_of, pools};
use crate::advice::Advice;
use crate::guard::note_progress_restored;
use crate::notes::{RestoredBody, Restoring, restored_key, restoring, too_many_writers};
use crate::pool::window;
use crate::runtime::{Runtime, fresh_token};
use crate::store::{Cas, Key, Marks, Outcome, Pages, Store, StoreError, StoreErrorKind, Value, Versioned};

/// How far ahead a window may have been reserved besides its length: what validated clocks allow (protocol W6).
const AHEAD_MAX: Duration = Duration::from_secs(60);
/// How far the last id of a worker may lie ahead of the time of the restore: the longest `max_ahead`, and two clocks
/// that are wrong by as much as validation allows.
const LAST_ID_AHEAD_MAX: Duration = Duration::from_secs(60 + 10);
/// How often a register is tried again after somebody else wrote it.
const TRIES: usize = 64;
/// How many registers that give out nothing any more are told one by one.
const NOTES_MAX: usize = 20;

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

/// Which stores a backup may be written into, besides an empty one of its own cluster.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Accept {
    /// The store may be another cluster than the one the backup is of, and stays it.
    pub foreign: bool,
    /// The store may hold registers already, whose marks are kept where they are higher.
    pub used: bool,
}

/// What a restore did.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RestoreReport {
    /// How many registers there are.
    pub registers: u64,
    /// How many numbers every sequence skips, new names included.
    pub skipped: u64,
    /// How old the backup was.
    pub age: Duration,
    /// Whether an earlier attempt was cut off, which this one has finished.
    pub resumed: bool,
    /// Registers that give out nothing any more.
    pub notes: Vec<String>,
}

/// What is about to be done to a store.
pub(super) struct Plan {
    pub(super) restoring: Restoring,
    raise: Raise,
    age: Duration,
}

impl Plan {
    fn new(
        what: String,
        pools: std::collections::HashMap<String, crate::pool::kind::PoolSpec>,
        (numbers, age): (u64, Duration),
        window: Duration,
        runtime: &dyn Runtime,
    ) -> Plan {
        let longest = Raise::longest(&pools, window);
        let floor = runtime.wall().saturating_add(longest + AHEAD_MAX);
        Plan {
            restoring: Restoring {
                id: format!("{:032x}", fresh_token(runtime)),
                what,
                numbers,
                floor_ms: floor.unix_millis().saturating_add(1),
            },
            raise: Raise {
                numbers,
                floor,
                pools,
            },
            age,
        }
    }

    /// The restore of a backup. `window` is the longest window of pools that do not say.
    pub(super) fn of(backup: &Backup, advance: Advance, window: Duration, runtime: &dyn Runtime) -> Plan {
        let age = runtime.wall().since(backup.made);
        let pools = backup
            .registers
            .iter()
            .filter_map(|(key, value)| pool_of(key, &value.body))
            .collect();
        let what = format!("the backup {}", &backup.sha256);
        Plan::new(what, pools, (advance.numbers(age), age), window, runtime)
    }

    /// Goes on with the restore that is under way in a store, if there is one, and never raises by less than it did.
    /// Whether there was another than this one, which may have sealed the store itself.
    async fn join(&mut self, store: &dyn Store) -> Result<bool, StoreError> {
        let Some(begun) = restoring(store).await? else {
            return Ok(false);
        };
        if begun.what != self.restoring.what {
            return Err(StoreError::new(
                StoreErrorKind::InUse,
                Outcome::NotDone,
                format!("another restore is not finished in this store, of {}", begun.what),
            )
            .with_hint(Advice::FinishRestore {
                or_remove: false,
                finishes: false,
            }));
        }
        if begun.id == self.restoring.id {
            return Ok(false);
        }
        let floor = Timestamp::from_unix_millis(begun.floor_ms);
        // With other numbers it is another attempt: what the first has written is raised once more.
        let same = self.restoring.numbers <= begun.numbers;
        self.raise.numbers = self.raise.numbers.max(begun.numbers);
        self.raise.floor = self.raise.floor.max(floor);
        self.restoring = Restoring {
            id: match same {
                true => begun.id,
                false => std::mem::take(&mut self.restoring.id),
            },
            what: begun.what,
            numbers: self.raise.numbers,
            floor_ms: self.raise.floor.unix_millis(),
        };
        Ok(true)
    }
}

/// Writes a backup into an empty store of the same cluster, every mark raised.
///
/// `window` is the longest window of pools that do not say.
///
/// Cut off at any point it leaves a store that is as it was, or one that refuses to serve until the same is asked
/// again.
///
/// # Errors
/// [`StoreErrorKind::Foreign`] and [`StoreErrorKind::InUse`] without those; `InUse` as long as servers use the
/// store, or where another restore was not finished; [`StoreErrorKind::Stopped`] for a store that was moved.
pub async fn restore_into(
    store: &dyn Store,
    backup: &Backup,
    advance: Advance,
    window: Duration,
    accept: Accept,
    runtime: &dyn Runtime,
) -> Result<RestoreReport, StoreError> {
    let plan = Plan::of(backup, advance, window, runtime);
    write_backup(store, backup, plan, accept, runtime).await
}

pub(super) async fn write_backup(
    store: &dyn Store,
    backup: &Backup,
    mut plan: Plan,
    accept: Accept,
    runtime: &dyn Runtime,
) -> Result<RestoreReport, StoreError> {
    let refuse =
        |kind, why: String, hint: Advice| Err(StoreError::new(kind, Outcome::NotDone, why).with_hint(hint));
    if store.cluster_id() != backup.cluster_id && !accept.foreign {
        return refuse(
            StoreErrorKind::Foreign,
            format!(
                "the backup is of cluster {:032x}, the store is cluster {:032x} and holds registers",
                backup.cluster_id,
                store.cluster_id()
            ),
            Advice::RestoreForeign,
        );
    }
    let resumed = plan.join(store).await?;
    if !accept.used
        && !resumed
        && let Some(key) = first_register(store).await?
    {
        return refuse(
            StoreErrorKind::InUse,
            format!("the store is not empty, it holds {key}"),
            Advice::RestoreIntoUsed,
        );
    }
    check_unused(store, runtime).await?;
    seal_for_restore(store, &plan.restoring, runtime).await?;
    let mut notes = Vec::new();
    // The note of an earlier restore is taken into this one's.
    let note = backup.registers.iter().find(|(key, _)| *key == restored_key());
    let before = note.map_or(0, |(_, value)| value.mark);
    note_restored(store, before, &plan.restoring, runtime).await?;
    for (key, value) in backup.registers.iter().filter(|(key, _)| *key != restored_key()) {
        let (mark, note) = plan.raise.mark(key, value);
        notes.extend(note);
        let whole = async |there: Option<Versioned>| {
            let mark = there.as_ref().map_or(0, |found| found.value.mark).max(mark);
            Some(nobodys(key, mark, value.clone()))
        };
        put(store, key, &plan.restoring, runtime, whole).await?;
    }
    finished(store, runtime).await?;
    notes.truncate(NOTES_MAX);
    Ok(RestoreReport {
        registers: backup.registers.len() as u64,
        skipped: plan.raise.numbers,
        age: plan.age,
        resumed,
        notes,
    })
}

/// Raises every mark of a store whose database or folder was itself restored, moved, or taken over by a replica.
///
/// Cut off at any point it leaves a store as it was, or one that refuses to serve until the same is asked again.
///
/// # Errors
/// As [`restore_into`]; [`StoreErrorKind::Invalid`] for [`Advance::AtRate`] where nothing in the store says how old
/// it is.
pub async fn raise_in_place(
    store: &dyn Store,
    advance: Advance,
    window: Duration,
    runtime: &dyn Runtime,
) -> Result<RestoreReport, StoreError> {
    let age = match (newest_wall(store).await?.max(store.newest_wall()), advance) {
        (Some(newest), _) => runtime.wall().since(newest),
        (None, Advance::By(_)) => Duration::ZERO,
        (None, Advance::AtRate(_)) => {
            return Err(StoreError::new(
                StoreErrorKind::Invalid,
                Outcome::NotDone,
                "nothing in the store says how old it is",
            )
            .with_hint(Advice::SayAdvance));
        }
    };
    let what = "the store itself, in place".to_string();
    let numbers = (advance.numbers(age), age);
    let mut plan = Plan::new(what, pools(store).await?, numbers, window, runtime);
    let resumed = plan.join(store).await?;
    check_unused(store, runtime).await?;
    seal_for_restore(store, &plan.restoring, runtime).await?;
    note_restored(store, 0, &plan.restoring, runtime).await?;
    let mut notes = Vec::new();
    let mut registers = 0;
    for prefix in PREFIXES {
        let mut pages = Pages::of(store, prefix);
        loop {
            let page = pages.next().await?;
            if page.is_empty() {
                break;
            }
            for (key, _) in page {
                let raised = async |found: Option<Versioned>| {
                    let found = found?;
                    let (mark, note) = plan.raise.mark(&key, &found.value);
                    notes.extend(note);
                    Some(nobodys(&key, mark, found.value))
                };
                put(store, &key, &plan.restoring, runtime, raised).await?;
                registers += 1;
            }
        }
    }
    finished(store, runtime).await?;
    notes.truncate(NOTES_MAX);
    Ok(RestoreReport {
        registers,
        skipped: plan.raise.numbers,
        age: plan.age,
        resumed,
        notes,
    })
}

/// **A restore is finished**: every mark is raised. What is to be done once with a store that was restored is done
/// here, before servers may use it.
async fn finished(store: &dyn Store, runtime: &dyn Runtime) -> Result<(), StoreError> {
    note_progress_restored(store, runtime).await?;
    take_off(store, runtime).await
}

/// A raised register. A window is nobody's from then on: who held it when the backup was made may have lost it since, to
/// somebody whom the backup does not know, and versions count anew, so that only the owner could tell the two apart. A
/// machine's number is kept for its machine.
fn nobodys(key: &Key, mark: u64, value: Value) -> Value {
    let body = match key.as_str().starts_with("window/") {
        true => window::without_holder(&value.body).unwrap_or(value.body),
        false => value.body,
    };
    Value { mark, body, ..value }
}

/// Writes what `new` makes of a register, until nobody else writes in between; nothing, if this restore has written
/// it already.
async fn put(
    store: &dyn Store,
    key: &Key,
    restoring: &Restoring,
    runtime: &dyn Runtime,
    mut new: impl AsyncFnMut(Option<Versioned>) -> Option<Value>,
) -> Result<(), StoreError> {
    let token = restoring.token(key);
    for _ in 0..TRIES {
        let found = store.get(key).await?;
        if found.as_ref().is_some_and(|found| found.value.token == token) {
            return Ok(());
        }
        let version = found.as_ref().map(|found| found.version);
        let Some(value) = new(found).await else {
            return Ok(());
        };
        let value = Value { token, ..value };
        match store
            .compare_and_set(key, version, value, Marks::NeverLower)
            .await?
        {
            Cas::Done(_) => return Ok(()),
            Cas::Lost(_) => runtime.sleep(Duration::from_millis(1)).await,
        }
    }
    Err(too_many_writers(key))
}

/// What the store holds of what it must not lose, its place in a set included.
pub(super) async fn first_register(store: &dyn Store) -> Result<Option<Key>, StoreError> {
    for prefix in PREFIXES.into_iter().chain(["cluster/stripe"]) {
        let page = Pages::of(store, prefix).next().await?;
        if let Some((key, _)) = page.into_iter().next() {
            return Ok(Some(key));
        }
    }
    Ok(None)
}

/// Notes that a name which is not there may have been made after the backup: it begins above `numbers` more than
/// any restore before.
async fn note_restored(
    store: &dyn Store,
    before: u64,
    restoring: &Restoring,
    runtime: &dyn Runtime,
) -> Result<(), StoreError> {
    let above = async |found: Option<Versioned>| {
        let before = found.map_or(0, |found| found.value.mark).max(before);
        let from = runtime.wall().saturating_add(LAST_ID_AHEAD_MAX);
        let body = RestoredBody {
            note:
                "a backup was restored: names that were not in it begin above this mark, workers at this time"
                    .to_string(),
            workers_from_ms: Some(from.unix_millis()),
        };
        Some(Value {
            mark: before.saturating_add(restoring.numbers).min(i64::MAX as u64),
            token: 0,
            body: serde_json::to_string(&body).expect("plain fields always serialise"),
        })
    };
    put(store, &restored_key(), restoring, runtime, above).await
}
