//! The face of sonyflake's clients and of those of bare numbers, byte by byte, against a server in this process.

use mintage::{Clock, Parts, SystemClock, preset};
use mintage_server::auth::Right;
use mintage_server::config::{Config, Listen, Setting};
use mintage_testing::invariant;

use crate::common::{Client, Server, token};

const JSON: &str = "application/json; charset=utf-8";
const TEXT: &str = "text/plain; charset=utf-8";

fn sonyflake(shape: &'static str, change: impl FnOnce(&mut Config)) -> Server {
    Server::with(|config| {
        config
            .faces
            .get_mut::<mintage_faces::sonyflake::Settings>()
            .access
            .listen = Listen::parse("127.0.0.1:0").unwrap();
        config.faces.get_mut::<mintage_faces::sonyflake::Settings>().shape = Setting::parse(shape).unwrap();
        change(config);
    })
}

fn client(server: &Server) -> Client {
    server.face("sonyflake")
}

/// The parts of an id as its layout has them.
fn parts(preset_name: &str, id: u64) -> Parts {
    preset(preset_name).unwrap().layout().unpack(id).unwrap()
}

#[test]
fn version_1_answers_its_parts_on_every_path_by_every_method() {
    let server = sonyflake("v1", |_| {});
    let mut client = client(&server);
    let mut last = 0;
    for (method, path) in [
        ("GET", "/"),
        ("POST", "/"),
        ("PUT", "/any/path?x=1"),
        ("DELETE", "/stats"),
    ] {
        let answer = client.ask(method, path);
        let id = answer.json()["id"].as_u64().unwrap();
        let Parts {
            tick,
            worker,
            sequence,
        } = parts("sonyflake", id);
        let expected =
            format!(r#"{{"id":{id},"machine-id":{worker},"msb":0,"sequence":{sequence},"time":{tick}}}"#);
        answer.is(200, JSON, &expected);
        invariant!(id > last, "{id} after {last}");
        last = id;
    }
}

#[test]
fn version_2_has_other_words_and_a_pool_of_its_own() {
    let server = sonyflake("v2", |_| {});
    let answer = client(&server).ask("GET", "/");
    let id = answer.json()["id"].as_u64().unwrap();
    let Parts {
        tick,
        worker,
        sequence,
    } = parts("sonyflake2", id);
    let expected = format!(r#"{{"id":{id},"machine":{worker},"sequence":{sequence},"time":{tick}}}"#);
    answer.is(200, JSON, &expected);
    assert_eq!(server.http().ask("GET", "/v1/pools/sonyflake2").status, 200);
}

#[test]
fn bare_numbers_come_with_what_their_client_asks_besides() {
    let server = sonyflake("number", |_| {});
    let mut client = client(&server);
    let stats = |client: &mut Client| {
        let answer = client.ask("GET", "/stats");
        let now_ms = answer.json()["timestamp"].as_i64().unwrap();
        assert!(SystemClock.unix_millis().abs_diff(now_ms) < 60_000);
        (answer, now_ms)
    };
    let (before, now_ms) = stats(&mut client);
    let worker = before.json()["worker"].as_u64().unwrap();
    before.is(200,
        "application/json",
        &format!(
            r#"{{"dc": 0, "worker": {worker}, "timestamp": {now_ms}, "last_timestamp": -1, "sequence": 0, "sequence_overload": 0, "errors": 0}}"#
        ),
    );
    let answer = client.ask("GET", "/");
    let id: u64 = answer.text().parse().unwrap();
    answer.is(200, "application/json", &id.to_string());
    let Parts {
        tick,
        worker,
        sequence,
    } = parts("sonyflake", id);
    let last_ms = 1_409_529_600_000 + tick * 10;
    let (after, now_ms) = stats(&mut client);
    after.is(200,
        "application/json",
        &format!(
            r#"{{"dc": 0, "worker": {worker}, "timestamp": {now_ms}, "last_timestamp": {last_ms}, "sequence": {sequence}, "sequence_overload": 0, "errors": 0}}"#
        ),
    );
    client.ask("GET", "/other").is(404, TEXT, "404 page not found\n");
}

#[test]
fn ids_are_quoted_where_that_is_wanted() {
    for shape in ["v1", "v2", "number"] {
        let server = sonyflake(shape, |config| {
            config
                .faces
                .get_mut::<mintage_faces::sonyflake::Settings>()
                .strings = true
        });
        let answer = client(&server).ask("GET", "/").json();
        let id = if shape == "number" { &answer } else { &answer["id"] };
        assert!(id.as_str().unwrap().parse::<u64>().is_ok(), "{shape}: {answer}");
    }
}

#[test]
fn looking_and_pages_of_other_sites_take_nothing() {
    let server = sonyflake("v1", |_| {});
    let mut client = client(&server);
    client.ask("GET", "/");
    let before = server.minted();
    client.send("HEAD / HTTP/1.1\r\nhost: localhost\r\n\r\n");
    assert!(client.line().starts_with("HTTP/1.1 200"));
    while !client.line().is_empty() {}
    assert_eq!(client.ask("OPTIONS", "/").status, 200);
    let page = client.ask_with("GET", "/", &[("sec-fetch-site", "cross-site")], "");
    page.is(403, TEXT, "the request comes from a page of another site\n");
    assert_eq!(server.minted(), before);
    client.ask("GET", "/");
    assert_ne!(server.minted(), before);
}

#[test]
fn a_token_is_asked_for() {
    let server = sonyflake("v1", |config| {
        config.tokens = vec![token("web", "take", &[Right::Allocate])]
    });
    let mut client = client(&server);
    client.ask("GET", "/").is(401, TEXT, "this needs a token\n");
    let asked = [("authorization", "Bearer take")];
    assert_eq!(client.ask_with("GET", "/", &asked, "").status, 200);
}

#[test]
fn without_a_window_it_is_500_in_text() {
    let (server, store) = Server::faulty_with(|config| {
        config
            .faces
            .get_mut::<mintage_faces::sonyflake::Settings>()
            .access
            .listen = Listen::parse("127.0.0.1:0").unwrap();
    });
    store.fail_all(true);
    let answer = client(&server).ask("GET", "/");
    assert_eq!(answer.status, 500, "{}", answer.text());
    assert!(answer.text().ends_with('\n') && answer.text().lines().count() == 1);
    assert_eq!(answer.header("content-type"), Some(TEXT));
    assert!(answer.header("retry-after").is_some());
    store.fail_all(false);
}
