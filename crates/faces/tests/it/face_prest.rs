//! The face `prest`: every row of its tables, byte for byte.

use mintage_server::auth::Right;
use mintage_server::config::{Config, FaceAuth, Listen, Setting};

use crate::common::{Answer, Client, Server, token};

fn switch_on(config: &mut Config) {
    let face = &mut config.faces.get_mut::<mintage_faces::prest::Settings>();
    face.access.listen = Listen::parse("127.0.0.1:0").unwrap();
    let queries = [
        r#""ids/next" = { sequence = "orders" }"#,
        r#""ids/nextval" = { parameter = "seq", column = "id" }"#,
        r#""ids/gone" = { sequence = "nothing" }"#,
        r#""a b/c" = { sequence = "orders", column = "a \"b\"" }"#,
    ];
    face.queries = Setting::parse(&format!("{{ {} }}", queries.join(", "))).unwrap();
}

fn server(change: impl FnOnce(&mut Config)) -> Server {
    Server::with(|config| {
        switch_on(config);
        change(config);
    })
}

fn client(server: &Server) -> Client {
    server.face("prest")
}

/// Compares a whole answer but its date.
#[track_caller]
fn check(answer: &Answer, status: u16, more: &[(&str, &str)], body: &str) {
    let length = body.len().to_string();
    let mut expected = vec![
        ("cache-control", "no-store"),
        ("content-length", &length),
        ("content-type", "application/json"),
        ("x-content-type-options", "nosniff"),
    ];
    expected.extend(more);
    expected.sort_unstable();
    let given = answer.headers.iter().filter(|(name, _)| name != "date");
    let mut given: Vec<(&str, &str)> = given
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    given.sort_unstable();
    assert_eq!((answer.status, answer.text().as_str()), (status, body));
    assert_eq!(given, expected, "{body}");
}

#[test]
fn a_script_gives_a_row_with_a_number() {
    let server = server(|_| {});
    server.make("orders", "{}");
    server.make("shop.orders", "{}");
    let mut client = client(&server);
    for (target, body) in [
        ("/_QUERIES/ids/next", r#"[{"nextval": 1}]"#),
        ("/_QUERIES/shop/ids/next", r#"[{"nextval": 2}]"#),
        ("/_QUERIES/ids/next?x=1", r#"[{"nextval": 3}]"#),
        ("/_QUERIES/ids/nextval?seq=public.orders", r#"[{"id": 4}]"#),
        (
            "/_QUERIES/shop/ids/nextval?a=b&seq=%22orders%22",
            r#"[{"id": 5}]"#,
        ),
        ("/_QUERIES/ids/nextval?seq=Shop.Orders", r#"[{"id": 1}]"#),
        ("/_QUERIES/a%20b/c", r#"[{"a \"b\"": 6}]"#),
    ] {
        check(&client.ask("GET", target), 200, &[], body);
    }
}

#[test]
fn what_is_refused_is_an_error_in_a_document() {
    let server = server(|_| {});
    server.make("orders", r#"{"max": 2}"#);
    let mut client = client(&server);
    let not_found = r#"{"error":"could not get script ids/x, could not load script: query not found"}"#;
    let not_executed = r#"{"error":"could not execute sql, check your prest logs"}"#;
    let no_path = r#"{"error":"there is no such path"}"#;
    let no_parameter = r#"{"error":"could not parse script: the query has no parameter seq"}"#;
    for (target, status, body) in [
        ("/_QUERIES/ids/x", 400, not_found),
        ("/_QUERIES/shop/ids/x", 400, not_found),
        ("/_QUERIES/ids/gone", 400, not_executed),
        ("/_QUERIES/ids/nextval?seq=x", 400, not_executed),
        ("/_QUERIES/ids/nextval?seq=", 400, not_executed),
        ("/_QUERIES/ids/nextval?seq=a.b.c", 400, not_executed),
        ("/_QUERIES/ids/nextval", 400, no_parameter),
        ("/_QUERIES/ids", 404, no_path),
        ("/_QUERIES/a/b/c/d", 404, no_path),
        ("/", 404, no_path),
        ("/orders", 404, no_path),
    ] {
        check(&client.ask("GET", target), status, &[], body);
    }
    let allow = [("allow", "GET")];
    let write =
        r#"{"error":"a script gives its number to GET alone: a write answers how many rows it touched"}"#;
    for method in ["POST", "PUT", "PATCH", "DELETE"] {
        check(&client.ask(method, "/_QUERIES/ids/next"), 405, &allow, write);
    }
    // None of those took a number; there are two.
    check(
        &client.ask("GET", "/_QUERIES/ids/next"),
        200,
        &[],
        r#"[{"nextval": 1}]"#,
    );
    let second = r#"[{"nextval": 2}]"#;
    check(&client.ask("GET", "/_QUERIES/ids/next"), 200, &[], second);
    check(&client.ask("GET", "/_QUERIES/ids/next"), 400, &[], not_executed);
}

#[test]
fn looking_takes_no_number() {
    let server = server(|_| {});
    server.make("orders", "{}");
    let mut client = client(&server);
    for (method, target, status) in [
        ("HEAD", "/_QUERIES/ids/next", "HTTP/1.1 200 OK"),
        ("HEAD", "/_QUERIES/ids/x", "HTTP/1.1 400 Bad Request"),
        ("OPTIONS", "/_QUERIES/ids/next", "HTTP/1.1 200 OK"),
    ] {
        client.send(format!("{method} {target} HTTP/1.1\r\nhost: localhost\r\n\r\n"));
        assert_eq!(client.line(), status);
        while !client.line().is_empty() {}
    }
    for headers in [
        &[("sec-fetch-site", "cross-site")][..],
        &[("origin", "https://evil.example")],
    ] {
        let answer = client.ask_with("GET", "/_QUERIES/ids/next", headers, "");
        assert_eq!(answer.status, 403);
        assert!(
            answer
                .text()
                .starts_with(r#"{"error":"the request comes from a page of"#)
        );
    }
    check(
        &client.ask("GET", "/_QUERIES/ids/next"),
        200,
        &[],
        r#"[{"nextval": 1}]"#,
    );
}

#[test]
fn tokens_are_asked_for_unless_it_is_open() {
    for auth in [FaceAuth::Token, FaceAuth::Open] {
        let server = server(|config| {
            config.tokens = vec![token("app", "some", &[Right::Admin, Right::Allocate])];
            config
                .faces
                .get_mut::<mintage_faces::prest::Settings>()
                .access
                .auth = auth;
        });
        let bearer = [("authorization", "Bearer some")];
        let made = server
            .http()
            .ask_with("PUT", "/v1/sequences/orders", &bearer, "{}");
        assert_eq!(made.status, 201);
        let mut client = client(&server);
        let answer = client.ask_with("GET", "/_QUERIES/ids/next", &bearer, "");
        check(&answer, 200, &[], r#"[{"nextval": 1}]"#);
        let answer = client.ask("GET", "/_QUERIES/ids/next");
        match auth {
            FaceAuth::Open => check(&answer, 200, &[], r#"[{"nextval": 2}]"#),
            FaceAuth::Token => {
                let basic = [("www-authenticate", "Bearer")];
                check(&answer, 401, &basic, r#"{"error":"this needs a token"}"#);
                let wrong = [("authorization", "Bearer other")];
                let answer = client.ask_with("GET", "/_QUERIES/ids/next", &wrong, "");
                check(&answer, 401, &basic, r#"{"error":"the token is not known"}"#);
            }
        }
    }
}

#[test]
fn large_numbers_are_quoted_where_asked_for() {
    for (strings, body) in [
        (false, r#"[{"nextval": 9007199254740992}]"#),
        (true, r#"[{"nextval": "9007199254740992"}]"#),
    ] {
        let server =
            server(|config| config.faces.get_mut::<mintage_faces::prest::Settings>().strings = strings);
        server.make("orders", r#"{"start": "9007199254740992"}"#);
        check(&client(&server).ask("GET", "/_QUERIES/ids/next"), 200, &[], body);
    }
}

#[test]
fn a_store_that_is_away_is_said_to_be_and_when_to_ask_again() {
    let (server, store) = Server::faulty_with(switch_on);
    store.fail_all(true);
    let answer = client(&server).ask("GET", "/_QUERIES/ids/next");
    let wait = answer.header("retry-after").map(str::to_string).unwrap();
    assert!((1..=60).contains(&wait.parse::<u64>().unwrap()), "{wait}");
    let retry = [("retry-after", wait.as_str())];
    check(&answer, 503, &retry, r#"{"error":"get failed: injected fault"}"#);
    store.fail_all(false);
}

#[test]
fn our_own_port_answers_too_where_it_is_shared() {
    let server = server(|config| {
        config
            .faces
            .get_mut::<mintage_faces::prest::Settings>()
            .access
            .listen = Listen::parse("main").unwrap()
    });
    server.make("orders", "{}");
    check(
        &server.http().ask("GET", "/_QUERIES/ids/next"),
        200,
        &[],
        r#"[{"nextval": 1}]"#,
    );
    let metrics = server.http().ask("GET", "/metrics").text();
    assert!(metrics.contains("mint_face_requests_total{face=\"prest\",answer=\"ok\"} 1"));
}
