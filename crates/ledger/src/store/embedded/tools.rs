//! What an operator does to a folder that no process has open: adopt a copy, restore a backup, check.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use super::super::{Key, Outcome, StoreError, StoreErrorKind, StoreSettings, Value};
use super::database::{Database, Read, Row, Stamp, key_of, lost_hash, refuse};
use super::engine::Engine;
use super::folder::{Content, Folder, WITNESS};
use super::recover::{compare, read_witness};
use super::{OpenReport, Shared, Tuning, errors, key_hash, lock, open, private};
use crate::runtime::{Runtime, fresh_token};

/// What [`adopt`] or [`restore`] did.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ToolReport {
    /// How many registers the store has.
    pub registers: usize,
    /// How many marks were raised.
    pub raised: usize,
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
/// copied lies below the copied marks. What it issued afterwards does not; that is what [`restore`] is for.
/// The original must never run again: it has the same cluster id and would issue the same numbers.
///
/// # Errors
/// As opening, but for the copy; a damaged store is refused.
pub async fn adopt(
    path: impl AsRef<Path>,
    settings: &StoreSettings,
    runtime: Arc<dyn Runtime>,
) -> Result<ToolReport, StoreError> {
    let (mut engine, opened) = open_any(path.as_ref(), settings, &runtime).await?;
    note(&mut engine, &*runtime, "adopted");
    let report = ToolReport {
        registers: engine.entries.len(),
        raised: 0,
        opened,
    };
    engine.close()?;
    Ok(report)
}

/// Makes a restored backup or snapshot safe to use: every mark is raised by what `advance` says, above
/// everything that may have been issued since the backup was made, and the folder is adopted.
///
/// `advance` is given each register that carries a mark, and each sequence, and answers its new mark, which may
/// not be lower.
/// Numbers and windows need different steps (a count, a time), and only the caller knows which is which.
///
/// # Errors
/// As [`adopt`]; [`StoreErrorKind::Invalid`] when a new mark is lower or passes 2^63-1, before anything is
/// changed.
pub async fn restore(
    path: impl AsRef<Path>,
    advance: impl Fn(&Key, &Value) -> u64,
    settings: &StoreSettings,
    runtime: Arc<dyn Runtime>,
) -> Result<ToolReport, StoreError> {
    let (mut engine, opened) = open_any(path.as_ref(), settings, &runtime).await?;
    let mut rows = Vec::new();
    let (entries, folder) = (&engine.entries, engine.folder.path());
    engine
        .database
        .each(|read| -> Result<(), RestoreError> {
            let Read::Whole(row) = read else { return Ok(()) };
            let key = key_of(&row);
            let Some(hash) = key.as_ref().map(key_hash).or_else(|| lost_hash(&row.key)) else {
                return Ok(());
            };
            let stamp = entries.get(&hash).copied().unwrap_or(row.stamp);
            // Nothing was ever reserved there, and nothing will be; a sequence may have been used since the backup.
            let counts = key.as_ref().is_none_or(|key| key.as_str().starts_with("seq/"));
            if stamp.mark == 0 && !counts {
                return Ok(());
            }
            let value = Value {
                mark: stamp.mark,
                token: stamp.token,
                body: row.body,
            };
            // A register whose name is lost gives no hint of what it counts.
            let mark = key.as_ref().map_or(stamp.mark, |key| advance(key, &value));
            if mark < stamp.mark || mark > i64::MAX as u64 {
                return Err(RestoreError::Refused(format!(
                    "mark of {} is {}, asked to advance it to {mark}: at least as much, at most 2^63-1",
                    row.key, stamp.mark
                )));
            }
            let stamp = Stamp {
                mark,
                version: stamp.version + 1,
                token: fresh_token(&*runtime),
                commit: 0,
            };
            rows.push((
                hash,
                Row {
                    key: row.key,
                    stamp,
                    body: value.body,
                },
            ));
            Ok(())
        })
        .map_err(|error| match error {
            RestoreError::Refused(why) => StoreError::new(StoreErrorKind::Invalid, Outcome::NotDone, why),
            RestoreError::Sqlite(error) => refuse(folder, error.into()),
        })?;
    let raised = rows.len();
    if raised > 0 {
        engine.rewrite(rows)?;
    }
    note(
        &mut engine,
        &*runtime,
        &format!("restored, {raised} marks advanced"),
    );
    let report = ToolReport {
        registers: engine.entries.len(),
        raised,
        opened,
    };
    engine.close()?;
    Ok(report)
}

enum RestoreError {
    Refused(String),
    Sqlite(rusqlite::Error),
}

impl From<rusqlite::Error> for RestoreError {
    fn from(error: rusqlite::Error) -> Self {
        RestoreError::Sqlite(error)
    }
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

/// Verifies everything and changes nothing.
///
/// # Errors
/// When the folder cannot be locked or read; damage is a finding, not an error.
pub async fn check(
    path: impl AsRef<Path>,
    settings: &StoreSettings,
    runtime: Arc<dyn Runtime>,
) -> Result<CheckReport, StoreError> {
    let path = path.as_ref();
    let folder = lock_existing(path, settings, &*runtime).await?;
    let mut report = CheckReport::default();
    let identity = folder.read_identity();
    match &identity {
        Err(error) => report.findings.push(error.message.clone()),
        Ok(identity) => match open::check_inode(&folder, identity) {
            Err(error) if error.kind == StoreErrorKind::Foreign => report.findings.push(error.message),
            Err(error) => return Err(error),
            Ok(()) if !identity.clean => report.notes.push("the last stop was not clean".to_string()),
            Ok(()) => {}
        },
    }
    let file = private::open(&folder.file(WITNESS))
        .map_err(|e| errors::system(path, "cannot read the witness", &e))?;
    let testimony = match read_witness(&file) {
        Ok(testimony) => Some(testimony),
        Err(Ok(damage)) => {
            report.findings.push(damage);
            None
        }
        Err(Err(error)) => return Err(errors::system(path, "cannot read the witness", &error)),
    };
    if let Some(scan) = testimony.as_ref().map(|t| &t.scan) {
        let noted = identity
            .as_ref()
            .ok()
            .and_then(|identity| identity.reached.as_ref());
        if let Err(error) = open::check_reached(&folder, noted, scan.header.base_lsn + scan.next) {
            report.findings.push(error.message);
        }
        if scan.damaged_copies > 0 {
            let many = scan.damaged_copies;
            report.notes.push(format!(
                "{many} witness records are damaged in one of their two copies"
            ));
        }
        if scan.torn {
            report
                .notes
                .push("the last append to the witness is torn: it was never acknowledged".to_string());
        }
    }
    let shm = folder.file("mint.db-shm");
    let had_shm = shm.exists();
    match Database::open_to_read(&folder.database()?) {
        Err(error) => report.findings.push(refuse(path, error).message),
        Ok((database, meta)) => {
            match database.integrity() {
                Ok(lines) => report
                    .findings
                    .extend(lines.into_iter().map(|line| format!("mint.db: {line}"))),
                Err(error) => report
                    .findings
                    .push(format!("mint.db cannot be checked: {error}")),
            }
            if let Some(testimony) = &testimony {
                match compare(&database, &meta, testimony) {
                    Ok(found) => {
                        report.registers = found.entries.len();
                        report.claims_pending = found.pending.len();
                        report.unwitnessed = found.unwitnessed;
                        report.findings.extend(found.findings);
                    }
                    Err(error) => report.findings.push(format!("mint.db cannot be read: {error}")),
                }
            }
        }
    }
    if !had_shm {
        // Made by reading; the lock says that nobody else needs it.
        let _ = fs::remove_file(shm);
    }
    Ok(report)
}
