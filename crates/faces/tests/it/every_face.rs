//! What is promised of every face, tried on every face: one sequence under all of them, and pages of other sites at each.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use mintage_server::config::{Config, Listen, Setting};
use mintage_server::faces;
use mintage_testing::ways::{NAME, WAYS, numbers};
use mintage_testing::wire::Wire;
use mintage_testing::{Runs, invariant};

use crate::common::Server;

/// Every face that counts, by the name of its sequence, without a prefix.
pub(crate) fn all_on(config: &mut Config) {
    let any_port = || Listen::parse("127.0.0.1:0").unwrap();
    let none = || Setting::parse("").unwrap();
    config.grpc_listen = any_port();
    let faces = &mut config.faces;
    faces.get_mut::<mintage_faces::leaf::Settings>().access.listen = any_port();
    faces.get_mut::<mintage_faces::tinyid::Settings>().access.listen = any_port();
    faces.get_mut::<mintage_faces::cosid::Settings>().access.listen = any_port();
    faces.get_mut::<mintage_faces::idgo::Settings>().access.listen = any_port();
    faces
        .get_mut::<mintage_faces::postgrest::Settings>()
        .access
        .listen = any_port();
    faces.get_mut::<mintage_faces::prest::Settings>().access.listen = any_port();
    faces.get_mut::<mintage_faces::postgres::Settings>().access.listen = any_port();
    faces.get_mut::<mintage_faces::mysql::Settings>().access.listen = any_port();
    faces
        .get_mut::<mintage_faces::sonyflake::Settings>()
        .access
        .listen = any_port();
    faces
        .get_mut::<mintage_faces::gosnowflake::Settings>()
        .access
        .listen = any_port();
    faces.get_mut::<mintage_faces::leaf::Settings>().keys.prefix = none();
    faces.get_mut::<mintage_faces::tinyid::Settings>().keys.prefix = none();
    faces.get_mut::<mintage_faces::cosid::Settings>().keys.prefix = none();
    faces.get_mut::<mintage_faces::idgo::Settings>().keys.prefix = none();
    faces.get_mut::<mintage_faces::tinyid::Settings>().steps =
        Setting::parse(&format!("{{ \"{NAME}\" = 50 }}")).unwrap();
    faces.get_mut::<mintage_faces::prest::Settings>().queries =
        Setting::parse(&format!("{{ \"ids/next\" = {{ sequence = \"{NAME}\" }} }}")).unwrap();
}

/// Those whose ids are a pool's.
const OTHERS: &[&str] = &["thrift", "sonyflake", "gosnowflake"];

/// A server with every face, and a connection to each that stays.
pub(crate) struct All {
    server: Server,
    wires: BTreeMap<String, Wire>,
}

impl All {
    pub(crate) fn start() -> All {
        let all = All::start_with(|_| {});
        all.server.make(NAME, "{}");
        all
    }

    /// With a changed configuration, and without the sequence.
    pub(crate) fn start_with(change: impl FnOnce(&mut Config)) -> All {
        All::of(Server::with(|config| {
            all_on(config);
            change(config);
        }))
    }

    /// Two servers on one set of stores, with the sequence.
    fn on_a_set() -> [All; 2] {
        let servers = Server::on_a_set(all_on);
        servers[0].make(NAME, "{}");
        servers.map(All::of)
    }

    pub(crate) fn of(server: Server) -> All {
        let wires = BTreeMap::new();
        All { server, wires }
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
        !self.told(face, request).starts_with('-')
    }

    pub(crate) fn ask(&mut self, face: &str, request: &str) -> String {
        let answer = self.told(face, request);
        invariant!(
            !self.wires[face].is_cacheable,
            "{face} {request}: a cache would give its ids to somebody else"
        );
        answer
    }

    pub(crate) fn told(&mut self, face: &str, request: &str) -> String {
        let connect = || Wire::connect(face, self.server.address(face)).unwrap();
        let wire = self.wires.entry(face.to_string()).or_insert_with(connect);
        wire.ask(&[request]).unwrap().remove(0)
    }
}

/// Whether an answer is the one that gives out these numbers.
fn gives(answer: &str, template: &str, first: i64, last: i64) -> bool {
    let numbers = [("{F}", first), ("{L}", last), ("{P}", first - 1), ("{S}", 1)];
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
    for face in faces::all() {
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

/// On a set each store has every second number, so that no run of consecutive ones is anybody's: a client that would compute
/// such a run is refused, and every other one, at whichever server, issues what nobody else was told.
// claim: P1, P16, P20
#[test]
fn on_a_set_no_client_of_any_face_issues_what_another_was_told() {
    let mut both = All::on_a_set();
    let (mut given, mut taken, mut last) = (Runs::of("a set"), BTreeSet::new(), [0; 2]);
    for round in 0..6 {
        for (at, way) in WAYS.iter().enumerate() {
            let on = (at + round) % 2;
            let answer = both[on].ask(way.0, way.1);
            let Some(numbers) = numbers(way, &answer) else {
                invariant!(
                    answer.starts_with('-') || !answer.contains(|c: char| c.is_ascii_digit()),
                    "{way:?}: {answer}"
                );
                continue;
            };
            invariant!(
                numbers.iter().is_sorted() && numbers[0] > last[on],
                "{way:?}: {answer} after {}",
                last[on]
            );
            last[on] = *numbers.last().unwrap();
            given.extend(numbers);
            taken.insert(way);
        }
    }
    let refused: Vec<&str> = WAYS
        .iter()
        .filter(|way| !taken.contains(way))
        .map(|way| way.1)
        .collect();
    let of_runs = [
        "POST /v1/sequences/shop.orders/next?count=40&as=range",
        "Next shop.orders count=30 contiguous=1",
        "INCRBY shop.orders 9",
        "SELECT first, last, increment FROM mint_run('shop.orders', 5)",
        "INSERT INTO shop.orders (stub) VALUES ('a'), ('b'), ('c')",
        "UPDATE shop.orders SET id = LAST_INSERT_ID(id + 6)",
        "PATCH /segments/shop/orders?step=20",
    ];
    assert_eq!(
        refused, of_runs,
        "these alone answer a run by its ends; tinyid's names the step"
    );
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
        if matches!(*face, "postgres" | "mysql" | "resp" | "idgo" | "grpc") {
            for line in ["GET /shop.orders HTTP/1.1", "POST / HTTP/1.1"] {
                let mut page = own.face(face);
                page.try_send(format!("{line}\r\nHost: x\r\n\r\n{request}\r\n"));
                page.try_finish_sending();
                page.read_to_end();
            }
            continue;
        }
        let mut words = request.split(' ');
        let (method, target) = (words.next().unwrap(), words.next().unwrap());
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
