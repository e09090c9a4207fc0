//! tinyid's HTTP, byte by byte: every row of its table, and what is refused.

use mintage_server::auth::{Right, TokenDigest};
use mintage_server::config::{Config, FaceAuth, Listen, Setting};

use crate::common::{Answer, Client, Server, token};

const TEXT: &str = "text/plain;charset=UTF-8";
const JSON: &str = "application/json;charset=UTF-8";

fn tinyid(config: &mut Config) {
    config
        .faces
        .get_mut::<mintage_faces::tinyid::Settings>()
        .access
        .listen = Listen::parse("main, 127.0.0.1:0").unwrap();
}

/// A server with the biz type `order`, which begins at 1, and `odd`, every second number from 1.
fn server(change: impl FnOnce(&mut Config)) -> Server {
    let server = Server::with(|config| {
        tinyid(config);
        change(config);
    });
    for (name, definition) in [
        ("tinyid:order", "{}"),
        ("tinyid:odd", r#"{"start":"1","increment":"2"}"#),
        ("tinyid:down", r#"{"increment":"-1"}"#),
        ("tinyid:end", r#"{"max":"3"}"#),
    ] {
        let mut headers = vec![("content-type", "application/json")];
        headers.push(("authorization", "Bearer o"));
        let made = server
            .http()
            .ask_with("PUT", &format!("/v1/sequences/{name}"), &headers, definition);
        assert_eq!(
            made.status,
            201,
            "{name}: {}",
            String::from_utf8_lossy(&made.body)
        );
    }
    server
}

fn ask(server: &Server, path: &str) -> (u16, String, String) {
    said(&Client::connect(server.address("tinyid")).ask("GET", path))
}

fn said(answer: &Answer) -> (u16, String, String) {
    let kind = answer.header("content-type").unwrap_or_default().to_string();
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    (
        answer.status,
        kind,
        String::from_utf8(answer.body.clone()).unwrap(),
    )
}

#[track_caller]
fn check(server: &Server, rows: &[(&str, u16, &str, &str)]) {
    for (path, status, kind, body) in rows {
        let expected = (*status, kind.to_string(), body.to_string());
        assert_eq!(ask(server, &format!("/tinyid/id/{path}")), expected, "{path}");
    }
}

#[test]
fn ids_and_segments_are_answered_as_by_the_original() {
    let server = server(|config| {
        config.faces.get_mut::<mintage_faces::tinyid::Settings>().steps =
            Setting::parse("{ order = 1000, odd = 20 }").unwrap()
    });
    let ok = |data: &str| format!("{{\"data\":{data},\"code\":200,\"message\":\"\"}}");
    check(
        &server,
        &[
            ("nextId?bizType=order&token=t", 200, JSON, &ok("[1]")),
            (
                "nextId?bizType=order&token=t&batchSize=3",
                200,
                JSON,
                &ok("[2,3,4]"),
            ),
            ("nextId?bizType=order&token=t&batchSize=", 200, JSON, &ok("[5]")),
            (
                "nextId?bizType=order&token=t&batchSize=+2%20",
                200,
                JSON,
                &ok("[6,7]"),
            ),
            (
                "nextId?bizType=order&token=t&batchSize=%2B1",
                200,
                JSON,
                &ok("[8]"),
            ),
            ("nextId?bizType=order&token=t&batchSize=0", 200, JSON, &ok("[]")),
            ("nextId?bizType=order&token=t&batchSize=-5", 200, JSON, &ok("[]")),
            (
                "nextIdSimple?bizType=order&token=t&batchSize=2",
                200,
                TEXT,
                "9,10",
            ),
            ("nextIdSimple?bizType=order&token=t&batchSize=0", 200, TEXT, ""),
            ("nextIdSimple/?bizType=order&token=t", 200, TEXT, "11"),
            ("nextId.json?bizType=order&token=t", 200, JSON, &ok("[12]")),
            // Two are one, with a comma between.
            ("nextIdSimple?bizType=order&bizType=odd&token=t", 200, TEXT, ""),
            ("nextIdSimple?bizType=order&token=t&token=u", 200, TEXT, "13"),
            (
                "nextSegmentIdSimple?bizType=order&token=t",
                200,
                TEXT,
                "13,213,1013,1,0",
            ),
            (
                "nextSegmentId?bizType=order&token=t",
                200,
                JSON,
                &ok("{\"maxId\":2013,\"loadingId\":1213,\"currentId\":1013,\"delta\":1,\"remainder\":0}"),
            ),
            ("nextIdSimple?bizType=order&token=t", 200, TEXT, "2014"),
            // What the client was seen to read, and to issue as 1, 3, 5, …
            (
                "nextSegmentIdSimple?bizType=odd&token=t",
                200,
                TEXT,
                "-1,3,19,2,1",
            ),
            (
                "nextSegmentIdSimple?bizType=odd&token=t",
                200,
                TEXT,
                "19,23,39,2,1",
            ),
        ],
    );
}

#[test]
fn the_java_client_gets_text_whatever_it_prefers() {
    let server = server(|_| {});
    let headers = [
        ("content-type", "application/x-www-form-urlencoded"),
        ("content-length", "0"),
        ("accept", "text/html, image/gif, image/jpeg, */*; q=0.2"),
    ];
    let path = "/tinyid/id/nextSegmentIdSimple?token=t&bizType=order";
    let mut client = Client::connect(server.address("tinyid"));
    let (status, kind, body) = said(&client.ask_with("POST", path, &headers, ""));
    assert_eq!((status, body.as_str()), (200, "0,20000,100000,1,0"));
    assert_eq!(kind, "text/html;charset=UTF-8");
    // A form is read, and the query stands before it.
    let mut client = Client::connect(server.address("http"));
    let form = [("content-type", "application/x-www-form-urlencoded")];
    let answer = client.ask_with(
        "POST",
        "/tinyid/id/nextIdSimple?token=t",
        &form,
        "bizType=order&token=x",
    );
    assert_eq!(said(&answer), (200, TEXT.into(), "100001".into()));
    let json = [("content-type", "application/json")];
    let answer = client.ask_with(
        "POST",
        "/tinyid/id/nextIdSimple?token=t",
        &json,
        "{\"bizType\":\"order\"}",
    );
    assert_eq!(said(&answer), (200, TEXT.into(), String::new()));
}

#[test]
fn failures_are_200_and_an_empty_text() {
    let server = server(|_| {});
    let token = "{\"data\":null,\"code\":5,\"message\":\"token is error\"}";
    let code_6 = |message: &str| format!("{{\"data\":null,\"code\":6,\"message\":\"{message}\"}}");
    check(
        &server,
        &[
            ("nextId?bizType=order", 200, JSON, token),
            ("nextId?bizType=&token=t", 200, JSON, token),
            ("nextSegmentId?token=t", 200, JSON, token),
            ("nextIdSimple?bizType=order&token=", 200, TEXT, ""),
            (
                "nextId?bizType=none&token=t",
                200,
                JSON,
                &code_6("error query segmentId: can not find biztype:none"),
            ),
            (
                "nextSegmentId?bizType=none&token=t",
                200,
                JSON,
                &code_6("can not find biztype:none"),
            ),
            ("nextSegmentIdSimple?bizType=none&token=t", 200, TEXT, ""),
            ("nextIdSimple?bizType=none&token=t", 200, TEXT, ""),
            (
                "nextSegmentId?bizType=down&token=t",
                200,
                JSON,
                &code_6("down counts from -1 by -1: a segment counts up"),
            ),
            ("nextIdSimple?bizType=%ff&token=t", 200, TEXT, ""),
            ("nextIdSimple?bizType=end&token=t&batchSize=3", 200, TEXT, "1,2,3"),
            ("nextIdSimple?bizType=end&token=t", 200, TEXT, ""),
            ("nextSegmentIdSimple?bizType=end&token=t", 200, TEXT, ""),
        ],
    );
    for (path, status, error, message) in [
        (
            "nextId?bizType=order&token=t&batchSize=0xx",
            400,
            "Bad Request",
            "NumberFormatException: For input string: \\\"x\\\" under radix 16",
        ),
        (
            "nextIdSimple?bizType=order&token=t&batchSize=9999999999",
            400,
            "Bad Request",
            "For input string: \\\"9999999999\\\"",
        ),
        ("other", 404, "Not Found", "No message available"),
    ] {
        let (got, kind, body) = ask(&server, &format!("/tinyid/id/{path}"));
        assert_eq!((got, kind.as_str()), (status, JSON), "{path}");
        assert!(body.starts_with("{\"timestamp\":"), "{body}");
        assert!(
            body.contains(&format!(
                ",\"status\":{status},\"error\":\"{error}\",{}\"message\":\"",
                match status {
                    400 => "\"exception\":\"org.springframework.web.method.annotation.MethodArgumentTypeMismatchException\",",
                    _ => "",
                }
            )),
            "{body}"
        );
        assert!(body.contains(message), "{body}");
        let plain = path.split('?').next().unwrap();
        assert!(
            body.ends_with(&format!("\"path\":\"/tinyid/id/{plain}\"}}")),
            "{body}"
        );
    }
    assert_eq!(
        ask(&server, "/tinyid/id/nextIdSimple?bizType=order&token=t").2,
        "1",
        "nothing was taken"
    );
}

#[test]
fn bytes_that_are_no_text_are_no_key() {
    let server = server(|config| {
        config
            .faces
            .get_mut::<mintage_faces::tinyid::Settings>()
            .keys
            .create = true
    });
    for key in ["%ff", "%fe", "%ef%bf%bd"] {
        let path = format!("/tinyid/id/nextIdSimple?bizType=a{key}&token=t");
        assert_eq!(ask(&server, &path), (200, TEXT.into(), String::new()), "{key}");
    }
    assert_eq!(ask(&server, "/tinyid/id/nextIdSimple?bizType=a&token=t").2, "1");
}

#[test]
fn a_token_may_stand_in_a_header() {
    let digest = TokenDigest::of(b"biz").to_hex();
    let server = server(|config| {
        config.faces.get_mut::<mintage_faces::tinyid::Settings>().tokens =
            Setting::parse(&format!("[{{sha256 = \"{digest}\", biz = [\"order\"]}}]")).unwrap();
    });
    let mut client = Client::connect(server.address("tinyid"));
    let path = "/tinyid/id/nextIdSimple?bizType=order";
    let headers = [("authorization", "Bearer biz")];
    assert_eq!(client.ask_with("GET", path, &headers, "").body, b"1");
    assert_eq!(
        client
            .ask_with("GET", path, &[("authorization", "Bearer x")], "")
            .body,
        b""
    );
}

#[test]
fn what_takes_nothing_takes_nothing() {
    let server = server(|_| {});
    let mut client = Client::connect(server.address("tinyid"));
    let path = "/tinyid/id/nextIdSimple?bizType=order&token=t";
    client.send(format!("HEAD {path} HTTP/1.1\r\nhost: localhost\r\n\r\n"));
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        head.push_str(&String::from_utf8(client.read(1)).unwrap());
    }
    assert!(
        head.starts_with("HTTP/1.1 200 OK\r\n") && head.contains(TEXT),
        "{head}"
    );
    assert_eq!(client.ask("OPTIONS", path).status, 200);
    for headers in [
        [("sec-fetch-site", "cross-site")],
        [("sec-fetch-site", "same-site")],
        [("origin", "http://evil.example")],
    ] {
        let refused = client.ask_with("GET", path, &headers, "");
        assert_eq!(refused.status, 403);
        assert!(String::from_utf8_lossy(&refused.body).contains("\"error\":\"Forbidden\""));
    }
    assert_eq!(client.ask("GET", path).body, b"1");
}

#[test]
fn tokens_are_those_of_the_table_or_ours() {
    let tokens = || {
        vec![
            token("web", "w", &[Right::Allocate]),
            token("ops", "o", &[Right::Admin]),
        ]
    };
    let digest = TokenDigest::of(b"biz").to_hex();
    let table = format!("[{{sha256 = \"{digest}\", biz = [\"order\"]}}]");
    let of_table = server(|config| {
        config.faces.get_mut::<mintage_faces::tinyid::Settings>().tokens = Setting::parse(&table).unwrap()
    });
    let token_is_error = "{\"data\":null,\"code\":5,\"message\":\"token is error\"}";
    check(
        &of_table,
        &[
            ("nextIdSimple?bizType=order&token=biz", 200, TEXT, "1"),
            ("nextIdSimple?bizType=order&token=other", 200, TEXT, ""),
            ("nextId?bizType=odd&token=biz", 200, JSON, token_is_error),
            ("nextId?bizType=none&token=biz", 200, JSON, token_is_error),
        ],
    );
    let ours = server(|config| config.tokens = tokens());
    check(
        &ours,
        &[
            ("nextIdSimple?bizType=order&token=w", 200, TEXT, "1"),
            ("nextId?bizType=order&token=x", 200, JSON, token_is_error),
        ],
    );
    let open = server(|config| {
        config.tokens = tokens();
        config
            .faces
            .get_mut::<mintage_faces::tinyid::Settings>()
            .access
            .auth = FaceAuth::Open;
    });
    check(&open, &[("nextIdSimple?bizType=order&token=any", 200, TEXT, "1")]);
}

#[test]
fn a_store_that_is_away_is_a_failure_in_the_same_words() {
    let (server, store) = Server::faulty_with(tinyid);
    server.resp().send("INCR tinyid:order\r\n").expect(":1\r\n");
    store.fail_all(true);
    let (status, _, body) = ask(&server, "/tinyid/id/nextSegmentId?bizType=order&token=t");
    assert_eq!(status, 200);
    assert!(
        body.starts_with("{\"data\":null,\"code\":6,\"message\":\""),
        "{body}"
    );
    assert_eq!(
        ask(&server, "/tinyid/id/nextSegmentIdSimple?bizType=order&token=t").2,
        ""
    );
}
