//! Packets of MySQL's protocol, logins, statements, and the values of prepared ones.

use mintage_faces::mysql::login::{First, change_user, first};
use mintage_faces::mysql::packet::{HEAD_BYTES, Packets, Reader, Step, put_text, read};
use mintage_faces::mysql::testing;

use crate::{Target, saw};

pub(super) fn targets() -> [Target; 3] {
    [packets(), statements(), values()]
}

/// As long as a packet may be here.
const LONGEST: usize = 300;

fn packets() -> Target {
    let login = [
        &b"\x0e\xa2\x3f\0\0\0\0\x01\x2d"[..],
        &[0; 23],
        b"root\0\x03abcshop\0mysql_native_password\0\x04\x01a\x01b",
    ]
    .concat();
    let framed = |payload: &[u8]| {
        let mut out = Vec::new();
        Packets::new(&mut out, 1).write(|out| out.extend_from_slice(payload));
        out
    };
    let seeds = [
        framed(&login),
        framed(&login[..32]),
        framed(b"\x0e"),
        framed(b"\x11u\0\x02xydb\0\x2d\0caching_sha2_password\0"),
        [framed(b"\x03SELECT 1"), framed(b"\x01")].concat(),
        b"\xff\xff\xff\0x".to_vec(),
        b"GET / HTTP/1.1\r\n\r\n".to_vec(),
    ];
    Target::new("mysql-packets", seeds, check_packets)
        .longest(320)
        .words(&[
            "\0\0\0",
            "\x01\0\0\0",
            "\0\x02",
            "\x0e\x03",
            "root\0",
            "caching_sha2_password\0",
        ])
}

/// Every packet in a buffer is found, byte by byte as in one piece, and is read or refused.
fn check_packets(input: &[u8]) {
    let mut rest = input;
    loop {
        let step = read(rest, LONGEST);
        let cut = (0..=rest.len()).map(|cut| read(&rest[..cut], LONGEST));
        let told = { cut }.find(|step| *step != Step::Incomplete);
        assert_eq!(told.unwrap_or(Step::Incomplete), step);
        match step {
            Step::Incomplete => return saw("incomplete"),
            Step::TooLong { .. } => return saw("too long"),
            Step::Packet { payload, len, .. } => {
                assert!(len == HEAD_BYTES + payload.len() && payload.len() <= LONGEST);
                check_payload(payload);
                rest = &rest[len..];
            }
        }
    }
}

fn check_payload(payload: &[u8]) {
    match first(payload) {
        First::Tls(_) => saw("tls"),
        First::Old => saw("old"),
        First::Broken => saw("broken"),
        First::Login(login) => {
            // Nothing is read that is not there.
            let read = login.user.len() + login.reply.len() + login.database.len() + login.plugin.len();
            assert!(read + 32 <= payload.len());
            saw((
                login.database.is_empty(),
                login.plugin.is_empty(),
                login.reply.is_empty(),
            ));
            let changed = change_user(payload, login.capabilities);
            saw(changed.is_some());
        }
    }
    let mut reader = Reader::new(payload);
    let text = reader.text();
    saw(text.is_some());
    if let Some(text) = text {
        let mut out = Vec::new();
        put_text(&mut out, text);
        assert_eq!(Reader::new(&out).text(), Some(text));
    }
}

fn statements() -> Target {
    let seeds = [
        "REPLACE INTO Tickets64 (stub) VALUES ('a')",
        "INSERT INTO `a`.b (id, c) VALUES (?, NOW()), (NULL, 'x''y') ON DUPLICATE KEY UPDATE id = LAST_INSERT_ID(id + 1)",
        "UPDATE t SET id = LAST_INSERT_ID(id + 5) WHERE stub = 'a'",
        "SELECT NEXT VALUE FOR s, LASTVAL(s) AS \"x\", SETVAL(s, -1, 0) FROM seq_1_to_15_step_3 ORDER BY seq DESC LIMIT 1, 2",
        "SELECT id FROM t WHERE stub = 'a' AND id IN (1, ?) FOR UPDATE; SELECT 2;",
        "CREATE SEQUENCE IF NOT EXISTS s START WITH 5 INCREMENT BY -1 NO MAXVALUE MINVALUE = -9 NOCACHE CYCLE ENGINE=InnoDB",
        "ALTER SEQUENCE s RESTART 7 GAP NONE",
        "CREATE TABLE t (id int auto_increment, primary key (id)) AUTO_INCREMENT=5",
        "/*!40101 SET @OLD=@@SQL_MODE, SQL_MODE='A' */",
        "SET NAMES utf8 COLLATE x, @@session.autocommit = OFF, sql_mode = CONCAT(@@sql_mode, 'x')",
        "SHOW VARIABLES WHERE Variable_name IN ('a')",
        "SELECT 'x' a, minimum_value FROM x UNION ALL SELECT 'y', minimum_value FROM y",
        "KILL QUERY 5",
        "SELECT CAST('a' AS CHAR(60)) COLLATE utf8_bin, ((1 + 2) * 3) IS NOT NULL, -- x\n _utf8'a' 'b'",
    ];
    Target::new("mysql-statements", seeds, check_statement)
        .longest(240)
        .words(&[
            "(",
            ")",
            ",",
            "=",
            "'",
            "`",
            "?",
            ";",
            " AS ",
            " FROM ",
            " WHERE ",
            "NEXTVAL(s)",
            "LAST_INSERT_ID(",
            "VALUES",
            "/*!",
            "*/",
            "seq_1_to_2",
            "@@x",
            "@x",
            "-",
            "0x",
            "18446744073709551616",
            " ON DUPLICATE KEY UPDATE ",
        ])
}

/// A text is read the same way each time; what is read of two that are put together is what is read of each.
fn check_statement(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else {
        return saw("not text");
    };
    let read = testing::read(text);
    assert_eq!(testing::read(text), read);
    assert!(read.statements > 0 && read.parameters <= 129);
    let shape: String = read
        .meaning
        .chars()
        .filter(|c| c.is_ascii_alphabetic())
        .take(60)
        .collect();
    saw((read.statements, read.refused, shape));
    if read.refused.is_none() {
        let both = testing::read(&format!("SELECT 1; {text}"));
        assert_eq!(both.statements, read.statements + 1, "{text}");
    }
}

fn values() -> Target {
    let seeds: [&[u8]; 5] = [
        b"\0\x01\0\0\0\x02\x01\x08\0\x06\0\xfd\0\xff\xff\xff\xff\xff\xff\xff\xff\x02ab",
        b"\0\x01\0\0\0\0\x01\x01\x80\x02\0\x03\0\xff\xff\xff\xff\xff\xff\xff",
        b"\0\x01\0\0\0\0\x01\x0c\0\x0b\0\x05\0\x07\xe8\x07\x01\x02\x03\x04\x05\x08\x01\x01\0\0\0\x02\x03\x04\0\0\0\0\0\0\xf0\x3f",
        b"\0\x01\0\0\0\0\x01\xf6\0\xfc\0\x04\0\x031.5\xfc\x02\0ab\0\0\x80\x3f",
        b"\0\x01\0\0\0\0\0",
    ];
    Target::new("mysql-values", seeds, check_values)
        .longest(96)
        .words(&[
            "\x01\x08\0",
            "\x01\x06\0",
            "\x0f\0\x02ab",
            "\x0c\0\x0b",
            "\x08\x7f",
        ])
}

/// Values are read or refused, whatever they are, and written again in bounds: a number of 64 bits has 330 digits at most.
fn check_values(input: &[u8]) {
    for parameters in [0, 1, 3, 9] {
        match testing::values(input, parameters) {
            Ok(values) => {
                assert_eq!(values.len(), parameters);
                assert!(testing::row(&values).len() <= input.len() * 8 + 400 * parameters + 16);
                let kinds: Vec<String> = values.iter().map(|value| format!("{:?}", value.kind())).collect();
                saw((parameters, kinds));
            }
            Err(errno) => saw((parameters, errno)),
        }
    }
}
