//! Processes that share one state file and are killed at random: no UUID twice, and one order for all.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]
#![allow(clippy::disallowed_types, clippy::disallowed_methods)] // the child reads the real clock

use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};

use mintage::{Clock, SystemClock, Uuid};
use mintage_local::state_file::StateFile;
use mintage_local::uuid::LocalUuid;
use mintage_testing::{Distinct, invariant, rising};

const CHILD: &str = "MINT_TEST_LOCAL_UUID_CHILD";
const PROCESSES: usize = 8;
const KILLS: usize = 60;

fn draw(out: &mut [u8]) {
    mintage::fill_random(out);
}

/// Writes UUIDs, 16 bytes each, until killed; a write of 16 bytes to a pipe is whole or not at all.
#[test]
fn child() {
    let Ok(path) = std::env::var(CHILD) else { return };
    let mut local = LocalUuid::open(StateFile::new(path), None, &mut draw, SystemClock.now()).unwrap();
    let mut out = std::io::stdout().lock();
    let mut ids = [Uuid::nil(); 3];
    loop {
        for version in [1, 6, 7] {
            if let Ok(count) = local.fill(version, &mut draw, SystemClock.now(), &mut ids) {
                for id in &ids[..count] {
                    if out.write_all(id.as_bytes()).and_then(|()| out.flush()).is_err() {
                        return;
                    }
                }
            }
        }
    }
}

fn start(path: &std::path::Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child", "--nocapture", "--test-threads=1"])
        .env(CHILD, path)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// What a child wrote, without what its test runner wrote before.
fn ids_of(bytes: &[u8]) -> Vec<Uuid> {
    let marker = b"test child ... ";
    let Some(at) = bytes.windows(marker.len()).position(|window| window == marker) else {
        return Vec::new();
    };
    let (chunks, _) = bytes[at + marker.len()..].as_chunks::<16>();
    chunks.iter().map(|chunk| Uuid::from_bytes(*chunk)).collect()
}

// claim: P69
#[test]
fn killed_processes_never_repeat() {
    if std::env::var(CHILD).is_ok() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state");
    let mut all = Distinct::of("ids of killed processes");
    let mut killed = 0;
    let mut last = Vec::new();
    while killed < KILLS {
        let readers: Vec<_> = (0..PROCESSES)
            .map(|at| {
                let mut child = start(&path);
                let mut pipe = child.stdout.take().unwrap();
                std::thread::spawn(move || {
                    let mut bytes = vec![0; 4000 * (at + 1)];
                    pipe.read_exact(&mut bytes).unwrap();
                    child.kill().unwrap();
                    pipe.read_to_end(&mut bytes).unwrap();
                    child.wait().unwrap();
                    ids_of(&bytes)
                })
            })
            .collect();
        let mut of_round = Vec::new();
        for reader in readers {
            let ids = reader.join().unwrap();
            assert!(ids.len() > 200, "a child wrote {} ids", ids.len());
            for version in [1, 6, 7] {
                let one = ids.iter().filter(|id| id.get_version_num() == version);
                let time = |id: &Uuid| id.get_timestamp().unwrap().to_gregorian().0;
                if version != 7 {
                    rising("times of a process", one.clone().map(time));
                }
                if version != 1 {
                    rising("ids of a process", one);
                }
            }
            of_round.extend(ids);
            killed += 1;
        }
        // Strict order over processes: this round began after the last one had ended.
        let sixes = || of_round.iter().filter(|id| id.get_version_num() == 6);
        if let (Some(before), Some(after)) = (last.iter().max(), sixes().min()) {
            invariant!(before < after, "{before} was made before {after}");
        }
        last = sixes().copied().collect();
        all.extend(of_round);
    }
    println!("{} ids of {killed} killed processes, all different", all.len());
}
