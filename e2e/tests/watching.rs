//! How a server is: what `mint status`, `/readyz` and `/metrics` say of it.
#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;

use mintage_e2e::cluster::eventually;
use mintage_e2e::engine::redis::Redis;
use mintage_e2e::run;
use mintage_e2e::server::{Server, Start};
use mintage_e2e::store_suite::Engine;
use mintage_testing::rising;
use serde_json::Value;

fn get(server: &Server, path: &str) -> (u16, Value) {
    let answer = server.http("GET", path, "");
    (answer.status, answer.json())
}

#[test]
fn status_is_for_people_for_scripts_and_for_health_checks() {
    let folder = tempfile::tempdir().unwrap();
    let server = Start::in_folder(folder.path()).ready();
    server.redis().ask(&["INCR", "orders"]).unwrap();
    let url = server.url();
    let status = |more: &[&str]| run::mint(folder.path(), [&["status", "--server", &url], more].concat());
    let said = status(&[]);
    assert_eq!((said.code, said.err.as_str()), (0, ""), "{said:?}");
    assert!(
        said.out.starts_with(&format!("{url} is ready, version ")),
        "{said:?}"
    );
    for line in [
        "  sequences     ready\n",
        "  store         up, class D\n",
        "  names         1\n",
    ] {
        assert!(said.out.contains(line), "{said:?}");
    }
    let document: Value = serde_json::from_str(&status(&["--json"]).ok()).unwrap();
    assert_eq!(
        (&document["ready"], &document["store"]["up"]),
        (&true.into(), &true.into())
    );
    assert_eq!(
        (&document["ids"], &document["store_class"]),
        (&1.into(), &"D".into())
    );
    assert_eq!(status(&["--for", "orders"]).code, 0);
    let unknown = status(&["--for", "nobody"]);
    unknown.fails(1, "there is no sequence and no pool nobody", "");
    // A health check: not ready and not there are both 1.
    let mut watched = run::command(["status", "--server", &url, "--watch", "--json"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(watched.stdout.take().unwrap()).lines();
    let ready: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
    assert_eq!(ready["ready"], true);
    assert_eq!(server.stop(), 0);
    let gone = lines.map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
    // While it stops it may say so itself.
    let mut gone = gone.filter(|document| document["ready"] == false).take(60);
    let cannot = |document: Value| {
        let reason = document["reasons"][0].as_str().unwrap();
        reason.contains("cannot reach the server")
    };
    assert!(gone.any(cannot), "never out of reach");
    watched.kill().unwrap();
    watched.wait().unwrap();
    status(&[]).fails(1, "cannot reach the server", "mint serve");
}

/// One pool whose window had ended made every server of a cluster unready, while sequences went on.
#[test]
fn what_has_run_out_does_not_take_away_what_goes_on() {
    let Some(mut engine) = Redis::run() else { return };
    let folder = tempfile::tempdir().unwrap();
    let url = engine.url(engine.address());
    run::patient_mint(folder.path(), ["init", "--store", &url]).ok();
    // Windows of a second: they end soon.
    let server = Start::in_folder(folder.path())
        .under(["env", "MINT_POOLS__WINDOW=1s"])
        .args(["--store", &url])
        .ready();
    let mut redis = server.redis();
    let mut numbers = Vec::new();
    eventually("500 numbers and an id are given out", || {
        while numbers.len() < 500 {
            let Some(number) = redis.ask(&["INCR", "orders"]).unwrap().int() else {
                return false;
            };
            numbers.push(number);
        }
        redis.ask(&["MINT.SNOWFLAKE", "default"]).unwrap().int().is_some()
    });
    engine.freeze();
    eventually("the window has ended", || {
        redis
            .ask(&["MINT.SNOWFLAKE", "default"])
            .unwrap()
            .text()
            .is_some_and(|text| text.contains("TRYAGAIN"))
    });
    let (status, document) = get(&server, "/readyz?for=pools");
    assert_eq!((status, &document["ready"]), (503, &false.into()), "{document}");
    let (status, document) = get(&server, "/readyz?for=default");
    assert_eq!(status, 503, "{document}");
    assert!(
        document["reasons"][0]
            .as_str()
            .unwrap()
            .ends_with("pool default has run out"),
        "{document}"
    );
    // Numbers go on from stock, and so does the server.
    let number = redis.ask(&["INCR", "orders"]).unwrap().int().expect("from stock");
    rising("numbers", numbers.into_iter().chain([number]));
    for path in ["/readyz?for=sequences", "/readyz?for=orders", "/readyz"] {
        let (status, document) = get(&server, path);
        assert_eq!(status, 200, "{path}: {document}");
    }
    let (_, document) = get(&server, "/readyz");
    assert_eq!(document["pools"]["not_ready"][0]["name"], "default", "{document}");
    assert_eq!(document["reasons"], serde_json::json!([]), "{document}");
    // Until nothing is left.
    while redis.ask(&["INCR", "orders"]).unwrap().int().is_some() {}
    let (status, document) = get(&server, "/readyz");
    assert_eq!(status, 503, "{document}");
    assert!(document["reasons"].as_array().unwrap().len() >= 2, "{document}");
    let said = run::mint(folder.path(), ["status", "--server", &server.url()]);
    assert_eq!(said.code, 1, "{said:?}");
    assert!(
        said.out.contains(" is not ready") && said.out.contains("because"),
        "{said:?}"
    );
    engine.thaw();
    eventually("all is well again", || {
        redis.ask(&["INCR", "orders"]).unwrap();
        redis.ask(&["MINT.SNOWFLAKE", "default"]).unwrap();
        get(&server, "/readyz?for=pools").0 == 200 && get(&server, "/readyz?for=sequences").0 == 200
    });
}

#[test]
fn readiness_can_be_asked_for_one_thing() {
    let folder = tempfile::tempdir().unwrap();
    let server = Start::in_folder(folder.path()).ready();
    let asked = |path: &str| get(&server, &format!("/readyz{path}"));
    assert_eq!(asked("?for=orders").0, 404);
    assert_eq!(asked("?for=orders").1["code"], "not_found");
    assert_eq!(asked("?fro=orders").0, 400);
    assert_eq!(asked("?for=a%00b").0, 400);
    server.http("PUT", "/v1/sequences/orders", r#"{"max": "2"}"#);
    server.http("PUT", "/v1/pools/eu", r#"{"preset": "twitter"}"#);
    assert_eq!(asked("?for=orders").1["sequence"]["ready"], true);
    assert_eq!(asked("?for=eu").1["pool"]["ready"], true);
    server.http("PUT", "/v1/sequences/eu", "{}");
    let both = asked("?for=eu").1;
    assert_eq!(
        (&both["pool"]["ready"], &both["sequence"]["ready"]),
        (&true.into(), &true.into())
    );
    // What has ended is not ready; everything else is.
    for _ in 0..3 {
        server.http("POST", "/v1/sequences/orders/next", "");
    }
    let (status, ended) = asked("?for=orders");
    assert_eq!(status, 503);
    assert_eq!(ended["reasons"][0], "sequence orders has no further number");
    assert_eq!(asked("").0, 200);
}

/// Metrics of an answer: name, type and labels.
fn metrics(text: &str) -> BTreeMap<String, (String, BTreeSet<String>)> {
    let mut found: BTreeMap<String, (String, BTreeSet<String>)> = BTreeMap::new();
    for line in text.lines() {
        if let Some(told) = line.strip_prefix("# TYPE ") {
            let (name, kind) = told.split_once(' ').unwrap();
            found.insert(name.to_string(), (kind.to_string(), BTreeSet::new()));
        } else if !line.starts_with('#') {
            let (sample, _) = line.rsplit_once(' ').unwrap();
            let (name, labels) = sample.split_once('{').unwrap_or((sample, ""));
            let bare = ["_bucket", "_sum", "_count"].iter().find_map(|end| {
                let bare = name.strip_suffix(end)?;
                found
                    .get(bare)
                    .is_some_and(|(kind, _)| kind == "histogram")
                    .then_some(bare)
            });
            let (_, known) = found
                .get_mut(bare.unwrap_or(name))
                .unwrap_or_else(|| panic!("{line}"));
            let names = labels
                .split("=\"")
                .filter_map(|part| part.rsplit([',', '"', '{']).next());
            known.extend(
                names
                    .filter(|name| !matches!(*name, "" | "}" | "le"))
                    .map(String::from),
            );
        }
    }
    found
}

/// The table in docs/watching.md.
fn table() -> BTreeMap<String, (String, BTreeSet<String>)> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/watching.md");
    let page = fs::read_to_string(page).unwrap();
    let rows = page
        .split("| metric | type | labels | is |")
        .nth(1)
        .expect("the table is there");
    let rows = rows.lines().skip(2).take_while(|row| row.starts_with("| "));
    rows.map(|row| {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let labels = cells[3].split('`').skip(1).step_by(2).map(String::from);
        (
            cells[1].trim_matches('`').to_string(),
            (cells[2].to_string(), labels.collect()),
        )
    })
    .collect()
}

#[test]
fn the_table_of_metrics_is_what_a_server_answers() {
    let Some(engine) = Redis::run() else { return };
    let folder = tempfile::tempdir().unwrap();
    let url = engine.url(engine.address());
    run::patient_mint(folder.path(), ["init", "--store", &url]).ok();
    run::mint(folder.path(), ["cert", "new", "--ca", "--server", "localhost"]).ok();
    let certificate = "[server.tls]\ncert = \"server.pem\"\nkey = \"server.key\"\n";
    fs::write(folder.path().join("mint.toml"), certificate).unwrap();
    let server = Start::in_folder(folder.path())
        .args([
            "--store",
            &url,
            "--face",
            "thrift=127.0.0.1:0",
            "--face",
            "postgres=127.0.0.1:0",
        ])
        .ready();
    let mut redis = server.redis();
    server.http("PUT", "/v1/sequences/few", r#"{"max": "2"}"#);
    for _ in 0..3 {
        server.http("POST", "/v1/sequences/few/next", "");
    }
    redis.ask(&["INCR", "orders"]).unwrap();
    redis.ask(&["MINT.SNOWFLAKE", "default"]).unwrap();
    let scrape = || server.http("GET", "/metrics", "").text();
    eventually("all kinds of names are in use", || {
        redis.ask(&["INCR", "orders"]).unwrap();
        let text = scrape();
        [
            "mint_ends_seconds{kind=\"sequence\"",
            "mint_stock_seconds{",
            "mint_window_until_seconds{",
            "\nmint_budget_left_seconds ",
        ]
        .iter()
        .all(|metric| text.contains(metric))
    });
    let text = scrape();
    let (told, answered) = (table(), metrics(&text));
    for (name, metric) in &answered {
        // No sequence here takes its numbers from elsewhere, and nobody shows a token: there is nothing to tell of.
        match name.starts_with("mint_origin_") || name.starts_with("mint_token_") {
            true => assert_eq!(told.get(name).map(|(kind, _)| kind), Some(&metric.0), "{name}"),
            false => assert_eq!(told.get(name), Some(metric), "{name}"),
        }
    }
    assert_eq!(
        told.keys().collect::<Vec<_>>(),
        answered.keys().collect::<Vec<_>>()
    );
    // What a layout of 63 bits does by design is no end.
    let ends: Vec<_> = text
        .lines()
        .filter(|line| line.starts_with("mint_ends_seconds{kind=\"pool\""))
        .collect();
    assert!(
        !ends.is_empty() && ends.iter().all(|line| !line.contains("2^53")),
        "{ends:?}"
    );
    let value = |name: &str| {
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix(&format!("{name} ")));
        line.unwrap_or_else(|| panic!("{name}: {text}"))
            .parse::<f64>()
            .unwrap()
    };
    assert!(value("process_open_fds") > 5.0 && value("process_resident_memory_bytes") > 1e6);
    assert!(value("process_start_time_seconds") > 1.7e9 && value("process_threads") > 1.0);
    // Every request is in the histogram, however many came at once.
    redis.send(&b"PING\r\n".repeat(1000)).unwrap();
    for _ in 0..1000 {
        redis.reply().unwrap();
    }
    redis.ask(&["PING"]).unwrap();
    let text = scrape();
    let count = |name: &str| -> f64 {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap_or_else(|| panic!("{name}: {text}"))
            .trim()
            .parse()
            .unwrap()
    };
    let (requests, measured) = (
        count("mint_requests_total{face=\"resp\"}"),
        count("mint_request_seconds_count{face=\"resp\"}"),
    );
    // The last one was answered before it was counted.
    assert!(
        measured >= 1001.0 && requests - measured <= 1.0,
        "{measured} of {requests}"
    );
    assert!(count("mint_request_seconds_count{face=\"http\"}") >= 4.0);
}
