//! `mint top` tells how servers fare: lines for scripts, one screen as text.
#![allow(clippy::unwrap_used)]

use mintage_e2e::run;
use mintage_e2e::server::Start;
use serde_json::Value;

/// Nothing listens there.
const NOBODY: &str = "http://127.0.0.1:1";

fn lines(printed: &str) -> Vec<Value> {
    printed
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn a_server_tells_its_seconds_as_lines_of_json() {
    let folder = tempfile::tempdir().unwrap();
    let server = Start::in_folder(folder.path()).ready();
    let url = format!("http://{}", server.http);
    run::mint(folder.path(), ["seq", "next", "orders", "--server", &url]).ok();
    let printed = run::mint(folder.path(), ["top", "--json", "-n", "2", "--server", &url]).ok();
    let frames = lines(&printed);
    let [first, second] = frames.as_slice() else {
        panic!("{printed}")
    };
    assert_eq!(first["started_ms"], second["started_ms"]);
    assert!(first["at_ms"].as_i64() < second["at_ms"].as_i64(), "{printed}");
    assert_eq!(
        (&first["store"]["class"], &first["store"]["up"]),
        (&"D".into(), &true.into())
    );
}

#[test]
fn of_several_servers_one_that_does_not_answer_keeps_no_other_waiting() {
    let folder = tempfile::tempdir().unwrap();
    let server = Start::in_folder(folder.path()).ready();
    let url = format!("http://{}", server.http);
    let both = format!("{NOBODY},{url}");
    let said = run::mint(folder.path(), ["top", "-n", "2", "--server", &both]);
    assert!(said.err.contains(NOBODY), "{said:?}");
    assert!(lines(&said.ok()).iter().all(|frame| frame["url"] == url.as_str()));
}

#[test]
fn one_screen_is_text_and_says_by_its_exit_code_whether_ids_are_given_out() {
    let folder = tempfile::tempdir().unwrap();
    let server = Start::in_folder(folder.path()).ready();
    let url = format!("http://{}", server.http);
    run::mint(folder.path(), ["seq", "next", "orders", "--server", &url]).ok();
    let screen = run::mint(folder.path(), ["top", "--once", "--server", &url]).ok();
    for part in ["ids/s", "(D) up", "orders", &url] {
        assert!(screen.contains(part), "{screen}");
    }
    assert!(!screen.contains('\x1b'), "{screen}");
}

#[test]
fn a_server_that_cannot_be_reached_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let said = |words: &str| run::mint(folder.path(), words.split(' ').chain(["--server", NOBODY]));
    said("top --json -n 1").fails(3, "cannot reach the server", "mint serve");
    said("top --once").fails(1, "cannot reach the server", "mint serve");
}
