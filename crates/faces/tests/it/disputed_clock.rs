//! Every format that carries the time, on every face that makes it, while this server's clock stands away from the store's:
//! none has a way round the one clock (protocol C2).

use mintage::{FORMATS, Format, GenOptions};
use mintage_server::config::{Config, Setting};
use mintage_server::faces;
use mintage_testing::invariant;
use mintage_wire::is_made;

use crate::common::{Client, Server};
use crate::every_face::{All, all_on};

const DAY_MS: i64 = 24 * 3_600_000;

/// Faces whose ids are numbers of a sequence, which carry no time.
const NUMBERS_ALONE: &[&str] = &["tinyid", "idgo", "postgrest", "prest"];

/// How a client of a face asks for ids of a format: {F} is its name.
const OF_FORMATS: &[(&str, &str)] = &[
    ("http", "POST /v1/ids/{F}"),
    ("http", "POST /v1/ids/{F}?count=200"),
    ("resp", "MINT.ID {F}"),
    ("resp", "MINT.ID {F} COUNT 200"),
    ("grpc", "MakeIds {F}"),
    ("grpc", "IdStream {F}"),
    ("postgres", "SELECT mint_id('{F}')"),
    ("mysql", "SELECT mint_id('{F}') AS n"),
];

/// The other ways to an id that carries the time.
const OF_TIME: &[(&str, &str)] = &[
    ("http", "POST /v1/ids/snowflake?pool=default"),
    ("resp", "MINT.SNOWFLAKE default"),
    ("resp", "MINT.SNOWFLAKE default COUNT 200"),
    ("grpc", "MakeSnowflakes default"),
    ("postgres", "SELECT uuidv7()"),
    ("postgres", "SELECT mint_uuid7()"),
    ("postgres", "SELECT mint_snowflake('default')"),
    ("postgres", "SELECT mint_snowflake()"),
    ("mysql", "SELECT UUID_V7() AS n"),
    ("mysql", "SELECT mint_uuid7() AS n"),
    ("mysql", "SELECT mint_snowflake() AS n"),
    ("leaf", "GET /api/snowflake/get/any"),
    ("cosid", "GET /ids/flake"),
    ("cosid", "GET /ids/as-string/flake"),
    ("cosid", "GET /ids/as-string/dated"),
    ("sonyflake", "GET /"),
    ("gosnowflake", "GET /worker/1"),
];

/// Ids of random bits and numbers, which are made whatever clocks say.
const TIMELESS: &[(&str, &str)] = &[
    ("http", "POST /v1/ids/uuid4?count=200"),
    ("http", "POST /v1/ids/nanoid"),
    ("http", "POST /v1/sequences/shop.orders/next"),
    ("resp", "MINT.ID uuid4"),
    ("resp", "MINT.ID uuid4 COUNT 200"),
    ("resp", "MINT.ID nanoid COUNT 200"),
    ("resp", "MINT.ID cuid2"),
    ("resp", "INCR shop.orders"),
    ("grpc", "MakeIds uuid4"),
    ("postgres", "SELECT gen_random_uuid()"),
    ("postgres", "SELECT mint_id('nanoid')"),
    ("postgres", "SELECT nextval('shop.orders')"),
    ("mysql", "SELECT mint_id('uuid4') AS n"),
    ("mysql", "SELECT mint_id('cuid2') AS n"),
];

/// Every format that is made here and carries the time.
fn timed() -> impl Iterator<Item = &'static Format> {
    FORMATS.iter().filter(|row| is_made(row) && row.time.is_some())
}

fn all(by_ms: i64) -> All {
    let on = |config: &mut Config| {
        all_on(config);
        config.faces.get_mut::<mintage_faces::cosid::Settings>().generators = Setting::parse(
            r#"{ "flake" = { kind = "snowflake" }, "dated" = { converter = "to_string", date_prefix = "yyMMdd" } }"#,
        )
        .unwrap();
        config
            .faces
            .get_mut::<mintage_faces::thrift::Settings>()
            .access
            .listen = Setting::parse("127.0.0.1:0").unwrap();
    };
    let all = All::of(Server::apart_from_its_store(by_ms, on));
    all.server().make(mintage_testing::ways::NAME, "{}");
    all
}

/// Push ids begin with the same character as refusals do.
fn is_refused(answer: &str) -> bool {
    answer == "-refused" || answer.starts_with('-') && answer.contains(' ')
}

/// What Twitter's `get_id` is answered: an id, or something else.
fn thrift_gives(server: &Server) -> bool {
    let mut client = Client::connect(server.address("thrift"));
    client.send(b"\x80\x01\0\x01\0\0\0\x06get_id\0\0\0\x05\x0b\0\x01\0\0\0\x01x\0");
    let answer = client.read(21);
    // A field 0 of 64 bits in a reply.
    answer[..4] == *b"\x80\x01\0\x02" && answer[18..] == *b"\x0a\0\0"
}

#[test]
fn every_face_that_makes_ids_is_asked() {
    for face in faces::all() {
        let asked = OF_FORMATS
            .iter()
            .chain(OF_TIME)
            .any(|(name, _)| *name == face.name);
        assert!(
            asked || face.name == "thrift" || NUMBERS_ALONE.contains(&face.name),
            "how does a client of {} get an id that carries the time?",
            face.name
        );
    }
}

// claim: P76
#[test]
fn no_format_on_no_face_gets_a_time_that_is_disputed() {
    for by_ms in [-3 * DAY_MS, 2 * 3_600_000] {
        let mut all = all(by_ms);
        let mut ways: Vec<(&str, String)> = OF_TIME
            .iter()
            .map(|(face, request)| (*face, (*request).to_string()))
            .collect();
        for row in timed() {
            for name in [row.name].iter().chain(row.aliases) {
                ways.extend(
                    OF_FORMATS
                        .iter()
                        .map(|(face, way)| (*face, way.replace("{F}", name))),
                );
            }
        }
        for (face, request) in ways {
            let answer = all.told(face, &request);
            invariant!(is_refused(&answer), "{face} {request}: {answer}");
            let says = answer.contains("no two clocks agree");
            let foreign = ["grpc", "leaf", "cosid", "sonyflake", "gosnowflake"].contains(&face);
            assert!(
                says || foreign,
                "{face} {request} is refused for another reason: {answer}"
            );
        }
        invariant!(!thrift_gives(all.server()), "thrift gives an id");
        for (face, request) in TIMELESS {
            let answer = all.told(face, request);
            assert!(!is_refused(&answer), "{face} {request}: {answer}");
        }
        let mut http = all.server().http();
        let ready = http.ask("GET", "/readyz").text();
        assert!(ready.contains("no two clocks agree within 5 s"), "{ready}");
        assert_eq!(http.ask("GET", "/readyz?for=pools").status, 503);
        let metrics = http.ask("GET", "/metrics").text();
        assert!(metrics.contains("\nmint_clock_refused 1\n"), "{metrics}");
    }
}

/// What the test above asks for is given where nothing is disputed: it is refused for no other reason.
#[test]
fn the_same_is_made_while_the_clocks_agree() {
    let mut all = all(0);
    for (face, request) in OF_TIME.iter().chain(TIMELESS) {
        let answer = all.told(face, request);
        assert!(!is_refused(&answer), "{face} {request}: {answer}");
    }
    for row in timed().filter(|row| row.example_options() == GenOptions::default()) {
        for (face, way) in OF_FORMATS.iter().filter(|(_, way)| !way.starts_with("IdStream")) {
            let answer = all.told(face, &way.replace("{F}", row.name));
            assert!(!is_refused(&answer), "{face} {}: {answer}", row.name);
        }
    }
    assert!(thrift_gives(all.server()));
    let metrics = all.server().http().ask("GET", "/metrics").text();
    assert!(metrics.contains("\nmint_clock_refused 0\n"), "{metrics}");
}
