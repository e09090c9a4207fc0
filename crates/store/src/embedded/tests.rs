//! Faults of the disk, damage to the files, copies and crashes: what only the inside can stage.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mintage::Timestamp;
use mintage_testing::invariant;

use super::super::conformance::check_all;
use super::super::{Cas, Claim, Key, Marks, Outcome, SCAN_LIMIT_MAX, Store, StoreErrorKind, StoreSettings};
use super::super::{Value, Version, Versioned};
use super::witness::WitnessFile;
use super::*;
use crate::runtime::{BoxFuture, SystemRuntime};

/// The real world, but the wall clock can be moved and ticks come by hand.
#[derive(Debug)]
struct HandRuntime {
    real: Arc<SystemRuntime>,
    offset_s: AtomicI64,
}

impl HandRuntime {
    fn new() -> Arc<Self> {
        let real = SystemRuntime::new(tokio::runtime::Handle::current());
        Arc::new(HandRuntime {
            real,
            offset_s: AtomicI64::new(0),
        })
    }
}

impl Runtime for HandRuntime {
    fn wall(&self) -> Timestamp {
        let offset = i128::from(self.offset_s.load(SeqCst)) * 1_000_000_000;
        Timestamp::from_unix_nanos(self.real.wall().unix_nanos() + offset)
    }

    fn boottime(&self) -> Duration {
        self.real.boottime()
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        if duration < TICK {
            return self.real.sleep(duration);
        }
        // Never completes by itself: `tick_now` sends ticks.
        Box::pin(std::future::pending())
    }

    fn spawn(&self, task: BoxFuture<'static, ()>) {
        self.real.spawn(task);
    }

    fn spawn_thread(&self, name: &str, work: Box<dyn FnOnce() + Send>) -> io::Result<()> {
        self.real.spawn_thread(name, work)
    }

    fn fill_random(&self, out: &mut [u8]) {
        self.real.fill_random(out);
    }

    fn clock_synchronised(&self) -> Option<bool> {
        None
    }
}

/// What the witness's file shall do.
#[derive(Default, Debug)]
struct Script {
    sync_fails: bool,
    /// Bytes that are still written before writes fail with this error.
    write_fails: Option<(usize, io::ErrorKind)>,
    /// The most bytes one write takes.
    short: Option<usize>,
    syncs: u64,
}

struct ScriptedFile(fs::File, Arc<Mutex<Script>>);

impl WitnessFile for ScriptedFile {
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        let mut script = self.1.lock().unwrap();
        let mut many = bytes.len().min(script.short.unwrap_or(usize::MAX));
        if let Some((left, kind)) = &mut script.write_fails {
            if *left == 0 {
                return Err((*kind).into());
            }
            many = many.min(*left);
            *left -= many;
        }
        WitnessFile::write_at(&self.0, &bytes[..many], offset)
    }

    fn sync(&self) -> io::Result<()> {
        let mut script = self.1.lock().unwrap();
        script.syncs += 1;
        if script.sync_fails {
            Err(io::Error::from_raw_os_error(5))
        } else {
            self.0.sync()
        }
    }
}

/// Quick where there is memory to write to: these tests are about content.
pub(super) fn quick_dir() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm")
        .or_else(|_| tempfile::tempdir())
        .unwrap()
}

fn tuning() -> Tuning {
    Tuning {
        any_inode: true,
        ..Tuning::default()
    }
}

fn scripted(script: &Arc<Mutex<Script>>) -> Tuning {
    let script = script.clone();
    Tuning {
        wrap: Arc::new(move |file| Box::new(ScriptedFile(file, script.clone()))),
        ..tuning()
    }
}

async fn open_with(path: &Path, tuning: Tuning) -> Result<Arc<EmbeddedStore>, StoreError> {
    EmbeddedStore::open_tuned(path, &StoreSettings::default(), tuning, HandRuntime::new()).await
}

async fn open(path: &Path) -> Arc<EmbeddedStore> {
    open_with(path, tuning()).await.unwrap_or_else(|e| panic!("{e}"))
}

/// What a tick does, now.
async fn tick_now(store: &EmbeddedStore) {
    store.queue.send(Message::Tick).await.unwrap();
    // The first call may share the tick's turn, which serves calls first; the second one comes after it.
    for _ in 0..2 {
        let _ = store.get(&key("after-the-tick")).await;
    }
}

fn key(text: &str) -> Key {
    Key::new(text).unwrap()
}

fn value(mark: u64) -> Value {
    Value {
        mark,
        token: u128::from(mark) + 1,
        body: format!("{{\"mark\":{mark}}}"),
    }
}

async fn put(store: &EmbeddedStore, name: &str, version: u64, mark: u64) -> Result<Cas, StoreError> {
    let expected = (version > 0).then_some(Version::of(version));
    store
        .compare_and_set(&key(name), expected, value(mark), Marks::NeverLower)
        .await
}

async fn claim(store: &EmbeddedStore, name: &str, version: u64, add: u64) -> Result<Cas, StoreError> {
    store
        .claim(&Claim {
            key: key(name),
            expected: Version::of(version),
            add,
            token: 99,
        })
        .await
}

/// The files of a folder as a crash would leave them, in a new folder.
fn copy(from: &Path, to: &Path) -> PathBuf {
    let _ = fs::remove_dir_all(to);
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        if entry.file_name() != "mint.db-shm" && entry.file_type().unwrap().is_file() {
            fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
    }
    to.to_path_buf()
}

async fn everything(store: &EmbeddedStore) -> BTreeMap<String, (u64, u64)> {
    let mut all = BTreeMap::new();
    for prefix in ["a", "b", "c", "k", "s"] {
        for (key, found) in store.scan(&key(prefix), None, SCAN_LIMIT_MAX).await.unwrap() {
            all.insert(key.to_string(), (found.version.number(), found.value.mark));
        }
    }
    all
}

#[track_caller]
fn check_error(error: &StoreError, kind: StoreErrorKind, outcome: Outcome, says: &[&str]) {
    assert_eq!((error.kind, error.outcome), (kind, outcome), "{error}");
    let all = format!("{error} / {:?}", error.hint);
    for says in says {
        assert!(all.contains(says), "{says:?} is not in: {all}");
    }
}

#[tokio::test]
async fn a_tiny_witness_keeps_the_contract() {
    let dir = quick_dir();
    let path = dir.path().join("data");
    let tuning = Tuning {
        slots_least: 8,
        pending_max: 3,
        checkpoint_rows: 5,
        ..tuning()
    };
    check_all(&move || {
        let (path, tuning) = (path.clone(), tuning.clone());
        Box::pin(async move { open_with(&path, tuning).await.unwrap() as Arc<dyn Store> })
    })
    .await;
}

// claim: P28
#[tokio::test]
async fn a_failed_witness_sync_stops_the_store_for_good() {
    for by_claim in [true, false] {
        let (dir, script) = (quick_dir(), Arc::new(Mutex::new(Script::default())));
        let store = open_with(dir.path(), scripted(&script)).await.unwrap();
        put(&store, "k", 0, 10).await.unwrap();
        script.lock().unwrap().sync_fails = true;
        let failed = if by_claim {
            claim(&store, "k", 1, 5).await
        } else {
            put(&store, "k", 1, 15).await
        };
        check_error(
            &failed.unwrap_err(),
            StoreErrorKind::Stopped,
            Outcome::Unknown,
            &["stopped for good"],
        );
        let syncs = script.lock().unwrap().syncs;
        script.lock().unwrap().sync_fails = false;
        check_error(
            &put(&store, "other", 0, 1).await.unwrap_err(),
            StoreErrorKind::Stopped,
            Outcome::NotDone,
            &["start again"],
        );
        assert!(store.get(&key("k")).await.is_err() && store.stopped().is_some());
        store.close().await.unwrap_err();
        assert_eq!(
            script.lock().unwrap().syncs,
            syncs,
            "a failed sync is never tried again"
        );
        // A new process finds the write done or not; either way its mark does not go back.
        let store = open(dir.path()).await;
        let found = store.get(&key("k")).await.unwrap().unwrap();
        invariant!(
            [(1, 10), (2, 15)].contains(&(found.version.number(), found.value.mark)),
            "{found:?}"
        );
        claim(&store, "k", found.version.number(), 1).await.unwrap();
    }
}

#[tokio::test]
async fn a_write_that_fails_half_way_stops_the_store() {
    for written in [1, 63, 64, 100] {
        let (dir, script) = (quick_dir(), Arc::new(Mutex::new(Script::default())));
        let store = open_with(dir.path(), scripted(&script)).await.unwrap();
        put(&store, "k", 0, 10).await.unwrap();
        script.lock().unwrap().write_fails = Some((written, io::ErrorKind::StorageFull));
        let error = claim(&store, "k", 1, 5).await.unwrap_err();
        check_error(
            &error,
            StoreErrorKind::Stopped,
            Outcome::Unknown,
            &["the witness cannot be written"],
        );
        store.close().await.unwrap_err();
        let found = open(dir.path()).await.get(&key("k")).await.unwrap().unwrap();
        invariant!(
            [(1, 10), (2, 15)].contains(&(found.version.number(), found.value.mark)),
            "{written}: {found:?}"
        );
    }
}

#[tokio::test]
async fn short_writes_are_completed() {
    let (dir, script) = (quick_dir(), Arc::new(Mutex::new(Script::default())));
    let store = open_with(dir.path(), scripted(&script)).await.unwrap();
    script.lock().unwrap().short = Some(7);
    put(&store, "k", 0, 10).await.unwrap();
    claim(&store, "k", 1, 5).await.unwrap();
    let copied = copy(dir.path(), &dir.path().join("copy"));
    assert_eq!(everything(&*open(&copied).await).await["k"], (2, 15));
}

#[tokio::test]
async fn a_claim_on_a_full_disk_is_not_done_and_goes_on_later() {
    let (dir, script) = (quick_dir(), Arc::new(Mutex::new(Script::default())));
    let store = open_with(dir.path(), scripted(&script)).await.unwrap();
    put(&store, "k", 0, 10).await.unwrap();
    script.lock().unwrap().write_fails = Some((0, io::ErrorKind::StorageFull));
    let error = claim(&store, "k", 1, 5).await.unwrap_err();
    check_error(
        &error,
        StoreErrorKind::Unavailable,
        Outcome::NotDone,
        &["disk full", "free space"],
    );
    assert_eq!(
        store.get(&key("k")).await.unwrap().unwrap().value.mark,
        10,
        "reads go on"
    );
    script.lock().unwrap().write_fails = None;
    assert_eq!(claim(&store, "k", 1, 5).await, Ok(Cas::Done(Version::of(2))));
}

#[tokio::test]
async fn calls_that_wait_together_share_a_sync() {
    let dir = quick_dir();
    let store = open(dir.path()).await;
    let mut writers = tokio::task::JoinSet::new();
    for n in 0..64 {
        let store = store.clone();
        writers.spawn(async move { put(&store, &format!("k{n}"), 0, 1).await.unwrap() });
    }
    writers.join_all().await;
    let commits = store.stats().commits;
    assert!(commits <= 32, "64 writes took {commits} commits");
    let mut claimers = tokio::task::JoinSet::new();
    for n in 0..64 {
        let store = store.clone();
        claimers.spawn(async move { claim(&store, &format!("k{n}"), 1, 1).await.unwrap() });
    }
    claimers.join_all().await;
    let stats = store.stats();
    assert!(
        stats.claim_syncs <= 32 && stats.commits == commits,
        "64 claims: {stats:?}"
    );
}

#[tokio::test]
async fn claims_of_one_batch_follow_each_other_on_one_register() {
    let dir = quick_dir();
    let store = open(dir.path()).await;
    put(&store, "k", 0, 0).await.unwrap();
    // Each caller guesses its version; the queue keeps their order, so all of them win.
    let mut claimers = tokio::task::JoinSet::new();
    for n in 0..64 {
        let store = store.clone();
        claimers.spawn(async move { claim(&store, "k", n + 1, 1).await.unwrap() });
    }
    let answers = claimers.join_all().await;
    assert!(
        answers.iter().all(|answer| matches!(answer, Cas::Done(_))),
        "{answers:?}"
    );
    let copied = copy(dir.path(), &dir.path().join("copy"));
    assert_eq!(everything(&*open(&copied).await).await["k"], (65, 64));
}

#[tokio::test]
async fn claims_survive_a_crash_and_reach_the_database_at_a_tick() {
    let dir = quick_dir();
    let store = open(dir.path()).await;
    put(&store, "k", 0, 10).await.unwrap();
    for version in 1..=5 {
        claim(&store, "k", version, 10).await.unwrap();
    }
    let crashed = open(&copy(dir.path(), &dir.path().join("crashed"))).await;
    assert_eq!(
        (crashed.report().claims_recovered, crashed.report().clean),
        (1, false)
    );
    assert_eq!(everything(&crashed).await["k"], (6, 60));
    claim(&crashed, "k", 6, 10).await.unwrap();
    tick_now(&crashed).await;
    assert_eq!(crashed.stats().commits, 1);
    let again = open(&copy(&dir.path().join("crashed"), &dir.path().join("again"))).await;
    assert_eq!(again.report().claims_recovered, 0);
    assert_eq!(everything(&again).await["k"], (7, 70));
    // In the middle of nothing, another register's commit takes them along.
    put(&store, "other", 0, 1).await.unwrap();
    let later = open(&copy(dir.path(), &dir.path().join("later"))).await;
    assert_eq!(
        (later.report().claims_recovered, everything(&later).await["k"]),
        (0, (6, 60))
    );
}

#[tokio::test]
async fn a_full_witness_is_compacted() {
    let dir = quick_dir();
    let tuning = Tuning {
        slots_least: 16,
        pending_max: 7,
        ..tuning()
    };
    let store = open_with(dir.path(), tuning.clone()).await.unwrap();
    let mut model = BTreeMap::new();
    for n in 0..300u64 {
        let name = format!("k{}", n % 7);
        let (version, mark) = model.get(&name).copied().unwrap_or((0, 0));
        match version > 0 && n % 3 > 0 {
            true => claim(&store, &name, version, 2).await.unwrap(),
            false => put(&store, &name, version, mark + 2).await.unwrap(),
        };
        model.insert(name, (version + 1, mark + 2));
        if n % 10 == 0 {
            let crashed = open_with(&copy(dir.path(), &dir.path().join("copy")), tuning.clone())
                .await
                .unwrap();
            let found = everything(&crashed).await;
            invariant!(found == model, "after {n}: {found:?} where {model:?} was");
            crashed.close().await.unwrap();
        }
    }
    assert!(store.stats().compactions > 10, "{:?}", store.stats());
    let slots = fs::metadata(dir.path().join("witness")).unwrap().len();
    assert!(slots <= 2 * (4096 + 64 * 64), "{slots}");
}

/// Every state of the database with every state of the witness: what the order of writes can leave behind is
/// taken, everything else is refused, and no mark is ever lower than what the witness had seen.
// claim: P27
#[tokio::test]
async fn halves_of_different_ages_are_refused_or_complete() {
    let dir = quick_dir();
    let store = open(dir.path()).await;
    let mut snapshots = Vec::new();
    let mut history = Vec::new();
    for n in 0..12u64 {
        match n {
            0 | 1 => put(&store, if n == 0 { "a" } else { "b" }, 0, 10).await.unwrap(),
            3 | 4 | 8 => claim(&store, "a", history_version(&store, "a").await, 5)
                .await
                .unwrap(),
            5 => claim(&store, "b", history_version(&store, "b").await, 5)
                .await
                .unwrap(),
            _ => put(&store, "b", history_version(&store, "b").await, 100 * n)
                .await
                .unwrap(),
        };
        snapshots.push(copy(dir.path(), &dir.path().join(format!("s{n}"))));
        history.push(everything(&store).await);
    }
    let (mut taken, mut refused) = (0, 0);
    for (i, database) in snapshots.iter().enumerate() {
        for (j, witness) in snapshots.iter().enumerate() {
            let mixed = copy(database, &dir.path().join("mixed"));
            fs::copy(witness.join("witness"), mixed.join("witness")).unwrap();
            match open_with(&mixed, tuning()).await {
                Ok(store) => {
                    let found = everything(&store).await;
                    for (key, (_, mark)) in &history[j] {
                        invariant!(
                            found[key].1 >= *mark,
                            "database {i}, witness {j}: {key} fell to {found:?}"
                        );
                    }
                    taken += 1;
                    store.close().await.unwrap();
                }
                Err(error) => {
                    assert_ne!(i, j, "{error}");
                    assert_eq!(error.kind, StoreErrorKind::Corrupt);
                    refused += 1;
                }
            }
        }
    }
    assert!(taken >= 12 && refused >= 80, "{taken} taken, {refused} refused");
}

async fn history_version(store: &EmbeddedStore, name: &str) -> u64 {
    store.get(&key(name)).await.unwrap().unwrap().version.number()
}

/// A store of some size, closed cleanly or crashed, and what it holds.
async fn sample(dir: &Path, clean: bool) -> (PathBuf, BTreeMap<String, (u64, u64)>) {
    let path = dir.join("sample");
    let store = open_with(
        &path,
        Tuning {
            slots_least: 64,
            ..tuning()
        },
    )
    .await
    .unwrap();
    for n in 0..10u64 {
        put(&store, &format!("k{n}"), 0, 1000 * (n + 1)).await.unwrap();
    }
    for version in 1..4 {
        put(&store, "k3", version, 4000 + 1000 * version).await.unwrap();
        claim(&store, "k4", version, 50).await.unwrap();
    }
    let held = everything(&store).await;
    if clean {
        store.close().await.unwrap();
        return (path, held);
    }
    (copy(&path, &dir.join("crashed")), held)
}

/// (600 flips in a bare WAL: 541 silently lowered a mark.)
// claim: P27
#[tokio::test]
async fn no_flipped_byte_lowers_a_mark() {
    for clean in [true, false] {
        let dir = quick_dir();
        let (path, held) = sample(dir.path(), clean).await;
        let (mut harmless, mut refused) = (0, 0);
        for file in ["witness", "mint.db", "mint.db-wal", "folder.json"] {
            let good = fs::read(path.join(file)).unwrap_or_default();
            // A stride prime to every structure; where bytes are all zero nothing is stored.
            let stride = if file == "folder.json" { 7 } else { 61 };
            for at in (0..good.len())
                .step_by(stride)
                .filter(|at| good[*at] != 0 || at % 5 == 0)
            {
                let flipped = copy(&path, &dir.path().join("flipped"));
                let mut bytes = good.clone();
                bytes[at] ^= 1 << (at % 8);
                fs::write(flipped.join(file), bytes).unwrap();
                match open_with(&flipped, tuning()).await {
                    Ok(store) => {
                        let found = everything(&store).await;
                        for (key, (version, mark)) in &held {
                            let now = found.get(key).copied().unwrap_or_default();
                            invariant!(
                                now.1 >= *mark,
                                "{file} byte {at}: {key} {version} {mark} became {now:?}"
                            );
                        }
                        harmless += 1;
                        store.close().await.unwrap();
                    }
                    Err(error) => {
                        assert!(error.hint.is_some(), "{file} byte {at}: {error}");
                        refused += 1;
                    }
                }
            }
        }
        assert!(
            harmless > 20 && refused > 20,
            "{harmless} harmless, {refused} refused"
        );
    }
}

#[tokio::test]
async fn random_work_agrees_with_a_model_through_crashes() {
    let dir = quick_dir();
    let seed = 0x5eed_u64;
    let mut state = seed;
    let mut random = move |below: u64| {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 33) % below
    };
    let tuning = Tuning {
        slots_least: 24,
        pending_max: 4,
        checkpoint_rows: 9,
        ..tuning()
    };
    let (mut path, mut generation) = (dir.path().join("g0"), 0);
    let mut store = open_with(&path, tuning.clone()).await.unwrap();
    let mut model: BTreeMap<String, Versioned> = BTreeMap::new();
    for step in 0..600u64 {
        let name = format!("k{}", random(6));
        let held = model.get(&name).cloned();
        let version = held.as_ref().map(|h| h.version);
        let mark = held.as_ref().map_or(0, |h| h.value.mark);
        match random(10) {
            0..=2 if held.is_some() => {
                let add = random(50) + 1;
                claim(&store, &name, version.unwrap().number(), add)
                    .await
                    .unwrap();
                let held = model.get_mut(&name).unwrap();
                held.value = Value {
                    mark: mark + add,
                    token: 99,
                    body: held.value.body.clone(),
                };
                held.version = Version::of(held.version.number() + 1);
            }
            3..=6 => {
                // Marks of zero now and then, so that registers can go.
                let mark = if mark == 0 && random(2) == 0 {
                    0
                } else {
                    mark + random(9)
                };
                let done = store
                    .compare_and_set(&key(&name), version, value(mark), Marks::NeverLower)
                    .await;
                let version = Version::of(version.map_or(1, |v| v.number() + 1));
                assert_eq!(done, Ok(Cas::Done(version)), "seed {seed} step {step}");
                model.insert(
                    name,
                    Versioned {
                        value: value(mark),
                        version,
                    },
                );
            }
            7 if held.is_some() => {
                let down = value(random(mark + 1));
                store
                    .compare_and_set(&key(&name), version, down.clone(), Marks::GiveBack)
                    .await
                    .unwrap();
                let version = Version::of(version.unwrap().number() + 1);
                model.insert(name, Versioned { value: down, version });
            }
            8 if held.is_some() && mark == 0 => {
                store.remove(&key(&name), version.unwrap()).await.unwrap();
                model.remove(&name);
            }
            9 => {
                generation += 1;
                path = match random(2) {
                    0 => copy(&path, &dir.path().join(format!("g{generation}"))),
                    _ => path,
                };
                store.close().await.unwrap();
                store = open_with(&path, tuning.clone()).await.unwrap();
            }
            _ => assert_eq!(store.get(&key(&name)).await, Ok(held), "seed {seed} step {step}"),
        }
        let page = store.scan(&key("k"), None, 100).await.unwrap();
        let expected: Vec<_> = model.iter().map(|(k, v)| (key(k), v.clone())).collect();
        invariant!(
            page == expected,
            "seed {seed} step {step}: {page:?} where {expected:?} was"
        );
    }
}

#[tokio::test]
async fn a_folder_that_changes_under_the_process_stops_the_store() {
    type Change = fn(&Path);
    let changes: [Change; 3] = [
        |p| {
            fs::rename(p.join("mint.db"), p.join("elsewhere")).unwrap();
            fs::copy(p.join("elsewhere"), p.join("mint.db")).unwrap();
        },
        |p| fs::remove_file(p.join("LOCK")).unwrap(),
        |p| fs::remove_dir_all(p).unwrap(),
    ];
    for change in changes {
        let dir = quick_dir();
        let path = dir.path().join("data");
        let store = open(&path).await;
        put(&store, "k", 0, 1).await.unwrap();
        tick_now(&store).await;
        assert!(store.stopped().is_none());
        change(&path);
        tick_now(&store).await;
        let error = put(&store, "k", 1, 2).await.unwrap_err();
        check_error(
            &error,
            StoreErrorKind::Stopped,
            Outcome::NotDone,
            &["moved, removed or replaced"],
        );
    }
}

#[tokio::test]
async fn a_row_that_changes_by_itself_stops_the_store() {
    let dir = quick_dir();
    let store = open(dir.path()).await;
    put(&store, "k", 0, 1000).await.unwrap();
    let other = rusqlite::Connection::open(dir.path().join("mint.db")).unwrap();
    let read: i64 = other
        .query_row("SELECT mark FROM registers", [], |row| row.get(0))
        .unwrap();
    assert_eq!(read, 1000, "people may read along");
    other.execute("UPDATE registers SET mark = 10", []).unwrap();
    let error = store.get(&key("k")).await.unwrap_err();
    check_error(&error, StoreErrorKind::Stopped, Outcome::NotDone, &["checksum"]);
    assert!(store.stopped().is_some());
}

#[tokio::test]
async fn heartbeats_tell_a_stale_folder_and_a_clock_that_went_back() {
    let dir = quick_dir();
    let runtime = HandRuntime::new();
    let reopen = |offset: i64| {
        runtime.offset_s.store(offset, SeqCst);
        let path = copy(dir.path().join("data").as_path(), &dir.path().join("copy"));
        let runtime = runtime.clone();
        async move {
            let store = EmbeddedStore::open_tuned(&path, &StoreSettings::default(), tuning(), runtime).await;
            store.unwrap().report().clone()
        }
    };
    let data = dir.path().join("data");
    let store = EmbeddedStore::open_tuned(&data, &StoreSettings::default(), tuning(), runtime.clone())
        .await
        .unwrap();
    assert_eq!((store.report().created, store.newest_wall()), (true, None));
    for _ in 0..5 {
        tick_now(&store).await;
    }
    assert_eq!(
        reopen(30).await.warnings,
        Vec::<String>::new(),
        "half a minute is nothing"
    );
    let stale = reopen(3600).await;
    assert!(
        stale.warnings[0].contains("mint store restore --advance N"),
        "{stale:?}"
    );
    let back = reopen(-3600).await;
    assert!(
        back.held_wall.is_some() && back.held_wall == back.last_wall,
        "{back:?}"
    );
    runtime.offset_s.store(0, SeqCst);
    store.close().await.unwrap();
    let clean = reopen(3600).await;
    assert_eq!((clean.clean, clean.warnings.len()), (true, 0));
    let rested = reopen(8 * 24 * 3600).await;
    let says = format!(
        "mint store restore --advance N --store file:{}",
        dir.path().display()
    );
    assert!(rested.clean && rested.warnings[0].contains(&says), "{rested:?}");
}

/// Two processes over copies of one folder, as of an image that is attached twice, with one state folder: the one that
/// was there first stops at its next heartbeat.
#[tokio::test]
async fn a_copy_that_starts_on_this_machine_stops_the_original() {
    let dir = quick_dir();
    let settings = StoreSettings {
        state_folder: Some(dir.path().join("state")),
        ..StoreSettings::default()
    };
    let open = async |name: &str| {
        let path = dir.path().join(name);
        let tuning = Tuning {
            any_inode: false,
            ..tuning()
        };
        EmbeddedStore::open_tuned(&path, &settings, tuning, HandRuntime::new()).await
    };
    let store = open("data").await.unwrap();
    put(&store, "k", 0, 7).await.unwrap();
    let clone = copy(&dir.path().join("data"), &dir.path().join("clone"));
    // What a copy of the whole volume would have.
    let folder = folder::Folder::lock(&clone, false, &[]).unwrap().unwrap();
    let mut identity = folder.read_identity().unwrap();
    identity.database = folder.inode().unwrap();
    let reached = reached::list(&clone).unwrap().remove(0).1;
    identity.reached = Some(inode::Inode::of(&reached).unwrap());
    folder.write_identity(&identity, true).unwrap();
    drop(folder);
    let second = open("clone").await.unwrap();
    assert_eq!(put(&store, "k", 1, 8).await.unwrap(), Cas::Done(Version::of(2)));
    for _ in 0..5 {
        tick_now(&store).await;
    }
    let error = put(&store, "k", 2, 9).await.unwrap_err();
    check_error(
        &error,
        StoreErrorKind::Stopped,
        Outcome::NotDone,
        &["a copy of it was started on this machine", "clone"],
    );
    // The newcomer goes on.
    for _ in 0..5 {
        tick_now(&second).await;
    }
    assert_eq!(put(&second, "k", 1, 8).await.unwrap(), Cas::Done(Version::of(2)));
}

/// The name follows every acknowledgement: after claims, commits and compactions alike.
#[tokio::test]
async fn the_folder_says_how_far_its_witness_got() {
    let dir = quick_dir();
    let path = dir.path().join("data");
    let small = Tuning {
        slots_least: 4,
        ..tuning()
    };
    let store = open_with(&path, small.clone()).await.unwrap();
    let got = || {
        let all = reached::list(&path).unwrap();
        assert_eq!(all.len(), 1, "{all:?}");
        all[0].0
    };
    let mut last = got();
    put(&store, "k", 0, 1).await.unwrap();
    for version in 1..20 {
        invariant!(got() > last, "version {version}: {} after {last}", got());
        last = got();
        if version % 3 == 0 {
            claim(&store, "k", version, 1).await.unwrap();
        } else {
            put(&store, "k", version, version + 1).await.unwrap();
        }
    }
    assert!(store.stats().compactions > 0);
    drop(store);
}

/// Damage that a start refuses, and what a repair makes of it.
// claim: P43
#[tokio::test]
async fn a_repair_never_lowers_a_mark() {
    type Break = fn(&Path);
    fn sql(path: &Path, statement: &str) {
        let database = rusqlite::Connection::open(path.join("mint.db")).unwrap();
        database.execute_batch(statement).unwrap();
    }
    let cases: &[(&str, Break, &str)] = &[
        (
            "a lowered mark",
            |p| sql(p, "UPDATE registers SET mark = 1 WHERE key = 'k3'"),
            "k3",
        ),
        (
            "a missing row",
            |p| sql(p, "DELETE FROM registers WHERE key = 'k3'"),
            "missing in the database",
        ),
        (
            "a renamed row",
            |p| sql(p, "UPDATE registers SET key = 'zz' WHERE key = 'k3'"),
            "zz",
        ),
        (
            "a counter set back",
            |p| sql(p, "UPDATE meta SET commit_no = 1"),
            "checksum",
        ),
        ("no meta", |p| sql(p, "DELETE FROM meta"), "table meta"),
        ("no table", |p| sql(p, "DROP TABLE registers"), "no such table"),
        (
            "no database",
            |p| fs::write(p.join("mint.db"), "rubbish".repeat(900)).unwrap(),
            "not a database",
        ),
        (
            "no witness header",
            |p| {
                let mut bytes = fs::read(p.join("witness")).unwrap();
                let half = bytes.len() / 2;
                bytes[20] ^= 1;
                bytes[half + 20] ^= 1;
                fs::write(p.join("witness"), bytes).unwrap();
            },
            "both headers",
        ),
        (
            "a witness record",
            |p| {
                let mut bytes = fs::read(p.join("witness")).unwrap();
                let half = bytes.len() / 2;
                bytes[4096 + 128] ^= 1;
                bytes[half + 4096 + 128] ^= 1;
                fs::write(p.join("witness"), bytes).unwrap();
            },
            "witness record 2 (lsn 3) is damaged in both copies",
        ),
    ];
    for (what, damage, says) in cases {
        let dir = quick_dir();
        let (path, held) = sample(dir.path(), true).await;
        damage(&path);
        let runtime = HandRuntime::new();
        let error = open_with(&path, tuning()).await.expect_err(what);
        check_error(
            &error,
            StoreErrorKind::Corrupt,
            Outcome::NotDone,
            &[says, "CheckOrRepair"],
        );
        let checked = check(&path, &StoreSettings::default(), runtime.clone())
            .await
            .unwrap();
        assert!(!checked.findings.is_empty(), "{what}: {checked:?}");
        let report = repair(&path, &StoreSettings::default(), runtime.clone())
            .await
            .unwrap();
        let store = open_with(&path, tuning())
            .await
            .unwrap_or_else(|e| panic!("{what}: {e} {report:?}"));
        for (name, (_, mark)) in &held {
            // The name of a lost row comes back with its first use.
            let found = store
                .get(&key(name))
                .await
                .unwrap()
                .unwrap_or_else(|| panic!("{what}: {name} {report:?}"));
            invariant!(found.value.mark >= *mark, "{what}: {name} fell to {found:?}");
            let next = found.value.mark + 1;
            put(&store, name, found.version.number(), next).await.unwrap();
            claim(&store, name, found.version.number() + 1, 1).await.unwrap();
        }
        store.close().await.unwrap();
        let checked = check(&path, &StoreSettings::default(), runtime).await.unwrap();
        assert_eq!(checked.findings, Vec::<String>::new(), "{what}");
        assert!(checked.registers >= held.len());
    }
}

#[tokio::test]
async fn a_check_changes_nothing() {
    for clean in [true, false] {
        let dir = quick_dir();
        let (path, held) = sample(dir.path(), clean).await;
        let files = || {
            let names = ["mint.db", "mint.db-wal", "witness", "folder.json", "heartbeat"];
            names.map(|name| fs::read(path.join(name)).unwrap_or_default())
        };
        let before = files();
        // The copy of a crashed folder has another inode: that is a finding too.
        let report = check(&path, &StoreSettings::default(), HandRuntime::new())
            .await
            .unwrap();
        assert_eq!(
            (report.registers, report.findings.is_empty()),
            (held.len(), clean),
            "{report:?}"
        );
        assert_eq!(report.claims_pending, usize::from(!clean));
        assert!(before == files(), "a check wrote something");
    }
}

/// A real file system of 3 MiB that fills up; needs the right to mount.
#[tokio::test]
async fn a_full_disk_is_not_done_and_recovers_by_itself() {
    let dir = tempfile::tempdir().unwrap();
    let mount = std::process::Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=3m", "mint-test"])
        .arg(dir.path())
        .output();
    if !mount.is_ok_and(|done| done.status.success()) {
        eprintln!("skipped: tmpfs");
        return;
    }
    let checked = full_disk(dir.path()).await;
    std::process::Command::new("umount")
        .arg("-l")
        .arg(dir.path())
        .status()
        .unwrap();
    checked.unwrap();
}

async fn full_disk(mount: &Path) -> Result<(), String> {
    let store = open_with(&mount.join("data"), tuning())
        .await
        .map_err(|e| e.to_string())?;
    let body = "x".repeat(8000);
    let filler = mount.join("filler");
    // The last pages go to a file that can be removed again.
    fs::write(&filler, vec![1; 1 << 20]).map_err(|e| e.to_string())?;
    let mut version = 0;
    let error = loop {
        let new = Value {
            mark: version + 1,
            token: 1,
            body: body.clone(),
        };
        let expected = (version > 0).then_some(Version::of(version));
        let name = key(&format!("k{version}"));
        match store
            .compare_and_set(&key("k"), expected, new.clone(), Marks::NeverLower)
            .await
        {
            Ok(_) => version += 1,
            Err(error) => break error,
        }
        if let Err(error) = store.compare_and_set(&name, None, new, Marks::NeverLower).await {
            break error;
        }
        if version > 1000 {
            return Err("the disk never filled up".to_string());
        }
    };
    if (error.kind, error.outcome) != (StoreErrorKind::Unavailable, Outcome::NotDone) {
        return Err(format!("{error:?}"));
    }
    let held = store
        .get(&key("k"))
        .await
        .map_err(|e| e.to_string())?
        .ok_or("gone")?;
    if held.version.number() != version {
        return Err(format!("{} instead of {version}", held.version.number()));
    }
    // The witness was written in full when it was made: claims go on.
    claim(&store, "k", version, 1)
        .await
        .map_err(|e| format!("claim on a full disk: {e}"))?;
    fs::remove_file(filler).map_err(|e| e.to_string())?;
    put(&store, "k", version + 1, version + 10)
        .await
        .map_err(|e| format!("after space came back: {e}"))?;
    store.close().await.map_err(|e| e.to_string())
}

/// All columns of one row (or of meta), to be put back later: a page write that the disk lost.
fn keep_rows(path: &Path, table: &str, filter: &str) -> String {
    let database = rusqlite::Connection::open(path.join("mint.db")).unwrap();
    let columns = match table {
        "meta" => {
            "id || ',' || schema || ',' || quote(cluster_id) || ',' || commit_no || ',' || witness_generation"
        }
        _ => {
            "quote(key) || ',' || mark || ',' || version || ',' || quote(token) || ',' || quote(body) || ',' || commit_no"
        }
    };
    let select = format!(
        "SELECT 'INSERT OR REPLACE INTO {table} VALUES (' || {columns} || ',' || checksum || ');' FROM {table} {filter}"
    );
    database.query_row(&select, [], |row| row.get(0)).unwrap()
}

fn put_rows(path: &Path, statement: &str) {
    rusqlite::Connection::open(path.join("mint.db"))
        .unwrap()
        .execute_batch(statement)
        .unwrap();
}

/// A lost page write leaves an old row whose checksum is right: only the witness knows better.
#[tokio::test]
async fn an_old_row_with_a_right_checksum_is_refused() {
    let dir = quick_dir();
    let store = open(dir.path()).await;
    put(&store, "k", 0, 10).await.unwrap();
    put(&store, "other", 0, 1).await.unwrap();
    let (row, meta) = (
        keep_rows(dir.path(), "registers", "WHERE key = 'k'"),
        keep_rows(dir.path(), "meta", ""),
    );
    claim(&store, "k", 1, 5).await.unwrap();
    let witness_with_claim = copy(dir.path(), &dir.path().join("claimed")).join("witness");
    // The claim is applied by this commit, which the witness copied above has not seen.
    put(&store, "other", 1, 2).await.unwrap();
    let newest = copy(dir.path(), &dir.path().join("newest"));
    drop(store);

    let stale_row = copy(&newest, &dir.path().join("stale-row"));
    put_rows(&stale_row, &row);
    let says = [
        "register \"k\"",
        "behind its witness: version 1 mark 10 in the database, version 2 mark 15",
    ];
    check_error(
        &open_with(&stale_row, tuning()).await.unwrap_err(),
        StoreErrorKind::Corrupt,
        Outcome::NotDone,
        &says,
    );

    let stale_meta = copy(&newest, &dir.path().join("stale-meta"));
    put_rows(&stale_meta, &meta);
    let error = open_with(&stale_meta, tuning()).await.unwrap_err();
    check_error(
        &error,
        StoreErrorKind::Corrupt,
        Outcome::NotDone,
        &["the database is behind its witness: it is at commit"],
    );

    let unapplied = copy(&newest, &dir.path().join("unapplied"));
    put_rows(&unapplied, &row);
    fs::copy(&witness_with_claim, unapplied.join("witness")).unwrap();
    let error = open_with(&unapplied, tuning()).await.unwrap_err();
    check_error(&error, StoreErrorKind::Corrupt, Outcome::NotDone, &says);

    // The same witness with the row that the last commit wrote is an ordinary crash.
    let crashed = copy(&newest, &dir.path().join("crashed"));
    fs::copy(&witness_with_claim, crashed.join("witness")).unwrap();
    let store = open(&crashed).await;
    assert_eq!(
        (store.report().unwitnessed, everything(&store).await["k"]),
        (2, (2, 15))
    );
}

/// What a torn append left behind must not come to life when its slots are used again.
#[tokio::test]
async fn the_rest_of_a_torn_append_stays_dead() {
    let dir = quick_dir();
    let store = open(dir.path()).await;
    put(&store, "a", 0, 10).await.unwrap();
    put(&store, "b", 0, 10).await.unwrap();
    store.close().await.unwrap();
    let path = dir.path().join("witness");
    let file = fs::OpenOptions::new().read(true).write(true).open(&path).unwrap();
    let testimony = recover::read_witness(&file).unwrap();
    let (header, next, commit) = (testimony.scan.header, testimony.scan.next, testimony.commit);
    let torn = |name: &str| {
        let stamp = database::Stamp {
            mark: 500,
            version: 2,
            token: 1,
            commit,
        };
        witness::Record {
            kind: witness::Kind::Claim,
            ..engine::row_record(key_hash(&key(name)), &stamp)
        }
    };
    witness::Witness::resume(Box::new(file), header, next)
        .append(&mut [torn("a"), torn("b")])
        .unwrap();
    // The power went before the first of both reached the disk.
    let mut bytes = fs::read(&path).unwrap();
    let half = bytes.len() / 2;
    for start in [0, half] {
        let at = start + 4096 + next as usize * 64;
        bytes[at..at + 64].fill(0);
    }
    fs::write(&path, bytes).unwrap();
    let store = open(dir.path()).await;
    claim(&store, "a", 1, 1).await.unwrap();
    let crashed = open(&copy(dir.path(), &dir.path().join("crashed"))).await;
    assert_eq!(
        everything(&crashed).await,
        BTreeMap::from([("a".into(), (2, 11)), ("b".into(), (1, 10))])
    );
}
