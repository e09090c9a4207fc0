use proptest::prelude::*;

use super::*;

fn all(text: &str, dialect: Dialect) -> Result<Vec<(Kind, String)>, FaultKind> {
    let mut lexer = Lexer::new(text, dialect);
    let mut tokens = Vec::new();
    loop {
        let token = lexer.next().map_err(|fault| fault.kind)?;
        if token.kind == Kind::End {
            return Ok(tokens);
        }
        tokens.push((token.kind, token.value().into_owned()));
    }
}

fn check(dialect: Dialect, text: &str, expected: &[(Kind, &str)]) {
    let expected: Vec<_> = expected
        .iter()
        .map(|(kind, value)| (*kind, value.to_string()))
        .collect();
    assert_eq!(all(text, dialect), Ok(expected), "{text}");
}

use Kind::{Name, Number, Parameter, Symbol, SystemVariable, Text, Variable, Word};

#[test]
fn tokens_of_postgresql() {
    for (text, expected) in [
        ("", &[][..]),
        ("  -- x\n /* a /* b */ c */ ", &[]),
        ("SELECT Ab_1$", &[(Word, "select"), (Word, "ab_1$")]),
        ("\"A\"\"b\"", &[(Name, "A\"b")]),
        ("'it''s' 'a\\b'", &[(Text, "it's"), (Text, "a\\b")]),
        ("E'a\\n\\'\\x41\\101''' e'z'", &[(Text, "a\n'AA'"), (Text, "z")]),
        ("$$a'b$$ $t$x$$y$t$", &[(Text, "a'b"), (Text, "x$$y")]),
        ("$12::int8", &[(Parameter, "$12"), (Symbol, "::"), (Word, "int8")]),
        (
            "1 1.5 2e-3 -7",
            &[
                (Number, "1"),
                (Number, "1.5"),
                (Number, "2e-3"),
                (Symbol, "-"),
                (Number, "7"),
            ],
        ),
        (
            "a.b,(c)",
            &[
                (Word, "a"),
                (Symbol, "."),
                (Word, "b"),
                (Symbol, ","),
                (Symbol, "("),
                (Word, "c"),
                (Symbol, ")"),
            ],
        ),
        ("É\u{20ac}", &[(Word, "É\u{20ac}")]),
        ("a<=b", &[(Word, "a"), (Symbol, "<="), (Word, "b")]),
    ] {
        check(Dialect::Postgres, text, expected);
    }
}

#[test]
fn tokens_of_mysql() {
    for (text, expected) in [
        (
            "`a``B` \"it\"\"s\" 'x\\'y\\0'",
            &[(Name, "a`B"), (Text, "it\"s"), (Text, "x'y\0")][..],
        ),
        (
            "# x\nSELECT -- y\n1--1",
            &[
                (Word, "SELECT"),
                (Number, "1"),
                (Symbol, "-"),
                (Symbol, "-"),
                (Number, "1"),
            ],
        ),
        ("/*!40101 SET */ x", &[(Word, "SET"), (Word, "x")]),
        ("/*M!101100 a*/b/*M!101101 c*/", &[(Word, "a"), (Word, "b")]),
        ("/*! a */", &[(Word, "a")]),
        // MySQL 5.7 and 8 are told what no MariaDB is.
        (
            "/*!50699 a*/ /*!50700 b*/ /*!080000 c*/ /*!99999 d*/ /*!100000 e*/",
            &[(Word, "a"), (Word, "e")],
        ),
        ("/*M!50700 a*/ /*M!99999 b*/", &[(Word, "a"), (Word, "b")]),
        (
            "@x @'a b' @@session.autocommit ?",
            &[
                (Variable, "x"),
                (Variable, "a b"),
                (SystemVariable, "session.autocommit"),
                (Parameter, "?"),
            ],
        ),
        (
            "seq_1_to_5 5x 0x1F",
            &[(Word, "seq_1_to_5"), (Word, "5x"), (Number, "0x1F")],
        ),
        ("'100\\%'", &[(Text, "100\\%")]),
    ] {
        check(Dialect::Mysql, text, expected);
    }
}

#[test]
fn what_has_no_end_is_a_fault_where_it_begins() {
    for (dialect, text, kind, at) in [
        (Dialect::Postgres, "a 'b", FaultKind::OpenText, 2),
        (Dialect::Postgres, "a E'b\\", FaultKind::OpenText, 2),
        (Dialect::Postgres, "\"x", FaultKind::OpenName, 0),
        (Dialect::Postgres, "\"\"", FaultKind::EmptyName, 0),
        (Dialect::Postgres, "$a$ x $$", FaultKind::OpenDollar, 0),
        (Dialect::Postgres, "/* /* */", FaultKind::OpenComment, 0),
        (Dialect::Postgres, "1a", FaultKind::NumberWithLetters, 0),
        (Dialect::Mysql, "/*!50000 a", FaultKind::OpenComment, 10),
        (Dialect::Mysql, "'a\\'", FaultKind::OpenText, 0),
    ] {
        let mut lexer = Lexer::new(text, dialect);
        let fault = loop {
            match lexer.next() {
                Ok(token) => assert_ne!(token.kind, Kind::End, "{text}"),
                Err(fault) => break fault,
            }
        };
        assert_eq!(fault, Fault { kind, at }, "{text}");
        assert_eq!(lexer.next().unwrap().kind, Kind::End);
    }
    let deep = "/*".repeat(DEPTH_MAX + 1);
    assert_eq!(all(&deep, Dialect::Postgres), Err(FaultKind::TooDeep));
}

proptest! {
    #[test]
    fn any_text_is_read_without_panic_and_to_its_end(text in "[a-zA-Z0-9 '\"`$@?#!*/\\\\.;:é-]{0,60}") {
        for dialect in [Dialect::Postgres, Dialect::Mysql] {
            let mut lexer = Lexer::new(&text, dialect);
            let mut at = 0;
            while let Ok(token) = lexer.next() {
                prop_assert!(token.at >= at && token.end() <= text.len());
                let _ = (token.value(), token.parameter());
                at = token.end();
                if token.kind == Kind::End {
                    break;
                }
                prop_assert!(!token.text.is_empty());
            }
        }
    }

    #[test]
    fn a_text_in_quotes_stands_for_itself(value in "[^\0]{0,20}") {
        let quoted = format!("'{}'", value.replace('\'', "''"));
        prop_assert_eq!(all(&quoted, Dialect::Postgres), Ok(vec![(Kind::Text, value)]));
    }
}
