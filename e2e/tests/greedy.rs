//! One client that asks for much at once, and others that ask for little: theirs are answered in between.
//!
//! Nothing here looks at a clock: what is checked is who was answered before whom.
#![allow(clippy::unwrap_used)]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use mintage_e2e::h2;
use mintage_e2e::server::{Server, Start};

/// What others get answered while the burst goes on.
const OTHERS: usize = 5;

/// A server with one serving thread: who is served there waits for everybody else.
fn server(folder: &std::path::Path) -> Server {
    Start::in_folder(folder)
        .under(["env", "MINT_SERVER__THREADS=1"])
        .ready()
}

/// As [`check_others_before`], where the last answer of the burst ends so.
#[track_caller]
fn check_others_come_first(server: &Server, to: SocketAddr, burst: &[u8], end: &[u8]) {
    let mut tail = Vec::new();
    let is_last = |read: &[u8]| {
        tail.extend_from_slice(read);
        tail.drain(..tail.len().saturating_sub(end.len()));
        tail.ends_with(end)
    };
    check_others_before(server, to, burst, is_last);
}

/// Sends `burst` with one write, then asks for `OTHERS` numbers and for `/livez` as often on connections of their own:
/// all of them must be answered before the last answer of the burst has been sent, which `is_last` finds in what is read.
#[track_caller]
fn check_others_before(
    server: &Server,
    to: SocketAddr,
    burst: &[u8],
    mut is_last: impl FnMut(&[u8]) -> bool + Send,
) {
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
        for answered in 0..OTHERS {
            let number = other.ask(&["INCR", "orders"]).unwrap().int();
            let alive = server.http("GET", "/livez", "").status;
            assert!(number.is_some() && alive == 200, "{number:?}, {alive}");
            assert!(
                !finished.load(Ordering::SeqCst),
                "the whole burst came before answer {answered} of the others"
            );
        }
        reading.join().unwrap();
    });
}

/// How the answer to a path that leads nowhere ends.
const LAST_OF_HTTP: &[u8] = b"/metrics\"}\n";

fn repeated(request: &str, times: usize, end: &str) -> Vec<u8> {
    format!("{}{end}", request.repeat(times)).into_bytes()
}

#[test]
fn a_burst_for_ids_does_not_keep_others_waiting() {
    let folder = tempfile::tempdir().unwrap();
    let server = server(folder.path());
    let end = "ECHO the-end\r\n";
    for (request, times) in [
        ("MINT.ID cuid2 COUNT 10000\r\n", 30),
        ("MINT.ID nanoid COUNT 10000\r\n", 300),
        ("MINT.ID uuid7 COUNT 10000\r\n", 300),
        ("MINT.NEXT orders COUNT 10000\r\n", 600),
        ("MINT.SNOWFLAKE default COUNT 10000\r\n", 100),
        ("COMMAND DOCS\r\n", 4600),
    ] {
        let burst = repeated(request, times, end);
        check_others_come_first(&server, server.resp, &burst, b"the-end\r\n");
    }
    assert_eq!(server.stop(), 0);
}

/// A single request is cut into turns too.
#[test]
fn one_large_request_does_not_keep_others_waiting() {
    let folder = tempfile::tempdir().unwrap();
    let server = Start::in_folder(folder.path())
        .under(["env", "MINT_SERVER__THREADS=1", "MINT_SERVER__MAX_COUNT=1000000"])
        .ready();
    let request = "MINT.ID uuid4 COUNT 1000000\r\n";
    let burst = repeated(request, 1, "ECHO the-end\r\n");
    check_others_come_first(&server, server.resp, &burst, b"the-end\r\n");
    let requests = format!(
        "POST /v1/ids/uuid4?count=1000000 HTTP/1.1\r\nhost: {}\r\n\r\n",
        server.http
    );
    let end = format!("GET /no-such-place HTTP/1.1\r\nhost: {}\r\n\r\n", server.http);
    let burst = repeated(&requests, 1, &end);
    check_others_come_first(&server, server.http, &burst, LAST_OF_HTTP);
    assert_eq!(server.stop(), 0);
}

/// A thousand requests of one connection over HTTP/2 are not a thousand turns.
#[test]
fn a_connection_of_many_streams_does_not_keep_others_waiting() {
    const STREAMS: u32 = 1000;
    let folder = tempfile::tempdir().unwrap();
    let server = Start::in_folder(folder.path())
        .under([
            "env",
            "MINT_SERVER__THREADS=1",
            "MINT_SERVER__HTTP__MAX_STREAMS=1000",
        ])
        .ready();
    let windows = [&[0, 4][..], &(1u32 << 30).to_be_bytes()].concat();
    let mut burst = [h2::PREFACE, &h2::frame(h2::SETTINGS, 0, 0, &windows)].concat();
    burst.extend(h2::frame(h2::WINDOW_UPDATE, 0, 0, &(1u32 << 30).to_be_bytes()));
    let (host, path) = (b"localhost", b"/v1/sequences/bills/next?count=10000");
    // Literals of the names `:authority` and `:path`, behind `:method POST` and `:scheme http`.
    let head = [
        &[0x83, 0x86, 0x01, host.len() as u8][..],
        host,
        &[0x04, path.len() as u8],
        path,
    ]
    .concat();
    for stream in 0..STREAMS {
        burst.extend(h2::frame(
            h2::HEADERS,
            h2::END_STREAM | h2::END_HEADERS,
            stream * 2 + 1,
            &head,
        ));
    }
    let (mut unread, mut ended, mut bytes) = (Vec::new(), 0, 0);
    check_others_before(&server, server.http, &burst, |read| {
        unread.extend_from_slice(read);
        for (kind, flags, length) in h2::take_frames(&mut unread) {
            bytes += if kind == h2::DATA { length } else { 0 };
            ended += u32::from(kind <= h2::HEADERS && flags & h2::END_STREAM != 0);
        }
        ended == STREAMS
    });
    assert!(bytes > STREAMS as usize * 10_000 * 4, "{bytes}");
    assert_eq!(server.stop(), 0);
}

/// Nor does what one `EXEC` runs.
#[test]
#[ignore = "minutes: bursts of every kind"]
fn one_transaction_does_not_keep_others_waiting() {
    let folder = tempfile::tempdir().unwrap();
    let server = server(folder.path());
    for (request, times) in [
        ("MINT.ID cuid2 COUNT 10000\r\n", 30),
        ("MINT.ID uuid7 COUNT 10000\r\n", 300),
        ("MINT.NEXT orders COUNT 10000\r\n", 600),
        ("COMMAND DOCS\r\n", 4600),
    ] {
        let queued = repeated(request, times, "EXEC\r\nECHO the-end\r\n");
        let burst = [b"MULTI\r\n", &queued[..]].concat();
        check_others_come_first(&server, server.resp, &burst, b"the-end\r\n");
    }
    assert_eq!(server.stop(), 0);
}

/// With many names in use one answer of `/readyz` took as long as there were names, on the thread that serves all.
#[test]
fn a_burst_for_health_does_not_keep_others_waiting() {
    let folder = tempfile::tempdir().unwrap();
    let server = server(folder.path());
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
        let burst = repeated(&get(path), times, &get("/no-such-place"));
        check_others_come_first(&server, server.http, &burst, LAST_OF_HTTP);
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
