//! How the server fares, as the console and curl ask for it.

use mintage_server::Stop;
use mintage_server::auth::{Right, Token};
use serde_json::Value;

use crate::common::{Client, Server, token};

/// Whoever reads `/v1/live`.
struct Reader {
    client: Client,
}

impl Reader {
    fn of(server: &Server) -> Reader {
        let mut client = server.http();
        client.send("GET /v1/live HTTP/1.1\r\nhost: localhost\r\n\r\n");
        assert_eq!(client.line(), "HTTP/1.1 200 OK");
        let mut headers = Vec::new();
        loop {
            match client.line() {
                line if line.is_empty() => break,
                line => headers.push(line),
            }
        }
        for expected in ["content-type: text/event-stream", "cache-control: no-store"] {
            assert!(headers.iter().any(|line| line == expected), "{headers:?}");
        }
        Reader { client }
    }

    /// The next event, as text.
    fn event(&mut self) -> String {
        let len = usize::from_str_radix(&self.client.line(), 16).unwrap();
        let event = String::from_utf8(self.client.read(len)).unwrap();
        self.client.expect("\r\n");
        assert!(event.len() <= 8192 && event.ends_with("\n\n"), "{event:?}");
        event
    }

    fn frame(&mut self) -> Value {
        let event = self.event();
        serde_json::from_str(event.strip_prefix("data: ").unwrap()).unwrap()
    }
}

fn names(answer: &Value) -> Vec<&str> {
    let rows = answer["sequences"].as_array().unwrap();
    rows.iter().map(|row| row["name"].as_str().unwrap()).collect()
}

#[test]
fn a_frame_comes_at_once_and_then_one_a_second() {
    let server = Server::start();
    let mut reader = Reader::of(&server);
    let first = reader.frame();
    for field in [
        "at_ms",
        "span_s",
        "server",
        "version",
        "started_ms",
        "series",
        "busiest",
    ] {
        assert!(!first[field].is_null(), "{field} of {first}");
    }
    assert_eq!(first["says"]["wrong"], "Nothing is wrong.");
    assert_eq!(
        (&first["store"]["scheme"], &first["store"]["up"]),
        (&"memory".into(), &true.into())
    );
    let second = reader.frame();
    assert!(second["at_ms"].as_i64() > first["at_ms"].as_i64());
    assert_eq!(second["series"]["store_up"], 1.0);
}

#[test]
fn two_readers_get_the_same_frames() {
    let server = Server::start();
    let mut readers = [Reader::of(&server), Reader::of(&server)];
    // A reader on a busy machine may miss some.
    let mut seen = [Vec::new(), Vec::new()];
    for _ in 0..30 {
        for (reader, seen) in readers.iter_mut().zip(&mut seen) {
            seen.push(reader.event());
        }
        if seen[0].iter().filter(|event| seen[1].contains(event)).count() >= 2 {
            return;
        }
    }
    panic!("{seen:?}");
}

#[test]
fn the_history_has_what_the_metrics_have() {
    // A reader on a busy machine may miss frames: the history does not.
    let mut rounds = (0..5).map(|_| told_beside_the_history());
    assert!(
        rounds.any(|told| told > 299.0),
        "the ids of all frames are all ids"
    );
}

/// How many numbers of 300 the frames told of.
fn told_beside_the_history() -> f64 {
    let server = Server::start();
    let mut reader = Reader::of(&server);
    let mut client = server.http();
    for _ in 0..3 {
        assert_eq!(
            client.ask("POST", "/v1/sequences/orders/next?count=100").status,
            200
        );
    }
    assert_eq!(client.ask("POST", "/v1/ids/uuid4?count=50").status, 200);
    let points = |history: &Value, kind: &str| -> Vec<Option<f64>> {
        let points = history["series"][format!("ids/{kind}")].as_array();
        points.map_or(Vec::new(), |points| points.iter().map(Value::as_f64).collect())
    };
    let sum = |history: &Value, kind: &str| {
        let (mut sum, mut seconds) = (0.0, 0.0);
        for point in points(history, kind) {
            // A value is of the seconds before it, too, that nobody measured.
            seconds += 1.0;
            if let Some(rate) = point {
                sum += rate * seconds;
                seconds = 0.0;
            }
        }
        sum
    };
    let all = [("sequence", 300.0), ("uuid4", 50.0)];
    let mut frames = Vec::new();
    let history = loop {
        frames.push(reader.frame());
        let history = client.ask("GET", "/v1/history").json();
        if all.iter().all(|(kind, count)| sum(&history, kind) > count - 1.0) {
            break history;
        }
        assert!(frames.len() < 60, "{frames:?}, {history}");
    };
    let metrics = client.ask("GET", "/metrics").text();
    assert_eq!(history["step_s"], 1);
    for (kind, count) in all {
        assert!(
            metrics.contains(&format!("mint_ids_total{{kind=\"{kind}\"}} {count}\n")),
            "{metrics}"
        );
        let sum = sum(&history, kind);
        assert!((sum - count).abs() < 0.01, "{kind}: {sum}");
        let rates = frames
            .iter()
            .filter_map(|frame| frame["series"][format!("ids/{kind}")].as_f64());
        for rate in rates {
            let mut known = points(&history, kind).into_iter().flatten();
            assert!(
                known.any(|known| (known - rate).abs() < 0.01),
                "{kind}: {rate} of {history}"
            );
        }
    }
    let lengths: Vec<usize> = history["series"]
        .as_object()
        .unwrap()
        .values()
        .map(|points| points.as_array().unwrap().len())
        .collect();
    assert!(lengths.iter().all(|len| *len == lengths[0]), "{history}");
    for (range, step_s) in [("10m", 1), ("2h", 10), ("24h", 60)] {
        let shown = client.ask("GET", &format!("/v1/history?range={range}")).json();
        assert_eq!(shown["step_s"], step_s);
    }
    assert_eq!(client.ask("GET", "/v1/history?range=1h").status, 400);
    // Each frame has the ids of its time.
    let told = |frame: &Value| {
        frame["series"]["ids/sequence"].as_f64().unwrap_or(0.0) * frame["span_s"].as_f64().unwrap()
    };
    frames.iter().map(told).sum()
}

#[test]
fn a_stop_ends_the_stream_and_waits_for_nobody() {
    let server = Server::start();
    let mut reader = Reader::of(&server);
    reader.event();
    server.stop(Stop::Gently);
    let rest = reader.client.read_to_end();
    assert!(rest.ends_with("0\r\n\r\n"), "{rest:?}");
    server.end().unwrap();
}

/// A frame of HTTP/2: its kind, its flags and what is in it (RFC 9113, 4.1).
struct Frame2 {
    kind: u8,
    flags: u8,
    payload: Vec<u8>,
}

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const END_STREAM: u8 = 1;

/// Asks for `/v1/live` over HTTP/2.
fn ask_over_http_2(server: &Server, method: &str) -> Client {
    let literal = |name: u8, value: &str| [&[name, value.len() as u8], value.as_bytes()].concat();
    // Names by their places in the static table (RFC 7541, appendix A); 0x86: the scheme is http.
    let fields = [
        literal(2, method),
        vec![0x86],
        literal(4, "/v1/live"),
        literal(1, "localhost"),
    ]
    .concat();
    let settings = [0, 0, 0, 4, 0, 0, 0, 0, 0];
    // The end of the headers is the end of the request.
    let headers = [0, 0, fields.len() as u8, HEADERS, 5, 0, 0, 0, 1];
    let mut client = server.http();
    client.send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    client.send(settings).send(headers).send(fields);
    client
}

/// The next frame of one of these kinds.
fn frame_2(client: &mut Client, kinds: &[u8]) -> Frame2 {
    loop {
        let head = client.read(9);
        let len = usize::from(head[0]) << 16 | usize::from(head[1]) << 8 | usize::from(head[2]);
        let payload = client.read(len);
        if kinds.contains(&head[3]) {
            return Frame2 {
                kind: head[3],
                flags: head[4],
                payload,
            };
        }
    }
}

#[test]
fn over_http_2_it_streams_and_ends_alike() {
    let server = Server::start();
    let mut client = ask_over_http_2(&server, "GET");
    for _ in 0..2 {
        let event = frame_2(&mut client, &[DATA]).payload;
        assert!(event.starts_with(b"data: {\"at_ms\":") && event.ends_with(b"}\n\n"));
    }
    server.stop(Stop::Gently);
    while frame_2(&mut client, &[DATA]).flags & END_STREAM == 0 {}
    drop(client);
    server.end().unwrap();
    let server = Server::start();
    let answer = frame_2(&mut ask_over_http_2(&server, "HEAD"), &[DATA, HEADERS]);
    assert_eq!((answer.kind, answer.flags & END_STREAM), (HEADERS, END_STREAM));
}

#[test]
fn head_streams_nothing_and_the_connection_goes_on() {
    let server = Server::start();
    let mut client = server.http();
    client.send("HEAD /v1/live HTTP/1.1\r\nhost: localhost\r\n\r\n");
    assert_eq!(client.line(), "HTTP/1.1 200 OK");
    while !client.line().is_empty() {}
    assert_eq!(client.ask("GET", "/livez").status, 200);
}

fn limited(name: &str, grant: &str) -> Token {
    Token {
        may: vec![grant.parse().unwrap()],
        ..token(name, name, &[])
    }
}

#[test]
fn whoever_sees_some_names_sees_no_others_and_no_live_frames() {
    let server = Server::with(|config| {
        let all = [Right::Admin, Right::Allocate];
        config.tokens = vec![token("all", "all", &all), limited("shop", "read:shop.*")];
    });
    let mut client = server.http();
    let mut ask = |secret: &str, method: &str, path: &str| {
        let bearer = format!("Bearer {secret}");
        client.ask_with(method, path, &[("authorization", &bearer)], "")
    };
    for name in ["shop.a", "shop.b", "bank.c"] {
        let made = ask("all", "POST", &format!("/v1/sequences/{name}/next"));
        assert_eq!(made.status, 200, "{}", made.text());
    }
    let seen = ask("shop", "GET", "/v1/top?by=name").json();
    assert_eq!(
        (&seen["total"], names(&seen)),
        (&2.into(), vec!["shop.a", "shop.b"])
    );
    let all = ask("all", "GET", "/v1/top?by=name").json();
    assert_eq!(
        (&all["total"], names(&all)),
        (&3.into(), vec!["bank.c", "shop.a", "shop.b"])
    );
    for path in ["/v1/live", "/v1/history"] {
        let refused = ask("shop", "GET", path);
        assert_eq!(refused.status, 403, "{path}");
    }
}

#[test]
fn the_top_is_sorted_and_cut_by_the_server() {
    let server = Server::start();
    let mut client = server.http();
    for (name, count) in [("a", 5), ("b", 300), ("c", 1), ("bb", 20)] {
        let path = format!("/v1/sequences/{name}/next?count={count}");
        assert_eq!(client.ask("POST", &path).status, 200);
    }
    server.make("short", r#"{"max": 2}"#);
    assert_eq!(client.ask("POST", "/v1/sequences/short/next?count=2").status, 200);
    for (query, total, expected) in [
        ("by=last", 5, vec!["b", "bb", "a", "short", "c"]),
        ("by=last&offset=1&limit=2", 5, vec!["bb", "a"]),
        ("by=ends&limit=1", 5, vec!["short"]),
        ("by=name&contains=b", 2, vec!["b", "bb"]),
        ("contains=nothing", 0, vec![]),
        ("by=name&offset=9", 5, vec![]),
    ] {
        let top = client.ask("GET", &format!("/v1/top?{query}")).json();
        assert_eq!(
            (&top["total"], names(&top)),
            (&total.into(), expected),
            "{query}: {top}"
        );
    }
    let row = &client.ask("GET", "/v1/top?by=last&limit=1").json()["sequences"][0];
    assert_eq!((&row["last"], &row["lost"]), (&"300".into(), &0.into()));
    assert!(row["per_second"].is_number() && row["stock"].is_number(), "{row}");
    for (query, code) in [
        ("by=size", "invalid_argument"),
        ("offset=-1", "invalid_count"),
        ("limit=1001", "invalid_count"),
    ] {
        let refused = client.ask("GET", &format!("/v1/top?{query}"));
        assert_eq!(
            (refused.status, &refused.json()["code"]),
            (400, &code.into()),
            "{query}"
        );
    }
}
