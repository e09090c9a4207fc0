//! Making a batch durable: database, witness, memory, in this order; claims in the witness alone.

use std::fs;
use std::sync::atomic::Ordering::Relaxed;

use super::super::{Outcome, StoreError};
use super::database::{Meta, Read, Row, Stamp};
use super::engine::{Batch, Engine, Failure, Touched, row_record};
use super::errors::{self, Damage};
use super::folder::WITNESS;
use super::recover::Pending;
use super::witness::{self, Header, Kind, Record, Witness};

impl Engine {
    /// Commits a batch: database, witness, memory, in this order.
    pub(super) fn commit(&mut self, batch: &mut Batch) -> Result<(), Failure> {
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
        self.reached.note(self.witness.next_lsn());
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
    pub(super) fn append_claims(&mut self, batch: &mut Batch) -> Result<(), Failure> {
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
        self.reached.note(self.witness.next_lsn());
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
    pub(super) fn apply_claims(&mut self) -> Result<(), Failure> {
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
}
