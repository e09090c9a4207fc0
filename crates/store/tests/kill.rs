//! kill -9 in a loop, and a fault at one system call after the other: whatever a child was told is durable
//! must be there afterwards. In a program of its own, which it starts as that child.

mod raise;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use mintage_store::embedded::check;
use mintage_store::{Cas, EmbeddedStore, Key, Outcome, Store, StoreErrorKind, StoreSettings, SystemRuntime};
use mintage_testing::invariant;
use raise::raise;

const FOLDER: &str = "MINT_KILL_TEST_FOLDER";
/// How often the child writes each key before it stops cleanly; for ever if unset.
const LIMIT: &str = "MINT_KILL_TEST_LIMIT";
const KEYS: u64 = 8;

/// What another test of this program has just started holds a copy of the lock until it runs its own program.
fn settings() -> StoreSettings {
    StoreSettings {
        lock_wait: Duration::from_secs(10),
        ..StoreSettings::default()
    }
}

async fn open(path: &Path) -> Arc<EmbeddedStore> {
    let runtime = SystemRuntime::new(tokio::runtime::Handle::current());
    EmbeddedStore::open(path, &settings(), runtime)
        .await
        .unwrap_or_else(|e| panic!("{e}"))
}

/// The child: writes to every key at once, each time one more, and says what was acknowledged.
#[tokio::test]
async fn child() {
    let Ok(folder) = std::env::var(FOLDER) else { return };
    let limit = std::env::var(LIMIT)
        .ok()
        .and_then(|limit| limit.parse().ok())
        .unwrap_or(u64::MAX);
    let store = open(Path::new(&folder)).await;
    let mut writers = tokio::task::JoinSet::new();
    for n in 0..KEYS {
        writers.spawn(write_on(store.clone(), n, limit));
    }
    writers.join_all().await;
    let _ = store.close().await;
}

async fn write_on(store: Arc<EmbeddedStore>, n: u64, limit: u64) {
    let key = Key::new(format!("k{n}")).expect("a valid key");
    let Ok(found) = store.get(&key).await else { return };
    let mut version = found.map_or(0, |found| found.version.number());
    for _ in 0..limit {
        // Even keys mostly claim; odd keys mostly write, so that both kinds meet in one batch.
        let by_claim = version % 5 != 0 && n & 1 == 0;
        let answer = raise(&*store, &key, version, by_claim, "{}").await;
        match answer {
            Ok(Cas::Done(_)) => version += 1,
            // It may pass, and then the same write is tried again.
            Err(error) if error.kind == StoreErrorKind::Unavailable => {
                assert_eq!(error.outcome, Outcome::NotDone, "{error}");
                continue;
            }
            Err(error) if error.kind == StoreErrorKind::Stopped => return,
            other => panic!("{other:?}"),
        }
        let line = format!("ack {n} {version}\n");
        if std::io::stdout().write_all(line.as_bytes()).is_err() {
            return;
        }
    }
}

// claim: P2, P26
#[tokio::test]
async fn nothing_acknowledged_is_lost_by_kill_9() {
    let rounds: u64 = std::env::var("MINT_KILL_ROUNDS")
        .ok()
        .and_then(|r| r.parse().ok())
        .unwrap_or(40);
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("data");
    let mut acknowledged: BTreeMap<u64, u64> = BTreeMap::new();
    let mut lines = 0u64;
    for round in 0..rounds {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "child", "--nocapture"])
            .env(FOLDER, &folder)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // Now and then during the opening, otherwise after so many answers.
        let wanted = if round % 8 == 7 { 0 } else { round * 37 % 500 };
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut seen = 0;
        let mut line = String::new();
        while seen < wanted && output.read_line(&mut line).unwrap() > 0 {
            seen += note(&line, &mut acknowledged);
            line.clear();
        }
        child.kill().unwrap();
        // What it said before it died counts too.
        while output.read_line(&mut line).unwrap() > 0 {
            seen += note(&line, &mut acknowledged);
            line.clear();
        }
        child.wait().unwrap();
        assert!(
            seen >= wanted,
            "round {round}: the child stopped by itself after {seen} answers"
        );
        lines += seen;

        if folder.join("mint.db").exists() && !folder.join("CREATING").exists() {
            let runtime = SystemRuntime::new(tokio::runtime::Handle::current());
            let report = check(&folder, &settings(), runtime).await.unwrap();
            invariant!(report.findings.is_empty(), "round {round}: {:?}", report.findings);
        }
        let store = open(&folder).await;
        check_kept(&store, &acknowledged, &format!("round {round}")).await;
        store.close().await.unwrap();
    }
    println!("{rounds} kills, {lines} acknowledged writes, none lost");
}

/// Whether all that was acknowledged is there.
async fn check_kept(store: &EmbeddedStore, acknowledged: &BTreeMap<u64, u64>, what: &str) {
    for (n, version) in acknowledged {
        let key = Key::new(format!("k{n}")).expect("a valid key");
        let found = store.get(&key).await.expect("a read");
        invariant!(
            found.as_ref().is_some_and(
                |found| found.version.number() >= *version && found.value.mark == found.version.number()
            ),
            "{what}: k{n} fell from {version} to {found:?}"
        );
    }
}

/// Every kind of call that changes a disk, failing or killing at its n-th use in the store's thread, from the
/// first start on.
// claim: P2
#[tokio::test]
async fn a_fault_at_any_system_call_loses_nothing() {
    if !Command::new("strace")
        .arg("-V")
        .stdout(Stdio::null())
        .status()
        .is_ok_and(|s| s.success())
    {
        assert!(
            !std::env::var("MINT_TEST_REQUIRE")
                .unwrap_or_default()
                .contains("strace"),
            "strace is missing"
        );
        eprintln!("skipped: strace");
        return;
    }
    let calls: &[(&str, u32)] = &[
        ("pwrite64", 44),
        ("fsync,fdatasync", 24),
        ("write", 6),
        ("rename", 2),
        ("ftruncate", 3),
        ("unlink,unlinkat", 3),
        ("openat", 24),
    ];
    let (mut points, mut writes) = (0, 0);
    for (call, last) in calls {
        for (n, fault) in
            (1..=*last).flat_map(|n| ["error=EIO", "error=ENOSPC", "signal=KILL"].map(|f| (n, f)))
        {
            // Of the long rows every third point, which still meets every kind of fault at every kind of step.
            if *last > 10 && !(n + fault.len() as u32).is_multiple_of(3) {
                continue;
            }
            writes += fault_at(call, n, fault).await;
            points += 1;
        }
    }
    println!("{points} faults, {writes} acknowledged writes, none lost");
}

async fn fault_at(call: &str, n: u32, fault: &str) -> u64 {
    let dir = tempfile::tempdir().expect("a folder");
    let folder = dir.path().join("data");
    let output = Command::new("strace")
        .args(["-f", "-qq", "-o", "/dev/null", "-e"])
        .arg(format!("trace={call}"))
        .arg("-e")
        .arg(format!("inject={call}:{fault}:when={n}"))
        .args((0..9).flat_map(|file| ["-P".to_string(), path_of(&folder, file)]))
        .arg(std::env::current_exe().expect("this program"))
        .args(["--exact", "child", "--nocapture"])
        .env(FOLDER, &folder)
        .env(LIMIT, "4")
        .output()
        .expect("strace runs");
    let mut acknowledged = BTreeMap::new();
    let text = String::from_utf8_lossy(&output.stdout);
    let seen = text
        .split_inclusive('\n')
        .map(|line| note(line, &mut acknowledged))
        .sum();
    let store = open(&folder).await;
    check_kept(&store, &acknowledged, &format!("{call} {n} {fault}")).await;
    store.close().await.expect("a clean stop");
    seen
}

/// The files whose calls are counted: other threads and libraries shall not shift the numbers.
fn path_of(folder: &Path, file: usize) -> String {
    let names = [
        "mint.db",
        "mint.db-wal",
        "witness",
        "witness.new",
        "folder.json",
        "folder.json.new",
        "heartbeat",
        "CREATING",
    ];
    match names.get(file) {
        Some(name) => folder.join(name).display().to_string(),
        None => folder.display().to_string(),
    }
}

fn note(line: &str, acknowledged: &mut BTreeMap<u64, u64>) -> u64 {
    // A line that the kill cut off says nothing.
    let Some(rest) = line.strip_prefix("ack ").filter(|rest| rest.ends_with('\n')) else {
        return 0;
    };
    let mut numbers = rest
        .split_whitespace()
        .map(|n| n.parse::<u64>().expect("the child writes numbers"));
    let (n, version) = (numbers.next().expect("a key"), numbers.next().expect("a version"));
    let held = acknowledged.entry(n).or_default();
    invariant!(version > *held, "version {version} after {held}");
    *held = version;
    1
}
