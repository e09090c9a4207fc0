//! Scripts of Redis whose meaning is known or declared: the answers byte for byte, beside a stock Redis where it has
//! such; what counts as a spelling of one script, shown by that Redis; ids that clients put together from parts.
//!
//! Covers: crates/server/src/faces/resp
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;

use mintage::preset;
use mintage_e2e::cluster::eventually;
use mintage_e2e::redis::Redis;
use mintage_e2e::resp::{Reply, Resp};
use mintage_e2e::run::mint;
use mintage_e2e::server::Start;
use mintage_e2e::signal::signal;
use mintage_e2e::{need, random::Random};
use mintage_testing::{Distinct, invariant};
use serde_json::Value;

const INCR: &str = "return redis.call('incr', KEYS[1])";
const INCRBY: &str = "return redis.call('incrby', KEYS[1], ARGV[1])";
const RANGE: &str = "local v = redis.call('incrby', KEYS[1], ARGV[1]) return {v - ARGV[1] + 1, v}";
const INCR_SHA: &str = "2bab3b661081db58bd2341920e0ba7cf5dc77b25";
const NOBODY: &str = "0000000000000000000000000000000000000000";
const NOSCRIPT: &str = "NOSCRIPT No matching script. Please use EVAL.";

/// Commands with the same answer on both, in this order.
const SAME: &[&[&str]] = &[
    &["EVALSHA", INCR_SHA, "1", "a"],
    &["SCRIPT", "EXISTS", INCR_SHA, NOBODY],
    &["SCRIPT", "LOAD", INCR],
    &["SCRIPT", "EXISTS", INCR_SHA, NOBODY, "abc"],
    &["EVALSHA", INCR_SHA, "1", "a"],
    &["EVALSHA", "2BAB3B661081DB58BD2341920E0BA7CF5DC77B25", "1", "a"],
    &["EVAL", INCR, "1", "a"],
    &["EVAL", INCR, "2", "a", "b", "c"],
    &["GET", "a"],
    &["EVAL", INCRBY, "1", "a", "10"],
    &["EVAL", INCRBY, "2", "a", "b", "10", "20"],
    &["EVAL", INCRBY, "1", "a", "0"],
    &["EVAL", RANGE, "1", "a", "5"],
    &["EVAL", RANGE, "1", "a", "1"],
    &["EVAL", RANGE, "1", "a", "0"],
    &["EVAL", RANGE, "1", "new", "0"],
    &["EVAL", RANGE, "1", "new", "3"],
    // What is wrong with a request, in Redis's order.
    &["EVAL"],
    &["EVAL", INCR],
    &["EVALSHA", INCR_SHA],
    &["EVAL", INCR, "x", "a"],
    &["EVAL", INCR, "1.0", "a"],
    &["EVAL", INCR, "-1", "a"],
    &["EVAL", INCR, "2", "a"],
    &["EVAL", INCR, "9223372036854775807", "a"],
    &["EVALSHA", NOBODY, "x"],
    &["EVALSHA", NOBODY, "-1", "a"],
    &["EVALSHA", NOBODY, "1"],
    &["EVALSHA", NOBODY, "1", "a"],
    &["EVALSHA", "abc", "x"],
    &["EVALSHA", "", "1", "a"],
    &["EVALSHA", "ZZab3b661081db58bd2341920e0ba7cf5dc77b25", "1", "a"],
    &["EVALSHA_RO", NOBODY, "1", "a"],
    &["FCALL", "nobody", "1", "a"],
    &["FCALL", "nobody", "x"],
    &["FCALL", "nobody"],
    &["FCALL_RO", "nobody", "1", "a"],
    &["FUNCTION", "LIST"],
    &["FUNCTION", "LIST", "WITHCODE"],
    &["FUNCTION", "LIST", "WITHCODE", "WITHCODE"],
    &["FUNCTION", "LIST", "LIBRARYNAME", "m*", "WITHCODE"],
    &["FUNCTION", "LIST", "LIBRARYNAME"],
    &["FUNCTION", "LIST", "x"],
    &["FUNCTION", "NOSUCH"],
    &["FUNCTION"],
    &["SCRIPT"],
    &["SCRIPT", "LOAD"],
    &["SCRIPT", "EXISTS"],
    &["SCRIPT", "NOSUCH"],
    &["SCRIPT", "FLUSH", "NOW"],
    &["SCRIPT", "FLUSH", "a", "b"],
    &["SCRIPT", "FLUSH", "async"],
    // Queued, answered together, and refused when queued.
    &["EVAL", INCR, "1", "a"],
    &["MULTI"],
    &["EVALSHA", INCR_SHA, "1", "a"],
    &["EVAL", RANGE, "1", "a", "4"],
    &["EVALSHA", NOBODY, "1", "a"],
    &["EVAL", INCR, "1", "a"],
    &["EXEC"],
    &["MULTI"],
    &["EVAL", INCR],
    &["EXEC"],
    &["MULTI"],
    &["SCRIPT", "NOSUCH"],
    &["EXEC"],
    &["GET", "a"],
];

/// Texts, and how each is a spelling of a script that has a meaning here (or of none).
const SPELLINGS: &[(&str, Option<&str>)] = &[
    (INCR, Some(INCR)),
    ("return redis.call(\"INCR\", KEYS[1]);", Some(INCR)),
    (
        "-- next\nreturn redis . call( 'Incr',KEYS [1 ] ) --[==[ ]] ]==] ;",
        Some(INCR),
    ),
    ("--[ x\rreturn redis.call('incr', KEYS[1])--", Some(INCR)),
    (INCRBY, Some(INCRBY)),
    (
        "return\tredis.call('incrBY',\r\nKEYS[1]\x0b,\x0cARGV[1])",
        Some(INCRBY),
    ),
    (RANGE, Some(RANGE)),
    (
        "local last=redis.call('INCRBY',KEYS[1],ARGV[1]);return{last-ARGV[1]+1,last};",
        Some(RANGE),
    ),
    (
        "local _ = redis.call('incrby', KEYS[1], ARGV[1])return{_ - --[[x]]ARGV[1]+ 1,_}",
        Some(RANGE),
    ),
    ("return redis.call\n('incr', KEYS[1])", None),
    ("return redis.call('incr', KEYS[1]);;", None),
    ("return redis.call('incr', KEYS[1]) --[[ [[ ]]", None),
    ("return redis.call('incr', KEYS[1]) --[[", None),
    ("return redis.call('incr', KEYS[1]) return 1", None),
    ("return redis.pcall('incr', KEYS[1])", None),
    ("return redis.call('incr', KEYS[2])", None),
    ("return redis.call('in\\99r', KEYS[1])", None),
    ("return redis.call([[incr]], KEYS[1])", None),
    ("return redis.call('incr', KEYS[0x1])", None),
    ("local KEYS = {'z'} return redis.call('incr', KEYS[1])", None),
    (
        "local ARGV = redis.call('incrby', KEYS[1], ARGV[1]) return {ARGV - ARGV[1] + 1, ARGV}",
        None,
    ),
    (
        "local v = redis.call('incrby', KEYS[1], ARGV[1]) return {v --ARGV[1] + 1, v}",
        None,
    ),
    (
        "local v = redis.call('incr', KEYS[1]) redis.call('expire', KEYS[1], 9) return v",
        None,
    ),
    ("return 1", None),
];

#[test]
fn scripts_are_answered_and_refused_as_in_redis() {
    if !need::redis() {
        return;
    }
    for protocol in ["2", "3"] {
        let folder = tempfile::tempdir().unwrap();
        let real = Redis::start(folder.path());
        let ours = Start::in_folder(folder.path()).ready();
        let (mut theirs, mut client) = (Resp::connect(real.address).unwrap(), ours.redis());
        for client in [&mut theirs, &mut client] {
            client.ask(&["HELLO", protocol]).unwrap();
        }
        // What Redis must be sent once is known here.
        for client in [&mut theirs, &mut client] {
            client.ask(&["EVAL", INCR, "1", "a"]).unwrap();
        }
        let mut differ = Vec::new();
        for command in SAME {
            let (want, got) = (theirs.ask(command).unwrap(), client.ask(command).unwrap());
            if want != got {
                differ.push(format!("{command:?}\n  redis {want:?}\n  mint  {got:?}"));
            }
        }
        assert!(differ.is_empty(), "{}", differ.join("\n"));
    }
}

#[test]
fn golden_answers_of_what_redis_says_otherwise() {
    let folder = tempfile::tempdir().unwrap();
    let server = Start::in_folder(folder.path()).ready();
    let mut client = server.redis();
    let no_lua = "-ERR mint: this server runs no Lua; register script e0e1f9fabfc9d4800c877a703b823ac0578ff8db under \
                  faces.scripts, or call INCR";
    let nil = "-ERR Lua redis lib command arguments must be strings or integers";
    let writes = "-ERR Write commands are not allowed from read-only scripts.";
    for (command, line) in [
        (vec!["EVAL", "return 1", "0"], no_lua),
        (vec!["SCRIPT", "LOAD", "return 1"], no_lua),
        (vec!["EVAL_RO", "return 1", "0"], no_lua),
        (vec!["EVAL", INCR, "0"], nil),
        (vec!["EVAL", INCR, "0", "a"], nil),
        (vec!["EVAL", INCRBY, "1", "a"], nil),
        (vec!["EVAL", RANGE, "1", "a"], nil),
        (
            vec!["EVAL", INCRBY, "1", "a", "x"],
            "-ERR value is not an integer or out of range",
        ),
        (
            vec!["EVAL", INCRBY, "1", "a", "9223372036854775808"],
            "-ERR value is not an integer or out of range",
        ),
        (
            vec!["EVAL", INCRBY, "1", "a", "-1"],
            "-ERR mint: a does not exist, and what INCR and SET make counts up alone (for numbers that fall create a \
             sequence with increment -1 and INCR it: mint seq create NAME --increment=-1)",
        ),
        (vec!["EVAL_RO", INCR, "1", "a"], writes),
        (vec!["EVALSHA_RO", INCR_SHA, "1", "a"], writes),
        (vec!["EVAL", INCR, "1", ""], "-ERR mint: "),
    ] {
        let got = match client.ask(&command).unwrap() {
            Reply::Error(text) => format!("-{text}"),
            other => format!("{other:?}"),
        };
        assert!(
            got == line || line == "-ERR mint: " && got.starts_with(line),
            "{command:?}: {got}"
        );
    }
    // The last number there is: a run that does not fit takes nothing.
    client.ask(&["SET", "top", "9223372036854775806"]).unwrap();
    for (command, want) in [
        (
            vec!["EVAL", RANGE, "1", "top", "2"],
            Reply::Error("ERR increment or decrement would overflow".to_string()),
        ),
        (vec!["EVAL", INCR, "1", "top"], Reply::Int(i64::MAX)),
        (
            vec!["EVAL", INCR, "1", "top"],
            Reply::Error("ERR increment or decrement would overflow".to_string()),
        ),
        // Exact, where Lua's numbers end at 2^53.
        (vec!["EVAL", INCRBY, "1", "top", "0"], Reply::Int(i64::MAX)),
    ] {
        assert_eq!(client.ask(&command).unwrap(), want, "{command:?}");
    }
    let info = client.ask(&["COMMAND", "INFO", "evalsha", "fcall_ro"]).unwrap();
    let shown = format!("{info:?}");
    assert!(
        shown.contains("movablekeys") && shown.contains("readonly") && shown.contains("@scripting"),
        "{shown}"
    );
}

/// Whatever has one meaning here has one answer in a real Redis.
#[test]
fn spellings_that_are_equated_answer_the_same_in_redis() {
    if !need::redis() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let real = Redis::start(folder.path());
    // Every text moves a counter first: no disk has to keep up with that.
    let ours = Start::in_folder(folder.path())
        .args(["--store", "memory:"])
        .ready();
    let (mut theirs, mut client) = (Resp::connect(real.address).unwrap(), ours.redis());
    for (text, stands_for) in SPELLINGS {
        assert_eq!(meaning(&mut client, text), *stands_for, "{text}");
    }
    let mut random = Random::announced("spellings of scripts");
    let (mut equated, mut known) = (0, 0);
    while known < 1500 {
        let (text, _) = SPELLINGS[random.below(SPELLINGS.len() as u64) as usize];
        let text = changed(text, &mut random);
        let Some(stands_for) = meaning(&mut client, &text) else {
            continue;
        };
        known += 1;
        equated += u64::from(text != stands_for);
        for arguments in [&["1", "k", "7"][..], &["2", "k", "k2", "1", "9"]] {
            let answers = [text.as_str(), stands_for].map(|text| {
                theirs.ask(&["SET", "k", "41"]).unwrap();
                let words: Vec<&str> = ["EVAL", text].iter().chain(arguments).copied().collect();
                theirs.ask(&words).unwrap()
            });
            assert_eq!(answers[0], answers[1], "{text:?} is not {stands_for:?}");
            assert!(!matches!(answers[0], Reply::Error(_)), "{text:?}: {answers:?}");
        }
    }
    assert!(equated > 300, "{equated} of {known}");
    need::say(&format!(
        "{equated} spellings of {known} known texts answer the same in Redis"
    ));
}

/// Which known script a text is a spelling of, by what our server does for it.
fn meaning(client: &mut Resp, text: &str) -> Option<&'static str> {
    client.ask(&["SET", "m", "9007199254740993"]).ok();
    let before = client.ask(&["GET", "m"]).unwrap().int().unwrap();
    match client.ask(&["EVAL", text, "1", "m", "3"]).unwrap() {
        Reply::Int(n) if n == before + 1 => Some(INCR),
        Reply::Int(n) if n == before + 3 => Some(INCRBY),
        Reply::Array(both) if both == [Reply::Int(before + 1), Reply::Int(before + 3)] => Some(RANGE),
        Reply::Error(text) if text.contains("runs no Lua") => None,
        other => panic!("{text}: {other:?} after {before}"),
    }
}

/// A text with some of its characters or pieces changed.
fn changed(text: &str, random: &mut Random) -> String {
    const PIECES: &[&str] = &[
        " ",
        "\n",
        "\t",
        "--x\n",
        "--[[x]]",
        "--[=[x]=]",
        ";",
        "--",
        "[[",
        "]]",
        "'",
        "\"",
        "\\",
        "1",
        "-",
        "=",
        "return ",
        "local ",
        "v",
        "KEYS",
        "[",
        "]",
        "(",
        ")",
        "\r",
        ",",
        "INCR",
        ".",
    ];
    let mut text = text.to_string();
    for _ in 0..1 + random.below(3) {
        let places: Vec<usize> = text
            .char_indices()
            .map(|(at, _)| at)
            .chain([text.len()])
            .collect();
        let at = places[random.below(places.len() as u64) as usize];
        match random.below(4) {
            0 if at < text.len() => {
                text.remove(at);
            }
            1 if at < text.len() => {
                let flipped = text.remove(at);
                let flipped = match flipped.is_ascii_lowercase() {
                    true => flipped.to_ascii_uppercase(),
                    false => flipped.to_ascii_lowercase(),
                };
                text.insert(at, flipped);
            }
            _ => text.insert_str(at, PIECES[random.below(PIECES.len() as u64) as usize]),
        }
    }
    text
}

#[test]
fn spellings_are_remembered_and_the_first_one_goes() {
    let folder = tempfile::tempdir().unwrap();
    let server = Start::in_folder(folder.path())
        .under([
            "env",
            "MINT_SERVER__RESP__MAX_SCRIPTS=3",
            "MINT_SERVER__THREADS=2",
        ])
        .ready();
    let spelling = |i: usize| format!("{INCR} -- {i}");
    let ask = |words: &[&str]| {
        // Another connection each time: what one has sent, all know.
        server.redis().ask(words).unwrap()
    };
    let shas: Vec<String> = (0..4)
        .map(|i| ask(&["SCRIPT", "LOAD", &spelling(i)]).text().unwrap())
        .collect();
    let exist = |known: [i64; 5]| {
        let words: Vec<&str> = ["SCRIPT", "EXISTS", INCR_SHA]
            .into_iter()
            .chain(shas.iter().map(String::as_str))
            .collect();
        assert_eq!(ask(&words), Reply::Array(known.map(Reply::Int).into()));
    };
    exist([1, 0, 1, 1, 1]);
    assert_eq!(
        ask(&["EVALSHA", &shas[0], "1", "k"]),
        Reply::Error(NOSCRIPT.to_string())
    );
    // EVAL makes it known again, in place of the oldest.
    assert_eq!(ask(&["EVAL", &spelling(0), "1", "k"]), Reply::Int(1));
    assert_eq!(ask(&["EVALSHA", &shas[0], "1", "k"]), Reply::Int(2));
    exist([1, 1, 0, 1, 1]);
    assert_eq!(ask(&["SCRIPT", "FLUSH"]), Reply::Simple("OK".to_string()));
    exist([1, 0, 0, 0, 0]);
    assert_eq!(ask(&["EVALSHA", INCR_SHA, "1", "k"]), Reply::Int(3));
    // A text longer than an argument may be is refused before it is looked at.
    let long = format!("{INCR} -- {}", "x".repeat(5000));
    let mut client = server.redis();
    let refused = client.ask(&["EVAL", &long, "1", "k"]).unwrap();
    assert_eq!(
        refused,
        Reply::Error("ERR Protocol error: invalid bulk length".to_string())
    );
}

/// Writes a configuration that declares scripts.
fn declare(folder: &Path, scripts: &str) {
    fs::write(folder.join("mint.toml"), scripts).unwrap();
}

const DECLARED: &str = r#"
[[faces.scripts]]
file = "next.lua"
does = "incr"

[[faces.scripts]]
sha1 = "e0e1f9fabfc9d4800c877a703b823ac0578ff8db"
does = "range"

[[faces.scripts]]
function = "next_id"
does = "incrby"

[[faces.scripts]]
function = "flake"
does = "snowflake"

[[faces.scripts]]
function = "flake_text"
does = "snowflake_text"

[[faces.scripts]]
function = "icicle"
does = "icicle"

[[faces.scripts]]
function = "seconds"
does = "seconds_partition"
pool = "seconds"
"#;

const SECONDS_LAYOUT: &str = "time=41,worker=12,sequence=10,epoch=1970-01-01";

#[test]
fn declared_scripts_do_what_they_are_declared_to_do() {
    let folder = tempfile::tempdir().unwrap();
    declare(folder.path(), DECLARED);
    mint(folder.path(), ["config", "show"]).fails(2, "script 1: file = \"next.lua\": cannot read it", "");
    let next = "local n = redis.call('incr', KEYS[1])\nif n > 100 then redis.log(2, 'many') end\nreturn n\n";
    fs::write(folder.path().join("next.lua"), next).unwrap();
    let shown = mint(folder.path(), ["config", "show"]).ok();
    assert!(
        shown.contains("{ function = \"seconds\", does = \"seconds_partition\", pool = \"seconds\" }"),
        "{shown}"
    );
    mint(
        folder.path(),
        [
            "pool",
            "create",
            "seconds",
            "--layout",
            SECONDS_LAYOUT,
            "--store",
            "file:mint",
        ],
    )
    .ok();
    let server = Start::in_folder(folder.path()).ready();
    let mut client = server.redis();
    let mut ask = |words: &[&str]| client.ask(words).unwrap();
    assert_eq!(ask(&["EVAL", next, "1", "a"]), Reply::Int(1));
    let sha = ask(&["SCRIPT", "LOAD", next]).text().unwrap();
    assert_eq!(ask(&["EVALSHA", &sha, "1", "a"]), Reply::Int(2));
    assert_eq!(ask(&["SCRIPT", "FLUSH"]), Reply::Simple("OK".to_string()));
    assert_eq!(ask(&["EVALSHA", &sha, "1", "a"]), Reply::Int(3));
    assert_eq!(
        ask(&["EVAL", "return 1", "1", "a", "3"]),
        Reply::Array(vec![Reply::Int(4), Reply::Int(6)])
    );
    assert_eq!(ask(&["FCALL", "NEXT_ID", "1", "a", "4"]), Reply::Int(10));
    let refused = |text: &str| Reply::Error(text.to_string());
    assert_eq!(
        ask(&["FCALL", "next_id", "x"]),
        refused("ERR Bad number of keys provided")
    );
    assert_eq!(
        ask(&["FCALL", "next_id", "-1"]),
        refused("ERR Number of keys can't be negative")
    );
    assert_eq!(
        ask(&["FCALL", "next_id", "2", "a"]),
        refused("ERR Number of keys can't be greater than number of args")
    );
    assert_eq!(
        ask(&["FCALL_RO", "next_id", "1", "a", "1"]),
        refused("ERR Can not execute a script with write flag using *_ro command.")
    );
    let Reply::Array(list) = ask(&["FUNCTION", "LIST", "LIBRARYNAME", "MINT", "WITHCODE"]) else {
        panic!("no list")
    };
    let shown = format!("{list:?}");
    assert!(list.len() == 1 && !shown.contains("Error"), "{shown}");
    assert_eq!(
        ask(&["FUNCTION", "LIST", "LIBRARYNAME", "other"]),
        Reply::Array(vec![])
    );

    let flake = ask(&["FCALL", "flake", "0"]);
    assert!(matches!(flake, Reply::Int(_)), "{flake:?}");
    let text = ask(&["FCALL", "flake_text", "0"]);
    assert!(
        matches!(text, Reply::Bulk(_)) && text.int() > flake.int(),
        "{text:?}"
    );
    let twitter = preset("twitter").unwrap().layout();
    let parts = twitter.unpack(text.int().unwrap() as u64).unwrap();

    let mut all = Distinct::of("ids");
    for count in ["1", "2", "4096", "4096", "3000", "1"] {
        let Reply::Array(answer) = ask(&["FCALL", "icicle", "4", "4095", "1", "1023", count]) else {
            panic!("no parts")
        };
        let ids = icicle_ids(&answer);
        assert_eq!(ids.len().to_string(), count, "{answer:?}");
        all.extend(ids);
        assert_eq!(
            answer[2],
            Reply::Int(parts.worker as i64),
            "the pool's own worker"
        );
    }
    for wrong in ["0", "-1", "4097", "x"] {
        assert_eq!(
            ask(&["FCALL", "icicle", "4", "4095", "1", "1023", wrong]),
            refused("ERR mint: KEYS[4], how many ids, must be a whole number from 1 to 4096")
        );
    }
    // What the pool makes itself lies among them, and is none of them.
    for _ in 0..10 {
        all.add(ask(&["MINT.SNOWFLAKE", "default"]).int().unwrap() as u64);
    }
    let Reply::Array(answer) = ask(&["FCALL", "seconds", "2", "orders", "4095"]) else {
        panic!("no parts")
    };
    let id = seconds_id(&answer);
    let later = ask(&["MINT.SNOWFLAKE", "seconds"]).int().unwrap() as u64;
    invariant!(id < later, "{later} after {id}");
    assert!(later - id < 60_000 << 22, "{id} {later}");
}

/// As Icicle's client does, with the epoch of our pool in place of its own.
fn icicle_ids(answer: &[Reply]) -> Vec<u64> {
    let [first, last, worker, seconds, microseconds] = numbers(answer)[..] else {
        panic!("{answer:?} are not five")
    };
    let epoch_ms = 1_288_834_974_657;
    let ms = seconds * 1000 + microseconds / 1000 - epoch_ms;
    (first..=last)
        .map(|sequence| ms << 22 | worker << 12 | sequence)
        .collect()
}

/// Milliseconds since 1970, 12 bits of partition, 10 of sequence.
fn seconds_id(answer: &[Reply]) -> u64 {
    let [seconds, microseconds, worker, sequence] = numbers(answer)[..] else {
        panic!("{answer:?} are not four")
    };
    (seconds * 1000 + microseconds / 1000) << 22 | worker << 10 | sequence
}

fn numbers(answer: &[Reply]) -> Vec<u64> {
    answer.iter().map(|number| number.int().unwrap() as u64).collect()
}

#[test]
fn declarations_that_cannot_be_used_are_refused_in_words() {
    let folder = tempfile::tempdir().unwrap();
    for (scripts, says) in [
        (
            "[{does = \"incr\"}]",
            "script 1: give sha1, file or function: what the script is called by",
        ),
        (
            "[{sha1 = \"12\", does = \"incr\"}]",
            "script 1: \"12\" is not a SHA-1: 40 hexadecimal digits",
        ),
        (
            "[{function = \"a\", does = \"decr\"}]",
            "script 1: does = \"decr\" is none of incr, incrby, range",
        ),
        (
            "[{function = \"a\", file = \"b\", does = \"incr\"}]",
            "give one of sha1, file and function",
        ),
        (
            "[{file = \"missing.lua\", does = \"incr\"}]",
            "file = \"missing.lua\": cannot read it",
        ),
    ] {
        declare(folder.path(), &format!("[faces]\nscripts = {scripts}\n"));
        let said = mint(folder.path(), ["config", "show"]);
        said.fails(2, "mint.toml: faces.scripts: script 1: ", "");
        assert!(said.err.contains(says), "{}", said.err);
        Start::in_folder(folder.path()).refused().fails(2, says, "");
    }
    // The pool is looked at before anybody is served, and where it comes later, when it is used.
    declare(
        folder.path(),
        "[[faces.scripts]]\nfunction = \"f\"\ndoes = \"seconds_partition\"\npool = \"late\"\n",
    );
    let server = Start::in_folder(folder.path()).ready();
    assert!(server.log().contains("does not exist yet"), "{}", server.log());
    let mut client = server.redis();
    let refused = client.ask(&["FCALL", "f", "0"]).unwrap().text().unwrap();
    assert!(
        refused.starts_with("ERR mint: ") && refused.contains("late"),
        "{refused}"
    );
    mint(
        folder.path(),
        [
            "pool",
            "create",
            "late",
            "--layout",
            "time=41,worker=10,sequence=12",
            "--server",
            &server.url(),
        ],
    )
    .ok();
    let says = "pool late has the layout time:time=41,worker:worker=10,sequence:sequence=12";
    let refused = client.ask(&["FCALL", "f", "0"]).unwrap().text().unwrap();
    assert!(
        refused.contains(says) && refused.contains(SECONDS_LAYOUT),
        "{refused}"
    );
    drop(client);
    server.stop();
    Start::in_folder(folder.path()).refused().fails(
        3,
        &format!("faces.scripts: {says}"),
        "mint pool create NAME",
    );
}

/// Somebody moves a service whose script is not known: tries it, reads the refusal, declares it, goes on.
#[test]
fn a_script_is_declared_while_the_server_runs() {
    let folder = tempfile::tempdir().unwrap();
    declare(folder.path(), "");
    let server = Start::in_folder(folder.path()).ready();
    let mut client = server.redis();
    let script = "return redis.pcall('incr', KEYS[1])";
    let mut call = || client.ask(&["EVAL", script, "1", "tickets"]).unwrap();
    let refused = call().text().unwrap();
    let sha = refused
        .split_whitespace()
        .find(|word| word.len() == 40)
        .expect(&refused);
    declare(
        folder.path(),
        &format!("[[faces.scripts]]\nsha1 = \"{sha}\"\ndoes = \"incr\"\n"),
    );
    let hang_up = || signal(server.pid(), "HUP");
    hang_up();
    eventually("the script is known", || matches!(call(), Reply::Int(_)));
    let Reply::Int(before) = call() else {
        panic!("it was known")
    };
    // A mistake in the file changes nothing.
    declare(
        folder.path(),
        "[[faces.scripts]]\nfile = \"missing.lua\"\ndoes = \"incr\"\n",
    );
    hang_up();
    eventually("the mistake is told of", || server.log().contains("missing.lua"));
    assert_eq!(call(), Reply::Int(before + 1));
    // Nobody counts what was refused.
    let metrics = server.http("GET", "/metrics", "").body;
    let metrics = String::from_utf8(metrics).unwrap();
    let taken = format!("mint_ids_total{{kind=\"sequence\"}} {}", before + 1);
    assert!(metrics.contains(&taken), "no {taken} in\n{metrics}");
}

/// What a script takes, its connection has taken.
#[test]
fn a_session_remembers_what_its_scripts_took() {
    let folder = tempfile::tempdir().unwrap();
    let server = Start::in_folder(folder.path()).ready();
    let mut client = server.redis();
    let run = [
        "EVAL",
        "return redis.call('incrby', KEYS[1], ARGV[1])",
        "1",
        "orders",
        "7",
    ];
    for words in [&run[..], &["MINT.CURRVAL", "orders"], &["MINT.LASTVAL"]] {
        assert_eq!(client.ask(words).unwrap().int(), Some(7), "{words:?}");
    }
}

#[test]
fn takes_by_script_need_the_right_to_allocate() {
    let folder = tempfile::tempdir().unwrap();
    let mut rows = Vec::new();
    let tokens = ["allocate", "read"].map(|right| {
        let made = mint(folder.path(), ["--json", "token", "new", right]).ok();
        let made: Value = serde_json::from_str(&made).unwrap();
        let digest = made["sha256"].as_str().unwrap();
        rows.push(format!(
            "{{ name = \"{right}\", sha256 = \"{digest}\", may = [\"{right}\"] }}"
        ));
        made["token"].as_str().unwrap().to_string()
    });
    declare(
        folder.path(),
        &format!("[auth]\ntokens = [{}]\n", rows.join(", ")),
    );
    let server = Start::in_folder(folder.path()).ready();
    let commands = [
        ["EVAL", INCR, "1", "k"],
        ["EVALSHA", INCR_SHA, "1", "k"],
        ["FCALL", "f", "1", "k"],
    ];
    let mut client = server.redis();
    let refused = |text: String| Reply::Error(text);
    for command in &commands {
        let asked = client.ask(command).unwrap();
        assert_eq!(asked, refused("NOAUTH Authentication required.".to_string()));
    }
    client.ask(&["AUTH", &tokens[1]]).unwrap();
    for command in &commands {
        let name = command[0].to_lowercase();
        assert_eq!(
            client.ask(command).unwrap(),
            refused(format!(
                "NOPERM this user has no permissions to run the '{name}' command"
            ))
        );
    }
    client.ask(&["AUTH", &tokens[0]]).unwrap();
    let answers = commands.map(|command| client.ask(&command).unwrap());
    let not_found = refused("ERR Function not found".to_string());
    assert_eq!(answers, [Reply::Int(1), Reply::Int(2), not_found]);
}

/// What clients put together repeats neither itself nor what the pool makes, whatever happens to the server.
#[test]
fn parts_repeat_nothing_over_kills() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("next.lua"), "return 2").unwrap();
    declare(folder.path(), DECLARED);
    let mut random = Random::announced("ids in parts over kills");
    let mut seen = Distinct::of("ids");
    for _ in 0..4 {
        let server = Start::in_folder(folder.path()).ready();
        let mut clients = [server.redis(), server.redis()];
        for turn in 0..200 {
            let client = &mut clients[turn % 2];
            let count = (1 + random.below(if turn % 10 == 0 { 4096 } else { 20 })).to_string();
            let ids = match client
                .ask(&["FCALL", "icicle", "4", "4095", "1", "1023", &count])
                .unwrap()
            {
                Reply::Array(answer) => icicle_ids(&answer),
                other => panic!("{other:?}"),
            };
            assert_eq!(ids.len().to_string(), count);
            let between = client.ask(&["MINT.SNOWFLAKE", "default"]).unwrap().int().unwrap() as u64;
            seen.extend(ids.into_iter().chain([between]));
        }
        server.kill();
    }
    need::say(&format!("{} ids in parts over 3 kills, 0 repeats", seen.len()));
}
