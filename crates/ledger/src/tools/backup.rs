//! A store as a file of JSON lines that people can read and programs can check:
//!
//! ```text
//!   {"mint_backup":1,"store":"postgres","cluster_id":"2b1e…","made_ms":1799999999000}
//!   {"key":"seq/orders","mark":"4000","version":"17","body":"{…}"}
//!   …
//!   {"registers":2,"sha256":"9f86…"}         of every byte above
//! ```
//!
//! `made_ms` is when what is in it was last acknowledged, as far as the store says: a restore skips what can have been
//! given out since. A store that was moved away, or that holds half of something, has no backup.
//!
//! Each register is read whole; marks only grow, so that one that moves on meanwhile is covered by what a restore
//! skips. Pools are read after their windows, so that none of these is without its pool.

use std::io::{BufRead, Write};

use mintage::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::KEPT;
use super::begun::{check_not_set_back, check_seal};
use crate::advance::newest_wall;
use crate::runtime::Runtime;
use crate::store::{Key, SCAN_LIMIT_MAX, Store, StoreError, Value};

/// The version of the format.
const FORMAT: u32 = 1;
/// The longest line: the largest body, every byte of it escaped, and the rest.
const LINE_MAX_BYTES: u64 = 128 * 1024;

#[derive(Serialize, Deserialize)]
struct Head {
    mint_backup: u32,
    store: String,
    cluster_id: String,
    made_ms: i64,
}

/// Numbers may pass 2^53, which JSON readers lose.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    key: String,
    mark: String,
    version: String,
    body: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Foot {
    registers: u64,
    sha256: String,
}

/// A backup that was read and found whole.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Backup {
    /// The scheme of the store it was made of.
    pub store: String,
    /// The cluster it is of.
    pub cluster_id: u128,
    /// When what is in it was last acknowledged, by the newest heartbeat in the store; without one, when its making
    /// began.
    pub made: Timestamp,
    /// The sum of its bytes, as its last line says it.
    pub sha256: String,
    /// The registers; their tokens are not kept.
    pub registers: Vec<(Key, Value)>,
}

/// A backup that could not be made or read.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// The file could not be written or read.
    #[error("{0}")]
    File(#[from] std::io::Error),
    /// The store refused.
    #[error("{0}")]
    Store(#[from] StoreError),
    /// The file is no whole backup.
    #[error("line {line}: {why}")]
    Damaged {
        /// The first line that makes no sense, from 1.
        line: u64,
        /// What is wrong with it.
        why: String,
    },
}

/// What a backup that was made has in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BackedUp {
    /// How many registers.
    pub registers: u64,
    /// As [`Backup::made`].
    pub made: Timestamp,
    /// Whether a heartbeat in the store says that; else it is the clock of the machine.
    pub by_heartbeat: bool,
}

/// The lines of a backup of a store, made page by page: what is in memory does not grow with the store.
pub struct BackupLines {
    /// The first line, until it was given.
    head: Option<Head>,
    /// Whether nobody here keeps the store alive: its own heartbeats date it then.
    at_rest: bool,
    by_heartbeat: bool,
    made: Timestamp,
    /// What is still to be read, the present one last.
    prefixes: Vec<&'static str>,
    after: Option<Key>,
    sum: Sha256,
    registers: u64,
    ended: bool,
}

impl BackupLines {
    /// A backup that begins now, of a store that this process serves: it is its heartbeat.
    pub fn new(store: &dyn Store, runtime: &dyn Runtime) -> BackupLines {
        let made = runtime.wall();
        BackupLines {
            head: Some(Head {
                mint_backup: FORMAT,
                store: store.scheme().to_string(),
                cluster_id: format!("{:032x}", store.cluster_id()),
                made_ms: made.unix_millis(),
            }),
            at_rest: false,
            by_heartbeat: false,
            made,
            prefixes: KEPT.into_iter().rev().collect(),
            after: None,
            sum: Sha256::new(),
            registers: 0,
            ended: false,
        }
    }

    /// A backup of a store that this process does not serve: dated by the newest heartbeat in it.
    fn at_rest(store: &dyn Store, runtime: &dyn Runtime) -> BackupLines {
        BackupLines {
            at_rest: true,
            ..BackupLines::new(store, runtime)
        }
    }

    /// How many registers were given so far.
    pub fn registers(&self) -> u64 {
        self.registers
    }

    /// The next whole lines; `None` after the last, which has the sum.
    ///
    /// # Errors
    /// The store does not answer, or is sealed: what was given so far is no backup.
    pub async fn next(&mut self, store: &dyn Store) -> Result<Option<Vec<u8>>, StoreError> {
        let mut text = match self.head.take() {
            Some(head) => {
                check_seal(store, None).await?;
                json(&self.dated(head, store).await?) + "\n"
            }
            None => String::new(),
        };
        while text.is_empty() {
            let Some(prefix) = self.prefixes.last() else {
                // It may have been moved away meanwhile.
                check_seal(store, None).await?;
                return Ok(self.foot());
            };
            let prefix = Key::new(*prefix).expect("a constant within the key grammar");
            let page = store.scan(&prefix, self.after.as_ref(), SCAN_LIMIT_MAX).await?;
            self.after = page.last().map(|(key, _)| key.clone());
            if page.len() < usize::from(SCAN_LIMIT_MAX) {
                self.after = None;
                self.prefixes.pop();
            }
            for (key, found) in page {
                text += &json(&Line {
                    key: key.to_string(),
                    mark: found.value.mark.to_string(),
                    version: found.version.number().to_string(),
                    body: found.value.body,
                });
                text.push('\n');
                self.registers += 1;
            }
        }
        self.sum.update(&text);
        Ok(Some(text.into_bytes()))
    }

    /// Of what the store says and the clock the older: what is in it may be older than its making.
    async fn dated(&mut self, head: Head, store: &dyn Store) -> Result<Head, StoreError> {
        let beat = match self.at_rest {
            true => {
                check_not_set_back(store).await?;
                newest_wall(store).await?.max(store.newest_wall())
            }
            // A server looks for that all the time.
            false => None,
        };
        self.by_heartbeat = beat.is_some();
        self.made = self.made.min(beat.unwrap_or(self.made));
        Ok(Head {
            made_ms: self.made.unix_millis(),
            ..head
        })
    }

    fn foot(&mut self) -> Option<Vec<u8>> {
        if std::mem::replace(&mut self.ended, true) {
            return None;
        }
        let foot = Foot {
            registers: self.registers,
            sha256: hex(&std::mem::take(&mut self.sum).finalize()),
        };
        Some((json(&foot) + "\n").into_bytes())
    }
}

impl std::fmt::Debug for BackupLines {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "BackupLines({} so far)", self.registers)
    }
}

/// Writes everything a store must not lose to `out`, and answers how much that was and how old.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// use mintage_ledger::*;
/// let runtime = SystemRuntime::new(tokio::runtime::Handle::current());
/// let store = open_store("memory:", &StoreSettings::default(), runtime.clone()).await?;
/// let mut file = Vec::new();
/// let done = tools::back_up(&*store, &mut file, &*runtime).await?;
/// assert_eq!((done.registers, done.by_heartbeat), (0, false));
/// assert_eq!(tools::Backup::read(&file[..])?.cluster_id, store.cluster_id());
/// file.pop();
/// file[20] ^= 1;
/// assert!(tools::Backup::read(&file[..]).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
///
/// # Errors
/// The store does not answer, or `out` cannot be written; [`StoreErrorKind::Stopped`](crate::StoreErrorKind::Stopped)
/// for a store that is sealed.
pub async fn back_up(
    store: &dyn Store,
    out: &mut (dyn Write + Send),
    runtime: &dyn Runtime,
) -> Result<BackedUp, BackupError> {
    let mut lines = BackupLines::at_rest(store, runtime);
    while let Some(text) = lines.next(store).await? {
        out.write_all(&text)?;
    }
    out.flush()?;
    Ok(BackedUp {
        registers: lines.registers(),
        made: lines.made,
        by_heartbeat: lines.by_heartbeat,
    })
}

impl Backup {
    /// Reads a backup and checks its sum, every key and every mark.
    ///
    /// # Errors
    /// The first line that makes no sense, or a sum that differs.
    pub fn read(input: impl BufRead) -> Result<Backup, BackupError> {
        let mut registers = Vec::new();
        let (head, cluster_id, foot) = read_lines(input, |_, register| {
            registers.extend(register);
            Ok(())
        })?;
        Ok(Backup {
            store: head.store,
            cluster_id,
            made: Timestamp::from_unix_millis(head.made_ms),
            sha256: foot.sha256,
            registers,
        })
    }
}

/// Copies a backup, line by line, and checks it as [`Backup::read`] does; answers how many registers it has. What is
/// in `out` is no backup if this fails.
///
/// # Errors
/// As [`Backup::read`], or `out` cannot be written.
pub fn copy_backup(input: impl BufRead, out: &mut (dyn Write + Send)) -> Result<u64, BackupError> {
    let (.., foot) = read_lines(input, |line, _| Ok(out.write_all(line.as_bytes())?))?;
    out.flush()?;
    Ok(foot.registers)
}

/// Reads a whole backup and hands out each of its lines, with what it ends with, and the register that it holds.
fn read_lines(
    mut input: impl BufRead,
    mut each: impl FnMut(&str, Option<(Key, Value)>) -> Result<(), BackupError>,
) -> Result<(Head, u128, Foot), BackupError> {
    let damaged = |line, why: String| BackupError::Damaged { line, why };
    let mut sum = Sha256::new();
    let (mut number, mut registers) = (0, 0);
    let mut head: Option<(Head, u128)> = None;
    loop {
        number += 1;
        let mut line = Vec::new();
        std::io::Read::take(&mut input, LINE_MAX_BYTES).read_until(b'\n', &mut line)?;
        if line.last() != Some(&b'\n') {
            return Err(damaged(
                number,
                "the file ends here, or the line is too long".into(),
            ));
        }
        let text = String::from_utf8(line).map_err(|_| damaged(number, "it is not text".into()))?;
        let Some((head_read, cluster_id)) = head.take() else {
            head = Some(read_head(&text)?);
            sum.update(&text);
            each(&text, None)?;
            continue;
        };
        if text.starts_with("{\"registers\":") {
            let foot: Foot = parse(number, &text)?;
            let found = hex(&sum.finalize());
            if foot.sha256 != found || foot.registers != registers {
                let why = format!(
                    "{registers} registers with sum {found}, the last line says {} and {}",
                    foot.registers, foot.sha256
                );
                return Err(damaged(number, why));
            }
            each(&text, None)?;
            return Ok((head_read, cluster_id, foot));
        }
        head = Some((head_read, cluster_id));
        sum.update(&text);
        let line: Line = parse(number, &text)?;
        let key = Key::new(line.key).map_err(|e| damaged(number, e.message))?;
        let mark = line.mark.parse().ok().filter(|mark| *mark <= i64::MAX as u64);
        let mark = mark.ok_or_else(|| damaged(number, format!("mark {:?}", line.mark)))?;
        let value = Value {
            mark,
            token: 0,
            body: line.body,
        };
        registers += 1;
        each(&text, Some((key, value)))?;
    }
}

fn read_head(text: &str) -> Result<(Head, u128), BackupError> {
    let damaged = |why: String| BackupError::Damaged { line: 1, why };
    let head: Head = parse(1, text)?;
    if head.mint_backup != FORMAT {
        return Err(damaged(format!(
            "format {}, this program reads {FORMAT}",
            head.mint_backup
        )));
    }
    let cluster_id = u128::from_str_radix(&head.cluster_id, 16)
        .map_err(|_| damaged(format!("cluster id {:?}", head.cluster_id)))?;
    Ok((head, cluster_id))
}

fn parse<'a, T: Deserialize<'a>>(line: u64, text: &'a str) -> Result<T, BackupError> {
    serde_json::from_str(text).map_err(|error| BackupError::Damaged {
        line,
        why: error.to_string(),
    })
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("plain fields always serialise")
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
