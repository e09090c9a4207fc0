//! What is promised of every face, tried on every face: one sequence under all of them, and pages of other sites at each.

use std::net::SocketAddr;

use mintage_server::config::{Config, Listen, Setting};
use mintage_server::faces::FACES;
use mintage_testing::invariant;

use crate::common::Server;
use crate::common::mysql::My;
use crate::face_postgres::Pg;

/// A name that every face can say: CosId's have a namespace.
pub(crate) const NAME: &str = "shop.orders";

/// Every face that counts, by the name of its sequence, without a prefix.
fn all_on(config: &mut Config) {
    let any_port = || Listen::parse("127.0.0.1:0").unwrap();
    let none = || Setting::parse("").unwrap();
    let faces = &mut config.faces;
    for access in [
        &mut faces.leaf.access,
        &mut faces.tinyid.access,
        &mut faces.cosid.access,
        &mut faces.idgo.access,
        &mut faces.postgrest.access,
        &mut faces.prest.access,
        &mut faces.postgres.access,
        &mut faces.mysql.access,
        &mut faces.sonyflake.access,
        &mut faces.gosnowflake.access,
    ] {
        access.listen = any_port();
    }
    faces.leaf.keys.prefix = none();
    faces.tinyid.keys.prefix = none();
    faces.cosid.keys.prefix = none();
    faces.idgo.keys.prefix = none();
    faces.tinyid.steps = Setting::parse(&format!("{{ \"{NAME}\" = 50 }}")).unwrap();
    faces.prest.queries =
        Setting::parse(&format!("{{ \"ids/next\" = {{ sequence = \"{NAME}\" }} }}")).unwrap();
}

/// How a client takes numbers of it: the face, the request, how many, and the answer, where {F} is the first of them,
/// {L} the last, {P} the one before, and … anything.
pub(crate) type Way = (&'static str, &'static str, i64, &'static str);

/// Every face whose ids are numbers of a sequence, by each of its ways.
pub(crate) const WAYS: &[Way] = &[
    (
        "http",
        "POST /v1/sequences/shop.orders/next",
        1,
        r#"{"ids":["{L}"]}"#,
    ),
    (
        "http",
        "POST /v1/sequences/shop.orders/next?count=7",
        7,
        r#"{"ids":["{F}",…,"{L}"]}"#,
    ),
    (
        "http",
        "POST /v1/sequences/shop.orders/next?count=40&as=range",
        40,
        r#"{"first":"{F}","last":"{L}","increment":"1"}"#,
    ),
    ("resp", "INCR shop.orders", 1, ":{L}"),
    ("resp", "INCRBY shop.orders 9", 9, ":{L}"),
    ("resp", "MINT.NEXT shop.orders", 1, ":{L}"),
    (
        "resp",
        "EVAL \"return redis.call('incr', KEYS[1])\" 1 shop.orders",
        1,
        ":{L}",
    ),
    ("postgres", "SELECT nextval('shop.orders')", 1, "D {L}"),
    (
        "postgres",
        "SELECT first, last FROM mint_run('shop.orders', 5)",
        5,
        "D {F}|{L}",
    ),
    ("mysql", "SELECT NEXTVAL(shop.orders) AS n", 1, "[n i] {L}"),
    (
        "mysql",
        "REPLACE INTO shop.orders (stub) VALUES ('a')",
        1,
        "OK 2 {L} 2",
    ),
    (
        "mysql",
        "INSERT INTO shop.orders (stub) VALUES ('a'), ('b'), ('c')",
        3,
        "OK 3 {F} 2",
    ),
    (
        "mysql",
        "UPDATE shop.orders SET id = LAST_INSERT_ID(id + 6)",
        6,
        "OK 1 {L} 2",
    ),
    ("leaf", "GET /api/segment/get/shop.orders", 1, "{L}"),
    (
        "tinyid",
        "GET /tinyid/id/nextIdSimple?bizType=shop.orders&token=t&batchSize=3",
        3,
        "{F},…,{L}",
    ),
    (
        "tinyid",
        "GET /tinyid/id/nextSegmentId?bizType=shop.orders&token=t",
        50,
        r#"…"maxId":{L},…"currentId":{P},…"#,
    ),
    ("cosid", "PATCH /segments/shop/orders?step=20", 20, "{L}"),
    ("idgo", "GET shop.orders", 1, "{L}"),
    ("postgrest", "POST /rpc/nextval?seq=shop.orders", 1, "{L}"),
    ("prest", "GET /_QUERIES/ids/next", 1, r#"[{"nextval": {L}}]"#),
];

/// Those whose ids are a pool's, and gRPC, whose client is in `e2e/tests/grpc.rs`.
const OTHERS: &[&str] = &["grpc", "thrift", "sonyflake", "gosnowflake"];

/// A server with every face, and connections that stay.
pub(crate) struct All {
    server: Server,
    pg: Pg,
    my: My,
}

impl All {
    pub(crate) fn start() -> All {
        let all = All::start_with(|_| {});
        all.server.make(NAME, "{}");
        all
    }

    /// With a changed configuration, and without the sequence.
    pub(crate) fn start_with(change: impl FnOnce(&mut Config)) -> All {
        let server = Server::with(|config| {
            all_on(config);
            change(config);
        });
        let (pg, my) = (Pg::new(&server), My::open(&server, "other"));
        All { server, pg, my }
    }

    pub(crate) fn server(&self) -> &Server {
        &self.server
    }

    /// Where each face is that counts.
    pub(crate) fn addresses(&self) -> Vec<SocketAddr> {
        WAYS.iter().map(|way| self.server.address(way.0)).collect()
    }

    /// Asks for a change of the sequence, and answers whether it was made.
    pub(crate) fn change(&mut self, face: &str, request: &str) -> bool {
        match face {
            "postgres" => !self
                .pg
                .query(request)
                .iter()
                .any(|line| line.starts_with("ERROR")),
            "mysql" => !self.my.ask(request).starts_with("ERR"),
            "resp" => {
                let mut client = self.server.face(face);
                !client.send(format!("{request}\r\n")).line().starts_with('-')
            }
            _ => {
                let mut words = request.splitn(3, ' ');
                let [method, target, body] = std::array::from_fn(|_| words.next().unwrap_or_default());
                let json = [("content-type", "application/json")];
                let answer = self.server.http().ask_with(method, target, &json, body);
                answer.status < 300
            }
        }
    }

    pub(crate) fn ask(&mut self, face: &str, request: &str) -> String {
        match face {
            "postgres" => {
                let row = self
                    .pg
                    .query(request)
                    .into_iter()
                    .find(|line| line.starts_with("D "));
                row.unwrap_or_default()
            }
            "mysql" => self.my.ask(request),
            "resp" | "idgo" => {
                let mut client = self.server.face(face);
                let reply = client.send(format!("{request}\r\n")).line();
                match reply.starts_with('$') && reply != "$-1" {
                    true => client.line(),
                    false => reply,
                }
            }
            _ => {
                let (method, target) = request.split_once(' ').unwrap();
                let json = [("content-type", "application/x-www-form-urlencoded")];
                let answer = match face {
                    "postgrest" => {
                        self.server
                            .face(face)
                            .ask_with(method, "/rpc/nextval", &json, "seq=shop.orders")
                    }
                    _ => self.server.face(face).ask(method, target),
                };
                invariant!(
                    answer.header("cache-control") == Some("no-store"),
                    "{face} {request}: a cache would give its ids to somebody else"
                );
                answer.text().trim_end().to_string()
            }
        }
    }
}

/// Whether an answer is the one that gives out these numbers.
fn gives(answer: &str, template: &str, first: i64, last: i64) -> bool {
    let numbers = [("{F}", first), ("{L}", last), ("{P}", first - 1)];
    let filled = numbers
        .into_iter()
        .fold(template.to_string(), |text, (mark, number)| {
            text.replace(mark, &number.to_string())
        });
    let (mut rest, mut parts) = (answer, filled.split('…'));
    let begins = parts.next().is_some_and(|part| match rest.strip_prefix(part) {
        Some(after) => {
            rest = after;
            true
        }
        None => false,
    });
    let follow = parts.all(|part| match rest.split_once(part) {
        Some((_, after)) => {
            rest = after;
            true
        }
        None => false,
    });
    begins && follow && (rest.is_empty() || filled.ends_with('…'))
}

/// Alone on its store a server leaves out nothing, so that each answer is known to the number.
// claim: P1, P17, P20, P73
#[test]
fn every_face_takes_from_one_sequence_in_turn() {
    let known: Vec<&str> = WAYS
        .iter()
        .map(|way| way.0)
        .chain(OTHERS.iter().copied())
        .collect();
    for face in FACES {
        assert!(
            known.contains(&face.name),
            "how does a client take numbers of {}?",
            face.name
        );
    }
    let mut all = All::start();
    let mut last = 0;
    // In this order, in the other one, and in it again.
    let orders = [WAYS.to_vec(), WAYS.iter().rev().copied().collect(), WAYS.to_vec()];
    for (face, request, count, template) in orders.concat() {
        let answer = all.ask(face, request);
        let (first, next) = (last + 1, last + count);
        invariant!(
            gives(&answer, template, first, next),
            "{face} {request}: {answer} where {first} to {next} come next"
        );
        last = next;
    }
}

/// What a browser sends for a page of another site, to each port: with the headers that tell of it where HTTP is spoken,
/// as lines of another protocol elsewhere. The number that comes next afterwards is the one that came next before.
// claim: P72
#[test]
fn a_page_of_another_site_takes_nothing_from_any_face() {
    let all = All::start();
    let own = &all.server;
    // An image or a script is asked for without an `Origin`, everything but GET is sent with one.
    let of_an_image = [
        &[("sec-fetch-site", "cross-site")][..],
        &[("sec-fetch-site", "same-site")],
        &[("origin", "https://evil.example")],
    ];
    let of_a_form = [
        &[
            ("origin", "https://evil.example"),
            ("sec-fetch-site", "cross-site"),
        ][..],
        &[("origin", "https://evil.example")],
        &[("origin", "null")],
    ];
    for (face, request, _, _) in WAYS {
        if matches!(*face, "postgres" | "mysql" | "resp" | "idgo") {
            for line in ["GET /shop.orders HTTP/1.1", "POST / HTTP/1.1"] {
                let mut page = own.face(face);
                page.try_send(format!("{line}\r\nHost: x\r\n\r\n{request}\r\n"));
                page.try_finish_sending();
                page.read_to_end();
            }
            continue;
        }
        let (method, target) = request.split_once(' ').unwrap();
        for (method, pages) in [("GET", of_an_image), ("POST", of_a_form), (method, of_a_form)] {
            for headers in pages {
                let answer = own.face(face).ask_with(method, target, headers, "");
                invariant!(
                    answer.status >= 400,
                    "{face} {method} {target} {headers:?}: {}",
                    answer.text()
                );
            }
        }
    }
    for (face, target) in [("sonyflake", "/"), ("gosnowflake", "/worker/1")] {
        for headers in of_an_image {
            let answer = own.face(face).ask_with("GET", target, headers, "");
            invariant!(answer.status >= 400, "{face} {headers:?}: {}", answer.text());
        }
    }
    let next = own.http().ask("POST", "/v1/sequences/shop.orders/next").json();
    invariant!(next["ids"][0] == "1", "a page took numbers: {next} comes next");
}

/// Neither the numbers that were taken in a transaction nor what was changed in it.
// claim: P75
#[test]
fn a_rollback_gives_nothing_back_on_either_face_of_sql() {
    let mut all = All::start();
    for (face, statements, next) in [
        (
            "postgres",
            [
                "BEGIN",
                "SELECT nextval('shop.orders')",
                "SELECT setval('shop.orders', 10)",
                "ROLLBACK",
            ],
            "D 11",
        ),
        (
            "mysql",
            [
                "BEGIN",
                "REPLACE INTO shop.orders (stub) VALUES ('a')",
                "ALTER SEQUENCE shop.orders RESTART 21",
                "ROLLBACK",
            ],
            "[n i] 21",
        ),
    ] {
        for statement in statements {
            all.ask(face, statement);
        }
        let take = match face {
            "postgres" => "SELECT nextval('shop.orders')",
            _ => "SELECT NEXTVAL(shop.orders) AS n",
        };
        let taken = all.ask(face, take);
        invariant!(taken == next, "{face}: {taken} where {next} comes next");
    }
}
