//! Workers that a pool begins or ends to avoid, because another system's generators have them.
//!
//! A change of definition, never of windows: the record is written first, every server follows (protocol S5), and then
//! the windows of what is avoided are looked at. One that lasts is retired, so that its holder cannot renew it and takes
//! another; until it has passed, nobody else may use its worker, and the answer says until when that is.

use std::time::Duration;

use mintage::{Clock, Timestamp};

use super::choice::WorkerChoice;
use super::window::WindowBody;
use super::{Pool, PoolInfo, PoolSpec, WindowInfo, utc};
use crate::error::LedgerError;
use crate::name::Name;
use crate::store::{SCAN_LIMIT_MAX, Versioned};
use mintage_local::workers::WorkerRanges;

/// For how long a generator must have been off before its number is given to a pool: clocks differ, and generators have
/// run ahead of theirs.
pub(crate) const OFF_FOR: Duration = Duration::from_secs(3600);
/// How often the holder of a window may renew it in the moment in which it is retired.
const RACES_MAX: u32 = 16;

/// What is to be avoided, and what no more.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct AvoidChange {
    /// Another system has these, or will.
    pub add: WorkerRanges,
    /// No generator of another system has these any more.
    pub remove: WorkerRanges,
    /// Where what is added was read, if the pool does not say so yet; without a password.
    pub from: Option<String>,
    /// Why those that are removed are known to be off; needed if any is.
    pub proof: Option<OffProof>,
}

/// Why generators of another system are known to be off.
#[derive(Clone, PartialEq, Debug)]
pub enum OffProof {
    /// Somebody says that none of them has made an id since.
    Since(Timestamp),
    /// Their system was looked at just now.
    Looked {
        /// Where, without a password.
        at: String,
        /// The numbers it shows as held, and the last time each of them told.
        held: Vec<(u64, Option<Timestamp>)>,
    },
}

/// A pool after a change of what it avoids.
#[derive(Clone, PartialEq, Debug)]
pub struct Avoided {
    /// What the pool is now.
    pub info: PoolInfo,
    /// Windows of avoided workers that last still: until they have passed, nobody else may use these workers.
    pub held: Vec<WindowInfo>,
    /// Other processes on a shared store that live and had not seen the change in time (protocol S5).
    pub pending: Vec<String>,
}

impl AvoidChange {
    /// What pool `name` with so many workers may choose after the change, of what is `defined`.
    pub(crate) fn apply(
        &self,
        name: &Name,
        workers: u64,
        defined: &WorkerChoice,
        now: Timestamp,
    ) -> Result<WorkerChoice, LedgerError> {
        let invalid = |why: String| Err(LedgerError::Invalid(format!("pool {name}: {why}")));
        let both = self.add.within(&self.remove);
        if !both.is_empty() {
            return invalid(format!("workers {both} are both to be avoided and not"));
        }
        if let Some(last) = self.remove.last().filter(|last| *last >= workers) {
            return invalid(format!(
                "worker {last} is none of its layout, largest is {}",
                workers - 1
            ));
        }
        if let (Some(from), Some(known)) = (&self.from, &defined.avoid_from)
            && from != known
        {
            return invalid(format!(
                "what it avoids was read from {known}: name the workers that {from} shows instead"
            ));
        }
        let removed = self.remove.within(&defined.avoid);
        for worker in removed.iter() {
            self.check_off(worker, defined, now)
                .map_err(|why| LedgerError::WorkerInUse {
                    name: name.clone(),
                    worker,
                    why,
                })?;
        }
        let changed = WorkerChoice {
            avoid: defined.avoid.with(&self.add).without(&self.remove),
            avoid_from: defined.avoid_from.clone().or_else(|| self.from.clone()),
            within: defined.within.clone(),
        };
        changed.check(name, workers)
    }

    /// Whether the generator that had this number has been off for long enough; why not, in words.
    fn check_off(&self, worker: u64, defined: &WorkerChoice, now: Timestamp) -> Result<(), String> {
        let long_off = |last: Timestamp| last.saturating_add(OFF_FOR) <= now;
        match (&self.proof, &defined.avoid_from) {
            (None, Some(from)) => Err(format!(
                "is avoided because of {from}, which was not looked at: look there, or say since when it is off"
            )),
            (None, None) => Err("is avoided, and nobody says since when its generator is off".to_string()),
            (Some(OffProof::Since(off)), _) if long_off(*off) => Ok(()),
            (Some(OffProof::Since(off)), _) => Err(format!(
                "is said to be off since {}: it may be used again {} s after that",
                utc(*off),
                OFF_FOR.as_secs()
            )),
            (Some(OffProof::Looked { at, .. }), Some(from)) if at != from => {
                Err(format!("is avoided because of {from}, not of {at}"))
            }
            (Some(OffProof::Looked { at, held }), _) => match last_sign(worker, held) {
                LastSign::Untold => Err(format!(
                    "is held at {at}, which does not tell since when it is off: end it there first"
                )),
                LastSign::Gone => Err(format!(
                    "is no longer shown at {at}, which does not tell since when it is off: say so"
                )),
                LastSign::At(last) if long_off(last) => Ok(()),
                LastSign::At(last) => Err(format!(
                    "was alive at {}, says {at}: it may be used again {} s after its last sign",
                    utc(last),
                    OFF_FOR.as_secs()
                )),
            },
        }
    }
}

/// What a system shows of a number.
enum LastSign {
    /// Held, without a time.
    Untold,
    /// Not held.
    Gone,
    /// Held, and its holder said so then.
    At(Timestamp),
}

/// Two nodes may have one number: the newest sign counts, and one without a time is newer than all.
fn last_sign(worker: u64, held: &[(u64, Option<Timestamp>)]) -> LastSign {
    let signs = held.iter().filter(|(number, _)| *number == worker);
    signs.fold(LastSign::Gone, |newest, (_, sign)| match (newest, sign) {
        (LastSign::Untold, _) | (_, None) => LastSign::Untold,
        (LastSign::At(known), Some(sign)) => LastSign::At(known.max(*sign)),
        (LastSign::Gone, Some(sign)) => LastSign::At(*sign),
    })
}

impl Pool {
    /// Whether a worker that was just taken may be used, by the definition as it is after the write that took it.
    pub(super) async fn may_still_use(&self, worker: u64) -> Result<bool, LedgerError> {
        match self.context.store.get(&PoolSpec::key(&self.name)).await {
            Ok(Some(found)) => {
                self.follow_record(&found.value.body)?;
                let (spec, _) = PoolSpec::read_record(&self.name, &found.value.body)?;
                Ok(spec.workers.allowed(self.spec.kind.workers()).contains(worker))
            }
            // Of several stores the one with the record may be away. A pool that avoids nothing goes on.
            Ok(None) | Err(_) if self.choice().is_all() => Ok(true),
            Ok(None) => Err(LedgerError::unavailable(format!(
                "the record of pool {} is gone, and with it what it avoids",
                self.name
            ))),
            Err(error) => Err(error.into()),
        }
    }

    /// Refuses to avoid the number of a machine: its program mints by itself, and goes on whatever we say.
    pub(crate) async fn check_no_machine(&self, workers: &WorkerRanges) -> Result<(), LedgerError> {
        let now = self.now_tick()?;
        for (worker, found) in self.records_of(workers).await? {
            let Ok(body) = WindowBody::read(&found) else {
                continue;
            };
            let kept = body.machine.as_ref().map_or(0, |machine| machine.kept);
            let lasts = found.value.mark > now || body.is_kept(now);
            if body.machine.is_some() && !body.retired && lasts {
                let until = match body.is_kept(kept) {
                    true => "for good".to_string(),
                    false => format!("until {}", utc(self.ticks.time_of(found.value.mark.max(kept)))),
                };
                return Err(LedgerError::WorkerInUse {
                    name: self.name.clone(),
                    worker,
                    why: format!(
                        "is leased to machine {} {until}: it is to give its number back first",
                        body.name
                    ),
                });
            }
        }
        Ok(())
    }

    /// Retires the windows of these workers, so that nobody renews them: also those that have passed, which their
    /// holders could begin anew. Answers those that last still.
    pub(crate) async fn retire_all(&self, workers: &WorkerRanges) -> Result<Vec<WindowInfo>, LedgerError> {
        let now = self.now_tick()?;
        let mut held = Vec::new();
        for (worker, found) in self.records_of(workers).await? {
            // A repair saved the mark alone: that has no holder.
            if !found.value.is_tombstone() {
                self.retire_one(worker).await?;
            }
            if found.value.mark > now {
                held.extend(self.window_of(worker).await?);
            }
        }
        Ok(held)
    }

    async fn window_of(&self, worker: u64) -> Result<Option<WindowInfo>, LedgerError> {
        let found = self.windows(worker, 1).await?.into_iter().next();
        Ok(found.filter(|found| found.worker == worker))
    }

    async fn retire_one(&self, worker: u64) -> Result<(), LedgerError> {
        let mut races = 0;
        loop {
            let (found, body) = self.window_record(worker).await?;
            if body.retired {
                return Ok(());
            }
            match self.mark_retired(worker, &found, body).await {
                // Renewed in this moment.
                Err(LedgerError::WindowLost { .. }) if races < RACES_MAX => races += 1,
                answer => return answer,
            }
        }
    }

    /// The records of these workers, as far as they have any.
    async fn records_of(&self, workers: &WorkerRanges) -> Result<Vec<(u64, Versioned)>, LedgerError> {
        let mut records = Vec::new();
        let mut next = workers.first();
        while let Some(first) = next.filter(|first| Some(*first) <= workers.last()) {
            let page = self.page(first, SCAN_LIMIT_MAX).await?;
            let full = page.len() == usize::from(SCAN_LIMIT_MAX);
            next = page.last().filter(|_| full).map(|(worker, _)| worker + 1);
            records.extend(page.into_iter().filter(|(worker, _)| workers.contains(*worker)));
        }
        Ok(records)
    }

    /// The time by which it is judged whether a generator has been off for long enough.
    pub(crate) fn judged_at(&self) -> Timestamp {
        self.context.clock.now()
    }
}
