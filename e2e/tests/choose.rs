//! `mint formats --choose` and `docs/choose.md`: one table, and every command in it does what the row says.
#![allow(clippy::unwrap_used)]

use std::fs;

use mintage_e2e::server::Start;
use mintage_e2e::{binary, run};
use serde_json::Value;

fn choices(folder: &std::path::Path) -> Vec<Value> {
    let out = run::mint(folder, ["formats", "--choose", "--json"]).ok();
    out.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn every_command_makes_an_id_of_its_row() {
    let folder = tempfile::tempdir().unwrap();
    let server = Start::in_folder(folder.path()).ready();
    for row in choices(folder.path()) {
        let command = row["command"].as_str().unwrap();
        let words: Vec<&str> = command.strip_prefix("mint ").unwrap().split(' ').collect();
        let mut words = words;
        let url = server.url();
        if words[0] == "seq" || words.contains(&"--pool") {
            words.extend(["--server", &url]);
        }
        let id = run::mint(folder.path(), &words).ok();
        let id = id.trim();
        match row["format"].as_str().unwrap() {
            "sequence" if words[1] == "create" => assert!(id.contains("none"), "{command}: {id}"),
            "sequence" => assert_eq!(id, "1", "{command}"),
            "snowflake" => check(folder.path(), command, id, "snowflake", &Value::Null),
            _ if words.contains(&"base62") => assert_eq!(id.len(), 22, "{command}: {id}"),
            format => match format.strip_prefix("uuid") {
                Some(version) => {
                    let version: u64 = version.parse().unwrap();
                    check(folder.path(), command, id, "uuid", &Value::from(version));
                }
                // One ULID in 64 has the version and variant of a UUID; its own reader knows it in any case.
                None => {
                    let mut asked = vec!["check", "--as", format];
                    if words.contains(&"--checksum") {
                        asked.extend(["--prefix", "key", "--checksum"]);
                    }
                    // One Nano ID in 64 begins with a hyphen.
                    asked.extend(["--", id]);
                    run::mint(folder.path(), asked).ok();
                }
            },
        }
    }
}

#[track_caller]
fn check(folder: &std::path::Path, command: &str, id: &str, format: &str, version: &Value) {
    let seen = run::mint(folder, ["inspect", "--json", id]).ok();
    let seen: Value = serde_json::from_str(&seen).unwrap();
    let first = &seen["readings"][0];
    assert_eq!(first["format"], format, "{command}: {id}");
    assert_eq!(&first["version"], version, "{command}: {id}");
}

#[test]
fn the_numbers_for_javascript_stay_below_2_to_53() {
    let folder = tempfile::tempdir().unwrap();
    let row = choices(folder.path());
    let row = row
        .iter()
        .find(|row| row["need"].as_str().unwrap().contains("JavaScript"))
        .unwrap();
    let words = row["command"].as_str().unwrap().split(' ').skip(1);
    let id = run::mint(folder.path(), words).ok();
    assert!(id.trim().parse::<u64>().unwrap() < 1 << 53);
}

#[test]
fn the_page_has_the_table_of_the_command() {
    let folder = tempfile::tempdir().unwrap();
    let page = fs::read_to_string(binary::root().join("docs/choose.md")).unwrap();
    let shown: Vec<&str> = page
        .lines()
        .filter(|line| line.starts_with("| ") && line.contains('`'))
        .collect();
    let wanted: Vec<String> = choices(folder.path())
        .iter()
        .map(|row| {
            let text = |field: &str| row[field].as_str().unwrap().to_string();
            format!(
                "| {} | {} | `{}` |",
                text("need"),
                text("format"),
                text("command")
            )
        })
        .collect();
    assert_eq!(shown, wanted);
}
