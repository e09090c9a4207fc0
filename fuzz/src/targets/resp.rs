//! Requests of the Redis protocol.

use mintage_server::glob;
use mintage_server::resp::frame::{FrameLimits, Parser, Step, strict_integer};

use crate::{Target, saw};

const LIMITS: FrameLimits = FrameLimits {
    arguments: 16,
    argument_bytes: 64,
    line_bytes: 96,
    unauthenticated: false,
};

pub(super) fn targets() -> [Target; 2] {
    let requests = [
        "*1\r\n$4\r\nPING\r\n",
        "*3\r\n$6\r\nINCRBY\r\n$6\r\norders\r\n$2\r\n10\r\n",
        "*2\r\n$4\r\nINCR\r\n$0\r\n\r\n*1\r\n$4\r\nPING\r\n",
        "*0\r\n*-1\r\nPING\r\n",
        "INCRBY orders 10\r\n",
        "SET 'a b' \"\\x41\\n\"\r\n",
        "\r\n\r\nPING\n",
        "*1048576\r\n$536870912\r\n",
    ];
    let patterns = ["*\0orders", "a[^b-d]?\\*\0axe*", "h*llo\0hello", "[\0[", "\\\0"];
    [
        Target::new("resp", requests, check).longest(256).words(&[
            "*",
            "$",
            "\r\n",
            "*2\r\n",
            "$3\r\n",
            "-1",
            "INCR",
            "\"",
            "'",
            "\\x0",
            "9223372036854775808",
        ]),
        Target::new("glob", patterns, check_glob).words(&["*", "?", "[", "]", "^", "-", "\\", "\0"]),
    ]
}

/// Everything in a buffer is found, whole, and the same when it arrives byte by byte.
fn check(input: &[u8]) {
    let mut parser = Parser::default();
    let mut rest = input;
    loop {
        let step = parser.parse(rest, &LIMITS);
        let len = match &step {
            Ok(Step::Request { len }) => {
                let args = parser.args(rest);
                assert!(
                    !args.is_empty() && args.len() <= LIMITS.arguments,
                    "{} arguments",
                    args.len()
                );
                for at in 0..args.len() {
                    let arg = args.get(at).expect("as many as it says");
                    assert!(arg.len() <= LIMITS.argument_bytes.max(LIMITS.line_bytes));
                    if let Some(n) = strict_integer(arg) {
                        assert_eq!(n.to_string().as_bytes(), arg);
                    }
                }
                saw((args.len(), args.at(0).len()));
                *len
            }
            Ok(Step::Nothing { len }) => *len,
            Ok(Step::Incomplete) => return saw("incomplete"),
            Err(error) => {
                assert!(!error.to_string().contains(['\r', '\n']));
                return saw(std::mem::discriminant(error));
            }
        };
        assert!(len > 0 && len <= rest.len(), "{len} of {} bytes", rest.len());
        let mut early = Parser::default();
        for cut in [0, 1, len / 2, len - 1] {
            assert_eq!(
                early.parse(&rest[..cut.min(len - 1)], &LIMITS),
                Ok(Step::Incomplete),
                "cut at {cut}"
            );
        }
        rest = &rest[len..];
    }
}

fn check_glob(input: &[u8]) {
    let (pattern, text) = match input.iter().position(|b| *b == 0) {
        Some(at) => (&input[..at], &input[at + 1..]),
        None => (input, &input[..0]),
    };
    let matched = glob::matches(pattern, text);
    if !pattern.iter().any(|b| b"*?[\\".contains(b)) {
        assert_eq!(matched, pattern == text);
    }
    assert!(glob::matches(b"*", text));
    saw((matched, pattern.len().min(8), text.len().min(8)));
}
