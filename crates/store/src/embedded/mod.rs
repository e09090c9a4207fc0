//! The store `file:PATH`: one folder on a local disk, for one process at a time.
//!
//! Two independent records of every mark: SQLite, whose rows carry their own checksums, and a witness of
//! fixed checksummed records (protocol E1). A write is acknowledged after both are synced; a
//! [`claim`](super::Store::claim) after the witness alone, and the database follows at the next commit, at
//! most a second later. A start compares both and refuses, naming the record, when they disagree by more than
//! that. After a failed sync the process stops reserving for good (protocol E3).
//!
//! Three things tell the folder from what looks like it: what kind of file `mint.db` is (`inode`: copies), a file
//! whose name says how far the witness got (`reached`: a backup put back in place), and a note of that outside the
//! folder (`elsewhere`: an image or snapshot of the volume put back).
//!
//! **Not guarded against:** a snapshot of a whole machine that is restored, state folder included (the heartbeat makes
//! a start warn), and a folder that runs on elsewhere after it was adopted here.

mod batch;
mod commit;
mod database;
mod elsewhere;
mod engine;
mod errors;
mod folder;
mod handle;
mod inode;
mod open;
mod private;
mod reached;
mod recover;
mod repair;
#[cfg(test)]
mod tests;
mod tools;
mod witness;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use mintage::Timestamp;
use sha2::{Digest, Sha256};
use tokio::sync::{mpsc, oneshot};

use super::{
    Cas, Claim, Class, Key, Marks, Outcome, Store, StoreError, StoreErrorKind, StoreResult, StoreSettings,
    Value, Version, Versioned,
};
use crate::runtime::Runtime;
use engine::{Answer, Call, Message, Op, closed};
use folder::Folder;
use witness::WitnessFile;

pub use folder::is_begun;
pub use repair::{RepairReport, repair};
pub use tools::{CheckReport, ToolReport, adopt, check};
pub use tools::{adopt_as, check_each, make_to_restore, open_to_restore};

/// The embedded store. Thread-safe; exclusive: its folder is locked while it is open.
///
/// ```
/// # let rt = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
/// # let dir = tempfile::tempdir().unwrap();
/// # let folder = dir.path().join("ids");
/// # rt.block_on(async {
/// use mintage_store::{Cas, EmbeddedStore, Key, Marks, Store, StoreSettings, SystemRuntime, Value, Version};
///
/// let runtime = SystemRuntime::new(tokio::runtime::Handle::current());
/// let store = EmbeddedStore::open(&folder, &StoreSettings::default(), runtime.clone()).await?;
/// let key = Key::new("seq/orders")?;
/// let new = Value { mark: 1000, token: 1, body: "{}".into() };
/// assert_eq!(store.compare_and_set(&key, None, new, Marks::NeverLower).await?, Cas::Done(Version::of(1)));
/// store.close().await?;
///
/// let store = EmbeddedStore::open(&folder, &StoreSettings::default(), runtime).await?;
/// assert_eq!(store.get(&key).await?.map(|found| found.value.mark), Some(1000));
/// # Ok::<(), mintage_store::StoreError>(()) }).unwrap();
/// ```
pub struct EmbeddedStore {
    queue: mpsc::Sender<Message>,
    shared: Arc<Shared>,
    report: OpenReport,
    cluster_id: u128,
}

/// What an opening found.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct OpenReport {
    /// The folder was made by this opening.
    pub created: bool,
    /// The last process stopped cleanly.
    pub clean: bool,
    /// The latest wall-clock time that an earlier process recorded.
    pub last_wall: Option<Timestamp>,
    /// Set when the wall clock shows less than that: ids start from here.
    pub held_wall: Option<Timestamp>,
    /// Registers whose claims only the witness had.
    pub claims_recovered: usize,
    /// Registers that the witness had not seen yet.
    pub unwitnessed: usize,
    /// Copies of witness records that were damaged and have been written again.
    pub copies_healed: u64,
    /// What an operator must know; each was logged as a warning too.
    pub warnings: Vec<String>,
}

/// What the store did so far: syncs are what it costs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EmbeddedStats {
    /// Commits of the database, each followed by one append to the witness.
    pub commits: u64,
    /// Appends to the witness for claims alone.
    pub claim_syncs: u64,
    /// New witness files that took the place of full ones.
    pub compactions: u64,
}

#[derive(Default)]
struct Stats {
    commits: AtomicU64,
    claim_syncs: AtomicU64,
    compactions: AtomicU64,
}

/// What callers and the thread share.
#[derive(Default)]
struct Shared {
    path: PathBuf,
    stopped: OnceLock<StoreError>,
    /// The wall clock was confirmed, and the stored heartbeat is to be written by it.
    clock_confirmed: AtomicBool,
    /// What ids read when that was told last, in milliseconds since 1970; 0: nobody has told.
    vouched_ms: AtomicI64,
    stats: Stats,
}

impl Shared {
    /// The time to write down: that of the ids, which follows no wrong clock, or the wall clock's where nobody makes any.
    fn time(&self, runtime: &dyn Runtime) -> Timestamp {
        match self.vouched_ms.load(Ordering::Acquire) {
            0 => runtime.wall(),
            ms => Timestamp::from_unix_millis(ms),
        }
    }
}

/// What tests turn.
#[derive(Clone)]
struct Tuning {
    /// Free slots of a small witness.
    slots_least: u64,
    /// Registers with claims that only the witness has, at most.
    pending_max: usize,
    /// Rows between two checkpoints.
    checkpoint_rows: usize,
    /// Whether a folder may be a copy.
    any_inode: bool,
    /// Whether a copy stays one: it is being restored.
    stays_copy: bool,
    /// For a restore: the cluster id of a folder that is made, and what it holds from its first moment on.
    made_for: Option<(u128, (Key, Value))>,
    wrap: Wrap,
}

/// Puts the witness's file behind the calls that append to it.
type Wrap = Arc<dyn Fn(std::fs::File) -> Box<dyn WitnessFile> + Send + Sync>;

impl Default for Tuning {
    fn default() -> Self {
        Tuning {
            slots_least: witness::SLOTS_LEAST,
            pending_max: 1000,
            checkpoint_rows: 1000,
            any_inode: false,
            stays_copy: false,
            made_for: None,
            wrap: Arc::new(|file| Box::new(file)),
        }
    }
}

/// How many calls wait at most before callers do.
const QUEUE_CALLS: usize = 4096;
/// How often claims are applied and the path is checked.
const TICK: Duration = Duration::from_secs(1);
/// How often a locked folder is tried again.
const LOCK_RETRY: Duration = Duration::from_millis(5);

/// The key of a register in the witness: half of its SHA-256, so that no two names meet.
fn key_hash(key: &Key) -> u128 {
    let digest = Sha256::digest(key.as_str().as_bytes());
    digest
        .iter()
        .take(16)
        .fold(0, |n, byte| n << 8 | u128::from(*byte))
}

/// Locks a folder, waiting for another process at most `settings.lock_wait`.
async fn lock(
    path: &Path,
    create: bool,
    settings: &StoreSettings,
    runtime: &dyn Runtime,
) -> Result<Folder, StoreError> {
    let began = runtime.boottime();
    loop {
        if let Some(folder) = Folder::lock(path, create, &settings.allow_file_systems)? {
            return Ok(folder);
        }
        let waited = runtime.boottime().saturating_sub(began);
        let Some(left) = settings
            .lock_wait
            .checked_sub(waited)
            .filter(|left| !left.is_zero())
        else {
            return Err(Folder::in_use(path));
        };
        runtime.sleep(LOCK_RETRY.min(left)).await;
    }
}

/// Refuses a place without a store where this machine remembers one.
fn check_not_gone(path: &Path, settings: &StoreSettings) -> Result<(), StoreError> {
    let Some(state) = &settings.state_folder else {
        return Ok(());
    };
    match folder::is_begun(path) {
        true => Ok(()),
        false => match elsewhere::were_here(state, path).first() {
            None => Ok(()),
            Some((_, noted)) => Err(errors::gone(path, noted.lsn)),
        },
    }
}

impl EmbeddedStore {
    /// Opens the store in the folder `path`, making it at the first start (unless `settings.create` is off).
    ///
    /// # Errors
    /// [`StoreErrorKind::InUse`] while another process has it (after `settings.lock_wait`),
    /// [`StoreErrorKind::Foreign`] for a copied, foreign or newer folder or one that was set back,
    /// [`StoreErrorKind::Corrupt`] when its two records disagree, [`StoreErrorKind::Denied`] for a folder or file of
    /// another user, a link among the files and a file system that is not allowed,
    /// [`StoreErrorKind::Invalid`] for a place without a store that may not be made, [`StoreErrorKind::Denied`] and [`StoreErrorKind::Unavailable`] for what the
    /// system refuses. Each names the folder, what was found and what to do.
    pub async fn open(
        path: impl AsRef<Path>,
        settings: &StoreSettings,
        runtime: Arc<dyn Runtime>,
    ) -> Result<Arc<EmbeddedStore>, StoreError> {
        EmbeddedStore::open_tuned(path.as_ref(), settings, Tuning::default(), runtime).await
    }

    /// As [`EmbeddedStore::open`], of a folder that may be a copy; for tests. `small` makes everything happen often
    /// that happens rarely: new witnesses, checkpoints, claims that reach the database.
    ///
    /// # Errors
    /// As [`EmbeddedStore::open`].
    #[cfg(any(test, feature = "testing"))]
    pub async fn open_copy(
        path: impl AsRef<Path>,
        small: bool,
        runtime: Arc<dyn Runtime>,
    ) -> Result<Arc<EmbeddedStore>, StoreError> {
        let mut tuning = Tuning {
            any_inode: true,
            ..Tuning::default()
        };
        if small {
            (tuning.slots_least, tuning.pending_max, tuning.checkpoint_rows) = (16, 5, 12);
        }
        EmbeddedStore::open_tuned(path.as_ref(), &StoreSettings::default(), tuning, runtime).await
    }

    async fn open_tuned(
        path: &Path,
        settings: &StoreSettings,
        tuning: Tuning,
        runtime: Arc<dyn Runtime>,
    ) -> Result<Arc<EmbeddedStore>, StoreError> {
        if settings.create && !settings.anew && tuning.made_for.is_none() {
            check_not_gone(path, settings)?;
        }
        let folder = match settings.create {
            true => lock(path, true, settings, &*runtime).await?,
            false => tools::lock_existing(path, settings, &*runtime).await?,
        };
        let shared = Arc::new(Shared {
            path: path.to_path_buf(),
            ..Shared::default()
        });
        let (queue, calls) = mpsc::channel(QUEUE_CALLS);
        let (opened, opening) = oneshot::channel();
        let work = {
            let (shared, runtime, settings) = (shared.clone(), runtime.clone(), settings.clone());
            move || match open::open(folder, &settings, tuning, shared, runtime) {
                Ok((engine, report)) => {
                    let cluster_id = engine.meta.cluster;
                    if opened.send(Ok((report, cluster_id))).is_ok() {
                        engine.run(calls);
                    }
                }
                Err(error) => {
                    let _ = opened.send(Err(error));
                }
            }
        };
        runtime
            .spawn_thread("mint-store", Box::new(work))
            .map_err(|e| errors::system(path, "no thread", &e))?;
        let (report, cluster_id) = opening.await.map_err(|_| closed())??;
        runtime.spawn(Box::pin(tick(queue.downgrade(), runtime.clone())));
        Ok(Arc::new(EmbeddedStore {
            queue,
            shared,
            report,
            cluster_id,
        }))
    }

    /// What the opening found.
    pub fn report(&self) -> &OpenReport {
        &self.report
    }

    /// What the store did so far.
    pub fn stats(&self) -> EmbeddedStats {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let stats = &self.shared.stats;
        EmbeddedStats {
            commits: read(&stats.commits),
            claim_syncs: read(&stats.claim_syncs),
            compactions: read(&stats.compactions),
        }
    }

    async fn call(&self, op: Op) -> Result<Answer, StoreError> {
        if let Some(error) = self.shared.stopped.get() {
            return Err(error.clone());
        }
        let (reply, answer) = oneshot::channel();
        self.queue
            .send(Message::Call(Call { op, reply }))
            .await
            .map_err(|_| closed())?;
        answer.await.unwrap_or_else(|_| {
            // The thread ended with the call in hand: it may have been done.
            let mut error = closed();
            error.outcome = Outcome::Unknown;
            Err(error)
        })
    }

    async fn write(&self, op: Op) -> Result<Cas, StoreError> {
        match self.call(op).await? {
            Answer::Cas(cas) => Ok(cas),
            other => Err(mixed_up(&other)),
        }
    }
}

/// Sends a tick every second until the store is gone.
async fn tick(queue: mpsc::WeakSender<Message>, runtime: Arc<dyn Runtime>) {
    loop {
        runtime.sleep(TICK).await;
        let Some(queue) = queue.upgrade() else { return };
        // A full queue has calls, and calls apply claims: the next tick is soon enough.
        match queue.try_send(Message::Tick) {
            Err(mpsc::error::TrySendError::Closed(_)) => return,
            Ok(()) | Err(mpsc::error::TrySendError::Full(_)) => {}
        }
    }
}

fn mixed_up(answer: &Answer) -> StoreError {
    let message = format!("the store thread answered something else: {answer:?}");
    StoreError::new(StoreErrorKind::Stopped, Outcome::Unknown, message)
}

impl fmt::Debug for EmbeddedStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EmbeddedStore({})", self.shared.path.display())
    }
}

impl Store for EmbeddedStore {
    fn scheme(&self) -> &'static str {
        "file"
    }

    fn class(&self) -> Class {
        Class::Durable
    }

    fn cluster_id(&self) -> u128 {
        self.cluster_id
    }

    fn get<'a>(&'a self, key: &'a Key) -> StoreResult<'a, Option<Versioned>> {
        Box::pin(async move {
            match self.call(Op::Get(key.clone())).await? {
                Answer::Found(found) => Ok(found),
                other => Err(mixed_up(&other)),
            }
        })
    }

    fn compare_and_set<'a>(
        &'a self,
        key: &'a Key,
        expected: Option<Version>,
        new: Value,
        marks: Marks,
    ) -> StoreResult<'a, Cas> {
        Box::pin(async move {
            self.write(Op::Set {
                key: key.clone(),
                expected,
                new,
                marks,
            })
            .await
        })
    }

    fn scan<'a>(
        &'a self,
        prefix: &'a Key,
        after: Option<&'a Key>,
        limit: u16,
    ) -> StoreResult<'a, Vec<(Key, Versioned)>> {
        Box::pin(async move {
            let op = Op::Scan {
                prefix: prefix.clone(),
                after: after.cloned(),
                limit,
            };
            match self.call(op).await? {
                Answer::Page(page) => Ok(page),
                other => Err(mixed_up(&other)),
            }
        })
    }

    fn remove<'a>(&'a self, key: &'a Key, expected: Version) -> StoreResult<'a, Cas> {
        Box::pin(async move {
            self.write(Op::Remove {
                key: key.clone(),
                expected,
            })
            .await
        })
    }

    fn claim<'a>(&'a self, claim: &'a Claim) -> StoreResult<'a, Cas> {
        Box::pin(async move { self.write(Op::Claim(claim.clone())).await })
    }

    fn exclusive(&self) -> bool {
        true
    }

    fn newest_wall(&self) -> Option<Timestamp> {
        self.report.last_wall
    }

    fn clock_confirmed(&self) {
        self.shared.clock_confirmed.store(true, Ordering::Release);
    }

    fn vouch(&self, now: Option<Timestamp>) {
        if let Some(now) = now {
            self.shared.vouched_ms.store(now.unix_millis(), Ordering::Release);
        }
    }

    fn stopped(&self) -> Option<StoreError> {
        self.shared.stopped.get().cloned()
    }

    fn close<'a>(&'a self) -> StoreResult<'a, ()> {
        Box::pin(async move {
            let (reply, answer) = oneshot::channel();
            if self.queue.send(Message::Close(reply)).await.is_err() {
                // Closed before: once is enough.
                return Ok(());
            }
            answer.await.unwrap_or_else(|_| Err(closed()))
        })
    }
}
