//! The file of the trail.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use rustix::fs::FallocateFlags;
use rustix::io::Errno;
use serde_json::{Map, Value};

use super::act::{Act, Line};
use crate::config::Config;
use crate::error::{Answer, Code, ServiceError};

/// The audit trail of a server; off unless a file is named.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trail(Option<Arc<Open>>);

#[derive(Debug)]
struct Open {
    path: PathBuf,
    sync: bool,
    max_bytes: u64,
    keep: u64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    file: Option<File>,
    /// Lines that could not be written yet: while there are any, nothing is changed.
    owed: Vec<u8>,
}

/// How much is owed at most: acts that were under way when the first line failed, and attempts that were refused.
const OWED_MAX: usize = 1 << 20;

impl Trail {
    /// That of a configuration.
    ///
    /// # Errors
    /// In words: the file cannot be written.
    pub(crate) fn open(config: &Config) -> Result<Trail, String> {
        let Some(path) = &config.audit_file.0 else {
            return Ok(Trail::default());
        };
        let path = path.0.clone();
        let file = append(&path).map_err(|error| format!("audit.file {}: {error}", path.display()))?;
        Ok(Trail(Some(Arc::new(Open {
            path,
            sync: config.audit_sync,
            max_bytes: config.audit_max_size.0 as u64,
            keep: config.audit_keep,
            state: Mutex::new(State {
                file: Some(file),
                owed: Vec::new(),
            }),
        }))))
    }

    /// Whether there is one.
    pub(crate) fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Its file.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.0.as_deref().map(|open| open.path.as_path())
    }

    /// The last lines, the newest first, `limit` at most: those of the file that are within its last [`LAST_BYTES`].
    ///
    /// # Errors
    /// The file cannot be read.
    pub(crate) fn last(&self, limit: usize) -> io::Result<Vec<Map<String, Value>>> {
        let Some(path) = self.path() else {
            return Ok(Vec::new());
        };
        let mut file = File::open(path)?;
        let skipped = file.metadata()?.len().saturating_sub(LAST_BYTES);
        file.seek(SeekFrom::Start(skipped))?;
        let mut bytes = Vec::new();
        file.take(LAST_BYTES).read_to_end(&mut bytes)?;
        // The first line may have lost its beginning, the last one may just be written: neither is read then.
        let lines = bytes.rsplit(|byte| *byte == b'\n');
        let read = lines.filter_map(|line| serde_json::from_slice(line).ok());
        Ok(read.take(limit).collect())
    }

    /// Whether an act could be told of: asked before it is done.
    ///
    /// # Errors
    /// [`Code::Unavailable`]: an earlier line could not be written, and still cannot; or there is no room for another one.
    pub(super) fn check(&self) -> Answer<()> {
        let Some(open) = &self.0 else {
            return Ok(());
        };
        let mut state = open.state.lock().expect("no panic while held");
        let paid = state.owed.is_empty() || open.pay(&mut state).is_ok();
        if paid && state.file.as_ref().is_none_or(has_room) {
            return Ok(());
        }
        let why = "the audit trail cannot be written, and nothing is changed that it could not tell of";
        Err(ServiceError::new(Code::Unavailable, why).with_retry_after_s(RETRY_S))
    }

    /// Writes an act down, on disk where that was asked for, before its answer goes out.
    ///
    /// # Errors
    /// [`Code::Unavailable`]: the line had to be on disk, and is not. It is owed, as long as this process lives.
    pub(super) async fn tell(
        &self,
        act: Act,
        before: Vec<Value>,
        after: Vec<Value>,
        outcome: &'static str,
    ) -> Answer<()> {
        let Some(open) = self.0.clone() else {
            return Ok(());
        };
        let sync = open.sync;
        let work = move || open.write(&Line::new(&act, &before, &after, outcome));
        // Files are slow, and others of this thread go on meanwhile.
        let is_written = tokio::task::spawn_blocking(work).await.unwrap_or_else(|_| {
            tracing::error!("the audit trail was not written: the server is ending");
            false
        });
        if is_written || !sync {
            return Ok(());
        }
        let why = "it was done, and the audit trail could not be written, which was to tell of it before this answer";
        Err(ServiceError::new(Code::Unavailable, why).with_hint("look what there is before you ask again"))
    }
}

const RETRY_S: u64 = 5;

/// How much of the file is read for its last lines.
const LAST_BYTES: u64 = 1 << 20;

impl Open {
    /// Writes a line, or owes it; whether it is written.
    fn write(&self, line: &Line<'_>) -> bool {
        let mut text = mintage_wire::json::to_vec(line).unwrap_or_default();
        text.push(b'\n');
        let mut state = self.state.lock().expect("no panic while held");
        if state.owed.len() + text.len() <= OWED_MAX {
            state.owed.extend_from_slice(&text);
        }
        let paid = self.pay(&mut state);
        if let Err(error) = &paid {
            let (path, line) = (self.path.display(), String::from_utf8_lossy(&text));
            tracing::error!(%path, %error, line = line.trim_end(), "the audit trail cannot be written");
        }
        paid.is_ok()
    }

    /// Writes what is owed.
    fn pay(&self, state: &mut State) -> io::Result<()> {
        let mut file = match state.file.take() {
            Some(open) => open,
            None => append(&self.path)?,
        };
        let mut length = file.metadata()?.len();
        if length > 0 && length + state.owed.len() as u64 > self.max_bytes {
            rotate(&self.path, self.keep)?;
            file = append(&self.path)?;
            length = 0;
        }
        file.write_all(&state.owed).inspect_err(|_| {
            // Half a line would be read as two.
            let _ = file.set_len(length);
        })?;
        if self.sync {
            file.sync_data()?;
        }
        state.owed.clear();
        state.file = Some(file);
        Ok(())
    }
}

/// Whether a file system has room for what is told next, which is taken then: one that cannot be asked is taken to have it.
fn has_room(file: &File) -> bool {
    let Ok(found) = file.metadata() else { return true };
    let taken = rustix::fs::fallocate(file, FallocateFlags::KEEP_SIZE, found.len(), ROOM_BYTES);
    !matches!(taken, Err(Errno::NOSPC | Errno::DQUOT))
}

/// As much as a line takes with the longest names.
const ROOM_BYTES: u64 = 64 * 1024;

fn append(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .open(path)
}

/// `trail` becomes `trail.1`, that `trail.2`, and so on; the oldest goes.
fn rotate(path: &Path, keep: u64) -> io::Result<()> {
    let numbered = |number: u64| {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".{number}"));
        PathBuf::from(name)
    };
    for number in (1..keep).rev() {
        match std::fs::rename(numbered(number), numbered(number + 1)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    match keep {
        0 => std::fs::remove_file(path),
        _ => std::fs::rename(path, numbered(1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Bytes, LocalPath, Off};

    fn act() -> Act {
        Act {
            what: "drop",
            names: vec!["orders".into()],
            token: "boss".into(),
            peer: "unix".into(),
            face: "http",
            with: None,
        }
    }

    #[tokio::test]
    async fn it_is_rotated_by_size_and_says_when_it_cannot_be_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.jsonl");
        let config = Config {
            audit_file: Off(Some(LocalPath(path.clone()))),
            audit_max_size: Bytes(300),
            audit_keep: 2,
            audit_sync: true,
            ..Config::default()
        };
        let trail = Trail::open(&config).unwrap();
        for _ in 0..10 {
            trail.check().unwrap();
            trail
                .tell(act(), vec![Value::Null], vec![], "done")
                .await
                .unwrap();
        }
        let names: Vec<String> = (0..4)
            .map(|number| {
                if number == 0 {
                    "audit.jsonl".into()
                } else {
                    format!("audit.jsonl.{number}")
                }
            })
            .collect();
        let there: Vec<bool> = names
            .iter()
            .map(|name| folder.path().join(name).exists())
            .collect();
        assert_eq!(there, [true, true, true, false]);
        let text = std::fs::read_to_string(&path).unwrap();
        let line: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
        assert_eq!(
            (&line["what"], &line["outcome"]),
            (&"drop".into(), &"done".into())
        );
        assert!(text.len() <= 300);
        let last = trail.last(1).unwrap();
        assert_eq!(
            last,
            [serde_json::from_str::<Map<String, Value>>(text.lines().last().unwrap()).unwrap()]
        );
        assert_eq!(trail.last(100).unwrap().len(), text.lines().count());
    }

    #[tokio::test]
    async fn what_it_cannot_write_is_owed_and_nothing_is_changed_meanwhile() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.jsonl");
        std::os::unix::fs::symlink("/dev/full", &path).unwrap();
        let config = |audit_sync| Config {
            audit_file: Off(Some(LocalPath(path.clone()))),
            audit_sync,
            ..Config::default()
        };
        // Where a line was to be on disk first, the act is not said to be done.
        let synced = Trail::open(&config(true)).unwrap();
        let error = synced.tell(act(), vec![], vec![], "done").await.unwrap_err();
        assert!(error.message.starts_with("it was done"), "{error}");
        let trail = Trail::open(&config(false)).unwrap();
        trail.check().unwrap();
        trail.tell(act(), vec![], vec![], "done").await.unwrap();
        assert_eq!(trail.check().unwrap_err().code, Code::Unavailable);
        std::fs::remove_file(&path).unwrap();
        trail.check().unwrap();
        assert_eq!(
            std::fs::read_to_string(&path).unwrap().lines().count(),
            1,
            "nothing was lost"
        );
    }
}
