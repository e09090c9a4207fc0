//! Making a damaged folder usable again without ever lowering a mark: `mint store repair`.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use super::super::{Key, Outcome, StoreError, StoreErrorKind, StoreSettings, TOMBSTONE_BODY};
use super::database::{Database, Meta, OpenError, Read, Row, Stamp, lost_hash, lost_name, refuse};
use super::engine::row_record;
use super::folder::{DATABASE, Folder, Identity, WITNESS};
use super::recover::Known;
use super::witness::{self, Header, Kind, Record};
use super::{Tuning, errors, key_hash, lock, open, private, reached};
use crate::advice::Advice;
use crate::runtime::{Runtime, fresh_token};

/// What [`repair`] did.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RepairReport {
    /// Registers that were right in both records.
    pub sound: usize,
    /// What was done, one line for each register that was not.
    pub repaired: Vec<String>,
    /// Claims that only damaged records of the witness held may be lost.
    pub may_lack_claims: bool,
    /// The database file could not be mended and was made again from what could be read.
    pub rebuilt: bool,
    /// What could not be saved, and what to think of next.
    pub warnings: Vec<String>,
}

/// What could be read of the database.
#[derive(Default)]
struct SavedRows {
    meta: Option<Meta>,
    rows: HashMap<u128, Row>,
    /// Keys of rows whose content is damaged.
    damaged: HashMap<u128, String>,
    /// Texts that are no keys.
    strange: Vec<String>,
    /// Reading stopped at this error.
    broken: Option<String>,
}

/// What could be read of the witness.
#[derive(Default)]
struct SavedRecords {
    header: Option<Header>,
    known: HashMap<u128, Known>,
    /// The highest mark and version of any record of a register.
    highest: HashMap<u128, (u64, u64)>,
    commit: u64,
    lsn: u64,
    unreadable: u64,
}

/// Raises every mark to the higher of its two records and writes both again. A register whose row cannot be
/// read becomes a tombstone with its mark ([`TOMBSTONE_BODY`]); one whose name is lost keeps its mark under
/// the hash of its name, and gets it back when the name is used again. The files as they were found are kept
/// beside, ending in `.damaged`.
///
/// A copied folder stays refused: repair it, then adopt it.
///
/// # Errors
/// When the folder cannot be locked, read or written, or when nothing at all can be read of either record.
pub async fn repair(
    path: impl AsRef<Path>,
    settings: &StoreSettings,
    runtime: Arc<dyn Runtime>,
) -> Result<RepairReport, StoreError> {
    let path = path.as_ref();
    let folder = lock(path, false, settings, &*runtime).await?;
    let mut report = RepairReport::default();
    let identity = folder.read_identity().ok();
    let mut records = save_records(&folder, &mut report)?;
    if records.header.is_none() {
        check_whole_without_witness(&folder, identity.as_ref())?;
    }
    let behind = how_far_behind(&folder, &mut records)?;
    let cluster = records
        .header
        .map(|header| header.cluster)
        .or_else(|| u128::from_str_radix(&identity.as_ref()?.cluster_id, 16).ok());
    let database = folder.database()?;
    keep_beside(&folder)?;
    let rows = save_rows(&database, cluster);
    let Some(cluster) = cluster.or_else(|| rows.meta.map(|meta| meta.cluster)) else {
        return Err(StoreError::new(
            StoreErrorKind::Corrupt,
            Outcome::NotDone,
            format!(
                "nothing can be read of store {}: neither mint.db nor witness",
                path.display()
            ),
        )
        .with_hint(Advice::RestoreElsewhere));
    };
    if let Some(why) = &rows.broken {
        report
            .warnings
            .push(format!("mint.db could be read in part only: {why}"));
    }
    let meta = Meta {
        cluster,
        commit: rows.meta.map_or(0, |meta| meta.commit).max(records.commit) + 1,
        generation: rows
            .meta
            .map_or(0, |m| m.generation)
            .max(records.header.map_or(0, |h| h.generation))
            + 1,
    };
    let changes = merge(&rows, &records, &meta, &*runtime, &mut report);
    report.rebuilt = rows.meta.is_none() || rows.broken.is_some();
    write_database(&folder, &rows, &changes, &meta, report.rebuilt)?;
    let lsn = write_witness(&folder, &rows, &changes, &records, &meta)?;
    stay_behind(&folder, lsn, behind)?;
    write_identity(&folder, identity, &meta, &*runtime, &report, &records)?;
    Ok(report)
}

fn save_records(folder: &Folder, report: &mut RepairReport) -> Result<SavedRecords, StoreError> {
    let mut saved = SavedRecords::default();
    let file = match private::open(&folder.file(WITNESS)) {
        Ok(file) => file,
        Err(error) => {
            report
                .warnings
                .push(format!("the witness cannot be opened: {error}"));
            return Ok(saved);
        }
    };
    let salvaged = witness::salvage(&file, |record| {
        saved.commit = saved.commit.max(record.commit);
        saved.lsn = saved.lsn.max(record.lsn);
        let highest = saved.highest.entry(record.key).or_default();
        *highest = (highest.0.max(record.mark), highest.1.max(record.version));
        match (record.kind, saved.known.get_mut(&record.key)) {
            (Kind::Claim, Some(known)) => known.claim = Some(*record),
            _ => {
                saved.known.insert(
                    record.key,
                    Known {
                        row: *record,
                        claim: None,
                    },
                );
            }
        }
    });
    match salvaged {
        Ok((header, unreadable)) => {
            saved.commit = saved.commit.max(header.base_commit);
            (saved.header, saved.unreadable) = (Some(header), unreadable);
        }
        Err(Ok(why)) => report.warnings.push(format!("the witness cannot be read: {why}")),
        Err(Err(error)) => return Err(errors::system(folder.path(), "cannot read the witness", &error)),
    }
    if saved.unreadable > 0 || saved.header.is_none() {
        report.may_lack_claims = true;
    }
    Ok(saved)
}

/// Refuses a folder of which neither record is whole: the witness cannot be read, and the database's log, which holds
/// what was committed since the last checkpoint, is gone, though nobody stopped cleanly. Only we remove it, and only at a
/// clean stop.
fn check_whole_without_witness(folder: &Folder, identity: Option<&Identity>) -> Result<(), StoreError> {
    let clean = identity.is_some_and(|identity| identity.clean);
    if clean || folder.file("mint.db-wal").exists() {
        return Ok(());
    }
    Err(StoreError::new(
        StoreErrorKind::Corrupt,
        Outcome::NotDone,
        format!(
            "store {} cannot be repaired: it was not stopped cleanly, and both its witness and mint.db-wal, which held \
             the latest marks, are gone",
            folder.path().display()
        ),
    )
    .with_hint(
        Advice::PutFilesBack,
    ))
}

/// By how many records the witness is behind what the folder got to. One that is damaged may have had them: then the new
/// one begins above. A whole one has not: files of a backup were put back, which no repair makes good.
fn how_far_behind(folder: &Folder, records: &mut SavedRecords) -> Result<u64, StoreError> {
    let all =
        reached::list(folder.path()).map_err(|e| errors::system(folder.path(), "cannot be listed", &e))?;
    let reached = all.into_iter().map(|(lsn, _)| lsn).max().unwrap_or(0);
    let base = records.header.map_or(0, |header| header.base_lsn);
    let behind = reached.saturating_sub(base.max(records.lsn + 1));
    if records.header.is_none() || records.unreadable > 0 {
        records.lsn = records.lsn.max(reached);
        return Ok(0);
    }
    Ok(behind)
}

/// Keeps a folder that was set back refused until it is adopted or restored.
fn stay_behind(folder: &Folder, lsn: u64, behind: u64) -> Result<(), StoreError> {
    let all =
        reached::list(folder.path()).map_err(|e| errors::system(folder.path(), "cannot be listed", &e))?;
    match all.into_iter().max().filter(|_| behind > 0) {
        None => Ok(()),
        Some((_, path)) => fs::rename(path, reached::path(folder.path(), lsn + behind))
            .map_err(|e| errors::system(folder.path(), "cannot note how far it got", &e)),
    }
}

/// Copies what is there before anything is changed; the last repair's copies are replaced.
fn keep_beside(folder: &Folder) -> Result<(), StoreError> {
    for name in [DATABASE, "mint.db-wal", WITNESS] {
        let from = folder.file(name);
        if from.exists() {
            let copy = || -> io::Result<u64> {
                let mut kept = private::create_anew(&folder.file(&format!("{name}.damaged")))?;
                io::copy(&mut private::open(&from)?, &mut kept)
            };
            copy().map_err(|e| errors::system(folder.path(), "cannot keep a copy beside", &e))?;
        }
    }
    Ok(())
}

fn save_rows(path: &Path, cluster: Option<u128>) -> SavedRows {
    let mut saved = SavedRows::default();
    let opened = match (Database::open(path), cluster) {
        (Ok((database, meta)), _) => Ok((database, Some(meta))),
        // The rows may be sound where their table of contents is not.
        (Err(OpenError::Damaged(why)), Some(cluster)) => {
            saved.broken = Some(why);
            Database::open_unchecked(path, cluster).map(|database| (database, None))
        }
        (Err(error), _) => Err(error),
    };
    let (database, meta) = match opened {
        Ok(opened) => opened,
        Err(error) => {
            saved.broken = Some(refuse(path, error).message);
            return saved;
        }
    };
    saved.meta = meta;
    let read = database.each(|read| -> Result<(), rusqlite::Error> {
        let (key, row) = match read {
            Read::Whole(row) => (row.key.clone(), Some(row)),
            Read::Damaged(key, _) => (key, None),
        };
        let hash = lost_hash(&key).or_else(|| Key::new(key.clone()).ok().map(|key| key_hash(&key)));
        match (hash, row) {
            (Some(hash), Some(row)) => drop(saved.rows.insert(hash, row)),
            (Some(hash), None) => drop(saved.damaged.insert(hash, key)),
            (None, _) => saved.strange.push(key),
        }
        Ok(())
    });
    if let Err(error) = read {
        saved.broken = Some(error.to_string());
    }
    saved
}

/// What becomes of each register that is not right in both records; the others keep their rows.
fn merge(
    rows: &SavedRows,
    records: &SavedRecords,
    meta: &Meta,
    runtime: &dyn Runtime,
    report: &mut RepairReport,
) -> HashMap<u128, Row> {
    let mut changes = HashMap::new();
    let hashes: HashSet<u128> = rows.rows.keys().chain(records.known.keys()).copied().collect();
    for hash in hashes {
        let (row, known) = (rows.rows.get(&hash), records.known.get(&hash));
        let agrees = match (row, known) {
            (Some(row), Some(known)) => known.claim.is_none() && same(&row.stamp, &known.row),
            _ => false,
        };
        if agrees {
            report.sound += 1;
            continue;
        }
        let (mark, version) = records.highest.get(&hash).copied().unwrap_or_default();
        let mark = row.map_or(0, |row| row.stamp.mark).max(mark);
        let version = row.map_or(0, |row| row.stamp.version).max(version) + 1;
        let name = match (row, rows.damaged.get(&hash)) {
            (Some(row), _) => row.key.clone(),
            (None, Some(key)) => key.clone(),
            // Nothing is lost with a register that was removed or that carried no mark.
            (None, None) if mark == 0 => continue,
            (None, None) => lost_name(hash),
        };
        let body = row.map_or(TOMBSTONE_BODY, |row| &row.body).to_string();
        let kept = if row.is_some() {
            "its body is kept"
        } else {
            "its body is lost: it is a tombstone now"
        };
        report
            .repaired
            .push(format!("register {name:?}: mark {mark}, {kept}"));
        let stamp = Stamp {
            mark,
            version,
            token: fresh_token(runtime),
            commit: meta.commit,
        };
        changes.insert(
            hash,
            Row {
                key: name,
                stamp,
                body,
            },
        );
    }
    report.repaired.sort();
    for (hash, key) in &rows.damaged {
        if !changes.contains_key(hash) {
            report
                .warnings
                .push(format!("register {key:?} is lost: no record of it can be read"));
        }
    }
    for key in &rows.strange {
        report
            .warnings
            .push(format!("a row with the damaged key {key:?} was removed"));
    }
    changes
}

fn same(stamp: &Stamp, record: &Record) -> bool {
    let Stamp {
        mark,
        version,
        token,
        commit,
    } = *stamp;
    record.kind == Kind::Row
        && (mark, version, token, commit) == (record.mark, record.version, record.token, record.commit)
}

fn write_database(
    folder: &Folder,
    rows: &SavedRows,
    changes: &HashMap<u128, Row>,
    meta: &Meta,
    rebuild: bool,
) -> Result<(), StoreError> {
    let path = folder.database()?;
    let failed = |error: rusqlite::Error| refuse(folder.path(), error.into());
    let mut database = if rebuild {
        for name in [DATABASE, "mint.db-wal", "mint.db-shm"] {
            // Copies lie beside since `keep_beside`.
            let _ = fs::remove_file(folder.file(name));
        }
        private::create_anew(&path).map_err(|e| errors::system(folder.path(), "cannot create files", &e))?;
        Database::create(&path, meta)
    } else {
        Database::open(&path).map(|(database, _)| database)
    }
    .map_err(|error| refuse(folder.path(), error))?;
    database.begin().map_err(failed)?;
    let write = || -> rusqlite::Result<()> {
        for (hash, row) in &rows.rows {
            if rebuild && !changes.contains_key(hash) {
                database.put(row)?;
            }
        }
        for key in rows
            .strange
            .iter()
            .chain(rows.damaged.values())
            .filter(|_| !rebuild)
        {
            database.delete(key)?;
        }
        for row in changes.values() {
            database.put(row)?;
        }
        database.put_meta(meta)
    };
    write().map_err(failed)?;
    database.commit().map_err(failed)?;
    database.checkpoint(true).map_err(failed)?;
    database.close().map_err(failed)
}

fn write_witness(
    folder: &Folder,
    rows: &SavedRows,
    changes: &HashMap<u128, Row>,
    records: &SavedRecords,
    meta: &Meta,
) -> Result<u64, StoreError> {
    let kept = rows.rows.iter().filter(|(hash, _)| !changes.contains_key(hash));
    let all: Vec<_> = kept
        .chain(changes)
        .map(|(hash, row)| row_record(*hash, &row.stamp))
        .collect();
    let tuning = Tuning::default();
    let header = Header {
        cluster: meta.cluster,
        generation: meta.generation,
        base_lsn: records.lsn + 1,
        base_commit: meta.commit,
        slots: witness::slots_for(all.len(), tuning.slots_least),
    };
    open::put_witness(folder, &tuning, header, all).map(|witness| witness.next_lsn())
}

fn write_identity(
    folder: &Folder,
    before: Option<Identity>,
    meta: &Meta,
    runtime: &dyn Runtime,
    report: &RepairReport,
    records: &SavedRecords,
) -> Result<(), StoreError> {
    let wall = runtime.wall();
    let mut identity = folder.identity_now(meta.cluster, wall)?;
    if let Some(before) = before {
        identity.heartbeat_ms = before.heartbeat_ms;
        identity.history = before.history;
        if !report.rebuilt {
            // A copy stays refused.
            identity.database = before.database;
            identity.reached = before.reached;
        }
        // Without its witness the folder begins its count anew, so it needs another name.
        identity.id = before.id.filter(|_| records.header.is_some());
    }
    identity
        .history
        .push(format!("repaired at {} ms after 1970", wall.unix_millis()));
    folder.write_identity(&identity, true)
}
