//! Clients that ask for much and read nothing, or send what asks for nothing: the server's memory stays within a bound that
//! its settings state, whoever is served well goes on being served, and the memory is given back.
#![allow(clippy::unwrap_used)]

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::path::Path;

use mintage_e2e::cluster::eventually;
use mintage_e2e::h2;
use mintage_e2e::need::say;
use mintage_e2e::resp::Reply;
use mintage_e2e::server::{Server, Start};
use mintage_testing::invariant;
use socket2::SockRef;

/// What a server with the default settings may take, in MiB, whatever 2,000 clients do.
const MIB_MAX: u64 = 512;
/// How far it is back near where it was, once they have left.
const MIB_LEFT_MAX: u64 = 96;
const CLIENTS: usize = 200;

/// What a client sends, where, and whether the server wants tokens.
struct Hostile {
    what: &'static str,
    over_redis: bool,
    wants_token: bool,
    sent: Vec<u8>,
}

impl Hostile {
    fn over_http(what: &'static str, sent: Vec<u8>) -> Hostile {
        Hostile {
            what,
            over_redis: false,
            wants_token: false,
            sent,
        }
    }

    fn over_redis(what: &'static str, request: &str, times: usize) -> Hostile {
        Hostile {
            over_redis: true,
            ..Hostile::over_http(what, request.repeat(times).into_bytes())
        }
    }

    fn without_its_token(self) -> Hostile {
        Hostile {
            wants_token: true,
            ..self
        }
    }
}

/// All that is tried, of each face what makes its largest answers, and what is kept while one is waited for.
fn hostile() -> Vec<Hostile> {
    let h1 = |request: &str, times| {
        format!("{request} HTTP/1.1\r\nhost: localhost\r\n\r\n")
            .repeat(times)
            .into()
    };
    let get = |path: &str| streams(&[&[0x82, 0x86], &path_field(path)[..]].concat(), true, b"");
    let post = |path: &str| streams(&[&[0x83, 0x86], &path_field(path)[..]].concat(), true, b"");
    let long: Vec<u8> = (0..14)
        .flat_map(|n| field(&format!("x-{n}"), &"a".repeat(1000)))
        .collect();
    let unfinished = |more: &[u8], body: &[u8]| {
        let head = [&[0x83, 0x86], &path_field("/v1/sequences/a/next")[..], more].concat();
        streams(&head, false, body)
    };
    let grpc = |method: &str, message: &[u8]| {
        let head = [
            &[0x83, 0x86][..],
            &path_field(&format!("/mintage.v1.Mint/{method}")),
            &field("content-type", "application/grpc"),
            &field("te", "trailers"),
        ];
        let body = [&[0, 0, 0, 0, message.len() as u8], message].concat();
        streams(
            &head.concat(),
            false,
            &h2::frame(h2::DATA, h2::END_STREAM, 0, &body),
        )
    };
    let http = Hostile::over_http;
    vec![
        http("HTTP/2 ids", post("/v1/ids/token?count=10000")),
        http("HTTP/2 few ids", post("/v1/ids/token?count=200")),
        http("HTTP/2 snowflakes", post("/v1/snowflakes/default?count=10000")),
        http("HTTP/2 numbers", post("/v1/sequences/a/next?count=10000")),
        http("HTTP/2 openapi.json", get("/openapi.json")),
        http("HTTP/2 metrics", get("/metrics")),
        http("HTTP/2 history", get("/v1/history?range=24h")),
        http("HTTP/2 console", get("/console.js")).without_its_token(),
        http("HTTP/2 openapi.json", get("/openapi.json")).without_its_token(),
        http("HTTP/2 unfinished", unfinished(b"", b"")),
        http("HTTP/2 long heads", unfinished(&long, b"")),
        http("HTTP/2 long heads", unfinished(&long, b"")).without_its_token(),
        http(
            "HTTP/2 bodies bit by bit",
            unfinished(b"", &h2::frame(h2::DATA, 0, 0, b"x").repeat(300)),
        ),
        http("gRPC MakeIds", grpc("MakeIds", b"\x0a\x05token\x10\x90\x4e")),
        http("gRPC Next", grpc("Next", b"\x0a\x01a\x10\x90\x4e")),
        http("gRPC IdStream", grpc("IdStream", b"\x0a\x05uuid7\x28\x90\x4e")),
        http("HTTP/1.1 ids", h1("POST /v1/ids/token?count=10000", 8)),
        http("HTTP/1.1 openapi.json", h1("GET /openapi.json", 100)),
        http("HTTP/1.1 console", h1("GET /console.js", 100)).without_its_token(),
        Hostile::over_redis("MINT.ID once", "MINT.ID token COUNT 10000\r\n", 1),
        Hostile::over_redis("MINT.ID pipelined", "MINT.ID token COUNT 10000\r\n", 2000),
        Hostile::over_redis("MINT.NEXT pipelined", "MINT.NEXT a COUNT 10000\r\n", 500),
        Hostile::over_redis("COMMAND DOCS", "COMMAND DOCS\r\n", 2000),
        Hostile::over_redis("INCR pipelined", "INCR a\r\n", 100_000),
        Hostile::over_redis("ECHO", "ECHO hello\r\n", 50_000).without_its_token(),
    ]
}

/// A hundred streams of a connection with the same head, each with what follows it; of that, the streams are filled in.
fn streams(head: &[u8], is_whole: bool, body: &[u8]) -> Vec<u8> {
    let mut sent = [h2::PREFACE, &h2::frame(h2::SETTINGS, 0, 0, b"")].concat();
    let end = if is_whole { h2::END_STREAM } else { 0 };
    for stream in (1..200u32).step_by(2) {
        sent.extend(h2::frame(h2::HEADERS, h2::END_HEADERS | end, stream, head));
        let (mut rest, mut frames) = (body, Vec::new());
        while let [high, middle, low, _, _, ..] = *rest {
            let length = 9 + u32::from_be_bytes([0, high, middle, low]) as usize;
            let (frame, next) = rest.split_at(length);
            frames.extend_from_slice(&frame[..5]);
            frames.extend(stream.to_be_bytes());
            frames.extend_from_slice(&frame[9..]);
            rest = next;
        }
        sent.extend(frames);
    }
    sent
}

/// `:path`, and `:authority` before it: literals whose names are in the static table (RFC 7541, A).
fn path_field(path: &str) -> Vec<u8> {
    [&[0x01][..], &text("localhost"), &[0x04], &text(path)].concat()
}

/// A header that no table holds.
fn field(name: &str, value: &str) -> Vec<u8> {
    [&[0x00][..], &text(name), &text(value)].concat()
}

/// A text with its length, an integer of 7 bits and more (RFC 7541, 5.1).
fn text(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    match text.len().checked_sub(127) {
        None => out.push(text.len() as u8),
        Some(mut rest) => {
            out.push(127);
            while rest >= 128 {
                out.push((rest % 128) as u8 | 128);
                rest /= 128;
            }
            out.push(rest as u8);
        }
    }
    out.extend_from_slice(text.as_bytes());
    out
}

/// Clients that send what they have as far as the server takes it, and read nothing.
struct Clients {
    open: Vec<(TcpStream, Vec<u8>)>,
    sent: usize,
}

impl Clients {
    fn new(server: &Server, hostile: &[Hostile], count: usize) -> Clients {
        let of = |n: usize| {
            let hostile = &hostile[n % hostile.len()];
            let to = if hostile.over_redis {
                server.resp
            } else {
                server.http
            };
            let stream = TcpStream::connect(to).unwrap();
            // What waits is to wait in the server: the system's own buffers are everybody's on this machine.
            SockRef::from(&stream).set_recv_buffer_size(4096).unwrap();
            SockRef::from(&stream).set_send_buffer_size(16 * 1024).unwrap();
            stream.set_nonblocking(true).unwrap();
            (stream, hostile.sent.clone())
        };
        Clients {
            open: (0..count).map(of).collect(),
            sent: 0,
        }
    }

    fn send(&mut self) {
        for (stream, left) in &mut self.open {
            match stream.write(left) {
                Ok(sent) => {
                    left.drain(..sent);
                    self.sent += sent;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(_) => left.clear(),
            }
        }
    }
}

fn server(folder: &Path, wants_token: bool) -> Server {
    let tokens = match wants_token {
        true => format!(
            "[[auth.tokens]]\nname = \"web\"\nmay = [\"read\"]\nsha256 = \"{}\"\n",
            "0".repeat(64)
        ),
        false => String::new(),
    };
    std::fs::write(folder.join("mint.toml"), tokens).unwrap();
    Start::in_folder(folder).args(["--config", "mint.toml"]).ready()
}

/// A line of what the system says of the server's memory, in MiB.
fn memory(server: &Server, what: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(what)).unwrap();
    let kib: u64 = line
        .trim_start_matches(':')
        .trim()
        .trim_end_matches(" kB")
        .parse()
        .unwrap();
    kib >> 10
}

/// How often the well-behaved client asks meanwhile.
const ASKED: usize = 400;

/// Has so many clients do that, and somebody else ask; then they leave.
fn check(hostile: &[Hostile], count: usize, what: &str) {
    let folder = tempfile::tempdir().unwrap();
    let server = server(folder.path(), hostile[0].wants_token);
    let before = memory(&server, "VmRSS");
    let mut clients = Clients::new(&server, hostile, count);
    for _ in 0..ASKED {
        clients.send();
        // A connection of its own each time: one that shows no token does not stay where one is needed.
        let mut good = TcpStream::connect(server.http).unwrap();
        good.write_all(b"GET /livez HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
            .unwrap();
        let mut answer = String::new();
        good.read_to_string(&mut answer).unwrap();
        assert!(answer.ends_with("{\"live\":true}\n"), "{what}: {answer:?}");
    }
    if !hostile[0].wants_token {
        // Room is made for large answers of others too; whoever waits long for it is told to come again.
        let mut other = server.redis();
        eventually("a large answer of somebody else's", || {
            let large = other.ask(&["MINT.ID", "uuid7", "COUNT", "10000"]).unwrap();
            matches!(large, Reply::Array(ids) if ids.len() == 10_000)
        });
    }
    let sent = clients.sent >> 10;
    drop(clients);
    let peak = memory(&server, "VmHWM");
    eventually("the memory is given back", || {
        memory(&server, "VmRSS") < before + MIB_LEFT_MAX
    });
    let after = memory(&server, "VmRSS");
    let token = if hostile[0].wants_token {
        "none, where one is needed"
    } else {
        "not needed"
    };
    say(&format!(
        "| {what} | {count} clients, token {token} | {sent} KiB sent | {before} -> {peak} -> {after} MiB |"
    ));
    invariant!(
        peak < MIB_MAX,
        "{what}: {before} MiB before, {peak} MiB with {count} clients"
    );
    assert_eq!(server.stop(), 0);
}

/// 200 clients took 7 GB with 1.8 MB of requests.
#[test]
fn answers_that_nobody_reads_take_bounded_memory() {
    let of = |what: &str| {
        hostile()
            .into_iter()
            .filter(|hostile| hostile.what == what)
            .collect::<Vec<_>>()
    };
    check(&of("HTTP/2 ids"), CLIENTS, "HTTP/2 ids");
    check(&of("MINT.ID once"), 600, "MINT.ID once");
}

#[test]
#[ignore = "minutes: every large answer of every face, then 2,000 clients with all of them"]
fn whatever_is_asked_for_and_not_read_takes_bounded_memory() {
    crate::hostile::raise_limit("20000");
    let all = hostile();
    for hostile in &all {
        check(std::slice::from_ref(hostile), CLIENTS, hostile.what);
    }
    let (without, with): (Vec<_>, Vec<_>) = all.into_iter().partition(|hostile| hostile.wants_token);
    check(&with, 2000, "everything");
    check(&without, 2000, "everything");
}

const GOAWAY: u8 = 7;
const ENHANCE_YOUR_CALM: u32 = 11;

/// Frames that ask for nothing took the turns of everybody else.
#[test]
fn frames_without_a_request_end_their_connection() {
    let folder = tempfile::tempdir().unwrap();
    let words = ["env", "MINT_SERVER__HTTP__MAX_IDLE_FRAMES=100"];
    let server = Start::in_folder(folder.path()).under(words).ready();
    let request = h2::frame(
        h2::HEADERS,
        h2::END_HEADERS | h2::END_STREAM,
        1,
        &[&[0x82, 0x86], &path_field("/livez")[..]].concat(),
    );
    let begun = [h2::PREFACE, &h2::frame(h2::SETTINGS, 0, 0, b""), &request].concat();
    let floods = [
        ("SETTINGS", h2::frame(h2::SETTINGS, 0, 0, b"")),
        ("PING", h2::frame(6, 0, 0, &[7; 8])),
        ("WINDOW_UPDATE", h2::frame(h2::WINDOW_UPDATE, 0, 0, &[0, 0, 0, 1])),
        ("PRIORITY", h2::frame(2, 0, 3, &[0, 0, 0, 0, 1])),
        ("frames that nobody knows", h2::frame(99, 0, 0, b"x")),
    ];
    for (what, frame) in &floods {
        let few = says(
            server.http,
            &[&begun[..], &frame.repeat(90), &request_again(&request)].concat(),
        );
        assert_eq!(few, None, "{what}");
        let many = says(server.http, &[&begun[..], &frame.repeat(100_000)].concat());
        assert_eq!(many, Some(ENHANCE_YOUR_CALM), "{what}");
        assert_eq!(server.http("GET", "/livez", "").status, 200, "{what}");
    }
    let metrics = server.http("GET", "/metrics", "").text();
    let counted = format!("mint_refused_total{{code=\"rate_limited\"}} {}", floods.len());
    assert!(metrics.contains(&counted), "{metrics}");
    assert_eq!(server.stop(), 0);
}

/// The same request on the next stream.
fn request_again(request: &[u8]) -> Vec<u8> {
    let mut again = request.to_vec();
    again[8] = 3;
    again
}

/// Sends it all and reads to the end: with which error the server ended the connection, if it did.
fn says(to: SocketAddr, bytes: &[u8]) -> Option<u32> {
    let mut stream = TcpStream::connect(to).unwrap();
    let mut reading = stream.try_clone().unwrap();
    let reader = std::thread::spawn(move || {
        let mut said = Vec::new();
        let _ = reading.read_to_end(&mut said);
        said
    });
    // Whoever is not read any more may not write either.
    let _ = stream.write_all(bytes);
    let _ = stream.shutdown(Shutdown::Write);
    let said = reader.join().unwrap();
    let mut rest = &said[..];
    let mut error = None;
    while let [high, middle, low, kind, _, ..] = *rest {
        let end = 9 + u32::from_be_bytes([0, high, middle, low]) as usize;
        let Some(frame) = rest.get(..end) else { break };
        if kind == GOAWAY {
            let code = u32::from_be_bytes(frame[13..17].try_into().unwrap());
            error = error.or(Some(code).filter(|code| *code != 0));
        }
        rest = &rest[end..];
    }
    error
}
