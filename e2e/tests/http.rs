//! Every HTTP route, asked by stock curl.
#![allow(clippy::unwrap_used)]

use std::process::Command;

use mintage_e2e::http::{self, Answer};
use mintage_e2e::need;
use mintage_e2e::run;
use mintage_e2e::server::{Server, Start};
use mintage_testing::invariant;

/// One exchange by curl.
#[track_caller]
fn curl(server: &Server, method: &str, path: &str, more: &[&str]) -> Answer {
    let mut command = Command::new("curl");
    command
        .args(["-q", "-sS", "-i", "--max-time", "30", "-X", method])
        .args(more);
    command.arg(format!("{}{path}", server.url()));
    let out = command.output().expect("curl can be started");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    http::parse(&out.stdout).unwrap_or_else(|| panic!("{:?}", String::from_utf8_lossy(&out.stdout)))
}

fn json_body(body: &str) -> Vec<String> {
    ["-H", "content-type: application/json", "-d", body]
        .map(String::from)
        .to_vec()
}

#[track_caller]
fn send(server: &Server, method: &str, path: &str, body: &str) -> Answer {
    let more = json_body(body);
    curl(
        server,
        method,
        path,
        &more.iter().map(String::as_str).collect::<Vec<_>>(),
    )
}

fn serving() -> (tempfile::TempDir, Server) {
    let folder = tempfile::tempdir().unwrap();
    let server = Start::in_folder(folder.path()).ready();
    (folder, server)
}

#[test]
fn numbers_come_as_json_text_bytes_or_a_range() {
    if !need::curl() {
        return;
    }
    let (_folder, server) = serving();
    let next = "/v1/sequences/orders/next";
    let first = curl(&server, "POST", next, &[]);
    assert_eq!((first.status, first.text().trim()), (200, r#"{"ids":["1"]}"#));
    assert_eq!(first.header("content-type"), Some("application/json"));
    assert_eq!(first.header("cache-control"), Some("no-store"));
    let more = curl(&server, "POST", &format!("{next}?count=2"), &[]);
    assert_eq!(more.json(), serde_json::json!({"ids": ["2", "3"]}));
    let text = curl(
        &server,
        "POST",
        &format!("{next}?count=2"),
        &["-H", "accept: text/plain"],
    );
    assert_eq!(text.text(), "4\n5\n");
    assert!(text.header("content-type").unwrap().starts_with("text/plain"));
    let bytes = curl(&server, "POST", next, &["-H", "accept: application/octet-stream"]);
    assert_eq!(bytes.body, [0, 0, 0, 0, 0, 0, 0, 6]);
    let run = curl(&server, "POST", &format!("{next}?count=10&as=range"), &[]);
    assert_eq!(
        run.json(),
        serde_json::json!({"first": "7", "last": "16", "increment": "1"})
    );
}

#[test]
fn a_sequence_is_defined_shown_changed_restarted_and_dropped() {
    if !need::curl() {
        return;
    }
    let (_folder, server) = serving();
    let path = "/v1/sequences/invoices";
    let definition = r#"{"start":"100","increment":"10","max":"130","gap":"none"}"#;
    let made = send(&server, "PUT", path, definition);
    assert!([200, 201].contains(&made.status), "{made:?}");
    assert_eq!(send(&server, "PUT", path, definition).status, 200);
    let other = send(&server, "PUT", path, r#"{"start":"5"}"#);
    assert_eq!(
        (other.status, other.json()["code"].as_str()),
        (409, Some("exists"))
    );
    let shown = curl(&server, "GET", path, &[]).json();
    for (field, want) in [
        ("start", "100"),
        ("increment", "10"),
        ("max", "130"),
        ("gap", "none"),
    ] {
        assert_eq!(shown[field], want, "{shown}");
    }
    let take = |count: u32| curl(&server, "POST", &format!("{path}/next?count={count}"), &[]);
    assert_eq!(
        take(4).json(),
        serde_json::json!({"ids": ["100", "110", "120", "130"]})
    );
    let full = take(1);
    assert_eq!(
        (full.status, full.json()["code"].as_str()),
        (409, Some("exhausted"))
    );
    assert!(send(&server, "PATCH", path, r#"{"max":"200"}"#).status == 200);
    assert_eq!(take(1).json()["ids"][0], "140");
    let back = send(
        &server,
        "POST",
        &format!("{path}/restart"),
        r#"{"value":"100","is_called":false}"#,
    );
    assert_eq!(
        (back.status, back.json()["code"].as_str()),
        (409, Some("needs_allow_repeat"))
    );
    let forced = r#"{"value":"100","is_called":false,"allow_repeat":true}"#;
    assert_eq!(
        send(&server, "POST", &format!("{path}/restart"), forced).status,
        200
    );
    assert_eq!(take(1).json()["ids"][0], "100");
    let names = |answer: Answer| -> Vec<String> {
        let all = answer.json()["sequences"].as_array().cloned().unwrap_or_default();
        all.iter()
            .filter_map(|s| s["name"].as_str().map(String::from))
            .collect()
    };
    assert_eq!(names(curl(&server, "GET", "/v1/sequences", &[])), ["invoices"]);
    assert!(curl(&server, "DELETE", path, &[]).status < 300);
    assert_eq!(curl(&server, "GET", path, &[]).status, 404);
    assert!(names(curl(&server, "GET", "/v1/sequences", &[])).is_empty());
}

#[test]
fn ids_of_every_format_and_their_inspection() {
    if !need::curl() {
        return;
    }
    let (_folder, server) = serving();
    for (path, format) in [
        ("/v1/ids/uuid?count=3", "uuid"),
        ("/v1/ids/uuid4?count=3", "uuid"),
        ("/v1/ids/uuid7?count=3", "uuid"),
        ("/v1/ids/snowflake?count=3", "snowflake"),
        ("/v1/snowflakes/default?count=3", "snowflake"),
    ] {
        let answer = curl(&server, "POST", path, &[]);
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
        assert_eq!(answer.header("cache-control"), Some("no-store"), "{path}");
        let ids = answer.json()["ids"].as_array().unwrap().clone();
        assert_eq!(ids.len(), 3, "{path}");
        for id in ids {
            let id = id.as_str().unwrap();
            let seen = curl(&server, "GET", &format!("/v1/inspect/{id}"), &[]).json();
            assert_eq!(
                (&seen["input"], &seen["readings"][0]["format"]),
                (&id.into(), &format.into()),
                "{seen}"
            );
        }
    }
}

#[test]
fn what_cannot_be_done_is_a_problem_document_with_a_stable_code() {
    if !need::curl() {
        return;
    }
    let (_folder, server) = serving();
    for (method, path, status, code) in [
        ("GET", "/v1/sequences/orders/next", 405, "method_not_allowed"),
        ("GET", "/v1/ids/uuid7", 405, "method_not_allowed"),
        ("POST", "/v1/sequences/orders/next?count=0", 400, "invalid_count"),
        (
            "POST",
            "/v1/sequences/orders/next?count=9223372036854775808",
            400,
            "invalid_count",
        ),
        (
            "POST",
            "/v1/sequences/orders/next?count=10001",
            400,
            "invalid_count",
        ),
        ("POST", "/v1/sequences/orders/next?count=x", 400, "invalid_count"),
        ("POST", "/v1/sequences/a%09b/next", 400, "invalid_name"),
        ("POST", "/v1/ids/nosuch", 404, "unknown_format"),
        ("POST", "/v1/snowflakes/nosuch", 404, "not_found"),
        ("GET", "/v1/sequences/nosuch", 404, "not_found"),
        ("GET", "/nosuch", 404, "unknown_route"),
    ] {
        let answer = curl(&server, method, path, &[]);
        assert_eq!(answer.status, status, "{method} {path}: {answer:?}");
        assert_eq!(
            answer.header("content-type"),
            Some("application/problem+json"),
            "{method} {path}"
        );
        assert_eq!(answer.json()["code"], code, "{method} {path}");
    }
    // Nothing of all this moved the sequence.
    assert_eq!(
        curl(&server, "POST", "/v1/sequences/orders/next", &[]).json()["ids"][0],
        "1"
    );
}

#[test]
fn operations_have_their_routes() {
    if !need::curl() {
        return;
    }
    let (_folder, server) = serving();
    assert_eq!(curl(&server, "GET", "/livez", &[]).status, 200);
    let ready = curl(&server, "GET", "/readyz", &[]);
    assert!([200, 503].contains(&ready.status), "{ready:?}");
    curl(&server, "POST", "/v1/sequences/orders/next?count=5", &[]);
    let metrics = curl(&server, "GET", "/metrics", &[]).text();
    for name in [
        "mint_ids_total",
        "mint_build_info",
        "mint_store_up",
        "mint_store_class",
        "mint_connections",
    ] {
        assert!(metrics.contains(name), "no {name} in\n{metrics}");
    }
}

#[test]
fn tokens_are_asked_for_where_they_are_configured() {
    if !need::curl() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let made = run::mint(folder.path(), ["--json", "token", "new", "web"]).ok();
    let made: serde_json::Value = serde_json::from_str(&made).unwrap();
    let (token, digest) = (made["token"].as_str().unwrap(), made["sha256"].as_str().unwrap());
    let tokens =
        format!("[auth]\ntokens = [{{ name = \"web\", sha256 = \"{digest}\", may = [\"allocate\"] }}]\n");
    std::fs::write(folder.path().join("mint.toml"), tokens).unwrap();
    let server = Start::in_folder(folder.path()).ready();
    let next = "/v1/sequences/orders/next";
    assert_eq!(curl(&server, "POST", next, &[]).status, 401);
    let with = |token: &str| format!("authorization: Bearer {token}");
    assert_eq!(
        curl(&server, "POST", next, &["-H", &with("mint_wrong")]).status,
        401
    );
    assert_eq!(
        curl(&server, "POST", next, &["-H", &with(token)]).json()["ids"][0],
        "1"
    );
    let forbidden = curl(&server, "DELETE", "/v1/sequences/orders", &["-H", &with(token)]);
    assert_eq!(forbidden.status, 403);
    let mut client = server.redis();
    assert!(
        client
            .ask(&["INCR", "orders"])
            .unwrap()
            .text()
            .unwrap()
            .starts_with("NOAUTH")
    );
    assert_eq!(
        client.ask(&["AUTH", token]).unwrap().text().as_deref(),
        Some("OK")
    );
    assert_eq!(client.ask(&["INCR", "orders"]).unwrap().int(), Some(2));
    let mut command = run::command(["seq", "next", "orders", "--server", &server.url()]);
    let said: run::Said = command.output().unwrap().into();
    said.fails(3, "", "MINT_TOKEN");
    let mut command = run::command(["seq", "next", "orders", "--server", &server.url()]);
    let said: run::Said = command.env("MINT_TOKEN", token).output().unwrap().into();
    assert_eq!(said.ok(), "3\n");
}

/// A misspelt pool stayed for ever: neither HTTP nor the command could take it away.
#[test]
fn a_pool_is_dropped_and_the_same_name_goes_on_where_it_was() {
    if !need::curl() {
        return;
    }
    let (folder, server) = serving();
    let path = "/v1/pools/eu";
    let definition = r#"{"layout":"time=41,worker=2,sequence=10;tick=1ms;epoch=2020-01-01"}"#;
    let made = send(&server, "PUT", path, definition);
    assert_eq!((made.status, made.header("location")), (201, Some(path)));
    let mint = |server: &Server| -> Vec<u64> {
        let given = curl(server, "POST", "/v1/snowflakes/eu?count=100", &[]).json();
        let ids = given["ids"].as_array().cloned().unwrap_or_default();
        ids.iter().filter_map(|id| id.as_str()?.parse().ok()).collect()
    };
    let before = mint(&server);
    assert_eq!(before.len(), 100);
    let in_use = curl(&server, "DELETE", path, &[]);
    assert_eq!(
        (in_use.status, in_use.json()["code"].as_str()),
        (409, Some("conflict")),
        "{in_use:?}"
    );
    assert_eq!(server.stop(), 0);
    // Nobody uses it any more.
    let store = ["--store", "file:./mint"];
    let pool = |words: &[&str]| run::mint(folder.path(), [&["pool"], words, &store].concat());
    pool(&["drop", "eu"]).ok();
    pool(&["drop", "eu"]).fails(3, "no pool eu", "");
    let server = Start::in_folder(folder.path()).ready();
    assert_eq!(curl(&server, "GET", path, &[]).status, 404);
    assert_eq!(
        curl(&server, "GET", "/v1/pools", &[]).json()["pools"],
        serde_json::json!([])
    );
    assert_eq!(curl(&server, "POST", "/v1/snowflakes/eu", &[]).status, 404);
    let other = send(&server, "PUT", path, r#"{"preset":"twitter"}"#);
    assert_eq!(
        (other.status, other.json()["code"].as_str()),
        (409, Some("exists"))
    );
    assert!(
        other.json()["detail"].as_str().unwrap().contains("worker=2"),
        "{other:?}"
    );
    assert_eq!(send(&server, "PUT", path, definition).status, 201);
    let after = mint(&server);
    invariant!(after.first() > before.last(), "{after:?} after {before:?}");
    // Another one goes while the server runs.
    assert_eq!(send(&server, "PUT", "/v1/pools/misspelt", definition).status, 201);
    run::mint(
        folder.path(),
        ["pool", "drop", "misspelt", "--server", &server.url()],
    )
    .ok();
    assert_eq!(curl(&server, "GET", "/v1/pools/misspelt", &[]).status, 404);
}

#[test]
fn the_command_redefines_and_restarts_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let store = ["--store", "file:./mint"];
    let seq = |words: &[&str]| run::mint(folder.path(), [&["seq"], words, &store].concat());
    seq(&["next", "orders", "-n", "5"]).ok();
    seq(&["alter", "orders", "--increment", "10", "--restart", "1000"]).ok();
    assert_eq!(seq(&["next", "orders", "-n", "2"]).ok(), "1000\n1010\n");
    seq(&["alter", "orders", "--increment", "1", "--restart"]).fails(3, "allow_repeat", "--allow-repeat");
    seq(&[
        "alter",
        "orders",
        "--increment",
        "1",
        "--restart",
        "--allow-repeat",
    ])
    .ok();
    assert_eq!(seq(&["next", "orders"]).ok(), "1\n");
    seq(&["create", "a", "--cache", "0"]).fails(2, "0", "");
    seq(&["alter", "orders", "--max-gap", "0"]).fails(2, "0", "");
}
