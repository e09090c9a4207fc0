//! The commands about formats: what every vectors file says, through `mint`; and how they behave in pipes.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::process::Stdio;
use std::time::Duration;

use mintage::Family;
use mintage_e2e::binary;
use mintage_e2e::run::{self, Said};
use mintage_testing::{distinct, rising};
use serde_json::Value;

fn home() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

/// Runs a command line without quotes in it.
fn mint(line: &str) -> Said {
    run::mint(home().path(), line.split_whitespace())
}

/// Runs a command with this standard input.
fn fed(words: &[&str], input: &str) -> Said {
    run::with_input(run::command(words), input.as_bytes())
}

fn json_lines(said: &Said) -> Vec<Value> {
    said.out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// A vectors file without its comments, cut into columns.
fn vectors(file: &str) -> Vec<Vec<String>> {
    let text = fs::read_to_string(binary::root().join("vectors").join(file)).unwrap();
    text.lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.split('\t').map(str::to_owned).collect())
        .collect()
}

/// `length=10 checksum` as options of the command.
fn options(text: &str) -> Vec<String> {
    let words = text.split(' ').filter(|word| *word != "-");
    words
        .flat_map(|word| match word.split_once('=') {
            Some((name, value)) => vec![format!("--{name}"), value.replace("%20", " ")],
            None => vec![format!("--{word}")],
        })
        .collect()
}

/// The formats that have a file of vectors of their own.
fn formats_with_vectors() -> impl Iterator<Item = &'static str> {
    let rows = mintage::FORMATS.iter();
    rows.filter(|row| matches!(row.family, Family::Own | Family::Sequence))
        .map(|row| row.name)
}

#[test]
fn every_vector_is_judged_by_the_command_as_by_the_library() {
    for format in formats_with_vectors() {
        let mut by_options: BTreeMap<String, Vec<Vec<String>>> = BTreeMap::new();
        for line in vectors(&format!("{format}.tsv")) {
            // What a line cannot hold.
            if line.len() >= 3 && !line[2].contains('\\') {
                by_options.entry(line[1].clone()).or_default().push(line);
            }
        }
        for (given, lines) in by_options {
            let input: String = lines.iter().map(|line| format!("{}\n", line[2])).collect();
            let given = options(&given);
            let ask = |more: &[&str]| {
                let mut words = vec!["check", "--json", "--as", format];
                words.extend(more);
                words.extend(given.iter().map(String::as_str));
                words.push("-");
                let said = fed(&words, &input);
                let verdicts = json_lines(&said);
                let all = verdicts.iter().all(|verdict| verdict["valid"] == true);
                assert_eq!(said.code, i32::from(!all), "{format}: {}", said.err);
                assert_eq!(verdicts.len(), lines.len(), "{format}: {}", said.err);
                verdicts
            };
            for (line, verdict) in lines.iter().zip(ask(&[])) {
                assert_eq!(verdict["input"], line[2]);
                // SCRU128 alone reads either case without being asked to forgive.
                let accepted = line[0] == "accept" || (line[0] == "lenient" && format == "scru128");
                assert_eq!(verdict["valid"] == true, accepted, "{format}: {verdict}");
                if line[0] == "refuse" {
                    assert_eq!(verdict["reason"], line[3], "{format}: {}", line[2]);
                }
            }
            for (line, verdict) in lines.iter().zip(ask(&["--lenient"])) {
                if line[0] != "refuse" {
                    assert_eq!(verdict["valid"], true, "{format}: {verdict}");
                }
            }
        }
    }
}

#[test]
fn every_vector_is_read_by_the_command_as_by_the_library() {
    for format in formats_with_vectors() {
        for line in vectors(&format!("{format}.tsv")) {
            if line[0] != "accept" || line.len() < 6 || line[2].is_empty() {
                continue;
            }
            let given = options(&line[1]);
            let mut words = vec!["inspect", "--json", "--as", format];
            words.extend(given.iter().map(String::as_str));
            words.extend(["--", &line[2]]);
            let seen: Value = serde_json::from_str(&run::mint(home().path(), &words).ok()).unwrap();
            let reading = &seen["readings"][0];
            assert_eq!(reading["format"], format, "{seen}");
            let unix_ns = reading["unix_ns"].as_str().unwrap_or("-");
            assert_eq!(unix_ns, line[4], "{format}: {}", line[2]);
            for (name, value) in line[5].split(' ').filter_map(|pair| pair.split_once('=')) {
                let shown = &reading["fields"][name];
                let shown = shown.as_str().map_or_else(|| shown.to_string(), str::to_owned);
                assert_eq!(shown, value, "{format}: {}: {name}", line[2]);
            }
        }
    }
}

#[test]
fn every_alternate_text_is_written_and_read_by_convert() {
    let mut by_form: BTreeMap<String, Vec<Vec<String>>> = BTreeMap::new();
    for line in vectors("uuid-alternate.tsv") {
        by_form.entry(line[1].clone()).or_default().push(line);
    }
    for (form, lines) in by_form {
        let column = |at: usize| -> String { lines.iter().map(|line| format!("{}\n", line[at])).collect() };
        assert_eq!(
            fed(&["convert", "--to", &form, "-"], &column(0)).ok(),
            column(2),
            "{form}"
        );
        let back = fed(&["convert", "--from", &form, "--to", "uuid", "-"], &column(2)).ok();
        assert_eq!(back, column(0), "{form}");
    }
}

#[test]
fn every_byte_order_is_written_and_read_by_convert() {
    for line in vectors("uuid-order.tsv") {
        if line[2] == "-" {
            let said = run::mint(home().path(), ["convert", "--to", &line[1], &line[0]]);
            said.fails(2, "refuses version 8", "");
            continue;
        }
        let to = run::mint(
            home().path(),
            ["convert", "--from", "uuid", "--to", &line[1], &line[0]],
        )
        .ok();
        assert_eq!(to.trim(), line[2], "{line:?}");
        let back = run::mint(
            home().path(),
            ["convert", "--from", &line[1], "--to", "uuid", &line[2]],
        )
        .ok();
        assert_eq!(back.trim(), line[0], "{line:?}");
    }
}

#[test]
fn ids_change_their_form_and_stay_what_they_are() {
    for (line, says) in [
        (
            "--to uuid6 c232ab00-9414-11ec-b3c8-9f6bdeced846",
            "1ec9414c-232a-6b00-b3c8-9f6bdeced846",
        ),
        (
            "--to uuid1 1ec9414c-232a-6b00-b3c8-9f6bdeced846",
            "c232ab00-9414-11ec-b3c8-9f6bdeced846",
        ),
        (
            "--to uuid 01ARZ3NDEKTSV4RRFFQ69G5FAV",
            "01563e3a-b5d3-d676-4c61-efb99302bd5b",
        ),
        (
            "--to ulid 01563e3a-b5d3-d676-4c61-efb99302bd5b",
            "01ARZ3NDEKTSV4RRFFQ69G5FAV",
        ),
        (
            "-q --to uuid7 01ARZ3NDEKTSV4RRFFQ69G5FAV",
            "01563e3a-b5d3-7676-8c61-efb99302bd5b",
        ),
        (
            "--to typeid --prefix user 01890a5d-ac96-774b-bcce-b302099a8057",
            "user_01h455vb4pex5vsknk084sn02q",
        ),
        (
            "--to uuid user_01h455vb4pex5vsknk084sn02q",
            "01890a5d-ac96-774b-bcce-b302099a8057",
        ),
        ("--to base36 1541815603606036480", "bppc0m3ju134"),
        ("--from base36 --to dec bppc0m3ju134", "1541815603606036480"),
        (
            "--to int 017f22e2-79b0-7cc3-98c4-dc0c0c07398f",
            "1989357241971137676463954034883508623",
        ),
        (
            "--from int --to urn 1989357241971137676463954034883508623",
            "urn:uuid:017f22e2-79b0-7cc3-98c4-dc0c0c07398f",
        ),
    ] {
        assert_eq!(mint(&format!("convert {line}")).ok().trim(), says, "{line}");
    }
    // What gives up bits says so, what has no meaning is refused, what could be two ids is not guessed.
    let lossy = mint("convert --to uuid7 01ARZ3NDEKTSV4RRFFQ69G5FAV");
    assert!(lossy.err.contains("no way back"), "{lossy:?}");
    mint("convert --to uuid6 017f22e2-79b0-7cc3-98c4-dc0c0c07398f").fails(2, "version", "only version 1");
    mint("convert --to urn 1541815603606036480").fails(2, "64 bits", "");
    mint("convert --to uuid AbCdEfGhIjKlMnOpQrStUv").fails(2, "", "--from");
    mint("convert --to nonsense 1").fails(2, "no such form", "");
}

#[test]
fn a_stream_has_a_line_for_every_line_and_says_which_were_wrong() {
    let said = fed(
        &["convert", "--to", "base58", "-"],
        "017f22e2-79b0-7cc3-98c4-dc0c0c07398f\r\nnonsense\n\n017F22E2-79B0-7CC3-98C4-DC0C0C07398F",
    );
    assert_eq!(said.code, 1);
    assert_eq!(said.out, "1BihbxwwQ4NZZpKRH9JDCz\n\n\n1BihbxwwQ4NZZpKRH9JDCz\n");
    assert!(
        said.err.contains("line 2: nonsense") && said.err.contains("line 3: "),
        "{said:?}"
    );
    for command in [
        &["check", "-"][..],
        &["inspect", "-"],
        &["inspect", "--json", "-"],
        &["convert", "--to", "int", "-"],
    ] {
        let said = fed(command, "");
        assert_eq!((said.code, &*said.out, &*said.err), (0, "", ""), "{command:?}");
        let said = fed(command, "017f22e2-79b0-7cc3-98c4-dc0c0c07398f\n\x1b[31m\n");
        assert_eq!(
            (said.code, said.out.lines().count()),
            (1, 2),
            "{command:?}: {said:?}"
        );
        assert!(
            !said.out.contains('\x1b') || said.out.contains("\\u001b"),
            "{command:?}"
        );
    }
}

#[test]
fn a_stream_is_answered_line_by_line() {
    let mut child = run::command(["inspect", "--json", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut to, mut from) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let (sender, answers) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut seen = Vec::new();
        let mut byte = [0];
        while from.read(&mut byte).unwrap_or(0) == 1 {
            if byte[0] == b'\n' {
                sender.send(std::mem::take(&mut seen)).unwrap();
            } else {
                seen.push(byte[0]);
            }
        }
    });
    for id in [
        "017f22e2-79b0-7cc3-98c4-dc0c0c07398f",
        "01ARZ3NDEKTSV4RRFFQ69G5FAV",
    ] {
        writeln!(to, "{id}").unwrap();
        let answer = answers.recv_timeout(Duration::from_secs(30)).unwrap();
        let answer: Value = serde_json::from_slice(&answer).unwrap();
        assert_eq!(answer["input"], id);
    }
    drop(to);
    assert!(child.wait().unwrap().success());
}

#[test]
fn inspect_shows_the_readings_it_was_asked_for() {
    let one = |line: &str| -> Value {
        let text = mint(&format!("inspect --json {line}")).ok();
        serde_json::from_str::<Value>(&text).unwrap()["readings"][0].take()
    };
    let discord = one("--preset discord 175928847299117063");
    assert_eq!(
        (&discord["preset"], &discord["time"]),
        (&"discord".into(), &"2016-04-30T11:18:25.796Z".into())
    );
    let moved = one("--epoch 2015-01-01 175928847299117063");
    assert_eq!(moved["time"], "2016-04-30T11:18:25.796Z");
    let tsid = one("--as tsid --epoch 2015-01-01 0AXS751X00W7C");
    assert_eq!(tsid["time"], "2017-12-22T18:06:05.800Z");
    let base58 = one("1BihbxwwQ4NZZpKRH9JDCz");
    assert_eq!(
        (&base58["format"], &base58["form"], &base58["version"]),
        (&"uuid".into(), &"base58".into(), &7.into())
    );
    let v1 = one("c232ab00-9414-11ec-b3c8-9f6bdeced846");
    assert_eq!(v1["time"], "2022-02-22T19:22:22.0000000Z");
    assert!(
        v1["notes"][1]
            .as_str()
            .unwrap()
            .contains("325.8100480 s are through")
    );

    let unknown = mint("inspect --json no-id!");
    assert_eq!(unknown.code, 1);
    let unknown: Value = serde_json::from_str(&unknown.out).unwrap();
    assert!(unknown["tried"].as_array().unwrap().len() > 40, "{unknown}");
    let wrong = mint("inspect --as ulid 81ARZ3NDEKTSV4RRFFQ69G5FAV");
    assert_eq!(wrong.code, 1);
    assert!(wrong.out.contains("above 7"), "{wrong:?}");
    mint("inspect --prefix a 1").fails(2, "need a format", "--as");
    mint("inspect --as ulid --prefix a 1").fails(2, "--prefix does not apply", "");
}

/// A tweet had 21 readings on 104 lines, and the best was scrolled away.
#[test]
fn inspect_shows_one_card_and_a_line_for_each_of_two_more() {
    let tweet = mint("inspect 1541815603606036480").ok();
    let lines: Vec<&str> = tweet.lines().collect();
    assert!(lines[1].starts_with("  snowflake of preset twitter"), "{tweet}");
    assert_eq!(
        lines.iter().filter(|line| line.starts_with("  or ")).count(),
        2,
        "{tweet}"
    );
    assert!(lines.last().unwrap().ends_with(" more: -v"), "{tweet}");
    assert!(lines.len() < 12, "{tweet}");
    let all = mint("inspect -v 1541815603606036480").ok();
    assert!(
        all.contains("preset discord") && all.lines().count() > 60,
        "{all}"
    );
}

/// `hello`, `NULL` and a time were ids with exit code 0.
#[test]
fn what_is_hardly_an_id_is_not_known_in_every_mode() {
    let home = home();
    for (text, says) in [
        (
            "hello",
            "not known: 5 characters, letters alone, are no id of any known format",
        ),
        ("NULL", "not an id: it means that there is none"),
        ("nil", "not an id: it means"),
        ("None", "not an id: it means"),
        ("\\N", "not an id: it means"),
        ("n/a", "not an id: it means"),
        ("2026-11-22T09:54:12Z", "not an id: it is a time"),
        ("https://example.org/", "not an id: it is a URL"),
        (
            "017f22e2-79b0-7cc3-98c4-dc0c0c07398",
            "nearly a UUID with 31 hexadecimal digits",
        ),
    ] {
        let one = run::mint(home.path(), ["inspect", text]);
        assert_eq!(one.code, 1, "{text}: {}", one.out);
        assert!(
            one.out.lines().nth(1).unwrap().contains(says),
            "{text}: {}",
            one.out
        );
        assert_eq!(one.out.lines().count(), 2, "{text}: {}", one.out);
        let piped = fed(&["inspect", "-"], &format!("{text}\n"));
        assert_eq!(
            (piped.code, piped.out.lines().count()),
            (1, 1),
            "{text}: {}",
            piped.out
        );
        assert!(piped.out.contains(says), "{text}: {}", piped.out);
        fs::write(home.path().join("a.csv"), format!("id\n{text}\n")).unwrap();
        let column = run::mint(home.path(), ["inspect", "--column", "id", "a.csv"]);
        assert_eq!(column.code, 1, "{text}");
        assert!(column.out.contains(says), "{text}: {}", column.out);
        let json = run::mint(home.path(), ["inspect", "--json", text]);
        let json: Value = serde_json::from_str(&json.out).unwrap();
        assert_eq!(json["readings"], Value::Array(Vec::new()), "{text}");
        let check = run::mint(home.path(), ["check", text]);
        assert_eq!(check.code, 1, "{text}: {}", check.out);
    }
}

#[test]
fn ids_of_other_systems_are_known_by_the_command() {
    let lines = vectors("readings.tsv")
        .into_iter()
        .filter(|line| line[0] == "first");
    let lines: Vec<Vec<String>> = lines.collect();
    let input: String = lines.iter().map(|line| format!("{}\n", line[1])).collect();
    let said = fed(&["inspect", "--json", "-"], &input);
    assert_eq!(said.code, 0, "{}", said.err);
    for (line, seen) in lines.iter().zip(json_lines(&said)) {
        assert_eq!(seen["readings"][0]["format"], line[2], "{seen}");
    }
}

#[test]
fn colour_shows_the_bits_and_no_colour_does_not() {
    let plain = mint("inspect 017f22e2-79b0-7cc3-98c4-dc0c0c07398f").ok();
    assert!(!plain.contains('\x1b'));
    let painted = mint("inspect --color always 017f22e2-79b0-7cc3-98c4-dc0c0c07398f").ok();
    let bits: String = painted.lines().filter(|line| line.contains("\x1b[")).collect();
    let mut digits = String::new();
    let mut rest = &bits[..bits.find("unix_ts_ms").unwrap()];
    while let Some(at) = rest.find("\x1b[") {
        digits.extend(rest[..at].chars().filter(char::is_ascii_digit));
        rest = &rest[at + rest[at..].find('m').unwrap() + 1..];
    }
    let id = 0x017f_22e2_79b0_7cc3_98c4_dc0c_0c07_398f_u128;
    assert_eq!(digits, format!("{id:0128b}"));
}

#[test]
fn a_column_of_a_csv_is_inspected() {
    let home = home();
    let csv = "n,\"the id\"\n1,017f22e2-79b0-7cc3-98c4-dc0c0c07398f\n2,\"01ARZ3NDEKTSV4RRFFQ69G5FAV\"\r\n3\n";
    fs::write(home.path().join("a.csv"), csv).unwrap();
    fs::write(home.path().join("b.tsv"), "x\t42\n").unwrap();
    let said = run::mint(home.path(), ["inspect", "--json", "--column", "the id", "a.csv"]);
    let formats: Vec<Value> = json_lines(&said)
        .iter()
        .map(|line| line["readings"][0]["format"].clone())
        .collect();
    assert_eq!(
        (said.code, formats),
        (1, vec!["uuid".into(), "ulid".into(), Value::Null]),
        "{}",
        said.out
    );
    let said = run::mint(home.path(), ["inspect", "--json", "--column", "2", "b.tsv"]);
    assert_eq!(json_lines(&said)[0]["readings"][0]["format"], "sequence");
    let no = run::mint(home.path(), ["inspect", "--column", "id", "a.csv"]);
    no.fails(2, "no column \"id\"", "n, the id");
    run::mint(home.path(), ["inspect", "--column", "id", "c.csv"]).fails(3, "c.csv", "");
}

/// One raw block in a Zstandard frame (RFC 8878 section 3.1.1): one segment, its length in one byte.
fn zstd_of(content: &[u8]) -> Vec<u8> {
    let length = u8::try_from(content.len()).unwrap();
    // The format's own order of bytes is the other one.
    let block = (u32::from(length) << 3 | 1).to_be_bytes();
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0x20, length];
    frame.extend(block[1..].iter().rev());
    frame.extend_from_slice(content);
    frame
}

/// `audit` read a compressed file that `inspect --column` took for garbage.
#[test]
fn inspect_check_and_convert_read_the_columns_of_files_that_audit_reads() {
    let home = home();
    let id = "017f22e2-79b0-7cc3-98c4-dc0c0c07398f";
    let csv = format!("n,id\n1,{id}\n2,nonsense!\n");
    fs::write(home.path().join("a.csv"), &csv).unwrap();
    fs::write(
        home.path().join("b.jsonl"),
        format!("{{\"id\": \"{id}\"}}\n{{\"id\": \"nonsense!\"}}\n"),
    )
    .unwrap();
    let zipped = std::process::Command::new("gzip")
        .arg("-k")
        .arg(home.path().join("a.csv"))
        .status();
    assert!(zipped.unwrap().success());
    fs::write(home.path().join("a.csv.zst"), zstd_of(csv.as_bytes())).unwrap();
    for file in ["a.csv", "a.csv.gz", "a.csv.zst", "b.jsonl"] {
        let said = run::mint(home.path(), ["inspect", "--json", "--column", "id", file]);
        assert_eq!(
            json_lines(&said)[0]["readings"][0]["version"],
            7,
            "{file}: {said:?}"
        );
        assert_eq!((said.code, said.out.lines().count()), (1, 2), "{file}: {said:?}");
        let said = run::mint(home.path(), ["check", "--column", "id", "--as", "uuid7", file]);
        let verdicts: Vec<&str> = said
            .out
            .lines()
            .map(|line| line.split(' ').next().unwrap())
            .collect();
        assert_eq!(
            (said.code, verdicts),
            (1, vec!["valid", "invalid"]),
            "{file}: {said:?}"
        );
        let said = run::mint(home.path(), ["convert", "--column", "id", "--to", "base58", file]);
        assert_eq!(
            (said.code, &*said.out),
            (1, "1BihbxwwQ4NZZpKRH9JDCz\n\n"),
            "{file}: {said:?}"
        );
    }
    run::mint(home.path(), ["check", "--column", "key", "a.csv"]).fails(2, "no column \"key\"", "n, id");
}

#[test]
fn small_truths_about_texts() {
    let home = home();
    let said = |line: &str| run::mint(home.path(), line.split_whitespace());
    // Texts of 64 bits that other programs pad to a fixed width.
    for (form, text) in [
        ("hex-padded", "00000000000000ff"),
        ("base62-padded", "00000000047"),
        ("base36-padded", "0000000000073"),
        ("dec-padded", "00000000000000000255"),
    ] {
        let text_of = said(&format!("convert --from dec --to {form} 255")).ok();
        assert_eq!(text_of.trim_end(), text);
        assert_eq!(
            said(&format!("convert --from {form} --to dec {text}"))
                .ok()
                .trim_end(),
            "255"
        );
    }
    assert_eq!(said("convert --from hex --to dec 00ff").ok().trim_end(), "255");
    // 128 bits in binary.
    let id = "017f22e2-79b0-7cc3-98c4-dc0c0c07398f";
    let bits = said(&format!("convert --to base2 {id}")).ok();
    assert_eq!(
        bits.trim_end(),
        format!("{:0128b}", 0x017f_22e2_79b0_7cc3_98c4_dc0c_0c07_398f_u128)
    );
    assert_eq!(
        said(&format!("convert --from base2 --to uuid {bits}"))
            .ok()
            .trim_end(),
        id
    );
    // Steps of 256 ms end in three digits.
    let scru64 = said("inspect --preset scru64 109998242021893980").ok();
    let time = scru64.lines().find(|line| line.contains("time  ")).unwrap();
    assert_eq!(
        time.trim_end_matches('Z').rsplit('.').next().unwrap().len(),
        3,
        "{scru64}"
    );
    // The domain has a name.
    let v2 = said("inspect 000003e8-9414-21ec-b300-9f6bdeced846").ok();
    assert!(
        v2.contains("domain 0 is person: 1000 is a user id of POSIX"),
        "{v2}"
    );
    // The grammar of RFC 9562 without its table of versions.
    let odd = "017f22e2-79b0-fcc3-18c4-dc0c0c07398f";
    assert_eq!(said(&format!("check --as uuid {odd}")).code, 1);
    assert_eq!(said(&format!("check --as uuid --grammar {odd}")).code, 0);
    assert_eq!(said(&format!("check --grammar {odd}")).code, 0);
    assert_eq!(said(&format!("check --grammar {{{odd}}}")).code, 0);
    assert_eq!(
        said("check --as uuid --grammar 017f22e279b0fcc318c4dc0c0c07398f").code,
        1
    );
}

/// The ceiling of 10 million a second was met in silence.
#[test]
fn version_1_tells_when_it_runs_ahead_of_the_clock() {
    let home = home();
    let mut command = run::command(["uuid", "v1", "-n", "30000000"]);
    command
        .current_dir(home.path())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(child.wait().unwrap().success(), "{said}");
    // A slow machine is not ahead, and says nothing.
    let told =
        said.is_empty() || said.contains(" s ahead of the clock: version 1 has 10 million ids a second");
    assert!(told, "{said}");
}

#[test]
fn ranges_are_half_open_and_hold_what_was_made_in_them() {
    for format in [
        "uuid7",
        "uuid6",
        "ulid",
        "ksuid",
        "xid",
        "objectid",
        "tsid",
        "tid",
        "scru128",
        "pushid",
        "timeflake",
    ] {
        let line = format!("range {format} --from 2022-02-22T19:22:22Z --to 2022-02-22T19:22:25Z --json");
        let bounds: Value = serde_json::from_str(&mint(&line).ok()).unwrap();
        let text = |name: &str| bounds[name].as_str().unwrap().to_string();
        let (first, last, end) = (text("first"), text("last"), text("end"));
        for (at, inside) in [
            ("2022-02-22T19:22:22Z", true),
            ("2022-02-22T19:22:24.999999Z", true),
            ("2022-02-22T19:22:25Z", false),
            ("2022-02-22T19:22:21.999Z", false),
        ] {
            let made = mint(&format!("gen {format} --at {at}")).ok();
            let id = made.trim();
            assert_eq!(
                *first <= *id && *id <= *last,
                inside,
                "{format} {at}: {first} {id} {last}"
            );
            assert_eq!(
                *first <= *id && *id < *end,
                inside,
                "{format} {at}: {first} {id} {end}"
            );
        }
    }
    let twitter = mint("range snowflake --from 2022-06-28T16:07:40.105Z --to 2022-06-28T16:07:40.106Z").ok();
    assert_eq!(twitter, "1541815603604488192\n1541815603608682495\n");
    mint("range uuid7 --from now --to now-1h").fails(2, "not after", "");
    mint("range nanoid --from now-1h --to now").fails(2, "holds no time", "ulid");
    mint("range uuid7 --from 1969-01-01 --to now").fails(2, "1970-01-01T00:00:00Z", "");
}

#[test]
fn gen_makes_every_format_that_says_so_and_refuses_the_rest_with_the_way() {
    let rows = json_lines(&mint("formats --json"));
    for row in &rows {
        let (name, command) = (row["name"].as_str().unwrap(), row["command"].as_str().unwrap());
        let makes = row["verbs"].as_array().unwrap().contains(&"make".into());
        if command.starts_with("mint gen") {
            assert!(makes, "{name}");
            let words: Vec<&str> = command.split(' ').skip(1).collect();
            let made = run::mint(home().path(), &words).ok();
            let mut check = vec!["check", "--as", name];
            // Hashids are read with the salt that they were made with.
            if let Some(at) = words.iter().position(|word| *word == "--salt") {
                check.extend(&words[at..at + 2]);
            }
            check.push("-");
            let verdict = fed(&check, &made);
            if name == "token" {
                continue;
            }
            assert_eq!(verdict.code, 0, "{command}: {verdict:?}");
            let three = mint(&format!("{} -n 3 --json", &command[5..]));
            assert_eq!(json_lines(&three).len(), 3);
        }
    }
    mint("gen snowflake").fails(2, "does not make", "mint snowflake");
    mint("gen uuid5").fails(2, "needs a namespace", "mint uuid v5");
    mint("gen ulid --length 3").fails(2, "--length does not apply", "");
    mint("gen ulid --at 1960-01-01").fails(2, "does not fit format ulid", "");
    mint("gen nosuch").fails(2, "nosuch", "");
}

#[test]
fn bulk_is_distinct_in_order_and_well_formed() {
    for (line, sorted) in [
        ("uuid v4 -n 50000", false),
        ("uuid v7 -n 50000", true),
        ("gen ulid -n 50000", true),
        ("gen ksuid -n 20000", false),
        (
            "snowflake --layout time=41,worker=3,sequence=19 --worker 1 --state s -n 50000",
            false,
        ),
        ("uuid --format base62 -n 20000", true),
    ] {
        let out = mint(line).ok();
        let lines: Vec<&str> = out.lines().collect();
        match sorted {
            true => rising(line, &lines),
            false => distinct(line, &lines),
        }
        let count: usize = line.rsplit(' ').next().unwrap().parse().unwrap();
        assert_eq!(lines.len(), count, "{line}");
        let width = lines[0].len();
        assert!(lines.iter().all(|line| line.len() == width), "{line}");
    }
}

#[test]
fn a_reader_that_goes_away_ends_it_quietly() {
    for words in [
        &["uuid", "v4", "-n", "100000000"][..],
        &["gen", "ulid", "-n", "100000000"],
        &["gen", "nanoid", "-n", "100000000"],
    ] {
        let mut child = run::command(words)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut some = [0; 1000];
        child.stdout.take().unwrap().read_exact(&mut some).unwrap();
        let out = child.wait_with_output().unwrap();
        assert!(
            out.status.success() && out.stderr.is_empty(),
            "{words:?}: {out:?}"
        );
    }
}

#[test]
fn formats_say_what_their_randomness_is_worth() {
    let uuid4 = mint("formats uuid4").ok();
    for says in [
        "122 bits",
        "10^-9",
        "1 %",
        "50 %",
        "2.71 * 10^18",
        "RFC 9562 section 5.4",
    ] {
        assert!(uuid4.contains(says), "{uuid4}");
    }
    for row in json_lines(&mint("formats --json")) {
        let random = row["random_bits"].as_f64().unwrap();
        assert_eq!(random > 0.0, row["ids_until_repeat"].is_object(), "{row}");
        assert!(!row["diagram"].as_str().unwrap().is_empty() && !row["source"].as_str().unwrap().is_empty());
    }
}
