//! CosId's REST proxy byte by byte, over a real server in this process.

use std::sync::Arc;

use mintage_ledger::FaultyStore;
use mintage_server::auth::Right;
use mintage_server::config::{Config, FaceAuth, Listen, Setting};
use mintage_testing::{invariant, rising};

use crate::common::{Answer, Client, Server, token};

fn on(config: &mut Config) {
    config
        .faces
        .get_mut::<mintage_faces::cosid::Settings>()
        .access
        .listen = Listen::parse("127.0.0.1:0").unwrap();
}

fn start() -> Server {
    Server::with(on)
}

fn client(server: &Server) -> Client {
    Client::connect(server.address("cosid"))
}

const LEASE: &str = "/machines/dev?machineBit=10&instanceId=10.1.2.3:80&stable=false&safeGuardDuration=PT5M";
const GUARD: &str = "/machines/dev?instanceId=10.1.2.3:80&stable=false&safeGuardDuration=PT5M";
const GIVE_BACK: &str = "/machines/dev?instanceId=10.1.2.3:80&stable=false";

/// Asks, and compares status, media type and body.
#[track_caller]
fn check(client: &mut Client, request: &str, status: u16, media: Option<&str>, body: &str) -> Answer {
    let (method, target) = request.split_once(' ').unwrap();
    let answer = client.ask(method, target);
    assert_eq!(
        (answer.status, answer.text().as_str()),
        (status, body),
        "{request}"
    );
    assert_eq!(answer.header("content-type"), media, "{request}");
    assert_eq!(answer.header("cache-control"), Some("no-store"), "{request}");
    answer
}

#[track_caller]
fn refused(client: &mut Client, request: &str, status: u16, body: &str) -> Answer {
    check(client, request, status, Some("application/json"), body)
}

#[track_caller]
fn void(client: &mut Client, request: &str) {
    let answer = check(client, request, 200, None, "");
    assert_eq!(answer.header("content-length"), Some("0"), "{request}");
}

#[test]
fn an_answer_is_this_to_the_byte() {
    let server = start();
    let mut client = client(&server);
    client.send(format!(
        "POST {LEASE} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"
    ));
    let all = client.read_to_end();
    let (head, body) = all.split_once("\r\n\r\n").unwrap();
    let mut lines: Vec<&str> = head
        .split("\r\n")
        .filter(|line| !line.starts_with("date: "))
        .collect();
    lines[1..].sort_unstable();
    assert_eq!(
        lines,
        [
            "HTTP/1.1 200 OK",
            "cache-control: no-store",
            "connection: close",
            "content-length: 33",
            "content-type: application/json",
            "x-content-type-options: nosniff",
        ]
    );
    assert_eq!(body, r#"{"machineId":0,"lastTimeStamp":0}"#);
}

#[test]
fn a_machine_is_leased_guarded_and_given_back() {
    let server = start();
    let mut client = client(&server);
    let json = Some("application/json");
    check(
        &mut client,
        &format!("POST {LEASE}"),
        200,
        json,
        r#"{"machineId":0,"lastTimeStamp":0}"#,
    );
    let other = LEASE.replace("3:80", "4:80");
    check(
        &mut client,
        &format!("POST {other}"),
        200,
        json,
        r#"{"machineId":1,"lastTimeStamp":0}"#,
    );
    let now_ms = || std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_millis() as i64;
    let before_ms = now_ms();
    void(&mut client, &format!("PATCH {GUARD}"));
    // Asked again, it is the same number, and a time that the client compares its own clock with.
    let again = client.ask("POST", LEASE);
    assert_eq!(again.json()["machineId"], 0);
    let last_ms = again.json()["lastTimeStamp"].as_i64().unwrap();
    assert!(
        (before_ms..=now_ms()).contains(&last_ms),
        "{last_ms} after {before_ms}"
    );
    void(&mut client, &format!("DELETE {GIVE_BACK}"));
    let unknown = r#"{"code":"M-02","msg":"no number is leased to instance \"10.1.2.3:80\"","errors":[]}"#;
    refused(&mut client, &format!("PATCH {GUARD}"), 400, unknown);
    refused(&mut client, &format!("DELETE {GIVE_BACK}"), 400, unknown);
    // Its lease lasts still: nobody else gets that number before, and it has it again at once.
    assert_eq!(
        client.ask("POST", &LEASE.replace("3:80", "6:80")).json()["machineId"],
        2
    );
    assert_eq!(client.ask("POST", LEASE).json()["machineId"], 0);
    // What is stable stays.
    let stable = LEASE.replace("3:80", "5:80").replace("false", "true");
    check(
        &mut client,
        &format!("POST {stable}"),
        200,
        json,
        r#"{"machineId":3,"lastTimeStamp":0}"#,
    );
    for _ in 0..2 {
        void(
            &mut client,
            "DELETE /machines/dev?instanceId=10.1.2.5:80&stable=true",
        );
    }
    assert_eq!(client.ask("POST", &stable).json()["machineId"], 3);
}

#[test]
fn errors_of_machines_are_cosids() {
    let server = start();
    let mut client = client(&server);
    refused(
        &mut client,
        "PATCH /machines/none?instanceId=a&stable=false&safeGuardDuration=PT5M",
        400,
        r#"{"code":"M-02","msg":"no pool cosid:none","errors":[]}"#,
    );
    let two = |instance: &str, bits: u32| {
        format!(
            "POST /machines/two?machineBit={bits}&instanceId={instance}&stable=false&safeGuardDuration=PT5M"
        )
    };
    for (instance, number) in [("a", 0), ("b", 1)] {
        let body = format!(r#"{{"machineId":{number},"lastTimeStamp":0}}"#);
        check(
            &mut client,
            &two(instance, 1),
            200,
            Some("application/json"),
            &body,
        );
    }
    let (method, target) = two("c", 1)
        .split_once(' ')
        .map(|(m, t)| (m.to_string(), t.to_string()))
        .unwrap();
    let full = client.ask(&method, &target);
    let text = full.text();
    let msg = r#"{"code":"M-01","msg":"all 2 machine numbers of pool cosid:two that may be given are held or kept: the next may be free in "#;
    assert!(
        full.status == 400 && text.starts_with(msg) && text.ends_with(r#" s","errors":[]}"#),
        "{text}"
    );
    // Number 1 of one bit would make the ids of half of the numbers of ten.
    refused(
        &mut client,
        &two("c", 10),
        400,
        r#"{"code":"400","msg":null,"errors":[{"field":"machineBit","msg":"the machines of cosid:two have 1 bits, and with 10 their ids could be the same: let those with 10 bits have a namespace of their own"}]}"#,
    );
    // An operator takes a number away: whoever had it is told.
    let mut own = server.http();
    let retired = own.ask_with(
        "PUT",
        "/v1/pools/cosid:two/windows/1",
        &[("content-type", "application/json")],
        r#"{"retired":true}"#,
    );
    assert_eq!(retired.status, 204, "{}", retired.text());
    for request in [
        "PATCH /machines/two?instanceId=b&stable=false&safeGuardDuration=PT5M",
        "PATCH /machines/two?instanceId=b&stable=true&safeGuardDuration=PT10S",
    ] {
        refused(
            &mut client,
            request,
            400,
            r#"{"code":"M-03","msg":"number 1 is no longer that of instance \"b\"","errors":[]}"#,
        );
    }
}

/// Where an operator says that sequences keep their bits, a fleet grows as in the original: whoever has a number keeps it, and
/// new ones come above.
#[test]
fn a_fleet_grows_where_sequences_keep_their_bits() {
    let server = Server::with(|config| {
        on(config);
        config.faces.get_mut::<mintage_faces::cosid::Settings>().grows = true;
    });
    let mut client = client(&server);
    let mut lease = |instance: &str, bits: u32| {
        let target = format!(
            "/machines/dev?machineBit={bits}&instanceId={instance}&stable=false&safeGuardDuration=PT5M"
        );
        let answer = client.ask("POST", &target);
        (answer.status, answer.json())
    };
    for (instance, bits, number) in [
        ("a", 1, 0),
        ("b", 1, 1),
        ("c", 2, 2),
        ("b", 2, 1),
        ("d", 10, 3),
        ("a", 1, 0),
        ("c", 2, 2),
    ] {
        let (status, answer) = lease(instance, bits);
        assert_eq!(
            (status, &answer["machineId"]),
            (200, &number.into()),
            "{instance} {answer}"
        );
    }
    // Still only the numbers that the bits have; and no more bits than the namespace.
    assert_eq!(lease("e", 1).1["code"], "M-01");
    let (status, refused) = lease("f", 11);
    assert_eq!(
        (status, &refused["errors"][0]["field"]),
        (400, &"machineBit".into())
    );
    let pool = server.http().ask("GET", "/v1/pools/cosid:dev").json();
    assert_eq!(pool["workers"], 1024, "{pool}");
}

#[test]
fn parameters_that_are_missing_unreadable_or_out_of_range() {
    let server = start();
    let mut client = client(&server);
    let missing = |name: &str| format!(r#"{{"code":"500","msg":"parameter {name} is missing","errors":[]}}"#);
    let field = |field: &str, msg: &str| {
        format!(r#"{{"code":"400","msg":null,"errors":[{{"field":"{field}","msg":"{msg}"}}]}}"#)
    };
    for name in ["machineBit", "instanceId", "stable", "safeGuardDuration"] {
        let target = LEASE.replace(name, "other");
        refused(&mut client, &format!("POST {target}"), 500, &missing(name));
    }
    for name in ["instanceId", "stable", "safeGuardDuration"] {
        let target = GUARD.replace(name, "other");
        refused(&mut client, &format!("PATCH {target}"), 500, &missing(name));
    }
    for name in ["instanceId", "stable"] {
        let target = GIVE_BACK.replace(name, "other");
        refused(&mut client, &format!("DELETE {target}"), 500, &missing(name));
    }
    for (request, body) in [
        ("PATCH /segments/dev/order", missing("step")),
        ("POST /segments/distributor/dev/order?step=10", missing("offset")),
        ("POST /segments/distributor/dev/order?offset=0", missing("step")),
        (
            "PATCH /segments/dev/order?step=ten",
            r#"{"code":"500","msg":"parameter step is \"ten\", and must be a whole number","errors":[]}"#
                .into(),
        ),
    ] {
        refused(&mut client, request, 500, &body);
    }
    for (from, to, wanted) in [
        (
            "machineBit=10",
            "machineBit=x",
            r#"parameter machineBit is \"x\", and must be a whole number"#,
        ),
        (
            "stable=false",
            "stable=maybe",
            r#"parameter stable is \"maybe\", and must be true or false"#,
        ),
        (
            "PT5M",
            "5m",
            r#"parameter safeGuardDuration is \"5m\", and must be a duration of ISO 8601 such as PT5M"#,
        ),
    ] {
        let body = format!(r#"{{"code":"500","msg":"{wanted}","errors":[]}}"#);
        refused(
            &mut client,
            &format!("POST {}", LEASE.replace(from, to)),
            500,
            &body,
        );
    }
    for (from, to, name, msg) in [
        (
            "machineBit=10",
            "machineBit=32",
            "machineBit",
            "must be from 1 to 31, found 32",
        ),
        (
            "instanceId=10.1.2.3:80",
            "instanceId=",
            "instanceId",
            "must not be empty",
        ),
    ] {
        let request = format!("POST {}", LEASE.replace(from, to));
        refused(&mut client, &request, 400, &field(name, msg));
    }
    // As Guava's preconditions say it in the original.
    for (request, msg) in [
        (
            "PATCH /segments/dev/order?step=0",
            "step:[0] must be greater than 0!",
        ),
        (
            "PATCH /segments/dev/order?step=-9223372036854775808",
            "step:[-9223372036854775808] must be greater than 0!",
        ),
        (
            "POST /segments/distributor/dev/order?offset=-1&step=1",
            "offset:[-1] must be greater than or equal to 0!",
        ),
        (
            "POST /machines/dev?machineBit=0&instanceId=a&stable=false&safeGuardDuration=PT5M",
            "machineBit:[0] must be greater than 0!",
        ),
    ] {
        let body = format!(r#"{{"code":"500","msg":"{msg}","errors":[]}}"#);
        refused(&mut client, request, 400, &body);
    }
    // None of that made anything.
    refused(
        &mut client,
        &format!("PATCH {GUARD}"),
        400,
        r#"{"code":"M-02","msg":"no pool cosid:dev","errors":[]}"#,
    );
    let control = LEASE.replace("10.1.2.3:80", "a%0Ab");
    let answer = client.ask("POST", &control);
    assert!(
        answer.status == 400
            && answer
                .text()
                .starts_with(r#"{"code":"400","msg":null,"errors":[{"field":"instanceId","msg":""#),
        "{}",
        answer.text()
    );
}

/// As Java's `Duration.parse` reads it; the longest is what clients send whose guarder is off.
#[test]
fn a_guard_may_have_any_length() {
    let server = start();
    let mut client = client(&server);
    let lengths = [
        "PT2562047788015H12M55.807S",
        "P30D",
        "PT720H",
        "PT1S",
        "PT0S",
        "PT-5M",
        "pt10.5s",
        "P1D",
        "-PT1H",
    ];
    for (number, length) in lengths.iter().enumerate() {
        let lease = LEASE
            .replace("PT5M", length)
            .replace("3:80", &format!("3:{number}"));
        let body = format!(r#"{{"machineId":{number},"lastTimeStamp":0}}"#);
        check(
            &mut client,
            &format!("POST {lease}"),
            200,
            Some("application/json"),
            &body,
        );
        let guard = GUARD
            .replace("PT5M", length)
            .replace("3:80", &format!("3:{number}"));
        void(&mut client, &format!("PATCH {guard}"));
    }
    // Names of any length; two that begin alike are two.
    let long = |end: &str| LEASE.replace("10.1.2.3:80", &format!("{}{end}", "pod-".repeat(100)));
    let numbers = ["a", "b", "a"].map(|end| client.ask("POST", &long(end)).json()["machineId"].as_u64());
    assert_eq!(numbers, [Some(9), Some(10), Some(9)]);
}

#[test]
fn segments_are_runs_of_one_sequence() {
    let server = start();
    let mut client = client(&server);
    let json = Some("application/json");
    void(
        &mut client,
        "POST /segments/distributor/dev/order?offset=100&step=10",
    );
    // Again, and with another offset: it is as it was.
    void(
        &mut client,
        "POST /segments/distributor/dev/order?offset=100&step=10",
    );
    void(
        &mut client,
        "POST /segments/distributor/dev/order?offset=7&step=10",
    );
    check(&mut client, "PATCH /segments/dev/order?step=10", 200, json, "110");
    check(&mut client, "PATCH /segments/dev/order?step=1", 200, json, "111");
    // Our own clients take from the same sequence.
    server
        .resp()
        .send("INCRBY cosid:dev.order 9\r\n")
        .expect(":120\r\n");
    check(
        &mut client,
        "PATCH /segments/dev/order?step=100000000",
        200,
        json,
        "100000120",
    );
    // As long as is asked for: SegmentChainId doubles its runs while it is hungry.
    let (mut step, mut last) = (100_u64, 100_000_120);
    while last + step < 1 << 62 {
        last += step;
        let request = format!("PATCH /segments/dev/order?step={step}");
        check(&mut client, &request, 200, json, &last.to_string());
        step *= 2;
    }
    let left = i64::MAX as u64 - last;
    let beyond = client.ask("PATCH", "/segments/dev/order?step=9223372036854775807");
    assert_eq!(beyond.status, 500, "{}", beyond.text());
    assert!(
        beyond
            .text()
            .contains(&format!("has {left} numbers left before its bound"))
    );
    check(
        &mut client,
        &format!("PATCH /segments/dev/order?step={left}"),
        200,
        json,
        "9223372036854775807",
    );
    // A name that nobody has made begins at 1.
    check(&mut client, "PATCH /segments/dev/new?step=10", 200, json, "10");
    check(&mut client, "PATCH /segments/a%2Fb/c%20d?step=3", 200, json, "3");
    // Another namespace is another counter.
    check(&mut client, "PATCH /segments/test/order?step=5", 200, json, "5");
    void(
        &mut client,
        "POST /segments/distributor/dev/last?offset=9223372036854775800&step=10",
    );
    check(
        &mut client,
        "PATCH /segments/dev/last?step=7",
        200,
        json,
        "9223372036854775807",
    );
    let ended = client.ask("PATCH", "/segments/dev/last?step=1");
    assert_eq!(
        (ended.status, ended.text().as_str()),
        (
            500,
            r#"{"code":"500","msg":"sequence cosid:dev.last has reached its maximum value (9223372036854775807)","errors":[]}"#
        )
    );
    assert_eq!(ended.header("retry-after"), None, "it does not pass");
}

#[test]
fn ids_count_as_those_of_the_proxy_that_is_shipped() {
    let server = start();
    let mut client = client(&server);
    let (json, text) = (Some("application/json"), Some("text/plain;charset=UTF-8"));
    check(&mut client, "GET /ids", 200, json, "1");
    check(&mut client, "GET /ids/__share__", 200, json, "2");
    check(&mut client, "GET /ids/as-string", 200, text, "00000000003");
    check(
        &mut client,
        "GET /ids/as-string/__share__",
        200,
        text,
        "00000000004",
    );
    // They are a segment like others.
    check(
        &mut client,
        "PATCH /segments/cosid-proxy/__share__?step=10",
        200,
        json,
        "14",
    );
    assert_eq!(
        server.http().ask("GET", "/v1/pools/cosid").status,
        404,
        "nothing needs it"
    );
}

#[test]
fn the_share_may_be_moved_here_before_anybody_asks() {
    let server = start();
    let mut client = client(&server);
    void(
        &mut client,
        "POST /segments/distributor/cosid-proxy/__share__?offset=5000&step=100",
    );
    check(&mut client, "GET /ids", 200, Some("application/json"), "5001");
}

#[test]
fn first_uses_make_no_share_where_they_may_make_nothing() {
    let server = Server::with(|config| {
        on(config);
        config.auto_create = false;
    });
    let mut client = client(&server);
    let refused = client.ask("GET", "/ids");
    assert_eq!(refused.status, 400, "{}", refused.text());
    let made = server.http().ask_with(
        "PUT",
        "/v1/sequences/cosid:cosid-proxy.__share__",
        &[],
        r#"{"start": "77"}"#,
    );
    assert_eq!(made.status, 201, "{}", made.text());
    check(&mut client, "GET /ids", 200, Some("application/json"), "77");
}

fn with_generators() -> Server {
    Server::with(|config| {
        on(config);
        config.faces.get_mut::<mintage_faces::cosid::Settings>().share = Setting::parse("snowflake").unwrap();
        config.faces.get_mut::<mintage_faces::cosid::Settings>().namespace = Setting::parse("shop").unwrap();
        config
            .faces
            .get_mut::<mintage_faces::cosid::Settings>()
            .generators = Setting::parse(
            r#"{
                order = { converter = "radix36", pad = false, prefix = "O-", suffix = "-x" },
                small = { chars = 1 },
                friendly = { kind = "snowflake", converter = "snowflake_friendly", pad = true },
                dated = { converter = "to_string", date_prefix = "yyyy" },
            }"#,
        )
        .unwrap();
    })
}

#[test]
fn generators_have_their_kinds_and_converters() {
    let server = with_generators();
    let mut client = client(&server);
    let (json, text) = (Some("application/json"), Some("text/plain;charset=UTF-8"));
    check(&mut client, "GET /ids/order", 200, json, "1");
    client.ask("PATCH", "/segments/shop/order?step=34");
    check(&mut client, "GET /ids/as-string/order", 200, text, "O-10-x");
    client.ask("PATCH", "/segments/shop/small?step=60");
    check(&mut client, "GET /ids/as-string/small", 200, text, "z");
    let refused = client.ask("GET", "/ids/as-string/small");
    assert_eq!(refused.status, 500);
    assert!(refused.text().contains("chars = 1"), "{}", refused.text());
    let friendly = client.ask("GET", "/ids/as-string/friendly").text();
    let parts: Vec<usize> = friendly.split('-').map(str::len).collect();
    assert_eq!(parts, [17, 4, 4], "{friendly}");
    let dated = client.ask("GET", "/ids/as-string/dated").text();
    assert!(dated.len() == 6 && dated.ends_with("-1"), "{dated}");
    // What is not listed is a sequence or a pool, as before.
    client.ask("PATCH", "/segments/shop/other?step=1");
    check(&mut client, "GET /ids/shop.other", 200, json, "2");
    assert_eq!(client.ask("GET", "/ids/none").status, 400);
}

/// What Spring Boot's actuator says: unchanged deployments are restarted for ever without it.
#[test]
fn probes_and_monitors_are_answered() {
    let server = with_tokens(FaceAuth::Token);
    let mut client = client(&server);
    let actuator = Some("application/vnd.spring-boot.actuator.v3+json");
    // A probe has no token.
    let up = r#"{"groups":["liveness","readiness"],"status":"UP"}"#;
    check(&mut client, "GET /actuator/health", 200, actuator, up);
    check(
        &mut client,
        "GET /actuator/health/liveness",
        200,
        actuator,
        r#"{"status":"UP"}"#,
    );
    check(
        &mut client,
        "GET /actuator/health/readiness",
        200,
        actuator,
        r#"{"status":"UP"}"#,
    );
    assert_eq!(client.ask("GET", "/actuator/cosid").status, 401);
    assert_eq!(client.ask("POST", "/actuator/health").status, 405);
    client.send("HEAD /actuator/health HTTP/1.1\r\nhost: localhost\r\n\r\n");
    assert_eq!(client.line(), "HTTP/1.1 200 OK");
    while !client.line().is_empty() {}
    check(&mut client, "GET /actuator/health", 200, actuator, up);
}

#[test]
fn the_state_of_every_generator_is_told() {
    let server = with_generators();
    let mut client = client(&server);
    let actuator = Some("application/vnd.spring-boot.actuator.v3+json");
    check(
        &mut client,
        "GET /actuator/cosidGenerator/order",
        200,
        actuator,
        "1",
    );
    let strings = Some("application/vnd.spring-boot.actuator.v3+json;charset=UTF-8");
    check(
        &mut client,
        "GET /actuator/cosidStringGenerator/order",
        200,
        strings,
        "O-2-x",
    );
    let all = client.ask("GET", "/actuator/cosid");
    assert_eq!((all.status, all.header("content-type")), (200, actuator));
    let all = all.json();
    assert_eq!(all["__share__"]["kind"], "StringSnowflakeId");
    assert_eq!(all["__share__"]["actual"]["machineBit"], 10);
    assert_eq!(all["__share__"]["converter"]["kind"], "Radix62IdConverter");
    let order = &all["order"];
    assert_eq!(
        (&order["kind"], &order["actual"]["kind"]),
        (&"StringSegmentId".into(), &"SegmentChainId".into())
    );
    assert_eq!(order["actual"]["sequence"], 2);
    assert_eq!(order["converter"]["suffix"], "-x");
    assert_eq!(order["converter"]["actual"]["prefix"], "O-");
    assert_eq!(order["converter"]["actual"]["actual"]["radix"], 36);
    assert_eq!(all["small"]["actual"]["sequence"], 0, "nobody has used it");
    assert_eq!(
        client.ask("GET", "/actuator/cosid/order").json()["kind"],
        "StringSegmentId"
    );
    assert_eq!(client.ask("GET", "/actuator/cosid/none").status, 400);
    // Looking made nothing.
    check(&mut client, "GET /ids/small", 200, Some("application/json"), "1");
    let shared = client.ask("GET", "/actuator/cosidGenerator");
    assert!(
        shared.text().parse::<u64>().unwrap() > 1 << 32,
        "a snowflake: {}",
        shared.text()
    );
}

#[test]
fn ids_are_bare_numbers_and_padded_texts() {
    let server = Server::with(|config| {
        on(config);
        config.faces.get_mut::<mintage_faces::cosid::Settings>().share = Setting::parse("snowflake").unwrap();
    });
    let mut client = client(&server);
    let json = Some("application/json");
    let mut last = 0;
    for path in ["/ids", "/ids/__share__", "/ids"] {
        let answer = client.ask("GET", path);
        assert_eq!((answer.status, answer.header("content-type")), (200, json));
        let id: u64 = answer.text().parse().unwrap();
        invariant!(id > last, "{id} after {last}");
        last = id;
    }
    let mut texts = Vec::new();
    for _ in 0..3 {
        let answer = client.ask("GET", "/ids/as-string");
        assert_eq!(answer.header("content-type"), Some("text/plain;charset=UTF-8"));
        assert_eq!(answer.body.len(), 11, "{}", answer.text());
        texts.push(answer.text());
    }
    rising("texts", texts);
    client.ask("POST", "/segments/distributor/dev/order?offset=60&step=10");
    let text = Some("text/plain;charset=UTF-8");
    check(&mut client, "GET /ids/dev.order", 200, json, "61");
    check(
        &mut client,
        "GET /ids/as-string/dev.order",
        200,
        text,
        "00000000010",
    );
    // The namespace of machines is a pool too, and its ids are of a machine that nobody else has.
    client.ask("POST", LEASE);
    let id: u64 = client.ask("GET", "/ids/dev").text().parse().unwrap();
    assert_ne!(id >> 12 & 0x3ff, 0, "machine 0 is leased");
    refused(
        &mut client,
        "GET /ids/none",
        400,
        r#"{"code":"500","msg":"there is no sequence cosid:none","errors":[]}"#,
    );
    let long = format!("GET /ids/{}", "x".repeat(200));
    let answer = client.ask("GET", long.split_once(' ').unwrap().1);
    assert!(
        answer.status == 400
            && answer
                .text()
                .starts_with(r#"{"code":"500","msg":"there is no sequence for "#)
    );
}

#[test]
fn paths_and_methods_that_do_not_fit() {
    let server = start();
    let mut client = client(&server);
    for path in [
        "/",
        "/ids/",
        "/machines",
        "/machines/",
        "/segments/dev",
        "/v1/sequences",
        "/ids/a/b",
        "/actuator",
        "/actuator/env",
    ] {
        let body = r#"{"code":"404","msg":"no such path","errors":[]}"#;
        refused(&mut client, &format!("GET {path}"), 404, body);
        refused(&mut client, &format!("POST {path}"), 404, body);
    }
    for (request, allowed) in [
        ("GET /machines/dev", "POST, PATCH, DELETE, OPTIONS"),
        ("PUT /machines/dev", "POST, PATCH, DELETE, OPTIONS"),
        ("GET /segments/distributor/dev/order", "POST, OPTIONS"),
        ("POST /segments/dev/order", "PATCH, OPTIONS"),
        ("POST /ids", "GET, HEAD, OPTIONS"),
        ("DELETE /ids/as-string/order", "GET, HEAD, OPTIONS"),
    ] {
        let (method, _) = request.split_once(' ').unwrap();
        let methods = allowed;
        let body =
            format!(r#"{{"code":"405","msg":"{method} does not fit this path: {methods}","errors":[]}}"#);
        let answer = refused(&mut client, request, 405, &body);
        assert_eq!(answer.header("allow"), Some(allowed), "{request}");
    }
}

#[test]
fn looking_takes_nothing() {
    let server = start();
    let mut client = client(&server);
    client.ask("POST", "/segments/distributor/dev/order?offset=0&step=10");
    for path in ["/ids/dev.order", "/ids/as-string/dev.order"] {
        client.send(format!("HEAD {path} HTTP/1.1\r\nhost: localhost\r\n\r\n"));
        assert_eq!(client.line(), "HTTP/1.1 200 OK");
        while !client.line().is_empty() {}
        let options = client.ask("OPTIONS", path);
        assert_eq!(
            (options.status, options.header("allow")),
            (200, Some("GET, HEAD, OPTIONS"))
        );
    }
    let options = client.ask("OPTIONS", "/machines/dev");
    assert_eq!(options.header("allow"), Some("POST, PATCH, DELETE, OPTIONS"));
    for (name, value) in [
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-site", "same-site"),
        ("origin", "http://evil.example"),
    ] {
        let answer = client.ask_with("GET", "/ids/dev.order", &[(name, value)], "");
        assert_eq!(answer.status, 403, "{name}: {value}");
        assert!(
            answer.text().starts_with(r#"{"code":"403","msg":""#),
            "{}",
            answer.text()
        );
    }
    check(
        &mut client,
        "GET /ids/dev.order",
        200,
        Some("application/json"),
        "1",
    );
}

#[test]
fn a_body_that_is_too_long_and_bytes_that_are_none_are_refused() {
    let server = start();
    let mut one = client(&server);
    let limit = crate::config().http_max_body.0;
    one.send(format!(
        "POST {LEASE} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n\r\n",
        limit + 1
    ));
    let answer = one.answer();
    assert!(
        answer.status == 413 && answer.text().starts_with(r#"{"code":"413","msg":""#),
        "{}",
        answer.text()
    );
    let mut two = client(&server);
    two.send("GET /ids HTTP/1.1\r\nhost: localhost\r\nbad header\r\n\r\n");
    assert_eq!(two.answer().status, 400);
    // Half a request, and its end.
    let mut three = client(&server);
    three
        .send("PATCH /segments/dev/order?step=1 HTT")
        .finish_sending();
    three.read_to_end();
    check(
        &mut client(&server),
        "PATCH /segments/dev/order?step=1",
        200,
        Some("application/json"),
        "1",
    );
}

fn with_tokens(auth: FaceAuth) -> Server {
    Server::with(move |config| {
        on(config);
        config
            .faces
            .get_mut::<mintage_faces::cosid::Settings>()
            .access
            .auth = auth;
        config.tokens = vec![
            token("web", "web-secret", &[Right::Allocate]),
            token("ops", "ops-secret", &[Right::Allocate, Right::Admin]),
        ];
    })
}

#[test]
fn tokens_are_asked_for_and_making_needs_one_that_may_admin() {
    let server = with_tokens(FaceAuth::Token);
    let mut client = client(&server);
    let missing = refused(
        &mut client,
        "GET /ids",
        401,
        r#"{"code":"401","msg":"this needs a token","errors":[]}"#,
    );
    assert_eq!(missing.header("www-authenticate"), Some("Bearer realm=\"mint\""));
    let mut ask = |token: &str, method: &str, target: &str| {
        let bearer = format!("Bearer {token}");
        let answer = client.ask_with(method, target, &[("authorization", &bearer)], "");
        (answer.status, answer.text())
    };
    let wrong = ask("guess", "GET", "/ids");
    assert_eq!(
        wrong,
        (
            401,
            r#"{"code":"401","msg":"the token is not known","errors":[]}"#.into()
        )
    );
    assert_eq!(ask("web-secret", "GET", "/ids").0, 200);
    let forbidden = |what: &str| {
        let msg = format!("{what} does not exist, and making it needs a token that may admin");
        (403, format!(r#"{{"code":"403","msg":"{msg}","errors":[]}}"#))
    };
    let distributor = "/segments/distributor/dev/order?offset=0&step=10";
    for (method, target, what) in [
        ("POST", distributor, "sequence cosid:dev.order"),
        ("PATCH", "/segments/dev/order?step=10", "sequence cosid:dev.order"),
        ("POST", LEASE, "pool cosid:dev"),
    ] {
        assert_eq!(ask("web-secret", method, target), forbidden(what));
    }
    for target in [distributor, LEASE] {
        assert_eq!(ask("ops-secret", "POST", target).0, 200);
    }
    // What is there serves everybody.
    assert_eq!(ask("web-secret", "POST", distributor).0, 200);
    assert_eq!(
        ask("web-secret", "PATCH", "/segments/dev/order?step=10"),
        (200, "10".into())
    );
    assert_eq!(ask("web-secret", "POST", &LEASE.replace("3:80", "9:80")).0, 200);
}

#[test]
fn an_open_face_gives_ids_and_makes_nothing() {
    let server = with_tokens(FaceAuth::Open);
    let mut client = client(&server);
    assert_eq!(client.ask("GET", "/ids").status, 200);
    for (method, target) in [("POST", LEASE), ("PATCH", "/segments/dev/order?step=10")] {
        let answer = client.ask(method, target);
        assert!(
            answer.status == 403 && answer.text().starts_with(r#"{"code":"403","#),
            "{}",
            answer.text()
        );
    }
    // A token that is shown all the same lets its holder do what it says.
    let headers = [("authorization", "Bearer ops-secret")];
    assert_eq!(client.ask_with("POST", LEASE, &headers, "").status, 200);
    assert_eq!(client.ask("POST", LEASE).status, 200);
}

#[test]
fn keys_have_names_and_prefixes_of_their_own() {
    let server = Server::with(|config| {
        on(config);
        config
            .faces
            .get_mut::<mintage_faces::cosid::Settings>()
            .keys
            .prefix = Setting::parse("").unwrap();
        config
            .faces
            .get_mut::<mintage_faces::cosid::Settings>()
            .keys
            .names = Setting::parse(r#"{ "dev.order" = "orders" }"#).unwrap();
        config
            .faces
            .get_mut::<mintage_faces::cosid::Settings>()
            .keys
            .create = true;
    });
    let mut client = client(&server);
    let json = Some("application/json");
    check(&mut client, "PATCH /segments/dev/order?step=10", 200, json, "10");
    server.resp().send("INCR orders\r\n").expect(":11\r\n");
    check(&mut client, "GET /ids/first-use", 200, json, "1");
}

#[test]
fn it_answers_on_our_own_port_too() {
    let server = Server::with(|config| {
        config
            .faces
            .get_mut::<mintage_faces::cosid::Settings>()
            .access
            .listen = Listen::parse("main").unwrap()
    });
    let mut own = server.http();
    check(
        &mut own,
        "PATCH /segments/dev/order?step=10",
        200,
        Some("application/json"),
        "10",
    );
    assert_eq!(own.ask("GET", "/ids").status, 200);
    assert_eq!(own.ask("POST", LEASE).status, 200);
    assert_eq!(
        own.ask("GET", "/v1/sequences/cosid:dev.order").json()["last"],
        "10"
    );
}

fn without_store(server: &Server, store: &Arc<FaultyStore>) {
    let mut client = client(server);
    assert_eq!(client.ask("POST", LEASE).status, 200);
    store.fail_all(true);
    for request in [
        format!("POST {LEASE}"),
        format!("PATCH {GUARD}"),
        format!("DELETE {GIVE_BACK}"),
        "PATCH /segments/dev/unknown?step=5".to_string(),
        "POST /segments/distributor/dev/unknown?offset=0&step=5".to_string(),
        "GET /ids/unknown".to_string(),
    ] {
        let (method, target) = request.split_once(' ').unwrap();
        let answer = client.ask(method, target);
        let text = answer.text();
        assert_eq!(answer.status, 500, "{request}: {text}");
        assert!(
            text.starts_with(r#"{"code":"500","msg":""#) && text.ends_with(r#"","errors":[]}"#),
            "{text}"
        );
        assert!(answer.header("retry-after").is_some(), "{request}");
    }
    // A process lives whatever its store does.
    assert_eq!(client.ask("GET", "/actuator/health/liveness").status, 200);
    store.fail_all(false);
    // Nothing was lost.
    assert_eq!(client.ask("POST", LEASE).json()["machineId"], 0);
    check(&mut client, &format!("PATCH {GUARD}"), 200, None, "");
}

#[test]
fn a_store_that_is_away_is_a_500_that_says_when_to_come_back() {
    let (server, store) = Server::faulty_with(on);
    without_store(&server, &store);
}

/// CosId's Redis distributor: `SpringRedisMachineIdDistributor` sends these digests, and the texts upon NOSCRIPT.
#[test]
fn scripts_of_cosid_lease_machines_of_the_same_pools() {
    const DISTRIBUTE: &str = "bad2854510c56cf1ad461246e07b8a39f23739ec";
    const GUARD: &str = "d3f3370f1163c867dbeea875b97779b29266f0fe";
    const REVERT: &str = "72d5184b7ec1e4dbe0764750825570b6d9a972ea";
    const REVERT_STABLE: &str = "c3bf4d20993e8e1d2207c6c136eb406b2f16f69c";
    let server = start();
    let mut http = client(&server);
    let mut redis = server.resp();
    let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_millis() as i64;
    // The largest number of so many bits, the clock, and since when silent ones lose their number.
    let distribute = |instance: &str, largest: u32, since: i64| {
        format!("EVALSHA {DISTRIBUTE} 1 {{dev}} {instance} {largest} {now} {since}\r\n")
    };
    let five_minutes_ago = now - 300_000;
    redis
        .send(distribute("host-0", 1, five_minutes_ago))
        .expect(&format!("*2\r\n:0\r\n:{now}\r\n"));
    // For ever: it is stable, or guards nothing.
    redis
        .send(distribute("host-1", 1, 0))
        .expect(&format!("*2\r\n:1\r\n:{now}\r\n"));
    redis
        .send(distribute("host-2", 1, five_minutes_ago))
        .expect("*2\r\n:-1\r\n:-1\r\n");
    let on_host = |sha1: &str, instance: &str| format!("EVALSHA {sha1} 1 {{dev}} {instance} {now}\r\n");
    for (sha1, instance, answer) in [
        (GUARD, "host-0", ":1\r\n"),
        (GUARD, "host-9", ":0\r\n"),
        (REVERT, "host-9", ":0\r\n"),
        (REVERT, "host-0", ":1\r\n"),
        (REVERT, "host-0", ":0\r\n"),
        (GUARD, "host-0", ":0\r\n"),
        (REVERT_STABLE, "host-1", ":1\r\n"),
        (GUARD, "host-1", ":1\r\n"),
    ] {
        redis.send(on_host(sha1, instance)).expect(answer);
    }
    // The proxy's clients of the namespace have the others, and what was given back is its machine's again.
    let over_http = |instance: &str| {
        format!("/machines/dev?machineBit=1&instanceId={instance}&stable=false&safeGuardDuration=PT5M")
    };
    assert_eq!(http.ask("POST", &over_http("host-2")).status, 400);
    assert_eq!(http.ask("POST", &over_http("host-0")).json()["machineId"], 0);
    assert_eq!(http.ask("POST", &over_http("host-1")).json()["machineId"], 1);
    redis
        .send(format!("SCRIPT EXISTS {GUARD} {REVERT}\r\n"))
        .expect("*2\r\n:1\r\n:1\r\n");
    // Releases before 1.9 say nothing of time, and guard nothing.
    const OLD: &str = "521d99ae31d120336e73a750d7cfb34458bde70e";
    redis
        .send(format!("EVALSHA {OLD} 1 {{old}} host-0 7\r\n"))
        .expect("*2\r\n:0\r\n:0\r\n");
    redis.send(distribute("host-3", 2, five_minutes_ago));
    assert!(
        redis
            .line()
            .starts_with("-ERR mint: ARGV[2] must be a machine number that is all ones")
    );
    redis.send(distribute("host-3", 7, five_minutes_ago));
    assert!(
        redis
            .line()
            .contains("have 1 bits, and with 3 their ids could be the same")
    );
}
