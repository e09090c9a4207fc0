//! `mint audit`: is a pile of ids sound? From outside.
#![allow(clippy::unwrap_used)]

use std::fs::{self, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use mintage_e2e::run::{self, Said};
use serde_json::Value;

fn mint(folder: &Path, line: &str) -> Said {
    run::mint(folder, line.split_whitespace())
}

fn home() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

/// The audit's report, and its exit code.
fn report(folder: &Path, line: &str) -> (i32, Value) {
    let said = mint(folder, &format!("audit --json {line}"));
    let report = serde_json::from_str(&said.out).unwrap_or_else(|_| panic!("{said:?}"));
    (said.code, report)
}

/// How many ids the planted repeat hides among; `MINT_TEST_AUDIT_IDS` asks for more (the long form is 100 million).
fn many() -> u64 {
    std::env::var("MINT_TEST_AUDIT_IDS").map_or(2_000_000, |n| n.parse().expect("a number of ids"))
}

/// Writes so many random UUIDs, the way users do.
fn random_ids(path: &Path, count: u64) {
    let out = fs::File::create(path).unwrap();
    let mut command = run::command(["uuid", "v4", "-n", &count.to_string()]);
    assert!(command.stdout(Stdio::from(out)).status().unwrap().success());
}

#[test]
fn one_planted_repeat_among_many_is_found_with_both_its_lines() {
    let home = home();
    let path = home.path().join("ids.txt");
    let count = many();
    random_ids(&path, count - 1);
    let wanted = count / 3;
    let id = BufReader::new(fs::File::open(&path).unwrap())
        .lines()
        .nth(wanted as usize - 1)
        .unwrap()
        .unwrap();
    let mut file = OpenOptions::new().append(true).open(&path).unwrap();
    // Another spelling is the same id.
    writeln!(file, "{}", id.to_uppercase()).unwrap();
    drop(file);
    // Memory for a fraction of them, so that the rest is sorted outside.
    let memory = if count > 50_000_000 { "768MiB" } else { "16MiB" };
    let temp = home.path().join("temp");
    fs::create_dir(&temp).unwrap();
    let line = format!("ids.txt --memory {memory} --temp {}", temp.display());
    let (code, found) = report(home.path(), &line);
    assert_eq!(code, 1, "{found:#}");
    assert_eq!(
        (found["ids"].as_u64(), found["repeats"]["ids"].as_u64()),
        (Some(count), Some(1))
    );
    let repeat = &found["repeats"]["listed"][0];
    assert_eq!(repeat["id"], id);
    assert_eq!(
        repeat["places"],
        serde_json::json!([format!("ids.txt:{wanted}"), format!("ids.txt:{count}")])
    );
    assert!(
        found["spilled_bytes"].as_u64().unwrap() > 0,
        "it did not fit memory"
    );
    assert_eq!(fs::read_dir(&temp).unwrap().count(), 0, "nothing is left behind");
    // As even as chance is: once in a thousand million times it is not.
    assert!(
        found["shards"]["p"].as_f64().unwrap() > 1e-9,
        "{}",
        found["shards"]
    );
}

#[test]
fn sound_ids_are_sound_in_every_form() {
    let home = home();
    for (name, line) in [
        ("v7", "uuid v7 -n 5000"),
        ("v1", "uuid v1 -n 5000"),
        ("v6", "uuid v6 -n 5000 --format braced"),
        ("snowflake", "snowflake -n 5000 --worker 3 --unguarded"),
    ] {
        let made = mint(home.path(), line).ok();
        fs::write(home.path().join(name), made).unwrap();
        let (code, found) = report(home.path(), name);
        assert_eq!(code, 0, "{name}: {found:#}");
        assert_eq!(found["ids"], 5000);
        assert_eq!(found["order"]["out_of_order"], 0, "{name}");
        assert_eq!(found["formats"].as_array().unwrap().len(), 1, "{name}");
        // Without the Z, times of unlike many digits order as texts do.
        let time = |which: &str| {
            found["times"][which]
                .as_str()
                .unwrap()
                .trim_end_matches('Z')
                .to_owned()
        };
        assert!(time("first") <= time("last"), "{name}: {}", found["times"]);
    }
    let (_, found) = report(home.path(), "snowflake");
    assert_eq!(found["workers"]["busiest"][0]["name"], "3");
    assert_eq!(found["layout"]["guessed"], true);
}

#[test]
fn files_are_checked_against_each_other() {
    let home = home();
    fs::write(home.path().join("a.csv"), "id,x\n1,a\n2,b\n3,c\n").unwrap();
    fs::write(home.path().join("b.jsonl"), "{\"id\": 5}\n{\"id\": \"3\"}\n").unwrap();
    let (code, found) = report(home.path(), "a.csv b.jsonl");
    assert_eq!(code, 1);
    assert_eq!(found["repeats"]["across_files"], 1);
    assert_eq!(
        found["repeats"]["listed"][0]["places"],
        serde_json::json!(["a.csv:4", "b.jsonl:2"])
    );
    assert_eq!(found["order"]["out_of_order"], 1, "within b alone: 5 before 3");
    let said = mint(home.path(), "audit a.csv b.jsonl");
    assert_eq!(said.code, 1);
    assert!(
        said.out
            .contains("verdict   not sound: 1 id occurs more than once, 1 of them in more than one file"),
        "{}",
        said.out
    );
}

#[test]
fn a_sequence_tells_what_it_lost() {
    let home = home();
    let numbers: Vec<String> = (100..=10_000)
        .filter(|n| n % 1000 != 7)
        .map(|n| n.to_string())
        .collect();
    fs::write(home.path().join("numbers"), numbers.join("\n")).unwrap();
    let (code, found) = report(home.path(), "numbers --as sequence");
    assert_eq!(code, 0, "gaps alone are no fault");
    assert_eq!(found["numbers"]["lost"], "9");
    assert_eq!(found["numbers"]["gaps"], 9);
    assert_eq!(found["numbers"]["largest"][0]["lost"], "1");
    let (code, found) = report(home.path(), "numbers --fail-on repeats,gaps");
    assert_eq!(code, 1, "{found:#}");
    assert_eq!(found["verdict"]["faults"][0]["what"], "gaps");
}

/// Snowflakes of two workers, one of whose clocks goes back.
fn snowflakes() -> String {
    let layout = |ms: u64, worker: u64, sequence: u64| (ms << 22 | worker << 12 | sequence).to_string();
    // Milliseconds after Twitter's epoch, in 2022.
    let start = 360_000_000_000u64;
    let mut ids = Vec::new();
    for i in 0..4000u64 {
        let step = if i >= 3000 { 2450 } else { 0 };
        ids.push(layout(start + i * 100 - step, 7, 0));
        ids.push(layout(start + i * 100, 9, 0));
    }
    ids.join("\n")
}

#[test]
fn a_clock_that_went_back_and_shards_that_are_uneven_are_seen() {
    let home = home();
    fs::write(home.path().join("ids"), snowflakes()).unwrap();
    let (code, found) = report(home.path(), "ids --preset twitter --fail-on steps,shards,order");
    assert_eq!(code, 1);
    let steps = &found["workers"];
    assert_eq!(steps["steps_back"], 1, "{steps:#}");
    assert_eq!(steps["steps"][0]["worker"], "7");
    assert_eq!(steps["steps"][0]["back_us"], 2_350_000);
    assert_eq!(steps["steps"][0]["place"], "ids:6001");
    assert_eq!(found["shards"]["even"], false);
    assert_eq!(found["sequences"]["zero"], 8000);
    assert!(found["order"]["farthest_us"].as_u64().unwrap() >= 2_350_000);
    let said = mint(home.path(), "audit ids --preset twitter --spread").out;
    for line in [
        "ids       8,000: snowflake",
        "layout    twitter",
        "repeats   none",
        "workers   2: 7 4,000 (50.0 %, 10 a second), 9 4,000 (50.0 %, 10 a second)",
        "clocks    1 step back; the largest:",
        "shards    id % 16 is uneven: shard 0 has all of them, the other 15 none; they end in the sequence",
        "verdict   sound",
    ] {
        assert!(said.lines().any(|l| l.starts_with(line)), "{line}\n{said}");
    }
}

#[test]
fn ids_from_the_future_mixed_formats_and_lines_without_one_are_told() {
    let home = home();
    let text = "017f22e2-79b0-7cc3-98c4-dc0c0c07398f\n\
        f17f22e2-79b0-7cc3-98c4-dc0c0c07398f\n\
        919108f7-52d1-4320-9bac-f847db4148a8\n\
        not an id\n";
    fs::write(home.path().join("ids"), text).unwrap();
    let (code, found) = report(home.path(), "ids");
    assert_eq!(code, 1);
    assert_eq!(found["times"]["future"], 1);
    assert_eq!(found["times"]["future_at"], serde_json::json!(["ids:2"]));
    assert_eq!(found["formats"].as_array().unwrap().len(), 3, "{found:#}");
    let (code, found) = report(home.path(), "ids --as uuid7 --now @99999999999");
    assert_eq!((code, &found["unreadable"]["lines"]), (1, &2.into()));
    assert_eq!(found["unreadable"]["listed"][0][0], "ids:3");
}

#[test]
fn what_cannot_be_audited_is_refused_in_words() {
    let home = home();
    fs::write(home.path().join("a.csv"), "key,x\n1,2\n3\n").unwrap();
    mint(home.path(), "audit a.csv").fails(2, "a.csv has no column \"id\"", "there are: key, x");
    let said = mint(home.path(), "audit a.csv --column key");
    assert_eq!(said.code, 1, "{said:?}");
    assert!(said.out.contains("a.csv:3: this row has 1 field"), "{}", said.out);
    assert_eq!(
        mint(home.path(), "audit a.csv --column key --unparsable keep").code,
        0
    );
    mint(home.path(), "audit absent").fails(3, "cannot read absent: no such file", "");
    mint(home.path(), "audit a.csv --as uuid9").fails(2, "there is no format \"uuid9\"", "");
    mint(home.path(), "audit a.csv --column key --memory 1KiB").fails(2, "1KiB is too little", "");
    mint(home.path(), "audit - -").fails(2, "standard input can be read only once", "");
    let mut zipped = Command::new("sh");
    zipped
        .args([
            "-c",
            "yes 12345 | head -100000 | gzip > cut.gz && truncate -s 200 cut.gz",
        ])
        .current_dir(home.path());
    assert!(zipped.status().unwrap().success());
    mint(home.path(), "audit cut.gz").fails(3, "its gzip data is damaged", "");
}

#[test]
fn the_page_is_whole_in_itself() {
    let home = home();
    fs::write(home.path().join("<ids>&.txt"), snowflakes()).unwrap();
    let said = run::mint(
        home.path(),
        [
            "audit",
            "<ids>&.txt",
            "--preset",
            "twitter",
            "--html",
            "report.html",
        ],
    );
    assert_eq!(said.code, 0, "{said:?}");
    let page = fs::read_to_string(home.path().join("report.html")).unwrap();
    assert!(page.starts_with("<!doctype html>") && page.trim_end().ends_with("</html>"));
    assert_eq!(page.matches("<svg").count(), page.matches("</svg>").count());
    assert_eq!(
        page.matches("<svg").count(),
        5,
        "order, workers, shards, ranges, hash; all within an hour"
    );
    assert!(page.contains("&lt;ids&gt;&amp;.txt") && !page.contains("<ids>"));
    for foreign in ["<script", "http://", "https://", "url(", "@import", " src="] {
        assert!(!page.contains(foreign), "{foreign}");
    }
}

#[test]
fn standard_input_is_a_pile_too() {
    let home = home();
    let mut command = run::command(["audit", "-", "--json"]);
    command.current_dir(home.path());
    let said = run::with_input(command, b"5\n6\n5\n");
    let found: Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!((said.code, &found["repeats"]["lines"]), (1, &1.into()));
    assert_eq!(found["repeats"]["listed"][0]["places"][1], "standard input:3");
}

/// Five of these among a million UUIDs made "time 1970 to 2024", and alone they were sound.
#[test]
fn cells_that_mean_none_are_counted_apart_and_are_no_ids() {
    let home = home();
    let id = "017f22e2-79b0-7cc3-98c4-dc0c0c07398f";
    let text = format!("id\n{id}\nNULL\nnil\nNone\n\\N\nn/a\n\"\"\nNULL\n");
    fs::write(home.path().join("ids.csv"), text).unwrap();
    let (code, found) = report(home.path(), "ids.csv");
    assert_eq!((code, &found["ids"]), (1, &1.into()), "{found:#}");
    assert_eq!(found["without"]["lines"], 7);
    assert_eq!(found["without"]["spellings"][0][1], 2, "NULL twice: {found:#}");
    assert_eq!(found["formats"].as_array().unwrap().len(), 1);
    assert!(found["times"]["first"].as_str().unwrap().starts_with("2022"));
    assert_eq!(found["repeats"]["ids"], 0);
    let said = mint(home.path(), "audit ids.csv");
    assert!(
        said.out.contains("none      7 lines have no id: "),
        "{}",
        said.out
    );
    let (code, _) = report(home.path(), "ids.csv --fail-on repeats");
    assert_eq!(code, 0);
}

/// One id from the future made 999 of 1,000 rows "stand behind a larger one".
#[test]
fn order_tells_how_many_rows_would_have_to_move_and_leaves_minorities_out() {
    let home = home();
    let mut lines: Vec<String> = mint(home.path(), "uuid v7 -n 1000")
        .ok()
        .lines()
        .map(String::from)
        .collect();
    let last = lines.pop().unwrap();
    lines.insert(0, last);
    // Fewer than one in a hundred, and out of order among themselves.
    lines.insert(500, "7ZZZZZZZZZZZZZZZZZZZZZZZZZ".into());
    lines.insert(600, "01ARZ3NDEKTSV4RRFFQ69G5FAV".into());
    fs::write(home.path().join("ids"), lines.join("\n")).unwrap();
    let (_, found) = report(home.path(), "ids");
    let order = &found["order"];
    assert_eq!(
        (&order["to_move"], &order["compared"]),
        (&1.into(), &1000.into()),
        "{order:#}"
    );
    assert_eq!(order["to_move_at_most"], false);
    assert_eq!(order["left_out"], serde_json::json!(["2 ulid"]));
    let said = mint(home.path(), "audit ids").out;
    assert!(
        said.contains("order     1 of 1,000 rows would have to move"),
        "{said}"
    );
    assert!(
        said.contains("left out, as fewer than one in a hundred: 2 ulid"),
        "{said}"
    );
}

/// What repeated was shown as `(text)`, and 40 lines were left out in silence.
#[test]
fn texts_that_repeat_are_shown_and_what_is_left_out_is_counted() {
    let home = home();
    let texts = "key\nno such order!\nKSUID 1\nno such order!\n0ujtsYcgvSTl8PAuAdqWYSMnLOv\n0ujtsYcgvSTl8PAuAdqWYSMnLOv\n";
    fs::write(home.path().join("a.csv"), texts).unwrap();
    let said = mint(home.path(), "audit a.csv --column key --html a.html");
    assert_eq!(said.code, 1);
    let page = fs::read_to_string(home.path().join("a.html")).unwrap();
    for text in ["no such order!", "0ujtsYcgvSTl8PAuAdqWYSMnLOv"] {
        assert!(said.out.contains(&format!("{text} at a.csv:")), "{}", said.out);
        assert!(page.contains(text));
    }
    let wrong: Vec<String> = (0..50).map(|n| format!("no id {n}")).collect();
    fs::write(home.path().join("wrong"), wrong.join("\n")).unwrap();
    let said = mint(home.path(), "audit wrong --as uuid7 --html wrong.html");
    assert!(said.out.contains("and 40 more"), "{}", said.out);
    let page = fs::read_to_string(home.path().join("wrong.html")).unwrap();
    assert!(page.contains("and 30 more"));
}

#[test]
fn a_report_says_when_by_what_and_of_which_bytes() {
    let home = home();
    fs::write(home.path().join("numbers"), "1\n2\n3\n").unwrap();
    let sum = Command::new("sha256sum")
        .arg(home.path().join("numbers"))
        .output()
        .unwrap();
    let sum = String::from_utf8(sum.stdout).unwrap()[..64].to_string();
    let (_, found) = report(home.path(), "numbers");
    assert_eq!(found["files"][0]["sha256"], sum.as_str(), "{found:#}");
    assert_eq!(found["made"]["command"], "mint audit --json numbers");
    assert!(!found["made"]["version"].as_str().unwrap().is_empty());
    assert!(found["made"]["at"].as_str().unwrap().ends_with('Z'));
    mint(home.path(), "audit numbers --html page.html").ok();
    let page = fs::read_to_string(home.path().join("page.html")).unwrap();
    assert!(page.contains(&sum) && page.contains("mint audit numbers --html page.html"));
    // Of a compressed file it is the hash of what lies there.
    assert!(
        Command::new("gzip")
            .arg("-k")
            .arg(home.path().join("numbers"))
            .status()
            .unwrap()
            .success()
    );
    let sum = Command::new("sha256sum")
        .arg(home.path().join("numbers.gz"))
        .output()
        .unwrap();
    let sum = String::from_utf8(sum.stdout).unwrap()[..64].to_string();
    let (_, found) = report(home.path(), "numbers.gz");
    assert_eq!(found["files"][0]["sha256"], sum.as_str(), "{found:#}");
}

/// A file of a million ids, made as users make them.
fn million(folder: &Path, name: &str, line: &str) {
    let out = fs::File::create(folder.join(name)).unwrap();
    let mut command = run::command(line.split_whitespace().chain(["-n", "1000000"]));
    assert!(
        command
            .current_dir(folder)
            .stdout(Stdio::from(out))
            .status()
            .unwrap()
            .success()
    );
}

/// Rows of an old log, one every 40 ms of eleven hours, as ids of version 1: 93 rounds of its low half.
fn million_of_version_1(folder: &Path) {
    let mut log = std::io::BufWriter::new(fs::File::create(folder.join("log.csv")).unwrap());
    writeln!(log, "when").unwrap();
    for row in 0..1_000_000u64 {
        writeln!(log, "{}", 1_645_557_742_000 + row * 40).unwrap();
    }
    log.flush().unwrap();
    drop(log);
    let line =
        "backfill log.csv -o v1.csv --time when --time-format unix-ms --id uuid1 --node-id 9f:6b:de:ce:d8:46";
    mint(folder, &format!("{line} -q")).ok();
}

/// Row keys of version 1 were called uneven: only `id % N` was looked at, which sees the node.
#[test]
#[ignore = "minutes: millions of keys"]
fn a_million_row_keys_of_version_1_are_even_by_range_and_by_hash_and_hot_at_any_moment() {
    let home = home();
    million_of_version_1(home.path());
    let said = mint(home.path(), "audit v1.csv --column id --spread");
    for line in [
        "shards    id % 16 is uneven: shard 6 has all of them, the other 15 none; they end in the node, the same for all ids of a machine, and id % 16 sees nothing else",
        "ranges    uuid version 1 in 16 equal ranges of all keys is ",
        "          ids that follow each other go to one of 16 ranges at a time, a hot spot: version 1 stays in each for 26.8 s",
        "hash      a hash (SipHash-2-4) % 16 is ",
        "note      ids that follow each other go to one of 16 ranges at a time",
        "verdict   sound",
    ] {
        assert!(
            said.out.lines().any(|l| l.starts_with(line)),
            "{line}\n{}",
            said.out
        );
    }
    assert!(
        said.out
            .contains("; version 1 goes through all ranges every 429.5 s (chi-square"),
        "{}",
        said.out
    );
    let (code, found) = report(home.path(), "v1.csv --column id --fail-on ranges,hash");
    assert_eq!(code, 0, "{}", found["verdict"]);
    assert_eq!(
        (&found["ranges"]["even"], &found["ranges"]["shards"]),
        (&true.into(), &16.into())
    );
    assert_eq!(found["ranges"]["counts"].as_array().unwrap().len(), 16);
    assert_eq!(
        (&found["hash"]["even"], &found["shards"]["even"]),
        (&true.into(), &false.into())
    );
    assert_eq!(
        (&found["ranges"]["of"], &found["ranges"]["ordered"]),
        (&"uuid version 1".into(), &false.into())
    );
    let (code, found) = report(home.path(), "v1.csv --column id --fail-on hot");
    assert_eq!((code, &found["ranges"]["moving"]["hot"]), (1, &true.into()));
    assert!(found["ranges"]["moving"]["at_once"].as_f64().unwrap() < 1.5);
    assert_eq!(found["verdict"]["faults"][0]["what"], "hot");
    // The same rows as they come out of a table that has them by key: nothing is said of an order that is not theirs.
    let sorted = Command::new("sh")
        .args([
            "-c",
            "tail -n +2 v1.csv | LC_ALL=C sort | cut -d, -f1 > sorted.txt",
        ])
        .current_dir(home.path())
        .status();
    assert!(sorted.unwrap().success());
    let (code, found) = report(home.path(), "sorted.txt --fail-on hot,ranges");
    assert_eq!(
        (code, &found["ranges"]["moving"]["at_once"]),
        (0, &Value::Null),
        "{}",
        found["ranges"]
    );
}

#[test]
#[ignore = "minutes: millions of keys"]
fn a_million_row_keys_that_begin_with_their_time_are_hot_and_random_ones_are_not() {
    let home = home();
    million(home.path(), "v7", "uuid v7");
    let (code, found) = report(home.path(), "v7 --shards 64");
    assert_eq!(code, 0, "{}", found["verdict"]);
    assert_eq!(
        found["verdict"]["remarks"],
        serde_json::json!([]),
        "it is what they are for"
    );
    assert_eq!(
        (&found["ranges"]["even"], &found["ranges"]["ordered"]),
        (&false.into(), &true.into())
    );
    let said = mint(home.path(), "audit v7 --fail-on ranges,hot").out;
    assert!(
        said.contains("verdict   not sound: ids that follow each other go to one of 16 ranges at a time, a hot spot: they begin with their time, so that new ones stand last; uuid version 7 in 16 equal ranges of all keys is uneven: range 0 has all of them, the other 15 none; they begin with their time"),
        "{said}"
    );
    million(home.path(), "v4", "uuid v4");
    let (_, found) = report(home.path(), "v4 --fail-on hot");
    assert_eq!(found["verdict"]["sound"], true, "{}", found["verdict"]);
    // As even as chance makes them, which is called uneven once in a thousand times.
    for way in ["shards", "ranges", "hash"] {
        assert!(found[way]["p"].as_f64().unwrap() > 1e-9, "{way}: {}", found[way]);
    }
    assert!(found["ranges"]["moving"]["at_once"].as_f64().unwrap() > 12.0);
}

#[test]
fn few_ids_are_not_called_uneven_and_a_wrong_way_is_refused() {
    let home = home();
    fs::write(home.path().join("few"), "919108f7-52d1-4320-9bac-f847db4148a8\n").unwrap();
    let (code, found) = report(home.path(), "few");
    assert_eq!(
        (code, &found["ranges"], &found["hash"]),
        (0, &Value::Null, &Value::Null)
    );
    // What cannot be told is not called sound.
    for check in ["shards", "ranges", "hot", "hash", "future", "steps", "gaps"] {
        mint(home.path(), &format!("audit few --fail-on {check}")).fails(
            2,
            "cannot be told of these ids",
            "",
        );
    }
    mint(home.path(), "audit few --fail-on warm").fails(2, "there are: repeats, none", "");
    mint(home.path(), "audit few --shards 1").fails(2, "1 is not in 2..=65536", "");
}
