//! What clients see while the store fails, and when it is back.

use std::time::Duration;

use mintage_server::auth::Right;
use mintage_testing::{distinct, invariant, rising};

use crate::common::{Server, token};

#[test]
fn while_the_store_is_down_new_names_are_told_when_to_retry_and_known_ones_go_on() {
    let (server, store) = Server::faulty();
    let (mut resp, mut http) = (server.resp(), server.http());
    // Enough asks in a row to have numbers in stock.
    resp.send("INCR known\r\n".repeat(100));
    let mut last = 0;
    for _ in 0..100 {
        last = resp.line()[1..].parse::<i64>().unwrap();
    }
    store.fail_all(true);

    resp.send("INCR new\r\nPING\r\n");
    let line = resp.line();
    assert!(
        line.starts_with("-TRYAGAIN mint: ") && line.contains(", retry in 1 s"),
        "{line}"
    );
    resp.expect("+PONG\r\n");

    let answer = http.ask("POST", "/v1/sequences/new/next");
    assert_eq!(
        (answer.status, answer.header("retry-after")),
        (503, Some("1")),
        "{}",
        answer.text()
    );
    assert_eq!(
        (&answer.json()["code"], &answer.json()["retry_after"]),
        (&"unavailable".into(), &1.into())
    );
    for target in ["/v1/sequences/new", "/v1/sequences"] {
        assert_eq!(http.ask("GET", target).status, 503, "{target}");
    }
    assert_eq!(http.ask_with("PUT", "/v1/sequences/new", &[], "{}").status, 503);
    for request in [
        "GET new",
        "EXISTS new",
        "TYPE new",
        "MGET known new",
        "KEYS *",
        "SCAN 0",
        "SET new 5",
        "DEL new",
        "MINT.SHOW new",
    ] {
        let line = resp.send(format!("{request}\r\n")).line();
        assert!(line.starts_with("-TRYAGAIN mint: "), "{request}: {line}");
    }
    assert_eq!(http.ask("GET", "/livez").status, 200);
    assert_eq!(http.ask("POST", "/v1/ids/uuid").status, 200);

    store.fail_all(false);
    // Every claim of unknown outcome is spent; what comes is new.
    loop {
        let line = resp.send("INCR known\r\n").line();
        if let Some(number) = line.strip_prefix(':') {
            let number: i64 = number.parse().unwrap();
            invariant!(number > last, "{number} after {last}");
            break;
        }
    }
    assert!(
        http.ask("GET", "/metrics")
            .text()
            .contains("mint_refused_total{code=\"unavailable\"} ")
    );
}

/// A node that could reserve nothing said that it was ready, since its store could be read.
#[test]
fn who_cannot_reserve_is_not_ready_until_a_reservation_has_succeeded() {
    let (server, store) = Server::faulty();
    let (mut resp, mut http) = (server.resp(), server.http());
    assert_eq!(http.ask("GET", "/readyz").status, 200);
    store.fail_writes(true);
    let line = resp.send("INCR new\r\n").line();
    assert!(line.starts_with("-TRYAGAIN mint: "), "{line}");
    for _ in 0..20 {
        // Reading goes on, and says nothing about room.
        resp.send("EXISTS other\r\n").expect(":0\r\n");
        let unready = http.ask("GET", "/readyz");
        assert_eq!(unready.status, 503, "{}", unready.text());
        assert!(
            unready.text().contains("nothing can be reserved for"),
            "{}",
            unready.text()
        );
    }
    store.fail_writes(false);
    // Nobody asks for a number: it finds out by itself.
    while http.ask("GET", "/readyz").status != 200 {}
    assert_eq!(
        http.ask("GET", "/v1/sequences").json()["sequences"],
        serde_json::json!([])
    );
}

#[test]
fn a_frozen_store_goes_unnoticed_until_stock_ends_and_readyz_says_how_long() {
    let (server, store) = Server::shared();
    let (mut resp, mut http) = (server.resp(), server.http());
    resp.send("INCR idle\r\n").expect(":1\r\n");
    // Enough asks in a row to have some in stock.
    resp.send("INCR known\r\n".repeat(300));
    let mut numbers = Vec::new();
    for _ in 0..300 {
        numbers.push(resp.line()[1..].parse::<i64>().unwrap());
    }
    let healthy = http.ask("GET", "/readyz").json();
    assert_eq!(
        (&healthy["ready"], &healthy["store"]["up"]),
        (&true.into(), &true.into())
    );
    assert_eq!(
        healthy["notes"],
        serde_json::json!(["no state folder: the outage budget of a sequence is limited by its max_gap"])
    );
    store.freeze(true);
    // A new name finds out; what is in stock does not wait for it.
    let line = resp.send("INCR new\r\n").line();
    assert!(
        line.starts_with("-TRYAGAIN mint: ") && line.contains(", retry in 1 s"),
        "{line}"
    );
    let mut degraded = http.ask("GET", "/readyz");
    while degraded.json()["store"]["up"] == true {
        degraded = http.ask("GET", "/readyz");
    }
    let document = degraded.json();
    assert_eq!(
        (degraded.status, &document["ready"]),
        (200, &true.into()),
        "{document}"
    );
    let note = document["notes"][0].as_str().unwrap();
    assert!(
        note.starts_with("store down for ") && note.contains(", budget left "),
        "{note}"
    );
    assert_eq!(document["store"]["first_to_end"]["kind"], "sequence");
    let metrics = http.ask("GET", "/metrics").text();
    assert!(metrics.contains("mint_store_up 0\n"), "{metrics}");
    for name in ["mint_stock_seconds{name=\"known\"} ", "mint_budget_left_seconds "] {
        assert!(metrics.contains(name), "{name}: {metrics}");
    }
    let refusal = loop {
        let line = resp.send("INCR known\r\n").line();
        match line.strip_prefix(':') {
            Some(number) => numbers.push(number.parse().unwrap()),
            None => break line,
        }
    };
    assert!(
        refusal.starts_with("-TRYAGAIN mint: ") && refusal.contains(", retry in 1 s"),
        "{refusal}"
    );
    let answer = http.ask("POST", "/v1/sequences/known/next");
    assert_eq!((answer.status, answer.header("retry-after")), (503, Some("1")));
    // One that has run out does not take the server away from those that go on.
    let one = http.ask("GET", "/readyz?for=known");
    assert_eq!(one.status, 503, "{}", one.text());
    check_run_out(&one.json(), "known");
    let others = http.ask("GET", "/readyz");
    assert_eq!(others.status, 200, "{}", others.text());
    let listed = &others.json()["sequences"]["not_ready"];
    assert_eq!(listed[0]["name"], "known", "{listed}");
    assert_eq!(http.ask("GET", "/readyz?for=idle").status, 200);
    // Nothing is left to give out.
    while resp.send("INCR idle\r\n").line().starts_with(':') {}
    let unready = http.ask("GET", "/readyz");
    assert_eq!(unready.status, 503, "{}", unready.text());
    assert_eq!(http.ask("GET", "/readyz?for=sequences").status, 503);
    check_run_out(&unready.json(), "");
    assert_eq!(http.ask("GET", "/livez").status, 200);
    store.freeze(false);
    // By itself.
    loop {
        let line = resp.send("INCR known\r\n").line();
        if let Some(number) = line.strip_prefix(':') {
            numbers.push(number.parse().unwrap());
            break;
        }
    }
    while http.ask("GET", "/readyz").status != 200 {}
    distinct("numbers", numbers);
}

/// Probes show no token: they were told which sequences there are.
#[test]
fn who_may_not_read_a_name_is_not_told_it_by_readyz() {
    let (server, store) = Server::faulty_with(|config| {
        let mut narrow = token("narrow", "narrow", &[]);
        narrow.may = vec!["read:mine.*".parse().unwrap(), "admin".parse().unwrap()];
        let all = [Right::Read, Right::Allocate];
        config.tokens = vec![token("eye", "eye", &all), narrow];
        config.wrong_token_delay = Duration::ZERO;
    });
    let mut resp = server.resp();
    resp.send("AUTH eye\r\n").expect("+OK\r\n");
    for name in ["secret.acme", "mine.a"] {
        resp.send(format!("INCR {name}\r\n")).expect(":1\r\n");
    }
    store.fail_all(true);
    for name in ["secret.acme", "mine.a"] {
        while resp.send(format!("INCR {name}\r\n")).line().starts_with(':') {}
    }
    let ask = |target: &str, who: &str| {
        let bearer = format!("Bearer {who}");
        let headers: &[_] = match who {
            "" => &[],
            _ => &[("authorization", bearer.as_str())],
        };
        server.http().ask_with("GET", target, headers, "")
    };
    // It is seen within a second.
    while !ask("/readyz", "eye").text().contains("secret.acme") {}
    while !ask("/readyz?for=sequences", "eye").text().contains("mine.a") {}
    for target in ["/readyz", "/readyz?for=sequences", "/readyz?for=pools"] {
        let all = ask(target, "eye");
        for who in ["", "wrong", "narrow"] {
            let answer = ask(target, who);
            let text = answer.text();
            assert_eq!(answer.status, all.status, "{target}");
            assert!(!text.contains("secret"), "{target} {who}: {text}");
            assert!(
                who == "narrow" || !text.contains("mine"),
                "{target} {who}: {text}"
            );
            let count = |answer: &crate::common::Answer| {
                let document = answer.json();
                let listed = [&document["not_ready"], &document["sequences"]["not_ready"]];
                listed.map(|list| list.as_array().map(Vec::len))
            };
            assert_eq!(count(&answer), count(&all), "{target} {who}: {text}");
        }
    }
    assert!(ask("/readyz?for=sequences", "narrow").text().contains("mine.a"));
    for who in ["", "narrow"] {
        let answer = ask("/readyz?for=secret.acme", who);
        assert!(matches!(answer.status, 401 | 403), "{}", answer.text());
    }
    let info = |who: &str| {
        let mut resp = server.resp();
        resp.send(format!("AUTH {who}\r\nINFO mint\r\nECHO end\r\n"));
        let mut text = String::new();
        while !text.ends_with("end\n") {
            text.push_str(&format!("{}\n", resp.line()));
        }
        text
    };
    let text = info("narrow");
    assert!(
        !text.contains("secret") && !text.contains("sequence mine"),
        "{text}"
    );
}

#[test]
fn a_pipeline_that_loses_its_store_gets_an_answer_for_every_request() {
    let (server, store) = Server::faulty();
    let mut client = server.resp();
    client.send("INCR k\r\n").expect(":1\r\n");
    store.fail_all(true);
    client.send("INCR k\r\n".repeat(500)).send("PING\r\n");
    let (mut numbers, mut refused) = (Vec::new(), 0);
    loop {
        let line = client.line();
        match line.strip_prefix(':') {
            Some(number) => numbers.push(number.parse::<i64>().unwrap()),
            None if line == "+PONG" => break,
            None => refused += 1,
        }
    }
    assert_eq!(numbers.len() + refused, 500);
    assert!(refused > 0);
    rising("numbers", std::iter::once(1).chain(numbers));
}

#[track_caller]
fn check_run_out(document: &serde_json::Value, name: &str) {
    let reason = document["reasons"][0].as_str().unwrap();
    assert!(
        reason.starts_with("store down for ")
            && reason.contains(&format!("and sequence {name}"))
            && reason.ends_with(" has run out"),
        "{reason}"
    );
}
