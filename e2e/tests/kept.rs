//! Memory by what a connection has the server keep: 200 connections of each kind, looked at from outside, by what the
//! system says that the process takes.
//!
//! Covers: crates/server/src/kept.rs
#![allow(clippy::unwrap_used, clippy::little_endian_bytes)]

use std::fmt::Write as _;
use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use mintage_e2e::cluster::eventually;
use mintage_e2e::h2::{END_HEADERS, HEADERS, PREFACE, SETTINGS, frame};
use mintage_e2e::need::say;
use mintage_e2e::resp::encode;
use mintage_e2e::server::Server;
use mintage_e2e::sqlwire::face::Faces;
use mintage_testing::invariant;

const CONNECTIONS: usize = 200;
/// What the process may take, whatever is kept.
const MOST: u64 = 512 << 20;

#[test]
#[ignore = "minutes: 200 connections that keep as much as they can, of each kind"]
fn whatever_connections_keep_the_process_stays_small() {
    let mut table = String::new();
    for (what, keep) in KINDS {
        // A server each, so that none starts with what the one before has left.
        let folder = tempfile::tempdir().unwrap();
        let faces = Faces::run(folder.path(), &["postgres", "mysql"], &[]);
        let server = faces.server();
        server.http("PUT", "/v1/sequences/o", "{}");
        let before = resident(server);
        let (mut connections, mut sent) = (Vec::new(), 0);
        for _ in 0..CONNECTIONS {
            let mut one = Wire::connect(address(&faces, face_of(what)));
            keep(&mut one);
            sent += one.sent;
            connections.push(one);
        }
        let (peak, kept) = (resident(server), kept(server));
        // Somebody who keeps little is served.
        assert_eq!(
            server.redis().ask(&["INCR", "o"]).unwrap().int(),
            Some(1),
            "{what}"
        );
        drop(connections);
        eventually("all is given back", || self::kept(server) == 0);
        let after = resident(server);
        let [before, peak, after, kept, sent] = [before, peak, after, kept, sent].map(|bytes| bytes >> 10);
        writeln!(
            table,
            "| {what} | {sent} | {kept} | {before} | {peak} | {after} |"
        )
        .unwrap();
        invariant!(peak << 10 < MOST, "{what}: {peak} KiB of memory");
        // What is counted is what there is, and not a fraction of it; what HTTP's connections have is counted elsewhere.
        let grown = peak.saturating_sub(before);
        invariant!(
            kept == 0 || grown < 2 * kept + 16 * 1024,
            "{what}: {grown} KiB more, of which {kept} are counted"
        );
    }
    say(&format!(
        "kept: {CONNECTIONS} connections each, KiB\n| what | sent | counted | before | peak | after |\n\
         | --- | --- | --- | --- | --- | --- |\n{table}"
    ));
}

/// What is kept, and how one connection has it kept until that is refused. The first word is the face.
type Kind = (&'static str, fn(&mut Wire));

const KINDS: [Kind; 9] = [
    ("postgres: prepared statements", |wire| {
        wire.postgres();
        let text = calls("nextval('o')");
        (0..256).all(|n| wire.parse(&format!("n{n}"), &text));
    }),
    ("postgres: prepared constants", |wire| {
        wire.postgres();
        let text = calls("1");
        (0..256).all(|n| wire.parse(&format!("n{n}"), &text));
    }),
    ("postgres: portals", |wire| {
        wire.postgres();
        wire.message(b'Q', b"BEGIN\0");
        wire.until_ready();
        for n in 0..16 {
            wire.parse("", &calls("nextval('o')"));
            wire.message(b'B', format!("p{n}\0\0\0\0\0\0\0\0").as_bytes());
            wire.message(b'S', b"");
            wire.until_ready();
        }
    }),
    ("postgres: settings and savepoints", |wire| {
        wire.postgres();
        let set = |n: usize| format!("SET app.v{n} = '{}';", "x".repeat(250));
        let all: String = (0..32).map(set).collect();
        let points: String = (0..64).map(|n| format!("SAVEPOINT s{n}; {}", set(0))).collect();
        wire.message(b'Q', format!("{all}BEGIN;{points}\0").as_bytes());
        wire.until_ready();
    }),
    ("mysql: prepared statements", |wire| {
        wire.mysql();
        let text = calls("NEXTVAL(o)");
        (0..256).all(|_| wire.prepare(&text));
    }),
    ("resp: MULTI", |wire| {
        let large = encode(&["ECHO", &"x".repeat(4000)]);
        wire.send(&[&encode(&["MULTI"])[..], &large.repeat(200)].concat());
        wire.send(&encode(&["CLIENT", "ID"]));
        wire.read_lines(202);
    }),
    ("resp: WATCH", |wire| {
        let names: Vec<String> = (0..500).map(|n| format!("k{n}")).collect();
        let words: Vec<&str> = std::iter::once("WATCH")
            .chain(names.iter().map(String::as_str))
            .collect();
        wire.send(&encode(&words));
        wire.read_lines(1);
    }),
    ("http: streams of HTTP/2, half a request each", |wire| {
        wire.send(&[PREFACE, &frame(SETTINGS, 0, 0, b"")].concat());
        for stream in 0..100 {
            // `:method POST`, `:scheme http`, `:path /`, and the body is awaited.
            wire.send(&frame(HEADERS, END_HEADERS, 2 * stream + 1, &[0x83, 0x86, 0x84]));
        }
        wire.read_some();
    }),
    ("http: readers of /v1/live", |wire| {
        wire.send(b"GET /v1/live HTTP/1.1\r\nhost: localhost\r\n\r\n");
        wire.read_some();
    }),
];

/// As much as fits a message.
fn calls(call: &str) -> String {
    let count = (60_000 / (call.len() + 2)).min(1000);
    format!("SELECT {}", vec![call; count].join(","))
}

fn face_of(what: &str) -> &str {
    what.split_once(':').expect("it begins with the face").0
}

fn address(faces: &Faces, face: &str) -> SocketAddr {
    match face {
        "http" => faces.server().http,
        "resp" => faces.server().resp,
        other => faces.place(other).at,
    }
}

/// What the process takes, in bytes.
fn resident(server: &Server) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() << 10
}

fn kept(server: &Server) -> u64 {
    let metrics = server.http("GET", "/metrics", "").text();
    let line = metrics
        .lines()
        .find_map(|line| line.strip_prefix("mint_kept_bytes "));
    line.unwrap().parse().unwrap()
}

/// A connection, byte by byte.
struct Wire {
    stream: TcpStream,
    sent: u64,
}

impl Wire {
    fn connect(to: SocketAddr) -> Wire {
        let stream = TcpStream::connect(to).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        Wire { stream, sent: 0 }
    }

    fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
        self.sent += bytes.len() as u64;
    }

    fn read(&mut self, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        self.stream.read_exact(&mut bytes).unwrap();
        bytes
    }

    fn read_some(&mut self) {
        assert!(self.stream.read(&mut [0; 4096]).unwrap() > 0);
    }

    fn read_lines(&mut self, count: usize) {
        let mut seen = 0;
        while seen < count {
            seen += usize::from(self.read(1) == b"\n");
        }
    }

    /// Logs in to PostgreSQL's face.
    fn postgres(&mut self) {
        let body = b"\0\x03\0\0user\0web\0database\0shop\0\0";
        self.send(&[&(body.len() as u32 + 4).to_be_bytes()[..], body].concat());
        self.until_ready();
    }

    fn message(&mut self, kind: u8, body: &[u8]) {
        let length = (body.len() as u32 + 4).to_be_bytes();
        self.send(&[&[kind][..], &length, body].concat());
    }

    /// Reads to ReadyForQuery; whether nothing was refused.
    fn until_ready(&mut self) -> bool {
        let mut well = true;
        loop {
            let head = self.read(5);
            self.read(u32::from_be_bytes(head[1..].try_into().unwrap()) as usize - 4);
            match head[0] {
                b'Z' => return well,
                b'E' => well = false,
                _ => {}
            }
        }
    }

    fn parse(&mut self, name: &str, text: &str) -> bool {
        self.message(b'P', format!("{name}\0{text}\0\0\0").as_bytes());
        self.message(b'S', b"");
        self.until_ready()
    }

    fn packet(&mut self) -> Vec<u8> {
        let head = self.read(4);
        self.read(u32::from_le_bytes([head[0], head[1], head[2], 0]) as usize)
    }

    fn send_packet(&mut self, number: u8, payload: &[u8]) {
        let length = (payload.len() as u32).to_le_bytes();
        self.send(&[&length[..3], &[number], payload].concat());
    }

    /// Logs in to MySQL's face.
    fn mysql(&mut self) {
        self.packet();
        let capabilities = (1u32 | 0x200 | 0x8000 | 0x8_0000).to_le_bytes();
        let rest = [
            &[0, 0, 0, 1, 45][..],
            &[0; 23],
            b"root\0\0mysql_native_password\0",
        ]
        .concat();
        self.send_packet(1, &[&capabilities[..], &rest].concat());
        assert_eq!(self.packet()[0], 0);
    }

    /// Whether it was prepared.
    fn prepare(&mut self, text: &str) -> bool {
        self.send_packet(0, &[b"\x16", text.as_bytes()].concat());
        let first = self.packet();
        if first[0] != 0 {
            return false;
        }
        // The columns, and their end.
        let columns = u16::from_le_bytes([first[5], first[6]]);
        (0..columns + u16::from(columns > 0)).for_each(|_| drop(self.packet()));
        true
    }
}
