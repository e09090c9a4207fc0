//! A stop ends whatever is going on, within `server.shutdown_timeout`, however long that would have taken.
//!
//! Nothing here measures time: what is going on would go on until the test lets it, which it never does.

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

use mintage_server::Stop;
use mintage_server::config::{Config, Listen, LocalPath, Off, Setting};
use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat};

use crate::common::{Client, Server};
use crate::mysql_client::{My, command};

const SOON: Duration = Duration::from_millis(250);

/// Each of these waits for the store, or for something that does.
#[test]
fn whatever_waits_for_a_store_that_does_not_answer_is_cut_off() {
    let (server, store) = Server::faulty_with(|config| {
        config
            .faces
            .get_mut::<mintage_faces::postgres::Settings>()
            .access
            .listen = Listen::parse("127.0.0.1:0").unwrap();
        config
            .faces
            .get_mut::<mintage_faces::mysql::Settings>()
            .access
            .listen = Listen::parse("127.0.0.1:0").unwrap();
        config.shutdown_timeout = SOON;
        config.request_timeout = Duration::from_secs(60);
        // Who is cut off is so by the stop.
        (config.write_timeout, config.http_request_timeout) =
            (Duration::from_secs(600), Duration::from_secs(600));
    });
    server.make("strict", r#"{"gap":"none"}"#);
    for n in 0..50 {
        server.make(&format!("n{n}"), "{}");
    }
    let mut my = My::open(&server, "shop");
    let pg = postgres(&server);
    let mut live = server.http();
    live.send("GET /v1/live HTTP/1.1\r\nhost: localhost\r\n\r\n");
    assert_eq!(live.line(), "HTTP/1.1 200 OK");

    store.freeze(true);
    let before = store.counts().calls;
    let mut waiting = Vec::new();
    for (method, target) in [
        ("POST", "/v1/sequences/strict/next"),
        ("POST", "/v1/sequences/strict/next?count=100"),
        ("POST", "/v1/sequences/of-nobody/next"),
        ("GET", "/v1/sequences"),
        ("GET", "/v1/sequences/n7"),
        ("GET", "/v1/moves"),
        ("GET", "/v1/backup"),
        ("POST", "/v1/sequences/n7/restart?at=500000"),
        ("DELETE", "/v1/sequences/n8"),
    ] {
        let mut http = server.http();
        http.send(format!("{method} {target} HTTP/1.1\r\nhost: localhost\r\n\r\n"));
        waiting.push(http);
    }
    for request in [
        "INCR strict",
        "INCR new",
        "KEYS *",
        "SCAN 0",
        "MULTI\r\nINCR new2\r\nEXEC",
    ] {
        let mut resp = server.resp();
        resp.send(format!("{request}\r\n"));
        waiting.push(resp);
    }
    for text in ["SELECT nextval('strict')", "SELECT * FROM pg_sequences"] {
        let mut pg = postgres(&server);
        let length = (text.len() as u32 + 5).to_be_bytes();
        pg.send([b"Q", &length[..], text.as_bytes(), b"\0"].concat());
        waiting.push(pg);
    }
    my.client.send(command(3, "SHOW TABLES"));
    waiting.extend([live, my.client, pg]);
    // They have come as far as the store, some of them by the same call.
    while store.counts().calls < before + 6 {
        std::thread::yield_now();
    }
    server.stop(Stop::Gently);
    let error = server.end().unwrap_err().to_string();
    assert!(error.starts_with("the store did not answer for "), "{error}");
    for mut client in waiting {
        client.read_to_end();
    }
    assert_eq!(
        store.counts().answered + store.counts().refused,
        store.counts().answered
    );
}

/// A file that blocks whoever writes to it is a pipe that nobody reads; a disk that hangs does the same. One thread of this
/// server waits for it, and both serving threads wait for that one.
#[test]
fn a_file_that_blocks_keeps_nobody_from_the_end() {
    for how in [Stop::Gently, Stop::Now] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trail");
        let pipe = full_pipe(&path);
        let server = Server::with(|config: &mut Config| {
            config.audit_file = Off(Some(LocalPath(path.clone())));
            // For a stop at once this matters nothing.
            config.shutdown_timeout = if how == Stop::Now {
                Duration::from_secs(600)
            } else {
                SOON
            };
        });
        // Connections of both threads.
        let mut clients: Vec<Client> = (0..8).map(|_| server.http()).collect();
        clients[0].send("PUT /v1/sequences/a HTTP/1.1\r\nhost: localhost\r\ncontent-length: 2\r\n\r\n{}");
        // It is done before it is told of.
        let mut other = server.resp();
        while other.send("EXISTS a\r\n").line() != ":1" {}
        for client in &mut clients[1..] {
            client.send("PUT /v1/sequences/b HTTP/1.1\r\nhost: localhost\r\ncontent-length: 2\r\n\r\n{}");
        }
        server.stop(Stop::Gently);
        if how == Stop::Now {
            server.stop(Stop::Now);
        }
        // Gently, it gives back what it had, since the store answers.
        assert_eq!(server.end().is_ok(), how == Stop::Gently);
        drop(pipe);
    }
}

/// A pipe that takes no byte more, and whose reader does not read.
fn full_pipe(path: &Path) -> [File; 2] {
    mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    let mut open = File::options();
    open.custom_flags(OFlags::NONBLOCK.bits() as i32);
    let reader = open.clone().read(true).open(path).unwrap();
    let mut writer = open.write(true).open(path).unwrap();
    while writer.write(b"x").is_ok() {}
    [reader, writer]
}

/// A client of PostgreSQL's protocol that has logged in.
fn postgres(server: &Server) -> Client {
    let mut client = server.face("postgres");
    let body = b"\0\x03\0\0user\0web\0database\0shop\0\0";
    client.send([&(body.len() as u32 + 4).to_be_bytes()[..], body].concat());
    while {
        let head = client.read(5);
        client.read(u32::from_be_bytes(head[1..].try_into().unwrap()) as usize - 4);
        head[0] != b'Z'
    } {}
    client
}
