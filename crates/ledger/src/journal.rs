//! What this node owns in a shared store and how far it has handed it out, on its own disk (protocol S7).
//!
//! ```text
//!   shared store   seq/orders        mark 900,000          everything below is somebody's
//!   journal        block/orders      [300,000 … 900,000)   this much of it is ours
//!                                    mark 412,000          below it: handed out, or lost by a crash
//!   memory         stock                 [411,500 … 412,000)
//! ```
//!
//! A large block covers the outage budget; the stock in memory is a small piece of it, and a piece reaches memory
//! only after the journal has it on disk. So a crash loses the piece, and a start goes on with the rest, after
//! one compare-and-set has put this process into the place of the dead one (`instance`).
//!
//! The journal is an ordinary store that nobody else can open: the embedded one, with its own lock, checksums and
//! witness. A journal that is damaged, copied or older than what the instance register remembers of it is not
//! used: what it owned is a gap.
//!
//! It also knows enough to begin while the shared store is away ([`Journal::last_word`], `ledger/away`): when that answered
//! last, in which boot of this machine, and what the sequences are whose numbers it owns.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mintage::Timestamp;
use serde::{Deserialize, Serialize};

use crate::error::LedgerError;
use crate::name::Name;
use crate::runtime::{Runtime, fresh_token};
use crate::sequence::state::State;
use crate::store::{
    BODY_MAX_BYTES, Cas, Claim, Class, EmbeddedStore, Key, Marks, Outcome, SCAN_LIMIT_MAX, Store, StoreError,
    StoreErrorKind, StoreSettings, Value, Version, Versioned,
};

/// How many processes of one machine find a journal in one state folder.
const SLOTS: u32 = 64;
/// Claims of unknown outcome that one name's record remembers; one that is forgotten is a gap, nothing more.
const PENDING_MAX: usize = 8;

/// How old the note of the shared store's last answer may get while nothing is handed out, which costs a write.
const WORD_EVERY_MS: u64 = 20_000;
/// For how long after its last answer a process may begin without the shared store, if not the outage budget is longer.
const WITHOUT_STORE_FOR: Duration = Duration::from_secs(600);

/// Opens a journal for the shared store `cluster` under the folder `state`: the first that no other process has open.
/// One that is damaged or was copied is set aside, which costs the numbers that it owned.
///
/// Each process needs one of its own; [`crate::LedgerSettings::journal`] takes it.
///
/// ```
/// # let tokio = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
/// # tokio.block_on(async {
/// use mintage_ledger::{StoreSettings, SystemRuntime, open_journal};
/// let state = tempfile::tempdir()?;
/// let runtime = SystemRuntime::new(tokio::runtime::Handle::current());
/// let settings = StoreSettings::default();
/// let first = open_journal(state.path(), 7, &settings, runtime.clone()).await?;
/// let second = open_journal(state.path(), 7, &settings, runtime).await?;
/// assert_ne!(first.cluster_id(), second.cluster_id());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// The folder cannot be made or written, or all 64 journals are in use.
pub async fn open_journal(
    state: &Path,
    cluster: u128,
    settings: &StoreSettings,
    runtime: Arc<dyn Runtime>,
) -> Result<Arc<dyn Store>, StoreError> {
    // Of the shared store's settings this one is about folders. How far a journal got is noted in the shared store.
    let settings = StoreSettings {
        allow_file_systems: settings.allow_file_systems.clone(),
        ..StoreSettings::default()
    };
    let all = folder_of(state, cluster);
    std::fs::create_dir_all(&all).map_err(|error| {
        let message = format!("cannot make {}: {error}", all.display());
        StoreError::new(StoreErrorKind::Denied, Outcome::NotDone, message)
    })?;
    let mut refused = None;
    for slot in 0..SLOTS {
        let folder = all.join(slot.to_string());
        match EmbeddedStore::open(&folder, &settings, Arc::clone(&runtime)).await {
            Ok(store) => return Ok(store),
            Err(error) if error.kind == StoreErrorKind::InUse => refused = Some(error),
            Err(error) if matches!(error.kind, StoreErrorKind::Corrupt | StoreErrorKind::Foreign) => {
                let aside = set_aside(&folder)?;
                tracing::warn!(
                    %error, aside = %aside.display(),
                    "this node's journal cannot be used: the numbers it owned are a gap"
                );
                return Ok(EmbeddedStore::open(&folder, &settings, runtime).await?);
            }
            Err(error) => return Err(error),
        }
    }
    Err(refused.expect("every slot is in use"))
}

/// Opens the first journal from `slot` on that a process before has left there and nobody has open, and answers its
/// place; `None`: there is no further one. For [`Ledger::open_without_store`](crate::Ledger::open_without_store): nothing is
/// made or set aside.
pub async fn open_left_journal(
    state: &Path,
    cluster: u128,
    slot: u32,
    runtime: Arc<dyn Runtime>,
) -> Option<(u32, Arc<dyn Store>)> {
    let settings = StoreSettings {
        create: false,
        ..StoreSettings::default()
    };
    for slot in slot..SLOTS {
        let folder = folder_of(state, cluster).join(slot.to_string());
        if !folder.is_dir() {
            continue;
        }
        match EmbeddedStore::open(&folder, &settings, Arc::clone(&runtime)).await {
            Ok(store) => return Some((slot, store)),
            Err(error) => tracing::debug!(folder = %folder.display(), %error, "not a journal to begin on"),
        }
    }
    None
}

fn folder_of(state: &Path, cluster: u128) -> PathBuf {
    state.join("journal").join(format!("{cluster:032x}"))
}

/// Renames a folder to the first free `NAME.unusable-N`.
fn set_aside(folder: &Path) -> Result<PathBuf, StoreError> {
    let mut n = 1;
    loop {
        let aside = folder.with_extension(format!("unusable-{n}"));
        if !aside.exists() {
            return std::fs::rename(folder, &aside).map(|()| aside).map_err(|error| {
                let message = format!("cannot set {} aside: {error}", folder.display());
                StoreError::new(StoreErrorKind::Denied, Outcome::NotDone, message)
            });
        }
        n += 1;
    }
}

/// This node's journal.
#[derive(Debug)]
pub(crate) struct Journal {
    store: Arc<dyn Store>,
    runtime: Arc<dyn Runtime>,
    /// The shared store it belongs to, hexadecimal.
    cluster: String,
    /// Whose blocks count: the instance register of this name is ours.
    node: Mutex<u128>,
    /// How often the journal's state was copied into the instance register, as counted here.
    copies: AtomicU64,
    version: tokio::sync::Mutex<Version>,
    /// Something was handed out since it was last counted.
    handed_out: AtomicBool,
    broken: AtomicBool,
    /// When the shared store was last restored, in milliseconds; 0: never.
    restored_ms: AtomicI64,
    /// Which definitions count that are noted: see [`Node::life`].
    life: AtomicU64,
    words: Mutex<Words>,
}

/// The last answer of the shared store: as it was heard, and as it is on disk.
#[derive(Debug, Default)]
struct Words {
    heard: Option<Word>,
    noted: Option<Word>,
}

/// The register `node` of the journal.
#[derive(Serialize, Deserialize)]
struct Node {
    /// The shared store it belongs to.
    cluster: String,
    node: String,
    /// Definitions that were noted in an earlier one may have been changed since by others.
    #[serde(default)]
    life: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    word: Option<Word>,
}

/// When the shared store answered last that this node's register is its own.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Word {
    /// The boot of the machine, hexadecimal, and its boot time.
    boot: String,
    at_ms: u64,
    /// The store's class, as its letter.
    class: String,
    #[serde(default)]
    restored_ms: i64,
    /// What this process's ids read then, while they got the time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    clock_ms: Option<i64>,
}

/// One name's record, and what is known of it.
#[derive(Debug, Default)]
pub(crate) struct Entry {
    version: Option<Version>,
    /// Everything below is handed out.
    mark: u64,
    /// A write was cut off: version and mark must be read again.
    stale: bool,
}

/// What a name's record holds.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Owned {
    node: String,
    /// The sequence's generation when this was claimed.
    pub generation: u64,
    /// The shared store's last restore before this was claimed, in milliseconds.
    #[serde(default)]
    restored_ms: i64,
    /// Ordinals from, until, that this node owns; ascending.
    pub ranges: Vec<(u64, u64)>,
    /// Claims of which it is not known whether they landed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pending: Vec<Pending>,
    /// For a start without the shared store; not there where others have changed it since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    definition: Option<Definition>,
}

/// A sequence's record as the shared store had it at a claim.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
struct Definition {
    life: u64,
    mark: u64,
    record: String,
}

/// A claim that was sent.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Pending {
    /// The attempt's token, hexadecimal.
    token: String,
    range: (u64, u64),
}

impl Entry {
    /// Everything below this ordinal is handed out.
    pub(crate) fn mark(&self) -> u64 {
        self.mark
    }
}

impl Owned {
    /// Whether a claim whose outcome was not known is the one that wrote a record with this token.
    pub(crate) fn is_pending(&self, token: u128) -> bool {
        let token = format!("{token:032x}");
        self.pending.iter().any(|pending| pending.token == token)
    }

    /// The ordinals from, until, that are owned and not handed out; `landed` is the token of a claim whose outcome was not
    /// known, and which is kept.
    pub(crate) fn left(&self, mark: u64, landed: Option<u128>) -> Vec<(u64, u64)> {
        let landed = landed.map(|token| format!("{token:032x}"));
        let is_kept = |pending: &&Pending| Some(&pending.token) == landed.as_ref();
        let landed = self.pending.iter().filter(is_kept);
        let all = self
            .ranges
            .iter()
            .copied()
            .chain(landed.map(|pending| pending.range));
        all.filter(|(_, until)| *until > mark)
            .map(|(from, until)| (from.max(mark), until))
            .collect()
    }
}

impl Owned {
    /// What the sequence is, if that was noted in this life.
    fn definition(&self, name: &Name, life: u64) -> Option<State> {
        let noted = self.definition.as_ref().filter(|noted| noted.life == life)?;
        let value = Value {
            mark: noted.mark,
            token: 0,
            body: noted.record.clone(),
        };
        // Of which version is not known: it is read before the next write.
        let version = Version::of(0);
        let state = State::read(name, &Versioned { value, version }).ok()?;
        (state.generation == self.generation).then_some(state)
    }

    /// The end of the last range that was acknowledged to be ours; 0: none was.
    fn until(&self) -> u64 {
        self.ranges.iter().map(|(_, until)| *until).max().unwrap_or(0)
    }
}

impl Owned {
    /// As it is written: without the definition where that leaves no room.
    fn body(mut self) -> String {
        let body = |owned: &Owned| serde_json::to_string(owned).expect("plain fields always serialise");
        let whole = body(&self);
        if whole.len() <= BODY_MAX_BYTES {
            return whole;
        }
        self.definition = None;
        body(&self)
    }
}

impl Pending {
    pub(crate) fn new(token: u128, from: u64, until: u64) -> Pending {
        Pending {
            token: format!("{token:032x}"),
            range: (from, until),
        }
    }
}

fn node_key() -> Key {
    Key::new("node").expect("within the key grammar")
}

fn block_key(name: &Name) -> Key {
    block_key_of(&name.to_key())
}

fn block_key_of(name: &str) -> Key {
    Key::new(format!("block/{name}")).expect("names are within the key grammar")
}

impl Journal {
    /// Reads which node this is, or makes it a new one, of the cluster `cluster`.
    ///
    /// # Errors
    /// It belongs to another cluster, or cannot be read.
    pub(crate) async fn open(
        store: Arc<dyn Store>,
        cluster: u128,
        runtime: Arc<dyn Runtime>,
    ) -> Result<Journal, LedgerError> {
        let cluster = format!("{cluster:032x}");
        let found = store.get(&node_key()).await?;
        let (mut life, mut noted) = (0, None);
        let known = found.as_ref().and_then(|found| {
            let body: Node = serde_json::from_str(&found.value.body).ok()?;
            life = body.life;
            let node = u128::from_str_radix(&body.node, 16).ok()?;
            let ours = body.cluster == cluster;
            noted = body.word.filter(|_| ours);
            ours.then_some((node, found.value.mark, found.version))
        });
        let (node, copies, version) = match known {
            Some(known) => known,
            None => {
                // New, or used with another store before: none of its blocks can be found by the new node's name.
                let node = fresh_token(&*runtime);
                let before = found.map(|found| (found.version, found.value.mark));
                let copies = before.map_or(1, |(_, mark)| mark);
                let body = Node {
                    cluster: cluster.clone(),
                    node: format!("{node:032x}"),
                    life,
                    word: None,
                };
                let expected = before.map(|(version, _)| version);
                let version = write_node(&*store, expected, &body, copies, &*runtime).await?;
                (node, copies, version)
            }
        };
        Ok(Journal {
            store,
            runtime,
            cluster,
            node: Mutex::new(node),
            copies: AtomicU64::new(copies),
            version: tokio::sync::Mutex::new(version),
            handed_out: AtomicBool::new(true),
            broken: AtomicBool::new(false),
            restored_ms: AtomicI64::new(noted.as_ref().map_or(0, |word| word.restored_ms)),
            life: AtomicU64::new(life),
            words: Mutex::new(Words {
                heard: noted.clone(),
                noted,
            }),
        })
    }

    /// The class of the shared store, as its letter, if a process may begin on this journal without it (protocol S11).
    ///
    /// # Errors
    /// Why not, in words.
    pub(crate) fn last_word(&self, outage_budget: Duration) -> Result<String, String> {
        let Some(word) = self.words().noted.clone() else {
            return Err("the journal does not say when the store answered last".into());
        };
        let boot = self.runtime.boot().map(|boot| format!("{boot:032x}"));
        if boot.as_ref() != Some(&word.boot) {
            return Err("the machine was started again since the journal was written".into());
        }
        let ago = self
            .runtime
            .boottime()
            .saturating_sub(Duration::from_millis(word.at_ms));
        let most = without_store_for(outage_budget);
        if ago > most {
            let (ago, most) = (ago.as_secs(), most.as_secs());
            return Err(format!(
                "the store answered {ago} s ago, as the journal says, and {most} s are the most"
            ));
        }
        if word.class == Class::Lossy.letter() {
            return Err("the store may lose what it has acknowledged, class L".into());
        }
        Ok(word.class)
    }

    /// The clock of ids minus boot time, in nanoseconds, as a process of this boot of the machine had it when the store
    /// answered last: what a process that begins without the store goes on from (protocol C2).
    pub(crate) fn vouched_ns(&self) -> Option<i128> {
        let word = self.words().noted.clone()?;
        let boot = self.runtime.boot().map(|boot| format!("{boot:032x}"));
        let clock_ms = word.clock_ms.filter(|_| boot.as_ref() == Some(&word.boot))?;
        Some((i128::from(clock_ms) - i128::from(word.at_ms)) * 1_000_000)
    }

    /// The store has answered, to what was sent at this boot time, that this node's register is its own; `vouched_ns`: the
    /// clock of ids minus boot time. On disk with one of the next renewals; the first time at once.
    pub(crate) async fn heard(&self, at: Duration, class: Class, vouched_ns: Option<i128>) {
        let Some(boot) = self.runtime.boot() else { return };
        let word = Word {
            boot: format!("{boot:032x}"),
            at_ms: u64::try_from(at.as_millis()).unwrap_or(u64::MAX),
            class: class.letter().to_string(),
            restored_ms: self.restored_ms.load(Ordering::Acquire),
            clock_ms: vouched_ns
                .and_then(|offset| i64::try_from((at.as_nanos() as i128 + offset) / 1_000_000).ok()),
        };
        let is_first = {
            let mut words = self.words();
            let noted = words.noted.as_ref();
            let is_first = noted.is_none_or(|noted| noted.boot != word.boot);
            words.heard = Some(word);
            is_first
        };
        if is_first {
            let mut version = self.version.lock().await;
            self.write_own(&mut version, self.copies()).await;
        }
    }

    /// Nobody begins on this journal without the shared store, until that is heard again.
    pub(crate) async fn forget_word(&self) {
        *self.words() = Words::default();
        let mut version = self.version.lock().await;
        self.write_own(&mut version, self.copies()).await;
    }

    /// Whether nobody can begin on this journal any more without the shared store, whatever is on its disk.
    pub(crate) fn word_is_past(&self, outage_budget: Duration) -> bool {
        let words = self.words();
        let at = |word: &Word| Duration::from_millis(word.at_ms);
        let since = words.noted.as_ref().map(at);
        since.is_none_or(|since| {
            self.runtime.boottime().saturating_sub(since) > without_store_for(outage_budget)
        })
    }

    /// From now on the definitions that were noted do not count, since others may have changed them.
    pub(crate) async fn begin_life(&self) {
        let mut version = self.version.lock().await;
        self.life.fetch_add(1, Ordering::AcqRel);
        self.write_own(&mut version, self.copies()).await;
    }

    fn words(&self) -> std::sync::MutexGuard<'_, Words> {
        self.words.lock().expect("no panic while held")
    }

    /// Writes the register `node` with all that it says now; whether that is on disk.
    async fn write_own(&self, version: &mut Version, copies: u64) -> bool {
        if !self.works() {
            return false;
        }
        let heard = self.words().heard.clone();
        let body = Node {
            cluster: self.cluster.clone(),
            node: format!("{:032x}", self.node()),
            life: self.life.load(Ordering::Acquire),
            word: heard.clone(),
        };
        match write_node(&*self.store, Some(*version), &body, copies, &*self.runtime).await {
            Ok(new) => {
                *version = new;
                self.words().noted = heard;
                true
            }
            Err(error) => {
                self.failed(&error);
                false
            }
        }
    }

    /// The shared store was last restored at this time. What was claimed before is not given out any more: a store that
    /// is restored may have been set back before, and who claimed then, and had not noticed yet, owns numbers that others
    /// were given before.
    ///
    /// Answers whether that was known.
    pub(crate) fn restored_at(&self, restored: Option<Timestamp>) -> bool {
        let restored_ms = restored.map_or(0, |at| at.unix_millis());
        self.restored_ms.swap(restored_ms, Ordering::AcqRel) == restored_ms
    }

    /// The name of this node's instance register.
    pub(crate) fn node(&self) -> u128 {
        *self.node.lock().expect("no panic while held")
    }

    /// How often the journal was copied, as the journal counts it.
    pub(crate) fn copies(&self) -> u64 {
        self.copies.load(Ordering::Acquire)
    }

    /// Whether it can be used: a write has never failed.
    pub(crate) fn works(&self) -> bool {
        !self.broken.load(Ordering::Acquire)
    }

    /// Forgets every block and becomes the node `node`: somebody else may go on with what this one owned.
    pub(crate) async fn begin_anew(&self, node: u128) {
        *self.node.lock().expect("no panic while held") = node;
        self.forget_word().await;
    }

    /// What the next renewal of the instance register carries: a count that is on disk here before it is there.
    pub(crate) async fn count_copy(&self) -> u64 {
        let counts = self.works() && self.handed_out.swap(false, Ordering::AcqRel);
        if counts || self.word_is_due() {
            let mut version = self.version.lock().await;
            let copies = self.copies() + u64::from(counts);
            if self.write_own(&mut version, copies).await {
                self.copies.store(copies, Ordering::Release);
            }
        }
        self.copies()
    }

    /// Whether the note of the store's last answer must be renewed though nothing was handed out.
    fn word_is_due(&self) -> bool {
        let words = self.words();
        match (&words.heard, &words.noted) {
            (Some(heard), Some(noted)) => heard.at_ms.abs_diff(noted.at_ms) >= WORD_EVERY_MS,
            (heard, noted) => heard != noted,
        }
    }

    /// What this node owned of `name` when it last wrote; nothing, if the journal does not work.
    pub(crate) async fn read(&self, name: &Name) -> (Entry, Option<Owned>) {
        if !self.works() {
            return (Entry::default(), None);
        }
        let found = match self.store.get(&block_key(name)).await {
            Ok(found) => found,
            Err(error) => {
                self.failed(&error);
                None
            }
        };
        let Some(found) = found else {
            return (Entry::default(), None);
        };
        let entry = Entry {
            version: Some(found.version),
            mark: found.value.mark,
            stale: false,
        };
        let owned = serde_json::from_str::<Owned>(&found.value.body).ok();
        let ours = format!("{:032x}", self.node());
        let restored_ms = self.restored_ms.load(Ordering::Acquire);
        let lasts = |owned: &Owned| owned.node == ours && owned.restored_ms == restored_ms;
        (entry, owned.filter(lasts))
    }

    /// What a sequence is of which this node owns numbers, as the shared store had it when it answered last; nothing, if
    /// that is not known any more.
    pub(crate) async fn definition(&self, name: &Name) -> Option<State> {
        let (_, owned) = self.read(name).await;
        owned?.definition(name, self.life.load(Ordering::Acquire))
    }

    /// The sequences whose numbers this node owns and whose definition is known, at most `most`.
    pub(crate) async fn names(&self, most: usize) -> Vec<Name> {
        let mut names = Vec::new();
        let mut owned_until: Vec<_> = self.owned_until().await.into_iter().collect();
        owned_until.sort();
        for (key, until) in owned_until {
            let Ok(name) = Name::from_key(key.after("seq/")) else {
                continue;
            };
            let (entry, _) = self.read(&name).await;
            if until > entry.mark() && self.definition(&name).await.is_some() {
                names.push(name);
            }
            if names.len() == most {
                break;
            }
        }
        names
    }

    /// Notes what a sequence is of which this node owns these numbers, unless that is noted.
    pub(crate) async fn vouch(&self, name: &Name, entry: &mut Entry, state: &State, ranges: Vec<(u64, u64)>) {
        if !ranges.is_empty() && self.definition(name).await.is_none() {
            // What fails costs the second level, as ever.
            let _ = self.write(name, entry, state, ranges, Vec::new()).await;
        }
    }

    /// Forgets what a sequence was before this generation, or at all. On disk when this returns.
    ///
    /// # Errors
    /// The disk refused.
    pub(crate) async fn forget_definition(
        &self,
        name: &Name,
        entry: &mut Entry,
        generation: Option<u64>,
    ) -> Result<(), StoreError> {
        self.refresh(name, entry).await?;
        let found = self.store.get(&block_key(name)).await;
        let Some(Versioned { mut value, version }) = found.inspect_err(|error| self.failed(error))? else {
            return Ok(());
        };
        let owned = serde_json::from_str::<Owned>(&value.body).ok();
        let Some(mut owned) = owned.filter(|owned| owned.definition.is_some()) else {
            return Ok(());
        };
        if generation == Some(owned.generation) {
            return Ok(());
        }
        owned.definition = None;
        value.body = serde_json::to_string(&owned).expect("plain fields always serialise");
        value.token = fresh_token(&*self.runtime);
        let mark = value.mark;
        entry.stale = true;
        let written = self
            .store
            .compare_and_set(&block_key(name), Some(version), value, Marks::NeverLower)
            .await;
        self.settle(name, entry, written, mark)
    }

    /// Up to where this node owned each name when it last wrote, by the keys of the shared store. A store that says
    /// less was reserved was set back: what is owned was acknowledged. Claims of unknown outcome prove nothing. Of what
    /// was claimed before the store's last restore nothing more is given out, so that only what was handed out counts.
    pub(crate) async fn owned_until(&self) -> HashMap<Key, u64> {
        let mut owned_until = HashMap::new();
        let (prefix, ours) = (block_key_of(""), format!("{:032x}", self.node()));
        let mut after: Option<Key> = None;
        while self.works() {
            let page = match self.store.scan(&prefix, after.as_ref(), SCAN_LIMIT_MAX).await {
                Ok(page) => page,
                Err(error) => {
                    self.failed(&error);
                    break;
                }
            };
            for (key, found) in &page {
                let owned = serde_json::from_str::<Owned>(&found.value.body).ok();
                let name = key.after(prefix.as_str());
                if let (Some(owned), Ok(key)) = (
                    owned.filter(|owned| owned.node == ours),
                    Key::new(format!("seq/{name}")),
                ) {
                    let until = match owned.restored_ms == self.restored_ms.load(Ordering::Acquire) {
                        true => owned.until(),
                        false => found.value.mark,
                    };
                    owned_until.insert(key, until);
                }
            }
            match page.last() {
                Some((key, _)) if page.len() == usize::from(SCAN_LIMIT_MAX) => after = Some(key.clone()),
                _ => break,
            }
        }
        owned_until
    }

    /// Writes what this node owns of `name`, and which claims are on their way.
    ///
    /// # Errors
    /// The disk refused: the journal is not used any more.
    pub(crate) async fn write(
        &self,
        name: &Name,
        entry: &mut Entry,
        state: &State,
        ranges: Vec<(u64, u64)>,
        mut pending: Vec<Pending>,
    ) -> Result<(), StoreError> {
        pending.drain(..pending.len().saturating_sub(PENDING_MAX));
        let first = ranges
            .first()
            .or(pending.first().map(|pending| &pending.range))
            .map_or(entry.mark, |(from, _)| *from);
        let definition = Definition {
            life: self.life.load(Ordering::Acquire),
            mark: state.ordinal,
            record: state.write(0).body,
        };
        let owned = Owned {
            node: format!("{:032x}", self.node()),
            generation: state.generation,
            restored_ms: self.restored_ms.load(Ordering::Acquire),
            ranges,
            pending,
            definition: Some(definition),
        };
        let body = owned.body();
        self.refresh(name, entry).await?;
        // Ordinals only grow, so nothing owned lies below what was handed out.
        let value = Value {
            mark: entry.mark.max(first),
            token: fresh_token(&*self.runtime),
            body,
        };
        let mark = value.mark;
        entry.stale = true;
        let written = self
            .store
            .compare_and_set(&block_key(name), entry.version, value, Marks::NeverLower)
            .await;
        self.settle(name, entry, written, mark)
    }

    /// Notes that everything below `until` is handed out. On disk when this returns.
    ///
    /// # Errors
    /// The disk refused: nothing of it may be handed out, and the journal is not used any more.
    pub(crate) async fn hand_out(
        &self,
        name: &Name,
        entry: &mut Entry,
        until: u64,
    ) -> Result<(), StoreError> {
        self.refresh(name, entry).await?;
        if until <= entry.mark {
            return Ok(());
        }
        let Some(expected) = entry.version else {
            let error = vanished(name.as_str(), None);
            self.failed(&error);
            return Err(error);
        };
        self.handed_out.store(true, Ordering::Release);
        let claim = Claim {
            key: block_key(name),
            expected,
            add: until - entry.mark,
            token: fresh_token(&*self.runtime),
        };
        entry.stale = true;
        let written = self.store.claim(&claim).await;
        self.settle(name, entry, written, until)
    }

    /// Notes that nothing from `from` on was handed out after all; for a clean stop.
    pub(crate) async fn take_back(&self, name: &Name, entry: &mut Entry, from: u64) {
        if !self.works() || self.refresh(name, entry).await.is_err() || from >= entry.mark {
            return;
        }
        let Ok(Some(Versioned { mut value, version })) = self.store.get(&block_key(name)).await else {
            return;
        };
        value.mark = from;
        value.token = fresh_token(&*self.runtime);
        let written = self
            .store
            .compare_and_set(&block_key(name), Some(version), value, Marks::GiveBack)
            .await;
        let _ = self.settle(name, entry, written, from);
    }

    /// A clean stop.
    pub(crate) async fn close(&self) {
        if let Err(error) = self.store.close().await {
            tracing::warn!(%error, "the journal was not closed cleanly");
        }
    }

    /// Reads version and mark again where a write was cut off. Nobody else writes here.
    async fn refresh(&self, name: &Name, entry: &mut Entry) -> Result<(), StoreError> {
        if !self.works() {
            return Err(unusable());
        }
        if entry.stale {
            let found = self
                .store
                .get(&block_key(name))
                .await
                .inspect_err(|e| self.failed(e))?;
            entry.mark = found.as_ref().map_or(0, |found| found.value.mark);
            entry.version = found.map(|found| found.version);
            entry.stale = false;
        }
        Ok(())
    }

    fn settle(
        &self,
        name: &Name,
        entry: &mut Entry,
        written: Result<Cas, StoreError>,
        mark: u64,
    ) -> Result<(), StoreError> {
        let error = match written {
            Ok(Cas::Done(version)) => {
                *entry = Entry {
                    version: Some(version),
                    mark,
                    stale: false,
                };
                return Ok(());
            }
            Ok(Cas::Lost(found)) => vanished(name.as_str(), found.as_ref()),
            Err(error) => error,
        };
        self.failed(&error);
        Err(error)
    }

    /// From now on nothing is owned through it: what was, is a gap.
    fn failed(&self, error: &StoreError) {
        if !self.broken.swap(true, Ordering::AcqRel) {
            tracing::error!(
                %error,
                "this node's journal cannot be written: the outage budget is limited by max_gap until the next start"
            );
        }
    }
}

/// For how long after its last answer a process may begin without the shared store.
fn without_store_for(outage_budget: Duration) -> Duration {
    outage_budget.max(WITHOUT_STORE_FOR)
}

async fn write_node(
    store: &dyn Store,
    expected: Option<Version>,
    body: &Node,
    copies: u64,
    runtime: &dyn Runtime,
) -> Result<Version, StoreError> {
    let value = Value {
        mark: copies,
        token: fresh_token(runtime),
        body: serde_json::to_string(body).expect("plain fields always serialise"),
    };
    match store
        .compare_and_set(&node_key(), expected, value, Marks::NeverLower)
        .await?
    {
        Cas::Done(version) => Ok(version),
        Cas::Lost(found) => Err(vanished("node", found.as_ref())),
    }
}

fn unusable() -> StoreError {
    StoreError::new(
        StoreErrorKind::Unavailable,
        Outcome::NotDone,
        "the journal is not used any more",
    )
}

/// Somebody else wrote to what only we have open.
fn vanished(record: &str, found: Option<&Versioned>) -> StoreError {
    let found = found.map_or("nothing".into(), |found| {
        format!("version {}", found.version.number())
    });
    StoreError::new(
        StoreErrorKind::Corrupt,
        Outcome::NotDone,
        format!("the journal's record {record} was written by somebody else: found {found}"),
    )
}
