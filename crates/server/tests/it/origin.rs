//! A sequence whose numbers come out of a counter elsewhere, as clients, probes and metrics see it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mintage_ledger::source::{Fate, FaultySource, MemorySource, MoveId, Source};
use mintage_ledger::{Key, Origin, Passage, PassageIs, Runtime, Value};

use crate::common::{Client, Server};

/// What a move leaves in the store: the numbers of `name` are those of the counter `c` of a source.
fn record(runtime: &dyn Runtime, name: &str, source: &str) -> (Key, Value) {
    let origin = Origin {
        source: source.into(),
        kind: "memory".into(),
        key: "c".into(),
        table: None,
        take: None,
    };
    let passage = Passage {
        id: MoveId::fresh(runtime),
        step: 1,
        is: PassageIs::Beside(origin),
    };
    let body = serde_json::json!({
        "start": 1, "increment": 1, "min": 1, "max": i64::MAX, "cycle": false, "gap": "bounded", "max_gap": 1000,
        "base": {"value": 1, "is_called": false, "ordinal": 0}, "generation": 2, "incarnation": 1,
        "passage": passage,
    });
    let value = Value {
        mark: 0,
        token: 1,
        body: body.to_string(),
    };
    (Key::new(format!("seq/{name}")).unwrap(), value)
}

/// A server that knows the source `shop`, and the way to break that.
fn start() -> (Server, Arc<MemorySource>, Arc<FaultySource>) {
    let memory = MemorySource::new();
    memory.put("c", 5000);
    let (of_server, (tell, told)) = (memory.clone(), std::sync::mpsc::channel());
    let server = Server::with_origins(move |runtime| {
        let records = [("orders", "shop"), ("nowhere", "mail")];
        let records = records.map(|(name, source)| record(&*runtime, name, source));
        let source = FaultySource::new(of_server, runtime);
        tell.send(source.clone()).unwrap();
        let all: BTreeMap<String, Arc<dyn Source>> = [("shop".to_string(), source as _)].into();
        (Arc::new(all), records.into())
    });
    (server, memory, told.recv().unwrap())
}

fn metric(client: &mut Client, sample: &str) -> f64 {
    let text = client.ask("GET", "/metrics").text();
    let line = text.lines().find(|line| line.starts_with(sample));
    let line = line.unwrap_or_else(|| panic!("{text} lacks {sample}"));
    line.rsplit_once(' ').unwrap().1.parse().unwrap()
}

/// Asks until it is so, for a minute.
fn wait_until(what: &str, mut is: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is() {
        assert!(begun.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn an_origins_outage_is_told_with_when_to_come_back_and_ends_by_itself() {
    let (server, memory, source) = start();
    let mut client = server.http();
    let answer = client.ask("POST", "/v1/sequences/orders/next");
    assert_eq!(
        (answer.status, answer.text().as_str()),
        (200, "{\"ids\":[\"5000\"]}\n")
    );
    assert_eq!(metric(&mut client, "mint_origin_up{source=\"shop\"}"), 1.0);
    assert!(memory.next("c") > Some(5000));
    source.set_fate(Fate {
        is_lost: true,
        ..Fate::default()
    });
    let used = client.ask("POST", "/v1/sequences/orders/next?count=10000&as=range");
    assert_eq!(used.status, 400, "{}", used.text());
    let mut refused = None;
    wait_until("the stock ends", || {
        let answer = client.ask("POST", "/v1/sequences/orders/next?count=100");
        let is_refused = answer.status != 200;
        refused = Some(answer);
        is_refused
    });
    let refused = refused.unwrap();
    assert_eq!(refused.status, 503, "{}", refused.text());
    let after: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=6).contains(&after), "{after}");
    assert!(refused.text().contains("c in source shop"), "{}", refused.text());
    wait_until("the metric", || {
        metric(&mut client, "mint_origin_up{source=\"shop\"}") == 0.0
    });
    assert!(metric(&mut client, "mint_origin_failed_total{source=\"shop\"}") > 0.0);
    assert!(metric(&mut client, "mint_origin_take_seconds_count{source=\"shop\"}") > 1.0);
    wait_until("/readyz", || {
        let ready = client.ask("GET", "/readyz");
        assert_eq!(ready.status, 200, "everything else goes on");
        ready.text().contains("source shop down for")
    });
    assert_eq!(client.ask("GET", "/readyz?for=orders").status, 503);
    assert_eq!(client.ask("POST", "/v1/sequences/other/next").status, 200);
    source.set_fate(Fate::default());
    wait_until("it is back", || {
        client.ask("POST", "/v1/sequences/orders/next").status == 200
    });
    wait_until("the metric", || {
        metric(&mut client, "mint_origin_up{source=\"shop\"}") == 1.0
    });
    assert_eq!(client.ask("GET", "/readyz?for=orders").status, 200);
}

#[test]
fn a_source_that_this_server_was_not_told_of_is_refused_by_the_name_of_the_setting() {
    let (server, ..) = start();
    let mut client = server.http();
    let answer = client.ask("POST", "/v1/sequences/nowhere/next");
    assert_eq!(answer.status, 503, "{}", answer.text());
    assert_eq!(answer.json()["code"], "unavailable");
    assert_eq!(answer.header("retry-after"), Some("5"));
    let text = answer.text();
    assert!(text.contains("this process knows no source"), "{text}");
    assert!(text.contains("[sources.mail]"), "{text}");
    let mut redis = server.resp();
    redis.send(b"*2\r\n$4\r\nINCR\r\n$7\r\nnowhere\r\n");
    let line = redis.line();
    assert!(
        line.starts_with("-TRYAGAIN") && line.contains("no source"),
        "{line}"
    );
    assert_eq!(client.ask("POST", "/v1/sequences/other/next").status, 200);
}
