//! SIGTERM ends the process whatever it does, and leaves its folder to the next one.
//!
//! What the server itself does about it is in `crates/faces/tests/it/stops.rs`.
//!
//! Covers: crates/server/src/run.rs
#![allow(clippy::unwrap_used)]

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use mintage_e2e::server::Start;

/// The store accepts and says nothing: to open it takes as long as is configured.
#[test]
fn a_stop_while_the_store_is_opened_ends_the_start_well() {
    let folder = tempfile::tempdir().unwrap();
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let store = format!("redis://{}", silent.local_addr().unwrap());
    let starting = Start::in_folder(folder.path())
        .under([
            "env",
            "MINT_STORE__REQUEST_TIMEOUT=60s",
            "MINT_STORE__CONNECT_TIMEOUT=60s",
        ])
        .args(["--store", &store])
        .spawn();
    let asked = silent.accept().unwrap();
    starting.terminate();
    let said = starting.ready().unwrap_err();
    assert_eq!(said.code, 0, "{said:?}");
    assert!(said.err.contains("stopped before it served anybody"), "{said:?}");
    // It was never answered.
    drop(asked);
}

#[test]
fn an_audit_a_backup_and_readers_that_do_not_read_hold_up_no_stop() {
    let folder = tempfile::tempdir().unwrap();
    let start = Start::in_folder(folder.path()).under(["env", "MINT_SERVER__SHUTDOWN_TIMEOUT=0s"]);
    let server = start.ready();
    for n in 0..200 {
        server.http("PUT", &format!("/v1/sequences/n{n}"), "{}");
    }
    let send = |bytes: &[u8]| {
        let mut stream = TcpStream::connect(server.http).unwrap();
        stream.write_all(bytes).unwrap();
        stream
    };
    let file = "123456789012345678901234567890\n".repeat(400_000);
    let length = file.len();
    let head = format!("POST /v1/audit HTTP/1.1\r\nhost: localhost\r\ncontent-length: {length}\r\n\r\n");
    let mut audit = send(&[head.as_bytes(), file.as_bytes()].concat());
    // One is at a time, and it is this one.
    while server.http("POST", "/v1/audit", "1\n").status != 429 {}
    let others = ["/v1/live", "/v1/backup", "/v1/sequences"]
        .map(|path| send(format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n").as_bytes()));
    server.terminate();
    let mut server = server;
    assert_eq!(server.wait(), 0, "{}", server.log());
    // It was cut off before it had an answer.
    let mut answer = Vec::new();
    let _ = audit.read_to_end(&mut answer);
    assert_eq!(String::from_utf8_lossy(&answer), "");
    drop(others);
    // The folder is free.
    let next = start.ready();
    assert_eq!(next.redis().ask(&["INCR", "n0"]).unwrap().int(), Some(1));
    assert_eq!(next.stop(), 0);
}
