//! The SQLite half of the embedded store: one row per register, each with its own checksum.
//!
//! Nothing above this file sees SQL. Checkpoints are ours: SQLite ignores a failed sync in its automatic
//! ones and would try it again.

use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, params};

use super::super::{Key, StoreError, Value, Version, Versioned};
use super::errors::{self, Damage};

macro_rules! columns {
    () => {
        "key, mark, version, token, body, commit_no, checksum"
    };
}

/// What a register is, without its body.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Stamp {
    pub(super) mark: u64,
    pub(super) version: u64,
    pub(super) token: u128,
    /// The commit that wrote the row.
    pub(super) commit: u64,
}

/// One row; the key is text, because a repaired row may stand for a key whose name is lost.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Row {
    pub(super) key: String,
    pub(super) stamp: Stamp,
    pub(super) body: String,
}

impl Row {
    pub(super) fn versioned(self) -> Versioned {
        let Stamp {
            mark, version, token, ..
        } = self.stamp;
        Versioned {
            value: Value {
                mark,
                token,
                body: self.body,
            },
            version: Version::of(version),
        }
    }
}

/// The one row of table `meta`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Meta {
    pub(super) cluster: u128,
    /// How many commits there were.
    pub(super) commit: u64,
    /// The witness's generation at the last commit.
    pub(super) generation: u64,
}

/// A row as a reading found it: whole, or why not.
pub(super) enum Read {
    Whole(Row),
    /// The key as far as it can be read, and what is wrong.
    Damaged(String, String),
}

/// The open database.
pub(super) struct Database {
    connection: Connection,
    cluster: u128,
}

/// Why a database cannot be used.
pub(super) enum OpenError {
    Sqlite(rusqlite::Error),
    /// Written by a later program.
    Newer(i64),
    /// Its content is not ours or is damaged.
    Damaged(String),
}

impl From<rusqlite::Error> for OpenError {
    fn from(error: rusqlite::Error) -> Self {
        OpenError::Sqlite(error)
    }
}

/// The version of the tables that this program writes.
pub(super) const SCHEMA: i64 = 1;

impl Database {
    /// Makes the tables in a new file, which is there and empty.
    pub(super) fn create(path: &Path, meta: &Meta) -> Result<Database, OpenError> {
        let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        // One sync at the end, by the checkpoint, instead of one for each step of making it.
        connection.execute_batch("PRAGMA synchronous = OFF")?;
        connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
        let mut database = Database {
            connection,
            cluster: meta.cluster,
        };
        database.begin()?;
        database.connection.execute_batch(TABLES)?;
        database.connection.execute(
            "INSERT INTO meta (id, schema, cluster_id, commit_no, witness_generation, checksum) \
             VALUES (1, ?1, '', 0, 0, 0)",
            params![SCHEMA],
        )?;
        database.put_meta(meta)?;
        database.commit()?;
        durable(&database.connection)?;
        database.checkpoint(true)?;
        Ok(database)
    }

    /// Opens an existing file for writing and checks whose it is.
    pub(super) fn open(path: &Path) -> Result<(Database, Meta), OpenError> {
        let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        durable(&connection)?;
        Database::check_meta(connection)
    }

    /// Opens an existing file without changing it.
    pub(super) fn open_to_read(path: &Path) -> Result<(Database, Meta), OpenError> {
        Database::check_meta(connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?)
    }

    /// Opens a file whose own table of contents is damaged, to read what rows it has.
    pub(super) fn open_unchecked(path: &Path, cluster: u128) -> Result<Database, OpenError> {
        let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        Ok(Database { connection, cluster })
    }

    fn check_meta(connection: Connection) -> Result<(Database, Meta), OpenError> {
        let schema: Option<i64> = connection
            .query_row("SELECT schema FROM meta WHERE id = 1", [], |row| row.get(0))
            .optional()?;
        match schema {
            None => return Err(OpenError::Damaged("table meta has no row".into())),
            Some(schema) if schema > SCHEMA => return Err(OpenError::Newer(schema)),
            Some(_) => {}
        }
        let query =
            "SELECT schema, cluster_id, commit_no, witness_generation, checksum FROM meta WHERE id = 1";
        let (schema, cluster, commit, generation, stored) = connection.query_row(query, [], |row| {
            Ok((
                row.get::<_, i64>(0)?,
                row.get::<_, String>(1)?,
                row.get::<_, i64>(2)?,
                row.get::<_, i64>(3)?,
                row.get::<_, i64>(4)?,
            ))
        })?;
        let cluster_id = u128::from_str_radix(&cluster, 16).unwrap_or(0);
        let meta = Meta {
            cluster: cluster_id,
            commit: commit.unsigned_abs(),
            generation: generation.unsigned_abs(),
        };
        if schema != SCHEMA || commit < 0 || generation < 0 || i64::from(meta_checksum(&meta)) != stored {
            return Err(OpenError::Damaged(
                "the row of table meta does not match its checksum".into(),
            ));
        }
        Ok((
            Database {
                connection,
                cluster: cluster_id,
            },
            meta,
        ))
    }

    pub(super) fn begin(&mut self) -> rusqlite::Result<()> {
        self.connection.execute_batch("BEGIN IMMEDIATE")
    }

    pub(super) fn commit(&mut self) -> rusqlite::Result<()> {
        self.connection.execute_batch("COMMIT")
    }

    /// Leaves a transaction, if there is one, without its changes.
    pub(super) fn rollback(&mut self) -> rusqlite::Result<()> {
        match self.connection.is_autocommit() {
            true => Ok(()),
            false => self.connection.execute_batch("ROLLBACK"),
        }
    }

    pub(super) fn put_meta(&self, meta: &Meta) -> rusqlite::Result<()> {
        let update = "UPDATE meta SET cluster_id = ?1, commit_no = ?2, witness_generation = ?3, checksum = ?4 \
                      WHERE id = 1";
        self.connection.prepare_cached(update)?.execute(params![
            format!("{:032x}", meta.cluster),
            signed(meta.commit),
            signed(meta.generation),
            i64::from(meta_checksum(meta))
        ])?;
        Ok(())
    }

    pub(super) fn put(&self, row: &Row) -> rusqlite::Result<()> {
        let upsert = "INSERT INTO registers (key, mark, version, token, body, commit_no, checksum) \
                      VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (key) DO UPDATE SET mark = ?2, \
                      version = ?3, token = ?4, body = ?5, commit_no = ?6, checksum = ?7";
        self.connection.prepare_cached(upsert)?.execute(params![
            row.key,
            signed(row.stamp.mark),
            signed(row.stamp.version),
            format!("{:032x}", row.stamp.token),
            row.body,
            signed(row.stamp.commit),
            i64::from(row_checksum(self.cluster, row))
        ])?;
        Ok(())
    }

    pub(super) fn delete(&self, key: &str) -> rusqlite::Result<()> {
        self.connection
            .prepare_cached("DELETE FROM registers WHERE key = ?1")?
            .execute([key])?;
        Ok(())
    }

    pub(super) fn get(&self, key: &str) -> rusqlite::Result<Option<Read>> {
        let select = concat!("SELECT ", columns!(), " FROM registers WHERE key = ?1");
        let mut statement = self.connection.prepare_cached(select)?;
        let mut rows = statement.query([key])?;
        rows.next()?.map(|row| self.read(row)).transpose()
    }

    /// A page of rows from `from` on (`after`: without it), in key order.
    pub(super) fn page(&self, from: &str, after: bool, limit: usize) -> rusqlite::Result<Vec<Read>> {
        let select = match after {
            true => {
                concat!(
                    "SELECT ",
                    columns!(),
                    " FROM registers WHERE key > ?1 ORDER BY key LIMIT ?2"
                )
            }
            false => {
                concat!(
                    "SELECT ",
                    columns!(),
                    " FROM registers WHERE key >= ?1 ORDER BY key LIMIT ?2"
                )
            }
        };
        let mut statement = self.connection.prepare_cached(select)?;
        let mut rows = statement.query(params![from, limit as i64])?;
        let mut page = Vec::new();
        while let Some(row) = rows.next()? {
            page.push(self.read(row)?);
        }
        Ok(page)
    }

    /// Passes every row on, in key order, without holding them.
    pub(super) fn each<E: From<rusqlite::Error>>(
        &self,
        mut pass: impl FnMut(Read) -> Result<(), E>,
    ) -> Result<(), E> {
        let select = concat!("SELECT ", columns!(), " FROM registers ORDER BY key");
        let mut statement = self.connection.prepare(select)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            pass(self.read(row)?)?;
        }
        Ok(())
    }

    fn read(&self, row: &rusqlite::Row<'_>) -> rusqlite::Result<Read> {
        let key: String = match row.get_ref(0)? {
            rusqlite::types::ValueRef::Text(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            other => format!("{other:?}"),
        };
        let whole = || -> Option<(Row, i64)> {
            let stamp = Stamp {
                mark: u64::try_from(row.get::<_, i64>(1).ok()?).ok()?,
                version: u64::try_from(row.get::<_, i64>(2).ok()?).ok()?,
                token: u128::from_str_radix(&row.get::<_, String>(3).ok()?, 16).ok()?,
                commit: u64::try_from(row.get::<_, i64>(5).ok()?).ok()?,
            };
            let found = Row {
                key: row.get(0).ok()?,
                stamp,
                body: row.get(4).ok()?,
            };
            Some((found, row.get(6).ok()?))
        };
        let matches = |found: &Row, stored: i64| i64::from(row_checksum(self.cluster, found)) == stored;
        Ok(match whole() {
            Some((found, stored)) if matches(&found, stored) => Read::Whole(found),
            Some(_) => Read::Damaged(key, "its row does not match its checksum".into()),
            None => Read::Damaged(key, "its row cannot be read".into()),
        })
    }

    /// Moves what the WAL holds into the main file and syncs it; `truncate` empties the WAL too. A reader of
    /// another process may keep it from finishing, which is no error.
    pub(super) fn checkpoint(&self, truncate: bool) -> rusqlite::Result<()> {
        let pragma = match truncate {
            true => "PRAGMA wal_checkpoint(TRUNCATE)",
            false => "PRAGMA wal_checkpoint(PASSIVE)",
        };
        self.connection.query_row(pragma, [], |_| Ok(()))
    }

    /// What SQLite itself says of the file.
    pub(super) fn integrity(&self) -> rusqlite::Result<Vec<String>> {
        let mut statement = self.connection.prepare("PRAGMA integrity_check(20)")?;
        let lines = statement.query_map([], |row| row.get(0))?;
        lines.filter(|line| line.as_deref() != Ok("ok")).collect()
    }

    pub(super) fn close(self) -> rusqlite::Result<()> {
        self.connection.close().map_err(|(_, error)| error)
    }
}

fn connect(path: &Path, mode: OpenFlags) -> Result<Connection, OpenError> {
    let mode = mode | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let connection = Connection::open_with_flags(path, mode)?;
    connection.busy_timeout(BUSY_WAIT)?;
    connection.set_prepared_statement_cache_capacity(16);
    // A checkpoint at close would repeat a sync that failed, and then delete the WAL.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    Ok(connection)
}

/// Asks for durability and reads back that it was granted (protocol E2).
fn durable(connection: &Connection) -> Result<(), OpenError> {
    let journal: String = connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))?;
    connection.execute_batch(
        "PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0; PRAGMA cell_size_check = ON",
    )?;
    connection.execute_batch("PRAGMA cache_size = -1024")?;
    let synchronous: i64 = connection.query_row("PRAGMA synchronous", [], |row| row.get(0))?;
    match (journal.as_str(), synchronous) {
        ("wal", 2) => Ok(()),
        _ => Err(OpenError::Damaged(format!(
            "SQLite runs with journal_mode {journal} and synchronous {synchronous}, asked for wal and 2"
        ))),
    }
}

/// Whether an error leaves the file as it was, and what it means; anything else stops the store.
pub(super) fn sort(error: &rusqlite::Error) -> Damage {
    let Some(code) = error.sqlite_error() else {
        return Damage::Stop;
    };
    // Extended codes keep the reason in the upper bits (sqlite.org/rescode.html).
    match (code.code, code.extended_code) {
        (ErrorCode::DiskFull, _) => Damage::Full,
        (ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied, _) => Damage::ReadOnly,
        (ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked, _) => Damage::Busy,
        (ErrorCode::OutOfMemory, _) => Damage::Busy,
        (ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase, _) => Damage::Corrupt,
        // SQLite tells no more of a write that failed. Where the size of files is limited, this is what it was: the
        // transaction is rolled back, as on a full disk.
        (ErrorCode::SystemIoFailure, SQLITE_IOERR_WRITE) if is_file_size_limited() => Damage::Full,
        _ => Damage::Stop,
    }
}

const SQLITE_IOERR_WRITE: i32 = 778;

/// Whether the system limits the size of this process's files (`RLIMIT_FSIZE`).
fn is_file_size_limited() -> bool {
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let line = limits.lines().find_map(|line| line.strip_prefix("Max file size"));
    line.is_some_and(|line| line.split_whitespace().next() != Some("unlimited"))
}

fn row_checksum(cluster: u128, row: &Row) -> u32 {
    let mut crc = crc32c::crc32c(&cluster.to_be_bytes());
    for text in [&row.key, &row.body] {
        crc = crc32c::crc32c_append(crc, &(text.len() as u64).to_be_bytes());
        crc = crc32c::crc32c_append(crc, text.as_bytes());
    }
    let Stamp {
        mark,
        version,
        token,
        commit,
    } = row.stamp;
    for number in [u128::from(mark), u128::from(version), token, u128::from(commit)] {
        crc = crc32c::crc32c_append(crc, &number.to_be_bytes());
    }
    crc
}

fn meta_checksum(meta: &Meta) -> u32 {
    let mut crc = crc32c::crc32c(&SCHEMA.to_be_bytes());
    for number in [meta.cluster, u128::from(meta.commit), u128::from(meta.generation)] {
        crc = crc32c::crc32c_append(crc, &number.to_be_bytes());
    }
    crc
}

/// Marks, versions and counters are kept below 2^63 by the rules of the store.
fn signed(number: u64) -> i64 {
    i64::try_from(number).expect("checked against 2^63-1 before it is stored")
}

/// The error of an opening that failed, for the folder at `folder`.
pub(super) fn refuse(folder: &Path, error: OpenError) -> StoreError {
    match error {
        OpenError::Newer(schema) => errors::newer(folder, "mint.db", schema, SCHEMA),
        OpenError::Damaged(what) => errors::damaged(folder, format!("mint.db is damaged: {what}")),
        OpenError::Sqlite(error) => match sort(&error) {
            Damage::Full | Damage::ReadOnly | Damage::Busy => errors::passing(folder, sort(&error), &error),
            Damage::Corrupt | Damage::Stop => {
                errors::damaged(folder, format!("mint.db cannot be read: {error}"))
            }
        },
    }
}

/// Whether a text can be a register's key; a row of a key whose name is lost begins with `#`.
pub(super) fn lost_name(hash: u128) -> String {
    format!("#{hash:032x}")
}

/// The hash that a [`lost_name`] stands for.
pub(super) fn lost_hash(key: &str) -> Option<u128> {
    u128::from_str_radix(key.strip_prefix('#')?, 16).ok()
}

/// A key from a row that passed its checksum.
pub(super) fn key_of(row: &Row) -> Option<Key> {
    Key::new(row.key.clone()).ok()
}

/// How long to wait for another process that looks at the database with its own tools.
const BUSY_WAIT: Duration = Duration::from_secs(1);

const TABLES: &str = "
CREATE TABLE registers (
    key TEXT NOT NULL PRIMARY KEY,
    mark INTEGER NOT NULL,
    version INTEGER NOT NULL,
    token TEXT NOT NULL,
    body TEXT NOT NULL,
    commit_no INTEGER NOT NULL,
    checksum INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE meta (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    schema INTEGER NOT NULL,
    cluster_id TEXT NOT NULL,
    commit_no INTEGER NOT NULL,
    witness_generation INTEGER NOT NULL,
    checksum INTEGER NOT NULL
);
";
