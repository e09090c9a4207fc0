//! A right is asked for each thing that a request names, wherever it stands: in the path, the query or the body.

use mintage_server::auth::Right;
use mintage_server::config::{Listen, LocalPath, Off, Setting, SourceUrls};
use mintage_wire::{About, At, Noun, OPERATIONS, Op, Operation, Takes, Thing};
use serde_json::{Value, json};

use crate::common::{Answer, Client, Server, token};

/// Its tokens: one for all of `mine.*`, one that may use the source `old` besides, and one for everything.
fn start() -> Server {
    Server::with(|config| {
        let of = |name: &str, may: &[&str]| {
            let mut token = token(name, name, &[]);
            token.may = may.iter().map(|grant| grant.parse().unwrap()).collect();
            token
        };
        let mine = ["read:mine.*", "allocate:mine.*", "admin:mine.*"];
        let wide = ["read:*", "allocate:*", "admin:*"];
        config.tokens = vec![
            of("mine", &mine),
            of("wide", &wide),
            of("mover", &[&mine[..], &["admin:source:old"]].concat()),
            of("boss", &["read", "allocate", "admin"]),
        ];
        let table =
            "{ table = 'counters', key_column = 'name', column = 'value', means = 'last', where = 'n > 0' }";
        let sources = format!("{{ old = {{ url = 'mysql://h/d', tables = {{ counters = {table} }} }} }}");
        config.sources = SourceUrls::parse(&sources).unwrap();
    })
}

fn ask(server: &Server, who: &str, method: &str, target: &str, body: &str) -> Answer {
    let bearer = format!("Bearer {who}");
    let headers = [("authorization", bearer.as_str())];
    server.http().ask_with(method, target, &headers, body)
}

/// The step of a move that takes its numbers out of a table of one's own.
fn beside(source: &str) -> Value {
    json!({"move": {
        "id": "0123456789abcdef0123456789abcdef", "phase": "beside", "source": source, "kind": "own", "key": "o",
        "at_ms": 1, "table": {
            "table": "counters", "key_column": "name", "value_column": "value", "is_next": false, "condition": "n > 0",
        },
        "definition": {"start": "1", "increment": "1", "min": "1", "max": "1000", "cycle": false},
    }})
}

/// The same of two sources.
fn of_masters(first: &str, second: &str) -> Value {
    let master =
        |source: &str, one: &str| json!({"source": source, "key": "o", "increment": "2", "one": one});
    let mut body = beside(first);
    body["move"]["masters"] = json!([master(first, "1"), master(second, "2")]);
    body
}

fn step(server: &Server, who: &str, body: &Value) -> Answer {
    ask(server, who, "PUT", "/v1/moves/mine.a", &body.to_string())
}

/// A request all of whose nouns are `mine`, apart from one: what is sent, as target and body, in every way that there is.
fn beyond(row: &Operation, noun: Noun) -> Vec<(String, String)> {
    let arguments: Vec<&str> = row
        .placeholders()
        .map(|name| match (name, noun.at) {
            (name, At::Path(other)) if name == other => "other.b",
            ("format", _) => "snowflake",
            ("id" | "worker", _) => "1",
            _ => "mine.a",
        })
        .collect();
    let path = row.path_to(&arguments);
    match noun.at {
        At::Path(_) => vec![(path, String::new())],
        At::Query(name) => {
            let mut all = vec![(format!("{path}?{name}=other.b"), String::new())];
            if matches!(row.takes, Takes::Parameters) {
                all.push((path, json!({name: "other.b"}).to_string()));
            }
            all
        }
        At::Body(pointer) => {
            let body = match (row.op, pointer) {
                (Op::StepMove, "/move/source") => beside("other"),
                (Op::StepMove, "/move/masters") => of_masters("old", "other"),
                _ => panic!("{:?} {pointer}: a body for it stands here", row.op),
            };
            vec![(path, body.to_string())]
        }
    }
}

// claim: P70
#[test]
fn what_a_request_names_beyond_the_right_is_refused_wherever_it_stands() {
    let server = start();
    for name in ["mine.a", "other.b"] {
        ask(&server, "boss", "POST", &format!("/v1/sequences/{name}/next"), "");
    }
    for row in OPERATIONS {
        for noun in row.nouns().filter(|noun| noun.is != Thing::Table) {
            for (target, body) in beyond(row, noun) {
                let answer = ask(&server, "mine", row.method, &target, &body);
                assert_eq!(
                    answer.status,
                    403,
                    "{} {target} {body}: {}",
                    row.method,
                    answer.text()
                );
                assert_eq!(answer.json()["code"], "forbidden", "{} {target}", row.method);
            }
        }
        if row.about == About::Everything {
            let path = row.path_to(&[]);
            for who in ["mine", "wide"] {
                let answer = ask(&server, who, row.method, &path, "");
                assert_eq!(answer.status, 403, "{} {path}: {}", row.method, answer.text());
            }
        }
        // What is about nothing is a list, perhaps: what its reader may not see is left out.
        if row.about == About::Nothing && row.method == "GET" && row.placeholders().next().is_none() {
            let answer = ask(&server, "mine", "GET", row.path, "");
            assert!(
                !answer.text().contains("other.b"),
                "{}: {}",
                row.path,
                answer.text()
            );
        }
    }
}

/// `admin` for a name let its holder take out of whatever table of a source, by SQL of his own.
#[test]
fn a_source_needs_a_right_of_its_own_in_every_phase() {
    let server = start();
    for phase in [
        "planned",
        "beside",
        "fencing",
        "fenced",
        "open",
        "returning",
        "returned",
    ] {
        for source in ["old", "other", "postgres://db/shop", "mine.a", ""] {
            let mut body = beside(source);
            body["move"]["phase"] = phase.into();
            for who in ["mine", "wide"] {
                let answer = step(&server, who, &body);
                assert_eq!(answer.status, 403, "{who} {phase} {source}: {}", answer.text());
                assert_eq!(answer.json()["code"], "forbidden");
            }
        }
    }
    let hint = step(&server, "mine", &beside("old")).text();
    assert!(hint.contains("admin:source:old"), "{hint}");
    // Both rights together; what is refused now is that no server is there.
    for who in ["mover", "boss"] {
        let answer = step(&server, who, &beside("old"));
        assert_ne!(answer.status, 403, "{who}: {}", answer.text());
        assert_ne!(
            answer.json()["code"],
            "invalid_argument",
            "{who}: {}",
            answer.text()
        );
    }
    assert_eq!(step(&server, "mover", &beside("other")).status, 403);
    // Of several sources each one, whatever they are called together.
    for (second, is_forbidden) in [("other", true), ("old", false)] {
        let answer = step(&server, "mover", &of_masters("old", second));
        assert_eq!(answer.status == 403, is_forbidden, "{second}: {}", answer.text());
    }
    let elsewhere = beside("old").to_string();
    assert_eq!(
        ask(&server, "mover", "PUT", "/v1/moves/other.b", &elsewhere).status,
        403
    );
}

#[test]
fn a_table_that_the_configuration_does_not_have_is_refused_with_what_to_write_there() {
    for (member, value) in [
        ("table", json!("accounts")),
        ("key_column", json!("id")),
        ("value_column", json!("balance")),
        ("is_next", json!(true)),
        ("condition", json!("(select 1) = 1")),
        ("condition", Value::Null),
    ] {
        let server = start();
        for phase in ["planned", "beside"] {
            let mut body = beside("old");
            body["move"]["phase"] = phase.into();
            body["move"]["table"][member] = value.clone();
            let answer = step(&server, "boss", &body);
            let text = answer.text();
            assert_eq!(answer.status, 400, "{member} {phase}: {text}");
            assert!(
                text.contains("tables.") && text.contains("under [sources.old]"),
                "{member}: {text}"
            );
        }
        assert_eq!(ask(&server, "boss", "GET", "/v1/moves/mine.a", "").status, 404);
    }
}

#[test]
fn what_a_source_is_refused_for_is_in_the_trail() {
    let folder = tempfile::tempdir().unwrap();
    let trail = folder.path().join("trail.jsonl");
    let mut mine = token("mine", "mine", &[]);
    mine.may = vec!["admin:mine.*".parse().unwrap()];
    let server = Server::with(|config| {
        config.tokens = vec![mine];
        config.audit_file = Off(Some(LocalPath(trail.clone())));
    });
    step(&server, "mine", &beside("old"));
    assert_eq!(
        told(&trail),
        [json!(["move", ["mine.a"], "mine", "forbidden", null])]
    );
}

/// Where the server asks for the right `admin`, apart from tests; and which test here or elsewhere looks into the trail
/// after that.
const PLACES: &[(&str, &str)] = &[
    ("auth/token.rs", "reads the word"),
    (
        "faces/http/audited.rs",
        "whoever_administrates_or_tries_to_is_in_the_trail",
    ),
    (
        "faces/http/moves.rs",
        "what_a_source_is_refused_for_is_in_the_trail",
    ),
    (
        "faces/idgo/commands.rs",
        "whoever_administrates_or_tries_to_is_in_the_trail",
    ),
    (
        "faces/machines.rs",
        "trail::what_clients_of_other_systems_change_is_told",
    ),
    (
        "faces/mysql/execute/mod.rs",
        "face_mysql::who_ends_connections_of_others_is_in_the_trail",
    ),
    (
        "faces/mysql/execute/setting.rs",
        "face_mysql::who_ends_connections_of_others_is_in_the_trail",
    ),
    (
        "faces/postgres/execute/mod.rs",
        "face_postgres::leave_to_repeat_is_in_the_trail",
    ),
    (
        "faces/postgres/leave.rs",
        "face_postgres::leave_to_repeat_is_in_the_trail",
    ),
    ("faces/postgres/login.rs", "is_superuser: changes nothing"),
    (
        "faces/postgrest/perform.rs",
        "trail::what_clients_of_other_systems_change_is_told",
    ),
    (
        "faces/resp/commands/mod.rs",
        "whoever_administrates_or_tries_to_is_in_the_trail",
    ),
    ("faces/web/foreign.rs", "who it is: changes nothing"),
];

/// A place that is new fails here until it is told of, and a test says so.
// claim: P74
#[test]
fn every_place_that_asks_for_admin_is_known() {
    fn search(folder: &std::path::Path, root: &std::path::Path, found: &mut Vec<String>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                search(&path, root, found);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                let code = text.split("#[cfg(test)]\nmod tests").next().unwrap();
                if code.contains("Right::Admin") {
                    let place = path.strip_prefix(root).unwrap().display().to_string();
                    found.push(place.replace("faces/src/", "faces/"));
                }
            }
        }
    }
    let crates = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut found = Vec::new();
    let server = crates.join("server/src");
    search(&server, &server, &mut found);
    search(&crates.join("faces/src"), crates, &mut found);
    found.sort();
    let known: Vec<&str> = PLACES.iter().map(|(place, _)| *place).collect();
    assert_eq!(found, known);
}

/// What the trail has told since it was read last: what, names, token, outcome, and what else there was.
pub(crate) fn told(trail: &std::path::Path) -> Vec<Value> {
    let text = std::fs::read_to_string(trail).unwrap();
    std::fs::write(trail, "").unwrap();
    let read = |line: &str| {
        let line: Value = serde_json::from_str(line).unwrap();
        json!([
            line["what"],
            line["names"],
            line["token"],
            line["outcome"],
            line["with"]
        ])
    };
    text.lines().map(read).collect()
}

// claim: P74
#[test]
fn whoever_administrates_or_tries_to_is_in_the_trail() {
    let folder = tempfile::tempdir().unwrap();
    let trail = folder.path().join("trail.jsonl");
    let server = Server::with(|config| {
        config.tokens = vec![
            token("web", "web", &[Right::Allocate]),
            token("boss", "boss", &[Right::Read, Right::Allocate, Right::Admin]),
        ];
        config.audit_file = Off(Some(LocalPath(trail.clone())));
        config
            .faces
            .get_mut::<mintage_faces::idgo::Settings>()
            .access
            .listen = Listen::parse("127.0.0.1:0").unwrap();
    });
    for row in OPERATIONS
        .iter()
        .filter(|row| row.right == Some(mintage_wire::Right::Admin))
    {
        // To look is no act.
        if matches!(row.op, Op::ShowAccess | Op::ListActs) {
            continue;
        }
        let path = row.path_to(&row.placeholders().map(|_| "7").collect::<Vec<_>>());
        for (who, refused) in [("web", true), ("boss", false)] {
            let answer = ask(&server, who, row.method, &path, "");
            let lines = told(&trail);
            assert_eq!(lines.len(), 1, "{} {path} by {who}: {lines:?}", row.method);
            assert_eq!(lines[0][2], who, "{} {path}: {lines:?}", row.method);
            assert_eq!(
                (lines[0][3] == "forbidden", answer.status == 403),
                (refused, refused)
            );
            let named = if row.placeholders().next().is_some() {
                json!(["7"])
            } else {
                json!([])
            };
            assert_eq!(lines[0][1], named, "{} {path}", row.method);
        }
    }
    ask(&server, "boss", "PUT", "/v1/sequences/s", r#"{"start":"100"}"#);
    let back = r#"{"value":"1","is_called":false,"allow_repeat":true}"#;
    ask(&server, "boss", "POST", "/v1/sequences/s/restart", back);
    ask(
        &server,
        "boss",
        "PATCH",
        "/v1/sequences/s",
        r#"{"max":"500","allow_repeat":false}"#,
    );
    assert_eq!(
        told(&trail),
        [
            json!(["create", ["s"], "boss", "done", null]),
            json!(["restart", ["s"], "boss", "done", "allow_repeat"]),
            json!(["alter", ["s"], "boss", "done", null]),
        ]
    );
    // The Redis protocol, and what speaks it.
    for (face, words) in [
        ("resp", "SET r 5"),
        ("resp", "SETNX r 5"),
        ("resp", "GETSET r 6"),
        ("resp", "SETEX r 10 7"),
        ("resp", "PSETEX r 10 8"),
        ("resp", "DEL r"),
        ("idgo", "SET r 5"),
        ("idgo", "DEL r"),
    ] {
        for who in ["web", "boss"] {
            let mut client = Client::connect(server.address(face));
            client.send(format!("AUTH {who}\r\n{words}\r\n"));
            assert_eq!(client.line(), "+OK");
            client.line();
            let lines = told(&trail);
            assert_eq!(lines.len(), 1, "{face} {words} by {who}: {lines:?}");
            let what = words.split(' ').next().unwrap().to_lowercase();
            assert_eq!(
                (&lines[0][0], &lines[0][2]),
                (&json!(what), &json!(who)),
                "{face}"
            );
            assert_eq!(
                lines[0][3] == "forbidden",
                who == "web",
                "{face} {words}: {lines:?}"
            );
        }
    }
}
