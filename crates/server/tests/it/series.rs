//! `/v1/series` over HTTP, byte by byte.

use mintage_server::auth::Right;

use crate::common::{Client, Server, token};

/// Asks for a document and compares it whole.
#[track_caller]
fn check(client: &mut Client, target: &str, expected: &str) {
    let answer = client.ask("GET", &format!("/v1/series{target}"));
    assert_eq!(
        (answer.status, answer.text().as_str()),
        (200, expected),
        "{target}"
    );
}

/// Asks for what is refused.
#[track_caller]
fn check_refused(client: &mut Client, target: &str, code: &str, detail: &str, hint: Option<&str>) {
    let answer = client.ask("GET", &format!("/v1/series{target}"));
    let problem = answer.json();
    assert_eq!(
        (problem["code"].as_str(), problem["detail"].as_str()),
        (Some(code), Some(detail)),
        "{target}"
    );
    assert_eq!(problem["hint"].as_str(), hint, "{target}");
    assert_eq!(answer.header("cache-control"), Some("no-store"), "{target}");
}

#[test]
fn a_series_is_what_the_command_prints() {
    let server = Server::start();
    let mut client = server.http();
    for (target, expected) in [
        (
            "?from=1&to=15&step=3",
            r#"{"values":["1","4","7","10","13"],"next":null}"#,
        ),
        (
            "?from=15&to=1&step=3",
            r#"{"values":["13","10","7","4","1"],"next":null}"#,
        ),
        (
            "?from=15&to=1&step=-3",
            r#"{"values":["15","12","9","6","3"],"next":null}"#,
        ),
        (
            "/seq_1_to_15_step_3",
            r#"{"values":["1","4","7","10","13"],"next":null}"#,
        ),
        (
            "/seq_15_to_1_step_3",
            r#"{"values":["13","10","7","4","1"],"next":null}"#,
        ),
        ("/seq_5_to_5_step_9", r#"{"values":["5"],"next":null}"#),
        ("/seq_1_to_3?as=letter", r#"{"values":["A","B","C"],"next":null}"#),
        ("?from=Y&to=AB", r#"{"values":["Y","Z","AA","AB"],"next":null}"#),
        ("?from=Y&to=Z&as=number", r#"{"values":["25","26"],"next":null}"#),
        (
            "?from=2024-01-31&to=2024-03-31&step=1mo",
            r#"{"values":["2024-01-31","2024-02-29","2024-03-31"],"next":null}"#,
        ),
        (
            "?from=2026-01-01T22:00:00%2B01:00&to=2026-01-02T00:00:00+01:00&step=1h",
            r#"{"values":["2026-01-01T22:00:00+01:00","2026-01-01T23:00:00+01:00","2026-01-02T00:00:00+01:00"],"next":null}"#,
        ),
        (
            "?from=2026-01-01&to=2026-01-02&step=12h&as=time",
            r#"{"values":["2026-01-01T00:00:00Z","2026-01-01T12:00:00Z","2026-01-02T00:00:00Z"],"next":null}"#,
        ),
    ] {
        check(&mut client, target, &format!("{expected}\n"));
    }
}

#[test]
fn a_series_of_any_length_is_taken_page_by_page() {
    let server = Server::with(|config| config.max_count = 3);
    let mut client = server.http();
    check(
        &mut client,
        "?from=1&to=3",
        "{\"values\":[\"1\",\"2\",\"3\"],\"next\":null}\n",
    );
    check_refused(
        &mut client,
        "?from=1&to=4",
        "invalid_count",
        "the series goes on for 4 values, an answer holds at most 3 (server.max_count)",
        Some("take it page by page: count=3, then after=LAST of each page for the next"),
    );
    check_refused(
        &mut client,
        "?from=1&to=4&count=4",
        "invalid_count",
        "count must be a whole number from 1 to 3",
        None,
    );
    let long = "?from=1&to=1000000000000000000&step=3&count=2";
    check(&mut client, long, "{\"values\":[\"1\",\"4\"],\"next\":\"4\"}\n");
    check(
        &mut client,
        &format!("{long}&after=4"),
        "{\"values\":[\"7\",\"10\"],\"next\":\"10\"}\n",
    );
    let end = "{\"values\":[\"999999999999999997\",\"1000000000000000000\"],\"next\":null}\n";
    check(&mut client, &format!("{long}&after=999999999999999994"), end);
    check(
        &mut client,
        &format!("{long}&after=1000000000000000000"),
        "{\"values\":[],\"next\":null}\n",
    );
    // What is left is whole again.
    check(
        &mut client,
        "/seq_1_to_9?after=6",
        "{\"values\":[\"7\",\"8\",\"9\"],\"next\":null}\n",
    );
    check_refused(
        &mut client,
        &format!("{long}&after=5"),
        "invalid_argument",
        "after=5 is not a value of this series",
        None,
    );
    check_refused(
        &mut client,
        "?from=1&to=9&after=x&count=1",
        "invalid_argument",
        "after=x is not a number",
        None,
    );
    // By months it is the same.
    check(
        &mut client,
        "?from=2026-01-31&to=9999-12-31&step=1mo&count=2&after=2026-02-28",
        "{\"values\":[\"2026-03-31\",\"2026-04-30\"],\"next\":\"2026-04-30\"}\n",
    );
}

#[test]
fn a_series_comes_in_the_form_that_is_accepted() {
    let server = Server::start();
    let mut client = server.http();
    let mut ask = |target: &str, accept: &str| {
        client.ask_with("GET", &format!("/v1/series{target}"), &[("accept", accept)], "")
    };
    assert_eq!(ask("/seq_3_to_1", "text/plain").text(), "3\n2\n1\n");
    assert_eq!(ask("?from=A&to=C", "text/plain").text(), "A\nB\nC\n");
    let packed = ask("?from=-1&to=1", "application/octet-stream");
    assert_eq!(
        packed.body,
        [(-1i64).to_be_bytes(), 0i64.to_be_bytes(), 1i64.to_be_bytes()].concat()
    );
    let packed = ask(
        "/seq_18446744073709551614_to_18446744073709551615",
        "application/octet-stream",
    );
    assert_eq!(
        packed.body,
        [(u64::MAX - 1).to_be_bytes(), u64::MAX.to_be_bytes()].concat()
    );
    for (target, detail) in [
        (
            "?from=A&to=C",
            "a series of form letter is text alone and has no bytes",
        ),
        (
            "?from=2026-01-01&to=2026-01-02",
            "a series of form date is text alone and has no bytes",
        ),
        (
            "?from=-1&to=18446744073709551615&step=9223372036854775808",
            "numbers below 0 and above 2^63-1 do not go into eight bytes together",
        ),
    ] {
        let refused = ask(target, "application/octet-stream");
        assert_eq!(
            (refused.status, refused.json()["detail"].as_str()),
            (406, Some(detail)),
            "{target}"
        );
    }
    assert_eq!(ask("/seq_1_to_3", "image/png").status, 406);
}

#[test]
fn what_is_no_series_is_refused_in_words() {
    let server = Server::start();
    let mut client = server.http();
    let bounds = "a series needs its bounds, from and to";
    let example = Some("for example /v1/series?from=1&to=15&step=3, or /v1/series/seq_1_to_15_step_3");
    for (target, detail, hint) in [
        ("", bounds, example),
        ("?from=1", bounds, example),
        ("?to=1", bounds, example),
        ("?from=1&to=2&step=0", "a series needs a step of at least 1", None),
        (
            "?from=1&to=2&step=1h",
            "\"1h\" is not a step of this series: it takes a number",
            None,
        ),
        (
            "?from=A&to=2",
            "A and 2 are not bounds of one such series",
            Some("both are numbers, both letters, or both dates or times"),
        ),
        (
            "?from=2026-01-01T00:00:00Z&to=2026-01-02T00:00:00Z",
            "a series of times needs a step with its unit",
            Some("for example 1h, 15m, 1d, 1mo"),
        ),
        (
            "?from=1&to=2&as=colour",
            "as=colour is neither number nor letter nor date nor time",
            None,
        ),
        (
            "?from=1&to=2&by=1",
            "there is no parameter \"by\"",
            Some("the route takes from, to, step, as, count, after"),
        ),
        (
            "/seq_1",
            "a series is named seq_FROM_to_TO or seq_FROM_to_TO_step_N, all decimal numbers",
            None,
        ),
        ("/seq_1_to_5_step_0", "a series needs a step of at least 1", None),
        ("/seq_0_to_5?as=letter", "0 has no letters: 1 is A", None),
    ] {
        check_refused(&mut client, target, "invalid_argument", detail, hint);
    }
    let refused = client.ask("POST", "/v1/series?from=1&to=2");
    assert_eq!(
        (refused.status, refused.header("allow")),
        (405, Some("GET, HEAD"))
    );
}

#[test]
fn a_series_may_be_kept_by_who_asked_and_head_says_as_much() {
    let server = Server::with(|config| config.tokens = vec![token("look", "see", &[Right::Read])]);
    let mut client = server.http();
    let authorization = [("authorization", "Bearer see")];
    let answer = client.ask_with("GET", "/v1/series/seq_1_to_3", &authorization, "");
    assert_eq!(answer.header("cache-control"), Some("private, max-age=86400"));
    assert_eq!(answer.header("vary"), Some("accept"));
    assert_eq!(client.ask("GET", "/v1/series/seq_1_to_3").status, 401);
    client
        .send("HEAD /v1/series/seq_1_to_3 HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer see\r\n\r\n");
    let mut head = Vec::new();
    while head.last().is_none_or(|line: &String| !line.is_empty()) {
        head.push(client.line());
    }
    assert!(head[0].starts_with("HTTP/1.1 200"), "{head:?}");
    let length = format!("content-length: {}", answer.body.len());
    assert!(
        head.contains(&length) && head.contains(&"cache-control: private, max-age=86400".into()),
        "{head:?}"
    );
}
