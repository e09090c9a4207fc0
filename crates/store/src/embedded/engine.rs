//! The one thread that owns the database and the witness: it drains its queue and commits what it found as
//! one (group commit).

use std::collections::{HashMap, HashSet};
use std::fs;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::sync::{mpsc, oneshot};

use super::super::{Cas, Claim, Key, Marks, Outcome, StoreError, StoreErrorKind, Value, Version, Versioned};
use super::database::{self, Database, Meta, Stamp};
use super::elsewhere::Elsewhere;
use super::errors::{self, Damage};
use super::folder::{Folder, Identity};
use super::reached::Reached;
use super::recover::Pending;
use super::witness::{Kind, Record, Witness};
use super::{Shared, Tuning};
use crate::repeats::Repeats;
use crate::runtime::Runtime;

/// One call on its way to the thread.
pub(super) struct Call {
    pub(super) op: Op,
    pub(super) reply: oneshot::Sender<Result<Answer, StoreError>>,
}

/// What is asked.
pub(super) enum Op {
    Get(Key),
    Set {
        key: Key,
        expected: Option<Version>,
        new: Value,
        marks: Marks,
    },
    Remove {
        key: Key,
        expected: Version,
    },
    Claim(Claim),
    Scan {
        prefix: Key,
        after: Option<Key>,
        limit: u16,
    },
}

impl Op {
    fn writes(&self) -> bool {
        !matches!(self, Op::Get(_) | Op::Scan { .. })
    }

    /// Needs a transaction of the database.
    fn commits(&self) -> bool {
        matches!(self, Op::Set { .. } | Op::Remove { .. })
    }
}

/// What is answered.
#[derive(Clone, Debug)]
pub(super) enum Answer {
    Found(Option<Versioned>),
    Cas(Cas),
    Page(Vec<(Key, Versioned)>),
}

/// What the queue carries.
pub(super) enum Message {
    Call(Call),
    /// A second has passed.
    Tick,
    Close(oneshot::Sender<Result<(), StoreError>>),
}

/// Why a batch came to nothing.
pub(super) enum Failure {
    /// Nothing was changed, and it may pass.
    Passing(StoreError),
    /// Nobody knows, or a sync failed: stop for good.
    Stop(String),
}

/// A register that a batch changes.
pub(super) struct Touched {
    pub(super) key: String,
    /// `None`: removed.
    pub(super) stamp: Option<Stamp>,
    /// The database does not have `stamp` yet.
    pub(super) claimed: bool,
}

pub(super) type Batch = HashMap<u128, Touched>;

/// Everything the thread owns.
pub(super) struct Engine {
    pub(super) folder: Folder,
    pub(super) database: Database,
    pub(super) meta: Meta,
    pub(super) witness: Witness,
    /// Every register as it stands, claims included.
    pub(super) entries: HashMap<u128, Stamp>,
    /// Registers whose claims only the witness has.
    pub(super) pending: HashMap<u128, Pending>,
    /// Registers whose names a damage took.
    pub(super) lost: HashSet<u128>,
    pub(super) identity: Identity,
    /// How far the witness got, as the folder says it.
    pub(super) reached: Reached,
    /// The same, noted outside the folder; `None` where there is no such place.
    pub(super) elsewhere: Option<Elsewhere>,
    pub(super) inode: fs::Metadata,
    pub(super) shared: Arc<Shared>,
    pub(super) runtime: Arc<dyn Runtime>,
    pub(super) tuning: Tuning,
    pub(super) rows_since_checkpoint: usize,
    pub(super) ticks: u64,
    pub(super) trouble: Trouble,
}

/// What a full or busy disk keeps from being done now, and is tried again.
#[derive(Debug, Default)]
pub(super) struct Trouble {
    checkpoint: Repeats,
    claims: Repeats,
    beat: Repeats,
    elsewhere: Repeats,
}

/// How many calls one commit takes at most.
const BATCH_MAX: usize = 1024;
/// The heartbeat is written every so many ticks.
const BEAT_TICKS: u64 = 5;

impl Engine {
    /// Serves until closed, or until nobody can call any more.
    pub(super) fn run(mut self, mut queue: mpsc::Receiver<Message>) {
        while let Some(first) = queue.blocking_recv() {
            let (mut calls, mut tick, mut close) = (Vec::new(), false, None);
            let mut next = Some(first);
            while let Some(message) = next {
                match message {
                    Message::Call(call) => calls.push(call),
                    Message::Tick => tick = true,
                    Message::Close(reply) => close = Some(reply),
                }
                let more = calls.len() < BATCH_MAX && close.is_none();
                next = if more { queue.try_recv().ok() } else { None };
            }
            self.serve(calls);
            if tick {
                self.tick();
            }
            if let Some(reply) = close {
                let done = self.close();
                // Lets go of the lock first: who is told may open the folder again at once.
                drop(self);
                let _ = reply.send(done);
                return;
            }
        }
    }

    /// Does a batch and answers it; nobody is answered before everything is durable.
    fn serve(&mut self, calls: Vec<Call>) {
        if calls.is_empty() {
            return;
        }
        if self.stopped() {
            return calls
                .into_iter()
                .for_each(|call| self.answer_stopped(call, Outcome::NotDone));
        }
        match self.attempt(&calls) {
            Ok(answers) => {
                for (call, answer) in calls.into_iter().zip(answers) {
                    // A caller who no longer waits has an unknown outcome: the protocol covers that.
                    let _ = call.reply.send(answer);
                }
                self.checkpoint_when_due();
            }
            Err(Failure::Passing(error)) => self.answer_passing(calls, &error),
            Err(Failure::Stop(why)) => {
                self.stop(why);
                calls
                    .into_iter()
                    .for_each(|call| self.answer_stopped(call, Outcome::Unknown));
            }
        }
    }

    fn answer_stopped(&self, call: Call, outcome: Outcome) {
        let outcome = if call.op.writes() {
            outcome
        } else {
            Outcome::NotDone
        };
        let mut error = self
            .shared
            .stopped
            .get()
            .cloned()
            .expect("the caller checked that it has stopped");
        error.outcome = outcome;
        let _ = call.reply.send(Err(error));
    }

    /// Writes fail; reads are answered all the same, from what is durable.
    fn answer_passing(&mut self, calls: Vec<Call>, error: &StoreError) {
        for call in calls {
            let answer = match &call.op {
                op if op.writes() => Err(error.clone()),
                op => match self.execute(op, &mut Batch::new()) {
                    Ok(answer) => answer,
                    Err(Failure::Passing(error)) => Err(error),
                    Err(Failure::Stop(why)) => {
                        self.stop(why);
                        Err(error.clone())
                    }
                },
            };
            let _ = call.reply.send(answer);
        }
    }

    fn attempt(&mut self, calls: &[Call]) -> Result<Vec<Result<Answer, StoreError>>, Failure> {
        let claims = calls
            .iter()
            .filter(|call| matches!(call.op, Op::Claim(_)))
            .count();
        let crowded = self.witness.room() < claims || self.pending.len() >= self.tuning.pending_max;
        let commits = calls.iter().any(|call| call.op.commits()) || (claims > 0 && crowded);
        let mut batch = Batch::new();
        let answers = self.attempt_within(calls, commits, &mut batch);
        if answers.is_err()
            && let Err(error) = self.database.rollback()
        {
            return Err(Failure::Stop(format!("mint.db cannot be rolled back: {error}")));
        }
        answers
    }

    fn attempt_within(
        &mut self,
        calls: &[Call],
        commits: bool,
        batch: &mut Batch,
    ) -> Result<Vec<Result<Answer, StoreError>>, Failure> {
        if commits {
            self.database.begin().map_err(|e| self.sqlite(e))?;
        }
        let mut answers = Vec::with_capacity(calls.len());
        for call in calls {
            answers.push(self.execute(&call.op, batch)?);
        }
        match (commits, batch.is_empty()) {
            (true, true) => self.database.rollback().map_err(|e| self.sqlite(e))?,
            (true, false) => self.commit(batch)?,
            (false, true) => {}
            (false, false) => self.append_claims(batch)?,
        }
        Ok(answers)
    }

    fn checkpoint_when_due(&mut self) {
        if self.rows_since_checkpoint < self.tuning.checkpoint_rows {
            return;
        }
        self.rows_since_checkpoint = 0;
        self.checkpoint(false);
    }

    /// A full or busy disk is tried again later: the WAL still has everything. A failed sync is not.
    fn checkpoint(&mut self, truncate: bool) {
        match self.database.checkpoint(truncate).map_err(|e| self.sqlite(e)) {
            Ok(()) => self.trouble.checkpoint = Repeats::default(),
            Err(Failure::Passing(error)) => {
                if let Some(count) = self.trouble.checkpoint.failed(self.runtime.boottime()) {
                    tracing::warn!(%error, count, "checkpoint put off");
                }
            }
            Err(Failure::Stop(why)) => self.stop(why),
        }
    }

    fn tick(&mut self) {
        if self.stopped() {
            return;
        }
        self.ticks += 1;
        if !self.folder.still_there(&self.inode) {
            return self.stop(
                "mint.db or LOCK was moved, removed or replaced under the running process".to_string(),
            );
        }
        match self.apply_claims() {
            Ok(()) => {
                self.trouble.claims = Repeats::default();
                self.checkpoint_when_due();
            }
            Err(Failure::Passing(error)) => {
                if let Some(count) = self.trouble.claims.failed(self.runtime.boottime()) {
                    tracing::warn!(%error, count, "claims stay in the witness");
                }
            }
            Err(Failure::Stop(why)) => self.stop(why),
        }
        if self.forget_wrong_clock()
            && let Err(error) = self.folder.write_identity(&self.identity, false)
        {
            tracing::warn!(%error, "the time of a wrong clock stays in folder.json");
        }
        if self.ticks.is_multiple_of(BEAT_TICKS) {
            self.beat();
        }
    }

    fn beat(&mut self) {
        let time = self.shared.time(&*self.runtime);
        match self.folder.beat(time) {
            Ok(()) => self.trouble.beat = Repeats::default(),
            Err(error) => {
                if let Some(count) = self.trouble.beat.failed(self.runtime.boottime()) {
                    tracing::warn!(%error, count, "heartbeat not written");
                }
            }
        }
        let Some(elsewhere) = &self.elsewhere else { return };
        if let Some(other) = elsewhere.other() {
            return self.stop(format!(
                "a copy of it was started on this machine, {}",
                other.folder
            ));
        }
        match elsewhere.note(self.witness.next_lsn(), time, false) {
            Ok(()) => self.trouble.elsewhere = Repeats::default(),
            Err(error) => {
                if let Some(count) = self.trouble.elsewhere.failed(self.runtime.boottime()) {
                    tracing::warn!(%error, count, "how far the store got is not noted in the state folder");
                }
            }
        }
    }

    /// Once the clock was confirmed: takes a stored heartbeat that lies ahead of it back, or every start would be held at
    /// the time that a wrong clock once read. Answers whether it did.
    fn forget_wrong_clock(&mut self) -> bool {
        let confirmed = self.shared.clock_confirmed.swap(false, Ordering::AcqRel);
        let now = self.runtime.wall().unix_millis();
        let ahead = confirmed && self.identity.heartbeat_ms > now;
        if ahead {
            self.identity.heartbeat_ms = now;
        }
        ahead
    }

    /// A clean stop: the database has everything, and the next start knows.
    pub(super) fn close(&mut self) -> Result<(), StoreError> {
        if !self.stopped() {
            match self.apply_claims() {
                Ok(()) => self.checkpoint(true),
                Err(Failure::Passing(error)) => return Err(error),
                Err(Failure::Stop(why)) => self.stop(why),
            }
        }
        if let Some(error) = self.shared.stopped.get() {
            return Err(error.clone());
        }
        self.forget_wrong_clock();
        self.identity.clean = true;
        let time = self.shared.time(&*self.runtime);
        self.identity.heartbeat_ms = self.identity.heartbeat_ms.max(time.unix_millis());
        self.folder.write_identity(&self.identity, true)?;
        // Failing costs a protection, and the store is whole.
        if let Some(elsewhere) = self.elsewhere.take().filter(|noted| noted.other().is_none()) {
            let _ = elsewhere.note(self.witness.next_lsn(), time, true);
        }
        Ok(())
    }

    fn stopped(&self) -> bool {
        self.shared.stopped.get().is_some()
    }

    /// From here on every call is refused; only a new process goes on (protocol E3).
    fn stop(&self, why: String) {
        let error = errors::stopped(self.folder.path(), &why, Outcome::NotDone);
        tracing::error!(%error, "nothing is reserved any more");
        let _ = self.shared.stopped.set(error);
    }

    pub(super) fn sqlite(&self, error: rusqlite::Error) -> Failure {
        match database::sort(&error) {
            Damage::Corrupt | Damage::Stop => Failure::Stop(format!("mint.db: {error}")),
            damage => Failure::Passing(errors::passing(self.folder.path(), damage, &error)),
        }
    }
}

/// A record of a row.
pub(super) fn row_record(key: u128, stamp: &Stamp) -> Record {
    let Stamp {
        mark,
        version,
        token,
        commit,
    } = *stamp;
    Record {
        kind: Kind::Row,
        first: false,
        key,
        token,
        mark,
        version,
        lsn: 0,
        commit,
    }
}

/// The error of calls after the end.
pub(super) fn closed() -> StoreError {
    StoreError::new(
        StoreErrorKind::Unavailable,
        Outcome::NotDone,
        "the store is closed",
    )
}
