//! Pools over HTTP, as programs in any language use them that mint by themselves.

use mintage_testing::{distinct, rising};
use serde_json::{Value, json};

use crate::common::Server;

#[track_caller]
fn ask(server: &Server, method: &str, target: &str, body: &Value, status: u16) -> Value {
    let body = if body.is_null() {
        String::new()
    } else {
        body.to_string()
    };
    let answer = server.http().ask_with(method, target, &[], &body);
    assert_eq!(answer.status, status, "{method} {target}: {}", answer.text());
    if answer.text().is_empty() {
        Value::Null
    } else {
        answer.json()
    }
}

#[test]
fn a_pool_is_made_shown_and_listed() {
    let server = Server::start();
    let spec = json!({"layout": "time=41,worker=4,sequence=10;tick=1ms;epoch=2020-01-01", "window_ms": 2000});
    let made = ask(&server, "PUT", "/v1/pools/eu", &spec, 201);
    assert_eq!((&made["workers"], &made["window_ms"]), (&json!(16), &json!(2000)));
    ask(&server, "PUT", "/v1/pools/eu", &spec, 201);
    let other = ask(&server, "PUT", "/v1/pools/eu", &json!({"preset": "twitter"}), 409);
    assert_eq!(other["code"], "exists");
    let ids = ask(&server, "POST", "/v1/snowflakes/eu?count=5", &Value::Null, 200);
    assert_eq!(ids["ids"].as_array().unwrap().len(), 5);
    let shown = ask(&server, "GET", "/v1/pools/eu", &Value::Null, 200);
    assert_eq!(
        (
            shown["windows"].as_array().unwrap().len(),
            &shown["windows"][0]["ours"]
        ),
        (1, &json!(true))
    );
    let listed = ask(&server, "GET", "/v1/pools", &Value::Null, 200);
    assert_eq!(
        (listed["pools"].as_array().unwrap().len(), &listed["next"]),
        (1, &Value::Null)
    );
    ask(&server, "GET", "/v1/pools/nosuch", &Value::Null, 404);
}

#[test]
fn a_window_is_lent_renewed_and_ended_by_its_holder_alone() {
    let server = Server::start();
    // Windows have four ticks: they last longer than a busy machine takes for all of this.
    let slow = json!({"layout": "time=41,worker=10,sequence=12;tick=60s"});
    ask(&server, "PUT", "/v1/pools/slow", &slow, 201);
    let lent = ask(
        &server,
        "POST",
        "/v1/pools/slow/windows",
        &json!({"name": "billing"}),
        201,
    );
    let tick = |window: &Value, field: &str| window[field].as_str().unwrap().parse::<u64>().unwrap();
    assert!(tick(&lent, "from_tick") < tick(&lent, "until_tick"));
    let path = format!("/v1/pools/slow/windows/{}", lent["worker"]);
    let mine = |window: &Value| json!({"owner": window["owner"], "version": window["version"]});
    let renewed = ask(&server, "PATCH", &path, &mine(&lent), 200);
    assert!(tick(&renewed, "until_tick") >= tick(&lent, "until_tick"));
    assert_eq!(
        ask(&server, "PATCH", &path, &mine(&lent), 409)["code"],
        "conflict"
    );
    let stranger = json!({"owner": "me", "version": renewed["version"]});
    assert_eq!(ask(&server, "PATCH", &path, &stranger, 409)["code"], "conflict");
    // An operator does not take a window that lasts.
    assert_eq!(
        ask(&server, "DELETE", &path, &Value::Null, 409)["code"],
        "conflict"
    );
    ask(&server, "DELETE", &path, &mine(&renewed), 204);
    assert_eq!(
        ask(&server, "PATCH", &path, &mine(&renewed), 409)["code"],
        "conflict"
    );
    ask(
        &server,
        "PATCH",
        "/v1/pools/slow/windows/900",
        &mine(&renewed),
        404,
    );
    ask(&server, "PATCH", "/v1/pools/slow/windows/x", &mine(&renewed), 400);
    ask(&server, "PATCH", &path, &json!({"owner": "me"}), 400);
    // An end may be repeated.
    ask(&server, "DELETE", &path, &mine(&renewed), 204);
    // Lending is an allocation: a GET may be cached.
    let refused = server.http().ask_with("GET", "/v1/pools/slow/windows", &[], "");
    assert_eq!((refused.status, refused.header("allow")), (405, Some("POST")));
}

/// The store keeps what it answers too late for the server, which refuses; the borrower lost its worker by that.
#[test]
fn a_renewal_with_an_attempt_is_repeated_over_http() {
    let (server, store) = Server::shared();
    let slow = json!({"layout": "time=41,worker=4,sequence=10;tick=60s"});
    ask(&server, "PUT", "/v1/pools/slow", &slow, 201);
    let lent = ask(&server, "POST", "/v1/pools/slow/windows", &json!({}), 201);
    let number = |window: &Value, field: &str| window[field].as_str().unwrap().parse::<u64>().unwrap();
    assert_eq!(number(&lent, "tick_ns"), 60_000_000_000);
    assert_eq!(number(&lent, "now_tick"), number(&lent, "from_tick"));
    assert!(lent["now"].as_str().unwrap().ends_with('Z'));
    let path = format!("/v1/pools/slow/windows/{}", lent["worker"]);
    let renewal = |window: &Value, attempt: &str| json!({"owner": window["owner"], "version": window["version"], "attempt": attempt});
    let first = renewal(&lent, "f81d4fae-7dec-41d0-a765-00a0c91e6bf6");
    store.freeze(true);
    ask(&server, "PATCH", &path, &first, 503);
    store.freeze(false);
    let renewed = ask(&server, "PATCH", &path, &first, 200);
    let again = ask(&server, "PATCH", &path, &first, 200);
    for field in ["worker", "owner", "version", "from_tick", "until_tick"] {
        assert_eq!(again[field], renewed[field], "{field}");
    }
    assert_eq!(number(&renewed, "version"), number(&lent, "version") + 1);
    let copy = renewal(&lent, "f81d4fae-7dec-41d0-a765-00a0c91e6bf7");
    assert_eq!(ask(&server, "PATCH", &path, &copy, 409)["code"], "conflict");
    for attempt in ["", "1", "fifteen-letters", "sixteen letters!", &"x".repeat(65)] {
        let refused = ask(&server, "PATCH", &path, &renewal(&renewed, attempt), 400);
        assert_eq!(refused["code"], "invalid_argument", "{attempt}: {refused}");
    }
    let ends = ask(
        &server,
        "DELETE",
        &path,
        &renewal(&renewed, "sixteen-letters!"),
        400,
    );
    assert_eq!(ends["code"], "invalid_body");
    ask(
        &server,
        "PATCH",
        &path,
        &renewal(&renewed, "sixteen-letters-"),
        200,
    );
}

#[test]
fn versions_1_and_6_come_from_a_leased_node_and_clock_sequence() {
    let server = Server::start();
    for (format, version) in [("uuid1", '1'), ("uuid6", '6')] {
        let ids = ask(
            &server,
            "POST",
            &format!("/v1/ids/{format}?count=200"),
            &Value::Null,
            200,
        );
        let ids: Vec<&str> = ids["ids"]
            .as_array()
            .unwrap()
            .iter()
            .map(|id| id.as_str().unwrap())
            .collect();
        assert!(
            ids.iter()
                .all(|id| id.as_bytes()[14] as char == version && id[19..] == ids[0][19..])
        );
        match version {
            '1' => distinct(format, ids),
            _ => rising(format, ids),
        }
    }
    let shown = ask(&server, "GET", "/v1/pools/uuid1", &Value::Null, 200);
    assert_eq!(
        (&shown["kind"], &shown["workers"]),
        (&json!("uuid1"), &json!(16384))
    );
    let snowflakes = ask(&server, "POST", "/v1/snowflakes/uuid1", &Value::Null, 400);
    assert_eq!(snowflakes["code"], "invalid_argument");
}

#[test]
fn definitions_that_make_no_sense_are_refused() {
    let server = Server::start();
    for body in [
        json!({"layout": "time=41"}),
        json!({"preset": "nosuch"}),
        json!({"preset": "twitter", "layout": "time=41,worker=10,sequence=12"}),
        json!({"kind": "uuid1", "preset": "twitter"}),
        json!({"kind": "ulid"}),
        json!({"window_ms": 1}),
        json!({"color": "red"}),
    ] {
        let refused = ask(&server, "PUT", "/v1/pools/eu", &body, 400);
        assert_eq!(refused["code"], "invalid_body", "{body}");
    }
    for (body, bits) in [
        (json!({"preset": "flake"}), 128),
        (json!({"layout": "time=44,worker=20,sequence=16"}), 80),
    ] {
        let refused = ask(&server, "PUT", "/v1/pools/eu", &body, 400);
        let why = refused.to_string();
        assert_eq!(refused["code"], "invalid_argument", "{why}");
        assert!(
            why.contains(&format!("takes {bits} bits, and ids have at most 64 here")),
            "{refused}"
        );
    }
    ask(&server, "GET", "/v1/pools/eu", &Value::Null, 404);
    let presets = ask(&server, "GET", "/v1/presets", &Value::Null, 200);
    assert!(
        presets["presets"]
            .as_array()
            .unwrap()
            .iter()
            .any(|row| row["name"] == "sonyflake")
    );
    let formats = ask(&server, "GET", "/v1/formats", &Value::Null, 200);
    assert!(
        formats["formats"]
            .as_array()
            .unwrap()
            .iter()
            .any(|row| row["name"] == "uuid7")
    );
}
