//! The one thread that owns the database and the witness: it drains its queue and commits what it found as
//! one (group commit).

use std::collections::{HashMap, HashSet};
use std::fs;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use tokio::sync::{mpsc, oneshot};

use super::super::rules::{Current, Verdict, check_limit, judge_claim, judge_remove, judge_set};
use super::super::{Cas, Claim, Key, Marks, Outcome, StoreError, StoreErrorKind, Value, Version, Versioned};
use super::database::{self, Database, Meta, Read, Row, Stamp, key_of, lost_name};
use super::errors::{self, Damage};
use super::folder::{Folder, Identity, WITNESS};
use super::recover::Pending;
use super::witness::{self, Header, Kind, Record, Witness};
use super::{Shared, Tuning, key_hash};
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
enum Failure {
    /// Nothing was changed, and it may pass.
    Passing(StoreError),
    /// Nobody knows, or a sync failed: stop for good.
    Stop(String),
}

/// A register that a batch changes.
struct Touched {
    key: String,
    /// `None`: removed.
    stamp: Option<Stamp>,
    /// The database does not have `stamp` yet.
    claimed: bool,
}

type Batch = HashMap<u128, Touched>;

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
    pub(super) inode: fs::Metadata,
    pub(super) shared: Arc<Shared>,
    pub(super) runtime: Arc<dyn Runtime>,
    pub(super) tuning: Tuning,
    pub(super) rows_since_checkpoint: usize,
    pub(super) ticks: u64,
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

    /// Does one call within a batch, seeing what earlier ones did. The inner error is the caller's fault.
    fn execute(&self, op: &Op, batch: &mut Batch) -> Result<Result<Answer, StoreError>, Failure> {
        let hash = match op {
            Op::Get(key) | Op::Set { key, .. } | Op::Remove { key, .. } => key_hash(key),
            Op::Claim(claim) => key_hash(&claim.key),
            Op::Scan { prefix, after, limit } => return self.page(prefix, after.as_ref(), *limit, batch),
        };
        let stamp = self.stamp(hash, batch);
        let current = stamp.map(|s| Current {
            mark: s.mark,
            version: Version(s.version),
        });
        let commit = self.meta.commit + 1;
        let key = match op {
            Op::Get(key) => return Ok(Ok(Answer::Found(self.read(key.as_str(), hash, batch)?))),
            Op::Set {
                key,
                expected,
                new,
                marks,
            } => match judge_set(key, current, *expected, new, *marks) {
                Err(error) => return Ok(Err(error)),
                Ok(Verdict::Lost) => key,
                Ok(Verdict::Go(version)) => {
                    let stamp = Stamp {
                        mark: new.mark,
                        version: version.0,
                        token: new.token,
                        commit,
                    };
                    self.write(
                        hash,
                        Row {
                            key: key.to_string(),
                            stamp,
                            body: new.body.clone(),
                        },
                        batch,
                    )?;
                    return Ok(Ok(Answer::Cas(Cas::Done(version))));
                }
            },
            Op::Remove { key, expected } => match judge_remove(key, current, *expected) {
                Err(error) => return Ok(Err(error)),
                Ok(Verdict::Lost) => key,
                Ok(Verdict::Go(version)) => {
                    let stored = self.stored_key(key.as_str(), hash, batch);
                    self.database.delete(&stored).map_err(|e| self.sqlite(e))?;
                    batch.insert(
                        hash,
                        Touched {
                            key: key.to_string(),
                            stamp: None,
                            claimed: false,
                        },
                    );
                    return Ok(Ok(Answer::Cas(Cas::Done(version))));
                }
            },
            Op::Claim(claim) => match judge_claim(claim, current) {
                Err(error) => return Ok(Err(error)),
                Ok(None) => &claim.key,
                Ok(Some((version, mark))) => {
                    let stamp = Stamp {
                        mark,
                        version: version.0,
                        token: claim.token,
                        commit: self.meta.commit,
                    };
                    let key = self.stored_key(claim.key.as_str(), hash, batch);
                    batch.insert(
                        hash,
                        Touched {
                            key,
                            stamp: Some(stamp),
                            claimed: true,
                        },
                    );
                    return Ok(Ok(Answer::Cas(Cas::Done(version))));
                }
            },
            Op::Scan { .. } => unreachable!("answered above"),
        };
        Ok(Ok(Answer::Cas(Cas::Lost(self.read(
            key.as_str(),
            hash,
            batch,
        )?))))
    }

    fn write(&self, hash: u128, row: Row, batch: &mut Batch) -> Result<(), Failure> {
        if self.lost.contains(&hash) {
            // Its name is known again.
            self.database
                .delete(&lost_name(hash))
                .map_err(|e| self.sqlite(e))?;
        }
        self.database.put(&row).map_err(|e| self.sqlite(e))?;
        batch.insert(
            hash,
            Touched {
                key: row.key,
                stamp: Some(row.stamp),
                claimed: false,
            },
        );
        Ok(())
    }

    /// The register as the batch has left it so far.
    fn stamp(&self, hash: u128, batch: &Batch) -> Option<Stamp> {
        match batch.get(&hash) {
            Some(touched) => touched.stamp,
            None => self.entries.get(&hash).copied(),
        }
    }

    /// The key under which the database has a register.
    fn stored_key(&self, key: &str, hash: u128, batch: &Batch) -> String {
        match batch.get(&hash) {
            Some(touched) => touched.key.clone(),
            None if self.lost.contains(&hash) => lost_name(hash),
            None => key.to_string(),
        }
    }

    fn read(&self, key: &str, hash: u128, batch: &Batch) -> Result<Option<Versioned>, Failure> {
        let Some(stamp) = self.stamp(hash, batch) else {
            return Ok(None);
        };
        match self
            .database
            .get(&self.stored_key(key, hash, batch))
            .map_err(|e| self.sqlite(e))?
        {
            Some(read) => self
                .believe(read, hash, stamp, batch)
                .map(|(_, versioned)| Some(versioned)),
            None => Err(Failure::Stop(format!(
                "register {key} was there and is missing now"
            ))),
        }
    }

    fn page(
        &self,
        prefix: &Key,
        after: Option<&Key>,
        limit: u16,
        batch: &Batch,
    ) -> Result<Result<Answer, StoreError>, Failure> {
        let limit = match check_limit(limit) {
            Ok(limit) => limit,
            Err(error) => return Ok(Err(error)),
        };
        let (from, exclusive) = match after.filter(|after| *after >= prefix) {
            Some(after) => (after, true),
            None => (prefix, false),
        };
        let rows = self
            .database
            .page(from.as_str(), exclusive, limit)
            .map_err(|e| self.sqlite(e))?;
        let mut page = Vec::with_capacity(rows.len());
        for read in rows {
            let key = match &read {
                Read::Whole(row) => key_of(row),
                Read::Damaged(key, why) => return Err(Failure::Stop(format!("register {key:?}: {why}"))),
            };
            let Some(key) = key.filter(|key| key.as_str().starts_with(prefix.as_str())) else {
                break;
            };
            let hash = key_hash(&key);
            let Some(stamp) = self.stamp(hash, batch) else {
                return Err(Failure::Stop(format!("register {key} appeared from nowhere")));
            };
            let (_, versioned) = self.believe(read, hash, stamp, batch)?;
            page.push((key, versioned));
        }
        Ok(Ok(Answer::Page(page)))
    }

    /// Takes a row only if it is the one that was written last (protocol E3).
    fn believe(
        &self,
        read: Read,
        hash: u128,
        stamp: Stamp,
        batch: &Batch,
    ) -> Result<(Row, Versioned), Failure> {
        let row = match read {
            Read::Whole(row) => row,
            Read::Damaged(key, why) => return Err(Failure::Stop(format!("register {key:?}: {why}"))),
        };
        let expected = match (batch.get(&hash), self.pending.get(&hash)) {
            // Written in this transaction, and perhaps claimed since: only the version is certain.
            (Some(touched), _) if touched.claimed => None,
            (Some(_), _) => Some(stamp),
            (None, Some(pending)) => Some(pending.row),
            (None, None) => Some(stamp),
        };
        if expected.is_some_and(|expected| expected != row.stamp) || row.stamp.version > stamp.version {
            return Err(Failure::Stop(format!(
                "register {:?} went from version {} mark {} to version {} mark {} by itself",
                row.key, stamp.version, stamp.mark, row.stamp.version, row.stamp.mark
            )));
        }
        let current = Row { stamp, ..row };
        Ok((current.clone(), current.versioned()))
    }

    /// Commits a batch: database, witness, memory, in this order.
    fn commit(&mut self, batch: &mut Batch) -> Result<(), Failure> {
        let commit = self.meta.commit + 1;
        // A claim that was not applied yet goes with the next commit, whatever that is about.
        for (hash, pending) in &self.pending {
            let stamp = self.entries.get(hash).copied();
            let touched = Touched {
                key: pending.key.clone(),
                stamp,
                claimed: true,
            };
            batch.entry(*hash).or_insert(touched);
        }
        for touched in batch.values_mut().filter(|touched| touched.claimed) {
            let stamp = touched.stamp.as_mut().expect("a claim leaves a register");
            stamp.commit = commit;
            let row = match self.database.get(&touched.key).map_err(|e| self.sqlite(e))? {
                Some(Read::Whole(row)) if row.stamp.version < stamp.version => row,
                _ => {
                    return Err(Failure::Stop(format!(
                        "register {:?} changed by itself",
                        touched.key
                    )));
                }
            };
            self.database
                .put(&Row { stamp: *stamp, ..row })
                .map_err(|e| self.sqlite(e))?;
        }
        let meta = Meta {
            commit,
            generation: self.witness.header().generation,
            ..self.meta
        };
        self.database.put_meta(&meta).map_err(|e| self.sqlite(e))?;
        let mut records: Vec<_> = batch
            .iter()
            .map(|(hash, touched)| self.record(*hash, touched, commit))
            .collect();
        // A removal leaves no row behind that could speak for it, so it comes first.
        records.sort_by_key(|record| record.kind != Kind::Removed);
        if records.len() <= self.witness.room() {
            self.database.commit().map_err(|e| self.sqlite(e))?;
            self.witness
                .append(&mut records)
                .map_err(|e| Failure::Stop(format!("the witness cannot be written: {}", e.error)))?;
        } else {
            self.commit_and_compact(batch, commit)?;
        }
        self.remember(batch, meta);
        Ok(())
    }

    fn record(&self, hash: u128, touched: &Touched, commit: u64) -> Record {
        let before = self.entries.get(&hash);
        match touched.stamp {
            Some(stamp) => row_record(hash, &stamp),
            None => Record {
                kind: Kind::Removed,
                version: before.map_or(0, |stamp| stamp.version),
                ..row_record(
                    hash,
                    &Stamp {
                        mark: 0,
                        version: 0,
                        token: 0,
                        commit,
                    },
                )
            },
        }
    }

    /// Memory follows what is durable.
    fn remember(&mut self, batch: &mut Batch, meta: Meta) {
        self.rows_since_checkpoint += batch.len() + 1;
        for (hash, touched) in batch.drain() {
            match touched.stamp {
                Some(stamp) => self.entries.insert(hash, stamp),
                None => self.entries.remove(&hash),
            };
            if !touched.key.starts_with('#') {
                self.lost.remove(&hash);
            }
        }
        self.pending.clear();
        self.meta = meta;
        self.shared.stats.commits.fetch_add(1, Relaxed);
    }

    /// Commits while a new witness, with one record per register, takes the place of the full one. The new
    /// file is complete before the commit, so that a full disk refuses the batch and nothing else.
    fn commit_and_compact(&mut self, batch: &Batch, commit: u64) -> Result<(), Failure> {
        let kept = self.entries.iter().filter(|(hash, _)| !batch.contains_key(hash));
        let written = batch
            .iter()
            .filter_map(|(hash, touched)| Some((hash, touched.stamp.as_ref()?)));
        let mut records: Vec<_> = kept
            .chain(written)
            .map(|(hash, stamp)| row_record(*hash, stamp))
            .collect();
        let old = self.witness.header();
        let header = Header {
            generation: old.generation + 1,
            base_lsn: self.witness.next_lsn(),
            base_commit: commit,
            slots: witness::slots_for(records.len(), self.tuning.slots_least),
            ..old
        };
        let beside = self.folder.file("witness.new");
        let file = witness::create(&beside, &header, &mut records).map_err(|error| {
            let _ = fs::remove_file(&beside);
            match errors::sort_io(&error) {
                Damage::Stop => Failure::Stop(format!("a new witness cannot be written: {error}")),
                damage => Failure::Passing(errors::passing(self.folder.path(), damage, &error)),
            }
        })?;
        self.database.commit().map_err(|e| self.sqlite(e))?;
        fs::rename(&beside, self.folder.file(WITNESS))
            .and_then(|()| self.folder.sync())
            .map_err(|e| Failure::Stop(format!("the new witness cannot take its place: {e}")))?;
        self.witness = Witness::resume((self.tuning.wrap)(file), header, records.len() as u64);
        self.shared.stats.compactions.fetch_add(1, Relaxed);
        Ok(())
    }

    /// Makes claims durable in the witness alone: one record per register, one sync.
    fn append_claims(&mut self, batch: &mut Batch) -> Result<(), Failure> {
        let mut records = Vec::with_capacity(batch.len());
        for (hash, touched) in batch.iter() {
            let stamp = touched.stamp.as_ref().expect("a claim leaves a register");
            records.push(Record {
                kind: Kind::Claim,
                ..row_record(*hash, stamp)
            });
        }
        self.witness
            .append(&mut records)
            .map_err(|e| match errors::sort_io(&e.error) {
                damage @ (Damage::Full | Damage::ReadOnly) if e.clean => {
                    Failure::Passing(errors::passing(self.folder.path(), damage, &e.error))
                }
                _ => Failure::Stop(format!("the witness cannot be written: {}", e.error)),
            })?;
        for (hash, touched) in batch.drain() {
            let stamp = touched.stamp.expect("a claim leaves a register");
            let row = self
                .entries
                .insert(hash, stamp)
                .expect("a claim is on a register that is there");
            self.pending.entry(hash).or_insert(Pending {
                key: touched.key,
                row,
            });
        }
        self.shared.stats.claim_syncs.fetch_add(1, Relaxed);
        Ok(())
    }

    /// Rewrites registers as a whole, outside the rules of callers: for the operator's tools.
    pub(super) fn rewrite(&mut self, rows: Vec<(u128, Row)>) -> Result<(), StoreError> {
        let commit = self.meta.commit + 1;
        let mut batch = Batch::new();
        let write = || -> Result<(), Failure> {
            self.database.begin().map_err(|e| self.sqlite(e))?;
            for (hash, mut row) in rows {
                row.stamp.commit = commit;
                self.database.put(&row).map_err(|e| self.sqlite(e))?;
                batch.insert(
                    hash,
                    Touched {
                        key: row.key,
                        stamp: Some(row.stamp),
                        claimed: false,
                    },
                );
            }
            self.commit(&mut batch)
        };
        write().map_err(|failure| match failure {
            Failure::Passing(error) => error,
            Failure::Stop(why) => errors::stopped(self.folder.path(), why, Outcome::Unknown),
        })
    }

    /// Moves claims into the database without a call.
    fn apply_claims(&mut self) -> Result<(), Failure> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let applied = match self.database.begin() {
            Ok(()) => self.commit(&mut Batch::new()),
            Err(error) => Err(self.sqlite(error)),
        };
        if applied.is_err()
            && let Err(error) = self.database.rollback()
        {
            return Err(Failure::Stop(format!("mint.db cannot be rolled back: {error}")));
        }
        applied
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
            Ok(()) => {}
            Err(Failure::Passing(error)) => tracing::warn!(%error, "checkpoint put off"),
            Err(Failure::Stop(why)) => self.stop(why),
        }
    }

    fn tick(&mut self) {
        if self.stopped() {
            return;
        }
        self.ticks += 1;
        if !self.folder.still_there(&self.inode) {
            return self.stop("mint.db was moved, removed or replaced under the running process".to_string());
        }
        match self.apply_claims() {
            Ok(()) => self.checkpoint_when_due(),
            Err(Failure::Passing(error)) => tracing::warn!(%error, "claims stay in the witness"),
            Err(Failure::Stop(why)) => self.stop(why),
        }
        if self.ticks.is_multiple_of(BEAT_TICKS)
            && let Err(error) = self.folder.beat(self.runtime.wall())
        {
            tracing::warn!(%error, "heartbeat not written");
        }
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
        self.identity.clean = true;
        self.identity.heartbeat_ms = self.identity.heartbeat_ms.max(self.runtime.wall().unix_millis());
        self.folder.write_identity(&self.identity)
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

    fn sqlite(&self, error: rusqlite::Error) -> Failure {
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
