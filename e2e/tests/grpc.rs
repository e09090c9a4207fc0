//! gRPC and HTTP/2 with stock clients: grpcio by reflection, @grpc/grpc-js by the `.proto`, curl; and what no stock client
//! sends.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use mintage_e2e::certificates::Certificates;
use mintage_e2e::h2::{
    CONTINUATION, END_HEADERS, END_STREAM, HEADERS, POST, PREFACE, RESET, SETTINGS, frame,
};
use mintage_e2e::run::{Said, new_token};
use mintage_e2e::server::{Server, Start};
use mintage_e2e::{binary, need};
use mintage_testing::{Distinct, invariant};
use serde_json::{Value, json};

fn grpcio(python: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(python);
    command
        .arg(binary::root().join("e2e/clients/grpc_client.py"))
        .args(words);
    command
}

/// What it prints.
fn says(mut command: Command) -> Value {
    let said = Said::from(command.output().unwrap()).ok();
    serde_json::from_str(said.trim()).unwrap_or_else(|_| panic!("{said}"))
}

/// The settings of a server that shows them.
fn tls(certificates: &Certificates) -> String {
    let (cert, key) = (certificates.server(), certificates.key());
    format!("[server.tls]\ncert = {cert:?}\nkey = {key:?}\n")
}

/// The port of the face's own, where it has one.
fn own_port(server: &Server) -> String {
    server.ready["grpc"].as_str().unwrap().to_string()
}

#[test]
fn a_client_that_asks_what_there_is_can_call_all_of_it() {
    let Some(python) = need::grpcio() else { return };
    let folder = tempfile::tempdir().unwrap();
    let server = Start::in_folder(folder.path()).ready();
    let said = says(grpcio(&python, &["everything", &server.http.to_string()]));
    let with = |name: &str| said[name].clone();
    let services = with("services");
    let services: Vec<&str> = services
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Value::as_str)
        .collect();
    assert!(
        services.starts_with(&[
            "grpc.health.v1.Health",
            "grpc.reflection.v1alpha.ServerReflection"
        ]) && services.ends_with(&["mintage.v1.Mint"]),
        "{services:?}"
    );
    assert_eq!(with("next"), json!([1, 2, 3]));
    assert_eq!(
        with("range"),
        json!({"first": "4", "count": "5", "increment": "1"})
    );
    let blocks = with("blocks");
    let (mut next, mut sum) = (9, 0);
    for block in blocks.as_array().unwrap() {
        assert_eq!(
            (block[0].as_i64(), block[2].as_i64()),
            (Some(next), Some(1)),
            "{blocks}"
        );
        let count = block[1].as_i64().unwrap();
        (next, sum) = (next + count, sum + count);
    }
    assert_eq!(sum, 2500);
    let uuids = with("uuids");
    let of: Vec<(u64, usize)> = (uuids.as_array().unwrap().iter())
        .map(|block| (block[0].as_u64().unwrap(), block[1].as_str().unwrap().len()))
        .collect();
    assert_eq!(of, [(2, 64), (2, 64), (1, 32)]);
    assert_eq!(with("snowflakes"), json!([80]));
    assert!(with("typeids")[1].as_str().unwrap().starts_with("user_"));
    assert_eq!(with("numbers"), json!(100));
    assert_eq!(
        (&said["created"]["start"], &said["created"]["increment"]),
        (&json!("100"), &json!("5"))
    );
    assert_eq!(
        (with("stepped"), with("altered"), with("restarted")),
        (json!([100, 105]), json!(10), json!(500))
    );
    assert_eq!(
        (with("listed"), with("pools")),
        (json!(["steps"]), json!(["default", "sony"]))
    );
    assert_eq!(
        (with("pool"), with("avoids"), with("windows")),
        (json!("snowflake"), json!("1-9"), json!(1))
    );
    assert_eq!(
        (with("readings"), with("health")),
        (json!(1867.0), json!([1, 1, 1]))
    );
    assert_eq!(with("series"), json!(["1", "4", "7", "10", "13"]));
    assert_eq!(with("dates"), json!(["2024-02-28", "2024-02-29", "2024-03-01"]));
    for yes in ["formats", "presets", "renewed", "repeated"] {
        assert_eq!(with(yes), json!(true), "{yes}");
    }
    assert_eq!((with("dropped"), with("pool dropped")), (json!([]), json!("OK")));
    assert_eq!(with("lost")[0], "ABORTED");
    assert_eq!(with("ticks"), json!([1_000_000, true]));
    assert_eq!(
        (&said["counted"][0], &said["counted"][1]),
        (&json!("INVALID_ARGUMENT"), &json!("INVALID_ARGUMENT"))
    );
    for (what, status, reason, says) in [
        ("name", "INVALID_ARGUMENT", "INVALID_NAME", "name is empty"),
        ("count", "INVALID_ARGUMENT", "INVALID_COUNT", "from 1 to 10000"),
        ("missing", "NOT_FOUND", "NOT_FOUND", "nobody"),
        ("no path", "INVALID_ARGUMENT", "INVALID_ARGUMENT", "name is empty"),
        ("another", "ALREADY_EXISTS", "EXISTS", "steps"),
        ("back", "FAILED_PRECONDITION", "NEEDS_ALLOW_REPEAT", "repeat"),
        ("format", "NOT_FOUND", "UNKNOWN_FORMAT", "no"),
        ("text", "INVALID_ARGUMENT", "NOT_ACCEPTABLE", "text alone"),
        ("pool of none", "INVALID_ARGUMENT", "INVALID_ARGUMENT", "no pool"),
        ("option", "INVALID_ARGUMENT", "INVALID_ARGUMENT", "no option"),
        ("block", "INVALID_ARGUMENT", "INVALID_COUNT", "from 1 to 10000"),
        ("none", "INVALID_ARGUMENT", "INVALID_COUNT", "without an end"),
        (
            "long",
            "RESOURCE_EXHAUSTED",
            "BODY_TOO_LARGE",
            "server.http.max_body",
        ),
        (
            "compressed",
            "UNIMPLEMENTED",
            "UNSUPPORTED_MEDIA_TYPE",
            "compressed",
        ),
        ("health", "NOT_FOUND", "NOT_FOUND", "nobody"),
        (
            "method",
            "UNIMPLEMENTED",
            "UNKNOWN_COMMAND",
            "/mintage.v1.Mint/No",
        ),
    ] {
        let found = &said["refusals"][what];
        assert_eq!((&found[0], &found[1]), (&json!(status), &json!(reason)), "{what}");
        assert!(found[2].as_str().unwrap().contains(says), "{what}: {found}");
    }
    let metrics = server.http("GET", "/metrics", "").text();
    let counted = metrics
        .lines()
        .find(|line| line.starts_with("mint_requests_total{face=\"grpc\"}"));
    let count: u64 = counted.unwrap().rsplit(' ').next().unwrap().parse().unwrap();
    assert!(count > 40, "{count}");
}

#[test]
#[ignore = "deep: a second stock client"]
fn a_client_with_the_proto_file_calls_it_in_clear_and_over_tls() {
    let (Some(modules), Some(certificates)) = (need::grpc_js(), Certificates::make()) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("mint.toml"), tls(&certificates)).unwrap();
    let mut first = 1;
    for listen in ["127.0.0.1:0", "tls:127.0.0.1:0"] {
        let server = Start::in_folder(folder.path()).args(["--grpc", listen]).ready();
        let own = own_port(&server);
        let address = own.as_str();
        let mut command = Command::new("node");
        command
            .env("NODE_PATH", &modules)
            .arg(binary::root().join("e2e/clients/grpc_client.cjs"))
            .arg(address.trim_start_matches("tls:"))
            .arg(binary::root().join("proto/mintage/v1/mint.proto"));
        if address.starts_with("tls:") {
            command.arg(certificates.authority());
        }
        let said = says(command);
        assert_eq!(said["next"].as_array().unwrap().len(), 3, "{said}");
        assert_eq!(
            (&said["many"], &said["blocks"], &said["uuids"]),
            (&json!(200), &json!(2500), &json!(48))
        );
        assert_eq!(said["created"], "9007199254740993");
        assert_eq!(said["refused"][0], 5, "{said}");
        let next: i64 = said["next"][0].as_str().unwrap().parse().unwrap();
        invariant!(next >= first, "{next} after {}: {said}", first - 1);
        first = next + 2703;
        assert_eq!(server.stop(), 0);
    }
}

// claim: P70
#[test]
fn tokens_are_good_for_their_names_and_faces_and_rates_hold() {
    let Some(python) = need::grpcio() else { return };
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let (orders, elsewhere) = (
        new_token(at, "orders --may allocate:orders,read:orders"),
        new_token(at, "elsewhere --may allocate --faces resp"),
    );
    let limits =
        "[auth]\ntoken_file = \"tokens.toml\"\n[server.limits]\nrequests_per_second = 5\nburst = \"4s\"\n";
    fs::write(at.join("mint.toml"), limits).unwrap();
    let server = Start::in_folder(at).ready();
    let address = server.http.to_string();
    let said = says(grpcio(&python, &["rights", &address, "", &orders]));
    let allowed = json!([
        ["OK", ""],
        ["PERMISSION_DENIED", "FORBIDDEN"],
        ["PERMISSION_DENIED", "FORBIDDEN"],
        ["orders"]
    ]);
    assert_eq!(said, allowed);
    let wrong = |token: &str| says(grpcio(&python, &["wrong", &address, "", token]));
    assert_eq!(wrong("")[1], "UNAUTHENTICATED");
    assert_eq!(wrong("guessed")[1], "WRONG_TOKEN");
    assert_eq!(
        wrong(&elsewhere).as_array().unwrap()[..2],
        [json!("PERMISSION_DENIED"), json!("FORBIDDEN")]
    );
    let greedy = says(grpcio(&python, &["greedy", &address, "", &orders]));
    assert_eq!(greedy[0], json!(["", "RATE_LIMITED"]));
    assert_eq!(
        greedy[1].as_array().unwrap()[..2],
        [json!("RESOURCE_EXHAUSTED"), json!("RATE_LIMITED")]
    );
    assert!(!server.log().contains(&orders) && !server.log().contains("guessed"));
}

#[test]
fn a_port_of_its_own_speaks_nothing_else_and_off_is_off() {
    let (Some(python), true) = (need::grpcio(), need::curl()) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let server = Start::in_folder(folder.path())
        .args(["--grpc", "127.0.0.1:0"])
        .ready();
    let own = own_port(&server);
    assert_eq!(says(grpcio(&python, &["one", &own])), json!([1]));
    let refused = says(grpcio(&python, &["wrong", &server.http.to_string()]));
    assert_ne!(refused[0], "OK", "{refused}");
    for version in ["--http1.1", "--http2-prior-knowledge"] {
        let mut curl = Command::new("curl");
        curl.args(["-q", "-sSi", version, "--max-time", "10", "-X", "POST"])
            .arg(format!("http://{own}/v1/sequences/orders/next"));
        let said = Said::from(curl.output().unwrap()).ok();
        assert!(
            said.contains(" 415") && said.contains("gRPC alone"),
            "{version}: {said}"
        );
    }
    assert_eq!(says(grpcio(&python, &["one", &own])), json!([2]));
}

#[test]
fn http_2_answers_what_http_1_does_in_clear_and_where_tls_agrees_on_it() {
    let (true, Some(certificates)) = (need::curl(), Certificates::make()) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("mint.toml"), tls(&certificates)).unwrap();
    let mut next = 1;
    for listen in ["127.0.0.1:0", "tls:127.0.0.1:0"] {
        let args = format!("--http {listen} --resp 127.0.0.1:0");
        let server = Start::bare(folder.path(), &args).ready();
        let address = server.ready["http"].as_str().unwrap();
        let (scheme, plain) = match address.strip_prefix("tls:") {
            Some(plain) => ("https", plain),
            None => ("http", address),
        };
        let versions = [
            ("--http1.1", "HTTP/1.1"),
            ("--http2-prior-knowledge", "HTTP/2"),
            ("--http2", "HTTP/2"),
        ];
        for (version, said) in versions {
            // In clear nobody is asked to change the protocol.
            if (scheme, version) == ("http", "--http2") {
                continue;
            }
            let ask = |method: &str, path: &str| {
                let mut curl = Command::new("curl");
                curl.args([
                    "-q",
                    "-sSi",
                    version,
                    "--max-time",
                    "10",
                    "-X",
                    method,
                    "--cacert",
                ])
                .arg(certificates.authority())
                .arg(format!("{scheme}://{plain}{path}"));
                Said::from(curl.output().unwrap()).ok()
            };
            let got = [
                ask("POST", "/v1/sequences/orders/next"),
                ask("POST", "/v1/sequences/orders/next?count=2"),
                ask("POST", "/v1/sequences/n%00/next"),
                ask("GET", "/livez"),
            ]
            .concat();
            assert_eq!(
                got.matches(&format!("{said} 200")).count(),
                3,
                "{version} {address}: {got}"
            );
            assert_eq!(
                got.matches(&format!("{said} 400")).count(),
                1,
                "{version} {address}: {got}"
            );
            assert!(
                got.contains(&format!("{{\"ids\":[\"{next}\"]}}")),
                "{version} {address}: {got}"
            );
            assert!(
                got.contains("\"code\":\"invalid_name\"") && got.contains("{\"live\":true}"),
                "{got}"
            );
            next += 3;
        }
        assert_eq!(server.stop(), 0);
    }
}

/// Reads blocks as they are printed, and what comes behind them.
fn blocks(python: &Path, server: &Server) -> (std::process::Child, BufReader<std::process::ChildStdout>) {
    let mut child = grpcio(python, &["stream", &server.http.to_string()])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let out = BufReader::new(child.stdout.take().unwrap());
    (child, out)
}

fn note(line: &str, seen: &mut Distinct<i64>) {
    let (first, count) = line.trim().split_once(' ').unwrap();
    let (first, count): (i64, i64) = (first.parse().unwrap(), count.parse().unwrap());
    seen.extend(first..first + count);
}

// claim: P2
#[test]
fn a_stream_ends_with_the_server_and_no_number_comes_again_after_a_kill() {
    let Some(python) = need::grpcio() else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut seen = Distinct::of("numbers");
    for round in 0..4 {
        let mut server = Start::in_folder(folder.path()).ready();
        let (mut child, mut out) = blocks(&python, &server);
        let mut line = String::new();
        for _ in 0..200 {
            line.clear();
            out.read_line(&mut line).unwrap();
            note(&line, &mut seen);
        }
        let gently = round % 2 == 0;
        if gently {
            server.terminate();
        } else {
            server.kill();
            server = Start::in_folder(folder.path()).ready();
        }
        let mut rest = String::new();
        out.read_to_string(&mut rest).unwrap();
        let (numbers, end) = rest.trim_end().rsplit_once('\n').unwrap_or(("", rest.trim_end()));
        for line in numbers.lines() {
            note(line, &mut seen);
        }
        let end: Value = serde_json::from_str(end).unwrap();
        assert_eq!(end[0], "UNAVAILABLE", "{end}");
        if gently {
            assert_eq!((&end[1], server.wait()), (&json!("UNAVAILABLE"), 0));
        }
        child.wait().unwrap();
    }
    assert!(seen.len() >= 8000, "{}", seen.len());
}

#[test]
fn whoever_leaves_a_stream_unread_loses_that_stream_alone() {
    let Some(python) = need::grpcio() else { return };
    let folder = tempfile::tempdir().unwrap();
    fs::write(
        folder.path().join("mint.toml"),
        "[server]\nwrite_timeout = \"1s\"\n",
    )
    .unwrap();
    let server = Start::in_folder(folder.path()).ready();
    let said = says(grpcio(&python, &["stalled", &server.http.to_string()]));
    assert_eq!(said[0].as_array().unwrap().len(), 40, "{said}");
    assert_eq!(said[1], "CANCELLED", "{said}");
    let metrics = server.http("GET", "/metrics", "").text();
    assert!(
        metrics.contains("mint_refused_total{code=\"slow_reader\"} 1"),
        "{metrics}"
    );
}

/// Sends it all, and reads until the server ends the connection or has nothing more to say.
fn send(to: SocketAddr, bytes: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(to).unwrap();
    stream
        .set_read_timeout(Some(std::time::Duration::from_secs(30)))
        .unwrap();
    let mut reading = stream.try_clone().unwrap();
    let reader = std::thread::spawn(move || {
        let mut said = Vec::new();
        let _ = reading.read_to_end(&mut said);
        said
    });
    // Whoever is not read any more may not write either.
    let _ = stream.write_all(bytes);
    let _ = stream.shutdown(Shutdown::Write);
    reader.join().unwrap()
}

#[test]
fn hostile_frames_end_their_connection_and_cost_nobody_else_anything() {
    let folder = tempfile::tempdir().unwrap();
    let server = Start::in_folder(folder.path()).ready();
    let begun = [PREFACE, &frame(SETTINGS, 0, 0, &[])].concat();
    let streams = |count: u32, make: &dyn Fn(u32) -> Vec<u8>| -> Vec<u8> {
        let mut bytes = begun.clone();
        for stream in 0..count {
            bytes.extend(make(stream * 2 + 1));
        }
        bytes
    };
    let hostile: Vec<(&str, Vec<u8>)> = vec![
        (
            "streams that are taken back",
            streams(20_000, &|id| {
                [
                    frame(HEADERS, END_HEADERS, id, POST),
                    frame(RESET, 0, id, &[0, 0, 0, 8]),
                ]
                .concat()
            }),
        ),
        (
            "more streams than may be open",
            streams(5_000, &|id| frame(HEADERS, END_HEADERS, id, POST)),
        ),
        ("a head without an end", {
            let mut bytes = streams(1, &|id| frame(HEADERS, 0, id, POST));
            for _ in 0..20_000 {
                // A header of 100 bytes that no table holds.
                let header = [&[0x00, 0x01, b'a', 100][..], &[b'b'; 100]].concat();
                bytes.extend(frame(CONTINUATION, 0, 1, &header));
            }
            bytes
        }),
        (
            "settings without an end",
            begun
                .iter()
                .copied()
                .chain(frame(SETTINGS, 0, 0, &[]).repeat(100_000))
                .collect(),
        ),
        (
            "a frame that is too long",
            [&begun[..], &[0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 1]].concat(),
        ),
        (
            "a stream of the server's",
            streams(1, &|_| frame(HEADERS, END_HEADERS | END_STREAM, 2, POST)),
        ),
        ("no settings", [PREFACE, &[b'x'; 9000]].concat()),
        ("half a preface", PREFACE[..18].to_vec()),
        (
            "a preface behind a request",
            [b"GET /livez HTTP/1.1\r\nhost: localhost\r\n\r\n", PREFACE].concat(),
        ),
    ];
    for (what, bytes) in hostile {
        let before = memory(&server);
        for _ in 0..3 {
            send(server.http, &bytes);
        }
        let grown = memory(&server).saturating_sub(before);
        invariant!(grown < 32 << 20, "{what}: {grown} bytes more");
        let answer = server.http("POST", "/v1/sequences/orders/next", "");
        assert_eq!(answer.status, 200, "{what}");
    }
    // What is not whole is not left standing.
    let open = server.http("GET", "/metrics", "").text();
    assert!(open.contains("mint_connections{face=\"http\"} 1"), "{open}");
}

/// What the server holds, in bytes.
fn memory(server: &Server) -> u64 {
    let status = fs::read_to_string(PathBuf::from(format!("/proc/{}/status", server.pid()))).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    let kib: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    kib * 1024
}
