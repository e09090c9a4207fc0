//! goSnowFlake's face under requests: no client of its own exists.
#![allow(clippy::unwrap_used)]

use mintage_e2e::faces::{Tried, by_requests};
use mintage_e2e::need;

fn with_gosnowflake(check: impl Fn(&Tried<'_>)) {
    let Some(python) = need::face_clients() else {
        return;
    };
    check(&Tried {
        face: "gosnowflake",
        settings: "",
        client: &|url, count| by_requests(&python, "gosnowflake", url, count),
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
    with_gosnowflake(|tried| tried.over_two_servers_on_redis());
}
