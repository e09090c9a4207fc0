//! Opening a locked folder: the first start, and every one after it.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File, OpenOptions};
use std::sync::Arc;
use std::time::Duration;

use mintage::Timestamp;

use super::super::{StoreError, StoreSettings, Value};
use super::database::{Database, Meta, Row, Stamp, refuse};
use super::engine::{Engine, row_record};
use super::errors;
use super::folder::{Content, DATABASE, Folder, Identity, WITNESS};
use super::recover::{Comparison, Testimony, compare, read_witness};
use super::witness::{self, Header, Kind, Record, Witness};
use super::{OpenReport, Shared, Tuning, key_hash};
use crate::runtime::{Runtime, fresh_token};

/// A heartbeat older than this without a clean stop may be a snapshot that was restored.
const STALE: Duration = Duration::from_secs(60);

/// Makes or loads what the folder holds.
pub(super) fn open(
    folder: Folder,
    settings: &StoreSettings,
    tuning: Tuning,
    shared: Arc<Shared>,
    runtime: Arc<dyn Runtime>,
) -> Result<(Engine, OpenReport), StoreError> {
    folder.check_file_system(settings.allow_network_fs)?;
    match folder.content()? {
        Content::Whole => load(folder, tuning, shared, runtime),
        Content::HalfMade => {
            if folder.is_half_restored() && tuning.made_for.is_none() {
                return Err(errors::half_restored(folder.path()));
            }
            folder.clear_half_made()?;
            create(folder, tuning, shared, runtime)
        }
        Content::Fresh => create(folder, tuning, shared, runtime),
    }
}

/// The first start. Nothing is acknowledged before `CREATING` is gone, so a start that is cut off before
/// that is simply made again.
fn create(
    mut folder: Folder,
    tuning: Tuning,
    shared: Arc<Shared>,
    runtime: Arc<dyn Runtime>,
) -> Result<(Engine, OpenReport), StoreError> {
    if tuning.made_for.is_none() {
        folder.begin_creation()?;
    }
    let (cluster, first) = tuning.made_for.clone().unzip();
    let meta = Meta {
        cluster: cluster.unwrap_or_else(|| fresh_token(&*runtime)),
        commit: 0,
        generation: 0,
    };
    let database =
        Database::create(&folder.file(DATABASE), &meta).map_err(|error| refuse(folder.path(), error))?;
    let slots = witness::slots_for(0, tuning.slots_least);
    let header = Header {
        cluster: meta.cluster,
        generation: 0,
        base_lsn: 1,
        base_commit: 0,
        slots,
    };
    let file = witness::create(&folder.file(WITNESS), &header, &mut [])
        .map_err(|e| errors::system(folder.path(), "cannot write the witness", &e))?;
    let wall = runtime.wall();
    let identity = folder.identity_now(meta.cluster, wall)?;
    folder.write_identity(&identity, false)?;
    folder
        .beat(wall)
        .map_err(|e| errors::system(folder.path(), "cannot write its heartbeat", &e))?;
    let witness = Witness::resume((tuning.wrap)(file), header, 0);
    let mut engine = Engine {
        inode: inode(&folder)?,
        folder,
        database,
        meta,
        witness,
        entries: HashMap::new(),
        pending: HashMap::new(),
        lost: HashSet::new(),
        identity,
        shared,
        runtime,
        tuning,
        rows_since_checkpoint: 0,
        ticks: 0,
    };
    if let Some((key, Value { mark, token, body })) = first {
        let stamp = Stamp {
            mark,
            version: 1,
            token,
            commit: 0,
        };
        let row = Row {
            key: key.to_string(),
            stamp,
            body,
        };
        engine.rewrite(vec![(key_hash(&key), row)])?;
    }
    engine.folder.end_creation()?;
    Ok((
        engine,
        OpenReport {
            created: true,
            clean: true,
            ..OpenReport::default()
        },
    ))
}

/// Every later start.
fn load(
    mut folder: Folder,
    tuning: Tuning,
    shared: Arc<Shared>,
    runtime: Arc<dyn Runtime>,
) -> Result<(Engine, OpenReport), StoreError> {
    let before = folder.read_identity()?;
    if !tuning.any_inode {
        check_inode(&folder, &before)?;
    }
    let (mut database, mut meta) =
        Database::open(&folder.file(DATABASE)).map_err(|error| refuse(folder.path(), error))?;
    check_cluster(&folder, &before, &meta)?;
    let (file, testimony) = read_testimony(&folder)?;
    let found = compare(&database, &meta, &testimony).map_err(|e| refuse(folder.path(), e.into()))?;
    if !mintage::planted!("witness-not-compared") {
        refuse_findings(&folder, &found)?;
    }

    let wall = runtime.wall();
    let mut report = describe(&before, folder.last_beat(), wall, &testimony, &found);
    warn_stale(&folder, &mut report, wall);
    let scan = &testimony.scan;
    let doubtful = scan.torn || scan.damaged_copies > 0 || found.unwitnessed > 0;
    let witness = if doubtful || !before.clean {
        // What was read may never have reached the disk if a sync failed before the last process ended: it
        // is written again, not synced again (F33).
        database
            .checkpoint(true)
            .map_err(|e| refuse(folder.path(), e.into()))?;
        rewrite_witness(&folder, &tuning, &mut database, &mut meta, &testimony, &found)?
    } else {
        Witness::resume((tuning.wrap)(file), scan.header, scan.next)
    };
    let identity = if tuning.stays_copy {
        Identity {
            clean: false,
            ..before
        }
    } else {
        Identity {
            history: before.history,
            ..folder.identity_now(meta.cluster, report.last_wall.map_or(wall, |last| wall.max(last)))?
        }
    };
    folder.write_identity(&identity, false)?;
    folder
        .beat(wall)
        .map_err(|e| errors::system(folder.path(), "cannot write its heartbeat", &e))?;
    let engine = Engine {
        inode: inode(&folder)?,
        folder,
        database,
        meta,
        witness,
        entries: found.entries,
        pending: found.pending,
        lost: found.lost,
        identity,
        shared,
        runtime,
        tuning,
        rows_since_checkpoint: 0,
        ticks: 0,
    };
    Ok((engine, report))
}

/// What `mint.db` is now; it is opened once and must stay this file.
fn inode(folder: &Folder) -> Result<fs::Metadata, StoreError> {
    fs::metadata(folder.file(DATABASE))
        .map_err(|e| errors::system(folder.path(), "cannot look at mint.db", &e))
}

/// Refuses a copy; a volume that moved keeps its inodes and is welcome.
pub(super) fn check_inode(folder: &Folder, before: &Identity) -> Result<(), StoreError> {
    let now = folder.inode()?;
    if now == before.database || mintage::planted!("copy-not-noticed") {
        return Ok(());
    }
    let path = folder.path().display();
    let name = |inode: &super::folder::Inode| inode.number.clone();
    let what = if name(&now) == name(&before.database) {
        "it is a copy: mint.db was born at another time than folder.json says".to_string()
    } else {
        format!(
            "it is a copy: mint.db has inode {}, folder.json says {}",
            name(&now),
            name(&before.database)
        )
    };
    Err(errors::foreign(
        folder.path(),
        what,
        format!(
            "`mint store adopt --store file:{path}` if the original will never run again and did not run after it was \
             copied; `mint store restore --advance N --store file:{path}` if it did, with N above what it can have \
             issued since"
        ),
    ))
}

fn check_cluster(folder: &Folder, before: &Identity, meta: &Meta) -> Result<(), StoreError> {
    let now = format!("{:032x}", meta.cluster);
    if now == before.cluster_id {
        return Ok(());
    }
    Err(errors::foreign(
        folder.path(),
        format!(
            "mint.db belongs to cluster {now}, folder.json to {}",
            before.cluster_id
        ),
        "its files come from different stores: put back those that belong together",
    ))
}

fn read_testimony(folder: &Folder) -> Result<(File, Testimony), StoreError> {
    let failed = |e| errors::system(folder.path(), "cannot read the witness", &e);
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .open(folder.file(WITNESS))
        .map_err(failed)?;
    match read_witness(&file) {
        Ok(testimony) => Ok((file, testimony)),
        Err(Ok(damage)) => Err(errors::damaged(folder.path(), damage)),
        Err(Err(error)) => Err(failed(error)),
    }
}

fn refuse_findings(folder: &Folder, found: &Comparison) -> Result<(), StoreError> {
    match found.findings.as_slice() {
        [] => Ok(()),
        [only] => Err(errors::damaged(folder.path(), only)),
        [first, others @ ..] => Err(errors::damaged(
            folder.path(),
            format!("{first}; and {} more findings", others.len()),
        )),
    }
}

fn describe(
    before: &Identity,
    beat: Option<Timestamp>,
    wall: Timestamp,
    testimony: &Testimony,
    found: &Comparison,
) -> OpenReport {
    let stored = Timestamp::from_unix_millis(before.heartbeat_ms);
    let last = beat.map_or(stored, |beat| beat.max(stored));
    OpenReport {
        created: false,
        clean: before.clean,
        last_wall: Some(last),
        held_wall: (wall < last).then_some(last),
        claims_recovered: found.pending.len(),
        unwitnessed: found.unwitnessed,
        copies_healed: testimony.scan.damaged_copies,
        warnings: Vec::new(),
    }
}

/// A crash and a restored snapshot look alike: the operator must know which it was.
fn warn_stale(folder: &Folder, report: &mut OpenReport, wall: Timestamp) {
    let path = folder.path().display();
    let age = report.last_wall.map_or(Duration::ZERO, |last| wall.since(last));
    if !report.clean && age > STALE {
        report.warnings.push(format!(
            "store {path} did not stop cleanly and was last alive {} s ago: if the disk is a restored snapshot or \
             backup, stop and run `mint store restore --advance N --store file:{path}`",
            age.as_secs()
        ));
    }
    if let Some(held) = report.held_wall {
        report.warnings.push(format!(
            "the wall clock shows {} ms less than store {path} has seen: ids go on from there",
            held.since(wall).as_millis()
        ));
    }
    if report.copies_healed > 0 {
        report.warnings.push(format!(
            "{} records of {path}/witness were damaged in one of their two copies: look at the disk",
            report.copies_healed
        ));
    }
    for warning in &report.warnings {
        tracing::warn!("{warning}");
    }
}

/// Puts a new witness in place that says what the database and the old one say together.
pub(super) fn rewrite_witness(
    folder: &Folder,
    tuning: &Tuning,
    database: &mut Database,
    meta: &mut Meta,
    testimony: &Testimony,
    found: &Comparison,
) -> Result<Witness, StoreError> {
    let old = testimony.scan.header;
    if meta.generation != old.generation {
        // The database never lags by more than one generation.
        let next = Meta {
            generation: old.generation,
            ..*meta
        };
        let put = database
            .begin()
            .and_then(|()| database.put_meta(&next))
            .and_then(|()| database.commit());
        put.map_err(|e| refuse(folder.path(), e.into()))?;
        *meta = next;
    }
    let mut records: Vec<Record> = Vec::with_capacity(found.entries.len() + found.pending.len());
    for (hash, stamp) in &found.entries {
        let row = found.pending.get(hash).map_or(*stamp, |pending| pending.row);
        records.push(row_record(*hash, &row));
    }
    for hash in found.pending.keys() {
        records.push(Record {
            kind: Kind::Claim,
            ..row_record(*hash, &found.entries[hash])
        });
    }
    let header = Header {
        generation: old.generation + 1,
        base_lsn: old.base_lsn + testimony.scan.next,
        base_commit: meta.commit,
        slots: witness::slots_for(records.len(), tuning.slots_least),
        ..old
    };
    put_witness(folder, tuning, header, records)
}

/// Writes a whole witness beside the old one and lets it take its place.
pub(super) fn put_witness(
    folder: &Folder,
    tuning: &Tuning,
    header: Header,
    mut records: Vec<Record>,
) -> Result<Witness, StoreError> {
    let beside = folder.file("witness.new");
    let put = witness::create(&beside, &header, &mut records).and_then(|file| {
        fs::rename(&beside, folder.file(WITNESS))?;
        folder.sync()?;
        Ok(file)
    });
    let file = put.map_err(|e| errors::system(folder.path(), "cannot write a new witness", &e))?;
    Ok(Witness::resume((tuning.wrap)(file), header, records.len() as u64))
}
