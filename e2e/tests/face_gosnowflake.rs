//! goSnowFlake's face under requests: no client of its own exists.
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

fn with_gosnowflake(check: impl Fn(&Tried<'_>)) {
    let Some(python) = need::face_clients() else {
        return;
    };
    check(&Tried {
        face: "gosnowflake",
        settings: "",
        client: &|url, count| client(&python, "gosnowflake", url, count),
        prepare: &|_| {},
    });
}

#[test]
fn gosnowflake_goes_on_after_a_kill_without_a_repeat() {
    let folder = tempfile::tempdir().unwrap();
    with_gosnowflake(|tried| tried.over_kills(folder.path(), 2));
}

#[test]
#[ignore = "minutes: many kills"]
fn gosnowflake_goes_on_after_many_kills_without_a_repeat() {
    let folder = tempfile::tempdir().unwrap();
    with_gosnowflake(|tried| tried.over_kills(folder.path(), 20));
}

#[test]
fn gosnowflake_of_two_servers_never_repeats() {
    with_gosnowflake(|tried| on_one_store(tried));
}
