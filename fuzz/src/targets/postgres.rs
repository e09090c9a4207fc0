//! Messages of PostgreSQL's clients, and their statements.

use mintage_faces::postgres::frontend::{Step, read};
use mintage_faces::postgres::testing::{read_body, read_start, read_statements};

use crate::{Target, saw};

pub(super) fn targets() -> [Target; 2] {
    let messages: [&[u8]; 9] = [
        b"Q\0\0\0\x1cSELECT nextval('orders')\0",
        b"P\0\0\0\x1cs\0SELECT nextval($1)\0\0\x01\0\0\0\x19",
        b"B\0\0\0\x18\0s\0\0\x01\0\0\0\x01\0\0\0\x01x\0\x01\0\x01",
        b"B\0\0\0\x1f\0\0\0\x01\0\x01\0\x01\0\0\0\x08\0\0\0\0\0\0\0\x07\0\0",
        b"D\0\0\0\x06P\0E\0\0\0\x09\0\0\0\0\0S\0\0\0\x04",
        b"C\0\0\0\x06Sx\0",
        b"\0\0\0\x08\x04\xd2\x16\x2f",
        b"\0\0\0\x23\0\x03\0\0user\0web\0options\0-c a=b\0\0",
        b"\0\0\0\x10\x04\xd2\x16\x2e\0\0\0\x01\0\0\0\x02",
    ];
    let texts = [
        "SELECT nextval('orders'), currval('\"A b\"'), lastval()",
        "SELECT setval('s', 5, false); BEGIN; -- x\nCOMMIT",
        "SELECT i, nextval('s') AS n FROM generate_series(1, $1::int8, -2) AS g(i) LIMIT 3",
        "CREATE SEQUENCE IF NOT EXISTS a.b AS int START WITH -5 INCREMENT BY 2 NO MAXVALUE CYCLE GAP 7 OWNED BY NONE",
        "ALTER SEQUENCE s RESTART WITH 7; DROP SEQUENCE IF EXISTS a, b CASCADE",
        "SET LOCAL statement_timeout = '5s'; SET TIME ZONE 'UTC'; SHOW ALL; RESET x.y",
        "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY; DECLARE c CURSOR WITH HOLD FOR SELECT 1; FETCH 2 FROM c",
        "SELECT t.oid, typname FROM pg_type t LEFT JOIN pg_range r ON oid = rngtypid WHERE typname IN ('a') ORDER BY 1 DESC",
        "SELECT a::text, ARRAY[1] FROM pg_catalog.pg_x, (SELECT 1) b WHERE $2 = E'\\x41' OR $$a$$ = $t$b$t$ /* /* */ */",
    ];
    [
        Target::new("postgres", messages, check).longest(256).words(&[
            "\0\0\0\x04",
            "\0\x01",
            "\x7f\x7f\x7f\x7f",
            "\0\x03\0\0",
            "user\0",
            "S\0\0\0\x04",
            "B\0\0\0",
            "P\0\0\0",
        ]),
        Target::new("postgres-sql", texts, check_text)
            .longest(320)
            .words(WORDS),
    ]
}

/// What statements are put together of.
const WORDS: &[&str] = &[
    "SELECT ",
    "nextval(",
    "('s')",
    "::int8",
    "$1",
    "FROM ",
    "pg_type ",
    "generate_series(1,2)",
    "'",
    "\"",
    "$$",
    "/*",
    "*/",
    "--",
    ";",
    "(",
    ")",
    "9223372036854775808",
    "CURSOR FOR ",
    "WHERE ",
    "NULL",
    "E'\\",
    ".",
    ",",
];

/// Every message in a buffer is found, byte by byte as in one piece, and its body is read or refused.
fn check(input: &[u8]) {
    saw(read_start(input));
    let mut rest = input;
    loop {
        let step = read(rest, MESSAGE_MAX);
        let mut steps = (0..=rest.len()).map(|cut| read(&rest[..cut], MESSAGE_MAX));
        let by_byte = steps
            .find(|step| *step != Step::Incomplete)
            .unwrap_or(Step::Incomplete);
        assert_eq!(by_byte, step);
        let Step::Message { kind, body, len } = step else {
            return saw(std::mem::discriminant(&step));
        };
        assert!(len == body.len() + 5 && len <= rest.len(), "{len}");
        let read = read_body(kind, body);
        if let Err(state) = read {
            assert_eq!(state.len(), 5);
        }
        saw((kind, read));
        rest = &rest[len..];
    }
}

const MESSAGE_MAX: usize = 200;

/// A text is some statements, or is refused at a place in it.
fn check_text(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else {
        return saw("not UTF-8");
    };
    let read = read_statements(text);
    if let Err((state, at)) = read {
        assert_eq!(state.len(), 5);
        assert!(at.is_none_or(|at| text.is_char_boundary(at)), "{at:?}");
    }
    saw(read.map_err(|(state, _)| state));
}
