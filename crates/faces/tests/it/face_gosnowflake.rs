//! The face of goSnowFlake's clients, byte by byte, against a server in this process.

use mintage_server::auth::Right;
use mintage_server::config::{Config, Listen, Setting};
use mintage_testing::invariant;

use crate::common::{Answer, Client, Server, token};

const JSON: &str = "application/json; charset=utf-8";
const NOT_FOUND: &str = "404 page not found";

fn gosnowflake(change: impl FnOnce(&mut Config)) -> Server {
    Server::with(|config| {
        config
            .faces
            .get_mut::<mintage_faces::gosnowflake::Settings>()
            .access
            .listen = Listen::parse("127.0.0.1:0").unwrap();
        change(config);
    })
}

fn client(server: &Server) -> Client {
    server.face("gosnowflake")
}

#[track_caller]
fn is(answer: &Answer, status: u16, media_type: Option<&str>, body: &str) {
    assert_eq!(answer.text(), body);
    assert_eq!(answer.status, status);
    assert_eq!(answer.header("content-type"), media_type);
    assert_eq!(answer.header("cache-control"), Some("no-store"));
}

#[test]
fn any_worker_gets_ids_of_the_one_that_is_leased() {
    let server = gosnowflake(|_| {});
    let mut client = client(&server);
    let mut last = 0;
    let mut workers = Vec::new();
    for worker in ["0", "1", "1023", "7"] {
        let answer = client.ask("GET", &format!("/worker/{worker}"));
        let id = answer.json()["id"].as_u64().unwrap();
        is(&answer, 200, Some(JSON), &format!("{{\"id\":{id}}}"));
        invariant!(id > last, "{id} after {last}");
        last = id;
        let layout = mintage::preset("gosnowflake").unwrap().layout();
        workers.push(layout.unpack(id).unwrap().worker);
    }
    assert!(workers.iter().all(|worker| *worker == workers[0]), "{workers:?}");
}

#[test]
fn a_worker_that_does_not_fit_is_said_so() {
    let server = gosnowflake(|_| {});
    let mut client = client(&server);
    for worker in ["x", "1024", "-1", "1.0", "99999999999999999999"] {
        let answer = client.ask("GET", &format!("/worker/{worker}"));
        is(&answer, 400, Some(JSON), "{\"error\":\"worker not fit\"}");
    }
}

#[test]
fn the_other_paths_are_those_of_its_router() {
    let server = gosnowflake(|_| {});
    let mut client = client(&server);
    let text = Some("text/plain; charset=utf-8");
    is(&client.ask("GET", "/ping"), 200, text, "pong");
    let moved = client.ask("GET", "/worker/1/");
    is(&moved, 301, None, "");
    assert_eq!(moved.header("location"), Some("/worker/1"));
    for (method, path) in [
        ("GET", "/"),
        ("GET", "/worker"),
        ("GET", "/worker/"),
        ("GET", "/worker/1/2"),
        ("POST", "/worker/1"),
        ("DELETE", "/ping"),
        ("OPTIONS", "/worker/1"),
    ] {
        is(&client.ask(method, path), 404, Some("text/plain"), NOT_FOUND);
    }
}

#[test]
fn ids_are_quoted_where_that_is_wanted() {
    let server = gosnowflake(|config| {
        config
            .faces
            .get_mut::<mintage_faces::gosnowflake::Settings>()
            .strings = true
    });
    let answer = client(&server).ask("GET", "/worker/1");
    let id = answer.json()["id"].as_str().unwrap().to_string();
    is(&answer, 200, Some(JSON), &format!("{{\"id\":\"{id}\"}}"));
}

#[test]
fn looking_and_pages_of_other_sites_take_nothing() {
    let server = gosnowflake(|_| {});
    let mut client = client(&server);
    client.ask("GET", "/worker/1");
    let before = server.minted();
    client.send("HEAD /worker/1 HTTP/1.1\r\nhost: localhost\r\n\r\n");
    assert!(client.line().starts_with("HTTP/1.1 200"));
    while !client.line().is_empty() {}
    client.ask("OPTIONS", "/worker/1");
    let page = client.ask_with("GET", "/worker/1", &[("sec-fetch-site", "cross-site")], "");
    let text = "{\"error\":\"the request comes from a page of another site\"}";
    is(&page, 403, Some(JSON), text);
    assert_eq!(server.minted(), before);
}

#[test]
fn a_token_is_asked_for() {
    let server = gosnowflake(|config| config.tokens = vec![token("web", "take", &[Right::Allocate])]);
    let mut client = client(&server);
    let refused = client.ask("GET", "/worker/1");
    is(&refused, 401, Some(JSON), "{\"error\":\"this needs a token\"}");
    let asked = [("authorization", "Bearer take")];
    assert_eq!(client.ask_with("GET", "/worker/1", &asked, "").status, 200);
}

#[test]
fn without_a_window_it_is_503_and_says_when_to_ask_again() {
    let (server, store) = Server::faulty_with(|config| {
        config
            .faces
            .get_mut::<mintage_faces::gosnowflake::Settings>()
            .access
            .listen = Listen::parse("127.0.0.1:0").unwrap();
    });
    store.fail_all(true);
    let answer = client(&server).ask("GET", "/worker/1");
    assert_eq!(answer.status, 503, "{}", answer.text());
    assert!(answer.json()["error"].is_string() && answer.header("retry-after").is_some());
    store.fail_all(false);
}

#[test]
fn it_shares_our_own_port() {
    let server = Server::with(|config| {
        config
            .faces
            .get_mut::<mintage_faces::gosnowflake::Settings>()
            .access
            .listen = Listen::parse("main").unwrap();
    });
    let mut http = server.http();
    assert!(http.ask("GET", "/worker/1").json()["id"].is_u64());
    assert_eq!(http.ask("GET", "/elsewhere").json()["code"], "unknown_route");
}
