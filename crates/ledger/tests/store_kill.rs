//! kill -9 in a loop: whatever a child was told is durable must be there afterwards.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use mintage_ledger::embedded::check;
use mintage_ledger::{
    Cas, Claim, EmbeddedStore, Key, Marks, Store, StoreSettings, SystemRuntime, Value, Version,
};

const FOLDER: &str = "MINT_KILL_TEST_FOLDER";
const KEYS: u64 = 8;

async fn open(path: &Path) -> Arc<EmbeddedStore> {
    let runtime = SystemRuntime::new(tokio::runtime::Handle::current());
    EmbeddedStore::open(path, &StoreSettings::default(), runtime)
        .await
        .unwrap_or_else(|e| panic!("{e}"))
}

/// The child: writes to every key at once, each time one more, and says what was acknowledged.
#[tokio::test]
#[ignore = "run by the other test, as its child"]
async fn child() {
    let Ok(folder) = std::env::var(FOLDER) else { return };
    let store = open(Path::new(&folder)).await;
    let mut writers = tokio::task::JoinSet::new();
    for n in 0..KEYS {
        writers.spawn(write_forever(store.clone(), n));
    }
    writers.join_all().await;
}

async fn write_forever(store: Arc<EmbeddedStore>, n: u64) {
    let key = Key::new(format!("k{n}")).expect("a valid key");
    let found = store.get(&key).await.expect("a read");
    let mut version = found.map_or(0, |found| found.version.0);
    loop {
        let token = u128::from(version) + 1;
        // Even keys mostly claim; odd keys mostly write, so that both kinds meet in one batch.
        let answer = if version > 0 && version % 5 != 0 && n & 1 == 0 {
            store
                .claim(&Claim {
                    key: key.clone(),
                    expected: Version(version),
                    add: 1,
                    token,
                })
                .await
        } else {
            let new = Value {
                mark: version + 1,
                token,
                body: "{}".into(),
            };
            store
                .compare_and_set(
                    &key,
                    (version > 0).then_some(Version(version)),
                    new,
                    Marks::NeverLower,
                )
                .await
        };
        assert!(matches!(answer, Ok(Cas::Done(_))), "{answer:?}");
        version += 1;
        let line = format!("ack {n} {version}\n");
        if std::io::stdout().write_all(line.as_bytes()).is_err() {
            return;
        }
    }
}

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
            .args(["--exact", "child", "--ignored", "--nocapture"])
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
            let report = check(&folder, &StoreSettings::default(), runtime).await.unwrap();
            assert_eq!(report.findings, Vec::<String>::new(), "round {round}");
        }
        let store = open(&folder).await;
        for (n, version) in &acknowledged {
            let found = store
                .get(&Key::new(format!("k{n}")).unwrap())
                .await
                .unwrap()
                .expect("it was answered");
            assert!(
                found.version.0 >= *version,
                "round {round}: k{n} fell from {version} to {found:?}"
            );
            assert_eq!(found.value.mark, found.version.0, "round {round}: k{n}");
        }
        store.close().await.unwrap();
    }
    println!("{rounds} kills, {lines} acknowledged writes, none lost");
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
    assert!(version > *held, "versions only rise");
    *held = version;
    1
}
