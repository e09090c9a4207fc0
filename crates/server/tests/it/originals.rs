//! Answers of the systems that faces stand in for, beside those of the faces: one table, which says of every difference
//! why it is there. And requests at random, of which a refused one must have taken nothing.

use std::cell::Cell;

use mintage_server::auth::TokenDigest;
use mintage_server::config::{Config, Listen, Setting};
use mintage_testing::invariant;
use proptest::prelude::*;
use proptest::test_runner::{Config as Runs, TestRunner};

use crate::common::{Answer, Server};

/// Both faces, with keys as the originals had them.
fn server(change: impl FnOnce(&mut Config)) -> Server {
    let server = Server::with(|config| {
        let faces = &mut config.faces;
        faces.leaf.access.listen = Listen::parse("127.0.0.1:0").unwrap();
        faces.tinyid.access.listen = Listen::parse("127.0.0.1:0").unwrap();
        faces.tinyid.steps = Setting::parse("{ even = 100, neg = 10 }").unwrap();
        // One counter for both, so that either can be counted by the other.
        faces.leaf.keys.prefix = Setting::parse("tinyid:").unwrap();
        change(config);
    });
    server.make("tinyid:orders", "{}");
    server.make("tinyid:even", r#"{"start":"2","increment":"2"}"#);
    server.make("tinyid:neg", r#"{"start":"-39","min":"-100"}"#);
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

/// Whether a text is the pattern, in which `…` stands for anything.
fn fits(text: &str, pattern: &str) -> bool {
    let mut parts = pattern.split('…');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else {
        return false;
    };
    let mut is_last_open = false;
    for part in parts {
        is_last_open = part.is_empty();
        match rest.split_once(part).filter(|_| !part.is_empty()) {
            Some((_, after)) => rest = after,
            None if part.is_empty() => {}
            None => return false,
        }
    }
    is_last_open || rest.is_empty()
}

#[derive(Debug)]
struct Expected<'t> {
    status: u16,
    /// Type and body, where they are looked at.
    content: Option<(&'t str, &'t str)>,
}

fn expected(text: &str) -> Expected<'_> {
    let (status, rest) = text.split_once(' ').unwrap();
    Expected {
        status: status.parse().unwrap(),
        content: (rest != "-").then(|| rest.split_once(' ').unwrap()),
    }
}

#[track_caller]
fn is(answer: &Answer, expected: &Expected<'_>, line: &str) {
    let text = answer.text();
    assert_eq!(answer.status, expected.status, "{line}\n{text}");
    if let Some((media, body)) = expected.content {
        assert_eq!(answer.header("content-type"), Some(media), "{line}\n{text}");
        assert!(fits(&text, body), "{line}\n{text}");
    }
}

#[test]
fn answers_are_the_originals_or_better_for_a_reason() {
    let digest = TokenDigest::of(b"tok").to_hex();
    let tokens = format!("[{{sha256 = \"{digest}\", biz = [\"orders\", \"even\", \"neg\"]}}]");
    let server = server(|config| config.faces.tinyid.tokens = Setting::parse(&tokens).unwrap());
    let mut gone = 0;
    for line in include_str!("../originals.tsv").lines() {
        if line.starts_with('#') {
            continue;
        }
        let all = (gone + 1..=gone + 16).map(|n| n.to_string()).collect::<Vec<_>>();
        let line = line
            .replace("{N}", &all[0])
            .replace("{N*16}", &all.join(","))
            .replace("{9000}", &"k".repeat(9000));
        let columns: Vec<&str> = line.split('\t').collect();
        let [face, request, header, theirs, ours, taken, why] = columns[..] else {
            panic!("seven columns, not {}: {line}", columns.len());
        };
        let theirs = expected(theirs);
        let ours = if ours == "=" { None } else { Some(expected(ours)) };
        // Where the original's content was not looked at, ours is told and the status is the original's.
        let is_alike = ours
            .as_ref()
            .is_none_or(|ours| theirs.content.is_none() && ours.status == theirs.status);
        assert_eq!(
            is_alike,
            why == "-",
            "a reason for every difference, and for none else: {line}"
        );
        let answer = send(
            &server,
            face,
            request,
            Some(header).filter(|header| *header != "-"),
        );
        is(&answer, ours.as_ref().unwrap_or(&theirs), &line);
        gone += taken.parse::<i64>().unwrap();
    }
    assert_eq!(
        next(&server),
        gone + 1,
        "as many numbers are gone as the table says"
    );
}

/// A request of one of the two faces: mostly one that leads somewhere, with something about it.
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
        1 => prop::sample::select(vec![("leaf", "/"), ("tinyid", "/tinyid")]),
    ];
    let inserted = prop_oneof![
        4 => Just(String::new()),
        3 => prop::sample::select(vec![
            "/", "//", "/.", "/..", ";v=1", ".json", ".xml", "%2F", "%00", "%ff", "%", "%2e", "%25", "&batchSize=3",
            "&batchSize=0x2", "&batchSize=x", "&bizType=even", "?count=2", "?count=x", "?", "#", "+", "&token=",
        ]).prop_map(String::from),
        1 => "[!-~]{1,12}",
        1 => (1usize..20_000).prop_map(|long| "k".repeat(long)),
    ];
    let header = prop_oneof![
        3 => Just(None),
        2 => prop::sample::select(vec![
            "accept: application/json", "accept: garbage", "accept: ", "accept: text/html", "accept: */*;q=0",
            "host: leaf.svc", "host: a b", "origin: http://evil.example", "sec-fetch-site: cross-site",
            "content-length: 5", "content-length: x", "transfer-encoding: chunked", "expect: 100-continue",
            "content-type: application/x-www-form-urlencoded", "connection: close", "range: bytes=0-0",
        ]).prop_map(|header| Some(header.to_string())),
        1 => "[a-z-]{1,10}: [ -~]{0,40}".prop_map(Some),
    ];
    let method = prop::sample::select(vec![
        "GET", "POST", "PUT", "HEAD", "OPTIONS", "TRACE", "DELETE", "X",
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
        cases: 600,
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
        let body = if begins("content-length: 5") { "a=b&c" } else { "" };
        let mut client = server.face(face);
        client.try_send(format!("{request} HTTP/1.1\r\n{host}{header}\r\n{body}"));
        client.try_finish_sending();
        let text = client.read_to_end();
        let status = text.split(' ').nth(1).and_then(|code| code.parse().ok());
        let status: u16 = status.unwrap_or(0);
        let (_, body) = text.split_once("\r\n\r\n").unwrap_or_default();
        // Leaf's word for a key that is not there.
        let is_unknown = face == "leaf" && body.contains("Result{id=-2, status=EXCEPTION}");
        invariant!(
            status < 500 || status == 500 && is_unknown,
            "{request} {header:?}: {text}"
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
