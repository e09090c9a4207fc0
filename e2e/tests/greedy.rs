//! One client that asks for much at once, and others that ask for little: theirs are answered in between.
//!
//! Nothing here looks at a clock: what is checked is who was answered before whom.
#![allow(clippy::unwrap_used)]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;

use mintage_e2e::h2;
use mintage_e2e::need::say;
use mintage_e2e::server::{Server, Start};

/// What others get answered while the burst goes on.
const OTHERS: usize = 5;

/// A server with one serving thread, and these settings: who is served there waits for everybody else.
fn server(folder: &std::path::Path, settings: &[&str]) -> Server {
    let words = [&["env", "MINT_SERVER__THREADS=1"], settings].concat();
    Start::in_folder(folder).under(words).ready()
}

/// Sends a burst with one write, then asks for `OTHERS` numbers and for `/livez` as often on connections of their own:
/// all of them must be answered before the last answer of the burst has been sent, which ends with `end`.
///
/// On a busy machine a burst may be over before its own clients are run: then a longer one is sent, that of `burst(2)` and
/// `burst(4)`. Whoever has to wait for the whole burst waits for that one too.
#[track_caller]
fn check_others_come_first(server: &Server, to: SocketAddr, burst: impl Fn(usize) -> Vec<u8>, end: &[u8]) {
    let mut late = Vec::new();
    for longer in [1, 2, 4] {
        match others_come_first(server, to, &burst(longer), end) {
            OTHERS => return,
            answered => late.push(answered),
        }
        say(&format!(
            "a burst was over before {OTHERS} answers of others: {late:?}"
        ));
    }
    panic!("the whole burst came before all answers of the others but {late:?}");
}

/// How many answers of the others came before the last one of the burst.
#[track_caller]
fn others_come_first(server: &Server, to: SocketAddr, burst: &[u8], end: &[u8]) -> usize {
    let mut tail = Vec::new();
    let mut is_last = |read: &[u8]| {
        tail.extend_from_slice(read);
        tail.drain(..tail.len().saturating_sub(end.len()));
        tail.ends_with(end)
    };
    let mut other = server.redis();
    assert!(other.ask(&["INCR", "orders"]).unwrap().int().is_some());
    let mut greedy = TcpStream::connect(to).unwrap();
    let finished = AtomicBool::new(false);
    thread::scope(|scope| {
        let mut reader = greedy.try_clone().unwrap();
        greedy.write_all(burst).unwrap();
        let finished = &finished;
        let reading = scope.spawn(move || {
            let mut chunk = vec![0; 1 << 20];
            loop {
                let read = reader.read(&mut chunk).unwrap();
                assert_ne!(read, 0, "the burst is answered whole");
                if is_last(&chunk[..read]) {
                    break;
                }
            }
            finished.store(true, Ordering::SeqCst);
        });
        let mut first = 0;
        for _ in 0..OTHERS {
            let number = other.ask(&["INCR", "orders"]).unwrap().int();
            let alive = server.http("GET", "/livez", "").status;
            assert!(number.is_some() && alive == 200, "{number:?}, {alive}");
            first += usize::from(!finished.load(Ordering::SeqCst));
        }
        reading.join().unwrap();
        first
    })
}

/// How the answer to a path that leads nowhere ends.
const LAST_OF_HTTP: &[u8] = b"/metrics\"}\n";

fn repeated(request: &str, times: usize, end: &str) -> Vec<u8> {
    format!("{}{end}", request.repeat(times)).into_bytes()
}

#[test]
fn a_burst_for_ids_does_not_keep_others_waiting() {
    let folder = tempfile::tempdir().unwrap();
    let server = server(folder.path(), &[]);
    let end = "ECHO the-end\r\n";
    for (request, times) in [
        ("MINT.ID cuid2 COUNT 10000\r\n", 30),
        ("MINT.ID nanoid COUNT 10000\r\n", 300),
        ("MINT.ID uuid7 COUNT 10000\r\n", 300),
        ("MINT.NEXT orders COUNT 10000\r\n", 600),
        ("MINT.SNOWFLAKE default COUNT 10000\r\n", 100),
        ("COMMAND DOCS\r\n", 4600),
    ] {
        let burst = |longer| repeated(request, times * longer, end);
        check_others_come_first(&server, server.resp, burst, b"the-end\r\n");
    }
    assert_eq!(server.stop(), 0);
}

/// Sending takes time that no look at the clock cuts short: bytes end a turn where time and ids do not.
#[test]
fn what_is_sent_to_one_does_not_keep_others_waiting() {
    let folder = tempfile::tempdir().unwrap();
    let settings = [
        "MINT_SERVER__TURN_US=1000000",
        "MINT_SERVER__TURN_IDS=1000000000",
        // A page at a time would be sent, and its reader waited for.
        "MINT_SERVER__RESP__MAX_OUTPUT=1024MiB",
    ];
    let server = server(folder.path(), &settings);
    let burst = |longer| repeated("COMMAND DOCS\r\n", 4600 * longer, "ECHO the-end\r\n");
    check_others_come_first(&server, server.resp, burst, b"the-end\r\n");
    assert_eq!(server.stop(), 0);
}

/// A single request is cut into turns too.
#[test]
fn one_large_request_does_not_keep_others_waiting() {
    let folder = tempfile::tempdir().unwrap();
    let server = server(folder.path(), &["MINT_SERVER__MAX_COUNT=1000000"]);
    let request = "MINT.ID uuid4 COUNT 1000000\r\n";
    // Always one: of several, others may come in between.
    let burst = |_| repeated(request, 1, "ECHO the-end\r\n");
    check_others_come_first(&server, server.resp, burst, b"the-end\r\n");
    let requests = format!(
        "POST /v1/ids/uuid4?count=1000000 HTTP/1.1\r\nhost: {}\r\n\r\n",
        server.http
    );
    let end = format!("GET /no-such-place HTTP/1.1\r\nhost: {}\r\n\r\n", server.http);
    let burst = |_| repeated(&requests, 1, &end);
    check_others_come_first(&server, server.http, burst, LAST_OF_HTTP);
    assert_eq!(server.stop(), 0);
}

/// A thousand requests of one connection over HTTP/2 are not a thousand turns: others come in between, and need not wait
/// until all that were sent together are answered. Each is followed by another one, so that it does not matter how fast
/// anybody reads, and what others take from the same sequence tells how much was done for the connection meanwhile.
#[test]
fn a_connection_of_many_streams_does_not_keep_others_waiting() {
    let folder = tempfile::tempdir().unwrap();
    let server = server(folder.path(), &["MINT_SERVER__HTTP__MAX_STREAMS=1000"]);
    // Nobody waits for the store, once it has grown to that: whoever does is handed numbers at once with all that waited
    // before, which is no turn of anybody.
    let plenty = r#"{"max_gap": 1000000000}"#;
    assert_eq!(server.http("PUT", "/v1/sequences/bills", plenty).status, 201);
    let mut other = server.redis();
    let mut take = || other.ask(&["INCR", "bills"]).unwrap().int().unwrap();
    take();
    let greedy = TcpStream::connect(server.http).unwrap();
    let ended = AtomicU32::new(0);
    thread::scope(|scope| {
        scope.spawn(|| keep_streams_open(&greedy, &ended));
        let mut before = take();
        let at_once = i64::from(STREAMS) * i64::from(PER_STREAM);
        // Whoever is not run for a while waits long, whatever the server does: the wait in the middle tells.
        let mut waits = Vec::new();
        while waits.len() < 100 || ended.load(Ordering::SeqCst) < 20 {
            let number = take();
            waits.push(number - std::mem::replace(&mut before, number));
        }
        greedy.shutdown(std::net::Shutdown::Both).unwrap();
        let told = format!("{waits:?}");
        waits.sort_unstable();
        assert!(
            waits[waits.len() / 2] < at_once / 100,
            "of {at_once} asked for at once, between two answers: {told}"
        );
    });
    assert_eq!(server.stop(), 0);
}

const STREAMS: u32 = 1000;
const PER_STREAM: u32 = 10_000;

/// Keeps so many requests of one connection open until it is closed, and counts those that were answered.
fn keep_streams_open(mut greedy: &TcpStream, answered: &AtomicU32) {
    let windows = [&[0, 4][..], &(1u32 << 30).to_be_bytes()].concat();
    let mut burst = [h2::PREFACE, &h2::frame(h2::SETTINGS, 0, 0, &windows)].concat();
    let room = |bytes: u32| h2::frame(h2::WINDOW_UPDATE, 0, 0, &bytes.to_be_bytes());
    burst.extend(room(1 << 30));
    (0..STREAMS).for_each(|stream| burst.extend(one_stream(stream)));
    greedy.write_all(&burst).unwrap();
    let (mut unread, mut chunk) = (Vec::new(), vec![0; 1 << 20]);
    loop {
        let read = match greedy.read(&mut chunk) {
            Ok(0) | Err(_) => return,
            Ok(read) => read,
        };
        unread.extend_from_slice(&chunk[..read]);
        let (mut more, mut bytes) = (Vec::new(), 0);
        for (kind, flags, length) in h2::take_frames(&mut unread) {
            bytes += if kind == h2::DATA { length } else { 0 };
            if kind <= h2::HEADERS && flags & h2::END_STREAM != 0 {
                let before = answered.fetch_add(1, Ordering::SeqCst);
                more.extend(one_stream(STREAMS + before));
            }
        }
        if bytes > 0 {
            more.extend(room(u32::try_from(bytes).unwrap()));
        }
        if greedy.write_all(&more).is_err() {
            return;
        }
    }
}

/// A request for numbers: literals of the names `:authority` and `:path`, behind `:method POST` and `:scheme http`.
fn one_stream(stream: u32) -> Vec<u8> {
    let (host, path) = (
        "localhost",
        format!("/v1/sequences/bills/next?count={PER_STREAM}"),
    );
    let head = [
        &[0x83, 0x86, 0x01, host.len() as u8][..],
        host.as_bytes(),
        &[0x04, path.len() as u8],
        path.as_bytes(),
    ]
    .concat();
    let flags = h2::END_STREAM | h2::END_HEADERS;
    h2::frame(h2::HEADERS, flags, stream * 2 + 1, &head)
}

/// Nor does what one `EXEC` runs.
#[test]
#[ignore = "minutes: bursts of every kind"]
fn one_transaction_does_not_keep_others_waiting() {
    let folder = tempfile::tempdir().unwrap();
    let server = server(folder.path(), &[]);
    for (request, times) in [
        ("MINT.ID cuid2 COUNT 10000\r\n", 30),
        ("MINT.ID uuid7 COUNT 10000\r\n", 300),
        ("MINT.NEXT orders COUNT 10000\r\n", 600),
        ("COMMAND DOCS\r\n", 4600),
    ] {
        let queued = repeated(request, times, "EXEC\r\nECHO the-end\r\n");
        let burst = |_| [b"MULTI\r\n", &queued[..]].concat();
        check_others_come_first(&server, server.resp, burst, b"the-end\r\n");
    }
    assert_eq!(server.stop(), 0);
}

/// With many names in use one answer of `/readyz` took as long as there were names, on the thread that serves all.
#[test]
fn a_burst_for_health_does_not_keep_others_waiting() {
    let folder = tempfile::tempdir().unwrap();
    let server = server(folder.path(), &[]);
    let mut client = server.redis();
    let names = 2000;
    for name in 0..names {
        client.send(format!("INCR name{name}\r\n").as_bytes()).unwrap();
    }
    for _ in 0..names {
        assert_eq!(client.reply().unwrap().int(), Some(1));
    }
    for path in ["/readyz", "/metrics", "/v1/sequences?limit=1000"] {
        let get = |path: &str| format!("GET {path} HTTP/1.1\r\nhost: {}\r\n\r\n", server.http);
        let times = if path == "/readyz" { 1000 } else { 200 };
        let burst = |longer| repeated(&get(path), times * longer, &get("/no-such-place"));
        check_others_come_first(&server, server.http, burst, LAST_OF_HTTP);
    }
    assert_eq!(server.stop(), 0);
}

/// A client without a token wrote 47 MB of log a second.
#[test]
fn wrong_tokens_are_counted_in_the_log_not_listed() {
    let folder = tempfile::tempdir().unwrap();
    let token = "[[auth.tokens]]\nname = \"web\"\nmay = [\"allocate\"]\nsha256 = \"";
    let config = format!(
        "[server]\nwrong_token_delay = \"0ms\"\n{token}{}\"\n",
        "0".repeat(64)
    );
    std::fs::write(folder.path().join("mint.toml"), config).unwrap();
    let server = Start::in_folder(folder.path())
        .args(["--config", "mint.toml"])
        .ready();
    let connections = 200;
    for _ in 0..connections {
        let mut client = server.redis();
        client.send("AUTH guess\r\n".repeat(10).as_bytes()).unwrap();
        let mut replies = Vec::new();
        while let Ok(reply) = client.reply() {
            replies.push(reply);
        }
        assert_eq!(replies.len(), 3, "{replies:?}");
    }
    let log = folder.path().join("mint.log");
    assert_eq!(server.stop(), 0);
    let log = std::fs::read_to_string(log).unwrap();
    let lines: Vec<&str> = log
        .lines()
        .filter(|line| line.contains("a wrong token"))
        .collect();
    let count = |line: &&str| -> u64 {
        let (_, rest) = line.split_once("count=").unwrap();
        rest.split_whitespace().next().unwrap().parse().unwrap()
    };
    assert_eq!(lines.iter().map(count).sum::<u64>(), connections * 3, "{log}");
    assert!((lines.len() as u64) < connections, "{} lines", lines.len());
}
