//! What an operator does to a folder that no process has open: adopt a copy, check; and what a restore needs.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use super::super::{EmbeddedStore, Key, StoreError, StoreErrorKind, StoreSettings, Value, Versioned};
use super::database::{Database, Read, refuse};
use super::engine::Engine;
use super::folder::{Content, Folder, Identity, WITNESS};
use super::recover::{Testimony, compare, read_witness};
use super::{OpenReport, Shared, Tuning, errors, lock, open, private};
use crate::runtime::Runtime;

/// What [`adopt`] did.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ToolReport {
    /// How many registers the store has.
    pub registers: usize,
    /// What the opening found.
    pub opened: OpenReport,
}

/// What [`check`] found.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CheckReport {
    /// How many registers agree in both records.
    pub registers: usize,
    /// Registers whose claims only the witness has: normal after a crash.
    pub claims_pending: usize,
    /// Registers of the last commit that the witness has not seen: normal after a crash.
    pub unwitnessed: usize,
    /// What a start refuses, in words; empty when the store is sound.
    pub findings: Vec<String>,
    /// What a start mends by itself.
    pub notes: Vec<String>,
}

/// Declares a copied folder to be the store from now on, under its new inode.
///
/// No mark is raised: a process reserves before it issues, so whatever the original issued before it was
/// copied lies below the copied marks. What it issued afterwards does not; that is what
/// `restore` is for.
/// The original must never run again: it has the same cluster id and would issue the same numbers.
///
/// # Errors
/// As opening, but for the copy; a damaged store is refused.
pub async fn adopt(
    path: impl AsRef<Path>,
    settings: &StoreSettings,
    runtime: Arc<dyn Runtime>,
) -> Result<ToolReport, StoreError> {
    adopt_as(path.as_ref(), "adopted", settings, runtime).await
}

/// As [`adopt`], noted in the folder's history as `what`.
pub async fn adopt_as(
    path: &Path,
    what: &str,
    settings: &StoreSettings,
    runtime: Arc<dyn Runtime>,
) -> Result<ToolReport, StoreError> {
    let (mut engine, opened) = open_any(path, settings, &runtime).await?;
    note(&mut engine, &*runtime, what);
    let report = ToolReport {
        registers: engine.entries.len(),
        opened,
    };
    engine.close()?;
    Ok(report)
}

/// Opens an existing folder that may be a copy, for a restore: a copy stays one, and refused, until it is adopted.
pub async fn open_to_restore(
    path: &Path,
    settings: &StoreSettings,
    runtime: Arc<dyn Runtime>,
) -> Result<Arc<EmbeddedStore>, StoreError> {
    // Only looked at: the opening locks it again.
    drop(lock_existing(path, settings, &*runtime).await?);
    let tuning = Tuning {
        any_inode: true,
        stays_copy: true,
        ..Tuning::default()
    };
    EmbeddedStore::open_tuned(path, settings, tuning, runtime).await
}

/// Makes a folder for the backup of a cluster, where there is none or one that was never used: it has the cluster's id
/// and this register from its first moment on, or it is not there at all. Others are left as they are.
pub async fn make_to_restore(
    path: &Path,
    cluster: u128,
    first: (Key, Value),
    settings: &StoreSettings,
    runtime: Arc<dyn Runtime>,
) -> Result<(), StoreError> {
    let folder = lock(path, true, settings, &*runtime).await?;
    if folder.content()? == Content::Whole {
        let same = folder.read_identity()?.cluster_id == format!("{cluster:032x}");
        if same || !never_used(&folder)? {
            return Ok(());
        }
    }
    folder.begin_restore()?;
    let shared = Arc::new(Shared {
        path: path.to_path_buf(),
        ..Shared::default()
    });
    let tuning = Tuning {
        made_for: Some((cluster, first)),
        ..Tuning::default()
    };
    let (mut engine, _) = open::open(folder, settings, tuning, shared, runtime)?;
    engine.close()
}

/// Whether neither record of a whole store holds a register, and both can be read.
fn never_used(folder: &Folder) -> Result<bool, StoreError> {
    let file = private::open(&folder.file(WITNESS));
    let file = file.map_err(|e| errors::system(folder.path(), "cannot read the witness", &e))?;
    let unseen = matches!(read_witness(&file), Ok(testimony) if testimony.known.is_empty());
    let (database, _) =
        Database::open_to_read(&folder.database()?).map_err(|error| refuse(folder.path(), error))?;
    let mut rows = 0;
    database
        .each(|_| -> Result<(), rusqlite::Error> {
            rows += 1;
            Ok(())
        })
        .map_err(|error| refuse(folder.path(), error.into()))?;
    Ok(unseen && rows == 0)
}

/// Opens an existing folder whatever its inode; an empty place is refused.
async fn open_any(
    path: &Path,
    settings: &StoreSettings,
    runtime: &Arc<dyn Runtime>,
) -> Result<(Engine, OpenReport), StoreError> {
    let folder = lock_existing(path, settings, &**runtime).await?;
    let shared = Arc::new(Shared {
        path: path.to_path_buf(),
        ..Shared::default()
    });
    let tuning = Tuning {
        any_inode: true,
        ..Tuning::default()
    };
    open::open(folder, settings, tuning, shared, runtime.clone())
}

/// Locks a folder that must hold a whole store.
pub(super) async fn lock_existing(
    path: &Path,
    settings: &StoreSettings,
    runtime: &dyn Runtime,
) -> Result<Folder, StoreError> {
    let folder = lock(path, false, settings, runtime).await?;
    match folder.content()? {
        Content::Whole => Ok(folder),
        Content::Fresh | Content::HalfMade => Err(errors::no_store(path)),
    }
}

/// Records what was done, for people who look later; the wall clock starts afresh.
fn note(engine: &mut Engine, runtime: &dyn Runtime, what: &str) {
    let now = runtime.wall().unix_millis();
    engine.identity.heartbeat_ms = now;
    engine
        .identity
        .history
        .push(format!("{what} at {now} ms after 1970"));
    // The heartbeat is as old as the copy; failing to write it costs a warning at the next start.
    let _ = engine.folder.beat(runtime.wall());
}

/// Verifies that both records agree and changes nothing. What the registers mean is for
/// `tools::check` of the ledger.
///
/// # Errors
/// When the folder cannot be locked or read; damage is a finding, not an error.
pub async fn check(
    path: impl AsRef<Path>,
    settings: &StoreSettings,
    runtime: Arc<dyn Runtime>,
) -> Result<CheckReport, StoreError> {
    check_each(path.as_ref(), settings, &*runtime, &mut |_, _| {}).await
}

/// As [`check`]; every register that can be read goes to `each`, in the order of their keys.
pub async fn check_each(
    path: &Path,
    settings: &StoreSettings,
    runtime: &dyn Runtime,
    each: &mut dyn FnMut(&Key, &Versioned),
) -> Result<CheckReport, StoreError> {
    let folder = lock_existing(path, settings, runtime).await?;
    let mut report = CheckReport::default();
    let identity = check_identity(&folder, &mut report)?;
    let testimony = check_witness(&folder, identity.as_ref(), &mut report)?;
    let shm = folder.file("mint.db-shm");
    let had_shm = shm.exists();
    check_database(&folder, testimony.as_ref(), &mut report, each)?;
    if !had_shm {
        // Made by reading; the lock says that nobody else needs it.
        let _ = fs::remove_file(shm);
    }
    Ok(report)
}

/// What the folder says of itself, and whether it is where that was said.
fn check_identity(folder: &Folder, report: &mut CheckReport) -> Result<Option<Identity>, StoreError> {
    let identity = match folder.read_identity() {
        Ok(identity) => identity,
        Err(error) => {
            report.findings.push(error.message);
            return Ok(None);
        }
    };
    match open::check_inode(folder, &identity) {
        Err(error) if error.kind == StoreErrorKind::Foreign => report.findings.push(error.message),
        Err(error) => return Err(error),
        Ok(()) if !identity.clean => report.notes.push("the last stop was not clean".to_string()),
        Ok(()) => {}
    }
    Ok(Some(identity))
}

fn check_witness(
    folder: &Folder,
    identity: Option<&Identity>,
    report: &mut CheckReport,
) -> Result<Option<Testimony>, StoreError> {
    let unreadable = |e: std::io::Error| errors::system(folder.path(), "cannot read the witness", &e);
    let file = private::open(&folder.file(WITNESS)).map_err(unreadable)?;
    let testimony = match read_witness(&file) {
        Ok(testimony) => testimony,
        Err(Ok(damage)) => {
            report.findings.push(damage);
            return Ok(None);
        }
        Err(Err(error)) => return Err(unreadable(error)),
    };
    let scan = &testimony.scan;
    let noted = identity.and_then(|identity| identity.reached.as_ref());
    if let Err(error) = open::check_reached(folder, noted, scan.header.base_lsn + scan.next) {
        report.findings.push(error.message);
    }
    if scan.damaged_copies > 0 {
        let many = scan.damaged_copies;
        report.notes.push(format!(
            "{many} witness records are damaged in one of their two copies"
        ));
    }
    if scan.torn {
        let torn = "the last append to the witness is torn: it was never acknowledged";
        report.notes.push(torn.to_string());
    }
    Ok(Some(testimony))
}

fn check_database(
    folder: &Folder,
    testimony: Option<&Testimony>,
    report: &mut CheckReport,
    each: &mut dyn FnMut(&Key, &Versioned),
) -> Result<(), StoreError> {
    let (database, meta) = match Database::open_to_read(&folder.database()?) {
        Ok(opened) => opened,
        Err(error) => {
            report.findings.push(refuse(folder.path(), error).message);
            return Ok(());
        }
    };
    match database.integrity() {
        Ok(lines) => report
            .findings
            .extend(lines.into_iter().map(|line| format!("mint.db: {line}"))),
        Err(error) => report
            .findings
            .push(format!("mint.db cannot be checked: {error}")),
    }
    // What cannot be read is found by comparing.
    let _ = database.each(|read| -> Result<(), rusqlite::Error> {
        if let Read::Whole(row) = read
            && let Ok(key) = Key::new(row.key.clone())
        {
            each(&key, &row.versioned());
        }
        Ok(())
    });
    let Some(testimony) = testimony else {
        return Ok(());
    };
    match compare(&database, &meta, testimony) {
        Ok(found) => {
            report.registers = found.entries.len();
            report.claims_pending = found.pending.len();
            report.unwitnessed = found.unwitnessed;
            report.findings.extend(found.findings);
        }
        Err(error) => report.findings.push(format!("mint.db cannot be read: {error}")),
    }
    Ok(())
}
