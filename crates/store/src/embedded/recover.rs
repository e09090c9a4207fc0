//! What a start believes: database and witness, compared register by register (protocol E1).
//!
//! The order of an ordinary commit is database, witness, answer; of claims, witness, answer, and the
//! database at the next commit. So the database may be one commit ahead of the witness, and claims may be
//! ahead of the database; everything else is damage and is named.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io;

use super::super::Key;
use super::database::{Database, Meta, Read, Row, Stamp, key_of, lost_hash};
use super::key_hash;
use super::witness::{self, Header, Kind, Record, Scan};

/// A register whose claims the database does not have yet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Pending {
    /// The key as the database has it.
    pub(super) key: String,
    /// What the row still says.
    pub(super) row: Stamp,
}

/// What the witness says of one register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Known {
    /// The last record of a commit.
    pub(super) row: Record,
    /// The last claim after it.
    pub(super) claim: Option<Record>,
}

impl Known {
    pub(super) fn last(&self) -> Record {
        self.claim.unwrap_or(self.row)
    }
}

/// A witness that was read.
#[derive(Debug)]
pub(super) struct Testimony {
    pub(super) scan: Scan,
    pub(super) known: HashMap<u128, Known>,
    /// The last commit that it has records of.
    pub(super) commit: u64,
}

/// Both halves compared.
#[derive(Default, Debug)]
pub(super) struct Comparison {
    /// Every register as it stands, claims included.
    pub(super) entries: HashMap<u128, Stamp>,
    pub(super) pending: HashMap<u128, Pending>,
    /// Registers whose names a damage took.
    pub(super) lost: HashSet<u128>,
    /// Rows of the last commit that the witness does not have.
    pub(super) unwitnessed: usize,
    /// What contradicts itself, in words.
    pub(super) findings: Vec<String>,
}

/// Reads the witness; `Err(Ok(text))` is damage.
pub(super) fn read_witness(file: &File) -> Result<Testimony, Result<String, io::Error>> {
    let mut known: HashMap<u128, Known> = HashMap::new();
    // The header's commit is known only after the reading, so a lower bound of 0 starts it.
    let mut commit = 0;
    let scan = witness::read(file, |record| {
        if record.commit < commit && record.kind == Kind::Claim {
            return Err(format!(
                "a claim after commit {} follows commit {commit}",
                record.commit
            ));
        }
        match record.kind {
            Kind::Row | Kind::Removed => {
                commit = commit.max(record.commit);
                known.insert(
                    record.key,
                    Known {
                        row: *record,
                        claim: None,
                    },
                );
                Ok(())
            }
            Kind::Claim => {
                let Some(held) = known.get_mut(&record.key).filter(|k| k.row.kind == Kind::Row) else {
                    return Err("a claim on a register that it does not have".to_string());
                };
                let before = held.last();
                let versions = record.version.checked_sub(before.version);
                let marks = record.mark.checked_sub(before.mark);
                if !matches!((versions, marks), (Some(v), Some(m)) if v >= 1 && m >= v) {
                    return Err(format!(
                        "a claim goes from version {} mark {} to version {} mark {}",
                        before.version, before.mark, record.version, record.mark
                    ));
                }
                held.claim = Some(*record);
                Ok(())
            }
        }
    })?;
    let commit = commit.max(scan.header.base_commit);
    Ok(Testimony { scan, known, commit })
}

/// Compares both halves. Fails only when the database cannot be read at all.
pub(super) fn compare(
    database: &Database,
    meta: &Meta,
    testimony: &Testimony,
) -> Result<Comparison, rusqlite::Error> {
    let mut found = Comparison::default();
    found
        .findings
        .extend(compare_whole(meta, &testimony.scan.header, testimony.commit));
    let mut troubled = HashSet::new();
    database.each(|read| -> Result<(), rusqlite::Error> {
        let row = match read {
            Read::Whole(row) => row,
            Read::Damaged(key, why) => {
                found.findings.push(format!("register {key:?}: {why}"));
                troubled.extend(Key::new(key).ok().map(|key| key_hash(&key)));
                return Ok(());
            }
        };
        let Some(hash) = lost_hash(&row.key).or_else(|| key_of(&row).map(|key| key_hash(&key))) else {
            found
                .findings
                .push(format!("register {:?}: its key is not valid", row.key));
            return Ok(());
        };
        if lost_hash(&row.key).is_some() {
            found.lost.insert(hash);
        }
        let known = testimony.known.get(&hash);
        match compare_row(&row, known, meta.commit) {
            Ok(Standing::Agrees) => {
                found.entries.insert(hash, row.stamp);
            }
            Ok(Standing::Unwitnessed) => {
                found.entries.insert(hash, row.stamp);
                found.unwitnessed += 1;
            }
            Ok(Standing::Claimed(claim)) => {
                let Record {
                    mark,
                    version,
                    token,
                    commit,
                    ..
                } = claim;
                found.entries.insert(
                    hash,
                    Stamp {
                        mark,
                        version,
                        token,
                        commit,
                    },
                );
                found.pending.insert(
                    hash,
                    Pending {
                        key: row.key,
                        row: row.stamp,
                    },
                );
            }
            Err(why) => {
                troubled.insert(hash);
                found.findings.push(format!("register {:?}: {why}", row.key));
            }
        }
        Ok(())
    })?;
    for (hash, known) in &testimony.known {
        let here = found.entries.contains_key(hash) || troubled.contains(hash);
        let removed = known.row.kind == Kind::Removed;
        // The removal of a register without a mark may be the commit that the witness has not seen.
        let removable = known.last().mark == 0 && meta.commit > testimony.commit;
        if !(here || removed || removable) {
            found.findings.push(format!(
                "a register with the key hash {hash:032x} is missing in the database: version {} mark {} in the \
                 witness",
                known.last().version,
                known.last().mark
            ));
        }
    }
    Ok(found)
}

/// The two commit counters and identities.
fn compare_whole(meta: &Meta, header: &Header, witnessed: u64) -> Option<String> {
    if header.cluster != meta.cluster {
        return Some(format!(
            "the witness belongs to cluster {:032x}, the database to {:032x}",
            header.cluster, meta.cluster
        ));
    }
    if meta.commit < witnessed {
        return Some(format!(
            "the database is behind its witness: it is at commit {}, the witness has seen commit {witnessed}",
            meta.commit
        ));
    }
    if meta.commit > witnessed + 1 {
        return Some(format!(
            "the witness is behind the database: it has seen commit {witnessed}, the database is at {}",
            meta.commit
        ));
    }
    if header.generation != meta.generation && header.generation != meta.generation + 1 {
        return Some(format!(
            "the witness is of generation {}, the database knows generation {}",
            header.generation, meta.generation
        ));
    }
    None
}

enum Standing {
    Agrees,
    /// Written by the last commit, which the witness has not seen in full.
    Unwitnessed,
    /// Claims stand above it.
    Claimed(Record),
}

fn compare_row(row: &Row, known: Option<&Known>, commit: u64) -> Result<Standing, String> {
    let Stamp {
        mark,
        version,
        token,
        commit: written,
    } = row.stamp;
    if written > commit {
        return Err(format!("it says commit {written}, the database is at {commit}"));
    }
    let last = written == commit;
    let Some(known) = known else {
        return match last {
            true => Ok(Standing::Unwitnessed),
            false => Err(format!("mark {mark} in the database, no record in the witness")),
        };
    };
    let seen = known.last();
    let behind = || {
        format!(
            "the database is behind its witness: version {version} mark {mark} in the database, version {} mark {} \
             in the witness",
            seen.version, seen.mark
        )
    };
    if known.row.kind == Kind::Removed {
        return match last && written > known.row.commit {
            true => Ok(Standing::Unwitnessed),
            false => Err(format!(
                "version {version} in the database, removed according to the witness"
            )),
        };
    }
    if (written, version) == (known.row.commit, known.row.version) {
        if (mark, token) != (known.row.mark, known.row.token) {
            return Err(format!(
                "mark {mark} in the database, mark {} in the witness, both at version {version}",
                known.row.mark
            ));
        }
        return match known.claim {
            None => Ok(Standing::Agrees),
            // Every commit applies every claim before it, so claims stand on the last commit alone.
            Some(claim) if claim.commit == commit => Ok(Standing::Claimed(claim)),
            Some(_) => Err(behind()),
        };
    }
    let newer = last && written > known.row.commit;
    // A register without a mark may have been removed and made again in the last commit.
    let remade = newer && seen.mark == 0;
    if written < known.row.commit || (version < seen.version && !remade) {
        return Err(behind());
    }
    match newer {
        true => Ok(Standing::Unwitnessed),
        false => Err(format!(
            "the witness is behind the database: version {version} mark {mark} in the database, version {} mark {} \
             in the witness",
            seen.version, seen.mark
        )),
    }
}
