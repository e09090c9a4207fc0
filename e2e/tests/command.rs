//! The command itself: outputs, exit codes, streams, and ids that parallel commands never repeat.
#![allow(clippy::unwrap_used)]

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use mintage_e2e::guard::ends_with_us;
use mintage_e2e::need::{boots, say};
use mintage_e2e::run::{self, Said};
use mintage_e2e::server::Start;
use mintage_testing::{Distinct, distinct, no_panic_in, rising};
use serde_json::Value;

fn home() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

#[test]
fn mint_alone_shows_five_examples() {
    let home = home();
    let out = run::mint(home.path(), [""; 0]).ok();
    assert_eq!(
        out.lines().filter(|l| l.starts_with("  mint ")).count(),
        5,
        "{out}"
    );
}

#[test]
fn uuids_come_in_every_form_and_sorted() {
    let home = home();
    let ids = run::mint(home.path(), ["uuid", "-n", "10000"]).ok();
    let ids: Vec<&str> = ids.lines().collect();
    assert_eq!(ids.len(), 10_000);
    rising("uuids", &ids);
    assert!(ids.iter().all(|id| id.len() == 36 && id.as_bytes()[14] == b'7'));
    let random = run::mint(home.path(), ["uuid", "v4", "-n", "1000"]).ok();
    let random: Vec<&str> = random.lines().filter(|id| id.as_bytes()[14] == b'4').collect();
    distinct("version 4", &random);
    assert_eq!(random.len(), 1000);
    for (format, len) in [("simple", 32), ("urn", 45), ("braced", 38), ("upper", 36)] {
        let id = run::mint(home.path(), ["uuid", "--format", format]).ok();
        assert_eq!(id.trim().len(), len, "{format}");
    }
    let raw = run::command(["uuid", "--format", "raw", "-n", "3"])
        .output()
        .unwrap();
    assert_eq!(raw.stdout.len(), 48);
    let json: Value = serde_json::from_str(&run::mint(home.path(), ["uuid", "--json"]).ok()).unwrap();
    assert_eq!(json["id"].as_str().map(str::len), Some(36));
    assert_eq!(run::mint(home.path(), ["uuid", "-n", "0"]).ok(), "");
}

/// The case that nobody else keeps: one-shot commands, in parallel, on one machine.
// claim: P68
#[test]
fn parallel_one_shot_commands_never_repeat_a_snowflake() {
    one_shot_commands(60);
}

// claim: P68
#[test]
#[ignore = "minutes: thousands of commands"]
fn thousands_of_parallel_one_shot_commands_never_repeat_a_snowflake() {
    one_shot_commands(1000);
}

fn one_shot_commands(runs: usize) {
    const PROCESSES: usize = 8;
    let home = home();
    let began = Instant::now();
    let threads: Vec<_> = (0..PROCESSES)
        .map(|_| {
            let home = home.path().to_path_buf();
            thread::spawn(move || {
                (0..runs)
                    .map(|_| {
                        run::mint(&home, ["snowflake"])
                            .ok()
                            .trim()
                            .parse::<u64>()
                            .unwrap()
                    })
                    .collect::<Vec<_>>()
            })
        })
        .collect();
    let mut all = Distinct::of("ids of all processes");
    for thread in threads {
        let ids = thread.join().unwrap();
        rising("ids of a process", &ids);
        all.extend(ids);
    }
    let per_run = began.elapsed() / (PROCESSES * runs) as u32;
    say(&format!(
        "{PROCESSES} x {runs} one-shot snowflakes: {} distinct, {per_run:?} each",
        all.len()
    ));
    assert_eq!(all.len(), PROCESSES * runs);
}

#[test]
fn large_batches_of_parallel_snowflakes_never_overlap() {
    let home = home();
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let home = home.path().to_path_buf();
            thread::spawn(move || run::mint(&home, ["snowflake", "-n", "300000"]).ok())
        })
        .collect();
    let mut all: Vec<u64> = Vec::new();
    for thread in threads {
        all.extend(
            thread
                .join()
                .unwrap()
                .lines()
                .map(|id| id.parse::<u64>().unwrap()),
        );
    }
    all.sort_unstable();
    rising("sorted ids", &all);
    assert_eq!(all.len(), 1_200_000);
}

#[test]
fn a_snowflake_says_where_it_was_reserved_and_refuses_what_does_not_fit() {
    let home = home();
    let state = home.path().join("mine");
    let state = state.to_str().unwrap();
    run::mint(home.path(), ["snowflake", "--state", state, "--worker", "7"]).ok();
    let other = run::mint(home.path(), ["snowflake", "--state", state, "--worker", "8"]);
    other.fails(2, "holds worker 7, asked for worker 8", "");
    run::mint(home.path(), ["snowflake", "--worker", "1024"]).fails(2, "1024", "");
    run::mint(home.path(), ["snowflake", "--preset", "nosuch"]).fails(2, "nosuch", "twitter");
    run::mint(home.path(), ["snowflake", "--unguarded"]).fails(2, "--worker", "");
    let id = run::mint(home.path(), ["snowflake", "--unguarded", "--worker", "7"]).ok();
    let seen = run::mint(home.path(), ["inspect", "--json", id.trim()]).ok();
    let seen: Value = serde_json::from_str(&seen).unwrap();
    assert_eq!(seen["readings"][0]["preset"], "twitter");
    std::fs::write(state, "not a state file").unwrap();
    run::mint(home.path(), ["snowflake", "--state", state]).fails(3, "damaged", "");
}

#[test]
fn inspect_prints_the_documented_json() {
    let home = home();
    let out = run::mint(
        home.path(),
        ["--json", "inspect", "017F22E2-79B0-7CC3-98C4-DC0C0C07398F"],
    )
    .ok();
    let seen: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(seen["input"], "017F22E2-79B0-7CC3-98C4-DC0C0C07398F");
    let first = &seen["readings"][0];
    assert_eq!(first["format"], "uuid");
    assert_eq!(first["version"], 7);
    assert_eq!(first["variant"], "rfc9562");
    assert_eq!(first["time"], "2022-02-22T19:22:22.000Z");
    assert_eq!(first["unix_ns"], "1645557742000000000");
    assert_eq!(first["fields"]["unix_ts_ms"], 1_645_557_742_000_u64);
    assert_eq!(first["fields"]["rand_a"], 3267);
    assert!(first["fields"]["rand_b"].is_string() && first["why"].is_string());
    let out = run::mint(home.path(), ["--json", "inspect", "1541815603606036480"]).ok();
    let seen: Value = serde_json::from_str(&out).unwrap();
    let first = &seen["readings"][0];
    assert_eq!(first["format"], "snowflake");
    for field in ["timestamp_ms", "datacenter", "worker", "sequence"] {
        assert!(!first["fields"][field].is_null(), "{field} in {seen}");
    }
    let unknown = run::mint(home.path(), ["inspect", "no id"]);
    assert_eq!((unknown.code, unknown.err.as_str()), (1, ""));
}

#[test]
fn every_line_of_input_gives_one_line_of_output() {
    let home = home();
    let long = "x".repeat(1 << 20);
    let input = format!(
        "017f22e2-79b0-7cc3-98c4-dc0c0c07398f\n\nnonsense\r\n{long}\n\u{1b}[31mred\n1541815603606036480\n\u{fffd}\nlast"
    );
    for json in [true, false] {
        let mut command = run::command(if json {
            vec!["--json", "inspect", "-"]
        } else {
            vec!["inspect", "-"]
        });
        command.current_dir(home.path());
        let said = run::with_input(command, input.as_bytes());
        assert_eq!(said.code, 1);
        assert_eq!(said.out.lines().count(), 8, "{}", said.out);
        assert!(!said.out.contains('\u{1b}'));
        if json {
            assert!(
                said.out
                    .lines()
                    .all(|line| serde_json::from_str::<Value>(line).is_ok())
            );
        }
    }
    let binary = run::with_input(run::command(["inspect", "-"]), b"\xff\xfe\n\0\n");
    assert_eq!(binary.out.lines().count(), 2);
}

#[test]
fn inspect_answers_a_line_before_the_next_one_comes() {
    let mut command = run::command(["inspect", "-"]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    for id in ["017f22e2-79b0-7cc3-98c4-dc0c0c07398f", "1541815603606036480"] {
        writeln!(stdin, "{id}").unwrap();
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        assert!(line.starts_with(id), "{line}");
    }
    drop(stdin);
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_broken_pipe_ends_quietly() {
    for args in [
        &["uuid", "-n", "100000000"][..],
        &["snowflake", "-n", "10000000", "--unguarded", "--worker", "1"],
    ] {
        let mut command = run::command(args);
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut some = [0; 100];
        child.stdout.take().unwrap().read_exact(&mut some).unwrap();
        let mut err = String::new();
        child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        assert_eq!(
            (child.wait().unwrap().code(), err.as_str()),
            (Some(0), ""),
            "{args:?}"
        );
    }
}

#[test]
fn wrong_usage_is_one_line_with_a_hint_and_exit_code_2() {
    let home = home();
    for (args, error, hint) in [
        (&["nosuch"][..], "nosuch", "mint"),
        (&["uuid", "v9"], "v9", ""),
        (&["uuid", "--formt", "int"], "--formt", "--format"),
        (&["uuid", "-n", "-1"], "-1", ""),
        (
            &["uuid", "-n", "18446744073709551616"],
            "18446744073709551616",
            "",
        ),
        (&["uuid", "--json", "--format", "raw"], "--format raw", ""),
        (&["inspect"], "ID", ""),
        (&["seq", "next", "a\tb"], r"a\tb", ""),
        (
            &["seq", "create", "x", "--start", "abc", "--store", "memory:"],
            "abc",
            "",
        ),
        (
            &["seq", "create", "x", "--increment", "0", "--store", "memory:"],
            "increment",
            "",
        ),
        (&["seq", "list", "--store", "nosuch://x"], "nosuch", ""),
        (&["seq", "list", "--server", "wss://127.0.0.1"], "https", ""),
        (&["token", "new", ""], "empty", ""),
        (&["serve", "--http", "nonsense"], "nonsense", ""),
    ] {
        let said = run::mint(home.path(), args);
        assert_eq!((said.code, said.out.as_str()), (2, ""), "{args:?}: {said:?}");
        let lines: Vec<&str> = said.err.lines().collect();
        assert!(
            lines[0].starts_with("error: ") && lines[0].contains(error),
            "{args:?}: {said:?}"
        );
        assert!(
            lines.len() <= 2 && lines.get(1).is_none_or(|l| l.starts_with("hint: ")),
            "{args:?}: {said:?}"
        );
        assert!(
            hint.is_empty() || lines.get(1).is_some_and(|l| l.contains(hint)),
            "{args:?}: {said:?}"
        );
    }
}

#[test]
fn a_server_that_is_not_there_is_named_with_what_to_do() {
    let home = home();
    let url = format!("http://{}", mintage_e2e::engine::port::free());
    run::mint(home.path(), ["seq", "next", "orders", "--server", &url]).fails(3, &url, "mint serve");
}

#[test]
fn sequences_work_the_same_through_a_server_and_in_a_store() {
    let home = home();
    let server = Start::in_folder(home.path()).ready();
    let url = server.url();
    for place in [["--server", url.as_str()], ["--store", "file:./direct"]] {
        let seq = |args: &[&str]| -> Said { run::mint(home.path(), [&["seq"], args, &place[..]].concat()) };
        let definition = ["create", "s", "--start", "10", "--increment", "5", "--max", "40"];
        let made = seq(&definition).ok();
        for line in [
            "name       s",
            "start      10",
            "increment  5",
            "max        40",
            "cycle      false",
            "gap        bounded",
        ] {
            assert!(made.contains(line), "{line:?} in\n{made}");
        }
        assert_eq!(seq(&definition).ok().lines().next(), made.lines().next());
        let differs = seq(&["create", "s", "--start", "11"]);
        assert_eq!(differs.code, 3, "{differs:?}");
        assert_eq!(seq(&["next", "s"]).ok(), "10\n");
        assert_eq!(seq(&["next", "s", "-n", "2"]).ok(), "15\n20\n");
        assert_eq!(seq(&["next", "s", "-n", "2", "--range"]).ok(), "25 30 5\n");
        assert_eq!(seq(&["next", "s", "--json"]).ok(), "{\"id\":\"35\"}\n");
        assert!(seq(&["show", "s"]).ok().contains("last       35"));
        assert_eq!(seq(&["next", "s"]).ok(), "40\n");
        assert_eq!(seq(&["next", "s"]).code, 3);
        seq(&["alter", "s", "--max", "1000"]).ok();
        assert_eq!(seq(&["next", "s"]).ok(), "45\n");
        seq(&["set", "s", "100"]).ok();
        assert_eq!(seq(&["next", "s"]).ok(), "105\n");
        let back = seq(&["set", "s", "50"]);
        assert_eq!(back.code, 3, "{back:?}");
        assert_eq!(seq(&["restart", "s"]).code, 3);
        seq(&["restart", "s", "--allow-repeat"]).ok();
        assert_eq!(seq(&["next", "s"]).ok(), "10\n");
        seq(&["create", "down", "--increment=-1"]).ok();
        assert_eq!(seq(&["next", "down", "-n", "2"]).ok(), "-1\n-2\n");
        let list = seq(&["list"]).ok();
        assert_eq!(list.lines().count(), 3, "{list}");
        seq(&["drop", "down"]).ok();
        assert_eq!(seq(&["list", "--json"]).ok().lines().count(), 1);
        seq(&["show", "down"]).fails(3, "down", "");
    }
}

#[test]
fn snowflakes_come_from_a_server_or_a_store_too() {
    let home = home();
    let server = Start::in_folder(home.path()).ready();
    let url = server.url();
    for place in [["--server", url.as_str()], ["--store", "file:./direct"]] {
        let args = [&["snowflake", "-n", "25000"], &place[..]].concat();
        let ids = run::mint(home.path(), args).ok();
        let ids: Vec<u64> = ids.lines().map(|id| id.parse().unwrap()).collect();
        assert_eq!(ids.len(), 25_000);
        rising("ids", &ids);
    }
    let mut command = run::command(["snowflake", "--pool", "default"]);
    let said: Said = command.env("MINT_SERVER", &url).output().unwrap().into();
    said.ok();
}

#[test]
fn a_store_that_a_server_has_open_is_not_touched() {
    let home = home();
    let server = Start::in_folder(home.path()).ready();
    let said = run::mint(home.path(), ["seq", "next", "orders", "--store", "file:./mint"]);
    said.fails(3, "/mint", "");
    assert_eq!(server.redis().ask(&["INCR", "orders"]).unwrap().int(), Some(1));
}

/// Started in another folder, a server began anew there, and its numbers came again.
#[test]
fn the_default_store_is_one_folder_wherever_a_command_is_started() {
    let home = home();
    let [here, there] = ["here", "there"].map(|name| home.path().join(name));
    let mint = |at: &Path, words: &str| -> Said {
        std::fs::create_dir_all(at).unwrap();
        let mut command = run::command(words.split(' '));
        run::at_home(&mut command, home.path()).current_dir(at);
        command.output().unwrap().into()
    };
    let store = home.path().join(run::STORE).display().to_string();
    assert!(mint(&here, "init").ok().contains(&store));
    for words in ["store check", "init", "config show"] {
        assert!(mint(&there, words).ok().contains(&store), "{words}");
    }
    // What was made when `./mint-data` was the default is neither passed over nor taken by mistake.
    mint(&here, "init --store file:./mint-data").ok();
    for words in [
        "serve",
        "serve --check",
        "config check",
        "init",
        "store check",
        "store repair",
    ] {
        mint(&here, words).fails(2, "./mint-data holds a store", "--store file:./mint-data");
    }
    mint(&here, "store check --store file:./mint-data").ok();
    assert!(mint(&here, "store check --store file:").ok().contains(&store));
}

#[test]
fn configuration_is_begun_shown_and_checked() {
    let home = home();
    let file = run::mint(home.path(), ["config", "init"]).ok();
    assert!(file.contains("[server.http]") && file.contains("# listen = "));
    std::fs::write(
        home.path().join("mint.toml"),
        "[server.resp]\nlisten = \"127.0.0.1:7777\"\n",
    )
    .unwrap();
    let mut command = run::command(["config", "show"]);
    command.current_dir(home.path()).env("MINT_STORE__URL", "memory:");
    let shown = Said::from(command.output().unwrap()).ok();
    let line = |path: &str| shown.lines().find(|l| l.starts_with(path)).unwrap_or_default();
    assert!(line("server.resp.listen").contains("7777") && line("server.resp.listen").contains("mint.toml"));
    assert!(line("store.url").contains("memory:") && line("store.url").contains("MINT_STORE__URL"));
    assert!(line("server.http.listen").ends_with("default"));
    run::mint(home.path(), ["config", "check"]).ok();
    let json = run::mint(home.path(), ["config", "show", "--json"]).ok();
    let json: Value = serde_json::from_str(&json).unwrap();
    assert!(
        json["server.resp.listen"]["from"]
            .as_str()
            .unwrap()
            .ends_with("mint.toml")
    );
}

#[test]
fn the_store_can_be_checked() {
    let home = home();
    let server = Start::in_folder(home.path()).ready();
    server.redis().ask(&["INCR", "orders"]).unwrap();
    assert_eq!(server.stop(), 0);
    run::mint(home.path(), ["store", "check"]).ok();
    let none = run::mint(home.path(), ["store", "check", "--store", "file:./nothing"]);
    // As every name that leads nowhere.
    assert_eq!(none.code, 2, "{none:?}");
    assert!(!home.path().join("nothing").exists());
}

/// With `--log json` there is no such text: operating.rs.
#[test]
fn the_server_says_both_addresses_with_a_command_each() {
    let home = home();
    boots("mint serve");
    let mut command = run::command(["serve", "--http", "127.0.0.1:0", "--resp", "127.0.0.1:0"]);
    let mut child = run::at_home(&mut command, home.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    ends_with_us(&child, "KILL");
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut banner = String::new();
    while !banner.contains("class") {
        assert!(stdout.read_line(&mut banner).unwrap() > 0, "{banner}");
    }
    for word in [
        "redis-cli",
        "INCR orders",
        "curl -X POST",
        "/v1/sequences/orders/next",
        &*format!("file:{}", home.path().join(run::STORE).display()),
    ] {
        assert!(banner.contains(word), "{word:?} in {banner}");
    }
    mintage_e2e::signal::signal(child.id(), "TERM");
    let mut log = String::new();
    child.stderr.take().unwrap().read_to_string(&mut log).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(!log.is_empty());
    no_panic_in("the server", &log);
}

/// Long after any healthy start; a defect must not hang the run.
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn a_second_signal_stops_at_once() {
    let home = home();
    let server = Start::in_folder(home.path()).ready();
    // A client that never reads keeps a stop waiting.
    let mut client = server.redis();
    let flood = mintage_e2e::resp::encode(&["MINT.ID", "uuid7", "COUNT", "10000"]).repeat(20);
    client.send(&flood).unwrap();
    server.terminate();
    server.terminate();
    let began = Instant::now();
    let mut server = server;
    server.wait();
    assert!(began.elapsed() < PATIENCE);
}
