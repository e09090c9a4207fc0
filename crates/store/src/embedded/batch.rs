//! The calls of one batch, one after the other: each sees what earlier ones did, nothing is durable yet.

use super::super::rules::{Current, Verdict, check_limit, judge_claim, judge_remove, judge_set};
use super::super::{Cas, Key, StoreError, Version, Versioned};
use super::database::{Read, Row, Stamp, key_of, lost_name};
use super::engine::{Answer, Batch, Engine, Failure, Op, Touched};
use super::key_hash;

impl Engine {
    /// Does one call within a batch, seeing what earlier ones did. The inner error is the caller's fault.
    pub(super) fn execute(&self, op: &Op, batch: &mut Batch) -> Result<Result<Answer, StoreError>, Failure> {
        let hash = match op {
            Op::Get(key) | Op::Set { key, .. } | Op::Remove { key, .. } => key_hash(key),
            Op::Claim(claim) => key_hash(&claim.key),
            Op::Scan { prefix, after, limit } => return self.page(prefix, after.as_ref(), *limit, batch),
        };
        let stamp = self.stamp(hash, batch);
        let current = stamp.map(|s| Current {
            mark: s.mark,
            version: Version::of(s.version),
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
                        version: version.number(),
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
                        version: version.number(),
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
    pub(super) fn stamp(&self, hash: u128, batch: &Batch) -> Option<Stamp> {
        match batch.get(&hash) {
            Some(touched) => touched.stamp,
            None => self.entries.get(&hash).copied(),
        }
    }

    /// The key under which the database has a register.
    pub(super) fn stored_key(&self, key: &str, hash: u128, batch: &Batch) -> String {
        match batch.get(&hash) {
            Some(touched) => touched.key.clone(),
            None if self.lost.contains(&hash) => lost_name(hash),
            None => key.to_string(),
        }
    }

    pub(super) fn read(&self, key: &str, hash: u128, batch: &Batch) -> Result<Option<Versioned>, Failure> {
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
}
