//! `mint backfill`: ids for old rows, from outside.
#![allow(clippy::unwrap_used)]

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{BufWriter, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use mintage_e2e::engine::process::freeze_tree;
use mintage_e2e::need;
use mintage_e2e::run::{self, Said};
use mintage_e2e::sql::postgres::Postgres;
use mintage_testing::{distinct, invariant, rising};

/// Runs a command line without quotes in it.
fn mint(folder: &Path, line: &str) -> Said {
    run::mint(folder, line.split_whitespace())
}

fn home() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

fn read(folder: &Path, name: &str) -> String {
    fs::read_to_string(folder.join(name)).unwrap()
}

/// What is left beside an output.
fn left_over(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.contains(".mint-")).collect()
}

/// A log: microsecond times, several rows of one time, several hosts.
fn log(path: &Path, rows: u64) {
    let mut out = BufWriter::with_capacity(1 << 20, File::create(path).unwrap());
    writeln!(out, "time,host,seq,message").unwrap();
    let mut row = String::new();
    for i in 0..rows {
        // Three rows share each microsecond, 3000 microseconds of each second have rows.
        let (second, micro) = (i / 9000, i % 9000 / 3 * 331);
        row.clear();
        let (minute, second) = (second / 60, second % 60);
        writeln!(
            row,
            "2022-02-{:02}T{:02}:{:02}:{second:02}.{micro:06}Z,web-{},{i},\"said \"\"{i}\"\", and left\"",
            1 + minute / 1440,
            minute / 60 % 24,
            minute % 60,
            i % 7,
        )
        .unwrap();
        out.write_all(row.as_bytes()).unwrap();
    }
    out.flush().unwrap();
}

/// The rows of the short form; `MINT_TEST_BACKFILL_ROWS` asks for more.
fn rows() -> u64 {
    std::env::var("MINT_TEST_BACKFILL_ROWS").map_or(400_000, |n| n.parse().expect("a number of rows"))
}

#[test]
fn a_log_filled_twice_is_the_same_and_its_ids_are_a_primary_key() {
    let home = home();
    let rows = rows();
    log(&home.path().join("log.csv"), rows);
    for out in ["a.csv", "b.csv"] {
        mint(
            home.path(),
            &format!("backfill log.csv -o {out} --time time --id uuid7 -q"),
        )
        .ok();
    }
    let same = Command::new("cmp")
        .args(["a.csv", "b.csv"])
        .current_dir(home.path())
        .status();
    assert!(same.unwrap().success(), "two runs over one file");
    assert_eq!(left_over(home.path()), [""; 0]);

    // Without the new column it is the old file.
    let mut cut = Command::new("sh");
    cut.args(["-c", "cut -d, -f2- a.csv | cmp - log.csv"])
        .current_dir(home.path());
    assert!(cut.status().unwrap().success(), "every other byte is as it was");

    let audit = mint(home.path(), "audit a.csv --column id --json");
    assert_eq!(audit.code, 0, "{audit:?}");
    let report: serde_json::Value = serde_json::from_str(&audit.out).unwrap();
    assert_eq!(report["ids"].as_u64(), Some(rows), "{report:#}");
    invariant!(report["repeats"]["ids"] == 0, "{report:#}");
    invariant!(report["order"]["out_of_order"] == 0, "{report:#}");

    let Some(postgres) = Postgres::empty() else { return };
    let file = home.path().join("a.csv");
    let sql = format!(
        "CREATE TABLE log (id uuid PRIMARY KEY, time timestamptz, host text, seq bigint, message text);\n\
         \\copy log FROM '{}' WITH (FORMAT csv, HEADER)\n\
         SELECT count(*), count(DISTINCT id) FROM log;\n\
         SELECT count(*) FROM (SELECT time, lag(time) OVER (ORDER BY id) AS before FROM log) t WHERE before > time;",
        file.display()
    );
    let said = postgres.psql("postgres", &sql).ok();
    assert_eq!(
        said,
        format!("{rows}\t{rows}\n0\n"),
        "ids in the order of the times"
    );
}

/// The ids of a file's first column.
fn ids(folder: &Path, name: &str) -> Vec<String> {
    let text = read(folder, name);
    text.lines()
        .skip(1)
        .map(|line| line.split(',').next().unwrap().to_string())
        .collect()
}

const SMALL: &str = "when,host,n\n\
    2022-02-22T19:22:22Z,web-1,1\n\
    2022-02-22T19:22:22Z,web-1,2\n\
    2022-02-22T19:22:22Z,web-2,3\n\
    2022-02-22T19:22:22.000001Z,web-1,4\n\
    2022-02-22T19:22:23Z,web-2,5\n";

#[test]
fn every_format_carries_the_times_of_its_rows() {
    let home = home();
    fs::write(home.path().join("in.csv"), SMALL).unwrap();
    for (options, inspect) in [
        ("--id uuid1", "uuid"),
        ("--id uuid6", "uuid"),
        ("--id uuid6 --node host --clock-seq 7", "uuid"),
        ("--id uuid7", "uuid"),
        ("--id uuid7 --key n", "uuid"),
        ("--id uuid1 --key n --key host", "uuid"),
        ("--id snowflake --worker 0-3", "snowflake"),
        ("--id snowflake --preset sonyflake --spread 1s", "snowflake"),
        ("--id ulid", "ulid"),
    ] {
        let line = format!("backfill in.csv -o out.csv --force -q --time when {options}");
        mint(home.path(), &line).ok();
        let ids = ids(home.path(), "out.csv");
        distinct(options, &ids);
        assert_eq!(ids.len(), 5, "{options}: {ids:?}");
        if !options.contains("uuid1") && !options.contains("--node") && !options.contains("--key") {
            rising(options, &ids);
        }
        for (id, second) in [(&ids[0], 22), (&ids[4], 23)] {
            let seen = run::mint(home.path(), ["inspect", "--json", id]).out;
            let seen: serde_json::Value = serde_json::from_str(&seen).unwrap();
            let readings = seen["readings"].as_array().unwrap();
            let wanted = format!("2022-02-22T19:22:{second}.");
            let found = readings.iter().any(|reading| {
                reading["format"] == inspect
                    && reading["time"]
                        .as_str()
                        .is_some_and(|time| time.starts_with(&wanted))
            });
            // Which ULIDs `inspect` knows is not this test's claim.
            assert!(found || inspect == "ulid", "{options}: {seen:#}");
        }
    }
}

#[test]
fn a_key_gives_a_row_its_id_whatever_surrounds_it() {
    let home = home();
    fs::write(home.path().join("in.csv"), SMALL).unwrap();
    let lines: Vec<&str> = SMALL.lines().collect();
    let turned = format!("{}\n{}\n{}\n{}\n", lines[0], lines[5], lines[4], lines[2]);
    fs::write(home.path().join("part.csv"), turned).unwrap();
    for id in ["uuid7", "uuid1", "uuid6", "ulid"] {
        for file in ["in", "part"] {
            let line =
                format!("backfill {file}.csv -o {file}-out.csv --force -q --time when --id {id} --key n");
            mint(home.path(), &line).ok();
        }
        let (all, part) = (ids(home.path(), "in-out.csv"), ids(home.path(), "part-out.csv"));
        assert_eq!(part, [&all[4][..], &all[3], &all[1]], "{id}");
        mint(
            home.path(),
            &format!("backfill in.csv -o in-out.csv --force -q --time when --id {id} --key n --seed other"),
        )
        .ok();
        assert_ne!(
            ids(home.path(), "in-out.csv"),
            all,
            "{id}: the seed tells files apart"
        );
    }
}

#[test]
fn rows_in_any_order_get_ids_in_the_order_of_their_times() {
    let home = home();
    let mut lines: Vec<String> = (0..30_000u64)
        .map(|i| format!("{{\"ts\":{}, \"n\":{i}}}", 1_645_557_742_000 + i / 3))
        .collect();
    fs::write(home.path().join("sorted.jsonl"), lines.join("\n")).unwrap();
    // A fixed shuffle.
    let mut state = 1u64;
    for i in (1..lines.len()).rev() {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        lines.swap(i, (state >> 33) as usize % (i + 1));
    }
    fs::write(home.path().join("mixed.jsonl"), lines.join("\n")).unwrap();
    for options in [
        "--id uuid7",
        "--id uuid6",
        "--id snowflake",
        "--id snowflake --key n",
    ] {
        let fill = |name: &str| {
            let line = format!(
                "backfill {name}.jsonl -o {name}.out.jsonl.zst --force --time ts --time-format unix-ms {options} --json"
            );
            let said: serde_json::Value = serde_json::from_str(&mint(home.path(), &line).ok()).unwrap();
            assert_eq!(said["out_of_order"].is_null(), name == "sorted", "{said}");
            let text = unpacked(&home.path().join(format!("{name}.out.jsonl.zst")));
            let rows = text.lines().map(|line| {
                let row: serde_json::Value = serde_json::from_str(line).unwrap();
                (
                    row["ts"].as_u64().unwrap(),
                    row["n"].as_u64().unwrap(),
                    row["id"].as_str().unwrap().to_string(),
                )
            });
            rows.collect::<Vec<_>>()
        };
        let mut mixed = fill("mixed");
        mixed.sort_by(|a, b| a.2.cmp(&b.2));
        invariant!(
            mixed.is_sorted_by_key(|row| row.0),
            "{options}: ids are not ordered like the times"
        );
        rising(options, mixed.iter().map(|row| &row.2));
        assert_eq!(mixed.len(), 30_000);
        if options.contains("--key") {
            let mut sorted = fill("sorted");
            sorted.sort_by(|a, b| a.2.cmp(&b.2));
            assert_eq!(sorted, mixed, "a key does not care for the order of the file");
        }
    }
    assert_eq!(left_over(home.path()), [""; 0]);
}

fn unpacked(path: &Path) -> String {
    let packed = fs::File::open(path).unwrap();
    if path.extension().is_some_and(|e| e == "gz") {
        std::io::read_to_string(flate2::read::MultiGzDecoder::new(packed)).unwrap()
    } else {
        std::io::read_to_string(zstd::Decoder::new(packed).unwrap()).unwrap()
    }
}

#[test]
fn plain_logs_and_compressed_ones_are_read_by_pattern() {
    let home = home();
    let log = "1.2.3.4 - - [10/Oct/2000:13:55:36 -0700] \"GET / HTTP/1.0\" 200 1\n\
               a stack trace\n\
               1.2.3.4 - bob [10/Oct/2000:13:55:37 -0700] \"GET /x HTTP/1.0\" 404 1\n";
    fs::write(home.path().join("access.log"), log).unwrap();
    let mut gzip = Command::new("gzip");
    gzip.args(["-k", "access.log"]).current_dir(home.path());
    assert!(gzip.status().unwrap().success());
    mint(
        home.path(),
        "backfill access.log -o out.log --time time --id uuid7 --pattern clf",
    )
    .fails(3, "access.log:2: the pattern does not match", "--unparsable keep");
    assert_eq!(left_over(home.path()), [""; 0]);
    assert!(!home.path().join("out.log").exists(), "nothing half-written");
    let line =
        "backfill access.log.gz -o out.log.gz --time time --id uuid7 --pattern clf --unparsable keep -q";
    mint(home.path(), line).ok();
    let text = unpacked(&home.path().join("out.log.gz"));
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 3);
    assert_eq!(lines[1], "a stack trace");
    assert_eq!(&lines[0][37..], log.lines().next().unwrap());
    // 2000-10-10T20:55:36Z in milliseconds.
    assert!(lines[0].starts_with("00e220b4-e940-7"), "{}", lines[0]);
}

#[test]
fn bad_input_is_refused_with_its_line_and_leaves_nothing() {
    let home = home();
    let many = "2022-02-22T19:22:22Z\n".repeat(4097);
    for (name, text, options, says, hint) in [
        (
            "a.csv",
            SMALL,
            "--time wen --id uuid7",
            "no column \"wen\"",
            "did you mean \"when\"?",
        ),
        (
            "b.csv",
            "t,x\n2022-02-22T19:22:22Z\n",
            "--time t --id uuid7",
            "b.csv:2: this row has 1 field",
            "",
        ),
        (
            "q.csv",
            "t,x\n2022-02-22T19:22:22Z,\"open\n2022-02-22T19:22:23Z,1\n",
            "--time t --id uuid7",
            "q.csv:2: a quote opens a field and is never closed; it takes in the line that follows",
            "",
        ),
        (
            "c.csv",
            "t\n2022-02-22T19:22:22Z\n2022-02-22 19:22:23\n",
            "--time t --id uuid7",
            "c.csv:3: \"2022-02-22 19:22:23\" does not name its time zone, while line 2 does",
            "--tz",
        ),
        (
            "d.csv",
            "t\n1969-12-31T23:59:59Z\n",
            "--time t --id uuid7",
            "d.csv:2: 1969-12-31T23:59:59Z does not fit uuid7",
            "uuid6 holds the years 1582 to 5236",
        ),
        (
            "e.csv",
            "t\n1500-01-01T00:00:00Z\n",
            "--time t --id uuid1",
            "which holds 1582-10-15T00:00:00Z",
            "",
        ),
        (
            "f.csv",
            "t\n2009-01-01T00:00:00Z\n",
            "--time t --id snowflake",
            "does not fit layout \"twitter\"",
            "mint presets",
        ),
        (
            "g.csv",
            "t\n1645557742123\n",
            "--time t --id uuid7",
            "g.csv:2: \"1645557742123\" is not a time",
            "unix-ms",
        ),
        (
            "h.csv",
            "id,t\n1,2022-02-22T19:22:22Z\n",
            "--time t --id uuid7",
            "h.csv:1: there is a column \"id\"",
            "--column-name",
        ),
        (
            "i.jsonl",
            "{\"id\":1,\"t\":\"2022-02-22T19:22:22Z\"}\n",
            "--time t --id uuid7",
            "i.jsonl:1: there is a column",
            "",
        ),
        (
            "j.jsonl",
            "{\"time\":\"2022-02-22T19:22:22Z\"}\n",
            "--time tme --id uuid7",
            "j.jsonl:1: this row has no field \"tme\"",
            "\"time\"",
        ),
        ("k.csv.gz", "t\n", "--time t --id uuid7", "is not gzip", ""),
        (
            "l.txt",
            "x\n",
            "--time t --id uuid7",
            "does not say how its rows are written",
            "--pattern",
        ),
        (
            "m.csv",
            &format!("t\n{many}"),
            "--time t --id snowflake",
            "m.csv:2: 4097 rows share the time 2022-02-22T19:22:22Z, and snowflake has 4096",
            "--spread",
        ),
        (
            "n.csv",
            SMALL,
            "--time when --id snowflake --node host",
            "n.csv:2: node \"web-1\" is not a worker",
            "",
        ),
        (
            "o.csv",
            SMALL,
            "--time when --id uuid7 --worker 3",
            "--worker does not apply to uuid7",
            "it is for snowflake",
        ),
        (
            "p.csv",
            SMALL,
            "--time when --id uuid7 --tz Europe/Berlim",
            "Europe/Berlin",
            "",
        ),
    ] {
        fs::write(home.path().join(name), text).unwrap();
        let said = mint(home.path(), &format!("backfill {name} -o out.csv {options}"));
        let code = said.code;
        assert!(code == 2 || code == 3, "{name}: {said:?}");
        let given = said
            .err
            .lines()
            .find(|line| line.starts_with("error: "))
            .unwrap_or_default();
        assert!(given.contains(says), "{name}: {said:?}");
        assert!(said.err.contains(hint), "{name}: {said:?}");
        assert!(
            !home.path().join("out.csv").exists(),
            "{name}: nothing half-written"
        );
        assert_eq!(left_over(home.path()), [""; 0], "{name}");
    }
    // An output that exists is not touched, nor is it by a run that fails.
    fs::write(home.path().join("out.csv"), "precious").unwrap();
    mint(home.path(), "backfill a.csv -o out.csv --time when --id uuid7").fails(
        2,
        "out.csv exists",
        "--force",
    );
    assert_ne!(
        mint(
            home.path(),
            "backfill d.csv -o out.csv --time t --id uuid7 --force"
        )
        .code,
        0
    );
    assert_eq!(read(home.path(), "out.csv"), "precious");
}

#[test]
fn a_dry_run_lists_every_line_that_cannot_be_used() {
    let home = home();
    let text = "t,x\n2022-02-22T19:22:22Z,1\nyesterday,2\n2022-02-22T19:22:23Z\n,4\n2022-02-22T19:22:24Z,5\n";
    fs::write(home.path().join("in.csv"), text).unwrap();
    let said = mint(home.path(), "backfill in.csv --time t --id uuid7 --dry-run");
    assert_eq!(said.code, 1, "{said:?}");
    let lines: Vec<&str> = said.out.lines().collect();
    assert_eq!(
        lines,
        [
            "in.csv:3: \"yesterday\" is not a time",
            "in.csv:4: this row has 1 field, the header has 2",
            "in.csv:5: the time is empty",
            "3 of 5 rows cannot get an id, 2022-02-22T19:22:22Z to 2022-02-22T19:22:24Z",
        ]
    );
    let said = mint(
        home.path(),
        "backfill in.csv --time t --id uuid7 --dry-run --json",
    );
    let found: serde_json::Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(
        (said.code, &found["troubles"], &found["listed"][1]["line"]),
        (1, &3.into(), &4.into())
    );
    fs::write(home.path().join("good.csv"), SMALL).unwrap();
    let said = mint(home.path(), "backfill good.csv --time when --id uuid7 --dry-run").ok();
    assert!(said.starts_with("every row can get an id"), "{said}");
    assert_eq!(
        fs::read_dir(home.path()).unwrap().count(),
        2,
        "nothing was written"
    );
}

/// An hour that came twice gave 1,000 lines and then a hint about another fault.
#[test]
fn a_dry_run_sums_faults_by_kind_and_hints_at_the_one_that_helps() {
    let home = home();
    let twice: String = (0..1500)
        .map(|n| format!("2022-10-30 02:{:02}:{:02}\n", n / 60 % 60, n % 60))
        .collect();
    fs::write(home.path().join("in.csv"), format!("t\nyesterday\n{twice}")).unwrap();
    let line = "backfill in.csv --time t --id uuid7 --tz Europe/Berlin --dry-run";
    let said = mint(home.path(), line);
    assert_eq!(said.code, 1);
    assert!(
        said.out.contains(
            "1,500 lines: the time happened twice, when the clocks were set back; the first is line 3"
        ) && said
            .out
            .contains("1 line: the text is not a time; the first is line 2"),
        "{}",
        &said.out[said.out.len() - 500..]
    );
    assert!(
        said.err.contains("hint: --fold earlier or --fold later"),
        "{}",
        said.err
    );
    let found: serde_json::Value =
        serde_json::from_str(&mint(home.path(), &format!("{line} --json")).out).unwrap();
    assert_eq!(found["kinds"][0]["lines"], 1500);
    fs::write(home.path().join("null.jsonl"), "{\"ts\": null}\n").unwrap();
    mint(
        home.path(),
        "backfill null.jsonl -o out.jsonl --time ts --id uuid7",
    )
    .fails(3, "the field \"ts\" is null", "");
}

/// A run that is killed as soon as it has a checkpoint, and goes on, writes what an undisturbed one writes.
#[track_caller]
fn check_resume(input: &str, output: &str, options: &str, make: impl FnOnce(&Path)) {
    let home = home();
    make(&home.path().join(input));
    let line = |out: &str| format!("backfill {input} -o {out} --time time --checkpoint 1ms {options}");
    let whole = format!("whole-{output}");
    mint(home.path(), &format!("{} -q", line(&whole))).ok();
    let mut kills = 0;
    loop {
        let mut command = run::command(line(output).split_whitespace());
        let mut child = command
            .current_dir(home.path())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let checkpoint = home.path().join(format!("{output}.mint-checkpoint"));
        let before = fs::read(&checkpoint).ok();
        // A new checkpoint, or the end: whichever comes first.
        let ended = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break Some(status);
            }
            if let Ok(now) = fs::read(&checkpoint)
                && Some(&now) != before.as_ref()
            {
                break None;
            }
            std::thread::yield_now();
        };
        match ended {
            Some(status) => {
                let mut said = String::new();
                child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
                assert!(status.success(), "{said}");
                assert!(said.contains("went on after row"), "{said}");
                break;
            }
            None => {
                child.kill().unwrap();
                child.wait().unwrap();
                if home.path().join(output).exists() {
                    // It had ended by then.
                    invariant!(are_same(home.path(), &whole, output), "half of {output}");
                    remove_all(home.path(), output);
                    continue;
                }
                kills += 1;
            }
        }
    }
    assert!(kills > 0, "it was never killed");
    invariant!(
        are_same(home.path(), &whole, output),
        "another file after {kills} kills"
    );
    assert_eq!(left_over(home.path()), [""; 0]);
}

fn are_same(home: &Path, one: &str, other: &str) -> bool {
    let mut compare = Command::new("cmp");
    let status = compare.args([one, other]).current_dir(home).status();
    status.unwrap().success()
}

/// An output, and what its run left beside it.
fn remove_all(home: &Path, output: &str) {
    for name in left_over(home).iter().map(String::as_str).chain([output]) {
        fs::remove_file(home.join(name)).unwrap();
    }
}

#[test]
fn a_killed_run_goes_on_and_writes_the_same_bytes() {
    check_resume("in.csv", "out.csv", "--id uuid6", |path| log(path, 900_000));
}

#[test]
fn a_killed_run_over_compressed_files_goes_on_and_writes_the_same_bytes() {
    check_resume("in.csv.gz", "out.csv.gz", "--id uuid7", |path| {
        let plain = path.with_extension("");
        log(&plain, 600_000);
        let zipped = Command::new("gzip").arg("-1").arg(&plain).status();
        assert!(zipped.unwrap().success());
    });
}

#[test]
fn a_killed_run_over_unsorted_rows_goes_on_and_writes_the_same_bytes() {
    check_resume(
        "in.csv",
        "out.csv.zst",
        "--id snowflake --worker 0-1023",
        |path| {
            log(path, 600_000);
            let text = fs::read_to_string(path).unwrap();
            let mut lines: Vec<&str> = text.lines().collect();
            let last = lines.len() - 1;
            lines.swap(1, last);
            fs::write(path, lines.join("\n")).unwrap();
        },
    );
}

/// A run from in.csv to out.csv that has a checkpoint and stands still.
fn stopped_between_checkpoints(home: &Path) -> Child {
    loop {
        let mut command = run::command(
            "backfill in.csv -o out.csv --time time --id uuid7 --checkpoint 1ms".split_whitespace(),
        );
        let mut child = command.current_dir(home).spawn().unwrap();
        while !home.join("out.csv.mint-checkpoint").exists() {
            assert!(
                child.try_wait().unwrap().is_none(),
                "it ended before its first checkpoint"
            );
            std::thread::yield_now();
        }
        freeze_tree(child.id());
        if !home.join("out.csv").exists() {
            return child;
        }
        // The signal came when it had ended.
        child.kill().unwrap();
        child.wait().unwrap();
        remove_all(home, "out.csv");
    }
}

#[test]
fn other_options_do_not_go_on_where_a_run_was_interrupted() {
    let home = home();
    log(&home.path().join("in.csv"), 600_000);
    let mut child = stopped_between_checkpoints(home.path());
    // While it runs, nobody else may write there. It stands still until that is known.
    let second = mint(home.path(), "backfill in.csv -o out.csv --time time --id uuid7");
    child.kill().unwrap();
    child.wait().unwrap();
    second.fails(2, "another run is writing out.csv now", "");
    mint(home.path(), "backfill in.csv -o out.csv --time time --id ulid").fails(
        2,
        "an earlier run to out.csv was interrupted",
        "--restart",
    );
    mint(
        home.path(),
        "backfill in.csv -o out.csv --time time --id ulid --restart -q",
    )
    .ok();
    assert_eq!(ids(home.path(), "out.csv")[0].len(), 26);
}

#[test]
fn a_full_disk_is_said_and_the_run_goes_on_when_there_is_room() {
    if !need::root() {
        return;
    }
    let home = home();
    log(&home.path().join("in.csv"), 400_000);
    let small = home.path().join("small");
    fs::create_dir(&small).unwrap();
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=24m", "tmpfs"])
        .arg(&small)
        .stderr(Stdio::null())
        .status();
    if !need::needed("mount", mounted.is_ok_and(|status| status.success())) {
        return;
    }
    let line = "backfill in.csv -o small/out.csv --time time --id uuid7 --checkpoint 1ms";
    let full = mint(home.path(), line);
    let remount = Command::new("mount")
        .args(["-o", "remount,size=200m"])
        .arg(&small)
        .status();
    let whole = !small.join("out.csv").exists();
    let again = mint(home.path(), line);
    let filled = fs::read_to_string(small.join("out.csv"));
    Command::new("umount").arg(&small).status().unwrap();
    full.fails(3, "no space left on device", "make room");
    assert!(whole && remount.unwrap().success());
    again.ok();
    mint(
        home.path(),
        "backfill in.csv -o out.csv --time time --id uuid7 -q",
    )
    .ok();
    assert!(filled.unwrap() == read(home.path(), "out.csv"), "the same bytes");
}

#[test]
fn standard_input_and_output_are_streams() {
    let home = home();
    let mut command =
        run::command("backfill - -o - --input-format csv --time when --id uuid7 -q".split_whitespace());
    command.current_dir(home.path());
    let said = run::with_input(command, SMALL.as_bytes()).ok();
    fs::write(home.path().join("in.csv"), SMALL).unwrap();
    mint(
        home.path(),
        "backfill in.csv -o out.csv --time when --id uuid7 -q",
    )
    .ok();
    assert_eq!(said, read(home.path(), "out.csv"));
    // A pipe with a name flows by just as well, and is read twice where the rows are not in order.
    let mut mixed: Vec<&str> = SMALL.lines().collect();
    mixed[1..].reverse();
    fs::write(home.path().join("mixed.csv"), mixed.join("\n")).unwrap();
    mint(
        home.path(),
        "backfill mixed.csv -o sorted.csv --time when --id uuid7 --seed s -q",
    )
    .ok();
    let line = "cat mixed.csv > pipe & \"$MINT\" backfill pipe -o piped.csv --input-format csv --time when --id uuid7 --seed s -q";
    let mut shell = Command::new("sh");
    shell
        .args(["-c", &format!("mkfifo pipe; {line}; wait")])
        .env("MINT", mintage_e2e::binary::mint())
        .current_dir(home.path());
    run::with_input(shell, b"").ok();
    assert_eq!(read(home.path(), "piped.csv"), read(home.path(), "sorted.csv"));
}

#[test]
fn a_terminal_sees_a_bar_with_rate_and_remaining_time() {
    let there = Command::new("script")
        .arg("--version")
        .output()
        .is_ok_and(|out| out.status.success());
    if !need::needed("script", there) {
        return;
    }
    let home = home();
    log(&home.path().join("in.csv"), 300_000);
    let line = format!(
        "{} backfill in.csv -o out.csv --time time --id uuid7",
        mintage_e2e::binary::mint().display()
    );
    let mut script = Command::new("script");
    script
        .args(["-qec", &line, "/dev/null"])
        .current_dir(home.path())
        .env("TERM", "xterm");
    let shown = run::with_input(script, b"").ok();
    assert!(
        shown.contains("reading") && shown.contains(" rows, ") && shown.contains(" left"),
        "{shown:?}"
    );
    assert!(shown.contains("300,000 rows in"), "{shown:?}");
}
