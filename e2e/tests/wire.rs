//! What the command and a server say to each other, and to everybody else: one set of words for all doors.
//!
//! Covers: crates/server/src/faces/http, crates/server/src/faces/resp
#![allow(clippy::unwrap_used)]

use std::process::Command;

use mintage_e2e::run::{self, Said};
use mintage_e2e::server::Start;
use mintage_e2e::{binary, need};

/// What a person sees of a failure: the exit code, the `error:` line and the `hint:` line.
fn refusal(said: &Said) -> (i32, Vec<&str>) {
    let lines = said.err.lines();
    let told = lines.filter(|line| line.starts_with("error: ") || line.starts_with("hint: "));
    (said.code, told.collect())
}

/// Each line is run through a server and on a store; both say the same, and a number is the exit code of both.
const THROUGH_BOTH_DOORS: &[(i32, &str)] = &[
    (0, "seq create orders --start 5 --json"),
    (0, "seq create orders --start 5 --json"),
    (3, "seq create orders --start 6"),
    (0, "seq next orders -n 3"),
    (3, "seq set orders 2"),
    (3, "seq restart orders --with 1"),
    (2, "seq alter orders --min 9"),
    (3, "seq show nothing"),
    (3, "seq alter nothing --max 5"),
    (3, "seq restart nothing"),
    (3, "seq drop nothing"),
    (2, "seq create odd --min 5 --max 1"),
    (2, "seq create odd --increment 0"),
    (0, "seq create few --max 3"),
    (0, "seq next few -n 2 --range --json"),
    (3, "seq next few -n 4"),
    (3, "seq next few -n 9 --range"),
    (3, "seq next few -n 2 --range"),
    (0, "pool create eu --preset discord"),
    (3, "pool create eu --preset sonyflake"),
    (3, "pool show nothing"),
    (3, "pool drop nothing"),
    (3, "pool release eu 5"),
    (3, "pool retire eu 5000"),
    (2, "pool create odd --window 1ms"),
    (2, "pool create odd --window 30h"),
    (0, "pool drop eu"),
    (3, "pool create eu --preset sonyflake"),
    (0, "seq list --json"),
    (0, "pool list --json"),
];

#[test]
fn a_refusal_has_the_same_words_and_hint_through_a_server_and_on_a_store() {
    let folder = tempfile::tempdir().unwrap();
    let server = Start::in_folder(folder.path()).ready();
    let home = tempfile::tempdir().unwrap();
    let mut differ = Vec::new();
    for (code, line) in THROUGH_BOTH_DOORS {
        let words = line.split(' ');
        let url = server.url();
        let served = run::mint(home.path(), words.clone().chain(["--server", &url]));
        let stored = run::mint(home.path(), words.chain(["--store", "file:./store"]));
        if (refusal(&served), &served.out) != (refusal(&stored), &stored.out) || served.code != *code {
            differ.push(format!(
                "{line} ({code})\n  server {served:?}\n  store  {stored:?}"
            ));
        }
    }
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}

#[test]
fn a_format_is_one_document_whoever_is_asked() {
    let folder = tempfile::tempdir().unwrap();
    let server = Start::in_folder(folder.path()).ready();
    let served = server.http("GET", "/v1/formats", "").json();
    let printed = run::mint(folder.path(), ["formats", "--json"]).ok();
    let printed: Vec<serde_json::Value> = printed
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(served["formats"], serde_json::Value::Array(printed));
}

#[test]
fn an_id_is_one_document_whoever_is_asked() {
    let folder = tempfile::tempdir().unwrap();
    let server = Start::in_folder(folder.path()).ready();
    for (options, query) in [
        ("", ""),
        ("--as uuid7", "?as=uuid7"),
        ("--as ulid", "?as=ulid"),
        ("--preset discord", "?preset=discord"),
        (
            "--preset discord --epoch 2015-01-02",
            "?preset=discord&epoch=2015-01-02",
        ),
        ("--epoch 2015-01-02", "?epoch=2015-01-02"),
        (
            "--as tsid --epoch 2021-01-01 --node-bits 8",
            "?as=tsid&epoch=2021-01-01&node_bits=8",
        ),
        ("--as sqids --alphabet abcdefgh", "?as=sqids&alphabet=abcdefgh"),
    ] {
        for id in [
            "017f22e2-79b0-7cc3-98c4-dc0c0c07398f",
            "175928847299117063",
            "hello",
        ] {
            let words = ["inspect", "--json", id]
                .into_iter()
                .chain(options.split_whitespace());
            let printed: serde_json::Value =
                serde_json::from_str(&run::mint(folder.path(), words).out).unwrap();
            let served = server.http("GET", &format!("/v1/inspect/{id}{query}"), "").json();
            assert_eq!(served, printed, "{id} {options}");
        }
    }
}

#[test]
fn a_stock_generator_makes_a_client_that_works() {
    let Some(python) = need::openapi_generator() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let server = Start::in_folder(folder.path()).ready();
    let said: Said = Command::new(python)
        .arg(binary::root().join("e2e/clients/openapi_client.py"))
        .arg(server.url())
        .output()
        .unwrap()
        .into();
    let out = said.ok();
    assert!(out.contains(" ok"), "{out}");
    need::say(out.trim_end());
}
