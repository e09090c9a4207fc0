//! Opening a locked folder: the first start, and every one after it.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use mintage::Timestamp;

use super::super::{StoreError, StoreSettings, Value};
use super::database::{Database, Meta, Row, Stamp, refuse};
use super::elsewhere::{Elsewhere, newest_time, were_here};
use super::engine::{Engine, row_record};
use super::folder::{Content, DATABASE, Folder, Identity, WITNESS};
use super::inode::{Inode, copied_up};
use super::reached::{self, Reached};
use super::recover::{Comparison, Testimony, compare, read_witness};
use super::witness::{self, Header, Kind, Record, Witness};
use super::{OpenReport, Shared, Tuning, errors, key_hash, private};
use crate::runtime::{Runtime, fresh_token};

/// A heartbeat older than this without a clean stop may be a snapshot that was restored.
const STALE: Duration = Duration::from_secs(60);
/// The same after a clean stop: few servers rest for so long.
const STALE_AFTER_STOP: Duration = Duration::from_secs(7 * 24 * 3600);

/// Makes or loads what the folder holds.
pub(super) fn open(
    folder: Folder,
    settings: &StoreSettings,
    tuning: Tuning,
    shared: Arc<Shared>,
    runtime: Arc<dyn Runtime>,
) -> Result<(Engine, OpenReport), StoreError> {
    let state = settings.state_folder.as_deref();
    match folder.content()? {
        Content::Whole => load(folder, tuning, state, shared, runtime),
        Content::HalfMade => {
            if folder.is_half_restored() && tuning.made_for.is_none() {
                return Err(errors::half_restored(folder.path()));
            }
            folder.clear_half_made()?;
            create(folder, tuning, state, shared, runtime)
        }
        Content::Fresh => create(folder, tuning, state, shared, runtime),
    }
}

/// The first start. Nothing is acknowledged before `CREATING` is gone, so a start that is cut off before
/// that is simply made again.
fn create(
    mut folder: Folder,
    tuning: Tuning,
    state: Option<&Path>,
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
    // Made here, so that it is for this user alone; SQLite gives its other files the same rights.
    private::create_anew(&folder.file(DATABASE))
        .map_err(|e| errors::system(folder.path(), "cannot create files", &e))?;
    let database =
        Database::create(&folder.database()?, &meta).map_err(|error| refuse(folder.path(), error))?;
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
    let witness = Witness::resume((tuning.wrap)(file), header, 0);
    let (reached, made) = folder.make_reached(witness.next_lsn())?;
    let id = new_id(&*runtime);
    let identity = Identity {
        reached: Some(made),
        id: Some(id.clone()),
        ..folder.identity_now(meta.cluster, wall)?
    };
    folder.write_identity(&identity, false)?;
    folder
        .beat(wall)
        .map_err(|e| errors::system(folder.path(), "cannot write its heartbeat", &e))?;
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
        reached,
        elsewhere: None,
        shared,
        runtime,
        tuning,
        rows_since_checkpoint: 0,
        ticks: 0,
        trouble: Default::default(),
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
    let last_wall = newest_time(state, engine.folder.path());
    if let Some(state) = state {
        // Of this place the notes tell of the store that is made now, and of no other.
        for (note, _) in were_here(state, engine.folder.path()) {
            fs::remove_file(note).ok();
        }
    }
    engine.elsewhere = elsewhere(&engine.folder, state, &id, None, &*engine.runtime)?;
    note_start(
        engine.elsewhere.as_ref(),
        &engine.witness,
        last_wall.map_or(wall, |last| last.max(wall)),
    );
    let report = OpenReport {
        created: true,
        clean: true,
        last_wall,
        held_wall: last_wall.filter(|last| wall < *last),
        ..OpenReport::default()
    };
    Ok((engine, report))
}

/// Every later start.
fn load(
    mut folder: Folder,
    tuning: Tuning,
    state: Option<&Path>,
    shared: Arc<Shared>,
    runtime: Arc<dyn Runtime>,
) -> Result<(Engine, OpenReport), StoreError> {
    let before = folder.read_identity()?;
    if !tuning.any_inode {
        check_inode(&folder, &before)?;
    }
    let (mut database, mut meta) =
        Database::open(&folder.database()?).map_err(|error| refuse(folder.path(), error))?;
    check_cluster(&folder, &before, &meta)?;
    let (file, testimony) = read_testimony(&folder)?;
    // What the witness was found with, before anything here adds to it. Looked at first: halves of a backup that was
    // taken of a running store are damaged as well, and mending that would not make them any newer.
    let lsn = testimony.scan.header.base_lsn + testimony.scan.next;
    let kept = kept_reached(&folder, &before, &tuning, lsn)?;
    let found = compare(&database, &meta, &testimony).map_err(|e| refuse(folder.path(), e.into()))?;
    refuse_findings(&folder, &found)?;

    // An adopted folder is another one than the copy was taken of.
    let id = before.id.clone().filter(|_| !tuning.any_inode);
    let id = id.unwrap_or_else(|| new_id(&*runtime));
    let elsewhere = match tuning.stays_copy {
        // It is another one, or behind, and stays so until the restore is finished.
        true => None,
        false => elsewhere(&folder, state, &id, Some(lsn), &*runtime)?,
    };

    let wall = runtime.wall();
    let beat = folder.last_beat().max(newest_time(state, folder.path()));
    let mut report = describe(&before, beat, wall, &testimony, &found);
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
    let (mut reached, noted) = match (kept, &before.reached) {
        (Some(kept), Some(noted)) => (kept, noted.clone()),
        _ => folder.make_reached(witness.next_lsn())?,
    };
    reached.note(witness.next_lsn());
    let identity = if tuning.stays_copy {
        Identity {
            clean: false,
            ..before
        }
    } else {
        Identity {
            history: before.history,
            reached: Some(noted),
            id: Some(id),
            ..folder.identity_now(meta.cluster, report.last_wall.map_or(wall, |last| wall.max(last)))?
        }
    };
    folder.write_identity(&identity, false)?;
    if !tuning.stays_copy {
        if tuning.any_inode {
            folder.note_copied_up(false)?;
        }
        // The ones of before, now that the new one is noted.
        reached
            .alone()
            .map_err(|e| errors::system(folder.path(), "cannot remove old files", &e))?;
    }
    folder
        .beat(wall)
        .map_err(|e| errors::system(folder.path(), "cannot write its heartbeat", &e))?;
    note_start(
        elsewhere.as_ref(),
        &witness,
        report.last_wall.map_or(wall, |last| last.max(wall)),
    );
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
        reached,
        elsewhere,
        shared,
        runtime,
        tuning,
        rows_since_checkpoint: 0,
        ticks: 0,
        trouble: Default::default(),
    };
    Ok((engine, report))
}

/// What `mint.db` is now; it is opened once and must stay this file.
fn inode(folder: &Folder) -> Result<fs::Metadata, StoreError> {
    fs::metadata(folder.file(DATABASE))
        .map_err(|e| errors::system(folder.path(), "cannot look at mint.db", &e))
}

/// A name for the folder that nothing else has.
fn new_id(runtime: &dyn Runtime) -> String {
    format!("{:032x}", fresh_token(runtime))
}

/// Opens the note in the state folder, if there is one, and refuses a folder that got further than its witness,
/// which has `lsn` records.
fn elsewhere(
    folder: &Folder,
    state: Option<&Path>,
    id: &str,
    lsn: Option<u64>,
    runtime: &dyn Runtime,
) -> Result<Option<Elsewhere>, StoreError> {
    let Some(state) = state else { return Ok(None) };
    let (elsewhere, noted) = match Elsewhere::open(state, id, folder.path(), fresh_token(runtime)) {
        Ok(opened) => opened,
        Err(error) => {
            tracing::debug!(%error, state = %state.display(), "how far the store got cannot be noted there");
            return Ok(None);
        }
    };
    match (noted, lsn) {
        (Some(noted), Some(lsn)) if noted.lsn > lsn => Err(errors::set_back(
            folder.path(),
            format!(
                "it has {lsn} records, and {} noted {} of it: an older image, snapshot or copy was put in its place",
                state.display(),
                noted.lsn
            ),
        )),
        _ => Ok(Some(elsewhere)),
    }
}

fn note_start(elsewhere: Option<&Elsewhere>, witness: &Witness, time: Timestamp) {
    if let Some(Err(error)) = elsewhere.map(|noted| noted.note(witness.next_lsn(), time, false)) {
        tracing::debug!(%error, "how far the store got cannot be noted in the state folder");
    }
}

/// Refuses a copy; a volume that moved keeps its inodes and is welcome.
pub(super) fn check_inode(folder: &Folder, before: &Identity) -> Result<(), StoreError> {
    let path = folder.file(DATABASE);
    let copied_up = copied_up(&path).map_err(|e| errors::system(folder.path(), "cannot open mint.db", &e))?;
    let differs = before.database.differs(&folder.inode()?);
    match differs {
        Some(how) => Err(errors::copied(folder.path(), format!("mint.db {how}"))),
        None if copied_up || folder.was_copied_up() => {
            folder.note_copied_up(true)?;
            Err(errors::copied(
                folder.path(),
                "mint.db lay in a lower layer of this overlay, which others may have too",
            ))
        }
        None => Ok(()),
    }
}

/// Refuses a folder that got further than its witness, which has `lsn` records: a backup was put back in place.
pub(super) fn check_reached(
    folder: &Folder,
    noted: Option<&Inode>,
    lsn: u64,
) -> Result<Option<Reached>, StoreError> {
    match noted {
        Some(noted) => Reached::find(folder.path(), noted, lsn).map(Some),
        // A folder of an older program, which may have been put back over one of this.
        None => reached::list_of(folder.path(), lsn).map(|_| None),
    }
}

/// The file of before, if it goes on being the folder's: a restore that is refused leaves what was sound as it was.
fn kept_reached(
    folder: &Folder,
    before: &Identity,
    tuning: &Tuning,
    lsn: u64,
) -> Result<Option<Reached>, StoreError> {
    match (tuning.any_inode, &before.reached) {
        (true, Some(noted)) if tuning.stays_copy => Ok(Reached::find(folder.path(), noted, lsn).ok()),
        (true, _) => Ok(None),
        (false, noted) => check_reached(folder, noted.as_ref(), lsn),
    }
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
    let file = private::options()
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

/// A crash or a long rest and a restored snapshot look alike: the operator must know which it was.
fn warn_stale(folder: &Folder, report: &mut OpenReport, wall: Timestamp) {
    let path = folder.path().display();
    let age = report.last_wall.map_or(Duration::ZERO, |last| wall.since(last));
    let (how, limit) = match report.clean {
        true => ("was stopped", STALE_AFTER_STOP),
        false => ("did not stop cleanly and was last alive", STALE),
    };
    if age > limit {
        report.warnings.push(format!(
            "store {path} {how} {} s ago: if the disk is a restored snapshot or backup, stop and run `mint store \
             restore --advance N --store {}`",
            age.as_secs(),
            errors::store_url(folder.path())
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
        tracing::warn!(about = warning, "the store's folder");
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
