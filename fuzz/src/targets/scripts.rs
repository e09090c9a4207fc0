//! Lua texts that are known without running Lua.

use mintage_server::scripts::meaning;

use crate::{Target, saw};

pub(super) fn target() -> Target {
    let texts = [
        "return redis.call('incr', KEYS[1])",
        "return redis.call(\"INCRBY\",KEYS[1],ARGV[1]);",
        "local v = redis.call('incrby', KEYS[1], ARGV[1]) return {v - ARGV[1] + 1, v}",
        "-- a\nreturn --[[ b ]] redis . call('incr' --[==[ ]] ]==], KEYS[1]) --",
        "local v=redis.call('incrby',KEYS[1],ARGV[1]);return{v- --\nARGV[1]+1,v};",
        "return redis.call([[incr]], KEYS[0x1]) --[[ [[ ]]",
        "local n = redis.call('incr', KEYS[1]) if n == 1 then redis.call('expire', KEYS[1], 9) end return n",
        "--[=[ open",
    ];
    Target::new("lua-leveller", texts, check).longest(256).words(&[
        "--",
        "--[[",
        "--[==[",
        "]]",
        "]==]",
        "[[",
        "\n",
        "\r",
        " ",
        ";",
        "'",
        "\"",
        "\\",
        "incr",
        "INCRBY",
        "KEYS",
        "ARGV",
        "[1]",
        "redis.call(",
        "redis.pcall(",
        "return ",
        "local ",
        "v",
        "{",
        "}",
        "=",
        "-",
        "+ 1",
        "\0",
        "0x1",
    ])
}

/// A known text stays what it is with blanks and comments around it, and is unknown with anything else; read by a
/// plain twin, its code is one of the few it may be.
fn check(input: &[u8]) {
    let Some(does) = meaning(input) else {
        return saw(("unknown", input.len() / 32));
    };
    let with = |before: &[u8], after: &[u8]| meaning(&[before, input, after].concat());
    for (before, after) in [
        (&b" \n"[..], &b"\n\t"[..]),
        (b"--x\n", b"\n--y"),
        (b"--[[\n]]", b"\n--[=[]]]=]"),
    ] {
        assert_eq!(with(before, after), Some(does.clone()));
    }
    for (before, after) in [
        (&b"x "[..], &b""[..]),
        (b";", b""),
        (b"", b"\nreturn 1"),
        (b"", b"\n;;"),
        (b"", b"\n--[["),
        (b"", b"\n\0"),
        (b"'", b"'"),
    ] {
        assert_eq!(with(before, after), None, "{before:?} {after:?}");
    }
    let code = plain_code(input);
    let (word, code) = (does.word(), String::from_utf8_lossy(&code).into_owned());
    let expected = match word {
        "incr" => "returnredis.call(incr,KEYS[1])".to_string(),
        "incrby" => "returnredis.call(incrby,KEYS[1],ARGV[1])".to_string(),
        "range" => {
            let name = code.strip_prefix("local").and_then(|rest| rest.split('=').next());
            let name = name.expect("it begins with a variable");
            assert!(
                !name.is_empty() && !["redis", "KEYS", "ARGV"].contains(&name),
                "{name}"
            );
            format!("local{name}=redis.call(incrby,KEYS[1],ARGV[1])return{{{name}-ARGV[1]+1,{name}}}")
        }
        other => panic!("{other} cannot be known"),
    };
    assert_eq!(lower_command(&code), expected);
    saw((
        word,
        input.len() / 8,
        input.iter().filter(|byte| b"-[;\"\n".contains(byte)).count(),
    ));
}

/// The text without comments, blanks, quotes and semicolons, written as plainly as can be.
fn plain_code(input: &[u8]) -> Vec<u8> {
    let (mut code, mut at, mut line_ended) = (Vec::new(), 0, false);
    while at < input.len() {
        let rest = &input[at..];
        if rest.starts_with(b"--") {
            let level = rest[2..].strip_prefix(b"[").and_then(|open| {
                let level = open.iter().take_while(|byte| **byte == b'=').count();
                (open.get(level) == Some(&b'[')).then_some(level)
            });
            let end = match level {
                Some(level) => {
                    let close = [&b"]"[..], &vec![b'='; level], b"]"].concat();
                    let body = 4 + level;
                    let found = rest[body..].windows(close.len()).position(|part| part == close);
                    body + found.expect("a known text has no open comment") + close.len()
                }
                None => rest
                    .iter()
                    .position(|byte| b"\r\n".contains(byte))
                    .unwrap_or(rest.len()),
            };
            line_ended |= rest[..end].iter().any(|byte| b"\r\n".contains(byte));
            at += end;
        } else {
            assert!(
                rest[0] != b'(' || !line_ended,
                "Lua takes this for another statement"
            );
            line_ended |= b"\r\n".contains(&rest[0]);
            if !rest[0].is_ascii_whitespace() && !b"\x0b'\";".contains(&rest[0]) {
                code.push(rest[0]);
                line_ended = false;
            }
            at += 1;
        }
    }
    code
}

/// The command behind `redis.call(`, in lower case.
fn lower_command(code: &str) -> String {
    let (before, after) = code.split_once("redis.call(").expect("a known text calls");
    let (command, after) = after.split_once(',').expect("with a key");
    format!("{before}redis.call({},{after}", command.to_ascii_lowercase())
}
