//! Programs that borrow windows of a server which stands still while they renew them.
#![allow(clippy::unwrap_used)]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use mintage_e2e::engine::process::{freeze_tree, signal_all};
use mintage_e2e::http;
use mintage_e2e::server::{Server, Start};
use mintage_testing::{Distinct, invariant};
use serde_json::{Value, json};

/// So many programs share a pool of sixteen workers: a program that lost its worker would not find another for each.
const BORROWERS: usize = 12;

/// A renewal of the window that was lent, as the program sends it until it is answered.
fn renewal(server: &Server, window: &Value, attempt: &str) -> (String, String) {
    let path = format!("/v1/pools/small/windows/{}", window["worker"]);
    let body =
        json!({"owner": window["owner"], "version": window["version"], "attempt": attempt}).to_string();
    let length = body.len();
    let request = format!(
        "PATCH {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\ncontent-type: application/json\r\n\
         content-length: {length}\r\n\r\n{body}",
        server.http
    );
    (path, request)
}

/// Sends a request, and goes away without its answer; `landed`: once that had begun to come.
fn send_and_leave(server: &Server, request: &str, landed: bool) {
    let mut stream = TcpStream::connect(server.http).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    if landed {
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream.read_exact(&mut [0]).unwrap();
    }
}

/// Twelve renewals landed and their answers were lost: all twelve retries were refused, and four programs found no
/// worker any more.
// claim: P12
#[test]
fn no_borrower_loses_its_worker_while_the_server_stands_still() {
    let folder = tempfile::tempdir().unwrap();
    let server = Start::in_folder(folder.path()).ready();
    let small = r#"{"layout":"time=41,worker=4,sequence=10;tick=1ms","window_ms":600000}"#;
    assert_eq!(server.http("PUT", "/v1/pools/small", small).status, 201);
    let lend = || server.http("POST", "/v1/pools/small/windows", "{}").json();
    let mut lent: Vec<Value> = (0..BORROWERS).map(|_| lend()).collect();
    let mut workers = Distinct::of("workers");
    lent.iter()
        .for_each(|window| workers.add(window["worker"].as_u64().unwrap()));
    for round in 0..5 {
        let attempts: Vec<String> = (0..BORROWERS)
            .map(|n| format!("round-{round}-borrower-{n:04}"))
            .collect();
        // Of a half it is known that they have landed; the others' stand in the server's queue as it stops.
        let (landed, queued) = (0..BORROWERS / 2, BORROWERS / 2..BORROWERS);
        for n in landed {
            send_and_leave(&server, &renewal(&server, &lent[n], &attempts[n]).1, true);
        }
        let frozen = freeze_tree(server.pid());
        for n in queued {
            send_and_leave(&server, &renewal(&server, &lent[n], &attempts[n]).1, false);
        }
        // The programs ask again while it stands, and are answered together with their first tries.
        let retries: Vec<TcpStream> = (0..BORROWERS)
            .map(|n| {
                let mut stream = TcpStream::connect(server.http).unwrap();
                let (_, request) = renewal(&server, &lent[n], &attempts[n]);
                stream.write_all(request.as_bytes()).unwrap();
                stream
            })
            .collect();
        signal_all(&frozen, "CONT");
        for (n, mut stream) in retries.into_iter().enumerate() {
            let mut answer = Vec::new();
            stream.read_to_end(&mut answer).unwrap();
            let answer = http::parse(&answer).unwrap();
            invariant!(
                answer.status == 200,
                "borrower {n}, round {round}: {}",
                answer.text()
            );
            let renewed = answer.json();
            assert_eq!(renewed["worker"], lent[n]["worker"]);
            lent[n] = renewed;
        }
    }
    // A copy of a program has another attempt.
    let (path, _) = renewal(&server, &lent[0], "");
    let copies = ["copy-of-a-borrower-1", "copy-of-a-borrower-2"].map(|attempt| {
        let body = json!({"owner": lent[0]["owner"], "version": lent[0]["version"], "attempt": attempt});
        server.http("PATCH", &path, &body.to_string()).status
    });
    invariant!(copies == [200, 409], "{copies:?}");
}
