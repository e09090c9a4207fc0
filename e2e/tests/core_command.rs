//! The command's side of the core: every UUID version, times, layouts, series, pools.
#![allow(clippy::unwrap_used)]

use std::io::Read;
use std::path::Path;
use std::process::Stdio;
use std::thread;

use mintage_e2e::run::{self, Said};
use mintage_e2e::server::Start;
use mintage_testing::{Distinct, distinct, invariant, rising};
use serde_json::Value;

fn home() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

/// Runs a command line without quotes in it.
fn mint(folder: &Path, line: &str) -> Said {
    run::mint(folder, line.split_whitespace())
}

/// What `mint inspect` finds first.
fn inspect(folder: &Path, id: &str) -> Value {
    let seen = run::mint(folder, ["inspect", "--json", id.trim()]).ok();
    let mut seen: Value = serde_json::from_str(&seen).unwrap();
    seen["readings"][0].take()
}

#[track_caller]
fn check(line: &str, expected: &str) {
    let home = home();
    assert_eq!(mint(home.path(), line).ok().trim_end(), expected, "{line}");
}

#[test]
fn the_rfcs_vectors_come_out() {
    for (line, id) in [
        (
            "uuid v1 --at 2022-02-22T14:22:22-05:00 --node 9F6BDECED846 --clock-seq 13256",
            "c232ab00-9414-11ec-b3c8-9f6bdeced846",
        ),
        (
            "uuid v6 --at @1645557742 --node 9f-6b-de-ce-d8-46 --clock-seq 13256",
            "1ec9414c-232a-6b00-b3c8-9f6bdeced846",
        ),
        (
            "uuid v3 --namespace dns www.example.com",
            "5df41881-3aed-3515-88a7-2f4a814cf09e",
        ),
        (
            "uuid v5 --namespace dns www.example.com",
            "2ed6657d-e927-568b-95e1-2665a8aea6a2",
        ),
        (
            "uuid v5 --namespace 6ba7b810-9dad-11d1-80b4-00c04fd430c8 www.example.com",
            "2ed6657d-e927-568b-95e1-2665a8aea6a2",
        ),
        (
            "uuid v8 --sha256 --namespace dns www.example.com",
            "5c146b14-3c52-8afd-938a-375d0df1fbf6",
        ),
        (
            "uuid v8 --custom 2489E9AD2EE22E000EC932D5F69181C0",
            "2489e9ad-2ee2-8e00-8ec9-32d5f69181c0",
        ),
        (
            "uuid v2 --at 2022-02-22T19:22:22Z --node 9f:6b:de:ce:d8:46 --clock-seq 51 --local-id 1000",
            "000003e8-9414-21ec-b300-9f6bdeced846",
        ),
        // RFC 4122's errata: its appendix B prints another.
        (
            "uuid v3 --namespace dns www.widgets.com",
            "3d813cbb-47fb-32ba-91df-831e1593ac29",
        ),
    ] {
        check(line, id);
    }
}

#[test]
fn a_time_and_a_node_come_back_exactly_at_both_ends_of_the_range() {
    let home = home();
    for version in ["v1", "v6"] {
        for time in [
            "1582-10-15T00:00:00.0000000Z",
            "1582-10-15T00:00:00.0000001Z",
            "1969-12-31T23:59:59.9999999Z",
            "1970-01-01T00:00:00.0000000Z",
            "2022-02-22T19:22:22.1234567Z",
            "2038-01-19T03:14:08.0000009Z",
            "2262-04-11T23:47:16.8547758Z",
            "5236-03-31T21:21:00.6846975Z",
        ] {
            let id = run::mint(
                home.path(),
                ["uuid", version, "--at", time, "--node", "02:00:5e:10:00:ff"],
            )
            .ok();
            let seen = inspect(home.path(), &id);
            assert_eq!(seen["time"], time, "{id}");
            assert_eq!(seen["fields"]["node"], "02:00:5e:10:00:ff");
        }
    }
    for time in ["1970-01-01T00:00:00.000Z", "+10889-08-02T05:31:50.655Z"] {
        let id = run::mint(home.path(), ["uuid", "v7", "--at", time]).ok();
        assert_eq!(inspect(home.path(), &id)["time"], time, "{id}");
    }
}

#[test]
fn times_out_of_range_are_refused_with_the_true_ends() {
    let home = home();
    for (line, says) in [
        (
            "v1 --at 1582-10-14T23:59:59.9999999Z",
            "before 1582-10-15T00:00:00Z",
        ),
        (
            "v6 --at 5236-03-31T21:21:00.6846976Z",
            "past 5236-03-31T21:21:00.6846975Z",
        ),
        ("v2 --at 9999-01-01", "past 5236-03-31T21:21:00.6846975Z"),
        ("v7 --at 1969-12-31T23:59:59.999Z", "before 1970-01-01T00:00:00Z"),
        (
            "v7 --at +10889-08-02T05:31:50.656Z",
            "past +10889-08-02T05:31:50.655Z",
        ),
        ("v1 -n 2 --at 5236-03-31T21:21:00.6846975Z", "2 ids from 5236"),
    ] {
        mint(home.path(), &format!("uuid {line}")).fails(2, says, "");
    }
}

#[test]
fn ids_of_one_time_are_distinct_and_in_order() {
    let home = home();
    for (line, sorts) in [
        ("uuid v1 -n 5000 --at 2022-02-22T19:22:22Z", false),
        ("uuid v6 -n 5000 --at 2022-02-22T19:22:22Z", true),
        ("uuid v7 -n 5000 --at 2022-02-22T19:22:22Z", true),
        (
            "uuid v7 -n 5000 --at 2022-02-22T19:22:22Z --precision submilli",
            true,
        ),
        ("uuid v7 -n 5000 --precision submilli", true),
        ("uuid v1 -n 5000", false),
        ("uuid v6 -n 5000", true),
        ("uuid v6 -n 5000 --node 9f:6b:de:ce:d8:46", true),
        ("uuid v2 -n 64", false),
        ("snowflake -n 5000 --worker 7 --at 2022-02-22T19:22:22Z", true),
    ] {
        let out = mint(home.path(), line).ok();
        let ids: Vec<&str> = out.lines().collect();
        match sorts {
            true => rising(line, ids),
            false => distinct(line, ids),
        }
    }
}

#[test]
fn options_that_mean_nothing_for_a_version_are_refused() {
    let home = home();
    for (line, error, hint) in [
        ("v4 --at now", "--at does not apply to v4", "v1, v2, v6, v7"),
        ("v7 --node random", "--node does not apply to v7", ""),
        ("v4 name", "takes no name", "v5"),
        ("v5 --namespace dns", "needs a name", "for example"),
        ("v5 name", "needs a --namespace", "for example"),
        ("v5 --namespace dns -n 3 name", "--count does not apply to v5", ""),
        ("v8", "nothing was given", "--custom"),
        ("v8 --custom 12", "2 hexadecimal digits where 32 are needed", ""),
        ("v2 -n 65", "65 ids do not fit", ""),
        ("v2 --clock-seq 64", "largest is 63", ""),
        ("v2 --domain org", "needs a --local-id", ""),
        ("v1 --clock-seq 16384", "16383", ""),
        ("v1 --node eth0", "a node is random", ""),
        ("v1 --at tomorrow", "is not a time", ""),
        ("v1 --at 2022-02-22T19:22:22", "time zone", ""),
        ("v1 --state s --at now", "cannot be used with", ""),
    ] {
        mint(home.path(), &format!("uuid {line}")).fails(2, error, hint);
    }
    mint(home.path(), "uuid v1 --node hardware:nosuch0").fails(3, "nosuch0", "");
}

#[test]
fn names_are_read_from_standard_input_octet_for_octet() {
    let said = run::with_input(
        run::command(["uuid", "v5", "--namespace", "dns", "-"]),
        b"www.example.com\n\n\xff\r\nlast",
    );
    let out = said.ok();
    let ids: Vec<&str> = out.lines().collect();
    assert_eq!(ids.len(), 4);
    assert_eq!(ids[0], "2ed6657d-e927-568b-95e1-2665a8aea6a2");
    let last = run::with_input(run::command(["uuid", "v5", "--namespace", "dns", "last"]), b"").ok();
    assert_eq!(ids[3], last.trim());
    distinct("names", ids);
}

// claim: P69
#[test]
fn processes_that_share_a_state_never_repeat_and_keep_one_order() {
    let home = home();
    for version in ["v1", "v6", "v7"] {
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let home = home.path().to_path_buf();
                thread::spawn(move || {
                    (0..25)
                        .map(|_| mint(&home, &format!("uuid {version} --state shared -n 40")).ok())
                        .collect::<String>()
                })
            })
            .collect();
        let outs: Vec<String> = threads.into_iter().map(|t| t.join().unwrap()).collect();
        let mut all = Distinct::of(version);
        all.extend(outs.iter().flat_map(|out| out.lines()));
        assert_eq!(all.len(), 4000, "{version}");
        // Each process saw its own ids rise, and what comes later rises above them all.
        if version != "v1" {
            outs.iter().for_each(|out| rising(version, out.lines()));
            let later = mint(home.path(), &format!("uuid {version} --state shared")).ok();
            let highest = *all.iter().max().unwrap();
            invariant!(highest < later.trim(), "{version}: {later} after {highest}");
        }
    }
    let said = mint(home.path(), "uuid v1 --state shared --node 9f:6b:de:ce:d8:46");
    assert!(said.err.contains("another node"), "{said:?}");
    let quiet = mint(home.path(), "uuid v1 --state shared --node 9f:6b:de:ce:d8:47 -q");
    assert_eq!((quiet.code, quiet.err.as_str()), (0, ""));
}

#[test]
fn a_layout_of_ones_own_is_minted_and_checked() {
    let home = home();
    let twitter = "time=41,worker:dc=5,worker=5,sequence=12,epoch=1288834974657";
    let at = "--worker 378 --at 2022-06-28T16:07:40.105Z";
    let own = mint(home.path(), &format!("snowflake --layout {twitter} {at}")).ok();
    assert_eq!(own.trim(), "1541815603606036480");
    assert_eq!(mint(home.path(), &format!("snowflake {at}")).ok(), own);
    let hex = mint(home.path(), &format!("snowflake {at} --format hex")).ok();
    assert_eq!(hex.trim(), "1565a11f6217a000");
    // The same worker, by its two fields.
    let both = "--datacenter 11 --worker 26 --at 2022-06-28T16:07:40.105Z";
    assert_eq!(mint(home.path(), &format!("snowflake {both}")).ok(), own);
    assert_eq!(
        mint(home.path(), &format!("snowflake --layout {twitter} {both}")).ok(),
        own
    );
    let minted = mint(home.path(), "snowflake --datacenter 3 --worker 9").ok();
    let read = mint(
        home.path(),
        &format!("inspect --json --preset twitter {}", minted.trim()),
    )
    .ok();
    assert!(read.contains(r#""datacenter":3,"worker":9,"#), "{read}");
    // What makes the same ids shares one state: both go on above the other.
    let a = mint(home.path(), "snowflake --worker 3").ok();
    let b = mint(home.path(), &format!("snowflake --worker 3 --layout {twitter}")).ok();
    rising("ids", [a, b].map(|id| id.trim().parse::<u64>().unwrap()));
    for (line, error) in [
        ("--layout time=41", "no sequence field"),
        (
            "--layout time=60,worker=64,sequence=5",
            "129 bits, an id has at most 128",
        ),
        ("--layout clock=41,sequence=12", "ROLE"),
        (
            "--layout time=41,sequence=12 --preset leaf",
            "cannot be used with",
        ),
        ("--worker nine", "a number, ip16 or ordinal"),
        ("--datacenter 11", "--worker"),
        ("--datacenter x --worker 1", "--datacenter"),
        (
            "--datacenter 32 --worker 1",
            "datacenter 32 does not fit layout \"twitter\": 5 bits, largest is 31",
        ),
        (
            "--datacenter 1 --worker 32",
            "worker 32 does not fit layout \"twitter\": 5 bits, largest is 31",
        ),
        (
            "--preset sonyflake --datacenter 1 --worker 1",
            "layout \"sonyflake\" has no field called datacenter or dc",
        ),
        ("--datacenter 1 --worker 1 --pool eu", "cannot be used with"),
        ("--at now", "needs a --worker"),
        (
            "--worker 1 --at 2001-01-01",
            "before 2010-11-04T01:42:54.657Z, the epoch",
        ),
        ("--worker 1 --at 2100-01-01", "ends at 2080-07-10T17:30:30.209Z"),
        ("--preset baidu", "ends at 2024-11-20T13:24:16Z"),
    ] {
        mint(home.path(), &format!("snowflake {line}")).fails(2, error, "");
    }
}

/// Somebody leaves CosId: mints its string ids from several commands at once, one of which is killed; reads them, and
/// asks for the ids of a day.
#[test]
fn wide_layouts_are_minted_read_converted_and_bounded() {
    let home = home();
    let cosid = "--preset cosid-string";
    // 1704067200000 << 36 | 62 << 16, and its fields in 8, 4 and 3 digits of base 62, 9, 4 and 4 of base 36: by Python.
    let (number, radix62, radix36) = ("117102606306980663263232", "0U044JCi0010000", "0LQU5M2O0001Q0000");
    let at = format!("snowflake {cosid} --worker 62 --at 2024-01-01");
    for (format, text) in [
        ("dec", number),
        ("base62-fields", radix62),
        ("base36-fields", radix36),
    ] {
        let made = mint(home.path(), &format!("{at} --format {format}")).ok();
        assert_eq!(made.trim(), text);
        let json = mint(home.path(), &format!("{at} --format {format} --json")).ok();
        assert_eq!(json.trim(), format!(r#"{{"id":"{text}"}}"#));
        let seen = mint(home.path(), &format!("inspect --json {cosid} {text}")).ok();
        assert!(
            seen.contains(r#""time":"2024-01-01T00:00:00.000Z""#) && seen.contains(r#""machine":62"#),
            "{seen}"
        );
        for (from, to, expected) in [
            (format, "dec", number),
            (format, "base62-fields", radix62),
            (format, "base36-fields", radix36),
            (format, "hex-padded", "18cc251f4000003e0000"),
        ] {
            let line = format!("convert {cosid} --from {from} --to {to} {text}");
            assert_eq!(mint(home.path(), &line).ok().trim(), expected, "{line}");
        }
    }
    // Without the layout a number of this length is found out, and what needs the layout says so.
    assert_eq!(inspect(home.path(), number)["preset"], "cosid-string");
    mint(home.path(), &format!("convert --to base62-fields {number}")).fails(2, "none is named", "--preset");
    mint(
        home.path(),
        &format!("convert {cosid} --from dec --to hex 1{number}0"),
    )
    .fails(2, "is not an id of layout cosid-string", "");
    let day = "--from 2024-01-01 --to 2024-01-02";
    let range = mint(home.path(), &format!("range snowflake {cosid} {day}")).ok();
    // 1704067200000 << 36, and (1704153600000 << 36) - 1.
    assert_eq!(range, "117102606306980659200000\n117108543669770649599999\n");
    mint(home.path(), &format!("check --as snowflake {cosid} {number}")).ok();
}

// claim: P68
#[test]
fn processes_that_share_a_wide_state_never_repeat_one_killed_among_them() {
    let home = home();
    let layout = "time=60,worker=64,sequence=4,tick=10us,name=wide";
    for line in [
        format!("snowflake --layout {layout} -n 40"),
        format!("snowflake --layout {layout} -n 40 --state shared"),
    ] {
        let long = line.replace("-n 40", "-n 10000000");
        let mut killed = run::command(long.split_whitespace())
            .current_dir(home.path())
            .env("HOME", home.path())
            .env_remove("XDG_STATE_HOME")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut begun = vec![0; 4096];
        killed.stdout.as_mut().unwrap().read_exact(&mut begun).unwrap();
        killed.kill().unwrap();
        killed.wait().unwrap();
        let begun = String::from_utf8(begun).unwrap();
        let (begun, _) = begun.rsplit_once('\n').unwrap();
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let (home, line) = (home.path().to_path_buf(), line.clone());
                thread::spawn(move || (0..10).map(|_| mint(&home, &line).ok()).collect::<String>())
            })
            .collect();
        let outs: Vec<String> = threads.into_iter().map(|t| t.join().unwrap()).collect();
        let ids = |text: &str| {
            text.lines()
                .map(|id| id.parse::<u128>().unwrap())
                .collect::<Vec<_>>()
        };
        let (first, later): (Vec<u128>, Vec<Vec<u128>>) =
            (ids(begun), outs.iter().map(|out| ids(out)).collect());
        later.iter().for_each(|ids| rising("ids of a process", ids));
        let mut all = Distinct::of("ids");
        all.extend(first.iter().chain(later.iter().flatten()).copied());
        assert_eq!(all.len(), first.len() + 1600);
        // One worker in all of them, of 64 bits.
        let worker = |id: &u128| (id >> 4) as u64;
        assert!(all.iter().all(|id| worker(id) == worker(&first[0])));
    }
}

#[test]
fn what_is_not_for_wide_layouts_says_so() {
    let home = home();
    let wide = "--layout time=60,worker=64,sequence=4";
    let worker = "--worker 18446744073709551615";
    let made = mint(
        home.path(),
        &format!("snowflake {wide} {worker} --at 2024-01-01 -n 20"),
    )
    .ok();
    let first = 1_704_067_200_000u128 << 68 | u128::from(u64::MAX) << 4;
    let ids: Vec<u128> = made.lines().map(|id| id.parse().unwrap()).collect();
    // 16 fill the millisecond, the rest goes into the next.
    assert_eq!((ids[0], ids[15], ids[16]), (first, first + 15, first + (1 << 68)));
    for (line, error) in [
        (
            format!("pool create wide {wide} --store file:./ids"),
            "takes 128 bits, and ids have at most 64 here",
        ),
        (
            format!("snowflake {wide} --worker 18446744073709551616"),
            "a number, ip16 or ordinal",
        ),
        (
            "snowflake --pool p --format base62-fields".into(),
            "writes the fields of a layout that is named",
        ),
        (
            "snowflake --layout time=64,worker=48,sequence=16,tick=1ns --worker 1 --unguarded".into(),
            "take 80 bits together, a generator counts in 62",
        ),
        (
            "snowflake --layout time=64,worker=48,sequence=16,tick=1ns".into(),
            "take 80 bits together, a generator counts in 62",
        ),
        (
            format!("snowflake {wide} {worker} --unguarded --clock-policy bump"),
            "needs a rollback field",
        ),
    ] {
        mint(home.path(), &line).fails(2, error, "");
    }
    let rows = home.path().join("rows.csv");
    std::fs::write(&rows, "id\n1\n").unwrap();
    mint(home.path(), &format!("audit rows.csv --column id {wide}")).fails(2, "takes 128 bits", "");
}

#[test]
fn ids_of_a_given_time_leave_no_state() {
    let home = home();
    mint(home.path(), "snowflake --worker 1 --at now").ok();
    mint(home.path(), "uuid v1 --at now").ok();
    mint(home.path(), "uuid v7 --at now-1h").ok();
    assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0);
}

#[test]
fn presets_are_a_table_and_json() {
    let home = home();
    let json = mint(home.path(), "presets --json").ok();
    let rows: Vec<Value> = json
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let table = mint(home.path(), "presets").ok();
    assert_eq!(table.lines().count(), rows.len() + 1);
    for row in &rows {
        let name = row["name"].as_str().unwrap();
        assert!(table.contains(name));
        assert!(
            mint(home.path(), &format!("presets {name}"))
                .ok()
                .contains(row["source"].as_str().unwrap())
        );
        // What is printed can be given back.
        let spec = row["spec"].as_str().unwrap();
        let line = |which: &str| {
            let mut words = vec!["snowflake", "--worker", "0", "--at", "2024-06-01", which];
            words.push(if which == "--preset" { name } else { spec });
            run::mint(home.path(), words)
        };
        if name == "sonyflake2" {
            continue;
        }
        let (by_name, by_spec) = (line("--preset"), line("--layout"));
        assert_eq!(
            (by_name.code, &by_name.out, &by_name.err),
            (by_spec.code, &by_spec.out, &by_spec.err),
            "{name}"
        );
        // This one is read, not made: its time since 1970 and 22 bits are more than a generator's word has room for.
        assert_eq!(by_name.code == 0, name != "linkedin", "{name}: {by_name:?}");
    }
    mint(home.path(), "presets twiter").fails(2, "twiter", "twitter");
}

/// It said that one id does not fit, as if too many had been asked for.
#[test]
fn a_preset_that_can_only_be_read_says_why_and_what_to_do() {
    let home = tempfile::tempdir().unwrap();
    let at = "--at 2024-06-01T00:00:00Z";
    let refused = mint(home.path(), &format!("snowflake --preset linkedin {at}"));
    refused.fails(2, "take 63 bits together, a generator counts in 62", "--layout ");
    assert!(refused.err.contains("ends at 2004-11-03"), "{}", refused.err);
    // What the hint says makes ids whose time LinkedIn's reader finds.
    let hinted = refused.err.split("--layout ").nth(1).unwrap();
    let hinted = hinted.lines().next().unwrap();
    let made = mint(home.path(), &format!("snowflake {at} --layout {hinted}"));
    let read = mint(
        home.path(),
        &format!("inspect --as snowflake --preset linkedin {}", made.ok().trim()),
    );
    let read = read.ok();
    assert!(read.contains("2024-06-01T00:00:00"), "{read}");
    // Times that it has room for.
    mint(
        home.path(),
        "snowflake --preset linkedin --at 2001-06-01T00:00:00Z",
    )
    .ok();
    let unguarded = mint(home.path(), "snowflake --preset linkedin --worker 0 --unguarded");
    unguarded.fails(2, "take 63 bits together", "--layout ");
}

#[test]
fn series_are_mariadbs() {
    for (name, numbers) in [
        ("seq_1_to_15_step_3", "1 4 7 10 13"),
        ("seq_15_to_1_step_3", "13 10 7 4 1"),
        ("seq_16_to_1_step_4", "13 9 5 1"),
        ("seq_5_to_5_step_9", "5"),
        ("seq_1_to_15_step_12345", "1"),
        ("seq_15_to_1_step_12345", "15"),
        ("seq_01_to_05", "1 2 3 4 5"),
        (
            "seq_18446744073709551614_to_99999999999999999999",
            "18446744073709551614 18446744073709551615",
        ),
        ("-2 2", "-2 -1 0 1 2"),
        ("15 1 --step 3", "13 10 7 4 1"),
        ("Y AB", "Y Z AA AB"),
        ("25 28 --as letter", "Y Z AA AB"),
        ("Y AB --as number", "25 26 27 28"),
        ("2024-03-01 2024-02-28", "2024-03-01 2024-02-29 2024-02-28"),
        ("15 1 --step=-3", "15 12 9 6 3"),
        ("15 1 --step -3", "15 12 9 6 3"),
        (
            "2024-01-31 2024-04-30 --step 1mo",
            "2024-01-31 2024-02-29 2024-03-31 2024-04-30",
        ),
        (
            "2026-01-01T00:00:00Z 2026-01-01T03:00:00Z --step 1h30m",
            "2026-01-01T00:00:00Z 2026-01-01T01:30:00Z 2026-01-01T03:00:00Z",
        ),
        (
            "2026-01-01 2026-01-02 --step 12h --as time",
            "2026-01-01T00:00:00Z 2026-01-01T12:00:00Z 2026-01-02T00:00:00Z",
        ),
        (
            "2026-03-31T09:00:00+02:00 2026-01-31T09:00:00+02:00 --step -1mo",
            "2026-03-31T09:00:00+02:00 2026-02-28T09:00:00+02:00 2026-01-31T09:00:00+02:00",
        ),
    ] {
        check(&format!("series {name}"), &numbers.replace(' ', "\n"));
    }
    let home = home();
    for (line, error) in [
        ("seq_1_to_5_step_0", "step of at least 1"),
        ("1 5 --step 0", "step of at least 1"),
        ("seq_1", "seq_FROM_to_TO"),
        ("seq_-1_to_5", "seq_FROM_to_TO"),
        ("1 18446744073709551616", "a 64-bit number"),
        ("A 5", "not bounds of one such series"),
        ("2024-02-30 2024-03-01", "the day must exist"),
        ("0 3 --as letter", "1 is A"),
        ("1 5 --step -1", "lies above it"),
        ("1 5 --step 1h", "it takes a number"),
        ("seq_1_to_5 --step 2", "its own step"),
        ("seq_1_to_5 --as date", "not bounds of one such series"),
        (
            "2026-01-01T00:00:00Z 2026-01-02T00:00:00Z",
            "needs a step with its unit",
        ),
        ("2026-01-01 2026-01-02 --step 1h", "ask for times"),
        ("2026-01-01T00:00:00 2026-01-02 --step 1h", "no time zone"),
        ("2026-01-01 2026-02-01 --step 1mo1d", "stand without others"),
    ] {
        mint(home.path(), &format!("series {line}")).fails(2, error, "");
    }
}

#[test]
fn the_holes_of_a_column_are_found() {
    let home = home();
    std::fs::write(home.path().join("column"), "5\n1\n\n 2 \n99\n").unwrap();
    assert_eq!(mint(home.path(), "series 1 6 --missing column").ok(), "3\n4\n6\n");
    assert_eq!(mint(home.path(), "series 6 1 --missing column").ok(), "6\n4\n3\n");
    mint(home.path(), "series A F --missing column").fails(3, "line 1 of column is not letters", "");
    mint(home.path(), "series 1 6 --missing nosuch").fails(3, "nosuch", "");
    // As databases print them, and at another offset.
    let times = "2026-01-01 01:00:00+00:00\n2026-01-01T04:00:00+02:00\n2026-01-01T02:30:00Z\n";
    std::fs::write(home.path().join("times"), times).unwrap();
    let hours = "series 2026-01-01T00:00:00Z 2026-01-01T03:00:00Z --step 1h --missing times";
    assert_eq!(
        mint(home.path(), hours).ok(),
        "2026-01-01T00:00:00Z\n2026-01-01T03:00:00Z\n"
    );
    mint(home.path(), &hours.replace("times", "column")).fails(3, "line 1 of column is not a time", "");
    std::fs::write(home.path().join("days"), "2026-02-28\n2026-05-31\n").unwrap();
    let months = "series 2026-01-31 2026-05-31 --step 1mo --missing days";
    assert_eq!(
        mint(home.path(), months).ok(),
        "2026-01-31\n2026-03-31\n2026-04-30\n"
    );
}

/// The first output of a command whose reader then leaves, which must end it quietly.
#[track_caller]
fn check_begins(folder: &Path, line: &str, expected: &str) {
    let mut child = run::command(line.split(' '))
        .current_dir(folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut begin = vec![0; expected.len()];
    child.stdout.take().unwrap().read_exact(&mut begin).unwrap();
    assert_eq!(String::from_utf8(begin).unwrap(), expected, "{line}");
    let said: Said = child.wait_with_output().unwrap().into();
    assert_eq!((said.code, said.err.as_str()), (0, ""), "{line}");
}

#[test]
fn a_reader_that_leaves_ends_a_series_quietly() {
    let home = home();
    std::fs::write(home.path().join("column"), "2\n3\n").unwrap();
    check_begins(home.path(), "series 1 9000000000000000000", "1\n2\n3\n4\n");
    // Too long for a bit each.
    check_begins(
        home.path(),
        "series 1 9000000000000000000 --missing column",
        "1\n4\n5\n",
    );
    check_begins(
        home.path(),
        "series 0001-01-01T00:00:00Z 9999-12-31T00:00:00Z --step 1ms",
        "0001-01-01T00:00:00.000Z\n",
    );
}

#[test]
fn pools_of_a_store_are_created_used_and_released() {
    let home = home();
    let pool = |line: &str| mint(home.path(), &format!("pool {line} --store file:./ids"));
    let layout = "time=41,worker=10,sequence=12,epoch=2020-01-01";
    let made = pool(&format!("create eu --layout {layout} --window 10m")).ok();
    assert!(made.contains("time:41 worker:10 sequence:12"), "{made}");
    assert_eq!(
        pool(&format!("create eu --layout {layout} --window 10m")).ok(),
        made
    );
    assert_ne!(pool("create eu --preset twitter").code, 0);
    pool("create old --kind uuid1").ok();
    pool("create old --kind uuid1 --preset leaf").fails(2, "no layout", "");
    for preset in ["yitter", "rollback2", "leaf"] {
        let made = pool(&format!("create {preset} --preset {preset}")).ok();
        assert!(pool("list").ok().contains(preset), "{made}");
    }
    let id = mint(home.path(), "snowflake --pool eu --store file:./ids").ok();
    let id: u64 = id.trim().parse().unwrap();
    let shown: Value = serde_json::from_str(&pool("show eu --json").ok()).unwrap();
    let worker = shown["windows"][0]["worker"].as_u64().unwrap();
    assert_eq!(id >> 12 & 1023, worker);
    assert_eq!(shown["windows"].as_array().unwrap().len(), 1);
    pool("show nosuch").fails(3, "nosuch", "");
    pool("release eu 5000").fails(3, "5000", "");
    let released = pool(&format!("release eu {worker}"));
    assert_eq!(released.code, 0, "{released:?}");
}

#[test]
fn pools_of_a_server_are_those_of_its_store() {
    let home = home();
    let server = Start::in_folder(home.path()).ready();
    let pool = |line: &str| mint(home.path(), &format!("pool {line} --server {}", server.url()));
    let made = pool("create eu --layout time=41,worker=10,sequence=12,epoch=2020-01-01 --window 10m").ok();
    assert!(made.contains("time:41 worker:10 sequence:12"), "{made}");
    assert!(pool("list").ok().contains("eu"));
    let id = mint(
        home.path(),
        &format!("snowflake --pool eu --server {}", server.url()),
    )
    .ok();
    let shown: Value = serde_json::from_str(&pool("show eu --json").ok()).unwrap();
    let worker = shown["windows"][0]["worker"].as_u64().unwrap();
    assert_eq!(id.trim().parse::<u64>().unwrap() >> 12 & 1023, worker);
    assert_eq!(shown["windows"][0]["lasts"], true);
    // Its holder lives, and keeps it while its window lasts.
    pool(&format!("release eu {worker}")).fails(3, "held by", "");
    pool("show nosuch").fails(3, "nosuch", "");
}

#[test]
fn pools_of_version_1_serve_the_command() {
    let home = home();
    let server = Start::in_folder(home.path()).ready();
    let from_server = format!("--server {}", server.url());
    mint(
        home.path(),
        &format!("pool create old --kind uuid1 {from_server}"),
    )
    .ok();
    let ids = mint(home.path(), &format!("uuid v1 --pool old -n 20001 {from_server}")).ok();
    let ids: Vec<&str> = ids.lines().collect();
    distinct("version 1", &ids);
    assert_eq!(ids.len(), 20_001);
    let node = |id: &str| inspect(home.path(), id)["fields"]["node"].clone();
    let id = mint(home.path(), &format!("uuid v6 --pool old {from_server}")).ok();
    assert_eq!(inspect(home.path(), &id)["version"], 6);
    assert_eq!(node(&id), node(ids[0]), "the pool's node");
    let pool = |line: &str| mint(home.path(), &format!("{line} {from_server}"));
    pool("uuid v1 --pool default").fails(2, "makes snowflakes", "");
    pool("uuid v1 --pool nosuch").fails(3, "no pool nosuch", "");
    pool("uuid v7 --pool old").fails(2, "does not apply to v7", "v1, v6");
    drop(server);
    let id = mint(home.path(), "uuid v1 --pool old --store file:./mint").ok();
    assert_eq!(node(&id), node(ids[0]), "the same pool, without a server");
}

#[test]
fn clock_policies_are_chosen_kept_and_refused_in_words() {
    let home = home();
    let pool = |line: &str| mint(home.path(), &format!("pool {line} --store file:./ids"));
    let made = pool("create eu --preset rollback2 --clock-policy bump").ok();
    assert!(made.contains("clock policy  bump(rollback)"), "{made}");
    let shown: Value = serde_json::from_str(&pool("show eu --json").ok()).unwrap();
    assert_eq!(shown["clock_policy"], "bump(rollback)");
    pool("create us --clock-policy bump").fails(2, "rollback field", "");
    pool("create us --clock-policy wait").fails(2, "hold, wait(5ms), error or bump", "");
    for policy in ["hold", "wait(5ms)", "error"] {
        mint(
            home.path(),
            &format!("snowflake --clock-policy {policy} --state state"),
        )
        .ok();
    }
    mint(home.path(), "snowflake --clock-policy bump --state state").fails(2, "rollback field", "");
}

#[test]
fn formats_say_what_each_is() {
    let home = home();
    let rows = mint(home.path(), "formats --json").ok();
    for row in rows.lines() {
        let row: Value = serde_json::from_str(row).unwrap();
        let one = mint(home.path(), &format!("formats {}", row["name"].as_str().unwrap())).ok();
        assert!(one.contains(row["command"].as_str().unwrap()));
    }
    mint(home.path(), "formats ulidd").fails(2, "ulidd", "'ulid'");
}

#[test]
fn shells_and_manual_know_every_command() {
    let home = home();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = mint(home.path(), &format!("completions {shell}")).ok();
        for word in ["snowflake", "series", "clock-seq", "missing"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
    assert!(mint(home.path(), "man").ok().contains(".TH mint 1"));
    assert!(
        mint(home.path(), "man seq create")
            .ok()
            .contains(".TH mint-seq-create 1")
    );
    mint(home.path(), "man nosuch").fails(2, "nosuch", "uuid");
}
