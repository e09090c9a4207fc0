//! Where ids come from, blocks, the map of a pool, the cluster and the rehearsal of an outage, over HTTP.

use mintage_server::auth::Right;
use serde_json::{Value, json};

use crate::common::{Server, token};

fn get(server: &Server, target: &str) -> Value {
    let answer = server.http().ask("GET", target);
    assert_eq!(answer.status, 200, "{target}: {}", answer.text());
    answer.json()
}

fn take(server: &Server, target: &str) -> Value {
    let answer = server.http().ask("POST", target);
    assert_eq!(answer.status, 200, "{target}: {}", answer.text());
    answer.json()["ids"].clone()
}

/// Of each origin: of what, its name, the verdict.
fn origins(explained: &Value) -> Vec<(String, String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_string();
    let all = explained["origins"]
        .as_array()
        .unwrap_or_else(|| panic!("{explained}"))
        .iter();
    all.map(|one| (text(&one["of"]), text(&one["name"]), text(&one["verdict"])))
        .collect()
}

#[test]
fn the_blocks_of_a_sequence_say_what_was_used() {
    let server = Server::start();
    server.make("invoices", r#"{"gap": "none"}"#);
    take(&server, "/v1/sequences/invoices/next?count=3");
    take(&server, "/v1/sequences/invoices/next");
    let shown = get(&server, "/v1/sequences/invoices/blocks");
    let blocks = shown["blocks"].as_array().unwrap();
    let told = |at: usize| {
        let block = &blocks[at];
        (
            block["first"].clone(),
            block["last"].clone(),
            block["used"].clone(),
        )
    };
    assert_eq!(told(0), (json!("1"), json!("3"), json!(3)), "{shown}");
    assert_eq!(told(1), (json!("4"), json!("4"), json!(1)), "{shown}");
    assert!(
        blocks[0]["at"].is_string() && blocks[0]["took_us"].is_u64(),
        "{shown}"
    );
    let absent = server.http().ask("GET", "/v1/sequences/absent/blocks");
    assert_eq!(
        (absent.status, absent.json()["code"].as_str()),
        (404, Some("not_found"))
    );
}

#[test]
fn an_id_is_explained_by_sequences_and_pools() {
    let server = Server::start();
    server.make("tens", r#"{"gap": "none", "start": "10", "increment": "10"}"#);
    server.make("invoices", r#"{"gap": "none"}"#);
    take(&server, "/v1/sequences/tens/next?count=2");
    take(&server, "/v1/sequences/invoices/next?count=30");
    for (target, expected) in [
        ("/v1/explain/20?sequence=tens", "issued"),
        ("/v1/explain/30?sequence=tens", "not_yet"),
        ("/v1/explain/25?sequence=tens", "never"),
        ("/v1/explain/0?sequence=tens", "never"),
        ("/v1/explain/-5?sequence=tens", "never"),
        ("/v1/explain/9223372036854775807?sequence=tens", "never"),
        ("/v1/explain/30?sequence=invoices", "issued"),
        ("/v1/explain/31?sequence=invoices", "not_yet"),
    ] {
        let explained = get(&server, target);
        let found = origins(&explained);
        assert_eq!(found.len(), 1, "{target}: {explained}");
        assert_eq!(found[0].2, expected, "{target}: {explained}");
        assert!(
            explained["origins"][0]["says"].as_str().unwrap().len() > 10,
            "{explained}"
        );
    }
    let issued = get(&server, "/v1/explain/20?sequence=tens");
    assert_eq!(issued["origins"][0]["block"]["last"], "20", "{issued}");
    assert!(issued["origins"][0]["server"].is_string(), "{issued}");
    // The surest first; what cannot be is counted.
    let all = get(&server, "/v1/explain/25");
    let sequences: Vec<_> = origins(&all)
        .into_iter()
        .filter(|one| one.0 == "sequence")
        .collect();
    assert_eq!(
        sequences,
        [("sequence".into(), "invoices".into(), "issued".into())],
        "{all}"
    );
    assert!(
        all["notes"].to_string().contains("1 more sequence cannot"),
        "{all}"
    );
}

#[test]
fn an_id_of_a_pool_is_explained_by_the_window_of_its_worker() {
    let server = Server::start();
    let made = take(&server, "/v1/snowflakes/default");
    let id: u64 = made[0].as_str().unwrap().parse().unwrap();
    let worker = id >> 12 & 0x3ff;
    let explained = get(&server, &format!("/v1/explain/{id}?pool=default"));
    let origin = &explained["origins"][0];
    assert_eq!(
        (&origin["of"], &origin["verdict"]),
        (&json!("pool"), &json!("reserved")),
        "{explained}"
    );
    assert_eq!(origin["window"]["worker"], worker, "{explained}");
    assert_eq!(
        (&origin["window"]["ours"], origin["server"].is_string()),
        (&json!(true), true)
    );
    // A tick of twitter's layout is a millisecond.
    let day = 86_400_000_u64 << 22;
    for (id, verdict) in [
        (id - day, "possible"),
        (id + day, "not_yet"),
        (id ^ 1 << 12, "not_yet"),
        (id | 1 << 63, "never"),
    ] {
        let explained = get(&server, &format!("/v1/explain/{id}?pool=default"));
        assert_eq!(origins(&explained)[0].2, verdict, "{explained}");
    }
    let uuid = take(&server, "/v1/ids/uuid1")[0].as_str().unwrap().to_string();
    let explained = get(&server, &format!("/v1/explain/{uuid}"));
    assert_eq!(
        origins(&explained),
        [("pool".into(), "uuid1".into(), "reserved".into())],
        "{explained}"
    );
    let other = "c232ab00-9414-11ec-b3c8-9f6bdeced846";
    let explained = get(&server, &format!("/v1/explain/{other}?pool=uuid1"));
    assert_eq!(origins(&explained)[0].2, "never", "{explained}");
}

#[test]
fn of_what_no_record_is_kept_that_is_said() {
    let server = Server::start();
    for (id, reading, note) in [
        (
            "017f22e2-79b0-7cc3-98c4-dc0c0c07398f",
            Some("uuid version 7"),
            "2022-02-22",
        ),
        (
            "919108f7-52d1-4320-9bac-f847db4148a8",
            Some("uuid version 4"),
            "does not say when",
        ),
        ("01ARZ3NDEKTSV4RRFFQ69G5FAV", Some("ulid"), "2016-07-30"),
        ("017f22e2-79b0-7cc3-98c4-dc0c0c07398", None, "not known"),
        ("NULL", None, "not an id"),
    ] {
        let explained = get(&server, &format!("/v1/explain/{id}"));
        assert_eq!(explained["origins"], json!([]), "{explained}");
        let read = explained["reading"].as_str();
        match reading {
            Some(reading) => assert!(read.is_some_and(|read| read.starts_with(reading)), "{explained}"),
            None => assert!(explained["notes"][0].is_string(), "{explained}"),
        }
        assert!(explained["notes"].to_string().contains(note), "{explained}");
    }
    for (target, status) in [
        ("/v1/explain/7?sequence=absent", 404),
        ("/v1/explain/7?pool=absent", 404),
        ("/v1/explain/7?sequence=a%09b", 400),
    ] {
        let answer = server.http().ask("GET", target);
        assert_eq!(answer.status, status, "{target}: {}", answer.text());
    }
}

#[test]
fn names_that_one_may_not_read_are_left_out() {
    let server = Server::with(|config| {
        let mut shop = token("shop", "shop", &[Right::Read]);
        shop.may[0].names = Some("shop:*".parse().unwrap());
        config.tokens = vec![token("all", "all", &[Right::Read, Right::Admin]), shop];
    });
    let ask = |method: &str, target: &str, secret: &str, body: &str| {
        let bearer = format!("Bearer {secret}");
        let mut client = server.http();
        client.ask_with(method, target, &[("authorization", &bearer)], body)
    };
    for name in ["shop:orders", "bank:orders"] {
        let made = ask("PUT", &format!("/v1/sequences/{name}"), "all", "{}");
        assert_eq!(made.status, 201, "{}", made.text());
    }
    let seen = |secret: &str| origins(&ask("GET", "/v1/explain/7", secret, "").json()).len();
    assert_eq!((seen("all"), seen("shop")), (2, 1));
    for (target, status) in [
        ("/v1/explain/7?sequence=bank:orders", 403),
        ("/v1/explain/7?sequence=shop:orders", 200),
        ("/v1/sequences/bank:orders/blocks", 403),
    ] {
        assert_eq!(ask("GET", target, "shop", "").status, status, "{target}");
    }
    assert_eq!(
        ask("PUT", "/v1/rehearsal", "shop", r#"{"seconds": 5}"#).status,
        403
    );
}

#[test]
fn the_map_shows_windows_and_the_cluster_who_holds_them() {
    let server = Server::start();
    take(&server, "/v1/snowflakes/default");
    let map = get(&server, "/v1/pools/default/map");
    let window = &map["windows"][0];
    assert_eq!(
        (&map["workers"], &window["is"], &window["ours"]),
        (&json!(1024), &json!("held"), &json!(true))
    );
    let now = map["now_ms"].as_i64().unwrap();
    let span = (
        window["from_ms"].as_i64().unwrap(),
        window["until_ms"].as_i64().unwrap(),
    );
    assert!(span.0 <= now && now < span.1, "{map}");
    let id = |value: &Value| value.as_str().unwrap().parse::<u64>().unwrap();
    let made = server.http().ask("POST", "/v1/snowflakes/default").json();
    let made = id(&made["ids"][0]);
    // It may have been extended since.
    let later = get(&server, "/v1/pools/default/map");
    let last = id(&later["windows"][0]["last_id"]);
    assert!(
        id(&window["first_id"]) <= made && made <= last,
        "{map}, later {later}"
    );
    assert_eq!(
        (&map["next_from"], &map["steps"]),
        (&Value::Null, &json!([])),
        "{map}"
    );
    let worker = window["worker"].as_u64().unwrap();
    let page = get(&server, "/v1/pools/default/map?limit=1");
    assert_eq!(page["next_from"], worker + 1, "{page}");
    let beyond = get(&server, &format!("/v1/pools/default/map?from={}", worker + 1));
    assert_eq!(beyond["windows"], json!([]), "{beyond}");

    let cluster = get(&server, "/v1/cluster");
    let us = &cluster["servers"][0];
    assert_eq!(cluster["servers"].as_array().unwrap().len(), 1, "{cluster}");
    assert_eq!(
        (&us["ours"], &us["lives"], &us["version"]),
        (&json!(true), &json!(true), &json!(env!("CARGO_PKG_VERSION")))
    );
    assert_eq!(us["workers"], json!([format!("default:{worker}")]), "{cluster}");
    assert_eq!(us["instance"], window["owner"], "{cluster}");
    assert!(
        cluster["evidence"][0].as_str().unwrap().starts_with("class "),
        "{cluster}"
    );
    assert_eq!(cluster["last_failover"], Value::Null, "{cluster}");
}

#[test]
fn an_outage_is_rehearsed_and_ends() {
    let (server, store) = Server::shared();
    server.make("invoices", r#"{"gap": "none"}"#);
    take(&server, "/v1/sequences/orders/next?count=5");
    take(&server, "/v1/snowflakes/default");
    let workers = get(&server, "/v1/cluster")["servers"][0]["workers"].clone();
    assert_eq!(workers.as_array().map(Vec::len), Some(1), "{workers}");
    assert_eq!(take(&server, "/v1/sequences/invoices/next"), json!(["1"]));
    let rehearse = |body: &str| server.http().ask_with("PUT", "/v1/rehearsal", &[], body);
    for (body, status) in [
        (r#"{"seconds": 601}"#, 400),
        (r#"{"seconds": -1}"#, 400),
        (r#"{"minutes": 1}"#, 400),
        (r#"{"seconds": 600}"#, 204),
    ] {
        let answer = rehearse(body);
        assert_eq!(answer.status, status, "{body}: {}", answer.text());
    }
    let calls = store.counts().calls;
    let refused = server.http().ask("POST", "/v1/sequences/invoices/next");
    assert_eq!(
        (refused.status, refused.json()["code"].as_str()),
        (503, Some("unavailable"))
    );
    assert_eq!(store.counts().calls, calls, "nothing was sent");
    let ready = server.http().ask("GET", "/readyz").json();
    assert!(
        ready["notes"].to_string().contains("an outage is rehearsed"),
        "{ready}"
    );
    let cluster = get(&server, "/v1/cluster");
    assert!(
        cluster["rehearsal_left_s"]
            .as_u64()
            .is_some_and(|left| left > 500),
        "{cluster}"
    );
    // What it holds itself it knows without the store.
    assert_eq!(cluster["servers"][0]["workers"], workers);
    assert_eq!(rehearse(r#"{"seconds": 0}"#).status, 204);
    // It is asked again within half a second.
    let again = loop {
        let answer = server.http().ask("POST", "/v1/sequences/invoices/next");
        match answer.status {
            503 => std::thread::yield_now(),
            _ => break answer,
        }
    };
    assert_eq!(again.json()["ids"], json!(["2"]), "{}", again.text());
    assert!(get(&server, "/v1/cluster")["rehearsal_left_s"].is_null());
}
