//! Numbers for the machines of a cluster: windows of the pool, each leased to an instance that is known by its name and
//! says how long its lease shall last. Their programs mint by themselves, at any time while they believe in their lease.
//!
//! A register, `machine/POOL/INSTANCE`, says which worker is the instance's, and under which owner its window stands.
//! Nothing is remembered in memory, so that servers on one store answer alike, and one that was killed forgets nothing.
//!
//! ```text
//!   instance ──▶ machine/cosid:dev/10.1.2.3:80    {"worker":7,"owner":"4f…"}       written first
//!                                  │
//!                                  ▼
//!                window/cosid:dev/0000000007      mark = until, {"owner":"4f…","name":"10.1.2.3:80",…}
//! ```
//!
//! The window alone decides who has a number: it is taken by one conditional write, only once the last holder's has
//! passed (protocol W1, W2), and renewed from the version that was read (W5). The register stands before it, so that an
//! attempt of unknown outcome is found again by its owner and finished by whoever asks next for the same instance
//! (R1). A register that is gone (a backup holds none) is found again by the name in the window.
//!
//! A lease may be longer than the pool's windows, which is what a restored backup and a store that forgets wait for. The
//! window then says beside its mark until when nobody else takes the worker, as that of a stable machine says for ever.

use mintage::{Clock, Timestamp};
use serde::{Deserialize, Serialize};
use std::time::Duration;

use super::Pool;
use super::acquire::PAGES_MAX;
use super::lease::Owner;
use super::window::{MachineLease, WindowBody};
use crate::error::LedgerError;
use crate::kept::Tokens;
use crate::name::{Name, check_new};
use crate::runtime::fresh_token;
use crate::store::{Cas, Key, Marks, StoreError, StoreErrorKind, Value, Version, Versioned};
use mintage_local::workers::WorkerRanges;

/// An instance that asks for a number, or has one.
#[derive(Clone, Copy, Debug)]
pub struct MachineInstance<'a> {
    /// What it calls itself; no two that run at a time may have one name.
    pub instance: &'a str,
    /// It keeps its number for ever, whether it runs or not.
    pub stable: bool,
}

/// The number of a machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MachineNumber {
    /// The number: a worker of the pool.
    pub number: u64,
    /// No id of it was made after this, as far as anybody knows; `None`: none was ever made.
    pub used_until: Option<Timestamp>,
    /// Until when the lease lasts.
    pub until: Timestamp,
}

/// Why a machine has no number.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum MachineError {
    /// Every number is held or kept, or the one that the machine has is too large for it.
    #[error("{0}")]
    NoneFree(String),
    /// No number is leased to an instance of this name.
    #[error("no number is leased to instance {0:?}")]
    Unknown(String),
    /// The number was given up, or is another instance's by now.
    #[error("number {number} is no longer that of instance {instance:?}")]
    Lost {
        /// The instance.
        instance: String,
        /// The number that it had.
        number: u64,
    },
    /// The name cannot stand in a register.
    #[error("instance {0:?} cannot be remembered: {1}")]
    Name(String, String),
    /// What the ledger says.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

impl From<StoreError> for MachineError {
    fn from(error: StoreError) -> Self {
        MachineError::Ledger(error.into())
    }
}

/// The stored body of a machine's register; it has no mark.
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Debug)]
#[serde(deny_unknown_fields)]
struct Place {
    worker: u64,
    /// As the window has it.
    owner: String,
}

/// What is found of a machine: its register, and the window of the worker that this names.
struct Found {
    place: Place,
    /// Of the register.
    version: Version,
    record: Option<Versioned>,
    /// Of the window, unless only its mark is known.
    body: Option<WindowBody>,
}

impl Found {
    /// The window, where it is the machine's own.
    fn own(&self) -> Option<(&Versioned, &WindowBody)> {
        let (record, body) = (self.record.as_ref()?, self.body.as_ref()?);
        (body.owner == self.place.owner && !body.retired).then_some((record, body))
    }

    /// The machine gave its number back, and the register was to go too.
    fn is_given_back(&self) -> bool {
        let body = self.body.as_ref();
        body.is_some_and(|body| body.owner == self.place.owner && body.retired)
    }

    /// Its own window, which it gave back itself and nobody has taken since.
    fn returned(&self) -> Option<(&Versioned, &WindowBody)> {
        let (record, body) = (self.record.as_ref()?, self.body.as_ref()?);
        let by_itself = body.machine.as_ref().is_some_and(|machine| machine.returned);
        (by_itself && self.is_given_back()).then_some((record, body))
    }

    /// Whether anybody may take the worker: also an attempt of the machine that has not landed, and may no more once
    /// this one has.
    fn is_free(&self, now: u64) -> bool {
        let is_kept = self.body.as_ref().is_some_and(|body| body.is_kept(now));
        !is_kept && self.record.as_ref().is_none_or(|record| record.value.mark <= now)
    }
}

impl Pool {
    /// One past the last tick.
    fn end_of_time(&self) -> u64 {
        self.ticks.ticks_max().saturating_add(1)
    }

    /// How long a window may last, which is what a restored backup and a store that forgets wait for.
    fn longest_lease(&self) -> Duration {
        let ticks = u32::try_from(self.lengths.max).unwrap_or(u32::MAX);
        self.ticks.tick().saturating_mul(ticks)
    }

    /// Leases a number below `below` for so long: the one that the instance has or gave back last, else one that nobody
    /// ever had, else the one whose lease passed first.
    ///
    /// ```
    /// # use mintage_ledger::*;
    /// # use std::time::Duration;
    /// # let tokio = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    /// # tokio.block_on(async {
    /// # let runtime = SystemRuntime::new(tokio::runtime::Handle::current());
    /// # let store = open_store("memory:", &StoreSettings::default(), runtime.clone()).await?;
    /// # let ledger = Ledger::open(store, LedgerSettings::default(), runtime).await?;
    /// let pool = ledger.pool_or_default(&Name::new("default")?).await?;
    /// let (web, lasting) = (MachineInstance { instance: "10.1.2.3:80", stable: false }, Duration::from_secs(300));
    /// let leased = pool.lease_machine(web, 1024, lasting).await?;
    /// assert_eq!((leased.number, leased.used_until), (0, None));
    /// assert_eq!(pool.guard_machine(web, lasting).await?.number, 0);
    /// pool.return_machine(web).await?;
    /// assert!(matches!(pool.guard_machine(web, lasting).await, Err(MachineError::Unknown(_))));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`MachineError::NoneFree`], [`MachineError::Name`], or the ledger refuses. Asked again
    /// after any of them, it goes on where it was.
    pub async fn lease_machine(
        &self,
        machine: MachineInstance<'_>,
        below: u64,
        lasting: Duration,
    ) -> Result<MachineNumber, MachineError> {
        let asked = self.machine(machine, lasting, Begins::Anew)?;
        if let Some(error) = self.context.store.stopped() {
            return Err(LedgerError::Stopped(error).into());
        }
        self.check_not_dropped().await?;
        let _alone = self.numbering.lock().await;
        for _ in 0..RACES_MAX {
            let found = asked.find(Returned::Too).await?;
            if found.is_none() {
                check_new(machine.instance)
                    .map_err(|why| MachineError::Name(machine.instance.into(), why.to_string()))?;
            }
            let may_again =
                |found: &Found| self.allowed().contains(found.place.worker) && found.place.worker < below;
            if let Some(found) = &found
                && let Some((record, body)) = found.own().or(found.returned().filter(|_| may_again(found)))
                && asked.fits(found.place.worker, below, record, body)?
            {
                let Some(number) = asked.extend(found.place.worker, record, body).await? else {
                    continue;
                };
                if !body.retired || self.may_still_use(found.place.worker).await? {
                    return Ok(number);
                }
                asked.give_up(&found.place).await;
                continue;
            }
            let now = self.tick_past_floor(0).await?;
            let place = match &found {
                Some(found)
                    if found.place.worker < below
                        && self.allowed().contains(found.place.worker)
                        && found.is_free(now) =>
                {
                    found.place.clone()
                }
                other => {
                    let worker = self.free_number(below, now).await?;
                    let owner = format!("{:032x}", fresh_token(&*self.context.runtime));
                    let place = Place { worker, owner };
                    let version = other.as_ref().map(|found| found.version);
                    if !asked.put(&place, version).await? {
                        continue;
                    }
                    place
                }
            };
            if let Some(number) = asked.take(&place, now).await? {
                // As for windows that are taken to mint in: whoever begins to avoid it sees this lease, or we see that.
                if self.may_still_use(place.worker).await? {
                    return Ok(number);
                }
                asked.give_up(&place).await;
            }
        }
        Err(self.too_many_races())
    }

    /// Extends the lease to so long from now.
    ///
    /// # Errors
    /// [`MachineError::Unknown`], [`MachineError::Lost`], [`MachineError::Name`], or the ledger refuses: the lease then
    /// lasts at least as long as it did.
    pub async fn guard_machine(
        &self,
        machine: MachineInstance<'_>,
        lasting: Duration,
    ) -> Result<MachineNumber, MachineError> {
        let asked = self.machine(machine, lasting, Begins::Before)?;
        for _ in 0..RACES_MAX {
            let Some(found) = asked.find(Returned::Not).await? else {
                return Err(MachineError::Unknown(machine.instance.into()));
            };
            let Some((record, body)) = found.own() else {
                return Err(asked.lost(&found));
            };
            if let Some(number) = asked.extend(found.place.worker, record, body).await? {
                return Ok(number);
            }
        }
        Err(self.too_many_races())
    }

    /// As [`Pool::guard_machine`], for who does not say for how long: for as long as the lease lasted when it was given or
    /// extended last. Whether the machine is stable stays as it is.
    ///
    /// # Errors
    /// As there.
    pub async fn guard_machine_again(&self, instance: &str) -> Result<MachineNumber, MachineError> {
        let machine = MachineInstance {
            instance,
            stable: false,
        };
        let mut asked = self.machine(machine, Duration::ZERO, Begins::Before)?;
        for _ in 0..RACES_MAX {
            let Some(found) = asked.find(Returned::Not).await? else {
                return Err(MachineError::Unknown(instance.into()));
            };
            let Some((record, body)) = found.own() else {
                return Err(asked.lost(&found));
            };
            asked.machine.stable = body.machine.as_ref().is_some_and(|lease| lease.stable);
            let until = self.ticks.time_of(record.value.mark.max(kept_of(body)));
            let lasted_ms = until.unix_millis().saturating_sub(body.wall_ms);
            asked.lasting = Duration::from_millis(u64::try_from(lasted_ms).unwrap_or(0));
            if let Some(number) = asked.extend(found.place.worker, record, body).await? {
                return Ok(number);
            }
        }
        Err(self.too_many_races())
    }

    /// The machine has stopped. A stable one keeps its number; that of another is free for it at once, and for others once
    /// its window has passed: nobody shortens a window that a program may still mint in (protocol W7).
    ///
    /// # Errors
    /// [`MachineError::Unknown`], [`MachineError::Lost`], [`MachineError::Name`], or the ledger refuses.
    pub async fn return_machine(&self, machine: MachineInstance<'_>) -> Result<(), MachineError> {
        let asked = self.machine(machine, Duration::ZERO, Begins::Anew)?;
        for _ in 0..RACES_MAX {
            let Some(found) = asked.find(Returned::Not).await? else {
                return Err(MachineError::Unknown(machine.instance.into()));
            };
            let Some((record, body)) = found.own() else {
                asked
                    .forget(machine.instance, |place| *place == found.place)
                    .await;
                return match found.is_given_back() {
                    true => Ok(()),
                    false => Err(asked.lost(&found)),
                };
            };
            if machine.stable && body.machine.as_ref().is_some_and(|lease| lease.stable) {
                return Ok(());
            }
            let left = WindowBody {
                retired: !machine.stable,
                machine: Some(MachineLease {
                    returned: !machine.stable,
                    ..asked.lease(body, 0)
                }),
                ..body.clone()
            };
            let until = record.value.mark;
            if asked
                .write(found.place.worker, Some(record), &left, until)
                .await?
            {
                if !machine.stable {
                    asked
                        .forget(machine.instance, |place| *place == found.place)
                        .await;
                }
                return Ok(());
            }
        }
        Err(self.too_many_races())
    }

    fn machine<'a>(
        &'a self,
        machine: MachineInstance<'a>,
        lasting: Duration,
        begins: Begins,
    ) -> Result<Asked<'a>, MachineError> {
        Ok(Asked {
            pool: self,
            machine,
            lasting,
            begins,
            key: self.machine_key(machine.instance)?,
        })
    }

    fn machine_key(&self, instance: &str) -> Result<Key, MachineError> {
        let refuse = |why: String| MachineError::Name(instance.chars().take(80).collect(), why);
        let name = Name::new(instance).map_err(|error| refuse(error.to_string()))?;
        let key = format!("machine/{}/{}", self.name.to_key(), name.to_key());
        Key::new(key).map_err(|error| refuse(error.message))
    }

    /// A worker below `below` that nobody has: one without a record, else the one whose window passed first.
    async fn free_number(&self, below: u64, now: u64) -> Result<u64, MachineError> {
        let allowed = match below.checked_sub(1) {
            Some(last) => self.allowed().within(&WorkerRanges::span(0, last)),
            None => WorkerRanges::NONE,
        };
        let workers = allowed.count();
        let (mut first, mut oldest, mut soonest) =
            (allowed.first().unwrap_or(0), None::<(u64, u64)>, None::<u64>);
        for _ in 0..PAGES_MAX {
            if Some(first) > allowed.last() {
                break;
            }
            let survey = self.survey_from(first, &allowed, now).await?;
            if let Some(absent) = survey.absent.first() {
                return Ok(*absent);
            }
            let ends = survey
                .passed
                .iter()
                .map(|(worker, found)| (found.value.mark, *worker));
            oldest = oldest.into_iter().chain(ends).min();
            let end = survey.soonest.map(|(_, found)| found.value.mark);
            soonest = soonest.into_iter().chain(end).min();
            first = survey.last.saturating_add(1);
        }
        if let Some((_, worker)) = oldest {
            return Ok(worker);
        }
        let next = match soonest {
            Some(end) => format!(
                "the next may be free in {} s",
                self.seconds_in(end.saturating_sub(now))
            ),
            None => "none of them ends".to_string(),
        };
        Err(MachineError::NoneFree(format!(
            "all {workers} machine numbers of pool {} that may be given are held or kept: {next}",
            self.name
        )))
    }

    fn too_many_races(&self) -> MachineError {
        LedgerError::unavailable(format!(
            "pool {}: others were quicker {RACES_MAX} times, ask again",
            self.name
        ))
        .into()
    }
}

/// Whether a lease begins with what is asked.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Begins {
    /// A program starts: how long the one before wanted its number kept is over.
    Anew,
    /// It runs, and what is asked never shortens its lease.
    Before,
}

/// Whether a window that the machine gave back is found too.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Returned {
    Too,
    Not,
}

/// Until when a lease goes on behind the window's end; 0: it does not.
fn kept_of(body: &WindowBody) -> u64 {
    body.machine.as_ref().map_or(0, |lease| lease.kept)
}

/// What one machine asks for.
struct Asked<'a> {
    pool: &'a Pool,
    machine: MachineInstance<'a>,
    lasting: Duration,
    begins: Begins,
    /// Of its register.
    key: Key,
}

impl Asked<'_> {
    /// What a window says of the machine, after this record of it.
    fn lease(&self, before: &WindowBody, kept: u64) -> MachineLease {
        let after = match &before.machine {
            Some(last) if before.name == self.machine.instance => last.after.clone(),
            Some(_) => before.name.clone(),
            None => String::new(),
        };
        MachineLease {
            stable: self.machine.stable,
            after,
            kept,
            returned: false,
        }
    }

    /// Until which tick nobody else takes the number, where that is longer than a window lasts; else 0.
    fn kept(&self, now: u64, before: Option<&WindowBody>) -> u64 {
        let pool = self.pool;
        let asked = match self.lasting > pool.longest_lease() {
            true => now
                .saturating_add(pool.ticks_in(self.lasting))
                .min(pool.end_of_time()),
            false => 0,
        };
        let before = before.filter(|_| self.begins == Begins::Before);
        let before = before.and_then(|before| before.machine.as_ref());
        asked.max(before.map_or(0, |before| before.kept))
    }

    fn lost(&self, found: &Found) -> MachineError {
        MachineError::Lost {
            instance: self.machine.instance.into(),
            number: found.place.worker,
        }
    }

    /// Whether the number that the machine has is one that it asked for. A number is not exchanged while its lease lasts
    /// or it is kept: the program that has it may be minting with it.
    fn fits(
        &self,
        worker: u64,
        below: u64,
        record: &Versioned,
        body: &WindowBody,
    ) -> Result<bool, MachineError> {
        let pool = self.pool;
        if worker < below {
            return Ok(true);
        }
        let now = pool.now_tick()?;
        if body.is_kept(now) || !body.retired && record.value.mark > now {
            return Err(MachineError::NoneFree(format!(
                "instance {:?} has number {worker} of pool {}, and asks for one below {below}: give that back first",
                self.machine.instance, pool.name
            )));
        }
        Ok(false)
    }

    /// The register, and the window that it names.
    async fn find(&self, returned: Returned) -> Result<Option<Found>, MachineError> {
        let store = &self.pool.context.store;
        let found = match store.get(&self.key).await? {
            Some(found) => found,
            None => match self.find_by_window(returned).await? {
                Some(place) => {
                    self.put(&place, None).await?;
                    match store.get(&self.key).await? {
                        Some(found) => found,
                        None => return Ok(None),
                    }
                }
                None => return Ok(None),
            },
        };
        let place: Place = serde_json::from_str(&found.value.body).map_err(|error| {
            LedgerError::Invalid(format!("register {} cannot be understood: {error}", self.key))
        })?;
        let record = self.pool.record(place.worker).await?;
        Ok(Some(Found {
            body: record.as_ref().and_then(|record| WindowBody::read(record).ok()),
            version: found.version,
            place,
            record,
        }))
    }

    /// A register that is gone: a window says whose it is. Numbers are given from the lowest on, so that there is none
    /// beyond the first page with a gap.
    async fn find_by_window(&self, returned: Returned) -> Result<Option<Place>, MachineError> {
        let (pool, mut first) = (self.pool, 0);
        for _ in 0..PAGES_MAX {
            let page = pool.page(first, crate::store::SCAN_LIMIT_MAX).await?;
            for (worker, found) in &page {
                let body = WindowBody::read(found).ok();
                let own = body.filter(|body| {
                    let lease = body.machine.as_ref();
                    let came_back = |lease: &MachineLease| returned == Returned::Too && lease.returned;
                    body.name == self.machine.instance
                        && lease.is_some_and(|lease| !body.retired || came_back(lease))
                });
                if let Some(body) = own {
                    return Ok(Some(Place {
                        worker: *worker,
                        owner: body.owner,
                    }));
                }
            }
            match page.last() {
                Some((last, _)) if *last + 1 == first + page.len() as u64 => first = *last + 1,
                _ => break,
            }
        }
        Ok(None)
    }

    /// Writes the register; `false`: somebody else wrote it meanwhile.
    async fn put(&self, place: &Place, expected: Option<Version>) -> Result<bool, MachineError> {
        let context = &self.pool.context;
        let token = fresh_token(&*context.runtime);
        let body = serde_json::to_string(place).expect("plain fields always serialise");
        let value = Value { mark: 0, token, body };
        let register = context.attempts(&self.key);
        let mut tokens = Tokens::new(token);
        let answer = register
            .write(expected, value, Marks::NeverLower, &mut tokens)
            .await?;
        Ok(matches!(answer, Cas::Done(_)))
    }

    /// Takes a worker whose window has passed, or that has none; `None`: somebody else was quicker.
    async fn take(&self, place: &Place, now: u64) -> Result<Option<MachineNumber>, MachineError> {
        let pool = self.pool;
        let found = pool.record(place.worker).await?;
        let body = found.as_ref().and_then(|found| WindowBody::read(found).ok());
        if let Some(found) = &found {
            pool.check_fingerprint(place.worker, found)?;
            // Protocol W1: by a record that was read, not by what somebody believed.
            if found.value.mark > now || body.as_ref().is_some_and(|body| body.is_kept(now)) {
                return Ok(None);
            }
        }
        if now > pool.ticks.ticks_max() {
            return Err(LedgerError::TimeFieldFull {
                name: pool.name.clone(),
            }
            .into());
        }
        let taken = self.body(place.owner.clone(), now, now, body.as_ref());
        let until = self.end(now);
        if !self.write(place.worker, found.as_ref(), &taken, until).await? {
            return Ok(None);
        }
        let until = until.max(kept_of(&taken));
        // The machine before keeps its register, so that it is told of its loss; the one before that had its time.
        if let Some(last) = body
            .filter(|last| last.name != taken.name)
            .and_then(|last| last.machine)
            && last.after != taken.name
        {
            let is_lost = |other: &Place| other.worker == place.worker && other.owner != place.owner;
            self.forget(&last.after, is_lost).await;
        }
        Ok(Some(self.number(place.worker, found.as_ref(), until)))
    }

    /// Ends a lease that must not be used: nobody was told of it.
    async fn give_up(&self, place: &Place) {
        let retired = async {
            let (found, body) = self.pool.window_record(place.worker).await?;
            match body.owner == place.owner {
                true => self.pool.mark_retired(place.worker, &found, body).await,
                false => Ok(()),
            }
        };
        if let Err(error) = retired.await {
            // It ends by itself.
            tracing::debug!(key = %self.key, %error, "could not give a number up");
        }
    }

    /// Extends the window from the version that was read (protocol W5); `None`: somebody wrote it meanwhile.
    async fn extend(
        &self,
        worker: u64,
        record: &Versioned,
        body: &WindowBody,
    ) -> Result<Option<MachineNumber>, MachineError> {
        let pool = self.pool;
        pool.check_fingerprint(worker, record)?;
        let mut now = pool.valid_tick().await?;
        let mut from = body.from;
        if record.value.mark <= now {
            // It has passed and is begun anew: a store that forgets may have given it to another meanwhile.
            now = pool.tick_past_floor(0).await?;
            from = now.max(record.value.mark);
        }
        let until = self.end(now).max(record.value.mark);
        let extended = self.body(body.owner.clone(), from, now, Some(body));
        let is_written = self.write(worker, Some(record), &extended, until).await?;
        let until = until.max(kept_of(&extended));
        Ok(is_written.then(|| self.number(worker, Some(record), until)))
    }

    fn number(&self, number: u64, before: Option<&Versioned>, until: u64) -> MachineNumber {
        let now = self.pool.context.clock.now();
        let used_until = before.map(|before| {
            let body = WindowBody::read(before).ok();
            let last = body.map(|body| Timestamp::from_unix_millis(body.wall_ms));
            last.map_or(now, |last| last.max(now))
        });
        MachineNumber {
            number,
            used_until,
            until: self.pool.ticks.time_of(until),
        }
    }

    fn body(&self, owner: String, from: u64, now: u64, before: Option<&WindowBody>) -> WindowBody {
        let owner = Owner {
            id: owner,
            name: self.machine.instance.to_string(),
            age: Duration::ZERO,
        };
        let fresh = self.pool.body(&owner, from);
        WindowBody {
            machine: Some(self.lease(before.unwrap_or(&fresh), self.kept(now, before))),
            ..fresh
        }
    }

    /// Where a lease from `now` on ends; exclusive, so that it may be one past the last tick.
    fn end(&self, now: u64) -> u64 {
        let lasting = self.lasting.min(self.pool.longest_lease());
        let end = now.saturating_add(self.pool.ticks_in(lasting));
        end.min(self.pool.end_of_time())
    }

    /// Writes the window's record; `false`: somebody else wrote it meanwhile.
    async fn write(
        &self,
        worker: u64,
        before: Option<&Versioned>,
        body: &WindowBody,
        until: u64,
    ) -> Result<bool, MachineError> {
        let value = body.value(until, fresh_token(&*self.pool.context.runtime));
        let expected = before.map(|before| before.version);
        let answer = self
            .pool
            .write(worker, expected, value, Marks::NeverLower)
            .await?;
        Ok(matches!(answer, Cas::Done(_)))
    }

    /// Removes the register of an instance that has lost what it names, so that those of machines that are gone do not
    /// pile up: there are at most two for each number. One that stays does no harm.
    async fn forget(&self, instance: &str, is_lost: impl Fn(&Place) -> bool) {
        let Ok(key) = self.pool.machine_key(instance) else {
            return;
        };
        let store = &self.pool.context.store;
        let Ok(Some(found)) = store.get(&key).await else {
            return;
        };
        if serde_json::from_str::<Place>(&found.value.body).is_ok_and(|place| is_lost(&place))
            && let Err(error) = store.remove(&key, found.version).await
            && error.kind != StoreErrorKind::Unavailable
        {
            tracing::warn!(%key, %error, "could not forget a machine");
        }
    }
}

/// How often somebody else may be quicker.
const RACES_MAX: usize = 64;
