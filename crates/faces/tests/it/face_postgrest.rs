//! The face `postgrest`: every row of its tables, byte for byte.

use mintage_server::Stop;
use mintage_server::auth::Right;
use mintage_server::config::{Config, FaceAuth, Listen, Setting};

use crate::common::{Answer, Client, Server, token};

const JSON: &str = "application/json; charset=utf-8";
const OBJECT: &str = "application/vnd.pgrst.object+json; charset=utf-8";

fn server(change: impl FnOnce(&mut Config)) -> Server {
    Server::with(|config| {
        switch_on(config);
        change(config);
    })
}

fn switch_on(config: &mut Config) {
    config
        .faces
        .get_mut::<mintage_faces::postgrest::Settings>()
        .access
        .listen = Listen::parse("127.0.0.1:0").unwrap();
}

fn client(server: &Server) -> Client {
    server.face("postgrest")
}

/// Compares a whole answer: its status, every header but the date, its body. What every answer has is added.
#[track_caller]
fn check(answer: &Answer, status: u16, headers: &[(&str, &str)], body: &str) {
    let length = body.len().to_string();
    let mut expected = vec![
        ("cache-control", "no-store"),
        ("x-content-type-options", "nosniff"),
    ];
    if !headers.iter().any(|(name, _)| *name == "content-length") {
        expected.push(("content-length", &length));
    }
    expected.extend(headers);
    expected.sort_unstable();
    let given = answer.headers.iter().filter(|(name, _)| name != "date");
    let mut given: Vec<(&str, &str)> = given
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    given.sort_unstable();
    assert_eq!((answer.status, answer.text().as_str()), (status, body));
    assert_eq!(given, expected, "{body}");
}

/// A success with rows and nothing special.
#[track_caller]
fn check_rows(answer: &Answer, body: &str, range: &str) {
    check(
        answer,
        200,
        &[("content-type", JSON), ("content-range", range)],
        body,
    );
}

/// A refusal: the body is put together in the one order that there is.
#[track_caller]
fn check_refused(answer: &Answer, status: u16, code: &str, details: &str, hint: &str, message: &str) {
    check_refused_with(answer, status, code, details, hint, message, &[]);
}

#[track_caller]
fn check_refused_with(
    answer: &Answer,
    status: u16,
    code: &str,
    details: &str,
    hint: &str,
    message: &str,
    more: &[(&str, &str)],
) {
    let text = |text: &str| match text {
        "" => "null".to_string(),
        text => serde_json::Value::from(text).to_string(),
    };
    let body = format!(
        "{{\"code\":\"{code}\",\"details\":{},\"hint\":{},\"message\":{}}}",
        text(details),
        text(hint),
        text(message)
    );
    let proxy = format!("PostgREST; error={code}");
    let mut headers = vec![("content-type", JSON), ("proxy-status", proxy.as_str())];
    headers.extend(more);
    check(answer, status, &headers, &body);
}

fn call(client: &mut Client, function: &str, body: &str) -> Answer {
    client.ask_with(
        "POST",
        &format!("/rpc/{function}"),
        &[("content-type", "application/json")],
        body,
    )
}

/// Asks for the head of an answer, which has the length of a body that does not come.
fn head(client: &mut Client, target: &str) -> (String, Vec<String>) {
    client.send(format!("HEAD {target} HTTP/1.1\r\nhost: localhost\r\n\r\n"));
    let status = client.line();
    let headers = std::iter::from_fn(|| Some(client.line()).filter(|line| !line.is_empty()));
    (status, headers.collect())
}

#[test]
fn a_success_is_postgrests_byte_for_byte() {
    let server = server(|_| {});
    server.make("orders", "{}");
    let mut client = client(&server);
    let body = r#"{"seq":"orders"}"#;
    let request = format!(
        "POST /rpc/nextval HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    client.send(request).expect(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json; charset=utf-8\r\ncache-control: no-store\r\n\
         x-content-type-options: nosniff\r\ncontent-range: 0-0/*\r\ncontent-length: 1\r\ndate: ",
    );
    let rest = client.read("Mon, 01 Jan 2026 00:00:00 GMT\r\n\r\n1".len());
    assert!(rest.ends_with(b" GMT\r\n\r\n1"), "{rest:?}");
}

#[test]
fn a_sequence_is_named_by_any_of_the_usual_arguments() {
    let server = server(|_| {});
    server.make("orders", "{}");
    let mut client = client(&server);
    let names = ["seq", "sequence", "sequence_name", "seq_name", "name", "regclass"];
    for (at, name) in names.iter().enumerate() {
        let answer = call(&mut client, "nextval", &format!("{{\"{name}\": \"orders\"}}"));
        check_rows(&answer, &(at + 1).to_string(), "0-0/*");
    }
    let form = [("content-type", "application/x-www-form-urlencoded; charset=utf-8")];
    let answer = client.ask_with("POST", "/rpc/nextval", &form, "seq=orders");
    check_rows(&answer, "7", "0-0/*");
    // Without a type a body is JSON, and the query of a POST holds filters.
    let answer = client.ask_with(
        "POST",
        "/rpc/nextval?select=*&seq=other",
        &[],
        r#"{"seq":"orders"}"#,
    );
    check_rows(&answer, "8", "0-0/*");
    let answer = call(&mut client, "nextvals", r#"{"seq":"orders","n":3}"#);
    check_rows(&answer, "[9, 10, 11]", "0-2/*");
    let answer = call(&mut client, "nextvals", r#"{"seq":"orders","count":"1"}"#);
    check_rows(&answer, "[12]", "0-0/*");
    // What our own port gives goes on behind that.
    let own = server.http().ask("POST", "/v1/sequences/orders/next");
    assert_eq!(own.json()["ids"][0], "13");
}

#[test]
fn names_are_qualified_and_quoted_as_in_postgresql() {
    let server = server(|config| {
        config
            .faces
            .get_mut::<mintage_faces::postgrest::Settings>()
            .keys
            .names = Setting::parse(r#"{ "shop.old" = "eu/orders" }"#).unwrap();
    });
    for name in ["orders_id_seq", "Orders", "shop.orders", "eu%2Forders"] {
        server.make(name, "{}");
    }
    let mut client = client(&server);
    for (name, number) in [
        ("public.orders_id_seq", "1"),
        ("ORDERS_ID_SEQ", "2"),
        (r#"public.\"orders_id_seq\""#, "3"),
        (r#"\"Orders\""#, "1"),
        ("shop.orders", "1"),
        ("Shop.Orders", "2"),
        (r#"\"shop\".\"orders\""#, "3"),
        ("shop.old", "1"),
        (r#"\"eu/orders\""#, "2"),
    ] {
        let answer = call(&mut client, "nextval", &format!("{{\"seq\":\"{name}\"}}"));
        check_rows(&answer, number, "0-0/*");
    }
    let answer = call(&mut client, "nextval", r#"{"seq":"Orders"}"#);
    check_refused(
        &answer,
        404,
        "42P01",
        "",
        "",
        "relation \"orders\" does not exist",
    );
    let answer = call(&mut client, "nextval", r#"{"seq":"public.x"}"#);
    check_refused(
        &answer,
        404,
        "42P01",
        "",
        "",
        "relation \"public.x\" does not exist",
    );
    let quote = "quote a name that holds dots, blanks or capital letters";
    for odd in ["", " ", "a b", ".a"] {
        let answer = call(&mut client, "nextval", &format!("{{\"seq\":\"{odd}\"}}"));
        check_refused(&answer, 400, "42602", "", quote, "invalid name syntax");
    }
    let answer = call(&mut client, "nextval", r#"{"seq":"a.b.c"}"#);
    let message = "improper relation name (too many dotted names): a.b.c";
    check_refused(&answer, 400, "42601", "", quote, message);
    let long = "x".repeat(200);
    let answer = call(&mut client, "nextval", &format!("{{\"seq\":\"{long}\"}}"));
    let message = format!("relation \"{long}\" does not exist");
    check_refused(&answer, 404, "42P01", "", "", &message);
}

#[test]
fn a_prefix_stands_before_every_name_and_first_uses_create_where_allowed() {
    let server = server(|config| {
        config
            .faces
            .get_mut::<mintage_faces::postgrest::Settings>()
            .keys
            .prefix = Setting::parse("pg:").unwrap();
        config
            .faces
            .get_mut::<mintage_faces::postgrest::Settings>()
            .keys
            .create = true;
        config
            .faces
            .get_mut::<mintage_faces::postgrest::Settings>()
            .functions = Setting::parse(r#"{ f = { next = "made" } }"#).unwrap();
    });
    let mut client = client(&server);
    check_rows(&call(&mut client, "nextval", r#"{"seq":"orders"}"#), "1", "0-0/*");
    // What the configuration names has its own name.
    check_rows(&call(&mut client, "f", ""), "1", "0-0/*");
    for name in ["pg:orders", "made"] {
        let shown = server.http().ask("GET", &format!("/v1/sequences/{name}"));
        assert_eq!(shown.json()["last"], "1", "{name}");
    }
}

#[test]
fn functions_of_the_configuration_are_called_by_their_names() {
    let server = server(|config| {
        let functions = r#"{ next_invoice = { next = "invoices" }, take = { does = "nextval" }, setval = { does = "off" }, gone = { next = "nothing" } }"#;
        config
            .faces
            .get_mut::<mintage_faces::postgrest::Settings>()
            .functions = Setting::parse(functions).unwrap();
    });
    server.make("invoices", "{}");
    let mut client = client(&server);
    // Without a body, with an empty one, with an empty object.
    check_rows(&client.ask("POST", "/rpc/next_invoice"), "1", "0-0/*");
    check_rows(&call(&mut client, "next_invoice", " "), "2", "0-0/*");
    check_rows(&call(&mut client, "next_invoice", "{}"), "3", "0-0/*");
    check_rows(&call(&mut client, "take", r#"{"seq":"invoices"}"#), "4", "0-0/*");
    check_refused(
        &call(&mut client, "gone", ""),
        404,
        "42P01",
        "",
        "",
        "relation \"nothing\" does not exist",
    );
    let answer = call(&mut client, "next_invoice", r#"{"seq":"a"}"#);
    check_refused(
        &answer,
        404,
        "PGRST202",
        "Searched for the function public.next_invoice with parameter seq or with a single unnamed json/jsonb parameter, but no matches were found in the schema cache.",
        "Perhaps you meant to call the function public.next_invoice without parameters",
        "Could not find the function public.next_invoice(seq) in the schema cache",
    );
    let answer = call(&mut client, "setval", r#"{"seq":"invoices","value":9}"#);
    assert_eq!((answer.status, &answer.json()["code"]), (404, &"PGRST202".into()));
}

#[test]
fn preferences_and_profiles_are_echoed() {
    let server = server(|_| {});
    server.make("orders", "{}");
    let mut client = client(&server);
    let mut ask = |headers: &[(&str, &str)], body: &str| {
        client.ask_with(
            "POST",
            if body.contains("\"n\"") {
                "/rpc/nextvals"
            } else {
                "/rpc/nextval"
            },
            headers,
            body,
        )
    };
    let one = r#"{"seq":"orders"}"#;
    for (at, count) in ["count=exact", "count=planned", "count=estimated"]
        .iter()
        .enumerate()
    {
        let answer = ask(&[("Prefer", count)], one);
        let headers = [
            ("content-type", JSON),
            ("content-range", "0-0/1"),
            ("preference-applied", count),
        ];
        check(&answer, 200, &headers, &(at + 1).to_string());
    }
    let answer = ask(
        &[
            ("prefer", "handling=lenient, tx=commit, x=1"),
            ("prefer", "count=exact"),
        ],
        r#"{"seq":"orders","n":2}"#,
    );
    let headers = [
        ("content-type", JSON),
        ("content-range", "0-1/2"),
        ("preference-applied", "count=exact, tx=commit, handling=lenient"),
    ];
    check(&answer, 200, &headers, "[4, 5]");
    let answer = ask(&[("prefer", "x=1, return=minimal")], one);
    check_rows(&answer, "6", "0-0/*");
    let answer = ask(&[("prefer", "handling=strict, x=1, tx=rollback")], one);
    check_refused(
        &answer,
        400,
        "PGRST122",
        "Invalid preferences: x=1, tx=rollback",
        "",
        "Invalid preferences given with handling=strict",
    );
    for (number, schema) in [("7", "public"), ("8", "api")] {
        let profiles = [("Content-Profile", schema), ("Accept-Profile", schema)];
        let headers = [
            ("content-type", JSON),
            ("content-range", "0-0/*"),
            ("content-profile", schema),
        ];
        check(&ask(&profiles, one), 200, &headers, number);
    }
    let answer = ask(&[("content-profile", "shop")], one);
    check_refused(
        &answer,
        406,
        "PGRST106",
        "",
        "Only the following schemas are exposed: public, api",
        "Invalid schema: shop",
    );
    // The refusals took nothing.
    check_rows(&ask(&[], one), "9", "0-0/*");
}

#[test]
fn the_form_is_the_one_that_is_accepted() {
    let server = server(|_| {});
    server.make("orders", "{}");
    let mut client = client(&server);
    let mut ask = |function: &str, accept: &str, body: &str| {
        client.ask_with("POST", &format!("/rpc/{function}"), &[("accept", accept)], body)
    };
    let one = r#"{"seq":"orders"}"#;
    let object = [("content-type", OBJECT), ("content-range", "0-0/*")];
    let single = "application/vnd.pgrst.object+json";
    check(&ask("nextval", single, one), 200, &object, "1");
    check(
        &ask("nextvals", single, r#"{"seq":"orders","n":1}"#),
        200,
        &object,
        "2",
    );
    check_rows(&ask("nextval", "application/json", one), "3", "0-0/*");
    check_refused(
        &ask("nextvals", single, r#"{"seq":"orders","n":2}"#),
        406,
        "PGRST116",
        "The result contains 2 rows",
        "",
        "Cannot coerce the result to a single JSON object",
    );
    check_refused(
        &ask("nextval", "text/csv", one),
        406,
        "PGRST107",
        "",
        "",
        "None of these media types are available: text/csv",
    );
    // The refusals took nothing.
    check_rows(&ask("nextval", "*/*", one), "4", "0-0/*");
}

#[test]
fn methods_but_post_take_nothing() {
    let server = server(|_| {});
    server.make("orders", "{}");
    let mut client = client(&server);
    let allow = [("allow", "OPTIONS,POST")];
    for (target, name) in [("/rpc/nextval?seq=orders", "nextval"), ("/rpc/setval", "setval")] {
        let message = format!("cannot execute {name}() in a read-only transaction");
        let answer = client.ask("GET", target);
        check_refused_with(&answer, 405, "25006", "", "", &message, &allow);
    }
    for method in ["PUT", "PATCH", "DELETE"] {
        let message = format!("Cannot use the {method} method on RPC");
        let answer = client.ask(method, "/rpc/nextval");
        check_refused_with(&answer, 405, "PGRST101", "", "", &message, &allow);
    }
    let answer = client.ask("OPTIONS", "/rpc/nextval");
    let headers = [("allow", "OPTIONS,POST"), ("access-control-allow-origin", "*")];
    check(&answer, 200, &headers, "");
    let (status, headers) = head(&mut client, "/rpc/nextval?seq=orders");
    assert_eq!(status, "HTTP/1.1 405 Method Not Allowed");
    assert!(
        headers.contains(&"proxy-status: PostgREST; error=25006".to_string()),
        "{headers:?}"
    );
    check_rows(&call(&mut client, "nextval", r#"{"seq":"orders"}"#), "1", "0-0/*");
}

#[test]
fn functions_that_do_not_exist_are_named_with_what_may_be_meant() {
    let server = server(|_| {});
    let mut client = client(&server);
    let unnamed = " or with a single unnamed json/jsonb parameter";
    let searched = |what: &str| {
        format!("Searched for the function public.{what}, but no matches were found in the schema cache.")
    };
    check_refused(
        &call(&mut client, "f", r#"{"b":1,"a":2}"#),
        404,
        "PGRST202",
        &searched(&format!("f with parameters a, b{unnamed}")),
        "",
        "Could not find the function public.f(a, b) in the schema cache",
    );
    check_refused(
        &call(&mut client, "f", ""),
        404,
        "PGRST202",
        &searched(&format!("f without parameters{unnamed}")),
        "",
        "Could not find the function public.f without parameters in the schema cache",
    );
    for (function, body, shown, with, meant) in [
        (
            "nextvall",
            "{\"seq\":1}",
            "(seq)",
            " with parameter seq",
            "nextval(seq)",
        ),
        (
            "nextval",
            "{\"sek\":1}",
            "(sek)",
            " with parameter sek",
            "nextval(seq)",
        ),
        (
            "nextval",
            "{\"seq\":\"a\",\"name\":\"b\"}",
            "(name, seq)",
            " with parameters name, seq",
            "nextval(seq)",
        ),
        (
            "nextvals",
            "{\"seq\":\"a\"}",
            "(seq)",
            " with parameter seq",
            "nextvals(seq, n)",
        ),
        (
            "setval",
            "{\"seq\":\"a\"}",
            "(seq)",
            " with parameter seq",
            "setval(seq, value, is_called)",
        ),
        (
            "nextval",
            "",
            " without parameters",
            " without parameters",
            "nextval(seq)",
        ),
    ] {
        check_refused(
            &call(&mut client, function, body),
            404,
            "PGRST202",
            &searched(&format!("{function}{with}{unnamed}")),
            &format!("Perhaps you meant to call the function public.{meant}"),
            &format!("Could not find the function public.{function}{shown} in the schema cache"),
        );
    }
    // The query of a GET, and a form, are never one value.
    check_refused(
        &client.ask("GET", "/rpc/f?a=1&select=*"),
        404,
        "PGRST202",
        &searched("f with parameter a"),
        "",
        "Could not find the function public.f(a) in the schema cache",
    );
    let answer = client.ask_with("POST", "/rpc/a%20b", &[("content-profile", "api")], "");
    assert_eq!(
        answer.json()["message"],
        "Could not find the function api.a b without parameters in the schema cache"
    );
}

#[test]
fn other_paths_are_not_found() {
    let server = server(|_| {});
    let mut client = client(&server);
    for (path, code, message) in [
        ("/", "PGRST126", "Root endpoint metadata is disabled"),
        (
            "/orders?select=*",
            "PGRST205",
            "Could not find the table 'public.orders' in the schema cache",
        ),
        (
            "/rpc",
            "PGRST205",
            "Could not find the table 'public.rpc' in the schema cache",
        ),
        ("/rpc/", "PGRST125", "Invalid path specified in request URL"),
        ("/rpc/a/b", "PGRST125", "Invalid path specified in request URL"),
        ("/a/b", "PGRST125", "Invalid path specified in request URL"),
    ] {
        for method in ["GET", "POST", "OPTIONS"] {
            check_refused(&client.ask(method, path), 404, code, "", "", message);
        }
    }
}

#[test]
fn bodies_that_are_no_json_object_are_refused() {
    let server = server(|config| config.max_count = 5);
    server.make("orders", "{}");
    let mut client = client(&server);
    let deep = "[".repeat(2000);
    for body in [
        "[]",
        "[{\"seq\":\"orders\"}]",
        "5",
        "\"orders\"",
        "null",
        "{",
        "{\"seq\":}",
        "{} x",
        &deep,
    ] {
        check_refused(
            &call(&mut client, "nextval", body),
            400,
            "PGRST102",
            "",
            "",
            "Empty or invalid json",
        );
    }
    for kind in [
        "text/csv",
        "text/plain; charset=utf-8",
        "application/octet-stream",
    ] {
        let shown = kind.split(';').next().unwrap();
        let answer = client.ask_with("POST", "/rpc/nextval", &[("content-type", kind)], "x");
        check_refused(
            &answer,
            400,
            "PGRST102",
            "",
            "",
            &format!("Content-Type not acceptable: {shown}"),
        );
    }
    for (function, body, message) in [
        (
            "nextval",
            r#"{"seq":null}"#,
            "seq must be the name of a sequence, found null",
        ),
        (
            "nextval",
            r#"{"seq":["a"]}"#,
            "seq must be the name of a sequence, found [\"a\"]",
        ),
        (
            "nextvals",
            r#"{"seq":"orders","n":0}"#,
            "n must be a whole number from 1 to 5, found 0",
        ),
        (
            "nextvals",
            r#"{"seq":"orders","n":6}"#,
            "n must be a whole number from 1 to 5, found 6",
        ),
        (
            "nextvals",
            r#"{"seq":"orders","count":"x"}"#,
            "count must be a whole number from 1 to 5, found \"x\"",
        ),
        (
            "setval",
            r#"{"seq":"orders","value":1.5}"#,
            "value must be a whole number of 64 bits, found 1.5",
        ),
        (
            "setval",
            r#"{"seq":"orders","value":9007199254740992}"#,
            "value must be in quotes above 9007199254740991, since it may have been rounded, found 9007199254740992",
        ),
        (
            "setval",
            r#"{"seq":"orders","value":5,"is_called":"maybe"}"#,
            "is_called must be true or false, found \"maybe\"",
        ),
    ] {
        check_refused(
            &call(&mut client, function, body),
            400,
            "PGRST102",
            "",
            "",
            message,
        );
    }
    check_rows(&call(&mut client, "nextval", r#"{"seq":"orders"}"#), "1", "0-0/*");
    let long = format!("{{\"seq\":\"{}\"}}", "x".repeat(5000));
    let answer = call(&mut client, "nextval", &long);
    assert_eq!((answer.status, &answer.json()["code"]), (413, &"PGRST102".into()));
    assert_eq!(answer.header("connection"), Some("close"));
}

// claim: P7
#[test]
fn setval_moves_forward_only() {
    let server = server(|_| {});
    server.make("orders", r#"{"max": 1000}"#);
    let mut client = client(&server);
    check_rows(
        &call(&mut client, "setval", r#"{"seq":"orders","value":41}"#),
        "41",
        "0-0/*",
    );
    check_rows(
        &call(&mut client, "nextval", r#"{"seq":"orders"}"#),
        "42",
        "0-0/*",
    );
    // The next number is the value itself.
    let not_called = r#"{"seq":"public.orders","value":"50","is_called":false}"#;
    check_rows(&call(&mut client, "setval", not_called), "50", "0-0/*");
    check_rows(
        &call(&mut client, "nextval", r#"{"seq":"orders"}"#),
        "50",
        "0-0/*",
    );
    // Where it is, it stays.
    check_rows(
        &call(&mut client, "setval", r#"{"seq":"orders","value":50}"#),
        "50",
        "0-0/*",
    );
    check_refused(
        &call(&mut client, "setval", r#"{"seq":"orders","value":49}"#),
        400,
        "22023",
        "orders is at 50, SET only moves forward",
        "mint seq restart NAME --with N --allow-repeat goes back, loudly",
        "setval: value 49 would move sequence \"orders\" back",
    );
    let answer = call(&mut client, "setval", r#"{"seq":"orders","value":1001}"#);
    assert_eq!(answer.status, 400, "{}", answer.text());
    assert_eq!(answer.json()["code"], "22003");
    assert_eq!(
        answer.json()["message"],
        "setval: value 1001 is out of bounds for sequence \"orders\" (1..1000)"
    );
    check_rows(
        &call(&mut client, "nextval", r#"{"seq":"orders"}"#),
        "51",
        "0-0/*",
    );
    // One that is not there is made.
    check_rows(
        &call(&mut client, "setval", r#"{"seq":"fresh","value":7}"#),
        "7",
        "0-0/*",
    );
    check_rows(&call(&mut client, "nextval", r#"{"seq":"fresh"}"#), "8", "0-0/*");
}

#[test]
fn the_end_of_a_sequence_is_postgresqls() {
    let server = server(|_| {});
    server.make("up", r#"{"min": 35, "max": 36}"#);
    server.make("down", r#"{"increment": -1, "min": -2, "max": -1}"#);
    let mut client = client(&server);
    check_rows(
        &call(&mut client, "nextvals", r#"{"seq":"up","n":2}"#),
        "[35, 36]",
        "0-1/*",
    );
    check_rows(
        &call(&mut client, "nextvals", r#"{"seq":"down","n":2}"#),
        "[-1, -2]",
        "0-1/*",
    );
    check_refused(
        &call(&mut client, "nextval", r#"{"seq":"up"}"#),
        400,
        "2200H",
        "",
        "",
        "nextval: reached maximum value of sequence \"up\" (36)",
    );
    check_refused(
        &call(&mut client, "nextval", r#"{"seq":"public.down"}"#),
        400,
        "2200H",
        "",
        "",
        "nextval: reached minimum value of sequence \"down\" (-2)",
    );
}

#[test]
fn a_token_of_ours_takes_the_place_of_a_jwt() {
    let server = server(|config| {
        config.tokens = vec![
            token("admin", "all", &[Right::Admin, Right::Allocate]),
            token("app", "some", &[Right::Allocate]),
            token("looker", "little", &[Right::Read]),
        ];
    });
    let mut client = client(&server);
    let mut ask = |bearer: &str, function: &str, body: &str| {
        let bearer = format!("Bearer {bearer}");
        let headers = [("apikey", "anything"), ("authorization", bearer.as_str())];
        client.ask_with("POST", &format!("/rpc/{function}"), &headers, body)
    };
    let set = r#"{"seq":"shop.orders","value":10}"#;
    let next = r#"{"seq":"shop.orders"}"#;
    check_rows(&ask("all", "setval", set), "10", "0-0/*");
    check_rows(&ask("some", "nextval", next), "11", "0-0/*");
    let denied = "permission denied for sequence orders";
    check_refused(&ask("some", "setval", set), 403, "42501", "", "", denied);
    check_refused(&ask("little", "nextval", next), 403, "42501", "", "", denied);
    let bearer = [("www-authenticate", "Bearer")];
    let wrong = "No suitable key or wrong key type";
    check_refused_with(
        &ask("wrong", "nextval", next),
        401,
        "PGRST301",
        "",
        "",
        wrong,
        &bearer,
    );
    let answer = client.ask_with("POST", "/rpc/nextval", &[], next);
    let none = "Anonymous access is disabled";
    check_refused_with(&answer, 401, "PGRST302", "", "", none, &bearer);
}

#[test]
fn an_open_face_gives_numbers_and_moves_nothing() {
    let server = server(|config| {
        config.tokens = vec![token("admin", "all", &[Right::Admin, Right::Allocate])];
        config
            .faces
            .get_mut::<mintage_faces::postgrest::Settings>()
            .access
            .auth = FaceAuth::Open;
    });
    let made = server.http().ask_with(
        "PUT",
        "/v1/sequences/orders",
        &[("authorization", "Bearer all")],
        "{}",
    );
    assert_eq!(made.status, 201);
    let mut client = client(&server);
    check_rows(&call(&mut client, "nextval", r#"{"seq":"orders"}"#), "1", "0-0/*");
    let answer = call(&mut client, "setval", r#"{"seq":"orders","value":10}"#);
    check_refused(
        &answer,
        403,
        "42501",
        "",
        "",
        "permission denied for sequence orders",
    );
    let answer = call(&mut client, "setval", r#"{"seq":"fresh","value":10}"#);
    check_refused(
        &answer,
        403,
        "42501",
        "",
        "",
        "permission denied for sequence fresh",
    );
}

#[test]
fn pages_of_listed_origins_may_ask_and_others_may_not() {
    let server = server(|config| config.http_origins = vec!["https://app.example".parse().unwrap()]);
    server.make("orders", "{}");
    let mut client = client(&server);
    let body = r#"{"seq":"orders"}"#;
    // What a browser asks before supabase-js may send its headers.
    let preflight = [
        ("origin", "https://app.example"),
        ("access-control-request-method", "POST"),
        (
            "access-control-request-headers",
            "apikey,authorization,content-profile,content-type,prefer,x-client-info",
        ),
        ("sec-fetch-site", "cross-site"),
    ];
    let answer = client.ask_with("OPTIONS", "/rpc/nextval", &preflight, "");
    assert_eq!(answer.status, 204, "{}", answer.text());
    for (name, value) in [
        ("access-control-allow-origin", "https://app.example"),
        ("access-control-allow-methods", "OPTIONS, POST"),
        (
            "access-control-allow-headers",
            "authorization, content-type, accept, apikey, content-profile, prefer, x-client-info",
        ),
        ("vary", "origin"),
    ] {
        assert_eq!(answer.header(name), Some(value), "{name}");
    }
    let page = [
        ("origin", "https://app.example"),
        ("sec-fetch-site", "cross-site"),
        ("prefer", "count=exact"),
    ];
    let answer = client.ask_with("POST", "/rpc/nextval", &page, body);
    let headers = [
        ("content-type", JSON),
        ("content-range", "0-0/1"),
        ("preference-applied", "count=exact"),
        ("access-control-allow-origin", "https://app.example"),
        (
            "access-control-expose-headers",
            "allow, location, mint-cycle, retry-after, www-authenticate, content-range, preference-applied",
        ),
        ("vary", "origin"),
    ];
    check(&answer, 200, &headers, "1");
    let hint = "if pages of it may ask, list it in server.http.origins";
    for (headers, details) in [
        (
            &[("origin", "https://evil.example")][..],
            "the request comes from a page of \"https://evil.example\"",
        ),
        (
            &[("sec-fetch-site", "cross-site")],
            "the request comes from a page of another site",
        ),
    ] {
        for method in ["POST", "OPTIONS"] {
            let answer = client.ask_with(method, "/rpc/nextval", headers, body);
            let vary = [("vary", "origin")];
            check_refused_with(&answer, 403, "42501", details, hint, "permission denied", &vary);
        }
    }
    // None of those took a number.
    check_rows_of_page(&mut client, body, "2");
}

#[track_caller]
fn check_rows_of_page(client: &mut Client, body: &str, number: &str) {
    let answer = client.ask_with("POST", "/rpc/nextval", &[], body);
    let headers = [
        ("content-type", JSON),
        ("content-range", "0-0/*"),
        ("vary", "origin"),
    ];
    check(&answer, 200, &headers, number);
}

#[test]
fn numbers_that_javascript_rounds_are_bare_or_quoted() {
    for (strings, two) in [
        (false, "[9007199254740991, 9007199254740992]"),
        (true, "[9007199254740991, \"9007199254740992\"]"),
    ] {
        let server = server(|config| {
            config
                .faces
                .get_mut::<mintage_faces::postgrest::Settings>()
                .strings = strings
        });
        server.make("orders", r#"{"start": "9007199254740991"}"#);
        let mut client = client(&server);
        check_rows(
            &call(&mut client, "nextvals", r#"{"seq":"orders","n":2}"#),
            two,
            "0-1/*",
        );
        let one = if strings {
            "\"9007199254740993\""
        } else {
            "9007199254740993"
        };
        check_rows(&call(&mut client, "nextval", r#"{"seq":"orders"}"#), one, "0-0/*");
    }
}

#[test]
fn a_store_that_is_away_is_said_to_be_and_when_to_ask_again() {
    let (server, store) = Server::faulty_with(switch_on);
    let mut client = client(&server);
    store.fail_all(true);
    for (function, body) in [
        ("setval", r#"{"seq":"orders","value":5}"#),
        ("nextval", r#"{"seq":"orders"}"#),
    ] {
        let answer = call(&mut client, function, body);
        let wait = answer.header("retry-after").map(str::to_string).unwrap();
        assert!((1..=60).contains(&wait.parse::<u64>().unwrap()), "{wait}");
        check_refused_with(
            &answer,
            503,
            "PGRST000",
            "get failed: injected fault",
            "",
            "Database connection error.",
            &[("retry-after", &wait)],
        );
    }
    store.fail_all(false);
}

#[test]
fn our_own_port_answers_too_where_it_is_shared() {
    let server = Server::with(|config| {
        config
            .faces
            .get_mut::<mintage_faces::postgrest::Settings>()
            .access
            .listen = Listen::parse("main").unwrap()
    });
    server.make("orders", "{}");
    let mut client = server.http();
    check_rows(&call(&mut client, "nextval", r#"{"seq":"orders"}"#), "1", "0-0/*");
    assert_eq!(
        client.ask("POST", "/v1/sequences/orders/next").json()["ids"][0],
        "2"
    );
    // Paths that are not its own are ours.
    let unknown = client.ask("POST", "/orders");
    assert_eq!(unknown.json()["code"], "unknown_route");
    let metrics = client.ask("GET", "/metrics").text();
    let counted = "mint_face_requests_total{face=\"postgrest\",answer=\"ok\"} 1";
    assert!(metrics.contains(counted), "{metrics}");
}

#[test]
fn refusals_are_counted_by_their_codes() {
    let server = server(|_| {});
    let mut client = client(&server);
    call(&mut client, "nextval", r#"{"seq":"x"}"#);
    call(&mut client, "f", "");
    client.ask("GET", "/rpc/nextval");
    head(&mut client, "/nothing");
    let metrics = server.http().ask("GET", "/metrics").text();
    for (code, count) in [("not_found", 1), ("unknown_route", 2), ("method_not_allowed", 1)] {
        for line in [
            format!("mint_face_requests_total{{face=\"postgrest\",answer=\"{code}\"}} {count}"),
            format!("mint_refused_total{{code=\"{code}\"}} {count}"),
        ] {
            assert!(metrics.contains(&line), "{line}");
        }
    }
}

#[test]
fn a_server_that_stops_lets_its_clients_finish() {
    let server = server(|_| {});
    server.make("orders", "{}");
    let mut client = client(&server);
    check_rows(&call(&mut client, "nextval", r#"{"seq":"orders"}"#), "1", "0-0/*");
    server.stop(Stop::Gently);
    assert_eq!(client.read_to_end(), "");
    server.end().unwrap();
}
