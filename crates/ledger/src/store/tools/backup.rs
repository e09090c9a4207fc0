//! A store as a file of JSON lines that people can read and programs can check:
//!
//! ```text
//!   {"mint_backup":1,"store":"postgres","cluster_id":"2b1e…","made_ms":1799999999000}
//!   {"key":"seq/orders","mark":"4000","version":"17","body":"{…}"}
//!   …
//!   {"registers":2,"sha256":"9f86…"}         of every byte above
//! ```
//!
//! Each register is read whole; marks only grow, so that one that moves on meanwhile is covered by what a restore
//! skips.

use std::io::{BufRead, Write};

use mintage::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::super::{Key, Store, StoreError, Value};
use super::{PREFIXES, Pages};
use crate::runtime::Runtime;

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
    /// When its making began, by the clock of the machine that made it.
    pub made: Timestamp,
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

/// Writes everything a store must not lose to `out`, and answers how many registers that were.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// use mintage_ledger::*;
/// let runtime = SystemRuntime::new(tokio::runtime::Handle::current());
/// let store = open_store("memory:", &StoreSettings::default(), runtime.clone()).await?;
/// let mut file = Vec::new();
/// assert_eq!(tools::back_up(&*store, &mut file, &*runtime).await?, 0);
/// assert_eq!(tools::Backup::read(&file[..])?.cluster_id, store.cluster_id());
/// file.pop();
/// file[20] ^= 1;
/// assert!(tools::Backup::read(&file[..]).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
///
/// # Errors
/// The store does not answer, or `out` cannot be written.
pub async fn back_up(
    store: &dyn Store,
    out: &mut (dyn Write + Send),
    runtime: &dyn Runtime,
) -> Result<u64, BackupError> {
    let mut sum = Sha256::new();
    let head = Head {
        mint_backup: FORMAT,
        store: store.scheme().to_string(),
        cluster_id: format!("{:032x}", store.cluster_id()),
        made_ms: runtime.wall().unix_millis(),
    };
    let mut put = |text: String| {
        let line = text + "\n";
        sum.update(&line);
        out.write_all(line.as_bytes())
    };
    put(json(&head))?;
    let mut registers = 0;
    // A store of a set keeps its place in it.
    for prefix in PREFIXES.into_iter().chain(["cluster/stripe"]) {
        let mut pages = Pages::of(store, prefix);
        loop {
            let page = pages.next().await?;
            if page.is_empty() {
                break;
            }
            for (key, found) in page {
                put(json(&Line {
                    key: key.to_string(),
                    mark: found.value.mark.to_string(),
                    version: found.version.0.to_string(),
                    body: found.value.body,
                }))?;
                registers += 1;
            }
        }
    }
    let sha256 = hex(&sum.finalize());
    out.write_all((json(&Foot { registers, sha256 }) + "\n").as_bytes())?;
    out.flush()?;
    Ok(registers)
}

impl Backup {
    /// Reads a backup and checks its sum, every key and every mark.
    ///
    /// # Errors
    /// The first line that makes no sense, or a sum that differs.
    pub fn read(mut input: impl BufRead) -> Result<Backup, BackupError> {
        let mut sum = Sha256::new();
        let mut number = 0;
        let mut next = |sum: &mut Sha256| -> Result<(u64, String), BackupError> {
            number += 1;
            let mut line = Vec::new();
            std::io::Read::take(&mut input, LINE_MAX_BYTES).read_until(b'\n', &mut line)?;
            let damaged = |why: &str| BackupError::Damaged {
                line: number,
                why: why.to_string(),
            };
            if line.pop() != Some(b'\n') {
                return Err(damaged("the file ends here, or the line is too long"));
            }
            let text = String::from_utf8(line).map_err(|_| damaged("it is not text"))?;
            if !text.starts_with("{\"registers\":") {
                sum.update(&text);
                sum.update("\n");
            }
            Ok((number, text))
        };
        let (_, first) = next(&mut sum)?;
        let head: Head = parse(1, &first)?;
        let damaged = |line, why: String| BackupError::Damaged { line, why };
        if head.mint_backup != FORMAT {
            let why = format!("format {}, this program reads {FORMAT}", head.mint_backup);
            return Err(damaged(1, why));
        }
        let cluster_id = u128::from_str_radix(&head.cluster_id, 16)
            .map_err(|_| damaged(1, format!("cluster id {:?}", head.cluster_id)))?;
        let mut registers = Vec::new();
        loop {
            let (at, text) = next(&mut sum)?;
            if text.starts_with("{\"registers\":") {
                let foot: Foot = parse(at, &text)?;
                let found = hex(&sum.finalize());
                if foot.sha256 != found || foot.registers != registers.len() as u64 {
                    let why = format!(
                        "{} registers with sum {found}, the last line says {} and {}",
                        registers.len(),
                        foot.registers,
                        foot.sha256
                    );
                    return Err(damaged(at, why));
                }
                return Ok(Backup {
                    store: head.store,
                    cluster_id,
                    made: Timestamp::from_unix_millis(head.made_ms),
                    registers,
                });
            }
            let line: Line = parse(at, &text)?;
            let key = Key::new(line.key).map_err(|e| damaged(at, e.message))?;
            let mark = line.mark.parse().ok().filter(|mark| *mark <= i64::MAX as u64);
            let mark = mark.ok_or_else(|| damaged(at, format!("mark {:?}", line.mark)))?;
            let value = Value {
                mark,
                token: 0,
                body: line.body,
            };
            registers.push((key, value));
        }
    }
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
