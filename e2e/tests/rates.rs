//! Rates: what one token, or one address, may ask for in a second, with stock clients. Bursts are counted, not timed: what is
//! over the burst of an hour's rate is refused whenever it comes.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;
use std::process::Command;

use mintage_e2e::need;
use mintage_e2e::run::{self, Said, curl_as, mint_as, new_token};
use mintage_e2e::server::{Server, Start};

/// What a request is answered, with its head.
fn post(folder: &Path, server: &Server, token: &str, path: &str) -> String {
    let words = format!("-i -X POST http://{}{path}", server.http);
    curl_as(folder, token, &words).ok()
}

fn redis(server: &Server, token: &str, words: &str) -> String {
    let mut command = Command::new("redis-cli");
    command
        .args(["-p", &server.resp.port().to_string()])
        .args(words.split(' '));
    if !token.is_empty() {
        command.env("REDISCLI_AUTH", token);
    }
    Said::from(command.output().unwrap()).out.trim().to_string()
}

#[test]
fn whoever_asks_for_too_much_is_refused_and_others_are_not() {
    if !(need::curl() && need::redis()) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let (greedy, modest, large) = (
        new_token(at, "greedy --may allocate,read"),
        new_token(at, "modest"),
        new_token(at, "large"),
    );
    let file = at.join("tokens.toml");
    let text = fs::read_to_string(&file).unwrap();
    let text = text.replace(
        "name = \"large\"",
        "name = \"large\", requests_per_second = 1000, ids_per_second = 1000000",
    );
    fs::write(&file, text).unwrap();
    let limits = "[auth]\ntoken_file = \"tokens.toml\"\n[server.limits]\nrequests_per_second = 1\nids_per_second = 100\nburst = \"5s\"\n";
    let faces =
        "[faces.leaf]\nlisten = \"main\"\ncreate = true\n[faces.tinyid]\nlisten = \"main\"\ncreate = true\n";
    fs::write(at.join("mint.toml"), format!("{limits}{faces}")).unwrap();
    let server = Start::in_folder(at).ready();
    let path = "/v1/sequences/orders/next";
    let answers: Vec<String> = (0..20).map(|_| post(at, &server, &greedy, path)).collect();
    let good = answers
        .iter()
        .filter(|answer| answer.starts_with("HTTP/1.1 200"))
        .count();
    assert!(
        (5..20).contains(&good),
        "{good} of 20 at 1 a second with a burst of 5"
    );
    let refused = answers
        .iter()
        .find(|answer| answer.starts_with("HTTP/1.1 429"))
        .expect("some are refused");
    let check_headers = |refused: &str| {
        for told in [
            "\nretry-after: ",
            "\nratelimit: \"requests\";r=0;t=",
            "\nratelimit-policy: \"requests\";q=5;w=5",
        ] {
            assert!(refused.to_lowercase().contains(told), "{told:?}: {refused}");
        }
    };
    check_headers(refused);
    for told in [
        "\"code\":\"rate_limited\"",
        "more than 1 requests a second were asked for",
    ] {
        assert!(refused.contains(told), "{told:?}: {refused}");
    }
    // The faces of other systems have another body and the same headers.
    let words = format!("-i http://{}/api/segment/get/orders", server.http);
    let answers: Vec<String> = (0..10).map(|_| curl_as(at, &greedy, &words).ok()).collect();
    let limited = |answer: &&String| answer.to_lowercase().contains("\nratelimit: ");
    check_headers(answers.iter().find(limited).expect("some are refused"));
    // tinyid's clients show their tokens in a place of their own.
    let words = format!(
        "-i http://{}/tinyid/id/nextIdSimple?bizType=orders&token={greedy}",
        server.http
    );
    let answers: Vec<String> = (0..10).map(|_| run::curl(at, &words).ok()).collect();
    check_headers(answers.iter().find(limited).expect("some are refused"));
    // On the other face it is the same client, and other clients are others.
    let said: Vec<String> = (0..10).map(|_| redis(&server, &greedy, "INCR orders")).collect();
    assert!(
        said.iter()
            .any(|said| said.starts_with("ERR mint: more than 1 requests a second")),
        "{said:?}"
    );
    assert!(post(at, &server, &modest, path).starts_with("HTTP/1.1 200"));
    for _ in 0..20 {
        assert!(post(at, &server, &large, path).starts_with("HTTP/1.1 200"));
    }
    // Ids: one request may exceed them, the next one waits.
    assert!(post(at, &server, &modest, &format!("{path}?count=5000")).starts_with("HTTP/1.1 200"));
    let said = redis(&server, &modest, "INCR orders");
    assert!(
        said.contains("more than 100 ids a second were asked for, retry in"),
        "{said}"
    );
    // A pipeline is no way round.
    let piped = Command::new("sh")
        .args([
            "-c",
            "for i in $(seq 200); do echo 'INCR orders'; done | redis-cli -p $0",
        ])
        .arg(server.resp.port().to_string())
        .env("REDISCLI_AUTH", &greedy)
        .output();
    let piped = Said::from(piped.unwrap()).out;
    let refused = piped
        .lines()
        .filter(|line| line.contains("more than 1 requests"))
        .count();
    assert!(refused > 150, "{refused} of 200");
    let said = mint_as(at, &large, &format!("status --json --server {}", server.url()));
    let status: serde_json::Value = serde_json::from_str(&said.out).unwrap();
    assert!(status["refused"].as_u64().unwrap() > 150, "{status}");
}

/// Without tokens an address is a client; health is always answered.
#[test]
fn an_address_without_a_token_is_limited_and_health_is_not() {
    if !need::curl() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    fs::write(
        at.join("mint.toml"),
        "[server.limits]\nrequests_per_second = 1\nburst = \"2s\"\n",
    )
    .unwrap();
    let server = Start::in_folder(at).ready();
    let answers: Vec<String> = (0..20)
        .map(|_| post(at, &server, "", "/v1/sequences/orders/next"))
        .collect();
    assert!(answers.iter().any(|answer| answer.starts_with("HTTP/1.1 429")));
    for _ in 0..20 {
        assert_eq!(server.http("GET", "/livez", "").status, 200);
    }
    for (text, why) in [
        ("requests_per_second = 0", "out of range: 1 to"),
        ("burst = \"2h\"", "out of range: 0ms to 1h"),
    ] {
        fs::write(at.join("mint.toml"), format!("[server.limits]\n{text}\n")).unwrap();
        let said = run::mint(at, ["config", "check"]);
        assert!(said.code == 2 && said.err.contains(why), "{text}: {said:?}");
    }
}
