//! sonyflake's face under requests, each id taken apart by sonyflake-py; and pysnowflake's client.
#![allow(clippy::unwrap_used)]

use mintage_e2e::faces::{Tried, by_requests};
use mintage_e2e::need;

fn with_sonyflake(check: impl Fn(&Tried<'_>)) {
    let Some(python) = need::face_clients() else {
        return;
    };
    check(&Tried {
        face: "sonyflake",
        settings: "",
        client: &|url, count| by_requests(&python, "sonyflake", url, count),
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
    with_sonyflake(|tried| tried.over_two_servers_on_redis());
}

fn with_numbers(check: impl Fn(&Tried<'_>)) {
    let Some(python) = need::face_clients() else {
        return;
    };
    check(&Tried {
        face: "sonyflake",
        settings: "shape = \"number\"",
        client: &|url, count| by_requests(&python, "number", url, count),
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
    with_numbers(|tried| tried.over_two_servers_on_redis());
}
