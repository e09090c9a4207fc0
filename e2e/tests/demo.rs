//! `mint demo` kills its server and finds no repeat, and leaves nothing behind however it ends.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use mintage_e2e::cluster::eventually;
use mintage_e2e::guard::ends_with_us;
use mintage_e2e::run;
use mintage_e2e::signal::signal;
use mintage_testing::invariant;
use serde_json::Value;

/// A demo that makes its folder in this one.
fn demo(folder: &Path, words: &str) -> Command {
    let mut command = run::command(["demo"].into_iter().chain(words.split_whitespace()));
    command.env("TMPDIR", folder);
    command
}

fn summary(printed: &[u8]) -> Value {
    serde_json::from_slice(printed).unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(printed)))
}

/// The processes that work in a folder, or below it.
fn processes_in(folder: &Path) -> Vec<u32> {
    let works_there = |pid: &u32| {
        let at = fs::read_link(format!("/proc/{pid}/cwd"));
        at.is_ok_and(|at| at.starts_with(folder))
    };
    let entries = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let pids = entries.filter_map(|entry| entry.file_name().to_string_lossy().parse().ok());
    pids.filter(works_there).collect()
}

#[track_caller]
fn leaves_nothing(folder: &Path) {
    assert_eq!(processes_in(folder), [0; 0]);
    assert_eq!(fs::read_dir(folder).unwrap().count(), 0);
}

#[test]
fn a_server_that_is_killed_repeats_no_id_of_any_kind() {
    let folder = tempfile::tempdir().unwrap();
    let out = demo(folder.path(), "--seconds 6 --kill-every 2 --json")
        .output()
        .unwrap();
    assert!(out.status.success(), "{out:?}");
    let summary = summary(&out.stdout);
    assert!(summary["kills"].as_u64().unwrap() >= 1, "{summary}");
    for kind in ["incr", "next", "snowflake", "uuid7"] {
        assert!(summary["ids"][kind].as_u64().unwrap() > 0, "{kind}: {summary}");
    }
    invariant!(summary["repeats"] == 0, "{summary}");
    assert_eq!(summary["stopped"], false);
    leaves_nothing(folder.path());
}

#[test]
fn a_demo_that_is_interrupted_says_what_it_found_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = demo(folder.path(), "--seconds 600 --json");
    let demo = command.stdout(Stdio::piped()).spawn().unwrap();
    ends_with_us(&demo, "KILL");
    eventually("the demo's server serves", || has_a_store(folder.path()));
    signal(demo.id(), "INT");
    let out = demo.wait_with_output().unwrap();
    // Before the clients began it is an error; after that, a short demo.
    match out.status.code() {
        Some(0) => assert_eq!(summary(&out.stdout)["stopped"], true),
        code => assert_eq!(code, Some(3), "{out:?}"),
    }
    leaves_nothing(folder.path());
}

#[test]
fn the_server_of_a_demo_that_is_killed_ends_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let mut demo = demo(folder.path(), "--seconds 600 --json")
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    ends_with_us(&demo, "KILL");
    eventually("the demo's server serves", || has_a_store(folder.path()));
    assert_ne!(processes_in(folder.path()), [0; 0]);
    demo.kill().unwrap();
    demo.wait().unwrap();
    eventually("its server has ended", || processes_in(folder.path()).is_empty());
}

#[test]
fn a_folder_that_is_kept_holds_the_store() {
    let folder = tempfile::tempdir().unwrap();
    let out = demo(folder.path(), "--seconds 1 --kill-every 0 --keep --json")
        .output()
        .unwrap();
    let summary = summary(&out.stdout);
    assert_eq!(summary["kills"], 0);
    let kept = Path::new(summary["folder"].as_str().unwrap());
    let store = format!("file:{}", kept.join("mint-data").display());
    let shown = run::mint(
        folder.path(),
        ["seq", "show", "orders", "--store", &store, "--json"],
    )
    .ok();
    let shown: Value = serde_json::from_str(&shown).unwrap();
    assert_ne!(shown["last"], Value::Null, "{shown}");
}

fn has_a_store(folder: &Path) -> bool {
    let made = fs::read_dir(folder).unwrap().filter_map(Result::ok);
    made.into_iter()
        .any(|made| made.path().join("mint-data/mint.db").exists())
}
