//! The library's vectors through both packs: the same data, no copies.

use std::fmt::Write as _;

use mintage::preset;
use mintage_e2e::sql::mariadb::Mariadb;
use mintage_e2e::sql::postgres::Postgres;
use mintage_e2e::sql::vectors::{fields, literal, rows};

/// A question in SQL and its answer as text.
type Case = (String, String);

/// The cases of both packs: `name` makes a function's name in the pack.
fn cases(name: impl Fn(&str) -> String, mariadb: bool) -> Vec<Case> {
    let mut cases = Vec::new();
    let mut ask = |call: String, answer: &str| cases.push((format!("SELECT {call};"), answer.to_string()));
    for row in rows("uuid-fields.tsv") {
        let [id, version, variant, of_version] = &row[..] else {
            panic!("{row:?}")
        };
        let null = if mariadb { "NULL" } else { "" };
        let reads = |function: &str| format!("{}('{id}')", name(function));
        ask(reads("uuid_version"), if version == "-" { null } else { version });
        ask(reads("uuid_variant"), variant);
        let of_version = fields(of_version);
        let value = |field: &str| {
            of_version
                .iter()
                .find(|(name, _)| *name == field)
                .map_or("", |(_, value)| value)
        };
        match version.as_str() {
            "1" | "6" => {
                let (ticks, clock_seq, node) = (value("ticks"), value("clock_seq"), value("node"));
                ask(reads("uuid_ticks"), ticks);
                ask(reads("uuid_clock_seq"), clock_seq);
                ask(reads("uuid_node"), node);
                let make = name(&format!("form_uuid_v{version}_ticks"));
                ask(format!("{make}({ticks}, {clock_seq}, '{node}')"), id);
                let other = if version == "1" {
                    ("uuid_v1_to_v6", "uuid_v6_to_v1")
                } else {
                    ("uuid_v6_to_v1", "uuid_v1_to_v6")
                };
                ask(format!("{}({}('{id}'))", name(other.1), name(other.0)), id);
            }
            "7" => {
                let make = name("form_uuid_v7_fields");
                ask(
                    format!(
                        "{make}({}, {}, {})",
                        value("unix_ts_ms"),
                        value("rand_a"),
                        value("rand_b")
                    ),
                    id,
                );
            }
            "8" => {
                let make = name(if mariadb { "uuid_v8_fields" } else { "uuid_v8" });
                ask(
                    format!(
                        "{make}({}, {}, {})",
                        value("custom_a"),
                        value("custom_b"),
                        value("custom_c")
                    ),
                    id,
                );
            }
            _ => {}
        }
    }
    for row in rows("uuid-names.tsv") {
        let [version, space, text, id] = &row[..] else {
            panic!("{row:?}")
        };
        let function = if version == "8" {
            "uuid_v8_sha256".into()
        } else {
            format!("uuid_v{version}")
        };
        let space = match space.as_str() {
            "dns" | "url" | "oid" | "x500" => format!("{}()", name(&format!("ns_{space}"))),
            id => literal(id),
        };
        ask(format!("{}({space}, {})", name(&function), literal(text)), id);
    }
    for row in rows("uuid-text.tsv") {
        let [id, form, text] = &row[..] else {
            panic!("{row:?}")
        };
        if ["base32", "base58", "base62"].contains(&form.as_str()) {
            ask(format!("{}('{id}')", name(&format!("uuid_to_{form}"))), text);
            ask(format!("{}('{text}')", name(&format!("uuid_from_{form}"))), id);
        }
    }
    for row in rows("snowflake.tsv") {
        let [name_of, id, unix_ms, of_layout] = &row[..] else {
            panic!("{row:?}")
        };
        // A database's bigint is signed.
        let signed = id.parse::<u64>().expect("an id") as i64;
        let layout = preset(name_of).expect("is known").layout();
        let mut worker = 0;
        for ((field, value), of) in fields(of_layout).iter().zip(layout.fields()) {
            assert_eq!(*field, of.name);
            if matches!(of.role, mintage::Role::Worker) {
                worker = worker << of.bits | value.parse::<u64>().expect("a number");
            }
        }
        ask(
            format!("{}('{name_of}', {signed})", name("snowflake_worker")),
            &worker.to_string(),
        );
        let time = format!("{}('{name_of}', {signed})", name("snowflake_timestamp"));
        let unix = if mariadb {
            format!("TIMESTAMPDIFF(MICROSECOND, '1970-01-01', {time}) DIV 1000")
        } else {
            format!("(extract(epoch FROM {time}) * 1000)::bigint")
        };
        ask(unix, unix_ms);
    }
    cases
}

/// What must be refused: the calls alone.
fn refused(name: impl Fn(&str) -> String) -> Vec<String> {
    let mut calls = Vec::new();
    for row in rows("uuid-refused.tsv") {
        let (form, text) = (&row[0], &row[1]);
        if ["base32", "base58", "base62"].contains(&form.as_str()) {
            calls.push(format!(
                "SELECT {}({})",
                name(&format!("uuid_from_{form}")),
                literal(text)
            ));
        }
    }
    calls
}

#[track_caller]
fn check(cases: &[Case], answers: &[String]) {
    assert!(cases.len() > 150, "{}", cases.len());
    assert_eq!(cases.len(), answers.len());
    for ((question, expected), answer) in cases.iter().zip(answers) {
        assert_eq!(answer, expected, "{question}");
    }
}

fn script(cases: &[Case]) -> String {
    cases.iter().fold(String::new(), |mut sql, (question, _)| {
        let _ = writeln!(sql, "{question}");
        sql
    })
}

#[test]
fn postgresql_gives_the_librarys_answers() {
    let Some(server) = Postgres::with_pack() else {
        return;
    };
    let cases = cases(|function| function.to_string(), false);
    check(&cases, &server.lines(&script(&cases)));
    for call in refused(|function| function.to_string()) {
        server.refuses(&call, "22P02", "");
    }
}

#[test]
fn mariadb_gives_the_librarys_answers() {
    let Some(server) = Mariadb::with_pack() else {
        return;
    };
    let name = |function: &str| format!("mintage_{function}");
    // DATETIME ends with the year 9999, and so do the times of ids.
    let cases = cases(name, true);
    check(&cases, &server.lines(&script(&cases)));
    for call in refused(name) {
        server.refuses(&call, "22023", "");
    }
}
