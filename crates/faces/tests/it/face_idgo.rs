//! idgo's protocol, byte by byte: every row of its table, and what is refused.

use mintage_server::auth::Right;
use mintage_server::config::{Config, FaceAuth, Listen, Setting};

use crate::common::{Client, Server, check, token};

fn idgo(config: &mut Config) {
    config
        .faces
        .get_mut::<mintage_faces::idgo::Settings>()
        .access
        .listen = Listen::parse("127.0.0.1:0").unwrap();
}

// claim: P7
#[test]
fn get_takes_and_set_makes() {
    let server = Server::with(idgo);
    let mut client = Client::connect(server.address("idgo"));
    check(
        &mut client,
        &[
            ("GET k", "$-1\r\n"),
            ("INCR k", "-ERROR k is not known: SET makes it\r\n"),
            ("EXISTS k", ":0\r\n"),
            ("SET k 100", "+OK\r\n"),
            ("GET k", "$3\r\n101\r\n"),
            ("GET k and more", "$3\r\n102\r\n"),
            ("SET k 5000", "+OK\r\n"),
            ("SET k 1 NX", "+OK\r\n"),
            ("GET k", "$3\r\n103\r\n"),
            ("INCR k", ":104\r\n"),
            ("INCRBY k 6", ":110\r\n"),
            ("EXISTS k nothing k", ":2\r\n"),
            ("SET zero 0", "+OK\r\n"),
            ("GET zero", "$1\r\n1\r\n"),
            ("DEL k", ":1\r\n"),
            ("DEL k nothing", ":0\r\n"),
            ("GET k", "$-1\r\n"),
            ("SET k 7", "+OK\r\n"),
            ("GET k", "$3\r\n111\r\n"),
            ("SELECT 5", "+OK\r\n"),
            ("SELECT any", "+OK\r\n"),
            ("*2\r\n$3\r\nget\r\n$1\r\nk", "$3\r\n112\r\n"),
        ],
    );
    // A pipeline is answered whole.
    client
        .send("GET k\r\nSET k 1\r\nGET k\r\nGET k\r\nGET k\r\n")
        .expect("$3\r\n113\r\n+OK\r\n$3\r\n114\r\n$3\r\n115\r\n$3\r\n116\r\n");
    // What our own port has is the same counter, behind the prefix.
    server.resp().send("GET idgo:k\r\n").expect("$3\r\n116\r\n");
}

/// A page of any site may send this: its first line took a number, and made a sequence where that is allowed.
// claim: P72
#[test]
fn a_line_of_http_ends_the_connection_before_anything_is_taken() {
    let server = Server::with(|config| {
        idgo(config);
        config
            .faces
            .get_mut::<mintage_faces::idgo::Settings>()
            .keys
            .create = true;
    });
    let ask = |line: &str| {
        let mut client = Client::connect(server.address("idgo"));
        client.send(format!("{line}\r\nHost: x\r\n\r\nGET k\r\n"));
        client.expect_end("");
    };
    for line in [
        "GET /orders HTTP/1.1",
        "get /orders HTTP/1.0",
        "GET orders HTTP/1.1",
        "GET /orders",
        "INCR /orders HTTP/1.1",
        "POST /orders HTTP/1.1",
        "HEAD /orders HTTP/1.1",
        "PUT / HTTP/1.1",
        "DEL /orders HTTP/1.1",
        "PRI * HTTP/2.0",
    ] {
        ask(line);
    }
    let listed = server.http().ask("GET", "/v1/sequences").json();
    assert_eq!(listed["sequences"], serde_json::json!([]));
    // Clients of Redis send arrays, and may have such keys.
    let mut client = Client::connect(server.address("idgo"));
    client
        .send("*2\r\n$3\r\nGET\r\n$7\r\n/orders\r\n")
        .expect("$1\r\n1\r\n");
}

#[test]
fn refusals_are_in_the_words_of_idgo() {
    let server = Server::with(idgo);
    let mut client = Client::connect(server.address("idgo"));
    let long = "x".repeat(200);
    check(
        &mut client,
        &[
            ("GET", "-ERROR Not enough arguments for the command\r\n"),
            ("SET k", "-ERROR Not enough arguments for the command\r\n"),
            ("ECHO", "-ERROR Not enough arguments for the command\r\n"),
            ("GET \"\"", "-ERROR no key for set\r\n"),
            ("SET \"\" 1", "-ERROR no key for set\r\n"),
            ("EXISTS \"\"", "-ERROR no key for set\r\n"),
            ("DEL \"\"", "-ERROR no key for set\r\n"),
            ("SELECT \"\"", "-ERROR no key for set\r\n"),
            ("INCRBY \"\" 1", "-ERROR no key for set\r\n"),
            ("SET k x", "-ERROR Expected integer\r\n"),
            ("SET k 9223372036854775808", "-ERROR Expected integer\r\n"),
            ("SET k -1", "-ERROR Expected positive integer\r\n"),
            ("INCRBY k 0", "-ERROR Expected integer\r\n"),
            ("EXISTS k", ":0\r\n"),
            (&format!("GET {long}"), "$-1\r\n"),
            ("GET \"\\x00\"", "$-1\r\n"),
            ("SET max 9223372036854775806", "+OK\r\n"),
            ("GET max", "$19\r\n9223372036854775807\r\n"),
            ("GET max", "-ERROR max has no further number\r\n"),
            ("MGET k", "-ERROR Method is not supported\r\n"),
            ("KEYS *", "-ERROR Method is not supported\r\n"),
            ("MULTI", "-ERROR Method is not supported\r\n"),
            ("MINT.NEXT k", "-ERROR Method is not supported\r\n"),
        ],
    );
    client.send("*1\r\nx").expect_end("-ERROR Protocol error\r\n");
}

#[test]
fn clients_that_begin_with_hello_get_an_answer() {
    let server = Server::with(idgo);
    let mut client = Client::connect(server.address("idgo"));
    client.send("HELLO 3\r\n");
    assert!(client.line().starts_with('%'));
    client.send("CLIENT SETINFO LIB-NAME x\r\nSET k 1\r\nGET nothing\r\nGET k\r\n");
    // Numbers and nothing stay what they are in version 2.
    while client.line() != "+OK" {}
    client.expect("+OK\r\n$-1\r\n$1\r\n2\r\n");
    client.send("COMMAND COUNT\r\n").expect(":18\r\n");
}

#[test]
fn where_tokens_are_known_set_and_del_need_one_for_that() {
    let tokens = |config: &mut Config| {
        idgo(config);
        config.tokens = vec![
            token("web", "w", &[Right::Allocate]),
            token("ops", "o", &[Right::Allocate, Right::Admin]),
        ];
    };
    let server = Server::with(tokens);
    let mut client = Client::connect(server.address("idgo"));
    client
        .send("GET k\r\n")
        .expect("-NOAUTH Authentication required.\r\n");
    client
        .send("AUTH x\r\n")
        .expect("-WRONGPASS invalid username-password pair or user is disabled.\r\n");
    client.send("AUTH w\r\nGET k\r\n").expect("+OK\r\n$-1\r\n");
    let refused =
        |command: &str| format!("-NOPERM this user has no permissions to run the '{command}' command\r\n");
    client.send("SET k 1\r\n").expect(&refused("set"));
    client.send("DEL k\r\n").expect(&refused("del"));
    client.send("AUTH o\r\nSET k 1\r\n").expect("+OK\r\n+OK\r\n");
    let open = Server::with(|config| {
        tokens(config);
        config
            .faces
            .get_mut::<mintage_faces::idgo::Settings>()
            .access
            .auth = FaceAuth::Open;
    });
    let mut client = Client::connect(open.address("idgo"));
    client.send("GET k\r\n").expect("$-1\r\n");
    client.send("SET k 1\r\n").expect(&refused("set"));
    client.send("RESET\r\nEXISTS k\r\n").expect("+RESET\r\n:0\r\n");
    // A token adds to what anybody may.
    client
        .send("AUTH o\r\nSET k 1\r\nGET k\r\n")
        .expect("+OK\r\n+OK\r\n$1\r\n2\r\n");
}

#[test]
fn settings_name_keys_make_them_and_let_clients_in() {
    let server = Server::with(|config| {
        idgo(config);
        config
            .faces
            .get_mut::<mintage_faces::idgo::Settings>()
            .keys
            .create = true;
        config.faces.get_mut::<mintage_faces::idgo::Settings>().keys.names =
            Setting::parse("{ \"eu/order\" = \"order-eu\" }").unwrap();
        config
            .faces
            .get_mut::<mintage_faces::idgo::Settings>()
            .access
            .allow = Setting::parse("127.0.0.1").unwrap();
    });
    let address = server.address("idgo");
    let mut client = Client::connect(address);
    client
        .send("GET eu/order\r\nGET new\r\n")
        .expect("$1\r\n1\r\n$1\r\n1\r\n");
    server.resp().send("GET order-eu\r\n").expect("$1\r\n1\r\n");
    assert_eq!(Client::from("127.0.0.2", address).read_to_end(), "");
    let metrics = String::from_utf8(server.http().ask("GET", "/metrics").body).unwrap();
    assert!(
        metrics.contains("mint_face_requests_total{face=\"idgo\",answer=\"ok\"} 2"),
        "{metrics}"
    );
    assert!(
        metrics.contains("mint_refused_total{code=\"forbidden\"} 1"),
        "{metrics}"
    );
}
