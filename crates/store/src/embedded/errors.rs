//! The words of the embedded store: one function per kind of refusal, so that they agree.

use std::fmt::Display;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::super::{Outcome, StoreError, StoreErrorKind};
use crate::advice::Advice;

/// What a failed call left behind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Damage {
    /// No space; nothing was changed.
    Full,
    /// No writing here; nothing was changed.
    ReadOnly,
    /// Somebody is in the way; nothing was changed.
    Busy,
    /// What is stored contradicts itself.
    Corrupt,
    /// It may or may not have happened, or a sync failed: stop for good (protocol E3).
    Stop,
}

fn not_done(kind: StoreErrorKind, message: String) -> StoreError {
    StoreError::new(kind, Outcome::NotDone, message)
}

/// A record is damaged or two records disagree.
pub(super) fn damaged(folder: &Path, what: impl Display) -> StoreError {
    not_done(
        StoreErrorKind::Corrupt,
        format!("store {} is refused: {what}", folder.display()),
    )
    .with_hint(Advice::CheckOrRepair {
        store: store_url(folder),
    })
}

/// A restore made it and was cut off.
pub(super) fn half_restored(folder: &Path) -> StoreError {
    let message = format!(
        "store {} is refused: a restore into it was begun and is not finished",
        folder.display()
    );
    not_done(StoreErrorKind::Stopped, message).with_hint(Advice::FinishRestore {
        or_remove: true,
        finishes: false,
    })
}

/// Written by a later program.
pub(super) fn newer(folder: &Path, file: &str, found: i64, known: i64) -> StoreError {
    let message = format!(
        "store {}: {file} has schema {found}, this program knows up to {known}",
        folder.display()
    );
    not_done(StoreErrorKind::Foreign, message).with_hint(Advice::NewerProgram {
        on_this_machine: false,
    })
}

/// Something that may pass: space, permissions, another process's tool.
pub(super) fn passing(folder: &Path, damage: Damage, error: &dyn Display) -> StoreError {
    let folder = folder.display();
    let (what, hint) = match damage {
        Damage::Full => (
            "disk full",
            format!(
                "free space on the file system of {folder}, or raise the limit on the size of files (ulimit -f); it \
                 goes on by itself"
            ),
        ),
        Damage::ReadOnly => (
            "cannot write",
            format!("make {folder} and its file system writable for this user"),
        ),
        _ => (
            "busy",
            format!("close other programs that have {folder}/mint.db open"),
        ),
    };
    not_done(
        StoreErrorKind::Unavailable,
        format!("store {folder}: {what}: {error}"),
    )
    .with_hint(hint)
}

/// A call of the operating system failed while opening.
pub(super) fn system(folder: &Path, what: &str, error: &io::Error) -> StoreError {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => passing(folder, Damage::Full, error),
        io::ErrorKind::PermissionDenied => not_done(
            StoreErrorKind::Denied,
            format!("store {}: {what}: {error}", folder.display()),
        )
        .with_hint("give this user the right to read and write the folder"),
        io::ErrorKind::ReadOnlyFilesystem => passing(folder, Damage::ReadOnly, error),
        io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists => not_done(
            StoreErrorKind::Invalid,
            format!("store {}: {what}: {error}", folder.display()),
        )
        .with_hint("name a folder: file:PATH"),
        _ => not_done(
            StoreErrorKind::Unavailable,
            format!("store {}: {what}: {error}", folder.display()),
        ),
    }
}

/// Stopped for good; `outcome` says what is known of the call that is answered with it.
pub(super) fn stopped(folder: &Path, why: impl Display, outcome: Outcome) -> StoreError {
    StoreError::new(
        StoreErrorKind::Stopped,
        outcome,
        format!("store {} has stopped for good: {why}", folder.display()),
    )
    .with_hint("look at the disk, then start again: the start checks every record")
}

/// Copied or otherwise not the folder it was made as.
pub(super) fn foreign(folder: &Path, what: impl Display, hint: impl Into<Advice>) -> StoreError {
    not_done(
        StoreErrorKind::Foreign,
        format!("store {} is refused: {what}", folder.display()),
    )
    .with_hint(hint)
}

/// How a command is told of this folder.
pub(super) fn store_url(folder: &Path) -> String {
    let text = folder.display().to_string();
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"/._-+:@%".contains(&b);
    match text.bytes().all(plain) {
        true => format!("file:{text}"),
        false => format!("'file:{text}'"),
    }
}

/// A copy, or an older state of the folder itself: what makes it safe depends on what was given out since.
fn restored(
    folder: &Path,
    what: impl Display,
    adopt_if: &'static str,
    advance_if: &'static str,
) -> StoreError {
    let store = store_url(folder);
    foreign(
        folder,
        what,
        Advice::AdoptOrRaise {
            store,
            adopt_if,
            advance_if,
        },
    )
}

/// The folder is a copy.
pub(super) fn copied(folder: &Path, what: impl Display) -> StoreError {
    restored(
        folder,
        format!("it is a copy: {what}"),
        "the original will never run again and did not run after it was copied",
        "it did",
    )
}

/// The folder is the original, with older content.
pub(super) fn set_back(folder: &Path, what: impl Display) -> StoreError {
    restored(
        folder,
        format!("it was set back: {what}"),
        "nothing was issued after that backup or snapshot was made",
        "something was",
    )
}

/// A store was here, and is not any more.
pub(super) fn gone(folder: &Path, records: u64) -> StoreError {
    let mount = mount_of(folder).map_or(String::new(), |mount| {
        format!(
            ", which lies on the file system that is mounted at {}",
            mount.display()
        )
    });
    not_done(
        StoreErrorKind::Foreign,
        format!(
            "there is no store in {}{mount}, where this machine remembers one of {records} records",
            folder.display()
        ),
    )
    .with_hint(Advice::MountOrAnew)
}

/// Where the file system of a path, or of what there is of it, is mounted.
fn mount_of(path: &Path) -> Option<PathBuf> {
    let path = std::path::absolute(path).ok()?;
    let device = |path: &Path| std::fs::metadata(path).map(|found| found.dev());
    let there = path.ancestors().find(|path| path.exists())?;
    let on = device(there).ok()?;
    let same = there
        .ancestors()
        .take_while(|above| device(above).is_ok_and(|device| device == on));
    same.last().map(Path::to_path_buf)
}

/// There is nothing of ours.
pub(super) fn no_store(folder: &Path) -> StoreError {
    not_done(
        StoreErrorKind::Invalid,
        format!("there is no store in {}", folder.display()),
    )
    .with_hint(Advice::NameTheFolder)
}

/// What lies there is not to be trusted.
pub(super) fn denied(folder: &Path, what: impl Display, hint: impl Into<Advice>) -> StoreError {
    not_done(
        StoreErrorKind::Denied,
        format!("store {} is refused: {what}", folder.display()),
    )
    .with_hint(hint)
}

/// Another process has it.
pub(super) fn in_use(folder: &Path, holder: Option<&str>) -> StoreError {
    let by = holder.map_or("another process".to_string(), |pid| format!("process {pid}"));
    not_done(
        StoreErrorKind::InUse,
        format!("store {} is in use by {by}", folder.display()),
    )
    .with_hint(Advice::UseAnother)
}

/// What an I/O error on the witness left behind when nothing had been written.
pub(super) fn sort_io(error: &io::Error) -> Damage {
    match error.kind() {
        // `FileTooLarge`: the limit on the size of this process's files, which `ulimit -f` and `LimitFSIZE` set.
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
            Damage::Full
        }
        io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => Damage::ReadOnly,
        _ => Damage::Stop,
    }
}
