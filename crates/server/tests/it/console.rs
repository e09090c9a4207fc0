//! What the console asks for, as curl asks for it: the page, tokens and the trail, audits.

use mintage_server::auth::Right;
use mintage_server::config::{Bytes, LocalPath, Off};
use mintage_testing::no_secret_in;
use serde_json::{Value, json};

use crate::common::{Server, token};

const BOSS: [(&str, &str); 1] = [("authorization", "Bearer boss-secret")];

fn with_tokens(trail: Option<&std::path::Path>) -> Server {
    Server::with(|config| {
        config.tokens = vec![
            token("reader", "reader-secret", &[Right::Read]),
            token("boss", "boss-secret", &[Right::Admin, Right::Read]),
        ];
        config.audit_file = Off(trail.map(|path| LocalPath(path.to_path_buf())));
    })
}

#[test]
fn the_page_needs_no_token_and_lets_nothing_in() {
    let server = with_tokens(None);
    for (path, kind) in [
        ("/", "text/html"),
        ("/console.css", "text/css"),
        ("/console.js", "text/javascript"),
    ] {
        let answer = server.http().ask("GET", path);
        assert_eq!(answer.status, 200, "{path}");
        assert!(answer.header("content-type").unwrap().starts_with(kind), "{path}");
        let policy = answer.header("content-security-policy").unwrap();
        for rule in [
            "default-src 'none'",
            "script-src 'self'",
            "frame-ancestors 'none'",
        ] {
            assert!(policy.contains(rule), "{policy}");
        }
        assert!(!policy.contains("unsafe"), "{policy}");
    }
}

#[test]
fn tokens_are_listed_without_their_values() {
    let server = with_tokens(None);
    let mut client = server.http();
    let answer = client.ask_with("GET", "/v1/access", &BOSS, "");
    no_secret_in("the list", &answer.text(), "secret");
    let access = answer.json();
    assert_eq!(
        (&access["needed"], &access["trail"]),
        (&json!(true), &Value::Null)
    );
    let names: Vec<&Value> = access["tokens"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| &row["name"])
        .collect();
    assert_eq!(names, ["boss", "reader"]);
    assert_eq!(access["tokens"][0]["may"], json!(["admin", "read"]));
    for path in ["/v1/access", "/v1/trail"] {
        let reader = [("authorization", "Bearer reader-secret")];
        assert_eq!(
            client.ask_with("GET", path, &reader, "").json()["code"],
            "forbidden",
            "{path}"
        );
        assert_eq!(
            client.ask("GET", path).json()["code"],
            "unauthenticated",
            "{path}"
        );
    }
}

#[test]
fn the_trail_is_listed_from_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let server = with_tokens(Some(&folder.path().join("trail.jsonl")));
    let mut client = server.http();
    assert_eq!(
        client.ask_with("GET", "/v1/trail", &BOSS, "").json(),
        json!({"acts": []})
    );
    for name in ["a", "b", "c"] {
        let made = client.ask_with("PUT", &format!("/v1/sequences/{name}"), &BOSS, "{}");
        assert_eq!(made.status, 201);
    }
    let acts = client.ask_with("GET", "/v1/trail?limit=2", &BOSS, "").json();
    let of = |at: usize| {
        (
            &acts["acts"][at]["what"],
            &acts["acts"][at]["names"][0],
            &acts["acts"][at]["token"],
        )
    };
    assert_eq!(of(0), (&json!("create"), &json!("c"), &json!("boss")));
    assert_eq!(of(1), (&json!("create"), &json!("b"), &json!("boss")));
    assert_eq!(acts["acts"].as_array().unwrap().len(), 2);
}

#[test]
fn a_file_is_audited_as_the_command_does_it() {
    let server = Server::start();
    let mut client = server.http();
    let mut audit = |query: &str, file: &str| {
        let path = format!("/v1/audit{query}");
        let answer = client.ask_with(
            "POST",
            &path,
            &[("content-type", "application/octet-stream")],
            file,
        );
        (answer.status, answer.json())
    };
    let (status, report) = audit("", "1\n2\n4\n2\n");
    assert_eq!(
        (status, &report["ids"], &report["verdict"]["sound"]),
        (200, &json!(4), &json!(false))
    );
    assert_eq!(report["numbers"]["lost"], "1");
    for (query, file) in [
        ("?input=csv", "id,what\n1,x\n2,y\n3,z\n"),
        ("?input=csv&header=false&column=1", "1,x\n2,y\n3,z\n"),
        ("?input=tsv", "what\tid\nx\t1\ny\t2\nz\t3\n"),
        ("?input=jsonl", "{\"id\":1}\n{\"id\":2}\n{\"id\":3}\n"),
        ("?as=sequence", "1\n2\n3\n"),
    ] {
        let (status, report) = audit(query, file);
        let found = (status, &report["ids"], &report["verdict"]["sound"]);
        assert_eq!(found, (200, &json!(3), &json!(true)), "{query}");
    }
    for (query, code) in [
        ("?input=xml", "invalid_argument"),
        ("?as=nothing", "invalid_argument"),
        ("?colum=id", "invalid_argument"),
    ] {
        assert_eq!(audit(query, "1\n").1["code"], code, "{query}");
    }
    // The column is not there: which are is told.
    let (status, refused) = audit("?column=order", "id,what\n1,x\n");
    assert_eq!(
        (status, &refused["code"]),
        (400, &json!("invalid_argument")),
        "{refused}"
    );
}

#[test]
fn a_file_that_is_too_large_is_refused_with_the_limit() {
    let server = Server::with(|config| config.http_max_file = Bytes(256));
    let mut client = server.http();
    let answer = client.ask_with("POST", "/v1/audit", &[], &"1\n".repeat(129));
    let refused = answer.json();
    assert_eq!((answer.status, &refused["code"]), (413, &json!("body_too_large")));
    assert!(
        refused["detail"]
            .as_str()
            .unwrap()
            .contains("256 bytes here (server.http.max_file)")
    );
    // Every other request keeps its own limit.
    let server = Server::start();
    let mut client = server.http();
    let answer = client.ask_with("PUT", "/v1/sequences/a", &[], &" ".repeat(5000));
    assert!(
        answer.json()["detail"]
            .as_str()
            .unwrap()
            .contains("server.http.max_body")
    );
}
