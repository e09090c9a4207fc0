//! sonyflake's face under requests, each id taken apart by sonyflake-py; and pysnowflake's client.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::Command;

use mintage_e2e::engine::redis::Redis;
use mintage_e2e::faces::Tried;
use mintage_e2e::store_suite::Engine;
use mintage_e2e::{binary, need, run};

fn client(python: &Path, face: &str, url: &str, count: u32) -> Command {
    let mut command = Command::new(python);
    command
        .arg(binary::root().join("e2e/clients/face_client.py"))
        .args([face, url, &count.to_string()]);
    command
}

/// Over two servers on one Redis.
fn on_one_store(tried: &Tried<'_>) {
    let Some(engine) = Redis::run() else { return };
    let folder = tempfile::tempdir().unwrap();
    let url = engine.url(engine.address());
    run::mint(folder.path(), ["init", "--store", &url]).ok();
    tried.over_two_servers(folder.path(), &url);
}

fn with_sonyflake(check: impl Fn(&Tried<'_>)) {
    let Some(python) = need::face_clients() else {
        return;
    };
    check(&Tried {
        face: "sonyflake",
        settings: "",
        client: &|url, count| client(&python, "sonyflake", url, count),
        prepare: &|_| {},
    });
}

#[test]
fn sonyflake_goes_on_after_a_kill_without_a_repeat() {
    let folder = tempfile::tempdir().unwrap();
    with_sonyflake(|tried| tried.over_kills(folder.path(), 2));
}

#[test]
#[ignore = "minutes: many kills"]
fn sonyflake_goes_on_after_many_kills_without_a_repeat() {
    let folder = tempfile::tempdir().unwrap();
    with_sonyflake(|tried| tried.over_kills(folder.path(), 20));
}

#[test]
fn sonyflake_of_two_servers_never_repeats() {
    with_sonyflake(|tried| on_one_store(tried));
}

fn with_numbers(check: impl Fn(&Tried<'_>)) {
    let Some(python) = need::face_clients() else {
        return;
    };
    check(&Tried {
        face: "sonyflake",
        settings: "shape = \"number\"",
        client: &|url, count| client(&python, "number", url, count),
        prepare: &|_| {},
    });
}

#[test]
#[ignore = "minutes: a connection for each id"]
fn numbers_goes_on_after_a_kill_without_a_repeat() {
    let folder = tempfile::tempdir().unwrap();
    with_numbers(|tried| tried.over_kills(folder.path(), 2));
}

#[test]
#[ignore = "minutes: many kills"]
fn numbers_goes_on_after_many_kills_without_a_repeat() {
    let folder = tempfile::tempdir().unwrap();
    with_numbers(|tried| tried.over_kills(folder.path(), 20));
}

#[test]
#[ignore = "minutes: a connection for each id"]
fn numbers_of_two_servers_never_repeats() {
    with_numbers(|tried| on_one_store(tried));
}
