//! HTTP, as curl and other clients speak it.

use std::time::{Duration, Instant};

use mintage_server::Stop;
use mintage_server::auth::Right;
use mintage_server::config::{Auto, Bytes, Config, Off};
use mintage_testing::{distinct, rising};
use serde_json::json;

use crate::common::{Answer, Client, Server, token};

/// Asks each and compares status and JSON; `null` in an expected object stands for "absent".
#[track_caller]
fn check(server: &Server, exchanges: &[(&str, &str, &str, u16, serde_json::Value)]) {
    let mut client = server.http();
    for (method, target, body, status, expected) in exchanges {
        let answer = client.ask_with(method, target, &[], body);
        assert_eq!(answer.status, *status, "{method} {target}: {}", answer.text());
        if expected.is_null() {
            assert_eq!(answer.text(), "", "{method} {target}");
            continue;
        }
        let got = answer.json();
        for (field, value) in expected.as_object().unwrap() {
            assert_eq!(got[field], *value, "{method} {target}: {field} of {got}");
        }
    }
}

#[track_caller]
fn check_problem(answer: &Answer, status: u16, code: &str) {
    assert_eq!(
        (answer.status, answer.json()["code"].as_str()),
        (status, Some(code)),
        "{}",
        answer.text()
    );
    assert_eq!(answer.header("content-type"), Some("application/problem+json"));
    assert_eq!(answer.json()["status"], status);
    for field in ["type", "title", "detail"] {
        assert!(answer.json()[field].is_string(), "{}", answer.text());
    }
}

#[test]
fn numbers_are_taken_one_or_many_at_a_time() {
    let server = Server::start();
    check(
        &server,
        &[
            (
                "POST",
                "/v1/sequences/orders/next",
                "",
                200,
                json!({"ids": ["1"]}),
            ),
            (
                "POST",
                "/v1/sequences/orders/next?count=3",
                "",
                200,
                json!({"ids": ["2", "3", "4"]}),
            ),
            (
                "POST",
                "/v1/sequences/orders/next?count=3&as=ids",
                "",
                200,
                json!({"ids": ["5", "6", "7"]}),
            ),
            (
                "POST",
                "/v1/sequences/orders/next?count=100&as=range",
                "",
                200,
                json!({"first": "8", "last": "107", "increment": "1"}),
            ),
            ("POST", "/v1/sequences/a%3Ab/next", "", 200, json!({"ids": ["1"]})),
            (
                "POST",
                "/v1/sequences/orders/next?as=range",
                "{}",
                200,
                json!({"first": "108", "last": "108"}),
            ),
        ],
    );
}

// claim: P73
#[test]
fn allocations_are_never_cached_and_never_sniffed() {
    let server = Server::start();
    let mut client = server.http();
    for target in ["/v1/sequences/s/next", "/v1/ids/uuid", "/v1/snowflakes/default"] {
        let answer = client.ask("POST", target);
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        let refused = client.ask("GET", target);
        check_problem(&refused, 405, "method_not_allowed");
        assert_eq!(refused.header("allow"), Some("POST"));
        assert_eq!(refused.header("cache-control"), Some("no-store"));
        assert!(refused.json()["hint"].as_str().unwrap().contains("POST"));
    }
}

#[test]
fn ids_come_in_the_form_that_is_accepted() {
    let server = Server::start();
    let mut client = server.http();
    let mut ask = |target: &str, accept: &str| client.ask_with("POST", target, &[("accept", accept)], "");
    let text = ask("/v1/sequences/s/next?count=3", "text/plain");
    assert_eq!(
        (text.text().as_str(), text.header("content-type")),
        ("1\n2\n3\n", Some("text/plain; charset=utf-8"))
    );
    let packed = ask("/v1/sequences/s/next?count=2", "application/octet-stream");
    assert_eq!(packed.body, [4u64.to_be_bytes(), 5u64.to_be_bytes()].concat());
    assert_eq!(
        ask("/v1/ids/uuid4?count=5", "application/octet-stream")
            .body
            .len(),
        80
    );
    assert_eq!(
        ask("/v1/ids/snowflake?count=5", "application/octet-stream")
            .body
            .len(),
        40
    );
    assert_eq!(
        ask("/v1/snowflakes/default?count=5", "text/plain")
            .text()
            .lines()
            .count(),
        5
    );
    check_problem(&ask("/v1/sequences/s/next", "image/png"), 406, "not_acceptable");
    check_problem(
        &ask("/v1/sequences/s/next?as=range", "text/plain"),
        406,
        "not_acceptable",
    );
    // A refused request takes nothing.
    assert_eq!(ask("/v1/sequences/s/next", "text/plain").text(), "6\n");
}

#[test]
fn ids_of_every_format_are_distinct_and_ordered() {
    let server = Server::start();
    let mut client = server.http();
    for (target, ordered) in [
        ("/v1/ids/uuid", true),
        ("/v1/ids/uuid7", true),
        ("/v1/ids/uuid4", false),
        ("/v1/ids/snowflake", true),
        ("/v1/snowflakes/default", true),
    ] {
        let answer = client.ask("POST", &format!("{target}?count=1000")).json();
        let ids: Vec<&str> = answer["ids"]
            .as_array()
            .unwrap()
            .iter()
            .map(|id| id.as_str().unwrap())
            .collect();
        assert_eq!(ids.len(), 1000, "{target}");
        match ordered {
            true => rising(target, ids),
            false => distinct(target, ids),
        }
    }
    check_problem(&client.ask("POST", "/v1/ids/uuid9"), 404, "unknown_format");
    check_problem(&client.ask("POST", "/v1/snowflakes/none"), 404, "not_found");
}

#[test]
fn every_format_of_the_table_is_made_with_its_own_options() {
    let server = Server::start();
    let mut client = server.http();
    let table = client.ask("GET", "/v1/formats").json();
    let rows = table["formats"].as_array().unwrap();
    assert_eq!(rows.len(), mintage::FORMATS.len());
    for (row, shown) in mintage::FORMATS.iter().zip(rows) {
        assert_eq!(
            (shown["name"].as_str(), shown["bits"].as_u64()),
            (Some(row.name), Some(row.bits.into()))
        );
        let example = row.example.iter();
        let mut options: String = example
            .map(|(option, text)| format!("&{}={text}", option.name().replace('-', "_")))
            .collect();
        if row.options.contains(&mintage::GenOption::Alphabet) && row.example.is_empty() {
            options = "&length=10&alphabet=0123456789%22%C3%A9".into();
        }
        let target = format!("/v1/ids/{}?count=50{options}", row.name);
        let answer = client.ask("POST", &target);
        if shown["made"] == false {
            check_problem(&answer, 404, "unknown_format");
            continue;
        }
        let answer = answer.json();
        let ids: Vec<&str> = answer["ids"]
            .as_array()
            .unwrap()
            .iter()
            .map(|id| id.as_str().unwrap())
            .collect();
        assert_eq!(ids.len(), 50, "{target}");
        if row.text_sorts {
            rising(&target, &ids);
        }
        if options.is_empty() && row.name != "snowflake" {
            for id in ids {
                row.parse(id.as_bytes(), &mintage::GenOptions::default())
                    .unwrap_or_else(|e| panic!("{id}: {e}"));
            }
        }
        let packed = client.ask_with("POST", &target, &[("accept", "application/octet-stream")], "");
        match row.bits {
            0 => check_problem(&packed, 406, "not_acceptable"),
            bits => assert_eq!(packed.body.len(), 50 * bits.div_ceil(8) as usize, "{target}"),
        }
    }
    let asked = client
        .ask("POST", "/v1/ids/tsid?node=0xff&epoch=2021-01-01")
        .json();
    let tsid = asked["ids"][0].as_str().unwrap();
    let read = client
        .ask("GET", &format!("/v1/inspect/{tsid}?as=tsid&epoch=2021-01-01"))
        .json();
    assert_eq!(read["readings"][0]["fields"]["node"], 255, "{read}");
    let five = client
        .ask("POST", "/v1/ids/uuid5?namespace=dns&name=www.example.com")
        .json();
    assert_eq!(five["ids"][0], "2ed6657d-e927-568b-95e1-2665a8aea6a2");
    for (target, says) in [
        ("/v1/ids/ulid?prefix=user", "there is no parameter"),
        ("/v1/ids/typeid?prefix=User", "a prefix has only a to z"),
        ("/v1/ids/uuid5", "needs a namespace and a name"),
        ("/v1/ids/nanoid?length=5000", "at most 4096"),
        ("/v1/ids/nanoid?length=4096&count=10000", "an answer holds"),
    ] {
        let answer = client.ask("POST", target);
        check_problem(&answer, 400, "invalid_argument");
        assert!(answer.text().contains(says), "{target}: {}", answer.text());
    }
}

#[test]
fn counts_out_of_range_are_refused_and_take_nothing() {
    let server = Server::start();
    let mut client = server.http();
    for target in ["/v1/sequences/s/next", "/v1/ids/uuid", "/v1/ids/snowflake"] {
        for count in [
            "0",
            "10001",
            "9223372036854775808",
            "18446744073709551616",
            "-1",
            "x",
            "",
            "1.0",
            "+ 1",
        ] {
            let answer = client.ask("POST", &format!("{target}?count={}", count.replace(' ', "%20")));
            check_problem(&answer, 400, "invalid_count");
            assert!(answer.json()["detail"].as_str().unwrap().contains("1 to 10000"));
        }
    }
    assert_eq!(
        client.ask("POST", "/v1/sequences/s/next").json(),
        json!({"ids": ["1"]})
    );
    assert_eq!(
        client.ask("POST", "/v1/sequences/s/next?count=10000").json()["ids"]
            .as_array()
            .unwrap()
            .len(),
        10_000
    );
}

#[test]
fn requests_that_make_no_sense_are_problems_with_stable_codes() {
    let server = Server::start();
    let mut client = server.http();
    for (method, target, body, status, code) in [
        ("POST", "/v1/sequences/a%09b/next", "", 400, "invalid_name"),
        ("POST", "/v1/sequences/%c2%85/next", "", 400, "invalid_name"),
        ("POST", "/v1/sequences//next", "", 400, "invalid_name"),
        ("POST", "/v1/sequences/a%0d%0ab/next", "", 400, "invalid_name"),
        ("POST", "/v1/sequences/%ff/next", "", 400, "invalid_name"),
        ("POST", "/v1/sequences/%f/next", "", 404, "unknown_route"),
        (
            "POST",
            "/v1/sequences/a/next?cuont=5",
            "",
            400,
            "invalid_argument",
        ),
        (
            "POST",
            "/v1/sequences/a/next?count=5&count=6",
            "",
            400,
            "invalid_argument",
        ),
        (
            "POST",
            "/v1/sequences/a/next?as=list",
            "",
            400,
            "invalid_argument",
        ),
        ("GET", "//", "", 404, "unknown_route"),
        ("POST", "/", "", 405, "method_not_allowed"),
        ("GET", "/v2/sequences", "", 404, "unknown_route"),
        ("POST", "/v1/sequences/a/nxt", "", 404, "unknown_route"),
        ("BREW", "/v1/sequences/a", "", 405, "method_not_allowed"),
        ("POST", "/v1/sequences", "", 405, "method_not_allowed"),
        ("POST", "/livez", "", 405, "method_not_allowed"),
        ("GET", "/v1/sequences/nothing", "", 404, "not_found"),
        ("DELETE", "/v1/sequences/nothing", "", 404, "not_found"),
        ("PATCH", "/v1/sequences/nothing", "{}", 404, "not_found"),
        (
            "POST",
            "/v1/sequences/nothing/restart",
            r#"{"value": 1}"#,
            404,
            "not_found",
        ),
        ("POST", "/v1/sequences/nothing/restart", "{}", 400, "invalid_body"),
        ("PUT", "/v1/sequences/a", r#"{"strat": 1}"#, 400, "invalid_body"),
        ("PUT", "/v1/sequences/a", "[1]", 400, "invalid_body"),
        (
            "PUT",
            "/v1/sequences/a",
            r#"{"increment": 0}"#,
            400,
            "invalid_argument",
        ),
        (
            "PUT",
            "/v1/sequences/a",
            r#"{"min": 5, "max": 4}"#,
            400,
            "invalid_argument",
        ),
        (
            "PUT",
            "/v1/sequences/a",
            r#"{"start": 5, "max": 4}"#,
            400,
            "invalid_argument",
        ),
        (
            "PUT",
            "/v1/sequences/a",
            r#"{"gap": "maybe"}"#,
            400,
            "invalid_body",
        ),
        (
            "PUT",
            "/v1/sequences/a",
            r#"{"order": "cluster"}"#,
            400,
            "invalid_body",
        ),
        (
            "PUT",
            "/v1/sequences/a",
            r#"{"allow_repeat": true}"#,
            400,
            "invalid_body",
        ),
        ("PUT", "/v1/sequences/a?x=1", "{}", 400, "invalid_argument"),
        ("GET", "/v1/sequences?limit=0", "", 400, "invalid_count"),
        ("GET", "/v1/sequences?limit=1001", "", 400, "invalid_count"),
        ("GET", "/v1/sequences?after=a%09b", "", 400, "invalid_name"),
    ] {
        let answer = client.ask_with(method, target, &[], body);
        assert_eq!(
            answer.status,
            status,
            "{method} {target} {body}: {}",
            answer.text()
        );
        check_problem(&answer, status, code);
    }
    assert_eq!(
        client.ask("GET", "/v1/sequences").json(),
        json!({"sequences": [], "next": null})
    );
}

#[test]
fn a_definition_is_made_shown_changed_and_dropped() {
    let server = Server::start();
    let definition = json!({
        "name": "s", "start": "100", "increment": "-5", "min": "0", "max": "100",
        "cycle": false, "gap": "none", "max_gap": 100_000, "order": "node", "last": null
    });
    let put = r#"{"start": "100", "increment": -5, "min": 0, "max": 100, "gap": "none", "order": "node"}"#;
    check(
        &server,
        &[
            ("PUT", "/v1/sequences/s", put, 201, definition.clone()),
            ("PUT", "/v1/sequences/s", put, 200, definition),
            ("PUT", "/v1/sequences/s", "", 409, json!({"code": "exists"})),
            (
                "POST",
                "/v1/sequences/s/next?count=2",
                "",
                200,
                json!({"ids": ["100", "95"]}),
            ),
            ("GET", "/v1/sequences/s", "", 200, json!({"last": "95"})),
            (
                "PATCH",
                "/v1/sequences/s",
                r#"{"min": 90}"#,
                200,
                json!({"min": "90", "last": "95"}),
            ),
            (
                "POST",
                "/v1/sequences/s/next?count=2",
                "",
                409,
                json!({"code": "exhausted"}),
            ),
            (
                "PATCH",
                "/v1/sequences/s",
                r#"{"increment": 5}"#,
                409,
                json!({"code": "needs_allow_repeat"}),
            ),
            (
                "POST",
                "/v1/sequences/s/restart",
                r#"{"value": 100}"#,
                409,
                json!({"code": "needs_allow_repeat"}),
            ),
            (
                "POST",
                "/v1/sequences/s/restart",
                r#"{"value": "100", "is_called": false, "allow_repeat": true}"#,
                200,
                json!({"name": "s"}),
            ),
            ("POST", "/v1/sequences/s/next", "", 200, json!({"ids": ["100"]})),
            ("DELETE", "/v1/sequences/s", "", 204, serde_json::Value::Null),
            ("GET", "/v1/sequences/s", "", 404, json!({"code": "not_found"})),
        ],
    );
}

// claim: P9
#[test]
fn numbers_of_a_cycling_sequence_say_that_they_repeat() {
    let server = Server::start();
    let mut client = server.http();
    let made = client.ask_with("PUT", "/v1/sequences/c", &[], r#"{"max": 3, "cycle": true}"#);
    assert_eq!(made.status, 201, "{}", made.text());
    let answer = client.ask("POST", "/v1/sequences/c/next?count=5");
    assert_eq!(
        answer.json(),
        json!({"ids": ["1", "2", "3", "1", "2"], "cycle": true})
    );
    assert_eq!(answer.header("mint-cycle"), Some("true"));
    let text = client.ask_with("POST", "/v1/sequences/c/next", &[("accept", "text/plain")], "");
    assert_eq!(
        (text.text().as_str(), text.header("mint-cycle")),
        ("3\n", Some("true"))
    );
    assert_eq!(
        client
            .ask("POST", "/v1/sequences/plain/next")
            .header("mint-cycle"),
        None
    );
}

#[test]
fn sequences_are_listed_page_by_page() {
    let server = Server::start();
    let mut client = server.http();
    for name in ["a", "b", "c"] {
        client.ask("POST", &format!("/v1/sequences/{name}/next"));
    }
    let names = |answer: &Answer| -> Vec<String> {
        let listed = answer.json();
        listed["sequences"]
            .as_array()
            .unwrap()
            .iter()
            .map(|s| s["name"].as_str().unwrap().to_string())
            .collect()
    };
    let first = client.ask("GET", "/v1/sequences?limit=2");
    assert_eq!(
        (names(&first), first.json()["next"].clone()),
        (vec!["a".into(), "b".into()], json!("b"))
    );
    let second = client.ask("GET", "/v1/sequences?limit=2&after=b");
    assert_eq!(
        (names(&second), second.json()["next"].clone()),
        (vec!["c".to_string()], json!(null))
    );
}

#[test]
fn ids_are_explained() {
    let server = Server::start();
    let answer = server
        .http()
        .ask("GET", "/v1/inspect/017f22e2-79b0-7cc3-98c4-dc0c0c07398f")
        .json();
    assert_eq!(answer["readings"][0]["format"], "uuid");
    assert_eq!(answer["readings"][0]["version"], 7);
    assert_eq!(answer["readings"][0]["time"], "2022-02-22T19:22:22.000Z");
    let answer = server.http().ask("GET", "/v1/inspect/no%20id").json();
    assert_eq!(
        (&answer["input"], &answer["readings"]),
        (&json!("no id"), &json!([]))
    );
    let tried = answer["tried"].as_array().unwrap();
    assert!(
        tried
            .iter()
            .any(|t| t["format"] == "ulid" && t["why"] == "5 characters, 26 are needed")
    );
}

#[test]
fn operators_learn_how_the_server_is() {
    let server = Server::start();
    let mut client = server.http();
    assert_eq!(client.ask("GET", "/livez").json(), json!({"live": true}));
    assert_eq!(
        client.ask("GET", "/readyz").json(),
        json!({
            "ready": true, "reasons": [], "notes": [],
            "sequences": {"ready": true, "reasons": [], "not_ready": []},
            "pools": {"ready": true, "reasons": [], "not_ready": []},
            "store": {"up": true, "down_s": null, "budget_left_s": null, "first_to_end": null},
        })
    );
    client.ask("POST", "/v1/sequences/s/next?count=5");
    client.ask("POST", "/v1/ids/uuid4?count=7");
    client.ask("GET", "/nope");
    let metrics = client.ask("GET", "/metrics");
    assert!(
        metrics
            .header("content-type")
            .unwrap()
            .starts_with("text/plain; version=0.0.4")
    );
    let text = metrics.text();
    for sample in [
        "mint_ids_total{kind=\"sequence\"} 5",
        "mint_ids_total{kind=\"uuid4\"} 7",
        "mint_refused_total{code=\"unknown_route\"} 1",
        "mint_connections{face=\"http\"} 1",
        "mint_requests_total{face=\"http\"} 6",
        "mint_store_up 1",
        "mint_sequences 1",
        "mint_reserve_seconds_bucket{le=\"+Inf\"} ",
        "mint_clock_steps_total 0",
        "mint_gap_ids_total 0",
        "mint_store_class{class=\"L\"} 1",
        "mint_build_info{version=",
    ] {
        assert!(text.contains(sample), "{text} lacks {sample}");
    }
    // Every sample belongs to a described metric, and every line is one or the other.
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let name = line.split(['{', ' ']).next().unwrap();
        let family = ["_bucket", "_sum", "_count"]
            .iter()
            .fold(name, |n, suffix| n.strip_suffix(suffix).unwrap_or(n));
        assert!(text.contains(&format!("# TYPE {family} ")), "{line}");
        assert!(line.rsplit_once(' ').unwrap().1.parse::<f64>().is_ok(), "{line}");
    }
}

/// Short requests are framed by us, others by hyper: nobody may be able to tell which it was.
#[test]
fn both_ways_of_framing_answer_alike() {
    let server = Server::start();
    let (mut ours, mut hypers) = (server.http(), server.http());
    // A body moves a connection to hyper for good.
    assert_eq!(
        hypers.ask_with("PUT", "/v1/sequences/other", &[], "{}").status,
        201
    );
    for (method, target) in [
        ("POST", "/v1/sequences/NAME/next"),
        ("POST", "/v1/sequences/NAME/next?count=20"),
        ("POST", "/v1/sequences/NAME/next?as=range&count=2"),
        ("POST", "/v1/sequences/NAME/next?count=0"),
        ("POST", "/v1/sequences/a%09b/next"),
        ("GET", "/v1/sequences/NAME/next"),
        ("GET", "/v1/sequences/NAME"),
        ("GET", "/v1/sequences/nothing"),
        ("DELETE", "/v1/sequences/NAME"),
        ("GET", "/v1/inspect/017f22e2-79b0-7cc3-98c4-dc0c0c07398f"),
        ("GET", "/v1/series/seq_1_to_30"),
        ("GET", "/livez"),
        ("GET", "/readyz"),
        ("GET", "/nope?x=1"),
    ] {
        for accept in ["*/*", "text/plain", "application/octet-stream", "image/png"] {
            let mut answers = [(&mut ours, "ours"), (&mut hypers, "theirs")].map(|(client, name)| {
                let answer =
                    client.ask_with(method, &target.replace("NAME", name), &[("accept", accept)], "");
                let mut headers: Vec<_> = answer
                    .headers
                    .into_iter()
                    .filter(|(name, _)| name != "date")
                    .collect();
                headers.sort();
                (
                    answer.status,
                    headers,
                    String::from_utf8_lossy(&answer.body).replace(name, "NAME"),
                )
            });
            // Names of different length make bodies of different length.
            for (_, headers, _) in &mut answers {
                headers.retain(|(name, _)| name != "content-length" || !target.contains("NAME"));
            }
            assert_eq!(answers[0], answers[1], "{method} {target} {accept}");
        }
    }
}

#[test]
fn head_is_get_without_a_body() {
    let server = Server::start();
    let mut client = server.http();
    client.send("HEAD /livez HTTP/1.1\r\nhost: localhost\r\n\r\n");
    assert!(client.line().starts_with("HTTP/1.1 200"));
    while !client.line().is_empty() {}
    assert_eq!(client.ask("GET", "/livez").status, 200);
}

#[test]
fn requests_can_be_pipelined_and_half_closed() {
    let server = Server::start();
    let mut client = server.http();
    let request = "POST /v1/sequences/s/next HTTP/1.1\r\nhost: localhost\r\naccept: text/plain\r\n\r\n";
    client.send(request.repeat(50)).finish_sending();
    for n in 1..=50 {
        assert_eq!(client.answer().text(), format!("{n}\n"));
    }
    client.expect_end("");
}

/// Less than the second for which a server that ends a connection waits for its client.
const WELL_WITHIN_LINGER: Duration = Duration::from_millis(900);

/// The length of what asks for the most ids at once.
const LARGE: usize = 10_000;

#[test]
fn large_answers_follow_each_other_on_one_connection() {
    let server = Server::start();
    let mut client = server.http();
    for (answers, target) in [
        (20, "/v1/ids/uuid1?count=10000"),
        (20, "/v1/ids/snowflake?count=10000"),
        (20, "/v1/sequences/s/next?count=10000"),
    ] {
        for answer in 0..answers {
            let given = client.ask("POST", target).json();
            let ids = given["ids"].as_array().or(given["values"].as_array());
            let count = ids.map(Vec::len);
            assert_eq!(count, Some(LARGE), "{answer} of {target}");
        }
    }
}

/// A server that closes while bytes of the client are unread resets the connection, and with it goes the part of the
/// answer that had not been delivered. A request behind a chunked body is such a case.
#[test]
fn the_last_answer_arrives_whole_whatever_the_client_still_sends() {
    let server = Server::start();
    let head = "POST /v1/ids/uuid7?count=10000 HTTP/1.1\r\nhost: localhost\r\n";
    for (ending, rest) in [
        // The connection ends since the length of the request was open. (Its body is read before the answer.)
        (
            "transfer-encoding: chunked\r\n\r\n0\r\n\r\n",
            "POST /v1/ids/uuid7 HTTP/1.1\r\nhost: localhost\r\n\r\n",
        ),
        // It ends since the client wants it to.
        (
            "connection: close\r\n\r\n",
            "POST /v1/ids/uuid7 HTTP/1.1\r\nhost: localhost\r\n\r\n",
        ),
        // It ends since what follows is no request.
        ("\r\n", "\0\r\n\r\n"),
    ] {
        let mut in_time = 0;
        while in_time < 20 {
            let mut client = Client::with_small_buffer(server.address("http"));
            let began = Instant::now();
            client.send(format!("{head}{ending}"));
            // From here on the server has the answer in its hands, and no more of it than the buffers take is sent.
            let mut status = client.line();
            client.send(rest);
            // It waits for a second; whoever was kept from running for as long is no witness.
            if began.elapsed() > WELL_WITHIN_LINGER {
                continue;
            }
            in_time += 1;
            while !status.is_empty() {
                status = client.line();
            }
            let body = client.read(39 * LARGE + 10);
            assert!(
                body.starts_with(b"{\"ids\":[\"") && body.len() == 39 * LARGE + 10,
                "{rest:?}"
            );
        }
    }
}

#[test]
fn tokens_are_needed_where_they_are_configured() {
    let server = Server::with(|config| {
        config.tokens = vec![
            token("web", "allocate-secret", &[Right::Allocate]),
            token("ops", "admin-secret", &[Right::Allocate, Right::Admin]),
        ];
        config.max_wrong_tokens = 1000;
        config.wrong_token_delay = Duration::ZERO;
    });
    let mut client = server.http();
    let mut ask = |method: &str, target: &str, token: Option<&str>| match token {
        None => client.ask(method, target),
        Some(token) => client.ask_with(
            method,
            target,
            &[("authorization", &format!("Bearer {token}"))],
            "",
        ),
    };
    for (method, target) in [
        ("POST", "/v1/sequences/s/next"),
        ("GET", "/metrics"),
        ("GET", "/nope"),
        ("PUT", "/v1/sequences/s"),
    ] {
        let answer = ask(method, target, None);
        check_problem(&answer, 401, "unauthenticated");
        assert_eq!(answer.header("www-authenticate"), Some("Bearer realm=\"mint\""));
        check_problem(&ask(method, target, Some("guess")), 401, "wrong_token");
    }
    assert_eq!(ask("GET", "/livez", None).status, 200);
    assert_eq!(ask("GET", "/readyz", None).status, 200);
    assert_eq!(
        ask("POST", "/v1/sequences/s/next", Some("allocate-secret")).status,
        200
    );
    for (method, target) in [
        ("PUT", "/v1/sequences/s"),
        ("PATCH", "/v1/sequences/s"),
        ("DELETE", "/v1/sequences/s"),
        ("POST", "/v1/sequences/s/restart"),
    ] {
        check_problem(&ask(method, target, Some("allocate-secret")), 403, "forbidden");
    }
    assert_eq!(ask("DELETE", "/v1/sequences/s", Some("admin-secret")).status, 204);
    let answer = server
        .http()
        .ask_with("GET", "/metrics", &[("authorization", "Basic x")], "");
    check_problem(&answer, 401, "unauthenticated");
}

#[test]
fn a_token_to_read_looks_and_one_to_take_ids_looks_too() {
    let server = Server::with(|config| {
        config.tokens = vec![
            token("eye", "read", &[Right::Read]),
            token("web", "allocate", &[Right::Allocate]),
            token("ops", "admin", &[Right::Admin]),
        ];
    });
    let ask = |method: &str, target: &str, token: &str| {
        let bearer = format!("Bearer {token}");
        let headers = [("authorization", bearer.as_str())];
        server.http().ask_with(method, target, &headers, "").status
    };
    assert_eq!(ask("POST", "/v1/sequences/s/next", "allocate"), 200);
    for target in [
        "/v1/sequences",
        "/v1/sequences/s",
        "/v1/formats",
        "/v1/inspect/1",
        "/metrics",
        "/readyz?for=s",
    ] {
        assert_eq!(ask("GET", target, "read"), 200, "{target}");
        assert_eq!(ask("GET", target, "allocate"), 200, "{target}");
        assert_eq!(ask("GET", target, "admin"), 403, "{target}");
    }
    for target in [
        "/v1/sequences/s/next",
        "/v1/ids/uuid7",
        "/v1/snowflakes/default",
        "/v1/pools/default/windows",
    ] {
        assert_eq!(ask("POST", target, "read"), 403, "{target}");
    }
    let mut client = server.resp();
    client.send("AUTH read\r\nGET s\r\n").expect("+OK\r\n$1\r\n1\r\n");
    client
        .send("INCR s\r\n")
        .expect("-NOPERM this user has no permissions to run the 'incr' command\r\n");
}

#[test]
fn web_pages_of_others_are_no_clients() {
    let server = Server::with(|config| config.http_hosts = vec!["ids.internal".into()]);
    let ask = |host: &str, extra: &str| {
        let mut client = server.http();
        client.send(format!(
            "POST /v1/sequences/s/next HTTP/1.1\r\nhost: {host}\r\n{extra}\r\n"
        ));
        client.answer()
    };
    // Each of them tells of a browser; a body has hyper frame the request.
    let marks = [
        "accept-language: en-GB,en;q=0.9\r\n",
        "accept-language: \r\n",
        "Accept-Language: *\r\nuser-agent: node\r\n",
        "user-agent: Mozilla/5.0 (X11; Linux x86_64)\r\n",
        "origin: http://evil.example\r\n",
        "referer: http://evil.example/\r\n",
        "sec-fetch-site: same-origin\r\nsec-fetch-mode: cors\r\n",
        "sec-fetch-dest: empty\r\n",
        "upgrade-insecure-requests: 1\r\n",
        "DNT: 1\r\n",
    ];
    let body = "content-type: application/x-www-form-urlencoded\r\nte: trailers\r\n";
    for mark in marks {
        for extra in [mark.to_string(), format!("{mark}{body}")] {
            let refused = ask("evil.example", &extra);
            check_problem(&refused, 421, "wrong_host");
            assert!(refused.text().contains("server.http.hosts"), "{}", refused.text());
            if !mark.contains("evil") {
                assert_eq!(ask("127.0.0.1:7600", &extra).status, 200, "{extra}");
                assert_eq!(ask("ids.internal", &extra).status, 200, "{extra}");
            }
        }
    }
    // Programs ask by any name.
    for extra in [
        "",
        "user-agent: curl/8.5.0\r\naccept: */*\r\n",
        "user-agent: Java/17.0.9\r\naccept: text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2\r\n",
        "user-agent: node\r\naccept-language: *\r\nsec-fetch-mode: cors\r\n",
        "user-agent: python-requests/2.32\r\naccept-encoding: gzip, deflate\r\n",
    ] {
        for extra in [extra.to_string(), format!("{extra}{body}")] {
            assert_eq!(ask("leaf.svc.cluster.local:8080", &extra).status, 200, "{extra}");
        }
    }
    check_problem(
        &ask("localhost", "origin: http://evil.example\r\n"),
        403,
        "cross_origin",
    );
    assert_eq!(ask("localhost", "origin: http://localhost\r\n").status, 200);
    let mut client = server.http();
    client.send("POST /v1/sequences/s/next HTTP/1.1\r\n\r\n");
    check_problem(&client.answer(), 400, "protocol_error");
}

#[test]
fn bodies_and_heads_that_are_too_large_are_refused() {
    let server = Server::with(|config| {
        config.http_max_body = Bytes(256);
        config.http_max_headers = 10;
    });
    let body = format!("{{\"start\": {}1}}", " ".repeat(300));
    let answer = server.http().ask_with("PUT", "/v1/sequences/s", &[], &body);
    check_problem(&answer, 413, "body_too_large");
    let mut client = server.http();
    client.send("PUT /v1/sequences/s HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n");
    client.send(format!("12c\r\n{}\r\n0\r\n\r\n", " ".repeat(300)));
    check_problem(&client.answer(), 413, "body_too_large");
    let mut client = server.http();
    client.send(format!(
        "GET /livez HTTP/1.1\r\nhost: localhost\r\n{}\r\n",
        "a: b\r\n".repeat(10)
    ));
    check_problem(&client.answer(), 431, "header_too_large");
    let mut client = server.http();
    client.try_send(format!(
        "GET /livez HTTP/1.1\r\nhost: localhost\r\na: {}\r\n\r\n",
        "b".repeat(40_000)
    ));
    check_problem(&client.answer(), 431, "header_too_large");
    for code in ["header_too_large", "body_too_large"] {
        // A refusal that hyper answers by itself is counted when its connection ends, shortly after the answer.
        let counted = format!("mint_refused_total{{code=\"{code}\"}} 2\n");
        let started = Instant::now();
        while !server.http().ask("GET", "/metrics").text().contains(&counted) {
            assert!(started.elapsed() < Duration::from_secs(60), "never {counted}");
        }
    }
}

#[test]
fn bytes_that_are_no_request_end_the_connection() {
    let server = Server::start();
    for bytes in [
        "nonsense\r\n\r\n",
        "GET /livez HTTP/9.9\r\n\r\n",
        "GET /livez HTTP/1.1\r\nhost: localhost\r\n folded: x\r\n\r\n",
        "POST /v1/sequences/s/next HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n",
        "POST /v1/sequences/s/next HTTP/1.1\r\nhost: localhost\r\ncontent-length: x\r\n\r\n",
        "GET /livez HTTP/1.1\r\nho st: localhost\r\n\r\n",
    ] {
        let mut client = server.http();
        client.send(bytes);
        check_problem(&client.answer(), 400, "protocol_error");
        client.expect_end("");
    }
    // Where the length could be read in two ways, nothing is read after it.
    let mut client = server.http();
    client.send("POST /v1/sequences/s/next HTTP/1.1\r\nhost: localhost\r\ncontent-length: 4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\nGET /livez HTTP/1.1\r\nhost: localhost\r\n\r\n");
    let got = client.read_to_end();
    assert_eq!(got.matches("HTTP/1.1 ").count(), 1, "{got}");
    assert_eq!(server.http().ask("GET", "/livez").status, 200);
}

#[test]
fn connections_that_wait_too_long_are_closed() {
    // Not so short that a busy machine takes as long for a request.
    let short = Duration::from_secs(3);
    let server = Server::with(|config| {
        config.http_request_timeout = short;
        config.http_idle_timeout = Off(Some(short));
    });
    let mut silent = server.http();
    let mut half = server.http();
    half.send("GET /livez HTTP/1.1\r\nhost: local");
    let mut idle = server.http();
    assert_eq!(idle.ask("GET", "/livez").status, 200);
    let mut body = server.http();
    body.send("PUT /v1/sequences/s HTTP/1.1\r\nhost: localhost\r\ncontent-length: 10\r\n\r\n{");
    let mut dribble = server.http();
    dribble.send("GET /livez HTTP/1.1\r\n");
    while !dribble.is_closed_after(Duration::from_millis(20)) {
        dribble.try_send("a: b\r\n");
    }
    silent.expect_end("");
    half.expect_end("");
    idle.expect_end("");
    check_problem(&body.answer(), 408, "request_timeout");
    body.expect_end("");
}

#[test]
fn connections_beyond_the_limit_are_told_so() {
    let server = Server::with(|config| config.max_connections = 1);
    let mut first = server.http();
    assert_eq!(first.ask("GET", "/livez").status, 200);
    let mut second = server.http();
    check_problem(&second.answer(), 503, "too_many_connections");
    // Its length is the one that it says.
    second.expect_end("");
}

/// A proxy that reads such a head in another way would take what follows for somebody else's request.
#[test]
fn heads_that_can_be_read_in_two_ways_are_refused_and_the_connection_closed() {
    let server = Server::start();
    let line = "POST /v1/sequences/s/next HTTP/1.1\r\nhost: localhost\r\n";
    let good = "PUT /v1/sequences/t HTTP/1.1\r\nhost: localhost\r\ncontent-length: 2\r\n\r\n{}";
    for head in [
        format!("{line}content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n"),
        format!("{line}transfer-encoding: chunked\r\ncontent-length: 5\r\n\r\n0\r\n\r\n"),
        format!("{line}content-length: 0\r\nContent-Length: 0\r\n\r\n"),
        format!("{line}content-length: 2\r\ncontent-length: 2\r\n\r\n{{}}"),
        format!("{line}content-length: 2, 2\r\n\r\n{{}}"),
        format!("{line}\n"),
        format!("{line}x: y\n\r\n"),
        "POST /v1/sequences/s/next HTTP/1.1\nhost: localhost\n\n".to_string(),
    ] {
        // At once, and behind requests that are framed in either way.
        for (before, served) in [
            (String::new(), 0),
            (good.repeat(2), 2),
            ("GET /livez HTTP/1.1\r\nhost: localhost\r\n\r\n".into(), 1),
        ] {
            let mut client = server.http();
            client.send(format!(
                "{before}{head}GET /livez HTTP/1.1\r\nhost: localhost\r\n\r\n"
            ));
            let got = client.read_to_end();
            assert_eq!(got.matches("HTTP/1.1 ").count(), served + 1, "{head:?}: {got}");
            let (_, last) = got.rsplit_once("HTTP/1.1 ").unwrap();
            assert!(last.starts_with("400 "), "{head:?}: {got}");
            assert!(
                last.contains("connection: close\r\n") && last.contains("\"protocol_error\""),
                "{last}"
            );
        }
    }
    let shown = server.http().ask("GET", "/v1/sequences/s");
    assert_eq!(shown.status, 404, "no number was taken: {}", shown.text());
}

#[test]
fn requests_of_every_framing_follow_each_other_on_one_connection() {
    let server = Server::start();
    let request = |line: &str, rest: &str| format!("{line} HTTP/1.1\r\nhost: localhost\r\n{rest}");
    let requests = [
        (request("PUT /v1/sequences/t", "content-length: 2\r\n\r\n{}"), 201),
        (request("POST /v1/sequences/t/next", "\r\n"), 200),
        (
            request("POST /v1/sequences/t/next", "content-length: 2\r\n\r\n{}"),
            200,
        ),
        (
            request("GET /v1/sequences/t", "connection: keep-alive, x\r\n\r\n"),
            200,
        ),
        (
            request("PUT /v1/sequences/t", "content-length: 5\r\n\r\n{bad}"),
            400,
        ),
        (request("GET /livez", "\r\n"), 200),
    ];
    // One after the other, and all at once.
    let mut client = server.http();
    for (text, status) in &requests {
        assert_eq!(client.send(text).answer().status, *status, "{text}");
    }
    let mut client = server.http();
    client.send(requests.iter().map(|(text, _)| text.as_str()).collect::<String>());
    for (text, status) in &requests {
        let status = if *status == 201 { 200 } else { *status };
        assert_eq!(client.answer().status, status, "{text}");
    }
}

fn tokens(config: &mut Config) {
    config.tokens = vec![token("web", "secret", &[Right::Allocate])];
    config.wrong_token_delay = Duration::ZERO;
}

/// Connections without a token held every place, and `/livez` was refused: a supervisor killed a healthy server.
#[test]
fn health_is_told_when_all_places_are_taken() {
    let server = Server::with(|config| {
        tokens(config);
        config.max_connections = 3;
        config.max_connections_per_address = Auto(Some(3));
        config.authentication_timeout = Off(None);
    });
    let mut held = [(); 3].map(|()| server.resp());
    for client in &mut held {
        client
            .send("PING\r\n")
            .expect("-NOAUTH Authentication required.\r\n");
    }
    server.resp().expect_end("-ERR max number of clients reached\r\n");
    for (target, status) in [("/livez", 200), ("/readyz", 200), ("/metrics", 503)] {
        let mut client = server.http();
        let answer = client.ask_with("GET", target, &[("authorization", "Bearer secret")], "");
        assert_eq!(answer.status, status, "{target}: {}", answer.text());
        assert_eq!(answer.header("connection"), Some("close"));
        client.expect_end("");
    }
    // Nobody stays in such a place.
    let waits = server.http().read_to_end();
    assert!(waits.starts_with("HTTP/1.1 503"), "{waits}");
}

#[test]
fn one_address_does_not_get_all_places() {
    let server = Server::with(|config| {
        tokens(config);
        config.max_connections = 4;
        config.authentication_timeout = Off(None);
    });
    let mut held = [(); 2].map(|()| server.resp());
    for client in &mut held {
        client
            .send("PING\r\n")
            .expect("-NOAUTH Authentication required.\r\n");
    }
    server.resp().expect_end("-ERR max number of clients reached\r\n");
    let mut other = Client::from("127.0.0.2", server.address("resp"));
    other.send("AUTH secret\r\n").expect("+OK\r\n");
}

#[test]
fn one_face_does_not_get_all_places() {
    let server = Server::with(|config| {
        config.max_connections = 4;
        config.max_connections_per_face = Auto(Some(2));
    });
    let mut held = [(); 2].map(|()| server.resp());
    for client in &mut held {
        client.send("PING\r\n").expect("+PONG\r\n");
    }
    server.resp().expect_end("-ERR max number of clients reached\r\n");
    let metrics = server.http().ask("GET", "/metrics").text();
    let refused = "mint_refused_total{code=\"too_many_connections\"} 1\n";
    assert!(metrics.contains(refused), "{metrics}");
}

#[test]
fn who_shows_no_token_in_time_is_let_go() {
    let server = Server::with(|config| {
        tokens(config);
        // As long as all of this takes on a busy machine, and longer.
        config.authentication_timeout = Off(Some(Duration::from_secs(5)));
    });
    let (mut known, mut unknown) = (server.resp(), server.resp());
    known.send("AUTH secret\r\n").expect("+OK\r\n");
    let (mut known_page, mut unknown_page) = (server.http(), server.http());
    let secret = [("authorization", "Bearer secret")];
    assert_eq!(
        known_page
            .ask_with("POST", "/v1/sequences/s/next", &secret, "")
            .status,
        200
    );
    // Whatever else it asks for.
    unknown
        .send("PING\r\n")
        .expect("-NOAUTH Authentication required.\r\n");
    assert_eq!(unknown_page.ask("GET", "/livez").status, 200);
    unknown.expect_end("");
    unknown_page.expect_end("");
    known.send("INCR s\r\n").expect(":2\r\n");
    assert_eq!(
        known_page
            .ask_with("POST", "/v1/sequences/s/next", &secret, "")
            .status,
        200
    );
}

#[test]
fn who_shows_wrong_tokens_is_let_go() {
    let server = Server::with(|config| {
        tokens(config);
        config.max_wrong_tokens = 3;
    });
    let wrong = "-WRONGPASS invalid username-password pair or user is disabled.\r\n";
    let mut client = server.resp();
    client.send("AUTH x\r\nHELLO 3 AUTH a x\r\nAUTH x\r\nAUTH secret\r\nINCR s\r\n");
    client.expect_end(&wrong.repeat(3));
    let request = "GET /metrics HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer x\r\n\r\n";
    let mut client = server.http();
    client.send(request.repeat(9));
    let got = client.read_to_end();
    assert_eq!(got.matches("HTTP/1.1 401").count(), 3, "{got}");
    assert_eq!(got.matches("connection: close").count(), 1, "{got}");
}

#[test]
fn a_gentle_stop_lets_idle_connections_go() {
    let server = Server::start();
    let mut idle = server.http();
    assert_eq!(idle.ask("GET", "/livez").status, 200);
    server.stop(Stop::Gently);
    idle.expect_end("");
    assert_eq!(server.end(), Ok(()));
}

/// A newcomer sent `{"count": 3}` and got one id: what is ignored in silence looks like what is obeyed.
#[test]
fn parameters_in_a_body_work_as_in_the_query() {
    let server = Server::start();
    let mut client = server.http();
    let json = [("content-type", "application/json")];
    let mut ask = |target: &str, body: &str| client.ask_with("POST", target, &json, body);
    let next = "/v1/sequences/s/next";
    assert_eq!(
        ask(next, r#"{"count": 3}"#).json(),
        json!({"ids": ["1", "2", "3"]})
    );
    assert_eq!(ask(next, r#"{"count": "2"}"#).json(), json!({"ids": ["4", "5"]}));
    let run = ask(next, r#"{"count": 10, "as": "range"}"#).json();
    assert_eq!(run, json!({"first": "6", "last": "15", "increment": "1"}));
    assert_eq!(ask(next, "").json(), json!({"ids": ["16"]}));
    assert_eq!(
        ask(&format!("{next}?as=ids"), "{}").json(),
        json!({"ids": ["17"]})
    );
    let uuids = ask(
        "/v1/ids/uuid5",
        r#"{"namespace": "dns", "name": "www.example.com"}"#,
    )
    .json();
    assert_eq!(uuids["ids"][0], "2ed6657d-e927-568b-95e1-2665a8aea6a2");
    assert_eq!(
        ask("/v1/snowflakes/default", r#"{"count": 4}"#).json()["ids"]
            .as_array()
            .map(Vec::len),
        Some(4)
    );
    for (target, body, status, code) in [
        (next, r#"{"count": 0}"#, 400, "invalid_count"),
        (next, r#"{"count": 10001}"#, 400, "invalid_count"),
        (next, r#"{"count": -1}"#, 400, "invalid_count"),
        (next, r#"{"count": 1.5}"#, 400, "invalid_count"),
        (next, r#"{"count": true}"#, 400, "invalid_count"),
        (next, r#"{"count": [3]}"#, 400, "invalid_body"),
        (next, r#"{"cuont": 3}"#, 400, "invalid_argument"),
        (next, r#"{"count": 3, "count": 4}"#, 400, "invalid_argument"),
        (
            "/v1/sequences/s/next?count=3",
            r#"{"count": 3}"#,
            400,
            "invalid_argument",
        ),
        (next, "[3]", 400, "invalid_body"),
        (next, "count=3", 400, "invalid_body"),
    ] {
        check_problem(&ask(target, body), status, code);
    }
    assert_eq!(
        ask(next, "").json(),
        json!({"ids": ["18"]}),
        "a refused request takes nothing"
    );
}

#[test]
fn bodies_that_nobody_reads_are_refused_and_nothing_is_taken() {
    let server = Server::start();
    let mut client = server.http();
    for (method, target, kind, body, status) in [
        ("GET", "/livez", "application/json", "{}", 415),
        ("GET", "/v1/sequences", "application/json", "{\"limit\": 1}", 415),
        ("DELETE", "/v1/sequences/s", "text/plain", "x", 415),
        (
            "POST",
            "/v1/sequences/s/next",
            "application/xml",
            "<count>3</count>",
            415,
        ),
        (
            "POST",
            "/v1/sequences/s/next",
            "application/x-www-form-urlencoded",
            "count=3",
            415,
        ),
        ("PUT", "/v1/sequences/s", "text/plain", "{}", 415),
        (
            "PUT",
            "/v1/sequences/curl",
            "application/x-www-form-urlencoded",
            "{\"start\": 5}",
            201,
        ),
        (
            "PUT",
            "/v1/sequences/kind",
            "application/vnd.example+json; charset=utf-8",
            "{}",
            201,
        ),
        ("GET", "/livez", "application/json", "", 200),
        ("POST", "/v1/sequences/s/next", "application/xml", "", 200),
    ] {
        let answer = client.ask_with(method, target, &[("content-type", kind)], body);
        assert_eq!(
            answer.status,
            status,
            "{method} {target} {kind} {body}: {}",
            answer.text()
        );
        if status == 415 {
            check_problem(&answer, 415, "unsupported_media_type");
        }
    }
    let last = client.ask("GET", "/v1/sequences/s").json();
    assert_eq!(last["last"], "1", "one request was answered");
}

#[test]
fn a_key_for_idempotency_is_refused_until_it_is_honoured() {
    let server = Server::start();
    let mut client = server.http();
    let key = [("idempotency-key", "order-1")];
    for (method, target, body) in [
        ("POST", "/v1/sequences/s/next", ""),
        ("POST", "/v1/sequences/s/next", "{\"count\": 2}"),
        ("POST", "/v1/ids/uuid", ""),
        ("PUT", "/v1/sequences/s", "{}"),
    ] {
        check_problem(
            &client.ask_with(method, target, &key, body),
            400,
            "idempotency_key",
        );
    }
    assert_eq!(client.ask_with("GET", "/livez", &key, "").status, 200);
    check_problem(&client.ask("GET", "/v1/sequences/s"), 404, "not_found");
}

/// JavaScript writes 9007199254740993 as 9007199254740992: whoever means it has lost it already.
#[test]
fn numbers_that_others_round_are_refused_outside_quotes() {
    let server = Server::start();
    let mut client = server.http();
    for (method, target, body) in [
        ("PUT", "/v1/sequences/s", r#"{"start": 9007199254740992}"#),
        (
            "PUT",
            "/v1/sequences/s",
            r#"{"min": -9007199254740992, "start": 1}"#,
        ),
        (
            "POST",
            "/v1/sequences/s/restart",
            r#"{"value": 9007199254740993}"#,
        ),
        ("POST", "/v1/sequences/s/next", r#"{"count": 9007199254740993}"#),
        (
            "PATCH",
            "/v1/pools/default/windows/0",
            r#"{"owner": "x", "version": 18446744073709551615}"#,
        ),
    ] {
        let answer = client.ask_with(method, target, &[], body);
        check_problem(&answer, 400, "invalid_body");
        let detail = answer.json()["detail"].as_str().unwrap_or_default().to_string();
        assert!(detail.contains("2^53-1") && detail.contains("quotes"), "{detail}");
    }
    let exact = client.ask_with("PUT", "/v1/sequences/s", &[], r#"{"start": 9007199254740991}"#);
    assert_eq!(
        (exact.status, &exact.json()["start"]),
        (201, &json!("9007199254740991"))
    );
    let quoted = client.ask_with("PUT", "/v1/sequences/t", &[], r#"{"start": "9007199254740993"}"#);
    assert_eq!(
        (quoted.status, &quoted.json()["start"]),
        (201, &json!("9007199254740993"))
    );
}

#[test]
fn what_is_made_says_where_it_is() {
    let server = Server::start();
    let mut client = server.http();
    for (method, target, location) in [
        ("PUT", "/v1/sequences/a%3Ab", "/v1/sequences/a:b"),
        ("PUT", "/v1/pools/eu", "/v1/pools/eu"),
        ("POST", "/v1/pools/eu/windows", "/v1/pools/eu/windows/"),
    ] {
        let made = client.ask_with(method, target, &[], "{}");
        assert_eq!(made.status, 201, "{}", made.text());
        let told = made.header("location").unwrap_or_default();
        assert!(told.starts_with(location), "{told}");
        if method == "PUT" {
            assert_eq!(client.ask("GET", told).status, 200);
        }
    }
    let again = client.ask_with("PUT", "/v1/sequences/a%3Ab", &[], "{}");
    assert_eq!((again.status, again.header("location")), (200, None));
}

#[test]
fn lists_begin_with_what_is_asked_for() {
    let server = Server::start();
    let mut client = server.http();
    for name in ["a", "app", "app.b", "app.c", "apple", "b", "bap"] {
        assert_eq!(
            client
                .ask_with("PUT", &format!("/v1/sequences/{name}"), &[], "{}")
                .status,
            201
        );
        assert_eq!(
            client
                .ask_with("PUT", &format!("/v1/pools/{name}"), &[], "{}")
                .status,
            201
        );
    }
    assert_eq!(client.ask("DELETE", "/v1/sequences/app.b").status, 204);
    assert_eq!(client.ask("DELETE", "/v1/pools/app.b").status, 204);
    for kind in ["sequences", "pools"] {
        let mut names = |query: &str| -> (Vec<String>, serde_json::Value) {
            let page = client.ask("GET", &format!("/v1/{kind}?{query}")).json();
            let list = page[kind].as_array().cloned().unwrap_or_default();
            let names = list.iter().map(|row| row["name"].as_str().unwrap().to_string());
            (names.collect(), page["next"].clone())
        };
        assert_eq!(names("prefix=app").0, ["app", "app.c", "apple"], "{kind}");
        assert_eq!(
            names("prefix=app&limit=2"),
            (vec!["app".into(), "app.c".into()], json!("app.c"))
        );
        assert_eq!(
            names("prefix=app&limit=2&after=app.c"),
            (vec!["apple".into()], json!(null))
        );
        assert_eq!(names("prefix=app&after=a").0, ["app", "app.c", "apple"]);
        assert_eq!(names("prefix=app&after=b"), (vec![], json!(null)));
        assert_eq!(names("prefix=app&limit=1"), (vec!["app".into()], json!("app")));
        assert_eq!(names("prefix=none").0.len(), 0);
    }
}

#[test]
fn an_id_is_read_as_the_caller_says() {
    let server = Server::start();
    let mut client = server.http();
    let id = "175928847299117063";
    let read = client
        .ask("GET", &format!("/v1/inspect/{id}?preset=discord"))
        .json();
    let readings = read["readings"].as_array().unwrap();
    assert_eq!(readings.len(), 1, "{read}");
    assert_eq!(
        (&readings[0]["preset"], &readings[0]["time"]),
        (&json!("discord"), &json!("2016-04-30T11:18:25.796Z"))
    );
    let moved = client
        .ask(
            "GET",
            &format!("/v1/inspect/{id}?preset=discord&epoch=2020-01-01"),
        )
        .json();
    assert!(
        moved["readings"][0]["time"]
            .as_str()
            .unwrap()
            .starts_with("2021-04-30"),
        "{moved}"
    );
    // 1704067200000 << 36 | 62 << 16, as a number and as CosId writes it.
    for (id, form) in [
        ("117102606306980663263232", json!(null)),
        ("0U044JCi0010000", json!("base62-fields")),
        ("0lqu5m2o0001q0000", json!("base36-fields")),
    ] {
        for named in [
            "preset=cosid-string",
            "layout=time=44,worker:machine=20,sequence=16",
        ] {
            let read = client.ask("GET", &format!("/v1/inspect/{id}?{named}")).json();
            let reading = &read["readings"][0];
            assert_eq!(
                (&reading["time"], &reading["form"], &reading["fields"]["machine"]),
                (&json!("2024-01-01T00:00:00.000Z"), &form, &json!(62)),
                "{read}"
            );
        }
    }
    let ulid = client
        .ask("GET", "/v1/inspect/01ARZ3NDEKTSV4RRFFQ69G5FAV?as=ULID")
        .json();
    assert_eq!(ulid["readings"][0]["format"], "ulid");
    let not = client
        .ask("GET", "/v1/inspect/01ARZ3NDEKTSV4RRFFQ69G5FAV?as=uuid")
        .json();
    assert_eq!(
        (&not["readings"], &not["tried"][0]["format"]),
        (&json!([]), &json!("uuid"))
    );
    let tsid = client
        .ask("GET", "/v1/inspect/0AXS751X00W7C?as=tsid&epoch=2015-01-01")
        .json();
    assert_eq!(tsid["readings"][0]["format"], "tsid", "{tsid}");
    for (query, code) in [
        ("as=nope", "unknown_format"),
        ("preset=nope", "invalid_argument"),
        ("epoch=nope", "invalid_argument"),
        ("epoch=2020-01-01;tick=1s", "invalid_argument"),
        ("preset=discord&as=ulid", "invalid_argument"),
        ("as=ulid&epoch=2020-01-01", "invalid_argument"),
        ("perset=discord", "invalid_argument"),
    ] {
        let answer = client.ask("GET", &format!("/v1/inspect/{id}?{query}"));
        let status = if code == "unknown_format" { 404 } else { 400 };
        check_problem(&answer, status, code);
    }
}

#[test]
fn a_definition_and_a_restart_are_one_change() {
    let server = Server::start();
    let mut client = server.http();
    let mut ask = |method: &str, target: &str, body: &str| client.ask_with(method, target, &[], body);
    let next = "/v1/sequences/s/next";
    assert_eq!(ask("POST", "/v1/sequences/s/next?count=5", "").status, 200);
    let patched = ask(
        "PATCH",
        "/v1/sequences/s",
        r#"{"increment": 10, "restart": "1000", "max": "5000"}"#,
    );
    assert_eq!(
        (patched.status, &patched.json()["increment"]),
        (200, &json!("10")),
        "{}",
        patched.text()
    );
    assert_eq!(
        ask("POST", next, "{\"count\": 2}").json(),
        json!({"ids": ["1000", "1010"]})
    );
    for (body, status, code) in [
        (r#"{"increment": 1, "restart": 7}"#, 409, "needs_allow_repeat"),
        (r#"{"increment": 1, "restart": true}"#, 409, "needs_allow_repeat"),
        (r#"{"increment": 1, "restart": 1010}"#, 409, "needs_allow_repeat"),
        (
            r#"{"increment": -1, "min": 1, "restart": 4000}"#,
            409,
            "needs_allow_repeat",
        ),
        (r#"{"max": 2000, "restart": 3000}"#, 400, "invalid_argument"),
        (r#"{"restart": false}"#, 400, "invalid_body"),
        (r#"{"restart": "x"}"#, 400, "invalid_body"),
        (r#"{"cache": 0}"#, 400, "invalid_body"),
        (r#"{"max_gap": 0}"#, 400, "invalid_body"),
    ] {
        check_problem(&ask("PATCH", "/v1/sequences/s", body), status, code);
    }
    check_problem(
        &ask("PUT", "/v1/sequences/new", r#"{"restart": 5}"#),
        400,
        "invalid_body",
    );
    assert_eq!(
        ask("POST", next, "").json(),
        json!({"ids": ["1020"]}),
        "a refused change changes nothing"
    );
    let back = ask(
        "PATCH",
        "/v1/sequences/s",
        r#"{"increment": 2, "start": 7, "restart": true, "allow_repeat": true}"#,
    );
    assert_eq!(back.status, 200, "{}", back.text());
    assert_eq!(
        ask("POST", next, "{\"count\": 2}").json(),
        json!({"ids": ["7", "9"]})
    );
}

#[test]
fn pages_of_listed_origins_may_ask_and_read() {
    let server = Server::with(|config| {
        config.http_origins = vec!["https://app.example".parse().unwrap()];
        tokens(config);
    });
    let mut client = server.http();
    let preflight = [
        ("origin", "https://app.example"),
        ("access-control-request-method", "POST"),
        ("access-control-request-headers", "authorization, content-type"),
    ];
    let allowed = client.ask_with("OPTIONS", "/v1/sequences/s/next", &preflight, "");
    assert_eq!(allowed.status, 204, "a preflight carries no token");
    assert_eq!(
        allowed.header("access-control-allow-origin"),
        Some("https://app.example")
    );
    assert_eq!(allowed.header("access-control-allow-methods"), Some("POST"));
    assert!(
        allowed
            .header("access-control-allow-headers")
            .unwrap()
            .contains("authorization")
    );
    assert_eq!(allowed.header("vary"), Some("origin"));
    assert_eq!(allowed.header("access-control-allow-credentials"), None);
    let mut other = preflight;
    other[0].1 = "https://evil.example";
    let refused = client.ask_with("OPTIONS", "/v1/sequences/s/next", &other, "");
    check_problem(&refused, 403, "cross_origin");
    assert_eq!(refused.header("access-control-allow-origin"), None);
    let from = ("origin", "https://app.example");
    // The page reads refusals too.
    let none = client.ask_with("POST", "/v1/sequences/s/next", &[from], "");
    check_problem(&none, 401, "unauthenticated");
    assert_eq!(
        none.header("access-control-allow-origin"),
        Some("https://app.example")
    );
    let token = ("authorization", "Bearer secret");
    let given = client.ask_with("POST", "/v1/sequences/s/next", &[from, token], "");
    assert_eq!(
        (given.status, given.header("access-control-allow-origin")),
        (200, Some("https://app.example"))
    );
    assert!(
        given
            .header("access-control-expose-headers")
            .unwrap()
            .contains("retry-after")
    );
    let elsewhere = [("origin", "https://evil.example"), token];
    check_problem(
        &client.ask_with("POST", "/v1/sequences/s/next", &elsewhere, ""),
        403,
        "cross_origin",
    );
    // Whoever is no browser sees that answers depend on it, and nothing else.
    let plain = client.ask_with("POST", "/v1/sequences/s/next", &[token], "");
    assert_eq!(
        (plain.header("vary"), plain.header("access-control-allow-origin")),
        (Some("origin"), None)
    );
}

/// A proxy on the same machine passes on the name that it was asked by.
#[test]
fn a_token_proves_what_the_host_would() {
    let server = Server::with(tokens);
    let ask = |extra: &str, target: &str| {
        let mut client = server.http();
        client.send(format!(
            "{target} HTTP/1.1\r\nhost: ids.example.com\r\n{extra}\r\n"
        ));
        client.answer()
    };
    assert_eq!(
        ask("authorization: Bearer secret\r\n", "POST /v1/sequences/s/next").status,
        200
    );
    check_problem(&ask("", "POST /v1/sequences/s/next"), 401, "unauthenticated");
    check_problem(
        &ask("authorization: Bearer guess\r\n", "POST /v1/sequences/s/next"),
        401,
        "wrong_token",
    );
    assert_eq!(ask("", "GET /livez").status, 200);
}

#[test]
fn what_was_asked_is_not_told_back_at_length() {
    let server = Server::with(|config| config.http_max_header = Bytes(64 << 10));
    let mut client = server.http();
    let long = "x".repeat(20_000);
    for target in [
        format!("/v1/sequences/{long}"),
        format!("/{long}"),
        format!("/v1/ids/{long}"),
        format!("/v1/pools/{long}"),
        format!("/v1/inspect/1?{long}=1"),
        format!("/v1/inspect/1?preset={long}"),
        format!("/v1/sequences?after={long}"),
    ] {
        let answer = client.ask("GET", &target);
        assert!(
            answer.status >= 400 && answer.body.len() < 2_000,
            "{}: {}",
            &target[..30],
            answer.body.len()
        );
    }
}

/// Whatever is refused is refused in words, by whoever framed it.
#[test]
fn no_refusal_comes_without_a_document() {
    let server = Server::with(|config| config.http_max_headers = 12);
    let seed = std::process::id() as u64 ^ 0x9e37_79b9_7f4a_7c15;
    println!("seed {seed}");
    let mut state = seed;
    let mut below = |bound: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % bound
    };
    let methods = [
        "GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "BREW", "CONNECT", "G(T", "",
    ];
    let targets = [
        "/livez",
        "/v1/sequences/s/next",
        "/v1/pools",
        "*",
        "http://localhost/livez",
        "//",
        "/a b",
        "/%zz",
        "/\u{e9}",
        "a:1",
        "/a#b",
        "",
    ];
    let versions = [
        "HTTP/1.1",
        "HTTP/1.1",
        "HTTP/1.0",
        "HTTP/2.0",
        "http/1.1",
        "HTTP/1.1 ",
        "",
    ];
    let lines = [
        "host: localhost",
        "Host: localhost",
        "accept: */*",
        "content-length: 0",
        "content-length: 2",
        "content-length: -1",
        "transfer-encoding: chunked",
        "expect: 100-continue",
        "upgrade: h2c",
        "connection: close",
        "x: \u{e9}",
        "a b: c",
        "na(me: c",
        ": c",
        "x:",
        "idempotency-key: 1",
        "origin: null",
        "content-type: text/plain",
        "accept: image/png",
        "te: trailers",
    ];
    for _ in 0..2_000 {
        let mut request = format!(
            "{} {} {}\r\n",
            methods[below(methods.len())],
            targets[below(targets.len())],
            versions[below(versions.len())]
        );
        for _ in 0..below(16) {
            request.push_str(lines[below(lines.len())]);
            request.push_str("\r\n");
        }
        request.push_str("\r\n{}0\r\n\r\n");
        let mut client = server.http();
        let _ = client.try_send(&request) && client.try_finish_sending();
        let got = client.read_to_end();
        for answer in got
            .split("HTTP/1.1 ")
            .filter(|answer| answer.starts_with(['4', '5']))
        {
            let documented = answer.contains("application/problem+json") && answer.contains("\"code\":\"");
            assert!(documented, "{request:?}: {got:?}");
        }
    }
}
