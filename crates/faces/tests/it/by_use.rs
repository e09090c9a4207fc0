//! `sequences.auto_create = false` on every face and with every verb: nothing is made but by who says that it is to be made.

use mintage_server::config::{Config, Setting};
use mintage_server::faces;
use mintage_testing::invariant;

use crate::common::Server;
use crate::every_face::All;

/// What clients of each face send at their start and later; none of them may make a name.
const REQUESTS: &[(&str, &str)] = &[
    ("http", "POST /v1/sequences/shop.orders/next"),
    ("http", "POST /v1/sequences/shop.orders/next?count=5&as=range"),
    ("http", "POST /v1/snowflakes/default"),
    ("http", "POST /v1/snowflakes/uuid1"),
    ("http", "POST /v1/ids/uuid1"),
    ("http", "POST /v1/ids/snowflake"),
    ("http", "GET /v1/pools/default"),
    ("resp", "INCR shop.orders"),
    ("resp", "INCRBY shop.orders 9"),
    ("resp", "MINT.NEXT shop.orders"),
    ("resp", "SET shop.orders 0"),
    ("resp", "SET shop.orders 0 NX"),
    ("resp", "SETNX shop.orders 0"),
    ("resp", "GETSET shop.orders 5"),
    ("resp", "INCRBY cosid:{shop.orders}.adder 100"),
    ("resp", "SET cosid:{shop.orders}.adder 0 NX"),
    (
        "resp",
        "EVAL \"return redis.call('incr', KEYS[1])\" 1 shop.orders",
    ),
    ("resp", "MINT.SNOWFLAKE default"),
    ("resp", "MINT.ID uuid1"),
    ("leaf", "GET /api/segment/get/shop.orders"),
    ("leaf", "GET /api/snowflake/get/shop.orders"),
    (
        "tinyid",
        "GET /tinyid/id/nextIdSimple?bizType=shop.orders&token=t",
    ),
    (
        "tinyid",
        "GET /tinyid/id/nextSegmentIdSimple?bizType=shop.orders&token=t",
    ),
    ("cosid", "POST /segments/distributor/shop/orders?offset=0&step=10"),
    ("cosid", "PATCH /segments/shop/orders?step=10"),
    (
        "cosid",
        "POST /machines/shop?machineBit=10&instanceId=a&stable=false&safeGuardDuration=PT5M",
    ),
    (
        "cosid",
        "PATCH /machines/shop?instanceId=a&stable=false&safeGuardDuration=PT5M",
    ),
    ("cosid", "GET /ids"),
    ("idgo", "GET shop.orders"),
    ("idgo", "INCR shop.orders"),
    ("idgo", "SET shop.orders 0"),
    ("mysql", "SELECT NEXTVAL(shop.orders) AS n"),
    ("mysql", "SELECT SETVAL(shop.orders, 10) AS n"),
    ("mysql", "REPLACE INTO shop.orders (stub) VALUES ('a')"),
    ("mysql", "INSERT INTO shop.orders (id) VALUES (7)"),
    ("mysql", "UPDATE shop.orders SET id = LAST_INSERT_ID(id + 6)"),
    ("mysql", "SELECT mint_snowflake() AS n"),
    ("postgres", "SELECT nextval('shop.orders')"),
    ("postgres", "SELECT setval('shop.orders', 10)"),
    ("postgres", "SELECT first, last FROM mint_run('shop.orders', 5)"),
    ("postgres", "SELECT mint_snowflake()"),
    ("postgrest", "POST /rpc/nextval?seq=shop.orders"),
    ("prest", "GET /_QUERIES/ids/next"),
    ("sonyflake", "GET /"),
    ("gosnowflake", "GET /worker/1"),
];

/// They ask through the operations of `http`: a call of gRPC is transcoded to its request, and Thrift's methods take from the
/// pool of `POST /v1/snowflakes`.
const AS_HTTP: &[&str] = &["grpc", "thrift"];

fn without_auto_create(config: &mut Config) {
    config.auto_create = false;
    // Whatever a face allows for itself.
    let faces = &mut config.faces;
    faces.get_mut::<mintage_faces::leaf::Settings>().keys.create = true;
    faces.get_mut::<mintage_faces::tinyid::Settings>().keys.create = true;
    faces.get_mut::<mintage_faces::cosid::Settings>().keys.create = true;
    faces.get_mut::<mintage_faces::idgo::Settings>().keys.create = true;
    faces.get_mut::<mintage_faces::mysql::Settings>().keys.create = true;
    faces.get_mut::<mintage_faces::postgres::Settings>().keys.create = true;
    faces.get_mut::<mintage_faces::postgrest::Settings>().keys.create = true;
    faces.get_mut::<mintage_faces::prest::Settings>().keys.create = true;
    faces.get_mut::<mintage_faces::tinyid::Settings>().steps =
        Setting::parse("{ \"shop.orders\" = 50 }").unwrap();
}

/// The names of all sequences and pools.
fn made(server: &Server) -> Vec<String> {
    let mut names = Vec::new();
    for kind in ["sequences", "pools"] {
        let page = server.http().ask("GET", &format!("/v1/{kind}")).json();
        let all = page[kind].as_array().unwrap();
        names.extend(
            all.iter()
                .map(|one| format!("{kind}/{}", one["name"].as_str().unwrap())),
        );
    }
    names
}

#[test]
fn no_face_and_no_verb_makes_a_name_without_auto_create() {
    for face in faces::all() {
        let is_known = REQUESTS.iter().any(|(known, _)| *known == face.name) || AS_HTTP.contains(&face.name);
        assert!(
            is_known,
            "what do clients of {} send for a name that is not there?",
            face.name
        );
    }
    let mut all = All::start_with(without_auto_create);
    invariant!(
        made(all.server()).is_empty(),
        "made at the start: {:?}",
        made(all.server())
    );
    for (face, request) in REQUESTS {
        let answer = all.ask(face, request);
        let made = made(all.server());
        invariant!(
            made.is_empty(),
            "{face} {request} made {made:?} and answered {answer}"
        );
    }
    // The refusal says what to do, where the face has words of its own.
    for (face, request) in [
        ("http", "POST /v1/sequences/shop.orders/next"),
        ("cosid", "POST /segments/distributor/shop/orders?offset=0&step=10"),
        ("resp", "SET shop.orders 0 NX"),
        ("idgo", "SET shop.orders 0"),
    ] {
        let answer = all.ask(face, request);
        assert!(
            answer.contains("mint import") && answer.contains("mint seq create"),
            "{face}: {answer}"
        );
    }
    let machine = "POST /machines/shop?machineBit=10&instanceId=a&stable=false&safeGuardDuration=PT5M";
    let answer = all.ask("cosid", machine);
    assert!(
        answer.contains("mint pool create") && answer.contains("--avoid-from"),
        "{answer}"
    );
}

#[test]
fn who_says_that_a_name_is_to_be_made_makes_it() {
    let mut all = All::start_with(without_auto_create);
    all.server().make("shop.orders", r#"{"start":"5001"}"#);
    assert!(all.change("mysql", "CREATE SEQUENCE of_mysql"));
    assert!(all.change("postgres", "CREATE SEQUENCE of_postgres"));
    assert!(all.change("http", r#"PUT /v1/pools/default {"preset":"twitter"}"#));
    let made = made(all.server());
    for name in [
        "sequences/shop.orders",
        "sequences/of_mysql",
        "sequences/of_postgres",
        "pools/default",
    ] {
        assert!(made.iter().any(|known| known == name), "{name}: {made:?}");
    }
    // What is there is used, whatever asks for it.
    assert_eq!(
        all.ask("cosid", "POST /segments/distributor/shop/orders?offset=0&step=10"),
        ""
    );
    assert_eq!(all.ask("cosid", "PATCH /segments/shop/orders?step=10"), "5010");
    assert_eq!(all.ask("resp", "SET shop.orders 6000 XX"), "+OK");
}

/// CosId's proxy and its distributor over Redis count in one key, so that clients of both take from one sequence here.
#[test]
fn a_segment_of_cosid_is_one_sequence_by_its_proxy_and_by_its_key_in_redis() {
    let mut all = All::start_with(|config| {
        config
            .faces
            .get_mut::<mintage_faces::cosid::Settings>()
            .keys
            .prefix = Setting::parse("cosid:").unwrap();
    });
    let key = "cosid:{shop.bills}.adder";
    assert_eq!(all.ask("resp", &format!("INCRBY {key} 100")), ":100");
    assert_eq!(all.ask("cosid", "PATCH /segments/shop/bills?step=50"), "150");
    assert_eq!(all.ask("resp", &format!("INCR {key}")), ":151");
    assert_eq!(all.ask("resp", &format!("GET {key}")), "151");
    assert_eq!(
        all.ask(
            "resp",
            &format!("EVAL \"return redis.call('incr', KEYS[1])\" 1 {key}")
        ),
        ":152"
    );
    assert_eq!(all.ask("resp", "GET cosid:shop.bills"), "152");
    assert_eq!(all.ask("resp", "KEYS cosid:*"), "*1");
    // In a transaction, too.
    let mut client = all.server().resp();
    client
        .send(format!("MULTI\r\nINCRBY {key} 8\r\nEXEC\r\n"))
        .expect("+OK\r\n+QUEUED\r\n*1\r\n:160\r\n");
    // A name that begins with what its numbers stood under before is refused and does not begin at 1.
    all.server().make("cosid:{shop.old}.adder", r#"{"start":"5001"}"#);
    let answer = all.ask("cosid", "PATCH /segments/shop/old?step=10");
    assert!(answer.contains("cosid:{shop.old}.adder"), "{answer}");
    let answer = all.ask("resp", "INCRBY cosid:{shop.old}.adder 10");
    assert!(
        answer.starts_with('-') && answer.contains("earlier name"),
        "{answer}"
    );
}
