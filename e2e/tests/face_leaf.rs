//! Leaf's face under requests, and under Spring's RestTemplate.
#![allow(clippy::unwrap_used)]

use std::process::Command;

use mintage_e2e::faces::{Tried, by_requests};
use mintage_e2e::server::Server;
use mintage_e2e::{binary, need};

/// As an operator does who moves a tag here.
fn prepare(server: &Server) {
    let made = server.http("PUT", "/v1/sequences/leaf:order", "{}");
    assert_eq!(made.status, 201, "{}", made.text());
}

fn with_leaf(check: impl Fn(&Tried<'_>)) {
    let Some(python) = need::face_clients() else {
        return;
    };
    check(&Tried {
        face: "leaf",
        settings: "",
        client: &|url, count| by_requests(&python, "leaf", url, count),
        prepare: &prepare,
    });
}

#[test]
fn leaf_goes_on_after_a_kill_without_a_repeat() {
    let folder = tempfile::tempdir().unwrap();
    with_leaf(|tried| tried.over_kills(folder.path(), 2));
}

#[test]
#[ignore = "minutes: many kills"]
fn leaf_goes_on_after_many_kills_without_a_repeat() {
    let folder = tempfile::tempdir().unwrap();
    with_leaf(|tried| tried.over_kills(folder.path(), 20));
}

#[test]
fn leaf_of_two_servers_never_repeats() {
    with_leaf(|tried| tried.over_two_servers_on_redis());
}

/// A stock RestTemplate.
fn with_spring(check: impl Fn(&Tried<'_>)) {
    let Some(class_path) = need::rest_template() else {
        return;
    };
    check(&Tried {
        face: "leaf",
        settings: "",
        client: &|url, count| {
            let mut command = Command::new("java");
            command
                .args(["-cp", &class_path])
                .arg(binary::root().join("e2e/clients/LeafClient.java"))
                .args([url, &count.to_string()]);
            command
        },
        prepare: &prepare,
    });
}

#[test]
#[ignore = "minutes: Java"]
fn spring_goes_on_after_kills_without_a_repeat() {
    let folder = tempfile::tempdir().unwrap();
    with_spring(|tried| tried.over_kills(folder.path(), 3));
}

#[test]
#[ignore = "minutes: Java"]
fn spring_of_two_servers_never_repeats() {
    with_spring(|tried| tried.over_two_servers_on_redis());
}
