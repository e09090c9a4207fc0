//! The audit trail: who changed what, before and after, over every face that changes anything.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;
use std::process::Command;

use mintage_e2e::cluster::eventually;
use mintage_e2e::need;
use mintage_e2e::run::{Said, mint_as, new_token};
use mintage_e2e::server::{Server, Start};
use serde_json::{Value, json};

fn lines(folder: &Path) -> Vec<Value> {
    let text = fs::read_to_string(folder.join("audit.jsonl")).unwrap_or_default();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn mint(folder: &Path, server: &Server, token: &str, words: &str) -> Said {
    mint_as(folder, token, &format!("{words} --server {}", server.url()))
}

#[test]
fn every_change_is_told_with_who_and_what_was_before() {
    if !need::redis() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let (boss, shop) = (
        new_token(at, "boss --may admin,allocate,read"),
        new_token(at, "shop --may allocate"),
    );
    let text = "[auth]\ntoken_file = \"tokens.toml\"\n[audit]\nfile = \"audit.jsonl\"\nsync = true\n";
    fs::write(at.join("mint.toml"), text).unwrap();
    let server = Start::in_folder(at).ready();
    mint(at, &server, &boss, "seq create orders --start 100").ok();
    mint(at, &server, &shop, "seq next orders").ok();
    mint(at, &server, &boss, "seq restart orders --with 500").ok();
    assert_ne!(mint(at, &server, &shop, "seq drop orders").code, 0);
    assert_ne!(mint(at, &server, &boss, "seq restart orders --with 1").code, 0);
    let redis = Command::new("redis-cli")
        .args(["-p", &server.resp.port().to_string(), "DEL", "orders"])
        .env("REDISCLI_AUTH", &boss)
        .output();
    assert_eq!(Said::from(redis.unwrap()).ok(), "1\n");
    mint(at, &server, &boss, "pool create eu --preset twitter").ok();
    let told: Vec<(String, String, String, String)> = lines(at)
        .iter()
        .map(|line| {
            let text = |key: &str| line[key].as_str().unwrap().to_string();
            (
                text("what"),
                line["names"][0].as_str().unwrap().to_string(),
                text("token"),
                text("outcome"),
            )
        })
        .collect();
    let expected = [
        ("create", "orders", "boss", "done"),
        ("restart", "orders", "boss", "done"),
        ("drop", "orders", "shop", "forbidden"),
        ("restart", "orders", "boss", "needs_allow_repeat"),
        ("del", "orders", "boss", "done"),
        ("create pool", "eu", "boss", "done"),
    ];
    let expected = expected.map(|(a, b, c, d)| (a.to_string(), b.to_string(), c.to_string(), d.to_string()));
    assert_eq!(told, expected, "taking ids is no act of an administrator");
    let all = lines(at);
    assert_eq!(all[0]["before"], json!([null]));
    assert_eq!(all[0]["after"][0]["start"], "100");
    assert_eq!(
        (&all[1]["before"][0]["last"], &all[1]["after"][0]["name"]),
        (&json!("100"), &json!("orders"))
    );
    assert_eq!(
        (&all[4]["face"], &all[4]["after"]),
        (&json!("resp"), &json!([null]))
    );
    assert!(all[4]["peer"].as_str().unwrap().starts_with("127.0.0.1:"));
    let text = fs::read_to_string(at.join("audit.jsonl")).unwrap();
    assert!(!text.contains(&boss) && !text.contains(&shop));
    // Renamed by logrotate: SIGHUP begins a new one.
    fs::rename(at.join("audit.jsonl"), at.join("old.jsonl")).unwrap();
    let hup = Command::new("kill")
        .args(["-HUP", &server.pid().to_string()])
        .status();
    assert!(hup.unwrap().success());
    eventually("the file is there again", || at.join("audit.jsonl").exists());
    mint(at, &server, &boss, "seq create bills").ok();
    assert_eq!(lines(at).len(), 1);
}

/// Where the trail cannot be written nothing is changed, and ids are still given out.
#[test]
fn nothing_is_changed_that_the_trail_cannot_tell_of() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    fs::write(at.join("mint.toml"), "[audit]\nfile = \"/dev/full\"\n").unwrap();
    let server = Start::in_folder(at).ready();
    // The first one is done before anybody knows; the log has its line.
    mint(at, &server, "", "seq create orders").ok();
    eventually("it is told", || {
        server.log().contains("the audit trail cannot be written")
    });
    assert!(
        server.log().contains("\\\"what\\\":\\\"create\\\"") || server.log().contains("\"what\":\"create\"")
    );
    let said = mint(at, &server, "", "seq create bills");
    assert!(
        said.code != 0 && said.err.contains("nothing is changed that it could not tell of"),
        "{said:?}"
    );
    assert_eq!(mint(at, &server, "", "seq next orders").ok(), "1\n");
    drop(server);
    fs::write(at.join("mint.toml"), "[audit]\nfile = \"nowhere/audit.jsonl\"\n").unwrap();
    let said = Start::in_folder(at).refused();
    assert!(said.err.contains("audit.file nowhere/audit.jsonl"), "{said:?}");
}
