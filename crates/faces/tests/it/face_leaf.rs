//! The face of Leaf's clients, byte by byte, against a server in this process.

use mintage_server::auth::Right;
use mintage_server::config::{Config, FaceAuth, Listen, Setting};
use mintage_testing::invariant;

use crate::common::{Answer, Client, Server, token};

const TEXT: &str = "text/plain;charset=UTF-8";
const JSON: &str = "application/json;charset=UTF-8";
const HTML: &str = "text/html;charset=UTF-8";
const ORDER: &str = "/api/segment/get/order";
const SNOWFLAKE: &str = "/api/snowflake/get/any";

fn leaf(change: impl FnOnce(&mut Config)) -> Server {
    Server::with(|config| {
        config
            .faces
            .get_mut::<mintage_faces::leaf::Settings>()
            .access
            .listen = Listen::parse("127.0.0.1:0").unwrap();
        config
            .faces
            .get_mut::<mintage_faces::leaf::Settings>()
            .keys
            .create = true;
        change(config);
    })
}

fn client(server: &Server) -> Client {
    server.face("leaf")
}

/// A refusal, but for its time, which is that of now.
#[track_caller]
fn is_refused(answer: &Answer, status: u16, rest: &str) {
    let text = answer.text();
    let timestamp = answer.json()["timestamp"].as_i64().expect("a number");
    assert!(timestamp > 1_700_000_000_000, "{text}");
    let begin = format!("{{\"timestamp\":{timestamp},\"status\":{status},");
    answer.is(status, JSON, &format!("{begin}{rest}"));
}

#[track_caller]
fn is_result(answer: &Answer, id: i8, path: &str) {
    is_refused(
        answer,
        500,
        &format!(
            "\"error\":\"Internal Server Error\",\"exception\":\"com.sankuai.inf.leaf.server.exception.LeafServerException\",\"message\":\"Result{{id={id}, status=EXCEPTION}}\",\"path\":\"{path}\"}}"
        ),
    );
}

fn error_document(error: &str, message: &str, path: &str) -> String {
    format!("\"error\":\"{error}\",\"message\":\"{message}\",\"path\":\"{path}\"}}")
}

#[test]
fn numbers_come_as_text_one_after_another_by_any_method() {
    let server = leaf(|_| {});
    let mut client = client(&server);
    for (at, method) in ["GET", "POST", "PUT", "DELETE", "PATCH"].iter().enumerate() {
        client.ask(method, ORDER).is(200, TEXT, &(at + 1).to_string());
    }
    client.ask("GET", "/api/segment/get/order/").is(200, TEXT, "6");
    client.ask("GET", "/api/segment/get/%6frder").is(200, TEXT, "7");
    // The same numbers for our own clients.
    let native = server.http().ask("POST", "/v1/sequences/leaf:order/next");
    assert_eq!(native.json(), serde_json::json!({"ids": ["8"]}));
}

#[test]
fn the_content_type_follows_accept_and_the_body_does_not() {
    let server = leaf(|_| {});
    let mut client = client(&server);
    for (at, (accept, expected)) in [
        ("*/*", TEXT),
        ("application/json, application/*+json", JSON),
        ("text/html,application/xhtml+xml,*/*;q=0.8", HTML),
        ("text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2", HTML),
        ("image/png", "image/png;charset=UTF-8"),
        ("text/plain, application/json, application/*+json, */*", TEXT),
    ]
    .iter()
    .enumerate()
    {
        let answer = client.ask_with("GET", ORDER, &[("accept", accept)], "");
        answer.is(200, expected, &(at + 1).to_string());
    }
}

#[test]
fn snowflakes_rise_and_are_of_leafs_layout() {
    let server = leaf(|_| {});
    let mut client = client(&server);
    let mut last = 0;
    for _ in 0..200 {
        let answer = client.ask("GET", SNOWFLAKE);
        let id: i64 = answer.text().parse().unwrap();
        answer.is(200, TEXT, &id.to_string());
        invariant!(id > last, "{id} after {last}");
        last = id;
    }
    let decoded = client
        .ask("GET", &format!("/decodeSnowflakeId?snowflakeId={last}"))
        .json();
    let unix_ms: i64 = decoded["timestamp"].as_str().unwrap()[..13].parse().unwrap();
    let now_ms = mintage::Clock::unix_millis(&mintage::SystemClock);
    assert!((now_ms - 60_000..=now_ms + 1000).contains(&unix_ms), "{decoded}");
}

#[test]
fn an_id_is_decoded_in_the_order_of_the_original() {
    let server = leaf(|config| {
        config.faces.get_mut::<mintage_faces::leaf::Settings>().time_zone =
            Setting::parse("Asia/Shanghai").unwrap();
    });
    let mut client = client(&server);
    let shown = r#"{"workerId":"378","sequenceId":"0","timestamp":"1656432460105(2022-06-29 00:07:40.105)"}"#;
    let path = "/decodeSnowflakeId";
    let target = format!("{path}?snowflakeId=1541815603606036480");
    client.ask("GET", &target).is(200, JSON, shown);
    let form = [("content-type", "application/x-www-form-urlencoded")];
    let posted = client.ask_with("POST", path, &form, "snowflakeId=1541815603606036480");
    posted.is(200, JSON, shown);
    let wrong = client.ask("GET", &format!("{path}?snowflakeId=12x"));
    wrong.is(200, JSON, "{\"errorMsg\":\"snowflake Id反解析发生异常!\"}");
    is_refused(
        &client.ask("GET", path),
        400,
        "\"error\":\"Bad Request\",\"exception\":\"org.springframework.web.bind.MissingServletRequestParameterException\",\"message\":\"Required String parameter 'snowflakeId' is not present\",\"path\":\"/decodeSnowflakeId\"}",
    );
}

#[test]
fn a_batch_is_a_number_a_line_and_has_a_limit() {
    let server = leaf(|config| config.max_count = 100);
    let mut client = client(&server);
    let batch = client.ask("GET", &format!("{ORDER}?count=3"));
    batch.is(200, TEXT, "1\n2\n3\n");
    for wrong in ["0", "101", "x", ""] {
        let answer = client.ask("GET", &format!("{ORDER}?count={wrong}"));
        is_refused(
            &answer,
            400,
            "\"error\":\"Bad Request\",\"exception\":\"org.springframework.web.method.annotation.MethodArgumentTypeMismatchException\",\"message\":\"count must be a whole number from 1 to 100\",\"path\":\"/api/segment/get/order\"}",
        );
    }
    let all = client.ask("GET", &format!("{ORDER}?count=100")).text();
    let expected: String = (4..104).map(|n| format!("{n}\n")).collect();
    assert_eq!(all, expected);
}

#[test]
fn looking_and_pages_of_other_sites_take_nothing() {
    let server = leaf(|_| {});
    let mut client = client(&server);
    client.ask("GET", ORDER).is(200, TEXT, "1");
    // HEAD has no body, whatever its headers say.
    let head = format!("HEAD {ORDER} HTTP/1.1\r\nhost: localhost\r\n\r\n");
    client.send(head);
    assert!(client.line().starts_with("HTTP/1.1 200"));
    while !client.line().is_empty() {}
    let options = client.ask("OPTIONS", ORDER);
    assert_eq!((options.status, options.text().as_str()), (200, ""));
    assert!(options.header("allow").unwrap().contains("GET"));
    for header in [
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-site", "same-site"),
        ("origin", "http://evil.example"),
    ] {
        let answer = client.ask_with("GET", ORDER, &[header], "");
        assert_eq!(answer.status, 403, "{header:?}");
        assert_eq!(answer.header("content-type"), Some(JSON));
        assert_eq!(answer.json()["error"], "Forbidden");
    }
    for page in ["/cache", "/db", "/css/bootstrap.min.css"] {
        assert_eq!(client.ask("GET", page).status, 200, "{page}");
    }
    client.ask("GET", ORDER).is(200, TEXT, "2");
}

#[test]
fn an_unknown_key_is_minus_two_and_makes_nothing() {
    let server = leaf(|config| {
        config
            .faces
            .get_mut::<mintage_faces::leaf::Settings>()
            .keys
            .create = false
    });
    let mut client = client(&server);
    is_result(&client.ask("GET", ORDER), -2, ORDER);
    assert_eq!(client.ask("GET", "/api/segment/get/%00").status, 400);
    let none = server.http().ask("GET", "/v1/sequences/leaf:order");
    assert_eq!(none.status, 404);
    let made = server.http().ask_with(
        "PUT",
        "/v1/sequences/leaf:order",
        &[],
        "{\"start\":\"2001\",\"max\":\"2002\"}",
    );
    assert_eq!(made.status, 201, "{}", made.text());
    client.ask("GET", ORDER).is(200, TEXT, "2001");
    client.ask("GET", ORDER).is(200, TEXT, "2002");
    // Exhausted: not retried, so no Retry-After.
    let ended = client.ask("GET", ORDER);
    is_result(&ended, -3, ORDER);
    assert_eq!(ended.header("retry-after"), None);
}

#[test]
fn a_browser_gets_a_page_of_the_same_facts() {
    let server = leaf(|config| {
        config
            .faces
            .get_mut::<mintage_faces::leaf::Settings>()
            .keys
            .create = false
    });
    let mut client = client(&server);
    let page = client.ask_with("GET", ORDER, &[("accept", "text/html,*/*;q=0.8")], "");
    page.is(500,
        HTML,
        "<html><body><h1>500 Internal Server Error</h1><p>com.sankuai.inf.leaf.server.exception.LeafServerException</p><p>Result{id=-2, status=EXCEPTION}</p><p>/api/segment/get/order</p></body></html>",
    );
}

#[test]
fn other_paths_lead_nowhere_in_springs_words() {
    let server = leaf(|_| {});
    let mut client = client(&server);
    for path in ["/", "/api/segment/get/", "/api/segment/get/a/b", "/v1/sequences"] {
        let rest = error_document("Not Found", "No message available", path);
        is_refused(&client.ask("GET", path), 404, &rest);
    }
    let damaged = client.ask("GET", "/api/segment/get/a%2");
    assert_eq!(damaged.status, 400, "{}", damaged.text());
}

#[test]
fn what_is_switched_off_is_minus_one_or_zero_as_wanted() {
    let off = |zero| {
        leaf(move |config| {
            let leaf = &mut config.faces.get_mut::<mintage_faces::leaf::Settings>();
            (leaf.segment, leaf.snowflake, leaf.zero_when_off) = (false, false, zero);
        })
    };
    let server = off(false);
    let mut refused = client(&server);
    is_result(&refused.ask("GET", ORDER), -1, ORDER);
    is_result(&refused.ask("GET", SNOWFLAKE), -1, SNOWFLAKE);
    is_refused(
        &refused.ask("GET", "/cache"),
        500,
        "\"error\":\"Internal Server Error\",\"exception\":\"com.sankuai.inf.leaf.server.exception.LeafServerException\",\"message\":\"You should config leaf.segment.enable=true first\",\"path\":\"/cache\"}",
    );
    let server = off(true);
    let mut zero = client(&server);
    zero.ask("GET", ORDER).is(200, TEXT, "0");
    zero.ask("GET", SNOWFLAKE).is(200, TEXT, "0");
    assert_eq!(zero.ask("GET", "/db").status, 500);
}

#[test]
fn keys_are_whole_or_cut_or_named() {
    let server = leaf(|config| {
        let names = r#"{ "eu/order" = "order-eu" }"#;
        config.faces.get_mut::<mintage_faces::leaf::Settings>().keys.names = Setting::parse(names).unwrap();
    });
    let mut whole = client(&server);
    whole
        .ask("GET", "/api/segment/get/com.acme.order")
        .is(200, TEXT, "1");
    whole.ask("GET", "/api/segment/get/com.acme").is(200, TEXT, "1");
    whole.ask("GET", "/api/segment/get/eu%2Forder").is(200, TEXT, "1");
    let native = server.http().ask("POST", "/v1/sequences/order-eu/next");
    assert_eq!(native.json(), serde_json::json!({"ids": ["2"]}));
    // What names a type of content is an ending, unless a key is called so.
    whole
        .ask("GET", "/api/segment/get/com.acme.json")
        .is(200, JSON, "2");
    server.make("leaf:com.acme.json", "{}");
    whole
        .ask("GET", "/api/segment/get/com.acme.json")
        .is(200, JSON, "1");
    let server = leaf(|config| config.faces.get_mut::<mintage_faces::leaf::Settings>().cut_at_dot = true);
    let mut cut = client(&server);
    cut.ask("GET", "/api/segment/get/com.acme.order")
        .is(200, TEXT, "1");
    cut.ask("GET", "/api/segment/get/com.acme.user")
        .is(200, TEXT, "2");
}

#[test]
fn the_pages_show_what_is_held_and_what_is_stored() {
    let server = leaf(|_| {});
    let mut client = client(&server);
    for key in ["b", "a%3Cb%3E"] {
        client.ask("GET", &format!("/api/segment/get/{key}"));
    }
    client.ask("GET", "/api/segment/get/b");
    let cache = client.ask("GET", "/cache");
    let page = cache.text();
    assert_eq!(cache.header("content-type"), Some(HTML));
    assert!(page.contains("<title>Leaf</title>"), "{page}");
    let head = "<table class=\"table table-hover\">\n<thead>\n<tr><th>name</th><th>init</th><th>next</th><th>pos</th><th>value0</th><th>max0</th><th>step0</th><th>value1</th><th>max1</th><th>step1</th></tr>";
    assert!(page.contains(head), "{page}");
    let row = |key: &str| {
        let begin = format!("<tr><td>{key}</td>");
        let row = page.lines().find(|line| line.starts_with(&begin));
        let row = row.unwrap_or_else(|| panic!("no {key} in {page}"));
        let row = row.trim_start_matches("<tr><td>").trim_end_matches("</td></tr>");
        row.split("</td><td>").map(str::to_string).collect::<Vec<_>>()
    };
    let (a, b) = (row("a&lt;b&gt;"), row("b"));
    assert_eq!((&a[1], &a[3], &a[4]), (&"true".into(), &"0".into(), &"2".into()));
    assert_eq!((&b[1], &b[3], &b[4]), (&"true".into(), &"0".into(), &"3".into()));
    let numbers: Vec<u64> = b[4..].iter().map(|cell| cell.parse().unwrap()).collect();
    let [_, max0, step0, value1, max1, step1] = numbers[..] else {
        panic!("{b:?}");
    };
    // All blocks follow each other, and the first of all numbers was 1.
    let (max, step) = match b[2].as_str() {
        "true" => {
            assert_eq!((value1, max1), (max0, max0 + step1));
            (max1, step1)
        }
        _ => {
            assert_eq!((value1, max1, step1), (0, 0, 0));
            assert_eq!(max0, step0 + 1);
            (max0, step0)
        }
    };
    assert!(page.find("a&lt;b&gt;").unwrap() < page.find("<td>b</td>").unwrap());

    let db = client.ask("GET", "/db").text();
    assert!(db.contains("<tr><th>tag</th><th>max</th><th>step</th><th>update</th></tr>"));
    let stored = format!("<tr><td>b</td><td>{max}</td><td>{step}</td><td></td></tr>");
    assert!(db.contains(&stored), "{stored} in {db}");
    client.ask("GET", "/api/segment/get/b").is(200, TEXT, "3");
}

#[test]
fn a_page_says_where_it_was_cut() {
    let server = leaf(|config| config.faces.get_mut::<mintage_faces::leaf::Settings>().max_rows = 1);
    let mut client = client(&server);
    for key in ["a", "b"] {
        client.ask("GET", &format!("/api/segment/get/{key}"));
    }
    for page in ["/cache", "/db"] {
        let text = client.ask("GET", page).text();
        assert!(
            text.contains("<td>a</td>") && !text.contains("<td>b</td>"),
            "{text}"
        );
        assert!(text.contains("faces.leaf.max_rows"), "{text}");
    }
}

#[test]
fn tokens_are_asked_for_or_not() {
    let with = |auth| {
        leaf(move |config| {
            config.tokens = vec![
                token("web", "take", &[Right::Allocate]),
                token("eye", "look", &[Right::Read]),
            ];
            config
                .faces
                .get_mut::<mintage_faces::leaf::Settings>()
                .access
                .auth = auth;
            config
                .faces
                .get_mut::<mintage_faces::leaf::Settings>()
                .keys
                .create = false;
        })
    };
    let server = with(FaceAuth::Token);
    let mut client_of_token = client(&server);
    let none = client_of_token.ask("GET", SNOWFLAKE);
    let rest = error_document("Unauthorized", "this needs a token", SNOWFLAKE);
    is_refused(&none, 401, &rest);
    let bearer = |secret| [("authorization", secret)];
    let took = client_of_token.ask_with("GET", SNOWFLAKE, &bearer("Bearer take"), "");
    assert_eq!(took.status, 200);
    let looked = client_of_token.ask_with("GET", SNOWFLAKE, &bearer("Bearer look"), "");
    assert_eq!(looked.status, 403);
    let page = client_of_token.ask_with("GET", "/db", &bearer("Bearer look"), "");
    assert_eq!(page.status, 200);
    let server = with(FaceAuth::Open);
    assert_eq!(client(&server).ask("GET", SNOWFLAKE).status, 200);
}

#[test]
fn without_its_store_it_is_minus_three_and_says_when_to_ask_again() {
    let (server, store) = Server::faulty_with(|config| {
        config
            .faces
            .get_mut::<mintage_faces::leaf::Settings>()
            .access
            .listen = Listen::parse("127.0.0.1:0").unwrap();
        config
            .faces
            .get_mut::<mintage_faces::leaf::Settings>()
            .keys
            .create = true;
    });
    let mut client = client(&server);
    assert_eq!(client.ask("GET", ORDER).text(), "1");
    store.fail_all(true);
    let answer = client.ask("GET", "/api/segment/get/other");
    is_result(&answer, -3, "/api/segment/get/other");
    assert!(answer.header("retry-after").is_some());
    store.fail_all(false);
    assert_eq!(client.ask("GET", ORDER).text(), "2");
}
