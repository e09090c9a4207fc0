//! Answers of the systems that faces stand in for, beside those of the faces: one table, which says of every difference
//! why it is there, and which docs/originals.md shows. And requests at random, of which a refused one must have taken nothing.

use std::cell::Cell;

use mintage_server::auth::TokenDigest;
use mintage_server::config::{Config, Listen, Setting};
use mintage_testing::invariant;
use mintage_testing::originals::{HttpAnswer, Row, fits, rows};
use proptest::prelude::*;
use proptest::test_runner::{Config as Runs, TestRunner};

use crate::common::{Answer, Client, Server};
use crate::mysql_client::My;

/// The originals' faces, with keys as the originals had them.
fn server(change: impl FnOnce(&mut Config)) -> Server {
    let server = Server::with(|config| {
        let any_port = || Listen::parse("127.0.0.1:0").unwrap();
        let faces = &mut config.faces;
        faces.get_mut::<mintage_faces::leaf::Settings>().access.listen = any_port();
        faces.get_mut::<mintage_faces::tinyid::Settings>().access.listen = any_port();
        faces.get_mut::<mintage_faces::cosid::Settings>().access.listen = any_port();
        faces.get_mut::<mintage_faces::idgo::Settings>().access.listen = any_port();
        faces.get_mut::<mintage_faces::mysql::Settings>().access.listen = any_port();
        faces
            .get_mut::<mintage_faces::postgrest::Settings>()
            .access
            .listen = any_port();
        faces.get_mut::<mintage_faces::prest::Settings>().access.listen = any_port();
        faces
            .get_mut::<mintage_faces::sonyflake::Settings>()
            .access
            .listen = any_port();
        faces
            .get_mut::<mintage_faces::gosnowflake::Settings>()
            .access
            .listen = any_port();
        faces.get_mut::<mintage_faces::tinyid::Settings>().steps =
            Setting::parse("{ even = 100, neg = 10 }").unwrap();
        // One counter for all, so that each can be counted by another.
        faces.get_mut::<mintage_faces::leaf::Settings>().keys.prefix = Setting::parse("tinyid:").unwrap();
        faces.get_mut::<mintage_faces::cosid::Settings>().keys.names =
            Setting::parse(r#"{ "shop.orders" = "tinyid:orders" }"#).unwrap();
        faces.get_mut::<mintage_faces::postgrest::Settings>().functions =
            Setting::parse(r#"{ next_order = { next = "tinyid:orders" } }"#).unwrap();
        faces.get_mut::<mintage_faces::prest::Settings>().queries =
            Setting::parse(r#"{ "ids/next" = { sequence = "tinyid:orders" } }"#).unwrap();
        change(config);
    });
    server.make("tinyid:orders", "{}");
    server.make("tinyid:even", r#"{"start":"2","increment":"2"}"#);
    server.make("tinyid:neg", r#"{"start":"-39","min":"-100"}"#);
    server.make("WORKER_NODE", r#"{"max":"4194303"}"#);
    server
}

/// The next number of `orders`, which is gone by this.
fn next(server: &Server) -> i64 {
    let answer = server
        .http()
        .ask("POST", "/v1/sequences/tinyid:orders/next")
        .json();
    answer["ids"][0].as_str().unwrap().parse().unwrap()
}

/// Sends a request as it stands; `host`, unless a header says another one, is `localhost`.
fn send(server: &Server, face: &str, request: &str, header: Option<&str>) -> Answer {
    let host = header.filter(|header| header.starts_with("host:"));
    let (host, other) = match host {
        Some(host) => (host, None),
        None => ("host: localhost", header),
    };
    let other = other.map(|header| format!("{header}\r\n")).unwrap_or_default();
    let mut client = server.face(face);
    client.send(format!("{request} HTTP/1.1\r\n{host}\r\n{other}\r\n"));
    client.answer()
}

#[track_caller]
fn is(answer: &Answer, expected: &HttpAnswer<'_>, line: &str) {
    let text = answer.text();
    assert_eq!(answer.status, expected.status, "{line}\n{text}");
    if let Some((media, body)) = expected.content {
        assert_eq!(answer.header("content-type"), Some(media), "{line}\n{text}");
        assert!(fits(&text, body), "{line}\n{text}");
    }
}

/// What is answered over the Redis protocol, in the table's words.
fn ask_redis(client: &mut Client, request: &str) -> String {
    let request = request.replace("\\r\\n", "\r\n");
    // A request that is framed is one, whatever lines it has.
    let count = match request.starts_with('*') {
        true => 1,
        false => request.matches("\r\n").count() + 1,
    };
    client.send(format!("{request}\r\n"));
    let replies: Vec<String> = (0..count).map(|_| reply(client)).collect();
    replies.join(" ")
}

fn reply(client: &mut Client) -> String {
    let line = client.line();
    match (line.as_bytes()[0], &line[1..]) {
        (b'$', "-1") => "nil".into(),
        (b'$', _) => format!("{:?}", client.line()),
        (b'*', count) => {
            let parts: Vec<String> = (0..count.parse().unwrap()).map(|_| reply(client)).collect();
            format!("[{}]", parts.join(", "))
        }
        _ => line,
    }
}

#[test]
fn every_difference_has_a_verdict_and_a_reason() {
    for line in rows() {
        let row = Row::of(line);
        assert!(
            matches!(row.verdict, "alike" | "better" | "differs"),
            "no such verdict: {line}"
        );
        let is_alike = row.verdict == "alike";
        assert_eq!(is_alike, row.is_alike(), "{line}");
        assert_eq!(
            is_alike,
            row.why.is_none(),
            "a reason for every difference: {line}"
        );
    }
}

#[test]
fn answers_are_the_originals_or_others_for_a_reason() {
    let digest = TokenDigest::of(b"tok").to_hex();
    let tokens = format!("[{{sha256 = \"{digest}\", biz = [\"orders\", \"even\", \"neg\"]}}]");
    let server = server(|config| {
        config.faces.get_mut::<mintage_faces::tinyid::Settings>().tokens = Setting::parse(&tokens).unwrap()
    });
    let mut my = My::open(&server, "ids");
    let mut gone = 0;
    for line in rows() {
        let all = (gone + 1..=gone + 16).map(|n| n.to_string()).collect::<Vec<_>>();
        let line = line
            .replace("{N}", &all[0])
            .replace("{N*16}", &all.join(","))
            .replace("{200}", &"n".repeat(200))
            .replace("{9000}", &"k".repeat(9000));
        let row = Row::of(&line);
        match row.original {
            "idgo" | "cosid-redis" => {
                let mut client = match row.original {
                    "idgo" => server.face("idgo"),
                    _ => server.resp(),
                };
                let answer = ask_redis(&mut client, row.request);
                assert!(fits(&answer, row.expected()), "{line}\n{answer}");
            }
            "cosid-jdbc" | "leaf-jdbc" | "uid-generator" => {
                let answer = my.ask(row.request);
                assert!(fits(&answer, row.expected()), "{line}\n{answer}");
            }
            face => is(
                &send(&server, face, row.request, row.header),
                &HttpAnswer::of(row.expected()),
                &line,
            ),
        }
        gone += row.taken;
    }
    assert_eq!(
        next(&server),
        gone + 1,
        "as many numbers are gone as the table says"
    );
}

/// The page that shows the table. `MINT_TEST_UPDATE=1` writes it.
#[test]
fn the_page_of_originals_shows_the_table() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/originals.md");
    let page = page();
    if std::env::var_os("MINT_TEST_UPDATE").is_some() {
        std::fs::write(path, &page).unwrap();
    }
    let shown = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        shown == page,
        "docs/originals.md is not what originals.tsv says: MINT_TEST_UPDATE=1 writes it"
    );
}

const PAGE: &str = include_str!("../originals_page.md");

/// The name of each original in the table, the title of its section, and what was run beside its face.
const ORIGINALS: &[(&str, &str, &str)] = &[
    ("leaf", "Leaf", "leaf-server 1.0.1"),
    (
        "leaf-jdbc",
        "Leaf's embedded library",
        "leaf-core 1.0.1 over MariaDB 10.11",
    ),
    ("tinyid", "tinyid", "tinyid-server 0.1.0"),
    ("cosid", "CosId's proxy", "cosid-proxy-server 3.2.1"),
    (
        "cosid-redis",
        "CosId over Redis",
        "the distributors of CosId 3.2.1 over Redis 7.0",
    ),
    (
        "cosid-jdbc",
        "CosId over JDBC",
        "the distributors of CosId 3.2.1 over MariaDB 10.11",
    ),
    ("idgo", "idgo", "idgo over MariaDB 10.11"),
    (
        "uid-generator",
        "uid-generator",
        "its mappers of MyBatis over MariaDB 10.11",
    ),
];

fn page() -> String {
    let mut sections = String::new();
    for (original, title, ran) in ORIGINALS {
        let rows: Vec<Row<'_>> = rows()
            .map(Row::of)
            .filter(|row| row.original == *original)
            .collect();
        let of = |verdict: &str| rows.iter().filter(|row| row.verdict == verdict).count();
        let [alike, better, differs] = ["alike", "better", "differs"].map(of);
        sections += &format!(
            "\n## {title}\n\nBeside {ran}: {alike} alike, {better} better, {differs} that differ.\n\n\
             | request | the original | here | why |\n| --- | --- | --- | --- |\n"
        );
        for row in &rows {
            let header = row
                .header
                .map(|header| format!(", `{header}`"))
                .unwrap_or_default();
            let here = match row.ours {
                Some(ours) => cell(ours, ANSWER_CHARS),
                None => "the same".into(),
            };
            let why = match (row.verdict, row.why) {
                // Alike in what clients look at: the table has the whole of it, as `…`.
                (verdict, None) => verdict.to_string(),
                (verdict, Some(why)) => format!("**{verdict}**: {}", why.replace('|', "\\|")),
            };
            sections += &format!(
                "| {}{header} | {} | {here} | {why} |\n",
                cell(row.request, REQUEST_CHARS),
                cell(row.theirs, ANSWER_CHARS),
            );
        }
    }
    assert!(
        rows().all(|line| ORIGINALS.iter().any(|known| known.0 == Row::of(line).original)),
        "a row of an original that has no section"
    );
    format!("{}{sections}", PAGE.trim_end().to_string() + "\n")
}

/// How much of a request and of an answer the page shows.
const REQUEST_CHARS: usize = 100;
const ANSWER_CHARS: usize = 110;

/// A text as code in a cell, not longer than so.
fn cell(text: &str, most: usize) -> String {
    let text = text.trim_end_matches(" -");
    let mut short: String = text.chars().take(most).collect();
    if short.len() < text.len() && !short.ends_with('…') {
        short.push('…');
    }
    format!("`{}`", short.replace('|', "\\|").trim())
}

/// A request of one of the faces: mostly one that leads somewhere, with something about it.
fn requests() -> impl Strategy<Value = (&'static str, String, Option<String>)> {
    let path = prop_oneof![
        3 => prop::sample::select(vec![
            ("leaf", "/api/segment/get/orders"),
            ("leaf", "/api/segment/get/nosuch"),
            ("leaf", "/api/snowflake/get/x"),
            ("leaf", "/decodeSnowflakeId?snowflakeId=12"),
            ("leaf", "/cache"),
            ("leaf", "/db"),
            ("tinyid", "/tinyid/id/nextId?bizType=orders&token=tok"),
            ("tinyid", "/tinyid/id/nextIdSimple?bizType=orders&token=tok"),
            ("tinyid", "/tinyid/id/nextSegmentId?bizType=orders&token=tok"),
            ("tinyid", "/tinyid/id/nextSegmentIdSimple?bizType=orders&token=tok"),
            ("tinyid", "/tinyid/id/nextId?bizType=orders&token="),
        ]),
        3 => prop::sample::select(vec![
            ("cosid", "/segments/shop/orders?step=5"),
            ("cosid", "/segments/distributor/shop/orders?offset=0&step=5"),
            ("cosid", "/machines/dev?machineBit=4&instanceId=a&stable=false&safeGuardDuration=PT5M"),
            ("cosid", "/machines/dev?instanceId=a&stable=false&safeGuardDuration=PT5M"),
            ("cosid", "/ids/as-string"),
            ("cosid", "/actuator/health"),
            ("cosid", "/actuator/cosid"),
            ("postgrest", "/rpc/next_order"),
            ("postgrest", "/rpc/nextval?seq=none"),
            ("prest", "/_QUERIES/ids/next"),
            ("sonyflake", "/"),
            ("gosnowflake", "/worker/1"),
            ("gosnowflake", "/ping"),
        ]),
        1 => prop::sample::select(vec![("leaf", "/"), ("tinyid", "/tinyid"), ("cosid", "/"), ("postgrest", "/")]),
    ];
    let inserted = prop_oneof![
        4 => Just(String::new()),
        3 => prop::sample::select(vec![
            "/", "//", "/.", "/..", ";v=1", ".json", ".xml", "%2F", "%00", "%ff", "%", "%2e", "%25", "&batchSize=3",
            "&batchSize=0x2", "&batchSize=x", "&bizType=even", "?count=2", "?count=x", "?", "#", "+", "&token=",
            "&step=x", "&step=-1", "&offset=x", "&machineBit=99", "PT", "\u{e9}",
        ]).prop_map(String::from),
        1 => "[!-~]{1,12}",
        1 => (1usize..20_000).prop_map(|long| "k".repeat(long)),
    ];
    let header = prop_oneof![
        3 => Just(None),
        2 => prop::sample::select(vec![
            "accept: application/json", "accept: garbage", "accept: ", "accept: text/html", "accept: */*;q=0",
            "host: leaf.svc", "host: a b", "origin: http://evil.example", "sec-fetch-site: cross-site",
            "content-length: 5", "content-length: 20000", "content-length: x", "transfer-encoding: chunked", "expect: 100-continue",
            "content-type: application/x-www-form-urlencoded", "connection: close", "range: bytes=0-0",
            "content-type: application/json", "prefer: handling=strict", "accept: application/vnd.pgrst.object+json",
            "accept-encoding: br, gzip;q=0", "content-encoding: gzip", "accept: a/b;q=x, */*;q=-1, ;,",
        ]).prop_map(|header| Some(header.to_string())),
        1 => "[a-z-]{1,10}: [ -~]{0,40}".prop_map(Some),
    ];
    let method = prop::sample::select(vec![
        "GET", "POST", "PATCH", "PUT", "HEAD", "OPTIONS", "TRACE", "DELETE", "X",
    ]);
    (method, path, 0usize..80, inserted, header).prop_map(|(method, (face, path), at, what, header)| {
        let at = at.min(path.len());
        let target = format!("{}{what}{}", &path[..at], &path[at..]);
        (face, format!("{method} {target}"), header)
    })
}

/// Nothing that is asked makes a server fail in a way that the original does not, and what is refused has taken
/// nothing: the next number is the one behind those that were answered.
#[test]
fn what_is_refused_has_taken_nothing() {
    // Without tokens: whoever shows wrong ones waits.
    let server = server(|_| {});
    let (last, took_some) = (Cell::new(next(&server)), Cell::new(0));
    let mut runner = TestRunner::new(Runs {
        cases: 1200,
        failure_persistence: None,
        ..Runs::default()
    });
    let ran = runner.run(&requests(), |(face, request, header)| {
        let header = header.map(|header| format!("{header}\r\n")).unwrap_or_default();
        let begins = |name| header.starts_with(name);
        let host = if begins("host:") {
            ""
        } else {
            "host: localhost\r\n"
        };
        let body = match () {
            () if begins("content-length: 5") => "a=b&c".to_string(),
            () if begins("content-length: 2") => "a=b&".repeat(5000),
            () => String::new(),
        };
        let mut client = server.face(face);
        client.try_send(format!("{request} HTTP/1.1\r\n{host}{header}\r\n{body}"));
        client.try_finish_sending();
        let text = client.read_to_end();
        let status = text.split(' ').nth(1).and_then(|code| code.parse().ok());
        let status: u16 = status.unwrap_or(0);
        let (_, body) = text.split_once("\r\n\r\n").unwrap_or_default();
        // Leaf's word for a key that is not there, and CosId's for a parameter that is missing or cannot be read.
        let is_theirs = match face {
            "leaf" => body.contains("Result{id=-2, status=EXCEPTION}"),
            "cosid" => body.starts_with(r#"{"code":"500","msg":"parameter "#),
            _ => false,
        };
        invariant!(
            status < 500 || status == 500 && is_theirs,
            "{face} {request} {header:?}: {text}"
        );
        let now = next(&server);
        let gone = now - last.replace(now) - 1;
        let took = status == 200 && !body.is_empty() && !body.starts_with("{\"data\":null");
        invariant!(
            gone == 0 || took,
            "{request} {header:?}: {gone} numbers are gone, and the answer is {text}"
        );
        took_some.set(took_some.get() + u32::from(gone > 0));
        Ok(())
    });
    ran.unwrap();
    assert!(took_some.get() > 20, "{} requests took numbers", took_some.get());
}
